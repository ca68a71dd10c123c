//! The shim of a run: the same program, started once. It forks inits, and stays alive when the harness is killed:
//! then the inits end their commands, the shim ends orphans, and exits.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, set_child_subreaper, set_parent_process_death_signal, wait,
};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{pipe, unregister};

use super::init::{self, Given, Means};
use super::raw::{self, ForkTarget, Forked};
use super::wire::{Kind, Report, next_init};
use super::{NO_CGROUP, SHIM, STOPS_MAX, cgroup};
use crate::process::proc::{children, descendants, is_dead, own_pid, signal_below};

/// After this a shim without a harness gives up.
const ORPHANS_TAKE_MAX: Duration = Duration::from_secs(30);
const POLL_EVERY: Duration = Duration::from_millis(5);

/// Does all that a shim does, if that is what this process was started for.
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != SHIM {
        return None;
    }
    let group = words.next().filter(|group| group != NO_CGROUP).map(PathBuf::from);
    Some(run(group).unwrap_or(ExitCode::FAILURE))
}

fn run(group: Option<PathBuf>) -> io::Result<ExitCode> {
    rustix::process::setsid().ok();
    std::fs::write("/proc/self/comm", "loop-shim").ok();
    set_child_subreaper(Some(rustix::process::getpid()))?;
    wake_when_orphaned();
    // A handler and not to be ignored: what is ignored would be so in the agent too.
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let harness = io::stdin().as_fd().try_clone_to_owned()?;
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    let handler = pipe::register(SIGCHLD, write)?;
    let mut inits: Vec<InitProcess> = Vec::new();
    loop {
        let mut fds = [PollFd::new(&harness, PollFlags::IN), PollFd::new(&read, PollFlags::IN)];
        poll(&mut fds, None).ok();
        let asked = fds[0].revents().intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR);
        drain(&read);
        reap(&mut inits);
        if !asked {
            continue;
        }
        let Some((kind, fds)) = next_init(&harness)? else { break };
        let Some(given) = unpack(kind, fds) else { continue };
        let into = match &given.means {
            Means::Descent => ForkTarget::Same,
            Means::Groups { lane, .. } => ForkTarget::Cgroup(lane.as_fd()),
            Means::Namespace => ForkTarget::Namespace { user: false },
            Means::UserNamespace { .. } => ForkTarget::Namespace { user: true },
        };
        match raw::fork(into) {
            Ok(Forked::Parent(pid)) => inits.push(InitProcess { pid, stops: 0 }),
            Ok(Forked::Child) => {
                // The shim's own ends: a process that waits for its death must not wait for ours.
                drop((harness, read));
                unregister(handler);
                close_stdin();
                return begin(given);
            }
            Err(error) => Report::NotContained { why: error.to_string() }.send(&given.order),
        }
    }
    drop(harness);
    end_orphans(&mut inits, &read);
    if let Some(group) = group {
        cgroup::end(&group);
    }
    Ok(ExitCode::SUCCESS)
}

/// Descriptor 0 shows whether the harness is alive; the init must close it.
fn close_stdin() {
    if let Ok(nothing) = File::open("/dev/null") {
        rustix::stdio::dup2_stdin(&nothing).ok();
    }
}

fn begin(given: Unpacked) -> io::Result<ExitCode> {
    let (children, write) = UnixStream::pair()?;
    children.set_nonblocking(true)?;
    pipe::register(SIGCHLD, write)?;
    let Unpacked { order, means } = given;
    Ok(init::run(Given { order, means, children }))
}

/// An init, and how often it was stopped.
struct InitProcess {
    pid: Pid,
    stops: u32,
}

impl InitProcess {
    /// Continues it. If it is stopped again and again, it is killed, and the harness ends its processes.
    fn go_on(&mut self) {
        self.stops += 1;
        let signal = if self.stops < STOPS_MAX { Signal::CONT } else { Signal::KILL };
        kill_process(self.pid, signal).ok();
    }
}

struct Unpacked {
    order: UnixStream,
    means: Means,
}

/// The init's socket, and the groups where there are any.
fn unpack(kind: Kind, fds: Vec<OwnedFd>) -> Option<Unpacked> {
    let mut fds = fds.into_iter();
    let order = UnixStream::from(fds.next()?);
    let means = match kind {
        Kind::Plain => Means::Descent,
        Kind::Cgroup => Means::Groups { lane: fds.next()?, run: fds.next()? },
        Kind::Namespace => Means::Namespace,
        // Asked for here: born into a user namespace, the user is not mapped at first.
        Kind::UserNamespace => {
            Means::UserNamespace { user: rustix::process::getuid().as_raw(), group: rustix::process::getgid().as_raw() }
        }
    };
    Some(Unpacked { order, means })
}

/// We may be stopped when our parent dies: then we have to continue, because there is work to do.
pub(super) fn wake_when_orphaned() {
    set_parent_process_death_signal(Some(Signal::CONT)).ok();
}

fn drain(mut pipe: &UnixStream) {
    let mut bytes = [0_u8; 64];
    while matches!(pipe.read(&mut bytes), Ok(count) if count > 0) {}
}

/// Reaps dead children; true when none is left. A stopped init is continued.
fn reap(inits: &mut Vec<InitProcess>) -> bool {
    loop {
        match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
            Ok(Some((pid, status))) if !status.stopped() => inits.retain(|init| init.pid != pid),
            Ok(Some((pid, _))) => inits.iter_mut().filter(|init| init.pid == pid).for_each(InitProcess::go_on),
            Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// The harness is gone: the inits end theirs; orphans of a killed init are ended here.
fn end_orphans(inits: &mut Vec<InitProcess>, children_changed: &UnixStream) {
    let until = Instant::now() + ORPHANS_TAKE_MAX;
    loop {
        drain(children_changed);
        if reap(inits) || Instant::now() > until {
            return;
        }
        let init_pids: Vec<i32> = inits.iter().map(|init| init.pid.as_raw_nonzero().get()).collect();
        let came: Vec<i32> =
            children(own_pid()).into_iter().filter(|pid| !init_pids.contains(pid) && !is_dead(*pid)).collect();
        let below: Vec<i32> = came.iter().flat_map(|pid| descendants(*pid)).chain(came.iter().copied()).collect();
        signal_below(own_pid(), &below, Signal::STOP);
        signal_below(own_pid(), &below, Signal::KILL);
        let wait = if came.is_empty() { Duration::from_millis(200) } else { POLL_EVERY };
        let most = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
        poll(&mut [PollFd::new(children_changed, PollFlags::IN)], Some(&most)).ok();
    }
}
