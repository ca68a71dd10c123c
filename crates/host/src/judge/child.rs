//! The process that carries out one order: it makes the copy, runs the gates, removes the copy, and writes the report to its
//! stdout. A process of its own, because it has mounts of its own.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use loop_core::ids::RunId;
use loop_core::policy::gate::Verdict;
use loop_core::policy::probe::failed_otherwise;
use loop_core::policy::protect::is_target_file;
use loop_core::run::{
    Gate, GateIndex, INITIAL, JudgeReport, JudgedGate, JudgedTree, NameList, NotJudged, Remark, RunState,
};
use loop_core::test_output::{TestStatus, Tests};
use loop_core::text;
use serde::{Deserialize, Serialize};

use super::clean_copy::{CleanCopy, CleanError, CleanRequest, GateRange, RanGate, RunCopies};
use super::probe::{
    ProbeContext, ProbeError, ProbeGate, Undone, apply_canary, apply_undone, new_tests, probe_word, try_hunks,
};
use super::{baseline, hidden, place};
use crate::checkpoint::{CheckpointContext, Recorded};
use crate::gate::stored_tests;
use crate::journal;
use crate::paths::path_of;
use crate::run_folder::RunFolder;
use crate::signals::Signals;

/// The word that makes this program the child of an order.
pub(super) const CHILD: &str = "__judge";
/// What is longer does not count as a report: one of many gates is cut, but their number is not bounded.
pub(super) const REPORT_LENGTH_MAX: usize = 1024 * 1024;

/// A longer report says less about its gates: it must fit into a fact.
const REPORT_BYTES_MAX: usize = 12 * 1024;
/// Then so many gates are reported in words, and so much of what each says.
const GATES_TOLD_MAX: usize = 8;
const SAID_BYTES_MAX: usize = 200;

const NO_NEW_TESTS: &str = "there are no new test files";

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
    let mut report = judge(&request, folder).unwrap_or_else(|error| JudgeReport::not_done(error.not_judged()));
    report.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut out = io::stdout().lock();
    out.write_all(bounded(report)?.as_bytes())?;
    out.flush()
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
    if request.tree == JudgedTree::WithoutNewTests && !has_new_tests(request, &folder, &state, &context) {
        return Ok(JudgeReport::not_done(NotJudged::NoProbe { why: NO_NEW_TESTS.to_owned() }));
    }
    // Before the first iteration there is no agent yet: it is recorded now, after the gates have run once.
    let taken = if state.iteration == 0 { Some(baseline::take(&folder.path, &context)?) } else { None };
    let of = RunCopies { state: &state, run: &folder.path, context: &context, copies: &request.copies };
    let checkpoint = if request.tree == JudgedTree::Initial { INITIAL } else { &request.checkpoint };
    let copy = CleanCopy::make(CleanRequest {
        baseline: taken.as_deref().or(state.proving.baseline()),
        newest: &request.checkpoint,
        ..CleanRequest::of_order(of, &folder, checkpoint, outputs)
    })?;
    if let Some(why) = copy.not_watched() {
        return Err(CleanError::Unable(why));
    }
    let judged = judge_copy(request.tree, &copy, &folder, &state, &mut signals);
    let (place, mut remarks, installed) = (copy.place(), copy.remarks(), copy.installed());
    let swapped = copy.programs.changed();
    if let Err(error) = copy.close() {
        remarks.push(Remark::Note(format!("the copy could not be removed: {error}")));
    }
    // What the copy does not have may be why there is no result. That a program was swapped counts in any case.
    let judged = judged.unwrap_or_else(|error| JudgeReport::not_done(error.not_judged()));
    Ok(JudgeReport { place, remarks, installed, baseline: taken, swapped, ..judged })
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
    let report = |ran: &[RanGate]| JudgeReport { gates: judged_gates(ran), ..JudgeReport::default() };
    let known: Vec<KnownTests> = required(state).map(|(_, gate)| KnownTests::of(folder, gate)).collect();
    let gates = probe_gates(state, &known);
    // A makefile that the task names still says how tests are run.
    let left = state.guard.left().iter().filter(|path| is_target_file(path));
    let gate_files: Vec<String> = state.guard.learned().iter().chain(left).cloned().collect();
    let context = ProbeContext {
        copy: &copy.tree,
        initial: &copy.initial,
        last: &copy.last,
        gates: &gates,
        gate_files: &gate_files,
    };
    match tree {
        JudgedTree::Initial | JudgedTree::Final | JudgedTree::Again => {
            // All gates of the initial tree are compared: most of them fail there.
            let range = if tree == JudgedTree::Initial { GateRange::All } else { GateRange::UpToFailure };
            let ran = copy.run_gates(range, signals, &mut |_| {})?;
            // The work of an agent can say these words. Only where the initial tree says them too, copies cannot judge.
            let lacks_git = copy.lacks_repository() && ran.iter().any(misses_repository);
            Ok(if lacks_git { JudgeReport::not_done(NotJudged::NoRepository) } else { report(&ran) })
        }
        JudgedTree::WithoutNewTests => without_new_tests(&context, copy, folder, state, signals),
        JudgedTree::Canary => canary(&context, copy, signals),
        JudgedTree::Undone => undone(&context, copy, signals),
        JudgedTree::Hunks { budget_ms } => hunks(&context, Duration::from_millis(budget_ms), copy, signals),
        // An empty report would be a pass.
        JudgedTree::Hidden { .. } => Err(CleanError::Unable("hidden gates are judged elsewhere".to_owned())),
    }
}

