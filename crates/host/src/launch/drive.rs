//! Driving a run that was made or resumed. The caller gets the final state and never needs to read the journal again.
use std::path::PathBuf;
use std::time::Duration;

use loop_core::run::{Entry, Event, Fact, Input, ReasonCode, RunState};
use loop_core::text;
use loop_core::time::At;
use loop_core::view::LiveDigest;

use super::caller::LaunchNote;
use super::container::end_container;
use super::disk_limits;
use super::result_file::ResultFile;
use crate::driver::{self, DriveError, Reporter};
use crate::journal::JournalError;
use crate::paths::Home;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{HeldRun, RunFolder};
use crate::signals::Signals;
use crate::workspace::WorkspaceIdentity;
use crate::{clock, index, ledger};

/// A run that is held, with its workspace claimed: it can be driven.
#[derive(Debug)]
pub struct ReadyRun {
    pub(super) held: HeldRun,
    pub(super) workspace: PathBuf,
    pub(super) opening: Event,
    /// What follows it at once.
    pub(super) then: Option<Event>,
}

impl ReadyRun {
    /// The folder of the run.
    #[must_use]
    pub fn folder(&self) -> &RunFolder {
        &self.held.folder
    }

    /// The state as it will be when the run is opened: with the settings that change.
    #[must_use]
    pub fn state_when_opened(&self) -> RunState {
        let mut state = self.held.state.clone();
        state.apply(&Fact::Happened(Input { at: clock::now(), event: self.opening.clone() }));
        state
    }

    /// The state that the journal has: of a resume, how it ended before.
    #[must_use]
    pub fn state_before(&self) -> &RunState {
        &self.held.state
    }

    /// Shows everything that is in the journal already, with the state after each entry.
    pub fn replay_into(&self, take: &mut dyn FnMut(&Entry, &RunState)) {
        let mut state = RunState::default();
        for entry in &self.held.past {
            state.apply(&entry.fact);
            take(entry, &state);
        }
    }
}

/// A run that was driven to its end, or to a stop.
#[derive(Debug)]
pub struct DrivenRun {
    pub folder: RunFolder,
    /// The final state.
    pub state: RunState,
    /// What a person should know, to be shown when the reporter has finished.
    pub notes: Vec<LaunchNote>,
}

impl DrivenRun {
    /// The exit code of the outcome.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.state.standing().map_or(3, |standing| standing.exit_code)
    }

    /// Whether the run ended before anything was done in it, since the machine did not allow it.
    #[must_use]
    pub fn never_began(&self) -> bool {
        self.state.phase.is_fresh() && self.state.trouble.host_failure().is_some()
    }

    /// Keeps the disk limits of all runs. It may take a while: report the end of the run first.
    #[must_use]
    pub fn keep_disk_limits(&self, home: &Home) -> Vec<LaunchNote> {
        disk_limits::keep(home, self.state.settings.shown(), Some(&self.folder.id))
    }

    /// Removes a new run whose workspace could not be recorded before anything was done in it.
    ///
    /// # Errors
    /// Always then: nothing was started.
    pub fn discard_if_not_started(&self) -> Result<(), LaunchRefusal> {
        let over = self.state.over.as_ref().filter(|over| over.reason.code == ReasonCode::HostFailure);
        let Some(over) = over.filter(|_| self.state.phase.is_fresh()) else { return Ok(()) };
        self.folder.remove()?;
        Err(LaunchRefusal::wrong("nothing was started: cannot checkpoint the workspace")
            .because(text::one_line(&over.reason.text, 2000))
            .hint("make it readable, leave it out with --checkpoint-skip <glob>, or go without: --checkpoint none"))
    }
}

/// A drive that had to stop.
#[derive(Debug)]
pub struct DriveRefusal {
    pub refusal: LaunchRefusal,
    /// What a person should know beside it.
    pub notes: Vec<LaunchNote>,
}

/// Drives the run to its end. Its result file is written as soon as the end is safe on disk.
///
/// # Errors
/// When the journal cannot be written. Everything that was under way has been ended then.
pub fn drive(home: &Home, run: ReadyRun, reporter: &mut dyn Reporter) -> Result<DrivenRun, Box<DriveRefusal>> {
    let ReadyRun { held, workspace, opening, then } = run;
    let folder = held.folder.clone();
    let signals = Signals::listen().map_err(|error| {
        Box::new(DriveRefusal { refusal: LaunchRefusal::of(RefusalKind::Unable, &error), notes: Vec::new() })
    })?;
    let identity = WorkspaceIdentity::of(&workspace, held.claim.as_ref());
    let result = ResultFile::new(&held.state, &held.past, identity);
    let mut reporter = LaunchReporter { inner: reporter, result, notes: Vec::new() };
    let driven = driver::drive(held, &workspace, [opening].into_iter().chain(then).collect(), signals, &mut reporter);
    let LaunchReporter { result, mut notes, .. } = reporter;
    notes.extend(end_container(&folder, driven.as_ref().ok()));
    match driven {
        Ok(state) => {
            index::note(home, &folder, &state);
            ledger::note_ended(home, &folder, &state, clock::now().wall_ms);
            Ok(DrivenRun { folder, state, notes })
        }
        Err(DriveError { error, state }) => {
            let warning = result.write(&state);
            notes.extend(warning.map(|note| LaunchNote::important(note.text)));
            Err(Box::new(DriveRefusal { refusal: not_recorded(&error, &folder), notes }))
        }
    }
}

/// Why a drive had to stop, and what a person can do.
fn not_recorded(error: &JournalError, folder: &RunFolder) -> LaunchRefusal {
    let refusal = LaunchRefusal::of(RefusalKind::Unable, error);
    let id = &folder.id;
    if matches!(error, JournalError::Changed { .. }) {
        return refusal
            .because("a loop whose record was changed must not continue; everything under way was ended")
            .hint(format!("loop status {id}"))
            .hint("see what wrote there, such as the agent; then start a new loop");
    }
    refusal
        .because("a loop that cannot be recorded must not continue; everything under way was ended")
        .hint(format!("make room or fix the disk, then: loop resume {id}"))
}

/// Writes the result file at the end, and passes everything on.
struct LaunchReporter<'a> {
    inner: &'a mut dyn Reporter,
    result: ResultFile,
    notes: Vec<LaunchNote>,
}

impl Reporter for LaunchReporter<'_> {
    fn on_entry(&mut self, entry: &Entry, state: &RunState) {
        self.result.apply(entry);
        if matches!(entry.fact, Fact::Concluded { .. }) {
            self.notes.extend(self.result.write(state));
        }
        self.inner.on_entry(entry, state);
    }

    fn on_output(&mut self, bytes: &[u8]) {
        self.inner.on_output(bytes);
    }

    fn on_live(&mut self, live: &LiveDigest) {
        self.inner.on_live(live);
    }

    fn tick(&self) -> Option<Duration> {
        self.inner.tick()
    }

    fn draw(&mut self, state: &RunState, now: At) {
        self.inner.draw(state, now);
    }
}
