//! Profiles: whose defaults hold. A dialect is a table of values, never a rule of its own.
use super::{container, loopr};

/// What a profile has instead of the catalogue's defaults: names of keys and their values.
pub(super) type Table = &'static [(&'static str, &'static str)];

/// Every profile but the catalogue itself, which is called loop.
const PROFILES: [(&str, Table); 2] = [("loopr", loopr::DEFAULTS), ("container", container::DEFAULTS)];

/// The table of a profile; empty for the catalogue's own.
pub(super) fn table(profile: &str) -> Table {
    PROFILES.iter().find(|(name, _)| *name == profile).map_or(&[], |(_, table)| *table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::key;
    use crate::settings::value;

    #[test]
    fn every_default_of_a_profile_fits_its_key() {
        for (profile, table) in PROFILES {
            for (name, text) in table {
                let Some(key) = key(name) else { panic!("{profile}: no key {name}") };
                let fits = text.is_empty() || value::parse(key.kind, text).as_deref() == Ok(*text);
                assert!(fits, "{profile}: {name} = {text}");
            }
        }
    }
}
