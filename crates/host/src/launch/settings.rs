//! From flags, files and the environment to the settings of a run.
use std::path::{Path, PathBuf};

use loop_core::agent::Described;
use loop_core::run::WorkspaceRef;
use loop_core::settings::{Given, Layer, Origin, Settings, keys, settle, too_wide};
use loop_core::text;

use super::approval::{self, ApprovedProject, GivenApproval};
use super::caller::{LaunchCaller, LaunchNote};
use super::start::PlanLaunch;
use super::template::{self, StartTemplate};
use crate::agent_list::settle_agents;
use crate::approvals;
use crate::paths::{Home, user_home};
use crate::refusal::LaunchRefusal;
use crate::settings_files::{described, gather};
use crate::usable_agent::KNOWN_AGENT_LIMITS;
use crate::workspace;

/// Where a run is to work, and its settings.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) path: PathBuf,
    pub(super) place: WorkspaceRef,
    pub(super) settings: Settings,
    /// The agents that the user's own settings describe, then those of the project.
    pub(super) described: Vec<Described>,
    /// An approval of the project's file that is to be stored when the run is made.
    pub(super) new_approval: Option<GivenApproval>,
    /// The approval of the project's file that these settings rely on.
    pub(super) approval: Option<String>,
    /// It is a copy that a plan made, in the folder of the records.
    pub(super) is_copy: bool,
    /// The template of this start.
    pub(super) template: Option<StartTemplate>,
}

/// Resolves the layers for a workspace and looks at the workspace.
pub(super) fn set_up(
    home: &Home,
    flags: Vec<Given>,
    workspace: Option<&Path>,
    plan: Option<&PlanLaunch>,
    caller: &mut dyn LaunchCaller,
) -> Result<Setup, LaunchRefusal> {
    let asked = match workspace {
        Some(path) => path.to_owned(),
        None => std::env::current_dir()
            .map_err(|error| LaunchRefusal::wrong("the current folder is gone").because(error.to_string()))?,
    };
    if let Some(plan) = plan {
        return of_plan(plan, flags, &asked);
    }
    // A missing folder is a clearer error than a settings file that is not in it.
    workspace::inspect(&asked, None, true)?;
    let whole = asked.canonicalize().unwrap_or_else(|_| asked.clone());
    let ApprovedProject { mut project, given: new_approval } = approval::project(home, &whole, &flags, caller)?;
    let approval = project.as_ref().and_then(|_| approvals::relied_on(&home.state, &whole));
    let of_project = project.as_mut().map(|project| std::mem::take(&mut project.described)).unwrap_or_default();
    let mut given = gather(&home.config, project)?;
    given.extend(flags.iter().cloned());
    let mut template = template::choose(home, &whole, &given, &flags, caller)?;
    given.extend(template.as_mut().map(|chosen| std::mem::take(&mut chosen.given)).unwrap_or_default());
    for vain in too_wide(&given) {
        caller.note(LaunchNote::progress(text::escaped_lines(&format!(
            "warning: {vain}: it is ignored ({})",
            vain.why()
        ))));
    }
    let settings = resolve(given)?;
    let (path, place) = workspace::inspect(&asked, user_home().as_deref(), settings.values.start.allow_any_workspace)?;
    let mut described = described(&home.config)?;
    // For the same name the user's own description counts.
    described.extend(of_project);
    Ok(Setup { path, place, settings, described, new_approval, approval, is_copy: false, template })
}

/// The settings of a run of a plan: those of the plan, and what is given for this run over them. Its copy may be the root
/// of a mount, which is allowed: the copy is ours.
fn of_plan(plan: &PlanLaunch, given: Vec<Given>, copy: &Path) -> Result<Setup, LaunchRefusal> {
    let mut settings = Settings::of(&plan.settings);
    // An agent of a branch stands alone, unless the branch has a list of its own.
    if given.iter().any(|given| given.key == keys::agent()) && !settings.values.router.agents.0.is_empty() {
        let origin = Origin { layer: Layer::Default, place: String::new() };
        settings.put(keys::agents(), String::new(), origin);
    }
    for Given { key, value, origin } in given {
        settings.put(key, value, origin);
    }
    settle_agents(&mut settings);
    known_agent_limits(&mut settings);
    let (path, place) = workspace::inspect(copy, None, true)?;
    let (described, approval) = (plan.described.clone(), plan.approval.clone());
    Ok(Setup { path, place, settings, described, new_approval: None, approval, is_copy: true, template: None })
}

/// The settings that these layers make. An agent command alone means the custom agent.
///
/// # Errors
/// The first thing that is wrong.
pub fn resolve(given: Vec<Given>) -> Result<Settings, LaunchRefusal> {
    let resolved = settle(given)?;
    let mut settings = Settings::of(&resolved);
    let command = resolved.origin(keys::agent_cmd()).filter(|_| settings.values.agent.agent_cmd.is_some());
    let agent = resolved.origin(keys::agent()).map(|origin| origin.layer);
    if let Some(command) = command.filter(|command| Some(command.layer) > agent) {
        settings.put(keys::agent(), "custom".to_owned(), command.clone());
    }
    settle_agents(&mut settings);
    known_agent_limits(&mut settings);
    Ok(settings)
}

/// The user's own settings, without a workspace.
///
/// # Errors
/// The first thing that is wrong.
pub fn own_settings(home: &Home) -> Result<Settings, LaunchRefusal> {
    resolve(gather(&home.config, None)?)
}

/// The limits of an agent that is known or described, where no setting says them.
fn known_agent_limits(settings: &mut Settings) {
    if settings.values.agent.agent == "custom" {
        return;
    }
    for (key, value) in KNOWN_AGENT_LIMITS {
        // With a place it comes from a profile.
        let unset = |origin: &&Origin| origin.layer == Layer::Default && origin.place.is_empty();
        if let Some(origin) = settings.resolved.origin(key).filter(unset).cloned() {
            settings.put(key, value.to_owned(), origin);
        }
    }
}
