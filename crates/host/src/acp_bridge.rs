//! The process between the harness and an agent that speaks the Agent Client Protocol.
//!
//! For the harness it is an agent like any other: it is started, contained and ended in the same way, and its
//! stdout is the transcript, one line for every message of either side. [`loop_core::agent::acp`] decides what is
//! sent.
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use loop_core::agent::Permissions;
use loop_core::agent::acp::{AcpTask, Conversation, Finish, FinishReason};
use loop_core::agent::stream::LINE_BYTES_MAX;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::ioctl_fionbio;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde_json::{Value, json};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

/// A line of the agent's that is longer is skipped: with what we put around it, it would be too long for the harness.
const AGENT_LINE_BYTES_MAX: usize = LINE_BYTES_MAX - 64;
/// How many bytes of a skipped line are recorded.
const HEAD_BYTES: usize = 4096;
/// So much may wait for an agent that does not read, beside the prompt.
const UNREAD_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long an agent may take to answer that it stopped. With what follows it is less than the harness grants us.
const CANCEL_WAIT: Duration = Duration::from_millis(3000);
/// How long it may take to end when there is nothing more to read for it.
const CLOSE_WAIT: Duration = Duration::from_secs(2);
/// The same when it was cancelled, or sends nothing more.
const CLOSE_WAIT_SHORT: Duration = Duration::from_millis(500);
/// How long it may take to end when it is asked to by a signal.
const TERMINATE_WAIT: Duration = Duration::from_secs(1);

/// How long programs of the agent's may take to end after it.
const CHILDREN_WAIT: Duration = Duration::from_secs(1);
/// How long between two looks whether they have.
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// What is to be done.
#[derive(Debug, Clone, Default)]
pub struct BridgeRequest {
    /// The agent's program and its arguments.
    pub argv: Vec<OsString>,
    /// The file that holds the prompt.
    pub prompt_file: PathBuf,
    /// The file with what else the agent is to know; it goes below the prompt.
    pub system_file: Option<PathBuf>,
    /// The session to resume.
    pub session: Option<String>,
    /// How much the agent may do.
    pub permissions: Permissions,
    /// Whether it may fetch from the network.
    pub network: bool,
    /// The model.
    pub model: Option<String>,
    /// The mode.
    pub mode: Option<String>,
}

/// Runs the agent and returns the exit code: 0 if it ended well, 127 if it could not be started, else 1.
///
/// # Errors
/// When a file cannot be read, or our output cannot be written.
pub fn run(request: &BridgeRequest) -> io::Result<u8> {
    let task = acp_task(request)?;
    let signals = listen(&[SIGTERM, SIGINT, SIGHUP])?;
    let children = listen(&[SIGCHLD])?;
    let Some((program, arguments)) = request.argv.split_first() else {
        return Err(io::Error::other("no agent to start"));
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            write_line(&Finish { why: FinishReason::NotStarted, detail: error.to_string() }.line())?;
            return Ok(127);
        }
    };
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes to the agent"));
    };
    ioctl_fionbio(&stdin, true)?;
    ioctl_fionbio(&stdout, true)?;
    // As JSON a text may take six times its room.
    let prompt_bytes = task.prompt.len().saturating_mul(6);
    let (machine, first) = Conversation::begin(task);
    let mut bridge = Bridge {
        machine,
        child,
        stdin: Some(stdin),
        stdout: Some(stdout),
        unsent: Vec::new(),
        unsent_most: UNREAD_BYTES_MAX + prompt_bytes,
        partial: Vec::new(),
        skipping: false,
        stage: Stage::Talking,
        signals,
        children,
    };
    let done = bridge.send_messages(first).and_then(|()| bridge.converse());
    if done.is_ok() {
        bridge.let_children_end();
    }
    // Whatever happened, the agent does not outlive us.
    bridge.signal(Signal::KILL);
    done?;
    bridge.last_line()
}

