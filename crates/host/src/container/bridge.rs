//! Connects our streams with those of an exec until one side is done: stdin goes in, frames come out. One thread
//! around `poll`, which never blocks in a write, so that a signal is handled at once.
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::frames::{Channel, Frames};
use super::http::Upgraded;

/// How much a pipe accepts without blocking once `poll` reports it writable.
const WRITE_BYTES_MAX: usize = 4096;
const READ_BYTES_MAX: usize = 64 * 1024;

/// Why the bridge returned from waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Came {
    /// The exec has closed its streams, and all of it has been passed on.
    Closed,
    /// We were asked to end.
    Asked,
    /// Our output is not read any more.
    Unread,
    /// The time given is over.
    Late,
    /// The bytes that came are not the stream of an exec.
    Garbled,
}

/// The two sides.
pub(super) struct Bridge<'a> {
    engine: UnixStream,
    frames: Frames,
    /// What is to be written, in the order in which it came.
    out: VecDeque<(Channel, Vec<u8>)>,
    /// What of our stdin is not with the engine yet.
    pending: Vec<u8>,
    stdin: Option<Box<dyn ReadFd + 'a>>,
    stdout: Box<dyn WriteFd + 'a>,
    stderr: Box<dyn WriteFd + 'a>,
    closed: bool,
    garbled: bool,
    /// It is not read: the rest is dropped, so that the agent does not block.
    muted: bool,
    received: u64,
}

/// Something to read from that `poll` knows.
pub(super) trait ReadFd: Read + AsFd {}
impl<T: Read + AsFd> ReadFd for T {}
/// Something to write to that `poll` knows.
pub(super) trait WriteFd: Write + AsFd {}
impl<T: Write + AsFd> WriteFd for T {}

/// Our own three.
pub(super) struct Ours<'a> {
    pub(super) stdin: Box<dyn ReadFd + 'a>,
    pub(super) stdout: Box<dyn WriteFd + 'a>,
    pub(super) stderr: Box<dyn WriteFd + 'a>,
}

impl<'a> Bridge<'a> {
    pub(super) fn new(exec: Upgraded, ours: Ours<'a>) -> io::Result<Self> {
        exec.stream.set_nonblocking(true)?;
        let mut bridge = Self {
            engine: exec.stream,
            frames: Frames::default(),
            out: VecDeque::new(),
            pending: Vec::new(),
            stdin: Some(ours.stdin),
            stdout: ours.stdout,
            stderr: ours.stderr,
            closed: false,
            garbled: false,
            muted: false,
            received: 0,
        };
        bridge.came(&exec.rest);
        Ok(bridge)
    }

