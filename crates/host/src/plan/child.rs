//! The child process of a plan: it drives one run, or runs gates, and ends with its plan. What it prints is one line of
//! JSON. What became of a run is read from the journal of the run, never from this line.
use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use loop_core::ended::Ended;
use loop_core::ids::RunId;
use loop_core::machine::JournalEntry;
use loop_core::plan::ItemChecked;
use loop_core::policy::gate::Verdict;
use loop_core::run::{Fact, RunState};
use loop_core::settings::{GateSpec, Resolved, Settings};
use loop_core::text;
use loop_core::time::At;
use loop_core::view::LiveDigest;
use rustix::process::{Signal, getppid, set_parent_process_death_signal, setsid};
use serde::{Deserialize, Serialize};

use super::list::{ItemCheckRequest, run_check};
use super::merged_tests::MergedRuns;
use super::recovery;
use crate::branches::{CHILD, RecoveryRequest};
use crate::driver::Reporter;
use crate::gate::{GateContext, GateFailure, GateRunner};
use crate::launch::{self, LaunchAnswers, LaunchRequest, PersonAnswer, PreparedResume, ReadyRun, ResumeRequest};
use crate::paths::Home;
use crate::process::{Containment, become_reaper, tail_of};
use crate::refusal::LaunchRefusal;
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::signals::Signals;

/// A request is at most so long: a task and settings, with escapes.
const REQUEST_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long the process that drove a run before may take to die.
const HELD_WITHIN: Duration = Duration::from_secs(10);
/// How much of what a command printed is said.
const SAID_BYTES_MAX: usize = 400;
/// How much of what a command prints is read to find its number.
const NUMBER_BYTES_MAX: u64 = 64 * 1024;

/// How much of what a gate printed is said.
const SAID_AGAIN_BYTES_MAX: usize = 200;
/// How much of the last line of a command is said.
const LAST_LINE_LETTERS_MAX: usize = 200;

/// What a child is started for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ChildRequest {
    /// The process of the plan: a child of another process ends at once.
    pub(super) parent: i32,
    pub(super) work: ChildWork,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChildWork {
    /// Makes a run and drives it.
    Start(Box<LaunchRequest>),
    /// Drives a run that exists.
    Resume { run: RunId, request: ResumeRequest },
    /// Drives a plan of branches for a run that is stuck.
    Recover(Box<RecoveryRequest>),
    /// Runs gates.
    Gates(Box<GatesRequest>),
    /// Runs one command of the user.
    Command(Box<CommandRequest>),
    /// Runs the checks of an item.
    Check(Box<ItemCheckRequest>),
}

/// A command of the user: of a metric, or a hook.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CommandRequest {
    /// Whose process this is.
    pub(super) mark: String,
    pub(super) folder: PathBuf,
    /// Whether that is a copy of the workspace.
    pub(super) is_copy: bool,
    pub(super) command: String,
    /// What it gets beside the environment.
    pub(super) variables: Vec<(String, String)>,
    pub(super) outputs: PathBuf,
    /// Whether a number in its last line is wanted.
    pub(super) wants_number: bool,
    /// How long it may take, where that is less than the plan allows.
    pub(super) limit_ms: Option<u64>,
}

/// The settings whose gates are run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GatesOfNode {
    pub(super) node: String,
    /// The run whose result is in the tree.
    #[serde(default)]
    pub(super) run: Option<RunId>,
    pub(super) settings: Resolved,
}

/// Which gates are run, and where.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct GatesRequest {
    /// Whose processes these are.
    pub(super) mark: String,
    pub(super) folder: PathBuf,
    /// Whether that is a copy of the workspace.
    pub(super) is_copy: bool,
    /// Whose gates.
    pub(super) nodes: Vec<GatesOfNode>,
    /// Every run whose result is in the tree.
    #[serde(default)]
    pub(super) merged: Vec<RunId>,
    /// Gets a folder for each try.
    pub(super) outputs: PathBuf,
}