fn acp_task(request: &BridgeRequest) -> io::Result<AcpTask> {
    let text = |path: &PathBuf| std::fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let mut prompt = text(&request.prompt_file)?;
    let system = request.system_file.as_ref().map(text).transpose()?.unwrap_or_default();
    if !system.trim().is_empty() {
        prompt = format!("{}\n\n{system}", prompt.trim_end());
    }
    let set = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    let variables: BTreeSet<String> = set.filter_map(|(name, _)| name.into_string().ok()).collect();
    Ok(AcpTask {
        workspace: std::env::current_dir()?.to_string_lossy().into_owned(),
        prompt,
        session: request.session.clone(),
        permissions: request.permissions,
        network: request.network,
        model: request.model.clone(),
        mode: request.mode.clone(),
        variables,
    })
}

fn listen(numbers: &[i32]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for number in numbers {
        pipe::register(*number, write.try_clone()?)?;
    }
    Ok(read)
}

/// How many signals came.
fn drain(pipe: &mut UnixStream) -> usize {
    let (mut bytes, mut sum) = ([0_u8; 64], 0);
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        sum += count;
    }
    sum
}

fn write_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// How far the end of the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Talking,
    /// The agent was asked to stop its work.
    Cancelling {
        until: Instant,
    },
    /// There is nothing more to read for it.
    Closing {
        until: Instant,
    },
    /// It was asked to end by a signal.
    Terminating {
        until: Instant,
    },
    Killed,
}

#[derive(Debug)]
struct Bridge {
    machine: Conversation,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    unsent: Vec<u8>,
    /// So much of it may wait.
    unsent_most: usize,
    /// The beginning of a line whose end has not come.
    partial: Vec<u8>,
    /// That line is already too long.
    skipping: bool,
    stage: Stage,
    signals: UnixStream,
    children: UnixStream,
}

