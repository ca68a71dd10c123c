//! The iterations of a run, with their attempts.
use std::collections::BTreeMap;

use serde::Serialize;

use super::certificate::TestCounts;
use super::qualification::end_words;
use super::restored::RestoredRow;
use super::rungs::RungRow;
use super::score::ScoreView;
use super::{JSON_VERSION, seconds};
use crate::agent::{Claim, Failure, ProgramReport, Usage};
use crate::ids::OrderId;
use crate::policy::gate::Verdict;
use crate::run::{
    AgentReport, Answer, AttemptJudgement, AttemptResult, CancelCause, Changes, CheckpointName, CheckpointReport,
    Decision, Ended, Entry, Event, Fact, GatePoint, Measurement, Order, RoundJudgement, RunState,
};
use crate::time;

/// The answer of `loop history --json`.
#[derive(Debug, Clone, Serialize)]
pub struct History {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub id: String,
    /// How the run ended, with what qualifies it; null before its end.
    pub end: Option<String>,
    /// The iterations from 1 on, the one in progress included.
    pub iterations: Vec<IterationRow>,
    /// What the gates said before iteration 1; null until they have.
    pub baseline: Option<Baseline>,
    /// What others changed before iteration 1: the gates most likely.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_by_the_agent: Option<Changes>,
    /// The first paths of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names_not_by_the_agent: Vec<String>,
    /// The rollbacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rollbacks: Vec<RollbackRow>,
    /// What was tried because the loop was stuck.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub recovery: Vec<RungRow>,
    /// Protected files that were changed and restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub restored: Vec<RestoredRow>,
    #[serde(skip)]
    state: RunState,
    /// How long agent and gates have worked on the newest iteration.
    #[serde(skip)]
    spent_ms: u64,
    /// What the attempts of the newest iteration used.
    #[serde(skip)]
    used: Usage,
    #[serde(skip)]
    cancelled: BTreeMap<OrderId, CancelCause>,
    /// What ended and is judged by the next fact.
    #[serde(skip)]
    ended: Option<Unjudged>,
}

/// The gates before iteration 1.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Baseline {
    /// What the gates said together.
    pub promise: Verdict,
    /// The exit code, where there was one.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_seconds: f64,
}

/// One rollback.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RollbackRow {
    /// How many iterations had begun.
    pub after_iteration: u32,
    /// To which checkpoint.
    pub to: String,
    /// The checkpoint of what was there before.
    pub undo: String,
    /// The paths that it was limited to; none means everything.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// When.
    pub at: String,
}

/// One iteration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IterationRow {
    /// Its number, from 1.
    pub iteration: u32,
    /// Its checkpoint, where one was taken.
    pub checkpoint: Option<String>,
    /// The checkpoint that its agent began on.
    pub before: Option<String>,
    /// What others changed after it and before the next one.
    pub not_by_the_agent: Option<Changes>,
    /// The first paths of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names_not_by_the_agent: Vec<String>,
    /// What the gates said together; null until they have a verdict.
    pub promise: Option<Verdict>,
    /// What each gate said.
    pub gates: Vec<GateVerdict>,
    /// The tests that the required gates ran; null where none is known.
    pub tests: Option<TestCounts>,
    /// How long agent and gates worked on it; null until something ended.
    pub duration_seconds: Option<f64>,
    /// What it changed, where that is measured.
    pub changes: Option<Changes>,
    /// Who worked; of several attempts, in the newest.
    pub agent: String,
    /// What became of it.
    pub outcome: IterationOutcome,
    /// Why its agent could not work; null where it could.
    pub failure: Option<&'static str>,
    /// When the provider said that it goes on.
    pub reset_at: Option<String>,
    /// What all its attempts used.
    pub usage: UsageRow,
    /// The agent's own session.
    pub session: Option<String>,
    /// The status block as it was read.
    pub claimed: Option<Claim>,
    /// Its marks of progress, a bounded number; left out where it has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub markers: Vec<String>,
    /// Whether it made progress; left out where it has no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<bool>,
    /// Its progress score; left out until that is known, and for loops of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreView>,
    /// Tool calls that the agent's own program refused.
    pub denials: u32,
    /// Lines of its output that could not be read.
    pub malformed_lines: u32,
    /// Its attempts.
    pub attempts: Vec<AttemptRow>,
}

