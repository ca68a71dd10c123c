//! What a gate's output says about tests: which passed, failed or were skipped, by names that stay the same between
//! runs.
//!
//! The format is found in the text itself; one output may hold several. A test that is expected to fail (xfail, TODO)
//! counts as skipped: marking a failing test so must show as a test that no longer judges. A suite that could not be
//! loaded or built counts as one failure.
//!
//! | file | what is there |
//! |---|---|
//! | `libtest` … `junit` | one reader for each format; a new one is a file and a line in `READERS` |
//! | `test_list` `scan` `lines` | what readers share: tests by id, pieces of a line, bytes to lines |
//! | `compared` `stored` `seen` | two runs compared; tests as a file; what the journal gets |
//! | `known` | which tests must be there at the end of a run |
//! | `build_errors` | whether something could not be built or loaded |
//! | `failure_message` | one line for people about a gate that fails |
//! | `excerpt` `failure_lines` | what of an output goes into a prompt; which lines are about a failure |
mod build_errors;
mod compared;
mod excerpt;
mod failure_lines;
mod failure_message;
mod go;
mod jest;
mod junit;
mod known;
mod libtest;
mod lines;
mod nextest;
mod node;
mod pytest;
mod scan;
mod seen;
mod stored;
mod tap;
mod test_list;
mod unittest;
mod vitest;

use std::collections::BTreeMap;
use std::fmt::Debug;

use build_errors::BuildErrors;
pub use compared::Compared;
pub use excerpt::excerpt;
pub use failure_message::failure_message;
pub use known::{KnownTests, MissingTests, SameNames};
use lines::Lines;
pub use seen::TestsSeen;
use test_list::{Counts, FormatTests};
pub use test_list::{ID_BYTES_MAX, IDS_MAX};

/// How one test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestStatus {
    /// It ran and passed.
    Passed,
    /// It ran and failed, or could not run.
    Failed,
    /// It judged nothing: ignored, skipped, to do, or expected to fail.
    Skipped,
}

/// Which of the two streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputStream {
    /// The standard output.
    Stdout,
    /// The standard error.
    Stderr,
}

/// Every format. The first reader that says that a line belongs to a test's own output gets it alone.
///
/// Signs that several programs use: `✓ ✕ ×` are jest's and vitest's. `✔ ✖` are node's and mocha's, which has no reader:
/// `node` takes only lines that end in a duration with a fraction, which mocha does not print. `ok` and `not ok` are TAP, which node, vitest,
/// mocha and bats can print; `ok` and a tab is `go test`.
const READERS: &[Registered] = &[
    registered::<nextest::Nextest>(),
    registered::<libtest::Libtest>(),
    registered::<pytest::Pytest>(),
    registered::<unittest::Unittest>(),
    registered::<go::Go>(),
    registered::<jest::Jest>(),
    registered::<vitest::Vitest>(),
    registered::<node::Node>(),
    registered::<tap::Tap>(),
    registered::<junit::Junit>(),
];

/// A longer line is always read.
const WORD_BYTES_MAX: usize = 32;

/// The name where one output holds tests of several formats.
const SEVERAL: &str = "several";

/// Every name that [`Tests::format`] may have.
pub fn formats() -> impl Iterator<Item = &'static str> {
    READERS.iter().map(|reader| reader.name).chain([SEVERAL])
}

/// The tests of one output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tests {
    /// What wrote it: one of [`formats`].
    pub format: &'static str,
    /// The tests that were named, and where the output names only files or packages, those.
    pub statuses: BTreeMap<String, TestStatus>,
    /// How many passed; what a summary states comes before what was named.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many judged nothing.
    pub skipped: u32,
    /// There are more tests than these: over the bound, or the run stopped early or was cut off.
    pub uncounted: bool,
}

