//! What an error of `opencode` means: the provider's status, headers and body first, words last.
use serde_json::Value;

use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset::{self, Clock};

/// How old an error may be for its own moment to be counted from, and how long ago a limit may have ended.
const RECENT_MS: u64 = 10 * 60 * 1000;
/// Nobody limits for longer.
const LONGEST_MS: u64 = 400 * 24 * 3600 * 1000;
/// A number over this is seconds since 1970.
const EPOCH_S_FROM: u64 = 1_000_000_000;
/// A number over this is milliseconds since 1970.
const EPOCH_MS_FROM: u64 = 100_000_000_000;

/// What an error amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) failure: Failure,
    pub(super) reset: Option<Reset>,
    pub(super) message: String,
}

/// Reads the `error` of an event that came at this moment, if it told one.
pub(super) fn found(error: &Value, at_ms: Option<u64>, clock: Clock) -> Found {
    let data = &error["data"];
    let message = message(error);
    let body = body(&data["responseBody"]);
    let failure = failure(error["name"].as_str().unwrap_or_default(), &message, data, &body);
    let waits = matches!(failure, Failure::RateLimit | Failure::Overload);
    let now_ms = clock.now_ms;
    // A clock that is far off, or an error that came long ago, says nothing about when to go on.
    let from_ms = at_ms.filter(|at| *at <= now_ms && now_ms - at <= RECENT_MS).unwrap_or(now_ms);
    let answer = Answer { headers: &data["responseHeaders"], error: &body["error"], from_ms };
    let moments = answer.moments(&body, failure == Failure::RateLimit);
    let told = moments.into_iter().filter(|at| likely(*at, now_ms)).max();
    let reset = told.map(|at_ms| Reset { at_ms, source: ResetSource::Provider }).or_else(|| {
        let clock = Clock { now_ms: from_ms, ..clock };
        reset::reset(&message, clock).filter(|reset| likely(reset.at_ms, now_ms))
    });
    Found { failure, reset: reset.filter(|_| waits), message }
}

/// The words of an error.
pub(super) fn message(error: &Value) -> String {
    let words = [&error["data"]["message"], &error["message"], error, &error["name"]];
    words.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a limit may end then: not long ago, and not in another age.
fn likely(at_ms: u64, now_ms: u64) -> bool {
    at_ms >= now_ms.saturating_sub(RECENT_MS) && at_ms <= now_ms.saturating_add(LONGEST_MS)
}

/// The body of a provider's answer: JSON in a text, or JSON as it is.
fn body(value: &Value) -> Value {
    let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
    match parsed.unwrap_or_else(|| value.clone()) {
        // Gemini wraps what it streams in a list.
        Value::Array(mut all) if all.len() == 1 => all.remove(0),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_)) => other,
    }
}

fn failure(name: &str, message: &str, data: &Value, body: &Value) -> Failure {
    match name {
        "ContextOverflowError" => return Failure::Context,
        "ProviderAuthError" => return Failure::Auth,
        _ => {}
    }
    let status = number(&data["statusCode"]).or_else(|| number(&data["status"]));
    let words = [&body["error"]["type"], &body["error"]["code"], &body["type"], &body["error"]["status"]];
    let by_word = words.into_iter().filter_map(Value::as_str).find_map(of_word);
    let refused = status.and_then(Failure::of_status);
    // Billing and context hide behind statuses that mean other things; a plain refusal does not.
    match (by_word, refused) {
        (_, Some(Failure::Auth)) => Failure::Auth,
        (Some(word), _) => of_text(message, true).unwrap_or(word),
        (None, Some(refused)) => of_text(message, true).unwrap_or(refused),
        (None, None) => of_text(message, status.is_some()).unwrap_or(Failure::Crash),
    }
}

/// What a provider's own word for an error means.
fn of_word(word: &str) -> Option<Failure> {
    match word {
        "insufficient_quota" | "billing_error" | "billing_hard_limit_reached" | "CreditsError" => {
            Some(Failure::Billing)
        }
        "usage_limit_reached"
        | "rate_limit_error"
        | "rate_limit_exceeded"
        | "RESOURCE_EXHAUSTED"
        | "FreeUsageLimitError"
        | "GoUsageLimitError"
        | "SubscriptionUsageLimitError" => Some(Failure::RateLimit),
        "context_length_exceeded" | "request_too_large" => Some(Failure::Context),
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED"
        | "AuthError" => Some(Failure::Auth),
        "overloaded_error" | "server_is_overloaded" | "UNAVAILABLE" => Some(Failure::Overload),
        _ => None,
    }
}

