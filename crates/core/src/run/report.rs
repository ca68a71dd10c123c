//! The answers to orders: digests, never the bytes themselves.
use serde::{Deserialize, Serialize};

use super::branches::BranchesReport;
use super::judge_report::JudgeReport;
use super::text_order::TextReport;
use crate::agent::AgentReport;
use crate::changes::Changes;
use crate::ended::{Ended, Output};
use crate::policy::outside::OutsideChange;
use crate::policy::protect::{GateUses, Opportunity};
use crate::policy::reserve::Reserved;
use crate::policy::score::Checklist;
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
    /// The agent that was asked for a text and all that it started are dead.
    TextEnded(Box<TextReport>),
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
    /// What the gates said on a clean copy.
    Judged(Box<JudgeReport>),
    /// What came of several branches.
    Branches(Box<BranchesReport>),
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

/// How many paths that others changed are named.
pub const OTHERS_NAMES_MAX: usize = 10;

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
    /// The first paths that others changed, at most [`OTHERS_NAMES_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// The hash of the record of ignored files and settings in HOME before the first agent: what clean copies get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_baseline: Option<String>,
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
    /// The paths that it was limited to; none means everything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The checkpoint of what it left, where that is not the one it went back to: only some paths were restored. `tree`
    /// is that of this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest: Option<String>,
    /// Which files it wrote and removed; none in an old journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<RolledBackFiles>,
}

/// The files that a rollback wrote and removed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBackFiles {
    /// How many were written.
    pub written: u64,
    /// How many were removed.
    pub removed: u64,
    /// How many of both no iteration had made: edits of a person since.
    pub own: u64,
    /// A bounded number of them, the person's own first.
    pub first: Vec<RolledBackFile>,
}

/// One file of a rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolledBackFile {
    /// From the workspace, escaped.
    pub path: String,
    /// What happened to it.
    pub what: FileAction,
    /// What was there is an edit of a person: no iteration made it.
    pub own: bool,
}

/// What a rollback does to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It gets the content and permissions of the checkpoint.
    Written,
    /// It is not in the checkpoint.
    Removed,
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
    /// How different the agent's output is from that of the iteration before, in ten-thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_difference: Option<u32>,
    /// The task's checklist, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checklist: Option<Checklist>,
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
    /// The paths of these, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
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
    /// The id that git gives to the judged files, where they are recorded: the same on every machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_tree: Option<String>,
    /// Programs of the gates that are another file, or another content, than before the agent worked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub swapped: Vec<ToolChange>,
    /// What the agent changed that could make the gates pass without the work, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub opportunities: Vec<Opportunity>,
    /// Files outside of the workspace that are not as they were before the agent worked, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideChange>,
    /// Changed files that define how tests are run, and that have lost nothing by it, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nothing_lost: Vec<String>,
    /// Changed files that instruct agents or CI, a bounded number: only named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<String>,
}

/// A program and its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// What it says of itself.
    pub version: String,
    /// The file that it is, where a gate names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ProgramFile>,
}

/// A program that a gate's command names: the first word of a simple command, or a script outside of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateProgram {
    /// As the command names it.
    pub name: String,
    /// The file that is run; none where there is no such program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<ProgramFile>,
}

/// The file of a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFile {
    /// Where it was found, as [`crate::text::escape_path`] writes it.
    pub path: String,
    /// The hash of its content; empty where it cannot be read or is too long.
    pub sha256: String,
    /// Where it has no hash: its size and the times of its last write and change, so that another file is noticed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stamp: String,
    /// It lies in the workspace, such as a program of an activated `.venv`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_workspace: bool,
}

/// A program of a gate that is not what it was before the agent worked.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolChange {
    /// As the gate's command names it.
    pub program: String,
    /// What it was; none where there was no such program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<ProgramFile>,
    /// What it is; none where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<ProgramFile>,
}

impl ToolChange {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        let program = &self.program;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.path != after.path => {
                format!("{program} was {}, and is {} now", before.path, after.path)
            }
            (Some(before), Some(_)) => format!("{program} ({}) has another content", before.path),
            (Some(before), None) => format!("{program} was {}, and is gone", before.path),
            (None, Some(after)) => format!("{program} was not there, and is {} now", after.path),
            (None, None) => format!("{program} is not there"),
        }
    }

    /// In words, where it was so when a gate started and is not at the end.
    #[must_use]
    pub fn words_for_a_time(&self) -> String {
        let program = &self.program;
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.path != after.path => {
                format!("{program} was {} instead of {} when a gate started", after.path, before.path)
            }
            (Some(before), Some(_)) => {
                format!("{program} ({}) had another content when a gate started", before.path)
            }
            (Some(_) | None, None) => format!("{program} was not there when a gate started"),
            (None, Some(after)) => format!("{program} was {} when a gate started", after.path),
        }
    }
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
    /// Its output says that something could not be built or loaded.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub did_not_build: bool,
    /// The programs that its command names, before the agent worked; later those that are not what they were then, looked
    /// at directly before its start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<GateProgram>,
    /// What it uses to judge: only before the first iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<Box<GateUses>>,
}
