//! The loop that is meant where no id is given, or `@` or `last`: one that worked in this folder or above it.
use std::path::{Path, PathBuf};

use loop_core::text;
use loop_core::view::Row;
use loop_host::clock;
use loop_host::index::{self, Listed};
use loop_host::paths::text_of;
use loop_host::run_folder::{self, FoundFolder, RunFolder};

use crate::context::{Context, runs_error};
use crate::plans;
use crate::render::error::{CommandError, Kind, typed_words};
use crate::render::wrap::hanging;
use crate::render::{moment, summary};

/// Words for this folder's loop. No id begins so: ids have neither an `l` nor a sign.
pub(crate) const WORDS: [&str; 2] = ["@", "last"];
/// A word of so many letters is taken for the beginning of an id, where it is one. People type no shorter ones.
const ID_LETTERS_MIN: usize = 4;

/// Which loop of the folder a command wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The newest.
    Newest,
    /// The one that a process drives.
    AtWork,
    /// The same; the newest where none is driven.
    AtWorkOrNewest,
    /// The one that a process drives, else the newest that can be resumed.
    Resumable,
}

/// A loop with what a list says of it.
#[derive(Debug, Clone)]
struct ListedLoop {
    run: RunFolder,
    row: Row,
}

/// The loops of a folder: those of the nearest folder that has any, the one that worked last first.
#[derive(Debug)]
struct FolderLoops {
    folder: PathBuf,
    /// Of this folder and of those above it.
    all: Vec<ListedLoop>,
    /// The workspace that counts.
    nearest: Option<String>,
}

impl FolderLoops {
    /// With `plans`: several loops for one goal count as one of the folder's loops.
    fn of(context: &Context, plans: bool) -> Result<Self, CommandError> {
        let folder = std::env::current_dir().and_then(std::fs::canonicalize);
        let folder = folder.map_err(|error| {
            CommandError::new(Kind::Unable, "this folder cannot be read")
                .because(error.to_string())
                .hint("name a loop by its id: loop list")
        })?;
        let above: Vec<String> = folder.ancestors().map(text_of).collect();
        let mut listed = index::list(&context.home).map_err(|error| runs_error(&error))?;
        // The newest is the one that worked last: an older one may have been resumed.
        listed.sort_by_key(|one| std::cmp::Reverse(one.times.updated_ms));
        let fits = |listed: Listed| Some(ListedLoop { run: listed.run, row: listed.row.ok()? });
        let mut all: Vec<_> =
            listed.into_iter().filter_map(fits).filter(|one| above.contains(&one.row.workspace)).collect();
        if plans {
            // The branches of a stuck loop belong to that loop.
            let listed = plans::views(context).into_iter().filter(|(_, view)| view.recovers.is_none());
            let listed = listed.map(|(run, view)| ListedLoop { run, row: view.row() });
            all.extend(listed.filter(|one| above.contains(&one.row.workspace)));
            all.sort_by(|one, other| other.row.started_at.cmp(&one.row.started_at));
        }
        let nearest = above.into_iter().find(|folder| all.iter().any(|one| one.row.workspace == *folder));
        Ok(Self { folder, all, nearest })
    }

    /// The plans among them; those of the nearest folder that has one count.
    fn only_plans(self) -> Self {
        let all: Vec<ListedLoop> = self.all.into_iter().filter(|one| one.row.is_plan).collect();
        // All of them are folders above this one: the longest path is the nearest.
        let nearest = all.iter().map(|one| one.row.workspace.clone()).max_by_key(String::len);
        Self { folder: self.folder, all, nearest }
    }

    /// The loops of the nearest folder that has any.
    fn nearest(&self) -> impl Iterator<Item = &ListedLoop> {
        self.all.iter().filter(|one| Some(&one.row.workspace) == self.nearest.as_ref())
    }

    /// The loop that is wanted.
    fn pick(&self, wanted: Wanted) -> Result<&ListedLoop, CommandError> {
        let newest = self.nearest().next().ok_or_else(|| self.none("no loop has run in this folder"))?;
        // One that works above works here, too.
        let at_work = || self.all.iter().find(|one| one.run.holder().is_some());
        match wanted {
            Wanted::Newest => Ok(newest),
            Wanted::AtWorkOrNewest => Ok(at_work().unwrap_or(newest)),
            Wanted::AtWork => at_work().ok_or_else(|| {
                self.none("no loop runs in this folder").because(format!("its newest one is {}", said(newest)))
            }),
            Wanted::Resumable => match at_work() {
                Some(found) => Ok(found),
                None => self.resumable(newest),
            },
        }
    }

