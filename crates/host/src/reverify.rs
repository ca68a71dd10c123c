//! `loop verify`: the gates of a run that is done are run again on a clean copy of the tree that was judged. The workspace,
//! the run and its checkpoints are not changed, and nothing is left behind.
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use loop_core::run::RunState;
use loop_core::view::{Again, WorkspaceNow};
use thiserror::Error;

use crate::checkpoint::{Checkpoint, CheckpointContext, Recorded, open_folder, tree_of_copy, workspace_now};
use crate::fs::FolderId;
use crate::gate::{GateContext, GateProgress, GateRunner};
use crate::process::{Containment, become_reaper};
use crate::secrets;
use crate::signals::Signals;
use crate::workspace::copy::{self, Copies, CopyExtras, is_inside};

/// What is verified again, and how.
#[derive(Debug, Clone, Copy)]
pub struct ReverifyRequest<'a> {
    /// The state of the run.
    pub state: &'a RunState,
    /// Its checkpoints.
    pub context: &'a CheckpointContext,
    /// The checkpoint that was judged.
    pub checkpoint: &'a str,
    /// The hash of its tree.
    pub tree: &'a str,
    /// The folder of all copies.
    pub copies: &'a Path,
    /// Where the copy is made and left; none means that it is removed.
    pub keep: Option<&'a Path>,
    /// Whether the copy also gets what checkpoints leave out, as it is in the workspace now.
    pub ignored: bool,
    /// Whether the copy also gets the workspace's repository.
    pub git: bool,
}

/// The result.
#[derive(Debug)]
pub struct Reverified {
    /// The verdicts of the gates, in the order in which they were run.
    pub gates: Vec<Again>,
    /// How the workspace differs from the recorded tree now.
    pub workspace: WorkspaceNow,
}

/// Why there is no result.
#[derive(Debug, Error)]
pub enum ReverifyError {
    /// A signal came.
    #[error("it was stopped")]
    Stopped,
    /// The recorded tree is gone.
    #[error("{0}")]
    Gone(String),
    /// The folder for the copy cannot be used.
    #[error("{0}")]
    Folder(String),
    /// Something else failed.
    #[error("{0}")]
    Unable(String),
}

impl From<io::Error> for ReverifyError {
    fn from(error: io::Error) -> Self {
        Self::Unable(error.to_string())
    }
}

/// Runs the gates of a run again. The copy and all outputs are removed in any case, unless the copy is to stay.
///
/// # Errors
/// When the tree is gone, it cannot be copied, or a signal stopped it.
pub fn reverify(
    request: &ReverifyRequest<'_>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, ReverifyError> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    DirBuilder::new().recursive(true).mode(0o700).create(request.copies)?;
    // What a killed process left.
    copy::sweep(request.copies)?;
    let own = Copies::open(request.copies, &format!("verify-{}", crate::fs::fresh_id()?))?;
    let verified = reverify_in(&own.room(), request, &mut signals, show);
    let removed = own.remove_all();
    match (verified, removed) {
        (Ok(_), Err(error)) => Err(ReverifyError::Unable(format!("the copy could not be removed: {error}"))),
        (verified, _) => verified,
    }
}

