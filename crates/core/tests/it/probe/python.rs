//! The failing test for pytest and unittest: in which file, and with which name.
use super::{CASE, Files, Gate, NO_RUNNER, PY, PYTHON, none, selected};

#[test]
fn words_of_a_pytest_line_are_read_with_their_values() {
    for (command, expected) in [
        ("pytest --ignore tests/test_a.py", "tests/unit/test_b.py test_add_heron"),
        ("pytest -q --ignore tests/test_a.py -x", "tests/unit/test_b.py test_add_heron"),
        ("pytest tests/test_*.py", "tests/test_a.py test_add_heron"),
        ("pytest tests/unit/*.py", "tests/unit/test_b.py test_add_heron"),
        ("pytest -kadd", "tests/test_a.py test_add_heron"),
        ("pytest -kslow", "tests/test_a.py test_add_heron_slow"),
        ("pytest -msmoke", "tests/test_a.py test_add_heron"),
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), expected, "{command}");
    }
    assert!(Gate::new("pytest -msmoke", PYTHON).contents().contains("@pytest.mark.smoke\n"));
}

#[test]
fn a_pytest_line_that_does_not_say_which_files_run_gives_no_canary() {
    for (command, expected) in [
        ("pytest tests/*", none("pytest")),
        ("pytest \"$FILES\"", none("pytest")),
        ("pytest /outside", none("pytest")),
        ("pytest -c other.ini", selected("-c")),
        ("pytest --config-file=other.ini", selected("--config-file=other.ini")),
        ("pytest -k 'not tests'", selected("-k not tests")),
    ] {
        assert_eq!(Gate::new(command, PYTHON).told(), expected, "{command}");
        // That a test failed at the start says nothing about what runs now.
        let red = Gate::new(command, PYTHON).printing("pytest", &[]).red(&["tests/test_a.py::test_add"]);
        assert_eq!(red.told(), expected, "{command}");
    }
    let elsewhere = Gate::new("pytest || true", PYTHON).printing("pytest", &["other/test_x.py::test_add"]);
    assert_eq!(elsewhere.told(), none("pytest"), "the names are those of other files");
}

#[test]
fn a_file_that_the_line_names_runs_whatever_its_name_is() {
    const FILES: Files = &[("checks/sum.py", PY), ("checks/test_more.py", PY)];
    assert_eq!(Gate::new("pytest checks/sum.py", FILES).told(), "checks/sum.py test_add_heron");
    assert_eq!(Gate::new("pytest checks", FILES).told(), "checks/test_more.py test_add_heron");
}

#[test]
fn the_settings_of_pytest_that_count_are_those_above_the_path_of_the_line() {
    const FILES: Files = &[
        ("web/pytest.ini", "[pytest]\naddopts = --lf\n"),
        ("web/tests/test_w.py", PY),
        ("web/tests/test_x.py", PY),
        PYTHON[1],
    ];
    for (command, expected) in [
        ("pytest web", selected("--lf")),
        ("pytest web/tests", selected("--lf")),
        ("pytest web/tests/test_w.py", selected("--lf")),
        ("cd web && pytest", selected("--lf")),
        ("pytest tests", "tests/test_a.py test_add_heron".to_owned()),
        ("pytest", "tests/test_a.py test_add_heron".to_owned()),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
}

#[test]
fn testpaths_count_only_in_their_folder_and_without_a_path_on_the_line() {
    const FILES: Files = &[
        ("pytest.ini", "[pytest]\ntestpaths = checks\n"),
        ("checks/test_c.py", PY),
        ("sub/test_s.py", PY),
        ("tests/test_t.py", PY),
    ];
    for (command, expected) in [
        ("pytest", "checks/test_c.py test_add_heron"),
        ("pytest tests", "tests/test_t.py test_add_heron"),
        ("cd sub && pytest", "sub/test_s.py test_add_heron"),
    ] {
        assert_eq!(Gate::new(command, FILES).told(), expected, "{command}");
    }
}

#[test]
fn folders_in_which_pytest_does_not_search_get_no_canary() {
    for folder in ["old", "older", ".hidden", "build", "venv", "node_modules"] {
        let path: &'static str = format!("{folder}/test_a.py").leak();
        let files: Files = vec![("pytest.ini", "[pytest]\nnorecursedirs = old*\n"), (path, PY)].leak();
        assert_eq!(Gate::new("pytest", files).told(), none("pytest"), "{folder}");
    }
}

#[test]
fn the_canary_of_pytest_is_called_after_a_test_that_passed() {
    const TEXT: &str = "def helper():\n    pass\n\ndef test_first():\n    pass\n\nasync def test_second():\n    pass\n";
    const FILES: Files = &[("tests/test_a.py", TEXT), ("tests/test_b.py", TEXT)];
    assert_eq!(Gate::new("pytest", FILES).told(), "tests/test_a.py test_first_heron");
    for (passed, expected) in [
        ("tests/test_a.py::test_second", "tests/test_a.py test_second_heron"),
        ("tests/test_a.py::test_second[1-2]", "tests/test_a.py test_second_heron"),
        ("tests/test_a.py::TestSum::test_second", "tests/test_a.py test_second_heron"),
        ("tests/test_a.py::test_made_elsewhere", "tests/test_a.py test_first_heron"),
    ] {
        let passed: &'static [&'static str] = vec![passed, "tests/test_b.py::test_gone"].leak();
        assert_eq!(Gate::new("pytest -v", FILES).printing("pytest", passed).told(), expected, "{passed:?}");
    }
    const OTHERS: &[&str] = &["tests/test_a.py::test_first", "tests/test_b.py::test_second"];
    assert_eq!(
        Gate::new("pytest -v", FILES).printing("pytest", OTHERS).told(),
        "tests/test_a.py test_first_heron",
        "a test of the same name in another file says nothing"
    );
}

