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
