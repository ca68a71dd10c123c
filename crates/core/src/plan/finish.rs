//! How a plan comes to its end: gates of merged trees, the ranking, apply, hooks, copies, the outcome.
use super::decide::{Halt, PlanNext, picked};
use super::fact::{
    ChosenBy, EndedEarly, GatesPlace, HookWhen, NodeEnd, NotStarted, PlanDecision, PlanOrder, PlanQuestion,
};
use super::items;
use super::outcome::{PlanOutcome, PlanReason, PlanReasonCode, plan_standing};
use super::report::{ApplyReport, GatesReport, RunDigest};
use super::spec::{Join, MetricSource, NodeId, PlanSpec, Selection};
use super::state::{NodeStage, NodeState, PlanChoice, PlanEnds, PlanState};
use super::words::{self, count};
use crate::machine::Deciding;
use crate::policy::candidate::{self, Candidate, CandidateGates};
use crate::policy::item::ItemEnd;
use crate::run::Outcome;

/// Making a copy, and everything around the gates.
const COPY_MS_MAX: u64 = 30 * 60 * 1000;
/// So many millionths is one, for numbers of a metric.
const MILLION: i64 = 1_000_000;

/// The checkpoint of the workspace before the result is applied.
const UNDO: &str = "before-apply";

pub(super) fn ends(outcome: PlanOutcome, code: PlanReasonCode, text: &str) -> Option<PlanNext> {
    let reason = PlanReason { code, text: words::bounded(text) };
    Some(PlanNext::Decide(PlanDecision::Ends { outcome, reason }))
}

/// Whether work is open: an order that is more than a side order.
fn works(state: &PlanState) -> bool {
    state.orders.iter().any(|(_, open)| !open.order.is_side())
}

/// A person stopped it, or it cannot work: what is under way ends, then the plan does.
pub(super) fn halted(state: &PlanState, halt: Halt) -> Option<PlanNext> {
    if works(state) || state.nodes.iter().any(|node| node.end().is_none()) {
        return None;
    }
    let by = |asked: &Option<String>| asked.clone().unwrap_or_default();
    let requests = &state.requests;
    match halt {
        Halt::Cancel => {
            let text = format!("cancelled by {}", by(&requests.cancel));
            ends(PlanOutcome::Cancelled, PlanReasonCode::ManualStop, &text)
        }
        // A stop takes no choice away: all work is done, and only the person's word is missing.
        Halt::Abort | Halt::Stop if awaits_pick(state) => to_pick(state),
        Halt::Abort | Halt::Stop => {
            let who = if requests.abort.is_some() { by(&requests.abort) } else { by(&requests.stop) };
            ends(PlanOutcome::Stopped, PlanReasonCode::ManualStop, &format!("stopped by {who}"))
        }
        Halt::Trouble => {
            let text = state.trouble.clone().unwrap_or_default();
            ends(PlanOutcome::Unable, PlanReasonCode::HostFailure, &text)
        }
    }
}

/// Nodes whose gates must pass on a tree with the results of all merged nodes, and of this one.
///
/// A node that builds on another one replaces its gates: the first of two loops may demand tests that fail.
pub(super) fn gate_nodes(state: &PlanState, also: Option<&NodeId>) -> Vec<NodeId> {
    let is_merged =
        |node: &NodeState| matches!(node.end(), Some(NodeEnd::Merged | NodeEnd::Ticked | NodeEnd::NotTicked { .. }));
    let is_in = |node: &&NodeState| is_merged(node) || Some(node.id()) == also;
    let merged: Vec<&NodeState> = state.nodes.iter().filter(is_in).collect();
    let is_replaced = |node: &NodeState| merged.iter().any(|later| depends(state, later, node.id()));
    merged.iter().filter(|node| !is_replaced(node)).map(|node| node.id().clone()).collect()
}

