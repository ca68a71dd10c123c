//! What becomes of each node of a plan whose file was read again, for people and as JSON.
use loop_core::ids::RunId;
use loop_core::plan::{Carried, CarriedTo, CarryReason, NodeStage, NodeState};
use loop_core::view::JSON_VERSION;
use loop_host::plan::WorkflowChange;
use serde_json::{Value, json};

/// What happens to a node, and why, each in a few words.
fn words(change: &WorkflowChange, one: &Carried) -> (&'static str, String) {
    let before = change.before.node(&one.node);
    let stage = before.map(|node| &node.stage);
    let why = one.why.words();
    match one.then {
        CarriedTo::Kept if before.is_some_and(|node| node.end().is_some()) => ("stays", why),
        CarriedTo::Kept if stage == Some(&NodeStage::Waiting) => ("starts", CarryReason::NotStarted.words()),
        CarriedTo::Kept if stage == Some(&NodeStage::Asking) => ("asks again", "it has no answer yet".to_owned()),
        CarriedTo::Kept => ("continues", "it was at work, and nothing that it is made of has changed".to_owned()),
        CarriedTo::Ran => ("stays", format!("{why}; its result is merged again")),
        CarriedTo::Resumed => ("continues", why),
        CarriedTo::Again if before.is_none_or(|node| node.attempt == 0) => ("starts", why),
        CarriedTo::Again => ("runs again", why),
    }
}

/// Nodes that the file does not have any more.
fn gone(change: &WorkflowChange) -> impl Iterator<Item = &NodeState> {
    let nodes = &change.carried.nodes;
    change.before.nodes.iter().filter(move |node| !nodes.iter().any(|one| one.node == *node.id()))
}

/// A line for each node.
pub(crate) fn carried_lines(change: &WorkflowChange) -> String {
    let nodes = &change.carried.nodes;
    let width = nodes.iter().map(|one| one.node.as_str().len()).max().unwrap_or_default();
    let mut text = String::new();
    for one in nodes {
        let (then, why) = words(change, one);
        text.push_str(&format!("{:<width$}  {then}: {why}\n", one.node.as_str()));
    }
    for node in gone(change) {
        text.push_str(&format!("{:<width$}  is left out: the file does not have it any more\n", node.id().as_str()));
    }
    text + "\nnothing was resumed: this is a dry run\n"
}

/// The same for programs.
pub(crate) fn carried_value(plan: &RunId, change: &WorkflowChange) -> Value {
    let node = |one: &Carried| {
        let (then, why) = words(change, one);
        json!({"node": one.node, "then": one.then, "words": then, "reason": one.why, "why": why})
    };
    let nodes: Vec<Value> = change.carried.nodes.iter().map(node).collect();
    let gone: Vec<&str> = gone(change).map(|node| node.id().as_str()).collect();
    json!({"version": JSON_VERSION, "plan": plan, "nodes": nodes, "left_out": gone})
}
