//! A clause has a test that exists, or says what is missing.

use xtask::Tree;
use xtask::rules::clauses::check;

use crate::told;

fn findings_in(tag: &str, clauses: &str) -> Vec<String> {
    let code = format!("#[test]\nfn a() {{\n    // req: {tag}\n}}\n");
    let tree = Tree::of(&[
        ("crates/core/tests/it/decide.rs", &code),
        ("docs/requirements.md", "- **B-05**: a block\n  - state: open\n"),
        ("docs/requirements-clauses.md", clauses),
    ]);
    told(&check(&tree))
}

#[test]
fn a_clause_with_a_test_or_with_what_is_missing_is_fine() {
    let clauses = "## B-05\n\n- one\n  - `core/decide::a`\n- two\n  - open: it comes later.\n";
    assert_eq!(findings_in("B-05 partly: one", clauses), [""; 0]);
    assert_eq!(findings_in("B-05", ""), [""; 0]);
}

#[test]
fn a_clause_that_nothing_shows_is_found() {
    let path = "docs/requirements-clauses.md";
    for (line, clauses, fault) in [
        (3, "## B-05\n\n- one\n", "a clause without a test; name one, or write `  - open: ` and what is missing"),
        (3, "## B-05\n\n- one\n  - open:\n", "`open:` without a sentence; say what is missing"),
        (
            4,
            "## B-05\n\n- one\n  - `core/decide::gone`\n",
            "no test `core/decide::gone`; name the test that shows this clause, or write what is missing",
        ),
        (
            3,
            "## B-09\n\n- one\n  - `core/decide::a`\n",
            "no requirement `B-09` in docs/requirements.md; correct the id",
        ),
    ] {
        assert_eq!(findings_in("B-05", clauses), [format!("{path}:{line}: {fault}")], "{clauses}");
    }
}

#[test]
fn a_requirement_that_every_test_meets_in_part_needs_its_clauses() {
    let found = findings_in("B-05 partly: one", "");
    let fault = "every test of `B-05` says `partly:`; list its clauses in docs/requirements-clauses.md, or let one test \
                 meet it wholly";
    assert_eq!(found, [format!("docs/requirements.md:1: {fault}")]);
}
