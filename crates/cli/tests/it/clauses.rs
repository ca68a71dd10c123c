//! Clauses of requirements, and findings of reviews, that no other story shows.
use std::process::Stdio;

use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

/// What one loop says of itself.
fn one(user: &TestEnv, id: &str) -> Value {
    user.run(&["status", id, "--json"]).expect_code(0).json()["loops"][0].clone()
}

/// An agent that notes that it was called, and does the work.
fn agent(user: &TestEnv, program: &str) {
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo 1.0.0; exit 0; }}\ncat > /dev/null; echo {program} >> called; touch done.txt"
    );
    user.program(program, &script);
}

#[test]
fn the_three_examples_of_the_specification_work_as_they_are_written() {
    // req: D-01 partly: without --background
    let examples = [
        ("loop start \"fix the failing tests\" --promise \"npm test\"", "10"),
        ("loop start \"add user authentication\" --promise \"./verify.sh\" --max-iterations 20", "20"),
        ("loop start \"optimize database queries\" -p \"make bench | grep -q 'PASS'\" -n 5", "5"),
    ];
    for (line, iterations) in examples {
        let user = user();
        agent(&user, "opencode");
        user.program("npm", "test -e done.txt");
        user.program("make", "if [ -e done.txt ]; then echo PASS; else echo FAIL; fi");
        user.write("work/verify.sh", "#!/bin/sh\ntest -e done.txt\n");
        loop_testkit::must(&user.work(), "chmod +x verify.sh");
        let folder = std::path::Path::new(env!("CARGO_BIN_EXE_loop")).parent().unwrap().display().to_string();
        let mut command = std::process::Command::new("sh");
        user.apply_env(&mut command);
        let path = format!("{}:{folder}:/usr/bin:/bin", user.root().join("bin").display());
        let out = command.args(["-c", line]).env("PATH", path).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(0), "{line}: {said}");
        assert_eq!(user.read("work/called"), "opencode\n", "{line}");
        let settings = one(&user, &user.id())["settings"].clone();
        assert_eq!(settings["max_iterations"]["value"], iterations, "{line}");
        assert_eq!(settings["timeout"]["value"], "30m", "a known agent has more time: {}", settings["timeout"]);
    }
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    assert_eq!(one(&user, &user.id())["settings"]["timeout"]["value"], "5m");
}

#[test]
fn each_agent_of_the_specification_is_started_by_its_name_or_by_the_variable_and_else_says_how_to_install_it() {
    // req: D-03
    let agents = [
        ("opencode", "opencode"),
        ("claude", "claude"),
        ("aider", "aider"),
        ("cursor", "cursor-agent"),
        ("cline", "cline"),
        ("codex", "codex"),
        ("gemini", "gemini"),
    ];
    for (name, program) in agents {
        let words = ["start", "do it", "-p", "test -e done.txt", "-n", "1"];
        let user = user();
        let missing = user.run(&[&words[..], &["--agent", name]].concat()).expect_code(4);
        assert!(
            missing.err().starts_with(&format!("error: the agent {name} is not installed\n")),
            "{}",
            missing.text()
        );
        let hint = missing.err().lines().find(|line| line.starts_with("hint: ")).map(str::to_owned);
        assert!(
            hint.is_some_and(|hint| hint.contains("install") || hint.contains("vendor")),
            "{name}: {}",
            missing.text()
        );
        agent(&user, program);
        user.run(&[&words[..], &["--agent", name]].concat()).expect_code(0);
        assert_eq!(user.read("work/called"), format!("{program}\n"));
        let user = user.with("LOOP_AGENT", name);
        loop_testkit::must(&user.work(), "rm done.txt called");
        user.run(&words).expect_code(0);
        assert_eq!(user.read("work/called"), format!("{program}\n"), "by LOOP_AGENT");
    }
}

const COMPLETE: &str = "cat > /dev/null; printf -- '---LOOP_STATUS---\\nSTATUS: COMPLETE\\n\
                        TASKS_COMPLETED_THIS_LOOP: 2\\nFILES_MODIFIED: 3\\nCOMPLETION_INDICATORS: 2\\n\
                        RECOMMENDATION: ship it\\nEXIT_SIGNAL: true\\n---END_LOOP_STATUS---\\n'";

