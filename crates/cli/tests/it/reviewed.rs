//! What reviews found on screens, and what is said there now (docs/reviews.md has the numbers).
use std::process::Stdio;

use loop_testkit::TestEnv;

use crate::{start, user};

/// A program with the name of an agent that prints a recording of it, changes a file, and ends with a code.
fn played(user: &TestEnv, agent: &str, recording: &str, code: i32) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts");
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo 2.1.0; exit 0; }}\n\
         cat > /dev/null; echo x >> log; cat {folder}/{agent}/{recording}.stdout; exit {code}"
    );
    user.program(agent, &script);
}

#[test]
fn the_demo_recommends_an_agent_that_is_installed() {
    // UR-A2
    let user = user();
    user.program("codex", "true");
    let ran = user.run(&["demo"]).expect_code(0);
    assert!(ran.err().contains("--agent codex\n") && !ran.text().contains("--agent claude"), "{}", ran.text());
}

#[test]
fn an_error_of_the_journal_names_the_file_where_it_is() {
    // UR-A15.10
    let limited = ["sh", "-c", "trap '' XFSZ; ulimit -f 48; exec \"$@\"", "sh"];
    let user = user().run_by(&limited);
    let ran = user.run(&start("echo x >> log", "false", &["-n", "60", "--checkpoint", "none"])).expect_code(3);
    let journal = format!("runs/{}/journal.jsonl", user.id());
    assert!(ran.text().contains(&journal) || ran.text().contains("$ID/journal.jsonl"), "{}", ran.text());
    assert!(!ran.text().contains(".new-"), "{}", ran.text());
}

#[test]
fn a_protected_file_that_stays_changed_is_said_once() {
    // UR-A15.12
    let user = user();
    user.write("work/tests/test_a.py", "def test_a(): assert 0\n");
    let agent = "echo '# mine' >> tests/test_a.py";
    let flags = ["--protect-tests", "--on-tamper", "stop", "-n", "2"];
    let ran = user.run(&start(agent, "false tests/", &flags)).expect_code(1);
    assert_eq!(ran.err().matches("protected files were changed").count(), 1, "{}", ran.text());
}

#[test]
fn a_new_test_file_is_said_to_be_allowed() {
    // UR-E7
    let user = user();
    user.write("work/tests/test_a.py", "def test_a(): assert 0\n");
    let ran =
        user.run(&start("touch tests/conftest.py", "false tests/", &["--protect-tests", "-n", "1"])).expect_code(1);
    assert!(ran.err().contains("new test files (allowed): tests/conftest.py"), "{}", ran.text());
}

#[test]
fn a_watched_gate_is_marked_at_the_start_at_the_end_and_in_status() {
    // UR-2.2
    let user = user();
    let ran = user.run(&start("touch ok", "test -e ok", &["--gate", "size[watch]=false"])).expect_code(0);
    assert!(ran.err().contains("  promise   test -e ok · and size (only watched)\n"), "{}", ran.text());
    assert!(ran.out().contains("  size      fail (exit 1"), "{}", ran.text());
    assert!(ran.out().contains(" · only watched\n"), "{}", ran.text());
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    assert!(status.contains("size: fail (exit 1) · only watched\n"), "{status}");
}

#[test]
fn after_a_cancel_that_rolled_back_no_rollback_is_offered() {
    // UR-2.9
    let user = user();
    let running = user.begin(&start("touch began; while :; do sleep 0.05; done", "test -e ok", &[]));
    user.wait_for_file("work/began");
    user.run(&["cancel", "--rollback", "--wait"]).expect_code(0);
    let ran = running.end().expect_code(2);
    let text = format!("{}{}", ran.out(), ran.err());
    assert!(text.contains(&format!("undo:       loop rollback {} undo", user.id())), "{}", ran.text());
    assert!(!text.contains("roll back:"), "{}", ran.text());
}

