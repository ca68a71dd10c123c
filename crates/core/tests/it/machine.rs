//! What the driver of the host asks of a run: its fold, what a fact asks for, when it wakes up and when it ends.
use loop_core::machine::{Act, Machine, fold, is_due};
use loop_core::run::*;

use crate::play::{Story, at};

const DONE: &str = "opened / saved / fail / agent-ok / saved / measured / pass / certified";

fn told(words: &str) -> Story {
    let mut story = Story::new(&[("agent", "claude")]);
    story.say(words);
    story
}

fn facts(story: &Story) -> Vec<&Fact> {
    story.journal.iter().map(|entry| &entry.fact).collect()
}

#[test]
fn the_fold_of_a_journal_is_the_state_of_the_run() {
    let story = told(DONE);
    assert_eq!(fold::<Run>(facts(&story)), story.state);
}

#[test]
fn a_run_that_waits_for_its_provider_is_due_at_that_moment_of_the_wall_clock() {
    let story = told("opened / saved / fail / agent-heard rate_limit=3000");
    let until = story.state.waiting().unwrap().until_ms;
    assert_eq!(Run::next_wall_ms(&story.state), Some(until));
    // The machine slept: its own clock stood still.
    let mut woken = at(40);
    woken.wall_ms = until;
    assert!(is_due::<Run>(&story.state, woken));
    woken.wall_ms -= 1;
    assert!(!is_due::<Run>(&story.state, woken));
    assert_eq!(Run::next_wall_ms(&told("opened / saved / fail").state), None);
}

#[test]
fn orders_are_begun_and_cancelled_orders_are_ended_and_nothing_else_asks_for_anything() {
    let story = told("opened / saved / fail / abort / agent-by-us");
    let acts: Vec<String> = facts(&story).into_iter().filter_map(Run::act).map(|act| format!("{act:?}")).collect();
    let begun = |act: &&String| act.starts_with("Begin");
    assert_eq!(acts.iter().filter(begun).count(), 3, "checkpoint, gate, agent: {acts:?}");
    let cancelled = |entry: &Entry| if let Fact::OrderCancelled { id, .. } = &entry.fact { Some(*id) } else { None };
    let agent = story.journal.iter().find_map(cancelled);
    assert_eq!(facts(&story).into_iter().filter_map(Run::act).next_back(), agent.map(Act::Cancel));
}

#[test]
fn what_must_not_be_lost_is_synced_before_anything_follows_from_it() {
    let story = told(DONE);
    let synced: Vec<&str> = facts(&story)
        .into_iter()
        .filter(|fact| Run::needs_sync(fact))
        .map(|fact| match fact {
            Fact::Happened(Input { event: Event::Created(_), .. }) => "created",
            Fact::Ordered { order: Order::RunAgent { .. }, .. } => "agent ordered",
            Fact::Happened(Input { event: Event::Answered { answer: Answer::AgentEnded(_), .. }, .. }) => "agent ended",
            Fact::Concluded { .. } => "end",
            Fact::Happened(_) | Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) => "other",
        })
        .collect();
    assert_eq!(synced, ["created", "agent ordered", "agent ended", "end"]);
}

#[test]
fn only_an_end_that_says_verified_needs_evidence_before_it() {
    let verified = told(DONE);
    let needs = |story: &Story| facts(story).into_iter().filter(|fact| Run::needs_evidence(fact)).count();
    assert_eq!(needs(&verified), 1);
    assert_eq!(needs(&told("opened / saved / fail / abort / agent-by-us")), 0);
}

#[test]
fn the_moment_of_an_event_is_the_one_at_which_it_is_written_down() {
    let story = told("opened");
    let mut event = story.journal[0].fact.clone();
    Run::set_time(&mut event, at(77));
    assert!(matches!(event, Fact::Happened(Input { at: then, .. }) if then == at(77)));
}

#[test]
fn a_driver_rests_when_the_run_is_over_or_its_one_request_is_done_and_no_order_is_open() {
    let mut story = Story::checkpointed(&[("notify", "true")]);
    story.say("opened");
    assert!(!Run::is_at_rest(&story.state), "it runs");
    story.say("saved-as initial / abort / gate-by-us");
    assert!(!Run::is_at_rest(&story.state), "its end is still to be told: {}", story.told);
    story.say("notified");
    assert!(Run::is_at_rest(&story.state), "{}", story.told);
    let mut request = Story::checkpointed(&[]);
    request.say("opened / saved-as initial / visited");
    assert!(Run::is_at_rest(&request.state), "a run that is not over, and a command that has nothing to do");
    request.say("rollback initial");
    assert!(!Run::is_at_rest(&request.state), "{}", request.told);
    request.say("cleaned / rolled-back initial");
    assert!(Run::is_at_rest(&request.state), "{}", request.told);
}

#[test]
fn a_command_that_goes_back_tries_it_once_and_not_where_a_person_stops_it() {
    let visited = || {
        let mut story = Story::checkpointed(&[("max_iterations", "1")]);
        story.say(
            "opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1 / fail / visited",
        );
        story
    };
    let mut failed = visited();
    failed.say("rollback initial / failed no room");
    assert_eq!(failed.last(), "rollback to initial, undone by undo-1", "{}", failed.told);
    assert!(failed.state.orders.is_empty(), "it is not tried again: {}", failed.told);
    let mut stopped = visited();
    stopped.say("rollback initial / abort / failed stopped");
    assert!(stopped.state.orders.is_empty(), "{}", stopped.told);
    let mut blocked = visited();
    blocked.say("rollback initial / blocked the disk is full");
    assert!(blocked.state.orders.is_empty(), "{}", blocked.told);
    let mut nothing = visited();
    nothing.say("accept");
    assert!(nothing.state.orders.is_empty(), "nobody asked to go back: {}", nothing.told);
}

#[test]
fn a_command_that_was_stopped_or_cannot_end_old_processes_does_not_begin_to_go_back() {
    let mut stopped = Story::checkpointed(&[]);
    stopped.say("opened / saved-as initial / abort / gate-by-us / visited / abort / rollback initial");
    assert!(stopped.state.orders.is_empty(), "{}", stopped.told);
    let mut unclean = Story::checkpointed(&[]);
    unclean.say("opened / saved-as initial / fail / saved / started 42 / visited / rollback initial");
    assert_eq!(unclean.last(), "clean-up [42]");
    unclean.say("lost");
    assert!(unclean.state.orders.is_empty(), "{}", unclean.told);
}

#[test]
fn what_people_changed_in_protected_files_while_a_run_held_is_taken_before_the_next_agent() {
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 2 / saved-as initial / pause / fail / guarded 2 / resume / held / saved");
    assert_eq!(story.last(), "guard people");
    story.say("guarded 2");
    assert_eq!(story.last(), "agent 1.1");
}

#[test]
fn a_wait_for_a_free_call_ends_when_its_limit_is_set_anew() {
    let mut story = Story::new(&[("max_calls_per_hour", "3")]);
    story.say("opened / saved / fail / denied calls_per_hour 5000");
    assert_eq!(story.last(), "hold calls 5000");
    story.say("set max_iterations=5");
    assert_eq!(story.last(), "hold calls 5000");
    story.say("set max_calls_per_hour=9");
    assert_eq!(story.last(), "cancel hold calls 5000: request");
}
