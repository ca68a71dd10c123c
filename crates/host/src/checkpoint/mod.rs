//! Checkpoints: the state of the workspace, recorded outside of it as ordinary git objects in a git folder of our
//! own, with a manifest for what git cannot store. No git program is run. Nothing in the workspace's own `.git` is
//! touched.
//!
//! Layers, the lowest first. A layer uses a higher one only through a type that it is given.
//!
//! | file or folder | what it does | what it does not do |
//! |---|---|---|
//! | `context` | which run, store, workspace and rules; which backend is possible | open a store |
//! | `git/` | objects, packs, refs, garbage collection: the store on disk | read a workspace |
//! | `scan/` | walks a workspace and compares it with the scan cache | write into a workspace |
//! | `scope` | which rules hold for a run | read `core.excludesFile` of the repository |
//! | `take` | one checkpoint: scan, read what changed, one pack, two syncs | decide when |
//! | `restore/` | makes a workspace equal to a checkpoint, name by name | remove what no checkpoint has |
//! | `btrfs/` | snapshots that hold the contents of files | swap subvolumes |
//! | `diff/` | which paths differ, renames, line counts, patches | run a diff program |
//! | `compare` | lists and compares checkpoints for people | take the workspace's lock |
//! | `change_count` | how many files of which kind changed | count lines |
//! | `made` | a checkpoint from names: the result of a merge | read a workspace |
//! | `portable` | hashes of the files that are the same on every machine | count permissions or empty folders |
//! | `recorded` | opens one checkpoint to copy it elsewhere | change the store or the workspace |
//! | `recorded_trees` | two of them, to read from | change the store or the workspace |
//! | `user_git/` | the user's own repository, read as data; saved and restored | run what it configures |
//! | `preview` | which files a rollback writes and removes, and whose they are | write anything |
//! | `run_checkpoints` | all of this for one run, which holds the workspace's lock | decide what to restore |
//! | `retention` | which checkpoints are removed, and until when each is kept | remove what a person named |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | leave files out of checkpoints | `checkpoint_file_max`, `checkpoint_skip` (settings); `checkpoint/scan/rules.rs` |
pub mod btrfs;
mod change_count;
mod compare;
mod context;
pub mod diff;
mod git;
mod made;
mod portable;
mod preview;
mod recorded;
mod recorded_trees;
mod restore;
mod retention;
mod run_checkpoints;
mod scan;
mod scope;
mod take;
pub mod user_git;

pub use change_count::ChangeCount;
pub use compare::{Comparison, KeptNames, kept_names, listed};
pub use context::{BackendChoice, CheckpointContext, choose};
pub use git::between::Differences;
pub use git::gc::{CheckpointRow, Collected};
pub use git::manifest::{Manifest, Modes};
pub use git::object::{CommitParts, Id, ObjectKind, TreeEntry, commit, read_commit, tree};
pub use git::pack::Pack;
pub use git::pack_write::PackWriter;
pub use git::store::{Checkpoint, Parts, Store, StoredEntry, StoredKind};
pub(crate) use made::MadeCheckpoint;
pub(crate) use portable::git_tree;
pub use portable::{Leaf, ObjectFormat, PortableFiles};
pub use preview::{RollbackPreview, preview_rollback};
pub(crate) use recorded::tree_named;
pub use recorded::{ContentSource, Recorded, tree_of_copy, workspace_now};
pub(crate) use recorded_trees::{RecordedTrees, ScannedText};
pub(crate) use restore::entry::{new_part, part_name, put_aside, set_mode};
pub(crate) use restore::tree::out_of_scope;
pub use restore::tree::{FileContent, RestorePlan, RestoreResult, restore};
pub(crate) use restore::unsynced::Unsynced;
pub use retention::{KeptUntil, Limit, Removed, collect, forget_run, last_iteration, tidy};
pub use run_checkpoints::{CheckpointError, RollbackRequest, RunCheckpoints, cut_off};
pub(crate) use scan::cache::wall_nanos;
pub use scan::cache::{ScanCache, SnapshotMoment, Stamp};
pub(crate) use scan::derived::is_made;
pub(crate) use scan::dir_rules::DirRules;
pub use scan::ignored::{IgnoredDigest, ignored_digest, whole_digest};
pub(crate) use scan::left_out::{LeftOutName, left_out};
pub use scan::read::Depth;
pub use scan::rules::{RuleTexts, Rules};
pub use scan::scanner::ScanHint;
pub use scope::check_state_folder;
pub(crate) use scope::rules_of;
pub use take::{StillSnapshot, TakeOutcome, TakeRequest, TreeState};

pub use crate::fs::open_folder;
