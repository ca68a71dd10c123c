//! The process that carries out one order: it makes the copy, runs the gates, writes the report, and removes the copy. A
//! process of its own, because it has mounts of its own.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use loop_core::ids::RunId;
use loop_core::policy::gate::Verdict;
use loop_core::policy::probe::failed_otherwise;
use loop_core::run::{CheckpointName, Gate, GateIndex, JudgeReport, JudgedTree, RunState};
use loop_core::test_output::{TestStatus, Tests};
use loop_core::text;
use serde::{Deserialize, Serialize};

use super::clean_copy::{CleanCopy, CleanError, CleanRequest, FromWorkspace, RanGate};
use super::probe::{ProbeContext, ProbeError, ProbeGate, apply_canary, apply_undone, probe_word, try_hunks};
use super::{baseline, hidden, place};
use crate::gate::stored_tests;
use crate::journal;
use crate::paths::{path_of, write_whole};
use crate::run_folder::RunFolder;
use crate::signals::Signals;

/// The word that makes this program the child of an order.
pub(super) const CHILD: &str = "__judge";
/// Where the report stands, beside the request.
pub(super) const REPORT: &str = "report.json";

/// A longer report says less about its gates: it must fit into a fact.
const REPORT_BYTES_MAX: usize = 12 * 1024;
/// Then so many gates are reported in words, and so much of what each says.
const GATES_TOLD_MAX: usize = 8;
const SAID_BYTES_MAX: usize = 200;

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
    write_whole(&folder.join(REPORT), &bounded(report)?)
}

/// A report as text that fits into a fact: of many gates less is reported.
fn bounded(mut report: JudgeReport) -> io::Result<String> {
    let text = serde_json::to_string(&report)?;
    if text.len() <= REPORT_BYTES_MAX {
        return Ok(text);
    }
    for (at, gate) in report.gates.iter_mut().enumerate() {
        let bytes = if at < GATES_TOLD_MAX { SAID_BYTES_MAX } else { 0 };
        gate.report.excerpt = text::tail(&gate.report.excerpt, bytes).to_owned();
        if let Some(tests) = &mut gate.report.tests {
            for names in [&mut tests.missing, &mut tests.missing_without_brackets] {
                names.first.truncate(bytes.min(1));
            }
        }
    }
    Ok(serde_json::to_string(&report)?)
}

