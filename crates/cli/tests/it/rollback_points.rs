//! Kill points of going back and of keeping: `loop rollback` and `loop checkpoint` are killed at every call that
//! changes something, in any of their threads. Whatever was there before can be had again by one command.
//!
//! CI takes every eighth point, another eighth each day; `KILL_POINTS=all` takes all.
use std::collections::BTreeMap;
use std::path::Path;

use loop_testkit::{Call, Ran, Running, TestEnv, strace};

use crate::{start, user};

const CALLS: [&str; 22] = [
    "write",
    "pwrite64",
    "openat",
    "openat2",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "linkat",
    "symlinkat",
    "unlink",
    "unlinkat",
    "ftruncate",
    "fchmod",
    "fchmodat",
    "fsync",
    "fdatasync",
    "flock",
    "eventfd2",
    "clone3",
    "futex",
];
/// One in so many is taken, another each day.
const SHARE: u64 = 8;

/// A workspace that changes in each kind of way, and what a person did after the loop had ended.
fn prepared() -> TestEnv {
    let user = user();
    user.write("work/kept", "the same\n");
    user.write("work/changed", "before\n");
    user.write("work/gone", "was here\n");
    user.write("work/folder/inside", "x\n");
    let agent = "echo after > changed; rm gone; rm -r folder; ln -s kept folder; mkdir -p new/deep; echo n > new/deep/file; chmod 600 kept; mkdir hollow";
    user.run(&start(agent, "test -d new", &[])).expect_code(0);
    user.write("work/by-hand", "a person's own work\n");
    user.write("work/changed", "by a person\n");
    user
}

/// Everything with kind, mode and content.
pub(crate) fn picture(folder: &Path) -> BTreeMap<String, String> {
    use std::os::unix::fs::PermissionsExt;
    fn walk(folder: &Path, top: &Path, seen: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let found = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(top).unwrap().display().to_string();
            let what = if found.is_symlink() {
                format!("link to {}", path.read_link().unwrap().display())
            } else if found.is_dir() {
                walk(&path, top, seen);
                "folder".to_owned()
            } else {
                String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned()
            };
            let mode = if found.is_symlink() { 0 } else { found.permissions().mode() & 0o7777 };
            seen.insert(name, format!("{mode:o} {what}"));
        }
    }
    let mut seen = BTreeMap::new();
    walk(folder, folder, &mut seen);
    seen
}

fn traced(user: &TestEnv, options: &[&str], words: &[&str]) -> Ran {
    let log = user.root().join("calls");
    let mut command = strace(&[&["-f"], options].concat(), &log);
    command.arg(env!("CARGO_BIN_EXE_loop")).args(words);
    user.apply_env(&mut command);
    Running::of(command.spawn().unwrap(), user.root()).end()
}

/// Every call and how often it is made, by the thread that makes it most often: points count per thread.
fn points(words: &dyn Fn(&str) -> Vec<String>) -> Vec<(String, u32)> {
    let user = prepared();
    let words = words(&user.id());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let calls = CALLS.map(|call| format!("?{call}")).join(",");
    let ran = traced(&user, &["-e", &format!("trace={calls}")], &words);
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for call in Call::read(&user.root().join("calls")) {
        *counts.entry(call.name).or_insert(0) += 1;
    }
    counts.into_iter().flat_map(|(call, times)| (1..=times).map(move |k| (call.clone(), k))).collect()
}

fn is_taken(number: usize) -> bool {
    if std::env::var("KILL_POINTS").is_ok_and(|which| which == "all") {
        return true;
    }
    let days = std::time::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs() / 86_400);
    u64::try_from(number).unwrap() % SHARE == days % SHARE
}

/// Looks at what a killed command left: the user, the loop, and what was there before.
type Judge = dyn Fn(&TestEnv, &str, &BTreeMap<String, String>) -> Result<(), String>;

/// Kills a command at its points; `judge` says what is wrong then.
fn storm(words: &dyn Fn(&str) -> Vec<String>, judge: &Judge) -> String {
    let all = points(words);
    assert!(all.len() > 100, "only {} points", all.len());
    let (mut taken, mut killed, mut faults) = (0, 0, Vec::new());
    for (number, (call, k)) in all.iter().enumerate() {
        if !is_taken(number) {
            continue;
        }
        taken += 1;
        let user = prepared();
        let id = user.id();
        let before = picture(&user.work());
        let own = words(&id);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let inject = format!("inject={call}:signal=KILL:when={k}");
        let ran = traced(&user, &["-e", &format!("trace={call}"), "-e", &inject], &own);
        killed += u32::from(ran.code != Some(0));
        if let Err(what) = judge(&user, &id, &before) {
            faults.push(format!("{call} {k}: {what}"));
        }
    }
    assert!(faults.is_empty(), "{} of {taken} points failed:\n{}", faults.len(), faults.join("\n"));
    assert!(killed > 0 || taken == 0, "no point killed anything");
    format!("{} points, {taken} taken, {killed} killed it, 0 lost anything", all.len())
}

fn rollback(id: &str) -> Vec<String> {
    ["rollback", id, "initial"].map(str::to_owned).to_vec()
}

/// The state before can be had again by one command, or is still there.
fn undone(user: &TestEnv, id: &str, before: &BTreeMap<String, String>) -> Result<(), String> {
    if picture(&user.work()) == *before {
        return Ok(());
    }
    let ran = user.run(&["rollback", id, "undo"]);
    if ran.code != Some(0) {
        return Err(format!("undo: {}", ran.text()));
    }
    let after = picture(&user.work());
    if after == *before { Ok(()) } else { Err(format!("after undo:\n{after:#?}\nbefore:\n{before:#?}")) }
}

/// The same command again comes to its end.
fn finished(user: &TestEnv, id: &str, _: &BTreeMap<String, String>) -> Result<(), String> {
    let ran = user.run(&["rollback", id, "initial"]);
    let names: Vec<String> = picture(&user.work()).into_keys().collect();
    let right =
        names == ["changed", "folder", "folder/inside", "gone", "kept"] && user.read("work/changed") == "before\n";
    if ran.code == Some(0) && right { Ok(()) } else { Err(format!("{names:?} {}", ran.text())) }
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_rollback_killed_at_any_point_can_be_undone_byte_for_byte() {
    // req: D-08
    println!("kill points of a rollback, undone: {}", storm(&rollback, &undone));
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_rollback_killed_at_any_point_can_be_finished() {
    println!("kill points of a rollback, finished: {}", storm(&rollback, &finished));
}

#[test]
#[expect(clippy::print_stdout, reason = "the number of points is part of the result")]
fn a_checkpoint_killed_at_any_point_is_complete_or_absent_and_changes_nothing() {
    let words = |id: &str| ["checkpoint", id, "good"].map(str::to_owned).to_vec();
    let judge = |user: &TestEnv, id: &str, before: &BTreeMap<String, String>| {
        if picture(&user.work()) != *before {
            return Err("the workspace changed".to_owned());
        }
        let listed = user.run(&["checkpoint", "list", id, "--json"]).expect_code(0).json();
        let there = listed["checkpoints"].as_array().unwrap().iter().any(|row| row["name"] == "good");
        if !there {
            user.run(&["checkpoint", id, "good"]).expect_code(0);
        }
        user.run(&["rollback", id, "initial"]).expect_code(0);
        user.run(&["rollback", id, "good"]).expect_code(0);
        if picture(&user.work()) == *before { Ok(()) } else { Err("it does not hold what was there".to_owned()) }
    };
    println!("kill points of a checkpoint: {}", storm(&words, &judge));
}
