//! How good a state of the workspace is: the results of its gates, as a value that can be compared.
use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::gate::Verdict;
use crate::machine::Deciding;

/// What one gate said of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateScore {
    /// Its answer.
    pub verdict: Verdict,
    /// Whether anything depends on it.
    pub required: bool,
    /// Tests that passed, where its output shows it.
    pub passed: u32,
    /// Tests that failed, where its output shows it.
    pub failed: u32,
}

/// The whole of it: more is better. Tests that pass count before tests that fail, so that what does not even compile is
/// not better than what fails, and neither are tests that were taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Rank {
    required_passed: u32,
    passed: u32,
    failed: Reverse<u32>,
    answered: u32,
    watched_passed: u32,
}

impl Rank {
    /// Of all gates.
    #[must_use]
    pub fn of(gates: impl Iterator<Item = GateScore>, _: &Deciding) -> Self {
        let mut rank = Self::default();
        for gate in gates {
            let kept = u32::from(gate.verdict == Verdict::Pass);
            if gate.required {
                rank.required_passed += kept;
                rank.answered += u32::from(gate.verdict != Verdict::Unverifiable);
                rank.passed = rank.passed.saturating_add(gate.passed);
                rank.failed = Reverse(rank.failed.0.saturating_add(gate.failed));
            } else {
                rank.watched_passed += kept;
            }
        }
        rank
    }

    /// For people: `2 gates pass, 14 tests pass, 3 fail`.
    #[must_use]
    pub fn words(&self) -> String {
        let gates = format!(
            "{} {}",
            self.required_passed,
            if self.required_passed == 1 { "gate passes" } else { "gates pass" }
        );
        match (self.passed, self.failed.0) {
            (0, 0) => gates,
            (1, failed) => format!("{gates}, 1 test passes, {failed} fail"),
            (passed, failed) => format!("{gates}, {passed} tests pass, {failed} fail"),
        }
    }
}
