//! Where no gate is: when the agent's word ends a loop, and what is asked of one that says nothing.
use loop_core::run::{Outcome, standing};

use crate::play::Story;

/// A loop without a gate, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let settings = [&[("max_iterations", "9"), ("promise", ""), ("no_promise", "true")], settings].concat();
    let mut story = Story::new(&settings);
    story.say("opened / saved");
    story
}

/// One whose agent has sessions.
fn talking(settings: &[(&str, &str)]) -> Story {
    story(&[&[("agent", "claude")], settings].concat())
}

fn goes_on(story: &Story) {
    assert!(story.state.over.is_none(), "{}", story.told);
}

const DONE: &str = "agent-heard claim=COMPLETE,exit / saved / changed 0";

// req: B-06
// req: C-20
#[test]
fn the_signal_twice_in_a_row_with_a_quiet_tree_is_claimed_and_not_verified() {
    let mut story = story(&[]);
    story.say(DONE);
    goes_on(&story);
    story.say(DONE);
    let end = "END claimed (goal_complete): the agent says 2 times in a row that it is done, and changed nothing more; \
               nothing was verified";
    assert_eq!(story.last(), end);
    let over = story.state.over.as_ref().unwrap();
    assert!(!over.proof.as_ref().unwrap().verified, "{:?}", over.proof);
    assert_eq!(standing(Outcome::Claimed).exit_code, 0);
}

// req: B-06
#[test]
fn neither_half_of_the_condition_is_enough_and_the_tree_must_be_quiet() {
    for second in [
        "agent-heard claim=COMPLETE / saved / changed 0",
        "agent-heard claim=COMPLETE,exit / saved / changed 1",
        "agent-heard claim=COMPLETE,exit crash / saved / changed 0",
        "agent-ok / saved / changed 0",
    ] {
        let mut story = story(&[]);
        story.say(DONE).say(second);
        goes_on(&story);
    }
    let mut late = story(&[]);
    late.say(DONE).say("agent-heard claim=COMPLETE,exit / saved / changed 1").say(DONE);
    assert!(late.last().contains("says 3 times in a row"), "{}", late.told);
}

// req: B-06
#[test]
fn an_iteration_without_a_claim_or_a_block_sets_the_count_to_nothing() {
    for between in ["agent-heard claim=IN_PROGRESS / saved / changed 1", "agent-ok / saved / changed 1"] {
        let mut story = story(&[]);
        story.say(DONE).say(between);
        assert_eq!(story.state.progress.streaks().completion, 0);
        story.say(DONE);
        goes_on(&story);
        story.say(DONE);
        assert!(story.last().starts_with("END claimed"), "{}", story.told);
    }
}

// req: C-20
#[test]
fn the_threshold_is_a_setting_and_counts_claims_in_a_row_not_the_signs_that_one_claim_sees() {
    let mut three = story(&[("completion_threshold", "3"), ("max_no_progress", "9")]);
    three.times(2, DONE);
    goes_on(&three);
    three.say(DONE);
    assert!(three.last().contains("says 3 times in a row"), "{}", three.told);
    let mut signs = story(&[]);
    signs.say("agent-heard claim=IN_PROGRESS,exit,signs=2 / saved / changed 0");
    goes_on(&signs);
    signs.say("agent-heard claim=IN_PROGRESS,exit,signs=2 / saved / changed 0");
    assert!(signs.last().contains("the agent says 2 times in a row that it is done"), "{}", signs.told);
    let mut few = story(&[]);
    few.say("agent-heard claim=IN_PROGRESS,exit,signs=1 / saved / changed 0");
    goes_on(&few);
    let mut unmeasured = story(&[]);
    unmeasured.times(2, "agent-heard claim=COMPLETE,exit / saved / measured");
    assert!(unmeasured.last().starts_with("END claimed"), "what nobody measures is quiet: {}", unmeasured.told);
}

