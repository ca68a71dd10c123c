//! `loop pause`: pause a loop after its iteration.
use clap::Args;
use loop_core::control::Ask;
use loop_core::run::Status;
use loop_host::run_folder::RunFolder;

use super::plan::PlanAsk;
use super::{ask, plan};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};

/// Pause a loop after this iteration; its process stays, and `loop resume` continues it
#[derive(Debug, Args)]
pub(crate) struct PauseArgs {
    #[command(flatten)]
    id: IdArg,
    /// Return when it is paused
    #[arg(long)]
    wait: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &PauseArgs) -> Done {
    if let Some(folder) = args.id.plan(context, Wanted::AtWork) {
        plan::refuse_wait(&folder, "loop pause", args.wait)?;
        let said = "pauses after the iterations of its loops";
        return plan::tell(context, &folder, PlanAsk { what: Ask::Pause, by: "loop pause", said }, args.json);
    }
    let folder = args.id.find(context, Wanted::AtWork)?;
    let seq = ask::ask(&folder, Ask::Pause, "loop pause")?;
    if !args.wait {
        return ask::told(context, &folder, "pauses after this iteration", seq, args.json);
    }
    let row = ask::wait(&folder, |row| row.status == Status::Paused || is_lifted(&folder))?;
    if row.as_ref().is_some_and(|row| row.status == Status::Running) {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} was not paused", folder.id))
            .because("it was resumed before that")
            .hint(format!("loop pause {} --wait", folder.id)));
    }
    let status = row.map_or("left", |row| row.status.name());
    ask::told(context, &folder, status, seq, args.json)
}

/// Whether another person or process has ended the pause.
fn is_lifted(folder: &RunFolder) -> bool {
    loop_host::journal::read(&folder.path).is_ok_and(|reading| reading.fold().requests.pause.is_none())
}
