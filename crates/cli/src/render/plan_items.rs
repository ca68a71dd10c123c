//! The items of a list for people: what a loop came to, and how the list stands.
use loop_core::plan::{ItemJudge, NodeSpec, NodeState, PlanState};
use loop_core::policy::item::{ItemEvaluation, ItemNext, ItemVerdict};
use loop_core::text;

use super::printer::Paint;

/// Whether the nodes of a plan are items of a list.
pub(super) fn is_list(state: &PlanState) -> bool {
    state.spec.as_ref().is_some_and(|spec| spec.list().is_some())
}

/// Whether the checks of each item judge it.
pub(super) fn is_checked_list(state: &PlanState) -> bool {
    state.spec.as_ref().and_then(|spec| spec.list()).is_some_and(|list| list.judge == ItemJudge::Checks)
}

/// What an item is called: by its id in the list.
pub(super) fn item_name(node: &NodeSpec) -> String {
    node.item.as_ref().map_or_else(|| node.id.to_string(), |item| text::one_line(&item.id, 80))
}

/// What a loop of an item came to, and what follows.
pub(super) fn evaluated_lines(
    name: &str,
    evaluation: &ItemEvaluation,
    next: &ItemNext,
) -> Vec<(Option<Paint>, String)> {
    let why = evaluation.failure.as_ref().and_then(|failure| failure.reasons.first());
    let why = why.map_or_else(String::new, |why| format!(": {}", text::one_line(why, 200)));
    let paint = if evaluation.verdict == ItemVerdict::Pass { Paint::Good } else { Paint::Bad };
    let mut lines = vec![(Some(paint), format!("item {name}: {}{why}", evaluation.verdict.words()))];
    for flag in &evaluation.flags {
        lines.push((Some(Paint::Warn), format!("item {name}: {}", text::one_line(flag, 300))));
    }
    match next {
        ItemNext::Retry(retry) => {
            let words = format!(
                "item {name}: retry {} after {}: {}",
                retry.number,
                retry.failure.words(),
                retry.change.words()
            );
            lines.push((None, words));
        }
        ItemNext::End(end) if end.is_escalation() => {
            lines.push((Some(Paint::Warn), format!("item {name}: it ends, and a person is asked: {}", end.words())));
        }
        ItemNext::End(_) => {}
    }
    lines
}

/// The first words about a list, for the head of its plan.
pub(super) fn kind_of(state: &PlanState) -> Option<String> {
    let spec = state.spec.as_ref()?;
    let list = spec.list()?;
    let how = match (list.only.is_some(), list.all, spec.parallel) {
        (true, ..) | (false, false, _) => "one item".to_owned(),
        (false, true, 1) => "all open items, one at a time".to_owned(),
        (false, true, parallel) => format!("all open items, at most {parallel} at a time"),
    };
    Some(format!("{} · {how}", text::one_line(&list.kind, 80)))
}

/// A row of the table of nodes: the item, its loops, its run, where it is.
pub(super) fn row(node: &NodeState, state: &PlanState) -> Vec<String> {
    let loops = node.item.tries.loops.max(node.result.as_ref().map_or(0, |run| run.iterations));
    vec![
        item_name(&node.spec),
        loops.to_string(),
        node.run.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
        text::one_line(&text::clean(state.node_words(node).as_bytes()), 160),
    ]
}
