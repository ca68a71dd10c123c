//! The journal: the facts of one machine (a run, later a plan), the only truth.
//!
//! | file | does |
//! |---|---|
//! | `append` | the one writer: facts as lines, synced where a fact needs it; notices other writers |
//! | `chain` | the hash of each line and of all before it |
//! | `format` | one line as JSON, and the first line with format and machine |
//! | `head` | where the journal ended when its driver did, in a file beside it |
//! | `read` | reads a whole journal, whatever a crash left of it; damage has its line |
//! | `tail` | reads on while it is written |
//!
//! It knows nothing of what the facts mean.
//!
//! | I want to … | I go to … |
//! |---|---|
//! | know what makes a journal damaged | `host/journal/` (`chain`, `read`, `head`), `core/run/evidence.rs` |
mod append;
mod chain;
mod format;
mod head;
mod read;
mod tail;

pub use append::{Journal, JournalError};
pub use chain::{CHAIN_DIGITS, ChainHash};
pub use format::{Decoded, FORMAT, decode, encode, header};
pub use read::{ReadError, Reading, read, read_of};
pub use tail::Tail;

/// The name of the file in the folder of a run.
pub const FILE: &str = "journal.jsonl";
