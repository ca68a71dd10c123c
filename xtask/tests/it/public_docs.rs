//! Every public item says what it is; fields and variants need not.

use xtask::Tree;
use xtask::rules::public_docs::check;

use crate::told;

fn findings(text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[("crates/core/src/a.rs", text)])))
}

#[test]
fn a_public_item_without_a_doc_comment_is_found_whatever_it_is() {
    let items = [
        ("module", "pub mod x {}"),
        ("struct", "pub struct x;"),
        ("enum", "pub enum x {}"),
        ("union", "pub union x { a: u8 }"),
        ("trait", "pub trait x {}"),
        ("function", "pub fn x() {}"),
        ("constant", "pub const x: u8 = 1;"),
        ("static", "pub static x: u8 = 1;"),
        ("type", "pub type x = u8;"),
        ("macro", "#[macro_export] macro_rules! x { () => {} }"),
        ("function", "impl A { pub const fn x() {} }"),
        ("constant", "impl A { pub const x: u8 = 1; }"),
        ("function", "/// A trait.\npub trait A { fn x(); }"),
    ];
    for (kind, text) in items {
        let expected = format!("public {kind} `x` has no doc comment; say in a sentence what it is");
        let found = findings(text);
        assert!(found.len() == 1 && found[0].ends_with(&expected), "{text}: {found:?}");
    }
}

#[test]
fn what_is_described_or_not_public_or_no_item_is_not_found() {
    for text in [
        "/// A thing.\npub struct A { pub field: u8 }",
        "/// Kinds.\npub enum A { One, Two { inside: u8 } }",
        "#[doc = include_str!(\"a.md\")]\npub fn a() {}",
        "pub(crate) fn a() {}\nfn b() {}\nstruct C;",
        "pub mod elsewhere;",
        "pub use std::fs;",
        "impl Display for A { fn fmt(&self) {} }",
        "impl A { fn a() {} }",
        "macro_rules! x { () => {} }",
        "#[cfg(test)]\nmod tests { pub fn a() {} }",
    ] {
        assert_eq!(findings(text), [""; 0], "{text}");
    }
    let test = Tree::of(&[("crates/core/tests/it/a.rs", "pub fn a() {}")]);
    assert_eq!(told(&check(&test)), [""; 0]);
}
