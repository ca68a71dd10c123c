//! From state and event to facts and orders.
use super::alert_due;
use super::budget;
use super::checkpoints::RollbackCause;
use super::choice::{self, AttemptRequest, Reasoned};
use super::clock::DriverMode;
use super::deadline;
use super::decide::{self, Next};
use super::event::{Change, Event, Input, Notice, Request};
use super::evidence;
use super::fact::{CancelCause, CheckpointName, Decision, Fact, GatePoint, GuardPoint, HoldCause, Order};
use super::guard::Ran;
use super::judge;
use super::outcome::{Outcome, Reason, ReasonCode, Status, standing};
use super::phase::Phase;
use super::prove;
use super::recover;
use super::recovery::RecoveryDecision;
use super::state::RunState;
use super::surroundings::{AroundEvent, InboxEffect, URGENT_INTERRUPTIONS_MAX};
use super::text_order::{self, DueText, TextPurpose};
use crate::ids::OrderId;
use crate::machine::{self, Act, Deciding, Machine};
use crate::policy::reserve::{Cap, Reserved};
use crate::settings::{BreakerReset, keys};
use crate::text;
use crate::time::{At, Deadline};

/// The machine of one run.
#[derive(Debug)]
pub struct Run;

impl Machine for Run {
    const NAME: &'static str = "run";

    type Event = Event;
    type Order = Order;
    type Fact = Fact;
    type State = RunState;

    fn step(state: &RunState, at: At, event: Event, deciding: &Deciding) -> Vec<Fact> {
        let mut turn = Turn { after: state.clone(), facts: Vec::new(), deciding };
        turn.take(Input { at, event });
        turn.facts
    }

    fn apply(state: &mut RunState, fact: &Fact) {
        state.apply(fact);
    }

    fn next_deadline(state: &RunState, deciding: &Deciding) -> Option<Deadline> {
        state.next_deadline(deciding)
    }

    fn next_wall_ms(state: &RunState) -> Option<u64> {
        state.waiting().map(|wait| wait.until_ms)
    }

    fn deadline_passed() -> Event {
        Event::DeadlinePassed
    }

    fn act(fact: &Fact) -> Option<Act<'_, Order>> {
        fact.act()
    }

    fn needs_sync(fact: &Fact) -> bool {
        fact.needs_sync()
    }

    fn needs_evidence(fact: &Fact) -> bool {
        evidence::is_needed(fact)
    }

    fn check_evidence(state: &RunState, fact: &Fact) -> Result<(), &'static str> {
        evidence::check(state, fact)
    }

    fn set_time(fact: &mut Fact, at: At) {
        if let Fact::Happened(input) = fact {
            input.at = at;
        }
    }

    fn is_at_rest(state: &RunState) -> bool {
        (state.over.is_some() || state.is_for_one_request()) && state.orders.is_empty()
    }
}

/// Decides. Total: no input makes it fail or panic.
///
/// The event comes first, then each decision that was made because of it, then orders. A decision is read off the state
/// with the event taken in, never off the event itself: a journal that was cut after any line goes on from there.
///
/// ```
/// use loop_core::run::{Event, Fact, Input, RunState, step};
/// use loop_core::time::At;
///
/// // A run that was never created has nothing to do, whatever happens to it.
/// let facts = step(&RunState::default(), Input { at: At::default(), event: Event::DeadlinePassed });
/// assert!(matches!(facts[..], [Fact::Happened(_)]));
/// ```
#[must_use]
pub fn step(state: &RunState, input: Input) -> Vec<Fact> {
    machine::decide::<Run>(state, input.at, input.event)
}

/// When the driver must send an event even if nothing happens.
#[must_use]
pub fn next_deadline(state: &RunState) -> Option<Deadline> {
    machine::next_deadline::<Run>(state)
}

/// Longest reason, in bytes. It is stored in two facts.
const REASON_BYTES_MAX: usize = 2048;

/// Collects the facts of one step and what they make of the state.
struct Turn<'a> {
    after: RunState,
    facts: Vec<Fact>,
    deciding: &'a Deciding,
}

