//! One line per fact, as JSON; the first line says which format it is.
use loop_core::run::{Entry, Fact};
use loop_core::time::At;
use serde::{Deserialize, Serialize};

/// The format that this program writes.
pub const FORMAT: u32 = 2;

#[derive(Serialize)]
struct LineOut<'a> {
    seq: u64,
    at: At,
    fact: &'a Fact,
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
    #[serde(default)]
    program: String,
}

/// The first line, with its line break.
#[must_use]
pub fn header(program: &str) -> String {
    let header = Header { format: FORMAT, program: program.to_owned() };
    serde_json::to_string(&header).unwrap_or_default() + "\n"
}

/// The format number of a first line.
pub(super) fn format_of(line: &[u8]) -> Option<u32> {
    serde_json::from_slice::<Header>(line).ok().map(|header| header.format)
}

/// One line, with its line break.
///
/// # Errors
/// Never for facts that the core makes; the reader's error otherwise.
pub fn encode(seq: u64, at: At, fact: &Fact) -> serde_json::Result<String> {
    serde_json::to_string(&LineOut { seq, at, fact }).map(|line| line + "\n")
}

/// What a line is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// A fact that this program knows.
    Known(Box<Entry>),
    /// A fact of a kind that a later program writes.
    Unknown {
        /// Its number.
        seq: u64,
    },
    /// No line of a journal at all.
    Garbage,
}

/// Reads a line without its line break. Unknown fields are ignored.
#[must_use]
pub fn decode(line: &[u8]) -> Decoded {
    let Ok(LineIn { seq, at, fact }) = serde_json::from_slice(line) else { return Decoded::Garbage };
    match serde_json::from_value::<Fact>(fact) {
        Ok(mut fact) => {
            if let Fact::Happened(input) = &mut fact {
                input.at = at;
            }
            Decoded::Known(Box::new(Entry { seq, at, fact }))
        }
        Err(_) => Decoded::Unknown { seq },
    }
}
