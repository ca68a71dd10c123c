//! Looking back: status, list, history, rm, prune.
use std::process::Stdio;

use loop_testkit::{Running, TestEnv};

use crate::{start, user};

#[test]
fn status_shows_what_runs_with_the_columns_of_its_table() {
    // req: D-04
    let user = user();
    let running = user.begin(&start("touch began; while [ ! -e go ]; do sleep 0.02; done", "test -e go", &["-n", "5"]));
    user.wait_for_file("work/began");
    let ran = user.run(&["status"]).expect_code(0);
    let text = ran.same_everywhere(&ran.out());
    assert!(
        text.starts_with(
            "LOOP-ID  STATUS   ITER  PROMISE     AGENT   ELAPSED\n$ID  running  1/5   test -e go  custom  "
        ),
        "{text}"
    );
    let detail = user.run(&["status", &user.id()[..5]]).expect_code(0).out();
    for word in ["task       do it", "workspace  ", "gate       fail (exit 1)", "files      "] {
        assert!(detail.contains(word), "{word}: {detail}");
    }
    let alone = user.run::<&str>(&[]).expect_code(0).out();
    assert!(alone.contains("running") && alone.contains(&format!("loop status {} --watch", user.id())), "{alone}");
    user.write("work/go", "");
    running.end().expect_code(0);
    assert!(user.run(&["status"]).out().contains("completed"), "ended in the last hour");
    user.run(&["status", "--watch"]).expect_code(4);
}

#[test]
fn status_shows_the_newest_twenty_of_those_that_ended_and_counts_the_others() {
    let user = user();
    for _ in 0..22 {
        user.run(&start("true", "true", &["--quiet"])).expect_code(0);
    }
    let screen = user.run(&["status"]).expect_code(0).out();
    let rows = screen.lines().filter(|line| line.contains("completed")).count();
    assert_eq!(
        (rows, screen.lines().last()),
        (20, Some("and 2 more that ended in the last hour: loop list")),
        "{screen}"
    );
    let all: serde_json::Value = serde_json::from_str(&user.run(&["status", "--json"]).expect_code(0).out()).unwrap();
    assert_eq!(all["loops"].as_array().or(all.as_array()).map(Vec::len), Some(22), "{all}");
}

#[test]
fn a_watched_status_draws_itself_anew_until_ctrl_c_and_then_ends_well() {
    // req: D-04
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let line = format!("timeout --preserve-status -s INT 3.5 {} status --watch", env!("CARGO_BIN_EXE_loop"));
    let (ran, screen) = user.on_a_terminal(&line);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    assert!(screen.matches("LOOP-ID").count() >= 2 && screen.contains("completed"), "{screen:?}");
}

/// Begins a loop in a folder of its own that works until there is a file `go` in it.
fn long_loop(user: &TestEnv, folder: &str) -> Running {
    std::fs::create_dir(user.root().join(folder)).unwrap();
    let words = start("touch began; while [ ! -e go ]; do sleep 0.02; done", "test -e go", &["-n", "5"]);
    let child = user.command(&words).current_dir(user.root().join(folder)).spawn().unwrap();
    user.wait_for_file(&format!("{folder}/began"));
    Running::of(child, user.root())
}

/// A watched status on a terminal of a size.
fn watched(user: &TestEnv, size: &str, id: &str) -> Running {
    let line = format!("stty {size}; exec {} status {id} --watch", env!("CARGO_BIN_EXE_loop"));
    user.begin_on_a_terminal(&line, Stdio::piped())
}

#[test]
fn a_watched_status_is_a_second_screen_cut_to_the_terminal_with_running_loops_first_until_q() {
    // req: D-04
    let user = user();
    let older = long_loop(&user, "older");
    let newer = long_loop(&user, "newer");
    for _ in 0..2 {
        user.run(&start("true", "true", &[])).expect_code(0);
    }
    let mut watch = watched(&user, "rows 6 cols 40", "");
    user.wait_for_screen("q leaves", 2);
    watch.type_in(b"q");
    watch.end().expect_code(0);
    let screen = user.screen();
    let (_, drawn) = screen.split_once("\u{1b}[?1049h").unwrap();
    let (drawn, after) = drawn.split_once("\u{1b}[?1049l").unwrap();
    let running: Vec<&str> = after.lines().filter(|line| line.contains(" runni")).collect();
    assert!(running.len() == 2 && after.matches(" compl").count() == 2, "all of it on the first screen: {after:?}");
    let frames: Vec<Vec<&str>> = drawn.split("\u{1b}[H").skip(1).map(|frame| frame.lines().collect()).collect();
    assert!(frames.len() >= 2, "{frames:?}");
    for frame in &frames {
        let seen: Vec<String> = frame
            .iter()
            .map(|line| line.trim_end_matches('\r').replace("\u{1b}[K", "").replace("\u{1b}[J", ""))
            .collect();
        assert!(seen.len() == 6 && seen.iter().all(|line| line.chars().count() <= 40), "{seen:?}");
        let ids: Vec<&str> = seen[1..3].iter().filter_map(|line| line.split(' ').next()).collect();
        let both: Vec<&str> = running.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(ids, both, "those that run, each in its place: {seen:?}");
        assert!(seen[0].starts_with("LOOP-ID") && seen[3] == "… 2 more lines", "{seen:?}");
    }
    for (folder, running) in [("older", older), ("newer", newer)] {
        user.write(&format!("{folder}/go"), "");
        running.end().expect_code(0);
    }
}

