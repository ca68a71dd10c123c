//! A pass is believed only after more than its exit code: the output of the gates, clean copies, probes, a person.
use loop_core::policy::gate::Verdict;
use loop_core::run::*;

use crate::play::Story;

/// A loop whose state is kept, with clean copies and probes.
fn judged(settings: &[(&str, &str)]) -> Story {
    let defaults = [("judge", "auto"), ("strength", "report")];
    let all: Vec<(&str, &str)> = defaults.into_iter().chain(settings.iter().copied()).collect();
    let mut story = Story::checkpointed(&all);
    story.say("opened / saved-as initial");
    story
}

/// The same with three tests before iteration 1, of which two fail, and an iteration that ended.
fn red(settings: &[(&str, &str)]) -> Story {
    let mut story = judged(settings);
    story.say("tests pass=1 fail=2 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story
}

const PASS: &str = "tests pass=3 said=b";

#[test]
fn a_pass_is_judged_again_in_a_clean_copy_and_probed_before_it_is_verified() {
    let mut story = red(&[]);
    story.say(PASS);
    assert_eq!(story.last(), "judge final");
    story.say("clean");
    assert_eq!(story.last(), "judge canary");
    story.say("clean-fail canary");
    assert_eq!(story.last(), "judge undone");
    story.say("clean-fail undone");
    assert_eq!(story.last(), "judge {hunks:{budget_ms:29980}}");
    story.say("hunks 30 12 9");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified");
    assert_eq!(story.last(), "END verified (goal_complete): the promise passes after 1 iteration");
    let proof = story.state.over.unwrap().proof.unwrap();
    assert_eq!(proof.judge, Some(ProofJudge::CleanCopy { place: JudgePlace::OwnPath }));
    assert_eq!(
        proof.strength.unwrap().text(),
        "red before, canary noticed, undo noticed, 9 of 12 hunks noticed (12 tried of 30); not noticed: src/a.rs:40-52"
    );
}

// req: RT-R8
#[test]
fn a_pass_that_a_clean_copy_does_not_share_is_told_to_the_agent_and_ends_the_loop_the_second_time() {
    let mut story = red(&[]);
    story.say(PASS).say("clean-fail two_tests_fail");
    assert_eq!(story.last(), "judge initial", "is this project judged right in a copy at all?");
    // The copy of the initial state says what the workspace said.
    story.say("tests-clean pass=1 fail=2");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
    story.say("agent-ok / saved-as iter-002 / changed 1").say(PASS).say("clean-fail two_tests_fail");
    story.say("tests-clean pass=1 fail=2 / certified");
    assert!(story.last().starts_with("END passed_but (not_proven): the promise passes, but "), "{}", story.last());
}

#[test]
fn a_project_whose_initial_state_is_judged_otherwise_in_a_copy_is_judged_in_the_workspace_only() {
    let mut story = red(&[]);
    story.say(PASS).say("clean-fail no_module_named_app").say("clean-fail no_module_named_app");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified");
    assert_eq!(story.last(), "END verified (goal_complete): the promise passes after 1 iteration");
    let judge = story.state.over.unwrap().proof.unwrap().judge;
    assert!(matches!(judge, Some(ProofJudge::Workspace { .. })), "{judge:?}");
}

// req: RT-R6
#[test]
fn exit_0_is_not_a_pass_while_tests_fail() {
    let mut story = red(&[]);
    story.say("tests pass=1 fail=2 exit=0 said=b / saved");
    assert_eq!(story.last(), "agent 2.1");
    assert_eq!(story.state.gates.get(0).unwrap().last().unwrap().verdict, Verdict::Fail);
}

#[test]
fn a_gate_that_may_be_trusted_passes_by_its_exit_code() {
    let mut story = judged(&[("promise", ""), ("gate", "t[trust-exit]=make test")]);
    story.say("tests pass=1 fail=2 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=1 fail=2 exit=0 said=b");
    assert_eq!(story.last(), "judge final");
}

// req: RT-R6
#[test]
fn tests_that_fail_under_exit_0_before_iteration_1_are_named_and_a_person_must_look() {
    let mut story = judged(&[]);
    story.say("tests pass=2 fail=3 exit=0 said=a / certified");
    let end = "END passed_but (not_proven): the promise passes, but promise: 3 tests fail although it exits with 0";
    assert_eq!(story.last(), end);
}

// req: RT-R5, RT-R7
#[test]
fn tests_that_must_stay_and_are_gone_are_told_without_any_copy() {
    let mut story = red(&[]);
    story.say("tests pass=3 missing=t::one,t::two said=b");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().contains("tests are gone, renamed or skipped: t::one, t::two"), "{}", story.last());
}

#[test]
fn fewer_tests_than_in_any_round_are_told() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / certified / saved");
    assert!(story.last().contains("promise: 3 tests ran before, 2 now"), "{}", story.last());
}

#[test]
fn a_canary_that_the_gates_do_not_notice_is_evidence() {
    let mut story = red(&[]);
    story.say(PASS).say("clean / clean");
    assert_eq!(story.last(), "certify {iteration:1}", "no further probe is tried");
    story.say("certified / saved");
    assert!(story.last().contains("a failing test was added to a copy"), "{}", story.last());
}

#[test]
fn old_sources_that_the_gates_do_not_notice_are_evidence_where_a_test_failed_before() {
    let mut story = red(&[]);
    story.say(PASS).say("clean / clean-fail x / clean / certified / saved");
    assert!(story.last().contains("with the sources of the start"), "{}", story.last());
}

#[test]
fn what_is_accepted_from_the_start_is_named_with_the_proof() {
    let mut story = red(&[("accept", "renamed-tests")]);
    story.say("tests pass=3 missing=t::one said=b / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(story.state.over.unwrap().proof.unwrap().named.len(), 1);
}

#[test]
fn a_limit_that_is_reached_after_a_pass_that_is_not_believed_says_so() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say("tests pass=2 said=b / certified");
    let end = "END passed_but (not_proven): the promise passes, but promise: 3 tests ran before, 2 now; ";
    assert!(story.last().starts_with(end), "{}", story.last());
}

#[test]
fn strength_that_is_required_and_not_shown_needs_a_person() {
    let mut story = red(&[("strength", "require")]);
    story.say(PASS).say("clean / not-judged no_canary_for_make / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END passed_but (not_proven)"), "{}", story.last());
}

#[test]
fn a_person_accepts_a_pass_that_something_speaks_against() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say("tests pass=2 said=b / certified");
    story.say("visited / accept I looked at it");
    assert_eq!(story.last(), "END accepted (accepted): accepted by loop accept: I looked at it");
    assert_eq!(story.state.standing().unwrap().exit_code, 0);
    let proof = story.state.over.unwrap().proof.unwrap();
    assert_eq!((proof.verified, proof.findings.len()), (false, 1));
}

#[test]
fn nothing_but_a_pass_that_something_speaks_against_can_be_accepted() {
    let mut story = judged(&[("max_iterations", "1")]);
    story.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / fail again");
    assert!(story.last().starts_with("END exhausted"), "{}", story.last());
    story.say("visited / accept");
    assert_eq!(story.state.over.unwrap().outcome, Outcome::Exhausted);
}
