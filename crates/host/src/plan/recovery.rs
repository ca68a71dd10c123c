//! Branches of a run that is stuck: a plan whose branches begin with the workspace as it is, and which applies nothing.
//! The run uses the best of them itself.
//!
//! The plan is driven by a child process of the run, which dies with it. A run that is opened again finds the plan by
//! its own id and the number of its rung, and the plan continues: no branch is paid twice.
use std::io;
use std::time::Duration;

use loop_core::ids::RunId;
use loop_core::plan::{
    Join, LoopWork, NODE_TEXT_BYTES_MAX, NodeId, NodeSpec, NodeWork, OnConflict, Plan, PlanEntry, PlanEvent, PlanSpec,
    PlanState, Selection,
};
use loop_core::run::{BranchPlan, FileRef, PlanRef, RunState};
use loop_core::settings::{CheckpointBackend, Given, Layer, Origin, Resolved, keys};
use loop_core::text;
use loop_core::time::At;
use loop_core::view::LiveDigest;
use sha2::{Digest, Sha256};

use super::child::ChildLine;
use super::drive::drive_plan;
use super::result::dollars;
use super::start::{ReadyPlan, branch_settings, gates_ms};
use crate::branches::{RecoveryRequest, plan_of};
use crate::driver::Reporter;
use crate::fs::{fresh_id, hex};
use crate::journal;
use crate::launch::{LaunchRequest, PlanLaunch, TaskSource};
use crate::paths::{Home, text_of};
use crate::run_folder::{LongTexts, NewFolder, RunFolder, StartLock, create_as, read_text};
use crate::secrets;

/// Drives the plan to its end, in the child process.
pub(super) fn drive(request: &RecoveryRequest) -> io::Result<ChildLine> {
    let home = Home::find(|name| std::env::var_os(name)).map_err(io::Error::other)?;
    let ready = match plan_of(&home, &request.recovers)? {
        Some((_, state)) if state.over.as_ref().is_some_and(|_| !state.resumable()) => {
            return Ok(ChildLine::Run(request.recovers.run.clone()));
        }
        Some((folder, _)) => reopen(folder)?,
        None => create(&home, request)?,
    };
    let plan = ready.folder().id.clone();
    match drive_plan(&home, ready, &mut NoFace) {
        Ok(_) => Ok(ChildLine::Run(plan)),
        Err(stopped) => Ok(ChildLine::Failed(stopped.refusal.sentence())),
    }
}

/// The workspace is claimed by the run, whose process waits for this one.
fn reopen(folder: RunFolder) -> io::Result<ReadyPlan> {
    let held = folder.hold_as::<Plan>().map_err(io::Error::other)?;
    let opening = if held.state.over.is_some() {
        PlanEvent::Reopened { by: "the loop that is stuck".to_owned(), unattended: true, spec: None, request: None }
    } else {
        PlanEvent::Opened
    };
    Ok(ReadyPlan { held, opening })
}

fn create(home: &Home, request: &RecoveryRequest) -> io::Result<ReadyPlan> {
    let run = RunFolder { path: home.runs().join(request.recovers.run.as_str()), id: request.recovers.run.clone() };
    let state = journal::read(&run.path).map_err(io::Error::other)?.fold();
    let Some(spec) = &state.spec else { return Err(io::Error::other("the loop has no first fact")) };
    let secret = secrets::of(&state);
    let goal = secret.text(&read_text(&run, &spec.goal)?).into_owned();
    let id = fresh_id()?;
    let folder = home.plans().join(id.as_str());
    let mut files = LongTexts::new();
    let mut inject = Vec::new();
    for (number, text) in (1..).zip(&spec.inject) {
        let name = format!("inject-{number}.md");
        inject.push(text_of(&folder.join(&name)));
        files.push((name, secret.text(&read_text(&run, text)?).into_owned()));
    }
    let settings = settings_of(&state, request, &inject);
    let mut nodes = Vec::new();
    for (number, branch) in (1..).zip(&request.branches) {
        let launch = request_of(branch, &state, &goal, &settings, &id);
        nodes.push(node(number, branch, &launch, &state, &mut files)?);
    }
    let all = u32::try_from(nodes.len()).unwrap_or(u32::MAX).max(1);
    let plan = PlanSpec {
        id: id.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: spec.workspace.clone(),
        store: spec.store.clone(),
        backend: CheckpointBackend::Git.word().to_owned(),
        name: text::one_line(&format!("recovery of {}: {}", spec.id, spec.goal.head), 200),
        join: Join::Best(Selection { first: true, ..Selection::default() }),
        parallel: all,
        budget_micros: request.budget_micros,
        call_micros: request.call_micros,
        keep_going: true,
        unattended: true,
        stop_file: None,
        notify: None,
        origin: None,
        recovers: Some(request.recovers.clone()),
        parts: 0,
        nodes,
        on_complete: Vec::new(),
        on_failure: Vec::new(),
    };
    plan.check().map_err(|refusal| io::Error::other(refusal.why))?;
    let start = StartLock::take(home).map_err(io::Error::other)?;
    let new = NewFolder { id, program: &plan.program, files: &files };
    let held = create_as::<Plan>(&home.plans(), &start, &new, PlanEvent::Created(Box::new(plan.clone())))
        .map_err(io::Error::other)?;
    drop(start);
    Ok(ReadyPlan { held, opening: PlanEvent::Opened })
}

