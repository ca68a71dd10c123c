//! The one list of everything that starts, ends or continues the nodes of a plan.
//!
//! Every decision is read off the state, never off an event: a journal that was cut after any line goes on from there.
use super::fact::{EndedEarly, NodeEnd, NotStarted, PlanCancel, PlanDecision, PlanOrder, PlanQuestion, RunPurpose};
use super::finish;
use super::items;
use super::outcome::plan_standing;
use super::report::RunCutOff;
use super::spec::{CONFLICTS_MAX, Join, NodeId, OnConflict, PlanSpec, Selection};
use super::state::{NodeStage, NodeState, OpenPlanOrder, PlanEnds, PlanState};
use super::touches;
use crate::ids::OrderId;
use crate::machine::Deciding;
use crate::run::{INITIAL, Outcome};

/// A run whose process is killed more often than this is not resumed before a person opens the plan again.
const KILLS_MAX: u32 = 3;

/// What comes next.
#[derive(Debug)]
pub(super) enum PlanNext {
    /// A decision.
    Decide(PlanDecision),
    /// An order.
    Order(PlanOrder),
    /// The end, as it was decided before.
    Conclude,
}

/// Why nothing more is begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// A person ends it for good.
    Cancel,
    /// A person stops it now.
    Abort,
    /// A person stops it.
    Stop,
    /// The host could not do something that the plan as a whole needs.
    Trouble,
}

pub(super) fn halt(state: &PlanState) -> Option<Halt> {
    let requests = &state.requests;
    let asked = [
        (requests.cancel.is_some(), Halt::Cancel),
        (requests.abort.is_some(), Halt::Abort),
        (requests.stop.is_some(), Halt::Stop),
        (state.trouble.is_some(), Halt::Trouble),
    ];
    asked.into_iter().find(|(asked, _)| *asked).map(|(_, halt)| halt)
}

/// How the plan will end. A person may still end one for good that could be resumed.
fn decided_end(state: &PlanState) -> Option<&PlanEnds> {
    let cancelled = state.requests.cancel.is_some();
    state.ends.as_ref().filter(|ends| !(cancelled && plan_standing(ends.outcome).resumable))
}

fn selection(state: &PlanState) -> Option<&Selection> {
    state.spec.as_ref()?.selection()
}

/// The branch that passed first, in the order of the plan.
fn passed(state: &PlanState) -> Option<&NodeId> {
    let passes = |node: &&NodeState| node.stage == NodeStage::Ran || node.end() == Some(&NodeEnd::Passed);
    state.nodes.iter().find(passes).map(NodeState::id)
}

/// The branch that a person picked, where it passes. A pick of another one does not answer the question, unless the
/// person wants it all the same.
pub(super) fn picked(state: &PlanState) -> Option<&NodeId> {
    let fits =
        |node: &NodeState| node.end() == Some(&NodeEnd::Passed) || (state.requests.pick_anyway && node.has_state());
    state.requests.pick.as_ref().filter(|id| state.node(id).is_some_and(fits))
}

/// A node that failed, after which nothing more is started.
fn stops_others(state: &PlanState) -> Option<&NodeId> {
    let spec = state.spec.as_ref().filter(|spec| spec.join == Join::Merge && !spec.keep_going)?;
    state.first_failed.as_ref().filter(|_| !spec.keep_going)
}

/// A branch that is better than this one, which is worse than the start, too.
fn better_than(state: &PlanState, node: &NodeState) -> Option<NodeId> {
    let own = node.progress.filter(|own| own.iterations > 0 && own.best < own.start)?;
    let is_better = |other: &&NodeState| {
        let runs = other.progress.is_some_and(|seen| seen.iterations > 0 && seen.best > own.best);
        let ended = other.result.as_ref().is_some_and(|run| run.passes() || run.rank > own.best);
        other.id() != node.id() && (runs || ended)
    };
    state.nodes.iter().find(is_better).map(|other| other.id().clone())
}

