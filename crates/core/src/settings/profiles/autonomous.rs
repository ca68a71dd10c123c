//! The autonomous profile: its defaults, and the nested names of its specification (`loop.recovery.prompt_mutations`)
//! for keys of ours. A key that is built later gets its default in [`DEFAULTS`] and its row in [`NAMES`].
use super::Table;
use crate::settings::catalogue::{Key, key};
use crate::settings::error::SettingsError;
use crate::settings::layers::{Given, Origin};
use crate::text::nearest;

/// The defaults: what the specification says, for every key that exists. The agent says that it is done by its tag alone,
/// so no status block is asked for or missed.
pub(super) const DEFAULTS: Table = &[
    ("agent", "codex"),
    ("agents", "codex,gemini"),
    ("cli_default", "codex"),
    ("opus_daily_limit", "50"),
    ("no_promise", "true"),
    ("completion_promise", "COMPLETE"),
    ("status_block", "none"),
    ("max_missing_status", "unlimited"),
    ("max_done_claims", "unlimited"),
    ("max_iterations", "unlimited"),
    ("max_time", "24h"),
    ("timeout", "15m"),
    ("progress_by", "score"),
    ("progress_threshold", "0.15"),
    ("prompt_form", "history"),
    ("raw_window_size", "5"),
    ("summarize_every", "10"),
    ("max_summary_tokens", "2000"),
    ("text_writer", "agent"),
    ("recover", "true"),
    ("stuck_after", "3"),
    ("ladder", "mutations:5, model:10, branches, human"),
    ("recovery_budget", "20"),
    ("prompt_mutations", "3"),
    ("max_iterations_warning", "100"),
    ("identical_output_window", "5"),
    ("min_iteration_duration", "1s"),
    ("stop_file", ".harness/stop"),
    ("watch_workspace", "true"),
    ("enable_inbox", "true"),
    ("inbox_path", ".harness/inbox"),
    ("check_env_vars", "true"),
    ("alerts", "true"),
    ("alert_every", "10"),
    ("pause_on_critical", "true"),
    ("alerts_log", ".harness/alerts.log"),
    ("harness_log", "true"),
    ("state_db", "true"),
];

/// What a nested name means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// It is this key.
    Key(&'static str),
    /// It is this key, and a number without a unit is in seconds.
    Seconds(&'static str),
}
use Meaning::{Key as Is, Seconds};

/// The nested names, in the order of the specification.
const NAMES: [(&str, Meaning); 26] = [
    ("loop.max_iterations", Is("max_iterations")),
    ("loop.max_time", Is("max_time")),
    ("loop.progress_threshold", Is("progress_threshold")),
    ("loop.stuck_after", Is("stuck_after")),
    ("loop.recovery.prompt_mutations", Is("prompt_mutations")),
    ("loop.recovery.branch_exploration", Is("branch_exploration")),
    ("loop.recovery.branch_count", Is("branch_count")),
    ("loop.recovery.branch_budget", Is("branch_budget")),
    ("loop.recovery.budget", Is("recovery_budget")),
    ("cli.enabled", Is("agents")),
    ("cli.default", Is("cli_default")),
    ("cli.auto_router.prefer_cheap", Is("prefer_cheap")),
    ("cli.auto_router.opus_daily_limit", Is("opus_daily_limit")),
    ("context.raw_window_size", Is("raw_window_size")),
    ("context.summarize_every", Is("summarize_every")),
    ("context.max_summary_tokens", Is("max_summary_tokens")),
    ("alerts.milestone_every", Is("alert_every")),
    ("alerts.pause_on_critical", Is("pause_on_critical")),
    ("alerts.log_file", Is("alerts_log")),
    ("environment.watch_workspace", Is("watch_workspace")),
    ("environment.inbox_enabled", Is("enable_inbox")),
    ("environment.inbox_path", Is("inbox_path")),
    ("environment.check_env_vars", Is("check_env_vars")),
    ("runaway.max_iterations_warning", Is("max_iterations_warning")),
    ("runaway.identical_output_window", Is("identical_output_window")),
    ("runaway.min_iteration_duration", Seconds("min_iteration_duration")),
];

/// Whether a name at the top of a file is one of the specification's tables.
#[must_use]
pub fn is_table(name: &str) -> bool {
    NAMES.iter().any(|(nested, _)| nested.split('.').next() == Some(name))
}

/// Whether it is a nested name of the specification, not only a table.
pub(crate) fn is_name(name: &str) -> bool {
    NAMES.iter().any(|(nested, _)| *nested == name)
}

/// The key of ours that a nested name stands for, where there is one.
#[must_use]
pub fn key_of(nested: &str) -> Option<&'static Key> {
    match NAMES.iter().find(|(known, _)| *known == nested)?.1 {
        Meaning::Key(name) | Meaning::Seconds(name) => key(name),
    }
}

