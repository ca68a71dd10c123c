//! The executor carries orders out: one match from an order to the module that does it. It decides nothing.
use std::time::{Duration, Instant};

use loop_core::ids::OrderId;
use loop_core::run::{
    Answer, AttemptRequest, BranchPlan, BranchesReport, CheckpointName, CheckpointReport, Ended, Event, Fact,
    GateProgram, GateReport, INITIAL, JudgedTree, Notice, Order, Request, RunState,
};
use loop_core::view::LiveDigest;

use crate::attempt::{self, AttemptInput, AttemptReader};
use crate::attempt_container;
use crate::branches::OpenBranches;
use crate::checkpoint::{git_tree, tree_named};
use crate::checkpoint_thread::CheckpointWorker;
use crate::gate::baseline_watch::BaselineWatch;
use crate::gate::opportunity::{self, ChangesSinceStart, Permitted, tests_ran_at_start};
use crate::gate::programs::{ProgramHashes, changed_since, programs_of};
use crate::gate::results::TestHistory;
use crate::gate::run::{GateContext, GateFailure, GateReader, GateTry};
use crate::gate::tools::{self, KnownTools};
use crate::judge::{self, JudgeWork};
use crate::ledger::{CallRecord, RunLedger};
use crate::process::{Containment, Silence, Task, TaskEnd, Voice, sweep};
use crate::retention::Retention;
use crate::run_folder::RunFolder;
use crate::text_writer::{self, TextOrder, TextReader};
use crate::workspace::WorkspaceIdentity;
use crate::{notify, secrets};

/// The orders of one run that are under way.
#[derive(Debug)]
pub(crate) struct Executor {
    run: RunFolder,
    workspace: WorkspaceIdentity,
    open: Vec<OpenOrder>,
    /// Orders to do nothing.
    holds: Vec<OrderId>,
    retention: Retention,
    ledger: RunLedger,
    /// Contains all processes that are started, with the name of its kind; made with the first order that starts one.
    containment: Option<(String, Containment)>,
    /// The thread for checkpoints; started with the first order for it.
    checkpoints: Option<CheckpointWorker>,
    /// Which files the gate opens that runs before the first iteration.
    watching: Option<BaselineWatch>,
    /// Branches of a run that is stuck: a process that is not contained here, since each branch has its own containment.
    branches: Option<OpenBranches>,
    /// Hashes of the programs of the gates.
    hashes: ProgramHashes,
    /// Whether the checkpoint of the start was there before this process started an agent.
    had_start: bool,
    /// Events for the next poll.
    ready: Vec<Event>,
}

/// An order with a process.
#[derive(Debug)]
struct OpenOrder {
    id: OrderId,
    task: Task,
    work: Work,
}

/// What is done with the output and the end of the process.
#[derive(Debug)]
enum Work {
    Agent(Box<AgentWork>),
    Gate(Box<GateWork>),
    /// With the tools that are known already.
    Certify(Box<KnownTools>, Option<Box<ChangesSinceStart>>),
    Judge(JudgeWork),
    Text(Box<TextWork>),
    Notify,
}

#[derive(Debug)]
struct TextWork {
    reader: TextReader,
    /// What is settled at its end.
    call: Option<CallRecord>,
}

#[derive(Debug)]
struct GateWork {
    reader: GateReader,
    history: TestHistory,
    /// What its command names, where no agent has worked yet; else what of it is not what it was.
    programs: Vec<GateProgram>,
}

#[derive(Debug)]
struct AgentWork {
    reader: AttemptReader,
    /// The watch over its signs of life, where there is a limit.
    silence: Option<Silence>,
    /// What is settled at its end, where the call is in the ledger.
    call: Option<CallRecord>,
    /// Whether it was reported that it waits for its provider by itself.
    reported_retry: bool,
}

impl Work {
    /// Reads what the process wrote, and shows it.
    fn read(&mut self, voice: Voice, bytes: &[u8], show: &mut dyn FnMut(&[u8])) {
        match self {
            Self::Agent(agent) => match agent.reader.push(voice, bytes) {
                Some(text) if text.is_empty() => return,
                Some(text) => return show(text.as_bytes()),
                None => {}
            },
            Self::Gate(gate) => gate.reader.push(voice, bytes),
            // Its report is not for people.
            Self::Judge(work) => return work.read(voice, bytes),
            Self::Text(work) => return work.reader.push(voice, bytes),
            Self::Certify(..) | Self::Notify => {}
        }
        show(bytes);
    }

