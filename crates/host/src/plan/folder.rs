//! Where plans are, which runs belong to one, and whose copies are removed.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use loop_core::agent::Agent;
use loop_core::ids::RunId;
use loop_core::plan::{NodeId, NodeSpec, Plan, PlanEvent, PlanSpec, PlanState};
use loop_core::run::{PlanRef, WorkspaceRef};
use loop_core::settings::Values;

use crate::checkpoint::CheckpointContext;
use crate::checkpoint::user_git::GitUser;
use crate::index;
use crate::journal::{self, ReadError};
use crate::launch::PlanLaunch;
use crate::paths::{Home, path_of};
use crate::run_folder::{HasFolder, RunFolder};
use crate::workspace::copy::sweep_some;

impl HasFolder for Plan {
    fn workspace(state: &PlanState) -> Option<&WorkspaceRef> {
        state.spec.as_ref().or(state.draft.as_ref()).map(|spec| &spec.workspace)
    }
}

/// The runs of a plan, the newest first.
#[must_use]
pub fn runs_of_plan(home: &Home, plan: &RunId) -> Vec<RunFolder> {
    let listed = index::list(home).unwrap_or_default();
    let of_plan =
        |listed: &index::Listed| listed.row.as_ref().is_ok_and(|row| row.plan.as_deref() == Some(plan.as_str()));
    listed.into_iter().filter(of_plan).map(|listed| listed.run).collect()
}

/// Their ids.
pub(super) fn runs_of(home: &Home, plan: &RunId) -> Vec<String> {
    runs_of_plan(home, plan).into_iter().map(|run| run.id.to_string()).collect()
}

/// The run of an attempt at a node, where there is one.
pub(super) fn run_of(home: &Home, of: &PlanRef) -> Option<RunId> {
    let is_it = |run: &RunFolder| {
        let spec = journal::read(&run.path).ok().and_then(|reading| reading.fold().spec);
        spec.and_then(|spec| spec.plan.clone())
            .is_some_and(|plan| (plan.node, plan.attempt) == (of.node.clone(), of.attempt))
    };
    runs_of_plan(home, &of.plan).into_iter().find(is_it).map(|run| run.id)
}

/// The state of a plan.
///
/// # Errors
/// When its journal cannot be read.
pub fn read_plan(folder: &RunFolder) -> Result<PlanState, ReadError> {
    journal::read_of::<Plan>(&folder.path).map(|reading| reading.fold())
}

/// The checkpoints of a plan itself: the workspace before it, merged trees, the workspace before the apply. The rules are
/// those of its first loop.
///
/// # Errors
/// When the request of its first loop is not there any more.
pub fn plan_context(home: &Home, folder: &RunFolder, state: &PlanState) -> std::io::Result<CheckpointContext> {
    let spec = state.spec.as_ref().ok_or_else(missing)?;
    let launch = first_launch(folder, state)?;
    Ok(context(home, spec, &launch))
}

/// What holds for every process of a plan.
#[derive(Debug, Default)]
pub(super) struct PlanProcesses {
    /// Variables of the environment.
    pub(super) env: Vec<(String, String)>,
    /// How long a hook may take, where the workflow says it.
    pub(super) hook_ms: Option<u64>,
}

/// What holds for every process of the plan: it is in the request of each loop.
pub(super) fn plan_processes(
    folder: &RunFolder,
    state: &PlanState,
    opening: &PlanEvent,
) -> std::io::Result<PlanProcesses> {
    // What the file says now holds from the first order on.
    let launch = if let PlanEvent::Reopened { spec: Some(spec), .. } = opening {
        launch_of(folder, spec, spec.nodes.iter())?
    } else {
        first_launch(folder, state)?
    };
    let env = launch.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
    Ok(PlanProcesses { env, hook_ms: launch.hook_ms })
}

fn missing() -> std::io::Error {
    std::io::Error::other("the plan has no loop")
}

/// What the plan gives to its first loop.
fn first_launch(folder: &RunFolder, state: &PlanState) -> std::io::Result<Box<PlanLaunch>> {
    let spec = state.spec.as_ref().ok_or_else(missing)?;
    launch_of(folder, spec, state.nodes.iter().map(|node| node.spec.as_ref()))
}

fn launch_of<'a>(
    folder: &RunFolder,
    spec: &PlanSpec,
    mut nodes: impl Iterator<Item = &'a NodeSpec>,
) -> std::io::Result<Box<PlanLaunch>> {
    // All items of a list have one request.
    let of_list = spec.list().map(|list| &list.request);
    let file = of_list.or_else(|| nodes.find_map(NodeSpec::loop_work).map(|work| &work.request)).ok_or_else(missing)?;
    let request: crate::launch::LaunchRequest = serde_json::from_slice(&fs::read(folder.path.join(&file.name))?)?;
    request.plan.ok_or_else(missing)
}

pub(super) fn context(home: &Home, spec: &PlanSpec, launch: &PlanLaunch) -> CheckpointContext {
    CheckpointContext {
        run: spec.id.to_string(),
        store: home.checkpoints().join(&spec.store),
        workspace: path_of(&spec.workspace.path),
        settings: Values::of(&launch.settings).checkpoint,
        backend: spec.backend.clone(),
        litter: Agent::litter_of_all(&launch.described),
        user: GitUser::of_environment(),
    }
}

/// Removes the copies of plans that have ended for good, or whose records are gone. Those of a plan that can be resumed
/// stay: its runs continue in them.
pub fn sweep_copies(home: &Home) {
    let folder = home.plan_copies();
    let Ok(entries) = fs::read_dir(&folder) else { return };
    let owners: BTreeSet<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let resumable = |owner: &String| {
        let Ok(id) = RunId::parse(owner) else { return false };
        let path: PathBuf = home.plans().join(owner);
        path.is_dir() && read_plan(&RunFolder { id, path }).map_or(true, |state| state.resumable())
    };
    let spared: BTreeSet<String> = owners.into_iter().filter(resumable).collect();
    // What stays is tried again by the next command.
    sweep_some(&folder, &|owner| !spared.contains(owner)).ok();
}

/// The folder for temporary files of a copy: beside its tree, removed with it.
pub(super) fn temp_folder(tree: &Path) -> PathBuf {
    tree.parent().unwrap_or(tree).join("tmp")
}

/// The name of the copy of an attempt at a node.
pub(super) fn copy_name(node: &NodeId, attempt: u32) -> String {
    format!("{node}-{attempt}")
}
