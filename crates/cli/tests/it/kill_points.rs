//! Kill points: a run of three iterations is killed at every call that changes something, and gone on with.
//!
//! A point is (role, call, k): the k-th call of that name on the harness's own thread. Only that
//! process is traced, so agents and gates do not count. CI takes every fifth point (every twentieth
//! `openat`), others each day; `KILL_POINTS=all` takes all, `KILL_POINTS=start,write,12` one of them again.
use std::collections::BTreeMap;

use loop_core::run::{Answer, Event, Fact, Order, Outcome, RunState};
use loop_core::view::public_event;
use loop_host::journal;
use loop_testkit::{Call, Ran, Running, TestEnv, strace};

use crate::{start, user};

const CALLS: [&str; 19] = [
    "write",
    "fdatasync",
    "fsync",
    "openat",
    "mkdir",
    "rename",
    "unlink",
    "ftruncate",
    "flock",
    "vfork",
    "clone",
    "clone3",
    "wait4",
    "pidfd_open",
    "timerfd_settime",
    "socketpair",
    "pipe2",
    "sendmsg",
    "sendto",
];

/// Writes what it did; the promise passes after iteration 3.
const AGENT: &str = "echo $LOOP_ITERATION.$LOOP_ATTEMPT >> log; echo $LOOP_ITERATION > done; echo said";
const PROMISE: &str = "grep -qx 3 done";

fn words() -> Vec<&'static str> {
    // A clean copy has a process of its own, whose points are tried in `judge.rs`.
    start(AGENT, PROMISE, &["--json", "-n", "3", "--judge", "workspace"])
}

fn traced(user: &TestEnv, options: &[&str], words: &[&str]) -> Ran {
    let log = user.root().join("calls");
    let mut command = strace(options, &log);
    command.arg(env!("CARGO_BIN_EXE_loop")).args(words);
    user.apply_env(&mut command);
    Running::of(command.spawn().unwrap(), user.root()).end()
}

/// How often each call is made, counted in a run that nobody kills.
fn count(user: &TestEnv, words: &[&str]) -> BTreeMap<String, u32> {
    let ran = traced(user, &["-e", &format!("trace={}", known_calls())], words);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    let mut counts = BTreeMap::new();
    for call in Call::read(&user.root().join("calls")) {
        *counts.entry(call.name).or_insert(0) += 1;
    }
    counts
}

/// Those that this machine's strace knows: not every kernel has each.
fn known_calls() -> String {
    CALLS.map(|call| format!("?{call}")).join(",")
}

/// Kills the program at its k-th call of that name.
fn kill(user: &TestEnv, words: &[&str], call: &str, k: u32) -> Ran {
    traced(user, &["-e", &format!("trace={call}"), "-e", &format!("inject={call}:signal=KILL:when={k}")], words)
}

/// A user whose start was killed while the agent of iteration 2 was asked for.
fn interrupted() -> TestEnv {
    let user = user();
    // The shim is asked for a process: baseline, agent 1, gate 1, agent 2.
    let _killed = kill(&user, &words(), "sendmsg", 4);
    user
}

/// The oracle: looks at the disk after a kill, goes on, and looks again.
fn judge(user: &TestEnv, killed: &Ran, before: &[String]) -> Result<(), String> {
    let printed = killed.out();
    let Some(id) = user.ids().into_iter().next() else {
        // Killed before the run was there: then nothing may have been said of it.
        return if printed.is_empty() { Ok(()) } else { Err(format!("a run that was shown is gone: {printed}")) };
    };
    let folder = user.run_folder(&id);
    let reading = journal::read(&folder).map_err(|error| format!("unreadable: {error}"))?;
    let told = acknowledged(&reading.entries);
    for line in printed.lines().filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()) {
        // A warning is what a reader makes of the facts, and can be made of them again.
        let warns = line.contains("\"event\":\"limit_near\"");
        if !warns && !told.iter().any(|known| known == line) {
            return Err(format!("shown and lost: {line}"));
        }
    }
    if before.iter().any(|line| !told.contains(line)) {
        return Err("a fact from before this process is gone".to_owned());
    }
    let over = reading.fold().standing().is_some_and(|standing| !standing.resumable);
    let resumed = user.run(&["resume", &id, "--json"]);
    if resumed.code != Some(if over { 4 } else { 0 }) {
        return Err(format!("resume: {}", resumed.text()));
    }
    rightly_ended(user, &id, &told)
}

/// Every public event of these facts, as it would have been printed.
fn acknowledged(entries: &[loop_core::run::Entry]) -> Vec<String> {
    let mut state = RunState::default();
    let mut told = Vec::new();
    for entry in entries {
        state.apply(&entry.fact);
        told.extend(public_event(entry, &state).map(|event| event.to_string()));
    }
    told
}

