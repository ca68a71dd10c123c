//! Answers to the orders of a plan: digests. What is larger is in the journal of the run, or in the store.
use serde::{Deserialize, Serialize};

use super::list::{ItemChecked, ListReport};
use super::spec::NodeId;
use crate::changes::Changes;
use crate::ended::Ended;
use crate::ids::RunId;
use crate::policy::gate::Verdict;
use crate::policy::rank::Rank;
use crate::run::{Outcome, Reason};

/// What came of an order. Exactly one per order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanAnswer {
    /// Of `record`.
    Recorded {
        /// The hash of the tree in the store.
        tree: String,
    },
    /// Of `copy`.
    Copied(CopyReport),
    /// Of `run`: the run has an end. Also where it was stopped.
    RunEnded(Box<RunDigest>),
    /// Of `run`: its process has ended, and the run has no end.
    RunCutOff(RunCutOff),
    /// Of `measure`.
    Measured(MeasureReport),
    /// Of `merge`.
    Merged {
        /// The hash of the merged tree in the store.
        tree: String,
    },
    /// Of `merge` and `apply`: nothing was changed.
    Conflicts(ConflictReport),
    /// Of `gates`: they ran.
    Gates(GatesReport),
    /// Of `apply`.
    Applied(ApplyReport),
    /// Of `read_list`.
    ListRead(Box<ListReport>),
    /// Of `check`.
    Checked(Box<ItemChecked>),
    /// Of `record_pass`: all files are written.
    Ticked,
    /// Of `record_pass`: none is.
    NotTicked {
        /// Why, for people.
        why: String,
    },
    /// Of `roll_back`.
    RolledBack(PlanRolledBack),
    /// Of `hook`.
    HookEnded {
        /// How it ended.
        ended: Ended,
        /// The last line of its error output, where it failed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        says: String,
    },
    /// Of `ask`: a person answered the question of a node at the terminal.
    Said {
        /// The words.
        text: String,
        /// Whether what depends on it may start.
        proceed: bool,
    },
    /// Of `ask`: a person chose a branch at the terminal.
    Picked {
        /// Which.
        node: NodeId,
    },
    /// Of `tell`, `drop` and `record_loop`, and of an `ask` that was cancelled.
    Done,
    /// Of any order: it was ended because it was cancelled, before it came to a result.
    Cancelled,
    /// Of any order: the host could not do it.
    Failed {
        /// Why, for people.
        why: String,
    },
}

/// The process of a run has ended, and the run has no end: it was never made, or its journal stops there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCutOff {
    /// The run, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What it has cost in all, in millionths of a dollar; none where an agent was at work, so that it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_micros: Option<u64>,
    /// A signal killed the process, and the plan did not send it. The run can be resumed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub killed: bool,
    /// Why, for people.
    pub why: String,
}

/// The workspace has a checkpoint of the plan again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRolledBack {
    /// Which checkpoint.
    pub to: String,
    /// The checkpoint of what was there before.
    pub undo: String,
    /// The hash of the tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
}

/// A copy of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyReport {
    /// Where it is, written by [`crate::text::escape_path`].
    pub path: String,
    /// How it was made: `reflink`, `overlay`, `snapshot`, `files`.
    pub method: String,
    /// What a person should know about it, such as ignored folders that came along; a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// How a run of a plan ended: read from the journal of the run, never a claim of its process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDigest {
    /// The run.
    pub run: RunId,
    /// How it ended.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// The exit code of its process by the one table.
    pub exit_code: u8,
    /// How many iterations it had.
    pub iterations: u32,
    /// What it cost in all, in millionths of a dollar; the worst case where the agent does not report it.
    pub cost_micros: u64,
    /// The agent did not report the cost of every call: what it really cost is not known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_unknown: bool,
    /// How long it was at work.
    pub elapsed_ms: u64,
    /// How many tokens it used, as far as the agent reports them.
    #[serde(default)]
    pub tokens: u64,
    /// The checkpoint of its last judged state, in the store of the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The tree of that checkpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How good that state is, by its gates.
    #[serde(default)]
    pub rank: Rank,
    /// Every required gate passes on that state, as the harness saw it.
    pub gates_passed: bool,
    /// They were judged on a clean copy.
    pub clean_copy: bool,
    /// Watched gates that pass.
    pub watched_passed: u32,
    /// Watched gates that do not.
    pub watched_failed: u32,
    /// Gates and tests that passed at the start and fail now.
    pub regressions: u32,
    /// Protected files were changed.
    pub tampered: bool,
    /// In how many ways the tests are weaker than at the start.
    pub weaker: u32,
    /// How strong the gates are, where it was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strength: Option<ResultStrength>,
    /// How much the run changed.
    #[serde(default)]
    pub changed: Changes,
    /// It ended because its share of the plan's budget is used up.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub share_used_up: bool,
}

impl RunDigest {
    /// Whether the run did what it was started for. This is what its own exit code says, and a result to take.
    #[must_use]
    pub fn passes(&self) -> bool {
        let done = matches!(self.outcome, Outcome::Verified | Outcome::Accepted | Outcome::Claimed);
        done && self.tree.is_some()
    }

    /// Whether a person or the plan stopped it, and it can be resumed in its copy.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.outcome == Outcome::Stopped
    }
}

/// How strong the gates of a run are: what its probes noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultStrength {
    /// The gates failed on the initial tree.
    pub red_before: bool,
    /// How many probes were noticed.
    pub noticed: u32,
    /// How many were tried.
    pub tried: u32,
}

/// The numbers that a ranking needs beside the result of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MeasureReport {
    /// Against the initial state of the plan.
    pub changed: Changes,
    /// What the metric command printed, in millionths; none where it printed no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_micros: Option<i64>,
    /// Why the metric command gave no number, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_trouble: Option<String>,
    /// How much the coverage grew, in hundredths of a per cent, where reports were found before and after.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<i32>,
}

/// Two versions that cannot be merged. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictReport {
    /// How many paths conflict.
    pub count: u32,
    /// The first of them, escaped.
    pub paths: Vec<String>,
    /// The checkpoint of the one version: the plan tree, or the workspace as it is.
    pub ours: String,
    /// The checkpoint of the other version.
    pub theirs: String,
    /// A tree with conflict markers, for `on_conflict: agent`; none where one cannot be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<String>,
}

/// What the gates of several loops said together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatesReport {
    /// How many required gates passed.
    pub passed: u32,
    /// How many did not.
    pub not_passed: u32,
    /// The first of those that did not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<FailedGate>,
}

impl GatesReport {
    /// Whether no required gate failed.
    #[must_use]
    pub fn all_pass(&self) -> bool {
        self.not_passed == 0
    }
}

/// A gate that did not pass.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedGate {
    /// Whose gate it is.
    pub node: NodeId,
    /// What it is called.
    pub gate: String,
    /// What its end means.
    pub verdict: Verdict,
    /// The line of its output that says it best.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub says: String,
}

/// The workspace has the result of the plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyReport {
    /// How many files were changed.
    pub files: u32,
    /// The checkpoint of the workspace as it was just before.
    pub undo: String,
    /// The tree that it has now.
    pub tree: String,
}
