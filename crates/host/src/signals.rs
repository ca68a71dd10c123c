//! Signals of the terminal and the system. What one means for a run: `driver/run.rs`.
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGXFSZ};
use signal_hook::low_level::pipe;

/// Whether Ctrl-C ends this program after it was left to another one.
static INTERRUPTS_END: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// The signals that a driver listens to.
#[derive(Debug)]
pub struct Signals {
    pipes: Vec<(&'static str, UnixStream)>,
    interrupts: u32,
    /// Ctrl-Z.
    suspend: Option<UnixStream>,
}

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaughtSignal {
    /// What people call it.
    pub name: &'static str,
    /// It asks to end at once; else when the work under way is done.
    pub is_urgent: bool,
}

/// The signals that we were started to ignore, one bit each.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn pipe_of(signal: i32) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    pipe::register(signal, write)?;
    Ok(read)
}

/// Stops this process as Ctrl-Z does; returns when it is continued.
pub fn suspend() {
    kill_process(getpid(), Signal::STOP).ok();
}

/// From now on Ctrl-C does nothing to this process; its children still get it. In a pager Ctrl-C stops a search, and must
/// not end the process that writes to the pager.
///
/// # Errors
/// When the signal cannot be registered.
pub fn leave_interrupts_to_others() -> io::Result<()> {
    signal_hook::flag::register_conditional_default(SIGINT, Arc::clone(&INTERRUPTS_END)).map(drop)
}

/// Whether Ctrl-C ends this program although it was left to another one before: while a question waits for its answer.
pub fn let_interrupts_end(ends: bool) {
    INTERRUPTS_END.store(ends, Ordering::SeqCst);
}

impl Signals {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the signal cannot be registered.
    pub fn listen() -> io::Result<Self> {
        let mut pipes = Vec::new();
        let ignored = ignored_signals();
        for (name, signal) in [("Ctrl-C", SIGINT), ("Ctrl-\\", SIGQUIT), ("SIGTERM", SIGTERM), ("SIGHUP", SIGHUP)] {
            // With `nohup`, or in the background of a script, it is to be ignored.
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            pipes.push((name, pipe_of(signal)?));
        }
        // A file that may not grow is an error of the write, and no reason to die.
        signal_hook::flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false)))?;
        let suspend = (ignored & (1 << (SIGTSTP - 1)) == 0).then(|| pipe_of(SIGTSTP)).transpose()?;
        Ok(Self { pipes, interrupts: 0, suspend })
    }

    /// Whether Ctrl-Z was pressed. Then [`suspend`] does what it asks for.
    pub fn suspended(&mut self) -> bool {
        let mut bytes = [0_u8; 16];
        self.suspend.as_mut().is_some_and(|pipe| matches!(pipe.read(&mut bytes), Ok(count) if count > 0))
    }

    /// What to wait on.
    pub fn wants(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.pipes.iter().map(|(_, pipe)| pipe).chain(&self.suspend).map(AsFd::as_fd)
    }

    /// Sleeps so long, or until something comes.
    pub fn wait(&self, most: Duration) {
        let mut fds: Vec<PollFd<'_>> = self.wants().map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let most =
            Timespec { tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX), tv_nsec: most.subsec_nanos().into() };
        poll(&mut fds, Some(&most)).ok();
    }

    /// What came. The first Ctrl-C leaves time for the work under way, the next does not; a signal of the system never
    /// does.
    pub fn take(&mut self) -> Vec<CaughtSignal> {
        let mut caught = Vec::new();
        for (name, pipe) in &mut self.pipes {
            let mut bytes = [0_u8; 16];
            let count = pipe.read(&mut bytes).unwrap_or(0);
            for _ in 0..count {
                let first = *name == "Ctrl-C" && self.interrupts == 0;
                self.interrupts += u32::from(*name == "Ctrl-C");
                caught.push(CaughtSignal { name, is_urgent: !first });
            }
        }
        caught
    }
}