/// Whether a node depends on another one, over any number of nodes.
fn depends(state: &PlanState, node: &NodeState, on: &NodeId) -> bool {
    let mut seen: Vec<&NodeId> = Vec::new();
    let mut open: Vec<&NodeId> = node.spec.depends_on.iter().collect();
    while let Some(id) = open.pop() {
        if id == on {
            return true;
        }
        if !seen.contains(&id) {
            seen.push(id);
            open.extend(state.node(id).into_iter().flat_map(|node| &node.spec.depends_on));
        }
    }
    false
}

fn gates_order(state: &PlanState, place: GatesPlace, nodes: Vec<NodeId>) -> PlanOrder {
    let one = |id: &NodeId| state.node(id).map_or(0, |node| node.spec.gates_ms);
    let limit_ms = nodes.iter().map(one).fold(COPY_MS_MAX, u64::saturating_add);
    PlanOrder::Gates { place, nodes, limit_ms }
}

/// The gates of all merged loops on the merged tree. Where that is the tree of the run itself, and no other gate
/// counts, the run has judged it.
pub(super) fn merge_gates(state: &PlanState, node: &NodeState) -> Option<PlanNext> {
    if state.plan_order().is_some() {
        return None;
    }
    let tree = node.merging.clone()?;
    let nodes = gate_nodes(state, Some(node.id()));
    let is_list = state.spec.as_ref().is_some_and(|spec| spec.list().is_some());
    // Items that were ticked before are in the tree that this one began with.
    let alone = is_list || nodes == [node.id().clone()];
    if alone && node.result_tree() == Some(tree.as_str()) {
        return Some(PlanNext::Decide(items::merged(state, node)));
    }
    Some(PlanNext::Order(gates_order(state, GatesPlace::Tree(tree), nodes)))
}

/// Removes a copy that is not used any more while the plan goes on.
pub(super) fn drop_copy(state: &PlanState, spec: &PlanSpec) -> Option<PlanNext> {
    let is_over = |node: &NodeState| match node.end() {
        Some(NodeEnd::Merged | NodeEnd::Passed | NodeEnd::Ticked | NodeEnd::NotTicked { .. }) => true,
        Some(NodeEnd::NotPassed | NodeEnd::EndedEarly(EndedEarly::PassedFirst(_) | EndedEarly::Pruned(_))) => {
            spec.selection().is_some()
        }
        _ => false,
    };
    let of_nodes = state.nodes.iter().find_map(|node| {
        let unused = |attempt: &&u32| **attempt != node.attempt || is_over(node);
        let mut attempts = node.copies.iter().filter(unused);
        attempts
            .find(|attempt| !is_dropping(state, node.id(), **attempt))
            .map(|attempt| drop_order(node.id(), *attempt))
    });
    let orphan = || state.orphans.iter().find(|orphan| !is_dropping(state, &orphan.node, orphan.attempt));
    of_nodes.or_else(|| orphan().map(|orphan| drop_order(&orphan.node, orphan.attempt)))
}

fn drop_order(node: &NodeId, attempt: u32) -> PlanNext {
    PlanNext::Order(PlanOrder::Drop { node: node.clone(), attempt })
}

fn is_dropping(state: &PlanState, id: &NodeId, number: u32) -> bool {
    let same =
        |order: &PlanOrder| matches!(order, PlanOrder::Drop { node, attempt } if node == id && *attempt == number);
    state.orders.iter().any(|(_, open)| same(&open.order))
}

/// Nothing is left to start: the results come together.
pub(super) fn finish(state: &PlanState, spec: &PlanSpec, deciding: &Deciding) -> Option<PlanNext> {
    if works(state) {
        return None;
    }
    if state.nodes.iter().any(|node| node.end().is_none()) {
        return awaits_answer(state);
    }
    match &spec.join {
        Join::Best(selection) if spec.recovers.is_some() && state.ranking.is_some() => ranked(state, selection),
        Join::Best(selection) => finish_best(state, selection, deciding),
        Join::Merge => finish_merge(state),
        // Its end is decided where the next item would be taken.
        Join::List(_) => None,
    }
}