/// What the words of an error mean. Where the provider answered, only what its status does not tell is looked for.
fn of_text(message: &str, answered: bool) -> Option<Failure> {
    const ALWAYS: [(Failure, &[&str]); 3] = [
        (Failure::Billing, &["credit balance", "insufficient_quota", "billing hard limit", "plan and billing"]),
        (
            Failure::Context,
            &["context window", "context length", "prompt is too long", "maximum number of tokens", "too many tokens"],
        ),
        (Failure::Auth, &["api key not valid", "invalid api key", "incorrect api key", "invalid x-api-key"]),
    ];
    const UNANSWERED: [(Failure, &[&str]); 4] = [
        (Failure::RateLimit, &["rate limit", "rate_limit", "too many requests", "usage limit", "resource exhausted"]),
        (Failure::Overload, &["overloaded", "at capacity", "service unavailable", "internal server error"]),
        (Failure::Auth, &["unauthorized", "api key is missing", "not authenticated", "not logged in", "forbidden"]),
        (
            Failure::Network,
            &[
                "unable to connect",
                "cannot connect",
                "connection",
                "fetch failed",
                "failed to fetch",
                "network",
                "socket",
                "econn",
                "enotfound",
                "eai_again",
                "etimedout",
                "timed out",
                "timeout",
                "terminated",
            ],
        ),
    ];
    let message = message.to_lowercase();
    let hit =
        |(failure, words): &(Failure, &[&str])| words.iter().any(|word| message.contains(word)).then_some(*failure);
    let always = ALWAYS.iter().find_map(hit);
    always.or_else(|| if answered { None } else { UNANSWERED.iter().find_map(hit) })
}

/// What tells when the provider goes on.
struct Answer<'a> {
    headers: &'a Value,
    error: &'a Value,
    /// The moment that seconds are counted from.
    from_ms: u64,
}

impl Answer<'_> {
    /// All moments that its fields name. The last of them counts: before that, one limit still holds.
    fn moments(&self, body: &Value, limited: bool) -> Vec<u64> {
        let after = |seconds: f64| self.after(seconds);
        let wait = self.header("retry-after-ms").and_then(float).and_then(|millis| after(millis / 1000.0));
        let wait = wait.or_else(|| {
            let value = self.header("retry-after")?;
            moment(value).or_else(|| after(float(value)?))
        });
        let mut all = vec![
            moment(&self.error["resets_at"]),
            moment(&body["resets_at"]),
            float(&self.error["resets_in_seconds"]).and_then(after),
            retry_info(self.error).and_then(after),
            wait,
        ];
        for kind in ["unified", "requests", "tokens", "input-tokens", "output-tokens"] {
            let name = |field: &str| format!("anthropic-ratelimit-{kind}-{field}");
            if limited || self.remaining(&name("remaining")) == Some(0) {
                all.push(self.header(&name("reset")).and_then(moment));
            }
        }
        for kind in ["", "-requests", "-tokens"] {
            // What is not used up keeps nobody waiting.
            if self.remaining(&format!("x-ratelimit-remaining{kind}")).unwrap_or(0) == 0 {
                all.push(self.header(&format!("x-ratelimit-reset{kind}")).and_then(|value| {
                    let seconds = float(value).or_else(|| span(value.as_str()?));
                    moment(value).or_else(|| after(seconds?))
                }));
            }
        }
        all.into_iter().flatten().collect()
    }

    fn header(&self, name: &str) -> Option<&Value> {
        let fields = self.headers.as_object()?;
        fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn remaining(&self, name: &str) -> Option<u64> {
        self.header(name).and_then(number)
    }

    /// So many seconds on; none where nobody would wait that long.
    fn after(&self, seconds: f64) -> Option<u64> {
        let millis = format!("{:.0}", seconds * 1000.0).parse::<u64>().ok().filter(|millis| *millis <= LONGEST_MS)?;
        Some(self.from_ms.saturating_add(millis))
    }
}

/// A moment: seconds or milliseconds since 1970, as ISO 8601 or as a header writes dates.
fn moment(value: &Value) -> Option<u64> {
    if let Some(number) = number(value) {
        let at_ms = if number > EPOCH_MS_FROM { number } else { number.checked_mul(1000)? };
        return (number > EPOCH_S_FROM).then_some(at_ms);
    }
    let text = value.as_str()?.trim();
    let iso = || text.parse::<jiff::Timestamp>().ok();
    let moment = iso().or_else(|| Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp()))?;
    u64::try_from(moment.as_millisecond()).ok()
}

