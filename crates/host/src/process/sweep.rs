//! Ending what a harness that was killed left behind: by name where one is known, by its mark otherwise.
use std::fs;

use loop_core::run::{Answer, ProcessId};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::task::names_of;
use super::tree::identity;

/// The variable that marks everything that a run starts: the run's id, behind those of the runs
/// that it is itself a part of.
pub const MARK: &str = "LOOP_MARK";

/// The mark of what a run starts.
pub(super) fn mark(run: &str) -> String {
    match std::env::var(MARK) {
        Ok(outer) if !outer.is_empty() => format!("{outer}:{run}"),
        Ok(_) | Err(_) => run.to_owned(),
    }
}

/// So many passes that find nobody mean that nobody is left.
const EMPTY_PASSES: u32 = 2;
/// How often it is tried before we give up.
const PASSES_MAX: u32 = 200;

/// Ends every process of an earlier attempt of the run and says how many there were.
#[must_use]
pub fn sweep(run: &str, known: &[ProcessId]) -> Answer {
    let (mut killed, mut empty) = (std::collections::BTreeSet::new(), 0);
    let mut left = Vec::new();
    for _ in 0..PASSES_MAX {
        left = marked(run);
        left.extend(known.iter().filter(|process| identity(process.pid) == Some(**process)).map(|process| process.pid));
        left.retain(|pid| !is_dead(*pid));
        if left.is_empty() {
            empty += 1;
            if empty == EMPTY_PASSES {
                return Answer::Cleaned { killed: u32::try_from(killed.len()).unwrap_or(u32::MAX) };
            }
            continue;
        }
        empty = 0;
        for pid in &left {
            kill(*pid);
            killed.insert(*pid);
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Answer::Lost { left: names_of(&left) }
}

/// Kills by a handle, and only who still is the one that was looked at.
fn kill(pid: i32) {
    let before = identity(pid);
    let Some(handle) = Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok()) else { return };
    if before.is_some() && identity(pid) == before {
        pidfd_send_signal(handle, Signal::KILL).ok();
    }
}

/// The runs of which something is alive.
#[must_use]
pub fn marked_runs() -> Vec<String> {
    let marks = marks().into_iter().flat_map(|(_, mark)| mark.split(':').map(str::to_owned).collect::<Vec<_>>());
    let mut runs: Vec<String> = marks.collect();
    runs.sort();
    runs.dedup();
    runs
}

/// Those that carry the run's mark.
fn marked(run: &str) -> Vec<i32> {
    marks().into_iter().filter(|(_, mark)| mark.split(':').any(|part| part == run)).map(|(pid, _)| pid).collect()
}

/// All that carry a mark, ourselves and those we descend from left out.
fn marks() -> Vec<(i32, String)> {
    let spared = ancestors(i32::try_from(std::process::id()).unwrap_or(0));
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let mark = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let mut variables = environment.split(|byte| *byte == 0);
        let value = variables.find_map(|variable| variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
        Some((pid, String::from_utf8_lossy(value).into_owned()))
    };
    pids.filter(|pid| !spared.contains(pid)).filter_map(mark).collect()
}

/// Whether a process is one of the run that we drive: below us, or marked.
#[must_use]
pub fn descends_from_us(pid: i32, run: &str) -> bool {
    let me = i32::try_from(std::process::id()).unwrap_or(0);
    ancestors(pid).contains(&me) || marked(run).contains(&pid)
}

/// A process and all that it descends from.
fn ancestors(pid: i32) -> Vec<i32> {
    let mut pids = vec![pid];
    while let Some(parent) = pids.last().and_then(|pid| parent(*pid)).filter(|pid| *pid > 0 && pids.len() < 64) {
        pids.push(parent);
    }
    pids
}

fn stat_fields(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.get(stat.rfind(')')? + 1..)?.split_whitespace().map(str::to_owned).collect())
}

fn parent(pid: i32) -> Option<i32> {
    stat_fields(pid)?.get(1)?.parse().ok()
}

fn is_dead(pid: i32) -> bool {
    stat_fields(pid).and_then(|fields| fields.first().cloned()).is_none_or(|state| state == "Z" || state == "X")
}
