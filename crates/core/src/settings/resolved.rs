//! The settings that apply: every key with value and origin, and the typed form that decisions read.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::catalogue::{
    AgentSettings, BreakerSettings, BudgetSettings, GateSettings, Key, LimitSettings, Values, catalogue, keys,
};
use super::choices::{BreakerMode, TestOnlyBy};
use super::gates::{GateSpec, PROMISE};
use super::layers::{Layer, Origin};
use super::profiles;
use crate::agent::{AgentEnv, Permissions};
use crate::policy::breaker::{Thresholds, Trip};
use crate::policy::proof::FindingKind;
use crate::policy::router::AgentArm;
use crate::policy::runaway;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Valued {
    /// The canonical text; empty means *not set*.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Every key with its text and origin: part of the first fact of a run, and for people to see. Code reads [`Values`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resolved(BTreeMap<String, Valued>);

impl Resolved {
    /// The catalogue's own values.
    #[must_use]
    pub fn defaults() -> Self {
        let value = |key: &Key| Valued {
            value: key.default.to_owned(),
            origin: Origin { layer: Layer::Default, place: String::new() },
        };
        Self(catalogue().map(|key| (key.name.to_owned(), value(key))).collect())
    }

    /// The text of a key: its default where the key is not there (a run of an earlier version), empty where it is not
    /// set.
    #[must_use]
    pub fn text(&self, key: &Key) -> &str {
        self.0.get(key.name).map_or(key.default, |valued| &valued.value)
    }

    /// Where the value of a key came from.
    #[must_use]
    pub fn origin(&self, key: &Key) -> Option<&Origin> {
        self.0.get(key.name).map(|valued| &valued.origin)
    }

    /// Whether a key was set by a flag.
    #[must_use]
    pub fn is_typed(&self, key: &Key) -> bool {
        self.origin(key).is_some_and(|origin| origin.layer == Layer::Flag)
    }

    /// Sets a value.
    pub fn put(&mut self, key: &Key, value: String, origin: Origin) {
        self.0.insert(key.name.to_owned(), Valued { value, origin });
    }

    /// How a person sets a threshold of the breaker to what it is, in the words of the profile that they use.
    #[must_use]
    pub fn how_to_set(&self, key: &Key) -> String {
        let value = self.text(key);
        profiles::words(self.text(keys::profile()), key, value)
            .unwrap_or_else(|| format!("--{} {value}, --breaker off turns it off", key.flag.long))
    }

    /// How a person sets the threshold of a trip to what it is.
    #[must_use]
    pub fn how_to_set_threshold(&self, trip: Trip) -> String {
        self.how_to_set(match trip {
            Trip::Oscillation => keys::max_oscillation(),
            Trip::TestOnly => keys::max_test_only(),
            Trip::SameError => keys::max_same_error(),
            Trip::Decline => keys::output_decline(),
            Trip::MissingStatus => keys::max_missing_status(),
            Trip::DoneClaims => keys::max_done_claims(),
            Trip::Identical => keys::max_identical_output(),
            Trip::NoProgress => keys::max_no_progress(),
        })
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Valued)> {
        self.0.iter().map(|(key, valued)| (key.as_str(), valued))
    }
}

/// The settings of a run: typed, and as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Every setting with its type.
    pub values: Values,
    /// What has to pass: the promise, then the others.
    pub gates: Vec<GateSpec>,
    /// When a loop without progress is stopped.
    pub breaker: Thresholds,
    /// What may be spent.
    pub caps: Caps,
    /// All of them as text, with their origins.
    pub resolved: Resolved,
    /// What may speak against a pass and is accepted from the start.
    pub accepted: Vec<FindingKind>,
    // The fields below are those of `values` that are read most often. A new setting needs no field here.
    /// How long an agent may work.
    pub timeout_ms: u64,
    /// How long an agent may show no sign of life; none means for ever.
    pub idle_timeout_ms: Option<u64>,
    /// How long a gate may take.
    pub gate_timeout_ms: u64,
    /// The agent's name.
    pub agent: String,
    /// Its command.
    pub agent_cmd: String,
    /// How long a session of the agent may be continued; none means for ever.
    pub session_expiry_ms: Option<u64>,
    /// Whether the end is reported.
    pub notify: bool,
    /// Without a gate: how often in a row the agent must say that it is done.
    pub completion_threshold: u32,
}

/// What may be spent; none means no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caps {
    /// Calls in any hour.
    pub calls_per_hour: Option<u32>,
    /// Calls in a day, by all runs together.
    pub calls_per_day: Option<u32>,
    /// Millionths of a dollar.
    pub cost_micros: Option<u64>,
    /// The same in a day, by all runs together.
    pub cost_per_day_micros: Option<u64>,
    /// Tokens in and out.
    pub tokens: Option<u64>,
    /// The same in a day, by all runs together.
    pub tokens_per_day: Option<u64>,
    /// The cost of a call that does not report its cost, where it is set.
    pub worst_micros: Option<u64>,
    /// The tokens of a call that does not report its tokens, where that is set.
    pub worst_tokens: Option<u64>,
}

