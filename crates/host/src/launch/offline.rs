//! A request to a run that has no driver: the run is opened for this one request and does not continue.
use std::time::Duration;

use loop_core::run::{
    Answer, Change, CheckpointReport, Entry, Event, Fact, NoteChange, Request, RollbackReport, RunState,
};
use loop_core::time::At;
use loop_core::view::LiveDigest;

use super::caller::LaunchNote;
use crate::changes::{ChangeForm, RunActivity, check_changes};
use crate::driver::{DriveError, Reporter, drive};
use crate::index;
use crate::paths::{Home, path_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::requests;
use crate::run_folder::{HeldRun, RunFolder, StartLock};
use crate::signals::Signals;
use crate::workspace::claim;

/// The result of a request about checkpoints.
#[derive(Debug, Clone)]
pub enum RequestOutcome {
    /// The checkpoint is recorded.
    Saved(CheckpointReport),
    /// The workspace is restored.
    RolledBack(Box<RollbackReport>),
    /// Nothing was changed.
    Refused(String),
    /// It is not done, and a person must fix something.
    Blocked(String),
}

impl RequestOutcome {
    /// What an answer says about checkpoints; none if it is another order's.
    #[must_use]
    pub fn of(answer: &Answer) -> Option<Self> {
        match answer {
            Answer::ManualCheckpoint(saved) => Some(Self::Saved(saved.clone())),
            Answer::RolledBack(back) => Some(Self::RolledBack(back.clone())),
            Answer::Refused { why } => Some(Self::Refused(why.clone())),
            Answer::Blocked { why } | Answer::Failed { what: why } => Some(Self::Blocked(why.clone())),
            Answer::Lost { left } => Some(Self::Blocked(format!("could not be ended: {}", left.join(", ")))),
            Answer::Checkpoint(_)
            | Answer::Measurement(_)
            | Answer::AgentEnded(_)
            | Answer::GateEnded(_)
            | Answer::Cleaned { .. }
            | Answer::Held
            | Answer::TextEnded(_)
            | Answer::Reserved(_)
            | Answer::Guard(_)
            | Answer::Certify(_)
            | Answer::Judged(_)
            | Answer::Branches(_)
            | Answer::Notified { .. } => None,
        }
    }
}

/// Stores a text for the next prompt of a run that has no driver. The run is locked from the first check to the record,
/// so that no text gets the number of another.
///
/// # Errors
/// When a process drives the run, it cannot be resumed, or the text is refused.
pub fn inject(home: &Home, folder: &RunFolder, text: &str, keep: bool) -> Result<(), LaunchRefusal> {
    let held = hold_resumable(folder, "there will be no next prompt")?;
    let injected = requests::injection(&held.folder, &held.state, text, keep).map_err(|why| text_refused(&why))?;
    let by = "loop inject";
    let event = Event::Requested { request: Request::Inject(injected), by: by.to_owned() };
    open(home, held, by, event, &mut RequestReporter { outcome: None, notes: &mut |_| {} })
}

/// Adds or strikes a note of a run that has no driver: its prompts have it from its next resume on.
///
/// # Errors
/// When a process drives the run, it cannot be resumed, or the note is refused.
pub fn note(home: &Home, folder: &RunFolder, change: &NoteChange) -> Result<(), LaunchRefusal> {
    let held = hold_resumable(folder, "there will be no next prompt")?;
    let change = requests::note(change, &held.state).map_err(|why| text_refused(&why))?;
    let by = "loop inject";
    let event = Event::Requested { request: Request::Note(change), by: by.to_owned() };
    open(home, held, by, event, &mut RequestReporter { outcome: None, notes: &mut |_| {} })
}

/// A text that is not taken.
pub(super) fn text_refused(why: &str) -> LaunchRefusal {
    LaunchRefusal::wrong("the text cannot be used").because(why.to_owned()).hint("loop inject --help")
}

/// Changes settings of a run that has no driver: they hold from its next resume on. Returns the changes as they were
/// recorded, with whole values and what they imply.
///
/// # Errors
/// When a process drives the run, it cannot be resumed, or a change cannot be made.
pub fn set(home: &Home, folder: &RunFolder, changes: &[Change]) -> Result<Vec<Change>, LaunchRefusal> {
    let held = hold_resumable(folder, "no setting of it can have an effect")?;
    let checked = check_changes(changes, &held.state, RunActivity::Stopped, ChangeForm::Pairs)?;
    let by = "loop set";
    let event = Event::Requested { request: Request::Set(checked.changes.clone()), by: by.to_owned() };
    open(home, held, by, event, &mut RequestReporter { outcome: None, notes: &mut |_| {} })?;
    Ok(checked.changes)
}

/// Holds a run that has no driver and can be resumed.
fn hold_resumable(folder: &RunFolder, else_why: &str) -> Result<HeldRun, LaunchRefusal> {
    let held = folder.clone().hold()?;
    let id = &held.folder.id;
    if held.state.spec.is_none() {
        return Err(LaunchRefusal::wrong("the loop never began").hint("loop list"));
    }
    if !held.state.resumable() {
        return Err(LaunchRefusal::wrong(format!("loop {id} has ended and cannot be resumed"))
            .because(else_why.to_owned())
            .hint(format!("loop history {id}")));
    }
    Ok(held)
}

/// Opens a run that has no driver for one request that needs its workspace, and returns the answer.
///
/// # Errors
/// When another process drives it, its workspace cannot be claimed, or its journal cannot be written.
pub fn carry_out_request(
    home: &Home,
    folder: &RunFolder,
    by: &str,
    event: Event,
    notes: &mut dyn FnMut(LaunchNote),
) -> Result<RequestOutcome, LaunchRefusal> {
    let held = folder.clone().hold()?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the loop never began").hint("loop list"));
    };
    let start = StartLock::take(home)?;
    let claimed = claim(home, &start, &spec.id, &spec.workspace)?;
    drop(start);
    let mut reporter = RequestReporter { outcome: None, notes };
    open(home, held.with_claim(claimed), by, event, &mut reporter)?;
    reporter.outcome.ok_or_else(|| LaunchRefusal::unable("it was cancelled").hint(format!("loop status {}", folder.id)))
}

