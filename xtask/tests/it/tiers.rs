//! The table of tests that only `./check --all` runs.

use xtask::Tree;
use xtask::rules::tiers::{PATH, check};

use crate::told;

fn findings(table: &str) -> Vec<String> {
    let test = "#[test]\nfn works() {}\n";
    let files = [(PATH, table), ("crates/cli/tests/it/real.rs", test), ("crates/cli/tests/it/deep/mod.rs", test)];
    told(&check(&Tree::of(&files)))
}

#[test]
fn a_line_that_names_tests_and_says_what_they_need_is_right() {
    let inner = "loop-cli real::inner:: root\nloop-cli a::b::tests::works root";
    let files = [
        (PATH, inner),
        ("crates/cli/tests/it/real.rs", "#[test]\nfn works() {}"),
        ("crates/cli/src/a/b.rs", "#[cfg(test)]\nmod tests { #[test]\nfn works() {} }"),
    ];
    assert_eq!(told(&check(&Tree::of(&files))), [""; 0]);
    let table = "# a comment\n\nloop-cli real::  root and a mount\nloop-cli  deep::works  minutes # why\n";
    assert_eq!(findings(table), [""; 0]);
}

#[test]
fn a_line_without_a_test_or_a_need_and_a_second_one_are_found() {
    assert_eq!(
        findings("loop-cli gone:: root\nloop-host real:: root\n"),
        [
            format!("{PATH}:1: no test of loop-cli begins with `gone::`; correct the line, or remove it"),
            format!("{PATH}:2: no test of loop-host begins with `real::`; correct the line, or remove it"),
        ]
    );
    assert_eq!(
        findings("loop-cli real::\n"),
        [format!("{PATH}:1: `loop-cli real::` does not say what it needs; write it behind the name")]
    );
    assert_eq!(
        findings("loop-cli real:: root\nloop-cli real::works minutes\n"),
        [format!("{PATH}:2: `loop-cli real::works` stands in line 1 already; remove one")]
    );
}
