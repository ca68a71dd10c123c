//! What happens around a run while it works: a person's files in the inbox, the variables of the harness, files that
//! others change. Everything here is off unless a setting asks for it. It only reports; core decides.
//!
//! | file | what it does |
//! |---|---|
//! | `inbox` | takes files of the inbox: each once, whole, and never lost |
//! | `inbox_folder` | the folders of the inbox, by handle: names, claims, moves |
//! | `writers` | which files a process has open for writing |
//! | `work_times` | when processes of the run itself may have written a file |
//! | `variables` | `HARNESS_…` in `.harness/env` and in the environment |
//! | `others` | which files others created, changed, deleted or moved |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | inbox, `.harness/env`, edits by others | `host/surroundings/` reports; `core/run/surroundings.rs` remembers |
mod inbox;
mod inbox_folder;
mod others;
mod variables;
mod work_times;
mod writers;

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use loop_core::run::{AroundEvent, Entry, Event, Fact, Notice, RunState};

use self::inbox::Inbox;
use self::others::Others;
use self::variables::Variables;
use self::work_times::WorkTimes;
use crate::requests::Texts;
use crate::run_folder::RunFolder;

/// How often files are looked for: well within the second that is promised.
const LOOK_EVERY: Duration = Duration::from_millis(300);

/// Everything around one run that it looks at.
#[derive(Debug)]
pub(crate) struct Around {
    inbox: Option<Inbox>,
    variables: Option<Variables>,
    others: Option<Others>,
    work: WorkTimes,
    look_at: Instant,
}

impl Around {
    /// What the settings of a run ask for.
    pub(crate) fn new(state: &RunState, workspace: &Path, folder: &RunFolder) -> Self {
        let settings = &state.settings.shown().values.environment;
        let inbox = settings.enable_inbox.then(|| Inbox::new(workspace, &settings.inbox_path, folder));
        let others = if settings.watch_workspace { Others::new(state, workspace, folder) } else { None };
        Self {
            inbox,
            variables: settings.check_env_vars.then(|| Variables::new(workspace, folder)),
            others,
            work: WorkTimes::new(state),
            look_at: Instant::now(),
        }
    }

    /// What is known when the run is opened.
    pub(crate) fn opening(&mut self, state: &RunState) -> Vec<Event> {
        let variables = self.variables.iter_mut().flat_map(|variables| variables.opening(state, &self.work));
        variables.collect()
    }

    /// The next file that was in the inbox when the run was opened. Nothing when there is no further one.
    pub(crate) fn found(&mut self, state: &RunState, texts: &mut Texts) -> Vec<Event> {
        if state.over.is_some() || !state.is_driven() {
            return Vec::new();
        }
        self.inbox.iter_mut().flat_map(|inbox| inbox.opening(state, &self.work, texts)).collect()
    }

    /// The run is not driven any further: files that are under way go back to the inbox.
    pub(crate) fn close(&mut self, state: &RunState) {
        self.inbox.iter_mut().for_each(|inbox| inbox.close(state));
    }

    /// Looks around, if it is time.
    pub(crate) fn look(&mut self, now: Instant, state: &RunState, texts: &mut Texts) -> Vec<Event> {
        let mut events = Vec::new();
        if state.over.is_some() || !state.is_driven() {
            return events;
        }
        if let Some(others) = &mut self.others {
            events.extend(others.take(now));
        }
        let is_time = now >= self.look_at;
        if is_time {
            self.look_at = now + LOOK_EVERY;
            events.extend(self.variables.iter_mut().flat_map(|variables| variables.look(state, &self.work)));
            events.extend(self.inbox.iter_mut().flat_map(|inbox| inbox.look(now, state, &self.work)));
        }
        events.extend(self.inbox.as_mut().and_then(|inbox| inbox.take(state, texts)));
        events
    }

    /// A line was written to the journal; `state` is the state after it.
    pub(crate) fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Vec<Event> {
        self.work.on_entry(entry.at.wall_ms, state);
        let mut events: Vec<Event> = self.others.iter_mut().filter_map(|others| others.on_entry(state)).collect();
        if let (Fact::Happened(input), Some(inbox)) = (&entry.fact, &mut self.inbox)
            && let Event::Around(around) = &input.event
            && let AroundEvent::Inbox { file, .. } = around.as_ref()
        {
            events.extend(inbox.recorded(file).map(message));
        }
        events
    }

    /// What wakes the driver.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.others.iter().filter_map(Others::fd)
    }

    /// When it must look again.
    pub(crate) fn wakes_in(&self, now: Instant) -> Option<Duration> {
        if self.inbox.as_ref().is_some_and(Inbox::has_more) {
            return Some(Duration::ZERO);
        }
        let looks = self.inbox.is_some() || self.variables.is_some();
        let look = looks.then(|| self.look_at.saturating_duration_since(now));
        let others = self.others.as_ref().and_then(|others| others.wakes_in(now));
        look.into_iter().chain(others).min()
    }
}

fn around(event: AroundEvent) -> Event {
    Event::Around(Box::new(event))
}

fn message(text: String) -> Event {
    Event::Noticed(Notice::Message { text })
}
