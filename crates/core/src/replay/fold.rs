//! One recorded run under another policy.
use super::policy::ReplayPolicy;
use crate::agent::Agent;
use crate::machine::{Deciding, consult};
use crate::policy::breaker;
use crate::policy::stuck::StuckJudgement;
use crate::run::decide::{self, Next};
use crate::run::{
    Answer, Decision, Entry, Event, Fact, HoldCause, Order, Outcome, Reason, ReasonCode, RecoveryDecision, RunSettings,
    RunState, standing,
};
use crate::settings::ProgressBy;
use crate::time::At;

/// What a run had done and spent at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayPoint {
    /// Iterations that came to an end.
    pub iterations: u32,
    /// Calls of agents.
    pub calls: u32,
    /// What they cost, as far as they reported it, in millionths of a dollar.
    pub cost_micros: u64,
    /// Calls whose cost is not known.
    pub cost_untold: u32,
    /// How long it was at work.
    pub active_ms: u64,
}

/// How a run ended as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRun {
    /// Its id.
    pub id: String,
    /// Its outcome and why; none where it has no end yet.
    pub end: Option<(Outcome, Reason)>,
    /// What it did and spent.
    pub at: ReplayPoint,
    /// It was on a long leash: its breaker waited longer than its settings say.
    pub leash: bool,
}

impl RecordedRun {
    /// Whether it did what it was started for.
    #[must_use]
    pub fn is_solved(&self) -> bool {
        self.end.as_ref().is_some_and(|(outcome, _)| standing(*outcome).exit_code == 0)
    }
}

/// What another policy makes of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplayEnd {
    /// The same end.
    Same,
    /// It ends at the same place, for another reason.
    OtherReason {
        /// How.
        outcome: Outcome,
        /// Why.
        reason: Reason,
    },
    /// It ends here, sooner than recorded.
    Sooner {
        /// How.
        outcome: Outcome,
        /// Why.
        reason: Reason,
        /// What it had done and spent.
        at: ReplayPoint,
    },
    /// It cannot be known.
    Unknown(WhyUnknown),
}

/// Why it cannot be known what another policy makes of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyUnknown {
    /// The recorded policy ended it here, and the other one would have continued.
    Continues {
        /// The recorded reason.
        reason: Reason,
        /// Until there it is known.
        at: ReplayPoint,
    },
    /// The time limit would have ended the agent in the middle of its work.
    CutOff {
        /// In this iteration.
        iteration: u32,
    },
    /// The agent's program would have had less money, and stops by itself when it is spent.
    LessMoney {
        /// In this iteration.
        iteration: u32,
    },
    /// Another rung of the ladder, or none, would have come: the agent would have seen another prompt.
    OtherRung {
        /// After this iteration.
        iteration: u32,
    },
    /// A person resumed it later: whether they would have done so is not known.
    Resumed,
    /// The run is still at work.
    NotEnded,
}

impl WhyUnknown {
    /// Why, for people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Continues { reason, at } => {
                format!("ended after iteration {} by {}, and would have continued", at.iterations, reason.code.name())
            }
            Self::CutOff { iteration } => {
                format!("the time limit would have ended the agent in the middle of iteration {iteration}")
            }
            Self::LessMoney { iteration } => {
                format!("the agent would have had less money in iteration {iteration}, and stops when it is spent")
            }
            Self::OtherRung { iteration } => format!("recovery would have differed after iteration {iteration}"),
            Self::Resumed => "a person resumed it later".to_owned(),
            Self::NotEnded => "it has not ended".to_owned(),
        }
    }

    /// The word in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Continues { .. } => "would_have_continued",
            Self::CutOff { .. } => "agent_cut_off",
            Self::LessMoney { .. } => "less_money_for_the_agent",
            Self::OtherRung { .. } => "other_recovery",
            Self::Resumed => "resumed_later",
            Self::NotEnded => "not_ended",
        }
    }
}

/// A run as it was recorded, and under another policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayedRun {
    /// As it was recorded.
    pub recorded: RecordedRun,
    /// Under the other policy.
    pub end: ReplayEnd,
}

/// Replays a run: its facts are folded with the settings replaced, and wherever the recorded run decided what is next, the
/// other policy decides too. None where the journal has no first fact.
#[must_use]
pub fn replay(entries: &[Entry], policy: &ReplayPolicy) -> Option<ReplayedRun> {
    let mut own = RunState::default();
    entries.iter().for_each(|entry| own.apply(&entry.fact));
    let recorded = recorded(&own)?;
    let end = consult(|deciding| {
        Replay { policy, entries, deciding, state: RunState::default(), own: RunState::default() }.run()
    });
    let end = match end {
        ReplayEnd::Same if recorded.end.is_none() => ReplayEnd::Unknown(WhyUnknown::NotEnded),
        end @ ReplayEnd::Same
        | end @ ReplayEnd::OtherReason { .. }
        | end @ ReplayEnd::Sooner { .. }
        | end @ ReplayEnd::Unknown(_) => end,
    };
    Some(ReplayedRun { recorded, end })
}

