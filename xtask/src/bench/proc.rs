//! What the kernel counted for processes, read from `/proc`: safe code, no rights, nothing to install.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The unit of the times in `/proc/<pid>/stat`: hundredths of a second, on every Linux.
pub const TICK_MS: f64 = 10.0;

/// The times of a process, in ticks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Its own, user and system.
    pub own: u64,
    /// Those of all its descendants that ended and were waited for.
    pub children: u64,
}

/// The processes that run this program, by number. A path that only the benchmark has makes them ours for certain.
#[must_use]
pub fn running(program: &Path) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe == program)).collect()
}

/// The times of a process, alive or not yet waited for.
///
/// # Errors
/// When there is no such process.
pub fn ticks(pid: u32) -> Result<Ticks> {
    let fields = stat(pid)?;
    let field = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok()).context("a short stat");
    Ok(Ticks { own: field(11)? + field(12)?, children: field(13)? + field(14)? })
}

/// Whether a process has ended and only waits to be waited for.
///
/// # Errors
/// When there is no such process.
pub fn is_dead(pid: u32) -> Result<bool> {
    Ok(stat(pid)?.first().is_some_and(|state| state == "Z"))
}

/// The fields of `/proc/<pid>/stat` behind the name, which may hold blanks and brackets itself.
fn stat(pid: u32) -> Result<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).with_context(|| format!("no process {pid}"))?;
    let rest = text.rsplit_once(')').context("an odd stat")?.1;
    Ok(rest.split_whitespace().map(str::to_owned).collect())
}

/// The time on a processor of all threads of one process, without its children, in milliseconds. Exact where
/// [`ticks`] are coarse.
///
/// # Errors
/// When there is no such process, or a kernel without this.
pub fn on_processor_ms(pid: u32) -> Result<f64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).with_context(|| format!("no process {pid}"))?;
    let mut nanos = 0.0;
    for thread in threads.flatten() {
        let path = thread.path().join("schedstat");
        let text = fs::read_to_string(&path).context("no schedstat; this needs a kernel with CONFIG_SCHED_INFO")?;
        nanos += text.split_whitespace().next().and_then(|word| word.parse::<f64>().ok()).unwrap_or(0.0);
    }
    Ok(nanos / 1e6)
}

/// How often all threads of a process went to sleep by themselves; each such sleep is ended by a wake-up.
#[must_use]
pub fn sleeps(pid: u32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| number(&thread.path().join("status"), "voluntary_ctxt_switches:")).sum()
}

/// The memory of a process in kilobytes, where a page that several processes share counts for each with its part.
#[must_use]
pub fn proportional_kb(pid: u32) -> u64 {
    number(Path::new(&format!("/proc/{pid}/smaps_rollup")), "Pss:")
}

/// A number from a list of names and values; 0 for a process that is gone.
fn number(path: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(path).unwrap_or_default();
    let rest = text.lines().find_map(|line| line.strip_prefix(name));
    rest.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
