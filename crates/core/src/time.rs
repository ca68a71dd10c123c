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

/// A duration as exact text that [`parse_duration_ms`] reads back: `1h30m`, `4s200ms`.
#[must_use]
pub fn duration_text(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
    let mut rest = ms;
    let mut text = String::new();
    for (size, unit) in units {
        if rest >= size {
            text.push_str(&format!("{}{unit}", rest / size));
            rest %= size;
        }
    }
    text
}

/// The milliseconds of `30d`, `2h`, `1h30m` or `1 month`.
///
/// # Errors
/// Why it is not a duration.
pub fn parse_duration_ms(text: &str) -> Result<u64, String> {
    if text.trim() == "0" {
        return Ok(0);
    }
    match duration_before(text.trim(), |unit| common_unit(unit).or_else(|| rare_unit(unit))) {
        Some((ms, "")) => Ok(ms),
        Some((_, rest)) => Err(format!("it is not a duration: {:?} is not known", crate::text::head(rest, 40))),
        None => Err("it is not a duration: it must begin with a number and a unit".to_owned()),
    }
}

/// The duration that a text begins with, in milliseconds: `3 days 4 hours`, `6m0s`, `1.5s`, `an hour`.
#[must_use]
pub fn leading_duration_ms(text: &str) -> Option<u64> {
    duration_before(text, common_unit).map(|(ms, _)| ms)
}

/// All numbers with their units that a text begins with, and what follows them.
fn duration_before(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<(u64, &str)> {
    let mut sum_ns = 0_u128;
    let mut rest = text;
    let mut found = false;
    while let Some((number, after)) = number_before(rest) {
        let after = after.trim_start();
        let letters = after.find(|letter: char| !letter.is_alphabetic()).unwrap_or(after.len());
        let Some(unit_ns) = after.get(..letters).and_then(&unit) else { break };
        sum_ns = sum_ns.saturating_add(number.saturating_mul(u128::from(unit_ns)) / u128::from(SECOND_NS));
        found = true;
        rest = after.get(letters..)?.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
        rest = rest.strip_prefix("and ").unwrap_or(rest);
    }
    let ms = u64::try_from(sum_ns / 1_000_000).unwrap_or(u64::MAX);
    found.then_some((ms, rest))
}

/// A number in billionths, perhaps with a point, and what follows it. `an` is one.
fn number_before(text: &str) -> Option<(u128, &str)> {
    let one = u128::from(SECOND_NS);
    if let Some(rest) = text.strip_prefix("an ").or_else(|| text.strip_prefix("a ")) {
        return Some((one, rest));
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = text.split_at(digits(text));
    let whole = whole.parse::<u64>().ok().map(|whole| u128::from(whole).saturating_mul(one))?;
    let Some((part, rest)) =
        rest.strip_prefix('.').map(|rest| rest.split_at(digits(rest))).filter(|(part, _)| !part.is_empty())
    else {
        return Some((whole, rest));
    };
    let billionths = format!("{part:0<9}").get(..9)?.parse::<u128>().ok()?;
    Some((whole.saturating_add(billionths), rest))
}

const SECOND_NS: u64 = 1_000_000_000;

/// Units that programs and people write, in nanoseconds.
fn common_unit(word: &str) -> Option<u64> {
    Some(match word {
        "ms" | "millisecond" | "milliseconds" => 1_000_000,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND_NS,
        "m" | "min" | "mins" | "minute" | "minutes" => 60 * SECOND_NS,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3600 * SECOND_NS,
        "d" | "day" | "days" => 86_400 * SECOND_NS,
        "w" | "wk" | "wks" | "week" | "weeks" => 7 * 86_400 * SECOND_NS,
        _ => return None,
    })
}

/// Units that only people type. A month is 30.44 days, a year 365.25.
fn rare_unit(word: &str) -> Option<u64> {
    Some(match word {
        "ns" | "nsec" | "nanos" => 1,
        "us" | "usec" | "µs" => 1000,
        "msec" | "millis" => 1_000_000,
        "M" | "month" | "months" => 2_630_016 * SECOND_NS,
        "y" | "yr" | "yrs" | "year" | "years" => 31_557_600 * SECOND_NS,
        _ => return None,
    })
}
