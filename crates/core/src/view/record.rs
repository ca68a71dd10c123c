//! What a run claims and does over time: totals of the agent's claims, the events of its session and of its breaker.
use std::collections::VecDeque;

use serde::Serialize;

use super::JSON_VERSION;
use super::breaker::{BreakerView, is_tripped};
use super::restored::RestoredRow;
use crate::agent::{Claim, Failure};
use crate::policy::runaway::Alarm;
use crate::run::{
    AgentReport, Answer, Decision, Entry, Event, Fact, HoldCause, Input, Order, Outcome, Request, RunState, Session,
    SessionUse,
};
use crate::text;
use crate::time::{self, At};

/// How many events of each kind are shown; the journal keeps all.
pub const EVENTS_MAX: usize = 50;
/// How much of an error is shown.
const ERROR_LETTERS_MAX: usize = 300;

/// What can happen to the session of a project and worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionEventKind {
    /// The run was started.
    Started,
    /// It was opened again.
    Resumed,
    /// An iteration came to an end.
    Loop,
    /// A limit of the provider or of the hour was met.
    RateLimited,
    /// The agent began a conversation.
    ConversationBegan,
    /// The conversation was too old to be continued.
    ConversationExpired,
    /// A person let the conversation be forgotten.
    ConversationReset,
    /// The run ended.
    Ended,
}

impl SessionEventKind {
    /// Whether the status of such an event is the name of a conversation.
    #[must_use]
    pub const fn names_conversation(self) -> bool {
        match self {
            Self::ConversationBegan | Self::ConversationExpired | Self::ConversationReset => true,
            Self::Started | Self::Resumed | Self::Loop | Self::RateLimited | Self::Ended => false,
        }
    }

    /// The kind as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Resumed => "resumed",
            Self::Loop => "loop",
            Self::RateLimited => "rate_limited",
            Self::ConversationBegan => "conversation_began",
            Self::ConversationExpired => "conversation_expired",
            Self::ConversationReset => "conversation_reset",
            Self::Ended => "ended",
        }
    }
}

/// Whether the breaker has ended the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum BreakerState {
    /// It has not.
    Closed,
    /// It has.
    Tripped,
}

impl BreakerState {
    /// The state as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "CLOSED",
            Self::Tripped => "TRIPPED",
        }
    }
}

/// One thing that happened to the session of a project and worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionEvent {
    /// When.
    pub at: String,
    /// What happened.
    pub event: SessionEventKind,
    /// How many iterations had come to an end.
    pub loop_count: u32,
    /// The status that the agent claimed, or how it ended.
    pub status: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
}

/// One change of the breaker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CircuitEvent {
    /// When.
    pub at: String,
    /// What it was.
    pub from: BreakerState,
    /// What it became.
    pub to: BreakerState,
    /// Why, or by whom.
    pub reason: String,
    /// The counts at that time.
    pub no_progress: u32,
    /// The same.
    pub same_error: u32,
    /// The same.
    pub test_loops: u32,
    /// The same.
    pub completion: u32,
}

/// The answer of `loop history --events --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Events {
    /// The version of this form.
    pub version: u32,
    /// The run.
    pub id: String,
    /// The newest of the session, the oldest first.
    pub session: Vec<SessionEvent>,
    /// The newest of the breaker, the oldest first.
    pub circuit: Vec<CircuitEvent>,
}

/// What the agent claimed over all iterations, and what came in its way.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Claims {
    /// Tasks that it says it finished.
    pub tasks: u64,
    /// Files that it says it changed.
    pub files: u64,
    /// Its newest status block.
    pub status_block: Option<Claim>,
    /// The newest recommendation or summary.
    pub recommendation: Option<String>,
    /// The newest error.
    pub last_error: Option<String>,
    /// Whether a provider's limit or the one for an hour was met.
    pub rate_limit_hit: bool,
}

/// The fold.
#[derive(Debug, Clone, Default)]
pub struct Record {
    state: RunState,
    session: VecDeque<SessionEvent>,
    circuit: VecDeque<CircuitEvent>,
    claims: Claims,
    restored: VecDeque<RestoredRow>,
    /// An attempt that ended and is judged by the next fact.
    ended: Option<Box<AgentReport>>,
    /// Who opened a run again whose breaker had tripped, and what it had counted.
    reopened: Option<(String, BreakerView)>,
}

