//! How the time that is left is shared: the agent must end in time, so that there is time left for the gates.

use crate::machine::Deciding;

/// An agent that was asked to end gets this long to do so, as far as there is time.
pub const GRACE_MS: u64 = 5_000;

/// Keeping and measuring the workspace gets this long, as far as there is time.
const KEEPING_MS: u64 = 2_000;

/// When something must end, from its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// It is asked to end.
    pub ask_ms: u64,
    /// It is ended.
    pub end_ms: u64,
}

/// The share of an agent that begins when the run has `left_ms` left, where the gates took `gates_ms` when they were last
/// asked. They get half as much again, but never more than half of the time.
///
/// ```
/// use loop_core::machine::consult;
/// use loop_core::policy::time_budget::{Share, agent};
///
/// let (minute, gates) = (60_000, 8_000);
/// assert_eq!(consult(|deciding| agent(minute, gates, deciding)), Share { ask_ms: 41_400, end_ms: 46_000 });
/// ```
#[must_use]
pub fn agent(left_ms: u64, gates_ms: u64, deciding: &Deciding) -> Share {
    let keeping_ms = KEEPING_MS.min(left_ms / 20);
    let after_ms = gates_ms.saturating_add(gates_ms / 2).saturating_add(keeping_ms).min(left_ms / 2);
    whole(left_ms - after_ms, deciding)
}

/// The share of what is last: all of it.
#[must_use]
pub fn whole(left_ms: u64, _: &Deciding) -> Share {
    Share { ask_ms: left_ms - GRACE_MS.min(left_ms / 10), end_ms: left_ms }
}
