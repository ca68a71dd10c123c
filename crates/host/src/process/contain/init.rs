//! An init: forked by the shim, parent of an order's command, and subreaper of everything below it. It serves one
//! order after another, as long as nothing had to be killed.
//!
//! Everything that the command started is below the init. When the init has no child left, nothing of it is alive:
//! the kernel guarantees that, no list has to be read. It waits, ends and reports; it decides nothing else.
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ExitCode, Stdio};
use std::time::{Duration, Instant};

use loop_core::run::ProcessId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, set_child_subreaper, wait};

use super::shim::wake_when_orphaned;
use super::wire::{Ask, Command, Report, next_command};
use super::{cgroup, namespace, raw};
use crate::fs::FolderId;
use crate::process::proc::{children, descendants, identity, is_dead, is_stopped, names_of, own_pid, signal_below};
use crate::process::sweep::MARK;

/// How long a process that is asked to end may take before it is made to.
const GRACE: Duration = Duration::from_secs(5);
/// The same for what a command left running after its own end.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// The same when the harness is gone.
const ORPHAN_GRACE: Duration = Duration::from_secs(2);
/// Past this after the killing nothing will end it.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// How often we check whether the killed processes are gone.
const POLL_EVERY: Duration = Duration::from_millis(5);
/// How many passes are made to stop all processes: one that forks all the time needs many.
const FREEZE_ROUNDS_MAX: u32 = 400;

/// How all processes of an order can be ended.
#[derive(Debug)]
pub(super) enum Means {
    /// They descend from us.
    Descent,
    /// They are in the group of the order; the run's own is above it.
    Groups { lane: OwnedFd, run: OwnedFd },
    /// They are in our namespace.
    Namespace,
    /// The same inside a user namespace; user and group as they are outside.
    UserNamespace { user: u32, group: u32 },
}

/// What an init is given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) order: UnixStream,
    pub(super) means: Means,
    /// Becomes readable when a child's state has changed.
    pub(super) children: UnixStream,
}

/// Does all that an init does. The process ends with the value that it returns.
pub(super) fn run(given: Given) -> ExitCode {
    let Given { order, means, children } = given;
    std::fs::write("/proc/self/comm", "loop-init").ok();
    rustix::process::setsid().ok();
    wake_when_orphaned();
    // As the harness sees us: asked before we have a /proc of our own.
    let outside = std::fs::read_link("/proc/self").ok().and_then(|own| identity(own.to_str()?.parse().ok()?));
    let Some(outside) = outside else { return ExitCode::FAILURE };
    if let Err(why) = prepare(&means) {
        Report::NotContained { why }.send(&order);
        return ExitCode::FAILURE;
    }
    let mut init =
        Init { order, children, means, command: 0, ended: false, ending: None, frozen: Vec::new(), left_group: false };
    while let Ok(Some((command, stdio))) = next_command(&init.order) {
        match start(&command, stdio) {
            Ok(pid) => init.begin(pid, outside),
            Err(error) => {
                Report::NotStarted { errno: error.raw_os_error(), why: error.to_string() }.send(&init.order);
                continue;
            }
        }
        if init.order.set_nonblocking(true).is_err() || !init.supervise() || init.order.set_nonblocking(false).is_err()
        {
            break;
        }
    }
    ExitCode::SUCCESS
}

fn prepare(means: &Means) -> Result<(), String> {
    match means {
        Means::Descent | Means::Groups { .. } => {
            set_child_subreaper(Some(rustix::process::getpid())).map_err(|error| format!("no reaper: {error}"))
        }
        Means::Namespace => namespace::own_proc(),
        Means::UserNamespace { user, group } => {
            namespace::same_user(*user, *group).and_then(|()| namespace::own_proc())
        }
    }
}

fn start(command: &Command, stdio: [OwnedFd; 3]) -> io::Result<i32> {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Err(io::Error::other("no command"));
    };
    let [stdin, stdout, stderr] = stdio.map(Stdio::from);
    let mut process = std::process::Command::new(&command.file);
    process.arg0(program).args(arguments);
    if command.clear {
        // The mark stays: without it a sweep after a crash would not know whose it is.
        let mark = std::env::var_os(MARK);
        process.env_clear().envs(mark.map(|mark| (MARK, mark)));
    }
    process.envs(command.env.iter().map(|(name, value)| (name, value)));
    // Its session is ours: without a terminal, and none that it could get one for.
    process.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    enter(command)?;
    let child = process.spawn();
    rustix::process::chdir("/").ok();
    child.map(|child| i32::try_from(child.id()).unwrap_or(0))
}