    fn answer(self, end: TaskEnd) -> Answer {
        match self {
            Self::Agent(agent) => agent.reader.answer(end),
            Self::Gate(gate) => gate.answer(end),
            Self::Certify(known, between) => opportunity::with(tools::answer(*known, end), between.as_deref()),
            Self::Judge(work) => work.answer(end),
            Self::Text(work) => work.reader.answer(end),
            Self::Notify => notify::answer(&end),
        }
    }
}

impl GateWork {
    fn answer(self, end: TaskEnd) -> Answer {
        match self.reader.finish(end) {
            Ok(GateTry { report, tests }) => match tests.map(|tests| self.history.add(&tests)).transpose() {
                Ok(tests) => {
                    let tests = tests.map(Box::new);
                    Answer::GateEnded(GateReport { tests, programs: self.programs, ..report })
                }
                Err(error) => Answer::Failed { what: error.to_string() },
            },
            Err(GateFailure::NotEnded(left)) => Answer::Lost { left },
            Err(GateFailure::NotStored(what)) => Answer::Failed { what },
        }
    }
}

impl AgentWork {
    /// What is new while it works: that it waits for its provider by itself, that it shows no sign of life.
    fn notices(&mut self, order: OrderId, task: &Task, has_written: bool) -> Vec<Notice> {
        let is_new_retry = self.reader.is_retrying() && !std::mem::replace(&mut self.reported_retry, true);
        // The processor time of our own process would be taken for that of an agent in a container.
        let in_container = self.reader.is_in_container();
        let silence = self.silence.as_mut().is_some_and(|silence| {
            if has_written {
                silence.output_came();
            }
            silence.is_over(Instant::now(), || if in_container { 0 } else { task.ticks() })
        });
        let retrying = is_new_retry.then_some(Notice::Retrying { order });
        retrying.into_iter().chain(silence.then_some(Notice::Silent { order })).collect()
    }
}

impl Executor {
    pub(crate) fn new(run: RunFolder, workspace: WorkspaceIdentity) -> Self {
        Self {
            retention: Retention::new(&run),
            ledger: RunLedger::new(&run),
            run,
            workspace,
            open: Vec::new(),
            holds: Vec::new(),
            containment: None,
            checkpoints: None,
            watching: None,
            branches: None,
            hashes: ProgramHashes::default(),
            had_start: false,
            ready: Vec::new(),
        }
    }

    /// Begins an order that `state` contains already. Exactly one answer comes, now or later.
    pub(crate) fn begin(&mut self, id: OrderId, order: &Order, state: &RunState) -> Option<Event> {
        let in_workspace = matches!(
            order,
            Order::RunAgent { .. }
                | Order::RunGate { .. }
                | Order::Certify { .. }
                | Order::Judge { tree: JudgedTree::Hidden { in_copy: false, .. }, .. }
        );
        if matches!(order, Order::RunAgent { .. }) {
            self.look_for_start(state);
        }
        let refused = self.replaced().filter(|_| in_workspace).or_else(|| self.start_is_another(order, state));
        if let Some(answer) = refused {
            return Some(Event::Answered { order: id, answer });
        }
        let begun = match order {
            Order::CleanUp { processes } => {
                let swept = sweep(self.run.id.as_str(), &self.run.register(), processes);
                Err(attempt_container::clean_up(&self.run, swept))
            }
            Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Guard { .. }
            | Order::Rollback { .. } => match self.begin_checkpoint(id, order, state) {
                None => return None,
                Some(answer) => Err(answer),
            },
            Order::Hold { .. } => {
                self.holds.push(id);
                return None;
            }
            Order::Reserve { wanted } => {
                let (answer, messages) = self.ledger.reserve(state, wanted);
                self.ready.extend(messages.into_iter().map(message));
                Err(answer)
            }
            Order::Judge { tree, .. } => {
                let started = self.contained(state, |executor, containment| {
                    judge::start(&executor.run, state, id, *tree, containment)
                });
                started.map(|(task, work)| OpenOrder { id, task, work: Work::Judge(work) })
            }
            Order::Certify { .. } => self.certify(id, state),
            Order::RunAgent { reservation, .. } => match self.ledger.begin(state, *reservation) {
                Ok(call) => self.run_agent(id, order, state, call),
                Err(answer) => Err(answer),
            },
            Order::WriteText { .. } => self.write_text(id, order, state),
            Order::RunGate { gate, .. } => self.run_gate(id, *gate, state),
            Order::Branches { rung, branches, .. } => {
                return Some(self.try_branches(id, *rung, branches, state));
            }
            Order::Notify { result, text } => {
                let output = self.run.path.join("notify");
                let task =
                    self.contained(state, |_, containment| notify::start(state, result, text, output, containment));
                task.map(|task| OpenOrder { id, task, work: Work::Notify })
            }
        };
        Some(match begun {
            Err(answer) => Event::Answered { order: id, answer },
            Ok(open) => {
                let process = open.task.process();
                self.open.push(open);
                Event::Noticed(Notice::Started { order: id, process })
            }
        })
    }

