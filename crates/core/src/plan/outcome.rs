//! How a plan ends and why, and the one table to status and exit code.
use serde::{Deserialize, Serialize};

use crate::run::Status;
use crate::time::At;

/// How a plan ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanOutcome {
    /// The result is in the workspace, and the gates pass there.
    Applied,
    /// The branches of a stuck run are ranked: the run uses the best of them itself.
    Ranked,
    /// The result is in the workspace, and gates fail there that pass in the branch.
    NotHere,
    /// A person took a branch that does not pass: it is in the workspace.
    Taken,
    /// No branch passed: nothing was applied.
    NonePassed,
    /// Not every node was merged: nothing was applied.
    Incomplete,
    /// The result and the workspace have a conflict: nothing was changed.
    Conflict,
    /// It waits until a person picks a branch or answers a question.
    AwaitsPerson,
    /// A person stopped it; it can be resumed.
    Stopped,
    /// A person ended it for good.
    Cancelled,
    /// It could not work.
    Unable,
}

impl PlanOutcome {
    /// Every outcome.
    pub const ALL: [Self; 11] = [
        Self::Applied,
        Self::Ranked,
        Self::NotHere,
        Self::Taken,
        Self::NonePassed,
        Self::Incomplete,
        Self::Conflict,
        Self::AwaitsPerson,
        Self::Stopped,
        Self::Cancelled,
        Self::Unable,
    ];

    /// The outcome as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Ranked => "ranked",
            Self::NotHere => "not_here",
            Self::Taken => "taken",
            Self::NonePassed => "none_passed",
            Self::Incomplete => "incomplete",
            Self::Conflict => "conflict",
            Self::AwaitsPerson => "awaits_person",
            Self::Stopped => "stopped",
            Self::Cancelled => "cancelled",
            Self::Unable => "unable",
        }
    }
}

/// What an outcome of a plan is called elsewhere: one row per outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlanStanding {
    /// The outcome.
    pub outcome: PlanOutcome,
    /// Its status in lists.
    pub status: Status,
    /// The exit code of the command that drove it.
    pub exit_code: u8,
    /// Whether `loop resume` may continue it.
    pub resumable: bool,
}

/// The one table from the outcome of a plan to everything else.
#[must_use]
pub fn plan_standing(outcome: PlanOutcome) -> PlanStanding {
    let row = |status, exit_code, resumable| PlanStanding { outcome, status, exit_code, resumable };
    match outcome {
        PlanOutcome::Applied | PlanOutcome::Ranked => row(Status::Completed, 0, false),
        PlanOutcome::NotHere | PlanOutcome::Taken | PlanOutcome::NonePassed => row(Status::Failed, 1, false),
        PlanOutcome::Incomplete | PlanOutcome::Conflict => row(Status::Failed, 1, true),
        PlanOutcome::AwaitsPerson => row(Status::Paused, 1, true),
        PlanOutcome::Stopped => row(Status::Paused, 2, true),
        PlanOutcome::Cancelled => row(Status::Cancelled, 2, false),
        PlanOutcome::Unable => row(Status::Crashed, 3, true),
    }
}

/// Why a plan ended, as a word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanReason {
    /// The word.
    pub code: PlanReasonCode,
    /// The sentence, with the evidence.
    pub text: String,
}

/// Every reason for the end of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanReasonCode {
    /// A branch was applied.
    BranchApplied,
    /// The branches of a stuck run are ranked.
    BranchesRanked,
    /// All nodes were merged, and the result was applied.
    AllMerged,
    /// Every item of the list that was asked for is ticked.
    AllTicked,
    /// Gates fail in the workspace.
    GatesFailHere,
    /// A person took a branch that does not pass.
    TakenAnyway,
    /// No branch passed.
    NonePassed,
    /// A node failed.
    NodeFailed,
    /// The budget is used up.
    Budget,
    /// The workspace and the result have a conflict.
    ApplyConflict,
    /// A person is to pick a branch.
    AwaitsPick,
    /// A person is to answer a question.
    AwaitsAnswer,
    /// A person asked.
    ManualStop,
    /// The operating system refused.
    HostFailure,
}

/// The end of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEnding {
    /// How.
    pub outcome: PlanOutcome,
    /// Why.
    pub reason: PlanReason,
    /// When.
    pub at: At,
}
