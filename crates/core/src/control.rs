//! The messages of a run's control socket: one line of JSON each way.
use serde::{Deserialize, Serialize};

use crate::run::{Change, Target};

/// A question to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// What is wanted.
    pub ask: Ask,
    /// By which command.
    pub by: String,
}

/// What can be wanted of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// End after this iteration; it can be resumed.
    Stop,
    /// Hold after this iteration.
    Pause,
    /// Go on.
    Resume,
    /// End now, for good.
    Cancel,
    /// Tell the agent something.
    Inject {
        /// What.
        text: String,
        /// In all later prompts too.
        keep: bool,
    },
    /// Let these settings hold.
    Set(Vec<Change>),
    /// Keep the workspace as it is, under this name or one that it gets.
    Checkpoint {
        /// The name.
        name: Option<String>,
    },
    /// Restore a checkpoint.
    Rollback(Target),
    /// End now, for good, and restore the initial checkpoint.
    CancelRollback,
    /// Close the breaker: every count of it is gone.
    Reset {
        /// The agent's conversation is forgotten, too.
        session: bool,
    },
}

/// What the run says to that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It is written down, safe on disk, as this line of the journal.
    Taken {
        /// The number of the line.
        seq: u64,
    },
    /// It is not taken.
    Refused {
        /// Why.
        why: String,
    },
}

/// The most that one line may be long: a text to inject and its escapes.
pub const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most that one injected text may be long.
pub const INJECT_BYTES_MAX: usize = 256 * 1024;
