//! A pass is believed only after more than its exit code: the output of the gates, clean copies, probes, a person.
use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::policy::proof::{ProbeResult, RedBefore, StrengthReport};
use loop_core::run::*;
use loop_core::view::{Certificate, end_words};

use crate::play::Story;

/// A loop whose state is kept, with clean copies and probes.
pub(crate) fn judged(settings: &[(&str, &str)]) -> Story {
    let defaults = [("judge", "auto"), ("strength", "report")];
    let all: Vec<(&str, &str)> = defaults.into_iter().chain(settings.iter().copied()).collect();
    let mut story = Story::checkpointed(&all);
    story.say("opened / saved-as initial");
    story
}

/// The same with three tests before iteration 1, of which two fail, and an iteration that ended.
pub(crate) fn red(settings: &[(&str, &str)]) -> Story {
    let mut story = judged(settings);
    story.say("tests pass=1 fail=2 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story
}

/// The initial state in a clean copy, twice: the same tests each time.
pub(crate) const SAME: &str = "tests-clean pass=1 fail=2 same=exactly";

/// The tree that passes, in a clean copy.
pub(crate) const CLEAN: &str = "tests-clean pass=3";

pub(crate) const PASS: &str = "tests pass=3 said=b";

#[test]
fn a_pass_is_judged_again_in_a_clean_copy_and_probed_before_it_is_verified() {
    let mut story = red(&[]);
    story.say(PASS);
    assert_eq!(story.last(), "judge final");
    story.say(CLEAN);
    assert_eq!(story.last(), "judge canary");
    story.say("clean-fail canary");
    assert_eq!(story.last(), "judge undone");
    story.say("clean-fail undone");
    assert_eq!(story.last(), "judge {hunks:{budget_ms:29990}}");
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

#[test]
fn an_undo_that_only_could_not_be_built_is_said_to_be_so() {
    let mut story = red(&[]);
    story.say(PASS).say(CLEAN).say("clean-fail canary").say("clean-fail could not compile").say("hunks 1 1 0");
    story.say("certified");
    assert_eq!(
        story.state.over.unwrap().proof.unwrap().strength.unwrap().text(),
        "red before, canary noticed, undo noticed (it did not build or load), 0 of 1 hunks noticed; not noticed: \
         src/a.rs:40-52"
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
    assert_eq!(story.last(), "judge again", "is the gate flaky?");
    story.say("clean-fail two_tests_fail");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
    story.say("agent-ok / saved-as iter-002 / changed 1").say(PASS).say("clean-fail two_tests_fail");
    story.say("tests-clean pass=1 fail=2 / clean-fail two_tests_fail / certified");
    assert!(story.last().starts_with("END passed_but (not_proven): the promise passes, but "), "{}", story.last());
}

#[test]
fn a_flaky_gate_that_passes_in_a_second_clean_copy_is_verified_and_named_flaky() {
    let mut story = red(&[]);
    story.say(PASS).say("clean-fail one_test_fails / tests-clean pass=1 fail=2");
    assert_eq!(story.last(), "judge again");
    story.say("tests-clean pass=3");
    assert_eq!(story.last(), "judge canary");
    story.say("clean-fail canary / clean-fail undone / hunks 1 1 1 / certified");
    assert_eq!(story.last(), "END verified (goal_complete): the promise passes after 1 iteration");
    let proof = story.state.over.unwrap().proof.unwrap();
    assert_eq!(proof.judge, Some(ProofJudge::CleanCopy { place: JudgePlace::OwnPath }));
    assert!(proof.named.iter().any(|finding| finding.text.starts_with("flaky: ")), "{:?}", proof.named);
}

#[test]
fn a_second_clean_copy_that_cannot_be_made_clears_nothing() {
    let mut story = red(&[]);
    story.say(PASS).say("clean-fail two_tests_fail / tests-clean pass=1 fail=2 / not-judged no_space");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
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
fn tests_that_fail_under_exit_0_before_iteration_1_are_work_for_the_agent() {
    let mut story = judged(&[]);
    story.say("tests pass=2 fail=3 exit=0 said=a / certified / saved");
    assert!(story.last().starts_with("agent 1.1 telling {not_proven:"), "{}", story.last());
    assert!(story.last().contains("3 tests fail although it exits with 0"), "{}", story.last());
    story.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=5 exit=0 said=b / tests-clean pass=5");
    story.say("clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert!(strength(&story).starts_with("red before, "), "{}", strength(&story));
}

// req: RT-R6
#[test]
fn tests_that_still_fail_under_exit_0_are_never_verified_where_nothing_else_was_red_or_the_exit_code_is_hidden() {
    let tee = [("promise", "make test | tee log"), ("gate", "new=make new"), ("max_iterations", "2")];
    for (settings, first, then) in [
        (&tee[2..], "tests pass=2 fail=3 exit=0 said=a / certified", "tests pass=2 fail=3 exit=0 said=b"),
        (&tee[..], "tests pass=2 fail=3 exit=0 said=a / fail", "tests pass=2 fail=3 exit=0 said=b / pass"),
    ] {
        let mut story = judged(settings);
        story.say(first).say("saved");
        assert!(story.last().starts_with("agent 1.1"), "{}", story.last());
        story.say("agent-ok / saved-as iter-001 / changed 1").say(then).say("certified / saved");
        assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
        story.say("agent-ok / saved-as iter-002 / changed 1").say(then).say("certified");
        assert!(story.last().starts_with("END passed_but"), "{}", story.last());
    }
}

// req: RT-R5, RT-R7
#[test]
fn tests_that_must_stay_and_are_gone_are_told_unless_the_gate_chooses_them_anew_each_time() {
    let mut story = red(&[]);
    story.say("tests pass=3 missing=t::one,t::two said=b");
    assert_eq!(story.last(), "judge initial", "does the gate run the same tests each time?");
    story.say("tests-clean pass=1 fail=2 same=exactly");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().contains("tests are gone, renamed or skipped: t::one, t::two"), "{}", story.last());
}

#[test]
fn tests_that_the_task_asks_to_remove_are_named_and_their_number_is_not_missed() {
    let mut story = red(&[]);
    story.say("tests pass=2 asked=t::one said=b / tests-clean pass=2 asked=t::one / clean-fail x / clean-fail x");
    story.say("hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let proof = story.state.over.clone().unwrap().proof.unwrap();
    let named = "promise: tests that the task asks to remove or rename do not run any more: t::one";
    assert_eq!(proof.named.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), [named]);
    assert_eq!(proof.weaker, Vec::<String>::new());
}

#[test]
fn fewer_tests_than_in_any_round_are_told() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b").say(SAME).say("certified / saved");
    assert!(story.last().contains("promise: 3 tests ran before, 2 now"), "{}", story.last());
}

#[test]
fn a_canary_that_the_gates_do_not_notice_is_evidence() {
    let mut story = red(&[]);
    story.say(PASS).say(CLEAN).say("clean");
    assert_eq!(story.last(), "certify {iteration:1}", "no further probe is tried");
    story.say("certified / saved");
    assert!(story.last().contains("a failing test was added to a copy"), "{}", story.last());
}

#[test]
fn old_sources_that_the_gates_do_not_notice_are_evidence_where_a_test_failed_before() {
    let mut story = red(&[]);
    story.say(PASS).say(CLEAN).say("clean-fail x / clean / certified / saved");
    assert!(story.last().contains("with the sources of the start"), "{}", story.last());
}

#[test]
fn what_is_accepted_from_the_start_is_named_with_the_proof() {
    let mut story = red(&[("accept", "renamed-tests")]);
    story.say("tests pass=3 missing=t::one said=b");
    assert_eq!(story.last(), "judge final", "what is accepted does not keep the pass from being judged");
    story.say("tests-clean pass=3 missing=t::one / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(story.state.over.unwrap().proof.unwrap().named.len(), 1);
}

#[test]
fn a_limit_that_is_reached_after_a_pass_that_is_not_believed_says_so() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say("tests pass=2 said=b").say(SAME).say("certified");
    let end = "END passed_but (not_proven): the promise passes, but promise: 3 tests ran before, 2 now; ";
    assert!(story.last().starts_with(end), "{}", story.last());
}

#[test]
fn strength_that_is_required_and_not_shown_needs_a_person() {
    let mut story = red(&[("strength", "require")]);
    story.say(PASS).say(CLEAN).say("no-probe no_canary_for_make / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END passed_but (not_proven)"), "{}", story.last());
}

#[test]
fn a_person_accepts_a_pass_that_something_speaks_against() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say("tests pass=2 said=b").say(SAME).say("certified");
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

// req: RT-R6
#[test]
fn a_clean_copy_in_which_tests_fail_under_exit_0_disagrees() {
    let mut story = red(&[]);
    story.say(PASS).say("tests-clean pass=1 fail=2 exit=0");
    assert_eq!(story.last(), "judge initial");
    story.say(SAME).say("clean-fail x / certified / saved");
    assert!(story.last().contains("promise (exit 0): 2 tests fail"), "{}", story.last());
}

// req: RT-R5
#[test]
fn a_clean_copy_that_lacks_tests_of_the_workspace_disagrees() {
    for copy in ["tests-clean pass=2", "tests-clean pass=3 missing=t::one", "clean"] {
        let mut story = red(&[]);
        story.say(PASS).say(copy);
        assert_eq!(story.last(), "judge initial", "{copy}");
        story.say(SAME).say("clean-fail x / certified / saved");
        assert!(story.last().contains("but not in a clean copy of the same files"), "{copy}: {}", story.last());
    }
}

#[test]
fn a_gate_that_may_be_trusted_is_believed_by_its_exit_code_in_a_clean_copy_too() {
    let mut story = judged(&[("promise", ""), ("gate", "t[trust-exit]=make test")]);
    story.say("tests pass=1 fail=2 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=3 said=b / clean");
    assert_eq!(story.last(), "judge canary");
}

#[test]
fn names_that_differ_only_in_brackets_are_compared_in_a_clean_copy_that_is_run_twice() {
    let mut story = red(&[]);
    story.say("tests pass=3 other=t::one[0x7f] said=b");
    assert_eq!(story.last(), "judge final", "nothing speaks against it yet");
    story.say("tests-clean pass=3 other=t::one[0x8f] same=without_brackets");
    assert_eq!(story.last(), "judge canary");
    story.say("clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert!(story.state.over.unwrap().proof.unwrap().named.is_empty());
}

#[test]
fn names_whose_brackets_are_the_same_in_two_runs_of_one_tree_were_changed_by_the_agent() {
    let mut story = red(&[]);
    story.say("tests pass=3 other=t::one[big] said=b / tests-clean pass=3 other=t::one[big] same=exactly");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().contains("tests are gone, renamed or skipped: t::one[big]"), "{}", story.last());
}

#[test]
fn without_clean_copies_names_are_compared_without_their_brackets() {
    let mut story = red(&[("judge", "workspace")]);
    story.say("tests pass=3 other=t::one[0x7f] said=b / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
}

#[test]
fn a_gate_that_runs_other_tests_each_time_on_the_initial_tree_is_selective_and_that_is_said() {
    let mut story = red(&[]);
    story.say("tests pass=2 said=b / tests-clean pass=1 fail=1 same=no");
    assert_eq!(story.last(), "judge final", "the rule is off");
    story.say("tests-clean pass=1 / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let named = story.state.over.unwrap().proof.unwrap().named;
    assert!(named.iter().any(|finding| finding.text.contains("it does not run the same tests each time")), "{named:?}");
}

#[test]
fn a_clean_copy_that_lacks_tests_is_judged_again_when_the_gate_turns_out_to_be_selective() {
    let mut story = red(&[]);
    story.say(PASS).say("tests-clean pass=2 / tests-clean pass=1 fail=1 same=no");
    assert_eq!(story.last(), "judge final");
    story.say("tests-clean pass=2");
    assert_eq!(story.last(), "judge canary");
}

#[test]
fn an_agent_that_changes_only_ignored_files_does_not_make_a_gate_selective() {
    let mut story = red(&[]);
    // The same tree and another number of tests, both times failing.
    story.say("tests pass=1 fail=2 said=b / saved / agent-ok / saved-as iter-001 / changed 0");
    story.say("tests pass=1 fail=1 said=c / saved / agent-ok / saved-as iter-003 / changed 1");
    story.say("tests pass=2 said=d").say(SAME);
    assert_eq!(story.last(), "certify {iteration:3}");
    story.say("certified");
    assert!(story.last().contains("3 tests ran before, 2 now"), "{}", story.last());
}

#[test]
fn where_all_tests_are_named_a_new_test_that_goes_again_is_not_missed_by_count() {
    let mut story = red(&[]);
    story.say("tests pass=4 fail=1 named=all said=b / saved / agent-ok / saved-as iter-002 / changed 1");
    story.say("tests pass=4 named=all said=c");
    assert_eq!(story.last(), "judge final");
}

#[test]
fn tests_that_failed_under_exit_0_before_iteration_1_are_accepted_by_count_where_no_names_are_known() {
    let mut story =
        judged(&[("accept", "failing-tests"), ("promise", ""), ("gate", "t=make test"), ("max_iterations", "2")]);
    story.say("tests pass=2 fail=1 exit=0 said=a");
    assert_eq!(story.last(), "judge final");
}

#[test]
fn red_before_says_how_a_gate_failed_on_the_initial_tree() {
    let how = |first: &str| {
        let mut story = judged(&[]);
        story.say(first).say("saved / agent-ok / saved-as iter-001 / changed 1").say(PASS);
        story.say("tests-clean pass=3 / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
        let strength = story.state.over.unwrap().proof.unwrap().strength.unwrap();
        (strength.red_before, strength.text().split(", ").next().unwrap().to_owned())
    };
    let said = |text: &str| text.to_owned();
    assert_eq!(how("tests pass=1 fail=2 said=a"), (RedBefore::Assertion, said("red before")));
    let no_build = (RedBefore::DidNotBuild, said("red before (it did not build)"));
    assert_eq!(how("fail could not compile"), no_build);
    assert_eq!(how("tests fail=1 files=only said=a"), no_build);
    assert_eq!(how("fail nothing to run"), (RedBefore::NoTestResult, said("red before (no test ran)")));
}

#[test]
fn a_gate_that_shows_no_tests_was_red_before_without_tests() {
    let mut story = judged(&[]);
    story.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / clean / clean-fail x / clean-fail x");
    story.say("hunks 1 1 1 / certified");
    let strength = story.state.over.unwrap().proof.unwrap().strength.unwrap();
    assert_eq!(strength.red_before, RedBefore::FailedWithoutTests);
}

/// Two gates, of which the first passes before iteration 1 although tests fail.
fn with_known_failures() -> Story {
    let mut story = judged(&[("promise", ""), ("gate", "known=make known\nnew=make new")]);
    story.say("tests pass=2 fail=1 exit=0 said=a / tests pass=0 fail=1 said=a / saved");
    story.say("agent-ok / saved-as iter-001 / changed 1");
    story
}

#[test]
fn what_failed_under_exit_0_before_iteration_1_is_named_and_not_counted() {
    let mut story = with_known_failures();
    story.say("tests pass=2 fail=1 exit=0 said=b / tests pass=1 said=b");
    assert_eq!(story.last(), "judge final");
    story.say("on-copy tests pass=3 && tests pass=1 / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let named = story.state.over.unwrap().proof.unwrap().named;
    assert!(named[0].text.ends_with("1 test fail although it exits with 0, as before iteration 1"), "{named:?}");
}

#[test]
fn one_more_failing_test_under_exit_0_than_before_iteration_1_is_not_a_pass() {
    let mut story = with_known_failures();
    story.say("tests pass=1 fail=2 exit=0 said=b / tests pass=1 said=b / saved");
    assert!(story.last().starts_with("agent 2.1"), "{}", story.last());
}

#[test]
fn as_many_failing_tests_with_other_names_than_before_iteration_1_are_not_a_pass() {
    let mut story = with_known_failures();
    story.say("tests pass=2 fail=1 since=t::other exit=0 said=b / tests pass=1 said=b / saved");
    assert!(story.last().starts_with("agent 2.1"), "{}", story.last());
}

// req: RT-R7
#[test]
fn the_first_round_that_can_count_takes_the_place_of_a_baseline_that_did_not_build() {
    let mut story = judged(&[]);
    story.say("fail could not compile / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=1 fail=2 said=b / saved / agent-ok / saved-as iter-002 / changed 1");
    story.say("tests pass=1 said=c / clean-fail could_not_compile / certified / saved");
    assert!(story.last().contains("promise: 3 tests ran before, 1 now"), "{}", story.last());
}

#[test]
fn no_test_where_some_ran_before_is_not_a_pass() {
    let mut story = red(&[]);
    story.say("tests pass=0 exit=0 said=b / saved");
    assert_eq!(story.last(), "agent 2.1");
}

// req: RT-R8
#[test]
fn a_pass_on_files_on_which_the_gate_failed_is_believed_only_with_a_clean_copy() {
    let same = |settings: &[(&str, &str)], copies: &str| {
        let mut story = judged(settings);
        story.say("fail / saved / agent-ok / saved-as initial / changed 0 / pass");
        if !copies.is_empty() {
            story.say(copies);
        }
        story.say("certified");
        story.last().to_owned()
    };
    let believed = same(&[], "clean / clean-fail x / clean-fail x / hunks 1 1 1");
    assert!(believed.starts_with("END verified"), "{believed}");
    let alone = same(&[], "not-judged no_copy_can_be_made / not-judged no_copy_can_be_made");
    assert!(alone.starts_with("END passed_but") && alone.contains("it failed on the same files before"), "{alone}");
    let chosen = same(&[("judge", "workspace")], "");
    assert!(chosen.starts_with("END verified"), "who lets only the workspace decide gets that: {chosen}");
}

#[test]
fn a_tree_is_judged_in_a_clean_copy_once_in_a_run() {
    let mut story = red(&[("strength", "off")]);
    // A canary that is not noticed would end it; here the copy agrees, and a swapped file is told later.
    story.say(PASS).say("clean-fail x").say(SAME).say("clean-fail x / certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling"), "{}", story.last());
    story.say("agent-ok / saved-as iter-001 / changed 0").say(PASS);
    assert_ne!(story.last(), "judge final", "the same tree: its answer is known");
}

#[test]
fn that_a_project_cannot_be_judged_in_a_copy_is_remembered_for_the_run() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("not-judged no_space / not-judged no_space / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let judge = story.state.over.as_ref().unwrap().proof.as_ref().unwrap().judge.clone();
    assert_eq!(judge, Some(ProofJudge::Workspace { why: "no_space".to_owned() }));
    story.say("reopened max_iterations=9");
    assert_eq!(story.state.proving.workspace_only().map(|only| only.why.as_str()), Some("no_space"));
}

#[test]
fn what_a_clean_copy_lacks_is_told_with_its_disagreement_and_what_it_took_from_the_agent_with_the_proof() {
    let copy = |remark: Remark, passes: bool| {
        let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(i32::from(!passes)), "x") else { unreachable!() };
        let tests = Some(Box::new(TestsSeen { passed: 3, ..TestsSeen::default() }));
        let verdict = if passes { Verdict::Pass } else { Verdict::Fail };
        let report = GateReport { tests, ..report };
        let gates = vec![JudgedGate { gate: 0, verdict, tries: 1, report, contradiction: None, same_tests: None }];
        let remarks = vec![remark];
        Answer::Judged(Box::new(JudgeReport { gates, remarks, ..JudgeReport::default() }))
    };
    let answered = |story: &mut Story, answer: Answer| {
        let order = story.state.main_order().unwrap().0;
        story.wait(1).happen(9_000, Event::Answered { order, answer });
    };
    let mut story = red(&[("strength", "off")]);
    story.say(PASS);
    let left_out = LeftOut { files: NameList::of(["local/ok"].into_iter()), changed: true, has_setup: false };
    answered(&mut story, copy(Remark::LeftOut(left_out), false));
    story.say(SAME).say("clean-fail x / certified / saved");
    assert!(story.last().contains("because they changed since the start: 1 (local/ok)"), "{}", story.last());
    let mut story = red(&[("strength", "off")]);
    story.say(PASS);
    let installed = "node_modules is as the agent installed it, because the list of dependencies changed";
    answered(&mut story, copy(Remark::Note(installed.to_owned()), true));
    story.say("certified");
    assert_eq!(story.state.over.unwrap().proof.unwrap().judge_remarks, [installed]);
}

#[test]
fn a_damaged_record_for_clean_copies_ends_the_run_as_unable() {
    let mut story = red(&[]);
    story.say(PASS).say("blocked the record is missing");
    assert_eq!(story.last(), "END unable (fatal_error): the record is missing");
}

#[test]
fn the_hash_of_the_record_for_clean_copies_is_taken_from_the_journal() {
    let mut story = judged(&[]);
    story.say("fail");
    let order = story.state.main_order().unwrap().0;
    let report = CheckpointReport { judge_baseline: Some("abc".to_owned()), ..CheckpointReport::default() };
    story.happen(900, Event::Answered { order, answer: Answer::Checkpoint(report) });
    assert_eq!(story.state.proving.baseline(), Some("abc"));
}

#[test]
fn how_far_a_runner_came_that_stops_at_the_first_failure_is_not_compared() {
    let mut story = judged(&[]);
    story.say("tests pass=5 fail=1 early=yes said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=9 said=b / clean-fail a_test_fails / tests-clean pass=2 fail=1 early=yes");
    assert_eq!(story.last(), "judge again", "the initial copy is like the baseline");
    story.say("clean-fail a_test_fails");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().contains("but not in a clean copy of the same files"), "{}", story.last());
}

/// A loop whose gate shows no tests, after an iteration and a pass that a clean copy shares.
fn without_tests() -> Story {
    let mut story = judged(&[]);
    story.say("fail / saved / agent-ok / saved-as iter-001 / changed 1 / pass / clean / no-probe no_runner");
    assert_eq!(story.last(), "judge undone");
    story
}

fn named(story: Story) -> Vec<String> {
    let proof = story.state.over.unwrap().proof.unwrap();
    assert!(proof.verified);
    proof.named.into_iter().map(|named| named.text).collect()
}

#[test]
fn a_gate_without_tests_that_passes_with_the_sources_of_the_start_is_named() {
    let mut story = without_tests();
    story.say("clean / hunks 1 1 0 / certified");
    assert_eq!(story.last(), "END verified (goal_complete): the promise passes after 1 iteration");
    assert_eq!(named(story), ["with the sources of the start and the tests of now the gates still pass"]);
}

#[test]
fn a_new_file_that_make_reads_needs_a_person_where_the_gates_pass_without_the_work() {
    let mut story = without_tests();
    story.say("clean / hunks 0 0 0 / certified +new_runner_file:GNUmakefile");
    let end = "END passed_but (not_proven): the promise passes, but files that a test runner reads are new or changed";
    assert!(story.last().starts_with(end), "{}", story.last());
}

#[test]
fn a_new_file_that_make_reads_is_only_named_where_the_gates_need_the_work() {
    let mut story = without_tests();
    story.say("clean-fail x / hunks 1 1 1 / certified +new_runner_file:GNUmakefile");
    assert_eq!(named(story), ["files that a test runner reads are new or changed: GNUmakefile"]);
}

#[test]
fn files_of_the_gates_and_lines_to_look_at_are_only_named() {
    let mut story = without_tests();
    story.say("clean-fail x / hunks 1 1 1");
    story.say("certified +gate_file:expected.txt;+outside_link:a;+suspect_line:a.py:5_ends_the_process");
    let all = [
        "files that the gates or the tests use are new or changed: expected.txt",
        "links lead out of the workspace: a",
        "lines of the change to look at: a.py:5_ends_the_process",
    ];
    assert_eq!(named(story), all);
}

#[test]
fn a_runner_that_passes_without_a_test_is_named() {
    let mut story = judged(&[]);
    story.say("tests pass=0 said=a / clean / certified");
    assert_eq!(named(story), ["promise: it passes, and no test ran"]);
}

/// The text of the strength line of a run that ended.
fn strength(story: &Story) -> String {
    story.state.over.clone().unwrap().proof.unwrap().strength.unwrap().text()
}

#[test]
fn a_copy_that_a_person_stopped_says_nothing_about_the_project() {
    let mut story = red(&[]);
    story.say(PASS).say("abort / judge-stopped");
    assert!(story.last().starts_with("END stopped"), "{}", story.last());
    story.say("reopened / saved").say(PASS);
    assert_eq!(story.last(), "judge final", "it is judged in a copy as before");
    assert_eq!(story.state.proving.workspace_only(), None);
}

#[test]
fn a_set_up_that_fails_only_on_the_final_tree_speaks_against_the_pass() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("setup-failed the setup command failed in the copy (exit 1)");
    assert_eq!(story.last(), "judge initial", "does it work there?");
    story.say(SAME);
    assert_eq!(story.last(), "judge again");
    story.say("setup-failed the setup command failed in the copy (exit 1) / certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
    assert!(story.last().contains("the setup command failed in the copy (exit 1)"), "{}", story.last());
}

#[test]
fn a_set_up_that_fails_on_the_initial_tree_too_leaves_the_workspace_to_decide() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("setup-failed no network / setup-failed no network / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert!(story.state.proving.workspace_only().is_some_and(|only| only.why.contains("no network")));
}

#[test]
fn a_final_tree_that_misses_the_repository_is_no_pass_where_the_initial_tree_does_not() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("no-repository");
    assert_eq!(story.last(), "judge initial", "does it say so, too?");
    story.say(SAME).say("no-repository / certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
    assert_eq!(story.state.proving.workspace_only(), None);
}

#[test]
fn a_project_whose_initial_tree_misses_the_repository_too_is_judged_in_the_workspace_only() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("no-repository / no-repository / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert!(story.state.proving.workspace_only().is_some_and(|only| only.why.contains("a gate needs the repository")));
}

#[test]
fn a_report_that_lacks_a_required_gate_is_not_a_pass() {
    for copy in ["on-copy", "on-copy tests pass=3"] {
        let mut story = judged(&[("promise", ""), ("gate", "a=make a\nb=make b")]);
        story.say("tests pass=1 fail=2 said=a / fail / saved / agent-ok / saved-as iter-001 / changed 1");
        story.say("tests pass=3 said=b / pass").say(copy);
        assert_eq!(story.last(), "judge initial", "{copy}");
        story.say("on-copy tests pass=1 fail=2 said=a && fail").say(copy);
        story.say("certified / saved");
        assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{copy}: {}", story.last());
    }
}

#[test]
fn tests_that_all_passed_before_iteration_1_are_not_called_no_tests() {
    let mut story = judged(&[]);
    story.say("tests pass=10 exit=1 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=10 said=b / tests-clean pass=10 / clean-fail x / clean-fail x / hunks 1 1 1 / certified");
    assert!(strength(&story).starts_with("red before (its tests passed), "), "{}", strength(&story));
}

#[test]
fn a_clean_copy_that_does_not_pass_and_is_accepted_is_the_reason_for_the_workspace_to_decide() {
    let mut story = red(&[("accept", "clean-copy"), ("strength", "off")]);
    story.say(PASS).say("clean-fail two_tests_fail").say(SAME).say("clean-fail two_tests_fail / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    let judge = story.state.over.unwrap().proof.unwrap().judge;
    let Some(ProofJudge::Workspace { why }) = judge else { panic!("{judge:?}") };
    assert!(why.starts_with("a clean copy does not pass, which was accepted"), "{why}");
}

#[test]
fn a_second_copy_that_opened_files_of_the_workspace_clears_nothing() {
    let mut story = red(&[]);
    story.say(PASS).say("clean-fail one_test_fails").say(SAME).say("opened-workspace tests pass=3");
    assert_eq!(story.last(), "certify {iteration:1}");
    story.say("certified / saved");
    assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.last());
}

#[test]
fn a_gate_that_is_only_watched_does_not_decide_whether_a_project_can_be_judged_in_a_copy() {
    let mut story = judged(&[("promise", ""), ("gate", "t=make test\nlint[watch]=make lint"), ("strength", "off")]);
    story.say("tests pass=1 fail=2 said=a / fail / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=3 said=b / fail / clean-fail x / on-copy tests pass=1 fail=2 said=a && pass");
    assert_eq!(story.last(), "judge again");
}

#[test]
fn probes_that_were_not_tried_because_the_time_was_up_are_named() {
    let mut story = red(&[("max_time", "10m")]);
    story.say(PASS).wait(700_000).say(CLEAN).say("certified");
    assert!(story.last().starts_with("END verified"), "{}", story.last());
    assert_eq!(strength(&story), "red before, canary, undo and hunks not tried (out of time)");
}

#[test]
fn probes_that_were_not_tried_after_a_missed_one_are_named() {
    let mut story = red(&[("max_iterations", "1")]);
    story.say(PASS).say(CLEAN).say("clean / certified");
    let text = "red before, canary NOT noticed, undo and hunks not tried (the canary was not noticed)";
    assert_eq!(strength(&story), text);
}

#[test]
fn pieces_of_the_change_for_which_no_time_is_left_are_named() {
    let mut story = red(&[]);
    story.say(PASS).say(CLEAN).say("on-copy tests pass=3 fail=1 ms=20000 / on-copy tests fail=3 ms=20000");
    story.say("certified");
    assert!(strength(&story).ends_with("undo noticed, hunks not tried (out of time)"), "{}", strength(&story));
}

#[test]
fn only_required_gates_are_named_as_weaker_where_tests_must_be_kept() {
    let gates = [("promise", ""), ("gate", "t=make test\nother[watch]=make other")];
    let kept = [("require_tests_kept", "true"), ("accept", "renamed-tests"), ("judge", "workspace")];
    let mut story = judged(&[gates[0], gates[1], kept[0], kept[1], kept[2]]);
    story.say("tests pass=2 fail=1 said=a / tests pass=5 said=a / saved / agent-ok / saved-as iter-001 / changed 1");
    story.say("tests pass=2 skip=1 said=b / tests pass=4 said=b / certified / saved");
    assert!(story.last().contains("the tests are weaker: t: 0 tests were skipped"), "{}", story.last());
    assert!(!story.last().contains("other:"), "{}", story.last());
}

/// A copy of the initial tree that lacks these changed ignored files, and for that reason says something else.
fn without_ignored(story: &mut Story, files: &[&str]) {
    let Answer::GateEnded(report) = crate::play::gate(Ended::Exit(1), "no module app") else { unreachable!() };
    let gate = JudgedGate { gate: 0, verdict: Verdict::Fail, tries: 1, report, contradiction: None, same_tests: None };
    let left_out = LeftOut { files: NameList::of(files.iter().copied()), changed: true, has_setup: false };
    let remarks = vec![Remark::LeftOut(left_out)];
    let report = JudgeReport { gates: vec![gate], remarks, ..JudgeReport::default() };
    let order = story.state.main_order().unwrap().0;
    story.wait(1).happen(9_000, Event::Answered { order, answer: Answer::Judged(Box::new(report)) });
}

#[test]
fn changed_ignored_files_that_no_copy_has_are_named_with_every_word_for_the_end() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("clean-fail no_module");
    without_ignored(&mut story, &["node_modules/app/index.js", "node_modules/app/run.js"]);
    story.say("certified");
    let words = "verified in the workspace only, with changed ignored files (node_modules/app/index.js and 1 more)";
    assert_eq!(end_words(&story.state).as_deref(), Some(words));
    let text = "ignored files changed since the start and may have decided: node_modules/app/index.js, \
                node_modules/app/run.js";
    assert_eq!(Certificate::of(&story.state).unwrap().named[0].text, text);
    assert_eq!(named(story), [text]);
}

#[test]
fn changed_ignored_files_are_remembered_for_the_later_passes_of_the_run() {
    let mut story = red(&[("require_tests_kept", "true")]);
    story.say(PASS).say("clean-fail no_module");
    without_ignored(&mut story, &["dist/a.js"]);
    story
        .say("certified weaker_makefile / saved / agent-ok / saved-as iter-002 / changed 1")
        .say(PASS)
        .say("certified");
    assert!(named(story).iter().any(|text| text.ends_with("may have decided: dist/a.js")));
}

#[test]
fn changed_ignored_files_that_are_accepted_from_the_start_are_counted_as_accepted() {
    let mut story = red(&[("accept", "ignored-files"), ("strength", "off")]);
    story.say(PASS).say("clean-fail no_module");
    without_ignored(&mut story, &["dist/a.js"]);
    story.say("certified");
    let words = "verified in the workspace only, 1 finding accepted by you";
    assert_eq!(end_words(&story.state).as_deref(), Some(words));
}

#[test]
fn a_copy_of_the_final_tree_that_cannot_be_judged_speaks_against_the_pass_where_one_of_the_initial_tree_can() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("not-judged signal_9").say(SAME);
    assert_eq!(story.last(), "judge again", "it may have been chance");
    story.say("not-judged signal_9 / certified / saved");
    assert!(story.last().contains("a clean copy of these files cannot be judged"), "{}", story.last());
}

#[test]
fn a_copy_that_cannot_be_judged_once_is_not_called_flaky() {
    let mut story = red(&[("strength", "off")]);
    story.say(PASS).say("not-judged no_space").say(SAME).say(CLEAN).say("certified");
    assert_eq!(end_words(&story.state).as_deref(), Some("verified"));
}

#[test]
fn changed_files_of_agents_and_ci_are_in_the_certificate() {
    let mut story = without_tests();
    story.say("clean-fail x / hunks 1 1 1");
    let context_files = vec!["AGENTS.md".to_owned(), ".github/workflows/ci.yml".to_owned()];
    let answer = Answer::Certify(CertifyReport { context_files: context_files.clone(), ..CertifyReport::default() });
    let order = story.state.main_order().unwrap().0;
    story.wait(1).happen(9_000, Event::Answered { order, answer });
    let certificate = Certificate::of(&story.state).unwrap();
    assert!(certificate.words().ends_with("changed files of agents and CI: AGENTS.md, .github/workflows/ci.yml"));
    assert_eq!(certificate.context_files, context_files);
}

#[test]
fn strength_is_shown_by_red_before_and_by_both_probes_together() {
    use ProbeResult::{NotNoticed, Noticed};
    let is_shown = |red_before, canary: &ProbeResult, undo: &ProbeResult| {
        let report =
            StrengthReport { red_before, canary: canary.clone(), undo: undo.clone(), ..StrengthReport::default() };
        consult(|deciding| report.is_shown(deciding))
    };
    assert!(is_shown(RedBefore::Assertion, &Noticed, &Noticed) && is_shown(RedBefore::DidNotBuild, &Noticed, &Noticed));
    assert!(!is_shown(RedBefore::No, &Noticed, &Noticed));
    for (canary, undo) in [(Noticed, NotNoticed), (NotNoticed, Noticed), (Noticed, ProbeResult::default())] {
        assert!(!is_shown(RedBefore::Assertion, &canary, &undo), "{canary:?} {undo:?}");
    }
}