/// All that is left waits for the answer of a person, and none is there.
fn awaits_answer(state: &PlanState) -> Option<PlanNext> {
    let asking = state.nodes.iter().find(|node| node.stage == NodeStage::Asking).filter(|_| state.unattended)?;
    let idle = state.nodes.iter().all(|node| !node.is_active());
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let node = asking.id();
    let text = format!("{node} {}; answer with: loop answer {id} {node} TEXT", words::question(asking));
    if idle { ends(PlanOutcome::AwaitsPerson, PlanReasonCode::AwaitsAnswer, &text) } else { None }
}

fn finish_best(state: &PlanState, selection: &Selection, deciding: &Deciding) -> Option<PlanNext> {
    let Some(ranking) = &state.ranking else {
        let lower = selection.metric.as_ref().is_some_and(|metric| metric.lower);
        let rows = state.nodes.iter().map(|node| candidate_of(node, selection)).collect();
        return Some(PlanNext::Decide(PlanDecision::Ranked(Box::new(candidate::rank(rows, lower, deciding)))));
    };
    if let Some(chosen) = &state.chosen {
        let node = state.node(&chosen.node)?;
        return apply_result(state, node.result_tree()?, vec![chosen.node.clone()]);
    }
    if let Some(node) = picked(state) {
        let passes = state.node(node).is_some_and(|node| node.end() == Some(&NodeEnd::Passed));
        let by = if passes { ChosenBy::Person } else { ChosenBy::PersonAnyway };
        return Some(PlanNext::Decide(PlanDecision::Chosen { node: node.clone(), by }));
    }
    let best = ranking.winner().and_then(|row| state.nodes.iter().find(|node| node.id().as_str() == row.name));
    match best {
        None => none_passed(state),
        Some(_) if selection.manual && state.unattended => to_pick(state),
        Some(_) if selection.manual => Some(PlanNext::Order(PlanOrder::Ask(PlanQuestion::Pick))),
        Some(node) => Some(PlanNext::Decide(PlanDecision::Chosen { node: node.id().clone(), by: ChosenBy::Ranking })),
    }
}

/// Whether a person is to pick a branch, and has not.
fn awaits_pick(state: &PlanState) -> bool {
    let manual = state.spec.as_ref().and_then(|spec| spec.selection()).is_some_and(|selection| selection.manual);
    let passes = state.ranking.as_ref().is_some_and(|ranking| ranking.winner().is_some());
    manual && passes && state.chosen.is_none() && picked(state).is_none()
}

/// The end of a plan for which a person is to pick a branch later.
fn to_pick(state: &PlanState) -> Option<PlanNext> {
    let pass = state.ranking.iter().flat_map(|ranking| &ranking.rows).filter(|row| row.passes).count();
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let text = format!("{pass} of {} pass; choose one with: loop pick {id} <branch>", branches(state.nodes.len()));
    ends(PlanOutcome::AwaitsPerson, PlanReasonCode::AwaitsPick, &text)
}

/// The branches of a stuck run have their order. What becomes of the best one is for the run to decide.
fn ranked(state: &PlanState, selection: &Selection) -> Option<PlanNext> {
    let best = state.ranking.as_ref()?.rows.first();
    let words = |row: &Candidate| if row.passes { "passes".to_owned() } else { row.rank.words() };
    let best = best.map_or_else(String::new, |row| format!(": branch {} is the best: {}", row.name, words(row)));
    let first = if selection.first { ", the first that passed ended the others" } else { "" };
    let text = format!("{} ranked for the loop that was stuck{first}{best}", branches(state.nodes.len()));
    ends(PlanOutcome::Ranked, PlanReasonCode::BranchesRanked, &text)
}

fn branches(number: usize) -> String {
    count(number, "branch", "branches")
}