impl Turn<'_> {
    fn take(&mut self, input: Input) {
        // Only where the journal was cut between an event and its decision.
        self.settle();
        let event = input.event.clone();
        let point = self.after.phase.point().filter(|_| self.after.over.is_some());
        let reopens = matches!(event, Event::Reopened { .. });
        self.push(Fact::Happened(input));
        self.answer_event(event);
        if reopens && matches!(point, Some(GatePoint::Interrupted(..))) {
            self.judge_interruption();
        }
        self.proceed();
    }

    /// What an event asks for at once.
    fn answer_event(&mut self, event: Event) {
        match event {
            Event::OpenedForRequest { .. } => self.drop_orders(),
            Event::Opened => {
                self.drop_orders();
                self.want_assessment();
            }
            Event::Reopened { .. } => {
                self.drop_orders();
                self.want_assessment();
                self.close_breaker();
            }
            Event::Requested { request: Request::Abort | Request::Cancel | Request::CancelRollback, .. } => {
                self.cancel_all();
            }
            Event::Requested { request: Request::Rollback(target), .. } => self.cancel_for_rollback(target.now),
            Event::Requested { request: Request::Checkpoint { name }, .. } => self.manual_checkpoint(name),
            Event::Requested { request: Request::Stop, .. } => {
                self.end_hold();
                self.end_probe();
            }
            Event::Requested { request: Request::Pause | Request::Resume, .. } => self.end_hold(),
            Event::Requested { request: Request::Set(changes), .. } => self.end_wait(&changes),
            Event::Around(around) => self.answer_surroundings(&around),
            Event::Noticed(Notice::Silent { order }) => self.cancel_agent(order, CancelCause::Silent),
            Event::Noticed(Notice::Retrying { order }) => self.cancel_agent(order, CancelCause::Retrying),
            Event::DeadlinePassed => {
                for due in deadline::overdue(&self.after, self.deciding) {
                    self.push(Fact::OrderCancelled { id: due.id, cause: due.cause });
                }
            }
            Event::Created(_)
            | Event::Answered { .. }
            | Event::Requested {
                request: Request::Inject(_) | Request::Note(_) | Request::Reset { .. } | Request::Accept { .. },
                ..
            }
            | Event::Noticed(Notice::Started { .. } | Notice::Message { .. } | Notice::Session { .. }) => {}
        }
    }

    fn answer_surroundings(&mut self, around: &AroundEvent) {
        match around {
            AroundEvent::Inbox { effect, .. } => match effect {
                InboxEffect::Urgent(text) => self.make_way(text.number),
                InboxEffect::Pause | InboxEffect::Resume => self.end_hold(),
                InboxEffect::Text(_) | InboxEffect::Status | InboxEffect::Ignored { .. } => {}
            },
            AroundEvent::Environment { set, pause, .. } => {
                self.end_wait(set);
                if pause.is_some() {
                    self.end_hold();
                }
            }
            AroundEvent::Files(_) => {}
        }
    }

    /// An urgent text came: the agent that works is ended, and the delay between iterations.
    fn make_way(&mut self, text: u32) {
        match self.after.main_order().map(|(id, open)| (id, &open.order)) {
            Some((id, Order::RunAgent { .. })) => self.interrupt_agent(id, text),
            Some((_, Order::Hold { cause: HoldCause::Delay, .. })) => self.cancel_main(CancelCause::Request),
            Some(_) | None => {}
        }
    }

    /// Ends the agent, unless urgent texts have done so often enough in this iteration.
    fn interrupt_agent(&mut self, id: OrderId, text: u32) {
        if self.after.prompt.surroundings.may_interrupt() {
            return self.cancel_agent(id, CancelCause::Urgent);
        }
        if self.after.orders.get(id).is_some_and(|open| !open.is_cancelled()) {
            self.push(Fact::Decided(Decision::UrgentWaits { text, most: URGENT_INTERRUPTIONS_MAX }));
        }
    }

    fn push(&mut self, fact: Fact) {
        self.after.apply(&fact);
        self.facts.push(fact);
    }

    /// Judges everything that ended and is not judged yet.
    fn settle(&mut self) {
        while let Some(decision) = self.next_judgement() {
            self.push(Fact::Decided(decision));
        }
    }

    fn next_judgement(&self) -> Option<Decision> {
        let (state, deciding) = (&self.after, self.deciding);
        if let Some(used_up) = self.used_up() {
            return Some(used_up);
        }
        if state.guard.unjudged_uses().is_some() {
            return Some(Decision::Protect(judge::protect(state, deciding)));
        }
        if state.guard.unjudged().is_some() {
            return Some(Decision::Guard(judge::guard(state, deciding)));
        }
        if state.proving.unjudged().is_some() {
            return Some(Decision::Clean(prove::judge_copy(state, deciding)));
        }
        if state.proving.proof_is_unjudged() {
            return Some(Decision::Proof(prove::judge_pass(state, deciding)));
        }
        if let Some(judgement) = text_order::judge(state, deciding) {
            return Some(Decision::Text(Box::new(judgement)));
        }
        if let Some(decision) = recover::ended(state, deciding) {
            return Some(Decision::Recovery(decision));
        }
        let judgement = match state.phase {
            Phase::AttemptEnded => Some(Decision::Attempt(Box::new(judge::attempt(state, deciding)))),
            Phase::InterruptedSaved => {
                Some(Decision::Interruption { rollback_to: judge::interruption(state, deciding) })
            }
            Phase::Measured => Some(Decision::Measurement(judge::measurement(state, deciding))),
            Phase::GateEnded { .. } => Some(Decision::Gate(judge::gate(state, deciding))),
            Phase::RoundEnded { point } => Some(Decision::Round(Box::new(judge::round(state, point, deciding)))),
            Phase::New
            | Phase::StartGuard
            | Phase::InitialCheckpoint
            | Phase::Agent
            | Phase::AttemptGuard(_)
            | Phase::InterruptedCheckpoint
            | Phase::IterationCheckpoint
            | Phase::Measuring
            | Phase::BeforeGates { .. }
            | Phase::Gates { .. }
            | Phase::GatesGuard { .. }
            | Phase::Deciding { .. } => None,
        };
        // What is judged may be a reason to tell a person something.
        judgement.or_else(|| alert_due::next(state, deciding).map(|alert| Decision::Alert(Box::new(alert))))
    }

    /// Sends the alerts of this step for which a notification is wanted.
    fn notify_alerts(&mut self, from: usize) {
        let wanted = |fact: &Fact| match fact {
            Fact::Decided(Decision::Alert(alert)) if alert.notify => Some(Order::Notify {
                result: alert.severity.word().to_lowercase(),
                text: text::head(&alert.message, REASON_BYTES_MAX).to_owned(),
            }),
            Fact::Happened(_)
            | Fact::Ordered { .. }
            | Fact::OrderCancelled { .. }
            | Fact::Decided(_)
            | Fact::Concluded { .. } => None,
        };
        let orders: Vec<Order> = self.facts.iter().skip(from).filter_map(wanted).collect();
        orders.into_iter().for_each(|order| self.order(order));
    }

    /// A driver died: how its orders ended is not known.
    fn drop_orders(&mut self) {
        let open: Vec<Fact> = self
            .after
            .orders
            .iter()
            .map(|(id, open)| Fact::Decided(Decision::OrderDropped { id, then: judge::dropped(&open.order) }))
            .collect();
        open.into_iter().for_each(|fact| self.push(fact));
    }

    /// The run ended with an attempt that was cut off: what it left is rolled back now, where the setting says so.
    fn judge_interruption(&mut self) {
        if let Some(to) = judge::interruption(&self.after, self.deciding) {
            self.push(Fact::Decided(Decision::Interruption { rollback_to: Some(to) }));
        }
    }

    /// A person opened the run again, which closes the breaker unless that is left to `loop reset`.
    fn close_breaker(&mut self) {
        let breaker = &self.after.settings.read(self.deciding).values.breaker;
        if breaker.breaker_reset != BreakerReset::Manual || breaker.reset_circuit {
            self.push(Fact::Decided(Decision::BreakerClosed));
        }
    }

    fn cancel_main(&mut self, cause: CancelCause) {
        let open = self.after.main_order().filter(|(_, open)| !open.is_cancelled()).map(|(id, _)| id);
        if let Some(id) = open {
            self.push(Fact::OrderCancelled { id, cause });
        }
    }

    fn cancel_agent(&mut self, id: OrderId, cause: CancelCause) {
        let open = self.after.orders.get(id).filter(|open| !open.is_cancelled());
        if open.is_some_and(|open| matches!(open.order, Order::RunAgent { .. })) {
            self.push(Fact::OrderCancelled { id, cause });
        }
    }

    /// Stop now: the main order, or, when the run is over, whatever is still open.
    fn cancel_all(&mut self) {
        if self.after.over.is_none() {
            return self.cancel_main(CancelCause::Abort);
        }
        let open = self.after.orders.iter().filter(|(_, open)| !open.is_cancelled());
        for id in open.map(|(id, _)| id).collect::<Vec<_>>() {
            self.push(Fact::OrderCancelled { id, cause: CancelCause::Abort });
        }
    }

    /// A person asked for something: the hold ends, `decide` chooses.
    fn end_hold(&mut self) {
        let held = self.after.main_order().is_some_and(|(_, open)| open.order.hold_cause().is_some());
        let requests = &self.after.requests;
        let pause = requests.pause.is_some() || self.after.trouble.held().is_some();
        let paused_again = self.after.is_paused() && pause && requests.stop.is_none();
        if held && !paused_again {
            self.cancel_main(CancelCause::Request);
        }
    }

    /// A person wants the end: the verdict is kept, and no probe or text is waited for.
    fn end_probe(&mut self) {
        let order = self.after.main_order().map(|(_, open)| &open.order);
        let is_text = matches!(order, Some(Order::WriteText { .. }));
        if is_text || matches!(order, Some(Order::Judge { tree, .. }) if tree.is_probe()) {
            self.cancel_main(CancelCause::Request);
        }
    }

    /// Ends a wait that these changes may make needless: for a free call after a change of its limit; for the provider
    /// of an agent that does not work any more, or after a failure that is not waited for any more.
    fn end_wait(&mut self, changes: &[Change]) {
        let other_limit = |change: &Change| Cap::ALL.iter().any(|cap| cap.key() == change.key);
        let needless = match self.after.main_order().and_then(|(_, open)| open.order.hold_cause()) {
            Some(HoldCause::Calls) => changes.iter().any(other_limit),
            Some(HoldCause::Limit) => {
                changes.iter().any(|change| change.is_about_agent() || change.key == keys::on_failure().name)
            }
            Some(
                HoldCause::Paused | HoldCause::Delay | HoldCause::Blocked | HoldCause::Question | HoldCause::Stuck,
            )
            | None => false,
        };
        if needless {
            self.cancel_main(CancelCause::Request);
        }
    }

    /// A hold ends; a running agent or gate is ended too where the person wants the rollback now.
    fn cancel_for_rollback(&mut self, now: bool) {
        let order = self.after.main_order().map(|(_, open)| open.order.clone());
        match order {
            // A run that is blocked stays blocked: it goes back, and holds again.
            Some(Order::Hold { .. }) => self.cancel_main(CancelCause::Request),
            Some(Order::RunAgent { .. } | Order::RunGate { .. } | Order::Branches { .. }) if now => {
                self.cancel_main(CancelCause::Rollback);
            }
            Some(_) | None => {}
        }
    }

    /// A person's checkpoint is taken beside whatever is under way.
    fn manual_checkpoint(&mut self, name: String) {
        if self.after.clock.driver() != DriverMode::None {
            self.order(Order::ManualCheckpoint { name });
        }
    }

    /// Judges what ended, and orders what comes next on the main line, unless something is still under way there.
    fn proceed(&mut self) {
        let from = self.facts.len();
        self.settle();
        self.notify_alerts(from);
        if self.after.main_order().is_some() {
            return;
        }
        match self.after.clock.driver() {
            DriverMode::None => return,
            DriverMode::OneRequest => return self.proceed_with_request(),
            DriverMode::Driving => {}
        }
        if self.after.over.is_some() {
            return;
        }
        match decide::at_once(&self.after, self.deciding) {
            Some(next) => self.follow(next),
            None => self.order_next(),
        }
    }

    /// A person accepts a pass that something speaks against.
    fn accept(&mut self) {
        let passed_but = self.after.over.as_ref().filter(|over| over.outcome == Outcome::PassedBut);
        let (Some(over), Some(accepted)) = (passed_but, &self.after.requests.accept) else { return };
        let because = accepted.because.as_ref().map_or(String::new(), |because| format!(": {because}"));
        let text = format!("accepted by {}{because}", accepted.command);
        let text = text::head(&text, REASON_BYTES_MAX).to_owned();
        let mut proof = over.proof.clone().unwrap_or_default();
        proof.accepted = Some(accepted.clone());
        let reason = Reason { code: ReasonCode::Accepted, text };
        self.push(Fact::Concluded { outcome: Outcome::Accepted, reason, proof: Some(proof) });
    }

    /// Nothing is done but what this command asks for.
    fn proceed_with_request(&mut self) {
        self.accept();
        let gone = self.after.requests.abort.is_some() || self.after.trouble.host_failure().is_some();
        if judge::rollback_target(&self.after).is_some() && self.after.checkpoints.may_try_rollback() && !gone {
            self.roll_back();
        }
    }

    fn follow(&mut self, next: Next) {
        match next {
            Next::Conclude(outcome, reason) => match self.proof_order(outcome) {
                Some(order) => self.order(order),
                None => self.conclude(outcome, reason),
            },
            Next::Iterate if self.after.must_compare() => {
                self.order(Order::Checkpoint { name: CheckpointName::BetweenIterations(self.after.iteration) });
            }
            Next::Iterate if self.after.guard.due_for_people() => {
                self.order(Order::Guard { point: GuardPoint::People });
            }
            Next::Iterate if self.serve_text() => {}
            Next::Iterate if self.must_reserve() => {
                self.order(Order::Reserve {
                    wanted: budget::wanted(&self.after, self.after.settings.read(self.deciding)),
                });
            }
            Next::Iterate => match text_order::due(&self.after, self.deciding) {
                Some(DueText::Ask(order)) => self.order(order),
                Some(DueText::Serve(_)) | None => self.iterate(),
            },
            Next::Hold(cause, ms) => self.order(Order::Hold { cause, ms }),
            Next::RollBack => self.roll_back(),
            Next::Recover(decision) => self.recover(decision),
            Next::Branches if self.after.must_compare() => {
                self.order(Order::Checkpoint { name: CheckpointName::BetweenIterations(self.after.iteration) });
            }
            Next::Branches => self.try_branches(),
            Next::FailOver(agent, why) => {
                self.push(Fact::Decided(Decision::AgentOut { agent, why }));
                self.proceed();
            }
        }
    }

    /// The process of the run had ended: what is done and what remains is written before the next iteration, where that
    /// is not plain.
    fn want_assessment(&mut self) {
        if text_order::wants_assessment(&self.after, self.deciding) {
            self.push(Fact::Decided(Decision::TextWanted { purpose: TextPurpose::Assessment }));
        }
    }

    /// A text is due that no agent is asked for: that is decided, and the list is read again.
    fn serve_text(&mut self) -> bool {
        let Some(DueText::Serve(judgement)) = text_order::due(&self.after, self.deciding) else { return false };
        self.push(Fact::Decided(Decision::Text(Box::new(judgement))));
        self.proceed();
        true
    }

    /// What is decided about recovery may end the rung before, begin one, and plan a rollback: the list is read again.
    fn recover(&mut self, decision: RecoveryDecision) {
        let questions = if let RecoveryDecision::Began(began) = &decision { began.questions.clone() } else { None };
        self.push(Fact::Decided(Decision::Recovery(decision)));
        if let Some(questions) = questions.filter(|_| self.after.settings.read(self.deciding).notify) {
            // A run that ends says so itself.
            if !self.after.clock.is_unattended() {
                let text = questions.sentence(self.after.id_text());
                self.order(Order::Notify { result: Status::Paused.name().to_owned(), text });
            }
        }
        self.proceed();
    }

    /// Several ways are tried beside each other, from the state that the newest checkpoint has.
    fn try_branches(&mut self) {
        if self.clean_up() {
            return;
        }
        let Some(branches) = self.after.recovery.open_branches().map(<[_]>::to_vec) else { return };
        let rung = self.after.recovery.branch_rungs() + 1;
        let limit_ms = recover::branches_ms(&self.after, &branches, self.deciding);
        self.order(Order::Branches { rung, branches, limit_ms });
    }

    fn must_reserve(&self) -> bool {
        let settings = self.after.settings.read(self.deciding);
        let (budget, is_scarce) = (&self.after.budget, self.after.scarce_limit(settings).is_some());
        // A call that was granted for another model is not one of the scarcest.
        let lacks = budget.call().is_none() || (is_scarce && !budget.call_is_scarce());
        (settings.caps.shared() || is_scarce) && lacks
    }

    /// The ledger says that the scarcest model is used up for today.
    fn used_up(&self) -> Option<Decision> {
        let Some(Reserved::Denied { cap: Cap::ScarcePerDay, free_in_ms, .. }) = self.after.budget.call() else {
            return None;
        };
        let router = &self.after.settings.read(self.deciding).values.router;
        Some(Decision::UsedUp {
            model: router.models.scarcest().map(|row| row.model.clone()).unwrap_or_default(),
            until_ms: self.after.now.wall_ms.saturating_add(free_in_ms.unwrap_or(1)),
            most: router.opus_daily_limit.unwrap_or(0),
        })
    }

    fn roll_back(&mut self) {
        if self.clean_up() {
            return;
        }
        let Some((target, cause)) = judge::rollback_target(&self.after) else { return };
        let undo = self.after.checkpoints.undo_name();
        self.order(Order::Rollback { to: target.to, undo, git: target.git, paths: target.paths, cause });
    }

    /// Processes of a cut-off attempt are ended before anything else.
    fn clean_up(&mut self) -> bool {
        let processes = self.after.trouble.unclean().map(<[_]>::to_vec);
        let unclean = processes.is_some();
        processes.into_iter().for_each(|processes| self.order(Order::CleanUp { processes }));
        unclean
    }

    fn order_next(&mut self) {
        if self.clean_up() {
            return;
        }
        let (iteration, attempt) = (self.after.iteration, self.after.attempt);
        match self.after.phase {
            Phase::StartGuard => self.order(Order::Guard { point: GuardPoint::Start }),
            Phase::InitialCheckpoint => self.order(Order::Checkpoint { name: CheckpointName::Initial }),
            Phase::AttemptGuard(_) => self.order(Order::Guard { point: GuardPoint::Agent(iteration, attempt) }),
            Phase::InterruptedCheckpoint => {
                self.order(Order::Checkpoint { name: CheckpointName::Interrupted(iteration, attempt) });
            }
            Phase::IterationCheckpoint => self.order(Order::Checkpoint { name: CheckpointName::Iteration(iteration) }),
            Phase::Measuring => self.order(Order::Measure { iteration }),
            Phase::BeforeGates { point } => self.before_gates(point),
            Phase::Gates { point, .. } if self.after.out_of_time(self.deciding) => self.gates_are_over(point),
            Phase::Gates { point, next } => self.run_gate(point, next),
            Phase::GatesGuard { point } => self.order(Order::Guard { point: self.guard_point(point) }),
            Phase::Deciding { .. } => self.decide(),
            // A run without a first fact has nothing to do. The others have an open order, or were judged before this.
            Phase::New
            | Phase::Agent
            | Phase::AttemptEnded
            | Phase::InterruptedSaved
            | Phase::Measured
            | Phase::GateEnded { .. }
            | Phase::RoundEnded { .. } => {}
        }
    }

    /// What people changed while nothing ran is what the gates judge by.
    fn before_gates(&mut self, point: GatePoint) {
        let guard = &self.after.guard;
        if self.after.out_of_time(self.deciding) {
            self.gates_are_over(point);
        } else if guard.due_for_people() && guard.ran().is_none() {
            let agent = GuardPoint::Agent(self.after.iteration, self.after.attempt);
            let point = if guard.is_suspect() { agent } else { GuardPoint::People };
            self.order(Order::Guard { point });
        } else if self.after.gated() && must_checkpoint_first(&self.after) {
            self.order(Order::Checkpoint { name: CheckpointName::BetweenIterations(self.after.iterations_done()) });
        } else {
            self.run_gate(point, 0);
        }
    }

    fn run_gate(&mut self, point: GatePoint, next: u32) {
        let gate = self.after.gates.at(next).unwrap_or(next);
        self.order(Order::RunGate { point, gate, again: self.after.gates.next_try(gate) });
    }

    /// No time is left for the gates: the protected files are checked, then the list is read.
    fn gates_are_over(&mut self, point: GatePoint) {
        match self.after.guard.due() {
            Some(_) => self.order(Order::Guard { point: self.guard_point(point) }),
            None => self.decide(),
        }
    }

    /// Where no gate ran since the last check, it was the agent.
    fn guard_point(&self, point: GatePoint) -> GuardPoint {
        match self.after.guard.ran() {
            Some(Ran::Gates) => GuardPoint::Gates(point),
            Some(Ran::Agent) | None => GuardPoint::Agent(self.after.iteration, self.after.attempt),
        }
    }

    fn decide(&mut self) {
        let denied = self.after.budget.call().is_some_and(|call| call.number().is_none());
        if denied && judge::asks_for_status(&self.after) {
            self.push(Fact::Decided(Decision::StatusSkipped));
            return self.proceed();
        }
        let next = decide::decide(&self.after, self.deciding);
        self.follow(next);
    }

    fn iterate(&mut self) {
        let settings = self.after.settings.read(self.deciding);
        let AttemptRequest { iteration, attempt, notes, injected, .. } = self.after.next_request(settings);
        let Reasoned { choice, why, rule, drawn } = choice::choose(&self.after, settings);
        self.push(Fact::Decided(Decision::Chosen { choice: choice.clone(), why, rule, drawn }));
        let session = judge::session_to_continue(&self.after, &choice, self.deciding);
        let status_only = judge::asks_for_status(&self.after);
        let reservation = self.after.budget.call().and_then(Reserved::number);
        self.order(Order::RunAgent { iteration, attempt, choice, notes, injected, session, status_only, reservation });
    }

    /// What is still ordered before the run ends as verified.
    fn proof_order(&self, outcome: Outcome) -> Option<Order> {
        let verified = outcome == Outcome::Verified;
        verified.then(|| prove::next_order(&self.after, self.deciding)).flatten()
    }

    fn order(&mut self, order: Order) {
        let id = self.after.orders.next_id();
        self.push(Fact::Ordered { id, order });
    }

    fn conclude(&mut self, outcome: Outcome, reason: Reason) {
        let reason = Reason { text: text::head(&reason.text, REASON_BYTES_MAX).to_owned(), ..reason };
        let (result, text) = (standing(outcome).status.name().to_owned(), reason.text.clone());
        let proof = match outcome {
            Outcome::Verified | Outcome::PassedBut | Outcome::Accepted | Outcome::Claimed => {
                Some(Box::new(prove::proof_of(&self.after, outcome)))
            }
            Outcome::Exhausted
            | Outcome::Tripped
            | Outcome::Blocked
            | Outcome::Tampered
            | Outcome::Stopped
            | Outcome::Paused
            | Outcome::Cancelled
            | Outcome::Unable => None,
        };
        if let Some(alert) = alert_due::at_end(&self.after, outcome, &reason, self.deciding) {
            self.push(Fact::Decided(Decision::Alert(Box::new(alert))));
        }
        self.push(Fact::Concluded { outcome, reason, proof });
        if let Some(to) = judge::best_to_keep(&self.after, self.deciding) {
            let undo = self.after.checkpoints.undo_name();
            self.order(Order::Rollback { to, undo, git: false, paths: Vec::new(), cause: RollbackCause::KeepBest });
        }
        if self.after.settings.read(self.deciding).notify {
            self.order(Order::Notify { result, text });
        }
    }
}

/// Whether the gates would judge a workspace that no checkpoint holds: it may have been edited while nothing ran.
fn must_checkpoint_first(state: &RunState) -> bool {
    state.has_checkpoints() && state.checkpoints.is_unwatched() && state.checkpoints.newest().is_some()
}
