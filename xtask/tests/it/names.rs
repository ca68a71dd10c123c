//! Names that say something, and test files that are really compiled.

use xtask::Tree;
use xtask::rules::names::check;

use crate::told;

#[test]
fn names_that_say_something_are_fine() {
    let tree = Tree::of(&[
        ("crates/core/src/run/decide.rs", ""),
        ("crates/host/src/jobs.rs", ""),
        ("docs/service.md", ""),
        ("crates/host/utils.toml", ""),
    ]);
    assert_eq!(check(&tree), []);
}

#[test]
fn names_that_say_nothing_are_found() {
    for name in ["util", "utils", "helper", "helpers", "common", "misc", "manager", "service", "job"] {
        for path in [
            format!("crates/core/src/{name}.rs"),
            format!("crates/core/src/{name}/mod.rs"),
            format!("xtask/src/{name}.rs"),
            format!("crates/core/tests/{name}.rs"),
        ] {
            assert_eq!(
                told(&check(&Tree::of(&[(&path, "")]))),
                [format!("{path}:1: `{name}` says nothing; name it after what it does")]
            );
        }
    }
}

#[test]
fn a_declared_test_file_is_fine() {
    let tree = Tree::of(&[
        ("crates/cli/tests/it/main.rs", "mod start;\nmod run;\n#[cfg(unix)]\nmod r#loop;\nmod stop;\n"),
        ("crates/cli/tests/it/start.rs", ""),
        ("crates/cli/tests/it/loop.rs", ""),
        ("crates/cli/tests/it/run/mod.rs", "mod deep;\n"),
        ("crates/cli/tests/it/run/deep.rs", ""),
        ("crates/cli/tests/it/stop.rs", "mod soon;\n"),
        ("crates/cli/tests/it/stop/soon.rs", ""),
        ("crates/cli/tests/it/answer.txt", ""),
    ]);
    assert_eq!(check(&tree), []);
}

#[test]
fn a_forgotten_test_file_is_found() {
    let tree = Tree::of(&[
        ("crates/cli/tests/it/main.rs", "// mod start;\nmod run;\nconst TEXT: &str = \"mod start;\";\n"),
        ("crates/cli/tests/it/start.rs", ""),
        ("crates/cli/tests/it/run.rs", ""),
        ("crates/cli/tests/it/run/deep.rs", ""),
    ]);
    let it = "crates/cli/tests/it";
    assert_eq!(
        told(&check(&tree)),
        [
            format!(
                "{it}/run/deep.rs:1: never compiled; \
                 declare `mod deep;` in {it}/run/mod.rs or {it}/run.rs, or remove the file"
            ),
            format!(
                "{it}/start.rs:1: never compiled; \
                 declare `mod start;` in {it}/main.rs, or remove the file"
            ),
        ]
    );
}

#[test]
fn types_whose_names_say_too_little_are_found_whoever_can_see_them() {
    let path = "crates/host/src/a.rs";
    for name in ["Wish", "Kept", "Told", "Place", "Eyes", "Yard", "Shelf", "Way"] {
        for kind in ["struct", "pub enum", "pub(crate) trait", "type"] {
            let text = format!("fn a() {{}}\nmod inner {{\n{kind} {name} {{}}\n}}\n");
            let end = "says too little; name it after what it is here";
            assert_eq!(told(&check(&Tree::of(&[(path, &text)]))), [format!("{path}:3: a type `{name}` {end}")]);
        }
    }
    let fine =
        "// struct Place;\nstruct FilePlace;\nuse other::Place;\nenum A { Place }\nconst T: &str = \"struct Way\";\n";
    assert_eq!(check(&Tree::of(&[(path, fine), ("crates/host/tests/it/main.rs", "struct Place;\n")])), []);
}
