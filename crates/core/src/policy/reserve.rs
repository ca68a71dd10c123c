//! What one call is asked for at the ledger of all runs, and what the ledger says.
use serde::{Deserialize, Serialize};

/// One call that is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wanted {
    /// Calls in any hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_hour: Option<u32>,
    /// Calls in a day, by all runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls_per_day: Option<u32>,
    /// Millionths of a dollar in a day, by all runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_day_micros: Option<u64>,
    /// Tokens in a day, by all runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_day: Option<u64>,
    /// What it costs at worst.
    pub worst_micros: u64,
    /// The tokens that it uses at worst.
    pub worst_tokens: u64,
}

/// What the ledger says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reserved {
    /// The call may be made.
    Granted {
        /// The number of the reservation.
        reservation: i64,
        /// Calls in the last hour, this one included.
        hour_calls: u32,
        /// When the oldest of them was made, by the wall clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oldest_ms: Option<u64>,
        /// When the next call beyond the limit is free, by the wall clock.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        next_free_ms: Option<u64>,
        /// What the day has seen.
        day: Day,
    },
    /// It may not.
    Denied {
        /// Which limit is reached.
        cap: Cap,
        /// When it may be asked for again, where time alone helps.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        free_in_ms: Option<u64>,
        /// Calls in the last hour.
        hour_calls: u32,
        /// What the day has seen.
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

/// Which limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cap {
    /// Calls in any hour.
    CallsPerHour,
    /// Calls in a day.
    CallsPerDay,
    /// Money in a day.
    CostPerDay,
    /// Tokens in a day.
    TokensPerDay,
}

/// What a day has seen of all runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Day {
    /// Calls.
    pub calls: u32,
    /// Millionths of a dollar.
    pub cost_micros: u64,
    /// Tokens in and out.
    pub tokens: u64,
}
