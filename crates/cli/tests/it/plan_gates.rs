//! Gates on a merged tree and in the workspace: what their output says about tests counts there as it does in a loop.
use loop_testkit::{Ran, TestEnv};

use crate::user;

/// Quick: each loop is judged where it works.
const QUICK: [&str; 4] = ["--judge", "workspace", "--strength", "off"];

/// Two loops that do not depend on each other, with one gate.
fn two_loops(user: &TestEnv, gate: &str, tasks: [&str; 2]) {
    let [a, b] = tasks;
    let gate = format!("gate: {{suite: {gate}}}");
    let loops = format!(
        "parallel: 2\nloops:\n  - {{id: a, prompt: {a}, promise: test -e a.txt, {gate}, max_iterations: 1}}\n  \
         - {{id: b, prompt: {b}, promise: test -e b.txt, {gate}, max_iterations: 1}}\n"
    );
    user.write("work/flow.yaml", &loops);
}

/// Prints the tests that `tests` names, each with its result, and ends with 0.
fn check(user: &TestEnv, tests: &str) {
    let begin = "n=0; t() { n=$((n+1)); echo \"$2 $n - $1\"; }";
    user.write("work/check.sh", &format!("{begin}\n{tests}\necho \"1..$n\"\nexit 0\n"));
}

/// Runs both loops; neither ends before the other one has begun.
fn run(user: &TestEnv, arms: &str) -> Ran {
    let root = user.root().display().to_string();
    let agent = format!(
        "prompt=$(cat); touch {root}/at-$LOOP_BRANCH; n=0; \
         while test $(ls {root}/at-* | wc -l) -lt 2 && test $n -lt 500; do n=$((n+1)); sleep 0.02; done; \
         case \"$prompt\" in {arms} esac"
    );
    user.run(&[&["workflow", "run", "flow.yaml", "--agent-cmd", &agent][..], &QUICK[..]].concat())
}

/// Each loop writes a file of its own.
const OWN_FILES: &str = "*'task A'*) echo a > a.txt;; *'task B'*) echo b > b.txt;;";

/// Both are there.
const BOTH: &str = "test -e a.txt && test -e b.txt";

/// Nothing came into the workspace, and the text says why.
fn assert_not_merged(user: &TestEnv, ran: &Ran, why: &str) {
    assert!(ran.text().contains(why), "{}", ran.text());
    assert!(!user.work().join("a.txt").exists(), "nothing is applied: {}", ran.text());
}

#[test]
fn a_merged_tree_whose_tests_fail_under_exit_0_is_not_merged() {
    // req: D-12 partly: gates of merged trees
    let user = user();
    check(&user, &format!("t one ok\nif {BOTH}; then t two 'not ok'; else t two ok; fi"));
    two_loops(&user, "sh check.sh", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(1);
    assert_not_merged(&user, &ran, "1 test fails");
}

#[test]
fn a_merged_tree_on_which_no_test_runs_is_not_merged() {
    let user = user();
    check(&user, &format!("if {BOTH}; then :; else t one ok; t two ok; fi"));
    two_loops(&user, "sh check.sh", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(1);
    assert_not_merged(&user, &ran, "no test ran, and 2 did before");
}

#[test]
fn a_merged_tree_on_which_the_gate_shows_no_tests_is_not_merged() {
    let user = user();
    check(&user, &format!("if {BOTH}; then exit 0; fi\nt one ok\nt two ok"));
    two_loops(&user, "sh check.sh", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(1);
    assert_not_merged(&user, &ran, "2 tests ran in its loop, and none is shown here");
}

#[test]
fn a_merged_tree_that_lost_a_test_of_one_loop_is_not_merged() {
    let user = user();
    check(&user, &format!("t one ok\nif {BOTH}; then :; else t two ok; fi"));
    two_loops(&user, "sh check.sh", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(1);
    assert_not_merged(&user, &ran, "tests are gone, renamed or skipped: two");
}

#[test]
fn a_test_that_another_merged_loop_was_to_remove_is_not_lost() {
    let user = user();
    check(&user, "t one ok\ntest -e b.txt || t test_old ok");
    two_loops(&user, "sh check.sh", ["task A", "\"task B: remove test_old\""]);
    let ran = run(&user, OWN_FILES).expect_code(0);
    assert!(user.work().join("b.txt").exists(), "{}", ran.text());
}

#[test]
fn a_gate_that_trusts_its_exit_code_decides_by_it_on_a_merged_tree_too() {
    let user = user();
    check(&user, &format!("t one ok\nif {BOTH}; then t two 'not ok'; else t two ok; t three ok; fi"));
    two_loops(&user, "{command: sh check.sh, trust_exit: true}", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(0);
    assert!(user.work().join("a.txt").exists(), "{}", ran.text());
}

#[test]
fn a_failure_that_the_gate_accepted_before_any_work_is_no_failure_of_the_merged_tree() {
    let user = user();
    check(&user, "t one ok\nt old 'not ok'");
    two_loops(&user, "sh check.sh", ["task A", "task B"]);
    let ran = run(&user, OWN_FILES).expect_code(0);
    assert!(user.work().join("a.txt").exists(), "{}", ran.text());
}

#[test]
fn what_fails_in_the_workspace_under_exit_0_is_said_after_a_plan_was_applied() {
    // req: D-16 partly: gates in the workspace
    let user = user();
    check(&user, "t one ok\ntest -e here && t two 'not ok' || t two ok");
    let agent = format!("echo a > a.txt; touch {}/here", user.work().display());
    let start = ["start", "task A", "--promise", "test -e a.txt", "--gate", "suite=sh check.sh", "--best-of", "2"];
    let ran = user.run(&[&start[..], &["--agent-cmd", &agent, "-n", "1"], &QUICK[..]].concat()).expect_code(1);
    assert!(ran.text().contains("not here") && ran.text().contains("1 test fails"), "{}", ran.text());
}
