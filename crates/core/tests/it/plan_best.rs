//! Best-of-N: branches from one state, one ranking, one branch that is applied.
use expect_test::expect;
use loop_core::plan::*;
use loop_core::view::PlanView;

use crate::plan_play::PlanStory;
use crate::plan_storm::{node, plan_spec};

fn best(count: usize, selection: Selection) -> PlanSpec {
    let nodes = (1..=count).map(|number| node(&number.to_string())).collect();
    PlanSpec { parallel: 4, ..plan_spec(Join::Best(selection), nodes) }
}

const BEGIN_TWO: &str = "opened\nrecorded\ncopied 1\ncopied 2\n";

#[test]
fn the_better_of_two_passing_branches_is_applied_and_judged_again_in_the_workspace() {
    // req: D-16 partly: the machine
    let story = PlanStory::new(best(3, Selection::default())).play(
        "opened\nrecorded\ncopied 1\ncopied 2\ncopied 3\npasses 1\nfails 3\npasses 2\n\
         measured 1 lines=40\nmeasured 2 lines=12\napplied\ngates-pass",
    );
    expect![[r#"
        record initial
        copy 1.1 of t0
        copy 2.1 of t0
        copy 3.1 of t0
        run 1.1
        run 2.1
        run 3.1
        measure 1
        3: did not pass: the promise fails
        drop 3.1
        measure 2
        1: passed
        drop 1.1
        2: passed
        drop 2.1
        ranking: 2 > 1 > 3 (by size, gates)
        chosen: 2 by Ranking
        apply 2.1
        gates of 2 on the workspace
        END applied (0): branch 2 of 3 is applied: 3 files changed
    "#]]
    .assert_eq(&story.told);
    let view = PlanView::of(&story.state, false, story.state.now).unwrap();
    let cells: Vec<String> = view.ranking.unwrap().rows.iter().map(|row| row.cells.join(" | ")).collect();
    expect![[r#"
        [
            "pass on a clean copy | none | 0 gates pass | - | - | 12 lines in 1 file | - | - | $0.00 | 1s | -",
            "pass on a clean copy | none | 0 gates pass | - | - | 40 lines in 1 file | - | - | $0.00 | 1s | -",
            "not passed | none | 0 gates pass | - | - | 4 lines in 1 file | - | - | $0.00 | 1s | -",
        ]
    "#]]
    .assert_debug_eq(&cells);
}

#[test]
fn where_no_branch_passes_nothing_is_applied_and_the_best_state_is_named() {
    let story = PlanStory::new(best(2, Selection::default())).play(&format!("{BEGIN_TWO}fails 1\nfails 2"));
    assert!(!story.told.contains("apply"), "{}", story.told);
    let end = "END none_passed (1): none of 2 branches passes, and nothing is applied; the best state is iter-002 of run \
               r1 (branch 1): 0 gates pass\n";
    assert!(story.told.ends_with(end), "{}", story.told);
}

#[test]
fn the_first_branch_that_passes_ends_the_others() {
    let selection = Selection { first: true, ..Selection::default() };
    let story = PlanStory::new(best(2, selection)).play(&format!("{BEGIN_TWO}passes 2\nstopped 1\nmeasured 2"));
    assert!(story.told.contains("kill run 1.1: PassedFirst\n"), "{}", story.told);
    assert!(story.told.contains("1: ended: branch 2 passed first\n"), "{}", story.told);
    assert!(story.told.contains("chosen: 2 by Ranking\n"), "{}", story.told);
}

#[test]
fn with_on_red_the_next_branch_starts_only_when_the_one_before_failed() {
    let selection = Selection { on_red: true, ..Selection::default() };
    let story =
        PlanStory::new(best(3, selection)).play("opened\nrecorded\ncopied 1\nfails 1\ncopied 2\npasses 2\nmeasured 2");
    expect![[r#"
        record initial
        copy 1.1 of t0
        run 1.1
        1: did not pass: the promise fails
        copy 2.1 of t0
        drop 1.1
        run 2.1
        3: not started: branch 2 passed first
        measure 2
        2: passed
        drop 2.1
        ranking: 2 > 1 > 3 (by gates, gates)
        chosen: 2 by Ranking
        apply 2.1
    "#]]
    .assert_eq(&story.told);
}

#[test]
fn a_metric_decides_before_the_size_and_lower_may_win() {
    let metric = Some(Metric::parse("lower:./bench").unwrap());
    let selection = Selection { metric, ..Selection::default() };
    let story = PlanStory::new(best(2, selection))
        .play(&format!("{BEGIN_TWO}passes 1\npasses 2\nmeasured 1 lines=1 metric=90\nmeasured 2 lines=9 metric=80"));
    assert!(story.told.contains("ranking: 2 > 1 (by metric)\n"), "{}", story.told);
}

#[test]
fn a_branch_worse_than_another_and_than_the_start_is_ended_with_prune() {
    let selection = Selection { prune: true, ..Selection::default() };
    let worse = "progress 1 start=3 best=2\nprogress 2 start=3 best=3\n";
    let story = PlanStory::new(best(2, selection)).play(&format!("{BEGIN_TWO}{worse}stopped 1"));
    assert!(story.told.contains("kill run 1.1: Pruned\n"), "{}", story.told);
    assert!(story.told.contains("1: ended: worse than branch 2, and than the start\n"), "{}", story.told);
    let kept = PlanStory::new(best(2, Selection::default())).play(&format!("{BEGIN_TWO}{worse}"));
    assert!(!kept.told.contains("Pruned"), "{}", kept.told);
}

#[test]
fn a_person_picks_also_later_when_the_plan_was_at_rest() {
    let selection = Selection { manual: true, ..Selection::default() };
    let both = format!("{BEGIN_TWO}passes 1\npasses 2\nmeasured 1\nmeasured 2\n");
    let now = PlanStory::new(best(2, selection.clone())).play(&format!("{both}pick 1\nclosed\napplied\ngates-pass"));
    assert!(
        now.told.contains("ask which branch\ncancel ask which branch: Answered\nchosen: 1 by Person\n"),
        "{}",
        now.told
    );
    assert!(
        now.told.ends_with("END applied (0): branch 1 of 2, chosen by a person, is applied: 3 files changed\n"),
        "{}",
        now.told
    );
    let spec = PlanSpec { unattended: true, ..best(2, selection) };
    let later = PlanStory::new(spec).play(&format!("{both}pick-later 2\napplied\ngates-pass"));
    let waits = "END awaits_person (1): 2 of 2 branches pass; choose one with: loop pick p1 <branch>\n";
    assert!(later.told.contains(waits), "{}", later.told);
    assert!(
        later.told.ends_with("END applied (0): branch 2 of 2, chosen by a person, is applied: 3 files changed\n"),
        "{}",
        later.told
    );
}

#[test]
fn gates_that_fail_in_the_workspace_and_a_conflict_there_are_said() {
    let one = "opened\nrecorded\ncopied 1\npasses 1\nmeasured 1\n";
    let here = PlanStory::new(best(1, Selection::default())).play(&format!("{one}applied\ngates-fail 1"));
    let end =
        "END not_here (1): passes in the branch, not here: test of 1 (1 failed); undo with: loop rollback p1 initial\n";
    assert!(here.told.ends_with(end), "{}", here.told);
    let conflict = PlanStory::new(best(1, Selection::default())).play(&format!("{one}apply-conflict"));
    let end = "END conflict (1): the workspace has a conflict with the result, and nothing is changed: both versions \
               change a.rs; they are the checkpoints ours and theirs\n";
    assert!(conflict.told.ends_with(end), "{}", conflict.told);
}

#[test]
fn a_budget_is_shared_before_branches_start_and_what_is_left_comes_back() {
    let spec = PlanSpec { budget_micros: Some(90), parallel: 1, ..best(3, Selection::default()) };
    let story = PlanStory::new(spec)
        .play("opened\nrecorded\ncopied 1\nfails 1 cost=10\ncopied 2\nfails 2 cost=40\ncopied 3\nfails 3 cost=40");
    for line in ["1 may cost 30\n", "2 may cost 40\n", "3 may cost 40\n", "run 3.1 with 40\n"] {
        assert!(story.told.contains(line), "{line}{}", story.told);
    }
    let dear = PlanSpec { budget_micros: Some(120), call_micros: 50, ..best(3, Selection::default()) };
    let story = PlanStory::new(dear).play("opened\nrecorded\ncopied 1\ncopied 2\nfails 1 cost=50\nfails 2 cost=50");
    for line in ["1 may cost 50\n", "2 may cost 50\n", "3: not started: the budget of the plan is used up\n"] {
        assert!(story.told.contains(line), "{line}{}", story.told);
    }
    let poor = PlanSpec { budget_micros: Some(30), parallel: 1, ..best(2, Selection::default()) };
    let story = PlanStory::new(poor).play("opened\nrecorded\ncopied 1\nfails 1 cost=30");
    assert!(story.told.contains("2: not started: the budget of the plan is used up\n"), "{}", story.told);
}

#[test]
fn a_run_whose_end_is_not_known_is_resumed_after_a_crash() {
    let story = PlanStory::new(best(1, Selection::default())).play("opened\nrecorded\ncopied 1\nopened");
    assert!(story.told.ends_with("run 1.1\nrun again 1.1\n"), "{}", story.told);
}

#[test]
fn a_run_whose_process_is_killed_is_resumed_with_its_share_and_given_up_after_some_kills() {
    // req: D-16 partly: the machine
    let spec = PlanSpec { budget_micros: Some(90), ..best(1, Selection::default()) };
    let story = PlanStory::new(spec.clone()).play("opened\nrecorded\ncopied 1\nkilled 1\npasses 1 cost=30");
    let begin = "1 may cost 90\ncopy 1.1 of t0\nrun 1.1 with 90\n1 continues\nrun again 1.1 with 90\nmeasure 1\n";
    assert!(story.told.contains(begin), "{}", story.told);
    assert_eq!((story.state.money.spent_micros, story.state.money.reserved_micros), (30, 0));
    let again = "opened\nrecorded\ncopied 1\nkilled 1\nkilled 1\nkilled 1\n";
    let given_up = PlanStory::new(spec.clone()).play(&format!("{again}killed 1 cost=40"));
    let end = "1: its process was killed again and again; it can be resumed\n\
               ranking: 1 (by )\n\
               END unable (3): no branch passes, and branch 1 was killed before it came to a result\n";
    assert!(given_up.told.ends_with(end), "{}", given_up.told);
    assert_eq!(given_up.state.money.spent_micros, 40, "what its journal says");
    let resumed = PlanStory::new(spec.clone()).play(&format!("{again}killed 1 cost=40\nreopened"));
    assert!(resumed.told.contains("1 Resumed: its run was stopped\n"), "{}", resumed.told);
    assert!(resumed.told.ends_with("1 may cost 50\nrun again 1.1 with 90\n"), "{}", resumed.told);
    assert!(!resumed.told.contains("drop"), "its copy stays: {}", resumed.told);
    let unknown = PlanStory::new(spec).play(&format!("{again}killed 1"));
    assert_eq!(unknown.state.money.spent_micros, 90, "an agent was at work: the worst case");
}

#[test]
fn a_killed_run_of_a_plan_that_is_stopped_is_not_resumed() {
    let story = PlanStory::new(best(1, Selection::default())).play("opened\nrecorded\ncopied 1\nstop\nkilled 1");
    assert!(story.told.contains("1: stopped; it can be resumed\n"), "{}", story.told);
    assert!(!story.told.contains("continues"), "{}", story.told);
}

#[test]
fn a_start_that_was_refused_costs_nothing() {
    let spec = PlanSpec { budget_micros: Some(90), parallel: 1, ..best(2, Selection::default()) };
    let story = PlanStory::new(spec).play("opened\nrecorded\ncopied 1\nrefused 1");
    assert!(story.told.contains("1: not started: no space left\n2 may cost 90\n"), "{}", story.told);
    assert_eq!(story.state.money.spent_micros, 0);
}

#[test]
fn every_run_is_told_of_a_pause_and_again_where_it_could_not_be_told() {
    let story = PlanStory::new(best(2, Selection::default()))
        .play("opened\nrecorded\ncopied 1\npause\ncopied 2\nresume\ntold 1\ntold 1\npause\nfailed-tell 1");
    let told = "run 1.1\ntell 1 pause=true\nrun 2.1\ntell 1 pause=false\ntell 1 pause=true\ntell 2 pause=true\n\
                tell 1 pause=true\n";
    assert!(story.told.ends_with(told), "{}", story.told);
}

#[test]
fn a_rollback_is_an_order_with_an_answer_and_changes_no_end() {
    let one = "opened\nrecorded\ncopied 1\npasses 1\nmeasured 1\napplied\ngates-pass\n";
    let script = format!("{one}opened-for-request\nrollback initial\nrolled-back");
    let story = PlanStory::new(best(1, Selection::default())).play(&script);
    assert!(
        story.told.ends_with("is applied: 3 files changed\nroll back to initial, undo is undo-1\n"),
        "{}",
        story.told
    );
    assert_eq!(story.state.over.as_ref().map(|over| over.outcome), Some(PlanOutcome::Applied));
    let rollback = story.state.rollback.unwrap();
    assert_eq!((rollback.to.as_str(), rollback.by.as_str()), ("initial", "a person"));
    assert_eq!(rollback.end.unwrap().unwrap().written, 2);
    let driven = PlanStory::new(best(1, Selection::default())).play("opened\nrecorded\nrollback initial");
    assert!(!driven.told.contains("roll back"), "not while it is at work: {}", driven.told);
    let request = PlanRequest::Rollback { to: "initial".to_owned(), undo: "undo-1".to_owned() };
    assert_eq!(driven.state.check_request(&request).unwrap_err().why, "the plan is at work");
}

#[test]
fn a_stop_while_a_person_is_to_pick_leaves_the_choice_open() {
    let selection = Selection { manual: true, ..Selection::default() };
    let asks = format!("{BEGIN_TWO}fails 1\npasses 2\nmeasured 2\n");
    for stop in ["stop", "abort"] {
        let script = format!("{asks}{stop}\nclosed\npick-later 2\napplied\ngates-pass");
        let story = PlanStory::new(best(2, selection.clone())).play(&script);
        let waits = "END awaits_person (1): 1 of 2 branches pass; choose one with: loop pick p1 <branch>\n";
        assert!(story.told.contains(waits), "{stop}: {}", story.told);
        let end = "END applied (0): branch 2 of 2, chosen by a person, is applied: 3 files changed\n";
        assert!(story.told.ends_with(end), "{stop}: {}", story.told);
    }
}

#[test]
fn a_pick_of_a_branch_that_did_not_pass_leaves_the_question_open() {
    let selection = Selection { manual: true, ..Selection::default() };
    let script = format!("{BEGIN_TWO}passes 1\nfails 2\nmeasured 1\npick 2");
    let story = PlanStory::new(best(2, selection)).play(&script);
    assert!(!story.told.contains("cancel"), "{}", story.told);
    assert_eq!(story.state.orders.iter().count(), 1, "the question: {}", story.told);
}

#[test]
fn a_pick_of_a_branch_that_did_not_pass_is_refused_with_those_that_do() {
    let selection = Selection { manual: true, ..Selection::default() };
    let story = PlanStory::new(best(2, selection)).play(&format!("{BEGIN_TWO}passes 1\nfails 2\nmeasured 1"));
    let pick = |name: &str| {
        story.state.check_request(&PlanRequest::Pick { node: NodeId::parse(name).unwrap(), anyway: false })
    };
    assert_eq!(pick("1"), Ok(()));
    let refused = pick("2").unwrap_err();
    assert_eq!(refused.why, "branch 2 cannot be applied: did not pass: the promise fails");
    assert_eq!(refused.hint, "these pass: 1");
    assert_eq!(pick("9").unwrap_err().why, "there is no branch 9");
}
