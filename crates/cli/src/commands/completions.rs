//! `loop completions`: what a shell needs to complete our words.
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
            .because("it is no shell that is known here")
            .hint("bash, zsh, fish, elvish or powershell")
    })?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "loop", &mut text);
    context.printer.answer(&String::from_utf8_lossy(&text));
    Ok(0)
}