/// What one gate said about an iteration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateVerdict {
    /// Its name.
    pub name: String,
    /// Whether the end depends on it.
    pub required: bool,
    /// What it said.
    pub verdict: Verdict,
}

/// What was used; null where it is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct UsageRow {
    /// Tokens that went in, those from a cache not counted.
    pub input_tokens: Option<u64>,
    /// Tokens that came out.
    pub output_tokens: Option<u64>,
    /// Tokens that went in from a cache.
    pub cache_read_tokens: Option<u64>,
    /// Tokens that were put into a cache.
    pub cache_creation_tokens: Option<u64>,
    /// Cost in dollars.
    pub cost_usd: Option<f64>,
    /// Turns of the model.
    pub turns: Option<u32>,
}

impl UsageRow {
    /// Tokens in and out, where either was reported; the same sum as that of a whole loop.
    #[must_use]
    pub fn tokens(&self) -> Option<u64> {
        let both = [self.input_tokens, self.output_tokens];
        both.iter().any(Option::is_some).then(|| both.iter().flatten().sum())
    }

    /// As JSON has it.
    #[must_use]
    pub fn of(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cache_read_tokens: usage.cache_read_tokens,
            cache_creation_tokens: usage.cache_creation_tokens,
            cost_usd: usage.cost_usd(),
            turns: usage.turns,
        }
    }
}

/// What became of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IterationOutcome {
    /// Agent or gates work on it.
    Running,
    /// Its agent waits for the provider.
    Waiting,
    /// The gates pass.
    Pass,
    /// A gate fails.
    Fail,
    /// A gate could not do its work.
    Unverifiable,
    /// It came to its end, and there is no gate.
    Ended,
    /// The agent's own program failed.
    AgentFailed,
    /// The agent was stopped at its time limit.
    TimedOut,
    /// It was cut off.
    Interrupted,
    /// A person stopped it.
    Cancelled,
}

impl IterationOutcome {
    /// The outcome as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unverifiable => "unverifiable",
            Self::Ended => "ended",
            Self::AgentFailed => "agent_failed",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What became of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// The agent works on it.
    Running,
    /// The agent came to its own end.
    Ended,
    /// The agent's own program failed.
    AgentFailed,
    /// The provider did not let the agent work; another attempt follows.
    Limited,
    /// The agent was stopped at its time limit.
    TimedOut,
    /// It was cut off.
    Interrupted,
    /// A person stopped it.
    Cancelled,
}

impl AttemptOutcome {
    /// What it makes of the iteration by itself; none where the gates still have to judge it.
    fn of_iteration(self) -> Option<IterationOutcome> {
        match self {
            Self::Interrupted => Some(IterationOutcome::Interrupted),
            Self::Cancelled => Some(IterationOutcome::Cancelled),
            Self::Limited => Some(IterationOutcome::Waiting),
            Self::Running | Self::Ended | Self::AgentFailed | Self::TimedOut => None,
        }
    }

