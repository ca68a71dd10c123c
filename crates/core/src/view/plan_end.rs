//! What must stand beside the end of a plan, on every face: the result of a plan is as good as the weakest of the runs that
//! it comes from.
use crate::plan::{ItemJudge, Join, NodeEnd, NodeState, PlanOutcome, PlanState};
use crate::run::Outcome;

/// How many loops are named beside a qualification.
const NAMES_MAX: usize = 3;

/// The runs whose results are in the workspace; none where nothing was applied as done.
fn counted(state: &PlanState) -> Vec<&NodeState> {
    let applied = state.over.as_ref().is_some_and(|over| over.outcome == PlanOutcome::Applied);
    let Some(spec) = state.spec.as_ref().filter(|_| applied) else { return Vec::new() };
    let is_in = |node: &&NodeState| match &spec.join {
        Join::Best(_) => state.chosen.as_ref().is_some_and(|chosen| chosen.node == *node.id()),
        Join::Merge => node.end() == Some(&NodeEnd::Merged),
        // Where checks judge an item, its run says nothing of its own about the end.
        Join::List(list) => list.judge == ItemJudge::Run && node.end() == Some(&NodeEnd::Ticked),
    };
    state.nodes.iter().filter(is_in).filter(|node| node.result.is_some()).collect()
}

/// The weakest outcome of the runs whose results were applied: *verified* only where all of them are.
#[must_use]
pub fn plan_result(state: &PlanState) -> Option<Outcome> {
    let rank = |outcome: &Outcome| (*outcome != Outcome::Verified, *outcome != Outcome::Accepted);
    let outcomes = counted(state).into_iter().filter_map(|node| Some(node.result.as_ref()?.outcome));
    outcomes.max_by_key(rank)
}

/// What qualifies the end of a plan; none where it is verified with nothing to add, or not done.
#[must_use]
pub fn plan_qualification(state: &PlanState) -> Option<String> {
    let over = state.over.as_ref()?;
    if over.outcome == PlanOutcome::AwaitsPerson {
        return Some("waits for you".to_owned());
    }
    let runs = counted(state);
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for node in &runs {
        let Some(words) = node.result.as_ref().and_then(|run| run.qualification.as_deref()) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(node.id().as_str()),
            None => groups.push((words, vec![node.id().as_str()])),
        }
    }
    let rolled_back = state.rolled_back().filter(|_| !runs.is_empty());
    let rolled_back = rolled_back.filter(|rollback| matches!(rollback.end, Some(Ok(_))));
    let rolled_back = rolled_back.map(|rollback| format!("rolled back to {} since", rollback.to));
    let words = |(words, names): (&str, Vec<&str>)| match names.len() {
        all if all == runs.len() => words.to_owned(),
        _ => format!("{words} ({})", few(&names)),
    };
    let parts: Vec<String> = rolled_back.into_iter().chain(groups.into_iter().map(words)).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn few(names: &[&str]) -> String {
    let first = names.get(..NAMES_MAX).unwrap_or(names).join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