/// Whether a gate failed because git found no repository.
fn misses_repository(ran: &RanGate) -> bool {
    ran.run.verdict != Verdict::Pass && ran.run.report.excerpt.contains("not a git repository")
}

/// The tests of a gate, as far as they are known by name.
struct KnownTests {
    /// Those of its newest run.
    last: Option<Tests>,
    /// Those that failed before iteration 1.
    red: Vec<String>,
}

impl KnownTests {
    fn of(folder: &RunFolder, gate: &Gate) -> Self {
        Self { last: names_of(folder, gate), red: red_names(folder, gate) }
    }
}

fn probe_gates<'a>(state: &'a RunState, known: &'a [KnownTests]) -> Vec<ProbeGate<'a>> {
    let gates = required(state).zip(known).map(|((gate, spec), known)| ProbeGate {
        gate,
        spec: spec.spec(),
        tests: known.last.as_ref(),
        red: &known.red,
    });
    gates.collect()
}

/// Whether there are new test files: where there are none, no copy is made.
fn has_new_tests(request: &JudgeRequest, folder: &RunFolder, state: &RunState, context: &CheckpointContext) -> bool {
    let open = |name: &str| Recorded::open(context, name).ok();
    // Where a tree cannot be read, making the copy says why.
    let (Some(initial), Some(last)) = (open(INITIAL), open(&request.checkpoint)) else { return true };
    let known: Vec<KnownTests> = required(state).map(|(_, gate)| KnownTests::of(folder, gate)).collect();
    let gates = probe_gates(state, &known);
    let (copy, gate_files) = (Path::new(""), state.guard.learned());
    new_tests(&ProbeContext { copy, initial: &initial, last: &last, gates: &gates, gate_files }).is_some()
}

