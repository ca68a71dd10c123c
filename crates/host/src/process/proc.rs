//! What `/proc` shows of processes. A number can be reused, so a process is signalled only through a handle.
use std::fs;
use std::io::Read;
use std::sync::OnceLock;

use loop_core::run::ProcessId;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A chain of parents is no longer than this.
const ANCESTORS_MAX: usize = 256;

pub(super) fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

/// One process as its `stat` shows it.
#[derive(Debug, Clone)]
struct Stat {
    state: char,
    parent: i32,
    ticks: u64,
    start_ticks: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    read_stat(&format!("/proc/{pid}/stat"))
}

/// A `stat` is shorter: a name, and 52 numbers of at most 20 digits.
const STAT_BYTES_MAX: usize = 2048;

fn read_stat(file: &str) -> Option<Stat> {
    let mut bytes = [0_u8; STAT_BYTES_MAX];
    // One read gives all of it.
    let count = fs::File::open(file).and_then(|mut file| file.read(&mut bytes)).ok()?;
    let bytes = bytes.get(..count)?;
    // The name stands in brackets and may hold anything, no valid text either, so count from the last one.
    let name_end = bytes.iter().rposition(|byte| *byte == b')')?;
    let mut fields = str::from_utf8(bytes.get(name_end + 1..)?).ok()?.split_ascii_whitespace();
    Some(Stat {
        state: fields.next()?.chars().next()?,
        parent: fields.next()?.parse().ok()?,
        // Of itself and of its ended children, in user and in system mode.
        ticks: fields.by_ref().skip(9).take(4).filter_map(|ticks| ticks.parse::<u64>().ok()).sum(),
        start_ticks: fields.nth(4)?.parse().ok()?,
    })
}

/// Who a process is beyond doubt; none if there is no such process.
#[must_use]
pub fn identity(pid: i32) -> Option<ProcessId> {
    stat(pid).map(|stat| ProcessId { pid, start_ticks: stat.start_ticks })
}

/// Whether a process is stopped, as by Ctrl-Z: it can neither work nor answer.
#[must_use]
pub fn is_suspended(pid: u32) -> bool {
    i32::try_from(pid).ok().and_then(stat).is_some_and(|stat| matches!(stat.state, 'T' | 't'))
}

pub(super) fn parent(pid: i32) -> Option<i32> {
    stat(pid).map(|stat| stat.parent)
}

/// Whether nothing of a process runs any more. One whose first thread has ended seems dead while others run.
pub(super) fn is_dead(pid: i32) -> bool {
    let dead = |stat: Option<Stat>| stat.is_none_or(|stat| matches!(stat.state, 'Z' | 'X'));
    if !dead(stat(pid)) {
        return false;
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .filter_map(|thread| thread.file_name().to_str()?.parse::<i32>().ok())
        .all(|thread| dead(read_stat(&format!("/proc/{pid}/task/{thread}/stat"))))
}

/// Whether a process is stopped by a signal or by a tracer.
pub(super) fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| matches!(stat.state, 'T' | 't'))
}

/// A process and all that it descends from.
pub(super) fn ancestors(pid: i32) -> Vec<i32> {
    let mut pids = vec![pid];
    while let Some(parent) =
        pids.last().and_then(|pid| parent(*pid)).filter(|pid| *pid > 0 && pids.len() < ANCESTORS_MAX)
    {
        pids.push(parent);
    }
    pids
}

/// The variables that a process was started with. One whose first thread has ended has them by another.
pub(super) fn environment(pid: i32) -> Option<Vec<u8>> {
    let own = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    if !own.is_empty() || stat(pid)?.state != 'Z' {
        return Some(own);
    }
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let mut others = threads.filter_map(|thread| fs::read(thread.path().join("environ")).ok());
    Some(others.find(|other| !other.is_empty()).unwrap_or(own))
}

/// A short text that names a process for people.
pub(super) fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("pid {pid} ({})", loop_core::text::one_line(&name, 32))
}

/// So many of those that could not be ended are named.
const NAMED_MAX: usize = 20;

/// Names for people, a bounded number of them.
pub(super) fn names_of(pids: &[i32]) -> Vec<String> {
    let mut names: Vec<String> = pids.iter().take(NAMED_MAX).map(|pid| name_of(*pid)).collect();
    if pids.len() > NAMED_MAX {
        names.push(format!("and {} more", pids.len() - NAMED_MAX));
    }
    names
}

