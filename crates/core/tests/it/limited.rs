//! Limits of the provider, sessions, questions and refusals: what they do to a run.
use expect_test::expect;

use crate::play::{Story, play, play_with};

/// Up to the first call.
const BEGIN: &str = "0 opened\n1 saved\n2 fail\n";

fn story(settings: &[(&str, &str)], script: &str) -> String {
    // One that has sessions.
    let settings = [&[("agent", "claude")], settings].concat();
    play_with(&settings, &format!("{BEGIN}{script}"))
}

#[test]
fn a_limit_is_waited_out_and_is_neither_an_iteration_nor_a_failure() {
    let told = story(
        &[],
        "
        100 session s1
        110 agent-heard rate_limit=3000 session=s1
        2999 deadline
        9000 deadline
        9001 held
        9100 agent-heard session=s1
        9101 saved
        9102 measured
        9103 pass
        9103 certified",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 hold limit 5970
        9000 cancel hold limit 5970: timeout
        9001 agent 1.2 in s1 telling {limited:{attempt:1}}
        9100 checkpoint iter-001
        9101 measure 1
        9102 gate {iteration:1}
        9103 certify {iteration:1}
        9103 END verified (goal_complete): the promise passes after 1 iteration
    "#]]
    .assert_eq(&told);
}

#[test]
fn before_a_long_wait_the_gates_are_asked_whether_the_work_is_done() {
    let told = story(
        &[],
        "
        110 agent-heard rate_limit=7200000
        111 saved
        112 fail
        200 resume
        201 held",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 checkpoint interrupted-1.1
        111 gate {interrupted:[1,1]}
        112 hold limit 7211768
        200 cancel hold limit 7211768: request
        201 agent 1.2 telling {limited:{attempt:1}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn the_gates_are_asked_before_a_short_limit_that_ends_the_loop() {
    // CLI-D3
    for (settings, heard) in [
        (("max_tokens", "3500"), "agent-heard rate_limit=900 tokens=3780"),
        (("max_time", "35s"), "agent-heard rate_limit=40000"),
        (("max_cost", "1.00"), "agent-heard rate_limit=900 cost=1000000"),
    ] {
        let told = story(&[settings], &format!("110 {heard}\n111 saved\n112 pass\n113 certified"));
        assert!(told.contains("110 checkpoint interrupted-1.1\n111 gate {interrupted:[1,1]}\n"), "{told}");
        assert!(told.ends_with("END verified (goal_complete): the promise passes after 1 iteration\n"), "{told}");
    }
    let enough = story(&[("max_tokens", "3500")], "110 agent-heard rate_limit=900 tokens=37");
    assert!(enough.ends_with("110 hold limit 3600\n") || enough.contains("110 hold limit "), "{enough}");
}

#[test]
fn a_question_that_was_parked_until_the_end_is_answered_by_the_resume() {
    // UR-A1
    let script = "100 agent-heard asked=Which? session=s1\n101 saved\n102 measured\n103 fail\n200 abort\n201 held";
    let mut run = Story::new(&[("agent", "claude"), ("on_question", "park")]);
    run.play(&format!("{BEGIN}{script}"));
    assert!(run.last().starts_with("END stopped"), "{}", run.told);
    assert_eq!(run.state.agent.question(), Some("Which?"), "it stays visible");
    run.play("300 visited\n301 inject");
    assert_eq!(run.state.agent.question(), Some("Which?"), "a request does not answer it");
    run.play("400 reopened-with-answer\n401 fail");
    assert_eq!(run.last(), "agent 2.1 in s1 telling {answered:{question:Which?}} injected 1 to 1", "{}", run.told);
}

#[test]
fn a_wait_goes_on_after_the_harness_was_killed() {
    let told = story(
        &[],
        "
        110 agent-heard rate_limit=40000
        500 reopened
        501 fail
        39000 deadline
        46000 deadline
        46001 held",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 hold limit 42970
        500 gate {reopened:1}
        501 hold limit 42579
        46000 cancel hold limit 42579: timeout
        46001 agent 1.2 telling {limited:{attempt:1}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_wait_that_nobody_states_grows_and_has_an_end() {
    let mut story = Story::new(&[]);
    story.play(BEGIN);
    let mut now = 100;
    while story.state.over.is_none() {
        story.play(&format!("{now} agent-heard overload"));
        if let Some(wait) = story.state.agent.provider.wait().cloned() {
            if let Some((_, open)) = story.state.main_order()
                && matches!(open.order, loop_core::run::Order::Checkpoint { .. })
            {
                story.play(&format!("{now} saved\n{now} fail"));
            }
            now = wait.until_ms - crate::play::at(0).wall_ms;
        }
        if story.state.waiting().is_some() {
            story.play(&format!("{now} deadline\n{now} held"));
        }
    }
    let last: Vec<&str> = story.told.lines().rev().take(1).collect();
    let waits: Vec<u64> = story
        .told
        .lines()
        .filter_map(|line| {
            line.split_once(" hold limit ")
                .filter(|(before, _)| !before.contains(' '))
                .map(|(_, ms)| ms.parse().unwrap())
        })
        .collect();
    assert!(waits[0] >= 5000 && waits[0] <= 6000, "{waits:?}");
    assert!(waits.windows(2).take(4).all(|two| two[1] > two[0]), "{waits:?}");
    assert!(waits.iter().all(|ms| *ms <= 6 * 60_000), "{waits:?}");
    expect![[r#"
        31 tries
        8196068 END unable (fatal_error): 31 attempts in a row failed: the provider is overloaded
    "#]]
    .assert_eq(&format!("{} tries\n{}\n", waits.len() + 1, last.join("\n")));
}

#[test]
fn a_limit_that_lasts_longer_than_the_time_of_the_loop_ends_it() {
    let told = story(
        &[("max_time", "10m")],
        "
        110 agent-heard rate_limit=7200000
        111 saved
        112 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 checkpoint interrupted-1.1
        111 gate {interrupted:[1,1]}
        112 END exhausted (time_limit): the provider's limit is reached; it would last until 2023-11-15T00:13:31Z, which is past the time of the loop
    "#]].assert_eq(&told);
}

#[test]
fn an_agent_that_is_not_signed_in_is_not_asked_again() {
    let told = story(
        &[],
        "
        110 agent-heard auth
        111 saved
        112 measured
        113 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 checkpoint iter-001
        111 measure 1
        112 gate {iteration:1}
        113 END unable (fatal_error): claude is not signed in, or was refused: the agent's last words
    "#]]
    .assert_eq(&told);
}

#[test]
fn money_that_the_agents_own_program_counts_ends_the_loop_as_a_budget() {
    let told = story(
        &[],
        "
        110 agent-heard budget
        111 saved
        112 measured
        113 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 checkpoint iter-001
        111 measure 1
        112 gate {iteration:1}
        113 END exhausted (budget_limit): the agent stopped at the limit of its budget and the promise fails
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_session_is_begun_anew_each_time_and_gone_on_with_after_a_timeout() {
    let told = story(
        &[("timeout", "1m")],
        "
        100 agent-heard session=s1
        101 saved
        102 measured
        103 fail
        200 session s2
        60203 deadline
        60204 agent-by-us
        60205 saved
        60206 measured
        60207 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1
        60203 cancel agent 2.1: timeout
        60204 checkpoint iter-002
        60205 measure 2
        60206 gate {iteration:2}
        60207 agent 3.1 in s2 telling {timed_out:{limit_ms:60000}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_session_is_gone_on_with_where_that_is_set_until_it_is_too_old_or_lost() {
    let told = story(
        &[("session", "continue"), ("session_expiry", "1h")],
        "
        100 agent-heard session=s1
        101 saved
        102 measured
        103 fail
        200 agent-heard lost crash
        300 agent-heard session=s2
        301 saved
        302 measured
        303 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1 in s1
        200 agent 2.2
        300 checkpoint iter-002
        301 measure 2
        302 gate {iteration:2}
        303 agent 3.1 in s2
    "#]]
    .assert_eq(&told);
    let told = story(
        &[("session", "continue"), ("session_expiry", "1h"), ("timeout", "5h")],
        "
        100 agent-heard session=s1
        101 saved
        102 measured
        103 fail
        3600200 agent-heard session=s1
        3600201 saved
        3600202 measured
        3600203 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1 in s1
        3600200 checkpoint iter-002
        3600201 measure 2
        3600202 gate {iteration:2}
        3600203 agent 3.1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_question_is_told_back_parks_the_loop_or_stops_it() {
    let script = "
        100 agent-heard asked=Which?
        101 saved
        102 measured
        103 fail
        500 resume
        501 held";
    let script = |what: &str| if what == "decide" { &script[..script.find("500").unwrap()] } else { script };
    for (what, expected) in [
        (
            "decide",
            expect![[r#"
                0 checkpoint initial
                1 gate baseline
                2 agent 1.1
                100 checkpoint iter-001
                101 measure 1
                102 gate {iteration:1}
                103 agent 2.1 telling {nobody_answers:{question:Which?}}
            "#]],
        ),
        (
            "park",
            expect![[r#"
                0 checkpoint initial
                1 gate baseline
                2 agent 1.1
                100 checkpoint iter-001
                101 measure 1
                102 gate {iteration:1}
                103 hold question
                500 cancel hold question: request
                501 agent 2.1 telling {answered:{question:Which?}}
            "#]],
        ),
        (
            "stop",
            expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 END unable (question): the agent asks: Which?
    "#]],
        ),
    ] {
        expected.assert_eq(&story(&[("on_question", what)], script(what)));
    }
}

#[test]
fn words_alone_are_a_question_only_when_twice_nothing_changed() {
    let told = story(
        &[("on_question", "stop")],
        "
        100 agent-heard asks
        101 saved
        102 changed 0
        103 fail
        200 agent-heard asks
        201 saved
        202 changed 0
        203 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1
        200 checkpoint iter-002
        201 measure 2
        202 gate {iteration:2}
        203 END unable (question): the agent asks: the agent's last words
    "#]]
    .assert_eq(&told);
}

#[test]
fn refused_calls_are_told_back_where_nothing_came_of_the_iteration() {
    let told = story(
        &[],
        "
        100 agent-heard denied=6
        101 saved
        102 changed 0
        103 fail
        200 agent-heard denied=2
        201 saved
        202 changed 3
        203 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1 telling {refused:{count:6,first:cargo}}
        200 checkpoint iter-002
        201 measure 2
        202 gate {iteration:2}
        203 agent 3.1
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_person_who_goes_on_does_not_wait_for_the_provider() {
    let told = play(&format!(
        "{BEGIN}
        110 agent-heard network
        200 resume
        201 held"
    ));
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        110 hold limit 5720
        200 cancel hold limit 5720: request
        201 agent 1.2 telling {limited:{attempt:1}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_conversation_that_is_full_is_not_gone_on_with() {
    let told = story(
        &[("session", "continue")],
        "
        100 agent-heard session=s1
        101 saved
        102 measured
        103 fail
        200 agent-heard context session=s1
        201 saved
        202 measured
        203 fail",
    );
    expect![[r#"
        0 checkpoint initial
        1 gate baseline
        2 agent 1.1
        100 checkpoint iter-001
        101 measure 1
        102 gate {iteration:1}
        103 agent 2.1 in s1
        200 checkpoint iter-002
        201 measure 2
        202 gate {iteration:2}
        203 agent 3.1 telling {agent_failed:{ended:exit 1}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_stated_reset_that_proves_wrong_again_and_again_is_waited_for_ever_longer() {
    let mut story = Story::new(&[]);
    story.play(BEGIN);
    let (mut now, mut waits) = (100, Vec::new());
    for _ in 0..6 {
        story.play(&format!("{now} agent-heard rate_limit={}", now + 350));
        let until = story.state.agent.provider.wait().cloned().unwrap().until_ms - crate::play::at(0).wall_ms;
        waits.push(until - now);
        now = until;
        story.play(&format!("{now} deadline\n{now} held"));
    }
    assert!(waits[0] < 6000 && waits[5] >= 40_000, "{waits:?}");
}

/// CLI-D7: gemini stores no session without an answer, and ends with an error when it is to continue one.
#[test]
fn a_conversation_in_which_the_model_said_nothing_is_not_continued() {
    for (tools, next) in
        [("tools=0", "agent 1.2 telling"), ("tools=1", "agent 1.2 in s1 telling"), ("", "agent 1.2 in s1")]
    {
        let script =
            format!("100 session s1\n110 agent-heard rate_limit=3000 session=s1 {tools}\n9000 deadline\n9001 held");
        let told = story(&[], &script);
        assert!(told.lines().last().is_some_and(|line| line.contains(next)), "{tools}: {told}");
    }
}

/// CLI-D8: a program that waits for its provider by itself, and says nothing, until its time is over.
#[test]
fn an_agent_that_wrote_nothing_until_its_time_limit_is_tried_again_after_a_wait_and_is_no_iteration() {
    let settings = [("timeout", "2s")];
    let silent = "2100 deadline\n2200 agent-heard by-us tools=0";
    let told = story(&settings, silent);
    assert!(told.lines().last().is_some_and(|line| line.contains("hold limit")), "{told}");
    let worked = story(&settings, "2100 deadline\n2200 agent-heard by-us tools=2");
    assert!(worked.lines().last().is_some_and(|line| line.contains("checkpoint iter-001")), "{worked}");
    let unknown = story(&settings, "2100 deadline\n2200 agent-heard by-us");
    assert!(unknown.lines().last().is_some_and(|line| line.contains("checkpoint iter-001")), "{unknown}");
}
