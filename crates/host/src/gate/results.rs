//! The tests of a try of a gate: stored beside its output, compared with the try before and with the first.
use std::path::{Path, PathBuf};

use loop_core::ids::OrderId;
use loop_core::policy::protect::asks_to_remove_test;
use loop_core::run::{NameList, RunState, StoredText, TestsSeen};
use loop_core::test_output::{KnownTests, TestStatus, Tests};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::fs::hex;
use crate::paths::write_whole;
use crate::run_folder::{RunFolder, read_text};

/// The file beside the output of a gate that holds its tests by name.
const FILE: &str = "tests";
/// The folder of a run with the names of all tests that its gates have shown.
const KNOWN: &str = "known-tests";

/// Stores the tests of a try beside its output.
pub(crate) fn store_tests(folder: &Path, tests: &Tests) {
    // If this fails, the next try is compared with nothing.
    write_whole(&folder.join(FILE), &tests.to_text()).ok();
}

/// The folders with the tests of one gate.
#[derive(Debug)]
pub(crate) struct TestHistory {
    /// Where the tests of this try are stored; none on a copy.
    now: Option<PathBuf>,
    before: Option<PathBuf>,
    first: Option<PathBuf>,
    /// The file with all names that were seen so far, and its hash as the journal has it.
    known: PathBuf,
    known_hash: Option<String>,
    run: RunFolder,
    task: Option<StoredText>,
}

/// Why the tests of a try cannot be compared.
#[derive(Debug, Error)]
pub(crate) enum TestHistoryError {
    /// Somebody changed or removed the file.
    #[error("the list of tests that were seen so far is not what this loop wrote: {0}")]
    Changed(PathBuf),
}

impl TestHistory {
    /// For a try of a gate that is begun with this order.
    pub(crate) fn of(run: &RunFolder, state: &RunState, gate: u32, order: OrderId) -> Self {
        let memory = state.gates.get(gate);
        let last = memory.and_then(|memory| memory.last());
        Self {
            now: Some(run.gate(state.iteration, order)),
            before: last.map(|last| run.gate(last.iteration, last.order)),
            first: memory.and_then(|memory| memory.first_order()).map(|first| run.gate(0, first)),
            known: run.path.join(KNOWN).join(gate.to_string()),
            known_hash: memory.and_then(|memory| memory.known_tests()).map(str::to_owned),
            run: run.clone(),
            task: state.spec.as_ref().map(|spec| spec.goal.clone()),
        }
    }

    /// For a gate that is run on a copy: nothing is stored with the run.
    pub(crate) fn on_copy(run: &RunFolder, state: &RunState, gate: u32) -> Self {
        Self { now: None, before: None, ..Self::of(run, state, gate, OrderId(0)) }
    }

    /// Stores the tests of this try, and says how they differ from earlier ones.
    ///
    /// # Errors
    /// When the list of the tests that were seen so far was changed by somebody else.
    pub(crate) fn add(self, tests: &Tests) -> Result<TestsSeen, TestHistoryError> {
        let mut seen = self.compared(tests)?;
        let mut known = self.known_tests()?;
        if let Some(now) = &self.now {
            store_tests(now, tests);
        }
        known.add(tests);
        seen.known = self.write_known(&known);
        Ok(seen)
    }

    /// How the tests of a try differ from earlier ones.
    ///
    /// # Errors
    /// When the list of the tests that were seen so far was changed by somebody else.
    pub(crate) fn compared(&self, tests: &Tests) -> Result<TestsSeen, TestHistoryError> {
        let known = self.known_tests()?;
        let mut seen = TestsSeen {
            format: tests.format.to_owned(),
            passed: tests.passed,
            failed: tests.failed,
            skipped: tests.skipped,
            files_only: tests.is_files_only(),
            by_suites: tests.is_by_suites(),
            uncounted: tests.uncounted,
            ..TestsSeen::default()
        };
        if let Some(before) = self.before.as_deref().and_then(stored_tests) {
            let compared = tests.against(&before);
            // Where only failures are named, a new name among more of them was a passing test.
            let unnamed = !before.names_all() && tests.failed > before.failed;
            let newly = compared.newly_failing.iter().chain(compared.new_failing.iter().filter(|_| unnamed));
            seen.newly_passing = names(compared.newly_passing.iter());
            seen.newly_failing = names(newly);
            seen.still_failing = names(compared.still_failing.iter());
        }
        if let Some(first) = self.first.as_deref().and_then(stored_tests) {
            let compared = tests.against(&first);
            seen.gone = names(compared.gone.iter());
            seen.newly_skipped = names(compared.newly_skipped.iter());
            let failed_first = |name: &&String| first.statuses.get(*name) == Some(&TestStatus::Failed);
            let failing = tests.statuses.iter().filter(|(_, status)| **status == TestStatus::Failed);
            seen.failing_since_start = names(failing.map(|(name, _)| name).filter(|name| !failed_first(name)));
        }
        let missing = known.missing(tests);
        // The text of the task is read only where it may say something.
        let task = if missing.exact.is_empty() { String::new() } else { self.task_text() };
        let is_asked = |name: &&String| asks_to_remove_test(&task, name);
        seen.asked_away = names(missing.exact.iter().filter(is_asked));
        seen.missing = names(missing.exact.iter().filter(|name| !is_asked(name)));
        seen.missing_without_brackets = names(missing.without_brackets.iter().filter(|name| !is_asked(name)));
        seen.all_named = known.is_whole() && tests.names_all();
        Ok(seen)
    }

    fn task_text(&self) -> String {
        let Some(task) = &self.task else { return String::new() };
        read_text(&self.run, task).unwrap_or_else(|_| task.head.clone())
    }

    /// The names that were seen so far, as the journal knows them.
    fn known_tests(&self) -> Result<KnownTests, TestHistoryError> {
        let changed = || TestHistoryError::Changed(self.known.clone());
        let Some(hash) = &self.known_hash else { return Ok(KnownTests::default()) };
        let text = std::fs::read_to_string(self.known_file(hash)).map_err(|_| changed())?;
        if hash_of(&text) != *hash {
            return Err(changed());
        }
        KnownTests::from_text(&text).ok_or_else(changed)
    }

    /// Writes them under the name of their hash: a crash before the journal has it leaves the earlier file.
    fn write_known(&self, known: &KnownTests) -> Option<String> {
        let text = known.to_text();
        let hash = hash_of(&text);
        if self.known_hash.as_ref() == Some(&hash) {
            return Some(hash);
        }
        std::fs::create_dir_all(&self.known).ok()?;
        write_whole(&self.known_file(&hash), &text).ok()?;
        for other in std::fs::read_dir(&self.known).ok()?.flatten() {
            let name = other.file_name();
            let keep = [Some(hash.as_str()), self.known_hash.as_deref()];
            if !keep.contains(&name.to_str()) {
                std::fs::remove_file(other.path()).ok();
            }
        }
        Some(hash)
    }

    fn known_file(&self, hash: &str) -> PathBuf {
        self.known.join(hash)
    }
}

fn hash_of(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The tests of a try, by name.
pub(crate) fn stored_tests(folder: &Path) -> Option<Tests> {
    Tests::from_text(&std::fs::read_to_string(folder.join(FILE)).ok()?)
}

fn names<'a>(all: impl Iterator<Item = &'a String>) -> NameList {
    NameList::of(all.map(String::as_str))
}
