//! Commands without an id: they take a loop of this folder, and say which.
use std::path::Path;
use std::process::Command;

use loop_testkit::{Ran, Running, TestEnv};

use crate::{start, user};

const ADDS: &str = "echo x >> log";

/// A loop of three iterations that ends without its promise; its id.
fn three() -> (TestEnv, String) {
    let user = user();
    user.run(&start(ADDS, "test -e done.txt", &["-n", "3"])).expect_code(1);
    let id = user.id();
    (user, id)
}

/// Runs a command in another folder than the workspace.
fn run_in(user: &TestEnv, folder: &str, words: &[&str]) -> (i32, String, String) {
    let place = user.root().join(folder);
    std::fs::create_dir_all(&place).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_loop"));
    user.apply_env(&mut command);
    let out = command.args(words).current_dir(place).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (out.status.code().unwrap(), text(&out.stdout), text(&out.stderr))
}

/// Another id of the folder than this one.
fn other(user: &TestEnv, id: &str) -> String {
    user.ids().into_iter().find(|other| other != id).unwrap()
}

fn says(ran: &Ran, words: &str) {
    assert!(format!("{}{}", ran.out(), ran.err()).contains(words), "{words}: {}", ran.text());
}

#[test]
fn commands_that_look_at_a_loop_take_the_newest_one_of_this_folder() {
    let (user, older) = three();
    user.run(&start("touch done.txt", "test -e done.txt", &["--strength", "off"])).expect_code(0);
    let id = other(&user, &older);
    for words in [&["history"][..], &["diff"], &["watch"], &["checkpoint", "list"], &["verify"], &["proof"]] {
        let ran = user.run(words).expect_code(0);
        says(&ran, &format!("taking loop {id} of this folder (completed"));
        let named = user.run(&[words, &[id.as_str()]].concat()).expect_code(0);
        assert!(words == ["verify"] || ran.out() == named.out(), "{words:?}: {}", ran.text());
    }
    for words in [["status", "@"], ["status", "last"], ["report", "@"], ["history", "last"]] {
        says(&user.run(&words).expect_code(0), &id);
    }
}

#[test]
fn json_without_an_id_is_json_and_nothing_else() {
    let (user, id) = three();
    for words in [&["history", "--json"][..], &["diff", "--json"], &["checkpoint", "list", "--json"]] {
        assert_eq!(user.run(words).expect_code(0).json()["id"], id.as_str(), "{words:?}");
    }
}

#[test]
fn a_checkpoint_alone_is_one_of_the_newest_loop_and_the_answer_says_of_which() {
    let (user, id) = three();
    let ran = user.run(&["rollback", "1"]).expect_code(0);
    says(&ran, &format!("taking loop {id} of this folder"));
    says(&ran, &format!("loop rollback {id} undo"));
    assert_eq!(user.read("work/log"), "x\n");
    user.run(&["rollback", "undo"]).expect_code(0);
    assert_eq!(user.read("work/log"), "x\nx\nx\n");
    user.run(&["rollback", "@", "2", "--", "log"]).expect_code(0);
    assert_eq!(user.read("work/log"), "x\nx\n");
    user.run(&["rollback", "initial", "--", "log"]).expect_code(0);
    assert!(!user.work().join("log").exists());
}

#[test]
fn a_word_that_is_a_checkpoint_and_the_beginning_of_an_id_is_refused() {
    let (user, id) = three();
    let word = &id[..5];
    user.run(&["checkpoint", &id, word]).expect_code(0);
    let ran = user.run(&["rollback", word]).expect_code(4);
    says(&ran, "loop does not guess which one is meant");
    says(&ran, &format!("hint: the checkpoint: loop rollback @ {word}"));
    user.run(&["rollback", "@", word]).expect_code(0);
    let ran = user.run(&["checkpoint", "rm", word]).expect_code(4);
    says(&ran, &format!("loop checkpoint rm @ {word}"));
}

