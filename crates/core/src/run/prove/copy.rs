//! What the gates said on a copy, as a decision.
use super::{clean_copy, required};
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::run::fact::CancelCause;
use crate::run::judge_report::{JudgePlace, JudgeReport, JudgedGate, JudgedTree, LeftOut, NotJudged, Remark};
use crate::run::judgement::{CleanJudgement, CopyVerdict, TestSetStability, WorkspaceOnly};
use crate::run::kept_tests::{count_text, lost_on_copy};
use crate::run::proving::UnjudgedCopy;
use crate::run::state::RunState;
use crate::test_output::{SameNames, TestsSeen};
use crate::text::NameList;

/// Why a probe has no result.
pub(super) const OUT_OF_TIME: &str = "out of time";
pub(super) const STOPPED_BY_YOU: &str = "stopped by you";

const OPENED: &str =
    "files of the workspace were opened while the gates ran in a copy, for example by a container that mounts it";

/// What the gates said on a copy.
pub(in crate::run) fn judge_copy(state: &RunState, deciding: &Deciding) -> CleanJudgement {
    let nothing = CleanJudgement {
        tree: JudgedTree::Final,
        verdict: CopyVerdict::Cancelled,
        stability: Vec::new(),
        workspace_only: None,
        drop_earlier: false,
    };
    let Some(unjudged) = state.proving.unjudged() else { return nothing };
    let (tree, report) = (unjudged.tree, &unjudged.report);
    if report.not_done.is_some() && unjudged.cancelled.is_some_and(is_given_again) {
        return CleanJudgement { tree, ..nothing };
    }
    let verdict = verdict(state, unjudged, deciding);
    let stability = learned_stability(state, tree, &report.gates);
    let drop_earlier = tree == JudgedTree::Initial && stability.iter().any(|gate| gate.same != SameNames::Exactly);
    let workspace_only = workspace_only(state, unjudged, &verdict);
    CleanJudgement { tree, verdict, stability, workspace_only, drop_earlier }
}

/// Whether a copy that was cancelled is judged again when it is due: a person wants something else meanwhile.
fn is_given_again(cause: CancelCause) -> bool {
    match cause {
        CancelCause::Abort | CancelCause::Rollback => true,
        CancelCause::Timeout
        | CancelCause::Silent
        | CancelCause::TimeLimit
        | CancelCause::TimeUp
        | CancelCause::Request
        | CancelCause::Retrying
        | CancelCause::Urgent => false,
    }
}

/// Why a copy that was cancelled has no result.
fn why_cancelled(cause: CancelCause) -> &'static str {
    match cause {
        CancelCause::TimeLimit | CancelCause::TimeUp => OUT_OF_TIME,
        CancelCause::Timeout | CancelCause::Silent => "it had no end within its time limit",
        CancelCause::Abort
        | CancelCause::Request
        | CancelCause::Rollback
        | CancelCause::Retrying
        | CancelCause::Urgent => STOPPED_BY_YOU,
    }
}

fn verdict(state: &RunState, unjudged: &UnjudgedCopy, deciding: &Deciding) -> CopyVerdict {
    let report = &unjudged.report;
    match (&report.not_done, unjudged.tree) {
        (Some(NotJudged::NoProbe { why }), tree) if tree.is_probe() => CopyVerdict::NoProbe { why: why.clone() },
        (Some(NotJudged::Stopped | NotJudged::HostFailed { .. }), _) if unjudged.cancelled.is_some() => {
            CopyVerdict::NotDone { why: unjudged.cancelled.map_or("", why_cancelled).to_owned() }
        }
        (Some(NotJudged::SetupFailed { why }), JudgedTree::Final | JudgedTree::Again) => {
            CopyVerdict::Disagrees { what: why.clone() }
        }
        (Some(NotJudged::SetupFailed { why }), JudgedTree::Initial) => {
            CopyVerdict::UnlikeBaseline { what: why.clone() }
        }
        (Some(why), _) => CopyVerdict::NotDone { why: why.words().to_owned() },
        (None, JudgedTree::Hidden { .. }) => hidden_verdict(state, &report.gates),
        (None, _) if report.place == JudgePlace::WorkspaceOpened => CopyVerdict::NotDone { why: OPENED.to_owned() },
        (None, JudgedTree::Initial) => compare_with_baseline(state, &report.gates),
        (None, JudgedTree::Final | JudgedTree::Again) => {
            with_left_out(final_tree(state, &report.gates, deciding), report)
        }
        (None, JudgedTree::WithoutNewTests) => without_new_tests(state, &report.gates),
        (None, JudgedTree::Canary) => canary_verdict(state, &report.gates),
        (None, JudgedTree::Undone) if report.unchanged => CopyVerdict::Passes,
        (None, JudgedTree::Undone) => verdict_on(state, &report.gates),
        (None, JudgedTree::Hunks { .. }) => match report.hunks {
            Some(_) => CopyVerdict::Passes,
            None => CopyVerdict::NotDone { why: "nothing was reported".to_owned() },
        },
    }
}

