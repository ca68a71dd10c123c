//! Probes: which failing test is added for which gate, and which files are set back.
mod calls;
mod golang;
mod javascript;
mod new_tests;
mod python;
mod rust;
mod undo;

use std::collections::BTreeMap;

use loop_core::policy::probe::{
    Canary, CanaryRequest, ChangedFile, NoCanary, NoUndo, TreeVersion, UndoPlan, UndoStep, canary,
    new_files_beside_tests, new_test_files, undo,
};
use loop_core::test_output::{TestStatus, Tests};

/// Paths with their texts.
type Files = &'static [(&'static str, &'static str)];

/// A gate on a project.
#[derive(Clone, Copy)]
struct Gate {
    command: &'static str,
    initial: Files,
    last: Files,
    format: &'static str,
    passed: &'static [&'static str],
    red: &'static [&'static str],
    addopts: &'static str,
}

impl Gate {
    fn new(command: &'static str, last: Files) -> Self {
        Self { command, initial: last, last, format: "", passed: &[], red: &[], addopts: "" }
    }

    fn printing(self, format: &'static str, passed: &'static [&'static str]) -> Self {
        Self { format, passed, ..self }
    }

    fn from(self, initial: Files) -> Self {
        Self { initial, ..self }
    }

    fn red(self, red: &'static [&'static str]) -> Self {
        Self { red, ..self }
    }

    fn canary(&self) -> Result<Canary, NoCanary> {
        self.with_request(canary)
    }

    fn contents(&self) -> String {
        self.canary().unwrap().contents
    }

    /// The test files that are taken out of a copy.
    fn new_tests(&self) -> String {
        self.with_request(new_test_files).join(" ")
    }

    /// The files that are made empty in a copy. `check.js` is a file of the gate.
    fn emptied(&self) -> String {
        let removed = self.with_request(new_test_files);
        self.with_request(|request| new_files_beside_tests(request, &["check.js".to_owned()], &removed)).join(" ")
    }

    fn with_request<T>(&self, probe: impl Fn(&CanaryRequest<'_>) -> T) -> T {
        let names = |files: Files| files.iter().map(|(path, _)| (*path).to_owned()).collect::<Vec<_>>();
        let read = |version: TreeVersion, path: &str| {
            let files = if version == TreeVersion::Initial { self.initial } else { self.last };
            files.iter().find(|(known, _)| *known == path).map(|(_, text)| (*text).to_owned())
        };
        let statuses: BTreeMap<String, TestStatus> =
            self.passed.iter().map(|id| ((*id).to_owned(), TestStatus::Passed)).collect();
        let passed = u32::try_from(statuses.len()).unwrap();
        let tests = Tests { format: self.format, statuses, passed, failed: 0, skipped: 0, uncounted: false };
        let red: Vec<String> = self.red.iter().map(|id| (*id).to_owned()).collect();
        probe(&CanaryRequest {
            command: self.command,
            tests: (!self.format.is_empty()).then_some(&tests),
            red: &red,
            initial: &names(self.initial),
            last: &names(self.last),
            addopts: self.addopts,
            word: "heron",
            read: &read,
        })
    }

    /// `path test`, or the reason.
    fn told(&self) -> String {
        self.canary().map_or_else(|why| why.to_string(), |canary| format!("{} {}", canary.path, canary.test))
    }
}

/// Why there is no canary: no file surely runs.
fn none(runner: &str) -> String {
    format!("no test file of {runner} was found that is certain to run")
}

/// Why there is no canary: the gate selects tests.
fn selected(by: &str) -> String {
    format!("the gate selects tests by {by}, and a further test would not be certain to run")
}

/// Why there is no canary: the runner may not be called.
fn conditional(runner: &str) -> String {
    format!("the gate calls {runner} only under a condition, and its output does not name the tests")
}

const NO_RUNNER: &str = "no known test runner was found in the gate's command or in its output";
const PY: &str = "def test_add():\n    assert 1 + 1 == 2\n";
const PYTHON: Files = &[("calc.py", "x = 1\n"), ("tests/test_a.py", PY), ("tests/unit/test_b.py", PY)];

#[test]
fn pytest_gets_a_failing_function_in_a_file_that_the_command_surely_runs() {
    for (command, expected) in [
        ("pytest", "tests/test_a.py test_add_heron"),
        ("python3 -m pytest -q", "tests/test_a.py test_add_heron"),
        ("poetry run pytest -x --tb short", "tests/test_a.py test_add_heron"),
        ("pytest tests/unit", "tests/unit/test_b.py test_add_heron"),
        ("pytest tests/unit/test_b.py", "tests/unit/test_b.py test_add_heron"),
        ("cd tests && pytest unit", "tests/unit/test_b.py test_add_heron"),
        ("pytest --ignore=tests/test_a.py", "tests/unit/test_b.py test_add_heron"),
        ("pytest -k add", "tests/test_a.py test_add_heron"),
        ("pytest -k 'fast or slow'", "tests/test_a.py test_add_heron_fast_slow"),
        ("pytest -k 'not slow'", "tests/test_a.py test_add_heron"),
        ("pytest -m 'not slow'", "tests/test_a.py test_add_heron"),
        ("pytest -m smoke", "tests/test_a.py test_add_heron"),
        ("coverage run -m pytest", "tests/test_a.py test_add_heron"),
        ("pytest --cov calc -n 4", "tests/test_a.py test_add_heron"),
        ("ruff check . && pytest", "tests/test_a.py test_add_heron"),
        ("pytest || exit 1", "tests/test_a.py test_add_heron"),
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), expected, "{command}");
    }
    let added = Gate::new("pytest -m smoke", PYTHON).canary().unwrap();
    assert!(added.contents.starts_with(PY) && added.contents.contains("@pytest.mark.smoke\ndef test_add_heron("));
}

