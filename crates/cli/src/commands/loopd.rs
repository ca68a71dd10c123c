//! `loopd`: says which version it is. Supervising loops comes with a later one.
use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

use super::version;
use crate::render::error::{CommandError, Kind, from_clap};
use crate::render::printer::{Loudness, Printer};

/// Will supervise loops in the background. This version starts and supervises none: it says its version, and that.
#[derive(Debug, Parser)]
#[command(name = "loopd", version, after_help = "Until then `loop start` runs a loop in the foreground.")]
struct LoopdCli {}

/// The command line, for its page of the manual.
pub(super) fn command() -> clap::Command {
    LoopdCli::command()
}

/// Runs a command line of `loopd` and says how the program ends.
#[must_use]
pub fn run_loopd(arguments: Vec<OsString>) -> ExitCode {
    if let Some(code) = version::run_if_asked("loopd", &arguments) {
        return code;
    }
    match LoopdCli::try_parse_from(arguments) {
        Ok(LoopdCli {}) => CommandError::new(Kind::Wrong, "loopd supervises no loops yet")
            .because("background loops come with a later version")
            .hint("`loop start` runs a loop in the foreground")
            .show(),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Printer::new(Loudness::Normal).answer(&error.render().to_string());
            ExitCode::SUCCESS
        }
        Err(error) => from_clap(&error, &LoopdCli::command()).show(),
    }
}
