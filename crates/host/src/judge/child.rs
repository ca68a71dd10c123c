//! The process that carries out one order: it makes the copy, runs the gates, writes the report, and removes the copy. A
//! process of its own, because it has mounts of its own.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use loop_core::ids::RunId;
use loop_core::run::{CheckpointName, JudgeReport, JudgedTree};
use serde::{Deserialize, Serialize};

use super::clean_copy::{CleanCopy, CleanError, CleanRequest, FromWorkspace};
use super::place;
use crate::journal;
use crate::paths::{path_of, write_whole};
use crate::run_folder::RunFolder;
use crate::signals::Signals;

/// The word that makes this program the child of an order.
pub(super) const CHILD: &str = "__judge";
/// Where the report stands, beside the request.
pub(super) const REPORT: &str = "report.json";

/// What is to be judged.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct JudgeRequest {
    /// The folder of the run.
    pub(super) run: PathBuf,
    /// Which tree.
    pub(super) tree: JudgedTree,
    /// The checkpoint of the tree on which the gates passed.
    pub(super) checkpoint: String,
    /// The folder of all copies.
    pub(super) copies: PathBuf,
}

/// Carries an order out, if that is what this process was started for.
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let (word, path) = (words.next()?, words.next()?);
    let done = if word == place::TRIAL {
        place::trial(Path::new(&path))
    } else if word == CHILD {
        run(&path_of(&path.to_string_lossy()))
    } else {
        return None;
    };
    Some(if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn run(path: &Path) -> io::Result<()> {
    fs::write("/proc/self/comm", "loop-judge").ok();
    let began = Instant::now();
    let request: JudgeRequest = serde_json::from_slice(&fs::read(path)?)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let mut report = judge(&request, folder).unwrap_or_else(|error| JudgeReport::not_done(error.to_string()));
    report.duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    write_whole(&folder.join(REPORT), &serde_json::to_string(&report)?)
}

fn judge(request: &JudgeRequest, outputs: &Path) -> Result<JudgeReport, CleanError> {
    let mut signals = Signals::listen()?;
    let unable = |why: &str| CleanError::Unable(why.to_owned());
    let name = request.run.file_name().and_then(|name| name.to_str()).and_then(|name| RunId::parse(name).ok());
    let folder = RunFolder { id: name.ok_or_else(|| unable("no such run"))?, path: request.run.clone() };
    let reading = journal::read(&folder.path).map_err(|error| CleanError::Unable(error.to_string()))?;
    let state = reading.fold();
    let spec = state.spec.as_ref().ok_or_else(|| unable("the run never began"))?;
    let context = folder.checkpoints(spec);
    let initial = CheckpointName::Initial.to_string();
    let copy = CleanCopy::make(CleanRequest {
        state: &state,
        run: &folder.path,
        owner: folder.id.as_str(),
        context: &context,
        checkpoint: if request.tree == JudgedTree::Initial { &initial } else { &request.checkpoint },
        copies: &request.copies,
        keep: None,
        clean: true,
        now: FromWorkspace::default(),
        compare: false,
        outputs: Some(outputs),
    })?;
    let judged = judge_copy(request.tree, &copy, &mut signals);
    let (place, mut remarks) = (copy.place(), copy.remarks());
    if let Err(error) = copy.close() {
        remarks.push(format!("the copy could not be removed: {error}"));
    }
    Ok(JudgeReport { place, remarks, ..judged? })
}

/// What the gates say of the copy.
fn judge_copy(tree: JudgedTree, copy: &CleanCopy<'_>, signals: &mut Signals) -> Result<JudgeReport, CleanError> {
    copy.set_up(signals, &mut |_| {})?;
    match tree {
        JudgedTree::Final | JudgedTree::Initial => {}
        // A probe changes `copy.tree` here, by `copy.initial` and `copy.last`. It may run the gates again and again.
        JudgedTree::Canary | JudgedTree::Undone | JudgedTree::Hunks { .. } => {
            return Ok(JudgeReport::not_done("this probe is not built yet".to_owned()));
        }
    }
    let ran = copy.run_gates(false, signals, &mut |_| {})?;
    Ok(JudgeReport { gates: ran.iter().map(|gate| gate.judged()).collect(), ..JudgeReport::default() })
}