#[test]
fn a_watched_status_of_one_loop_ends_with_that_loop() {
    // req: D-04
    let user = user();
    let running = long_loop(&user, "long");
    let watch = watched(&user, "rows 24 cols 80", &user.id());
    user.wait_for_screen(" running ", 1);
    user.write("long/go", "");
    running.end().expect_code(0);
    watch.end().expect_code(0);
    let screen = user.screen();
    let (_, after) = screen.split_once("\u{1b}[?1049l").unwrap();
    assert!(after.contains(" completed ") && !after.contains(" running "), "its end stays on the screen: {after:?}");
}

#[test]
fn loop_alone_says_what_to_type_next() {
    let user = user();
    let empty = user.run::<&str>(&[]).expect_code(0).out();
    assert!(empty.contains("loop demo") && empty.contains("loop start"), "{empty}");
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let failed = user.run::<&str>(&[]).expect_code(0).out();
    assert!(failed.contains(&format!("loop resume {} -n +5", user.id())), "{failed}");
}

#[test]
fn list_filters_by_status_agent_time_and_number_newest_first() {
    // req: D-10
    let user = user();
    let mut ids = Vec::new();
    for promise in ["true", "false", "exit 127"] {
        let _any = user.run(&start("true", promise, &["-n", "3"]));
        let new = user.ids().into_iter().find(|id| !ids.contains(id)).unwrap();
        ids.push(new);
    }
    let list = |words: &[&str]| -> Vec<String> {
        let mut all = vec!["list", "--json"];
        all.extend(words);
        let json = user.run(&all).expect_code(0).json();
        json["loops"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
    };
    let newest_first: Vec<String> = ids.iter().rev().cloned().collect();
    assert_eq!(list(&[]), newest_first);
    assert_eq!(list(&["--status", "completed"]), [ids[0].clone()]);
    assert_eq!(list(&["--status", "failed"]), [ids[2].clone(), ids[1].clone()], "failed and crashed");
    assert_eq!(list(&["--status", "crashed"]), [ids[2].clone()]);
    assert_eq!(list(&["--limit", "2"]), newest_first[..2]);
    assert_eq!(list(&["--agent", "claude"]), Vec::<String>::new());
    assert_eq!(list(&["--since", "2h"]).len(), 3);
    assert_eq!(list(&["--since", "2020-01-01"]).len(), 3);
    assert_eq!(list(&["--since", "2099-01-01T00:00:00Z"]).len(), 0);
    for words in [["--since", "yesterday"], ["--status", "runing"]] {
        let ran = user.run(&["list", words[0], words[1]]).expect_code(4);
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    }
    assert!(user.run(&["list"]).out().lines().count() == 4);
}

#[test]
fn a_list_is_right_whatever_becomes_of_the_index() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let before = user.run(&["list", "--json"]).expect_code(0).out();
    let index = user.state().join("index.db");
    assert!(index.exists());
    assert_eq!(user.run(&["list", "--json"]).out(), before, "from the index");
    std::fs::write(&index, "this is no database at all, but it is long enough to be looked at as one").unwrap();
    assert_eq!(user.run(&["list", "--json"]).out(), before, "created again");
    std::fs::remove_file(&index).unwrap();
    std::fs::create_dir(&index).unwrap();
    assert_eq!(user.run(&["list", "--json"]).out(), before, "done without");
}

/// Makes a run two hours older than it is.
fn age(user: &TestEnv, id: &str) {
    let journal = user.run_folder(id).join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let mut pieces = text.split("\"wall\":");
    let mut aged = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let (wall, rest) = piece.split_once(',').unwrap();
        aged.push_str(&format!("\"wall\":{},{rest}", wall.parse::<u64>().unwrap() - 2 * 3600 * 1000));
    }
    let aged = crate::rechained(&aged);
    std::fs::write(&journal, &aged).unwrap();
    // It says how the journal ended, which is another one now.
    let last: serde_json::Value = serde_json::from_str(aged.lines().last().unwrap()).unwrap();
    let head = serde_json::json!({"seq": last["seq"], "chain": last["chain"]});
    std::fs::write(journal.with_file_name("journal.head"), head.to_string()).unwrap();
    // As long as before, so that the index would believe what it knows.
    std::fs::remove_file(user.state().join("index.db")).unwrap();
}

