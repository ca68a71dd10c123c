//! Whether a run makes progress: its best state, the counts of the breaker, what the newest iteration changed.
use super::judgement::{BestJudgement, IterationJudgement, RoundJudgement};
use super::report::Measurement;
use crate::changes::Changes;
use crate::policy::breaker::Streaks;
use crate::policy::rank::Rank;

/// What the run knows about how good its states are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    rank: Option<Rank>,
    peak: Option<Rank>,
    best: Option<Best>,
    best_before: Option<Best>,
    streaks: Streaks,
    crash_streak: u32,
    timeouts: u32,
    regressed: Vec<String>,
    /// Somebody closed the breaker since it tripped.
    breaker_closed: bool,
    changes: Option<Changes>,
    delta: IterationDelta,
}

/// The best state so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Best {
    /// The iteration that left it; 0 is where the loop began.
    pub iteration: u32,
    /// Its checkpoint.
    pub checkpoint: Option<String>,
    /// How good it is.
    pub rank: Rank,
}

/// What the newest iteration changed, as far as it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IterationDelta {
    /// Files in scope that are not protected, where it is measured.
    pub files: Option<u32>,
    /// How many of them are tests.
    pub tests: u32,
    /// Files changed that checkpoints leave out.
    pub ignored: bool,
    /// Where nothing is counted: whether something is not what it was.
    pub noticed: Option<bool>,
}

impl IterationDelta {
    /// Whether nothing changed, as far as it was measured.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.files.is_none_or(|files| files == 0) && self.noticed != Some(true)
    }
}

impl Progress {
    /// How good the newest state is.
    #[must_use]
    pub fn rank(&self) -> Option<Rank> {
        self.rank
    }

    /// The best that the gates have said so far, whatever became of it.
    #[must_use]
    pub fn peak(&self) -> Option<Rank> {
        self.peak
    }

    /// The best state so far.
    #[must_use]
    pub fn best(&self) -> Option<&Best> {
        self.best.as_ref()
    }

    /// The counts of the breaker.
    #[must_use]
    pub fn streaks(&self) -> &Streaks {
        &self.streaks
    }

    /// Iterations in a row in which the agent failed and changed nothing.
    #[must_use]
    pub fn crash_streak(&self) -> u32 {
        self.crash_streak
    }

    /// Iterations that ran out of the agent's time.
    #[must_use]
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// What fails since the newest iteration, and had passed.
    #[must_use]
    pub fn regressed(&self) -> &[String] {
        &self.regressed
    }

    /// Whether the breaker was closed since it tripped.
    #[must_use]
    pub fn breaker_closed(&self) -> bool {
        self.breaker_closed
    }

    /// What the newest iteration changed.
    #[must_use]
    pub fn changes(&self) -> Option<Changes> {
        self.changes
    }

    /// The same, as far as it counts.
    #[must_use]
    pub fn delta(&self) -> IterationDelta {
        self.delta
    }

    pub(super) fn measured(&mut self, measured: &Measurement) {
        self.changes = measured.changes;
        self.delta = IterationDelta {
            files: measured.changes.map(|changes| changes.files.saturating_sub(measured.protected)),
            tests: measured.tests,
            ignored: measured.ignored,
            noticed: measured.noticed,
        };
    }

    pub(super) fn count_timeout(&mut self) {
        self.timeouts += 1;
    }

    pub(super) fn round(&mut self, judgement: &RoundJudgement, best: Best) {
        if judgement.improved || self.peak.is_none() {
            self.peak = Some(judgement.rank);
        }
        self.rank = Some(judgement.rank);
        match judgement.best {
            BestJudgement::NotCompared => {}
            BestJudgement::No => self.best_before = self.best.clone(),
            BestJudgement::Yes => self.best_before = self.best.replace(best),
        }
    }

    pub(super) fn iteration(&mut self, judgement: &IterationJudgement) {
        self.regressed = judgement.regressed.clone();
        self.crash_streak = if judgement.crashed { self.crash_streak + 1 } else { 0 };
        self.streaks.record(&judgement.evidence, &judgement.streaks);
    }

    /// The verdicts of the gates do not count, and so the best state by them does not count either.
    pub(super) fn best_is_void(&mut self) {
        self.best = self.best_before.clone();
    }

    /// A state of the workspace that no iteration made.
    pub(super) fn saw(&mut self, tree: Option<&str>) {
        self.streaks.saw(tree);
    }

    /// The breaker is closed, and everything that it counted is gone.
    pub(super) fn close_breaker(&mut self, tree: Option<&str>) {
        self.streaks = Streaks::default();
        self.streaks.saw(tree);
        self.breaker_closed = true;
    }

    /// The workspace was rolled back: counts of the states since then do not apply any more.
    pub(super) fn rolled_back(&mut self) {
        self.crash_streak = 0;
        self.changes = None;
        self.delta = IterationDelta::default();
    }

    pub(super) fn forget_claims(&mut self) {
        self.streaks.completion = 0;
    }

    pub(super) fn forget_crashes(&mut self) {
        self.crash_streak = 0;
    }

    pub(super) fn concluded(&mut self) {
        self.breaker_closed = false;
    }
}
