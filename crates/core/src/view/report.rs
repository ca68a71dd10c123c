//! One run as a page to read: what was asked, how it ended, and what each iteration did, waited for and cost.
use serde::Serialize;

use super::certificate::TestCounts;
use super::history::{History, IterationOutcome, RollbackRow};
use super::plan::PlanView;
use super::qualification::end_words;
use super::restored::RestoredRow;
use super::result::{GateResult, RunResult};
use super::row::{Liveness, Row};
use super::{Certificate, JSON_VERSION, seconds};
use crate::changes::Changes;
use crate::policy::gate::Verdict;
use crate::run::{Answer, Decision, Entry, Event, Fact, GatePoint, HoldCause, Order, Outcome, RunState, Status};
use crate::time::{self, At};

/// A shorter wait is not worth a line.
const WAIT_MS_MIN: u64 = 1000;

/// The answer of `loop report ID --format json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// The version of this form.
    pub version: u32,
    /// The run, as lists show it.
    pub run: Row,
    /// The whole task.
    pub task: String,
    /// How it ended, with what qualifies it; null before its end.
    pub end: Option<String>,
    /// What each gate said last.
    pub gates: Vec<GateResult>,
    /// The proof; null where it is not done.
    pub certificate: Option<Certificate>,
    /// The tests before iteration 1; null where the output of the gates names none.
    pub tests_before: Option<TestCounts>,
    /// The iterations from 1 on.
    pub iterations: Vec<ReportedIteration>,
    /// Waits of a second and more: for a provider, a limit or a person.
    pub waits: Vec<ReportedWait>,
    /// Protected files that were changed and restored.
    pub restored: Vec<RestoredRow>,
    /// The rollbacks.
    pub rollbacks: Vec<RollbackRow>,
    /// What the whole run changed; null where that is not known.
    pub changes: Option<Changes>,
    /// The commands that a person may want next, the most likely one first.
    pub next: Vec<NextStep>,
}

/// One iteration of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedIteration {
    /// Its number, from 1.
    pub iteration: u32,
    /// What became of it.
    pub outcome: IterationOutcome,
    /// Who worked.
    pub agent: String,
    /// How many attempts it had.
    pub attempts: u32,
    /// The last of them.
    #[serde(skip)]
    pub last_attempt: u32,
    /// Why its agent could not work; null where it could.
    pub failure: Option<&'static str>,
    /// How long agent and gates worked on it.
    pub duration_seconds: Option<f64>,
    /// What it cost in dollars, where known.
    pub cost_usd: Option<f64>,
    /// How many tokens it used, where known.
    pub tokens: Option<u64>,
    /// The tests before it and after it; null where the output of the gates names none.
    pub tests_before: Option<TestCounts>,
    /// The same after it.
    pub tests_after: Option<TestCounts>,
    /// How much it changed.
    pub changes: Option<Changes>,
    /// Which files, a bounded number.
    pub files: Vec<String>,
    /// The last line that the agent wrote; null where it wrote none.
    pub said: Option<String>,
}

/// One wait.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReportedWait {
    /// Since when.
    pub at: String,
    /// In which iteration.
    pub iteration: u32,
    /// What for.
    pub cause: HoldCause,
    /// How long; null while it lasts, or where the process was gone before its end.
    pub seconds: Option<f64>,
}

/// A command that a person may want next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NextStep {
    /// What it does, in a word.
    pub name: String,
    /// The command.
    pub command: String,
    /// What is to be known before it is typed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<String>,
}

/// What a run needs of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Attention {
    /// It can continue only when a person has done something.
    NeedsYou,
    /// It runs or waits by itself.
    Running,
    /// It is done.
    Done,
    /// A person ended it.
    Ended,
}

impl RunReport {
    /// What it needs of a person.
    #[must_use]
    pub fn attention(&self) -> Attention {
        match self.run.status {
            Status::Running | Status::Waiting => Attention::Running,
            Status::Paused | Status::Failed | Status::Crashed => Attention::NeedsYou,
            Status::Cancelled => Attention::Ended,
            Status::Completed => match self.run.outcome {
                Some(Outcome::PassedBut) => Attention::NeedsYou,
                _ => Attention::Done,
            },
        }
    }

