//! Trees of a plan by their hash. The machine names a tree by its hash; the store has it as a checkpoint of the plan or of
//! one of its runs.
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::checkpoint::diff::{self, Bounds, ChangeKind, CommitPair};
use crate::checkpoint::{CheckpointContext, Id, Store};

/// A tree in the store of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredTree {
    /// The plan or the run whose checkpoint it is.
    pub(super) owner: String,
    /// The name of the checkpoint.
    pub(super) name: String,
    /// Its commit.
    pub(super) id: Id,
}

impl StoredTree {
    /// Its name in the store.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

/// The store of a plan, to look trees up.
#[derive(Debug)]
pub(super) struct PlanTrees(Store);

impl PlanTrees {
    pub(super) fn open(context: &CheckpointContext) -> io::Result<Self> {
        Store::open(&context.store).map(Self)
    }

    pub(super) fn store(&self) -> &Store {
        &self.0
    }

    /// The hash of a checkpoint by its full name.
    pub(super) fn hash(&self, full: &str) -> io::Result<String> {
        self.0.tree_hash(&self.0.named(full)?)
    }

    /// The checkpoint of one of these owners that has this tree.
    pub(super) fn find(&self, owners: &[String], tree: &str) -> io::Result<StoredTree> {
        for owner in owners {
            for (full, id) in self.0.names_of(owner)? {
                if self.0.tree_hash(&id).is_ok_and(|hash| hash == tree)
                    && let Some((owner, name)) = full.split_once('/')
                {
                    return Ok(StoredTree { owner: owner.to_owned(), name: name.to_owned(), id });
                }
            }
        }
        Err(io::Error::new(io::ErrorKind::NotFound, format!("no checkpoint has the tree {tree} any more")))
    }

    /// A path that a run found otherwise in its copy than the plan had given it: by the tree that was copied and the one
    /// that the run began with. What the rules of the workspace leave out may count in a copy, so what only came does
    /// not count if the workspace has it too.
    pub(super) fn changed_between(
        &self,
        copied: &StoredTree,
        begun: &StoredTree,
        workspace: &Path,
    ) -> io::Result<Option<Vec<u8>>> {
        let bounds = Bounds { all_bytes: 0, file_steps: 0, all_steps: 0, rename_pairs: 0, ..Bounds::default() };
        let commits = CommitPair { from: Some(copied.id), to: begun.id };
        let changes = diff::changes(&self.0, &self.0, commits, &bounds)?.changes;
        let is_other = |path: &[u8], what: &ChangeKind| match what {
            ChangeKind::Mode => false,
            ChangeKind::Made => workspace.join(OsStr::from_bytes(path)).symlink_metadata().is_err(),
            ChangeKind::Removed | ChangeKind::Changed | ChangeKind::Kind | ChangeKind::Renamed { .. } => true,
        };
        let found = changes.iter().find(|change| change.is_of_files() && is_other(&change.path, &change.what));
        Ok(found.map(|change| change.path.clone()))
    }
}
