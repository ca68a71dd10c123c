//! The state of a run: the fold of its facts. Its size is bounded, however long the run is.
use std::sync::Arc;

use super::agent::AgentMemory;
use super::alerts::AlertMemory;
use super::budget::Budget;
use super::checkpoints::Checkpoints;
use super::clock::{DriverMode, RunClock};
use super::event::{Change, Target};
use super::fact::{CancelCause, HoldCause, Order};
use super::gates::Gates;
use super::guard::Guard;
use super::judgement::ProofJudgement;
use super::outcome::{Acceptance, Ending, Outcome, Standing, standing};
use super::phase::Phase;
use super::progress::Progress;
use super::prompt_memory::PromptMemory;
use super::proving::Proving;
use super::recovery::Recovery;
use super::report::CertifyReport;
use super::spec::RunSpec;
use crate::ids::{OrderId, ProcessId};
use crate::machine::{Deciding, OpenOrder, Orders};
use crate::policy::proof::ProofResult;
use crate::settings::{Resolved, Settings};
use crate::time::At;

/// Everything that decisions may depend on: a phase and parts. Each part changes only by its own methods.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunState {
    /// What it was started with; none before the first fact.
    pub spec: Option<Arc<RunSpec>>,
    /// The settings that hold now.
    pub settings: RunSettings,
    /// The newest time that was seen.
    pub now: At,
    /// Which step of the iteration is under way, or comes next.
    pub phase: Phase,
    /// The end, while it has one.
    pub over: Option<Ending>,
    /// Orders that have no answer yet.
    pub orders: RunOrders,
    /// Who drives it, and how much of its time is used.
    pub clock: RunClock,
    /// The iteration that was begun last, from 1.
    pub iteration: u32,
    /// The attempt in it, from 1.
    pub attempt: u32,
    /// What people asked for.
    pub requests: Requests,
    /// The gates, and what they said.
    pub gates: Gates,
    /// What is known about its agents and their providers.
    pub agent: AgentMemory,
    /// What was spent.
    pub budget: Budget,
    /// How good its states are, and whether it gets anywhere.
    pub progress: Progress,
    /// Whether it is stuck, and what is tried against that.
    pub recovery: Recovery,
    /// What is known about its passes: clean copies, probes, proofs.
    pub proving: Proving,
    /// What is known about the protected files.
    pub guard: Guard,
    /// What is known about its checkpoints.
    pub checkpoints: Checkpoints,
    /// What the next prompts say.
    pub prompt: PromptMemory,
    /// What went wrong on this machine, and which alerts were reported.
    pub trouble: Trouble,
}

/// The settings of a run. Decisions read them; bookkeeping cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunSettings(Arc<Settings>);

impl RunSettings {
    /// The settings that these texts say.
    #[must_use]
    pub fn new(resolved: &Resolved) -> Self {
        Self(Arc::new(Settings::of(resolved)))
    }

    /// For decisions.
    #[must_use]
    pub fn read(&self, _: &Deciding) -> &Settings {
        &self.0
    }

    /// For people, and for the host when it carries out an order.
    #[must_use]
    pub fn shown(&self) -> &Settings {
        &self.0
    }

    pub(super) fn change(&mut self, change: &Change) {
        Arc::make_mut(&mut self.0).change(&change.key, &change.value);
    }
}

impl From<Settings> for RunSettings {
    fn from(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }
}

/// Orders of a run that have no answer yet.
pub type RunOrders = Orders<Order, CancelCause>;

/// An order of a run without an answer.
pub type OpenRunOrder = OpenOrder<Order, CancelCause>;

/// What people asked for and how. Only people write here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Requests {
    /// Stop after the iteration.
    pub stop: Option<String>,
    /// Stop now.
    pub abort: Option<String>,
    /// Stop now, for good.
    pub cancel: Option<String>,
    /// Hold after the iteration.
    pub pause: Option<String>,
    /// Go back to a checkpoint.
    pub rollback: Option<Target>,
    /// Accept the pass as it is.
    pub accept: Option<Acceptance>,
}

/// What went wrong on this machine, and which alerts were reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trouble {
    /// What was reported at once.
    pub alerts: AlertMemory,
    host_failure: Option<String>,
    lost_agent: Option<String>,
    unclean: Option<Vec<ProcessId>>,
    blocked: Option<String>,
    blocked_since: Option<At>,
    held: Option<String>,
}

impl Trouble {
    /// What the host could not do.
    #[must_use]
    pub fn host_failure(&self) -> Option<&str> {
        self.host_failure.as_deref()
    }

    /// What is left of an agent that could not be ended.
    #[must_use]
    pub fn lost_agent(&self) -> Option<&str> {
        self.lost_agent.as_deref()
    }

    /// Processes of a cut-off attempt that may still run.
    #[must_use]
    pub fn unclean(&self) -> Option<&[ProcessId]> {
        self.unclean.as_deref()
    }

