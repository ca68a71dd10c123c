//! Who descends from us. Orphans come to us because we are their reaper, whatever session they made.
use std::fs;
use std::sync::OnceLock;

use loop_core::run::ProcessId;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, set_child_subreaper, waitpid};

/// Children that we had before we started any: `server & exec loop …` gives us one that is not ours to end.
static INHERITED: OnceLock<Vec<ProcessId>> = OnceLock::new();

fn own_pid() -> i32 {
    i32::try_from(std::process::id()).unwrap_or(0)
}

fn is_inherited(pid: i32) -> bool {
    INHERITED.get().is_some_and(|known| known.iter().any(|known| known.pid == pid && identity(pid) == Some(*known)))
}

/// Makes this process the one that orphans of its descendants are given to.
///
/// # Errors
/// When the kernel does not know that.
pub fn become_reaper() -> std::io::Result<()> {
    INHERITED.get_or_init(|| children(own_pid()).into_iter().filter_map(identity).collect());
    set_child_subreaper(Some(rustix::process::getpid())).map_err(Into::into)
}

/// Who a process is beyond doubt; none if there is no such process.
#[must_use]
pub fn identity(pid: i32) -> Option<ProcessId> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything, so count from the last one.
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    let start_ticks = fields.get(19)?.parse().ok()?;
    Some(ProcessId { pid, start_ticks })
}

/// The processor time of one process, with that of its ended children.
fn ticks_of(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = stat.get(stat.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(fields.get(11..15)?.iter().filter_map(|ticks| ticks.parse::<u64>().ok()).sum())
}

/// A short text that names a process for people.
pub(super) fn name_of(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("pid {pid} ({})", loop_core::text::one_line(&name, 32))
}

/// The children of a process, of all its threads.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
}

/// So many looks that find nobody, alive or dead, mean that nobody is left.
const QUIET_LOOKS: u32 = 2;

/// The processes of one task: its own child's tree, and orphans that came to us from it.
#[derive(Debug, Clone)]
pub struct Tree {
    root: i32,
}

impl Tree {
    /// The tree below a child of ours.
    #[must_use]
    pub fn of(root: i32) -> Self {
        Self { root }
    }

    /// Everybody in it who is alive, the root itself left out. `others` are roots of other tasks.
    /// Dead orphans are reaped on the way. Who forks and dies while we look leaves a child that we
    /// have not seen: nobody is left only when two looks in a row found nobody, alive or dead.
    #[must_use]
    pub fn alive(&self, others: &[i32]) -> Vec<i32> {
        let mut quiet = 0;
        while quiet < QUIET_LOOKS {
            let (alive, reaped) = self.look(others);
            if !alive.is_empty() {
                return alive;
            }
            quiet = if reaped == 0 { quiet + 1 } else { 0 };
        }
        Vec::new()
    }

    /// One look: who is alive, and how many dead were taken in.
    fn look(&self, others: &[i32]) -> (Vec<i32>, u32) {
        let mut reaped = 0;
        let ours = |pid: &i32| !others.contains(pid) && !is_inherited(*pid);
        let mut open: Vec<i32> = children(own_pid()).into_iter().filter(ours).collect();
        let mut alive = Vec::new();
        while let Some(pid) = open.pop() {
            if pid != self.root {
                if reap(pid) {
                    reaped += 1;
                    continue;
                }
                alive.push(pid);
            }
            open.extend(children(pid));
        }
        (alive, reaped)
    }

    /// The processor time that those who are alive have used, in clock ticks. Anybody who comes or
    /// goes changes it, so that a different number is a sign of life.
    #[must_use]
    pub fn ticks(&self, others: &[i32]) -> u64 {
        let mut all = self.alive(others);
        all.push(self.root);
        all.iter().filter_map(|pid| ticks_of(*pid)).sum()
    }

    /// Sends a signal to all who are alive, and says how many they were.
    pub fn signal(&self, others: &[i32], signal: Signal) -> usize {
        let alive = self.alive(others);
        for pid in &alive {
            if let Some(pid) = Pid::from_raw(*pid) {
                // Gone between looking and sending is as good.
                kill_process(pid, signal).ok();
            }
        }
        alive.len()
    }
}

/// Takes an orphan's end in; true when it is gone.
fn reap(pid: i32) -> bool {
    let Some(pid) = Pid::from_raw(pid) else { return true };
    matches!(waitpid(Some(pid), WaitOptions::NOHANG), Ok(Some(_)))
}
