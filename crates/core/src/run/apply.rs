//! The only place where state changes, live and on replay.
use std::sync::Arc;

use super::due::Timing;
use super::event::{Change, Event, Input, Notice, Request, Target};
use super::fact::{CancelCause, Fact, GatePoint, GuardPoint, HoldCause, Order};
use super::outcome::Ending;
use super::report::{Answer, Ended, GateReport};
use super::spec::RunSpec;
use super::state::{GateMemory, OpenOrder, RunState, Stage};
use super::words::MANUAL;
use crate::ids::OrderId;
use crate::settings::Settings;
use crate::time::At;

/// How many pieces of news wait for a prompt.
pub(super) const PROMPT_NOTES_MAX: usize = 8;
/// How many injected texts stay in all later prompts.
pub const INJECTIONS_KEPT_MAX: usize = 64;
/// The checkpoint of the workspace before iteration 1.
pub const INITIAL: &str = "initial";
/// How many changed paths are remembered.
pub(super) const CHANGED_NAMES_MAX: usize = 50;

/// What to do about an order when nobody knows how far it got.
enum AfterCrash {
    /// It is free to do again.
    Again,
    /// The agent was cut off: keep what it left, never do it again as if nothing had been.
    CutOff,
    /// What the gates said is void: what they judged may have been put back since, and nobody knows.
    JudgeAnew,
    /// It matters no more.
    Forget,
}

fn after_crash(order: &Order) -> AfterCrash {
    match order {
        Order::RunAgent { .. } => AfterCrash::CutOff,
        Order::CleanUp { .. }
        | Order::Checkpoint { .. }
        | Order::Measure { .. }
        | Order::Hold { .. }
        | Order::Rollback { .. }
        | Order::Reserve { .. }
        | Order::Guard { point: GuardPoint::Start | GuardPoint::Agent(..) | GuardPoint::People }
        | Order::Certify { .. }
        | Order::RunGate { .. } => AfterCrash::Again,
        Order::Guard { point: GuardPoint::Gates(_) } => AfterCrash::JudgeAnew,
        Order::Notify { .. } | Order::ManualCheckpoint { .. } => AfterCrash::Forget,
    }
}

impl RunState {
    /// Takes one fact in.
    pub fn apply(&mut self, fact: &Fact) {
        match fact {
            Fact::Happened(input) => self.happened(input),
            Fact::Ordered { id, order } => self.ordered(*id, order),
            Fact::OrderCancelled { id, cause } => {
                if let Some(open) = self.orders.get_mut(id) {
                    open.cut = *cause == CancelCause::TimeUp;
                    if !open.cut {
                        open.cancelled = Some(*cause);
                    }
                }
            }
            Fact::Concluded { outcome, reason, proof } => {
                self.stop_the_clock();
                self.open = false;
                self.over =
                    Some(Ending { outcome: *outcome, reason: reason.clone(), at: self.now, proof: proof.clone() });
                self.judged.reset = false;
            }
        }
    }

    fn happened(&mut self, input: &Input) {
        if !matches!(input.event, Event::Opened | Event::Reopened { .. } | Event::OpenedForRequest { .. }) {
            self.now = input.at;
        }
        match &input.event {
            Event::Created(spec) => self.created(input.at, spec),
            Event::Opened => self.opened(input.at),
            Event::Reopened { changes, .. } => self.reopened(input.at, changes),
            Event::OpenedForRequest { .. } => self.visited(input.at),
            Event::Answered { order, answer } => self.answered(*order, answer),
            Event::Requested { request, by } => self.asked(request, by),
            Event::Noticed(Notice::Started { order, process }) => {
                if let Some(open) = self.orders.get_mut(order) {
                    open.process = Some(*process);
                }
            }
            Event::Noticed(Notice::Session { order, id }) => {
                if self.orders.contains_key(order) {
                    self.met(id);
                }
            }
            Event::Noticed(Notice::Message { .. } | Notice::Silent { .. }) | Event::DeadlinePassed => {}
        }
    }

    fn asked(&mut self, request: &Request, by: &str) {
        match request {
            Request::Stop => self.asked.stop = Some(by.to_owned()),
            Request::Abort => self.asked.abort = Some(by.to_owned()),
            Request::Pause => self.asked.pause = Some(by.to_owned()),
            Request::Resume => {
                self.go_on_at_once();
                (self.asked.pause, self.blocked) = (None, None);
                self.keeping.may_try = true;
            }
            Request::Cancel => {
                self.asked.cancel = Some(by.to_owned());
                self.asked.rollback = self.asked.rollback.take().filter(|_| self.keeping.rolling_back);
            }
            Request::CancelRollback => {
                self.keeping.may_try = true;
                self.asked.cancel = Some(by.to_owned());
                self.asked.rollback = Some(Target { to: INITIAL.to_owned(), now: true, git: false });
            }
            Request::Rollback(target) => {
                self.asked.rollback = Some(target.clone());
                (self.keeping.may_try, self.judged.reverting) = (true, false);
            }
            Request::Checkpoint { .. } => {}
            Request::Reset { session } => {
                self.close_breaker();
                self.session = self.session.take().filter(|_| !session);
            }
            Request::Inject(text) => {
                self.injections.newest = self.injections.newest.max(text.number);
                if text.keep && self.injections.kept.len() < INJECTIONS_KEPT_MAX {
                    self.injections.kept.push(text.number);
                }
            }
            Request::Set(changes) => self.change(changes),
        }
    }