/// Google's own field.
fn retry_info(error: &Value) -> Option<f64> {
    error["details"].as_array()?.iter().find_map(|detail| span(detail["retryDelay"].as_str()?))
}

/// `2s`, `6m0s`, `1h2m3.5s`, `120ms`, in seconds.
fn span(text: &str) -> Option<f64> {
    let (mut seconds, mut rest) = (0.0, text.trim());
    while !rest.is_empty() {
        let digits = rest.find(|sign: char| !sign.is_ascii_digit() && sign != '.')?;
        let (amount, after) = rest.split_at(digits);
        let unit = after.find(|sign: char| sign.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let each = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        seconds += amount.parse::<f64>().ok()? * each;
        rest = after;
    }
    Some(seconds).filter(|_| !text.trim().is_empty())
}

/// A number, be it a float or in a text.
fn float(value: &Value) -> Option<f64> {
    let parsed = || value.as_str()?.trim().parse().ok();
    value.as_f64().or_else(parsed).filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// The same as a whole number.
pub(super) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| float(value).map(whole))
}

/// The nearest whole number; there is no safe cast from floats.
pub(super) fn whole(number: f64) -> u64 {
    format!("{number:.0}").parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: u64 = 1_800_000_000_000;

    fn of(error: &Value) -> Found {
        found(error, None, Clock { now_ms: AT, utc_offset_s: 0 })
    }

    fn api(status: u64, headers: Value, body: Value) -> Found {
        let data = json!({
            "message": "no", "statusCode": status, "responseHeaders": headers, "responseBody": body.to_string(),
        });
        of(&json!({"name": "APIError", "data": data}))
    }

    fn reset_of(found: &Found) -> Option<u64> {
        found.reset.map(|reset| reset.at_ms)
    }

    // req: C-12 partly: opencode's error body and headers
    #[test]
    fn the_moment_in_a_body_counts_before_the_seconds_in_a_header() {
        let body =
            json!({"error": {"type": "usage_limit_reached", "resets_at": 1_800_000_300, "resets_in_seconds": 9}});
        let found = api(429, json!({"retry-after": "2"}), body);
        assert_eq!((found.failure, reset_of(&found)), (Failure::RateLimit, Some(1_800_000_300_000)));
    }

    #[test]
    fn seconds_milliseconds_dates_and_spans_of_headers_are_understood() {
        let cases = [
            (json!({"retry-after": "2"}), AT + 2000),
            (json!({"Retry-After": 2.5}), AT + 2500),
            (json!({"retry-after-ms": "1500", "retry-after": "9"}), AT + 1500),
            (json!({"retry-after": "Fri, 15 Jan 2027 08:10:00 GMT"}), AT + 600_000),
            (json!({"x-ratelimit-reset-requests": "1m30s"}), AT + 90_000),
            (json!({"x-ratelimit-reset": "1800000060"}), AT + 60_000),
            (json!({"anthropic-ratelimit-unified-reset": "1800000120", "retry-after": "7"}), AT + 120_000),
        ];
        for (headers, expected) in cases {
            assert_eq!(reset_of(&api(429, headers.clone(), json!({}))), Some(expected), "{headers}");
        }
    }

    #[test]
    fn a_moment_may_be_milliseconds_or_iso_and_one_out_of_range_is_none() {
        let cases = [
            (json!(1_800_000_300_000_u64), Some(AT + 300_000)),
            (json!("1800000300000"), Some(AT + 300_000)),
            (json!("2027-01-15T08:05:00Z"), Some(AT + 300_000)),
            (json!("2027-01-15T10:05:00.000+02:00"), Some(AT + 300_000)),
            (json!(18_000_000_300_000_000_u64), None),
            (json!(u64::MAX), None),
            (json!(1e300), None),
            (json!("soon"), None),
        ];
        for (value, expected) in cases {
            let found = api(429, json!({}), json!({"error": {"resets_at": value}}));
            assert_eq!(reset_of(&found), expected, "{value}");
        }
        let found = api(429, json!({}), json!({"error": {"resets_in_seconds": 1e300}}));
        assert_eq!(reset_of(&found), None);
    }

    #[test]
    fn a_moment_that_is_past_does_not_hide_one_to_come() {
        let body = json!({"error": {"resets_at": 1_799_999_000}});
        assert_eq!(reset_of(&api(429, json!({"retry-after": "30"}), body.clone())), Some(AT + 30_000));
        assert_eq!(reset_of(&api(429, json!({}), body)), None);
    }

    #[test]
    fn seconds_count_from_a_recent_error_and_else_from_now() {
        let data = json!({"statusCode": 429, "responseHeaders": {"retry-after": "30"}});
        let error = json!({"name": "APIError", "data": data});
        let cases =
            [(AT - 5000, AT + 25_000), (AT - 11 * 60_000, AT + 30_000), (AT + 1, AT + 30_000), (0, AT + 30_000)];
        for (at, expected) in cases {
            let found = found(&error, Some(at), Clock { now_ms: AT, utc_offset_s: 0 });
            assert_eq!(reset_of(&found), Some(expected), "{at}");
        }
    }

    #[test]
    fn anthropics_buckets_count_when_they_are_empty_or_the_answer_is_429() {
        let later = "2027-01-15T08:01:00Z";
        let full = json!({"anthropic-ratelimit-tokens-reset": later, "anthropic-ratelimit-tokens-remaining": "9"});
        let empty = json!({"anthropic-ratelimit-requests-reset": later, "anthropic-ratelimit-requests-remaining": "0"});
        let unified = json!({"anthropic-ratelimit-unified-reset": 1_800_000_060});
        for (status, headers, expected) in
            [(529, &full, None), (529, &empty, Some(AT + 60_000)), (429, &full, Some(AT + 60_000))]
        {
            assert_eq!(reset_of(&api(status, headers.clone(), json!({}))), expected, "{status} {headers}");
        }
        assert_eq!(reset_of(&api(429, unified, json!({}))), Some(AT + 60_000));
        let others =
            json!({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "900", "retry-after": 2});
        assert_eq!(reset_of(&api(429, others, json!({}))), Some(AT + 2000));
    }

    #[test]
    fn googles_delay_is_found_in_its_details() {
        let details = json!([{"@type": "x"}, {"@type": "RetryInfo", "retryDelay": "36s"}]);
        let found = api(429, json!({}), json!([{"error": {"status": "RESOURCE_EXHAUSTED", "details": details}}]));
        assert_eq!((found.failure, reset_of(&found)), (Failure::RateLimit, Some(AT + 36_000)));
    }

    #[test]
    fn no_money_is_not_a_limit_though_both_are_429() {
        let body = json!({"error": {"code": "insufficient_quota", "message": "quota"}});
        assert_eq!(api(429, json!({"retry-after": "2"}), body).failure, Failure::Billing);
        let words = "Your credit balance is too low to access the Anthropic API.";
        let error = json!({"name": "APIError", "data": {"message": words, "statusCode": 400}});
        assert_eq!(of(&error).failure, Failure::Billing);
    }

    #[test]
    fn a_refusal_is_about_signing_in_whatever_its_words() {
        for status in [401, 403] {
            let error = json!({"name": "APIError", "data": {"message": "rate limit, billing", "statusCode": status}});
            assert_eq!(of(&error).failure, Failure::Auth);
        }
    }

    #[test]
    fn without_an_answer_the_words_tell() {
        let cases = [
            ("Unable to connect. Is the computer able to access the url?", Failure::Network),
            ("Overloaded", Failure::Overload),
            ("JSON parsing failed: Text: {this", Failure::Crash),
            ("Too Many Requests", Failure::RateLimit),
        ];
        for (words, failure) in cases {
            let error = json!({"name": "UnknownError", "data": {"message": words}});
            assert_eq!(of(&error).failure, failure, "{words}");
        }
    }

    #[test]
    fn words_tell_a_reset_where_no_field_does() {
        let cases = [
            ("Please try again in 1m2s.", 62),
            ("Please try again in 5 minutes", 300),
            ("Resets in 4 hours 3 minutes.", 14_580),
        ];
        for (words, seconds) in cases {
            let found = of(&json!({"name": "APIError", "data": {"message": words, "statusCode": 429}}));
            let expected = Reset { at_ms: AT + seconds * 1000, source: ResetSource::Text };
            assert_eq!(found.reset, Some(expected), "{words}");
        }
    }

    #[test]
    fn odd_forms_are_no_surprise() {
        for error in [json!(null), json!("text"), json!([1]), json!({"data": 3}), json!({"data": {"statusCode": "x"}})]
        {
            assert_eq!(of(&error).failure, Failure::Crash, "{error}");
        }
    }
}
