//! What the autonomous specification shows of a run: the lines of its log, its status, and what stands in its box.
use std::collections::VecDeque;

use super::row::{Liveness, Row};
use crate::policy::alert::{Alert, AlertCause};
use crate::policy::ladder::RungKind;
use crate::policy::score::WHOLE;
use crate::run::{
    AroundEvent, Decision, Entry, Event, Fact, InboxEffect, IterationJudgement, Order, RecoveryDecision, RunState,
    RungBegan, Status,
};
use crate::text;
use crate::time::{self, At};

/// Over so many iterations the progress is averaged.
const WINDOW: usize = 5;
/// How many of the newest markers are shown.
pub const MARKERS_SHOWN_MAX: usize = 5;
/// How much of a marker is shown in a line.
const MARKER_LETTERS_MAX: usize = 300;
/// How much of the rule is shown that chose an agent.
const RULE_LETTERS_MAX: usize = 200;
/// How much of a goal is shown.
const GOAL_LETTERS_MAX: usize = 200;

/// What a line is about: it has its own colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HarnessStyle {
    /// An iteration begins.
    Begins,
    /// An iteration is complete, with much progress.
    Good,
    /// The same with some.
    Fair,
    /// The same with hardly any.
    Poor,
    /// The agent reports progress.
    Marker,
    /// There was none for too long.
    Stuck,
    /// What is tried because of that.
    Recovery,
}

/// One line of the log, without its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HarnessLine {
    /// What it is about.
    pub style: HarnessStyle,
    /// Its words.
    pub text: String,
}

impl HarnessLine {
    /// The line as it stands in the file.
    #[must_use]
    pub fn in_file(&self, at: At) -> String {
        format!("[{}] {}\n", time::rfc3339(at.wall_ms), self.text)
    }
}

/// The fold over the journal that all of it comes from.
#[derive(Debug, Clone, Default)]
pub struct HarnessFold {
    scores: VecDeque<f64>,
    markers: VecDeque<String>,
    /// The iteration after which it was reported that the loop is stuck.
    stuck_at: Option<u32>,
}

impl HarnessFold {
    /// Takes a line of the journal in; `state` has it taken in. Returns lines for the log.
    pub fn take(&mut self, entry: &Entry, state: &RunState) -> Vec<HarnessLine> {
        match &entry.fact {
            Fact::Ordered { order: order @ Order::RunAgent { iteration, choice, .. }, .. } => {
                let rule = state.agent.rule().map(|rule| format!(", rule={}", text::one_line(rule, RULE_LETTERS_MAX)));
                let word = match (order.begins_iteration(), &rule) {
                    (true, _) => "starting",
                    (false, Some(_)) => "continues",
                    // Another attempt of the same agent is no news.
                    (false, None) => return Vec::new(),
                };
                let (cli, model) = (&choice.agent, choice.model.as_deref().unwrap_or("default"));
                let rule = rule.unwrap_or_default();
                let text = format!("Iteration {iteration} {word} (cli={cli}, model={model}{rule})");
                vec![line(HarnessStyle::Begins, &text)]
            }
            Fact::Decided(Decision::Round(judgement)) => {
                judgement.iteration.as_ref().map(|iteration| self.iteration(iteration, state)).unwrap_or_default()
            }
            Fact::Decided(Decision::Alert(alert)) => self.alert(alert, state).into_iter().collect(),
            Fact::Decided(Decision::Recovery(RecoveryDecision::Began(began))) => {
                let (strategy, details) = (strategy(began.rung), rung_details(began));
                vec![line(HarnessStyle::Recovery, &format!("Recovery: {strategy} - {details}"))]
            }
            Fact::Happened(input) => match &input.event {
                Event::Around(around) => around_lines(around, state),
                Event::Created(_)
                | Event::Opened
                | Event::Reopened { .. }
                | Event::OpenedForRequest { .. }
                | Event::Answered { .. }
                | Event::Requested { .. }
                | Event::Noticed(_)
                | Event::DeadlinePassed => Vec::new(),
            },
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {
                Vec::new()
            }
        }
    }

    /// A row without progress, or the begin of recovery: told once for an iteration.
    fn alert(&mut self, alert: &Alert, state: &RunState) -> Option<HarnessLine> {
        let is_stuck = matches!(alert.cause, AlertCause::NoProgress | AlertCause::Recovery);
        if !is_stuck || self.stuck_at == Some(alert.iteration) {
            return None;
        }
        self.stuck_at = Some(alert.iteration);
        let (at, count) = (alert.iteration, state.progress.streaks().no_progress);
        Some(line(HarnessStyle::Stuck, &format!("STUCK DETECTED at iteration {at} ({count} consecutive no-progress)")))
    }

