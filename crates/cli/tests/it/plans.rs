//! Best-of: several loops for one goal, each in a copy of the workspace; the best one comes into the workspace.
use std::fs;
use std::process::Command;

use loop_testkit::{TestEnv, wait_until};

use crate::user;

/// The words of a best-of: one iteration each, judged where it works, so that it is quick.
fn best_of<'a>(agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "--promise", promise, "--agent-cmd", agent];
    words.extend(["-n", "1", "--judge", "workspace", "--strength", "off", "--best-of"]);
    words.extend(more);
    words
}

/// The id of the only plan.
fn plan(user: &TestEnv) -> String {
    let entries = fs::read_dir(user.state().join("plans")).into_iter().flatten().flatten();
    let ids: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    assert_eq!(ids.len(), 1, "one plan: {ids:?}");
    ids[0].clone()
}

fn copies(user: &TestEnv) -> usize {
    fs::read_dir(user.state().join("plan-copies")).map_or(0, Iterator::count)
}

/// Only branch 2 does what is wanted.
const SECOND: &str = "case $LOOP_BRANCH in 2) echo good > answer;; *) echo bad > other;; esac";

#[test]
fn the_only_branch_that_passes_comes_into_the_workspace_and_one_rollback_undoes_it() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    // req: D-17 partly: without what a copy brings along
    let user = user();
    user.write("work/old", "as it was\n");
    let ran = user.run(&best_of(SECOND, "grep -q good answer", &["3"])).expect_code(0);
    let text = ran.text();
    assert!(ran.out().contains("done, in the workspace only: branch 2 of 3 is applied"), "{text}");
    assert!(ran.out().contains("only this one passes"), "{text}");
    assert!(ran.out().contains("BRANCH") && ran.out().contains("LINES"), "{text}");
    assert_eq!(user.tree("work"), ["answer", "old"], "{text}");
    assert_eq!(user.ids().len(), 3, "an ordinary run for each branch");
    assert_eq!(copies(&user), 0, "copies are gone at the end");
    let id = plan(&user);
    let status = user.run(&["status", &id]).expect_code(0);
    assert!(status.out().contains("completed (applied)"), "{}", status.text());
    let listed = user.run(&["list", "--json"]).expect_code(0).json();
    assert_eq!(listed["loops"][0]["plan"], id.as_str(), "a run names its plan");
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    assert_eq!(user.tree("work"), ["old"]);
}

#[test]
fn where_no_branch_passes_nothing_is_applied_and_the_end_is_1() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let ran = user.run(&best_of("echo bad > other", "grep -q good answer", &["2"])).expect_code(1);
    assert!(ran.out().contains("none of 2 branches passes"), "{}", ran.text());
    assert_eq!(user.tree("work"), Vec::<String>::new());
    assert_eq!(copies(&user), 0);
}

#[test]
fn a_metric_decides_among_those_that_pass() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    for (metric, lines) in [("wc -l < answer", 3), ("lower: wc -l < answer", 1)] {
        let user = user();
        let words = best_of("seq $LOOP_BRANCH > answer", "test -s answer", &["3", "--best-of-metric", metric]);
        let ran = user.run(&words).expect_code(0);
        assert_eq!(user.read("work/answer").lines().count(), lines, "{}", ran.text());
        assert!(ran.out().contains("its metric is better"), "{}", ran.text());
    }
}

#[test]
fn a_branch_that_changes_the_script_of_the_metric_gains_nothing() {
    let user = user();
    user.write("work/score.sh", "wc -l < answer\n");
    let agent = "seq $LOOP_BRANCH > answer; [ $LOOP_BRANCH = 2 ] || echo 'echo 999' > score.sh";
    let words = best_of(agent, "test -s answer", &["2", "--best-of-metric", "sh score.sh"]);
    let ran = user.run(&words).expect_code(0);
    assert!(ran.text().contains("branch 2 of 2 is applied"), "{}", ran.text());
    assert_eq!(user.read("work/answer"), "1\n2\n");
    assert_eq!(user.read("work/score.sh"), "wc -l < answer\n", "it was restored in the branch");
}

