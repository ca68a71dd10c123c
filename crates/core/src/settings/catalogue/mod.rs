//! The catalogue: every setting once, by topic.
//!
//! A line of a topic gives the typed field that code reads, the [`Key`] from which files, flags, help, the reference
//! page and the schema are made, and the reader from text. To add a setting, add its lines to a topic.
use super::amounts::{Millis, SettingValue};
use super::choices::RunMode;
use super::resolved::Resolved;
use super::value::Kind;

/// The help of a key: its own expression where it has one, else its doc comment.
macro_rules! help_or {
    ([$help:expr], $doc:expr) => {
        $help
    };
    ([], $doc:expr) => {
        $doc
    };
}

/// A topic: a struct with a typed field for each key, and the keys themselves, from the same lines. The doc comment of
/// a key is also its help.
macro_rules! topic {
    (
        $(#[doc = $about:literal])+
        $topic:ident {
            $($(#[doc = $doc:literal])+ $name:ident: $type:ty $([$help:expr])? { $($part:ident: $value:expr),+ $(,)? })+
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $topic {
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        /// Each key of this topic by its name.
        pub(super) mod keys {
            use super::*;
            use crate::settings::catalogue::{BASE, Key};

            $(
                #[doc = concat!("The key `", stringify!($name), "`.")]
                #[must_use]
                pub const fn $name() -> &'static Key {
                    const {
                        &Key {
                            name: stringify!($name),
                            doc: help_or!([$($help)?], concat!($($doc),+).trim_ascii_start()),
                            $($part: $value,)+
                            ..BASE
                        }
                    }
                }
            )+
        }

        impl crate::settings::catalogue::Topic for $topic {
            const KEYS: &'static [&'static crate::settings::catalogue::Key] = &[$(keys::$name()),+];

            fn of(resolved: &crate::settings::resolved::Resolved) -> Self {
                Self { $($name: crate::settings::catalogue::read(resolved, keys::$name()),)+ }
            }
        }
    };
}

mod agent;
mod alerts;
mod breaker;
mod budget;
mod checkpoint;
mod context;
mod environment;
mod gate;
mod guard;
mod leash;
mod limits;
mod lists;
mod output;
mod progress;
mod recovery;
mod router;
mod start;

pub use agent::AgentSettings;
pub use alerts::AlertSettings;
pub use breaker::BreakerSettings;
pub use budget::BudgetSettings;
pub use checkpoint::CheckpointSettings;
pub use context::ContextSettings;
pub use environment::EnvironmentSettings;
pub use gate::GateSettings;
pub use guard::GuardSettings;
pub use leash::LeashSettings;
pub use limits::LimitSettings;
pub use lists::ListSettings;
pub use output::OutputSettings;
pub use progress::ProgressSettings;
pub use recovery::RecoverySettings;
pub use router::RouterSettings;
pub use start::StartSettings;

/// Every key by its name, for its text, its origin or its help.
pub mod keys {
    pub use super::agent::keys::*;
    pub use super::alerts::keys::*;
    pub use super::breaker::keys::*;
    pub use super::budget::keys::*;
    pub use super::checkpoint::keys::*;
    pub use super::context::keys::*;
    pub use super::environment::keys::*;
    pub use super::gate::keys::*;
    pub use super::guard::keys::*;
    pub use super::leash::keys::*;
    pub use super::limits::keys::*;
    pub use super::lists::keys::*;
    pub use super::output::keys::*;
    pub use super::progress::keys::*;
    pub use super::recovery::keys::*;
    pub use super::router::keys::*;
    pub use super::start::keys::*;
}

/// The headings and keys of all topics, in the order in which help shows them.
const TOPICS: &[(&str, &[&Key])] = &[
    ("Gates (when a loop is done)", GateSettings::KEYS),
    ("Limits of time and number", LimitSettings::KEYS),
    ("Agent", AgentSettings::KEYS),
    ("Several agents", RouterSettings::KEYS),
    ("What the agent gets to read", ContextSettings::KEYS),
    ("What the agent may not change", GuardSettings::KEYS),
    ("Progress (what counts as progress)", ProgressSettings::KEYS),
    ("Breaker (when a loop makes no progress)", BreakerSettings::KEYS),
    ("Recovery (what is tried when a loop is stuck)", RecoverySettings::KEYS),
    ("Long leash (to judge the breaker)", LeashSettings::KEYS),
    ("Money, tokens and calls", BudgetSettings::KEYS),
    ("Lists of work (what checks an item)", ListSettings::KEYS),
    ("Checkpoints", CheckpointSettings::KEYS),
    ("Surroundings", EnvironmentSettings::KEYS),
    ("Alerts and files for other programs", AlertSettings::KEYS),
    ("Start", StartSettings::KEYS),
    ("End and notification", OutputSettings::KEYS),
];

/// Every setting with its type, by topic. This is what code reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    /// When a loop is done.
    pub gate: GateSettings,
    /// How long it may take.
    pub limits: LimitSettings,
    /// Who works.
    pub agent: AgentSettings,
    /// What prompts say about earlier iterations.
    pub context: ContextSettings,
    /// Which of several agents works.
    pub router: RouterSettings,
    /// What the agent must leave alone.
    pub guard: GuardSettings,
    /// What counts as progress.
    pub progress: ProgressSettings,
    /// When a loop without progress is stopped.
    pub breaker: BreakerSettings,
    /// What is tried when a loop is stuck.
    pub recovery: RecoverySettings,
    /// Which loops are ended later.
    pub leash: LeashSettings,
    /// What may be spent.
    pub budget: BudgetSettings,
    /// What checks an item of a list, and how much it may use.
    pub lists: ListSettings,
    /// How iterations are recorded.
    pub checkpoint: CheckpointSettings,
    /// What it sees of its surroundings.
    pub environment: EnvironmentSettings,
    /// What is reported at once, and where it is published.
    pub alerts: AlertSettings,
    /// What a start takes.
    pub start: StartSettings,
    /// How a loop ends and what it reports.
    pub output: OutputSettings,
}

impl Values {
    /// Reads the texts. A key that is not there has its default.
    #[must_use]
    pub fn of(resolved: &Resolved) -> Self {
        Self {
            gate: Topic::of(resolved),
            limits: Topic::of(resolved),
            agent: Topic::of(resolved),
            context: Topic::of(resolved),
            router: Topic::of(resolved),
            guard: Topic::of(resolved),
            progress: Topic::of(resolved),
            breaker: Topic::of(resolved),
            recovery: Topic::of(resolved),
            leash: Topic::of(resolved),
            budget: Topic::of(resolved),
            lists: Topic::of(resolved),
            checkpoint: Topic::of(resolved),
            environment: Topic::of(resolved),
            alerts: Topic::of(resolved),
            start: Topic::of(resolved),
            output: Topic::of(resolved),
        }
    }
}

/// The most iterations in the mode conservative.
const CONSERVATIVE_ITERATIONS: u32 = 100;
/// A milestone in the mode conservative.
const CONSERVATIVE_MILESTONE: u32 = 5;

/// What the mode makes of limits that have keys of their own.
impl Values {
    /// How many iterations at most.
    #[must_use]
    pub fn iterations_max(&self) -> Option<u32> {
        let set = self.limits.max_iterations;
        match self.environment.mode {
            RunMode::Normal | RunMode::Turbo => set,
            RunMode::Conservative => Some(set.map_or(CONSERVATIVE_ITERATIONS, |set| set.min(CONSERVATIVE_ITERATIONS))),
        }
    }

    /// After how many iterations a milestone is reported.
    #[must_use]
    pub fn alert_every(&self) -> Option<u32> {
        let set = self.alerts.alert_every;
        match self.environment.mode {
            RunMode::Normal | RunMode::Turbo => set,
            RunMode::Conservative => Some(set.map_or(CONSERVATIVE_MILESTONE, |set| set.min(CONSERVATIVE_MILESTONE))),
        }
    }

    /// Whether a critical alert pauses the loop.
    #[must_use]
    pub fn pauses_on_critical(&self) -> bool {
        self.alerts.pause_on_critical || self.environment.mode == RunMode::Conservative
    }

    /// How long to wait between two iterations.
    #[must_use]
    pub fn delay(&self) -> Option<Millis> {
        self.limits.delay.filter(|_| self.environment.mode != RunMode::Turbo)
    }
}

/// The defaults of the catalogue.
impl Default for Values {
    fn default() -> Self {
        Self::of(&Resolved::default())
    }
}

/// All keys, in the order in which help shows them.
pub fn catalogue() -> impl Iterator<Item = &'static Key> {
    topics().flat_map(|(_, keys)| keys.iter().copied())
}

/// The topics with their headings, in the order in which help shows them.
pub fn topics() -> impl Iterator<Item = (&'static str, &'static [&'static Key])> {
    TOPICS.iter().copied()
}

/// The key of that name: for names that come from a person or a file.
#[must_use]
pub fn key(name: &str) -> Option<&'static Key> {
    catalogue().find(|key| key.name == name)
}

/// A part of the catalogue.
trait Topic {
    /// Its keys.
    const KEYS: &'static [&'static Key];
    /// Reads its fields.
    fn of(resolved: &Resolved) -> Self;
}

