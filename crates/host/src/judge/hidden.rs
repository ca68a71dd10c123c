//! The hidden gates of a run, on a clean copy or, where there is none, in the workspace. Of what they said the report of the
//! order has no more than how each ended: it becomes part of the journal.
use std::path::Path;

use loop_core::policy::gate::Verdict;
use loop_core::run::{Ended, GateReport, JudgePlace, JudgeReport, JudgedGate, Output, Remark, RunState};
use loop_core::settings::GateSpec;

use super::child::JudgeRequest;
use super::clean_copy::{CleanCopy, CleanError, CleanRequest, GateRange, RunCopies};
use crate::fs::FolderId;
use crate::gate::{GateContext, GateMemory, GateRunner};
use crate::hidden::{self, HiddenResult};
use crate::paths::{Home, path_of};
use crate::process::{Containment, become_reaper};
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::signals::Signals;

/// A hidden gate that was run.
#[derive(Debug)]
pub(crate) struct RanHidden {
    judged: JudgedGate,
    result: HiddenResult,
}

impl RanHidden {
    /// Whether it passed.
    pub(crate) fn passed(&self) -> bool {
        self.result.passed
    }
}

/// Runs the hidden gates of a run for an order.
///
/// # Errors
/// When they cannot be run.
pub(super) fn judge(
    request: &JudgeRequest,
    run: &RunFolder,
    state: &RunState,
    in_copy: bool,
    signals: &mut Signals,
) -> Result<JudgeReport, CleanError> {
    let unable = |why: &str| CleanError::Unable(why.to_owned());
    let known = state.proving.hidden().ok_or_else(|| unable("this loop has none"))?;
    let spec = state.spec.as_ref().ok_or_else(|| unable("the run never began"))?;
    let home = Home::find(|name| std::env::var_os(name)).map_err(|error| CleanError::Unable(error.to_string()))?;
    let workspace = path_of(&spec.workspace.path);
    let gates = hidden::known_gates(&home.config, &path_of(spec.settings_folder()), known, &run.id)
        .map_err(CleanError::Unable)?;
    let outputs = hidden::empty_folder(run)?;
    let (ran, place, remarks, swapped) = if in_copy {
        let context = run.checkpoints(spec);
        let of = RunCopies { state, run: &run.path, context: &context, copies: &request.copies };
        let wanted = CleanRequest::of_order(of, run, &request.checkpoint, &outputs);
        let copy = CleanCopy::make(CleanRequest { hidden: &gates, ..wanted })?;
        if let Some(why) = copy.not_watched() {
            return Err(CleanError::Unable(why));
        }
        let set_up = copy.set_up(signals, &mut |_| {});
        let ran = set_up.and_then(|()| copy.run_hidden(&gates, GateRange::UpToFailure, signals));
        let (place, mut remarks, swapped) = (copy.place(), copy.remarks(), copy.programs.changed());
        if let Err(error) = copy.close() {
            remarks.push(Remark::Note(format!("the copy could not be removed: {error}")));
        }
        (ran?, place, remarks, swapped)
    } else {
        (in_workspace(run, state, &workspace, &gates, signals)?, JudgePlace::Workspace, Vec::new(), Vec::new())
    };
    let results: Vec<HiddenResult> = ran.iter().map(|ran| ran.result.clone()).collect();
    hidden::store_results(run, &results)?;
    let gates = ran.into_iter().map(|ran| ran.judged).collect();
    Ok(JudgeReport { place, remarks, swapped, gates, ..JudgeReport::default() })
}

fn in_workspace(
    run: &RunFolder,
    state: &RunState,
    workspace: &Path,
    gates: &[GateSpec],
    signals: &mut Signals,
) -> Result<Vec<RanHidden>, CleanError> {
    become_reaper()?;
    let settings = state.settings.shown();
    let containment = Containment::new(run.id.as_str(), settings.values.agent.containment.word(), None)?;
    let same = state.spec.as_ref().map(|spec| &spec.workspace);
    let context = GateContext {
        folder: workspace,
        // No gate is started in another folder that took its place.
        same: same.map(|known| FolderId { device: known.device, inode: known.inode }),
        is_copy: false,
        secrets: secrets::of(state),
        variables: Vec::new(),
    };
    let mut runner =
        GateRunner::new(context, settings.gate_timeout_ms, run.hidden().join("round-1"), containment, signals);
    run_each(&mut runner, gates, GateRange::UpToFailure)
}

/// Runs hidden gates. Nothing of them is shown.
///
/// # Errors
/// When one has no result, or a signal stopped it. The error does not name the gate.
pub(super) fn run_each(
    runner: &mut GateRunner<'_>,
    gates: &[GateSpec],
    range: GateRange,
) -> Result<Vec<RanHidden>, CleanError> {
    let mut ran: Vec<RanHidden> = Vec::new();
    for (gate, number) in gates.iter().zip(0..) {
        let failed = |failure| CleanError::Unable(format!("one of them {failure}"));
        let again = runner.judge(gate, &GateMemory::fresh(false), &mut |_| {}).map_err(failed)?;
        let again = again.ok_or(CleanError::Stopped)?;
        let (name, ended) = (gate.name.clone(), again.report.ended.brief());
        let passed = again.verdict == Verdict::Pass;
        ran.push(RanHidden {
            judged: JudgedGate {
                gate: number,
                verdict: again.verdict,
                tries: again.tries,
                report: bare(&again.report),
                contradiction: again.contradiction,
                same_tests: None,
            },
            result: HiddenResult { name, passed, ended, output: runner.output() },
        });
        if !passed && range == GateRange::UpToFailure {
            break;
        }
    }
    Ok(ran)
}

/// How it ended, and no word of what it said.
fn bare(report: &GateReport) -> GateReport {
    let ended = match &report.ended {
        Ended::NotStarted(_) => Ended::NotStarted("it could not be started".to_owned()),
        Ended::Exit(_) | Ended::Signal(_) | Ended::ByUs => report.ended.clone(),
    };
    GateReport {
        ended,
        duration_ms: report.duration_ms,
        output: Output::default(),
        excerpt: String::new(),
        tests: None,
        programs: Vec::new(),
        used: None,
        did_not_build: false,
    }
}
