//! A stuck loop that tries several ways beside each other: what is ordered, what a better branch leaves, and what counts.
use loop_core::run::{Decision, Fact, RecoveryDecision, RunState};

use crate::play::Story;
use crate::recovery::{compare, fruitless, rungs};

/// A loop that is stuck after two iterations and tries branches.
fn stuck(settings: &[(&str, &str)]) -> Story {
    let base = [("recover", "true"), ("agent", "codex"), ("agent_cmd", ""), ("max_iterations", "40")];
    let base = base.into_iter().filter(|(name, _)| settings.iter().all(|(other, _)| other != name));
    let ladder = [("ladder", "branches:2x2, human")];
    let ladder = ladder.into_iter().filter(|(name, _)| settings.iter().all(|(other, _)| other != name));
    let all: Vec<(&str, &str)> = base.chain(ladder).chain(settings.iter().copied()).collect();
    let mut story = Story::checkpointed(&all);
    story.say("opened / saved-as initial / tests pass=1 fail=5 said=a / saved");
    fruitless(&mut story, 2);
    story
}

// req: A-06
// req: A-09
#[test]
fn the_state_of_a_branch_that_passes_is_restored_and_judged_again_before_the_loop_is_done() {
    let mut story = stuck(&[]);
    assert_eq!(story.last(), "branches 1: branch-a branch-b", "{}", story.told);
    story.say("branched best=branch-b pass=6 fail=0 done=yes iterations=3");
    compare(&mut story);
    assert!(story.last().starts_with("rollback to branches-1"), "{}", story.told);
    assert!(!story.state.gates_pass(), "the word of a branch is not a verdict: {}", story.told);
    story.say("rolled-back branches-1 / tests pass=6 fail=0 / certified");
    assert!(story.told.contains("verified"), "{}", story.told);
    assert!(rungs(&story).last().unwrap().contains("success"), "{}", story.told);
}

// req: A-06
#[test]
fn a_branch_that_passes_by_its_own_account_and_not_here_does_not_end_the_loop() {
    let mut story = stuck(&[]);
    story.say("branched best=branch-a pass=6 fail=0 done=yes iterations=3");
    compare(&mut story);
    story.say("rolled-back branches-1 / tests pass=2 fail=4 said=b");
    assert!(story.state.over.is_none(), "{}", story.told);
    assert!(story.last().starts_with("checkpoint") || story.last().starts_with("agent 3.1"), "{}", story.told);
}

// req: A-06
#[test]
fn a_branch_that_is_better_and_does_not_pass_is_where_the_loop_goes_on() {
    let mut story = stuck(&[]);
    story.say("branched best=branch-a pass=3 fail=3 iterations=4");
    compare(&mut story);
    assert!(story.last().starts_with("rollback to branches-1"), "{}", story.told);
    story.say("rolled-back branches-1 / tests pass=3 fail=3 said=b");
    if story.last().starts_with("checkpoint") {
        story.say("saved");
    }
    assert!(story.last().starts_with("agent 3.1"), "{}", story.told);
    assert!(story.state.recovery.climb().is_none(), "the ladder has ended: {}", story.told);
}

// req: A-06
#[test]
fn where_no_branch_is_better_the_workspace_stays_and_a_person_comes() {
    for end in ["branched best=branch-a pass=1 fail=5 iterations=4", "branched trouble=cut-off"] {
        let mut story = stuck(&[]);
        story.say(end);
        compare(&mut story);
        assert_eq!(story.last(), "hold stuck", "{end}: {}", story.told);
        assert!(!story.told.contains("rollback"), "{end}: {}", story.told);
        let pack = story.state.recovery.questions().unwrap();
        assert!(pack.tried.iter().any(|tried| tried.contains("branches")), "{:?}", pack.tried);
    }
}

// req: A-29
#[test]
fn the_iterations_and_the_money_of_branches_count_as_the_loops_own() {
    let mut story = stuck(&[("max_iterations", "7"), ("max_cost", "100")]);
    let Some(branches) = story.state.recovery.open_branches() else { panic!("{}", story.told) };
    assert_eq!(branches.iter().map(|branch| branch.iterations).collect::<Vec<_>>(), [2, 2]);
    story.say("branched best=branch-a pass=3 fail=3 iterations=4 cents=150");
    compare(&mut story);
    assert_eq!(story.state.iterations_used(), 6, "2 of its own and 4 of its branches");
    assert_eq!(story.state.budget.spent().usage.cost_micros, Some(1_500_000));
    story.say("rolled-back branches-1 / tests pass=3 fail=3 said=b");
    fruitless(&mut story, 1);
    assert!(story.state.over.is_some(), "one was left: {}", story.told);
}

