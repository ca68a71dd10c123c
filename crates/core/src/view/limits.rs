//! What a run has used of what it may use: calls, money, tokens, time; and the agent's conversation.
use serde::Serialize;

use crate::agent::Usage;
use crate::machine::consult;
use crate::policy::budget::{WARN_SHARE, money_pair, money_text, share};
use crate::policy::limiter::HOUR_MS;
use crate::policy::reserve::{Day, Reserved};
use crate::run::decide::cost_of_call;
use crate::run::{RunState, SessionUse};
use crate::settings::{Key, Settings, keys};
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
    fn of(limit: RunLimit, state: &RunState, now: At) -> Option<Self> {
        let most = limit.most(state.settings.shown())?;
        let used = limit.used(state, now);
        let (of_it, all) = match limit {
            RunLimit::Cost | RunLimit::CostPerDay => money_pair(used, most),
            RunLimit::Tokens
            | RunLimit::CallsPerHour
            | RunLimit::TokensPerDay
            | RunLimit::CallsPerDay
            | RunLimit::Time
            | RunLimit::Iterations => (limit.words(used), limit.words(most)),
        };
        let text = format!("{of_it} of {all}");
        Some(Self { setting: limit.key().name, share: share(used, most), text, used, most })
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

/// A limit on what a run uses: the one list. What ends the run at each is in `run/decide.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// Money.
    Cost,
    /// Tokens.
    Tokens,
    /// Calls in any hour.
    CallsPerHour,
    /// Money of all runs in a day.
    CostPerDay,
    /// Tokens of all runs in a day.
    TokensPerDay,
    /// Calls of all runs in a day.
    CallsPerDay,
    /// Time at work.
    Time,
    /// Iterations. It stays the last one here: [`RunLimit::ALL`] is checked by it.
    Iterations,
}

const _: () = assert!(RunLimit::ALL.len() == RunLimit::Iterations as usize + 1, "RunLimit::ALL lacks a limit");

impl RunLimit {
    /// All of them, in the order in which people see them.
    pub const ALL: [Self; 8] = [
        Self::Cost,
        Self::Tokens,
        Self::CallsPerHour,
        Self::CostPerDay,
        Self::TokensPerDay,
        Self::CallsPerDay,
        Self::Time,
        Self::Iterations,
    ];

    /// Its setting.
    #[must_use]
    pub fn key(self) -> &'static Key {
        match self {
            Self::Cost => keys::max_cost(),
            Self::Tokens => keys::max_tokens(),
            Self::CallsPerHour => keys::max_calls_per_hour(),
            Self::CostPerDay => keys::max_cost_per_day(),
            Self::TokensPerDay => keys::max_tokens_per_day(),
            Self::CallsPerDay => keys::max_calls_per_day(),
            Self::Time => keys::max_time(),
            Self::Iterations => keys::max_iterations(),
        }
    }

    /// The most that these settings allow; none means no limit.
    #[must_use]
    pub fn most(self, settings: &Settings) -> Option<u64> {
        let caps = &settings.caps;
        match self {
            Self::Cost => caps.cost_micros,
            Self::Tokens => caps.tokens,
            Self::CallsPerHour => caps.calls_per_hour.map(u64::from),
            Self::CostPerDay => caps.cost_per_day_micros,
            Self::TokensPerDay => caps.tokens_per_day,
            Self::CallsPerDay => caps.calls_per_day.map(u64::from),
            Self::Time => settings.values.limits.max_time_ms(),
            Self::Iterations => settings.values.iterations_max().map(u64::from),
        }
    }

    /// How much of it is used.
    #[must_use]
    pub fn used(self, state: &RunState, now: At) -> u64 {
        match self {
            Self::Cost => state.cost_micros(state.settings.shown()),
            Self::Tokens => state.tokens(state.settings.shown()),
            Self::CallsPerHour => hour_calls(state, now).map_or(0, u64::from),
            Self::CostPerDay => day(state).cost_micros,
            Self::TokensPerDay => day(state).tokens,
            Self::CallsPerDay => day(state).calls.into(),
            Self::Time => state.active_ms(now),
            Self::Iterations => state.iterations_used().into(),
        }
    }

    /// An amount of it, for people.
    #[must_use]
    pub fn words(self, amount: u64) -> String {
        match self {
            Self::Cost | Self::CostPerDay => money_text(amount),
            Self::Tokens | Self::TokensPerDay => format!("{amount} tokens"),
            Self::CallsPerDay if amount == 1 => "1 call".to_owned(),
            Self::CallsPerDay => format!("{amount} calls"),
            Self::CallsPerHour | Self::Iterations => amount.to_string(),
            Self::Time => time::spaced(amount),
        }
    }

    /// Whether its share is shown, and warned of. Iterations are counted wherever a run is shown.
    fn has_share(self) -> bool {
        match self {
            Self::Cost
            | Self::Tokens
            | Self::CallsPerHour
            | Self::CostPerDay
            | Self::TokensPerDay
            | Self::CallsPerDay
            | Self::Time => true,
            Self::Iterations => false,
        }
    }
}

/// Every limit on money, tokens, calls and time that is set, with what is used of it.
#[must_use]
pub fn used(state: &RunState, now: At) -> Vec<Used> {
    let limits = RunLimit::ALL.into_iter().filter(|limit| limit.has_share());
    limits.filter_map(|limit| Used::of(limit, state, now)).collect()
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
            let cost = report.map(|report| {
                let cost = consult(|deciding| cost_of_call(state, &report.stream, deciding));
                cost.unwrap_or_else(|| state.worst_micros(state.settings.shown()))
            });
            let tokens = report.map(|_| usage.tokens().unwrap_or_else(|| state.worst_tokens(state.settings.shown())));
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
