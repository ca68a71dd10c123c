//! What may be spent: money and tokens of a run, calls in an hour, and the day of all runs.
use loop_core::machine::consult;
use loop_core::policy::reserve::{Cap, LedgerId};
use loop_core::run::wanted;
use loop_core::run::{HoldCause, Order};

use crate::play::Story;

/// A loop that only its caps can end, up to what follows the baseline.
fn story(settings: &[(&str, &str)]) -> Story {
    let base = [("max_iterations", "unlimited"), ("breaker", "off"), ("worst_cost", "0.50"), ("worst_tokens", "500")];
    let mut story = Story::new(&[&base[..], settings].concat());
    story.say("opened / saved / fail");
    story
}

fn costs(told: &str) -> String {
    format!("agent-heard {told} / saved / changed 1 / fail")
}

#[test]
fn money_that_was_told_ends_the_loop_when_it_is_used_up() {
    let mut story = story(&[("max_cost", "1.00")]);
    story.times(2, &costs("cost=400000"));
    assert_eq!(story.last(), "agent 3.1");
    story.say(&costs("cost=400000"));
    assert_eq!(story.last(), "END exhausted (budget_limit): $1.20 of $1.00 spent");
    let mut exactly = self::story(&[("max_cost", "1.00")]);
    exactly.times(2, &costs("cost=500000"));
    assert!(exactly.last().starts_with("END exhausted (budget_limit): $1.00 of $1.00"), "{}", exactly.told);
}

#[test]
fn a_call_that_tells_nothing_counts_as_the_worst_case_and_that_is_said() {
    let mut story = story(&[("max_cost", "1.00")]);
    story.say(&costs("cost=10000")).say(&costs("tokens=9"));
    assert_eq!(story.last(), "agent 3.1");
    story.say(&costs(""));
    assert_eq!(
        story.last(),
        "END exhausted (budget_limit): $1.01 of $1.00 counted: $0.01 reported, and 2 of 3 calls did not report its cost and count as $0.50 each (--worst-cost)"
    );
}

#[test]
fn a_call_that_tells_nothing_counts_as_much_as_the_dearest_call_so_far() {
    // UR-A9
    let mut story = story(&[("max_cost", "1.00"), ("worst_cost", ""), ("max_tokens", "900"), ("worst_tokens", "")]);
    story.say(&costs("cost=100000 tokens=50")).say(&costs("cost=200000 tokens=90")).say(&costs(""));
    assert_eq!(story.last(), "agent 4.1");
    let settings = story.state.settings.shown();
    assert_eq!((story.state.cost_micros(settings), story.state.tokens(settings)), (500_000, 230));
}

#[test]
fn where_no_cost_is_known_a_call_counts_as_no_more_than_the_whole_limit_and_is_not_called_spent() {
    // UR-A9
    let mut story = story(&[("max_cost", "0.10"), ("worst_cost", "")]);
    story.say(&costs(""));
    assert_eq!(
        story.last(),
        "END exhausted (budget_limit): $0.10 of $0.10 counted: $0.00 reported, and 1 of 1 calls did not report its \
         cost and count as $0.10 each (--worst-cost)"
    );
}

#[test]
fn tokens_end_the_loop_in_the_same_way() {
    let mut told = story(&[("max_tokens", "1000")]);
    told.say(&costs("tokens=999"));
    assert_eq!(told.last(), "agent 2.1");
    told.say(&costs("tokens=1"));
    assert_eq!(told.last(), "END exhausted (budget_limit): 1000 of 1000 tokens used");
    let mut untold = story(&[("max_tokens", "1000")]);
    untold.times(2, &costs("cost=1"));
    assert_eq!(
        untold.last(),
        "END exhausted (budget_limit): 1000 of 1000 tokens counted: 0 reported, and 2 of 2 calls did not report its tokens and count as 500 each (--worst-tokens)"
    );
}

#[test]
fn an_attempt_that_was_killed_lost_or_failed_counts_as_the_worst_case() {
    for after in ["reopened", "lost / reopened", "failed no handle / reopened"] {
        let mut story = story(&[("max_cost", "1.00")]);
        story.say(after).say("cleaned / saved / fail");
        assert_eq!(story.last(), "agent 1.2 telling {interrupted:{attempt:1}}", "{after}");
        let settings = story.state.settings.shown();
        assert_eq!((story.state.cost_micros(settings), story.state.tokens(settings)), (500_000, 500), "{after}");
        story.say("opened / cleaned / saved / fail");
        assert!(story.last().starts_with("END exhausted (budget_limit): $1.00 of $1.00"), "{after}: {}", story.told);
    }
}

#[test]
fn an_attempt_that_came_to_nothing_is_paid_too() {
    let mut story = story(&[("max_cost", "1.00")]);
    story.say("agent-heard rate_limit=900 cost=1000000 / saved / fail");
    assert!(story.last().starts_with("END exhausted (budget_limit)"), "no wait is worth it then: {}", story.told);
}

