//! Probes of a pass: what they show, how long they may take, and what ends them.
use crate::play::Story;

/// A loop with clean copies and probes: one of two tests fails before iteration 1, and the agent has worked once.
fn red(settings: &[(&str, &str)]) -> Story {
    let defaults = [("judge", "auto"), ("strength", "report")];
    let all: Vec<(&str, &str)> = defaults.into_iter().chain(settings.iter().copied()).collect();
    let mut story = Story::checkpointed(&all);
    story.say(
        "opened / saved-as initial / tests pass=1 fail=1 said=a / saved / agent-ok / saved-as iter-001 / changed 1",
    );
    story
}

/// The same, the gates pass, and the agent added test files.
fn with_new_tests() -> Story {
    let mut story = red(&[]);
    story.adds_tests = true;
    story.say("tests pass=4 said=b / tests-clean pass=4");
    story
}

/// The text of the strength line of a run that ended.
fn strength(story: &Story) -> String {
    story.state.over.clone().unwrap().proof.unwrap().strength.unwrap().text()
}

#[test]
fn a_change_without_sources_is_not_noticed_by_undo_and_nothing_is_run_for_it() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / tests-clean pass=2 / clean-fail canary");
    assert_eq!(story.last(), "judge undone");
    story.say("unchanged / certified / saved");
    assert!(story.last().contains("with the sources of the start"), "{}", story.last());
}

