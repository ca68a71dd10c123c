//! Bookkeeping asks nobody.

use xtask::Tree;
use xtask::rules::bookkeeping::check;

use crate::told;

#[test]
fn bookkeeping_that_could_decide_is_reported() {
    let found = told(&check(&Tree::of(&[
        ("crates/core/src/run/apply.rs", "// consult( in a comment\nlet a = consult(|d| 1);\nself.settings.shown();\n"),
        ("crates/core/src/run/step.rs", "decide::decide(state, deciding);\n"),
    ])));
    let end = "; decide in `step` and store what was decided";
    assert_eq!(
        found,
        [
            format!("crates/core/src/run/apply.rs:2: bookkeeping may not use `consult(`{end}"),
            format!("crates/core/src/run/apply.rs:3: bookkeeping may not use `.shown()`{end}"),
        ]
    );
}

#[test]
fn every_file_of_a_machine_is_bookkeeping_unless_it_is_one_that_decides() {
    let asks = "let settings = self.settings.shown();\n";
    let found = told(&check(&Tree::of(&[
        ("crates/core/src/plan/apply.rs", ""),
        ("crates/core/src/plan/new_part.rs", asks),
        ("crates/core/src/plan/state.rs", "pub fn read(&self, _: &Deciding) -> &Settings {\n"),
        ("crates/core/src/plan/deadline.rs", asks),
        ("crates/core/src/view/now.rs", asks),
    ])));
    let end = "bookkeeping may not use `.shown()`; decide in `step` and store what was decided";
    assert_eq!(found, [format!("crates/core/src/plan/new_part.rs:1: {end}")]);
}
