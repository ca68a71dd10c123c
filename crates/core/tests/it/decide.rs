//! When a run ends, and by whose word.
use expect_test::expect;

use crate::play::{play, play_with};

const TO_FIRST_GATE: &str = "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n";

#[test]
fn a_stop_lets_the_iteration_finish_and_leaves_the_run_paused() {
    // req: A-01 partly: without alert_pause
    let told = play("0 opened\n1 saved\n2 fail\n3 stop\n4 agent-ok\n5 saved\n6 measured\n7 fail");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        4 checkpoint iter-001
        5 measure 1
        6 gate {iteration:1}
        7 END stopped (manual_stop): stopped after the iteration by Ctrl-C
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_abort_ends_the_agent_and_the_run_without_asking_the_gate() {
    // req: A-01 partly: without alert_pause
    // req: A-02 partly: waits and the time of a second are not measured
    let told = play("0 opened\n1 saved\n2 fail\n3 abort the stop file\n4 agent-by-us");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 cancel agent 1.1: abort
        4 END stopped (manual_stop): stopped by the stop file
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_abort_while_the_gate_runs_does_not_wait_for_it() {
    let told = play(&format!("{TO_FIRST_GATE}6 abort\n7 gate-by-us"));
    let end = "6 cancel gate {iteration:1}: abort\n7 END stopped (manual_stop): stopped by Ctrl-C\n";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn three_crashes_in_a_row_that_changed_nothing_end_the_run() {
    let crash =
        |from: u64| format!("{from} agent-exit 127\n{} saved\n{} changed 0\n{} fail\n", from + 1, from + 2, from + 3);
    let script = format!("0 opened\n1 saved\n2 fail\n{}{}{}", crash(3), crash(7), crash(11));
    let told = play_with(&[("max_iterations", "9")], &script);
    let end = "14 END unable (fatal_error): the agent failed 3 times in a row and changed nothing (exit 127): the agent's last words\n";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn where_nothing_measures_the_tree_a_gate_that_says_the_same_is_the_evidence() {
    let crash = |from: u64, said: &str| {
        format!("{from} agent-exit 1\n{} saved\n{} measured\n{} fail {said}\n", from + 1, from + 2, from + 3)
    };
    let start = "0 opened\n1 saved\n2 fail one\n";
    let same = format!("{start}{}{}{}", crash(3, "one"), crash(7, "one"), crash(11, "one"));
    let told = play_with(&[("max_iterations", "9")], &same);
    assert!(told.contains("14 END unable (fatal_error): the agent failed 3 times in a row and the promise said the same each time (exit 1)"), "{told}");
    let other = format!("{start}{}{}{}", crash(3, "one"), crash(7, "two"), crash(11, "two"));
    let told = play_with(&[("max_iterations", "9")], &other);
    assert!(told.contains("14 agent 4.1"), "{told}");
}

#[test]
fn timeouts_without_end_that_change_nothing_end_the_run_as_unable() {
    // req: D-21 partly: timeouts without end
    let slow =
        |from: u64| format!("{from} agent-by-us\n{} saved\n{} changed 0\n{} fail\n", from + 1, from + 2, from + 3);
    let script = format!("0 opened\n1 saved\n2 fail\n{}{}{}", slow(3), slow(7), slow(11));
    let told = play_with(&[("max_iterations", "9"), ("breaker", "off")], &script);
    assert!(told.contains("14 END unable (fatal_error): the agent was stopped 3 times in a row"), "{told}");
}

#[test]
fn a_gate_that_cannot_be_checked_is_warned_of_at_the_baseline_and_ends_the_run_after_two_iterations() {
    let round =
        |from: u64| format!("{from} agent-ok\n{} saved\n{} measured\n{} gate-exit 127\n", from + 1, from + 2, from + 3);
    let script = format!("0 opened\n1 saved\n2 gate-exit 127\n{}{}", round(3), round(7));
    let told = play_with(&[("max_iterations", "9")], &script);
    assert!(told.contains("2 agent 1.1\n") && told.contains("6 agent 2.1\n"), "{told}");
    let end =
        "10 END unable (fatal_error): the promise could not be checked: make test (exit 127): sh: make: not found\n";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn what_the_host_cannot_do_ends_the_run_with_its_words() {
    let told = play("0 opened\n1 failed cannot write the checkpoint: no space left");
    assert!(told.ends_with("1 END unable (fatal_error): cannot write the checkpoint: no space left\n"), "{told}");
}

#[test]
fn a_lost_agent_parks_the_run_and_no_other_agent_follows_before_a_clean_up() {
    let told = play(
        "0 opened\n1 saved\n2 fail\n3 started 42\n400000 deadline\n400001 lost\n500000 reopened\n500001 cleaned\n500002 saved\n500003 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        400000 cancel agent 1.1: timeout
        400001 END unable (fatal_error): the agent could not be ended; still there: pid 42 (sleep)
        500000 clean-up [42]
        500001 checkpoint interrupted-1.1
        500002 gate {interrupted:[1,1]}
        500003 agent 1.2 telling {interrupted:{attempt:1}}
    "#]]
    .assert_eq(&told);
}
