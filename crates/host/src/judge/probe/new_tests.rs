//! The final tree without the test files that the agent added.
use std::collections::BTreeSet;
use std::io;

use loop_core::policy::probe::{CanaryRequest, TreeVersion, new_test_files};
use loop_core::policy::protect::is_test_path;

use super::ProbeContext;
use super::canary::plain_files;
use super::writer::ProbedCopy;
use crate::checkpoint::RecordedTrees;

/// The test files that are new since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTests {
    files: BTreeSet<String>,
    /// Tests of the start were changed. These may need the new files.
    pub old_tests_changed: bool,
}

/// The new files that runners of the gates run as tests; none where there is nothing to take out.
#[must_use]
pub fn new_tests(context: &ProbeContext<'_>) -> Option<NewTests> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let (initial, last) = (plain_files(context.initial), plain_files(context.last));
    let read = |version: TreeVersion, path: &str| trees.text(version, path);
    let files: BTreeSet<String> = context
        .gates
        .iter()
        .flat_map(|gate| {
            new_test_files(&CanaryRequest {
                command: &gate.spec.command,
                tests: gate.tests,
                red: gate.red,
                initial: &initial,
                last: &last,
                opened: &[],
                word: "",
                read: &read,
            })
        })
        .collect();
    let old_tests_changed = trees.changed().iter().any(|file| file.was_there && is_test_path(&file.path));
    (!files.is_empty()).then_some(NewTests { files, old_tests_changed })
}

impl NewTests {
    /// Removes them from the copy.
    ///
    /// # Errors
    /// When the copy cannot be changed.
    pub fn remove(&self, context: &ProbeContext<'_>) -> io::Result<()> {
        let mut copy = ProbedCopy::open(context)?;
        self.files.iter().try_for_each(|path| copy.remove_with_folders(path.as_bytes(), context.initial))
    }
}
