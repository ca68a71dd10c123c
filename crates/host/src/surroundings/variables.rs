//! The variables of the harness: `HARNESS_MODE`, `HARNESS_PAUSE`, `HARNESS_CLI` and `HARNESS_PRIORITY`. The environment
//! of a process does not change while it works, so the file `.harness/env` says what holds now; the process's own
//! variables are the values at the start.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loop_core::run::{AroundEvent, Change, EnvChange, Event, RunState};
use loop_core::settings::{RunMode, keys};
use loop_core::text;
use rustix::fs::{AtFlags, statat};

use super::work_times::WorkTimes;
use super::writers::writers_of;
use super::{around, message};
use crate::changes::{ChangeForm, RunActivity, check_changes};
use crate::fs::handle::{folder_beneath, small_file};
use crate::fs::{FolderId, open_folder};
use crate::process::{descends_from_us, tail_of};
use crate::run_folder::RunFolder;

/// The folder and the name of the file.
const FOLDER: &str = ".harness";
const FILE: &str = "env";
/// A longer file is not read.
const FILE_BYTES_MAX: u64 = 16 * 1024;
/// How much of what the agent printed last is searched for the name of the file.
const PRINTED_BYTES_MAX: u64 = 256 * 1024;
/// In so many attempts of the iteration before it is searched.
const ATTEMPTS_MAX: u32 = 4;
/// How many problems one process reports.
const REPORTS_MAX: usize = 64;

const MODE: &str = "HARNESS_MODE";
const PAUSE: &str = "HARNESS_PAUSE";
const CLI: &str = "HARNESS_CLI";
const PRIORITY: &str = "HARNESS_PRIORITY";

/// The variables with the words that each takes.
const KNOWN: [(&str, &[&str]); 4] = [
    (MODE, &["normal", "turbo", "conservative"]),
    (PAUSE, &["true", "false"]),
    (CLI, &["codex", "gemini", "claude", "auto"]),
    (PRIORITY, &["speed", "quality", "cost"]),
];

/// The variables of the harness of one run.
#[derive(Debug)]
pub(super) struct Variables {
    workspace: PathBuf,
    run: RunFolder,
    /// Those of this process.
    start: BTreeMap<String, String>,
    /// What the file said at the last look: it counts when it says the same twice.
    last: Option<FileState>,
    reported: BTreeSet<String>,
    /// Values that were refused, with the time of the file: they are not checked again.
    refused: BTreeSet<String>,
}

/// The file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    text: Vec<u8>,
    /// When its status changed, in milliseconds since 1970; none where there is no file.
    changed_ms: Option<u64>,
}

