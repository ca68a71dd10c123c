//! Running the user's git in the user's repository, with a time limit. Only a person's command comes here, and never while
//! an agent is alive.
use std::ffi::OsStr;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use loop_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::gate::OF_A_REPOSITORY;
use crate::paths::programs_on_path;
use crate::refusal::LaunchRefusal;

/// A question to git takes at most so long: a repository can have a pipe where git expects a file.
const QUESTION_MAX: Duration = Duration::from_secs(60);
/// The commit itself: hooks can run tests, and a signature can need a person.
const COMMIT_MAX: Duration = Duration::from_secs(900);
/// So much of an answer is read.
const ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What every call sets: no program of the repository's choice, and no work in the background.
const ALWAYS: [&str; 5] = [
    "core.fsmonitor=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "diff.ignoreSubmodules=all",
    "core.quotePath=false",
];

/// The user's git for one folder.
#[derive(Debug, Clone)]
pub(super) struct GitProgram {
    program: PathBuf,
    folder: PathBuf,
    scratch: PathBuf,
    /// Whether hooks run.
    pub(super) hooks: bool,
}

/// What a call of git gave.
#[derive(Debug)]
pub(super) struct GitAnswer {
    pub(super) succeeded: bool,
    pub(super) stdout: Vec<u8>,
    /// Its message, in one line.
    pub(super) message: String,
}

impl GitAnswer {
    /// The answer as one line.
    pub(super) fn line(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end_matches('\n').to_owned()
    }

    /// The answer in pieces that end with NUL.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        self.stdout.split(|byte| *byte == 0).filter(|piece| !piece.is_empty())
    }
}

impl GitProgram {
    /// The first git on PATH that is not in this folder.
    pub(super) fn find(folder: &Path, scratch: &Path, hooks: bool) -> Result<Self, LaunchRefusal> {
        let inside = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let is_outside = |file: &PathBuf| file.canonicalize().is_ok_and(|real| !real.starts_with(&inside));
        let program = programs_on_path("git").into_iter().find(is_outside).ok_or_else(|| {
            LaunchRefusal::unable("nothing can be committed")
                .because("there is no git on PATH outside of the workspace")
                .hint("install git")
        })?;
        Ok(Self { program, folder: inside, scratch: scratch.to_owned(), hooks })
    }

    /// The same in another folder.
    pub(super) fn at(&self, folder: &Path) -> Self {
        Self { folder: folder.to_owned(), ..self.clone() }
    }

    /// Asks git something.
    pub(super) fn ask(&self, words: &[&str]) -> Result<GitAnswer, LaunchRefusal> {
        self.run(words, b"", QUESTION_MAX)
    }

    /// Asks git something about names that it reads from stdin.
    pub(super) fn ask_about(&self, words: &[&str], input: &[u8]) -> Result<GitAnswer, LaunchRefusal> {
        self.run(words, input, QUESTION_MAX)
    }

    /// Makes the commit.
    pub(super) fn commit(&self, words: &[&str], input: &[u8]) -> Result<GitAnswer, LaunchRefusal> {
        self.run(words, input, COMMIT_MAX)
    }

    /// A file of ours that is gone when it is closed.
    fn file(&self) -> io::Result<File> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.scratch)?;
        let path = self.scratch.join(format!("git-{}", crate::fs::fresh_id()?));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    }

    fn run(&self, words: &[&str], input: &[u8], longest: Duration) -> Result<GitAnswer, LaunchRefusal> {
        let verb = words.first().copied().unwrap_or_default();
        self.run_it(words, input, longest).map_err(|error| {
            LaunchRefusal::unable(format!("git {verb} cannot be run")).because(error.to_string()).hint("loop doctor")
        })
    }

    fn run_it(&self, words: &[&str], input: &[u8], longest: Duration) -> io::Result<GitAnswer> {
        let (mut stdin, mut stdout, mut stderr) = (self.file()?, self.file()?, self.file()?);
        stdin.write_all(input)?;
        stdin.rewind()?;
        let mut command = Command::new(&self.program);
        command.arg("-C").arg(&self.folder).args(["--no-pager", "--no-optional-locks"]);
        for setting in ALWAYS {
            command.args(["-c", setting]);
        }
        if !self.hooks {
            command.args(["-c", "core.hooksPath=/dev/null"]);
        }
        command.args(words);
        for name in OF_A_REPOSITORY {
            command.env_remove(name);
        }
        for (name, value) in [("GIT_LITERAL_PATHSPECS", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", ":")] {
            command.env(name, OsStr::new(value));
        }
        command.env("LC_ALL", "C").stdin(stdin).stdout(stdout.try_clone()?).stderr(Stdio::from(stderr.try_clone()?));
        let mut child = command.spawn()?;
        let until = Instant::now() + longest;
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let handle = pid.map(|pid| pidfd_open(pid, PidfdFlags::empty())).transpose()?;
        while let Some(handle) = &handle {
            let left = until.saturating_duration_since(Instant::now());
            let limit = Timespec { tv_sec: left.as_secs().try_into().unwrap_or(1), tv_nsec: 0 };
            match poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&limit)) {
                Ok(0) if left.is_zero() || left < Duration::from_secs(1) => {
                    child.kill()?;
                    child.wait()?;
                    return Err(io::Error::other(format!(
                        "it did not end within {} s, and was ended",
                        longest.as_secs()
                    )));
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        let succeeded = child.wait()?.success();
        let read = |file: &mut File| -> io::Result<Vec<u8>> {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
            Ok(bytes)
        };
        let (stdout, stderr) = (read(&mut stdout)?, read(&mut stderr)?);
        let said = if stderr.is_empty() { &stdout } else { &stderr };
        let message = text::one_line(&text::clean(said), 400);
        Ok(GitAnswer { succeeded, stdout, message })
    }
}
