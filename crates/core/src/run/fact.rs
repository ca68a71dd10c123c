//! The facts of a run: what is recorded. The journal holds nothing else.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::branches::BranchPlan;
use super::checkpoints::RollbackCause;
use super::choice::{AgentChoice, ChoiceCause, Drawn};
use super::event::{GateIndex, Input};
use super::judge_report::JudgedTree;
use super::judgement::{
    AttemptJudgement, CleanJudgement, DroppedOrder, GateJudgement, GuardJudgement, MeasurementJudgement,
    ProofJudgement, RoundJudgement, TextJudgement,
};
use super::outcome::{Outcome, Proof, Reason};
use super::recovery::RecoveryDecision;
use super::surroundings::{AroundEvent, EnvChange, FilesChanged};
use super::text_order::{TEXT_MS_MAX, TextPurpose};
use crate::agent::Failure;
use crate::ids::{OrderId, ProcessId};
use crate::machine::{Act, JournalEntry};
use crate::policy::alert::Alert;
use crate::policy::protect::ProtectJudgement;
use crate::policy::reserve::Wanted;
use crate::settings::{GateSpec, Settings};

/// One line of the journal of a run.
pub type Entry = JournalEntry<Fact>;

/// One thing that is true of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    /// An event.
    Happened(Input),
    /// Something is to be done; exactly one answer will come.
    Ordered {
        /// Its number.
        id: OrderId,
        /// What is to be done.
        order: Order,
    },
    /// It is cancelled; its answer still comes.
    OrderCancelled {
        /// Which order.
        id: OrderId,
        /// Why.
        cause: CancelCause,
    },
    /// Decided: what an event means.
    Decided(Decision),
    /// Decided: the run is over, and why.
    Concluded {
        /// How the run ended.
        outcome: Outcome,
        /// Why.
        reason: Reason,
        /// The proof, where it is done.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Box<Proof>>,
    },
}

/// What `step` decided about an event. `apply` stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// What becomes of an order whose end is not known.
    OrderDropped {
        /// Which order.
        id: OrderId,
        /// What becomes of it.
        then: DroppedOrder,
    },
    /// What an attempt of the agent was.
    Attempt(Box<AttemptJudgement>),
    /// Whether the workspace is rolled back after an interrupted attempt.
    Interruption {
        /// The checkpoint that is restored.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rollback_to: Option<String>,
    },
    /// The agent is not asked for the status block that it left out.
    StatusSkipped,
    /// What the measured changes mean.
    Measurement(MeasurementJudgement),
    /// What a gate said.
    Gate(GateJudgement),
    /// What all gates together said of a state.
    Round(Box<RoundJudgement>),
    /// Which of the files that a gate uses are protected from now on.
    Protect(ProtectJudgement),
    /// What a check of the protected files means.
    Guard(GuardJudgement),
    /// What the gates said on a clean copy.
    Clean(CleanJudgement),
    /// Whether the tests behind a pass are as strong as at the start.
    Proof(ProofJudgement),
    /// Something is reported at once.
    Alert(Box<Alert>),
    /// The breaker is closed, because the run was opened again.
    BreakerClosed,
    /// An urgent text does not end the agent: others have done so often enough in this iteration. It leads the prompt of
    /// the next one.
    UrgentWaits {
        /// The number of the text.
        text: u32,
        /// How often urgent texts may end the agent in one iteration.
        most: u32,
    },
    /// A short text is wanted before the next iteration.
    TextWanted {
        /// What for.
        purpose: TextPurpose,
    },
    /// What came of a short text that was due.
    Text(Box<TextJudgement>),
    /// What is tried because the loop is stuck, and what came of it.
    Recovery(RecoveryDecision),
    /// Which agent works next, with which model, and why.
    Chosen {
        /// What the next attempt uses.
        #[serde(flatten)]
        choice: AgentChoice,
        /// Why.
        why: ChoiceCause,
        /// The reason in one line, where several agents are enabled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// What the learned router drew, where it was asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        drawn: Option<Drawn>,
    },
    /// An agent cannot work in this run any more; another one that is enabled works instead.
    AgentOut {
        /// The agent.
        agent: String,
        /// Why.
        why: Failure,
    },
    /// The scarcest model is used up for today, by all runs together.
    UsedUp {
        /// The model.
        model: String,
        /// Until when, by the wall clock.
        until_ms: u64,
        /// How many calls the day allows.
        most: u32,
    },
}

