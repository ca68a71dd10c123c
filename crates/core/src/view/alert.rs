//! An alert as files and programs see it.
use std::collections::BTreeMap;

use serde::Serialize;

use crate::policy::alert::{Alert, AlertCause, AlertType, ContextValue, Severity};
use crate::run::RunState;
use crate::time::{self, At};

/// One alert: a line of the alerts log, an event, an entry of `loop status --json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AlertRow {
    /// Its type.
    #[serde(rename = "type")]
    pub alert_type: AlertType,
    /// How severe it is.
    pub severity: Severity,
    /// In a sentence.
    pub message: String,
    /// When.
    pub timestamp: String,
    /// After which iteration; 0 is before the first.
    pub iteration: u32,
    /// The numbers behind it.
    pub context: BTreeMap<String, ContextValue>,
    /// What it is about.
    pub cause: AlertCause,
}

impl AlertRow {
    /// The row of an alert that was recorded at this moment.
    #[must_use]
    pub fn of(at: At, alert: &Alert) -> Self {
        Self {
            alert_type: alert.alert_type,
            severity: alert.severity,
            message: alert.message.clone(),
            timestamp: time::rfc3339(at.wall_ms),
            iteration: alert.iteration,
            context: alert.context.clone(),
            cause: alert.cause,
        }
    }

    /// The newest alerts of a run, the oldest first.
    #[must_use]
    pub fn recent(state: &RunState) -> Vec<Self> {
        state.trouble.alerts.recent().map(|told| Self::of(told.at, &told.alert)).collect()
    }
}
