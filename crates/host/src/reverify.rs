//! `loop verify`: the gates of a run that is done are run again on a clean copy of the tree that was judged. The workspace,
//! the run and its checkpoints are not changed, and nothing is left behind.
use std::io;
use std::path::Path;

use loop_core::run::{JudgePlace, RunState};
use loop_core::settings::JudgeChoice;
use loop_core::view::{Again, WorkspaceNow};
use thiserror::Error;

use crate::checkpoint::{CheckpointContext, open_folder};
use crate::gate::GateProgress;
use crate::judge::{CleanCopy, CleanError, CleanRequest, FromWorkspace};
use crate::signals::Signals;

/// What is verified again, and how.
#[derive(Debug, Clone, Copy)]
pub struct ReverifyRequest<'a> {
    /// The state of the run.
    pub state: &'a RunState,
    /// Its folder.
    pub run: &'a Path,
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
    /// Where the gates ran.
    pub place: JudgePlace,
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

impl From<CleanError> for ReverifyError {
    fn from(error: CleanError) -> Self {
        match error {
            CleanError::Stopped => Self::Stopped,
            CleanError::Gone(why) => Self::Gone(why),
            CleanError::Folder(why) => Self::Folder(why),
            CleanError::Unable(why) => Self::Unable(why),
        }
    }
}

impl From<io::Error> for ReverifyError {
    fn from(error: io::Error) -> Self {
        Self::Unable(error.to_string())
    }
}

/// Runs the gates of a run again, judged as the run judges them. The copy and all outputs are removed in any case, unless
/// the copy is to stay. From here on this process may see the copy at the path of the workspace.
///
/// # Errors
/// When the tree is gone, it cannot be copied, or a signal stopped it.
pub fn reverify(
    request: &ReverifyRequest<'_>,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, ReverifyError> {
    let mut signals = Signals::listen()?;
    show(GateProgress::Message("copying the recorded tree".to_owned()));
    let judge = request.state.settings.shown().values.gate.judge;
    // Without the workspace the recorded tree is all there is.
    let clean = judge == JudgeChoice::Auto && open_folder(&request.context.workspace).is_ok();
    // An id as that of a run: a gate cannot tell where it is run.
    let owner = crate::fs::fresh_id()?;
    let mut copy = CleanCopy::make(CleanRequest {
        state: request.state,
        run: request.run,
        owner: owner.as_str(),
        context: request.context,
        checkpoint: request.checkpoint,
        copies: request.copies,
        keep: request.keep,
        clean,
        now: FromWorkspace { ignored: request.ignored, git: request.git },
        compare: true,
        outputs: None,
    })?;
    let verified = reverify_in(&mut copy, request, &mut signals, show);
    match (verified, copy.close()) {
        (Ok(_), Err(error)) => Err(ReverifyError::Unable(format!("the copy could not be removed: {error}"))),
        (verified, _) => verified,
    }
}

fn reverify_in(
    copy: &mut CleanCopy<'_>,
    request: &ReverifyRequest<'_>,
    signals: &mut Signals,
    show: &mut dyn FnMut(GateProgress<'_>),
) -> Result<Reverified, ReverifyError> {
    if copy.last.tree != request.tree {
        let (name, tree) = (request.checkpoint, &copy.last.tree);
        let why = format!("checkpoint {name} holds another tree than the one that was judged: {tree}");
        return Err(ReverifyError::Gone(why));
    }
    if !signals.take().is_empty() {
        return Err(ReverifyError::Stopped);
    }
    for remark in copy.remarks() {
        show(GateProgress::Message(remark));
    }
    copy.set_up(signals, show)?;
    let gates = copy.run_gates(true, signals, show)?.into_iter().map(|ran| ran.again).collect();
    Ok(Reverified { gates, workspace: std::mem::take(&mut copy.workspace_now), place: copy.place() })
}