// req: A-29
#[test]
fn branches_for_which_too_few_iterations_are_left_are_left_out_and_it_is_said() {
    let story = stuck(&[("max_iterations", "3")]);
    assert_eq!(story.last(), "hold stuck", "{}", story.told);
    assert!(story.told.contains("there are not enough iterations left for 2 branches"), "{}", story.told);
    for (most, wanted) in [("4", [1, 1]), ("5", [2, 1])] {
        let fewer = stuck(&[("max_iterations", most)]);
        let Some(branches) = fewer.state.recovery.open_branches() else { panic!("{}", fewer.told) };
        let seen: Vec<u32> = branches.iter().map(|branch| branch.iterations).collect();
        assert_eq!(seen, wanted, "none is left over");
    }
}

// req: A-09
#[test]
fn the_branches_of_the_specification_have_its_names_approaches_and_agents() {
    let ladder = "branches:3x10, human";
    let story = stuck(&[("ladder", ladder), ("agents", "codex,gemini"), ("max_iterations", "90")]);
    let Some(branches) = story.state.recovery.open_branches() else { panic!("{}", story.told) };
    let seen: Vec<String> = branches
        .iter()
        .map(|branch| format!("{} {} {} {}", branch.name, branch.approach, branch.choice.agent, branch.iterations))
        .collect();
    let wanted = [
        "branch-a bottom-up implementation codex 10",
        "branch-b research-first gemini 10",
        "branch-c constraint-driven codex 10",
    ];
    assert_eq!(seen, wanted, "{}", story.told);
}

// req: A-23 partly: branches
#[test]
fn a_run_that_is_opened_again_during_its_branches_orders_the_same_ones_and_begins_no_rung() {
    for word in ["opened", "reopened"] {
        let mut story = stuck(&[]);
        let before = rungs(&story).len();
        story.say(word);
        while ["clean", "checkpoint", "gate"].iter().any(|start| story.last().starts_with(start)) {
            match story.last().split(' ').next().unwrap_or_default() {
                "clean-up" => story.say("cleaned"),
                "checkpoint" => story.say("saved"),
                _ => story.say("tests pass=1 fail=5 said=again"),
            };
        }
        assert_eq!(story.last(), "branches 1: branch-a branch-b", "{word}: {}", story.told);
        assert_eq!(rungs(&story).len(), before, "{word}: {}", story.told);
    }
}

#[test]
fn a_better_branch_is_the_best_state_from_then_on() {
    let mut story = stuck(&[]);
    story.say("branched best=branch-a pass=3 fail=3 iterations=4");
    compare(&mut story);
    story.say("rolled-back branches-1 / tests pass=3 fail=3 said=b");
    let best = story.state.progress.best().unwrap();
    assert_eq!((best.checkpoint.as_deref(), best.iteration), (Some("branches-1"), 2), "{}", story.told);
}

#[test]
fn what_people_changed_while_branches_worked_is_not_overwritten() {
    let mut story = stuck(&[]);
    story.say("branched best=branch-b pass=6 fail=0 done=yes iterations=3");
    assert!(story.last().starts_with("checkpoint"), "it is compared first: {}", story.told);
    story.say("others iter-002+");
    assert!(!story.told.contains("rollback to"), "{}", story.told);
    let last = rungs(&story).iter().rev().find(|line| line.contains("failed")).copied().unwrap_or_default().to_owned();
    assert!(last.contains("take it: loop rollback a1b2c3d branches-1"), "{last}: {}", story.told);
}

/// Whether cut-off branches continue, as it was decided.
fn cut_offs(story: &Story) -> Vec<&str> {
    story.told.lines().map(str::trim).filter(|line| line.contains("cut off")).collect()
}

#[test]
fn branches_that_are_cut_off_continue_five_times_and_each_time_that_is_a_decision() {
    let mut story = stuck(&[]);
    for times in 1..=5 {
        story.say("branched unfinished=yes iterations=1 trouble=cut-off");
        compare(&mut story);
        assert_eq!(cut_offs(&story).len(), times, "{}", story.told);
        assert!(cut_offs(&story).last().unwrap().ends_with("continues"), "{}", story.told);
        assert_eq!(story.last(), "branches 1: branch-a branch-b", "{}", story.told);
    }
    story.say("branched unfinished=yes iterations=1 trouble=cut-off");
    assert!(cut_offs(&story).last().unwrap().ends_with("cut off 6 times and has ended"), "{}", story.told);
    compare(&mut story);
    assert_eq!(story.last(), "hold stuck", "{}", story.told);
}