/// Why a node that is at work, or waits, is to end.
fn ends_because(state: &PlanState, node: &NodeState) -> Option<EndedEarly> {
    if halt(state).is_some() {
        return Some(EndedEarly::Stopped);
    }
    if let Some(failed) = stops_others(state) {
        return Some(EndedEarly::OtherFailed(failed.clone()));
    }
    let selection = selection(state)?;
    match passed(state) {
        Some(first) if (selection.first || selection.on_red) && first != node.id() => {
            Some(EndedEarly::PassedFirst(first.clone()))
        }
        Some(_) | None if selection.prune => better_than(state, node).map(EndedEarly::Pruned),
        Some(_) | None => None,
    }
}

/// Open orders that are to end now, each with the cause. One that was asked to end may have to end at once.
pub(super) fn cancels(state: &PlanState) -> Vec<(OrderId, PlanCancel)> {
    let due = state.orders.iter().filter_map(|(id, open)| Some((id, open, cancel_cause(state, open)?)));
    due.filter(|(_, open, cause)| !open.is_killed() && (!open.is_cancelled() || cause.at_once()))
        .map(|(id, _, cause)| (id, cause))
        .collect()
}

fn cancel_cause(state: &PlanState, open: &OpenPlanOrder) -> Option<PlanCancel> {
    let now = matches!(halt(state), Some(Halt::Cancel | Halt::Abort));
    match &open.order {
        // These end soon, and what they leave must be known.
        PlanOrder::Tell { .. }
        | PlanOrder::Drop { .. }
        | PlanOrder::Apply { .. }
        | PlanOrder::ReadList { .. }
        | PlanOrder::RecordLoop { .. }
        | PlanOrder::RecordPass { .. }
        | PlanOrder::RollBack { .. }
        | PlanOrder::Notify { .. } => None,
        PlanOrder::Check { .. } => now.then_some(PlanCancel::Abort),
        PlanOrder::Record { .. }
        | PlanOrder::Measure { .. }
        | PlanOrder::Merge { .. }
        | PlanOrder::Gates { .. }
        | PlanOrder::Hook { .. } => now.then_some(PlanCancel::Abort),
        PlanOrder::Ask(PlanQuestion::Pick) => {
            (halt(state).is_some() || picked(state).is_some()).then_some(PlanCancel::Answered)
        }
        PlanOrder::Ask(PlanQuestion::Node(id)) => {
            let node = state.node(id).filter(|node| node.stage == NodeStage::Asking);
            let asks = node.is_some_and(|node| ends_because(state, node).is_none());
            (!asks).then_some(PlanCancel::Answered)
        }
        PlanOrder::Copy { node, .. } | PlanOrder::Run { node, .. } => match ends_because(state, state.node(node)?)? {
            EndedEarly::Stopped | EndedEarly::Budget | EndedEarly::Killed => {
                Some(if now { PlanCancel::Abort } else { PlanCancel::Stop })
            }
            EndedEarly::OtherFailed(_) => Some(PlanCancel::OtherFailed),
            EndedEarly::PassedFirst(_) => Some(PlanCancel::PassedFirst),
            EndedEarly::Pruned(_) => Some(PlanCancel::Pruned),
        },
    }
}

/// The first thing that ended, or has to end, and about which nothing is decided yet.
pub(super) fn judgement(state: &PlanState, deciding: &Deciding) -> Option<PlanDecision> {
    if state.carry_due {
        // A spec of which parts are missing was cut off in a crash: the one before holds.
        let spec = state.draft.as_ref().filter(|draft| draft.parts == 0);
        return Some(PlanDecision::CarriedOver(super::carry::carry_over(state, spec.map(AsRef::as_ref))));
    }
    let judged = state.nodes.iter().find_map(|node| judge(state, node, deciding));
    let cancelled = state.requests.cancel.is_some();
    let acts = decided_end(state).is_none() && (state.over.is_none() || cancelled);
    judged.or_else(|| state.nodes.iter().filter(|_| acts).find_map(|node| end_without_work(state, node)))
}

fn ended(node: &NodeState, end: NodeEnd) -> PlanDecision {
    PlanDecision::NodeEnded { node: node.id().clone(), end }
}

