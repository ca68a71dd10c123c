//! Mounts that only this process and its children see: so a copy can lie at the path of the workspace itself.
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount_bind_recursive, mount_change, mount_remount, unmount,
};

use crate::fs::mounts::mounts_at;
use crate::fs::open_folder;
use crate::process::same_user;

/// The word that makes this program try whether it may have such mounts.
pub(super) const TRIAL: &str = "__judge-mounts";

/// Whether this process could have mounts of its own in a folder. Tried in a child process, because a failed attempt can
/// leave the process in a useless user namespace.
pub(super) fn can_mount(folder: &Path) -> bool {
    let mut trial = Command::new("/proc/self/exe");
    trial.arg(TRIAL).arg(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    trial.status().is_ok_and(|status| status.success())
}

/// What that other process does.
pub(super) fn trial(folder: &Path) -> io::Result<()> {
    own_mounts()?;
    mount_bind_recursive(folder, folder).map_err(Into::into)
}

/// From here on this process has mounts of its own. Root needs only a mount namespace. Others get a user namespace too, in
/// which user and group are what they are outside; a program that is started in it has no capability.
pub(super) fn own_mounts() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let is_root = user.is_root();
    unshare(libc::CLONE_NEWNS | if is_root { 0 } else { libc::CLONE_NEWUSER })?;
    if !is_root {
        same_user(user.as_raw(), group.as_raw()).map_err(io::Error::other)?;
    }
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(Into::into)
}

#[expect(unsafe_code, reason = "the safe library has it only for threads")]
fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: it touches no memory. Files and folders that are open stay so.
    if unsafe { libc::unshare(flags) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Puts a folder, with what is mounted in it, at the place of another.
pub(super) fn bind(from: &Path, to: &Path) -> io::Result<()> {
    let (from, to) = (open_folder(from)?, open_folder(to)?);
    mount_bind_recursive(by_handle(&from), by_handle(&to)).map_err(Into::into)
}

/// The same, so that nothing can be written through it, where the kernel lets us.
pub(super) fn bind_to_read(from: &Path, to: &Path) -> io::Result<()> {
    bind(from, to)?;
    mount_remount(to, MountFlags::BIND | MountFlags::RDONLY, "").ok();
    Ok(())
}

/// Takes away what was put at a path last, with all that is mounted in it.
pub(super) fn unbind(path: &Path) -> io::Result<()> {
    unmount(path, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW).map_err(Into::into)
}

/// Unmounts all that is mounted below a folder.
pub(super) fn unbind_below(path: &Path) -> io::Result<()> {
    for mount_point in mounts_at(path)?.iter().rev() {
        // One that lay in another may be gone with it.
        match unmount(mount_point, UnmountFlags::DETACH | UnmountFlags::NOFOLLOW) {
            Ok(()) | Err(Errno::INVAL | Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn by_handle(folder: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd())
}
