//! What an error means: one table of the wording of providers and agent programs, for all agents.
//!
//! Only the error of a failed run is read so, never what a model says. Why each sentence has the class that it has is
//! in `docs/decisions/0028-provider-wording.md`.
use serde_json::Value;

use super::failure::Failure;
use super::reset::{self, Clock};

/// Who writes the errors that an agent shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Vendor {
    /// Anthropic and Claude Code.
    Anthropic,
    /// OpenAI and Codex.
    OpenAi,
    /// Google and Gemini CLI.
    Google,
    /// opencode, which words errors of the connection itself.
    Opencode,
    /// The program works with many providers, or it is not known.
    #[default]
    Any,
}

/// All of them.
pub const VENDORS: [Vendor; 5] = [Vendor::Anthropic, Vendor::OpenAi, Vendor::Google, Vendor::Opencode, Vendor::Any];

/// Parts of sentences, in small letters, that mean the same.
struct Row {
    /// The only vendor that means it; none: all of them.
    only: Option<Vendor>,
    class: Failure,
    parts: &'static [&'static str],
}

const fn all(class: Failure, parts: &'static [&'static str]) -> Row {
    Row { only: None, class, parts }
}

const fn only(vendor: Vendor, class: Failure, parts: &'static [&'static str]) -> Row {
    Row { only: Some(vendor), class, parts }
}

/// The wording. The first row that fits counts.
const WORDING: &[Row] = &[
    all(Failure::TurnLimit, &["maximum number of turns", "max session turns"]),
    all(
        Failure::Context,
        &[
            "context window",
            "context length",
            "context_length",
            "context limit",
            "maximum context",
            "prompt is too long",
            "input is too long",
            "exceeds the maximum number of tokens",
            "has hit a token limit",
        ],
    ),
    all(
        Failure::Refusal,
        &[
            "content_filter",
            "content filter",
            "content_policy",
            "content policy",
            "cyber_policy",
            "usage policies",
            "usage policy",
            "flagged as potentially violating",
            "prohibited_content",
            "blocked due to safety",
            "safety reasons",
        ],
    ),
    all(
        Failure::Model,
        &[
            "issue with the selected model",
            "` does not exist or you do not have access",
            "is not found for api version",
            "model not found",
            "model_not_found",
            "no such model",
            "unknown model",
            "model is not available",
        ],
    ),
    all(
        Failure::Billing,
        &[
            "insufficient_quota",
            "insufficient_g1_credits",
            "insufficient credit",
            "insufficient balance",
            "insufficient funds",
            "credit balance",
            "out of credits",
            "payment required",
            "billing account",
            "billing hard limit",
        ],
    ),
    // Google says this of a limit per minute and per day, under `RESOURCE_EXHAUSTED`.
    only(Vendor::Google, Failure::RateLimit, &["quota", "exhausted your capacity"]),
    // OpenAI says this when there is no money. Where a time is named, it ends by itself: see `of_words`.
    all(Failure::Billing, NO_QUOTA),
    all(
        Failure::RateLimit,
        &[
            "rate limit",
            "rate_limit",
            "rate-limit",
            "usage limit",
            "session limit",
            "weekly limit",
            "hour limit",
            "opus limit",
            "sonnet limit",
            "hit your limit",
            "limit reached|",
            "limit will reset",
            "limit · resets",
            "limit ∙ resets",
            "resource_exhausted",
            "resource exhausted",
            "too many tokens, please wait",
        ],
    ),
    // After the limits: a limit on requests may go on to say how billing would raise it.
    all(Failure::Billing, &["billing", "payment", "upgrade to plus"]),
    all(Failure::RateLimit, &["too many requests", "quota"]),
    only(Vendor::OpenAi, Failure::RateLimit, &["limit reached"]),
    all(
        Failure::Auth,
        &[
            "api key",
            "api_key",
            "authenticat",
            "unauthorized",
            "forbidden",
            "permission_denied",
            "not logged in",
            "log in again",
            "login again",
            "sign in again",
            "please run /login",
            "codex login",
            "refresh token",
            "could not be refreshed",
            "oauth token",
            "auth method",
            "no auth type",
            "missing environment variable",
            "organization has been disabled",
            "not allowed to sample",
        ],
    ),
    all(
        Failure::Overload,
        &[
            "overloaded",
            "at capacity",
            "high demand",
            "internal server error",
            "server had an error",
            "service unavailable",
            "bad gateway",
            "gateway timeout",
        ],
    ),
    // For others "internal error" is a word of JSON-RPC and says nothing about the provider.
    only(Vendor::Google, Failure::Overload, &["internal error", "server error", "unavailable"]),
    all(
        Failure::Network,
        &[
            "unable to connect",
            "cannot connect",
            "connection error",
            "connection refused",
            "connection reset",
            "connection closed",
            "connection failed",
            "connectionrefused",
            "econn",
            "enotfound",
            "eai_again",
            "etimedout",
            "epipe",
            "socket hang up",
            "fetch failed",
            "failed to fetch",
            "network error",
            "error sending request",
            "failed to lookup address",
            "stream disconnected",
            "timed out",
            "timeout waiting",
            "idle timeout",
            "malformed response",
            "[api error: terminated]",
        ],
    ),
    only(Vendor::Opencode, Failure::Network, &["connection", "network", "socket", "timeout", "terminated"]),
];

