//! Rolling the workspace back to a checkpoint of a plan that no process drives, or by its own command for a failure.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::plan::{HookWhen, Plan, PlanOrder, PlanState};
use loop_core::run::RollbackReport;

use super::executor::order_mark;
use super::folder::{plan_context, read_plan};
use crate::checkpoint::{CheckpointError, RollbackRequest, RunCheckpoints, Store};
use crate::paths::Home;
use crate::process::carries_mark;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{RunFolder, StartLock};
use crate::workspace::claim;

/// Rolls the workspace back to a checkpoint of the plan, such as `initial`: that undoes the whole plan. What is there now
/// becomes a checkpoint first, `undo-1` or the next free number.
///
/// # Errors
/// When a process drives the plan and this is not one of its commands for a failure, the workspace cannot be claimed, or
/// there is no such checkpoint.
pub fn roll_back_plan(home: &Home, folder: &RunFolder, to: &str) -> Result<RollbackReport, LaunchRefusal> {
    let unable = |error: &dyn std::error::Error| LaunchRefusal::of(RefusalKind::Unable, error);
    if is_own_hook(folder) {
        // The plan holds its lock and the workspace, and waits for this command: nothing else of it works.
        let state = read_plan(folder).map_err(|error| unable(&error))?;
        return roll_back(home, folder, &state, to);
    }
    let held = folder.clone().hold_as::<Plan>()?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the plan never began").hint("loop list"));
    };
    let start = StartLock::take(home)?;
    let _claimed = claim(home, &start, &spec.id, &spec.workspace)?;
    drop(start);
    roll_back(home, folder, &held.state, to)
}

/// Whether this process belongs to a command of `on_failure` of the plan, which is under way.
#[must_use]
pub fn is_own_hook(folder: &RunFolder) -> bool {
    let Ok(state) = read_plan(folder) else { return false };
    let is_hook = |order: &PlanOrder| matches!(order, PlanOrder::Hook { when: HookWhen::Failure, .. });
    let mut hooks = state.orders.iter().filter(|(_, open)| is_hook(&open.order));
    folder.holder().is_some() && hooks.any(|(order, _)| carries_mark(&order_mark(&folder.id, order)))
}

fn roll_back(home: &Home, folder: &RunFolder, state: &PlanState, to: &str) -> Result<RollbackReport, LaunchRefusal> {
    let unable = |error: &dyn std::error::Error| LaunchRefusal::of(RefusalKind::Unable, error);
    let Some(spec) = state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the plan never began").hint("loop list"));
    };
    let context = plan_context(home, folder, state).map_err(|error| unable(&error))?;
    let store = Store::open(&context.store).map_err(|error| unable(&error))?;
    let names = store.names_of(&context.run).map_err(|error| unable(&error))?;
    let known: Vec<&str> = names.iter().filter_map(|(full, _)| full.split_once('/')).map(|(_, name)| name).collect();
    let newest_undo =
        (1_u32..).map(|number| format!("undo-{number}")).take_while(|name| known.contains(&name.as_str()));
    let newest_undo = newest_undo.last();
    let to = if to == "undo" { newest_undo.clone().unwrap_or_else(|| to.to_owned()) } else { to.to_owned() };
    if !known.contains(&to.as_str()) {
        return Err(LaunchRefusal::wrong(format!("plan {} has no checkpoint {to}", spec.id))
            .because(format!("it has {}", known.join(", ")))
            .hint(format!("loop rollback {} initial", spec.id)));
    }
    let number = newest_undo.and_then(|name| name.trim_start_matches("undo-").parse::<u32>().ok()).unwrap_or(0) + 1;
    let undo = format!("undo-{number}");
    let mut checkpoints =
        RunCheckpoints::open(context, Arc::new(AtomicBool::new(false))).map_err(|error| unable(&error))?;
    let request = RollbackRequest { to: &to, undo: &undo, git: false, paths: &[] };
    checkpoints.roll_back(&request).map_err(|error| match error {
        CheckpointError::Refused(why) => {
            LaunchRefusal::wrong("nothing was rolled back and nothing changed").because(why)
        }
        CheckpointError::Blocked(why) | CheckpointError::Gone(why) => {
            LaunchRefusal::unable("the rollback was begun and is not finished")
                .because(why)
                .hint("fix that and give the same command again")
        }
        CheckpointError::Cancelled => LaunchRefusal::unable("it was cancelled"),
    })
}
