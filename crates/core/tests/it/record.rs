//! What people see of breaker, limits, session and claims: folds over the journal.
use loop_core::settings::keys;
use loop_core::time::At;
use loop_core::view::{
    BreakerView, BudgetView, CallsView, Record, RunResult, SessionEventKind, SessionView, Waiting, is_tripped, used,
};

use crate::play::{Story, at, spec};

/// The container profile with an agent that can go on with its conversation, and no time between iterations.
const PROFILE: &[(&str, &str)] = &[
    ("profile", "container"),
    ("agent", "claude"),
    ("agent_cmd", "x"),
    ("delay", "none"),
    ("max_calls_per_hour", "unlimited"),
    ("max_iterations", "50"),
];

fn ungated(more: &[(&str, &str)]) -> Story {
    let settings: Vec<_> = PROFILE.iter().chain(more).copied().collect();
    let mut spec = spec(&settings);
    let origin = spec.settings.origin(keys::promise()).unwrap().clone();
    spec.settings.put(keys::promise(), String::new(), origin);
    Story::of(spec)
}

/// An iteration from this moment on: the agent's words, and how many files changed.
fn iteration(story: &mut Story, ms: u64, heard: &str, files: u32) {
    story.play(&format!("{ms} agent-heard {heard}\n{} saved\n{} changed {files}", ms + 1, ms + 2));
}

#[test]
fn a_trip_a_reset_and_the_counts_that_stood_are_events_of_the_circuit() {
    // req: C-07 partly: counts and reset as people see them
    // req: C-11
    // req: C-17 partly: what is left of it in the journal
    let mut story = ungated(&[]);
    story.play("0 opened\n1 saved");
    for number in 1..=3 {
        iteration(&mut story, number * 1000, "session=s1 claim=IN_PROGRESS,tasks=2,files=1,summary=go_on", 0);
    }
    assert!(is_tripped(&story.state), "{}", story.told);
    let breaker = BreakerView::of(&story.state);
    assert_eq!(
        (breaker.reason, breaker.counts.no_progress, breaker.thresholds.no_progress),
        (Some("no_progress"), 3, Some(3))
    );
    assert_eq!((breaker.counting(), breaker.standing()), ("no progress 3 of 3".to_owned(), "no progress 3".to_owned()));
    story.play("9000 visited loop reset\n9000 reset session");
    let closed = BreakerView::of(&story.state);
    assert_eq!((closed.tripped, closed.reason, closed.counts.no_progress), (false, None, 0));
    let record = Record::of(&story.journal);
    let events = record.events();
    let circuit: Vec<_> = events
        .circuit
        .iter()
        .map(|event| (event.from.name(), event.to.name(), event.reason.as_str(), event.no_progress))
        .collect();
    assert_eq!(
        circuit,
        [("CLOSED", "TRIPPED", "no_progress", 3), ("TRIPPED", "CLOSED", "reset by session", 3)],
        "what stood, not what is left"
    );
    let names: Vec<&str> = events.session.iter().map(|event| event.event.name()).collect();
    assert_eq!(names, ["started", "conversation_began", "loop", "loop", "loop", "ended", "conversation_reset"]);
    let claims = record.claims();
    assert_eq!((claims.tasks, claims.files, claims.recommendation.as_deref()), (6, 3, Some("go on")));
    let result = RunResult::of(&story.state).unwrap().with(claims);
    assert_eq!((result.tasks_claimed, result.rate_limit_hit, result.budget_hit), (6, false, false));
    story.play("9100 reopened");
    assert!(!is_tripped(&story.state) && story.state.over.is_none(), "it goes on: {}", story.told);
}

#[test]
fn the_newest_fifty_events_are_shown_whatever_the_length_of_the_loop() {
    // req: C-11
    let mut story = ungated(&[("max_iterations", "200"), ("max_identical_output", "unlimited")]);
    story.play("0 opened\n1 saved");
    for number in 1..=120 {
        iteration(&mut story, number * 10, "session=s1 claim=IN_PROGRESS,files=1", 1);
    }
    let events = Record::of(&story.journal).events();
    assert_eq!(events.session.len(), 50, "{}", story.told);
    assert_eq!(events.session.last().map(|event| event.loop_count), Some(120));
    assert_eq!(events.session.first().map(|event| event.loop_count), Some(71));
}

