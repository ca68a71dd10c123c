//! `loop rollback`: make the workspace what a checkpoint holds.
use std::io::IsTerminal;

use clap::Args;
use loop_core::control::Ask;
use loop_core::run::{Event, Order, Request, RollbackReport, Target};
use loop_host::launch::{self, RequestOutcome};
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::{ask, checkpoint_lookup};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::live::rolled_back;

/// Roll back to a checkpoint: every file in scope is what it was, byte for byte; files made since are gone.
/// What is there now becomes a checkpoint first: `loop rollback ID undo` restores it
#[derive(Debug, Args)]
pub(crate) struct RollbackArgs {
    #[command(flatten)]
    id: IdArg,
    /// initial, the number of an iteration, a name, or undo
    #[arg(value_name = "CHECKPOINT")]
    checkpoint: String,
    /// Of a running loop: end the agent and roll back at once
    #[arg(long, conflicts_with = "after")]
    now: bool,
    /// Of a running loop: roll back when this iteration is done
    #[arg(long)]
    after: bool,
    /// Of a running loop: return when that is done
    #[arg(long)]
    wait: bool,
    /// Restore the repository's own branches, HEAD and index too, as they were before iteration 1
    #[arg(long)]
    restore_git: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &RollbackArgs) -> Done {
    let folder = context.find(&args.id.id)?;
    let (to, state) = checkpoint_lookup::find(&folder, &args.checkpoint)?;
    let mut target = Target { to, now: args.now, git: args.restore_git };
    if folder.holder().is_some() {
        if !state.is_paused() {
            target.now = args.now || (!args.after && ask_when(context, &folder)?);
        }
        let seq = ask::ask(&folder, Ask::Rollback(target.clone()), "loop rollback")?;
        if !target.now && !state.is_paused() && !args.wait {
            if args.json {
                context.printer.json(&json!({"version": 1, "id": folder.id, "asked": target, "noted": seq}));
                return Ok(0);
            }
            return ask::told(context, &folder, &format!("rolls back to {} after this iteration", target.to), seq);
        }
        let came = ask::came(&folder, seq, |order| matches!(order, Order::Rollback { .. }))?;
        return came.map_or(Ok(2), |came| answered(context, args, &folder, came));
    }
    let event = Event::Requested { request: Request::Rollback(target), by: "loop rollback".to_owned() };
    context.printer.progress("taking a checkpoint of what is there, then rolling back\n");
    let notes = &mut |note| context.print_notes(&[note]);
    let came = launch::carry_out_request(&context.home, &folder, "loop rollback", event, notes)?;
    answered(context, args, &folder, came)
}

fn answered(context: &Context, args: &RollbackArgs, folder: &RunFolder, came: RequestOutcome) -> Done {
    match came {
        RequestOutcome::RolledBack(back) => {
            told(context, args, folder, &back);
            // Done, but for the repository: a script must not take that for all of it.
            Ok(if back.incomplete { 3 } else { 0 })
        }
        RequestOutcome::Refused(why) => {
            Err(CommandError::new(Kind::Wrong, "nothing was rolled back and nothing changed").because(why).hint(
                format!(
                    "fix that and give the same command again; all checkpoints: loop checkpoint list {}",
                    folder.id
                ),
            ))
        }
        RequestOutcome::Blocked(why) => {
            Err(CommandError::new(Kind::Unable, "the rollback was begun and is not finished")
                .because(why)
                .hint(format!("fix that and give the same command again, or: loop rollback {} undo", folder.id)))
        }
        RequestOutcome::Saved(_) => Err(CommandError::new(Kind::Unable, "the rollback was cancelled")),
    }
}

fn told(context: &Context, args: &RollbackArgs, folder: &RunFolder, back: &RollbackReport) {
    if args.json {
        context.printer.json(back);
    } else {
        context.printer.answer(&format!("{}\n", rolled_back(back, folder.id.as_str())));
    }
}

/// A person at a terminal is asked; a script waits for the iteration.
fn ask_when(context: &Context, folder: &RunFolder) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let question =
        format!("loop {} is running: roll back [n]ow, which ends the agent, or [a]fter the iteration? [a] ", folder.id);
    context.printer.error(&question);
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| CommandError::of(Kind::Wrong, &error))?;
    match line.trim() {
        "n" | "now" => Ok(true),
        "" | "a" | "after" => Ok(false),
        other => Err(CommandError::new(Kind::Wrong, format!("{other:?} is not an answer"))
            .because("nothing was asked of the loop")
            .hint("say --now or --after")),
    }
}