/// Enters the folder of a command. It is compared when it is open already: what takes its place afterwards does not change
/// where the command runs.
fn enter(command: &Command) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::open(&command.folder, flags, Mode::empty())?;
    if let Some(same) = command.same
        && FolderId::of(&folder)? != same
    {
        return Err(io::Error::other("the folder was replaced by another one"));
    }
    Ok(rustix::process::fchdir(&folder)?)
}

/// An ending in progress.
#[derive(Debug)]
struct Ending {
    kill_at: Instant,
    /// Only the command itself was asked: who is left when it has ended has still to be.
    interrupt: bool,
}

#[derive(Debug)]
struct Init {
    order: UnixStream,
    children: UnixStream,
    means: Means,
    command: i32,
    ended: bool,
    ending: Option<Ending>,
    /// Those that we stopped for the terminal's sake.
    frozen: Vec<ProcessId>,
    left_group: bool,
}

impl Init {
    fn begin(&mut self, command: i32, outside: ProcessId) {
        self.command = command;
        self.ended = false;
        // Only we reap it, so its number is still valid if it is dead already.
        let inside = identity(command).unwrap_or(ProcessId { pid: command, start_ticks: 0 });
        let namespaced = matches!(self.means, Means::Namespace | Means::UserNamespace { .. });
        Report::Started { process: if namespaced { outside } else { inside }, init: outside }.send(&self.order);
    }

    /// Waits until no process is left. True if another order can come.
    fn supervise(&mut self) -> bool {
        loop {
            if self.reap() {
                Report::Gone.send(&self.order);
                return self.ending.is_none();
            }
            if self.ended && self.ending.as_ref().is_none_or(|ending| ending.interrupt) {
                self.ending = None;
                self.end_leftovers();
            }
            let now = Instant::now();
            let kill_at = self.ending.as_ref().map(|ending| ending.kill_at);
            if kill_at.is_some_and(|at| now >= at) {
                self.kill();
            }
            if kill_at.is_some_and(|at| now > at + LOST_AFTER) {
                let alive: Vec<i32> = descendants(own_pid()).into_iter().filter(|pid| !is_dead(*pid)).collect();
                Report::Lost(names_of(&alive)).send(&self.order);
                return false;
            }
            self.wait(kill_at.map(|at| at.saturating_duration_since(now).max(POLL_EVERY)));
        }
    }

