//! The control socket of a run: other processes of this user send it requests.
//!
//! One line in, one line out. The line out comes when the request is synced in the journal. Requests of processes that
//! the run itself started are refused.
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use loop_core::control::{Call, LINE_BYTES_MAX, Reply};
use rustix::net::sockopt::socket_peercred;
use thiserror::Error;

use crate::process::{descends_from_us, identity};

/// How long a caller waits for an answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a caller that has connected may take to send its line.
const LINE_WITHIN: Duration = Duration::from_secs(2);
/// The most callers that are connected at once; past that the oldest are dropped.
const CALLERS_MAX: usize = 64;

/// The size of one read. Small: the buffer is on the stack, whose pages are copied after every start of a process.
const READ_BYTES: usize = 2048;

/// The socket that a driver listens on.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    run: String,
    callers: Vec<Connection>,
}

/// A connection whose line has not come yet.
#[derive(Debug)]
struct Connection {
    stream: UnixStream,
    received: Vec<u8>,
    since: Instant,
}

/// A request with the connection that waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// The request.
    pub call: Call,
    stream: UnixStream,
}

impl Asked {
    /// Answers. A caller that is gone is ignored.
    pub fn reply(self, reply: &Reply) {
        send(&self.stream, reply);
    }
}

fn send(mut stream: &UnixStream, reply: &Reply) {
    let line = serde_json::to_string(reply).unwrap_or_default() + "\n";
    stream.set_nonblocking(false).ok();
    stream.set_write_timeout(Some(Duration::from_millis(200))).ok();
    stream.write_all(line.as_bytes()).ok();
}

impl Control {
    /// Listens at this path; a file there is left from a dead driver.
    ///
    /// # Errors
    /// When the socket cannot be created.
    pub fn listen(path: &Path, run: &str) -> io::Result<Self> {
        let folder = path.parent().ok_or_else(|| io::Error::other("no folder for the socket"))?;
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        if path.symlink_metadata().is_ok() {
            fs::remove_file(path)?;
        }
        let listener = through(path, UnixListener::bind)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, path: path.to_owned(), run: run.to_owned(), callers: Vec::new() })
    }

    /// What to wait on.
    pub fn wants(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.callers.iter().map(|caller| caller.stream.as_fd()).chain([self.listener.as_fd()])
    }

    /// The requests that came completely. Those of processes inside the run are refused here.
    pub fn take(&mut self) -> Vec<Asked> {
        let now = Instant::now();
        for _ in 0..CALLERS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                self.callers.push(Connection { stream, received: Vec::new(), since: now });
            }
        }
        // A caller sends its line as soon as it is connected: one that does not is dropped.
        self.callers.retain(|caller| now.duration_since(caller.since) < LINE_WITHIN);
        let surplus = self.callers.len().saturating_sub(CALLERS_MAX);
        self.callers.drain(..surplus);
        let mut asked = Vec::new();
        for mut caller in std::mem::take(&mut self.callers) {
            match caller.receive() {
                Received::Incomplete => self.callers.push(caller),
                Received::Closed => {}
                Received::Invalid(why) => send(&caller.stream, &Reply::Refused { why }),
                Received::Call(call) => match self.refusal(&caller.stream) {
                    Some(why) => send(&caller.stream, &Reply::Refused { why }),
                    None => asked.push(Asked { call, stream: caller.stream }),
                },
            }
        }
        asked
    }

    fn refusal(&self, stream: &UnixStream) -> Option<String> {
        let Ok(peer) = socket_peercred(stream) else { return Some("cannot find out which user is asking".to_owned()) };
        if peer.uid != rustix::process::geteuid() {
            return Some("another user is asking".to_owned());
        }
        // A caller that has ended may have left its connection to a process of the agent.
        let pid = peer.pid.as_raw_nonzero().get();
        let before = identity(pid);
        let inside = before.is_none() || descends_from_us(pid, &self.run) || identity(pid) != before;
        inside.then(|| "a process inside the loop may not send it requests".to_owned())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

enum Received {
    Incomplete,
    Closed,
    Invalid(String),
    Call(Call),
}

impl Connection {
    fn receive(&mut self) -> Received {
        let mut buffer = [0_u8; READ_BYTES];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return Received::Closed,
                Ok(count) => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Received::Incomplete,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Received::Closed,
            }
            if self.received.len() > LINE_BYTES_MAX {
                return Received::Invalid("the line is too long".to_owned());
            }
            if self.received.ends_with(b"\n") {
                // A caller that closed the connection does not wait for an answer, and will ask again.
                if matches!(self.stream.read(&mut buffer), Ok(0)) {
                    return Received::Closed;
                }
                return match serde_json::from_slice(&self.received) {
                    Ok(call) => Received::Call(call),
                    Err(error) => Received::Invalid(format!("not understood: {error}")),
                };
            }
        }
    }
}

/// Opens a socket by the handle of its folder: the path of a socket may have 107 bytes at most.
fn through<T>(path: &Path, make: impl FnOnce(PathBuf) -> io::Result<T>) -> io::Result<T> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("no path for a socket"));
    };
    let folder = File::options().read(true).custom_flags(rustix::fs::OFlags::PATH.bits().cast_signed()).open(folder)?;
    make(Path::new(&format!("/proc/self/fd/{}", folder.as_raw_fd())).join(name))
}

/// Why a run does not answer.
#[derive(Debug, Error)]
pub enum CallError {
    /// The socket is not there, or no process listens.
    #[error("the loop does not listen at {}", path.display())]
    Silent {
        /// The socket.
        path: PathBuf,
        /// Why it cannot be reached.
        source: io::Error,
    },
    /// No answer came, or one that cannot be read.
    #[error("the loop does not answer")]
    NoAnswer {
        /// What came instead.
        source: io::Error,
    },
}

/// Sends a request to a run and waits for its answer.
///
/// # Errors
/// When it cannot be reached or does not answer in time.
#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of an I/O error are an open list")]
pub fn call(path: &Path, call: &Call) -> Result<Reply, CallError> {
    let stream = through(path, UnixStream::connect);
    let mut stream = stream.map_err(|source| CallError::Silent { path: path.to_owned(), source })?;
    let mut ask = || {
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.set_write_timeout(Some(ANSWER_WITHIN))?;
        stream.write_all((serde_json::to_string(call)? + "\n").as_bytes())?;
        let mut line = String::new();
        stream.read_to_string(&mut line)?;
        serde_json::from_str(&line).map_err(io::Error::from)
    };
    ask().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let why =
                format!("no answer came within {} s; the request is not taken after that", ANSWER_WITHIN.as_secs());
            CallError::NoAnswer { source: io::Error::new(io::ErrorKind::TimedOut, why) }
        }
        _ => CallError::NoAnswer { source },
    })
}
