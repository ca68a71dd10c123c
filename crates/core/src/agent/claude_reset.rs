//! When a provider goes on, read from the words of an error: for programs that tell it in no field.
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

/// The moment in milliseconds since 1970. A clock in words is the one on the wall, unless they name UTC.
pub(super) fn in_words(words: &str, now_ms: u64, utc_offset_s: i32) -> Option<u64> {
    let moment = after_bar(words).or_else(|| after_pause(words, now_ms));
    moment.or_else(|| at_clock(words, now_ms, utc_offset_s))
}

/// `… usage limit reached|1794771871`
fn after_bar(words: &str) -> Option<u64> {
    let (_, seconds) = words.rsplit_once('|')?;
    seconds.trim().parse::<u64>().ok()?.checked_mul(1000)
}

/// `… try again in 2s.`, `… in 5 minutes`
fn after_pause(words: &str, now_ms: u64) -> Option<u64> {
    let (_, rest) = words.split_once("try again in ")?;
    let mut parts = rest.split_whitespace();
    let first = parts.next()?.trim_end_matches(['.', ',', ']']);
    let second = parts.next().unwrap_or_default().trim_end_matches(['.', ',', ']']);
    let pause = humantime::parse_duration(first).or_else(|_| humantime::parse_duration(&format!("{first}{second}")));
    // A fraction of a second is rounded up.
    let rounded = || first.split_once('.')?.0.parse::<u64>().ok()?.checked_add(1)?.checked_mul(1000);
    let pause_ms = pause.ok().and_then(|pause| u64::try_from(pause.as_millis()).ok()).or_else(rounded)?;
    now_ms.checked_add(pause_ms)
}

/// `… resets 7:44pm (UTC)`, `… resets Nov 18, 2:27am (UTC)`
fn at_clock(words: &str, now_ms: u64, utc_offset_s: i32) -> Option<u64> {
    let (_, rest) = words.split_once("resets ")?;
    let offset = if rest.contains("(UTC)") { Offset::UTC } else { Offset::from_seconds(utc_offset_s).ok()? };
    let now = offset.to_datetime(Timestamp::from_millisecond(i64::try_from(now_ms).ok()?).ok()?);
    let mut parts = rest.split([' ', ',']).filter(|part| !part.is_empty() && *part != "at").peekable();
    let date = parts.peek().and_then(|part| month(part));
    let date = match date {
        Some(month) => Some(day_of(now, month, parts.nth(1)?.parse().ok()?)?),
        None => None,
    };
    let (hour, minute) = clock(parts.next()?)?;
    let at = |date: Date| date.at(hour, minute, 0, 0);
    let moment = match date {
        Some(date) => at(date),
        None if at(now.date()) < now.checked_sub(10.minutes()).ok()? => at(now.date().tomorrow().ok()?),
        None => at(now.date()),
    };
    u64::try_from(offset.to_timestamp(moment).ok()?.as_millisecond()).ok()
}

/// The day of that name that is nearest: in words a year is never told.
fn day_of(now: DateTime, month: i8, day: i8) -> Option<Date> {
    let this_year = Date::new(now.year(), month, day).ok()?;
    if this_year < now.date().checked_sub(180.days()).ok()? {
        return Date::new(now.year().checked_add(1)?, month, day).ok();
    }
    Some(this_year)
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let word = word.to_lowercase();
    let at = MONTHS.iter().position(|month| word.starts_with(month))?;
    i8::try_from(at + 1).ok()
}

/// `7:44pm` or `7pm`
fn clock(word: &str) -> Option<(i8, i8)> {
    let word = word.to_lowercase();
    let (number, past_noon) = match (word.strip_suffix("am"), word.strip_suffix("pm")) {
        (Some(number), _) => (number, false),
        (None, Some(number)) => (number, true),
        (None, None) => return None,
    };
    let (hour, minute) = number.split_once(':').unwrap_or((number, "0"));
    let hour = hour.parse::<i8>().ok().filter(|hour| (1..=12).contains(hour))? % 12;
    let minute = minute.parse::<i8>().ok().filter(|minute| (0..=59).contains(minute))?;
    Some((if past_noon { hour + 12 } else { hour }, minute))
}
