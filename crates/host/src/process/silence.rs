//! Whether a process shows any sign of life. Output is seen as it comes. Files and processor time are checked only
//! when the limit is reached.
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// At most this many files are inspected; in a larger tree the others count as changed, in doubt for the agent.
const FILES_MAX: u32 = 200_000;

/// The watch over one process.
#[derive(Debug)]
pub struct Silence {
    limit: Duration,
    workspace: PathBuf,
    since: Instant,
    since_wall: SystemTime,
    ticks: u64,
    reported: bool,
}

impl Silence {
    /// Begins to watch.
    #[must_use]
    pub fn new(limit: Duration, workspace: &Path) -> Self {
        let (since, since_wall) = (Instant::now(), SystemTime::now());
        Self { limit, workspace: workspace.to_owned(), since, since_wall, ticks: 0, reported: false }
    }

    /// It wrote something.
    pub fn output_came(&mut self) {
        self.since = Instant::now();
        self.since_wall = SystemTime::now();
    }

    /// When it is to be inspected.
    #[must_use]
    pub fn wakes_in(&self, now: Instant) -> Option<Duration> {
        (!self.reported).then(|| (self.since + self.limit).saturating_duration_since(now))
    }

    /// Whether it has been silent for its limit; reported once.
    pub fn is_over(&mut self, now: Instant, ticks: impl FnOnce() -> u64) -> bool {
        if self.reported || now < self.since + self.limit {
            return false;
        }
        let ticks = ticks();
        let worked = std::mem::replace(&mut self.ticks, ticks) != ticks;
        if worked || changed_since(&self.workspace, self.since_wall) {
            self.output_came();
            return false;
        }
        self.reported = true;
        true
    }
}

fn changed_since(folder: &Path, moment: SystemTime) -> bool {
    let mut open = vec![folder.to_owned()];
    let mut seen = 0;
    while let Some(path) = open.pop() {
        let Ok(entries) = fs::read_dir(&path) else { continue };
        for entry in entries.flatten() {
            seen += 1;
            let Ok(found) = entry.metadata() else { continue };
            if seen > FILES_MAX || found.modified().is_ok_and(|at| at >= moment) {
                return true;
            }
            if found.is_dir() {
                open.push(entry.path());
            }
        }
    }
    false
}
