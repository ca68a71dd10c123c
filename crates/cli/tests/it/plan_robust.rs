//! Best-of plans when things go wrong: processes that are killed, records that are removed, money that runs out.
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use loop_testkit::{Call, Ran, Running, TestEnv, strace, wait_until};
use serde_json::Value;

use crate::user;

/// The words of a best-of that is judged where it works, so that it is quick.
fn best_of<'a>(agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "--promise", promise, "--agent-cmd", agent];
    words.extend(["--judge", "workspace", "--strength", "off", "--best-of"]);
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

/// The journal of the plan; empty where it is not made yet.
fn plan_journal(user: &TestEnv) -> String {
    let entries = fs::read_dir(user.state().join("plans")).into_iter().flatten().flatten();
    let made = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let journals = made.map(|entry| entry.path().join("journal.jsonl"));
    journals.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
}

fn status(user: &TestEnv, id: &str) -> Value {
    user.run(&["status", id, "--json"]).expect_code(0).json()
}

fn user_with_signs() -> TestEnv {
    let user = user();
    let signs = user.root().join("signs");
    fs::create_dir_all(&signs).unwrap();
    user.with("SIGNS", signs)
}

/// Says that it is at work, and waits for a file beside the workspace.
fn waiting(then: &str) -> String {
    format!(
        "echo $LOOP_ITERATION.$LOOP_ATTEMPT >> \"$SIGNS/log-$LOOP_BRANCH\"; touch \"$SIGNS/at-work-$LOOP_BRANCH\"; \
         while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; {then}"
    )
}

/// The processes that drive the branches of a plan.
fn branch_processes(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_branch = |pid: &u32| {
        let named = fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "loop-branch");
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let above = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        named && above == Some(parent)
    };
    pids.filter(is_branch).collect()
}

fn kill(pids: &[u32]) {
    let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
    // One that has ended meanwhile cannot be killed: what follows shows whether the others were.
    drop(Command::new("kill").arg("-KILL").args(&pids).output().unwrap());
}

