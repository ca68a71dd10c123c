//! The journal: the facts of one run, the only truth.
mod append;
mod format;
mod read;
mod tail;

pub use append::{Journal, JournalError};
pub use format::{FORMAT, decode, encode, header};
pub use read::{ReadError, Reading, read};
pub use tail::Tail;

/// The name of the file in a run's folder.
pub const FILE: &str = "journal.jsonl";