fn judged_gates(ran: &[RanGate]) -> Vec<JudgedGate> {
    ran.iter().map(RanGate::judged).collect()
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

/// The tests of the start without those that the agent added. A gate that does not pass runs once more: it may be flaky.
fn without_new_tests(
    context: &ProbeContext<'_>,
    copy: &CleanCopy<'_>,
    folder: &RunFolder,
    state: &RunState,
    signals: &mut Signals,
) -> Result<JudgeReport, CleanError> {
    let no_probe = |why: &str| Ok(JudgeReport::not_done(NotJudged::NoProbe { why: why.to_owned() }));
    let Some(new) = new_tests(context) else { return no_probe(NO_NEW_TESTS) };
    new.take_out(context)?;
    let is_required = |gate: GateIndex| context.gates.iter().any(|required| required.gate == gate);
    let passes = |ran: &[RanGate]| ran.iter().all(|ran| ran.run.verdict == Verdict::Pass);
    let mut ran = copy.run_some(&is_required, GateRange::All, signals, &mut |_| {})?;
    if !passes(&ran) {
        new.remove_emptied(context)?;
        ran = copy.run_some(&is_required, GateRange::All, signals, &mut |_| {})?;
    }
    let did_not_build = ran.iter().any(|ran| ran.run.verdict != Verdict::Pass && ran.run.report.did_not_build);
    if did_not_build && new.old_tests_changed {
        return no_probe("the changed tests of the start cannot be loaded without the new test files");
    }
    let mut gates = judged_gates(&ran);
    for (gate, ran) in gates.iter_mut().zip(&ran) {
        let known = state.gates.get(gate.gate);
        let lost = known.map(|known| lost_names(folder, known, ran.run.tests.as_ref())).unwrap_or_default();
        if let Some(tests) = &mut gate.report.tests {
            tests.missing = NameList::of(lost.iter().map(String::as_str));
            tests.missing_without_brackets = NameList::default();
        }
    }
    Ok(JudgeReport { gates, ..JudgeReport::default() })
}

/// Tests that ran before iteration 1 and on the final tree, and not in this run. Runners that name only some tests are not
/// compared by names.
fn lost_names(folder: &RunFolder, gate: &Gate, now: Option<&Tests>) -> Vec<String> {
    let first = gate.first_order().and_then(|order| stored_tests(&folder.gate(0, order)));
    let (Some(first), Some(last), Some(now)) = (first, names_of(folder, gate), now) else { return Vec::new() };
    let ran = |tests: &Tests, id: &str| tests.statuses.get(id).is_some_and(|status| *status != TestStatus::Skipped);
    let ids = first.statuses.keys().filter(|id| ran(&first, id) && ran(&last, id) && !ran(now, id));
    ids.cloned().collect()
}

/// A failing test more: every gate that has one must notice it.
fn canary(context: &ProbeContext<'_>, copy: &CleanCopy<'_>, signals: &mut Signals) -> Result<JudgeReport, CleanError> {
    let placed = match apply_canary(context, &probe_word()?) {
        Ok(placed) => placed,
        Err(ProbeError::NotApplicable(why)) => return Ok(JudgeReport::not_done(NotJudged::NoProbe { why })),
        Err(ProbeError::Unable(error)) => return Err(error.into()),
    };
    let is_wanted = |gate: GateIndex| placed.iter().any(|placed| placed.gate == gate);
    let ran = copy.run_some(&is_wanted, GateRange::All, signals, &mut |_| {})?;
    if let Some(missed) = ran.iter().find(|ran| ran.run.verdict == Verdict::Pass) {
        return Ok(JudgeReport { gates: vec![missed.judged()], ..JudgeReport::default() });
    }
    let otherwise = ran.iter().find_map(|ran| {
        let canary = &placed.iter().find(|placed| placed.gate == ran.gate)?.canary;
        let usual = context.gates.iter().find(|gate| gate.gate == ran.gate)?.tests;
        failed_otherwise(canary, ran.run.tests.as_ref(), usual)
    });
    let gates = judged_gates(&ran);
    let not_done = otherwise.map(|why| NotJudged::NoProbe { why });
    Ok(JudgeReport { gates, not_done, ..JudgeReport::default() })
}

/// The sources of the start under the tests of now.
fn undone(context: &ProbeContext<'_>, copy: &CleanCopy<'_>, signals: &mut Signals) -> Result<JudgeReport, CleanError> {
    match apply_undone(context) {
        Ok(Undone::Changed) => {}
        // The final tree passed already. Run once more it could only fail by chance.
        Ok(Undone::Unchanged) => return Ok(JudgeReport { unchanged: true, ..JudgeReport::default() }),
        Err(ProbeError::NotApplicable(why)) => return Ok(JudgeReport::not_done(NotJudged::NoProbe { why })),
        Err(ProbeError::Unable(error)) => return Err(error.into()),
    }
    let ran = copy.run_gates(GateRange::UpToFailure, signals, &mut |_| {})?;
    Ok(JudgeReport { gates: judged_gates(&ran), ..JudgeReport::default() })
}

/// One piece of the change after the other taken back.
fn hunks(
    context: &ProbeContext<'_>,
    budget: Duration,
    copy: &CleanCopy<'_>,
    signals: &mut Signals,
) -> Result<JudgeReport, CleanError> {
    let mut failed = None;
    let report =
        try_hunks(context, budget, &mut || match copy.run_gates(GateRange::UpToFailure, signals, &mut |_| {}) {
            Ok(ran) => {
                let is_required = |gate: GateIndex| context.gates.iter().any(|required| required.gate == gate);
                Some(ran.iter().any(|ran| is_required(ran.gate) && ran.run.verdict != Verdict::Pass))
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        })?;
    match failed {
        Some(CleanError::Stopped) => {
            Ok(JudgeReport { hunks: Some(report), not_done: Some(NotJudged::Stopped), ..JudgeReport::default() })
        }
        Some(error) => Err(error),
        None => Ok(JudgeReport { hunks: Some(report), ..JudgeReport::default() }),
    }
}

#[cfg(test)]
mod tests {
    use loop_core::machine::FACT_BYTES_MAX;
    use loop_core::run::{Ended, GateReport, Output, TestsSeen};

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