fn lines(user: &TestEnv, path: &str) -> Vec<String> {
    let text = fs::read_to_string(user.root().join(path)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_branch_whose_process_is_killed_continues_its_own_loop() {
    // req: D-16 partly: a branch that the system kills
    let user = user_with_signs();
    let agent = waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2", "-n", "1"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    let runs = user.ids();
    let branches = branch_processes(running.pid());
    assert_eq!(branches.len(), 2);
    kill(&branches);
    for branch in ["signs/log-1", "signs/log-2"] {
        wait_until("the second attempt begins", || lines(&user, branch).len() == 2);
        assert_eq!(lines(&user, branch), ["1.1", "1.2"], "the same iteration, another attempt");
    }
    user.write("signs/go", "");
    let ran = running.end().expect_code(0);
    assert_eq!(user.read("work/answer"), "good\n", "{}", ran.text());
    assert_eq!(user.ids(), runs, "the same loops");
    assert!(ran.text().contains("its process was killed"), "it is said: {}", ran.text());
}

#[test]
fn a_branch_that_is_killed_again_and_again_is_given_up_and_a_resume_continues_its_loop() {
    let user = user_with_signs();
    let agent = "case $LOOP_BRANCH in 1) ;; *) exit 1;; esac; ".to_owned() + &waiting("echo good > answer");
    let running = user.begin(&best_of(&agent, "test -s answer", &["2", "-n", "1"]));
    let mut killed = 0;
    while killed < 4 {
        wait_until("the agent of branch 1 is at work", || lines(&user, "signs/log-1").len() > killed);
        killed += 1;
        let branches = branch_processes(running.pid());
        kill(&branches);
    }
    let ran = running.end();
    assert_ne!(ran.code, Some(0), "{}", ran.text());
    let (id, runs) = (plan(&user), user.ids());
    user.write("signs/go", "");
    let resumed = user.run(&["resume", &id]).expect_code(0);
    assert_eq!(user.ids(), runs, "the same loops: {}", resumed.text());
    assert_eq!(user.read("work/answer"), "good\n", "{}", resumed.text());
}

/// A `claude` that tells what each call cost: a quarter of a dollar, or what it may cost at most.
fn paid(script: &str) -> TestEnv {
    let user = user_with_signs().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    // An agent that is known gets no variable of ours.
    let signs = user.root().join("signs");
    user.program(
        "claude",
        &format!(
            r#"[ "$1" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit 0; }}
cat > /dev/null
SIGNS='{}'
cost=0.25; before=
for word; do [ "$before" = --max-budget-usd ] && cost=$(awk "BEGIN {{ print ($word < 0.25) ? $word : 0.25 }}"); before=$word; done
echo "$cost" >> "$SIGNS/costs"
echo '{{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}}'
echo call >> "$SIGNS/calls"
{script}
echo '{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"text","text":"fine"}}]}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":1,"total_cost_usd":'$cost',"usage":{{"input_tokens":10,"output_tokens":5}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'
exit 0"#,
            signs.display()
        ),
    );
    user
}

fn paid_words<'a>(promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = ["start", "do it", "-p", promise, "--agent", "claude", "--judge", "workspace", "--strength", "off"];
    [&words[..], &["--delay", "none", "--best-of"], more].concat()
}

#[test]
fn what_a_branch_cost_before_its_process_was_killed_counts() {
    let script = "echo $LOOP_ITERATION.$LOOP_ATTEMPT >> \"$SIGNS/log-$LOOP_BRANCH\"\n\
                  echo x >> work-$LOOP_BRANCH\n\
                  if test $LOOP_BRANCH.$LOOP_ITERATION = 1.2; then\n\
                  while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; echo good > answer; fi";
    let user = paid(script);
    let words = paid_words("test -s answer", &["2", "--on-red", "-n", "2"]);
    let running = user.begin(&words);
    wait_until("the second iteration", || lines(&user, "signs/log-1").len() == 2);
    kill(&branch_processes(running.pid()));
    wait_until("its second attempt", || lines(&user, "signs/log-1").len() == 3);
    user.write("signs/go", "");
    let ran = running.end().expect_code(0);
    assert_eq!(lines(&user, "signs/log-1"), ["1.1", "2.1", "2.2"], "{}", ran.text());
    assert_eq!(status(&user, &plan(&user))["cost_micros"], 500_000, "{}", ran.text());
}

#[test]
fn the_budget_of_the_whole_is_never_overshot() {
    // req: D-16 partly: the budget
    let user = paid("echo x >> work-$LOOP_BRANCH");
    let words = paid_words("test -s answer", &["3", "--max-cost", "1.30", "--worst-cost", "0.25", "-n", "9"]);
    let ran = user.run(&words).expect_code(1);
    let calls = lines(&user, "signs/calls").len();
    assert!((3..=6).contains(&calls), "{calls} calls with $1.30: {}", ran.text());
    let spent = status(&user, &plan(&user))["cost_micros"].as_u64().unwrap();
    let costs = lines(&user, "signs/costs");
    assert!(costs.len() == calls && costs.contains(&"0.25".to_owned()), "{costs:?}");
    assert!(spent <= 1_300_000, "{spent}");
}

#[test]
fn a_branch_that_made_things_worse_is_ended_with_prune() {
    // req: D-16 partly: --prune
    let user = user_with_signs();
    let agent = "echo $LOOP_ITERATION >> \"$SIGNS/log-$LOOP_BRANCH\"; case $LOOP_BRANCH.$LOOP_ITERATION in \
                 1.1) touch bad;; 1.*) sleep 1000;; 2.1) echo x > other;; \
                 *) while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; echo good > answer;; esac";
    let more = ["2", "--prune", "-n", "3", "--gate", "clean=test ! -e bad"];
    let running = user.begin(&best_of(agent, "test -s answer", &more));
    wait_until("branch 1 is ended", || plan_journal(&user).contains("\"pruned\":\"2\""));
    user.write("signs/go", "");
    let ran = running.end().expect_code(0);
    assert!(ran.text().contains("worse than branch 2, and than the start"), "{}", ran.text());
    assert_eq!(user.tree("work"), ["answer", "other"], "{}", ran.text());
}

#[test]
fn prune_looks_at_the_state_after_the_gates_of_an_iteration_however_long_they_take() {
    // req: D-16 partly: --prune
    let user = user_with_signs();
    let agent = "case $LOOP_BRANCH.$LOOP_ITERATION in 1.1) touch bad;; 1.*) sleep 1000;; 2.1) echo x > other;; \
                 *) while ! test -e \"$SIGNS/go\"; do sleep 0.05; done; echo good > answer;; esac";
    // The plan looks at its loops while the gate runs: it is longer than the time between two looks.
    let more = ["2", "--prune", "-n", "3", "--gate", "clean=sleep 1; test ! -e bad"];
    let running = user.begin(&best_of(agent, "test -s answer", &more));
    wait_until("branch 1 is ended", || plan_journal(&user).contains("\"pruned\":\"2\""));
    user.write("signs/go", "");
    drop(running.end().expect_code(0));
}

#[test]
fn what_an_open_plan_needs_is_not_removed() {
    // req: D-16 partly: losers and open choices stay
    let user = user();
    let words = best_of("echo $LOOP_BRANCH > answer", "test -s answer", &["2", "-n", "1", "--best-of-manual"]);
    drop(user.run(&words).expect_code(1));
    let (id, runs) = (plan(&user), user.ids());
    let refused = user.run(&["rm", &runs[0]]).expect_code(4);
    assert!(refused.err().contains(&format!("belongs to plan {id}")), "{}", refused.text());
    assert!(refused.err().contains(&format!("loop cancel {id}")), "{}", refused.text());
    let pruned = user.run(&["prune", "--older-than", "0s", "--all"]).expect_code(0);
    assert!(pruned.err().contains(&format!("{} stays: plan {id} needs it", runs[0])), "{}", pruned.text());
    for key in ["checkpoint_retention", "checkpoint_retention_main"] {
        drop(user.run(&["config", "set", key, "1ms"]).expect_code(0));
    }
    drop(user.run(&["checkpoint", "gc"]).expect_code(0));
    assert_eq!(user.ids(), runs);
    let picked = user.run(&["pick", &id, "2"]).expect_code(0);
    assert_eq!(user.read("work/answer"), "2\n", "{}", picked.text());
    drop(user.run(&["rm", &runs[0]]).expect_code(0));
}

#[test]
fn a_plan_and_its_loops_are_removed_by_one_command() {
    let user = user();
    let words = best_of("echo $LOOP_BRANCH > answer", "test -s answer", &["2", "-n", "1", "--best-of-manual"]);
    drop(user.run(&words).expect_code(1));
    let all = [vec!["rm".to_owned(), "--yes".to_owned(), plan(&user)], user.ids()].concat();
    drop(user.run(&all).expect_code(0));
    assert_eq!(user.ids(), Vec::<String>::new());
}

#[test]
fn a_rollback_of_a_plan_is_in_its_journal_and_status_shows_it() {
    let user = user();
    user.write("work/old", "as it was\n");
    drop(user.run(&best_of("echo good > answer", "test -s answer", &["2", "-n", "1"])).expect_code(0));
    let id = plan(&user);
    assert_eq!(status(&user, &id)["rolled_back"], Value::Null);
    drop(user.run(&["rollback", &id, "initial"]).expect_code(0));
    assert_eq!(user.tree("work"), ["old"]);
    let journal = plan_journal(&user);
    for words in
        ["\"requested\":{\"request\":{\"rollback\"", "\"order\":{\"roll_back\"", "\"rolled_back\":{\"to\":\"initial\""]
    {
        assert!(journal.contains(words), "{words} in {journal}");
    }
    let shown = user.run(&["status", &id]).expect_code(0);
    assert!(shown.out().contains("rolled back to initial"), "{}", shown.text());
    assert!(shown.out().contains(&format!("loop rollback {id} undo")), "{}", shown.text());
    let value = status(&user, &id);
    assert_eq!(value["rolled_back"]["to"], "initial", "{value}");
    assert_eq!(value["status"], "completed", "how it ended stays: {value}");
    drop(user.run(&["rollback", &id, "undo"]).expect_code(0));
    assert_eq!(user.tree("work"), ["answer", "old"]);
    let wrong = user.run(&["rollback", &id, "nothing"]).expect_code(4);
    assert!(wrong.err().contains("has no checkpoint nothing"), "{}", wrong.text());
    assert_eq!(status(&user, &id)["rolled_back"]["undo"], "undo-2");
}

#[test]
fn after_a_pause_was_taken_every_loop_holds_also_one_that_was_just_starting() {
    // req: D-16 partly: pause
    for moment in ["\"copied\":{", "\"order\":{\"run\":", "\"run_started\":{"] {
        let user = user_with_signs();
        let agent = "echo $LOOP_ITERATION | tee -a work; echo x >> \"$SIGNS/log-$LOOP_BRANCH\"";
        let words = best_of(agent, "test -s answer", &["4", "-n", "100000"]);
        let running = user.begin(&words);
        wait_until(moment, || plan_journal(&user).contains(moment));
        let id = plan(&user);
        drop(user.run(&["pause", &id]).expect_code(0));
        wait_until("every loop holds", || {
            let listed = user.run(&["list", "--json"]).expect_code(0).json();
            let ordered = plan_journal(&user).matches("\"order\":{\"run\":{").count();
            let loops = listed["loops"].as_array().cloned().unwrap_or_default();
            loops.len() == ordered && loops.iter().all(|row| row["status"] == "paused")
        });
        let shown = user.run(&["status", &id]).expect_code(0);
        assert!(shown.out().contains(&format!("next: loop resume {id}")), "{}", shown.text());
        let before: Vec<usize> = (1..=4).map(|branch| lines(&user, &format!("signs/log-{branch}")).len()).collect();
        drop(user.run(&["resume", &id]).expect_code(0));
        wait_until("all loops continue", || {
            let after = (1..=4).map(|branch| lines(&user, &format!("signs/log-{branch}")).len());
            before.iter().zip(after).all(|(before, after)| after > *before)
        });
        drop(user.run(&["cancel", &id]).expect_code(0));
        drop(running.end().expect_code(2));
    }
}

/// The overlays of copies that are mounted below the state folder.
fn mounted(user: &TestEnv) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let below = user.state().join("plan-copies");
    let paths = mounts.lines().filter_map(|line| line.split(' ').nth(1)).map(PathBuf::from);
    paths.filter(|path| path.starts_with(&below)).collect()
}

