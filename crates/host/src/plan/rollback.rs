//! Rolling the workspace back to a checkpoint of a plan that no process drives.
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::plan::Plan;
use loop_core::run::RollbackReport;

use super::folder::plan_context;
use crate::checkpoint::{CheckpointError, RollbackRequest, RunCheckpoints, Store};
use crate::paths::Home;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{RunFolder, StartLock};
use crate::workspace::claim;

/// Rolls the workspace back to a checkpoint of the plan, such as `initial`: that undoes the whole plan. What is there now
/// becomes a checkpoint first, `undo-1` or the next free number.
///
/// # Errors
/// When a process drives the plan, the workspace cannot be claimed, or there is no such checkpoint.
pub fn roll_back_plan(home: &Home, folder: &RunFolder, to: &str) -> Result<RollbackReport, LaunchRefusal> {
    let unable = |error: &dyn std::error::Error| LaunchRefusal::of(RefusalKind::Unable, error);
    let held = folder.clone().hold_as::<Plan>()?;
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the plan never began").hint("loop list"));
    };
    let context = plan_context(home, folder, &held.state).map_err(|error| unable(&error))?;
    let start = StartLock::take(home)?;
    let _claimed = claim(home, &start, &spec.id, &spec.workspace)?;
    drop(start);
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