/// Quota that is used up: money where no time is named, else a limit.
const NO_QUOTA: &[&str] = &["current quota", "quota exceeded"];

/// Codes: words for an error that stand in a field of their own, of providers and of agent programs.
const CODES: &[(Failure, &[&str])] = &[
    (
        Failure::Billing,
        &["insufficient_quota", "billing_error", "billing_hard_limit_reached", "CreditsError", "BudgetExceededError"],
    ),
    (
        Failure::RateLimit,
        &[
            "rate_limit",
            "rate_limit_error",
            "rate_limit_exceeded",
            "usage_limit_reached",
            GOOGLES_LIMIT,
            "FreeUsageLimitError",
            "GoUsageLimitError",
            "SubscriptionUsageLimitError",
            "RateLimitError",
            "RouterRateLimitError",
        ],
    ),
    (
        Failure::Context,
        &[
            "context",
            "context_window",
            "context_window_exceeded",
            "context_length_exceeded",
            "request_too_large",
            "ContextOverflowError",
            "ContextWindowExceededError",
        ],
    ),
    (
        Failure::Auth,
        &[
            "auth",
            "authentication_error",
            "authentication_failed",
            "oauth_org_not_allowed",
            "permission_error",
            "invalid_api_key",
            "UNAUTHENTICATED",
            "PERMISSION_DENIED",
            "AuthError",
            "ProviderAuthError",
            "AuthenticationError",
            "PermissionDeniedError",
        ],
    ),
    (
        Failure::Overload,
        &[
            "overloaded",
            "overloaded_error",
            "server_error",
            "server_is_overloaded",
            "UNAVAILABLE",
            "InternalServerError",
            "ServiceUnavailableError",
            "BadGatewayError",
        ],
    ),
    (Failure::Network, &["network", "APIConnectionError", "Timeout"]),
    (Failure::Refusal, &["refusal", "ContentPolicyViolationError"]),
    (Failure::Model, &["model_not_found"]),
    (Failure::Crash, &["max_output_tokens"]),
];

/// Google's code for a limit. An error that has it is worded by Google, whichever agent shows it.
const GOOGLES_LIMIT: &str = "RESOURCE_EXHAUSTED";
/// What stands before a status of HTTP in the words of an error.
const BEFORE_STATUS: [&str; 2] = ["api error: ", "status"];
/// Objects are looked for at no more places than these in one text.
const OBJECTS_MAX: usize = 8;