/// A reader of one format, for one stream.
trait Format: Debug + Default + Send + 'static {
    /// The name of the format.
    const NAME: &'static str;
    /// Whether it is a report beside the words of the same run: it counts only where its counts are not there yet.
    const IS_REPORT: bool = false;
    /// Takes bytes as they come, for a format that does not know lines.
    fn bytes(&mut self, _bytes: &[u8]) {}
    /// Takes a line without colours.
    fn line(&mut self, line: &str);
    /// Whether the next line is what a test itself printed: no other reader gets it.
    fn owns_line(&self) -> bool {
        false
    }
    /// Whether even the next line that holds a word or nothing may change something.
    fn hears_every_line(&self) -> bool {
        false
    }
    /// Takes what the same format found on stderr.
    fn merge(&mut self, stderr: Self);
    /// The tests; none where the text is not of this format.
    fn end(self) -> Option<FormatTests>;
}

/// A format in the list.
struct Registered {
    name: &'static str,
    is_report: bool,
    start: fn() -> Box<dyn FormatReader>,
}

const fn registered<F: Format>() -> Registered {
    Registered { name: F::NAME, is_report: F::IS_REPORT, start: || Box::new(StreamReaders::<F>::default()) }
}

/// One format, reading both streams.
#[derive(Debug, Default)]
struct StreamReaders<F> {
    stdout: F,
    stderr: F,
}

/// What a reader wants of the next line.
#[derive(Debug, Clone, Copy, Default)]
struct Attention {
    /// It alone gets it.
    owns: bool,
    /// It must get it even if it is a mere word.
    hears_every: bool,
}

/// The same, whichever format it is.
trait FormatReader: Debug + Send {
    fn bytes(&mut self, stream: OutputStream, bytes: &[u8]);
    fn line(&mut self, stream: OutputStream, line: &str);
    fn attention(&self, stream: OutputStream) -> Attention;
    fn end(self: Box<Self>) -> Option<FormatTests>;
}

impl<F> StreamReaders<F> {
    fn of(&mut self, stream: OutputStream) -> &mut F {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }
}

impl<F: Format> FormatReader for StreamReaders<F> {
    fn bytes(&mut self, stream: OutputStream, bytes: &[u8]) {
        self.of(stream).bytes(bytes);
    }

    fn line(&mut self, stream: OutputStream, line: &str) {
        self.of(stream).line(line);
    }

    fn attention(&self, stream: OutputStream) -> Attention {
        let of = |format: &F| Attention { owns: format.owns_line(), hears_every: format.hears_every_line() };
        match stream {
            OutputStream::Stdout => of(&self.stdout),
            OutputStream::Stderr => of(&self.stderr),
        }
    }

    fn end(mut self: Box<Self>) -> Option<FormatTests> {
        self.stdout.merge(self.stderr);
        self.stdout.end()
    }
}

/// A gate's output being read. Memory is bounded; it does not matter where the bytes are cut, nor how the two streams
/// interleave.
#[derive(Debug)]
pub struct TestReader {
    stdout: StreamLines,
    stderr: StreamLines,
    readers: Vec<Box<dyn FormatReader>>,
    build: BuildErrors,
}

/// One stream of it.
#[derive(Debug, Default)]
struct StreamLines {
    lines: Lines,
    /// Which reader gets the next line alone.
    owner: Option<usize>,
    /// A reader must get the next line even if it is a mere word.
    hears_every: bool,
}

/// What an output says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputRead {
    /// The tests that it names or counts; none where there are none.
    pub tests: Option<Tests>,
    /// It says that something could not be built or loaded.
    pub did_not_build: bool,
}

impl Default for TestReader {
    fn default() -> Self {
        let readers = READERS.iter().map(|reader| (reader.start)()).collect();
        Self { stdout: StreamLines::default(), stderr: StreamLines::default(), readers, build: BuildErrors::default() }
    }
}