/// The settings of every branch: those of the run, without what it does once, and without recovery of their own.
fn settings_of(state: &RunState, request: &RecoveryRequest, inject: &[String]) -> Resolved {
    let mut settings = branch_settings(&state.settings.shown().resolved);
    let origin = || Origin { layer: Layer::Default, place: "a branch of a loop that was stuck".to_owned() };
    settings.put(keys::inject(), inject.join("\n"), origin());
    settings.put(keys::recover(), "false".to_owned(), origin());
    let (now, caps) = (state.settings.shown(), &state.settings.shown().caps);
    // A call without a known cost counts in a branch as it does in the run.
    if request.budget_micros.is_some() && caps.worst_micros.is_none() {
        settings.put(keys::worst_cost(), dollars(request.call_micros), origin());
    }
    if let Some(most) = caps.tokens {
        let (branches, worst) = (request.branches.len().max(1) as u64, state.worst_tokens(now));
        let share = most.saturating_sub(state.tokens(now)) / branches;
        // No call begins that could go past the share.
        settings.put(keys::max_tokens(), (share.saturating_sub(worst) + 1).to_string(), origin());
        settings.put(keys::worst_tokens(), worst.to_string(), origin());
    }
    if let Some(left) = request.time_ms {
        settings.put(keys::max_time(), format!("{}s", (left / 1000).max(1)), origin());
    }
    settings
}

fn request_of(branch: &BranchPlan, state: &RunState, goal: &str, settings: &Resolved, plan: &RunId) -> LaunchRequest {
    let origin = || Origin { layer: Layer::Flag, place: "recovery".to_owned() };
    let mut given = vec![Given { key: keys::max_iterations(), value: branch.iterations.to_string(), origin: origin() }];
    let now = &state.settings.shown().values.agent;
    let same = branch.choice.agent == now.agent && branch.choice.model == now.agent_model;
    if !same {
        let model = branch.choice.model.clone().unwrap_or_default();
        given.push(Given { key: keys::agent(), value: branch.choice.agent.clone(), origin: origin() });
        given.push(Given { key: keys::agent_model(), value: model, origin: origin() });
    }
    let spec = state.spec.as_ref();
    let task = format!("{goal}\n\nHow to go about it this time: {}.", branch.approach);
    LaunchRequest {
        given,
        workspace: None,
        task: TaskSource::Text(task.into_bytes()),
        agent_args: Vec::new(),
        dry_run: false,
        plan: Some(Box::new(PlanLaunch {
            of: PlanRef {
                plan: plan.clone(),
                node: branch.name.clone(),
                attempt: 1,
                workspace: spec.map(|spec| spec.workspace.path.clone()).unwrap_or_default(),
            },
            store: spec.map(|spec| spec.store.clone()).unwrap_or_default(),
            settings: settings.clone(),
            described: state.agent.described().cloned().into_iter().collect(),
            approval: spec.and_then(|spec| spec.approval.clone()),
            env: Vec::new(),
            hook_ms: None,
            answers: Vec::new(),
            note: None,
        })),
    }
}

fn node(
    number: usize,
    branch: &BranchPlan,
    request: &LaunchRequest,
    state: &RunState,
    files: &mut LongTexts,
) -> io::Result<NodeSpec> {
    let name = format!("node-{number}.json");
    let text = serde_json::to_string(request)?;
    let sha256 = hex(&Sha256::digest(text.as_bytes()));
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    files.push((name.clone(), text));
    let short = |text: &str| text::one_line(text, NODE_TEXT_BYTES_MAX / 4);
    let settings = state.settings.shown();
    let model = branch.choice.model.as_ref().map_or_else(String::new, |model| format!(":{model}"));
    Ok(NodeSpec {
        id: NodeId::parse(&branch.name).map_err(|refusal| io::Error::other(refusal.why))?,
        work: NodeWork::Loop(LoopWork {
            request: FileRef { name, sha256: sha256.clone(), bytes },
            goal: short(&branch.approach),
            promise: short(settings.values.gate.promise.as_deref().unwrap_or_default()),
            agent: short(&format!("{}{model}", branch.choice.agent)),
        }),
        depends_on: Vec::new(),
        touches: Vec::new(),
        on_conflict: OnConflict::Stop,
        key: sha256,
        gates_ms: gates_ms(settings),
        item: None,
    })
}

/// Shows nothing: the run shows its branches by the journal of the plan.
struct NoFace;

impl Reporter<Plan> for NoFace {
    fn on_entry(&mut self, _: &PlanEntry, _: &PlanState) {}
    fn on_output(&mut self, _: &[u8]) {}
    fn on_live(&mut self, _: &LiveDigest) {}
    fn tick(&self) -> Option<Duration> {
        None
    }
    fn draw(&mut self, _: &PlanState, _: At) {}
}
