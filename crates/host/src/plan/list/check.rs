//! The checks of one loop of an item, in a child process: edits of the agent to files of the harness are undone, the tree
//! is recorded, then the commands run on it.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use loop_core::ended::Ended;
use loop_core::ids::RunId;
use loop_core::plan::{ItemChecked, ItemRef, ListSpec, NodeId};
use loop_core::policy::item::{AgentEnd, ItemArtifact, ItemSensor, LoopEvidence, MissingSensor};
use loop_core::run::{INITIAL, RunState};
use loop_core::settings::{Resolved, Settings};
use loop_core::text;
use serde::{Deserialize, Serialize};

use super::super::child::ChildLine;
use super::folder::{ItemFolder, LOG, taken_item};
use super::launch::{Places, own_files, sensors_of};
use crate::checkpoint::{CheckpointContext, RunCheckpoints};
use crate::fs::write_beside;
use crate::gate::{GateContext, GateRunner};
use crate::item::{ItemChanges, LoopReading, LoopStart, read_loop};
use crate::journal;
use crate::paths::{Home, path_of};
use crate::process::{Containment, become_reaper};
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::signals::Signals;

/// What was measured, as a file in the folder of the checks.
pub(super) const EVIDENCE: &str = "evidence.json";
/// A line of the agent's last words that begins so is its note.
const NOTE: &str = "NOTE:";

/// The checks of one loop.
#[derive(Debug, Serialize, Deserialize)]
pub(in super::super) struct ItemCheckRequest {
    /// Whose processes these are.
    pub(in super::super) mark: String,
    pub(in super::super) plan: PathBuf,
    pub(in super::super) workspace: PathBuf,
    pub(in super::super) copy: PathBuf,
    pub(in super::super) run: RunId,
    pub(in super::super) list: ListSpec,
    pub(in super::super) item: ItemRef,
    pub(in super::super) node: NodeId,
    pub(in super::super) attempt: u32,
    /// Which loop it was: how many iterations its run has.
    pub(in super::super) number: u32,
    /// Which run of the checks.
    pub(in super::super) check: u32,
    pub(in super::super) settings: Resolved,
}

/// What is kept of one run of the checks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredEvidence {
    pub(super) evidence: LoopEvidence,
    /// What the agent proposes as a note.
    #[serde(default)]
    pub(super) note: String,
}

/// Runs the checks.
pub(in super::super) fn run_check(request: &ItemCheckRequest) -> io::Result<ChildLine> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    let home = Home::find(|name| std::env::var_os(name)).map_err(io::Error::other)?;
    let taken = taken_item(&request.plan, &request.list, &request.item)?;
    let settings = Settings::of(&request.settings);
    let folder = ItemFolder::new(&request.plan, &request.node, request.attempt);
    let start = LoopStart::load(&folder.start(request.number))?;
    let start = start.ok_or_else(|| io::Error::other("what the loop began with is not recorded"))?;
    let edits = start.undo_edits(&request.copy);
    let run = RunFolder { path: home.runs().join(request.run.as_str()), id: request.run.clone() };
    let state = journal::read(&run.path).map_err(|error| io::Error::other(error.to_string()))?.fold();
    let (context, tree) = record(&run, &state, request.check)?;
    let places =
        Places { workspace: request.workspace.clone(), copy: request.copy.clone(), list: path_of(&request.list.file) };
    let sensors = sensors_of(&home, &places, &taken, &settings.values.lists)?;
    let own = own_files(&request.list, &sensors, &request.copy);
    let outputs = folder.outputs(request.check);
    fs::create_dir_all(&outputs)?;
    let name = checkpoint(request.check);
    // Where it cannot be found, that is a sensor that is missing.
    let changes = ItemChanges::between(&context, INITIAL, &name, &own, &outputs.join("diff.patch")).ok();
    let (agent, notes) = agent_end(&state);
    let reading = LoopReading {
        workspace: &request.copy,
        outputs: &outputs,
        item: &taken.item,
        number: request.number,
        start: &start,
        sensors: &sensors,
        agent: &agent,
        changes: changes.as_ref(),
        edits: &edits,
        notes: &notes,
        missing: &missing(&request.workspace),
        strict_scope: settings.values.lists.strict_scope,
    };
    let gates = GateContext {
        folder: &request.copy,
        same: None,
        is_copy: true,
        secrets: Arc::new(secrets::declared(&settings.values.agent)),
        variables: Vec::new(),
    };
    let containment = Containment::new(&request.mark, settings.values.agent.containment.word(), None)?;
    let mut runner = GateRunner::new(gates, settings.gate_timeout_ms, outputs.join("raw"), containment, &mut signals);
    let evidence = read_loop(&reading, &mut runner).map_err(|error| io::Error::other(error.to_string()))?;
    let Some(mut evidence) = evidence else { return Ok(ChildLine::Failed("it was stopped".to_owned())) };
    shorten(&mut evidence, folder.plan());
    let stored = StoredEvidence { evidence, note: proposed(&notes) };
    write_beside(&outputs.join(EVIDENCE), &serde_json::to_vec_pretty(&stored)?)?;
    let evidence = stored.evidence.bounded();
    Ok(ChildLine::Checked(Box::new(ItemChecked { evidence, tree })))
}

