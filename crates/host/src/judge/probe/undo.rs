//! The sources of the start under the tests of now.
use loop_core::policy::probe::{TreeVersion, UndoStep, undo};

use super::writer::ProbedCopy;
use super::{ProbeContext, ProbeError, gate_files};
use crate::checkpoint::RecordedTrees;

/// What became of the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Undone {
    /// Sources are as they were at the start.
    Changed,
    /// No source was changed since the start: the copy is the final tree.
    Unchanged,
}

/// Sets all sources of the copy back to the initial tree; tests and what says how they are run stay as they are.
///
/// # Errors
/// When sources and tests cannot be told apart, or the copy cannot be changed.
pub fn apply_undone(context: &ProbeContext<'_>) -> Result<Undone, ProbeError> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let changed = trees.changed();
    let read = |version: TreeVersion, path: &str| trees.text(version, path);
    let plan = undo(&changed, &gate_files(context), &read)?;
    let mut copy = ProbedCopy::open(context)?;
    for step in &plan.steps {
        match step {
            UndoStep::Restore(path) => copy.put(path.as_bytes(), context.initial)?,
            UndoStep::Remove(path) => copy.remove_with_folders(path.as_bytes(), context.initial)?,
            UndoStep::Write { path, contents } => {
                let mode = trees.entry(TreeVersion::Initial, path.as_bytes()).map_or(0o644, |entry| entry.mode);
                copy.write(path.as_bytes(), contents.as_bytes(), mode)?;
            }
        }
    }
    Ok(if plan.steps.is_empty() { Undone::Unchanged } else { Undone::Changed })
}
