//! The folder of the snapshots: beside the workspace's subvolume, by store, run and name. Listing and removing them
//! needs no workspace: it may be gone.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, openat2, statat, unlinkat};
use rustix::io::Errno;

use super::snapshot::Snapshot;
use crate::fs::btrfs;
use crate::fs::handle::{WITHIN, open_folder, open_inside, path_of_handle};
use crate::fs::walk::names_in;

/// The folder beside the workspace.
pub(super) const BESIDE: &str = ".loop-checkpoints";
const NAME_BYTES_MAX: usize = 200;

/// Snapshots, in the folder beside a workspace.
#[derive(Debug)]
pub struct SnapshotDir {
    /// The folder above. Ours in it is opened again each time, because it is removed with the last snapshot.
    pub(super) above: OwnedFd,
    pub(super) path: PathBuf,
}

/// Whose snapshots: a store and a run.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotOwner<'a> {
    /// The key of the store.
    pub store: &'a str,
    /// The run.
    pub run: &'a str,
}

impl SnapshotDir {
    /// Those beside the workspaces in a folder.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn open(above: &Path) -> io::Result<Self> {
        Self::of(open_folder(above)?)
    }

    pub(super) fn of(above: OwnedFd) -> io::Result<Self> {
        let path = path_of_handle(&above)?.join(BESIDE);
        Ok(Self { above, path })
    }

    /// The folder beside the workspace, if it is there.
    fn folder(&self) -> io::Result<OwnedFd> {
        open_inside(self.above.as_fd(), BESIDE.as_bytes())
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A checkpoint that was taken.
    ///
    /// # Errors
    /// When there is none of that name, or it is no snapshot.
    pub fn snapshot(&self, of: SnapshotOwner<'_>, name: &str) -> io::Result<Snapshot> {
        found(self.run(of)?.as_fd(), checked(name)?)
    }

    fn run(&self, of: SnapshotOwner<'_>) -> io::Result<OwnedFd> {
        open_inside(self.store(of.store)?.as_fd(), checked(of.run)?)
    }

    fn store(&self, store: &str) -> io::Result<OwnedFd> {
        open_inside(self.folder()?.as_fd(), checked(store)?)
    }

    /// The runs of a store that have a folder here, sorted.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn runs(&self, store: &str) -> io::Result<Vec<String>> {
        let names = match self.store(store) {
            Ok(store) => names(&store)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(names.into_iter().filter_map(|name| String::from_utf8(name).ok()).collect())
    }

    /// Removes a checkpoint. Only what is a snapshot is removed; the disk is freed later, by the kernel.
    ///
    /// # Errors
    /// When there is none of that name, it is no snapshot, or the kernel refuses it.
    pub fn remove(&self, of: SnapshotOwner<'_>, name: &str) -> io::Result<()> {
        let (run, name) = (self.run(of)?, checked(name)?);
        found(run.as_fd(), name)?;
        destroy(run.as_fd(), name)
    }

    /// Removes every snapshot of a store but those that are wanted, by `run/name`, with what interrupted ones left;
    /// returns which.
    ///
    /// # Errors
    /// When one cannot be removed; the others are.
    pub fn sweep(&self, store: &str, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let (mut gone, mut failed) = (Vec::new(), Ok(()));
        for run in self.runs(store)? {
            match self.remove_but(SnapshotOwner { store, run: &run }, is_wanted) {
                Ok(names) => gone.extend(names),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed.map(|()| gone)
    }

    fn remove_but(&self, of: SnapshotOwner<'_>, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Vec<String>> {
        let run = match self.run(of) {
            Ok(run) => run,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let (mut gone, mut failed) = (Vec::new(), Ok(()));
        for name in names(&run)? {
            let full = format!("{}/{}", of.run, String::from_utf8_lossy(&name));
            if is_wanted(&full) {
                continue;
            }
            match found(run.as_fd(), &name).and_then(|_| destroy(run.as_fd(), &name)) {
                Ok(()) => gone.push(full),
                Err(error) => failed = failed.and(Err(error)),
            }
        }
        failed?;
        // Where something is left, they stay.
        unlinkat(self.store(of.store)?, of.run, AtFlags::REMOVEDIR).ok();
        unlinkat(self.folder()?, of.store, AtFlags::REMOVEDIR).ok();
        self.drop_if_empty();
        Ok(gone)
    }

    /// The folder beside the workspace is not left behind empty.
    pub(crate) fn drop_if_empty(&self) {
        unlinkat(&self.above, BESIDE, AtFlags::REMOVEDIR).ok();
    }
}

/// A name of ours; none that leads anywhere else.
pub(super) fn checked(name: &str) -> io::Result<&[u8]> {
    let odd = name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') || name.contains(['/', '\0']);
    if odd {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{name:?} is not a valid name of a checkpoint"),
        ));
    }
    Ok(name.as_bytes())
}

/// A folder of ours, made if it is not there.
pub(super) fn ours(above: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    match mkdirat(above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = open_inside(above, name)?;
    let stat = fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to another user"));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(io::Error::other("others can reach it: it must have the permissions 0700"));
    }
    Ok(folder)
}

pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = names_in(folder)?;
    names.sort_unstable();
    Ok(names)
}

/// A snapshot by its name, if it is one.
pub(super) fn found(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<Snapshot> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat2(folder, name, flags, Mode::empty(), WITHIN)?;
    let info = if btrfs::is_subvolume(&root)? { Some(btrfs::info(root.as_fd())?) } else { None };
    match info.filter(|info| info.is_snapshot) {
        Some(_) => Ok(Snapshot { folder: root }),
        None => Err(io::Error::other(format!("{} is not a snapshot", loop_core::text::escape_path(name)))),
    }
}

/// Removes a subvolume of ours.
pub(super) fn destroy(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    // A name that is a link or a plain folder is not ours.
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let root = if stat.st_ino == btrfs::ROOT_INODE { Some(open_inside(folder, name)?) } else { None };
    let Some(root) = root else {
        return Err(io::Error::other(format!("{} is not a snapshot", loop_core::text::escape_path(name))));
    };
    let number = btrfs::info(root.as_fd())?.number;
    match btrfs::destroy(folder, name, number) {
        // An ordinary user may only remove what can be written to.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EROFS | libc::EPERM | libc::EACCES)) => {
            btrfs::make_writable(root.as_fd()).map_err(|_| error)?;
            btrfs::destroy(folder, name, number)
        }
        done => done,
    }
}
