//! Checkpoints of a run: what is compared and when, what goes back to one, and what a block means.
use expect_test::expect;

use crate::play::Story;

fn told(settings: &[(&str, &str)], script: &str) -> String {
    let mut story = Story::checkpointed(settings);
    story.play(script);
    story.told
}

const FIRST: &str =
    "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 agent-ok\n5 saved-as iter-001\n6 changed 2\n7 fail";

// req: D-29
#[test]
fn between_iterations_the_tree_is_compared_and_what_others_did_is_told_to_the_agent() {
    let script = format!("{FIRST}\n8 others iter-001+\n9 agent-ok");
    let told = told(&[], &script);
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 checkpoint initial+
        3 agent 1.1
        4 checkpoint iter-001
        5 measure 1
        6 gate {iteration:1}
        7 checkpoint iter-001+
        8 agent 2.1 telling {changed_by_others:{files:2}}
        9 checkpoint iter-002
    "#]]
    .assert_eq(&told);
}

// req: D-08
#[test]
fn a_rollback_waits_for_the_iteration_goes_before_its_verdict_and_the_gates_judge_what_it_left() {
    let script = format!(
        "{FIRST}\n8 saved\n9 rollback initial\n10 agent-ok\n11 saved-as iter-002\n12 changed 1\n13 pass\n14 rolled-back initial\n15 fail\n16 saved"
    );
    let told = told(&[], &script);
    expect![[r#"
        8 agent 2.1
        10 checkpoint iter-002
        11 measure 2
        12 gate {iteration:2}
        13 rollback to initial, undone by undo-1
        14 gate {rolled_back:2}
        15 checkpoint iter-002+
        16 agent 3.1 telling {rolled_back:{to:initial}}
    "#]]
    .assert_eq(told.split_once("7 checkpoint iter-001+\n").unwrap().1);
}

// req: D-08
#[test]
fn a_rollback_now_ends_the_agent_keeps_what_it_left_and_goes_back() {
    let script = format!(
        "{FIRST}\n8 saved\n9 rollback-now initial\n10 agent-by-us\n11 saved-as interrupted-2.1\n12 rolled-back initial\n13 fail"
    );
    let told = told(&[], &script);
    expect![[r#"
        8 agent 2.1
        9 cancel agent 2.1: rollback
        10 checkpoint interrupted-2.1
        11 rollback to initial, undone by undo-1
        12 gate {rolled_back:2}
        13 agent 2.2 telling {rolled_back:{to:initial}}
    "#]]
    .assert_eq(told.split_once("7 checkpoint iter-001+\n").unwrap().1);
}

#[test]
fn a_paused_run_goes_back_and_holds_again() {
    let script = format!("{FIRST}\n8 pause\n9 saved\n14 rollback iter-001\n15 held\n16 rolled-back iter-001\n17 fail");
    let told = told(&[], &script);
    expect![[r#"
        9 hold paused
        14 cancel hold paused: request
        15 rollback to iter-001, undone by undo-1
        16 gate {rolled_back:1}
        17 hold paused
    "#]]
    .assert_eq(told.split_once("7 checkpoint iter-001+\n").unwrap().1);
}

// req: D-06
#[test]
fn cancel_with_rollback_ends_the_agent_goes_back_to_the_beginning_and_is_final() {
    let script = format!("{FIRST}\n8 saved\n9 cancel-rollback loop cancel\n10 agent-by-us\n11 rolled-back initial");
    let told = told(&[], &script);
    expect![[r#"
        8 agent 2.1
        9 cancel agent 2.1: abort
        10 rollback to initial, undone by undo-1
        11 END cancelled (manual_stop): cancelled by loop cancel
    "#]]
    .assert_eq(told.split_once("7 checkpoint iter-001+\n").unwrap().1);
}

#[test]
fn what_a_person_must_mend_holds_the_run_until_it_is_resumed() {
    let script = "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 agent-ok\n5 blocked cannot read secret\n6 resume\n7 held\n8 saved-as iter-001";
    expect![[r#"
        4 checkpoint iter-001
        5 hold blocked
        6 cancel hold blocked: request
        7 checkpoint iter-001
        8 measure 1
    "#]]
    .assert_eq(told(&[], script).split_once("3 agent 1.1\n").unwrap().1);
}

#[test]
fn a_stop_while_something_is_to_be_mended_ends_the_run_and_says_what() {
    let script =
        "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 agent-ok\n5 blocked cannot read secret\n6 stop\n7 held";
    expect![[r#"
        4 checkpoint iter-001
        5 hold blocked
        6 cancel hold blocked: request
        7 END stopped (manual_stop): stopped by Ctrl-C while it could not continue: cannot read secret
    "#]]
    .assert_eq(told(&[], script).split_once("3 agent 1.1\n").unwrap().1);
}

// req: D-08
#[test]
fn an_ended_run_is_visited_for_a_rollback_stays_ended_and_can_be_gone_on_with() {
    let script = "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 agent-ok\n5 saved-as iter-001\n6 changed 2\n7 pass\n7 certified\n\
                  20 visited loop rollback\n21 rollback initial\n22 rolled-back initial\n30 reopened\n31 saved\n32 fail\n33 saved";
    let mut story = Story::checkpointed(&[]);
    story.play(script);
    expect![[r#"
        7 certify {iteration:1}
        7 END verified (goal_complete): the promise passes after 1 iteration
        21 rollback to initial, undone by undo-1
        30 checkpoint iter-001+
        31 gate {rolled_back:1}
        32 checkpoint iter-001+
        33 agent 2.1 telling {rolled_back:{to:initial}}
    "#]]
    .assert_eq(story.told.split_once("6 gate {iteration:1}\n").unwrap().1);
}

#[test]
fn a_rollback_that_was_cut_off_is_finished_before_anything_else_happens() {
    let script = format!(
        "{FIRST}\n8 saved\n9 rollback-now initial\n10 agent-by-us\n11 saved-as interrupted-2.1\n20 reopened\n21 cleaned\n22 rolled-back initial"
    );
    let told = told(&[], &script);
    expect![[r#"
        11 rollback to initial, undone by undo-1
        20 clean-up []
        21 rollback to initial, undone by undo-1
        22 gate {rolled_back:2}
    "#]]
    .assert_eq(told.split_once("10 checkpoint interrupted-2.1\n").unwrap().1);
}

#[test]
fn an_interrupted_attempt_is_rolled_back_where_the_user_wants_that() {
    let script = format!(
        "{FIRST}\n8 saved\n20 reopened\n21 cleaned\n22 saved-as interrupted-2.1\n23 rolled-back iter-001\n24 fail"
    );
    let told = told(&[("on_interrupt", "rollback")], &script);
    expect![[r#"
        20 clean-up []
        21 checkpoint interrupted-2.1
        22 rollback to iter-001, undone by undo-1
        23 gate {rolled_back:2}
        24 agent 2.2 telling {rolled_back:{to:iter-001}}
    "#]]
    .assert_eq(told.split_once("8 agent 2.1\n").unwrap().1);
}

#[test]
fn a_persons_checkpoint_is_taken_beside_the_agent_and_on_an_ended_run() {
    let script = format!("{FIRST}\n8 saved\n9 keep good");
    let told = told(&[], &script);
    expect![[r#"
        8 agent 2.1
        9 keep good
    "#]]
    .assert_eq(told.split_once("7 checkpoint iter-001+\n").unwrap().1);
}

#[test]
fn a_blocked_run_that_cannot_go_back_holds_on_and_one_that_can_holds_again() {
    let begin = "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 agent-ok\n5 blocked the disk is full\n6 rollback initial\n7 held";
    let told = told(
        &[],
        &format!(
            "{begin}\n8 refused the disk is full\n9 rollback initial\n10 held\n11 rolled-back initial\n12 fail\n13 resume\n14 held"
        ),
    );
    expect![[r#"
        4 checkpoint iter-001
        5 hold blocked
        6 cancel hold blocked: request
        7 rollback to initial, undone by undo-1
        8 hold blocked
        9 cancel hold blocked: request
        10 rollback to initial, undone by undo-1
        11 gate {rolled_back:1}
        12 hold paused
        13 cancel hold paused: request
        14 checkpoint iter-001+
    "#]]
    .assert_eq(told.split_once("3 agent 1.1\n").unwrap().1);
}

#[test]
fn a_way_back_that_was_begun_and_could_not_be_finished_is_gone_on_with_when_that_is_mended() {
    let mut story = Story::checkpointed(&[]);
    story.say("opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("rollback initial / fail / blocked the disk is full");
    assert_eq!(story.last(), "hold blocked", "{}", story.told);
    story.say("resume / held");
    assert!(story.last().starts_with("rollback to initial"), "{}", story.told);
}

#[test]
fn who_cancels_and_goes_back_before_anything_was_kept_goes_nowhere() {
    let mut fresh = Story::checkpointed(&[]);
    fresh.say("opened / cancel-rollback / failed it was stopped");
    assert!(fresh.last().starts_with("END cancelled"), "{}", fresh.told);
    let mut broken = Story::checkpointed(&[]);
    broken.say("opened / saved-as initial / cancel-rollback / failed the disk is gone");
    assert!(broken.last().starts_with("END cancelled"), "{}", broken.told);
}

// req: D-08
#[test]
fn a_run_that_the_machine_ended_can_be_rolled_back() {
    let script = format!(
        "{FIRST}\n8 saved\n9 failed no such program\n90 visited loop rollback\n91 rollback initial\n92 cleaned\n93 rolled-back initial"
    );
    let told = told(&[], &script);
    assert!(told.contains("rollback to initial, undone by undo-1"), "{told}");
}

// req: D-08
#[test]
fn a_rollback_of_some_paths_leaves_a_state_of_its_own_that_is_judged_and_told_to_the_agent() {
    let mut story = Story::checkpointed(&[]);
    story.play(&format!(
        "{FIRST}\n8 saved\n9 rollback initial\n10 agent-ok\n11 saved-as iter-002\n12 changed 1\n13 fail\n14 restored-path src/a.rs\n15 fail\n16 saved"
    ));
    let told = story.told.lines().last().unwrap_or_default();
    assert!(told.contains("{rolled_back:{to:initial,paths:[src/a.rs]}}"), "{told}");
    assert_eq!(story.state.checkpoints.newest(), Some("undo-1+"), "not the checkpoint that the paths came from");
    assert_eq!(story.state.checkpoints.tree(), Some("tree of undo-1+"));
}
