//! Applying a checkpoint of another run to the workspace. The state before is a checkpoint, the merged state is one,
//! and only then the workspace is changed, by the machinery of rollbacks.
//!
//! What a crash left is read off two things: the mark in the store, which is written before the merged checkpoint and
//! removed when the workspace is equal to it, and the merged checkpoint itself.
//!
//! | mark | merged checkpoint | so |
//! |---|---|---|
//! | no | no | nothing was begun |
//! | yes | no | nothing was changed |
//! | yes | yes | the workspace is half changed: it is finished, or undone |
//! | no | yes | it is done |
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use loop_core::text;
use rustix::fs::{AtFlags, Dir, FileType, statat};

use super::assemble::Assembled;
use super::conflict::{Conflict, ConflictKind};
use super::names::{is_file, repository_of};
use super::settle::{Direction, Settled, States, settle};
use super::three_way::{MergeCounts, MergeRequest, merge, write};
use crate::checkpoint::{
    CheckpointError, Differences, Id, MadeCheckpoint, RestoreResult, RunCheckpoints, Store, StoredEntry, StoredKind,
};
use crate::fs::handle::{folder_beneath, joined, split};

/// The usual name of the state before an apply.
pub const BEFORE_APPLY: &str = "before-apply";
/// The usual name of the state after it.
pub const APPLIED: &str = "applied";

/// What is applied. A second apply of the same owner needs two other names for its checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplyRequest<'a> {
    /// The state that both sides began with: the name of a checkpoint of the owner, such as `initial`.
    pub base: &'a str,
    /// The full name of a checkpoint in the same store, `<run>/<name>`.
    pub theirs: &'a str,
    /// The name of the checkpoint of the workspace as it is before, such as [`BEFORE_APPLY`].
    pub before: &'a str,
    /// The name of the result, such as [`APPLIED`].
    pub applied: &'a str,
}

/// What an apply did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApplyReport {
    /// The checkpoint of the workspace as it was before: rolling back to it undoes the apply.
    pub before: String,
    /// The checkpoint that the workspace is equal to now.
    pub applied: String,
    /// The hash of its tree.
    pub tree: String,
    /// Files and links that were written, with new or changed content or permissions.
    pub written: Vec<Vec<u8>>,
    /// Files and links that were removed.
    pub removed: Vec<Vec<u8>>,
    /// Files and links that a person changed since the base, and that were kept as they are, or merged.
    pub kept: Vec<Vec<u8>>,
    /// Where something was moved that changed while the apply was in progress.
    pub aside: Vec<Vec<u8>>,
    /// Folders that the result does not have and that stay, because ignored files are in them.
    pub left: Vec<Vec<u8>>,
    /// What the other side does not hold because its rules leave it out: it stays as it is.
    pub out_of_scope: Vec<Vec<u8>>,
    /// What was taken from whom.
    pub counts: MergeCounts,
}

/// An apply that stopped before it changed anything, or that was undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedApply {
    /// The full name of the checkpoint with the workspace's version.
    pub ours: String,
    /// The full name of the checkpoint with the other version.
    pub theirs: String,
    /// Sorted by path, at least one.
    pub conflicts: Vec<Conflict>,
}

/// What became of an apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyOutcome {
    /// The workspace is equal to the merged checkpoint.
    Applied(ApplyReport),
    /// The workspace is as it was.
    Conflicts(RefusedApply),
}

/// Merges another run's checkpoint into the workspace. The owner of `checkpoints` holds the workspace's lock.
///
/// After a crash the same call again finishes it, or undoes it where a person has changed the same files since. An
/// apply that is done is not repeated: the report comes from its checkpoints.
///
/// # Errors
/// `Refused` where nothing was changed; `Blocked` where something must be fixed first, and then the same call again.
pub fn apply(checkpoints: &mut RunCheckpoints, request: &ApplyRequest<'_>) -> Result<ApplyOutcome, CheckpointError> {
    if !checkpoints.has_contents() {
        let why = "the checkpoints of this workspace are snapshots, and a merge needs the backend `git`";
        return Err(CheckpointError::Refused(why.to_owned()));
    }
    let is_marked = match checkpoints.cut_off() {
        None => false,
        Some((owner, to)) if owner == checkpoints.owner() && to == request.applied => true,
        Some((owner, to)) => {
            let why = format!("a rollback of {owner} to {to} is not done in this workspace: finish it first");
            return Err(CheckpointError::Refused(why));
        }
    };
    let applying = Applying::new(checkpoints, request)?;
    match (is_marked, applying.checkpoints.id(request.applied)) {
        (_, None) => applying.begin(),
        (true, Some(applied)) => applying.finish(applied),
        (false, Some(applied)) => applying.done(applied),
    }
}

/// An apply in progress.
struct Applying<'a> {
    checkpoints: &'a mut RunCheckpoints,
    request: &'a ApplyRequest<'a>,
    base: Id,
    theirs: Id,
}

/// A checkpoint that the workspace becomes equal to, where no person changed anything since.
struct Usual<'a> {
    name: &'a str,
    id: Id,
    names: &'a BTreeMap<Vec<u8>, StoredEntry>,
}

