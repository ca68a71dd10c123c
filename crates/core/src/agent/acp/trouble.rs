//! What an error of an agent means: fields first, then the words of the error, never what the model said.
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::text_at;
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::reading::End;

/// The kinds that claude-agent-acp names in `data.errorKind`.
const KINDS: [(&str, Failure); 8] = [
    ("rate_limit", Failure::RateLimit),
    ("authentication_failed", Failure::Auth),
    ("oauth_org_not_allowed", Failure::Auth),
    ("billing_error", Failure::Billing),
    ("overloaded", Failure::Overload),
    ("server_error", Failure::Overload),
    ("context_window_exceeded", Failure::Context),
    ("refusal", Failure::Refusal),
];

/// Words of errors, the more telling first.
const WORDS: [(&str, Failure); 40] = [
    ("credit balance", Failure::Billing),
    ("billing", Failure::Billing),
    ("insufficient_quota", Failure::Billing),
    ("payment required", Failure::Billing),
    ("rate limit", Failure::RateLimit),
    ("rate_limit", Failure::RateLimit),
    ("too many requests", Failure::RateLimit),
    ("usage limit", Failure::RateLimit),
    ("session limit", Failure::RateLimit),
    ("weekly limit", Failure::RateLimit),
    ("resource_exhausted", Failure::RateLimit),
    ("quota", Failure::RateLimit),
    ("authentication", Failure::Auth),
    ("unauthorized", Failure::Auth),
    ("unauthenticated", Failure::Auth),
    ("api key", Failure::Auth),
    ("api_key", Failure::Auth),
    ("not logged in", Failure::Auth),
    ("please run /login", Failure::Auth),
    ("permission_denied", Failure::Auth),
    ("forbidden", Failure::Auth),
    ("prompt is too long", Failure::Context),
    ("context window", Failure::Context),
    ("context length", Failure::Context),
    ("context_length", Failure::Context),
    ("maximum context", Failure::Context),
    ("overloaded", Failure::Overload),
    ("high demand", Failure::Overload),
    ("at capacity", Failure::Overload),
    ("internal server error", Failure::Overload),
    ("service unavailable", Failure::Overload),
    ("bad gateway", Failure::Overload),
    ("econnrefused", Failure::Network),
    ("connectionrefused", Failure::Network),
    ("econnreset", Failure::Network),
    ("enotfound", Failure::Network),
    ("fetch failed", Failure::Network),
    ("unable to connect", Failure::Network),
    ("connection failed", Failure::Network),
    ("stream disconnected", Failure::Network),
];

/// The protocol's own: sign in first.
const SIGN_IN_FIRST: i64 = -32000;
const DAY_S: i64 = 86_400;

/// The class of an error of the protocol; none where nothing tells it.
pub(super) fn class(error: &Value) -> Option<Failure> {
    let data = error.get("data").unwrap_or(&Value::Null);
    let kind = text_at(data, &["errorKind"]).and_then(|kind| find(&KINDS, kind));
    if kind.is_some() {
        return kind;
    }
    let code = error.get("code").and_then(Value::as_i64);
    if code == Some(SIGN_IN_FIRST) {
        return Some(Failure::Auth);
    }
    let status = ["status", "statusCode", "status_code", "code"].iter().find_map(|name| data.get(name)?.as_u64());
    let status = status.or_else(|| code.and_then(|code| u64::try_from(code).ok()));
    let words = words(error);
    let told = class_of_words(&words);
    // A provider that wants money says so in words, under a status of something else.
    match status.and_then(Failure::of_status) {
        Some(Failure::RateLimit) if told == Some(Failure::Billing) => told,
        Some(failure) => Some(failure),
        None => told,
    }
}

fn find(table: &[(&str, Failure)], word: &str) -> Option<Failure> {
    table.iter().find(|(known, _)| *known == word).map(|(_, failure)| *failure)
}

/// All words of an error: what it says, and what it has in its data.
pub(super) fn words(error: &Value) -> String {
    let message = text_at(error, &["message"]).unwrap_or_default();
    let data = error.get("data").filter(|data| !data.is_null());
    let detail = data.and_then(|data| {
        let names = ["message", "details", "detail", "error"];
        names.iter().find_map(|name| text_at(data, &[name])).or_else(|| data.as_str())
    });
    match detail {
        Some(detail) if !message.contains(detail) => format!("{message}: {detail}"),
        Some(_) | None => message.to_owned(),
    }
}

/// The class of the words of an error; a status of HTTP among them counts last.
pub(super) fn class_of_words(words: &str) -> Option<Failure> {
    let lower = words.to_lowercase();
    let told = WORDS.iter().find(|(word, _)| lower.contains(word)).map(|(_, failure)| *failure);
    told.or_else(|| {
        let numbers = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
        let mut statuses = numbers.filter(|number| number.len() == 3).filter_map(|number| number.parse().ok());
        statuses.find_map(|number: u64| Failure::of_status(number).filter(|_| number >= 400))
    })
}

