//! `loopr` as its document has it: how a loop of it ends, by a program on the PATH that plays codex.
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use expect_test::expect;
use loop_testkit::{Ran, Running, TestEnv, wait_until};
use serde_json::{Value, json};

/// A user of the built `loopr` with a `codex` that writes down how it was called and does what the script says. `$n` is the
/// number of the call, from 1; `block STATUS EXIT_SIGNAL WORK_TYPE ERRORS` says a status block; `say` any text.
pub(crate) fn loopr(script: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_loopr"));
    env.program("codex", &format!("{CODEX}\n{script}"));
    env
}

const CODEX: &str = r#"[ "$1" = --version ] && { echo 'codex-cli 0.166.0'; exit 0; }
echo call >> "$HOME/calls"; n=$(wc -l < "$HOME/calls" | tr -d ' ')
for word in "$@"; do printf '%s\n' "$word"; done > "$HOME/argv-$n"
cat > "$HOME/prompt-$n"
thread() { echo '{"type":"thread.started","thread_id":"01a1e083-0000-7000-8000-000000000001"}'; }
say() {
  echo '{"type":"turn.started"}'
  printf '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"%s"}}\n' "$1"
  echo '{"type":"turn.completed","usage":{"input_tokens":1400,"cached_input_tokens":1000,"output_tokens":100}}'
}
block() { say "Done so far.\n\n---LOOPR_STATUS---\nSTATUS: $1\nEXIT_SIGNAL: $2\nWORK_TYPE: $3\nFILES_MODIFIED: 1\nERRORS: $4\nSUMMARY: call $n\n---END_LOOPR_STATUS---\n"; }
"#;

/// Runs `loopr loop "do it"` with more words before the prompt.
fn looped(env: &TestEnv, more: &[&str]) -> Ran {
    let mut words = vec!["loop"];
    words.extend(more);
    words.push("do it");
    env.run(&words)
}

/// A command of `loop` for the same user.
pub(crate) fn plain_loop(env: &TestEnv, words: &[&str]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop"));
    command.args(words);
    env.apply_env(&mut command);
    Running::of(command.spawn().unwrap(), env.root()).end()
}

pub(crate) fn published(env: &TestEnv, name: &str) -> Value {
    let text = env.read(&format!("work/.loopr/{name}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}: {text}"))
}

fn calls(env: &TestEnv) -> usize {
    env.read("home/calls").lines().count()
}

/// State, reason, iteration and exit code of a whole run.
fn ended(env: &TestEnv, more: &[&str]) -> (String, String, u64, i32) {
    let ran = looped(env, more);
    let status = published(env, "status.json");
    let word = |name: &str| status[name].as_str().unwrap_or("null").to_owned();
    let code = ran.code.unwrap_or(-1);
    (word("state"), word("exit_reason"), status["iteration"].as_u64().unwrap(), code)
}

fn is(state: &str, reason: &str, iteration: u64, code: i32) -> (String, String, u64, i32) {
    (state.to_owned(), reason.to_owned(), iteration, code)
}

