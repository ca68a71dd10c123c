//! Profiles: which defaults apply. A profile is a table of values and names, never a rule of its own.
pub mod autonomous;
pub mod container;
mod decide;
pub mod loopr;
pub mod modes;

use super::catalogue::{Key, key};
use super::choices::Profile;

/// What a profile has instead of the catalogue's defaults: names of keys and their values.
pub(super) type Table = &'static [(&'static str, &'static str)];

/// What a profile is beside its name.
struct Dialect {
    profile: Profile,
    defaults: Table,
    /// How the profile's own file sets a key to a value, where it has a name for it.
    words: fn(&Key, &str) -> Option<String>,
    /// Whether a text of a key means the default in the specification of the profile.
    means_default: fn(&Key, &str) -> bool,
}

/// Every profile but the catalogue itself, which is called loop. The names of the container profile are flags beside
/// ours; those of the autonomous profile are nested in YAML.
const DIALECTS: [Dialect; 4] = [
    Dialect { profile: Profile::Loopr, defaults: loopr::DEFAULTS, words: loopr::words, means_default: |_, _| false },
    Dialect {
        profile: Profile::Container,
        defaults: container::DEFAULTS,
        words: |_, _| None,
        means_default: container::means_default,
    },
    Dialect {
        profile: Profile::Autonomous,
        defaults: autonomous::DEFAULTS,
        words: |_, _| None,
        means_default: |_, _| false,
    },
    Dialect { profile: Profile::Decide, defaults: decide::DEFAULTS, words: |_, _| None, means_default: |_, _| false },
];

fn dialect(profile: &str) -> Option<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.profile.word() == profile)
}

/// The values of a profile; empty for the catalogue's own.
pub(super) fn defaults(profile: &str) -> impl Iterator<Item = (&'static Key, &'static str)> {
    let table = dialect(profile).map_or(&[][..], |dialect| dialect.defaults);
    table.iter().filter_map(|(name, value)| Some((key(name)?, *value)))
}

/// A key with its value in the words of the profile's own file, where it has some.
pub(super) fn words(profile: &str, key: &Key, value: &str) -> Option<String> {
    dialect(profile).and_then(|dialect| (dialect.words)(key, value))
}

/// Whether a text means the default in this profile.
pub(super) fn means_default(profile: &str, key: &Key, text: &str) -> bool {
    dialect(profile).is_some_and(|dialect| (dialect.means_default)(key, text))
}

/// Whether a text means the default in some profile.
pub(super) fn may_mean_default(key: &Key, text: &str) -> bool {
    DIALECTS.iter().any(|dialect| (dialect.means_default)(key, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Given, Layer, Origin, keys, resolve, too_wide, value};

    fn given(name: &str, text: &str, layer: Layer) -> Given {
        let Some(key) = key(name) else { panic!("no key {name}") };
        Given { key, value: text.to_owned(), origin: Origin { layer, place: "here".to_owned() } }
    }

    #[test]
    fn a_setting_is_told_in_the_words_of_the_profiles_own_file() {
        let loopr = resolve(vec![given("profile", "loopr", Layer::Flag)]);
        assert_eq!(loopr.how_to_set(keys::max_no_progress()), "MAX_NO_PROGRESS=3 in .loopr/config");
        assert_eq!(
            loopr.how_to_set(keys::max_done_claims()),
            "--max-done-claims unlimited, --breaker off turns it off"
        );
        let own = resolve(Vec::new());
        assert_eq!(own.how_to_set(keys::max_no_progress()), "--max-no-progress 3, --breaker off turns it off");
    }

    #[test]
    fn a_profile_says_what_the_catalogue_would_have_and_everybody_else_counts_more() {
        let profile = given("profile", "loopr", Layer::Flag);
        let held = resolve(vec![profile.clone()]);
        assert_eq!(
            (held.text(keys::max_iterations()), held.text(keys::agent()), held.text(keys::delay())),
            ("50", "codex", "none")
        );
        assert_eq!(held.origin(keys::agent()).map(ToString::to_string).as_deref(), Some("the profile loopr"));
        assert_eq!(resolve(Vec::new()).text(keys::max_iterations()), "10");
        let user = given("max_iterations", "7", Layer::User);
        assert_eq!(resolve(vec![profile.clone(), user]).text(keys::max_iterations()), "7");
        // What a project may not raise is what the profile says.
        for (iterations, held, vain) in [("20", "20", 0), ("60", "50", 1)] {
            let all = vec![profile.clone(), given("max_iterations", iterations, Layer::Project)];
            assert_eq!((too_wide(&all).len(), resolve(all).text(keys::max_iterations())), (vain, held));
        }
    }

    #[test]
    fn every_default_of_a_profile_fits_its_key() {
        for Dialect { profile, defaults, .. } in DIALECTS {
            for (name, text) in defaults {
                let Some(key) = key(name) else { panic!("{profile:?}: no key {name}") };
                let fits = text.is_empty() || value::parse(key.kind, text).as_deref() == Ok(*text);
                assert!(fits, "{profile:?}: {name} = {text}");
            }
        }
    }
}
