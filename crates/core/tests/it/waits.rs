//! How long a wait for the provider is.
use loop_core::agent::{Failure, Reset, ResetSource};
use loop_core::machine::consult;
use loop_core::policy::failures::{FailureAction, FailureTable};
use loop_core::policy::wait::{FailedTries, wait_for};
use loop_core::run::{Change, Event, ReasonCode, Request, StreamReport};

use crate::play::{Story, at};

fn failed(count: u32, salt: u64) -> FailedTries {
    FailedTries { now: at(0), count, salt }
}

fn usual() -> FailureTable {
    FailureTable::default()
}

#[test]
fn a_wait_is_what_was_said_and_a_little_more_and_where_nobody_says_it_ever_longer() {
    let heard = |failure: Failure, reset_in: Option<u64>| {
        let reset = reset_in.map(|ms| Reset { at_ms: at(0).wall_ms + ms, source: ResetSource::Provider });
        StreamReport { failure: Some(failure), reset, ..StreamReport::default() }
    };
    let waits = |failure: Failure, reset_in: Option<u64>, tries: u32| {
        let heard = heard(failure, reset_in);
        let all = (0..300_u64)
            .map(|salt| consult(|deciding| wait_for(&heard, failed(tries, salt * 977), &usual(), deciding)).unwrap());
        let all: Vec<u64> = all.map(|wait| wait.until_ms - at(0).wall_ms).collect();
        (all.iter().copied().min().unwrap(), all.iter().copied().max().unwrap())
    };
    let (minute, day) = (60_000, 24 * 3_600_000);
    for (failure, reset_in, tries, least, most) in [
        (Failure::RateLimit, None, 1, 5_050, 6_000),
        (Failure::RateLimit, None, 2, 10_100, 12_000),
        (Failure::RateLimit, None, 30, 15 * minute + 3_000, 16 * minute),
        (Failure::Overload, None, 30, 5 * minute + 3_000, 6 * minute),
        (Failure::Network, None, 30, 5 * minute + 3_000, 6 * minute),
        (Failure::RateLimit, Some(10 * minute), 1, 10 * minute + 250, 10 * minute + 5_000),
        (Failure::RateLimit, Some(10 * minute + 1), 1, 10 * minute + 3_001, 11 * minute + 1),
        (Failure::RateLimit, Some(1_000), 2, 1_250, 6_000),
        (Failure::RateLimit, Some(1_000), 3, 5_000, 6_000),
        (Failure::RateLimit, Some(1_000), 12, 15 * minute, 15 * minute),
        (Failure::RateLimit, Some(32 * day - 1), 1, 32 * day + 2_999, 32 * day + minute - 1),
        (Failure::RateLimit, Some(32 * day), 1, 5_050, 6_000),
        (Failure::RateLimit, Some(0), 1, 5_050, 6_000),
    ] {
        let (shortest, longest) = waits(failure, reset_in, tries);
        assert!(shortest >= least && longest <= most, "{failure:?} {reset_in:?} {tries}: {shortest} to {longest}");
        let spread = most - least;
        assert!(longest - shortest >= spread * 9 / 10, "{failure:?} {reset_in:?} {tries}: {shortest} to {longest}");
    }
    let one = |heard: &StreamReport| consult(|deciding| wait_for(heard, failed(1, 7), &usual(), deciding)).unwrap();
    let tries = [Failure::RateLimit, Failure::Overload, Failure::Network].map(|failure| {
        match consult(|deciding| usual().action(failure, deciding)) {
            FailureAction::Wait { tries_max, .. } => tries_max,
            FailureAction::Next | FailureAction::Stop => 0,
        }
    });
    assert_eq!(tries, [100, 30, 30]);
    assert_eq!(consult(|deciding| wait_for(&heard(Failure::Auth, Some(9)), failed(1, 7), &usual(), deciding)), None);
    let said = StreamReport { error: Some("slow down".to_owned()), ..heard(Failure::Overload, Some(9_000)) };
    assert_eq!(one(&said).why, "the provider is overloaded: slow down");
    let text = Reset { at_ms: at(9_000).wall_ms, source: ResetSource::Text };
    let sources =
        [said.clone(), StreamReport { reset: Some(text), ..said.clone() }, StreamReport { reset: None, ..said }];
    assert_eq!(sources.map(|heard| one(&heard).source.word()), ["provider", "text", "back_off"]);
}

