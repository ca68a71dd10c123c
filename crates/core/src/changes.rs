//! How much changed in a workspace.
use serde::{Deserialize, Serialize};

/// How much changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Files made, changed or removed.
    pub files: u32,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
}
