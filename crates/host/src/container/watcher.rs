//! The shell that waits in the container beside the agent and ends what the agent left: the engine can start a
//! process in a container, but has no call that ends it. It is started before the agent, so that a cancel need not
//! start anything. When we are killed, its input ends, and it does the rest alone.
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use super::engine::{Container, Engine, EngineError, Exec};
use super::frames::{Channel, Frames};
use super::mark::{Gone, Mark};
use crate::process::end_with_mark;

/// The shell that is used in a container.
pub(super) const SHELL: &str = "/bin/sh";
const SCRIPT: &str = include_str!("watch.sh");

/// So long it may take until it is ready.
const READY_TAKES_MAX: Duration = Duration::from_secs(20);
const POLL_EVERY: Duration = Duration::from_millis(20);
/// After this many empty passes nothing is left.
const EMPTY_PASSES: u32 = 2;
/// It writes a line of numbers: more than this is not from it.
const LINE_BYTES_MAX: usize = 1024 * 1024;
/// How many are named.
const NAMED_MAX: usize = 20;

/// How an ending goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ending {
    /// The signal that comes first.
    pub(super) gentle: &'static str,
    /// How long they may take then.
    pub(super) grace: Duration,
    /// How long all of it may take.
    pub(super) most: Duration,
}

/// The shell at the other end.
#[derive(Debug)]
pub(super) struct Watcher {
    stream: UnixStream,
    frames: Frames,
    output: Vec<u8>,
}

impl Watcher {
    /// Starts one, as the container's own user or as another.
    pub(super) fn open(engine: &Engine, container: &str, user: Option<&str>, mark: &Mark) -> Result<Self, EngineError> {
        let (variable, limit) = (mark.variable(), mark.limit());
        let argv = vec![SHELL, "-c", SCRIPT, "loop-watch", &variable, &limit];
        let (_, upgraded) = engine.exec(container, &Exec { argv, workdir: Some("/"), user, env: Vec::new() })?;
        let failed = |error: io::Error| EngineError::Shell(error.to_string());
        let mut watcher = Self { stream: upgraded.stream, frames: Frames::default(), output: Vec::new() };
        watcher.receive(&upgraded.rest).map_err(failed)?;
        let first = watcher.line(Instant::now() + READY_TAKES_MAX).map_err(failed)?;
        if first != "ready" {
            return Err(failed(io::Error::other(loop_core::text::one_line(&first, 300))));
        }
        Ok(watcher)
    }

    fn receive(&mut self, bytes: &[u8]) -> io::Result<()> {
        let output = &mut self.output;
        let mut append = |channel: Channel, bytes: &[u8]| {
            if channel == Channel::Out {
                output.extend_from_slice(bytes);
            }
        };
        let pushed = self.frames.push(bytes, &mut append).map_err(|_| io::Error::other("no frame"));
        if self.output.len() > LINE_BYTES_MAX { Err(io::Error::other("it sent too much")) } else { pushed }
    }

