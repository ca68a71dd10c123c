//! What commands that take the id of a loop do with the id of a plan.
use loop_core::control::Ask;
use loop_core::plan::{NodeState, NodeWork, PlanState};
use loop_core::run::Status;
use loop_core::text;
use loop_core::time;
use loop_core::view::{JSON_VERSION, PlanView, Row, plan_qualification, plan_result};
use loop_host::clock;
use loop_host::plan::{is_own_hook, read_plan, roll_back_plan};
use loop_host::run_folder::RunFolder;
use serde_json::{Value, json};

use super::ask;
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};
use crate::render::plan::{header, hook_value, rolled_back, rolled_back_value, summary, table};

/// The status of a plan in lists.
fn status_of(folder: &RunFolder, state: &PlanState) -> &'static str {
    match state.standing() {
        Some(standing) => standing.status.name(),
        None if folder.holder().is_none() => Status::Crashed.name(),
        None if state.is_paused() => Status::Paused.name(),
        None => Status::Running.name(),
    }
}

/// `loop status PLAN`: its branches, or its end.
pub(crate) fn status(context: &Context, folder: &RunFolder, as_json: bool) -> Done {
    if as_json {
        let state = read_plan(folder).map_err(|error| read_error(&error))?;
        context.printer.json(&value(folder, &state));
        return Ok(0);
    }
    context.printer.answer(&status_text(context, folder)?);
    Ok(0)
}

/// The same as text.
pub(crate) fn status_text(context: &Context, folder: &RunFolder) -> Result<String, CommandError> {
    let state = read_plan(folder).map_err(|error| read_error(&error))?;
    let mut text = header(&state);
    if state.over.is_some() {
        text.push_str(&format!("\n{}", summary(&state, context.printer)));
    } else {
        let status = status_of(folder, &state);
        let spent = time::spaced(state.active_ms(if folder.holder().is_some() { clock::now() } else { state.now }));
        text.push_str(&format!("status      {status} for {spent}\n\n{}", table(&state)));
        if folder.holder().is_none() {
            text.push_str(&format!("\nits process is gone; next: loop resume {}\n", folder.id));
        } else if state.is_paused() {
            text.push_str(&format!("\nnext: loop resume {}\n", folder.id));
        }
    }
    text.push_str(&rolled_back(&state));
    Ok(text)
}

/// The question of a node; none for a loop.
fn question(node: &NodeState) -> Option<&str> {
    if let NodeWork::Ask { question } = &node.spec.work { Some(question) } else { None }
}

fn value(folder: &RunFolder, state: &PlanState) -> Value {
    let nodes: Vec<Value> = state
        .nodes
        .iter()
        .map(|node| {
            json!({
                "node": node.id(), "state": state.node_words(node), "run": node.run, "attempt": node.attempt,
                "agent": node.spec.loop_work().map(|work| &work.agent), "result": node.result.as_deref(),
                "question": question(node), "answer": node.answer.as_ref().map(|answer| &answer.text),
            })
        })
        .collect();
    let spec = state.spec.as_ref();
    let hooks: Vec<Value> = state.hooks.iter().map(|hook| hook_value(hook, state)).collect();
    json!({
        "version": JSON_VERSION, "plan": folder.id, "kind": spec.map(|spec| spec.kind()),
        "name": spec.map(|spec| &spec.name), "workspace": spec.map(|spec| &spec.workspace.path),
        "status": status_of(folder, state), "outcome": state.over.as_ref().map(|over| over.outcome),
        "reason": state.over.as_ref().map(|over| over.reason.code), "why": state.over.as_ref().map(|over| &over.reason.text),
        "result": plan_result(state), "qualification": plan_qualification(state),
        "resumable": state.resumable(), "chosen": state.chosen.as_ref().map(|chosen| &chosen.node),
        "ranking": state.ranking.as_deref(), "cost_micros": state.money.spent_micros, "nodes": nodes,
        "hooks": hooks, "rolled_back": rolled_back_value(state),
    })
}

