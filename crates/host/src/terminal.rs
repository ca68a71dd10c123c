//! The terminal: whether a write would wait, whether a line or a key was typed, how wide it is.
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

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

/// The line that was typed; none where none was.
#[must_use]
pub fn line_typed(terminal: impl AsFd) -> Option<String> {
    let terminal = terminal.as_fd();
    let mut fds = [PollFd::from_borrowed_fd(terminal, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut fds, Some(&now)).is_ok_and(|count| count > 0) {
        let mut bytes = [0_u8; 1024];
        let count = rustix::io::read(terminal, &mut bytes).ok()?;
        let text = String::from_utf8_lossy(bytes.get(..count)?).into_owned();
        return text.lines().next().map(str::to_owned);
    }
    None
}

/// Reads single keys of a terminal without showing them. Ctrl-C stays a signal. The terminal is as it was when this is
/// dropped.
#[derive(Debug)]
pub struct KeyInput {
    terminal: OwnedFd,
    before: Termios,
}

impl KeyInput {
    /// Begins to read keys.
    ///
    /// # Errors
    /// When it is no terminal, or this process is in the background: the terminal would stop it.
    pub fn begin(terminal: impl AsFd) -> io::Result<Self> {
        let terminal = terminal.as_fd().try_clone_to_owned()?;
        if !is_ours(&terminal) {
            return Err(io::Error::other("in the background"));
        }
        let before = tcgetattr(&terminal)?;
        let mut keys = before.clone();
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(&terminal, OptionalActions::Now, &keys)?;
        Ok(Self { terminal, before })
    }

    /// The next key, where one is typed in this time. A signal ends the wait.
    #[must_use]
    pub fn next_within(&self, most: Duration) -> Option<u8> {
        let mut fds = [PollFd::new(&self.terminal, PollFlags::IN)];
        let most = Timespec { tv_sec: i64::try_from(most.as_secs()).ok()?, tv_nsec: most.subsec_nanos().into() };
        let ready = poll(&mut fds, Some(&most)).is_ok_and(|count| count > 0);
        let mut byte = [0_u8; 1];
        let read = ready && rustix::io::read(&self.terminal, &mut byte).is_ok_and(|count| count == 1);
        read.then_some(byte[0])
    }
}

impl Drop for KeyInput {
    fn drop(&mut self) {
        tcsetattr(&self.terminal, OptionalActions::Now, &self.before).ok();
    }
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
