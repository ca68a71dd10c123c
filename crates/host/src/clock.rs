//! The two clocks of this machine, read together.
use std::sync::OnceLock;

use loop_core::time::At;
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
