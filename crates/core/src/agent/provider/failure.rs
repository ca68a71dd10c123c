//! Why an attempt failed: one list for all agents, and what each entry means for the loop.
use serde::{Deserialize, Serialize};

/// Why an agent could not work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The provider asks to wait: too many requests, a session or weekly limit.
    RateLimit,
    /// The provider cannot at the moment: 5xx, 529, at capacity.
    Overload,
    /// Not signed in, or refused: 401, 403.
    Auth,
    /// No credit, or a plan that does not hold it.
    Billing,
    /// The model does not exist, or is not allowed with this sign-in.
    Model,
    /// The provider cannot be reached, or the connection broke.
    Network,
    /// The program itself refused tool calls, and nothing came of the iteration.
    Permission,
    /// The conversation is longer than the model takes.
    Context,
    /// It reached the number of turns that its program allows.
    TurnLimit,
    /// It ended in an error without a better word, or its stream ended without an end.
    Crash,
    /// No sign of life.
    Hang,
    /// The model would not.
    Refusal,
    /// It asks something.
    Question,
}

/// All of them with the word that files and people use.
pub const FAILURES: [(Failure, &str); 13] = [
    (Failure::RateLimit, "rate_limit"),
    (Failure::Overload, "overload"),
    (Failure::Auth, "auth"),
    (Failure::Billing, "billing"),
    (Failure::Model, "model"),
    (Failure::Network, "network"),
    (Failure::Permission, "permission"),
    (Failure::Context, "context"),
    (Failure::TurnLimit, "turn_limit"),
    (Failure::Crash, "crash"),
    (Failure::Hang, "hang"),
    (Failure::Refusal, "refusal"),
    (Failure::Question, "question"),
];

impl Failure {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        FAILURES.iter().find(|(failure, _)| *failure == self).map_or("crash", |(_, word)| *word)
    }

    /// Whether it ends after a while by itself.
    #[must_use]
    pub fn ends_by_itself(self) -> bool {
        matches!(self, Self::RateLimit | Self::Overload)
    }

    /// Whether the provider, or the way to it, refused: the model did not work.
    #[must_use]
    pub fn is_refusal_of_provider(self) -> bool {
        match self {
            Self::RateLimit | Self::Overload | Self::Auth | Self::Billing | Self::Model | Self::Network => true,
            Self::Permission
            | Self::Context
            | Self::TurnLimit
            | Self::Crash
            | Self::Hang
            | Self::Refusal
            | Self::Question => false,
        }
    }

    /// What an HTTP status of a provider means; none where it says nothing about the cause.
    #[must_use]
    pub fn of_status(status: u64) -> Option<Self> {
        match status {
            401 | 403 => Some(Self::Auth),
            402 => Some(Self::Billing),
            408 | 425 => Some(Self::Network),
            413 => Some(Self::Context),
            429 => Some(Self::RateLimit),
            500..=599 => Some(Self::Overload),
            _ => None,
        }
    }
}

/// When the provider says that it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reset {
    /// The moment by the wall clock, in milliseconds since 1970.
    pub at_ms: u64,
    /// How that is known.
    pub source: ResetSource,
}

/// How a reset is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetSource {
    /// A field of the provider's.
    Provider,
    /// Read from the words of an error.
    Text,
}
