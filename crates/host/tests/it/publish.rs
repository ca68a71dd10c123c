//! What is published: whole at every moment, whoever reads and whatever lies in the way.
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use loop_core::agent::Claim;
use loop_core::ids::OrderId;
use loop_core::run::{
    AgentChoice, AgentReport, Answer, Decision, DroppedOrder, Ended, Entry, Event, Fact, HoldCause, Input, Order,
    Outcome, Output, Reason, ReasonCode, RunState, StreamReport,
};
use loop_core::time::At;
use loop_host::publish::{Loopr, Publisher};
use serde_json::Value;

/// How often the status changes.
const CHANGES: u32 = 1500;

/// The summary of an iteration: of many lengths, so that a piece of one in another would show.
fn summary(iteration: u32) -> String {
    format!("{iteration}:{}", "x".repeat(usize::try_from(iteration * 37 % 450).unwrap()))
}

/// The end of an agent in an iteration, and where the run stands with it.
fn at(iteration: u32) -> (Entry, RunState) {
    let claimed = Claim { status: "IN_PROGRESS".to_owned(), summary: Some(summary(iteration)), ..Claim::default() };
    let report = AgentReport {
        ended: Ended::Exit(0),
        duration_ms: 1,
        output: Output::default(),
        first_text: None,
        last_text: String::new(),
        left_running: 0,
        not_stored: None,
        stream: StreamReport { claimed: Some(claimed), ..StreamReport::default() },
    };
    let event = Event::Answered { order: OrderId(iteration), answer: Answer::AgentEnded(Box::new(report)) };
    let mut state = RunState::default();
    for iteration in 1..=iteration {
        let id = OrderId(iteration);
        state.apply(&Fact::Ordered { id, order: agent_of(iteration) });
        state.apply(&Fact::Decided(Decision::OrderDropped { id, then: DroppedOrder::Forgotten }));
    }
    (entry(iteration, Fact::Happened(Input { at: At::default(), event })), state)
}

fn agent_of(iteration: u32) -> Order {
    Order::RunAgent {
        choice: AgentChoice::default(),
        iteration,
        attempt: 1,
        notes: Vec::new(),
        injected: None,
        session: None,
        status_only: false,
        reservation: None,
    }
}

fn entry(seq: u32, fact: Fact) -> Entry {
    Entry { seq: seq.into(), at: At::default(), fact }
}

/// Reads the status over and over; how many different ones were seen.
fn read_on(folder: &Path, over: &AtomicBool) -> usize {
    let (mut seen, mut last, mut reads) = (0, 0, 0_u64);
    while !over.load(Ordering::Relaxed) {
        reads += 1;
        let Ok(text) = fs::read_to_string(folder.join("status.json")) else { continue };
        let status: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("torn: {error}: {text:?}"));
        let iteration = u32::try_from(status["iteration"].as_u64().unwrap()).unwrap();
        assert_eq!(status["call_count"], iteration, "mixed: {text}");
        assert_eq!(status["last_summary"], summary(iteration), "mixed: {text}");
        assert!(iteration >= last, "it went back from {last}: {text}");
        seen += usize::from(iteration > last);
        last = iteration;
    }
    assert!(reads > 0);
    seen
}

