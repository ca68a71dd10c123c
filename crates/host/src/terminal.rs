//! The terminal: whether a write would wait, whether a line was typed, how wide it is.
use std::os::fd::AsFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// So much can be written to a pipe without waiting once it can take anything.
pub const PIECE_BYTES_MAX: usize = 4096;

/// Whether a write of [`PIECE_BYTES_MAX`] bytes would not have to wait.
#[must_use]
pub fn can_take(to: impl AsFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(to.as_fd(), PollFlags::OUT)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    // Broken is ready as well: the write then says so.
    poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0)
}

/// Whether it is a terminal that we may read from now: a reader in the background would be stopped.
#[must_use]
pub fn is_ours(terminal: impl AsFd) -> bool {
    let terminal = terminal.as_fd();
    rustix::termios::tcgetpgrp(terminal).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Whether a line was typed; reads it.
#[must_use]
pub fn line_is_there(terminal: impl AsFd) -> bool {
    let terminal = terminal.as_fd();
    let mut fds = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut bytes = [0_u8; 1024];
    let ready = poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0);
    ready
        && rustix::io::read(terminal, &mut bytes).is_ok_and(|count| bytes.iter().take(count).any(|byte| *byte == b'\n'))
}

/// How many lines fit on the screen of a terminal; none if it is no terminal or does not say.
#[must_use]
pub fn rows(of: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of.as_fd()).ok()?;
    Some(usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// How many letters fit into a line of a terminal; none if it is no terminal or does not say.
#[must_use]
pub fn columns(of: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(of.as_fd()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