/// A change of the breaker.
struct BreakerChange {
    from: BreakerState,
    to: BreakerState,
}

/// What is compared with what an entry makes of it.
struct Before {
    tripped: bool,
    ended: (bool, u32),
    session: Option<Session>,
    counts: BreakerView,
}

impl Record {
    /// Of a whole journal.
    #[must_use]
    pub fn of(entries: &[Entry]) -> Self {
        let mut record = Self::default();
        entries.iter().for_each(|entry| record.apply(entry));
        record
    }

    /// Takes one line of the journal in.
    pub fn apply(&mut self, entry: &Entry) {
        let before = Before {
            tripped: is_tripped(&self.state),
            ended: (self.state.agent_ended(), self.state.iteration),
            session: self.state.agent.session().cloned(),
            counts: BreakerView::of(&self.state),
        };
        if let Some(restored) = RestoredRow::of(entry, &self.state) {
            keep(&mut self.restored, restored);
        }
        self.state.apply(&entry.fact);
        match &entry.fact {
            Fact::Happened(input) => self.happened(input, entry.at, &before),
            Fact::Ordered { order, .. } => self.ordered(order, entry.at, &before),
            Fact::Decided(Decision::Attempt(_)) => {
                if let Some(report) = self.ended.take() {
                    self.agent_ended(&report, entry.at, &before);
                }
            }
            Fact::Decided(Decision::BreakerClosed) => {
                if let Some((by, counts)) = self.reopened.take() {
                    let change = BreakerChange { from: BreakerState::Tripped, to: BreakerState::Closed };
                    self.circuit_event(entry.at, change, &by, Some(&counts));
                }
            }
            Fact::OrderCancelled { .. } | Fact::Decided(_) => {}
            Fact::Concluded { outcome, reason, .. } => {
                let fine = matches!(outcome, Outcome::Verified | Outcome::Accepted | Outcome::Claimed);
                let error = (!fine).then(|| reason.text.clone());
                let status = self.state.standing().map(|standing| standing.outcome.name().to_owned());
                self.session_event(entry.at, SessionEventKind::Ended, status, error);
                if is_tripped(&self.state) {
                    let change = BreakerChange { from: BreakerState::Closed, to: BreakerState::Tripped };
                    self.circuit_event(entry.at, change, reason.code.name(), None);
                }
            }
        }
        if let Some(session) = self.state.agent.session()
            && before.session.as_ref().is_none_or(|before| before.id != session.id)
        {
            let id = session.id.clone();
            self.session_event(entry.at, SessionEventKind::ConversationBegan, Some(id), None);
        }
    }

    fn happened(&mut self, input: &Input, at: At, before: &Before) {
        match &input.event {
            Event::Created(_) => self.session_event(at, SessionEventKind::Started, None, None),
            Event::Reopened { by, .. } => {
                self.session_event(at, SessionEventKind::Resumed, None, None);
                self.reopened = before.tripped.then(|| (by.clone(), before.counts.clone()));
            }
            Event::Requested { request: Request::Reset { session }, by } => {
                let from = if before.tripped { BreakerState::Tripped } else { BreakerState::Closed };
                let change = BreakerChange { from, to: BreakerState::Closed };
                self.circuit_event(at, change, &format!("reset by {by}"), Some(&before.counts));
                if *session {
                    let id = before.session.as_ref().map(|session| session.id.clone());
                    self.session_event(at, SessionEventKind::ConversationReset, id, None);
                }
            }
            Event::Answered { answer: Answer::AgentEnded(report), .. } => self.ended = Some(report.clone()),
            Event::Answered { .. }
            | Event::Requested { .. }
            | Event::Opened
            | Event::OpenedForRequest { .. }
            | Event::Noticed(_)
            | Event::Around(_)
            | Event::DeadlinePassed => {}
        }
    }