    /// Reaps dead children; true when none is left.
    fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get() == self.command => self.command_ended(status),
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => return false,
                Err(_) => return true,
            }
        }
    }

    fn command_ended(&mut self, status: WaitStatus) {
        self.ended = true;
        let report = match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Report::Exit(code),
            (None, signal) => Report::Signal(signal.unwrap_or(0)),
        };
        report.send(&self.order);
    }

    /// The command is gone, others of it are not.
    fn end_leftovers(&mut self) {
        let alive = descendants(own_pid()).into_iter().filter(|pid| !is_dead(*pid)).count();
        Report::Left(u32::try_from(alive).unwrap_or(u32::MAX)).send(&self.order);
        self.end(LEFTOVER_GRACE);
    }

    /// Sends every process one SIGTERM: some programs treat a second one as *at once*.
    fn end(&mut self, grace: Duration) {
        if self.ending.is_some() {
            return;
        }
        let below = descendants(own_pid());
        signal_below(own_pid(), &below, Signal::TERM);
        // A stopped process cannot handle it.
        signal_below(own_pid(), &below, Signal::CONT);
        self.frozen.clear();
        self.ending = Some(Ending { kill_at: Instant::now() + grace, interrupt: false });
    }

    /// Asks the command itself, as Ctrl-C would: some programs end what they started and report how far they got.
    fn interrupt(&mut self) {
        let Some(command) = Pid::from_raw(self.command).filter(|_| self.ending.is_none() && !self.ended) else {
            return self.end(GRACE);
        };
        kill_process(command, Signal::INT).ok();
        kill_process(command, Signal::CONT).ok();
        self.frozen.clear();
        self.ending = Some(Ending { kill_at: Instant::now() + GRACE, interrupt: true });
    }

    fn kill(&mut self) {
        match &self.means {
            Means::Namespace | Means::UserNamespace { .. } => raw::kill_all_in_namespace(libc::SIGKILL),
            Means::Groups { lane, run } => {
                self.left_group = self.left_group || cgroup::move_to(run).is_ok();
                if self.left_group {
                    cgroup::kill(lane).ok();
                }
                // Who moved to another group is still below us.
                self.freeze_and_kill();
            }
            Means::Descent => self.freeze_and_kill(),
        }
    }

    /// Stops all until no new process is found, so that none can fork again; then kills all.
    fn freeze_and_kill(&self) {
        let mut known: Vec<i32> = Vec::new();
        for _ in 0..FREEZE_ROUNDS_MAX {
            let below = descendants(own_pid());
            let new: Vec<i32> = below.iter().copied().filter(|pid| !known.contains(pid)).collect();
            if new.is_empty() {
                break;
            }
            // At once: a child of ours cannot be anybody else as long as we have not taken its end in.
            children(own_pid()).into_iter().filter_map(Pid::from_raw).for_each(|pid| {
                kill_process(pid, Signal::STOP).ok();
            });
            signal_below(own_pid(), &below, Signal::STOP);
            known = below;
        }
        children(own_pid()).into_iter().filter_map(Pid::from_raw).for_each(|pid| {
            kill_process(pid, Signal::KILL).ok();
        });
        signal_below(own_pid(), &descendants(own_pid()), Signal::KILL);
    }

    /// Stops all until no new process is found, and remembers which were not stopped before.
    fn freeze(&mut self) {
        let mut known: Vec<i32> = Vec::new();
        for _ in 0..FREEZE_ROUNDS_MAX {
            let below = descendants(own_pid());
            let new: Vec<i32> = below.iter().copied().filter(|pid| !known.contains(pid)).collect();
            if new.is_empty() {
                return;
            }
            self.frozen.extend(new.iter().filter(|pid| !is_stopped(**pid)).filter_map(|pid| identity(*pid)));
            signal_below(own_pid(), &below, Signal::STOP);
            known = below;
        }
    }

    fn thaw(&mut self) {
        let below = descendants(own_pid());
        let ours = std::mem::take(&mut self.frozen);
        let still = below.iter().filter(|pid| ours.iter().any(|known| identity(**pid) == Some(*known)));
        for pid in still.filter_map(|pid| Pid::from_raw(*pid)) {
            kill_process(pid, Signal::CONT).ok();
        }
    }

    /// Sleeps until a child's state changes or something is asked.
    fn wait(&mut self, most: Option<Duration>) {
        let most = most.map(|most| Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: most.subsec_nanos().into(),
        });
        let mut fds = [PollFd::new(&self.order, PollFlags::IN), PollFd::new(&self.children, PollFlags::IN)];
        let orphaned = self.ending.is_some() && self.harness_is_gone();
        // A socket that is closed would wake us for ever.
        let fds = if orphaned { &mut fds[1..] } else { &mut fds[..] };
        poll(fds, most.as_ref()).ok();
        let mut bytes = [0_u8; 64];
        while matches!(self.children.read(&mut bytes), Ok(count) if count > 0) {}
        match self.order.read(&mut bytes) {
            Ok(0) => self.end(ORPHAN_GRACE),
            Ok(count) => bytes[..count].iter().filter_map(|byte| Ask::of(*byte)).for_each(|ask| self.asked(ask)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => self.end(ORPHAN_GRACE),
        }
    }

    fn harness_is_gone(&self) -> bool {
        let mut fds = [PollFd::new(&self.order, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().contains(PollFlags::HUP)
    }

    fn asked(&mut self, ask: Ask) {
        match ask {
            Ask::End => self.end(GRACE),
            Ask::Interrupt => self.interrupt(),
            Ask::Kill => self.ending = Some(Ending { kill_at: Instant::now(), interrupt: false }),
            Ask::Freeze => self.freeze(),
            Ask::Thaw => self.thaw(),
        }
    }
}
