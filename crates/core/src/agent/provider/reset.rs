//! When a limit ends: from a field of an answer, or from the words of an error, such as "try again at 7:45 PM",
//! "resets Nov 18, 2:27am (UTC)", "retry in 6m0s".
//!
//! Only for words of a program or a provider about a run that failed; what an agent says is never read for this.
use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use serde_json::Value;

use super::failure::{Reset, ResetSource};
use crate::agent::json::number_or_text;
use crate::time::leading_duration_ms;

/// Words after which a moment may stand.
const ANCHORS: [&str; 8] = ["try again", "retry", "resets", "reset", "available", "wait", "until", "limit reached|"];
/// Words that may stand between an anchor and the moment.
const FILLERS: [&str; 17] = [
    "again",
    "in",
    "after",
    "at",
    "on",
    "about",
    "approximately",
    "around",
    "is",
    "will",
    "be",
    "for",
    "the",
    "limit",
    "your",
    "time",
    "seconds",
];
/// How much is looked at after an anchor.
const REACH_BYTES: usize = 120;
/// A clock time without a date that is past by no more than this was just now, not tomorrow.
const JUST_NOW_MS: i64 = 10 * 60 * 1000;
/// A clock time on the wall is cut to the minute, so the moment may be as late as its end.
const REST_OF_MINUTE_MS: i64 = 59_000;
/// No limit lasts longer.
pub(in crate::agent) const LONGEST_MS: u64 = 400 * 24 * 3600 * 1000;
/// A number from here on is seconds since 1970.
const EPOCH_S_FROM: u64 = 1_000_000_000;
/// A number from here on is milliseconds since 1970.
const EPOCH_MS_FROM: u64 = 100_000_000_000;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The clock by which the words are to be understood.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Now, in milliseconds since 1970.
    pub now_ms: u64,
    /// How far local time is ahead of UTC, in seconds.
    pub utc_offset_s: i32,
}

/// The moment that a field of an answer names, in milliseconds since 1970: a number of seconds or milliseconds since
/// then, the same as text, or a date with its time as ISO 8601 or a header writes it.
#[must_use]
pub fn in_field(value: &Value) -> Option<u64> {
    if let Some(number) = number_or_text(value) {
        let at_ms = if number >= EPOCH_MS_FROM { number } else { number.checked_mul(1000)? };
        return (number >= EPOCH_S_FROM).then_some(at_ms);
    }
    let text = value.as_str()?.trim();
    let header = || Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp());
    let moment = text.parse::<Timestamp>().ok().or_else(header)?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// The moment that is so many seconds after another one; none where no limit lasts that long.
#[must_use]
pub fn after(seconds: f64, from_ms: u64) -> Option<u64> {
    let ms = format!("{:.0}", seconds * 1000.0).parse::<u64>().ok().filter(|ms| *ms <= LONGEST_MS)?;
    Some(from_ms.saturating_add(ms))
}

/// A duration as fields have it, in milliseconds: "36s", "6m0s", "1h2m3.5s".
#[must_use]
pub fn duration_in_field(text: &str) -> Option<u64> {
    leading_duration_ms(&text.trim().to_ascii_lowercase())
}

/// The moment that the words of an error name, if they name one.
#[must_use]
pub fn in_words(words: &str, clock: Clock) -> Option<Reset> {
    let words = words.to_ascii_lowercase().replace(['\u{202f}', '\u{a0}'], " ");
    let at_ms = ANCHORS.iter().find_map(|anchor| {
        words.match_indices(anchor).find_map(|(at, _)| {
            let rest = words.get(at + anchor.len()..).unwrap_or_default();
            moment(crate::text::head(rest, REACH_BYTES), clock)
        })
    })?;
    Some(Reset { at_ms, source: ResetSource::Text })
}

/// The moment at the beginning of these words, some fillers apart.
fn moment(words: &str, clock: Clock) -> Option<u64> {
    let mut rest = words;
    let mut counted = false;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || ":|,\"'(=_-".contains(letter));
        if let Some(at_ms) = stated(rest, clock) {
            return Some(at_ms);
        }
        if counted && let Some(ms) = bare_seconds(rest) {
            return ahead(ms, clock);
        }
        let word = rest.split(|letter: char| !letter.is_ascii_alphabetic()).next()?;
        if !FILLERS.contains(&word) {
            return None;
        }
        counted |= ["in", "after", "seconds"].contains(&word);
        rest = rest.get(word.len()..)?;
    }
}

/// A moment in any form but a bare number.
fn stated(words: &str, clock: Clock) -> Option<u64> {
    if let Some(ms) = leading_duration_ms(words) {
        return ahead(ms, clock);
    }
    let word = words.split(|letter: char| letter.is_whitespace() || ",\")".contains(letter)).next()?;
    if let Ok(moment) = word.trim_end_matches('.').to_ascii_uppercase().parse::<Timestamp>() {
        return u64::try_from(moment.as_millisecond()).ok();
    }
    if let Some((seconds, _)) = number(words).filter(|(seconds, _)| *seconds >= EPOCH_S_FROM) {
        let ms = if seconds >= EPOCH_S_FROM * 1000 { seconds } else { seconds.checked_mul(1000)? };
        return (ms < clock.now_ms.saturating_add(LONGEST_MS)).then_some(ms);
    }
    on_the_wall(words, clock)
}

