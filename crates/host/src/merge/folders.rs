//! Folders: which there are in the result, also empty ones, and their permissions.
use std::collections::BTreeMap;

use super::conflict::{Conflict, ConflictKind};
use super::names::Sides;
use crate::checkpoint::{StoredEntry, StoredKind};

/// Folders that one side touched.
#[derive(Debug, Default)]
pub(super) struct MergedFolders {
    /// The permissions of each that is wanted for itself.
    pub(super) wanted: BTreeMap<Vec<u8>, u32>,
    /// Those that are there only while something is in them, with the permissions that they have then.
    pub(super) only_if_full: BTreeMap<Vec<u8>, u32>,
    pub(super) conflicts: Vec<Conflict>,
}

fn mode_of(entry: Option<&StoredEntry>) -> Option<u32> {
    entry.filter(|entry| entry.what == StoredKind::Folder).map(|entry| entry.mode)
}

/// Merges all folders that one side touched.
pub(super) fn merge_folders(sides: &Sides) -> MergedFolders {
    let mut done = MergedFolders::default();
    for path in sides.touched() {
        let (base, ours, theirs) = (mode_of(sides.base(path)), mode_of(sides.ours(path)), mode_of(sides.theirs(path)));
        let Some(any) = ours.or(theirs).or(base) else { continue };
        let wanted = match (base, ours, theirs) {
            _ if ours == theirs || theirs == base => ours,
            _ if ours == base => theirs,
            (Some(_), Some(_), Some(_)) => {
                done.conflicts.push(sides.conflict(path, ConflictKind::Mode));
                continue;
            }
            // Both made it, with permissions of their own: ours stay. Or one removed it and the other one changed its
            // permissions: it stays.
            _ => ours.or(theirs),
        };
        match wanted {
            Some(mode) => done.wanted.insert(path.clone(), mode),
            None => done.only_if_full.insert(path.clone(), any),
        };
    }
    done
}
