//! A policy to replay: a file of settings of which only those count that end a run or choose the rungs of its ladder.
use thiserror::Error;

use super::selection::SelectionOrder;
use crate::settings::{Layer, Settings, SettingsError, from_toml, keys, parse_toml};

/// The settings that only say when a run ends. The agent never sees them.
pub const STOPPING_KEYS: [&str; 17] = [
    "breaker",
    "decline_alone",
    "max_cost",
    "max_done_claims",
    "max_identical_output",
    "max_iterations",
    "max_missing_status",
    "max_no_progress",
    "max_oscillation",
    "max_same_error",
    "max_test_only",
    "max_time",
    "max_tokens",
    "output_decline",
    "test_only_by",
    "worst_cost",
    "worst_tokens",
];

/// The settings of the ladder. What a rung would have brought is not recorded: exact is only whether and when another
/// rung, or none, would have come.
pub const LADDER_KEYS: [&str; 8] = [
    "branch_budget",
    "branch_count",
    "branch_exploration",
    "ladder",
    "prompt_mutations",
    "recover",
    "recovery_budget",
    "stuck_after",
];

/// Settings that depend on what other runs did at the same time.
const SHARED_KEYS: [&str; 4] = ["max_calls_per_day", "max_calls_per_hour", "max_cost_per_day", "max_tokens_per_day"];
/// The table of a policy file that is about plans.
const SELECTION: &str = "selection";

/// What is replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplayPolicy {
    /// Its name: that of its file.
    pub name: String,
    changes: Vec<PolicyChange>,
    /// How branches of plans are ranked; none as they were.
    pub selection: Option<SelectionOrder>,
}

/// One setting that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PolicyChange {
    key: &'static str,
    value: String,
}

/// Why a file is not a policy that can be replayed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PolicyError {
    /// It is no file of settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// It changes what the agent sees.
    #[error("{key} changes what the agent sees or does: only live runs can tell")]
    NeedsLiveRuns {
        /// The setting.
        key: String,
    },
    /// It depends on other runs.
    #[error("{key} depends on what all other loops did that day: only live runs can tell")]
    NeedsAllRuns {
        /// The setting.
        key: String,
    },
    /// The part about plans is wrong.
    #[error("selection: {why}")]
    Selection {
        /// Why.
        why: String,
    },
    /// Nothing is replaced.
    #[error("it replaces nothing")]
    Empty,
}

impl PolicyError {
    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::Settings(error) => error.hint(),
            Self::NeedsLiveRuns { .. } => {
                "leave it out; start some loops with it and compare: loop report, loop agents".to_owned()
            }
            Self::NeedsAllRuns { .. } => "leave it out; what is left of limits: loop limits".to_owned(),
            Self::Selection { .. } => "for example: [selection] columns = [\"gates\", \"cost\"]".to_owned(),
            Self::Empty => format!("set one of: {}, {}", STOPPING_KEYS.join(", "), LADDER_KEYS.join(", ")),
        }
    }
}

impl ReplayPolicy {
    /// Reads a policy from a file of settings. `name` is what it is called.
    ///
    /// # Errors
    /// When it sets something that only live runs can tell, or nothing at all.
    pub fn read(text: &str, name: &str) -> Result<Self, PolicyError> {
        let mut document = parse_toml(text, name)?.into_mut();
        let table = document.remove(SELECTION);
        let selection = table.map(|table| SelectionOrder::read(&table)).transpose();
        let selection = selection.map_err(|why| PolicyError::Selection { why })?;
        let mut changes = Vec::new();
        for given in from_toml(&document.to_string(), name, Layer::User)? {
            let key = given.key.name;
            if SHARED_KEYS.contains(&key) {
                return Err(PolicyError::NeedsAllRuns { key: key.to_owned() });
            }
            if !STOPPING_KEYS.contains(&key) && !LADDER_KEYS.contains(&key) {
                return Err(PolicyError::NeedsLiveRuns { key: key.to_owned() });
            }
            changes.push(PolicyChange { key, value: given.value });
        }
        if changes.is_empty() && selection.is_none() {
            return Err(PolicyError::Empty);
        }
        Ok(Self { name: name.to_owned(), changes, selection })
    }

    /// The policy that each run had itself.
    #[must_use]
    pub fn own() -> Self {
        Self { name: "as recorded".to_owned(), ..Self::default() }
    }

    /// The settings of a run with those of the policy in their place.
    #[must_use]
    pub fn replaced(&self, own: &Settings) -> Settings {
        let mut settings = own.clone();
        for PolicyChange { key, value } in &self.changes {
            settings.change(key, value);
        }
        settings
    }

    /// Whether it has another limit of time than a run had.
    pub(super) fn changes_time(&self) -> bool {
        self.changes.iter().any(|change| change.key == keys::max_time().name)
    }

    /// Whether it has another ladder, or another moment for it.
    pub(super) fn changes_ladder(&self) -> bool {
        self.changes.iter().any(|change| LADDER_KEYS.contains(&change.key))
    }

    /// What it replaces, as `key = value`, and how branches are ranked.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let changes = self.changes.iter().map(|change| format!("{} = {}", change.key, change.value));
        changes.chain(self.selection.iter().flat_map(SelectionOrder::words)).collect()
    }
}