/// The line that a child prints.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChildLine {
    /// The run that it drives from now on.
    Run(RunId),
    Refused(LaunchRefusal),
    Gates(Vec<GateSaidAgain>),
    /// What the checks of an item said.
    Checked(Box<ItemChecked>),
    /// The number that a command printed last.
    Number(f64),
    /// Why a command gave no number.
    NoNumber(String),
    /// How a command ended, and the end of what it printed where it failed.
    Ended {
        ended: Ended,
        says: String,
    },
    /// A signal ended it, or the machine did not allow it.
    Failed(String),
}

/// What a gate said in the workspace or in a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GateSaidAgain {
    /// Whose gate it is.
    pub(super) node: String,
    pub(super) name: String,
    /// It decides nothing.
    pub(super) watch: bool,
    pub(super) verdict: Verdict,
    /// How it ended, and the end of what it printed.
    pub(super) said: String,
}

/// Does the work of a child, if that is what this process was started for.
#[must_use]
pub fn run_if_asked() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    if words.next()? != CHILD || words.next().is_some() {
        return None;
    }
    Some(match run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print(&ChildLine::Failed(error.to_string()));
            ExitCode::FAILURE
        }
    })
}

fn run() -> io::Result<u8> {
    let mut text = String::new();
    io::stdin().lock().take(REQUEST_BYTES_MAX).read_to_string(&mut text)?;
    let request: ChildRequest = serde_json::from_str(&text)?;
    std::fs::write("/proc/self/comm", "loop-branch").ok();
    // The plan may die at any moment; nothing of it may work then.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid().map(|parent| parent.as_raw_nonzero().get()) != Some(request.parent) {
        return Err(io::Error::other("the plan that started this process is dead"));
    }
    // Ctrl-C in a terminal is for the plan: it asks its runs itself.
    setsid().ok();
    match request.work {
        ChildWork::Gates(gates) => {
            print(&run_gates(&gates)?);
            Ok(0)
        }
        ChildWork::Recover(request) => {
            let line = recovery::drive(&request)?;
            let failed = !matches!(line, ChildLine::Run(_));
            print(&line);
            Ok(u8::from(failed))
        }
        ChildWork::Command(command) => {
            print(&run_command(&command)?);
            Ok(0)
        }
        ChildWork::Check(check) => {
            print(&run_check(&check)?);
            Ok(0)
        }
        ChildWork::Start(launch) => drive(|home| start(home, *launch)),
        ChildWork::Resume { run, request } => drive(|home| resume(home, run, request)),
    }
}

fn print(line: &ChildLine) {
    let text = serde_json::to_string(line).unwrap_or_default();
    let mut out = io::stdout().lock();
    // A parent that does not read is dead.
    writeln!(out, "{text}").and_then(|()| out.flush()).ok();
}

/// The person was asked when the plan was started.
fn answers() -> LaunchAnswers {
    LaunchAnswers {
        allow_everything: PersonAnswer::Yes,
        start_with_missing_command: PersonAnswer::Yes,
        ..LaunchAnswers::default()
    }
}

fn start(home: &Home, request: LaunchRequest) -> Result<Option<ReadyRun>, LaunchRefusal> {
    let mut caller = answers();
    let prepared = launch::prepare(home, request, &mut caller)?;
    let ready = launch::create(home, &prepared, &mut caller)?;
    caller.notes.iter().for_each(|note| note_to_log(&note.text));
    Ok(Some(ready))
}

fn resume(home: &Home, run: RunId, request: ResumeRequest) -> Result<Option<ReadyRun>, LaunchRefusal> {
    let folder = RunFolder { path: home.runs().join(run.as_str()), id: run };
    // The process of a plan that was killed may be about to die.
    let until = Instant::now() + HELD_WITHIN;
    while folder.holder().is_some() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut caller = answers();
    match launch::prepare_resume(folder, request, &mut caller)? {
        PreparedResume::Run(run) => launch::reopen(home, *run, &mut caller).map(Some),
        PreparedResume::ResultWritten { .. } => Ok(None),
    }
}