fn judge(request: &JudgeRequest, outputs: &Path) -> Result<JudgeReport, CleanError> {
    let mut signals = Signals::listen()?;
    let unable = |why: &str| CleanError::Unable(why.to_owned());
    let name = request.run.file_name().and_then(|name| name.to_str()).and_then(|name| RunId::parse(name).ok());
    let folder = RunFolder { id: name.ok_or_else(|| unable("no such run"))?, path: request.run.clone() };
    let reading = journal::read(&folder.path).map_err(|error| CleanError::Unable(error.to_string()))?;
    let state = reading.fold();
    if let JudgedTree::Hidden { in_copy, .. } = request.tree {
        return hidden::judge(request, &folder, &state, in_copy, &mut signals);
    }
    let spec = state.spec.as_ref().ok_or_else(|| unable("the run never began"))?;
    let context = folder.checkpoints(spec);
    let initial = CheckpointName::Initial.to_string();
    // Before the first iteration there is no agent yet: it is recorded now, after the gates have run once.
    let taken = if state.iteration == 0 { Some(baseline::take(&folder.path, &context)?) } else { None };
    let copy = CleanCopy::make(CleanRequest {
        state: &state,
        run: &folder.path,
        baseline: taken.as_deref().or(state.proving.baseline()),
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
    let (place, mut remarks, installed) = (copy.place(), copy.remarks(), copy.installed.clone());
    let swapped = copy.programs.changed();
    // That a program was swapped counts whatever became of the gates.
    let judged = judged.or_else(|error| match swapped.is_empty() {
        true => Err(error),
        false => Ok(JudgeReport::not_done(error.to_string())),
    });
    if let Err(error) = copy.close() {
        remarks.push(format!("the copy could not be removed: {error}"));
    }
    Ok(JudgeReport { place, remarks, installed, baseline: taken, swapped, ..judged? })
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
    if matches!(tree, JudgedTree::Final | JudgedTree::Again | JudgedTree::Initial) {
        // Of the initial tree all gates are compared: most of them fail there.
        let ran = copy.run_gates(tree == JudgedTree::Initial, signals, &mut |_| {})?;
        return Ok(JudgeReport { gates: ran.iter().map(RanGate::judged).collect(), ..JudgeReport::default() });
    }
    let names: Vec<Option<Tests>> = required(state).map(|(_, gate)| names_of(folder, gate)).collect();
    let red: Vec<Vec<String>> = required(state).map(|(_, gate)| red_names(folder, gate)).collect();
    let gates: Vec<ProbeGate<'_>> = required(state)
        .zip(names.iter().zip(&red))
        .map(|((number, gate), (names, red))| ProbeGate {
            gate: number,
            spec: gate.spec(),
            tests: names.as_ref(),
            red,
            opened: &[],
        })
        .collect();
    let context = ProbeContext {
        copy: &copy.tree,
        initial: &copy.initial,
        last: &copy.last,
        gates: &gates,
        gate_files: state.guard.learned(),
    };
    match tree {
        JudgedTree::Canary => canary(&context, copy, signals),
        JudgedTree::Undone => undone(&context, copy, signals),
        JudgedTree::Hunks { budget_ms } => hunks(&context, Duration::from_millis(budget_ms), copy, signals),
        JudgedTree::Final | JudgedTree::Again | JudgedTree::Initial | JudgedTree::Hidden { .. } => {
            Ok(JudgeReport::default())
        }
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

/// The tests of a gate that failed before iteration 1.
fn red_names(folder: &RunFolder, gate: &Gate) -> Vec<String> {
    let first = gate.first_order().and_then(|order| stored_tests(&folder.gate(0, order)));
    let statuses = first.map(|tests| tests.statuses).unwrap_or_default();
    statuses.into_iter().filter(|(_, status)| *status == TestStatus::Failed).map(|(id, _)| id).collect()
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
    if let Some(missed) = ran.iter().find(|ran| ran.again.verdict == Verdict::Pass) {
        return Ok(JudgeReport { gates: vec![missed.judged()], ..JudgeReport::default() });
    }
    let otherwise = ran.iter().find_map(|ran| {
        let canary = &placed.iter().find(|placed| placed.gate == ran.gate)?.canary;
        let usual = context.gates.iter().find(|gate| gate.gate == ran.gate)?.tests;
        failed_otherwise(canary, ran.again.tests.as_ref(), usual)
    });
    let gates = ran.iter().map(RanGate::judged).collect();
    Ok(JudgeReport { gates, not_done: otherwise, ..JudgeReport::default() })
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

#[cfg(test)]
mod tests {
    use loop_core::machine::FACT_BYTES_MAX;
    use loop_core::run::{Ended, GateReport, JudgedGate, NameList, Output, TestsSeen};

    use super::*;

    #[test]
    fn a_report_of_many_gates_fits_into_a_fact() {
        let long = "x".repeat(200);
        let missing = NameList::of([long.as_str(); 20].into_iter());
        let tests = TestsSeen { missing, ..TestsSeen::default() };
        let report = GateReport {
            ended: Ended::Exit(1),
            duration_ms: 1,
            output: Output::default(),
            excerpt: "y".repeat(1024),
            tests: Some(Box::new(tests)),
            did_not_build: false,
            programs: Vec::new(),
            used: None,
        };
        let gate = |gate| JudgedGate {
            gate,
            verdict: Verdict::Fail,
            tries: 1,
            report: report.clone(),
            contradiction: None,
            same_tests: None,
        };
        let text = bounded(JudgeReport { gates: (0..24).map(gate).collect(), ..JudgeReport::default() }).unwrap();
        assert!(text.len() < FACT_BYTES_MAX, "{}", text.len());
        let one = JudgeReport { gates: vec![gate(0)], ..JudgeReport::default() };
        assert_eq!(serde_json::from_str::<JudgeReport>(&bounded(one.clone()).unwrap()).unwrap(), one);
    }
}
