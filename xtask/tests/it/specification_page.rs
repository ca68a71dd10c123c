//! The page with the tests of the autonomous specification.

use xtask::Tree;
use xtask::rules::specification_page::{PATH, SECTIONS, check};

use crate::told;

/// What is found on a page with these lines below the heading of its first section.
fn findings(lines: &str) -> Vec<String> {
    let headings: String = SECTIONS.iter().skip(1).map(|section| format!("## {section} and its title\n")).collect();
    let page = format!("# Page\n## 1 Ends\n{lines}\n{headings}");
    let inner = "#[cfg(test)]\nmod tests { #[test]\nfn works() {} }";
    let files = [
        (PATH, page.as_str()),
        ("crates/core/tests/it/score.rs", "#[test]\nfn works() {}\n"),
        ("crates/core/src/policy/alert.rs", inner),
    ];
    told(&check(&Tree::of(&files)))
}

#[test]
fn a_claim_with_its_test_or_a_reason_is_right() {
    let lines = "- three times\n  - `core/score::works`\n  - `core/policy::alert::tests::works`\n\
                 - a daemon\n  - not shown, because it comes later\n";
    assert_eq!(findings(lines), [""; 0]);
}

#[test]
fn a_test_that_is_not_there_is_found() {
    let line = format!("{PATH}:4: no test `core/score::gone`; correct the name");
    let claim = format!("{PATH}:3: this claim names no test; name one below it, or write `not shown, because …`");
    assert_eq!(findings("- three times\n  - `core/score::gone`\n"), [line, claim]);
}

#[test]
fn a_claim_without_a_test_and_a_section_that_is_missing_are_found() {
    let claim = format!("{PATH}:3: this claim names no test; name one below it, or write `not shown, because …`");
    assert_eq!(findings("- three times\n- four\n  - `core/score::works`\n"), [claim]);
    let found = told(&check(&Tree::of(&[(PATH, "# Page\n## 1 Ends\n")])));
    assert_eq!(found.len(), SECTIONS.len() - 1);
    assert_eq!(found[0], format!("{PATH}:1: section 1.1 has no heading"));
}
