//! What fails that had passed, and which state of the workspace is the best.
use expect_test::expect;
use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::policy::rank::{GateScore, Rank};

use crate::play::Story;

/// A loop whose gate passes two tests and fails one, up to its first call.
fn story(settings: &[(&str, &str)]) -> Story {
    let mut story = Story::checkpointed(&[&[("max_iterations", "9")], settings].concat());
    story.say("opened / saved-as initial / tests pass=2 fail=1 said=a");
    if !settings.iter().any(|(name, _)| *name == "gate") {
        story.say("saved");
    }
    story
}

const HARM: &str = "agent-ok / saved-as iter-001 / changed 1 / tests pass=1 fail=2 bad=t::one,t::two said=b";

#[test]
fn tests_that_passed_and_fail_now_are_named_to_the_agent() {
    let mut story = story(&[]);
    story.say(HARM).say("saved");
    assert_eq!(story.last(), "agent 2.1 telling {regressed:{what:[t::one,t::two],reverted:false}}");
    story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=1 fail=2 said=c / saved");
    assert_eq!(story.last(), "agent 3.1", "it is told once");
}

#[test]
fn a_gate_without_tests_that_held_and_does_not_is_named_itself() {
    let mut story = story(&[("gate", "lint=x")]);
    story.say("pass").say("saved");
    story.say(HARM).say("fail / saved");
    assert_eq!(story.last(), "agent 2.1 telling {regressed:{what:[t::one,t::two,the gate lint],reverted:false}}");
    story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=1 fail=2 said=c / fail / saved");
    assert_eq!(story.last(), "agent 3.1", "it had not passed before");
    story.say("agent-ok / saved-as iter-003 / changed 1 / tests pass=1 fail=2 said=d / gate-exit 127 / saved");
    assert_eq!(story.last(), "agent 4.1", "who cannot answer says nothing");
}

#[test]
fn where_harm_is_to_be_kept_nothing_is_told() {
    let mut story = story(&[("on_regression", "keep")]);
    story.say(HARM).say("saved");
    assert_eq!(story.last(), "agent 2.1");
    assert_eq!(story.state.progress.regressed(), ["t::one", "t::two"], "and shown all the same");
}

