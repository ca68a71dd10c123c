//! Trees of a plan by their hash. The machine names a tree by its hash; the store has it as a checkpoint of the plan or of
//! one of its runs.
use std::io;

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
}
