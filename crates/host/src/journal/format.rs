//! One line per fact, as JSON; the first line says which format it is. Each line ends with its hash.
use loop_core::machine::{JournalEntry, Machine};
use loop_core::time::At;
use serde::{Deserialize, Serialize};

use super::chain::ChainHash;

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
    machine: String,
    #[serde(default)]
    program: String,
    /// Beside the journal there is a file that says how it ended, from its first line on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    head: bool,
}

/// The first line of versions before the first release. It had nothing else, and no hash.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EarlyHeader {
    format: u32,
    #[serde(default, rename = "machine")]
    _machine: String,
    #[serde(default, rename = "program")]
    _program: String,
}

/// The first line, with its line break. `chain` becomes its hash.
#[must_use]
pub fn header<M: Machine>(chain: &mut ChainHash, program: &str) -> String {
    let header = Header { format: FORMAT, machine: M::NAME.to_owned(), program: program.to_owned(), head: true };
    chain.link(&serde_json::to_string(&header).unwrap_or_default())
}

/// What a first line says.
pub(super) struct FirstLine {
    pub(super) format: u32,
    pub(super) machine: String,
    pub(super) head: bool,
}

/// Reads a first line whose hash is right.
pub(super) fn first_line(line: &[u8]) -> Option<FirstLine> {
    let header = serde_json::from_slice::<Header>(line).ok()?;
    Some(FirstLine { format: header.format, machine: header.machine, head: header.head })
}

/// The format of a first line of before the first release.
pub(super) fn early_format(line: &[u8]) -> Option<u32> {
    let header = serde_json::from_slice::<EarlyHeader>(line).ok()?;
    (header.format <= FORMAT).then_some(header.format)
}

/// One line, with its line break. `chain` is the hash of the line before, and becomes that of this one.
///
/// # Errors
/// Never for facts that the core makes; the reader's error otherwise.
pub fn encode<F: Serialize>(chain: &mut ChainHash, seq: u64, at: At, fact: &F) -> serde_json::Result<String> {
    serde_json::to_string(&LineOut { seq, at, fact }).map(|line| chain.link(&line))
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

impl<F> Decoded<F> {
    /// The number of the line.
    pub(super) fn seq(&self) -> Option<u64> {
        match self {
            Self::Known(entry) => Some(entry.seq),
            Self::Unknown { seq } => Some(*seq),
            Self::Garbage => None,
        }
    }
}

/// Reads a line without its line break; its hash is checked before. Unknown fields are ignored.
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
