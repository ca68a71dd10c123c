//! Ending processes that nothing supervises any more: what a killed harness left behind, and what was reparented to
//! us because an init was killed. By control group where one is known, otherwise by the mark in the environment.
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use loop_core::run::{Answer, ProcessId, RunSpec};
use rustix::fs::fstatfs;
use rustix::process::{Pid, Signal, WaitOptions, set_child_subreaper, waitpid};

use super::contain::{end_group, is_same, wait_for_supervisors};
use super::proc::{
    all, ancestors, can_list, children, descendants, environment, identity, is_dead, is_stopped, names_of, newest,
    own_pid, signal_below, signal_known,
};

/// The variable that marks everything that a run starts: the run's id, behind those of the runs
/// that it is itself a part of.
pub const MARK: &str = "LOOP_MARK";

/// Children that we had before we started any: `server & exec loop …` gives us one that is not ours to end.
static INHERITED: OnceLock<Vec<ProcessId>> = OnceLock::new();

/// Makes this process the one that orphans of its descendants are given to.
///
/// # Errors
/// When the kernel does not know that.
pub fn become_reaper() -> std::io::Result<()> {
    INHERITED.get_or_init(|| children(own_pid()).into_iter().filter_map(identity).collect());
    set_child_subreaper(Some(rustix::process::getpid())).map_err(Into::into)
}

fn is_inherited(pid: i32) -> bool {
    INHERITED.get().is_some_and(|known| known.iter().any(|known| known.pid == pid && is_same(*known)))
}

/// The mark of what a run starts.
pub(super) fn mark(run: &str) -> String {
    match std::env::var(MARK) {
        // A child of the run itself: what it starts has the mark of the run.
        Ok(outer) if outer.rsplit(':').next() == Some(run) => outer,
        Ok(outer) if !outer.is_empty() => format!("{outer}:{run}"),
        Ok(_) | Err(_) => run.to_owned(),
    }
}

/// After this many empty passes nothing is left.
const EMPTY_PASSES: u32 = 3;
/// How often it is tried before we give up.
const PASSES_MAX: u32 = 400;
/// A process that forks all the time is not missed by several passes.
const BETWEEN_EMPTY: Duration = Duration::from_millis(3);
const BETWEEN_PASSES: Duration = Duration::from_millis(10);
/// How long the shim and inits of a killed harness may take: they give commands time to save their work.
const SUPERVISORS_TAKE_MAX: Duration = Duration::from_secs(5);

/// Ends every process of an earlier driver of the run and returns how many there were. `register` is the file
/// that its shim and inits hold.
#[must_use]
pub fn sweep(run: &str, register: &Path, known: &[ProcessId]) -> Answer {
    wake_supervisors(run);
    let group = wait_for_supervisors(register, SUPERVISORS_TAKE_MAX);
    let in_group = group.map_or(0, |group| end_group(&group, run));
    let known = || known.iter().copied().filter(|process| is_same(*process) && !is_dead(process.pid)).collect();
    let (killed, left) = until_nobody(|| [end_marked(run), known()].concat());
    if !left.is_empty() {
        return Answer::Lost { left: names_of(&left) };
    }
    fs::remove_file(register).ok();
    Answer::Cleaned { killed: in_group.saturating_add(killed) }
}

/// Ends orphans of a killed init, and processes with the run's mark. Returns what is left.
pub(super) fn end_adopted(run: &str) -> Vec<String> {
    let (_, left) = until_nobody(|| {
        let came = adopted();
        signal_below(own_pid(), &came, Signal::STOP);
        signal_below(own_pid(), &came, Signal::KILL);
        let came = came.into_iter().filter(|pid| !is_dead(*pid)).filter_map(identity).collect();
        [came, end_marked(run)].concat()
    });
    names_of(&left)
}

/// Our children that we did not start, and everything below them. Dead ones are reaped.
fn adopted() -> Vec<i32> {
    let mut found = Vec::new();
    for pid in children(own_pid()).into_iter().filter(|pid| !is_inherited(*pid)) {
        if Pid::from_raw(pid).is_some_and(|pid| matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))) {
            continue;
        }
        found.push(pid);
        found.extend(descendants(pid));
    }
    found
}

/// Kills what a pass finds alive, until some passes in a row find nothing. Returns how many they were, and what is
/// left.
fn until_nobody(list_alive: impl Fn() -> Vec<ProcessId>) -> (u32, Vec<i32>) {
    let (mut killed, mut empty) = (BTreeSet::new(), 0);
    let mut found = Vec::new();
    for _ in 0..PASSES_MAX {
        found = list_alive();
        if found.is_empty() && !can_list() {
            // An unreadable list is not an empty one.
            found.extend(identity(own_pid()).or(Some(ProcessId { pid: own_pid(), start_ticks: 0 })));
            std::thread::sleep(BETWEEN_PASSES);
            continue;
        }
        if found.is_empty() {
            empty += 1;
            if empty == EMPTY_PASSES {
                break;
            }
            std::thread::sleep(BETWEEN_EMPTY);
            continue;
        }
        empty = 0;
        for process in &found {
            signal_known(*process, Signal::KILL);
            killed.insert((process.pid, process.start_ticks));
        }
        std::thread::sleep(BETWEEN_PASSES);
    }
    (u32::try_from(killed.len()).unwrap_or(u32::MAX), found.into_iter().map(|process| process.pid).collect())
}

