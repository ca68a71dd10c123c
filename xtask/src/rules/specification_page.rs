//! The page that says which test shows each number of the autonomous specification.
//!
//! Below each claim stands the test that shows it, or why none does. Every test is there, and every section of the
//! specification has its heading.

use std::collections::BTreeSet;

use super::tiers::test_names;
use crate::{Finding, Tree, markdown};

/// The page.
pub const PATH: &str = "docs/autonomous-specification.md";
/// The sections of the specification that have numbers, words or files.
pub const SECTIONS: [&str; 41] = [
    "1", "1.1", "1.2", "2.1", "2.2", "2.3", "2.4", "2.5", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "4.4", "4.5",
    "5.1", "5.2", "5.3", "6.1", "6.2", "6.3", "6.4", "7.1", "7.2", "7.3", "7.4", "7.5", "8.1", "8.2", "9.1", "9.2",
    "10.1", "10.2", "10.3", "11.1", "11.2", "11.3", "12", "A", "B",
];
/// Begins the line of a claim that no test shows.
const NOT_SHOWN: &str = "not shown, because ";

/// Finds tests that are not there, claims without a test, and sections that are missing.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.file(PATH) else { return Vec::new() };
    let tests = all_tests(tree);
    let mut findings = Vec::new();
    let mut claim: Option<usize> = None;
    let mut sections = BTreeSet::new();
    let prose = markdown::prose_lines(&page.text);
    for (number, line) in prose.iter().map(|(number, line)| (*number, line.trim_end())) {
        let is_below = line.starts_with("  - ");
        let below = line.trim_start().trim_start_matches("- ");
        if let Some(heading) = line.strip_prefix("## ") {
            sections.insert(heading.split(' ').next().unwrap_or_default());
        }
        if is_below && below.starts_with(NOT_SHOWN) {
            claim = None;
        } else if is_below {
            let name = below.trim_matches('`');
            if tests.contains(name) {
                claim = None;
            } else {
                findings.push(Finding::new(PATH, number, format!("no test `{name}`; correct the name")));
            }
        } else if line.starts_with("- ") || line.starts_with("## ") {
            findings.extend(claim.map(without));
            claim = line.starts_with("- ").then_some(number);
        }
    }
    findings.extend(claim.map(without));
    let missing = SECTIONS.iter().filter(|section| !sections.contains(*section));
    findings.extend(missing.map(|section| Finding::new(PATH, 1, format!("section {section} has no heading"))));
    findings
}

fn without(line: usize) -> Finding {
    Finding::new(PATH, line, format!("this claim names no test; name one below it, or write `{NOT_SHOWN}…`"))
}

/// Every test as `crate/module::name`.
fn all_tests(tree: &Tree) -> BTreeSet<String> {
    let of = |file: &crate::File| {
        let krate = file.in_crate().map_or("", |(krate, _)| krate).to_owned();
        test_names(file).into_iter().map(move |name| format!("{krate}/{name}")).collect::<Vec<_>>()
    };
    tree.rust().flat_map(of).collect()
}
