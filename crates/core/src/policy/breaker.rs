//! Is a loop lost? Counts iterations in a row by what each showed, and says which count has reached its threshold.

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
    /// Whether tests are told by the agent's word, and not by the files.
    pub tests_by_word: bool,
    /// Whether ever shorter answers count even with progress.
    pub decline_alone: bool,
}

/// What one iteration showed. Everything that compares was done by whoever gives these.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Signs {
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
}

/// The counts, all of iterations in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
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
    /// What the last iterations showed, the newest last, a bounded number.
    pub evidence: Vec<Signs>,
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

impl Trip {
    /// The setting that holds its threshold.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Oscillation => "max_oscillation",
            Self::TestOnly => "max_test_only",
            Self::SameError => "max_same_error",
            Self::Decline => "output_decline",
            Self::MissingStatus => "max_missing_status",
            Self::DoneClaims => "max_done_claims",
            Self::Identical => "max_identical_output",
            Self::NoProgress => "max_no_progress",
        }
    }
}

impl Counts {
    /// Remembers a state of the workspace that no iteration made: where the loop began.
    pub fn saw(&mut self, tree: Option<&str>) {
        if let Some(tree) = tree {
            self.trees.retain(|known| known != tree);
            self.trees.push(tree.to_owned());
            let surplus = self.trees.len().saturating_sub(TREES_MAX);
            self.trees.drain(..surplus);
        }
    }

    /// Takes an iteration in.
    pub fn take(&mut self, signs: Signs, thresholds: &Thresholds) {
        let before = self.evidence.last();
        let shorter = before.is_some_and(|before| declined(before.words_bytes, signs.words_bytes, thresholds));
        let same_words = before.is_some_and(|before| before.words.is_some() && before.words == signs.words);
        count(&mut self.no_progress, !signs.progress);
        count(&mut self.decline, shorter && (thresholds.decline_alone || !signs.progress));
        self.identical = match (&signs.words, same_words && signs.gates_same && !signs.improved) {
            (None, _) => 0,
            (Some(_), false) => 1,
            (Some(_), true) => self.identical.saturating_add(1),
        };
        self.take_error(signs.error.as_deref());
        self.take_tree(&signs);
        self.take_tests(&signs, thresholds);
        count(&mut self.missing_status, !signs.block);
        count(&mut self.done_claims, signs.says_done && !signs.exit_signal);
        count(&mut self.completion, signs.says_done);
        self.evidence.push(signs);
        let surplus = self.evidence.len().saturating_sub(EVIDENCE_MAX);
        self.evidence.drain(..surplus);
    }

    fn take_error(&mut self, error: Option<&str>) {
        self.same_error = match error {
            None => 0,
            Some(error) if self.signature.as_deref() == Some(error) => self.same_error.saturating_add(1),
            Some(_) => 1,
        };
        self.signature = error.map(str::to_owned);
    }

    /// A return is a change to a state that was there before; to change nothing is not one.
    fn take_tree(&mut self, signs: &Signs) {
        let Some(tree) = &signs.tree else { return };
        let changed = self.trees.last().is_some_and(|last| last != tree);
        let known = self.trees.contains(tree);
        if signs.improved {
            self.oscillation = 0;
        }
        match (changed, known) {
            (true, true) => (self.oscillation, self.fresh) = (self.oscillation.saturating_add(1), 0),
            (true, false) => self.fresh = self.fresh.saturating_add(1),
            (false, _) => {}
        }
        if self.fresh >= FRESH_MAX {
            self.oscillation = 0;
        }
        self.saw(Some(&tree.clone()));
    }

    fn take_tests(&mut self, signs: &Signs, thresholds: &Thresholds) {
        let only = match signs.files {
            Some(files) if !thresholds.tests_by_word => files == signs.test_files,
            Some(_) | None => signs.says_tests,
        };
        let counts = only && !signs.improved;
        let seen = counts && (signs.test_files > 0 || signs.says_tests);
        count(&mut self.test_only, counts);
        self.tests_seen = if counts { self.tests_seen.saturating_add(u32::from(seen)) } else { 0 };
    }

    /// The first count that has reached its threshold, the one that says most first. Without a gate the agent's claims
    /// are looked at, too.
    #[must_use]
    pub fn trip(&self, thresholds: &Thresholds, gated: bool) -> Option<(Trip, u32)> {
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

fn showed(signs: &Signs, trip: Trip) -> String {
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

fn count(counter: &mut u32, holds: bool) {
    *counter = if holds { counter.saturating_add(1) } else { 0 };
}

/// Whether an answer is by at least the threshold shorter than the one before.
fn declined(before: u64, now: u64, thresholds: &Thresholds) -> bool {
    let Some(percent) = thresholds.decline_percent else { return false };
    let lost = u128::from(before.saturating_sub(now)) * 100;
    before > 0 && lost >= u128::from(percent) * u128::from(before)
}
