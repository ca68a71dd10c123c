//! The branches of a run that is stuck, seen from the run: a child process drives them as a plan, and what came of them is
//! read from the journals. The plan applies nothing; the run uses the best branch itself.
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use loop_core::ids::{OrderId, ProcessId, RunId};
use loop_core::plan::{EndedEarly, NodeEnd, NodeState, NotStarted, Plan, PlanOutcome, PlanState, RecoveredRun};
use loop_core::run::{
    Answer, BestBranch, BranchPlan, BranchesLack, BranchesReport, BranchesSpent, Outcome, ReasonCode, RunState,
};
use loop_core::text;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

use crate::checkpoint::{CheckpointContext, Store};
use crate::journal;
use crate::paths::Home;
use crate::process::{identity, tail_of};
use crate::run_folder::{RunFolder, all_in};

/// The word that makes this program a child of a plan.
pub(crate) const CHILD: &str = "__plan";
/// How much of the log of the process is said.
const LOG_BYTES_MAX: u64 = 400;

/// A process that was asked to end at once and has not is killed after this.
const END_WITHIN: Duration = Duration::from_secs(60);

/// What the child process is started for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecoveryRequest {
    /// The run that is stuck, and its rung.
    pub(crate) recovers: RecoveredRun,
    /// What is tried.
    pub(crate) branches: Vec<BranchPlan>,
    /// What all branches together may cost, in millionths of a dollar.
    pub(crate) budget_micros: Option<u64>,
    /// What one call may cost.
    pub(crate) call_micros: u64,
    /// So long the run may still work.
    pub(crate) time_ms: Option<u64>,
}

/// The branches of a run that are under way, seen from the run.
#[derive(Debug)]
pub(crate) struct OpenBranches {
    pub(crate) id: OrderId,
    child: Child,
    handle: OwnedFd,
    process: ProcessId,
    log: PathBuf,
    recovers: RecoveredRun,
    context: CheckpointContext,
    home: Home,
    kill_at: Option<Instant>,
}

impl OpenBranches {
    /// Starts the process that drives them.
    ///
    /// # Errors
    /// When it cannot be started.
    pub(crate) fn start(
        id: OrderId,
        rung: u32,
        branches: &[BranchPlan],
        run: &RunFolder,
        state: &RunState,
    ) -> io::Result<Self> {
        let home = home_of(run)?;
        let spec = state.spec.as_ref().ok_or_else(|| io::Error::other("the loop has no first fact"))?;
        let settings = state.settings.shown();
        let used = state.active_ms(state.now);
        let request = RecoveryRequest {
            recovers: RecoveredRun { run: run.id.clone(), rung },
            branches: branches.to_vec(),
            budget_micros: state.budget_micros(settings),
            call_micros: state.worst_micros(settings),
            time_ms: settings.values.limits.max_time_ms().map(|most| most.saturating_sub(used)),
        };
        let recovers = request.recovers.clone();
        let log = run.path.join("branches").join(format!("{rung}.log"));
        let (child, handle) = spawn(&request, &log)?;
        let pid = Pid::from_child(&child).as_raw_nonzero().get();
        let process = identity(pid).unwrap_or(ProcessId { pid, start_ticks: 0 });
        Ok(Self { id, child, handle, process, log, recovers, context: run.checkpoints(spec), home, kill_at: None })
    }