#[test]
fn the_end_of_a_claimed_loop_has_all_that_the_specification_lists_on_the_screen_and_in_json() {
    // req: C-22
    let words = ["start", "do it", "--no-promise", "--agent-cmd", COMPLETE, "-n", "5"];
    let user = user();
    let shown = user.run(&words).expect_code(0).out();
    for part in ["2 iterations in ", "COMPLETE", "ship it", "4 tasks", "6 files", "goal_complete"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let ran = user.run(&[&words[..], &["--json"]].concat()).expect_code(0).out();
    let end: Value = ran.lines().next_back().map(|line| serde_json::from_str::<Value>(line).unwrap()).unwrap();
    assert_eq!((&end["event"], &end["iterations"]), (&"ended".into(), &2.into()), "{end}");
    assert_eq!((&end["tasks_claimed"], &end["files_claimed"]), (&4.into(), &6.into()), "{end}");
    assert_eq!((&end["rate_limit_hit"], &end["reason"]), (&false.into(), &"goal_complete".into()), "{end}");
    assert_eq!(end["recommendation"], "ship it", "{end}");
    assert_eq!(end["status_block"]["status"], "COMPLETE", "{end}");
    assert!(end["elapsed_seconds"].is_number() && end.get("error").is_some(), "{end}");
}

#[test]
fn an_agent_that_may_do_everything_is_asked_about_on_a_terminal_and_else_the_flag_is_said_to_count() {
    // req: C-26
    let user = user();
    let words = ["--permissions", "all", "-n", "1"];
    let ran = user.run(&start("true", "false", &words)).expect_code(1);
    assert!(ran.err().contains("there is no terminal to ask on, so --permissions all counts"), "{}", ran.text());
    let ran = user.run(&start("true", "false", &[&words[..], &["--auto-confirm"]].concat())).expect_code(1);
    assert!(!ran.err().contains("no terminal to ask on"), "{}", ran.text());
    let program = env!("CARGO_BIN_EXE_loop");
    let line = format!("exec {program} start x -p false --agent-cmd 'touch worked' --permissions all -n 1");
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("[y/N]", 1);
    running.type_in(b"n\n");
    running.end().expect_code(4);
    assert!(!user.work().join("worked").exists(), "{}", user.screen());
}

#[test]
fn a_question_on_a_narrow_terminal_is_divided_between_words() {
    // FE-19
    let user = user();
    let program = env!("CARGO_BIN_EXE_loop");
    let line = format!("exec {program} start x -p false --agent-cmd 'touch worked' --permissions all -n 1");
    let mut running = user.begin_on_a_terminal(&format!("stty cols 30; {line}"), Stdio::piped());
    user.wait_for_screen("[y/N]", 1);
    running.type_in(b"y\n");
    running.end().expect_code(1);
    let shown = user.screen();
    assert!(user.work().join("worked").exists(), "{shown}");
    // The first line is of the program that makes the terminal.
    let lines: Vec<&str> = shown.lines().skip(1).map(str::trim_end).collect();
    let asked = lines.iter().position(|line| line.contains("[y/N]")).unwrap();
    let question = lines[..=asked].join(" ");
    assert!(lines[..=asked].iter().all(|line| line.chars().count() <= 32), "{lines:?}");
    assert!(
        question.starts_with("The agent may change and run anything that you may, here and elsewhere. "),
        "{question}"
    );
}

#[test]
fn a_wait_for_the_provider_offers_to_wait_or_to_leave_on_a_terminal_and_elsewhere_says_what_it_does() {
    // req: C-26
    let limited = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts/claude/err-rate-limit.stdout");
    let user = user();
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo '2.1.326 (Claude Code)'; exit 0; }}\ncat > /dev/null; cat {limited}; exit 1"
    );
    user.program("claude", &script);
    let line = format!("stty cols 400; exec {} start x -p false --agent claude -n 1", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("or Enter; leave: Ctrl-C", 1);
    running.type_in(b"\x03");
    running.end().expect_code(2);
    let row = one(&user, &user.id());
    assert_eq!((&row["status"], &row["resumable"]), (&"paused".into(), &true.into()), "{row}");
    let running = user.begin(&["resume", &user.id()]);
    user.wait_for_fact("\"limit\"");
    loop_testkit::wait_until("it waits", || one(&user, &user.id())["status"] == "waiting");
    user.run(&["cancel", &user.id()]).expect_code(0);
    let ran = running.end().expect_code(2);
    assert!(ran.err().contains("; waits until ") && !ran.err().contains("Enter"), "{}", ran.text());
}

