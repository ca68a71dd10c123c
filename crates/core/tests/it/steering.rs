//! Steering: pause, resume, cancel, inject, set, delay.
use expect_test::expect;

use crate::play::{play, play_with};

#[test]
fn a_pause_holds_after_the_iteration_and_a_resume_goes_on_from_there() {
    // req: D-06 partly: the rule
    let told = play(
        "0 opened\n1 saved\n2 fail\n3 pause\n4 agent-ok\n5 saved\n6 measured\n7 fail\n90 pause\n900 resume\n901 held",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        4 checkpoint iter-001
        5 measure 1
        6 gate {iteration:1}
        7 hold paused
        900 cancel hold paused: request
        901 agent 2.1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_resume_before_the_pause_took_hold_takes_it_back() {
    let told = play("0 opened\n1 saved\n2 fail\n3 pause\n4 resume\n5 agent-ok\n6 saved\n7 measured\n8 fail");
    assert!(told.ends_with("8 agent 2.1\n"), "{told}");
}

#[test]
fn a_paused_run_can_be_stopped_and_its_time_does_not_count() {
    // req: D-06 partly: the rule
    // req: A-01 partly: without alert_pause
    let told = play_with(
        &[("max_time", "10s")],
        "0 opened\n1 saved\n2 fail\n3 pause\n1000 agent-ok\n1001 saved\n1002 measured\n1003 fail\n\
         900000 resume\n900001 held\n902000 agent-ok\n902001 saved\n902002 measured\n902003 fail\n902004 pause\n\
         902005 agent-ok\n902006 saved\n902007 measured\n902008 fail\n902009 stop\n902010 held",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        1000 checkpoint iter-001
        1001 measure 1
        1002 gate {iteration:1}
        1003 hold paused
        900000 cancel hold paused: request
        900001 agent 2.1
        902000 checkpoint iter-002
        902001 measure 2
        902002 gate {iteration:2}
        902003 agent 3.1
        902005 checkpoint iter-003
        902006 measure 3
        902007 gate {iteration:3}
        902008 hold paused
        902009 cancel hold paused: request
        902010 END stopped (manual_stop): stopped after the iteration by Ctrl-C
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_cancel_ends_the_agent_and_the_run_for_good() {
    // req: D-06 partly: the rule
    let told = play("0 opened\n1 saved\n2 fail\n3 cancel loop cancel\n4 agent-by-us");
    assert!(
        told.ends_with("3 cancel agent 1.1: abort\n4 END cancelled (manual_stop): cancelled by loop cancel\n"),
        "{told}"
    );
    let paused = play("0 opened\n1 saved\n2 pause\n3 fail\n4 cancel loop cancel\n5 held");
    assert!(paused.ends_with("5 END cancelled (manual_stop): cancelled by loop cancel\n"), "{paused}");
}

#[test]
fn injected_texts_come_once_in_order_in_the_next_prompt_and_again_only_to_an_attempt_that_was_cut_off() {
    // req: D-07 partly: the rule
    let told = play(
        "0 opened\n1 inject\n2 saved\n3 fail\n4 inject\n5 inject-keep\n6 agent-ok\n7 saved\n8 measured\n9 fail\n\
         10 reopened\n11 cleaned\n12 saved\n13 fail\n14 agent-ok\n15 saved\n16 measured\n17 fail",
    );
    expect![[r#"
        0 checkpoint initial
        2 gate baseline
        3 agent 1.1 telling injected 1 to 1
        6 checkpoint iter-001
        7 measure 1
        8 gate {iteration:1}
        9 agent 2.1 telling injected 2 to 3
        10 clean-up []
        11 checkpoint interrupted-2.1
        12 gate {interrupted:[2,1]}
        13 agent 2.2 telling {interrupted:{attempt:1}} injected 2 to 3
        14 checkpoint iter-002
        15 measure 2
        16 gate {iteration:2}
        17 agent 3.1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_set_value_holds_from_then_on() {
    let told = play("0 opened\n1 saved\n2 set max_iterations=1\n3 fail\n4 agent-ok\n5 saved\n6 measured\n7 fail");
    assert!(told.contains("7 END exhausted (iteration_limit): 1 iteration done"), "{told}");
}

#[test]
fn the_delay_lies_between_iterations_and_is_cut_short_by_a_stop_or_a_pause() {
    // req: C-03 partly: the delay
    let start = "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail\n";
    let waits = play_with(&[("delay", "3s")], &format!("{start}3006 deadline\n3007 held"));
    assert!(waits.ends_with("2 agent 1.1\n3 checkpoint iter-001\n4 measure 1\n5 gate {iteration:1}\n6 hold delay 3000\n3006 cancel hold delay 3000: timeout\n3007 agent 2.1\n"), "{waits}");
    let stopped = play_with(&[("delay", "3s")], &format!("{start}100 stop\n101 held"));
    assert!(stopped.contains("100 cancel hold delay 3000: request\n101 END stopped"), "{stopped}");
    let paused = play_with(&[("delay", "3s")], &format!("{start}100 pause\n101 held\n200 resume\n201 held"));
    assert!(paused.contains("101 hold paused\n200 cancel hold paused: request\n201 agent 2.1\n"), "{paused}");
}
