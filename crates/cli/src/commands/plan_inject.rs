//! `loop inject PLAN`: a text for the next prompts of the loops of a plan.
use loop_core::control::Ask;
use loop_core::ids::RunId;
use loop_core::plan::{EndedEarly, NodeEnd, NodeStage, NodeState, PlanState};
use loop_core::view::JSON_VERSION;
use loop_host::launch;
use loop_host::plan::read_plan;
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::ask;
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};

/// What is injected, and into which loops.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanInjection<'a> {
    pub(crate) text: &'a str,
    /// Repeat it in all later prompts.
    pub(crate) keep: bool,
    /// Only the loop of this node.
    pub(crate) node: Option<&'a str>,
}

/// What became of the text at one node.
struct NodeTold {
    node: String,
    run: Option<RunId>,
    /// Why it was not taken.
    refused: Option<String>,
}

pub(crate) fn run(context: &Context, folder: &RunFolder, asked: &PlanInjection<'_>, as_json: bool) -> Done {
    let state = read_plan(folder).map_err(|error| read_error(&error))?;
    let id = &folder.id;
    if let Some(over) = state.over.as_ref().filter(|_| !state.resumable()) {
        return Err(CommandError::new(Kind::Wrong, format!("plan {id} takes no text any more"))
            .because(format!("it has ended: {}", over.reason.text))
            .hint(format!("loop status {id}")));
    }
    let wanted = |node: &&NodeState| asked.node.is_none_or(|name| node.id().as_str() == name);
    let nodes: Vec<&NodeState> = state.nodes.iter().filter(wanted).collect();
    if let (Some(name), true) = (asked.node, nodes.is_empty()) {
        let names: Vec<&str> = state.nodes.iter().map(|node| node.id().as_str()).collect();
        return Err(CommandError::new(Kind::Wrong, format!("plan {id} has no node {name}"))
            .because(format!("it has {}", names.join(", ")))
            .hint(format!("loop status {id}")));
    }
    let told: Vec<NodeTold> = nodes.into_iter().map(|node| tell(context, &state, node, asked)).collect();
    let taken = told.iter().filter(|one| one.refused.is_none()).count();
    if taken == 0 {
        let why = |one: &NodeTold| one.refused.as_ref().map(|why| format!("{}: {why}", one.node));
        let why: Vec<String> = told.iter().filter_map(why).collect();
        return Err(CommandError::new(Kind::Wrong, format!("no loop of plan {id} can take a text now"))
            .because(why.join("; "))
            .hint(format!("look where it is: loop status {id}")));
    }
    let said =
        if asked.keep { "every later prompt will have this text" } else { "the next prompt will have this text" };
    if as_json {
        let node = |one: &NodeTold| json!({"node": one.node, "run": one.run, "taken": one.refused.is_none(), "why": one.refused});
        let nodes: Vec<_> = told.iter().map(node).collect();
        context.printer.json(&json!({"version": JSON_VERSION, "plan": id, "said": said, "nodes": nodes}));
        return Ok(0);
    }
    let mut text = format!("plan {id}: {said}\n");
    for one in &told {
        let run = one.run.as_ref().map_or_else(String::new, |run| format!(" (loop {run})"));
        let became = one.refused.as_ref().map_or_else(|| "taken".to_owned(), |why| format!("not taken, {why}"));
        text.push_str(&format!("  {}{run}: {became}\n", one.node));
    }
    if folder.holder().is_none() {
        text.push_str(&format!("  next:       loop resume {id}\n"));
    }
    context.printer.answer(&text);
    Ok(0)
}

/// Gives the text to the loop of a node, where it can take one.
fn tell(context: &Context, state: &PlanState, node: &NodeState, asked: &PlanInjection<'_>) -> NodeTold {
    let told = |refused: Option<String>| NodeTold { node: node.id().to_string(), run: node.run.clone(), refused };
    if node.spec.is_ask() {
        return told(Some("it is a question to a person, not a loop".to_owned()));
    }
    let Some(run) = &node.run else {
        return told(Some(format!("it has no loop yet: {}", state.node_words(node))));
    };
    let was_stopped = matches!(
        node.end(),
        Some(NodeEnd::EndedEarly(EndedEarly::Stopped | EndedEarly::OtherFailed(_) | EndedEarly::Budget))
    );
    let can_continue = node.stage == NodeStage::Running || node.resume || was_stopped;
    if !can_continue {
        return told(Some(format!("its loop has ended: {}", state.node_words(node))));
    }
    let folder = RunFolder { path: context.home.runs().join(run.as_str()), id: run.clone() };
    let given = if folder.holder().is_some() {
        let what = Ask::Inject { text: asked.text.to_owned(), keep: asked.keep };
        ask::ask(&folder, what, "loop inject").map(|_| ())
    } else {
        launch::inject(&context.home, &folder, asked.text, asked.keep).map_err(CommandError::from)
    };
    told(given.err().map(|error| error.sentence()))
}
