//! What comes of orders: digests, never the bytes themselves.
use serde::{Deserialize, Serialize};

use crate::agent::{Claim, Denials, Failure, Reading, Reset, Terminal, Usage};
use crate::policy::reserve::Reserved;
use crate::text;

/// What came of an order. Exactly one per order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The checkpoint exists.
    Checkpoint(CheckpointReport),
    /// What changed since the checkpoint before.
    Measurement(Measurement),
    /// The agent and all that it started are dead, and its output was read.
    AgentEnded(Box<AgentReport>),
    /// The gate and all that it started are dead.
    GateEnded(GateReport),
    /// Nothing of an earlier attempt runs any more.
    Cleaned {
        /// How many processes had to be ended.
        killed: u32,
    },
    /// A hold is over.
    Held,
    /// What the ledger of all runs says.
    Reserved(Reserved),
    /// What became of the protected files.
    Guard(Box<GuardReport>),
    /// With what the gates were run.
    Certify(CertifyReport),
    /// The checkpoint that a person asked for exists.
    ManualCheckpoint(CheckpointReport),
    /// The workspace is what the checkpoint says.
    RolledBack(Box<RollbackReport>),
    /// It was not done, and nothing was changed.
    Refused {
        /// Why.
        why: String,
    },
    /// It cannot be done until somebody mends something; it is safe to try again.
    Blocked {
        /// What stands in the way.
        why: String,
    },
    /// The person was told.
    Notified {
        /// The exit code of the notification command, if it ended by itself.
        exit_code: Option<i32>,
    },
    /// The host could not do it at all.
    Failed {
        /// What went wrong, for people.
        what: String,
    },
    /// It was cancelled and did not end in time.
    Lost {
        /// What is still there.
        left: Vec<String>,
    },
}

/// A checkpoint that was taken. With backend `none` there is nothing to name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointReport {
    /// Its name.
    pub checkpoint: Option<String>,
    /// The hash of the tree that it holds.
    pub tree: Option<String>,
    /// The object that it is in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What others changed, where it was taken because of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// Files that changed while they were read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unstable: Vec<String>,
    /// What else a person should read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// The workspace after somebody went back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackReport {
    /// To which checkpoint.
    pub to: String,
    /// The checkpoint of what was there before.
    pub undo: String,
    /// The hash of the tree.
    pub tree: Option<String>,
    /// How many names were written.
    pub written: u64,
    /// How many names were removed.
    pub removed: u64,
    /// Where things were put that stood in the way or that somebody changed meanwhile, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aside: Vec<String>,
    /// What else a person should read, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
    /// Whether the user's own repository was brought back too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub git: bool,
    /// Whether something that was asked for could not be brought back: the user's own repository.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
}

/// What an iteration changed in the workspace; unknown where nothing is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measurement {
    /// How much.
    pub changes: Option<Changes>,
    /// Which paths, a bounded number.
    #[serde(default)]
    pub names: Vec<String>,
    /// The hash of the tree, where that was not known before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// How many of the files are protected ones.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub protected: u32,
    /// How many of the files are tests.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tests: u32,
    /// Something changed that is in no count of files: files that checkpoints leave out, or empty folders.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ignored: bool,
    /// The user's repository stands at another commit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub head_moved: bool,
    /// Where nothing is counted: whether something is not what it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noticed: Option<bool>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What became of the protected files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GuardReport {
    /// How many files are protected.
    pub files: u32,
    /// How many files that say how tests are run are watched.
    #[serde(skip_serializing_if = "is_zero")]
    pub watched: u32,
    /// Where tests are run otherwise than at the start, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Which were changed and how, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub tampered: NameList,
    /// Which new ones match, a bounded number.
    #[serde(skip_serializing_if = "NameList::is_nothing")]
    pub added: NameList,
    /// The checkpoint of the tree as it was left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// They were put back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub restored: bool,
    /// What else a person should read, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<String>,
}

