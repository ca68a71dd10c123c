//! Why something that was asked for is refused, as a value: what, why, and what to do next. The command line prints it,
//! a daemon sends it as JSON.
use std::error::Error;

use loop_core::settings::SettingsError;
use serde::{Deserialize, Serialize};

use crate::journal::{JournalError, ReadError};
use crate::paths::{HomeError, text_of};
use crate::run_folder::RunsError;
use crate::settings_files::FilesError;
use crate::workspace::WorkspaceError;

/// Who has to act. It picks the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum RefusalKind {
    /// The call or the setup is wrong. Nothing was made.
    #[serde(rename = "wrong_call")]
    Wrong,
    /// The machine does not allow it.
    #[serde(rename = "unable")]
    Unable,
    /// A run that should answer does not.
    #[serde(rename = "no_answer")]
    Silent,
}

/// A refusal with its reasons and with what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchRefusal {
    pub kind: RefusalKind,
    /// What is wrong.
    pub what: String,
    /// Why, the nearest cause first.
    pub why: Vec<String>,
    /// What the person can do now.
    pub hints: Vec<String>,
}

impl LaunchRefusal {
    /// A refusal of this kind.
    #[must_use]
    pub fn new(kind: RefusalKind, what: impl Into<String>) -> Self {
        Self { kind, what: what.into(), why: Vec::new(), hints: Vec::new() }
    }

    /// The call or the setup is wrong.
    #[must_use]
    pub fn wrong(what: impl Into<String>) -> Self {
        Self::new(RefusalKind::Wrong, what)
    }

    /// The machine does not allow it.
    #[must_use]
    pub fn unable(what: impl Into<String>) -> Self {
        Self::new(RefusalKind::Unable, what)
    }

    /// An error and its causes.
    #[must_use]
    pub fn of(kind: RefusalKind, error: &dyn Error) -> Self {
        let mut refusal = Self::new(kind, error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            refusal = refusal.because(error.to_string());
            cause = error.source();
        }
        refusal
    }

    /// Adds why.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why.push(why.into());
        self
    }

    /// Adds what the person can do now.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> Self {
        self.hints.push(text.into());
        self
    }

    /// In one sentence, for an answer that has no room for more.
    #[must_use]
    pub fn sentence(&self) -> String {
        let parts: Vec<&str> = std::iter::once(&self.what).chain(&self.why).map(String::as_str).collect();
        parts.join(": ")
    }
}

impl From<&HomeError> for LaunchRefusal {
    fn from(error: &HomeError) -> Self {
        let refusal = Self::of(RefusalKind::Wrong, error);
        match error {
            HomeError::Homeless => refusal
                .because("there is no place for the records of loops")
                .hint("set HOME, or LOOP_HOME to an absolute path"),
            HomeError::Relative => refusal
                .because("a relative path would be another folder for each caller")
                .hint("set LOOP_HOME to an absolute path"),
            HomeError::NotPrivate { .. } => refusal
                .because("prompts and outputs are stored there, and only you may read them")
                .hint("set LOOP_HOME to a folder of your own"),
            HomeError::Io { .. } => refusal.hint("make the folder writable, or set LOOP_HOME to another one"),
        }
    }
}

impl From<&ReadError> for LaunchRefusal {
    fn from(error: &ReadError) -> Self {
        let refusal = Self::of(RefusalKind::Unable, error);
        match error {
            ReadError::Older { .. } => refusal
                .because("a version of loop wrote it that was never released")
                .hint("`loop rm` removes it; start a new loop"),
            ReadError::Newer { .. } => refusal.because("a newer version of loop wrote it").hint("use that version"),
            ReadError::NoJournal { .. } | ReadError::OtherMachine { .. } | ReadError::Damaged { .. } => refusal
                .because("something other than loop changed the file, or the disk failed")
                .hint("bring it back from a backup, or remove the loop with loop rm"),
            ReadError::Io { .. } => refusal.hint("`loop doctor` looks at the state folder"),
        }
    }
}

impl From<&RunsError> for LaunchRefusal {
    fn from(error: &RunsError) -> Self {
        match error {
            RunsError::Unknown(_) => Self::of(RefusalKind::Wrong, error)
                .because("ids are given by `loop start` and listed by `loop list`")
                .hint("loop list"),
            RunsError::Ambiguous { .. } => Self::of(RefusalKind::Wrong, error)
                .because("a beginning must fit one loop only")
                .hint("give more letters of the id"),
            RunsError::Driven { id, .. } => Self::of(RefusalKind::Wrong, error)
                .because("one process drives a loop at a time")
                .hint(format!("loop status {id}")),
            RunsError::Journal(JournalError::TooLong { .. }) => Self::of(RefusalKind::Wrong, error)
                .because("promise, agent command and other settings together are too long")
                .hint("put long commands into scripts"),
            RunsError::Journal(JournalError::ReadOnly { .. }) => Self::of(RefusalKind::Unable, error)
                .because("continuing with an older version could damage it")
                .hint("use the newer version of loop"),
            RunsError::Journal(JournalError::Read(error)) => error.into(),
            RunsError::Journal(JournalError::Changed { .. }) => Self::of(RefusalKind::Unable, error)
                .because("only the process that drives a loop may write its journal")
                .hint("see what wrote to it, then try again"),
            RunsError::Journal(JournalError::Io { .. }) | RunsError::Io { .. } => {
                Self::of(RefusalKind::Unable, error).hint("`loop doctor` looks at the state folder")
            }
        }
    }
}

impl From<&SettingsError> for LaunchRefusal {
    fn from(error: &SettingsError) -> Self {
        Self::wrong(error.to_string()).because(error.why()).hint(error.hint())
    }
}

impl From<&FilesError> for LaunchRefusal {
    fn from(error: &FilesError) -> Self {
        match error {
            FilesError::Settings(error) => error.into(),
            FilesError::Io { path, source } => Self::wrong(format!("cannot read {}", text_of(path)))
                .because(source.to_string())
                .hint("make it a readable file, or move it away"),
            FilesError::Both { files: [first, second], .. } => Self::wrong(error.to_string())
                .because("only one of them can be used")
                .hint(format!("move the settings into {first}, and remove {second}")),
        }
    }
}

impl From<&WorkspaceError> for LaunchRefusal {
    fn from(error: &WorkspaceError) -> Self {
        let refusal = Self::of(RefusalKind::Wrong, error);
        match error {
            WorkspaceError::Io { .. } => refusal.hint("name an existing folder with --workspace, or start in one"),
            WorkspaceError::TooWide { .. } => refusal
                .because("an agent there could reach far more than one project")
                .hint("start in the project's own folder, or say --allow-any-workspace"),
            WorkspaceError::HeldElsewhere { .. } => refusal
                .because("two loops in one folder, or one inside the other, would undo each other's work")
                .hint("wait for it, or work in another folder"),
            WorkspaceError::Another { .. } => refusal
                .because("it was moved away, or created again; the loop must not change what is there now")
                .hint("put the folder back where it was, or start a new loop"),
            WorkspaceError::Held { id, .. } => refusal
                .because("two loops in one folder, or one inside the other, would undo each other's work")
                .hint(format!("loop status {id}")),
            WorkspaceError::Runs(error) => error.into(),
        }
    }
}

/// So that `?` takes the errors by value.
macro_rules! by_value {
    ($($error:ty),*) => {
        $(impl From<$error> for LaunchRefusal {
            fn from(error: $error) -> Self {
                (&error).into()
            }
        })*
    };
}

by_value!(HomeError, ReadError, RunsError, SettingsError, FilesError, WorkspaceError);
