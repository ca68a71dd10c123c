//! From the state of a plan and an event to facts and orders.
use super::decide::{self, PlanNext};
use super::event::{PlanEvent, PlanInput, PlanRequest};
use super::evidence;
use super::fact::{DroppedPlanOrder, HookWhen, PlanCancel, PlanDecision, PlanFact, PlanOrder, SpecPart};
use super::outcome::plan_standing;
use super::spec::PlanSpec;
use super::state::{OpenPlanOrder, PlanState};
use crate::ids::OrderId;
use crate::machine::{Act, Deciding, Machine};
use crate::run::DriverMode;
use crate::time::{At, Deadline};

/// The machine of one plan.
#[derive(Debug)]
pub struct Plan;

impl Machine for Plan {
    const NAME: &'static str = "plan";

    type Event = PlanEvent;
    type Order = PlanOrder;
    type Fact = PlanFact;
    type State = PlanState;

    /// The event comes first, with the parts of its spec, then each decision that was made because of it, then orders.
    fn step(state: &PlanState, at: At, event: PlanEvent, deciding: &Deciding) -> Vec<PlanFact> {
        let mut turn = PlanTurn { after: state.clone(), facts: Vec::new(), deciding };
        turn.take(at, event.bounded());
        turn.facts
    }

    fn apply(state: &mut PlanState, fact: &PlanFact) {
        state.apply(fact);
    }

    fn next_deadline(state: &PlanState, _: &Deciding) -> Option<Deadline> {
        let open = state.orders.iter().filter(|(_, open)| !open.is_killed()).map(|(_, open)| open);
        let limits = open.map(|open| Deadline { since: open.since, after_ms: open.order.limit_ms() });
        limits.min_by_key(|deadline| deadline.due_in_ms(state.now))
    }

    fn next_wall_ms(_: &PlanState) -> Option<u64> {
        None
    }

    fn deadline_passed() -> PlanEvent {
        PlanEvent::DeadlinePassed
    }

    fn act(fact: &PlanFact) -> Option<Act<'_, PlanOrder>> {
        fact.act()
    }

    fn needs_sync(fact: &PlanFact) -> bool {
        fact.needs_sync()
    }

    fn needs_evidence(fact: &PlanFact) -> bool {
        evidence::is_needed(fact)
    }

    fn check_evidence(state: &PlanState, fact: &PlanFact) -> Result<(), &'static str> {
        evidence::check(state, fact)
    }

    fn set_time(fact: &mut PlanFact, at: At) {
        if let PlanFact::Happened(input) = fact {
            input.at = at;
        }
    }

    fn is_at_rest(state: &PlanState) -> bool {
        (state.over.is_some() || state.driver == DriverMode::OneRequest) && state.orders.is_empty()
    }
}

/// Collects the facts of one step and what they make of the state.
struct PlanTurn<'a> {
    after: PlanState,
    facts: Vec<PlanFact>,
    deciding: &'a Deciding,
}

