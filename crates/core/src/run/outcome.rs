//! How a run ends and why, and what that means to people, files and shells.
use serde::{Deserialize, Serialize};

use super::judge_report::JudgePlace;
use super::report::Tool;
use crate::ended::Ended;
use crate::policy::gate::Verdict;
use crate::policy::proof::{Finding, StrengthReport};
use crate::time::At;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every gate passed, on a tree with no agent at work.
    Verified,
    /// Every gate passed, but something speaks against it that a person must look at.
    PassedBut,
    /// The same, and a person has accepted it.
    Accepted,
    /// There is no gate, and the agent says that it is done.
    Claimed,
    /// A limit was reached without it.
    Exhausted,
    /// The breaker tripped: there was no progress.
    Tripped,
    /// The agent says that it cannot go on without a person.
    Blocked,
    /// Protected files were changed, and that is to stop it.
    Tampered,
    /// A person stopped it; it can go on.
    Stopped,
    /// A critical alert paused it; it can go on when a person has looked at it.
    Paused,
    /// A person ended it for good.
    Cancelled,
    /// It could not work: agent, gate or host.
    Unable,
}

impl Outcome {
    /// The outcome as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Verified => "verified",
            Self::PassedBut => "passed_but",
            Self::Accepted => "accepted",
            Self::Claimed => "claimed",
            Self::Exhausted => "exhausted",
            Self::Tripped => "tripped",
            Self::Blocked => "blocked",
            Self::Tampered => "tampered",
            Self::Stopped => "stopped",
            Self::Paused => "paused",
            Self::Cancelled => "cancelled",
            Self::Unable => "unable",
        }
    }
}

/// The status of a run in lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A process drives it.
    Running,
    /// A process drives it, and it waits for the provider or for a free call.
    Waiting,
    /// It holds until a person resumes it, or a person stopped it.
    Paused,
    /// It is done.
    Completed,
    /// It ended without being done.
    Failed,
    /// A person ended it for good.
    Cancelled,
    /// It could not work, or its process is gone.
    Crashed,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 7] =
        [Self::Running, Self::Waiting, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled, Self::Crashed];

    /// The status as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Crashed => "crashed",
        }
    }

    /// The status of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// The `state` of Loopr's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LooprState {
    /// It works.
    Running,
    /// It waits, for any reason.
    Waiting,
    /// It is done.
    Complete,
    /// The agent says that it is blocked.
    Blocked,
    /// It ended in another way.
    Error,
    /// The breaker ended it.
    CircuitOpen,
}

impl LooprState {
    /// The state as the files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
            Self::Error => "error",
            Self::CircuitOpen => "circuit_open",
        }
    }
}

/// What an outcome is called elsewhere: one row per outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// The outcome.
    pub outcome: Outcome,
    /// Our status.
    pub status: Status,
    /// The `state` of Loopr's files.
    pub loopr_state: LooprState,
    /// The exit code of the command that drove it.
    pub exit_code: u8,
    /// Whether `loop resume` may continue it.
    pub resumable: bool,
}

/// The one table from outcome to everything else.
#[must_use]
pub fn standing(outcome: Outcome) -> Standing {
    let row =
        |status, loopr_state, exit_code, resumable| Standing { outcome, status, loopr_state, exit_code, resumable };
    match outcome {
        Outcome::Verified | Outcome::Accepted | Outcome::Claimed => {
            row(Status::Completed, LooprState::Complete, 0, false)
        }
        Outcome::PassedBut | Outcome::Exhausted | Outcome::Tampered => row(Status::Failed, LooprState::Error, 1, true),
        Outcome::Tripped => row(Status::Failed, LooprState::CircuitOpen, 1, true),
        Outcome::Blocked => row(Status::Failed, LooprState::Blocked, 1, true),
        Outcome::Stopped => row(Status::Paused, LooprState::Error, 2, true),
        Outcome::Paused => row(Status::Paused, LooprState::Error, 1, true),
        Outcome::Cancelled => row(Status::Cancelled, LooprState::Error, 2, false),
        Outcome::Unable => row(Status::Crashed, LooprState::Error, 3, true),
    }
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
    /// The gates pass, and something speaks against it.
    NotProven,
    /// A person accepted the pass as it is.
    Accepted,
    /// No iterations left.
    IterationLimit,
    /// No time left.
    TimeLimit,
    /// A person asked.
    ManualStop,
    /// A critical alert.
    AlertPause,
    /// The agent fails again and again without changing anything.
    AgentCrashes,
    /// The agent failed in a way that is to end the run.
    AgentFailed,
    /// The agent is not signed in.
    AgentLogin,
    /// The agent has no credit.
    AgentBilling,
    /// The agent's model does not exist.
    AgentModel,
    /// The provider could not be reached, or would not, again and again.
    ProviderDown,
    /// The money that was given is used up.
    BudgetLimit,
    /// The agent asked something, and that is to stop it.
    Question,
    /// Iterations without progress.
    NoProgress,
    /// Iterations that ended in the same error.
    SameError,
    /// The workspace returned to earlier states.
    Oscillation,
    /// The agent said the same words again and again.
    IdenticalOutput,
    /// Iterations that worked on nothing but tests.
    TestLoops,
    /// Ever shorter answers.
    OutputDecline,
    /// Iterations without a status block.
    MissingStatus,
    /// Says done, and never gives the signal.
    SafetyCompletion,
    /// The agent says that it is blocked.
    AgentBlocked,
    /// Stuck after all recovery attempts.
    Stuck,
    /// Protected files were changed.
    Tamper,
    /// The agent could not be ended.
    AgentLost,
    /// The gate cannot be run.
    GateUnverifiable,
    /// The operating system refused.
    HostFailure,
}

