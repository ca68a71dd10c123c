//! Every clause has a test that exists, or says what is missing.

use std::collections::BTreeSet;

use crate::clauses::{self, Clause};
use crate::{Finding, Tree, ledger, tags};

/// Finds clauses without a test, tests that do not exist, and requirements that are met in parts that are not listed.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(ledger_file) = tree.file(ledger::PATH) else {
        return Vec::new(); // the requirements rule asks for it
    };
    let rows = ledger::rows(&ledger_file.text);
    let listed = clauses::read(tree.file(clauses::PATH).map_or("", |file| file.text.as_str()));
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    let tests = tags::test_names(tree);
    let mut findings: Vec<Finding> = listed.iter().flat_map(|clause| faults(clause, &known, &tests)).collect();
    let by_id = clauses::by_id(&listed);
    let tags = tags::collect(tree);
    for row in rows.iter().filter(|row| !by_id.contains_key(row.id.as_str())) {
        if ledger::is_met_only_in_parts(&row.id, &tags) {
            let message = format!(
                "every test of `{}` says `partly:`; list its clauses in {}, or let one test meet it wholly",
                row.id,
                clauses::PATH
            );
            findings.push(Finding::new(ledger::PATH, row.line, message));
        }
    }
    findings
}

fn faults(clause: &Clause, known: &BTreeSet<&str>, tests: &BTreeSet<String>) -> Vec<Finding> {
    let at = |line: usize, message: String| Finding::new(clauses::PATH, line, message);
    let mut faults = Vec::new();
    if !known.contains(clause.id.as_str()) {
        faults.push(at(clause.line, format!("no requirement `{}` in {}; correct the id", clause.id, ledger::PATH)));
    }
    match &clause.missing {
        None if clause.tests.is_empty() => {
            let message = "a clause without a test; name one, or write `  - open: ` and what is missing".to_owned();
            faults.push(at(clause.line, message));
        }
        Some(missing) if missing.is_empty() => {
            faults.push(at(clause.line, "`open:` without a sentence; say what is missing".to_owned()));
        }
        _ => {}
    }
    let gone = clause.tests.iter().filter(|(_, name)| !tests.contains(name));
    faults.extend(gone.map(|(line, name)| {
        at(*line, format!("no test `{name}`; name the test that shows this clause, or write what is missing"))
    }));
    faults
}
