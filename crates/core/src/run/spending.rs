//! What a run has spent and what its next call may cost, with the worst of what nobody told.
use super::fact::{HoldCause, Order};
use super::state::RunState;
use crate::policy::budget::{least, remainder};
use crate::policy::reserve::{Reserved, Wanted};

/// What a call of an agent that nobody knows counts as.
const WORST_MICROS: u64 = 5_000_000;

/// What a call is asked for at the ledger of all runs.
#[must_use]
pub fn wanted(state: &RunState) -> Wanted {
    let caps = &state.settings.caps;
    let left = caps.cost_micros.map(|most| most.saturating_sub(state.cost_micros()));
    Wanted {
        calls_per_hour: caps.calls_per_hour,
        calls_per_day: caps.calls_per_day,
        cost_per_day_micros: caps.cost_per_day_micros,
        tokens_per_day: caps.tokens_per_day,
        worst_micros: left.map_or(state.worst_micros(), |left| left.min(state.worst_micros())),
        worst_tokens: caps.worst_tokens,
    }
}

impl RunState {
    /// What the ledger of all runs says about the next call.
    pub(super) fn reserved(&mut self, reserved: &Reserved) {
        let denied = reserved.number().is_none();
        if denied && self.asks_for_status() {
            return self.go_on_without_status();
        }
        self.call = Some(*reserved);
    }

    /// The moment by the wall clock at which the next call of the hour is free, while that is waited for.
    #[must_use]
    pub fn calls_free_at(&self) -> Option<u64> {
        let (_, open) = self.main_order()?;
        let Order::Hold { cause: HoldCause::Calls, ms } = open.order else { return None };
        Some(open.since.wall_ms.saturating_add(ms))
    }

    /// What a call counts as whose cost nobody tells.
    #[must_use]
    pub fn worst_micros(&self) -> u64 {
        let own = self.agent().map_or(WORST_MICROS, |agent| agent.worst_cost_micros());
        self.settings.caps.worst_micros.unwrap_or(own)
    }

    /// What the run has cost so far, with the worst of what nobody told.
    #[must_use]
    pub fn cost_micros(&self) -> u64 {
        let worst = self.worst_micros().saturating_mul(self.spent.cost_untold.into());
        self.spent.usage.cost_micros.unwrap_or(0).saturating_add(worst)
    }

    /// What the next call may cost, by the caps of the run and of the day; none where there is no cap.
    #[must_use]
    pub fn budget_micros(&self) -> Option<u64> {
        let own = self.settings.caps.cost_micros.map(|most| remainder(most, self.cost_micros()));
        let day = match &self.window {
            Some(Reserved::Granted { left_micros, .. }) => *left_micros,
            Some(Reserved::Denied { .. }) | None => None,
        };
        least(own, day.filter(|_| self.settings.caps.shared()))
    }

    /// The tokens that it has used so far, with the worst of what nobody told.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        let worst = self.settings.caps.worst_tokens.saturating_mul(self.spent.tokens_untold.into());
        self.spent.usage.tokens().unwrap_or(0).saturating_add(worst)
    }
}