    pub(crate) fn process(&self) -> ProcessId {
        self.process
    }

    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        std::iter::once(self.handle.as_fd())
    }

    pub(crate) fn wakes_in(&self, now: Instant) -> Option<Duration> {
        self.kill_at.map(|at| at.saturating_duration_since(now))
    }

    /// The iterations under way come to their end, and no other one begins.
    pub(crate) fn stop(&self) {
        pidfd_send_signal(&self.handle, Signal::INT).ok();
    }

    /// Ends all branches at once; the answer still comes.
    pub(crate) fn cancel(&mut self) {
        pidfd_send_signal(&self.handle, Signal::TERM).ok();
        self.kill_at.get_or_insert(Instant::now() + END_WITHIN);
    }

    pub(crate) fn kill(&mut self) {
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }

    pub(crate) fn freeze(&self, frozen: bool) {
        pidfd_send_signal(&self.handle, if frozen { Signal::TSTP } else { Signal::CONT }).ok();
    }

    /// The answer, when its process has ended.
    pub(crate) fn poll(&mut self, now: Instant) -> Option<Answer> {
        if self.child.try_wait().ok().flatten().is_none() {
            if self.kill_at.is_some_and(|at| now >= at) {
                self.kill();
            }
            return None;
        }
        let report = self
            .report()
            .unwrap_or_else(|error| BranchesReport { trouble: Some(error.to_string()), ..BranchesReport::default() });
        let said = report.trouble.as_ref().map(|_| tail_of(&self.log, LOG_BYTES_MAX));
        let said = said.map(|said| text::one_line(&text::clean(&said), 300)).filter(|said| !said.is_empty());
        let trouble = report.trouble.as_ref().map(|why| text::one_line(why, 500));
        let trouble = trouble.map(|why| said.map_or(why.clone(), |said| format!("{why}: {said}")));
        Some(Answer::Branches(Box::new(BranchesReport { trouble, ..report })))
    }

    /// What came of it, read from the journals of the plan and of its runs. The best state becomes a checkpoint of the
    /// run that was stuck.
    fn report(&self) -> io::Result<BranchesReport> {
        let Some((folder, state)) = plan_of(&self.home, &self.recovers)? else {
            return Ok(BranchesReport {
                trouble: Some("no branch was started".to_owned()),
                ..BranchesReport::default()
            });
        };
        let mut report = BranchesReport { plan: Some(folder.id), ..BranchesReport::default() };
        for node in &state.nodes {
            let Some(run) = &node.run else { continue };
            let run = journal::read(&self.home.runs().join(run.as_str())).map_err(io::Error::other)?.fold();
            report.iterations = report.iterations.saturating_add(run.iterations_done());
            add(&mut report.spent, &run);
            report.out_of = report.out_of.or(run.over.as_ref().and_then(|over| lack(over.reason.code)));
        }
        let no_money = |end: &NodeEnd| {
            matches!(end, NodeEnd::NotStarted(NotStarted::Budget) | NodeEnd::EndedEarly(EndedEarly::Budget))
        };
        if state.nodes.iter().filter_map(NodeState::end).any(no_money) {
            report.out_of = Some(BranchesLack::Money);
        }
        let over = state.over.as_ref();
        if over.is_none_or(|over| over.outcome != PlanOutcome::Ranked) {
            let why = over.map_or("the branches were cut off".to_owned(), |over| over.reason.text.clone());
            report.trouble = Some(why);
            report.unfinished = state.resumable() || over.is_none();
        }
        let best = state.ranking.as_ref().and_then(|ranking| ranking.rows.first());
        let node = best.and_then(|row| state.nodes.iter().find(|node| node.id().as_str() == row.name));
        report.best = node.map(|node| self.take_over(node)).transpose()?.flatten();
        Ok(report)
    }

    fn take_over(&self, node: &NodeState) -> io::Result<Option<BestBranch>> {
        let Some(result) = &node.result else { return Ok(None) };
        let Some(checkpoint) = &result.checkpoint else { return Ok(None) };
        let name = format!("branches-{}", self.recovers.rung);
        let mut store = Store::open(&self.context.store)?;
        let id = store.named(&format!("{}/{checkpoint}", result.run))?;
        store.name_again(&id, &format!("{}/{name}", self.recovers.run))?;
        Ok(Some(BestBranch {
            name: node.id().to_string(),
            run: result.run.clone(),
            passes: matches!(result.outcome, Outcome::Verified | Outcome::Accepted),
            rank: result.rank,
            score: self.best_score(&result.run),
            checkpoint: name,
        }))
    }
}

