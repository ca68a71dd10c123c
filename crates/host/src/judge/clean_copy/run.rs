//! Runs the setup command, the gates and the hidden gates in the copy.
use loop_core::policy::gate::Verdict;
use loop_core::run::{Ended, Gate, GateIndex, INITIAL, JudgedGate, NameList, SameNames, TestsSeen};
use loop_core::settings::{GateSpec, Settings};
use loop_core::text;
use loop_core::view::GateRun;

use super::{CleanCopy, CleanError, CopyMounts, Watch};
use crate::gate::{GateContext, GateMemory, GateProgress, GateRunner, TestHistory, store_tests};
use crate::judge::hidden::{self, RanHidden};
use crate::process::Containment;
use crate::run_folder::RunFolder;
use crate::secrets;
use crate::signals::Signals;

/// So much of what a gate with tests says is in a report.
const SAID_BYTES_MAX: usize = 300;

/// How many of the gates are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateRange {
    /// All.
    All,
    /// Up to the first required one that does not pass.
    UpToFailure,
}

/// A gate that was run on the copy.
#[derive(Debug)]
pub(crate) struct RanGate {
    /// Which one.
    pub(crate) gate: GateIndex,
    /// What it said.
    pub(crate) run: GateRun,
    /// Whether two runs of it ran the same tests, where that was tried.
    pub(crate) same_tests: Option<SameNames>,
}

impl RanGate {
    /// As a report has it.
    pub(crate) fn judged(&self) -> JudgedGate {
        let GateRun { verdict, tries, mut report, contradiction, .. } = self.run.clone();
        // A report of many gates is one fact, which is bounded: of the names only those that must be there.
        report.tests = report.tests.map(|tests| {
            let tests = TestsSeen { gone: NameList::default(), newly_skipped: NameList::default(), ..*tests };
            Box::new(TestsSeen { failing_since_start: NameList::default(), ..tests })
        });
        // Keep the output only if needed: to compare gates without tests, and to show why a gate failed.
        let bytes = match (verdict, &report.tests) {
            (Verdict::Pass, _) => 0,
            (_, Some(_)) => SAID_BYTES_MAX,
            (_, None) => report.excerpt.len(),
        };
        report.excerpt = text::tail(&report.excerpt, bytes).to_owned();
        JudgedGate { gate: self.gate, verdict, tries, report, contradiction, same_tests: self.same_tests }
    }
}

