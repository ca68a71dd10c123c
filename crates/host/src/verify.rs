//! Gates: the promise command, run by `sh -c` in the workspace.
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::agent::Secrets;
use loop_core::run::{Answer, Ended, GateReport, Output, RunState};
use loop_core::text;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, become_reaper, tail_of};
use crate::secrets;
use crate::signals::Signals;
use crate::tests_seen::Judging;

/// How much of a gate's words stands in its report.
const SAID_BYTES_MAX: usize = 1024;

/// Starts a gate. One that cannot be started has no verdict, which is for the core to judge.
pub(crate) fn start(
    state: &RunState,
    gate: u32,
    folder: PathBuf,
    output: PathBuf,
    containment: &mut Containment,
) -> Result<Task, Answer> {
    let command = usize::try_from(gate).ok().and_then(|gate| state.settings.shown().gates.get(gate));
    let (Some(command), Some(spec)) = (command, &state.spec) else {
        return Err(Answer::Failed { what: format!("there is no gate {gate}") });
    };
    let spec = (spec.id.as_str(), state.iteration, secrets::of(state));
    run_shell(command.promise().command, spec, folder, output, containment)
        .map_err(|error| Answer::GateEnded(not_started(&error)))
}

fn run_shell(
    command: &str,
    (run, iteration, secrets): (&str, u32, Arc<Secrets>),
    folder: PathBuf,
    output: PathBuf,
    containment: &mut Containment,
) -> std::io::Result<Task> {
    let argv = ["sh".to_owned(), "-c".to_owned(), command.to_owned()];
    let env = vec![("LOOP_ID".to_owned(), run.into()), ("LOOP_ITERATION".to_owned(), iteration.to_string().into())];
    Task::start(
        TaskSpec { lane: MAIN, argv: &argv, clear: false, env, folder, stdin: None, output, secrets },
        containment,
    )
}

fn not_started(error: &std::io::Error) -> GateReport {
    let why = error.to_string();
    GateReport {
        ended: Ended::NotStarted(why.clone()),
        duration_ms: 0,
        output: Output::default(),
        excerpt: why,
        tests: None,
    }
}

/// What the end of a gate is to the core.
pub(crate) fn answer(end: TaskEnd, judging: Option<Judging>) -> Answer {
    if !end.lost.is_empty() {
        return Answer::Lost { left: end.lost };
    }
    if let Some(what) = end.failed {
        return Answer::Failed { what };
    }
    let stderr = text::clean(&end.stderr_end);
    let stdout = text::clean(&end.stdout_end);
    let said = if stderr.trim().is_empty() { stdout } else { stderr };
    let said = text::tail(said.trim(), SAID_BYTES_MAX).to_owned();
    let tests = judging.and_then(Judging::end).map(Box::new);
    Answer::GateEnded(GateReport {
        ended: end.ended,
        duration_ms: end.duration_ms,
        output: end.output,
        excerpt: said,
        tests,
    })
}

/// What a rehearsal of a promise showed.
#[derive(Debug)]
pub struct Rehearsal {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// The end of its stdout.
    pub stdout: Vec<u8>,
    /// The end of its stderr.
    pub stderr: Vec<u8>,
}

/// Runs a promise once outside any run and keeps nothing. Ctrl-C ends it.
///
/// # Errors
/// When it cannot be started, or the machine would not let us.
pub fn rehearse(command: &str, folder: &Path, limit: Duration, containment: &str) -> io::Result<Rehearsal> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    let output = std::env::temp_dir().join(format!("loop-rehearsal-{}", crate::fs::fresh_id()?));
    let promise = loop_core::policy::gate::Promise::parse(command);
    let name = format!("rehearsal-{}", std::process::id());
    let mut containment = Containment::new(&name, containment, None)?;
    let mut task = run_shell(
        promise.command,
        ("rehearsal", 0, Arc::default()),
        folder.to_owned(),
        output.clone(),
        &mut containment,
    )?;
    let began = Instant::now();
    let end = loop {
        if let Some(end) = task.go_on(&mut containment, &mut |_, _| {}) {
            break end;
        }
        if began.elapsed() >= limit || !signals.take().is_empty() {
            task.cancel();
        }
        let fds = task.wants().into_iter().chain(signals.wants());
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let wait = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        poll(&mut fds, Some(&wait)).ok();
    };
    let tail = |name: &str| tail_of(&output.join(name), 64 * 1024);
    let rehearsal =
        Rehearsal { ended: end.ended, duration_ms: end.duration_ms, stdout: tail("stdout"), stderr: tail("stderr") };
    if output.exists() {
        std::fs::remove_dir_all(&output)?;
    }
    Ok(rehearsal)
}

/// What the shell finds wrong with a line, without running it.
#[must_use]
pub fn syntax_error(line: &str) -> Option<String> {
    let read =
        std::process::Command::new("sh").args(["-n", "-c", line]).stdin(std::process::Stdio::null()).output().ok()?;
    (!read.status.success()).then(|| text::one_line(&String::from_utf8_lossy(&read.stderr), 200))
}
