//! Test files that the agent added: which of them are taken out of a copy or made empty.
use super::{Files, Gate, OLD, PY};

/// The new files that are taken out, of these, where there was this test at the start.
fn taken_out(command: &'static str, old: (&'static str, &'static str), new: Files) -> String {
    let last: Files = [&[old], new].concat().leak();
    Gate::new(command, last).from(vec![old].leak()).new_tests()
}

const CALLS: &str = "test('a', () => {});\n";

#[test]
fn new_tests_of_python_are_known_by_the_names_that_the_runner_searches() {
    const NEW: Files =
        &[("checks/b.py", PY), ("tools/c.py", PY), ("d_test.py", PY), ("test_e.py", PY), ("testf.py", PY)];
    for (command, old, expected) in [
        ("pytest", "test_a.py", "d_test.py test_e.py"),
        ("pytest checks/*.py", "checks/a.py", "checks/b.py d_test.py test_e.py"),
        ("python3 -m unittest", "test_a.py", "test_e.py testf.py"),
        ("python3 -m unittest discover -p '?.py'", "test_a.py", "test_e.py testf.py"),
        ("python3 -m unittest discover -p 'b*.py'", "test_a.py", "checks/b.py test_e.py testf.py"),
        ("python3 test_a.py", "test_a.py", ""),
    ] {
        assert_eq!(taken_out(command, (old, "x = 1\n"), NEW), expected, "{command}");
    }
}

#[test]
fn new_tests_of_javascript_are_known_by_their_names_and_by_what_they_call() {
    const NEW: Files = &[
        ("README.md", CALLS),
        ("helper.js", CALLS),
        ("sum-test.cjs", CALLS),
        ("sum.spec.ts", CALLS),
        ("sum.test.tsx", CALLS),
        ("sum_test.mjs", CALLS),
        ("test-sum.js", CALLS),
        ("test.js", CALLS),
        ("src/__tests__/b.js", CALLS),
        ("src/__tests__/data.js", "exports.x = 1;\n"),
        ("src/__tests__/notes.md", CALLS),
        ("src/test/c.js", CALLS),
        ("src/test/data.js", "exports.x = 1;\n"),
        ("src/test/notes.md", CALLS),
        ("glob/d.js", CALLS),
        ("empty.test.js", "exports.x = 1;\n"),
    ];
    const MARKED: &str = "sum.spec.ts sum.test.tsx";
    const JEST: &str = "sum.spec.ts sum.test.tsx src/__tests__/b.js";
    for (command, expected) in [
        ("node --test", "sum-test.cjs sum.spec.ts sum.test.tsx sum_test.mjs test-sum.js test.js src/test/c.js"),
        ("npx jest", JEST),
        ("npx vitest run", JEST),
        ("npx mocha", &format!("{MARKED} src/test/c.js")),
        ("npx mocha 'glob/*.js'", &format!("{MARKED} src/test/c.js glob/d.js")),
        ("npx jest 'glob/*.js'", &format!("{JEST} glob/d.js")),
        (
            "node --test 'glob/*.js'",
            "sum-test.cjs sum.spec.ts sum.test.tsx sum_test.mjs test-sum.js test.js src/test/c.js glob/d.js",
        ),
    ] {
        assert_eq!(taken_out(command, ("old.test.js", CALLS), NEW), expected, "{command}");
    }
}

#[test]
fn new_tests_of_rust_are_the_programs_in_the_folder_of_tests() {
    const NEW: Files = &[
        ("main.rs", ""),
        ("src/main.rs", ""),
        ("src/bin/main.rs", ""),
        ("tests/two.rs", ""),
        ("tests/three/main.rs", ""),
        ("tests/three/helper.rs", ""),
        ("tests/deep/er/main.rs", ""),
        ("web/tests/four/main.rs", ""),
        ("tests/data.json", ""),
    ];
    for command in ["cargo test", "cargo nextest run"] {
        let expected = "tests/two.rs tests/three/main.rs web/tests/four/main.rs";
        assert_eq!(taken_out(command, ("tests/one.rs", ""), NEW), expected, "{command}");
    }
}

#[test]
fn a_new_test_stays_only_where_a_changed_test_names_it_as_a_whole_word() {
    for (test, expected) in [
        ("from test_base import Base\ndef test_add(): pass\n", ""),
        ("import os, test_base\ndef test_add(): pass\n", ""),
        ("from test_bases import Base\ndef test_add(): pass\n", "test_base.py"),
        ("from my_test_base import Base\ndef test_add(): pass\n", "test_base.py"),
        ("from test_base2 import Base\ndef test_add(): pass\n", "test_base.py"),
        ("from test_base_x import Base\ndef test_add(): pass\n", "test_base.py"),
    ] {
        let last: Files = vec![OLD[0], ("test_calc.py", test), ("test_base.py", "class Base: pass\n")].leak();
        assert_eq!(Gate::new("pytest -q", last).from(OLD).new_tests(), expected, "{test}");
    }
    const SOURCE: Files = &[("calc.py", "x = 2  # as in test_base\n"), OLD[1], ("test_base.py", "class Base: pass\n")];
    assert_eq!(
        Gate::new("pytest -q", SOURCE).from(OLD).new_tests(),
        "test_base.py",
        "a source that names it is no test"
    );
}

#[test]
fn a_new_source_that_settings_of_a_runner_name_is_not_made_empty() {
    for settings in ["jest.setup.js", "deno.jsonc", "Makefile", "package.json", "check.js", "conftest.py"] {
        let initial: Files = vec![("test/sum.js", "1\n"), (settings, "")].leak();
        let last: Files = vec![
            ("test/sum.js", "1\n"),
            (settings, "load('./test/hooks.js')\n"),
            ("src/a.js", "load('./test/other.js')\n"),
            ("test/hooks.js", ""),
            ("test/other.js", ""),
        ]
        .leak();
        assert_eq!(Gate::new("node run.js", last).from(initial).emptied(), "test/other.js", "{settings}");
    }
}
