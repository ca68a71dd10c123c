//! What becomes of each node when a plan is opened again, also with another spec.
use serde::{Deserialize, Serialize};

use super::fact::{EndedEarly, NodeEnd};
use super::outcome::plan_standing;
use super::spec::{NodeId, NodeSpec, PlanSpec};
use super::state::{NodeStage, NodeState, PlanState};
use crate::policy::item::ItemEnd;

/// What becomes of all nodes of a plan that is opened again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarryOver {
    /// The new spec holds from now on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_spec: bool,
    /// The plan tree is built again from the initial tree: a node that was merged is not any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset_tree: bool,
    /// How it will end was decided before: only what was left to do then is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_end: bool,
    /// Each node of the plan as it is from now on, in its order.
    pub nodes: Vec<Carried>,
}

/// What becomes of one node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Carried {
    /// Which node.
    pub node: NodeId,
    /// What becomes of it.
    pub then: CarriedTo,
    /// Why.
    pub why: CarryReason,
}

/// What becomes of a node of a plan that is opened again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriedTo {
    /// It stays as it is.
    Kept,
    /// Its run is not done again; its result is merged or measured again.
    Ran,
    /// Its run is resumed in its copy.
    Resumed,
    /// It waits for its start, with a new run.
    Again,
}

/// Why that becomes of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarryReason {
    /// It is done, and its key is the same.
    Unchanged,
    /// It was not in the plan before.
    New,
    /// Its key is not the same.
    KeyChanged,
    /// It depends on this node, which runs again.
    DependsOn(NodeId),
    /// It began with the result of this node, which runs again or is not in the plan any more.
    InputChanged(NodeId),
    /// It had not started.
    NotStarted,
    /// Its run was stopped.
    Stopped,
    /// It had failed.
    Failed,
}

/// What becomes of each node of a plan that is opened again. With a spec, the plan is as that says from now on.
///
/// A node that is done and unchanged stays. A changed one runs again, and so does all that depends on it. If one that
/// was merged runs again or is not in the plan any more, the plan tree is built again from the results that stay.
#[must_use]
pub fn carry_over(old: &PlanState, spec: Option<&PlanSpec>) -> CarryOver {
    let wanted: Vec<&NodeSpec> = match spec {
        Some(spec) => spec.nodes.iter().collect(),
        None => old.nodes.iter().map(|node| node.spec.as_ref()).collect(),
    };
    if let (None, Some(true)) = (spec, old.ends.as_ref().map(|ends| !plan_standing(ends.outcome).resumable)) {
        let kept =
            |node: &&NodeSpec| Carried { node: node.id.clone(), then: CarriedTo::Kept, why: CarryReason::Unchanged };
        let nodes = wanted.iter().map(kept).collect();
        return CarryOver { new_spec: false, reset_tree: false, keeps_end: true, nodes };
    }
    let picks = spec.is_none() && super::decide::picked(old).is_some();
    let is_branch = old.spec.as_ref().is_some_and(|spec| spec.selection().is_some());
    let mut nodes: Vec<Carried> = wanted.iter().map(|node| alone(old, node, spec.is_some(), is_branch)).collect();
    // What a node depends on may stand behind it: until nothing changes any more.
    while follow_dependencies(old, &wanted, &mut nodes) {}
    // A pick is about what there is: nothing that has ended runs again for it.
    for one in nodes.iter_mut().filter(|one| picks && old.node(&one.node).is_some_and(|node| node.end().is_some())) {
        one.then = CarriedTo::Kept;
        one.why = CarryReason::Unchanged;
    }
    let stays_merged = |id: &NodeId| nodes.iter().any(|one| one.node == *id && one.then == CarriedTo::Kept);
    let reset_tree = old.nodes.iter().any(|node| is_merged(node) && !stays_merged(node.id()));
    if reset_tree {
        for one in nodes.iter_mut().filter(|one| one.then == CarriedTo::Kept) {
            if old.node(&one.node).is_some_and(|node| is_merged(node) || is_being_merged(node)) {
                one.then = CarriedTo::Ran;
            }
        }
    }
    CarryOver { new_spec: spec.is_some(), reset_tree, keeps_end: false, nodes }
}