    fn line(&mut self, until: Instant) -> io::Result<String> {
        let mut bytes = [0_u8; 4096];
        loop {
            if let Some(end) = self.output.iter().position(|byte| *byte == b'\n') {
                let rest = self.output.split_off(end + 1);
                let line = std::mem::replace(&mut self.output, rest);
                return Ok(String::from_utf8_lossy(&line).trim().to_owned());
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(late());
            }
            self.stream.set_read_timeout(Some(left))?;
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended")),
                Ok(count) => self.receive(bytes.get(..count).unwrap_or_default())?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(late()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends an order, and returns which processes it found.
    fn order(&mut self, words: &str, until: Instant) -> io::Result<Vec<u32>> {
        self.stream.set_write_timeout(Some(until.saturating_duration_since(Instant::now()).max(POLL_EVERY)))?;
        self.stream.write_all(format!("{words}\n").as_bytes())?;
        let line = self.line(until)?;
        let pids = line.strip_prefix("seen").ok_or_else(|| io::Error::other("it sent something else"))?;
        Ok(pids.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect())
    }

    /// Ends every process with the marks. Returns which they were and which are left.
    fn end(&mut self, ending: Ending) -> io::Result<(BTreeSet<u32>, Vec<u32>)> {
        let begun = Instant::now();
        let until = begun + ending.most;
        let mut seen: BTreeSet<u32> = self.order(&format!("send {}", ending.gentle), until)?.into_iter().collect();
        if !seen.is_empty() {
            // A stopped process cannot handle it.
            self.order("send CONT", until)?;
        }
        let mut empty = 0;
        let mut left = Vec::new();
        while empty < EMPTY_PASSES && (Instant::now() < until || left.is_empty()) {
            left = if begun.elapsed() < ending.grace {
                self.order("list", until)?
            } else {
                self.order("send STOP", until)?;
                self.order("send KILL", until)?;
                self.order("list", until)?
            };
            empty = if left.is_empty() { empty + 1 } else { 0 };
            seen.extend(&left);
            if empty == 0 {
                std::thread::sleep(POLL_EVERY);
            }
        }
        Ok((seen, left))
    }

    /// Lets it go.
    fn dismiss(mut self) {
        self.stream.write_all(b"bye\n").ok();
    }
}

/// Ends every process with the marks in a container, by the watcher that waits there, by a fresh one if it was ended,
/// and by root's if the agent changed its user. A stopped container has no processes.
pub(super) fn end(engine: &Engine, container: &str, mark: &Mark, waiting: Option<Watcher>, ending: Ending) -> Gone {
    let mut gone = Gone::default();
    let until = Instant::now() + ending.most;
    let mut why = String::from("the container could not be inspected");
    let mut left = Vec::new();
    let fresh = |user| Watcher::open(engine, container, user, mark).map_err(|error| error.to_string());
    let users = [None, Some(None), Some(Some("0"))];
    let mut waiting = waiting;
    for user in users {
        let watcher = match (user, waiting.take()) {
            (None, Some(watcher)) => Ok(watcher),
            (None, None) => continue,
            (Some(user), _) => fresh(user),
        };
        let ending = Ending { most: until.saturating_duration_since(Instant::now()).max(POLL_EVERY), ..ending };
        let ended = watcher.and_then(|mut watcher| {
            let ended = watcher.end(ending).map_err(|error| error.to_string())?;
            watcher.dismiss();
            Ok(ended)
        });
        match ended {
            Ok((seen, still)) => {
                gone.ended =
                    gone.ended.max(u32::try_from(seen.len() - still.len().min(seen.len())).unwrap_or(u32::MAX));
                if still.is_empty() {
                    return gone;
                }
                left = still;
            }
            Err(error) => {
                if !is_running(engine, container) {
                    return gone;
                }
                why = error;
            }
        }
    }
    if left.is_empty()
        && let Some(ended) = from_outside(engine, container, mark, ending)
    {
        return ended;
    }
    gone.left = if left.is_empty() { vec![why] } else { names(&left) };
    gone
}

/// The same where there is no shell in the container: by this machine's own `/proc`, where that shows its processes.
/// They have the variable alone then.
fn from_outside(engine: &Engine, container: &str, mark: &Mark, ending: Ending) -> Option<Gone> {
    let Container { id, state, .. } = engine.container(container).ok()?;
    let file = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", state.pid)).ok();
    // For an engine on another machine the number means another process.
    let seen = file("cgroup")?.contains(&id) && file("environ").is_some();
    seen.then(|| {
        let (ended, left) = end_with_mark(&mark.value(), ending.grace);
        Gone { ended, left }
    })
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "it took too long")
}

fn names(left: &[u32]) -> Vec<String> {
    let mut names: Vec<String> = left.iter().take(NAMED_MAX).map(|pid| format!("pid {pid} in the container")).collect();
    if left.len() > NAMED_MAX {
        names.push(format!("and {} more", left.len() - NAMED_MAX));
    }
    names
}

/// Whether anything may be alive in a container; yes where that is not known.
pub(super) fn is_running(engine: &Engine, container: &str) -> bool {
    match engine.container(container) {
        Ok(container) => container.state.running,
        Err(EngineError::NotFound(_)) => false,
        Err(
            EngineError::Unreachable { .. }
            | EngineError::Refused { .. }
            | EngineError::Shell(_)
            | EngineError::Malformed(_),
        ) => true,
    }
}
