//! What is wrong with a list, and where; why an item cannot be ticked.
use thiserror::Error;

use crate::text;

/// What is wrong with a list of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListError {
    /// The file, as it was named.
    pub file: String,
    /// Counted from 1.
    pub line: u32,
    /// In characters, counted from 1.
    pub column: u32,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do, in one line.
    pub hint: String,
}

impl std::fmt::Display for ListError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for ListError {}

/// Why a tick was not written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TickError {
    /// The file cannot be read any more.
    #[error("the list cannot be read: {0}")]
    Unreadable(ListError),
    /// The item is not in the file any more.
    #[error("{0} is not in the list any more")]
    Gone(String),
    /// The item is not what was read.
    #[error("{0} was changed since the list was read")]
    Changed(String),
    /// It is ticked already, by someone else.
    #[error("{0} is ticked already")]
    TickedAlready(String),
    /// The format has no place for a tick here.
    #[error("{0} has no box that could be ticked")]
    NoBox(String),
    /// Only a program writes this format.
    #[error("issues of beads are closed by its own program: bd close {0}")]
    ByProgram(String),
}

/// Where a fault is: a byte of the text, and what to say about it.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
    pub(super) hint: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: hint.into() }
    }

    /// The fault with its line and column.
    pub(super) fn in_file(self, file: &str, text: &str) -> ListError {
        let mut at = self.at.min(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        let before = text.get(..at).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let head = before.get(line_start..).unwrap_or_default().trim_start_matches('\u{feff}');
        ListError {
            file: text::escaped(file),
            line: line_of(text, at),
            column: number(head.chars().count() + 1),
            message: text::one_line(&self.message, 400),
            hint: text::one_line(&self.hint, 400),
        }
    }
}

/// The line of a byte, counted from 1.
pub(super) fn line_of(text: &str, at: usize) -> u32 {
    let before = text.as_bytes().get(..at.min(text.len())).unwrap_or_default();
    number(memchr::memchr_iter(b'\n', before).count() + 1)
}

/// The places of all line ends, for files with many items.
#[derive(Debug)]
pub(super) struct LineIndex {
    ends: Vec<usize>,
}

impl LineIndex {
    pub(super) fn new(text: &str) -> Self {
        Self { ends: memchr::memchr_iter(b'\n', text.as_bytes()).collect() }
    }

    /// The line of a byte, counted from 1.
    pub(super) fn line_of(&self, at: usize) -> u32 {
        number(self.ends.partition_point(|end| *end < at) + 1)
    }
}

/// A count that fits.
pub(super) fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
