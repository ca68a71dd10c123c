//! Where a run stands: the fold of its facts. Bounded, whatever the length of the run.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::due::Timing;
use super::event::{ProcessId, Target};
use super::fact::{CancelCause, GatePoint, HoldCause, Order, PromptNote};
use super::guarding::Guarding;
use super::judging::Judged;
use super::outcome::{Ending, Outcome};
use super::report::{AgentReport, Changes, GateReport};
use super::spec::RunSpec;
use crate::agent::{Agent, Failure, Usage};
use crate::ids::OrderId;
use crate::policy::gate::{Tally, Verdict};
use crate::policy::reserve::Reserved;
use crate::policy::wait::Wait;
use crate::settings::Settings;
use crate::time::At;

/// Everything that decisions may depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunState {
    /// What it was started with; none before the first fact.
    pub spec: Option<Arc<RunSpec>>,
    /// The settings that hold now.
    pub settings: Arc<Settings>,
    /// When it was made.
    pub created: At,
    /// How far the main line has got.
    pub stage: Stage,
    /// The end, while it has one.
    pub over: Option<Ending>,
    /// Orders that have no answer yet.
    pub orders: BTreeMap<OrderId, OpenOrder>,
    /// How many orders were given.
    pub order_count: u32,
    /// The newest time that was seen.
    pub now: At,
    /// Whether a driver is at work on it.
    pub open: bool,
    /// Since when time counts: not while it is paused, or while no driver is at work.
    pub driven_since: Option<At>,
    /// How much time had counted before that.
    pub driven_ms: u64,
    /// What the time of the run means at this moment.
    pub time: Timing,
    /// The iteration that was begun last, from 1.
    pub iteration: u32,
    /// The attempt in it, from 1.
    pub attempt: u32,
    /// Whether that iteration's agent came to an end that was written down.
    pub agent_ended: bool,
    /// What people asked for.
    pub asked: Asked,
    /// What the gates said, in their order.
    pub gates: Vec<GateMemory>,
    /// Iterations in a row with a gate that could not answer.
    pub unverifiable_streak: u32,
    /// Iterations in a row in which the agent failed and changed nothing.
    pub crash_streak: u32,
    /// Iterations that ran out of the agent's time.
    pub timeouts: u32,
    /// What the newest attempt amounted to.
    pub report: Option<AgentReport>,
    /// What kept the newest iteration's agent from its work.
    pub failure: Option<Failure>,
    /// What it asked, which nobody has answered.
    pub question: Option<String>,
    /// Iterations in a row that ended with a question in words and changed nothing.
    pub asking: u32,
    /// The agent's session that can be gone on with.
    pub session: Option<Session>,
    /// The next attempt goes on with it whatever is set: the one before did not come to its own end.
    pub carry_on: bool,
    /// What the next attempt waits for.
    pub wait: Option<Wait>,
    /// Attempts in a row that came to nothing because of the provider.
    pub limited: u32,
    /// What all attempts together used.
    pub spent: Spent,
    /// What the newest iteration changed.
    pub changes: Option<Changes>,
    /// The same, as far as it counts.
    pub measured: IterationDelta,
    /// How good its states are, and whether it gets anywhere.
    pub judged: Judged,
    /// What became of the protected files.
    pub guarding: Guarding,
    /// What the ledger of all runs said about the next call, until it is made or waited for.
    pub call: Option<Reserved>,
    /// The same about the newest call.
    pub window: Option<Reserved>,
    /// Paths changed so far, the newest last, a bounded number.
    pub changed_names: Vec<String>,
    /// What the next prompt has to tell.
    pub notes: Vec<PromptNote>,
    /// Texts of a person for the next prompts.
    pub injections: Injections,
    /// The delay before the next iteration is over.
    pub delayed: bool,
    /// What the host could not do.
    pub host_failure: Option<String>,
    /// What is left of an agent that could not be ended.
    pub lost_agent: Option<String>,
    /// Processes of a cut-off attempt may still run: who they were.
    pub unclean: Option<Vec<ProcessId>>,
    /// What is kept of the workspace.
    pub keeping: Keeping,
    /// What a person must mend before it can go on.
    pub blocked: Option<String>,
    /// A command opened it for one request and does not go on with it.
    pub visiting: bool,
}

/// A conversation of the agent's own program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What the program calls it.
    pub id: String,
    /// Since when it is known.
    pub since: At,
    /// What it has used, for programs that count over the whole of it.
    pub used: Usage,
}

/// What all attempts together used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    /// As far as it was told.
    pub usage: Usage,
    /// Attempts that did not tell.
    pub untold: u32,
    /// Attempts whose cost nobody knows.
    pub cost_untold: u32,
    /// Attempts whose tokens nobody knows.
    pub tokens_untold: u32,
    /// Calls of an agent.
    pub calls: u32,
    /// The newest model that was told.
    pub model: Option<String>,
}

/// What the newest iteration changed, as far as it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IterationDelta {
    /// Files in scope that are not protected, where it is measured.
    pub files: Option<u32>,
    /// How many of them are tests.
    pub tests: u32,
    /// Files changed that checkpoints leave out.
    pub ignored: bool,
    /// The user's repository stands at another commit.
    pub head_moved: bool,
    /// Where nothing is counted: whether something is not what it was.
    pub noticed: Option<bool>,
}

