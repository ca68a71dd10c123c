//! Settings: a catalogue of keys, layers of values, and what holds in the end.
//!
//! Texts come in, [`Settings`] go out. Nothing is optional after resolving, and every value
//! remembers where it came from.
mod agents;
pub mod container;
mod edit;
mod error;
mod files;
mod gates;
pub mod keys;
mod keys_judgement;
mod layers;
pub mod loopr;
mod prices;
mod profiles;
pub mod reference;
mod resolved;
mod value;

pub use agents::agents_from_toml;
pub use edit::{set as set_in_toml, unset as unset_in_toml};
pub use error::SettingsError;
pub use files::{Project, agents_from_yaml, from_environment, from_toml, from_yaml, project_from_toml};
pub use gates::{GateSpec, PROMISE};
pub use keys::{InProject, KEYS, Key, key};
pub use layers::{Given, Layer, Origin, resolve, too_wide};
pub use prices::prices_from_toml;
pub use resolved::{Caps, Resolved, Settings, Valued};
pub use value::{Kind, UNLIMITED, bytes, duration_text, micros, millis, parse as parse_value};