impl Fact {
    /// What the host has to do because of it.
    #[must_use]
    pub fn act(&self) -> Option<Act<'_, Order>> {
        match self {
            Self::Ordered { id, order } => Some(Act::Begin(*id, order)),
            Self::OrderCancelled { id, cause: CancelCause::TimeUp } => Some(Act::Kill(*id)),
            Self::OrderCancelled { id, .. } => Some(Act::Cancel(*id)),
            Self::Happened(_) | Self::Decided(_) | Self::Concluded { .. } => None,
        }
    }

    /// Whether it must be safe on disk before anything follows from it: an order that starts an
    /// agent, what an agent did (or it would be paid twice), what a person was promised, the end.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        use super::event::Event;
        use super::report::Answer;
        match self {
            Self::Concluded { .. } => true,
            Self::Ordered { order, .. } => matches!(
                order,
                Order::RunAgent { .. }
                    | Order::Branches { .. }
                    | Order::WriteText { .. }
                    | Order::Rollback { .. }
                    | Order::Guard { point: GuardPoint::Agent(..) | GuardPoint::Gates(_) }
            ),
            // Decisions are made again from the event if they are lost: nothing has followed from them yet.
            Self::OrderCancelled { .. } | Self::Decided(_) => false,
            Self::Happened(input) => match &input.event {
                Event::Created(_) | Event::Reopened { .. } | Event::Requested { .. } => true,
                Event::Answered { answer, .. } => matches!(
                    answer,
                    Answer::AgentEnded(_)
                        | Answer::Branches(_)
                        | Answer::TextEnded(_)
                        | Answer::Lost { .. }
                        | Answer::ManualCheckpoint(_)
                        | Answer::RolledBack(_)
                ),
                // The file is moved, and the person sees that it was taken.
                Event::Around(around) => match around.as_ref() {
                    AroundEvent::Inbox { .. } | AroundEvent::Environment { .. } => true,
                    AroundEvent::Files(_) => false,
                },
                Event::Opened | Event::OpenedForRequest { .. } | Event::Noticed(_) | Event::DeadlinePassed => false,
            },
        }
    }
}

/// Why an order was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelCause {
    /// It took longer than its own limit.
    Timeout,
    /// It showed no sign of life.
    Silent,
    /// The time of the whole run is used up.
    TimeLimit,
    /// The same, and it has had the time to end in order.
    TimeUp,
    /// A person asked to stop now.
    Abort,
    /// A person asked to resume or to stop: a hold ends.
    Request,
    /// A person asked for a rollback now.
    Rollback,
    /// The agent waits for its provider by itself.
    Retrying,
    /// An urgent text came: the agent is to read it at once.
    Urgent,
}