fn checkpoint(check: u32) -> String {
    format!("checked-{check}")
}

/// The tree that is checked, as a checkpoint beside those of the run. Nothing drives that run now.
fn record(run: &RunFolder, state: &RunState, check: u32) -> io::Result<(CheckpointContext, String)> {
    let spec = state.spec.as_ref().ok_or_else(|| io::Error::other("the run never began"))?;
    let context = run.checkpoints(spec);
    let mut checkpoints = RunCheckpoints::open(context.clone(), Arc::new(AtomicBool::new(false)))?;
    let report = checkpoints.take(&checkpoint(check), None).map_err(|error| io::Error::other(error.to_string()))?;
    let tree = report.tree.ok_or_else(|| io::Error::other("the checkpoint before the checks has no tree"))?;
    Ok((context, tree))
}

/// How the agent of the newest iteration ended, and its last words.
fn agent_end(state: &RunState) -> (AgentEnd, String) {
    let Some(report) = state.agent.report() else { return (AgentEnd::NotStarted, String::new()) };
    let end = match report.failed() {
        _ if report.ended == Ended::ByUs => AgentEnd::TimedOut,
        true => AgentEnd::Failed(report.ended.brief()),
        false => AgentEnd::Ended,
    };
    (end, report.last_text.clone())
}

/// The note that an agent proposes: the last line that begins with the word.
fn proposed(words: &str) -> String {
    let line = words.lines().rev().find_map(|line| line.trim().strip_prefix(NOTE));
    line.map(|note| text::one_line(note.trim(), 400)).unwrap_or_default()
}

/// `loop/log.txt` of the workspace, where it cannot be written.
fn missing(workspace: &Path) -> Vec<MissingSensor> {
    let (folder, log) = (workspace.join("loop"), workspace.join(LOG));
    let is_folder = folder.symlink_metadata().is_ok_and(|found| !found.is_dir());
    let is_file = log.symlink_metadata().is_ok_and(|found| !found.is_file());
    let missing = |why: &str| vec![MissingSensor { sensor: ItemSensor::Log, why: why.to_owned() }];
    if is_folder {
        return missing("loop is not a folder");
    }
    if is_file {
        return missing("it is not a plain file");
    }
    let unwritable = log.exists() && fs::OpenOptions::new().append(true).open(&log).is_err();
    if unwritable { missing("it cannot be written") } else { Vec::new() }
}

/// Paths of what the harness wrote, from the folder of the plan on.
fn shorten(evidence: &mut LoopEvidence, plan: &Path) {
    let short = |artifact: &mut ItemArtifact| {
        let path = Path::new(&artifact.path);
        if let Ok(inner) = path.strip_prefix(plan) {
            artifact.path = inner.to_string_lossy().into_owned();
        }
    };
    let own = evidence.criteria.iter_mut().filter_map(|criterion| criterion.check.as_mut());
    let readings = evidence.check.iter_mut().chain(own).chain(&mut evidence.confirmations);
    readings.filter_map(|reading| reading.output.as_mut()).for_each(short);
    evidence.diff.iter_mut().for_each(short);
}
