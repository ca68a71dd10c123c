//! The template `tdd`: a loop that ends when tests fail, then one that ends when they pass.
use loop_testkit::TestEnv;

use crate::user;

/// Runs every file of `tests` as a test, and prints TAP. Something that does not build runs none.
const RUNNER: &str = "test -e broken && { echo 'error: cannot build'; exit 1; }; bad=0; n=0; echo 'TAP version 13'; \
    for t in tests/*.sh; do n=$((n+1)); if sh $t; then echo \"ok $n - $t\"; else echo \"not ok $n - $t\"; bad=1; fi; \
    done; echo \"1..$n\"; exit $bad\n";
/// Before there are tests that fail: first something that does not build, then a test.
const AGENT: &str = "prompt=$(cat); case \"$prompt\" in \
    *'first of two steps'*) case $LOOP_ITERATION in 1) touch broken;; \
        *) rm -f broken; echo 'test \"$(cat value)\" = 42' > tests/value.sh;; esac;; \
    *'second of two steps'*) case $LOOP_ITERATION in 1) echo true > tests/value.sh;; *) echo 42 > value;; esac;; \
    *) exit 1;; esac";

fn project() -> TestEnv {
    let user = user();
    user.write("work/run-tests", RUNNER);
    user.write("work/value", "0\n");
    user.write("work/tests/old.sh", "true\n");
    user
}

fn words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let words =
        ["start", "make the value right", "--template", "tdd", "--promise", "sh run-tests", "--agent-cmd", AGENT];
    [&words[..], more].concat()
}

#[test]
fn tests_that_fail_come_first_and_the_code_makes_them_pass_without_changing_them() {
    // req: D-11
    let user = project();
    let ran = user.run(&words(&[])).expect_code(0);
    let text = ran.text();
    assert_eq!(user.read("work/value"), "42\n", "{text}");
    assert_eq!(user.read("work/tests/value.sh"), "test \"$(cat value)\" = 42\n", "the test was protected: {text}");
    let list = user.run(&["list", "--json"]).expect_code(0).json();
    let loops = list["loops"].as_array().unwrap();
    let mut done: Vec<(u64, &str)> =
        loops.iter().map(|row| (row["iteration"].as_u64().unwrap(), row["outcome"].as_str().unwrap())).collect();
    done.sort_unstable();
    // What does not build is not red, and a test that was changed back still fails.
    assert_eq!(done, [(2, "verified"), (2, "verified")], "{text}");
}

#[test]
fn a_loop_whose_tests_must_fail_does_not_end_while_they_pass_or_cannot_run() {
    // req: D-11 partly: a gate that demands a red run
    let user = project();
    let red = |agent: &str| {
        let words =
            ["start", "x", "--template", "tdd-red", "--promise", "sh run-tests", "-n", "1", "--agent-cmd", agent];
        user.run(&words)
    };
    let ran = red("echo true > tests/green.sh").expect_code(1);
    assert!(ran.text().contains("tests must fail: exit 0"), "{}", ran.text());
    let ran = red("touch broken").expect_code(1);
    assert!(ran.text().contains("tests must fail: exit 1"), "{}", ran.text());
    std::fs::remove_file(user.work().join("broken")).unwrap();
    // A program that prints no test result at all shows nothing.
    let ran = user.run(&["start", "x", "--red", "--promise", "false", "-n", "1", "--agent-cmd", "touch new"]);
    drop(ran.expect_code(1));
    drop(red("echo false > tests/red.sh").expect_code(0));
    // It fails now, before any work: that is not the work of the next loop.
    let ran = red("echo true > tests/other.sh").expect_code(1);
    assert!(!ran.out().starts_with("done"), "{}", ran.text());
}

#[test]
fn a_template_of_several_loops_is_shown_and_refused_where_one_loop_is_wanted() {
    // req: D-11 partly: a template may be one loop or a workflow
    let user = project();
    let shown = user.run(&["template", "show", "tdd"]).expect_code(0).out();
    assert!(shown.contains("tdd-red: ") && shown.contains("tdd-green: "), "{shown}");
    let dry = user.run(&words(&["--dry-run"])).expect_code(0);
    assert!(dry.out().contains("tdd-green") && dry.out().contains("nothing was started"), "{}", dry.text());
    let refused = user.run(&words(&["--best-of", "2"])).expect_code(4);
    assert!(refused.err().contains("the template tdd is not one loop"), "{}", refused.text());
    assert_eq!(user.ids(), Vec::<String>::new());
    let listed = user.run(&["template", "list"]).expect_code(0).out();
    for name in ["tdd", "bugfix", "refactor", "feature", "security", "performance"] {
        assert!(listed.contains(name), "{listed}");
    }
}