/// Work for the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Make sure that nothing of an interrupted attempt runs any more.
    CleanUp {
        /// Processes known by name; others are found by their mark.
        processes: Vec<ProcessId>,
    },
    /// Keep the workspace as it is now. Keeps an existing one of that name.
    Checkpoint {
        /// Its name.
        name: CheckpointName,
    },
    /// Give the agent the prompt of this attempt.
    RunAgent {
        /// The iteration, from 1.
        iteration: u32,
        /// The attempt in it, from 1.
        attempt: u32,
        /// Which agent and model it uses: decided just before.
        #[serde(default)]
        choice: AgentChoice,
        /// What the prompt has to say beside goal and gates.
        notes: Vec<PromptNote>,
        /// The numbers of the first and the last injected text that is new in it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        injected: Option<(u32, u32)>,
        /// The agent's own session to resume; none begins a new one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        /// It is only asked for the status block that it left out.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        status_only: bool,
        /// What the ledger of all runs has reserved for the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reservation: Option<i64>,
    },
    /// Ask an agent for a short text, in an empty folder outside of the workspace.
    WriteText {
        /// What for.
        purpose: TextPurpose,
        /// Which agent and model.
        choice: AgentChoice,
        /// What the ledger of all runs has reserved for the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reservation: Option<i64>,
    },
    /// Ask the ledger of all runs for one call.
    Reserve {
        /// Within which limits.
        wanted: Wanted,
    },
    /// Look at the protected files, and put them back where that is wanted.
    Guard {
        /// After what.
        point: GuardPoint,
    },
    /// Say with what the gates were run, and what became of the tests: for the proof.
    Certify {
        /// On which state of the workspace.
        point: GatePoint,
    },
    /// Run the gates on a clean copy of a recorded tree.
    Judge {
        /// Which state of the workspace passed the gates.
        point: GatePoint,
        /// Which tree the copy holds.
        tree: JudgedTree,
    },
    /// Do nothing until it is cancelled. What people may do meanwhile: [`HoldCause::lets_people_edit`].
    Hold {
        /// Why.
        cause: HoldCause,
        /// How long at most.
        ms: u64,
    },
    /// See what the iteration changed.
    Measure {
        /// The iteration.
        iteration: u32,
    },
    /// Try several ways beside each other in copies, as a plan of its own. Given again, the plan continues.
    Branches {
        /// Which rung of recovery this is, counted from 1: the plan is found by it.
        rung: u32,
        /// What is tried.
        branches: Vec<BranchPlan>,
        /// How long they may take.
        limit_ms: u64,
    },
    /// Take a checkpoint because a person asked for it, while other orders run.
    ManualCheckpoint {
        /// Its name.
        name: String,
    },
    /// Restore a checkpoint. A checkpoint of the present state is taken first.
    Rollback {
        /// Which checkpoint.
        to: String,
        /// The name of what is there before.
        undo: String,
        /// The user's own repository too.
        #[serde(default)]
        git: bool,
        /// Only these paths; none means everything.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
        /// Why.
        #[serde(default)]
        cause: RollbackCause,
    },
    /// Run one gate.
    RunGate {
        /// On which state of the workspace.
        point: GatePoint,
        /// Which gate, from 0.
        gate: GateIndex,
        /// Which try of it, from 1, where it has several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again: Option<u32>,
    },
    /// Tell the person how it ended.
    Notify {
        /// The status in one word.
        result: String,
        /// Why, for people.
        text: String,
    },
}

/// A checkpoint or a measurement that takes longer than this is a fault of the host.
const WORKSPACE_MS_MAX: u64 = 60 * 60 * 1000;
/// Ending what is left of an attempt.
const CLEAN_UP_MS_MAX: u64 = 60 * 1000;
/// A notification that hangs.
const NOTIFY_MS_MAX: u64 = 30 * 1000;
/// The ledger of all runs, which others may be writing.
const RESERVE_MS_MAX: u64 = 60 * 1000;
/// Asking tools for their versions.
const CERTIFY_MS_MAX: u64 = 60 * 1000;

/// Making a copy, and everything around the gates.
const COPY_MS_MAX: u64 = 30 * 60 * 1000;

/// All tries of all gates, each with the time that it may take.
fn judge_limit_ms(tree: JudgedTree, settings: &Settings) -> u64 {
    let one = |gate: &GateSpec| gate.needs().all_tries_ms(gate.timeout_ms.unwrap_or(settings.gate_timeout_ms));
    let gates = settings.gates.iter().map(one).fold(0, u64::saturating_add);
    let more = match tree {
        JudgedTree::Hunks { budget_ms } => budget_ms,
        JudgedTree::Hidden { limit_ms, .. } => limit_ms,
        JudgedTree::Final
        | JudgedTree::Again
        | JudgedTree::Initial
        | JudgedTree::WithoutNewTests
        | JudgedTree::Canary
        | JudgedTree::Undone => 0,
    };
    let set_up = settings.values.gate.setup.as_ref().map_or(0, |_| settings.gate_timeout_ms);
    gates.saturating_add(COPY_MS_MAX).saturating_add(set_up).saturating_add(more)
}