/// What the end of an order of a node means.
fn judge(state: &PlanState, node: &NodeState, deciding: &Deciding) -> Option<PlanDecision> {
    if node.end().is_some() {
        return None;
    }
    if let Some(why) = &node.trouble {
        return Some(ended(node, NodeEnd::HostFailure { why: why.clone() }));
    }
    if let Some(cut_off) = &node.cut_off {
        return Some(judge_cut_off(state, node, cut_off));
    }
    match node.stage {
        NodeStage::RunEnded => Some(judge_run(state, node)),
        NodeStage::Ran if node.measure.is_some() => Some(ended(node, NodeEnd::Passed)),
        // Its result stood in the plan before. What it depends on runs again, so that it has to run again, too.
        NodeStage::Ran if node.spec.depends_on.iter().any(|id| state.node(id).is_some_and(runs_again)) => {
            Some(PlanDecision::Retries { node: node.id().clone(), purpose: RunPurpose::Work })
        }
        NodeStage::Conflicted => Some(judge_conflict(state, node)),
        NodeStage::MergeJudged => {
            let pass = node.gates.as_ref().is_some_and(|gates| gates.all_pass());
            Some(if pass { items::merged(state, node) } else { ended(node, NodeEnd::FailedMergeGates) })
        }
        NodeStage::Checked | NodeStage::Recorded | NodeStage::TickEnded => items::judge(state, node, deciding),
        NodeStage::Said => {
            let proceed = node.answer.as_ref().is_some_and(|answer| answer.proceed);
            Some(ended(node, if proceed { NodeEnd::Answered } else { NodeEnd::Refused }))
        }
        NodeStage::Waiting
        | NodeStage::Copying
        | NodeStage::Running
        | NodeStage::Ran
        | NodeStage::Merging
        | NodeStage::MergeGates
        | NodeStage::Checking
        | NodeStage::Recording
        | NodeStage::Applying
        | NodeStage::Ticking
        | NodeStage::Asking
        | NodeStage::Ended(_) => None,
    }
}

/// Whether a node has no result, and will get one.
fn runs_again(node: &NodeState) -> bool {
    matches!(node.stage, NodeStage::Waiting | NodeStage::Copying | NodeStage::Running | NodeStage::RunEnded)
}

fn judge_run(state: &PlanState, node: &NodeState) -> PlanDecision {
    let Some(run) = &node.result else { return ended(node, NodeEnd::NotPassed) };
    if let Some(decision) = items::judge_loop(state, node, run) {
        return decision;
    }
    if run.passes() {
        return PlanDecision::Ran { node: node.id().clone() };
    }
    let end = match run.outcome {
        // More money lets it continue, so that it is no failure of its own.
        _ if run.share_used_up && node.purpose != RunPurpose::Resolve => NodeEnd::EndedEarly(EndedEarly::Budget),
        Outcome::Stopped => NodeEnd::EndedEarly(ends_because(state, node).unwrap_or(EndedEarly::Stopped)),
        Outcome::Unable => NodeEnd::HostFailure { why: run.reason.text.clone() },
        // What could not be resolved is the conflict that it was.
        _ if node.purpose == RunPurpose::Resolve => NodeEnd::Conflict,
        Outcome::Verified
        | Outcome::PassedBut
        | Outcome::Accepted
        | Outcome::Claimed
        | Outcome::Exhausted
        | Outcome::Tripped
        | Outcome::Blocked
        | Outcome::Tampered
        | Outcome::Paused
        | Outcome::Cancelled => NodeEnd::NotPassed,
    };
    ended(node, end)
}

/// A run whose process was killed is resumed, a bounded number of times. One that could not be started is not.
fn judge_cut_off(state: &PlanState, node: &NodeState, cut_off: &RunCutOff) -> PlanDecision {
    if !cut_off.killed {
        return ended(node, NodeEnd::HostFailure { why: cut_off.why.clone() });
    }
    match ends_because(state, node) {
        Some(why) => ended(node, NodeEnd::EndedEarly(why)),
        None if node.kills > KILLS_MAX => ended(node, NodeEnd::EndedEarly(EndedEarly::Killed)),
        None => PlanDecision::Continues { node: node.id().clone() },
    }
}