#[test]
fn a_conversation_past_its_time_is_an_event_and_the_view_says_so() {
    // req: C-10 partly: the expiry of a conversation
    let mut story = ungated(&[("session_expiry", "2s"), ("max_no_progress", "unlimited")]);
    story.play("0 opened\n1 saved");
    iteration(&mut story, 1000, "session=s1 claim=IN_PROGRESS", 1);
    let view = SessionView::of(&story.state, at(1100)).unwrap();
    assert_eq!((view.id.as_str(), view.expired, view.continues), ("s1", false, true));
    assert!(SessionView::of(&story.state, at(3100)).unwrap().expired);
    assert!(story.told.contains("agent 2.1 in s1"), "{}", story.told);
    iteration(&mut story, 3500, "session=s1 claim=IN_PROGRESS", 1);
    assert!(story.told.ends_with("agent 3.1\n"), "a new one: {}", story.told);
    let events = Record::of(&story.journal).events();
    let expired = events.session.iter().find(|event| event.event == SessionEventKind::ConversationExpired).unwrap();
    assert_eq!(expired.status.as_deref(), Some("s1"));
}

#[test]
fn limits_and_what_is_used_of_them_are_told_and_warned_of_once() {
    let mut story = ungated(&[("max_cost", "1.00"), ("max_tokens", "1000"), ("max_no_progress", "unlimited")]);
    story.play("0 opened\n1 saved");
    let before = used(&story.state, at(1));
    iteration(&mut story, 1000, "session=s1 claim=IN_PROGRESS cost=850000 tokens=100", 1);
    let after = used(&story.state, at(1100));
    let warned: Vec<_> = after.iter().filter(|one| one.warns(&before)).map(|one| (one.setting, one.share)).collect();
    assert_eq!(warned, [("max_cost", 85)]);
    assert!(after.iter().all(|one| !one.warns(&after)), "once");
    let budget = BudgetView::of(&story.state, at(1100));
    assert_eq!(
        (budget.cost_usd, budget.max_cost_usd, budget.tokens, budget.max_tokens),
        (Some(0.85), Some(1.0), Some(100), Some(1000))
    );
    assert_eq!(budget.warnings, ["max_cost"]);
    let free = CallsView::of(&story.state, at(1100));
    assert_eq!((free.left, free.limit, free.last_hour, free.total), (-1, None, None, 2));
}

#[test]
fn calls_of_the_hour_are_left_or_waited_for_until_a_moment() {
    // req: C-09 partly: what people see of it
    let mut story = ungated(&[("max_calls_per_hour", "3"), ("max_no_progress", "unlimited")]);
    story.play("0 opened\n1 saved\n2 granted 7");
    let calls = CallsView::of(&story.state, at(3));
    assert_eq!((calls.left, calls.limit, calls.last_hour), (2, Some(3), Some(1)));
    let later = At { boot_ms: at(3).boot_ms + 7_200_000, wall_ms: at(3).wall_ms + 7_200_000, ..at(3) };
    assert_eq!(CallsView::of(&story.state, later).left, 3, "an hour is over by then");
    iteration(&mut story, 1000, "session=s1 claim=IN_PROGRESS", 1);
    story.play("2000 denied calls_per_hour 60000");
    let calls = CallsView::of(&story.state, at(2100));
    assert_eq!((calls.left, calls.last_hour), (0, Some(3)), "{}", story.told);
    assert!(calls.next_free_at.is_some());
    let wait = Waiting::of(&story.state).unwrap();
    assert!(wait.why.starts_with("3 calls were made in the last hour"), "{}", wait.why);
    let record = Record::of(&story.journal);
    assert!(record.claims().rate_limit_hit);
}

#[test]
fn a_provider_s_limit_is_a_rate_limit_and_a_spent_budget_is_not() {
    // req: C-14
    let mut story = ungated(&[]);
    story.play("0 opened\n1 saved\n1000 agent-heard rate_limit=5000 session=s1");
    assert!(Record::of(&story.journal).claims().rate_limit_hit);
    let mut story = ungated(&[]);
    story.play("0 opened\n1 saved\n1000 agent-heard budget session=s1 claim=IN_PROGRESS\n1001 saved\n1002 changed 1");
    let record = Record::of(&story.journal);
    let result = RunResult::of(&story.state).map(|result| result.with(record.claims()));
    let hits = result.map(|result| (result.rate_limit_hit, result.budget_hit));
    assert!(hits == Some((false, true)) || story.state.over.is_none(), "{}", story.told);
}
