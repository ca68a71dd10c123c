//! What is known about the agent of a run: how its newest attempt ended, its conversation, what it asks.
use std::collections::BTreeMap;
use std::sync::Arc;

use super::choice::{AgentChoice, ChoiceCause};
use super::fact::CancelCause;
use super::judgement::AttemptJudgement;
use super::provider::Provider;
use super::routing::Routing;
use crate::agent::{AgentReport, Described, Failure, StreamReport, Usage};
use crate::time::At;

/// What the run knows about its agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentMemory {
    /// What each agent waits for, and how often it was refused.
    pub provider: Provider,
    /// Which agents cannot work, and which models were refused.
    pub routing: Routing,
    finished: u32,
    report: Option<AgentReport>,
    ended: Option<EndedAttempt>,
    failure: Option<Failure>,
    question: Option<String>,
    asking: u32,
    session: Option<Session>,
    /// What the newest attempt uses.
    choice: AgentChoice,
    /// Why it was chosen.
    cause: Option<ChoiceCause>,
    /// The same in one line.
    rule: Option<String>,
    /// Conversations of agents that did not make the newest attempt.
    parked: BTreeMap<String, Session>,
    /// The agent that the person's own settings describe, as it was when it was named.
    described: Option<Arc<Described>>,
    /// The next attempt continues the conversation whatever the setting is: the one before did not end by itself.
    continue_session: bool,
    /// The iteration whose status block it was asked for last.
    status_asked_in: Option<u32>,
    /// The iteration after which the delay is over.
    delayed_after: Option<u32>,
}

/// A conversation of the agent's own program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// What the program calls it.
    pub id: String,
    /// Whose it is: another agent cannot continue it.
    pub agent: String,
    /// Since when it is known.
    pub since: At,
    /// What it has used, for programs that count over the whole of it.
    pub used: Usage,
}

/// An attempt that ended and is not judged yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EndedAttempt {
    /// Its report; none where its end is not known.
    pub(super) report: Option<AgentReport>,
    pub(super) cancelled: Option<CancelCause>,
    pub(super) kind: AttemptKind,
}

/// What an attempt was asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum AttemptKind {
    /// Work, in a new conversation.
    #[default]
    Fresh,
    /// Work, in the conversation of the attempt before.
    Continued,
    /// The status block that it left out.
    StatusOnly,
}

impl AgentMemory {
    /// The newest iteration whose agent came to an end.
    #[must_use]
    pub fn finished(&self) -> u32 {
        self.finished
    }

    /// What the newest attempt amounted to.
    #[must_use]
    pub fn report(&self) -> Option<&AgentReport> {
        self.report.as_ref()
    }

    /// Why the agent of the newest iteration could not work.
    #[must_use]
    pub fn failure(&self) -> Option<Failure> {
        self.failure
    }

    /// A question of the agent that has no answer yet.
    #[must_use]
    pub fn question(&self) -> Option<&str> {
        self.question.as_deref()
    }

    /// The agent's conversation that can be continued.
    #[must_use]
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// What the newest attempt uses; none before the first.
    #[must_use]
    pub fn choice(&self) -> Option<&AgentChoice> {
        Some(&self.choice).filter(|choice| !choice.agent.is_empty())
    }

    /// Why the newest attempt uses what it uses, in one line, where several agents are enabled.
    #[must_use]
    pub fn rule(&self) -> Option<&str> {
        self.rule.as_deref()
    }

    /// The agent that the person's own settings describe, as it was when it was named.
    #[must_use]
    pub fn described(&self) -> Option<&Described> {
        self.described.as_deref()
    }

    /// Whether the newest attempt was made by another agent than the one that is preferred.
    pub(super) fn failed_over(&self) -> bool {
        matches!(self.cause, Some(ChoiceCause::FailOver | ChoiceCause::DailyLimit))
    }

    /// Each agent has its own conversation: that of another agent is kept for its next attempt.
    pub(super) fn choose(&mut self, choice: &AgentChoice, cause: ChoiceCause, rule: Option<&str>) {
        let is_another = self.choice().is_some_and(|before| before.agent != choice.agent);
        if is_another {
            let left = self.session.take();
            self.parked.extend(left.map(|session| (session.agent.clone(), session)));
            self.session = self.parked.remove(&choice.agent);
            // What was cut off is the work of the agent before.
            self.continue_session = false;
        }
        self.choice = choice.clone();
        self.cause = Some(cause);
        self.rule = rule.map(str::to_owned);
    }

