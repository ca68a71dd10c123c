//! The answers to orders: digests, never the bytes themselves.
use serde::{Deserialize, Serialize};

use crate::agent::AgentReport;
use crate::changes::Changes;
use crate::ended::{Ended, Output};
use crate::policy::reserve::Reserved;
use crate::test_output::TestsSeen;
use crate::text::NameList;

/// What came of an order. Exactly one per order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The checkpoint exists.
    Checkpoint(CheckpointReport),
    /// What changed since the checkpoint before.
    Measurement(Measurement),
    /// The agent and all that it started are dead, and its output was read.
    AgentEnded(Box<AgentReport>),
    /// The gate and all that it started are dead.
    GateEnded(GateReport),
    /// Nothing of an earlier attempt runs any more.
    Cleaned {
        /// How many processes had to be ended.
        killed: u32,
    },
    /// A hold is over.
    Held,
    /// What the ledger of all runs says.
    Reserved(Reserved),
    /// What became of the protected files.
    Guard(Box<GuardReport>),
    /// With what the gates were run.
    Certify(CertifyReport),
    /// The checkpoint that a person asked for exists.
    ManualCheckpoint(CheckpointReport),
    /// The workspace is what the checkpoint says.
    RolledBack(Box<RollbackReport>),
    /// It was not done, and nothing was changed.
    Refused {
        /// Why.
        why: String,
    },
    /// It cannot be done until a person fixes something; it is safe to try again.
    Blocked {
        /// What prevents it.
        why: String,
    },
    /// The person was notified.
    Notified {
        /// The exit code of the notification command, if it ended by itself.
        exit_code: Option<i32>,
    },
    /// The host could not do it at all.
    Failed {
        /// What went wrong, for people.
        what: String,
    },
    /// It was cancelled and did not end in time.
    Lost {
        /// What is still there.
        left: Vec<String>,
    },
}

/// A checkpoint that was taken. With backend `none` there is nothing to name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointReport {
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
    pub remarks: Vec<String>,
}

/// The result of a rollback.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackReport {
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
    /// Where files were moved that were in the way or were changed meanwhile, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<String>,
    /// What else a person should read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether the user's own repository was brought back too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub git: bool,
    /// Whether something that was asked for could not be brought back: the user's own repository.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// What an iteration changed in the workspace; unknown where nothing is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// How much.
    pub changes: Option<Changes>,
    /// Which paths, a bounded number.
    #[serde(default)]
    pub names: Vec<String>,
    /// The hash of the tree, where that was not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How many of the files are protected ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub protected: u32,
    /// How many of the files are tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tests: u32,
    /// Something changed that is in no count of files: files that checkpoints leave out, or empty folders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
    /// The user's repository is at another commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head_moved: bool,
    /// Where nothing is counted: whether something is not what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What became of the protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardReport {
    /// How many files are protected.
    pub files: u32,
    /// The hash of the record of their originals, as it is on disk now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub record: Option<String>,
    /// How many files that say how tests are run are watched.
    #[serde(skip_serializing_if = "is_zero")]
    pub watched: u32,
    /// Where tests are run otherwise than at the start, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Which were changed and how, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub tampered: NameList,
    /// Which new ones match, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub added: NameList,
    /// The checkpoint of the tree as it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// They were restored.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// What else a person should read, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// With what the gates were run, and what became of the tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertifyReport {
    /// Programs that had a part in it, with their versions, a bounded number.
    pub tools: Vec<Tool>,
    /// Test commands that are not what they were at the start, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
}

/// A program and its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// What it says of itself.
    pub version: String,
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
    pub excerpt: String,
    /// What it says about tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Box<TestsSeen>>,
}
