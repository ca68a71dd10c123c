//! Overlays: a shared tree below, the changes of one copy above it. Also unmounts everything that is mounted in a
//! copy.
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Mode, OFlags, ResolveFlags, mkdirat, openat2};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::fs::clear::remove_folder;
use crate::fs::handle::{open_inside, path_of_handle};
use crate::fs::mounts::{mounts_at, shown};

/// Where the parts of an overlay lie in the folder of a copy.
pub(super) const UPPER: &[u8] = b"upper";
const WORK: &[u8] = b"work";
pub(super) const TREE: &[u8] = b"tree";
/// Hard links stay one file and folders can be renamed, where the kernel lets us; else the plain form; else the form
/// for those who are not root, who need it for folders that are removed and made again.
const OPTIONS: &[&str] = &[",index=on,redirect_dir=on,metacopy=off", "", ",userxattr"];
/// How often the mounts in a copy are listed: one mount may hide another.
const UNMOUNT_PASSES_MAX: u32 = 16;

/// Mounts an overlay at the `tree` of a copy's folder.
pub(crate) fn mount_overlay(folder: BorrowedFd<'_>, lower: BorrowedFd<'_>) -> io::Result<()> {
    for part in [UPPER, WORK, TREE] {
        match mkdirat(folder, part, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let [upper, work, tree] = [open_inside(folder, UPPER)?, open_inside(folder, WORK)?, open_inside(folder, TREE)?];
    // By handles, so that no letter in a path means something to the kernel's list of options.
    let path = |handle: BorrowedFd<'_>| format!("/proc/self/fd/{}", handle.as_raw_fd());
    let (lower, upper, work) = (path(lower), path(upper.as_fd()), path(work.as_fd()));
    let mut failed = io::Error::from(io::ErrorKind::Unsupported);
    let mut forms = OPTIONS.to_vec();
    if !rustix::process::geteuid().is_root() {
        forms.reverse();
    }
    for options in forms {
        let options = CString::new(format!("lowerdir={lower},upperdir={upper},workdir={work}{options}"))?;
        match mount("loop", path(tree.as_fd()), "overlay", MountFlags::empty(), options.as_c_str()) {
            Ok(()) => return Ok(()),
            Err(error) => failed = error.into(),
        }
    }
    Err(failed)
}

/// Tries whether overlays work in a folder, by making one and removing it.
pub(super) fn trial(folder: BorrowedFd<'_>) -> Result<(), String> {
    let tried = || -> io::Result<()> {
        let name = format!(".trial-{}", crate::fs::fresh_id()?).into_bytes();
        mkdirat(folder, name.as_slice(), Mode::RWXU)?;
        let own = open_inside(folder, &name)?;
        mkdirat(&own, "lower", Mode::RWXU)?;
        let mounted = mount_overlay(own.as_fd(), open_inside(own.as_fd(), b"lower")?.as_fd()).and_then(|()| {
            // What can be mounted but not written to is of no use.
            mkdirat(open_any(own.as_fd(), TREE)?, "folder", Mode::RWXU).map_err(Into::into)
        });
        unmount_all(&own)?;
        remove_folder(folder, &name)?;
        mounted
    };
    tried().map_err(|error| format!("no overlay can be mounted: {error}"))
}

/// Unmounts all that is mounted below a folder.
///
/// # Errors
/// When something stays mounted, with its path.
pub(super) fn unmount_all(folder: &OwnedFd) -> io::Result<()> {
    let own = path_of_handle(folder)?;
    for _ in 0..UNMOUNT_PASSES_MAX {
        let mounts: Vec<_> = mounts_at(&own)?.into_iter().filter(|mount| *mount != own).collect();
        if mounts.is_empty() {
            return Ok(());
        }
        for mount_point in mounts.iter().rev() {
            let below = mount_point.strip_prefix(&own).unwrap_or(mount_point);
            // One of them may lie in another that is gone by now; the next pass shows it.
            let Ok(root) = open_any(folder.as_fd(), below.as_os_str().as_bytes()) else { continue };
            unmount(format!("/proc/self/fd/{}", root.as_raw_fd()), UnmountFlags::DETACH)
                .map_err(|error| io::Error::other(format!("{} cannot be unmounted: {error}", shown(mount_point))))?;
        }
    }
    Err(io::Error::other(format!("something in {} stays mounted", shown(&own))))
}

/// Whether something is mounted at a name in a folder.
pub(super) fn is_mounted(folder: &OwnedFd, name: &[u8]) -> bool {
    open_any(folder.as_fd(), name).is_ok() && open_inside(folder.as_fd(), name).is_err()
}

/// What is at a path below a folder, mounted there or not, but through no link.
fn open_any(folder: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(folder, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve).map_err(Into::into)
}
