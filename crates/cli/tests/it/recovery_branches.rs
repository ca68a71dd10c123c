//! A stuck loop that tries several ways beside each other, each in a copy of its own: which one wins, what is left of the
//! others, what a crash in between costs, and that limits hold.
use std::fs;

use loop_testkit::{TestEnv, wait_until};

use crate::recovery::rungs_of;
use crate::{start, user};

/// It writes down each call, and gets it done only where the task says this.
fn only_with(env: &TestEnv, words: &str) -> String {
    let calls = env.root().join("calls").display().to_string();
    format!(
        "prompt=$(cat); echo \"${{LOOP_BRANCH:-loop}} $LOOP_ITERATION.$LOOP_ATTEMPT\" >> {calls}; \
         echo \"${{LOOP_BRANCH:-loop}}\" >> notes; case \"$prompt\" in *'{words}'*) echo done > result;; esac"
    )
}

const PROMISE: &str = "test -e result";
const BRANCHES: [&str; 5] = ["--recover", "--ladder", "branches:2x2, human", "--strength", "off"];

fn calls(env: &TestEnv) -> Vec<String> {
    let text = fs::read_to_string(env.root().join("calls")).unwrap_or_default();
    let mut calls: Vec<String> = text.lines().map(str::to_owned).collect();
    calls.sort();
    calls
}

/// The loop that was stuck: the only one that is no branch.
fn stuck(env: &TestEnv) -> String {
    let list = env.run(&["list", "--json"]).expect_code(0).json();
    let rows: Vec<_> = list["loops"].as_array().unwrap().iter().filter(|row| row["plan"].is_null()).collect();
    assert_eq!(rows.len(), 1, "{list}");
    let table = env.run(&["list"]).expect_code(0).out();
    assert_eq!(table.lines().count(), 2, "a row for the loop, and none for its branches: {table}");
    let id = rows[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(list["plans"][0]["recovers"], id.as_str(), "{list}");
    id
}

// req: A-06
// req: A-09
#[test]
fn the_second_branch_wins_and_its_state_is_judged_again_in_the_workspace() {
    let env = user();
    env.write("work/kept", "mine");
    let agent = only_with(&env, "research-first");
    let ran = env.run(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat())).expect_code(0);
    for words in ["recovery tries branches", "branches worked", "rolled back to branches-1", "the promise passes"] {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
    assert_eq!(env.read("work/result"), "done\n");
    assert_eq!(env.read("work/notes"), "loop\nloop\nbranch-b\n", "of branch-a nothing is left");
    assert_eq!(env.read("work/kept"), "mine");
    let id = stuck(&env);
    assert_eq!(rungs_of(&env, &id).len(), 1);
    assert!(rungs_of(&env, &id)[0].starts_with("branches success"), "{:?}", rungs_of(&env, &id));
    // The newest loop of this folder is the loop itself.
    let history = env.run(&["history"]).expect_code(0).out();
    assert!(history.contains("branches: worked after") && history.contains("branch-b: its gates pass"), "{history}");
    let plan = history.split("all branches: loop status ").nth(1).and_then(|rest| rest.split_whitespace().next());
    let table = env.run(&["status", plan.unwrap_or_default()]).expect_code(0).out();
    assert!(table.contains("branch-a") && table.contains("branch-b"), "{table}");
    let report = env.run(&["report", "--since", "1h"]).expect_code(0).out();
    assert!(!report.contains("best of 2"), "the branches are a part of the loop: {report}");
    // What was in the workspace before comes back.
    env.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(env.read("work/notes"), "loop\nloop\n");
    assert!(!env.root().join("work/result").exists());
}

// req: A-06
#[test]
fn where_no_branch_is_better_the_workspace_is_untouched_and_a_person_is_needed() {
    let env = user();
    let agent = only_with(&env, "words that no prompt has");
    let ran = env.run(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat())).expect_code(1);
    assert!(ran.text().contains("Stuck after all recovery attempts"), "{}", ran.text());
    assert_eq!(env.read("work/notes"), "loop\nloop\n");
    let of = |branch: &str| calls(&env).iter().filter(|call| call.starts_with(branch)).count();
    assert_eq!((of("branch-a"), of("branch-b")), (2, 2), "{:?}", calls(&env));
}