/// A value by its nested name. `words` is none where the value is a table.
///
/// # Errors
/// When there is no such name, or the value does not fit.
pub(crate) fn read(nested: &str, words: Option<&str>, at: Origin) -> Result<Given, SettingsError> {
    let known = NAMES.iter().find(|(known, _)| *known == nested);
    let unknown = || SettingsError::UnknownKey {
        place: at.place.clone(),
        key: nested.to_owned(),
        near: nearest(nested, NAMES.iter().map(|(known, _)| *known)),
    };
    let (name, meaning) = known.ok_or_else(unknown)?;
    let (ours, unit) = match meaning {
        Meaning::Key(name) => (*name, ""),
        Meaning::Seconds(name) => (*name, "s"),
    };
    let key = key(ours).ok_or_else(unknown)?;
    let words = words.ok_or_else(|| SettingsError::BadValue {
        place: at.place.clone(),
        key: name,
        value: "a table".to_owned(),
        why: format!("it must be {}", key.kind.describe()),
        hint: "write it as one plain value".to_owned(),
    })?;
    let number = words.trim().parse::<f64>().is_ok();
    let text = if number { format!("{}{unit}", words.trim()) } else { words.to_owned() };
    Given::read_for_start(key, &text, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::settings::{Layer, from_yaml, keys, settle};

    fn yaml(text: &str) -> Result<crate::settings::Resolved, SettingsError> {
        settle(from_yaml(text, "config.yaml", Layer::User)?)
    }

    #[test]
    fn a_nested_name_sets_the_key_that_it_stands_for() {
        let text = "# the documented form\nloop:\n  max_iterations: null\n  max_time: \"8h\"\nrunaway:\n  \
                    min_iteration_duration: 2.5\n  max_iterations_warning: 40\n";
        let held = yaml(text).unwrap();
        let text = |key: &Key| held.text(key).to_owned();
        assert_eq!(text(keys::max_iterations()), "unlimited");
        assert_eq!(text(keys::max_time()), "8h");
        assert_eq!(text(keys::min_iteration_duration()), "2.5s");
        assert_eq!(held.origin(keys::max_iterations_warning()).unwrap().place, "config.yaml:7");
    }

    #[test]
    fn an_unknown_nested_name_is_refused_with_its_line_and_a_suggestion() {
        let error = yaml("profile: autonomous\nloop:\n  max_time: 1h\n  recovery:\n    branch_cuont: 3\n").unwrap_err();
        assert_eq!(error.to_string(), "config.yaml:5: unknown key loop.recovery.branch_cuont");
        assert_eq!(error.hint(), "did you mean loop.recovery.branch_count?");
    }

    #[test]
    fn a_table_where_a_value_belongs_is_refused_by_its_nested_name() {
        let error = yaml("loop:\n  max_time:\n    hours: 3\n").unwrap_err();
        assert_eq!(error.to_string(), "config.yaml:2: loop.max_time cannot be \"a table\"");
    }

    #[test]
    fn every_built_name_has_its_key_and_no_name_is_there_twice() {
        for (at, (nested, meaning)) in NAMES.iter().enumerate() {
            let (Meaning::Key(name) | Meaning::Seconds(name)) = meaning;
            assert!(key(name).is_some(), "{nested} names {name}, which is no key");
            assert!(!NAMES[..at].iter().any(|(before, _)| before == nested), "{nested} is there twice");
        }
    }
}