    /// The newest that can be resumed. One that a newer one has finished is not taken without being named.
    fn resumable(&self, newest: &ListedLoop) -> Result<&ListedLoop, CommandError> {
        let found = self.nearest().find(|one| one.row.resumable);
        let done = self.nearest().take_while(|one| !one.row.resumable).find(|one| one.row.is_done());
        match (found, done) {
            (Some(found), None) => Ok(found),
            (Some(older), Some(done)) => Err(CommandError::new(Kind::Wrong, "the newest loop of this folder is done")
                .because(format!("it is {}", said(done)))
                .hint(format!("an older one can be resumed: {}", typed_for(older)))),
            (None, _) => Err(self
                .none("no loop of this folder can be resumed")
                .because(format!("its newest one is {}", said(newest)))),
        }
    }

    fn none(&self, what: &str) -> CommandError {
        CommandError::new(Kind::Wrong, what)
            .because(format!("looked for one of {} or a folder above it", text_of(&self.folder)))
            .hint("all loops: loop list")
    }
}

/// The command that was typed, with the id of this loop. A resume that adds nothing to a limit would end at once.
fn typed_for(one: &ListedLoop) -> String {
    let id = one.run.id.as_str();
    let words = typed_words();
    let verb = words.iter().position(|word| ["resume", "inject", "set"].contains(&word.as_str()));
    match (verb, words.len()) {
        (Some(at), count) if count > at + 1 => {
            let is_id = words.get(at + 1).is_some_and(|word| WORDS.contains(&word.as_str()));
            let rest = words.iter().skip(if is_id { at + 2 } else { at + 1 });
            let rest: Vec<String> = rest.map(|word| summary::quoted(word)).collect();
            format!("loop {} {id} {}", words[at], rest.join(" "))
        }
        _ => {
            let state = loop_host::journal::read(&one.run.path).ok().map(|reading| reading.fold());
            state.map_or_else(|| format!("loop resume {id}"), |state| summary::next_command(&state, id))
        }
    }
}

/// A loop in some words.
fn said(one: &ListedLoop) -> String {
    format!("{} ({})", one.run.id, one.row.status_words())
}

/// A loop that was found without its id.
#[derive(Debug)]
pub(crate) struct LoopHere {
    pub(crate) run: RunFolder,
    row: Row,
    place: String,
}

impl LoopHere {
    /// The one of this folder that a command wants.
    pub(crate) fn find(context: &Context, wanted: Wanted) -> Result<Self, CommandError> {
        Self::among(FolderLoops::of(context, false)?, wanted)
    }

    fn among(loops: FolderLoops, wanted: Wanted) -> Result<Self, CommandError> {
        let ListedLoop { run, row } = loops.pick(wanted)?;
        let is_here = Path::new(&text_of(&loops.folder)) == Path::new(&row.workspace);
        let place = if is_here { "this folder".to_owned() } else { row.workspace.clone() };
        Ok(Self { run: run.clone(), row: row.clone(), place })
    }

    /// Whether it has had this iteration.
    pub(crate) fn has_iteration(&self, number: u32) -> bool {
        number <= self.row.iteration
    }

    /// Takes it, and says which one that is.
    pub(crate) fn taken(self, context: &Context) -> RunFolder {
        let Self { run, row, place } = self;
        // Of a loop that has ended, its end counts.
        let (word, at) = match row.outcome {
            Some(_) => ("", &row.updated_at),
            None => ("started ", &row.started_at),
        };
        let when = format!("{word}{}", moment::ago_brief(at, clock::now().wall_ms));
        let goal = text::escaped_head(&row.goal, 60);
        let what = if row.is_plan { "plan" } else { "loop" };
        let line = format!("taking {what} {} of {place} ({}, {when}): {goal}\n", run.id, row.status_words());
        // Words are not divided at the edge of a screen.
        let width = loop_host::terminal::columns(std::io::stderr());
        let line = width.map_or_else(|| line.clone(), |width| format!("{}\n", hanging(line.trim_end(), 2, width)));
        context.printer.progress(&line);
        run
    }
}

