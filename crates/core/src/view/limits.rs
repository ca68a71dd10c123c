//! What a run has used of what it may use: calls, money, tokens, time; and the agent's conversation.
use serde::Serialize;

use crate::agent::Usage;
use crate::machine::consult;
use crate::policy::budget::{WARN_SHARE, money_text, share};
use crate::policy::limiter::HOUR_MS;
use crate::policy::prices::cost_of;
use crate::policy::reserve::{Day, Reserved};
use crate::run::{RunState, SessionUse};
use crate::time::{self, At};

/// How much of one limit is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Used {
    /// The setting.
    pub setting: &'static str,
    /// In percent, rounded down.
    pub share: u32,
    /// For people: `$4.10 of $5.00`.
    pub text: String,
    #[serde(skip)]
    used: u64,
    #[serde(skip)]
    most: u64,
}

impl Used {
    fn of(setting: &'static str, used: u64, most: Option<u64>, words: impl Fn(u64) -> String) -> Option<Self> {
        let most = most?;
        let text = format!("{} of {}", words(used), words(most));
        Some(Self { setting, share: share(used, most), text, used, most })
    }

    /// Whether a person is to be warned, now that it is so much and was `before`: once for each limit.
    #[must_use]
    pub fn warns(&self, before: &[Self]) -> bool {
        let before = before.iter().find(|other| other.setting == self.setting);
        // A limit that was changed meanwhile is another one.
        let before = before.filter(|before| before.most == self.most).map_or(0, |before| before.used);
        crate::policy::budget::warns(before, self.used, self.most)
    }
}

/// Every limit on money, tokens, calls and time that is set, with what is used of it.
#[must_use]
pub fn used(state: &RunState, now: At) -> Vec<Used> {
    let caps = &state.settings.shown().caps;
    let number = |count: u64| count.to_string();
    let day = day(state);
    let tokens = |count: u64| format!("{count} tokens");
    let calls = |count: u64| if count == 1 { "1 call".to_owned() } else { format!("{count} calls") };
    let hour = hour_calls(state, now).map_or(0, u64::from);
    [
        Used::of("max_cost", state.cost_micros(state.settings.shown()), caps.cost_micros, money_text),
        Used::of("max_tokens", state.tokens(state.settings.shown()), caps.tokens, tokens),
        Used::of("max_cost_per_day", day.cost_micros, caps.cost_per_day_micros, money_text),
        Used::of("max_tokens_per_day", day.tokens, caps.tokens_per_day, tokens),
        Used::of("max_calls_per_day", day.calls.into(), caps.calls_per_day.map(u64::from), calls),
        Used::of("max_calls_per_hour", hour, caps.calls_per_hour.map(u64::from), number),
        Used::of("max_time", state.active_ms(now), state.settings.shown().max_time_ms, time::spaced),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What all runs together used today, as far as this run knows: the sum before its newest call, and that call.
fn day(state: &RunState) -> Day {
    let working = state.main_order().is_some_and(|(_, open)| open.order.runs_agent());
    match state.budget.call().or(state.budget.window()) {
        None => Day::default(),
        Some(Reserved::Denied { day, .. }) => *day,
        Some(Reserved::Granted { day, .. }) => {
            let report = state.agent.report().filter(|_| !working && state.budget.call().is_none());
            let usage = report.map(|report| report.stream.usage).unwrap_or_default();
            let model = report.and_then(|report| report.stream.model.as_deref());
            let cost = report.map(|_| {
                let settings = state.settings.shown();
                let cost = consult(|deciding| cost_of(&usage, model, &settings.values.budget.prices, deciding));
                cost.unwrap_or_else(|| state.worst_micros(settings))
            });
            let tokens = report.map(|_| usage.tokens().unwrap_or(state.settings.shown().caps.worst_tokens));
            let (cost_micros, tokens) = (cost.unwrap_or(0), tokens.unwrap_or(0));
            day.plus(Day { calls: 1, cost_micros, tokens, untold: 0 })
        }
    }
}

/// Calls in the last hour, where they are counted: as the ledger said at the newest call.
fn hour_calls(state: &RunState, now: At) -> Option<u32> {
    state.settings.shown().caps.calls_per_hour?;
    let (calls, newest_ms) = match state.budget.call().or(state.budget.window()) {
        None => (0, None),
        Some(Reserved::Denied { hour_calls, .. }) => (*hour_calls, None),
        Some(Reserved::Granted { hour_calls, oldest_ms, .. }) => (*hour_calls, *oldest_ms),
    };
    // When even what was written down last is longer ago than an hour, no call can be in it.
    let stale = now.ms_since(state.now) >= HOUR_MS && newest_ms.is_none_or(|oldest| oldest + HOUR_MS <= now.wall_ms);
    Some(if stale { 0 } else { calls })
}

/// The calls of a run against its limit for an hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallsView {
    /// All calls that it made.
    pub total: u32,
    /// Calls in the last hour, of the same project and worker where they have names; null where calls are not counted.
    pub last_hour: Option<u32>,
    /// The most in any hour; null means no limit.
    pub limit: Option<u32>,
    /// How many are left; −1 means no limit.
    pub left: i64,
    /// When the next one is free, where none is left.
    pub next_free_at: Option<String>,
}

impl CallsView {
    /// The calls of a run.
    #[must_use]
    pub fn of(state: &RunState, now: At) -> Self {
        let limit = state.settings.shown().caps.calls_per_hour;
        let last_hour = hour_calls(state, now);
        let left = limit.map_or(-1, |limit| i64::from(limit.saturating_sub(last_hour.unwrap_or(0))));
        let granted = match state.budget.window() {
            Some(Reserved::Granted { next_free_ms, .. }) => *next_free_ms,
            Some(Reserved::Denied { .. }) | None => None,
        };
        let next = state.calls_free_at().or(granted).filter(|at| left == 0 && *at > now.wall_ms);
        Self { total: state.budget.spent().calls, last_hour, limit, left, next_free_at: next.map(time::rfc3339) }
    }
}

/// What was spent. Where a limit must hold, a call without a reported cost counts with its worst case.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BudgetView {
    /// In dollars; null where no cost was reported and no limit needs one.
    pub cost_usd: Option<f64>,
    /// The most; null means no limit.
    pub max_cost_usd: Option<f64>,
    /// In tokens; the same holds.
    pub tokens: Option<u64>,
    /// The most; null means no limit.
    pub max_tokens: Option<u64>,
    /// Calls whose cost was not reported.
    pub untold_calls: u32,
    /// Every limit on money, tokens, calls and time, with what is used of it.
    pub used: Vec<Used>,
    /// The settings of which more than 80 percent are used.
    pub warnings: Vec<&'static str>,
}

