//! What was tried because a run was stuck, one row for each rung.
use serde::Serialize;

use crate::policy::stuck::StuckCause;
use crate::run::{QuestionPack, RecoveryDecision, RunState, RungBegan, RungChoice, RungEnded, RungOutcome};
use crate::time;

/// One rung of recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RungRow {
    /// After which iteration the loop was stuck.
    pub trigger_iteration: u32,
    /// Why it counted as stuck.
    pub cause: StuckCause,
    /// Which rung of the ladder, from 1.
    pub number: u32,
    /// What it changes.
    pub strategy: String,
    /// The agent, model or effort that it chose; empty where it chose none.
    pub details: String,
    /// How it ended; null while it is under way.
    pub outcome: Option<RungOutcome>,
    /// Why, where the outcome alone does not say it.
    pub why: Option<String>,
    /// How many iterations it may take.
    pub iterations_max: u32,
    /// How many iterations it took.
    pub iterations_used: u32,
    /// When it began.
    pub at: String,
}

impl RungRow {
    /// Takes one decision in.
    pub fn record(rows: &mut Vec<Self>, decision: &RecoveryDecision, wall_ms: u64) {
        match decision {
            RecoveryDecision::Began(began) => rows.push(Self::of(began, wall_ms)),
            RecoveryDecision::Ended(ended) => {
                let open = rows.last_mut().filter(|row| row.outcome.is_none() && row.number == ended.number);
                match open {
                    Some(row) => row.end(ended),
                    None => rows.push(Self::skipped(ended, wall_ms)),
                }
            }
            RecoveryDecision::CutOff(_) | RecoveryDecision::Takes(_) | RecoveryDecision::UsedUp { .. } => {}
        }
    }

    fn of(began: &RungBegan, wall_ms: u64) -> Self {
        let restored = began.restore.as_ref().map(|to| format!("from {to}"));
        let words = Some(began.choice.words()).filter(|words| !words.is_empty());
        Self {
            trigger_iteration: began.trigger,
            cause: began.cause,
            number: began.number,
            strategy: began.rung.name(),
            details: [words, restored].into_iter().flatten().collect::<Vec<_>>().join(", "),
            outcome: None,
            why: None,
            iterations_max: began.iterations,
            iterations_used: 0,
            at: time::rfc3339(wall_ms),
        }
    }

    fn skipped(ended: &RungEnded, wall_ms: u64) -> Self {
        let mut row = Self {
            trigger_iteration: ended.trigger,
            cause: ended.cause,
            number: ended.number,
            strategy: ended.rung.name(),
            details: String::new(),
            outcome: None,
            why: None,
            iterations_max: 0,
            iterations_used: 0,
            at: time::rfc3339(wall_ms),
        };
        row.end(ended);
        row
    }

    fn end(&mut self, ended: &RungEnded) {
        self.outcome = Some(ended.outcome);
        self.why.clone_from(&ended.why);
        self.iterations_used = ended.iterations;
    }

    /// One line for people.
    #[must_use]
    pub fn words(&self) -> String {
        let details = if self.details.is_empty() { String::new() } else { format!(" ({})", self.details) };
        let why = self.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let used = match self.iterations_used {
            1 => "1 iteration".to_owned(),
            count => format!("{count} iterations"),
        };
        let result = match self.outcome {
            None if self.iterations_max == 0 => "waits for a person".to_owned(),
            None => format!("under way, at most {} iterations", self.iterations_max),
            Some(RungOutcome::Success) => format!("worked after {used}"),
            Some(RungOutcome::Failed) => format!("failed after {used}"),
            Some(RungOutcome::Skipped) => "skipped".to_owned(),
            Some(RungOutcome::Resumed) => "a person resumed the loop".to_owned(),
        };
        format!("{}{details}: {result}{why}", self.strategy)
    }
}

/// Where recovery stands, for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RecoveryView {
    /// Whether it is on.
    pub on: bool,
    /// Why the loop is stuck by its newest iteration; null where it is not.
    pub stuck: Option<StuckCause>,
    /// How many iterations in a row were not better than the best.
    pub fruitless_iterations: u32,
    /// The rung that is under way; null where none is.
    pub rung: Option<String>,
    /// How many iterations of it are judged.
    pub rung_iterations: u32,
    /// What a rung that worked has chosen.
    pub kept: RungChoice,
    /// What a person needs to know, while the loop waits for one.
    pub questions: Option<QuestionPack>,
}

impl RecoveryView {
    /// Of one run.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        let rung = state.recovery.rung();
        Self {
            on: state.settings.shown().values.recovery.recover,
            stuck: state.recovery.stuck(),
            fruitless_iterations: state.recovery.counts().fruitless,
            rung: rung.map(|rung| rung.began.rung.name()),
            rung_iterations: rung.map_or(0, |rung| rung.iterations),
            kept: state.recovery.kept().clone(),
            questions: state.recovery.questions().cloned(),
        }
    }
}
