//! What a run has spent and what its next call may cost, with the worst case of what is not known.
use super::branches::BranchesSpent;
use super::state::RunState;
use crate::agent::{StreamReport, Usage};
use crate::policy::budget::{least, remainder};
use crate::policy::reserve::{Reserved, Wanted};
use crate::settings::Settings;

/// What a call of an agent without known prices counts as.
const WORST_MICROS: u64 = 5_000_000;
/// The same in tokens.
const WORST_TOKENS: u64 = 1_000_000;

/// What was spent, and what the ledger of all runs said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Budget {
    spent: Spent,
    call: Option<Reserved>,
    /// How many calls a day the scarcest model has, where it is a call of this model.
    scarce_per_day: Option<u32>,
    window: Option<Reserved>,
}

/// What all attempts together used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spent {
    /// As far as it is known.
    pub usage: Usage,
    /// Attempts that did not report any usage.
    pub untold: u32,
    /// Attempts whose cost is not known.
    pub cost_untold: u32,
    /// Attempts whose tokens are not known.
    pub tokens_untold: u32,
    /// Calls of an agent.
    pub calls: u32,
    /// Of the attempts without a known cost, those of branches that count as a fixed amount.
    pub assumed_calls: u32,
    /// That amount, in millionths of a dollar.
    pub assumed_micros: u64,
    /// What the dearest call cost, in millionths of a dollar; none where no call reported it.
    pub dearest_micros: Option<u64>,
    /// The same in tokens.
    pub dearest_tokens: Option<u64>,
    /// The newest model that was reported.
    pub model: Option<String>,
}

impl Spent {
    /// How many calls count as the worst case of a call.
    #[must_use]
    pub fn worst_calls(&self) -> u32 {
        self.cost_untold.saturating_sub(self.assumed_calls)
    }
}

impl Budget {
    /// What all attempts together used.
    #[must_use]
    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// What the ledger of all runs said about the next call, until it is made or waited for.
    #[must_use]
    pub fn call(&self) -> Option<&Reserved> {
        self.call.as_ref()
    }

    /// The same about the newest call.
    #[must_use]
    pub fn window(&self) -> Option<&Reserved> {
        self.window.as_ref()
    }

    /// Whether the call that was asked for is one of the scarcest model.
    #[must_use]
    pub fn call_is_scarce(&self) -> bool {
        self.scarce_per_day.is_some()
    }

    pub(super) fn reserved(&mut self, reserved: &Reserved, scarce_per_day: Option<u32>) {
        self.call = Some(*reserved);
        self.scarce_per_day = scarce_per_day;
    }

    /// A call that was granted before is not valid any more.
    pub(super) fn forget_call(&mut self) {
        self.call = None;
    }

    /// Another agent or model works next.
    pub(super) fn forget_model(&mut self) {
        self.spent.model = None;
    }

    pub(super) fn call_begins(&mut self) {
        self.window = self.call.take().or(self.window.take());
        self.spent.calls += 1;
    }

    /// It is not known what the call cost.
    pub(super) fn call_lost(&mut self) {
        self.spent.cost_untold += 1;
        self.spent.tokens_untold += 1;
    }

    /// Branches that were tried in copies have ended.
    pub(super) fn branches_ended(&mut self, more: &BranchesSpent) {
        let spent = &mut self.spent;
        spent.usage = spent.usage.plus(more.usage);
        spent.calls = spent.calls.saturating_add(more.calls);
        spent.cost_untold = spent.cost_untold.saturating_add(more.cost_untold);
        spent.tokens_untold = spent.tokens_untold.saturating_add(more.tokens_untold);
        if let Some(assumed) = more.assumed_micros {
            spent.assumed_calls = spent.assumed_calls.saturating_add(more.cost_untold);
            spent.assumed_micros = spent.assumed_micros.saturating_add(assumed);
        }
    }

    /// A call for a short text ended: it is paid like any other, and says nothing about the model and the calls of the
    /// run's own agent.
    pub(super) fn text_ended(&mut self, stream: &StreamReport, cost_micros: Option<u64>) {
        let model = self.spent.model.clone();
        let micros = self.spent.dearest_micros;
        let tokens = self.spent.dearest_tokens;
        self.call_ended(stream, cost_micros);
        self.spent.model = model;
        self.spent.dearest_micros = micros;
        self.spent.dearest_tokens = tokens;
    }