/// CLI-D2: who is not signed in must not be told to raise a limit.
#[test]
fn only_a_person_can_fix_a_login_no_credit_or_a_missing_model_and_that_outranks_money() {
    for (failure, words) in [("auth", "is not signed in"), ("billing", "has no credit"), ("model", "has no model")] {
        let mut story = story(&[("max_cost", "0.10")]);
        story.say(&costs(failure));
        assert!(story.last().starts_with("END unable") && story.last().contains(words), "{}", story.told);
    }
}

// req: C-14 partly: how the run ends
#[test]
fn a_budget_of_the_agents_own_ends_it_and_it_can_be_gone_on_with() {
    let mut story = story(&[]);
    story.say(&costs("budget"));
    assert!(story.last().starts_with("END exhausted (budget_limit): the agent stopped at the limit"), "{}", story.told);
    story.say("reopened / fail");
    assert_eq!(story.last(), "agent 2.1", "somebody gave it more");
}

#[test]
fn kept_gates_outrank_money_and_money_outranks_calls_and_the_breaker() {
    let mut kept = story(&[("max_cost", "0.10")]);
    kept.say("agent-heard cost=900000 / saved / changed 1 / pass / certified");
    assert!(kept.last().starts_with("END verified"), "{}", kept.told);
    let mut money = story(&[("max_cost", "0.10"), ("breaker", "on"), ("max_no_progress", "1")]);
    money.say("agent-heard cost=900000 / saved / changed 0 / fail");
    assert!(money.last().starts_with("END exhausted (budget_limit)"), "{}", money.told);
}

// req: C-09 partly: the run's own part
#[test]
fn a_full_hour_is_waited_for_and_the_call_asked_for_again() {
    let mut story = story(&[("max_calls_per_hour", "3")]);
    assert_eq!(story.last(), "reserve");
    story.say("granted 7");
    assert_eq!(story.last(), "agent 1.1 reserved 7");
    story.say("agent-ok / saved / changed 1 / fail / denied calls_per_hour 5000");
    assert_eq!(story.last(), "hold calls 5000");
    story.say("deadline");
    assert_eq!(story.last(), "hold calls 5000", "its time has not come");
    story.wait(5000).say("deadline / held");
    assert_eq!(story.last(), "reserve");
    story.say("granted 8");
    assert_eq!(story.last(), "agent 2.1 reserved 8");
}

#[test]
fn a_wait_for_a_call_is_never_longer_than_an_hour_nor_nothing() {
    for (said, ms) in [("", 15_000), (" 0", 1), (" 99999999", 3_600_000), (" 3600000", 3_600_000)] {
        let mut story = story(&[("max_calls_per_hour", "3")]);
        story.say(&format!("denied calls_per_hour{said}"));
        assert_eq!(story.last(), format!("hold calls {ms}"), "{said:?}");
    }
}

#[test]
fn a_wait_for_a_call_ends_by_a_person_and_by_the_time_of_the_loop() {
    let mut stopped = story(&[("max_calls_per_hour", "3")]);
    stopped.say("denied calls_per_hour 5000 / stop / held");
    assert!(stopped.last().starts_with("END stopped"), "{}", stopped.told);
    let mut resumed = story(&[("max_calls_per_hour", "3")]);
    resumed.say("denied calls_per_hour 5000 / resume / held");
    assert_eq!(resumed.last(), "reserve");
    let mut time = story(&[("max_calls_per_hour", "3"), ("max_time", "10s")]);
    time.say("denied calls_per_hour 3600000");
    let end = "END exhausted (time_limit): the next call that --max-calls-per-hour allows is past the time of the loop";
    assert_eq!(time.last(), end);
    let mut just = story(&[("max_calls_per_hour", "3"), ("max_time", "10s")]);
    let left = consult(|deciding| just.state.time_left(deciding)).unwrap() - 10;
    just.say(&format!("denied calls_per_hour {left}"));
    assert_eq!(just.last(), format!("hold calls {left}"));
    just.wait(10_000).say("deadline / held");
    assert!(just.last().starts_with("END exhausted (time_limit): time limit of 10s reached"), "{}", just.told);
}

#[test]
fn another_limit_ends_the_wait_for_a_call_and_nothing_else_does() {
    let mut story = story(&[("max_calls_per_hour", "3")]);
    story.say("denied calls_per_hour 5000 / set timeout=9m");
    assert_eq!(story.last(), "hold calls 5000");
    story.say("set max_calls_per_hour=9 / held");
    assert_eq!(story.last(), "reserve");
    let keys = Cap::ALL.map(Cap::key);
    let of_day = ["max_calls_per_day", "max_cost_per_day", "max_tokens_per_day", "opus_daily_limit"];
    assert_eq!(keys[0], "max_calls_per_hour");
    assert_eq!(keys[1..], of_day);
}

