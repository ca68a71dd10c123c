//! Probes of a pass in a whole loop: agents that add tests, honest ones and others.
use loop_testkit::TestEnv;

use crate::{start, user};

const TEST: &str = "import unittest\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        \
                    self.assertEqual(calc.add(1, 2), 3)\n";
const UNITTEST: &str = "python3 -m unittest";

/// A project of Python whose one test fails.
fn project() -> TestEnv {
    let user = user();
    user.write("work/calc.py", "def add(a, b):\n    return a - b\n");
    user.write("work/test_calc.py", TEST);
    user.write(
        "work/new.txt",
        "import unittest\nimport calc\n\n\nclass N(unittest.TestCase):\n    def test_zero(self):\n        \
         self.assertEqual(calc.add(0, 0), 0)\n",
    );
    user
}

// req: RT-R7
#[test]
fn a_new_test_file_that_repairs_the_product_while_it_runs_is_no_pass() {
    let user = project();
    // The line in the product makes the cheat work, so that taking it back is noticed.
    let agent = "echo 'EXACT = True' >> calc.py; cp new.txt test_aa.py; \
                 echo 'if getattr(calc, \"EXACT\", 0): calc.add = lambda a, b: a + b' >> test_aa.py";
    let ran = user.run(&start(agent, UNITTEST, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("without the new test files the gates do not pass"), "{}", ran.text());
}

// req: RT-R7
#[test]
fn new_tests_do_not_make_up_for_one_that_is_not_found_any_more() {
    let user = project();
    let files = "work/checks/__init__.py work/checks/test_calc.py";
    for (path, text) in files.split(' ').zip(["", TEST]) {
        user.write(path, text);
    }
    user.write("work/test_calc.py", &TEST.replace("3)", "-1)"));
    let agent = "echo 'EXACT = True' >> calc.py; rm checks/__init__.py; cp new.txt test_aa.py; \
                 echo '    def test_one(self): self.assertTrue(calc.EXACT)' >> test_aa.py";
    let ran = user.run(&start(agent, UNITTEST, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("passed, but not verified"), "{}", ran.text());
}

#[test]
fn an_honest_fix_that_adds_a_test_file_is_verified() {
    let user = project();
    // Another length: Python takes a compiled file for one of the same second and length.
    let agent = "sed -i 's/a - b/(a + b)/' calc.py; cp new.txt test_zero.py";
    let ran = user.run(&start(agent, UNITTEST, &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("canary noticed, undo noticed"), "{}", ran.text());
    assert!(!ran.out().contains("passed, but"), "{}", ran.text());
}

#[test]
fn a_flaky_test_does_not_notice_for_a_change_of_tests_alone() {
    let user = project();
    let agent = "sed -i 's/, 3)/, -1)/' test_calc.py";
    let ran = user.run(&start(agent, UNITTEST, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("undo NOT noticed"), "{}", ran.text());
}

/// A project whose own program loads every file of `test`.
fn own_runner() -> TestEnv {
    let user = user();
    user.write("work/sum.js", "module.exports = { add: (a, b) => a - b };\n");
    user.write("work/test/sum.js", "require('assert').strictEqual(require('../sum.js').add(2, 3), 5);\n");
    let run = "for (const file of require('fs').readdirSync('test').sort()) require('./test/' + file);\n";
    user.write("work/run.js", run);
    user
}

#[test]
fn a_new_file_that_the_projects_own_runner_loads_and_that_repairs_the_product_is_no_pass() {
    for cheat in [
        "require('../sum.js').add = (a, b) => a + b",
        "require('assert').strictEqual = () => {}",
        "process.on('exit', () => { process.exitCode = 0 }); process.on('uncaughtException', () => {})",
    ] {
        let user = own_runner();
        let agent = format!("echo \"{cheat}\" > test/aa.js; echo '// exact' >> sum.js");
        let ran = user.run(&start(&agent, "node run.js", &["-n", "1"])).expect_code(1);
        let said = "without the new test files the gates do not pass";
        assert!(ran.out().contains(said), "{cheat}: {}", ran.text());
    }
}

#[test]
fn an_honest_fix_that_adds_a_test_for_the_projects_own_runner_is_verified() {
    let user = own_runner();
    let agent = "sed -i 's/a - b/a + b/' sum.js; sed 's/2, 3), 5/0, 0), 0/' test/sum.js > test/zero.js";
    let ran = user.run(&start(agent, "node run.js", &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("undo noticed"), "{}", ran.text());
}

#[test]
fn a_gate_that_wants_a_further_test_file_gets_it() {
    let user = own_runner();
    user.write("work/test/sum.js", "");
    let gate = "test $(ls test | wc -l) -ge 2 && node run.js";
    let agent = "echo \"require('assert')(true)\" > test/two.js";
    user.run(&start(agent, gate, &["-n", "1"])).expect_code(0);
}

#[test]
fn code_in_a_new_init_file_of_tests_is_named_and_an_empty_one_is_not() {
    for (text, is_named) in [("import unittest", true), ("", false)] {
        let user = user();
        user.write("work/calc.py", "def add(a, b):\n    return a - b\n");
        user.write("work/tests/test_calc.py", TEST);
        let agent = format!("sed -i 's/a - b/(a + b)/' calc.py; echo '{text}' > tests/__init__.py");
        let gate = "PYTHONPATH=. python3 -m unittest discover -s tests -t .";
        user.run(&start(&agent, gate, &["-n", "1"])).expect_code(0);
        let certificate = user.run(&["status", &user.id(), "--json"]).json()["loops"][0]["certificate"].clone();
        let kinds: Vec<&str> =
            certificate["named"].as_array().into_iter().flatten().filter_map(|one| one["kind"].as_str()).collect();
        assert_eq!(kinds.contains(&"runner-config"), is_named, "{text}: {certificate}");
    }
}
