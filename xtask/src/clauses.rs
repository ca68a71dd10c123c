//! The clauses of requirements that no single test meets: each with its tests, or with what is missing.
//!
//! ```text
//! ## B-05
//!
//! - A clause, on as many lines
//!   as it takes
//!   - `core/decide::the_name_of_a_test`
//! - Another clause
//!   - open: one sentence of what is missing.
//! ```

use std::collections::BTreeMap;

use crate::markdown;

/// Where the clauses lie.
pub const PATH: &str = "docs/requirements-clauses.md";

const TEST: &str = "  - `";
const OPEN: &str = "  - open:";
const OPEN_CONTINUES: &str = "    ";
const CLAUSE: &str = "- ";

/// One clause of a requirement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Its first line, counted from 1.
    pub line: usize,
    /// The requirement that it is a part of.
    pub id: String,
    /// The tests that would fail without it, each with its line: `core/decide::name`.
    pub tests: Vec<(usize, String)>,
    /// What is missing, if something is.
    pub missing: Option<String>,
}

/// The clauses of a document, in its order.
#[must_use]
pub fn read(text: &str) -> Vec<Clause> {
    let mut clauses: Vec<Clause> = Vec::new();
    let mut id = String::new();
    let mut open_line = 0; // the last line of what is missing
    for (number, line) in markdown::prose_lines(text) {
        let line = line.trim_end();
        if let Some(heading) = line.strip_prefix("## ") {
            id = heading.split_whitespace().next().unwrap_or_default().to_owned();
            continue;
        }
        if line.starts_with(CLAUSE) && !id.is_empty() {
            clauses.push(Clause { line: number, id: id.clone(), tests: Vec::new(), missing: None });
            continue;
        }
        let Some(clause) = clauses.last_mut().filter(|clause| clause.id == id) else { continue };
        let continued = line.strip_prefix(OPEN_CONTINUES).filter(|_| open_line + 1 == number);
        if let Some(name) = line.strip_prefix(TEST) {
            clause.tests.push((number, name.trim_end_matches('`').to_owned()));
        } else if let Some(missing) = line.strip_prefix(OPEN) {
            clause.missing = Some(missing.trim().to_owned());
            open_line = number;
        } else if let (Some(more), Some(missing)) = (continued, &mut clause.missing) {
            missing.push(' ');
            missing.push_str(more.trim());
            open_line = number;
        }
    }
    clauses
}

/// The clauses of each requirement.
#[must_use]
pub fn by_id(clauses: &[Clause]) -> BTreeMap<&str, Vec<&Clause>> {
    let mut by_id: BTreeMap<&str, Vec<&Clause>> = BTreeMap::new();
    for clause in clauses {
        by_id.entry(&clause.id).or_default().push(clause);
    }
    by_id
}