#[test]
fn a_branch_whose_copy_another_branch_changed_before_it_began_does_not_count() {
    let user = user();
    user.write("work/check.sh", "grep -q good answer\n");
    let copy = format!("{}/*/copies/3-1/tree/check.sh", user.state().join("plan-copies").display());
    // The copy of the third branch is made when the second has ended; the first waits for it, and ends.
    let agent = format!(
        "[ $LOOP_BRANCH = 1 ] || exit 0; until C=$(ls -d {copy} 2> /dev/null); do :; done; echo 'exit 0' > \"$C\""
    );
    let ran = user.run(&best_of(&agent, "sh check.sh", &["3", "--parallel", "2"])).expect_code(1);
    // Before its loop began, that branch does not count; later, its own loop restores the file.
    assert!(ran.text().contains("nothing is applied"), "{}", ran.text());
    assert_eq!(user.read("work/check.sh"), "grep -q good answer\n");
}

#[test]
fn a_metric_without_a_number_is_warned_about_with_its_reason() {
    let cases = [
        ("exit 3", "the command of the metric failed (exit 3)"),
        ("echo hello", "the last line of the metric is not a number: hello"),
        ("echo nan", "the last line of the metric is not a number: nan"),
        ("lower:cost", "the agent reports no cost"),
    ];
    for (metric, why) in cases {
        let user = user();
        let words = best_of("echo good > answer", "test -s answer", &["2", "--best-of-metric", metric]);
        let ran = user.run(&words).expect_code(0);
        assert!(ran.text().contains(&format!("warning: branch 1 has no metric: {why}")), "{}", ran.text());
        let status = user.run(&["status", &plan(&user), "--json"]).expect_code(0).json();
        assert_eq!(status["ranking"]["rows"][0]["metric_trouble"], why, "{status}");
        assert!(ran.out().contains("no cost reported"), "{}", ran.text());
    }
    let user = user();
    let words = best_of("echo good > answer", "test -s answer", &["2", "--best-of-metric", "nosuchname"]);
    let ran = user.run(&words).expect_code(4);
    assert!(ran.err().contains("nosuchname is not the name of a metric, and not a program"), "{}", ran.text());
    assert!(!user.state().join("plans").exists(), "nothing was made");
}

#[test]
fn the_first_that_passes_ends_the_others() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let agent = "case $LOOP_BRANCH in 1) sleep 1000;; *) echo good > answer;; esac";
    let ran = user.run(&best_of(agent, "grep -q good answer", &["2", "--first"])).expect_code(0);
    assert!(ran.out().contains("branch 2"), "{}", ran.text());
    assert!(ran.text().contains("passed first"), "{}", ran.text());
}

#[test]
fn the_next_branch_starts_only_when_the_one_before_failed() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let ran = user.run(&best_of(SECOND, "grep -q good answer", &["3", "--on-red"])).expect_code(0);
    assert_eq!(user.ids().len(), 2, "the third is not started: {}", ran.text());
}

#[test]
fn a_person_picks_a_branch_later() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let agent = "echo $LOOP_BRANCH > answer";
    let ran = user.run(&best_of(agent, "test -s answer", &["3", "--best-of-manual"])).expect_code(1);
    assert!(ran.out().contains("loop pick"), "{}", ran.text());
    assert_eq!(user.tree("work"), Vec::<String>::new());
    let id = plan(&user);
    let wrong = user.run(&["pick", &id, "9"]).expect_code(4);
    assert!(wrong.err().contains("no branch 9"), "{}", wrong.text());
    let picked = user.run(&["pick", &id, "2"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "2\n", "{}", picked.text());
}