impl Variables {
    pub(super) fn new(workspace: &Path, run: &RunFolder) -> Self {
        let start = KNOWN.iter().filter_map(|(name, _)| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        Self {
            workspace: workspace.to_owned(),
            run: run.clone(),
            start: start.collect(),
            last: None,
            reported: BTreeSet::new(),
            refused: BTreeSet::new(),
        }
    }

    /// What holds when the run is opened.
    pub(super) fn opening(&mut self, state: &RunState, work: &WorkTimes) -> Vec<Event> {
        let now = self.file();
        self.last = Some(now.clone());
        self.compare(&now, state, work, true)
    }

    /// What changed. A file that changes right now is being written, and is read at the next look.
    pub(super) fn look(&mut self, state: &RunState, work: &WorkTimes) -> Vec<Event> {
        let now = self.file();
        let is_same = self.last.as_ref() == Some(&now);
        self.last = Some(now.clone());
        if is_same { self.compare(&now, state, work, false) } else { Vec::new() }
    }

    fn file(&self) -> FileState {
        let folder = open_folder(&self.workspace).and_then(|top| folder_beneath(&top, FOLDER.as_bytes()));
        let Ok(folder) = folder else { return FileState { text: Vec::new(), changed_ms: None } };
        let text = small_file(&folder, FILE, FILE_BYTES_MAX).unwrap_or_default();
        let stat = statat(&folder, FILE, AtFlags::SYMLINK_NOFOLLOW).ok();
        let changed_ms = stat.map(|stat| {
            u64::try_from(stat.st_ctime).unwrap_or(0).saturating_mul(1000) + stat.st_ctime_nsec / 1_000_000
        });
        FileState { text, changed_ms }
    }

    fn compare(&mut self, file: &FileState, state: &RunState, work: &WorkTimes, opens: bool) -> Vec<Event> {
        if self.refused.len() > REPORTS_MAX {
            self.refused.clear();
        }
        let mut events = Vec::new();
        let (given, problems) = read(&file.text);
        let mut values = self.start.clone();
        values.extend(given.clone());
        events.extend(problems.into_iter().filter_map(|problem| self.report(problem)));
        let at_work = file.changed_ms.is_some_and(|changed| work.covers(changed));
        let is_open = at_work && self.has_own_writer();
        let printed = if at_work { self.printed(state) } else { Vec::new() };
        let mut change = Found { changes: Vec::new(), set: Vec::new(), pause: None };
        for (name, words) in KNOWN {
            let old = state.prompt.surroundings.variable(name);
            let new = values.get(name).map(String::as_str);
            let known = format!("{name}={new:?} at {:?}", file.changed_ms);
            if old == new || self.refused.contains(&known) {
                continue;
            }
            let refused = match new.filter(|new| !words.contains(new)) {
                Some(bad) => Some(format!(
                    "{name}={} is ignored: it must be {}",
                    text::one_line(bad, 40),
                    words.join(", ").replacen(", ", " or ", usize::from(words.len() == 2))
                )),
                None if is_open || names_it(&printed, name, new) => {
                    Some(format!("{name} in {FOLDER}/{FILE} is ignored: the agent changed it"))
                }
                None if !given.contains_key(name) && stays(name, new, state, opens) => {
                    events.extend(staying(name, state).and_then(|text| self.report(text)));
                    None
                }
                None if at_work && loosens(name, new, state) => Some(loosening(name, new, state)),
                None => change.add(name, new, state).err(),
            };
            match refused {
                Some(why) => {
                    self.refused.insert(known);
                    events.extend(self.report(why));
                }
                None => change.changes.push(EnvChange {
                    name: name.to_owned(),
                    old: old.map(str::to_owned).or_else(|| set_now(name, state)),
                    new: new.map(str::to_owned),
                }),
            }
        }
        let Found { changes, set, pause } = change;
        if !changes.is_empty() {
            let by = if file.changed_ms.is_some() { format!("{FOLDER}/{FILE}") } else { "the environment".to_owned() };
            events.push(around(AroundEvent::Environment { changes, set, pause, by }));
        }
        events
    }

    /// Each problem is said once.
    fn report(&mut self, text: String) -> Option<Event> {
        let is_new = self.reported.len() < REPORTS_MAX && self.reported.insert(text.clone());
        is_new.then(|| message(text))
    }

    /// What the agent printed last, in this attempt and in those before it that may have changed the file.
    fn printed(&self, state: &RunState) -> Vec<u8> {
        let before = (1..=ATTEMPTS_MAX).map(|attempt| (state.iteration.saturating_sub(1), attempt));
        let now = [(state.iteration, state.attempt.saturating_sub(1)), (state.iteration, state.attempt)];
        let attempts = before.chain(now).filter(|(iteration, attempt)| *iteration > 0 && *attempt > 0);
        let printed = attempts.map(|(iteration, attempt)| {
            tail_of(&self.run.attempt(iteration, attempt).join("stdout"), PRINTED_BYTES_MAX)
        });
        printed.collect::<Vec<_>>().join(&b'\n')
    }

    /// Whether a process of the run has the file open for writing.
    fn has_own_writer(&self) -> bool {
        let Ok(file) = fs::symlink_metadata(self.workspace.join(FOLDER).join(FILE)) else { return false };
        let file = FolderId { device: file.dev(), inode: file.ino() };
        writers_of(&[file]).iter().any(|writer| descends_from_us(writer.process, self.run.id.as_str()))
    }
}

/// Whether the agent printed the name of the file, or the line that is new in it: its tool calls do.
fn names_it(printed: &[u8], name: &str, value: Option<&str>) -> bool {
    let has = |words: &str| printed.windows(words.len()).any(|window| window == words.as_bytes());
    has(&format!("{FOLDER}/{FILE}")) || value.is_some_and(|value| has(&format!("{name}={value}")))
}

/// What follows from the changes that were found.
struct Found {
    changes: Vec<EnvChange>,
    set: Vec<Change>,
    pause: Option<bool>,
}

impl Found {
    fn add(&mut self, name: &str, value: Option<&str>, state: &RunState) -> Result<(), String> {
        let change = match (name, value) {
            (PAUSE, value) => {
                self.pause = Some(value == Some("true")).filter(|pause| *pause || is_held(state));
                return Ok(());
            }
            (MODE, Some(mode)) => Change::new(keys::mode().name, mode.to_owned()),
            (PRIORITY, Some(priority)) => Change::new(keys::priority().name, priority.to_owned()),
            (CLI, Some(agent)) => Change::new(keys::agent().name, agent.to_owned()),
            (_, _) => return Ok(()),
        };
        let checked = check_changes(&[change], state, RunActivity::AtWork, ChangeForm::Pairs)
            .map_err(|refusal| format!("{name}={} is ignored: {}", value.unwrap_or_default(), refusal.sentence()))?;
        self.set.extend(checked.changes);
        Ok(())
    }
}

/// Whether a person's pause is asked for, or holds: only then there is something to end.
fn is_held(state: &RunState) -> bool {
    state.requests.pause.is_some() || state.is_paused()
}

/// What the settings say where the variable was not known before.
fn set_now(name: &str, state: &RunState) -> Option<String> {
    let values = &state.settings.shown().values;
    match name {
        MODE => Some(values.environment.mode.word().to_owned()),
        CLI => Some(values.agent.agent.clone()),
        PRIORITY => Some(values.environment.priority.word().to_owned()),
        PAUSE => Some("false".to_owned()),
        _ => None,
    }
}

/// Whether the setting stays although the variable is gone from the file: no other value holds instead, or a person set
/// it otherwise since. A process that opens the run brings its own values.
fn stays(name: &str, new: Option<&str>, state: &RunState, opens: bool) -> bool {
    let Some(old) = state.prompt.surroundings.variable(name) else { return false };
    new.is_none() || (!opens && set_now(name, state).is_some_and(|set| set != old))
}

/// What is said then, with the command that changes it.
fn staying(name: &str, state: &RunState) -> Option<String> {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let key = match name {
        MODE => keys::mode().name,
        PRIORITY => keys::priority().name,
        CLI => keys::agent().name,
        PAUSE if is_held(state) => {
            return Some(format!("{PAUSE} is not set any more: the loop stays paused; loop resume {id}"));
        }
        _ => return None,
    };
    let value = text::one_line(&set_now(name, state)?, 60);
    Some(format!("{name} is not set any more: {key} stays {value}; to change it: loop set {id} {key}=VALUE"))
}

/// Whether a value lets the run do more than before: what may be the agent's own may only hold it back.
fn loosens(name: &str, new: Option<&str>, state: &RunState) -> bool {
    match name {
        PAUSE => new != Some("true") && is_held(state),
        MODE => {
            let mode = state.settings.shown().values.environment.mode;
            mode == RunMode::Conservative && new != Some(RunMode::Conservative.word())
        }
        _ => false,
    }
}

fn loosening(name: &str, new: Option<&str>, state: &RunState) -> String {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let instead = if name == PAUSE {
        format!("loop resume {id}")
    } else {
        format!("loop set {id} mode={}", new.unwrap_or(RunMode::default().word()))
    };
    format!(
        "{name} in {FOLDER}/{FILE} is ignored: it changed while the agent or a gate worked, and could be theirs; {instead}"
    )
}

/// The lines of the file, and what is wrong with some.
fn read(bytes: &[u8]) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut values, mut problems) = (BTreeMap::new(), Vec::new());
    let text = text::clean(bytes);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let pair = line.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
        match pair.filter(|(name, _)| KNOWN.iter().any(|(known, _)| known == name)) {
            Some((name, value)) => {
                let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
                values.insert(name.to_owned(), bare.to_owned());
            }
            None => problems.push(format!("{FOLDER}/{FILE}: {:?} is ignored", text::one_line(line, 60))),
        }
    }
    (values, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_read_by_line_and_what_is_not_a_known_variable_is_named() {
        let (values, problems) =
            read(b"# mine\nexport HARNESS_MODE=turbo\nHARNESS_PAUSE = \"true\"\n\nPATH=/tmp\nwhat\n");
        assert_eq!(values.get(MODE).map(String::as_str), Some("turbo"));
        assert_eq!(values.get(PAUSE).map(String::as_str), Some("true"));
        assert_eq!(problems, [".harness/env: \"PATH=/tmp\" is ignored", ".harness/env: \"what\" is ignored"]);
    }
}
