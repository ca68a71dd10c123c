//! What one attempt of an agent is reported as: how it ended, and a bounded summary of what it wrote.
use serde::{Deserialize, Serialize};

use super::{Claim, Denials, Failure, LimitWindow, ProgramReport, Reading, Reset, Terminal, Usage};
use crate::ended::{Ended, Output};
use crate::text::{self, TextDigest};

/// What one attempt of an agent amounted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentReport {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote.
    pub output: Output,
    /// The end of its text, control bytes out, bounded.
    pub last_text: String,
    /// The beginning of its text, bounded, where `last_text` has not all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_text: Option<String>,
    /// How many processes it had left running, which we ended.
    #[serde(default)]
    pub left_running: u32,
    /// Why its output could not be stored, for example because of a full disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_stored: Option<String>,
    /// What its words amounted to.
    #[serde(default, skip_serializing_if = "StreamReport::is_nothing")]
    pub stream: StreamReport,
}

impl AgentReport {
    /// Whether its program ended it at the number of turns that a person allowed: a limit as that of time, and no error.
    #[must_use]
    pub fn at_turn_limit(&self) -> bool {
        self.stream.failure == Some(Failure::TurnLimit)
    }

    /// Whether the agent failed by itself: by its exit or by its own account.
    #[must_use]
    pub fn failed(&self) -> bool {
        if self.at_turn_limit() {
            return false;
        }
        match self.ended {
            Ended::ByUs => false,
            Ended::Exit(0) => matches!(self.stream.failure, Some(Failure::Crash | Failure::Context | Failure::Refusal)),
            Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => true,
        }
    }
}

/// The most that is kept of a text in a report.
const STREAM_TEXT_BYTES_MAX: usize = 600;
/// The most marks of progress that are kept.
const PROGRESS_MAX: usize = 8;
/// The most notes of one attempt that are kept.
const NOTES_MAX: usize = 3;
/// The most notes that one attempt strikes.
const STRUCK_MAX: usize = 8;

/// What the words of one attempt amounted to, bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamReport {
    /// How the stream ended by the agent's own account.
    pub terminal: Terminal,
    /// Why it could not work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// When the provider goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// What the provider said about its limits.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<LimitWindow>,
    /// The words of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session that was to be continued does not exist.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_lost: bool,
    /// The model, as the program reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the program said about its own run.
    #[serde(skip_serializing_if = "ProgramReport::is_nothing")]
    pub program: ProgramReport,
    /// What it used.
    pub usage: Usage,
    /// How many tools were called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_calls: Option<u32>,
    /// What the program refused.
    pub denials: Denials,
    /// What it asked by a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// Its final words end with a question.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub asks: bool,
    /// It stopped because of the money that it was given.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub budget_hit: bool,
    /// Lines that could not be read.
    pub malformed_lines: u32,
    /// Lines of no kind that we know.
    pub unknown_lines: u32,
    /// Its status block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed: Option<Claim>,
    /// Why a status block does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_error: Option<String>,
    /// What its own words are, by hash and length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<TextDigest>,
    /// The words in `<promise>`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promise: Option<String>,
    /// The words in `<progress>`, the newest, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub progress: Vec<String>,
    /// The words in `<note>`: what it wants later iterations to know, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The numbers in `<strike>`: notes that it wants to be struck, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub struck: Vec<u32>,
}

impl StreamReport {
    /// Whether there is nothing to write down.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    /// What of a reading is written down.
    #[must_use]
    pub fn of(reading: Reading) -> Self {
        let short = |text: String| text::one_line(&text, STREAM_TEXT_BYTES_MAX);
        let last = reading.text.lines().rev().find(|line| !line.trim().is_empty());
        let claimed = reading.claimed.map(|claim| Claim { summary: claim.summary.map(short), ..claim });
        let first = reading.denials.first.map(short);
        let from = reading.progress.len().saturating_sub(PROGRESS_MAX);
        Self {
            asks: last.is_some_and(|line| line.trim_end().ends_with('?')),
            terminal: reading.terminal,
            failure: reading.failure,
            reset: reading.reset,
            windows: reading.windows,
            error: reading.error.map(short).filter(|text| !text.is_empty()),
            session: reading.session.map(short),
            session_lost: reading.session_lost,
            model: reading.model.map(short),
            program: ProgramReport {
                cwd: reading.program.cwd.map(short),
                permission_mode: reading.program.permission_mode.map(short),
                ..reading.program
            },
            usage: reading.usage,
            tool_calls: reading.tool_calls,
            denials: Denials { first, ..reading.denials },
            question: reading.question.map(short),
            budget_hit: reading.budget_hit,
            malformed_lines: reading.malformed_lines,
            unknown_lines: reading.unknown_lines,
            claimed,
            block_error: reading.block_error.map(short),
            words: None,
            promise: reading.promise.map(short),
            progress: reading.progress.into_iter().skip(from).map(|text| text::one_line(&text, 200)).collect(),
            notes: reading.notes.into_iter().take(NOTES_MAX).collect(),
            struck: reading.struck.into_iter().take(STRUCK_MAX).collect(),
        }
    }

    /// Its question, where a tool or its status block has one.
    #[must_use]
    pub fn asked(&self) -> Option<String> {
        let blocked = self.claimed.as_ref().filter(|claim| claim.status == "BLOCKED");
        let blocked =
            blocked.map(|claim| claim.summary.clone().unwrap_or_else(|| "it says that it is blocked".to_owned()));
        self.question.clone().or(blocked)
    }
}
