//! What people see and say of a plan: history, watch, inject, list, report, commit, pick on a terminal.
use std::fs;
use std::process::{Command, Stdio};

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

/// Only branch 2 does what is wanted.
const SECOND: &str = "case $LOOP_BRANCH in 2) echo good > answer;; *) echo bad > other;; esac";

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
fn history_shows_each_branch_with_its_loop_and_what_the_plan_changed() {
    // req: D-16 partly: history, diff and report of a plan
    let user = user();
    user.write("work/old", "as it was\n");
    drop(user.run(&best_of(SECOND, "grep -q good answer", &["3"])).expect_code(0));
    let (id, runs) = (plan(&user), user.ids());
    let history = user.run(&["history", &id]).expect_code(0);
    assert!(runs.iter().all(|run| history.out().contains(run)), "{}", history.text());
    for words in ["BRANCH", "GATES", "chosen: branch 2", "applied: 1 file", "ended: "] {
        assert!(history.out().contains(words), "{words}: {}", history.text());
    }
    let json = user.run(&["history", &id, "--json"]).expect_code(0).json();
    assert_eq!(json["version"], 1);
    assert_eq!(json["plan"]["chosen"], "2");
    assert_eq!(json["runs"].as_array().map(Vec::len), Some(3), "{json}");
    assert_eq!(json["plan"]["nodes"][1]["state"], "passed");
    assert_eq!(json["runs"][0]["iterations"], 1);
    let verbose = user.run(&["history", &id, "--verbose"]).expect_code(0);
    assert_eq!(verbose.out().matches("━━").count(), 6, "a table for each loop: {}", verbose.text());
    for words in
        [&["diff", &id, "--no-pager"][..], &["history", &id, "--diff", "--no-pager"], &["diff", "@", "--no-pager"]]
    {
        let diff = user.run(words).expect_code(0);
        assert!(diff.out().contains("+good") && !diff.out().contains("other"), "{words:?}: {}", diff.text());
    }
    let report = user.run(&["report", &id]).expect_code(0);
    for words in ["Winner", "branch 2", "## Ranking", "## Branches", "+good"] {
        assert!(report.out().contains(words), "{words}: {}", report.text());
    }
    let night = user.run(&["report"]).expect_code(0);
    assert!(night.out().contains(&format!("Plan {id}")), "{}", night.text());
    assert!(!runs.iter().any(|run| night.out().contains(&format!("### {run}"))), "{}", night.text());
    let night = user.run(&["report", "--json"]).expect_code(0).json();
    assert_eq!(night["plans"][0]["id"], id.as_str());
    let events = user.run(&["history", &id, "--events"]).expect_code(4);
    assert!(events.err().contains("--events is for one loop"), "{}", events.text());
}

#[test]
fn nothing_is_shown_as_changed_where_a_plan_applied_nothing() {
    let user = user();
    drop(user.run(&best_of("echo bad > other", "grep -q good answer", &["2"])).expect_code(1));
    let (id, runs) = (plan(&user), user.ids());
    let diff = user.run(&["diff", &id]).expect_code(4);
    assert!(diff.err().contains("changed nothing in the workspace"), "{}", diff.text());
    assert!(diff.err().contains(&format!("loop diff {}", runs[0])), "{}", diff.text());
    let commit = user.run(&["commit", &id]).expect_code(4);
    assert!(commit.err().contains("its result is not in the workspace"), "{}", commit.text());
    let iteration = user.run(&["diff", &id, "1"]).expect_code(4);
    assert!(iteration.err().contains("iterations are those of its loops"), "{}", iteration.text());
}

#[test]
fn a_workflow_history_says_why_a_loop_was_not_started() {
    // req: D-12 partly: history of a workflow
    let user = user();
    user.write(
        "work/flow.yaml",
        "loops:\n  - {id: a, prompt: task A, promise: test -e a.txt}\n  \
         - {id: b, prompt: task B, promise: test -e never.txt, depends_on: [a], max_iterations: 1}\n  \
         - {id: c, prompt: task C, promise: test -e c.txt, depends_on: [b]}\n",
    );
    let words = ["workflow", "run", "flow.yaml", "--agent-cmd", "cat > /dev/null; echo x > a.txt"];
    drop(user.run(&words).expect_code(1));
    let history = user.run(&["history"]).expect_code(0);
    assert!(history.err().contains("taking plan"), "{}", history.text());
    assert!(history.out().contains("c: not started: depends on b, which did not pass"), "{}", history.text());
    assert!(history.out().contains("  └ c"), "the tree: {}", history.text());
    let listed = user.run(&["list"]).expect_code(0);
    assert!(listed.out().contains("workflow of 3"), "{}", listed.text());
    assert!(listed.out().contains("└ -"), "it can be resumed, so its tree is shown: {}", listed.text());
}

