//! Going back: every iteration, by number, name and word, on ended, paused, running and cut-off loops.
use std::process::Command;

use crate::{start, user};
use loop_testkit::TestEnv;

/// Adds a line and a file an iteration.
const AGENT: &str = "echo $LOOP_ITERATION >> log; echo $LOOP_ITERATION > file-$LOOP_ITERATION";
/// Waits in each iteration for a file of its number.
const TURN: &str = "cat > ../prompt-$LOOP_ITERATION.$LOOP_ATTEMPT; echo $LOOP_ITERATION >> log; touch ../at-$LOOP_ITERATION.$LOOP_ATTEMPT; \
                    while ! test -e ../go-$LOOP_ITERATION; do sleep 0.02; done";

/// Everything in the workspace with its content.
fn content(user: &TestEnv) -> Vec<(String, String)> {
    let names = user.tree("work");
    names
        .into_iter()
        .map(|name| (name.clone(), std::fs::read_to_string(user.work().join(&name)).unwrap_or_default()))
        .collect()
}

#[test]
fn an_ended_loop_goes_back_to_any_iteration_and_to_its_beginning_and_each_can_be_undone() {
    // req: D-08, D-29
    let user = user();
    user.write("work/mine", "before\n");
    user.run(&start(&format!("cp -r . ../seen-$LOOP_ITERATION; {AGENT}"), "test -e file-3", &[])).expect_code(0);
    let (id, end) = (user.id(), content(&user));
    for (word, lines) in [("2", 2), ("1", 1), ("initial", 0), ("iter-003", 3)] {
        let ran = user.run(&["rollback", &id, word]).expect_code(0);
        assert!(ran.out().contains(&format!("undo:       loop rollback {id} undo")), "{}", ran.text());
        let log = std::fs::read_to_string(user.work().join("log")).unwrap_or_default();
        assert_eq!(log.lines().count(), lines, "{word}");
        assert_eq!(user.work().join("file-3").exists(), lines == 3, "{word}");
        assert_eq!(user.read("work/mine"), "before\n");
    }
    user.write("work/by-hand", "a person's own\n");
    let before = content(&user);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(!user.work().join("by-hand").exists());
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(content(&user), before);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(content(&user).len(), 1, "an undo can be undone");
    user.run(&["rollback", &id, "3"]).expect_code(0);
    assert_eq!(content(&user), end);
}

#[test]
fn a_word_that_names_no_checkpoint_is_refused_with_those_there_are() {
    // req: D-08
    let user = user();
    user.run(&start(AGENT, "test -e file-2", &[])).expect_code(0);
    let id = user.id();
    let before = content(&user);
    for word in ["7", "nowhere", "undo", "../..", "0+"] {
        let ran = user.run(&["rollback", &id, word]).expect_code(4);
        assert!(ran.err().contains("there are: initial, iter-001, iter-002"), "{word}: {}", ran.text());
    }
    assert_eq!(content(&user), before);
}

#[test]
fn the_best_state_by_its_gates_can_be_gone_back_to_and_is_offered() {
    let user = user();
    // Two of three tests pass after the first iteration, and one after the others.
    let agent = "echo $LOOP_ITERATION > state; test $LOOP_ITERATION = 1 && cp good now || cp bad now; echo went on $LOOP_ITERATION";
    user.write("work/good", "1..3\nok 1 - one\nok 2 - two\nnot ok 3 - three\n");
    user.write("work/bad", "1..3\nok 1 - one\nnot ok 2 - two\nnot ok 3 - three\n");
    let ran = user.run(&start(agent, "cat now; false", &["-n", "3"])).expect_code(1);
    let id = user.id();
    let said = ran.text();
    assert!(said.contains("newly failing: two"), "{said}");
    assert!(ran.out().contains("rollback"), "{said}");
    assert!(ran.out().contains("best   (iteration 1: 0 gates pass, 2 tests pass, 1 fail)"), "{said}");
    let prompt = std::fs::read_to_string(user.run_folder(&id).join("iterations/000002/attempt-1/prompt.md"));
    let prompt = prompt.unwrap()
        + &std::fs::read_to_string(user.run_folder(&id).join("iterations/000003/attempt-1/prompt.md")).unwrap();
    assert!(prompt.contains("broke what had passed before: two"), "{prompt}");
    user.run(&["rollback", &id, "best"]).expect_code(0);
    assert_eq!(user.read("work/state"), "1\n");
}

