//! What comes from around a run: texts and commands of the inbox, variables of the harness, files that others changed.
use loop_core::run::{
    AroundEvent, Change, Decision, Entry, EnvChange, Event, FILE_EVENTS_MAX, Fact, FileEvent, FileEventKind,
    FilesChanged, InboxEffect, InboxFile, Injected, RunState, URGENT_INTERRUPTIONS_MAX,
};

use crate::play::Story;

const AT_WORK: &str = "0 opened\n1 saved-as initial\n2 fail\n3 saved\n4 started 77";

fn file(name: &str) -> InboxFile {
    InboxFile {
        name: name.to_owned(),
        inode: 7,
        modified_ns: 9,
        bytes: 5,
        sha256: format!("hash of {name}"),
        at_work: true,
    }
}

fn text(number: u32) -> Injected {
    Injected { number, bytes: 5, keep: false }
}

fn inbox(story: &mut Story, ms: u64, name: &str, effect: InboxEffect) {
    story.happen(ms, Event::Around(Box::new(AroundEvent::Inbox { file: file(name), effect })));
}

fn variables(story: &mut Story, ms: u64, name: &str, values: [&str; 2]) {
    let [old, new] = values.map(|value| Some(value.to_owned()));
    let changes = vec![EnvChange { name: name.to_owned(), old, new }];
    let set = vec![Change::new("mode", values[1].to_owned())];
    let by = ".harness/env".to_owned();
    story.happen(ms, Event::Around(Box::new(AroundEvent::Environment { changes, set, pause: None, by })));
}

fn changed(count: usize, from: usize) -> FilesChanged {
    let event = |number: usize| FileEvent {
        kind: FileEventKind::Modified,
        path: format!("file-{number}"),
        from: None,
        at_ms: 1,
    };
    FilesChanged { events: (from..from + count).map(event).collect(), more: 0, lost: None }
}

// req: A-11
#[test]
fn an_urgent_text_ends_the_agent_and_the_attempt_that_it_cut_off_is_no_failure() {
    let mut story = Story::checkpointed(&[]);
    story.play(AT_WORK);
    inbox(&mut story, 5, "000-now.txt", InboxEffect::Urgent(text(1)));
    story.play("6 agent-by-us\n7 saved-as interrupted-1.1\n8 fail");
    let told = story.told.split_once("3 agent 1.1\n").unwrap().1;
    assert!(told.contains("8 agent 1.2 telling {interrupted:{attempt:1}}"), "{told}");
    assert_eq!(story.state.prompt.injections().urgent, [1], "it leads this prompt, too, if it is cut off again");
    assert_eq!(story.state.progress.crash_streak(), 0);
    story.play("9 agent-ok\n10 saved-as iter-001\n11 changed 1\n12 fail\n13 saved");
    assert!(story.state.prompt.injections().urgent.is_empty(), "an iteration has answered it");
}

fn waiting_urgent_texts(story: &Story) -> Vec<(u32, u32)> {
    let waits = |entry: &Entry| {
        let Fact::Decided(Decision::UrgentWaits { text, most }) = entry.fact else { return None };
        Some((text, most))
    };
    story.journal.iter().filter_map(waits).collect()
}

