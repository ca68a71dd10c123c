//! A start: everything is checked first, then the run is made.
use std::path::{Path, PathBuf};

use loop_core::agent::shell_words::quoted;
use loop_core::agent::{Agent, Described, Secrets};
use loop_core::run::{Event, PlanRef, Request, RunSpec, WorkspaceRef, task_signs};
use loop_core::settings::{GateSpec, Given, Layer, Origin, Resolved, Settings, Values, keys};
use loop_core::text;
use loop_core::workflow::EnvVariable;
use serde::{Deserialize, Serialize};

use super::agent;
use super::approval::GivenApproval;
use super::caller::{LaunchCaller, LaunchNote};
use super::container::{self, LaunchContainer};
use super::drive::ReadyRun;
use super::gates::GateWarning;
use super::settings::{Setup, set_up};
use super::task::{self, TaskSource};
use super::{checks, disk_limits, gates, leash, leftovers, worker};
use crate::agent_list::find_agents;
use crate::checkpoint::BackendChoice;
use crate::hidden::{record_of, warnings as hidden_warnings};
use crate::ledger;
use crate::paths::{Home, path_of, relative_entries, search_path, text_of};
use crate::process::pid_namespace;
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::requests;
use crate::run_folder::{self, HeldRun, LongTexts, StartLock};
use crate::secrets;
use crate::settings_files::PROJECT_FILE;
use crate::usable_agent::UsableAgent;
use crate::workspace::claim;

/// The request for a start. As JSON it can go to another process; a path that is not UTF-8 cannot.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaunchRequest {
    /// What was typed, over files and variables.
    pub given: Vec<Given>,
    /// Where to work; the current folder where none is given.
    pub workspace: Option<PathBuf>,
    pub task: TaskSource,
    /// More arguments for the agent's program.
    pub agent_args: Vec<String>,
    /// A dry run: no run is made, nothing is written, and no breaker is closed.
    pub dry_run: bool,
    /// The plan that it is a part of.
    #[serde(default)]
    pub plan: Option<Box<PlanLaunch>>,
}

/// What a plan gives to each of its runs. It was checked and approved when the plan was started, so no file of settings is
/// read again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanLaunch {
    /// The place of the run in the plan.
    pub of: PlanRef,
    /// The store of the plan's workspace, which has the checkpoints of all its runs.
    pub store: String,
    /// The settings of the plan. Settings in the request count more.
    pub settings: Resolved,
    /// The agents that settings describe.
    #[serde(default)]
    pub described: Vec<Described>,
    /// The approval of the project's file that the settings rely on.
    #[serde(default)]
    pub approval: Option<String>,
    /// Variables of the environment for agent, gates and hooks: its process gets them.
    #[serde(default)]
    pub env: Vec<EnvVariable>,
    /// How long a hook of the plan may take, where the workflow says it.
    #[serde(default)]
    pub hook_ms: Option<u64>,
    /// The questions of the plan whose answers stand in the task: `{{answer.ID}}`.
    #[serde(default)]
    pub answers: Vec<String>,
    /// A text for its first prompt.
    #[serde(default)]
    pub note: Option<String>,
}

/// Everything that a start needs, checked.
#[derive(Debug)]
pub struct Prepared {
    /// The workspace, by its real path.
    pub workspace: PathBuf,
    /// The same, as the run records it.
    pub place: WorkspaceRef,
    pub settings: Settings,
    /// The task.
    pub goal: String,
    /// The texts of the injected files.
    pub inject: Vec<String>,
    /// How checkpoints are stored.
    pub checkpoints: BackendChoice,
    pub agent: UsableAgent,
    /// What agents leave in a workspace, as globs: of all agents that could work here.
    pub litter: Vec<String>,
    /// The approval of the project's file that the settings rely on.
    pub approval: Option<String>,
    /// The container that the agent works in; none if on this machine.
    pub container: Option<LaunchContainer>,
    /// Reasons why a gate could pass although the work is not done, as far as its command shows them.
    pub warnings: Vec<GateWarning>,
    /// The hidden gates of runs in this workspace.
    pub hidden: Vec<GateSpec>,
    /// The approval that the user gave for the project's file: `create` stores it.
    pub new_approval: Option<GivenApproval>,
    /// The agents that settings describe.
    pub described: Vec<Described>,
    /// The plan that the run is a part of.
    pub plan: Option<Box<PlanLaunch>>,
    /// The same for a template of the project.
    pub template_approval: Option<GivenApproval>,
}

