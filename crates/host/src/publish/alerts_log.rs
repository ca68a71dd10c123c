//! The log of alerts: one line of JSON each.
use std::io;
use std::path::Path;

use loop_core::run::{Decision, Entry, Fact, RunState};
use loop_core::view::AlertRow;

use super::Publisher;
use super::log::Log;

/// Writes alerts as the journal grows.
#[derive(Debug)]
pub struct AlertsLog {
    log: io::Result<Log>,
    path: String,
    /// It was reported that it cannot be written: once is enough.
    complained: bool,
}

impl AlertsLog {
    /// At this path, as the setting has it.
    #[must_use]
    pub fn new(workspace: &Path, path: &str) -> Self {
        Self { log: Log::at(workspace, path), path: path.to_owned(), complained: false }
    }
}

fn line_of(entry: &Entry) -> Option<String> {
    let Fact::Decided(Decision::Alert(alert)) = &entry.fact else { return None };
    serde_json::to_string(&AlertRow::of(entry.at, alert)).ok().map(|line| line + "\n")
}

impl Publisher for AlertsLog {
    fn replay(&mut self, entry: &Entry, _: &RunState) {
        if let Ok(log) = &mut self.log {
            log.replay(line_of(entry).into_iter().collect());
        }
    }

    fn on_entry(&mut self, entry: &Entry, _: &RunState) -> Option<String> {
        let lines: Vec<String> = line_of(entry).into_iter().collect();
        let error = match &mut self.log {
            Ok(log) => log.add(&lines).err()?.to_string(),
            Err(error) => error.to_string(),
        };
        let first = !std::mem::replace(&mut self.complained, true);
        first.then(|| format!("{} cannot be written, and the loop continues without it: {error}", self.path))
    }
}
