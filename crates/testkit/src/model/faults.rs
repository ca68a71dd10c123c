//! How each API refuses: status, headers and body. Made after the vendors' documents, not captured from them.
use serde_json::{Value, json};

use super::request::Api;
use super::script::Fault;

/// A refusal on the wire.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// When it says that it ends, in seconds since 1970.
    pub(super) resets_at: Option<u64>,
}

/// What an API sends for a fault, at a moment in seconds since 1970.
pub(super) fn refusal(api: Api, fault: &Fault, now: u64) -> Refusal {
    let resets_in = if let Fault::RateLimit(seconds) | Fault::UsageLimit(seconds) | Fault::WeeklyLimit(seconds) = fault
    {
        Some(*seconds)
    } else {
        None
    };
    let resets_at = resets_in.map(|seconds| now + seconds);
    if let Fault::Raw { status, content_type, body } = fault {
        let (content_type, body) = (content_type.clone(), body.clone());
        return Refusal { status: *status, content_type, headers: Vec::new(), body, resets_at };
    }
    let at = resets_at.unwrap_or(now);
    let (status, headers, body) = match api {
        Api::Anthropic => anthropic(fault, at, resets_in.unwrap_or(0)),
        Api::Responses | Api::Chat => openai(fault, at, resets_in.unwrap_or(0)),
        Api::Gemini => gemini(fault, resets_in.unwrap_or(0)),
    };
    let headers = headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    Refusal { status, content_type: "application/json".to_owned(), headers, body: body.to_string(), resets_at }
}

