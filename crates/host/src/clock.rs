//! The two clocks of this machine, read together.
use std::sync::OnceLock;

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