    fn iteration(&mut self, judgement: &IterationJudgement, state: &RunState) -> Vec<HarnessLine> {
        let report = state.agent.report();
        let mut lines = Vec::new();
        for marker in report.iter().flat_map(|report| &report.stream.progress) {
            let marker = text::one_line(marker, MARKER_LETTERS_MAX);
            lines.push(line(HarnessStyle::Marker, &format!("Progress: {marker}")));
            keep(&mut self.markers, marker, MARKERS_SHOWN_MAX);
        }
        let score = progress_score(judgement);
        let style = match score {
            score if score > 0.3 => HarnessStyle::Good,
            score if score > 0.1 => HarnessStyle::Fair,
            _ => HarnessStyle::Poor,
        };
        keep(&mut self.scores, score, WINDOW);
        let duration = super::seconds(report.map_or(0, |report| report.duration_ms));
        let number = state.iteration;
        lines.push(line(style, &format!("Iteration {number} complete (progress={score:.2}, duration={duration:.1}s)")));
        lines
    }

    /// How the run stands.
    #[must_use]
    pub fn status(&self, state: &RunState, liveness: Liveness, now: At) -> Option<HarnessStatus> {
        let row = Row::of(state, liveness, now)?;
        let count = self.scores.len();
        #[expect(clippy::cast_precision_loss, reason = "at most five")]
        let average = if count == 0 { 0.0 } else { self.scores.iter().sum::<f64>() / count as f64 };
        Some(HarnessStatus {
            task: row.id.clone(),
            goal: text::one_line(&row.goal, GOAL_LETTERS_MAX),
            status: row.status,
            iteration: row.iteration,
            max_iterations: row.max_iterations,
            done: state.iterations_done(),
            average,
            averaged: u32::try_from(count).unwrap_or(0),
            cli: row.agent.clone(),
            model: row.model.clone().unwrap_or_else(|| "default".to_owned()),
            elapsed_ms: state.active_ms(if state.over.is_some() { state.now } else { now }),
            markers: self.markers.iter().cloned().collect(),
        })
    }
}

/// The progress of an iteration, from 0 to 1. Where it has no score, it is whether there was any.
#[must_use]
pub fn progress_score(judgement: &IterationJudgement) -> f64 {
    let measured = f64::from(u8::from(judgement.progress));
    judgement.score.map_or(measured, |score| f64::from(score.total) / f64::from(WHOLE))
}

/// The word of the specification for what a rung changes.
#[must_use]
pub fn strategy(rung: RungKind) -> String {
    match rung {
        RungKind::Mutate(_) => "mutation".to_owned(),
        RungKind::Branches(_) => "branch".to_owned(),
        RungKind::Effort | RungKind::Model | RungKind::EffortOrModel | RungKind::Vendor => "escalation".to_owned(),
        RungKind::Fresh | RungKind::Human => rung.name(),
    }
}

/// What a rung changes, in short.
#[must_use]
pub fn rung_details(began: &RungBegan) -> String {
    let words = began.choice.words();
    if !words.is_empty() {
        return words;
    }
    let name = began.rung.name();
    name.split_once(':').map_or(name.clone(), |(_, kind)| kind.to_owned())
}

/// A person asked for the status by a file in the inbox.
fn around_lines(around: &AroundEvent, state: &RunState) -> Vec<HarnessLine> {
    let AroundEvent::Inbox { effect: InboxEffect::Status, .. } = around else { return Vec::new() };
    let text = format!("Status: iteration {} (cli={})", state.iteration, state.agent_name());
    vec![line(HarnessStyle::Begins, &text)]
}

fn line(style: HarnessStyle, text: &str) -> HarnessLine {
    HarnessLine { style, text: text.to_owned() }
}

fn keep<T>(all: &mut VecDeque<T>, one: T, most: usize) {
    all.push_back(one);
    if all.len() > most {
        all.pop_front();
    }
}

/// How a run stands, in the words of the specification.
#[derive(Debug, Clone, PartialEq)]
pub struct HarnessStatus {
    /// The id of the run.
    pub task: String,
    /// The first line of its task.
    pub goal: String,
    /// Whether it works.
    pub status: Status,
    /// The iteration that was begun last.
    pub iteration: u32,
    /// The most there will be; none means no limit.
    pub max_iterations: Option<u32>,
    /// Iterations that came to an end.
    pub done: u32,
    /// The progress of the newest iterations, on average.
    pub average: f64,
    /// Of how many that is.
    pub averaged: u32,
    /// The agent.
    pub cli: String,
    /// Its model.
    pub model: String,
    /// How long it has been at work.
    pub elapsed_ms: u64,
    /// The newest markers, the oldest first.
    pub markers: Vec<String>,
}

impl HarnessStatus {
    /// The lines of `loop status`.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let most = self.max_iterations.map_or_else(|| "unlimited".to_owned(), |most| most.to_string());
        let mut lines = vec![
            format!("Task: {} ({})", self.task, self.goal),
            format!("Status: {}", self.status.name().to_uppercase()),
            format!("Iteration: {}/{most}", self.iteration),
            format!("Progress: {:.2} (last {} avg)", self.average, self.averaged),
            format!("CLI: {} ({})", self.cli, self.model),
            format!("Elapsed: {}", time::spaced(self.elapsed_ms)),
        ];
        lines.extend(self.markers.last().map(|marker| format!("Last marker: \"{marker}\"")));
        lines
    }
}
