//! What people answered to questions of a workflow: for the environment and for the tasks of loops.
use loop_core::plan::{NodeId, NodeState, PlanState};
use loop_core::workflow::{answer_variable, with_answers};

use crate::launch::{LaunchRequest, TaskSource};

/// What people answered, as variables of the environment.
pub(super) fn answers(state: &PlanState) -> Vec<(String, String)> {
    let said = |node: &NodeState| Some((answer_variable(node.id().as_str()), node.answer.as_ref()?.text.clone()));
    state.nodes.iter().filter_map(said).collect()
}

/// Puts answers into the task of a loop, where it has places for them.
pub(super) fn fill_answers(request: &mut LaunchRequest, state: &PlanState) {
    let Some(plan) = request.plan.as_ref().filter(|plan| !plan.answers.is_empty()) else { return };
    let said = |id: &str| {
        let id = plan.answers.iter().find(|known| *known == id).and_then(|id| NodeId::parse(id).ok())?;
        state.node(&id)?.answer.as_ref().map(|answer| answer.text.clone())
    };
    if let TaskSource::Text(bytes) = &request.task {
        let text = with_answers(&String::from_utf8_lossy(bytes), said);
        request.task = TaskSource::Text(text.into_bytes());
    }
}
