//! `loop completions`: the script with which a shell completes our commands and flags.
use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::Shell;

use crate::args::Cli;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// Print completions for a shell
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    #[arg(value_name = "SHELL")]
    shell: String,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Done {
    let shell = Shell::from_str(&args.shell, true).map_err(|_| {
        CommandError::new(Kind::Wrong, format!("no completions for {:?}", args.shell))
            .because("loop has no completions for this shell")
            .hint("bash, zsh, fish, elvish or powershell")
    })?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "loop", &mut text);
    context.printer.answer(&String::from_utf8_lossy(&text));
    Ok(0)
}
