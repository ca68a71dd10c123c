//! The process of one order, from its start to the end of everything it started. It never waits: the driver's loop
//! asks what to poll, and calls it.
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::agent::{Redactor, Secrets};
use loop_core::run::{Ended, Output, ProcessId};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};

use super::contain::{Ask, Begun, Command, Containment, Report};
use super::proc::ticks;
use super::transcript::{Transcript, sha256_of};
use crate::fs::FolderId;
use crate::paths::shell;

/// An init that was asked to end its order and has not reported it by now counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(17);
/// How long an order may take to end when its answer is not needed.
const DROP_TAKES_MAX: Duration = Duration::from_secs(5);
/// What a pipe for stdout takes: the most that a user may ask for by default.
const PIPE_BYTES: usize = 1024 * 1024;
/// The rest in two pipes, of a mebibyte each at most, is read in so many turns.
const LAST_READS_MAX: u32 = 17;
/// The most that is read before others get their turn.
const READ_BYTES_MAX: usize = 64 * 1024;

/// The kind of order of which there is one at a time: agents and gates.
pub const MAIN: &str = "main";

/// Where a process wrote something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Voice {
    /// Its stdout.
    Stdout,
    /// Its stderr.
    Stderr,
}

/// What to start.
#[derive(Debug)]
pub struct TaskSpec<'a> {
    /// The kind of order.
    pub lane: &'static str,
    /// Program and arguments.
    pub argv: &'a [String],
    /// Whether it gets the variables of `env` and no others; else they come beside the inherited ones, which are
    /// the user's whole environment less our tokens.
    pub clear: bool,
    /// Its variables.
    pub env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// Where.
    pub folder: PathBuf,
    /// Which folder that must be, where it matters: in another one that took its place nothing is started.
    pub same: Option<FolderId>,
    /// The file that is its stdin; none means nothing to read.
    pub stdin: Option<PathBuf>,
    /// The folder in which `stdout` and `stderr` are stored.
    pub output: PathBuf,
    /// What is removed from its output before it is stored or shown.
    pub secrets: Arc<Secrets>,
}

/// A running process.
#[derive(Debug)]
pub struct Task {
    lane: &'static str,
    order: UnixStream,
    received: Vec<u8>,
    process: ProcessId,
    init: ProcessId,
    started: Instant,
    pipes: [Pipe; 2],
    /// How many bytes came from it, secrets and all.
    came: u64,
    output: PathBuf,
    ended: Option<Ended>,
    /// Whether we ended it.
    by_us: bool,
    /// How it is asked to end.
    gentle: Ask,
    /// When its init, which was asked to end it or has reported its end, counts as lost.
    lost_at: Option<Instant>,
    /// Whether others were alive when its own process ended, and how many.
    left: Option<u32>,
    failed: Option<io::Error>,
    done: bool,
}

#[derive(Debug)]
struct Pipe {
    voice: Voice,
    from: Option<File>,
    redactor: Redactor,
    to: Transcript,
}

impl Pipe {
    /// Passes on complete pieces. A write error must not stop the process, which would block on its pipe.
    fn hand_on(&mut self, bytes: &[u8], on_output: &mut dyn FnMut(Voice, &[u8])) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        on_output(self.voice, bytes);
        self.to.write(bytes)
    }
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
    /// What people should know about it.
    pub remark: Option<String>,
}

