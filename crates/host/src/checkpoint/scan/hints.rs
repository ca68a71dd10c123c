//! Where to look when a watcher has named some places: there, and wherever it cannot see.
use std::collections::HashMap;

use super::cache::{Entry, ScanCache, Sort};
use crate::fs::handle::joined;
use crate::workspace::watch::Changes;

/// More places than this are not worth more than a whole look.
const PLACES_MAX: usize = 4096;

impl ScanCache {
    /// Whether a file that was looked at because of a hint has a name that is not known to be one of it: the kernel
    /// does not tell of the other name when one is made.
    pub(in crate::checkpoint) fn has_unknown_twin(&self) -> bool {
        let folders = || self.arena.folders.iter().flatten();
        let is_twin = |entry: &&Entry| entry.sort == Sort::File && entry.stamp.names > 1;
        if !folders().filter(|folder| folder.stale).any(|folder| folder.entries.iter().any(|entry| is_twin(&entry))) {
            return false;
        }
        let mut names: HashMap<u64, u64> = HashMap::new();
        for entry in folders().flat_map(|folder| folder.entries.iter().filter(is_twin)) {
            *names.entry(entry.stamp.inode).or_default() += 1;
        }
        folders()
            .filter(|folder| folder.stale)
            .flat_map(|folder| folder.entries.iter().filter(is_twin))
            .any(|entry| names.get(&entry.stamp.inode).is_none_or(|known| *known < u64::from(entry.stamp.names)))
    }

    /// The folders that are repositories of their own.
    pub(in crate::checkpoint) fn repositories(&self) -> Vec<Vec<u8>> {
        let all = (1_u32..).take(self.arena.folders.len());
        let is_one = |index: &u32| self.arena.get(*index).is_some_and(|folder| folder.find(b".git").is_ok());
        all.filter(is_one).map(|index| self.arena.path(index)).collect()
    }

    /// Whether a path is in it.
    pub(in crate::checkpoint) fn knows(&self, path: &[u8]) -> bool {
        self.arena.entry(path).is_some()
    }

    /// The paths to look at; none means everywhere.
    #[must_use]
    pub fn where_to_look(&self, changes: &Changes) -> Option<Vec<Vec<u8>>> {
        let mut paths: Vec<Vec<u8>> = changes.names.iter().chain(&changes.folders).cloned().collect();
        for index in (0_u32..).take(self.arena.folders.len()) {
            let Some(folder) = self.arena.get(index) else { continue };
            let linked = folder.counts.linked > 0;
            if !folder.ignored && !linked && changes.folders.is_empty() {
                continue;
            }
            let path = self.arena.path(index);
            // What is held in an ignored folder is not watched; a folder that was moved or made anew counts with all
            // that was below it.
            if folder.ignored || changes.covers(&path) {
                paths.push(path.clone());
            }
            // Writing by one name of a file tells nothing of the others.
            let twins = folder.entries.iter().filter(|entry| entry.sort == Sort::File && entry.stamp.names > 1);
            paths.extend(twins.map(|entry| joined(&path, &entry.name)));
            if paths.len() > PLACES_MAX {
                return None;
            }
        }
        Some(paths)
    }
}