/// What a plan is asked.
pub(crate) struct PlanAsk<'a> {
    pub(crate) what: Ask,
    /// By which command.
    pub(crate) by: &'a str,
    /// What follows, for people.
    pub(crate) said: &'a str,
}

/// `--wait`, where the command is for a plan: it would not wait.
///
/// # Errors
/// Where it was typed.
pub(crate) fn refuse_wait(folder: &RunFolder, command: &str, wait: bool) -> Result<(), CommandError> {
    if !wait {
        return Ok(());
    }
    let id = &folder.id;
    Err(CommandError::new(Kind::Wrong, format!("{command} of a plan does not take --wait"))
        .because(format!("{id} is a plan, and --wait is for one loop"))
        .hint(format!("{command} {id}"))
        .hint(format!("then look how far it is: loop status {id}")))
}

/// `loop cancel --rollback` of a plan: a plan is cancelled without a rollback.
pub(crate) fn no_rollback(folder: &RunFolder) -> CommandError {
    let id = &folder.id;
    let error = CommandError::new(Kind::Wrong, "--rollback does not go with the cancel of a plan")
        .because(format!("{id} is a plan: it changes the workspace only at its end, and has its own checkpoints"));
    if folder.holder().is_none() {
        return error.hint(format!("no process drives it: loop rollback {id} initial"));
    }
    error.hint(format!("loop cancel {id}")).hint(format!("then, when it has ended: loop rollback {id} initial"))
}

/// `loop pause`, `stop` and `cancel` of a plan: it is asked.
pub(crate) fn tell(context: &Context, folder: &RunFolder, asked: PlanAsk<'_>, as_json: bool) -> Done {
    let PlanAsk { what, by, said } = asked;
    let seq = ask::ask(folder, what, by)?;
    if as_json {
        return ask::told(context, folder, said, seq, true);
    }
    context.printer.answer(&format!("plan {}: {said}\n", folder.id));
    Ok(0)
}

/// `loop rollback PLAN CHECKPOINT`.
pub(crate) fn rollback(context: &Context, folder: &RunFolder, to: &str, as_json: bool) -> Done {
    if folder.holder().is_some() && !is_own_hook(folder) {
        return Err(CommandError::new(Kind::Wrong, format!("plan {} is at work", folder.id))
            .because("it has changed nothing in the workspace yet, or is just doing so")
            .hint(format!("loop cancel {}", folder.id)));
    }
    let done = roll_back_plan(&context.home, folder, to, "loop rollback")?;
    if as_json {
        context.printer.json(&json!({"version": JSON_VERSION, "plan": folder.id, "rolled_back": done}));
        return Ok(0);
    }
    let (written, removed) = (done.written, done.removed);
    context.printer.answer(&format!(
        "rolled back to {} of plan {}: {written} written, {removed} removed\nundo:       loop rollback {} undo\n",
        done.to, folder.id, folder.id
    ));
    for remark in &done.remarks {
        context.printer.progress(&format!("{}\n", text::one_line(remark, 400)));
    }
    Ok(0)
}

/// Rows for people: the loops of a plan stand as one row, which is the plan's. The newest first. The branches of a stuck
/// loop belong to its row.
pub(crate) fn with_plans(rows: Vec<Row>, plans: &[PlanView]) -> Vec<Row> {
    let is_known = |id: &String| plans.iter().any(|plan| plan.id == *id);
    let mut rows: Vec<Row> = rows.into_iter().filter(|row| !row.plan.as_ref().is_some_and(is_known)).collect();
    if !plans.is_empty() {
        rows.extend(plans.iter().filter(|plan| plan.recovers.is_none()).map(PlanView::row));
        rows.sort_by(|one, other| other.started_at.cmp(&one.started_at));
    }
    rows
}

/// Plans that are not over, or that changed since a moment.
pub(crate) fn views_since(context: &Context, since_ms: u64) -> Vec<PlanView> {
    let since = time::rfc3339(since_ms);
    let views = crate::plans::views_since(context, since_ms).into_iter().map(|(_, view)| view);
    views.filter(|view| !view.row().is_over() || view.updated_at >= since).collect()
}
