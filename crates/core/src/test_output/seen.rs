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
    /// Only files are named that could not be loaded: how many tests there are is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub files_only: bool,
    /// There are more tests than these: it stopped early, or was cut off.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub uncounted: bool,
    /// What passes is named only by package or file: how many tests ran is not known.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_suites: bool,
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
    /// They fail, and did not fail in the first run. Where the failing ones are not named, this is empty.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub failing_since_start: NameList,
    /// They must be there at the end, and did not run.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub missing: NameList,
    /// The same by names without brackets: for gates whose names differ between two runs of one tree.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub missing_without_brackets: NameList,
    /// They would be missing too, and the task asks for them to be removed or renamed.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub asked_away: NameList,
    /// Every test that ran is named, and an earlier round named all of its tests: counts say nothing more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_named: bool,
    /// The hash of the file with all names that were seen so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// They ran at the start and are left out now.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub newly_skipped: NameList,
}

impl TestsSeen {
    /// How many ran, and so judged something.
    #[must_use]
    pub fn ran(&self) -> u32 {
        self.passed.saturating_add(self.failed)
    }

    /// How many there are.
    #[must_use]
    pub fn total(&self) -> u32 {
        self.passed.saturating_add(self.failed).saturating_add(self.skipped)
    }
}
