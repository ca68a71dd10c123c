//! Which files are set back, and what a file is for a probe.
use loop_core::policy::probe::{
    FileRole, NoUndo, TreeVersion, UndoPlan, UndoStep, first_test_line, is_worth_trying, role_of, undo,
};

use super::changed;

#[test]
fn what_a_file_is_follows_from_its_name() {
    use FileRole::{Document, Setup, Source, Test};
    for (path, role) in [
        ("src/parser/tests.rs", Test),
        ("fixtures/order.json", Test),
        ("src/golden/page.html", Test),
        ("src/ui/button.snap", Test),
        ("test.js", Test),
        ("tools/tests.php", Test),
        ("tools/test", Source),
        ("bin/tests", Source),
        ("Makefile", Setup),
        ("Cargo.lock", Setup),
        (".npmrc", Setup),
        ("tsconfig.build.json", Setup),
        ("requirements-dev.txt", Setup),
        ("build/rules.mk", Setup),
        (".cargo/audit.toml", Setup),
        ("scripts/gate.sh", Setup),
        ("README.md", Document),
        ("docs/logo.PNG", Document),
        (".github/workflows/ci.yml", Document),
        ("scripts/deploy.sh", Source),
        ("src/main.go", Source),
    ] {
        assert_eq!(role_of(path, &["scripts/gate.sh".to_owned()]), role, "{path}");
    }
}

#[test]
fn a_comment_is_not_worth_to_be_taken_back_in_any_language() {
    for (path, comment, code) in [
        ("a.php", "# why", "$a = 1;"),
        ("a.php", "// why", "$b = 2;"),
        ("a.css", "/* why", "// no comment here"),
        ("a.scss", " * why", "a { b: c }"),
        ("a.el", "; why", "(a)"),
        ("a.clj", ";; why", "(a)"),
        ("a.ini", "; why", "a = 1"),
        ("a.erl", "% why", "a() -> 1."),
        ("a.tex", "% why", "\\a"),
        ("a.lua", "-- why", "a = 1"),
        ("a.go", "// why", "# why"),
        ("a.yaml", "# why", "a: 1"),
    ] {
        assert!(!is_worth_trying(path, [comment, ""].into_iter()), "{path}: {comment}");
        assert!(is_worth_trying(path, [comment, code].into_iter()), "{path}: {code}");
    }
}

#[test]
fn a_new_source_with_tests_of_its_own_cannot_be_told_apart_from_them() {
    for (path, text, has_tests) in [
        ("src/a.rs", "#[test]\nfn a() {}\n", true),
        ("src/a.rs", "#[tokio::test]\nasync fn a() {}\n", true),
        ("src/a.rs", "#[cfg(test)]\nmod inner;\n", true),
        ("src/a.rs", "/// A test.\nfn tested() {}\n", false),
        ("src/a.py", "class A(TestCase): pass\n", true),
        ("src/a.py", "def test_a(): pass\n", true),
        ("src/a.py", "def a():\n    \"\"\"\n    >>> a()\n    1\n    \"\"\"\n", true),
        ("src/a.py", "def tested(): pass\n", false),
        ("src/a.ts", "if (import.meta.vitest) {}\n", true),
        ("src/a.mjs", "import { test } from 'node:test';\n", true),
        ("src/a.js", "export const test = 1;\n", false),
        ("src/a.java", "#[test] def test_ node:test\n", false),
    ] {
        let read = |_: TreeVersion, _: &str| Some(text.to_owned());
        let expected = if has_tests {
            Err(NoUndo::TestsInSources(path.to_owned()))
        } else {
            Ok(UndoPlan { steps: vec![UndoStep::Remove(path.to_owned())] })
        };
        assert_eq!(undo(&[changed(path, false, true)], &[], &read), expected, "{path}: {text}");
    }
}

#[test]
fn a_source_that_was_written_for_tests_at_the_start_stays_with_them() {
    let of = |old: &'static str, new: &'static str| {
        let read = move |version: TreeVersion, _: &str| {
            Some(if version == TreeVersion::Initial { old } else { new }.to_owned())
        };
        undo(&[changed("shop/db.py", true, true)], &[], &read).unwrap().steps
    };
    let fixture = "import pytest\n\n@pytest.fixture\ndef db(): return 1\n";
    assert_eq!(of(fixture, "x = 1\n"), []);
    assert_eq!(of("x = 1\n", fixture), [UndoStep::Restore("shop/db.py".to_owned())], "the agent does not choose it");
}

/// A source of Rust with a module of tests at its end.
fn with_tests(code: &str, test: &str) -> String {
    format!("{code}\n#[cfg(test)]\nmod tests {{\n    #[test]\n    fn {test}() {{}}\n}}\n")
}

#[test]
fn where_some_tests_can_be_kept_sources_with_others_are_set_back_too() {
    let read = |version: TreeVersion, path: &str| {
        let name = if version == TreeVersion::Initial { "old" } else { "new" };
        let mixed = format!("#[test]\nfn {name}() {{}}\nfn more() {{}}\n");
        Some(if path == "src/lib.rs" { with_tests(&format!("fn {name}() {{}}\n"), name) } else { mixed })
    };
    let (lib, mixed) = (changed("src/lib.rs", true, true), changed("src/mixed.rs", true, true));
    let write = UndoStep::Write { path: "src/lib.rs".to_owned(), contents: with_tests("fn old() {}\n", "new") };
    let steps = vec![write, UndoStep::Restore("src/mixed.rs".to_owned())];
    assert_eq!(undo(&[lib, mixed.clone()], &[], &read), Ok(UndoPlan { steps }));
    assert_eq!(undo(&[mixed], &[], &read), Err(NoUndo::TestsInSources("src/mixed.rs".to_owned())));
}

#[test]
fn the_unit_tests_of_a_rust_source_begin_at_their_module_where_that_is_its_end() {
    let module = with_tests("", "a");
    let module = module.trim_start();
    let lines = |text: &str| first_test_line("src/a.rs", text);
    assert_eq!(lines(&with_tests("fn a() {}\n", "a")), Some(2));
    assert_eq!(lines(module), Some(0), "a file of nothing but tests");
    assert_eq!(lines("fn a() {}\n"), None);
    assert_eq!(lines(&format!("{module}\nconst A: u8 = 1;\n")), None, "something stands behind it");
    assert_eq!(lines(&format!("{module}\nfn a() {{\n}}\n")), None, "a function stands behind it");
    assert_eq!(lines("fn a() {}\n\n#[cfg(test)]\nmod tests;\n"), None, "the tests are in another file");
    assert_eq!(lines(&format!("#[test]\nfn b() {{}}\n\n{module}")), None, "a test stands before it");
    assert_eq!(lines(&format!("// as in #[cfg(test)]\nmod a {{\n{module}")), Some(2));
    assert_eq!(first_test_line("src/a.py", module), None);
}
