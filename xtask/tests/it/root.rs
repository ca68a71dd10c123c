//! The root shows at a glance what there is.

use xtask::Tree;
use xtask::rules::root::check;

use crate::told;

/// A tree with so many names at the root, the first of them a folder with two files.
fn with(names: usize) -> Tree {
    let names: Vec<String> = (1..names).map(|number| format!("file-{number}")).collect();
    let mut files = vec![("docs/a.md", ""), ("docs/b.md", "")];
    files.extend(names.iter().map(|name| (name.as_str(), "")));
    Tree::of(&files)
}

#[test]
fn a_root_of_twenty_five_entries_is_fine() {
    assert_eq!(check(&with(25)), []);
}

#[test]
fn a_longer_root_is_found() {
    assert_eq!(told(&check(&with(26))), [".:1: 26 entries at the root, at most 25; move some into a folder"]);
}