    fn write_text(&mut self, id: OrderId, order: &Order, state: &RunState) -> Result<OpenOrder, Answer> {
        let Order::WriteText { purpose, choice, reservation } = order else {
            return Err(Answer::Failed { what: "a bug of loop: this is not an order for a text".to_owned() });
        };
        let call = self.ledger.begin_text(state, choice, *reservation)?;
        let asked = TextOrder { order: id, purpose: *purpose };
        let (task, reader) = self.contained(state, |executor, containment| {
            text_writer::start(&executor.run, state, asked, choice, containment)
        })?;
        Ok(OpenOrder { id, task, work: Work::Text(Box::new(TextWork { reader, call })) })
    }

    fn try_branches(&mut self, id: OrderId, rung: u32, branches: &[BranchPlan], state: &RunState) -> Event {
        match OpenBranches::start(id, rung, branches, &self.run, state) {
            Ok(open) => {
                let process = open.process();
                self.branches = Some(open);
                Event::Noticed(Notice::Started { order: id, process })
            }
            Err(error) => {
                let trouble = Some(format!("the branches could not be started: {error}"));
                let report = BranchesReport { trouble, ..BranchesReport::default() };
                Event::Answered { order: id, answer: Answer::Branches(Box::new(report)) }
            }
        }
    }

    fn certify(&mut self, id: OrderId, state: &RunState) -> Result<OpenOrder, Answer> {
        let output = self.run.gate(state.iteration, id);
        let known = KnownTools::of(&self.run, state, self.workspace.path(), self.git_tree(state));
        let known = Box::new(known);
        let task = self.contained(state, |executor, containment| {
            tools::start(state, &executor.workspace, output, &known, containment)
        });
        let between = self.since_start(state);
        match task {
            Ok(task) => Ok(OpenOrder { id, task, work: Work::Certify(known, between) }),
            Err(answer) => Err(opportunity::with(answer, between.as_deref())),
        }
    }

    /// The answer where another folder is in the place of the workspace: what is there is not judged.
    fn replaced(&self) -> Option<Answer> {
        self.workspace.check().err().map(|replaced| Answer::Failed { what: replaced.to_string() })
    }

    /// Remembers whether the checkpoint of the start is there. Retention removes none of a loop at work, so one that is
    /// missing later was removed by somebody else, whatever the store says of it.
    fn look_for_start(&mut self, state: &RunState) {
        let Some(spec) = state.spec.as_ref().filter(|spec| !self.had_start && spec.has_checkpoints()) else { return };
        self.had_start = matches!(tree_named(&self.run.checkpoints(spec), INITIAL), Ok(Some(_)));
    }

    /// The answer where the checkpoint of the start is not the one that the journal names: what the agent changed would
    /// not be seen.
    fn start_is_another(&self, order: &Order, state: &RunState) -> Option<Answer> {
        let is_judged = matches!(order, Order::Judge { .. } | Order::Certify { .. });
        let spec = state.spec.as_ref().filter(|spec| is_judged && spec.has_checkpoints() && state.iteration > 0)?;
        let known = state.checkpoints.initial_tree()?;
        let what = match tree_named(&self.run.checkpoints(spec), INITIAL) {
            Ok(Some(now)) if now == known => return None,
            Ok(None) if !self.had_start => return None,
            Ok(None) => "the checkpoint of the start was removed from the store while the loop ran".to_owned(),
            Ok(Some(_)) => "the checkpoint of the start is not the one that was recorded".to_owned(),
            Err(error) => format!("the checkpoint of the start cannot be read: {error}"),
        };
        let is_judge = matches!(order, Order::Judge { .. });
        Some(if is_judge { Answer::Blocked { why: what } } else { Answer::Failed { what } })
    }

