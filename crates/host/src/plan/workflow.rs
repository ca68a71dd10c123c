//! From a workflow file to a plan: every loop is checked as a start, then the plan is made.
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::plan::{
    Join, LoopWork, NODE_TEXT_BYTES_MAX, NodeId, NodeSpec, NodeWork, Plan, PlanEvent, PlanOrigin, PlanSpec,
};
use loop_core::run::{FileRef, PlanRef};
use loop_core::settings::{CheckpointBackend, Given, Layer, Origin, Resolved, Settings, keys};
use loop_core::text;
use loop_core::workflow::{EntryWork, PARALLEL_DEFAULT, Workflow, WorkflowEntry, answer_variable, node_key};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::start::{ReadyPlan, agent_words, branch_settings, check_settings, gates_ms, notify_of, worst_call};
use crate::fs::{fresh_id, hex};
use crate::launch::{
    self, LaunchCaller, LaunchNote, LaunchQuestion, LaunchRequest, PersonAnswer, PlanLaunch, Prepared, TaskSource,
};
use crate::paths::{Home, text_of};
use crate::refusal::{LaunchRefusal, RefusalKind};
use crate::run_folder::{LongTexts, NewFolder, StartLock, create_as, store_name};
use crate::secrets;
use crate::workspace::claim;

/// The request for a workflow.
#[derive(Debug, Clone)]
pub struct WorkflowRequest {
    /// The file as it was read, or the part of it that is to run.
    pub workflow: Workflow,
    /// Where the file is.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
    /// What was typed beside the file.
    pub start: WorkflowStart,
    /// Where to work; the current folder where none is given.
    pub workspace: Option<PathBuf>,
    /// Only looks: nothing is made.
    pub dry_run: bool,
}

/// What was typed beside the file. It is stored: a file that is read again is read with the same.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowStart {
    /// Values of variables: `name=value`.
    pub set: Vec<String>,
    /// Only these loops, and what they depend on; all where it is empty.
    pub only: Vec<String>,
    /// Settings, over those of files and variables: for every loop.
    pub given: Vec<Given>,
    /// So many loops work at the same time; as the file says where this is none.
    pub parallel: Option<u32>,
    /// After a failure, loops that do not depend on the failed one are started all the same.
    pub keep_going: bool,
}

/// Everything that a workflow needs, checked.
#[derive(Debug)]
pub struct PreparedWorkflow {
    request: WorkflowRequest,
    /// Each loop as it would be started alone; none for a question.
    loops: Vec<Option<Prepared>>,
}

impl PreparedWorkflow {
    /// Each loop as it would be started alone; none for a question.
    #[must_use]
    pub fn loops(&self) -> &[Option<Prepared>] {
        &self.loops
    }

    /// The workflow.
    #[must_use]
    pub fn workflow(&self) -> &Workflow {
        &self.request.workflow
    }

    /// Stores that the project's file is approved, where a person said so now.
    pub(super) fn store_approval(&self, home: &Home) -> Result<(), LaunchRefusal> {
        self.first()?.store_approval(home)
    }

    /// The first loop, which has the workspace of all.
    fn first(&self) -> Result<&Prepared, LaunchRefusal> {
        let first = self.loops.iter().flatten().next();
        first.ok_or_else(|| LaunchRefusal::wrong("the workflow has no loop").hint("add a loop with prompt and promise"))
    }
}

/// Checks every loop of a workflow as a start. Each question is asked once.
///
/// # Errors
/// The first thing that is wrong, with the loop that it is about. Nothing was made.
pub fn prepare_workflow(
    home: &Home,
    request: WorkflowRequest,
    caller: &mut dyn LaunchCaller,
) -> Result<PreparedWorkflow, LaunchRefusal> {
    let mut once = AskOnce { caller, answers: Vec::new(), notes: Vec::new(), command: None };
    let mut loops = Vec::new();
    for entry in &request.workflow.entries {
        let EntryWork::Loop(work) = &entry.work else {
            loops.push(None);
            continue;
        };
        let launch = LaunchRequest {
            given: [work.given.clone(), request.start.given.clone()].concat(),
            workspace: request.workspace.clone(),
            task: TaskSource::Text(work.prompt.clone().into_bytes()),
            agent_args: Vec::new(),
            dry_run: request.dry_run,
            plan: None,
        };
        let prepared = launch::prepare(home, launch, &mut once).map_err(|refusal| of_entry(refusal, entry))?;
        check_settings(&prepared.settings, "a workflow").map_err(|refusal| of_entry(refusal, entry))?;
        loops.push(Some(prepared));
    }
    let prepared = PreparedWorkflow { request, loops };
    prepared.first()?;
    Ok(prepared)
}

