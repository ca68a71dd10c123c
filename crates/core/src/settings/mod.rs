//! Settings: a catalogue of keys, layers of values, and the result.
//!
//! Texts come in, typed [`Values`] go out, one field for each key. The texts with their origins stay beside them, for
//! people and for the journal.
//!
//! | file | what is there |
//! |---|---|
//! | `catalogue/` | every setting once, by topic: type, default, flag, help, where it is allowed |
//! | `choices` `amounts` `value` | settings that are one of a few words; amounts with a unit; kinds of values |
//! | `layers` `resolved` | where values come from and which one wins; the result |
//! | `files` `edit` `gates` `prices` `agents` | texts of files read; one line of a file changed; tables in files |
//! | `hidden` | hidden gates, which are in the user's own files only |
//! | `wants` | what a project file wants to run, in lines for the person who approves it |
//! | `profiles/` | tables of defaults and other names, one for each profile |
//! | `reference` | the reference page and the schema |
//! | `error` | what is wrong with a setting, and where |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | another nested name of the autonomous YAML, a mode | `core/settings/profiles/autonomous.rs`, `modes.rs` |
mod agents;
mod amounts;
mod catalogue;
mod choices;
mod edit;
mod error;
mod files;
mod gates;
mod hidden;
mod layers;
mod prices;
pub mod profiles;
pub mod reference;
mod resolved;
mod value;
mod wants;

pub use agents::agents_from_toml;
pub use amounts::{Bytes, Fraction, Micros, Millis};
pub use catalogue::{
    AgentSettings, AlertSettings, BreakerSettings, BudgetSettings, CheckpointSettings, ContextSettings,
    EnvironmentSettings, Flag, GateSettings, GuardSettings, InProject, Key, LeashSettings, LimitSettings, ListSettings,
    OutputSettings, ProgressSettings, RecoverySettings, RouterSettings, StartSettings, Values, catalogue, key, keys,
    topics,
};
pub use choices::{
    BreakerMode, BreakerReset, CheckpointBackend, ContainmentMode, JudgeChoice, KeepState, OnBlocked, OnInterrupt,
    OnQuestion, OnRegression, OnTamper, Profile, ProgressBy, PromptForm, RouterMode, RunMode, RunPriority, SessionMode,
    StatusBlock, StrengthChoice, TestOnlyBy, TextWriter,
};
pub use edit::{set as set_in_toml, unset as unset_in_toml};
pub use error::SettingsError;
pub use files::{
    Project, agents_from_yaml, from_environment, from_named_yaml, from_toml, from_yaml, gates_from_project,
    hidden_from_yaml, parse_toml, place, project_from_toml, template_from_toml, words_of_toml,
};
pub use gates::{GateSpec, PROMISE, gate_line, gates_of};
pub use hidden::{HiddenGate, HiddenSettings, hidden_from_toml, text_of_gates};
pub use layers::{Given, Layer, Origin, resolve, settle, too_wide};
pub use prices::prices_from_toml;
pub use resolved::{Caps, Resolved, Settings, Valued};
pub use value::{Kind, UNLIMITED, bytes, micros, millis, parse as parse_value};
pub use wants::lines_of as lines_of_value;

pub use crate::time::duration_text;