#[test]
fn an_overlay_that_is_not_mounted_any_more_is_mounted_again_before_its_loop_continues() {
    // req: D-17 partly: a copy after a restart of the machine
    for moment in ["at-work", "copied"] {
        let user = user_with_signs();
        user.write("work/old", "as it was\n");
        let agent = "test -e old || echo empty > \"$SIGNS/empty\"; echo mine > own; ".to_owned()
            + &waiting("test -e own && echo good > answer");
        let words = best_of(&agent, "test -s answer", &["2", "-n", "1"]);
        let running = if moment == "copied" {
            // The first process of a branch is not started any more.
            let log = user.root().join("calls");
            let options = ["-e", "trace=pidfd_open", "-e", "inject=pidfd_open:signal=KILL:when=1"];
            let mut command = strace(&options, &log);
            command.arg(env!("CARGO_BIN_EXE_loop")).args(&words);
            user.apply_env(&mut command);
            Running::of(command.spawn().unwrap(), user.root())
        } else {
            let running = user.begin(&words);
            user.wait_for_file("signs/at-work-1");
            user.wait_for_file("signs/at-work-2");
            running.signal("KILL");
            running
        };
        drop(running.end());
        wait_until("nothing is left", || user.ids().iter().all(|id| user.marked(id).is_empty()));
        let overlays = mounted(&user);
        assert!(!overlays.is_empty(), "{moment}: copies are overlays where root may mount them");
        for path in overlays {
            assert!(Command::new("umount").arg(path).status().unwrap().success());
        }
        user.write("signs/go", "");
        let resumed = user.run(&["resume", &plan(&user)]).expect_code(0);
        assert_eq!(user.tree("work"), ["answer", "old", "own"], "{moment}: {}", resumed.text());
        assert!(!user.root().join("signs/empty").exists(), "{moment}: no agent worked in an empty folder");
        assert_eq!(mounted(&user), Vec::<PathBuf>::new());
    }
}

