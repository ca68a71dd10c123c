//! Limits for stored outputs, for one run and for all runs together. Past the limit the oldest are removed, and this is
//! reported once. Journals and prompts stay.
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use loop_core::ids::RunId;
use loop_core::view::Row;
use rustix::fs::{FlockOperation, flock};

use crate::fs::bytes_of;
use crate::index::{self, Listed};
use crate::journal;
use crate::paths::Home;
use crate::process::STREAM_BYTES_MAX;
use crate::run_folder::{RunFolder, RunsError, THINNED};

/// The most that the outputs of one run may take together.
pub(crate) const RUN_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// The outputs of so many newest iterations always stay: the next prompt quotes them.
const ITERATIONS_SPARED: usize = 2;
/// The most that is stored of what one process wrote.
const TASK_BYTES_MAX: u64 = 2 * STREAM_BYTES_MAX;

/// Counts how much the outputs of a run take.
#[derive(Debug)]
pub(crate) struct Retention {
    bytes: u64,
    most: u64,
    reported: bool,
}

impl Retention {
    pub(crate) fn new(run: &RunFolder) -> Self {
        Self { bytes: bytes_of(&run.path.join("iterations")), most: RUN_BYTES_MAX, reported: false }
    }

    /// Adds what a process wrote. Past the limit the oldest outputs are removed; gives a message the first time.
    pub(crate) fn add(&mut self, bytes: u64, run: &RunFolder) -> Option<String> {
        self.bytes = self.bytes.saturating_add(bytes.min(TASK_BYTES_MAX));
        if self.bytes <= self.most {
            return None;
        }
        self.bytes = thin(&run.path.join("iterations"), self.most / 10 * 9);
        let first = !std::mem::replace(&mut self.reported, true);
        first.then(|| {
            format!("the outputs of this loop reached {} MiB: from now on the oldest are removed", self.most >> 20)
        })
    }
}

/// Removes the outputs of the oldest iterations until the rest takes no more than this. Prompts stay.
pub fn thin(iterations: &Path, most: u64) -> u64 {
    let mut bytes = bytes_of(iterations);
    let mut folders = inside(iterations);
    folders.sort();
    folders.truncate(folders.len().saturating_sub(ITERATIONS_SPARED));
    for folder in folders {
        if bytes <= most {
            break;
        }
        bytes = bytes.saturating_sub(remove(&streams(&folder)));
    }
    bytes
}

/// Removes folders; gives how much that freed. What cannot be removed now is tried again next time.
fn remove(folders: &[PathBuf]) -> u64 {
    let taken = || folders.iter().map(|folder| bytes_of(folder)).sum::<u64>();
    let before = taken();
    for folder in folders {
        fs::remove_dir_all(folder).ok();
    }
    before.saturating_sub(taken())
}

fn inside(path: &Path) -> Vec<PathBuf> {
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The folders that hold outputs: of attempts, and of gates.
fn streams(iteration: &Path) -> Vec<PathBuf> {
    let owners =
        inside(iteration).into_iter().flat_map(|path| if path.ends_with("gates") { inside(&path) } else { vec![path] });
    owners.flat_map(|path| [path.join("stdout"), path.join("stderr")]).filter(|path| path.is_dir()).collect()
}

/// What was, or would be, removed to keep all runs within their limit.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Thinned {
    /// What all records took before.
    pub before: u64,
    /// What they take now.
    pub after: u64,
    /// The runs whose outputs were removed, and how much that freed; the run that ended first comes first.
    pub runs: Vec<(RunId, u64)>,
}

/// Removes outputs if the records of all runs are past their limit. `spare` is left out. Does nothing where another
/// process does the same at this moment.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn keep_within(home: &Home, most: u64, spare: Option<&RunId>) -> Result<Option<Thinned>, RunsError> {
    if index::total(home)? <= most {
        return Ok(None);
    }
    let Some(_lock) = lock_pruning(home, FlockOperation::NonBlockingLockExclusive) else { return Ok(None) };
    let bound = Bound { most, then: most / 10 * 9, spare };
    let thinned = thin_and_note(home, &bound)?;
    Ok(Some(thinned).filter(|thinned| !thinned.runs.is_empty()))
}

/// The same at a person's request: waits for another process that does it.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn prune_to(home: &Home, most: u64) -> Result<Thinned, RunsError> {
    // Without the lock two processes would remove more than needed, which is harmless.
    let _lock = lock_pruning(home, FlockOperation::LockExclusive);
    thin_and_note(home, &Bound { most, then: most, spare: None })
}

