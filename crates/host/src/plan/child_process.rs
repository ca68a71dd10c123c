//! A child process of a plan, seen from the plan: started, watched by its handle, asked to end, killed.
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use loop_core::ids::ProcessId;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal};

use super::child::{ChildLine, ChildRequest, ChildWork};
use crate::branches::CHILD;
use crate::process::identity;

/// A line of a child is at most so long.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// A child that was started.
#[derive(Debug)]
pub(super) struct ChildProcess {
    child: Child,
    handle: OwnedFd,
    /// What it prints; none once it has closed it.
    stdout: Option<ChildStdout>,
    received: Vec<u8>,
    /// The line that it printed.
    line: Option<ChildLine>,
    process: ProcessId,
    /// Whether it was asked to stop after the work under way.
    asked: bool,
    /// How it ended.
    status: Option<ExitStatus>,
}

impl ChildProcess {
    /// Starts a child. Its messages go to a log. `env` is added to the environment of this process.
    pub(super) fn start(work: ChildWork, log: &Path, env: &[(String, String)]) -> io::Result<Self> {
        if let Some(folder) = log.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(log)?;
        let request = ChildRequest { parent: getpid().as_raw_nonzero().get(), work };
        let text = serde_json::to_vec(&request)?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(CHILD).envs(env.iter().map(|(name, value)| (name, value)));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn()?;
        let pid = Pid::from_child(&child);
        let handle = pidfd_open(pid, PidfdFlags::NONBLOCK)?;
        let process = identity(pid.as_raw_nonzero().get())
            .unwrap_or(ProcessId { pid: pid.as_raw_nonzero().get(), start_ticks: 0 });
        if let Some(mut stdin) = child.stdin.take() {
            // A child that died at once is seen by its handle.
            stdin.write_all(&text).ok();
        }
        let stdout = child.stdout.take();
        if let Some(stdout) = &stdout {
            rustix::io::ioctl_fionbio(stdout, true)?;
        }
        Ok(Self { child, handle, stdout, received: Vec::new(), line: None, process, asked: false, status: None })
    }

    pub(super) fn process(&self) -> ProcessId {
        self.process
    }

    /// The line that it printed, as far as it has.
    pub(super) fn line(&self) -> Option<&ChildLine> {
        self.line.as_ref()
    }

    /// Whether a signal ended it.
    pub(super) fn was_killed(&self) -> bool {
        self.status.is_some_and(|status| status.signal().is_some())
    }

    /// What wakes the driver.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.stdout.iter().map(AsFd::as_fd).chain([self.handle.as_fd()])
    }

    /// Reads what came. Whether it has ended.
    pub(super) fn poll(&mut self) -> bool {
        // Looked at first: what it wrote before its end is read after that.
        self.status = self.child.try_wait().ok().flatten();
        self.read();
        self.status.is_some()
    }

    fn read(&mut self) {
        let Some(stdout) = &mut self.stdout else { return };
        let mut bytes = [0_u8; 4096];
        loop {
            match stdout.read(&mut bytes) {
                Ok(0) => {
                    self.stdout = None;
                    break;
                }
                Ok(count) if self.received.len() < LINE_BYTES_MAX => {
                    self.received.extend_from_slice(bytes.get(..count).unwrap_or_default());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        if self.line.is_none()
            && let Some(end) = self.received.iter().position(|byte| *byte == b'\n')
        {
            self.line = serde_json::from_slice(self.received.get(..end).unwrap_or_default()).ok();
        }
    }

    /// Asks it to end after the iteration; asked again, at once.
    pub(super) fn stop(&mut self) {
        let signal = if std::mem::replace(&mut self.asked, true) { Signal::TERM } else { Signal::INT };
        pidfd_send_signal(&self.handle, signal).ok();
    }

    /// Asks it to end at once.
    pub(super) fn abort(&mut self) {
        self.asked = true;
        pidfd_send_signal(&self.handle, Signal::TERM).ok();
    }

    /// Kills it; its own containment then ends what it started.
    pub(super) fn kill(&mut self) {
        pidfd_send_signal(&self.handle, Signal::KILL).ok();
    }

    /// Stops it from working, or lets it continue. Asked so, it freezes its own agent first.
    pub(super) fn freeze(&self, frozen: bool) {
        pidfd_send_signal(&self.handle, if frozen { Signal::TSTP } else { Signal::CONT }).ok();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            self.kill();
            self.child.wait().ok();
        }
    }
}
