//! `loop cancel`: end a loop now, for good.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::Status;
use loop_core::view::Row;
use loop_host::run_folder::RunFolder;

use super::plan::PlanAsk;
use super::{ask, checkpoint_lookup, plan};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};

/// End a loop now, for good: the agent is ended, its edits stay unless you say --rollback
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    id: IdArg,
    /// Keep the workspace as it is (the default)
    #[arg(long, conflicts_with = "rollback")]
    keep: bool,
    /// Roll back to the initial checkpoint; what is there now becomes a checkpoint first
    #[arg(long)]
    rollback: bool,
    /// Return when it has ended
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &CancelArgs) -> Done {
    if let Some(folder) = args.id.plan(context, Wanted::AtWork) {
        if args.rollback {
            return Err(plan::no_rollback(&folder));
        }
        plan::refuse_wait(&folder, "loop cancel", args.wait)?;
        return plan::tell(
            context,
            &folder,
            PlanAsk { what: Ask::Cancel, by: "loop cancel", said: "is being cancelled" },
            args.json,
        );
    }
    let folder = args.id.find(context, Wanted::AtWork)?;
    let what = if args.rollback { Ask::CancelRollback } else { Ask::Cancel };
    if args.rollback {
        checkpoint_lookup::checkpoints_of(&folder)?;
    }
    let seq = ask::ask(&folder, what, "loop cancel")?;
    if !args.wait {
        return ask::told(context, &folder, "is being cancelled", seq, args.json);
    }
    let row = ask::wait(&folder, |row| row.status == Status::Cancelled)?;
    let (_, state) = if args.rollback {
        checkpoint_lookup::checkpoints_of(&folder)?
    } else {
        return report(context, &folder, row, seq, args.json);
    };
    if let Some(why) = state.checkpoints.refused().filter(|_| state.over.is_some()) {
        return Err(CommandError::new(Kind::Unable, "it is cancelled, but the workspace was not rolled back")
            .because(why)
            .hint(format!("fix that, then: loop rollback {} initial", folder.id)));
    }
    report(context, &folder, row, seq, args.json)
}

fn report(context: &Context, folder: &RunFolder, row: Option<Row>, seq: u64, as_json: bool) -> Done {
    let status = row.map_or_else(|| "left".to_owned(), |row| row.status_words());
    ask::told(context, folder, &status, seq, as_json)
}
