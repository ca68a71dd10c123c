//! Processes of runs whose driver was killed: they may still run.
use std::fs;

use loop_core::ids::RunId;
use loop_core::run::Answer;

use crate::attempt_container;
use crate::fs::lock;
use crate::paths::{Home, socket_of};
use crate::process::{is_supervised, marked_runs, sweep, wake_supervisors};
use crate::run_folder::{LOCK, REGISTER, RunFolder};

/// The processes that a run without a driver had left.
#[derive(Debug)]
pub struct Orphans {
    /// Which run.
    pub run: RunFolder,
    /// How many were killed.
    pub ended: u32,
    /// Those that could not be.
    pub left: Vec<String>,
}

/// Ends the processes of all runs without a driver: those that are registered, and those with the mark of a run. Each
/// run is locked meanwhile, so that no process begins to drive it. Runs of other state folders are left alone.
#[must_use]
pub fn end_orphans(home: &Home) -> Vec<Orphans> {
    let mut ids = marked_runs();
    ids.extend(registered(home));
    ids.sort();
    ids.dedup();
    ids.iter().filter_map(|id| end(home, id)).collect()
}

/// The same, cheaply: only registered runs, and without those whose own shim ends them already.
#[must_use]
pub fn end_registered(home: &Home) -> Vec<Orphans> {
    // A shim that still lives ends its processes by itself, unless it was stopped.
    let left = |id: &String| {
        folder(home, id)
            .is_some_and(|run| run.holder().is_none() && (!is_supervised(&run.register()) || wake_supervisors(id)))
    };
    registered(home).iter().filter(|id| left(id)).filter_map(|id| end(home, id)).collect()
}

fn folder(home: &Home, id: &str) -> Option<RunFolder> {
    let id = RunId::parse(id).ok()?;
    Some(RunFolder { path: home.runs().join(id.as_str()), id })
}

fn registered(home: &Home) -> Vec<String> {
    let folder = socket_of(&home.state, "any");
    let entries = folder.parent().and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
    let id =
        |entry: fs::DirEntry| Some(entry.file_name().to_str()?.strip_suffix(REGISTER)?.strip_suffix('.')?.to_owned());
    entries.filter_map(id).collect()
}

fn end(home: &Home, id: &str) -> Option<Orphans> {
    let run = folder(home, id)?;
    if !run.path.is_dir() || run.holder().is_some() {
        return None;
    }
    let Ok(Some(_held)) = lock(&run.path.join(LOCK)) else { return None };
    let swept = sweep(run.id.as_str(), &run.register(), &[]);
    let (ended, left) = match attempt_container::clean_up(&run, swept) {
        Answer::Cleaned { killed } => (killed, Vec::new()),
        Answer::Lost { left } => (0, left),
        Answer::Checkpoint(_)
        | Answer::ManualCheckpoint(_)
        | Answer::RolledBack(_)
        | Answer::Refused { .. }
        | Answer::Blocked { .. }
        | Answer::Measurement(_)
        | Answer::AgentEnded(_)
        | Answer::GateEnded(_)
        | Answer::Held
        | Answer::TextEnded(_)
        | Answer::Reserved(_)
        | Answer::Guard(_)
        | Answer::Certify(_)
        | Answer::Judged(_)
        | Answer::Branches(_)
        | Answer::Notified { .. }
        | Answer::Failed { .. } => (0, Vec::new()),
    };
    if left.is_empty() {
        attempt_container::remove_own(&run);
    }
    Some(Orphans { run, ended, left })
}