#[test]
fn enter_ends_a_pause_on_the_terminal_of_the_loop() {
    // UR-2.8
    let user = user();
    let agent = "touch began; while [ ! -e go ]; do sleep 0.02; done; echo x >> log";
    let line = format!("exec {} start x -p 'test -e over' --agent-cmd '{agent}' -n 2", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_file("work/began");
    user.run(&["pause"]).expect_code(0);
    user.write("work/go", "");
    user.wait_for_screen("paused; resume with: ", 1);
    user.write("work/over", "");
    running.type_in(b"\n");
    let ran = running.end();
    assert!(user.screen().contains("2/2") && user.read("work/log") == "x\nx\n", "{}: {}", ran.text(), user.screen());
}

#[test]
fn a_command_of_several_forms_names_them() {
    // UR-2.13
    let user = user();
    let ran = user.run(&["config"]).expect_code(4);
    assert!(ran.err().contains("because: it is followed by one of: show, get, set, check\n"), "{}", ran.text());
}

#[test]
fn a_setting_that_cannot_change_and_a_loop_that_cannot_be_removed_are_answered_by_what_works() {
    // UR-2.13
    let user = user();
    let running = user.begin(&start("touch began; while [ ! -e go ]; do sleep 0.02; done", "test -e go", &[]));
    user.wait_for_file("work/began");
    let set = user.run(&["set", "promise=true"]).expect_code(4);
    assert!(set.err().contains("what can change: loop set\n"), "{}", set.text());
    let rm = user.run(&["rm", &user.id()]).expect_code(4);
    assert!(rm.err().contains(&format!("hint: loop cancel {}\n", user.id())), "{}", rm.text());
    user.write("work/go", "");
    running.end().expect_code(0);
}

#[test]
fn the_short_help_has_the_flags_of_daily_use_and_the_long_one_headings() {
    // UR-2.17
    let user = user();
    let short = user.run(&["start", "-h"]).expect_code(0).out();
    let lines = short.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let flags: Vec<&str> = lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with('-'))).collect();
    // Every command has these three.
    let general = ["-q", "-v", "-h"];
    assert!(general.iter().all(|flag| flags.contains(flag)), "{short}");
    assert_eq!(flags.len(), 12 + general.len(), "{flags:?}: {short}");
    assert!(short.contains("--dry-run") && short.lines().count() < 60, "{short}");
    let long = user.run(&["start", "--help"]).expect_code(0).out();
    let headings = long.lines().filter(|line| line.ends_with(':') && !line.starts_with(' ')).count();
    assert!(headings >= 6 && long.lines().count() > 200, "{headings}: {long}");
}

#[test]
fn what_people_type_for_a_command_works() {
    // UR-3.9
    let user = user();
    user.run(&start("touch ok", "test -e ok", &["--strength", "off"])).expect_code(0);
    for (typed, meant) in [("ps", "status"), ("show", "status"), ("ls", "list"), ("log", "watch"), ("logs", "watch")] {
        let meant = user.run(&[meant, "--json"]).expect_code(0).out();
        assert_eq!(user.run(&[typed, "--json"]).expect_code(0).out(), meant, "{typed}");
        assert!(meant.contains(&user.id()), "{meant}");
    }
}

#[test]
fn without_a_promise_no_limit_of_it_is_shown() {
    // UR-2.21
    let user = user();
    played(&user, "claude", "basic-stream-json", 0);
    let ran = user.run(&["start", "x", "--no-promise", "--agent", "claude", "-n", "1"]);
    assert!(ran.err().contains("  limits    1 iteration · agent 30m · no time limit"), "{}", ran.text());
}

#[test]
fn changes_that_cannot_be_measured_are_said_to_be_so() {
    // UR-2.22
    let user = user();
    let ran = user.run(&start("mv ../work ../gone; exit 0", "test -e ok", &["-n", "2"]));
    let line = ran.out().lines().find(|line| line.starts_with("  changes")).unwrap_or_default().to_owned();
    assert!(line.len() > 12, "{line:?}: {}", ran.text());
}

