//! The few calls that no safe library offers. Only a process with one thread may use them.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::process::Pid;

/// The flag of `clone3` that the C library's constants are too narrow for.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// What a fork is born into.
#[derive(Debug, Clone, Copy)]
pub(super) enum ForkTarget<'a> {
    /// The same surroundings.
    Same,
    /// A control group.
    Cgroup(BorrowedFd<'a>),
    /// A PID namespace with mounts of its own; `user` where only a user namespace lets us.
    Namespace {
        /// Whether a user namespace is needed for it.
        user: bool,
    },
}

/// Which of the two we are.
#[derive(Debug)]
pub(super) enum Forked {
    /// The new one.
    Child,
    /// The old one, and who the new one is.
    Parent(Pid),
}

/// Forks this process, which must have one thread.
#[expect(unsafe_code, reason = "no safe library can fork into a control group or a namespace")]
pub(super) fn fork(into: ForkTarget<'_>) -> io::Result<Forked> {
    let (flags, cgroup) = match into {
        ForkTarget::Same => (0, 0),
        ForkTarget::Cgroup(folder) => (CLONE_INTO_CGROUP, u64::try_from(folder.as_raw_fd()).unwrap_or(0)),
        ForkTarget::Namespace { user } => {
            let user = if user { libc::CLONE_NEWUSER } else { 0 };
            (u64::from((libc::CLONE_NEWPID | libc::CLONE_NEWNS | user).cast_unsigned()), 0)
        }
    };
    let pid = if flags == 0 {
        // SAFETY: with one thread no lock can be held by anybody who is not there after the fork.
        i64::from(unsafe { libc::fork() })
    } else {
        let arguments = libc::clone_args {
            flags,
            pidfd: 0,
            child_tid: 0,
            parent_tid: 0,
            exit_signal: u64::from(libc::SIGCHLD.cast_unsigned()),
            stack: 0,
            stack_size: 0,
            tls: 0,
            set_tid: 0,
            set_tid_size: 0,
            cgroup,
        };
        // SAFETY: as above; no stack is given, so that both go on with a copy of this one, as after fork.
        unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<libc::clone_args>()) }
    };
    match i32::try_from(pid) {
        Ok(0) => Ok(Forked::Child),
        Ok(pid) if pid < 0 => Err(io::Error::last_os_error()),
        Ok(pid) => Pid::from_raw(pid).map(Forked::Parent).ok_or_else(|| io::Error::other("no process")),
        Err(_) => Err(io::Error::other("no such process number")),
    }
}

/// Kills all other processes in our PID namespace, of which we are the first process.
#[expect(unsafe_code, reason = "no safe library can signal a whole namespace at once")]
pub(super) fn kill_all_in_namespace(signal: i32) {
    // SAFETY: touches no memory. Who is not first in a namespace would hit the whole machine.
    if std::process::id() == 1 {
        unsafe {
            libc::kill(-1, signal);
        }
    }
}
