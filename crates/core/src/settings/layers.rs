//! Layers of settings: which source may set a key, and which one wins.
use serde::{Deserialize, Serialize};

use super::catalogue::{InProject, Key, key, keys};
use super::error::SettingsError;
use super::gates;
use super::profiles;
use super::resolved::Resolved;
use super::value::{self, Kind, UNLIMITED};
use crate::refusal::Refusal;

/// Where a value can come from, the weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The catalogue, or the dialect in use.
    Default,
    /// The user's own file.
    User,
    /// The project's own file.
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

/// A value of one source. As data it has the name of its key, and is checked when it is read.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(into = "GivenText", try_from = "GivenText")]
pub struct Given {
    /// For which key.
    pub key: &'static Key,
    /// Its canonical text.
    pub value: String,
    /// From which source.
    pub origin: Origin,
}

/// A value of one source as data.
#[derive(Debug, Serialize, Deserialize)]
struct GivenText {
    key: String,
    value: String,
    origin: Origin,
}

impl From<Given> for GivenText {
    fn from(given: Given) -> Self {
        Self { key: given.key.name.to_owned(), value: given.value, origin: given.origin }
    }
}

impl TryFrom<GivenText> for Given {
    type Error = String;

    fn try_from(text: GivenText) -> Result<Self, String> {
        let key = key(&text.key).ok_or_else(|| format!("there is no setting {}", text.key))?;
        Self::read(key, &text.value, text.origin).map_err(|error| error.to_string())
    }
}

impl Given {
    /// Reads a value for a key.
    ///
    /// # Errors
    /// When it does not fit, or is not allowed in this source.
    pub fn read(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        allow(key, &origin)?;
        match value::parse(key.kind, text) {
            Ok(value) => Ok(Self { key, value, origin }),
            Err(refusal) => Err(bad_value(key, text, &origin, refusal)),
        }
    }

    /// The same for a start, which has a profile: a text that means the default in some profile is for [`settle`] to
    /// judge.
    ///
    /// # Errors
    /// When it does not fit, or is not allowed in this source.
    pub fn read_for_start(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        allow(key, &origin)?;
        Self::read_approved(key, text, origin)
    }

    /// The same for a value that a person gave as the answer to a question: they may say anything.
    ///
    /// # Errors
    /// When it does not fit.
    pub fn read_answer(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        Self::read_approved(key, text, origin)
    }

    /// The same where the user has approved the file.
    ///
    /// # Errors
    /// When it does not fit.
    pub(crate) fn read_approved(key: &'static Key, text: &str, origin: Origin) -> Result<Self, SettingsError> {
        match value::parse(key.kind, text) {
            Ok(value) => Ok(Self { key, value, origin }),
            Err(_) if profiles::may_mean_default(key, text) => Ok(Self { key, value: text.trim().to_owned(), origin }),
            Err(refusal) => Err(bad_value(key, text, &origin, refusal)),
        }
    }
}

/// Refuses what a project file may not say by itself.
fn allow(key: &'static Key, origin: &Origin) -> Result<(), SettingsError> {
    let never = matches!(key.in_project, InProject::Approved | InProject::Never);
    if origin.layer == Layer::Project && never {
        return Err(SettingsError::NotInProject { place: origin.place.clone(), key: key.name });
    }
    Ok(())
}

fn bad_value(key: &'static Key, text: &str, origin: &Origin, Refusal { why, hint }: Refusal) -> SettingsError {
    SettingsError::BadValue { place: origin.place.clone(), key: key.name, value: text.to_owned(), why, hint }
}

/// The same as [`resolve`] for values that were read for a start: a text that means the default in one profile is
/// refused in the others.
///
/// # Errors
/// The first value that means the default in another profile only.
pub fn settle(mut given: Vec<Given>) -> Result<Resolved, SettingsError> {
    let profile = profile_of(&given).to_owned();
    given.retain(|given| !profiles::means_default(&profile, given.key, &given.value));
    for Given { key, value, origin } in given.iter().filter(|given| profiles::may_mean_default(given.key, &given.value))
    {
        value::parse(key.kind, value).map_err(|refusal| bad_value(key, value, origin, refusal))?;
    }
    Ok(resolve(given))
}

