//! One line per fact, as JSON; the first line says which format it is.
use loop_core::machine::{JournalEntry, Machine};
use loop_core::run::Run;
use loop_core::time::At;
use serde::{Deserialize, Serialize};

/// The format that this program writes.
pub const FORMAT: u32 = 2;

#[derive(Serialize)]
struct LineOut<'a, F> {
    seq: u64,
    at: At,
    fact: &'a F,
}

#[derive(Deserialize)]
struct LineIn {
    seq: u64,
    at: At,
    fact: serde_json::Value,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Whose facts these are.
    #[serde(default = "first_machine")]
    machine: String,
    #[serde(default)]
    program: String,
}

/// Journals had no machine while there was only one.
fn first_machine() -> String {
    Run::NAME.to_owned()
}

/// The first line, with its line break.
#[must_use]
pub fn header<M: Machine>(program: &str) -> String {
    let header = Header { format: FORMAT, machine: M::NAME.to_owned(), program: program.to_owned() };
    serde_json::to_string(&header).unwrap_or_default() + "\n"
}

/// What a first line says.
pub(super) struct FirstLine {
    pub(super) format: u32,
    pub(super) machine: String,
}

/// Reads a first line.
pub(super) fn first_line(line: &[u8]) -> Option<FirstLine> {
    let header = serde_json::from_slice::<Header>(line).ok()?;
    Some(FirstLine { format: header.format, machine: header.machine })
}

/// One line, with its line break.
///
/// # Errors
/// Never for facts that the core makes; the reader's error otherwise.
pub fn encode<F: Serialize>(seq: u64, at: At, fact: &F) -> serde_json::Result<String> {
    serde_json::to_string(&LineOut { seq, at, fact }).map(|line| line + "\n")
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded<F> {
    /// A fact that this program knows.
    Known(Box<JournalEntry<F>>),
    /// A fact of a kind that a later program writes.
    Unknown {
        /// Its number.
        seq: u64,
    },
    /// Not a line of a journal.
    Garbage,
}

/// Reads a line without its line break. Unknown fields are ignored.
#[must_use]
pub fn decode<M: Machine>(line: &[u8]) -> Decoded<M::Fact> {
    let Ok(LineIn { seq, at, fact }) = serde_json::from_slice(line) else { return Decoded::Garbage };
    match serde_json::from_value::<M::Fact>(fact) {
        Ok(mut fact) => {
            M::set_time(&mut fact, at);
            Decoded::Known(Box::new(JournalEntry { seq, at, fact }))
        }
        Err(_) => Decoded::Unknown { seq },
    }
}
