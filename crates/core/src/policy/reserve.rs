//! What a call asks of the ledger of all runs before it is made, and the answer. Only values.
//!
//! The rule for money and tokens: a call is made while less than the cap is spent and reserved, and it reserves its
//! worst case. So, whatever runs at the same time, only the last call that was allowed can go over the cap.
use std::fmt;

use serde::{Deserialize, Serialize};

use super::budget::remainder;

/// Days are counted in UTC: the same on every machine, and never 23 or 25 hours long.
pub const DAY_MS: u64 = 86_400_000;

/// The number of the day, counted from 1970. A call counts on the day on which it was begun.
#[must_use]
pub fn day_of(wall_ms: u64) -> u64 {
    wall_ms / DAY_MS
}

/// How long it is until the next day begins.
#[must_use]
pub fn next_day_in_ms(wall_ms: u64) -> u64 {
    DAY_MS - wall_ms % DAY_MS
}

/// One call that a run wants to make. No cap is *none*, not zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Calls in any hour, of the same project and agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_hour: Option<u32>,
    /// Calls a day, of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_per_day: Option<u32>,
    /// Millionths of a dollar a day, of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_day_micros: Option<u64>,
    /// Tokens a day, of all runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// Calls a day of the scarcest model, of all runs; none where the call is not one of these, or they have no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scarce_per_day: Option<u32>,
    /// What the call counts until its cost is known, and for ever where the agent does not report it.
    pub worst_micros: u64,
    /// The same in tokens.
    pub worst_tokens: u64,
}

/// A cap over all runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Calls in any hour.
    CallsPerHour,
    /// Calls a day.
    CallsPerDay,
    /// Money a day.
    CostPerDay,
    /// Tokens a day.
    TokensPerDay,
    /// Calls of the scarcest model a day, by local time.
    ScarcePerDay,
}

impl Cap {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::CallsPerHour, Self::CallsPerDay, Self::CostPerDay, Self::TokensPerDay, Self::ScarcePerDay];

    /// The key of its setting.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::CallsPerHour => "max_calls_per_hour",
            Self::CallsPerDay => "max_calls_per_day",
            Self::CostPerDay => "max_cost_per_day",
            Self::TokensPerDay => "max_tokens_per_day",
            Self::ScarcePerDay => "opus_daily_limit",
        }
    }
}

/// Which ledger it was: a random number that a ledger gets when it is made. Journals have it, so that one that was
/// removed or replaced is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct LedgerId(u64);

impl LedgerId {
    /// How many hexadecimal digits it has as text.
    pub const DIGITS: usize = 16;

    /// From a random number.
    #[must_use]
    pub fn from_random(number: u64) -> Self {
        Self(number)
    }

    /// From its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_id = text.len() == Self::DIGITS && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        u64::from_str_radix(text, 16).ok().filter(|_| is_id).map(Self)
    }
}

impl fmt::Display for LedgerId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

impl From<LedgerId> for String {
    fn from(id: LedgerId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for LedgerId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("not the id of a ledger")
    }
}

/// What all runs together used on one day. Calls that are still running count as their worst case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Calls.
    pub calls: u32,
    /// Their cost in millionths of a dollar.
    pub cost_micros: u64,
    /// Their tokens.
    pub tokens: u64,
    /// Calls of which the cost is only assumed: their program did not report it, or they still run.
    #[serde(default)]
    pub untold: u32,
}

impl Day {
    /// Both together.
    #[must_use]
    pub fn plus(self, more: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(more.calls),
            cost_micros: self.cost_micros.saturating_add(more.cost_micros),
            tokens: self.tokens.saturating_add(more.tokens),
            untold: self.untold.saturating_add(more.untold),
        }
    }
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserved {
    /// The call may be made.
    Granted {
        /// Which ledger says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ledger: Option<LedgerId>,
        /// Under this number it is begun and settled.
        reservation: i64,
        /// Calls in the last hour, this one included.
        hour_calls: u32,
        /// When the oldest of them was, by the clock of the world as it is now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oldest_ms: Option<u64>,
        /// When the next call is free where this one was the last that the hour allows, by the same clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_free_ms: Option<u64>,
        /// The day as it was before this call.
        day: Day,
        /// What of today's cap this call may use; none without a cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_micros: Option<u64>,
        /// The same in tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left_tokens: Option<u64>,
    },
    /// It may not.
    Denied {
        /// Which ledger says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ledger: Option<LedgerId>,
        /// Which cap is reached.
        cap: Cap,
        /// How long until there is room. None where only calls that other runs are making stand in the way: there may
        /// be room as soon as one of them is over.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        free_in_ms: Option<u64>,
        /// Calls in the last hour.
        hour_calls: u32,
        /// The day.
        day: Day,
    },
}

impl Reserved {
    /// The number of the reservation, where there is one.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Granted { reservation, .. } => Some(*reservation),
            Self::Denied { .. } => None,
        }
    }
}

/// What one call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallCost {
    /// In millionths of a dollar.
    pub cost_micros: u64,
    /// In tokens.
    pub tokens: u64,
    /// Whether the cost is known; otherwise it is the worst case.
    pub told: bool,
    /// Whether the tokens are known; otherwise they are the worst case.
    pub tokens_told: bool,
}

impl CallCost {
    /// The reported amounts, and the worst case for what was not reported.
    #[must_use]
    pub fn of(cost: Option<u64>, tokens: Option<u64>, worst: &Wanted) -> Self {
        Self {
            cost_micros: cost.unwrap_or(worst.worst_micros),
            tokens: tokens.unwrap_or(worst.worst_tokens),
            told: cost.is_some(),
            tokens_told: tokens.is_some(),
        }
    }
}

/// Which cap of the day prevents one more call, and for how long. `open` is that part of `day` which calls
/// that still run have reserved.
#[must_use]
pub fn day_cap(wanted: &Wanted, day: Day, open: Day, wall_ms: u64) -> Option<(Cap, Option<u64>)> {
    let calls = |cap: u32| u64::from(cap);
    let caps = [
        (Cap::CallsPerDay, wanted.calls_per_day.map(calls), u64::from(day.calls), 0),
        (Cap::CostPerDay, wanted.cost_per_day_micros, day.cost_micros, open.cost_micros),
        (Cap::TokensPerDay, wanted.tokens_per_day, day.tokens, open.tokens),
    ];
    let blocked = caps.into_iter().filter_map(|(cap, most, used, reserved)| {
        let is_full = |used: u64| most.is_some_and(|most| remainder(most, used) == 0);
        let until = is_full(used.saturating_sub(reserved)).then(|| next_day_in_ms(wall_ms));
        is_full(used).then_some((cap, until))
    });
    // What only tomorrow brings outweighs what the end of another call may bring.
    blocked.min_by_key(|(_, until)| until.is_none())
}
