//! Making a plan, complete or not at all, and holding one again to resume it.
use std::path::Path;

use loop_core::plan::{
    Join, LoopWork, MetricSource, NODE_TEXT_BYTES_MAX, NodeId, NodeSpec, NodeWork, OnConflict, Plan, PlanEvent,
    PlanRequest, PlanSpec,
};
use loop_core::policy::budget::money_text;
use loop_core::policy::protect::judging_scripts_at;
use loop_core::refusal::Refusal;
use loop_core::run::{FileRef, INLINE_BYTES_MAX, PlanRef};
use loop_core::settings::{CheckpointBackend, Given, Layer, Origin, Resolved, Settings, keys};
use loop_core::text;
use sha2::{Digest, Sha256};

use super::best_of::{BestOf, Branches};
use crate::fs::{fresh_id, hex, sync_folder, write_synced};
use crate::launch::{
    self, LaunchAnswers, LaunchCaller, LaunchNote, LaunchRequest, PersonAnswer, PlanLaunch, Prepared, TaskSource,
};
use crate::paths::{Home, path_of, text_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{Held, LongTexts, NewFolder, RunFolder, StartLock, create_as, store_name};
use crate::secrets;
use crate::workspace::claim;

/// Everything that a plan needs, checked.
#[derive(Debug)]
pub struct PreparedPlan {
    /// The first loop of the plan, as it would be started alone.
    pub first: Prepared,
    best_of: BestOf,
    requests: Vec<LaunchRequest>,
    /// The agent of each branch, for people.
    agents: Vec<String>,
}

/// A plan that is held, with its workspace claimed: it can be driven.
#[derive(Debug)]
pub struct ReadyPlan {
    pub(super) held: Held<Plan>,
    pub(super) opening: PlanEvent,
}

impl ReadyPlan {
    /// The folder of the plan.
    #[must_use]
    pub fn folder(&self) -> &RunFolder {
        &self.held.folder
    }

    /// The state that the journal has.
    #[must_use]
    pub fn state(&self) -> &loop_core::plan::PlanState {
        &self.held.state
    }

    /// The entries of the journal up to now.
    #[must_use]
    pub fn past(&self) -> &[loop_core::plan::PlanEntry] {
        &self.held.past
    }
}

/// Checks everything that a best-of needs: the first branch as any start, the others with what differs in them.
///
/// # Errors
/// The first thing that is wrong. Nothing was made.
pub fn prepare_best_of(
    home: &Home,
    request: LaunchRequest,
    best_of: BestOf,
    caller: &mut dyn LaunchCaller,
) -> Result<PreparedPlan, LaunchRefusal> {
    best_of.check().map_err(|refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint))?;
    let typed = request.given.clone();
    let dry_run = request.dry_run;
    let given = [typed.clone(), best_of.branches.given(0, &typed)].concat();
    let first = launch::prepare(home, LaunchRequest { given, ..request }, caller)?;
    check_settings(&first.settings, "--best-of")?;
    if let Some(text) = small_share(&first, best_of.branches.count()) {
        caller.note(LaunchNote::important(text));
    }
    let mut settings = branch_settings(&first.settings.resolved);
    protect_metric(&mut settings, &best_of, &first.workspace);
    let mut prepared = PreparedPlan { first, best_of, requests: Vec::new(), agents: Vec::new() };
    for number in 0..prepared.best_of.branches.count() {
        let request = prepared.request(number, &typed, settings.clone());
        let agent = if number == 0 || matches!(prepared.best_of.branches, Branches::Count(_)) {
            agent_words(&prepared.first.settings)
        } else {
            // Checked where it will start from; the person was asked for the first one.
            let mut answers = LaunchAnswers {
                allow_everything: PersonAnswer::Yes,
                start_with_missing_command: PersonAnswer::Yes,
                ..LaunchAnswers::default()
            };
            let checked =
                LaunchRequest { workspace: Some(prepared.first.workspace.clone()), dry_run: true, ..request.clone() };
            agent_words(&launch::prepare(home, checked, &mut answers)?.settings)
        };
        prepared.agents.push(agent);
        prepared.requests.push(LaunchRequest { dry_run: false, ..request });
    }
    if dry_run {
        let count = prepared.requests.len();
        caller.note(LaunchNote::progress(format!("note: {count} branches would be started, each as below")));
    }
    Ok(prepared)
}

/// What is said where the share of a branch is less than one call may cost.
fn small_share(first: &Prepared, branches: usize) -> Option<String> {
    let (caps, branches) = (&first.settings.caps, u64::try_from(branches).unwrap_or(u64::MAX));
    let share = caps.cost_micros?.checked_div(branches)?;
    let call = worst_call(first);
    let (share, call) = (share < call).then(|| (money_text(share), money_text(call)))?;
    Some(format!(
        "note: --max-cost leaves {share} for each of {branches} branches, and one call may cost {call}: not all of them \
         may start\n  better: a higher --max-cost, fewer branches, or --on-red"
    ))
}