/// The nearest folder above the workspace that has the project's settings.
fn project_file_above(workspace: &Path) -> Option<PathBuf> {
    workspace.ancestors().skip(1).find(|folder| folder.join(PROJECT_FILE).is_file()).map(Path::to_owned)
}

/// Checks everything that a start needs. No run is made and no approval is stored; a breaker is closed where that is
/// asked for.
///
/// # Errors
/// The first thing that is wrong.
pub fn prepare(home: &Home, request: LaunchRequest, caller: &mut dyn LaunchCaller) -> Result<Prepared, LaunchRefusal> {
    let LaunchRequest { given, workspace, task, agent_args, dry_run, plan } = request;
    let mut setup = set_up(home, given, workspace.as_deref(), plan.as_deref(), caller)?;
    let goal = task::read(&task, setup.template.as_ref().map(|chosen| &chosen.template), caller)?;
    let line = retry_line(&goal, &setup.settings);
    check_gates(&setup, &line)?;
    let settings_folder = plan.as_ref().map_or_else(|| setup.path.clone(), |plan| path_of(&plan.of.workspace));
    let hidden = gates::hidden(home, &settings_folder)?;
    add_arguments(&mut setup.settings, &agent_args);
    let all = find_agents(&setup.settings, &setup.described, &caller.typed_start().unwrap_or(line))?;
    checks::check_containment(setup.settings.values.agent.containment)?;
    let inject = task::injected(&setup.settings.values.start.inject, &goal)?;
    checks::fix_result_path(&mut setup.settings, &setup.path)?;
    let output = &setup.settings.values.output;
    checks::check_stop_file(output, &setup.path, output.clear_stop)?;
    checks::check_alerts_log(&setup.settings.values.alerts, &setup.path)?;
    checks::check_inbox(&setup.settings.values.environment, &setup.path)?;
    let checkpoints = checks::checkpoint_backend(home, &setup)?;
    let values = &setup.settings.values;
    let (found, container) = first_agent(all, values, &setup.path, caller)?;
    worker::check_breaker(home, values, dry_run, caller)?;
    let warnings = gates::warnings(&setup.settings, &setup.path);
    if dry_run {
        // A start prints them when the run is made. A start that is refused prints only its reason.
        warnings.iter().for_each(|warning| caller.note(warning.note()));
        agent::notes(&setup.settings, &found.agent).into_iter().for_each(|note| caller.note(note));
        gates::note_on_hidden(&hidden, &setup.settings, checkpoints.backend)
            .into_iter()
            .for_each(|note| caller.note(note));
    }
    let is_approved =
        setup.new_approval.is_some() || setup.template.as_ref().is_some_and(|chosen| chosen.approval.is_some());
    if dry_run && is_approved {
        caller.note(LaunchNote::progress("note: the approval holds for this dry run only, and is not stored"));
    }
    if !dry_run {
        gates::confirm_found(&setup.settings, &setup.path, caller)?;
        agent::confirm_permissions(values, caller)?;
    }
    for warning in hidden_warnings(&home.config)? {
        caller.note(LaunchNote::important(warning));
    }
    Ok(Prepared {
        workspace: setup.path,
        place: setup.place,
        settings: setup.settings,
        goal,
        inject,
        checkpoints,
        agent: found,
        litter: Agent::litter_of_all(&setup.described),
        approval: setup.approval,
        container,
        warnings,
        hidden,
        new_approval: setup.new_approval,
        described: setup.described,
        plan,
        template_approval: setup.template.and_then(|chosen| chosen.approval),
    })
}