// req: A-11
#[test]
fn urgent_texts_end_the_agent_a_bounded_number_of_times_in_an_iteration_and_the_next_text_waits_for_the_next_one() {
    let mut story = Story::checkpointed(&[]);
    story.play(AT_WORK);
    for number in 1..=URGENT_INTERRUPTIONS_MAX {
        let ms = u64::from(number) * 10;
        inbox(&mut story, ms, "000-now.txt", InboxEffect::Urgent(text(number)));
        story.play(&format!("{} agent-by-us\n{} saved-as interrupted-1.{number}\n{} fail", ms + 1, ms + 2, ms + 3));
    }
    let last = URGENT_INTERRUPTIONS_MAX + 1;
    assert!(story.last().starts_with(&format!("agent 1.{last}")), "{}", story.told);
    assert_eq!(waiting_urgent_texts(&story), []);
    inbox(&mut story, 90, "000-now.txt", InboxEffect::Urgent(text(last)));
    assert_eq!(waiting_urgent_texts(&story), [(last, URGENT_INTERRUPTIONS_MAX)]);
    assert!(story.state.main_order().is_some_and(|(_, open)| !open.is_cancelled()), "{}", story.told);
    story.play("91 agent-ok\n92 saved-as iter-001\n93 changed 1\n94 fail\n95 saved");
    assert!(story.last().starts_with("agent 2.1"), "{}", story.told);
    assert_eq!(story.state.prompt.injections().urgent, [last], "it leads the prompt of the next iteration");
    inbox(&mut story, 96, "000-now.txt", InboxEffect::Urgent(text(last + 1)));
    assert!(story.state.main_order().is_some_and(|(_, open)| open.is_cancelled()), "the count begins again");
}

// req: A-11
#[test]
fn an_urgent_text_ends_the_delay_and_neither_a_gate_nor_a_pause() {
    let mut story = Story::checkpointed(&[("delay", "10m")]);
    story.play("0 opened\n1 saved-as initial");
    inbox(&mut story, 2, "000-now.txt", InboxEffect::Urgent(text(1)));
    story.play("3 fail\n4 saved\n5 agent-ok\n6 saved-as iter-001\n7 changed 1\n8 fail");
    inbox(&mut story, 9, "000-again.txt", InboxEffect::Urgent(text(2)));
    assert!(story.state.main_order().is_some_and(|(_, open)| open.is_cancelled()), "the delay: {}", story.told);
    story.play("10 held\n11 saved\n12 pause\n13 agent-ok\n14 saved-as iter-002\n15 changed 1\n16 fail");
    inbox(&mut story, 17, "000-third.txt", InboxEffect::Urgent(text(3)));
    assert!(story.state.is_paused() && story.state.main_order().is_some_and(|(_, open)| !open.is_cancelled()));
}

// req: A-11
#[test]
fn commands_of_the_inbox_are_requests_of_a_person_and_what_is_ignored_changes_nothing() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved\n2 fail\n3 started 7");
    inbox(&mut story, 4, "cmd-a.txt", InboxEffect::Pause);
    story.play("5 agent-ok\n6 saved\n7 changed 1\n8 fail");
    assert!(story.state.is_paused(), "{}", story.told);
    let before = story.state.main_order().map(|(id, _)| id);
    inbox(&mut story, 9, "cmd-b.txt", InboxEffect::Status);
    inbox(&mut story, 10, "cmd-c.txt", InboxEffect::Ignored { why: "no".to_owned() });
    assert_eq!(story.state.main_order().map(|(id, _)| id), before);
    inbox(&mut story, 11, "cmd-d.txt", InboxEffect::Resume);
    story.play("12 held");
    assert!(story.last().starts_with("agent 2.1"), "{}", story.told);
}

// req: A-11
#[test]
fn a_taken_file_is_known_again_and_another_of_the_same_name_is_not_it() {
    let mut story = Story::new(&[]);
    story.play("0 opened");
    inbox(&mut story, 1, "a.txt", InboxEffect::Text(text(1)));
    let known = &story.state.prompt.surroundings;
    assert!(known.has_taken(&file("a.txt")));
    assert!(!known.has_taken(&InboxFile { inode: 8, ..file("a.txt") }));
    assert!(!known.has_taken(&InboxFile { modified_ns: 10, ..file("a.txt") }));
    assert!(!known.has_taken(&InboxFile { sha256: "other".to_owned(), ..file("a.txt") }));
    for number in 0..1000 {
        inbox(&mut story, 2, &format!("{number}.txt"), InboxEffect::Ignored { why: String::new() });
    }
    assert!(!story.state.prompt.surroundings.has_taken(&file("a.txt")), "only the newest are remembered");
    assert!(story.state.prompt.surroundings.has_taken(&file("999.txt")));
}

