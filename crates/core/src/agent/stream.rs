//! Bytes to lines to a reader. Memory is bounded by one line, whatever the length of the stream.
use super::claims::{markers, status_block};
use super::provider::failure::Failure;
use super::reading::{End, Live, Reader, Reading, Terminal};

/// A line longer than this is skipped whole and counted.
pub const LINE_BYTES_MAX: usize = 10 * 1024 * 1024;
/// How much of a skipped line a reader gets to see.
const HEAD_BYTES: usize = 4096;
/// What is said of a program that ended in the middle of a line: some lose what the pipe did not take.
const CUT_OFF: &str = "its output was cut off in the middle of its last line";

/// The stdout of one attempt being read.
#[derive(Debug)]
pub struct Stream {
    reader: Box<dyn Reader>,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// That line is already longer than the cap: only its head is kept.
    skipping: bool,
    line_bytes_max: usize,
}

impl Stream {
    /// A stream for this reader.
    #[must_use]
    pub fn new(reader: Box<dyn Reader>) -> Self {
        let line_bytes_max = reader.line_bytes_max();
        Self { reader, partial: Vec::new(), skipping: false, line_bytes_max }
    }

    /// Takes the next bytes; says what there is to show.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Live> {
        let mut live = Vec::new();
        let mut rest = if self.partial.is_empty() && !self.skipping { self.whole_lines(bytes) } else { bytes };
        while let Some(at) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(at);
            rest = after.get(1..).unwrap_or_default();
            if self.partial.is_empty() && !self.skipping && line.len() <= self.line_bytes_max {
                self.reader.line(trimmed(line), &mut live);
                continue;
            }
            self.keep(line);
            self.finish_line(&mut live);
        }
        self.keep(rest);
        live
    }

    /// Gives the reader as many lines at once as it takes; the rest is read line by line.
    fn whole_lines<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let mut rest = bytes;
        loop {
            // As long as a line may be: then none of these is too long.
            let head = rest.get(..self.line_bytes_max).unwrap_or(rest);
            let Some(end) = memchr::memrchr(b'\n', head) else { return rest };
            let (lines, after) = rest.split_at(end + 1);
            if !self.reader.whole_lines(lines) {
                return rest;
            }
            rest = after;
        }
    }

    /// The session, as soon as it is known.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.reader.session().filter(|id| is_session_name(id))
    }

    /// Whether people can read it as it is.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.reader.is_plain()
    }

    /// Takes what the program wrote beside its stream.
    pub fn stderr(&mut self, bytes: &[u8]) {
        self.reader.stderr(bytes);
    }

    /// Whether what it writes beside its stream is for us alone.
    #[must_use]
    pub fn stderr_is_private(&self) -> bool {
        self.reader.stderr_is_private()
    }

    /// The program has begun to retry by itself what only the harness waits for: it may be ended, and what it said holds.
    #[must_use]
    pub fn is_retrying(&self) -> bool {
        self.reader.is_retrying()
    }

    /// What it all amounted to.
    #[must_use]
    pub fn end(mut self, end: &End<'_>) -> Reading {
        let torn = self.skipping || !self.partial.is_empty();
        if torn {
            self.finish_line(&mut Vec::new());
        }
        let mut reading = self.reader.end(end);
        let ended = matches!(reading.terminal, Terminal::Success | Terminal::Error);
        if torn && !ended && reading.malformed_lines > 0 && reading.failure == Some(Failure::Crash) {
            reading.error.get_or_insert_with(|| CUT_OFF.to_owned());
        }
        reading.settle_usage();
        reading.settle_windows();
        reading.session = reading.session.filter(|id| is_session_name(id));
        let block = status_block::last(&reading.text, end.asked);
        reading.claimed = block.claim;
        reading.block_error = block.error;
        let marks = markers::find(&reading.text, end.asked);
        reading.promise = marks.promise;
        reading.progress = marks.progress;
        reading.notes = marks.notes;
        reading.struck = marks.struck;
        reading
    }

    fn keep(&mut self, piece: &[u8]) {
        if self.skipping {
            return;
        }
        self.partial.extend_from_slice(piece);
        if self.partial.len() > self.line_bytes_max {
            self.skipping = true;
            self.partial.truncate(HEAD_BYTES);
            self.partial.shrink_to_fit();
        }
    }

    fn finish_line(&mut self, live: &mut Vec<Live>) {
        if self.skipping {
            self.reader.long_line(&self.partial);
        } else {
            self.reader.line(trimmed(&self.partial), live);
        }
        self.skipping = false;
        self.partial.clear();
        // One long line must not be paid for to the end.
        self.partial.shrink_to(HEAD_BYTES);
    }
}

/// Whether it can be the name of a session: it goes back to the program as an argument, and must not be a flag there.
pub(super) fn is_session_name(id: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    id.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && id.len() <= 128 && id.bytes().all(fits)
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}
