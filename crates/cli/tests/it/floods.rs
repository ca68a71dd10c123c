//! Agents and promises that write without end: bounded memory, bounded files, the right decision.
//!
//! `FLOOD=all` writes 5 GiB of each shape; else a little of it.
use std::path::Path;

use loop_testkit::{Memory, flood_program, wait_until};

use crate::{start, user};

/// What all our processes together may need beside the program's own file, with the one that judges a clean copy. About
/// 17 MiB were measured.
const MEMORY_KIB_MAX: u64 = 26 * 1024;
/// The same with a watcher, which is one process more until the loop has ended.
const WATCHED_KIB_MAX: u64 = MEMORY_KIB_MAX + 6 * 1024;
/// What is kept of one stream.
const STREAM_BYTES_MAX: u64 = 32 * 1024 * 1024;
const GAP: &str = "[output skipped: more came than is stored]";

fn flood_bytes() -> u64 {
    if std::env::var_os("FLOOD").is_some_and(|value| value == "all") { 5 << 30 } else { 64 << 20 }
}

/// A shell line that floods.
fn flood(shape: &str) -> String {
    format!("{} {shape} {}", flood_program().display(), flood_bytes())
}

fn bytes_in(folder: &Path) -> u64 {
    std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum()
}

#[test]
fn an_agent_may_write_any_amount_of_any_shape_and_is_judged_by_the_promise() {
    for shape in ["one-line", "no-newline", "short-lines", "empty-lines", "nuls", "not-utf8", "escapes"] {
        let user = user();
        let memory = Memory::watch(env!("CARGO_BIN_EXE_loop"), user.root());
        let agent = format!("{}; test $LOOP_ITERATION = 1 || touch done", flood(shape));
        let ran = user.run(&start(&agent, "test -e done", &["--timeout", "10m"])).expect_code(0);
        let peak = memory.peak_kib();
        assert!((1024..=MEMORY_KIB_MAX).contains(&peak), "{shape}: {peak} KiB");
        assert!(ran.out().contains("after 2 iterations"), "{shape}: {}", ran.text());
        assert!(!ran.err().contains("the oldest are removed"), "only what is kept counts: {}", ran.text());
        for iteration in ["000001", "000002"] {
            let stream = user.run_folder(&user.id()).join(format!("iterations/{iteration}/attempt-1/stdout"));
            let kept = bytes_in(&stream);
            assert!((STREAM_BYTES_MAX * 7 / 8..=STREAM_BYTES_MAX).contains(&kept), "{shape}: {kept} bytes");
        }
        let journal = user.read(&format!("home/.local/state/loop/runs/{}/journal.jsonl", user.id()));
        let told = flood_bytes() + u64::from(shape == "one-line");
        assert_eq!(journal.matches(&format!("\"stdout_bytes\":{told},")).count(), 2, "{shape}: every byte was counted");
    }
}

#[test]
fn a_promise_that_floods_both_streams_is_judged_by_its_end() {
    let user = user();
    let memory = Memory::watch(env!("CARGO_BIN_EXE_loop"), user.root());
    let promise = format!("{} & {} >&2; wait; test -e done", flood("escapes"), flood("not-utf8"));
    let ran = user.run(&start("touch done", &promise, &["-n", "3"])).expect_code(0);
    let peak = memory.peak_kib();
    assert!((1024..=MEMORY_KIB_MAX).contains(&peak), "{peak} KiB");
    assert!(ran.out().contains("after 1 iteration"), "{}", ran.text());
}

#[test]
fn a_follower_of_a_flood_sees_the_beginning_the_gap_and_the_end() {
    let user = user();
    let agent = format!(
        "echo the first line; {}; echo; echo the last line; touch at; while [ ! -e go ]; do sleep 0.02; done",
        flood("short-lines")
    );
    let memory = Memory::watch(env!("CARGO_BIN_EXE_loop"), user.root());
    let running = user.begin(&start(&agent, "test -e go", &["--timeout", "10m"]));
    user.wait_for_file_long("work/at");
    let stream = user.run_folder(&user.id()).join("iterations/000001/attempt-1/stdout");
    wait_until("the end is kept", || loop_host::process::tail_of(&stream, 14).ends_with(b"last line\n"));
    let watcher = user.begin(&["watch", &user.id(), "--follow"]);
    let seen = std::thread::scope(|scope| {
        let seen = scope.spawn(|| watcher.end().expect_code(0).out());
        user.write("work/go", "");
        running.end().expect_code(0);
        seen.join().unwrap()
    });
    let peak = memory.peak_kib();
    assert!((1024..=WATCHED_KIB_MAX).contains(&peak), "with the watcher: {peak} KiB");
    let places = ["the first line\nx\n", GAP, "the last line\n", "promise: pass"].map(|words| seen.find(words));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?} of {}", seen.len());
    assert_eq!((seen.matches(GAP).count(), seen.contains("not read in time")), (1, false));
}

#[test]
fn a_watcher_leaves_a_flood_when_it_is_asked_to() {
    let user = user();
    let agent = format!("while [ ! -e go ]; do {}; touch at; done", flood("short-lines"));
    let running = user.begin(&start(&agent, "test -e go", &["--timeout", "10m"]));
    user.wait_for_file_long("work/at");
    let watcher = user.begin(&["watch", &user.id(), "--follow"]);
    let pid = watcher.pid().to_string();
    let seen = std::thread::scope(|scope| {
        let seen = scope.spawn(|| watcher.end().expect_code(0).out());
        let reads = format!("/proc/{pid}/io");
        wait_until("it shows something", || {
            let io = std::fs::read_to_string(&reads).unwrap_or_default();
            io.lines().any(|line| line.strip_prefix("wchar: ").is_some_and(|count| count.len() > 7))
        });
        std::process::Command::new("kill").args(["-s", "INT", &pid]).status().unwrap();
        seen.join().unwrap()
    });
    assert!(seen.contains("x\nx\n") && !seen.contains("promise: pass"), "{} bytes", seen.len());
    let short = user.run(&["watch", &user.id()]).expect_code(0);
    assert!(!short.stdout.is_empty(), "without --follow it ends by itself");
    user.write("work/go", "");
    running.end().expect_code(0);
}
