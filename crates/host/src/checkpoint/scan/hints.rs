//! What a scan of only some paths must check in the rest of the workspace.
use std::collections::HashMap;

use super::cache::{CacheEntry, EntryKind, ScanCache};

impl ScanCache {
    /// Whether a file that was scanned because of a hint has a further name that is not known: the kernel
    /// gives no event for the other name when one is made.
    pub(in crate::checkpoint) fn has_unknown_twin(&self) -> bool {
        let folders = || self.arena.folders.iter().flatten();
        let is_twin = |entry: &&CacheEntry| entry.kind == EntryKind::File && entry.stamp.names > 1;
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
}
