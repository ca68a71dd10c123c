//! Alerts: which of what happened is reported at once, how severe it is, and that each cause is reported only once.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::runaway::{self, RunawayEvidence};
use crate::machine::Deciding;
use crate::time;

/// From this share of a limit on, in percent, it is reported that it is near.
pub const NEAR_PERCENT: u64 = 80;

/// How severe an alert is, the least severe first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Severity {
    /// Good to know.
    Info,
    /// It is done.
    Success,
    /// Worth a look.
    Warning,
    /// It ended, because it could not work.
    Error,
    /// Most likely nothing comes of it any more.
    Critical,
}

impl Severity {
    /// As people read it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Success => "SUCCESS",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Critical => "CRITICAL",
        }
    }
}

/// The type of an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertType {
    /// Another so many iterations are done.
    IterationMilestone,
    /// Iterations in a row without progress.
    NoProgress,
    /// Recovery began, or is used up.
    StuckRecovery,
    /// Most of the time, or of the iterations, is used.
    ApproachingLimit,
    /// A stronger model works from now on.
    ModelEscalation,
    /// The loop may run for ever.
    RunawayDetected,
    /// It is done.
    GoalComplete,
    /// It could not work.
    FatalError,
}

impl AlertType {
    /// The type as files and JSON have it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IterationMilestone => "iteration_milestone",
            Self::NoProgress => "no_progress",
            Self::StuckRecovery => "stuck_recovery",
            Self::ApproachingLimit => "approaching_limit",
            Self::ModelEscalation => "model_escalation",
            Self::RunawayDetected => "runaway_detected",
            Self::GoalComplete => "goal_complete",
            Self::FatalError => "fatal_error",
        }
    }
}

/// What an alert is about. One cause is reported once: a second time only when it began again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlertCause {
    /// So many iterations are done.
    Milestone,
    /// A row of iterations without progress.
    NoProgress,
    /// The limit of time.
    MaxTime,
    /// The limit of iterations.
    MaxIterations,
    /// Many iterations, with a limit of neither time nor iterations.
    UnlimitedIterations,
    /// A row of equal answers.
    IdenticalOutputs,
    /// A row of very short iterations.
    ShortIterations,
    /// Recovery began.
    Recovery,
    /// No rung of recovery is left but a person.
    RecoveryUsedUp,
    /// A rung of recovery chose another agent or model.
    OtherModel,
    /// The end, as wanted.
    Done,
    /// The end, because it could not work.
    Unable,
}

impl AlertCause {
    /// The type of an alert with this cause.
    #[must_use]
    pub const fn alert_type(self) -> AlertType {
        match self {
            Self::Milestone => AlertType::IterationMilestone,
            Self::NoProgress => AlertType::NoProgress,
            Self::MaxTime | Self::MaxIterations => AlertType::ApproachingLimit,
            Self::UnlimitedIterations | Self::IdenticalOutputs | Self::ShortIterations => AlertType::RunawayDetected,
            Self::Recovery | Self::RecoveryUsedUp => AlertType::StuckRecovery,
            Self::OtherModel => AlertType::ModelEscalation,
            Self::Done => AlertType::GoalComplete,
            Self::Unable => AlertType::FatalError,
        }
    }

    /// The cause as JSON has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Milestone => "milestone",
            Self::NoProgress => "no_progress",
            Self::MaxTime => "max_time",
            Self::MaxIterations => "max_iterations",
            Self::UnlimitedIterations => "unlimited_iterations",
            Self::IdenticalOutputs => "identical_outputs",
            Self::ShortIterations => "short_iterations",
            Self::Recovery => "recovery",
            Self::RecoveryUsedUp => "recovery_used_up",
            Self::OtherModel => "other_model",
            Self::Done => "done",
            Self::Unable => "unable",
        }
    }
}

/// One value of the context of an alert.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ContextValue {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// An alert, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// Its type.
    #[serde(rename = "type")]
    pub alert_type: AlertType,
    /// What it is about.
    pub cause: AlertCause,
    /// Which one of these causes: where a row began, which limit. The same number is not told again.
    #[serde(default)]
    pub since: u64,
    /// How severe it is.
    pub severity: Severity,
    /// In a sentence.
    pub message: String,
    /// After which iteration; 0 is before the first.
    pub iteration: u32,
    /// The numbers behind it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub context: BTreeMap<String, ContextValue>,
    /// The run is paused because of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pause: bool,
    /// A notification is sent because of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub notify: bool,
}

impl Alert {
    fn new(cause: AlertCause, since: u64, severity: Severity, message: String) -> Self {
        Self {
            alert_type: cause.alert_type(),
            cause,
            since,
            severity,
            message,
            iteration: 0,
            context: BTreeMap::new(),
            pause: false,
            notify: false,
        }
    }

    fn number(mut self, name: &str, value: impl Into<u64>) -> Self {
        self.context.insert(name.to_owned(), ContextValue::Number(value.into()));
        self
    }

