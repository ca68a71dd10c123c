//! Whoever carries orders out: one match from order to the module that does it.
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::ids::OrderId;
use loop_core::run::{Answer, CheckpointName, CheckpointReport, Event, Measurement, Notice, Order, RunState, Tool};

use crate::attempt::{self, Words};
use crate::attempt_container;
use crate::checkpoint_thread::CheckpointWorker;
use crate::paying::{Bill, Paying};
use crate::process::{Containment, Silence, Task, TaskEnd, Voice, sweep};
use crate::retention::Retention;
use crate::runs::RunFolder;
use crate::tests_seen::Judging;
use crate::{certify, notify, verify};

/// What is under way.
#[derive(Debug)]
pub(crate) struct Hands {
    run: RunFolder,
    workspace: PathBuf,
    open: Vec<Open>,
    /// Orders to do nothing.
    holds: Vec<OrderId>,
    retention: Retention,
    /// What calls cost.
    paying: Paying,
    /// Keeps everything together that is started; made with the first order that starts something.
    containment: Option<(String, Containment)>,
    /// Takes checkpoints, once one is due.
    keeping: Option<CheckpointWorker>,
    /// Answers that are there already.
    ready: Vec<Event>,
}

#[derive(Debug)]
struct Open {
    id: OrderId,
    task: Task,
    kind: OpenKind,
    /// The watch over its signs of life, where there is a limit.
    silence: Option<Silence>,
    /// What is to be settled at its end, where it costs something.
    bill: Option<Bill>,
    /// It was reported that it waits for its provider by itself.
    reported_retry: bool,
}

/// What to make of its end.
#[derive(Debug)]
enum OpenKind {
    Agent(Box<Words>),
    Gate(Box<Judging>),
    /// With what is known already.
    Certify(Vec<Tool>),
    Notify,
}

impl OpenKind {
    /// Takes what was written, and lets a person see what it means.
    fn hear(&mut self, voice: Voice, bytes: &[u8], heard: &mut dyn FnMut(&[u8])) {
        let text = match self {
            Self::Agent(words) => words.hear(voice, bytes),
            Self::Gate(judging) => {
                judging.hear(voice, bytes);
                None
            }
            Self::Certify(_) | Self::Notify => None,
        };
        match text {
            Some(text) if text.is_empty() => {}
            Some(text) => heard(text.as_bytes()),
            None => heard(bytes),
        }
    }

    fn session(&mut self) -> Option<String> {
        match self {
            Self::Agent(words) => words.session(),
            Self::Gate(_) | Self::Certify(_) | Self::Notify => None,
        }
    }

    fn retrying(&self) -> bool {
        match self {
            Self::Agent(words) => words.retrying(),
            Self::Gate(_) | Self::Certify(_) | Self::Notify => false,
        }
    }

    fn is_inside(&self) -> bool {
        match self {
            Self::Agent(words) => words.is_inside(),
            Self::Gate(_) | Self::Certify(_) | Self::Notify => false,
        }
    }

    fn answer(self, end: TaskEnd) -> Answer {
        match self {
            Self::Agent(words) => words.answer(end),
            Self::Gate(judging) => verify::answer(end, Some(*judging)),
            Self::Certify(tools) => certify::answer(tools, end),
            Self::Notify => notify::answer(&end),
        }
    }
}

impl Open {
    /// Says so, once, when its process has shown no sign of life for its limit.
    fn look_for_life(&mut self, written_before: u64) -> Option<Event> {
        let silence = self.silence.as_mut()?;
        if self.task.written() > written_before {
            silence.output_came();
        }
        // The processor time of our own process would be taken for the agent's.
        let (task, inside) = (&self.task, self.kind.is_inside());
        let silent = silence.is_over(Instant::now(), || if inside { 0 } else { task.ticks() });
        silent.then_some(Event::Noticed(Notice::Silent { order: self.id }))
    }
}

impl Hands {
    pub(crate) fn new(run: RunFolder, workspace: &Path) -> Self {
        let (retention, paying) = (Retention::new(&run), Paying::new(&run));
        let (workspace, open, ready) = (workspace.to_owned(), Vec::new(), Vec::new());
        Self { run, workspace, open, holds: Vec::new(), retention, paying, containment: None, keeping: None, ready }
    }

