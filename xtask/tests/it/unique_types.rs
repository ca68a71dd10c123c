//! Names of types that stand twice in one crate.

use xtask::rules::unique_types::{KNOWN, KnownName, check_with};
use xtask::{Tree, workspace_root};

use crate::told;

const A: (&str, &str) = ("crates/daemon/src/a.rs", "//! A.\npub struct Place;\nstruct Inner;\npub fn place() {}\n");

fn findings(files: &[(&str, &str)], known: &[KnownName]) -> Vec<String> {
    told(&check_with(&Tree::of(files), known))
}

#[test]
fn a_second_type_of_a_name_is_reported_with_the_place_of_the_first() {
    for second in ["pub enum Place {}", "pub(crate) trait Place {}", "pub(in crate::b) type Place = u8;"] {
        let found = findings(&[A, ("crates/daemon/src/b.rs", &format!("//! B.\n{second}\n"))], &[]);
        let expected = "daemon has another type `Place` in crates/daemon/src/a.rs:2; rename one";
        assert_eq!(found, [format!("crates/daemon/src/b.rs:2: {expected}")], "{second}");
    }
}

#[test]
fn private_types_and_those_of_other_crates_may_share_a_name() {
    let found = findings(
        &[
            A,
            ("crates/daemon/src/b.rs", "struct Place;\npub struct Inner;\n// pub struct Place;\n"),
            ("crates/host/src/a.rs", "pub struct Place;\n"),
            ("crates/daemon/tests/it/main.rs", "pub struct Place;\n"),
        ],
        &[],
    );
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_known_name_may_stay_until_it_is_unique() {
    let known = [KnownName { folder: "daemon", name: "Place" }];
    let both = [A, ("crates/daemon/src/b.rs", "pub struct Place;\n")];
    assert!(findings(&both, &known).is_empty());
    let found = findings(&[A], &known);
    let expected = "xtask/src/rules/unique_types.rs:1: `Place` of daemon is unique; take it out of KNOWN";
    assert_eq!(found, [expected]);
}

#[test]
fn every_known_name_stands_twice_in_the_house() -> anyhow::Result<()> {
    let found = told(&check_with(&Tree::load(&workspace_root())?, &[]));
    let is_twice = |row: &KnownName| {
        let fault = format!("{} has another type `{}` in", row.folder, row.name);
        found.iter().any(|finding| finding.contains(&fault))
    };
    let gone: Vec<&str> = KNOWN.iter().filter(|row| !is_twice(row)).map(|row| row.name).collect();
    assert!(gone.is_empty(), "take these out of KNOWN: {gone:?}");
    Ok(())
}
