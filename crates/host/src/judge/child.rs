//! The process that carries out one order: it makes the copy, runs the gates, writes the report, and removes the copy. A
//! process of its own, because it has mounts of its own.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use loop_core::ids::RunId;
use loop_core::policy::gate::Verdict;
use loop_core::run::{CheckpointName, Gate, GateIndex, JudgeReport, JudgedGate, JudgedTree, RunState};
use loop_core::test_output::Tests;
use serde::{Deserialize, Serialize};

use super::clean_copy::{CleanCopy, CleanError, CleanRequest, FromWorkspace, RanGate};
use super::place;
use super::probe::{ProbeContext, ProbeError, ProbeGate, apply_canary, apply_undone, probe_word, try_hunks};
use crate::gate::stored_tests;
use crate::journal;
use crate::paths::{path_of, write_whole};
use crate::run_folder::RunFolder;
use crate::signals::Signals;

/// The word that makes this program the child of an order.
pub(super) const CHILD: &str = "__judge";
/// Where the report stands, beside the request.
pub(super) const REPORT: &str = "report.json";

/// What is to be judged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JudgeRequest {
    /// The folder of the run.
    pub(super) run: PathBuf,
    /// Which tree.
    pub(super) tree: JudgedTree,
    /// The checkpoint of the tree on which the gates passed.
    pub(super) checkpoint: String,
    /// The folder of all copies.
    pub(super) copies: PathBuf,
}

