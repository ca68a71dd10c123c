//! Every tag names a requirement that exists, and belongs to a test.

use xtask::Tree;
use xtask::rules::requirements::check;

use crate::told;

const LEDGER: &str = "\
- **B-05**: a block
  - state: open
- **B-06**: a gate
  - state: open
";

fn findings_in(code: &str) -> Vec<String> {
    let tree = Tree::of(&[("crates/core/tests/it/a.rs", code), ("docs/requirements.md", LEDGER)]);
    told(&check(&tree))
}

#[test]
fn a_tag_inside_or_above_its_test_is_fine() {
    for code in [
        "#[test]\nfn a() {\n    // req: B-05\n}\n",
        "#[test]\nfn a() { // req: B-05, B-06\n}\n",
        "#[test]\nfn a() {\n    let a = \"é//\"; // req: B-05 B-06 partly: without --diff\n}\n",
        "// req: B-05\n#[test]\nfn a() {}\n",
        "// req: B-05\n// more\n/// What it is.\n#[should_panic]\n#[test]\nfn a() {}\n",
        "#[test]\n// req: B-05\n#[should_panic]\npub async fn a() {}\n",
        "#[tokio::test(flavor = \"x\")]\nasync fn a() {\n    // req: B-05\n}\n",
        "mod tests { stories! {\n#[test]\nfn a() {\n    // req: B-05\n}\n} }\n",
    ] {
        assert_eq!(findings_in(code), [""; 0], "{code}");
    }
}

#[test]
fn a_tag_that_belongs_to_no_test_is_found() {
    for (line, code) in [
        (1, "// req: B-05\nfn a() {}\n"),
        (2, "fn a() {\n    // req: B-05\n}\n#[test]\nfn b() {}\n"),
        (1, "// req: B-05\n\n#[test]\nfn b() {}\n"),
        (3, "#[test]\nfn b() {}\n// req: B-05\n"),
        (3, "#[cfg(test)]\nfn b() {\n// req: B-05\n}\n"),
    ] {
        assert_eq!(
            findings_in(code),
            [format!(
                "crates/core/tests/it/a.rs:{line}: this tag belongs to no test; \
                 move it into the test that proves it"
            )],
            "{code}"
        );
    }
}

#[test]
fn a_tag_that_names_nothing_is_found() {
    let test = |tag: &str| format!("#[test]\nfn a() {{\n    // req:{tag}\n}}\n");
    for (tag, fault) in [
        (" B-07", "no requirement `B-07` in docs/requirements.md; correct the id, or add a row"),
        (" B-05, b-06", "no requirement `b-06` in docs/requirements.md; correct the id, or add a row"),
        ("", "this tag names no requirement; give it an id, as in B-05"),
        (" B-05 partly:", "`partly:` without a text; say what is left open"),
    ] {
        let expected = format!("crates/core/tests/it/a.rs:3: {fault}");
        assert_eq!(findings_in(&test(tag)), [expected], "{tag}");
    }
}

#[test]
fn strings_and_doc_comments_may_speak_of_tags() {
    for code in [
        "//! // req: B-99\n",
        "/// // req: B-99\nfn a() {}\n",
        "const A: &str = \"\n// req: B-99\n\";\n",
        "const A: &str = r#\"é \" // req: B-99\"#;\n",
        "// as in `// req: B-99`\n",
    ] {
        assert_eq!(findings_in(code), [""; 0], "{code}");
    }
}

#[test]
fn without_a_ledger_the_first_tag_asks_for_it() {
    let code = "#[test]\nfn a() {\n    // req: B-05\n    // req: B-06\n}\n";
    let tree = Tree::of(&[("crates/core/tests/it/a.rs", code)]);
    assert_eq!(
        told(&check(&tree)),
        ["crates/core/tests/it/a.rs:3: a tag, but no docs/requirements.md; write the ledger first"]
    );
    assert_eq!(check(&Tree::of(&[("README.md", "")])), []);
}

#[test]
fn an_id_that_a_note_swallows_is_found() {
    let found = findings_in("#[test]\nfn a() {\n    // req: B-05 partly: without --diff, B-06\n}\n");
    assert!(found.len() == 1 && found[0].contains("B-06"), "{found:?}");
}
