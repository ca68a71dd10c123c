//! Bookkeeping asks no policy: the files that change the state of a machine call no policy and read no setting.
//!
//! The compiler refuses what takes a `Deciding`. This rule refuses the ways around it.
use crate::{Finding, Tree};

/// The files in which a state changes.
const FILES: [&str; 9] = [
    "crates/core/src/run/agent.rs",
    "crates/core/src/run/apply.rs",
    "crates/core/src/run/checkpoints.rs",
    "crates/core/src/run/gates.rs",
    "crates/core/src/run/guard.rs",
    "crates/core/src/run/progress.rs",
    "crates/core/src/run/prompt_memory.rs",
    "crates/core/src/run/provider.rs",
    "crates/core/src/run/phase.rs",
];

/// What they may not say.
const REFUSED: [&str; 6] = ["consult(", "&Deciding", ".shown()", "decide::", "judge::", "crate::prompt"];

/// Finds bookkeeping that could decide.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in FILES {
        for (at, line) in tree.file(file).map_or("", |file| &file.text).lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in REFUSED.iter().filter(|word| code.contains(**word)) {
                let what = format!("bookkeeping may not use `{word}`; decide in `step` and store what was decided");
                found.push(Finding::new(file, at + 1, what));
            }
        }
    }
    found
}
