//! The final tree without the test files that the agent added: some are removed, others made empty.
use std::collections::BTreeSet;
use std::io;

use loop_core::policy::probe::{CanaryRequest, TreeVersion, new_files_beside_tests, new_test_files};
use loop_core::policy::protect::is_test_path;

use super::ProbeContext;
use super::canary::{plain_files, pytest_addopts};
use super::writer::ProbedCopy;
use crate::checkpoint::RecordedTrees;

/// The test files that are new since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTests {
    removed: BTreeSet<String>,
    emptied: BTreeSet<String>,
    /// Tests of the start were changed. These may need the new files.
    pub old_tests_changed: bool,
}

/// The new files that runners of the gates run as tests; none where there is nothing to take out.
#[must_use]
pub fn new_tests(context: &ProbeContext<'_>) -> Option<NewTests> {
    let trees = RecordedTrees::new(context.initial, context.last);
    let (initial, last) = (plain_files(context.initial), plain_files(context.last));
    let read = |version: TreeVersion, path: &str| trees.text(version, path);
    let addopts = pytest_addopts();
    let requests = context.gates.iter().filter(|gate| !gate.spec.red).map(|gate| CanaryRequest {
        command: &gate.spec.command,
        tests: gate.tests,
        red: gate.red,
        initial: &initial,
        last: &last,
        addopts: &addopts,
        word: "",
        read: &read,
    });
    let requests: Vec<CanaryRequest<'_>> = requests.collect();
    let removed: BTreeSet<String> = requests.iter().flat_map(new_test_files).collect();
    let known: Vec<String> = removed.iter().cloned().collect();
    let beside = requests.iter().map(|request| new_files_beside_tests(request, context.gate_files, &known));
    let mut beside = beside.map(BTreeSet::from_iter);
    // What one of the gates needs stays.
    let first: BTreeSet<String> = beside.next().unwrap_or_default();
    let emptied = beside.fold(first, |all, one| all.intersection(&one).cloned().collect());
    let old_tests_changed = trees.changed().iter().any(|file| file.was_there && is_test_path(&file.path));
    let is_none = removed.is_empty() && emptied.is_empty();
    (!is_none).then_some(NewTests { removed, emptied, old_tests_changed })
}

impl NewTests {
    /// Takes them out of the copy.
    ///
    /// # Errors
    /// When the copy cannot be changed.
    pub fn take_out(&self, context: &ProbeContext<'_>) -> io::Result<()> {
        let mut copy = ProbedCopy::open(context)?;
        for path in &self.emptied {
            let mode = context.last.checkpoint.names.get(path.as_bytes()).map_or(0o644, |entry| entry.mode);
            copy.write(path.as_bytes(), b"", mode)?;
        }
        self.removed.iter().try_for_each(|path| copy.remove_with_folders(path.as_bytes(), context.initial))
    }

    /// Removes those that were made empty: a runner may want something in each file that it finds.
    ///
    /// # Errors
    /// When the copy cannot be changed.
    pub fn remove_emptied(&self, context: &ProbeContext<'_>) -> io::Result<()> {
        let mut copy = ProbedCopy::open(context)?;
        self.emptied.iter().try_for_each(|path| copy.remove_with_folders(path.as_bytes(), context.initial))
    }
}
