//! What must stand before a fact that says *applied*. A reader refuses a journal in which it does not: then no `step`
//! decided it. It asks no policy.
use super::fact::{NodeEnd, PlanFact};
use super::outcome::PlanOutcome;
use super::state::{NodeState, PlanState};

/// Whether the fact says that the result is applied.
pub(super) fn is_needed(fact: &PlanFact) -> bool {
    matches!(fact, PlanFact::Concluded { outcome: PlanOutcome::Applied, .. })
}

/// Whether the state before such a fact has a result that passed, and gates that pass in the workspace.
pub(super) fn check(state: &PlanState, fact: &PlanFact) -> Result<(), &'static str> {
    if !is_needed(fact) {
        return Ok(());
    }
    let is_list = state.spec.as_ref().is_some_and(|spec| spec.list().is_some());
    if is_list {
        let all = state.nodes.iter().all(|node| node.end() == Some(&NodeEnd::Ticked) && node.item.ticked);
        return if all { Ok(()) } else { Err("it says that all is done, and an item before it was not ticked") };
    }
    let passed = match &state.chosen {
        Some(chosen) => state.node(&chosen.node).is_some_and(|node| node.end() == Some(&NodeEnd::Passed)),
        None => !state.nodes.is_empty() && state.nodes.iter().all(NodeState::is_done),
    };
    if !passed {
        return Err("it says applied, and no result before it passed");
    }
    if state.applying.report.is_none() {
        return Err("it says applied, and nothing before it changed the workspace");
    }
    if state.applying.gates.as_ref().is_none_or(|gates| !gates.all_pass()) {
        return Err("it says applied, and the gates in the workspace before it do not pass");
    }
    Ok(())
}
