//! The decision: where a run stands and what happened, to what is now true and what is next.
use super::decide::{self, Next};
use super::due;
use super::event::{Change, Event, Input, Notice, Request};
use super::fact::{CancelCause, CheckpointName, Fact, GuardPoint, Order};
use super::judging;
use super::outcome::{Outcome, Reason, standing};
use super::spending;
use super::state::{RunState, Stage};
use crate::ids::OrderId;
use crate::policy::reserve::{Cap, Reserved};
use crate::text;

/// Decides. Total: no input makes it fail or panic.
///
/// The input is always the first fact, so the journal alone rebuilds the state. What follows is
/// read off the state with that fact taken in, never off the event: a journal that was cut after
/// any line goes on from there in the same way.
///
/// ```
/// use loop_core::run::{Event, Fact, Input, RunState, step};
/// use loop_core::time::At;
///
/// // A run that was never made has nothing to do, whatever happens to it.
/// let facts = step(&RunState::default(), Input { at: At::default(), event: Event::DeadlinePassed });
/// assert!(matches!(facts[..], [Fact::Happened(_)]));
/// ```
#[must_use]
pub fn step(state: &RunState, input: Input) -> Vec<Fact> {
    let event = input.event.clone();
    let mut turn = Turn { after: state.clone(), facts: Vec::new() };
    turn.push(Fact::Happened(input));
    match event {
        Event::Requested { request: Request::Abort | Request::Cancel | Request::CancelRollback, .. } => {
            turn.cancel_all()
        }
        Event::Requested { request: Request::Rollback(target), .. } => turn.cancel_for_rollback(target.now),
        Event::Requested { request: Request::Checkpoint { name }, .. } => turn.keep(name),
        Event::Requested { request: Request::Stop | Request::Pause | Request::Resume, .. } => turn.end_hold(),
        Event::Requested { request: Request::Set(changes), .. } => turn.end_wait_for_calls(&changes),
        Event::Noticed(Notice::Silent { order }) => turn.cancel_silent(order),
        Event::DeadlinePassed => {
            for (id, cause) in due::overdue(&turn.after) {
                turn.push(Fact::OrderCancelled { id, cause });
            }
        }
        Event::Created(_)
        | Event::Opened
        | Event::Reopened { .. }
        | Event::OpenedForRequest { .. }
        | Event::Answered { .. }
        | Event::Requested { request: Request::Inject(_) | Request::Reset { .. }, .. }
        | Event::Noticed(Notice::Started { .. } | Notice::Message { .. } | Notice::Session { .. }) => {}
    }
    turn.proceed();
    turn.facts
}

/// The most that a reason is long: it stands in two facts.
const REASON_BYTES_MAX: usize = 2048;

/// Collects the facts of one step and what they make of the state.
struct Turn {
    after: RunState,
    facts: Vec<Fact>,
}

impl Turn {
    fn push(&mut self, fact: Fact) {
        self.after.apply(&fact);
        self.facts.push(fact);
    }

    fn cancel_main(&mut self, cause: CancelCause) {
        let open = self.after.main_order().filter(|(_, open)| open.cancelled.is_none()).map(|(id, _)| id);
        if let Some(id) = open {
            self.push(Fact::OrderCancelled { id, cause });
        }
    }

    fn cancel_silent(&mut self, id: OrderId) {
        let open = self.after.orders.get(&id).filter(|open| open.cancelled.is_none());
        if open.is_some_and(|open| matches!(open.order, Order::RunAgent { .. })) {
            self.push(Fact::OrderCancelled { id, cause: CancelCause::Silent });
        }
    }