fn read<T: SettingValue>(resolved: &Resolved, key: &Key) -> T {
    debug_assert!(T::fits(key.kind), "the type of {} is not that of its kind", key.name);
    T::read(resolved.text(key))
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name in files.
    pub name: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its default; empty means *not set*.
    pub default: &'static str,
    /// What it does, in a sentence or two for people.
    pub doc: &'static str,
    /// Its flag.
    pub flag: Flag,
    /// Its environment variable.
    pub env: Option<&'static str>,
    /// Whether it is allowed in the user's file.
    pub in_file: bool,
    /// Whether it is allowed in a project's file.
    pub in_project: InProject,
    /// Whether it may change when a run is resumed.
    pub may_change: bool,
}

/// A setting is its name.
impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Key {}

/// How a key is written on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// `--long`.
    pub long: &'static str,
    /// `-s`.
    pub short: Option<char>,
    /// The name of the value in the help; switches have none.
    pub value: &'static str,
}

/// What a project's file may do to a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProject {
    /// Set it: no safety depends on it.
    Yes,
    /// Lower it.
    Narrow,
    /// Turn it on, never off.
    TurnOn,
    /// Add to the list, never take out of it.
    Extend,
    /// Set it once the user has approved the file as it is: it is run, or loosens safety.
    Approved,
    /// Nothing, even when approved: it is for the user alone.
    Never,
}

const fn flag(long: &'static str, value: &'static str) -> Flag {
    Flag { long, short: None, value }
}

/// What holds for most keys.
const BASE: Key = Key {
    name: "",
    kind: Kind::Switch,
    default: "",
    doc: "",
    flag: flag("", ""),
    env: None,
    in_file: true,
    in_project: InProject::Approved,
    may_change: false,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_the_type_of_its_key_and_the_default_of_the_catalogue() {
        assert_eq!(Values::default(), Values::of(&Resolved::defaults()));
    }
}
