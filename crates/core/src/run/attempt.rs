//! What becomes of a run when an attempt of its agent ends: another attempt, a wait, or the end of the iteration.
use super::apply::{CHANGED_NAMES_MAX, PROMPT_NOTES_MAX};
use super::decide;
use super::fact::{CancelCause, GatePoint, HoldCause, Order, PromptNote};
use super::report::{AgentReport, Ended, Measurement, StreamReport};
use super::state::{Asked, IterationDelta, OpenOrder, RunState, Session, Stage};
use crate::agent::{Failure, Usage};
use crate::policy::prices::cost_of;
use crate::policy::wait::{self, WORTH_A_GATE_MS};

/// So many iterations in a row that only asked in words, and changed nothing, are a question.
const ASKING_MAX: u32 = 2;

impl RunState {
    /// The agent's program told which session it works in.
    pub(super) fn met(&mut self, id: &str) {
        if self.session.as_ref().is_none_or(|session| session.id != id) {
            self.session = Some(Session { id: id.to_owned(), since: self.now, used: Usage::default() });
        }
    }

    /// The session that the next attempt goes on with, where that is set or the one before was cut off.
    pub(super) fn session_to_go_on_with(&self) -> Option<String> {
        let session = self.session.as_ref()?;
        let wanted = self.carry_on || self.settings.resolved.get("session") == "continue";
        let fresh_enough = self.settings.session_expiry_ms.is_none_or(|limit| self.now.ms_since(session.since) < limit);
        let can = self.agent().is_some_and(|agent| agent.continues());
        (wanted && fresh_enough && can).then(|| session.id.clone())
    }

    pub(super) fn attempt_begins(&mut self, session: Option<&str>) {
        if session.is_none() {
            self.session = None;
        }
        (self.wait, self.question, self.failure, self.carry_on) = (None, None, None, false);
    }

