//! The log of the autonomous specification: iterations, progress markers, recovery.
use std::path::Path;

use loop_core::run::{Entry, RunState};
use loop_core::view::{HarnessFold, HarnessLine};

use super::Publisher;
use super::log::{HARNESS, Log};

/// The name of the file.
const NAME: &str = "harness.log";

/// Writes the log as the journal grows.
#[derive(Debug)]
pub struct HarnessLog {
    log: Log,
    fold: HarnessFold,
    /// It was reported that it cannot be written: once is enough.
    complained: bool,
}

impl HarnessLog {
    /// For a workspace.
    #[must_use]
    pub fn new(workspace: &Path) -> Self {
        Self { log: Log::ours(workspace, NAME), fold: HarnessFold::default(), complained: false }
    }

    fn lines(&mut self, entry: &Entry, state: &RunState) -> Vec<String> {
        let lines = self.fold.take(entry, state);
        lines.iter().map(|line: &HarnessLine| line.in_file(entry.at)).collect()
    }
}

impl Publisher for HarnessLog {
    fn replay(&mut self, entry: &Entry, state: &RunState) {
        let lines = self.lines(entry, state);
        self.log.replay(lines);
    }

    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Option<String> {
        let lines = self.lines(entry, state);
        let error = self.log.add(&lines).err()?;
        let first = !std::mem::replace(&mut self.complained, true);
        first.then(|| format!("{HARNESS}/{NAME} cannot be written, and the loop continues without it: {error}"))
    }
}