#[test]
fn the_old_tests_are_run_without_the_new_test_files_before_any_other_probe() {
    let mut story = with_new_tests();
    assert_eq!(story.last(), "judge without_new_tests");
    story.say("tests-clean pass=2");
    assert_eq!(story.last(), "judge canary");
    story.say("clean-fail canary / clean-fail undone / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
}

// req: RT-R7
#[test]
fn tests_of_the_start_that_fail_or_are_lost_without_the_new_test_files_are_evidence() {
    for copy in [
        "tests-clean pass=1 fail=1",
        "tests-clean pass=1 fail=1 exit=0",
        "tests-clean pass=1",
        "tests-clean pass=2 missing=t::one",
        "clean",
        "clean-fail no_tests_found",
    ] {
        let mut story = with_new_tests();
        story.say(copy);
        assert_eq!(story.last(), "certify {iteration:1}", "{copy}: no further probe is tried");
        story.say("certified / saved");
        let told = "without the new test files the gates do not pass";
        assert!(story.last().contains(told), "{copy}: {}", story.last());
    }
}

#[test]
fn a_gate_that_fails_without_the_new_test_files_while_all_old_tests_pass_says_nothing() {
    let mut story = with_new_tests();
    story.say("tests-clean pass=2 exit=1");
    assert_eq!(story.last(), "judge canary", "for example the coverage is too low");
}

/// Gates that show no tests, and an agent that added files beside the tests.
fn without_tests_shown() -> Story {
    let mut story = Story::checkpointed(&[("judge", "auto"), ("strength", "report")]);
    story.adds_tests = true;
    story.say("opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("pass / clean");
    assert_eq!(story.last(), "judge without_new_tests");
    story
}

#[test]
fn a_gate_that_shows_no_tests_must_pass_without_the_new_test_files_too() {
    let mut story = without_tests_shown();
    story.say("clean-fail wrong_sum / certified / saved");
    assert!(story.last().contains("without the new test files the gates do not pass"), "{}", story.last());
    let mut story = without_tests_shown();
    story.say("clean");
    assert_eq!(story.last(), "judge canary");
    let mut story = without_tests_shown();
    story.say("clean-fail coverage/index.html: wrong sum / certified / saved");
    assert!(story.last().contains("without the new test files the gates do not pass"), "{}", story.last());
}

#[test]
fn a_gate_that_shows_no_tests_and_fails_by_its_coverage_says_nothing() {
    for says in [
        "FAIL Required test coverage of 80% not reached. Total coverage: 61.22%",
        "Coverage failure: total of 61 is less than fail-under=80",
        "Jest: \"global\" coverage threshold for lines (80%) not met: 50%",
        "ERROR: Coverage for lines (50%) does not meet global threshold (80%)",
        "Coverage is below the failure threshold 50.00% < 80.00%",
        "Line coverage (50.00%) is below the expected minimum coverage (80.00%).",
    ] {
        let mut story = without_tests_shown();
        story.say(&format!("clean-fail {says}"));
        assert_eq!(story.last(), "judge canary", "{says}: new tests are needed for the coverage");
    }
}

#[test]
fn probes_end_with_the_time_of_the_run_and_the_verdict_is_kept() {
    let mut story = red(&[("max_time", "10m")]);
    story.say("tests pass=2 said=b / tests-clean pass=2");
    assert_eq!(story.last(), "judge canary");
    story.wait(596_000).say("deadline");
    assert!(story.last().starts_with("cancel"), "{}", story.last());
    story.say("judge-stopped / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(strength(&story), "red before, canary, undo and hunks not tried (out of time)");
}

#[test]
fn the_budget_of_the_pieces_is_cut_by_the_time_that_is_left() {
    let mut story = red(&[("max_time", "10m")]);
    story.say("tests pass=2 said=b / tests-clean pass=2 / clean-fail canary").wait(590_000).say("clean-fail undone");
    let budget = story.last().strip_prefix("judge {hunks:{budget_ms:").and_then(|rest| rest.strip_suffix("}}"));
    assert!(budget.and_then(|ms| ms.parse::<u32>().ok()).is_some_and(|ms| ms < 10_000), "{}", story.last());
}

#[test]
fn a_judge_that_does_not_answer_is_ended_at_its_own_deadline_without_a_time_limit_of_the_run() {
    let mut story = red(&[("gate_timeout", "10m")]);
    story.say("tests pass=2 said=b");
    assert_eq!(story.last(), "judge final");
    story.wait(39 * 60_000).say("deadline");
    assert!(!story.last().starts_with("cancel"), "{}", story.last());
    story.wait(2 * 60_000).say("deadline");
    assert!(story.last().starts_with("cancel"), "{}", story.last());
}

#[test]
fn a_clean_copy_that_does_not_end_is_given_up_soon_after_the_time_of_the_run() {
    let mut story = red(&[("max_time", "10m")]);
    story.say("tests pass=2 said=b");
    assert_eq!(story.last(), "judge final");
    story.wait(599_000).say("deadline");
    assert!(story.last().starts_with("cancel"), "{}", story.last());
    story.say("judge-stopped");
    assert_eq!(story.last(), "judge initial", "can a copy be judged here at all?");
}

#[test]
fn a_clean_copy_that_begins_shortly_before_the_time_limit_gets_a_minute() {
    let mut story = red(&[("max_time", "10m")]);
    story.wait(599_000).say("tests pass=2 said=b");
    assert_eq!(story.last(), "judge final");
    story.wait(30_000).say("deadline");
    assert_eq!(story.last(), "judge final", "it goes on");
    story.say("tests-clean pass=2 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
}

#[test]
fn one_request_to_stop_ends_the_probe_and_keeps_the_verdict() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / tests-clean pass=2 / clean-fail canary / clean-fail undone / stop");
    assert!(story.last().starts_with("cancel"), "{}", story.last());
    story.say("hunks-stopped 30 2 2 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let text = strength(&story);
    assert!(text.contains("undo noticed, 2 of 2 hunks noticed (2 tried of 30; stopped by you)"), "{text}");
}

#[test]
fn probes_that_were_not_begun_when_a_person_stopped_the_run_say_so() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / tests-clean pass=2 / stop / judge-stopped / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(strength(&story), "red before, canary, undo and hunks not tried (stopped by you)");
}

#[test]
fn a_request_to_stop_does_not_end_the_clean_copy_that_decides() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / stop");
    assert_eq!(story.last(), "judge final");
}
