//! What the verbs about checkpoints share: finding the store of a loop, and opening a loop for one request.
use std::sync::Arc;
use std::time::Duration;

use loop_core::run::{Answer, CheckpointReport, Entry, Event, Fact, Request, RollbackReport, RunState, meant};
use loop_core::time::At;
use loop_host::checkpoint::{self, CheckpointContext, CheckpointRow, RunCheckpoints};
use loop_host::driver::{Reporter, drive};
use loop_host::index;
use loop_host::paths::path_of;
use loop_host::run_folder::{RunFolder, StartLock};
use loop_host::signals::Signals;
use loop_host::workspace::claim;

use super::setup;
use crate::context::{Context, read_error, runs_error};
use crate::render::diff::brief;
use crate::render::error::{CommandError, Kind};
use crate::render::printer::Printer;

/// How many checkpoints an error names.
const NAMED_MAX: usize = 12;

/// The checkpoints of a loop and where it stands; refused where none are kept.
pub(crate) fn checkpoints_of(folder: &RunFolder) -> Result<(CheckpointContext, RunState), CommandError> {
    let state = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?.fold();
    let Some(spec) = state.spec.clone().filter(|spec| spec.has_checkpoints()) else {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} keeps no checkpoints", folder.id))
            .because("it was started with --checkpoint none")
            .hint("start with --checkpoint auto to be able to go back"));
    };
    Ok((folder.checkpoints(&spec), state))
}

/// The checkpoints of a loop, the oldest first.
pub(crate) fn listed(place: &CheckpointContext) -> Result<Vec<CheckpointRow>, CommandError> {
    checkpoint::listed(place).map_err(|error| {
        CommandError::new(Kind::Unable, "the checkpoints cannot be read").because(error.to_string()).hint("loop doctor")
    })
}

/// The checkpoint that a word means; refused where there is none.
pub(crate) fn find(folder: &RunFolder, word: &str) -> Result<(String, RunState), CommandError> {
    let (place, state) = checkpoints_of(folder)?;
    let listed = listed(&place)?;
    let names: Vec<String> = listed.into_iter().map(|listed| listed.name).collect();
    let wrong = |why: String| {
        let mut shown = names.clone();
        let more = shown.len().saturating_sub(NAMED_MAX);
        shown.drain(..more);
        let all = if shown.is_empty() { "there are none yet".to_owned() } else { shown.join(", ") };
        let earlier = if more > 0 { format!(" and {more} earlier ones") } else { String::new() };
        CommandError::new(Kind::Wrong, format!("no checkpoint {word:?} of loop {}", folder.id))
            .because(why)
            .hint(format!("there are: {all}{earlier} (loop checkpoint list {})", folder.id))
    };
    let name = meant(word, &state).map_err(&wrong)?;
    if !names.contains(&name) {
        let why = if state.phase.is_fresh() {
            "the first one is being taken"
        } else {
            "it was never taken, or is not kept any more"
        };
        return Err(wrong(why.to_owned()));
    }
    Ok((name, state))
}

/// Opens a loop that nobody drives for one request; what comes back is the answer.
pub(crate) fn visit(context: &Context, folder: &RunFolder, by: &str, event: Event) -> Result<Came, CommandError> {
    let held = folder.clone().hold().map_err(|error| runs_error(&error))?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(CommandError::new(Kind::Wrong, "the loop never began").hint("loop list"));
    };
    let start = StartLock::take(&context.home).map_err(|error| runs_error(&error))?;
    let claimed = claim(&context.home, &start, &spec.id, &spec.workspace);
    let claimed = claimed.map_err(|error| setup::workspace_error(&error))?;
    drop(start);
    let signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let mut heard = RequestReporter { came: None, printer: context.printer };
    let opening = vec![Event::OpenedForRequest { by: by.to_owned() }, event];
    let workspace = path_of(&spec.workspace.path);
    let driven = drive(held.with_claim(claimed), &workspace, opening, signals, &mut heard);
    let state = driven
        .map_err(|error| CommandError::of(Kind::Unable, &error).hint("make room or mend the disk, then try again"))?;
    index::note(&context.home, folder, &state);
    heard
        .came
        .ok_or_else(|| CommandError::new(Kind::Unable, "it was given up").hint(format!("loop status {}", folder.id)))
}

