//! The two clocks of this machine, read together.
use std::sync::OnceLock;

use loop_core::policy::reserve::{DAY_MS, day_of};
use loop_core::time::{At, rfc3339};
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

/// The time now.
#[must_use]
pub fn now() -> At {
    let boot = clock_gettime_dynamic(DynamicClockId::Boottime).unwrap_or_else(|_| clock_gettime(ClockId::Monotonic));
    At { wall_ms: millis(clock_gettime(ClockId::Realtime)), boot_ms: millis(boot), boot_id: boot_id() }
}

/// How far local time is ahead of UTC, in seconds.
#[must_use]
pub fn utc_offset_s() -> i32 {
    let seconds = i64::try_from(now().wall_ms / 1000).unwrap_or(0);
    let stamp = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    jiff::tz::TimeZone::system().to_offset(stamp).seconds()
}

/// A day by local time. It is 23 or 25 hours long where the clocks change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalDay {
    /// Its number, counted from 1970.
    pub number: u64,
    /// When it began, in milliseconds of UTC.
    pub began_ms: u64,
    /// When it ends.
    pub ends_ms: u64,
}

impl LocalDay {
    /// The day of a moment in a time zone; the day of UTC where that cannot be computed.
    #[must_use]
    pub fn of(wall_ms: u64, zone: &jiff::tz::TimeZone) -> Self {
        Self::in_zone(wall_ms, zone).unwrap_or_else(|| {
            let number = day_of(wall_ms);
            Self { number, began_ms: number * DAY_MS, ends_ms: (number + 1) * DAY_MS }
        })
    }

    /// The day of a moment here.
    #[must_use]
    pub fn here(wall_ms: u64) -> Self {
        Self::of(wall_ms, &jiff::tz::TimeZone::system())
    }

    fn in_zone(wall_ms: u64, zone: &jiff::tz::TimeZone) -> Option<Self> {
        let stamp = jiff::Timestamp::from_millisecond(i64::try_from(wall_ms).ok()?).ok()?;
        let began = stamp.to_zoned(zone.clone()).start_of_day().ok()?;
        let ends = began.tomorrow().ok()?.start_of_day().ok()?;
        let days = jiff::civil::date(1970, 1, 1).until(began.date()).ok()?.get_days();
        let ms = |at: &jiff::Zoned| u64::try_from(at.timestamp().as_millisecond()).ok();
        Some(Self { number: u64::try_from(days).ok()?, began_ms: ms(&began)?, ends_ms: ms(&ends)? })
    }
}

/// The local time of a moment, for people: `2026-11-18 04:50`.
#[must_use]
pub fn local_text(wall_ms: u64) -> String {
    let stamp = i64::try_from(wall_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    let zoned = stamp.map(|stamp| stamp.to_zoned(jiff::tz::TimeZone::system()));
    zoned.map_or_else(|| rfc3339(wall_ms), |zoned| zoned.strftime("%Y-%m-%d %H:%M").to_string())
}

/// The same of a moment as programs get it.
#[must_use]
pub fn local_text_of(rfc3339: &str) -> String {
    let stamp = rfc3339.parse::<jiff::Timestamp>().ok();
    let wall_ms = stamp.and_then(|stamp| u64::try_from(stamp.as_millisecond()).ok());
    wall_ms.map_or_else(|| rfc3339.to_owned(), local_text)
}

fn millis(time: Timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Which start of the machine this is: the first 32 bits of the kernel's own name for it.
fn boot_id() -> u32 {
    static BOOT_ID: OnceLock<u32> = OnceLock::new();
    *BOOT_ID.get_or_init(|| {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
    })
}