impl OpenBranches {
    /// The highest score among the last iterations of a branch, in ten-thousandths. Its first iteration does not count: there
    /// is no output before it to compare with, so that it would count as new whatever it is.
    fn best_score(&self, run: &RunId) -> Option<u32> {
        let state = journal::read(&self.home.runs().join(run.as_str())).ok()?.fold();
        let compared = state.progress.scores().iter().filter(|scored| scored.iteration > 1);
        compared.map(|scored| scored.score.total).max()
    }
}

/// Which limit of the run ended a branch.
fn lack(code: ReasonCode) -> Option<BranchesLack> {
    let lacks = [(ReasonCode::BudgetLimit, BranchesLack::Money), (ReasonCode::TimeLimit, BranchesLack::Time)];
    lacks.into_iter().find(|(reason, _)| *reason == code).map(|(_, lack)| lack)
}

fn add(sum: &mut BranchesSpent, run: &RunState) {
    let spent = run.budget.spent();
    sum.usage = sum.usage.plus(spent.usage);
    sum.calls = sum.calls.saturating_add(spent.calls);
    sum.cost_untold = sum.cost_untold.saturating_add(spent.cost_untold);
    sum.tokens_untold = sum.tokens_untold.saturating_add(spent.tokens_untold);
    // As the branch itself counts them: its settings say what a call of the run may cost.
    let settings = run.settings.shown();
    if settings.caps.cost_micros.is_some() {
        let assumed = run.cost_micros(settings).saturating_sub(spent.usage.cost_micros.unwrap_or(0));
        sum.assumed_micros = Some(sum.assumed_micros.unwrap_or(0).saturating_add(assumed));
    }
}

/// What the child reads: the same form that plans give to their own children.
#[derive(Serialize)]
struct RecoveryChild<'a> {
    parent: i32,
    work: RecoveryWork<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum RecoveryWork<'a> {
    Recover(&'a RecoveryRequest),
}

/// Starts the process. It dies with this one.
fn spawn(request: &RecoveryRequest, log: &Path) -> io::Result<(Child, OwnedFd)> {
    if let Some(folder) = log.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
    let parent = getpid().as_raw_nonzero().get();
    let text = serde_json::to_vec(&RecoveryChild { parent, work: RecoveryWork::Recover(request) })?;
    let mut command = Command::new("/proc/self/exe");
    let mut child = command.arg(CHILD).stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log).spawn()?;
    let handle = pidfd_open(Pid::from_child(&child), PidfdFlags::NONBLOCK)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A child that died at once is seen by its handle.
        stdin.write_all(&text).ok();
    }
    Ok((child, handle))
}

impl Drop for OpenBranches {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.kill();
            self.child.wait().ok();
        }
    }
}

/// The state folder that a run lies in.
fn home_of(run: &RunFolder) -> io::Result<Home> {
    let home = Home::find(|name| std::env::var_os(name)).map_err(io::Error::other)?;
    let is_here = run.path.parent() == Some(home.runs().as_path());
    if is_here { Ok(home) } else { Err(io::Error::other("the loop is not in the state folder of this process")) }
}

/// The plan of a rung, where it was made before.
pub(crate) fn plan_of(home: &Home, recovers: &RecoveredRun) -> io::Result<Option<(RunFolder, PlanState)>> {
    if !home.plans().is_dir() {
        return Ok(None);
    }
    for folder in all_in(&home.plans()).map_err(io::Error::other)? {
        let Ok(state) = journal::read_of::<Plan>(&folder.path).map(|reading| reading.fold()) else { continue };
        if state.spec.as_ref().is_some_and(|spec| spec.recovers.as_ref() == Some(recovers)) {
            return Ok(Some((folder, state)));
        }
    }
    Ok(None)
}
