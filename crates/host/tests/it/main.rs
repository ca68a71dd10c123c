//! Parts on the real machine: journal, folders, processes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod btrfs;
mod checkpoint;
mod checkpoint_engine;
mod checkpoint_git;
mod checkpoint_hostile;
mod checkpoint_trees;
mod copies;
mod diff;
mod diff_git;
mod home;
mod journal;
mod keeper;
mod loop_images;
mod process;
mod retention;
mod sight;
mod stored;
mod transcript;
mod watch;
mod watch_storm;