/// A list of names of which only the first are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// How many there are.
    pub count: u32,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first: Vec<String>,
}

/// How many names of a list are kept, and how much of each.
const NAMES_MAX: usize = 10;
const NAMES_BYTES_MAX: usize = 120;

impl NameList {
    /// The first of them.
    #[must_use]
    pub fn of<'a>(all: impl Iterator<Item = &'a str>) -> Self {
        let mut few = Self::default();
        for name in all {
            few.count = few.count.saturating_add(1);
            if few.first.len() < NAMES_MAX {
                few.first.push(text::one_line(name, NAMES_BYTES_MAX));
            }
        }
        few
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.count == 0
    }

    /// For people: `a, b and 3 more`.
    #[must_use]
    pub fn words(&self) -> String {
        let more = usize::try_from(self.count).unwrap_or(usize::MAX).saturating_sub(self.first.len());
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{more}", self.first.join(", "))
    }
}

/// With what the gates were run, and what became of the tests.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CertifyReport {
    /// Programs that had a part in it, with their versions, a bounded number.
    pub tools: Vec<Tool>,
    /// Test commands that are not what they were at the start, a bounded number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weaker: Vec<String>,
}

/// A program and its version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// What it is called.
    pub name: String,
    /// What it says of itself.
    pub version: String,
}

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

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// We ended it, because its order was cancelled.
    ByUs,
    /// It never ran.
    NotStarted(String),
}

impl Ended {
    /// In a word or two, for a line of text.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            Self::Exit(code) => format!("exit {code}"),
            Self::Signal(number) => format!("signal {number}"),
            Self::ByUs => "stopped by loop".to_owned(),
            Self::NotStarted(why) => format!("not started: {why}"),
        }
    }
}

/// The bytes that a process wrote, by hash and length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// How many bytes came on stdout.
    pub stdout_bytes: u64,
    /// How many bytes came on stderr.
    pub stderr_bytes: u64,
    /// The hash of what was kept: stdout, then stderr.
    pub sha256: String,
}

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
    /// How many processes it had left running, which we ended.
    #[serde(default)]
    pub left_running: u32,
    /// Why what it wrote could not be kept, a full disk for instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_stored: Option<String>,
    /// What its words amounted to.
    #[serde(default, skip_serializing_if = "StreamReport::is_nothing")]
    pub stream: StreamReport,
}

impl AgentReport {
    /// Whether the agent failed by itself: by its exit or by its own account.
    #[must_use]
    pub fn failed(&self) -> bool {
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

/// What the words of one attempt amounted to, bounded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StreamReport {
    /// How the stream ended by the agent's own account.
    pub terminal: Terminal,
    /// What kept it from its work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// When the provider goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reset: Option<Reset>,
    /// The words of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent's own session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session that was to be gone on with is not there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub session_lost: bool,
    /// The model, as the program told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
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
            error: reading.error.map(short).filter(|text| !text.is_empty()),
            session: reading.session.map(short),
            session_lost: reading.session_lost,
            model: reading.model.map(short),
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
        }
    }

    /// What it wants to know, where a tool or its status block says so.
    #[must_use]
    pub fn asked(&self) -> Option<String> {
        let blocked = self.claimed.as_ref().filter(|claim| claim.status == "BLOCKED");
        let blocked =
            blocked.map(|claim| claim.summary.clone().unwrap_or_else(|| "it says that it is blocked".to_owned()));
        self.question.clone().or(blocked)
    }
}

/// A text by hash and length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextDigest {
    /// The hash.
    pub sha256: String,
    /// How long it is.
    pub bytes: u64,
}

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

/// What one run of a gate amounted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateReport {
    /// How it ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote.
    pub output: Output,
    /// The end of its stderr, else of its stdout: one short piece to name in a reason.
    pub excerpt: String,
    /// What it says about tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Box<TestsSeen>>,
}
