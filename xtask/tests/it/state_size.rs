//! How large the state of a run may be.

use xtask::rules::state_size::{check, state_size};
use xtask::{Tree, workspace_root};

use crate::told;

const STATE: &str = "crates/core/src/run/state.rs";

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    told(&check(&Tree::of(files)))
}

fn fields(count: usize, kind: &str) -> String {
    (0..count).map(|number| format!("pub field_{number}: {kind}, ")).collect()
}

#[test]
fn a_state_with_more_than_twenty_public_fields_is_reported() {
    let state = |count| format!("pub struct RunState {{ {} hidden: u32 }}\n", fields(count, "u32"));
    assert!(findings(&[(STATE, &state(20))]).is_empty());
    let end = "has 21 public fields, at most 20; make what belongs together a part";
    assert_eq!(findings(&[(STATE, &state(21))]), [format!("{STATE}:1: RunState {end}")]);
}

#[test]
fn flags_are_counted_in_all_parts_of_the_state_however_deep() {
    let state = "pub struct RunState { pub guard: Option<Guard>, pub seen: Known }\npub type Known = Vec<Seen>;\n";
    let parts = |count: usize| {
        format!(
            "pub struct Guard {{ inner: Vec<Inner> }}\nenum Inner {{ A {{ is: Option<bool> }}, B(bool) }}\n\
             pub struct Seen {{ {} }}\nstruct Unused {{ is: bool }}\n",
            fields(count, "bool")
        )
    };
    let part = "crates/core/src/run/guard.rs";
    assert!(findings(&[(STATE, state), (part, &parts(10))]).is_empty());
    let found = findings(&[(STATE, state), (part, &parts(11))]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("{STATE}:1: the parts of RunState have 13 flags, at most 12")), "{found:?}");
    assert!(found[0].contains("Inner::0, Inner::is, Seen::field_0"), "{found:?}");
}

#[test]
fn content_of_facts_settings_and_types_of_tests_are_no_flags_of_the_state() {
    let state = "pub struct RunState { report: Report, settings: Settings, own: Own }\nstruct Own;\n";
    let flags = fields(13, "bool");
    let found = findings(&[
        (STATE, state),
        ("crates/core/src/run/report.rs", &format!("#[derive(Debug, Serialize)]\npub struct Report {{ {flags} }}\n")),
        ("crates/core/src/settings/mod.rs", &format!("pub struct Settings {{ {flags} }}\n")),
        ("crates/core/src/run/a.rs", &format!("struct Own {{ {flags} }}\n")),
        ("crates/core/src/run/b.rs", &format!("#[cfg(test)]\nmod tests {{ pub struct Own {{ {flags} }} }}\n")),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn the_parts_of_the_real_state_are_found() -> anyhow::Result<()> {
    let size = state_size(&Tree::load(&workspace_root())?).unwrap();
    // One of a part of a part: else the rule would see too little.
    assert!(size.flags.contains(&"Gate::completed".to_owned()), "{size:?}");
    assert!(size.public_fields >= 10, "{size:?}");
    Ok(())
}
