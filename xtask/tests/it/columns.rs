//! Lines of documents that fit on a screen.

use xtask::Tree;
use xtask::rules::columns::check;

use crate::told;

#[test]
fn a_line_of_a_document_that_is_too_wide_is_found_also_in_a_table_or_in_code() {
    let wide = "word ".repeat(25);
    let text = format!("# Title\n{wide}\n| {wide} |\n```text\n{wide}\n```\n");
    let found = told(&check(&Tree::of(&[("docs/a.md", &text)])));
    let places: Vec<&str> = found.iter().filter_map(|finding| finding.split(": ").next()).collect();
    assert_eq!(places, ["docs/a.md:2", "docs/a.md:3", "docs/a.md:5"]);
    assert_eq!(
        found[0],
        "docs/a.md:2: 125 columns, at most 120; break the line, or make a table with long cells a list"
    );
}

#[test]
fn columns_are_counted_by_characters_and_a_line_of_one_word_may_be_longer() {
    let fits = "é".repeat(60) + &" é".repeat(30);
    let address = format!("https://example.org/{}", "a".repeat(120));
    let text = format!("{fits}\n{address}\n- {address}\n");
    assert_eq!(check(&Tree::of(&[("README.md", &text), ("a.rs", &"wide ".repeat(30))])), []);
}