    fn ordered(&mut self, order: &Order, at: At, before: &Before) {
        if order.hold_cause() == Some(HoldCause::Calls) {
            self.claims.rate_limit_hit = true;
            let why = "the calls of the hour are used up".to_owned();
            self.session_event(at, SessionEventKind::RateLimited, Some("waiting".to_owned()), Some(why));
        }
        let begins = order.begins_session();
        if begins && expired(&self.state, before.session.as_ref(), at) {
            let id = before.session.as_ref().map(|session| session.id.clone());
            self.session_event(at, SessionEventKind::ConversationExpired, id, None);
        }
    }

    fn agent_ended(&mut self, report: &AgentReport, at: At, before: &Before) {
        let error = report.stream.error.clone().or_else(|| report.failed().then(|| report.ended.brief()));
        let error = error.map(|error| text::one_line(&error, ERROR_LETTERS_MAX));
        self.claims.last_error = error.clone().or(self.claims.last_error.take());
        if report.stream.failure == Some(Failure::RateLimit) {
            self.claims.rate_limit_hit = true;
            self.session_event(at, SessionEventKind::RateLimited, Some("waiting".to_owned()), error.clone());
        }
        if !self.state.agent_ended() || before.ended == (true, self.state.iteration) {
            return;
        }
        // The block may have been asked for: the state has it with the rest of the iteration.
        let Some(whole) = self.state.agent.report().cloned() else { return };
        let status = whole.stream.claimed.as_ref().map_or("no status", |claim| claim.status.as_str()).to_owned();
        self.claims.status_block = whole.stream.claimed.clone();
        if let Some(claim) = &whole.stream.claimed {
            self.claims.tasks = self.claims.tasks.saturating_add(claim.tasks_completed.unwrap_or(0));
            self.claims.files = self.claims.files.saturating_add(claim.files_modified.unwrap_or(0));
            self.claims.recommendation = claim.summary.clone().or(self.claims.recommendation.take());
        }
        self.session_event(at, SessionEventKind::Loop, Some(status), error);
    }

    fn session_event(&mut self, at: At, event: SessionEventKind, status: Option<String>, error: Option<String>) {
        let error = error.map(|error| text::one_line(&error, ERROR_LETTERS_MAX));
        let loop_count = self.state.iterations_done();
        let event = SessionEvent { at: time::rfc3339(at.wall_ms), event, loop_count, status, error };
        keep(&mut self.session, event);
    }

    fn circuit_event(&mut self, at: At, change: BreakerChange, reason: &str, counted: Option<&BreakerView>) {
        let now = BreakerView::of(&self.state).counts;
        let counts = counted.map_or(now, |counted| counted.counts.clone());
        let event = CircuitEvent {
            at: time::rfc3339(at.wall_ms),
            from: change.from,
            to: change.to,
            reason: text::one_line(reason, ERROR_LETTERS_MAX),
            no_progress: counts.no_progress,
            same_error: counts.same_error,
            test_loops: counts.test_only,
            completion: counts.completion,
        };
        keep(&mut self.circuit, event);
    }

    /// What the agent claimed so far.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// The protected files that were changed and restored, the newest last.
    pub fn restored(&self) -> impl Iterator<Item = &RestoredRow> {
        self.restored.iter()
    }

    /// Whether the loop runs away.
    #[must_use]
    pub fn runaway(&self) -> Option<Alarm> {
        self.state.runaway()
    }

    /// The newest events.
    #[must_use]
    pub fn events(&self) -> Events {
        Events {
            version: JSON_VERSION,
            id: self.state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default(),
            session: self.session.iter().cloned().collect(),
            circuit: self.circuit.iter().cloned().collect(),
        }
    }
}

/// Whether a conversation that would have been continued is too old for that.
#[must_use]
pub fn expired(state: &RunState, session: Option<&Session>, now: At) -> bool {
    let settings = state.settings.shown();
    let agent = state.next_agent(settings);
    let session_use = session.map(|session| SessionUse::of(state, settings, agent.as_ref(), session, now));
    session_use.is_some_and(|session| session.wanted && session.expired)
}

fn keep<T>(events: &mut VecDeque<T>, event: T) {
    events.push_back(event);
    if events.len() > EVENTS_MAX {
        events.pop_front();
    }
}
