//! The loop around `step`: wait for an event, decide, record, apply, hand orders to the executor.
//!
//! | file | does |
//! |---|---|
//! | `mod` | the loop, for any machine |
//! | `timer` | sleeps until a deadline of either clock |
//! | `run` | what is special about a run: its socket, signals, stop file, publishers |
//!
//! It decides nothing, and it knows no kind of event, order or fact.
mod run;
mod timer;

use std::collections::VecDeque;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use loop_core::control::{Call, Reply};
use loop_core::ids::OrderId;
use loop_core::machine::{self, Act, JournalEntry, Machine};
use loop_core::run::Run;
use loop_core::time::At;
use loop_core::view::LiveDigest;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::clock;
use crate::control::Asked;
use crate::journal::{Journal, JournalError};
use crate::signals;
use timer::Timers;

pub use run::{DriveError, drive};

/// Gets everything that a machine does, to show it. Its behaviour changes no decision.
pub trait Reporter<M: Machine = Run> {
    /// A line was written to the journal; `state` is the state after it.
    fn on_entry(&mut self, entry: &JournalEntry<M::Fact>, state: &M::State);
    /// The agent or a gate wrote something.
    fn on_output(&mut self, bytes: &[u8]);
    /// What is known from the live stream of the agent; comes before each drawing while an agent works.
    fn on_live(&mut self, live: &LiveDigest);
    /// How often it must be called to draw; none means never.
    fn tick(&self) -> Option<Duration>;
    /// Time to draw.
    fn draw(&mut self, state: &M::State, now: At);
}

/// Carries out the orders of a machine. Exactly one answer comes for each of them.
pub trait Executes<M: Machine> {
    /// Begins an order; `state` is the state after it. What comes back is its start or its answer.
    fn begin(&mut self, id: OrderId, order: &M::Order, state: &M::State) -> Option<M::Event>;
    /// Ends an order early; its answer still comes.
    fn cancel(&mut self, id: OrderId);
    /// Kills an order that was cancelled and has not ended; its answer still comes.
    fn kill(&mut self, id: OrderId);
    /// A fact was recorded that orders nothing, and that running work may have to know.
    fn on_fact(&mut self, _fact: &M::Fact) {}
    /// Freezes all running work (true), or lets it continue (false).
    fn freeze(&mut self, frozen: bool);
    /// Works on everything that is under way, and returns what came of it.
    fn poll(&mut self, on_output: &mut dyn FnMut(&[u8])) -> Vec<M::Event>;
    /// What is known from the live stream of the agent that works.
    fn live(&self) -> Option<&LiveDigest> {
        None
    }
    /// What wakes the driver.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;
    /// When it must be polled even if nothing wakes the driver.
    fn wakes_in(&self, now: Instant) -> Option<Duration>;
}

/// Where the other events of a machine come from: people, signals, files.
pub trait Sources<M: Machine> {
    /// Events that have come.
    fn poll(&mut self, state: &M::State) -> Vec<M::Event>;
    /// What was there already when the machine was opened. It is asked again until nothing comes.
    fn found(&mut self, _: &M::State) -> Vec<M::Event> {
        Vec::new()
    }
    /// The machine is not driven any further.
    fn close(&mut self, _: &M::State) {}
    /// Calls of other processes that have come.
    fn calls(&mut self) -> Vec<Asked>;
    /// What a call asks for, checked against the state; or why it is refused.
    ///
    /// # Errors
    /// Why it is refused.
    fn request(&mut self, call: &Call, state: &M::State) -> Result<M::Event, String>;
    /// Syncs the files that the requests of this turn name.
    ///
    /// # Errors
    /// When the system refuses.
    fn sync_requests(&mut self) -> io::Result<()>;
    /// Whether the person pressed Ctrl-Z.
    fn suspended(&mut self) -> bool;
    /// A line was written to the journal; `state` is the state after it.
    fn on_entry(&mut self, entry: &JournalEntry<M::Fact>, state: &M::State) -> Vec<M::Event>;
    /// What wakes the driver.
    fn fds(&self, state: &M::State) -> Vec<BorrowedFd<'_>>;
    /// When it must be polled even if nothing wakes the driver.
    fn wakes_in(&self, now: Instant) -> Option<Duration>;
}

/// A machine with its journal, state, executor and sources.
#[derive(Debug)]
pub struct Driver<M: Machine, E, S> {
    journal: Journal<M>,
    state: M::State,
    executor: E,
    sources: S,
    timers: Timers,
    drawn: Instant,
}

/// The result of one step.
struct Recorded<M: Machine> {
    entries: Vec<JournalEntry<M::Fact>>,
    /// What followed from it at once.
    events: Vec<M::Event>,
}

/// A call that will be answered when its facts are safe.
struct Taken {
    call: Asked,
    /// The index of its first fact among the facts of this turn.
    first: usize,
}

impl<M: Machine, E: Executes<M>, S: Sources<M>> Driver<M, E, S> {
    /// A driver of this journal, which is in this state.
    pub fn new(journal: Journal<M>, state: M::State, executor: E, sources: S) -> Self {
        Self { journal, state, executor, sources, timers: Timers::new(), drawn: Instant::now() }
    }

    /// The state up to now.
    pub fn into_state(self) -> M::State {
        self.state
    }

