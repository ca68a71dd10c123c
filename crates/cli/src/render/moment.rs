//! Moments for people: the local time, and how far away it is. Programs get UTC.
use jiff::{Timestamp, Zoned};
use loop_core::time;

const DAY_MS: u64 = 86_400_000;
const HOUR_MS: u64 = 3_600_000;

/// The local time.
pub(super) fn local(wall_ms: u64) -> Option<Zoned> {
    let stamp = Timestamp::from_millisecond(i64::try_from(wall_ms).ok()?).ok()?;
    Some(stamp.to_zoned(jiff::tz::TimeZone::system()))
}

/// The local time, with the date where it is not today.
fn clock(wall_ms: u64, now_ms: u64, today: &str) -> String {
    let (Some(at), Some(now)) = (local(wall_ms), local(now_ms)) else { return time::rfc3339(wall_ms) };
    let form = if at.date() == now.date() { today } else { "%Y-%m-%d %H:%M" };
    at.strftime(form).to_string()
}

/// How far away, in no more than two units.
fn distance(ms: u64) -> String {
    let unit = match ms {
        ms if ms >= DAY_MS => 3_600_000,
        ms if ms >= HOUR_MS => 60_000,
        _ => 1000,
    };
    time::spaced(ms / unit * unit)
}

/// A moment that is over: `14:36:24 (3m 5s ago)`.
pub(crate) fn ago(wall_ms: u64, now_ms: u64) -> String {
    format!("{} ({} ago)", clock(wall_ms, now_ms, "%H:%M:%S"), distance(now_ms.saturating_sub(wall_ms)))
}

/// Only how long ago.
pub(crate) fn ago_of(wall_ms: u64, now_ms: u64) -> String {
    format!("{} ago", distance(now_ms.saturating_sub(wall_ms)))
}

/// The same of a moment as programs get it.
pub(crate) fn ago_text(rfc3339: &str, now_ms: u64) -> String {
    match rfc3339.parse::<Timestamp>().ok().and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok()) {
        Some(wall_ms) => ago(wall_ms, now_ms),
        None => rfc3339.to_owned(),
    }
}

/// Only the local time of a moment as programs get it, for a column: `14:36:24`.
pub(crate) fn clock_text(rfc3339: &str, now_ms: u64) -> String {
    match rfc3339.parse::<Timestamp>().ok().and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok()) {
        Some(wall_ms) => clock(wall_ms, now_ms, "%H:%M:%S"),
        None => rfc3339.to_owned(),
    }
}

/// Only how long ago, for a column: `3m 5s ago`.
pub(crate) fn ago_brief(rfc3339: &str, now_ms: u64) -> String {
    match rfc3339.parse::<Timestamp>().ok().and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok()) {
        Some(wall_ms) => format!("{} ago", distance(now_ms.saturating_sub(wall_ms))),
        None => rfc3339.to_owned(),
    }
}

/// A moment to come: `16:54 (in 1h 12m)`, with seconds where it is near.
pub(crate) fn ahead(wall_ms: u64, now_ms: u64) -> String {
    let away = wall_ms.saturating_sub(now_ms);
    let (unit, form) = if away < HOUR_MS { (1000, "%H:%M:%S") } else { (60_000, "%H:%M") };
    // Up to the next one: nobody is early.
    let shown = wall_ms.div_ceil(unit) * unit;
    format!("{} (in {})", clock(shown, now_ms, form), distance(away))
}

/// The same of a moment as programs get it.
pub(crate) fn ahead_text(rfc3339: &str, now_ms: u64) -> String {
    match rfc3339.parse::<Timestamp>().ok().and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok()) {
        Some(wall_ms) => ahead(wall_ms, now_ms),
        None => rfc3339.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{ago, ahead, distance};

    #[test]
    fn a_distance_has_two_units_at_most() {
        let told = [999, 65_000, 3_600_000, 4_359_000, 90_061_000].map(distance);
        assert_eq!(told, ["0s", "1m 5s", "1h", "1h 12m", "1d 1h"]);
    }

    #[test]
    fn a_moment_that_is_near_has_its_second() {
        let now = 1_700_000_000_000;
        assert!(ahead(now + 15_000, now).ends_with(":35 (in 15s)"), "{}", ahead(now + 15_000, now));
        let far = ahead(now + 2 * 3_600_000, now);
        assert!(far.ends_with(":14 (in 2h)"), "{far}");
    }

    #[test]
    fn a_moment_of_another_day_has_its_date() {
        let now = 1_700_000_000_000;
        assert!(!ago(now - 60_000, now).contains("2023-"), "{}", ago(now - 60_000, now));
        assert!(ago(now - 3 * 86_400_000, now).starts_with("2023-11-1"), "{}", ago(now - 3 * 86_400_000, now));
        assert!(ahead(now + 3 * 86_400_000, now).ends_with("(in 3d)"), "{}", ahead(now + 3 * 86_400_000, now));
    }
}
