//! How many calls were made in the last hour: a sliding window over two clocks.
//!
//! The window is a list of times that the caller stores. The wall clock resets nothing: if it jumps, calls since the
//! last boot are neither freed nor held.
use crate::time::At;

/// How long a call counts.
pub const HOUR_MS: u64 = 3_600_000;
/// Processes that ask at the same moment read their clock one after the other, and may be let in the other way round:
/// so far ahead a call of this start of the machine may lie.
const RACE_MS: u64 = 60_000;

/// The last hour.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    /// Calls in it.
    pub calls: u32,
    /// How long until one more is allowed; zero is now, and an hour the most.
    pub free_in_ms: u64,
    /// The oldest of them.
    pub oldest: Option<At>,
    /// Calls that lie in the future: the clock was set back since. They do not count. The caller must remove them, else
    /// they would count again when the clock reaches that time.
    pub dropped: u32,
}

/// How long ago a call was; none where it lies in the future, so that this is not known.
#[must_use]
pub fn age_ms(call: At, now: At) -> Option<u64> {
    // Far ahead on the boot clock is no call of this start, whatever it is called: where the kernel's name for it
    // cannot be read, all starts have the same one.
    if call.boot_id == now.boot_id && call.boot_ms <= now.boot_ms.saturating_add(RACE_MS) {
        return Some(now.boot_ms.saturating_sub(call.boot_ms));
    }
    now.wall_ms.checked_sub(call.wall_ms)
}

/// Looks at the last hour. Up to `limit` calls may lie in it; a limit of zero is none.
///
/// ```
/// use loop_core::policy::limiter::judge;
/// use loop_core::time::At;
/// let at = |ms| At { wall_ms: ms, boot_ms: ms, boot_id: 1 };
/// let calls = [at(0), at(60_000)];
/// assert_eq!(judge(&calls, at(120_000), 3).free_in_ms, 0);
/// assert_eq!(judge(&calls, at(120_000), 2).free_in_ms, 3_480_000);
/// ```
#[must_use]
pub fn judge(calls: &[At], now: At, limit: u32) -> Window {
    let mut ages: Vec<(u64, At)> = Vec::with_capacity(calls.len());
    let mut dropped = 0_u32;
    for call in calls {
        match age_ms(*call, now) {
            Some(age) if age < HOUR_MS => ages.push((age, *call)),
            Some(_) => {}
            None => dropped = dropped.saturating_add(1),
        }
    }
    ages.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
    // So many of the oldest must leave before there is room for one more.
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let last_to_leave = if limit == 0 { None } else { ages.len().checked_sub(limit) };
    Window {
        calls: u32::try_from(ages.len()).unwrap_or(u32::MAX),
        free_in_ms: last_to_leave.and_then(|place| ages.get(place)).map_or(0, |(age, _)| HOUR_MS - age),
        oldest: ages.first().map(|(_, call)| *call),
        dropped,
    }
}
