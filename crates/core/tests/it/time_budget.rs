//! The time of a run is a limit: the agent is gone before it is over, and the gates have had their part of it.
use expect_test::expect;
use loop_core::machine::consult;
use loop_core::policy::time_budget::{self, GRACE_MS, Share};

use crate::play::{Story, play_with};
use crate::world::Seed;

const MINUTE: [(&str, &str); 1] = [("max_time", "1m")];

#[test]
fn before_the_end_of_its_time_the_agent_is_ended_and_the_gate_asked_once_more() {
    // req: A-01 partly: without alert_pause
    // req: A-30 partly: without the roadmap
    let script = "0 opened\n1 saved\n2 fail\n52000 deadline\n53000 deadline\n54000 agent-by-us\n54001 saved\n54002 measured\n54003 ";
    let broken = play_with(&MINUTE, &format!("{script}fail\n59000 deadline"));
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        53000 cancel agent 1.1: time_limit
        54000 checkpoint iter-001
        54001 measure 1
        54002 gate {iteration:1}
        54003 END exhausted (time_limit): time limit of 1m reached by the agent, and the promise fails
    "#]]
    .assert_eq(&broken);
    let kept = play_with(&MINUTE, &format!("{script}pass\n54004 certified"));
    assert!(kept.ends_with("54004 END verified (goal_complete): the promise passes after 1 iteration\n"), "{kept}");
}

#[test]
fn a_resume_after_the_time_ended_the_agent_asks_the_gate_and_makes_no_call_without_more_time() {
    let script =
        "0 opened\n1 saved\n2 fail\n53000 deadline\n54000 agent-by-us\n54001 saved\n54002 measured\n54003 fail\n";
    let told = play_with(&MINUTE, &format!("{script}60000 reopened\n60001 fail"));
    let end = "60001 END exhausted (time_limit): time limit of 1m reached by the agent, and the promise fails\n";
    assert!(told.ends_with(end), "{told}");
}

