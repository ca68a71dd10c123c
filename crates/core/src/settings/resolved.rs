//! What holds in the end: every key with value and origin, and the typed form that decisions read.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::keys::Key;
use super::layers::{Layer, Origin};
use super::value;
use crate::policy::gate::Promise;

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

/// A gate: a name and the command that judges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSpec {
    /// What it is called.
    pub name: String,
    /// The line as the user wrote it.
    pub command: String,
}

impl GateSpec {
    /// How it is run and judged.
    #[must_use]
    pub fn promise(&self) -> Promise<'_> {
        Promise::parse(&self.command)
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
    /// All of them as text.
    pub resolved: Resolved,
}

impl Settings {
    /// Reads the typed form off the texts. Texts were checked when they came in; one that cannot be
    /// read any more (an old journal) counts as no limit for caps and as the longest time for limits.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        let millis = |key: &str| value::millis(resolved.get(key));
        let promise = resolved.get("promise");
        let gate = GateSpec { name: "promise".to_owned(), command: promise.to_owned() };
        Self {
            max_iterations: resolved.get("max_iterations").parse().ok(),
            max_time_ms: millis("max_time"),
            timeout_ms: millis("timeout").unwrap_or(u64::MAX),
            idle_timeout_ms: millis("idle_timeout"),
            delay_ms: millis("delay"),
            gate_timeout_ms: millis("gate_timeout").unwrap_or(u64::MAX),
            gates: if promise.is_empty() { Vec::new() } else { vec![gate] },
            agent: resolved.get("agent").to_owned(),
            agent_cmd: resolved.get("agent_cmd").to_owned(),
            session_expiry_ms: millis("session_expiry"),
            notify: resolved.is_on("notify"),
            notification_cmd: resolved.get("notification_cmd").to_owned(),
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
