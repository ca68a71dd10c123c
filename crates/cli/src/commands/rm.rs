//! `loop rm`: remove the records of loops and plans with their checkpoints. The workspace is never touched.
use std::io::IsTerminal;

use clap::Args;
use loop_core::ids::RunId;
use loop_core::plan::{PlanReasonCode, PlanState};
use loop_core::run::{MANUAL, check_name};
use loop_host::checkpoint::{CheckpointContext, Store, cut_off, forget_run};
use loop_host::index;
use loop_host::launch;
use loop_host::plan::{plan_context, read_plan, runs_of_plan, sweep_copies};
use loop_host::retention;
use loop_host::run_folder::{FoundFolder, RunFolder};

use super::checkpoint_lookup;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::text_width;
use crate::render::wrap::hanging;

/// Remove the records and checkpoints of loops and plans that are not running; the loops of a plan stay
#[derive(Debug, Args)]
pub(crate) struct RmArgs {
    /// The loops and plans, by their ids or the beginnings of them
    #[arg(value_name = "ID", required = true)]
    ids: Vec<String>,
    /// Also those with checkpoints that you took
    #[arg(long)]
    checkpoints: bool,
    /// Also a plan whose undo, or whose open choice, goes with it; nothing is asked
    #[arg(long, visible_alias = "force")]
    yes: bool,
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
    Err(CommandError::new(Kind::Wrong, format!("loop {id} has checkpoints that you took: {}", named.join(", ")))
        .because("they would go with its records")
        .hint(format!("remove them too: loop rm {id} --checkpoints")))
}

/// Refuses a loop that a plan still needs, unless the plan goes with it.
fn refuse_needed(context: &Context, folder: &RunFolder, going: &[String]) -> Result<(), CommandError> {
    let id = &folder.id;
    let Some(plan) = needed_by(context, folder).filter(|plan| !going.contains(plan)) else { return Ok(()) };
    Err(CommandError::new(Kind::Wrong, format!("loop {id} belongs to plan {plan}, which is not at its end"))
        .because("the plan needs its records and checkpoints")
        .hint(format!("end the plan: loop cancel {plan}"))
        .hint(format!("or remove both: loop rm {plan} {id}")))
}

/// The plan that needs a loop: it can be resumed, or waits for a person.
pub(crate) fn needed_by(context: &Context, folder: &RunFolder) -> Option<String> {
    let row = index::look(folder.clone())?.row.ok()?;
    index::open_plan_of(&context.home, &row)
}

