//! What the program says to a person is true, and what it advises works: findings of a week of use (UR-A1 …).
use loop_testkit::{TestEnv, wait_until};

use crate::{start, user};

/// One that works until it is ended.
const LONG: &str = "seq 1 500 > work.txt; touch began; while :; do sleep 0.05; done";

/// A loop that ended because it made no progress.
fn stuck() -> (TestEnv, String) {
    let user = user();
    user.run(&start("cat > \"$HOME/prompt-$LOOP_ITERATION\"", "test -e ok", &[])).expect_code(1);
    let id = user.id();
    (user, id)
}

/// A program that prints a recording of claude, and changes a file.
fn claude(user: &TestEnv, recording: &str, code: i32) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts/claude");
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo '2.1.0 (Claude Code)'; exit 0; }}\n\
         cat > /dev/null; echo x >> log; cat {folder}/{recording}.stdout; exit {code}"
    );
    user.program("claude", &script);
}

#[test]
fn a_loop_that_ended_takes_texts_and_settings_for_its_resume() {
    // UR-A1
    let (user, id) = stuck();
    user.run(&["inject", &id, "create the file ok"]).expect_code(0);
    let ran = user.run(&["set", &id, "max_no_progress=9", "max_iterations=+1"]).expect_code(0);
    let said =
        format!("loop {id}: max_no_progress = 9, max_iterations = 11 from now on\n  next:       loop resume {id}\n");
    assert_eq!(ran.out(), said);
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains("  3/11  ") || status.contains(" 3/11 "), "{status}");
    user.run(&["resume", &id, "-n", "4"]).expect_code(1);
    assert!(user.read("home/prompt-4").contains("create the file ok"), "{}", user.read("home/prompt-4"));
    let wrong = user.run(&["set", &id, "max_iteration=30"]).expect_code(4);
    assert!(wrong.err().contains("did you mean max_iterations?"), "{}", wrong.text());
}

#[test]
fn a_resume_takes_a_text_for_the_agent() {
    // UR-A1
    let (user, id) = stuck();
    user.run(&["resume", &id, "--inject", "look at the file b", "-n", "4"]).expect_code(1);
    assert!(user.read("home/prompt-4").contains("look at the file b"), "{}", user.read("home/prompt-4"));
    let empty = user.run(&["resume", &id, "--inject", " ", "-n", "+1"]).expect_code(4);
    assert!(empty.err().contains("because: the text is empty"), "{}", empty.text());
}

#[test]
fn a_completed_loop_takes_no_settings() {
    // UR-A1
    let user = user();
    user.run(&start("touch ok", "test -e ok", &["--strength", "off"])).expect_code(0);
    let ran = user.run(&["set", &user.id(), "max_iterations=30"]).expect_code(4);
    assert!(ran.err().contains("has ended and cannot be resumed"), "{}", ran.text());
}

#[test]
fn a_parked_question_stays_visible_after_the_end_and_is_answered_before_the_resume() {
    // UR-A1
    let user = user();
    let asks = "cat > \"$HOME/prompt-$LOOP_ITERATION.$LOOP_ATTEMPT\"; echo 'Which colour should the button have?'";
    let words = start(asks, "test -e ok", &["--on-question", "park", "--max-no-progress", "9"]);
    let running = user.begin(&words);
    wait_until("it is parked", || {
        user.ids().len() == 1 && user.run(&["status", "--json"]).json()["loops"][0]["status"] == "paused"
    });
    running.signal("TERM");
    drop(running.end());
    let id = user.id();
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains("  asks       the agent asks: "), "{status}");
    let next = format!("  next       loop inject {id} '…' && loop resume {id}   (your answer to its question)\n");
    assert!(status.contains(&next), "{status}");
    let json = user.run(&["status", &id, "--json"]).expect_code(0).json();
    assert!(json["loops"][0]["question"].is_string(), "{json}");
    user.run(&["inject", &id, "use blue"]).expect_code(0);
    let more = json["loops"][0]["iteration"].as_u64().unwrap() + 1;
    drop(user.run(&["resume", &id, "-n", &more.to_string(), "--on-question", "decide"]));
    let prompt = user.read(&format!("home/prompt-{more}.1"));
    assert!(prompt.contains("use blue") && prompt.contains("A person has let you continue"), "{prompt}");
}

