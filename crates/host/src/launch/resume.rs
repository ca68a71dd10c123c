//! A resume: the run is held, the changes are checked, then its workspace is claimed.
use std::path::{Path, PathBuf};

use loop_core::run::{Change, Event, Outcome, RunState};
use loop_core::settings::{BreakerReset, OnQuestion, OutputSettings, Settings, keys};
use loop_core::view::{is_tripped, qualification};
use serde::{Deserialize, Serialize};

use super::caller::{LaunchCaller, LaunchNote};
use super::container::{self, LaunchContainer};
use super::drive::ReadyRun;
use super::person;
use super::result_file::ResultFile;
use super::{checks, gates, offline, worker};
use crate::changes::{ChangeForm, CheckedChanges, RunActivity, check_changes};
use crate::guard;
use crate::hidden::record_of;
use crate::judge;
use crate::ledger;
use crate::paths::{Home, path_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::requests;
use crate::run_folder::{HeldRun, RunFolder, StartLock};
use crate::usable_agent::check_installed;
use crate::workspace::{WorkspaceError, WorkspaceIdentity, claim};

/// The request for a resume. As JSON it can go to another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ResumeRequest {
    /// Settings that change, as typed: a value that begins with `+` is added to the value of now.
    pub changes: Vec<Change>,
    /// A text for the next prompt.
    #[serde(default)]
    pub inject: Option<String>,
    /// Who asks.
    pub by: String,
}

/// What a resume can do.
#[derive(Debug)]
pub enum PreparedResume {
    /// The run can be driven.
    Run(Box<ResumableRun>),
    /// The run is over. Its driver was killed before it wrote the result file, which is written now.
    ResultWritten { exit_code: u8, note: LaunchNote },
}

/// A run that can be resumed. No other process can drive it while this exists.
#[derive(Debug)]
pub struct ResumableRun {
    held: HeldRun,
    workspace: PathBuf,
    settings: Settings,
    changes: Vec<Change>,
    clear_stop: bool,
    container: Option<LaunchContainer>,
    inject: Option<String>,
    by: String,
    unattended: bool,
}

impl ResumableRun {
    /// What the run reports at its end, with the changes of this resume.
    #[must_use]
    pub fn output_settings(&self) -> &OutputSettings {
        &self.settings.values.output
    }

    /// Where it works.
    #[must_use]
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }
}

/// Holds the run and checks everything that its resume needs.
///
/// # Errors
/// When another process drives it, it has ended for good, or a change cannot be made.
pub fn prepare_resume(
    folder: RunFolder,
    request: ResumeRequest,
    caller: &mut dyn LaunchCaller,
) -> Result<PreparedResume, LaunchRefusal> {
    let held = folder.hold()?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the loop never began").hint("loop list"));
    };
    if !held.state.resumable() {
        return ended(&held);
    }
    check_guard(&held)?;
    check_judge_baseline(&held)?;
    let CheckedChanges { mut changes, settings, agent } =
        check_changes(&request.changes, &held.state, RunActivity::Stopped, ChangeForm::Flags)?;
    // For this call alone, so it is not recorded.
    let is_clear_stop = |change: &Change| change.key == keys::clear_stop().name;
    let clear_stop = changes.iter().any(|change| is_clear_stop(change) && change.value == "true");
    changes.retain(|change| !is_clear_stop(change));
    end_reset_of_before(&mut changes, &held.state);
    if settings.values.breaker.breaker_reset == BreakerReset::Manual && is_tripped(&held.state) && !resets(&changes) {
        return Err(worker::tripped(&held.folder, &held.state, "resume"));
    }
    let workspace = path_of(&spec.workspace.path);
    checks::check_stop_file(&settings.values.output, &workspace, clear_stop)?;
    let agent = agent.or_else(|| held.state.next_agent(&settings)).filter(|_| workspace.is_dir());
    if let Some(agent) = &agent {
        check_installed(&settings, agent, &format!("loop resume {}", held.folder.id))?;
    }
    let checked = agent.map(|agent| container::check(&settings.values.agent, &agent, &workspace, caller));
    let container = checked.transpose()?.flatten();
    let (by, inject, unattended) = (request.by, request.inject, !caller.is_attended());
    let run = ResumableRun { held, workspace, settings, changes, clear_stop, container, inject, by, unattended };
    Ok(PreparedResume::Run(Box::new(run)))
}

/// The originals of the protected files must be those that the run stored: else what the agent left would count as them.
fn check_guard(held: &HeldRun) -> Result<(), LaunchRefusal> {
    let Some(record) = held.state.guard.record() else { return Ok(()) };
    guard::check_record(&held.folder.path, record).map_err(|error| {
        LaunchRefusal::of(RefusalKind::Unable, &error)
            .because("without it loop does not know which files were protected and what they were")
            .hint(format!("loop rollback {} initial, then start a new loop", held.folder.id))
            .hint("or put the folder guard/ of the loop back from a backup")
    })
}

