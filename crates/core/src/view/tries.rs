//! The tries of a run, for the ledger: which agent worked on which class of task, what it cost, whether it passed.
//!
//! A try is an iteration after which every gate had a verdict. It passed where it ended the run as verified. A limit, a
//! crash, a refused login, a lost network or an end from outside says nothing about the work, so it is not a try.
use crate::agent::Failure;
use crate::policy::gate::Verdict;
use crate::policy::router::AgentArm;
use crate::run::{AttemptJudgement, AttemptResult, Decision, Entry, Fact, Outcome, RunState};

/// One try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Try {
    /// Agent and model, as they were chosen.
    pub arm: AgentArm,
    /// The class of the task when it began.
    pub class: &'static str,
    /// It ended the run as verified.
    pub passed: bool,
    /// What it cost, in millionths of a dollar, where that was reported.
    pub cost_micros: Option<u64>,
    /// When its gates had their verdicts, by the wall clock.
    pub at_ms: u64,
}

/// All tries of a run, the oldest first.
#[must_use]
pub fn tries_of(entries: &[Entry]) -> Vec<Try> {
    let mut fold = TryFold::default();
    for entry in entries {
        fold.take(entry);
    }
    fold.tries
}

#[derive(Default)]
struct TryFold {
    state: RunState,
    tries: Vec<Try>,
    /// What was chosen, and the class of the task then.
    chosen: Option<(AgentArm, &'static str)>,
    /// What earlier attempts of the same iteration cost, which it goes on from.
    before: Option<u64>,
    /// The agent's work has ended, and its gates have no verdict yet.
    open: Option<Try>,
    /// The newest try is the newest thing that gates judged.
    is_newest: bool,
}

impl TryFold {
    fn take(&mut self, entry: &Entry) {
        let class = self.state.task_class();
        self.state.apply(&entry.fact);
        match &entry.fact {
            Fact::Decided(Decision::Chosen { choice, .. }) => {
                self.chosen = class.map(|class| (choice.arm(), class));
                self.open = None;
                self.is_newest = false;
            }
            Fact::Decided(Decision::Attempt(judgement)) => self.ended(judgement, entry.at.wall_ms),
            Fact::Decided(Decision::Round(round)) => {
                let was_try = round.iteration.is_some();
                let is_known = self.is_known();
                let done = self.open.take().filter(|_| was_try && is_known);
                self.is_newest = done.is_some();
                self.tries.extend(done);
            }
            Fact::Concluded { outcome: Outcome::Verified, .. } => {
                let last = self.tries.last_mut().filter(|_| self.is_newest);
                last.into_iter().for_each(|last| last.passed = true);
            }
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => {}
        }
    }

    /// Whether every gate that must pass has a verdict that says something.
    fn is_known(&self) -> bool {
        let mut verdicts = self.state.gates.required().filter_map(|gate| gate.last()).map(|last| last.verdict);
        verdicts.all(|verdict| verdict != Verdict::Unverifiable)
    }

    /// Whether what the agent did says something about how well it works.
    fn is_work(&self, judgement: &AttemptJudgement) -> bool {
        let Some(report) = self.state.agent.report() else { return false };
        let failure = judgement.failure.or(report.stream.failure);
        failure.map_or(!report.failed(), is_of_the_work)
    }

    fn ended(&mut self, judgement: &AttemptJudgement, at_ms: u64) {
        let cost = sum(self.before, judgement.cost_micros);
        match judgement.result {
            AttemptResult::StatusMissing => self.before = cost,
            AttemptResult::Iteration | AttemptResult::StatusAnswered => {
                self.before = None;
                let chosen = self.chosen.clone().filter(|_| self.is_work(judgement));
                let open = |(arm, class)| Try { arm, class, passed: false, cost_micros: cost, at_ms };
                self.open = chosen.map(open);
            }
            AttemptResult::CutOff
            | AttemptResult::Limited
            | AttemptResult::AgentUnable
            | AttemptResult::SessionLost => self.before = None,
        }
    }
}

fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Whether a failure is one of the work, and not of the provider, the program or the machine.
fn is_of_the_work(failure: Failure) -> bool {
    match failure {
        Failure::Permission | Failure::Context | Failure::TurnLimit | Failure::Refusal | Failure::Question => true,
        Failure::RateLimit
        | Failure::Overload
        | Failure::Auth
        | Failure::Billing
        | Failure::Model
        | Failure::Network
        | Failure::Crash
        | Failure::Hang => false,
    }
}
