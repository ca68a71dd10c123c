//! Checkpoints as read-only snapshots of btrfs, beside the workspace's subvolume. Each takes a few milliseconds,
//! however many files there are; going back copies from it in place.
pub(crate) mod content;
pub(crate) mod ioctl;
mod place;
mod shelf;
mod snapshot;

pub(crate) use place::is_on_btrfs;
pub use place::{Place, trial};
pub use shelf::{Of, Shelf};
pub use snapshot::Snapshot;
