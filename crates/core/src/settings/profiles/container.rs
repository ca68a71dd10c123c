//! The container profile: its defaults, and the names that its specification has for keys of ours.
use super::Table;
use crate::settings::catalogue::{Key, key, keys};
use crate::settings::error::SettingsError;
use crate::settings::layers::{Given, Origin};
use crate::settings::value::UNLIMITED;

/// The defaults. The specification of the container profile does not count returns to earlier states or equal answers,
/// and uses only the agent's status block.
pub(super) const DEFAULTS: Table = &[
    ("agent", "claude"),
    ("session", "continue"),
    ("session_expiry", "24h"),
    ("status_block", "loop"),
    ("no_promise", "true"),
    ("strict_completion", "true"),
    ("completion_threshold", "2"),
    ("completion_promise", ""),
    ("max_iterations", "50"),
    ("timeout", "15m"),
    ("delay", "3s"),
    ("max_calls_per_hour", "100"),
    ("max_no_progress", "3"),
    ("max_missing_status", "3"),
    ("max_same_error", "5"),
    ("max_test_only", "3"),
    ("test_only_by", "claimed"),
    ("output_decline", "70"),
    ("decline_alone", "true"),
    ("max_done_claims", "5"),
    ("max_oscillation", "unlimited"),
    ("max_identical_output", "unlimited"),
    ("on_blocked", "stop"),
    ("breaker_reset", "manual"),
    ("auto_confirm", "false"),
];

/// One name of the document for keys of ours.
#[derive(Debug, Clone, Copy)]
pub struct Name {
    /// The name in files; with dashes it is a flag.
    pub name: &'static str,
    /// The keys that it sets.
    pub keys: &'static [&'static str],
    /// What its number counts.
    unit: &'static str,
    /// Whether a number below zero lifts the limit.
    lifts: bool,
}

/// The names that are not keys themselves. `completion_threshold` and `auto_confirm` are.
pub const NAMES: [Name; 10] = [
    name("max_loops", &["max_iterations"], ""),
    name("stagnation_threshold", &["max_no_progress", "max_missing_status"], ""),
    name("timeout_minutes", &["timeout"], "m"),
    Name { lifts: true, ..name("calls_per_hour", &["max_calls_per_hour"], "") },
    name("session_expiration_hours", &["session_expiry"], "h"),
    name("same_error_threshold", &["max_same_error"], ""),
    name("output_decline_threshold", &["output_decline"], ""),
    name("max_consecutive_test_loops", &["max_test_only"], ""),
    name("safety_completion_threshold", &["max_done_claims"], ""),
    name("loop_delay_seconds", &["delay"], "s"),
];

const fn name(name: &'static str, keys: &'static [&'static str], unit: &'static str) -> Name {
    Name { name, keys, unit, lifts: false }
}

/// The name of the document that a file or a flag uses.
#[must_use]
pub fn named(name: &str) -> Option<&'static Name> {
    NAMES.iter().find(|known| known.name == name)
}

/// Whether a text of a key of ours means the default in this profile: a zero where both have the same name.
pub(super) fn means_default(key: &Key, text: &str) -> bool {
    key == keys::completion_threshold() && text.trim() == "0"
}

impl Name {
    /// The name as a flag, without its dashes in front.
    #[must_use]
    pub fn flag(&self) -> String {
        self.name.replace('_', "-")
    }

    /// What it is, for the help.
    #[must_use]
    pub fn help(&self) -> String {
        let keys: Vec<String> = self.keys.iter().map(|name| format!("--{}", name.replace('_', "-"))).collect();
        let unit = match self.unit {
            "m" => ", in minutes",
            "h" => ", in hours",
            "s" => ", in seconds",
            _ if self.name == "output_decline_threshold" => ", in percent",
            _ => "",
        };
        let lifts = if self.lifts { ", below zero none" } else { "" };
        format!("The same as {}{unit}; zero means the default{lifts}", keys.join(" and "))
    }

    /// The keys that a value sets, and to what: none where it means the default.
    ///
    /// # Errors
    /// When it is no number, or one below zero.
    pub fn values(&self, text: &str, origin: &Origin) -> Result<Vec<(&'static str, String)>, SettingsError> {
        let number = text.trim().parse::<i64>().map_err(|_| self.wrong(text, origin))?;
        let value = match number {
            0 => return Ok(Vec::new()),
            ..0 if self.lifts => UNLIMITED.to_owned(),
            ..0 => return Err(self.wrong(text, origin)),
            1.. => format!("{number}{}", self.unit),
        };
        Ok(self.keys.iter().map(|key| (*key, value.clone())).collect())
    }

    /// The same, checked.
    ///
    /// # Errors
    /// When it does not fit, or is not allowed in this source.
    pub fn read(&self, text: &str, origin: &Origin) -> Result<Vec<Given>, SettingsError> {
        let values = self.values(text, origin)?;
        let known = values.iter().filter_map(|(name, value)| Some((key(name)?, value)));
        known.map(|(key, value)| Given::read(key, value, origin.clone())).collect()
    }

