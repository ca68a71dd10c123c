//! What a person reads at the end of a loop, in `loop status`, in lists and beside a gate that fails.
use loop_testkit::TestEnv;
use unicode_width::UnicodeWidthStr;

use crate::{start, user};

/// A gate that runs the tests of `list` as TAP: a name, and the exit code of the test.
const CHECK: &str = "n=0; bad=0\n\
                     while read name code; do\n\
                     n=$((n+1))\n\
                     if [ \"$code\" = 0 ]; then echo \"ok $n - $name\"; else echo \"not ok $n - $name\"; bad=1; fi\n\
                     done < list\n\
                     echo 1..$n; exit $bad\n";

/// A loop whose tests were renamed: it passes, and is not believed.
fn renamed() -> (TestEnv, String) {
    let user = user();
    user.write("work/check.sh", CHECK);
    user.write("work/list", "one 1\ntwo 1\n");
    let ran = user.run(&start("printf 'x 0\\ny 0\\n' > list", "sh check.sh", &["-n", "1"])).expect_code(1);
    (user, ran.out())
}

fn has_line(text: &str, line: &str) {
    assert!(text.lines().any(|one| one == line), "no line {line:?} in:\n{text}");
}

#[test]
fn a_protected_file_that_was_restored_is_named_at_the_end_in_status_and_in_history() {
    let user = user();
    user.write("work/Makefile", "test:\n\tgrep -q right a\n");
    user.write("work/a", "wrong\n");
    let agent = "printf 'test:\\n\\ttrue\\n' > Makefile; echo right > a";
    let ran = user.run(&start(agent, "make test", &["-n", "1"])).expect_code(0);
    let (id, words) = (user.id(), "Makefile (iteration 1; the agent's version: tampered-1)");
    has_line(&ran.out(), &format!("  restored  {words}"));
    has_line(&user.run(&["watch", &id]).expect_code(0).out(), &format!("  restored  {words}"));
    has_line(&user.run(&["status", &id]).expect_code(0).out(), &format!("  restored   {words}"));
    has_line(&user.run(&["history", &id]).expect_code(0).out(), &format!("restored: {words}"));
    let json = user.run(&["history", &id, "--json"]).expect_code(0).json();
    assert_eq!(json["restored"][0]["iteration"], 1, "{json}");
    assert_eq!(json["restored"][0]["files"]["first"][0], "Makefile", "{json}");
    assert_eq!(json["restored"][0]["checkpoint"], "tampered-1", "{json}");
}

#[test]
fn the_next_step_for_a_file_that_is_changed_again_and_again_is_to_allow_it() {
    let user = user();
    user.write("work/Makefile", "test:\n\tfalse\n");
    let agent = "printf 'test:\\n\\ttrue\\n' > Makefile";
    let ran = user.run(&start(agent, "make test", &["-n", "9", "--max-no-progress", "9"])).expect_code(1);
    let id = user.id();
    let next = format!("loop resume {id} --allow Makefile   (if the agent may change it)");
    has_line(&ran.out(), &format!("next:       {next}"));
    has_line(&user.run(&["status", &id]).expect_code(0).out(), &format!("  next       {next}"));
    assert!(!ran.out().contains("--on-tamper restore"), "{}", ran.text());
    let gate = "  promise   pass, with the changed Makefile: not counted (exit 0, ";
    assert!(ran.out().contains(gate), "{}", ran.text());
}

#[test]
fn the_next_step_where_tampering_stops_the_loop_is_to_restore() {
    let user = user();
    user.write("work/Makefile", "test:\n\tfalse\n");
    let agent = "printf 'test:\\n\\ttrue\\n' > Makefile";
    let ran = user.run(&start(agent, "make test", &["-n", "9", "--on-tamper", "stop"])).expect_code(1);
    has_line(&ran.out(), &format!("next:       loop resume {} --on-tamper restore", user.id()));
}

#[test]
fn loop_verify_is_offered_only_where_it_can_verify() {
    let (renamed, _) = renamed();
    let id = renamed.id();
    let status = renamed.run(&["status", &id]).expect_code(0).out();
    assert!(!status.contains("loop verify"), "passed, but: {status}");
    renamed.run(&["accept", &id]).expect_code(0);
    let status = renamed.run(&["status", &id]).expect_code(0).out();
    assert!(!status.contains("loop verify"), "accepted: {status}");
    let user = user();
    let ran = user.run(&start("touch a", "test -e a", &["--checkpoint", "none"])).expect_code(0);
    assert!(!ran.out().contains("loop verify"), "{}", ran.text());
    let ran = user.run(&start("touch b", "test -e b", &[])).expect_code(0);
    assert!(ran.out().contains("verify:     loop verify "), "{}", ran.text());
}