#[test]
fn watch_follows_a_plan_to_its_end_and_inject_reaches_its_loops() {
    // req: D-16 partly: watch and inject of a plan
    let user = user_with_signs();
    let agent =
        format!("cat > \"$SIGNS/prompt-$LOOP_BRANCH-$LOOP_ITERATION\"; {}", waiting("echo $LOOP_ITERATION >> tries"));
    let words = ["start", "do it", "--promise", "grep -q 2 tries", "--agent-cmd", &agent, "-n", "3"];
    let more = ["--judge", "workspace", "--strength", "off", "--best-of", "2"];
    let running = user.begin(&[&words[..], &more[..]].concat());
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    let id = plan(&user);
    wait_until("the plan knows both loops", || {
        let nodes = user.run(&["status", &id, "--json"]).expect_code(0).json()["nodes"].clone();
        nodes.as_array().is_some_and(|nodes| nodes.iter().all(|node| node["run"].is_string()))
    });
    let shown = user.run(&["watch", &id]).expect_code(0);
    assert!(shown.out().contains("starts") && shown.out().contains("best of 2"), "{}", shown.text());
    let text = user.run(&["inject", &id, "look at the header"]).expect_code(0);
    assert_eq!(text.out().matches(": taken").count(), 2, "{}", text.text());
    let one = user.run(&["inject", &id, "only you", "--node", "2", "--json"]).expect_code(0).json();
    assert_eq!(one["nodes"][0]["taken"], true, "{one}");
    let none = user.run(&["inject", &id, "x", "--node", "9"]).expect_code(4);
    assert!(none.err().contains("has no node 9"), "{}", none.text());
    let watching = user.begin(&["watch", &id, "--follow"]);
    let events = user.begin(&["watch", &id, "--follow", "--json"]);
    user.write("signs/go", "");
    drop(running.end().expect_code(0));
    let watched = watching.end().expect_code(0);
    assert!(
        watched.out().contains("starts") && watched.out().contains("done, in the workspace only: "),
        "{}",
        watched.text()
    );
    let events = events.end().expect_code(0);
    let last: serde_json::Value = serde_json::from_str(events.out().lines().last().unwrap_or("null")).unwrap();
    assert_eq!(last["event"], "ended", "{}", events.text());
    for branch in ["1", "2"] {
        let prompt = user.read(&format!("signs/prompt-{branch}-2"));
        assert!(prompt.contains("look at the header"), "{branch}: {prompt}");
        assert_eq!(prompt.contains("only you"), branch == "2", "{branch}: {prompt}");
    }
    let late = user.run(&["inject", &id, "too late"]).expect_code(4);
    assert!(late.err().contains("takes no text any more"), "{}", late.text());
}

#[test]
fn a_list_has_one_row_for_a_plan_and_its_loops_below_it() {
    // req: D-16 partly: a plan in lists
    let user = user();
    drop(user.run(&best_of(SECOND, "grep -q good answer", &["2"])).expect_code(0));
    let (id, runs) = (plan(&user), user.ids());
    for words in [&["list"][..], &["status"], &[]] {
        let shown = user.run(words).expect_code(0);
        assert!(shown.out().contains(&id), "{words:?}: {}", shown.text());
        assert!(!runs.iter().any(|run| shown.out().contains(run)), "{words:?}: {}", shown.text());
    }
    let all = user.run(&["list", "--all"]).expect_code(0);
    assert!(runs.iter().all(|run| all.out().contains(run)), "{}", all.text());
    assert!(all.out().contains("branch 2"), "{}", all.text());
    let json = user.run(&["list", "--json"]).expect_code(0).json();
    assert_eq!(json["loops"].as_array().map(Vec::len), Some(2));
    assert_eq!(json["plans"][0]["id"], id.as_str());
    let none = user.run(&["list", "--status", "running"]).expect_code(0);
    assert!(!none.out().contains(&id), "{}", none.text());
}

#[test]
fn a_rollback_of_a_plan_takes_no_paths_and_at_means_the_plan() {
    let user = user();
    user.write("work/old", "as it was\n");
    drop(user.run(&best_of("echo good > answer; echo x > old", "grep -q good answer", &["2"])).expect_code(0));
    let id = plan(&user);
    for more in [&["--", "old"][..], &["--dry-run"], &["--restore-git"]] {
        let ran = user.run(&[&["rollback", &id, "initial"][..], more].concat()).expect_code(4);
        assert!(ran.err().contains("does not take"), "{more:?}: {}", ran.text());
    }
    assert_eq!(user.read("work/answer"), "good\n", "nothing was rolled back");
    drop(user.run(&["rollback", "@", "initial"]).expect_code(0));
    assert_eq!(user.tree("work"), ["old"]);
}

