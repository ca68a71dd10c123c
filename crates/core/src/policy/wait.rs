//! How long to wait after the provider refused: as long as the provider says, else longer each time.
use serde::{Deserialize, Serialize};

use crate::agent::StreamReport;
use crate::agent::{Failure, ResetSource};
use crate::machine::Deciding;
use crate::policy::failures::{FailureAction, FailureTable};
use crate::time::At;

/// The first wait where the provider does not say how long to wait.
const FIRST_MS: u64 = 5_000;
/// The most that is added to a wait, so that many loops do not try again in the same moment.
const JITTER_MS_MAX: u64 = 5_000;
/// A wait longer than this may be added more to.
const LONG_MS: u64 = 10 * 60 * 1000;
const LONG_JITTER_MS_MAX: u64 = 60_000;
/// A reset further away than this is ignored.
const BELIEVED_MS_MAX: u64 = 32 * 24 * 3600 * 1000;
/// A wait longer than this is preceded by the gates: the work may be done.
pub const WORTH_A_GATE_MS: u64 = 60_000;

/// What a run waits for before its next attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wait {
    /// Until when, by the wall clock.
    pub until_ms: u64,
    /// How that is known.
    pub source: WaitSource,
    /// What for.
    pub failure: Failure,
    /// The same for people.
    pub why: String,
}

/// How the length of a wait is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitSource {
    /// The provider said it.
    Provider,
    /// It was read from the words of an error.
    Text,
    /// The provider did not say it: each wait is longer than the last.
    BackOff,
}

impl WaitSource {
    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Text => "text",
            Self::BackOff => "back_off",
        }
    }
}

/// What a wait after this failure is for.
fn what(failure: Failure) -> &'static str {
    match failure {
        Failure::RateLimit => "the provider's limit is reached",
        Failure::Overload => "the provider is overloaded",
        Failure::Network => "the provider cannot be reached",
        Failure::Hang => {
            "the agent wrote nothing but its first line until its time limit: it may wait for its provider"
        }
        Failure::Auth => "the agent is not signed in, or was refused",
        Failure::Billing => "the agent has no credit left",
        Failure::Model => "the agent has no model of that name",
        Failure::Context => "the conversation was too long",
        Failure::Refusal => "the model refused",
        Failure::TurnLimit => "the agent reached its own limit of turns",
        Failure::Crash | Failure::Permission | Failure::Question => "the agent failed",
    }
}

/// The attempts that failed, and when the newest did.
#[derive(Debug, Clone, Copy)]
pub struct FailedTries {
    /// When the newest ended.
    pub now: At,
    /// How many in a row, that one included.
    pub count: u32,
    /// Differs between runs and attempts.
    pub salt: u64,
}

/// What the next attempt waits for; none where the failure does not pass by itself.
#[must_use]
pub fn wait_for(stream: &StreamReport, failed: FailedTries, table: &FailureTable, deciding: &Deciding) -> Option<Wait> {
    let FailedTries { now, count: tries, salt } = failed;
    let failure = stream.failure?;
    let FailureAction::Wait { longest_ms, .. } = table.action(failure, deciding) else { return None };
    let stated = stream.reset.filter(|reset| reset.at_ms > now.wall_ms && reset.at_ms - now.wall_ms < BELIEVED_MS_MAX);
    let said = stream.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    let why = format!("{}{said}", what(failure));
    let (until_ms, source) = match stated {
        Some(reset) => {
            let most = if reset.at_ms - now.wall_ms > LONG_MS { LONG_JITTER_MS_MAX } else { JITTER_MS_MAX };
            let source = match reset.source {
                ResetSource::Provider => WaitSource::Provider,
                ResetSource::Text => WaitSource::Text,
            };
            // A reset that proved wrong twice is not believed alone any more: the wait grows all the same.
            let least = if tries > 2 { now.wall_ms + backed_off(tries - 2, longest_ms) } else { 0 };
            ((reset.at_ms + jitter(salt, most)).max(least), source)
        }
        None => {
            let ms = backed_off(tries, longest_ms);
            (now.wall_ms + ms + jitter(salt, ms / 5), WaitSource::BackOff)
        }
    };
    Some(Wait { until_ms, source, failure, why })
}

/// What the next attempt waits for after one that wrote nothing until its time limit.
#[must_use]
pub fn wait_in_silence(failed: FailedTries, table: &FailureTable, deciding: &Deciding) -> Option<Wait> {
    let stream = StreamReport { failure: Some(Failure::Hang), ..StreamReport::default() };
    wait_for(&stream, failed, table, deciding)
}

/// Twice as long each time.
fn backed_off(tries: u32, longest_ms: u64) -> u64 {
    FIRST_MS.saturating_mul(1 << tries.saturating_sub(1).min(20)).min(longest_ms)
}

/// Something between a twentieth of the most and the most, the same for the same salt.
fn jitter(salt: u64, most: u64) -> u64 {
    let mixed = (salt ^ (salt >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let most = most.min(LONG_JITTER_MS_MAX);
    let least = most / 20;
    least + (mixed >> 33) % (most - least + 1)
}