fn judge_conflict(state: &PlanState, node: &NodeState) -> PlanDecision {
    let marked = node.conflict.as_ref().is_some_and(|conflict| conflict.marked.is_some());
    let purpose = match node.spec.on_conflict {
        OnConflict::Stop => None,
        OnConflict::Rerun => Some(RunPurpose::Rerun),
        OnConflict::Agent => marked.then_some(RunPurpose::Resolve),
    };
    let again = node.conflicts <= CONFLICTS_MAX && ends_because(state, node).is_none();
    match purpose.filter(|_| again) {
        Some(purpose) => PlanDecision::Retries { node: node.id().clone(), purpose },
        None => ended(node, NodeEnd::Conflict),
    }
}

/// The end of a node that has no order open, and will get none.
fn end_without_work(state: &PlanState, node: &NodeState) -> Option<PlanDecision> {
    if state.work_of(node.id()).is_some() {
        return None;
    }
    let end = match node.stage {
        NodeStage::Waiting => not_started(node, why_not_started(state, node)?),
        NodeStage::Asking | NodeStage::Copying => not_started(node, ends_because(state, node)?.into()),
        NodeStage::Running | NodeStage::Checking => NodeEnd::EndedEarly(ends_because(state, node)?),
        NodeStage::Ran | NodeStage::MergeGates if halt(state).is_some() => match state.plan_order() {
            Some(_) => return None,
            None => NodeEnd::RanOnly,
        },
        // Its result stood in the plan before, and what it depends on cannot be merged again.
        NodeStage::Ran if failed_dependency(state, node).is_some() => NodeEnd::RanOnly,
        NodeStage::Ran
        | NodeStage::MergeGates
        | NodeStage::RunEnded
        | NodeStage::Merging
        | NodeStage::Conflicted
        | NodeStage::MergeJudged
        | NodeStage::Checked
        | NodeStage::Recording
        | NodeStage::Recorded
        | NodeStage::Applying
        | NodeStage::Ticking
        | NodeStage::TickEnded
        | NodeStage::Said
        | NodeStage::Ended(_) => return None,
    };
    Some(ended(node, end))
}

impl From<EndedEarly> for NotStarted {
    fn from(why: EndedEarly) -> Self {
        match why {
            EndedEarly::Stopped => Self::Stopped,
            EndedEarly::PassedFirst(node) | EndedEarly::Pruned(node) => Self::PassedFirst(node),
            EndedEarly::OtherFailed(node) => Self::OtherFailed(node),
            EndedEarly::Budget => Self::Budget,
            EndedEarly::Killed => Self::Unable,
        }
    }
}

/// A node that waited: for its first start, for the start after a conflict, or to be resumed.
fn not_started(node: &NodeState, why: NotStarted) -> NodeEnd {
    if node.resume {
        return NodeEnd::EndedEarly(match why {
            NotStarted::PassedFirst(other) => EndedEarly::PassedFirst(other),
            NotStarted::OtherFailed(other) => EndedEarly::OtherFailed(other),
            NotStarted::Budget => EndedEarly::Budget,
            NotStarted::DependsOn(_) | NotStarted::Stopped | NotStarted::Unable => EndedEarly::Stopped,
        });
    }
    if node.purpose != RunPurpose::Work && node.conflict.is_some() {
        NodeEnd::Conflict
    } else {
        NodeEnd::NotStarted(why)
    }
}

/// The first node that a node depends on, and that ended without being done.
fn failed_dependency<'a>(state: &PlanState, node: &'a NodeState) -> Option<&'a NodeId> {
    let failed = |id: &&NodeId| state.node(id).is_none_or(|other| other.end().is_some() && !other.is_done());
    node.spec.depends_on.iter().find(failed)
}

fn why_not_started(state: &PlanState, node: &NodeState) -> Option<NotStarted> {
    if let Some(failed) = failed_dependency(state, node) {
        return Some(NotStarted::DependsOn(failed.clone()));
    }
    if halt(state) == Some(Halt::Trouble) {
        return Some(NotStarted::Unable);
    }
    if let Some(why) = ends_because(state, node) {
        return Some(why.into());
    }
    let idle = state.at_work() == 0 && state.money.reserved_micros == 0;
    (idle && is_ready(state, node) && !node.spec.is_ask() && share(state) == Some(0)).then_some(NotStarted::Budget)
}