fn reverify_in(
    room: &Path,
    request: &ReverifyRequest<'_>,
    signals: &mut Signals,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, ReverifyError> {
    let tree = folder_for(request, room)?;
    show(GateProgress::Message("copying the recorded tree".to_owned()));
    let workspace = make_copy(request, room, &tree)?;
    if !signals.take().is_empty() {
        return Err(ReverifyError::Stopped);
    }
    let state = request.state;
    let settings = state.settings.shown();
    let mode = settings.values.agent.containment.word();
    // An id as that of a run: a gate cannot tell where it is run.
    let containment = Containment::new(crate::fs::fresh_id()?.as_str(), mode, None)?;
    let context = GateContext {
        folder: &tree,
        same: FolderId::of(open_folder(&tree)?).ok(),
        is_copy: true,
        secrets: secrets::of(state),
    };
    let mut runner = GateRunner::new(context, settings.gate_timeout_ms, room.join("outputs"), containment, signals);
    let mut gates = Vec::new();
    for next in 0..u32::try_from(settings.gates.len()).unwrap_or(u32::MAX) {
        let Some(at) = state.gates.at(next) else { continue };
        let gate = state.gates.get(at).ok_or_else(|| ReverifyError::Unable(format!("there is no gate {at}")))?;
        let failed = |failure| ReverifyError::Unable(format!("the gate {} {failure}", gate.spec().name));
        let judged = runner.judge(gate.spec(), gate.completed(), show).map_err(failed)?;
        gates.push(judged.ok_or(ReverifyError::Stopped)?);
    }
    Ok(Reverified { gates, workspace })
}

/// The empty folder that becomes the copy.
fn folder_for(request: &ReverifyRequest<'_>, room: &Path) -> Result<PathBuf, ReverifyError> {
    let tree = request.keep.map_or_else(|| room.join("tree"), Path::to_owned);
    let refused = |why: String| ReverifyError::Folder(format!("{} cannot be the copy: {why}", tree.display()));
    let made = DirBuilder::new().mode(0o700).create(&tree);
    match &made {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let mut there = fs::read_dir(&tree).map_err(|error| refused(error.to_string()))?;
            if there.next().is_some() {
                return Err(refused("it is not empty".to_owned()));
            }
        }
        Err(error) => return Err(refused(error.to_string())),
    }
    let tree = tree.canonicalize()?;
    if open_folder(&request.context.workspace).is_ok_and(|workspace| is_inside(&tree, &workspace).unwrap_or(true)) {
        if made.is_ok() {
            fs::remove_dir(&tree).ok();
        }
        return Err(refused("it lies in the workspace, which is not to be touched".to_owned()));
    }
    Ok(tree)
}

/// Makes the copy, checks that it is the recorded tree, and says how the workspace differs from it now.
fn make_copy(request: &ReverifyRequest<'_>, room: &Path, tree: &Path) -> Result<WorkspaceNow, ReverifyError> {
    let name = request.checkpoint;
    let hash = request.tree;
    let recorded = Recorded::open(request.context, name)
        .map_err(|error| ReverifyError::Gone(format!("checkpoint {name} cannot be read: {error}")))?;
    if recorded.tree != hash {
        let why = format!("checkpoint {name} holds another tree than the one that was judged: {}", recorded.tree);
        return Err(ReverifyError::Gone(why));
    }
    let now = workspace_now(request.context, &recorded.checkpoint, &room.join("now"));
    let to = open_folder(tree)?;
    let nothing = Checkpoint::default();
    let workspace = open_folder(&request.context.workspace);
    let wanted = copy::CopyRequest {
        checkpoint: &recorded.checkpoint,
        source: recorded.source(),
        key: name,
        along: CopyExtras {
            workspace: workspace.as_ref().unwrap_or(&to),
            now: now.as_ref().unwrap_or(&nothing),
            ignored: request.ignored,
            git: request.git,
        },
    };
    let failed = |error: io::Error| ReverifyError::Unable(format!("the copy cannot be made: {error}"));
    copy::put(&wanted, &to).map_err(failed)?;
    let copied = tree_of_copy(&to, &room.join("copied"))?;
    if copied != hash {
        let why = format!("the copy is not what was recorded (tree {copied}): this file system cannot hold it");
        return Err(ReverifyError::Unable(why));
    }
    if request.ignored || request.git {
        if let (Err(error), _) | (_, Err(error)) = (&workspace, &now) {
            return Err(ReverifyError::Unable(format!("nothing can be brought along from the workspace: {error}")));
        }
        copy::copy_extras(&wanted, &to).map_err(failed)?;
    }
    Ok(match now {
        Ok(now) => WorkspaceNow::differing(&recorded.differences(&now)),
        Err(error) => WorkspaceNow::unseen(error.to_string()),
    })
}
