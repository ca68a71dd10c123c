//! Words by which a person said how their agent words errors of its provider.
//!
//! What a model says decides nothing. But some programs say errors as if the model had, and only the person who
//! described the program knows by which words.
use std::collections::BTreeMap;

use super::provider::failure::Failure;
use super::reading::{End, Live, Reader, Reading, Terminal};
use crate::ended::Ended;
use crate::text;

/// Words for each class.
pub type ErrorWords = BTreeMap<Failure, Vec<String>>;

/// An error stands at the end: so much of the last message is looked at.
const END_BYTES: usize = 2048;

/// A reader of a stream in whose last message these words are errors.
#[derive(Debug)]
pub(super) struct WithErrorWords {
    pub(super) reader: Box<dyn Reader>,
    pub(super) words: ErrorWords,
}

/// The first class that has one of the words in what was said.
fn class(words: &ErrorWords, said: &str) -> Option<Failure> {
    let said = said.to_lowercase();
    let fits = |word: &String| said.contains(&word.to_lowercase());
    words.iter().find(|(_, words)| words.iter().any(fits)).map(|(class, _)| *class)
}

impl Reader for WithErrorWords {
    fn line(&mut self, line: &[u8], live: &mut Vec<Live>) {
        self.reader.line(line, live);
    }

    fn whole_lines(&mut self, lines: &[u8]) -> bool {
        self.reader.whole_lines(lines)
    }

    fn long_line(&mut self, head: &[u8]) {
        self.reader.long_line(head);
    }

    fn session(&self) -> Option<&str> {
        self.reader.session()
    }

    fn is_plain(&self) -> bool {
        self.reader.is_plain()
    }

    fn line_bytes_max(&self) -> usize {
        self.reader.line_bytes_max()
    }

    fn stderr(&mut self, bytes: &[u8]) {
        self.reader.stderr(bytes);
    }

    fn stderr_is_private(&self) -> bool {
        self.reader.stderr_is_private()
    }

    fn is_retrying(&self) -> bool {
        self.reader.is_retrying()
    }

    fn end(self: Box<Self>, end: &End<'_>) -> Reading {
        let Self { reader, words } = *self;
        let mut reading = reader.end(end);
        let unnamed = matches!(reading.failure, None | Some(Failure::Crash)) && *end.ended != Ended::ByUs;
        let said = text::tail(&reading.text, END_BYTES).trim().to_owned();
        let Some(class) = class(&words, &said).filter(|_| unnamed) else { return reading };
        reading.failure = Some(class);
        reading.terminal = Terminal::Error;
        reading.reset = end.reset_in(Some(class), Some(&said));
        reading.error = Some(said);
        reading.text.clear();
        reading
    }
}