#[test]
fn an_id_without_a_checkpoint_is_not_taken_for_a_checkpoint() {
    let (user, id) = three();
    for word in [id.as_str(), &id[..4], "@"] {
        let ran = user.run(&["rollback", word]).expect_code(4);
        says(&ran, "the checkpoint is missing");
    }
    says(&user.run(&["rollback"]).expect_code(4), "the checkpoint is missing");
    assert_eq!(user.read("work/log"), "x\nx\nx\n");
}

#[test]
fn an_iteration_that_is_the_beginning_of_an_id_is_refused_by_diff() {
    let (user, id) = three();
    // Ids are random: this one is made to begin with the number of an iteration.
    let runs = user.state().join("runs");
    std::fs::rename(runs.join(&id), runs.join("2zzzzz7")).unwrap();
    user.run(&start(ADDS, "test -e done.txt", &["-n", "3"])).expect_code(1);
    let ran = user.run(&["diff", "2"]).expect_code(4);
    says(&ran, "hint: the iteration: loop diff @ 2");
    says(&ran, "hint: the loop: loop diff 2zzzzz7");
    says(&user.run(&["diff", "@", "2"]).expect_code(0), "+x");
    says(&user.run(&["diff", "1..3"]).expect_code(0), "+x");
}

#[test]
fn a_checkpoint_is_taken_and_removed_by_its_name_alone() {
    let (user, id) = three();
    says(&user.run(&["checkpoint", "before-refactor"]).expect_code(0), &format!("loop rollback {id} before-refactor"));
    says(&user.run(&["checkpoint"]).expect_code(0), "checkpoint taken: manual-");
    let ran = user.run(&["checkpoint", "rm", "before-refactor"]).expect_code(0);
    says(&ran, &format!("taking loop {id}"));
    says(&ran, "removed before-refactor");
}

/// A loop that waits in its first iteration.
fn waiting() -> (TestEnv, Running, String) {
    let user = user();
    let waits = "touch began; while [ ! -e go ]; do sleep 0.02; done; cat";
    let running = user.begin(&start(waits, "false", &["-n", "2"]));
    user.wait_for_file("work/began");
    let id = user.id();
    (user, running, id)
}

#[test]
fn steering_without_an_id_takes_the_loop_that_runs_in_this_folder() {
    let (user, running, id) = waiting();
    says(&user.run(&["inject", "look at a.txt"]).expect_code(0), &format!("loop {id}: the next prompt will have this"));
    says(&user.run(&["set", "max_iterations=3"]).expect_code(0), &format!("loop {id}: max_iterations = 3"));
    says(&user.run(&["pause"]).expect_code(0), &format!("loop {id}: pauses after this iteration"));
    let (code, out, _) = run_in(&user, "work/src/deep", &["stop"]);
    assert!(code == 0 && out.contains(&format!("loop {id}: stops after")), "{out}");
    let ran = user.run(&["cancel", "--wait"]).expect_code(0);
    says(&ran, &format!("taking loop {id} of this folder"));
    says(&ran, &format!("loop {id}: cancelled"));
    drop(running.end());
    for verb in ["pause", "stop", "cancel"] {
        let ran = user.run(&[verb]).expect_code(4);
        says(&ran, "no loop runs in this folder");
        says(&ran, &format!("its newest one is {id} (cancelled)"));
    }
}

#[test]
fn a_text_that_may_be_an_id_is_not_sent_to_the_agent() {
    let (user, id) = three();
    for words in [&["inject"][..], &["inject", &id], &["inject", &id[..3]], &["inject", "@"]] {
        says(&user.run(words).expect_code(4), "the text is missing");
    }
    user.run(&["inject", "@", &id]).expect_code(0);
}