#[test]
fn a_gate_that_says_nothing_has_no_colon_with_nothing_behind_it() {
    // FE-15
    let user = user();
    let ran = user.run(&start("true", "exit 1", &["-n", "1"])).expect_code(1);
    let shown = format!("{}{}{}", ran.out(), ran.err(), user.run(&["status", &user.id()]).expect_code(0).out());
    assert!(shown.contains("(exit 1)"), "{shown}");
    let empty: Vec<&str> = shown.lines().filter(|line| line.trim_end().ends_with("(exit 1):")).collect();
    assert!(empty.is_empty(), "{empty:?}");
}

#[test]
fn the_manual_is_named_with_its_section_and_a_program_with_a_path_is_not_looked_for_on_path() {
    // FE-18
    let user = user();
    let said = user.run(&["man", "--install"]).expect_code(0);
    assert!(said.text().contains("man 1 loop"), "{}", said.text());
    user.run(&["config", "set", "notification_cmd", "/no/such/program"]).expect_code(0);
    let doctor = user.run(&["doctor"]).text();
    assert!(doctor.contains("/no/such/program is not an executable file"), "{doctor}");
    assert!(!doctor.contains("/no/such/program is not on PATH"), "{doctor}");
}

#[test]
fn what_an_agent_works_with_may_end_after_it_and_is_not_called_left_running() {
    // CLI-D15g: the program behind claude-acp sees that its client is gone, and needs a moment.
    let user = user();
    let bridged = loop_testkit::acp_agent(env!("CARGO_BIN_EXE_loop"));
    user.program(
        "claude-agent-acp",
        &format!(
            "[ \"$1\" = --version ] && {{ echo 0.99.1; exit 0; }}\n\
             (while kill -0 $$ 2> /dev/null; do sleep 0.02; done; sleep 0.2) &\nexec {} asks",
            bridged.display()
        ),
    );
    user.write("work/run_tests.sh", "touch ran\n");
    let ran =
        user.run(&["start", "do it", "-p", "test -e ran", "--agent", "claude-acp", "-n", "1", "--strength", "off"]);
    let ran = ran.expect_code(0);
    assert!(!ran.err().contains("left running"), "{}", ran.text());
}

#[test]
fn lines_on_a_terminal_have_their_time_and_narrow_ones_do_not() {
    // UR-2.5
    let user = user();
    let line = format!("stty cols 100; exec {} start x -p false --agent-cmd true -n 1", env!("CARGO_BIN_EXE_loop"));
    let (ran, shown) = user.on_a_terminal(&line);
    ran.expect_code(1);
    let timed = |screen: &str| {
        let plain = screen.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "").replace("\r\u{1b}[K", "\n");
        plain.lines().any(|line| {
            let (time, rest) = line.trim_start().split_at_checked(6).unwrap_or_default();
            let is_time = time.len() == 6 && time.as_bytes()[2] == b':' && time.ends_with(' ');
            is_time && rest.contains("1/1  agent: exit 0")
        })
    };
    assert!(timed(&shown), "{shown}");
    let (_, narrow) = user.on_a_terminal(&line.replace("cols 100", "cols 40"));
    assert!(!timed(&narrow), "{narrow}");
}

