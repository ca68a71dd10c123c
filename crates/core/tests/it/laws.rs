//! Laws: what holds for every input and every journal.
use loop_core::ids::OrderId;
use loop_core::run::next_deadline;
use loop_core::run::*;

use crate::play::{Story, at, spec};
use crate::storm::number_from;
use crate::world::Seed;

fn any_answer(seed: &mut Seed) -> Answer {
    match seed.below(8) {
        0 => Answer::Checkpoint(CheckpointReport::default()),
        1 => Answer::Measurement(Measurement {
            changes: None,
            names: vec!["x".to_owned(); seed.below(200) as usize],
            ..Measurement::default()
        }),
        2 => crate::play::agent(Ended::Exit(i32::try_from(seed.below(256)).unwrap())),
        3 => crate::play::gate(Ended::Signal(9), "x"),
        4 => Answer::Cleaned { killed: 0 },
        5 => Answer::Notified { exit_code: None },
        6 => Answer::Failed { what: "x".to_owned() },
        _ => Answer::Lost { left: Vec::new() },
    }
}

fn any_surroundings(seed: &mut Seed) -> AroundEvent {
    let text = Injected { number: seed.below(5) as u32, bytes: 3, keep: false };
    let effect = match seed.below(5) {
        0 => InboxEffect::Text(text),
        1 => InboxEffect::Urgent(text),
        2 => InboxEffect::Pause,
        3 => InboxEffect::Resume,
        _ => InboxEffect::Ignored { why: "x".to_owned() },
    };
    let file = InboxFile {
        name: "a.txt".to_owned(),
        inode: seed.below(3),
        modified_ns: 1,
        bytes: 3,
        sha256: "x".to_owned(),
        at_work: seed.one_in(2),
    };
    match seed.below(3) {
        0 => AroundEvent::Files(FilesChanged { more: seed.below(4) as u32, ..FilesChanged::default() }),
        1 => AroundEvent::Environment {
            changes: Vec::new(),
            set: vec![Change::new("mode", "conservative".to_owned())],
            pause: Some(seed.one_in(2)),
            by: "x".to_owned(),
        },
        _ => AroundEvent::Inbox { file, effect },
    }
}

fn any_event(seed: &mut Seed) -> Event {
    let order = OrderId(seed.below(12) as u32);
    match seed.below(12) {
        0 => Event::Created(Box::new(spec(&[]))),
        1 => Event::Opened,
        2 => Event::Reopened {
            by: "x".to_owned(),
            changes: vec![Change::new("max_iterations", seed.below(5).to_string())],
            unattended: seed.below(2) == 0,
            hidden: crate::play::hidden(1).filter(|_| seed.one_in(2)),
            answers: seed.one_in(2),
            injected: None,
            pid_namespace: Some(4).filter(|_| seed.one_in(2)),
            scores: Vec::new(),
        },
        3 => Event::Requested { request: Request::Stop, by: "x".to_owned() },
        4 => Event::Requested { request: Request::Abort, by: "x".to_owned() },
        5 => Event::DeadlinePassed,
        6 => Event::Noticed(Notice::Started { order, process: ProcessId { pid: 1, start_ticks: 2 } }),
        7 => Event::Around(Box::new(any_surroundings(seed))),
        _ => Event::Answered { order, answer: any_answer(seed) },
    }
}

#[test]
fn no_event_in_any_state_makes_step_fail_and_a_run_that_is_over_stays_over_by_itself() {
    for number in 0..number_from("LAWS").unwrap_or(20_000) {
        let mut seed = Seed::new(number);
        let mut state = RunState::default();
        for count in 0..40 {
            let event = any_event(&mut seed);
            let opens = matches!(event, Event::Reopened { .. });
            let was_over = state.over.is_some();
            let facts = step(&state, Input { at: at(count * 7), event });
            assert!(matches!(facts[0], Fact::Happened(_)), "the input is the first fact");
            for pair in facts.windows(2) {
                if let Fact::Ordered { order: Order::RunAgent { choice, .. }, .. } = &pair[1] {
                    let chosen =
                        matches!(&pair[0], Fact::Decided(Decision::Chosen { choice: one, .. }) if one == choice);
                    assert!(chosen, "seed {number}: an attempt without a choice");
                }
            }
            facts.iter().for_each(|fact| state.apply(fact));
            assert!(!was_over || opens || state.over.is_some(), "seed {number}: it came alive by itself");
            assert!(state.orders.iter().filter(|(_, open)| open.order.is_main()).count() <= 1, "seed {number}");
        }
    }
}

#[test]
fn the_fold_of_every_prefix_of_a_journal_is_the_state_that_was_live_then() {
    let mut story = Story::new(&[("notify", "true")]);
    let mut live = vec![(story.journal.len(), story.state.clone())];
    let script = "0 opened\n1 saved\n2 fail\n3 started 42\n4 stop\n5 agent-ok\n6 saved\n7 changed 3\n8 fail\n9 notified\n\
                  20 reopened max_iterations=9\n21 fail\n22 started 43\n30 reopened\n31 cleaned\n32 saved\n33 gate-exit 127\n\
                  34 agent-exit 1\n35 saved\n36 measured\n37 pass\n37 certified\n38 notified";
    for line in script.lines() {
        story.play(line);
        live.push((story.journal.len(), story.state.clone()));
    }
    for (length, state) in live {
        let mut folded = RunState::default();
        story.journal[..length].iter().for_each(|entry| folded.apply(&entry.fact));
        assert_eq!(folded, state, "after {length} lines");
    }
}

#[test]
fn a_journal_cut_between_two_facts_of_one_step_goes_on_as_if_it_had_not_been() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail\n3 agent-ok\n4 saved\n5 measured\n6 fail");
    for length in 2..story.journal.len() {
        let mut state = RunState::default();
        story.journal[..length].iter().for_each(|entry| state.apply(&entry.fact));
        let reopened = Event::Reopened {
            by: "loop resume".to_owned(),
            changes: Vec::new(),
            unattended: false,
            hidden: None,
            answers: false,
            injected: None,
            pid_namespace: None,
            scores: Vec::new(),
        };
        for event in [Event::Opened, reopened] {
            let mut state = state.clone();
            let facts = step(&state, Input { at: at(100), event });
            facts.iter().for_each(|fact| state.apply(fact));
            assert!(state.main_order().is_some(), "after {length} lines nothing is ordered: {facts:?}");
        }
    }
}

#[test]
fn every_open_order_has_a_deadline() {
    let mut story = Story::new(&[("timeout", "2s"), ("notify", "true")]);
    for line in ["0 opened", "1 saved", "2 fail", "3 agent-ok", "4 saved", "5 measured", "6 pass", "7 certified"] {
        story.play(line);
        let deadline = next_deadline(&story.state).expect("an order is open");
        assert!(deadline.after_ms > 0, "{line}");
    }
    assert!(story.state.over.is_some(), "only the notification is open");
}