#[test]
fn after_a_wait_for_a_call_the_workspace_is_compared_again_and_after_a_crash_the_call_asked_for() {
    let mut story = Story::checkpointed(&[("max_calls_per_hour", "3")]);
    story.say("opened / saved-as initial / fail / saved / denied calls_per_hour 5000 / resume / held");
    assert_eq!(story.last(), "checkpoint initial+", "somebody may have worked on it");
    story.say("saved / denied calls_per_hour 5000 / opened / saved");
    assert_eq!(story.last(), "reserve", "how long it had to wait is another matter now: {}", story.told);
    story.say("granted 4 / opened / cleaned / saved-as interrupted-1.1 / fail");
    assert_eq!(story.last(), "reserve", "a call that was cut off is spent: {}", story.told);
}

#[test]
fn what_the_day_of_all_runs_has_seen_ends_the_loop_and_it_can_be_gone_on_with() {
    for (cap, key, text) in [
        ("calls_per_day", "max_calls_per_day", "made 12 calls today, the most that --max-calls-per-day allows"),
        ("cost_per_day", "max_cost_per_day", "cost $3.50 today; another call could go past --max-cost-per-day"),
        (
            "tokens_per_day",
            "max_tokens_per_day",
            "used 99 tokens today; another call could go past --max-tokens-per-day",
        ),
    ] {
        let mut story = story(&[(key, "9")]);
        story.say(&format!("denied {cap} 5000"));
        assert!(story.last().starts_with("END exhausted (budget_limit): all loops together have "), "{}", story.told);
        assert!(story.last().ends_with(text), "{}", story.last());
        story.say("reopened / fail");
        assert_eq!(story.last(), "reserve");
    }
}

#[test]
fn what_is_asked_of_the_ledger_is_what_is_set_and_the_worst_that_may_come() {
    let mut story = story(&[
        ("max_calls_per_hour", "3"),
        ("max_calls_per_day", "30"),
        ("max_cost_per_day", "20.00"),
        ("max_tokens_per_day", "7000"),
        ("max_cost", "1.20"),
    ]);
    let first = wanted(&story.state, story.state.settings.shown());
    assert_eq!((first.calls_per_hour, first.calls_per_day), (Some(3), Some(30)));
    assert_eq!((first.cost_per_day_micros, first.tokens_per_day), (Some(20_000_000), Some(7000)));
    assert_eq!((first.worst_micros, first.worst_tokens), (500_000, 500));
    story.say("granted 1").say(&costs("cost=1000000"));
    assert_eq!(wanted(&story.state, story.state.settings.shown()).worst_micros, 200_000, "no more than is left");
}

#[test]
fn a_wait_for_a_call_counts_as_time_and_a_pause_does_not() {
    let mut story = story(&[("max_calls_per_hour", "3"), ("max_time", "1h")]);
    story.say("denied calls_per_hour 5000").wait(2000);
    let held = story.state.main_order().map(|(_, open)| open.order.clone());
    assert_eq!(held, Some(Order::Hold { cause: HoldCause::Calls, ms: 5000 }));
    assert!(consult(|deciding| story.state.time_limit(deciding)).is_some());
    assert!(!story.state.is_paused());
}

#[test]
fn a_call_that_was_granted_before_a_pause_or_a_crash_is_asked_for_again() {
    let mut paused = story(&[("max_calls_per_hour", "3")]);
    paused.say("pause / granted 4 / resume / held");
    assert_eq!(paused.last(), "reserve", "it was a call of another hour: {}", paused.told);
    let mut torn = story(&[("max_calls_per_hour", "3")]);
    torn.say("pause / granted 4 / opened");
    assert_eq!(torn.last(), "hold paused");
    torn.say("resume / held");
    assert_eq!(torn.last(), "reserve");
}

#[test]
fn a_call_that_was_granted_before_a_rollback_is_asked_for_again() {
    let mut story = Story::checkpointed(&[("max_calls_per_hour", "3")]);
    story.say(
        "opened / saved-as initial / fail / saved / rollback initial / granted 4 / rolled-back initial / fail / saved",
    );
    assert_eq!(story.last(), "reserve", "{}", story.told);
}

#[test]
fn the_id_of_a_ledger_is_sixteen_digits_and_reads_back_as_itself() {
    let id = LedgerId::from_random(0x2a);
    assert_eq!(serde_json::to_string(&id).unwrap(), "\"000000000000002a\"");
    assert_eq!(LedgerId::parse("000000000000002a"), Some(id));
    assert_eq!(serde_json::from_str::<LedgerId>("\"000000000000002a\"").unwrap(), id);
    for text in ["2a", "+00000000000002a", "00000000000000002a", "000000000000002g", ""] {
        assert_eq!(LedgerId::parse(text), None, "{text}");
    }
}