#[test]
fn after_a_conflict_a_resume_applies_the_result_when_the_users_edit_is_out_of_the_way() {
    // req: D-17 partly: the apply after a conflict
    let user = user_with_signs();
    user.write("work/shared", "one\n");
    let agent = waiting("echo agent > shared");
    let running = user.begin(&best_of(&agent, "grep -q agent shared", &["2", "-n", "1"]));
    user.wait_for_file("signs/at-work-1");
    user.wait_for_file("signs/at-work-2");
    user.write("work/shared", "user\n");
    user.write("work/mine", "a new file of the user\n");
    user.write("signs/go", "");
    let ran = running.end().expect_code(1);
    assert_eq!(user.read("work/shared"), "user\n", "{}", ran.text());
    let (id, runs) = (plan(&user), user.ids());
    let again = user.run(&["resume", &id]).expect_code(1);
    assert_eq!(user.read("work/shared"), "user\n", "{}", again.text());
    user.write("work/shared", "one\n");
    let resumed = user.run(&["resume", &id]).expect_code(0);
    assert_eq!(user.read("work/shared"), "agent\n", "{}", resumed.text());
    assert_eq!(user.read("work/mine"), "a new file of the user\n");
    assert_eq!((user.ids(), lines(&user, "signs/log-1").len()), (runs, 1), "no loop ran again");
}

