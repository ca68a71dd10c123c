//! Every Rust file begins by saying what it is for.

use crate::{Finding, Tree};

/// Finds Rust files that do not begin with a module comment.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust()
        .filter(|file| !file.text.trim_start().starts_with("//!"))
        .map(|file| {
            let message = "no module comment; begin the file with `//!` and one sentence on its purpose";
            Finding::new(&file.path, 1, message)
        })
        .collect()
}