    /// Adds a text to its context.
    #[must_use]
    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.context.insert(name.to_owned(), ContextValue::Text(value.to_owned()));
        self
    }

    /// `[WARNING] no_progress: …`.
    #[must_use]
    pub fn line(&self) -> String {
        format!("[{}] {}: {}", self.severity.word(), self.alert_type.name(), self.message)
    }
}

/// What is reported, by the settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AlertRules {
    /// All types, and not only signs of a runaway loop.
    pub all: bool,
    /// Every so many iterations.
    pub every: Option<u32>,
    /// So many iterations in a row without progress.
    pub stuck_after: Option<u32>,
    /// Signs of a runaway loop.
    pub runaway: runaway::Limits,
    /// A critical alert pauses the run.
    pub pause_on_critical: bool,
    /// A critical alert is sent as a notification.
    pub notify: bool,
}

/// How much of a limit is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitUse {
    /// So much.
    pub used: u64,
    /// Of so much.
    pub most: u64,
}

impl LimitUse {
    /// Whether it is near, and not reached yet.
    #[must_use]
    pub fn is_near(self) -> bool {
        let share = u128::from(self.used) * 100 >= u128::from(self.most) * u128::from(NEAR_PERCENT);
        share && self.used < self.most
    }
}

/// The rung of recovery that is under way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RungEvidence {
    /// After which iteration the loop was stuck.
    pub trigger: u32,
    /// Why it counted as stuck.
    pub cause: &'static str,
    /// Which rung it is, from 1.
    pub number: u32,
    /// What it changes.
    pub strategy: String,
    /// The agent or model that it chose.
    pub other_model: Option<String>,
    /// What a person needs to know, where the rung is a person.
    pub question: Option<String>,
}

/// What a run shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertEvidence {
    /// Iterations that came to an end.
    pub iteration: u32,
    /// An iteration was judged just now.
    pub judged: bool,
    /// Its gates pass: it does not run away.
    pub passes: bool,
    /// How long the run has been at work.
    pub elapsed_ms: u64,
    /// Its time, where that is limited.
    pub time: Option<LimitUse>,
    /// Its iterations, where they are limited.
    pub iterations: Option<LimitUse>,
    /// Iterations in a row without progress.
    pub no_progress: u32,
    /// Signs of a runaway loop.
    pub runaway: RunawayEvidence,
    /// What is tried because the loop is stuck.
    pub rung: Option<RungEvidence>,
}

/// Where a row of so many iterations began that ends with this one.
fn row_began(iteration: u32, count: u32) -> u64 {
    u64::from(iteration.saturating_sub(count).saturating_add(1))
}

/// The next alert that is due and was not told yet; none where all is reported.
#[must_use]
pub fn next(
    evidence: &AlertEvidence,
    rules: &AlertRules,
    told: &dyn Fn(AlertCause, u64) -> bool,
    _: &Deciding,
) -> Option<Alert> {
    let due = [
        time_is_near(evidence, rules),
        runaway(evidence, rules),
        no_progress(evidence, rules),
        recovery_begins(evidence, rules),
        recovery_is_used_up(evidence),
        model_escalation(evidence, rules),
        iterations_are_near(evidence, rules),
        milestone(evidence, rules),
    ];
    let alert = due.into_iter().flatten().find(|alert| !told(alert.cause, alert.since))?;
    let critical = alert.severity == Severity::Critical;
    let pause = critical && rules.pause_on_critical;
    // The end of a run, and a hold for a person, are notified anyway.
    let notify = critical && rules.notify && !pause && alert.cause != AlertCause::RecoveryUsedUp;
    Some(Alert { iteration: evidence.iteration, pause, notify, ..alert })
}

fn time_is_near(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let time = evidence.time.filter(|time| rules.all && time.is_near())?;
    let message = format!("{} of {} are used (--max-time)", time::spaced(time.used), time::spaced(time.most));
    let alert = Alert::new(AlertCause::MaxTime, time.most, Severity::Warning, message);
    Some(alert.text("limit", "max_time").number("used_seconds", time.used / 1000).number("seconds", time.most / 1000))
}

fn iterations_are_near(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let limit = evidence.iterations.filter(|limit| rules.all && evidence.judged && limit.is_near())?;
    let message = format!("{} of {} iterations are done (--max-iterations)", limit.used, limit.most);
    let alert = Alert::new(AlertCause::MaxIterations, limit.most, Severity::Warning, message);
    Some(alert.text("limit", "max_iterations").number("used", limit.used).number("most", limit.most))
}

/// All three signs are looked at; the most severe is reported.
fn runaway(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let signs = evidence.runaway;
    let alarm = runaway::judge(signs, rules.runaway).filter(|_| evidence.judged && !evidence.passes)?;
    let (since, count) = match alarm.kind {
        AlertCause::IdenticalOutputs => (row_began(evidence.iteration, signs.identical), signs.identical),
        AlertCause::ShortIterations => (row_began(evidence.iteration, signs.short), signs.short),
        AlertCause::Milestone
        | AlertCause::NoProgress
        | AlertCause::MaxTime
        | AlertCause::MaxIterations
        | AlertCause::UnlimitedIterations
        | AlertCause::Recovery
        | AlertCause::RecoveryUsedUp
        | AlertCause::OtherModel
        | AlertCause::Done
        | AlertCause::Unable => (0, signs.iterations),
    };
    Some(Alert::new(alarm.kind, since, alarm.severity, alarm.text).number("count", count))
}