fn drive(ready: impl FnOnce(&Home) -> Result<Option<ReadyRun>, LaunchRefusal>) -> io::Result<u8> {
    let home = Home::find(|name| std::env::var_os(name)).map_err(io::Error::other)?;
    let ready = match ready(&home) {
        Ok(Some(ready)) => ready,
        Ok(None) => return Ok(0),
        Err(refusal) => {
            print(&ChildLine::Refused(refusal));
            return Ok(4);
        }
    };
    print(&ChildLine::Run(ready.folder().id.clone()));
    match launch::drive(&home, ready, &mut Silent) {
        Ok(driven) => {
            driven.notes.iter().for_each(|note| note_to_log(&note.text));
            Ok(driven.exit_code())
        }
        Err(stopped) => {
            note_to_log(&stopped.refusal.sentence());
            Ok(3)
        }
    }
}

/// Our stderr is a log in the folder of the plan.
fn note_to_log(text: &str) {
    writeln!(io::stderr(), "{text}").ok();
}

/// Shows nothing: the plan shows its runs by their journals.
struct Silent;

impl Reporter for Silent {
    fn on_entry(&mut self, _: &JournalEntry<Fact>, _: &RunState) {}
    fn on_output(&mut self, _: &[u8]) {}
    fn on_live(&mut self, _: &LiveDigest) {}
    fn tick(&self) -> Option<Duration> {
        None
    }
    fn draw(&mut self, _: &RunState, _: At) {}
}

fn run_gates(request: &GatesRequest) -> io::Result<ChildLine> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    let mut said: Vec<GateSaidAgain> = Vec::new();
    let mut set_up: BTreeSet<String> = BTreeSet::new();
    let home = Home::find(|name| std::env::var_os(name)).map_err(io::Error::other)?;
    let merged = MergedRuns::new(&home, &request.merged);
    // One for all nodes that want the same: each is a process of its own.
    let mut free: Option<(String, Containment)> = None;
    for GatesOfNode { node, run, settings } in &request.nodes {
        let settings = Settings::of(settings);
        let agent = &settings.values.agent;
        let context = GateContext {
            folder: &request.folder,
            same: None,
            is_copy: request.is_copy,
            secrets: Arc::new(secrets::declared(agent)),
            variables: Vec::new(),
        };
        let wanted = agent.containment.word().to_owned();
        let containment = match free.take().filter(|(word, _)| *word == wanted) {
            Some((_, containment)) => containment,
            None => Containment::new(&request.mark, &wanted, None)?,
        };
        let outputs = request.outputs.join(node);
        let mut runner = GateRunner::new(context, settings.gate_timeout_ms, outputs, containment, &mut signals);
        // A copy has its dependencies first. Those of the workspace are the user's own.
        let command = settings.values.gate.setup.clone().filter(|_| request.is_copy);
        if let Some(command) = command.filter(|command| set_up.insert(command.clone())) {
            let limit_ms = Some(settings.values.gate.setup_timeout.0);
            let gate = GateSpec { timeout_ms: limit_ms, ..GateSpec::new("setup", &command) };
            let tried = runner.try_once(&gate, &mut |_| {}).map_err(io::Error::other)?;
            if runner.was_stopped() {
                return Ok(ChildLine::Failed("it was stopped".to_owned()));
            }
            if tried.report.ended != Ended::Exit(0) {
                let (ended, said) = (tried.report.ended.brief(), tried.report.excerpt.trim());
                let why = format!("the setup command failed in the copy ({ended}): {said}");
                return Ok(ChildLine::Failed(text::one_line(&why, SAID_BYTES_MAX)));
            }
        }
        for gate in &settings.gates {
            let tests = MergedGate { merged: &merged, run: run.as_ref(), gate };
            let Some(again) = said_again(node, &tests, &mut runner).map_err(io::Error::other)? else {
                return Ok(ChildLine::Failed("it was stopped".to_owned()));
            };
            said.push(again);
        }
        free = Some((wanted, runner.into_containment()));
    }
    Ok(ChildLine::Gates(said))
}