#[test]
fn resume_without_an_id_takes_the_newest_loop_that_can_be_resumed() {
    let (user, id) = three();
    let ran = user.run(&["resume", "-n", "+1"]).expect_code(1);
    says(&ran, &format!("taking loop {id} of this folder"));
    assert_eq!(user.read("work/log"), "x\nx\nx\nx\n");
}

#[test]
fn a_loop_that_a_newer_one_has_finished_is_resumed_only_by_its_id() {
    let (user, older) = three();
    user.run(&start("touch done.txt", "test -e done.txt", &["--strength", "off"])).expect_code(0);
    let ran = user.run(&["resume"]).expect_code(4);
    says(&ran, "the newest loop of this folder is done");
    says(&ran, &format!("hint: an older one can be resumed: loop resume {older} -n +5\n"));
    let ran = user.run(&["resume", "-n", "+1"]).expect_code(4);
    says(&ran, &format!("hint: an older one can be resumed: loop resume {older} -n +1\n"));
    let ran = user.run(&["inject", "which one?"]).expect_code(4);
    says(&ran, &format!("hint: an older one can be resumed: loop inject {older} 'which one?'\n"));
}

#[test]
fn a_loop_that_was_resumed_after_a_newer_one_is_the_newest() {
    let (user, older) = three();
    user.run(&start(ADDS, "test -e done.txt", &["-n", "1"])).expect_code(1);
    user.run(&["resume", &older, "-n", "+1"]).expect_code(1);
    says(&user.run(&["history"]).expect_code(0), &format!("taking loop {older} of this folder"));
    says(&user.run(&["resume", "-n", "+1"]).expect_code(1), &format!("taking loop {older} of this folder"));
    // What it finished is not resumed by the other one without its id.
    user.run(&["resume", &older, "-n", "+1", "--agent-cmd", "touch done.txt", "--strength", "off"]).expect_code(0);
    let refused = user.run(&["resume", "-n", "+1"]).expect_code(4);
    says(&refused, "the newest loop of this folder is done");
    says(&refused, &format!("loop resume {} -n +1", other(&user, &older)));
}

#[test]
fn a_folder_without_loops_says_where_it_looked() {
    let (user, _) = three();
    for words in [&["history"][..], &["resume"], &["rollback", "iter-001"], &["pause"], &["accept"], &["verify"]] {
        let (code, _, err) = run_in(&user, "elsewhere", words);
        assert!(code == 4 && err.contains("error: no loop has run in this folder"), "{words:?}: {err}");
        assert!(err.contains("/elsewhere or a folder above it") && err.contains("hint: all loops: loop list"), "{err}");
    }
}

#[test]
fn the_nearest_folder_above_that_has_loops_counts() {
    let (user, above) = three();
    let (_, _, err) = run_in(&user, "work/src", &["history"]);
    assert!(err.contains(&format!("taking loop {above} of /")), "{err}");
    let (code, _, err) = run_in(&user, "work/src", &start("touch b", "test -e b", &[]));
    assert_eq!(code, 0, "{err}");
    let below = other(&user, &above);
    user.run(&["resume", &above, "-n", "+1"]).expect_code(1);
    let (_, _, err) = run_in(&user, "work/src", &["history"]);
    assert!(err.contains(&format!("taking loop {below} of this folder")), "{err}");
    says(&user.run(&["history"]).expect_code(0), &format!("taking loop {above}"));
}

#[test]
fn a_folder_that_is_reached_by_a_link_is_the_same_folder() {
    let (user, id) = three();
    std::os::unix::fs::symlink(user.work(), user.root().join("link")).unwrap();
    let (code, _, err) = run_in(&user, "link", &["history"]);
    assert!(code == 0 && err.contains(&format!("taking loop {id} of this folder")), "{err}");
}

#[test]
fn records_are_removed_only_by_ids() {
    let (user, id) = three();
    for words in [&["rm"][..], &["rm", "@"], &["rm", "last"]] {
        user.run(words).expect_code(4);
    }
    assert!(Path::new(&user.run_folder(&id)).exists());
}