/// What is kept of the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keeping {
    /// The checkpoint that the workspace was last known to equal.
    pub newest: Option<String>,
    /// The one that the iteration's agent began on.
    pub before: Option<String>,
    /// The hash of the newest tree.
    pub tree: Option<String>,
    /// Whether the workspace was compared with the newest checkpoint since the gates spoke.
    pub compared: bool,
    /// Nobody watched the workspace since then.
    pub unwatched: bool,
    /// How many checkpoints people asked for.
    pub named: u32,
    /// How often somebody went back.
    pub rollbacks: u32,
    /// A rollback was begun and has not come to its end.
    pub rolling_back: bool,
    /// One before it had begun, too, and has not come to its end either: the workspace is neither this nor that.
    pub half_done: bool,
    /// The rollback that is wanted may be tried now: it is tried once for each time that somebody asks.
    pub may_try: bool,
    /// What was there before the newest rollback.
    pub undo: Option<String>,
    /// Somebody went back after the run had ended.
    pub left_its_end: bool,
    /// Why the newest rollback was not done.
    pub refused: Option<String>,
}

/// How far the main line has got: what is to be ordered next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stage {
    /// Nothing is kept yet: the initial checkpoint.
    #[default]
    Fresh,
    /// An attempt was cut off: a checkpoint of what it left.
    Cut,
    /// The agent ended: the checkpoint of its iteration.
    AgentDone,
    /// It is kept: the measurement.
    Saved,
    /// The gates, from this one on; past the last one the decision.
    Gating {
        /// What they judge.
        point: GatePoint,
        /// Which is next.
        next: u32,
    },
}

/// An order without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenOrder {
    /// What is being done.
    pub order: Order,
    /// Since when.
    pub since: At,
    /// Why it was cancelled, if it was.
    pub cancelled: Option<CancelCause>,
    /// It was not even left the time to end in order.
    pub cut: bool,
    /// The process that does it.
    pub process: Option<ProcessId>,
}

/// Which injected texts there are and which were given. They are files, so that any number of them is a few numbers here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Injections {
    /// The newest.
    pub newest: u32,
    /// The newest that a prompt has held.
    pub given: u32,
    /// The newest that a prompt before this iteration's has held.
    pub given_before: u32,
    /// Those that stay in all later prompts, a bounded number.
    pub kept: Vec<u32>,
}

/// What people asked for and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
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
}

/// What one gate said so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GateMemory {
    /// Its newest answer.
    pub last: Option<LastGate>,
    /// Whether it has run to an end in this run.
    pub ran_to_an_end: bool,
    /// Whether its newest output equals the one before.
    pub said_the_same: bool,
    /// What several tries said so far, while it is asked.
    pub tally: Tally,
    /// What it said when all had spoken last.
    pub judged: Option<Verdict>,
    /// How long it took before iteration 1.
    pub cost_ms: Option<u64>,
    /// The order that ran it then, which names the folder of its output.
    pub first: Option<OrderId>,
    /// How many tests it ran then, and how many of them were left out.
    pub first_tests: Option<(u32, u32)>,
}

/// The newest answer of a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LastGate {
    /// The order that ran it, which names the folder of its output.
    pub order: OrderId,
    /// The iteration in whose folder that is.
    pub iteration: u32,
    /// What it judged.
    pub point: GatePoint,
    /// What came of it.
    pub report: GateReport,
    /// What that means.
    pub verdict: Verdict,
}

impl RunState {
    /// The main order that is open.
    #[must_use]
    pub fn main_order(&self) -> Option<(OrderId, &OpenOrder)> {
        self.orders.iter().find(|(_, open)| open.order.is_main()).map(|(id, open)| (*id, open))
    }

    /// Whether it holds until a person lets it go on.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        let person = |cause: HoldCause| matches!(cause, HoldCause::Paused | HoldCause::Blocked | HoldCause::Question);
        let held = |order: &Order| matches!(order, Order::Hold { cause, .. } if person(*cause));
        self.main_order().is_some_and(|(_, open)| held(&open.order))
    }

    /// How long it has been at work, without the time in which no driver was.
    #[must_use]
    pub fn active_ms(&self, now: At) -> u64 {
        self.driven_ms + self.driven_since.map_or(0, |since| now.ms_since(since))
    }

    /// How many iterations have come to an end.
    #[must_use]
    pub fn iterations_done(&self) -> u32 {
        if self.agent_ended { self.iteration } else { self.iteration.saturating_sub(1) }
    }

    /// The agent that works.
    #[must_use]
    pub fn agent(&self) -> Option<Agent> {
        let described = self.spec.as_ref().and_then(|spec| spec.described.as_ref());
        Agent::find(&self.settings.agent, described.map_or(&[], std::slice::from_ref), &self.settings.agent_cmd)
    }

    /// Whether the workspace is kept at all.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.keeps())
    }

    /// Whether `loop resume` may go on with it, now that it has an end: also one whose promise held, when somebody
    /// has gone back since.
    #[must_use]
    pub fn resumable(&self) -> bool {
        let left =
            self.keeping.left_its_end && self.over.as_ref().is_some_and(|over| over.outcome == Outcome::Verified);
        self.standing().is_none_or(|standing| standing.resumable || left)
    }

    /// The status word and exit code of its end, if it has one.
    #[must_use]
    pub fn standing(&self) -> Option<super::outcome::Standing> {
        self.over.as_ref().map(|ending| super::outcome::standing(ending.outcome))
    }
}