impl Context {
    /// The loop that a word names, or where there is none, one of this folder.
    pub(crate) fn find_or_here(&self, word: Option<&str>, wanted: Wanted) -> Result<RunFolder, CommandError> {
        match word.filter(|word| !WORDS.contains(word)) {
            Some(id) => self.find(id),
            None => LoopHere::find(self, wanted).map(|found| found.taken(self)),
        }
    }

    /// The plan of this folder that a command wants where no id was given; none where that is one loop.
    pub(crate) fn plan_here(&self, wanted: Wanted) -> Option<RunFolder> {
        if run_folder::all_in(&self.home.plans()).is_ok_and(|plans| plans.is_empty()) {
            return None;
        }
        let loops = FolderLoops::of(self, true).ok()?;
        let found = LoopHere::among(loops, wanted).ok().filter(|found| found.row.is_plan)?;
        Some(found.taken(self))
    }

    /// The plan that a word names, for a command that takes only plans: by its id, or the newest plan of this folder.
    pub(crate) fn find_plan_or_here(&self, word: &str) -> Result<RunFolder, CommandError> {
        if !WORDS.contains(&word) {
            return self.find_plan(word);
        }
        let plans = FolderLoops::of(self, true)?.only_plans();
        if plans.nearest.is_none() {
            return Err(plans.none("no plan has run in this folder"));
        }
        LoopHere::among(plans, Wanted::Newest).map(|found| found.taken(self))
    }

    /// The plan that a word names, or where there is none, one of this folder; none where that is one loop.
    pub(crate) fn plan_or_here(&self, word: Option<&str>, wanted: Wanted) -> Option<RunFolder> {
        let Some(id) = word.filter(|word| !WORDS.contains(word)) else { return self.plan_here(wanted) };
        match run_folder::find_any(&self.home, id) {
            Ok(FoundFolder::Plan(plan)) => Some(plan),
            // What is wrong with it is said by who looks for a loop.
            Ok(FoundFolder::Run(_)) | Err(_) => None,
        }
    }

    /// The ids of loops and plans that begin with a word.
    pub(crate) fn ids_of(&self, word: &str) -> Vec<String> {
        let mut all = run_folder::all(&self.home).unwrap_or_default();
        all.extend(run_folder::all_in(&self.home.plans()).unwrap_or_default());
        let fits = |run: &RunFolder| !word.is_empty() && run.id.as_str().starts_with(word);
        all.iter().filter(|run| fits(run)).map(|run| run.id.to_string()).collect()
    }

    /// The loop of this folder of which a word alone names a part: `is_part` says whether it does. A word that may be
    /// an id, too, is refused.
    pub(crate) fn find_by_part(
        &self,
        word: &str,
        verb: &str,
        is_part: impl Fn(&RunFolder) -> Result<(), CommandError>,
    ) -> Result<RunFolder, CommandError> {
        let ids = self.ids_of(word);
        let missing = |id: &str| {
            CommandError::new(Kind::Wrong, format!("the checkpoint is missing: {word} names a loop"))
                .because(format!("loop {verb} needs the name of a checkpoint"))
                .hint(format!("loop checkpoint list {id}"))
        };
        if WORDS.contains(&word) {
            return Err(missing(word));
        }
        let found = match (LoopHere::find(self, Wanted::Newest), ids.first()) {
            (Ok(found), _) => found,
            (Err(_), Some(id)) => return Err(missing(id)),
            (Err(error), None) => return Err(error),
        };
        match (is_part(&found.run), ids.first()) {
            (Ok(()), Some(id)) if word.len() >= ID_LETTERS_MIN => Err(CommandError::new(
                Kind::Wrong,
                format!("{word} is a checkpoint of loop {} and the beginning of the id {id}", found.run.id),
            )
            .because("loop does not guess which one is meant")
            .hint(format!("the checkpoint: loop {verb} @ {word}"))),
            // An id alone is not a whole command.
            (Ok(()), _) => Ok(found.taken(self)),
            (Err(_), Some(id)) if word.len() >= ID_LETTERS_MIN => Err(missing(id)),
            (Err(error), _) => Err(error),
        }
    }
}
