//! Protected files: looked at after the agent and after the gates, put back, told, or the end; and weaker tests.
use expect_test::expect;

use loop_core::run::{Decision, Fact};

use crate::play::Story;

/// A loop with two protected files, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let mut story = Story::guarded(settings);
    story.say("opened / guarded 2 / saved-as initial / fail / guarded 2 / saved");
    story
}

#[test]
fn protected_files_are_kept_first_and_looked_at_after_the_agent_and_after_the_gates() {
    let mut story = story(&[]);
    story.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / pass / guarded 2 / certified");
    expect![[r#"
        guard start
        checkpoint initial
        gate baseline
        guard {gates:baseline}
        checkpoint initial+
        agent 1.1
        guard {agent:[1,1]}
        checkpoint iter-001
        measure 1
        gate {iteration:1}
        guard {gates:{iteration:1}}
        certify {iteration:1}
        END verified (goal_complete): the promise passes after 1 iteration"#]]
    .assert_eq(&story.tail(20));
}

#[test]
fn where_nothing_is_protected_nobody_looks_again() {
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 0 / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1 / fail");
    assert_eq!(story.last(), "checkpoint iter-001+");
}

#[test]
fn what_the_agent_changed_is_put_back_before_the_checkpoint_and_told() {
    let mut story = story(&[]);
    story.say("agent-ok / restored check.sh / saved-as iter-001 / changed 0 / fail / guarded 2 / saved");
    expect![[r#"
        guard {agent:[1,1]}
        checkpoint iter-001
        measure 1
        gate {iteration:1}
        guard {gates:{iteration:1}}
        checkpoint iter-001+
        agent 2.1 telling {tampered:{files:[check.sh],restored:true,by_gates:false}}"#]]
    .assert_eq(&story.tail(7));
    assert_eq!(story.state.guard.times(), 1);
}

#[test]
fn gates_that_hold_on_files_that_were_put_back_are_believed() {
    let mut story = story(&[]);
    story.say("agent-ok / restored check.sh / saved-as iter-001 / changed 1 / pass / guarded 2 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

#[test]
fn gates_that_change_protected_files_are_not_believed() {
    let mut story = story(&[]);
    story.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / pass / restored check.sh,b / saved");
    assert_eq!(story.last(), "agent 2.1 telling {tampered:{files:[check.sh,b],restored:true,by_gates:true}}");
    story.say("agent-ok / guarded 2 / saved-as iter-002 / changed 1 / pass / guarded 2 / certified");
    assert!(story.last().starts_with("END verified"), "the next answer counts again: {}", story.told);
}

// req: D-21 partly: tamper
#[test]
fn tamper_can_be_the_end_and_says_who_and_what() {
    let stop = [("on_tamper", "stop")];
    let mut agent = story(&stop);
    agent.say("agent-ok / tampered check.sh / saved-as iter-001 / changed 0 / pass / guarded 2");
    assert_eq!(agent.last(), "END tampered (tamper): protected files were changed by the agent: check.sh");
    assert_eq!(agent.state.standing().unwrap().exit_code, 1);
    let mut gates = story(&stop);
    gates.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / pass / tampered check.sh");
    assert_eq!(gates.last(), "END tampered (tamper): protected files were changed while the gates ran: check.sh");
}

#[test]
fn tamper_that_stops_comes_before_a_stop_a_cap_and_kept_gates_and_after_an_abort() {
    let bad = "agent-ok / tampered check.sh / saved-as iter-001 / changed 0";
    let mut first = story(&[("on_tamper", "stop"), ("max_iterations", "1")]);
    first.say(bad).say("stop / pass / guarded 2");
    assert!(first.last().starts_with("END tampered"), "{}", first.told);
    let mut abort = story(&[("on_tamper", "stop")]);
    abort.say(bad).say("abort / gate-by-us");
    assert!(abort.last().starts_with("END stopped"), "{}", abort.told);
}

#[test]
fn a_run_that_tamper_stopped_goes_on_when_it_is_opened_again() {
    let mut story = story(&[("on_tamper", "stop")]);
    story.say("agent-ok / tampered check.sh / saved-as iter-001 / changed 0 / fail / guarded 2");
    story.say("reopened / guarded 2 / saved / fail / guarded 2 / saved");
    assert!(story.last().starts_with("agent 2.1"), "{}", story.told);
    let mut kept = self::story(&[("on_tamper", "stop")]);
    kept.say("agent-ok / guarded 2 / saved-as iter-001 / changed 0 / pass / tampered check.sh");
    kept.say("reopened / guarded 2 / saved / pass / guarded 2 / certified");
    assert!(kept.last().starts_with("END verified"), "{}", kept.told);
}

#[test]
fn where_tamper_is_allowed_nothing_is_told_and_nothing_depends_on_it() {
    let mut story = story(&[("on_tamper", "allow")]);
    story.say("agent-ok / tampered check.sh / saved-as iter-001 / changed 1 / fail / tampered check.sh / saved");
    assert_eq!(story.last(), "agent 2.1");
    story.say("agent-ok / tampered check.sh / saved-as iter-002 / changed 1 / pass / tampered check.sh / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

#[test]
fn files_that_could_not_be_put_back_are_never_a_tree_that_is_done() {
    let mut story = story(&[]);
    story.say("agent-ok / tampered check.sh / saved-as iter-001 / changed 1 / pass / guarded 2 / saved");
    assert!(story.last().starts_with("agent 2.1 telling {tampered:"), "{}", story.told);
}

#[test]
fn an_attempt_that_came_to_nothing_or_left_its_block_out_is_looked_at_as_the_agents() {
    let mut limited = story(&[]);
    limited.say("agent-heard rate_limit=900 / restored check.sh");
    assert!(limited.told.contains("guard {agent:[1,1]}\n"), "{}", limited.told);
    assert!(limited.last().starts_with("hold limit"), "{}", limited.told);
    let mut silent = Story::guarded(&[("agent", "claude"), ("promise", ""), ("no_promise", "true")]);
    silent.say("opened / guarded 2 / saved-as initial / saved / agent-heard session=s1");
    assert_eq!(silent.last(), "guard {agent:[1,1]}");
    silent.say("restored check.sh");
    let told = "telling {status_missing:{why:null}} {tampered:{files:[check.sh],restored:true,by_gates:false}}";
    assert_eq!(silent.last(), format!("agent 1.2 in s1 only for its status {told}"));
}

#[test]
fn after_a_crash_while_files_were_put_back_the_gates_judge_anew() {
    let mut story = story(&[]);
    story.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / pass");
    assert_eq!(story.last(), "guard {gates:{iteration:1}}");
    story.say("opened / cleaned / saved");
    assert_eq!(story.last(), "gate {reopened:1}", "nobody knows what they had judged");
    story.say("pass / guarded 2 / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

#[test]
fn what_the_agent_changed_is_never_taken_for_a_persons_change_when_the_run_is_opened_again() {
    let mut story = story(&[("on_tamper", "stop")]);
    story.say("agent-ok / tampered check.sh / saved-as iter-001 / changed 0 / pass / tampered check.sh");
    assert!(story.last().starts_with("END tampered"), "{}", story.told);
    story.say("reopened");
    assert_eq!(story.last(), "guard {agent:[1,1]}", "looked at as the agent's, not adopted");
    story.say("tampered check.sh / saved / pass / tampered check.sh");
    assert!(story.last().starts_with("END tampered"), "{}", story.told);
    // A person's own change, of a run that ended without tamper, holds before the gates judge.
    let mut person = self::story(&[("max_iterations", "1")]);
    person.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / fail / guarded 2");
    person.say("reopened");
    assert_eq!(person.last(), "guard people");
}

#[test]
fn after_a_rollback_nothing_of_the_tamper_before_it_counts() {
    let mut story = story(&[("judge", "auto")]);
    story.say("agent-ok / guarded 2 / saved-as iter-001 / changed 1 / pass / restored check.sh");
    story.say("rollback initial / saved / rolled-back initial / guarded 2 / pass / guarded 2 / clean / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

/// A loop whose gate ran ten tests at the start, one of them left out, and failed.
fn tested(settings: &[(&str, &str)]) -> Story {
    let mut story = Story::checkpointed(settings);
    story.say("opened / saved-as initial / tests pass=8 fail=1 skip=1 said=a / saved");
    story
}

const REQUIRE: (&str, &str) = ("require_tests_kept", "true");

#[test]
fn fewer_tests_are_not_done_and_are_shown_in_the_proof_where_they_are_accepted() {
    let fewer = "agent-ok / saved-as iter-001 / changed 1 / tests pass=8 gone=t::gone said=b / certified";
    let mut shown = tested(&[("accept", "renamed-tests")]);
    shown.say(fewer);
    assert!(shown.last().starts_with("END verified"), "{}", shown.told);
    let proof = shown.state.over.unwrap().proof.unwrap();
    assert_eq!(proof.weaker, ["promise: 10 tests at the start, 8 now (gone: t::gone)"]);
    assert!(proof.verified && proof.checkpoint.as_deref() == Some("iter-001"));
    let mut required = tested(&[REQUIRE]);
    required.say(fewer).say("saved");
    let told = "agent 2.1 telling {not_proven:{findings:[promise: 9 tests ran before, 8 now,the tests are weaker: promise: 10 tests at the start, 8 now (gone: t::gone)]}}";
    assert_eq!(required.last(), told);
    required.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=9 skip=1 said=c / certified");
    assert!(required.last().starts_with("END verified"), "as many as before is enough: {}", required.told);
}

#[test]
fn more_skipped_tests_no_tests_at_all_and_another_test_command_are_weaker_too() {
    for (gate, certified, how) in [
        (
            "tests pass=8 skip=2 skipped=t::slow said=b",
            "certified",
            "promise: 1 test was skipped at the start, 2 are now (t::slow)",
        ),
        ("tests pass=8 skip=2 said=b", "certified", "promise: 1 test was skipped at the start, 2 are now"),
        ("pass", "certified", "promise: it ran 10 tests at the start, and none now"),
        ("tests pass=9 skip=1", "certified package.json: test was jest", "package.json: test was jest"),
    ] {
        let mut story = tested(&[REQUIRE]);
        story.say("agent-ok / saved-as iter-001 / changed 1").say(gate).say(certified).say("saved");
        assert!(story.last().starts_with("agent 2.1 telling {not_proven:"), "{}", story.told);
        assert!(story.last().ends_with(&format!("the tests are weaker: {how}]}}}}")), "{}", story.told);
    }
    let mut more = tested(&[REQUIRE]);
    more.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=30 skip=1 said=b / certified");
    assert!(more.last().starts_with("END verified"), "{}", more.told);
}

#[test]
fn a_gate_that_told_of_no_tests_at_the_start_cannot_lose_any() {
    for first in ["fail", "tests fail=0 pass=0"] {
        let mut story = Story::checkpointed(&[REQUIRE, ("gate", "lint=x")]);
        story.say("opened / saved-as initial").say(first).say("fail / saved");
        story.say("agent-ok / saved-as iter-001 / changed 1 / pass / pass / certified");
        assert!(story.last().starts_with("END verified"), "{first}: {}", story.told);
    }
}

#[test]
fn tests_of_a_gate_that_is_only_watched_are_shown_and_not_missed() {
    let mut story = Story::checkpointed(&[REQUIRE, ("gate", "lint[watch]=x")]);
    story.say("opened / saved-as initial / fail / tests pass=5 fail=1 / saved");
    story.say("agent-ok / saved-as iter-001 / changed 1 / pass / tests pass=2 said=b / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
    assert_eq!(story.state.over.unwrap().proof.unwrap().weaker, ["lint: 6 tests at the start, 2 now"]);
}

#[test]
fn what_was_said_about_a_proof_is_asked_again_for_every_round() {
    let mut story = tested(&[REQUIRE, ("max_iterations", "1")]);
    story.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=9 skip=1 said=b / certified Makefile: test");
    assert!(story.last().starts_with("END passed_but"), "{}", story.told);
    story.say("reopened / saved / tests pass=9 skip=1 said=b");
    assert_eq!(story.last(), "certify {reopened:1}");
    story.say("certified");
    assert!(story.last().starts_with("END verified"), "a person has mended it: {}", story.told);
}

#[test]
fn what_a_person_did_while_nobody_watched_is_kept_before_the_gates_judge_it() {
    let mut story = Story::checkpointed(&[("max_iterations", "1")]);
    story.say("opened / saved-as initial / fail / saved / agent-ok / saved-as iter-001 / changed 1 / fail");
    story.say("reopened");
    assert_eq!(story.last(), "checkpoint iter-001+");
    story.say("saved-as iter-001+ / pass / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
    let proof = story.state.over.unwrap().proof.unwrap();
    assert_eq!(proof.checkpoint.as_deref(), Some("iter-001+"), "the proof names the tree that was judged");
    assert_eq!(proof.tree.as_deref(), Some("tree of iter-001+"));
}

#[test]
fn whatever_the_first_round_is_called_it_is_what_tests_are_compared_with() {
    let mut story = Story::checkpointed(&[REQUIRE]);
    story.say("opened / saved-as initial / rollback-now initial / gate-by-us / rolled-back initial");
    assert_eq!(story.last(), "gate {rolled_back:0}");
    story.say(
        "tests pass=5 fail=1 / saved / agent-ok / saved-as iter-001 / changed 1 / tests pass=2 said=b / certified",
    );
    assert!(story.state.over.is_none(), "{}", story.told);
    assert_eq!(story.state.progress.best().map(|best| best.iteration), Some(1));
}

#[test]
fn what_a_gate_uses_is_protected_from_the_baseline_on_and_before_any_agent_works() {
    // req: RT-R9
    let mut story = Story::guarded(&[("allow", "run.sh")]);
    story.say("opened / guarded 0 / saved-as initial / uses Makefile lib.sh! sub/run.sh check.sh");
    assert_eq!(story.state.guard.learned(), ["Makefile", "check.sh"]);
    assert_eq!(story.last(), "guard {gates:baseline}");
    story.say("guarded 2 / saved / agent-ok");
    assert_eq!(story.last(), "guard {agent:[1,1]}");
    let decided = story.journal.iter().filter(|entry| matches!(entry.fact, Fact::Decided(Decision::Protect(_))));
    assert_eq!(decided.count(), 1);
}

#[test]
fn a_run_that_was_cut_off_before_the_originals_were_taken_takes_them_when_it_is_opened_again() {
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 0 / saved-as initial / uses Makefile");
    assert_eq!(story.last(), "guard {gates:baseline}");
    story.say("opened / cleaned / saved / fail");
    assert_eq!(story.last(), "guard {gates:{reopened:0}}");
}

/// An iteration in which check.sh was changed and restored.
const RESTORED: &str = "agent-ok / restored check.sh / saved / changed 1 / fail / guarded 2 / saved";

#[test]
fn a_file_that_was_restored_in_two_iterations_in_a_row_is_asked_about_and_not_restored_again() {
    let mut story = story(&[("max_iterations", "9")]);
    story.times(2, RESTORED);
    assert_eq!(story.state.guard.restored_twice_before(3).collect::<Vec<_>>(), ["check.sh"]);
    story.say("agent-ok / tampered check.sh / saved / changed 1 / pass / tampered check.sh");
    let id = &story.state.spec.as_ref().unwrap().id;
    let end = format!(
        "END tampered (tamper): check.sh is protected, was restored in two iterations in a row, and the agent changed \
         it again; if it may: loop resume {id} --allow check.sh"
    );
    assert_eq!(story.last(), end);
}

#[test]
fn a_program_of_the_gate_that_may_be_the_work_is_asked_about_at_its_first_change() {
    let mut story = Story::guarded(&[]);
    story.say("opened / guarded 0 / saved-as initial / uses ./app.py / guarded 1 / saved");
    assert_eq!(story.state.guard.maybe_work(), ["app.py"]);
    story.say("agent-ok / tampered app.py / saved / changed 1 / pass / tampered app.py");
    let id = &story.state.spec.as_ref().unwrap().id;
    let end = format!(
        "END tampered (tamper): app.py is a program of the gate, so it is protected, and the agent changed it; if it is \
         the work: loop resume {id} --allow app.py"
    );
    assert_eq!(story.last(), end);
    story.say("opened");
    assert!(story.state.guard.maybe_work().is_empty(), "a person has seen it: from now on it is restored");
}

#[test]
fn a_file_that_was_left_alone_in_between_is_restored_again() {
    let mut story = story(&[("max_iterations", "9")]);
    story.say(RESTORED);
    story.say("agent-ok / guarded 2 / saved / changed 1 / fail / guarded 2 / saved");
    story.say(RESTORED);
    assert_eq!(story.state.guard.restored_twice_before(4).count(), 0);
    story.say("agent-ok / restored check.sh / saved / changed 1 / fail / guarded 2 / saved");
    assert!(story.last().starts_with("agent 5.1"), "{}", story.last());
}
