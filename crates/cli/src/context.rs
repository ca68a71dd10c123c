//! What every command has: the user's folders and the printer.
use loop_core::settings::SettingsError;
use loop_host::journal::ReadError;
use loop_host::launch::LaunchNote;
use loop_host::paths::{Home, HomeError};
use loop_host::refusal::LaunchRefusal;
use loop_host::run_folder::{self, FoundFolder, RunFolder, RunsError};
use loop_host::settings_files::FilesError;

use crate::person::{Person, print_note};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::Printer;

/// What a command returns: the exit code, or what went wrong.
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
        run_folder::find(&self.home, prefix).map_err(|error| match run_folder::find_any(&self.home, prefix) {
            Ok(FoundFolder::Plan(plan)) => self.is_plan(&plan),
            Ok(FoundFolder::Run(_)) | Err(_) => runs_error(&error),
        })
    }

    /// A command for one loop was given the id of a plan.
    fn is_plan(&self, plan: &RunFolder) -> CommandError {
        let runs = loop_host::plan::runs_of_plan(&self.home, &plan.id);
        let runs: Vec<String> = runs.iter().map(|run| run.id.to_string()).collect();
        CommandError::new(Kind::Wrong, format!("{} is a plan, and this is for one loop", plan.id))
            .because(format!("its loops are {}", runs.join(", ")))
            .hint(format!("loop status {}", plan.id))
    }

    /// The plan that an id or the beginning of one names.
    pub(crate) fn find_plan(&self, prefix: &str) -> Result<RunFolder, CommandError> {
        match self.find_any(prefix)? {
            FoundFolder::Plan(plan) => Ok(plan),
            FoundFolder::Run(run) => Err(CommandError::new(Kind::Wrong, format!("{} is one loop, not a plan", run.id))
                .because("only a plan has branches")
                .hint("loop list")),
        }
    }

    /// The loop or the plan that an id or the beginning of one names.
    pub(crate) fn find_any(&self, prefix: &str) -> Result<FoundFolder, CommandError> {
        run_folder::find_any(&self.home, prefix).map_err(|error| runs_error(&error))
    }

    /// The person who typed the command.
    pub(crate) fn person(&self) -> Person {
        Person { printer: self.printer }
    }

    /// Shows notes.
    pub(crate) fn print_notes(&self, notes: &[LaunchNote]) {
        notes.iter().for_each(|note| print_note(self.printer, note));
    }
}

pub(crate) fn home_error(error: &HomeError) -> CommandError {
    LaunchRefusal::from(error).into()
}

/// A journal that cannot be read.
pub(crate) fn read_error(error: &ReadError) -> CommandError {
    LaunchRefusal::from(error).into()
}

pub(crate) fn runs_error(error: &RunsError) -> CommandError {
    LaunchRefusal::from(error).into()
}

pub(crate) fn settings_error(error: &SettingsError) -> CommandError {
    LaunchRefusal::from(error).into()
}

pub(crate) fn files_error(error: &FilesError) -> CommandError {
    LaunchRefusal::from(error).into()
}