impl Caps {
    fn of(budget: &BudgetSettings) -> Self {
        Self {
            calls_per_hour: budget.max_calls_per_hour,
            calls_per_day: budget.max_calls_per_day,
            cost_micros: budget.max_cost.map(|cost| cost.0),
            cost_per_day_micros: budget.max_cost_per_day.map(|cost| cost.0),
            tokens: budget.max_tokens.map(u64::from),
            tokens_per_day: budget.max_tokens_per_day.map(u64::from),
            worst_micros: budget.worst_cost.map(|cost| cost.0),
            worst_tokens: budget.worst_tokens.map(u64::from),
        }
    }

    /// Whether a call must be reserved in the ledger of all runs.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.calls_per_hour.is_some()
            || self.calls_per_day.is_some()
            || self.cost_per_day_micros.is_some()
            || self.tokens_per_day.is_some()
    }
}

impl Values {
    /// The agents that may work, the one that works first at the front. Its model is the one that is set for it.
    #[must_use]
    pub fn enabled(&self) -> Vec<AgentArm> {
        let first = AgentArm { agent: self.agent.agent.clone(), model: self.agent.agent_model.clone() };
        let listed = self.router.agents.0.as_slice();
        // The list begins with the same agent.
        let others = match listed {
            [same, others @ ..] if same.agent == first.agent => others,
            _ => listed,
        };
        std::iter::once(first).chain(others.iter().cloned()).collect()
    }
}

impl AgentSettings {
    /// What the agent may do.
    #[must_use]
    pub fn allowed(&self) -> Permissions {
        if self.skip_permissions { Permissions::All } else { self.permissions }
    }

    /// Whether the agent is to work in a container.
    #[must_use]
    pub fn in_container(&self) -> bool {
        self.container.is_some() || self.image.is_some()
    }

    /// More variables for the agent. What cannot be read is refused before a start.
    #[must_use]
    pub fn more_variables(&self) -> AgentEnv {
        self.agent_env.as_deref().and_then(|text| AgentEnv::parse(text).ok()).unwrap_or_default()
    }

    /// The names of variables that are declared as secret.
    pub fn secret_names(&self) -> impl Iterator<Item = &str> {
        let names = self.secrets.iter().flat_map(|names| names.split([',', '\n']));
        names.map(str::trim).filter(|name| !name.is_empty())
    }
}

impl GateSettings {
    /// What has to pass: the promise, then the others.
    #[must_use]
    pub fn all(&self) -> Vec<GateSpec> {
        let promise = self.promise.as_ref();
        let promise = promise.map(|command| GateSpec { red: self.red, ..GateSpec::new(PROMISE, command) });
        promise.into_iter().chain(self.gate.iter().cloned()).collect()
    }
}

impl BreakerSettings {
    /// When each count trips; all off where the breaker is.
    #[must_use]
    pub fn thresholds(&self) -> Thresholds {
        if self.breaker == BreakerMode::Off {
            return Thresholds::default();
        }
        Thresholds {
            no_progress: self.max_no_progress,
            same_error: self.max_same_error,
            oscillation: self.max_oscillation,
            identical: self.max_identical_output,
            test_only: self.max_test_only,
            decline_percent: self.output_decline,
            missing_status: self.max_missing_status,
            done_claims: self.max_done_claims,
            tests_by_word: self.test_only_by == TestOnlyBy::Claimed,
            decline_alone: self.decline_alone,
        }
    }
}

impl LimitSettings {
    /// How long a run may be at work; none means no limit.
    #[must_use]
    pub fn max_time_ms(&self) -> Option<u64> {
        self.max_time.map(|time| time.0)
    }

    /// What a runaway loop is warned of.
    #[must_use]
    pub fn warnings(&self) -> runaway::Limits {
        runaway::Limits {
            iterations: self.max_iterations_warning,
            identical: self.identical_output_window,
            shortest_ms: self.min_iteration_duration.map(|shortest| shortest.0),
        }
    }
}

impl Settings {
    /// Reads the typed form from the texts.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        let values = Values::of(resolved);
        Self {
            gates: values.gate.all(),
            accepted: values.gate.accept.iter().filter_map(|word| FindingKind::accepted_by(word)).collect(),
            breaker: values.breaker.thresholds(),
            caps: Caps::of(&values.budget),
            resolved: resolved.clone(),
            timeout_ms: values.limits.timeout.0,
            idle_timeout_ms: values.limits.idle_timeout.map(|time| time.0),
            gate_timeout_ms: values.gate.gate_timeout.0,
            agent: values.agent.agent.clone(),
            agent_cmd: values.agent.agent_cmd.clone().unwrap_or_default(),
            session_expiry_ms: values.agent.session_expiry.map(|time| time.0),
            notify: values.output.notify,
            completion_threshold: values.gate.completion_threshold.unwrap_or(2),
            values,
        }
    }

    /// Sets a value.
    pub fn put(&mut self, key: &Key, value: String, origin: Origin) {
        self.resolved.put(key, value, origin);
        *self = Self::of(&self.resolved);
    }

    /// Takes a changed value in: the key is the name in a fact.
    pub fn change(&mut self, key: &str, value: &str) {
        let origin = Origin { layer: Layer::Flag, place: "loop resume".to_owned() };
        self.resolved.0.insert(key.to_owned(), Valued { value: value.to_owned(), origin });
        *self = Self::of(&self.resolved);
    }
}
