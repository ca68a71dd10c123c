//! What `loopr` publishes of a run: its status, its counts, and one line an iteration.
use serde::Serialize;

use super::qualification::qualification;
use crate::policy::breaker::Streaks;
use crate::policy::reserve::Reserved;
use crate::run::{
    AgentReport, Answer, Decision, Ended, Entry, Event, Fact, HoldCause, LooprState, Order, ReasonCode, RunState,
};
use crate::text;
use crate::time;

/// An hour, the window of calls.
const HOUR_MS: u64 = 3_600_000;
/// The most that is shown of a text in a line of the log.
const LINE_TEXT_MAX: usize = 300;

/// `status.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LooprStatus {
    /// Its state.
    pub state: LooprState,
    /// The iteration that was begun last.
    pub iteration: u32,
    /// Why it ended; null while it goes on.
    pub exit_reason: Option<LooprExitReason>,
    /// What must stand beside the state at the end; null where nothing must.
    pub qualification: Option<String>,
    /// What the agent said last of its work.
    pub last_summary: Option<String>,
    /// The newest error, of the agent or of the loop itself.
    pub last_error: Option<String>,
    /// Calls in the last hour.
    pub call_count: u32,
    /// When the next call beyond the limit is free, or when what is waited for is over.
    pub next_reset_at: Option<String>,
}

/// `loop-state.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LooprCounts {
    /// Done claims in a row.
    pub completion_indicators: u32,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Iterations in a row that ended in the same error.
    pub same_error: u32,
    /// Which error.
    pub same_error_signature: Option<String>,
    /// Iterations in a row that worked on nothing but tests.
    pub consecutive_test_loops: u32,
    /// Iterations in a row without a status block.
    pub missing_status: u32,
}

impl LooprCounts {
    fn of(counts: &Streaks) -> Self {
        Self {
            completion_indicators: counts.completion,
            no_progress: counts.no_progress,
            same_error: counts.same_error,
            same_error_signature: counts.signature.clone(),
            consecutive_test_loops: counts.test_only,
            missing_status: counts.missing_status,
        }
    }
}

/// Everything that is published at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LooprFiles {
    /// `status.json`.
    pub status: LooprStatus,
    /// `loop-state.json`.
    pub counts: LooprCounts,
    /// `.call_count`.
    pub call_count: u32,
    /// `.last_reset`: when the hour began that is counted.
    pub last_reset: String,
}

/// The fold over the journal that all of it comes from.
#[derive(Debug, Clone, Default)]
pub struct LooprFold {
    last_summary: Option<String>,
    last_error: Option<String>,
    /// Why a block of this iteration does not count, also when it was asked for again and then did.
    bad_block: Option<String>,
    /// The iteration whose line was written last.
    logged: u32,
    /// An iteration was judged and has no line yet.
    pending: bool,
}

impl LooprFold {
    /// Takes a line of the journal in; `state` has it taken in. Returns a line for the log.
    pub fn take(&mut self, entry: &Entry, state: &RunState) -> Option<String> {
        match &entry.fact {
            Fact::Happened(input) => {
                if let Event::Answered { answer: Answer::AgentEnded(report), .. } = &input.event {
                    self.record_report(report);
                }
                None
            }
            Fact::Decided(Decision::Round(judgement)) => {
                self.pending |= judgement.iteration.is_some() && state.iteration > self.logged;
                None
            }
            Fact::Ordered {
                order: order @ (Order::RunAgent { .. } | Order::Reserve { .. } | Order::Hold { .. }),
                ..
            } => {
                // The iteration that an order for an agent begins is not the one that was judged.
                let before = order.begins_iteration();
                std::mem::take(&mut self.pending)
                    .then(|| self.line(entry, state, state.iteration.saturating_sub(before.into())))
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) => None,
            Fact::Concluded { .. } => {
                self.pending = false;
                Some(self.line(entry, state, state.iteration))
            }
        }
    }