#[test]
fn a_mistyped_promise_is_asked_about_before_the_agent_works() {
    // UR-2.18
    let user = user();
    let begin = |answer: &[u8]| {
        let program = env!("CARGO_BIN_EXE_loop");
        let line = format!("exec {program} start x -p 'mkae test' --agent-cmd 'touch worked' -n 1");
        let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
        user.wait_for_screen(
            "--promise: mkae is neither a program nor an executable file here. Start anyway? [y/N]",
            1,
        );
        running.type_in(answer);
        running.end()
    };
    let ran = begin(b"n\n");
    assert_eq!(ran.code, Some(4), "{}", user.screen());
    assert!(user.ids().is_empty() && !user.work().join("worked").exists(), "{}", user.screen());
    begin(b"y\n");
    assert!(user.work().join("worked").exists(), "{}", user.screen());
}

#[test]
fn without_a_terminal_a_promise_that_is_not_there_yet_is_warned_about_and_tried() {
    // UR-2.18
    let user = user();
    let agent = "printf 'exit 0\\n' > check.sh; chmod +x check.sh";
    let ran = user.run(&start(agent, "./check.sh", &["--strength", "off"]));
    let warning = "warning: --promise: ./check.sh is neither a program nor an executable file here\n";
    assert!(ran.err().contains(warning), "{}", ran.text());
    for promise in ["test -e x", "cd . && true", "! grep -q x log", "A=b true", "(exit 0)", "if true; then exit 0; fi"]
    {
        let ran = user.run(&start("true", promise, &["-n", "1"]));
        assert!(!ran.err().contains("neither a program"), "{promise}: {}", ran.text());
    }
}

#[test]
fn the_header_says_what_an_agent_cannot_do() {
    // CLI-D10, CLI-D11
    let user = user();
    user.program("aider", "echo 'aider 0.86.0'");
    let words = ["start", "x", "-p", "false", "--agent", "aider", "--session", "continue", "-n", "1"];
    let err = user.run(&words).err();
    assert!(err.contains("edits files here, runs nothing"), "{err}");
    assert!(err.contains("cannot continue sessions: each iteration is new\n"), "{err}");
}

#[test]
fn a_prompt_that_is_too_long_for_a_new_conversation_is_not_answered_by_another_one() {
    // CLI-D14
    let user = user();
    played(&user, "claude", "v2.1.326-context", 1);
    let ran = user.run(&["start", "x", "-p", "false", "--agent", "claude", "-n", "1"]);
    assert!(ran.err().contains("a new conversation is as long: give it less at once"), "{}", ran.text());
    assert!(!ran.err().contains("a new one begins"), "{}", ran.text());
}

#[test]
fn a_call_whose_price_is_not_known_is_said_once_where_money_is_limited() {
    // CLI-D4
    let user = user();
    played(&user, "codex", "basic-json", 0);
    let ran = user.run(&["start", "x", "-p", "false", "--agent", "codex", "--max-cost", "9", "-n", "2"]);
    assert_eq!(ran.err().matches("it reports no cost, and there is no price").count(), 1, "{}", ran.text());
}

#[test]
fn an_agent_can_write_almost_a_megabyte_before_the_loop_reads_it() {
    // CLI-D5
    let user = user();
    let agent = "touch began; while [ ! -e go ]; do sleep 0.02; done; head -c 1000000 /dev/zero; touch written";
    let running = user.begin(&start(agent, "test -e written", &["--strength", "off"]));
    user.wait_for_file("work/began");
    running.signal("STOP");
    user.write("work/go", "");
    user.wait_for_file("work/written");
    running.signal("CONT");
    running.end().expect_code(0);
}

#[test]
fn the_sum_of_tokens_names_the_calls_that_reported_none() {
    // CLI-D15f
    let user = user();
    played(&user, "codex", "basic-json", 0);
    let script = user.read("bin/codex").replace("cat > /dev/null;", "[ -e log ] && kill -9 $$; cat > /dev/null;");
    user.program("codex", &script);
    let ran = user.run(&["start", "x", "-p", "false", "--agent", "codex", "-n", "2"]);
    assert!(ran.out().contains(" tokens (cost not reported; 1 of 2 calls reported no tokens)"), "{}", ran.text());
}

