//! How a process ended, and what it wrote. Agents and gates are both processes.
use serde::{Deserialize, Serialize};

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
    /// The hash of the stored output: stdout, then stderr.
    pub sha256: String,
}