#[test]
fn a_person_names_checkpoints_of_a_loop_at_work_and_of_one_that_ended() {
    // req: D-08, D-28
    let user = user();
    let running = user.begin(&start(TURN, "test -e ../go-2", &[]));
    user.wait_for_file("at-1.1");
    let id = user.id();
    let ran = user.run(&["checkpoint", &id, "half-way"]).expect_code(0);
    assert!(ran.out().starts_with("checkpoint taken: half-way\n"), "{}", ran.text());
    assert!(user.run(&["checkpoint", &id]).expect_code(0).out().starts_with("checkpoint taken: manual-001\n"));
    for name in ["half-way", "3", "initial", "iter-001", "undo", "best", "tampered-1", "interrupted-1.1", "1+", "../x"]
    {
        user.run(&["checkpoint", &id, name]).expect_code(4);
    }
    user.write("go-1", "");
    user.wait_for_file("at-2.1");
    user.write("go-2", "");
    running.end().expect_code(0);
    user.run(&["checkpoint", &id, "afterwards"]).expect_code(0);
    let json = user.run(&["checkpoint", "list", &id, "--json"]).json();
    let rows = json["checkpoints"].as_array().unwrap().clone();
    let names: Vec<_> = rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        names.iter().filter(|name| ["half-way", "manual-001", "afterwards"].contains(&name.as_str())).count(),
        3
    );
    for row in rows {
        let shown = Command::new("sh").args(["-c", row["git"].as_str().unwrap()]).output().unwrap();
        assert!(shown.status.success(), "{row}: {}", String::from_utf8_lossy(&shown.stderr));
    }
    user.run(&["rollback", &id, "half-way"]).expect_code(0);
    assert_eq!(user.read("work/log"), "1\n");
}

#[test]
fn a_loop_at_work_goes_back_after_the_iteration_and_its_agent_is_told() {
    // req: D-08
    let user = user();
    let running = user.begin(&start(TURN, "test -e ../go-3", &["-n", "5"]));
    user.wait_for_file("at-1.1");
    let id = user.id();
    user.write("go-1", "");
    user.wait_for_file("at-2.1");
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(ran.out().contains("rolls back to initial after this iteration"), "{}", ran.text());
    user.write("go-2", "");
    user.wait_for_file("at-3.1");
    let prompt = user.read("prompt-3.1");
    assert!(prompt.contains("was rolled back to checkpoint initial"), "{prompt}");
    assert_eq!(user.read("work/log"), "3\n", "what iterations 1 and 2 did is gone");
    user.write("go-3", "");
    running.end().expect_code(0);
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["rollbacks"][0]["to"], "initial");
    assert_eq!(history["rollbacks"][0]["after_iteration"], 2);
}

#[test]
fn a_loop_at_work_goes_back_now_and_its_agent_is_ended_first() {
    // req: D-08
    let user = user();
    let running = user.begin(&start(TURN, "test -e ../go-2", &["-n", "5"]));
    user.wait_for_file("at-1.1");
    let id = user.id();
    user.write("go-1", "");
    user.wait_for_file("at-2.1");
    user.run(&["rollback", &id, "1", "--now"]).expect_code(0);
    user.wait_for_file("at-2.2");
    assert_eq!(user.read("work/log"), "1\n2\n", "the second attempt began where iteration 1 had ended");
    user.write("go-2", "");
    running.end().expect_code(0);
    user.run(&["rollback", &id, "interrupted-2.1"]).expect_code(0);
    assert_eq!(user.read("work/log"), "1\n2\n", "what the first attempt had left is kept");
}

#[test]
fn cancel_with_rollback_leaves_the_workspace_as_it_was_and_can_be_undone() {
    // req: D-06
    let user = user();
    user.write("work/mine", "before\n");
    let running = user.begin(&start("echo x > made; echo y >> mine; touch ../began; sleep 300", "false", &[]));
    user.wait_for_file("began");
    let id = user.id();
    user.run(&["cancel", &id, "--rollback", "--wait"]).expect_code(0);
    running.end().expect_code(2);
    assert_eq!(content(&user), [("mine".to_owned(), "before\n".to_owned())]);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.read("work/mine"), "before\ny\n");
}

#[test]
fn without_checkpoints_going_back_says_that_it_needs_them() {
    // req: D-14
    let user = user();
    user.run(&start(AGENT, "test -e file-1", &["--checkpoint", "none"])).expect_code(0);
    let id = user.id();
    let wanted: [&[&str]; 4] =
        [&["rollback", &id, "1"], &["checkpoint", &id], &["checkpoint", "list", &id], &["history", &id, "--diff", "1"]];
    for words in wanted {
        let ran = user.run(words).expect_code(4);
        assert!(ran.err().contains("keeps no checkpoints"), "{}", ran.text());
    }
    let history = user.run(&["history", &id, "--json"]).json();
    assert!(history["iterations"][0]["changes"].is_null() && history["iterations"][0]["checkpoint"].is_null());
    assert!(!user.state().join("checkpoints").exists());
}