/// What is known of an error.
#[derive(Debug, Clone, Copy, Default)]
pub struct ProviderError<'a> {
    /// Who worded it.
    pub vendor: Vendor,
    /// The code, where there is one.
    pub code: Option<&'a str>,
    /// The HTTP status of the provider's answer; where there is none, one that the words name counts.
    pub status: Option<u64>,
    /// What it says to people.
    pub words: &'a str,
}

impl<'a> ProviderError<'a> {
    /// An error of which only the words are known.
    #[must_use]
    pub fn of_words(vendor: Vendor, words: &'a str) -> Self {
        Self { vendor, words, ..Self::default() }
    }

    /// Its class; none where nothing tells it.
    ///
    /// A code counts first and words last. But no money, no such model, too long a conversation and a refusal often come under a code
    /// or a status that means a limit or an overload, so their words count before these.
    #[must_use]
    pub fn class(&self) -> Option<Failure> {
        let vendor = if self.is_of_google() { Vendor::Google } else { self.vendor };
        let status = self.status.or_else(|| status_in(self.words));
        let by_code = self.code.and_then(of_code);
        let by_status = status.and_then(Failure::of_status);
        let by_words = of_words(vendor, self.words);
        let certain = by_code.filter(|class| !matches!(class, Failure::RateLimit | Failure::Overload));
        let refused = by_status.filter(|class| *class == Failure::Auth);
        let is_hidden =
            |class: &Failure| matches!(class, Failure::Billing | Failure::Context | Failure::Refusal | Failure::Model);
        let hidden = by_words.filter(is_hidden);
        // A provider that answered was reached.
        let said = by_words.filter(|class| *class != Failure::Network || status.is_none());
        let unreachable = said.filter(|class| *class == Failure::Network && by_code == Some(Failure::Overload));
        certain.or(refused).or(hidden).or(unreachable).or(by_code).or(by_status).or(said)
    }

    fn is_of_google(&self) -> bool {
        self.code == Some(GOOGLES_LIMIT) || self.words.contains(GOOGLES_LIMIT)
    }
}

/// The class of a code.
#[must_use]
pub fn of_code(code: &str) -> Option<Failure> {
    CODES.iter().find(|(_, codes)| codes.contains(&code)).map(|(class, _)| *class)
}

/// The class of the words of an error alone.
#[must_use]
pub fn of_words(vendor: Vendor, words: &str) -> Option<Failure> {
    // An address may hold any word.
    let words = words.split(", url: ").next().unwrap_or_default().to_lowercase();
    let fits = |row: &&Row| row.only.is_none_or(|only| only == vendor) && has_any(&words, row.parts);
    let class = WORDING.iter().find(fits)?.class;
    let ends_by_itself = class == Failure::Billing && has_any(&words, NO_QUOTA) && names_a_time(&words);
    Some(if ends_by_itself { Failure::RateLimit } else { class })
}

fn has_any(words: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| words.contains(part))
}

fn names_a_time(words: &str) -> bool {
    reset::in_words(words, Clock { now_ms: 0, utc_offset_s: 0 }).is_some()
}

/// The HTTP status that the words of an error name: `API Error: 429 …`, `last status: 429`, `unexpected status 401`.
fn status_in(words: &str) -> Option<u64> {
    let words = words.to_lowercase();
    BEFORE_STATUS.iter().find_map(|before| {
        let rest = words.split_once(before)?.1.trim_start_matches([':', ' ', '=']);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest.get(..digits).filter(|digits| digits.len() == 3)?.parse().ok().filter(|status| (100..600).contains(status))
    })
}

/// The first JSON object within a text that has this member.
pub(in crate::agent) fn object_in(text: &str, member: &str) -> Option<Value> {
    text.match_indices('{').take(OBJECTS_MAX).find_map(|(at, _)| {
        let rest = text.get(at..)?;
        let value = serde_json::Deserializer::from_str(rest).into_iter::<Value>().next()?.ok()?;
        value.get(member).is_some().then_some(value)
    })
}
