//! Time as a value: two clocks, read together by the driver.
//!
//! Durations go by the boot clock, which runs on in suspend and never jumps; days and stated
//! times go by the wall clock.
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// One moment, as both clocks showed it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct At {
    /// Milliseconds since 1970.
    #[serde(rename = "wall")]
    pub wall_ms: u64,
    /// Milliseconds since the machine was started, suspend included.
    #[serde(rename = "boot")]
    pub boot_ms: u64,
    /// Which start of the machine that was.
    #[serde(rename = "id")]
    pub boot_id: u32,
}

impl At {
    /// How long ago `earlier` was, never below zero. Over a restart of the machine only the wall
    /// clock can tell.
    #[must_use]
    pub fn ms_since(self, earlier: Self) -> u64 {
        if self.boot_id == earlier.boot_id {
            self.boot_ms.saturating_sub(earlier.boot_ms)
        } else {
            self.wall_ms.saturating_sub(earlier.wall_ms)
        }
    }
}

/// A moment that lies a given time after another. State, not a timer: it survives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    /// From when it counts.
    pub since: At,
    /// How long.
    pub after_ms: u64,
}

impl Deadline {
    /// How long it is until then; zero when it has passed.
    #[must_use]
    pub fn due_in_ms(&self, now: At) -> u64 {
        self.after_ms.saturating_sub(now.ms_since(self.since))
    }

    /// Whether it has passed.
    #[must_use]
    pub fn is_due(&self, now: At) -> bool {
        self.due_in_ms(now) == 0
    }
}

/// A wall time as `2026-11-15T20:30:46Z`.
#[must_use]
pub fn rfc3339(wall_ms: u64) -> String {
    let seconds = i64::try_from(wall_ms / 1000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).map_or_else(|_| "unknown".to_owned(), |stamp| stamp.to_string())
}

/// A duration for people: tenths below ten seconds, two units at most.
///
/// ```
/// use loop_core::time::spaced;
/// assert_eq!([spaced(4_200), spaced(154_000), spaced(273_600_000)], ["4.2s", "2m 34s", "3d 4h"]);
/// ```
#[must_use]
pub fn spaced(ms: u64) -> String {
    pieces(ms).join(" ")
}

/// The same without the space, for a line that is short of room: `4m12s`.
#[must_use]
pub fn compact(ms: u64) -> String {
    pieces(ms).concat()
}

fn pieces(ms: u64) -> Vec<String> {
    let seconds = ms / 1000;
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let both = |big: u64, big_unit: &str, small: u64, small_unit: &str| {
        let mut pieces = vec![format!("{big}{big_unit}")];
        if small > 0 {
            pieces.push(format!("{small}{small_unit}"));
        }
        pieces
    };
    match seconds {
        0..10 if ms % 1000 >= 100 => vec![format!("{seconds}.{}s", ms % 1000 / 100)],
        0..60 => vec![format!("{seconds}s")],
        60..3600 => both(minutes, "m", seconds % 60, "s"),
        3600..86_400 => both(hours, "h", minutes, "m"),
        _ => both(days, "d", hours, "h"),
    }
}

/// The milliseconds of `30d`, `2h` or `1h30m`.
///
/// # Errors
/// Why it is no duration.
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    let read = humantime::parse_duration(text.trim()).map_err(|error| format!("it is no duration: {error}"))?;
    u64::try_from(read.as_millis()).map_err(|_| "it is too long".to_owned())
}
