//! Carries out the orders of a plan: one match from an order to the child process or the job that does it. It decides
//! nothing.
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_core::control::{Ask, Call};
use loop_core::ids::{OrderId, RunId};
use loop_core::plan::{
    FailedGate, GatesPlace, GatesReport, HookWhen, MeasureReport, MetricSource, NodeId, Plan, PlanAnswer, PlanEvent,
    PlanNotice, PlanOrder, PlanState,
};
use loop_core::policy::gate::Verdict;
use loop_core::policy::rank::Rank;
use loop_core::run::{Change, PlanRef, Run, RunState};
use loop_core::settings::{Given, Layer, Origin, Settings, keys};
use loop_core::text;
use loop_core::workflow::FAILED_LOOP_VARIABLE;
use sha2::{Digest, Sha256};

use super::child::{ChildLine, ChildWork, CommandRequest, GateSaidAgain, GatesOfNode, GatesRequest};
use super::child_process::ChildProcess;
use super::folder::PlanProcesses;
use super::result::{counted_micros, result_of};
use super::trees::PlanTrees;
use super::worker::{PlanWorker, TreeJob};
use crate::checkpoint::CheckpointContext;
use crate::control;
use crate::driver::Executes;
use crate::fs::hex;
use crate::journal::{self, Tail};
use crate::launch::{LaunchRequest, ResumeRequest};
use crate::paths::{Home, path_of};
use crate::run_folder::RunFolder;

/// How often the journals of runs are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// A process that was asked to end at once and has not is killed after this.
const END_WITHIN: Duration = Duration::from_secs(60);
/// So many gates that fail are named.
const GATES_NAMED_MAX: usize = 8;
/// How much of the log of a child is said.
const LOG_BYTES_MAX: usize = 400;

/// The orders of one plan that are under way.
#[derive(Debug)]
pub(super) struct PlanExecutor {
    home: Home,
    plan: RunFolder,
    context: CheckpointContext,
    worker: PlanWorker,
    /// The plan and its runs: whose checkpoints may hold a tree.
    owners: BTreeSet<String>,
    children: Vec<OpenChild>,
    /// Orders of which the first step is a job of the worker, and a process follows.
    then: Vec<(OrderId, ThenProcess)>,
    /// Questions to a person: they end when they are cancelled.
    questions: Vec<OrderId>,
    /// Events for the next poll.
    ready: Vec<PlanEvent>,
    processes: PlanProcesses,
    looked: Instant,
}

/// A child process and what it is for.
#[derive(Debug)]
struct OpenChild {
    id: OrderId,
    process: ChildProcess,
    work: OpenWork,
    /// When it is killed, since it was asked to end at once.
    kill_at: Option<Instant>,
    cancelled: bool,
}

#[derive(Debug)]
enum OpenWork {
    Run(Box<OpenRun>),
    /// What was measured already.
    Metric(MeasureReport),
    /// The copy that was made for them.
    Gates(Option<String>),
    Hook,
}

/// The run of an order.
#[derive(Debug)]
struct OpenRun {
    of: PlanRef,
    id: Option<RunId>,
    follows: Option<(Tail<Run>, RunState)>,
    /// How good the state was before the first iteration.
    first: Option<Rank>,
    /// How good the best state after an iteration is.
    best: Option<Rank>,
    iterations: u32,
    log: PathBuf,
}

/// What follows a job of the worker.
#[derive(Debug)]
enum ThenProcess {
    /// The command of a metric in this copy.
    Metric { copy: PathBuf, command: String },
    /// Gates in the copy that is made now.
    Gates { copy: String, request: Box<GatesRequest> },
    /// None: the order was cancelled. The copy that was made for it goes.
    Cancelled { copy: Option<String> },
}

impl PlanExecutor {
    pub(super) fn new(home: &Home, plan: RunFolder, context: CheckpointContext) -> io::Result<Self> {
        let worker = PlanWorker::new(context.clone(), home.plan_copies())?;
        let owners = std::iter::once(plan.id.to_string()).chain(super::folder::runs_of(home, &plan.id)).collect();
        Ok(Self {
            home: home.clone(),
            plan,
            context,
            worker,
            owners,
            children: Vec::new(),
            then: Vec::new(),
            questions: Vec::new(),
            ready: Vec::new(),
            processes: PlanProcesses::default(),
            looked: Instant::now(),
        })
    }

    /// The same, with what holds for every process of the plan.
    pub(super) fn with_processes(self, processes: PlanProcesses) -> Self {
        Self { processes, ..self }
    }