    /// The gates that do not pass.
    pub fn red(&self) -> impl Iterator<Item = &GateResult> {
        self.gates.iter().filter(|gate| gate.verdict.is_some_and(|verdict| verdict != Verdict::Pass))
    }
}

/// The answer of `loop report --format json`: the runs of a period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PeriodReport {
    /// The version of this form.
    pub version: u32,
    /// Runs that were at work since then.
    pub since: String,
    /// When it was written.
    pub at: String,
    /// What all of them cost in dollars, as far as they told.
    pub cost_usd: f64,
    /// How many tokens they used, as far as they told.
    pub tokens: u64,
    /// How many of them told no cost.
    pub without_cost: u32,
    /// The runs: those that need a person first, then those that run, then those that are done; the newest first.
    pub loops: Vec<RunReport>,
    /// Plans that were at work: several runs for one goal. Their runs are among the runs, and name their plan.
    pub plans: Vec<PlanView>,
}

impl PeriodReport {
    /// The report of these runs.
    #[must_use]
    pub fn new(since_ms: u64, at: At, mut loops: Vec<RunReport>, mut plans: Vec<PlanView>) -> Self {
        // The branches of a stuck loop are a part of that loop, and so is their cost.
        let of_stuck: Vec<String> =
            plans.iter().filter(|plan| plan.recovers.is_some()).map(|plan| plan.id.clone()).collect();
        loops.retain(|report| report.run.plan.as_ref().is_none_or(|plan| !of_stuck.contains(plan)));
        plans.retain(|plan| plan.recovers.is_none());
        plans.sort_by(|one, other| other.updated_at.cmp(&one.updated_at));
        loops.sort_by(|one, other| other.run.updated_at.cmp(&one.run.updated_at));
        loops.sort_by_key(RunReport::attention);
        let without_cost = loops.iter().filter(|report| report.run.cost_usd.is_none()).count();
        Self {
            version: JSON_VERSION,
            since: time::rfc3339(since_ms),
            at: time::rfc3339(at.wall_ms),
            cost_usd: loops.iter().filter_map(|report| report.run.cost_usd).fold(0.0, |sum, cost| sum + cost),
            tokens: loops.iter().filter_map(|report| report.run.tokens).sum(),
            without_cost: u32::try_from(without_cost).unwrap_or(u32::MAX),
            loops,
            plans,
        }
    }

    /// The runs that stand alone. What a run of a plan needs of a person, its plan says.
    pub fn alone(&self) -> impl Iterator<Item = &RunReport> {
        let is_in_plan = |id: &String| self.plans.iter().any(|plan| plan.id == *id);
        self.loops.iter().filter(move |report| !report.run.plan.as_ref().is_some_and(is_in_plan))
    }
}

impl Attention {
    /// What a plan needs of a person.
    #[must_use]
    pub fn of_plan(plan: &PlanView) -> Self {
        match plan.status {
            Status::Running | Status::Waiting => Self::Running,
            Status::Completed => Self::Done,
            Status::Cancelled => Self::Ended,
            Status::Paused | Status::Failed | Status::Crashed => Self::NeedsYou,
        }
    }
}

/// A wait that has not ended.
#[derive(Debug, Clone, Copy)]
struct OpenWait {
    since: At,
    cause: HoldCause,
}

/// Reads a report off the journal.
#[derive(Debug, Clone, Default)]
pub struct ReportFold {
    history: History,
    state: RunState,
    /// The tests after the newest round of gates.
    tests: Option<TestCounts>,
    tests_before: Option<TestCounts>,
    details: Vec<IterationDetail>,
    waits: Vec<ReportedWait>,
    open: Option<OpenWait>,
}

/// What the history does not have of an iteration.
#[derive(Debug, Clone, Default)]
struct IterationDetail {
    iteration: u32,
    before: Option<TestCounts>,
    after: Option<TestCounts>,
    files: Vec<String>,
}

