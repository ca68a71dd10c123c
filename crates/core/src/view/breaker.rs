//! The breaker of a run as people see it: every count with its threshold, and whether it has tripped.
use serde::Serialize;

use crate::run::{Outcome, RunState};
use crate::time;

/// The breaker at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerView {
    /// Whether it has tripped and was not closed since.
    pub tripped: bool,
    /// The name of the reason; null while it has not tripped.
    pub reason: Option<&'static str>,
    /// The reason in a sentence, with the evidence.
    pub why: Option<String>,
    /// When it tripped.
    pub tripped_at: Option<String>,
    /// When something was last written down.
    pub updated_at: String,
    /// Iterations in a row, by what each showed.
    pub counts: BreakerCounts,
    /// When each count trips; null means never.
    pub thresholds: BreakerThresholds,
    /// Recovery is tried first: a count that it takes the place of does not trip.
    #[serde(skip)]
    waits: bool,
}

/// What is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerCounts {
    /// Without progress.
    pub no_progress: u32,
    /// Ended in the same error.
    pub same_error: u32,
    /// Which error.
    pub signature: Option<String>,
    /// Returns to an earlier state.
    pub oscillation: u32,
    /// Said the same words.
    pub identical_output: u32,
    /// Worked on nothing but tests, or on nothing at all.
    pub test_only: u32,
    /// One of those worked on tests, without which it does not trip.
    #[serde(skip)]
    tests_seen: bool,
    /// Answers that were much shorter than the one before.
    pub output_decline: u32,
    /// Had no status block.
    pub missing_status: u32,
    /// Said done without the signal.
    pub done_claims: u32,
    /// Said done.
    pub completion: u32,
}

/// When it trips.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BreakerThresholds {
    /// Without progress.
    pub no_progress: Option<u32>,
    /// Ended in the same error.
    pub same_error: Option<u32>,
    /// Returns to an earlier state.
    pub oscillation: Option<u32>,
    /// Said the same words.
    pub identical_output: Option<u32>,
    /// Worked on nothing but tests.
    pub test_only: Option<u32>,
    /// Much shorter answers.
    pub output_decline: Option<u32>,
    /// By how many percent shorter that is.
    pub output_decline_percent: Option<u32>,
    /// Had no status block; null where a gate decides.
    pub missing_status: Option<u32>,
    /// Said done without the signal; null where a gate decides.
    pub done_claims: Option<u32>,
    /// Not a trip: so often it must be said that it is done, where no gate decides.
    pub completion: Option<u32>,
}

/// So many declines in a row trip.
const DECLINES: u32 = 2;

const NO_STATUS: &str = "no status block";
const DONE_WITHOUT_SIGNAL: &str = "done without signal";
/// The counts of what the agent says about its state: they trip also while recovery is tried.
const SAID_BY_AGENT: [&str; 2] = [NO_STATUS, DONE_WITHOUT_SIGNAL];

/// Whether the breaker has tripped and was not closed since. An agent that says it is blocked trips it at once.
#[must_use]
pub fn is_tripped(state: &RunState) -> bool {
    let tripped = state.over.as_ref().is_some_and(|over| matches!(over.outcome, Outcome::Tripped | Outcome::Blocked));
    tripped && !state.progress.breaker_closed()
}

impl BreakerView {
    /// The breaker of a run.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        let over = state.over.as_ref().filter(|_| is_tripped(state));
        Self {
            tripped: over.is_some(),
            reason: over.map(|over| over.reason.code.name()),
            why: over.map(|over| over.reason.text.clone()),
            tripped_at: over.map(|over| time::rfc3339(over.at.wall_ms)),
            updated_at: time::rfc3339(state.now.wall_ms),
            counts: counts(state),
            thresholds: thresholds(state),
            waits: state.recovery.may_start(&state.settings.shown().values.recovery),
        }
    }

    /// Every count with its name and threshold.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u32, Option<u32>); 9] {
        let (counts, most) = (&self.counts, &self.thresholds);
        [
            ("no progress", counts.no_progress, most.no_progress),
            ("same error", counts.same_error, most.same_error),
            ("returns", counts.oscillation, most.oscillation),
            ("same words", counts.identical_output, most.identical_output),
            ("tests only", if counts.tests_seen { counts.test_only } else { 0 }, most.test_only),
            ("shorter answers", counts.output_decline, most.output_decline),
            (NO_STATUS, counts.missing_status, most.missing_status),
            (DONE_WITHOUT_SIGNAL, counts.done_claims, most.done_claims),
            ("done claims", counts.completion, None),
        ]
    }

    /// The counts that can trip and are not at zero: `no progress 1 of 3 · same error 2 of 5`; empty where there are
    /// none. A count that waits for recovery has no threshold.
    #[must_use]
    pub fn counting(&self) -> String {
        let word = |(name, count, most): (&str, u32, Option<u32>)| {
            let most = most.filter(|_| count > 0)?;
            Some(match count > most {
                _ if self.waits && !SAID_BY_AGENT.contains(&name) => format!("{name} {count}, waits for recovery"),
                true => format!("{name} {count}, limit {most}"),
                false => format!("{name} {count} of {most}"),
            })
        };
        self.rows().into_iter().filter_map(word).collect::<Vec<_>>().join(" · ")
    }

    /// All counts that are not at zero, with or without a threshold: what a reset clears.
    #[must_use]
    pub fn standing(&self) -> String {
        let rows = self.rows();
        let counting = rows.iter().filter(|(_, count, _)| *count > 0);
        counting.map(|(name, count, _)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }
}

fn counts(state: &RunState) -> BreakerCounts {
    let counts = &state.progress.streaks();
    let tests_only = counts.evidence.iter().rev().take(usize::try_from(counts.test_only).unwrap_or(usize::MAX));
    let tests_seen = tests_only.into_iter().any(|signs| signs.test_files > 0 || signs.says_tests);
    BreakerCounts {
        tests_seen,
        no_progress: counts.no_progress,
        same_error: counts.same_error,
        signature: counts.signature.clone(),
        oscillation: counts.oscillation,
        // The first of equal answers is equal to none yet.
        identical_output: if counts.identical == 1 { 0 } else { counts.identical },
        test_only: counts.test_only,
        output_decline: counts.decline,
        missing_status: counts.missing_status,
        done_claims: counts.done_claims,
        completion: counts.completion,
    }
}

fn thresholds(state: &RunState) -> BreakerThresholds {
    let most = &state.settings.shown().breaker;
    let gated = state.gated();
    BreakerThresholds {
        no_progress: most.no_progress,
        same_error: most.same_error,
        oscillation: most.oscillation,
        identical_output: most.identical,
        test_only: most.test_only,
        output_decline: most.decline_percent.map(|_| DECLINES),
        output_decline_percent: most.decline_percent,
        missing_status: most.missing_status.filter(|_| !gated),
        done_claims: most.done_claims.filter(|_| !gated),
        completion: (!gated).then_some(state.settings.shown().completion_threshold),
    }
}