#[test]
fn what_a_plan_applied_is_committed_and_nothing_else() {
    // req: D-16 partly: a commit of a plan
    let user = user_with_signs();
    let git = |words: &[&str]| {
        let ran = Command::new("git").args(words).current_dir(user.work()).output().unwrap();
        assert!(ran.status.success(), "{words:?}: {ran:?}");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    user.write("work/own", "one\n");
    drop(git(&["init", "-q", "-b", "main"]));
    drop(git(&["config", "user.name", "u"]));
    drop(git(&["config", "user.email", "u@example.org"]));
    drop(git(&["add", "-A"]));
    drop(git(&["commit", "-qm", "first"]));
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    user.write("work/own", "edited meanwhile\n");
    user.write("signs/go", "");
    drop(running.end().expect_code(0));
    let id = plan(&user);
    let dry = user.run(&["commit", &id, "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(dry["paths"], serde_json::json!(["answer"]), "{dry}");
    let done = user.run(&["commit", "@"]).expect_code(0);
    assert!(done.out().contains("committed:  1 file on main"), "{}", done.text());
    let message = git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("do it\n") && message.contains(&format!("Loop-Plan: {id}")), "{message}");
    assert_eq!(git(&["show", "--format=", "--name-only", "HEAD"]), "answer\n");
    assert_eq!(git(&["status", "--porcelain"]), " M own\n", "the person's edit is not committed");
}

#[test]
fn a_person_picks_on_the_terminal_with_the_changes_and_the_table_in_view() {
    // req: D-16 partly: a pick on a terminal
    let user = user();
    let program = env!("CARGO_BIN_EXE_loop");
    let line = format!(
        "{program} start 'do it' --promise 'test -s answer' --agent-cmd 'echo $LOOP_BRANCH > answer' -n 1 \
         --judge workspace --strength off --best-of 2 --best-of-manual"
    );
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("which branch is applied?", 1);
    let screen = user.screen();
    for words in ["COVERAGE", "STRENGTH", "changed (whole: loop diff", "+1", "+2"] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    running.type_in(b"2\n");
    drop(running.end().expect_code(0));
    assert_eq!(user.read("work/answer"), "2\n");
}

#[test]
fn what_cannot_be_picked_on_the_terminal_is_answered_with_what_can_be_typed() {
    // req: D-16 partly: a pick on a terminal
    let user = user();
    let line = format!(
        "{} start 'do it' --promise 'grep -q 2 answer' --judge workspace --agent-cmd 'echo $LOOP_BRANCH > answer' -n 1 \
         --strength off --best-of 2 --best-of-manual",
        env!("CARGO_BIN_EXE_loop")
    );
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("which branch is applied?", 1);
    for (typed, why) in [
        ("1\n", "branch 1 cannot be applied: did not pass"),
        ("7\n", "there is no branch \"7\"; type one that passes (2) and Enter"),
        ("abc\n", "there is no branch \"abc\"; type one that passes (2) and Enter"),
        ("\n", "no branch was typed; type one that passes (2) and Enter"),
    ] {
        running.type_in(typed.as_bytes());
        user.wait_for_screen(why, 1);
    }
    running.type_in(b"2\n");
    drop(running.end().expect_code(0));
    let screen = user.screen();
    let asked = screen.split_once("which branch is applied?").map_or("", |(_, after)| after);
    let asked = asked.split("is to be applied").next().unwrap_or_default();
    assert!(!asked.lines().any(|line| line.trim_start().starts_with("2  passed")), "{asked}");
    assert!(!asked.lines().any(|line| line.trim_start().starts_with("1  did not")), "{asked}");
}

#[test]
fn after_ctrl_c_at_the_question_which_branch_the_choice_is_still_open() {
    // req: D-16 partly: a pick on a terminal
    let user = user();
    let program = env!("CARGO_BIN_EXE_loop");
    let line = format!(
        "exec {program} start 'do it' --promise 'grep -q 2 answer' --judge workspace \
         --agent-cmd 'echo $LOOP_BRANCH > answer' -n 1 --strength off --best-of 2 --best-of-manual"
    );
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("which branch is applied?", 1);
    running.type_in(b"\x03");
    drop(running.end().expect_code(1));
    let id = plan(&user);
    let status = user.run(&["status", &id]).expect_code(0);
    for text in [user.screen(), status.out()] {
        assert!(text.contains(&format!("loop pick {id} 2")), "{text}");
        assert!(!text.contains("--anyway"), "{text}");
    }
    assert_eq!(user.run(&["status", &id, "--json"]).expect_code(0).json()["outcome"], "awaits_person");
    drop(user.run(&["pick", &id, "2"]).expect_code(0));
    assert_eq!(user.read("work/answer"), "2\n");
}

#[test]
fn a_pick_without_a_branch_asks_on_a_terminal_and_says_what_is_missing_elsewhere() {
    // req: D-16 partly: a pick on a terminal
    let user = user();
    drop(user.run(&best_of("echo $LOOP_BRANCH > answer", "test -s answer", &["2", "--best-of-manual"])).expect_code(1));
    let id = plan(&user);
    let missing = user.run(&["pick", &id]).expect_code(4);
    assert!(missing.err().contains("these pass: 1, 2"), "{}", missing.text());
    let line = format!("{} pick {id}", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("which branch is applied?", 1);
    running.type_in(b"1\n");
    drop(running.end().expect_code(0));
    assert_eq!(user.read("work/answer"), "1\n", "{}", user.screen());
}
