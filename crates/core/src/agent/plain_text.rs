//! Plain text: everything that a program prints is its message. Only its exit code says how it ended.
use super::provider::failure::Failure;
use super::reading::{End, Live, Reader, Reading, Terminal};
use crate::ended::Ended;
use crate::text;

/// The end of a text that is kept: a status block stands last.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Longest line of a message, in bytes; what is longer is not read as a line.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// Keeps the end of what comes.
#[derive(Debug, Default)]
pub struct TextReader {
    text: Vec<u8>,
}

impl TextReader {
    /// What was said, clean of control bytes.
    #[must_use]
    pub fn text(&self) -> String {
        // However the lines came: at once or one by one.
        let from = self.text.len().saturating_sub(TEXT_BYTES_MAX);
        text::clean(self.text.get(from..).unwrap_or_default())
    }

    fn forget_beginning(&mut self) {
        if self.text.len() > 2 * TEXT_BYTES_MAX {
            self.text.drain(..self.text.len() - TEXT_BYTES_MAX);
        }
    }
}

impl Reader for TextReader {
    fn line(&mut self, line: &[u8], _live: &mut Vec<Live>) {
        self.text.extend_from_slice(line);
        self.text.push(b'\n');
        self.forget_beginning();
    }

    fn whole_lines(&mut self, lines: &[u8]) -> bool {
        // A carriage return before the end of a line does not belong to it.
        if memchr::memchr(b'\r', lines).is_some() {
            return false;
        }
        self.text.extend_from_slice(lines);
        self.forget_beginning();
        true
    }

    fn long_line(&mut self, head: &[u8]) {
        self.line(head, &mut Vec::new());
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn line_bytes_max(&self) -> usize {
        LINE_BYTES_MAX
    }

    fn session(&self) -> Option<&str> {
        None
    }

    fn end(self: Box<Self>, end: &End<'_>) -> Reading {
        let well = *end.ended == Ended::Exit(0);
        Reading {
            text: self.text(),
            terminal: if well { Terminal::Success } else { Terminal::Error },
            failure: (!well).then_some(Failure::Crash),
            ..Reading::default()
        }
    }
}
