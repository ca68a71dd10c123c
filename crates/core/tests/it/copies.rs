//! What a copy shows about the pass and about the project, and what it does not.
use loop_core::policy::gate::Verdict;
use loop_core::run::*;

use crate::play::{Story, hidden, spec};
use crate::proof::{PASS, SAME, judged, red};

/// A copy in which the only gate fails with this output.
fn failing(excerpt: &str, remarks: Vec<Remark>) -> Answer {
    let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(1), excerpt) else { unreachable!() };
    let gate = JudgedGate { gate: 0, verdict: Verdict::Fail, tries: 1, report, contradiction: None, same_tests: None };
    Answer::Judged(Box::new(JudgeReport { gates: vec![gate], remarks, ..JudgeReport::default() }))
}

/// Why the workspace alone decides.
fn why(story: &Story) -> &str {
    story.state.proving.workspace_only().map_or("", |only| only.why.as_str())
}

#[test]
fn a_copy_that_a_person_stopped_before_any_iteration_is_judged_again() {
    let mut story = judged(&[]);
    story.say("pass / abort / judge-stopped");
    assert!(story.last().starts_with("END stopped"), "{}", story.last());
    story.say("reopened / saved / pass");
    assert_eq!(story.last(), "judge final");
}

#[test]
fn a_copy_that_must_pass_is_not_excused_as_a_probe_that_cannot_be_made() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("no-probe no_runner");
    assert_eq!(story.last(), "judge initial");
    story.say(SAME).say("no-probe no_runner / certified / saved");
    assert!(story.last().contains("a clean copy of these files cannot be judged"), "{}", story.last());
}

#[test]
fn a_project_that_passes_before_any_iteration_and_not_in_a_copy_is_judged_in_the_workspace_only() {
    let mut story = judged(&[]);
    story.say("pass / clean-fail no_module_app");
    assert_eq!(story.last(), "certify baseline");
    assert_eq!(why(&story), "the gates pass in the workspace and not in a clean copy: promise (exit 1): no_module_app");
    let mut story = judged(&[]);
    story.say("pass / not-judged no_space");
    assert_eq!((story.last(), why(&story)), ("certify baseline", "no_space"));
}

#[test]
fn gates_that_open_files_of_the_workspace_from_a_copy_are_judged_in_the_workspace_only() {
    let mut story = red(&[]);
    story.say(PASS).say("opened-workspace tests pass=3");
    assert_eq!(story.last(), "certify {iteration:1}", "no copy of the initial state is needed to know it");
    assert!(why(&story).starts_with("files of the workspace were opened while the gates ran in a copy"));
}

#[test]
fn a_copy_that_cannot_be_judged_after_an_iteration_leaves_the_question_to_the_initial_state() {
    let mut story = red(&[]);
    story.say(PASS).say("not-judged no_space");
    assert_eq!((story.last(), why(&story)), ("judge initial", ""));
}

#[test]
fn why_the_workspace_alone_decides_says_what_the_copy_of_the_initial_state_showed() {
    let mut setup = red(&[]);
    setup.say(PASS).say("setup-failed no network / setup-failed no network");
    assert_eq!(why(&setup), "also on the initial state, no network");
    let mut other = red(&[]);
    other.say(PASS).say("clean-fail no_module / clean-fail no_module");
    let text =
        "a clean copy of the initial state says something else than the workspace did: promise (exit 1): no_module";
    assert_eq!(why(&other), text);
}

#[test]
fn ignored_files_that_only_the_copy_of_the_final_state_lacked_are_named_too() {
    let mut story = red(&[("strength", "off")]);
    let left_out = LeftOut { files: NameList::of(["dist/a.js"].into_iter()), changed: true, has_setup: false };
    story
        .say(PASS)
        .reply(failing("no module", vec![Remark::LeftOut(left_out)]))
        .say("clean-fail no_module / certified");
    let named = story.state.over.unwrap().proof.unwrap().named;
    let text = "ignored files changed since the start and may have decided: dist/a.js";
    assert_eq!(named.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), [text]);
}

#[test]
fn a_gate_that_runs_other_tests_each_time_only_after_the_work_is_not_excused_as_selective() {
    let mut story = red(&[]);
    story.say(PASS).say("tests-clean pass=3 same=no / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert!(story.state.over.unwrap().proof.unwrap().named.is_empty());
    assert!(!story.state.gates.get(0).unwrap().is_selective());
}

#[test]
fn brackets_that_once_changed_between_two_runs_are_not_compared_after_two_runs_in_which_they_did_not() {
    let mut story = red(&[]);
    story.say("tests pass=3 other=t::one[0x7f] said=b / tests-clean pass=1 fail=2 same=without_brackets").say(SAME);
    assert_eq!(story.last(), "judge again", "nothing speaks against the names");
}

/// Two gates, of which the second shows no tests; the first says this before iteration 1, and this after it. The copy
/// without the new test files is judged next.
fn two_gates(first: &str, last: &str) -> Story {
    let gates = [("promise", ""), ("gate", "t=make test\nlint=make lint"), ("judge", "auto"), ("strength", "report")];
    let mut story = Story::checkpointed(&gates);
    story.adds_tests = true;
    story.say("opened / saved-as initial").say(first).say("fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say(&format!("{last} said=b")).say("pass").say(&format!("on-copy {last} && pass"));
    assert_eq!(story.last(), "judge without_new_tests");
    story
}

#[test]
fn a_gate_without_tests_may_need_the_new_test_files_where_another_gate_shows_tests() {
    let mut new = two_gates("fail", "tests pass=2");
    new.say("on-copy tests pass=1 && fail no_test_for_b");
    assert_eq!(new.last(), "judge canary");
    let mut suites = two_gates("tests pass=1 fail=1", "tests pass=2");
    suites.say("on-copy tests pass=0 suites=only && fail no_test_for_b");
    assert_eq!(suites.last(), "judge canary");
}

#[test]
fn a_gate_without_tests_may_not_need_the_new_test_files_where_no_gate_ever_ran_a_test() {
    let mut story = two_gates("fail", "tests pass=0");
    story.say("on-copy tests pass=0 && fail no_test_for_b");
    assert_eq!(story.last(), "certify {iteration:1}", "no further probe is tried");
}

#[test]
fn hidden_gates_of_which_one_was_not_run_did_not_pass() {
    let settings = [("judge", "auto")];
    let mut story = Story::of(RunSpec { backend: "git".to_owned(), hidden: hidden(2), ..spec(&settings) });
    story.say("opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / clean");
    story.say("hidden pass / certified");
    let end = "END passed_but (not_proven): the promise passes, but the hidden gates could not be run: not all of them \
               were run";
    assert_eq!(story.last(), end);
}

#[test]
fn what_a_gate_said_in_a_copy_is_its_last_line_that_is_not_blank() {
    let mut story = red(&[]);
    story.say(PASS).reply(failing("one\nwrong sum\n  \n\n", Vec::new())).say(SAME);
    story.reply(failing("one\nwrong sum\n  \n\n", Vec::new())).say("certified / saved");
    assert!(story.last().ends_with("of the same files: promise (exit 1): wrong sum]}}"), "{}", story.last());
}
