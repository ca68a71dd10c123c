//! How the gates failed before iteration 1, and what the probes showed.
use super::clean_copy;
use super::copy::STOPPED_BY_YOU;
use super::next::may_copy;
use crate::machine::Deciding;
use crate::policy::gate::Verdict;
use crate::policy::proof::{NotTried, ProbeResult, RedBefore, StrengthReport};
use crate::run::fact::GatePoint;
use crate::run::gates::Gate;
use crate::run::judge_report::JudgedTree;
use crate::run::judgement::CopyVerdict;
use crate::run::proving::JudgedCopy;
use crate::run::state::RunState;
use crate::settings::{JudgeChoice, StrengthChoice};

/// How the gates failed before iteration 1. With several gates: the most informative failure (order below).
pub(super) fn red_before(state: &RunState) -> RedBefore {
    let red = |gate: &Gate| {
        let first = gate.first_round().filter(|first| first.verdict != Verdict::Pass || fails_under_exit_0(gate))?;
        let shows_tests_now = gate.last().is_some_and(|last| last.report.tests.is_some());
        Some(match first.tests() {
            // Some tests may run although another file does not load.
            Some(tests) if tests.failed > 0 && !tests.files_only => RedBefore::Assertion,
            Some(_) | None if first.did_not_build() => RedBefore::DidNotBuild,
            Some(tests) if tests.passed > 0 => RedBefore::TestsPassed,
            Some(_) => RedBefore::NoTestResult,
            None if shows_tests_now => RedBefore::NoTestResult,
            None => RedBefore::FailedWithoutTests,
        })
    };
    let all: Vec<RedBefore> = state.gates.required().filter_map(red).collect();
    let order = [
        RedBefore::Assertion,
        RedBefore::DidNotBuild,
        RedBefore::TestsPassed,
        RedBefore::NoTestResult,
        RedBefore::FailedWithoutTests,
    ];
    order.into_iter().find(|red| all.contains(red)).unwrap_or(RedBefore::No)
}

/// Whether tests failed before iteration 1 although the gate passed.
pub(super) fn fails_under_exit_0(gate: &Gate) -> bool {
    let failed = gate.first_round().and_then(|first| first.tests()).is_some_and(|tests| tests.failed > 0);
    failed && !gate.spec().trust_exit && !gate.spec().promise().wants_failure()
}

/// What the probes showed, and why those that are missing were not tried.
pub(super) fn strength(state: &RunState, point: GatePoint, deciding: &Deciding) -> StrengthReport {
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    let red_before = red_before(state);
    let canary = match copy(|tree| tree == JudgedTree::Canary) {
        Some(copy) => probe_result(copy),
        None => ProbeResult::NotTried(no_probe_tried(state, point, deciding)),
    };
    let undo = match (copy(|tree| tree == JudgedTree::Undone), &canary) {
        (Some(copy), _) => probe_result(copy),
        (None, ProbeResult::NotNoticed) => needless("the canary was not noticed"),
        (None, _) if copy(|tree| tree == JudgedTree::Canary).is_none() => canary.clone(),
        (None, _) => ProbeResult::NotTried(no_time(state)),
    };
    let tried = copy(|tree| matches!(tree, JudgedTree::Hunks { .. }));
    let hunks = tried.and_then(|copy| copy.hunks.clone());
    let by_you = state.requests.stop.is_some();
    let stopped = || ProbeResult::NotTried(NotTried::NoResult { why: STOPPED_BY_YOU.to_owned() });
    let hunks_not_tried = match (&hunks, tried, &undo) {
        (Some(hunks), _, _) => (by_you && hunks.tried < hunks.all).then(stopped),
        (None, Some(copy), _) => Some(probe_result(copy)),
        (None, None, ProbeResult::NotNoticed) if red_before == RedBefore::Assertion => {
            Some(needless("undo was not noticed"))
        }
        (None, None, _) if copy(|tree| tree == JudgedTree::Undone).is_none() => Some(undo.clone()),
        (None, None, _) => Some(ProbeResult::NotTried(no_time(state))),
    };
    let hunks = hunks.unwrap_or_default();
    let undone = copy(|tree| tree == JudgedTree::Undone);
    let undo_did_not_build = undo == ProbeResult::Noticed && undone.is_some_and(|copy| copy.did_not_build);
    StrengthReport {
        red_before,
        canary,
        undo,
        undo_did_not_build,
        hunks: hunks.all,
        hunks_tried: hunks.tried,
        hunks_noticed: hunks.noticed,
        hunks_not_noticed: hunks.not_noticed,
        hunks_not_tried: hunks_not_tried.and_then(why_not_tried),
    }
}

fn needless(why: &str) -> ProbeResult {
    ProbeResult::NotTried(NotTried::Needless { why: why.to_owned() })
}

/// Why something was not tried; none where it is not wanted, or was tried.
fn why_not_tried(result: ProbeResult) -> Option<NotTried> {
    match result {
        ProbeResult::NotTried(why) if why != NotTried::Disabled => Some(why),
        ProbeResult::NotTried(_) | ProbeResult::Noticed | ProbeResult::NotNoticed => None,
    }
}

/// Why no probe was tried at all.
fn no_probe_tried(state: &RunState, point: GatePoint, deciding: &Deciding) -> NotTried {
    let gate = &state.settings.read(deciding).values.gate;
    if gate.strength == StrengthChoice::Off || gate.judge == JudgeChoice::Workspace || state.iteration == 0 {
        return NotTried::Disabled;
    }
    if !may_copy(state, deciding) {
        return NotTried::NotPossible { why: why_no_copy(state) };
    }
    if clean_copy(state, point).is_none_or(|copy| copy.verdict != CopyVerdict::Passes) {
        return NotTried::Needless { why: "something else speaks against the pass".to_owned() };
    }
    let without_new = state.proving.copy(point, |tree| tree == JudgedTree::WithoutNewTests);
    if without_new.is_some_and(|copy| matches!(copy.verdict, CopyVerdict::Disagrees { .. })) {
        return NotTried::Needless { why: "something else speaks against the pass".to_owned() };
    }
    no_time(state)
}

/// Why there is no clean copy that a probe could change.
fn why_no_copy(state: &RunState) -> String {
    match state.proving.workspace_only() {
        Some(only) if !only.changed_ignored.is_nothing() => {
            let files = only.changed_ignored.words();
            format!("a copy does not have the ignored files that changed, and the gates need them: {files}")
        }
        Some(_) => "this project cannot be judged in a copy".to_owned(),
        None => "there are no checkpoints to copy".to_owned(),
    }
}

/// Why no further probe was begun, where one was possible.
fn no_time(state: &RunState) -> NotTried {
    match state.requests.stop {
        Some(_) => NotTried::NoResult { why: STOPPED_BY_YOU.to_owned() },
        None => NotTried::OutOfTime,
    }
}

/// What a copy with a canary or with undone sources shows. There the gates must not pass.
pub(super) fn probe_result(copy: &JudgedCopy) -> ProbeResult {
    match &copy.verdict {
        CopyVerdict::Disagrees { .. } => ProbeResult::Noticed,
        CopyVerdict::Passes => ProbeResult::NotNoticed,
        CopyVerdict::NoProbe { why } => ProbeResult::NotTried(NotTried::NotPossible { why: why.clone() }),
        CopyVerdict::NotDone { why } => ProbeResult::NotTried(NotTried::NoResult { why: why.clone() }),
        CopyVerdict::LikeBaseline | CopyVerdict::UnlikeBaseline { .. } | CopyVerdict::Cancelled => {
            ProbeResult::default()
        }
    }
}
