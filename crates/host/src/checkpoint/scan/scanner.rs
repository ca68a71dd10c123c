//! Scanning a workspace: every name in scope is compared with the cache. Folders are opened by handle and links are
//! never followed, so the scan cannot be led outside by replacing a folder with a link.
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Mode, openat};

use super::cache::{Arena, ScanCache, TOP};
use super::dir_scan::{ScanFindings, Scanner};
use super::rules::{FolderRules, Rules};
use crate::fs::handle::{FOLDER_FLAGS, joined, split};

/// More threads than this find no more work to do.
const THREADS_MAX: usize = 4;
/// More hints than this cost more than a full scan.
const HINTS_MAX: usize = 4096;

/// What to scan.
#[derive(Debug, Clone, Copy)]
pub enum ScanHint<'a> {
    /// Everything.
    Everything,
    /// These paths, from the workspace. A folder among them is read again, but not the known folders in it.
    Paths(&'a [Vec<u8>]),
    /// Only what changed its kind during the scan.
    Doubts,
}

/// How much of a folder is scanned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::checkpoint) enum Extent {
    /// Some names of it.
    Names(Vec<Box<[u8]>>),
    /// All its names, and folders that are new.
    Shallow,
    /// Everything in it.
    Deep,
}

/// A folder to scan.
pub(in crate::checkpoint) struct ScanTask {
    pub(in crate::checkpoint) index: u32,
    pub(in crate::checkpoint) above: Arc<OwnedFd>,
    /// From `above`: a name, or a path from the workspace.
    pub(in crate::checkpoint) name: Vec<u8>,
    pub(in crate::checkpoint) path: Vec<u8>,
    /// The rules of its own name; those in it are found with it.
    pub(in crate::checkpoint) rules: FolderRules,
    pub(in crate::checkpoint) ignored: bool,
    pub(in crate::checkpoint) extent: Extent,
}

/// What the threads share.
pub(in crate::checkpoint) struct Shared {
    pub(in crate::checkpoint) arena: Arena,
    queue: Vec<ScanTask>,
    /// Tasks that are queued or in progress.
    open: usize,
}

pub(in crate::checkpoint) struct WorkQueue {
    shared: Mutex<Shared>,
    news: Condvar,
}

impl WorkQueue {
    pub(in crate::checkpoint) fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::checkpoint) fn push(&self, shared: &mut Shared, tasks: Vec<ScanTask>) {
        shared.open += tasks.len();
        shared.queue.extend(tasks);
        self.news.notify_all();
    }

    /// The next task; none when all is done.
    fn next(&self) -> Option<ScanTask> {
        let mut shared = self.lock();
        loop {
            if let Some(task) = shared.queue.pop() {
                return Some(task);
            }
            if shared.open == 0 {
                return None;
            }
            shared = self.news.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut shared = self.lock();
        shared.open -= 1;
        if shared.open == 0 {
            self.news.notify_all();
        }
    }
}

/// What a scan could not read, and whether it was cancelled.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct ScanOutcome {
    pub(in crate::checkpoint) unreadable: Vec<(Vec<u8>, String)>,
    pub(in crate::checkpoint) is_cancelled: bool,
}

impl ScanCache {
    /// Compares the workspace with the cache. What has to be read is marked.
    ///
    /// # Errors
    /// When the workspace itself cannot be read.
    pub(in crate::checkpoint) fn scan(
        &mut self,
        workspace: &OwnedFd,
        rules: &Rules,
        hint: ScanHint<'_>,
        cancel: &AtomicBool,
    ) -> io::Result<ScanOutcome> {
        let stat = rustix::fs::fstat(workspace)?;
        let top = Arc::new(openat(workspace, ".", FOLDER_FLAGS, Mode::empty())?);
        let identity = self.identity_of(&stat);
        let is_new = self.identity != identity;
        if is_new {
            // Whatever is known is of another folder.
            let held = std::mem::take(&mut self.held);
            let (still, keeps_ignored) = (self.still, self.keeps_ignored);
            *self = Self { held, identity, still, keeps_ignored, ..Self::empty(&self.run) };
        }
        let check_known = !self.is_of_run || self.rules.clone() != *rules.texts();
        let all = is_new || check_known || std::mem::replace(&mut self.in_doubt, true);
        let now = self.now();
        let scanner = Scanner {
            rules,
            held: std::mem::take(&mut self.held),
            known_is_held: self.is_of_run,
            check_known,
            device: stat.st_dev,
            sure_before: self.moment.least_since(&now),
            read_at: self.read_at(),
            cancel,
        };
        let tasks = match hint {
            ScanHint::Paths(paths) if !all && paths.len() <= HINTS_MAX => {
                let racy = std::mem::take(&mut self.racy);
                self.tasks_of(&[paths, &racy].concat(), &top)
            }
            ScanHint::Doubts if !all => self.tasks_of(&[], &top),
            ScanHint::Paths(_) | ScanHint::Everything | ScanHint::Doubts => vec![self.whole(&top)],
        };
        let is_one = tasks.len() == 1;
        let found = self.run_tasks(&scanner, tasks);
        self.held = scanner.held;
        let is_surprised = found.is_surprised && !is_one;
        let outcome = self.take_in(found, cancel);
        if is_surprised && !outcome.is_cancelled {
            return self.scan(workspace, rules, ScanHint::Everything, cancel);
        }
        if !outcome.is_cancelled {
            self.in_doubt = !outcome.unreadable.is_empty();
            self.is_of_run = true;
            self.rules = rules.texts().clone();
        }
        Ok(outcome)
    }

