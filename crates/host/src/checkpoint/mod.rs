//! Checkpoints: the workspace as it was, recorded outside of it as ordinary git objects in a git folder of ours, with a
//! manifest for what git cannot hold. No git program is run, and nothing in the workspace's own `.git` is touched.
//!
//! Layers, the lower ones first. A layer uses those above it in this table only by a type that it is given.
//!
//! | layer | what it does | what it never does |
//! |---|---|---|
//! | `git/` | objects, packs, refs, garbage collection: the store on disk | look at a workspace |
//! | `scan/` | walks a workspace and compares it with what is remembered (`ScanCache`) | write into a workspace |
//! | `take` | one checkpoint: scan, read what changed, one pack, two syncs | |
//! | `restore/` | makes a workspace what a checkpoint holds, name by name | remove what no checkpoint holds |
//! | `btrfs/` | snapshots as the place of the contents | swap subvolumes |
//! | `diff/`, `compare`, `change_count` | what differs between two checkpoints | run a diff program |
//! | `user_git/` | the user's own repository, read as data; saved and restored | obey its configuration |
//! | `run_checkpoints` | all of that for one run, which holds the workspace's lock | |
//! | `retention` | which checkpoints are removed, and when | remove what a person named |
pub mod btrfs;
mod change_count;
mod compare;
mod context;
pub mod diff;
mod git;
mod recorded;
mod restore;
mod retention;
mod run_checkpoints;
mod scan;
mod scope;
mod take;
pub mod user_git;

pub use change_count::ChangeCount;
pub use compare::{Comparison, listed};
pub use context::{BackendChoice, CheckpointContext, choose};
pub use git::between::Differences;
pub use git::gc::{CheckpointRow, Collected};
pub use git::manifest::{Manifest, Modes};
pub use git::object::{CommitParts, Id, ObjectKind, TreeEntry, commit, read_commit, tree};
pub use git::pack::Pack;
pub use git::pack_write::PackWriter;
pub use git::store::{Checkpoint, Parts, Store, StoredEntry, StoredKind};
pub use recorded::{ContentSource, Recorded, tree_of_copy, workspace_now};
pub(crate) use restore::entry::{new_part, part_name, put_aside, set_mode};
pub use restore::tree::{FileContent, RestorePlan, RestoreResult, restore};
pub(crate) use restore::unsynced::Unsynced;
pub use retention::{Limit, Removed, collect, forget_run, tidy};
pub use run_checkpoints::{CheckpointError, RunCheckpoints, cut_off};
pub(crate) use scan::cache::wall_nanos;
pub use scan::cache::{ScanCache, SnapshotMoment, Stamp};
pub(crate) use scan::derived::is_made;
pub(crate) use scan::dir_rules::DirRules;
pub use scan::ignored::{IgnoredDigest, ignored_digest, whole_digest};
pub use scan::read::Depth;
pub use scan::rules::{RuleTexts, Rules};
pub use scan::scanner::ScanHint;
pub use scope::check_state_folder;
pub(crate) use scope::rules_of;
pub use take::{StillSnapshot, TakeOutcome, TakeRequest, TreeState};

pub use crate::fs::open_folder;
