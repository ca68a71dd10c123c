//! Drives one run: the only caller of [`step`] outside tests. It has no opinions.
use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use loop_core::control::Reply;
use loop_core::run::{Act, Entry, Event, Fact, Input, Notice, Request, RunState, next_deadline, step};
use loop_core::time::{At, Deadline};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime};

use crate::clock;
use crate::control::{Asked, Control};
use crate::hands::Hands;
use crate::journal::{Journal, JournalError};
use crate::process::become_reaper;
use crate::publish::{self, Publisher};
use crate::requests::{self, Texts};
use crate::runs::{HeldRun, RunFolder};
use crate::signals::{self, Signals};
use crate::stop_file::StopFile;
use crate::terminal;

/// Who watches a run. Nothing is decided by what it does.
pub trait Reporter {
    /// A line was written to the journal; `state` has it taken in.
    fn on_entry(&mut self, entry: &Entry, state: &RunState);
    /// The agent or a gate wrote something.
    fn on_output(&mut self, bytes: &[u8]);
    /// How often it wants to be asked to draw; none means never.
    fn tick(&self) -> Option<Duration>;
    /// Time to draw.
    fn draw(&mut self, state: &RunState, now: At);
}

/// Drives the run until it is over and nothing is open any more. `opening` is what is said first.
///
/// # Errors
/// When the journal cannot be written. Everything that was under way has been ended then.
pub fn drive(
    run: HeldRun,
    workspace: &Path,
    opening: Vec<Event>,
    signals: Signals,
    reporter: &mut dyn Reporter,
) -> Result<RunState, JournalError> {
    let HeldRun { folder, journal, state, lock: _held, claim: _workspace } = run;
    // Without it orphans go to init and are found by their mark at the next opening.
    drop(become_reaper());
    // Without it the run works as well, and cannot be asked for anything.
    let control = Control::listen(&folder.socket(), folder.id.as_str());
    let deaf = control.as_ref().err().map(|error| format!("this loop cannot be asked for anything: {error}"));
    let control = control.ok();
    let setting = state.settings.shown().values.output.stop_file.as_deref();
    let stop_file = setting.map(|path| StopFile::new(workspace, path));
    let hands = Hands::new(folder.clone(), workspace);
    let timer = timerfd_create(TimerfdClockId::Boottime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok();
    let wall = timerfd_create(TimerfdClockId::Realtime, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK).ok();
    let drawn = Instant::now();
    let publishers = publish::of(&state, workspace, &folder.path);
    let mut driver =
        Driver { folder, journal, state, hands, publishers, control, stop_file, signals, timer, wall, drawn };
    let deaf = deaf.map(|text| Event::Noticed(Notice::Message { text }));
    driver.run(opening.into_iter().chain(deaf).collect(), reporter)?;
    Ok(driver.state)
}

struct Driver {
    folder: RunFolder,
    journal: Journal,
    state: RunState,
    hands: Hands,
    /// Those who write files for others of what is told.
    publishers: Vec<Box<dyn Publisher>>,
    control: Option<Control>,
    stop_file: Option<StopFile>,
    signals: Signals,
    timer: Option<OwnedFd>,
    /// Goes by the clock on the wall.
    wall: Option<OwnedFd>,
    drawn: Instant,
}

impl Driver {
    fn run(&mut self, mut events: VecDeque<Event>, reporter: &mut dyn Reporter) -> Result<(), JournalError> {
        loop {
            while let Some(event) = events.pop_front() {
                events.extend(self.take(event, reporter)?);
            }
            let rests = self.state.over.is_some() || self.state.is_for_one_request();
            if rests && self.state.orders.is_empty() {
                return Ok(());
            }
            self.wait(reporter);
            if self.signals.suspended() {
                // The agent does not work on behind the back of who stopped us.
                self.hands.freeze(true);
                signals::suspend();
                self.hands.freeze(false);
            }
            let asked = self.control.as_mut().map(Control::take).unwrap_or_default();
            events.extend(self.asked(asked, reporter)?);
            events.extend(self.signals.take());
            events.extend(self.stop_file.as_mut().and_then(|file| file.look(Instant::now())));
            events.extend(self.hands.go_on(&mut |bytes| reporter.on_output(bytes)));
            events.extend(self.key());
            if self.state.is_due(clock::now(), next_deadline(&self.state)) {
                events.push_back(Event::DeadlinePassed);
            }
        }
    }

    /// What people ask in one round: each judged by what those before it changed, written down with one
    /// sync, then answered with the number of its line.
    fn asked(&mut self, all: Vec<Asked>, reporter: &mut dyn Reporter) -> Result<Vec<Event>, JournalError> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let at = clock::now();
        let folder = self.folder.clone();
        let mut texts = Texts::new(&folder);
        let mut ahead = self.state.clone();
        let (mut facts, mut taken) = (Vec::new(), Vec::new());
        for asked in all {
            match requests::request_of(&asked.call, &ahead, &mut texts) {
                Err(why) => asked.reply(&Reply::Refused { why }),
                Ok(request) => {
                    let event = Event::Requested { request, by: requests::name_of(&asked.call.by) };
                    taken.push((asked, facts.len()));
                    facts.extend(step(&ahead, Input { at, event }));
                    let (_, first) = taken[taken.len() - 1];
                    facts[first..].iter().for_each(|fact| ahead.apply(fact));
                }
            }
        }
        if let Err(error) = texts.sync() {
            let why = format!("it cannot be kept: {error}");
            taken.into_iter().for_each(|(asked, _)| asked.reply(&Reply::Refused { why: why.clone() }));
            return Ok(Vec::new());
        }
        let (entries, events) = self.follow(at, &facts, reporter)?;
        for (asked, first) in taken {
            asked.reply(&Reply::Taken { seq: entries.get(first).map_or(0, |entry| entry.seq) });
        }
        Ok(events)
    }

    /// Step, write down, take in, hand out.
    fn take(&mut self, event: Event, reporter: &mut dyn Reporter) -> Result<Vec<Event>, JournalError> {
        let at = clock::now();
        let facts = step(&self.state, Input { at, event });
        self.follow(at, &facts, reporter).map(|(_, events)| events)
    }

    /// Write down, take in, hand out.
    fn follow(
        &mut self,
        at: At,
        facts: &[Fact],
        reporter: &mut dyn Reporter,
    ) -> Result<(Vec<Entry>, Vec<Event>), JournalError> {
        let entries = self.journal.append(at, facts)?;
        let mut events = Vec::new();
        for entry in &entries {
            self.state.apply(&entry.fact);
            reporter.on_entry(entry, &self.state);
            let warnings = self.publishers.iter_mut().filter_map(|publisher| publisher.on_entry(entry, &self.state));
            events.extend(warnings.map(|text| Event::Noticed(Notice::Message { text })));
        }
        for act in facts.iter().filter_map(Fact::act) {
            match act {
                Act::Begin(id, order) => events.extend(self.hands.begin(id, order, &self.state)),
                Act::Cancel(id) => self.hands.cancel(id),
                Act::Kill(id) => self.hands.cut(id),
            }
        }
        Ok((entries, events))
    }

    /// Sleeps until something can be done: output, an end, a signal, a deadline, a tick.
    fn wait(&mut self, reporter: &mut dyn Reporter) {
        let now = Instant::now();
        let deadline = next_deadline(&self.state);
        let by_timer = self.arm(deadline);
        let by_poll = deadline.filter(|_| !by_timer);
        let by_poll = by_poll.map(|deadline| Duration::from_millis(deadline.due_in_ms(clock::now())));
        let tick = reporter.tick().map(|tick| (self.drawn + tick).saturating_duration_since(now));
        let stop_file = self.stop_file.as_ref().map(|file| file.wakes_in(now));
        let most = [self.hands.wakes_in(now), tick, stop_file, by_poll].into_iter().flatten().min();
        let control = self.control.iter().flat_map(Control::wants);
        self.arm_wall();
        let timers = [&self.timer, &self.wall].into_iter().flatten().map(AsFd::as_fd);
        let keys = self.keys().then(rustix::stdio::stdin);
        let fds = self.hands.wants().chain(self.signals.wants()).chain(control).chain(timers).chain(keys);
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let most = most.map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        // Interrupted by a signal: its pipe says so in the next round.
        poll(&mut fds, most.as_ref()).ok();
        if let Some(tick) = reporter.tick()
            && self.drawn.elapsed() >= tick
        {
            self.drawn = Instant::now();
            reporter.draw(&self.state, clock::now());
        }
    }

    /// A stated time comes when the clock on the wall shows it, also when somebody sets that clock.
    fn arm_wall(&self) {
        let Some(timer) = &self.wall else { return };
        let until = self.state.waiting().map_or(0, |wait| i64::try_from(wait.until_ms).unwrap_or(0));
        let value = Timespec { tv_sec: until / 1000, tv_nsec: until % 1000 * 1_000_000 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        // Without it the deadline by the boot clock comes, later at worst.
        timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &once).ok();
    }

    /// Whether a key cuts short what is waited for: on a terminal that is ours at the moment.
    fn keys(&self) -> bool {
        self.state.waiting().is_some() && terminal::is_ours(rustix::stdio::stdin())
    }

    /// Enter, while a provider is waited for: a person wants to try.
    fn key(&self) -> Option<Event> {
        let pressed = self.keys() && terminal::line_is_there(rustix::stdio::stdin());
        pressed.then(|| Event::Requested { request: Request::Resume, by: "a key".to_owned() })
    }

    /// Sets the timer to the deadline, by the boot clock, which runs on in suspend. Without one it is
    /// set to never: a timer that has fired would wake us for ever.
    fn arm(&self, deadline: Option<Deadline>) -> bool {
        let Some(timer) = &self.timer else { return false };
        let due = |deadline: Deadline| i64::try_from(deadline.due_in_ms(clock::now())).unwrap_or(i64::MAX / 2).max(1);
        let ms = deadline.map_or(0, due);
        let value = Timespec { tv_sec: ms / 1000, tv_nsec: ms % 1000 * 1_000_000 };
        let once = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(timer, TimerfdTimerFlags::empty(), &once).is_ok()
    }
}
