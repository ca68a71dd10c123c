//! The files of `loopr`: `.loopr/status.json`, `loop-state.json`, `.call_count`, `.last_reset` and `loop.log`.
use std::io;
use std::path::Path;

use loop_core::run::{Entry, RunState};
use loop_core::view::{LooprFiles, LooprFold};
use serde::Serialize;

use super::Publisher;
use super::output_folder::OutputFolder;

/// Where they lie in the workspace.
const FOLDER: &str = ".loopr";

/// Writes them as the journal grows.
#[derive(Debug)]
pub struct Loopr {
    folder: OutputFolder,
    fold: LooprFold,
    shown: Option<LooprFiles>,
    /// The newest line that an earlier driver wrote, or was killed before it could.
    owed: Option<String>,
    /// It was reported that they cannot be written: once is enough.
    complained: bool,
}

impl Loopr {
    /// For a workspace.
    #[must_use]
    pub fn new(workspace: &Path) -> Self {
        let folder = OutputFolder::new(workspace, FOLDER);
        Self { folder, fold: LooprFold::default(), shown: None, owed: None, complained: false }
    }

    /// Writes what has changed. The status comes last: who waits for a change of it finds all the others done.
    fn show(&mut self, state: &RunState) -> io::Result<()> {
        let files = self.fold.files(state);
        let before = self.shown.take();
        let before = before.as_ref();
        if before.map(|before| before.call_count) != Some(files.call_count) {
            self.folder.put(".call_count", format!("{}\n", files.call_count).as_bytes())?;
        }
        if before.map(|before| &before.last_reset) != Some(&files.last_reset) {
            self.folder.put(".last_reset", format!("{}\n", files.last_reset).as_bytes())?;
        }
        if before.map(|before| &before.counts) != Some(&files.counts) {
            self.folder.put("loop-state.json", pretty(&files.counts).as_bytes())?;
        }
        if before.map(|before| &before.status) != Some(&files.status) {
            self.folder.put("status.json", pretty(&files.status).as_bytes())?;
        }
        self.shown = Some(files);
        Ok(())
    }
}

/// The log.
const LOG: &str = "loop.log";

impl Loopr {
    fn log(&mut self, line: Option<String>) -> io::Result<()> {
        if let Some(owed) = self.owed.take()
            && !self.folder.holds(LOG, &owed)?
        {
            self.folder.add(LOG, &owed)?;
        }
        line.map_or(Ok(()), |line| self.folder.add(LOG, &line))
    }
}

impl Publisher for Loopr {
    fn replay(&mut self, entry: &Entry, state: &RunState) {
        self.owed = self.fold.take(entry, state).or(self.owed.take());
    }

    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Option<String> {
        let line = self.fold.take(entry, state);
        let logged = self.log(line);
        let shown = self.show(state);
        let error = logged.and(shown).err()?;
        let first = !std::mem::replace(&mut self.complained, true);
        first.then(|| format!("the files in {FOLDER} cannot be written, and the loop continues without them: {error}"))
    }
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}