type Wire = (u16, Vec<(&'static str, String)>, Value);

fn anthropic(fault: &Fault, at: u64, seconds: u64) -> Wire {
    let (status, kind, message) = match fault {
        Fault::Auth | Fault::Unauthorized => (401, "authentication_error", "invalid x-api-key"),
        Fault::Forbidden => (403, "permission_error", "Your API key does not have permission to use the resource."),
        Fault::Billing => (
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing.",
        ),
        Fault::RateLimit(_) => (
            429,
            "rate_limit_error",
            "This request would exceed the rate limit for your organization of 50 requests per minute.",
        ),
        Fault::UsageLimit(_) | Fault::WeeklyLimit(_) => {
            (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later.")
        }
        Fault::Overloaded => (529, "overloaded_error", "Overloaded"),
        Fault::ServerError | Fault::Raw { .. } => (500, "api_error", "Internal server error"),
        Fault::Context => (400, "invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
        Fault::Model => (404, "not_found_error", "model: claude-nonexistent"),
    };
    let headers = if matches!(fault, Fault::UsageLimit(_)) {
        unified("five_hour", at, seconds)
    } else if matches!(fault, Fault::WeeklyLimit(_)) {
        unified("seven_day", at, seconds)
    } else if matches!(fault, Fault::RateLimit(_)) {
        vec![("retry-after", seconds.to_string())]
    } else {
        Vec::new()
    };
    let body = json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_scripted0001"});
    (status, headers, body)
}

/// The headers of a subscription whose limit is reached.
fn unified(claim: &str, at: u64, seconds: u64) -> Vec<(&'static str, String)> {
    let weekly = claim == "seven_day";
    let state = |hit: bool| if hit { "rejected" } else { "allowed" }.to_owned();
    let used = |hit: bool| if hit { "1.0" } else { "0.4" }.to_owned();
    vec![
        ("anthropic-ratelimit-unified-status", "rejected".to_owned()),
        ("anthropic-ratelimit-unified-reset", at.to_string()),
        ("anthropic-ratelimit-unified-representative-claim", claim.to_owned()),
        ("anthropic-ratelimit-unified-5h-status", state(!weekly)),
        ("anthropic-ratelimit-unified-5h-reset", at.to_string()),
        ("anthropic-ratelimit-unified-5h-utilization", used(!weekly)),
        ("anthropic-ratelimit-unified-7d-status", state(weekly)),
        ("anthropic-ratelimit-unified-7d-reset", if weekly { at } else { at + 400_000 }.to_string()),
        ("anthropic-ratelimit-unified-7d-utilization", used(weekly)),
        ("anthropic-ratelimit-unified-overage-status", "rejected".to_owned()),
        ("retry-after", seconds.to_string()),
        ("x-should-retry", "false".to_owned()),
    ]
}

fn openai(fault: &Fault, at: u64, seconds: u64) -> Wire {
    let waits = format!(
        "Rate limit reached for gpt-test in organization org-x on requests per min (RPM): \
         Limit 3, Used 3, Requested 1. Please try again in {seconds}s."
    );
    let (status, message, kind, code) = match fault {
        Fault::Auth | Fault::Unauthorized => {
            (401, "Incorrect API key provided: dummy.", "invalid_request_error", "invalid_api_key")
        }
        Fault::Forbidden => {
            (403, "You are not allowed to sample from this model", "invalid_request_error", "model_not_allowed")
        }
        Fault::Billing => (
            429,
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        Fault::RateLimit(_) => (429, waits.as_str(), "requests", "rate_limit_exceeded"),
        Fault::UsageLimit(_) | Fault::WeeklyLimit(_) => {
            let body = json!({"error": {
                "type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                "resets_at": at, "resets_in_seconds": seconds,
            }});
            return (429, codex_windows(at), body);
        }
        Fault::Overloaded => {
            (503, "The server is currently overloaded, please try again later.", "server_error", "server_is_overloaded")
        }
        Fault::ServerError | Fault::Raw { .. } => {
            (500, "The server had an error while processing your request. Sorry about that!", "server_error", "")
        }
        Fault::Context => (
            400,
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "invalid_request_error",
            "context_length_exceeded",
        ),
        Fault::Model => (
            404,
            "The model `gpt-nonexistent` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
    };
    let headers = if matches!(fault, Fault::RateLimit(_)) { openai_waits(seconds) } else { Vec::new() };
    let code = if code.is_empty() { Value::Null } else { json!(code) };
    (status, headers, json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

fn openai_waits(seconds: u64) -> Vec<(&'static str, String)> {
    vec![
        ("retry-after", seconds.to_string()),
        ("x-ratelimit-remaining-requests", "0".to_owned()),
        ("x-ratelimit-reset-requests", format!("{seconds}s")),
    ]
}

/// What a plan's windows look like when the first is used up.
fn codex_windows(at: u64) -> Vec<(&'static str, String)> {
    vec![
        ("x-codex-primary-used-percent", "100.0".to_owned()),
        ("x-codex-primary-window-minutes", "300".to_owned()),
        ("x-codex-primary-reset-at", at.to_string()),
        ("x-codex-secondary-used-percent", "40.0".to_owned()),
        ("x-codex-secondary-window-minutes", "10080".to_owned()),
        ("x-codex-secondary-reset-at", (at + 400_000).to_string()),
    ]
}

fn gemini(fault: &Fault, seconds: u64) -> Wire {
    let quota = "You exceeded your current quota, please check your plan and billing details.";
    let (status, message, word, details) = match fault {
        Fault::Auth => (400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", key_details()),
        Fault::Unauthorized => (401, "Request had invalid authentication credentials.", "UNAUTHENTICATED", Value::Null),
        Fault::Forbidden => (403, "Permission denied.", "PERMISSION_DENIED", Value::Null),
        Fault::RateLimit(_) => (429, quota, "RESOURCE_EXHAUSTED", quota_details("PerMinute", seconds)),
        Fault::UsageLimit(_) | Fault::WeeklyLimit(_) => {
            (429, quota, "RESOURCE_EXHAUSTED", quota_details("PerDay", seconds))
        }
        Fault::Billing => (429, quota, "RESOURCE_EXHAUSTED", quota_details("PerDay", 36_000)),
        Fault::Overloaded => (503, "The model is overloaded. Please try again later.", "UNAVAILABLE", Value::Null),
        Fault::ServerError | Fault::Raw { .. } => (500, "An internal error has occurred.", "INTERNAL", Value::Null),
        Fault::Context => (
            400,
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "INVALID_ARGUMENT",
            Value::Null,
        ),
        Fault::Model => {
            (404, "models/gemini-nonexistent is not found for API version v1beta.", "NOT_FOUND", Value::Null)
        }
    };
    let mut error = json!({"code": status, "message": message, "status": word});
    if !details.is_null() {
        error["details"] = details;
    }
    (status, Vec::new(), json!({"error": error}))
}

fn key_details() -> Value {
    json!([{
        "@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com",
    }])
}

fn quota_details(window: &str, seconds: u64) -> Value {
    let id = format!("GenerateRequests{window}PerProjectPerModel-FreeTier");
    json!([
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{
            "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
            "quotaId": id, "quotaDimensions": {"location": "global", "model": "gemini-2.5-pro"}, "quotaValue": "5",
        }]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s")},
    ])
}
