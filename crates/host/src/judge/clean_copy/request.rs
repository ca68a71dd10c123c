//! What is to be copied, and how; and why there is no copy.
use std::io;
use std::path::Path;

use loop_core::run::{NotJudged, RunState};
use loop_core::settings::GateSpec;
use thiserror::Error;

use crate::checkpoint::CheckpointContext;
use crate::run_folder::RunFolder;

/// Parts of the copy that are as they are in the workspace now, because a person asked for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LiveParts {
    /// What checkpoints leave out.
    pub(crate) ignored: bool,
    /// The repository.
    pub(crate) git: bool,
    /// HOME: the user's own.
    pub(crate) home: bool,
}

/// What kind of copy it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CopyKind {
    /// A full clean copy, judged as the run is.
    Clean,
    /// Only the recorded tree, with the user's own HOME.
    RecordedTree,
}

/// Whether the workspace is compared with the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkspaceCheck {
    Compared,
    NotCompared,
}

/// Whose copy it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunCopies<'a> {
    /// The run.
    pub(crate) state: &'a RunState,
    /// Its folder.
    pub(crate) run: &'a Path,
    /// Its checkpoints.
    pub(crate) context: &'a CheckpointContext,
    /// The folder of all copies.
    pub(crate) copies: &'a Path,
}

/// What is to be copied, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CleanRequest<'a> {
    /// Whose copy it is.
    pub(crate) of: RunCopies<'a>,
    /// The hash of the record of what was there before the first agent.
    pub(crate) baseline: Option<&'a str>,
    /// Who started it: the name of the processes in it.
    pub(crate) owner: &'a str,
    /// The tree that the copy holds, by its checkpoint.
    pub(crate) checkpoint: &'a str,
    /// The newest tree of the run, by its checkpoint: whether the list of dependencies changed.
    pub(crate) newest: &'a str,
    /// What kind of copy it is.
    pub(crate) kind: CopyKind,
    /// What it gets of the workspace as it is now.
    pub(crate) live: LiveParts,
    /// Whether the workspace is compared with the tree.
    pub(crate) workspace: WorkspaceCheck,
    /// The hidden gates that are run in it.
    pub(crate) hidden: &'a [GateSpec],
    /// Where the copy is made and left; none means that it is removed.
    pub(crate) keep: Option<&'a Path>,
    /// Where the output of the gates goes; none means that it is removed with the copy.
    pub(crate) outputs: Option<&'a Path>,
}

impl<'a> CleanRequest<'a> {
    /// A clean copy of a tree of a run. It is removed in the end.
    pub(crate) fn new(of: RunCopies<'a>, owner: &'a str, checkpoint: &'a str) -> Self {
        Self {
            of,
            baseline: of.state.proving.baseline(),
            owner,
            checkpoint,
            newest: checkpoint,
            kind: CopyKind::Clean,
            live: LiveParts::default(),
            workspace: WorkspaceCheck::NotCompared,
            hidden: &[],
            keep: None,
            outputs: None,
        }
    }

    /// The same for an order of the run itself.
    pub(crate) fn of_order(of: RunCopies<'a>, run: &'a RunFolder, checkpoint: &'a str, outputs: &'a Path) -> Self {
        Self { outputs: Some(outputs), ..Self::new(of, run.id.as_str(), checkpoint) }
    }

    pub(super) fn is_clean(&self) -> bool {
        self.kind == CopyKind::Clean
    }
}

/// Why there is no copy, or no result.
#[derive(Debug, Error)]
pub enum CleanError {
    /// A signal came.
    #[error("it was stopped")]
    Stopped,
    /// The recorded tree is gone.
    #[error("{0}")]
    Gone(String),
    /// The folder for the copy cannot be used.
    #[error("{0}")]
    Folder(String),
    /// The setup command failed in the copy.
    #[error("{0}")]
    SetupFailed(String),
    /// Something else failed.
    #[error("{0}")]
    Unable(String),
}

impl CleanError {
    /// As a report has it.
    pub(crate) fn not_judged(self) -> NotJudged {
        match self {
            Self::Stopped => NotJudged::Stopped,
            Self::SetupFailed(why) => NotJudged::SetupFailed { why },
            Self::Gone(why) | Self::Folder(why) | Self::Unable(why) => NotJudged::HostFailed { why },
        }
    }
}

impl From<io::Error> for CleanError {
    fn from(error: io::Error) -> Self {
        Self::Unable(error.to_string())
    }
}
