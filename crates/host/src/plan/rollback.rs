//! Rolling the workspace back to a checkpoint of a plan that no process drives.
use std::time::Duration;

use loop_core::plan::{Plan, PlanEntry, PlanEvent, PlanRequest, PlanRolledBack, PlanState};
use loop_core::time::At;
use loop_core::view::LiveDigest;

use super::executor::PlanExecutor;
use super::folder::plan_context;
use super::sources::PlanSources;
use super::worker::NOTHING_CHANGED;
use crate::checkpoint::Store;
use crate::driver::{Driver, Reporter};
use crate::paths::Home;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{Held, RunFolder, StartLock};
use crate::signals::Signals;
use crate::workspace::claim;

/// Rolls the workspace back to a checkpoint of the plan, such as `initial`: that undoes the whole plan. What is there now
/// becomes a checkpoint first, `undo-1` or the next free number. Request, order and answer are in the journal of the
/// plan.
///
/// # Errors
/// When a process drives the plan, the workspace cannot be claimed, or there is no such checkpoint.
pub fn roll_back_plan(home: &Home, folder: &RunFolder, to: &str, by: &str) -> Result<PlanRolledBack, LaunchRefusal> {
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
    // Ctrl-C does not leave the workspace half-restored.
    let signals = Signals::listen().map_err(|error| unable(&error))?;
    let executor = PlanExecutor::new(home, folder.clone(), context).map_err(|error| unable(&error))?;
    let Held { journal, state, lock: _held, .. } = held;
    let mut driver = Driver::<Plan, _, _>::new(journal, state, executor, PlanSources::new(signals, None));
    let opened = PlanEvent::OpenedForRequest { by: by.to_owned() };
    let asked = PlanEvent::Requested { request: PlanRequest::Rollback { to, undo }, by: by.to_owned() };
    let driven = driver.run([opened, asked], &mut Quiet);
    driven.map_err(|error| unable(&error))?;
    let end = driver.into_state().rollback.and_then(|rollback| rollback.end);
    let end = end.unwrap_or_else(|| Err("a bug of loop: it was not begun".to_owned()));
    end.map_err(|why| match why.split_once(NOTHING_CHANGED) {
        Some((_, why)) => LaunchRefusal::wrong(NOTHING_CHANGED).because(why.trim_start_matches([':', ' ']).to_owned()),
        None => LaunchRefusal::unable("the rollback was begun and is not finished")
            .because(why)
            .hint("fix that and give the same command again"),
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
