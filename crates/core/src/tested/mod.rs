//! What a gate's output says about tests: which passed, failed or were skipped, by names that stay the same between runs.
//!
//! The format is found in the text itself; several may stand in one output. A test that is expected to fail (xfail, TODO) counts as
//! skipped: to mark a failing test so must show as one that no longer judges. A suite that could not be loaded or built counts as one failure.
mod compared;
mod go;
mod jest;
mod junit;
mod kept;
mod libtest;
mod lines;
mod marks;
mod nextest;
mod node;
mod pytest;
mod seen;
mod tap;
mod telling;
mod useful;
mod vitest;
mod words;

use std::collections::BTreeMap;

pub use compared::Compared;
use lines::Lines;
use marks::{Counts, Found};
pub use marks::{ID_BYTES_MAX, IDS_MAX};
pub use seen::TestsSeen;
pub use useful::useful;

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// It ran and held.
    Passed,
    /// It ran and did not hold, or could not run.
    Failed,
    /// It judged nothing: ignored, skipped, to do, or expected to fail.
    Skipped,
}

/// Which of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// The standard output.
    Stdout,
    /// The standard error.
    Stderr,
}

/// The name where tests of several formats stand in one output.
const SEVERAL: &str = "several";
/// Every name that [`Tests::format`] may have.
pub const FORMATS: [&str; 10] = [
    libtest::NAME,
    nextest::NAME,
    pytest::NAME,
    go::NAME,
    jest::NAME,
    vitest::NAME,
    node::NAME,
    tap::NAME,
    junit::NAME,
    SEVERAL,
];

/// The tests of one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// What wrote it: one of [`FORMATS`].
    pub format: &'static str,
    /// The tests that were named, and where the output names only files or packages, those.
    pub marks: BTreeMap<String, Mark>,
    /// How many passed; what a summary states comes before what was named.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many judged nothing.
    pub skipped: u32,
    /// There are more tests than these: over the bound, or the run stopped early or was cut off.
    pub uncounted: bool,
}

/// One format being read.
trait Format: Default {
    /// Takes a line without colours.
    fn line(&mut self, line: &str);
    /// Whether the lines now are what a test itself printed: nobody else reads them.
    fn deep(&self) -> bool {
        false
    }
    /// Takes what the same format found on stderr.
    fn join(&mut self, stderr: Self);
    /// What it amounted to; none where the text is not of this format.
    fn end(self) -> Option<Found>;
}

/// Every format, for one voice.
#[derive(Debug, Default)]
struct Ear {
    lines: Lines,
    libtest: libtest::Libtest,
    nextest: nextest::Nextest,
    pytest: pytest::Pytest,
    go: go::Go,
    jest: jest::Jest,
    vitest: vitest::Vitest,
    node: node::Node,
    tap: tap::Tap,
    junit: junit::Junit,
}

impl Ear {
    fn push(&mut self, bytes: &[u8]) {
        self.junit.push(bytes);
        let mut lines = std::mem::take(&mut self.lines);
        lines.push(bytes, &mut |line| self.line(line));
        self.lines = lines;
    }

    fn line(&mut self, line: &str) {
        if self.nextest.deep() {
            self.nextest.line(line);
        } else if self.libtest.deep() {
            self.libtest.line(line);
        } else if self.pytest.deep() {
            self.pytest.line(line);
        } else {
            self.nextest.line(line);
            self.libtest.line(line);
            self.pytest.line(line);
            self.go.line(line);
            self.jest.line(line);
            self.vitest.line(line);
            self.node.line(line);
            self.tap.line(line);
        }
    }

    fn finish(&mut self) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.finish(&mut |line| self.line(line));
    }
}

/// A gate's output being read. Memory is bounded; it does not matter where the bytes are cut, nor how the voices interleave.
#[derive(Debug, Default)]
pub struct Reader {
    stdout: Ear,
    stderr: Ear,
}

impl Reader {
    /// Takes the next bytes of a voice.
    pub fn push(&mut self, voice: Voice, bytes: &[u8]) {
        match voice {
            Voice::Stdout => self.stdout.push(bytes),
            Voice::Stderr => self.stderr.push(bytes),
        }
    }

    /// The tests that the output told of; none where it told of none.
    #[must_use]
    pub fn end(mut self) -> Option<Tests> {
        self.stdout.finish();
        self.stderr.finish();
        let (out, err) = (self.stdout, self.stderr);
        let found = [
            joined(out.libtest, err.libtest),
            joined(out.nextest, err.nextest),
            joined(out.pytest, err.pytest),
            joined(out.go, err.go),
            joined(out.jest, err.jest),
            joined(out.vitest, err.vitest),
            joined(out.node, err.node),
            joined(out.tap, err.tap),
        ];
        let mut found: Vec<Found> = found.into_iter().flatten().collect();
        // A report beside the words of the same run tells of the same tests once more.
        let report = joined(out.junit, err.junit).filter(|report| found.iter().all(|one| one.counts != report.counts));
        found.extend(report);
        merged(found)
    }
}

/// The tests of an output that is there as a whole.
#[must_use]
pub fn read(stdout: &[u8], stderr: &[u8]) -> Option<Tests> {
    let mut reader = Reader::default();
    reader.push(Voice::Stdout, stdout);
    reader.push(Voice::Stderr, stderr);
    reader.end()
}

fn joined<F: Format>(mut stdout: F, stderr: F) -> Option<Found> {
    stdout.join(stderr);
    stdout.end()
}

/// One answer; an id that two formats use gets the later one's name before it.
fn merged(found: Vec<Found>) -> Option<Tests> {
    let format = match found.as_slice() {
        [] => return None,
        [one] => one.format,
        [_, _, ..] => SEVERAL,
    };
    let mut marks: BTreeMap<String, Mark> = BTreeMap::new();
    let mut counts = Counts::default();
    let mut uncounted = false;
    for one in found {
        counts = counts.plus(one.counts);
        uncounted |= one.over;
        for (id, mark) in one.marks {
            let id = if marks.contains_key(&id) { marks::bounded(&format!("{}: {id}", one.format)) } else { id };
            if marks.len() < IDS_MAX {
                marks.insert(id, mark);
            } else {
                uncounted = true;
            }
        }
    }
    let Counts { passed, failed, skipped } = counts;
    Some(Tests { format, marks, passed, failed, skipped, uncounted })
}