    fn wrong(&self, text: &str, origin: &Origin) -> SettingsError {
        let from = if self.lifts { "" } else { " that is not below zero" };
        SettingsError::BadValue {
            place: origin.place.clone(),
            key: self.name,
            value: text.to_owned(),
            why: format!("it must be a whole number{from}"),
            hint: "zero, or leaving it out, means the default".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Layer, catalogue, from_toml, from_yaml, key, resolve, settle};

    const PROFILE: &str = "profile = \"container\"\n";

    fn holds(toml: &str, key: &str) -> String {
        let given = from_toml(&format!("{PROFILE}{toml}"), "config.toml", Layer::User).unwrap();
        settle(given).unwrap().text(crate::settings::key(key).unwrap()).to_owned()
    }

    #[test]
    fn every_name_of_the_document_has_its_default_and_its_unit() {
        // req: C-03 partly: the values and names; the delay and what cuts it short are tested elsewhere
        let table = [
            ("max_loops", "max_iterations", "50", "7"),
            ("stagnation_threshold", "max_no_progress", "3", "7"),
            ("stagnation_threshold", "max_missing_status", "3", "7"),
            ("timeout_minutes", "timeout", "15m", "7m"),
            ("calls_per_hour", "max_calls_per_hour", "100", "7"),
            ("completion_threshold", "completion_threshold", "2", "7"),
            ("session_expiration_hours", "session_expiry", "24h", "7h"),
            ("same_error_threshold", "max_same_error", "5", "7"),
            ("output_decline_threshold", "output_decline", "70", "7"),
            ("max_consecutive_test_loops", "max_test_only", "3", "7"),
            ("safety_completion_threshold", "max_done_claims", "5", "7"),
            ("loop_delay_seconds", "delay", "3s", "7s"),
        ];
        for (name, key, default, seven) in table {
            assert_eq!(holds("", key), default, "{name} is not there");
            assert_eq!(holds(&format!("{name} = 0"), key), default, "{name} is zero");
            assert_eq!(holds(&format!("{name} = 7"), key), seven, "{name} is seven");
            let yaml = from_yaml(&format!("profile: container\n{name}: 7\n"), "config.yaml", Layer::User).unwrap();
            assert_eq!(settle(yaml).unwrap().text(crate::settings::key(key).unwrap()), seven, "{name} in YAML");
        }
        assert_eq!(holds("", "auto_confirm"), "false");
        assert_eq!(holds("auto_confirm = true", "auto_confirm"), "true");
        assert_eq!(holds("calls_per_hour = -1", "max_calls_per_hour"), UNLIMITED);
    }

    #[test]
    fn a_threshold_of_zero_is_the_default_in_this_profile_and_refused_in_the_others() {
        let toml = |text: &str| from_toml(text, "config.toml", Layer::User).and_then(settle);
        for profile in ["", "profile = \"loop\"\n", "profile = \"loopr\"\n"] {
            let error = toml(&format!("{profile}completion_threshold = 0\n")).unwrap_err();
            assert!(error.to_string().ends_with("completion_threshold cannot be \"0\""), "{error}");
            assert!(error.why().starts_with("it must be a whole number from 1"), "{}", error.why());
        }
        // The profile may be named after the value, or by a layer that counts more.
        for text in ["completion_threshold = 0\nprofile = \"container\"\n", "completion_threshold = 0\n"] {
            let mut given = from_toml(text, "config.toml", Layer::User).unwrap();
            let flag = Origin { layer: Layer::Flag, place: "--profile".to_owned() };
            given.push(Given::read(keys::profile(), "container", flag).unwrap());
            assert_eq!(settle(given).unwrap().text(keys::completion_threshold()), "2");
        }
        let yaml = from_yaml("completion_threshold: 0\n", "config.yaml", Layer::User).unwrap();
        assert!(settle(yaml).is_err());
        let origin = Origin { layer: Layer::Flag, place: "loop set".to_owned() };
        assert!(Given::read(keys::completion_threshold(), "0", origin).is_err(), "a run that is there has no profile");
    }

    #[test]
    fn a_number_below_zero_and_a_word_are_refused_by_the_name_that_was_used() {
        for (line, said) in [
            ("max_loops = -1", "config.toml:1: max_loops cannot be \"-1\""),
            ("timeout_minutes = \"15m\"", "config.toml:1: timeout_minutes cannot be \"15m\""),
        ] {
            let error = from_toml(line, "config.toml", Layer::User).unwrap_err();
            assert_eq!(error.to_string(), said);
        }
    }

    #[test]
    fn a_projects_file_may_lower_by_the_names_of_the_document_and_not_raise() {
        let given = |loops: u32| {
            let mut given = from_toml("max_iterations = 20", "config.toml", Layer::User).unwrap();
            given.extend(from_toml(&format!("max_loops = {loops}"), "loop.toml", Layer::Project).unwrap());
            resolve(given).text(crate::settings::keys::max_iterations()).to_owned()
        };
        assert_eq!((given(5), given(30)), ("5".to_owned(), "20".to_owned()));
        assert!(from_toml("session_expiration_hours = 1", "loop.toml", Layer::Project).is_err());
    }

    #[test]
    fn no_name_of_the_document_is_a_key_of_ours() {
        for name in NAMES {
            assert!(catalogue().all(|key| key.name != name.name && key.flag.long != name.flag()), "{}", name.name);
            assert!(name.keys.iter().all(|name| key(name).is_some()), "{}", name.name);
        }
    }
}
