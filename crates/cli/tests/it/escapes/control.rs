//! The control: what becomes of each kind when its group is killed, as simple runners do.
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use loop_testkit::{ESCAPE_KINDS, Escapees, escape_agents, for_all, wait_at_most};

/// Those whose group is still that of the agent: a runner that kills the group ends them.
const DIES_BY_KILLPG: &[&str] = &["nohup", "deaf", "pipe-holder"];

/// Starts a kind in a group of its own, kills the group, and counts who is left after a second.
fn left_by_killpg(kind: &str) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let tag = format!("control-{}-{kind}", std::process::id());
    let escapees = Escapees { tag: &tag, folder: folder.path() };
    let mut command = Command::new(escape_agents(env!("CARGO_BIN_EXE_loop")));
    command.arg(kind).arg(folder.path()).arg("stay").env("ZOO_TAG", &tag).process_group(0);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut agent = command.spawn().unwrap();
    let there = |name: &str| folder.path().join(name).exists();
    let ready = wait_at_most(Duration::from_secs(20), || there("ready") || there("done"));
    let group = format!("-{}", agent.id());
    // Where an escapee has killed the agent, nobody may be left in the group.
    Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(Stdio::null()).status().unwrap();
    agent.wait().unwrap();
    wait_at_most(Duration::from_secs(1), || escapees.alive().is_empty());
    let left = escapees.alive().len();
    escapees.end();
    assert!(ready, "{kind} never reported");
    left
}

#[test]
fn the_kinds_of_the_zoo_outlive_the_killing_of_their_group_but_for_three_that_say_so() {
    let left = for_all(ESCAPE_KINDS, |kind| left_by_killpg(kind));
    let mut table = "| kind | after killpg |\n|---|---|\n".to_owned();
    for (kind, left) in ESCAPE_KINDS.iter().zip(&left) {
        let text = if *left == 0 { "dies by killpg".to_owned() } else { format!("{left} alive") };
        writeln!(table, "| {kind} | {text} |").unwrap();
    }
    let survivors = left.iter().filter(|left| **left > 0).count();
    super::show(&format!("### Control: killpg\n\n{survivors} of {} kinds survive.\n\n{table}", ESCAPE_KINDS.len()));
    let dead: Vec<&str> =
        ESCAPE_KINDS.iter().zip(&left).filter(|(_, left)| **left == 0).map(|(kind, _)| *kind).collect();
    assert_eq!(dead, DIES_BY_KILLPG, "{table}");
    assert!(survivors >= 15, "{table}");
}