/// What the workspace is equal to now.
struct Done {
    target: Id,
    name: String,
    restored: RestoreResult,
}

fn failed(error: io::Error) -> CheckpointError {
    CheckpointError::Blocked(format!("cannot merge: {error}"))
}

impl<'a> Applying<'a> {
    fn new(checkpoints: &'a mut RunCheckpoints, request: &'a ApplyRequest<'a>) -> Result<Self, CheckpointError> {
        let missing = |name: &str| CheckpointError::Refused(format!("there is no checkpoint {name}"));
        let base = checkpoints.id(request.base).ok_or_else(|| missing(request.base))?;
        checkpoints.store().refresh().map_err(failed)?;
        let theirs = checkpoints.store().named(request.theirs).map_err(|_| missing(request.theirs))?;
        Ok(Self { checkpoints, request, base, theirs })
    }

    /// Merges a state of the workspace with the other side.
    fn merge(&mut self, ours: Id) -> Result<Assembled, CheckpointError> {
        let wanted = MergeRequest { base: self.base, ours, theirs: self.theirs, name: "" };
        merge(self.checkpoints.store(), &wanted).map_err(failed)
    }

    fn refused(&self, conflicts: Vec<Conflict>) -> ApplyOutcome {
        let (ours, theirs) = (self.checkpoints.full(self.request.before), self.request.theirs.to_owned());
        ApplyOutcome::Conflicts(RefusedApply { ours, theirs, conflicts })
    }

    /// The first time. Until the merged checkpoint is written, nothing in the workspace is changed.
    fn begin(mut self) -> Result<ApplyOutcome, CheckpointError> {
        let before = self.checkpoints.take_again(self.request.before)?;
        let mut merged = self.merge(before)?;
        if merged.conflicts.is_empty() {
            merged.conflicts = in_the_way(self.checkpoints.folder(), &merged).map_err(failed)?;
        }
        if !merged.conflicts.is_empty() {
            // What an apply that was killed may have left: nothing was changed.
            self.checkpoints.mark_synced(None).map_err(failed)?;
            return Ok(self.refused(merged.conflicts));
        }
        let kept = kept(&merged.our_changes);
        self.checkpoints.mark_synced(Some(self.request.applied)).map_err(failed)?;
        let name = self.checkpoints.full(self.request.applied);
        let wanted = MergeRequest { base: self.base, ours: before, theirs: self.theirs, name: &name };
        let written = write(self.checkpoints.store(), &wanted, merged).map_err(failed)?;
        let restored = self.checkpoints.make_equal(written.id, before)?;
        self.checkpoints.mark_synced(None).map_err(failed)?;
        let report = self.report(before, written.id, self.request.applied)?.with(restored);
        let (counts, out_of_scope) = (written.counts, written.out_of_scope);
        Ok(ApplyOutcome::Applied(ApplyReport { kept, counts, out_of_scope, ..report }))
    }

    /// The checkpoint from before, and what was merged then: the same request gives the same result.
    fn of_first_time(&mut self, applied: Id) -> Result<(Id, Assembled), CheckpointError> {
        let name = self.request.before;
        let gone = || CheckpointError::Blocked(format!("checkpoint {name} is not there any more"));
        let before = self.checkpoints.id(name).ok_or_else(gone)?;
        let merged = self.merge(before)?;
        let there = self.checkpoints.store().load(applied).map_err(failed)?;
        if !merged.conflicts.is_empty() || merged.names != there.names {
            let why = format!("checkpoint {} exists already, and it is of another apply", self.request.applied);
            return Err(CheckpointError::Refused(why));
        }
        Ok((before, merged))
    }

    /// The name of a state in which a person's changes since a crash are kept.
    fn with_later_changes(name: &str) -> String {
        format!("{name}+")
    }

    /// It was done before.
    fn done(mut self, applied: Id) -> Result<ApplyOutcome, CheckpointError> {
        let (before, merged) = self.of_first_time(applied)?;
        let later = Self::with_later_changes(self.request.applied);
        let (target, name) = match self.checkpoints.id(&later) {
            Some(id) => (id, later.as_str()),
            None => (applied, self.request.applied),
        };
        let report = self.report(before, target, name)?;
        let Assembled { our_changes, counts, out_of_scope, .. } = merged;
        Ok(ApplyOutcome::Applied(ApplyReport { kept: kept(&our_changes), counts, out_of_scope, ..report }))
    }

