//! Watches the run of a gate before the first iteration: which files it opens, and which of them it uses to judge.
use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use loop_core::policy::protect::{FilesSeen, GateText, GateUses, WatchGap, texts_of, uses_of};
use loop_core::run::RunSpec;
use loop_core::settings::GateSpec;
use loop_core::text::{escape_path, unescape_path};
use rustix::fs::{AtFlags, FileType, statat};

use super::outside::OutsideBefore;
use super::rest;
use crate::checkpoint::{CheckpointContext, DirRules, Rules, rules_of};
use crate::fs::handle::{folder_beneath, joined, open_file, open_folder, split};
use crate::fs::walk::names_in;
use crate::paths::user_home;
use crate::run_folder::{RunFolder, read_text};
use crate::workspace::watch::{OpenWatch, OpenedFiles};

/// How often events are read: the kernel holds 16,384 of them.
const DRAIN_EVERY: Duration = Duration::from_millis(25);
/// A longer file is not a script.
const TEXT_BYTES_MAX: u64 = 256 * 1024;

/// Stands for the hash of a record that could not be written: no record has it, and that speaks against a pass later.
const NOT_WRITTEN: &str = "not-written";

/// A gate that is watched.
#[derive(Debug)]
pub(crate) struct BaselineWatch {
    command: String,
    task: String,
    /// The folder of the run.
    run: PathBuf,
    opens: GateOpens,
    /// What lies outside of the workspace.
    outside: OutsideBefore,
}

/// The files that are opened in a workspace while a gate runs.
#[derive(Debug)]
pub(crate) struct GateOpens {
    path: PathBuf,
    /// None where the workspace cannot be opened: the gate says so too.
    watched: Option<Watched>,
}

#[derive(Debug)]
struct Watched {
    workspace: OwnedFd,
    rules: Rules,
    opens: OpenWatch,
}

impl GateOpens {
    pub(crate) fn begin(context: &CheckpointContext) -> Self {
        let rules = rules_of(context);
        let watched = open_folder(&context.workspace).ok().map(|workspace| {
            let opens = OpenWatch::begin(&workspace, &rules);
            Watched { workspace, rules, opens }
        });
        Self { path: context.workspace.clone(), watched }
    }

    pub(crate) fn drain(&mut self) {
        self.watched.iter_mut().for_each(|watched| watched.opens.drain());
    }

    /// What a gate with this command uses, without records, and the texts that it runs.
    pub(crate) fn finish(self, command: &str, task: &str) -> (GateUses, Vec<GateText>) {
        let Some(watched) = self.watched else {
            return (GateUses { gap: Some(WatchGap::NoWatch), ..GateUses::default() }, Vec::new());
        };
        let OpenedFiles { opened, made, gap } = watched.opens.finish();
        let opened: BTreeSet<String> = opened.iter().filter_map(|path| source_of(path)).collect();
        let opened = Some(opened).filter(|_| gap != Some(WatchGap::NoWatch));
        let seen = Seen { workspace: watched.workspace, rules: watched.rules, opened, made, home: home_text() };
        let here = self.path.to_string_lossy();
        let texts = texts_of(command, &here, &seen);
        let mut uses = uses_of(command, &here, task, &seen);
        uses.files.iter_mut().for_each(|used| used.path = escape_path(&bytes_of(&used.path)));
        uses.rest.iter_mut().for_each(|path| *path = escape_path(&bytes_of(path)));
        uses.gap = gap;
        (uses, texts)
    }
}

impl BaselineWatch {
    /// `gates` are all gates of the run: one may write what another reads.
    pub(crate) fn begin(run: &RunFolder, spec: &RunSpec, gate: &GateSpec, gates: &[GateSpec]) -> Self {
        let context = run.checkpoints(spec);
        let opens = GateOpens::begin(&context);
        let task = read_text(run, &spec.goal).unwrap_or_else(|_| spec.goal.head.clone());
        let commands: Vec<String> = gates.iter().map(|gate| gate.command.clone()).collect();
        let texts = texts_before(&context.workspace, &rules_of(&context), &commands);
        let outside = OutsideBefore::look(&run.path, &context.workspace, &commands, &texts);
        Self { command: gate.command.clone(), task, run: run.path.clone(), opens, outside }
    }

    pub(crate) fn wakes_in(&self) -> Duration {
        DRAIN_EVERY
    }

    pub(crate) fn drain(&mut self) {
        self.opens.drain();
    }

    /// What the gate uses.
    pub(crate) fn finish(self) -> GateUses {
        let (path, is_watched) = (self.opens.path.clone(), self.opens.watched.is_some());
        let (mut uses, texts) = self.opens.finish(&self.command, &self.task);
        if is_watched {
            let outside = self.outside.finish(&path, &texts);
            uses.outside = Some(outside.unwrap_or_else(|_| NOT_WRITTEN.to_owned()));
            uses.rest_record = rest::write(&self.run, &uses.rest).unwrap_or_else(|_| Some(NOT_WRITTEN.to_owned()));
        }
        uses
    }
}