// req: C-20
#[test]
fn where_it_need_not_be_strict_one_word_is_enough() {
    let loose = [("strict_completion", "false")];
    for claim in ["COMPLETE", "IN_PROGRESS,exit"] {
        let mut story = story(&loose);
        story.say(&format!("agent-heard claim={claim} / saved / changed 3"));
        let end = "END claimed (goal_complete): the agent says that it is done; nothing was verified";
        assert_eq!(story.last(), end);
    }
    let mut signs = story(&loose);
    signs.say("agent-heard claim=IN_PROGRESS,signs=4 / saved / changed 3");
    goes_on(&signs);
    let mut failed = story(&loose);
    failed.say("agent-heard claim=COMPLETE crash / saved / changed 3");
    goes_on(&failed);
}

#[test]
fn the_end_says_what_is_missing_for_a_claim() {
    let end = |turn: &str| {
        let mut story = story(&[("max_iterations", "2"), ("max_no_progress", "9")]);
        story.times(2, turn);
        story.last().to_owned()
    };
    let not_said =
        "END exhausted (iteration_limit): 2 iterations done and the agent has not said for good that it is done";
    let busy = "END exhausted (iteration_limit): 2 iterations done and the agent says that it is done, but still changes files";
    assert_eq!(end("agent-heard claim=COMPLETE,exit,signs=2 / saved / changed 3"), busy);
    assert_eq!(end("agent-heard claim=IN_PROGRESS / saved / changed 3"), not_said);
    assert_eq!(end("agent-heard claim=COMPLETE,signs=2 / saved / changed 0"), not_said);
}

#[test]
fn who_says_that_it_is_blocked_or_failed_is_not_done_whatever_else_it_says() {
    for status in ["ERROR", "BLOCKED"] {
        let mut story = story(&[("max_no_progress", "9")]);
        story.times(3, &format!("agent-heard claim={status},exit,signs=2 / saved / changed 0"));
        assert!(!story.told.contains("END claimed"), "{}", story.told);
    }
}

// req: A-26 partly: how a run ends by its tag
#[test]
fn the_tag_of_the_task_ends_it_once_and_no_other_does() {
    let mut tag = story(&[]);
    tag.say("agent-heard promise=COMPLETE / saved / changed 3");
    let end = "END claimed (goal_complete): the agent says <promise>COMPLETE</promise>; nothing was verified";
    assert_eq!(tag.last(), end);
    let own = [("completion_promise", "SHIPPED")];
    for (settings, said) in [(&[][..], "SHIPPED"), (&own[..], "COMPLETE"), (&[][..], "complete")] {
        let mut other = story(settings);
        other.say(&format!("agent-heard promise={said} / saved / changed 3"));
        goes_on(&other);
    }
    let mut own = story(&own);
    own.say("agent-heard promise=SHIPPED / saved / changed 3");
    assert!(own.last().starts_with("END claimed"), "{}", own.told);
    let mut failed = story(&[]);
    failed.say("agent-heard promise=COMPLETE crash / saved / changed 3");
    goes_on(&failed);
}

