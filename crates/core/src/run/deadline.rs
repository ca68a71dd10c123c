//! When something is due: the limits of orders, the end of waits, and the time of the whole run.
use super::fact::{CancelCause, GatePoint, HoldCause, Order};
use super::judge_report::JudgedTree;
use super::state::{OpenRunOrder, RunState};
use crate::ids::OrderId;
use crate::machine::Deciding;
use crate::policy::time_budget;
use crate::policy::wait::Wait;
use crate::time::Deadline;

/// So long an unattended run waits for a person to fix this machine.
pub(super) const UNATTENDED_MS_MAX: u64 = 30 * 60 * 1000;

/// A clean copy that begins shortly before the time limit gets as much as the gates took, so many times,
const CLEAN_COPY_TIMES_GATES: u64 = 3;
/// and this for making the copy.
const CLEAN_COPY_SET_UP_MS: u64 = 60_000;

impl RunState {
    /// When the driver must wake us even if nothing happens.
    #[must_use]
    pub fn next_deadline(&self, deciding: &Deciding) -> Option<Deadline> {
        let settings = self.settings.read(deciding);
        let orders = self.orders.iter().filter(|(_, open)| !open.is_cancelled());
        let limits = orders.map(|(_, open)| match self.waits_until(open) {
            // By the wall clock, as it was seen last: an early event only computes this again.
            Some(until) => Deadline { since: self.now, after_ms: until.saturating_sub(self.now.wall_ms) },
            None => Deadline { since: open.since, after_ms: open.order.limit_ms(settings) },
        });
        limits.chain(self.time_limit(deciding)).min_by_key(|deadline| deadline.due_in_ms(self.now))
    }

    /// The moment by the wall clock at which a wait for the provider is over, while it is under way.
    #[must_use]
    pub fn waits_until(&self, open: &OpenRunOrder) -> Option<u64> {
        let limit = open.order.hold_cause() == Some(HoldCause::Limit);
        self.agent.provider.wait().filter(|_| limit).map(|wait| wait.until_ms)
    }

    /// What the provider makes it wait for, while it does.
    #[must_use]
    pub fn waiting(&self) -> Option<&Wait> {
        let (_, open) = self.main_order()?;
        self.agent.provider.wait().filter(|_| open.order.hold_cause() == Some(HoldCause::Limit))
    }

    /// The moment by the wall clock at which the next call of the hour is free, while that is waited for.
    #[must_use]
    pub fn calls_free_at(&self) -> Option<u64> {
        let (_, open) = self.main_order()?;
        let Order::Hold { cause: HoldCause::Calls, ms } = open.order else { return None };
        Some(open.since.wall_ms.saturating_add(ms))
    }

    /// How much of its time the run has left, where that is limited.
    #[must_use]
    pub fn time_left(&self, deciding: &Deciding) -> Option<u64> {
        let most = self.settings.read(deciding).values.limits.max_time_ms();
        most.map(|most| most.saturating_sub(self.active_ms(self.now)))
    }

    /// When the run's own time ends what is at work: first it is asked to end, then it is killed.
    #[must_use]
    pub fn time_limit(&self, deciding: &Deciding) -> Option<Deadline> {
        let (_, open) = self.main_order()?;
        let left = self.settings.read(deciding).values.limits.max_time_ms()?.saturating_sub(self.clock.used_ms());
        let left = left.saturating_sub(open.since.ms_since(self.clock.since()?));
        let share = match open.order {
            Order::RunAgent { .. } | Order::Branches { .. } => {
                time_budget::agent(left, self.gates.duration_ms(), deciding)
            }
            Order::WriteText { .. } => time_budget::whole(left, deciding),
            Order::RunGate { point, .. } if self.counts_time(point) => time_budget::whole(left, deciding),
            Order::Judge { point, tree } if self.counts_time(point) => {
                let least = match tree {
                    JudgedTree::Final | JudgedTree::Again | JudgedTree::Initial => self.clean_copy_ms_min(),
                    JudgedTree::Hidden { limit_ms, .. } => self.clean_copy_ms_min().saturating_add(limit_ms),
                    JudgedTree::WithoutNewTests
                    | JudgedTree::Canary
                    | JudgedTree::Undone
                    | JudgedTree::Hunks { .. } => 0,
                };
                time_budget::whole(left.max(least), deciding)
            }
            // Nothing has to be ended but the waiting.
            Order::Hold { cause, .. } if !self.clock.stops_for(cause) && !open.is_cancelled() => {
                time_budget::Share { ask_ms: left, end_ms: left }
            }
            Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Judge { .. }
            | Order::Hold { .. }
            | Order::Measure { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::RunGate { .. }
            | Order::Notify { .. } => return None,
        };
        let after_ms = if open.is_cancelled() { share.end_ms } else { share.ask_ms };
        (!open.is_killed()).then_some(Deadline { since: open.since, after_ms })
    }

    /// So long a clean copy may take, even where the run has less time left: without it a pass is not proven.
    fn clean_copy_ms_min(&self) -> u64 {
        self.gates.duration_ms().saturating_mul(CLEAN_COPY_TIMES_GATES).saturating_add(CLEAN_COPY_SET_UP_MS)
    }

    /// How long the run still waits for a person to fix this machine; none without an end.
    pub(super) fn blocked_ms_left(&self, deciding: &Deciding) -> Option<u64> {
        let since = self.trouble.blocked_since().filter(|_| self.clock.is_unattended())?;
        let left = UNATTENDED_MS_MAX.saturating_sub(self.now.ms_since(since));
        Some(self.time_left(deciding).map_or(left, |time| time.min(left)))
    }

    /// Whether the time is up before the gates have all ended.
    pub(super) fn out_of_time(&self, deciding: &Deciding) -> bool {
        let counts = self.phase.point().is_some_and(|point| self.counts_time(point));
        counts && (self.clock.ended_gate() || self.time_left(deciding) == Some(0))
    }

    /// How much time is left for probes, where that is limited.
    pub(super) fn probe_ms_left(&self, point: GatePoint, deciding: &Deciding) -> Option<u64> {
        self.time_left(deciding).filter(|_| self.counts_time(point))
    }

    /// After a person opened a run again or rolled it back, its gates are not cut off: the person needs their result.
    fn counts_time(&self, point: GatePoint) -> bool {
        let own = matches!(point, GatePoint::Baseline | GatePoint::Iteration(_));
        own && !self.clock.gates_come_first()
    }
}

/// An order that must be cancelled because its time has come.
pub(super) struct Overdue {
    pub(super) id: OrderId,
    pub(super) cause: CancelCause,
}

/// Orders that must be cancelled because their time has come, with the cause.
pub(super) fn overdue(state: &RunState, deciding: &Deciding) -> Vec<Overdue> {
    let settings = state.settings.read(deciding);
    let is_overdue = |open: &OpenRunOrder| match state.waits_until(open) {
        Some(until) => state.now.wall_ms >= until,
        None => state.now.ms_since(open.since) >= open.order.limit_ms(settings),
    };
    let late = state.orders.overdue(is_overdue);
    let mut due: Vec<Overdue> = late.map(|id| Overdue { id, cause: CancelCause::Timeout }).collect();
    let out_of_time = state.time_limit(deciding).is_some_and(|limit| limit.is_due(state.now));
    if let (true, Some((id, open))) = (out_of_time, state.main_order()) {
        let cause = if open.is_cancelled() { CancelCause::TimeUp } else { CancelCause::TimeLimit };
        due.retain(|known| known.id != id);
        due.push(Overdue { id, cause });
    }
    due
}
