//! What a new user met in two hours with the guide: words that were not true, and advice that did not work.
use std::process::Command;

use loop_testkit::TestEnv;

use crate::{start, user};

/// Answers with two tests in the form of TAP, which both fail.
const TESTS: &str = "echo 1..2; echo 'not ok 1 - adds'; echo 'not ok 2 - divides'; exit 1";

/// What a command in another folder answers on stdout.
fn answer_in(user: &TestEnv, folder: &str, words: &[&str]) -> String {
    let mut command: Command = user.command(words);
    command.current_dir(user.root().join(folder));
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn an_unsigned_proof_is_not_called_one_that_can_be_checked() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    let ran = user.run(&["proof", &id, "-o", "../proof.json"]).expect_code(0);
    assert!(ran.err().contains("; look at it elsewhere: loop verify ../proof.json\n"), "{}", ran.text());
    assert!(ran.err().contains(&format!("sign it: loop proof {id} --sign KEY\n")), "{}", ran.text());
    user.run(&["verify", "../proof.json"]).expect_code(4);
    let pr = user.run(&["proof", &id, "--pr"]).expect_code(0).out();
    assert!(pr.contains("\nLook at it: `loop verify FILE`. "), "{pr}");
}

#[test]
fn a_dry_run_quotes_failing_tests_as_the_first_prompt_does() {
    // UR-A13
    let user = user();
    user.write("work/check.sh", TESTS);
    let words = start("cp \"$LOOP_PROMPT_FILE\" ../sent", "sh check.sh", &["-n", "1"]);
    let shown = user.run(&[&words[..], &["--dry-run"]].concat()).expect_code(0).out();
    user.run(&words).expect_code(1);
    let sent = user.read("sent");
    assert!(sent.contains("What it said about that:\n"), "{sent}");
    assert!(sent.contains("<protected>\n") && sent.contains("check.sh"), "{sent}");
    let (_, first) = shown.split_once("the first prompt:\n\n").unwrap();
    assert_eq!(first, sent);
}

#[test]
fn a_pass_with_changed_protected_files_is_not_shown_as_a_pass() {
    let user = user();
    user.write("work/check.sh", TESTS);
    let ran = user.run(&start("echo true > check.sh; echo >> log", "sh check.sh", &["-n", "4"])).expect_code(1);
    assert!(ran.out().contains("with the changed check.sh: not counted"), "{}", ran.text());
    let history = user.run(&["history", &user.id()]).expect_code(0).out();
    assert!(!history.contains("PASS ✓"), "{history}");
    assert!(history.contains("not counted") && history.contains("pass with changed protected files\n"), "{history}");
}

#[test]
fn two_files_of_a_project_are_answered_by_the_name_of_the_one_to_keep() {
    let user = user();
    user.write("work/.loop.toml", "max_iterations = 2\n");
    user.write("work/loop.toml", "max_iterations = 2\n");
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().contains("hint: move the settings into .loop.toml, and remove loop.toml\n"), "{}", ran.text());
}

#[test]
fn a_wrong_difference_is_explained_in_the_words_of_the_command_that_was_typed() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    let ran = user.run(&["diff", &id, "somewhere"]).expect_code(4);
    assert!(ran.err().starts_with("error: a difference cannot be \"somewhere\"\n"), "{}", ran.text());
    assert!(ran.err().contains(&format!("hint: loop diff {id} 1, or loop diff {id} initial..2\n")), "{}", ran.text());
}

#[test]
fn a_rollback_of_some_paths_is_named_as_that() {
    let user = user();
    user.run(&start("touch a b", "test -e a", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "initial", "--", "b"]).expect_code(0);
    let list = user.run(&["list"]).expect_code(0).out();
    assert!(list.contains("completed (some paths rolled back since)"), "{list}");
    let report = user.run(&["report", &id]).expect_code(0).out();
    assert!(report.contains("**Outcome**: verified, some paths rolled back since: "), "{report}");
}

#[test]
fn checkpoints_of_a_stopped_loop_are_not_said_to_go_at_its_end() {
    let user = user();
    let running = user.begin(&start("touch began; while :; do sleep 0.05; done", "test -e ok", &[]));
    user.wait_for_file("work/began");
    let list = user.run(&["checkpoint", "list"]).expect_code(0).out();
    assert!(list.contains("its loop has ended"), "{list}");
    running.signal("TERM");
    running.end().expect_code(2);
    let list = user.run(&["checkpoint", "list"]).expect_code(0).out();
    assert!(list.contains("no limit while it can be resumed") && !list.contains("has ended"), "{list}");
}

#[test]
fn a_text_that_stays_is_shown_as_that() {
    let user = user();
    let running = user.begin(&start("touch began; while :; do sleep 0.05; done", "test -e ok", &[]));
    user.wait_for_file("work/began");
    user.run(&["inject", "--keep", "mind the port"]).expect_code(0);
    user.run(&["cancel"]).expect_code(0);
    let ran = running.end().expect_code(2);
    assert!(ran.err().contains("a text of 13 bytes for all later prompts (loop inject)"), "{}", ran.text());
}

#[test]
fn what_would_be_pruned_is_an_answer() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    let ran = user.run(&["prune", "--older-than", "0s", "--dry-run"]).expect_code(0);
    assert!(
        ran.out().starts_with(&format!("would remove {} (completed)\n1 loop, would free ", user.id())),
        "{}",
        ran.text()
    );
}

#[test]
fn the_loop_of_this_folder_comes_first_in_a_list_with_a_limit_and_in_the_next_command() {
    let user = user();
    std::fs::create_dir(user.root().join("other")).unwrap();
    let stuck = ["start", "x", "-p", "test -e ok", "--agent-cmd", "echo >> log", "-n", "1"];
    user.run(&stuck).expect_code(1);
    let here = user.id();
    drop(answer_in(&user, "other", &stuck));
    let list = user.run(&["list", "--limit", "1"]).expect_code(0).out();
    assert!(list.contains(&here) && list.lines().count() == 2, "{list}");
    let glance = user.run::<&str>(&[]).expect_code(0).out();
    assert!(glance.contains(&format!("next:      loop resume {here} ")), "{glance}");
    let wrong = user.run(&["list", "--status", "bad"]).expect_code(4);
    assert!(wrong.err().contains(", stopped\n"), "{}", wrong.text());
}

#[test]
fn a_negated_promise_and_gates_without_a_promise_are_named_so_at_the_start_and_at_the_end() {
    let user = user();
    user.write("work/todo", "TODO\n");
    let words = start("echo > todo", "! grep -q TODO todo", &["--strength", "off"]);
    let ran = user.run(&words).expect_code(0);
    assert!(ran.out().contains("  promise   pass (negated: exit 1, "), "{}", ran.text());
    let ran = user.run(&["start", "x", "--gate", "lint=true", "--agent-cmd", "true"]).expect_code(0);
    assert!(ran.err().contains(" · gates 10m · "), "{}", ran.text());
}

#[test]
fn a_checkpoint_that_is_not_there_is_answered_by_iterations_and_not_by_many_undos() {
    let user = user();
    user.run(&start("echo >> log", "test -e ok", &["-n", "2"])).expect_code(1);
    for at in 0..12 {
        user.run(&["rollback", if at % 2 == 0 { "initial" } else { "2" }]).expect_code(0);
    }
    let ran = user.run(&["rollback", "9"]).expect_code(4);
    let hint = "hint: there are: initial, iter-001, iter-002 and 12 more (loop checkpoint list ";
    assert!(ran.err().contains(hint), "{}", ran.text());
}