/// Whether `/proc` is there and shows the processes as we number them: that of another namespace names others.
///
/// # Errors
/// What is wrong with it, for people.
pub fn check_proc() -> Result<(), String> {
    match fs::read_link("/proc/self") {
        Err(error) => Err(format!("/proc cannot be read: {error}")),
        Ok(own) if own.to_str().and_then(|own| own.parse().ok()) != Some(own_pid()) => {
            Err("/proc is that of another PID namespace".to_owned())
        }
        Ok(_) => Ok(()),
    }
}

/// Whether processes can be seen at all: without `/proc`, or without a free handle, they cannot.
pub(super) fn can_list() -> bool {
    stat(own_pid()).is_some() && fs::read_dir("/proc").is_ok()
}

/// How many numbers past the newest are inspected.
const NEWEST_AHEAD: i32 = 64;

/// The numbers of the newest processes, and of those that come next: who forks and ends all the time has another
/// one before a list of all is read.
pub(super) fn newest() -> impl Iterator<Item = i32> {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last: i32 = load.split_ascii_whitespace().last().and_then(|last| last.parse().ok()).unwrap_or(0);
    last.saturating_sub(1)..last.saturating_add(NEWEST_AHEAD)
}

/// All processes there are, the newest numbers first.
pub(super) fn all() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut pids: Vec<i32> = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable_by(|left, right| right.cmp(left));
    pids
}

/// Whether this kernel lists the children of a process.
#[must_use]
pub fn lists_children() -> bool {
    static LISTS: OnceLock<bool> = OnceLock::new();
    *LISTS.get_or_init(|| fs::read(format!("/proc/self/task/{}/children", std::process::id())).is_ok())
}

/// The children of a process, of all its threads.
pub(super) fn children(pid: i32) -> Vec<i32> {
    if !lists_children() {
        return all().into_iter().filter(|child| parent(*child) == Some(pid)).collect();
    }
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// All processes below a process, also those that are dead and not reaped yet.
#[must_use]
pub fn descendants(root: i32) -> Vec<i32> {
    if !lists_children() {
        return descendants_by_parent(root);
    }
    let mut open = children(root);
    let mut found = Vec::new();
    while let Some(pid) = open.pop() {
        found.push(pid);
        open.extend(children(pid));
    }
    found
}

/// The same where the kernel lists no children: by the parents of all.
fn descendants_by_parent(root: i32) -> Vec<i32> {
    let parents: Vec<(i32, i32)> = all().into_iter().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let mut found = vec![root];
    let mut at = 0;
    while let Some(above) = found.get(at).copied() {
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        at += 1;
    }
    found.split_off(1)
}

/// The processor time that a process and all below it have used, in clock ticks. Anybody who comes
/// or goes changes it, so that a different number is a sign of life.
pub(super) fn ticks(root: i32) -> u64 {
    let below = descendants(root).into_iter();
    below.chain([root]).filter_map(stat).map(|stat| stat.ticks).sum()
}

/// Signals by a handle, and only the process that was inspected.
pub(super) fn signal_known(process: ProcessId, signal: Signal) -> bool {
    let Some(handle) = handle(process.pid) else { return false };
    identity(process.pid) == Some(process) && pidfd_send_signal(handle, signal).is_ok()
}

fn handle(pid: i32) -> Option<std::os::fd::OwnedFd> {
    Pid::from_raw(pid).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok())
}

/// Signals the processes of a list that are still descendants of `root`: if a number was reused meanwhile, that process
/// has another parent.
pub(super) fn signal_below(root: i32, pids: &[i32], signal: Signal) {
    for pid in pids {
        let Some(handle) = handle(*pid) else { continue };
        if parent(*pid).is_some_and(|parent| parent == root || pids.contains(&parent)) {
            // Gone in between: as good.
            pidfd_send_signal(handle, signal).ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_the_same_by_lists_of_children_and_by_parents() {
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 60 & wait"]).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let both = || (descendants(pid), descendants_by_parent(pid));
        while both().0.is_empty() {
            std::thread::yield_now();
        }
        let (listed, by_parent) = both();
        signal_below(pid, &listed, Signal::KILL);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(listed.len(), 1);
        assert_eq!(listed, by_parent);
    }

    #[test]
    fn a_process_whose_name_is_no_text_is_seen_and_signalled() {
        // Its name ends with a bracket too, and with what follows the name of another process.
        let script = r"printf '\377) Z 1' > /proc/self/comm; echo; read line";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0];
        child.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let (found, dead, parent) = (identity(pid), is_dead(pid), parent(pid));
        let signalled = found.is_some_and(|found| signal_known(found, Signal::KILL));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.is_some_and(|found| found.start_ticks > 0));
        assert!(!dead && signalled);
        assert_eq!(parent, Some(own_pid()));
    }
}
