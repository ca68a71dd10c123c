//! The circuit breaker: counts bad iterations in a row, by kind, and says which count has reached its threshold.
use serde::{Deserialize, Serialize};

use crate::machine::Deciding;

/// So many iterations in a row that reach a state never seen before forgive earlier returns.
const FRESH_MAX: u32 = 4;
/// How many states of the workspace are remembered.
const TREES_MAX: usize = 32;
/// How many iterations are remembered as evidence.
const EVIDENCE_MAX: usize = 12;

/// When each count trips; none means never.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Thresholds {
    /// Iterations without progress.
    pub no_progress: Option<u32>,
    /// Iterations that end in the same error.
    pub same_error: Option<u32>,
    /// Returns to an earlier state.
    pub oscillation: Option<u32>,
    /// Iterations with the same words.
    pub identical: Option<u32>,
    /// Iterations that work on nothing but tests.
    pub test_only: Option<u32>,
    /// By how many percent an answer must be shorter than the one before, twice.
    pub decline_percent: Option<u32>,
    /// Iterations without a status block, where there is no gate.
    pub missing_status: Option<u32>,
    /// Iterations that say done without the signal, where there is no gate.
    pub done_claims: Option<u32>,
    /// Whether the agent's report says that an iteration changed only tests; else the changed files do.
    pub tests_by_word: bool,
    /// Whether ever shorter answers count even with progress.
    pub decline_alone: bool,
}

impl Thresholds {
    /// Only those that recovery does not take the place of: what the agent says about its state.
    #[must_use]
    pub fn without_stagnation(&self) -> Self {
        Self { missing_status: self.missing_status, done_claims: self.done_claims, ..Self::default() }
    }
}

/// What one iteration showed. Everything is compared already.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationEvidence {
    /// Which iteration.
    pub iteration: u32,
    /// The workspace changed, or the gates say more than before.
    pub progress: bool,
    /// The gates say more than before.
    pub improved: bool,
    /// The gates said, byte for byte, what they had said before; also where there are none.
    pub gates_same: bool,
    /// How many files changed in scope, where that is measured.
    pub files: Option<u32>,
    /// How many of them are tests.
    pub test_files: u32,
    /// The hash of the tree, where there is one.
    pub tree: Option<String>,
    /// The error that the agent ended in, by its signature.
    pub error: Option<String>,
    /// It is an error by the agent's own account: its status block says so.
    pub says_error: bool,
    /// The hash of its words.
    pub words: Option<String>,
    /// How long they are.
    pub words_bytes: u64,
    /// It says that it worked on tests.
    pub says_tests: bool,
    /// Whether there was a status block.
    pub block: bool,
    /// It says that it is done.
    pub says_done: bool,
    /// It gives the signal.
    pub exit_signal: bool,
    /// Where nothing is counted: whether something is not what it was.
    pub noticed: Option<bool>,
    /// It changed protected files, which counts for nothing.
    pub tampered: bool,
    /// It changed what checkpoints leave out.
    pub ignored: bool,
    /// Its score is below the threshold, and the gates say no more than before.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub low_score: bool,
}

/// The counts, all of iterations in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Streaks {
    /// Without progress.
    pub no_progress: u32,
    /// Ended in the same error.
    pub same_error: u32,
    /// Which error.
    pub signature: Option<String>,
    /// Returns to an earlier state.
    pub oscillation: u32,
    /// Said the same words.
    pub identical: u32,
    /// Worked on nothing but tests.
    pub test_only: u32,
    /// Answers that were much shorter than the one before.
    pub decline: u32,
    /// Had no status block.
    pub missing_status: u32,
    /// Said done without the signal.
    pub done_claims: u32,
    /// Said done: the agent's own count of completion.
    pub completion: u32,
    /// Had a score below the threshold, whatever decides about progress.
    pub low_score: u32,
    /// What the last iterations showed, the newest last, a bounded number.
    pub evidence: Vec<IterationEvidence>,
    /// Iterations in a row that reached a new state.
    fresh: u32,
    /// Of the test-only ones: how many showed tests.
    tests_seen: u32,
    /// The states of the workspace so far, the newest last, a bounded number.
    trees: Vec<String>,
}

/// Which count has reached its threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trip {
    /// The workspace returned to earlier states.
    Oscillation,
    /// Nothing but tests.
    TestOnly,
    /// The same error.
    SameError,
    /// Ever shorter answers.
    Decline,
    /// No status block.
    MissingStatus,
    /// Says done without the signal.
    DoneClaims,
    /// The same words.
    Identical,
    /// Nothing came of it.
    NoProgress,
}

