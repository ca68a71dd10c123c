//! One order's process from start to the death of all that it started. Never waits: the driver's
//! loop asks what it wants to be woken for, and wakes it.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use loop_core::run::{Ended, Output, ProcessId};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::sweep::{MARK, mark};
use super::transcript::{Transcript, sha256_of};
use super::tree::{Tree, identity, name_of};

/// How long a process that is asked to end may take before it is made to.
const GRACE: Duration = Duration::from_secs(5);
/// The same for what an agent or gate left running after its own end.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// Past this nothing will end it; it is answered as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);
/// How often we look whether orphans that were asked to end have done so.
const LOOK_FOR_ORPHANS: Duration = Duration::from_millis(20);
/// How often we look whether the killed are gone.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// The rest in two pipes, of a mebibyte each at most, is read in so many turns.
const LAST_READS_MAX: u32 = 17;
/// So many of those that could not be ended are named.
const NAMED_MAX: usize = 20;
/// The most that is read before others get their turn.
const READ_BYTES_MAX: usize = 64 * 1024;

/// What to start.
#[derive(Debug)]
pub struct TaskSpec<'a> {
    /// The run, for the mark.
    pub run: &'a str,
    /// Program and arguments.
    pub argv: &'a [String],
    /// Variables beside the inherited ones.
    pub env: Vec<(String, std::ffi::OsString)>,
    /// Where.
    pub folder: PathBuf,
    /// The file that is its stdin; none means nothing to read.
    pub stdin: Option<PathBuf>,
    /// The folder in which `stdout` and `stderr` are kept.
    pub output: PathBuf,
}

/// A process under way.
#[derive(Debug)]
pub struct Task {
    child: Child,
    handle: OwnedFd,
    tree: Tree,
    started: Instant,
    pipes: [Pipe; 2],
    output: PathBuf,
    status: Option<ExitStatus>,
    recalled: bool,
    ending: Option<Ending>,
    left_running: u32,
    failed: Option<io::Error>,
    done: bool,
}

#[derive(Debug)]
struct Pipe {
    from: Option<File>,
    to: Transcript,
}

#[derive(Debug)]
struct Ending {
    since: Instant,
    kill_at: Instant,
}

/// How a task ended.
#[derive(Debug)]
pub struct TaskEnd {
    /// How its own process ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote.
    pub output: Output,
    /// The newest bytes of stdout.
    pub stdout_end: Vec<u8>,
    /// The newest bytes of stderr.
    pub stderr_end: Vec<u8>,
    /// How many processes it had left running.
    pub left_running: u32,
    /// Who could not be ended.
    pub lost: Vec<String>,
    /// What went wrong with its output.
    pub failed: Option<String>,
}

impl Task {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(spec: TaskSpec<'_>) -> io::Result<Self> {
        let (program, arguments) = spec.argv.split_first().ok_or_else(|| io::Error::other("no command"))?;
        let stdin = match &spec.stdin {
            Some(path) => Stdio::from(File::open(path)?),
            None => Stdio::null(),
        };
        let mut command = Command::new(program);
        command.args(arguments).envs(spec.env).env(MARK, mark(spec.run)).current_dir(&spec.folder);
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        own_session(&mut command);
        let mut child = command.spawn()?;
        let pid = i32::try_from(child.id()).unwrap_or(0);
        let stdout = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let watched = watch(pid, [&stdout, &stderr]);
        let handle = watched.inspect_err(|_| {
            // Started but not to be watched: it must not work on unseen.
            child.kill().ok();
            child.wait().ok();
        })?;
        let pipe = |from, name| Pipe { from, to: Transcript::new(spec.output.join(name)) };
        Ok(Self {
            child,
            handle,
            tree: Tree::of(pid),
            started: Instant::now(),
            pipes: [pipe(stdout, "stdout"), pipe(stderr, "stderr")],
            output: spec.output,
            status: None,
            recalled: false,
            ending: None,
            left_running: 0,
            failed: None,
            done: false,
        })
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> Option<ProcessId> {
        identity(self.pid())
    }

    /// The number of its process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap_or(0)
    }