/// What the next node that starts may cost: what is left, divided by the nodes that may still start, but no less than
/// one call. Where less than one call is left, only the first node starts: it cannot know what a call really costs.
fn share(state: &PlanState) -> Option<u64> {
    let may_start = |node: &&NodeState| node.stage == NodeStage::Waiting && !node.spec.is_ask();
    let count = u64::try_from(state.nodes.iter().filter(may_start).count()).unwrap_or(u64::MAX);
    let call = state.spec.as_ref().map_or(0, |spec| spec.call_micros);
    let left = state.left_micros()?;
    let is_first = state.money.spent_micros == 0 && state.money.reserved_micros == 0;
    Some(if left >= call {
        (left / count.max(1)).max(call)
    } else if is_first {
        left
    } else {
        0
    })
}

/// Whether everything that a node depends on is done.
fn is_ready(state: &PlanState, node: &NodeState) -> bool {
    node.spec.depends_on.iter().all(|id| state.node(id).is_some_and(NodeState::is_done))
}

/// What comes next, unless something that is under way must end first.
pub(super) fn next(state: &PlanState, deciding: &Deciding) -> Option<PlanNext> {
    let spec = state.spec.as_ref()?;
    if let Some(ends) = decided_end(state) {
        return finish::wind_up(state, spec, ends);
    }
    let idle = |node: &&NodeState| state.work_of(node.id()).is_none();
    if let Some(halt) = halt(state) {
        let due = state.nodes.iter().filter(idle).find_map(items::must_end);
        return due.map(PlanNext::Order).or_else(|| finish::halted(state, halt));
    }
    if let Some(order) = tell(state) {
        return Some(PlanNext::Order(order));
    }
    if state.is_paused() {
        return None;
    }
    if state.initial.is_none() {
        return state.plan_order().is_none().then(|| PlanNext::Order(PlanOrder::Record { name: INITIAL.to_owned() }));
    }
    let of_nodes = state.nodes.iter().filter(idle).find_map(|node| work(state, spec, node));
    of_nodes
        .or_else(|| start(state, spec))
        .or_else(|| merge(state, spec))
        .or_else(|| finish::drop_copy(state, spec))
        .or_else(|| spec.list().and_then(|list| items::take(state, spec, list)))
        .or_else(|| finish::finish(state, spec, deciding))
}

/// A run that does not hold while the plan does, or the other way round, gets a message. Also one that was just starting
/// when a person asked: it did not listen then.
fn tell(state: &PlanState) -> Option<PlanOrder> {
    let pause = state.is_paused();
    let orders = || state.orders.iter().map(|(_, open)| open);
    let is_told = |id: &NodeId| orders().any(|open| matches!(&open.order, PlanOrder::Tell { node, .. } if node == id));
    orders().find_map(|open| {
        let PlanOrder::Run { node, .. } = &open.order else { return None };
        let differs = state.node(node).is_some_and(|node| node.held != pause);
        let is_due = differs && !open.is_cancelled() && !is_told(node);
        is_due.then(|| PlanOrder::Tell { node: node.clone(), pause })
    })
}

