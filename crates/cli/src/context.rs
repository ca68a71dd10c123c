//! What every command has: the user's folders and the way out.
use std::path::PathBuf;

use loop_host::journal::{JournalError, ReadError};
use loop_host::paths::{Home, HomeError};
use loop_host::runs::{self, RunFolder, RunsError};

use crate::render::error::{CommandError, Kind};
use crate::render::printer::Printer;

/// What a command comes back with: the exit code, or what went wrong.
pub(crate) type Done = Result<u8, CommandError>;

/// The surroundings of a command.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) home: Home,
    pub(crate) printer: Printer,
}

impl Context {
    pub(crate) fn new(printer: Printer) -> Result<Self, CommandError> {
        let home = Home::find(|name| std::env::var_os(name)).map_err(|error| home_error(&error))?;
        Ok(Self { home, printer })
    }

    /// The run that an id or the beginning of one names.
    pub(crate) fn find(&self, prefix: &str) -> Result<RunFolder, CommandError> {
        runs::find(&self.home, prefix).map_err(|error| runs_error(&error))
    }
}

/// The user's home folder, which may not be a workspace.
pub(crate) fn home_folder() -> Option<PathBuf> {
    std::env::var_os("HOME").map(PathBuf::from)
}

pub(crate) fn home_error(error: &HomeError) -> CommandError {
    let told = CommandError::of(Kind::Wrong, error);
    match error {
        HomeError::Homeless => told
            .because("there is no place for the records of loops")
            .hint("set HOME, or LOOP_HOME to an absolute path"),
        HomeError::Relative => {
            told.because("it would be another folder for every caller").hint("set LOOP_HOME to an absolute path")
        }
        HomeError::NotPrivate { .. } => told
            .because("prompts and outputs are kept there, and must be yours alone")
            .hint("set LOOP_HOME to a folder of your own"),
        HomeError::Io { .. } => told.hint("make the folder writable, or set LOOP_HOME to another one"),
    }
}

/// A journal that cannot be read.
pub(crate) fn read_error(error: &ReadError) -> CommandError {
    let told = CommandError::of(Kind::Unable, error);
    match error {
        ReadError::Older { .. } => told
            .because("a version of loop wrote it that was never released")
            .hint("`loop rm` removes it; start a new loop"),
        ReadError::Newer { .. } => told.because("a newer version of loop wrote it").hint("use that version"),
        ReadError::NoJournal { .. } | ReadError::Damaged { .. } => told
            .because("something other than loop changed the file, or the disk failed")
            .hint("bring it back from a backup, or remove the loop with loop rm"),
        ReadError::Io { .. } => told.hint("`loop doctor` looks at the state folder"),
    }
}

pub(crate) fn runs_error(error: &RunsError) -> CommandError {
    match error {
        RunsError::Unknown(_) => CommandError::of(Kind::Wrong, error)
            .because("ids are given by `loop start` and listed by `loop list`")
            .hint("loop list"),
        RunsError::Ambiguous { .. } => CommandError::of(Kind::Wrong, error)
            .because("a beginning must fit one loop only")
            .hint("give more letters of the id"),
        RunsError::Driven { id, .. } => CommandError::of(Kind::Wrong, error)
            .because("one process drives a loop at a time")
            .hint(format!("loop status {id}")),
        RunsError::Journal(JournalError::TooLong { .. }) => CommandError::of(Kind::Wrong, error)
            .because("promise, agent command and other settings together are too long")
            .hint("put long commands into scripts"),
        RunsError::Journal(JournalError::ReadOnly { .. }) => CommandError::of(Kind::Unable, error)
            .because("going on could undo what it means")
            .hint("use the newer version of loop"),
        RunsError::Journal(JournalError::Read(error)) => read_error(error),
        RunsError::Journal(JournalError::Io { .. }) | RunsError::Io { .. } => {
            CommandError::of(Kind::Unable, error).hint("`loop doctor` looks at the state folder")
        }
    }
}
