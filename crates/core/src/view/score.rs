//! The progress score for people and programs.
use serde::Serialize;

use crate::policy::score::{Score, WHOLE, shown};
use crate::run::RunState;
use crate::settings::ProgressBy;

/// How many scores an average is made of.
const AVERAGE_OF: usize = 5;

/// A score as JSON has it: its four signals and their sum by weight, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoreView {
    /// How different the output is from that of the iteration before.
    pub output: f64,
    /// How many lines changed; 100 are the whole signal.
    pub files: f64,
    /// How many marks of progress the agent gave; 2 are the whole signal.
    pub markers: f64,
    /// How much of the task's checklist is ticked.
    pub checklist: f64,
    /// 30 % output, 30 % files, 25 % markers, 15 % checklist.
    pub total: f64,
}

impl ScoreView {
    /// As JSON has it.
    #[must_use]
    pub fn of(score: Score) -> Self {
        Self {
            output: part(score.output),
            files: part(score.files),
            markers: part(score.markers),
            checklist: part(score.checklist),
            total: part(score.total),
        }
    }
}

fn part(ten_thousandths: u32) -> f64 {
    f64::from(ten_thousandths) / f64::from(WHOLE)
}

/// A score in words: `0.35 (output 1.00, files 0.02, markers 0.50, checklist 0.00)`.
#[must_use]
pub fn score_words(score: Score) -> String {
    let Score { output, files, markers, checklist, total } = score;
    let [output, files, markers, checklist, total] = [output, files, markers, checklist, total].map(shown);
    format!("{total} (output {output}, files {files}, markers {markers}, checklist {checklist})")
}

/// What is known of the scores of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProgressView {
    /// What says whether an iteration made progress: `gates` or `score`.
    pub by: &'static str,
    /// A score below this is none, where the score decides.
    pub threshold: f64,
    /// Iterations in a row with a score below it.
    pub low_scores: u32,
    /// The score of the newest iteration; null before there is one.
    pub score: Option<ScoreView>,
    /// The average of the last 5 scores; null before there is one.
    pub average: Option<f64>,
    /// The newest mark of the agent that ended last; null where it gave none.
    pub marker: Option<String>,
}

impl ProgressView {
    /// What is known now.
    #[must_use]
    pub fn of(state: &RunState) -> Self {
        let settings = &state.settings.shown().values.progress;
        Self {
            by: settings.progress_by.word(),
            threshold: part(settings.progress_threshold.0),
            low_scores: state.progress.streaks().low_score,
            score: state.progress.score().map(ScoreView::of),
            average: state.progress.average_score(AVERAGE_OF).map(part),
            marker: markers(state).last().cloned(),
        }
    }

    /// The scores in words, where they decide about progress.
    #[must_use]
    pub fn words(state: &RunState) -> Option<String> {
        let score = state.progress.score().filter(|_| decides(state))?;
        let average = state.progress.average_score(AVERAGE_OF).map(shown).unwrap_or_default();
        let low = match state.progress.streaks().low_score {
            0 => String::new(),
            low => format!(" · {low} in a row below {}", shown_threshold(state)),
        };
        Some(format!("{} · average of the last {AVERAGE_OF}: {average}{low}", score_words(score)))
    }
}

fn shown_threshold(state: &RunState) -> String {
    state.settings.shown().resolved.text(crate::settings::keys::progress_threshold()).to_owned()
}

/// Whether the score says what progress is.
#[must_use]
pub fn decides(state: &RunState) -> bool {
    state.settings.shown().values.progress.progress_by == ProgressBy::Score
}

/// The marks of progress that the agent gave last.
#[must_use]
pub fn markers(state: &RunState) -> &[String] {
    state.agent.report().map_or(&[], |report| &report.stream.progress)
}
