//! What the words of an error say about its cause, for programs that pass on little more than words.
//! Only the error of a failed run is read so, never what an agent says.
use jiff::SignedDuration;
use serde_json::Value;

use super::failure::Failure;

/// What each cause is told by, small letters, in the order in which they are looked for.
const WORDS: [(Failure, &[&str]); 7] = [
    (
        Failure::Context,
        &[
            "exceeds the maximum number of tokens",
            "exceeds the context window",
            "context_length_exceeded",
            "context window exceeded",
            "maximum context length",
            "prompt is too long",
        ],
    ),
    (
        Failure::Refusal,
        &["prohibited_content", "blocked due to safety", "safety reasons", "content filter", "content_filter"],
    ),
    (
        Failure::Billing,
        &[
            "insufficient_quota",
            "insufficient_g1_credits",
            "insufficient credit",
            "insufficient funds",
            "credit balance is too low",
            "billing account",
            "payment required",
        ],
    ),
    (
        Failure::RateLimit,
        &[
            "resource_exhausted",
            "quota",
            "rate limit",
            "rate_limit",
            "rate-limit",
            "too many requests",
            "usage limit",
            "exhausted your capacity",
        ],
    ),
    (
        Failure::Auth,
        &[
            "api key not valid",
            "api_key_invalid",
            "incorrect api key",
            "invalid api key",
            "missing api key",
            "no api key",
            "api_key environment variable",
            "unauthenticated",
            "unauthorized",
            "permission_denied",
            "invalid authentication",
            "authentication required",
            "authentication failed",
            "failed to authenticate",
            "auth method",
            "not logged in",
            "not authenticated",
            "not allowed to sample",
        ],
    ),
    (
        Failure::Overload,
        &[
            "overloaded",
            "unavailable",
            "high demand",
            "at capacity",
            "internal error",
            "internal server error",
            "server had an error",
            "server error",
            "bad gateway",
            "gateway timeout",
        ],
    ),
    (
        Failure::Network,
        &[
            "fetch failed",
            "econnrefused",
            "econnreset",
            "etimedout",
            "enotfound",
            "eai_again",
            "epipe",
            "socket hang up",
            "[api error: terminated]",
            "connection error",
            "connection refused",
            "connection reset",
            "unable to connect",
            "cannot connect",
            "network error",
        ],
    ),
];

/// What stands before a duration to wait.
const BEFORE_WAIT: [&str; 6] =
    ["retry in ", "retry after ", "try again in ", "reset after ", "resets in ", "retry-after: "];
/// Objects are looked for at no more places than these in one text.
const OBJECTS_MAX: usize = 8;

/// The cause, as far as the words tell it.
pub(in crate::agent) fn failure(text: &str) -> Option<Failure> {
    let text = text.to_lowercase();
    WORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word))).map(|(failure, _)| *failure)
}

/// How long the words say to wait, in milliseconds.
pub(in crate::agent) fn wait_ms(text: &str) -> Option<u64> {
    let text = text.to_lowercase();
    BEFORE_WAIT.iter().find_map(|before| text.split_once(before).and_then(|(_, rest)| duration_ms(rest)))
}

/// The duration that a text begins with: `12.5s`, `1h2m3s`, `20 seconds`.
pub(in crate::agent) fn duration_ms(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let whole = if first.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        let unit = words.next()?.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
        format!("{first} {unit}")
    } else {
        first.to_owned()
    };
    let duration: SignedDuration = whole.parse().ok()?;
    u64::try_from(duration.as_millis()).ok()
}

/// The first JSON object within a text that has this member.
pub(in crate::agent) fn object_in(text: &str, member: &str) -> Option<Value> {
    text.match_indices('{').take(OBJECTS_MAX).find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let value = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
        value.get(member).is_some().then_some(value)
    })
}