    fn whole(&mut self, top: &Arc<OwnedFd>) -> ScanTask {
        self.doubts = Vec::new();
        self.racy = Vec::new();
        self.leftovers = Vec::new();
        let (name, path, rules) = (b".".to_vec(), Vec::new(), FolderRules::default());
        ScanTask { index: TOP, above: Arc::clone(top), name, path, rules, ignored: false, extent: Extent::Deep }
    }

    /// The tasks for these paths and for what we changed ourselves.
    fn tasks_of(&mut self, paths: &[Vec<u8>], top: &Arc<OwnedFd>) -> Vec<ScanTask> {
        let own = std::mem::take(&mut self.doubts);
        let mut folders: BTreeMap<u32, Extent> = BTreeMap::new();
        for path in paths.iter().cloned().chain(own) {
            self.aim(&path, &mut folders);
        }
        // What is below a folder that is scanned completely is scanned with it, by the present rules.
        let deep: Vec<u32> =
            folders.iter().filter(|(_, extent)| **extent == Extent::Deep).map(|(index, _)| *index).collect();
        folders.retain(|index, _| !deep.iter().any(|above| self.arena.is_below(*index, *above)));
        let task = |(index, extent): (u32, Extent)| {
            let path = self.arena.path(index);
            let name = if path.is_empty() { b".".to_vec() } else { path.clone() };
            let folder = self.arena.get(index)?;
            let rules = if index == TOP { FolderRules::default() } else { self.arena.rules_in(folder.parent) };
            Some(ScanTask { index, above: Arc::clone(top), name, path, rules, ignored: folder.ignored, extent })
        };
        folders.into_iter().filter_map(task).collect()
    }

    fn aim(&self, path: &[u8], folders: &mut BTreeMap<u32, Extent>) {
        let (index, rest) = self.arena.nearest(path);
        if rest.is_empty() {
            // A known folder: its names, and what it is itself.
            let extent = folders.entry(index).or_insert(Extent::Shallow);
            if matches!(extent, Extent::Names(_)) {
                *extent = Extent::Shallow;
            }
            if index == TOP {
                return;
            }
        }
        let known = self.arena.path(index);
        let (index, name) = if rest.is_empty() {
            let (_, name) = split(&known);
            (self.arena.get(index).map_or(TOP, |folder| folder.parent), name)
        } else {
            (index, rest.split(|byte| *byte == b'/').next().unwrap_or(rest))
        };
        let extent = folders.entry(index).or_insert_with(|| Extent::Names(Vec::new()));
        if name == b".gitignore" {
            *extent = Extent::Deep;
        } else if let Extent::Names(names) = extent
            && !names.iter().any(|known| known.as_ref() == name)
        {
            names.push(name.into());
        }
    }

    /// Does the tasks and all that come of them.
    fn run_tasks(&mut self, scanner: &Scanner<'_>, tasks: Vec<ScanTask>) -> ScanFindings {
        let deep = tasks.iter().any(|task| task.extent == Extent::Deep);
        let threads = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, THREADS_MAX);
        let arena = std::mem::take(&mut self.arena);
        let queue =
            WorkQueue { shared: Mutex::new(Shared { arena, open: tasks.len(), queue: tasks }), news: Condvar::new() };
        let work = || {
            let mut found = ScanFindings::default();
            while let Some(task) = queue.next() {
                scanner.folder(&queue, task, &mut found);
                queue.done();
            }
            found
        };
        let found = std::thread::scope(|scope| {
            let others: Vec<_> = (1..if deep { threads } else { 1 }).map(|_| scope.spawn(work)).collect();
            let mut found = work();
            others.into_iter().filter_map(|other| other.join().ok()).for_each(|other| found.add(other));
            found
        });
        self.arena = queue.shared.into_inner().unwrap_or_else(PoisonError::into_inner).arena;
        found
    }

    /// Takes in what the threads found.
    fn take_in(&mut self, found: ScanFindings, cancel: &AtomicBool) -> ScanOutcome {
        for (path, folder) in found.removed {
            let (is_of_run, held) = (self.is_of_run, &mut self.held);
            let mut hold = |path| {
                if is_of_run {
                    held.insert(path);
                }
            };
            if let Some(folder) = folder {
                self.arena.forget(folder, &path, &mut hold);
            }
            hold(path);
        }
        for index in found.stale {
            self.arena.stale(index);
        }
        for index in found.dirty {
            self.arena.dirty(index);
        }
        self.leftovers.extend(found.leftovers);
        // What is gone from its folder by now is in no doubt.
        let arena = &self.arena;
        self.doubts.extend(found.again.into_iter().filter(|path| arena.nearest(path).1.is_empty()));
        ScanOutcome { unreadable: found.unreadable, is_cancelled: cancel.load(Ordering::Relaxed) }
    }
}

/// The path of a name in the folder of a task.
pub(in crate::checkpoint) fn path_in(task: &ScanTask, name: &[u8]) -> Vec<u8> {
    joined(&task.path, name)
}