pub(crate) fn run(context: &Context, args: &RmArgs) -> Done {
    // All are found before any is removed: a mistyped one removes nothing.
    let found = args.ids.iter().map(|id| context.find_any(id)).collect::<Result<Vec<_>, _>>()?;
    launch::end_orphans(&context.home, None, &mut |note| context.print_notes(&[note]))?;
    // A process that removes outputs locks each run for a moment, which must not be taken for a running loop.
    let _no_pruning = retention::wait_for_pruning(&context.home);
    let plan = |one: &FoundFolder| if let FoundFolder::Plan(folder) = one { Some(folder.id.to_string()) } else { None };
    let going: Vec<String> = found.iter().filter_map(plan).collect();
    for one in &found {
        match one {
            FoundFolder::Run(folder) => {
                refuse_needed(context, folder, &going)?;
                refuse_named(folder, args.checkpoints)?;
            }
            FoundFolder::Plan(folder) => {
                refuse_plan(context, folder)?;
                ask_about_plan(context, folder, args.yes)?;
            }
        }
    }
    let mut removed = Vec::new();
    for one in found {
        let (folder, said) = match one {
            FoundFolder::Run(folder) => {
                remove(context, &folder)?;
                let said = format!("removed {}\n", folder.id);
                (folder, said)
            }
            FoundFolder::Plan(folder) => {
                let said = remove_plan(context, &folder)?;
                (folder, said)
            }
        };
        if !args.json {
            context.printer.answer(&said);
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

/// The checkpoints of a plan itself; none where it never began.
fn checkpoints_of_plan(context: &Context, folder: &RunFolder, state: &PlanState) -> Option<CheckpointContext> {
    plan_context(&context.home, folder, state).ok()
}

/// Refuses a plan that is at work, or whose checkpoints are needed to finish what was begun in the workspace.
pub(crate) fn refuse_plan(context: &Context, folder: &RunFolder) -> Result<(), CommandError> {
    let id = &folder.id;
    if folder.holder().is_some() {
        return Err(CommandError::new(Kind::Wrong, format!("plan {id} is at work"))
            .because("its records are in use")
            .hint(format!("loop cancel {id}")));
    }
    if let Some(run) = runs_of_plan(&context.home, id).into_iter().find(|run| run.holder().is_some()) {
        return Err(CommandError::new(Kind::Wrong, format!("loop {} of plan {id} is running", run.id))
            .because("it works in a copy that would go with the plan")
            .hint(format!("loop cancel {}", run.id)));
    }
    // Records that cannot be read can be removed.
    let Ok(state) = read_plan(folder) else { return Ok(()) };
    // The apply marks the workspace in the same way as a rollback.
    let place = checkpoints_of_plan(context, folder, &state);
    let begun = place.and_then(|place| cut_off(&place.store)).filter(|(of, _)| of.as_str() == id.as_str());
    if begun.is_none() {
        return Ok(());
    }
    let error = CommandError::new(Kind::Wrong, format!("a change of the workspace by plan {id} is not finished"))
        .because("the workspace has a part of it, and only the checkpoints of the plan have both states");
    let error = if state.resumable() { error.hint(format!("finish it: loop resume {id}")) } else { error };
    Err(error.hint(format!("undo it: loop rollback {id} initial")))
}

/// What of a plan cannot be done any more once its records are gone.
fn lost_with(state: &PlanState, id: &RunId) -> Option<String> {
    let rolled_back = state.rollback.as_ref().is_some_and(|back| matches!(back.end, Some(Ok(_))));
    if state.applying.report.is_some() && !rolled_back {
        return Some(format!("what it changed in the workspace can then not be undone: loop rollback {id} initial"));
    }
    match state.over.as_ref().map(|over| over.reason.code) {
        Some(PlanReasonCode::AwaitsPick) => Some(format!("a branch can then not be picked: loop pick {id}")),
        Some(PlanReasonCode::AwaitsAnswer) => Some(format!("its question can then not be answered: loop status {id}")),
        _ => None,
    }
}

/// A person is asked before undo or an open choice goes; a script says --yes.
fn ask_about_plan(context: &Context, folder: &RunFolder, yes: bool) -> Result<(), CommandError> {
    let id = &folder.id;
    let Ok(state) = read_plan(folder) else { return Ok(()) };
    let Some(lost) = lost_with(&state, id).filter(|_| !yes) else { return Ok(()) };
    let error = |what: String| {
        CommandError::new(Kind::Wrong, what).because(lost.clone()).hint(format!("all the same: loop rm {id} --yes"))
    };
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(error(format!("plan {id} is not removed")));
    }
    let question = format!("remove plan {id}? {lost} [y/N]");
    context.printer.error(&format!("{} ", hanging(&question, 0, text_width())));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).map_err(|error| CommandError::of(Kind::Wrong, &error))?;
    if matches!(line.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(error("nothing was removed".to_owned())) }
}

/// Removes the records of a plan, its copies and its own checkpoints. Its loops stay. Returns what to say.
pub(crate) fn remove_plan(context: &Context, folder: &RunFolder) -> Result<String, CommandError> {
    let id = &folder.id;
    let loops: Vec<String> = runs_of_plan(&context.home, id).into_iter().map(|run| run.id.to_string()).collect();
    let kept = read_plan(folder).ok().and_then(|state| checkpoints_of_plan(context, folder, &state));
    folder.remove().map_err(|error| runs_error(&error))?;
    // Copies of a plan whose records are gone.
    sweep_copies(&context.home);
    if let Some(place) = kept
        && let Err(error) = forget_run(&place)
    {
        context.printer.progress(&format!("warning: its checkpoints stay until loop checkpoint gc: {error}\n"));
    }
    if loops.is_empty() {
        return Ok(format!("removed plan {id}\n"));
    }
    Ok(format!("removed plan {id}; its loops stay: {}\n", loops.join(", ")))
}