/// Why the workspace decides from now on: this project cannot be judged in a copy.
fn workspace_only(state: &RunState, unjudged: &UnjudgedCopy, verdict: &CopyVerdict) -> Option<WorkspaceOnly> {
    let report = &unjudged.report;
    let was_opened = report.not_done.is_none() && report.place == JudgePlace::WorkspaceOpened;
    let worked = state.iteration > 0;
    let final_has_result = || {
        let clean = clean_copy(state, unjudged.point);
        clean.is_some_and(|copy| !matches!(copy.verdict, CopyVerdict::NotDone { .. }))
    };
    let why = match (unjudged.tree, verdict) {
        // Before any iteration the tree is the initial one: nothing else is there to compare with.
        (JudgedTree::Final, CopyVerdict::Disagrees { what }) if !worked => {
            format!("the gates pass in the workspace and not in a clean copy: {what}")
        }
        (JudgedTree::Final, CopyVerdict::NotDone { why }) if !worked || was_opened => why.clone(),
        (JudgedTree::Initial, CopyVerdict::UnlikeBaseline { what }) if report.not_done.is_some() => {
            format!("also on the initial state, {what}")
        }
        (JudgedTree::Initial, CopyVerdict::UnlikeBaseline { what }) => {
            // Most often something that is ignored is missing in the copy: that comes first.
            let remark = report.remarks.first().map(|remark| format!("{}; ", remark.words())).unwrap_or_default();
            format!("{remark}a clean copy of the initial state says something else than the workspace did: {what}")
        }
        (JudgedTree::Initial, CopyVerdict::NotDone { why }) if was_opened || !final_has_result() => why.clone(),
        _ => return None,
    };
    let changed_ignored = if worked { changed_ignored(state, unjudged) } else { NameList::default() };
    Some(WorkspaceOnly { why, changed_ignored })
}

/// Ignored files that changed since the start, so that the copies do not have them.
fn changed_ignored(state: &RunState, unjudged: &UnjudgedCopy) -> NameList {
    let of_final = || {
        let copy = state.proving.copy(unjudged.point, |tree| tree == JudgedTree::Final)?;
        copy.remarks.iter().find_map(Remark::left_out)
    };
    let left_out = unjudged.report.left_out().or_else(of_final).filter(|left_out| left_out.changed);
    left_out.map(|left_out: &LeftOut| left_out.files.clone()).unwrap_or_default()
}

/// What this copy shows about each gate: does it run the same tests on every run? On the final tree a 'no' is not stored,
/// because the agent may have caused it.
fn learned_stability(state: &RunState, tree: JudgedTree, gates: &[JudgedGate]) -> Vec<TestSetStability> {
    let learned = gates.iter().filter_map(|judged| {
        let (known, same) = (state.gates.get(judged.gate)?.test_set(), judged.same_tests?);
        let is_news = match tree {
            JudgedTree::Initial => matches!(known, None | Some(SameNames::Exactly)) && known != Some(same),
            JudgedTree::Final | JudgedTree::Again => known.is_none() && same != SameNames::No,
            JudgedTree::WithoutNewTests
            | JudgedTree::Canary
            | JudgedTree::Undone
            | JudgedTree::Hunks { .. }
            | JudgedTree::Hidden { .. } => false,
        };
        is_news.then_some(TestSetStability { gate: judged.gate, same })
    });
    learned.collect()
}