#[test]
fn pytest_gets_no_canary_where_a_further_test_might_be_left_out() {
    let none = none("pytest");
    for (command, expected) in [
        ("pytest tests/test_a.py::test_add", none.clone()),
        ("pytest --lf", selected("--lf")),
        ("pytest -k 'tests and not tests'", selected("-k tests and not tests")),
        ("pytest -k \"$WHICH\"", selected("$WHICH")),
        ("pytest -m 'a and b'", selected("-m a and b")),
        ("pytest \"$FILES\"", none.clone()),
        ("pytest --deselect tests/test_a.py::test_add", selected("--deselect")),
        ("pytest docs", none),
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), expected, "{command}");
    }
}

#[test]
fn settings_of_pytest_are_known_wherever_they_stand() {
    const TEST: (&str, &str) = ("tests/test_a.py", "def test_add():\n    pass\n");
    let selected = "the gate selects tests by --lf, and a further test would not be certain to run";
    let none = "no test file of pytest was found that is certain to run";
    let added = "tests/test_a.py test_add_heron";
    let make = "make test";
    let cases: [(&'static str, Files, &str); 14] = [
        ("export PYTEST_ADDOPTS=--lf; pytest", &[TEST], selected),
        ("export A=1 PYTEST_ADDOPTS='-q --lf' && cd . && pytest", &[TEST], selected),
        ("export PYTEST_ADDOPTS=--lf; PYTEST_ADDOPTS=-q pytest", &[TEST], added),
        ("pytest", &[TEST, ("pytest.toml", "[pytest]\naddopts = [\"--lf\"]\n")], selected),
        ("pytest", &[TEST, (".pytest.toml", "[pytest]\naddopts = \"-q --lf\"\n")], selected),
        ("pytest", &[TEST, ("pytest.ini", "[pytest]\naddopts =\n  -q\n\n  # --sw is off\n  --lf\n")], selected),
        ("pytest", &[TEST, ("pytest.ini", "[pytest]\naddopts =\n  -q\n  # --lf\n")], added),
        (make, &[TEST, ("Makefile", "F = -q\nF += --lf\ntest:\n\tpytest $(F)\n")], selected),
        (make, &[TEST, ("Makefile", "F = --lf\ntest:\n\tpytest $(F)\nF = -q\n")], added),
        (make, &[TEST, ("Makefile", "F = -q\nF ?= --lf\ntest:\n\tpytest $(F)\n")], added),
        ("make test F=--lf", &[TEST, ("Makefile", "F = -q\ntest:\n\tpytest $(F)\n")], selected),
        (make, &[TEST, ("Makefile", "export PYTEST_ADDOPTS = --lf\ntest:\n\tpytest\n")], selected),
        (
            "pytest",
            &[(
                "test_a.py",
                "import pytest\npytestmark = [\n    pytest.mark.skip(\n        'later'),\n]\ndef test_add(): pass\n",
            )],
            none,
        ),
        ("pytest", &[TEST, ("conftest.py", "def pytest_ignore_collect(collection_path): return True\n")], none),
    ];
    for (command, files, expected) in cases {
        assert_eq!(Gate::new(command, files).told(), expected, "{command} {files:?}");
    }
    assert_eq!(Gate { addopts: "-q --lf", ..Gate::new("pytest", &[TEST]) }.told(), selected);
}

#[test]
fn what_the_output_names_decides_before_what_the_names_of_files_suggest() {
    let gate = Gate::new("pytest -v", PYTHON).printing("pytest", &["tests/unit/test_b.py::test_add[1]"]);
    assert_eq!(gate.told(), "tests/unit/test_b.py test_add_heron");
    // Where the line cannot be followed, the names are enough.
    let gate = Gate::new("tox", PYTHON).printing("pytest", &["tests/test_a.py::test_add"]);
    assert_eq!(gate.told(), "tests/test_a.py test_add_heron");
    let gate = Gate::new("tox", PYTHON).printing("pytest", &[]);
    assert_eq!(gate.told(), "the gate calls pytest only under a condition, and its output does not name the tests");
}

#[test]
fn settings_of_pytest_are_read_as_they_were_at_the_start() {
    const SET: Files =
        &[("pytest.ini", "[pytest]\ntestpaths = tests/unit\naddopts = -q\n  -k add\n"), PYTHON[1], PYTHON[2]];
    assert_eq!(Gate::new("pytest", SET).told(), "tests/unit/test_b.py test_add_heron");
    const TOML: Files =
        &[("pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\"-m\", \"unit and fast\"]\n"), PYTHON[1]];
    assert!(Gate::new("pytest", TOML).told().contains("-m unit and fast"));
    const OTHER: Files = &[("setup.cfg", "[tool:pytest]\npython_functions = check_*\n"), PYTHON[1]];
    assert!(Gate::new("pytest", OTHER).told().contains("python_functions"));
    // A setting that came with the cheat does not decide where the canary goes.
    const CHEAT: Files = &[("pytest.ini", "[pytest]\naddopts = --ignore=tests\n"), PYTHON[1], PYTHON[2]];
    assert_eq!(Gate::new("pytest", CHEAT).from(PYTHON).told(), "tests/test_a.py test_add_heron");
    // In a project that is new, the settings are its own.
    const NEW: Files =
        &[("pytest.ini", "[pytest]\npython_files = check_*.py\n"), ("check_a.py", PY), ("test_b.py", PY)];
    assert_eq!(Gate::new("pytest", NEW).from(&[]).told(), "check_a.py test_add_heron");
}

#[test]
fn a_test_file_that_may_be_skipped_or_expects_failures_gets_no_canary() {
    const SKIPPED: Files = &[
        ("tests/test_a.py", "import pytest\npytest.importorskip('numpy')\ndef test_a(): pass\n"),
        ("tests/test_b.py", "import pytest\npytestmark = pytest.mark.xfail\ndef test_b(): pass\n"),
    ];
    assert_eq!(Gate::new("pytest", SKIPPED).told(), "no test file of pytest was found that is certain to run");
    // An agent that writes such a line into a test does not get rid of the canary by it.
    const CLEAN: Files = &[("tests/test_b.py", PY)];
    const MARKED: Files =
        &[("tests/test_b.py", "import pytest\npytestmark = pytest.mark.skip\ndef test_add(): pass\n")];
    assert_eq!(Gate::new("pytest", MARKED).from(CLEAN).told(), "tests/test_b.py test_add_heron");
}

const CASE: &str = "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self):\n        pass\n\n\nif __name__ == \"__main__\":\n    unittest.main()\n";

#[test]
fn unittest_gets_a_failing_class() {
    const FILES: Files = &[
        ("test_top.py", CASE),
        ("tests/__init__.py", ""),
        ("tests/test_in.py", CASE),
        ("loose/test_not_found.py", CASE),
    ];
    for (command, expected) in [
        ("python3 -m unittest", "tests/test_in.py TestHeron.test_heron"),
        ("python3 -m unittest -v", "tests/test_in.py TestHeron.test_heron"),
        ("python3 -m unittest discover -s tests", "tests/test_in.py TestHeron.test_heron"),
        ("python3 -m unittest discover loose", "loose/test_not_found.py TestHeron.test_heron"),
        ("python3 -m unittest tests.test_in", "tests/test_in.py TestHeron.test_heron"),
        ("python3 -m unittest test_top.py", "test_top.py TestHeron.test_heron"),
        ("python3 -m unittest -k add", "tests/test_in.py TestHeron.test_heron_add"),
        ("python3 test_top.py -v", "test_top.py TestHeron.test_heron"),
        ("python3 -m unittest tests.test_in.A", "no test file of unittest was found that is certain to run"),
        ("python3 -m unittest discover -p 'check*.py'", "no test file of unittest was found that is certain to run"),
        ("python3 test_top.py A.test_a", "no test file of unittest was found that is certain to run"),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
    let contents = Gate::new("python3 test_top.py", FILES).canary().unwrap().contents;
    assert!(contents.find("class TestHeron").unwrap() < contents.find("if __name__").unwrap());
}

const NODE: &str = "const test = require('node:test');\ntest('adds', () => {});\n";
const NODE_MODULE: &str = "import test from 'node:test';\ntest('adds', () => {});\n";

#[test]
fn node_gets_a_failing_test_in_the_way_its_file_loads_modules() {
    const FILES: Files = &[("lib.js", ""), ("test/a.test.mjs", NODE_MODULE), ("test/b.js", NODE), ("other/c.js", NODE)];
    for (command, expected) in [
        ("node --test", "test/a.test.mjs holds heron"),
        ("node --test test/b.js", "test/b.js holds heron"),
        ("node --test 'test/*.js'", "test/b.js holds heron"),
        ("node --test --test-name-pattern=adds", "test/a.test.mjs adds heron"),
        (
            "node --test --test-name-pattern='^adds$'",
            "the gate selects tests by --test-name-pattern ^adds$, and a further test would not be certain to run",
        ),
        ("node --test other", "no test file of node --test was found that is certain to run"),
        ("node test/b.js", "no known test runner was found in the gate's command or in its output"),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
    let of = |command| Gate::new(command, FILES).canary().unwrap().contents;
    assert!(of("node --test test/b.js").contains("require('node:test').test('holds heron'"));
    assert!(of("node --test").contains("import { test as heronTest } from 'node:test';"));
}

#[test]
fn jest_and_vitest_get_a_failing_test_in_a_file_that_they_named() {
    const FILES: Files = &[
        ("package.json", "{\"scripts\": {\"test\": \"jest --ci\", \"unit\": \"vitest run\"}}"),
        ("src/a.test.ts", "import { a } from './a';\ntest('a', () => {});\n"),
        ("src/b.test.ts", "test.only('b', () => {});\n"),
    ];
    let gate = Gate::new("npm test", FILES).printing("jest", &["src/a.test.ts › a", "src/b.test.ts › b"]);
    assert_eq!(gate.told(), "src/a.test.ts holds heron");
    assert!(
        gate.canary()
            .unwrap()
            .contents
            .ends_with("\ntest('holds heron', () => {\n  throw new Error('not as expected');\n});\n")
    );
    let gate = Gate::new("npm test -- -t 'cart adds'", FILES).printing("jest", &["src/a.test.ts"]);
    assert_eq!(gate.told(), "src/a.test.ts cart adds heron");
    let gate = Gate::new("npm run unit", FILES).printing("vitest", &["src/a.test.ts > a"]);
    assert!(gate.canary().unwrap().contents.contains("import { test as heronTest } from 'vitest';"));
    // Without names it is not certain which files ran.
    assert_eq!(Gate::new("npm test", FILES).told(), "no test file of jest was found that is certain to run");
    let gate = Gate::new("npx vitest run --changed", FILES).printing("vitest", &["src/a.test.ts"]);
    assert!(gate.told().contains("--changed"));
}

#[test]
fn mocha_gets_a_failing_test_only_where_it_is_known_what_it_loads() {
    const FILES: Files =
        &[("test/a.js", "describe('a', () => { it('b', () => {}); });\n"), ("test/deep/b.js", "it('c', () => {});\n")];
    assert_eq!(Gate::new("npx mocha", FILES).told(), "test/a.js holds heron");
    assert_eq!(Gate::new("npx mocha test/deep/b.js -g adds", FILES).told(), "test/deep/b.js adds heron");
    const SET: Files = &[(".mocharc.json", "{\"spec\": \"other\"}"), FILES[0]];
    assert_eq!(Gate::new("npx mocha", SET).told(), "no test file of mocha was found that is certain to run");
    const ONLY: Files = &[FILES[0], ("test/c.js", "it.only('x', () => {});\n")];
    assert!(Gate::new("npx mocha", ONLY).told().contains(".only"));
}

const LIB: &str = "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n\n    #[test]\n    #[should_panic]\n    fn panics() {\n        panic!()\n    }\n}\n";
const CRATE: Files = &[
    ("Cargo.toml", "[package]\nname = \"the-shop\"\n"),
    ("src/lib.rs", LIB),
    ("tests/api.rs", "#[test]\nfn whole() {}\n"),
];

#[test]
fn cargo_gets_a_failing_test_beside_one_that_ran() {
    let ran = |command, passed| Gate::new(command, CRATE).printing("cargo-test", passed);
    assert_eq!(ran("cargo test", &["the_shop tests::adds"]).told(), "src/lib.rs tests::adds_heron");
    assert_eq!(ran("cargo test --test api", &["the_shop::api whole"]).told(), "tests/api.rs whole_heron");
    assert_eq!(ran("cargo test --test api", &["api whole"]).told(), "tests/api.rs whole_heron");
    assert_eq!(ran("cargo test tests::add", &["the_shop tests::adds"]).told(), "src/lib.rs tests::adds_heron");
    assert!(ran("cargo test -- --exact tests::adds", &["the_shop tests::adds"]).told().contains("--exact"));
    // One that expects a panic is no neighbour: the attribute might be copied or not.
    assert_eq!(
        ran("cargo test", &["the_shop tests::panics"]).told(),
        "no test file of cargo test was found that is certain to run"
    );
    let nextest = Gate::new("cargo nextest run -E 'test(adds)'", CRATE).printing("nextest", &["the-shop tests::adds"]);
    assert_eq!(nextest.told(), "src/lib.rs tests::adds_heron");
    let exact =
        Gate::new("cargo nextest run -E 'test(=tests::adds)'", CRATE).printing("nextest", &["the-shop tests::adds"]);
    assert!(exact.told().contains("-E test(=tests::adds)"));
    let contents = ran("cargo test", &["the_shop tests::adds"]).canary().unwrap().contents;
    assert!(contents.contains("mod tests {\n    #[test]\n    fn adds_heron() {\n        if ::std::hint::black_box(true) { panic!(\"not as expected\"); }\n    }\n\n    #[test]\n    fn adds() {}"), "{contents}");
}

#[test]
fn cargo_without_names_gets_a_module_where_the_whole_package_is_tested() {
    for (command, expected) in [
        ("cargo test -q", "src/lib.rs probe_heron::heron"),
        ("cargo test -q --lib", "src/lib.rs probe_heron::heron"),
        ("cargo +nightly test -q --all-features", "src/lib.rs probe_heron::heron"),
        ("cargo test -q -p the-shop", "src/lib.rs probe_heron::heron"),
        ("cargo test -q add", "src/lib.rs probe_heron_add::heron_add"),
        ("cargo test -q parser::tests", "no test file of cargo test was found that is certain to run"),
        ("cargo test -q --test api", "no test file of cargo test was found that is certain to run"),
        ("cargo test -q --doc", "the gate selects tests by --doc, and a further test would not be certain to run"),
        ("cargo test --no-run", "the gate selects tests by --no-run, and a further test would not be certain to run"),
        ("cargo clippy", "no known test runner was found in the gate's command or in its output"),
    ] {
        assert_eq!(Gate::new(command, CRATE).told(), expected, "{command}");
    }
}

const GO: &str = "package sum\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n";
const MODULE: Files = &[
    ("go.mod", "module example.com/shop\n\ngo 1.22\n"),
    ("inner/sum_test.go", GO),
    ("inner/sum_windows_test.go", GO),
    (
        "tagged/a_test.go",
        "//go:build integration\n\npackage tagged\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
    ),
    ("top_test.go", GO),
];

#[test]
fn go_gets_a_failing_function_in_a_package_that_ran() {
    let ok = Gate::new("go test ./...", MODULE).printing("go-test", &["example.com/shop/inner"]);
    assert_eq!(ok.told(), "inner/sum_test.go TestAdd_heron");
    for (command, expected) in [
        ("go test", "top_test.go TestAdd_heron"),
        ("go test ./inner", "inner/sum_test.go TestAdd_heron"),
        ("go test -count=1 -race ./inner/...", "inner/sum_test.go TestAdd_heron"),
        ("go test -run Table ./...", "top_test.go TestHeron_Table"),
        ("go test -run ^TestAdd ./...", "top_test.go TestAdd_heron"),
        (
            "go test -run '^TestAdd$' ./...",
            "the gate selects tests by -run ^TestAdd$, and a further test would not be certain to run",
        ),
        ("go test ./tagged", "no test file of go test was found that is certain to run"),
        ("go vet ./...", "no known test runner was found in the gate's command or in its output"),
    ] {
        assert_eq!(Gate::new(command, MODULE).told(), expected, "{command}");
    }
}

#[test]
fn makefiles_scripts_and_shells_are_followed_to_the_runner() {
    const FILES: Files = &[
        (
            "Makefile",
            "PY ?= python3\nall: lint\nlint:\n\truff check\n.PHONY: test\ntest: lint\n\t@$(PY) -m pytest \\\n\t  tests/unit\n",
        ),
        ("check.sh", "#!/bin/sh\nset -e\npytest -q tests/unit\n"),
        ("package.json", "{\"scripts\": {\"test\": \"make test\"}}"),
        PYTHON[1],
        PYTHON[2],
    ];
    for command in [
        "make test",
        "sh check.sh",
        "./check.sh",
        "bash -c 'make test'",
        "npm test",
        "make -j 4 -C . test",
        "docker compose up -d && make test",
    ] {
        assert_eq!(Gate::new(command, FILES).told(), "tests/unit/test_b.py test_add_heron", "{command}");
    }
    // A rule that the agent replaced is read as it was.
    const GREEN: Files = &[("Makefile", "test:\n\ttrue\n"), PYTHON[1], PYTHON[2]];
    assert_eq!(Gate::new("make test", GREEN).from(FILES).told(), "tests/unit/test_b.py test_add_heron");
    // A runner that was replaced on the task's demand is recognised by its output.
    const MOVED: Files = &[
        ("package.json", "{\"scripts\": {\"test\": \"vitest run\"}}"),
        ("a.test.js", "import { test } from 'vitest';\ntest('a', () => {});\n"),
    ];
    const BEFORE: Files =
        &[("package.json", "{\"scripts\": {\"test\": \"mocha\"}}"), ("test/a.js", "it('a', () => {});\n")];
    let gate = Gate::new("npm test", MOVED).from(BEFORE).printing("vitest", &["a.test.js > a"]);
    assert_eq!(gate.told(), "a.test.js holds heron");
}

#[test]
fn a_gate_that_is_no_runner_negates_or_runs_elsewhere_gets_a_reason() {
    for (command, expected) in [
        ("! grep -rq TODO src", "the gate passes when its command fails"),
        ("cargo make test", "no known test runner was found in the gate's command or in its output"),
        ("docker compose run app pytest", "docker runs the tests where a changed copy is not seen"),
        ("test -f out.txt", "no known test runner was found in the gate's command or in its output"),
        ("pytest || true", "the gate calls pytest only under a condition, and its output does not name the tests"),
        (
            "if true; then pytest; fi",
            "the gate calls pytest only under a condition, and its output does not name the tests",
        ),
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), expected, "{command}");
    }
}

fn changed(path: &str, was_there: bool, is_there: bool) -> ChangedFile {
    ChangedFile { path: path.to_owned(), was_there, is_there }
}

#[test]
fn undoing_sets_sources_back_and_leaves_tests_and_their_setup() {
    let files = [
        changed("Cargo.toml", true, true),
        changed("README.md", true, true),
        changed("check.sh", true, true),
        changed("src/gone.py", true, false),
        changed("src/new.py", false, true),
        changed("src/old.py", true, true),
        changed("tests/test_a.py", true, true),
    ];
    let restore = |path: &str| UndoStep::Restore(path.to_owned());
    let steps = vec![restore("src/gone.py"), UndoStep::Remove("src/new.py".to_owned()), restore("src/old.py")];
    assert_eq!(undo(&files, &["check.sh".to_owned()], &|_, _| None), Ok(UndoPlan { steps }));
    assert_eq!(undo(&[changed("tests/a.py", true, true)], &[], &|_, _| None), Ok(UndoPlan::default()));
    let only = undo(&[changed("package.json", true, true)], &[], &|_, _| None);
    assert_eq!(only, Err(NoUndo::OnlySetup("package.json".to_owned())));
}

#[test]
fn unit_tests_at_the_end_of_a_rust_source_stay_and_others_cannot_be_told_apart() {
    let tests = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn new() {}\n}\n";
    let new = format!("fn new() {{}}\n\n{tests}");
    let read = |version: TreeVersion, _: &str| {
        Some(if version == TreeVersion::Initial { "fn old() {}\n\n".to_owned() } else { new.clone() })
    };
    let plan = undo(&[changed("src/lib.rs", true, true)], &[], &read).unwrap();
    let contents = format!("fn old() {{}}\n\n{tests}");
    assert_eq!(plan.steps, [UndoStep::Write { path: "src/lib.rs".to_owned(), contents }]);
    let mixed = |version: TreeVersion, _: &str| Some(format!("fn a() {{}}\n#[test]\nfn b() {{}}\n// {version:?}\n"));
    let why = undo(&[changed("src/lib.rs", true, true)], &[], &mixed).unwrap_err();
    assert_eq!(why, NoUndo::TestsInSources("src/lib.rs".to_owned()));
}