impl BudgetView {
    /// What a run spent.
    #[must_use]
    pub fn of(state: &RunState, now: At) -> Self {
        let caps = &state.settings.shown().caps;
        let dollars = |micros: Option<u64>| Usage { cost_micros: micros, ..Usage::default() }.cost_usd();
        let used = used(state, now);
        Self {
            cost_usd: dollars(
                caps.cost_micros.map(|_| state.cost_micros(state.settings.shown())).or(state
                    .budget
                    .spent()
                    .usage
                    .cost_micros),
            ),
            max_cost_usd: dollars(caps.cost_micros),
            tokens: caps.tokens.map(|_| state.tokens(state.settings.shown())).or(state.budget.spent().usage.tokens()),
            max_tokens: caps.tokens,
            untold_calls: state.budget.spent().cost_untold,
            warnings: used.iter().filter(|one| one.share >= WARN_SHARE).map(|one| one.setting).collect(),
            used,
        }
    }
}

/// The agent's own conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionView {
    /// What its program calls it.
    pub id: String,
    /// Since when it is known.
    pub since: String,
    /// From then on it is not continued; null means never.
    pub expires_at: Option<String>,
    /// Whether it is too old to be continued.
    pub expired: bool,
    /// Whether the next iteration continues it.
    pub continues: bool,
}

impl SessionView {
    /// The conversation that a run knows.
    #[must_use]
    pub fn of(state: &RunState, now: At) -> Option<Self> {
        let session = state.agent.session()?;
        let settings = state.settings.shown();
        let limit = settings.session_expiry_ms;
        let session_use = SessionUse::of(state, settings, state.next_agent(settings).as_ref(), session, now);
        Some(Self {
            id: session.id.clone(),
            since: time::rfc3339(session.since.wall_ms),
            expires_at: limit.map(|limit| time::rfc3339(session.since.wall_ms.saturating_add(limit))),
            expired: session_use.expired,
            continues: session_use.continues(),
        })
    }
}
