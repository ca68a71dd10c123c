//! The folder that a run works in: which one it is, whether it may be, that nobody else has it, and where in it
//! something may have changed.
mod claim;
pub mod copy;
pub mod watch;

pub use claim::{Claim, WorkspaceError, claim, inspect, overlap};