fn none_passed(state: &PlanState) -> Option<PlanNext> {
    let ends_with = |is: fn(&NodeEnd) -> bool| state.nodes.iter().all(|node| node.end().is_some_and(is));
    let first = state.nodes.first();
    if ends_with(|end| matches!(end, NodeEnd::HostFailure { .. })) {
        let why = first.and_then(|node| Some(state.end_words(node, node.end()?))).unwrap_or_default();
        return ends(
            PlanOutcome::Unable,
            PlanReasonCode::HostFailure,
            &format!("no branch could work; the first: {why}"),
        );
    }
    let is_killed = |node: &&NodeState| node.end() == Some(&NodeEnd::EndedEarly(EndedEarly::Killed));
    if let Some(killed) = state.nodes.iter().find(is_killed) {
        let text = format!("no branch passes, and branch {} was killed before it came to a result", killed.id());
        return ends(PlanOutcome::Unable, PlanReasonCode::HostFailure, &text);
    }
    if ends_with(|end| matches!(end, NodeEnd::NotStarted(NotStarted::Budget))) {
        return ends(PlanOutcome::Incomplete, PlanReasonCode::Budget, "no branch was started: there is no budget");
    }
    let best = state.ranking.as_ref().and_then(|ranking| words::best_state(state, ranking));
    let best = best.map_or_else(String::new, |best| format!("; {best}"));
    if state.nodes.iter().any(wants_budget) {
        let all = branches(state.nodes.len());
        let text = format!("none of {all} passes, and the budget is used up; nothing is applied{best}");
        return ends(PlanOutcome::Incomplete, PlanReasonCode::Budget, &text);
    }
    let text = format!("none of {} passes, and nothing is applied{best}", branches(state.nodes.len()));
    ends(PlanOutcome::NonePassed, PlanReasonCode::NonePassed, &text)
}

/// Whether only the budget kept a node from working on.
pub(super) fn wants_budget(node: &NodeState) -> bool {
    matches!(node.end(), Some(NodeEnd::NotStarted(NotStarted::Budget) | NodeEnd::EndedEarly(EndedEarly::Budget)))
}

/// One row of the ranking, with every column.
fn candidate_of(node: &NodeState, selection: &Selection) -> Candidate {
    let name = node.id().to_string();
    let Some(run) = &node.result else {
        let cost_unknown = node.run.is_some();
        return Candidate { name, cost_micros: node.cost_micros, cost_unknown, ..Candidate::default() };
    };
    let passes = node.end() == Some(&NodeEnd::Passed);
    let measure = node.measure.clone().unwrap_or_default();
    let changed = if node.measure.is_some() { measure.changed } else { run.changed };
    let lines = changed.insertions.saturating_add(changed.deletions);
    let strength = run.strength.filter(|strength| strength.tried > 0);
    let number = |number: u64| i64::try_from(number).ok().and_then(|number| number.checked_mul(MILLION));
    let metric_micros = selection.metric.as_ref().and_then(|metric| match metric.by {
        MetricSource::Lines => number(lines),
        MetricSource::Coverage => measure.coverage.map(|points| i64::from(points).saturating_mul(MILLION)),
        MetricSource::Cost => i64::try_from(node.cost_micros).ok().filter(|_| !run.cost_unknown),
        MetricSource::Time => number(run.elapsed_ms),
        MetricSource::Iterations => number(u64::from(run.iterations)),
        MetricSource::Command(_) => measure.metric_micros,
    });
    let trouble = selection.metric.as_ref().and_then(|metric| match metric.by {
        MetricSource::Command(_) => measure.metric_trouble.clone(),
        MetricSource::Coverage => Some("no coverage report was found before and after".to_owned()),
        MetricSource::Cost => Some("the agent reports no cost".to_owned()),
        MetricSource::Lines | MetricSource::Time | MetricSource::Iterations => None,
    });
    Candidate {
        metric_trouble: trouble.filter(|_| metric_micros.is_none()),
        cost_unknown: run.cost_unknown,
        name,
        passes,
        gates: gates_column(passes, run),
        regressions: run.regressions,
        tampered: run.tampered,
        weaker: run.weaker,
        rank: run.rank,
        watched_passed: run.watched_passed,
        watched_failed: run.watched_failed,
        metric_micros,
        lines,
        files: changed.files,
        coverage: measure.coverage,
        strength: strength.map(|strength| strength.noticed.saturating_mul(100) / strength.tried),
        cost_micros: node.cost_micros,
        elapsed_ms: run.elapsed_ms,
    }
}

