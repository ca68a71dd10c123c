//! `cargo xtask mutants`: which changes a source has, and the source with all of them behind switches.

use std::collections::BTreeSet;

use expect_test::{Expect, expect};
use serde_json::json;
use xtask::mutants::build::blamed;
use xtask::mutants::copy::Written;
use xtask::mutants::diff::ChangedLines;
use xtask::mutants::examples::{of_source, program};
use xtask::mutants::glob::matches;
use xtask::mutants::list::{Found, Mutant, find};
use xtask::mutants::rewrite::rewrite;
use xtask::mutants::table::{self, Tried};
use xtask::mutants::trial::Fate;
use xtask::mutants::{MutantOptions, list_all, picked};
use xtask::rules::bookkeeping::DECIDING;
use xtask::workspace_root;

fn found(source: &str) -> Found {
    find("a.rs", source, 1).unwrap_or_default()
}

fn rewritten(source: &str, expected: &Expect) {
    let text = rewrite(source, &found(source).sites, &BTreeSet::new()).text;
    assert!(syn::parse_file(&text).is_ok(), "the rewritten source is not Rust: {text}");
    expected.assert_eq(&text.replace("crate::mutant_switch::", ""));
}

fn whats(source: &str) -> Vec<String> {
    found(source).mutants.into_iter().map(|mutant| mutant.what).collect()
}

#[test]
fn a_function_returns_another_value_at_its_beginning() {
    rewritten(
        "fn f() -> Option<bool> { g() }",
        &expect![
            "fn f() -> Option<bool> { if on(1) { return None; } if on(2) { return Some(true); } if on(3) { return Some(false); } g() }"
        ],
    );
}

#[test]
fn an_operator_is_another_one_in_a_copy_of_its_expression() {
    rewritten(
        "fn f() { g(a == b + 1); }",
        &expect![
            "fn f() { if on(1) { return (); } g((if on(2) { a != b + 1 } else { a == (if on(3) { b - 1 } else if on(4) { b * 1 } else { b + 1 }) })); }"
        ],
    );
}

#[test]
fn a_guard_is_true_or_false_and_an_arm_before_a_wildcard_does_not_match() {
    rewritten(
        "fn f(n: u8) { match n { 1 if g() => h(), 2 => i(), _ => {} } }",
        &expect![
            "fn f(n: u8) { if on(1) { return (); } match n { 1 if !on(2) && ((if on(3) { true } else if on(4) { false } else { g() })) => h(), 2 if !on(5) => i(), _ => {} } }"
        ],
    );
}

#[test]
fn the_signs_before_a_value_are_deleted() {
    rewritten(
        "fn f() { g(!a, -b) }",
        &expect!["fn f() { if on(1) { return (); } g((if on(2) { a } else { !a }), (if on(3) { b } else { -b })) }"],
    );
}

#[test]
fn an_iterator_without_a_name_keeps_one_type() {
    rewritten(
        "fn f() -> impl Iterator<Item = u8> { g() }",
        &expect![
            "fn f() -> impl Iterator<Item = u8> { if on(1) { Either::Left(::std::iter::empty()) } else { if on(2) { Either::Right(Either::Left(::std::iter::once(0))) } else { if on(3) { Either::Right(Either::Right(Either::Left(::std::iter::once(1)))) } else { Either::Right(Either::Right(Either::Right({ g() }))) } } }}"
        ],
    );
}

#[test]
fn dropped_changes_leave_the_source_as_it_was() {
    let source = "fn f() { g(a && b); }";
    let found = found(source);
    let all = found.mutants.iter().map(|mutant| mutant.id).collect();

    assert_eq!(rewrite(source, &found.sites, &all).text, source);
}

#[test]
fn tests_and_defaults_have_no_changes() {
    let source = "#[cfg(test)] mod tests { fn f() { g(1 + 1); } } #[test] fn t() { g(); } \
                  impl Default for A { fn default() -> Self { Self(1 + 1) } }";

    assert_eq!(whats(source), Vec::<String>::new());
}

#[test]
fn what_cannot_be_behind_a_switch_is_named_and_left_out() {
    let source = "const A: u8 = 1 + 1; const fn f() -> bool { g() } fn h() { if a && let Some(_) = b {} }";
    let found = found(source);
    let left_out: Vec<_> = found.mutants.iter().map(|mutant| mutant.left_out.unwrap_or("tried")).collect();

    let expected =
        ["in a constant", "in a constant", "in a const fn", "in a const fn", "tried", "&& before or behind a let"];
    assert_eq!(left_out, expected);
    assert_eq!(found.sites.len(), 1);
}

