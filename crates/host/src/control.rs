//! The control socket of a run: how other processes of this user ask it for something.
//!
//! One line in, one line out, and the line out comes when what was asked is safe in the journal.
//! A process inside the run's own tree gets no say over it.
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
const PATIENCE: Duration = Duration::from_secs(10);
/// How long somebody who has connected may take to say what they want.
const SPEAK_WITHIN: Duration = Duration::from_secs(2);
/// So many may be connected at once; past that the oldest make room.
const CALLERS_MAX: usize = 64;

/// Read at once. It lies on the stack, and each page of it is copied after every start of a process.
const READ_BYTES: usize = 2048;

/// The socket that a driver listens on.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    path: PathBuf,
    run: String,
    callers: Vec<Caller>,
}

/// Somebody who has connected.
#[derive(Debug)]
struct Caller {
    stream: UnixStream,
    heard: Vec<u8>,
    since: Instant,
}

/// A question with the one who waits for its answer.
#[derive(Debug)]
pub struct Asked {
    /// What was asked.
    pub call: Call,
    stream: UnixStream,
}

impl Asked {
    /// Answers. A caller that went away is no concern of the run.
    pub fn reply(self, reply: &Reply) {
        say(&self.stream, reply);
    }
}

fn say(mut stream: &UnixStream, reply: &Reply) {
    let line = serde_json::to_string(reply).unwrap_or_default() + "\n";
    stream.set_nonblocking(false).ok();
    stream.set_write_timeout(Some(Duration::from_millis(200))).ok();
    stream.write_all(line.as_bytes()).ok();
}

impl Control {
    /// Listens at this path; whatever lies there is left from a driver that is dead.
    ///
    /// # Errors
    /// When the socket cannot be made.
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

    /// Whole questions that have come. Those from inside the run's own tree are refused here.
    pub fn take(&mut self) -> Vec<Asked> {
        let now = Instant::now();
        for _ in 0..CALLERS_MAX {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                self.callers.push(Caller { stream, heard: Vec::new(), since: now });
            }
        }
        // Who says nothing makes room for those who do: a caller speaks as soon as it is connected.
        self.callers.retain(|caller| now.duration_since(caller.since) < SPEAK_WITHIN);
        let surplus = self.callers.len().saturating_sub(CALLERS_MAX);
        self.callers.drain(..surplus);
        let mut asked = Vec::new();
        for mut caller in std::mem::take(&mut self.callers) {
            match caller.listen() {
                StreamReport::More => self.callers.push(caller),
                StreamReport::Gone => {}
                StreamReport::Nonsense(why) => say(&caller.stream, &Reply::Refused { why }),
                StreamReport::Call(call) => match self.refusal(&caller.stream) {
                    Some(why) => say(&caller.stream, &Reply::Refused { why }),
                    None => asked.push(Asked { call, stream: caller.stream }),
                },
            }
        }
        asked
    }

    fn refusal(&self, stream: &UnixStream) -> Option<String> {
        let Ok(peer) = socket_peercred(stream) else { return Some("nobody knows who is asking".to_owned()) };
        if peer.uid != rustix::process::geteuid() {
            return Some("another user is asking".to_owned());
        }
        // One that is gone may have been anybody, and left its connection to one of the agent's.
        let pid = peer.pid.as_raw_nonzero().get();
        let before = identity(pid);
        let inside = before.is_none() || descends_from_us(pid, &self.run) || identity(pid) != before;
        inside.then(|| "a process inside the loop has no say over it".to_owned())
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}

enum StreamReport {
    More,
    Gone,
    Nonsense(String),
    Call(Call),
}

impl Caller {
    fn listen(&mut self) -> StreamReport {
        let mut buffer = [0_u8; READ_BYTES];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => return StreamReport::Gone,
                Ok(count) => self.heard.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return StreamReport::More,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return StreamReport::Gone,
            }
            if self.heard.len() > LINE_BYTES_MAX {
                return StreamReport::Nonsense("the line is too long".to_owned());
            }
            if self.heard.ends_with(b"\n") {
                // Who hung up waits for no answer, and will ask again.
                if matches!(self.stream.read(&mut buffer), Ok(0)) {
                    return StreamReport::Gone;
                }
                return match serde_json::from_slice(&self.heard) {
                    Ok(call) => StreamReport::Call(call),
                    Err(error) => StreamReport::Nonsense(format!("not understood: {error}")),
                };
            }
        }
    }
}

/// A socket's path may have 107 bytes at most; its folder's handle makes it short.
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
    /// Nobody listens.
    #[error("the loop does not listen at {}", path.display())]
    Silent {
        /// Where it should.
        path: PathBuf,
        /// Why it cannot be reached.
        source: io::Error,
    },
    /// It listens and says nothing that makes sense.
    #[error("the loop does not answer")]
    NoAnswer {
        /// What came instead.
        source: io::Error,
    },
}

/// Asks a run for something and waits for its answer.
///
/// # Errors
/// When it cannot be reached or does not answer in time.
#[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of an I/O error are an open list")]
pub fn call(path: &Path, call: &Call) -> Result<Reply, CallError> {
    let stream = through(path, UnixStream::connect);
    let mut stream = stream.map_err(|source| CallError::Silent { path: path.to_owned(), source })?;
    let mut ask = || {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all((serde_json::to_string(call)? + "\n").as_bytes())?;
        let mut heard = String::new();
        stream.read_to_string(&mut heard)?;
        serde_json::from_str(&heard).map_err(io::Error::from)
    };
    ask().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            let why = format!("nothing came within {} s; what was asked is not taken after that", PATIENCE.as_secs());
            CallError::NoAnswer { source: io::Error::new(io::ErrorKind::TimedOut, why) }
        }
        _ => CallError::NoAnswer { source },
    })
}