/// The word of the profile that counts: the last one, once they are in order of their layers.
fn profile_of(given: &[Given]) -> &str {
    let named = given.iter().filter(|given| given.key == keys::profile());
    named.max_by_key(|given| given.origin.layer).map_or("", |given| given.value.as_str())
}

/// Puts the layers one over the other: every key has a value afterwards. What a project file would loosen though it may
/// only tighten it is left out; [`too_wide`] names it.
#[must_use]
pub fn resolve(mut given: Vec<Given>) -> Resolved {
    given.sort_by_key(|given| given.origin.layer);
    let mut resolved = Resolved::defaults();
    // The profile first: its values stand where those of the catalogue would.
    let profile = profile_of(&given).to_owned();
    for (key, value) in profiles::defaults(&profile) {
        let origin = Origin { layer: Layer::Default, place: format!("the profile {profile}") };
        resolved.put(key, value.to_owned(), origin);
    }
    for given in given {
        if adds(&given) {
            extend(&mut resolved, given);
        } else if loosened(&given, resolved.text(given.key)).is_none() {
            resolved.put(given.key, given.value, given.origin);
        }
    }
    resolved
}

/// Whether the value is added to the list of the layers before it. With a template not less is protected, and not fewer
/// gates judge.
fn adds(given: &Given) -> bool {
    let extends = given.key.in_project == InProject::Extend;
    match given.origin.layer {
        Layer::Project => extends,
        Layer::Template => extends || given.key == keys::gate(),
        Layer::Default | Layer::User | Layer::Entry | Layer::Environment | Layer::Flag => false,
    }
}

/// Adds the entries of a list that are not there yet. Where entries come from two files, both are its origin.
fn extend(resolved: &mut Resolved, Given { key, value, origin }: Given) {
    let held = resolved.text(key).to_owned();
    let (held, value) = if key == keys::gate() { gates::without_old(&held, &value) } else { (held, value) };
    let is_new = |line: &&str| !line.is_empty() && !takes_out(line) && !held.lines().any(|known| known == *line);
    let more: Vec<&str> = value.lines().filter(is_new).collect();
    if more.is_empty() {
        return;
    }
    let all: Vec<&str> = held.lines().chain(more).collect();
    let before = resolved.origin(key).filter(|_| !held.is_empty()).map(|origin| format!("{origin}, "));
    let place = format!("{}{}", before.unwrap_or_default(), origin.place);
    resolved.put(key, all.join("\n"), Origin { place, ..origin });
}

/// What a project file says without effect, for a warning.
#[must_use]
pub fn too_wide(given: &[Given]) -> Vec<SettingsError> {
    let counts = |given: &&Given| given.origin.layer < Layer::Project || given.key == keys::profile();
    let own: Vec<Given> = given.iter().filter(counts).cloned().collect();
    let own = resolve(own);
    given.iter().filter_map(|given| loosened(given, own.text(given.key))).collect()
}

/// What a value of a project file would loosen, where it would. Approved or not, such a file may only tighten.
fn loosened(given: &Given, held: &str) -> Option<SettingsError> {
    if given.origin.layer != Layer::Project {
        return None;
    }
    let (place, key, value) = (given.origin.place.clone(), given.key.name, given.value.clone());
    match given.key.in_project {
        InProject::Narrow => is_wider(given.key.kind, &given.value, held).then(|| SettingsError::TooWide {
            place,
            key,
            value,
            allowed: held.to_owned(),
        }),
        InProject::TurnOn => {
            (given.value == "false" && held == "true").then_some(SettingsError::TurnsOff { place, key })
        }
        InProject::Extend => given.value.lines().find(|entry| takes_out(entry)).map(|entry| SettingsError::TakesOut {
            place,
            key,
            entry: entry.to_owned(),
        }),
        InProject::Yes | InProject::Approved | InProject::Never => None,
    }
}

/// Whether an entry of a list of globs takes files out of it, as in a `.gitignore`.
fn takes_out(entry: &str) -> bool {
    entry.trim_start().trim_start_matches("./").trim_start().starts_with('!')
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
        Kind::Fraction
        | Kind::Switch
        | Kind::Choice(_)
        | Kind::Command
        | Kind::Word
        | Kind::Text
        | Kind::Path
        | Kind::Paths
        | Kind::Findings
        | Kind::Gates
        | Kind::Failures
        | Kind::Ladder
        | Kind::Agents
        | Kind::Models
        | Kind::Prices => true,
    }
}
