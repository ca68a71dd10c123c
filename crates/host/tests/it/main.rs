//! Parts on the real machine: journal, folders, processes.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may stop at the first surprise")]
mod checkpoint;
mod checkpoint_back;
mod checkpoint_engine;
mod checkpoint_git;
mod checkpoint_hostile;
mod checkpoint_trees;
mod diff;
mod diff_git;
mod garden;
mod home;
mod journal;
mod keeper;
mod loop_images;
mod process;
mod random_trees;
mod retention;
mod stored;
mod transcript;
mod user_git;
mod user_git_damage;
mod user_git_rules;
mod watch;
mod watch_storm;