fn ahead(ms: u64, clock: Clock) -> Option<u64> {
    (ms <= LONGEST_MS).then(|| clock.now_ms.saturating_add(ms))
}

fn bare_seconds(words: &str) -> Option<u64> {
    let (seconds, rest) = number(words)?;
    let ends = rest.trim_start().chars().next().is_none_or(|letter| !letter.is_alphanumeric() && letter != ':');
    ends.then(|| seconds.saturating_mul(1000))
}

/// A whole number and what follows it.
fn number(words: &str) -> Option<(u64, &str)> {
    let digits = words.bytes().take_while(u8::is_ascii_digit).count();
    let value = words.get(..digits)?.parse().ok()?;
    Some((value, words.get(digits..)?))
}

/// A date and a time, or a time alone, as a clock on the wall shows them.
fn on_the_wall(words: &str, clock: Clock) -> Option<u64> {
    let local = Offset::from_seconds(clock.utc_offset_s).unwrap_or(Offset::UTC);
    let (date, rest) = date(words).map_or((None, words), |(date, rest)| (Some(date), rest));
    let rest = rest.trim_start_matches([' ', ',']);
    let rest = rest.strip_prefix("at ").unwrap_or(rest);
    let (time, rest) = match time(rest) {
        Some(found) => found,
        None if date.is_some() => (Time::midnight(), rest),
        None => return None,
    };
    // A zone by another name is the local one: programs print times for the person before them.
    let zone = rest.trim_start().trim_start_matches('(');
    let offset =
        if zone.starts_with("utc") || zone.starts_with("gmt") || zone.starts_with('z') { Offset::UTC } else { local };
    let now = Timestamp::from_millisecond(i64::try_from(clock.now_ms).ok()?).ok()?;
    let today = offset.to_datetime(now).date();
    let ms = |day: Date| millisecond(offset, DateTime::from_parts(day, time));
    let at = match date {
        Some(Day { month, day, year: Some(year) }) => ms(Date::new(year, month, day).ok()?)?,
        Some(Day { month, day, year: None }) => nearest_year(today, |year| ms(Date::new(year, month, day).ok()?), now)?,
        None => match ms(today)? {
            at if at < now.as_millisecond() - JUST_NOW_MS => ms(today.tomorrow().ok()?)?,
            at => at,
        },
    };
    u64::try_from(at).ok()
}

fn millisecond(offset: Offset, moment: DateTime) -> Option<i64> {
    Some(offset.to_timestamp(moment).ok()?.as_millisecond() + REST_OF_MINUTE_MS)
}

/// A day without a year: this year's, or next year's where that is long past.
fn nearest_year(today: Date, of: impl Fn(i16) -> Option<i64>, now: Timestamp) -> Option<i64> {
    let half_a_year_ms = i64::try_from(LONGEST_MS / 2).ok()?;
    [today.year(), today.year().saturating_add(1)]
        .into_iter()
        .filter_map(of)
        .find(|at| *at > now.as_millisecond() - half_a_year_ms)
}

/// A day of a month.
struct Day {
    month: i8,
    day: i8,
    year: Option<i16>,
}

/// "nov 18", "november 18th, 2026".
fn date(words: &str) -> Option<(Day, &str)> {
    let letters = words.bytes().take_while(u8::is_ascii_alphabetic).count();
    let name = words.get(..letters)?;
    let month = MONTHS.iter().zip(1_i8..).find(|(month, _)| name.starts_with(**month))?.1;
    let (day, rest) = number(words.get(letters..)?.trim_start_matches([' ', '.']))?;
    let rest = ["st", "nd", "rd", "th"].iter().find_map(|ending| rest.strip_prefix(ending)).unwrap_or(rest);
    let after = rest.trim_start_matches([' ', ',']);
    let year = number(after).filter(|(year, _)| (2000..10_000).contains(year));
    let (year, rest) = year.map_or((None, rest), |(year, rest)| (i16::try_from(year).ok(), rest));
    Some((Day { month, day: i8::try_from(day).ok()?, year }, rest))
}

/// "7:45 pm", "7pm", "19:45", "19:45:10".
fn time(words: &str) -> Option<(Time, &str)> {
    let (hour, rest) = number(words)?;
    let (minute, rest) = match rest.strip_prefix(':') {
        Some(rest) => number(rest).map(|(minute, rest)| (Some(minute), rest))?,
        None => (None, rest),
    };
    let (second, rest) = rest.strip_prefix(':').and_then(number).unwrap_or((0, rest));
    let half = rest.trim_start();
    let (noon, rest) = if let Some(rest) = half.strip_prefix("pm").or_else(|| half.strip_prefix("p.m.")) {
        (Some(12), rest)
    } else if let Some(rest) = half.strip_prefix("am").or_else(|| half.strip_prefix("a.m.")) {
        (Some(0), rest)
    } else {
        (None, rest)
    };
    let hour = match noon {
        Some(add) if (1..=12).contains(&hour) => hour % 12 + add,
        None if minute.is_some() => hour,
        Some(_) | None => return None,
    };
    let [hour, minute, second] = [hour, minute.unwrap_or(0), second].map(|part| i8::try_from(part).unwrap_or(i8::MAX));
    Some((Time::new(hour, minute, second, 0).ok()?, rest))
}
