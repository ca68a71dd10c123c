//! Bookkeeping asks no policy: the files that change the state of a machine call no policy and read no setting.
//!
//! The compiler refuses what takes a `Deciding`. This rule refuses the ways around it.
use crate::{Finding, Tree};

/// The files of a machine that decide. Every other file of its folder is bookkeeping: a new one is checked.
pub const DECIDING: [&str; 13] = [
    "alert_due.rs",
    "carry.rs",
    "choice.rs",
    "deadline.rs",
    "decide.rs",
    "finish.rs",
    "items.rs",
    "judge.rs",
    "kept_tests.rs",
    "recover.rs",
    "remember.rs",
    "step.rs",
    "text_order.rs",
];

/// What they may not say.
const REFUSED: [&str; 6] = ["consult(", "&Deciding", ".shown()", "decide::", "judge::", "crate::prompt"];

/// Finds bookkeeping that could decide.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.rust().filter(|file| is_bookkeeping(&file.path, tree)) {
        for (at, line) in file.text.lines().enumerate() {
            // One that takes the token and has no name for it only says who may call it.
            let code = line.split("//").next().unwrap_or_default().replace("_: &Deciding", "");
            for word in REFUSED.iter().filter(|word| code.contains(**word)) {
                let what = format!("bookkeeping may not use `{word}`; decide in `step` and store what was decided");
                found.push(Finding::new(&file.path, at + 1, what));
            }
        }
    }
    found
}

/// Whether a file stands in the folder of a machine, which is a folder of core with an `apply.rs`, and does not decide.
fn is_bookkeeping(path: &str, tree: &Tree) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else { return false };
    let is_machine = folder.starts_with("crates/core/src/") && tree.file(&format!("{folder}/apply.rs")).is_some();
    is_machine && !DECIDING.contains(&name)
}