/// What one call of its agent may cost.
pub(super) fn worst_call(prepared: &Prepared) -> u64 {
    prepared.settings.caps.worst_micros.unwrap_or_else(|| prepared.agent.agent.worst_cost_micros())
}

/// Settings that do not go with several branches.
pub(super) fn check_settings(settings: &Settings, name: &str) -> Result<(), LaunchRefusal> {
    let refuse = |what: &str, why: &str, hint: &str| Err(LaunchRefusal::wrong(what).because(why).hint(hint));
    match settings.values.checkpoint.checkpoint {
        CheckpointBackend::None => {
            return refuse(
                &format!("{name} does not go with --checkpoint none"),
                "branches begin with a checkpoint, and the chosen one is applied from its checkpoint",
                "leave --checkpoint out",
            );
        }
        CheckpointBackend::Btrfs => {
            return refuse(
                &format!("{name} does not go with --checkpoint btrfs"),
                "checkpoints of several copies are compared in one store, which snapshots are not",
                "leave --checkpoint out: git is taken",
            );
        }
        CheckpointBackend::Auto | CheckpointBackend::Git => {}
    }
    if settings.values.agent.container.is_some() {
        return refuse(
            &format!("{name} does not go with --container"),
            "the container has your workspace, and branches work in copies of it",
            "leave --container out, or start one loop",
        );
    }
    if settings.resolved.is_typed(keys::result()) {
        return refuse(
            &format!("{name} does not go with --result yet"),
            "each branch would write the same file",
            "leave --result out: --json prints how it ended",
        );
    }
    if settings.values.output.commit {
        return refuse(
            &format!("{name} does not go with --commit yet"),
            "a branch is committed by a person who has looked at it",
            "leave --commit out; when the plan has ended: loop commit PLAN",
        );
    }
    refuse_typed(settings, name)
}

/// Flags that only one loop can follow. Where a file sets one of them, that is said and the plan starts.
fn refuse_typed(settings: &Settings, name: &str) -> Result<(), LaunchRefusal> {
    let at_end = "leave it out; when the plan has ended: loop commit PLAN";
    let by_itself = "a plan is not committed at its end by itself";
    let flags = [
        (keys::commit_message(), by_itself, at_end),
        (keys::commit_hooks(), by_itself, at_end),
        (keys::with_own_edits(), by_itself, at_end),
        (keys::reset_circuit(), "each of its loops is new, and its breaker is closed", "leave it out"),
    ];
    match flags.into_iter().find(|(key, ..)| settings.resolved.is_typed(key)) {
        Some((key, why, hint)) => {
            let what = format!("{name} does not go with --{}", key.flag.long);
            Err(LaunchRefusal::wrong(what).because(why).hint(hint))
        }
        None => Ok(()),
    }
}

/// The command that says that a plan has ended, where a person wants that.
pub(super) fn notify_of(settings: &Settings) -> Option<String> {
    let output = &settings.values.output;
    output.notify.then(|| output.notification_cmd.clone())
}

/// The settings of every branch: what is done once for the whole plan is not done by a branch.
pub(super) fn branch_settings(settings: &Resolved) -> Resolved {
    let mut all = settings.clone();
    let origin = || Origin { layer: Layer::Default, place: "a branch of a plan".to_owned() };
    let once = [
        keys::result(),
        keys::notify(),
        keys::commit(),
        keys::commit_message(),
        keys::stop_file(),
        keys::clear_stop(),
        keys::reset_circuit(),
        keys::inject(),
    ];
    for key in once {
        all.put(key, key.default.to_owned(), origin());
    }
    all.put(keys::notify(), "false".to_owned(), origin());
    all.put(keys::checkpoint(), CheckpointBackend::Git.word().to_owned(), origin());
    all
}

/// Protects the scripts of the command that compares branches, in each of them: a branch must not choose itself.
fn protect_metric(settings: &mut Resolved, best_of: &BestOf, workspace: &Path) {
    let Some(MetricSource::Command(command)) = best_of.selection.metric.as_ref().map(|metric| &metric.by) else {
        return;
    };
    let scripts = judging_scripts_at(command, workspace.to_str().unwrap_or_default()).into_iter();
    let globs = scripts.filter(|path| workspace.join(path).is_file()).map(|path| format!("/{path}"));
    let given = settings.text(keys::protect()).to_owned();
    let all: Vec<String> = given.lines().map(str::to_owned).chain(globs).collect();
    let origin = Origin { layer: Layer::Flag, place: "--best-of-metric".to_owned() };
    settings.put(keys::protect(), all.join("\n"), origin);
}