impl Task {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(spec: TaskSpec<'_>, containment: &mut Containment) -> io::Result<Self> {
        let stdin = match &spec.stdin {
            Some(path) => File::open(path)?,
            None => File::open("/dev/null")?,
        };
        let (stdout, their_stdout) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = pipe_with(PipeFlags::CLOEXEC)?;
        // Programs on Node lose at their end what the pipe does not take. Without the right to it, the usual size stays.
        fcntl_setpipe_size(&stdout, PIPE_BYTES).ok();
        let command = Command {
            file: match spec.argv.first().map_or("", String::as_str) {
                "sh" => shell(&spec.folder),
                program => containment.file_of(program),
            },
            argv: spec.argv.iter().map(Into::into).collect(),
            folder: spec.folder,
            same: spec.same,
            clear: spec.clear,
            env: spec.env,
        };
        let stdio = [stdin.as_fd(), their_stdout.as_fd(), their_stderr.as_fd()];
        let Begun { order, received, process, init } = containment.begin(spec.lane, stdio, &command)?;
        let pipe = |from: OwnedFd, voice, name| -> io::Result<Pipe> {
            rustix::io::ioctl_fionbio(&from, true)?;
            let redactor = Redactor::new(Arc::clone(&spec.secrets));
            Ok(Pipe { voice, from: Some(File::from(from)), redactor, to: Transcript::new(spec.output.join(name)) })
        };
        Ok(Self {
            lane: spec.lane,
            order,
            received,
            process,
            init,
            started: Instant::now(),
            // On an error the socket closes, and the init ends what it has just started.
            pipes: [pipe(stdout, Voice::Stdout, "stdout")?, pipe(stderr, Voice::Stderr, "stderr")?],
            came: 0,
            output: spec.output,
            ended: None,
            by_us: false,
            gentle: Ask::End,
            lost_at: None,
            left: None,
            failed: None,
            done: false,
        })
    }

    /// Its process.
    #[must_use]
    pub fn process(&self) -> ProcessId {
        self.process
    }

