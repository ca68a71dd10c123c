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

fn is_false(value: &bool) -> bool {
    !*value
}

/// How many left-out files a remark names in words.
const LEFT_OUT_NAMED_MAX: usize = 4;

/// Which tree the copy holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JudgedTree {
    /// The tree on which the gates passed.
    Final,
    /// A second copy of the same tree, made only if the first one failed. If it passes, the gate is flaky.
    Again,
    /// The tree of the initial checkpoint.
    Initial,
    /// The final tree without the test files that the agent added.
    WithoutNewTests,
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

impl JudgedTree {
    /// Whether it is changed to see what the gates notice. Such a copy may be left out.
    #[must_use]
    pub const fn is_probe(self) -> bool {
        match self {
            Self::WithoutNewTests | Self::Canary | Self::Undone | Self::Hunks { .. } => true,
            Self::Final | Self::Again | Self::Initial | Self::Hidden { .. } => false,
        }
    }
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
    /// Why nothing was judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_done: Option<NotJudged>,
    /// What the gates said, in the order in which they ran. It ends with the first required gate that does not pass.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<JudgedGate>,
    /// The probe had nothing to change: the copy is the final tree, on which the gates passed already. Nothing was run.
    #[serde(skip_serializing_if = "is_false")]
    pub unchanged: bool,
    /// What became of the pieces, where they were taken back. Of a probe that was stopped: of those that were tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunks: Option<HunkReport>,
    /// What a person should read, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Remark>,
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

/// Why nothing was judged on a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotJudged {
    /// There is no such probe for these gates, or its result has another cause.
    NoProbe {
        /// Why.
        why: String,
    },
    /// The command of `--setup` failed in the copy.
    SetupFailed {
        /// How.
        why: String,
    },
    /// A gate needs the repository, and a copy does not have it: its objects or refs are of a kind that is not read.
    NoRepository,
    /// It was stopped, by a signal or because its order was cancelled.
    Stopped,
    /// No copy could be made, or a gate could not be run in it.
    HostFailed {
        /// Why.
        why: String,
    },
}

impl NotJudged {
    /// For people.
    #[must_use]
    pub fn words(&self) -> &str {
        match self {
            Self::NoProbe { why } | Self::SetupFailed { why } | Self::HostFailed { why } => why,
            Self::NoRepository => "a gate needs the repository, and copies have none of this kind (SHA-256, reftable)",
            Self::Stopped => "it was stopped",
        }
    }
}

/// What a person should know about a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// Ignored files of the workspace that the copy does not have.
    LeftOut(LeftOut),
    /// Something else, as a sentence.
    Note(String),
}

/// Ignored files of the workspace that a copy does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Which.
    pub files: NameList,
    /// They are new or changed since the start; else it is not known how they were at the start.
    pub changed: bool,
    /// A set-up command was given, which may make them in the copy.
    #[serde(default)]
    pub has_setup: bool,
}

impl LeftOut {
    /// The number and the first names: `3 (dist/a.js, dist/b.js, …)`.
    #[must_use]
    pub fn files_text(&self) -> String {
        let few: Vec<&str> = self.files.first.iter().take(LEFT_OUT_NAMED_MAX).map(String::as_str).collect();
        let more = if usize::try_from(self.files.count).is_ok_and(|all| all > few.len()) { ", …" } else { "" };
        format!("{} ({}{more})", self.files.count, few.join(", "))
    }
}

impl Remark {
    /// For people.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::LeftOut(left_out) => {
                let why = if left_out.changed {
                    "they changed since the start"
                } else {
                    "it is not known how they were at the start"
                };
                let hint = if left_out.has_setup { "" } else { "; --setup CMD can make them in the copy" };
                format!("ignored files that are not in the copy, because {why}: {}{hint}", left_out.files_text())
            }
            Self::Note(text) => text.clone(),
        }
    }

    /// The ignored files that the copy does not have.
    #[must_use]
    pub fn left_out(&self) -> Option<&LeftOut> {
        match self {
            Self::LeftOut(left_out) => Some(left_out),
            Self::Note(_) => None,
        }
    }
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
    pub fn not_done(why: NotJudged) -> Self {
        Self { not_done: Some(why), ..Self::default() }
    }

    /// The ignored files that the copy does not have.
    #[must_use]
    pub fn left_out(&self) -> Option<&LeftOut> {
        self.remarks.iter().find_map(Remark::left_out)
    }
}