    fn run_agent(
        &mut self,
        id: OrderId,
        order: &Order,
        state: &RunState,
        call: Option<CallRecord>,
    ) -> Result<OpenOrder, Answer> {
        let Order::RunAgent { iteration, attempt, choice, notes, injected, session, .. } = order else {
            return Err(Answer::Failed { what: "a bug of loop: this is not an order for an agent".to_owned() });
        };
        let (task, reader) = self
            .contained(state, |executor, containment| {
                let request = AttemptRequest {
                    iteration: *iteration,
                    attempt: *attempt,
                    choice: choice.clone(),
                    notes: notes.clone(),
                    injected: *injected,
                };
                let input = AttemptInput { request: &request, session: session.as_deref() };
                attempt::start(&executor.run, state, input, &executor.workspace, containment)
            })
            .inspect_err(|answer| {
                if let Answer::AgentEnded(report) = answer
                    && let Ended::NotStarted(why) = &report.ended
                {
                    self.ready.push(message(format!("{} was not started: {why}", choice.agent)));
                }
            })?;
        let limit = state.settings.shown().idle_timeout_ms.map(Duration::from_millis);
        let silence = limit.map(|limit| Silence::new(limit, self.workspace.path()));
        let work = Work::Agent(Box::new(AgentWork { reader, silence, call, reported_retry: false }));
        Ok(OpenOrder { id, task, work })
    }

    fn run_gate(&mut self, id: OrderId, number: u32, state: &RunState) -> Result<OpenOrder, Answer> {
        let gate = usize::try_from(number).ok().and_then(|at| state.settings.shown().gates.get(at));
        let Some(gate) = gate else {
            return Err(Answer::Failed { what: format!("there is no gate {number}") });
        };
        let output = self.run.gate(state.iteration, id);
        // Before the agent works, whatever the round is called.
        let is_first = state.iteration == 0;
        let known = state.gates.get(number);
        let programs = match known.filter(|_| !is_first) {
            Some(known) => changed_since(known.first_programs(), self.workspace.path(), &mut self.hashes),
            None if is_first => programs_of(&gate.command, self.workspace.path(), &mut self.hashes),
            None => Vec::new(),
        };
        // Watched only before iteration 1: what the gate opens then, no agent has chosen.
        let spec = state.spec.as_ref();
        self.watching = spec
            .filter(|_| is_first)
            .map(|spec| BaselineWatch::begin(&self.run, spec, gate, &state.settings.shown().gates));
        let task = self.contained(state, |executor, containment| {
            let workspace = &executor.workspace;
            let (folder, same, secrets) = (workspace.path(), workspace.id(), secrets::of(state));
            let context = GateContext { folder, same, is_copy: false, secrets, variables: Vec::new() };
            let started = context.start(gate, output, containment);
            // It may have been replaced since it was compared; then it was not started there.
            started.map_err(|report| executor.replaced().unwrap_or(Answer::GateEnded(report)))
        });
        let task = task.inspect_err(|_| self.watching = None)?;
        let history = TestHistory::of(&self.run, state, number, id);
        let work = Work::Gate(Box::new(GateWork { reader: GateReader::default(), history, programs }));
        Ok(OpenOrder { id, task, work })
    }

    /// The git tree of the newest checkpoint; none where there is none, or it cannot be read.
    fn git_tree(&self, state: &RunState) -> Option<String> {
        let spec = state.spec.as_ref().filter(|spec| spec.has_checkpoints())?;
        git_tree(&self.run.checkpoints(spec), state.checkpoints.newest()?).ok()
    }

    /// What is compared to see what the agent changed; none without checkpoints.
    fn since_start(&self, state: &RunState) -> Option<Box<ChangesSinceStart>> {
        let spec = state.spec.as_ref().filter(|spec| spec.has_checkpoints() && state.iteration > 0)?;
        let newest = state.checkpoints.newest()?.to_owned();
        let commands = state.gates.required().map(|gate| gate.spec().command.clone()).collect();
        let gate_files = [state.guard.learned(), state.guard.left()].concat();
        let permitted = Permitted::of(state, &self.run.path);
        let context = self.run.checkpoints(spec);
        let tests_ran = tests_ran_at_start(state);
        Some(Box::new(ChangesSinceStart { context, newest, commands, gate_files, permitted, tests_ran }))
    }

