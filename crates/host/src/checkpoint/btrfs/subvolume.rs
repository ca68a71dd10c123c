//! Whether a workspace can have snapshots, and taking them.
use std::io;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, openat, renameat_with, unlinkat};

use super::snapshot::Snapshot;
use super::snapshot_dir::{BESIDE, SnapshotDir, SnapshotOwner, checked, destroy, found, names, ours};
use crate::fs::btrfs;
use crate::fs::clear::remove_folder;
use crate::fs::handle::{open_folder, path_of_handle};
use crate::fs::mounts::{mounts_at, shown};

/// What is only there to be removed again begins so.
const TRIAL: &str = ".trial-";

/// The snapshots of a workspace.
#[derive(Debug)]
pub struct SnapshotMaker {
    workspace: OwnedFd,
    snapshot_dir: SnapshotDir,
}

impl Deref for SnapshotMaker {
    type Target = SnapshotDir;

    fn deref(&self) -> &SnapshotDir {
        &self.snapshot_dir
    }
}

/// Tries whether a workspace can have snapshots, by making one and removing it. The error is why not.
///
/// # Errors
/// With the reason, in words for people.
pub fn trial(workspace: &Path) -> Result<SnapshotMaker, String> {
    let maker = SnapshotMaker::open(workspace)?;
    let failed = |error: io::Error| format!("{}: {error}", shown(&maker.path));
    let folder = ours(maker.above.as_fd(), BESIDE.as_bytes()).map_err(failed)?;
    let tried = maker.whole().map_err(|error| error.to_string()).and_then(|()| maker.tried(&folder));
    drop(folder);
    if tried.is_err() {
        maker.drop_if_empty();
    }
    tried.map(|()| maker)
}

/// Whether a workspace lies on btrfs at all.
pub(crate) fn is_on_btrfs(workspace: &Path) -> bool {
    open_folder(workspace).and_then(btrfs::is_btrfs).unwrap_or(false)
}

impl SnapshotMaker {
    /// Where the snapshots of a workspace go. Nothing is tried.
    ///
    /// # Errors
    /// When there cannot be one, with the reason.
    pub fn open(workspace: &Path) -> Result<Self, String> {
        let named = shown(workspace);
        let failed = |error: &dyn std::fmt::Display| format!("{named}: {error}");
        let workspace = open_folder(workspace).map_err(|error| failed(&error))?;
        if !btrfs::is_btrfs(&workspace).map_err(|error| failed(&error))? {
            return Err(format!("{named} is not on btrfs"));
        }
        if !btrfs::is_subvolume(&workspace).map_err(|error| failed(&error))? {
            return Err(format!("{named} is a folder of a btrfs subvolume and not a subvolume of its own"));
        }
        let above = inside(workspace.as_fd(), "..").map_err(|error| failed(&error))?;
        let elsewhere = || format!("the folder above {named} is on another file system");
        if !btrfs::is_btrfs(&above).map_err(|error| failed(&error))? {
            return Err(elsewhere());
        }
        let which = |folder: &OwnedFd| btrfs::file_system(folder.as_fd()).map_err(|error| failed(&error));
        if which(&above)? != which(&workspace)? {
            return Err(elsewhere());
        }
        let snapshot_dir = SnapshotDir::of(above).map_err(|error| failed(&error))?;
        Ok(Self { workspace, snapshot_dir })
    }

    /// Fails if a snapshot would lack something of the workspace.
    fn whole(&self) -> io::Result<()> {
        if let Some(path) = btrfs::nested(self.workspace.as_fd())? {
            let path = loop_core::text::escape_path(&path);
            return Err(io::Error::other(format!("{path} is a subvolume of its own, which a snapshot leaves out")));
        }
        let own = path_of_handle(&self.workspace)?;
        if let Some(mount) = mounts_at(&own)?.into_iter().find(|mount| *mount != own) {
            let mount = shown(mount.strip_prefix(&own).unwrap_or(&mount));
            return Err(io::Error::other(format!("{mount} is a mount of its own, which a snapshot leaves out")));
        }
        Ok(())
    }

    fn tried(&self, folder: &OwnedFd) -> Result<(), String> {
        let failed = |error: io::Error| error.to_string();
        // One at a time, so that what lies there is left over from one that was cut off.
        flock(folder, FlockOperation::LockExclusive).map_err(|error| failed(error.into()))?;
        for old in names(folder).map_err(failed)? {
            if old.starts_with(TRIAL.as_bytes()) {
                destroy(folder.as_fd(), &old).ok();
            }
        }
        let name = format!("{TRIAL}{}", crate::fs::fresh_id().map_err(failed)?).into_bytes();
        try_removal(folder, &name)?;
        let made = btrfs::snapshot(self.workspace.as_fd(), folder.as_fd(), &name, true);
        made.map_err(|error| format!("no snapshot can be made: {error}"))?;
        let removed = destroy(folder.as_fd(), &name);
        if removed.is_err() {
            // Slow, file by file, for one that the kernel does not remove.
            remove_folder(folder.as_fd(), &name).ok();
        }
        removed.map_err(|error| format!("a snapshot could not be removed again: {error}"))
    }

    /// Takes a checkpoint. It is whole and safe on disk when this returns, or there is none. One of the same name
    /// is replaced.
    ///
    /// # Errors
    /// When the kernel refuses it, the disk is full, or a subvolume or a mount in the workspace would be missing.
    pub fn take(&self, of: SnapshotOwner<'_>, name: &str) -> io::Result<Snapshot> {
        self.whole()?;
        let taken = self.take_once(of, name);
        match taken {
            // Another process removed the folder because it was still empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.take_once(of, name),
            taken => taken,
        }
    }

    fn take_once(&self, of: SnapshotOwner<'_>, name: &str) -> io::Result<Snapshot> {
        let name = checked(name)?;
        let folder = ours(self.above.as_fd(), BESIDE.as_bytes())?;
        let run = ours(ours(folder.as_fd(), checked(of.store)?)?.as_fd(), checked(of.run)?)?;
        match btrfs::snapshot(self.workspace.as_fd(), run.as_fd(), name, true) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.replace(&run, name)?,
            Err(error) => return Err(error),
        }
        found(run.as_fd(), name)
    }

    /// The new one is made beside the old one and exchanged with it, so that there is always one.
    fn replace(&self, run: &OwnedFd, name: &[u8]) -> io::Result<()> {
        found(run.as_fd(), name)?;
        let beside = format!(".new-{}", crate::fs::fresh_id()?).into_bytes();
        btrfs::snapshot(self.workspace.as_fd(), run.as_fd(), &beside, true)?;
        renameat_with(run, beside.as_slice(), run, name, RenameFlags::EXCHANGE)?;
        btrfs::sync(run.as_fd())?;
        destroy(run.as_fd(), &beside)
    }
}

/// An empty subvolume first: one that cannot be removed holds nothing, and can be removed as a folder.
fn try_removal(folder: &OwnedFd, name: &[u8]) -> Result<(), String> {
    btrfs::create(folder.as_fd(), name).map_err(|error| format!("no subvolume can be made: {error}"))?;
    let removed = destroy(folder.as_fd(), name);
    if removed.is_err() {
        unlinkat(folder, name, AtFlags::REMOVEDIR).ok();
    }
    removed.map_err(|error| {
        let hint = "an ordinary user needs the mount option user_subvol_rm_allowed";
        format!("a snapshot could not be removed again: {error} ({hint})")
    })
}

fn inside(folder: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty()).map_err(Into::into)
}