    /// What a person must fix before the run can continue.
    #[must_use]
    pub fn blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }

    pub(super) fn host_failed(&mut self, what: &str) {
        self.host_failure = Some(what.to_owned());
    }

    pub(super) fn agent_lost(&mut self, left: String) {
        self.lost_agent = Some(left);
    }

    pub(super) fn may_run(&mut self, process: Option<ProcessId>) {
        self.unclean.get_or_insert_default().extend(process);
    }

    pub(super) fn cleaned(&mut self) {
        self.unclean = None;
    }

    /// Since when a person must fix it.
    pub(super) fn blocked_since(&self) -> Option<At> {
        self.blocked_since
    }

    pub(super) fn block(&mut self, why: &str, now: At) {
        self.blocked = Some(why.to_owned());
        self.blocked_since = self.blocked_since.or(Some(now));
    }

    /// What the run was blocked by before a rollback: it stays blocked until a person has looked at it.
    #[must_use]
    pub fn held(&self) -> Option<&str> {
        self.held.as_deref()
    }

    pub(super) fn unblock(&mut self) {
        self.blocked = None;
        self.blocked_since = None;
        self.held = None;
    }

    pub(super) fn hold_after_rollback(&mut self) {
        self.blocked_since = None;
        self.held = self.blocked.take().or(self.held.take());
    }

    /// What the host could not do was another order's: the next one is tried.
    pub(super) fn forget_host_failure(&mut self) {
        self.host_failure = None;
    }

    /// Somebody opened the run again, and may have fixed it. What may still run is not forgotten.
    pub(super) fn forget(&mut self) {
        self.forget_host_failure();
        self.lost_agent = None;
        self.unblock();
    }
}

impl RunState {
    /// The id of the run, as a command takes it; empty before it is known.
    #[must_use]
    pub fn id_text(&self) -> &str {
        self.spec.as_ref().map_or("", |spec| spec.id.as_str())
    }

    /// The main order that is open.
    #[must_use]
    pub fn main_order(&self) -> Option<(OrderId, &OpenRunOrder)> {
        self.orders.iter().find(|(_, open)| open.order.is_main())
    }

    /// Whether it holds until a person resumes it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let cause = self.main_order().and_then(|(_, open)| open.order.hold_cause());
        cause.is_some_and(HoldCause::waits_for_person)
    }

    /// How long it has been at work, without the time in which no driver was.
    #[must_use]
    pub fn active_ms(&self, now: At) -> u64 {
        self.clock.active_ms(now)
    }

    /// Whether a driver works on it.
    #[must_use]
    pub fn is_driven(&self) -> bool {
        self.clock.driver() == DriverMode::Driving
    }

    /// Whether a command opened it for one request and does not resume it.
    #[must_use]
    pub fn is_for_one_request(&self) -> bool {
        self.clock.driver() == DriverMode::OneRequest
    }

    /// Whether the agent's work on the newest iteration came to its end.
    #[must_use]
    pub fn agent_ended(&self) -> bool {
        self.iteration > 0 && self.agent.finished() == self.iteration
    }

    /// How many iterations have come to an end.
    #[must_use]
    pub fn iterations_done(&self) -> u32 {
        if self.agent_ended() { self.iteration } else { self.iteration.saturating_sub(1) }
    }

    /// How many iterations count against the limit: those of branches, too.
    #[must_use]
    pub fn iterations_used(&self) -> u32 {
        self.iterations_done().saturating_add(self.recovery.branch_iterations())
    }

    /// How many iterations of its own the run has at most, of this limit: what branches took is not left.
    #[must_use]
    pub fn own_iterations(&self, most: u32) -> u32 {
        most.saturating_sub(self.recovery.branch_iterations())
    }

    /// Whether checkpoints are taken at all.
    #[must_use]
    pub fn has_checkpoints(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.has_checkpoints())
    }

    /// Whether a gate decides; else the agent's word does.
    #[must_use]
    pub fn gated(&self) -> bool {
        self.gates.required().next().is_some()
    }

    /// Whether the workspace must be compared with the newest checkpoint before the agent works: others may have changed
    /// it.
    pub(super) fn must_compare(&self) -> bool {
        let between = self.agent_ended() || self.iteration == 0;
        self.has_checkpoints() && !self.checkpoints.is_compared() && between
    }

    /// Whether every required gate passes on the state that is judged, with the protected files as they were.
    #[must_use]
    pub fn gates_pass(&self) -> bool {
        let clean = !self.guard.by_gates() && !self.guard.stands_tampered();
        let all = self.phase.gates_are_done();
        all && clean && self.phase.point().is_some_and(|point| self.gates.all_pass(point))
    }

    /// With what the gates were run, where the proof of the judged state was asked for.
    #[must_use]
    pub fn certified(&self) -> Option<&CertifyReport> {
        self.proving.certified(self.phase.point()?)
    }

    /// What was decided about the pass of the judged state.
    #[must_use]
    pub fn proof_judgement(&self) -> Option<&ProofJudgement> {
        self.proving.judgement(self.phase.point()?)
    }

    /// Whether the gates pass, and the run is not done because something speaks against it.
    #[must_use]
    pub fn pass_is_refused(&self) -> bool {
        self.proof_judgement().is_some_and(|judgement| judgement.result == ProofResult::Refused)
    }

    /// Whether `loop resume` may continue it after its end. This holds also for a run whose gates passed, if it was
    /// rolled back since.
    #[must_use]
    pub fn resumable(&self) -> bool {
        let verified = self.over.as_ref().is_some_and(|over| over.outcome == Outcome::Verified);
        let left = verified && self.checkpoints.left_its_end();
        self.standing().is_none_or(|standing| standing.resumable || left)
    }

    /// The status word and exit code of its end, if it has one.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        self.over.as_ref().map(|ending| standing(ending.outcome))
    }
}
