//! A user with nothing, the program under test at a path of its own, and commands of both.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use tempfile::TempDir;

use super::proc;

/// The task of every run here.
const GOAL: &str = "nothing";
/// Longer than this nothing here takes to begin or to go away.
const PATIENCE: Duration = Duration::from_secs(30);

/// Folders that go away with it.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    program: PathBuf,
}

impl Scratch {
    /// A fresh user of a copy of this program.
    ///
    /// # Errors
    /// When the folders cannot be made or the program is not there.
    pub fn new(program: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("loop-bench-").tempdir().context("no scratch folder")?;
        let root = folder.path().canonicalize()?;
        for name in ["home", "work", "tmp"] {
            fs::create_dir(root.join(name))?;
        }
        fs::write(root.join("prompt"), format!("{GOAL}\n"))?;
        // Its own path tells our processes from those of everybody else who runs loop meanwhile.
        let copy = root.join("loop");
        fs::copy(program, &copy).with_context(|| format!("cannot copy {}", program.display()))?;
        // Else the first syncs of the program under test would write its own copy out.
        fs::File::open(&copy)?.sync_all()?;
        Ok(Self { folder, program: copy })
    }

    /// The program under test.
    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// A path below the scratch folder.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Any command, in the workspace and with this user's environment only. What it prints is not read.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path("work"));
        command.env("HOME", self.path("home")).env("LOOP_HOME", self.path("home/loop"));
        command.env("TMPDIR", self.path("tmp")).env("PATH", "/usr/local/bin:/usr/bin:/bin").env("TERM", "xterm");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The words of a start with all that is optional switched off. The promise is never kept.
    #[must_use]
    pub fn start_words(agent: &str, iterations: u32) -> Vec<String> {
        let iterations = iterations.to_string();
        let words = ["start", GOAL, "--agent-cmd", agent, "--promise", "false", "--max-iterations", &iterations];
        let off = ["--checkpoint", "none", "--breaker", "off"];
        words.into_iter().chain(off).map(str::to_owned).collect()
    }

    /// A start of the program under test.
    #[must_use]
    pub fn start(&self, agent: &str, iterations: u32) -> Command {
        let mut command = self.command(&self.program);
        command.args(Self::start_words(agent, iterations));
        command
    }

    /// The journal of the one run there is, once there is one.
    ///
    /// # Errors
    /// When none comes.
    pub fn journal(&self) -> Result<PathBuf> {
        let runs = self.path("home/loop/runs");
        let mut journal = PathBuf::new();
        wait_until("a journal", || {
            let entries = fs::read_dir(&runs).into_iter().flatten().flatten();
            let mut journals = entries.map(|entry| entry.path().join("journal.jsonl"));
            // What begins with a dot is not a run yet.
            let whole = |path: &PathBuf| path.is_file() && !path.to_string_lossy().contains("/.");
            journals.find(whole).is_some_and(|found| {
                journal = found;
                true
            })
        })?;
        Ok(journal)
    }

    /// Fails if a process of the program under test is still there: its costs would have been missed.
    ///
    /// # Errors
    /// When there is one.
    pub fn nothing_left(&self) -> Result<()> {
        wait_until("the end of all processes of loop", || proc::running(&self.program).is_empty())
    }
}

/// A command under way; one that is dropped is killed.
#[derive(Debug)]
pub struct Running(Child);

impl Running {
    /// Begins it.
    ///
    /// # Errors
    /// When it cannot be run.
    pub fn begin(command: &mut Command) -> Result<Self> {
        let child = command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))?;
        Ok(Self(child))
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn has_ended(&mut self) -> Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// When that cannot be told.
    pub fn end(mut self) -> Result<ExitStatus> {
        Ok(self.0.wait()?)
    }

    /// Waits for the end of a start whose promise is never kept.
    ///
    /// # Errors
    /// When it ended otherwise: then it did not do what is measured.
    pub fn end_exhausted(self) -> Result<()> {
        let status = self.end()?;
        let why = "its iterations were to be used up; an older one may not know --breaker";
        ensure!(status.code() == Some(1), "loop ended with {status}: {why}");
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail where it has ended, which is what is wanted.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits for something that comes soon.
///
/// # Errors
/// When it does not.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) -> Result<()> {
    let begun = Instant::now();
    while !is_so() {
        if begun.elapsed() > PATIENCE {
            bail!("waited {} s in vain for {what}", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