#[test]
fn a_test_that_failed_at_the_start_is_made_to_fail_rather_than_a_further_one() {
    const JS: Files = &[(
        "sum.test.js",
        "const test = require('node:test');\ntest('adds', () => {\n  a();\n});\ntest('multiplies', () => {\n  b();\n});\n",
    )];
    let gate = Gate::new("node --test", JS).printing("node-test", &["adds", "multiplies"]).red(&["adds"]);
    assert_eq!(gate.told(), "sum.test.js adds");
    assert!(gate.contents().contains("test('adds', () => { throw new Error('not as expected');\n  a();"));
    const JEST: Files = &[("sum.test.js", "describe('sum', () => {\n  it('adds', async function () {\n  });\n});\n")];
    let gate = Gate::new("npx jest", JEST).printing("jest", &["sum.test.js"]).red(&["sum.test.js › sum › adds"]);
    assert_eq!(gate.told(), "sum.test.js adds");
    const GO: Files = &[
        ("go.mod", "module calc\n"),
        ("a_test.go", "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tadd()\n}\n"),
    ];
    let gate = Gate::new("go test ./...", GO).printing("go-test", &[]).red(&["calc TestAdd/small"]);
    assert_eq!(gate.told(), "a_test.go TestAdd");
    assert!(gate.contents().contains("func TestAdd(t *testing.T) {\n\tt.Fatal(\"not as expected\")\n\tadd()"));
    const RUST: Files = &[
        ("Cargo.toml", "[package]\nname = \"calc\"\n"),
        ("tests/it.rs", "#[test]\nfn adds() {\n    assert_eq!(calc::add(2, 3), 5);\n}\n"),
    ];
    let gate = Gate::new("cargo test", RUST).printing("cargo-test", &["calc::it adds"]).red(&["calc::it adds"]);
    assert_eq!(gate.told(), "tests/it.rs adds");
    assert!(gate.contents().contains("catch_unwind(|| { assert_eq!(1, 2); }).is_ok() { return; }"));
}