    /// Passes on what comes until something happens. `asked` becomes readable on signals; none once they are handled.
    pub(super) fn run(&mut self, asked: Option<BorrowedFd<'_>>, most: Duration) -> io::Result<Came> {
        let until = Instant::now() + most;
        loop {
            if self.garbled {
                return Ok(Came::Garbled);
            }
            if self.closed && self.out.is_empty() {
                return Ok(Came::Closed);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Came::Late);
            }
            let ready = self.wait(asked, left)?;
            if ready.asked {
                return Ok(Came::Asked);
            }
            if ready.unread {
                self.out.clear();
                self.muted = true;
                return Ok(Came::Unread);
            }
            if ready.writable {
                self.write_on()?;
            }
            if ready.engine {
                self.read_on();
            }
            self.feed(ready);
        }
    }

    /// How much has come so far.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    fn wait(&self, asked: Option<BorrowedFd<'_>>, most: Duration) -> io::Result<Ready> {
        let next = self.out.front().map(|(channel, _)| *channel);
        let wanted = |channel| if next == Some(channel) { PollFlags::OUT } else { PollFlags::empty() };
        let mut engine = PollFlags::empty();
        engine.set(PollFlags::IN, next.is_none() && !self.closed);
        engine.set(PollFlags::OUT, !self.pending.is_empty());
        let stdin = self.stdin.as_ref().filter(|_| self.pending.is_empty());
        // Who has hung up would wake us for ever: only those are asked of whom something is wanted, and stdout, for
        // its reader.
        let asks = [
            (!self.muted).then(|| (self.stdout.as_fd(), wanted(Channel::Out))),
            (next == Some(Channel::Err)).then(|| (self.stderr.as_fd(), PollFlags::OUT)),
            (!engine.is_empty()).then(|| (self.engine.as_fd(), engine)),
            stdin.map(|stdin| (stdin.as_fd(), PollFlags::IN)),
            asked.map(|asked| (asked, PollFlags::IN)),
        ];
        let mut fds: Vec<PollFd<'_>> =
            asks.iter().flatten().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        let most =
            Timespec { tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX), tv_nsec: most.subsec_nanos().into() };
        match poll(&mut fds, Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // The results, in the order of the descriptors.
        let mut came = fds.iter().map(PollFd::revents);
        let [stdout, stderr, engine, stdin, asked] =
            asks.map(|ask| ask.and_then(|_| came.next()).unwrap_or(PollFlags::empty()));
        Ok(Ready {
            unread: stdout.contains(PollFlags::ERR),
            writable: stdout.contains(PollFlags::OUT) || !stderr.is_empty(),
            engine: !engine.is_empty(),
            stdin: !stdin.is_empty(),
            asked: !asked.is_empty(),
        })
    }

    /// Writes a piece of what waits.
    fn write_on(&mut self) -> io::Result<()> {
        let Some((channel, bytes)) = self.out.front_mut() else { return Ok(()) };
        let to = match channel {
            Channel::Out => &mut self.stdout,
            Channel::Err => &mut self.stderr,
        };
        let piece = bytes.get(..bytes.len().min(WRITE_BYTES_MAX)).unwrap_or_default();
        match to.write(piece).and_then(|count| to.flush().map(|()| count)) {
            Ok(count) => drop(bytes.drain(..count)),
            Err(error) if is_later(&error) => {}
            // Only one of the two is unread: the other goes on.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => bytes.clear(),
            Err(error) => return Err(error),
        }
        if bytes.is_empty() {
            self.out.pop_front();
        }
        Ok(())
    }

    fn read_on(&mut self) {
        let mut bytes = vec![0_u8; READ_BYTES_MAX];
        match self.engine.read(&mut bytes) {
            Ok(0) => self.closed = true,
            Ok(count) => {
                self.received += u64::try_from(count).unwrap_or(0);
                self.came(bytes.get(..count).unwrap_or_default());
            }
            Err(error) if is_later(&error) => {}
            Err(_) => self.closed = true,
        }
    }

    fn came(&mut self, bytes: &[u8]) {
        let (out, muted) = (&mut self.out, self.muted);
        let pushed = self.frames.push(bytes, &mut |channel, payload| match out.back_mut() {
            Some((last, waiting)) if *last == channel => waiting.extend_from_slice(payload),
            Some(_) | None if muted => {}
            Some(_) | None => out.push_back((channel, payload.to_vec())),
        });
        self.garbled = self.garbled || pushed.is_err();
    }

    /// Gives the engine what our stdin has, and its end.
    fn feed(&mut self, ready: Ready) {
        if ready.stdin
            && let Some(stdin) = &mut self.stdin
        {
            let mut bytes = vec![0_u8; READ_BYTES_MAX];
            match stdin.read(&mut bytes) {
                Ok(count) if count > 0 => self.pending.extend(bytes.into_iter().take(count)),
                Err(error) if is_later(&error) => {}
                Ok(_) | Err(_) => self.stdin = None,
            }
            if self.stdin.is_none() {
                self.engine.shutdown(std::net::Shutdown::Write).ok();
            }
        }
        if !self.pending.is_empty() {
            match self.engine.write(&self.pending) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if is_later(&error) => {}
                // The agent does not read it; its output and its exit code show how it ends.
                Err(_) => {
                    self.pending.clear();
                    self.stdin = None;
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Ready {
    unread: bool,
    writable: bool,
    engine: bool,
    stdin: bool,
    asked: bool,
}

fn is_later(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
