//! When something is due: the limits of orders, the end of waits, and the time of the whole run.
use super::fact::{CancelCause, GatePoint, HoldCause, Order};
use super::state::{OpenOrder, RunState, Stage};
use crate::ids::OrderId;
use crate::policy::hours;
use crate::policy::wait::Wait;
use crate::time::{At, Deadline};

/// What the time of a run means at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Timing {
    /// Somebody opened it again and wants to know how it stands: the gates are asked, whatever the time.
    pub anew: bool,
    /// It ended the agent: what is left is for the gates, and not for another call.
    pub ended_agent: bool,
    /// It ended a gate: what is left is for nothing more.
    pub ended_gate: bool,
}

impl RunState {
    /// When the driver must wake us even if nothing happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Deadline> {
        let orders = self.orders.values().filter(|open| open.cancelled.is_none());
        let limits = orders.map(|open| match self.waits_until(open) {
            // By the wall clock, as it was seen last: whoever wakes us early is sent back to sleep.
            Some(until) => Deadline { since: self.now, after_ms: until.saturating_sub(self.now.wall_ms) },
            None => Deadline { since: open.since, after_ms: open.order.limit_ms(&self.settings) },
        });
        limits.chain(self.time_limit()).min_by_key(|deadline| deadline.due_in_ms(self.now))
    }

    /// The moment by the wall clock at which a wait for the provider is over, while it is under way.
    #[must_use]
    pub fn waits_until(&self, open: &OpenOrder) -> Option<u64> {
        let limit = matches!(open.order, Order::Hold { cause: HoldCause::Limit, .. });
        self.wait.as_ref().filter(|_| limit).map(|wait| wait.until_ms)
    }

    /// What the provider makes it wait for, while it does.
    #[must_use]
    pub fn waiting(&self) -> Option<&Wait> {
        let (_, open) = self.main_order()?;
        self.wait.as_ref().filter(|_| matches!(open.order, Order::Hold { cause: HoldCause::Limit, .. }))
    }

    /// Whether something is due at this moment.
    #[must_use]
    pub fn is_due(&self, now: At) -> bool {
        let stated = self.waiting().is_some_and(|wait| now.wall_ms >= wait.until_ms);
        stated || self.next_deadline().is_some_and(|deadline| deadline.is_due(now))
    }

    /// Whether the time of an order has come.
    #[must_use]
    pub fn is_overdue(&self, open: &OpenOrder) -> bool {
        match self.waits_until(open) {
            Some(until) => self.now.wall_ms >= until,
            None => self.now.ms_since(open.since) >= open.order.limit_ms(&self.settings),
        }
    }

    /// How much of its time the run has left, where that is limited.
    #[must_use]
    pub fn time_left(&self) -> Option<u64> {
        self.settings.max_time_ms.map(|most| most.saturating_sub(self.active_ms(self.now)))
    }

    /// When the run's own time ends what is at work: first it is asked to, then it has to.
    #[must_use]
    pub fn time_limit(&self) -> Option<Deadline> {
        let (_, open) = self.main_order()?;
        let left = self.settings.max_time_ms?.saturating_sub(self.driven_ms);
        let left = left.saturating_sub(open.since.ms_since(self.driven_since?));
        let share = match open.order {
            Order::RunAgent { .. } => hours::agent(left, self.gates_ms()),
            Order::RunGate { point, .. } if self.counts_time(point) => hours::whole(left),
            // Nothing has to be ended but the waiting.
            Order::Hold { cause: HoldCause::Delay | HoldCause::Limit | HoldCause::Calls, .. }
                if open.cancelled.is_none() =>
            {
                hours::Share { ask_ms: left, end_ms: left }
            }
            Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Hold { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::RunGate { .. }
            | Order::Notify { .. } => return None,
        };
        let after_ms = if open.cancelled.is_none() { share.ask_ms } else { share.end_ms };
        (!open.cut).then_some(Deadline { since: open.since, after_ms })
    }

    /// Whether the time is up before the gates have all spoken.
    #[must_use]
    pub fn out_of_time(&self) -> bool {
        let counts = matches!(self.stage, Stage::Gating { point, .. } if self.counts_time(point));
        counts && (self.time.ended_gate || self.time_left() == Some(0))
    }

    /// Who opened a run again, or went back in it, asked to know how it stands: that is not cut off.
    fn counts_time(&self, point: GatePoint) -> bool {
        matches!(point, GatePoint::Baseline | GatePoint::Iteration(_)) && !self.time.anew
    }

    /// How long the gates took when they were last asked, with all their tries.
    fn gates_ms(&self) -> u64 {
        let gates = self.settings.gates.iter().zip(&self.gates);
        gates
            .filter_map(|(gate, memory)| Some(memory.last.as_ref()?.report.duration_ms * u64::from(gate.needs().1)))
            .sum()
    }
}

/// Orders that must be cancelled because their time has come, with the cause.
pub(super) fn overdue(state: &RunState) -> Vec<(OrderId, CancelCause)> {
    let open = state.orders.iter().filter(|(_, open)| open.cancelled.is_none());
    let mut due: Vec<_> =
        open.filter(|(_, open)| state.is_overdue(open)).map(|(id, _)| (*id, CancelCause::Timeout)).collect();
    let out_of_time = state.time_limit().is_some_and(|limit| limit.is_due(state.now));
    if let (true, Some((id, open))) = (out_of_time, state.main_order()) {
        due.retain(|(known, _)| *known != id);
        due.push((id, if open.cancelled.is_some() { CancelCause::TimeUp } else { CancelCause::TimeLimit }));
    }
    due
}