    /// What should wake it.
    #[must_use]
    pub fn wants(&self) -> Vec<BorrowedFd<'_>> {
        let pipes = self.pipes.iter().filter_map(|pipe| pipe.from.as_ref()).map(AsFd::as_fd);
        let handle = self.status.is_none().then(|| self.handle.as_fd());
        pipes.chain(handle).collect()
    }

    /// When it wants to be woken even if nothing comes.
    #[must_use]
    pub fn wakes_in(&self, now: Instant) -> Option<Duration> {
        let ending = self.ending.as_ref()?;
        // Whether orphans are gone nobody tells us: that is looked for.
        let until_kill = ending.kill_at.saturating_duration_since(now);
        let orphans = self.status.is_some();
        Some(match (until_kill.is_zero(), orphans) {
            (true, _) => LOOK_AGAIN,
            (false, true) => until_kill.min(LOOK_FOR_ORPHANS),
            (false, false) => until_kill,
        })
    }

    /// The processor time of all its processes.
    #[must_use]
    pub fn ticks(&self, others: &[i32]) -> u64 {
        self.tree.ticks(others)
    }

    /// How many bytes it has written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.pipes.iter().map(|pipe| pipe.to.bytes()).sum()
    }

    /// Asks it to end. Its end is still waited for.
    pub fn recall(&mut self) {
        if !self.recalled && self.status.is_none() {
            self.recalled = true;
            self.signal(&[], Signal::TERM);
            let since = Instant::now();
            self.ending = Some(Ending { since, kill_at: since + GRACE });
        }
    }

    /// Each one once: a program that is told twice may take the second for *at once*.
    fn signal(&self, others: &[i32], signal: Signal) -> usize {
        if let Some(pid) = Pid::from_raw(self.pid()).filter(|_| self.status.is_none()) {
            if signal == Signal::KILL {
                kill_process_group(pid, signal).ok();
            } else {
                kill_process(pid, signal).ok();
            }
        }
        self.tree.signal(others, signal)
    }

    /// Goes on: reads what came, sees who is dead. Says how it ended once all are. `others` are the
    /// processes of other tasks, `heard` gets what was written, as it comes.
    pub fn go_on(&mut self, others: &[i32], heard: &mut dyn FnMut(&[u8])) -> Option<TaskEnd> {
        self.read(heard);
        if self.status.is_none() {
            self.status = self.child.try_wait().unwrap_or(None);
        }
        let now = Instant::now();
        let kill = self.ending.as_ref().is_some_and(|ending| now >= ending.kill_at);
        if self.status.is_none() {
            if kill {
                self.signal(others, Signal::KILL);
                self.status = self.child.try_wait().unwrap_or(None);
            }
            let lost = self.ending.as_ref().is_some_and(|ending| now > ending.since + LOST_AFTER);
            return lost.then(|| self.end(vec![name_of(self.pid())], heard));
        }
        let alive = self.tree.alive(others);
        if alive.is_empty() {
            return Some(self.end(Vec::new(), heard));
        }
        self.end_leftovers(others, &alive, now).map(|lost| self.end(lost, heard))
    }

    /// Its own process is gone, others of it are not.
    fn end_leftovers(&mut self, others: &[i32], alive: &[i32], now: Instant) -> Option<Vec<String>> {
        if let Some(ending) = &self.ending {
            // The shell in between may be gone at once; the agent itself still has its time to save.
            if now >= ending.kill_at {
                self.tree.signal(others, Signal::KILL);
            }
            let lost = now > ending.since + LOST_AFTER;
            return lost.then(|| names_of(alive));
        }
        self.left_running = u32::try_from(alive.len()).unwrap_or(u32::MAX);
        self.tree.signal(others, Signal::TERM);
        self.ending = Some(Ending { since: now, kill_at: now + LEFTOVER_GRACE });
        None
    }

    fn read(&mut self, heard: &mut dyn FnMut(&[u8])) {
        let mut buffer = [0_u8; READ_BYTES_MAX];
        for pipe in &mut self.pipes {
            let Some(from) = &mut pipe.from else { continue };
            match from.read(&mut buffer) {
                Ok(0) => pipe.from = None,
                Ok(count) => {
                    heard(&buffer[..count]);
                    // What cannot be kept must not stop the process, which would block on its pipe.
                    if let Err(error) = pipe.to.write(&buffer[..count]) {
                        self.failed.get_or_insert(error);
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => pipe.from = None,
            }
        }
    }

    /// All are dead, so nobody can write any more: what is still in the pipes is the rest.
    fn end(&mut self, lost: Vec<String>, heard: &mut dyn FnMut(&[u8])) -> TaskEnd {
        // A pipe holds no more than this; whoever could not be ended may write for ever.
        for _ in 0..LAST_READS_MAX {
            let before = self.written();
            self.read(heard);
            if self.written() == before || !lost.is_empty() {
                break;
            }
        }
        self.done = true;
        let (stdout, stderr) = (self.output.join("stdout"), self.output.join("stderr"));
        TaskEnd {
            ended: self.ended(),
            duration_ms: u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            output: Output {
                stdout_bytes: self.pipes[0].to.bytes(),
                stderr_bytes: self.pipes[1].to.bytes(),
                sha256: sha256_of([&stdout, &stderr]),
            },
            stdout_end: self.pipes[0].to.last().to_vec(),
            stderr_end: self.pipes[1].to.last().to_vec(),
            left_running: self.left_running,
            lost,
            failed: self.failed.take().map(|error| format!("cannot keep the output: {error}")),
        }
    }

    fn ended(&self) -> Ended {
        match self.status {
            _ if self.recalled => Ended::ByUs,
            None => Ended::ByUs,
            Some(status) => match (status.code(), status.signal()) {
                (Some(code), _) => Ended::Exit(code),
                (None, Some(signal)) => Ended::Signal(signal),
                (None, None) => Ended::ByUs,
            },
        }
    }
}

/// A handle of the process, and pipes that never make us wait.
fn watch(pid: i32, pipes: [&Option<File>; 2]) -> io::Result<OwnedFd> {
    for pipe in pipes.into_iter().flatten() {
        rustix::io::ioctl_fionbio(pipe, true)?;
    }
    let pid = Pid::from_raw(pid).ok_or_else(|| io::Error::other("no process"))?;
    pidfd_open(pid, PidfdFlags::empty()).map_err(Into::into)
}

/// Names for people, a bounded number of them.
pub(super) fn names_of(pids: &[i32]) -> Vec<String> {
    let mut names: Vec<String> = pids.iter().take(NAMED_MAX).map(|pid| name_of(*pid)).collect();
    if pids.len() > NAMED_MAX {
        names.push(format!("and {} more", pids.len() - NAMED_MAX));
    }
    names
}

/// A session of its own: no terminal to write to or to be stopped by, no signals of ours.
#[expect(unsafe_code, reason = "the standard library has no safe way to make a session")]
fn own_session(command: &mut Command) {
    // SAFETY: between fork and exec only one system call is made, which allocates and locks nothing.
    unsafe {
        command.pre_exec(|| rustix::process::setsid().map(drop).map_err(Into::into));
    }
}

impl Drop for Task {
    /// Nothing is left running, not even when the driver gives up.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        if self.status.is_none() {
            self.signal(&[], Signal::KILL);
            drop(self.child.wait());
        }
        self.tree.signal(&[], Signal::KILL);
    }
}