impl ReasonCode {
    /// The name by which the end is recorded.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::GoalComplete => "goal_complete",
            Self::NotProven => "not_proven",
            Self::Accepted => "accepted",
            Self::IterationLimit => "iteration_limit",
            Self::TimeLimit => "time_limit",
            Self::ManualStop => "manual_stop",
            Self::AlertPause => "alert_pause",
            Self::BudgetLimit => "budget_limit",
            Self::Question => "question",
            Self::NoProgress => "no_progress",
            Self::SameError => "same_error",
            Self::Oscillation => "oscillation",
            Self::IdenticalOutput => "identical_output",
            Self::TestLoops => "test_loops",
            Self::OutputDecline => "output_decline",
            Self::MissingStatus => "missing_status",
            Self::SafetyCompletion => "safety_completion",
            Self::AgentBlocked => "agent_blocked",
            Self::Stuck => "stuck",
            Self::Tamper => "tamper",
            Self::AgentCrashes
            | Self::AgentFailed
            | Self::AgentLogin
            | Self::AgentBilling
            | Self::AgentModel
            | Self::ProviderDown
            | Self::AgentLost
            | Self::GateUnverifiable
            | Self::HostFailure => "fatal_error",
        }
    }
}

/// The proof that a run is done. The commands are in the first fact.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Proof {
    /// The gates were run by the harness and passed; else the agent only claims it.
    pub verified: bool,
    /// The checkpoint of the tree that was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// The hash of that tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// The id that git gives to its files: the same on every machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_tree: Option<String>,
    /// What each gate said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<ProofGate>,
    /// Programs that had a part in it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// How the tests are weaker than at the start.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
    /// Where the gates were judged last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judge: Option<ProofJudge>,
    /// What a person should know about the clean copy, such as dependencies as the agent installed them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judge_remarks: Vec<String>,
    /// How long clean copies and probes took, in the whole run.
    #[serde(skip_serializing_if = "is_zero")]
    pub judging_ms: u64,
    /// How strong the gates are, where it was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<Box<StrengthReport>>,
    /// What speaks against the pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// A person accepted it all the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted: Option<Acceptance>,
    /// What does not count against the pass, each with the reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Finding>,
    /// Changed files that instruct agents or CI, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub context_files: Vec<String>,
    /// What the hidden gates said, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden: Option<ProofHidden>,
}

/// What the hidden gates said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofHidden {
    /// How many there are.
    pub count: u32,
    /// All of them ran and passed.
    pub passed: bool,
    /// Where they ran; none where they did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<JudgePlace>,
}

impl ProofHidden {
    /// For people.
    #[must_use]
    pub fn words(self) -> String {
        let count = if self.count == 1 { "1 hidden gate".to_owned() } else { format!("{} hidden gates", self.count) };
        let does = match (self.passed, self.count) {
            (true, 1) => "passes",
            (true, _) => "pass",
            (false, 1) => "does not pass",
            (false, _) => "do not all pass",
        };
        match self.place {
            None => format!("{count}: not run"),
            Some(JudgePlace::Workspace) => format!("{count} {does}, in the workspace itself"),
            Some(JudgePlace::OwnPath | JudgePlace::Elsewhere) => format!("{count} {does}, in a clean copy"),
            Some(JudgePlace::WorkspaceOpened) => {
                format!("{count} {does}, in a copy; files of the workspace were opened")
            }
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A person accepted a pass that something speaks against.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acceptance {
    /// The command that recorded it.
    pub command: String,
    /// Why, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

/// Where the gates were judged last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProofJudge {
    /// In a clean copy of the recorded tree.
    CleanCopy {
        /// Where that was.
        place: JudgePlace,
    },
    /// Only in the workspace.
    Workspace {
        /// Why.
        why: String,
    },
}

/// What one gate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofGate {
    /// What it is called.
    pub name: String,
    /// What its end means.
    pub verdict: Verdict,
    /// How it ended.
    pub ended: Ended,
    /// The hash of its output.
    pub sha256: String,
    /// How long it took.
    pub duration_ms: u64,
    /// How many tests passed, failed and were left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<(u32, u32, u32)>,
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
    /// The proof, where it is done.
    pub proof: Option<Box<Proof>>,
}