/// What clean copies get beside the tree must be what was recorded before the first agent: else what the agent left there
/// would decide.
fn check_judge_baseline(held: &HeldRun) -> Result<(), LaunchRefusal> {
    let hash = held.state.proving.baseline().filter(|_| held.state.iteration > 0);
    judge::check_baseline(&held.folder.path, hash).map_err(|error| {
        LaunchRefusal::of(RefusalKind::Unable, &error)
            .because("without it loop does not know what the agent changed beside the files of its checkpoints")
            .hint(format!("loop rollback {} initial, then start a new loop", held.folder.id))
            .hint("or put the file judge-baseline of the loop back from a backup")
    })
}

/// A run that is over for good. Only a missing result file can still be written.
fn ended(held: &HeldRun) -> Result<PreparedResume, LaunchRefusal> {
    let state = &held.state;
    let result = state.settings.shown().values.output.result.as_ref();
    if let Some(result) = result.filter(|result| !path_of(result).exists()) {
        let workspace = state.spec.as_ref().map(|spec| path_of(&spec.workspace.path)).unwrap_or_default();
        if let Some(warning) = ResultFile::new(state, &held.past, WorkspaceIdentity::of(&workspace, None)).write(state)
        {
            return Err(LaunchRefusal::unable(warning.text).hint("make room for it, then do this again"));
        }
        let note = LaunchNote::progress(format!("the result file {result} was missing and is written"));
        let exit_code = state.standing().map_or(0, |standing| standing.exit_code);
        return Ok(PreparedResume::ResultWritten { exit_code, note });
    }
    let cancelled = state.over.as_ref().is_some_and(|over| over.outcome == Outcome::Cancelled);
    let id = &held.folder.id;
    let refusal = if cancelled {
        LaunchRefusal::wrong(format!("loop {id} was cancelled")).because("a cancelled loop cannot be resumed")
    } else {
        let qualification = qualification(state).map_or_else(String::new, |words| format!(" ({words})"));
        LaunchRefusal::wrong(format!("loop {id} is completed{qualification}")).because("there is nothing to resume")
    };
    Err(refusal.hint(format!("loop history {id}, or start another one")))
}

/// Claims the workspace and begins the agent's container: the run can be driven then.
///
/// # Errors
/// When another run works in the workspace, it is gone, or the container cannot be begun.
pub fn reopen(home: &Home, run: ResumableRun, caller: &mut dyn LaunchCaller) -> Result<ReadyRun, LaunchRefusal> {
    let ResumableRun { held, workspace, settings, changes, clear_stop, container, inject, by, unattended } = run;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the loop never began").hint("loop list"));
    };
    let settings_folder = path_of(spec.settings_folder());
    let gates = gates::hidden(home, &settings_folder)?;
    let hidden = record_of(&gates, &settings_folder, &spec.id);
    let note = hidden.as_ref().and_then(|hidden| hidden.note.clone());
    note.map(LaunchNote::important).into_iter().for_each(|note| caller.note(note));
    let hidden = hidden.map(|hidden| hidden.gates);
    if hidden.as_ref() != held.state.proving.hidden() {
        let now = gates::count_of(&gates).unwrap_or_else(|| "none".to_owned());
        let before = held.state.proving.hidden().map_or(0, |hidden| hidden.count);
        let text = format!("note: the hidden gates of your settings are others than before ({before}); now: {now}");
        caller.note(LaunchNote::important(text));
    }
    let start = StartLock::take(home)?;
    let claimed = claim(home, &start, &spec.id, &spec.workspace).map_err(|error| workspace_gone(&error))?;
    drop(start);
    if clear_stop {
        checks::clear_stop_file(&settings.values.output, &workspace)?;
    }
    if let Some(container) = &container {
        container::begin(container, &held.folder)?;
    }
    let text = inject.map(|text| requests::injection(&held.folder, &held.state, &text, false));
    let injected = text.transpose().map_err(|why| offline::text_refused(&why))?;
    let answers = is_answered(&held.state, injected.is_some());
    let pid_namespace = person::namespace_of_person(home, &spec.id);
    let scores = ledger::scores_for(home, &settings);
    let opening = Event::Reopened { by, changes, unattended, hidden, answers, injected, pid_namespace, scores };
    Ok(ReadyRun { held: held.with_claim(claimed), workspace, opening, then: None })
}

/// Whether the resume answers a question of the agent: the run waited for a person, or there is a text for the agent.
fn is_answered(state: &RunState, with_text: bool) -> bool {
    let injections = state.prompt.injections();
    let waited = state.settings.shown().values.agent.on_question != OnQuestion::Decide;
    state.agent.question().is_some() && (waited || with_text || injections.newest > injections.given)
}

/// The workspace of a run cannot be changed, so the usual hint would not help.
fn workspace_gone(error: &WorkspaceError) -> LaunchRefusal {
    if matches!(error, WorkspaceError::Io { .. }) {
        return LaunchRefusal::of(RefusalKind::Wrong, error)
            .hint("put the folder back where it was, or start a new loop");
    }
    error.into()
}

/// Whether the breaker is to be closed.
fn resets(changes: &[Change]) -> bool {
    changes.iter().any(|change| change.key == keys::reset_circuit().name && change.value == "true")
}

/// `--reset-circuit` of an earlier resume was meant for that one alone.
fn end_reset_of_before(changes: &mut Vec<Change>, state: &RunState) {
    if state.settings.shown().values.breaker.reset_circuit && !resets(changes) {
        changes.push(Change::new(keys::reset_circuit().name, "false".to_owned()));
    }
}