#[test]
fn a_known_agent_behind_agent_cmd_is_warned_about() {
    // UR-A2
    let user = user();
    user.program("claude", "cat > /dev/null");
    let ran = user.run(&start("claude -p", "false", &["-n", "1"])).expect_code(1);
    assert!(ran.err().contains("  better: --agent claude\n"), "{}", ran.text());
    let plain = user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    assert!(!plain.err().contains("better: --agent"), "{}", plain.text());
}

#[test]
fn first_screens_recommend_an_agent_that_is_installed() {
    // UR-A2
    let user = user();
    let empty = user.run::<&str>(&[]).expect_code(0).out();
    assert!(empty.contains("(no agent is installed here yet: loop agents)"), "{empty}");
    user.program("codex", "true");
    for words in [&[][..], &["--help"], &["doctor"]] {
        let out = user.run(words).expect_code(0).out();
        assert!(out.contains("--agent codex") && !out.contains("--agent claude"), "{words:?}: {out}");
    }
}

#[test]
fn a_turn_limit_is_named_so_and_does_not_end_a_loop_that_makes_progress() {
    // UR-A7
    let user = user();
    claude(&user, "max-turns", 1);
    let words = ["start", "x", "-p", "false", "--agent", "claude", "-n", "6"];
    let ran = user.run(&words).expect_code(1);
    assert!(ran.err().contains("turn_limit: Reached maximum number of turns (2)"), "{}", ran.text());
    assert!(ran.out().starts_with("not done: 6 iterations done and the promise fails"), "{}", ran.text());
    let rows = user.run(&["history", &user.id(), "--json"]).expect_code(0).json();
    assert_eq!(rows["iterations"][0]["failure"], "turn_limit", "{rows}");
}

#[test]
fn a_limit_of_money_with_an_agent_that_reports_no_cost_is_warned_about_and_nothing_is_called_spent() {
    // UR-A9
    let user = user();
    let ran = user.run(&start("true", "false", &["--max-cost", "4"])).expect_code(1);
    let warning = "warning: a custom command reports no cost: each call counts as $4.00 (--worst-cost), so --max-cost 4.00 \
                   ends the loop after 1 call\n";
    assert!(ran.err().contains(warning), "{}", ran.text());
    assert!(
        ran.out().starts_with("not done: $4.00 of $4.00 counted: $0.00 reported, and 1 of 1 calls"),
        "{}",
        ran.text()
    );
    assert!(!ran.text().contains("spent"), "{}", ran.text());
    assert!(ran.out().contains(&format!("next:       loop resume {} --max-cost +6.00\n", user.id())), "{}", ran.text());
}

#[test]
fn what_a_cut_off_attempt_did_is_measured_and_checkpointed_at_the_stop() {
    // UR-A11, CLI-D12
    for signal in ["INT", "HUP", "TERM"] {
        let user = user();
        let running = user.begin(&start(LONG, "test -e ok", &[]));
        user.wait_for_file("work/began");
        running.signal(signal);
        if signal == "INT" {
            user.wait_for_fact("\"stop\"");
            running.signal(signal);
        }
        let ran = running.end().expect_code(2);
        assert!(ran.out().contains("  changes   +500 -0 (2 files)\n"), "{signal}: {}", ran.text());
        assert!(!ran.err().contains("crash:"), "{signal}: {}", ran.text());
        let diff = user.run(&["history", &user.id(), "--diff", "initial..interrupted-1.1"]).expect_code(0).out();
        assert!(diff.contains("work.txt"), "{signal}: {diff}");
    }
}

#[test]
fn what_a_cancelled_attempt_did_is_measured_and_checkpointed() {
    // UR-A11
    let user = user();
    let running = user.begin(&start(LONG, "test -e ok", &[]));
    user.wait_for_file("work/began");
    user.run(&["cancel", &user.id()]).expect_code(0);
    let ran = running.end().expect_code(2);
    assert!(ran.out().contains("  changes   +500 -0 (2 files)\n"), "{}", ran.text());
    let list = user.run(&["checkpoint", "list", &user.id()]).expect_code(0).out();
    assert!(list.contains("interrupted-1.1"), "{list}");
}

