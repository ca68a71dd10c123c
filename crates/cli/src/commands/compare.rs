//! `loop history --diff`: which two checkpoints are meant, and what differs between them.
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use loop_core::run::Changes;
use loop_host::checkpoint::diff::{self, Bounds, Piece};
use loop_host::checkpoint::{Id, Store};
use loop_host::runs::RunFolder;

use crate::context::{Context, Done};
use crate::render::diff as show;
use crate::render::error::{CommandError, Kind};
use crate::render::pager;
use crate::render::printer::{stdout_is_terminal, width};

/// How many names an error lists.
const LISTED_MAX: usize = 30;
/// How many iterations are looked at for what others changed.
const LOOKED_AT_MAX: usize = 50;
/// What a look at the table may cost; past it there are fewer lines in it, not more waiting.
const GLANCE: Bounds = Bounds {
    file_bytes: 1 << 20,
    all_bytes: 16 << 20,
    file_steps: 10_000_000,
    all_steps: 50_000_000,
    rename_pairs: 10_000,
    rename_bytes: 4 << 20,
    rename_steps: 1_000_000,
};
/// The state before iteration 1.
const INITIAL: &str = "initial";

/// How a difference is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) json: bool,
    pub(crate) stat: bool,
    pub(crate) pager: bool,
}

/// A checkpoint of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) id: Id,
}

/// The checkpoints of a run, in the order in which they came; then those with names.
pub(crate) struct Points {
    store: Store,
    run: String,
    names: Vec<String>,
}

/// Shows what differs.
pub(crate) fn run(context: &Context, folder: &RunFolder, words: &str, manner: Manner) -> Done {
    let points = points_of(folder)?.ok_or_else(|| without(folder))?;
    let (from, to) = trees_of(folder, &points, words)?;
    let bounds = Bounds::default();
    let difference = diff::changes(&points.store, Some(from.id), to.id, &bounds).map_err(|error| unreadable(&error))?;
    let by_agent = is_by_agent(&from.name, &to.name);
    if manner.json {
        context.printer.json(&show::json(&difference, folder.id.as_str(), (&from.name, &to.name), by_agent));
        return Ok(0);
    }
    if difference.is_empty() {
        context.printer.progress(&format!("nothing differs between {} and {}\n", from.name, to.name));
        return Ok(0);
    }
    let (printer, terminal) = (context.printer, stdout_is_terminal());
    let shown = pager::show(&printer, manner.pager, &mut |sink| {
        let mut line = |piece, bytes: &[u8]| show::line(sink, &printer, terminal, (piece, bytes));
        if !by_agent {
            let words = format!("# not by the agent: changed between {} and {}\n", from.name, to.name);
            line(Piece::Note, words.as_bytes())?;
        }
        if manner.stat {
            let paint = |paint, text: &str| printer.paint(paint, text);
            return sink.write_all(show::stat(&difference, &paint, width()).as_bytes());
        }
        diff::patch(&difference, &points.store, &bounds, &mut line)
    });
    shown.map_err(|error| unreadable(&error)).map(|()| 0)
}

/// What others than the agent changed after an iteration, and how much: the newest ones.
pub(crate) fn not_by_the_agent(folder: &RunFolder) -> Vec<(String, Changes)> {
    let Ok(Some(points)) = points_of(folder) else { return Vec::new() };
    let after = points.names.iter().filter(|name| name.ends_with('+')).rev().take(LOOKED_AT_MAX);
    let told = after.filter_map(|name| {
        let from = points.point(name.strip_suffix('+')?)?;
        let to = points.point(name)?;
        let difference = diff::changes(&points.store, Some(from.id), to.id, &GLANCE).ok()?;
        Some((from.name, difference.totals()))
    });
    let mut told: Vec<_> = told.collect();
    told.reverse();
    told
}

/// Whether an agent worked between two checkpoints, as far as their names tell.
fn is_by_agent(from: &str, to: &str) -> bool {
    to.strip_suffix('+') != Some(from)
}

/// The two checkpoints that `N`, `N+` or `A..B` mean.
pub(crate) fn trees_of(folder: &RunFolder, points: &Points, words: &str) -> Result<(Point, Point), CommandError> {
    let (from, to) = meant(words, &points.names)
        .map_err(|error| error.hint(format!("loop history {id} --diff 1, or --diff {INITIAL}..2", id = folder.id)))?;
    let point = |name: &str| points.point(name).ok_or_else(|| unknown(folder, points, name));
    // What was asked for first: what it is compared with may follow from it.
    let to = point(&to)?;
    Ok((point(&from)?, to))
}