#[test]
fn a_reader_never_sees_a_torn_or_mixed_status_while_it_changes_more_than_a_thousand_times() {
    // req: B-10
    let workspace = tempfile::tempdir().unwrap();
    let folder = workspace.path().join(".loopr");
    let over = AtomicBool::new(false);
    let seen: Vec<usize> = std::thread::scope(|threads| {
        let readers: Vec<_> = (0..2).map(|_| threads.spawn(|| read_on(&folder, &over))).collect();
        let mut loopr = Loopr::new(workspace.path());
        let mut published = 0;
        for iteration in 1..=CHANGES {
            let (entry, state) = at(iteration);
            assert_eq!(loopr.on_entry(&entry, &state), None);
            published +=
                u32::from(fs::read_to_string(folder.join("status.json")).unwrap().contains(&summary(iteration)));
        }
        over.store(true, Ordering::Relaxed);
        assert_eq!(published, CHANGES, "each change was there at once");
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    assert!(seen.iter().all(|seen| *seen >= 10), "the readers read while it changed: {seen:?}");
    let names: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "nothing is left over: {names:?}");
}

#[test]
fn the_log_only_grows_and_is_put_away_whole_when_it_is_long() {
    // req: B-10
    let workspace = tempfile::tempdir().unwrap();
    let folder = workspace.path().join(".loopr");
    let mut loopr = Loopr::new(workspace.path());
    let reason = Reason { code: ReasonCode::IterationLimit, text: "x".repeat(280) };
    let end = Fact::Concluded { outcome: Outcome::Exhausted, reason, proof: None };
    let mut state = RunState::default();
    state.apply(&end);
    let mut before = Vec::new();
    let mut put_away = 0;
    for number in 1..=12_000 {
        assert_eq!(loopr.on_entry(&entry(number, end.clone()), &state), None);
        if number % 500 != 0 {
            continue;
        }
        let now = fs::read(folder.join("loop.log")).unwrap();
        assert!(now.len() <= 1024 * 1024 && now.ends_with(b"\n"));
        if !now.starts_with(&before) {
            put_away += 1;
            assert!(fs::read(folder.join("loop.log.1")).unwrap().starts_with(&before), "what was written stays so");
        }
        before = now;
    }
    assert!(put_away >= 4, "{put_away}");
    assert!(folder.join("loop.log.3").exists() && !folder.join("loop.log.4").exists());
}

#[test]
fn what_an_earlier_driver_told_is_taken_in_and_not_written_again() {
    // req: B-10
    let workspace = tempfile::tempdir().unwrap();
    let mut loopr = Loopr::new(workspace.path());
    let (entry_before, state) = at(7);
    loopr.replay(&entry_before, &state);
    assert!(!workspace.path().join(".loopr").exists());
    let order = Order::Hold { cause: HoldCause::Paused, ms: 1000 };
    let hold = Fact::Ordered { id: OrderId(9), order };
    let mut state = state;
    state.apply(&hold);
    loopr.on_entry(&entry(9, hold), &state);
    let text = fs::read_to_string(workspace.path().join(".loopr/status.json")).unwrap();
    let status: Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&status["state"], &status["last_summary"]), (&"waiting".into(), &summary(7).into()));
}

#[test]
fn a_line_that_a_killed_driver_could_not_write_is_written_by_the_next_one_once() {
    // req: B-10
    let workspace = tempfile::tempdir().unwrap();
    let log = workspace.path().join(".loopr/loop.log");
    let reason = Reason { code: ReasonCode::ManualStop, text: "stopped".to_owned() };
    let end = Fact::Concluded { outcome: Outcome::Stopped, reason, proof: None };
    let mut state = RunState::default();
    state.apply(&end);
    for _ in 0..2 {
        let mut loopr = Loopr::new(workspace.path());
        loopr.replay(&entry(1, end.clone()), &state);
        assert_eq!(loopr.on_entry(&at(3).0, &at(3).1), None);
        assert_eq!(fs::read_to_string(&log).unwrap().lines().count(), 1);
    }
}

#[test]
fn a_log_with_a_second_name_is_not_written_and_it_is_said_once() {
    let workspace = tempfile::tempdir().unwrap();
    let folder = workspace.path().join(".loopr");
    fs::create_dir(&folder).unwrap();
    fs::write(workspace.path().join("mine"), "mine").unwrap();
    fs::hard_link(workspace.path().join("mine"), folder.join("loop.log")).unwrap();
    let reason = Reason { code: ReasonCode::ManualStop, text: String::new() };
    let end = Fact::Concluded { outcome: Outcome::Stopped, reason, proof: None };
    let mut state = RunState::default();
    state.apply(&end);
    let mut loopr = Loopr::new(workspace.path());
    let said = loopr.on_entry(&entry(1, end.clone()), &state).unwrap();
    assert!(said.contains("loop.log is not a plain file with one name"), "{said}");
    assert_eq!(loopr.on_entry(&entry(2, end), &state), None);
    assert_eq!(fs::read_to_string(workspace.path().join("mine")).unwrap(), "mine");
    assert!(fs::read_to_string(folder.join("status.json")).unwrap().contains("stopped"), "the others are written");
}