#[test]
fn an_agent_that_does_not_end_when_it_is_asked_to_is_cut() {
    let told = play_with(
        &MINUTE,
        "0 opened\n1 saved\n2 fail\n53000 deadline\n57000 deadline\n58000 deadline\n59000 deadline\n59001 agent-by-us",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        53000 cancel agent 1.1: time_limit
        58000 cancel agent 1.1: time_up
        59001 checkpoint iter-001
    "#]]
    .assert_eq(&told);
    let timeout = [("max_time", "1m"), ("timeout", "52s")];
    let told = play_with(&timeout, "0 opened\n1 saved\n2 fail\n52002 deadline\n58000 deadline\n58001 agent-by-us");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        52002 cancel agent 1.1: timeout
        58000 cancel agent 1.1: time_up
        58001 checkpoint iter-001
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_gate_that_is_under_way_at_the_end_of_the_time_is_given_up_and_has_not_spoken() {
    let told = play_with(
        &MINUTE,
        "0 opened\n1 saved\n2 fail\n3 agent-exit 0\n4 saved\n5 measured\n54000 deadline\n55000 deadline\n60000 deadline\n60001 gate-by-us",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        3 checkpoint iter-001
        4 measure 1
        5 gate {iteration:1}
        55000 cancel gate {iteration:1}: time_limit
        60000 cancel gate {iteration:1}: time_up
        60001 END exhausted (time_limit): time limit of 1m reached, and the promise was not checked to the end
    "#]]
    .assert_eq(&told);
    let first = play_with(&MINUTE, "0 opened\n1 saved\n54001 deadline\n60001 deadline\n60002 gate-by-us");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        60001 cancel gate baseline: time_limit
        60002 END exhausted (time_limit): time limit of 1m reached, and the promise was not checked to the end
    "#]]
    .assert_eq(&first);
}

#[test]
fn a_gate_that_ends_as_soon_as_it_is_asked_to_is_not_asked_again_in_what_is_left() {
    let told = play_with(&MINUTE, "0 opened\n1 saved\n55000 deadline\n55001 gate-by-us");
    assert!(
        told.ends_with(
            "55001 END exhausted (time_limit): time limit of 1m reached, and the promise was not checked to the end\n"
        ),
        "{told}"
    );
    let mut more = Story::new(&MINUTE);
    more.play("0 opened\n1 saved\n55000 deadline\n55001 set max_time=2m\n55002 gate-by-us");
    assert_eq!(
        more.last(),
        "END exhausted (time_limit): time limit of 2m reached, and the promise was not checked to the end"
    );
}

#[test]
fn a_gate_that_spoke_before_it_was_ended_counts() {
    let told = play_with(
        &MINUTE,
        "0 opened\n1 saved\n2 fail\n3 agent-exit 0\n4 saved\n5 measured\n56000 deadline\n60001 pass\n60002 certified",
    );
    assert!(told.ends_with("END verified (goal_complete): the promise passes after 1 iteration\n"), "{told}");
}

#[test]
fn a_gate_that_speaks_in_the_last_moment_is_heard_and_no_call_comes_after_it() {
    let script = "0 opened\n1 saved\n2 fail\n3 agent-exit 0\n4 saved\n5 measured\n";
    let last = play_with(&MINUTE, &format!("{script}60000 fail"));
    assert!(
        last.ends_with("60000 END exhausted (time_limit): time limit of 1m reached, and the promise fails\n"),
        "{last}"
    );
    let before = play_with(&MINUTE, &format!("{script}59999 fail"));
    assert!(before.ends_with("59999 agent 2.1\n"), "{before}");
}

#[test]
fn the_tries_of_a_gate_end_with_the_time() {
    let mut story = Story::new(&[("max_time", "1m"), ("promise", ""), ("gate", "flaky[2of3]=make test")]);
    story.play("0 opened\n1 saved\n2 pass\n60001 fail");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline try 1
        2 gate baseline try 2
        60001 END exhausted (time_limit): time limit of 1m reached, and the promise was not checked to the end
    "#]]
    .assert_eq(&story.told);
}

#[test]
fn who_opens_a_run_again_after_its_time_is_told_how_it_stands() {
    let mut story = Story::new(&MINUTE);
    story.play("0 opened\n1 saved\n2 fail\n53000 deadline\n60000 agent-by-us\n60001 saved\n60002 measured");
    story.play("70000 reopened\n70002 deadline\n130000 deadline\n140000 pass\n140001 certified");
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        53000 cancel agent 1.1: time_limit
        60000 checkpoint iter-001
        60001 measure 1
        60002 END exhausted (time_limit): time limit of 1m reached, and the promise was not checked to the end
        70000 gate {iteration:1}
        140000 certify {iteration:1}
        140001 END verified (goal_complete): the promise passes after 1 iteration
    "#]]
    .assert_eq(&story.told);
}

#[test]
fn the_longer_the_gates_took_with_all_their_tries_the_earlier_the_agent_is_asked_to_end() {
    let due = |settings: &[(&str, &str)]| {
        let mut story = Story::new(settings);
        story.play("0 opened\n1 saved");
        while story.last().starts_with("gate") {
            story.say("fail");
        }
        consult(|deciding| story.state.time_limit(deciding)).map(|limit| limit.after_ms)
    };
    let once = due(&[("max_time", "1m"), ("promise", ""), ("gate", "one=make test")]);
    let often = due(&[("max_time", "1m"), ("promise", ""), ("gate", "one[9of10]=make test")]);
    assert!(often < once, "{often:?} {once:?}");
}

fn agent(left_ms: u64, gates_ms: u64) -> Share {
    consult(|deciding| time_budget::agent(left_ms, gates_ms, deciding))
}

fn whole(left_ms: u64) -> Share {
    consult(|deciding| time_budget::whole(left_ms, deciding))
}

#[test]
fn an_agent_has_nearly_half_of_what_is_left_at_least_and_is_asked_before_it_is_cut() {
    let mut seed = Seed::new(7);
    for _ in 0..10_000 {
        let (left, bits) = (seed.below(100_000_000), 1 + seed.below(62));
        let gates = seed.below(1 << bits);
        let share = agent(left, gates);
        assert!(share.ask_ms <= share.end_ms && share.end_ms <= left, "{left} {gates} {share:?}");
        assert!(share.end_ms >= left / 2 && share.end_ms - share.ask_ms <= GRACE_MS, "{left} {gates} {share:?}");
        assert!(share.ask_ms >= share.end_ms - share.end_ms / 10, "{left} {gates} {share:?}");
    }
    assert_eq!(agent(9_000, u64::MAX).end_ms, 4_500);
    assert_eq!((agent(60_000, 8_000).ask_ms, agent(60_000, 8_000).end_ms), (41_400, 46_000));
    assert_eq!(agent(10_000, 0).end_ms, 9_500);
    assert_eq!(agent(60_000, 9_001).end_ms, 44_499);
    assert_eq!(whole(60_000).end_ms, 60_000);
    assert_eq!(whole(60_000).ask_ms, 55_000);
    assert_eq!(whole(1_000).ask_ms, 900);
}
