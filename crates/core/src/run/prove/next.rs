//! What is ordered next before the run may end as verified.
use super::clean_copy;
use super::copy::{OUT_OF_TIME, STOPPED_BY_YOU};
use super::findings::{copy_findings, lost_in_workspace, output_findings};
use super::strength::{probe_result, red_before, strength};
use super::weigh::is_evidence;
use crate::machine::Deciding;
use crate::policy::proof::{FindingKind, ProbeResult, RedBefore, probe_budget_ms};
use crate::run::fact::{GatePoint, Order};
use crate::run::judge_report::JudgedTree;
use crate::run::judgement::CopyVerdict;
use crate::run::proving::JudgedCopy;
use crate::run::state::RunState;
use crate::settings::{JudgeChoice, StrengthChoice};

/// What is ordered next; nothing where everything is known.
pub(in crate::run) fn next_order(state: &RunState, deciding: &Deciding) -> Option<Order> {
    let point = state.phase.point()?;
    if state.proving.certified(point).is_some() {
        return None;
    }
    Some(match next_tree(state, point, deciding).or_else(|| hidden_tree(state, point, deciding)) {
        Some(tree) => Order::Judge { point, tree },
        None => Order::Certify { point },
    })
}

/// Whether clean copies are made: they are wanted, possible, and right for this project.
pub(super) fn may_copy(state: &RunState, deciding: &Deciding) -> bool {
    let wanted = state.settings.read(deciding).values.gate.judge == JudgeChoice::Auto;
    wanted && state.has_checkpoints() && state.proving.workspace_only().is_none()
}

/// Which copy is judged next.
fn next_tree(state: &RunState, point: GatePoint, deciding: &Deciding) -> Option<JudgedTree> {
    if !may_copy(state, deciding) {
        return None;
    }
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    let mut found = output_findings(state);
    found.retain(|finding| is_evidence(state, finding.kind, deciding));
    if !found.is_empty() {
        // Tests are not there: does the gate choose other tests each time? The initial state shows it.
        let only_names = found.iter().all(|finding| finding.kind == FindingKind::RenamedTests);
        let unknown = state.gates.required().any(|gate| gate.test_set().is_none() && lost_in_workspace(gate).is_some());
        let asked = copy(|tree| tree == JudgedTree::Initial).is_some() || state.iteration == 0;
        return (only_names && unknown && !asked).then_some(JudgedTree::Initial);
    }
    let Some(clean) = clean_copy(state, point) else { return Some(JudgedTree::Final) };
    match &clean.verdict {
        CopyVerdict::Disagrees { .. } | CopyVerdict::NotDone { .. } => match copy(|tree| tree == JudgedTree::Initial) {
            None => Some(JudgedTree::Initial),
            Some(_) => copy(|tree| tree == JudgedTree::Again).is_none().then_some(JudgedTree::Again),
        },
        CopyVerdict::Passes => next_probe(state, point, clean, deciding),
        CopyVerdict::LikeBaseline
        | CopyVerdict::UnlikeBaseline { .. }
        | CopyVerdict::NoProbe { .. }
        | CopyVerdict::Cancelled => None,
    }
}

/// Which probe is tried next, after a clean copy that passes.
fn next_probe(state: &RunState, point: GatePoint, clean: &JudgedCopy, deciding: &Deciding) -> Option<JudgedTree> {
    let wanted = state.settings.read(deciding).values.gate.strength != StrengthChoice::Off;
    if !wanted || state.iteration == 0 || state.out_of_time(deciding) || state.requests.stop.is_some() {
        return None;
    }
    let copy = |is: fn(JudgedTree) -> bool| state.proving.copy(point, is);
    if copies_ended_early(state, point) {
        return None;
    }
    let Some(without_new) = copy(|tree| tree == JudgedTree::WithoutNewTests) else {
        return Some(JudgedTree::WithoutNewTests);
    };
    if matches!(without_new.verdict, CopyVerdict::Disagrees { .. }) {
        return None;
    }
    let Some(canary) = copy(|tree| tree == JudgedTree::Canary) else { return Some(JudgedTree::Canary) };
    let Some(undone) = copy(|tree| tree == JudgedTree::Undone) else {
        // Gates that do not notice a failing test do not notice anything.
        return (probe_result(canary) != ProbeResult::NotNoticed).then_some(JudgedTree::Undone);
    };
    if probe_result(undone) == ProbeResult::NotNoticed && red_before(state) == RedBefore::Assertion {
        return None;
    }
    let used = [without_new, canary, undone].map(|copy| copy.gates_ms).into_iter().fold(0, u64::saturating_add);
    let budget_ms = probe_budget_ms(clean.gates_ms, deciding).saturating_sub(used);
    // Time that passes after the limit of the run is not spent on probes.
    let budget_ms = state.probe_ms_left(point, deciding).map_or(budget_ms, |left| left.min(budget_ms));
    let hunks = copy(|tree| matches!(tree, JudgedTree::Hunks { .. }));
    (hunks.is_none() && budget_ms > 0).then_some(JudgedTree::Hunks { budget_ms })
}

/// Whether the time of the run, or a person, ended a probe of this pass: no other is begun.
fn copies_ended_early(state: &RunState, point: GatePoint) -> bool {
    let ended = |tree: JudgedTree, verdict: &CopyVerdict| {
        let early = matches!(verdict, CopyVerdict::NotDone { why } if why == OUT_OF_TIME || why == STOPPED_BY_YOU);
        tree.is_probe() && early
    };
    state.proving.copies(point).iter().any(|copy| ended(copy.tree, &copy.verdict))
}

/// The hidden gates come last, and only where neither the outputs nor the copies show that the pass is not real.
fn hidden_tree(state: &RunState, point: GatePoint, deciding: &Deciding) -> Option<JudgedTree> {
    let hidden = state.proving.hidden()?;
    if state.proving.hidden_copy(point).is_some() {
        return None;
    }
    let strength = strength(state, point, deciding);
    let mut found = output_findings(state).into_iter().chain(copy_findings(state, point, &strength));
    if found.any(|finding| is_evidence(state, finding.kind, deciding)) {
        return None;
    }
    let limit_ms = hidden.limit_ms(state.settings.read(deciding).gate_timeout_ms);
    Some(JudgedTree::Hidden { in_copy: may_copy(state, deciding), limit_ms })
}