// req: A-12
#[test]
fn turbo_has_no_delay_and_conservative_has_at_most_a_hundred_iterations() {
    let mut story = Story::new(&[("delay", "10m"), ("max_iterations", "unlimited")]);
    story.play("0 opened\n1 saved\n2 fail\n3 started 7");
    variables(&mut story, 4, "HARNESS_MODE", ["normal", "turbo"]);
    story.play("5 agent-ok\n6 saved\n7 changed 1\n8 fail");
    assert!(story.last().starts_with("agent 2.1 telling {environment_changed:"), "{}", story.told);
    let most = |story: &Story| story.state.settings.shown().values.iterations_max();
    assert_eq!(most(&story), None);
    variables(&mut story, 9, "HARNESS_MODE", ["turbo", "conservative"]);
    assert_eq!(most(&story), Some(100));
    story.play("10 agent-ok\n11 saved\n12 changed 1\n13 fail");
    assert!(story.last().starts_with("hold"), "a delay again: {}", story.told);
    assert_eq!(story.state.prompt.surroundings.variable("HARNESS_MODE"), Some("conservative"));
}

// req: A-12
#[test]
fn a_variable_that_changed_and_changed_back_is_no_news() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved");
    variables(&mut story, 2, "HARNESS_MODE", ["normal", "turbo"]);
    variables(&mut story, 3, "HARNESS_MODE", ["turbo", "normal"]);
    story.play("4 fail");
    assert_eq!(story.last(), "agent 1.1");
}

fn names(state: &RunState, story: &Story) -> (usize, String) {
    let order = state.main_order().map(|(_, open)| serde_json::to_string(&open.order).unwrap()).unwrap();
    (order.matches("\"path\"").count(), format!("{order}\n{}", story.told))
}

// req: A-10
#[test]
fn files_of_others_are_told_once_and_again_to_an_attempt_that_follows_a_cut_off_one() {
    let mut story = Story::checkpointed(&[]);
    story.play("0 opened\n1 saved-as initial\n2 fail");
    story.happen(3, Event::Around(Box::new(AroundEvent::Files(changed(2, 0)))));
    story.play("4 saved");
    assert_eq!(names(&story.state, &story).0, 2);
    inbox(&mut story, 5, "000-now.txt", InboxEffect::Urgent(text(1)));
    story.play("6 agent-by-us\n7 saved-as interrupted-1.1\n8 fail");
    assert_eq!(names(&story.state, &story).0, 2, "again: {}", names(&story.state, &story).1);
    story.play("9 agent-ok\n10 saved-as iter-001\n11 changed 1\n12 fail\n13 saved");
    assert_eq!(names(&story.state, &story).0, 0, "once: {}", names(&story.state, &story).1);
}

// req: A-10
#[test]
fn however_many_files_others_change_the_prompt_names_fifty_and_counts_the_rest() {
    let mut story = Story::new(&[]);
    story.play("0 opened\n1 saved");
    for turn in 0..40 {
        story.happen(2, Event::Around(Box::new(AroundEvent::Files(changed(40, turn * 40)))));
    }
    story.play("3 fail");
    let (named, text) = names(&story.state, &story);
    assert_eq!(named, FILE_EVENTS_MAX, "{text}");
    assert!(text.contains("\"more\":1550"), "{text}");
}

// req: A-12
#[test]
fn of_several_agents_speed_and_cost_take_the_cheapest_and_quality_the_most_capable() {
    for (priority, agent) in [("speed", "gemini"), ("cost", "gemini"), ("quality", "claude")] {
        let settings =
            [("agent", "codex"), ("agents", "codex,gemini,claude"), ("agent_cmd", ""), ("priority", priority)];
        let mut story = Story::new(&settings);
        story.play("0 opened\n1 saved\n2 fail");
        assert_eq!(story.state.agent_name(), agent, "{priority}: {}", story.told);
    }
    let mut one = Story::new(&[("agent", "codex"), ("agent_cmd", ""), ("priority", "quality")]);
    one.play("0 opened\n1 saved\n2 fail");
    assert_eq!(one.state.model_chosen(), None, "one agent is not chosen among");
}