/// Refuses gates that cannot judge, and says where they could have come from.
fn check_gates(setup: &Setup, line: &str) -> Result<(), LaunchRefusal> {
    let refusal = match gates::check(&setup.settings, line) {
        Ok(()) => return Ok(()),
        Err(refusal) => match &setup.template {
            Some(chosen) => chosen.explain(refusal),
            None => refusal,
        },
    };
    match project_file_above(&setup.path) {
        Some(folder) if !setup.path.join(PROJECT_FILE).exists() => {
            let folder = quoted(&text_of(&folder));
            Err(refusal.hint(format!("{PROJECT_FILE} of a folder above is not read; to start there: cd {folder}")))
        }
        Some(_) | None => Err(refusal),
    }
}

/// The agent that works first, and the container that all of them work in.
fn first_agent(
    all: Vec<UsableAgent>,
    values: &Values,
    workspace: &Path,
    caller: &mut dyn LaunchCaller,
) -> Result<(UsableAgent, Option<LaunchContainer>), LaunchRefusal> {
    let mut container = None;
    for one in &all {
        // One container for all: each program is looked for in it.
        let checked = container::check(&values.agent, &one.agent, workspace, caller)?;
        container = container.or(checked);
    }
    // A list has at most one agent that the settings describe.
    let described = all.iter().find_map(|one| one.described.clone());
    let first = all.into_iter().next().ok_or_else(|| LaunchRefusal::wrong("no agent was given"))?;
    Ok((UsableAgent { described, ..first }, container))
}

impl Prepared {
    /// The approval of the project's file that a run relies on.
    #[must_use]
    pub fn approval_name(&self) -> Option<String> {
        self.new_approval.as_ref().map(GivenApproval::name).or_else(|| self.approval.clone())
    }

    /// Stores the approval of the project's file that the user gave now.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(crate) fn store_approval(&self, home: &Home) -> Result<(), LaunchRefusal> {
        self.new_approval.iter().chain(&self.template_approval).try_for_each(|approval| approval.store(home))
    }
}

/// The start as it could be typed again, for hints.
fn retry_line(goal: &str, settings: &Settings) -> String {
    let promise = settings.values.gate.promise.as_deref().map_or_else(|| "'make test'".to_owned(), quoted);
    format!("loop start {} --promise {promise}", quoted(&text::one_line(goal, 80)))
}

/// Arguments of the request come after those of the settings.
fn add_arguments(settings: &mut Settings, more: &[String]) {
    if more.is_empty() {
        return;
    }
    let value = agent::with_arguments(settings.values.agent.agent_args.as_deref().unwrap_or_default(), more);
    let origin = Origin { layer: Layer::Flag, place: "--".to_owned() };
    settings.put(keys::agent_args(), value, origin);
}

