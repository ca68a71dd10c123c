//! One iteration and the next: the order of its steps.
use expect_test::expect;

use crate::play::{play, play_with};

#[test]
fn a_run_goes_checkpoint_baseline_then_agent_checkpoint_measure_gate_until_the_gate_is_kept() {
    // req: D-29 partly: without a backend
    // req: D-02
    let told = play(
        "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail\n\
         7 agent-ok\n8 saved\n9 measured\n10 pass\n10 certified",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 checkpoint iter-001
        4 measure 1
        5 gate {iteration:1}
        6 agent 2.1
        7 checkpoint iter-002
        8 measure 2
        9 gate {iteration:2}
        10 certify {iteration:2}
        10 END verified (goal_complete): the promise passes after 2 iterations
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_gate_that_is_kept_before_the_first_iteration_ends_the_run_without_an_agent() {
    // req: D-02
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 certify baseline
        2 END verified (goal_complete): the promise passes already, before any iteration
    "#]]
    .assert_eq(&play("0 opened\n1 saved\n2 pass\n2 certified"));
}

#[test]
fn with_work_first_a_gate_that_passes_already_ends_the_run_only_after_a_change() {
    // req: D-11 partly: tasks whose tests pass at the start
    let told = play_with(
        &[("work_first", "true")],
        "0 opened\n1 saved\n2 pass\n3 agent-ok\n4 saved\n5 changed 0\n6 pass\n\
         7 agent-ok\n8 saved\n9 changed 2\n10 pass\n10 certified",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 checkpoint iter-001
        4 measure 1
        5 gate {iteration:1}
        6 agent 2.1
        7 checkpoint iter-002
        8 measure 2
        9 gate {iteration:2}
        10 certify {iteration:2}
        10 END verified (goal_complete): the promise passes after 2 iterations
    "#]]
    .assert_eq(&told);
    let nothing = play_with(
        &[("work_first", "true"), ("max_iterations", "1")],
        "0 opened\n1 saved\n2 pass\n3 agent-ok\n4 saved\n5 changed 0\n6 pass",
    );
    let end = "6 END exhausted (iteration_limit): 1 iteration done and nothing was changed\n";
    assert!(nothing.ends_with(end), "{nothing}");
}

#[test]
fn the_gate_is_asked_after_the_last_allowed_iteration_too() {
    // req: D-01 partly: with a custom agent
    // req: B-08 partly: without loopr
    let script = "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 ";
    let kept = play_with(&[("max_iterations", "1")], &format!("{script}pass\n7 certified"));
    assert!(kept.ends_with("7 END verified (goal_complete): the promise passes after 1 iteration\n"), "{kept}");
    let broken = play_with(&[("max_iterations", "1")], &format!("{script}fail"));
    let end = "6 END exhausted (iteration_limit): 1 iteration done and the promise fails\n";
    assert!(broken.ends_with(end), "{broken}");
}

#[test]
fn an_agent_over_its_time_is_ended_its_edits_are_judged_and_the_next_prompt_says_so() {
    // req: D-15 partly: without background, which comes with loopd
    let told = play_with(
        &[("timeout", "2s")],
        "0 opened\n1 saved\n2 fail\n1999 deadline\n2002 deadline\n2100 agent-by-us\n2101 saved\n2102 measured\n2103 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        2002 cancel agent 1.1: timeout
        2100 checkpoint iter-001
        2101 measure 1
        2102 gate {iteration:1}
        2103 agent 2.1 telling {timed_out:{limit_ms:2000}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn an_agent_without_a_sign_of_life_is_ended_its_edits_are_judged_and_the_next_prompt_says_so() {
    let told = play_with(
        &[("idle_timeout", "1m")],
        "0 opened\n1 saved\n2 silent\n3 fail\n4 silent\n5 silent\n6 agent-by-us\n7 saved\n8 measured\n9 fail",
    );
    let end = "3 agent 1.1\n4 cancel agent 1.1: silent\n6 checkpoint iter-001\n7 measure 1\n8 gate {iteration:1}\n9 agent 2.1 telling {silent:{limit_ms:60000}}\n";
    assert!(told.ends_with(end), "a gate may be silent, an agent is cancelled once: {told}");
}

#[test]
fn an_agent_that_fails_is_told_so_and_its_iteration_counts() {
    let told = play("0 opened\n1 saved\n2 fail\n3 agent-exit 3\n4 saved\n5 measured\n6 fail three");
    assert!(told.ends_with("6 agent 2.1 telling {agent_failed:{ended:exit 3}}\n"), "{told}");
}

#[test]
fn the_end_is_told_once_when_asked_for_and_a_failing_notification_changes_nothing() {
    // req: D-15 partly: without background, which comes with loopd
    let told = play_with(&[("notify", "true")], "0 opened\n1 saved\n2 pass\n2 certified\n3 notified");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 certify baseline
        2 END verified (goal_complete): the promise passes already, before any iteration
        2 notify completed
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_notification_that_hangs_can_be_left() {
    let told = play_with(&[("notify", "true")], "0 opened\n1 saved\n2 pass\n2 certified\n3 abort\n4 notified");
    assert!(told.ends_with("2 notify completed\n3 cancel notify completed: abort\n"), "{told}");
}

#[test]
fn an_answer_to_an_order_that_is_no_longer_open_changes_nothing() {
    let told = play("0 opened\n1 saved\n2 late 1\n3 late 99\n4 fail");
    assert_eq!(told, "0 checkpoint initial\n1 gate baseline\n4 agent 1.1\n");
}
