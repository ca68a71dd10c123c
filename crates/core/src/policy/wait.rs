//! How long to wait after the provider refused: as long as the provider says, else longer each time.
use serde::{Deserialize, Serialize};

use crate::agent::StreamReport;
use crate::agent::{Failure, ResetSource};
use crate::machine::Deciding;
use crate::time::{self, At};

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

/// How patient we are with a failure that passes.
struct Patience {
    failure: Failure,
    what: &'static str,
    longest_ms: u64,
    tries_max: u32,
}

/// The failures that pass by themselves. All others end the iteration.
const PATIENCE: [Patience; 3] = [
    Patience {
        failure: Failure::RateLimit,
        what: "the provider's limit is reached",
        longest_ms: 15 * 60_000,
        tries_max: 100,
    },
    Patience { failure: Failure::Overload, what: "the provider is overloaded", longest_ms: 5 * 60_000, tries_max: 30 },
    Patience {
        failure: Failure::Network,
        what: "the provider cannot be reached",
        longest_ms: 5 * 60_000,
        tries_max: 30,
    },
];

fn patience(failure: Failure) -> Option<&'static Patience> {
    PATIENCE.iter().find(|patience| patience.failure == failure)
}

impl Wait {
    /// So many attempts in a row may come to nothing.
    #[must_use]
    pub fn tries_max(&self, _: &Deciding) -> u32 {
        patience(self.failure).map_or(0, |patience| patience.tries_max)
    }
}

/// What the next attempt waits for; none where the failure does not pass by itself. `tries` is how many attempts in a
/// row failed, this one included; `salt` differs between runs and attempts.
#[must_use]
pub fn wait_for(stream: &StreamReport, now: At, tries: u32, salt: u64, _: &Deciding) -> Option<Wait> {
    let failure = stream.failure?;
    let patience = patience(failure)?;
    let stated = stream.reset.filter(|reset| reset.at_ms > now.wall_ms && reset.at_ms - now.wall_ms < BELIEVED_MS_MAX);
    let said = stream.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
    let why = format!("{}{said}", patience.what);
    let (until_ms, source) = match stated {
        Some(reset) => {
            let most = if reset.at_ms - now.wall_ms > LONG_MS { LONG_JITTER_MS_MAX } else { JITTER_MS_MAX };
            let source = match reset.source {
                ResetSource::Provider => WaitSource::Provider,
                ResetSource::Text => WaitSource::Text,
            };
            // A reset that proved wrong twice is not believed alone any more: the wait grows all the same.
            let least = if tries > 2 { now.wall_ms + backed_off(tries - 2, patience.longest_ms) } else { 0 };
            ((reset.at_ms + jitter(salt, most)).max(least), source)
        }
        None => {
            let ms = backed_off(tries, patience.longest_ms);
            (now.wall_ms + ms + jitter(salt, ms / 5), WaitSource::BackOff)
        }
    };
    Some(Wait { until_ms, source, failure, why })
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

/// For people: until when, on the clock of the world.
#[must_use]
pub fn until_text(wait: &Wait, now: At) -> String {
    let left = wait.until_ms.saturating_sub(now.wall_ms);
    format!("{} ({} left)", time::rfc3339(wait.until_ms), time::spaced(left / 1000 * 1000))
}