impl PlanTurn<'_> {
    fn take(&mut self, at: At, event: PlanEvent) {
        // Only where the journal was cut between an event and its decision. Orders of before a reopening are dropped first:
        // what is carried over has none.
        let reopens = matches!(event, PlanEvent::Reopened { .. });
        let drops_first = self.after.carry_due && !self.after.orders.is_empty();
        if !reopens && !drops_first {
            self.settle();
        }
        self.happened(at, event);
        self.proceed();
    }

    fn push(&mut self, fact: PlanFact) {
        self.after.apply(&fact);
        self.facts.push(fact);
    }

    fn order(&mut self, order: PlanOrder) {
        let id = self.after.orders.next_id();
        self.push(PlanFact::Ordered { id, order });
    }

    /// The event, and what it asks for at once.
    fn happened(&mut self, at: At, event: PlanEvent) {
        let happened = |event| PlanFact::Happened(PlanInput { at, event });
        match event {
            PlanEvent::Created(spec) => {
                let (head, parts) = split(*spec);
                self.push(happened(PlanEvent::Created(Box::new(head))));
                parts.into_iter().for_each(|part| self.push(PlanFact::Part(part)));
            }
            PlanEvent::Reopened { by, unattended, spec, request } => {
                let (head, parts) = spec.map(|spec| split(*spec)).unzip();
                let spec = head.map(Box::new);
                self.push(happened(PlanEvent::Reopened { by, unattended, spec, request }));
                parts.into_iter().flatten().for_each(|part| self.push(PlanFact::Part(part)));
                self.drop_orders();
            }
            PlanEvent::Opened => {
                self.push(happened(PlanEvent::Opened));
                self.drop_orders();
            }
            PlanEvent::OpenedForRequest { by } => {
                self.push(happened(PlanEvent::OpenedForRequest { by }));
                self.drop_orders();
            }
            PlanEvent::Requested { request, by } => {
                let rollback = if let PlanRequest::Rollback { to, undo } = &request {
                    Some(PlanOrder::RollBack { to: to.clone(), undo: undo.clone() })
                } else {
                    None
                };
                self.push(happened(PlanEvent::Requested { request, by }));
                // Only while no other order may change the workspace.
                let alone = self.after.driver == DriverMode::OneRequest && self.after.orders.is_empty();
                if let Some(order) = rollback.filter(|_| alone) {
                    self.order(order);
                }
            }
            PlanEvent::DeadlinePassed => {
                self.push(happened(PlanEvent::DeadlinePassed));
                self.end_overdue();
            }
            PlanEvent::Answered { .. } | PlanEvent::Noticed(_) => self.push(happened(event)),
        }
    }

    /// A driver died: how its orders ended is not known.
    fn drop_orders(&mut self) {
        let dropped = |(id, open): (OrderId, &OpenPlanOrder)| {
            PlanFact::Decided(PlanDecision::OrderDropped { id, then: dropped(&open.order) })
        };
        let open: Vec<PlanFact> = self.after.orders.iter().map(dropped).collect();
        open.into_iter().for_each(|fact| self.push(fact));
    }

    fn end_overdue(&mut self) {
        let now = self.after.now;
        let is_late = |open: &OpenPlanOrder| !open.is_killed() && now.ms_since(open.since) >= open.order.limit_ms();
        let late: Vec<OrderId> = self.after.orders.iter().filter(|(_, open)| is_late(open)).map(|(id, _)| id).collect();
        for id in late {
            self.push(PlanFact::OrderCancelled { id, cause: PlanCancel::Timeout });
        }
    }

    /// Judges everything that ended and is not judged yet.
    fn settle(&mut self) {
        while let Some(decision) = decide::judgement(&self.after, self.deciding) {
            self.push(PlanFact::Decided(decision));
        }
    }

    /// Judges what ended, ends what has to end, and orders what comes next.
    fn proceed(&mut self) {
        loop {
            self.settle();
            if !self.may_proceed() {
                return;
            }
            for (id, cause) in decide::cancels(&self.after) {
                self.push(PlanFact::OrderCancelled { id, cause });
            }
            match decide::next(&self.after, self.deciding) {
                Some(PlanNext::Decide(decision)) => self.push(PlanFact::Decided(decision)),
                Some(PlanNext::Order(order)) => self.order(order),
                Some(PlanNext::Conclude) => {
                    let Some(ends) = self.after.ends.clone() else { return };
                    let result = plan_standing(ends.outcome).status.name().to_owned();
                    let text = ends.reason.text.clone();
                    self.push(PlanFact::Concluded { outcome: ends.outcome, reason: ends.reason });
                    if self.after.spec.as_ref().is_some_and(|spec| spec.notify.is_some()) {
                        self.order(PlanOrder::Notify { result, text });
                    }
                }
                None => return,
            }
        }
    }

    /// Whether a driver works on it. A command that opened it for one request may only end it for good, and so may a
    /// person while the notification about its end runs.
    fn may_proceed(&self) -> bool {
        let over = self.after.over.as_ref().map(|over| over.outcome);
        let resumable = over.is_none_or(|outcome| plan_standing(outcome).resumable);
        let cancels = self.after.requests.cancel.is_some() && resumable;
        match self.after.driver {
            DriverMode::Driving => over.is_none(),
            DriverMode::OneRequest => cancels,
            DriverMode::None => cancels && over.is_some(),
        }
    }
}

/// A spec without its nodes and hooks, and these as facts of their own.
fn split(mut spec: PlanSpec) -> (PlanSpec, Vec<SpecPart>) {
    let nodes = std::mem::take(&mut spec.nodes).into_iter().map(|node| SpecPart::Node(Box::new(node)));
    let hook = |when| move |command| SpecPart::Hook { when, command };
    let complete = std::mem::take(&mut spec.on_complete).into_iter().map(hook(HookWhen::Complete));
    let failure = std::mem::take(&mut spec.on_failure).into_iter().map(hook(HookWhen::Failure));
    let parts: Vec<SpecPart> = nodes.chain(complete).chain(failure).collect();
    spec.parts = u32::try_from(parts.len()).unwrap_or(u32::MAX);
    (spec, parts)
}

/// What becomes of an order whose end is not known.
fn dropped(order: &PlanOrder) -> DroppedPlanOrder {
    match order {
        PlanOrder::Run { .. } => DroppedPlanOrder::ResumeRun,
        // A command of the user is never run twice.
        PlanOrder::Hook { .. } | PlanOrder::Tell { .. } | PlanOrder::RollBack { .. } | PlanOrder::Notify { .. } => {
            DroppedPlanOrder::Forget
        }
        PlanOrder::Record { .. }
        | PlanOrder::Copy { .. }
        | PlanOrder::Measure { .. }
        | PlanOrder::Merge { .. }
        | PlanOrder::Gates { .. }
        | PlanOrder::Apply { .. }
        | PlanOrder::ReadList { .. }
        | PlanOrder::Check { .. }
        | PlanOrder::RecordLoop { .. }
        | PlanOrder::RecordPass { .. }
        | PlanOrder::Ask(_)
        | PlanOrder::Drop { .. } => DroppedPlanOrder::Repeat,
    }
}
