//! Who runs the loop, and by which containment.
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};

use loop_testkit::{Being, TestEnv, escape_agents};

use super::cases::{Case, Cause};

/// Nobody else on the machine has it.
const ORDINARY: u32 = 54_321;

/// One way to run a loop.
#[derive(Debug)]
pub(super) struct Mode {
    pub(super) number: usize,
    pub(super) name: &'static str,
    pub(super) flag: &'static str,
    pub(super) uid: u32,
    is_delegated: bool,
}

pub(super) const CGROUP: Mode = Mode { number: 0, name: "cgroup, root", flag: "cgroup", uid: 0, is_delegated: false };
pub(super) const DELEGATED: Mode =
    Mode { number: 1, name: "cgroup, delegated to a user", flag: "cgroup", uid: ORDINARY, is_delegated: true };
pub(super) const PLAIN: Mode =
    Mode { number: 2, name: "plain, user", flag: "plain", uid: ORDINARY, is_delegated: false };
pub(super) const NAMESPACE_OF_ROOT: Mode =
    Mode { number: 3, name: "PID namespace, root", flag: "namespace", uid: 0, is_delegated: false };
pub(super) const NAMESPACE: Mode =
    Mode { number: 4, name: "PID namespace, user", flag: "namespace", uid: ORDINARY, is_delegated: false };
pub(super) const ALL: [&Mode; 5] = [&CGROUP, &DELEGATED, &PLAIN, &NAMESPACE_OF_ROOT, &NAMESPACE];

/// The programs where every user can reach them.
#[derive(Debug)]
pub(super) struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    pub(super) fn new() -> Self {
        let me = fs::metadata("/proc/self").unwrap();
        let uid = std::os::unix::fs::MetadataExt::uid(&me);
        assert_eq!(uid, 0, "other users and cgroups are root's to make: run this test as root");
        let folder = tempfile::Builder::new().prefix("loop-zoo-").tempdir().unwrap();
        let built = env!("CARGO_BIN_EXE_loop");
        fs::copy(built, folder.path().join("loop")).unwrap();
        fs::copy(escape_agents(built), folder.path().join("zoo")).unwrap();
        fs::create_dir(folder.path().join("others")).unwrap();
        std::os::unix::fs::symlink("../zoo", folder.path().join("others/loop")).unwrap();
        for path in ["", "loop", "zoo", "others"] {
            fs::set_permissions(folder.path().join(path), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self { folder }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A cgroup that is given to a user, as a login of systemd does.
#[derive(Debug)]
pub(super) struct Delegated {
    pub(super) path: PathBuf,
}

impl Delegated {
    fn new(name: &str, uid: u32) -> Self {
        let path = place_of_cgroups().join(format!("loop-zoo-{name}"));
        fs::create_dir(&path).unwrap();
        chown(&path, Some(uid), Some(uid)).unwrap();
        for file in ["cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
            chown(path.join(file), Some(uid), Some(uid)).unwrap();
        }
        Self { path }
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        fs::write(self.path.join("cgroup.kill"), "1").ok();
        loop_testkit::wait_at_most(std::time::Duration::from_secs(2), || {
            remove_below(&self.path);
            !self.path.exists()
        });
    }
}

/// Removes cgroups from the inside out.
pub(super) fn remove_below(path: &Path) {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        remove_below(&entry.path());
    }
    fs::remove_dir(path).ok();
}

/// Our own cgroup, or the topmost where it is not seen.
pub(super) fn place_of_cgroups() -> PathBuf {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let place = words.nth(1)?;
        (words.next()? == "cgroup2").then(|| PathBuf::from(place))
    });
    assert!(mount.is_some(), "cgroup v2 is mounted nowhere: mount -t cgroup2 none <folder>");
    let mount = mount.unwrap();
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let place = mount.join(own);
    if place.is_dir() { place } else { mount }
}

impl Mode {
    /// A fresh user of this mode, and the cgroup that was given to them.
    pub(super) fn user(&self, programs: &Programs, name: &str) -> (TestEnv, Option<Delegated>) {
        let cgroup = self.is_delegated.then(|| Delegated::new(name, self.uid));
        let user = TestEnv::new(programs.path("loop").to_str().unwrap());
        fs::create_dir(user.root().join("zoo")).unwrap();
        let place = cgroup.as_ref().map_or_else(|| "-".to_owned(), |cgroup| cgroup.path.display().to_string());
        let runner = [programs.path("zoo").display().to_string(), "as".to_owned(), self.uid.to_string(), place];
        (user.owned_by(self.uid).run_by(&runner), cgroup)
    }

    /// The words that choose it.
    pub(super) fn words(&self) -> [&'static str; 2] {
        ["--containment", self.flag]
    }
}

/// By what a process is really held: `cgroup`, `namespace`, or `plain` if neither is seen.
fn held_by(being: Being, run: &str) -> &'static str {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let group = fs::read_to_string(format!("/proc/{}/cgroup", being.pid)).unwrap_or_default();
    if group.lines().any(|line| line.starts_with("0::") && line.contains(&format!("/loop-{run}"))) {
        "cgroup"
    } else if namespace(&being.pid.to_string()) == namespace("self") {
        "plain"
    } else {
        "namespace"
    }
}

#[test]
fn a_containment_that_is_asked_for_by_name_is_the_one_in_force() {
    let programs = Programs::new();
    for mode in ALL {
        let case = Case { kind: "double-fork", cause: Cause::Cancel };
        let mut run = case.begin(mode, &programs);
        let (id, alive) = (run.user.id(), run.left());
        let held: Vec<&str> = alive.iter().map(|being| held_by(*being, &id)).collect();
        assert!(!run.end(&case).is_fault(), "{}", mode.name);
        assert_eq!(held, [mode.flag, mode.flag], "{}: agent and escapee", mode.name);
    }
}