impl Streaks {
    /// Remembers a state of the workspace that no iteration made: where the loop began.
    pub fn saw(&mut self, tree: Option<&str>) {
        if let Some(tree) = tree {
            self.trees.retain(|known| known != tree);
            self.trees.push(tree.to_owned());
            let surplus = self.trees.len().saturating_sub(TREES_MAX);
            self.trees.drain(..surplus);
        }
    }

    /// Stores what was decided about an iteration.
    pub fn record(&mut self, evidence: &IterationEvidence, changes: &StreakChanges) {
        changes.no_progress.count(&mut self.no_progress);
        changes.decline.count(&mut self.decline);
        changes.identical.count(&mut self.identical);
        changes.same_error.count(&mut self.same_error);
        self.signature = evidence.error.clone();
        changes.oscillation.count(&mut self.oscillation);
        changes.fresh.count(&mut self.fresh);
        changes.test_only.count(&mut self.test_only);
        changes.tests_seen.count(&mut self.tests_seen);
        changes.missing_status.count(&mut self.missing_status);
        changes.done_claims.count(&mut self.done_claims);
        changes.completion.count(&mut self.completion);
        changes.low_score.count(&mut self.low_score);
        self.saw(evidence.tree.as_deref());
        self.evidence.push(evidence.clone());
        let surplus = self.evidence.len().saturating_sub(EVIDENCE_MAX);
        self.evidence.drain(..surplus);
    }

    /// The first count that has reached its threshold, the one that says most first. Without a gate the agent's claims
    /// are looked at, too.
    #[must_use]
    pub fn trip(&self, thresholds: &Thresholds, gated: bool, _: &Deciding) -> Option<(Trip, u32)> {
        let decline = thresholds.decline_percent.map(|_| 2);
        let tests = thresholds.test_only.filter(|_| self.tests_seen > 0 || thresholds.no_progress.is_none());
        let claims = |threshold: Option<u32>| threshold.filter(|_| !gated);
        [
            (Trip::Oscillation, self.oscillation, thresholds.oscillation),
            (Trip::TestOnly, self.test_only, tests),
            (Trip::SameError, self.same_error, thresholds.same_error),
            (Trip::Decline, self.decline, decline),
            (Trip::MissingStatus, self.missing_status, claims(thresholds.missing_status)),
            (Trip::DoneClaims, self.done_claims, claims(thresholds.done_claims)),
            (Trip::Identical, self.identical, thresholds.identical),
            (Trip::NoProgress, self.no_progress, thresholds.no_progress),
        ]
        .into_iter()
        .find(|(_, count, threshold)| threshold.is_some_and(|threshold| *count >= threshold))
        .map(|(trip, count, _)| (trip, count))
    }

    /// What the counted iterations showed, one piece each: the evidence for people.
    #[must_use]
    pub fn shown(&self, trip: Trip, count: u32) -> String {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let from = self.evidence.len().saturating_sub(count);
        let pieces =
            self.evidence.iter().skip(from).map(|signs| format!("{} ({})", signs.iteration, showed(signs, trip)));
        pieces.collect::<Vec<_>>().join(", ")
    }
}

fn showed(signs: &IterationEvidence, trip: Trip) -> String {
    let files = || match signs.files {
        Some(0) if signs.tampered => "nothing but protected files changed".to_owned(),
        Some(0) if signs.ignored => "only ignored files or empty folders changed".to_owned(),
        Some(0) => "nothing changed".to_owned(),
        Some(1) => "1 file changed".to_owned(),
        Some(files) => format!("{files} files changed"),
        None => match signs.noticed {
            Some(true) => "files changed".to_owned(),
            Some(false) => "nothing changed".to_owned(),
            None => "the gates said the same, and nothing else is measured".to_owned(),
        },
    };
    match trip {
        Trip::NoProgress => files(),
        Trip::TestOnly if signs.test_files > 0 => format!("{}, {} of them tests", files(), signs.test_files),
        Trip::TestOnly if signs.says_tests => format!("{}, work on tests", files()),
        Trip::TestOnly => files(),
        Trip::Oscillation => {
            let tree = signs.tree.as_deref().unwrap_or("unknown");
            format!("{}, tree {}", files(), tree.get(..8).unwrap_or(tree))
        }
        Trip::SameError => signs.error.clone().unwrap_or_else(|| "no error".to_owned()),
        Trip::Decline => format!("{} bytes said", signs.words_bytes),
        Trip::Identical => format!("the same {} bytes, {}", signs.words_bytes, files()),
        Trip::MissingStatus => "no status block".to_owned(),
        Trip::DoneClaims => "done without EXIT_SIGNAL".to_owned(),
    }
}

/// What an iteration does to one count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Streak {
    /// It is set back to zero.
    #[default]
    Clear,
    /// It is the first of a new row.
    One,
    /// It is one more.
    Add,
    /// It stays.
    Keep,
}

impl Streak {
    fn when(holds: bool) -> Self {
        if holds { Self::Add } else { Self::Clear }
    }

