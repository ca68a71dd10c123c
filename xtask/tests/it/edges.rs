//! Who may depend on whom.

use xtask::Tree;
use xtask::rules::edges::{EXCEPTIONS, check, check_with};

use crate::told;

/// A tree with one crate.
fn with(folder: &str, manifest: &str) -> Tree {
    let path = match folder {
        "xtask" => "xtask/Cargo.toml".to_owned(),
        folder => format!("crates/{folder}/Cargo.toml"),
    };
    let name = match folder {
        "xtask" => folder.to_owned(),
        folder => format!("loop-{folder}"),
    };
    let text = format!("[package]\nname = \"{name}\"\n{manifest}");
    Tree::of(&[(&path, &text)])
}

#[test]
fn each_crate_may_use_those_on_its_left() {
    for (folder, manifest) in [
        ("core", "[dependencies]\nserde = \"1\"\nserde-saphyr = \"2\"\n"),
        ("core", "[dev-dependencies]\nloop-testkit.workspace = true\nexpect-test = \"1\"\n"),
        ("host", "[dependencies]\nloop-core.workspace = true\nrusqlite = \"0\"\n"),
        ("daemon", "[dependencies]\nloop-core = {}\nloop-host = {}\nclap = \"4\"\n"),
        ("cli", "[dependencies]\nloop-daemon = { path = \"../daemon\" }\nclap_complete = \"4\"\n"),
        ("testkit", "[dependencies]\nloop-core = {}\nloop-host = {}\n"),
        ("xtask", "[dependencies]\nloop-core = {}\n[dev-dependencies]\nloop-testkit = {}\n"),
    ] {
        let none: [&str; 0] = [];
        assert_eq!(told(&check(&with(folder, manifest))), none, "{folder}");
    }
}

#[test]
fn no_crate_may_use_one_on_its_right() {
    for (folder, package) in [
        ("core", "loop-host"),
        ("host", "loop-daemon"),
        ("daemon", "loop-cli"),
        ("testkit", "loop-cli"),
        ("xtask", "loop-host"),
    ] {
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let tree = with(folder, &format!("\n[{table}]\n{package} = {{}}\n"));
            let findings = told(&check(&tree));
            assert_eq!(findings.len(), 1, "{folder} {table}: {findings:?}");
            assert!(findings[0].contains(&format!("Cargo.toml:5: `{}", name_of(folder))));
            assert!(findings[0].contains(&format!("may not depend on `{package}`; ")));
        }
    }
}

fn name_of(folder: &str) -> String {
    match folder {
        "xtask" => folder.to_owned(),
        folder => format!("loop-{folder}"),
    }
}

#[test]
fn the_testkit_is_for_tests_only() {
    let tree = with("cli", "[dependencies]\nloop-testkit = {}\n");
    assert_eq!(
        told(&check(&tree)),
        ["crates/cli/Cargo.toml:4: `loop-testkit` is for tests only; move it to [dev-dependencies]"]
    );
}

#[test]
fn each_door_has_its_holder() {
    for (folder, package, holders) in [
        ("cli", "rusqlite", "host"),
        ("daemon", "signal-hook", "host"),
        ("testkit", "rustix", "host"),
        ("core", "rustix", "host"),
        ("host", "clap", "cli and daemon"),
        ("xtask", "clap_complete", "cli and daemon"),
    ] {
        let tree = with(folder, &format!("[target.'cfg(unix)'.dependencies]\n{package} = \"1\"\n"));
        let expected = format!("Cargo.toml:4: only {holders} may depend on `{package}`; ask that crate to do it");
        let findings = told(&check(&tree));
        assert_eq!(findings.len(), 1, "{folder}: {findings:?}");
        assert!(findings[0].ends_with(&expected), "{findings:?}");
    }
}

#[test]
fn a_door_may_be_held_by_a_listed_exception() {
    let tree = with("cli", "[dependencies]\nrustix = \"1\"\n");
    assert_eq!(check_with(&tree, &[("cli", "rustix", "a terminal's size")]), []);
    assert_eq!(check_with(&tree, &[("daemon", "rustix", "another crate")]).len(), 1);
    let reasons = EXCEPTIONS.iter().map(|(_, _, why)| *why);
    assert!(reasons.into_iter().all(|why| !why.is_empty()));
}

#[test]
fn a_renamed_dependency_is_known_by_its_real_name() {
    let here = with("cli", "[dependencies]\nsql = { package = \"rusqlite\", version = \"0\" }\n");
    assert_eq!(check(&here).len(), 1);
    let at_the_root = Tree::of(&[
        ("Cargo.toml", "[workspace.dependencies]\nsql = { package = \"rusqlite\", version = \"0\" }\n"),
        ("crates/cli/Cargo.toml", "[package]\nname = \"loop-cli\"\n[dependencies]\nsql.workspace = true\n"),
    ]);
    assert_eq!(check(&at_the_root).len(), 1);
}

#[test]
fn core_may_use_what_is_listed_only() {
    let tree = with("core", "[dependencies]\nserde = \"1\"\ntokio = \"1\"\n");
    assert_eq!(
        told(&check(&tree)),
        ["crates/core/Cargo.toml:5: core may not depend on `tokio`; do without it, or add it to \
          CORE_ALLOWED in xtask/src/rules/edges.rs with a decision record"]
    );
}

#[test]
fn a_crate_outside_the_table_is_found() {
    let tree = Tree::of(&[
        ("crates/core/Cargo.toml", "[package]\nname = \"core\"\n"),
        ("crates/extra/Cargo.toml", "[package]\nname = \"loop-extra\"\n"),
        ("crates/host/Cargo.toml", "[package\n"),
    ]);
    let findings = told(&check(&tree));
    assert_eq!(findings.len(), 3, "{findings:?}");
    assert!(findings[0].ends_with("is named `loop-core`; name it so"));
    assert!(findings[1].contains("crates/extra/Cargo.toml:1: a crate that the table"));
    assert!(findings[2].contains("crates/host/Cargo.toml:1: not valid TOML"));
}