/// A refusal with the loop that it is about.
fn of_entry(refusal: LaunchRefusal, entry: &WorkflowEntry) -> LaunchRefusal {
    let what = format!("the loop {} (line {}): {}", entry.id, entry.line, refusal.what);
    LaunchRefusal { what, ..refusal }
}

/// Gives each question and each note to the caller once.
struct AskOnce<'a> {
    caller: &'a mut dyn LaunchCaller,
    answers: Vec<(LaunchQuestion, PersonAnswer)>,
    notes: Vec<LaunchNote>,
    /// The command that a person gave, or did not give, for all loops whose template needs one.
    command: Option<Option<String>>,
}

impl LaunchCaller for AskOnce<'_> {
    fn note(&mut self, note: LaunchNote) {
        if !self.notes.contains(&note) {
            self.notes.push(note.clone());
            self.caller.note(note);
        }
    }

    fn answer(&mut self, question: &LaunchQuestion) -> PersonAnswer {
        if let Some((_, answer)) = self.answers.iter().find(|(asked, _)| asked == question) {
            return *answer;
        }
        let answer = self.caller.answer(question);
        self.answers.push((question.clone(), answer));
        answer
    }

    fn command(&mut self, question: &str) -> Option<String> {
        if self.command.is_none() {
            self.command = Some(self.caller.command(question));
        }
        self.command.clone().flatten()
    }

    fn is_attended(&self) -> bool {
        self.caller.is_attended()
    }

    fn task(&mut self, bytes_max: u64) -> std::io::Result<Vec<u8>> {
        self.caller.task(bytes_max)
    }
}

/// Makes the plan of a workflow: from here on there is something on disk. Its workspace is claimed.
///
/// # Errors
/// When it cannot be made. There is none then.
pub fn create_workflow(
    home: &Home,
    prepared: &PreparedWorkflow,
    caller: &mut dyn LaunchCaller,
) -> Result<ReadyPlan, LaunchRefusal> {
    home.make()?;
    let first = prepared.first()?;
    let id = fresh_id().map_err(|error| LaunchRefusal::of(RefusalKind::Unable, &error))?;
    let folder = home.plans().join(id.as_str());
    let made = spec_of(prepared, &FilesOf { id: &id, folder: &folder, suffix: "" }, caller.is_attended())?;
    let MadeSpec { spec, files } = made;
    let start = StartLock::take(home)?;
    launch::end_orphans(home, Some(&first.place), &mut |note| caller.note(note))?;
    let claimed = claim(home, &start, &id, &first.place)?;
    first.store_approval(home)?;
    launch::clear_stop(first)?;
    let new = NewFolder { id, program: &spec.program, files: &files };
    let held = create_as::<Plan>(&home.plans(), &start, &new, PlanEvent::Created(Box::new(spec.clone())))?;
    drop(start);
    for warning in prepared.loops.iter().flatten().flat_map(|one| &one.warnings) {
        caller.note(warning.note());
    }
    Ok(ReadyPlan { held: held.with_claim(claimed), opening: PlanEvent::Opened })
}

/// Where the files of a spec are written.
pub(super) struct FilesOf<'a> {
    pub(super) id: &'a RunId,
    pub(super) folder: &'a Path,
    /// Stands in their names, so that those of an earlier spec stay.
    pub(super) suffix: &'a str,
}

/// A spec, and the files that it names.
pub(super) struct MadeSpec {
    pub(super) spec: PlanSpec,
    pub(super) files: LongTexts,
}

