//! Whether a run makes progress: its best state, the counts of the breaker, what the newest iteration changed.
use std::sync::Arc;

use super::judgement::{BestJudgement, IterationJudgement, RoundJudgement};
use super::report::Measurement;
use crate::changes::Changes;
use crate::policy::breaker::Streaks;
use crate::policy::rank::Rank;
use crate::policy::score::{Checklist, Score};

/// What the run knows about how good its states are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    rank: Option<Rank>,
    peak: Option<Rank>,
    best: Option<Best>,
    best_before: Option<Best>,
    /// How often others changed files since the best state: it does not have their work.
    others_since_best: u32,
    streaks: Streaks,
    crash_streak: u32,
    timeouts: u32,
    regressed: Vec<String>,
    /// Somebody closed the breaker since it tripped.
    breaker_closed: bool,
    /// What the newest iteration changed; none before it is measured, and after a rollback.
    measured: Option<Arc<Measurement>>,
    /// The scores of the last iterations, the newest last, a bounded number.
    scores: Vec<ScoredIteration>,
}

/// How many scores are remembered.
const SCORES_MAX: usize = 20;

/// The score of an iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoredIteration {
    /// Which iteration.
    pub iteration: u32,
    /// Its score.
    pub score: Score,
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
    /// How different the output is from the one before, where that was compared.
    pub output_difference: Option<u32>,
    /// The task's checklist, where it has one.
    pub checklist: Option<Checklist>,
}

impl IterationDelta {
    fn of(measured: &Measurement) -> Self {
        Self {
            files: measured.changes.map(|changes| changes.files.saturating_sub(measured.protected)),
            tests: measured.tests,
            ignored: measured.ignored,
            noticed: measured.noticed,
            output_difference: measured.output_difference,
            checklist: measured.checklist,
        }
    }

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
        self.measured.as_ref()?.changes
    }

    /// The score of the newest iteration that has one.
    #[must_use]
    pub fn score(&self) -> Option<Score> {
        self.scores.last().map(|scored| scored.score)
    }

    /// The scores of the last iterations, the newest last, a bounded number.
    #[must_use]
    pub fn scores(&self) -> &[ScoredIteration] {
        &self.scores
    }

    /// The average of the last so many scores, in ten-thousandths.
    #[must_use]
    pub fn average_score(&self, last: usize) -> Option<u32> {
        let scores = self.scores.get(self.scores.len().saturating_sub(last)..)?;
        let sum: u32 = scores.iter().map(|scored| scored.score.total).sum();
        sum.checked_div(u32::try_from(scores.len()).ok()?)
    }

    /// The highest of the last scores, in ten-thousandths. The first iteration does not count: there is no output before it
    /// to compare with, so that it would count as new whatever it is.
    #[must_use]
    pub fn best_score(&self) -> Option<u32> {
        let compared = self.scores.iter().filter(|scored| scored.iteration > 1);
        compared.map(|scored| scored.score.total).max()
    }

    /// The same, as far as it counts.
    #[must_use]
    pub fn delta(&self) -> IterationDelta {
        self.measured.as_deref().map(IterationDelta::of).unwrap_or_default()
    }

    pub(super) fn measured(&mut self, measured: &Measurement) {
        // The names of the files are in the part for prompts.
        self.measured = Some(Arc::new(Measurement { names: Vec::new(), ..measured.clone() }));
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
            BestJudgement::Yes => {
                self.best_before = self.best.replace(best);
                self.others_since_best = 0;
            }
        }
    }

    /// Others changed files of the workspace.
    pub(super) fn others_changed(&mut self) {
        self.others_since_best = self.others_since_best.saturating_add(1);
    }

    /// Whether others changed files since the best state.
    pub(super) fn others_since_best(&self) -> bool {
        self.others_since_best > 0
    }

    pub(super) fn iteration(&mut self, judgement: &IterationJudgement) {
        self.regressed = judgement.regressed.clone();
        self.crash_streak = if judgement.crashed { self.crash_streak + 1 } else { 0 };
        self.streaks.record(&judgement.evidence, &judgement.streaks);
        if let Some(score) = judgement.score {
            self.scores.push(ScoredIteration { iteration: judgement.evidence.iteration, score });
            let surplus = self.scores.len().saturating_sub(SCORES_MAX);
            self.scores.drain(..surplus);
        }
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
        self.measured = None;
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
