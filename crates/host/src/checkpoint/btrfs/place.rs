//! Where the snapshots of a workspace lie: in a folder of ours beside its subvolume, by store, run and name.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, mkdirat, openat, openat2, renameat_with, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::content::WITHIN;
use super::ioctl;
use super::snapshot::Snapshot;
use crate::checkpoint::scan::open_folder;
use crate::workspace::clear::{open_inside, remove_folder};
use crate::workspace::mounts::{mounts_at, path_of_handle, shown};
use crate::workspace::walk::names_in;

/// The folder beside the workspace.
const BESIDE: &str = ".loop-checkpoints";
/// What is only there to be removed again begins so.
const TRIAL: &str = ".trial-";
/// What is under way, or on its way out, begins so and is no checkpoint.
const UNFINISHED: &[u8] = b".";
const NAME_BYTES_MAX: usize = 200;

/// The snapshots of a workspace.
#[derive(Debug)]
pub struct Place {
    workspace: OwnedFd,
    /// The folder above. Ours in it is opened anew each time: whoever removes the last snapshot removes it too.
    above: OwnedFd,
    path: PathBuf,
}

/// Whose snapshots: the workspace's store and a run.
#[derive(Debug, Clone, Copy)]
pub struct Of<'a> {
    /// The key of the workspace's store.
    pub store: &'a str,
    /// The run.
    pub run: &'a str,
}

/// Tries whether a workspace can have snapshots, by making one and removing it. If not, it says why.
///
/// # Errors
/// With the reason, in words for people.
pub fn trial(workspace: &Path) -> Result<Place, String> {
    let place = Place::open(workspace)?;
    let failed = |error: io::Error| format!("{}: {error}", shown(&place.path));
    let folder = ours(place.above.as_fd(), BESIDE.as_bytes()).map_err(failed)?;
    let tried = place.whole().map_err(|error| error.to_string()).and_then(|()| place.tried(&folder));
    drop(folder);
    if tried.is_err() {
        place.drop_if_empty();
    }
    tried.map(|()| place)
}

impl Place {
    /// The place of a workspace's snapshots. Nothing is tried.
    ///
    /// # Errors
    /// When there cannot be one, with the reason.
    pub fn open(workspace: &Path) -> Result<Self, String> {
        let named = shown(workspace);
        let failed = |error: &dyn std::fmt::Display| format!("{named}: {error}");
        let workspace = open_folder(workspace).map_err(|error| failed(&error))?;
        if !ioctl::is_btrfs(&workspace).map_err(|error| failed(&error))? {
            return Err(format!("{named} is not on btrfs"));
        }
        if !ioctl::is_subvolume(&workspace).map_err(|error| failed(&error))? {
            return Err(format!("{named} is a folder of a btrfs subvolume and not a subvolume of its own"));
        }
        let above = inside(workspace.as_fd(), "..").map_err(|error| failed(&error))?;
        let elsewhere = || format!("the folder above {named} is on another file system");
        if !ioctl::is_btrfs(&above).map_err(|error| failed(&error))? {
            return Err(elsewhere());
        }
        let which = |folder: &OwnedFd| ioctl::file_system(folder.as_fd()).map_err(|error| failed(&error));
        if which(&above)? != which(&workspace)? {
            return Err(elsewhere());
        }
        let path = path_of_handle(&above).map_err(|error| failed(&error))?.join(BESIDE);
        Ok(Self { workspace, above, path })
    }