#[test]
fn a_dry_run_shows_the_prompt_and_the_system_prompt_that_are_sent() {
    // UR-A13
    let user = user();
    user.program("claude", "[ -e \"$HOME/sent\" ] && exit 0; cat > \"$HOME/sent\"; cp \"$(dirname \"$LOOP_PROMPT_FILE\")/system.md\" \"$HOME/system\"");
    let words = ["start", "build the shop", "--no-promise", "--agent", "claude", "--max-missing-status", "1"];
    let shown = user.run(&[&words[..], &["--dry-run"]].concat()).expect_code(0).out();
    drop(user.run(&[&words[..], &["-n", "10"]].concat()));
    let (sent, system) = (user.read("home/sent"), user.read("home/system"));
    assert!(!sent.is_empty() && shown.ends_with(&format!("the first prompt:\n\n{sent}")), "{shown}\n---\n{sent}");
    assert!(shown.contains(&format!("added to its system prompt:\n\n{system}\n")), "{shown}\n---\n{system}");
    assert!(shown.starts_with("dry run: nothing is started\n") && shown.contains(", prompt on stdin\n"), "{shown}");
}

#[test]
fn a_crashed_loop_says_that_its_process_was_killed() {
    // UR-A15.1
    let user = user();
    let running = user.begin(&start(LONG, "test -e ok", &[]));
    user.wait_for_file("work/began");
    running.signal("KILL");
    drop(running.end());
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    assert!(
        status.contains(
            "  ended      its process was killed, the machine stopped, or its records could not be written; last"
        ),
        "{status}"
    );
}

#[test]
fn a_promise_that_could_not_be_checked_is_not_answered_by_more_iterations_alone() {
    // UR-A15.3
    let user = user();
    let ran = user.run(&start("echo x >> log", "! grep -rq TODO src", &["-n", "2"])).expect_code(1);
    assert!(
        ran.out().starts_with("not done: 2 iterations done and the promise could not be checked\n"),
        "{}",
        ran.text()
    );
    assert!(ran.out().contains("-n +5   (when the promise can be run)\n"), "{}", ran.text());
}

#[test]
fn the_prompt_names_changed_files_with_their_blanks() {
    // UR-A15.4
    let user = user();
    let agent = "cat > \"$HOME/prompt-$LOOP_ITERATION\"; echo x >> 'b file  with  spaces.txt'";
    user.run(&start(agent, "false", &["-n", "2"])).expect_code(1);
    assert!(user.read("home/prompt-2").contains("\nb file  with  spaces.txt\n"), "{}", user.read("home/prompt-2"));
}

#[test]
fn a_test_that_only_a_reverted_iteration_had_fixed_is_not_newly_failing() {
    // UR-A15.5
    let user = user();
    let check = "n=0; bad=0\nwhile read name code; do\nn=$((n+1))\n\
                 if [ \"$code\" = 0 ]; then echo \"ok $n - $name\"; else echo \"not ok $n - $name\"; bad=1; fi\n\
                 done < list\necho 1..$n; exit $bad\n";
    user.write("work/check.sh", check);
    user.write("work/list", "one 0\ntwo 1\n");
    let agent = "printf 'one 1\\ntwo 0\\n' > list";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1", "--on-regression", "revert"])).expect_code(1);
    assert!(ran.err().contains("newly failing: one"), "{}", ran.text());
    assert!(!ran.err().contains("newly failing: two"), "{}", ran.text());
}

#[test]
fn a_flag_that_does_not_exist_is_answered_by_a_near_one_or_by_none() {
    // UR-A15.6
    let user = user();
    for (typed, hint) in [
        ("--max-iter", "hint: did you mean --max-iterations?\n"),
        ("--model", "hint: did you mean --agent-model?\n"),
        ("--budget", "hint: did you mean --max-cost?\n"),
        ("--promis", "hint: did you mean --promise?\n"),
        (
            "--max-turns",
            "hint: it is a flag of the agent's own: put it behind --, as in: loop start … -- --max-turns 40\n",
        ),
        ("--detach", "hint: `loop --help` and `loop <command> --help` list what there is\n"),
        ("--color", "hint: `loop --help` and `loop <command> --help` list what there is\n"),
    ] {
        let ran = user.run(&["start", "x", typed, "3"]).expect_code(4);
        assert!(ran.err().ends_with(hint), "{typed}: {}", ran.text());
    }
}