/// Makes the run: from here on there is something on disk. What killed runs left is ended, the disk limits are kept, the
/// workspace is claimed, the first fact is written, and the agent's container is begun.
///
/// # Errors
/// When the run cannot be made. There is none then.
pub fn create(home: &Home, prepared: &Prepared, caller: &mut dyn LaunchCaller) -> Result<ReadyRun, LaunchRefusal> {
    home.make()?;
    for note in disk_limits::keep(home, &prepared.settings, None) {
        caller.note(note);
    }
    let id = crate::fs::fresh_id().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    let start = StartLock::take(home)?;
    leftovers::end_orphans(home, Some(&prepared.place), &mut |note| caller.note(note))?;
    let claimed = claim(home, &start, &id, &prepared.place)?;
    let values = &prepared.settings.values;
    if values.output.clear_stop {
        checks::clear_stop_file(&values.output, &prepared.workspace)?;
    }
    // This holds for this start alone. A later resume must notice a new stop file, or a breaker that tripped since.
    let (mut settings, leash) = leash::draw(&prepared.settings);
    forget_once(&mut settings);
    let mut files = LongTexts::new();
    let secret = secrets::declared(&values.agent);
    note_on_secret(prepared, &secret, caller);
    let goal = run_folder::store_text(&secret.text(&prepared.goal), "goal.md", &mut files);
    let numbered = prepared.inject.iter().map(|text| secret.text(text)).zip(1..);
    let inject = numbered
        .map(|(text, number)| run_folder::store_as_file(&text, &format!("inject-{number}.md"), &mut files))
        .collect();
    let plan = prepared.plan.as_deref();
    let settings_folder = path_of(plan.map_or(&prepared.place.path, |plan| &plan.of.workspace));
    let hidden = record_of(&prepared.hidden, &settings_folder, &id);
    let hidden_note = hidden.as_ref().and_then(|hidden| hidden.note.clone());
    let spec = RunSpec {
        hidden: hidden.map(|hidden| hidden.gates),
        id,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        // The journal has only the beginning of a long text. The rest is read here, once.
        task: goal.file.is_some().then(|| task_signs(&prepared.goal, &prepared.settings)),
        goal,
        inject,
        workspace: prepared.place.clone(),
        backend: prepared.checkpoints.backend.to_owned(),
        store: plan.map_or_else(|| run_folder::store_name(&prepared.workspace), |plan| plan.store.clone()),
        described: prepared.agent.described.clone(),
        litter: prepared.litter.clone(),
        guard: gates::guard(&prepared.settings, &prepared.workspace),
        approval: prepared.approval_name(),
        settings,
        pid_namespace: pid_namespace(),
        unattended: !caller.is_attended(),
        plan: plan.map(|plan| plan.of.clone()),
        leash,
        scores: ledger::scores_for(home, &prepared.settings),
    };
    prepared.store_approval(home)?;
    let held = run_folder::create(home, &start, &spec, &files)?.with_claim(claimed);
    drop(start);
    let held = container::begin_first(prepared.container.as_ref(), held)?;
    if let Some(left_out) = search_path().map(|search| search.left_out).filter(|count| *count > 0) {
        caller.note(LaunchNote::progress(format!("note: {}", relative_entries(left_out))));
    }
    if let Some(why) = &prepared.checkpoints.why {
        let text = format!("note: no btrfs snapshots here, checkpoints go to a git store: {why}");
        caller.note(LaunchNote::progress(text));
    }
    let warnings = prepared.warnings.iter().map(GateWarning::note);
    warnings.chain(agent::notes(&prepared.settings, &prepared.agent.agent)).for_each(|note| caller.note(note));
    let on_hidden = gates::note_on_hidden(&prepared.hidden, &prepared.settings, prepared.checkpoints.backend);
    on_hidden.into_iter().for_each(|note| caller.note(note));
    hidden_note.map(LaunchNote::important).into_iter().for_each(|note| caller.note(note));
    let then = first_note(&held, &secret, plan)?;
    Ok(ReadyRun { held, workspace: prepared.workspace.clone(), opening: Event::Opened, then })
}

/// Says that the agent does not get a secret that is in the task.
fn note_on_secret(prepared: &Prepared, secret: &Secrets, caller: &mut dyn LaunchCaller) {
    if secret.text(&prepared.goal) != prepared.goal {
        let text = "note: the task holds the value of a secret: the agent gets [redacted …] in its place";
        caller.note(LaunchNote::important(text));
    }
}

/// The text of a plan for the first prompt, as a request of the plan.
fn first_note(held: &HeldRun, secret: &Secrets, plan: Option<&PlanLaunch>) -> Result<Option<Event>, LaunchRefusal> {
    let text = plan.and_then(|plan| plan.note.as_deref());
    let note = text.map(|text| requests::injection(&held.folder, &held.state, &secret.text(text), false));
    let refused = |why: String| LaunchRefusal::unable("the text for the first prompt cannot be stored").because(why);
    let by = "the plan".to_owned();
    Ok(note.transpose().map_err(refused)?.map(|note| Event::Requested { request: Request::Inject(note), by }))
}

/// Settings that hold for one start alone.
fn forget_once(settings: &mut Resolved) {
    for key in [keys::clear_stop(), keys::reset_circuit()] {
        let origin = Origin { layer: Layer::Default, place: String::new() };
        settings.put(key, key.default.to_owned(), origin);
    }
}

/// Refuses a workspace in which another run works, for a dry run. Where there is no state folder yet there are no runs.
///
/// # Errors
/// When a start would be refused.
pub fn check_not_claimed(home: &Home, prepared: &Prepared) -> Result<(), LaunchRefusal> {
    if !home.runs().is_dir() {
        return Ok(());
    }
    let start = StartLock::take(home)?;
    let nobody = crate::fs::fresh_id().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    claim(home, &start, &nobody, &prepared.place)?;
    Ok(())
}