#[test]
fn where_harm_is_to_be_undone_the_workspace_goes_back_and_the_agent_is_told() {
    let mut story = story(&[("on_regression", "revert")]);
    story.say(HARM).say("rolled-back initial / tests pass=2 fail=1 said=a / saved");
    expect![[r#"
        gate {iteration:1}
        rollback to initial, undone by undo-1
        gate {rolled_back:1}
        checkpoint iter-001+
        agent 2.1 telling {regressed:{what:[t::one,t::two],reverted:true}} {rolled_back:{to:initial}}"#]]
    .assert_eq(&story.tail(5));
    assert_eq!(story.state.progress.streaks().no_progress, 1, "what is undone is no progress");
    assert!(!story.state.checkpoints.is_reverting());
}

#[test]
fn harm_again_and_again_trips_although_it_is_undone_each_time() {
    let mut story = story(&[("on_regression", "revert")]);
    for number in 1..3 {
        story.say(&HARM.replace("iter-001", &format!("iter-00{number}")));
        story.say("rolled-back initial / tests pass=2 fail=1 said=a / saved");
    }
    assert!(story.last().starts_with("agent 3.1"), "{}", story.told);
    story.say(&HARM.replace("iter-001", "iter-003")).say("rolled-back initial / tests pass=2 fail=1 said=a");
    assert!(story.last().starts_with("END tripped (no_progress)"), "{}", story.told);
}

#[test]
fn an_iteration_after_the_undoing_that_changes_nothing_is_no_return() {
    let mut story = story(&[("on_regression", "revert")]);
    story.say(HARM).say("rolled-back initial / tests pass=2 fail=1 said=a / saved");
    story.say("agent-ok / saved-as initial / changed 0 / tests pass=2 fail=1 said=a");
    assert_eq!(story.state.progress.streaks().oscillation, 0);
}

#[test]
fn nothing_is_undone_where_nothing_is_kept_where_it_is_done_or_where_nothing_depends_on_it() {
    let mut none = Story::new(&[("on_regression", "revert")]);
    none.say("opened / saved / tests pass=2 fail=1 said=a").say(HARM);
    assert_eq!(none.last(), "agent 2.1 telling {regressed:{what:[t::one,t::two],reverted:false}}");
    let mut done = story(&[("on_regression", "revert"), ("gate", "lint[watch]=x")]);
    done.say("pass / saved / agent-ok / saved-as iter-001 / changed 1 / tests pass=3 said=b / fail / certified");
    assert!(done.last().starts_with("END verified"), "{}", done.told);
    let mut watched = story(&[("on_regression", "revert"), ("gate", "lint[watch]=x")]);
    watched.say("pass / saved / agent-ok / saved-as iter-001 / changed 1 / tests pass=2 fail=1 said=b / fail / saved");
    assert_eq!(watched.last(), "agent 2.1 telling {regressed:{what:[the gate lint],reverted:false}}");
    let mut asked = story(&[("on_regression", "revert")]);
    asked.say("rollback somewhere").say(HARM);
    assert_eq!(asked.last(), "rollback to somewhere, undone by undo-1", "a person's own wish goes first");
}

#[test]
fn a_better_gate_is_progress_and_a_worse_one_is_not() {
    let mut story = story(&[("max_no_progress", "9")]);
    story.say("agent-ok / saved-as iter-001 / changed 0 / tests pass=3 fail=1 said=b / saved");
    assert_eq!(story.state.progress.streaks().no_progress, 0);
    story.say("agent-ok / saved-as iter-002 / changed 0 / tests pass=2 fail=1 said=c / saved");
    assert_eq!(story.state.progress.streaks().no_progress, 1);
    story.say("agent-ok / saved-as iter-003 / changed 0 / tests pass=4 said=d / certified");
    assert!(story.last().starts_with("END verified"), "{}", story.told);
}

#[test]
fn the_best_state_stays_at_the_end_where_that_is_wanted() {
    let best = |settings: &[(&str, &str)]| {
        let mut story = story(&[&[("max_iterations", "2")], settings].concat());
        story.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=3 fail=1 said=b / saved");
        story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=1 fail=3 said=c");
        story
    };
    let mut story = best(&[("keep", "best"), ("notify", "true")]);
    expect![[r#"
        END exhausted (iteration_limit): 2 iterations done and the promise fails
        rollback to iter-001, undone by undo-1
        notify failed"#]]
    .assert_eq(&story.tail(3));
    let kept = story.state.progress.best().cloned().unwrap();
    assert_eq!((kept.iteration, kept.checkpoint.as_deref()), (1, Some("iter-001")));
    assert_eq!(kept.rank.words(), "0 gates pass, 3 tests pass, 1 fail");
    story.say("rolled-back iter-001");
    assert_eq!(story.state.checkpoints.newest(), Some("iter-001"));
    assert!(best(&[]).last().starts_with("END exhausted"), "the last one stays where nothing else is wanted");
}

#[test]
fn the_best_state_is_kept_only_when_the_run_was_lost_and_only_where_it_is_another() {
    let worse = "agent-ok / saved-as iter-001 / changed 1 / tests pass=1 fail=3 said=c";
    let mut stopped = story(&[("keep", "best")]);
    stopped.say("stop").say(worse);
    assert!(stopped.last().starts_with("END stopped"), "{}", stopped.told);
    let mut last = story(&[("keep", "best"), ("max_iterations", "1")]);
    last.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=2 fail=1 said=c");
    assert!(last.last().starts_with("END exhausted"), "the later of two equals is the best: {}", last.told);
    let mut tripped = story(&[("keep", "best"), ("max_no_progress", "1"), ("breaker_reset", "manual")]);
    tripped.say("agent-ok / saved-as iter-001 / changed 0 / tests pass=1 fail=3 said=c");
    assert_eq!(tripped.last(), "rollback to initial, undone by undo-1");
    tripped.say("rolled-back initial / reopened / saved / tests pass=2 fail=1 said=a");
    assert!(tripped.told.matches("END tripped").count() == 2, "only a reset closes it: {}", tripped.told);
    let mut first = story(&[("keep", "best"), ("on_blocked", "stop")]);
    first.say("agent-heard claim=BLOCKED / saved-as iter-001 / changed 1 / tests pass=1 fail=3 said=c");
    assert_eq!(first.last(), "rollback to initial, undone by undo-1");
}

#[test]
fn a_person_can_go_back_to_the_best_state() {
    let mut story = story(&[]);
    story.say("agent-ok / saved-as iter-001 / changed 1 / tests pass=3 fail=1 said=b / saved");
    story.say("agent-ok / saved-as iter-002 / changed 1 / tests pass=1 fail=3 said=c / saved");
    assert_eq!(loop_core::run::meant("best", &story.state).as_deref(), Ok("iter-001"));
}

fn score(verdict: Verdict, passed: u32, failed: u32) -> GateScore {
    GateScore { verdict, required: true, passed, failed }
}

#[test]
fn states_are_ranked_by_kept_gates_then_passing_then_failing_tests_then_answers() {
    use Verdict::{Fail, Pass, Unverifiable};
    let watch = |verdict, passed| GateScore { required: false, ..score(verdict, passed, 0) };
    let rank = |scores: &[GateScore]| consult(|deciding| Rank::of(scores.iter().copied(), deciding));
    for (worse, better) in [
        (&[score(Fail, 9, 0)][..], &[score(Pass, 1, 0)][..]),
        (&[score(Fail, 2, 0)], &[score(Fail, 3, 9)]),
        (&[score(Fail, 3, 2)], &[score(Fail, 3, 1)]),
        (&[score(Unverifiable, 0, 0)], &[score(Fail, 0, 0)]),
        (&[score(Fail, 0, 0), watch(Fail, 0)], &[score(Fail, 0, 0), watch(Pass, 0)]),
        (&[score(Fail, 1, 0), watch(Pass, 50)], &[score(Fail, 2, 0), watch(Fail, 0)]),
        (&[score(Unverifiable, 0, 0), watch(Pass, 0)], &[score(Fail, 0, 0), watch(Fail, 0)]),
    ] {
        assert!(rank(worse) < rank(better), "{worse:?} {better:?}");
    }
    assert_eq!(rank(&[score(Pass, 4, 0), score(Pass, 1, 2)]).words(), "2 gates pass, 5 tests pass, 2 fail");
    assert_eq!(rank(&[score(Pass, 0, 0)]).words(), "1 gate passes");
    assert_eq!(rank(&[score(Fail, 0, 3)]).words(), "0 gates pass, 0 tests pass, 3 fail");
    // UR-E10
    assert_eq!(rank(&[score(Fail, 1, 3)]).words(), "0 gates pass, 1 test passes, 3 fail");
}

#[test]
fn a_person_who_goes_back_while_harm_is_undone_begins_anew() {
    let mut story = story(&[("on_regression", "revert")]);
    story.say(HARM).say("rollback initial / rolled-back initial");
    assert_eq!(story.state.progress.streaks().no_progress, 0);
    assert!(!story.state.checkpoints.is_reverting());
}