#[test]
fn a_wait_for_a_limit_of_the_loops_own_is_not_ended_by_resume() {
    // UR-A15.8
    let user = user();
    let running = user.begin(&start("echo x >> log", "false", &["--max-calls-per-hour", "1", "-n", "2"]));
    user.wait_for_fact("\"cause\":\"calls\"");
    let id = user.id();
    let ran = user.run(&["resume", &id]).expect_code(4);
    assert!(
        ran.err().contains(&format!("hint: a higher limit: loop set {id} max_calls_per_hour=N\n")),
        "{}",
        ran.text()
    );
    user.run(&["resume", &id, "--max-calls-per-hour", "9"]).expect_code(0);
    drop(running.end().expect_code(1));
}

#[test]
fn a_suspended_loop_is_named_so_and_is_not_waited_for() {
    // UR-A15.9
    let user = user();
    let running = user.begin(&start(LONG, "test -e ok", &[]));
    user.wait_for_file("work/began");
    running.signal("STOP");
    let id = user.id();
    wait_until("it is suspended", || {
        user.run(&["status", &id]).expect_code(0).out().contains("  now        suspended (Ctrl-Z): continue it with fg")
    });
    let ran = user.run(&["pause", &id]).expect_code(5);
    assert!(ran.err().contains(&format!("error: loop {id} is suspended\n")), "{}", ran.text());
    running.signal("CONT");
    user.run(&["cancel", &id]).expect_code(0);
    drop(running.end().expect_code(2));
}

#[test]
fn the_beginning_is_not_offered_as_the_best_state() {
    // UR-A15.11
    let user = user();
    let ran = user.run(&start("echo x >> log; rm -f a", "test -e a", &["-n", "1"])).expect_code(1);
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    assert!(!ran.out().contains("best:") && !status.contains("rollback"), "{}{status}", ran.out());
}

#[test]
fn a_new_test_file_is_said_once() {
    // UR-A15.12
    let user = user();
    user.write("work/tests/test_a.py", "def test_a(): assert 0\n");
    let agent = "touch tests/conftest.py; echo x >> log";
    let ran = user.run(&start(agent, "false tests/", &["--protect-tests", "-n", "2"])).expect_code(1);
    assert_eq!(ran.err().matches("tests/conftest.py").count(), 2, "the agent's line and one note: {}", ran.text());
}

#[test]
fn the_next_command_is_of_a_loop_that_a_newer_one_has_not_finished() {
    // UR-A15.13
    let user = user();
    user.run(&start("echo x >> log", "test -e ok", &["-n", "1"])).expect_code(1);
    let old = user.id();
    let ran = user.run::<&str>(&[]).expect_code(0).out();
    assert!(ran.contains(&format!("next:      loop resume {old} -n +5\n")), "{ran}");
    user.run(&start("touch ok", "test -e ok", &["--strength", "off"])).expect_code(0);
    let ran = user.run::<&str>(&[]).expect_code(0).out();
    assert!(!ran.contains("loop resume"), "{ran}");
}

#[test]
fn a_time_limit_that_a_wait_does_not_fit_into_is_raised_by_enough() {
    // UR-A15.14
    let user = user();
    claude(&user, "max-turns", 1);
    let limit = "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Claude AI usage limit reached|'$(( $(date +%s) + 7260 ))'\"}'";
    user.program("claude", &format!("cat > /dev/null; {limit}; exit 1"));
    let ran = user.run(&["start", "x", "-p", "false", "--agent", "claude", "--max-time", "10m"]).expect_code(1);
    assert!(ran.out().contains("--max-time +2h   (or when the provider's limit is over)\n"), "{}", ran.text());
}

