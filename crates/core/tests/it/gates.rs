//! Several gates: their order, several tries, watched ones, and one that cannot answer.
use expect_test::expect;
use loop_core::run::next_deadline;

use crate::play::Story;

fn story(gates: &str, settings: &[(&str, &str)]) -> Story {
    let mut story = Story::new(&[&[("gate", gates), ("max_iterations", "9")], settings].concat());
    story.say("opened / saved");
    story
}

#[test]
fn every_gate_is_asked_and_all_that_are_required_must_hold_on_the_same_state() {
    let mut story = story("lint=cargo clippy", &[]);
    story.say("pass / fail / agent-ok / saved / changed 1 / fail / pass / agent-ok / saved / changed 1 / pass / pass");
    expect![[r#"
        checkpoint initial
        gate baseline promise
        gate baseline lint
        agent 1.1
        checkpoint iter-001
        measure 1
        gate {iteration:1} promise
        gate {iteration:1} lint
        agent 2.1 telling {regressed:{what:[the gate promise],reverted:false}}
        checkpoint iter-002
        measure 2
        gate {iteration:2} promise
        gate {iteration:2} lint
        certify {iteration:2}"#]]
    .assert_eq(&story.tail(20));
    story.say("certified");
    let proof = story.state.over.unwrap().proof.unwrap();
    let names: Vec<&str> = proof.gates.iter().map(|gate| gate.name.as_str()).collect();
    assert_eq!(names, ["promise", "lint"]);
}

#[test]
fn a_gate_that_is_only_watched_is_asked_and_stops_nothing() {
    let mut story = story("lint[watch]=cargo clippy", &[]);
    story.say("fail / fail / agent-ok / saved / changed 1 / pass / fail / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
    let mut unable = self::story("lint[watch]=cargo clippy", &[]);
    unable.say("fail / gate-exit 127").times(3, "agent-ok / saved / changed 1 / fail / gate-exit 127");
    assert!(unable.last().starts_with("agent 4.1"), "{}", unable.told);
}

#[test]
fn of_several_gates_the_one_that_is_required_and_cannot_answer_is_named() {
    let mut story = story("lint[watch]=cargo clippy\ntypes=mypy", &[]);
    story.say("fail / gate-exit 127 / gate-exit 127");
    story.times(2, "agent-ok / saved / changed 1 / fail / gate-exit 127 / gate-exit 126");
    let end = "END unable (fatal_error): the gate types could not be checked: mypy (exit 126): sh: make: not found";
    assert_eq!(story.last(), end);
}

#[test]
fn one_answer_in_between_sets_the_unverifiable_streak_back() {
    let mut story = story("", &[]);
    story.say("fail");
    for answer in ["gate-exit 127", "fail", "gate-exit 127", "fail"] {
        story.say("agent-ok / saved / changed 1").say(answer);
    }
    assert!(story.last().starts_with("agent 5.1"), "{}", story.told);
}

#[test]
fn cheap_gates_come_first_once_that_is_known_and_a_set_order_before_that() {
    let mut story = story("slow=a\nfast=b\nlast[order=2]=c", &[("promise", "")]);
    story.say("tests ms=900 / tests fail=1 ms=5 / tests fail=1 ms=1 / agent-ok / saved / changed 1");
    story.say("tests fail=1 said=x / tests fail=1 said=x");
    expect![[r#"
        gate baseline slow
        gate baseline fast
        gate baseline last
        agent 1.1
        checkpoint iter-001
        measure 1
        gate {iteration:1} fast
        gate {iteration:1} slow
        gate {iteration:1} last"#]]
    .assert_eq(&story.tail(9));
}

#[test]
fn a_flaky_gate_is_asked_until_its_answer_is_known() {
    let flaky = |answers: &str| {
        let mut story = story("flaky[2of3]=x", &[("promise", "")]);
        story.say("fail / fail / agent-ok / saved / changed 1").say(answers);
        story
    };
    for (answers, tries) in [("pass / pass", 2), ("fail / pass / pass", 3), ("pass / gate-exit 127 / pass", 3)] {
        let story = flaky(answers);
        assert_eq!(story.last(), "certify {iteration:1}", "{answers}: {}", story.told);
        assert_eq!(story.told.matches("gate {iteration:1} try").count(), tries, "{answers}");
    }
    for answers in ["fail / fail", "pass / fail / fail", "fail / pass / fail"] {
        let story = flaky(answers);
        assert!(story.last().starts_with("agent 2.1"), "{answers}: {}", story.told);
        assert_eq!(story.state.gates.unverifiable_streak(), 0, "{answers}");
    }
    for answers in ["gate-exit 127 / gate-exit 127", "pass / gate-exit 127 / fail", "fail / gate-exit 127"] {
        let story = flaky(answers);
        assert!(story.last().starts_with("agent 2.1"), "{answers}: {}", story.told);
        assert_eq!(story.state.gates.unverifiable_streak(), 1, "{answers}");
    }
}

#[test]
fn the_tries_of_a_gate_begin_anew_in_every_round() {
    let mut story = story("flaky[2of3]=x", &[("promise", "")]);
    story.say("pass / fail / fail / agent-ok / saved / changed 1 / pass");
    assert_eq!(story.last(), "gate {iteration:1} try 2");
    story.say("fail");
    assert_eq!(story.last(), "gate {iteration:1} try 3");
}

#[test]
fn a_gate_may_have_a_time_limit_of_its_own() {
    let mut story = story("slow[timeout=2m]=x", &[("gate_timeout", "1m")]);
    assert_eq!(next_deadline(&story.state).unwrap().after_ms, 60_000);
    story.say("fail");
    assert_eq!(next_deadline(&story.state).unwrap().after_ms, 120_000);
}

#[test]
fn a_timeout_of_a_gate_that_never_ended_is_no_answer_and_of_one_that_did_it_is() {
    let mut never = story("", &[]);
    never.say("gate-by-us").times(2, "agent-ok / saved / changed 1 / gate-by-us");
    assert!(
        never.last().contains("the promise could not be checked: make test (no end after 10m, see --gate-timeout)"),
        "{}",
        never.told
    );
    let mut ended = story("", &[]);
    ended.say("fail").times(4, "agent-ok / saved / changed 1 / gate-by-us");
    assert!(ended.last().starts_with("agent 5.1"), "{}", ended.told);
}

#[test]
fn tries_on_one_state_do_not_count_for_another() {
    let mut crashed = story("flaky[2of3]=x", &[("promise", "")]);
    crashed.say("fail / fail / agent-ok / saved / changed 1 / pass / reopened / cleaned");
    assert_eq!(crashed.last(), "gate {iteration:1} try 1", "somebody may have edited since");
    let mut back = Story::checkpointed(&[("gate", "flaky[2of3]=x"), ("promise", "")]);
    back.say("opened / saved-as initial / fail / fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass");
    back.say("rollback-now initial / gate-by-us / rolled-back initial");
    assert_eq!(back.last(), "gate {rolled_back:1} try 1");
    let mut guarded = Story::guarded(&[("gate", "flaky[2of3]=x"), ("promise", "")]);
    guarded.say("opened / guarded 2 / saved-as initial / pass / pass / opened / cleaned / saved");
    assert_eq!(guarded.last(), "gate {reopened:0} try 1");
}