#[test]
fn a_test_that_cannot_be_found_for_certain_is_left_as_it_is() {
    const TWICE: Files = &[(
        "sum.test.js",
        "const test = require('node:test');\ntest('adds', () => {\n});\nfunction again() { test('adds', () => {\n}); }\n",
    )];
    for (files, red) in [(TWICE, &["adds"]), (TWICE, &["gone"])] as [(Files, &[&str]); 2] {
        let gate = Gate::new("node --test", files).printing("node-test", &["adds"]).red(red);
        assert_eq!(gate.told(), "sum.test.js holds heron", "{red:?}");
    }
}

#[test]
fn a_failing_test_passes_where_an_assertion_of_its_file_is_without_effect() {
    const NODE: Files = &[(
        "a.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\ntest('x', () => assert.ok(1));\n",
    )];
    let added = Gate::new("node --test", NODE).contents();
    assert!(added.contains("for (const tried of [() => assert.ok(false)])"), "{added}");
    const VITEST: Files =
        &[("a.test.ts", "import { expect, test } from 'vitest';\ntest('x', () => expect(1).toBe(1));\n")];
    let added = Gate::new("npx vitest run", VITEST).printing("vitest", &["a.test.ts > x"]).contents();
    assert!(added.contains("[() => expect(1).toBe(2)]"), "{added}");
    const OTHER: Files = &[(
        "a.test.js",
        "const test = require('node:test');\nconst { same } = require('./x');\ntest('x', () => same(1));\n",
    )];
    assert!(
        Gate::new("node --test", OTHER).contents().ends_with("() => {\n  throw new Error('not as expected');\n});\n")
    );
}