#[test]
fn a_pass_that_is_not_believed_names_how_to_look_at_it_to_judge_it_again_and_to_accept_it() {
    let (user, out) = renamed();
    let id = user.id();
    let steps = [
        ("look", format!("loop history {id} --diff initial..iter-001")),
        ("again", format!("loop resume {id} --accept renamed-tests   (judged again)")),
        ("accept", format!("loop accept {id}   (as it is, not verified)")),
    ];
    let status = user.run(&["status", &id]).expect_code(0).out();
    for (name, command) in &steps {
        has_line(&out, &format!("{:<12}{command}", format!("{name}:")));
        has_line(&status, &format!("  {name:<11}{command}"));
    }
    let ran = user.run(&["resume", &id, "--accept", "renamed-tests"]).expect_code(0);
    assert!(ran.out().starts_with("done"), "{}", ran.text());
}

#[test]
fn tests_that_fail_under_exit_0_are_named_beside_the_gate_at_the_end_and_in_status() {
    let user = user();
    user.write("work/check.sh", CHECK);
    user.write("work/list", "one 0\ntwo 0\n");
    let agent = "printf 'one 1\\ntwo 1\\n' > list";
    let promise = "sh check.sh; test -e list && test -e go";
    let ran = user.run(&start(&format!("{agent}; touch go"), promise, &["-n", "1"])).expect_code(1);
    assert!(ran.out().contains("  promise   fail (exit 0, but 2 tests fail, "), "{}", ran.text());
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    has_line(&status, "  gate       fail (exit 0, but 2 tests fail)");
}

#[test]
fn long_lines_of_an_end_are_wrapped_at_120_columns_where_there_is_no_terminal() {
    let user = user();
    user.write("work/check.sh", CHECK);
    let names: Vec<String> = (10..30).map(|number| format!("a_test_with_a_long_name_{number}")).collect();
    user.write("work/list", &names.iter().map(|name| format!("{name} 1\n")).collect::<String>());
    let ran = user.run(&start("printf 'x 0\\ny 0\\n' > list", "sh check.sh", &["-n", "1"])).expect_code(1);
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    for (text, label, indent) in [(ran.out(), "  against   ", 12), (status, "  proof      ", 13)] {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(label));
        assert!(lines.next().is_some_and(|line| line.width() <= 120), "{text}");
        let next = lines.next().unwrap_or_default();
        let begin = " ".repeat(indent);
        assert!(next.starts_with(&begin) && !next[indent..].starts_with(' ') && next.width() <= 120, "{text}");
    }
}

#[test]
fn a_long_qualification_is_cut_in_tables_and_every_row_fits() {
    let user = user();
    user.program("make", "test -e done.txt");
    let promise = "make lint; make test && true && true && true && true && true";
    let more = ["--strength", "require", "--accept", "strength", "--judge", "workspace"];
    user.run(&start("touch done.txt", promise, &more)).expect_code(0);
    user.run(&start("touch b", "test -e b", &["--strength", "off"])).expect_code(0);
    for words in [&[][..], &["list"], &["status"]] {
        let out = user.run(words).expect_code(0).out();
        let rows: Vec<&str> = out.lines().take(3).collect();
        assert!(rows.iter().all(|row| row.width() <= 120), "{out}");
        assert!(out.contains("completed (in the workspace only, "), "{out}");
        assert!(words != ["list"] || out.contains('…'), "{out}");
    }
}

#[test]
fn a_gate_that_fails_shows_its_first_failing_test_with_the_message() {
    let user = user();
    let tap = "TAP version 13\nnot ok 1 - adds two numbers\n  ---\n  duration_ms: 1.2\n  failureType: 'testCodeFailure'\n  \
               error: |-\n    Expected values to be strictly equal:\n    \n    -1 !== 5\n  ...\nok 2 - other\n1..2\n\
               # tests 2\n# pass 1\n# fail 1\n# duration_ms 569.7\n";
    user.write("work/out.tap", tap);
    user.write("work/Makefile", "test:\n\t@cat out.tap; exit 1\n");
    let ran = user.run(&start("true", "make test", &["-n", "1"])).expect_code(1);
    let line =
        "promise: fail (exit 2) · 1 pass, 1 fail: adds two numbers: Expected values to be strictly equal: -1 !== 5\n";
    assert!(ran.err().contains(line), "{}", ran.text());
}

#[test]
fn a_line_of_make_is_not_shown_as_the_reason_of_a_gate() {
    let user = user();
    user.write("work/Makefile", "test:\n\t@echo 'sum is 4, not 5'; false\n");
    let ran = user.run(&start("true", "make test", &["-n", "1"])).expect_code(1);
    assert!(ran.err().contains("promise: fail (exit 2): sum is 4, not 5\n"), "{}", ran.text());
}

#[test]
fn the_doctor_says_where_checkpoints_are_kept_without_naming_a_repository_that_is_not_there() {
    let user = user();
    let ran = user.run(&["doctor"]).expect_code(0);
    assert!(!ran.out().contains("git in this folder"), "{}", ran.text());
    assert!(ran.out().contains("checkpoints   in a git store of loop's own"), "{}", ran.text());
}