// req: A-23 partly: branches
#[test]
fn a_loop_that_is_killed_during_its_branches_resumes_them_and_pays_for_none_twice() {
    let env = user();
    let root = env.root().display().to_string();
    let agent = only_with(&env, "research-first");
    let wait = format!(
        "[ \"$LOOP_BRANCH\" != branch-b ] || {{ touch {root}/at-work; while [ ! -e {root}/go ]; do sleep 0.02; done; }}"
    );
    let agent = format!("{wait}; {agent}");
    let killed = env.begin(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat()));
    env.wait_for_file("at-work");
    wait_until("branch-a has ended", || plan_journal(&env).contains("\"not_passed\""));
    killed.signal("KILL");
    drop(killed.end());
    nobody_works(&env);
    env.write("go", "");
    let id = stuck(&env);
    env.run(&["resume", &id]).expect_code(0);
    let wanted = ["branch-a 1.1", "branch-a 2.1", "branch-b 1.2", "loop 1.1", "loop 2.1"];
    assert_eq!(calls(&env), wanted, "the call that was cut off is made again, and no other");
    assert_eq!(env.read("work/notes"), "loop\nloop\nbranch-b\n");
    let rungs = rungs_of(&env, &id);
    assert!(rungs.len() == 1 && rungs[0].starts_with("branches success"), "{rungs:?}");
}

/// What a killed loop had started ends with it, a moment later.
pub(crate) fn nobody_works(env: &TestEnv) {
    for id in env.ids() {
        wait_until("nothing of the killed loop is alive", || env.marked(&id).is_empty());
    }
}

fn plan_journal(env: &TestEnv) -> String {
    let entries = fs::read_dir(env.state().join("plans")).into_iter().flatten().flatten();
    let made = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    made.map(|entry| fs::read_to_string(entry.path().join("journal.jsonl")).unwrap_or_default()).collect()
}

// req: A-29
#[test]
fn branches_take_no_more_iterations_than_the_loop_has_left() {
    let env = user();
    let agent = only_with(&env, "words that no prompt has");
    env.run(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "4"]].concat())).expect_code(1);
    let wanted = ["branch-a 1.1", "branch-b 1.1", "loop 1.1", "loop 2.1"];
    assert_eq!(calls(&env), wanted);
}

// req: A-29
#[test]
fn a_cancel_during_branches_ends_all_of_them_and_leaves_nothing_running() {
    let env = user();
    let root = env.root().display().to_string();
    let agent = format!(
        "cat > /dev/null; [ -z \"$LOOP_BRANCH\" ] || {{ touch {root}/at-work-$LOOP_BRANCH; sleep 1000; }}; echo x >> notes"
    );
    let running = env.begin(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat()));
    env.wait_for_file("at-work-branch-a");
    env.wait_for_file("at-work-branch-b");
    env.run(&["cancel", &stuck(&env)]).expect_code(0);
    running.end().expect_code(2);
    for id in env.ids() {
        assert_eq!(env.marked(&id), Vec::<u32>::new(), "{id}");
    }
    assert_eq!(env.read("work/notes"), "x\nx\n");
}

/// Branches wait for a file; each says that it is at work.
fn waiting(env: &TestEnv, then: &str) -> String {
    let root = env.root().display().to_string();
    format!(
        "[ -z \"$LOOP_BRANCH\" ] || {{ echo $LOOP_BRANCH $LOOP_ITERATION >> {root}/began; \
         touch {root}/at-work-$LOOP_BRANCH; while [ ! -e {root}/go ]; do sleep 0.02; done; }}; {then}"
    )
}

#[test]
fn what_a_person_changes_while_branches_work_is_not_overwritten_by_the_winner() {
    let env = user();
    let agent = waiting(&env, &only_with(&env, "research-first"));
    let running = env.begin(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat()));
    env.wait_for_file("at-work-branch-b");
    env.write("work/mine.txt", "by hand\n");
    env.write("go", "");
    let ran = running.end().expect_code(1);
    assert_eq!(env.read("work/mine.txt"), "by hand\n", "{}", ran.text());
    assert!(!env.root().join("work/result").exists(), "nothing is restored: {}", ran.text());
    let id = stuck(&env);
    // The winner is still there, by the command that the history shows.
    assert!(rungs_of(&env, &id)[0].starts_with("branches failed"), "{:?}", rungs_of(&env, &id));
    let history = env.run(&["history", &id]).expect_code(0).out();
    assert!(history.contains(&format!("take it: loop rollback {id} branches-1")), "{history}");
    env.run(&["rollback", &id, "branches-1"]).expect_code(0);
    assert_eq!(env.read("work/result"), "done\n");
}