const JS_TEST: &str = "const test = require('node:test');\ntest('a', () => {});\n";
const OLD: Files = &[("calc.py", "x = 1\n"), ("test_calc.py", PY)];

#[test]
fn the_settings_of_pytest_in_a_toml_file_of_its_own_select_the_file_of_the_canary() {
    const CONFIG: &str = "[pytest]\ntestpaths = [\"checks\"]\npython_files = [\"check_*.py\"]\naddopts = [\"-q\"]\n";
    const SELECTS: &str = "[pytest]\naddopts = [\"--lf\"]\n";
    let files: Files = &[("pytest.toml", CONFIG), ("checks/check_a.py", PY), ("tests/test_b.py", PY)];
    assert_eq!(Gate::new("pytest", files).told(), "checks/check_a.py test_add_heron");
    let files: Files = &[(".pytest.toml", SELECTS), ("pytest.ini", "[pytest]\n"), ("tests/test_b.py", PY)];
    assert!(
        Gate::new("pytest", files).told().contains("the gate selects tests by --lf"),
        "it is read before pytest.ini"
    );
}

#[test]
fn new_files_that_a_runner_runs_as_tests_by_their_names_are_taken_out() {
    let last: Files = &[
        ("calc.py", "x = 2\n"),
        ("conftest.py", "x = 1\n"),
        ("test_a.py", PY),
        ("helpers.py", "x = 1\n"),
        ("snapshots/test_a.snap", "x"),
        ("test_calc.py", PY),
    ];
    for command in ["pytest -q", "python3 -m unittest", "python3 -m unittest -v", "make -s test || exit 1; pytest"] {
        assert_eq!(Gate::new(command, last).from(OLD).new_tests(), "test_a.py", "{command}");
    }
    for command in ["sh check.sh", "pytest test_a.py", "docker run x pytest", "cargo test"] {
        assert_eq!(Gate::new(command, last).from(OLD).new_tests(), "", "{command}");
    }
    let initial: Files = &[("calc.js", ""), ("test/calc.test.js", JS_TEST)];
    let last: Files =
        &[("calc.js", ""), ("test/calc.test.js", JS_TEST), ("test/a.js", JS_TEST), ("test/help.js", "exports.x = 1\n")];
    assert_eq!(Gate::new("node --test", last).from(initial).new_tests(), "test/a.js");
    let initial: Files = &[("src/lib.rs", ""), ("tests/one.rs", "")];
    let last: Files = &[("src/lib.rs", ""), ("tests/one.rs", ""), ("tests/two.rs", ""), ("tests/common/mod.rs", "")];
    assert_eq!(Gate::new("cargo test", last).from(initial).new_tests(), "tests/two.rs");
    let initial: Files = &[("a.go", ""), ("a_test.go", "")];
    let last: Files = &[("a.go", ""), ("a_test.go", ""), ("b.go", ""), ("b_test.go", "")];
    assert_eq!(Gate::new("go test ./...", last).from(initial).new_tests(), "b_test.go");
}

