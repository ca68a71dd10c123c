//! The folder that a run works in.
//!
//! | file or folder | what it does | what it does not do |
//! |---|---|---|
//! | `claim` | which folder it is, whether it is allowed, and that no other run uses it | change it |
//! | `identity` | whether its path still leads to the folder that was claimed | |
//! | `own_file` | writes a file that the user wants, through no link of the workspace | |
//! | `watch/` | where something may have changed, by inotify | prove that nothing else changed |
//! | `copy/` | isolated copies of a checkpoint | change the workspace |
//!
//! | I want to … | I go to … |
//! |---|---|
//! | know whether the workspace is still the same folder | `host/workspace/identity.rs`, the one comparison |
mod claim;
pub mod copy;
mod identity;
mod own_file;
pub mod watch;

pub use claim::{Claim, WorkspaceError, claim, inspect, overlap};
pub use identity::{WorkspaceIdentity, WorkspaceReplaced};
pub use own_file::{FilePlace, ProcessOutput, can_write_own_file, place_of, write_own_file};