    pub(super) fn call_ended(&mut self, stream: &StreamReport, cost_micros: Option<u64>) {
        self.spent.untold += u32::from(stream.usage == Usage::default());
        self.spent.cost_untold += u32::from(cost_micros.is_none());
        self.spent.tokens_untold += u32::from(stream.usage.tokens().is_none());
        self.spent.dearest_micros = self.spent.dearest_micros.max(cost_micros);
        self.spent.dearest_tokens = self.spent.dearest_tokens.max(stream.usage.tokens());
        self.spent.usage = self.spent.usage.plus(Usage { cost_micros, ..stream.usage });
        self.spent.model = stream.model.clone().or(self.spent.model.take());
    }
}

/// What the ledger of all runs is asked for.
#[must_use]
pub fn wanted(state: &RunState, settings: &Settings) -> Wanted {
    let caps = &settings.caps;
    let left = caps.cost_micros.map(|most| most.saturating_sub(state.cost_micros(settings)));
    let worst = state.worst_micros(settings);
    Wanted {
        calls_per_hour: caps.calls_per_hour,
        calls_per_day: caps.calls_per_day,
        cost_per_day_micros: caps.cost_per_day_micros,
        tokens_per_day: caps.tokens_per_day,
        scarce_per_day: state.scarce_limit(settings),
        worst_micros: left.map_or(worst, |left| left.min(worst)),
        worst_tokens: state.worst_tokens(settings),
    }
}

/// Whether the newest call, at this cost, was the last that the hour or the day allows.
#[must_use]
pub(super) fn next_call_is_denied(state: &RunState, settings: &Settings, cost_micros: Option<u64>) -> bool {
    let Some(Reserved::Granted { next_free_ms, day, left_micros, .. }) = state.budget.window() else { return false };
    let cost = cost_micros.unwrap_or_else(|| state.worst_micros(settings));
    let last_of_day = settings.caps.calls_per_day.is_some_and(|most| day.calls.saturating_add(1) >= most);
    next_free_ms.is_some() || last_of_day || left_micros.is_some_and(|left| cost >= left)
}

impl RunState {
    /// What a call counts as whose cost is not known: what the person set, else as much as the dearest call so far, else
    /// the worst case of the agent that works next, and never more than the whole limit.
    #[must_use]
    pub fn worst_micros(&self, settings: &Settings) -> u64 {
        let caps = &settings.caps;
        let own = || self.next_agent(settings).map_or(WORST_MICROS, |agent| agent.worst_cost_micros());
        let seen = self.budget.spent().dearest_micros.filter(|dearest| *dearest > 0);
        caps.worst_micros.or(seen).unwrap_or_else(|| caps.cost_micros.map_or_else(own, |most| most.min(own())))
    }

    /// What a call counts as whose tokens are not known, by the same rule.
    #[must_use]
    pub fn worst_tokens(&self, settings: &Settings) -> u64 {
        let caps = &settings.caps;
        let seen = self.budget.spent().dearest_tokens.filter(|dearest| *dearest > 0);
        caps.worst_tokens.or(seen).unwrap_or_else(|| caps.tokens.map_or(WORST_TOKENS, |most| most.min(WORST_TOKENS)))
    }

    /// What the run has cost so far, with the worst case of what is not known.
    #[must_use]
    pub fn cost_micros(&self, settings: &Settings) -> u64 {
        let spent = self.budget.spent();
        let worst = self.worst_micros(settings).saturating_mul(spent.worst_calls().into());
        spent.usage.cost_micros.unwrap_or(0).saturating_add(worst).saturating_add(spent.assumed_micros)
    }

    /// What the next call may cost, by the caps of the run and of the day; none where there is no cap.
    #[must_use]
    pub fn budget_micros(&self, settings: &Settings) -> Option<u64> {
        let own = settings.caps.cost_micros.map(|most| remainder(most, self.cost_micros(settings)));
        let day = match self.budget.window() {
            Some(Reserved::Granted { left_micros, .. }) => *left_micros,
            Some(Reserved::Denied { .. }) | None => None,
        };
        least(own, day.filter(|_| settings.caps.shared()))
    }

    /// The tokens that it has used so far, with the worst case of what is not known.
    #[must_use]
    pub fn tokens(&self, settings: &Settings) -> u64 {
        let spent = self.budget.spent();
        let worst = self.worst_tokens(settings).saturating_mul(spent.tokens_untold.into());
        spent.usage.tokens().unwrap_or(0).saturating_add(worst)
    }
}
