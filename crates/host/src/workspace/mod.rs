//! The folder that a run works in: which one it is, whether it may be, that nobody else has it, and where in it
//! something may have changed.
mod claim;
pub(crate) mod clear;
pub mod copy;
pub(crate) mod derived;
pub(crate) mod mounts;
pub(crate) mod walk;
pub mod watch;

pub use claim::{Claim, WorkspaceError, claim, look, overlap};