    /// As if a driver had been killed: nobody goes on with it until it is opened again.
    fn visited(&mut self, at: At) {
        self.opened(at);
        self.driven_since = None;
        (self.open, self.visiting) = (false, true);
        self.forget_asked();
        // Nothing is done but what the visitor asks for.
        (self.blocked, self.keeping.may_try) = (None, false);
    }

    fn change(&mut self, changes: &[Change]) {
        for change in changes {
            Arc::make_mut(&mut self.settings).change(&change.key, &change.value);
            if change.key == "max_time" {
                (self.time.ended_agent, self.time.ended_gate) = (false, false);
            }
        }
    }

    /// Time that passes from now on does not count.
    fn stop_the_clock(&mut self) {
        self.driven_ms = self.active_ms(self.now);
        self.driven_since = None;
    }

    fn created(&mut self, at: At, spec: &RunSpec) {
        self.created = at;
        self.settings = Arc::new(Settings::of(&spec.settings));
        self.gates = vec![GateMemory::default(); self.settings.gates.len()];
        self.spec = Some(Arc::new(spec.clone()));
    }

    fn opened(&mut self, at: At) {
        self.stop_the_clock();
        self.driven_since = Some(at);
        self.time = Timing { anew: self.stage != Stage::Fresh, ..Timing::default() };
        (self.open, self.visiting) = (true, false);
        self.guarding.people |= self.guarding.files.is_some();
        self.now = at;
        (self.keeping.compared, self.keeping.may_try, self.keeping.unwatched) = (false, true, true);
        // Nobody keeps a call for one who died; how long it would have to wait is another matter now.
        self.call = None;
        for open in std::mem::take(&mut self.orders).into_values() {
            match after_crash(&open.order) {
                AfterCrash::Again => {}
                AfterCrash::JudgeAnew => {
                    self.stage = Stage::Gating { point: GatePoint::Reopened(self.iteration), next: 0 };
                    self.forget_tries();
                }
                AfterCrash::CutOff => {
                    self.nobody_told();
                    self.cut_off();
                }
                AfterCrash::Forget => continue,
            }
            // Nobody works on a hold, so nothing can be left of it. A number of another start of the
            // machine names somebody else.
            if !matches!(open.order, Order::Hold { .. }) {
                let process = open.process.filter(|_| open.since.boot_id == at.boot_id);
                self.unclean.get_or_insert_default().extend(process);
            }
        }
    }

    /// Nobody knows what the call cost.
    fn nobody_told(&mut self) {
        self.spent.cost_untold += 1;
        self.spent.tokens_untold += 1;
    }

    fn reopened(&mut self, at: At, changes: &[Change]) {
        self.opened(at);
        self.change(changes);
        self.forget_asked();
        self.keeping.may_try = true;
        (self.unverifiable_streak, self.crash_streak) = (0, 0);
        self.forget_tamper();
        self.forget_tries();
        if self.settings.resolved.get("breaker_reset") != "manual" || self.settings.resolved.is_on("reset_circuit") {
            self.close_breaker();
        }
        (self.host_failure, self.lost_agent, self.blocked) = (None, None, None);
        self.forget_failures();
        self.keeping.left_its_end = false;
        // Somebody may have worked on it since: neither an end nor an answer from before is believed,
        // the gates are asked again, all of them.
        self.over = None;
        if let Stage::Gating { point, next } = self.stage {
            let all = usize::try_from(next).is_ok_and(|next| next >= self.gates.len());
            // An iteration that was judged is not judged, and counted, a second time.
            let point = if all { GatePoint::Reopened(self.iteration) } else { point };
            self.stage = Stage::Gating { point, next: 0 };
        }
    }

