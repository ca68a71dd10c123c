//! Modules that use each other in a circle.

use xtask::Tree;
use xtask::rules::cycles::{Known, check, check_with};

use crate::told;

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    told(&check(&Tree::of(files)))
}

#[test]
fn two_modules_that_use_each_other_are_reported_at_both_places() {
    for back in ["use crate::a::One;", "use super::a;", "fn f() { crate::a::g() }", "use crate::{a::One, c};"] {
        let found = findings(&[
            ("crates/daemon/src/a.rs", "//! A.\nuse crate::b::Two;\n"),
            ("crates/daemon/src/b/mod.rs", &format!("//! B.\n{back}\n")),
            ("crates/daemon/src/c.rs", "//! C.\n"),
        ]);
        let expected = [
            "crates/daemon/src/a.rs:2: `a` uses `b`, which uses `a`; move what both need into a module below them",
            "crates/daemon/src/b/mod.rs:2: `b` uses `a`, which uses `b`; move what both need into a module below them",
        ];
        assert_eq!(found, expected, "{back}");
    }
    let deep = findings(&[
        ("crates/daemon/src/a.rs", "use crate::b::Two;\n"),
        ("crates/daemon/src/b/inner.rs", "use super::super::a::One;\n"),
    ]);
    assert_eq!(deep.len(), 2);
}

#[test]
fn a_longer_circle_is_reported_once() {
    let found = findings(&[
        ("crates/daemon/src/a.rs", "use crate::b::Two;\n"),
        ("crates/daemon/src/b.rs", "use crate::c::Three;\n"),
        ("crates/daemon/src/c.rs", "use crate::a::One;\n"),
        ("crates/daemon/src/d.rs", "use crate::a::One;\n"),
    ]);
    assert_eq!(found, ["crates/daemon/src/a.rs:1: modules in a circle: a → b → c → a"]);
}

#[test]
fn one_way_and_what_only_tests_use_is_no_circle() {
    let found = findings(&[
        ("crates/daemon/src/lib.rs", "pub mod a;\npub mod b;\npub use a::One;\n"),
        ("crates/daemon/src/a.rs", "use crate::b::Two;\nuse crate::a::One;\n"),
        ("crates/daemon/src/b/mod.rs", "mod inner;\n#[cfg(test)]\nmod tests {\n    use crate::a::One;\n}\n"),
        ("crates/daemon/src/b/inner.rs", "use super::Two;\n// crate::a::One\nconst A: &str = \"crate::a::One\";\n"),
        ("crates/daemon/tests/it/main.rs", "use crate::a;\n"),
    ]);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_known_circle_that_is_gone_must_leave_the_list() {
    let tree = Tree::of(&[
        ("crates/core/src/agent.rs", "use crate::run::State;\n"),
        ("crates/core/src/policy.rs", "use crate::run::State;\n"),
        ("crates/core/src/run.rs", "use crate::agent::Agent;\n"),
        ("crates/core/src/settings.rs", "use crate::policy::Rule;\n"),
    ]);
    let known = |one, other| Known { of: "core", one, other };
    let found = told(&check_with(&tree, &[known("agent", "run"), known("policy", "run")]));
    let expected = "xtask/src/rules/cycles.rs:1: `policy` and `run` of core use each other no more; \
                    take the pair out of KNOWN";
    assert_eq!(found, [expected]);
}
