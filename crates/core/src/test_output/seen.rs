//! What the output of a gate says about its tests, as it is written into the journal.
use serde::{Deserialize, Serialize};

use crate::text::NameList;

/// What the output of a gate says about tests, compared with the run of it before and with the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestsSeen {
    /// By which form of output that is known.
    pub format: String,
    /// How many passed.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
    /// How many were left out.
    pub skipped: u32,
    /// They failed before and pass now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub newly_passing: NameList,
    /// They passed before and fail now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub newly_failing: NameList,
    /// They failed before and still do.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub still_failing: NameList,
    /// They were there at the start and are not any more.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub gone: NameList,
    /// They ran at the start and are left out now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub newly_skipped: NameList,
}

impl TestsSeen {
    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}
