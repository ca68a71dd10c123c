//! Control groups, version 2: everything that starts in a group can be ended at once, whatever session, name,
//! environment or user it has.
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Access, Mode, OFlags};
use rustix::process::Signal;

use crate::process::proc::{identity, signal_known};

/// How long the kernel may take to kill all processes.
const KILL_TAKES_MAX: Duration = Duration::from_secs(5);
const POLL_EVERY: Duration = Duration::from_millis(2);
/// A tree of groups that an agent made below ours is removed to this depth.
const DEPTH_MAX: u32 = 32;

/// The group of one run, with one below it for each kind of order.
#[derive(Debug)]
pub(crate) struct Cgroup {
    path: PathBuf,
    run: OwnedFd,
    lanes: Vec<(&'static str, PathBuf, OwnedFd)>,
    /// How many lanes were made, for their names.
    made: u32,
}

/// Where our own group lies among the mounts; none where there is no version 2.
fn own_group() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    group_of(&mounts, &groups)
}

/// The same from the texts: `mountinfo` has root and path of each mount before a dash, the type after.
fn group_of(mounts: &str, groups: &str) -> Option<PathBuf> {
    let (root, mount_point) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let fields: Vec<&str> = before.split(' ').collect();
        after.starts_with("cgroup2 ").then_some((*fields.get(3)?, *fields.get(4)?))
    })?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let below = Path::new(own).strip_prefix(root).ok()?;
    // A group outside of the mount is shown with `..`.
    (!below.starts_with("..")).then(|| Path::new(mount_point).join(below))
}

/// Whether a group of ours can be made; else why not, for people.
pub(crate) fn usable() -> Result<PathBuf, String> {
    let own = own_group().ok_or("no control groups of version 2 are mounted")?;
    let refused = |what: &str, error: &dyn std::fmt::Display| format!("{what} {}: {error}", own.display());
    // A process that starts in a child group must be allowed to leave ours.
    rustix::fs::access(own.join("cgroup.procs"), Access::WRITE_OK)
        .map_err(|error| refused("not delegated to you:", &error))?;
    let probe = own.join(format!("loop-probe-{}", std::process::id()));
    DirBuilder::new().create(&probe).map_err(|error| refused("cannot make a group in", &error))?;
    let kills = probe.join("cgroup.kill").exists();
    fs::remove_dir(&probe).ok();
    if kills { Ok(own) } else { Err("this kernel has no cgroup.kill (it came with 5.14)".to_owned()) }
}

fn open(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(Into::into)
}

fn make(path: &Path) -> io::Result<OwnedFd> {
    match DirBuilder::new().mode(0o755).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(()) | Err(_) => open(path),
    }
}

impl Cgroup {
    /// Makes the group of a run.
    ///
    /// # Errors
    /// Why it cannot be, for people.
    pub(crate) fn of_run(run: &str) -> Result<Self, String> {
        let path = usable()?.join(format!("loop-{run}"));
        let run = make(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { path, run, lanes: Vec::new(), made: 0 })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn run(&self) -> &OwnedFd {
        &self.run
    }

    /// The group below for a kind of order, made when it is first asked for.
    pub(super) fn lane(&mut self, name: &'static str) -> io::Result<&OwnedFd> {
        let at = match self.lanes.iter().position(|(known, ..)| *known == name) {
            Some(at) => at,
            None => {
                // Never one that existed before: a process may have been killed in it.
                let path = loop {
                    self.made += 1;
                    let path = self.path.join(format!("{name}-{}", self.made));
                    match DirBuilder::new().mode(0o755).create(&path) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        made => break made.map(|()| path)?,
                    }
                };
                let group = open(&path)?;
                self.lanes.push((name, path, group));
                self.lanes.len() - 1
            }
        };
        Ok(&self.lanes[at].2)
    }

    /// A lane in which a process may have been killed is not used again: the kernel (6.18) kills what is
    /// born into a group that was ever killed, from outside of it.
    pub(super) fn spend(&mut self, name: &'static str) {
        if let Some(at) = self.lanes.iter().position(|(known, ..)| *known == name) {
            let (_, path, _) = self.lanes.swap_remove(at);
            remove(&path, 0);
        }
    }
}

/// Leaves the group below for the run's own, so that the killing of the one does not hit us.
pub(super) fn move_to(run: &OwnedFd) -> io::Result<()> {
    write(run, "cgroup.procs", b"0")
}

/// Kills every process in a group and below it.
pub(super) fn kill(group: &OwnedFd) -> io::Result<()> {
    write(group, "cgroup.kill", b"1")
}

fn write(group: &OwnedFd, name: &str, bytes: &[u8]) -> io::Result<()> {
    let file = rustix::fs::openat(group, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    io::Write::write_all(&mut File::from(file), bytes)
}

/// Whether a process is alive in a group or below it; not in a group that is gone.
pub(crate) fn is_populated(path: &Path) -> bool {
    match fs::read_to_string(path.join("cgroup.events")) {
        Ok(events) => events.lines().any(|line| line == "populated 1"),
        // If it cannot be read, it is not known.
        Err(error) => error.kind() != io::ErrorKind::NotFound && path.exists(),
    }
}

/// Ends every process in the group and removes it with all that is below. Returns how many there were.
pub(crate) fn end(path: &Path) -> u32 {
    let Ok(group) = open(path) else { return 0 };
    let mut killed = 0;
    let until = Instant::now() + KILL_TAKES_MAX;
    while is_populated(path) && Instant::now() < until {
        let members = members(path, 0);
        killed = killed.max(u32::try_from(members.len()).unwrap_or(u32::MAX));
        kill(&group).ok();
        kill_each(&members);
        std::thread::sleep(POLL_EVERY);
    }
    remove(path, 0);
    killed
}

/// The kernel's own call (6.18) misses processes whose first thread has ended while others run.
fn kill_each(members: &[i32]) {
    for process in members.iter().filter_map(|pid| identity(*pid)) {
        signal_known(process, Signal::KILL);
    }
}

fn members(path: &Path, depth: u32) -> Vec<i32> {
    let own = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
    let own = own.lines().filter_map(|pid| pid.parse().ok());
    own.chain(below(path, depth).iter().flat_map(|path| members(path, depth + 1))).collect()
}

fn below(path: &Path, depth: u32) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten().filter(|_| depth < DEPTH_MAX);
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path()).collect()
}

/// Removes a group without members. One that is not empty stays, and is tried again with the next clean-up.
fn remove(path: &Path, depth: u32) {
    for path in below(path, depth) {
        remove(&path, depth + 1);
    }
    fs::remove_dir(path).ok();
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        if !is_populated(&self.path) {
            remove(&self.path, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_group_is_found_by_the_mount_table() {
        let hybrid = "30 20 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      39 20 0:35 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw\n";
        let at = |mounts: &str, groups: &str| group_of(mounts, groups).map(|path| path.display().to_string());
        assert_eq!(at(hybrid, "4:memory:/x\n0::/\n").as_deref(), Some("/sys/fs/cgroup/unified/"));
        let systemd = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let own = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope\n";
        let found = at(systemd, own).unwrap_or_default();
        assert_eq!(found, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/term.scope");
        // In a container a part of the tree is mounted; a group outside of it is out of reach.
        let part = "30 20 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(at(part, "0::/docker/abc/x\n").as_deref(), Some("/sys/fs/cgroup/x"));
        assert_eq!(at(part, "0::/other\n"), None);
        assert_eq!(at(systemd, "0::/../outside\n"), None);
        assert_eq!(at("", own), None);
    }
}