/// The next order for a node that has begun.
fn work(state: &PlanState, spec: &PlanSpec, node: &NodeState) -> Option<PlanNext> {
    let id = node.id().clone();
    let attempt = node.attempt;
    let order = match node.stage {
        NodeStage::Copying => PlanOrder::Copy { node: id, attempt, tree: node.start.clone()? },
        NodeStage::Running => PlanOrder::Run {
            node: id,
            attempt,
            purpose: node.purpose,
            resume: node.resume,
            run: node.run.clone(),
            limit_micros: spec.budget_micros.map(|_| node.counted_micros.saturating_add(node.share_micros)),
            gates: match node.purpose {
                RunPurpose::Work | RunPurpose::Rerun => Vec::new(),
                RunPurpose::Resolve => finish::gate_nodes(state, Some(node.id())),
            },
        },
        NodeStage::Ran if spec.selection().is_some() => {
            PlanOrder::Measure { node: id, attempt, base: state.initial.clone()?, tree: node.result_tree()?.to_owned() }
        }
        NodeStage::Asking if !state.unattended => PlanOrder::Ask(PlanQuestion::Node(id)),
        NodeStage::Checking | NodeStage::Recording | NodeStage::Applying | NodeStage::Ticking => items::work(node)?,
        NodeStage::Waiting
        | NodeStage::RunEnded
        | NodeStage::Ran
        | NodeStage::Merging
        | NodeStage::Conflicted
        | NodeStage::MergeGates
        | NodeStage::MergeJudged
        | NodeStage::Checked
        | NodeStage::Recorded
        | NodeStage::TickEnded
        | NodeStage::Asking
        | NodeStage::Said
        | NodeStage::Ended(_) => return None,
    };
    Some(PlanNext::Order(order))
}

/// The next node that may start, in the order of the plan.
fn start(state: &PlanState, spec: &PlanSpec) -> Option<PlanNext> {
    let node = state.nodes.iter().find(|node| may_start(state, spec, node))?;
    let share_micros = if node.spec.is_ask() { None } else { share(state) };
    let marked = node.conflict.as_ref().and_then(|conflict| conflict.marked.clone());
    let tree = match node.purpose {
        _ if node.resume || node.spec.is_ask() => String::new(),
        RunPurpose::Work | RunPurpose::Rerun => state.tree.clone()?,
        RunPurpose::Resolve => marked?,
    };
    let attempt = if node.resume { node.attempt } else { node.attempt.saturating_add(1) };
    let (purpose, resume) = (node.purpose, node.resume);
    let node = node.id().clone();
    Some(PlanNext::Decide(PlanDecision::Starts { node, attempt, purpose, resume, tree, share_micros }))
}

fn may_start(state: &PlanState, spec: &PlanSpec, node: &NodeState) -> bool {
    if node.stage != NodeStage::Waiting || !is_ready(state, node) {
        return false;
    }
    if node.spec.is_ask() {
        return true;
    }
    // An item keeps its place until it is ticked, or has ended.
    let taken = match spec.list() {
        Some(_) => state.nodes.iter().filter(|node| node.is_active()).count(),
        None => state.at_work(),
    };
    let free = taken < usize::try_from(spec.parallel).unwrap_or(usize::MAX);
    let collides =
        |other: &NodeState| other.is_active() && touches::may_overlap(&other.spec.touches, &node.spec.touches);
    // The next branch starts when all that were started have ended.
    let turn =
        !spec.selection().is_some_and(|selection| selection.on_red) || !state.nodes.iter().any(NodeState::is_active);
    free && turn && share(state) != Some(0) && !state.nodes.iter().any(collides)
}

/// One merge at a time: of all nodes that ran, the one that stands first in the plan.
fn merge(state: &PlanState, spec: &PlanSpec) -> Option<PlanNext> {
    if spec.selection().is_some() {
        return None;
    }
    let busy = |node: &&NodeState| {
        matches!(
            node.stage,
            NodeStage::Merging
                | NodeStage::Conflicted
                | NodeStage::MergeGates
                | NodeStage::MergeJudged
                | NodeStage::Applying
                | NodeStage::Ticking
                | NodeStage::TickEnded
        )
    };
    match state.nodes.iter().find(busy) {
        Some(node) if node.stage == NodeStage::MergeGates => finish::merge_gates(state, node),
        Some(_) => None,
        None => {
            let node = state.nodes.iter().find(|node| node.stage == NodeStage::Ran && is_ready(state, node))?;
            Some(PlanNext::Order(PlanOrder::Merge {
                node: node.id().clone(),
                attempt: node.attempt,
                base: node.base.clone()?,
                ours: state.tree.clone()?,
                theirs: node.result_tree()?.to_owned(),
                name: format!("merge-{}-{}", node.id(), node.attempt),
            }))
        }
    }
}
