//! The system calls of the zoo. Nothing here is fit for a product: forks without an exec, and no error is passed on.
#![expect(unsafe_code, reason = "a zoo of processes that misbehave is made of calls that have no safe form")]
use std::ffi::CString;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicI32;

/// No process here lives longer than this, whatever a test forgets.
pub(crate) const LIFE_SECONDS: u32 = 120;

/// Who forks: none in the child, its pid in the parent.
pub(crate) fn fork() -> Option<i32> {
    // SAFETY: this process has one thread, or the child makes do with what one thread may do.
    let pid = unsafe { libc::fork() };
    let pid = child_or_parent(pid);
    if pid.is_none() {
        live_for(LIFE_SECONDS);
    }
    pid
}

/// A fork whose child becomes our sibling. Who is the first process of a namespace cannot do that.
pub(crate) fn fork_a_sibling() -> Option<i32> {
    // SAFETY: without a stack of its own the child goes on with a copy of ours, as after fork.
    let pid = unsafe { libc::syscall(libc::SYS_clone, libc::CLONE_PARENT | libc::SIGCHLD, 0, 0, 0, 0) };
    let Ok(pid) = i32::try_from(pid) else { end(1) };
    if pid < 0 {
        return fork();
    }
    let pid = child_or_parent(pid);
    if pid.is_none() {
        live_for(LIFE_SECONDS);
    }
    pid
}

fn child_or_parent(pid: i32) -> Option<i32> {
    match pid {
        0 => None,
        pid if pid > 0 => Some(pid),
        _ => end(70),
    }
}

/// Ends at once: no handlers, no destructors.
pub(crate) fn end(code: i32) -> ! {
    // SAFETY: it does not come back.
    unsafe { libc::_exit(code) }
}

/// Ends this thread alone; the others of the process live on.
pub(crate) fn end_thread() -> ! {
    // SAFETY: nothing of this thread is used by the others.
    unsafe {
        libc::syscall(libc::SYS_exit, 0);
    }
    end(71)
}

/// The kernel ends us after this time, unless we are stopped.
pub(crate) fn live_for(seconds: u32) {
    // SAFETY: no memory is involved.
    unsafe {
        libc::alarm(seconds);
    }
}

/// The same unless a clock runs already, as it does behind an exec.
pub(crate) fn live_on_for(seconds: u32) {
    // SAFETY: no memory is involved.
    let left = unsafe { libc::alarm(seconds) };
    if left > 0 {
        live_for(left);
    }
}

/// A session of our own.
pub(crate) fn new_session() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::setsid();
    }
}

/// Ignores these.
pub(crate) fn ignore(signals: &[i32]) {
    for signal in signals {
        // SAFETY: ignoring needs no handler.
        unsafe {
            libc::signal(*signal, libc::SIG_IGN);
        }
    }
}

/// Ignores what can be ignored, but not the clock that bounds our life.
pub(crate) fn ignore_all() {
    let signals: Vec<i32> = (1..=64).filter(|signal| *signal != libc::SIGALRM).collect();
    ignore(&signals);
}

/// Blocks what can be blocked, but not the clock.
pub(crate) fn block_all() {
    // SAFETY: the set is ours and filled before it is used.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigfillset(&raw mut set);
        libc::sigdelset(&raw mut set, libc::SIGALRM);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
    }
}

/// Sends a signal; whether somebody was there to get it.
pub(crate) fn send(pid: i32, signal: i32) -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// Our pid as our own namespace has it.
pub(crate) fn own_pid() -> i32 {
    // SAFETY: no memory is involved.
    unsafe { libc::getpid() }
}

/// Waits until any child ends or stops; whether there was one.
pub(crate) fn wait_for_child(also_stopped: bool) -> bool {
    let options = if also_stopped { libc::WUNTRACED } else { 0 };
    // SAFETY: the status is not wanted.
    unsafe { libc::waitpid(-1, std::ptr::null_mut(), options) > 0 }
}

/// Lives until it is killed or its clock runs out.
pub(crate) fn stay() -> ! {
    loop {
        // SAFETY: no memory is involved.
        unsafe {
            libc::pause();
        }
    }
}

/// Waits a little.
pub(crate) fn rest(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

/// Goes by another name in `ps`.
pub(crate) fn rename_to(name: &str) {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the text ends with a zero and is copied.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, name.as_ptr());
    }
}

/// Orphans of our descendants come to us.
pub(crate) fn adopt_orphans() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    }
}

/// We are killed when who started us ends.
pub(crate) fn die_with_parent() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    }
}

/// Closes all, from this descriptor on.
pub(crate) fn close_from(first: u32) {
    // SAFETY: nothing that is open is used afterwards.
    unsafe {
        libc::syscall(libc::SYS_close_range, first, u32::MAX, 0);
    }
}

/// Closes one.
pub(crate) fn close(descriptor: i32) {
    // SAFETY: nobody uses it afterwards.
    unsafe {
        libc::close(descriptor);
    }
}

/// Children from now on live in a PID namespace of their own; whether that was possible.
pub(crate) fn new_pid_namespace() -> bool {
    // SAFETY: no memory is involved.
    unsafe { libc::unshare(libc::CLONE_NEWPID) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWPID) == 0 }
}

/// Our parent may stop us and look at us.
pub(crate) fn be_traced() {
    // SAFETY: no memory is involved.
    unsafe {
        libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0);
    }
}

/// The one whom we trace stops once more when it dies.
pub(crate) fn stop_at_its_death(pid: i32) {
    // SAFETY: the options are a number.
    unsafe {
        libc::ptrace(libc::PTRACE_SETOPTIONS, pid, 0, libc::PTRACE_O_TRACEEXIT);
    }
}

/// A new terminal: the end that a terminal program would hold, and the name of the other.
pub(crate) fn new_terminal() -> Option<(File, String)> {
    // SAFETY: the descriptor is new and ours; the name is written into a buffer of the length that is said.
    unsafe {
        let master = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY);
        if master < 0 || libc::grantpt(master) != 0 || libc::unlockpt(master) != 0 {
            return None;
        }
        let mut name = [0_u8; 128];
        if libc::ptsname_r(master, name.as_mut_ptr().cast(), name.len()) != 0 {
            return None;
        }
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        Some((File::from_raw_fd(master), String::from_utf8_lossy(name).into_owned()))
    }
}

/// Numbers that all children of ours share.
pub(crate) fn shared_numbers<const N: usize>() -> Option<&'static [AtomicI32; N]> {
    let (rights, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    // SAFETY: the mapping is zeroed, aligned to a page, large enough, and never given back.
    unsafe {
        let at = libc::mmap(std::ptr::null_mut(), size_of::<[AtomicI32; N]>(), rights, kind, -1, 0);
        if at == libc::MAP_FAILED { None } else { at.cast::<[AtomicI32; N]>().as_ref() }
    }
}

/// Becomes another program, with these words (the first is the name it goes by) and this environment only.
pub(crate) fn become_program(program: &Path, words: &[&str], environment: &[(&str, &str)]) -> ! {
    let (name, arguments) = words.split_first().map_or(("", words), |(name, rest)| (*name, rest));
    let mut command = Command::new(program);
    command.arg0(name).args(arguments).env_clear().envs(environment.iter().copied());
    drop(command.exec());
    end(72)
}

/// Gives up all rights but those of this user.
pub(crate) fn become_user(uid: u32) -> bool {
    // SAFETY: no groups are named; the rest are numbers.
    unsafe {
        libc::setgroups(0, std::ptr::null()) == 0
            && libc::setresgid(uid, uid, uid) == 0
            && libc::setresuid(uid, uid, uid) == 0
    }
}
