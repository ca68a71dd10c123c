//! The caller of a launch: it gets notes, answers questions, and gives the task where it is not in the request. The
//! launch itself neither reads stdin nor prints.
use std::io;

use serde::{Deserialize, Serialize};

/// A question that only a person can answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "question")]
pub enum LaunchQuestion {
    /// The project's settings file wants to run or allow something, and this content was never approved.
    ApproveProjectFile {
        /// The file's name.
        file: String,
        /// What it wants, in lines for people: all of it, nothing hidden.
        wants: Vec<String>,
    },
    /// The agent may change and run anything.
    AllowEverything,
    /// A gate that decides calls what is neither a program nor a file here.
    StartWithMissingCommand {
        /// The flag that gives the gate.
        flag: String,
        /// What it calls.
        word: String,
    },
}

/// What a person says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PersonAnswer {
    Yes,
    No,
    /// No person can be asked. Each question says what this means.
    #[default]
    NobodyThere,
}

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// May be left out where the user asked for less output.
    Progress,
    /// Must be shown.
    Important,
}

/// Something that a person should know about a launch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchNote {
    pub level: NoteLevel,
    /// One or more lines, without the last line's end.
    pub text: String,
}

impl LaunchNote {
    /// A note that may be left out.
    #[must_use]
    pub fn progress(text: impl Into<String>) -> Self {
        Self { level: NoteLevel::Progress, text: text.into() }
    }

    /// A note that must be shown.
    #[must_use]
    pub fn important(text: impl Into<String>) -> Self {
        Self { level: NoteLevel::Important, text: text.into() }
    }
}

/// The caller of a launch.
pub trait LaunchCaller {
    /// Something that a person should know.
    fn note(&mut self, note: LaunchNote);
    /// Answers a question.
    fn answer(&mut self, question: &LaunchQuestion) -> PersonAnswer;
    /// Gives a command that a template needs and the project does not show; none where no person is there, or they give
    /// none.
    fn command(&mut self, _question: &str) -> Option<String> {
        None
    }
    /// The start as it was typed, without the name of an agent: a hint adds one at its end. None where it is not known.
    fn typed_start(&self) -> Option<String> {
        None
    }
    /// Whether a person sees what the run prints, and can act on it.
    fn is_attended(&self) -> bool {
        false
    }
    /// Gives the task for [`super::TaskSource::Caller`], at most so many bytes of it.
    ///
    /// # Errors
    /// When it cannot be read.
    fn task(&mut self, bytes_max: u64) -> io::Result<Vec<u8>>;
}

/// A caller whose answers are known before, and who keeps the notes: a daemon, a plan, a test.
#[derive(Debug, Clone, Default)]
pub struct LaunchAnswers {
    /// Whether the project's settings file is approved.
    pub approve_project_file: PersonAnswer,
    /// Whether the agent may do anything.
    pub allow_everything: PersonAnswer,
    /// Whether it starts although a gate calls what is not there.
    pub start_with_missing_command: PersonAnswer,
    /// The notes so far.
    pub notes: Vec<LaunchNote>,
}

impl LaunchCaller for LaunchAnswers {
    fn note(&mut self, note: LaunchNote) {
        self.notes.push(note);
    }

    fn answer(&mut self, question: &LaunchQuestion) -> PersonAnswer {
        match question {
            LaunchQuestion::ApproveProjectFile { .. } => self.approve_project_file,
            LaunchQuestion::AllowEverything => self.allow_everything,
            LaunchQuestion::StartWithMissingCommand { .. } => self.start_with_missing_command,
        }
    }

    fn task(&mut self, _: u64) -> io::Result<Vec<u8>> {
        Err(io::Error::other("the request must have the task in it"))
    }
}