/// What a workflow is as a plan.
pub(super) fn spec_of(
    prepared: &PreparedWorkflow,
    place: &FilesOf<'_>,
    attended: bool,
) -> Result<MadeSpec, LaunchRefusal> {
    let first = prepared.first()?;
    let (request, workflow) = (&prepared.request, &prepared.request.workflow);
    let mut files = LongTexts::new();
    let nodes = nodes(prepared, place, &mut files)?;
    let typed = serde_json::to_string(&request.start)
        .map_err(|error| LaunchRefusal::wrong("what was typed cannot be stored").because(error.to_string()))?;
    let path = std::path::absolute(&request.path).unwrap_or_else(|_| request.path.clone());
    let suffix = place.suffix;
    let origin = PlanOrigin {
        path: text_of(&path),
        file: stored(format!("workflow{suffix}.yaml"), request.text.clone(), &mut files),
        start: Some(stored(format!("workflow-start{suffix}.json"), typed, &mut files)),
    };
    let spec = PlanSpec {
        id: place.id.clone(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: first.place.clone(),
        store: store_name(&first.workspace),
        backend: CheckpointBackend::Git.word().to_owned(),
        name: text::one_line(&workflow.name, 200),
        join: Join::Merge,
        parallel: request.start.parallel.or(workflow.parallel).unwrap_or(PARALLEL_DEFAULT).max(1),
        budget_micros: workflow.budget_micros,
        call_micros: prepared.loops.iter().flatten().map(worst_call).max().unwrap_or(0),
        keep_going: request.start.keep_going,
        unattended: !attended,
        stop_file: first.settings.values.output.stop_file.clone(),
        notify: notify_of(&first.settings),
        origin: Some(origin),
        recovers: None,
        parts: 0,
        nodes,
        on_complete: workflow.on_complete.clone(),
        on_failure: workflow.on_failure.clone(),
    };
    spec.check().map_err(|refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint))?;
    Ok(MadeSpec { spec, files })
}

/// A text as a file of the plan.
fn stored(name: String, text: String, files: &mut LongTexts) -> FileRef {
    let sha256 = hex(&Sha256::digest(text.as_bytes()));
    let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
    files.push((name.clone(), text));
    FileRef { name, sha256, bytes }
}

fn nodes(
    prepared: &PreparedWorkflow,
    place: &FilesOf<'_>,
    files: &mut LongTexts,
) -> Result<Vec<NodeSpec>, LaunchRefusal> {
    let workflow = &prepared.request.workflow;
    let workspace = prepared.first()?.place.path.clone();
    let mut all = Vec::new();
    for (number, (entry, launch)) in (1..).zip(workflow.entries.iter().zip(&prepared.loops)) {
        // The name of the files of this node, without their endings.
        let stem = format!("node-{number}{}", place.suffix);
        let named =
            |id: &str| NodeId::parse(id).map_err(|refusal| LaunchRefusal::wrong(refusal.why).hint(refusal.hint));
        let depends_on = entry.depends_on.iter().filter_map(|place| workflow.entries.get(*place));
        let depends_on = depends_on.map(|before| named(&before.id)).collect::<Result<Vec<_>, _>>()?;
        let of = PlanRef { plan: place.id.clone(), node: entry.id.clone(), attempt: 1, workspace: workspace.clone() };
        let (work, key, touches, gates_ms) = match (&entry.work, launch) {
            (EntryWork::Loop(_), Some(launch)) => {
                let questions = workflow.questions_before(number - 1);
                let questions = questions.iter().filter_map(|place| workflow.entries.get(*place));
                let questions: Vec<&str> = questions.map(|question| question.id.as_str()).collect();
                let answers = if let EntryWork::Loop(work) = &entry.work { work.answers.clone() } else { Vec::new() };
                let request = request_of(launch, of, workflow, &questions, answers);
                let inject = inject_files(&stem, place.folder, launch, files);
                let key = node_key(&launch.goal, &launch.settings.resolved, &workflow.env, &launch.inject);
                let work = loop_work(&stem, with_inject(request, inject), launch, files)?;
                (NodeWork::Loop(work), key, launch_touches(&entry.work), gates_ms(&launch.settings))
            }
            (EntryWork::Ask(question), _) => {
                let key = node_key(question, &Resolved::default(), &[], &[]);
                (NodeWork::Ask { question: question.clone() }, key, Vec::new(), 0)
            }
            (EntryWork::Loop(_), None) => continue,
        };
        let id = named(&entry.id)?;
        let on_conflict = workflow.on_conflict;
        all.push(NodeSpec { id, work, depends_on, touches, on_conflict, key, gates_ms, item: None });
    }
    Ok(all)
}

