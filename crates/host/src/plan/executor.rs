//! Carries out the orders of a plan: one match from an order to the child process or the job that does it. It decides
//! nothing.
mod commands;
mod items;
mod reads;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::control::{Ask, Call};
use loop_core::ids::{OrderId, RunId};
use loop_core::plan::{
    GatesPlace, MetricSource, NodeId, Plan, PlanAnswer, PlanEvent, PlanNotice, PlanOrder, PlanState, RunCutOff,
    RunPurpose,
};
use loop_core::run::{Change, Decision, Fact, GatePoint, PlanRef, Run, RunState};
use loop_core::settings::{Given, Layer, Origin, SessionMode, Settings, key, keys};
use loop_core::text;
use loop_core::workflow::{wants_ports, with_ports};
use sha2::{Digest, Sha256};

use super::answers::{answers, fill_answers};
use super::child::{ChildLine, ChildWork, CommandRequest, GatesRequest};
use super::child_process::ChildProcess;
use super::folder::{PlanProcesses, copy_name, temp_folder};
use super::list::{ItemCheckRequest, ItemLaunch, LoopBegin, ReadRequest};
use super::open_child::{OpenChild, OpenRun, OpenWork};
use super::ports::PortRange;
use super::resolve;
use super::result::{counted_micros, cut_off_cost, dollars};
use super::worker::{PlanWorker, TreeJob};
use crate::checkpoint::CheckpointContext;
use crate::control;
use crate::driver::Executes;
use crate::fs::hex;
use crate::journal::{self, Tail};
use crate::launch::{LaunchRequest, ResumeRequest};
use crate::paths::Home;
use crate::run_folder::RunFolder;

/// How often the journals of runs are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// How often a run that does not listen yet is asked.
const ASK_EVERY: Duration = Duration::from_millis(50);
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
    /// The trees that copies were made of, by the names of the copies. No agent can reach this.
    copied: BTreeMap<String, String>,
    /// Questions to a person: they end when they are cancelled.
    questions: Vec<OrderId>,
    /// Runs that are to hold or to go on, and have not said that they do.
    tells: Vec<OpenTell>,
    /// Copies that this process made: they are mounted.
    made: BTreeSet<String>,
    /// Events for the next poll.
    ready: Vec<PlanEvent>,
    processes: PlanProcesses,
    /// What people answered to questions, as variables of the environment.
    answers: Vec<(String, String)>,
    looked: Instant,
}

/// A child process that is to be started.
struct NewChild<'a> {
    work: ChildWork,
    /// The name of its log.
    log: &'a str,
    /// The tree of the copy that it works in.
    copy: Option<&'a Path>,
}

/// A run that is to hold or to go on.
#[derive(Debug)]
struct OpenTell {
    id: OrderId,
    node: NodeId,
    pause: bool,
    /// It is asked now.
    asking: bool,
    /// When it is asked.
    at: Instant,
}

/// The process of a run that is started when its copy is there.
#[derive(Debug)]
struct RunProcess {
    work: ChildWork,
    /// The name of its log.
    log: String,
    open: OpenRun,
    /// What is recorded before the loop of an item.
    begin: Option<LoopBegin>,
}

/// What follows a job of the worker.
#[derive(Debug)]
enum ThenProcess {
    /// The process of a run, in a copy that an earlier process made.
    Run { copy: String, process: Box<RunProcess> },
    /// The copy that this process makes, and the command that then installs dependencies in it.
    Copied { copy: String, setup: Option<Box<CommandRequest>> },
    /// The checks of an item, in a copy that an earlier process may have made.
    Check { copy: String, request: Box<ItemCheckRequest> },
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
            copied: BTreeMap::new(),
            questions: Vec::new(),
            tells: Vec::new(),
            made: BTreeSet::new(),
            ready: Vec::new(),
            processes: PlanProcesses::default(),
            answers: Vec::new(),
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
            PlanOrder::Apply { node: Some(node), .. } => Some(node),
            PlanOrder::Apply { node: None, .. } => state.chosen.as_ref().map(|chosen| &chosen.node),
            PlanOrder::Record { .. }
            | PlanOrder::Copy { .. }
            | PlanOrder::Run { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Gates { .. }
            | PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. }
            | PlanOrder::Hook { .. }
            | PlanOrder::Ask(_)
            | PlanOrder::RollBack { .. }
            | PlanOrder::Notify { .. }
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
        order_mark(&self.plan.id, id)
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