    /// The folder beside the workspace, if it is there.
    fn folder(&self) -> io::Result<OwnedFd> {
        open_inside(self.above.as_fd(), BESIDE.as_bytes())
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fails if a snapshot would lack something of the workspace.
    fn whole(&self) -> io::Result<()> {
        if let Some(path) = ioctl::nested(self.workspace.as_fd())? {
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
        let name = format!("{TRIAL}{}", crate::runs::fresh_id().map_err(failed)?).into_bytes();
        try_removal(folder, &name)?;
        let made = ioctl::snapshot(self.workspace.as_fd(), folder.as_fd(), &name, true);
        made.map_err(|error| format!("no snapshot can be made: {error}"))?;
        let removed = destroy(folder.as_fd(), &name);
        if removed.is_err() {
            // The slow way out for one that the kernel does not remove for us: file by file.
            remove_folder(folder.as_fd(), &name).ok();
        }
        removed.map_err(|error| format!("a snapshot could not be removed again: {error}"))
    }

    /// Takes a checkpoint. It is whole and safe on disk when this returns, or there is none. One of the same name
    /// is replaced.
    ///
    /// # Errors
    /// When the kernel refuses it, the disk is full, or a subvolume or a mount in the workspace would be missing.
    pub fn take(&self, of: Of<'_>, name: &str) -> io::Result<Snapshot> {
        self.whole()?;
        let taken = self.take_once(of, name);
        match taken {
            // Somebody else removed the folder because it was still empty.
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.take_once(of, name),
            taken => taken,
        }
    }

    fn take_once(&self, of: Of<'_>, name: &str) -> io::Result<Snapshot> {
        let name = checked(name)?;
        let folder = ours(self.above.as_fd(), BESIDE.as_bytes())?;
        let run = ours(ours(folder.as_fd(), checked(of.store)?)?.as_fd(), checked(of.run)?)?;
        match ioctl::snapshot(self.workspace.as_fd(), run.as_fd(), name, true) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.replace(&run, name)?,
            Err(error) => return Err(error),
        }
        found(run.as_fd(), name)
    }

    /// The new one is made beside the old and changes places with it, so that there is always one.
    fn replace(&self, run: &OwnedFd, name: &[u8]) -> io::Result<()> {
        found(run.as_fd(), name)?;
        let beside = format!(".new-{}", crate::runs::fresh_id()?).into_bytes();
        ioctl::snapshot(self.workspace.as_fd(), run.as_fd(), &beside, true)?;
        renameat_with(run, beside.as_slice(), run, name, RenameFlags::EXCHANGE)?;
        ioctl::sync(run.as_fd())?;
        destroy(run.as_fd(), &beside)
    }

    /// A checkpoint that was taken.
    ///
    /// # Errors
    /// When there is none of that name, or it is no snapshot.
    pub fn snapshot(&self, of: Of<'_>, name: &str) -> io::Result<Snapshot> {
        found(self.run(of)?.as_fd(), checked(name)?)
    }

    fn run(&self, of: Of<'_>) -> io::Result<OwnedFd> {
        open_inside(self.store(of.store)?.as_fd(), checked(of.run)?)
    }

    fn store(&self, store: &str) -> io::Result<OwnedFd> {
        open_inside(self.folder()?.as_fd(), checked(store)?)
    }

    /// The checkpoints of a run by name, sorted. None if there are none.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn list(&self, of: Of<'_>) -> io::Result<Vec<String>> {
        let names = match self.run(of) {
            Ok(run) => names(&run)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let whole = names.into_iter().filter(|name| !name.starts_with(UNFINISHED));
        Ok(whole.filter_map(|name| String::from_utf8(name).ok()).collect())
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
    pub fn remove(&self, of: Of<'_>, name: &str) -> io::Result<()> {
        let (run, name) = (self.run(of)?, checked(name)?);
        found(run.as_fd(), name)?;
        destroy(run.as_fd(), name)
    }

    /// Removes all snapshots of a run and what an interrupted one left, then the folders that are empty by that.
    ///
    /// # Errors
    /// When one cannot be removed; the others are.
    pub fn remove_run(&self, of: Of<'_>) -> io::Result<()> {
        let run = match self.run(of) {
            Ok(run) => run,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let mut failed = Ok(());
        for name in names(&run)? {
            let removed = found(run.as_fd(), &name).and_then(|_| destroy(run.as_fd(), &name));
            failed = failed.and(removed);
        }
        failed?;
        unlinkat(self.store(of.store)?, of.run, AtFlags::REMOVEDIR)?;
        // Others may have some there.
        unlinkat(self.folder()?, of.store, AtFlags::REMOVEDIR).ok();
        self.drop_if_empty();
        Ok(())
    }

    /// The folder beside the workspace is not left behind empty.
    fn drop_if_empty(&self) {
        unlinkat(&self.above, BESIDE, AtFlags::REMOVEDIR).ok();
    }
}

/// An empty subvolume first: one that cannot be removed holds nothing, and can be removed as a folder.
fn try_removal(folder: &OwnedFd, name: &[u8]) -> Result<(), String> {
    ioctl::create(folder.as_fd(), name).map_err(|error| format!("no subvolume can be made: {error}"))?;
    let removed = destroy(folder.as_fd(), name);
    if removed.is_err() {
        unlinkat(folder, name, AtFlags::REMOVEDIR).ok();
    }
    removed.map_err(|error| {
        let hint = "an ordinary user needs the mount option user_subvol_rm_allowed";
        format!("a snapshot could not be removed again: {error} ({hint})")
    })
}

/// A name of ours; none that leads anywhere else.
fn checked(name: &str) -> io::Result<&[u8]> {
    let odd = name.is_empty() || name.len() > NAME_BYTES_MAX || name.starts_with('.') || name.contains(['/', '\0']);
    if odd {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is no name for a checkpoint")));
    }
    Ok(name.as_bytes())
}

fn inside(folder: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(folder, name, flags, Mode::empty()).map_err(Into::into)
}

/// A folder of ours, made if it is not there.
fn ours(above: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    match mkdirat(above, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = open_inside(above, name)?;
    let stat = fstat(&folder)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::Error::other("it belongs to somebody else"));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(io::Error::other("others can reach it: it must have the permissions 0700"));
    }
    Ok(folder)
}

fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = names_in(folder)?;
    names.sort_unstable();
    Ok(names)
}

/// A snapshot by its name, if it is one.
fn found(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<Snapshot> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat2(folder, name, flags, Mode::empty(), WITHIN)?;
    let info = if ioctl::is_subvolume(&root)? { Some(ioctl::info(root.as_fd())?) } else { None };
    match info.filter(|info| info.is_snapshot) {
        Some(info) => Ok(Snapshot { folder: root, made: info.made }),
        None => Err(io::Error::other(format!("{} is no snapshot", loop_core::text::escape_path(name)))),
    }
}

/// Removes a subvolume of ours.
fn destroy(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    // A name that is a link or a plain folder is none of ours, whoever put it there.
    let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let root = if stat.st_ino == ioctl::ROOT_INODE { Some(open_inside(folder, name)?) } else { None };
    let Some(root) = root else {
        return Err(io::Error::other(format!("{} is no snapshot", loop_core::text::escape_path(name))));
    };
    let number = ioctl::info(root.as_fd())?.number;
    match ioctl::destroy(folder, name, number) {
        // An ordinary user may only remove what can be written to.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EROFS | libc::EPERM | libc::EACCES)) => {
            ioctl::make_writable(root.as_fd()).map_err(|_| error)?;
            ioctl::destroy(folder, name, number)
        }
        done => done,
    }
}
