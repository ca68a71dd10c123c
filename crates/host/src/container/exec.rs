//! The program between a run and its agent in a container, `loop container-exec`. For the harness it is the agent:
//! it passes the streams on, exits when and as the agent does, and ends everything that the agent left in the
//! container.
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::pipe;

use super::bridge::{Bridge, Came, Ours};
use super::engine::{Engine, EngineError, Exec};
use super::mark::{Gone, Mark};
use super::watcher::{Ending, SHELL, Watcher, end, is_running};

/// What we end with when it is not the agent that failed, as Docker's own program does.
pub const OWN_ERROR: u8 = 125;

/// How often we check whether the agent has ended while it writes nothing.
const TICK: Duration = Duration::from_secs(1);
/// How long its streams may stay open when all processes are dead.
const CLOSING_TAKES_MAX: Duration = Duration::from_secs(1);
/// So long the engine may take to know that it has ended.
const EXIT_TAKES_MAX: Duration = Duration::from_secs(5);
const EXIT_POLL_EVERY: Duration = Duration::from_millis(20);

/// Asked to end: the harness kills us after five seconds.
const ASKED: (Duration, Duration) = (Duration::from_millis(3000), Duration::from_millis(4400));
/// The harness is gone: its shim and inits kill us after two.
const ORPHANED: (Duration, Duration) = (Duration::from_millis(800), Duration::from_millis(1700));
/// What an agent left behind that ended by itself.
const LEFTOVERS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// What is to be done.
#[derive(Debug, Default)]
struct Call {
    socket: PathBuf,
    container: String,
    run: String,
    workdir: Option<String>,
    user: Option<String>,
    env_file: Option<PathBuf>,
    report: Option<PathBuf>,
    interrupt: bool,
    argv: Vec<String>,
}

impl Call {
    fn read(words: &[OsString]) -> Result<Self, String> {
        let mut call = Self::default();
        let mut words = words.iter();
        let text = |word: &OsString| {
            word.to_str().map(str::to_owned).ok_or_else(|| format!("{} is not UTF-8 text", word.display()))
        };
        while let Some(word) = words.next() {
            let name = text(word)?;
            if name == "--" {
                call.argv = words.by_ref().map(text).collect::<Result<_, _>>()?;
                break;
            }
            let value = words.next().ok_or_else(|| format!("{name} needs a value"))?;
            match name.as_str() {
                "--socket" => call.socket = PathBuf::from(value),
                "--container" => call.container = text(value)?,
                "--run" => call.run = text(value)?,
                "--workdir" => call.workdir = Some(text(value)?),
                "--user" => call.user = Some(text(value)?),
                "--env-file" => call.env_file = Some(PathBuf::from(value)),
                "--report" => call.report = Some(PathBuf::from(value)),
                "--gentle" => call.interrupt = value == "INT",
                _ => return Err(format!("unknown word {name}")),
            }
        }
        if call.container.is_empty() || call.run.is_empty() || call.argv.is_empty() {
            return Err("--container, --run and a command are needed".to_owned());
        }
        Ok(call)
    }
}

/// Does all of it. Returns how the program ends.
#[must_use]
pub fn main(words: &[OsString]) -> u8 {
    let done = Call::read(words).and_then(|call| {
        run(&call).inspect_err(|why| {
            let gone = call.report.as_ref().and_then(|path| reported(path));
            report(&call, &Report { gone, failed: Some(why.clone()) });
        })
    });
    done.unwrap_or_else(|why| {
        print_error(&why);
        OWN_ERROR
    })
}

/// To the agent's stderr; errors are ignored.
fn print_error(what: &str) {
    writeln!(io::stderr(), "loop container-exec: {what}").ok();
}

/// How the agent's part is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Ended,
    Asked,
    Orphaned,
}

