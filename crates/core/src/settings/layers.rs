//! Layers: who may say what a setting is, and who wins.
use serde::{Deserialize, Serialize};

use super::error::SettingsError;
use super::keys::{InProject, KEYS, Key};
use super::profiles;
use super::resolved::{Resolved, Valued};
use super::value::{self, Kind, UNLIMITED};

/// The key that names the profile.
const PROFILE: &str = "profile";

/// Where a value can come from, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The catalogue, or the dialect in use.
    Default,
    /// The user's own file.
    User,
    /// A file that the project brings along.
    Project,
    /// A template.
    Template,
    /// A task, story or workflow entry.
    Entry,
    /// A variable of the environment.
    Environment,
    /// The command line.
    Flag,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Which layer.
    pub layer: Layer,
    /// The flag, the variable, or the file with its line; empty for a default.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.layer {
            Layer::Default if self.place.is_empty() => out.write_str("default"),
            Layer::Default
            | Layer::User
            | Layer::Project
            | Layer::Template
            | Layer::Entry
            | Layer::Environment
            | Layer::Flag => out.write_str(&self.place),
        }
    }
}

/// A value that somebody gave.
#[derive(Debug, Clone)]
pub struct Given {
    /// For which key.
    pub key: &'static Key,
    /// Its canonical text.
    pub value: String,
    /// By whom.
    pub origin: Origin,
}

impl Given {
    /// Reads a value for a key.
    ///
    /// # Errors
    /// When it does not fit, or may not stand there.
    pub fn read(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        if origin.layer == Layer::Project && key.in_project == InProject::Never {
            return Err(SettingsError::NotInProject { place: origin.place, key: key.name });
        }
        Self::read_approved(key, text, origin)
    }

    /// The same where the user has approved what stands there.
    ///
    /// # Errors
    /// When it does not fit.
    pub(super) fn read_approved(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        match value::parse(key.kind, text) {
            Ok(value) => Ok(Self { key, value, origin }),
            Err((why, hint)) => {
                Err(SettingsError::BadValue { place: origin.place, key: key.name, value: text.to_owned(), why, hint })
            }
        }
    }
}

/// Puts the layers one over the other: every key has a value afterwards. What a project file would
/// widen though it may only narrow it is left out; [`too_wide`] names it.
#[must_use]
pub fn resolve(mut given: Vec<Given>) -> Resolved {
    given.sort_by_key(|given| given.origin.layer);
    let mut resolved = Resolved::defaults(KEYS);
    // The profile first: its values stand where those of the catalogue would.
    let profile = given.iter().rfind(|given| given.key.name == PROFILE).map_or("", |given| given.value.as_str());
    for (key, value) in profiles::table(profile) {
        let origin = Origin { layer: Layer::Default, place: format!("the profile {profile}") };
        resolved.set(key, Valued { value: (*value).to_owned(), origin });
    }
    for given in given {
        if !widens(&given, resolved.get(given.key.name)) {
            resolved.set(given.key.name, Valued { value: given.value, origin: given.origin });
        }
    }
    resolved
}

/// What a project file says in vain, for a warning.
#[must_use]
pub fn too_wide(given: &[Given]) -> Vec<SettingsError> {
    let counts = |given: &&Given| given.origin.layer < Layer::Project || given.key.name == PROFILE;
    let own: Vec<Given> = given.iter().filter(counts).cloned().collect();
    let own = resolve(own);
    let vain = given.iter().filter(|given| widens(given, own.get(given.key.name)));
    vain.map(|given| SettingsError::TooWide {
        place: given.origin.place.clone(),
        key: given.key.name,
        value: given.value.clone(),
        allowed: own.get(given.key.name).to_owned(),
    })
    .collect()
}

fn widens(given: &Given, held: &str) -> bool {
    let may = given.origin.layer != Layer::Project || given.key.in_project != InProject::Narrow;
    !may && is_wider(given.key.kind, &given.value, held)
}

fn is_wider(kind: Kind, value: &str, held: &str) -> bool {
    if held == UNLIMITED || value == held {
        return false;
    }
    if value == UNLIMITED {
        return true;
    }
    match kind {
        Kind::CountOrUnlimited(_) => value.parse::<u32>().ok() > held.parse::<u32>().ok(),
        Kind::Duration | Kind::DurationOrUnlimited | Kind::DurationOrNone => value::millis(value) > value::millis(held),
        Kind::SizeOrUnlimited => value::bytes(value) > value::bytes(held),
        Kind::MoneyOrUnlimited => value::micros(value) > value::micros(held),
        Kind::Switch
        | Kind::Choice(_)
        | Kind::Command
        | Kind::Word
        | Kind::Text
        | Kind::Path
        | Kind::Paths
        | Kind::Gates
        | Kind::Prices => true,
    }
}