    /// A description of the same name with another content is another agent: it cannot continue the conversation.
    pub(super) fn describe(&mut self, described: &Described) {
        let of_it = |session: &Session| session.agent == described.name;
        if self.session.as_ref().is_some_and(of_it) && self.described() != Some(described) {
            self.session = None;
        }
        self.parked.remove(&described.name);
        self.described = Some(Arc::new(described.clone()));
    }

    pub(super) fn asking(&self) -> u32 {
        self.asking
    }

    /// Whether the next attempt continues the conversation whatever is set.
    #[must_use]
    pub fn continues(&self) -> bool {
        self.continue_session
    }

    pub(super) fn was_asked_for_status(&self) -> bool {
        self.status_asked_in == Some(self.under_way())
    }

    /// The iteration that has not come to its end.
    fn under_way(&self) -> u32 {
        self.finished.saturating_add(1)
    }

    pub(super) fn is_delayed(&self) -> bool {
        self.delayed_after == Some(self.finished)
    }

    /// Whether the attempt that has just ended had begun a new conversation.
    #[must_use]
    pub fn began_new_session(&self) -> bool {
        self.ended.as_ref().is_some_and(|ended| ended.kind == AttemptKind::Fresh)
    }

    pub(super) fn unjudged(&self) -> Option<&EndedAttempt> {
        self.ended.as_ref()
    }

    /// The program named the conversation that it works in.
    pub(super) fn met(&mut self, id: &str, now: At) {
        if self.session.as_ref().is_none_or(|session| session.id != id) {
            self.session = Some(Session {
                id: id.to_owned(),
                agent: self.choice.agent.clone(),
                since: now,
                used: Usage::default(),
            });
        }
    }

    pub(super) fn forget_session(&mut self) {
        self.session = None;
    }

    /// A person asked for new conversations.
    pub(super) fn forget_sessions(&mut self) {
        self.session = None;
        self.parked.clear();
    }

    pub(super) fn attempt_begins(&mut self, session: Option<&str>) {
        if session.is_none() {
            self.session = None;
        }
        self.question = None;
        self.failure = None;
        self.continue_session = false;
    }

    pub(super) fn ended(&mut self, ended: EndedAttempt) {
        if let Some(report) = ended.report.as_ref().filter(|_| ended.kind != AttemptKind::StatusOnly) {
            self.report = Some(report.clone());
        }
        self.ended = Some(ended);
    }

    pub(super) fn take_ended(&mut self) -> EndedAttempt {
        self.ended.take().unwrap_or_default()
    }

    pub(super) fn used(&mut self, usage: Usage) {
        if let Some(session) = &mut self.session {
            session.used = session.used.plus(usage);
        }
    }

    /// The agent's work on the iteration came to its end.
    pub(super) fn finish(&mut self, iteration: u32, judgement: &AttemptJudgement) {
        self.finished = iteration;
        self.failure = judgement.failure;
        self.continue_session = judgement.continue_session;
        self.question = judgement.question.clone().or(self.question.take());
        if judgement.failure == Some(Failure::Context) {
            // To continue a conversation that is full would fail in the same way.
            self.session = None;
        }
    }

    /// The iteration is what it was before its agent was asked for the status block.
    pub(super) fn finish_without_status(&mut self, iteration: u32) {
        self.finished = iteration;
    }

    pub(super) fn status_answered(&mut self, answer: &StreamReport, judgement: &AttemptJudgement) {
        if let Some(first) = &mut self.report {
            first.stream.claimed = answer.claimed.clone();
            first.stream.block_error = answer.block_error.clone();
            first.stream.promise = answer.promise.clone();
        }
        self.failure = self.failure.or(judgement.failure);
        self.question = judgement.question.clone().or(self.question.take());
    }

    pub(super) fn ask_for_status(&mut self) {
        self.status_asked_in = Some(self.under_way());
        self.continue_session = true;
    }

    pub(super) fn continue_next(&mut self) {
        self.continue_session = true;
    }

    /// What was decided when its changes were measured.
    pub(super) fn measured(&mut self, asks: bool, failure: Option<Failure>, question: Option<&String>) {
        self.asking = if asks { self.asking + 1 } else { 0 };
        self.failure = self.failure.or(failure);
        self.question = self.question.take().or(question.cloned());
    }

    pub(super) fn take_question(&mut self) -> Option<String> {
        self.question.take()
    }

    pub(super) fn delay_is_over(&mut self) {
        self.delayed_after = Some(self.finished);
    }

    /// Somebody opened the run again, and may have fixed what was wrong.
    pub(super) fn forget_failures(&mut self) {
        self.failure = None;
        self.question = None;
        self.asking = 0;
    }
}
