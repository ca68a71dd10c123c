//! When a loop is stuck: its iterations may change files, and nothing comes of it. This starts recovery.
use serde::{Deserialize, Serialize};

use super::breaker::Streak;
use crate::machine::Deciding;

/// So many fruitless iterations in a row with the same failures are enough, whatever is set.
const SAME_FAILURE_MAX: u32 = 2;

/// Why a loop counts as stuck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StuckCause {
    /// No iteration was better than the best so far.
    NoBetter,
    /// The workspace returned to an earlier state.
    Oscillation,
    /// The same failures with the same error, twice.
    SameFailure,
    /// The scores were below the threshold.
    LowScore,
}

impl StuckCause {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NoBetter => "no better result than the best so far",
            Self::Oscillation => "the workspace returned to an earlier state",
            Self::SameFailure => "the same failures with the same error",
            Self::LowScore => "scores below the threshold",
        }
    }
}

/// What one iteration showed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StuckEvidence<'a> {
    /// It is better than everything before: by its gates, or where there is none by its changes.
    pub better: bool,
    /// The score says so; then nothing else counts.
    pub by_score: bool,
    /// The workspace returned to an earlier state.
    pub returned: bool,
    /// What fails and with which error, as a hash; none where that is not known.
    pub failing: Option<&'a str>,
}

/// The counts, all of iterations in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StuckCounts {
    /// Not better than the best.
    pub fruitless: u32,
    /// The same, and with the same failures.
    pub same_failure: u32,
    /// Which failures.
    pub failing: Option<String>,
}

/// What was decided about an iteration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StuckJudgement {
    /// What it does to the count of fruitless iterations.
    #[serde(skip_serializing_if = "Streak::is_clear")]
    pub fruitless: Streak,
    /// What it does to the count of those with the same failures.
    #[serde(skip_serializing_if = "Streak::is_clear")]
    pub same_failure: Streak,
    /// What fails, as a hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
    /// The loop is stuck, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<StuckCause>,
}

impl StuckJudgement {
    /// Whether there is nothing to record.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// The same iteration judged by another number of fruitless iterations.
    #[must_use]
    pub fn after(&self, counts: &StuckCounts, after: Option<u32>, by_score: bool, _: &Deciding) -> Self {
        let cause = match self.cause {
            _ if self.is_better() => None,
            Some(cause @ (StuckCause::Oscillation | StuckCause::SameFailure)) => Some(cause),
            Some(StuckCause::NoBetter | StuckCause::LowScore) | None => {
                let mut fruitless = counts.fruitless;
                self.fruitless.count(&mut fruitless);
                after.is_some_and(|after| fruitless >= after).then(|| fruitless_cause(by_score))
            }
        };
        Self { cause, ..self.clone() }
    }

    /// Whether the iteration was better than everything before.
    #[must_use]
    pub fn is_better(&self) -> bool {
        self.fruitless.is_clear()
    }
}

impl StuckCounts {
    /// Stores what was decided about an iteration.
    pub fn record(&mut self, judgement: &StuckJudgement) {
        judgement.fruitless.count(&mut self.fruitless);
        judgement.same_failure.count(&mut self.same_failure);
        self.failing.clone_from(&judgement.failing);
    }
}

fn fruitless_cause(by_score: bool) -> StuckCause {
    if by_score { StuckCause::LowScore } else { StuckCause::NoBetter }
}

/// Whether the loop is stuck after this iteration.
#[must_use]
pub fn judge(counts: &StuckCounts, evidence: StuckEvidence<'_>, after: Option<u32>, _: &Deciding) -> StuckJudgement {
    let failing = evidence.failing.map(str::to_owned);
    if evidence.better {
        return StuckJudgement { failing, ..StuckJudgement::default() };
    }
    // The failures of an iteration that was better are the first to compare with, and do not count themselves.
    let same = evidence.failing.is_some() && counts.failing.as_deref() == evidence.failing;
    let same_failure = match (evidence.failing, same) {
        (None, _) => Streak::Clear,
        (Some(_), false) => Streak::One,
        (Some(_), true) => Streak::Add,
    };
    let mut after_it = counts.clone();
    Streak::Add.count(&mut after_it.fruitless);
    same_failure.count(&mut after_it.same_failure);
    let cause = if evidence.returned {
        Some(StuckCause::Oscillation)
    } else if after_it.same_failure >= SAME_FAILURE_MAX {
        Some(StuckCause::SameFailure)
    } else if after.is_some_and(|after| after_it.fruitless >= after) {
        Some(fruitless_cause(evidence.by_score))
    } else {
        None
    };
    StuckJudgement { fruitless: Streak::Add, same_failure, failing, cause }
}
