//! A workflow file that is read again: what becomes of each node, and the plan with the new file.
use std::path::PathBuf;

use loop_core::machine;
use loop_core::plan::{CarryOver, Join, Plan, PlanDecision, PlanEvent, PlanFact, PlanOrigin, PlanSpec, PlanState};
use sha2::{Digest, Sha256};

use super::folder::read_plan;
use super::start::{ReadyPlan, Reopening, reopen_with};
use super::workflow::{FilesOf, MadeSpec, PreparedWorkflow, WorkflowStart, spec_of};
use crate::clock;
use crate::fs::hex;
use crate::launch::LaunchCaller;
use crate::paths::{Home, path_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::RunFolder;

/// How a workflow was started.
#[derive(Debug)]
pub struct WorkflowBefore {
    /// Where its file was.
    pub path: PathBuf,
    /// What was typed beside it.
    pub start: WorkflowStart,
    /// Where it works.
    pub workspace: PathBuf,
}

/// What reading the file again would make of a plan.
#[derive(Debug)]
pub struct WorkflowChange {
    /// The plan as it is.
    pub before: PlanState,
    /// What becomes of each node.
    pub carried: CarryOver,
}

/// How the workflow of a plan was started, if its file can be read again.
///
/// # Errors
/// When it is not a workflow, has ended for good, a process drives it, or its result is in the workspace already.
pub fn workflow_before(folder: &RunFolder) -> Result<WorkflowBefore, LaunchRefusal> {
    let id = &folder.id;
    let state = state_of(folder)?;
    let Some(spec) = &state.spec else { return Err(LaunchRefusal::wrong("the plan never began").hint("loop list")) };
    let Some(origin) = spec.origin.as_ref().filter(|_| spec.join == Join::Merge) else {
        return Err(LaunchRefusal::wrong(format!("plan {id} is not a workflow")).hint(format!("loop resume {id}")));
    };
    if let Some(holder) = folder.holder() {
        return Err(LaunchRefusal::wrong(format!("plan {id} is at work (process {})", holder.pid))
            .because("its file can be read again when nothing works on it")
            .hint(format!("loop stop {id}")));
    }
    if !state.resumable() {
        return Err(LaunchRefusal::wrong(format!("plan {id} has ended"))
            .because("there is nothing to resume")
            .hint("start it again: loop workflow run FILE"));
    }
    if state.applying.report.is_some() {
        return Err(LaunchRefusal::wrong(format!("the result of plan {id} is in the workspace already"))
            .because("a changed file would be merged with its own older result")
            .hint(format!("finish it as it was started: loop resume {id}")));
    }
    Ok(WorkflowBefore {
        path: path_of(&origin.path),
        start: typed(folder, origin)?,
        workspace: path_of(&spec.workspace.path),
    })
}

fn state_of(folder: &RunFolder) -> Result<PlanState, LaunchRefusal> {
    read_plan(folder).map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))
}

/// What was typed beside the file.
fn typed(folder: &RunFolder, origin: &PlanOrigin) -> Result<WorkflowStart, LaunchRefusal> {
    let Some(file) = &origin.start else { return Ok(WorkflowStart::default()) };
    let unable = |why: String| LaunchRefusal::unable(format!("cannot read {} of the plan", file.name)).because(why);
    let bytes = std::fs::read(folder.path.join(&file.name)).map_err(|error| unable(error.to_string()))?;
    if hex(&Sha256::digest(&bytes)) != file.sha256 {
        return Err(unable("it is not what was written".to_owned()));
    }
    serde_json::from_slice(&bytes).map_err(|error| unable(error.to_string()))
}

/// The plan as the file says it now. Nothing is written.
fn made(folder: &RunFolder, prepared: &PreparedWorkflow, attended: bool) -> Result<MadeSpec, LaunchRefusal> {
    let is_free = |suffix: &String| !folder.path.join(format!("workflow{suffix}.yaml")).exists();
    let suffix = (2_u32..).map(|number| format!("-{number}")).find(is_free).unwrap_or_default();
    spec_of(prepared, &FilesOf { id: &folder.id, folder: &folder.path, suffix: &suffix }, attended)
}

fn reopened(by: &str, spec: PlanSpec) -> PlanEvent {
    let unattended = spec.unattended;
    PlanEvent::Reopened { by: by.to_owned(), unattended, spec: Some(Box::new(spec)), request: None }
}

/// What becomes of each node if the plan is resumed with this file. Nothing is written.
///
/// # Errors
/// When the plan cannot be read, or the file makes no plan.
pub fn preview_workflow(folder: &RunFolder, prepared: &PreparedWorkflow) -> Result<WorkflowChange, LaunchRefusal> {
    let before = state_of(folder)?;
    let spec = made(folder, prepared, false)?.spec;
    // The machine itself says it: a resume decides the same.
    let facts = machine::decide::<Plan>(&before, clock::now(), reopened("a dry run", spec));
    let carried = facts.into_iter().find_map(|fact| match fact {
        PlanFact::Decided(PlanDecision::CarriedOver(carried)) => Some(carried),
        PlanFact::Happened(_)
        | PlanFact::Part(_)
        | PlanFact::Ordered { .. }
        | PlanFact::OrderCancelled { .. }
        | PlanFact::Decided(_)
        | PlanFact::Concluded { .. } => None,
    });
    let carried = carried.ok_or_else(|| LaunchRefusal::unable("a bug of loop: nothing was decided about the nodes"))?;
    Ok(WorkflowChange { before, carried })
}

/// Holds a plan again, to continue it as its file says now.
///
/// # Errors
/// When another process drives it, it has ended for good, or its workspace cannot be used.
pub fn reopen_workflow(
    home: &Home,
    folder: RunFolder,
    prepared: &PreparedWorkflow,
    by: &str,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    workflow_before(&folder)?;
    let MadeSpec { spec, files } = made(&folder, prepared, caller.is_attended())?;
    prepared.store_approval(home)?;
    reopen_with(home, folder, Reopening { by, request: None, spec: Some(Box::new(spec)), files }, caller)
}