#[test]
fn a_mark_of_a_whole_file_ends_with_its_brackets() {
    const MARKED: &str = "import pytest\npytestmark = pytest.mark.usefixtures('db')\n\n@pytest.mark.skip\ndef test_old(): pass\n\ndef test_add(): pass\n";
    assert_eq!(Gate::new("pytest", &[("test_a.py", MARKED)]).told(), "test_a.py test_old_heron");
    const SKIPPED: &str =
        "import pytest\npytestmark = [pytest.mark.usefixtures('db'),\n  pytest.mark.skip]\ndef test_add(): pass\n";
    assert_eq!(Gate::new("pytest", &[("test_a.py", SKIPPED)]).told(), none("pytest"));
}

#[test]
fn the_failing_test_stands_behind_all_of_the_file() {
    const FUNCTION: &str = "def test_add_heron() -> None:\n    wanted, got = 1, 2\n    assert wanted == got\n";
    assert_eq!(Gate::new("pytest", PYTHON).contents(), format!("{PY}\n\n{FUNCTION}"));
    const NO_NEWLINE: Files = &[("test_a.py", "def test_add(): pass")];
    assert_eq!(Gate::new("pytest", NO_NEWLINE).contents(), format!("def test_add(): pass\n\n\n{FUNCTION}"));
}

#[test]
fn a_test_file_that_the_agent_did_not_change_gets_the_canary_first() {
    const INITIAL: Files = &[("tests/test_b.py", PY), ("tests/test_c.py", PY), ("tests/test_d.py", PY)];
    const LAST: Files = &[
        ("tests/test_a.py", PY),
        ("tests/test_b.py", "def test_other():\n    pass\n"),
        ("tests/test_c.py", "def test_other():\n    pass\n"),
        ("tests/test_d.py", PY),
    ];
    assert_eq!(Gate::new("pytest", LAST).from(INITIAL).told(), "tests/test_d.py test_add_heron");
    const CHANGED: Files = &[LAST[0], LAST[1]];
    assert_eq!(Gate::new("pytest", CHANGED).from(INITIAL).told(), "tests/test_a.py test_add_heron");
}

const FOUND: Files = &[
    ("test_top.py", CASE),
    ("tests/__init__.py", ""),
    ("tests/test_in.py", CASE),
    ("loose/test_loose.py", CASE),
    ("loose/inner/test_deep.py", CASE),
];

#[test]
fn words_of_unittest_are_read_with_their_values() {
    let added = |path: &str| format!("{path} TestHeron.test_heron");
    for (words, expected) in [
        ("discover -s loose", added("loose/test_loose.py")),
        ("discover -s .", added("tests/test_in.py")),
        ("discover --start-directory=loose", added("loose/test_loose.py")),
        ("discover -p 'test_t*.py'", added("test_top.py")),
        ("discover -s loose -p 'test_l*.py' -v", added("loose/test_loose.py")),
        ("discover -t . loose", added("loose/test_loose.py")),
        ("discover -t . -s loose", added("loose/test_loose.py")),
        ("discover -s loose tests", added("tests/test_in.py")),
        ("discover loose 'test*.py'", selected("test*.py")),
        ("discover -s ../other", selected("../other")),
        ("discover -s loose -p 'test_d*.py'", none("unittest")),
    ] {
        let command: &'static str = format!("python3 -m unittest {words}").leak();
        assert_eq!(Gate::new(command, FOUND).told(), expected, "{command}");
    }
    const LOOSE: Files = &[("loose/test_loose.py", CASE), ("loose/inner/__init__.py", ""), FOUND[4]];
    assert_eq!(Gate::new("python3 -m unittest", LOOSE).told(), none("unittest"), "it goes only into packages");
}

#[test]
fn a_file_without_a_plain_test_case_gets_no_class_of_unittest() {
    for (text, expected) in [
        (CASE, "test_a.py TestHeron.test_heron".to_owned()),
        ("def test_add(): pass\n", none("unittest")),
        ("import unittest\nclass Base(unittest.TestCase):\n    pass\n", none("unittest")),
        (
            "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\ndef load_tests(*_): pass\n",
            none("unittest"),
        ),
    ] {
        let files: Files = vec![("test_a.py", text)].leak();
        assert_eq!(Gate::new("python3 -m unittest", files).told(), expected, "{text}");
    }
}

#[test]
fn a_python_file_is_a_runner_only_where_it_was_one_at_the_start() {
    const TOOL: &str = "def main(): pass\n\nif __name__ == \"__main__\":\n    main()\n";
    const NEVER: &str = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n";
    const TOLD: &str = "check.py TestHeron.test_heron";
    for (initial, last, expected) in [
        (CASE, CASE, TOLD),
        (TOOL, TOOL, NO_RUNNER),
        (NEVER, NEVER, NO_RUNNER),
        (TOOL, CASE, NO_RUNNER),
        (CASE, TOOL, NO_RUNNER),
    ] {
        let (initial, last): (Files, Files) = (vec![("check.py", initial)].leak(), vec![("check.py", last)].leak());
        assert_eq!(Gate::new("python3 check.py", last).from(initial).told(), expected, "{initial:?} {last:?}");
    }
}
