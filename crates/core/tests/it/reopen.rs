//! After a crash, and after an end: a run is opened again and loses nothing.
use expect_test::expect;

use crate::play::{Story, play, play_with};

#[test]
fn an_agent_that_was_cut_off_is_cleaned_up_kept_judged_and_gone_on_with() {
    let told = play("0 opened\n1 saved\n2 fail\n3 started 42\n90 reopened\n91 cleaned\n92 saved\n93 fail");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        90 clean-up [42]
        91 checkpoint interrupted-1.1
        92 gate {interrupted:[1,1]}
        93 agent 1.2 telling {interrupted:{attempt:1}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn work_that_was_finished_before_the_crash_is_found_done() {
    let told = play("0 opened\n1 saved\n2 fail\n90 reopened\n91 cleaned\n92 saved\n93 pass\n93 certified");
    assert!(told.ends_with("93 END verified (goal_complete): the promise passes after 1 iteration\n"), "{told}");
}

#[test]
fn an_iteration_whose_agent_end_was_written_down_is_never_given_to_the_agent_again() {
    for (cut, again) in [
        ("4 opened", "4 clean-up []\n"),
        ("4 saved\n5 opened", "5 clean-up []\n"),
        ("4 saved\n5 measured\n6 opened", "6 clean-up []\n"),
    ] {
        let told =
            play(&format!("0 opened\n1 saved\n2 fail\n3 agent-ok\n{cut}\n90 cleaned\n91 saved\n92 measured\n93 fail"));
        assert!(told.contains(again), "{told}");
        assert_eq!(told.matches("agent 1.").count(), 1, "{told}");
        assert!(!told.contains("agent 1.2"), "{told}");
    }
}

#[test]
fn free_orders_are_done_again_after_a_crash() {
    let told = play("0 opened\n1 opened\n2 cleaned\n3 saved\n4 opened\n5 cleaned\n6 fail");
    expect![[r#"
        0 checkpoint initial
        1 clean-up []
        2 checkpoint initial
        3 gate baseline
        4 clean-up []
        5 gate baseline
        6 agent 1.1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_notification_is_not_sent_twice_over_a_crash() {
    let told = play_with(&[("notify", "true")], "0 opened\n1 saved\n2 pass\n2 certified\n3 opened");
    assert!(told.ends_with("2 notify completed\n"), "{told}");
}

#[test]
fn a_run_out_of_iterations_goes_on_with_more_of_them() {
    let told = play_with(
        &[("max_iterations", "1")],
        "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail\n\
         90 reopened max_iterations=2\n91 fail\n92 agent-ok\n93 saved\n94 measured\n95 pass\n95 certified",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 checkpoint iter-001
        4 measure 1
        5 gate {iteration:1}
        6 END exhausted (iteration_limit): 1 iteration done and the promise fails
        90 gate {reopened:1}
        91 agent 2.1
        92 checkpoint iter-002
        93 measure 2
        94 gate {iteration:2}
        95 certify {iteration:2}
        95 END verified (goal_complete): the promise passes after 2 iterations
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_run_that_is_opened_again_without_more_room_asks_the_gate_and_ends_as_before() {
    let told = play_with(
        &[("max_iterations", "1")],
        "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail\n90 reopened\n91 fail",
    );
    assert!(told.ends_with(
        "90 gate {reopened:1}\n91 END exhausted (iteration_limit): 1 iteration done and the promise fails\n"
    ));
}

#[test]
fn a_person_who_mended_it_by_hand_is_believed_by_the_gate() {
    let told = play_with(
        &[("max_iterations", "1")],
        "0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail\n90 reopened\n91 pass\n91 certified",
    );
    assert!(told.ends_with("91 END verified (goal_complete): the promise passes after 1 iteration\n"), "{told}");
}

#[test]
fn an_aborted_attempt_is_kept_and_gone_on_with_after_resume() {
    // req: A-01 partly: without alert_pause
    let told = play("0 opened\n1 saved\n2 fail\n3 abort\n4 agent-by-us\n90 reopened\n91 saved\n92 fail");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 cancel agent 1.1: abort
        4 END stopped (manual_stop): stopped by Ctrl-C
        90 checkpoint interrupted-1.1
        91 gate {interrupted:[1,1]}
        92 agent 1.2 telling {interrupted:{attempt:1}}
    "#]]
    .assert_eq(&told);
}

/// Up to an attempt that is ended because a person wants the end, where checkpoints are taken.
fn cut_off(settings: &[(&str, &str)], asks: &str) -> Story {
    let mut story = Story::checkpointed(settings);
    story.say(&format!("opened / saved-as initial / fail / saved / {asks} / agent-by-us"));
    story
}

#[test]
fn a_cut_off_attempt_is_checkpointed_before_the_run_ends() {
    // UR-A11, CLI-D12
    for (asks, end) in [
        ("abort", "END stopped (manual_stop): stopped by Ctrl-C"),
        ("cancel", "END cancelled (manual_stop): cancelled by Ctrl-C"),
    ] {
        let mut story = cut_off(&[], asks);
        assert_eq!(story.last(), "checkpoint interrupted-1.1", "{}", story.told);
        story.say("saved-as interrupted-1.1");
        assert_eq!(story.last(), end, "{}", story.told);
        assert_eq!(story.state.checkpoints.newest(), Some("interrupted-1.1"));
    }
}

#[test]
fn a_run_that_ended_with_a_checkpoint_of_its_cut_off_attempt_goes_on_from_there() {
    // UR-A11
    let mut story = cut_off(&[], "abort");
    story.say("saved-as interrupted-1.1 / reopened");
    assert_eq!(story.last(), "checkpoint initial+", "what people changed since: {}", story.told);
    story.say("saved / fail");
    assert_eq!(story.last(), "agent 1.2 telling {interrupted:{attempt:1}}", "{}", story.told);
    let mut back = cut_off(&[("on_interrupt", "rollback")], "abort");
    back.say("saved-as interrupted-1.1");
    assert!(back.last().starts_with("END stopped"), "{}", back.told);
    back.say("reopened");
    assert!(back.last().starts_with("rollback to initial"), "it is judged when it is opened again: {}", back.told);
}

#[test]
fn a_person_who_stops_again_does_not_wait_for_the_checkpoint_of_the_cut_off_attempt() {
    // UR-A11
    let mut story = cut_off(&[], "abort");
    story.say("abort / failed stopped");
    assert_eq!(story.last(), "END stopped (manual_stop): stopped by Ctrl-C", "{}", story.told);
    story.say("reopened");
    assert_eq!(story.last(), "checkpoint interrupted-1.1", "it is taken then: {}", story.told);
    for answer in ["blocked no room", "failed no room"] {
        let mut cannot = cut_off(&[], "abort");
        cannot.say(answer);
        assert!(cannot.last().starts_with("END stopped"), "{answer}: {}", cannot.told);
    }
}

#[test]
fn time_in_which_no_driver_was_at_work_does_not_count() {
    // req: A-01 partly: without alert_pause
    let told = play_with(
        &[("max_time", "10s")],
        "0 opened\n1 saved\n2 fail\n3000 stop\n4000 agent-ok\n4001 saved\n4002 measured\n4003 fail\n\
         900000 reopened\n900001 fail\n905000 agent-ok\n905001 saved\n905002 measured\n905003 fail",
    );
    assert!(told.ends_with("905003 agent 3.1\n"), "4 s and 5 s are used, not 900: {told}");
}

#[test]
fn an_answer_of_the_gates_from_before_a_crash_is_not_believed_after_it() {
    // The journal ends between the gate's answer and the conclusion; a person then undid the work.
    let mut story = crate::play::Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 pass\n6 certified");
    let concluded = story.journal.pop().unwrap();
    assert!(matches!(concluded.fact, loop_core::run::Fact::Concluded { .. }));
    story.state = loop_core::run::RunState::default();
    story.journal.iter().for_each(|entry| story.state.apply(&entry.fact));
    story.told.clear();
    story.play("900 reopened\n901 fail");
    assert_eq!(story.told, "900 gate {reopened:1}\n901 agent 2.1\n");
}

#[test]
fn what_an_attempt_that_was_cut_off_had_been_told_is_told_again() {
    let told = play_with(
        &[("timeout", "2s")],
        "0 opened\n1 saved\n2 fail\n2002 deadline\n2003 agent-by-us\n2004 saved\n2005 measured\n2006 fail\n\
         3000 reopened\n3001 cleaned\n3002 saved\n3003 fail",
    );
    assert!(told.ends_with("3003 agent 2.2 telling {timed_out:{limit_ms:2000}} {interrupted:{attempt:1}}\n"), "{told}");
}

#[test]
fn a_process_of_another_start_of_the_machine_is_not_looked_for() {
    use loop_core::run::{Event, Input, step};
    let mut story = crate::play::Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail\n3 started 42");
    let mut at = crate::play::at(9000);
    at.boot_id = 2;
    let event = Event::Reopened {
        by: "loop resume".to_owned(),
        changes: Vec::new(),
        unattended: false,
        hidden: None,
        answers: false,
        injected: None,
        pid_namespace: None,
        scores: Vec::new(),
    };
    let facts = format!("{:?}", step(&story.state, Input { at, event }));
    assert!(facts.contains("CleanUp { processes: [] }"), "{facts}");
}

#[test]
fn an_order_that_failed_under_way_is_cleaned_up_after_before_another_agent_starts() {
    let told = play("0 opened\n1 saved\n2 fail\n3 failed no handle left\n90 reopened\n91 cleaned\n92 saved\n93 fail");
    assert!(told.ends_with("90 clean-up []\n91 checkpoint interrupted-1.1\n92 gate {interrupted:[1,1]}\n93 agent 1.2 telling {interrupted:{attempt:1}}\n"), "{told}");
}

#[test]
fn streaks_begin_anew_when_a_person_opens_the_run_again() {
    let round =
        |from: u64| format!("{from} agent-ok\n{} saved\n{} measured\n{} gate-exit 127\n", from + 1, from + 2, from + 3);
    let script = format!("0 opened\n1 saved\n2 gate-exit 127\n{}{}90 reopened\n91 gate-exit 127", round(3), round(7));
    let told = play_with(&[("max_iterations", "9")], &script);
    assert!(told.ends_with("90 gate {reopened:2}\n91 agent 3.1\n"), "{told}");
}
