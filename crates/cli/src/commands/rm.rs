//! `loop rm`: remove the records of loops with their checkpoints. The workspace is never touched.
use clap::Args;
use loop_host::checkpoint::forget_run;

use super::visit;
use crate::context::{Context, Done, runs_error};

/// Remove the records and checkpoints of loops that are not at work
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The loops, by their ids or the beginnings of them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
}

pub(crate) fn run(context: &Context, args: &RmArgs) -> Done {
    // All are found before any is removed: a mistyped one removes nothing.
    let folders = args.ids.iter().map(|id| context.find(id)).collect::<Result<Vec<_>, _>>()?;
    super::start::end_orphans(context, None)?;
    for folder in folders {
        let kept = visit::checkpoints_of(&folder).ok();
        folder.remove().map_err(|error| runs_error(&error))?;
        if let Some((place, _)) = kept
            && let Err(error) = forget_run(&place)
        {
            context.printer.progress(&format!("warning: its checkpoints stay until loop checkpoint gc: {error}\n"));
        }
        context.printer.answer(&format!("removed {}\n", folder.id));
    }
    Ok(0)
}
