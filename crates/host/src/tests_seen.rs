//! What the output of a gate says about tests: read as it comes, compared with the run of it before and with the first.
use std::path::{Path, PathBuf};

use loop_core::ids::OrderId;
use loop_core::run::{NameList, RunState, TestsSeen};
use loop_core::test_output::{OutputStream, TestReader, Tests};

use crate::paths::write_whole;
use crate::process::Voice;
use crate::runs::RunFolder;

/// The file beside the output of a gate that holds its tests by name.
const FILE: &str = "tests";

/// A gate under way.
#[derive(Debug)]
pub(crate) struct Judging {
    reader: TestReader,
    folder: PathBuf,
    before: Option<PathBuf>,
    first: Option<PathBuf>,
}

impl Judging {
    pub(crate) fn of(run: &RunFolder, state: &RunState, (gate, order): (u32, OrderId)) -> Self {
        let memory = state.gates.get(gate);
        let last = memory.and_then(|memory| memory.last());
        Self {
            reader: TestReader::default(),
            folder: run.gate(state.iteration, order),
            before: last.map(|last| run.gate(last.iteration, last.order)),
            first: memory.and_then(|memory| memory.first_order()).map(|first| run.gate(0, first)),
        }
    }

    pub(crate) fn hear(&mut self, voice: Voice, bytes: &[u8]) {
        self.reader.push(side(voice), bytes);
    }

    /// What was seen; the names are kept beside the output.
    pub(crate) fn end(self) -> Option<TestsSeen> {
        let tests = self.reader.end()?;
        // Without it the next run is compared with nothing.
        write_whole(&self.folder.join(FILE), &tests.to_text()).ok();
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
            seen.newly_passing = few(compared.newly_passing.iter());
            seen.newly_failing = few(newly);
            seen.still_failing = few(compared.still_failing.iter());
        }
        if let Some(first) = self.first.as_deref().and_then(read) {
            let compared = tests.against(&first);
            seen.gone = few(compared.gone.iter());
            seen.newly_skipped = few(compared.newly_skipped.iter());
        }
        Some(seen)
    }
}

/// Which of its two voices that is.
pub(crate) fn side(voice: Voice) -> OutputStream {
    match voice {
        Voice::Stdout => OutputStream::Stdout,
        Voice::Stderr => OutputStream::Stderr,
    }
}

fn read(folder: &Path) -> Option<Tests> {
    Tests::from_text(&std::fs::read_to_string(folder.join(FILE)).ok()?)
}

fn few<'a>(names: impl Iterator<Item = &'a String>) -> NameList {
    NameList::of(names.map(String::as_str))
}
