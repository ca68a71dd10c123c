//! After an apply that was cut off: each path is as it was before, as it is in the result, in between, or a person
//! changed it since. A person's change is kept; where the apply needs that path too, it cannot be finished.
use std::collections::{BTreeMap, BTreeSet};

use super::assemble::{above, has_below};
use super::conflict::{Conflict, ConflictKind, ConflictSide};
use super::links::Group;
use super::names::is_file;
use crate::checkpoint::{Checkpoint, StoredEntry, StoredKind};

/// What a folder has while it is being made or written into.
const OPEN: u32 = 0o700;

/// The states of the workspace.
#[derive(Debug)]
pub(super) struct States {
    /// Before the apply.
    pub(super) before: Checkpoint,
    /// What it leads to.
    pub(super) applied: Checkpoint,
    /// After the crash, and after what a person did since.
    pub(super) now: Checkpoint,
}

/// Where to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// It is finished.
    Applied,
    /// It is undone.
    Before,
}

/// A state without anything half done.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) names: BTreeMap<Vec<u8>, StoredEntry>,
    pub(super) same: Vec<Group>,
    /// What a person changed and the apply changes too. None where it is undone: then the person's version is kept.
    pub(super) conflicts: Vec<Conflict>,
}

/// What the workspace becomes.
pub(super) fn settle(states: &States, direction: Direction) -> Settled {
    let target = match direction {
        Direction::Applied => &states.applied,
        Direction::Before => &states.before,
    };
    let mut settled = Settled { names: BTreeMap::new(), same: Vec::new(), conflicts: Vec::new() };
    let all = states.before.names.keys().chain(states.applied.names.keys()).chain(states.now.names.keys());
    for path in all.collect::<BTreeSet<_>>() {
        let of = |checkpoint: &Checkpoint| checkpoint.names.get(path).cloned();
        let (before, applied, now) = (of(&states.before), of(&states.applied), of(&states.now));
        let is_ours = match &now {
            // A name is free for a moment before something else gets it.
            None => before != applied,
            Some(now) => [&before, &applied].into_iter().flatten().any(|known| is_left_by_apply(now, known)),
        };
        let entry = if is_ours { of(target) } else { now.clone() };
        if !is_ours && before != applied && direction == Direction::Applied {
            let side = |entry: Option<StoredEntry>| entry.map(|entry| ConflictSide { path: path.clone(), entry });
            let kind = ConflictKind::BothChanged;
            settled.conflicts.push(Conflict { path: path.clone(), kind, ours: side(now), theirs: side(applied) });
        }
        if let Some(entry) = entry {
            settled.names.insert(path.clone(), entry);
        }
    }
    keep_whole(states, direction, &mut settled);
    settled.same = groups(target, &states.now, &settled.names);
    settled
}

/// Whether an apply that was cut off could have left this of a name.
fn is_left_by_apply(now: &StoredEntry, known: &StoredEntry) -> bool {
    let both_folders = now.what == StoredKind::Folder && known.what == StoredKind::Folder;
    now == known || both_folders && (now.mode == known.mode | OPEN || now.mode == OPEN)
}

/// A person's new file needs its folder, which the target may not have.
fn keep_whole(states: &States, direction: Direction, settled: &mut Settled) {
    let paths: Vec<Vec<u8>> = settled.names.keys().cloned().collect();
    for path in &paths {
        for folder in above(path) {
            if settled.names.get(folder).is_some_and(|entry| entry.what == StoredKind::Folder) {
                continue;
            }
            let now = states.now.names.get(folder).filter(|entry| entry.what == StoredKind::Folder);
            let usual = StoredEntry { what: StoredKind::Folder, mode: 0o755 };
            let lost = settled.names.insert(folder.to_vec(), now.cloned().unwrap_or(usual));
            if lost.is_some() && direction == Direction::Applied {
                let kind = ConflictKind::FileAgainstFolder;
                let side =
                    |entry: Option<StoredEntry>| entry.map(|entry| ConflictSide { path: folder.to_vec(), entry });
                let (ours, theirs) = (side(now.cloned()), side(lost));
                settled.conflicts.push(Conflict { path: folder.to_vec(), kind, ours, theirs });
            }
        }
    }
    debug_assert!(settled.names.iter().all(|(path, entry)| !is_file(Some(entry)) || !has_below(&settled.names, path)));
}

/// Names that are one file: as in the target, and those that a person made since.
fn groups(target: &Checkpoint, now: &Checkpoint, names: &BTreeMap<Vec<u8>, StoredEntry>) -> Vec<Group> {
    let as_in = |of: &Checkpoint, name: &Vec<u8>| {
        names
            .get(name)
            .is_some_and(|entry| of.names.get(name) == Some(entry) && matches!(entry.what, StoredKind::File(_)))
    };
    let of_target = |group: &Group| group.iter().filter(|name| as_in(target, name)).cloned().collect::<Group>();
    let mut groups: BTreeSet<Group> = target.manifest.same.iter().map(of_target).collect();
    let is_new = |group: &&Group| group.iter().all(|name| !target.names.contains_key(name) && as_in(now, name));
    groups.extend(now.manifest.same.iter().filter(is_new).cloned());
    groups.into_iter().filter(|group| group.len() > 1).collect()
}