#[test]
fn a_wait_for_a_limit_is_named_at_the_end() {
    // UR-E12
    let user = user();
    let running = user.begin(&start("echo x >> log", "false", &["--max-calls-per-hour", "1", "-n", "2"]));
    user.wait_for_fact("\"cause\":\"calls\"");
    running.signal("TERM");
    let ran = running.end().expect_code(2);
    assert!(ran.out().contains("  limits    it waited for a rate limit\n"), "{}", ran.text());
}

#[test]
fn a_question_that_nobody_answers_stands_in_quotes() {
    // UR-E13
    let user = user();
    let asks = "cat > \"$HOME/prompt-$LOOP_ITERATION\"; echo 'Which colour should the button have?'";
    user.run(&start(asks, "test -e ok", &["--on-question", "decide", "-n", "3", "--max-no-progress", "9"]))
        .expect_code(1);
    let prompt = user.read("home/prompt-3");
    assert!(prompt.contains("You asked: \"Which colour should the button have?\". There is no person"), "{prompt}");
}

#[test]
fn the_sentence_of_a_provider_and_that_of_the_wait_are_divided_by_one_sign() {
    // UR-E13
    let user = user();
    let limit = "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Claude AI usage limit reached|'$(( $(date +%s) + 600 ))'.\"}'";
    user.program("claude", &format!("cat > /dev/null; {limit}; exit 1"));
    let running = user.begin(&["start", "x", "-p", "false", "--agent", "claude"]);
    user.wait_for_fact("\"cause\":\"limit\"");
    running.signal("TERM");
    let err = running.end().expect_code(2).err();
    assert!(err.contains("; waits until ") && !err.contains(".; waits"), "{err}");
}

#[test]
fn a_rollback_says_only_what_it_did_and_counts_one_ref() {
    // UR-E9, UR-E10
    let user = user();
    let git = "git init -q -b main . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m one";
    assert!(std::process::Command::new("sh").args(["-c", git]).current_dir(user.work()).status().unwrap().success());
    let commits = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m two";
    user.run(&start(commits, "false", &["-n", "1"])).expect_code(1);
    let ran = user.run(&["rollback", "initial", "--restore-git"]).expect_code(0);
    let text = format!("{}{}", ran.out(), ran.err());
    assert!(!text.contains("keeping what is there") && !text.contains("takes a while"), "{text}");
    assert!(text.contains("your repository is back: 1 ref, "), "{text}");
}

#[test]
fn an_age_is_read_and_refused_as_the_durations_of_settings_are() {
    // UR-A15.15
    let user = user();
    for (typed, why) in [("5", "a duration needs a unit"), ("5min", "\"min\" is not a unit of time here")] {
        for words in [["prune", "--older-than"], ["start", "--timeout"]] {
            let more = if words[0] == "start" { &["x", "-p", "true", "--agent-cmd", "true"][..] } else { &[] };
            let ran = user.run(&[&words[..], &[typed], more].concat()).expect_code(4);
            assert!(ran.err().contains(&format!("because: {why}\n")), "{words:?} {typed}: {}", ran.text());
        }
        user.run(&["list", "--since", typed]).expect_code(4);
    }
    user.run(&["prune", "--older-than", "0s", "--dry-run"]).expect_code(0);
}

#[test]
fn a_promise_that_cannot_run_is_said_to_be_so_in_the_same_words_on_every_screen() {
    // UR-E3
    let user = user();
    let ran = user.run(&start("true", "no-such-check", &["-n", "1"])).expect_code(1);
    assert!(ran.err().contains("promise: could not be checked (exit 127)"), "{}", ran.text());
    assert!(ran.out().contains("  promise   could not be checked (exit 127"), "{}", ran.text());
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    assert!(status.contains("  gate       could not be checked (exit 127)"), "{status}");
    assert!(!format!("{}{}{status}", ran.out(), ran.err()).contains("unverifiable"), "{}: {status}", ran.text());
}
