//! Arguments that several commands share.
use std::path::PathBuf;

use clap::Args;
use loop_host::run_folder::RunFolder;

use crate::context::Context;
use crate::here::Wanted;
use crate::render::error::CommandError;
use crate::render::printer::{Loudness, Printer};

/// How much is shown.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputArgs {
    /// Show answers and errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Show what agents and gates write as well
    #[arg(short, long, global = true, overrides_with = "quiet")]
    pub(crate) verbose: bool,
}

impl OutputArgs {
    pub(crate) fn printer(self) -> Printer {
        Printer::new(match (self.quiet, self.verbose) {
            (_, true) => Loudness::Verbose,
            (true, false) => Loudness::Quiet,
            (false, false) => Loudness::Normal,
        })
    }
}

/// A run, by its id or the beginning of it; without one, one of this folder.
#[derive(Debug, Args)]
pub(crate) struct IdArg {
    /// The loop: its id, or any beginning of it that fits one loop only [default: @, the newest of this folder that fits]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}

impl IdArg {
    /// The loop that is meant.
    pub(crate) fn find(&self, context: &Context, wanted: Wanted) -> Result<RunFolder, CommandError> {
        context.find_or_here(self.id.as_deref(), wanted)
    }
}

impl IdArg {
    /// The plan that is meant: the id names one, or what a command wants of this folder is one.
    pub(crate) fn plan(&self, context: &Context, wanted: Wanted) -> Option<RunFolder> {
        context.plan_or_here(self.id.as_deref(), wanted)
    }
}

/// A folder for a start.
#[derive(Debug, Args)]
pub(crate) struct PlaceArg {
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}
