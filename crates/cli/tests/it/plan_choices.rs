//! What a person can still do with a plan that has ended: more money, a branch that does not pass, undo before removal.
use std::fs;

use loop_testkit::{TestEnv, wait_until};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use crate::user;

/// The words of a best-of that is judged where it works, so that it is quick.
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
    let ids: Vec<String> = ids.into_iter().filter(|id| !id.starts_with('.')).collect();
    assert_eq!(ids.len(), 1, "one plan: {ids:?}");
    ids[0].clone()
}

fn status(user: &TestEnv, id: &str) -> Value {
    user.run(&["status", id, "--json"]).expect_code(0).json()
}

/// A `claude` whose calls cost a quarter of a dollar each, and which passes at its third call.
fn paid() -> TestEnv {
    let user = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    user.program(
        "claude",
        r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null
echo x >> calls.txt
[ $(wc -l < calls.txt) -ge 3 ] && echo good > answer
echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"fine"}]},"session_id":"5e551017-0000-4000-8000-000000000001"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"session_id":"5e551017-0000-4000-8000-000000000001"}'
exit 0"#,
    );
    user
}

#[test]
fn a_plan_whose_budget_is_used_up_continues_with_a_larger_one() {
    // req: D-16 partly: a larger budget at resume
    let user = paid();
    let words = ["start", "do it", "-p", "grep -q good answer", "--agent", "claude", "--judge", "workspace"];
    let more = ["--strength", "off", "--delay", "none", "--best-of", "2", "--on-red", "-n", "9"];
    let money = ["--max-cost", "0.50", "--worst-cost", "0.25"];
    let ran = user.run(&[&words[..], &more[..], &money[..]].concat()).expect_code(1);
    let id = plan(&user);
    assert!(ran.out().contains("the budget is used up"), "{}", ran.text());
    assert!(ran.out().contains(&format!("loop resume {id} --max-cost +1.00")), "{}", ran.text());
    // Without more it ends as before.
    let again = user.run(&["resume", &id]).expect_code(1);
    assert!(again.out().contains("the budget is used up"), "{}", again.text());
    let less = user.run(&["resume", &id, "--max-cost", "0.25"]).expect_code(4);
    assert!(less.err().contains("its loops have cost $0.50 already"), "{}", less.text());
    let other = user.run(&["resume", &id, "--max-no-progress", "5"]).expect_code(4);
    assert!(other.err().contains("only limits can change"), "{}", other.text());
    // The printed command, as it stands.
    let resumed = user.run(&["resume", &id, "--max-cost", "+1.00"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "good\n", "{}", resumed.text());
    let runs = user.ids().len();
    assert_eq!(runs, 2, "each branch continues its own loop: {}", resumed.text());
    let status = status(&user, &id);
    assert!(status["cost_micros"].as_u64().unwrap() <= 1_500_000, "{status}");
    let history = user.run(&["history", &id, "--verbose"]).expect_code(0);
    assert!(history.out().contains("all loops together may cost $1.50"), "{}", history.text());
}

#[test]
fn a_resume_of_a_plan_raises_the_limits_of_its_loops_and_the_budget_of_the_whole() {
    // req: D-16 partly: limits of loops at resume
    let user = paid();
    let words = ["start", "do it", "-p", "grep -q good answer", "--agent", "claude", "--judge", "workspace"];
    let more = ["--strength", "off", "--delay", "none", "--best-of", "2", "--on-red", "-n", "2"];
    let money = ["--max-cost", "0.50", "--worst-cost", "0.25"];
    drop(user.run(&[&words[..], &more[..], &money[..]].concat()).expect_code(1));
    let id = plan(&user);
    let low = user.run(&["resume", &id, "-n", "1"]).expect_code(4);
    assert!(low.err().contains("used up already"), "{}", low.text());
    let resumed = user.run(&["resume", &id, "--max-cost", "+1.00", "-n", "+2"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "good\n", "{}", resumed.text());
    assert_eq!(user.ids().len(), 2, "each branch continues its own loop: {}", resumed.text());
    let history = user.run(&["history", &id, "--verbose"]).expect_code(0);
    let asked = "each loop: max_iterations 4; all loops together may cost $1.50";
    assert!(history.out().contains(asked), "{}", history.text());
    let ended = user.run(&["resume", &id, "-n", "+2"]).expect_code(4);
    assert!(ended.err().contains("the plan has ended"), "{}", ended.text());
}

#[test]
fn a_loop_of_a_workflow_that_runs_again_has_the_limits_of_the_resume() {
    let user = user();
    user.write("work/flow.yaml", "name: flow\nloops:\n  - id: a\n    prompt: do it\n    promise: grep -q 3 answer\n");
    let agent =
        ["--agent-cmd", "echo $LOOP_ITERATION > answer", "-n", "1", "--judge", "workspace", "--strength", "off"];
    drop(user.run(&[&["workflow", "run", "flow.yaml"], &agent[..]].concat()).expect_code(1));
    let id = plan(&user);
    let resumed = user.run(&["resume", &id, "-n", "+2"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "3\n", "{}", resumed.text());
}

#[test]
fn the_budget_that_is_proposed_for_a_plan_is_enough_for_one_more_call() {
    let user = user();
    // It reports no cost, and passes at its second call.
    user.program(
        "claude",
        r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null
echo x >> calls.txt
[ $(wc -l < calls.txt) -ge 2 ] && echo good > answer
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine"}'"#,
    );
    let words = ["start", "do it", "-p", "grep -q good answer", "--agent", "claude", "--judge", "workspace"];
    let more = ["--strength", "off", "--delay", "none", "--best-of", "2", "-n", "9", "--max-cost", "1"];
    let ran = user.run(&[&words[..], &more[..]].concat()).expect_code(1);
    let id = plan(&user);
    assert!(ran.out().contains("the budget is used up"), "{}", ran.text());
    assert!(ran.out().contains(&format!("loop resume {id} --max-cost +18.00")), "{}", ran.text());
    let resumed = user.run(&["resume", &id, "--max-cost", "+18.00"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "good\n", "{}", resumed.text());
}

#[test]
fn a_branch_that_does_not_pass_is_taken_by_one_command_and_never_called_done() {
    // req: D-16 partly: the best state of branches that do not pass
    let user = user();
    user.write("work/old", "as it was\n");
    let ran = user.run(&best_of("seq $LOOP_BRANCH > part-$LOOP_BRANCH", "grep -q good answer", &["2"])).expect_code(1);
    let id = plan(&user);
    assert!(ran.out().contains(&format!("loop pick {id} 1 --anyway")), "{}", ran.text());
    let shown = user.run(&["status", &id]).expect_code(0);
    assert!(shown.out().contains(&format!("loop pick {id} 1 --anyway")), "{}", shown.text());
    let plain = user.run(&["pick", &id, "1"]).expect_code(4);
    assert!(plain.err().contains(&format!("loop pick {id} 1 --anyway")), "{}", plain.text());
    let taken = user.run(&["pick", &id, "1", "--anyway"]).expect_code(1);
    assert_eq!(user.tree("work"), ["old", "part-1"], "{}", taken.text());
    assert!(taken.out().contains("taken, not done"), "{}", taken.text());
    let out = taken.out();
    assert!(!out.lines().any(|line| line.starts_with("done")) && !out.contains("verified"), "{}", taken.text());
    assert_eq!(user.ids().len(), 2, "nothing runs again");
    let after = status(&user, &id);
    assert_eq!((&after["outcome"], &after["status"]), (&"taken".into(), &"failed".into()), "{after}");
    let twice = user.run(&["pick", &id, "2", "--anyway"]).expect_code(4);
    assert!(twice.err().contains("applied already"), "{}", twice.text());
    let commit = user.run(&["commit", &id]).expect_code(4);
    assert!(commit.err().contains("does not pass"), "{}", commit.text());
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    assert_eq!(user.tree("work"), ["old"]);
}

#[test]
fn a_rollback_before_a_branch_is_taken_is_not_said_to_come_after_it() {
    let user = user();
    drop(user.run(&best_of("seq $LOOP_BRANCH > part-$LOOP_BRANCH", "grep -q good answer", &["2"])).expect_code(1));
    let id = plan(&user);
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    let taken = user.run(&["pick", &id, "1", "--anyway"]).expect_code(1);
    let shown = user.run(&["status", &id]).expect_code(0).out();
    assert!(!shown.contains("rolled back"), "{}\n{shown}", taken.text());
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    let shown = user.run(&["status", &id]).expect_code(0).out();
    assert!(shown.contains("then        rolled back to initial"), "{shown}");
}

#[test]
fn the_removal_of_a_plan_names_what_is_lost_and_asks_or_wants_yes() {
    // req: D-16 partly: undo and open choices are not removed by accident
    let user = user();
    drop(user.run(&best_of("echo good > answer", "test -s answer", &["2"])).expect_code(0));
    let id = plan(&user);
    let refused = user.run(&["rm", &id]).expect_code(4);
    assert!(refused.err().contains(&format!("loop rollback {id} initial")), "{}", refused.text());
    assert!(refused.err().contains(&format!("loop rm {id} --yes")), "{}", refused.text());
    assert_eq!(plan(&user), id, "nothing was removed");
    let program = env!("CARGO_BIN_EXE_loop");
    // Nothing is typed at the question.
    let (asked, screen) = user.on_a_terminal(&format!("{program} rm {id}"));
    drop(asked.expect_code(4));
    assert!(screen.contains(&format!("remove plan {id}?")), "{screen}");
    assert_eq!(plan(&user), id, "nothing was removed");
    drop(user.run(&["rm", &id, "--yes"]).expect_code(0));
    drop(user.run(&["status", &id]).expect_code(4));
    let user = crate::user();
    let manual = ["2", "--best-of-manual"];
    drop(user.run(&best_of("echo good > answer", "test -s answer", &manual)).expect_code(1));
    let id = plan(&user);
    let refused = user.run(&["rm", &id]).expect_code(4);
    assert!(refused.err().contains(&format!("loop pick {id}")), "{}", refused.text());
    let user = crate::user();
    drop(user.run(&best_of("true", "test -s answer", &["2"])).expect_code(1));
    drop(user.run(&["rm", &plan(&user)]).expect_code(0));
}

#[test]
fn a_plan_notifies_once_at_its_end() {
    // req: D-16 partly: --notify
    let user = user();
    let told = user.root().join("told");
    user.program("tell", &format!("printf '%s|%s|%s\\n' \"$1\" \"$2\" \"$LOOP_OUTCOME\" >> {}", told.display()));
    let more = ["3", "--notify", "--notification-cmd", "tell"];
    let ran = user.run(&best_of("echo good > answer", "test -s answer", &more)).expect_code(0);
    let id = plan(&user);
    let text = fs::read_to_string(&told).unwrap_or_default();
    assert_eq!(text.lines().count(), 1, "{text}\n{}", ran.text());
    assert!(text.starts_with(&format!("plan {id}: completed (in the workspace only)|branch ")), "{text}");
    assert!(text.contains(" of 3 is applied"), "{text}");
    assert!(text.ends_with("|applied\n"), "{text}");
}

#[test]
fn a_word_in_the_stop_file_stops_a_plan_and_it_can_be_resumed() {
    // req: D-16 partly: the stop file
    let user = user();
    let signs = user.root().join("signs");
    fs::create_dir_all(&signs).unwrap();
    let user = user.with("SIGNS", signs);
    let agent = "touch \"$SIGNS/at-work-$LOOP_BRANCH\"; while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; \
                 echo $LOOP_ITERATION > answer";
    let words = best_of(agent, "grep -q 2 answer", &["2", "-n", "3", "--stop-file", ".harness/stop"]);
    let running = user.begin(&words);
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    user.write("work/.harness/stop", "stop\n");
    wait_until("it is obeyed", || !user.root().join("work/.harness/stop").exists());
    user.write("signs/go", "");
    let ran = running.end().expect_code(2);
    let id = plan(&user);
    assert!(ran.out().contains("stopped by the stop file"), "{}", ran.text());
    user.write("work/.harness/stop", "stop\n");
    let refused = user.run(&["resume", &id]).expect_code(4);
    assert!(refused.err().contains("the stop file"), "{}", refused.text());
    fs::remove_file(user.root().join("work/.harness/stop")).unwrap();
    drop(user.run(&["resume", &id]).expect_code(0));
    assert_eq!(user.read("work/answer"), "2\n");
}

#[test]
fn the_ranking_is_shown_whole_at_any_width() {
    // req: D-16 partly: the table on narrow terminals
    let user = user();
    let agent = "seq $LOOP_BRANCH > answer-with-a-name";
    drop(user.run(&best_of(agent, "test -s answer-with-a-name", &["3", "--best-of-metric", "lines"])).expect_code(0));
    let (id, program) = (plan(&user), env!("CARGO_BIN_EXE_loop"));
    for columns in [120, 80, 60, 40] {
        let (ran, _) = user.on_a_terminal(&format!("stty cols {columns}; {program} status {id}"));
        let text = loop_core::text::clean(ran.expect_code(0).out().as_bytes());
        let widest = text.lines().map(|line| line.trim_end().width()).max().unwrap_or(0);
        assert!(widest <= columns, "at {columns}: {widest}\n{text}");
        assert!(!text.contains('…'), "at {columns}: {text}");
        let words = text.to_lowercase();
        for name in ["branch", "gates", "metric", "lines", "coverage", "strength", "time"] {
            assert!(words.contains(name), "{name} at {columns}: {text}");
        }
    }
}

#[test]
fn old_plans_are_pruned_by_the_rules_of_loops() {
    let user = user();
    drop(user.run(&best_of("echo good > answer", "test -s answer", &["2"])).expect_code(0));
    let id = plan(&user);
    let young = user.run(&["prune", "--older-than", "1h"]).expect_code(0);
    assert!(young.out().contains("0 loops, freed"), "{}", young.text());
    let looked = user.run(&["prune", "--older-than", "0s", "--dry-run"]).expect_code(0);
    assert!(looked.out().contains(&format!("would remove plan {id} (completed)")), "{}", looked.text());
    assert!(looked.out().contains("2 loops and 1 plan, would free"), "{}", looked.text());
    let gone = user.run(&["prune", "--older-than", "0s", "--json"]).expect_code(0).json();
    assert_eq!(gone["removed_plans"], serde_json::json!([id]), "{gone}");
    assert_eq!(gone["removed"].as_array().map(Vec::len), Some(2), "{gone}");
    assert_eq!(user.read("work/answer"), "good\n");
    assert!(!user.state().join("plans").join(&id).exists());
}

#[test]
fn a_list_takes_plans_that_have_ended_from_the_index() {
    let user = user();
    drop(user.run(&best_of("echo good > answer", "test -s answer", &["2"])).expect_code(0));
    let id = plan(&user);
    let first = user.run(&["list", "--json"]).expect_code(0).json();
    // As long as before, and not a journal any more: what is shown is what the index has.
    let journal = user.state().join("plans").join(&id).join("journal.jsonl");
    let length = fs::metadata(&journal).unwrap().len();
    let kept = fs::read(&journal).unwrap();
    fs::write(&journal, "x".repeat(usize::try_from(length).unwrap())).unwrap();
    assert_eq!(user.run(&["list", "--json"]).expect_code(0).json()["plans"], first["plans"]);
    fs::remove_file(user.state().join("index.db")).unwrap();
    fs::write(&journal, kept).unwrap();
    assert_eq!(user.run(&["list", "--json"]).expect_code(0).json()["plans"], first["plans"], "it can be deleted");
}
