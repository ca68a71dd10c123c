//! `loop checkpoint`: take a checkpoint of a workspace, and list, show or remove checkpoints.
use std::collections::BTreeMap;

use clap::{Args, Subcommand};
use loop_core::agent::shell_words::quoted;
use loop_core::control::Ask;
use loop_core::run::{Answer, CheckpointClass, Event, Fact, Input, Order, Request, RunState, check_name, numbered};
use loop_core::{text, time};
use loop_host::checkpoint::{CheckpointRow, Collected, Limit, Store, collect};
use loop_host::launch::{self, RequestOutcome};
use loop_host::paths::text_of;
use loop_host::run_folder::RunFolder;
use serde_json::json;

use super::{ask, checkpoint_lookup};
use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::here::{WORDS, Wanted};
use crate::kept::{KeptCheckpoints, local_time};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::{Loudness, text_width};
use crate::render::table::{ShrinkingColumn, table, table_within};

/// The column of a list that gets narrower where a row does not fit: the name.
const SHRINKING: [ShrinkingColumn; 1] = [ShrinkingColumn { at: 0, least: 12 }];

/// Take a checkpoint of the workspace of a loop now, running, paused or ended
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct CheckpointArgs {
    #[command(subcommand)]
    what: Option<What>,
    /// The loop: its id, or any beginning of it that fits one loop only [default: @, the newest of this folder]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Its name; manual-001 and so on without one. One word alone is the name, unless an id begins so
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What else there is to do with checkpoints.
#[derive(Debug, Subcommand)]
enum What {
    /// List the checkpoints of a loop, and until when each is kept; with --verbose also the git command that shows it,
    /// or the path of its snapshot
    List {
        #[command(flatten)]
        id: IdArg,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a checkpoint that you named
    Rm {
        #[command(flatten)]
        id: IdArg,
        /// Its name. One word alone is the name, of the newest loop of this folder
        #[arg(value_name = "NAME")]
        name: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the checkpoints of loops that ended long ago, and unreachable objects
    Gc {
        /// Say what would be removed and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(context: &Context, args: &CheckpointArgs) -> Done {
    match &args.what {
        Some(What::List { id, json }) => list(context, &id.find(context, Wanted::Newest)?, *json),
        Some(What::Rm { id, name, json }) => {
            let (id, name) = (id.id.as_deref(), name.as_deref());
            let (folder, name) = checkpoint_lookup::find_loop(context, id, name, "checkpoint rm")?;
            remove(context, &folder, name, *json)
        }
        Some(What::Gc { dry_run, json }) => gc(context, *dry_run, *json),
        None => take(context, args.id.as_deref(), args.name.as_deref(), args.json),
    }
}

fn take(context: &Context, first: Option<&str>, second: Option<&str>, as_json: bool) -> Done {
    let is_loop = |word: &str| WORDS.contains(&word) || !context.ids_of(word).is_empty();
    let (id, name) = match (first, second) {
        (Some(word), None) if !is_loop(word) => (None, Some(word)),
        words => words,
    };
    let folder = context.find_or_here(id, Wanted::AtWorkOrNewest)?;
    let (place, state) = checkpoint_lookup::checkpoints_of(&folder)?;
    if let Some(name) = name {
        let wrong = |why: String| {
            CommandError::new(Kind::Wrong, format!("a checkpoint cannot be called {name:?}"))
                .because(why)
                .hint(format!("loop checkpoint {} before-refactor", folder.id))
        };
        check_name(name).map_err(wrong)?;
        if checkpoint_lookup::listed(&place)?.iter().any(|listed| listed.name == name) {
            return Err(wrong("there is one of that name already".to_owned()));
        }
    }
    if folder.holder().is_some() {
        let seq = ask::ask(&folder, Ask::Checkpoint { name: name.map(str::to_owned) }, "loop checkpoint")?;
        let came = ask::came(&folder, seq, |order| matches!(order, Order::ManualCheckpoint { .. }))?;
        return came.map_or(Ok(2), |came| answered(context, folder.id.as_str(), &came, as_json));
    }
    let name = name.map_or_else(|| numbered(state.checkpoints.named() + 1), str::to_owned);
    let event = Event::Requested { request: Request::Checkpoint { name }, by: "loop checkpoint".to_owned() };
    let notes = &mut |note| context.print_notes(&[note]);
    let came = launch::carry_out_request(&context.home, &folder, "loop checkpoint", event, notes)?;
    answered(context, folder.id.as_str(), &came, as_json)
}

/// Says what came of it.
fn answered(context: &Context, id: &str, came: &RequestOutcome, as_json: bool) -> Done {
    match came {
        RequestOutcome::Saved(saved) if as_json => {
            let (name, unstable) = (&saved.checkpoint, &saved.unstable);
            context.printer.json(&json!({"version": 1, "id": id, "checkpoint": name, "unstable": unstable}));
            Ok(0)
        }
        RequestOutcome::Saved(saved) => {
            let name = saved.checkpoint.as_deref().unwrap_or_default();
            let unstable = if saved.unstable.is_empty() {
                String::new()
            } else {
                format!(
                    "  changed while the checkpoint was taken: {}\n",
                    text::one_line(&saved.unstable.join(", "), 200)
                )
            };
            context
                .printer
                .answer(&format!("checkpoint taken: {name}\n{unstable}  roll back:  loop rollback {id} {name}\n"));
            Ok(0)
        }
        RequestOutcome::Refused(why) | RequestOutcome::Blocked(why) => {
            Err(CommandError::new(Kind::Unable, "the checkpoint was not taken")
                .because(why.clone())
                .hint("fix that and try again"))
        }
        RequestOutcome::RolledBack(_) => Err(CommandError::new(Kind::Unable, "the checkpoint was not taken")),
    }
}

/// Removes one that a person named; the loop's own go by their time.
fn remove(context: &Context, folder: &RunFolder, name: &str, as_json: bool) -> Done {
    let (found, _) = checkpoint_lookup::find(folder, name)?;
    if check_name(&found).is_err() && !found.starts_with("manual-") {
        return Err(CommandError::new(Kind::Wrong, format!("{found} is a checkpoint that the loop took itself"))
            .because("checkpoints of iterations, of the start and of rollbacks stay until their retention time is over")
            .hint(format!("loop checkpoint gc, or all of it: loop rm {}", folder.id)));
    }
    let (place, _) = checkpoint_lookup::checkpoints_of(folder)?;
    let full = format!("{}/{found}", folder.id);
    let collected = Store::open(&place.store).and_then(|mut store| store.collect(&[full], false));
    let collected = collected.map_err(|error| CommandError::of(Kind::Unable, &error))?;
    tell_stuck(context, &collected);
    if as_json {
        context
            .printer
            .json(&json!({"version": 1, "id": folder.id, "removed": [found], "freed_bytes": collected.freed}));
        return Ok(0);
    }
    context.printer.answer(&format!("removed {found}, freed {}\n", text::size(collected.freed)));
    Ok(0)
}

fn tell_stuck(context: &Context, collected: &Collected) {
    for why in &collected.stuck {
        context.printer.progress(&format!("warning: {why}\n"));
    }
}

fn gc(context: &Context, dry_run: bool, as_json: bool) -> Done {
    let settings = launch::own_settings(&context.home)?;
    let now = loop_host::clock::now().wall_ms;
    let gone = collect(&context.home, Limit::of(&settings.values.checkpoint), now, dry_run);
    let gone = gone.map_err(|error| {
        CommandError::new(Kind::Unable, "the checkpoints cannot be looked at").because(error.to_string())
    })?;
    tell_stuck(context, &gone.collected);
    if as_json {
        context.printer.json(
            &json!({"version": 1, "dry_run": dry_run, "removed": gone.names, "freed_bytes": gone.collected.freed,
                    "objects": gone.collected.objects, "snapshots": gone.collected.snapshots, "bytes": gone.bytes}),
        );
        return Ok(0);
    }
    for name in &gone.names {
        context.printer.progress(&format!("{} {name}\n", if dry_run { "would remove" } else { "removed" }));
    }
    let freed = text::size(gone.collected.freed);
    let word = if dry_run { "would free about" } else { "freed" };
    let count = match gone.names.len() {
        1 => "1 checkpoint".to_owned(),
        count => format!("{count} checkpoints"),
    };
    let objects = gone.collected.objects;
    context
        .printer
        .answer(&format!("{count}, {objects} unreachable objects: {word} {freed}; {} stay\n", text::size(gone.bytes)));
    Ok(0)
}

/// Checkpoints with files that changed while they were read.
fn unstable(folder: &RunFolder) -> Result<BTreeMap<String, Vec<String>>, CommandError> {
    let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let saved = reading.entries.iter().filter_map(|entry| match &entry.fact {
        Fact::Happened(Input {
            event: Event::Answered { answer: Answer::Checkpoint(saved) | Answer::ManualCheckpoint(saved), .. },
            ..
        }) => Some((saved.checkpoint.clone()?, saved.unstable.clone())).filter(|(_, unstable)| !unstable.is_empty()),
        Fact::Happened(_)
        | Fact::Ordered { .. }
        | Fact::OrderCancelled { .. }
        | Fact::Decided(_)
        | Fact::Concluded { .. } => None,
    });
    Ok(saved.collect())
}

fn list(context: &Context, folder: &RunFolder, as_json: bool) -> Done {
    let (place, state) = checkpoint_lookup::checkpoints_of(folder)?;
    let listed = checkpoint_lookup::listed(&place)?;
    let kept = KeptCheckpoints::in_store(&context.home, &place, &state);
    let command = |row: &CheckpointRow| {
        let store = quoted(&text_of(&place.store));
        format!("git --git-dir {store} show --stat refs/loop/{}/{} -- files", folder.id, row.name)
    };
    let snapshot = |row: &CheckpointRow| row.snapshot.as_deref().map(text_of);
    let unstable = unstable(folder)?;
    if as_json {
        let rows: Vec<_> = listed
            .iter()
            .map(|row| {
                json!({"name": row.name, "iteration": row.iteration(), "at": time::rfc3339(row.at_ms), "id": row.id.to_string(),
                       "kept_until": kept.until(&row.name, &state).map(time::rfc3339),
                       "bytes": row.bytes, "git": command(row), "snapshot": snapshot(row),
                       "unstable": unstable.get(&row.name).cloned().unwrap_or_default()})
            })
            .collect();
        context.printer.json(&json!({"version": 1, "id": folder.id, "checkpoints": rows}));
        return Ok(0);
    }
    if listed.is_empty() {
        let why =
            if state.phase.is_fresh() { "no checkpoint has been taken yet".to_owned() } else { kept.none_since() };
        context.printer.answer(&format!("{why}\n"));
        return Ok(0);
    }
    let is_verbose = context.printer.loudness == Loudness::Verbose;
    let rows: Vec<Vec<String>> = listed
        .iter()
        .map(|row| {
            let iteration = row.iteration().map_or_else(|| "-".to_owned(), |number| number.to_string());
            // What a snapshot takes only the file system knows.
            let size = if row.snapshot.is_some() { "-".to_owned() } else { text::size(row.bytes) };
            let mark = if unstable.contains_key(&row.name) { " (unstable)" } else { "" };
            let until = kept_until(&kept, &row.name, &state);
            let mut cells = vec![format!("{}{mark}", row.name), iteration, local_time(row.at_ms), size, until];
            if is_verbose {
                cells.push(snapshot(row).map_or_else(|| command(row), |path| quoted(&path)));
            }
            cells
        })
        .collect();
    let head = ["NAME", "ITER", "TAKEN", "SIZE", "KEPT UNTIL", "SHOW IT BY"];
    if is_verbose {
        context.printer.answer(&table(&head, &rows));
    } else {
        context.printer.answer(&table_within(text_width(), &SHRINKING, &head[..5], &rows));
    }
    Ok(0)
}

/// Until when a checkpoint is kept, in a word or two.
fn kept_until(kept: &KeptCheckpoints, name: &str, state: &RunState) -> String {
    match (kept.until(name, state), CheckpointClass::of(name, None, state)) {
        (Some(until), _) => local_time(until),
        (None, CheckpointClass::Named) => "removed by you only".to_owned(),
        (None, CheckpointClass::Between | CheckpointClass::Main) if kept.times().is_none() => match state.over {
            Some(_) => "no limit while it can be resumed".to_owned(),
            None => "its loop has ended".to_owned(),
        },
        (None, CheckpointClass::Between | CheckpointClass::Main) => "no limit".to_owned(),
    }
}