/// When the provider goes on, by what an error says.
pub(super) fn reset(error: &Value, end: &End<'_>) -> Option<Reset> {
    let data = error.get("data").unwrap_or(&Value::Null);
    let after = |seconds: f64, source| reset_after(seconds, source, end.now_ms);
    let moment = ["resetsAt", "resets_at"].iter().find_map(|name| data.get(name)?.as_u64());
    if let Some(moment) = moment {
        return Some(at_seconds_or_millis(moment));
    }
    let seconds = ["retryAfter", "retry_after", "retryDelay", "resets_in_seconds"].iter().find_map(|name| {
        let value = data.get(name)?;
        value.as_f64().or_else(|| value.as_str()?.trim_end_matches('s').parse().ok())
    });
    if let Some(seconds) = seconds {
        return after(seconds, ResetSource::Provider);
    }
    let words = words(error).to_lowercase();
    let waits = ["retry in ", "try again in ", "retry after ", "retry-after: ", "reset after "];
    let waited = waits.iter().find_map(|lead| duration(words.split_once(lead)?.1));
    waited.and_then(|seconds| after(seconds, ResetSource::Text)).or_else(|| clock(&words, end))
}

/// A moment since 1970 in seconds, or in milliseconds where it is too large for that.
pub(super) fn at_seconds_or_millis(moment: u64) -> Reset {
    let at_ms = if moment < 100_000_000_000 { moment.saturating_mul(1000) } else { moment };
    Reset { at_ms, source: ResetSource::Provider }
}

fn reset_after(seconds: f64, source: ResetSource, now_ms: u64) -> Option<Reset> {
    let wait = SignedDuration::try_from_secs_f64(seconds).ok().filter(|wait| !wait.is_negative())?;
    let wait_ms = u64::try_from(wait.as_millis()).ok()?;
    Some(Reset { at_ms: now_ms.saturating_add(wait_ms), source })
}

/// `12s`, `3.5 seconds`, `2 minutes`, `1h30m`, a bare number of seconds.
fn duration(text: &str) -> Option<f64> {
    let mut rest = text;
    let mut sum = None;
    loop {
        let number = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let Ok(count) = rest.get(..number)?.trim_end_matches('.').parse::<f64>() else { return sum };
        let unit = rest.get(number..)?.trim_start_matches(' ');
        let letters = unit.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(unit.len());
        let scale = match unit.get(..letters)? {
            "ms" | "milliseconds" => 0.001,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => 1.0,
        };
        sum = Some(sum.unwrap_or(0.0) + count * scale);
        rest = unit.get(letters..)?.trim_start();
    }
}

/// `resets 7:44pm (utc)`, `resets nov 18, 2:27am (utc)`, `try again at 7:44 pm`: local time unless it says UTC.
fn clock(words: &str, end: &End<'_>) -> Option<Reset> {
    let (_, rest) = ["resets at ", "resets ", "try again at "].iter().find_map(|lead| words.split_once(lead))?;
    let offset = if rest.contains("utc") { 0 } else { i64::from(end.utc_offset_s) };
    let now = i64::try_from(end.now_ms / 1000).ok()?.checked_add(offset)?;
    let (date, time) = match rest.split_once(',') {
        Some((date, time)) if month_and_day(date).is_some() => (month_and_day(date), time.trim_start()),
        Some(_) | None => (None, rest),
    };
    let seconds = time_of_day(time)?;
    let today = now - now.rem_euclid(DAY_S);
    let local = match date {
        Some((month, day)) => day_near(now, month, day)? + seconds,
        None if today + seconds < now => today + DAY_S + seconds,
        None => today + seconds,
    };
    let at_ms = u64::try_from((local - offset).checked_mul(1000)?).ok()?;
    Some(Reset { at_ms, source: ResetSource::Text })
}

fn month_and_day(text: &str) -> Option<(i8, i8)> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (month, day) = text.trim().split_once(' ')?;
    let number = MONTHS.iter().position(|known| month.starts_with(known))?;
    Some((i8::try_from(number + 1).ok()?, day.trim().parse().ok()?))
}

/// The beginning of that day, in this year or the next, in seconds since 1970.
fn day_near(now: i64, month: i8, day: i8) -> Option<i64> {
    let year = Timestamp::from_second(now).ok()?.to_zoned(jiff::tz::TimeZone::UTC).year();
    let start = |year: i16| {
        let date = Date::new(year, month, day).ok()?;
        Some(date.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_second())
    };
    start(year).filter(|start| *start > now - 180 * DAY_S).or_else(|| start(year.checked_add(1)?))
}

/// Seconds since midnight of `7:44pm`, `7pm`, `19:44`.
fn time_of_day(text: &str) -> Option<i64> {
    let number = text.find(|letter: char| !letter.is_ascii_digit() && letter != ':')?;
    let (clock, after) = text.split_at_checked(number)?;
    let (hour, minute) = clock.split_once(':').unwrap_or((clock, "0"));
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let half = after.trim_start();
    let hour = match (half.starts_with("pm"), half.starts_with("am")) {
        (true, _) => hour % 12 + 12,
        (_, true) => hour % 12,
        (false, false) if clock.contains(':') => hour,
        (false, false) => return None,
    };
    (hour < 24 && minute < 60).then_some(hour * 3600 + minute * 60)
}