    /// It was cut off.
    fn finish(mut self, applied: Id) -> Result<ApplyOutcome, CheckpointError> {
        let (before, merged) = self.of_first_time(applied)?;
        let now = self.checkpoints.take_beside(self.request.before)?;
        let store = self.checkpoints.store();
        let load = |id: Id| store.load(id).map_err(failed);
        let states = States { before: load(before)?, applied: load(applied)?, now: load(now)? };
        let forward = settle(&states, Direction::Applied);
        if !forward.conflicts.is_empty() {
            let back = settle(&states, Direction::Before);
            let usual = Usual { name: self.request.before, id: before, names: &states.before.names };
            self.settle_to(&back, usual, now)?;
            let name = self.checkpoints.full(self.request.applied);
            self.checkpoints.store().remove(&name).map_err(failed)?;
            self.checkpoints.mark_synced(None).map_err(failed)?;
            return Ok(self.refused(forward.conflicts));
        }
        let usual = Usual { name: self.request.applied, id: applied, names: &states.applied.names };
        let Done { target, name, restored } = self.settle_to(&forward, usual, now)?;
        self.checkpoints.mark_synced(None).map_err(failed)?;
        let report = self.report(before, target, &name)?.with(restored);
        let Assembled { our_changes, counts, out_of_scope, .. } = merged;
        Ok(ApplyOutcome::Applied(ApplyReport { kept: kept(&our_changes), counts, out_of_scope, ..report }))
    }

    /// Makes the workspace equal to a settled state: a checkpoint that exists, or one with a person's later changes.
    fn settle_to(&mut self, settled: &Settled, usual: Usual<'_>, now: Id) -> Result<Done, CheckpointError> {
        let (target, name) = if settled.names == *usual.names {
            (usual.id, usual.name.to_owned())
        } else {
            let name = Self::with_later_changes(usual.name);
            let full = self.checkpoints.full(&name);
            let Settled { names, same, .. } = settled;
            let made = MadeCheckpoint { name: &full, parent: now, names, same, contents: &[] };
            (self.checkpoints.store().write_made(&made).map_err(failed)?, name)
        };
        let restored = self.checkpoints.make_equal(target, now)?;
        Ok(Done { target, name, restored })
    }

    fn report(&mut self, before: Id, target: Id, name: &str) -> Result<ApplyReport, CheckpointError> {
        let store: &Store = self.checkpoints.store();
        let mut report = ApplyReport {
            before: self.request.before.to_owned(),
            applied: name.to_owned(),
            tree: store.tree_hash(&target).map_err(failed)?,
            ..ApplyReport::default()
        };
        for (path, (now, then)) in store.between(&before, &target).map_err(failed)? {
            match (is_file(now.as_ref()), is_file(then.as_ref())) {
                (_, true) => report.written.push(path),
                (true, false) => report.removed.push(path),
                (false, false) => {}
            }
        }
        Ok(report)
    }
}

impl ApplyReport {
    /// With what the restore met.
    fn with(self, restored: RestoreResult) -> Self {
        let aside = restored.moved_aside.into_iter().chain(restored.changed_since).map(|(_, to)| to).collect();
        Self { aside, left: restored.left, ..self }
    }
}

/// The files that a person changed since the base.
fn kept(changes: &Differences) -> Vec<Vec<u8>> {
    let is_work = |(path, (before, after)): &(&Vec<u8>, &(Option<StoredEntry>, Option<StoredEntry>))| {
        repository_of(path).is_none() && (is_file(before.as_ref()) || is_file(after.as_ref()))
    };
    changes.iter().filter(is_work).map(|(path, _)| path.clone()).collect()
}

/// What is in the workspace, in no checkpoint, and under a name that the result needs.
fn in_the_way(workspace: &OwnedFd, merged: &Assembled) -> io::Result<Vec<Conflict>> {
    let mut found = Vec::new();
    let conflict =
        |path: &[u8]| Conflict { path: path.to_vec(), kind: ConflictKind::InTheWay, ours: None, theirs: None };
    for (path, entry) in &merged.names {
        match merged.ours.get(path) {
            None => {
                let there = kind_at(workspace, path)?;
                let is_fine = there.is_none_or(|there| there && entry.what == StoredKind::Folder);
                if !is_fine {
                    found.push(conflict(path));
                }
            }
            Some(ours) if ours.what == StoredKind::Folder && entry.what != StoredKind::Folder => {
                let mut unknown = Vec::new();
                unknown_below(workspace, path, &merged.ours, &mut unknown)?;
                found.extend(unknown.iter().map(|path| conflict(path)));
            }
            Some(_) => {}
        }
    }
    Ok(found)
}

/// Whether a path is a folder; none where nothing is there.
fn kind_at(workspace: &OwnedFd, path: &[u8]) -> io::Result<Option<bool>> {
    let (above, name) = split(path);
    // Where the folder is missing, or is a file, that one is looked at by itself.
    let Ok(folder) = folder_beneath(workspace, above) else { return Ok(None) };
    match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)),
        Err(rustix::io::Errno::NOENT) => Ok(None),
        Err(error) => Err(io::Error::other(format!("{}: {error}", text::escape_path(path)))),
    }
}

/// What is in a folder and in no checkpoint.
fn unknown_below(
    workspace: &OwnedFd,
    path: &[u8],
    known: &BTreeMap<Vec<u8>, StoredEntry>,
    found: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    let folder = folder_beneath(workspace, path)?;
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        let path = joined(path, name);
        match known.get(&path) {
            Some(entry) if entry.what == StoredKind::Folder => unknown_below(workspace, &path, known, found)?,
            Some(_) => {}
            None => found.push(path),
        }
    }
    Ok(())
}