#[test]
fn what_others_changed_between_two_iterations_is_kept_and_shown_as_not_the_agents() {
    // req: D-29
    let user = user();
    let promise = "echo built >> artefact; test -e file-2";
    let ran = user.run(&start(AGENT, promise, &[])).expect_code(0);
    let id = user.id();
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["iterations"][0]["not_by_the_agent"]["files"], 1);
    assert_eq!(history["iterations"][0]["names_not_by_the_agent"], serde_json::json!(["artefact"]));
    let shown = user.run(&["history", &id]).expect_code(0).out();
    assert!(shown.contains("after iteration 1: +1 -0 (1 file), not by the agent (artefact): loop history"), "{shown}");
    assert!(ran.err().contains("not by the agent: +1 -0 (1 file): artefact"), "{}", ran.text());
    let prompt = user.run(&["prompt", &id, "2"]).expect_code(0).out();
    let told = "1 file was changed by somebody else (a person, or the gate) since you ended: artefact.";
    assert!(prompt.contains(told), "{prompt}");
    assert_eq!(history["iterations"][1]["changes"]["files"], 2, "the log and the file, not what the gate wrote");
    user.run(&["rollback", &id, "1"]).expect_code(0);
    assert_eq!(user.read("work/artefact"), "built\n");
    user.run(&["rollback", &id, "1+"]).expect_code(0);
    assert_eq!(user.read("work/artefact"), "built\nbuilt\n");
}

#[test]
fn an_interrupted_attempt_goes_back_where_that_is_wanted_and_what_it_left_is_a_checkpoint() {
    let user = user();
    let agent = "echo $LOOP_ATTEMPT >> log; if [ $LOOP_ATTEMPT = 1 ]; then touch ../began; sleep 300; fi";
    let running = user.begin(&start(agent, "test \"$(cat log)\" = 2", &["--on-interrupt", "rollback"]));
    user.wait_for_file("began");
    let id = user.id();
    user.kill_all_of_ours(&id, running);
    user.run(&["resume", &id]).expect_code(0);
    assert_eq!(user.read("work/log"), "2\n");
    user.run(&["rollback", &id, "interrupted-1.1"]).expect_code(0);
    assert_eq!(user.read("work/log"), "1\n");
}

#[test]
fn a_completed_loop_that_was_rolled_back_can_be_gone_on_with() {
    let user = user();
    user.run(&start(AGENT, "test -e file-2", &[])).expect_code(0);
    let id = user.id();
    user.run(&["resume", &id]).expect_code(4);
    user.run(&["rollback", &id, "1"]).expect_code(0);
    let ran = user.run(&["resume", &id]).expect_code(1);
    assert!(ran.out().contains("10 iterations done"), "{}", ran.text());
    assert_eq!(user.read("work/log").lines().nth(1), Some("3"), "it went on from iteration 1's state");
}