/// Opens a loop that nobody drives for one request that is only written down: its workspace is not touched.
pub(crate) fn write_down(context: &Context, folder: &RunFolder, by: &str, event: Event) -> Result<(), CommandError> {
    let held = folder.clone().hold().map_err(|error| runs_error(&error))?;
    let workspace = held.state.spec.as_ref().map(|spec| path_of(&spec.workspace.path)).unwrap_or_default();
    let signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let mut heard = RequestReporter { came: None, printer: context.printer };
    let opening = vec![Event::OpenedForRequest { by: by.to_owned() }, event];
    let state = drive(held, &workspace, opening, signals, &mut heard)
        .map_err(|error| CommandError::of(Kind::Unable, &error).hint("make room or mend the disk, then try again"))?;
    index::note(&context.home, folder, &state);
    Ok(())
}

/// What came of a request about checkpoints.
#[derive(Debug, Clone)]
pub(crate) enum Came {
    /// It is kept.
    Kept(CheckpointReport),
    /// The workspace is what it was.
    Back(Box<RollbackReport>),
    /// Nothing was changed.
    Refused(String),
    /// It is not done, and somebody must mend something.
    Blocked(String),
}

impl Came {
    /// What an answer says about checkpoints; none if it is another order's.
    pub(crate) fn of(answer: &Answer) -> Option<Self> {
        match answer {
            Answer::ManualCheckpoint(saved) => Some(Self::Kept(saved.clone())),
            Answer::RolledBack(back) => Some(Self::Back(back.clone())),
            Answer::Refused { why } => Some(Self::Refused(why.clone())),
            Answer::Blocked { why } | Answer::Failed { what: why } => Some(Self::Blocked(why.clone())),
            Answer::Lost { left } => Some(Self::Blocked(format!("could not be ended: {}", left.join(", ")))),
            Answer::Checkpoint(_)
            | Answer::Measurement(_)
            | Answer::AgentEnded(_)
            | Answer::GateEnded(_)
            | Answer::Cleaned { .. }
            | Answer::Held
            | Answer::Reserved(_)
            | Answer::Guard(_)
            | Answer::Certify(_)
            | Answer::Notified { .. } => None,
        }
    }
}

/// Remembers the answer.
struct RequestReporter {
    came: Option<Came>,
    printer: Printer,
}

impl Reporter for RequestReporter {
    fn on_entry(&mut self, entry: &Entry, _: &RunState) {
        let Fact::Happened(input) = &entry.fact else { return };
        if let Event::Answered { answer, .. } = &input.event {
            self.came = Came::of(answer).or(self.came.take());
        }
        if let Event::Requested { request: Request::Stop | Request::Abort, .. } = &input.event {
            self.printer.progress("what was begun is finished first, so that nothing is left half done\n");
        }
    }

    fn on_output(&mut self, _: &[u8]) {}

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn draw(&mut self, _: &RunState, _: At) {}
}

/// What a whole loop changed, in brief; empty where that is not known.
pub(crate) fn changes_of(folder: &RunFolder, state: &RunState) -> String {
    let (Some(spec), Some(newest)) =
        (state.spec.as_ref().filter(|spec| spec.has_checkpoints()), &state.checkpoints.newest())
    else {
        return String::new();
    };
    let measured = RunCheckpoints::open(folder.checkpoints(spec), Arc::default())
        .ok()
        .and_then(|keeper| keeper.measure(Some("initial"), newest).ok());
    measured.and_then(|measured| measured.changes).map_or_else(String::new, brief)
}