#[test]
fn values_follow_the_return_type() {
    let source = "fn a() -> Result<String, E> { x() } fn b() -> Vec<u8> { x() } fn c() -> (bool, A) { x() } \
                  fn d() -> &'static str { x() } fn e() -> BTreeMap<u8, A> { x() } fn f() -> i64 { 0 }";

    expect![[r#"
        returns Ok(String::new())
        returns Ok("xyzzy".into())
        returns vec![]
        returns vec![0]
        returns vec![1]
        returns (true, Default::default(),)
        returns (false, Default::default(),)
        returns ""
        returns "xyzzy"
        returns BTreeMap::new()
        returns BTreeMap::from_iter([(0, Default::default())])
        returns BTreeMap::from_iter([(1, Default::default())])
        returns 1
        returns -1"#]]
    .assert_eq(&whats(source).join("\n"));
}

#[test]
fn a_compile_error_is_blamed_on_the_change_that_it_points_at() {
    let source = "fn f() -> A { g(a < b) }";
    let rewritten = rewrite(source, &found(source).sites, &BTreeSet::new());
    let at = rewritten.text.find("a > b").expect("a change") + 2;
    let span = json!({ "file_name": "a.rs", "byte_start": at, "byte_end": at + 1, "is_primary": true });
    let written = [Written { path: "a.rs".to_owned(), places: rewritten.places }];

    assert_eq!(blamed(&json!({ "spans": [span] }), &written), [3]);
}

#[test]
fn a_diff_picks_the_changes_of_its_lines() {
    let diff = "diff --git a/a.rs b/a.rs\n--- a/a.rs\n+++ b/a.rs\n@@ -3,2 +3,3 @@ fn\n here\n+new\n there\n";
    let changed = ChangedLines::read(diff);

    assert_eq!([3, 4, 5].map(|line| changed.touches("a.rs", &(line..=line))), [false, true, false]);
    assert!(!changed.touches("b.rs", &(4..=4)));
}

#[test]
fn a_glob_matches_names_and_folders() {
    assert!(matches("crates/**/*.rs", "crates/a/b/c.rs"));
    assert!(matches("crates/**/*.rs", "crates/c.rs"));
    assert!(matches("crates/a/*.rs", "crates/a/c.rs"));
    assert!(!matches("crates/a/*.rs", "crates/a/b/c.rs"));
}

#[test]
fn a_sample_is_the_same_for_the_same_seed() -> anyhow::Result<()> {
    let source = "fn f() { g(a && b || c + d < e); }";
    let mutants = found(source).mutants;
    let sample = |seed| picked(&MutantOptions { sample: Some(3), seed, ..MutantOptions::default() }, &mutants);

    assert_eq!(sample(7)?.len(), 3);
    assert_eq!(sample(7)?, sample(7)?);
    Ok(())
}

#[test]
fn every_judging_file_can_be_rewritten() -> anyhow::Result<()> {
    for source in list_all(&workspace_root())?.sources {
        let text = rewrite(&source.text, &source.sites, &BTreeSet::new()).text;
        assert!(syn::parse_file(&text).is_ok(), "{} is not Rust with its changes", source.path);
    }
    Ok(())
}

#[test]
fn examples_of_doc_comments_are_tests() {
    let source = "/// Says so.\n///\n/// ```\n/// # use a::f;\n/// assert!(f());\n/// ```\nfn f() {}\n\
                  /// ```text\n/// not code\n/// ```\nfn g() {}\n";
    let found = of_source("a/b", source);

    expect![[r"
        #![allow(warnings, clippy::all)]
        #[test]
        fn a_b_3() {
        use a::f;
        assert!(f());
        }
    "]]
    .assert_eq(&program(&found));
}

#[test]
fn the_table_counts_by_file_and_names_the_missed() {
    let mutants = found("fn f() -> bool { g() }").mutants;
    let fates = [Fate::Caught(None), Fate::NotReached];
    let tried: Vec<Tried> =
        mutants.into_iter().zip(fates).map(|(mutant, fate): (Mutant, Fate)| Tried { mutant, fate }).collect();

    expect![[r"
        | file | mutants | caught | caught by a timeout | do not compile | left out | missed |
        |---|---|---|---|---|---|---|
        | `a.rs` | 2 | 1 | | | | 1 |
        | all | 2 | 1 | | | | 1 |

        1 of 2 are missed, 50.0 %.
        a.rs:1: f: returns false (no test reaches it) [2]
    "]]
    .assert_eq(&table::table(&tried));
}

#[test]
fn every_file_of_a_machine_that_decides_is_changed_on_purpose() {
    let root = workspace_root();
    let text = std::fs::read_to_string(root.join(".cargo/mutants.toml")).unwrap();
    let config: toml_edit::DocumentMut = text.parse().unwrap();
    let globs: Vec<&str> =
        config["examine_globs"].as_array().unwrap().iter().filter_map(|glob| glob.as_str()).collect();
    let deciding =
        ["plan", "run"].iter().flat_map(|room| DECIDING.map(|name| format!("crates/core/src/{room}/{name}")));
    let there: Vec<String> = deciding.filter(|path| root.join(path).exists()).collect();
    assert!(there.len() >= DECIDING.len(), "{there:?}");
    let missing: Vec<&String> = there.iter().filter(|path| !globs.iter().any(|glob| matches(glob, path))).collect();
    assert!(missing.is_empty(), "not in .cargo/mutants.toml: {missing:?}");
    for glob in globs {
        let folder = root.join(glob.split('*').next().unwrap_or_default());
        assert!(folder.exists(), "{glob} names nothing");
    }
}
