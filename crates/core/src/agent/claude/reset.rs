//! When a provider goes on: from a field of an event, or from the words of an error.
use jiff::Timestamp;
use serde_json::Value;

use super::result::whole;
use crate::agent::provider::failure::{Reset, ResetSource};
use crate::agent::provider::reset::{self, Clock};

/// Seconds since 1970 from here on; less is no moment of ours.
const EPOCH_S_FROM: u64 = 1_000_000_000;

/// The moment that a field names, in milliseconds since 1970: a number, a number as text, or a date with its time.
pub(in crate::agent) fn in_field(info: &Value) -> Option<u64> {
    let value = ["resetsAt", "resets_at"].iter().find_map(|name| info.get(*name).filter(|value| !value.is_null()))?;
    let date = || value.as_str()?.trim().parse::<Timestamp>().ok();
    let dated = || u64::try_from(date()?.as_millisecond()).ok();
    whole_or_text(value).map(milliseconds).or_else(dated)
}

/// A number, also where it is written as text.
pub(in crate::agent) fn whole_or_text(value: &Value) -> Option<u64> {
    whole(value).or_else(|| whole(&serde_json::from_str(value.as_str()?.trim()).ok()?))
}

/// The moment that the words of an error name. A clock in words is the one on the wall, unless they name UTC.
pub(in crate::agent) fn in_words(words: &str, clock: Clock) -> Option<Reset> {
    let told = after_bar(words).map(|at_ms| Reset { at_ms, source: ResetSource::Text });
    told.or_else(|| reset::reset(words, clock))
}

/// `… usage limit reached|1794771871`
fn after_bar(words: &str) -> Option<u64> {
    let (_, moment) = words.rsplit_once('|')?;
    moment.trim().parse().ok().filter(|moment| *moment >= EPOCH_S_FROM).map(milliseconds)
}

/// Seconds since 1970, or already milliseconds: no reset lies more than thousands of years ahead.
fn milliseconds(moment: u64) -> u64 {
    if moment < 100_000_000_000 { moment.saturating_mul(1000) } else { moment }
}