/// The clean copy of the tree that passed: by exit codes, by what the output says about tests, and by their names.
fn final_tree(state: &RunState, gates: &[JudgedGate], deciding: &Deciding) -> CopyVerdict {
    let by_verdict = verdict_on(state, gates);
    if by_verdict != CopyVerdict::Passes {
        return by_verdict;
    }
    let lost = on_required(state, gates).find_map(|judged| {
        let what = lost_on_copy(state, judged, deciding)?;
        Some(format!("{}: {what}", name_of(state, judged)))
    });
    lost.map_or(CopyVerdict::Passes, |what| CopyVerdict::Disagrees { what })
}

fn on_required<'a>(state: &'a RunState, gates: &'a [JudgedGate]) -> impl Iterator<Item = &'a JudgedGate> {
    gates.iter().filter(|judged| required(state).any(|(number, _)| number == judged.gate))
}

/// A required gate that the report lacks.
fn lacking<'a>(state: &'a RunState, gates: &[JudgedGate]) -> Option<&'a str> {
    let mut lacking = required(state).filter(|(number, _)| !gates.iter().any(|judged| judged.gate == *number));
    lacking.next().map(|(_, gate)| gate.spec().name.as_str())
}

fn incomplete(name: &str) -> CopyVerdict {
    CopyVerdict::NotDone { why: format!("its report has nothing about the gate {name}") }
}

fn verdict_on(state: &RunState, gates: &[JudgedGate]) -> CopyVerdict {
    let failed = on_required(state, gates).find(|judged| judged.verdict != Verdict::Pass);
    match (failed, lacking(state, gates)) {
        (Some(judged), _) => CopyVerdict::Disagrees { what: failure_text(state, judged) },
        (None, Some(name)) => incomplete(name),
        (None, None) => CopyVerdict::Passes,
    }
}

/// Without the test files that the agent added: the tests of the start must still run and pass. The missing names in the
/// report are those of the start which the gate ran on the final tree, too.
fn without_new_tests(state: &RunState, gates: &[JudgedGate]) -> CopyVerdict {
    let mut has_tests = false;
    let mut needs_them_otherwise = None;
    let mut without_tests = None;
    for judged in on_required(state, gates) {
        let Some(gate) = state.gates.get(judged.gate).filter(|gate| !gate.spec().trust_exit) else { continue };
        let ran_first =
            gate.first_round().and_then(|first| first.tests()).map_or(0, |tests| tests.passed + tests.failed);
        let ran_last = gate.last().and_then(|last| last.report.tests.as_deref()).map_or(0, TestsSeen::ran);
        let Some(now) = judged.report.tests.as_deref() else {
            if ran_first > 0 {
                return CopyVerdict::Disagrees { what: failure_text(state, judged) };
            }
            if judged.verdict == Verdict::Fail && without_tests.is_none() {
                without_tests = Some(judged);
            }
            continue;
        };
        has_tests |= ran_first > 0 || now.ran() > 0;
        let name = name_of(state, judged);
        if !now.missing.is_nothing() {
            let what = format!("{name}: tests of the start do not run any more: {}", now.missing.words());
            return CopyVerdict::Disagrees { what };
        }
        let wanted = ran_first.min(ran_last);
        if now.ran() < wanted && !now.by_suites && !gate.is_selective() {
            let what = format!("{name}: {} ran at the start, {} now", count_text(ran_first), now.ran());
            return CopyVerdict::Disagrees { what };
        }
        match judged.verdict {
            Verdict::Pass => {}
            Verdict::Fail | Verdict::Unverifiable if now.failed > 0 || judged.contradiction.is_some() => {
                return CopyVerdict::Disagrees { what: failure_text(state, judged) };
            }
            // All tests of the start pass: it fails by something else, such as the coverage.
            Verdict::Fail | Verdict::Unverifiable => needs_them_otherwise = Some(name),
        }
    }
    match (has_tests, needs_them_otherwise) {
        (false, _) => match without_tests {
            Some(judged) if !is_about_coverage(judged) => CopyVerdict::Disagrees { what: failure_text(state, judged) },
            Some(_) | None => CopyVerdict::NoProbe { why: "the gates show no tests".to_owned() },
        },
        (true, Some(name)) => {
            let why = format!("{name} needs the new test files for something else than tests that fail");
            CopyVerdict::NoProbe { why }
        }
        (true, None) => CopyVerdict::Passes,
    }
}