impl TestReader {
    /// Takes the next bytes of a stream.
    pub fn push(&mut self, stream: OutputStream, bytes: &[u8]) {
        for reader in &mut self.readers {
            reader.bytes(stream, bytes);
        }
        let (readers, build) = (&mut self.readers, &mut self.build);
        let of_stream = match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        };
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            if of_stream.skips(line) {
                continue;
            }
            of_stream.lines.keep(line);
            of_stream.finish(stream, readers, build);
        }
        of_stream.lines.keep(rest);
    }

    /// The tests that the output names or counts; none where there are none.
    #[must_use]
    pub fn end(self) -> Option<Tests> {
        self.finish().tests
    }

    /// All that the output says.
    #[must_use]
    pub fn finish(mut self) -> OutputRead {
        let streams = [(&mut self.stdout, OutputStream::Stdout), (&mut self.stderr, OutputStream::Stderr)];
        for (of_stream, stream) in streams {
            of_stream.finish(stream, &mut self.readers, &mut self.build);
        }
        let mut found: Vec<FormatTests> = Vec::new();
        for (registered, reader) in READERS.iter().zip(self.readers) {
            let Some(tests) = reader.end() else { continue };
            // A report beside the words of the same run has the same tests once more.
            if !registered.is_report || found.iter().all(|other| other.counts != tests.counts) {
                found.push(tests);
            }
        }
        OutputRead { tests: merged(found), did_not_build: self.build.found() }
    }
}

impl StreamLines {
    /// Whether no reader makes anything of this line. A flood of short lines so costs little.
    fn skips(&self, line: &[u8]) -> bool {
        self.lines.is_empty() && !self.hears_every && is_mere_word(line)
    }

    /// Gives the line that is there to the reader that owns it, else to all.
    fn finish(&mut self, stream: OutputStream, readers: &mut [Box<dyn FormatReader>], build: &mut BuildErrors) {
        let Self { lines, owner, hears_every } = self;
        lines.finish(&mut |line| {
            build.line(line);
            match owner.and_then(|owner| readers.get_mut(owner)) {
                Some(owner) => owner.line(stream, line),
                None => readers.iter_mut().for_each(|reader| reader.line(stream, line)),
            }
            *owner = None;
            *hears_every = false;
            for (at, reader) in readers.iter().enumerate() {
                let attention = reader.attention(stream);
                *hears_every |= attention.hears_every;
                if attention.owns && owner.is_none() {
                    *owner = Some(at);
                }
            }
        });
    }
}

/// Letters and digits only, or nothing; and not one of the words by which a format says how a test or a run ended.
fn is_mere_word(line: &[u8]) -> bool {
    line.len() <= WORD_BYTES_MAX
        && line.iter().all(u8::is_ascii_alphanumeric)
        && !matches!(line, b"ok" | b"OK" | b"FAILED" | b"ignored")
}

/// The tests of an output that is there as a whole.
#[must_use]
pub fn read(stdout: &[u8], stderr: &[u8]) -> Option<Tests> {
    let mut reader = TestReader::default();
    reader.push(OutputStream::Stdout, stdout);
    reader.push(OutputStream::Stderr, stderr);
    reader.end()
}

/// One answer; an id that two formats use gets the later one's name before it.
fn merged(found: Vec<FormatTests>) -> Option<Tests> {
    let format = match found.as_slice() {
        [] => return None,
        [one] => one.format,
        [_, _, ..] => SEVERAL,
    };
    let mut statuses: BTreeMap<String, TestStatus> = BTreeMap::new();
    let mut counts = Counts::default();
    let mut uncounted = false;
    for one in found {
        counts = counts.plus(one.counts);
        uncounted |= one.over;
        for (id, status) in one.statuses {
            let id = if statuses.contains_key(&id) { test_list::bounded(&format!("{}: {id}", one.format)) } else { id };
            if statuses.len() < IDS_MAX {
                statuses.insert(id, status);
            } else {
                uncounted = true;
            }
        }
    }
    let Counts { passed, failed, skipped } = counts;
    Some(Tests { format, statuses, passed, failed, skipped, uncounted })
}