impl CleanCopy<'_> {
    /// Installs dependencies in the copy, where the user gave a command for it.
    ///
    /// # Errors
    /// When it fails, or a signal stopped it.
    pub(crate) fn set_up(
        &self,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<(), CleanError> {
        let settings = self.request.of.state.settings.shown();
        let Some(command) = settings.values.gate.setup.clone().filter(|_| self.request.is_clean()) else {
            return Ok(());
        };
        let timeout_ms = Some(settings.values.gate.setup_timeout.0);
        let gate = GateSpec { timeout_ms, ..GateSpec::new("setup", &command) };
        let mut runner = self.runner(settings, signals)?;
        let tried = runner.try_once(&gate, show);
        if runner.was_stopped() {
            return Err(CleanError::Stopped);
        }
        let report = tried.map_err(|failure| CleanError::Unable(format!("the setup command {failure}")))?.report;
        if report.ended == Ended::Exit(0) {
            return Ok(());
        }
        let why = format!("the setup command failed in the copy ({}): {}", report.ended.brief(), report.excerpt);
        Err(CleanError::SetupFailed(text::one_line(&why, 400)))
    }

    fn runner<'b>(&'b self, settings: &Settings, signals: &'b mut Signals) -> Result<GateRunner<'b>, CleanError> {
        let state = self.request.of.state;
        self.rounds.set(self.rounds.get() + 1);
        let containment = Containment::new(self.request.owner, settings.values.agent.containment.word(), None)?;
        let context = GateContext {
            folder: &self.folder,
            same: None,
            // At its own path a repository above it is the one that is above the workspace.
            is_copy: self.mounts != CopyMounts::AtWorkspace,
            secrets: secrets::of(state),
            variables: self.contents.variables.clone(),
        };
        let outputs = self.request.outputs.unwrap_or(&self.scratch);
        let outputs = outputs.join(format!("round-{}", self.rounds.get()));
        let runner = GateRunner::new(context, settings.gate_timeout_ms, outputs, containment, signals);
        Ok(runner.with_programs(&self.programs))
    }

    /// Runs the gates in their order.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_gates(
        &self,
        range: GateRange,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<Vec<RanGate>, CleanError> {
        self.run_some(&|_| true, range, signals, show)
    }

    /// The same for some of the gates.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_some(
        &self,
        is_wanted: &dyn Fn(GateIndex) -> bool,
        range: GateRange,
        signals: &mut Signals,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<Vec<RanGate>, CleanError> {
        let state = self.request.of.state;
        let settings = state.settings.shown();
        let mut ran: Vec<RanGate> = Vec::new();
        let mut runner = self.runner(settings, signals)?;
        let watched = self.watched();
        for next in 0..u32::try_from(settings.gates.len()).unwrap_or(u32::MAX) {
            let Some(at) = state.gates.at(next).filter(|at| is_wanted(*at)) else { continue };
            let gate = state.gates.get(at).ok_or_else(|| CleanError::Unable(format!("there is no gate {at}")))?;
            let memory = self.memory(at, gate);
            let mut judge = || {
                let failed = |failure| CleanError::Unable(format!("the gate {} {failure}", gate.spec().name));
                let judged = runner.judge(gate.spec(), &memory, show).map_err(failed)?;
                let run = judged.ok_or(CleanError::Stopped)?;
                if let Some(tests) = &run.tests {
                    store_tests(&runner.output(), tests);
                }
                Ok::<GateRun, CleanError>(run)
            };
            let run = judge()?;
            let same_tests = self.same_tests(gate, &memory, &run, &mut judge)?;
            let is_over = gate.is_required() && run.verdict != Verdict::Pass;
            ran.push(RanGate { gate: at, run, same_tests });
            if is_over && range == GateRange::UpToFailure {
                break;
            }
        }
        drop((runner, watched));
        Ok(ran)
    }

    /// Runs hidden gates.
    ///
    /// # Errors
    /// When one has no result, or a signal stopped it.
    pub(crate) fn run_hidden(
        &self,
        gates: &[GateSpec],
        range: GateRange,
        signals: &mut Signals,
    ) -> Result<Vec<RanHidden>, CleanError> {
        let mut runner = self.runner(self.request.of.state.settings.shown(), signals)?;
        let watched = self.watched();
        let ran = hidden::run_each(&mut runner, gates, range);
        drop((runner, watched));
        ran
    }

    /// What is known of a gate from the run. On the initial tree its exit code decides, as before iteration 1.
    fn memory(&self, at: GateIndex, gate: &Gate) -> GateMemory {
        let (state, run) = (self.request.of.state, self.request.of.run);
        let is_initial = self.request.checkpoint == INITIAL && state.iteration > 0;
        let id = state.spec.as_ref().map(|spec| spec.id.clone());
        let history = id.map(|id| TestHistory::on_copy(&RunFolder { id, path: run.to_owned() }, state, at));
        let earlier = (!is_initial).then(|| gate.earlier_tests());
        GateMemory { completed: gate.completed(), earlier, history }
    }

    /// Whether the gate runs the same tests each time, where that decides something: on the initial tree, or where names of
    /// tests are gone that are not gone without their brackets. For that it is run once more.
    fn same_tests(
        &self,
        gate: &Gate,
        memory: &GateMemory,
        run: &GateRun,
        judge: &mut dyn FnMut() -> Result<GateRun, CleanError>,
    ) -> Result<Option<SameNames>, CleanError> {
        let (Some(tests), Some(seen)) = (&run.tests, &run.report.tests) else { return Ok(None) };
        let is_initial = memory.earlier.is_none();
        let in_brackets = !seen.missing.is_nothing() && seen.missing_without_brackets.is_nothing();
        let decides = is_initial || (in_brackets && run.verdict == Verdict::Pass);
        if gate.test_set().is_some() || !decides {
            return Ok(None);
        }
        Ok(judge()?.tests.and_then(|second| tests.same_names(&second)))
    }

    /// Until this is dropped, opens of the workspace count.
    fn watched(&self) -> Watched<'_> {
        if let Watch::Set(watch) = &self.watch {
            watch.begin();
        }
        Watched(&self.watch)
    }
}

/// A time in which gates run.
struct Watched<'a>(&'a Watch);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        if let Watch::Set(watch) = self.0 {
            watch.end();
        }
    }
}
