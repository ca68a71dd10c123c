//! `loop rm`: remove the records of loops. The workspace is never touched.
use clap::Args;

use crate::context::{Context, Done, runs_error};

/// Remove the records of loops that are not at work
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
        folder.remove().map_err(|error| runs_error(&error))?;
        context.printer.answer(&format!("removed {}\n", folder.id));
    }
    Ok(0)
}