#[test]
fn the_table_of_failures_is_read_line_by_line_and_its_text_is_always_the_same() {
    let table = FailureTable::parse(" refusal stop\n\noverload  wait 90m 50\nauth next").unwrap();
    assert_eq!(table.to_string(), "overload wait 1h30m 50\nauth next\nrefusal stop");
    assert_eq!(FailureTable::parse(&table.to_string()), Ok(table));
    for (text, why) in [
        ("overlaod stop", "there is no class overlaod"),
        ("question stop", "there is no class question"),
        ("auth", "\"auth\" is not a class and what to do"),
        ("auth wait 5m", "\"auth wait 5m\" is not a class and what to do"),
        ("auth wait 5m 0", "\"0\" is not a number of tries from 1 to 10000"),
        ("auth stop\nauth next", "auth stands there twice"),
    ] {
        assert_eq!(FailureTable::parse(text).unwrap_err().why, why, "{text}");
    }
    assert_eq!(FailureTable::parse("overlaod stop").unwrap_err().hint, "did you mean overload?");
}

#[test]
fn what_a_person_set_for_a_class_of_failure_holds() {
    let after = |settings: &[(&str, &str)], heard: &str| {
        let base = [("max_iterations", "unlimited"), ("breaker", "off")];
        let mut story = Story::new(&[&base[..], settings].concat());
        story.say("opened / saved / fail").say(heard);
        story.last().to_owned()
    };
    let iteration = |failure: &str| format!("agent-heard {failure} / saved / changed 1 / fail");
    let refused = after(&[("on_failure", "refusal stop")], &iteration("refusal"));
    assert!(
        refused.contains("END unable") && refused.contains("refused the work, and on_failure says stop"),
        "{refused}"
    );
    assert_eq!(after(&[], &iteration("refusal")), "agent 2.1 telling {agent_failed:{ended:exit 1}}");
    let auth = after(&[("on_failure", "auth next")], &iteration("auth"));
    assert!(auth.starts_with("agent 2.1"), "{auth}");
    let crash = after(&[("on_failure", "crash wait 1m 3")], "agent-heard crash");
    assert!(crash.starts_with("hold limit"), "{crash}");
    let network = after(&[("on_failure", "network stop")], &iteration("network"));
    assert!(network.contains("END unable") && network.contains("was refused by its provider"), "{network}");
}

#[test]
fn only_a_crash_that_is_to_end_a_loop_ends_it_as_one() {
    let code = |class: &str| {
        let mut story = Story::new(&[("on_failure", &format!("{class} stop")), ("breaker", "off")]);
        story.say("opened / saved / fail").say(&format!("agent-heard {class} / saved / changed 1 / fail"));
        story.state.over.unwrap_or_else(|| panic!("{class}")).reason.code
    };
    assert_eq!(code("crash"), ReasonCode::AgentCrashes);
    for class in ["turn_limit", "refusal", "context", "hang"] {
        assert_eq!(code(class), ReasonCode::AgentFailed, "{class}");
    }
}

/// A loop that waits for its provider, after a person set what follows from an overload.
fn while_it_waits(says: &str) -> Story {
    let mut story = Story::new(&[("agent", "claude"), ("breaker", "off")]);
    story.say("opened / saved / fail / agent-heard overload");
    assert!(story.last().starts_with("hold limit"), "{}", story.last());
    let changes = vec![Change::new("on_failure", says.to_owned())];
    story.happen(1000, Event::Requested { request: Request::Set(changes), by: "loop set".to_owned() });
    assert!(story.last().starts_with("cancel hold limit"), "{}", story.last());
    story.say("held");
    story
}

#[test]
fn a_failure_that_is_not_waited_for_any_more_ends_its_wait_and_not_the_loop() {
    let story = while_it_waits("overload next");
    assert!(story.last().starts_with("agent 1.2"), "{}", story.last());
}

#[test]
fn a_failure_that_is_to_stop_the_loop_stops_it_while_it_is_waited_for() {
    let story = while_it_waits("overload stop");
    assert_eq!(
        story.last(),
        "END unable (fatal_error): the provider is overloaded, and on_failure says stop",
        "{}",
        story.last()
    );
    assert_eq!(story.state.over.unwrap().reason.code, ReasonCode::ProviderDown);
}

#[test]
fn a_wait_that_still_holds_goes_on_after_another_class_was_set() {
    let story = while_it_waits("network next");
    assert!(story.last().starts_with("hold limit"), "{}", story.last());
}

#[test]
fn an_agent_that_wrote_nothing_until_its_time_limit_hangs_also_where_a_hang_is_not_waited_for() {
    let after = |says: &str, heard: &str| {
        let mut story = Story::new(&[("agent", "claude"), ("timeout", "2s"), ("on_failure", says), ("breaker", "off")]);
        story.say("opened / saved / fail").wait(3000).say("deadline").say(heard).say("saved / changed 1 / fail");
        story
    };
    let stopped = after("hang stop", "agent-heard by-us tools=0");
    assert!(stopped.last().contains("showed no sign of work, and on_failure says stop"), "{}", stopped.last());
    let next = after("hang next", "agent-heard by-us tools=0");
    assert!(next.last().starts_with("agent 2.1"), "{}", next.last());
    let worked = after("hang stop", "agent-heard by-us tools=2");
    assert!(worked.last().starts_with("agent 2.1"), "{}", worked.last());
}
