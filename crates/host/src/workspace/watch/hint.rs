//! The result of the watcher: where something may have changed, or why that is not known.
use std::collections::BTreeSet;

/// A list longer than this is not worth more than a walk.
const PATHS_MAX: usize = 8192;

/// Where something may have changed since the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchHint {
    /// Anywhere.
    Everything(NoListReason),
    /// Here, by the kernel's events: a hint, never a proof.
    Changes(Changes),
}

/// Why there is no list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoListReason {
    /// The watch has just begun.
    Start,
    /// The kernel dropped events.
    Overflow,
    /// So many changes are no list.
    TooMany,
    /// Rules of what is in scope have changed: an ignore file, or the repository itself.
    Rules,
    /// The workspace itself was moved, removed or unmounted.
    Moved,
    /// Something that should not happen did.
    Doubt,
    /// There is no watch, and there will be none.
    Off,
}

/// A list of changes. Paths are relative to the workspace, with `/` between names. None of them lies in one of
/// `folders`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// Names to inspect again, each alone: what is there, its permissions, its content.
    pub names: BTreeSet<Vec<u8>>,
    /// Names to inspect again with all that is below, now or when last inspected.
    pub folders: BTreeSet<Vec<u8>>,
}

impl WatchHint {
    /// Whether the hint says that a path changed or may have changed.
    #[must_use]
    pub fn covers(&self, path: &[u8]) -> bool {
        match self {
            Self::Everything(_) => true,
            Self::Changes(changes) => changes.covers(path),
        }
    }
}

impl Changes {
    /// Whether a path is on the list, or below a folder on it.
    #[must_use]
    pub fn covers(&self, path: &[u8]) -> bool {
        self.names.contains(path) || self.folders.contains(path) || self.lies_in_a_folder(path)
    }

    /// Whether nothing is on the list.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.folders.is_empty()
    }

    fn lies_in_a_folder(&self, path: &[u8]) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.into_iter().any(|(at, _)| path.get(..at).is_some_and(|above| self.folders.contains(above)))
    }
}

/// A list in progress, which gives up when it is too long.
#[derive(Debug, Default)]
pub(super) struct List {
    changes: Changes,
    too_long: bool,
}

impl List {
    pub(super) fn name(&mut self, path: Vec<u8>) {
        self.changes.names.insert(path);
        self.bound();
    }

    pub(super) fn folder(&mut self, path: Vec<u8>) {
        self.changes.folders.insert(path);
        self.bound();
    }

    fn bound(&mut self) {
        if self.too_long || self.changes.names.len() + self.changes.folders.len() > PATHS_MAX {
            self.too_long = true;
            self.changes = Changes::default();
        }
    }

    /// The list, each path once.
    pub(super) fn finish(self) -> WatchHint {
        if self.too_long {
            return WatchHint::Everything(NoListReason::TooMany);
        }
        let all = self.changes;
        let inner = |path: &&Vec<u8>| !all.lies_in_a_folder(path);
        let names = all.names.iter().filter(inner).filter(|path| !all.folders.contains(*path)).cloned().collect();
        let folders = all.folders.iter().filter(inner).cloned().collect();
        WatchHint::Changes(Changes { names, folders })
    }
}
