//! The fold that people read.
use loop_core::view::{AttemptOutcome, History, IterationOutcome, Liveness, Row, RunResult, public_event};

use crate::play::{Story, at};

const SCRIPT: &str = "0 opened\n1 saved\n2 fail\n1000 agent-ok\n1001 saved\n1002 changed 2\n1003 fail\n\
                      2000 started 42\n5000 reopened\n5001 cleaned\n5002 saved\n5003 fail\n\
                      6000 agent-exit 1\n6001 saved\n6002 measured\n6003 pass\n6003 certified";

fn told() -> Story {
    let mut story = Story::new(&[]);
    story.play(SCRIPT);
    story
}

#[test]
fn history_counts_from_one_keeps_attempts_and_has_the_baseline_beside() {
    // req: D-09 partly: without --diff
    let mut history = History::new();
    told().journal.iter().for_each(|entry| history.apply(entry));
    expect_test::expect_file!["history.json"].assert_eq(&serde_json::to_string_pretty(&history).unwrap());
}

#[test]
fn an_iteration_in_progress_stands_in_the_history_with_its_attempt() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail");
    let mut history = History::new();
    story.journal.iter().for_each(|entry| history.apply(entry));
    let row = &history.iterations[0];
    assert_eq!((row.outcome, row.promise, row.duration_seconds), (IterationOutcome::Running, None, None));
    assert_eq!(row.attempts[0].outcome, AttemptOutcome::Running);
    story.play("9 agent-ok");
    let mut gating = History::new();
    story.journal.iter().for_each(|entry| gating.apply(entry));
    assert_eq!(
        (gating.iterations[0].outcome, gating.iterations[0].duration_seconds),
        (IterationOutcome::Running, None)
    );
    history.settle();
    let row = &history.iterations[0];
    assert_eq!((row.outcome, row.attempts[0].outcome), (IterationOutcome::Interrupted, AttemptOutcome::Interrupted));
}

#[test]
fn a_row_is_running_while_a_driver_holds_it_and_crashed_when_none_does() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail");
    let live = Row::of(&story.state, Liveness::Driven, at(60_000)).unwrap();
    assert_eq!((live.status.name(), live.resumable, live.elapsed_seconds), ("running", false, 60.0));
    let dead = Row::of(&story.state, Liveness::Free, at(60_000)).unwrap();
    assert_eq!((dead.status.name(), dead.resumable, dead.elapsed_seconds), ("crashed", true, 0.002));
    let done = Row::of(&told().state, Liveness::Free, at(60_000)).unwrap();
    assert_eq!((done.status.name(), done.resumable, done.progress()), ("completed", false, "2/3".to_owned()));
}

#[test]
fn a_result_says_verified_only_when_the_gates_were_kept() {
    let kept = RunResult::of(&told().state).unwrap();
    assert!(kept.verified && kept.exit_code == Some(0) && kept.iterations == 2);
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 stop\n3 fail");
    let stopped = RunResult::of(&story.state).unwrap();
    assert!(!stopped.verified && stopped.exit_code == Some(2) && stopped.reason == Some("manual_stop"));
}

#[test]
fn public_events_are_a_small_set_of_their_own() {
    let mut story = Story::new(&[]);
    let mut told = Vec::new();
    for line in SCRIPT.lines() {
        let from = story.journal.len();
        story.play(line);
        told.extend(story.journal[from..].iter().filter_map(|entry| public_event(entry, &story.state)));
    }
    let names: Vec<&str> = told.iter().map(|event| event["event"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "gate_ended",
            "iteration_started",
            "agent_ended",
            "measured",
            "gate_ended",
            "iteration_started",
            "reopened",
            "cleaned",
            "gate_ended",
            "iteration_started",
            "agent_ended",
            "gate_ended",
            "ended",
        ]
    );
}