    /// Whose checkpoints are looked at; first the run whose result is wanted, as another one may have the same tree.
    fn owners_for(&self, order: &PlanOrder, state: &PlanState) -> Vec<String> {
        let node = match order {
            PlanOrder::Merge { node, .. } | PlanOrder::Measure { node, .. } => Some(node),
            PlanOrder::Apply { .. } => state.chosen.as_ref().map(|chosen| &chosen.node),
            PlanOrder::Record { .. }
            | PlanOrder::Copy { .. }
            | PlanOrder::Run { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Gates { .. }
            | PlanOrder::Hook { .. }
            | PlanOrder::Ask(_)
            | PlanOrder::Drop { .. } => None,
        };
        let run = node.and_then(|node| state.node(node)?.run.as_ref()).map(ToString::to_string);
        let run = run.filter(|run| self.owners.contains(run));
        let others = self.owners.iter().filter(|owner| Some(*owner) != run.as_ref()).cloned();
        run.iter().cloned().chain(others).collect()
    }

    fn copy_path(&self, copy: &str) -> PathBuf {
        self.home.plan_copies().join(self.plan.id.as_str()).join("copies").join(copy).join("tree")
    }

    /// What marks the processes of an order. Each has its own: what ends one command must not end another.
    fn mark(&self, id: OrderId) -> String {
        format!("{}o{}", self.plan.id, id.0)
    }

    fn log(&self, name: &str) -> PathBuf {
        self.plan.path.join("logs").join(format!("{name}.log"))
    }

    /// The request of a node, as it was stored when the plan was made.
    fn request(&self, node: &NodeId, state: &PlanState) -> io::Result<LaunchRequest> {
        let work = state.node(node).and_then(|node| node.spec.loop_work());
        let work = work.ok_or_else(|| io::Error::other(format!("{node} has no loop")))?;
        let text = fs::read(self.plan.path.join(&work.request.name))?;
        if hex(&Sha256::digest(&text)) != work.request.sha256 {
            return Err(io::Error::other(format!("{} is not what was written", work.request.name)));
        }
        Ok(serde_json::from_slice(&text)?)
    }

    fn start(&mut self, id: OrderId, work: ChildWork, log: &str, open: OpenWork) -> io::Result<PlanEvent> {
        let process = ChildProcess::start(work, &self.log(log), &self.processes.env)?;
        let started = PlanNotice::Started { order: id, process: process.process() };
        self.children.push(OpenChild { id, process, work: open, kill_at: None, cancelled: false });
        Ok(PlanEvent::Noticed(started))
    }

    fn run(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<PlanEvent> {
        let PlanOrder::Run { node, attempt, resume, run, limit_micros, .. } = order else {
            return Err(io::Error::other("a bug of loop: this is not an order for a run"));
        };
        let mut request = self.request(node, state)?;
        let of = PlanRef {
            plan: self.plan.id.clone(),
            node: node.to_string(),
            attempt: *attempt,
            workspace: state.spec.as_ref().map(|spec| spec.workspace.path.clone()).unwrap_or_default(),
        };
        let own = request.plan.as_ref().and_then(|plan| Settings::of(&plan.settings).caps.cost_micros);
        // The loop's own limit counts where it is lower.
        let limit_micros = limit_micros.map(|share| own.map_or(share, |own| own.min(share)));
        let known = run.clone().or_else(|| super::folder::run_of(&self.home, &of)).filter(|_| *resume);
        let log = format!("{node}-{attempt}");
        let log_path = self.log(&log);
        let open = |run: Option<RunId>| {
            let (of, log) = (of.clone(), log_path.clone());
            OpenWork::Run(Box::new(OpenRun { of, id: run, follows: None, first: None, best: None, iterations: 0, log }))
        };
        if let Some(run) = known {
            let folder = RunFolder { path: self.home.runs().join(run.as_str()), id: run.clone() };
            let there = journal::read(&folder.path).map(|reading| reading.fold());
            if let Some(ended) = there.ok().filter(|there| !there.resumable())
                && let Some(digest) = self.digest(&ended)
            {
                return Ok(answered(id, PlanAnswer::RunEnded(Box::new(digest))));
            }
            let change = |micros: &u64| Change::new(keys::max_cost().name, dollars(*micros));
            let changes = limit_micros.iter().map(change).collect();
            let request = ResumeRequest { changes, inject: None, by: format!("plan {}", self.plan.id) };
            let (work, open) = (ChildWork::Resume { run: run.clone(), request }, open(Some(run)));
            return self.start(id, work, &log, open);
        }
        let copy = self.copy_path(&copy_name(node, *attempt));
        if !copy.is_dir() {
            return Err(io::Error::other(format!("the copy of {node} is gone")));
        }
        request.workspace = Some(copy);
        if let Some(plan) = &mut request.plan {
            plan.of = of.clone();
        }
        if let Some(micros) = limit_micros {
            let origin = Origin { layer: Layer::Flag, place: "the share of the plan's budget".to_owned() };
            request.given.push(Given { key: keys::max_cost(), value: dollars(micros), origin });
        }
        let (work, open) = (ChildWork::Start(Box::new(request)), open(None));
        self.start(id, work, &log, open)
    }

    /// How a run ended, with the tree that its checkpoint has.
    fn digest(&mut self, state: &RunState) -> Option<loop_core::plan::RunDigest> {
        let mut digest = result_of(state)?;
        self.owners.insert(digest.run.to_string());
        if let (Some(name), Ok(trees)) = (&digest.checkpoint, PlanTrees::open(&self.context)) {
            digest.tree = trees.hash(&format!("{}/{name}", digest.run)).ok();
        }
        Some(digest)
    }

    /// The gates of these nodes, each by its own settings.
    fn gates(&self, id: OrderId, copy: Option<&str>, nodes: &[NodeId], state: &PlanState) -> io::Result<GatesRequest> {
        let mut of_nodes = Vec::new();
        for node in nodes {
            let request = self.request(node, state)?;
            let plan = request.plan.ok_or_else(|| io::Error::other("the request of a node has no settings"))?;
            of_nodes.push(GatesOfNode { node: node.to_string(), settings: plan.settings });
        }
        Ok(GatesRequest {
            mark: self.mark(id),
            folder: copy.map_or_else(|| self.context.workspace.clone(), |copy| self.copy_path(copy)),
            is_copy: copy.is_some(),
            nodes: of_nodes,
            outputs: self.plan.path.join("gates").join(format!("{:06}", id.0)),
        })
    }

    /// A command of the user: of a metric, or a hook.
    fn command(&mut self, id: OrderId, command: CommandRequest, open: OpenWork) -> io::Result<PlanEvent> {
        self.start(id, ChildWork::Command(Box::new(command)), "commands", open)
    }

    fn hook(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<PlanEvent> {
        let PlanOrder::Hook { when, index, failed } = order else {
            return Err(io::Error::other("a bug of loop: this is not an order for a hook"));
        };
        let spec = state.spec.as_ref().ok_or_else(|| io::Error::other("the plan never began"))?;
        let list = match when {
            HookWhen::Complete => &spec.on_complete,
            HookWhen::Failure => &spec.on_failure,
        };
        let line = usize::try_from(*index).ok().and_then(|at| list.get(at));
        let line = line.ok_or_else(|| io::Error::other("there is no such hook"))?.clone();
        // As variables: names never stand in a shell line.
        let failed_run = failed.as_ref().and_then(|node| state.node(node)).and_then(|node| node.run.as_ref());
        let failed_run = failed_run.unwrap_or(&self.plan.id).to_string();
        let variables = failed.iter().map(|node| ("LOOP_FAILED".to_owned(), node.to_string()));
        let failed_loop = (*when == HookWhen::Failure).then(|| (FAILED_LOOP_VARIABLE.to_owned(), failed_run));
        // A hook may call loop: it finds the loops where this process has them.
        let home = std::env::var("LOOP_HOME").ok().map(|home| ("LOOP_HOME".to_owned(), home));
        let variables = variables.chain(failed_loop).chain(home).collect();
        let command = CommandRequest {
            mark: self.mark(id),
            folder: path_of(&spec.workspace.path),
            is_copy: false,
            command: line,
            variables,
            wants_number: false,
            limit_ms: self.processes.hook_ms,
            outputs: self.plan.path.join("hooks").join(format!("{:06}", id.0)),
        };
        self.command(id, command, OpenWork::Hook)
    }

    fn tell(&self, node: &NodeId, pause: bool, id: OrderId) -> io::Result<()> {
        let of_node = |child: &&OpenChild| matches!(&child.work, OpenWork::Run(run) if run.of.node == node.as_str());
        let run = self.children.iter().find(of_node).and_then(|child| match &child.work {
            OpenWork::Run(run) => run.id.clone(),
            OpenWork::Metric(_) | OpenWork::Gates(_) | OpenWork::Hook => None,
        });
        let Some(run) = run else {
            return Err(io::Error::other(format!("the run of {node} has not begun")));
        };
        let folder = RunFolder { path: self.home.runs().join(run.as_str()), id: run };
        let call = Call { ask: if pause { Ask::Pause } else { Ask::Resume }, by: format!("plan {}", self.plan.id) };
        self.worker.beside(id, move || match control::call(&folder.socket(), &call) {
            Ok(_) => PlanAnswer::Done,
            Err(error) => PlanAnswer::Failed { why: error.to_string() },
        })
    }

    /// Begins an order; its start, or its answer where it is done already.
    fn carry_out(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<Option<PlanEvent>> {
        let job = match order {
            PlanOrder::Record { name } => TreeJob::Record { name: name.clone() },
            PlanOrder::Copy { node, attempt, tree } => {
                TreeJob::Copy { copy: copy_name(node, *attempt), tree: tree.clone() }
            }
            PlanOrder::Run { .. } => return self.run(id, order, state).map(Some),
            PlanOrder::Tell { node, pause } => return self.tell(node, *pause, id).map(|()| None),
            PlanOrder::Measure { node, attempt, base, tree } => {
                let metric = state.spec.as_ref().and_then(|spec| spec.selection()).and_then(|one| one.metric.as_ref());
                let copy = self.copy_path(&copy_name(node, *attempt));
                if let Some(MetricSource::Command(command)) = metric.map(|metric| &metric.by) {
                    let (copy, command) = (copy.clone(), command.clone());
                    self.then.push((id, ThenProcess::Metric { copy, command }));
                }
                TreeJob::Compare { base: base.clone(), tree: tree.clone(), copy }
            }
            PlanOrder::Merge { base, ours, theirs, name, .. } => {
                TreeJob::Merge { base: base.clone(), ours: ours.clone(), theirs: theirs.clone(), name: name.clone() }
            }
            PlanOrder::Gates { place: GatesPlace::Tree(tree), nodes, .. } => {
                let copy = format!("gates-{}", id.0);
                let request = Box::new(self.gates(id, Some(&copy), nodes, state)?);
                self.then.push((id, ThenProcess::Gates { copy: copy.clone(), request }));
                TreeJob::Copy { copy, tree: tree.clone() }
            }
            PlanOrder::Gates { place: GatesPlace::Workspace, nodes, .. } => {
                let request = self.gates(id, None, nodes, state)?;
                return self.start(id, ChildWork::Gates(Box::new(request)), "gates", OpenWork::Gates(None)).map(Some);
            }
            PlanOrder::Apply { base, tree, undo } => {
                TreeJob::Apply { base: base.clone(), tree: tree.clone(), undo: undo.clone() }
            }
            PlanOrder::Hook { .. } => return self.hook(id, order, state).map(Some),
            PlanOrder::Ask(_) => {
                self.questions.push(id);
                return Ok(None);
            }
            PlanOrder::Drop { node, attempt } => TreeJob::Drop { copy: copy_name(node, *attempt) },
        };
        self.worker.begin(id, job, self.owners_for(order, state));
        Ok(None)
    }

    /// A job of the worker is done: its answer, or the process that follows.
    fn job_done(&mut self, id: OrderId, answer: PlanAnswer) -> Option<PlanEvent> {
        let at = self.then.iter().position(|(order, _)| *order == id);
        let Some((_, then)) = at.map(|at| self.then.swap_remove(at)) else { return Some(answered(id, answer)) };
        let begun = match (then, answer) {
            (ThenProcess::Metric { copy, command }, PlanAnswer::Measured(measured)) => {
                let command = CommandRequest {
                    mark: self.mark(id),
                    folder: copy,
                    is_copy: true,
                    command,
                    variables: Vec::new(),
                    wants_number: true,
                    limit_ms: None,
                    outputs: self.plan.path.join("metrics").join(format!("{:06}", id.0)),
                };
                self.command(id, command, OpenWork::Metric(measured))
            }
            (ThenProcess::Gates { copy, request }, PlanAnswer::Copied(_)) => {
                self.start(id, ChildWork::Gates(request), "gates", OpenWork::Gates(Some(copy)))
            }
            (ThenProcess::Cancelled { copy }, _) => {
                if let Some(copy) = copy {
                    self.worker.begin(OrderId(0), TreeJob::Drop { copy }, Vec::new());
                }
                return Some(answered(id, PlanAnswer::Cancelled));
            }
            (_, answer) => return Some(answered(id, answer)),
        };
        Some(begun.unwrap_or_else(|error| failed(id, &error.to_string())))
    }

    /// Looks at the journals of the runs under way.
    fn look(&mut self) {
        self.looked = Instant::now();
        for child in &mut self.children {
            let OpenWork::Run(run) = &mut child.work else { continue };
            if run.id.is_none()
                && let Some(ChildLine::Run(id)) = child.process.line()
            {
                run.id = Some(id.clone());
                self.owners.insert(id.to_string());
                let notice = PlanNotice::RunStarted { order: child.id, run: id.clone() };
                self.ready.push(PlanEvent::Noticed(notice));
            }
            let Some(id) = &run.id else { continue };
            let folder = self.home.runs().join(id.as_str());
            let (tail, state) = run.follows.get_or_insert_with(|| (Tail::<Run>::new(&folder), RunState::default()));
            let Ok(entries) = tail.next_entries() else { continue };
            for entry in &entries {
                state.apply(&entry.fact);
                run.first = run.first.or_else(|| state.progress.rank());
            }
            let done = state.iterations_done();
            if let Some(rank) = state.progress.rank().filter(|_| done > run.iterations) {
                run.iterations = done;
                // The best state after an iteration: the start does not count.
                let best = run.best.map_or(rank, |best| best.max(rank));
                run.best = Some(best);
                let start = run.first.unwrap_or_default();
                let cost_micros = counted_micros(state);
                self.ready.push(PlanEvent::Noticed(PlanNotice::Progress {
                    order: child.id,
                    iterations: done,
                    start,
                    best,
                    cost_micros,
                }));
            }
        }
    }
}

impl OpenChild {
    /// Asks it to end at once; killed where it does not.
    fn abort(&mut self) {
        self.cancelled = true;
        self.process.abort();
        self.kill_at.get_or_insert(Instant::now() + END_WITHIN);
    }

    /// What a child that was no run came to.
    fn said(&self) -> PlanAnswer {
        let why = match self.process.line() {
            Some(line @ (ChildLine::Number(_) | ChildLine::NoNumber(_))) => {
                if let OpenWork::Metric(measured) = &self.work {
                    return PlanAnswer::Measured(metric(line, measured));
                }
                "a bug of loop: a number was not asked for".to_owned()
            }
            Some(ChildLine::Ended(ended, says)) => {
                return PlanAnswer::HookEnded { ended: ended.clone(), says: says.clone() };
            }
            Some(ChildLine::Gates(said)) => return PlanAnswer::Gates(gates_report(said)),
            Some(ChildLine::Failed(_)) if self.cancelled => return PlanAnswer::Cancelled,
            Some(ChildLine::Failed(why)) => why.clone(),
            Some(ChildLine::Refused(refusal)) => refusal.sentence(),
            Some(ChildLine::Run(_)) | None if self.cancelled => return PlanAnswer::Cancelled,
            Some(ChildLine::Run(_)) | None => "its process ended without a result".to_owned(),
        };
        PlanAnswer::Failed { why: text::one_line(&why, 1000) }
    }
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
        | ChildLine::Ended(..)
        | ChildLine::Failed(_) => (None, None),
    };
    MeasureReport { metric_micros, metric_trouble, ..measured.clone() }
}

/// A number in millionths, as a fact has it.
#[expect(clippy::cast_possible_truncation, reason = "it is within the bounds of the type")]
fn micros(number: f64) -> Option<i64> {
    let micros = (number * 1_000_000.0).round();
    // Beyond 2^53 not every number is exact, and nobody counts that far.
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

impl PlanExecutor {
    /// What came of a child that ended.
    fn ended(&mut self, child: &OpenChild) -> PlanAnswer {
        let run = match &child.work {
            OpenWork::Run(run) => run,
            OpenWork::Gates(Some(copy)) => {
                // Nobody waits for it.
                let job = TreeJob::Drop { copy: copy.clone() };
                self.worker.begin(OrderId(0), job, Vec::new());
                return child.said();
            }
            OpenWork::Gates(None) | OpenWork::Metric(_) | OpenWork::Hook => return child.said(),
        };
        let id = run.id.clone().or_else(|| super::folder::run_of(&self.home, &run.of));
        let Some(id) = id else { return child.said() };
        let reading = match journal::read(&self.home.runs().join(id.as_str())) {
            Ok(reading) => reading,
            Err(error) => return PlanAnswer::Failed { why: text::one_line(&error.to_string(), 1000) },
        };
        if let Some(digest) = self.digest(&reading.fold()) {
            return PlanAnswer::RunEnded(Box::new(digest));
        }
        if child.cancelled {
            return PlanAnswer::Cancelled;
        }
        let log = fs::read_to_string(&run.log).unwrap_or_default();
        let said = text::tail(log.trim(), LOG_BYTES_MAX);
        let refused = match child.process.line() {
            Some(ChildLine::Refused(refusal)) => refusal.sentence(),
            _ => format!("the process of its run ended without a result {said}"),
        };
        PlanAnswer::Failed { why: text::one_line(refused.trim(), 1000) }
    }
}

impl Executes<Plan> for PlanExecutor {
    fn begin(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> Option<PlanEvent> {
        self.carry_out(id, order, state).unwrap_or_else(|error| Some(failed(id, &error.to_string())))
    }

    fn cancel(&mut self, id: OrderId) {
        if let Some(at) = self.questions.iter().position(|open| *open == id) {
            self.questions.swap_remove(at);
            self.ready.push(answered(id, PlanAnswer::Done));
        } else if let Some(child) = self.children.iter_mut().find(|child| child.id == id) {
            if matches!(child.work, OpenWork::Run(_)) {
                child.cancelled = true;
                child.process.stop();
            } else {
                child.abort();
            }
        } else {
            // A process that would follow this job is not started.
            for (_, then) in self.then.iter_mut().filter(|(order, _)| *order == id) {
                let copy = match then {
                    ThenProcess::Gates { copy, .. } => Some(copy.clone()),
                    ThenProcess::Cancelled { copy } => copy.take(),
                    ThenProcess::Metric { .. } => None,
                };
                *then = ThenProcess::Cancelled { copy };
            }
            self.worker.cancel();
        }
    }

    fn kill(&mut self, id: OrderId) {
        match self.children.iter_mut().find(|child| child.id == id) {
            Some(child) => child.abort(),
            None => self.cancel(id),
        }
    }

    fn freeze(&mut self, frozen: bool) {
        self.children.iter().for_each(|child| child.process.freeze(frozen));
    }

    fn poll(&mut self, _: &mut dyn FnMut(&[u8])) -> Vec<PlanEvent> {
        let mut events = Vec::new();
        for (id, answer) in self.worker.take() {
            // Order 0 is nobody's: a copy that was made for gates is gone.
            events.extend(self.job_done(id, answer).filter(|_| id != OrderId(0)));
        }
        let now = Instant::now();
        let ended: Vec<OrderId> =
            self.children.iter_mut().filter_map(|child| child.process.poll().then_some(child.id)).collect();
        // What a run did up to its end is seen before its end.
        if !ended.is_empty() || self.looked.elapsed() >= LOOK_EVERY || self.has_new_line() {
            self.look();
        }
        events.append(&mut self.ready);
        for id in ended {
            if let Some(at) = self.children.iter().position(|child| child.id == id) {
                let child = self.children.swap_remove(at);
                events.push(answered(id, self.ended(&child)));
            }
        }
        for child in self.children.iter_mut().filter(|child| child.kill_at.is_some_and(|at| now >= at)) {
            child.process.kill();
        }
        events
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.children.iter().flat_map(|child| child.process.fds()).chain([self.worker.wants()]).collect()
    }

    fn wakes_in(&self, now: Instant) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let look = (!self.children.is_empty()).then(|| (self.looked + LOOK_EVERY).saturating_duration_since(now));
        let kill = self.children.iter().filter_map(|child| child.kill_at).min();
        look.into_iter().chain(kill.map(|at| at.saturating_duration_since(now))).min()
    }
}

impl PlanExecutor {
    /// Whether a child has said which run it drives, and that was not reported yet.
    fn has_new_line(&self) -> bool {
        self.children.iter().any(|child| {
            matches!(&child.work, OpenWork::Run(run) if run.id.is_none())
                && matches!(child.process.line(), Some(ChildLine::Run(_)))
        })
    }
}

fn answered(order: OrderId, answer: PlanAnswer) -> PlanEvent {
    PlanEvent::Answered { order, answer }
}

fn failed(order: OrderId, why: &str) -> PlanEvent {
    answered(order, PlanAnswer::Failed { why: text::one_line(why, 1000) })
}

/// The name of the copy of an attempt at a node.
fn copy_name(node: &NodeId, attempt: u32) -> String {
    format!("{node}-{attempt}")
}

/// Millionths of a dollar as `max_cost` reads them.
fn dollars(micros: u64) -> String {
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}