fn launch_touches(work: &EntryWork) -> Vec<String> {
    match work {
        EntryWork::Loop(work) => work.touches.clone(),
        EntryWork::Ask(_) => Vec::new(),
    }
}

/// The request for a loop. Its folder comes when it is started.
///
/// `questions` are those that it waits for, `answers` those whose answers stand in its prompt.
fn request_of(
    launch: &Prepared,
    of: PlanRef,
    workflow: &Workflow,
    questions: &[&str],
    answers: Vec<String>,
) -> LaunchRequest {
    let secret = secrets::declared(&launch.settings.values.agent);
    LaunchRequest {
        given: Vec::new(),
        workspace: None,
        // With the text of a template, where the settings name one.
        task: TaskSource::Text(secret.text(&launch.goal).into_owned().into_bytes()),
        agent_args: Vec::new(),
        dry_run: false,
        plan: Some(Box::new(PlanLaunch {
            of,
            store: store_name(&launch.workspace),
            settings: with_variables(branch_settings(&launch.settings.resolved), workflow, questions),
            described: launch.described.clone(),
            approval: launch.approval_name(),
            env: workflow.env.clone(),
            hook_ms: Some(workflow.hook_timeout_ms),
            answers,
            note: None,
        })),
    }
}

/// The agent gets the variables of the file, and the answers to questions, beside what the settings name.
fn with_variables(mut settings: Resolved, workflow: &Workflow, questions: &[&str]) -> Resolved {
    if workflow.env.is_empty() && questions.is_empty() {
        return settings;
    }
    let names = workflow.env.iter().map(|variable| variable.name.clone());
    let names = names.chain(questions.iter().map(|id| answer_variable(id)));
    let held = settings.text(keys::agent_env()).to_owned();
    let all: Vec<String> = Some(held).filter(|held| !held.is_empty()).into_iter().chain(names).collect();
    let origin = Origin { layer: Layer::Entry, place: "env of the workflow".to_owned() };
    settings.put(keys::agent_env(), all.join(","), origin);
    settings
}

/// The texts that are in every prompt of a loop, as files of the plan.
fn inject_files(stem: &str, folder: &Path, launch: &Prepared, files: &mut LongTexts) -> Vec<String> {
    let secret = secrets::declared(&launch.settings.values.agent);
    let mut paths = Vec::new();
    for (count, text) in (1..).zip(&launch.inject) {
        let name = format!("{stem}-inject-{count}.md");
        paths.push(text_of(&folder.join(&name)));
        files.push((name, secret.text(text).into_owned()));
    }
    paths
}

fn with_inject(mut request: LaunchRequest, paths: Vec<String>) -> LaunchRequest {
    if let Some(plan) = request.plan.as_mut().filter(|_| !paths.is_empty()) {
        let origin = Origin { layer: Layer::Entry, place: "the workflow".to_owned() };
        plan.settings.put(keys::inject(), paths.join("\n"), origin);
    }
    request
}

fn loop_work(
    stem: &str,
    request: LaunchRequest,
    launch: &Prepared,
    files: &mut LongTexts,
) -> Result<LoopWork, LaunchRefusal> {
    let text = serde_json::to_string(&request)
        .map_err(|error| LaunchRefusal::wrong("the request of a loop cannot be written").because(error.to_string()))?;
    let secret = secrets::declared(&launch.settings.values.agent);
    let short = |text: &str| text::one_line(text, NODE_TEXT_BYTES_MAX / 4);
    let settings: &Settings = &launch.settings;
    Ok(LoopWork {
        request: stored(format!("{stem}.json"), text, files),
        goal: short(&secret.text(&launch.goal)),
        promise: short(settings.values.gate.promise.as_deref().unwrap_or_default()),
        agent: short(&agent_words(settings)),
    })
}
