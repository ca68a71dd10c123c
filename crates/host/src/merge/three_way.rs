//! Reading three checkpoints and making a fourth one, or a list of conflicts.
use std::io;

use super::assemble::{Assembled, assemble};
use super::conflict::Conflict;
use super::names::Sides;
use crate::checkpoint::{Id, MadeCheckpoint, Store};

/// What is merged. All three are commits of one store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MergeRequest<'a> {
    /// The state that both sides began with.
    pub base: Id,
    /// One side. Its rules and its ignored files become those of the result.
    pub ours: Id,
    /// The other side.
    pub theirs: Id,
    /// The full name of the result, `<run or plan>/<name>`. One that exists is replaced.
    pub name: &'a str,
}

/// How many files and links were taken from whom.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MergeCounts {
    /// Only our side changed them.
    pub ours: u64,
    /// Only the other side changed them.
    pub theirs: u64,
    /// Both sides made the same change.
    pub same: u64,
    /// Both sides changed them, and both changes are in the result.
    pub merged: u64,
}

/// A merge that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// The new checkpoint.
    pub id: Id,
    /// The hash of its tree, as `CheckpointReport` has it.
    pub tree: String,
    /// What was taken from whom.
    pub counts: MergeCounts,
    /// What the other side does not hold because its rules leave it out: it stays as it is.
    pub out_of_scope: Vec<Vec<u8>>,
}

/// What became of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeOutcome {
    /// A new checkpoint.
    Merged(Merged),
    /// Nothing was written. Sorted by path.
    Conflicts(Vec<Conflict>),
}

/// Merges two checkpoints that began with a third one. The result is a checkpoint in the store, or nothing is written.
///
/// # Errors
/// When something of them is missing or damaged, or the store cannot be written.
pub fn three_way(store: &mut Store, request: &MergeRequest<'_>) -> io::Result<MergeOutcome> {
    // So that no clean-up removes what is read.
    let _lock = store.lock(false)?;
    store.refresh()?;
    let assembled = merge(store, request)?;
    if !assembled.conflicts.is_empty() {
        return Ok(MergeOutcome::Conflicts(assembled.conflicts));
    }
    write(store, request, assembled).map(MergeOutcome::Merged)
}

/// The merge alone; nothing is written.
pub(super) fn merge(store: &Store, request: &MergeRequest<'_>) -> io::Result<Assembled> {
    let sides = Sides::load(store, request)?;
    assemble(store, sides)
}

/// Writes a merge without conflicts.
pub(super) fn write(store: &mut Store, request: &MergeRequest<'_>, assembled: Assembled) -> io::Result<Merged> {
    let Assembled { names, same, contents, counts, out_of_scope, .. } = assembled;
    let made =
        MadeCheckpoint { name: request.name, parent: request.ours, names: &names, same: &same, contents: &contents };
    let id = store.write_made(&made)?;
    Ok(Merged { id, tree: store.tree_hash(&id)?, counts, out_of_scope })
}