#[test]
fn the_next_command_after_a_text_raises_the_limit_that_ended_the_loop() {
    let user = user();
    user.run(&start("echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    let said = user.run(&["inject", &id, "look at it"]).expect_code(0).out();
    assert!(said.ends_with(&format!("next:       loop resume {id} -n +5\n")), "{said}");
    let said = user.run(&["set", &id, "timeout=1m"]).expect_code(0).out();
    assert!(said.ends_with(&format!("next:       loop resume {id} -n +5\n")), "{said}");
    let said = user.run(&["set", &id, "max_iterations=3"]).expect_code(0).out();
    assert!(said.ends_with(&format!("next:       loop resume {id}\n")), "{said}");
}

#[test]
fn loop_alone_and_a_start_name_what_the_newest_loop_of_the_folder_needs() {
    let user = user();
    user.run(&start("exit 3", "false", &[])).expect_code(3);
    let crashed = user.id();
    let ran = user.run(&start("echo x >> log", "false", &["-n", "1"])).expect_code(1);
    let note =
        format!("note: loop {crashed} of this folder is crashed at iteration 3/10: loop resume {crashed} --agent-cmd");
    assert!(ran.err().contains(&note), "{}", ran.text());
    let failed = user.ids().into_iter().find(|id| *id != crashed).unwrap();
    let shown = user.run::<&str>(&[]).expect_code(0).out();
    assert!(shown.contains(&format!("next:      loop resume {failed} -n +5\n")), "{shown}");
}

#[test]
fn loop_verify_says_when_it_was_recorded_in_local_time() {
    // UR-2.5
    let user = user();
    user.run(&start("touch done.txt", "test -e done.txt", &["--strength", "off"])).expect_code(0);
    let said = user.run(&["verify", &user.id()]).expect_code(0).out();
    let recorded = said.lines().find(|line| line.trim_start().starts_with("recorded ")).unwrap_or_default();
    assert!(recorded.contains(" by loop ") && !recorded.contains('T') && !recorded.contains("Z by"), "{said}");
}

#[test]
fn more_iterations_are_not_advised_alone_where_the_agent_is_not_signed_in() {
    let user = user();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts/claude");
    let script = format!(
        "[ \"$1\" = --version ] && {{ echo '2.1.326 (Claude Code)'; exit 0; }}\ncat > /dev/null; cat {folder}/err-auth.stdout; exit 1"
    );
    user.program("claude", &script);
    let ran = user.run(&["start", "do it", "-p", "false", "--agent", "claude", "-n", "1"]).expect_code(1);
    let next = format!("next:       loop resume {} -n +5   (when the agent is signed in)\n", user.id());
    assert!(ran.out().contains(&next), "{}", ran.text());
}

#[test]
fn a_key_that_is_set_is_not_asked_for_where_gemini_insists_on_another_kind_of_sign_in() {
    // CLI-D15e
    let user = user().with("GEMINI_API_KEY", "k").with("GOOGLE_GEMINI_BASE_URL", "http://localhost:9");
    user.program(
        "gemini",
        "[ \"$1\" = --version ] && { echo 0.61.0; exit 0; }\ncat > /dev/null; echo 'Invalid auth method selected.' >&2; exit 41",
    );
    let ran = user.run(&["start", "do it", "-p", "false", "--agent", "gemini", "-n", "1"]);
    assert!(ran.err().contains("\"selectedType\": \"gemini-api-key\""), "{}", ran.text());
    assert!(!ran.err().contains("or set GEMINI_API_KEY"), "{}", ran.text());
}

/// An agent that says something and then works for ever.
const CUT: &str = r#"[ "$1" = --version ] && { echo '2.1.326 (Claude Code)'; exit 0; }
cat > /dev/null
echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"half of it is written"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make slow"}}],"usage":{"input_tokens":10,"output_tokens":5}},"session_id":"5e551017-0000-4000-8000-000000000001"}'
touch began
while :; do sleep 0.1; done"#;

#[test]
fn what_a_stream_said_until_it_was_cut_by_its_time_or_a_cancel_is_kept_and_shown() {
    // req: C-24
    let said = |user: &TestEnv| user.run(&["history", &user.id(), "--verbose"]).expect_code(0).out();
    let timed = user();
    timed.program("claude", CUT);
    let words = ["start", "do it", "-p", "false", "--agent", "claude", "-n", "1"];
    let ran = timed.run(&[&words[..], &["--timeout", "3s"]].concat()).expect_code(1);
    assert!(ran.err().contains("time limit of 3s reached"), "{}", ran.text());
    assert!(said(&timed).contains("half of it is written") && said(&timed).contains("make slow"), "{}", said(&timed));
    let row = timed.run(&["history", &timed.id(), "--json"]).expect_code(0).json()["iterations"][0].clone();
    assert_ne!(row["outcome"], "pass", "{row}");
    let cancelled = user();
    cancelled.program("claude", CUT);
    let running = cancelled.begin(&words);
    cancelled.wait_for_file("work/began");
    cancelled.run(&["cancel", &cancelled.id()]).expect_code(0);
    running.end().expect_code(2);
    assert!(said(&cancelled).contains("half of it is written"), "{}", said(&cancelled));
}