#[test]
fn a_stop_during_branches_ends_them_after_their_iterations_and_a_resume_continues_them() {
    let env = user();
    let agent = waiting(&env, &only_with(&env, "words that no prompt has"));
    let running = env.begin(&start(&agent, PROMISE, &[&BRANCHES[..], &["-n", "12"]].concat()));
    env.wait_for_file("at-work-branch-a");
    env.wait_for_file("at-work-branch-b");
    let id = stuck(&env);
    env.run(&["stop", &id]).expect_code(0);
    wait_until("the branches know it", || plan_journal(&env).contains("\"stop\""));
    env.write("go", "");
    let ran = running.end();
    assert_eq!(ran.code, Some(2), "{}", ran.text());
    assert_eq!(env.read("began").lines().count(), 2, "one iteration of each: {}", env.read("began"));
    assert!(!ran.text().contains("did not help"), "{}", ran.text());
    let resumed = env.run(&["resume", &id]).expect_code(1);
    assert_eq!(env.read("began").lines().count(), 4, "the second of each: {}", resumed.text());
    assert!(resumed.text().contains("Stuck after all recovery attempts"), "{}", resumed.text());
    assert_eq!(calls(&env).len(), 6, "{:?}", calls(&env));
}

#[test]
fn a_branch_that_passes_only_in_its_copy_is_not_recorded_as_one_that_worked() {
    let env = user();
    env.write("work/.gitignore", "out/\n");
    let agent = "cat > /dev/null; echo x >> notes; [ -z \"$LOOP_BRANCH\" ] || { mkdir -p out; touch out/done; }";
    let more = ["-n", "9", "--judge", "workspace"];
    let ran = env.run(&start(agent, "test -e out/done", &[&BRANCHES[..], &more].concat())).expect_code(1);
    let rungs = rungs_of(&env, &stuck(&env));
    assert!(rungs[0].starts_with("branches failed"), "{rungs:?}: {}", ran.text());
    assert!(rungs.len() <= 2, "it is not tried again and again: {rungs:?}");
}

// req: A-29
#[test]
fn a_time_limit_that_is_reached_in_branches_ends_the_loop_by_that_limit() {
    let env = user();
    let agent = "cat > /dev/null; [ -z \"$LOOP_BRANCH\" ] || sleep 1000; echo x >> notes";
    let ran =
        env.run(&start(agent, PROMISE, &[&BRANCHES[..], &["-n", "12", "--max-time", "6s"]].concat())).expect_code(1);
    assert!(ran.text().contains("reached by the branches"), "{}", ran.text());
    assert!(!ran.text().contains("Stuck after all recovery attempts"), "{}", ran.text());
}

/// A `claude` whose calls cost a quarter of a dollar and 15 tokens, and get nothing done.
fn paid(env: &TestEnv, script: &str) {
    let root = env.root().display().to_string();
    let session = r#""session_id":"5e551017-0000-4000-8000-000000000001""#;
    env.program(
        "claude",
        &format!(
            r#"[ "$1" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit 0; }}
cat > /dev/null
ROOT='{root}'
echo "${{LOOP_BRANCH:-loop}} $LOOP_ITERATION.$LOOP_ATTEMPT" >> "$ROOT/calls"
echo x >> notes
{script}
echo '{{"type":"system","subtype":"init",{session},"model":"m"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":1,"total_cost_usd":0.25,"usage":{{"input_tokens":10,"output_tokens":5}},{session}}}'"#
        ),
    );
}

fn paid_words<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let words = ["start", "do it", "-p", PROMISE, "--agent", "claude", "--judge", "workspace", "--strength", "off"];
    [&words[..], &["--delay", "none", "--recover", "-n", "40"], more].concat()
}

// req: A-29
#[test]
fn several_branches_together_do_not_go_past_the_limit_of_money_or_of_tokens() {
    for (limit, most) in [(["--max-cost", "2"], 8), (["--max-tokens", "120"], 8)] {
        let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
        paid(&env, "");
        let ladder = ["--ladder", "fresh:1, branches:4x3, human"];
        let ran = env.run(&paid_words(&[&ladder[..], &limit].concat())).expect_code(1);
        let made = calls(&env).len();
        assert!((4..=most).contains(&made), "{limit:?}: {made} calls: {}", ran.text());
        assert!(ran.text().contains("budget_limit"), "{limit:?}: {}", ran.text());
    }
}

