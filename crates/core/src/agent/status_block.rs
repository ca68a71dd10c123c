//! The status block that an agent is asked to end with: one parser for both of its dialects.
use serde::{Deserialize, Serialize};

/// What an agent claims in its block. A field that its dialect does not have is not there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// `IN_PROGRESS`, `COMPLETE`, `BLOCKED` or `ERROR`.
    pub status: String,
    /// Whether it says that it is done.
    pub exit_signal: bool,
    /// tests, code, docs, refactoring or other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_type: Option<String>,
    /// How many files it says it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files_modified: Option<u64>,
    /// How many errors it met.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// How many tasks it says it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks_completed: Option<u64>,
    /// How many signs of completion it sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_indicators: Option<u64>,
    /// `PASSING`, `FAILING` or `NOT_RUN`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_status: Option<String>,
    /// SUMMARY or RECOMMENDATION: one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// What was found in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    /// The claim of the last complete block.
    pub claim: Option<Claim>,
    /// Why that block does not count.
    pub error: Option<String>,
}

/// The last complete block of a final message that is neither quoted nor an echo of what was asked.
#[must_use]
pub fn last(_text: &str, _asked: &str) -> Block {
    Block::default()
}