    fn ordered(&mut self, id: OrderId, order: &Order) {
        self.order_count = self.order_count.max(id.0);
        self.guarding.people |= matches!(order, Order::Hold { .. } | Order::Rollback { .. });
        match order {
            Order::RunAgent { iteration, attempt, injected, session, .. } => {
                self.attempt_begins(session.as_deref());
                self.time = Timing::default();
                self.window = self.call.take().or(self.window.take());
                self.spent.calls += 1;
                (self.guarding.due, self.guarding.gates_ran) = (true, false);
                self.forget_tamper();
                if *attempt == 1 {
                    self.judged.status_asked = false;
                    self.injections.given_before = self.injections.given;
                    self.keeping.before = self.keeping.newest.clone();
                }
                (self.iteration, self.attempt, self.agent_ended) = (*iteration, *attempt, false);
                self.injections.given = injected.map_or(self.injections.given, |(_, last)| last);
                self.delayed = false;
            }
            Order::Hold { cause: HoldCause::Paused | HoldCause::Blocked | HoldCause::Question, .. } => {
                self.stop_the_clock()
            }
            Order::Rollback { .. } => {
                self.keeping.half_done = self.keeping.rolling_back;
                (self.keeping.rolling_back, self.keeping.may_try) = (true, false);
                self.call = None;
            }
            Order::ManualCheckpoint { name } => self.keeping.named += u32::from(name.starts_with(MANUAL)),
            Order::RunGate { .. } => {
                (self.guarding.due, self.guarding.gates_ran) = (true, true);
                // A new round: what the gates did in the one before says nothing about it.
                self.guarding.by_gates &= !matches!(self.stage, Stage::Gating { next: 0, .. });
                // It may take an hour: a call that was granted before is none of then.
                (self.keeping.compared, self.call) = (false, None);
                // What was said about a proof says nothing about what is judged anew.
                self.judged.certified = None;
            }
            Order::Hold { cause: HoldCause::Delay | HoldCause::Limit | HoldCause::Calls, .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::Notify { .. } => {}
        }
        let open = OpenOrder { order: order.clone(), since: self.now, cancelled: None, cut: false, process: None };
        self.orders.insert(id, open);
    }

    /// An answer to an order from before a crash finds no open order and changes nothing.
    fn answered(&mut self, id: OrderId, answer: &Answer) {
        let Some(open) = self.orders.remove(&id) else { return };
        if self.keeping_answered(&open.order, answer) {
            return;
        }
        match (&open.order, answer) {
            (Order::Notify { .. }, _) => {}
            (Order::CleanUp { .. }, Answer::Cleaned { .. }) => self.unclean = None,
            (Order::Hold { cause, .. }, Answer::Held) => {
                self.delayed |= *cause == HoldCause::Delay;
                // Somebody may have worked on it in the meantime, and a call of then is none of now.
                (self.call, self.keeping.compared) = (None, false);
                self.driven_since = self.driven_since.or(Some(self.now));
            }
            (Order::Checkpoint { name }, Answer::Checkpoint(saved)) => self.saved(*name, saved),
            (Order::RunAgent { .. }, Answer::AgentEnded(report)) => self.agent_ended(&open, report),
            (Order::Measure { iteration }, Answer::Measurement(measured)) => self.measured(*iteration, measured),
            (Order::RunGate { point, gate, .. }, Answer::GateEnded(report)) => {
                self.gate_ended(&open, (id, *point, *gate), report);
            }
            (Order::Reserve { .. }, Answer::Reserved(reserved)) => self.reserved(reserved),
            (Order::Guard { point }, Answer::Guard(guarded)) => self.guarded(*point, guarded),
            (Order::Certify { point }, Answer::Certify(certified)) => self.certify(*point, certified),
            (order, answer) => self.not_done(order, &open, answer),
        }
    }

    fn not_done(&mut self, order: &Order, open: &OpenOrder, answer: &Answer) {
        if let Order::RunAgent { .. } = order {
            self.nobody_told();
            self.cut_off();
        }
        // Given up because a person wants something else: it is done again when it is due.
        let given_up = open.cancelled == Some(CancelCause::Abort) || open.cancelled == Some(CancelCause::Rollback);
        match (order, answer) {
            (Order::Checkpoint { .. } | Order::Measure { .. } | Order::Rollback { .. }, Answer::Failed { .. })
                if given_up => {}
            (Order::RunAgent { .. } | Order::RunGate { .. }, Answer::Failed { what }) => {
                // It may have been started before it failed.
                self.unclean.get_or_insert_default();
                self.host_failure = Some(what.clone());
            }
            (_, Answer::Failed { what }) => self.host_failure = Some(what.clone()),
            (Order::RunAgent { .. }, Answer::Lost { left }) => {
                self.unclean.get_or_insert_default().extend(open.process);
                self.lost_agent = Some(left.join(", "));
            }
            (_, Answer::Lost { left }) => {
                self.unclean.get_or_insert_default().extend(open.process);
                self.host_failure = Some(format!("could not be ended: {}", left.join(", ")));
            }
            (_, answer) => self.host_failure = Some(format!("a bug of loop: {answer:?} is no answer to this order")),
        }
    }

    fn gate_ended(&mut self, open: &OpenOrder, (order, point, number): (OrderId, GatePoint, u32), report: &GateReport) {
        // A gate that was given up has not spoken.
        let given_up = [CancelCause::Abort, CancelCause::Rollback, CancelCause::TimeLimit];
        if report.ended == Ended::ByUs && open.cancelled.is_some_and(|cause| given_up.contains(&cause)) {
            self.time.ended_gate |= open.cancelled == Some(CancelCause::TimeLimit);
            return;
        }
        self.gate_spoke((order, point, number), report);
    }
}
