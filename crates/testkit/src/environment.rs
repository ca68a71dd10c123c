//! A user with nothing: own HOME, own folders, an empty environment, a PATH that holds only what a test puts there.
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::ran::{Ran, Running};

/// A scratch home with a workspace.
#[derive(Debug)]
pub struct TestEnv {
    root: TempDir,
    program: PathBuf,
    variables: Vec<(OsString, OsString)>,
    runner: Vec<OsString>,
}

impl TestEnv {
    /// A fresh user of the built program.
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self::within(program, &std::env::temp_dir())
    }

    /// The same in a folder of the test's choice, such as one on a file system of its own.
    ///
    /// # Panics
    /// When nothing can be made there.
    #[must_use]
    pub fn within(program: &str, folder: &Path) -> Self {
        let root = tempfile::Builder::new().prefix("loop-test-").tempdir_in(folder).expect("a scratch folder");
        for folder in ["home", "bin", "work", "tmp"] {
            fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        Self { root, program: PathBuf::from(program), variables: Vec::new(), runner: Vec::new() }
    }

    /// Sets a variable for all that follows.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name.into(), value.as_ref().to_owned()));
        self
    }

    /// Lets every command be run by another program: these are the words before it.
    #[must_use]
    pub fn run_by<S: AsRef<OsStr>>(mut self, words: &[S]) -> Self {
        self.runner = words.iter().map(|word| word.as_ref().to_owned()).collect();
        self
    }

    /// Gives everything that is there to another user; only root can.
    #[must_use]
    pub fn owned_by(self, uid: u32) -> Self {
        let paths = self.tree("").into_iter().map(|path| self.root().join(path));
        for path in paths.chain([self.root().to_owned()]) {
            std::os::unix::fs::chown(path, Some(uid), Some(uid)).expect("root, who may give files away");
        }
        self
    }

    /// The folder of everything.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// The workspace.
    #[must_use]
    pub fn work(&self) -> PathBuf {
        self.root().join("work")
    }

    /// The state folder.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root().join("home/.local/state/loop")
    }

    /// The user's own settings.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.root().join("home/.config/loop")
    }

    /// Writes a file below the root, its folders too.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// The text of a file below the root; empty if there is none.
    #[must_use]
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root().join(path)).unwrap_or_default()
    }

    /// Puts a program on the PATH.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.root().join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a program");
    }

    /// A command of the built program in the workspace.
    #[must_use]
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut words = self.runner.iter().map(OsString::as_os_str).chain([self.program.as_os_str()]);
        let mut command = Command::new(words.next().expect("a program"));
        command.args(words).args(arguments);
        self.apply_env(&mut command);
        command
    }

    /// Gives a command this user's environment and nothing else.
    pub fn apply_env(&self, command: &mut Command) {
        command.env_clear().current_dir(self.work());
        command.env("HOME", self.root().join("home")).env("TMPDIR", self.root().join("tmp"));
        command.env("PATH", format!("{}:/usr/bin:/bin", self.root().join("bin").display()));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    }

    /// Runs the program to its end.
    #[must_use]
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ran {
        self.begin(arguments).end()
    }

    /// Begins the program and lets it run.
    #[must_use]
    pub fn begin<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Running {
        let child = self.command(arguments).spawn().expect("the built program");
        Running::new(child, self.root())
    }

    /// Runs a shell line on a terminal of its own; what comes back is how it ended and what the screen got.
    #[must_use]
    pub fn on_a_terminal(&self, line: &str) -> (Ran, String) {
        let ran = self.begin_on_a_terminal(line, Stdio::null()).end();
        (ran, self.screen())
    }

    /// Begins a shell line on a terminal of its own; what is written to `keys` is typed there.
    #[must_use]
    pub fn begin_on_a_terminal(&self, line: &str, keys: Stdio) -> Running {
        let mut command = Command::new("script");
        command.args(["-qefc", line]).arg(self.root().join("screen"));
        self.apply_env(&mut command);
        command.env("TERM", "xterm").stdin(keys);
        Running::new(command.spawn().expect("script: run ./check --install"), self.root())
    }

    /// What the screen of the terminal got so far.
    #[must_use]
    pub fn screen(&self) -> String {
        fs::read(self.root().join("screen"))
            .map_or_else(|_| String::new(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Waits until the screen of the terminal says this so often, with a bound.
    pub fn wait_for_screen(&self, words: &str, times: usize) {
        wait_until(&format!("the screen says {words}"), || self.screen().matches(words).count() >= times);
    }

    /// The ids of all runs, sorted.
    #[must_use]
    pub fn ids(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state().join("runs")).into_iter().flatten().flatten();
        let mut ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        ids.retain(|id| !id.starts_with('.'));
        ids.sort();
        ids
    }

    /// The id of the only run.
    #[must_use]
    pub fn id(&self) -> String {
        let ids = self.ids();
        assert_eq!(ids.len(), 1, "one run: {ids:?}");
        ids[0].clone()
    }

    /// The folder of a run.
    #[must_use]
    pub fn run_folder(&self, id: &str) -> PathBuf {
        self.state().join("runs").join(id)
    }

    /// Waits until the only run's journal says this, with a bound.
    pub fn wait_for_fact(&self, words: &str) {
        wait_until(&format!("the journal says {words}"), || {
            let journals = self.ids().into_iter().map(|id| self.run_folder(&id).join("journal.jsonl"));
            journals.map(|path| fs::read_to_string(path).unwrap_or_default()).any(|text| text.contains(words))
        });
    }

    /// Waits until a file below the root is there, with a bound.
    pub fn wait_for_file(&self, path: &str) {
        wait_until(path, || self.root().join(path).exists());
    }

    /// Kills a loop with all that keeps its processes together, at one stroke: what it runs lives on.
    pub fn kill_all_of_ours(&self, id: &str, harness: Running) {
        let program = fs::canonicalize(&self.program).expect("the program is built");
        let ours = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|path| path == program);
        let keepers: Vec<u32> = self.marked(id).into_iter().filter(ours).collect();
        let all: Vec<String> = keepers.iter().chain([&harness.pid()]).map(u32::to_string).collect();
        for signal in ["-STOP", "-KILL"] {
            let sent = Command::new("kill").arg(signal).args(&all).status().expect("kill can be run");
            assert!(sent.success(), "kill {signal} {all:?}");
        }
        drop(harness.end());
    }

    /// The same for what takes minutes: a flood of gibibytes.
    pub fn wait_for_file_long(&self, path: &str) {
        let came = (0..20).any(|_| wait_for(&mut || self.root().join(path).exists()));
        assert!(came, "waited ten minutes and it never came: {path}");
    }

    /// What carries a run's mark and is alive.
    #[must_use]
    pub fn marked(&self, id: &str) -> Vec<u32> {
        let mark = format!("LOOP_MARK={id}");
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let dead = state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'));
            !dead && environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
        })
        .collect()
    }

    /// Everything below a folder, as sorted relative paths.
    #[must_use]
    pub fn tree(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        let base = self.root().join(folder);
        let mut open = vec![base.clone()];
        while let Some(path) = open.pop() {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                found.push(entry.path().strip_prefix(&base).expect("below").to_string_lossy().into_owned());
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(entry.path());
                }
            }
        }
        found.sort();
        found
    }
}

