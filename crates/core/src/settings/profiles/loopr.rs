//! The dialect of `loopr`: its defaults, and `.loopr/config` as lines of KEY=VALUE.
use thiserror::Error;

use super::Table;
use crate::settings::catalogue::{Key, key};
use crate::settings::layers::{Given, Layer, Origin};
use crate::settings::value::{self, Kind};
use crate::text;

/// Where the file is in the root.
pub const CONFIG: &str = ".loopr/config";

/// The defaults. The circuit breaker has the four reasons of the Loopr specification and no other.
pub(super) const DEFAULTS: Table = &[
    ("agent", "codex"),
    ("status_block", "loopr"),
    ("no_promise", "true"),
    ("strict_completion", "true"),
    ("completion_threshold", "2"),
    ("completion_promise", ""),
    ("max_iterations", "50"),
    ("max_calls_per_hour", "100"),
    ("timeout", "15m"),
    ("idle_timeout", "unlimited"),
    ("max_no_progress", "3"),
    ("max_same_error", "5"),
    ("max_test_only", "3"),
    ("test_only_by", "claimed"),
    ("max_missing_status", "2"),
    ("max_done_claims", "unlimited"),
    ("max_oscillation", "unlimited"),
    ("max_identical_output", "unlimited"),
    ("output_decline", "unlimited"),
    ("on_blocked", "stop"),
    ("breaker_reset", "resume"),
    ("session", "fresh"),
];

/// The keys of the file, each with ours and its unit.
const NAMES: [(&str, &str, &str); 8] = [
    ("MAX_CALLS_PER_HOUR", "max_calls_per_hour", ""),
    ("CODEX_TIMEOUT_MINUTES", "timeout", "m"),
    ("MAX_ITERATIONS", "max_iterations", ""),
    ("MAX_CONSECUTIVE_DONE_SIGNALS", "completion_threshold", ""),
    ("MAX_NO_PROGRESS", "max_no_progress", ""),
    ("MAX_SAME_ERROR", "max_same_error", ""),
    ("MAX_CONSECUTIVE_TEST_LOOPS", "max_test_only", ""),
    ("MAX_MISSING_STATUS", "max_missing_status", ""),
];

/// The key of ours, and its unit, that the file has another name for.
pub(crate) fn named_in_config(name: &str) -> Option<(&'static Key, &'static str)> {
    let (_, ours, unit) = NAMES.iter().find(|(known, ..)| *known == name)?;
    Some((key(ours)?, unit))
}

/// How the file sets a key of ours, where it has a name for it.
pub(super) fn words(key: &Key, value: &str) -> Option<String> {
    let (name, ..) = NAMES.iter().find(|(_, ours, _)| *ours == key.name)?;
    Some(format!("{name}={value} in {CONFIG}"))
}

/// No agent works longer in one iteration: a week.
const MINUTES_MAX: u32 = 7 * 24 * 60;

/// What is wrong with a line of the file, or with a variable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {what}")]
pub struct LooprError {
    /// The file with its line, or the variable.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do.
    pub hint: String,
}

/// Reads `.loopr/config`. A value replaces the default; one that the user's own file has set may only be
/// lowered, as by any file that a repository brings along.
///
/// # Errors
/// The first line that is wrong, with its number and key.
pub fn from_config(text: &str, own: &[Given]) -> Result<Vec<Given>, LooprError> {
    let mut given = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = format!("{CONFIG}:{number}");
        let Some((name, text)) = line.split_once('=') else {
            return Err(LooprError {
                place,
                what: format!("{:?} is not KEY=VALUE", text::one_line(line, 60)),
                why: "every line is KEY=VALUE, empty, or a comment that begins with #".to_owned(),
                hint: "for example MAX_ITERATIONS=50".to_owned(),
            });
        };
        let (key, value) = read(name.trim(), text.trim(), &place)?;
        if let Some(before) = given.iter().find(|before: &&Given| before.key.name == key.name) {
            return Err(LooprError {
                what: format!("{} stands here a second time", name.trim()),
                why: format!("it is set at {} already", before.origin.place),
                hint: "take one of the two lines out".to_owned(),
                place,
            });
        }
        let users = own.iter().any(|own| own.origin.layer == Layer::User && own.key.name == key.name);
        let layer = if users { Layer::Project } else { Layer::Default };
        given.push(Given { key, value, origin: Origin { layer, place } });
    }
    Ok(given)
}

/// Variables of the same names. One that is set but empty is not set.
///
/// # Errors
/// The first value that does not fit.
pub fn from_variables(lookup: impl Fn(&str) -> Option<String>) -> Result<Vec<Given>, LooprError> {
    let set = NAMES.iter().filter_map(|(name, ..)| Some((*name, lookup(name).filter(|text| !text.is_empty())?)));
    set.map(|(name, text)| {
        let (key, value) = read(name, text.trim(), &format!("the variable {name}"))?;
        Ok(Given { key, value, origin: Origin { layer: Layer::Environment, place: name.to_owned() } })
    })
    .collect()
}

/// One value by the name that the file has for its key.
fn read(name: &str, text: &str, place: &str) -> Result<(&'static Key, String), LooprError> {
    let known = NAMES.iter().find(|(known, ..)| *known == name);
    let Some((key, unit)) = known.and_then(|(_, ours, unit)| Some((key(ours)?, *unit))) else {
        let near = text::nearest(name, NAMES.iter().map(|(name, ..)| *name));
        let all = NAMES.map(|(name, ..)| name).join(", ");
        return Err(LooprError {
            place: place.to_owned(),
            what: format!("unknown key {}", text::one_line(name, 60)),
            why: format!("there are {all}"),
            hint: near
                .map_or_else(|| "correct it, or delete the line".to_owned(), |near| format!("did you mean {near}?")),
        });
    };
    let most = if let Kind::CountOrUnlimited(most) = key.kind { most } else { MINUTES_MAX };
    let number = text.parse::<u32>().ok().filter(|number| (1..=most).contains(number) && !text.starts_with('+'));
    let value = number.and_then(|number| value::parse(key.kind, &format!("{number}{unit}")).ok());
    let value = value.ok_or_else(|| LooprError {
        place: place.to_owned(),
        what: format!("{name} cannot be {:?}", text::one_line(text, 60)),
        why: format!("it must be a whole number from 1 to {most}"),
        hint: "to have the default, take the line out".to_owned(),
    })?;
    Ok((key, value))
}
