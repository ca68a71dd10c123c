//! Which of several branches is the best: one lexicographic list, no weights.
use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use crate::machine::Deciding;
use crate::policy::rank::Rank;

/// How far a branch came, better ones later.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CandidateGates {
    /// It has no result.
    #[default]
    NoResult,
    /// It does not pass.
    NotPassed,
    /// There is no gate, and the agent says that it is done.
    Claimed,
    /// The required gates pass in the copy of the branch.
    InBranch,
    /// The required gates pass on a clean copy.
    OnCleanCopy,
}

/// One branch with every column of the ranking.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Candidate {
    /// The name of the branch.
    pub name: String,
    /// Whether its run did what it was started for.
    pub passes: bool,
    /// What its required gates say.
    pub gates: CandidateGates,
    /// Gates and tests that passed at the start and fail now.
    pub regressions: u32,
    /// Protected files were changed.
    pub tampered: bool,
    /// In how many ways the tests are weaker than at the start.
    pub weaker: u32,
    /// How good its best state is, where it does not pass.
    pub rank: Rank,
    /// Watched gates that pass.
    pub watched_passed: u32,
    /// Watched gates that do not.
    pub watched_failed: u32,
    /// The number of `--best-of-metric` in millionths, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_micros: Option<i64>,
    /// Why there is no such number although one was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_trouble: Option<String>,
    /// Lines that the change added and removed.
    pub lines: u64,
    /// Files that it changed.
    pub files: u32,
    /// How much the coverage grew, in hundredths of a per cent, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<i32>,
    /// How many of a hundred probes the gates noticed, where that was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strength: Option<u32>,
    /// What it cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// The agent did not report the cost of every call: what it really cost is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cost_unknown: bool,
    /// How long it was at work.
    pub elapsed_ms: u64,
    /// The score of its best iteration in ten-thousandths, where it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
}

/// All branches, the best first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranking {
    /// The lower number of the metric wins.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lower: bool,
    /// The score of progress decides right after the state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_score: bool,
    /// The rows, with every column.
    pub rows: Vec<Candidate>,
    /// Which column put each row before the next one.
    #[serde(default)]
    pub decided: Vec<RankColumn>,
}

impl Ranking {
    /// The best branch, if it passes.
    #[must_use]
    pub fn winner(&self) -> Option<&Candidate> {
        self.rows.first().filter(|row| row.passes)
    }
}

/// A column of the ranking. The first one in which two branches differ decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankColumn {
    /// Whether it passes, and where the required gates were judged.
    Gates,
    /// No regression, no changed protected file, no weaker tests.
    Faults,
    /// How many gates and tests pass, where it does not pass.
    State,
    /// Watched gates.
    Watched,
    /// The number of `--best-of-metric`.
    Metric,
    /// The size of the change.
    Size,
    /// The change of the coverage.
    Coverage,
    /// The strength of the gates.
    Strength,
    /// The cost.
    Cost,
    /// The time.
    Time,
    /// The score of progress, before all that follows the state where it decides about progress.
    Score,
    /// Nothing differs: the one that stands first in the plan.
    Order,
}

impl RankColumn {
    /// All columns, in the order in which they decide.
    pub const ALL: [Self; 12] = [
        Self::Gates,
        Self::Faults,
        Self::State,
        Self::Watched,
        Self::Metric,
        Self::Size,
        Self::Coverage,
        Self::Strength,
        Self::Cost,
        Self::Time,
        Self::Score,
        Self::Order,
    ];

    /// The same where the score decides about progress.
    const BY_SCORE: [Self; 12] = [
        Self::Gates,
        Self::Faults,
        Self::State,
        Self::Score,
        Self::Watched,
        Self::Metric,
        Self::Size,
        Self::Coverage,
        Self::Strength,
        Self::Cost,
        Self::Time,
        Self::Order,
    ];

