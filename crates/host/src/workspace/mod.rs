//! The folder that a run works in: which one it is, whether it may be, and that nobody else has it.
mod claim;

pub use claim::{Claim, WorkspaceError, claim, look, overlap};