impl ReportFold {
    /// Takes one line of the journal in.
    pub fn apply(&mut self, entry: &Entry) {
        self.note_wait(entry);
        match &entry.fact {
            Fact::Ordered { order: Order::RunAgent { iteration, .. }, .. } => self.begin(*iteration),
            Fact::Happened(input) => {
                if let Event::Answered { answer: Answer::Measurement(measured), .. } = &input.event
                    && let Some(detail) = self.details.last_mut()
                {
                    detail.files.clone_from(&measured.names);
                }
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {}
        }
        self.history.apply(entry);
        self.state.apply(&entry.fact);
        if let Fact::Decided(Decision::Round(round)) = &entry.fact {
            self.round(round.point);
        }
    }

    /// The report, without what only files say. None before the first fact.
    #[must_use]
    pub fn finish(mut self, liveness: Liveness, now: At) -> Option<RunReport> {
        if liveness == Liveness::Free {
            self.history.settle();
        }
        let run = Row::of(&self.state, liveness, now)?;
        if let Some(open) = self.open.take() {
            self.waits.push(self.wait(open, None));
        }
        let result = RunResult::of(&self.state)?;
        let iterations = self.history.iterations.iter().map(|row| {
            let found = self.details.iter().rfind(|detail| detail.iteration == row.iteration);
            let detail = found.cloned().unwrap_or_default();
            let usage = &row.usage;
            ReportedIteration {
                iteration: row.iteration,
                outcome: row.outcome,
                agent: row.agent.clone(),
                attempts: u32::try_from(row.attempts.len()).unwrap_or(u32::MAX),
                last_attempt: row.attempts.last().map_or(1, |attempt| attempt.attempt),
                failure: row.failure,
                duration_seconds: row.duration_seconds,
                cost_usd: usage.cost_usd,
                tokens: usage.tokens(),
                tests_before: detail.before,
                tests_after: detail.after,
                changes: row.changes,
                files: detail.files,
                said: None,
            }
        });
        Some(RunReport {
            version: JSON_VERSION,
            task: run.goal.clone(),
            end: end_words(&self.state),
            gates: result.gates,
            certificate: result.certificate,
            tests_before: self.tests_before,
            iterations: iterations.collect(),
            waits: self.waits,
            restored: self.history.restored.clone(),
            rollbacks: self.history.rollbacks.clone(),
            changes: None,
            next: Vec::new(),
            run,
        })
    }

    /// The state that was read.
    #[must_use]
    pub fn state(&self) -> &RunState {
        &self.state
    }

    fn begin(&mut self, iteration: u32) {
        if self.details.last().is_none_or(|last| last.iteration != iteration) {
            self.details.push(IterationDetail { iteration, before: self.tests, ..IterationDetail::default() });
        }
    }

    fn round(&mut self, point: GatePoint) {
        let tests = self.state.gates.required().filter_map(|gate| gate.last()?.report.tests.as_ref()).fold(
            None,
            |sum: Option<TestCounts>, seen| {
                let sum = sum.unwrap_or_default();
                Some(TestCounts {
                    passed: sum.passed + seen.passed,
                    failed: sum.failed + seen.failed,
                    skipped: sum.skipped + seen.skipped,
                })
            },
        );
        self.tests = tests;
        match point {
            GatePoint::Baseline => self.tests_before = tests,
            GatePoint::Iteration(_) | GatePoint::Interrupted(..) => {
                if let Some(detail) = self.details.last_mut() {
                    detail.after = tests;
                }
            }
            GatePoint::Reopened(_) | GatePoint::RolledBack(_) => {}
        }
    }

    fn note_wait(&mut self, entry: &Entry) {
        if let Fact::Ordered { order: Order::Hold { cause, .. }, .. } = &entry.fact {
            self.open = Some(OpenWait { since: entry.at, cause: *cause });
            return;
        }
        let Fact::Happened(input) = &entry.fact else { return };
        let ended = match &input.event {
            Event::Answered { answer: Answer::Held, .. } => true,
            Event::Opened | Event::Reopened { .. } | Event::OpenedForRequest { .. } => false,
            Event::Answered { .. }
            | Event::Created(_)
            | Event::Requested { .. }
            | Event::Noticed(_)
            | Event::Around(_)
            | Event::DeadlinePassed => return,
        };
        let Some(open) = self.open.take() else { return };
        let ms = entry.at.ms_since(open.since);
        if !ended || ms >= WAIT_MS_MIN {
            self.waits.push(self.wait(open, ended.then_some(ms)));
        }
    }

    fn wait(&self, open: OpenWait, ms: Option<u64>) -> ReportedWait {
        ReportedWait {
            at: time::rfc3339(open.since.wall_ms),
            iteration: self.state.iteration,
            cause: open.cause,
            seconds: ms.map(seconds),
        }
    }
}
