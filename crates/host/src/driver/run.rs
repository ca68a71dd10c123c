//! Driving a run: its socket, signals, stop file, keys and publishers.
use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use loop_core::control::Call;
use loop_core::ids::OrderId;
use loop_core::run::{Entry, Event, Fact, Notice, Order, Request, Run, RunState};
use loop_core::view::LiveDigest;

use thiserror::Error;

use super::{Driver, Executes, Reporter, Sources};
use crate::control::{Asked, Control};
use crate::executor::Executor;
use crate::journal::JournalError;
use crate::process::become_reaper;
use crate::publish::{self, Publisher};
use crate::requests::{self, Texts};
use crate::run_folder::HeldRun;
use crate::signals::{CaughtSignal, Signals};
use crate::stop_file::StopFile;
use crate::surroundings::Around;
use crate::terminal;
use crate::workspace::WorkspaceIdentity;

/// The journal could not be written.
#[derive(Debug, Error)]
#[error("{error}")]
pub struct DriveError {
    /// Why.
    pub error: JournalError,
    /// The state up to there.
    pub state: Box<RunState>,
}

/// Drives the run until it is over and nothing is open any more. `opening` are the first events.
///
/// # Errors
/// When the journal cannot be written. Everything that was under way has been ended then.
pub fn drive(
    run: HeldRun,
    workspace: &Path,
    opening: Vec<Event>,
    signals: Signals,
    reporter: &mut dyn Reporter,
) -> Result<RunState, DriveError> {
    let identity = WorkspaceIdentity::of(workspace, run.claim.as_ref());
    let HeldRun { folder, journal, state, past, lock: _held, claim: _workspace } = run;
    // Without it orphans go to init and are found by their mark at the next opening.
    drop(become_reaper());
    // Without it the run works as well, and takes no requests.
    let control = Control::listen(&folder.socket(), folder.id.as_str());
    let warning = control.as_ref().err().map(|error| format!("this loop takes no requests: {error}"));
    let setting = state.settings.shown().values.output.stop_file.as_deref();
    let mut around = Around::new(&state, workspace, &folder);
    let found = around.opening(&state);
    let sources = RunSources {
        around,
        publishers: publish::of(&state, &folder, workspace, &past),
        control: control.ok(),
        stop_file: setting.map(|path| StopFile::new(workspace, path)),
        texts: Texts::new(&folder),
        signals,
    };
    drop(past);
    let mut driver = Driver::<Run, _, _>::new(journal, state, Executor::new(folder, identity), sources);
    let warning = warning.map(|text| Event::Noticed(Notice::Message { text }));
    match driver.run(opening.into_iter().chain(warning).chain(found), reporter) {
        Ok(()) => Ok(driver.into_state()),
        Err(error) => Err(DriveError { error, state: Box::new(driver.into_state()) }),
    }
}

struct RunSources {
    /// They write files for other programs.
    publishers: Vec<Box<dyn Publisher>>,
    control: Option<Control>,
    stop_file: Option<StopFile>,
    /// Inbox, variables of the harness, files that others change.
    around: Around,
    texts: Texts,
    signals: Signals,
}

impl RunSources {
    /// Whether a key ends a wait or a pause: only on a terminal that is ours at the moment. A question needs an answer.
    fn takes_keys(state: &RunState) -> bool {
        let holds = state.waiting().is_some() || (state.is_paused() && state.agent.question().is_none());
        holds && terminal::is_ours(rustix::stdio::stdin())
    }

    /// Enter, while the run waits for a provider or is paused: a person asks to continue at once.
    fn key(state: &RunState) -> Option<Event> {
        let pressed = Self::takes_keys(state) && terminal::line_is_there(rustix::stdio::stdin());
        pressed.then(|| Event::Requested { request: Request::Resume, by: "a key".to_owned() })
    }
}

/// What a signal asks of a run: to stop after the iteration, or now.
fn request_of_signal(signal: CaughtSignal) -> Event {
    let request = if signal.is_urgent { Request::Abort } else { Request::Stop };
    Event::Requested { request, by: signal.name.to_owned() }
}

impl Sources<Run> for RunSources {
    fn poll(&mut self, state: &RunState) -> Vec<Event> {
        let mut events: Vec<Event> = self.signals.take().into_iter().map(request_of_signal).collect();
        events.extend(self.stop_file.as_mut().and_then(|file| file.look(Instant::now())));
        events.extend(Self::key(state));
        events.extend(self.around.look(Instant::now(), state, &mut self.texts));
        events
    }

    fn found(&mut self, state: &RunState) -> Vec<Event> {
        self.around.found(state, &mut self.texts)
    }

    fn close(&mut self, state: &RunState) {
        self.around.close(state);
    }

    fn calls(&mut self) -> Vec<Asked> {
        self.control.as_mut().map(Control::take).unwrap_or_default()
    }

    fn request(&mut self, call: &Call, state: &RunState) -> Result<Event, String> {
        let request = requests::request_of(call, state, &mut self.texts)?;
        Ok(Event::Requested { request, by: requests::name_of(&call.by) })
    }

    fn sync_requests(&mut self) -> io::Result<()> {
        self.texts.sync()
    }

    fn suspended(&mut self) -> bool {
        self.signals.suspended()
    }

    fn on_entry(&mut self, entry: &Entry, state: &RunState) -> Vec<Event> {
        let warnings = self.publishers.iter_mut().filter_map(|publisher| publisher.on_entry(entry, state));
        let warnings = warnings.map(|text| Event::Noticed(Notice::Message { text }));
        warnings.chain(self.around.on_entry(entry, state)).collect()
    }

    fn fds(&self, state: &RunState) -> Vec<BorrowedFd<'_>> {
        let control = self.control.iter().flat_map(Control::wants);
        let keys = Self::takes_keys(state).then(rustix::stdio::stdin);
        self.signals.wants().chain(control).chain(keys).chain(self.around.fds()).collect()
    }

    fn wakes_in(&self, now: Instant) -> Option<Duration> {
        let stop = self.stop_file.as_ref().map(|file| file.wakes_in(now));
        stop.into_iter().chain(self.around.wakes_in(now)).min()
    }
}

impl Executes<Run> for Executor {
    fn begin(&mut self, id: OrderId, order: &Order, state: &RunState) -> Option<Event> {
        self.begin(id, order, state)
    }

    fn cancel(&mut self, id: OrderId) {
        self.cancel(id);
    }

    fn kill(&mut self, id: OrderId) {
        self.kill(id);
    }

    fn on_fact(&mut self, fact: &Fact) {
        self.on_fact(fact);
    }

    fn freeze(&mut self, still: bool) {
        self.freeze(still);
    }

    fn poll(&mut self, on_output: &mut dyn FnMut(&[u8])) -> Vec<Event> {
        self.poll(on_output)
    }

    fn live(&self) -> Option<&LiveDigest> {
        self.live()
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.wants().collect()
    }

    fn wakes_in(&self, now: Instant) -> Option<Duration> {
        self.wakes_in(now)
    }
}
