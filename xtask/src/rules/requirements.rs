//! Every tag names a requirement that exists, and belongs to a test.

use std::collections::BTreeSet;

use crate::tags::{self, Tag};
use crate::{Finding, Tree, ledger};

/// Finds tags that name nothing, or stand outside a test.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let tags = tags::collect(tree);
    let Some(file) = tree.file(ledger::PATH) else {
        let missing = |tag: &Tag| {
            let message = format!("a tag, but no {}; write the ledger first", ledger::PATH);
            Finding::new(&tag.path, tag.line, message)
        };
        return tags.first().map(missing).into_iter().collect();
    };
    let rows = ledger::rows(&file.text);
    let known: BTreeSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
    tags.iter().flat_map(|tag| faults(tag, &known)).collect()
}

/// Numbers of reviews: RT (attacks on the gates), UR (use), CLI (real programs). They are no requirements.
fn is_review(id: &str) -> bool {
    let reviews = ["RT-", "UR-", "CLI-"];
    let rest = reviews.iter().find_map(|review| id.strip_prefix(review));
    rest.is_some_and(|rest| rest.len() > 1 && rest[1..].chars().all(|sign| sign.is_ascii_digit()))
}

fn faults(tag: &Tag, known: &BTreeSet<&str>) -> Vec<Finding> {
    let mut faults = Vec::new();
    if tag.test.is_none() {
        faults.push("this tag belongs to no test; move it into the test that proves it".to_owned());
    }
    if tag.ids.is_empty() {
        faults.push("this tag names no requirement; give it an id, as in B-05".to_owned());
    }
    if tag.partly.as_deref() == Some("") {
        faults.push("`partly:` without a text; say what is left open".to_owned());
    }
    let words = tag.partly.iter().flat_map(|text| text.split([' ', ',', ';']));
    let swallowed: Vec<&str> = words.filter(|word| known.contains(word)).collect();
    if let Some(id) = swallowed.first() {
        faults
            .push(format!("`{id}` stands in the text of `partly:` and counts for nothing; give it a line of its own"));
    }
    let unknown = tag.ids.iter().filter(|id| !known.contains(id.as_str()) && !is_review(id));
    faults.extend(unknown.map(|id| format!("no requirement `{id}` in {}; correct the id, or add a row", ledger::PATH)));
    let at = |message| Finding::new(&tag.path, tag.line, message);
    faults.into_iter().map(at).collect()
}
