//! Checkpoints as read-only snapshots of btrfs, beside the workspace's subvolume. Each takes a few milliseconds,
//! however many files there are; going back copies from it in place.
pub(crate) mod content;
pub(crate) mod ioctl;
mod place;
mod snapshot;

pub use place::{Of, Place, trial};
pub use snapshot::{KnownIds, Look, Snapshot};