fn run(call: &Call) -> Result<u8, String> {
    let message = |error: &dyn std::error::Error| error.to_string();
    let signals = signals().map_err(|error| message(&error))?;
    let engine = Engine::at(&call.socket);
    let mark = Mark::of(&call.run);
    let env = environment(call, &mark).map_err(|error| format!("cannot read the environment: {error}"))?;
    let user = call.user.as_deref();
    let watcher = match engine.has(&call.container, SHELL) {
        Ok(false) => None,
        Ok(true) | Err(_) => {
            Some(Watcher::open(&engine, &call.container, user, &mark).map_err(|error| named(call, &error))?)
        }
    };
    let wrapped = watcher.is_some().then(|| mark.wrapped()).into_iter().flatten();
    let argv: Vec<String> = wrapped.chain(call.argv.iter().cloned()).collect();
    let argv = argv.iter().map(String::as_str).collect();
    let exec = Exec { argv, env, workdir: call.workdir.as_deref(), user };
    if is_asked(&signals) {
        return Err("asked to end before the agent was started".to_owned());
    }
    let (exec, streams) = engine.exec(&call.container, &exec).map_err(|error| named(call, &error))?;
    let mut bridge = ours().and_then(|ours| Bridge::new(streams, ours)).map_err(|error| message(&error))?;
    let over = pass_on(&mut bridge, &signals, || has_ended(&engine, &exec));
    // Whatever went wrong with the streams, no process is left behind.
    let (grace, most) = match over {
        Ok(Over::Ended) => LEFTOVERS,
        Ok(Over::Asked) | Err(_) => ASKED,
        Ok(Over::Orphaned) => ORPHANED,
    };
    let ending = Ending { gentle: if call.interrupt { "INT" } else { "TERM" }, grace, most };
    let gone = end_all(&mut bridge, || end(&engine, &call.container, &mark, watcher, ending));
    report(call, &Report { gone: Some(gone.clone()), failed: None });
    over?;
    if !gone.left.is_empty() {
        return Err(format!("could not be ended in the container: {}", gone.left.join(", ")));
    }
    exit_code(&engine, &call.container, &exec)
}

fn signals() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in [SIGTERM, SIGINT, SIGHUP] {
        pipe::register(signal, write.try_clone()?)?;
    }
    Ok(read)
}

/// Whether a signal has come.
fn is_asked(signals: &UnixStream) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(signals, PollFlags::IN)], Some(&now)).is_ok_and(|count| count > 0)
}

fn ours() -> io::Result<Ours<'static>> {
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().map(File::from);
    Ok(Ours {
        stdin: Box::new(own(io::stdin().as_fd())?),
        stdout: Box::new(own(io::stdout().as_fd())?),
        stderr: Box::new(own(io::stderr().as_fd())?),
    })
}

fn named(call: &Call, error: &EngineError) -> String {
    format!("the agent cannot be started in the container {}: {error}", call.container)
}

/// Passes the streams on until the agent has ended or has to.
fn pass_on(bridge: &mut Bridge<'_>, signals: &UnixStream, has_ended: impl Fn() -> bool) -> Result<Over, String> {
    loop {
        let before = bridge.received();
        match bridge.run(Some(signals.as_fd()), TICK).map_err(|error| format!("cannot pass the output on: {error}"))? {
            Came::Closed => return Ok(Over::Ended),
            Came::Asked => return Ok(Over::Asked),
            Came::Unread => return Ok(Over::Orphaned),
            Came::Garbled => return Err("what came from the container engine is not the stream of an exec".to_owned()),
            // A child that holds the streams keeps them open when the agent itself has ended.
            Came::Late if bridge.received() == before && has_ended() => return Ok(Over::Ended),
            Came::Late => {}
        }
    }
}