    /// What becomes of a count.
    pub(super) fn count(self, counter: &mut u32) {
        match self {
            Self::Clear => *counter = 0,
            Self::One => *counter = 1,
            Self::Add => *counter = counter.saturating_add(1),
            Self::Keep => {}
        }
    }

    /// Whether it sets a count back to zero.
    pub(super) fn is_clear(&self) -> bool {
        *self == Self::Clear
    }
}

/// What an iteration does to each count of the breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreakChanges {
    #[serde(skip_serializing_if = "Streak::is_clear")]
    no_progress: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    decline: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    identical: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    same_error: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    oscillation: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    fresh: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    test_only: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    tests_seen: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    missing_status: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    done_claims: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    completion: Streak,
    #[serde(skip_serializing_if = "Streak::is_clear")]
    low_score: Streak,
}

impl StreakChanges {
    /// Whether the workspace returned to an earlier state and nothing was gained by it.
    #[must_use]
    pub fn returned(&self) -> bool {
        self.oscillation == Streak::Add
    }
}

/// What an iteration does to the counts.
#[must_use]
pub fn count(streaks: &Streaks, evidence: &IterationEvidence, thresholds: &Thresholds, _: &Deciding) -> StreakChanges {
    let before = streaks.evidence.last();
    let shorter = before.is_some_and(|before| declined(before.words_bytes, evidence.words_bytes, thresholds));
    let same_words = before.is_some_and(|before| before.words.is_some() && before.words == evidence.words);
    let trees = count_tree(streaks, evidence);
    let tests = count_tests(evidence, thresholds);
    StreakChanges {
        no_progress: Streak::when(!evidence.progress),
        decline: Streak::when(shorter && (thresholds.decline_alone || !evidence.progress)),
        identical: match (&evidence.words, same_words && evidence.gates_same && !evidence.improved) {
            (None, _) => Streak::Clear,
            (Some(_), false) => Streak::One,
            (Some(_), true) => Streak::Add,
        },
        same_error: match &evidence.error {
            None => Streak::Clear,
            // Its program failed, and something came of it all the same.
            Some(_) if evidence.progress && !evidence.says_error => Streak::Clear,
            Some(error) if streaks.signature.as_ref() == Some(error) => Streak::Add,
            Some(_) => Streak::One,
        },
        oscillation: trees.oscillation,
        fresh: trees.fresh,
        test_only: tests.test_only,
        tests_seen: tests.tests_seen,
        missing_status: Streak::when(!evidence.block),
        done_claims: Streak::when(evidence.says_done && !evidence.exit_signal),
        completion: Streak::when(evidence.says_done),
        low_score: Streak::when(evidence.low_score),
    }
}

/// A return is a change to a state that was there before; to change nothing is not one.
fn count_tree(streaks: &Streaks, evidence: &IterationEvidence) -> StreakChanges {
    let keep = StreakChanges { oscillation: Streak::Keep, fresh: Streak::Keep, ..StreakChanges::default() };
    let Some(tree) = &evidence.tree else { return keep };
    let changed = streaks.trees.last().is_some_and(|last| last != tree);
    let known = streaks.trees.contains(tree);
    let stays = if evidence.improved { Streak::Clear } else { Streak::Keep };
    let returned = if evidence.improved { Streak::One } else { Streak::Add };
    let forgiven = streaks.fresh + u32::from(!known) >= FRESH_MAX && !(changed && known);
    let oscillation = match (changed && known, forgiven) {
        (true, _) => returned,
        (false, true) => Streak::Clear,
        (false, false) => stays,
    };
    let fresh = match (changed, known) {
        (true, true) => Streak::Clear,
        (true, false) => Streak::Add,
        (false, _) => Streak::Keep,
    };
    StreakChanges { oscillation, fresh, ..keep }
}

fn count_tests(evidence: &IterationEvidence, thresholds: &Thresholds) -> StreakChanges {
    let only = match evidence.files {
        Some(files) if !thresholds.tests_by_word => files == evidence.test_files,
        Some(_) | None => evidence.says_tests,
    };
    let counts = only && !evidence.improved;
    let seen = counts && (evidence.test_files > 0 || evidence.says_tests);
    let tests_seen = match (counts, seen) {
        (false, _) => Streak::Clear,
        (true, true) => Streak::Add,
        (true, false) => Streak::Keep,
    };
    StreakChanges { test_only: Streak::when(counts), tests_seen, ..StreakChanges::default() }
}

/// Whether an answer is by at least the threshold shorter than the one before.
fn declined(before: u64, now: u64, thresholds: &Thresholds) -> bool {
    let Some(percent) = thresholds.decline_percent else { return false };
    let lost = u128::from(before.saturating_sub(now)) * 100;
    before > 0 && lost >= u128::from(percent) * u128::from(before)
}