fn no_progress(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let count = evidence.no_progress;
    rules.stuck_after.filter(|most| rules.all && evidence.judged && !evidence.passes && count >= *most)?;
    let word = if count == 1 { "iteration" } else { "iterations in a row" };
    let message = format!("no progress in {count} {word}");
    let since = row_began(evidence.iteration, count);
    Some(Alert::new(AlertCause::NoProgress, since, Severity::Warning, message).number("count", count))
}

fn recovery_begins(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let rung = evidence.rung.as_ref().filter(|rung| rules.all && rung.question.is_none())?;
    let message = format!("stuck after iteration {} ({}): {} is tried", rung.trigger, rung.cause, rung.strategy);
    let alert = Alert::new(AlertCause::Recovery, rung.trigger.into(), Severity::Warning, message);
    Some(alert.text("strategy", &rung.strategy).number("trigger", rung.trigger))
}

/// A person is needed: that is reported in every case.
fn recovery_is_used_up(evidence: &AlertEvidence) -> Option<Alert> {
    let rung = evidence.rung.as_ref()?;
    let message = rung.question.clone()?;
    let alert = Alert::new(AlertCause::RecoveryUsedUp, rung.trigger.into(), Severity::Critical, message);
    Some(alert.number("trigger", rung.trigger))
}

fn model_escalation(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let rung = evidence.rung.as_ref().filter(|_| rules.all)?;
    let other = rung.other_model.as_ref()?;
    let since = u64::from(rung.trigger) << 32 | u64::from(rung.number);
    let message = format!("{other} from now on, because the loop is stuck");
    Some(Alert::new(AlertCause::OtherModel, since, Severity::Info, message).text("choice", other))
}

fn milestone(evidence: &AlertEvidence, rules: &AlertRules) -> Option<Alert> {
    let done = evidence.iteration;
    let every = rules.every.filter(|every| evidence.judged && *every > 0 && done > 0)?;
    if !done.is_multiple_of(every) {
        return None;
    }
    let of = evidence.iterations.map_or_else(String::new, |limit| format!(" of {}", limit.most));
    let word = if done == 1 && of.is_empty() { "iteration" } else { "iterations" };
    let message = format!("{done}{of} {word} done in {}", time::spaced(evidence.elapsed_ms));
    let alert = Alert::new(AlertCause::Milestone, done.into(), Severity::Info, message);
    Some(alert.number("elapsed_seconds", evidence.elapsed_ms / 1000).number("no_progress", evidence.no_progress))
}

/// How a run ended, as far as an alert tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlertedEnd {
    /// It is done.
    Done,
    /// It could not work.
    Unable,
}

/// The alert of an end; none where it is not told.
#[must_use]
pub fn at_end(end: AlertedEnd, reason: &str, rules: &AlertRules, _: &Deciding) -> Option<Alert> {
    let (cause, severity) = match end {
        AlertedEnd::Done => (AlertCause::Done, Severity::Success),
        AlertedEnd::Unable => (AlertCause::Unable, Severity::Error),
    };
    rules.all.then(|| Alert::new(cause, 0, severity, reason.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::consult;

    #[test]
    fn a_limit_is_near_from_80_percent_until_it_is_reached() {
        // req: A-14 partly: the rule of approaching_limit
        let near = |used, most| LimitUse { used, most }.is_near();
        assert_eq!(
            [near(7, 10), near(8, 10), near(9, 10), near(10, 10), near(11, 10)],
            [false, true, true, false, false]
        );
        assert!(!near(1, 1) && near(u64::MAX - 1, u64::MAX), "no overflow");
    }

    #[test]
    fn only_a_critical_alert_pauses_and_is_notified_and_never_both() {
        // req: A-14 partly: the rule of pause_on_critical
        let limits = runaway::Limits { identical: Some(5), ..runaway::Limits::default() };
        let rules = AlertRules { runaway: limits, every: Some(5), notify: true, ..AlertRules::default() };
        let signs = RunawayEvidence { iterations: 5, limited: true, identical: 5, short: 0 };
        let evidence = AlertEvidence { iteration: 5, judged: true, runaway: signs, ..AlertEvidence::default() };
        let ask = |rules: &AlertRules, told: &dyn Fn(AlertCause, u64) -> bool| {
            let alert = consult(|deciding| next(&evidence, rules, told, deciding));
            alert.map(|alert| (alert.severity, alert.pause, alert.notify))
        };
        assert_eq!(ask(&rules, &|_, _| false), Some((Severity::Critical, false, true)));
        let pausing = AlertRules { pause_on_critical: true, ..rules };
        assert_eq!(ask(&pausing, &|_, _| false), Some((Severity::Critical, true, false)));
        let told = |cause, since| cause == AlertCause::IdenticalOutputs && since == 1;
        assert_eq!(ask(&pausing, &told), Some((Severity::Info, false, false)));
        assert_eq!(ask(&pausing, &|_, _| true), None);
    }
}