fn gates_column(passes: bool, run: &RunDigest) -> CandidateGates {
    match (passes, run.gates_passed, run.clean_copy) {
        (false, _, _) => CandidateGates::NotPassed,
        (true, true, true) => CandidateGates::OnCleanCopy,
        (true, true, false) => CandidateGates::InBranch,
        (true, false, _) if run.outcome == Outcome::Claimed => CandidateGates::Claimed,
        (true, false, _) => CandidateGates::InBranch,
    }
}

fn finish_merge(state: &PlanState) -> Option<PlanNext> {
    if state.nodes.iter().all(NodeState::is_done) {
        return apply_result(state, state.tree.as_deref()?, gate_nodes(state, None));
    }
    let done = state.nodes.iter().filter(|node| node.is_done()).count();
    let is_open = |node: &&NodeState| !node.is_done();
    let blamed = state.first_failed.as_ref().and_then(|id| state.node(id));
    let poor = || state.nodes.iter().find(|node| wants_budget(node));
    let blamed = blamed.or_else(poor).or_else(|| state.nodes.iter().find(is_open))?;
    let end = blamed.end()?;
    let why = state.end_words(blamed, end);
    let all = count(state.nodes.len(), "node", "nodes");
    let text = format!("{}: {why}; {done} of {all} done, and nothing is applied", blamed.id());
    let is_failure = |node: &&NodeState| node.end().is_some_and(NodeEnd::is_failure);
    let mut failures = state.nodes.iter().filter(is_failure).peekable();
    let by_host = |node: &NodeState| matches!(node.end(), Some(NodeEnd::HostFailure { .. }));
    if failures.peek().is_some() && failures.all(by_host) {
        return ends(PlanOutcome::Unable, PlanReasonCode::HostFailure, &text);
    }
    let code = if wants_budget(blamed) { PlanReasonCode::Budget } else { PlanReasonCode::NodeFailed };
    ends(PlanOutcome::Incomplete, code, &text)
}

/// The result goes into the workspace, and the gates run there once more.
fn apply_result(state: &PlanState, tree: &str, nodes: Vec<NodeId>) -> Option<PlanNext> {
    if let Some(conflict) = &state.applying.conflict {
        let text =
            format!("the workspace has a conflict with the result, and nothing is changed: {}", conflict.words());
        return ends(PlanOutcome::Conflict, PlanReasonCode::ApplyConflict, &text);
    }
    let Some(report) = &state.applying.report else {
        let (base, tree) = (state.initial.clone()?, tree.to_owned());
        return Some(PlanNext::Order(PlanOrder::Apply { node: None, base, tree, undo: UNDO.to_owned() }));
    };
    let Some(gates) = &state.applying.gates else {
        return Some(PlanNext::Order(gates_order(state, GatesPlace::Workspace, nodes)));
    };
    if let Some(chosen) = state.chosen.as_ref().filter(|chosen| chosen.by == ChosenBy::PersonAnyway) {
        return taken(state, chosen, report, gates);
    }
    if gates.all_pass() {
        return applied(state, report);
    }
    let place = if state.chosen.is_some() { "in the branch" } else { "on the merged tree" };
    let text = format!(
        "passes {place}, not here: {}; undo with: loop rollback {} initial",
        gates.words(),
        state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default()
    );
    ends(PlanOutcome::NotHere, PlanReasonCode::GatesFailHere, &text)
}

