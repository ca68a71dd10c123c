//! Parts on the real machine: journal, folders, processes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod checkpoint;
mod checkpoint_back;
mod checkpoint_engine;
mod checkpoint_trees;
mod home;
mod journal;
mod process;
mod retention;
mod stored;
mod transcript;