/// The names of the two checkpoints.
fn meant(words: &str, names: &[String]) -> Result<(String, String), CommandError> {
    let wrong = |why: &str| CommandError::new(Kind::Wrong, format!("--diff cannot be {words:?}")).because(why);
    if let Some((from, to)) = words.split_once("..") {
        let both = !from.is_empty() && !to.is_empty();
        return both.then(|| (from.to_owned(), to.to_owned())).ok_or_else(|| wrong("one side of the dots is missing"));
    }
    if let Some(before) = words.strip_suffix('+').filter(|before| !before.is_empty()) {
        return Ok((before.to_owned(), words.to_owned()));
    }
    let number = words.parse::<u32>().ok().filter(|number| *number > 0);
    let number = number.ok_or_else(|| wrong("alone it is the number of an iteration; two checkpoints are A..B"))?;
    let last = if number == 1 { INITIAL.to_owned() } else { (number - 1).to_string() };
    let after = format!("{last}+");
    Ok((if names.contains(&after) { after } else { last }, number.to_string()))
}

impl Points {
    fn point(&self, name: &str) -> Option<Point> {
        let name = self.names.iter().find(|known| *known == name)?;
        let id = self.store.named(&format!("{}/{name}", self.run)).ok()?;
        Some(Point { name: name.clone(), id })
    }
}

/// The checkpoints of a run; none if it has none.
fn points_of(folder: &RunFolder) -> Result<Option<Points>, CommandError> {
    let Some((store, refs)) = store_of(folder) else { return Ok(None) };
    let entries = fs::read_dir(refs).map_err(|error| unreadable(&error))?.flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    // One that is being written.
    names.retain(|name| !name.ends_with(".lock"));
    names.sort_by_key(|name| order(name));
    let store = Store::open(&store).map_err(|error| unreadable(&error))?;
    Ok(Some(Points { store, run: folder.id.to_string(), names }).filter(|points| !points.names.is_empty()))
}

/// The store that holds a run's checkpoints, and the folder of their names.
fn store_of(folder: &RunFolder) -> Option<(PathBuf, PathBuf)> {
    let stores = folder.path.parent()?.parent()?.join("checkpoints");
    let stores = fs::read_dir(stores).ok()?.flatten().map(|entry| entry.path());
    let mut found = stores.map(|store| (store.clone(), store.join("refs/loop").join(folder.id.as_str())));
    found.find(|(_, refs)| refs.is_dir())
}

/// As they came: `initial`, `1`, `1+`, `2`; names of people last.
fn order(name: &str) -> (u32, bool, String) {
    let (plain, after) = name.strip_suffix('+').map_or((name, false), |plain| (plain, true));
    let number = if plain == INITIAL { Some(0) } else { plain.parse().ok() };
    number.map_or_else(|| (u32::MAX, false, name.to_owned()), |number| (number, after, String::new()))
}

fn without(folder: &RunFolder) -> CommandError {
    CommandError::new(Kind::Wrong, format!("loop {} has no checkpoints", folder.id))
        .because("a difference is between two checkpoints, and it was started without or has none yet")
        .hint(format!("loop history {}", folder.id))
}

fn unknown(folder: &RunFolder, points: &Points, name: &str) -> CommandError {
    let listed = points.names.iter().take(LISTED_MAX).cloned().collect::<Vec<_>>().join(", ");
    let more = match points.names.len().saturating_sub(LISTED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    CommandError::new(Kind::Wrong, format!("loop {} has no checkpoint {name:?}", folder.id))
        .because(format!("there are {listed}{more}"))
        .hint(format!("loop history {}", folder.id))
}

fn unreadable(error: &io::Error) -> CommandError {
    CommandError::new(Kind::Unable, "the checkpoints cannot be read")
        .because(error.to_string())
        .hint("`loop doctor` looks at the state folder")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str, names: &[&str]) -> String {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        meant(words, &names).map_or_else(|error| error.render(), |(from, to)| format!("{from} to {to}"))
    }

    #[test]
    fn an_iteration_is_compared_with_the_state_before_it() {
        assert_eq!(said("1", &["initial", "1"]), "initial to 1");
        assert_eq!(said("1", &["initial", "initial+", "1"]), "initial+ to 1");
        assert_eq!(said("2", &["initial", "1", "2"]), "1 to 2");
        assert_eq!(said("2", &["initial", "1", "1+", "2"]), "1+ to 2");
        assert_eq!(said("1+", &[]), "1 to 1+");
        assert_eq!(said("initial..best try", &[]), "initial to best try");
        assert!(said("0", &[]).starts_with("error: --diff cannot be \"0\""));
        assert!(said("1..", &[]).contains("one side of the dots is missing"));
    }

    #[test]
    fn checkpoints_are_listed_as_they_came() {
        let mut names = ["before lunch", "10", "2+", "initial", "2", "initial+"];
        names.sort_by_key(|name| order(name));
        assert_eq!(names, ["initial", "initial+", "2", "2+", "10", "before lunch"]);
    }
}