    /// All columns in the order in which they decide, where the score decides about progress or not.
    #[must_use]
    pub const fn in_order(by_score: bool) -> [Self; 12] {
        if by_score { Self::BY_SCORE } else { Self::ALL }
    }

    /// The column as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gates => "gates",
            Self::Faults => "faults",
            Self::State => "state",
            Self::Watched => "watched",
            Self::Metric => "metric",
            Self::Size => "size",
            Self::Coverage => "coverage",
            Self::Strength => "strength",
            Self::Cost => "cost",
            Self::Time => "time",
            Self::Score => "score",
            Self::Order => "order",
        }
    }

    /// Which of two branches is better in this column; the better one is *greater*.
    pub(crate) fn compare(self, one: &Candidate, other: &Candidate, lower: bool) -> Ordering {
        let by = |key: fn(&Candidate) -> u64| key(one).cmp(&key(other));
        match self {
            Self::Gates => (one.passes, one.gates).cmp(&(other.passes, other.gates)),
            Self::Faults => one.has_no_fault().cmp(&other.has_no_fault()),
            // Of two that pass, more tests are not better.
            Self::State if one.passes && other.passes => Ordering::Equal,
            Self::State => one.rank.cmp(&other.rank),
            Self::Watched => {
                let key = |row: &Candidate| (Reverse(row.watched_failed), row.watched_passed);
                key(one).cmp(&key(other))
            }
            Self::Metric => one.metric_key(lower).cmp(&other.metric_key(lower)),
            Self::Size => by(|row| row.lines).reverse(),
            // Where no report was found, nothing is known to have changed.
            Self::Coverage => one.coverage.unwrap_or(0).cmp(&other.coverage.unwrap_or(0)),
            Self::Strength => by(|row| u64::from(row.strength.unwrap_or(0))),
            // What is not known is no good price.
            Self::Cost => {
                let key = |row: &Candidate| (row.cost_unknown, row.cost_micros);
                key(other).cmp(&key(one))
            }
            Self::Time => by(|row| row.elapsed_ms).reverse(),
            // What was not measured counts as no progress.
            Self::Score => by(|row| u64::from(row.score.unwrap_or(0))),
            Self::Order => Ordering::Equal,
        }
    }
}

impl Candidate {
    /// Whether nothing speaks against it.
    #[must_use]
    pub fn has_no_fault(&self) -> bool {
        self.regressions == 0 && !self.tampered && self.weaker == 0
    }

    /// A number that is better when it is greater. One that could not be measured is the worst.
    fn metric_key(&self, lower: bool) -> Option<i128> {
        self.metric_micros.map(|number| if lower { -i128::from(number) } else { i128::from(number) })
    }
}

/// By what branches are compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RankBy {
    /// The lower number of the metric wins.
    pub lower: bool,
    /// The score of progress decides right after the state.
    pub by_score: bool,
}

/// The first column in which two branches differ, and which of them is better there; the better one is *greater*.
#[must_use]
pub fn compare(one: &Candidate, other: &Candidate, by: RankBy, _: &Deciding) -> (RankColumn, Ordering) {
    let differs = |column: &RankColumn| column.compare(one, other, by.lower) != Ordering::Equal;
    let column = RankColumn::in_order(by.by_score).into_iter().find(differs).unwrap_or(RankColumn::Order);
    (column, column.compare(one, other, by.lower))
}

/// All branches, the best first. Branches between which nothing differs keep their order.
#[must_use]
pub fn rank(mut rows: Vec<Candidate>, by: RankBy, deciding: &Deciding) -> Ranking {
    rows.sort_by(|one, other| compare(other, one, by, deciding).1);
    let decided = rows.windows(2).map(|pair| match pair {
        [better, worse] => compare(better, worse, by, deciding).0,
        _ => RankColumn::Order,
    });
    let decided = decided.collect();
    Ranking { lower: by.lower, by_score: by.by_score, rows, decided }
}
