//! Checkpoints as read-only snapshots of btrfs, beside the workspace's subvolume. Each takes a few milliseconds,
//! however many files there are; a restore copies from it in place.
mod snapshot;
mod snapshot_dir;
pub(super) mod snapshot_store;
mod subvolume;

pub use snapshot::Snapshot;
pub use snapshot_dir::{SnapshotDir, SnapshotOwner};
pub(crate) use subvolume::is_on_btrfs;
pub use subvolume::{SnapshotMaker, trial};