    /// Drives the machine until it is at rest. `opening` are the first events.
    ///
    /// # Errors
    /// When the journal cannot be written, or something else wrote to it. What is under way is ended when the driver is
    /// dropped.
    pub fn run(
        &mut self,
        opening: impl IntoIterator<Item = M::Event>,
        reporter: &mut dyn Reporter<M>,
    ) -> Result<(), JournalError> {
        let ended = self.run_to_rest(opening, reporter);
        self.sources.close(&self.state);
        ended
    }

    fn run_to_rest(
        &mut self,
        opening: impl IntoIterator<Item = M::Event>,
        reporter: &mut dyn Reporter<M>,
    ) -> Result<(), JournalError> {
        let mut events: VecDeque<M::Event> = VecDeque::new();
        for event in opening {
            events.extend(self.take(event, reporter)?);
        }
        // It comes before the answers to the first orders, so that it counts for what is ordered after them.
        loop {
            let found = self.sources.found(&self.state);
            if found.is_empty() {
                break;
            }
            for event in found {
                events.extend(self.take(event, reporter)?);
            }
        }
        loop {
            while let Some(event) = events.pop_front() {
                events.extend(self.take(event, reporter)?);
            }
            if M::is_at_rest(&self.state) {
                return self.journal.close();
            }
            self.wait(reporter);
            if self.sources.suspended() {
                // The agent must not work while its loop is stopped.
                self.executor.freeze(true);
                signals::suspend();
                self.executor.freeze(false);
            }
            let calls = self.sources.calls();
            events.extend(self.answer_calls(calls, reporter)?);
            events.extend(self.sources.poll(&self.state));
            events.extend(self.executor.poll(&mut |bytes| reporter.on_output(bytes)));
            if machine::is_due::<M>(&self.state, clock::now()) {
                events.push_back(M::deadline_passed());
            }
        }
    }

    /// The calls of one turn: each is checked against what those before it changed, all are recorded with one sync, then
    /// each is answered with the number of its line.
    fn answer_calls(
        &mut self,
        calls: Vec<Asked>,
        reporter: &mut dyn Reporter<M>,
    ) -> Result<Vec<M::Event>, JournalError> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        let at = clock::now();
        let mut ahead = self.state.clone();
        let mut facts = Vec::new();
        let mut taken = Vec::new();
        for call in calls {
            match self.sources.request(&call.call, &ahead) {
                Err(why) => call.reply(&Reply::Refused { why }),
                Ok(event) => {
                    let new = machine::decide::<M>(&ahead, at, event);
                    new.iter().for_each(|fact| M::apply(&mut ahead, fact));
                    taken.push(Taken { call, first: facts.len() });
                    facts.extend(new);
                }
            }
        }
        if let Err(error) = self.sources.sync_requests() {
            let why = format!("it cannot be stored: {error}");
            taken.into_iter().for_each(|taken| taken.call.reply(&Reply::Refused { why: why.clone() }));
            return Ok(Vec::new());
        }
        let recorded = self.record(at, &facts, reporter)?;
        for Taken { call, first } in taken {
            call.reply(&Reply::Taken { seq: recorded.entries.get(first).map_or(0, |entry| entry.seq) });
        }
        Ok(recorded.events)
    }

    fn take(&mut self, event: M::Event, reporter: &mut dyn Reporter<M>) -> Result<Vec<M::Event>, JournalError> {
        let at = clock::now();
        let facts = machine::decide::<M>(&self.state, at, event);
        self.record(at, &facts, reporter).map(|recorded| recorded.events)
    }

    /// Record, apply, hand out.
    fn record(
        &mut self,
        at: At,
        facts: &[M::Fact],
        reporter: &mut dyn Reporter<M>,
    ) -> Result<Recorded<M>, JournalError> {
        let entries = self.journal.append(at, facts)?;
        let mut events = Vec::new();
        for entry in &entries {
            M::apply(&mut self.state, &entry.fact);
            reporter.on_entry(entry, &self.state);
            events.extend(self.sources.on_entry(entry, &self.state));
            self.executor.on_fact(&entry.fact);
        }
        for act in facts.iter().filter_map(M::act) {
            match act {
                Act::Begin(id, order) => events.extend(self.executor.begin(id, order, &self.state)),
                Act::Cancel(id) => self.executor.cancel(id),
                Act::Kill(id) => self.executor.kill(id),
            }
        }
        Ok(Recorded { entries, events })
    }

    /// Sleeps until something can be done: output, an end, a signal, a deadline, a tick.
    fn wait(&mut self, reporter: &mut dyn Reporter<M>) {
        let now = Instant::now();
        let by_poll = self.timers.set(machine::next_deadline::<M>(&self.state), M::next_wall_ms(&self.state));
        let tick = reporter.tick().map(|tick| (self.drawn + tick).saturating_duration_since(now));
        let wakes = [self.executor.wakes_in(now), self.sources.wakes_in(now), tick, by_poll];
        let most = wakes.into_iter().flatten().min().map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        let fds = self.executor.fds().into_iter().chain(self.sources.fds(&self.state)).chain(self.timers.fds());
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // If a signal interrupts it, its pipe is read in the next turn.
        poll(&mut fds, most.as_ref()).ok();
        if let Some(tick) = reporter.tick()
            && self.drawn.elapsed() >= tick
        {
            self.drawn = Instant::now();
            if let Some(live) = self.executor.live() {
                reporter.on_live(live);
            }
            reporter.draw(&self.state, clock::now());
        }
    }
}
