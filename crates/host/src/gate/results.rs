//! The tests of a try of a gate: stored beside its output, compared with the try before and with the first.
use std::path::{Path, PathBuf};

use loop_core::ids::OrderId;
use loop_core::run::{NameList, RunState, TestsSeen};
use loop_core::test_output::Tests;

use crate::paths::write_whole;
use crate::run_folder::RunFolder;

/// The file beside the output of a gate that holds its tests by name.
const FILE: &str = "tests";

/// Stores the tests of a try beside its output.
pub(crate) fn store_tests(folder: &Path, tests: &Tests) {
    // If this fails, the next try is compared with nothing.
    write_whole(&folder.join(FILE), &tests.to_text()).ok();
}

/// The folders with the tests of one gate.
#[derive(Debug)]
pub(crate) struct TestHistory {
    now: PathBuf,
    before: Option<PathBuf>,
    first: Option<PathBuf>,
}

impl TestHistory {
    /// For a try of a gate that is begun with this order.
    pub(crate) fn of(run: &RunFolder, state: &RunState, gate: u32, order: OrderId) -> Self {
        let memory = state.gates.get(gate);
        let last = memory.and_then(|memory| memory.last());
        Self {
            now: run.gate(state.iteration, order),
            before: last.map(|last| run.gate(last.iteration, last.order)),
            first: memory.and_then(|memory| memory.first_order()).map(|first| run.gate(0, first)),
        }
    }

    /// Stores the tests of this try, and says how they differ from earlier ones.
    pub(crate) fn add(self, tests: &Tests) -> TestsSeen {
        store_tests(&self.now, tests);
        let mut seen = TestsSeen {
            format: tests.format.to_owned(),
            passed: tests.passed,
            failed: tests.failed,
            skipped: tests.skipped,
            ..TestsSeen::default()
        };
        if let Some(before) = self.before.as_deref().and_then(read) {
            let compared = tests.against(&before);
            // Where only failures are named, a new name among more of them was a passing test.
            let unnamed = !before.names_all() && tests.failed > before.failed;
            let newly = compared.newly_failing.iter().chain(compared.new_failing.iter().filter(|_| unnamed));
            seen.newly_passing = names(compared.newly_passing.iter());
            seen.newly_failing = names(newly);
            seen.still_failing = names(compared.still_failing.iter());
        }
        if let Some(first) = self.first.as_deref().and_then(read) {
            let compared = tests.against(&first);
            seen.gone = names(compared.gone.iter());
            seen.newly_skipped = names(compared.newly_skipped.iter());
        }
        seen
    }
}

fn read(folder: &Path) -> Option<Tests> {
    Tests::from_text(&std::fs::read_to_string(folder.join(FILE)).ok()?)
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> NameList {
    NameList::of(all.map(String::as_str))
}
