//! The folder that a run works in: which one it is, whether it may be, and that nobody else has it.
mod claim;
pub(crate) mod clear;
pub mod copy;
pub(crate) mod mounts;
pub(crate) mod walk;

pub use claim::{Claim, WorkspaceError, claim, look, overlap};
