//! The ledger says what the tests say.

use xtask::rules::ledger::check;
use xtask::{Tree, clauses, ledger, tags};

use crate::told;

/// Test functions, one a tag.
fn tests(of: &[&str]) -> String {
    let test = |(number, tag): (usize, &&str)| format!("#[test]\nfn a{number}() {{\n    // req: {tag}\n}}\n");
    of.iter().enumerate().map(test).collect()
}

/// What the state of `B-05` becomes by these tags, each in its file.
fn state(files: &[(&str, &[&str])]) -> String {
    let files: Vec<(&str, String)> = files.iter().map(|(path, of)| (*path, tests(of))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let tags = tags::collect(&Tree::of(&files));
    let written = ledger::rewrite("- **B-05**: it\n  - state: ?\n", &tags, &[]);
    let row = written.lines().last().unwrap_or_default();
    row.trim_start_matches("  - state: ").to_owned()
}

#[test]
fn a_state_says_which_tests_meet_it() {
    assert_eq!(state(&[("crates/core/tests/it/decide.rs", &["B-06"])]), "open: no test names it.");
    assert_eq!(state(&[("crates/core/tests/it/decide.rs", &["B-06, B-05"])]), "done: 1 test: core/decide");
    let two: &[(&str, &[&str])] =
        &[("crates/cli/tests/it/start.rs", &["B-05"]), ("crates/core/tests/it/decide.rs", &["B-05"])];
    assert_eq!(state(two), "done: 2 tests: core/decide, cli/start");
    let in_one_file: &[(&str, &[&str])] = &[("crates/core/src/run/mod.rs", &["B-05", "B-05", "B-05 B-05"])];
    assert_eq!(state(in_one_file), "done: 3 tests: core/run");
}

#[test]
fn a_state_names_four_files_at_most() {
    let five: &[(&str, &[&str])] = &[
        ("xtask/tests/it/e.rs", &["B-05"]),
        ("crates/cli/tests/it/d.rs", &["B-05"]),
        ("crates/host/tests/it/c.rs", &["B-05"]),
        ("crates/core/tests/it/b.rs", &["B-05"]),
        ("crates/core/tests/it/a.rs", &["B-05"]),
    ];
    assert_eq!(state(five), "done: 5 tests: core/a, core/b, host/c, cli/d, …");
}

#[test]
fn parts_meet_a_requirement_only_where_its_clauses_are_listed_and_each_has_a_test() {
    let code = tests(&["B-05 partly: without --diff"]);
    let tree = Tree::of(&[("crates/cli/tests/it/history.rs", &code)]);
    let tags = tags::collect(&tree);
    let state = |listed: &str| ledger::states(&tags, &clauses::read(listed)).remove("B-05").unwrap_or_default();
    assert_eq!(state(""), "open: its tests meet parts of it, and its clauses are not listed.");
    let met = "## B-05\n\n- a table\n  - `cli/history::a0`\n- with\n  --diff\n  - `host/diff::other`\n";
    assert_eq!(state(met), "done: 2 tests: host/diff, cli/history");
    let open =
        format!("{met}- with --json\n  - open: it comes\n    later.\n\nOther words.\n- and\n  - open: So this.\n");
    assert_eq!(state(&open), "open: it comes later. So this.");
    assert_eq!(state("## B-06\n\n- a\n  - `cli/history::a0`\n"), state(""));
    let whole = tests(&["B-05 partly: a", "B-05"]);
    assert_eq!(
        self::state(&[("crates/cli/tests/it/history.rs", &["B-05 partly: a", "B-05"])]),
        "done: 2 tests: cli/history",
        "{whole}"
    );
}

#[test]
fn a_tag_outside_a_test_proves_nothing() {
    let tree = Tree::of(&[("crates/cli/src/a.rs", "// req: B-05\nfn a() {}\n")]);
    let text = "- **B-05**: it\n  - state: open: no test names it.\n";
    assert_eq!(ledger::rewrite(text, &tags::collect(&tree), &[]), text);
}

#[test]
fn writing_the_states_keeps_every_other_byte() {
    let before = "\
# Ledger\r
- **B-05**:  `a | b`,
  on two lines
  - state:   open
- **B-06**: kept
  - state: open: no test names it.
- **B-07**: two lines of a state\r
  - state: 9 tests: gone,
    and more\r

- **B-05**: an entry that was written twice has a state, too
  - state: open
- **b-05**: no id
  - state: ?
- **B-05** without a colon
  - state: ?
- **B-08**: an entry that ends before the state

  - state: ?
not indented
  - state: ?
```text
- **B-05**: in code
  - state: ?
```
no line end";
    let after = before
        .replace("state:   open", "state: done: 1 test: core/a")
        .replace(
            "an entry that was written twice has a state, too\n  - state: open",
            "an entry that was written twice has a state, too\n  - state: done: 1 test: core/a",
        )
        .replace("9 tests: gone,\n    and more\r", "open: no test names it.");
    let tree = Tree::of(&[("crates/core/tests/it/a.rs", &tests(&["B-05"]))]);
    let tags = tags::collect(&tree);
    let written = ledger::rewrite(before, &tags, &[]);
    assert_eq!(written, after);
    assert_eq!(ledger::rewrite(&written, &tags, &[]), after);
}

#[test]
fn an_up_to_date_ledger_is_fine() {
    let tree = Tree::of(&[
        ("crates/core/tests/it/a.rs", &tests(&["B-05"])),
        (
            "docs/requirements.md",
            "- **B-05**: a block\n  - state: done: 1 test: core/a\n- **B-06**: a gate\n  - state: open: no test names it.\n",
        ),
    ]);
    assert_eq!(check(&tree), []);
    assert_eq!(check(&Tree::default()), []);
}

#[test]
fn a_stale_or_broken_ledger_is_found() {
    let tree = Tree::of(&[
        ("crates/core/tests/it/a.rs", &tests(&["B-06, B-07"])),
        (
            "docs/requirements.md",
            "- **B-05**: a\n- **B-06**: a gate\n  - state: open\n- **B-07**: b\n  - state: open\n\
             - **B-06**: a gate\n  - state: done: 1 test: core/a\n",
        ),
    ]);
    let path = "docs/requirements.md";
    assert_eq!(
        told(&check(&tree)),
        [
            format!("{path}:1: `B-05` has no state; end it with a line `  - state: open`"),
            format!("{path}:6: `B-06` stands here a second time; give one a new id"),
            format!(
                "{path}:2: 2 out of date, the first is B-06: \
                 `open` should be `done: 1 test: core/a`; run `cargo xtask ledger`"
            ),
        ]
    );
}

#[test]
fn a_long_state_is_wrapped_and_read_back_as_one_line() {
    let gap = "word ".repeat(60);
    let listed = clauses::read(&format!("## B-05\n\n- a clause\n  - open: {}\n", gap.trim()));
    let before = "- **B-05**: it\n  - state: open\n- **B-06**: that\n  - state: open\n";
    let written = ledger::rewrite(before, &[], &listed);
    assert!(written.lines().count() > 5 && written.lines().all(|line| line.len() <= 120), "{written}");
    assert_eq!(ledger::rows(&written)[0].state, Some(format!("open: {}", gap.trim())));
    assert_eq!(ledger::rewrite(&written, &[], &listed), written);
}
