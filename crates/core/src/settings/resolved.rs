//! What holds in the end: every key with value and origin, and the typed form that decisions read.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::gates::{self, GateSpec, PROMISE};
use super::keys::Key;
use super::layers::{Layer, Origin};
use super::profiles;
use super::value;
use crate::policy::breaker::Thresholds;
use crate::policy::prices::Prices;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Valued {
    /// The canonical text; empty means *not set*.
    pub value: String,
    /// Where it came from.
    pub origin: Origin,
}

/// Every key with its value. Part of the first fact of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resolved(BTreeMap<String, Valued>);

impl Resolved {
    /// The catalogue's own values.
    #[must_use]
    pub fn defaults(keys: &[Key]) -> Self {
        let value = |key: &Key| Valued {
            value: key.default.to_owned(),
            origin: Origin { layer: Layer::Default, place: String::new() },
        };
        Self(keys.iter().map(|key| (key.name.to_owned(), value(key))).collect())
    }

    /// The value of a key; empty where it is not set.
    #[must_use]
    pub fn get(&self, key: &str) -> &str {
        self.0.get(key).map_or("", |valued| &valued.value)
    }

    /// How a person sets a threshold of the breaker to what it is, in the words of the front that they use.
    #[must_use]
    pub fn in_words(&self, key: &str) -> String {
        let value = self.get(key);
        profiles::words(self.get("profile"), key, value)
            .unwrap_or_else(|| format!("--{} {value}, --breaker off turns it off", key.replace('_', "-")))
    }

    /// The value of a key with its origin.
    #[must_use]
    pub fn valued(&self, key: &str) -> Option<&Valued> {
        self.0.get(key)
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, key: &str) -> bool {
        self.get(key) == "true"
    }

    /// Sets a value.
    pub fn set(&mut self, key: &str, valued: Valued) {
        self.0.insert(key.to_owned(), valued);
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Valued)> {
        self.0.iter().map(|(key, valued)| (key.as_str(), valued))
    }
}

/// The settings as decisions read them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// How many iterations at most; none means no limit.
    pub max_iterations: Option<u32>,
    /// How long at most; none means no limit.
    pub max_time_ms: Option<u64>,
    /// How long an agent may work.
    pub timeout_ms: u64,
    /// How long an agent may show no sign of life; none means for ever.
    pub idle_timeout_ms: Option<u64>,
    /// How long to wait between iterations; none means not at all.
    pub delay_ms: Option<u64>,
    /// How long a gate may take.
    pub gate_timeout_ms: u64,
    /// What has to hold.
    pub gates: Vec<GateSpec>,
    /// The agent's name.
    pub agent: String,
    /// Its command.
    pub agent_cmd: String,
    /// How long a session of the agent's may be gone on with; none means for ever.
    pub session_expiry_ms: Option<u64>,
    /// Whether the end is told.
    pub notify: bool,
    /// By which command.
    pub notification_cmd: String,
    /// When a loop that gets nowhere is stopped.
    pub breaker: Thresholds,
    /// What may be spent.
    pub caps: Caps,
    /// What tokens cost where an agent does not tell its cost.
    pub prices: Prices,
    /// Without a gate: how often in a row the agent must say that it is done.
    pub completion_threshold: u32,
    /// All of them as text.
    pub resolved: Resolved,
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
    /// What a call counts as that does not tell its cost, where somebody has set it.
    pub worst_micros: Option<u64>,
    /// What a call counts as that does not tell its tokens.
    pub worst_tokens: u64,
}

impl Caps {
    fn of(resolved: &Resolved) -> Self {
        let number = |key: &str| resolved.get(key).parse().ok();
        let money = |key: &str| value::micros(resolved.get(key));
        Self {
            calls_per_hour: resolved.get("max_calls_per_hour").parse().ok(),
            calls_per_day: resolved.get("max_calls_per_day").parse().ok(),
            cost_micros: money("max_cost"),
            cost_per_day_micros: money("max_cost_per_day"),
            tokens: number("max_tokens"),
            tokens_per_day: number("max_tokens_per_day"),
            worst_micros: money("worst_cost"),
            worst_tokens: number("worst_tokens").unwrap_or(0),
        }
    }

    /// Whether a call must be asked for at the ledger of all runs.
    #[must_use]
    pub fn shared(&self) -> bool {
        self.calls_per_hour.is_some()
            || self.calls_per_day.is_some()
            || self.cost_per_day_micros.is_some()
            || self.tokens_per_day.is_some()
    }
}

impl Settings {
    /// Reads the typed form off the texts. Texts were checked when they came in; one that cannot be
    /// read any more (an old journal) counts as no limit for caps and as the longest time for limits.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        let millis = |key: &str| value::millis(resolved.get(key));
        let promise = resolved.get(PROMISE);
        let promise = (!promise.is_empty()).then(|| GateSpec::new(PROMISE, promise));
        let gates = promise.into_iter().chain(gates::read(resolved.get("gate")).unwrap_or_default());
        Self {
            max_iterations: resolved.get("max_iterations").parse().ok(),
            max_time_ms: millis("max_time"),
            timeout_ms: millis("timeout").unwrap_or(u64::MAX),
            idle_timeout_ms: millis("idle_timeout"),
            delay_ms: millis("delay"),
            gate_timeout_ms: millis("gate_timeout").unwrap_or(u64::MAX),
            gates: gates.collect(),
            agent: resolved.get("agent").to_owned(),
            agent_cmd: resolved.get("agent_cmd").to_owned(),
            session_expiry_ms: millis("session_expiry"),
            notify: resolved.is_on("notify"),
            notification_cmd: resolved.get("notification_cmd").to_owned(),
            breaker: Thresholds::of(resolved),
            caps: Caps::of(resolved),
            prices: Prices::parse(resolved.get("prices")).unwrap_or_default(),
            completion_threshold: resolved.get("completion_threshold").parse().unwrap_or(2),
            resolved: resolved.clone(),
        }
    }

    /// Takes a changed value in.
    pub fn change(&mut self, key: &str, value: &str) {
        let origin = Origin { layer: Layer::Flag, place: "loop resume".to_owned() };
        self.resolved.set(key, Valued { value: value.to_owned(), origin });
        *self = Self::of(&self.resolved);
    }
}
