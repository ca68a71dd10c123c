//! What an error of `opencode` means: the provider's status, headers and body first, words last.
use serde_json::Value;

use crate::agent::failure::{Failure, Reset, ResetSource};

/// What an error amounts to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) failure: Failure,
    pub(super) reset: Option<Reset>,
    pub(super) message: String,
}

/// Reads the `error` of an event that came at this moment.
pub(super) fn found(error: &Value, at_ms: u64) -> Found {
    let data = &error["data"];
    let name = error["name"].as_str().unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let message = text(&data["message"]).or_else(|| text(&error["message"])).or_else(|| text(error));
    let message = message.unwrap_or_else(|| name.to_owned());
    let body = body(&data["responseBody"]);
    let failure = failure(name, &message, data, &body);
    let waits = matches!(failure, Failure::RateLimit | Failure::Overload);
    let reset = waits.then(|| reset(&data["responseHeaders"], &body, at_ms)).flatten();
    let reset = reset.or_else(|| if waits { told(&message, at_ms) } else { None });
    Found { failure, reset, message }
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

/// When the provider goes on, by its own fields.
fn reset(headers: &Value, body: &Value, at_ms: u64) -> Option<Reset> {
    let header = |name: &str| {
        let fields = headers.as_object()?;
        fields.iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    };
    let moment = |value: &Value| number(value).filter(|seconds| *seconds > 1_000_000_000).map(|at| at * 1000);
    let after = |seconds: f64| at_ms.saturating_add(whole(seconds * 1000.0));
    let error = &body["error"];
    let at_ms = moment(&error["resets_at"])
        .or_else(|| moment(&body["resets_at"]))
        .or_else(|| moment(header("anthropic-ratelimit-unified-reset")?))
        .or_else(|| float(&error["resets_in_seconds"]).map(after))
        .or_else(|| float(header("retry-after-ms")?).map(|millis| after(millis / 1000.0)))
        .or_else(|| header("retry-after").and_then(|value| float(value).map(after).or_else(|| date(value))))
        .or_else(|| retry_info(error).map(after))
        .or_else(|| span(header("x-ratelimit-reset-requests")?.as_str()?).map(after))
        .or_else(|| span(header("x-ratelimit-reset-tokens")?.as_str()?).map(after))
        .or_else(|| {
            let value = header("x-ratelimit-reset")?;
            moment(value).or_else(|| float(value).map(after))
        })?;
    Some(Reset { at_ms, source: ResetSource::Provider })
}

/// Google's own field.
fn retry_info(error: &Value) -> Option<f64> {
    error["details"].as_array()?.iter().find_map(|detail| span(detail["retryDelay"].as_str()?))
}

/// A date in a header.
fn date(value: &Value) -> Option<u64> {
    let moment = jiff::fmt::rfc2822::parse(value.as_str()?).ok()?.timestamp();
    u64::try_from(moment.as_millisecond()).ok()
}

/// `try again in 20s`, `retry in 1m30s`.
fn told(message: &str, at_ms: u64) -> Option<Reset> {
    let message = message.to_lowercase();
    let rest = ["again in ", "retry in ", "reset in "]
        .iter()
        .find_map(|words| message.split_once(words))
        .map(|(_, rest)| rest)?;
    let word = rest.split_whitespace().next()?.trim_end_matches(['.', ',', ')']);
    let seconds = span(word)?;
    Some(Reset { at_ms: at_ms.saturating_add(whole(seconds * 1000.0)), source: ResetSource::Text })
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

    fn api(status: u64, headers: Value, body: Value) -> Found {
        let data = json!({
            "message": "no", "statusCode": status, "responseHeaders": headers, "responseBody": body.to_string(),
        });
        found(&json!({"name": "APIError", "data": data}), AT)
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
        assert_eq!(found(&error, AT).failure, Failure::Billing);
    }

    #[test]
    fn a_refusal_is_about_signing_in_whatever_its_words() {
        for status in [401, 403] {
            let error = json!({"name": "APIError", "data": {"message": "rate limit, billing", "statusCode": status}});
            assert_eq!(found(&error, AT).failure, Failure::Auth);
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
            assert_eq!(found(&error, AT).failure, failure, "{words}");
        }
    }

    #[test]
    fn words_tell_a_reset_where_no_field_does() {
        let data = json!({"message": "Please try again in 1m2s.", "statusCode": 429});
        let found = found(&json!({"name": "APIError", "data": data}), AT);
        assert_eq!(found.reset, Some(Reset { at_ms: AT + 62_000, source: ResetSource::Text }));
    }

    #[test]
    fn odd_forms_are_no_surprise() {
        for error in [json!(null), json!("text"), json!([1]), json!({"data": 3}), json!({"data": {"statusCode": "x"}})]
        {
            assert_eq!(found(&error, AT).failure, Failure::Crash, "{error}");
        }
    }
}