    /// Stop now: what is on the main line, or, when that is over, whatever still keeps us.
    fn cancel_all(&mut self) {
        if self.after.over.is_none() {
            return self.cancel_main(CancelCause::Abort);
        }
        let open = self.after.orders.iter().filter(|(_, open)| open.cancelled.is_none());
        for id in open.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.push(Fact::OrderCancelled { id, cause: CancelCause::Abort });
        }
    }

    /// A person wants something else than to wait: what that is the list will say.
    fn end_hold(&mut self) {
        let held = self.after.main_order().is_some_and(|(_, open)| matches!(open.order, Order::Hold { .. }));
        let paused_again =
            self.after.is_paused() && self.after.asked.pause.is_some() && self.after.asked.stop.is_none();
        if held && !paused_again {
            self.cancel_main(CancelCause::Request);
        }
    }

    /// With another limit there may be a call free: it is asked again.
    fn end_wait_for_calls(&mut self, changes: &[Change]) {
        let waits = self.after.calls_free_at().is_some();
        if waits && changes.iter().any(|change| Cap::ALL.iter().any(|cap| cap.key() == change.key)) {
            self.cancel_main(CancelCause::Request);
        }
    }

    /// A hold ends; what is at work is ended too where somebody wants to go back at once.
    fn cancel_for_rollback(&mut self, now: bool) {
        let order = self.after.main_order().map(|(_, open)| open.order.clone());
        match order {
            // What holds a run that is blocked is not lifted by it: it goes back, and holds again.
            Some(Order::Hold { .. }) => self.cancel_main(CancelCause::Request),
            Some(Order::RunAgent { .. } | Order::RunGate { .. }) if now => self.cancel_main(CancelCause::Rollback),
            _ => {}
        }
    }

    /// A person's checkpoint is taken beside whatever is under way.
    fn keep(&mut self, name: String) {
        if self.after.open || self.after.visiting {
            self.order(Order::ManualCheckpoint { name });
        }
    }

    /// Orders what comes next on the main line, unless something is still under way there.
    fn proceed(&mut self) {
        if self.after.main_order().is_some() {
            return;
        }
        if self.after.visiting {
            let gone = self.after.asked.abort.is_some() || self.after.host_failure.is_some();
            if self.after.asked.rollback.is_some() && self.after.keeping.may_try && !gone {
                self.roll_back();
            }
            return;
        }
        if self.after.over.is_some() || !self.after.open {
            return;
        }
        match decide::at_once(&self.after) {
            Some(next) => self.follow(next),
            None => self.order_next(),
        }
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Conclude(Outcome::Verified, _) if self.after.certified().is_none() => self.certify(),
            Next::Conclude(outcome, reason) => self.conclude(outcome, reason),
            Next::Iterate if self.after.must_compare() => {
                self.order(Order::Checkpoint { name: CheckpointName::BetweenIterations(self.after.iteration) });
            }
            Next::Iterate if self.after.guard_due_for_people() => {
                self.order(Order::Guard { point: GuardPoint::People });
            }
            Next::Iterate if self.after.settings.caps.shared() && self.after.call.is_none() => {
                self.order(Order::Reserve { wanted: spending::wanted(&self.after) });
            }
            Next::Iterate => self.iterate(),
            Next::Hold(cause, ms) => self.order(Order::Hold { cause, ms }),
            Next::RollBack => self.roll_back(),
        }
    }

    fn roll_back(&mut self) {
        if let Some(processes) = self.after.unclean.clone() {
            return self.order(Order::CleanUp { processes });
        }
        let Some(target) = self.after.asked.rollback.clone() else { return };
        let undo = self.after.undo_name();
        self.order(Order::Rollback { to: target.to, undo, git: target.git });
    }

    fn order_next(&mut self) {
        if let Some(processes) = self.after.unclean.clone() {
            return self.order(Order::CleanUp { processes });
        }
        let (iteration, attempt) = (self.after.iteration, self.after.attempt);
        match self.after.stage {
            Stage::Fresh if self.after.guard_first() => self.order(Order::Guard { point: GuardPoint::Start }),
            Stage::AgentDone | Stage::Cut if self.after.guard_due() => {
                self.order(Order::Guard { point: GuardPoint::Agent(iteration, attempt) });
            }
            Stage::Gating { point, .. } if decide::is_due(&self.after) && self.after.guard_due_after_gates() => {
                // Where no gate ran since, it was the agent.
                let by_gates = self.after.guarding.gates_ran;
                let agent = GuardPoint::Agent(iteration, attempt);
                self.order(Order::Guard { point: if by_gates { GuardPoint::Gates(point) } else { agent } });
            }
            // What people changed while nobody worked is what the gates judge by.
            Stage::Gating { next: 0, .. } if self.after.guard_due_for_people() && !self.after.guarding.due => {
                let agent = GuardPoint::Agent(iteration, attempt);
                self.order(Order::Guard {
                    point: if self.after.guarding.suspect { agent } else { GuardPoint::People },
                });
            }
            Stage::Gating { next: 0, .. } if self.after.gated() && self.after.must_keep_first() => {
                self.order(Order::Checkpoint { name: CheckpointName::BetweenIterations(self.after.iterations_done()) });
            }
            Stage::Fresh => self.order(Order::Checkpoint { name: CheckpointName::Initial }),
            Stage::Cut => self.order(Order::Checkpoint { name: CheckpointName::Interrupted(iteration, attempt) }),
            Stage::AgentDone => self.order(Order::Checkpoint { name: CheckpointName::Iteration(iteration) }),
            Stage::Saved => self.order(Order::Measure { iteration }),
            Stage::Gating { .. } if decide::is_due(&self.after) => {
                let next = decide::decide(&self.after);
                self.follow(next);
            }
            Stage::Gating { point, next } => {
                let gate = self.after.gate_at(next).unwrap_or(next);
                self.order(Order::RunGate { point, gate, again: self.after.next_try(gate) });
            }
        }
    }

    fn iterate(&mut self) {
        let (iteration, attempt) = decide::next_attempt(&self.after);
        let notes = self.after.notes.clone();
        let (given, newest) = (self.after.injections.given, self.after.injections.newest);
        let injected = (newest > given).then_some((given + 1, newest));
        let session = self.after.session_to_go_on_with();
        let status_only = self.after.asks_for_status();
        let reservation = self.after.call.as_ref().and_then(Reserved::number);
        self.order(Order::RunAgent { iteration, attempt, notes, injected, session, status_only, reservation });
    }

    fn certify(&mut self) {
        if let Stage::Gating { point, .. } = self.after.stage {
            self.order(Order::Certify { point });
        }
    }

    fn order(&mut self, order: Order) {
        let id = OrderId(self.after.order_count + 1);
        self.push(Fact::Ordered { id, order });
    }

    fn conclude(&mut self, outcome: Outcome, reason: Reason) {
        let reason = Reason { text: text::head(&reason.text, REASON_BYTES_MAX).to_owned(), ..reason };
        let (result, text) = (standing(outcome).status.to_owned(), reason.text.clone());
        let proof = match outcome {
            Outcome::Verified => Some(Box::new(self.after.proof(true))),
            Outcome::Claimed => Some(Box::new(self.after.proof(false))),
            Outcome::Exhausted
            | Outcome::Tripped
            | Outcome::Blocked
            | Outcome::Tampered
            | Outcome::Stopped
            | Outcome::Cancelled
            | Outcome::Unable => None,
        };
        self.push(Fact::Concluded { outcome, reason, proof });
        if let Some(to) = judging::best_to_keep(&self.after) {
            let undo = self.after.undo_name();
            self.order(Order::Rollback { to, undo, git: false });
        }
        if self.after.settings.notify {
            self.order(Order::Notify { result, text });
        }
    }
}
