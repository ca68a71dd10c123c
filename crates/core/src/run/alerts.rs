//! The alerts of a run: what was reported, and what the newest iterations showed.
use std::collections::{BTreeMap, VecDeque};

use super::judgement::IterationJudgement;
use crate::policy::alert::{Alert, AlertCause};
use crate::time::At;

/// How many alerts are remembered; the journal has all.
pub const ALERTS_MAX: usize = 50;

/// An alert with its moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimedAlert {
    /// When.
    pub at: At,
    /// What.
    pub alert: Alert,
}

/// What was reported, and what the newest iterations showed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlertMemory {
    recent: VecDeque<TimedAlert>,
    told: BTreeMap<AlertCause, u64>,
    pause: Option<String>,
    words: Option<String>,
    pub(super) identical: u32,
    pub(super) short: u32,
}

impl AlertMemory {
    /// The newest alerts, the oldest first.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &TimedAlert> {
        self.recent.iter()
    }

    /// The critical alert that pauses the run.
    #[must_use]
    pub fn pause(&self) -> Option<&str> {
        self.pause.as_deref()
    }

    pub(super) fn is_told(&self, cause: AlertCause, since: u64) -> bool {
        self.told.get(&cause) == Some(&since)
    }

    pub(super) fn record(&mut self, alert: &Alert, now: At) {
        self.told.insert(alert.cause, alert.since);
        if alert.pause {
            self.pause = Some(alert.message.clone());
        }
        self.recent.push_back(TimedAlert { at: now, alert: alert.clone() });
        if self.recent.len() > ALERTS_MAX {
            self.recent.pop_front();
        }
    }

    pub(super) fn iteration(&mut self, judgement: &IterationJudgement) {
        let words = judgement.evidence.words.clone();
        let same = words.is_some() && words == self.words;
        self.identical = if same { self.identical.saturating_add(1) } else { u32::from(words.is_some()) };
        self.words = words;
        self.short = if judgement.short { self.short.saturating_add(1) } else { 0 };
    }

    /// A person wants it to continue: what was reported stays told, but its next end is another one.
    pub(super) fn resumed(&mut self) {
        self.pause = None;
        self.told.remove(&AlertCause::Done);
        self.told.remove(&AlertCause::Unable);
    }
}