#[test]
fn a_repository_above_the_workspace_is_said_to_be_left_out() {
    let user = user();
    user.write(".git/HEAD", "ref: refs/heads/main\n");
    let ran = user.run(&start("touch a", "test -e a", &[])).expect_code(0);
    let line = "your git repository is above this folder: checkpoints do not include it\n";
    assert!(ran.err().contains(line) && !ran.err().contains("of your repository"), "{}", ran.text());
}

/// Runs an agent that repairs the work and changes the makefile that the task names; its screen.
fn with_makefile(makefile: &str) -> String {
    let user = user();
    user.write("work/Makefile", "test:\n\t@sh t.sh\n");
    user.write("work/t.sh", "test \"$(cat a)\" = 2\n");
    user.write("work/a", "1\n");
    let agent = format!("echo 2 > a; printf '{makefile}' > Makefile");
    let words = ["start", "repair a, and the Makefile", "-p", "make test", "--agent-cmd", &agent, "-n", "1"];
    user.run(&words).expect_code(0).out()
}

#[test]
fn a_makefile_that_the_task_names_is_weaker_only_where_its_tests_lost_something() {
    let more = with_makefile("# all\\ntest:\\n\\t@sh t.sh\\nlint:\\n\\t@true\\n");
    assert!(!more.contains("weaker") && more.contains("was changed: Makefile"), "{more}");
    let less = with_makefile("test:\\n\\t@sh t.sh || false\\n");
    assert!(less.contains("weaker    Makefile: changed; it defines how tests are run"), "{less}");
}

#[test]
fn history_says_which_gates_fail_and_how_many_tests_pass() {
    // req: D-09
    let user = user();
    user.write("work/check.sh", CHECK);
    user.write("work/list", "one 0\ntwo 1\n");
    let more = ["--gate", "lint=test -e linted", "--gate", "style=true", "-n", "1"];
    user.run(&start("echo x > a", "sh check.sh", &more)).expect_code(1);
    let id = user.id();
    let text = user.run(&["history", &id]).expect_code(0).out();
    assert!(text.contains("ITER  CHECKPOINT  PROMISE  GATES                TESTS  DURATION  CHANGES"), "{text}");
    assert!(text.contains("1     iter-001    FAIL     1/3 (promise, lint)  1/2    "), "{text}");
    let row = &user.run(&["history", &id, "--json"]).expect_code(0).json()["iterations"][0];
    assert_eq!(row["tests"], serde_json::json!({"passed": 1, "failed": 1, "skipped": 0}));
    assert_eq!(row["gates"][1], serde_json::json!({"name": "lint", "required": true, "verdict": "fail"}));
}

#[test]
fn the_column_promise_is_about_the_promise_where_only_another_required_gate_fails() {
    // UR-2.4
    let user = user();
    user.run(&start("echo x > a", "test -e a", &["--gate", "lint=test -e linted", "-n", "1"])).expect_code(1);
    let id = user.id();
    let text = user.run(&["history", &id]).expect_code(0).out();
    let row = text.lines().find(|line| line.contains("iter-001")).unwrap_or_default();
    assert!(row.contains("PASS ✓   1/2 (lint)") && row.ends_with("fail"), "{text}");
    let json = user.run(&["history", &id, "--json"]).expect_code(0).json();
    assert_eq!(json["iterations"][0]["promise"], "fail", "what all required gates say together");
}

#[test]
fn tables_fit_a_terminal_of_any_width() {
    let user = user();
    let task = "a task with a long sentence that says what is to be done in this folder, and why";
    let promise = "test -e a-file-with-a-long-name-that-is-never-made-by-anyone";
    user.run(&["start", task, "-p", promise, "--agent-cmd", "echo x >> log", "-n", "2"]).expect_code(1);
    let (id, program) = (user.id(), env!("CARGO_BIN_EXE_loop"));
    let commands = ["status", "list", "history $ID", "checkpoint list $ID", "usage", "config show"];
    for columns in [80, 60, 40] {
        for command in commands {
            let line = format!("stty cols {columns}; {program} {}", command.replace("$ID", &id));
            let (ran, _) = user.on_a_terminal(&line);
            let text = loop_core::text::clean(ran.expect_code(0).out().as_bytes());
            let widest = text.lines().map(|line| line.trim_end().width()).max().unwrap_or(0);
            assert!(widest <= columns, "{command} at {columns}: {widest}\n{text}");
        }
    }
}

#[test]
fn loop_alone_shows_the_task() {
    let user = user();
    user.run(&start("echo x >> log", "test -e never", &["-n", "1"])).expect_code(1);
    let text = user.run::<&str>(&[]).expect_code(0).out();
    assert!(text.starts_with("LOOP-ID  STATUS  ITER  TASK   AGENT   ELAPSED\n"), "{text}");
    assert!(text.contains("  do it  custom  "), "{text}");
}
