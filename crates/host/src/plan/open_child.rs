//! A child process of a plan: what it is for, and what its end means.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_core::ended::Ended;
use loop_core::ids::{OrderId, RunId};
use loop_core::plan::{CopyReport, FailedGate, GatesReport, MeasureReport, NodeId, PlanAnswer};
use loop_core::policy::gate::Verdict;
use loop_core::policy::rank::Rank;
use loop_core::run::{PlanRef, Run, RunState};
use loop_core::text;
use loop_core::time;

use super::child::{ChildLine, GateSaidAgain};
use super::child_process::ChildProcess;
use super::ports::PortRange;
use crate::journal::Tail;

/// A process that was asked to end at once and has not is killed after this.
const END_WITHIN: Duration = Duration::from_secs(60);
/// So many gates that fail are named.
const GATES_NAMED_MAX: usize = 8;

/// A child process and what it is for.
#[derive(Debug)]
pub(super) struct OpenChild {
    pub(super) id: OrderId,
    pub(super) process: ChildProcess,
    pub(super) work: OpenWork,
    /// When it is killed, since it was asked to end at once.
    pub(super) kill_at: Option<Instant>,
    pub(super) cancelled: bool,
    /// The ports that it has, where the workflow asks for them.
    pub(super) _ports: Option<PortRange>,
}

#[derive(Debug)]
pub(super) enum OpenWork {
    Run(Box<OpenRun>),
    /// What was measured already.
    Metric(MeasureReport),
    /// The copy that was made for them.
    Gates(Option<String>),
    Hook,
    /// The checks of an item.
    Checks,
    /// The copy in which dependencies are installed, and when that began.
    Setup(CopyReport, Instant),
}

/// The run of an order.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) of: PlanRef,
    pub(super) id: Option<RunId>,
    pub(super) follows: Option<(Tail<Run>, RunState)>,
    /// How good the state was before the first iteration.
    pub(super) first: Option<Rank>,
    /// How good the best state after an iteration is.
    pub(super) best: Option<Rank>,
    pub(super) iterations: u32,
    pub(super) log: PathBuf,
    /// Whether its limit of money is its share of the plan's budget.
    pub(super) share_limits: bool,
}

impl OpenChild {
    /// Asks it to end at once; killed where it does not.
    pub(super) fn abort(&mut self) {
        self.cancelled = true;
        self.process.abort();
        self.kill_at.get_or_insert(Instant::now() + END_WITHIN);
    }

    /// What a child that was not a run came to.
    pub(super) fn said(&self) -> PlanAnswer {
        let why = match self.process.line() {
            Some(line @ (ChildLine::Number(_) | ChildLine::NoNumber(_))) => {
                if let OpenWork::Metric(measured) = &self.work {
                    return PlanAnswer::Measured(metric(line, measured));
                }
                "a bug of loop: a number was not asked for".to_owned()
            }
            Some(ChildLine::Ended { ended, says }) => {
                return match &self.work {
                    OpenWork::Setup(report, since) => set_up(report, ended, says, since.elapsed()),
                    OpenWork::Run(_) | OpenWork::Metric(_) | OpenWork::Gates(_) | OpenWork::Checks | OpenWork::Hook => {
                        PlanAnswer::HookEnded { ended: ended.clone(), says: says.clone() }
                    }
                };
            }
            Some(ChildLine::Gates(said)) => return PlanAnswer::Gates(gates_report(said)),
            Some(ChildLine::Checked(checked)) => return PlanAnswer::Checked(checked.clone()),
            Some(ChildLine::Failed(_)) if self.cancelled => return PlanAnswer::Cancelled,
            Some(ChildLine::Failed(why)) => why.clone(),
            Some(ChildLine::Refused(refusal)) => refusal.sentence(),
            Some(ChildLine::Run(_)) | None if self.cancelled => return PlanAnswer::Cancelled,
            Some(ChildLine::Run(_)) | None => "its process ended without a result".to_owned(),
        };
        PlanAnswer::Failed { why: text::one_line(&why, 1000) }
    }
}

/// What the command that installs dependencies means for its copy.
fn set_up(report: &CopyReport, ended: &Ended, says: &str, took: Duration) -> PlanAnswer {
    if *ended == Ended::Exit(0) {
        let mut report = report.clone();
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        report.remarks.push(format!("the setup command ended well ({})", time::spaced(took_ms)));
        return PlanAnswer::Copied(report);
    }
    let why = format!("the setup command failed in the copy ({}): {says}", ended.brief());
    PlanAnswer::Failed { why: text::one_line(&why, 1000) }
}

/// What was measured, with what the command of the metric said.
fn metric(line: &ChildLine, measured: &MeasureReport) -> MeasureReport {
    let (metric_micros, metric_trouble) = match line {
        ChildLine::Number(number) => match micros(*number) {
            Some(micros) => (Some(micros), None),
            None => (None, Some(format!("the number of the metric is too large: {number}"))),
        },
        ChildLine::NoNumber(why) => (None, Some(why.clone())),
        ChildLine::Run(_)
        | ChildLine::Refused(_)
        | ChildLine::Gates(_)
        | ChildLine::Checked(_)
        | ChildLine::Ended { .. }
        | ChildLine::Failed(_) => (None, None),
    };
    MeasureReport { metric_micros, metric_trouble, ..measured.clone() }
}

/// A number in millionths, as a fact has it.
#[expect(clippy::cast_possible_truncation, reason = "it is within the bounds of the type")]
fn micros(number: f64) -> Option<i64> {
    let micros = (number * 1_000_000.0).round();
    // Beyond 2^53 not every number is exact, and no metric counts that far.
    (micros.abs() < 9_007_199_254_740_992.0).then_some(micros as i64)
}

fn gates_report(said: &[GateSaidAgain]) -> GatesReport {
    let required = || said.iter().filter(|gate| !gate.watch);
    let fails = || required().filter(|gate| gate.verdict != Verdict::Pass);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let named = fails().filter_map(|gate| {
        let node = NodeId::parse(&gate.node).ok()?;
        Some(FailedGate { node, gate: gate.name.clone(), verdict: gate.verdict, says: gate.said.clone() })
    });
    let not_passed = count(fails().count());
    let passed = count(required().count()).saturating_sub(not_passed);
    GatesReport { passed, not_passed, first: named.take(GATES_NAMED_MAX).collect() }
}