/// A person took a branch that does not pass. Whatever the gates say here, nothing has shown that it is done.
fn taken(state: &PlanState, chosen: &PlanChoice, report: &ApplyReport, gates: &GatesReport) -> Option<PlanNext> {
    let files = count(usize::try_from(report.files).unwrap_or(usize::MAX), "file", "files");
    let (node, total) = (&chosen.node, state.nodes.len());
    let why = state.node(node).and_then(|node| Some(state.end_words(node, node.end()?))).unwrap_or_default();
    let all = gates.passed.saturating_add(gates.not_passed);
    let here = format!(
        "{} of {} here",
        gates.passed,
        count(usize::try_from(all).unwrap_or(usize::MAX), "gate passes", "gates pass")
    );
    let text = format!("a person took branch {node} of {total}, which does not pass ({why}): {files} changed, {here}");
    ends(PlanOutcome::Taken, PlanReasonCode::TakenAnyway, &text)
}

fn applied(state: &PlanState, report: &ApplyReport) -> Option<PlanNext> {
    let files = count(usize::try_from(report.files).unwrap_or(usize::MAX), "file", "files");
    let total = state.nodes.len();
    match &state.chosen {
        Some(chosen) => {
            let by = if chosen.by == ChosenBy::Person { ", chosen by a person," } else { "" };
            let text = format!("branch {} of {total}{by} is applied: {files} changed", chosen.node);
            ends(PlanOutcome::Applied, PlanReasonCode::BranchApplied, &text)
        }
        None => {
            let text = format!("{} done and applied: {files} changed", count(total, "node is", "nodes are"));
            ends(PlanOutcome::Applied, PlanReasonCode::AllMerged, &text)
        }
    }
}

/// Hooks, then copies, then the end.
pub(super) fn wind_up(state: &PlanState, spec: &PlanSpec, ends: &PlanEnds) -> Option<PlanNext> {
    if works(state) {
        return None;
    }
    if let Some(order) = next_hook(state, spec, ends.outcome) {
        return Some(PlanNext::Order(order));
    }
    let kept = plan_standing(ends.outcome).resumable;
    let of_nodes = state.nodes.iter().find_map(|node| {
        let is_kept = |attempt: u32| kept && attempt == node.attempt && may_be_resumed(node);
        let mut attempts = node.copies.iter().filter(|attempt| !is_kept(**attempt));
        attempts
            .find(|attempt| !is_dropping(state, node.id(), **attempt))
            .map(|attempt| drop_order(node.id(), *attempt))
    });
    let next = of_nodes.or_else(|| drop_copy(state, spec));
    next.or_else(|| state.orders.is_empty().then_some(PlanNext::Conclude))
}

/// Whether the run of a node may be resumed in its copy.
fn may_be_resumed(node: &NodeState) -> bool {
    matches!(
        node.end(),
        Some(
            NodeEnd::EndedEarly(
                EndedEarly::Stopped | EndedEarly::OtherFailed(_) | EndedEarly::Budget | EndedEarly::Killed
            ) | NodeEnd::GaveUp(ItemEnd::SensorMissing(_))
        )
    )
}

fn next_hook(state: &PlanState, spec: &PlanSpec, outcome: PlanOutcome) -> Option<PlanOrder> {
    let (when, list) = match outcome {
        PlanOutcome::Applied => (HookWhen::Complete, &spec.on_complete),
        PlanOutcome::NotHere
        | PlanOutcome::NonePassed
        | PlanOutcome::Incomplete
        | PlanOutcome::Conflict
        | PlanOutcome::Unable => (HookWhen::Failure, &spec.on_failure),
        PlanOutcome::Ranked
        | PlanOutcome::Taken
        | PlanOutcome::AwaitsPerson
        | PlanOutcome::Stopped
        | PlanOutcome::Cancelled => return None,
    };
    if state.requests.abort.is_some() || state.requests.cancel.is_some() {
        return None;
    }
    let done = state.hooks.iter().filter(|hook| hook.when == when).count();
    let index = u32::try_from(done).ok().filter(|_| done < list.len())?;
    Some(PlanOrder::Hook { when, index, failed: state.blamed().cloned() })
}