/// The best-of that is killed at its own system calls.
fn killed_words() -> Vec<&'static str> {
    let agent = "echo $LOOP_ITERATION.$LOOP_ATTEMPT >> \"$SIGNS/log-$LOOP_BRANCH\"; \
                 case $LOOP_BRANCH in 2) echo good > answer; rm -f old;; *) echo bad > other;; esac";
    best_of(agent, "grep -q good answer", &["2", "-n", "1", "--parallel", "1"])
}

fn traced(user: &TestEnv, options: &[&str]) -> Ran {
    let mut command = strace(options, &user.root().join("calls"));
    command.arg(env!("CARGO_BIN_EXE_loop")).args(killed_words());
    user.apply_env(&mut command);
    Running::of(command.spawn().unwrap(), user.root()).end()
}

fn scene() -> TestEnv {
    let user = user_with_signs();
    user.write("work/old", "as it was\n");
    user.write("work/own", "the user's\n");
    user
}

/// What a kill at this write came to after a resume.
fn judge_killed(at: u32) -> Result<String, String> {
    let user = scene();
    let inject = format!("inject=write:signal=KILL:when={at}");
    let ran = traced(&user, &["-e", "trace=write", "-e", &inject]);
    let fail = |why: String| Err(format!("killed at write {at}: {why}\n{}", ran.text()));
    wait_until("nothing is left", || user.ids().iter().all(|id| user.marked(id).is_empty()));
    let before = plan_journal(&user);
    let last = before.lines().last().unwrap_or_default().to_owned();
    if before.is_empty() {
        return if user.tree("work") == ["old", "own"] { Ok("no plan".to_owned()) } else { fail("changed".to_owned()) };
    }
    let id = plan(&user);
    let ended = before.contains("\"concluded\"");
    let resumed = user.run(&["resume", &id]);
    if resumed.code != Some(if ended { 4 } else { 0 }) {
        return fail(format!("resume: {}", resumed.text()));
    }
    let tree = user.tree("work");
    if tree != ["answer", "own"] || user.read("work/own") != "the user's\n" || user.read("work/answer") != "good\n" {
        return fail(format!("the workspace has {tree:?}: {}", resumed.text()));
    }
    // One loop for each branch, and no iteration twice but one whose agent was killed.
    let logs = [lines(&user, "signs/log-1"), lines(&user, "signs/log-2")];
    let once = |log: &Vec<String>| log.iter().enumerate().all(|(at, line)| *line == format!("1.{}", at + 1));
    if user.ids().len() != 2 || !logs.iter().all(once) || logs.iter().any(|log| log.len() > 2) {
        return fail(format!("{:?} {logs:?}", user.ids()));
    }
    // What a killed plan could not remove goes with the next command.
    drop(user.run(&["list"]).expect_code(0));
    if mounted(&user) != Vec::<PathBuf>::new()
        || fs::read_dir(user.state().join("plan-copies")).map_or(0, Iterator::count) > 0
    {
        return fail("copies are left".to_owned());
    }
    wait_until("nothing is left", || user.ids().iter().all(|id| user.marked(id).is_empty()));
    Ok(last)
}

#[test]
fn a_plan_that_is_killed_at_any_write_is_finished_by_a_resume_and_nothing_is_done_twice() {
    // req: D-16 partly: crashes
    let user = scene();
    let ran = traced(&user, &["-e", "trace=write"]).expect_code(0);
    let count = Call::read(&user.root().join("calls")).iter().filter(|call| call.name == "write").count();
    assert!(count > 20, "{count} writes: {}", ran.text());
    let count = u32::try_from(count).unwrap();
    let step = match std::env::var("KILL_POINTS").as_deref() {
        Ok("all") => 1,
        _ => (count / 14).max(1),
    };
    let points: Vec<u32> = (1..=count).filter(|at| at % step == 0).collect();
    let found = loop_testkit::for_all(&points, |at| judge_killed(*at));
    let failed: Vec<String> = found.into_iter().filter_map(Result::err).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
