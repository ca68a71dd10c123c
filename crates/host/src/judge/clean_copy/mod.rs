//! A clean copy of a recorded tree, and its gates run in it.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `request` | says what is to be copied and how, and why there is no copy | |
//! | `make` | makes the copy, with what belongs to it, and puts it at its place | run gates |
//! | `run` | runs the setup command, the gates and the hidden gates in it | judge what they mean |
mod make;
mod request;
mod run;

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use loop_core::run::{JudgePlace, Remark};
use loop_core::view::WorkspaceNow;

pub use request::CleanError;
pub(crate) use request::{CleanRequest, CopyKind, LiveParts, RunCopies, WorkspaceCheck};
pub(crate) use run::{GateRange, RanGate};

use super::opened::WorkspaceOpens;
use super::place;
use crate::checkpoint::Recorded;
use crate::gate::programs::ProgramWatch;
use crate::workspace::copy::Copies;

/// So many remarks are given.
const REMARKS_MAX: usize = 12;

/// The copy. It is removed when this is dropped, unless it is to stay.
#[derive(Debug)]
pub(crate) struct CleanCopy<'a> {
    request: CleanRequest<'a>,
    own: Option<Copies>,
    /// A folder beside the tree, for what belongs to the copy.
    scratch: PathBuf,
    /// The folder with the files of the copy.
    pub(crate) tree: PathBuf,
    /// Where the gates run: the tree, or the workspace's path.
    folder: PathBuf,
    mounts: CopyMounts,
    watch: Watch,
    contents: CopyContents,
    /// How the workspace differs from the tree, where that was asked for.
    pub(crate) workspace_now: WorkspaceNow,
    /// The tree of the start.
    pub(crate) initial: Recorded,
    /// The tree that the copy holds.
    pub(crate) last: Recorded,
    /// How often gates were run.
    rounds: Cell<u32>,
    /// The programs of the gates, looked at before every start.
    pub(crate) programs: ProgramWatch,
}

/// Which mounts this process has for the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyMounts {
    /// None: the copy lies in another folder.
    None,
    /// Mounts of its own; the copy is not at its place yet.
    Own,
    /// The same, and the copy is at the workspace's path.
    AtWorkspace,
}

/// Whether it is seen that files of the workspace are opened while gates run in the copy.
#[derive(Debug)]
enum Watch {
    /// It is not needed.
    Unneeded,
    /// It is watched.
    Set(WorkspaceOpens),
    /// It cannot be watched.
    Impossible(String),
}

/// What the copy has beside its tree.
#[derive(Debug, Default)]
struct CopyContents {
    variables: Vec<(String, OsString)>,
    remarks: Vec<Remark>,
    installed: Vec<String>,
    /// The workspace has a repository of a kind that is not saved, so the copy has none.
    has_foreign_git: bool,
}

impl CleanCopy<'_> {
    /// Where the gates ran.
    pub(crate) fn place(&self) -> JudgePlace {
        match (&self.watch, self.mounts) {
            (Watch::Set(watch), _) if watch.was_opened() => JudgePlace::WorkspaceOpened,
            (_, CopyMounts::AtWorkspace) => JudgePlace::OwnPath,
            (_, CopyMounts::None | CopyMounts::Own) => JudgePlace::Elsewhere,
        }
    }

    /// Why it is not seen whether files of the workspace are opened meanwhile: then nothing that runs here is clean.
    pub(crate) fn not_watched(&self) -> Option<String> {
        match &self.watch {
            Watch::Impossible(why) => {
                Some(format!("whether files of the workspace are opened meanwhile cannot be seen: {why}"))
            }
            Watch::Unneeded | Watch::Set(_) => None,
        }
    }

    /// What a person should know about it.
    pub(crate) fn remarks(&self) -> Vec<Remark> {
        self.contents.remarks.iter().take(REMARKS_MAX).cloned().collect()
    }

    /// Folders of dependencies that are as the agent installed them.
    pub(crate) fn installed(&self) -> Vec<String> {
        self.contents.installed.clone()
    }

    /// Removes the copy, unless it is to stay.
    ///
    /// # Errors
    /// When something of it stays.
    pub(crate) fn close(mut self) -> io::Result<()> {
        self.remove()
    }

    fn remove(&mut self) -> io::Result<()> {
        let Some(own) = self.own.take() else { return Ok(()) };
        if self.mounts == CopyMounts::AtWorkspace {
            // A folder in which something is mounted by another path cannot be removed either.
            place::unbind(&self.folder)?;
        }
        if self.mounts != CopyMounts::None {
            place::unbind_below(&self.scratch)?;
        }
        own.remove_all()
    }
}

impl Drop for CleanCopy<'_> {
    fn drop(&mut self) {
        // What stays is removed by the next sweep.
        self.remove().ok();
    }
}