#[test]
fn what_ended_long_ago_is_in_the_list_but_not_in_the_status_unless_it_waits_for_a_person() {
    // req: D-04
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let old = user.id();
    age(&user, &old);
    for way in ["from the journal", "from the index"] {
        let ran = user.run(&["status"]).expect_code(0);
        assert!(ran.out().starts_with("nothing runs, and nothing ended in the last hour"), "{way}: {}", ran.text());
        assert!(user.run::<&str>(&[]).expect_code(0).out().contains("all loops: loop list"), "{way}");
        assert!(user.run(&["list"]).out().contains(&old), "{way}");
    }
    let running = user.begin(&start("touch began; while [ ! -e go ]; do sleep 0.02; done", "false", &[]));
    user.wait_for_file("work/began");
    running.signal("TERM");
    running.end().expect_code(2);
    let stopped = user.ids().into_iter().find(|id| *id != old).unwrap();
    age(&user, &stopped);
    for way in ["from the journal", "from the index"] {
        let out = user.run(&["status"]).expect_code(0).out();
        assert!(out.contains(&stopped) && !out.contains(&old), "{way}: {out}");
    }
    user.run(&["rm", &old]).expect_code(0);
    assert!(!user.run(&["list"]).out().contains(&old));
}

#[test]
fn history_shows_each_iteration_and_verbose_what_was_said() {
    // req: D-09
    let user = user();
    let agent = "echo \"I am in $LOOP_ITERATION\"; printf '\\033]0;evil\\007\\033[31mred'; echo warn >&2";
    user.run(&start(agent, "test -e x", &["-n", "2"])).expect_code(1);
    let id = user.id();
    let ran = user.run(&["history", &id]).expect_code(0);
    let text = ran.same_everywhere(&ran.out());
    assert!(
        text.contains("before iteration 1: FAIL\nITER  CHECKPOINT  PROMISE  DURATION  CHANGES          OUTCOME\n"),
        "{text}"
    );
    assert!(text.contains("\n2     iter-002    FAIL     "), "{text}");
    let said = user.run(&["history", &id, "-v"]).expect_code(0).out();
    for word in ["iteration 2, attempt 1", "prompt:\n", "I am in 2", "stderr:\n  warn", "red"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    assert!(!said.contains('\u{1b}') && !said.contains("evil"), "{said}");
}

#[test]
fn records_can_be_removed_one_by_one_or_by_age() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let ran = user.run(&["prune", "--older-than", "1ms", "--dry-run"]).expect_code(0);
    assert!(ran.out().contains("\n1 loop, would free "), "{}", ran.text());
    assert_eq!(user.ids().len(), 2);
    assert!(user.run(&["prune"]).expect_code(0).out().starts_with("0 loops"), "younger than 30 days");
    user.run(&["prune", "--older-than", "1ms"]).expect_code(0);
    assert_eq!(user.ids().len(), 1, "one that could be gone on with stays");
    user.run(&["rm", &user.id(), "zzz"]).expect_code(4);
    assert_eq!(user.ids().len(), 1, "a mistyped id removes nothing");
    let id = user.id();
    assert_eq!(user.run(&["rm", &id]).expect_code(0).out(), format!("removed {id}\n"));
    assert!(user.ids().is_empty() && user.run(&["list"]).out().starts_with("no loops"));
    let index = std::fs::read(user.state().join("index.db")).unwrap();
    assert!(!index.windows(5).any(|piece| piece == b"do it"), "no word of it is left");
    user.run(&["prune", "--older-than", "soon"]).expect_code(4);
}

#[test]
fn an_unreadable_run_hides_no_other_and_the_doctor_names_it() {
    let user = user();
    user.run(&start("true", "true", &[])).expect_code(0);
    let first = user.id();
    user.run(&start("true", "true", &[])).expect_code(0);
    std::fs::write(user.run_folder(&first).join("journal.jsonl"), "garbage\n").unwrap();
    let ran = user.run(&["list", "--json"]).expect_code(0);
    assert_eq!(ran.json()["loops"].as_array().unwrap().len(), 1);
    assert!(ran.err().contains("1 loop cannot be read"), "{}", ran.text());
    let ran = user.run(&["doctor"]).expect_code(4);
    assert!(ran.out().contains(&format!("cannot be read: {first}")), "{}", ran.text());
    user.run(&["rm", &first]).expect_code(0);
    user.run(&["doctor"]).expect_code(0);
}