#[test]
fn documents_of_rollback_and_loopr_have_their_fields() {
    // UR-A15.16
    let user = user();
    user.run(&start("echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    let back = user.run(&["rollback", &id, "initial", "--json"]).expect_code(0).json();
    assert_eq!((&back["version"], &back["id"], &back["to"]), (&1.into(), &id.into(), &"initial".into()), "{back}");
    let loopr = TestEnv::new(env!("CARGO_BIN_EXE_loopr"));
    let status = loopr.run(&["status", "--json"]).expect_code(0).json();
    assert_eq!((&status["state"], &status["iteration"]), (&serde_json::Value::Null, &0.into()), "{status}");
    assert!(status.is_object(), "{status}");
}

#[test]
fn a_quiet_end_names_the_loop() {
    let user = user();
    let ran = user.run(&start("echo x >> log", "false", &["-n", "1", "-q"])).expect_code(1);
    assert_eq!(ran.out(), format!("loop {}: not done: 1 iteration done and the promise fails\n", user.id()));
}

#[test]
fn a_list_shows_tasks_folders_and_starts_with_the_loops_of_this_folder() {
    let user = user();
    user.run(&["start", "the first task", "-p", "true", "--agent-cmd", "true"]).expect_code(0);
    user.write("other/a", "");
    let other = user.root().join("other").display().to_string();
    user.run(&["start", "another task", "-p", "true", "--agent-cmd", "true", "-C", &other]).expect_code(0);
    let out = user.run(&["list"]).expect_code(0).out();
    let mut lines = out.lines();
    let words: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    assert_eq!(words, ["ID", "STATUS", "ITER", "TASK", "FOLDER", "AGENT", "COST", "STARTED"]);
    assert!(lines.next().is_some_and(|line| line.contains("the first task  .  ")), "{out}");
    assert!(lines.next().is_some_and(|line| line.contains("another task") && line.contains("  other  ")), "{out}");
    assert!(out.contains("s ago\n"), "{out}");
    assert!(user.run(&["-v", "list"]).expect_code(0).out().contains("SIZE"));
}

#[test]
fn a_loop_that_was_stopped_is_named_so_at_the_next_start_and_at_its_resume() {
    let user = user();
    let running = user.begin(&start(LONG, "test -e ok", &["-n", "1"]));
    user.wait_for_file("work/began");
    running.signal("TERM");
    drop(running.end().expect_code(2));
    let id = user.id();
    let list = user.run(&["list"]).expect_code(0).out();
    assert!(list.contains(&format!("{id}  stopped ")), "{list}");
    let ran = user.run(&start("touch ok", "test -e ok", &["--strength", "off"])).expect_code(0);
    let note = format!("note: loop {id} of this folder is stopped at iteration 1/1: loop resume {id}\n");
    assert!(ran.err().contains(&note), "{}", ran.text());
    let ran = user.run(&["resume", &id]).expect_code(0);
    assert!(ran.err().starts_with(&format!("resumed loop {id} after iteration 0/1: stopped by ")), "{}", ran.text());
}

#[test]
fn a_missing_argument_is_answered_by_the_form_of_the_command() {
    let user = user();
    let ran = user.run(&["rm"]).expect_code(4);
    assert!(ran.err().contains("hint: loop rm ") && ran.err().contains("; the ids: loop list\n"), "{}", ran.text());
    let ran = user.run(&["start", "x", "-p"]).expect_code(4);
    assert!(ran.err().starts_with("error: --promise <CMD> has no value\n"), "{}", ran.text());
}

#[test]
fn loop_set_without_a_setting_lists_what_can_change() {
    let (user, id) = stuck();
    let out = user.run(&["set", &id]).expect_code(0).out();
    assert!(out.contains("\nmax_iterations = 10\n") && !out.contains("\npromise ="), "{out}");
}

#[test]
fn a_history_has_the_cost_of_each_iteration_where_it_is_known() {
    let user = user();
    claude(&user, "max-turns", 1);
    user.run(&["start", "x", "-p", "false", "--agent", "claude", "-n", "1"]).expect_code(1);
    let out = user.run(&["history", &user.id()]).expect_code(0).out();
    assert!(out.contains("  COST     OUTCOME\n") && out.contains("  $0.0020  "), "{out}");
}

#[test]
fn a_secret_in_the_task_is_said_to_be_replaced() {
    // UR-A15.7
    let user = user().with("DEPLOY_TOKEN", "hunter2hunter2");
    let words = ["start", "use hunter2hunter2", "-p", "true", "--agent-cmd", "true", "--secrets", "DEPLOY_TOKEN"];
    let ran = user.run(&words).expect_code(0);
    let note = "note: the task holds the value of a secret: the agent gets [redacted …] in its place\n";
    assert!(ran.err().contains(note) && !ran.err().contains("hunter2"), "{}", ran.text());
}