    fn record_report(&mut self, report: &AgentReport) {
        let claim = report.stream.claimed.as_ref();
        self.last_summary = claim.and_then(|claim| claim.summary.clone()).or(self.last_summary.take());
        self.bad_block = report.stream.block_error.clone().or(self.bad_block.take());
        let ended = match &report.ended {
            Ended::Exit(0) | Ended::ByUs => None,
            Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => Some(report.ended.brief()),
        };
        let claimed = claim.filter(|claim| claim.claims_errors());
        let claimed = claimed.map(|claim| claim.summary.clone().unwrap_or_else(|| claim.brief()));
        let error = report.stream.error.clone().or(claimed).or(ended);
        self.last_error = error.map(|error| text::one_line(&error, LINE_TEXT_MAX)).or(self.last_error.take());
    }

    /// What is published now.
    #[must_use]
    pub fn files(&self, state: &RunState) -> LooprFiles {
        let over = state.over.as_ref();
        let unable = over.filter(|over| exit_reason(over.reason.code) == LooprExitReason::AgentFailed);
        let unable = unable.map(|over| text::one_line(&over.reason.text, LINE_TEXT_MAX));
        let call_count = calls(state);
        let status = LooprStatus {
            state: state_of(state),
            iteration: state.iteration,
            exit_reason: over.map(|over| exit_reason(over.reason.code)),
            qualification: qualification(state),
            last_summary: self.last_summary.clone(),
            last_error: unable.or_else(|| self.last_error.clone()),
            call_count,
            next_reset_at: next_reset(state).map(time::rfc3339),
        };
        let last_reset = time::rfc3339(window_began(state));
        LooprFiles { status, counts: LooprCounts::of(state.progress.streaks()), call_count, last_reset }
    }

    fn line(&mut self, entry: &Entry, state: &RunState, iteration: u32) -> String {
        self.logged = iteration;
        let report = state.agent.report().filter(|_| state.agent_ended() || state.iteration > iteration);
        let claim = report.and_then(|report| report.stream.claimed.as_ref());
        let counts = &state.progress.streaks();
        let mut fields = vec![
            ("iteration", iteration.to_string()),
            ("status", claim.map_or_else(|| "none".to_owned(), |claim| claim.status.clone())),
            ("exit_signal", claim.is_some_and(|claim| claim.exit_signal).to_string()),
        ];
        let files = state.progress.delta().files.map_or_else(|| "unknown".to_owned(), |files| files.to_string());
        fields.extend([
            ("files", files),
            ("completion_indicators", counts.completion.to_string()),
            ("no_progress", counts.no_progress.to_string()),
            ("same_error", counts.same_error.to_string()),
            ("test_loops", counts.test_only.to_string()),
            ("missing_status", counts.missing_status.to_string()),
        ]);
        fields.push(("state", state_of(state).name().to_owned()));
        fields.extend(state.over.as_ref().map(|over| ("exit_reason", exit_reason(over.reason.code).name().to_owned())));
        fields.extend(qualification(state).map(|words| ("qualification", quoted(&words))));
        fields.extend(self.bad_block.take().map(|why| ("bad_block", quoted(&why))));
        fields.extend(claim.and_then(|claim| claim.summary.as_ref()).map(|text| ("summary", quoted(text))));
        fields.extend(state.over.as_ref().map(|over| ("why", quoted(&over.reason.text))));
        let run = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
        format!("{} run={run} {}\n", time::rfc3339(entry.at.wall_ms), fields.join(" "))
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text::one_line(text, LINE_TEXT_MAX)).to_string()
}

/// The hold that is under way: why, and until when by the wall clock.
fn hold(state: &RunState) -> Option<(HoldCause, u64)> {
    let (_, open) = state.main_order()?;
    let Order::Hold { cause, ms } = &open.order else { return None };
    let until = state.waits_until(open).unwrap_or_else(|| open.since.wall_ms.saturating_add(*ms));
    Some((*cause, until))
}

fn state_of(state: &RunState) -> LooprState {
    match (state.standing(), hold(state)) {
        (Some(standing), _) => standing.loopr_state,
        (None, Some(_)) => LooprState::Waiting,
        (None, None) => LooprState::Running,
    }
}