/// What that would remove, if these runs were gone already.
///
/// # Errors
/// When the folder of the runs cannot be read.
pub fn would_prune_to(home: &Home, most: u64, gone: &[RunId]) -> Result<Thinned, RunsError> {
    let listed = index::list(home)?.into_iter().filter(|listed| !gone.contains(&listed.run.id)).collect();
    let outputs = |run: &RunFolder| outputs_of(run).iter().flatten().map(|stream| bytes_of(stream)).sum();
    Ok(thin_all(listed, &Bound { most, then: most, spare: None }, outputs).0)
}

fn thin_and_note(home: &Home, bound: &Bound<'_>) -> Result<Thinned, RunsError> {
    let (thinned, changed) = thin_all(index::list(home)?, bound, thin_run);
    for run in changed {
        if let Ok(reading) = journal::read(&run.path) {
            index::note(home, &run, &reading.fold());
        }
    }
    Ok(thinned)
}

/// The lock that lets one process remove outputs at a time.
fn lock_pruning(home: &Home, how: FlockOperation) -> Option<File> {
    let path = home.state.join("prune.lock");
    let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).ok()?;
    flock(&file, how).ok().map(|()| file)
}

/// While this is held, no other process removes outputs, so that a locked run is one that is driven.
#[derive(Debug)]
pub struct PruningLock {
    /// Held for its lock. None where the file cannot be made: then a run may be locked for a moment by a process that
    /// removes outputs.
    _file: Option<File>,
}

/// Waits for a process that removes outputs, and keeps others from beginning.
#[must_use]
pub fn wait_for_pruning(home: &Home) -> PruningLock {
    PruningLock { _file: lock_pruning(home, FlockOperation::LockExclusive) }
}

/// How much may be stored.
struct Bound<'a> {
    /// Past this, outputs are removed.
    most: u64,
    /// They are removed until no more than this is left, so that it is not needed again at once.
    then: u64,
    /// The run that is left out.
    spare: Option<&'a RunId>,
}

/// Oldest first, until the limit is kept. Also gives the runs that differ from their entry in the index.
fn thin_all(listed: Vec<Listed>, bound: &Bound<'_>, thin: impl Fn(&RunFolder) -> u64) -> (Thinned, Vec<RunFolder>) {
    let size = |listed: &Listed| match &listed.row {
        Ok(row) => row.bytes.unwrap_or(0),
        Err(_) => bytes_of(&listed.run.path),
    };
    let before = listed.iter().map(size).sum();
    let mut thinned = Thinned { before, after: before, runs: Vec::new() };
    if before <= bound.most {
        return (thinned, Vec::new());
    }
    let mut changed = Vec::new();
    let readable =
        listed.into_iter().filter_map(|listed| Some((listed.row.ok()?, listed.times.created_ms, listed.run)));
    let mut old: Vec<(Row, u64, RunFolder)> = readable.collect();
    // All times are written in the same form, so that their texts sort as they do.
    old.sort_by(|left, right| (&left.0.updated_at, left.1).cmp(&(&right.0.updated_at, right.1)));
    for (row, _, run) in old {
        if thinned.after <= bound.then {
            break;
        }
        if bound.spare == Some(&run.id) || run.holder().is_some() {
            continue;
        }
        // Another process may have removed files of it without an update of the index.
        let gone = row.bytes.unwrap_or(0).saturating_sub(bytes_of(&run.path));
        let freed = thin(&run);
        thinned.after = thinned.after.saturating_sub(gone + freed);
        if freed > 0 {
            thinned.runs.push((run.id.clone(), freed));
        }
        if gone + freed > 0 {
            changed.push(run);
        }
    }
    (thinned, changed)
}

/// The outputs of a run, iteration by iteration, and those of its notifications.
fn outputs_of(run: &RunFolder) -> Vec<Vec<PathBuf>> {
    let mut iterations = inside(&run.path.join("iterations"));
    iterations.sort();
    let notify = ["notify/stdout", "notify/stderr"].map(|name| run.path.join(name));
    let notify = notify.into_iter().filter(|path| path.is_dir()).collect();
    iterations.iter().map(|iteration| streams(iteration)).chain([notify]).filter(|found| !found.is_empty()).collect()
}

/// Removes all outputs of a run that is not driven; gives how much that freed. The run is locked for short times only,
/// so that a resume does not have to wait; then the rest stays.
fn thin_run(run: &RunFolder) -> u64 {
    let mut freed = 0;
    for outputs in outputs_of(run) {
        let Some(_held) = run.try_lock() else { break };
        // Marked first. On a full disk this may fail until something is removed.
        let marked = mark(run);
        freed += remove(&outputs);
        if marked.is_err() {
            mark(run).ok();
        }
    }
    freed
}

fn mark(run: &RunFolder) -> io::Result<()> {
    if run.is_thinned() {
        return Ok(());
    }
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(run.path.join(THINNED))?;
    file.write_all(b"outputs of this loop were removed: the records of all loops took more than keep_bytes\n")
}
