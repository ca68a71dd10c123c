//! `loop diff`: what a loop changed, as `loop history --diff` shows it.
use clap::Args;

use super::compare::{self, Manner};
use crate::args::IdArg;
use crate::context::{Context, Done};

/// Show what a loop changed: all of it, or one iteration
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    id: IdArg,
    /// What iteration N changed; A..B: what differs between two checkpoints [default: all that the loop changed]
    #[arg(value_name = "N|A..B")]
    between: Option<String>,
    /// Only how many lines of each file
    #[arg(long)]
    stat: bool,
    /// Straight to the terminal
    #[arg(long)]
    no_pager: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &DiffArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let manner = Manner { json: args.json, stat: args.stat, pager: !args.no_pager };
    compare::run(context, &folder, args.between.as_deref().unwrap_or_default(), manner)
}
