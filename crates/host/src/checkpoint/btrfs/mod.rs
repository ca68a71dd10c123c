//! Checkpoints as read-only btrfs snapshots beside the workspace's subvolume. Each takes a few milliseconds,
//! however many files there are. A restore copies files from it.
//!
//! | file | what it does | what it does not do |
//! |---|---|---|
//! | `subvolume` | whether a workspace can have snapshots; takes and removes them | swap subvolumes |
//! | `snapshot_dir` | the folder with the snapshots, by store, run and name | need the workspace |
//! | `snapshot_store` | which snapshot belongs to which checkpoint of a store | store names of its own |
//! | `snapshot` | reads files of one snapshot | |
mod snapshot;
mod snapshot_dir;
pub(super) mod snapshot_store;
mod subvolume;

pub use snapshot::Snapshot;
pub use snapshot_dir::{SnapshotDir, SnapshotOwner};
pub(crate) use subvolume::is_on_btrfs;
pub use subvolume::{SnapshotMaker, trial};