// req: A-29
// req: A-23 partly: branches
#[test]
fn a_call_that_a_crash_cut_off_counts_once_as_what_a_call_cost_so_far_and_it_is_said() {
    let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    let wait = "[ \"$LOOP_BRANCH\" != branch-b ] || [ -e \"$ROOT/go\" ] || { touch \"$ROOT/at-work\"; sleep 1000; }";
    paid(&env, wait);
    let more = ["--ladder", "branches:2x2, human", "--max-cost", "3"];
    let killed = env.begin(&paid_words(&more));
    env.wait_for_file("at-work");
    wait_until("branch-a has ended", || plan_journal(&env).contains("\"not_passed\""));
    killed.signal("KILL");
    drop(killed.end());
    nobody_works(&env);
    env.write("go", "");
    let id = stuck(&env);
    let ran = env.run(&["resume", &id]).expect_code(1);
    let wanted =
        ["branch-a 1.1", "branch-a 2.1", "branch-b 1.1", "branch-b 1.2", "branch-b 2.1", "loop 1.1", "loop 2.1"];
    assert_eq!(calls(&env), wanted, "{}", ran.text());
    assert!(ran.text().contains("1 call did not report a cost: "), "{}", ran.text());
}

#[test]
fn a_list_of_agents_in_a_settings_file_is_read() {
    // req: A-17
    let env = user();
    env.run(&["config", "set", "agents", "claude,codex"]).expect_code(0);
    env.run(&["config", "check"]).expect_code(0);
    let ran = env.run(&start("touch result", PROMISE, &["-n", "1"]));
    assert!(!ran.text().contains("must be a table"), "{}", ran.text());
}

/// A program that answers as codex or gemini does: it changes a line and gets nothing done.
fn idle_agent(env: &TestEnv, name: &str) {
    let root = env.root().display().to_string();
    env.program(
        name,
        &format!(
            "[ \"$1\" = --version ] && {{ echo 1.0.0; exit 0; }}\n\
             cat > /dev/null; echo \"{name} ${{LOOP_BRANCH:-loop}}\" >> {root}/calls; echo x >> notes"
        ),
    );
}

// req: A-09 partly: the prompt of each branch
#[test]
fn each_of_the_three_branches_of_the_profile_gets_its_agent_its_approach_and_its_form_of_the_task() {
    let env = user();
    idle_agent(&env, "codex");
    idle_agent(&env, "gemini");
    let more = ["--profile", "autonomous", "--cli", "codex,gemini", "--ladder", "branches:3x1, human", "-n", "12"];
    let words = ["start", "fix it", "-p", PROMISE, "--stuck-after", "1", "--min-iteration-duration", "none"];
    let last = ["--text-writer", "loop", "--strength", "off", "--max-time", "5m"];
    drop(env.run(&[&words[..], &more, &last].concat()));
    let prompt = |branch: &str| {
        let list = env.run(&["list", "--json"]).expect_code(0).json();
        let node = list["plans"][0]["nodes"].as_array().unwrap().iter().find(|node| node["node"] == branch).unwrap();
        let run = node["run"].as_str().unwrap_or_else(|| panic!("{branch}: {node}"));
        let prompt = env.run_folder(run).join("iterations/000001/attempt-1/prompt.md");
        (node["agent"].as_str().unwrap().to_owned(), fs::read_to_string(prompt).unwrap())
    };
    for (branch, agent, approach, form) in [
        ("branch-a", "codex", "bottom-up implementation", "List the smallest steps that are left"),
        ("branch-b", "gemini", "research-first", "Read first, and edit after that"),
        ("branch-c", "codex", "constraint-driven", "Change at most three files"),
    ] {
        let (worked, prompt) = prompt(branch);
        assert_eq!(worked, agent, "{branch}");
        for words in ["fix it", &format!("How to go about it this time: {approach}."), form, "These iterations did not"]
        {
            assert!(prompt.contains(words), "{branch}: {words:?} is not in:\n{prompt}");
        }
        assert_eq!(prompt.matches("How to go about it this time").count(), 1, "{branch}: {prompt}");
    }
}
