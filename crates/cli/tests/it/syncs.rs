//! What must be safe on disk before something follows from it, read off the calls that the program makes.
use loop_testkit::{Call, Running, TestEnv, strace};

use crate::{start, user};

const CALLS: &str = "trace=write,fdatasync,fsync,rename,renameat2,vfork,clone,clone3,ftruncate";

/// The calls of one whole run of two iterations, with paths.
fn calls(user: &TestEnv) -> Vec<Call> {
    let log = user.root().join("calls");
    let mut command = strace(&["-y", "-s", "4000", "-e", CALLS], &log);
    command.arg(env!("CARGO_BIN_EXE_loop")).args(start(
        "echo x >> log",
        "test $(wc -l < log) = 2",
        &["--json", "--judge", "workspace"],
    ));
    user.apply_env(&mut command);
    let ran = Running::of(command.spawn().unwrap(), user.root()).end();
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    Call::read(&log)
}

fn is_spawn(call: &Call) -> bool {
    ["vfork", "clone", "clone3"].contains(&call.name.as_str())
}

fn is_journal(call: &Call) -> bool {
    call.text.contains("/journal.jsonl>")
}

fn is_shown(call: &Call) -> bool {
    call.name == "write" && (call.text.starts_with("1<") || call.text.starts_with("2<"))
}

/// After each call that `begins`, one that `makes_safe` must come before any that `follows`.
fn safe_before(
    calls: &[Call],
    begins: impl Fn(&Call) -> bool,
    makes_safe: impl Fn(&Call) -> bool,
    follows: impl Fn(&Call) -> bool,
) -> u32 {
    let mut count = 0;
    for (at, call) in calls.iter().enumerate().filter(|(_, call)| begins(call)) {
        let after = &calls[at + 1..];
        let safe = after.iter().position(&makes_safe).unwrap_or(usize::MAX);
        let next = after.iter().position(&follows).unwrap_or(usize::MAX);
        assert!(safe < next, "{call:?}\nis followed by\n{:?}\nbefore it is safe", after.get(next));
        count += 1;
    }
    count
}

fn sync_of_journal(call: &Call) -> bool {
    call.name == "fdatasync" && is_journal(call)
}

#[test]
fn an_order_that_starts_an_agent_is_safe_before_the_agent_starts() {
    let calls = calls(&user());
    let ordered = |call: &Call| call.name == "write" && is_journal(call) && call.text.contains("run_agent");
    assert_eq!(safe_before(&calls, ordered, sync_of_journal, is_spawn), 2);
}

#[test]
fn the_end_of_an_agent_is_safe_before_anybody_hears_of_it() {
    let calls = calls(&user());
    let ended = |call: &Call| call.name == "write" && is_journal(call) && call.text.contains("agent_ended");
    assert_eq!(safe_before(&calls, ended, sync_of_journal, |call| is_shown(call) || is_spawn(call)), 2);
}

#[test]
fn an_outcome_is_safe_before_anybody_hears_of_it() {
    let calls = calls(&user());
    let concluded = |call: &Call| call.name == "write" && is_journal(call) && call.text.contains("concluded");
    assert_eq!(safe_before(&calls, concluded, sync_of_journal, is_shown), 1);
}

#[test]
fn a_new_run_is_safe_with_its_name_before_anybody_hears_of_it() {
    let calls = calls(&user());
    let created = |call: &Call| call.name == "write" && is_journal(call) && call.text.contains("created");
    let renamed = |call: &Call| call.name.starts_with("rename") && call.text.contains("/runs/.new-");
    assert_eq!(safe_before(&calls, created, sync_of_journal, renamed), 1, "the journal before the rename");
    let folder = |call: &Call| call.name == "fsync" && call.text.contains("/runs/.new-");
    assert_eq!(safe_before(&calls, created, folder, renamed), 1, "the entries of the folder before the rename");
    let runs = |call: &Call| call.name == "fsync" && call.text.contains("/runs>");
    assert_eq!(safe_before(&calls, renamed, runs, |call| is_shown(call) || is_spawn(call)), 1, "the rename itself");
}

#[test]
fn a_request_of_a_person_is_safe_before_it_is_acknowledged() {
    let user = user();
    let log = user.root().join("calls");
    let mut command = strace(&["-y", "-s", "4000", "-e", CALLS], &log);
    let agent = "touch began; while [ ! -e go ]; do sleep 0.02; done";
    command.arg(env!("CARGO_BIN_EXE_loop")).args(start(agent, "false", &[]));
    user.apply_env(&mut command);
    let running = Running::of(command.spawn().unwrap(), user.root());
    user.wait_for_file("work/began");
    // strace does not pass the signal on: it goes to the harness itself.
    let pid = std::fs::read_to_string(user.run_folder(&user.id()).join("lock")).unwrap();
    let pid = serde_json::from_str::<serde_json::Value>(&pid).unwrap()["pid"].to_string();
    assert!(std::process::Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success());
    user.wait_for_fact("\"requested\"");
    user.write("work/go", "");
    assert_eq!(running.end().code, Some(2));
    let calls = Call::read(&log);
    let asked = |call: &Call| call.name == "write" && is_journal(call) && call.text.contains("requested");
    assert_eq!(safe_before(&calls, asked, sync_of_journal, is_shown), 1);
}

#[test]
fn an_iteration_takes_at_most_three_syncs() {
    let calls = calls(&user());
    let syncs = calls.iter().filter(|call| call.name.ends_with("sync")).count();
    // Four to make the run (journal, its head, folder, name), two for its end, and two an iteration.
    assert!(syncs <= 6 + 2 * 3, "{syncs}");
}
