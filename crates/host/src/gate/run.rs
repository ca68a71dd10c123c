//! One try of a gate: how its command is started by `sh -c`, and how its output and end become a report. Nothing waits
//! here: the executor of a run polls the task, and [`GateRunner`](super::GateRunner) does for callers that wait.
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use loop_core::agent::Secrets;
use loop_core::run::{Ended, GateReport, Output};
use loop_core::settings::GateSpec;
use loop_core::test_output::{OutputRead, OutputStream, TestReader, Tests};
use loop_core::text;
use thiserror::Error;

use super::environment::gate_environment;
use crate::fs::FolderId;
use crate::paths::{program_on_path, shell};
use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, Voice};

/// How much of a gate's output is in its report.
const EXCERPT_BYTES_MAX: usize = 1024;

/// Where and with what gates are run.
#[derive(Debug)]
pub struct GateContext<'a> {
    /// Where they run.
    pub folder: &'a Path,
    /// Which folder that must be: no gate is started in another one that took its place.
    pub same: Option<FolderId>,
    /// Whether that is a copy of the workspace: a repository above it is not its own.
    pub is_copy: bool,
    /// What is taken out of their output.
    pub secrets: Arc<Secrets>,
    /// Further variables, such as another HOME.
    pub variables: Vec<(String, OsString)>,
}

impl GateContext<'_> {
    /// Starts a try of a gate. `output` is the folder that gets what it prints.
    ///
    /// # Errors
    /// The report of a gate that could not be started: core judges it.
    pub(crate) fn start(
        &self,
        gate: &GateSpec,
        output: PathBuf,
        containment: &mut Containment,
    ) -> Result<Task, GateReport> {
        let argv = ["sh".to_owned(), "-c".to_owned(), gate.promise().command.to_owned()];
        let spec = TaskSpec {
            lane: MAIN,
            argv: &argv,
            clear: true,
            env: gate_environment(self.folder, self.is_copy, &self.variables),
            folder: self.folder.to_owned(),
            same: self.same,
            stdin: None,
            output,
            secrets: Arc::clone(&self.secrets),
        };
        Task::start(spec, containment).map_err(|error| not_started(&error))
    }
}

/// Reads what a try prints.
#[derive(Debug, Default)]
pub(crate) struct GateReader(TestReader);

/// A try that ended.
#[derive(Debug)]
pub struct GateTry {
    /// How it ended.
    pub report: GateReport,
    /// The tests in its output.
    pub tests: Option<Tests>,
}

/// Why a try has no result, which is not the gate's fault.
#[derive(Debug, Error)]
pub enum GateFailure {
    /// Processes of it are still alive.
    #[error("could not be ended: {}", .0.join(", "))]
    NotEnded(Vec<String>),
    /// Its output could not be stored.
    #[error("could not be run: {0}")]
    NotStored(String),
}

impl GateReader {
    pub(crate) fn push(&mut self, voice: Voice, bytes: &[u8]) {
        let stream = match voice {
            Voice::Stdout => OutputStream::Stdout,
            Voice::Stderr => OutputStream::Stderr,
        };
        self.0.push(stream, bytes);
    }

    /// What the try showed.
    ///
    /// # Errors
    /// When it showed nothing, for a reason that is not the gate's.
    pub(crate) fn finish(self, end: TaskEnd) -> Result<GateTry, GateFailure> {
        if !end.lost.is_empty() {
            return Err(GateFailure::NotEnded(end.lost));
        }
        if let Some(why) = end.failed {
            return Err(GateFailure::NotStored(why));
        }
        let stderr = text::clean(&end.stderr_end);
        let shown = if stderr.trim().is_empty() { text::clean(&end.stdout_end) } else { stderr };
        let excerpt = text::tail(shown.trim(), EXCERPT_BYTES_MAX).to_owned();
        let OutputRead { tests, did_not_build } = self.0.finish();
        let report = GateReport {
            // What a gate that passes says of errors is about something else.
            did_not_build: did_not_build && end.ended != Ended::Exit(0),
            ended: end.ended,
            duration_ms: end.duration_ms,
            output: end.output,
            excerpt,
            tests: None,
            programs: Vec::new(),
            used: None,
        };
        Ok(GateTry { report, tests })
    }
}

fn not_started(error: &io::Error) -> GateReport {
    let why = error.to_string();
    let ended = Ended::NotStarted(why.clone());
    GateReport {
        ended,
        duration_ms: 0,
        output: Output::default(),
        excerpt: why,
        tests: None,
        did_not_build: false,
        programs: Vec::new(),
        used: None,
    }
}

/// The first word of a line, where the shell would find nothing to run by it: no program, no file, no word of its own.
#[must_use]
pub fn missing_command<'a>(line: &'a str, workspace: &Path) -> Option<&'a str> {
    let word = line.split_whitespace().next()?;
    // Of anything else the shell makes another word first.
    if !word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_./+-".contains(letter)) {
        return None;
    }
    if !word.contains('/') && program_on_path(word).is_some() {
        return None;
    }
    let mut command = Command::new(shell(workspace));
    command.arg0("sh").args(["-c", "command -v -- \"$1\"", "sh", word]).current_dir(workspace);
    let found = command.stdin(Stdio::null()).output().ok()?;
    (!found.status.success()).then_some(word)
}

/// What the shell finds wrong with a line, without running it.
#[must_use]
pub fn syntax_error(line: &str) -> Option<String> {
    let shell = shell(&std::env::current_dir().unwrap_or_default());
    let checked = Command::new(shell).arg0("sh").args(["-n", "-c", line]).stdin(Stdio::null()).output().ok()?;
    (!checked.status.success()).then(|| text::one_line(&String::from_utf8_lossy(&checked.stderr), 200))
}