pub(super) fn agent_words(settings: &Settings) -> String {
    let agent = &settings.agent;
    settings.values.agent.agent_model.as_ref().map_or_else(|| agent.clone(), |model| format!("{agent}:{model}"))
}

impl PreparedPlan {
    /// The request for a branch. Its folder, and what of it only the plan knows, comes when it is started.
    fn request(&self, number: usize, typed: &[Given], settings: Resolved) -> LaunchRequest {
        let first = &self.first;
        let secret = secrets::declared(&first.settings.values.agent);
        let node = NodeId::branch(number + 1).to_string();
        let nobody = first.place.path.clone();
        LaunchRequest {
            given: self.best_of.branches.given(number, typed),
            workspace: None,
            task: TaskSource::Text(secret.text(&first.goal).into_owned().into_bytes()),
            // They are in the settings already.
            agent_args: Vec::new(),
            dry_run: false,
            plan: Some(Box::new(PlanLaunch {
                of: PlanRef { plan: unknown_id(), node, attempt: 1, workspace: nobody },
                store: store_name(&first.workspace),
                settings,
                described: first.described.clone(),
                approval: first.approval_name(),
                env: Vec::new(),
                hook_ms: None,
                answers: Vec::new(),
                note: None,
            })),
        }
    }

    /// How many branches it has.
    #[must_use]
    pub fn branches(&self) -> usize {
        self.requests.len()
    }

    /// The agent of each branch.
    #[must_use]
    pub fn agents(&self) -> &[String] {
        &self.agents
    }
}

/// Stands in a request until the plan has its id.
fn unknown_id() -> loop_core::ids::RunId {
    loop_core::ids::RunId::from_random([0; 7])
}

/// Makes the plan: from here on there is something on disk. Its workspace is claimed.
///
/// # Errors
/// When it cannot be made. There is none then.
pub fn create_plan(
    home: &Home,
    prepared: &PreparedPlan,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    home.make()?;
    let first = &prepared.first;
    let id = fresh_id().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    let folder = home.plans().join(id.as_str());
    let mut files = LongTexts::new();
    let inject = inject_files(&folder, first, &mut files);
    let mut nodes = Vec::new();
    for (number, (request, agent)) in (1..).zip(prepared.requests.iter().zip(&prepared.agents)) {
        let mut request = request.clone();
        if let Some(plan) = &mut request.plan {
            plan.of.plan = id.clone();
            if let Some(inject) = &inject {
                let origin = Origin { layer: Layer::Default, place: "a branch of a plan".to_owned() };
                plan.settings.put(keys::inject(), inject.clone(), origin);
            }
        }
        nodes.push(node(number, &request, first, agent, &mut files)?);
    }
    let best_of = &prepared.best_of;
    let all = u32::try_from(nodes.len()).unwrap_or(u32::MAX);
    let spec = PlanSpec {
        id: id.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: first.place.clone(),
        store: store_name(&first.workspace),
        backend: CheckpointBackend::Git.word().to_owned(),
        name: text::one_line(&first.goal, 200),
        join: Join::Best(best_of.selection.clone()),
        parallel: best_of.parallel.unwrap_or(all).clamp(1, all),
        budget_micros: first.settings.caps.cost_micros,
        call_micros: worst_call(first),
        keep_going: true,
        unattended: !caller.is_attended(),
        stop_file: first.settings.values.output.stop_file.clone(),
        notify: notify_of(&first.settings),
        origin: None,
        recovers: None,
        parts: 0,
        nodes,
        on_complete: Vec::new(),
        on_failure: Vec::new(),
    };
    spec.check().map_err(|refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint))?;
    let start = StartLock::take(home)?;
    launch::end_orphans(home, Some(&first.place), &mut |note| caller.note(note))?;
    let claimed = claim(home, &start, &id, &first.place)?;
    first.store_approval(home)?;
    launch::clear_stop(first)?;
    let new = NewFolder { id, program: &spec.program, files: &files };
    let held = create_as::<Plan>(&home.plans(), &start, &new, PlanEvent::Created(Box::new(spec.clone())))?;
    drop(start);
    first.warnings.iter().for_each(|warning| caller.note(warning.note()));
    Ok(ReadyPlan { held: held.with_claim(claimed), opening: PlanEvent::Opened })
}

/// The texts that are in every prompt, as files of the plan: a file of the user that changes later changes nothing.
fn inject_files(folder: &Path, first: &Prepared, files: &mut LongTexts) -> Option<String> {
    let secret = secrets::declared(&first.settings.values.agent);
    let mut paths = Vec::new();
    for (number, text) in (1..).zip(&first.inject) {
        let name = format!("inject-{number}.md");
        paths.push(text_of(&folder.join(&name)));
        files.push((name, secret.text(text).into_owned()));
    }
    (!paths.is_empty()).then(|| paths.join("\n"))
}