    /// What it makes of an iteration whose gates do not pass; none where their verdict says more.
    fn of_failed_iteration(self) -> Option<IterationOutcome> {
        match self {
            Self::AgentFailed => Some(IterationOutcome::AgentFailed),
            Self::TimedOut => Some(IterationOutcome::TimedOut),
            Self::Interrupted | Self::Cancelled | Self::Limited => self.of_iteration(),
            Self::Running | Self::Ended => None,
        }
    }
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AttemptRow {
    /// Its number, from 1.
    pub attempt: u32,
    /// What became of it.
    pub outcome: AttemptOutcome,
    /// When it was started.
    pub started_at: String,
    /// How long it took; null while it runs, or where it was cut off unseen.
    pub duration_seconds: Option<f64>,
    /// Why the agent could not work; null where it could.
    pub failure: Option<&'static str>,
    /// When the provider said that it goes on.
    pub reset_at: Option<String>,
    /// What it used.
    pub usage: UsageRow,
    /// The agent's own session.
    pub session: Option<String>,
    /// What the agent's program said about its own run.
    #[serde(skip_serializing_if = "ProgramReport::is_nothing")]
    pub program: ProgramReport,
    /// Who worked, where several agents are enabled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// With which model, where one was chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// An order that has its answer.
struct EndedOrder {
    id: OrderId,
    order: Order,
}

/// What ended and is judged by the next fact.
#[derive(Debug, Clone)]
enum Unjudged {
    Attempt { id: OrderId, report: Box<AgentReport> },
    Gate { point: GatePoint, duration_ms: u64 },
}

impl History {
    /// An empty history.
    #[must_use]
    pub fn new() -> Self {
        Self {
            version: JSON_VERSION,
            id: String::new(),
            end: None,
            iterations: Vec::new(),
            baseline: None,
            not_by_the_agent: None,
            names_not_by_the_agent: Vec::new(),
            rollbacks: Vec::new(),
            recovery: Vec::new(),
            restored: Vec::new(),
            state: RunState::default(),
            spent_ms: 0,
            used: Usage::default(),
            cancelled: BTreeMap::new(),
            ended: None,
        }
    }

    /// Takes one line of the journal in.
    pub fn apply(&mut self, entry: &Entry) {
        let answered = match &entry.fact {
            Fact::Happened(input) => match &input.event {
                Event::Answered { order, answer } => {
                    let open = self.state.orders.get(*order);
                    open.map(|open| (EndedOrder { id: *order, order: open.order.clone() }, answer))
                }
                Event::Created(spec) => {
                    self.id = spec.id.to_string();
                    None
                }
                Event::Opened | Event::Reopened { .. } | Event::OpenedForRequest { .. } => {
                    self.end_attempt(AttemptOutcome::Interrupted, None);
                    None
                }
                Event::Requested { .. } | Event::Noticed(_) | Event::Around(_) | Event::DeadlinePassed => None,
            },
            Fact::Ordered { order: Order::RunAgent { iteration, attempt, .. }, .. } => {
                self.begin_attempt(*iteration, *attempt, entry);
                None
            }
            // An agent that waits by itself is not stopped by somebody else.
            Fact::OrderCancelled { id, cause } if *cause != CancelCause::Retrying => {
                self.cancelled.entry(*id).or_insert(*cause);
                None
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => None,
        };
        self.restored.extend(RestoredRow::of(entry, &self.state));
        self.state.apply(&entry.fact);
        self.end = end_words(&self.state);
        if let Fact::Decided(decision) = &entry.fact {
            self.decided(decision, entry.at.wall_ms);
        }
        if let Some((ended, answer)) = answered {
            self.answered(ended, answer);
        }
    }

    /// No driver is at work: what looks as if it ran was cut off.
    pub fn settle(&mut self) {
        if self.state.over.is_none() {
            self.end_attempt(AttemptOutcome::Interrupted, None);
            if let Some(row) = self.iterations.last_mut().filter(|row| row.outcome == IterationOutcome::Running) {
                row.outcome = IterationOutcome::Interrupted;
            }
        }
    }

    /// Whether the run has an end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state.over.is_some()
    }

    /// Whether the score says what progress is.
    #[must_use]
    pub fn uses_score(&self) -> bool {
        super::score::decides(&self.state)
    }

    /// Whether the last iteration passed only with protected files that the agent changed, which does not count.
    #[must_use]
    pub fn is_pass_not_counted(&self) -> bool {
        let passed = self.iterations.last().is_some_and(|row| row.outcome == IterationOutcome::Pass);
        passed && self.state.guard.stands_tampered()
    }

    fn begin_attempt(&mut self, iteration: u32, attempt: u32, entry: &Entry) {
        if self.iterations.last().is_none_or(|last| last.iteration != iteration) {
            self.spent_ms = 0;
            self.used = Usage::default();
            self.iterations.push(IterationRow {
                iteration,
                checkpoint: None,
                before: self.state.checkpoints.newest().map(str::to_owned),
                not_by_the_agent: None,
                names_not_by_the_agent: Vec::new(),
                promise: None,
                gates: Vec::new(),
                tests: None,
                duration_seconds: None,
                changes: None,
                agent: self.state.agent_name().to_owned(),
                outcome: IterationOutcome::Running,
                failure: None,
                reset_at: None,
                usage: UsageRow::default(),
                session: None,
                claimed: None,
                markers: Vec::new(),
                progress: None,
                score: None,
                denials: 0,
                malformed_lines: 0,
                attempts: Vec::new(),
            });
        }
        let before = self.state.checkpoints.before().map(str::to_owned);
        let (agent, rule) = (self.state.agent_name().to_owned(), self.state.agent.rule().map(str::to_owned));
        let model = self.state.model_chosen().map(str::to_owned);
        let several = rule.is_some() || !self.state.settings.shown().values.router.agents.0.is_empty();
        if let Some(row) = self.iterations.last_mut() {
            row.outcome = IterationOutcome::Running;
            if attempt > 1 {
                row.before = before;
            }
            row.promise = None;
            row.gates.clear();
            row.tests = None;
            row.duration_seconds = None;
            row.attempts.push(AttemptRow {
                attempt,
                outcome: AttemptOutcome::Running,
                started_at: time::rfc3339(entry.at.wall_ms),
                duration_seconds: None,
                failure: None,
                reset_at: None,
                usage: UsageRow::default(),
                session: None,
                program: ProgramReport::default(),
                agent: several.then(|| agent.clone()),
                model: model.filter(|_| several),
                rule,
            });
            row.agent = agent;
        }
    }

    fn end_attempt(&mut self, outcome: AttemptOutcome, duration_ms: Option<u64>) {
        let Some(row) = self.iterations.last_mut() else { return };
        let open = row.attempts.last_mut().filter(|attempt| attempt.outcome == AttemptOutcome::Running);
        let Some(attempt) = open else { return };
        attempt.outcome = outcome;
        attempt.duration_seconds = duration_ms.map(seconds);
        // Its gates are still to come, unless it was cut off.
        let cut_off = outcome.of_iteration();
        row.outcome = cut_off.unwrap_or(IterationOutcome::Running);
        self.spent_ms += duration_ms.unwrap_or(0);
        row.duration_seconds = (cut_off.is_some() && self.spent_ms > 0).then(|| seconds(self.spent_ms));
    }

    fn answered(&mut self, ended: EndedOrder, answer: &Answer) {
        match (&ended.order, answer) {
            (Order::RunAgent { .. }, Answer::AgentEnded(report)) => {
                self.ended = Some(Unjudged::Attempt { id: ended.id, report: report.clone() });
            }
            (Order::RunAgent { .. }, _) => self.end_attempt(AttemptOutcome::Interrupted, None),
            (Order::Checkpoint { name }, Answer::Checkpoint(saved)) => self.saved(*name, saved),
            (Order::Rollback { .. }, Answer::RolledBack(back)) => self.rollbacks.push(RollbackRow {
                after_iteration: self.state.iteration,
                to: back.to.clone(),
                undo: back.undo.clone(),
                paths: back.paths.clone(),
                at: time::rfc3339(self.state.now.wall_ms),
            }),
            (Order::Measure { .. }, Answer::Measurement(Measurement { changes, .. })) => {
                if let Some(row) = self.iterations.last_mut() {
                    row.changes = *changes;
                }
            }
            (Order::RunGate { point, .. }, Answer::GateEnded(report)) => {
                self.ended = Some(Unjudged::Gate { point: *point, duration_ms: report.duration_ms });
            }
            (_, _) => {}
        }
    }

    fn decided(&mut self, decision: &Decision, wall_ms: u64) {
        match decision {
            Decision::Attempt(judgement) => self.attempt_judged(judgement),
            Decision::Measurement(_) => self.measurement_judged(),
            Decision::Gate(_) => self.gate_judged(),
            Decision::Recovery(decision) => RungRow::record(&mut self.recovery, decision, wall_ms),
            Decision::Round(judgement) => self.round_judged(judgement),
            Decision::OrderDropped { .. }
            | Decision::Interruption { .. }
            | Decision::StatusSkipped
            | Decision::Protect(_)
            | Decision::Guard(_)
            | Decision::Clean(_)
            | Decision::Proof(_)
            | Decision::Alert(_)
            | Decision::BreakerClosed
            | Decision::UrgentWaits { .. }
            | Decision::TextWanted { .. }
            | Decision::Text(_)
            | Decision::Chosen { .. }
            | Decision::AgentOut { .. }
            | Decision::UsedUp { .. } => {}
        }
    }

    fn attempt_judged(&mut self, judgement: &AttemptJudgement) {
        let Some(Unjudged::Attempt { id, report }) = self.ended.take() else { return };
        let cancelled = self.cancelled.get(&id).copied();
        self.record_stream(&report, cancelled.is_some());
        let limited = matches!(
            judgement.result,
            AttemptResult::Limited | AttemptResult::SessionLost | AttemptResult::AgentUnable
        );
        let outcome = if limited { AttemptOutcome::Limited } else { attempt_outcome(&report, cancelled) };
        self.end_attempt(outcome, Some(report.duration_ms));
    }

    fn measurement_judged(&mut self) {
        let failure = self.state.agent.failure().map(Failure::word);
        if let Some(row) = self.iterations.last_mut() {
            // Refused calls are a failure only where nothing came of the iteration, which is known now.
            row.failure = failure;
        }
        self.over_without_a_gate();
    }

    fn round_judged(&mut self, judgement: &RoundJudgement) {
        if let (Some(row), Some(iteration)) = (self.iterations.last_mut(), &judgement.iteration) {
            row.progress = iteration.score.map(|_| iteration.progress);
            row.score = iteration.score.map(ScoreView::of);
        }
    }

    fn gate_judged(&mut self) {
        if let Some(Unjudged::Gate { point, duration_ms }) = self.ended.take() {
            self.gate_ended(point, duration_ms);
        }
    }

    /// What the stream of an attempt said.
    fn record_stream(&mut self, report: &AgentReport, cancelled: bool) {
        let stream = &report.stream;
        self.used = self.used.plus(stream.usage);
        let (used, agent_ended, failure) = (self.used, self.state.agent_ended(), self.state.agent.failure());
        let Some(row) = self.iterations.last_mut() else { return };
        let reset_at = stream.reset.map(|reset| time::rfc3339(reset.at_ms));
        row.usage = UsageRow::of(used);
        row.session = stream.session.clone().or(row.session.take());
        if let Some(attempt) = row.attempts.last_mut() {
            let own = stream.failure.filter(|_| !cancelled);
            attempt.failure = own.or(failure.filter(|_| agent_ended)).map(Failure::word);
            attempt.reset_at = reset_at.clone();
            attempt.usage = UsageRow::of(stream.usage);
            attempt.session = stream.session.clone();
            attempt.program = stream.program.clone();
        }
        if agent_ended {
            row.failure = failure.map(Failure::word);
            row.reset_at = reset_at;
            row.claimed = stream.claimed.clone();
            row.markers = stream.progress.clone();
            row.denials = stream.denials.count;
            row.malformed_lines = stream.malformed_lines;
        }
    }

    fn saved(&mut self, name: CheckpointName, saved: &CheckpointReport) {
        let Some(row) = self.iterations.last_mut() else {
            if saved.changes.is_some() {
                self.not_by_the_agent = saved.changes;
                self.names_not_by_the_agent.clone_from(&saved.names);
            }
            return;
        };
        match name {
            CheckpointName::Initial => {}
            CheckpointName::Iteration(_) | CheckpointName::Interrupted(..) => {
                row.checkpoint.clone_from(&saved.checkpoint);
            }
            CheckpointName::BetweenIterations(_) => {
                row.not_by_the_agent = saved.changes;
                row.names_not_by_the_agent.clone_from(&saved.names);
            }
        }
    }

    /// Without a gate an iteration is over when it was measured.
    fn over_without_a_gate(&mut self) {
        let gated = self.state.gated();
        let open = self.iterations.last_mut().filter(|row| !gated && row.outcome == IterationOutcome::Running);
        let Some(row) = open else { return };
        let last = row.attempts.last().and_then(|attempt| attempt.outcome.of_failed_iteration());
        row.outcome = last.unwrap_or(IterationOutcome::Ended);
        row.duration_seconds = Some(seconds(self.spent_ms));
    }

    fn gate_ended(&mut self, point: GatePoint, duration_ms: u64) {
        let answers: Vec<_> = self.state.gates.required().filter_map(|gate| gate.last()).collect();
        let here = answers.iter().filter(|last| last.point == point);
        let worst = here.map(|last| last.verdict).max_by_key(|verdict| match verdict {
            Verdict::Pass => 0,
            Verdict::Unverifiable => 1,
            Verdict::Fail => 2,
        });
        let Some(verdict) = worst else { return };
        if let GatePoint::Reopened(_) | GatePoint::RolledBack(_) = point {
            return; // Not the agent's doing: what the iteration itself left was judged before.
        }
        if point == GatePoint::Baseline {
            let exit_code = answers.first().and_then(|last| exit_code(&last.report.ended));
            self.baseline = Some(Baseline { promise: verdict, exit_code, duration_seconds: seconds(duration_ms) });
            return;
        }
        let said = self.state.gates.iter().filter_map(|gate| {
            let last = gate.last().filter(|last| last.point == point)?;
            let name = gate.spec().name.clone();
            Some(GateVerdict { name, required: gate.is_required(), verdict: last.verdict })
        });
        let (gates, tests) = (said.collect(), tests(&self.state, point));
        let Some(row) = self.iterations.last_mut() else { return };
        row.gates = gates;
        row.tests = tests;
        row.promise = Some(verdict);
        self.spent_ms = self.spent_ms.saturating_add(duration_ms);
        row.duration_seconds = Some(seconds(self.spent_ms));
        let last = row.attempts.last().and_then(|attempt| attempt.outcome.of_failed_iteration());
        row.outcome = match verdict {
            Verdict::Pass => IterationOutcome::Pass,
            Verdict::Fail => last.unwrap_or(IterationOutcome::Fail),
            Verdict::Unverifiable => last.unwrap_or(IterationOutcome::Unverifiable),
        };
    }
}

/// The tests that the required gates ran at this point, together.
fn tests(state: &RunState, point: GatePoint) -> Option<TestCounts> {
    let last = state.gates.required().filter_map(|gate| gate.last().filter(|last| last.point == point));
    last.filter_map(|last| last.report.tests.as_ref()).fold(None, |sum: Option<TestCounts>, seen| {
        let sum = sum.unwrap_or_default();
        Some(TestCounts {
            passed: sum.passed + seen.passed,
            failed: sum.failed + seen.failed,
            skipped: sum.skipped + seen.skipped,
        })
    })
}

impl Default for History {
    fn default() -> Self {
        Self::new()
    }
}

fn attempt_outcome(report: &AgentReport, cancelled: Option<CancelCause>) -> AttemptOutcome {
    match (&report.ended, cancelled) {
        (
            Ended::ByUs,
            Some(CancelCause::Timeout | CancelCause::Silent | CancelCause::TimeLimit | CancelCause::TimeUp),
        ) => AttemptOutcome::TimedOut,
        (Ended::ByUs, Some(CancelCause::Abort)) => AttemptOutcome::Cancelled,
        (Ended::ByUs, Some(CancelCause::Request | CancelCause::Rollback | CancelCause::Urgent)) => {
            AttemptOutcome::Interrupted
        }
        // It would only have waited by itself.
        (Ended::ByUs, Some(CancelCause::Retrying) | None) => AttemptOutcome::AgentFailed,
        (Ended::Exit(0), _) if report.failed() => AttemptOutcome::AgentFailed,
        (Ended::Exit(0), _) => AttemptOutcome::Ended,
        (Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_), _) => AttemptOutcome::AgentFailed,
    }
}

pub(super) fn exit_code(ended: &Ended) -> Option<i32> {
    match ended {
        Ended::Exit(code) => Some(*code),
        Ended::Signal(_) | Ended::ByUs | Ended::NotStarted(_) => None,
    }
}
