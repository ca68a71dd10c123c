//! What is decided about the items of a list: which one is taken, what its checks mean, when it is applied and ticked.
//!
//! An item that passed goes through merge and gates as any node, then into the workspace, and only then it is ticked.
//! One result at a time is on this way.
use super::decide::PlanNext;
use super::fact::{NodeEnd, PlanDecision, PlanOrder, RunPurpose};
use super::finish;
use super::list::{ITEMS_MAX, ItemJudge, ItemProgress, ListReport, ListSpec};
use super::outcome::{PlanOutcome, PlanReasonCode};
use super::report::RunDigest;
use super::spec::PlanSpec;
use super::state::{NodeStage, NodeState, PlanState};
use super::words::count;
use crate::machine::Deciding;
use crate::policy::item::{RetryChange, evaluate, next_of_item};
use crate::run::Outcome;

/// Whether a node is an item that its checks judge.
fn is_checked(state: &PlanState) -> bool {
    state.spec.as_ref().and_then(|spec| spec.list()).is_some_and(|list| list.judge == ItemJudge::Checks)
}

/// What the end of the run of an item means that is checked; none where a person, money or the machine ended it before
/// its agent had worked. Only its checks say whether it passed: what the run itself says of its end does not count.
pub(super) fn judge_loop(state: &PlanState, node: &NodeState, run: &RunDigest) -> Option<PlanDecision> {
    let worked = run.iterations > node.item.iterations && run.tree.is_some();
    let by_itself = !matches!(run.outcome, Outcome::Stopped | Outcome::Unable) && !run.share_used_up;
    match (is_checked(state), worked && run.outcome != Outcome::Cancelled) {
        (false, _) => None,
        (true, true) => Some(PlanDecision::LoopRan { node: node.id().clone() }),
        (true, false) if by_itself => {
            Some(PlanDecision::NodeEnded { node: node.id().clone(), end: NodeEnd::NotPassed })
        }
        (true, false) => None,
    }
}

/// What ended for an item, and about which nothing is decided yet.
pub(super) fn judge(state: &PlanState, node: &NodeState, deciding: &Deciding) -> Option<PlanDecision> {
    let id = || node.id().clone();
    match node.stage {
        NodeStage::Checked => evaluated(state, node, deciding),
        NodeStage::Recorded => Some(match (&node.item.end, &node.item.retry) {
            (Some(end), _) => PlanDecision::NodeEnded { node: id(), end: NodeEnd::GaveUp(end.clone()) },
            (None, Some(retry)) if retry.change == RetryChange::CheckAgain => PlanDecision::ChecksAgain { node: id() },
            (None, _) => PlanDecision::Retries { node: id(), purpose: RunPurpose::Work },
        }),
        NodeStage::TickEnded => {
            let end = match &node.item.not_ticked {
                None => NodeEnd::Ticked,
                Some(why) => NodeEnd::NotTicked { why: why.clone() },
            };
            Some(PlanDecision::NodeEnded { node: id(), end })
        }
        NodeStage::Waiting
        | NodeStage::Copying
        | NodeStage::Running
        | NodeStage::RunEnded
        | NodeStage::Ran
        | NodeStage::Merging
        | NodeStage::Conflicted
        | NodeStage::MergeGates
        | NodeStage::MergeJudged
        | NodeStage::Checking
        | NodeStage::Recording
        | NodeStage::Applying
        | NodeStage::Ticking
        | NodeStage::Asking
        | NodeStage::Said
        | NodeStage::Ended(_) => None,
    }
}

/// The evaluation of a loop, what the item has used with it, and what follows.
fn evaluated(state: &PlanState, node: &NodeState, deciding: &Deciding) -> Option<PlanDecision> {
    let list = state.spec.as_ref()?.list()?;
    let checked = node.item.checked.as_ref()?;
    let evaluation = evaluate(&checked.evidence, deciding).bounded();
    let (time_ms, tokens) = unused(&node.item, node.result.as_deref());
    let worked = node.result.as_ref().is_some_and(|run| run.iterations > node.item.iterations);
    let tries = node.item.tries.after(&evaluation, !worked).with_use(time_ms, tokens);
    let next = next_of_item(&evaluation, &tries, &list.budget, deciding);
    Some(PlanDecision::ItemEvaluated {
        node: node.id().clone(),
        evaluation: Box::new(evaluation),
        tries,
        next: Box::new(next),
    })
}

/// What the run of an item used since it was counted.
fn unused(item: &ItemProgress, run: Option<&RunDigest>) -> (u64, u64) {
    let Some(run) = run else { return (0, 0) };
    (run.elapsed_ms.saturating_sub(item.counted_ms), run.tokens.saturating_sub(item.counted_tokens))
}

/// What a node that is merged is, or becomes.
pub(super) fn merged(state: &PlanState, node: &NodeState) -> PlanDecision {
    let node = node.id().clone();
    match state.spec.as_ref().and_then(|spec| spec.list()) {
        Some(_) => PlanDecision::ItemJoined { node },
        None => PlanDecision::NodeEnded { node, end: NodeEnd::Merged },
    }
}

/// The next order for an item between its loops and its tick.
pub(super) fn work(node: &NodeState) -> Option<PlanOrder> {
    let id = node.id().clone();
    let (attempt, number) = (node.attempt, node.item.checks);
    if node.stage == NodeStage::Checking {
        return Some(PlanOrder::Check { node: id, attempt, number });
    }
    must_end(node)
}