fn node(
    number: usize,
    request: &LaunchRequest,
    first: &Prepared,
    agent: &str,
    files: &mut LongTexts,
) -> Result<NodeSpec, LaunchRefusal> {
    let name = format!("node-{number}.json");
    let text = serde_json::to_string(request).map_err(|error| {
        LaunchRefusal::wrong("the request of a branch cannot be written").because(error.to_string())
    })?;
    let sha256 = hex(&Sha256::digest(text.as_bytes()));
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    files.push((name.clone(), text));
    let short = |text: &str| text::one_line(text, INLINE_BYTES_MAX.min(NODE_TEXT_BYTES_MAX / 4));
    let secret = secrets::declared(&first.settings.values.agent);
    Ok(NodeSpec {
        id: NodeId::branch(number),
        work: NodeWork::Loop(LoopWork {
            request: FileRef { name, sha256: sha256.clone(), bytes },
            goal: short(&secret.text(&first.goal)),
            promise: short(first.settings.values.gate.promise.as_deref().unwrap_or_default()),
            agent: short(agent),
        }),
        depends_on: Vec::new(),
        touches: Vec::new(),
        on_conflict: OnConflict::Stop,
        key: sha256,
        gates_ms: gates_ms(&first.settings),
        item: None,
    })
}

/// How long all gates of a loop together may take, once each.
pub(super) fn gates_ms(settings: &Settings) -> u64 {
    let each = settings.gates.iter().map(|gate| {
        let one = gate.timeout_ms.unwrap_or(settings.gate_timeout_ms);
        one.saturating_mul(u64::from(gate.needs().tries))
    });
    // In a copy its dependencies are installed first.
    let setup = settings.values.gate.setup.as_ref().map_or(0, |_| settings.values.gate.setup_timeout.0);
    each.fold(setup, u64::saturating_add)
}

/// Holds a plan again and claims its workspace, to continue it. `request` is what a person asks with it, such as which
/// branch is applied.
///
/// # Errors
/// When another process drives it, it has ended for good, or its workspace cannot be used.
pub fn reopen_plan(
    home: &Home,
    folder: RunFolder,
    by: &str,
    request: Option<PlanRequest>,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    reopen_with(home, folder, Reopening { by, request, spec: None, files: LongTexts::new() }, caller)
}

/// How a plan is opened again.
pub(super) struct Reopening<'a> {
    /// By which command.
    pub(super) by: &'a str,
    /// What a person asks with it.
    pub(super) request: Option<PlanRequest>,
    /// What it is from now on, where its file was read again.
    pub(super) spec: Option<Box<PlanSpec>>,
    /// The files that this names. None of them is there.
    pub(super) files: LongTexts,
}

pub(super) fn reopen_with(
    home: &Home,
    folder: RunFolder,
    reopening: Reopening<'_>,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    let Reopening { by, request, spec: new_spec, files } = reopening;
    if request.is_some() && crate::process::is_inside_run() {
        return Err(LaunchRefusal::wrong(format!("{by} is for a person, and this process was started by a loop"))
            .because("an agent must not answer for you")
            .hint("type it in a terminal of your own"));
    }
    let held = folder.hold_as::<Plan>()?;
    let id = held.folder.id.clone();
    let Some(spec) = held.state.spec.clone() else {
        return Err(LaunchRefusal::wrong("the plan never began").hint("loop list"));
    };
    if !held.state.resumable() && request.is_none() {
        return Err(LaunchRefusal::wrong(format!("plan {id} has ended"))
            .because("there is nothing to resume")
            .hint(format!("loop status {id}")));
    }
    if let Some(request) = &request {
        let refused = |refusal: Refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint);
        held.state.check_request(request).map_err(refused)?;
    }
    let start = StartLock::take(home)?;
    launch::end_orphans(home, Some(&spec.workspace), &mut |note| caller.note(note))?;
    let claimed = claim(home, &start, &id, &spec.workspace)?;
    drop(start);
    let stop_file = new_spec.as_deref().map_or(&spec.stop_file, |new| &new.stop_file);
    launch::check_no_stop_file(stop_file.as_deref(), &path_of(&spec.workspace.path))?;
    let path = &held.folder.path;
    let unable = |error: std::io::Error| LaunchRefusal::of(RefusalKind::Unable, &error);
    for (name, text) in &files {
        write_synced(&path.join(name), text.as_bytes()).map_err(unable)?;
    }
    sync_folder(path).map_err(unable)?;
    let unattended = !caller.is_attended();
    let opening = PlanEvent::Reopened { by: by.to_owned(), unattended, spec: new_spec, request };
    Ok(ReadyPlan { held: held.with_claim(claimed), opening })
}