impl Bridge {
    /// Carries words to and fro until the agent has ended.
    fn converse(&mut self) -> io::Result<()> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                // Its last output is still in the pipe.
                self.read_agent()?;
                if self.skipping || !self.partial.is_empty() {
                    self.line()?;
                }
                self.machine.gone(&brief(status));
                return Ok(());
            }
            self.proceed();
            self.wait()?;
            self.read_agent()?;
            self.send()?;
            if drain(&mut self.signals) > 0 {
                self.asked_to_stop()?;
            }
            drain(&mut self.children);
        }
    }

    /// The next stage, where it is time for it.
    fn proceed(&mut self) {
        let now = Instant::now();
        match self.stage {
            Stage::Talking if self.machine.finished().is_some() => self.close(CLOSE_WAIT),
            Stage::Cancelling { .. } if self.machine.finished().is_some() => self.close(CLOSE_WAIT_SHORT),
            Stage::Cancelling { until } if now >= until => {
                self.machine.give_up("the agent did not answer that it stopped");
                self.close(CLOSE_WAIT_SHORT);
            }
            Stage::Closing { until } if now >= until => {
                self.machine.gone("the agent closed its stdout");
                self.terminate();
            }
            Stage::Terminating { until } if now >= until => {
                self.stage = Stage::Killed;
                self.signal(Signal::KILL);
            }
            Stage::Talking
            | Stage::Cancelling { .. }
            | Stage::Closing { .. }
            | Stage::Terminating { .. }
            | Stage::Killed => {}
        }
    }

    /// Most agents end when their stdin does.
    fn close(&mut self, wait: Duration) {
        self.stdin = None;
        self.stage = Stage::Closing { until: Instant::now() + wait };
    }

    fn terminate(&mut self) {
        self.stage = Stage::Terminating { until: Instant::now() + TERMINATE_WAIT };
        self.signal(Signal::TERM);
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            kill_process_group(group, signal).ok();
        }
    }

    /// A program that the agent works with ends when it sees that the agent has. Only what does not is counted as left.
    fn let_children_end(&self) {
        let Some(group) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) else { return };
        let until = Instant::now() + CHILDREN_WAIT;
        while Instant::now() < until && test_kill_process_group(group).is_ok() {
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }

    fn asked_to_stop(&mut self) -> io::Result<()> {
        match self.stage {
            Stage::Talking => {
                let words = self.machine.cancel();
                self.stage = Stage::Cancelling { until: Instant::now() + CANCEL_WAIT };
                self.send_messages(words)
            }
            Stage::Cancelling { .. } => {
                self.machine.give_up("asked to stop twice");
                self.stdin = None;
                self.terminate();
                Ok(())
            }
            Stage::Closing { .. } | Stage::Terminating { .. } | Stage::Killed => Ok(()),
        }
    }

    fn wait(&self) -> io::Result<()> {
        let until = match self.stage {
            Stage::Cancelling { until } | Stage::Closing { until } | Stage::Terminating { until } => Some(until),
            Stage::Talking | Stage::Killed => None,
        };
        let most = until.map(|until| until.saturating_duration_since(Instant::now())).map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        let mut fds = vec![
            PollFd::from_borrowed_fd(self.signals.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(self.children.as_fd(), PollFlags::IN),
        ];
        if let Some(stdout) = &self.stdout {
            fds.push(PollFd::from_borrowed_fd(stdout.as_fd(), PollFlags::IN));
        }
        if let Some(stdin) = self.stdin.as_ref().filter(|_| !self.unsent.is_empty()) {
            fds.push(PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::OUT));
        }
        match poll(&mut fds, most.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes in what the agent has written by now.
    fn read_agent(&mut self) -> io::Result<()> {
        let mut bytes = vec![0_u8; 64 * 1024];
        while let Some(stdout) = &mut self.stdout {
            match stdout.read(&mut bytes) {
                // Most likely it is about to end; its exit status tells more than the closed pipe.
                Ok(0) => {
                    self.stdout = None;
                    if matches!(self.stage, Stage::Talking | Stage::Cancelling { .. }) {
                        self.close(CLOSE_WAIT_SHORT);
                    }
                }
                Ok(count) => {
                    let piece = bytes.get(..count).unwrap_or_default().to_vec();
                    self.take(&piece)?;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        for part in piece.split_inclusive(|byte| *byte == b'\n') {
            let (text, whole) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
            if !self.skipping {
                self.partial.extend_from_slice(text);
            }
            if self.partial.len() > AGENT_LINE_BYTES_MAX {
                self.skipping = true;
                self.partial.truncate(HEAD_BYTES);
                self.partial.shrink_to_fit();
            }
            if whole {
                self.line()?;
            }
        }
        Ok(())
    }

    /// A line is whole: written down first, then answered.
    fn line(&mut self) -> io::Result<()> {
        let line = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.skipping) {
            let head = String::from_utf8_lossy(&line);
            write_line(&json!({"dir": "<-", "long": true, "head": head}).to_string())?;
            self.machine.long_line(&line);
            return Ok(());
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(());
        }
        let answer = self.machine.line(&line);
        let text = String::from_utf8_lossy(&line);
        match answer {
            Some(words) => {
                write_line(&format!("{{\"dir\":\"<-\",\"msg\":{}}}", text.trim()))?;
                self.send_messages(words)
            }
            None => write_line(&json!({"dir": "<-", "text": text}).to_string()),
        }
    }

    fn send_messages(&mut self, words: Vec<Value>) -> io::Result<()> {
        for message in words {
            let text = message.to_string();
            write_line(&format!("{{\"dir\":\"->\",\"msg\":{text}}}"))?;
            if self.unsent.len() > self.unsent_most {
                self.machine.give_up("the agent does not read its input");
                return Ok(());
            }
            self.unsent.extend_from_slice(text.as_bytes());
            self.unsent.push(b'\n');
        }
        self.send()
    }

    fn send(&mut self) -> io::Result<()> {
        while let Some(stdin) = self.stdin.as_mut().filter(|_| !self.unsent.is_empty()) {
            match stdin.write(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                // Whether it ended or only stopped reading: its exit status tells more.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.stdin = None,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn last_line(&self) -> io::Result<u8> {
        let unknown = Finish { why: FinishReason::AgentEnded, detail: String::new() };
        let finish = self.machine.finished().unwrap_or(&unknown);
        write_line(&finish.line())?;
        Ok(u8::from(!finish.is_well()))
    }
}

fn brief(status: ExitStatus) -> String {
    format!("the agent ended: {status}")
}
