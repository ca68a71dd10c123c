//! `loop pause`: hold a loop after its iteration.
use clap::Args;
use loop_core::control::Ask;

use super::ask;
use crate::args::IdArg;
use crate::context::{Context, Done};

/// Hold a loop after this iteration; its process stays, and `loop resume` goes on
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    id: IdArg,
    /// Return when it holds
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(context: &Context, args: &PauseArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let seq = ask::ask(&folder, Ask::Pause, "loop pause")?;
    if !args.wait {
        return ask::told(context, &folder, "will hold after this iteration", seq);
    }
    let row = ask::wait(&folder, |row| row.status == "paused")?;
    let status = row.map_or_else(|| "left".to_owned(), |row| row.status);
    ask::told(context, &folder, &status, seq)
}