/// Calls in the last hour, as the ledger of all runs reported it for the newest call, or when it refused one; where the
/// ledger was not used, those of this run. A call that is only granted is not made yet.
fn calls(state: &RunState) -> u32 {
    let refused = state.budget.call().filter(|call| matches!(call, Reserved::Denied { .. }));
    match refused.or(state.budget.window()) {
        Some(Reserved::Granted { hour_calls, .. } | Reserved::Denied { hour_calls, .. }) => *hour_calls,
        None => state.budget.spent().calls,
    }
}

/// When the hour began that is counted.
fn window_began(state: &RunState) -> u64 {
    match state.budget.window() {
        Some(Reserved::Granted { oldest_ms: Some(oldest), .. }) => *oldest,
        Some(Reserved::Granted { oldest_ms: None, .. } | Reserved::Denied { .. }) | None => {
            state.clock.created().wall_ms
        }
    }
}

fn next_reset(state: &RunState) -> Option<u64> {
    match hold(state) {
        Some((HoldCause::Calls | HoldCause::Limit | HoldCause::Delay, until)) => Some(until),
        Some((HoldCause::Paused | HoldCause::Blocked | HoldCause::Question | HoldCause::Stuck, _)) | None => {
            match state.budget.window() {
                Some(Reserved::Granted { next_free_ms, oldest_ms, .. }) => {
                    next_free_ms.or(oldest_ms.map(|oldest| oldest.saturating_add(HOUR_MS)))
                }
                Some(Reserved::Denied { .. }) | None => None,
            }
        }
    }
}

/// Why a run ended, in the words of the Loopr specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LooprExitReason {
    /// It is done.
    Done,
    /// No iterations are left.
    MaxIterations,
    /// No time is left.
    TimeLimit,
    /// A budget is used up.
    Budget,
    /// A person stopped it.
    Stopped,
    /// The same error again and again.
    SameError,
    /// Nothing but tests.
    TestLoops,
    /// No status block.
    MissingStatus,
    /// No progress.
    NoProgress,
    /// The agent says that it is blocked.
    AgentBlocked,
    /// Agent, gate or machine could not work.
    AgentFailed,
}

impl LooprExitReason {
    /// The reason as the files have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::MaxIterations => "max_iterations",
            Self::TimeLimit => "time_limit",
            Self::Budget => "budget",
            Self::Stopped => "stopped",
            Self::SameError => "same_error",
            Self::TestLoops => "test_loops",
            Self::MissingStatus => "missing_status",
            Self::NoProgress => "no_progress",
            Self::AgentBlocked => "agent_blocked",
            Self::AgentFailed => "agent_failed",
        }
    }
}

/// The Loopr specification's word for a reason. Reasons that it does not have become the nearest one that it has.
#[must_use]
pub fn exit_reason(code: ReasonCode) -> LooprExitReason {
    match code {
        ReasonCode::GoalComplete | ReasonCode::Accepted => LooprExitReason::Done,
        ReasonCode::IterationLimit => LooprExitReason::MaxIterations,
        ReasonCode::TimeLimit => LooprExitReason::TimeLimit,
        ReasonCode::BudgetLimit => LooprExitReason::Budget,
        ReasonCode::ManualStop | ReasonCode::AlertPause => LooprExitReason::Stopped,
        ReasonCode::SameError => LooprExitReason::SameError,
        ReasonCode::TestLoops => LooprExitReason::TestLoops,
        ReasonCode::MissingStatus => LooprExitReason::MissingStatus,
        ReasonCode::NoProgress
        | ReasonCode::Oscillation
        | ReasonCode::IdenticalOutput
        | ReasonCode::OutputDecline
        | ReasonCode::SafetyCompletion
        | ReasonCode::Stuck => LooprExitReason::NoProgress,
        ReasonCode::AgentBlocked => LooprExitReason::AgentBlocked,
        ReasonCode::AgentCrashes
        | ReasonCode::AgentFailed
        | ReasonCode::AgentLogin
        | ReasonCode::AgentBilling
        | ReasonCode::AgentModel
        | ReasonCode::ProviderDown
        | ReasonCode::Question
        | ReasonCode::Tamper
        | ReasonCode::NotProven
        | ReasonCode::AgentLost
        | ReasonCode::GateUnverifiable
        | ReasonCode::HostFailure => LooprExitReason::AgentFailed,
    }
}
