//! What the progress score is made of and only files have: how different the output is from the one before, and the
//! ticked lines of the task's checklist.
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use loop_core::policy::score::{Checklist, named_files};
use loop_core::policy::similarity::output_difference;
use loop_core::run::{Measurement, RunState, StoredText};
use loop_core::text;

use crate::fs::handle::open_file;
use crate::fs::open_folder;
use crate::process::tail_of;
use crate::run_folder::{RunFolder, read_text};

/// The file of an attempt with the agent's own final message, where its output has another form.
pub(crate) const WORDS: &str = "words.txt";
/// The end of an output that is compared. A longer output is compared by its end.
pub(crate) const WORDS_BYTES_MAX: usize = 256 * 1024;
/// A file with a checklist is not longer.
const CHECKLIST_BYTES_MAX: u64 = 256 * 1024;

/// Of which iteration they are.
#[derive(Debug, Clone)]
pub(crate) struct Scored {
    iteration: u32,
    attempt: u32,
    goal: Option<StoredText>,
}

impl Scored {
    /// The iteration that has just ended.
    pub(crate) fn of(state: &RunState) -> Self {
        let goal = state.spec.as_ref().map(|spec| spec.goal.clone());
        Self { iteration: state.iteration, attempt: state.attempt, goal }
    }

    /// Adds them to a measurement.
    pub(crate) fn add(&self, run: &RunFolder, workspace: &Path, measured: Measurement) -> Measurement {
        let now = output(&run.attempt(self.iteration, self.attempt));
        let before = last_attempt(run, self.iteration.saturating_sub(1)).map(|folder| output(&folder));
        let goal = self.goal.as_ref().and_then(|goal| read_text(run, goal).ok()).unwrap_or_default();
        Measurement {
            output_difference: Some(output_difference(before.as_deref(), &now)),
            checklist: checklist(&goal, workspace),
            ..measured
        }
    }
}

/// What the agent said in an attempt; of a plain program, what it printed.
fn output(attempt: &Path) -> String {
    let words = fs::read(attempt.join(WORDS));
    let most = u64::try_from(WORDS_BYTES_MAX).unwrap_or(u64::MAX);
    text::clean(&words.unwrap_or_else(|_| tail_of(&attempt.join("stdout"), most)))
}

/// The folder of the last attempt of an iteration.
fn last_attempt(run: &RunFolder, iteration: u32) -> Option<PathBuf> {
    let folders = fs::read_dir(run.iteration(iteration)).ok()?.flatten();
    let number = |name: &str| name.strip_prefix("attempt-")?.parse::<u32>().ok();
    let last = folders.filter_map(|entry| number(entry.file_name().to_str()?)).max()?;
    Some(run.attempt(iteration, last))
}

/// The checklist of a task: that of the files of the workspace that it names, else its own.
fn checklist(goal: &str, workspace: &Path) -> Option<Checklist> {
    let folder = open_folder(workspace).ok();
    let lists = named_files(goal).into_iter().filter_map(|name| {
        let mut bytes = Vec::new();
        let file = open_file(folder.as_ref()?, name.as_bytes()).ok()?;
        file.take(CHECKLIST_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        Checklist::of(&String::from_utf8_lossy(&bytes))
    });
    lists.reduce(Checklist::plus).or_else(|| Checklist::of(goal))
}