/// What tools say in a line about coverage that is too low: pytest-cov and coverage.py, jest, vitest, nyc and c8, node,
/// tarpaulin, simplecov, gcovr, jacoco.
const TOO_LOW: &[&str] = &[
    "not reached",
    "less than fail-under",
    "not met",
    "does not meet",
    "below the failure threshold",
    "below the expected minimum",
    "failed minimum",
    "expected minimum is",
];

/// Whether a gate that shows no tests fails because too little of the sources was run: new tests are needed for that.
fn is_about_coverage(judged: &JudgedGate) -> bool {
    let says_so = |line: &str| {
        let line = line.to_ascii_lowercase();
        ["coverage", "covered"].iter().any(|word| line.contains(word)) && TOO_LOW.iter().any(|low| line.contains(low))
    };
    judged.report.excerpt.lines().any(says_so)
}

/// With an added failing test: every gate that has one must fail. Only these gates are in the report.
fn canary_verdict(state: &RunState, gates: &[JudgedGate]) -> CopyVerdict {
    if on_required(state, gates).any(|judged| judged.verdict == Verdict::Pass) {
        return CopyVerdict::Passes;
    }
    match on_required(state, gates).next() {
        Some(judged) => CopyVerdict::Disagrees { what: failure_text(state, judged) },
        None => CopyVerdict::NotDone { why: "nothing was reported".to_owned() },
    }
}

/// What the hidden gates said, without their names: this is in the journal.
fn hidden_verdict(state: &RunState, gates: &[JudgedGate]) -> CopyVerdict {
    let all = state.proving.hidden().map_or(0, |hidden| hidden.count);
    let name = |judged: &JudgedGate| match all {
        1 => "the hidden gate".to_owned(),
        _ => format!("hidden gate {} of {all}", judged.gate + 1),
    };
    let not_passed = gates.iter().find(|judged| judged.verdict != Verdict::Pass);
    match not_passed {
        Some(judged) if judged.verdict == Verdict::Fail => {
            CopyVerdict::Disagrees { what: format!("{} does not pass", name(judged)) }
        }
        Some(judged) => CopyVerdict::NotDone { why: format!("{} could not be run", name(judged)) },
        None if u32::try_from(gates.len()).ok() == Some(all) => CopyVerdict::Passes,
        None => CopyVerdict::NotDone { why: "not all of them were run".to_owned() },
    }
}

/// Adds the list of left-out files to the reason: a missing file may explain the failure.
fn with_left_out(verdict: CopyVerdict, report: &JudgeReport) -> CopyVerdict {
    let left_out = report.remarks.iter().find(|remark| remark.left_out().is_some());
    match (verdict, left_out) {
        (CopyVerdict::Disagrees { what }, Some(left_out)) => {
            CopyVerdict::Disagrees { what: format!("{what} ({})", left_out.words()) }
        }
        (verdict, _) => verdict,
    }
}

/// Whether a clean copy of the initial tree says what the workspace said before iteration 1. Gates that are only watched
/// do not decide.
fn compare_with_baseline(state: &RunState, gates: &[JudgedGate]) -> CopyVerdict {
    if let Some(name) = lacking(state, gates) {
        return incomplete(name);
    }
    let differs = on_required(state, gates).find(|judged| {
        // A gate that chooses other tests each time is not compared by them.
        let chooses = judged.same_tests == Some(SameNames::No);
        let first = state.gates.get(judged.gate).and_then(|gate| gate.first_round());
        !first.is_some_and(|first| {
            if chooses { first.verdict == judged.verdict } else { first.is_like(judged.verdict, &judged.report) }
        })
    });
    match differs {
        None => CopyVerdict::LikeBaseline,
        Some(judged) => CopyVerdict::UnlikeBaseline { what: failure_text(state, judged) },
    }
}

fn name_of(state: &RunState, judged: &JudgedGate) -> String {
    state.gates.get(judged.gate).map(|gate| gate.spec().name.clone()).unwrap_or_default()
}

/// What a gate said on a copy, in a line.
fn failure_text(state: &RunState, judged: &JudgedGate) -> String {
    let name = name_of(state, judged);
    let ended = judged.report.ended.brief();
    if let Some(contradiction) = judged.contradiction {
        return format!("{name} ({ended}): {}", contradiction.words());
    }
    let line = judged.report.excerpt.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line = crate::text::one_line(line, 200);
    if line.is_empty() { format!("{name} ({ended})") } else { format!("{name} ({ended}): {line}") }
}