    /// Begins an order; `state` has it taken in. Exactly one answer comes, now or later.
    pub(crate) fn begin(&mut self, id: OrderId, order: &Order, state: &RunState) -> Option<Event> {
        let begun = match order {
            Order::CleanUp { processes } => {
                let swept = sweep(self.run.id.as_str(), &self.run.register(), processes);
                Err(attempt_container::cleaned(&self.run, swept))
            }
            Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Guard { .. }
            | Order::Rollback { .. } => match self.keep(id, order, state) {
                None => return None,
                Some(answer) => Err(answer),
            },
            Order::Hold { .. } => {
                self.holds.push(id);
                return None;
            }
            Order::Reserve { wanted } => {
                let (answer, said) = self.paying.reserve(state, wanted);
                self.ready.extend(said.into_iter().map(|text| Event::Noticed(Notice::Message { text })));
                Err(answer)
            }
            Order::Certify { .. } => self.certify(id, state),
            Order::RunAgent { reservation, .. } => match self.paying.begin(state, *reservation) {
                Ok(bill) => self.run_agent(id, order, state, bill),
                Err(answer) => Err(answer),
            },
            Order::RunGate { gate, .. } => {
                let task = self.contained(state, |hands, containment| {
                    let output = hands.run.gate(state.iteration, id);
                    verify::start(state, *gate, hands.workspace.clone(), output, containment)
                });
                let judging = Box::new(Judging::of(&self.run, state, (*gate, id)));
                task.map(|task| Open {
                    id,
                    task,
                    kind: OpenKind::Gate(judging),
                    silence: None,
                    bill: None,
                    reported_retry: false,
                })
            }
            Order::Notify { result, text } => {
                let task = self.contained(state, |hands, containment| {
                    notify::start(state, (result, text), hands.run.path.join("notify"), containment)
                });
                task.map(|task| Open {
                    id,
                    task,
                    kind: OpenKind::Notify,
                    silence: None,
                    bill: None,
                    reported_retry: false,
                })
            }
        };
        Some(match begun {
            Err(answer) => Event::Answered { order: id, answer },
            Ok(open) => self.started(open),
        })
    }

    fn run_agent(&mut self, id: OrderId, order: &Order, state: &RunState, bill: Option<Bill>) -> Result<Open, Answer> {
        let Order::RunAgent { notes, injected, session, .. } = order else {
            return Err(Answer::Failed { what: "a bug of loop: this is no order for an agent".to_owned() });
        };
        let begun = self.contained(state, |hands, containment| {
            let told = ((notes.as_slice(), *injected), session.as_deref());
            attempt::start(&hands.run, state, told, &hands.workspace, containment)
        });
        let limit = state.settings.shown().idle_timeout_ms.map(Duration::from_millis);
        let silence = limit.map(|limit| Silence::new(limit, &self.workspace));
        let agent = |(task, words)| Open {
            id,
            task,
            kind: OpenKind::Agent(Box::new(words)),
            silence,
            bill,
            reported_retry: false,
        };
        begun.map(agent)
    }

    /// Hands an order about checkpoints over; an answer is there already where nothing is kept.
    fn keep(&mut self, id: OrderId, order: &Order, state: &RunState) -> Option<Answer> {
        // Originals of protected files are kept in any case, and whether anything changed is looked at.
        let looks = matches!(
            order,
            Order::Guard { .. } | Order::Measure { .. } | Order::Checkpoint { name: CheckpointName::Initial }
        );
        let spec = state.spec.as_ref().filter(|spec| spec.has_checkpoints() || looks);
        let Some(spec) = spec else {
            // The step is there, and keeps nothing.
            return Some(match order {
                Order::Checkpoint { .. } => Answer::Checkpoint(CheckpointReport::default()),
                Order::Measure { .. } => Answer::Measurement(Measurement::default()),
                Order::ManualCheckpoint { .. }
                | Order::Rollback { .. }
                | Order::CleanUp { .. }
                | Order::RunAgent { .. }
                | Order::Hold { .. }
                | Order::RunGate { .. }
                | Order::Reserve { .. }
                | Order::Guard { .. }
                | Order::Certify { .. }
                | Order::Notify { .. } => Answer::Refused { why: "this loop keeps no checkpoints".to_owned() },
            });
        };
        if self.keeping.is_none() {
            match CheckpointWorker::new(self.run.checkpoints(spec), &self.run.path) {
                Ok(keeping) => self.keeping = Some(keeping),
                Err(error) => return Some(Answer::Blocked { why: format!("no checkpoints: {error}") }),
            }
        }
        self.keeping.as_ref()?.begin(id, order, state);
        None
    }

    /// Asks the programs that the gates name for their versions.
    fn certify(&mut self, id: OrderId, state: &RunState) -> Result<Open, Answer> {
        let task = self.contained(state, |hands, containment| {
            let output = hands.run.gate(state.iteration, id);
            certify::start(state, hands.workspace.clone(), output, containment)
        });
        task.map(|task| Open {
            id,
            task,
            kind: OpenKind::Certify(certify::unasked(state)),
            silence: None,
            bill: None,
            reported_retry: false,
        })
    }

    fn started(&mut self, open: Open) -> Event {
        let id = open.id;
        let process = open.task.process();
        self.open.push(open);
        Event::Noticed(Notice::Started { order: id, process })
    }