    /// A person does not want to wait: neither for the provider nor to answer.
    pub(super) fn go_on_at_once(&mut self) {
        let cause = self.main_order().and_then(|(_, open)| match open.order {
            Order::Hold { cause, .. } => Some(cause),
            Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::RunAgent { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::RunGate { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Notify { .. } => None,
        });
        match cause {
            Some(HoldCause::Limit) => self.wait = None,
            Some(HoldCause::Question) => {
                self.notes.retain(|note| !matches!(note, PromptNote::NobodyAnswers { .. }));
                let question = self.question.take();
                question.into_iter().for_each(|question| self.tell(PromptNote::Answered { question }));
                self.carry_on = true;
            }
            Some(HoldCause::Paused | HoldCause::Delay | HoldCause::Blocked | HoldCause::Calls) | None => {}
        }
    }

    /// Somebody opened it again, and may have mended what was wrong. A stated wait still holds.
    pub(super) fn forget_failures(&mut self) {
        (self.failure, self.question, self.asking, self.limited) = (None, None, 0, 0);
    }

    pub(super) fn agent_ended(&mut self, open: &OpenOrder, report: &AgentReport) {
        self.time.ended_agent = report.ended == Ended::ByUs && open.cancelled == Some(CancelCause::TimeLimit);
        if matches!(open.order, Order::RunAgent { status_only: true, .. }) {
            return self.status_told(open, report);
        }
        self.report = Some(report.clone());
        self.host_failure = report.not_stored.clone().or(self.host_failure.take());
        self.spend(&report.stream);
        let by_us = report.ended == Ended::ByUs;
        if by_us && matches!(open.cancelled, Some(CancelCause::Abort | CancelCause::Rollback)) {
            self.cut_off();
            return;
        }
        // Who began to wait by itself was ended by the hands, which nobody had asked for.
        let asked = open.cancelled.is_some();
        if !(by_us && asked) && self.came_to_nothing(open, &report.stream) {
            return;
        }
        self.limited = 0;
        if !by_us && self.ask_for_status(report) {
            return;
        }
        (self.agent_ended, self.stage) = (true, Stage::AgentDone);
        let stopped = by_us && matches!(open.cancelled, Some(CancelCause::Timeout | CancelCause::Silent));
        (self.failure, self.carry_on) = (report.stream.failure.filter(|_| !(by_us && asked)), stopped);
        if self.failure == Some(Failure::Context) {
            // To go on with a conversation that is full would fail in the same way.
            self.session = None;
        }
        // What this attempt was told is told; an attempt that was cut off is told again.
        self.notes.clear();
        self.ask(&report.stream);
        if by_us && open.cancelled == Some(CancelCause::Timeout) {
            self.timeouts += 1;
            self.tell(PromptNote::TimedOut { limit_ms: self.settings.timeout_ms });
        } else if by_us && open.cancelled == Some(CancelCause::Silent) {
            self.failure = Some(Failure::Hang);
            self.tell(PromptNote::Silent { limit_ms: self.settings.idle_timeout_ms.unwrap_or(0) });
        } else if !by_us && report.failed() {
            let error = report.stream.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            self.tell(PromptNote::AgentFailed { ended: format!("{}{error}", report.ended.brief()) });
        }
    }

    /// Without a gate the agent's word is all there is: one that left its status block out is asked for it, once.
    fn ask_for_status(&mut self, report: &AgentReport) -> bool {
        let asked = self.settings.resolved.get("status_block") != "none" && !self.judged.status_asked;
        let said =
            report.stream.claimed.is_some() || report.stream.promise.is_some() || report.stream.question.is_some();
        let can = self.session.is_some() && self.agent().is_some_and(|agent| agent.continues());
        let busy = self.asked != Asked::default();
        if self.gated() || !asked || said || !can || busy || report.failed() || decide::capped(self) {
            return false;
        }
        (self.judged.status_asked, self.carry_on) = (true, true);
        self.notes.clear();
        self.tell(PromptNote::StatusMissing { why: report.stream.block_error.clone() });
        let gates = u32::try_from(self.gates.len()).unwrap_or(u32::MAX);
        self.stage = Stage::Gating { point: GatePoint::Interrupted(self.iteration, self.attempt), next: gates };
        true
    }

    /// Whether the next attempt only asks for the status block.
    #[must_use]
    pub fn asks_for_status(&self) -> bool {
        !self.agent_ended && self.notes.iter().any(|note| matches!(note, PromptNote::StatusMissing { .. }))
    }

    /// It was asked for its status block: whatever came of that, the iteration is what it was before.
    fn status_told(&mut self, open: &OpenOrder, report: &AgentReport) {
        self.spend(&report.stream);
        if report.ended == Ended::ByUs && matches!(open.cancelled, Some(CancelCause::Abort | CancelCause::Rollback)) {
            return self.cut_off();
        }
        if let Some(first) = &mut self.report {
            first.stream.claimed = report.stream.claimed.clone();
            first.stream.block_error = report.stream.block_error.clone();
            first.stream.promise = report.stream.promise.clone();
        }
        self.go_on_without_status();
        if let Some(stream) = self.report.as_ref().map(|report| report.stream.clone()) {
            self.ask(&stream);
        }
    }

    /// The iteration is what it is: it is kept, measured and judged.
    pub(super) fn go_on_without_status(&mut self) {
        (self.agent_ended, self.stage) = (true, Stage::AgentDone);
        self.notes.clear();
    }

    /// Whether the attempt came to nothing for a reason that is not the agent's: it is no iteration, and another follows.
    fn came_to_nothing(&mut self, open: &OpenOrder, stream: &StreamReport) -> bool {
        let continued = matches!(&open.order, Order::RunAgent { session: Some(_), .. });
        let salt = self.salt();
        if stream.session_lost && continued {
            self.session = None;
        } else if let Some(wait) = wait::wait_for(stream, self.now, self.limited + 1, salt) {
            self.limited += 1;
            self.carry_on = true;
            self.tell(PromptNote::Limited { attempt: self.attempt });
            let long = wait.until_ms.saturating_sub(self.now.wall_ms) > WORTH_A_GATE_MS;
            self.wait = Some(wait);
            self.injections.given = self.injections.given_before;
            if long {
                self.stage = Stage::Cut;
                return true;
            }
        } else {
            return false;
        }
        // What was told is told again, and the gates have nothing new to judge.
        self.injections.given = self.injections.given_before;
        let gates = u32::try_from(self.gates.len()).unwrap_or(u32::MAX);
        let point = GatePoint::Interrupted(self.iteration, self.attempt);
        self.stage = Stage::Gating { point, next: gates };
        true
    }

    /// Tells runs and attempts apart, the same on every replay.
    fn salt(&self) -> u64 {
        let id = self.spec.as_ref().map_or("", |spec| spec.id.as_str());
        let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        id.bytes().fold(u64::from(self.order_count) ^ 0xcbf2_9ce4_8422_2325, fold)
    }

    fn spend(&mut self, stream: &StreamReport) {
        if let Some(id) = &stream.session {
            self.met(id);
        }
        // One that does not tell its model works with the one that was chosen.
        let chosen = Some(self.settings.resolved.get("agent_model")).filter(|model| !model.is_empty());
        let cost_micros = cost_of(&stream.usage, stream.model.as_deref().or(chosen), &self.settings.prices);
        let usage = Usage { cost_micros, ..stream.usage };
        if let Some(session) = &mut self.session {
            session.used = session.used.plus(stream.usage);
        }
        self.spent.untold += u32::from(stream.usage == Usage::default());
        self.spent.cost_untold += u32::from(cost_micros.is_none());
        self.spent.tokens_untold += u32::from(stream.usage.tokens().is_none());
        self.spent.usage = self.spent.usage.plus(usage);
        self.spent.model = stream.model.clone().or(self.spent.model.take());
    }

    fn ask(&mut self, stream: &StreamReport) {
        let stops = stream.claimed.as_ref().is_some_and(|claim| claim.blocked()) && self.blocked_stops();
        let Some(question) = stream.asked().filter(|_| !stops) else { return };
        self.failure = self.failure.or(Some(Failure::Question));
        self.tell(PromptNote::NobodyAnswers { question: question.clone() });
        self.question = Some(question);
    }

    /// Whether STATUS BLOCKED is the end.
    #[must_use]
    pub fn blocked_stops(&self) -> bool {
        self.settings.resolved.get("on_blocked") == "stop"
    }

    /// An attempt ended from outside: what it left is kept, and another one follows.
    pub(super) fn cut_off(&mut self) {
        (self.stage, self.carry_on) = (Stage::Cut, true);
        // The next attempt of the iteration is told again what this one was told.
        self.injections.given = self.injections.given_before;
        self.tell(PromptNote::Interrupted { attempt: self.attempt });
    }

    pub(super) fn tell(&mut self, news: PromptNote) {
        if self.notes.len() == PROMPT_NOTES_MAX {
            self.notes.remove(0);
        }
        self.notes.push(news);
    }

    pub(super) fn measured(&mut self, iteration: u32, measured: &Measurement) {
        self.changes = measured.changes;
        self.measured = IterationDelta {
            files: measured.changes.map(|changes| changes.files.saturating_sub(measured.protected)),
            tests: measured.tests,
            ignored: measured.ignored,
            head_moved: measured.head_moved,
            noticed: measured.noticed,
        };
        self.keeping.tree = measured.tree.clone().or(self.keeping.tree.take());
        for name in &measured.names {
            self.changed_names.retain(|known| known != name);
            self.changed_names.push(name.clone());
        }
        let surplus = self.changed_names.len().saturating_sub(CHANGED_NAMES_MAX);
        self.changed_names.drain(..surplus);
        self.stage = Stage::Gating { point: GatePoint::Iteration(iteration), next: 0 };
        if measured.changes.map_or(measured.noticed == Some(false), |changes| changes.files == 0) {
            self.nothing_came_of_it();
        } else {
            self.asking = 0;
        }
        if self.gates.is_empty() {
            self.round_over(GatePoint::Iteration(iteration));
        }
    }

    /// An iteration that changed nothing: was it refused everything, or does it ask in words?
    fn nothing_came_of_it(&mut self) {
        let Some(stream) = self.report.as_ref().map(|report| report.stream.clone()) else { return };
        if stream.denials.count > 0 {
            self.failure = self.failure.or(Some(Failure::Permission));
            let first = stream.denials.first.clone().unwrap_or_default();
            self.tell(PromptNote::Refused { count: stream.denials.count, first });
        }
        self.asking = if stream.asks { self.asking + 1 } else { 0 };
        if self.asking >= ASKING_MAX && self.question.is_none() {
            let question =
                self.report.as_ref().map(|report| crate::text::one_line(&report.last_text, 400)).unwrap_or_default();
            self.failure = self.failure.or(Some(Failure::Question));
            self.tell(PromptNote::NobodyAnswers { question: question.clone() });
            self.question = Some(question);
        }
    }
}