    /// Starts a child. One that works in a copy has the temp folder of the copy, which goes with it.
    fn start(&mut self, id: OrderId, child: NewChild<'_>, open: OpenWork) -> io::Result<PlanEvent> {
        let NewChild { work, log, copy } = child;
        let ports = self.processes.env.iter().any(|(_, value)| wants_ports(value));
        let ports = ports.then(PortRange::reserve).transpose()?;
        let value = |value: &String| match &ports {
            Some(ports) => with_ports(value, ports.first, ports.last()),
            None => value.clone(),
        };
        let mut env: Vec<(String, String)> =
            self.processes.env.iter().map(|(name, text)| (name.clone(), value(text))).collect();
        env.extend(self.answers.iter().cloned());
        if let Some(copy) = copy {
            let temp = temp_folder(copy);
            DirBuilder::new().recursive(true).mode(0o700).create(&temp)?;
            // A path that is no text stays out: programs then use the usual folder.
            env.extend(temp.to_str().map(|temp| ("TMPDIR".to_owned(), temp.to_owned())));
        }
        let process = ChildProcess::start(work, &self.log(log), &env)?;
        let started = PlanNotice::Started { order: id, process: process.process() };
        self.children.push(OpenChild { id, process, work: open, kill_at: None, cancelled: false, _ports: ports });
        Ok(PlanEvent::Noticed(started))
    }

    /// What installs dependencies in a copy before the first call of its agent, where the settings name a command.
    fn setup(&self, id: OrderId, node: &NodeId, copy: &str, state: &PlanState) -> io::Result<Option<CommandRequest>> {
        let Some(plan) = self.request(node, state)?.plan else { return Ok(None) };
        let gate = Settings::of(&plan.settings).values.gate;
        Ok(gate.setup.map(|command| CommandRequest {
            mark: self.mark(id),
            folder: self.copy_path(copy),
            is_copy: true,
            command,
            variables: vec![("LOOP_BRANCH".to_owned(), node.to_string())],
            outputs: self.plan.path.join("setup").join(copy),
            wants_number: false,
            limit_ms: Some(gate.setup_timeout.0),
        }))
    }

