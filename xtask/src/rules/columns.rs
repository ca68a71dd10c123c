//! Lines of documents that fit on a screen, also inside code blocks.
//!
//! There is one exception: a line that is a single word, such as an address that cannot be broken.

use crate::markdown::COLUMNS_MAX;
use crate::{Finding, Tree};

/// Finds lines of documents that are too wide.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| file.is_markdown()) {
        for (index, line) in file.text.lines().enumerate() {
            let columns = line.chars().count();
            if columns > COLUMNS_MAX && !is_one_word(line) {
                let message = format!(
                    "{columns} columns, at most {COLUMNS_MAX}; break the line, or make a table with long cells a list"
                );
                findings.push(Finding::new(&file.path, index + 1, message));
            }
        }
    }
    findings
}

/// One word, not counting a list marker before it.
fn is_one_word(line: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix("- ").unwrap_or(line).trim();
    !line.contains(char::is_whitespace)
}
