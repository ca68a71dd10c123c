//! Which runner a gate's line calls: behind interpreters, package scripts, makefiles and shell scripts.
use loop_core::policy::probe::{Canary, NoCanary, failed_otherwise, runner_programs};
use loop_core::test_output::{TestStatus, Tests};

use super::{Files, Gate, NO_RUNNER, PY, PYTHON, conditional, none, selected};

const ALL: &str = "tests/test_a.py test_add_heron";
const UNIT: &str = "tests/unit/test_b.py test_add_heron";

#[test]
fn options_of_python_do_not_hide_the_module_that_it_runs() {
    for command in [
        "python -m pytest",
        "python3.11 -m pytest",
        "python3 -B -m pytest",
        "python3 -W error -m pytest",
        "python3 -X dev -B -m pytest -q",
        "python3 -m coverage run -m pytest",
        "python3 -m coverage run --branch -m pytest",
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), ALL, "{command}");
    }
    assert_eq!(Gate::new("python3 -m tools.all && pytest", PYTHON).told(), conditional("pytest"));
}

#[test]
fn a_variable_is_set_only_by_words_before_the_program() {
    assert_eq!(Gate::new("PYTEST_ADDOPTS=--lf pytest", PYTHON).told(), selected("--lf"));
    assert_eq!(Gate::new("pytest --cov PYTEST_ADDOPTS=--lf", PYTHON).told(), ALL);
}

#[test]
fn beside_a_program_that_is_not_known_the_runner_may_not_be_called() {
    assert_eq!(Gate::new("all-checks && pytest", PYTHON).told(), conditional("pytest"));
    assert_eq!(Gate::new("mypy . && pytest", PYTHON).told(), ALL);
    let named = Gate::new("all-checks && pytest", PYTHON).printing("pytest", &["tests/unit/test_b.py::test_add"]);
    assert_eq!(named.told(), UNIT);
}