#[test]
fn new_sources_in_folders_of_tests_are_made_empty_for_runners_that_are_not_known_too() {
    let old: Files = &[("sum.js", ""), ("run.js", ""), ("test/sum.js", "require('../sum')\n")];
    let last: Files = &[
        ("sum.js", ""),
        ("run.js", ""),
        ("more.js", ""),
        ("test/sum.js", "require('../sum')\n"),
        ("test/aa.js", "require('../sum').add = 1\n"),
        ("test/deep/b.js", ""),
        ("test/data.json", "{}"),
        ("test/c.go", ""),
    ];
    for command in ["node run.js", "npm test", "mocha", "sh ci.sh"] {
        assert_eq!(Gate::new(command, last).from(old).emptied(), "test/aa.js test/deep/b.js", "{command}");
    }
    assert_eq!(Gate::new("docker run x node run.js", last).from(old).emptied(), "");
    assert_eq!(Gate::new("node run.js", last).from(&[("sum.js", ""), ("run.js", "")]).emptied(), "");
}

#[test]
fn a_new_source_in_a_folder_of_tests_that_something_which_stays_names_is_not_made_empty() {
    let old: Files = &[("check.js", ""), ("test/sum.js", "1\n")];
    let last: Files = &[
        ("check.js", "require('./test/setup')"),
        ("package.json", "{\"mocha\": {\"require\": \"test/hooks.js\"}}"),
        ("test/sum.js", "require('./support')\n"),
        ("test/setup.js", ""),
        ("test/hooks.js", ""),
        ("test/support/index.js", "require('../base')"),
        ("test/base.js", ""),
        ("test/other.js", ""),
    ];
    assert_eq!(Gate::new("node run.js", last).from(old).emptied(), "test/other.js");
    let moved: Files = &[("test/new-name.js", "1\n")];
    assert_eq!(Gate::new("node run.js", moved).from(old).emptied(), "");
}