    /// What should wake it.
    #[must_use]
    pub fn wants(&self) -> Vec<BorrowedFd<'_>> {
        let pipes = self.pipes.iter().filter_map(|pipe| pipe.from.as_ref()).map(AsFd::as_fd);
        pipes.chain([self.order.as_fd()]).collect()
    }

    /// When it must be woken even if nothing comes.
    #[must_use]
    pub fn wakes_in(&self, now: Instant) -> Option<Duration> {
        self.lost_at.map(|at| at.saturating_duration_since(now))
    }

    /// The processor time of all its processes.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        ticks(self.init.pid)
    }

    /// How many bytes it has written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.came
    }

    /// Asks it to end. Its end is still waited for.
    pub fn cancel(&mut self) {
        if !self.by_us && self.ended.is_none() {
            self.by_us = true;
            self.ask(self.gentle);
        }
        self.expect_the_end();
    }

    /// Ends it and all that belongs to it, without asking any more.
    pub fn cut(&mut self) {
        self.by_us |= self.ended.is_none();
        // Where the command itself is gone, others of it may not be.
        self.ask(Ask::Kill);
        self.expect_the_end();
    }

    /// Lets it end in order by an interrupt to its own process alone, which then ends what it started.
    #[must_use]
    pub fn interrupted_gently(mut self) -> Self {
        self.gentle = Ask::Interrupt;
        self
    }

    /// From now on its init has a limited time to end all processes.
    fn expect_the_end(&mut self) {
        self.lost_at.get_or_insert_with(|| Instant::now() + LOST_AFTER);
    }

    /// Stops all its processes where they are, or lets them go on.
    pub fn freeze(&mut self, still: bool) {
        self.ask(if still { Ask::Freeze } else { Ask::Thaw });
    }

    fn ask(&mut self, ask: Ask) {
        // An init that is gone is seen when its reports are read.
        self.order.write_all(&[ask.byte()]).ok();
    }

    /// Reads what came. Returns how it ended once all are dead. `on_output` gets what was written, as it comes.
    pub fn go_on(&mut self, containment: &mut Containment, on_output: &mut dyn FnMut(Voice, &[u8])) -> Option<TaskEnd> {
        self.read(on_output);
        let mut gone = self.listen();
        while let Some(report) = self.next_report() {
            match report {
                Report::Exit(code) => self.has_ended(Ended::Exit(code)),
                Report::Signal(signal) => self.has_ended(Ended::Signal(signal)),
                Report::Left(count) => self.left = Some(count),
                Report::Gone => {
                    if self.left.is_some() || self.by_us {
                        containment.spend(self.lane);
                    } else if let Ok(init) = self.order.try_clone() {
                        containment.give_back(self.lane, init);
                    }
                    return Some(self.end(Vec::new(), None, on_output));
                }
                Report::Lost(left) => return Some(self.end(left, None, on_output)),
                Report::Started { .. } | Report::NotStarted { .. } | Report::NotContained { .. } => {}
            }
        }
        gone = gone || containment.is_attacked() || self.lost_at.is_some_and(|at| Instant::now() >= at);
        gone.then(|| {
            let left = containment.end_all();
            let remark =
                "a process of ours that supervises the command was killed or stopped; its processes have been ended";
            self.end(left, Some(remark.to_owned()), on_output)
        })
    }

    fn has_ended(&mut self, ended: Ended) {
        self.ended = Some(ended);
        self.expect_the_end();
    }

    /// Reads reports of the init; true when it is gone.
    fn listen(&mut self) -> bool {
        let mut bytes = [0_u8; 4096];
        loop {
            match self.order.read(&mut bytes) {
                Ok(0) => return true,
                Ok(count) => self.received.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
            }
        }
    }

    fn next_report(&mut self) -> Option<Report> {
        let end = self.received.iter().position(|byte| *byte == b'\n')?;
        let rest = self.received.split_off(end + 1);
        let line = std::mem::replace(&mut self.received, rest);
        serde_json::from_slice(&line).ok()
    }

    fn read(&mut self, on_output: &mut dyn FnMut(Voice, &[u8])) {
        let mut buffer = [0_u8; READ_BYTES_MAX];
        for pipe in &mut self.pipes {
            let Some(from) = &mut pipe.from else { continue };
            match from.read(&mut buffer) {
                Ok(0) => pipe.from = None,
                Ok(count) => {
                    self.came += u64::try_from(count).unwrap_or(0);
                    let bytes = pipe.redactor.push(&buffer[..count]);
                    if let Err(error) = pipe.hand_on(&bytes, on_output) {
                        self.failed.get_or_insert(error);
                    }
                }
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                Err(_) => pipe.from = None,
            }
        }
    }

    /// All are dead and cannot write any more: what is still in the pipes is the rest.
    fn end(&mut self, lost: Vec<String>, remark: Option<String>, on_output: &mut dyn FnMut(Voice, &[u8])) -> TaskEnd {
        // A pipe holds no more than this; a process that could not be ended may write for ever.
        for _ in 0..LAST_READS_MAX {
            let before = self.came;
            self.read(on_output);
            if self.came == before || !lost.is_empty() {
                break;
            }
        }
        for pipe in &mut self.pipes {
            let rest = pipe.redactor.finish();
            if let Err(error) = pipe.hand_on(&rest, on_output) {
                self.failed.get_or_insert(error);
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
            left_running: self.left.unwrap_or(0),
            lost,
            failed: self.failed.take().map(|error| format!("cannot store the output: {error}")),
            remark,
        }
    }

    fn ended(&self) -> Ended {
        match &self.ended {
            _ if self.by_us => Ended::ByUs,
            Some(ended) => ended.clone(),
            // Killed with the init that would have reported it.
            None => Ended::Signal(libc::SIGKILL),
        }
    }
}

impl Drop for Task {
    /// Nothing is left running, not even when the driver gives up.
    fn drop(&mut self) {
        if self.done {
            return;
        }
        self.ask(Ask::Kill);
        self.order.set_nonblocking(false).ok();
        self.order.set_read_timeout(Some(DROP_TAKES_MAX)).ok();
        // It goes when all are dead.
        let mut bytes = [0_u8; 4096];
        while matches!(self.order.read(&mut bytes), Ok(count) if count > 0) {}
    }
}
