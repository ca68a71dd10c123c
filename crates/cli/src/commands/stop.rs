//! `loop stop`: end a loop after its iteration, so that it can be resumed.
use clap::Args;
use loop_core::control::Ask;

use super::plan::PlanAsk;
use super::{ask, plan};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::Wanted;

/// Stop a loop after this iteration; its process ends, and `loop resume` continues it
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    #[command(flatten)]
    id: IdArg,
    /// Return when it has ended
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &StopArgs) -> Done {
    if let Some(folder) = args.id.plan(context, Wanted::AtWork) {
        plan::refuse_wait(&folder, "loop stop", args.wait)?;
        let said = "stops after the iterations of its loops";
        return plan::tell(context, &folder, PlanAsk { what: Ask::Stop, by: "loop stop", said }, args.json);
    }
    let folder = args.id.find(context, Wanted::AtWork)?;
    let seq = ask::ask(&folder, Ask::Stop, "loop stop")?;
    if !args.wait {
        return ask::told(context, &folder, "stops after this iteration", seq, args.json);
    }
    let row = ask::wait(&folder, |row| row.outcome.is_some())?;
    let status = row.map_or_else(|| "left".to_owned(), |row| row.status_words());
    ask::told(context, &folder, &status, seq, args.json)
}