    /// Starts something where nothing of it can get away.
    fn contained<T>(
        &mut self,
        state: &RunState,
        start: impl FnOnce(&Self, &mut Containment) -> Result<T, Answer>,
    ) -> Result<T, Answer> {
        let word = state.settings.shown().values.agent.containment.word();
        // Another one can only be had when nothing is under way, and when the old one has gone.
        if self.open.is_empty() && self.containment.as_ref().is_some_and(|(known, _)| known != word) {
            self.containment = None;
        }
        if self.containment.is_none() && self.run.register().exists() {
            // Whoever kept an earlier driver's processes must not end ours with them.
            if let Answer::Lost { left } = sweep(self.run.id.as_str(), &self.run.register(), &[]) {
                return Err(Answer::Lost { left });
            }
        }
        let mut containment = match self.containment.take() {
            Some((_, containment)) => containment,
            None => Containment::new(self.run.id.as_str(), word, Some(self.run.register()))
                .map_err(|error| Answer::Failed { what: format!("no containment: {error}") })?,
        };
        let task = start(self, &mut containment);
        let said = containment.take_remarks().into_iter();
        self.ready.extend(said.map(|text| Event::Noticed(Notice::Message { text })));
        self.containment = Some((word.to_owned(), containment));
        task
    }

    /// Stops everything that is under way where it is, or lets it go on.
    pub(crate) fn freeze(&mut self, still: bool) {
        self.open.iter_mut().for_each(|open| open.task.freeze(still));
    }

    /// Ends an order early; its answer still comes.
    pub(crate) fn cancel(&mut self, id: OrderId) {
        if let Some(at) = self.holds.iter().position(|hold| *hold == id) {
            self.holds.swap_remove(at);
            self.ready.push(Event::Answered { order: id, answer: Answer::Held });
        }
        let mut tasks = self.open.iter_mut().filter(|open| open.id == id).peekable();
        if let (None, Some(keeping)) = (tasks.peek(), &self.keeping) {
            keeping.cancel();
        }
        tasks.for_each(|open| open.task.cancel());
    }

    /// Ends an order that was cancelled and takes its time; its answer still comes.
    pub(crate) fn cut(&mut self, id: OrderId) {
        self.open.iter_mut().filter(|open| open.id == id).for_each(|open| open.task.cut());
    }

    pub(crate) fn wants(&self) -> impl Iterator<Item = std::os::fd::BorrowedFd<'_>> {
        let containment = self.containment.iter().flat_map(|(_, containment)| containment.wants());
        let keeping = self.keeping.iter().map(CheckpointWorker::wants);
        self.open.iter().flat_map(|open| open.task.wants()).chain(containment).chain(keeping)
    }

    pub(crate) fn wakes_in(&self, now: Instant) -> Option<Duration> {
        if !self.ready.is_empty() {
            return Some(Duration::ZERO);
        }
        let silence = |open: &Open| open.silence.as_ref().and_then(|silence| silence.wakes_in(now));
        self.open.iter().flat_map(|open| [open.task.wakes_in(now), silence(open)]).flatten().min()
    }

    /// Goes on with everything; says what came to an end.
    pub(crate) fn go_on(&mut self, heard: &mut dyn FnMut(&[u8])) -> Vec<Event> {
        let mut events = std::mem::take(&mut self.ready);
        let kept = self.keeping.iter().flat_map(CheckpointWorker::take);
        events.extend(kept.map(|(order, answer)| Event::Answered { order, answer }));
        let Some((_, containment)) = &mut self.containment else { return events };
        containment.check_shim();
        let mut still_open = Vec::new();
        for mut open in self.open.drain(..) {
            let before = open.task.written();
            let kind = &mut open.kind;
            let ended = open.task.go_on(containment, &mut |voice, bytes| kind.hear(voice, bytes, heard));
            let session = open.kind.session().map(|session| Notice::Session { order: open.id, id: session });
            events.extend(session.map(Event::Noticed));
            if ended.is_none() && open.kind.retrying() && !open.reported_retry {
                open.reported_retry = true;
                events.push(Event::Noticed(Notice::Retrying { order: open.id }));
            }
            match ended {
                Some(end) => {
                    let said = self.retention.add(end.output.stdout_bytes + end.output.stderr_bytes, &self.run);
                    let said = said.into_iter().chain(end.remark.clone());
                    events.extend(said.map(|text| Event::Noticed(Notice::Message { text })));
                    let answer = open.kind.answer(end);
                    let unpaid = open.bill.as_ref().and_then(|bill| self.paying.settle(bill, &answer));
                    events.extend(unpaid.map(|text| Event::Noticed(Notice::Message { text })));
                    events.push(Event::Answered { order: open.id, answer });
                }
                None => {
                    events.extend(open.look_for_life(before));
                    still_open.push(open);
                }
            }
        }
        self.open = still_open;
        events
    }
}
