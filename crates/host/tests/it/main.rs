//! Parts on the real machine: journal, folders, processes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod btrfs;
mod checkpoint;
mod checkpoint_trees;
mod copies;
mod home;
mod journal;
mod loop_images;
mod process;
mod retention;
mod sight;
mod stored;
mod transcript;