impl Order {
    /// Main orders come one after the other; side orders beside them.
    #[must_use]
    pub fn is_main(&self) -> bool {
        match self {
            Self::Notify { .. } | Self::ManualCheckpoint { .. } => false,
            Self::CleanUp { .. }
            | Self::Checkpoint { .. }
            | Self::RunAgent { .. }
            | Self::WriteText { .. }
            | Self::Measure { .. }
            | Self::Hold { .. }
            | Self::Rollback { .. }
            | Self::Reserve { .. }
            | Self::Guard { .. }
            | Self::Certify { .. }
            | Self::Judge { .. }
            | Self::Branches { .. }
            | Self::RunGate { .. } => true,
        }
    }

    /// Why it holds the run, where it does.
    #[must_use]
    pub fn hold_cause(&self) -> Option<HoldCause> {
        if let Self::Hold { cause, .. } = self { Some(*cause) } else { None }
    }

    /// How long it may take before it is cancelled. No order is without a limit.
    #[must_use]
    pub fn limit_ms(&self, settings: &Settings) -> u64 {
        match self {
            Self::RunAgent { .. } => settings.timeout_ms,
            Self::WriteText { .. } => settings.timeout_ms.min(TEXT_MS_MAX),
            Self::RunGate { gate, .. } => {
                let gate = usize::try_from(*gate).ok().and_then(|gate| settings.gates.get(gate));
                gate.and_then(|gate| gate.timeout_ms).unwrap_or(settings.gate_timeout_ms)
            }
            Self::Reserve { .. } => RESERVE_MS_MAX,
            Self::Certify { .. } => CERTIFY_MS_MAX,
            Self::Judge { tree, .. } => judge_limit_ms(*tree, settings),
            Self::CleanUp { .. } => CLEAN_UP_MS_MAX,
            Self::Checkpoint { .. }
            | Self::Measure { .. }
            | Self::ManualCheckpoint { .. }
            | Self::Guard { .. }
            | Self::Rollback { .. } => WORKSPACE_MS_MAX,
            Self::Notify { .. } => NOTIFY_MS_MAX,
            Self::Hold { ms, .. } => *ms,
            Self::Branches { limit_ms, .. } => *limit_ms,
        }
    }

    /// Whether it starts the agent in a new conversation.
    #[must_use]
    pub fn begins_session(&self) -> bool {
        matches!(self, Self::RunAgent { session: None, .. })
    }

    /// Whether it starts the agent for the first attempt at an iteration.
    #[must_use]
    pub fn begins_iteration(&self) -> bool {
        matches!(self, Self::RunAgent { attempt: 1, .. })
    }

    /// Whether it starts the agent.
    #[must_use]
    pub fn runs_agent(&self) -> bool {
        matches!(self, Self::RunAgent { .. })
    }
}

/// Why a run holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldCause {
    /// A person asked for it.
    Paused,
    /// The delay that is set.
    Delay,
    /// A person must fix something first.
    Blocked,
    /// The provider asks to wait, or cannot be reached. The state has the end of the wait.
    Limit,
    /// The agent asked something that a person is to answer.
    Question,
    /// So many calls were made in the last hour that the next one waits.
    Calls,
    /// The loop is stuck after all recovery attempts, and a person is to help.
    Stuck,
}

impl HoldCause {
    /// Whether only a person ends it. The time of the run does not pass then.
    #[must_use]
    pub fn waits_for_person(self) -> bool {
        match self {
            Self::Paused | Self::Blocked | Self::Question | Self::Stuck => true,
            Self::Delay | Self::Limit | Self::Calls => false,
        }
    }

    /// Whether people may edit the workspace meanwhile. Then protected files that changed count as changed by them, and
    /// the workspace is compared with the newest checkpoint before the agent works. A hold inside a round of gates would
    /// say no: all gates of a round judge the same state.
    pub(super) fn lets_people_edit(self) -> bool {
        match self {
            Self::Paused | Self::Delay | Self::Blocked | Self::Limit | Self::Question | Self::Calls | Self::Stuck => {
                true
            }
        }
    }
}

