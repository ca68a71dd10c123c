//! Plain English in documents, doc comments and texts.

use xtask::Tree;
use xtask::rules::words::{COUNTS, check, counted};

use crate::told;

const PATH: &str = "crates/core/src/run/a.rs";

fn findings(path: &str, text: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(path, text)])))
}

#[test]
fn a_banned_word_in_a_document_is_found_also_over_two_lines_and_with_signs_around_it() {
    let text = "# Title\n\nIt is begun **Anew**. It can be gone\non with later.\n";
    assert_eq!(
        findings("docs/a.md", text),
        [
            "docs/a.md:3: plain English: not `anew`; write: again",
            "docs/a.md:3: plain English: not `gone on with`; write: resumed",
        ]
    );
    let fine = "`anew` is code.\n```text\nanew\n```\nrenewed anewly\n\nThere is no file. It is no longer there.\n";
    assert_eq!(findings("README.md", fine), [""; 0]);
}

#[test]
fn it_is_found_in_module_headers_doc_comments_and_texts_of_product_code() {
    for text in [
        "//! Begun anew.",
        "/// Begun anew.\nfn a() {}",
        "/// It is gone\n/// on with.\nfn a() {}",
        "fn a() { println!(\"begun anew\"); }",
        "const A: &str = \"begun \\\n  anew\";",
        "#[error(\"begun anew\")]\nstruct A;",
        "#[cfg(not(test))]\nmod a { const A: &str = \"begun anew\"; }",
        "#[cfg(test)]\nmod tests;\nmod a { const A: &str = \"begun anew\"; }",
    ] {
        assert_eq!(findings(PATH, text).len(), 1, "{text}");
    }
}

#[test]
fn comments_names_single_words_code_and_tests_are_not_read() {
    for text in [
        "//! `anew`\n",
        "// begun anew\nfn anew() {}",
        "const A: &str = \"anew\";",
        "/// ```\n/// begun anew\n/// ```\nfn a() {}",
        "/// It is gone\nfn a() {}\n/// on with.\nfn b() {}",
        "#[cfg(test)]\nmod tests { const A: &str = \"begun anew\"; }",
    ] {
        assert_eq!(findings(PATH, text), [""; 0], "{text}");
    }
    assert_eq!(findings("crates/core/tests/it/a.rs", "//! Begun anew."), [""; 0]);
}

#[test]
fn what_is_counted_for_a_folder_may_stay_and_the_count_must_be_the_real_one() {
    let with = |count: &str, text: &str| told(&check(&Tree::of(&[(COUNTS, count), (PATH, text)])));
    let two = "//! Anew and anew.";
    assert_eq!(with("# a comment\ncrates/core/src/run 2\n", two), [""; 0]);
    assert_eq!(with("crates/core/src/run 1\n", two).len(), 2, "one more than allowed: all are shown");
    let expected =
        format!("{COUNTS}:1: crates/core/src/run has 2 banned words, not 3; run `cargo xtask tidy --write-counts`");
    assert_eq!(with("crates/core/src/run 3\n", two), [expected]);
    let expected =
        format!("{COUNTS}:1: crates/core/src/run has 0 banned words, not 1; run `cargo xtask tidy --write-counts`");
    assert_eq!(with("crates/core/src/run 1\n", "//! Again."), [expected]);
}

#[test]
fn counts_are_written_by_folder_and_documents_have_none() {
    let tree = Tree::of(&[
        ("README.md", "anew\n"),
        ("crates/core/src/a.rs", "//! Anew."),
        ("crates/core/src/agent/b/c.rs", "//! Anew."),
        ("crates/core/src/agent/d.rs", "//! Anew."),
    ]);
    let text = counted(&tree);
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["crates/core/src 1", "crates/core/src/agent 2"]);
}