#[test]
fn a_journal_from_before_that_decision_folds_to_the_same_state() {
    for end in ["branched best=branch-a pass=3 fail=3 iterations=4", "branched unfinished=yes iterations=4"] {
        let mut story = stuck(&[]);
        for _ in 1..=5 {
            story.say("branched unfinished=yes iterations=1 trouble=cut-off");
            compare(&mut story);
        }
        story.say(end);
        compare(&mut story);
        let is_new = |fact: &Fact| matches!(fact, Fact::Decided(Decision::Recovery(RecoveryDecision::CutOff(_))));
        let facts = || story.journal.iter().map(|entry| &entry.fact);
        assert_eq!(facts().filter(|fact| is_new(fact)).count(), cut_offs(&story).len());
        let mut old = RunState::default();
        facts().filter(|fact| !is_new(fact)).for_each(|fact| old.apply(fact));
        assert_eq!(old, story.state, "{end}: {}", story.told);
    }
}

// req: A-29
#[test]
fn iterations_that_are_used_up_by_branches_end_the_loop_by_that_limit() {
    let mut story = stuck(&[("max_iterations", "5")]);
    story.say("branched best=branch-a pass=1 fail=5 iterations=3");
    compare(&mut story);
    assert!(story.told.contains("END exhausted (iteration_limit)"), "{}", story.told);
}

// req: A-29
#[test]
fn the_time_that_is_used_up_by_branches_ends_the_loop_by_that_limit_and_more_time_continues_them() {
    let mut story = stuck(&[("max_time", "1h")]);
    story.wait(3_599_000).say("deadline");
    story.say("branched unfinished=yes iterations=1 trouble=cut-off");
    compare(&mut story);
    assert!(story.told.contains("END exhausted (time_limit)"), "{}", story.told);
    let reason = &story.state.over.as_ref().unwrap().reason.text;
    assert!(reason.contains("time limit of 1h reached by the branches"), "{reason}");
    story.say("reopened max_time=2h");
    until_branches(&mut story);
    assert_eq!(story.last(), "branches 1: branch-a branch-b", "the same ones: {}", story.told);
}

/// Gates and checkpoints of a run that was opened again are answered.
fn until_branches(story: &mut Story) {
    while ["clean", "checkpoint", "gate"].iter().any(|start| story.last().starts_with(start)) {
        match story.last().split(' ').next().unwrap_or_default() {
            "clean-up" => story.say("cleaned"),
            "checkpoint" => story.say("saved"),
            _ => story.say("tests pass=1 fail=5 said=again"),
        };
    }
}

// req: A-29
#[test]
fn branches_without_money_to_come_to_their_end_end_the_loop_by_that_limit_and_are_tried_again_when_it_is_raised() {
    let mut story = stuck(&[("max_cost", "100")]);
    story.say("branched best=branch-a pass=1 fail=5 iterations=2 cents=700 out_of=money");
    compare(&mut story);
    assert!(story.told.contains("END exhausted (budget_limit)"), "{}", story.told);
    let reason = story.state.over.as_ref().unwrap().reason.text.clone();
    assert!(
        reason.contains("what is left of the limit is not enough for the branches ($17.00 of $100.00 counted"),
        "{reason}"
    );
    story.say("reopened max_cost=200");
    until_branches(&mut story);
    assert_eq!(story.last(), "branches 2: branch-a branch-b", "{}", story.told);
}

#[test]
fn a_rung_that_is_left_is_tried_before_the_money_of_branches_ends_the_loop() {
    let mut story = stuck(&[("max_cost", "100"), ("ladder", "branches:2x2, mutate:negative:1, human")]);
    story.say("branched best=branch-a pass=1 fail=5 iterations=2 cents=700 out_of=money");
    compare(&mut story);
    assert!(rungs(&story).last().unwrap().starts_with("rung 2 mutate"), "{}", story.told);
    fruitless(&mut story, 1);
    assert_eq!(story.last(), "hold stuck", "a person is asked after another rung: {}", story.told);
}

// req: A-29
#[test]
fn calls_of_branches_without_a_known_cost_count_as_what_was_reserved_for_them_and_it_is_said() {
    let mut story = stuck(&[("max_cost", "100"), ("worst_cost", "30")]);
    let before = story.state.cost_micros(story.state.settings.shown());
    story.say("branched best=branch-a pass=1 fail=5 iterations=2 cents=700 untold=1 assumed=150");
    compare(&mut story);
    let after = story.state.cost_micros(story.state.settings.shown());
    assert_eq!(after - before, 8_500_000, "7.00 reported, and 1.50 that was reserved");
    assert!(story.told.contains("1 call did not report a cost: $1.50 counted"), "{}", story.told);
}