/// A pause lasts until a person ends it: it is longer than any run.
pub const PAUSE_MS_MAX: u64 = 10 * 365 * 24 * 3600 * 1000;

/// The name of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointName {
    /// The workspace before iteration 1.
    Initial,
    /// What the iteration left.
    Iteration(u32),
    /// What an interrupted attempt left: iteration, attempt.
    Interrupted(u32, u32),
    /// The workspace after changes by others after this iteration; taken only if it differs.
    BetweenIterations(u32),
}

impl fmt::Display for CheckpointName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => out.write_str("initial"),
            Self::Iteration(number) => write!(out, "iter-{number:03}"),
            Self::Interrupted(iteration, attempt) => write!(out, "interrupted-{iteration}.{attempt}"),
            Self::BetweenIterations(0) => out.write_str("initial+"),
            Self::BetweenIterations(number) => write!(out, "iter-{number:03}+"),
        }
    }
}

/// Which state of the workspace a gate judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatePoint {
    /// Before iteration 1.
    Baseline,
    /// After the iteration.
    Iteration(u32),
    /// After an interrupted attempt: iteration, attempt.
    Interrupted(u32, u32),
    /// When an ended run was opened again after this many iterations.
    Reopened(u32),
    /// After a rollback to a checkpoint, when this many iterations had begun.
    RolledBack(u32),
}

/// After what the protected files are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GuardPoint {
    /// Before anything else: they are stored as they are.
    Start,
    /// After an attempt of the agent: iteration, attempt.
    Agent(u32, u32),
    /// After the gates have judged.
    Gates(GatePoint),
    /// After people had time for them: what they changed holds from now on.
    People,
}

/// What the next prompt has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptNote {
    /// The iteration before was stopped at its time limit.
    TimedOut {
        /// The limit.
        limit_ms: u64,
    },
    /// The iteration before was stopped because the agent showed no sign of life.
    Silent {
        /// For how long.
        limit_ms: u64,
    },
    /// An attempt at this iteration was cut off; its edits are still there.
    Interrupted {
        /// Which attempt.
        attempt: u32,
    },
    /// A checkpoint was restored.
    RolledBack {
        /// Which.
        to: String,
        /// Only these paths; none means everything.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        paths: Vec<String>,
    },
    /// Others changed files since the agent ended.
    ChangedByOthers {
        /// How many.
        files: u32,
        /// The first paths of them, a bounded number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        names: Vec<String>,
    },
    /// Variables of the harness have other values.
    EnvironmentChanged {
        /// Which, a bounded number.
        changes: Vec<EnvChange>,
    },
    /// Others changed these files, by the watcher.
    FilesChanged(FilesChanged),
    /// An attempt of this iteration failed because of the provider; its edits are still there.
    Limited {
        /// Which attempt.
        attempt: u32,
    },
    /// It asked something, and no answer comes.
    NobodyAnswers {
        /// What.
        question: String,
    },
    /// It asked something, and a person has answered: the answer is among the user's texts.
    Answered {
        /// What it had asked.
        question: String,
    },
    /// Its program refused it commands.
    Refused {
        /// How many.
        count: u32,
        /// The first of them.
        first: String,
    },
    /// Protected files were changed.
    Tampered {
        /// Which, a bounded number.
        files: Vec<String>,
        /// They were restored.
        restored: bool,
        /// It happened while the gates ran.
        by_gates: bool,
    },
    /// Something fails that had passed.
    Regressed {
        /// Tests or gates, a bounded number.
        what: Vec<String>,
        /// The workspace was restored to before the iteration.
        reverted: bool,
    },
    /// The gates passed, and something speaks against it.
    NotProven {
        /// What, a bounded number.
        findings: Vec<String>,
    },
    /// It said that it was done, and it is not.
    NotDone,
    /// There was no status block, or one that does not count.
    StatusMissing {
        /// Why it does not count.
        why: Option<String>,
    },
    /// The agent's own program ended in an error.
    AgentFailed {
        /// How.
        ended: String,
    },
}