#[test]
fn each_branch_can_have_its_own_agent() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let agents = "[agents.one]\ncommand = [\"sh\", \"-c\", \"echo one > answer\"]\n\
                  [agents.two]\ncommand = [\"sh\", \"-c\", \"echo two > answer; echo more >> answer\"]\n";
    fs::create_dir_all(user.config()).unwrap();
    fs::write(user.config().join("config.toml"), agents).unwrap();
    let words = ["start", "do it", "--promise", "test -s answer", "-n", "1", "--judge", "workspace"];
    let more = ["--strength", "off", "--best-of", "one,two"];
    let ran = user.run(&[&words[..], &more[..]].concat()).expect_code(0);
    assert_eq!(user.read("work/answer"), "one\n", "the smaller change wins: {}", ran.text());
}

/// Waits for a file beside the workspace, so that a test can do something meanwhile.
fn waiting(then: &str) -> String {
    format!("touch \"$SIGNS/at-work-$LOOP_BRANCH\"; while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; {then}")
}

fn user_with_signs() -> TestEnv {
    let user = user();
    let signs = user.root().join("signs");
    fs::create_dir_all(&signs).unwrap();
    user.with("SIGNS", signs)
}

#[test]
fn what_the_user_changes_meanwhile_is_kept() {
    // req: D-17 partly: without what a copy brings along
    let user = user_with_signs();
    user.write("work/own", "one\n");
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    user.write("work/own", "edited meanwhile\n");
    user.write("signs/go", "");
    let ran = running.end().expect_code(0);
    assert_eq!(user.read("work/own"), "edited meanwhile\n", "{}", ran.text());
    assert_eq!(user.read("work/answer"), "good\n");
}

#[test]
fn a_conflict_with_the_users_edit_changes_nothing() {
    // req: D-17 partly: without what a copy brings along
    let user = user_with_signs();
    user.write("work/shared", "one\n");
    let agent = waiting("echo agent > shared");
    let running = user.begin(&best_of(&agent, "grep -q agent shared", &["2"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    user.write("work/shared", "user\n");
    user.write("signs/go", "");
    let ran = running.end().expect_code(1);
    assert_eq!(user.read("work/shared"), "user\n", "{}", ran.text());
    assert!(ran.out().contains("shared"), "the conflict is named: {}", ran.text());
}

#[test]
fn a_killed_plan_leaves_nothing_running_and_a_resume_finishes_it() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user_with_signs();
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    let killed = Command::new("kill").args(["-KILL", &running.pid().to_string()]).status().unwrap();
    assert!(killed.success());
    drop(running.end());
    let runs = user.ids();
    wait_until("the agents of the branches are gone", || runs.iter().all(|id| user.marked(id).is_empty()));
    user.write("signs/go", "");
    let id = plan(&user);
    let resumed = user.run(&["resume", &id]).expect_code(0);
    assert_eq!(user.read("work/answer"), "good\n", "{}", resumed.text());
    assert_eq!(user.ids(), runs, "the same loops were resumed");
    assert_eq!(copies(&user), 0);
}

#[test]
fn no_other_loop_works_in_the_workspace_of_a_plan() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user_with_signs();
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2"]));
    user.wait_for_file("signs/at-work-1");
    let other = user.run(&["start", "x", "--promise", "true", "--agent-cmd", "true"]).expect_code(4);
    assert!(other.err().contains(&plan(&user)), "{}", other.text());
    user.wait_for_file("signs/at-work-2");
    user.write("signs/go", "");
    drop(running.end().expect_code(0));
}

#[test]
fn flags_that_a_plan_cannot_follow_are_refused_and_nothing_is_asked() {
    let user = user_with_signs();
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    let id = plan(&user);
    let rollback = user.run(&["cancel", &id, "--rollback"]).expect_code(4);
    assert!(rollback.err().contains(&format!("loop rollback {id} initial")), "{}", rollback.text());
    for command in ["cancel", "stop", "pause"] {
        let wait = user.run(&[command, &id, "--wait"]).expect_code(4);
        assert!(wait.err().contains(&format!("hint: loop {command} {id}")), "{}", wait.text());
    }
    let busy = user.run(&["rm", &id]).expect_code(4);
    assert!(busy.err().contains("is at work"), "{}", busy.text());
    drop(user.run(&["cancel", &id]).expect_code(0));
    drop(running.end().expect_code(2));
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
}

#[test]
fn a_pick_is_checked_before_it_is_taken() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user_with_signs();
    let agent = format!("case $LOOP_BRANCH in 1) {};; *) echo 2 > answer;; esac", waiting("echo 1 > answer"));
    let running = user.begin(&best_of(&agent, "test -s answer", &["2", "--best-of-manual"]));
    user.wait_for_file("signs/at-work-1");
    let id = plan(&user);
    let early = user.run(&["pick", &id, "1"]).expect_code(4);
    assert!(early.err().contains("branch 1 cannot be applied: running"), "{}", early.text());
    wait_until("branch 2 has passed", || {
        user.run(&["status", &id, "--json"]).expect_code(0).json()["nodes"][1]["state"] == "passed"
    });
    let taken = user.run(&["pick", &id, "2"]).expect_code(0);
    assert!(taken.out().contains("applied when the plan gets there"), "{}", taken.text());
    assert_eq!(user.tree("work"), Vec::<String>::new(), "nothing is applied yet");
    user.write("signs/go", "");
    let ran = running.end().expect_code(0);
    assert_eq!(user.read("work/answer"), "2\n", "{}", ran.text());
    let late = user.run(&["pick", &id, "1"]).expect_code(4);
    assert!(late.err().contains(&format!("plan {id} waits for no pick")), "{}", late.text());
    assert_eq!(user.read("work/answer"), "2\n");
}