fn rightly_ended(user: &TestEnv, id: &str, told: &[String]) -> Result<(), String> {
    let reading = journal::read(&user.run_folder(id)).map_err(|error| format!("unreadable at the end: {error}"))?;
    let after = acknowledged(&reading.entries);
    if told.iter().any(|line| !after.contains(line)) {
        return Err("a fact is gone after the resume".to_owned());
    }
    let state = reading.fold();
    if state.over.as_ref().map(|over| over.outcome) != Some(Outcome::Verified) || state.iteration != 3 {
        return Err(format!("it ended as {:?} in iteration {}", state.over, state.iteration));
    }
    let (mut ended, mut asked) = (Vec::new(), BTreeMap::new());
    for entry in &reading.entries {
        match &entry.fact {
            Fact::Ordered { id, order: Order::RunAgent { iteration, .. } } => {
                if ended.contains(iteration) {
                    return Err(format!("iteration {iteration} is done twice"));
                }
                asked.insert(*id, *iteration);
            }
            Fact::Happened(input) => {
                if let Event::Answered { order, answer: Answer::AgentEnded(_) } = &input.event {
                    ended.extend(asked.get(order));
                }
            }
            Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) | Fact::Concluded { .. } => {}
        }
    }
    // The last agent may have done its work unseen: then the gate found it done, and nobody worked again.
    if ended != [1, 2, 3] && ended != [1, 2] {
        return Err(format!("the ends of agents: {ended:?}"));
    }
    let left = user.marked(id);
    if left.is_empty() { Ok(()) } else { Err(format!("still running: {left:?}")) }
}

/// Which points are taken today.
fn is_taken(call: &str, number: u32) -> bool {
    match std::env::var("KILL_POINTS").as_deref() {
        Ok("all") => true,
        Ok(_) | Err(_) => {
            let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs() / 86_400);
            // Most of these only look at processes.
            let share = if call == "openat" { 20 } else { 5 };
            u64::from(number) % share == days % share
        }
    }
}

fn the_one_point() -> Option<(String, String, u32)> {
    let text = std::env::var("KILL_POINTS").ok()?;
    let mut parts = text.split(',');
    Some((parts.next()?.to_owned(), parts.next()?.to_owned(), parts.next()?.parse().ok()?))
}

/// Kills one role at its points and lets the oracle judge each.
fn storm(role: &str, prepare: fn() -> TestEnv) -> String {
    let counted = prepare();
    let words_of = |user: &TestEnv| -> Vec<String> {
        match user.ids().first() {
            None => words().into_iter().map(str::to_owned).collect(),
            Some(id) => vec!["resume".to_owned(), id.clone(), "--json".to_owned()],
        }
    };
    let own = words_of(&counted);
    let counts = count(&counted, &own.iter().map(String::as_str).collect::<Vec<_>>());
    let (mut number, mut taken, mut faults) = (0, 0, Vec::new());
    for (call, times) in &counts {
        for k in 1..=*times {
            number += 1;
            let wanted =
                the_one_point().map_or_else(|| is_taken(call, number), |one| one == (role.to_owned(), call.clone(), k));
            if !wanted {
                continue;
            }
            taken += 1;
            let user = prepare();
            let words = words_of(&user);
            let before = user.ids().first().map_or_else(Vec::new, |id| {
                journal::read(&user.run_folder(id)).map(|reading| acknowledged(&reading.entries)).unwrap_or_default()
            });
            let killed = kill(&user, &words.iter().map(String::as_str).collect::<Vec<_>>(), call, k);
            if let Err(what) = judge(&user, &killed, &before) {
                faults.push(format!("KILL_POINTS={role},{call},{k}: {what}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {taken} points failed:\n{}", faults.len(), faults.join("\n"));
    let by_call: Vec<String> = counts.iter().map(|(call, times)| format!("{call} {times}")).collect();
    format!("kill points of {role}: {number} ({}), {taken} taken, 0 failed", by_call.join(", "))
}

/// A disk that fails once, at the k-th call, and then works again.
fn fail(user: &TestEnv, call: &str, error: &str, k: u32) -> Ran {
    traced(user, &["-e", &format!("trace={call}"), "-e", &format!("inject={call}:error={error}:when={k}")], &words())
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_disk_that_fails_at_any_write_or_sync_stops_the_loop_which_then_goes_on_and_loses_nothing() {
    let counts = count(&user(), &words());
    let (mut number, mut taken, mut stopped, mut faults) = (0, 0, 0, Vec::new());
    for (call, error) in [("write", "ENOSPC"), ("fdatasync", "EIO"), ("fsync", "EIO"), ("mkdir", "ENOSPC")] {
        for k in 1..=counts.get(call).copied().unwrap_or(0) {
            number += 1;
            if !is_taken(call, number) {
                continue;
            }
            taken += 1;
            let user = user();
            let ran = fail(&user, call, error, k);
            stopped += u32::from(ran.code == Some(3));
            // Never a wrong answer: it ends rightly, or says that it cannot go on, or was never begun.
            if ![Some(0), Some(3), Some(4)].contains(&ran.code) {
                faults.push(format!("{call} {k}: {}", ran.text()));
            } else if let Err(what) = judge(&user, &ran, &[]) {
                faults.push(format!("{call} {k}: {what}"));
            }
        }
    }
    assert!(faults.is_empty(), "{} of {taken} failures:\n{}", faults.len(), faults.join("\n"));
    println!("failing disk: {number} points, {taken} taken, {stopped} stopped the loop with exit 3, 0 lost anything");
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_start_killed_at_any_point_is_gone_on_with_and_loses_nothing() {
    println!("{}", storm("start", user));
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_resume_killed_at_any_point_is_gone_on_with_and_loses_nothing() {
    println!("{}", storm("resume", interrupted));
}