#[test]
fn another_folder_at_the_place_of_the_workspace_is_not_touched() {
    let user = user();
    user.write("work/a", "1\n");
    user.run(&start("echo 2 > a", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    std::fs::rename(user.work(), user.root().join("gone")).unwrap();
    user.write("work/precious", "somebody's\n");
    for words in [&["rollback", &id, "initial"][..], &["resume", &id], &["checkpoint", &id, "x"]] {
        let ran = user.run(words).expect_code(4);
        assert!(ran.err().contains("is another folder than the one that the loop worked in"), "{}", ran.text());
    }
    assert_eq!(content(&user), [("precious".to_owned(), "somebody's\n".to_owned())]);
}

#[test]
fn after_a_rollback_within_an_iteration_its_changes_are_measured_from_there() {
    let user = user();
    let agent = "echo $(( $(cat c 2>/dev/null || echo 0) + 1 )) > c; touch ../at-$LOOP_ITERATION.$LOOP_ATTEMPT; \
                 while ! test -e ../go-$LOOP_ITERATION; do sleep 0.02; done";
    let running = user.begin(&start(agent, "test -e ../go-3", &["-n", "5"]));
    for number in ["1", "2"] {
        user.wait_for_file(&format!("at-{number}.1"));
        user.write(&format!("go-{number}"), "");
    }
    user.wait_for_file("at-3.1");
    let id = user.id();
    user.run(&["rollback", &id, "1", "--now"]).expect_code(0);
    user.wait_for_file("at-3.2");
    user.write("go-3", "");
    running.end().expect_code(0);
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["iterations"][2]["before"], "iter-001");
    assert_eq!(history["iterations"][2]["changes"]["files"], 1);
    assert!(user.run(&["history", &id, "--diff", "3"]).out().contains("-1\n+2\n"));
}

#[test]
fn a_rollback_that_was_cut_off_is_said_and_nobody_begins_in_its_midst() {
    let user = user();
    user.run(&start(AGENT, "test -e file-2", &[])).expect_code(0);
    let id = user.id();
    let before = content(&user);
    let log = user.root().join("calls");
    let options = ["-f", "-e", "trace=unlinkat", "-e", "inject=unlinkat:signal=KILL:when=1"];
    let mut command = loop_testkit::strace(&options, &log);
    command.arg(env!("CARGO_BIN_EXE_loop")).args(["rollback", &id, "initial"]);
    user.apply_env(&mut command);
    drop(loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end());
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains(&format!("loop rollback {id} undo")), "{status}");
    let ran = user.run(&start("true", "true", &[])).expect_code(4);
    assert!(ran.err().contains(&format!("a rollback of loop {id} is not done in this folder")), "{}", ran.text());
    user.run(&["rm", &id]).expect_code(4);
    user.run(&["config", "set", "checkpoint_retention", "1ms"]).expect_code(0);
    user.run(&["config", "set", "checkpoint_retention_main", "1ms"]).expect_code(0);
    user.run(&["checkpoint", "gc"]).expect_code(0);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(content(&user), before);
    user.run(&["config", "set", "checkpoint_retention"]).expect_code(0);
    user.run(&["config", "set", "checkpoint_retention_main"]).expect_code(0);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(content(&user), before, "an undo can be undone, here too");
    user.run(&start("true", "true", &[])).expect_code(0);
}

#[test]
fn a_verified_loop_that_was_resumed_in_vain_says_how_it_becomes_verified_again() {
    let user = user();
    user.run(&start(AGENT, "test -e file-2", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "1"]).expect_code(0);
    user.run(&["resume", &id, "-n", "3", "--agent-cmd", "true"]).expect_code(1);
    let line =
        format!("it was verified on iter-002 before its resume: loop rollback {id} iter-002 && loop resume {id}");
    for verb in ["verify", "proof"] {
        let ran = user.run(&[verb, &id]).expect_code(4);
        assert!(ran.err().contains(&line), "{}", ran.text());
    }
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains("on iter-002, before it was resumed; back to it: loop rollback"), "{status}");
    user.run(&["rollback", &id, "iter-002"]).expect_code(0);
    user.run(&["resume", &id]).expect_code(0);
    user.run(&["proof", &id, "--trailer"]).expect_code(0);
}

#[test]
fn a_verified_loop_whose_rollback_was_undone_is_at_its_end_again() {
    let user = user();
    user.run(&start(AGENT, "test -e file-2", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(!status.contains("loop resume") && status.contains(&format!("loop verify {id}")), "{status}");
    user.run(&["resume", &id]).expect_code(4);
}

#[test]
fn a_newer_request_for_a_rollback_replaces_one_that_has_not_begun() {
    let user = user();
    let running = user.begin(&start(TURN, "test -e ../go-2", &["-n", "5"]));
    user.wait_for_file("at-1.1");
    let id = user.id();
    user.write("go-1", "");
    user.wait_for_file("at-2.1");
    user.run(&["rollback", &id, "1"]).expect_code(0);
    user.run(&["rollback", &id, "initial", "--now"]).expect_code(0);
    user.wait_for_file("at-2.2");
    assert_eq!(user.read("work/log"), "2\n", "what iteration 1 did is gone");
    user.write("go-2", "");
    running.end().expect_code(0);
}

#[test]
fn a_rollback_says_that_the_work_of_a_later_loop_in_a_folder_below_goes_too() {
    let user = user();
    user.run(&start("touch a", "test -e a", &["--strength", "off"])).expect_code(0);
    let id = user.id();
    std::fs::create_dir(user.work().join("sub")).unwrap();
    let words = start("touch s", "test -e s", &["--strength", "off"]);
    let out = user.command(&words).current_dir(user.work().join("sub")).output().unwrap();
    assert_eq!(out.status.code(), Some(0), "{}", String::from_utf8_lossy(&out.stderr));
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(ran.err().contains("worked in this folder later: what it changed goes, too"), "{}", ran.text());
}