#[test]
fn the_newest_plan_of_this_folder_is_picked_without_its_id() {
    // req: D-16 partly: without the budget, --prune and a pick on a terminal
    let user = user();
    let none = user.run(&["pick", "@", "2"]).expect_code(4);
    assert!(none.err().contains("no plan has run in this folder"), "{}", none.text());
    drop(user.run(&best_of("echo $LOOP_BRANCH > answer", "test -s answer", &["2", "--best-of-manual"])).expect_code(1));
    let id = plan(&user);
    drop(user.run(&["start", "x", "-p", "true", "--agent-cmd", "true", "-q"]).expect_code(0));
    let picked = user.run(&["pick", "@", "2"]).expect_code(0);
    assert!(picked.err().contains(&format!("taking plan {id} of this folder")), "{}", picked.text());
    assert_eq!(user.read("work/answer"), "2\n");
    let late = user.run(&["pick", "last", "1"]).expect_code(4);
    assert!(late.err().contains(&format!("plan {id} waits for no pick")), "{}", late.text());
}

#[test]
fn a_plan_that_is_removed_leaves_its_loops_and_the_workspace() {
    let user = user();
    drop(user.run(&best_of(SECOND, "grep -q good answer", &["2"])).expect_code(0));
    let (id, runs) = (plan(&user), user.ids());
    let removed = user.run(&["rm", &id, "--force"]).expect_code(0);
    assert!(removed.out().contains(&format!("removed plan {id}; its loops stay")), "{}", removed.text());
    assert!(runs.iter().all(|run| removed.out().contains(run)), "{}", removed.text());
    assert_eq!(user.ids(), runs);
    assert_eq!(user.tree("work"), ["answer"]);
    drop(user.run(&["status", &id]).expect_code(4));
    drop(user.run(&["diff", &runs[0]]).expect_code(0));
}

#[test]
fn flags_that_do_not_go_together_are_refused_with_a_hint() {
    let user = user();
    for more in [
        &["3", "--first", "--on-red"][..],
        &["3", "--on-red", "--parallel", "2"],
        &["3", "--checkpoint", "none"],
        &["1"],
        &["nobody,no-one"],
    ] {
        let ran = user.run(&best_of("true", "false", more)).expect_code(4);
        assert!(!ran.err().is_empty(), "{more:?}");
        assert_eq!(fs::read_dir(user.state().join("plans")).map_or(0, Iterator::count), 0, "{more:?}");
    }
}
