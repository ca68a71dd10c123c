//! `loop cancel`: end a loop now, for good.
use clap::Args;
use loop_core::control::Ask;

use super::ask;
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// End a loop now, for good: the agent is ended, its edits stay
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    id: IdArg,
    /// Keep the workspace as it is (the default)
    #[arg(long, conflicts_with = "rollback")]
    keep: bool,
    /// Go back to the initial checkpoint (comes with a later version)
    #[arg(long)]
    rollback: bool,
    /// Return when it has ended
    #[arg(long)]
    wait: bool,
}

pub(crate) fn run(context: &Context, args: &CancelArgs) -> Done {
    if args.rollback {
        return Err(CommandError::new(Kind::Wrong, "--rollback comes with a later version")
            .because("this version keeps no checkpoints to go back to")
            .hint(format!("loop cancel {} --keep", args.id.id)));
    }
    let folder = context.find(&args.id.id)?;
    let seq = ask::ask(&folder, Ask::Cancel, "loop cancel")?;
    if !args.wait {
        return ask::told(context, &folder, "is being cancelled", seq);
    }
    let row = ask::wait(&folder, |row| row.status == "cancelled")?;
    let status = row.map_or_else(|| "left".to_owned(), |row| row.status);
    ask::told(context, &folder, &status, seq)
}