/// A gate of a run, on a tree that has the result of the run.
struct MergedGate<'a> {
    merged: &'a MergedRuns,
    run: Option<&'a RunId>,
    gate: &'a GateSpec,
}

/// What a gate says on a merged tree. None when a signal stopped it.
fn said_again(
    node: &str,
    of: &MergedGate<'_>,
    runner: &mut GateRunner<'_>,
) -> Result<Option<GateSaidAgain>, GateFailure> {
    let MergedGate { merged, run, gate } = *of;
    let memory = merged.memory(run, gate);
    let mut judge = || runner.judge(gate, &memory, &mut |_| {});
    let Some(judged) = judge()? else { return Ok(None) };
    let again = || judge().ok().flatten().and_then(|judged| judged.tests);
    let passes = judged.verdict == Verdict::Pass;
    let lost = passes.then(|| merged.lost(run, gate, judged.tests.as_ref(), again)).flatten();
    let verdict = if lost.is_some() { Verdict::Fail } else { judged.verdict };
    let excerpt = judged.report.excerpt.lines().last().unwrap_or_default();
    let ended = [judged.report.ended.brief(), excerpt.to_owned()].join(" ");
    // Its exit code says that it passed: what says otherwise comes first.
    let words = lost.or(judged.not_believed).unwrap_or(ended);
    let (node, said) = (node.to_owned(), text::one_line(words.trim(), SAID_AGAIN_BYTES_MAX));
    Ok(Some(GateSaidAgain { node, name: judged.name, watch: gate.watch, verdict, said }))
}

fn run_command(request: &CommandRequest) -> io::Result<ChildLine> {
    let mut signals = Signals::listen()?;
    become_reaper()?;
    let variables = request.variables.iter().map(|(name, value)| (name.clone(), value.into())).collect();
    let context = GateContext {
        folder: &request.folder,
        same: None,
        is_copy: request.is_copy,
        secrets: Arc::default(),
        variables,
    };
    let containment = Containment::new(&request.mark, "auto", None)?;
    // Without a limit of its own, the plan ends it when its time is over.
    let limit_ms = request.limit_ms.unwrap_or(u64::MAX);
    let mut runner = GateRunner::new(context, limit_ms, request.outputs.clone(), containment, &mut signals);
    let gate = GateSpec::new("command", &request.command);
    let tried = runner.try_once(&gate, &mut |_| {}).map_err(io::Error::other)?;
    if runner.was_stopped() {
        return Ok(ChildLine::Failed("it was stopped".to_owned()));
    }
    let (ended, output) = (tried.report.ended, runner.output());
    let has_failed = ended != Ended::Exit(0);
    if !request.wants_number {
        // The last line of its errors, or else the end of all that it printed.
        let line = last_line(&output, "stderr");
        let printed = || text::one_line(text::tail(tried.report.excerpt.trim(), SAID_BYTES_MAX), SAID_BYTES_MAX);
        let says = if !has_failed {
            String::new()
        } else if line.is_empty() {
            printed()
        } else {
            line
        };
        return Ok(ChildLine::Ended { ended, says });
    }
    if has_failed {
        let says = last_line(&output, "stderr");
        let says = if says.is_empty() { says } else { format!(": {says}") };
        return Ok(ChildLine::NoNumber(format!("the command of the metric failed ({}){says}", ended.brief())));
    }
    let last = last_line(&output, "stdout");
    Ok(match last.parse().ok().filter(|number: &f64| number.is_finite()) {
        Some(number) => ChildLine::Number(number),
        None if last.is_empty() => ChildLine::NoNumber("the command of the metric printed nothing".to_owned()),
        None => ChildLine::NoNumber(format!("the last line of the metric is not a number: {last}")),
    })
}

/// The last line that is not empty of what a command printed.
fn last_line(output: &Path, stream: &str) -> String {
    let text = tail_of(&output.join(stream), NUMBER_BYTES_MAX);
    let text = String::from_utf8_lossy(&text);
    let last = text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    loop_core::text::one_line(&loop_core::text::clean(last.as_bytes()), LAST_LINE_LETTERS_MAX)
}
