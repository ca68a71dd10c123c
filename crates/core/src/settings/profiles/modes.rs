//! Modes: one flag that stands for several, as the autonomous loop specification has them. A flag beside a mode counts more.
use crate::settings::catalogue::{Key, key};
use crate::settings::error::SettingsError;
use crate::settings::layers::{Given, Layer, Origin};
use crate::settings::value::Kind;

/// A flag that stands for several.
#[derive(Debug, Clone, Copy)]
pub struct Mode {
    /// The flag, without its dashes.
    pub name: &'static str,
    /// What it is for, for the help.
    about: &'static str,
    /// Names of keys and their values.
    settings: &'static [(&'static str, &'static str)],
}

/// The modes. `--autonomous` also selects the profile, so that the score, recovery and limits of the specification hold.
const MODES: [Mode; 2] = [
    Mode {
        name: "autonomous",
        about: "Work for a day without a person",
        settings: &[
            ("profile", "autonomous"),
            ("max_time", "24h"),
            ("agent", "auto"),
            ("watch_workspace", "true"),
            ("enable_inbox", "true"),
            ("alert_every", "10"),
        ],
    },
    Mode {
        name: "conservative",
        about: "Let a person look more often",
        settings: &[("max_iterations", "100"), ("alert_every", "5"), ("pause_on_critical", "true")],
    },
];

/// The modes whose keys are all built.
pub fn modes() -> impl Iterator<Item = &'static Mode> {
    MODES.iter().filter(|mode| mode.settings.iter().all(|(name, _)| key(name).is_some()))
}

impl Mode {
    /// Its keys with their values.
    fn keys(&self) -> impl Iterator<Item = (&'static Key, &'static str)> {
        self.settings.iter().filter_map(|(name, value)| Some((key(name)?, *value)))
    }

    /// The flags that it stands for: `--max-time 24h --agent auto --watch-workspace`.
    #[must_use]
    pub fn flags(&self) -> String {
        let flag = |(key, value): (&'static Key, &'static str)| match (key.kind, value) {
            (Kind::Switch, "false") => format!("--no-{}", key.flag.long),
            (Kind::Switch, _) => format!("--{}", key.flag.long),
            (_, value) => format!("--{} {value}", key.flag.long),
        };
        self.keys().map(flag).collect::<Vec<_>>().join(" ")
    }

    /// What it is, for the help.
    #[must_use]
    pub fn help(&self) -> String {
        format!("{}: the same as {}; a flag beside it counts more", self.about, self.flags())
    }

    /// Its settings as a layer.
    ///
    /// # Errors
    /// When a value does not fit its key.
    pub fn read(&self) -> Result<Vec<Given>, SettingsError> {
        let origin = || Origin { layer: Layer::Flag, place: format!("--{}", self.name) };
        self.keys().map(|(key, value)| Given::read_for_start(key, value, origin())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_a_mode_fits_its_key() {
        for mode in modes() {
            let read = mode.read().unwrap();
            assert_eq!(read.len(), mode.settings.len(), "{}", mode.name);
        }
    }
}