fn recorded(state: &RunState) -> Option<RecordedRun> {
    let spec = state.spec.as_ref()?;
    let end = state.over.as_ref().map(|over| (over.outcome, over.reason.clone()));
    Some(RecordedRun { id: spec.id.to_string(), end, at: point(state, state.now), leash: spec.leash.is_some() })
}

fn point(state: &RunState, now: At) -> ReplayPoint {
    let spent = state.budget.spent();
    ReplayPoint {
        iterations: state.iterations_done(),
        calls: spent.calls,
        cost_micros: spent.usage.cost_micros.unwrap_or(0),
        cost_untold: spent.cost_untold,
        active_ms: state.active_ms(now),
    }
}

/// One fold of a run with two settings.
struct Replay<'a> {
    policy: &'a ReplayPolicy,
    entries: &'a [Entry],
    deciding: &'a Deciding,
    /// With the settings of the policy.
    state: RunState,
    /// As recorded.
    own: RunState,
}

impl Replay<'_> {
    fn run(mut self) -> ReplayEnd {
        for (number, entry) in self.entries.iter().enumerate() {
            let end = self.time_is_up(entry).or_else(|| self.decides(&entry.fact));
            if let Some(end) = end {
                let later = self.entries.get(number..).unwrap_or_default();
                return if is_resumed(later) { ReplayEnd::Unknown(WhyUnknown::Resumed) } else { end };
            }
            if let Some(why) = self.spends_more(&entry.fact) {
                return ReplayEnd::Unknown(why);
            }
            self.take(&entry.fact);
        }
        ReplayEnd::Same
    }

    /// Takes a fact in. The counts of the breaker are made again from the recorded evidence.
    fn take(&mut self, fact: &Fact) {
        self.own.apply(fact);
        match fact {
            Fact::Decided(Decision::Round(judgement)) => {
                let mut judgement = judgement.clone();
                if let Some(iteration) = &mut judgement.iteration {
                    let thresholds = &self.state.settings.read(self.deciding).breaker;
                    let streaks = self.state.progress.streaks();
                    iteration.streaks = breaker::count(streaks, &iteration.evidence, thresholds, self.deciding);
                    iteration.stuck = self.stuck(&iteration.stuck);
                }
                self.state.apply(&Fact::Decided(Decision::Round(judgement)));
            }
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => self.state.apply(fact),
        }
        if changes_settings(fact) {
            let settings = self.policy.replaced(self.own.settings.read(self.deciding));
            self.state.settings = RunSettings::from(settings);
        }
    }

    /// Whether the loop counts as stuck by the other policy.
    fn stuck(&self, recorded: &StuckJudgement) -> StuckJudgement {
        let values = &self.state.settings.read(self.deciding).values;
        let by_score = values.progress.progress_by == ProgressBy::Score;
        recorded.after(self.state.recovery.counts(), values.recovery.stuck_after, by_score, self.deciding)
    }

    /// What it means where the two policies do not climb the same rung. A person who is asked ends the work.
    fn other_rung(&self, fact: &Fact, next: &Next) -> Option<ReplayEnd> {
        let Next::Recover(other) = next else {
            let own = matches!(fact, Fact::Decided(Decision::Recovery(_)));
            return own.then(|| self.unknown_rung());
        };
        if matches!(fact, Fact::Decided(Decision::Recovery(own)) if own == other) {
            return None;
        }
        let RecoveryDecision::Began(began) = other else { return Some(self.unknown_rung()) };
        let Some(questions) = &began.questions else { return Some(self.unknown_rung()) };
        let reason = Reason { code: ReasonCode::Stuck, text: questions.sentence(self.state.id_text()) };
        let at = point(&self.state, self.state.now);
        Some(ReplayEnd::Sooner { outcome: Outcome::Blocked, reason, at })
    }

    fn unknown_rung(&self) -> ReplayEnd {
        ReplayEnd::Unknown(WhyUnknown::OtherRung { iteration: self.state.iterations_done() })
    }

    /// Whether the other policy ends the run where the recorded one decided something.
    fn decides(&self, fact: &Fact) -> Option<ReplayEnd> {
        if !self.is_decision_point(fact) {
            return None;
        }
        let next = decide::decide(&self.state, self.deciding);
        match (fact, next) {
            (Fact::Concluded { outcome: own, reason: why, .. }, Next::Conclude(outcome, reason)) => {
                let moved = ends_by_policy(*own) && ends_by_policy(outcome);
                let differs = (*own, why.code) != (outcome, reason.code);
                (moved && differs).then_some(ReplayEnd::OtherReason { outcome, reason })
            }
            // What a person or the machine ended, any policy ends.
            (Fact::Concluded { outcome, reason, .. }, _) if ends_by_policy(*outcome) => {
                let at = point(&self.state, self.state.now);
                Some(ReplayEnd::Unknown(WhyUnknown::Continues { reason: reason.clone(), at }))
            }
            (_, Next::Conclude(outcome, reason)) if !self.own_concludes(outcome) => {
                Some(ReplayEnd::Sooner { outcome, reason, at: point(&self.state, self.state.now) })
            }
            (_, next) if self.policy.changes_ladder() => self.other_rung(fact, &next),
            _ => None,
        }
    }

    /// Whether the list of rules was read before this fact.
    fn is_decision_point(&self, fact: &Fact) -> bool {
        let state = &self.state;
        let due = decide::is_due(state, self.deciding) || decide::is_due(&self.own, self.deciding);
        let decided = match fact {
            Fact::Ordered { order, .. } => order.is_main() && !matches!(order, Order::Guard { .. }),
            Fact::Concluded { .. } | Fact::Decided(Decision::Chosen { .. } | Decision::StatusSkipped) => true,
            Fact::Decided(Decision::Recovery(decision)) => decision.is_choice(),
            Fact::Happened(_) | Fact::OrderCancelled { .. } | Fact::Decided(_) => false,
        };
        decided && due && state.is_driven() && state.over.is_none() && state.main_order().is_none()
    }

    /// Whether the recorded settings say the same end, so that what was recorded comes before it: the proof of a pass.
    fn own_concludes(&self, outcome: Outcome) -> bool {
        matches!(decide::decide(&self.own, self.deciding), Next::Conclude(own, _) if own == outcome)
    }

    /// Whether another limit of time would have ended what is at work before this entry.
    fn time_is_up(&self, entry: &Entry) -> Option<ReplayEnd> {
        let (Fact::Happened(input), true) = (&entry.fact, self.policy.changes_time()) else { return None };
        let (_, open) = self.state.main_order()?;
        let is_due = |state: &RunState| state.time_limit(self.deciding).is_some_and(|limit| limit.is_due(input.at));
        if open.is_cancelled() || !is_due(&self.state) || is_due(&self.own) {
            return None;
        }
        match &open.order {
            Order::RunAgent { iteration, .. } => Some(ReplayEnd::Unknown(WhyUnknown::CutOff { iteration: *iteration })),
            Order::Judge { .. } | Order::WriteText { .. } | Order::Branches { .. } => {
                Some(ReplayEnd::Unknown(WhyUnknown::CutOff { iteration: self.state.iteration }))
            }
            // Nothing was to be ended but the waiting, or gates whose result does not count then.
            Order::Hold { cause: HoldCause::Delay | HoldCause::Limit | HoldCause::Calls, .. }
            | Order::RunGate { .. } => {
                let mut state = self.state.clone();
                state.now = input.at;
                let Next::Conclude(outcome, reason) = decide::decide(&state, self.deciding) else { return None };
                Some(ReplayEnd::Sooner { outcome, reason, at: point(&state, input.at) })
            }
            Order::Hold { .. }
            | Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::Notify { .. } => None,
        }
    }

    /// Whether a call spent more than the agent would have had, where its program stops then by itself.
    fn spends_more(&self, fact: &Fact) -> Option<WhyUnknown> {
        let Fact::Happened(input) = fact else { return None };
        let Event::Answered { answer: Answer::AgentEnded(report), .. } = &input.event else { return None };
        let settings = self.state.settings.read(self.deciding);
        let own = self.own.settings.read(self.deciding);
        let less = settings.caps.cost_micros.filter(|cap| own.caps.cost_micros.is_none_or(|own| *cap < own))?;
        let cost = decide::cost_of_call(&self.own, &report.stream, self.deciding)?;
        let agent = self.own.agent_named(self.own.agent_name(), own);
        let left = less.saturating_sub(self.state.cost_micros(settings));
        let stops = agent.as_ref().is_some_and(Agent::keeps_budget);
        (stops && cost > left).then_some(WhyUnknown::LessMoney { iteration: self.state.iteration })
    }
}

/// Whether the end is one that a policy may move.
fn ends_by_policy(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Exhausted | Outcome::Tripped | Outcome::PassedBut => true,
        Outcome::Verified
        | Outcome::Accepted
        | Outcome::Claimed
        | Outcome::Blocked
        | Outcome::Tampered
        | Outcome::Stopped
        | Outcome::Cancelled
        | Outcome::Paused
        | Outcome::Unable => false,
    }
}

fn changes_settings(fact: &Fact) -> bool {
    let Fact::Happened(input) = fact else { return false };
    match &input.event {
        Event::Created(_) | Event::Reopened { .. } | Event::Requested { .. } | Event::Around(_) => true,
        Event::Opened
        | Event::OpenedForRequest { .. }
        | Event::Answered { .. }
        | Event::Noticed(_)
        | Event::DeadlinePassed => false,
    }
}

/// Whether a person opened the run again later.
fn is_resumed(later: &[Entry]) -> bool {
    later
        .iter()
        .any(|entry| matches!(&entry.fact, Fact::Happened(input) if matches!(input.event, Event::Reopened { .. })))
}
