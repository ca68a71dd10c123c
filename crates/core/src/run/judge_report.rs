//! The gates run once more, on a clean copy of a recorded tree: what is ordered, and what came of it.
//!
//! The copy is made from a checkpoint, so nothing that is not recorded decides. A *probe* changes the copy first, in a way
//! that good gates must notice.
use serde::{Deserialize, Serialize};

use super::event::GateIndex;
use super::report::{GateReport, ToolChange};
use crate::policy::gate::{ExitContradiction, Verdict};
use crate::test_output::SameNames;
use crate::text::NameList;

/// A remark that begins so names ignored files that the copy does not have.
pub const LEFT_OUT: &str = "ignored files that are left out";

/// Which tree the copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedTree {
    /// The tree on which the gates passed.
    Final,
    /// The same once more, where the first copy disagreed: a flaky gate has two answers for the same files.
    Again,
    /// The tree of the initial checkpoint.
    Initial,
    /// The final tree with one failing test more, added in the way of the test runner.
    Canary,
    /// The final tests with all other files as they were in the initial checkpoint.
    Undone,
    /// The final tree, with one piece of the change after the other taken back.
    Hunks {
        /// No further piece is tried after this time.
        budget_ms: u64,
    },
    /// The tree on which the gates passed, for the hidden gates.
    Hidden {
        /// In a clean copy; else in the workspace itself, because there is no such copy.
        in_copy: bool,
        /// How long these gates may take together.
        limit_ms: u64,
    },
}

/// Where the gates of a copy ran.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgePlace {
    /// The copy was mounted at the path of the workspace.
    OwnPath,
    /// The copy was in another folder, and nothing below the workspace was opened.
    #[default]
    Elsewhere,
    /// Files of the workspace were opened, from another folder or by a container that mounts it: this is not a clean run.
    WorkspaceOpened,
    /// They ran in the workspace itself.
    Workspace,
}

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JudgeReport {
    /// Where the gates ran.
    pub place: JudgePlace,
    /// Why nothing was judged: no copy could be made, or there is no such probe for these gates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_done: Option<String>,
    /// What the gates said, in the order in which they ran. It ends with the first required gate that does not pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<JudgedGate>,
    /// What became of the pieces, where they were taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunks: Option<HunkReport>,
    /// What a person should read, a bounded number: dependencies as the agent installed them, and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// The hash of the record of ignored files and settings in HOME, where it was made for this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// Folders of dependencies that are as the agent installed them, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub installed: Vec<String>,
    /// Programs of the gates that were not those of the start when a gate started, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub swapped: Vec<ToolChange>,
    /// How long all of it took.
    pub duration_ms: u64,
}

/// What one gate said on a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedGate {
    /// Which gate, from 0; of hidden gates, which of these.
    pub gate: GateIndex,
    /// Its verdict after all tries that it needed.
    pub verdict: Verdict,
    /// How many tries these were.
    pub tries: u32,
    /// How the last try ended. Of a hidden gate there is only how it ended.
    pub report: GateReport,
    /// Why exit code 0 of the last try was not believed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contradiction: Option<ExitContradiction>,
    /// Whether runs of this very tree ran the same tests, where that was compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_tests: Option<SameNames>,
}

/// Which pieces of a change the gates notice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HunkReport {
    /// How many there are.
    pub all: u32,
    /// How many were taken back.
    pub tried: u32,
    /// After how many of these a required gate did not pass any more.
    pub noticed: u32,
    /// The others, as `src/a.rs:40-52`, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub not_noticed: NameList,
}

impl JudgeReport {
    /// Nothing was judged, for this reason.
    #[must_use]
    pub fn not_done(why: String) -> Self {
        Self { not_done: Some(why), ..Self::default() }
    }
}