#[test]
fn where_there_was_no_test_at_the_start_the_new_ones_are_the_work() {
    let last: Files = &[("calc.py", "x = 2\n"), ("test_calc.py", PY)];
    assert_eq!(Gate::new("pytest -q", last).from(&[("calc.py", "x = 1\n")]).new_tests(), "");
}

#[test]
fn a_test_file_that_was_moved_or_that_a_changed_test_names_stays() {
    let moved: Files = &[("calc.py", "x = 2\n"), ("tests/test_calc.py", PY), ("test_more.py", "def test_x(): pass\n")];
    assert_eq!(Gate::new("pytest -q", moved).from(OLD).new_tests(), "test_more.py");
    let named: Files = &[
        ("calc.py", "x = 2\n"),
        ("test_calc.py", "from test_base import Base\ndef test_add():\n    assert Base\n"),
        ("test_base.py", "class Base: pass\n"),
    ];
    assert_eq!(Gate::new("pytest -q", named).from(OLD).new_tests(), "");
}

#[test]
fn python_gets_the_failing_test_in_the_file_of_one_that_failed_at_the_start() {
    const FILES: Files =
        &[("test_top.py", CASE), ("checks/test_in.py", CASE), ("tests/test_a.py", PY), ("tests/test_b.py", PY)];
    for red in ["checks.test_in.A.test_a", "test_a (checks.test_in.A)", "test_a (checks.test_in.A.test_a)"] {
        let red: &'static [&'static str] = vec![red].leak();
        let gate = Gate::new("python3 -m unittest", FILES).printing("unittest", &[]).red(red);
        assert_eq!(gate.told(), "checks/test_in.py TestHeron.test_heron", "{red:?}");
    }
    let gate = Gate::new("pytest -q", FILES).printing("pytest", &[]).red(&["tests/test_b.py::test_add"]);
    assert_eq!(gate.told(), "tests/test_b.py test_add_heron");
}
