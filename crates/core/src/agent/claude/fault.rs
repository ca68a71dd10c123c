//! Why a run of Claude, or of a program like it, came to nothing: the program's own word for it first, the
//! provider's status next, and the words of the error last.
use crate::agent::provider::failure::Failure;

/// What is known of an error.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::agent) struct Fault<'a> {
    /// The program's own word for it.
    pub(in crate::agent) word: Option<&'a str>,
    /// The status of the provider's answer.
    pub(in crate::agent) status: Option<u64>,
    /// What is said to people.
    pub(in crate::agent) words: &'a str,
}

/// Words of errors in small letters, and what they mean, the surest first.
const SAID: &[(&str, Failure)] = &[
    ("credit balance", Failure::Billing),
    ("billing", Failure::Billing),
    ("insufficient_quota", Failure::Billing),
    ("insufficient balance", Failure::Billing),
    ("payment required", Failure::Billing),
    ("prompt is too long", Failure::Context),
    ("context window", Failure::Context),
    ("context length", Failure::Context),
    ("context_length", Failure::Context),
    ("maximum context", Failure::Context),
    ("context limit", Failure::Context),
    ("usage policy", Failure::Refusal),
    ("not logged in", Failure::Auth),
    ("please run /login", Failure::Auth),
    ("api key", Failure::Auth),
    ("oauth token", Failure::Auth),
    ("authenticat", Failure::Auth),
    ("unauthorized", Failure::Auth),
    ("no auth type", Failure::Auth),
    ("organization has been disabled", Failure::Auth),
    ("session limit", Failure::RateLimit),
    ("weekly limit", Failure::RateLimit),
    ("usage limit", Failure::RateLimit),
    ("rate limit", Failure::RateLimit),
    ("rate_limit", Failure::RateLimit),
    ("hit your limit", Failure::RateLimit),
    ("hour limit", Failure::RateLimit),
    ("opus limit", Failure::RateLimit),
    ("sonnet limit", Failure::RateLimit),
    ("limit reached|", Failure::RateLimit),
    ("limit will reset", Failure::RateLimit),
    ("limit · resets", Failure::RateLimit),
    ("limit ∙ resets", Failure::RateLimit),
    ("overloaded", Failure::Overload),
    ("internal server error", Failure::Overload),
    ("unable to connect", Failure::Network),
    ("connection error", Failure::Network),
    ("connection refused", Failure::Network),
    ("econn", Failure::Network),
    ("enotfound", Failure::Network),
    ("eai_again", Failure::Network),
    ("fetch failed", Failure::Network),
    ("timed out", Failure::Network),
    ("malformed response", Failure::Network),
];

impl Fault<'_> {
    /// What it means; a crash where nothing better can be said.
    pub(in crate::agent) fn class(&self) -> Failure {
        let said = self.by_words();
        let short = said.filter(|class| matches!(class, Failure::Billing | Failure::Context));
        let status = self.status.and_then(Failure::of_status);
        self.by_word().or(short).or(status).or(said).unwrap_or(Failure::Crash)
    }

    fn by_word(&self) -> Option<Failure> {
        match self.word? {
            "authentication_failed" | "oauth_org_not_allowed" => Some(Failure::Auth),
            "billing_error" => Some(Failure::Billing),
            "rate_limit" => Some(Failure::RateLimit),
            "overloaded" => Some(Failure::Overload),
            "model_not_found" | "max_output_tokens" => Some(Failure::Crash),
            _ => None,
        }
    }

    fn by_words(&self) -> Option<Failure> {
        let words = self.words.to_lowercase();
        SAID.iter().find(|(part, _)| words.contains(part)).map(|(_, class)| *class)
    }
}

/// The status that the words of an error name: `API Error: 429 …`.
pub(in crate::agent) fn status_in(words: &str) -> Option<u64> {
    let (_, rest) = words.split_once("API Error: ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest.get(..digits)?.parse().ok().filter(|status| (100..600).contains(status))
}