    /// Gives an order about checkpoints to their thread. Without checkpoints most are answered at once.
    fn begin_checkpoint(&mut self, id: OrderId, order: &Order, state: &RunState) -> Option<Answer> {
        // Protected files are guarded, and changes measured, without checkpoints too.
        let always = matches!(
            order,
            Order::Guard { .. } | Order::Measure { .. } | Order::Checkpoint { name: CheckpointName::Initial }
        );
        let spec = state.spec.as_ref().filter(|spec| spec.has_checkpoints() || always);
        let Some(spec) = spec else {
            return Some(if let Order::Checkpoint { .. } = order {
                Answer::Checkpoint(CheckpointReport::default())
            } else {
                Answer::Refused { why: "this loop keeps no checkpoints".to_owned() }
            });
        };
        if self.checkpoints.is_none() {
            match CheckpointWorker::new(self.run.checkpoints(spec), &self.run, self.workspace.clone()) {
                Ok(worker) => self.checkpoints = Some(worker),
                Err(error) => return Some(Answer::Blocked { why: format!("no checkpoints: {error}") }),
            }
        }
        self.checkpoints.as_ref()?.begin(id, order, state);
        None
    }

    /// Starts something with its processes contained.
    fn contained<T>(
        &mut self,
        state: &RunState,
        start: impl FnOnce(&Self, &mut Containment) -> Result<T, Answer>,
    ) -> Result<T, Answer> {
        let word = state.settings.shown().values.agent.containment.word();
        // Its kind changes only when nothing is under way; the old one goes first.
        if self.open.is_empty() && self.containment.as_ref().is_some_and(|(known, _)| known != word) {
            self.containment = None;
        }
        if self.containment.is_none() && self.run.register().exists() {
            // The shim of an earlier driver must not end our processes together with its own.
            if let Answer::Lost { left } = sweep(self.run.id.as_str(), &self.run.register(), &[]) {
                return Err(Answer::Lost { left });
            }
        }
        let mut containment = match self.containment.take() {
            Some((_, containment)) => containment,
            None => Containment::new(self.run.id.as_str(), word, Some(self.run.register()))
                .map_err(|error| Answer::Failed { what: format!("no containment: {error}") })?,
        };
        let started = start(self, &mut containment);
        self.ready.extend(containment.take_remarks().into_iter().map(message));
        self.containment = Some((word.to_owned(), containment));
        started
    }

    /// Suspends all processes, or lets them continue.
    pub(crate) fn freeze(&mut self, still: bool) {
        self.open.iter_mut().for_each(|open| open.task.freeze(still));
        self.branches.iter().for_each(|open| open.freeze(still));
    }

    /// A person who wants the run to stop after the iteration wants that of its branches, too.
    pub(crate) fn on_fact(&mut self, fact: &Fact) {
        let Fact::Happened(input) = fact else { return };
        if matches!(input.event, Event::Requested { request: Request::Stop, .. }) {
            self.branches.iter().for_each(OpenBranches::stop);
        }
    }

    /// Ends an order early; its answer still comes.
    pub(crate) fn cancel(&mut self, id: OrderId) {
        if let Some(at) = self.holds.iter().position(|hold| *hold == id) {
            self.holds.swap_remove(at);
            self.ready.push(Event::Answered { order: id, answer: Answer::Held });
        }
        if let Some(branches) = self.branches.as_mut().filter(|open| open.id == id) {
            return branches.cancel();
        }
        let mut open = self.open.iter_mut().filter(|open| open.id == id).peekable();
        if let (None, Some(worker)) = (open.peek(), &self.checkpoints) {
            worker.cancel();
        }
        open.for_each(|open| open.task.cancel());
    }

    /// Kills the processes of an order that was cancelled and does not end; its answer still comes.
    pub(crate) fn kill(&mut self, id: OrderId) {
        self.open.iter_mut().filter(|open| open.id == id).for_each(|open| open.task.cut());
        self.branches.iter_mut().filter(|open| open.id == id).for_each(OpenBranches::kill);
    }

