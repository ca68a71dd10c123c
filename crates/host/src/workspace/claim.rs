//! Claiming a workspace: the same folder by any path, and no workspace inside another.
use std::fs::{self, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::run::WorkspaceRef;
use loop_core::text;
use rustix::fs::{AtFlags, CWD, FlockOperation, StatxAttributes, StatxFlags, flock, statx};
use thiserror::Error;

use crate::paths::{Home, path_of};
use crate::run_folder::{self, RunsError, StartLock};

/// A workspace that is ours while this is held. It is freed by our death, whatever its cause.
#[derive(Debug)]
pub struct Claim {
    /// Its path.
    pub path: PathBuf,
    folder: File,
}

impl From<Claim> for OwnedFd {
    fn from(claim: Claim) -> Self {
        claim.folder.into()
    }
}

/// Why a folder cannot be the workspace.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// It is no folder that we can use.
    #[error("cannot use the workspace {}", text::escape_path(path.as_os_str().as_bytes()))]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Too much depends on it.
    #[error("{} is {what}", text::escape_path(path.as_os_str().as_bytes()))]
    TooWide {
        /// Which.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// It is not the folder that the run worked in.
    #[error("{} is another folder than the one that the loop worked in", text::escape_path(path.as_os_str().as_bytes()))]
    Another {
        /// Which.
        path: PathBuf,
    },
    /// Another run works there.
    #[error("loop {id} works in {} already", text::escape_path(path.as_os_str().as_bytes()))]
    Held {
        /// Which run.
        id: String,
        /// Where.
        path: PathBuf,
    },
    /// A run of another user or state folder works there.
    #[error("a loop of another user or state folder works in {}", text::escape_path(path.as_os_str().as_bytes()))]
    HeldElsewhere {
        /// Where.
        path: PathBuf,
    },
    /// The runs cannot be read.
    #[error(transparent)]
    Runs(#[from] RunsError),
}

/// Inspects a folder: its real path, its identity, and whether it may be a workspace.
///
/// # Errors
/// When it is no folder, or `/`, the home folder or the root of a mount, and that was not allowed.
pub fn inspect(
    path: &Path,
    home_folder: Option<&Path>,
    allow_any: bool,
) -> Result<(PathBuf, WorkspaceRef), WorkspaceError> {
    let error = |source| WorkspaceError::Io { path: path.to_owned(), source };
    let real = fs::canonicalize(path).map_err(error)?;
    let found = fs::metadata(&real).map_err(error)?;
    if !found.is_dir() {
        return Err(error(io::ErrorKind::NotADirectory.into()));
    }
    rustix::fs::access(&real, rustix::fs::Access::READ_OK | rustix::fs::Access::EXEC_OK)
        .map_err(|refused| error(refused.into()))?;
    if !allow_any && let Some(what) = too_wide(&real, home_folder, &found) {
        return Err(WorkspaceError::TooWide { path: real, what });
    }
    let named = text::escape_path(real.as_os_str().as_bytes());
    Ok((real, WorkspaceRef { path: named, device: found.dev(), inode: found.ino() }))
}

fn too_wide(path: &Path, home_folder: Option<&Path>, found: &fs::Metadata) -> Option<&'static str> {
    let same =
        |other: &Path| fs::metadata(other).is_ok_and(|other| (other.dev(), other.ino()) == (found.dev(), found.ino()));
    if path.parent().is_none() {
        return Some("the root of the file system");
    }
    if home_folder.is_some_and(same) {
        return Some("your home folder");
    }
    let above = path.parent().and_then(|parent| fs::metadata(parent).ok());
    let is_apart = above.is_some_and(|above| above.dev() != found.dev());
    (is_apart && is_mount(path)).then_some("the root of a mount")
}

/// Whether something is mounted there. A subvolume of btrfs has a device of its own too, but is allowed.
fn is_mount(path: &Path) -> bool {
    let root = StatxAttributes::MOUNT_ROOT;
    let found = statx(CWD, path, AtFlags::empty(), StatxFlags::empty());
    // An old kernel does not report it; then it may be one.
    found.map_or(true, |found| !found.stx_attributes_mask.contains(root) || found.stx_attributes.contains(root))
}

/// Claims the workspace of a run against all other runs.
///
/// # Errors
/// When another run works in it, above it or below it, or it is gone.
pub fn claim(home: &Home, _start: &StartLock, own: &RunId, workspace: &WorkspaceRef) -> Result<Claim, WorkspaceError> {
    let path = path_of(&workspace.path);
    let error = |source| WorkspaceError::Io { path: path.clone(), source };
    let folder = File::open(&path).map_err(error)?;
    let found = folder.metadata().map_err(error)?;
    let me = (found.dev(), found.ino());
    // Devices get other numbers when a machine starts again; the inode stays.
    if found.ino() != workspace.inode {
        return Err(WorkspaceError::Another { path });
    }
    let above_me = chain(&path);
    let plans = run_folder::all_in(&home.plans())?;
    for run in run_folder::all(home)?.into_iter().chain(plans).filter(|run| run.id != *own) {
        let Some(holder) = run.holder() else { continue };
        let other = (holder.device, holder.inode);
        if above_me.contains(&other) || chain(&path_of(&holder.workspace)).contains(&me) {
            return Err(WorkspaceError::Held { id: run.id.to_string(), path: path_of(&holder.workspace) });
        }
    }
    // Runs of another state folder or user are seen by their locks alone, here and above.
    if let Some(held) = path.ancestors().skip(1).find(|above| is_locked(above)) {
        return Err(WorkspaceError::HeldElsewhere { path: held.to_owned() });
    }
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Claim { path, folder }),
        Err(rustix::io::Errno::WOULDBLOCK) => Err(WorkspaceError::HeldElsewhere { path }),
        Err(source) => Err(error(source.into())),
    }
}

/// Whether one is the other, or lies in it.
#[must_use]
pub fn overlap(left: &WorkspaceRef, right: &WorkspaceRef) -> bool {
    let of = |workspace: &WorkspaceRef| (workspace.device, workspace.inode);
    let chain_of = |workspace: &WorkspaceRef| chain(&path_of(&workspace.path));
    of(left) == of(right) || chain_of(left).contains(&of(right)) || chain_of(right).contains(&of(left))
}

fn is_locked(folder: &Path) -> bool {
    File::open(folder)
        .is_ok_and(|folder| flock(&folder, FlockOperation::NonBlockingLockShared) == Err(rustix::io::Errno::WOULDBLOCK))
}

/// A folder and all that it lies in, by device and inode.
fn chain(path: &Path) -> Vec<(u64, u64)> {
    let found = path.ancestors().filter_map(|path| fs::metadata(path).ok());
    found.map(|found| (found.dev(), found.ino())).collect()
}