/// Waits for something for so long at most; whether it came.
pub fn wait_at_most(bound: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + bound;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits for something with a bound that only a fault reaches.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    assert!(wait_for(&mut is_so), "waited 30 s and it never came: {what}");
}

fn wait_for(is_so: &mut dyn FnMut() -> bool) -> bool {
    for _ in 0..3000 {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

/// A program of this workspace, as it was built beside the tests.
#[must_use]
pub fn built(name: &str) -> PathBuf {
    let tests = std::env::current_exe().expect("a test has a path");
    let folder = tests.parent().and_then(Path::parent).expect("tests lie in a folder of the build");
    let program = folder.join(name);
    assert!(program.is_file(), "{name} is not built: cargo build --workspace");
    program
}

/// A folder in memory, where waiting for a disk costs nothing. On disk where a container gives little memory for it, or
/// lets no program run there.
///
/// # Panics
/// When it cannot be made.
#[must_use]
pub fn folder_in_memory() -> tempfile::TempDir {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let of_memory = |line: &&str| line.split(' ').nth(1) == Some("/dev/shm");
    let is_good = mounts.lines().rfind(of_memory).is_some_and(|line| {
        let mut options = line.split(' ').nth(3).unwrap_or_default().split(',');
        options.all(|option| {
            let size = option.strip_prefix("size=").and_then(|size| size.strip_suffix('k')?.parse::<u64>().ok());
            option != "noexec" && size.is_none_or(|kilobytes| kilobytes >= 1024 * 1024)
        })
    });
    let in_memory = is_good.then(|| tempfile::tempdir_in("/dev/shm").ok()).flatten();
    in_memory.unwrap_or_else(|| tempfile::tempdir().expect("a folder for the test"))
}