    /// What is known from the live stream of the agent that works.
    pub(crate) fn live(&self) -> Option<&LiveDigest> {
        self.open.iter().find_map(|open| match &open.work {
            Work::Agent(agent) => Some(agent.reader.digest()),
            Work::Gate(_) | Work::Certify(..) | Work::Judge(_) | Work::Text(_) | Work::Notify => None,
        })
    }

    /// The handles to wait on.
    pub(crate) fn wants(&self) -> impl Iterator<Item = std::os::fd::BorrowedFd<'_>> {
        let containment = self.containment.iter().flat_map(|(_, containment)| containment.wants());
        let checkpoints = self.checkpoints.iter().map(CheckpointWorker::wants);
        let branches = self.branches.iter().flat_map(OpenBranches::fds);
        self.open.iter().flat_map(|open| open.task.wants()).chain(containment).chain(checkpoints).chain(branches)
    }

    /// How long to wait at most.
    pub(crate) fn wakes_in(&self, now: Instant) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let silence = |open: &OpenOrder| match &open.work {
            Work::Agent(agent) => agent.silence.as_ref().and_then(|silence| silence.wakes_in(now)),
            Work::Gate(_) | Work::Certify(..) | Work::Judge(_) | Work::Text(_) | Work::Notify => None,
        };
        let watch = self.watching.as_ref().map(BaselineWatch::wakes_in);
        let branches = self.branches.as_ref().and_then(|open| open.wakes_in(now));
        let orders = self.open.iter().flat_map(|open| [open.task.wakes_in(now), silence(open)]).flatten();
        orders.chain(watch).chain(branches).min()
    }

    /// Continues all orders without waiting; gives answers and notices.
    pub(crate) fn poll(&mut self, show: &mut dyn FnMut(&[u8])) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.ready);
        let done = self.checkpoints.iter().flat_map(CheckpointWorker::take);
        events.extend(done.map(|(order, answer)| Event::Answered { order, answer }));
        if let Some((order, answer)) =
            self.branches.as_mut().and_then(|open| open.poll(Instant::now()).map(|answer| (open.id, answer)))
        {
            self.branches = None;
            events.push(Event::Answered { order, answer });
        }
        self.watching.iter_mut().for_each(BaselineWatch::drain);
        let Some((_, containment)) = &mut self.containment else { return events };
        containment.check_shim();
        for mut open in std::mem::take(&mut self.open) {
            let OpenOrder { id, task, work } = &mut open;
            let before = task.written();
            let end = task.go_on(containment, &mut |voice, bytes| work.read(voice, bytes, show));
            let mut call = None;
            if let Work::Agent(agent) = work {
                let session = agent.reader.session().map(|session| Notice::Session { order: *id, id: session });
                events.extend(session.map(Event::Noticed));
                if end.is_none() {
                    let notices = agent.notices(*id, task, task.written() > before);
                    events.extend(notices.into_iter().map(Event::Noticed));
                } else {
                    call = agent.call.take();
                }
            }
            if let Work::Text(text) = work
                && end.is_some()
            {
                call = text.call.take();
            }
            let Some(end) = end else {
                self.open.push(open);
                continue;
            };
            let removed = self.retention.add(end.output.stdout_bytes + end.output.stderr_bytes, &self.run);
            events.extend(removed.into_iter().chain(end.remark.clone()).map(message));
            let watch = if let Work::Gate(..) = open.work { self.watching.take() } else { None };
            let mut answer = open.work.answer(end);
            if let Some(used) = watch.map(BaselineWatch::finish) {
                let gap = used.gap.map(|gap| format!("not all files that the gate opens are known: {}", gap.words()));
                events.extend(gap.map(message));
                let more = (used.more > 0).then(|| {
                    let (protected, more) = (used.files.len(), used.more);
                    format!("the gate uses {more} files more than the {protected} that are protected; changes of these are named")
                });
                events.extend(more.map(message));
                if let Answer::GateEnded(report) = &mut answer {
                    report.used = Some(Box::new(used));
                }
            }
            let not_written = call.and_then(|mut call| self.ledger.settle(&mut call, &answer));
            events.extend(not_written.map(message));
            events.push(Event::Answered { order: open.id, answer });
        }
        events
    }
}

fn message(text: String) -> Event {
    Event::Noticed(Notice::Message { text })
}
