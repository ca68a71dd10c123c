//! The folder that a run works in.
//!
//! | file or folder | what it does | what it does not do |
//! |---|---|---|
//! | `claim` | which folder it is, whether it is allowed, and that no other run uses it | change it |
//! | `watch/` | where something may have changed, by inotify | prove that nothing else changed |
//! | `copy/` | isolated copies of a checkpoint | change the workspace |
mod claim;
pub mod copy;
pub mod watch;

pub use claim::{Claim, WorkspaceError, claim, inspect, overlap};
