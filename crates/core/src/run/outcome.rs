//! How a run ends and why, and what that means to people, files and shells.
use serde::{Deserialize, Serialize};

use crate::time::At;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every gate was kept, on a tree with no agent at work.
    Kept,
    /// A limit was reached without it.
    Exhausted,
    /// A person stopped it; it can go on.
    Stopped,
    /// A person ended it for good.
    Cancelled,
    /// It could not work: agent, gate or host.
    Unable,
}

/// What an outcome is called elsewhere: one row per outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The outcome as JSON has it.
    pub outcome: &'static str,
    /// Our status.
    pub status: &'static str,
    /// The `state` of Loopr's files.
    pub loopr_state: &'static str,
    /// The exit code of the command that drove it.
    pub exit_code: u8,
    /// Whether `loop resume` may go on with it.
    pub resumable: bool,
}

/// The one table from outcome to everything else.
#[must_use]
pub const fn standing(outcome: Outcome) -> Standing {
    match outcome {
        Outcome::Kept => row("kept", "completed", "complete", 0, false),
        Outcome::Exhausted => row("exhausted", "failed", "error", 1, true),
        Outcome::Stopped => row("stopped", "paused", "waiting", 2, true),
        Outcome::Cancelled => row("cancelled", "cancelled", "error", 2, false),
        Outcome::Unable => row("unable", "crashed", "error", 3, true),
    }
}

const fn row(
    outcome: &'static str,
    status: &'static str,
    loopr_state: &'static str,
    exit_code: u8,
    resumable: bool,
) -> Standing {
    Standing { outcome, status, loopr_state, exit_code, resumable }
}

/// Why, as a word for programs and a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reason {
    /// The word.
    pub code: ReasonCode,
    /// The sentence, with the evidence.
    pub text: String,
}

/// Every reason there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReasonCode {
    /// The gates hold.
    GoalComplete,
    /// No iterations left.
    IterationLimit,
    /// No time left.
    TimeLimit,
    /// A person asked.
    ManualStop,
    /// The agent fails again and again without changing anything.
    AgentCrashes,
    /// The agent is not signed in.
    AgentLogin,
    /// The agent has no credit.
    AgentBilling,
    /// The provider could not be reached, or would not, again and again.
    ProviderDown,
    /// The money that was given is used up.
    BudgetLimit,
    /// The agent asked something, and that is to stop it.
    Question,
    /// The agent could not be ended.
    AgentLost,
    /// The gate cannot be run.
    GateUnverifiable,
    /// The machine would not let us.
    HostFailure,
}

impl ReasonCode {
    /// The name by which the end is recorded.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GoalComplete => "goal_complete",
            Self::IterationLimit => "iteration_limit",
            Self::TimeLimit => "time_limit",
            Self::ManualStop => "manual_stop",
            Self::BudgetLimit => "budget_limit",
            Self::Question => "question",
            Self::AgentCrashes
            | Self::AgentLogin
            | Self::AgentBilling
            | Self::ProviderDown
            | Self::AgentLost
            | Self::GateUnverifiable
            | Self::HostFailure => "fatal_error",
        }
    }
}

/// The end of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// How.
    pub outcome: Outcome,
    /// Why.
    pub reason: Reason,
    /// When.
    pub at: At,
}