/// What becomes of a node by what is known of itself.
fn alone(old: &PlanState, wanted: &NodeSpec, compare: bool, is_branch: bool) -> Carried {
    let carried = |then, why| Carried { node: wanted.id.clone(), then, why };
    let Some(node) = old.node(&wanted.id) else { return carried(CarriedTo::Again, CarryReason::New) };
    if compare && (node.spec.key != wanted.key || node.spec.depends_on != wanted.depends_on) {
        return carried(CarriedTo::Again, CarryReason::KeyChanged);
    }
    let Some(end) = node.end() else { return carried(CarriedTo::Kept, CarryReason::Unchanged) };
    match end {
        // A person may have brought the sensor back.
        NodeEnd::GaveUp(ItemEnd::SensorMissing(_)) => carried(CarriedTo::Resumed, CarryReason::Stopped),
        // What a list says stays, and so does what an item has used.
        NodeEnd::Merged
        | NodeEnd::Passed
        | NodeEnd::Answered
        | NodeEnd::Ticked
        | NodeEnd::NotTicked { .. }
        | NodeEnd::GaveUp(_) => carried(CarriedTo::Kept, CarryReason::Unchanged),
        NodeEnd::RanOnly => carried(CarriedTo::Ran, CarryReason::Unchanged),
        NodeEnd::EndedEarly(
            EndedEarly::Stopped | EndedEarly::OtherFailed(_) | EndedEarly::Budget | EndedEarly::Killed,
        ) => carried(CarriedTo::Resumed, CarryReason::Stopped),
        NodeEnd::EndedEarly(EndedEarly::PassedFirst(_) | EndedEarly::Pruned(_)) => {
            carried(CarriedTo::Kept, CarryReason::Unchanged)
        }
        NodeEnd::NotStarted(_) => carried(CarriedTo::Again, CarryReason::NotStarted),
        // A branch that did not pass has had its chance; the plan is resumed for what was left open.
        NodeEnd::NotPassed if is_branch => carried(CarriedTo::Kept, CarryReason::Unchanged),
        NodeEnd::NotPassed
        | NodeEnd::Refused
        | NodeEnd::Conflict
        | NodeEnd::FailedMergeGates
        | NodeEnd::HostFailure { .. } => carried(CarriedTo::Again, CarryReason::Failed),
    }
}

/// A node that has begun runs again if one that it depends on does. False where nothing changed.
fn follow_dependencies(old: &PlanState, wanted: &[&NodeSpec], nodes: &mut [Carried]) -> bool {
    let runs_again = |id: &NodeId, nodes: &[Carried]| {
        let is_done = old.node(id).is_some_and(NodeState::is_done);
        nodes.iter().any(|one| one.node == *id && (one.then == CarriedTo::Again || !is_done))
    };
    for (index, spec) in wanted.iter().enumerate() {
        let begun = old.node(&spec.id).is_some_and(|node| node.stage != NodeStage::Waiting);
        let open = nodes.get(index).is_some_and(|one| one.then != CarriedTo::Again);
        let needs = spec.depends_on.iter().find(|wanted| runs_again(wanted, nodes)).cloned();
        let needs = needs.map(CarryReason::DependsOn);
        // The tree that it began with is a part of its key.
        let differs = |id: &&NodeId| !nodes.iter().any(|one| one.node == **id && one.then != CarriedTo::Again);
        let inputs = old.node(&spec.id).map(|node| node.inputs.as_slice()).unwrap_or_default();
        let cause = needs.or_else(|| inputs.iter().find(differs).cloned().map(CarryReason::InputChanged));
        if let (true, true, Some(why)) = (begun, open, cause) {
            if let Some(one) = nodes.get_mut(index) {
                one.then = CarriedTo::Again;
                one.why = why;
            }
            return true;
        }
    }
    false
}

fn is_merged(node: &NodeState) -> bool {
    node.end() == Some(&NodeEnd::Merged)
}

fn is_being_merged(node: &NodeState) -> bool {
    matches!(
        node.stage,
        NodeStage::Merging
            | NodeStage::Conflicted
            | NodeStage::MergeGates
            | NodeStage::MergeJudged
            | NodeStage::Applying
    )
}

impl CarryReason {
    /// For people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Unchanged => "nothing that it is made of has changed".to_owned(),
            Self::New => "it was not in the plan before".to_owned(),
            Self::KeyChanged => "its prompt, gates, settings or dependencies changed".to_owned(),
            Self::InputChanged(node) => format!("it began with the result of {node}, which is not the same any more"),
            Self::DependsOn(node) => format!("it depends on {node}, which runs again"),
            Self::NotStarted => "it had not started".to_owned(),
            Self::Stopped => "its run was stopped".to_owned(),
            Self::Failed => "it had failed".to_owned(),
        }
    }
}
