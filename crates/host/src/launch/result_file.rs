//! The result file of a run, where one is asked for: written whole or not at all.
use loop_core::run::{Entry, RunState};
use loop_core::view::{Record, RunResult};

use super::caller::LaunchNote;
use crate::paths::path_of;
use crate::workspace::{WorkspaceIdentity, write_own_file};

/// Collects what the result file says beside the state. Empty where no result file is asked for.
#[derive(Debug)]
pub(super) struct ResultFile {
    record: Option<Record>,
    workspace: WorkspaceIdentity,
}

impl ResultFile {
    /// For a run with this state and these entries before it.
    pub(super) fn new(state: &RunState, past: &[Entry], workspace: WorkspaceIdentity) -> Self {
        let wanted = state.settings.shown().values.output.result.is_some();
        Self { record: wanted.then(|| Record::of(past)), workspace }
    }

    /// One more line of the journal.
    pub(super) fn apply(&mut self, entry: &Entry) {
        if let Some(record) = &mut self.record {
            record.apply(entry);
        }
    }

    /// Writes it. Returns a warning.
    pub(super) fn write(&self, state: &RunState) -> Option<LaunchNote> {
        let setting = state.settings.shown().values.output.result.as_ref()?;
        let mut result = RunResult::of(state)?;
        if let Some(record) = &self.record {
            result = result.with(record.claims());
        }
        result.exit_code = result.exit_code.or(Some(3));
        let text = serde_json::to_string_pretty(&result).map_err(std::io::Error::from);
        let written = text.and_then(|text| write_own_file(&self.workspace, &path_of(setting), &(text + "\n")));
        let error = written.err()?;
        Some(LaunchNote::important(format!("warning: cannot write the result file {setting}: {error}")))
    }
}
