//! What the manual leaves out is found.

use xtask::manual::{TABLES, named_settings, variants, words_of};
use xtask::rules::manual::{ENVIRONMENT, check};
use xtask::{Tree, workspace_root};

use crate::told;

const HOST: &str = "crates/host/src/paths.rs";

/// What is found with this page of variables and this code.
fn variables(page: &str, code: &str) -> Vec<String> {
    told(&check(&Tree::of(&[(ENVIRONMENT, page), (HOST, code)])))
}

#[test]
fn a_variable_that_the_page_does_not_name_is_found() {
    // req: A-33 partly: variables
    let page = "- `LOOP_HOME`: the folder of all records\n";
    let code = "fn f() { std::env::var(\"LOOP_HOME\"); env.push((\"LOOP_ID\", id)); var_os(\"PAGER\") }\n\
                #[cfg(test)]\nmod tests { fn g() { std::env::var(\"LOOP_SECRET\"); } }\n";
    let missing = |name: &str| format!("{HOST}:1: the variable {name} is not in {ENVIRONMENT}; add it");
    let mut found = variables(page, code);
    found.sort();
    assert_eq!(found, [missing("LOOP_ID"), missing("PAGER")]);
}

#[test]
fn a_variable_of_the_page_that_no_code_knows_is_found() {
    let page = "# Variables\n\n- `LOOP_HOME`, `LOOP_GONE`: a folder\n";
    let told = format!("{ENVIRONMENT}:3: no code knows the variable LOOP_GONE; remove it");
    assert_eq!(variables(page, "fn f() { lookup(\"LOOP_HOME\") }"), [told]);
}

#[test]
fn a_word_without_a_sentence_and_an_enum_that_is_gone_are_found() {
    let path = "crates/core/src/policy/gate.rs";
    let text = "/// A verdict.\npub enum Verdict {\n    /// It holds.\n    Pass,\n    Fail,\n}\n";
    let found = told(&check(&Tree::of(&[(path, text)])));
    assert_eq!(found, [format!("{path}:1: `Verdict::Fail` has no doc comment: it is its sentence in the manual")]);
    let found = told(&check(&Tree::of(&[(path, "pub enum Other {}\n")])));
    assert_eq!(found, [format!("{path}:1: the manual expects the enum `Verdict` here; correct xtask/src/manual.rs")]);
}

#[test]
fn an_exit_code_and_an_event_that_nothing_describes_are_found() {
    let errors = "crates/cli/src/render/error.rs";
    let found = told(&check(&Tree::of(&[(errors, "fn code(&self) -> u8 { match kind { Wrong => 4, Odd => 9 } }")])));
    let wanted = format!("{errors}:1: exit code 9 is not in EXIT_CODES of xtask/src/manual.rs; say what it means");
    assert_eq!(found, [wanted]);
    let events = "crates/core/src/view/events.rs";
    let code = "fn f() { Some((\"created\", json!({}))); Some((\"vanished\", json!({}))) }";
    let tree = Tree::of(&[(events, code), ("docs/formats/json.md", "- `created`: it began\n")]);
    let wanted = format!("{events}:1: the event `vanished` is not in docs/formats/json.md; describe it");
    assert_eq!(told(&check(&tree)), [wanted]);
}

#[test]
fn words_are_read_from_the_arms_that_give_them_and_several_variants_may_share_one() {
    let path = "crates/core/src/policy/gate.rs";
    let text = "/// V.\npub enum Verdict {\n/// One.\n#[serde(skip)]\nA,\n/// Two\n/// lines.\nB { x: u8 },\n/// Three.\nTwoWords,\n}\n\
                impl Verdict { fn name(&self) -> &str { match self { Self::A | Self::B { .. } => \"ab\", _ => \"\" } } }";
    let table = TABLES.iter().find(|table| table.name == "Verdict").unwrap();
    let words = words_of(&Tree::of(&[(path, text)]), table);
    let pairs: Vec<(&str, &str)> = words.iter().map(|word| (word.word.as_str(), word.text.as_str())).collect();
    assert_eq!(pairs, [("ab", "One. Two lines."), ("two_words", "Three.")]);
    assert_eq!(variants(text, "Verdict").len(), 3);
    let names = named_settings("const NAMES: [(&str, M); 1] = [(\"loop.max\", Is(\"max_iterations\"))];");
    assert_eq!(names, [("loop.max".to_owned(), "max_iterations".to_owned())]);
}

#[test]
fn every_table_of_words_has_words_of_its_own_and_each_says_what_it_means() -> anyhow::Result<()> {
    let tree = Tree::load(&workspace_root())?;
    for table in TABLES {
        let words = words_of(&tree, table);
        assert!(words.len() >= 3, "{}: {words:?}", table.name);
        assert!(words.iter().all(|word| !word.word.is_empty() && !word.text.is_empty()), "{}: {words:?}", table.name);
    }
    Ok(())
}
