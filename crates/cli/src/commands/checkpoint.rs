//! `loop checkpoint`: keep a workspace as it is now, and see what is kept.
use clap::{Args, Subcommand};
use loop_core::control::Ask;
use loop_core::run::{Answer, Event, Request, check_name, numbered};
use loop_core::{text, time};
use loop_host::checkpoint::Keeper;
use loop_host::paths::text_of;
use serde_json::json;

use super::setup::quoted;
use super::{ask, visit};
use crate::args::IdArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::table::table;

/// Keep the workspace of a loop as it is now, at work, paused or ended
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// The loop: its id, or any beginning of it that fits one loop only
    #[arg(value_name = "ID", required = true)]
    id: Option<String>,
    /// Its name; manual-001 and so on without one
    #[arg(value_name = "NAME")]
    name: Option<String>,
}

/// What else there is to do with checkpoints.
#[derive(Debug, Subcommand)]
enum What {
    /// List the checkpoints of a loop, with the git command that shows each
    List {
        #[command(flatten)]
        id: IdArg,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &CheckpointArgs) -> Done {
    match (&args.what, &args.id) {
        (Some(What::List { id, json }), _) => list(context, &id.id, *json),
        (None, Some(id)) => take(context, id, args.name.as_deref()),
        (None, None) => Err(CommandError::new(Kind::Wrong, "which loop?").hint("loop checkpoint ID [NAME]")),
    }
}

fn take(context: &Context, id: &str, name: Option<&str>) -> Done {
    let folder = context.find(id)?;
    let (place, state) = visit::checkpoints_of(&folder)?;
    if let Some(name) = name {
        let wrong = |why: String| {
            CommandError::new(Kind::Wrong, format!("a checkpoint cannot be called {name:?}"))
                .because(why)
                .hint(format!("loop checkpoint {} before-refactor", folder.id))
        };
        check_name(name).map_err(wrong)?;
        let listed = Keeper::list(&place).map_err(|error| CommandError::of(Kind::Unable, &error))?;
        if listed.iter().any(|listed| listed.name == name) {
            return Err(wrong("there is one of that name already".to_owned()));
        }
    }
    if folder.holder().is_some() {
        let seq = ask::ask(&folder, Ask::Checkpoint { name: name.map(str::to_owned) }, "loop checkpoint")?;
        return ask::kept(context, &folder, seq);
    }
    let name = name.map_or_else(|| numbered(state.keeping.named + 1), str::to_owned);
    let event = Event::Asked { request: Request::Checkpoint { name }, by: "loop checkpoint".to_owned() };
    answered(context, folder.id.as_str(), &visit::visit(context, &folder, "loop checkpoint", event)?)
}

/// Says what came of it.
pub(crate) fn answered(context: &Context, id: &str, answer: &Answer) -> Done {
    match answer {
        Answer::Kept(saved) => {
            let name = saved.checkpoint.as_deref().unwrap_or_default();
            let unstable = if saved.unstable.is_empty() {
                String::new()
            } else {
                format!("  changed while it was kept: {}\n", text::one_line(&saved.unstable.join(", "), 200))
            };
            context.printer.answer(&format!("kept as {name}\n{unstable}  go back:    loop rollback {id} {name}\n"));
            Ok(0)
        }
        Answer::Refused { why } | Answer::Blocked { why } => {
            Err(CommandError::new(Kind::Unable, "the checkpoint was not taken")
                .because(why.clone())
                .hint("mend that and try again"))
        }
        other => Err(CommandError::new(Kind::Unable, "the checkpoint was not taken").because(format!("{other:?}"))),
    }
}

fn list(context: &Context, id: &str, as_json: bool) -> Done {
    let folder = context.find(id)?;
    let (place, _) = visit::checkpoints_of(&folder)?;
    let listed = Keeper::list(&place).map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let command = |name: &str| {
        let store = quoted(&text_of(&place.store));
        format!("git --git-dir {store} show --stat refs/loop/{}/{name}", folder.id)
    };
    if as_json {
        let rows: Vec<_> = listed
            .iter()
            .map(|row| {
                json!({"name": row.name, "iteration": row.iteration(), "at": time::rfc3339(row.at_ms), "id": row.id.to_string(),
                       "bytes": row.bytes, "git": command(&row.name)})
            })
            .collect();
        context.printer.json(&json!({"version": 1, "id": folder.id, "checkpoints": rows}));
        return Ok(0);
    }
    if listed.is_empty() {
        context.printer.answer("no checkpoint has been taken yet, or none is kept any more\n");
        return Ok(0);
    }
    let rows: Vec<Vec<String>> = listed
        .iter()
        .map(|row| {
            let iteration = row.iteration().map_or_else(|| "-".to_owned(), |number| number.to_string());
            vec![row.name.clone(), iteration, time::rfc3339(row.at_ms), text::size(row.bytes), command(&row.name)]
        })
        .collect();
    context.printer.answer(&table(&["NAME", "ITER", "TAKEN", "SIZE", "SEE IT"], &rows));
    Ok(0)
}