/// Ends all processes while the streams are still read, so that none of them blocks in a write.
fn end_all(bridge: &mut Bridge<'_>, end: impl FnOnce() -> Gone + Send) -> Gone {
    let Ok((done, mut finished)) = UnixStream::pair() else { return end() };
    std::thread::scope(|scope| {
        let ending = scope.spawn(move || {
            let gone = end();
            finished.write_all(b"!").ok();
            gone
        });
        let mut closed = false;
        while !closed && !ending.is_finished() {
            closed = match bridge.run(Some(done.as_fd()), TICK) {
                Ok(Came::Closed | Came::Asked | Came::Garbled) | Err(_) => true,
                Ok(Came::Unread | Came::Late) => false,
            };
        }
        let lost = |_| Gone { ended: 0, left: vec!["the processes in the container".to_owned()] };
        let gone = ending.join().unwrap_or_else(lost);
        let until = Instant::now() + CLOSING_TAKES_MAX;
        // The last words.
        while matches!(bridge.run(None, until.saturating_duration_since(Instant::now())), Ok(Came::Unread)) {}
        gone
    })
}

fn has_ended(engine: &Engine, exec: &str) -> bool {
    engine.exec_state(exec).is_ok_and(|state| !state.running)
}

/// How the agent ended, by the engine's word.
fn exit_code(engine: &Engine, container: &str, exec: &str) -> Result<u8, String> {
    let until = Instant::now() + EXIT_TAKES_MAX;
    loop {
        let state = engine.exec_state(exec);
        let ended = state.as_ref().ok().filter(|state| !state.running).and_then(|state| state.exit_code);
        let failed = ended != Some(0) || state.is_err();
        if failed && !is_running(engine, container) {
            return Err("the container has stopped, or was removed, while the agent was at work".to_owned());
        }
        if let Some(code) = ended {
            return u8::try_from(code).map_err(|_| format!("the agent ended with {code}"));
        }
        if Instant::now() >= until {
            return Err(state.map_or_else(
                |error| error.to_string(),
                |_| "the container engine does not report how the agent ended".to_owned(),
            ));
        }
        std::thread::sleep(EXIT_POLL_EVERY);
    }
}

/// The variables for the agent: what stands in the file, and the mark. A file without zero bytes has a variable a line.
fn environment(call: &Call, mark: &Mark) -> io::Result<Vec<String>> {
    let text = call.env_file.as_ref().map(fs::read_to_string).transpose()?.unwrap_or_default();
    let between = if text.contains('\0') { '\0' } else { '\n' };
    let variable = mark.variable();
    let ours = |line: &String| line.contains('=') && !line.starts_with("LOOP_MARK=");
    let lines = text.split(between).map(str::to_owned).chain(handed());
    Ok(lines.filter(ours).chain([variable]).collect())
}

/// What the names of our own variables begin with that are the agent's: no file holds them, and none of them means
/// anything to us.
const HANDED: &str = "LOOP_INSIDE_";

/// A variable for the agent, as it is handed to us.
#[must_use]
pub fn for_agent(name: &str) -> String {
    format!("{HANDED}{name}")
}

fn handed() -> impl Iterator<Item = String> {
    std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        Some(format!("{}={value}", name.strip_prefix(HANDED)?))
    })
}

/// What the harness gets beside the exit code.
#[derive(Debug, Serialize, Deserialize)]
struct Report {
    /// What was left; none if it was not checked.
    gone: Option<Gone>,
    /// What failed, where it was not the agent.
    failed: Option<String>,
}

fn report(call: &Call, report: &Report) {
    if let Some(path) = &call.report
        && let Ok(text) = serde_json::to_vec(report)
        && let Err(error) = fs::write(path, text)
    {
        print_error(&format!("cannot write {}: {error}", path.display()));
    }
}

/// What was reported of an attempt: how many were left running in the container and were ended, and who could not be.
#[must_use]
pub fn reported(path: &Path) -> Option<Gone> {
    read_report(path)?.gone
}

/// What failed that was not the agent, as it was reported.
#[must_use]
pub fn failure(path: &Path) -> Option<String> {
    read_report(path)?.failed
}

fn read_report(path: &Path) -> Option<Report> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