/// Carries an order out, if that is what this process was started for.
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let (word, path) = (words.next()?, words.next()?);
    let done = if word == place::TRIAL {
        place::trial(Path::new(&path))
    } else if word == CHILD {
        run(&path_of(&path.to_string_lossy()))
    } else {
        return None;
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(path: &Path) -> io::Result<()> {
    fs::write("/proc/self/comm", "loop-judge").ok();
    let began = Instant::now();
    let request: JudgeRequest = serde_json::from_slice(&fs::read(path)?)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut report = judge(&request, folder).unwrap_or_else(|error| JudgeReport::not_done(error.to_string()));
    report.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    write_whole(&folder.join(REPORT), &serde_json::to_string(&report)?)
}

fn judge(request: &JudgeRequest, outputs: &Path) -> Result<JudgeReport, CleanError> {
    let mut signals = Signals::listen()?;
    let unable = |why: &str| CleanError::Unable(why.to_owned());
    let name = request.run.file_name().and_then(|name| name.to_str()).and_then(|name| RunId::parse(name).ok());
    let folder = RunFolder { id: name.ok_or_else(|| unable("no such run"))?, path: request.run.clone() };
    let reading = journal::read(&folder.path).map_err(|error| CleanError::Unable(error.to_string()))?;
    let state = reading.fold();
    let spec = state.spec.as_ref().ok_or_else(|| unable("the run never began"))?;
    let context = folder.checkpoints(spec);
    let initial = CheckpointName::Initial.to_string();
    let copy = CleanCopy::make(CleanRequest {
        state: &state,
        run: &folder.path,
        owner: folder.id.as_str(),
        context: &context,
        checkpoint: if request.tree == JudgedTree::Initial { &initial } else { &request.checkpoint },
        copies: &request.copies,
        keep: None,
        clean: true,
        now: FromWorkspace::default(),
        compare: false,
        outputs: Some(outputs),
    })?;
    let judged = judge_copy(request.tree, &copy, &folder, &state, &mut signals);
    let (place, mut remarks) = (copy.place(), copy.remarks());
    if let Err(error) = copy.close() {
        remarks.push(format!("the copy could not be removed: {error}"));
    }
    Ok(JudgeReport { place, remarks, ..judged? })
}

/// What the gates say of the copy.
fn judge_copy(
    tree: JudgedTree,
    copy: &CleanCopy<'_>,
    folder: &RunFolder,
    state: &RunState,
    signals: &mut Signals,
) -> Result<JudgeReport, CleanError> {
    copy.set_up(signals, &mut |_| {})?;
    if matches!(tree, JudgedTree::Final | JudgedTree::Initial) {
        let ran = copy.run_gates(false, signals, &mut |_| {})?;
        return Ok(JudgeReport { gates: ran.iter().map(RanGate::judged).collect(), ..JudgeReport::default() });
    }
    let names: Vec<Option<Tests>> = required(state).map(|(_, gate)| names_of(folder, gate)).collect();
    let gates: Vec<ProbeGate<'_>> = required(state)
        .zip(&names)
        .map(|((number, gate), names)| ProbeGate {
            gate: number,
            spec: gate.spec(),
            tests: names.as_ref(),
            opened: &[],
        })
        .collect();
    let context = ProbeContext { copy: &copy.tree, initial: &copy.initial, last: &copy.last, gates: &gates };
    match tree {
        JudgedTree::Canary => canary(&context, copy, signals),
        JudgedTree::Undone => undone(&context, copy, signals),
        JudgedTree::Hunks { budget_ms } => hunks(&context, Duration::from_millis(budget_ms), copy, signals),
        JudgedTree::Final | JudgedTree::Initial => Ok(JudgeReport::default()),
    }
}

fn required(state: &RunState) -> impl Iterator<Item = (GateIndex, &Gate)> {
    (0..).zip(state.gates.iter()).filter(|(_, gate)| gate.is_required())
}

/// The tests of the newest run of a gate, by name.
fn names_of(folder: &RunFolder, gate: &Gate) -> Option<Tests> {
    let last = gate.last()?;
    stored_tests(&folder.gate(last.iteration, last.order))
}

/// A failing test more: every gate that has one must notice it.
fn canary(context: &ProbeContext<'_>, copy: &CleanCopy<'_>, signals: &mut Signals) -> Result<JudgeReport, CleanError> {
    let placed = match apply_canary(context, &probe_word()?) {
        Ok(canaries) => canaries.placed,
        Err(ProbeError::None(why)) => return Ok(JudgeReport::not_done(why)),
        Err(ProbeError::Unable(error)) => return Err(error.into()),
    };
    let is_wanted = |gate: GateIndex| placed.iter().any(|placed| placed.gate == gate);
    let ran = copy.run_some(&is_wanted, true, signals, &mut |_| {})?;
    let missed = ran.iter().find(|ran| ran.again.verdict == Verdict::Pass);
    let shown: Vec<JudgedGate> = match missed {
        Some(missed) => vec![missed.judged()],
        None => ran.iter().map(RanGate::judged).collect(),
    };
    Ok(JudgeReport { gates: shown, ..JudgeReport::default() })
}

/// The sources of the start under the tests of now.
fn undone(context: &ProbeContext<'_>, copy: &CleanCopy<'_>, signals: &mut Signals) -> Result<JudgeReport, CleanError> {
    match apply_undone(context) {
        Ok(_) => {}
        Err(ProbeError::None(why)) => return Ok(JudgeReport::not_done(why)),
        Err(ProbeError::Unable(error)) => return Err(error.into()),
    }
    let ran = copy.run_gates(false, signals, &mut |_| {})?;
    Ok(JudgeReport { gates: ran.iter().map(RanGate::judged).collect(), ..JudgeReport::default() })
}

/// One piece of the change after the other taken back.
fn hunks(
    context: &ProbeContext<'_>,
    budget: Duration,
    copy: &CleanCopy<'_>,
    signals: &mut Signals,
) -> Result<JudgeReport, CleanError> {
    let mut failed = None;
    let report = try_hunks(context, budget, &mut || match copy.run_gates(false, signals, &mut |_| {}) {
        Ok(ran) => {
            let is_required = |gate: GateIndex| context.gates.iter().any(|required| required.gate == gate);
            Some(ran.iter().any(|ran| is_required(ran.gate) && ran.again.verdict != Verdict::Pass))
        }
        Err(error) => {
            failed = Some(error);
            None
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok(JudgeReport { hunks: Some(report), ..JudgeReport::default() }),
    }
}