/// Opens a run that has no driver for one request that is only recorded: its workspace is not touched.
///
/// # Errors
/// When another process drives it, or its journal cannot be written.
pub(super) fn record_request(home: &Home, folder: &RunFolder, by: &str, event: Event) -> Result<(), LaunchRefusal> {
    let held = folder.clone().hold()?;
    let mut reporter = RequestReporter { outcome: None, notes: &mut |_| {} };
    open(home, held, by, event, &mut reporter)
}

fn open(
    home: &Home,
    held: HeldRun,
    by: &str,
    event: Event,
    reporter: &mut RequestReporter<'_>,
) -> Result<(), LaunchRefusal> {
    let folder = held.folder.clone();
    let workspace = held.state.spec.as_ref().map(|spec| path_of(&spec.workspace.path)).unwrap_or_default();
    let signals = Signals::listen().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    let opening = vec![Event::OpenedForRequest { by: by.to_owned() }, event];
    let state = drive(held, &workspace, opening, signals, reporter).map_err(|DriveError { error, .. }| {
        LaunchRefusal::of(RefusalKind::Unable, &error).hint("make room or fix the disk, then try again")
    })?;
    index::note(home, &folder, &state);
    Ok(())
}

/// Remembers the answer.
struct RequestReporter<'a> {
    outcome: Option<RequestOutcome>,
    notes: &'a mut dyn FnMut(LaunchNote),
}

impl Reporter for RequestReporter<'_> {
    fn on_entry(&mut self, entry: &Entry, _: &RunState) {
        let Fact::Happened(input) = &entry.fact else { return };
        if let Event::Answered { answer, .. } = &input.event {
            self.outcome = RequestOutcome::of(answer).or(self.outcome.take());
        }
        if let Event::Requested { request: Request::Stop | Request::Abort, .. } = &input.event {
            let text = "what was begun is finished first, so that nothing is left half done";
            (self.notes)(LaunchNote::progress(text));
        }
    }

    fn on_output(&mut self, _: &[u8]) {}

    fn on_live(&mut self, _: &LiveDigest) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn draw(&mut self, _: &RunState, _: At) {}
}