#[test]
fn a_runner_that_node_runs_as_a_file_is_known_with_its_words() {
    const FILES: Files = &[("test/a.js", "it('b', () => {});\n"), ("test/deep/b.js", "it('c', () => {});\n")];
    for (command, expected) in [
        ("node node_modules/mocha/bin/mocha.js", "test/a.js holds heron"),
        ("node node_modules/.bin/mocha test/deep/b.js", "test/deep/b.js holds heron"),
        ("node --enable-source-maps node_modules/mocha/bin/_mocha test/deep/b.js", "test/deep/b.js holds heron"),
        ("node --no-warnings node_modules/mocha/bin/mocha.js", "test/a.js holds heron"),
        ("node node_modules/jest/bin/jest.js test/deep/b.js", "test/deep/b.js holds heron"),
        ("node node_modules/vitest/vitest.mjs run test/deep/b.js", "test/deep/b.js holds heron"),
        ("node pytest.js", NO_RUNNER),
        ("node", NO_RUNNER),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
}

#[test]
fn only_the_verbs_of_cargo_that_run_tests_are_runners() {
    const CRATE: Files = &[("Cargo.toml", "[package]\nname = \"shop\"\n"), ("src/lib.rs", "")];
    const ADDED: &str = "src/lib.rs probe_heron::heron";
    for (command, expected) in [
        ("cargo t", ADDED),
        ("cargo nextest run", ADDED),
        ("cargo nextest r", ADDED),
        ("cargo nextest list", NO_RUNNER),
        ("cargo nextest", NO_RUNNER),
        ("cargo build && cargo test", ADDED),
        ("cargo fmt --check && cargo clippy && cargo test", ADDED),
    ] {
        assert_eq!(Gate::new(command, CRATE).told(), expected, "{command}");
    }
    assert_eq!(Gate::new("cargo make lint && cargo test", CRATE).told(), conditional("cargo test"));
}

const SCRIPTS: Files =
    &[("package.json", r#"{"scripts": {"test": "pytest", "ci": "pytest tests/unit"}}"#), PYTHON[1], PYTHON[2]];

#[test]
fn scripts_of_a_package_are_followed_and_what_npm_does_itself_is_not() {
    for (command, expected) in [
        ("npm test", ALL),
        ("npm t", ALL),
        ("npm --silent test", ALL),
        ("npm -s run test", ALL),
        ("npm run -s ci", UNIT),
        ("npm run ci", UNIT),
        ("yarn ci", UNIT),
        ("npm test -- tests/unit", UNIT),
        ("npm exec -- pytest tests/unit", UNIT),
        ("pnpm exec pytest tests/unit", UNIT),
        ("npm ci && pytest", ALL),
        ("npm ci --no-audit && pytest", ALL),
        ("npm install && pytest", ALL),
        ("npm i && pytest", ALL),
        ("npm ci", NO_RUNNER),
        ("npm run lint", NO_RUNNER),
        ("npm --workspace web test", NO_RUNNER),
    ] {
        assert_eq!(Gate::new(command, SCRIPTS).told(), expected, "{command}");
    }
    assert_eq!(Gate::new("npm run lint && pytest", SCRIPTS).told(), conditional("pytest"));
}

#[test]
fn make_is_followed_into_the_folder_that_its_options_name() {
    const FILES: Files = &[
        ("Makefile", "test:\n\tpytest\n"),
        ("web/Makefile", "test:\n\tpytest unit\n"),
        ("web/unit/test_w.py", PY),
        PYTHON[1],
    ];
    const WEB: &str = "web/unit/test_w.py test_add_heron";
    for (command, expected) in [
        ("make", ALL),
        ("make test", ALL),
        ("make -s -j 4 test", ALL),
        ("make -C web test", WEB),
        ("make -Cweb test", WEB),
        ("make --directory web test", WEB),
        ("make --directory=web test", WEB),
        ("make -f other.mk test", NO_RUNNER),
        ("make -fother.mk test", NO_RUNNER),
        ("make --file=other.mk test", NO_RUNNER),
        ("make lint", NO_RUNNER),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
}

#[test]
fn rules_and_variables_of_a_makefile_are_read_as_make_does() {
    let lf = selected("--lf");
    for (makefile, expected) in [
        ("test: ; pytest --maxfail=1 tests/unit\n", UNIT),
        ("test:; pytest tests/unit\n", UNIT),
        ("test:\n\t-@pytest tests/unit\n", UNIT),
        ("test lint:\n\tpytest tests/unit\n", UNIT),
        ("test: a b\na: c\nb: c\nc:\n\tpytest tests/unit\n", UNIT),
        ("test: again\n\tpytest tests/unit\nagain: test\n", UNIT),
        ("PYTEST_ADDOPTS = --lf\ntest:\n\tpytest\n", ALL),
        ("export OTHER = --lf\ntest:\n\tpytest\n", ALL),
        ("PYTEST_ADDOPTS = --lf\nexport PYTEST_ADDOPTS\ntest:\n\tpytest\n", &lf),
        ("PYTEST_ADDOPTS = --lf\nexport OTHER\ntest:\n\tpytest\n", ALL),
        ("PYTEST_ADDOPTS = --lf\nexport OTHER PYTEST_ADDOPTS\ntest:\n\tpytest\n", &lf),
        ("PYTEST_ADDOPTS = -q\nexport PYTEST_ADDOPTS += --lf\ntest:\n\tpytest\n", &lf),
        ("export PYTEST_ADDOPTS = -q\nPYTEST_ADDOPTS += --lf\ntest:\n\tpytest\n", &lf),
        ("export PYTEST_ADDOPTS ?= --lf # only the last\ntest:\n\tpytest\n", &lf),
    ] {
        let files: Files = vec![("Makefile", makefile), PYTHON[1], PYTHON[2]].leak();
        assert_eq!(Gate::new("make test", files).told(), expected, "{makefile}");
    }
}

/// A makefile whose goals need each other in a row; the last one calls pytest.
fn row_of_goals(count: usize) -> Files {
    let mut makefile: String = (1..count).map(|goal| format!("g{goal}: g{}\n", goal + 1)).collect();
    makefile.push_str(&format!("g{count}:\n\tpytest\n"));
    vec![("Makefile", &*makefile.leak()), PYTHON[1]].leak()
}

#[test]
fn a_makefile_is_followed_over_a_hundred_goals_and_one_with_more_is_not_known() {
    assert_eq!(Gate::new("make g1", row_of_goals(100)).told(), ALL);
    assert_eq!(Gate::new("make g1", row_of_goals(101)).told(), NO_RUNNER);
    assert_eq!(Gate::new("make g1", row_of_goals(5000)).told(), NO_RUNNER);
    let gate = Gate::new("make g1 && pytest", row_of_goals(101));
    assert_eq!(gate.told(), conditional("pytest"), "what it does not follow may run the tests elsewhere");
}

#[test]
fn files_that_a_goal_needs_are_no_goals() {
    let sources: String = (0..200).map(|file| format!(" {file}.c")).collect();
    let makefile = format!("test:{sources} unit\nunit:\n\tpytest tests/unit\n");
    let files: Files = vec![("Makefile", &*makefile.leak()), PYTHON[1], PYTHON[2]].leak();
    assert_eq!(Gate::new("make test", files).told(), UNIT);
}

#[test]
fn a_shell_is_followed_into_its_line_or_its_file() {
    const FILES: Files = &[
        ("check.sh", "pytest tests/unit\n"),
        ("env.sh", "#!/usr/bin/env bash\npytest tests/unit\n"),
        ("options.sh", "#!/bin/bash -e\npytest tests/unit\n"),
        ("check.py", "#!/usr/bin/env python3\npytest tests/unit\n"),
        PYTHON[1],
        PYTHON[2],
    ];
    for (command, expected) in [
        ("sh check.sh", UNIT),
        ("./check.sh", UNIT),
        ("./env.sh", UNIT),
        ("./options.sh", UNIT),
        ("bash --norc check.sh", UNIT),
        ("bash -euo pipefail check.sh", UNIT),
        ("bash -ec 'pytest tests/unit'", UNIT),
        ("bash --norc -c 'pytest tests/unit'", UNIT),
        ("./check.py", NO_RUNNER),
        ("./gone.sh", NO_RUNNER),
        ("bash", NO_RUNNER),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
}

#[test]
fn scripts_are_followed_five_deep_whatever_they_are_called_by() {
    const FILES: Files = &[
        ("1.sh", "sh 2.sh\n"),
        ("2.sh", "sh 3.sh\n"),
        ("3.sh", "sh 4.sh\n"),
        ("4.sh", "sh 5.sh\n"),
        ("5.sh", "pytest\n"),
        ("to-1.sh", "sh 1.sh\n"),
        ("to-2.sh", "sh 2.sh\n"),
        ("package.json", r#"{"scripts": {"to-1": "sh 1.sh", "to-2": "sh 2.sh"}}"#),
        ("Makefile", "to-1:\n\tsh 1.sh\nto-2:\n\tsh 2.sh\n"),
        PYTHON[1],
    ];
    for (five, six) in [
        ("sh to-2.sh", "sh to-1.sh"),
        ("sh -c 'sh 2.sh'", "sh -c 'sh 1.sh'"),
        ("npm run to-2", "npm run to-1"),
        ("npm exec -- sh 2.sh", "npm exec -- sh 1.sh"),
        ("make to-2", "make to-1"),
    ] {
        assert_eq!(Gate::new(five, FILES).told(), ALL, "{five}");
        assert_eq!(Gate::new(six, FILES).told(), NO_RUNNER, "{six}");
    }
}

#[test]
fn a_runner_whose_output_was_not_seen_is_not_the_one_that_gets_the_test() {
    const FILES: Files = &[("a.test.js", "import { test } from 'vitest';\ntest('a', () => {});\n"), PYTHON[1]];
    let gate = Gate::new("pytest && npx vitest run", FILES);
    assert_eq!(gate.told(), ALL);
    assert_eq!(gate.printing("vitest", &["a.test.js > a"]).told(), "a.test.js holds heron");
}

#[test]
fn the_programs_that_only_run_tests_are_known_with_what_they_run_on() {
    let all: Vec<(&str, &str)> = runner_programs().map(|program| (program.name, program.runs_on)).collect();
    for known in [("pytest", "python3"), ("jest", "node"), ("vitest", "node"), ("mocha", "node")] {
        assert!(all.contains(&known), "{known:?} of {all:?}");
    }
    assert!(!all.iter().any(|(name, _)| ["python3", "node", "cargo", "go"].contains(name)), "{all:?}");
}

#[test]
fn the_word_of_a_test_has_three_small_letters_or_more() {
    let with_word = |word: &'static str| {
        let gate = Gate::new("pytest", PYTHON);
        gate.with_request(|request| {
            let request = loop_core::policy::probe::CanaryRequest { word, ..*request };
            loop_core::policy::probe::canary(&request).map(|canary| canary.test)
        })
    };
    assert_eq!(with_word("owl"), Ok("test_add_owl".to_owned()));
    for word in ["", "ow", "Owl", "ow1", "o w l", "öwl"] {
        assert_eq!(with_word(word), Err(NoCanary::Word), "{word}");
    }
}

/// A gate's output with these failing tests, and as many failures in its count.
fn output(failing: &[&str], failed: u32) -> Tests {
    let mut statuses: std::collections::BTreeMap<String, TestStatus> =
        failing.iter().map(|id| ((*id).to_owned(), TestStatus::Failed)).collect();
    statuses.insert("tests/test_a.py::test_add".to_owned(), TestStatus::Passed);
    Tests { format: "pytest", statuses, passed: 1, failed, skipped: 0, uncounted: false }
}

#[test]
fn a_gate_that_fails_by_another_test_or_before_any_is_not_said_to_notice_the_canary() {
    let (path, contents) = ("tests/test_a.py".to_owned(), String::new());
    let canary = Canary { path, contents, test: "test_add_heron".to_owned(), runner: "pytest" };
    let (usual, own, other) = (output(&[], 0), "tests/test_a.py::test_add_heron", "tests/test_b.py::test_sub");
    let why = |tests: Option<&Tests>| failed_otherwise(&canary, tests, Some(&usual));
    assert_eq!(why(Some(&output(&[own], 1))), None);
    assert_eq!(why(Some(&output(&[own, other], 2))), None);
    let not_by_it = "the gate failed, but not by the test that was added (test_add_heron)".to_owned();
    assert_eq!(why(Some(&output(&[other], 1))), Some(not_by_it.clone()));
    assert_eq!(why(Some(&output(&[], 0))), Some(not_by_it), "for example by its coverage");
    assert_eq!(why(Some(&output(&[other], 2))), None, "one of those that failed has no name");
    let before = "the gate failed before it ran the test that was added (test_add_heron)".to_owned();
    assert_eq!(why(None), Some(before));
    assert_eq!(failed_otherwise(&canary, None, None), None, "this gate never shows tests");
}

#[test]
fn a_folder_or_word_that_is_not_in_the_tree_makes_the_files_uncertain() {
    assert_eq!(Gate::new("pytest --of-a-plugin value tests/unit", PYTHON).told(), none("pytest"));
    assert_eq!(Gate::new("pytest -q tests tests/unit", PYTHON).told(), ALL);
}
