//! Profiles: whose defaults hold. A dialect is a table of values, never a rule of its own.
use super::{container, loopr};

/// What a profile has instead of the catalogue's defaults: names of keys and their values.
pub(super) type Table = &'static [(&'static str, &'static str)];

/// How the file of a profile sets a key to a value, where it has a name of its own for it.
type Words = fn(&str, &str) -> Option<String>;

/// Every profile but the catalogue itself, which is called loop. The names of the container front are flags beside ours.
const PROFILES: [(&str, Table, Words); 2] =
    [("loopr", loopr::DEFAULTS, loopr::words), ("container", container::DEFAULTS, |_, _| None)];

/// The table of a profile; empty for the catalogue's own.
pub(super) fn table(profile: &str) -> Table {
    PROFILES.iter().find(|(name, ..)| *name == profile).map_or(&[], |(_, table, _)| *table)
}

/// A key with its value in the words of the profile's own file, where it has some.
pub(super) fn words(profile: &str, key: &str, value: &str) -> Option<String> {
    let (_, _, words) = PROFILES.iter().find(|(name, ..)| *name == profile)?;
    words(key, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::keys::key;
    use crate::settings::{Given, Layer, Origin, resolve, too_wide, value};

    fn given(name: &str, text: &str, layer: Layer) -> Given {
        let Some(key) = key(name) else { panic!("no key {name}") };
        Given { key, value: text.to_owned(), origin: Origin { layer, place: "here".to_owned() } }
    }

    #[test]
    fn a_setting_is_told_in_the_words_of_the_profiles_own_file() {
        let loopr = resolve(vec![given("profile", "loopr", Layer::Flag)]);
        assert_eq!(loopr.in_words("max_no_progress"), "MAX_NO_PROGRESS=3 in .loopr/config");
        assert_eq!(loopr.in_words("max_done_claims"), "--max-done-claims unlimited, --breaker off turns it off");
        let own = resolve(Vec::new());
        assert_eq!(own.in_words("max_no_progress"), "--max-no-progress 3, --breaker off turns it off");
    }

    #[test]
    fn a_profile_says_what_the_catalogue_would_have_and_everybody_else_counts_more() {
        let profile = given("profile", "loopr", Layer::Flag);
        let held = resolve(vec![profile.clone()]);
        assert_eq!((held.get("max_iterations"), held.get("agent"), held.get("delay")), ("50", "codex", "none"));
        assert_eq!(held.valued("agent").map(|agent| agent.origin.to_string()).as_deref(), Some("the profile loopr"));
        assert_eq!(resolve(Vec::new()).get("max_iterations"), "10");
        let user = given("max_iterations", "7", Layer::User);
        assert_eq!(resolve(vec![profile.clone(), user]).get("max_iterations"), "7");
        // What a project may not raise is what the profile says.
        for (iterations, held, vain) in [("20", "20", 0), ("60", "50", 1)] {
            let all = vec![profile.clone(), given("max_iterations", iterations, Layer::Project)];
            assert_eq!((too_wide(&all).len(), resolve(all).get("max_iterations")), (vain, held));
        }
    }

    #[test]
    fn every_default_of_a_profile_fits_its_key() {
        for (profile, table, _) in PROFILES {
            for (name, text) in table {
                let Some(key) = key(name) else { panic!("{profile}: no key {name}") };
                let fits = text.is_empty() || value::parse(key.kind, text).as_deref() == Ok(*text);
                assert!(fits, "{profile}: {name} = {text}");
            }
        }
    }
}
