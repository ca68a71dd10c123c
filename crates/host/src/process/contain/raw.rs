//! The few calls that no safe library offers. Only a process with one thread may use them.
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

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

/// The stack of a child until it has become another program: a few calls deep.
const STACK_BYTES: usize = 32 * 1024;
/// The signals that are not as a new program expects them: a handler of ours, or ignored by Rust.
const CHANGED_SIGNALS: [c_int; 5] = [libc::SIGCHLD, libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGPIPE];

/// What a child needs to become another program. It lies in the memory that both share.
struct NewProgram {
    file: *const c_char,
    argv: *const *const c_char,
    env: *const *const c_char,
    stdio: [c_int; 3],
    /// The system's number for why it could not.
    error: c_int,
}

/// Starts a program in a group of its own, in the folder where we are. Returns when it runs, or why it cannot.
///
/// `posix_spawn` does the same, and asks for each of 64 signals first; with two starts an iteration that is a tenth of
/// a millisecond.
#[expect(unsafe_code, reason = "no safe library starts a program without asking for every signal")]
pub(super) fn start_program(
    file: &CStr,
    argv: &[CString],
    env: &[CString],
    stdio: [BorrowedFd<'_>; 3],
) -> io::Result<Pid> {
    let pointers = |words: &[CString]| -> Vec<*const c_char> {
        words.iter().map(|word| word.as_ptr()).chain([ptr::null()]).collect()
    };
    let (argv, env) = (pointers(argv), pointers(env));
    let stdio = stdio.map(|fd| fd.as_raw_fd());
    if stdio.iter().any(|fd| *fd <= libc::STDERR_FILENO) {
        return Err(io::Error::other("a stream of a command in the place of one of ours"));
    }
    let mut program = NewProgram { file: file.as_ptr(), argv: argv.as_ptr(), env: env.as_ptr(), stdio, error: 0 };
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    // SAFETY: the child has a stack of its own, and we do nothing until it has become another program or ended
    // (CLONE_VFORK), so that all it reads outlives it. Its handlers are copies (no CLONE_SIGHAND). No signal comes
    // to either of them before the child has put them back.
    let (pid, error) = unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        let top = stack.as_mut_ptr_range().end.cast::<c_void>();
        let pid = libc::clone(become_program, top, flags, (&raw mut program).cast::<c_void>());
        let error = io::Error::last_os_error();
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        (pid, error)
    };
    let Some(child) = Pid::from_raw(pid).filter(|_| pid > 0) else { return Err(error) };
    // SAFETY: the child wrote it, or nobody did; it does not run in our memory any more.
    let failed = unsafe { ptr::read_volatile(&raw const program.error) };
    if failed == 0 {
        return Ok(child);
    }
    rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty()).ok();
    Err(io::Error::from_raw_os_error(failed))
}

/// In the child, on its own stack and in the memory of its parent: only system calls, nothing that allocates.
#[expect(unsafe_code, reason = "between a clone and the new program only bare calls are allowed")]
extern "C" fn become_program(program: *mut c_void) -> c_int {
    // SAFETY: it is what `start_program` gave, which waits.
    unsafe {
        let program = program.cast::<NewProgram>();
        let mut default: libc::sigaction = std::mem::zeroed();
        default.sa_sigaction = libc::SIG_DFL;
        for signal in CHANGED_SIGNALS {
            libc::sigaction(signal, &raw const default, ptr::null_mut());
        }
        let streams = (*program).stdio;
        let mut is_ready = libc::setpgid(0, 0) == 0;
        for (stream, number) in streams.into_iter().zip(0..) {
            is_ready = is_ready && libc::dup2(stream, number) == number;
        }
        let mut none = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
        if is_ready {
            libc::execve((*program).file, (*program).argv, (*program).env);
        }
        ptr::write_volatile(&raw mut (*program).error, *libc::__errno_location());
        libc::_exit(127)
    }
}
