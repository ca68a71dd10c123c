//! What the first process of a PID namespace sets up: a `/proc` that shows its own, and the same user inside as
//! outside.
use std::fs;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};

/// A `/proc` of our own. What others mount outside is still seen; what is mounted inside stays there.
pub(super) fn own_proc() -> Result<(), String> {
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|error| format!("no mounts of its own: {error}"))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", "/proc", "proc", flags, None).map_err(|error| format!("no /proc of its own: {error}"))
}

/// The user and the group that we have outside exist inside too. All other users and groups are shown there as the
/// overflow user (`nobody`), which is why sudo does not work inside.
pub(crate) fn same_user(user: u32, group: u32) -> Result<(), String> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(|error| format!("no user namespace ({file}): {error}"))
    };
    write("setgroups", "deny".to_owned())?;
    write("uid_map", format!("{user} {user} 1"))?;
    write("gid_map", format!("{group} {group} 1"))
}