// req: A-26 partly: how a run ends by its tag
// req: C-20
#[test]
fn where_a_gate_is_no_word_ends_it_and_the_agent_is_told_that_it_is_not_done() {
    let mut story = Story::new(&[("max_iterations", "9"), ("strict_completion", "false")]);
    story.say("opened / saved / fail");
    for _ in 0..4 {
        story.say("agent-heard claim=COMPLETE,exit,signs=9 promise=COMPLETE / saved / changed 1 / fail");
        assert!(story.last().ends_with("telling not_done"), "{}", story.told);
    }
    story.say("agent-heard claim=IN_PROGRESS / saved / changed 1 / pass / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

#[test]
fn a_gate_that_is_only_watched_is_no_gate() {
    let mut story = story(&[("gate", "lint[watch]=cargo clippy")]);
    story.say("pass");
    assert_eq!(story.last(), "agent 1.1", "a watched gate that holds ends nothing");
    story.times(2, &format!("{DONE} / fail"));
    assert!(story.last().starts_with("END claimed"), "{}", story.told);
}

#[test]
fn a_claim_comes_before_a_stop_a_cap_and_the_breaker() {
    for (settings, last) in [
        (&[][..], "agent-heard claim=COMPLETE,exit / stop / saved / changed 0"),
        (&[("max_iterations", "2")][..], DONE),
        (&[("max_no_progress", "2")][..], DONE),
        (&[("max_tokens", "10"), ("worst_tokens", "5")][..], DONE),
    ] {
        let mut story = story(settings);
        story.say(DONE).say(last);
        assert!(story.last().starts_with("END claimed"), "{settings:?}: {}", story.told);
    }
}

#[test]
fn a_claim_of_an_iteration_that_somebody_undid_says_nothing() {
    let settings = [("max_iterations", "9"), ("promise", ""), ("no_promise", "true"), ("strict_completion", "false")];
    let mut story = Story::checkpointed(&settings);
    story.say("opened / saved-as initial / saved / rollback initial");
    story.say("agent-heard claim=COMPLETE,exit,signs=2 promise=COMPLETE / saved-as iter-001 / changed 2");
    story.say("rolled-back initial / saved");
    assert_eq!(story.last(), "agent 2.1 telling {rolled_back:{to:initial}}");
}

#[test]
fn a_status_block_that_was_left_out_is_asked_for_once_and_is_no_iteration() {
    let mut story = talking(&[]);
    story.say("agent-heard session=s1");
    assert_eq!(story.last(), "agent 1.2 in s1 only for its status telling {status_missing:{why:null}}");
    story.say("agent-heard session=s1 claim=COMPLETE,exit / saved / changed 0");
    assert_eq!(story.last(), "agent 2.1");
    assert_eq!((story.state.iterations_done(), story.state.budget.spent().calls), (1, 3));
    assert_eq!(story.state.progress.streaks().missing_status, 0);
    assert_eq!(story.state.progress.streaks().completion, 1, "what it says then counts");
    story.say("agent-heard session=s2 unreadable=twice");
    assert_eq!(story.last(), "agent 2.2 in s2 only for its status telling {status_missing:{why:twice}}");
    story.say("agent-heard session=s2");
    assert_eq!(story.last(), "checkpoint iter-002", "it is not asked a third time");
    story.say("saved / changed 0");
    assert_eq!(story.state.progress.streaks().missing_status, 1);
}

#[test]
fn a_tag_that_comes_with_the_status_counts_and_a_limit_then_is_not_waited_for() {
    let mut tag = talking(&[]);
    tag.say("agent-heard session=s1 / agent-heard session=s1 promise=COMPLETE / saved / changed 1");
    assert!(tag.last().starts_with("END claimed"), "{}", tag.told);
    let mut limited = talking(&[]);
    limited.say("agent-heard session=s1 / agent-heard rate_limit=999999999 session=s1");
    assert_eq!(limited.last(), "checkpoint iter-001");
    let mut blocked = talking(&[("on_blocked", "stop")]);
    blocked.say("agent-heard session=s1 / agent-heard session=s1 claim=BLOCKED / saved / changed 1");
    assert!(blocked.last().starts_with("END blocked"), "{}", blocked.told);
}

#[test]
fn no_block_is_asked_for_where_a_gate_is_nothing_can_be_asked_or_nobody_wants_it() {
    let silent = "agent-heard session=s1";
    let mut gated = Story::new(&[("agent", "claude")]);
    gated.say("opened / saved / fail").say(silent);
    assert_eq!(gated.last(), "checkpoint iter-001");
    let mut custom = story(&[]);
    custom.say(silent);
    assert_eq!(custom.last(), "checkpoint iter-001");
    for said in
        ["", "session=s1 crash", "session=s1 claim=IN_PROGRESS", "session=s1 promise=x", "session=s1 asked=Which?"]
    {
        let mut other = talking(&[]);
        other.say(&format!("agent-heard {said}"));
        assert_eq!(other.last(), "checkpoint iter-001", "{said}");
    }
    let mut off = talking(&[("status_block", "none")]);
    off.say(silent);
    assert_eq!(off.last(), "checkpoint iter-001");
    for asked in ["stop", "pause"] {
        let mut person = talking(&[]);
        person.say(asked).say(silent);
        assert_eq!(person.last(), "checkpoint iter-001", "{asked}: the iteration is finished first");
    }
}

#[test]
fn no_block_is_asked_for_past_a_cap() {
    for cap in [("max_cost", "0.01"), ("max_tokens", "10")] {
        let mut story = talking(&[cap, ("worst_cost", "1.00")]);
        story.say("agent-heard session=s1");
        assert_eq!(story.last(), "checkpoint iter-001", "{cap:?}");
        story.say("saved / changed 1");
        assert!(story.last().starts_with("END exhausted (budget_limit)"), "{}", story.told);
    }
    let mut hour = talking(&[("max_calls_per_hour", "1")]);
    hour.say("granted 1 / agent-heard session=s1 / denied calls_per_hour 5000");
    assert_eq!(hour.last(), "checkpoint iter-001", "nobody waits an hour for a status: {}", hour.told);
    hour.say("saved / changed 1 / denied calls_per_hour 5000");
    assert_eq!(hour.last(), "hold calls 5000");
}

// req: B-07 partly: without loopr's own keys
#[test]
fn an_agent_that_is_blocked_asks_or_ends_it() {
    let blocked = "agent-heard claim=BLOCKED,summary=no_key / saved / changed 1";
    let mut asks = story(&[]);
    asks.say(blocked);
    assert_eq!(asks.last(), "agent 2.1 telling {nobody_answers:{question:no key}}");
    let mut stops = story(&[("on_blocked", "stop")]);
    stops.say(blocked);
    assert_eq!(stops.last(), "END blocked (agent_blocked): the agent says that it is blocked: no key");
    let mut silent = story(&[("on_blocked", "stop")]);
    silent.say("agent-heard claim=BLOCKED / saved / changed 1");
    assert_eq!(silent.last(), "END blocked (agent_blocked): the agent says that it is blocked");
    let mut gated = Story::new(&[("on_blocked", "stop")]);
    gated.say("opened / saved / fail").say(blocked).say("pass / certified");
    assert!(gated.last().starts_with("END verified"), "a gate that holds comes first: {}", gated.told);
}

#[test]
fn a_blocked_run_that_is_opened_again_goes_on() {
    let mut story = story(&[("on_blocked", "stop")]);
    story.say("agent-heard claim=BLOCKED / saved / changed 1 / reopened");
    assert_eq!(story.last(), "agent 2.1");
}

#[test]
fn a_claim_about_a_state_that_was_given_up_for_the_best_one_is_not_inherited() {
    let settings = [
        ("max_iterations", "1"),
        ("promise", ""),
        ("no_promise", "true"),
        ("keep", "best"),
        ("breaker_reset", "manual"),
    ];
    let mut story = Story::checkpointed(&[&settings[..], &[("gate", "lint[watch]=x")]].concat());
    story.say("opened / saved-as initial / pass / saved / agent-heard claim=COMPLETE,exit / saved-as iter-001 / changed 0 / fail");
    assert_eq!(story.last(), "rollback to initial, undone by undo-1", "{}", story.told);
    story.say("rolled-back initial / reopened max_iterations=9 / fail / saved");
    story.say("agent-heard claim=COMPLETE,exit / saved-as iter-002 / changed 0 / fail");
    assert!(story.state.over.is_none(), "{}", story.told);
}
