//! `loop rm`: remove the records of loops with their checkpoints. The workspace is never touched.
use clap::Args;
use loop_core::run::{MANUAL, check_name};
use loop_host::checkpoint::{Store, forget_run};
use loop_host::launch;
use loop_host::retention;
use loop_host::run_folder::RunFolder;

use super::checkpoint_lookup;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};

/// Remove the records and checkpoints of loops that are not running
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The loops, by their ids or the beginnings of them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Also those with checkpoints that you named
    #[arg(long)]
    checkpoints: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The checkpoints of a loop that a person named.
pub(crate) fn named(folder: &RunFolder) -> Vec<String> {
    let Ok((place, _)) = checkpoint_lookup::checkpoints_of(folder) else { return Vec::new() };
    if !place.store.is_dir() {
        return Vec::new();
    }
    // By their names alone: snapshots may not be reachable now.
    let names = Store::open(&place.store).and_then(|store| store.names_of(&place.run)).unwrap_or_default();
    let names = names.into_iter().filter_map(|(name, _)| Some(name.split_once('/')?.1.to_owned()));
    names.filter(|name| check_name(name).is_ok() || name.starts_with(MANUAL)).collect()
}

/// Whether a rollback of a loop was begun and is not done: its checkpoints are all that there is then.
pub(crate) fn is_half_done(folder: &RunFolder) -> bool {
    checkpoint_lookup::checkpoints_of(folder).is_ok_and(|(_, state)| state.checkpoints.rolling_back())
}

fn refuse_named(folder: &RunFolder, too: bool) -> Result<(), CommandError> {
    let id = &folder.id;
    if folder.holder().is_some() {
        return Err(CommandError::new(Kind::Wrong, format!("loop {id} is running"))
            .because("its records are in use")
            .hint(format!("loop cancel {id}")));
    }
    if is_half_done(folder) {
        return Err(CommandError::new(Kind::Wrong, format!("a rollback of loop {id} is not finished"))
            .because("the workspace is half-restored, and only its checkpoints have both states")
            .hint(format!("loop rollback {id} undo, or finish it: see loop status {id}")));
    }
    let named = named(folder);
    if named.is_empty() || too {
        return Ok(());
    }
    Err(CommandError::new(Kind::Wrong, format!("loop {id} has checkpoints that you named: {}", named.join(", ")))
        .because("they would go with its records")
        .hint(format!("remove them too: loop rm {id} --checkpoints")))
}

pub(crate) fn run(context: &Context, args: &RmArgs) -> Done {
    // All are found before any is removed: a mistyped one removes nothing.
    let folders = args.ids.iter().map(|id| context.find(id)).collect::<Result<Vec<_>, _>>()?;
    launch::end_orphans(&context.home, None, &mut |note| context.print_notes(&[note]))?;
    // A process that removes outputs locks each run for a moment, which must not be taken for a running loop.
    let _no_pruning = retention::wait_for_pruning(&context.home);
    for folder in &folders {
        refuse_named(folder, args.checkpoints)?;
    }
    let mut removed = Vec::new();
    for folder in folders {
        remove(context, &folder)?;
        if !args.json {
            context.printer.answer(&format!("removed {}\n", folder.id));
        }
        removed.push(folder.id);
    }
    if args.json {
        context.printer.json(&serde_json::json!({"version": loop_core::view::JSON_VERSION, "removed": removed}));
    }
    Ok(0)
}

/// Removes the records of a loop and its checkpoints.
pub(crate) fn remove(context: &Context, folder: &RunFolder) -> Result<(), CommandError> {
    let kept = checkpoint_lookup::checkpoints_of(folder).ok();
    if folder.holder().is_none() {
        context.print_notes(launch::end_container(folder, None).as_slice());
    }
    folder.remove().map_err(|error| runs_error(&error))?;
    if let Some((place, _)) = kept
        && let Err(error) = forget_run(&place)
    {
        context.printer.progress(&format!("warning: its checkpoints stay until loop checkpoint gc: {error}\n"));
    }
    Ok(())
}
