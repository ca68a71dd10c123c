//! Every Rust file begins by saying what it is for.

use xtask::Tree;
use xtask::rules::module_docs::check;

use crate::told;

#[test]
fn a_file_begins_with_its_purpose() {
    let tree = Tree::of(&[
        ("README.md", "# Loop\n"),
        ("crates/core/src/lib.rs", "//! What a loop is.\n"),
        ("crates/core/tests/it/main.rs", "\n\n//! Tests.\n"),
    ]);
    assert_eq!(check(&tree), []);
}

#[test]
fn a_file_without_a_purpose_is_found() {
    let tree = Tree::of(&[
        ("crates/core/src/lib.rs", "use std::fmt;\n//! Too late.\n"),
        ("crates/core/src/empty.rs", ""),
        ("crates/core/tests/it/main.rs", "// Not a module comment.\n"),
    ]);
    let advice = "no module comment; begin the file with `//!` and one sentence on its purpose";
    assert_eq!(
        told(&check(&tree)),
        [
            format!("crates/core/src/empty.rs:1: {advice}"),
            format!("crates/core/src/lib.rs:1: {advice}"),
            format!("crates/core/tests/it/main.rs:1: {advice}"),
        ]
    );
}
