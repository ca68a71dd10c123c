//! What comes of orders: digests, never the bytes themselves.
use serde::{Deserialize, Serialize};

/// What came of an order. Exactly one per order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The checkpoint exists.
    Saved(Saved),
    /// What changed since the checkpoint before.
    Measured(Measured),
    /// The agent and all that it started are dead, and its output was read.
    AgentEnded(AgentReport),
    /// The gate and all that it started are dead.
    GateEnded(GateReport),
    /// Nothing of an earlier attempt runs any more.
    Cleaned {
        /// How many processes had to be ended.
        killed: u32,
    },
    /// A hold is over.
    Held,
    /// The checkpoint that a person asked for exists.
    Kept(Saved),
    /// The workspace is what the checkpoint says.
    RolledBack(Box<RolledBack>),
    /// It was not done, and nothing was changed.
    Refused {
        /// Why.
        why: String,
    },
    /// It cannot be done until somebody mends something; it is safe to try again.
    Blocked {
        /// What stands in the way.
        why: String,
    },
    /// The person was told.
    Notified {
        /// The exit code of the notification command, if it ended by itself.
        exit_code: Option<i32>,
    },
    /// The host could not do it at all.
    Failed {
        /// What went wrong, for people.
        what: String,
    },
    /// It was recalled and did not end in time.
    Lost {
        /// What is still there.
        left: Vec<String>,
    },
}

/// A checkpoint that was taken. With backend `none` there is nothing to name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// Its name.
    pub checkpoint: Option<String>,
    /// The hash of the tree that it holds.
    pub tree: Option<String>,
    /// The object that it is in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What others changed, where it was taken because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Files that changed while they were read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstable: Vec<String>,
    /// What else a person should read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
}

/// The workspace after somebody went back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBack {
    /// To which checkpoint.
    pub to: String,
    /// The checkpoint of what was there before.
    pub undo: String,
    /// The hash of the tree.
    pub tree: Option<String>,
    /// How many names were written.
    pub written: u64,
    /// How many names were removed.
    pub removed: u64,
    /// Where things were put that stood in the way or that somebody changed meanwhile, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<String>,
    /// What else a person should read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// Whether the user's own repository was brought back too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub git: bool,
    /// Whether something that was asked for could not be brought back: the user's own repository.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// What an iteration changed in the workspace; unknown where nothing is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// How much.
    pub changes: Option<Changes>,
    /// Which paths, a bounded number.
    #[serde(default)]
    pub names: Vec<String>,
    /// The hash of the tree, where that was not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Files made, changed or removed.
    pub files: u32,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// We ended it, because its order was recalled.
    ByUs,
    /// It never ran.
    NotStarted(String),
}

impl Ended {
    /// In a word or two, for a line of text.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(number) => format!("signal {number}"),
            Self::ByUs => "stopped by loop".to_owned(),
            Self::NotStarted(why) => format!("not started: {why}"),
        }
    }
}

/// The bytes that a process wrote, by hash and length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many bytes came on stdout.
    pub stdout_bytes: u64,
    /// How many bytes came on stderr.
    pub stderr_bytes: u64,
    /// The hash of what was kept: stdout, then stderr.
    pub sha256: String,
}

/// What one attempt of an agent amounted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote.
    pub output: Output,
    /// The end of its text, control bytes out, bounded.
    pub said: String,
    /// How many processes it had left running, which we ended.
    #[serde(default)]
    pub left_running: u32,
    /// Why what it wrote could not be kept, a full disk for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}

/// What one run of a gate amounted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote.
    pub output: Output,
    /// The end of its stderr, else of its stdout: one short piece to name in a reason.
    pub said: String,
}
