//! What an error of `opencode` means: the provider's status, headers and body first, words last.
use serde_json::Value;

use crate::agent::json::number_or_text;
use crate::agent::provider::failure::{Failure, Reset, ResetSource};
use crate::agent::provider::reset::{self, Clock};
use crate::agent::provider::wording::{self, ProviderError, Vendor};

/// How old an error may be for its own moment to be counted from, and how long ago a limit may have ended.
const RECENT_MS: u64 = 10 * 60 * 1000;

/// What an error amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OpencodeError {
    pub(super) failure: Failure,
    pub(super) reset: Option<Reset>,
    pub(super) message: String,
}

/// Reads the `error` of an event that came at this moment, if it has one.
pub(super) fn found(error: &Value, at_ms: Option<u64>, clock: Clock) -> OpencodeError {
    let data = &error["data"];
    let message = message(error);
    let body = body(&data["responseBody"]);
    let failure = failure(error["name"].as_str().unwrap_or_default(), &message, data, &body);
    let now_ms = clock.now_ms;
    // A clock that is far off, or an error that came long ago, says nothing about when to go on.
    let from_ms = at_ms.filter(|at| *at <= now_ms && now_ms - at <= RECENT_MS).unwrap_or(now_ms);
    let answer = Answer { headers: &data["responseHeaders"], error: &body["error"], from_ms };
    let moments = answer.moments(&body, failure == Failure::RateLimit);
    let told = moments.into_iter().filter(|at| likely(*at, now_ms)).max();
    let reset = told.map(|at_ms| Reset { at_ms, source: ResetSource::Provider }).or_else(|| {
        let clock = Clock { now_ms: from_ms, ..clock };
        reset::in_words(&message, clock).filter(|reset| likely(reset.at_ms, now_ms))
    });
    OpencodeError { failure, reset: reset.filter(|_| failure.ends_by_itself()), message }
}

/// The words of an error.
pub(super) fn message(error: &Value) -> String {
    let words = [&error["data"]["message"], &error["message"], error, &error["name"]];
    words.into_iter().find_map(Value::as_str).unwrap_or_default().to_owned()
}

/// Whether a limit may end then: not long ago, and not in another age.
fn likely(at_ms: u64, now_ms: u64) -> bool {
    at_ms >= now_ms.saturating_sub(RECENT_MS) && at_ms <= now_ms.saturating_add(reset::LONGEST_MS)
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

/// The codes stand in the body of the answer, or are the name of the error.
fn failure(name: &str, message: &str, data: &Value, body: &Value) -> Failure {
    let fields = [&body["error"]["type"], &body["error"]["code"], &body["type"], &body["error"]["status"]];
    let mut codes = fields.into_iter().filter_map(Value::as_str).chain([name]);
    let code = codes.find(|code| wording::of_code(code).is_some());
    let status = number_or_text(&data["statusCode"]).or_else(|| number_or_text(&data["status"]));
    let error = ProviderError { vendor: Vendor::Opencode, code, status, words: message };
    error.class().unwrap_or(Failure::Crash)
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
        let after = |seconds: f64| reset::after(seconds, self.from_ms);
        let wait = self.header("retry-after-ms").and_then(float).and_then(|millis| after(millis / 1000.0));
        let wait = wait.or_else(|| {
            let value = self.header("retry-after")?;
            reset::in_field(value).or_else(|| after(float(value)?))
        });
        let mut all = vec![
            reset::in_field(&self.error["resets_at"]),
            reset::in_field(&body["resets_at"]),
            float(&self.error["resets_in_seconds"]).and_then(after),
            retry_info(self.error).map(|wait| self.from_ms.saturating_add(wait)),
            wait,
        ];
        for kind in ["unified", "requests", "tokens", "input-tokens", "output-tokens"] {
            let name = |field: &str| format!("anthropic-ratelimit-{kind}-{field}");
            if limited || self.remaining(&name("remaining")) == Some(0) {
                all.push(self.header(&name("reset")).and_then(reset::in_field));
            }
        }
        for kind in ["", "-requests", "-tokens"] {
            // What is not used up keeps nobody waiting.
            if self.remaining(&format!("x-ratelimit-remaining{kind}")).unwrap_or(0) == 0 {
                all.push(self.header(&format!("x-ratelimit-reset{kind}")).and_then(|value| {
                    let wait = || reset::duration_in_field(value.as_str()?);
                    let after_wait = || Some(self.from_ms.saturating_add(wait()?));
                    reset::in_field(value).or_else(|| after(float(value)?)).or_else(after_wait)
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
        self.header(name).and_then(number_or_text)
    }
}

/// Google's own field.
fn retry_info(error: &Value) -> Option<u64> {
    error["details"].as_array()?.iter().find_map(|detail| reset::duration_in_field(detail["retryDelay"].as_str()?))
}

/// A number, be it a float or in a text.
fn float(value: &Value) -> Option<f64> {
    let parsed = || value.as_str()?.trim().parse().ok();
    value.as_f64().or_else(parsed).filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const AT: u64 = 1_800_000_000_000;

    fn of(error: &Value) -> OpencodeError {
        found(error, None, Clock { now_ms: AT, utc_offset_s: 0 })
    }

    fn api(status: u64, headers: Value, body: Value) -> OpencodeError {
        let data = json!({
            "message": "no", "statusCode": status, "responseHeaders": headers, "responseBody": body.to_string(),
        });
        of(&json!({"name": "APIError", "data": data}))
    }

    fn reset_of(found: &OpencodeError) -> Option<u64> {
        found.reset.map(|reset| reset.at_ms)
    }

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
