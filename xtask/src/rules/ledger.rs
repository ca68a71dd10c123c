//! The ledger says what the tests say.

use std::collections::BTreeSet;

use crate::ledger::{self, Row};
use crate::{Finding, Tree, clauses, tags};

/// Finds entries without a state or with an id of another one, and states that are not up to date.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(file) = tree.file(ledger::PATH) else {
        return Vec::new(); // the requirements rule asks for it as soon as there is a tag
    };
    let at = |row: &Row, message: String| Finding::new(ledger::PATH, row.line, message);
    let listed = clauses::read(tree.file(clauses::PATH).map_or("", |file| file.text.as_str()));
    let mut findings = Vec::new();
    let mut seen = BTreeSet::new();
    for row in ledger::rows(&file.text) {
        if row.state.is_none() {
            let message = format!("`{}` has no state; end it with a line `  - state: open`", row.id);
            findings.push(at(&row, message));
        }
        if !seen.insert(row.id.clone()) {
            let message = format!("`{}` stands here a second time; give one a new id", row.id);
            findings.push(at(&row, message));
        }
    }
    let stale = ledger::stale(&file.text, &tags::collect(tree), &listed);
    if let Some((row, state)) = stale.first() {
        let message = format!(
            "{} out of date, the first is {}: `{}` should be `{state}`; run `cargo xtask ledger`",
            stale.len(),
            row.id,
            row.state.as_deref().unwrap_or_default()
        );
        findings.push(at(row, message));
    }
    findings
}