/// What is begun and must come to its end whatever a person asked: a result that is in the plan tree or in the workspace
/// is ticked, and the outcome of a loop is written down.
pub(super) fn must_end(node: &NodeState) -> Option<PlanOrder> {
    let id = node.id().clone();
    let (attempt, number) = (node.attempt, node.item.checks);
    match node.stage {
        NodeStage::Recording => Some(PlanOrder::RecordLoop { node: id, attempt, number }),
        NodeStage::Applying => Some(PlanOrder::Apply {
            base: node.item.joined_from.clone()?,
            tree: node.merging.clone()?,
            undo: format!("before-{id}-{attempt}"),
            node: Some(id),
        }),
        NodeStage::Ticking => Some(PlanOrder::RecordPass { node: id, attempt }),
        NodeStage::Waiting
        | NodeStage::Copying
        | NodeStage::Running
        | NodeStage::RunEnded
        | NodeStage::Ran
        | NodeStage::Merging
        | NodeStage::Conflicted
        | NodeStage::MergeGates
        | NodeStage::MergeJudged
        | NodeStage::Checking
        | NodeStage::Checked
        | NodeStage::Recorded
        | NodeStage::TickEnded
        | NodeStage::Asking
        | NodeStage::Said
        | NodeStage::Ended(_) => None,
    }
}

/// The next item is taken, or the plan ends. Nothing else of the plan can be begun.
pub(super) fn take(state: &PlanState, spec: &PlanSpec, list: &ListSpec) -> Option<PlanNext> {
    if state.plan_order().is_some() {
        return None;
    }
    let active = state.nodes.iter().filter(|node| node.end().is_none()).count();
    let was_one = !list.all && !state.nodes.is_empty();
    let stops = state.first_failed.is_some() && !spec.keep_going;
    let is_poor = state.left_micros() == Some(0);
    if was_one || stops || is_poor || state.nodes.len() >= ITEMS_MAX {
        return if active == 0 { finish(state, state.list.last.as_deref()) } else { None };
    }
    if active >= usize::try_from(spec.parallel).unwrap_or(usize::MAX) {
        return None;
    }
    let begun = u32::try_from(state.nodes.len()).unwrap_or(u32::MAX);
    match &state.list.read {
        // What a person changed in the workspace is what the next item begins with.
        None if active == 0 && !state.list.recorded => {
            Some(PlanNext::Order(PlanOrder::Record { name: format!("item-{}", state.orders.next_id().0) }))
        }
        None => Some(PlanNext::Order(PlanOrder::ReadList { begun })),
        Some(read) => match read.candidates.iter().find(|one| state.node(&one.id).is_none()) {
            Some(node) => Some(PlanNext::Decide(PlanDecision::ItemTaken { node: Box::new(node.clone()) })),
            None if active == 0 => finish(state, Some(read)),
            // One that waits for another may start when that one has ended.
            None => None,
        },
    }
}

fn finish(state: &PlanState, read: Option<&ListReport>) -> Option<PlanNext> {
    let ticked = state.nodes.iter().filter(|node| node.is_done()).count();
    let open = read.map_or(0, |read| usize::try_from(read.open).unwrap_or(usize::MAX));
    let last_was_before = read.is_some_and(|read| read.candidates.iter().any(|one| state.node(&one.id).is_some()));
    let left = open.saturating_sub(usize::from(last_was_before));
    let items = |number: usize| count(number, "item", "items");
    let left_words = if left == 0 { "none is open".to_owned() } else { format!("{} open", items(left)) };
    let blamed = state.first_failed.as_ref().and_then(|id| state.node(id));
    let blamed = blamed.or_else(|| state.nodes.iter().find(|node| !node.is_done()));
    let Some(blamed) = blamed else {
        return match read {
            Some(read) if read.waiting > 0 && ticked == 0 => {
                let text = format!("no item can start: {} for items that are not done", waits(read.waiting));
                finish::ends(PlanOutcome::Incomplete, PlanReasonCode::NodeFailed, &text)
            }
            Some(_) | None if state.left_micros() == Some(0) && left > 0 => {
                let text = format!("the budget is used up: {} ticked, {left_words}", items(ticked));
                finish::ends(PlanOutcome::Incomplete, PlanReasonCode::Budget, &text)
            }
            Some(_) | None => {
                let text = format!("{} ticked, {left_words}", items(ticked));
                finish::ends(PlanOutcome::Applied, PlanReasonCode::AllTicked, &text)
            }
        };
    };
    let why = state.end_words(blamed, blamed.end()?);
    let id = blamed.spec.item.as_ref().map_or_else(|| blamed.id().to_string(), |item| item.id.clone());
    let text = format!("{id}: {why}; {} ticked, {left_words}", items(ticked));
    let (outcome, code) = match blamed.end() {
        Some(NodeEnd::HostFailure { .. }) => (PlanOutcome::Unable, PlanReasonCode::HostFailure),
        Some(_) if finish::wants_budget(blamed) => (PlanOutcome::Incomplete, PlanReasonCode::Budget),
        Some(_) | None => (PlanOutcome::Incomplete, PlanReasonCode::NodeFailed),
    };
    finish::ends(outcome, code, &text)
}

fn waits(number: u32) -> String {
    if number == 1 { "1 waits".to_owned() } else { format!("{number} wait") }
}
