//! The program between a run and its agent in a container.
use std::ffi::OsString;

use clap::Args;

use crate::context::Done;

/// Everything is for the program itself.
#[derive(Debug, Args)]
pub(crate) struct ContainerExecArgs {
    /// The command and its words
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(crate) fn run(args: &ContainerExecArgs) -> Done {
    Ok(loop_host::container::exec::main(&args.words))
}
