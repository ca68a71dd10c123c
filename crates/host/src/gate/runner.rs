//! Runs gates for callers that wait for them. [`GateRunner::judge`] is for `loop verify` and clean copies: its tries, its
//! time limit and its verdict are those of a run. [`GateRunner::try_once`] is one of these tries, and all that the dry run
//! does (`rehearsal`): what depends on an earlier try does not reach it.
use std::path::PathBuf;
use std::time::{Duration, Instant};

use loop_core::machine::consult;
use loop_core::policy::gate::{EarlierTests, ExitContradiction, Tally, TryEvidence, TryVerdict, ran_to_an_end};
use loop_core::settings::GateSpec;
use loop_core::view::GateRun;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::baseline_watch::GateOpens;
use super::programs::ProgramWatch;
use super::results::TestHistory;
use super::run::{GateContext, GateFailure, GateReader, GateTry};
use crate::process::{Containment, Task, TaskEnd, Voice};
use crate::signals::Signals;

/// How long one wait for output, an end or a signal takes at most.
const WAIT_MAX: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// What happens while gates are run, to be shown.
#[derive(Debug)]
pub enum GateProgress<'a> {
    /// A gate is run, for the first of its tries.
    Started(&'a GateSpec),
    /// It wrote something.
    Output(&'a [u8]),
    /// A message for people.
    Message(String),
    /// It has a verdict.
    Judged(&'a GateRun),
}

/// What is known of a gate from before.
#[derive(Debug, Default)]
pub struct GateMemory {
    /// It has run to its end before, so that a time-out is a failure of the work.
    pub completed: bool,
    /// What earlier rounds said about its tests; none where only its exit code is to decide.
    pub earlier: Option<EarlierTests>,
    /// The tests of earlier rounds, by name.
    pub(crate) history: Option<TestHistory>,
}

impl GateMemory {
    /// Nothing is known of its tests from before. What its output says about them still counts.
    pub(crate) fn fresh(completed: bool) -> Self {
        Self { completed, earlier: Some(EarlierTests::default()), history: None }
    }

    /// Only whether it has run to its end before.
    #[must_use]
    pub fn completed(completed: bool) -> Self {
        Self { completed, ..Self::default() }
    }
}

/// Runs gates and waits for each. Ctrl-C ends the try under way.
#[derive(Debug)]
pub struct GateRunner<'a> {
    context: GateContext<'a>,
    timeout_ms: u64,
    outputs: PathBuf,
    containment: Containment,
    signals: &'a mut Signals,
    tries: u32,
    /// Whether a signal ended the last try.
    was_stopped: bool,
    programs: Option<&'a ProgramWatch>,
    /// The files that the gate opens, where they are looked at.
    opens: Option<GateOpens>,
}

impl<'a> GateRunner<'a> {
    /// A runner; `timeout_ms` is for gates without a limit of their own, and `outputs` gets a folder for each try.
    /// This process must adopt orphans already ([`crate::process::become_reaper`]).
    #[must_use]
    pub fn new(
        context: GateContext<'a>,
        timeout_ms: u64,
        outputs: PathBuf,
        containment: Containment,
        signals: &'a mut Signals,
    ) -> Self {
        let (tries, was_stopped, programs, opens) = (0, false, None, None);
        Self { context, timeout_ms, outputs, containment, signals, tries, was_stopped, programs, opens }
    }

    /// What held its processes, for another runner with the same mark.
    pub(crate) fn into_containment(self) -> Containment {
        self.containment
    }

    /// Looks at the programs of the gates before every start.
    pub(crate) fn with_programs(mut self, programs: &'a ProgramWatch) -> Self {
        self.programs = Some(programs);
        self
    }

    /// Looks at the files that the next gate opens.
    pub(crate) fn watch(&mut self, opens: GateOpens) {
        self.opens = Some(opens);
    }

    /// The files that the gate opened since they are recorded.
    pub(crate) fn take_opens(&mut self) -> Option<GateOpens> {
        self.opens.take()
    }

    /// The folder with the output of the last try.
    #[must_use]
    pub fn output(&self) -> PathBuf {
        self.outputs.join(self.tries.to_string())
    }

    /// Whether a signal stopped the newest try.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        self.was_stopped
    }

    /// Runs a gate as often as its verdict needs. Each try is judged as in a run. None when a signal stopped it.
    ///
    /// # Errors
    /// When a try has no result.
    pub fn judge(
        &mut self,
        gate: &GateSpec,
        memory: &GateMemory,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<Option<GateRun>, GateFailure> {
        show(GateProgress::Started(gate));
        let (mut tally, mut completed) = (Tally::default(), memory.completed);
        loop {
            let tried = self.try_once(gate, show);
            if self.was_stopped {
                return Ok(None);
            }
            let GateTry { mut report, tests } = tried?;
            if let (Some(history), Some(tests)) = (&memory.history, &tests) {
                let seen = history.compared(tests).map_err(|error| GateFailure::NotStored(error.to_string()))?;
                report.tests = Some(Box::new(seen));
            }
            let tried = TryEvidence {
                ended: &report.ended,
                tests: report.tests.as_deref(),
                ran_before: completed,
                earlier: memory.earlier,
                trust_exit: gate.trust_exit,
            };
            let TryVerdict { verdict: one, contradiction } =
                consult(|deciding| gate.promise().judge_try(&tried, deciding));
            tally = tally.with(one);
            completed |= consult(|deciding| ran_to_an_end(&report.ended, deciding));
            if let Some(verdict) = consult(|deciding| tally.verdict(gate.needs(), deciding)) {
                // Of several tries only the last one's contradiction is shown, whatever the verdict.
                let not_believed = contradiction.map(ExitContradiction::words);
                let (name, tries) = (gate.name.clone(), tally.tries());
                let judged = GateRun { name, verdict, tries, report, tests, contradiction, not_believed };
                show(GateProgress::Judged(&judged));
                return Ok(Some(judged));
            }
        }
    }

    /// Runs a gate once.
    ///
    /// # Errors
    /// When the try has no result.
    pub fn try_once(
        &mut self,
        gate: &GateSpec,
        show: &mut dyn FnMut(GateProgress<'_>),
    ) -> Result<GateTry, GateFailure> {
        self.tries += 1;
        self.was_stopped = false;
        if let Some(programs) = self.programs {
            programs.look();
        }
        let mut task = match self.context.start(gate, self.output(), &mut self.containment) {
            Ok(task) => task,
            Err(report) => return Ok(GateTry { report, tests: None }),
        };
        let limit = Duration::from_millis(gate.timeout_ms.unwrap_or(self.timeout_ms));
        let mut reader = GateReader::default();
        let end = self.wait(&mut task, limit, &mut |voice, bytes| {
            reader.push(voice, bytes);
            show(GateProgress::Output(bytes));
        });
        for text in self.containment.take_remarks() {
            show(GateProgress::Message(text));
        }
        reader.finish(end)
    }

    /// Waits until all processes of a try are dead. Past its limit, or after a signal, they are ended.
    fn wait(&mut self, task: &mut Task, limit: Duration, read: &mut dyn FnMut(Voice, &[u8])) -> TaskEnd {
        let began = Instant::now();
        loop {
            self.containment.check_shim();
            self.opens.iter_mut().for_each(GateOpens::drain);
            if let Some(end) = task.go_on(&mut self.containment, read) {
                return end;
            }
            self.was_stopped |= !self.signals.take().is_empty();
            if self.was_stopped || began.elapsed() >= limit {
                task.cancel();
            }
            let fds = task.wants().into_iter().chain(self.signals.wants());
            let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
            poll(&mut fds, Some(&WAIT_MAX)).ok();
        }
    }
}