/// The texts that the gates run, as far as they are known before a gate has run.
fn texts_before(workspace: &Path, rules: &Rules, commands: &[String]) -> Vec<GateText> {
    let Ok(folder) = open_folder(workspace) else { return Vec::new() };
    let seen = Seen { workspace: folder, rules: rules.clone(), opened: None, made: BTreeSet::new(), home: home_text() };
    let here = workspace.to_string_lossy();
    commands.iter().flat_map(|command| texts_of(command, &here, &seen)).collect()
}

fn home_text() -> String {
    user_home().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Stands for the backslash in the text of a path that is not UTF-8 and therefore escaped. No path has this byte.
const ESCAPED: &str = "\0";

/// A path as text: as it is where it is UTF-8, else escaped and marked.
fn text_of(path: &[u8]) -> String {
    std::str::from_utf8(path).map_or_else(|_| escape_path(path).replace('\\', ESCAPED), str::to_owned)
}

/// The bytes of a path that [`text_of`] wrote.
fn bytes_of(path: &str) -> Vec<u8> {
    match path.contains(ESCAPED) {
        true => unescape_path(&path.replace(ESCAPED, "\\")),
        false => path.as_bytes().to_vec(),
    }
}

/// A path as text; of a compiled Python file the source.
fn source_of(path: &[u8]) -> Option<String> {
    let path = text_of(path);
    let path = path.as_str();
    let Some((above, compiled)) = path.rsplit_once('/').filter(|(above, _)| above.ends_with("__pycache__")) else {
        return Some(path.to_owned());
    };
    let stem = compiled.split('.').next()?;
    Some(format!("{}{stem}.py", above.strip_suffix("__pycache__")?))
}

/// The workspace after the gate.
struct Seen {
    workspace: OwnedFd,
    rules: Rules,
    opened: Option<BTreeSet<String>>,
    made: BTreeSet<Vec<u8>>,
    home: String,
}

impl Seen {
    /// Whether neither the path nor a folder above it is ignored.
    fn is_in_scope(&self, path: &[u8]) -> bool {
        let mut rules = DirRules::above_all();
        let mut above: &[u8] = &[];
        loop {
            let Ok(folder) = folder_beneath(&self.workspace, above) else { return false };
            rules = rules.inside(folder.as_fd(), above);
            let from = if above.is_empty() { 0 } else { above.len() + 1 };
            let rest = path.get(from..).unwrap_or_default();
            let Some(end) = rest.iter().position(|byte| *byte == b'/') else {
                return !rules.leaves_out_file(&self.rules, path);
            };
            above = path.get(..from + end).unwrap_or_default();
            if above == b".git" || rules.leaves_out(&self.rules, above) {
                return false;
            }
        }
    }
}

impl FilesSeen for Seen {
    fn opened(&self) -> Option<&BTreeSet<String>> {
        self.opened.as_ref()
    }

    fn home(&self) -> &str {
        &self.home
    }

    fn text(&self, path: &str) -> Option<String> {
        let path = bytes_of(path);
        let path = path.as_slice();
        if self.made.contains(path) || !self.is_in_scope(path) {
            return None;
        }
        let (above, name) = split(path);
        let folder = folder_beneath(&self.workspace, above).ok()?;
        let file = open_file(&folder, name).ok()?;
        let is_text = file.metadata().is_ok_and(|found| found.is_file() && found.len() <= TEXT_BYTES_MAX);
        let mut text = Vec::new();
        file.take(TEXT_BYTES_MAX).read_to_end(&mut text).ok().filter(|_| is_text)?;
        (!text.contains(&0)).then(|| String::from_utf8_lossy(&text).into_owned())
    }

    fn inside(&self, folder: &str) -> Vec<String> {
        let folder = bytes_of(folder);
        let Ok(handle) = folder_beneath(&self.workspace, &folder) else { return Vec::new() };
        let is_file = |name: &Vec<u8>| {
            let stat = statat(&handle, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW);
            stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
        };
        let names = names_in(&handle).unwrap_or_default().into_iter().filter(is_file);
        names.map(|name| text_of(&joined(&folder, &name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_utf_8_are_texts_that_can_be_turned_back() {
        for path in [&b"tools/\xff.sh"[..], b"tools/\\xff.sh", b"a\xfe/\\b", b"plain.sh"] {
            assert_eq!(bytes_of(&text_of(path)), path);
        }
        assert!(text_of(b"tools/\xff.sh").starts_with("tools/") && text_of(b"tools/\xff.sh").ends_with(".sh"));
        assert_eq!(
            source_of(b"t/__pycache__/\xff.cpython-312.pyc").map(|path| bytes_of(&path)),
            Some(b"t/\xff.py".to_vec())
        );
    }
}
