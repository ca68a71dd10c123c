//! Rolling the workspace back to a checkpoint of a plan that no process drives, or by its own command for a failure.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use loop_core::plan::{HookWhen, Plan, PlanEntry, PlanEvent, PlanOrder, PlanRequest, PlanRolledBack, PlanState};
use loop_core::time::At;
use loop_core::view::LiveDigest;

use super::executor::{PlanExecutor, order_mark};
use super::folder::{plan_context, read_plan};
use super::sources::PlanSources;
use super::worker::{NOTHING_CHANGED, rolled_back};
use crate::checkpoint::{CheckpointContext, CheckpointError, RollbackRequest, RunCheckpoints, Store};
use crate::driver::{Driver, Reporter};
use crate::paths::Home;
use crate::process::carries_mark;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{Held, RunFolder, StartLock};
use crate::signals::Signals;
use crate::workspace::claim;

/// Rolls the workspace back to a checkpoint of the plan, such as `initial`: that undoes the whole plan. What is there now
/// becomes a checkpoint first, `undo-1` or the next free number. Request, order and answer are in the journal of the
/// plan; of a rollback by its own command for a failure, that command is.
///
/// # Errors
/// When a process drives the plan and this is not one of its commands for a failure, the workspace cannot be claimed, or
/// there is no such checkpoint.
pub fn roll_back_plan(home: &Home, folder: &RunFolder, to: &str, by: &str) -> Result<PlanRolledBack, LaunchRefusal> {
    if is_own_hook(folder) {
        // The plan holds its lock and the workspace, and waits for this command: nothing else of it works.
        let state = read_plan(folder).map_err(|error| unable(&error))?;
        let context = plan_context(home, folder, &state).map_err(|error| unable(&error))?;
        let names = names_for(&context, to)?;
        return roll_back_beside(context, &names);
    }
    let held = folder.clone().hold_as::<Plan>()?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the plan never began").hint("loop list"));
    };
    let context = plan_context(home, folder, &held.state).map_err(|error| unable(&error))?;
    let start = StartLock::take(home)?;
    let _claimed = claim(home, &start, &spec.id, &spec.workspace)?;
    drop(start);
    let RollbackNames { to, undo } = names_for(&context, to)?;
    // Ctrl-C does not leave the workspace half-restored.
    let signals = Signals::listen().map_err(|error| unable(&error))?;
    let executor = PlanExecutor::new(home, folder.clone(), context).map_err(|error| unable(&error))?;
    let Held { journal, state, lock: _held, .. } = held;
    let mut driver = Driver::<Plan, _, _>::new(journal, state, executor, PlanSources::new(signals, None, None));
    let opened = PlanEvent::OpenedForRequest { by: by.to_owned() };
    let asked = PlanEvent::Requested { request: PlanRequest::Rollback { to, undo }, by: by.to_owned() };
    let driven = driver.run([opened, asked], &mut Quiet);
    driven.map_err(|error| unable(&error))?;
    let end = driver.into_state().rollback.and_then(|rollback| rollback.end);
    let end = end.unwrap_or_else(|| Err("a bug of loop: it was not begun".to_owned()));
    end.map_err(|why| match why.split_once(NOTHING_CHANGED) {
        Some((_, why)) => LaunchRefusal::wrong(NOTHING_CHANGED).because(why.trim_start_matches([':', ' ']).to_owned()),
        None => not_finished(why),
    })
}

/// Whether this process belongs to a command of `on_failure` of the plan, which is under way.
#[must_use]
pub fn is_own_hook(folder: &RunFolder) -> bool {
    let Ok(state) = read_plan(folder) else { return false };
    let is_hook = |order: &PlanOrder| matches!(order, PlanOrder::Hook { when: HookWhen::Failure, .. });
    let mut hooks = state.orders.iter().filter(|(_, open)| is_hook(&open.order));
    folder.holder().is_some() && hooks.any(|(order, _)| carries_mark(&order_mark(&folder.id, order)))
}

fn unable(error: &dyn std::error::Error) -> LaunchRefusal {
    LaunchRefusal::of(RefusalKind::Unable, error)
}

fn not_finished(why: String) -> LaunchRefusal {
    LaunchRefusal::unable("the rollback was begun and is not finished")
        .because(why)
        .hint("fix that and give the same command again")
}

/// The checkpoints of a rollback.
struct RollbackNames {
    to: String,
    undo: String,
}

/// The checkpoint that is meant, and the next free name for what is there now.
fn names_for(context: &CheckpointContext, to: &str) -> Result<RollbackNames, LaunchRefusal> {
    let plan = &context.run;
    let store = Store::open(&context.store).map_err(|error| unable(&error))?;
    let names = store.names_of(plan).map_err(|error| unable(&error))?;
    let known: Vec<&str> = names.iter().filter_map(|(full, _)| full.split_once('/')).map(|(_, name)| name).collect();
    let newest_undo =
        (1_u32..).map(|number| format!("undo-{number}")).take_while(|name| known.contains(&name.as_str()));
    let newest_undo = newest_undo.last();
    let to = if to == "undo" { newest_undo.clone().unwrap_or_else(|| to.to_owned()) } else { to.to_owned() };
    if !known.contains(&to.as_str()) {
        return Err(LaunchRefusal::wrong(format!("plan {plan} has no checkpoint {to}"))
            .because(format!("it has {}", known.join(", ")))
            .hint(format!("loop rollback {plan} initial")));
    }
    let number = newest_undo.and_then(|name| name.trim_start_matches("undo-").parse::<u32>().ok()).unwrap_or(0) + 1;
    Ok(RollbackNames { to, undo: format!("undo-{number}") })
}

/// A rollback while the plan's own process waits for this one.
fn roll_back_beside(context: CheckpointContext, names: &RollbackNames) -> Result<PlanRolledBack, LaunchRefusal> {
    let mut checkpoints =
        RunCheckpoints::open(context, Arc::new(AtomicBool::new(false))).map_err(|error| unable(&error))?;
    let request = RollbackRequest { to: &names.to, undo: &names.undo, git: false, paths: &[] };
    checkpoints.roll_back(&request).map(rolled_back).map_err(|error| match error {
        CheckpointError::Refused(why) => LaunchRefusal::wrong(NOTHING_CHANGED).because(why),
        CheckpointError::Blocked(why) | CheckpointError::Gone(why) => not_finished(why),
        CheckpointError::Cancelled => LaunchRefusal::unable("it was cancelled"),
    })
}

/// Shows nothing: the command says what came of it.
struct Quiet;

impl Reporter<Plan> for Quiet {
    fn on_entry(&mut self, _: &PlanEntry, _: &PlanState) {}
    fn on_output(&mut self, _: &[u8]) {}
    fn on_live(&mut self, _: &LiveDigest) {}
    fn tick(&self) -> Option<Duration> {
        None
    }
    fn draw(&mut self, _: &PlanState, _: At) {}
}