/// The runs of which something is alive.
#[must_use]
pub fn marked_runs() -> Vec<String> {
    let marks = marks().flat_map(|(_, mark)| mark.split(':').map(str::to_owned).collect::<Vec<_>>());
    let mut runs: Vec<String> = marks.collect();
    runs.sort();
    runs.dedup();
    runs
}

/// Kills those that carry the run's mark, with all below them, which may carry none. Each is stopped as soon as it is
/// found, so that none of them reacts to the death of another and leaves a process without a mark. Returns who they
/// are.
fn end_marked(run: &str) -> Vec<ProcessId> {
    end_those(|mark| mark.split(':').any(|part| part == run))
}

fn end_those(are_meant: impl Fn(&str) -> bool) -> Vec<ProcessId> {
    let mut ended: Vec<ProcessId> = Vec::new();
    for (process, _) in marks().filter(|(_, mark)| are_meant(mark)) {
        signal_known(process, Signal::STOP);
        ended.push(process);
    }
    for process in ended.clone() {
        let below = descendants(process.pid);
        ended.extend(below.iter().filter(|pid| !is_dead(**pid)).filter_map(|pid| identity(*pid)));
        signal_below(process.pid, &below, Signal::KILL);
    }
    for process in &ended {
        signal_known(*process, Signal::KILL);
    }
    ended
}

/// Asks those with exactly this mark to end, gives them a time, and ends them with all below them. Returns how many
/// they were, and who is left.
pub(crate) fn end_with_mark(value: &str, grace: Duration) -> (u32, Vec<String>) {
    let alive = || marks().filter(|(process, mark)| mark == value && !is_dead(process.pid)).map(|(process, _)| process);
    let mut asked = BTreeSet::new();
    for process in alive() {
        // Once each: a list of the newest and one of all may name the same.
        if asked.insert(process.pid) {
            signal_known(process, Signal::TERM);
        }
    }
    let until = Instant::now() + grace;
    while Instant::now() < until && alive().next().is_some() {
        std::thread::sleep(BETWEEN_PASSES);
    }
    let (killed, left) = until_nobody(|| end_those(|mark| mark == value));
    (killed.max(u32::try_from(asked.len()).unwrap_or(u32::MAX)), names_of(&left))
}

/// Continues the shim and inits of a run that were stopped; true if there were any.
pub fn wake_supervisors(run: &str) -> bool {
    let ours = |mark: &str| mark.split(':').any(|part| part == run);
    let stopped = marks().filter(|(process, mark)| ours(mark) && is_stopped(process.pid) && is_ours(process.pid));
    stopped.filter(|(process, _)| signal_known(*process, Signal::CONT)).count() > 0
}

/// Whether a process is one of this program.
fn is_ours(pid: i32) -> bool {
    let program = |pid: &str| fs::metadata(format!("/proc/{pid}/exe")).ok().map(|found| (found.dev(), found.ino()));
    program("self").is_some_and(|own| program(&pid.to_string()) == Some(own))
}

/// All that carry a mark, ourselves and those we descend from left out. Who they are is asked for before
/// the mark: a number that is reused in between is not taken for the old process.
fn marks() -> impl Iterator<Item = (ProcessId, String)> {
    let spared = ancestors(own_pid());
    let mark = |pid: i32| {
        let process = identity(pid)?;
        Some((process, mark_of(pid)?))
    };
    newest().chain(std::iter::once_with(all).flatten()).filter(move |pid| !spared.contains(pid)).filter_map(mark)
}

/// The mark that a process carries.
fn mark_of(pid: i32) -> Option<String> {
    let environment = environment(pid)?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Whether this process was started by a run: it or one of its ancestors carries the mark. An agent that empties the
/// environment of its command is still below an init of ours, which carries it.
#[must_use]
pub fn is_inside_run() -> bool {
    ancestors(own_pid()).into_iter().any(|pid| mark_of(pid).is_some_and(|mark| !mark.is_empty()))
}

/// Whether this process, or one of its ancestors, carries this mark.
#[must_use]
pub fn carries_mark(mark: &str) -> bool {
    let is_it = |found: String| found.split(':').any(|part| part == mark);
    ancestors(own_pid()).into_iter().any(|pid| mark_of(pid).is_some_and(is_it))
}

/// What the file system of namespaces is called by the kernel.
const NAMESPACES: i64 = 0x6e73_6673;

/// The PID namespace that this process is in, by its number; none where that cannot be known. In a namespace of its own a
/// process does not see what it descends from.
#[must_use]
pub fn pid_namespace() -> Option<u64> {
    let file = File::open("/proc/self/ns/pid").ok()?;
    // Something else can be mounted there.
    let is_namespace = fstatfs(&file).is_ok_and(|found| found.f_type == NAMESPACES);
    file.metadata().ok().filter(|_| is_namespace).map(|found| found.ino())
}

/// Whether this process is in another PID namespace than that in which a run was started.
#[must_use]
pub fn is_elsewhere(spec: &RunSpec) -> bool {
    spec.pid_namespace.is_some_and(|known| pid_namespace() != Some(known))
}

/// Whether a process is one of the run that we drive: below us, or marked.
#[must_use]
pub fn descends_from_us(pid: i32, run: &str) -> bool {
    let marked = || mark_of(pid).is_some_and(|mark| mark.split(':').any(|part| part == run));
    ancestors(pid).contains(&own_pid()) || marked()
}