#[test]
fn two_claims_with_the_signal_and_a_quiet_tree_are_complete() {
    // req: B-01
    // req: B-06
    // req: B-10
    // req: B-11
    // req: B-13
    let env = loopr("[ $n = 1 ] && echo work > made\nthread\nblock COMPLETE true code 0");
    let ran = looped(&env, &[]).expect_code(0);
    assert_eq!(calls(&env), 2, "{}", ran.text());
    let mut status = published(&env, "status.json");
    status["next_reset_at"].take();
    let whole = json!({
        "state": "complete", "iteration": 2, "exit_reason": "done", "last_summary": "call 2",
        "last_error": null, "call_count": 2, "next_reset_at": null,
        "qualification": "claimed by the agent, not verified"
    });
    assert_eq!(status, whole);
    expect![[r#"
        {
          "completion_indicators": 2,
          "no_progress": 1,
          "same_error": 0,
          "same_error_signature": null,
          "consecutive_test_loops": 0,
          "missing_status": 0
        }
    "#]]
    .assert_eq(&env.read("work/.loopr/loop-state.json"));
    assert_eq!(env.read("work/.loopr/.call_count"), "2\n");
    expect![["$MOMENT\n"]].assert_eq(&ran.same_everywhere(&env.read("work/.loopr/.last_reset")));
    expect![[r#"
        $MOMENT run=$ID iteration=1 status=COMPLETE exit_signal=true files=1 completion_indicators=1 no_progress=0 same_error=0 test_loops=0 missing_status=0 state=running summary="call 1"
        $MOMENT run=$ID iteration=2 status=COMPLETE exit_signal=true files=0 completion_indicators=2 no_progress=1 same_error=0 test_loops=0 missing_status=0 state=complete exit_reason=done qualification="claimed by the agent, not verified" summary="call 2" why="the agent says 2 times in a row that it is done, and changed nothing more; nothing was verified"
    "#]]
    .assert_eq(&same_id(&env, &ran, "work/.loopr/loop.log"));
    let names = env.tree("work/.loopr");
    assert_eq!(names, [".call_count", ".last_reset", "loop-state.json", "loop.log", "status.json"]);
}

/// A file with its id and its moments made the same everywhere.
fn same_id(env: &TestEnv, ran: &Ran, path: &str) -> String {
    ran.same_everywhere(&env.read(path).replace(&env.id(), "$ID"))
}

#[test]
fn it_is_not_complete_without_the_signal_the_count_or_a_quiet_tree() {
    // req: B-06
    // req: B-08
    let scripts = [
        // Done without the signal, for ever.
        "echo $n > made\nblock COMPLETE false code 0",
        // The signal, but work goes on.
        "echo $n > made\nblock COMPLETE true code 0",
        // A claim, then none: the count begins anew.
        "[ $((n % 2)) = 0 ] && { echo $n > made; block IN_PROGRESS false code 0; } || block COMPLETE true code 0",
        // The words of other tools mean nothing here.
        "echo $n > made\nsay 'All done. <promise>COMPLETE</promise>\\n'",
    ];
    for script in scripts {
        let env = loopr(script);
        env.write("work/.loopr/config", "MAX_ITERATIONS=4\nMAX_MISSING_STATUS=9\n");
        assert_eq!(ended(&env, &[]), is("error", "max_iterations", 4, 1), "{script}");
        assert_eq!(calls(&env), 4, "{script}");
    }
}

#[test]
fn the_count_of_claims_that_are_needed_can_be_set() {
    // req: B-04
    // req: B-06
    let env = loopr("block COMPLETE true code 0");
    env.write("work/.loopr/config", "MAX_CONSECUTIVE_DONE_SIGNALS=1\n");
    assert_eq!(ended(&env, &[]), is("complete", "done", 1, 0));
    let env = loopr("[ $n -lt 3 ] && echo $n > made\nblock COMPLETE true code 0");
    env.write("work/.loopr/config", "MAX_CONSECUTIVE_DONE_SIGNALS=3\n");
    assert_eq!(ended(&env, &[]), is("complete", "done", 3, 0));
}

#[test]
fn each_count_opens_the_circuit_at_exactly_its_threshold() {
    // req: B-04
    // req: B-07
    // req: B-13
    let nothing = "block IN_PROGRESS false code 0";
    let error = "echo $n > made\nblock ERROR false code 0";
    let errors = "echo $n > made\nblock IN_PROGRESS false code 2";
    let tests = "echo $n > made\nblock IN_PROGRESS false tests 0";
    let silent = "echo $n > made\nthread\nsay 'I did something.'";
    for (script, config, reason, iteration) in [
        (nothing, "", "no_progress", 3),
        (nothing, "MAX_NO_PROGRESS=1", "no_progress", 1),
        // Two without progress, one with it, and the count begins anew.
        ("[ $n = 3 ] && echo x > made\nblock IN_PROGRESS false code 0", "", "no_progress", 6),
        (error, "", "same_error", 5),
        (error, "MAX_SAME_ERROR=2", "same_error", 2),
        (errors, "MAX_SAME_ERROR=3", "same_error", 3),
        (tests, "", "test_loops", 3),
        (tests, "MAX_CONSECUTIVE_TEST_LOOPS=2", "test_loops", 2),
        (silent, "", "missing_status", 2),
        (silent, "MAX_MISSING_STATUS=1", "missing_status", 1),
    ] {
        let env = loopr(script);
        env.write("work/.loopr/config", &format!("{config}\n"));
        assert_eq!(ended(&env, &[]), is("circuit_open", reason, iteration, 1), "{script} {config}");
    }
}

#[test]
fn a_count_goes_back_to_zero_as_soon_as_its_condition_fails() {
    // req: B-07
    let other = "[ $((n % 2)) = 0 ] && work=code || work=tests\necho $n > made";
    for script in [
        format!("{other}\nblock IN_PROGRESS false $work 0"),
        "echo $n > made\n[ $((n % 2)) = 0 ] && block IN_PROGRESS false code 0 || say nothing".to_owned(),
        "echo $n > made\n[ $((n % 3)) = 0 ] && block IN_PROGRESS false code 0 || block ERROR false code 0".to_owned(),
    ] {
        let env = loopr(&script);
        env.write("work/.loopr/config", "MAX_ITERATIONS=7\nMAX_SAME_ERROR=3\n");
        assert_eq!(ended(&env, &[]), is("error", "max_iterations", 7, 1), "{script}");
    }
}

#[test]
fn blocked_ends_the_loop_at_once_and_an_error_only_counts() {
    // req: B-07
    // req: B-13
    let env = loopr("echo $n > made\n[ $n = 1 ] && block ERROR false code 0 || block BLOCKED false code 0");
    assert_eq!(ended(&env, &[]), is("blocked", "agent_blocked", 2, 1));
    let status = published(&env, "status.json");
    assert_eq!((&status["last_summary"], &status["last_error"]), (&json!("call 2"), &json!("call 1")));
}

#[test]
fn a_block_that_is_bad_quoted_or_a_tools_is_missing_and_the_log_names_the_field() {
    // req: B-05
    let env = loopr("echo $n > made\nblock IN_PROGRESS maybe code 0");
    assert_eq!(ended(&env, &[]), is("circuit_open", "missing_status", 2, 1));
    let log = env.read("work/.loopr/loop.log");
    let bad = r#"status=none exit_signal=false files=1 completion_indicators=0"#;
    assert!(log.lines().all(|line| line.contains(bad)), "{log}");
    assert!(log.contains(r#"bad_block="EXIT_SIGNAL is `maybe`, not one of true, false""#), "{log}");
    let tool = r#"echo $n > made
echo '{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"cat x","aggregated_output":"---LOOPR_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_LOOPR_STATUS---\n","exit_code":0,"status":"completed"}}'
say 'I read it.'"#;
    assert_eq!(ended(&loopr(tool), &[]), is("circuit_open", "missing_status", 2, 1));
    let quoted = "echo $n > made\nsay 'It wants:\\n```\\n---LOOPR_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_LOOPR_STATUS---\\n```\\nI go on.'";
    assert_eq!(ended(&loopr(quoted), &[]), is("circuit_open", "missing_status", 2, 1));
}

#[test]
fn an_agent_that_fails_again_and_again_is_an_error_that_is_told() {
    // req: B-13
    // req: D-21 partly: roadmap and prd come later
    let env = loopr(r#"echo '{"type":"turn.failed","error":{"message":"it broke"}}'; exit 1"#);
    // An agent that fails says no status block either, and by default two of those open the circuit first.
    env.write("work/.loopr/config", "MAX_MISSING_STATUS=9\n");
    assert_eq!(ended(&env, &[]), is("error", "agent_failed", 3, 3));
    let error = published(&env, "status.json")["last_error"].as_str().unwrap().to_owned();
    assert!(error.contains("it broke"), "{error}");
}

#[test]
fn time_money_and_a_person_end_it_with_their_own_reason() {
    // req: B-13
    let env = loopr("echo $n > made\nblock IN_PROGRESS false code 0");
    env.write("home/.config/loop/config.toml", "max_tokens = 900\n");
    assert_eq!(ended(&env, &[]), is("error", "budget", 2, 1));
    let env = loopr("sleep 300");
    env.write("home/.config/loop/config.toml", "max_time = \"4s\"\n");
    assert_eq!(ended(&env, &[]), is("error", "time_limit", 1, 1));
    let env = loopr("echo $n > made\nwhile [ ! -e go ]; do sleep 0.05; done\nblock IN_PROGRESS false code 0");
    let running = env.begin(&["loop", "do it"]);
    env.wait_for_file("work/made");
    running.signal("INT");
    env.wait_for_fact("\"request\":\"stop\"");
    env.write("work/go", "");
    running.end().expect_code(2);
    let status = published(&env, "status.json");
    assert_eq!((&status["state"], &status["exit_reason"]), (&json!("error"), &json!("stopped")));
}

#[test]
fn a_paused_loop_waits_and_one_that_goes_on_has_no_reason() {
    // req: B-11
    // req: B-13
    let env = loopr("echo $n > made\nwhile [ ! -e go ]; do sleep 0.05; done\nblock IN_PROGRESS false code 0");
    let running = env.begin(&["loop", "--max-iterations", "2", "do it"]);
    env.wait_for_file("work/made");
    let status = published(&env, "status.json");
    assert_eq!((&status["state"], &status["iteration"]), (&json!("running"), &json!(1)));
    assert_eq!(status["exit_reason"], Value::Null);
    plain_loop(&env, &["pause", &env.id()]).expect_code(0);
    env.write("work/go", "");
    wait_until("it waits", || published(&env, "status.json")["state"] == "waiting");
    assert_eq!(published(&env, "status.json")["exit_reason"], Value::Null);
    plain_loop(&env, &["resume", &env.id()]).expect_code(0);
    running.end().expect_code(1);
}

#[test]
fn it_waits_for_the_hour_says_until_when_and_goes_on() {
    // req: B-09
    // req: B-11
    let env = loopr("echo $n > made\nblock IN_PROGRESS false code 0");
    env.write("work/.loopr/config", "MAX_CALLS_PER_HOUR=1\nMAX_ITERATIONS=3\n");
    let began = SystemTime::now();
    let running = env.begin(&["loop", "do it"]);
    wait_until("it waits", || env.read("work/.loopr/status.json").contains("\"waiting\""));
    let status = published(&env, "status.json");
    assert_eq!((&status["iteration"], &status["call_count"]), (&json!(1), &json!(1)), "{status}");
    assert_eq!(status["exit_reason"], Value::Null);
    let until: jiff::Timestamp = status["next_reset_at"].as_str().unwrap().parse().unwrap();
    let in_an_hour = SystemTime::from(until).duration_since(began).unwrap().as_secs();
    assert!((3590..3660).contains(&in_an_hour), "{in_an_hour}");
    let reset: jiff::Timestamp = env.read("work/.loopr/.last_reset").trim().parse().unwrap();
    assert!(SystemTime::from(until).duration_since(SystemTime::from(reset)).unwrap().as_secs().abs_diff(3600) <= 1);
    assert_eq!((calls(&env), env.read("work/.loopr/.call_count").trim()), (1, "1"));
    plain_loop(&env, &["set", &env.id(), "max_calls_per_hour=3"]).expect_code(0);
    running.end().expect_code(1);
    let status = published(&env, "status.json");
    assert_eq!((&status["exit_reason"], &status["call_count"]), (&json!("max_iterations"), &json!(3)), "{status}");
    assert_eq!(calls(&env), 3);
}

#[test]
fn a_reader_of_a_loop_at_work_never_sees_a_torn_or_mixed_file() {
    // req: B-10
    let env = loopr("echo $n > made\nblock IN_PROGRESS false code 0");
    let mut running = env.begin(&["loop", "--max-iterations", "20", "do it"]);
    let (mut seen, mut reads) = (BTreeSet::new(), 0);
    while running.code().is_none() {
        let read = |name: &str| std::fs::read_to_string(env.work().join(".loopr").join(name));
        let (Ok(status), Ok(counts)) = (read("status.json"), read("loop-state.json")) else { continue };
        let status: Value = serde_json::from_str(&status).unwrap_or_else(|error| panic!("torn: {error}: {status:?}"));
        let counts: Value = serde_json::from_str(&counts).unwrap_or_else(|error| panic!("torn: {error}: {counts:?}"));
        assert_eq!(counts["no_progress"], 0);
        let iteration = status["iteration"].as_u64().unwrap();
        assert_eq!(status["call_count"], iteration, "mixed: {status}");
        let said =
            status["last_summary"].as_str().map_or(0, |said| said.strip_prefix("call ").unwrap().parse().unwrap());
        assert!([iteration, iteration.saturating_sub(1)].contains(&said), "mixed: {status}");
        assert_eq!(status["exit_reason"].is_null(), status["state"] == "running", "mixed: {status}");
        seen.insert(status.to_string());
        reads += 1;
    }
    running.end().expect_code(1);
    assert!(seen.len() > 20 && reads > 100, "{} of {reads}", seen.len());
}

#[test]
fn the_hour_is_counted_over_all_loops_of_a_root() {
    // req: B-09
    let env = loopr("block COMPLETE true code 0");
    env.write("work/.loopr/config", "MAX_CALLS_PER_HOUR=2\n");
    assert_eq!(ended(&env, &[]), is("complete", "done", 2, 0));
    let running = env.begin(&["loop", "do it"]);
    wait_until("it waits", || env.read("work/.loopr/status.json").contains("\"waiting\""));
    let status = published(&env, "status.json");
    assert_eq!((&status["iteration"], &status["call_count"]), (&json!(0), &json!(2)), "{status}");
    running.signal("INT");
    running.end().expect_code(2);
    assert_eq!((calls(&env), &published(&env, "status.json")["exit_reason"]), (2, &json!("stopped")));
    // Another root has its own.
    std::fs::create_dir(env.work().join("other")).unwrap();
    looped(&env, &["--loopr-root", "other"]).expect_code(0);
}

#[test]
fn a_loop_that_is_gone_on_with_publishes_on_and_a_killed_one_is_told() {
    // req: B-10
    // req: B-11
    let env = loopr("echo $n > made\n[ -e hang ] && sleep 300\nblock IN_PROGRESS false code 0");
    assert_eq!(ended(&env, &["--max-iterations", "2"]), is("error", "max_iterations", 2, 1));
    plain_loop(&env, &["resume", &env.id(), "-n", "+2"]).expect_code(1);
    assert_eq!(published(&env, "status.json")["iteration"], 4);
    let log = env.read("work/.loopr/loop.log");
    let iterations: Vec<&str> = log.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    assert_eq!(iterations, ["iteration=1", "iteration=2", "iteration=3", "iteration=4"], "{log}");
    env.write("work/hang", "");
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop"));
    command.args(["resume", &env.id(), "-n", "+1"]);
    env.apply_env(&mut command);
    let running = Running::of(command.spawn().unwrap(), env.root());
    wait_until("it works", || env.read("work/.loopr/status.json").contains("\"iteration\": 5"));
    running.signal("KILL");
    drop(running.end());
    assert_eq!(published(&env, "status.json")["state"], "running", "nobody could write it");
    let status = env.run(&["status", "--json"]).expect_code(0).json();
    assert_eq!((&status["state"], &status["exit_reason"]), (&json!("error"), &json!("agent_failed")), "{status}");
    std::fs::remove_file(env.work().join("hang")).unwrap();
    plain_loop(&env, &["resume", &env.id()]).expect_code(1);
    let status = published(&env, "status.json");
    assert_eq!((&status["iteration"], &status["exit_reason"]), (&json!(5), &json!("max_iterations")), "{status}");
}

#[test]
fn what_is_written_in_the_folder_is_no_progress_and_is_neither_kept_nor_undone() {
    // req: B-14 partly: prd.json, progress.txt and roadmap.md come later
    let env = loopr("echo $n > .loopr/mine\nblock IN_PROGRESS false code 0");
    assert_eq!(ended(&env, &[]), is("circuit_open", "no_progress", 3, 1));
    let before = env.read("work/.loopr/loop.log");
    plain_loop(&env, &["rollback", &env.id(), "initial"]).expect_code(0);
    assert!(env.read("work/.loopr/loop.log").starts_with(&before), "the log only grows");
    assert_eq!(env.read("work/.loopr/mine"), "3\n");
    // What a person writes there is part of the work.
    for file in ["config", "prompt.md"] {
        let env = loopr(&format!("echo \"# $n\" > .loopr/{file}\nblock IN_PROGRESS false code 0"));
        env.write(&format!("work/.loopr/{file}"), "# mine\n");
        assert_eq!(ended(&env, &["--max-iterations", "4"]), is("error", "max_iterations", 4, 1), "{file}");
        plain_loop(&env, &["rollback", &env.id(), "initial"]).expect_code(0);
        assert_eq!(env.read(&format!("work/.loopr/{file}")), "# mine\n");
    }
}

#[test]
fn nothing_is_written_through_a_link_and_the_loop_goes_on_without_its_files() {
    // req: B-10
    let env = loopr("block COMPLETE true code 0");
    env.write("elsewhere/loop.log", "mine\n");
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(env.root().join(to), env.root().join(at)).unwrap();
    link("elsewhere", "work/.loopr");
    let ran = looped(&env, &["--loopr-root", "."]).expect_code(0);
    assert_eq!(ran.err().matches("the files in .loopr cannot be written").count(), 1, "{}", ran.text());
    assert_eq!(env.tree("elsewhere"), ["loop.log"]);
    assert_eq!(env.read("elsewhere/loop.log"), "mine\n");
    let env = loopr("block COMPLETE true code 0");
    env.write("elsewhere/mine", "mine\n");
    env.write("work/.loopr/config", "");
    for name in ["loop.log", "status.json", ".status.json.new"] {
        let (to, at) = (env.root().join("elsewhere/mine"), env.root().join("work/.loopr").join(name));
        std::os::unix::fs::symlink(to, at).unwrap();
    }
    looped(&env, &[]).expect_code(0);
    assert_eq!(env.read("elsewhere/mine"), "mine\n");
    assert_eq!(published(&env, "status.json")["state"], "complete");
    assert!(Path::new(&env.root().join("work/.loopr/loop.log")).is_symlink());
}