    fn run(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<Option<PlanEvent>> {
        let PlanOrder::Run { node, attempt, purpose, resume, run, limit_micros, gates } = order else {
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
        // A loop's own limit counts where it is lower. A branch of a best-of has none: its settings have that of the plan.
        let own = own.filter(|_| state.spec.as_ref().is_some_and(|spec| spec.selection().is_none()));
        let share_limits = limit_micros.is_some_and(|share| own.is_none_or(|own| share < own));
        let limit_micros = limit_micros.map(|share| own.map_or(share, |own| own.min(share)));
        // Several branches work at once for one run: in none of them a call begins that could go past its share.
        let call = state.spec.as_ref().filter(|spec| spec.recovers.is_some()).map(|spec| spec.call_micros);
        let limit_micros = limit_micros.map(|limit| call.map_or(limit, |call| limit.saturating_sub(call) + 1));
        let known = run.clone().or_else(|| super::folder::run_of(&self.home, &of)).filter(|_| *resume);
        let (log, log_path) = (format!("{node}-{attempt}"), self.log(&format!("{node}-{attempt}")));
        let open = |run: Option<RunId>| {
            let (of, log) = (of.clone(), log_path.clone());
            OpenRun { of, id: run, follows: None, first: None, best: None, iterations: 0, log, share_limits }
        };
        let copy = copy_name(node, *attempt);
        let item = self.item_launch(node, *attempt, state, &request)?;
        if let Some(run) = known {
            let folder = RunFolder { path: self.home.runs().join(run.as_str()), id: run.clone() };
            let there = journal::read(&folder.path).map(|reading| reading.fold()).ok();
            let at_rest = |there: &&RunState| there.over.is_some();
            let has_worked = item.as_ref().is_some_and(|item| item.has_worked(there.as_ref().filter(at_rest)));
            if let Some(ended) = there.as_ref().filter(|there| !there.resumable() || has_worked)
                && let Some(digest) = self.digest(ended, share_limits)
            {
                return Ok(Some(answered(id, PlanAnswer::RunEnded(Box::new(digest)))));
            }
            let change = |micros: &u64| Change::new(keys::max_cost().name, dollars(*micros));
            // A limit that the loop has already was given to it before.
            let value = |change: &Change| Some(there.as_ref()?.settings.shown().resolved.text(key(&change.key)?));
            let more = state.limits.iter().filter(|change| value(change) != Some(change.value.as_str())).cloned();
            let worked = there.as_ref().filter(at_rest).is_some();
            let (of_item, inject) =
                item.as_ref().map(|item| item.changes(plan_session(&request), worked)).unwrap_or_default();
            let of_item = of_item.into_iter().filter(|change| value(change) != Some(change.value.as_str()));
            let changes = limit_micros.iter().map(change).chain(more).chain(of_item).collect();
            let request = ResumeRequest { changes, inject, by: format!("plan {}", self.plan.id) };
            let (work, open) = (ChildWork::Resume { run: run.clone(), request }, open(Some(run)));
            return self.start_in(id, &copy, RunProcess { work, log, open, begin: item.map(ItemLaunch::into_begin) });
        }
        if let Some(item) = &item {
            request = item.request(request);
        }
        fill_answers(&mut request, state);
        if *purpose == RunPurpose::Resolve {
            let marked = state.node(node).and_then(|node| node.start.clone());
            let marked = marked.ok_or_else(|| io::Error::other("the tree with the conflict is not known"))?;
            let others = self.gates_of(gates, state)?;
            request = resolve::request(request, node.as_str(), &others, &self.conflicts(), &marked)?;
        }
        request.workspace = Some(self.copy_path(&copy));
        if let Some(plan) = &mut request.plan {
            plan.of = of.clone();
        }
        request.given.extend(given_limits(limit_micros, state));
        let (work, open) = (ChildWork::Start(Box::new(request)), open(None));
        self.start_in(id, &copy, RunProcess { work, log, open, begin: item.map(ItemLaunch::into_begin) })
    }

    /// Starts the process of a run in its copy. One that an earlier process made is looked at first: no agent works in a
    /// folder that is not mounted.
    fn start_in(&mut self, id: OrderId, copy: &str, process: RunProcess) -> io::Result<Option<PlanEvent>> {
        if self.made.contains(copy) && self.copy_path(copy).is_dir() {
            return self.start_run(id, copy, process).map(Some);
        }
        self.then.push((id, ThenProcess::Run { copy: copy.to_owned(), process: Box::new(process) }));
        self.worker.begin(id, TreeJob::Ready { copy: copy.to_owned() }, Vec::new());
        Ok(None)
    }

    fn start_run(&mut self, id: OrderId, copy: &str, process: RunProcess) -> io::Result<PlanEvent> {
        let RunProcess { work, log, open, begin } = process;
        let folder = self.copy_path(copy);
        if let Some(begin) = begin {
            begin.record(&folder)?;
        }
        self.start(id, NewChild { work, log: &log, copy: Some(&folder) }, OpenWork::Run(Box::new(open)))
    }

    /// The answer to an order for a run that has no end: what it has cost is read from its journal.
    fn cut_off(&self, of: &PlanRef, run: Option<RunId>, killed: bool, why: &str) -> PlanAnswer {
        let run = run.or_else(|| super::folder::run_of(&self.home, of));
        let cost_micros = run.as_ref().map_or(Some(0), |run| {
            journal::read(&self.home.runs().join(run.as_str())).ok().map(|reading| cut_off_cost(&reading.fold()))
        });
        PlanAnswer::RunCutOff(RunCutOff { run, cost_micros, killed, why: text::one_line(why.trim(), 1000) })
    }

    /// A run that could not be started.
    fn not_run(&self, order: &PlanOrder, why: &str) -> PlanAnswer {
        let PlanOrder::Run { node, attempt, run, .. } = order else {
            return PlanAnswer::Failed { why: text::one_line(why, 1000) };
        };
        let of =
            PlanRef { plan: self.plan.id.clone(), node: node.to_string(), attempt: *attempt, workspace: String::new() };
        self.cut_off(&of, run.clone(), false, why)
    }

    /// Begins an order; its start, or its answer where it is done already.
    fn carry_out(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<Option<PlanEvent>> {
        let job = match order {
            PlanOrder::Record { name } => TreeJob::Record { name: name.clone() },
            PlanOrder::Copy { node, attempt, tree } => {
                let copy = copy_name(node, *attempt);
                let setup = self.setup(id, node, &copy, state)?.map(Box::new);
                if setup.is_none() {
                    self.copied.insert(copy.clone(), tree.clone());
                }
                self.then.push((id, ThenProcess::Copied { copy: copy.clone(), setup }));
                TreeJob::Copy { copy, tree: tree.clone() }
            }
            PlanOrder::Run { .. } => return self.run(id, order, state),
            PlanOrder::Tell { node, pause } => {
                let (node, at) = (node.clone(), Instant::now());
                self.tells.push(OpenTell { id, node, pause: *pause, asking: false, at });
                return Ok(None);
            }
            PlanOrder::Measure { node, attempt, base, tree } => {
                let metric = state.spec.as_ref().and_then(|spec| spec.selection()).and_then(|one| one.metric.as_ref());
                let copy = self.copy_path(&copy_name(node, *attempt));
                if let Some(MetricSource::Command(command)) = metric.map(|metric| &metric.by) {
                    let (copy, command) = (copy.clone(), command.clone());
                    self.then.push((id, ThenProcess::Metric { copy, command }));
                }
                TreeJob::Compare { base: base.clone(), tree: tree.clone(), copy }
            }
            PlanOrder::Merge { node, base, ours, theirs, name, .. } => {
                let (base, ours, theirs) = (base.clone(), ours.clone(), theirs.clone());
                TreeJob::Merge { base, ours, theirs, name: name.clone(), mark: self.mark_job(node, state) }
            }
            PlanOrder::Gates { place: GatesPlace::Tree(tree), nodes, .. } => {
                let copy = format!("gates-{}", id.0);
                let request = Box::new(self.gates(id, Some(&copy), nodes, state)?);
                self.then.push((id, ThenProcess::Gates { copy: copy.clone(), request }));
                TreeJob::Copy { copy, tree: tree.clone() }
            }
            PlanOrder::Gates { place: GatesPlace::Workspace, nodes, .. } => {
                let request = self.gates(id, None, nodes, state)?;
                let work = ChildWork::Gates(Box::new(request));
                let child = NewChild { work, log: "gates", copy: None };
                return self.start(id, child, OpenWork::Gates(None)).map(Some);
            }
            PlanOrder::ReadList { .. } => {
                let request = ReadRequest::new(&self.plan.path, &self.context.workspace, state)?;
                TreeJob::ReadList(Box::new(request))
            }
            PlanOrder::Check { .. } => return self.check(id, order, state),
            PlanOrder::RecordLoop { node, .. } => self.record_item(node, state, false)?,
            PlanOrder::RecordPass { node, .. } => self.record_item(node, state, true)?,
            PlanOrder::Apply { base, tree, undo, .. } => {
                TreeJob::Apply { base: base.clone(), tree: tree.clone(), undo: undo.clone() }
            }
            PlanOrder::Hook { .. } => return self.hook(id, order, state).map(Some),
            PlanOrder::Notify { result, text } => return self.notify(id, result, text, state).map(Some),
            PlanOrder::Ask(_) => {
                self.questions.push(id);
                return Ok(None);
            }
            PlanOrder::RollBack { to, undo } => TreeJob::RollBack { to: to.clone(), undo: undo.clone() },
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
                let folder = self.copy_path(&copy);
                let child = NewChild { work: ChildWork::Gates(request), log: "gates", copy: Some(&folder) };
                self.start(id, child, OpenWork::Gates(Some(copy)))
            }
            (ThenProcess::Copied { copy, setup: Some(request) }, PlanAnswer::Copied(report)) => {
                self.made.insert(copy);
                self.command(id, *request, OpenWork::Setup(report, Instant::now()))
            }
            (ThenProcess::Run { copy, process }, PlanAnswer::Done) => {
                let (of, run) = (process.open.of.clone(), process.open.id.clone());
                let begun = self.start_run(id, &copy, *process);
                let not_begun = |error: io::Error| answered(id, self.cut_off(&of, run, false, &error.to_string()));
                return Some(begun.unwrap_or_else(not_begun));
            }
            (ThenProcess::Run { process, .. }, PlanAnswer::Failed { why }) => {
                let OpenRun { of, id: run, .. } = process.open;
                return Some(answered(id, self.cut_off(&of, run, false, &why)));
            }
            (ThenProcess::Check { copy, request }, PlanAnswer::Done) => self.start_check(id, &copy, request),
            (ThenProcess::Copied { copy, setup: None }, answer @ PlanAnswer::Copied(_)) => {
                self.made.insert(copy);
                return Some(answered(id, answer));
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
            let seen = run.iterations;
            for entry in &entries {
                state.apply(&entry.fact);
                run.first = run.first.or_else(|| state.progress.rank());
                // Only what the gates said of the iteration itself: before that, the rank is that of an earlier state.
                if let Fact::Decided(Decision::Round(round)) = &entry.fact
                    && let GatePoint::Iteration(iteration) = round.point
                {
                    run.iterations = run.iterations.max(iteration);
                    // The best state after an iteration: the start does not count.
                    run.best = Some(run.best.map_or(round.rank, |best| best.max(round.rank)));
                }
            }
            let done = run.iterations;
            if let Some(best) = run.best.filter(|_| done > seen) {
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
            OpenWork::Gates(None) | OpenWork::Metric(_) | OpenWork::Hook | OpenWork::Checks | OpenWork::Setup(..) => {
                return child.said();
            }
        };
        let id = run.id.clone().or_else(|| super::folder::run_of(&self.home, &run.of));
        let there = id.as_ref().map(|id| journal::read(&self.home.runs().join(id.as_str())));
        match there {
            Some(Ok(reading)) => {
                let there = reading.fold();
                if let Some(why) = self.changed_before_start(&run.of, &there) {
                    return PlanAnswer::Failed { why };
                }
                if let Some(digest) = self.digest(&there, run.share_limits) {
                    return PlanAnswer::RunEnded(Box::new(digest));
                }
            }
            Some(Err(error)) => return PlanAnswer::Failed { why: text::one_line(&error.to_string(), 1000) },
            None => {}
        }
        if child.cancelled {
            return PlanAnswer::Cancelled;
        }
        // What it said itself is no accident.
        let killed = child.process.was_killed();
        let log = fs::read_to_string(&run.log).unwrap_or_default();
        let said = text::tail(log.trim(), LOG_BYTES_MAX);
        let why = match child.process.line() {
            Some(ChildLine::Refused(refusal)) => refusal.sentence(),
            Some(ChildLine::Failed(why)) => why.clone(),
            _ if killed => "its process was killed".to_owned(),
            _ => format!("the process of its run ended without a result {said}"),
        };
        self.cut_off(&run.of, id, killed, &why)
    }

    /// Asks runs to hold or to go on. One that is starting is asked as soon as it listens.
    fn ask_runs(&mut self) -> Vec<PlanEvent> {
        let now = Instant::now();
        let mut events = Vec::new();
        for mut tell in std::mem::take(&mut self.tells) {
            let of_node =
                |child: &&OpenChild| matches!(&child.work, OpenWork::Run(run) if run.of.node == tell.node.as_str());
            let child = self.children.iter().find(of_node);
            let waits = self.then.iter().any(
                |(_, then)| matches!(then, ThenProcess::Run { process, .. } if process.open.of.node == tell.node.as_str()),
            );
            if child.is_none() && !waits && !tell.asking {
                events.push(failed(tell.id, &format!("the run of {} has ended", tell.node)));
                continue;
            }
            let listens = child.and_then(|child| child.process.line());
            if let (Some(ChildLine::Run(run)), false, true) = (listens, tell.asking, now >= tell.at) {
                let folder = RunFolder { path: self.home.runs().join(run.as_str()), id: run.clone() };
                let ask = if tell.pause { Ask::Pause } else { Ask::Resume };
                let call = Call { ask, by: format!("plan {}", self.plan.id) };
                // A run that refuses has ended.
                let asked = self.worker.beside(tell.id, move || match control::call(&folder.socket(), &call) {
                    Ok(_) => PlanAnswer::Done,
                    Err(error) => PlanAnswer::Failed { why: error.to_string() },
                });
                tell.asking = asked.is_ok();
                tell.at = now + ASK_EVERY;
            }
            self.tells.push(tell);
        }
        events
    }

    /// What came of asking a run: one that does not listen yet is asked again. None where it is another order.
    fn asked(&mut self, id: OrderId, answer: &PlanAnswer) -> Option<Option<PlanEvent>> {
        let at = self.tells.iter().position(|tell| tell.id == id)?;
        if *answer == PlanAnswer::Done {
            self.tells.swap_remove(at);
            return Some(Some(answered(id, PlanAnswer::Done)));
        }
        if let Some(tell) = self.tells.get_mut(at) {
            tell.asking = false;
        }
        Some(None)
    }
}

impl Executes<Plan> for PlanExecutor {
    fn begin(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> Option<PlanEvent> {
        self.answers = answers(state);
        self.carry_out(id, order, state)
            .unwrap_or_else(|error| Some(answered(id, self.not_run(order, &error.to_string()))))
    }

    fn cancel(&mut self, id: OrderId) {
        if let Some(at) = self.questions.iter().position(|open| *open == id) {
            self.questions.swap_remove(at);
            self.ready.push(answered(id, PlanAnswer::Done));
        } else if let Some(at) = self.tells.iter().position(|tell| tell.id == id) {
            self.tells.swap_remove(at);
            self.ready.push(answered(id, PlanAnswer::Cancelled));
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
                    ThenProcess::Metric { .. } | ThenProcess::Run { .. } | ThenProcess::Check { .. } => None,
                    // The copy stays: its own order removes it.
                    ThenProcess::Copied { .. } => continue,
                };
                *then = ThenProcess::Cancelled { copy };
            }
            self.worker.cancel(id);
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
            if let Some(event) = self.asked(id, &answer) {
                events.extend(event);
                continue;
            }
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
        events.extend(self.ask_runs());
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
        let ask = self.tells.iter().filter(|tell| !tell.asking).map(|tell| tell.at.max(self.looked)).min();
        let ask = ask.map(|at| at.saturating_duration_since(now).max(ASK_EVERY / 2));
        look.into_iter().chain(ask).chain(kill.map(|at| at.saturating_duration_since(now))).min()
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

/// The share of the budget and the limits that a person changed, for a run that starts.
fn given_limits(limit_micros: Option<u64>, state: &PlanState) -> Vec<Given> {
    let share = limit_micros.map(|micros| {
        let origin = Origin { layer: Layer::Flag, place: "the share of the plan's budget".to_owned() };
        Given { key: keys::max_cost(), value: dollars(micros), origin }
    });
    let changed = state.limits.iter().filter_map(|change| {
        let origin = Origin { layer: Layer::Flag, place: "the resume of its plan".to_owned() };
        Some(Given { key: key(&change.key)?, value: change.value.clone(), origin })
    });
    share.into_iter().chain(changed).collect()
}

/// Whether the loops of a node continue their conversation, by its request.
fn plan_session(request: &LaunchRequest) -> SessionMode {
    request.plan.as_ref().map(|plan| Settings::of(&plan.settings).values.agent.session).unwrap_or_default()
}

/// What marks the processes of an order of a plan.
pub(super) fn order_mark(plan: &RunId, order: OrderId) -> String {
    format!("{plan}o{}", order.0)
}
