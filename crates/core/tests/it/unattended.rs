//! A failure of the host where no person can see it: the wait for one has an end.
use loop_core::run::{RunSpec, next_deadline};

use crate::play::{Story, at, spec};

const MINUTE: u64 = 60_000;

/// A run whose disk is full when its first iteration is to be saved.
fn blocked(settings: &[(&str, &str)], unattended: bool) -> Story {
    let mut story = Story::of(RunSpec { backend: "git".to_owned(), unattended, ..spec(settings) });
    story.play("0 opened\n1 saved-as initial\n2 fail\n3 saved\n10 agent-ok\n20 blocked the disk is full");
    story
}

fn due_in(story: &Story) -> Option<u64> {
    next_deadline(&story.state).map(|deadline| deadline.due_in_ms(story.state.now))
}

// req: RT-R15
#[test]
fn without_a_terminal_a_failure_of_the_host_ends_the_run_after_half_an_hour() {
    let mut story = blocked(&[], true);
    assert_eq!(story.last(), "hold blocked 1800000");
    assert_eq!(due_in(&story), Some(30 * MINUTE));
    story.play(&format!("{0} deadline\n{0} held", 20 + 30 * MINUTE));
    assert_eq!(
        story.last(),
        "END unable (fatal_error): the disk is full; it was not fixed within 30m, and without a terminal the loop \
         waits no longer"
    );
    assert_eq!(story.state.standing().unwrap().exit_code, 3);
}

// req: RT-R15
#[test]
fn without_a_terminal_the_pause_counts_toward_the_time_of_the_run() {
    let mut story = blocked(&[("max_time", "5m")], true);
    assert_eq!(due_in(&story), Some(5 * MINUTE - 20));
    story.play(&format!("{0} deadline\n{0} held", 5 * MINUTE));
    assert_eq!(
        story.last(),
        "END unable (fatal_error): the disk is full; it was not fixed within the time limit of 5m, and without a \
         terminal the loop waits no longer"
    );
    assert_eq!(story.state.active_ms(at(5 * MINUTE)), 5 * MINUTE);
}

#[test]
fn a_person_who_fixes_it_in_time_has_the_whole_half_hour_again() {
    let mut story = blocked(&[], true);
    story.play(&format!("{0} resume\n{0} held", 20 * MINUTE));
    assert_eq!(story.last(), "checkpoint iter-001");
    story.play(&format!("{} blocked the disk is full", 21 * MINUTE));
    assert_eq!(due_in(&story), Some(30 * MINUTE));
}

#[test]
fn at_a_terminal_it_stays_paused_and_the_time_of_the_run_does_not_pass() {
    let mut story = blocked(&[("max_time", "5m")], false);
    story.play(&format!("{} deadline", 600 * MINUTE));
    assert!(story.state.over.is_none() && story.state.is_paused(), "{}", story.told);
    assert_eq!(story.state.active_ms(at(600 * MINUTE)), 20);
}

#[test]
fn who_resumes_at_a_terminal_makes_it_attended() {
    let mut story = blocked(&[], true);
    story.play(&format!("{0} deadline\n{0} held\n{1} reopened", 20 + 30 * MINUTE, 40 * MINUTE));
    story.play(&format!("{0} blocked the disk is full", 41 * MINUTE));
    assert!(story.state.is_paused(), "{}", story.told);
    assert!(due_in(&story).unwrap() > 1000 * 60 * MINUTE, "{}", story.told);
}
