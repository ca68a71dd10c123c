//! What an escapee may do to those above it.
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::sys;

/// The processes between an agent and the harness that are the harness's own program: the shim first.
///
/// The harness itself is left out: to end it is what the test does. In a PID namespace it is not seen; the
/// topmost there has pid 1 and is one of those that are meant.
pub(crate) fn keepers() -> Vec<i32> {
    let mut chain = Vec::new();
    let mut pid = parent_of(sys::own_pid());
    while let Some(above) = pid.filter(|pid| *pid > 0 && chain.len() < 64) {
        chain.push(above);
        pid = parent_of(above);
    }
    let mut ours: Vec<i32> = chain.into_iter().filter(|pid| is_loop(*pid)).collect();
    if ours.last().is_some_and(|topmost| *topmost != 1) {
        ours.pop();
    }
    ours.reverse();
    ours
}

fn is_loop(pid: i32) -> bool {
    let program = std::env::var_os("ZOO_LOOP").unwrap_or_default();
    let Ok(wanted) = fs::metadata(program) else { return false };
    match fs::metadata(format!("/proc/{pid}/exe")) {
        Ok(exe) => (exe.dev(), exe.ino()) == (wanted.dev(), wanted.ino()),
        Err(_) => fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "loop"),
    }
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.split_whitespace().nth(1)?.parse().ok()
}

/// Whether a process is there and no zombie.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).unwrap_or("Z");
    !matches!(state, "Z" | "X")
}

/// Goes up to the cgroup above its own, where it may; says whether it did.
pub(crate) fn leave_cgroup() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let place = words.nth(1)?;
        (words.next()? == "cgroup2").then(|| place.to_owned())
    });
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
    let Some(mount) = mount else { return false };
    let mut place = std::path::PathBuf::from(format!("{mount}{own}"));
    let mut left = false;
    while place.pop() && place.starts_with(&mount) {
        left |= fs::write(place.join("cgroup.procs"), "0").is_ok();
    }
    left
}
