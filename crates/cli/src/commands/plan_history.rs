//! `loop history PLAN` and `loop diff PLAN`: what happened in a plan, and what it changed in the workspace.
use loop_core::plan::Plan;
use loop_core::view::{AppliedPlan, PlanHistory};
use loop_host::checkpoint::Comparison;
use loop_host::clock;
use loop_host::journal;
use loop_host::plan::{plan_context, read_plan};
use loop_host::run_folder::RunFolder;

use super::compare::{self, Manner, Points};
use super::history;
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};
use crate::render::plan_history as show;
use crate::render::printer::Loudness;

pub(crate) fn run(context: &Context, folder: &RunFolder, as_json: bool) -> Done {
    let history = read(folder)?;
    if as_json {
        context.printer.json(&history);
        return Ok(0);
    }
    let verbose = context.printer.loudness == Loudness::Verbose;
    context.printer.answer(&show::text(&history, verbose));
    if verbose {
        for run in &history.runs {
            let Some(id) = &run.run else { continue };
            context.printer.answer(&format!("\n━━ {} attempt {}: loop {id} ━━\n", run.node, run.attempt));
            // One that was removed is not in the way of the others.
            match context.find(id).and_then(|folder| history::read(&folder)) {
                Ok((_, iterations)) => context.printer.answer(&history::table_text(&iterations, context.printer)),
                Err(error) => context.printer.answer(&format!("{}\n", error.sentence())),
            }
        }
    }
    Ok(0)
}

/// What happened in a plan.
pub(crate) fn read(folder: &RunFolder) -> Result<PlanHistory, CommandError> {
    let reading = journal::read_of::<Plan>(&folder.path).map_err(|error| read_error(&error))?;
    PlanHistory::of(&reading.entries, folder.holder().is_some(), clock::now()).ok_or_else(|| {
        CommandError::new(Kind::Unable, format!("plan {} has not begun", folder.id)).hint("try again in a moment")
    })
}

/// `loop history PLAN --events`: a plan has no conversation and no breaker.
pub(crate) fn no_events(folder: &RunFolder) -> CommandError {
    let id = &folder.id;
    CommandError::new(Kind::Wrong, "--events is for one loop")
        .because(format!("{id} is a plan: each of its loops has its own conversation and breaker"))
        .hint(format!("its loops: loop history {id}; then: loop history LOOP --events"))
}

/// What a plan changed in the workspace; `A..B`: what differs between two checkpoints of it.
pub(crate) fn diff(context: &Context, folder: &RunFolder, words: &str, manner: Manner) -> Done {
    let (comparison, from, to) = points(context, folder, words)?;
    compare::show_between(context, &comparison, &Points { id: folder.id.as_str(), from: &from, to: &to }, manner)
}

/// What a plan changed in the workspace as a patch; none where nothing was applied.
pub(crate) fn patch(context: &Context, folder: &RunFolder, most: usize) -> Option<String> {
    let (comparison, _, _) = points(context, folder, "").ok()?;
    let patch = compare::patch_of(&comparison, most).ok()?;
    match patch {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text),
        None => Some(format!("too long for a page: loop diff {}\n", folder.id)),
    }
}

fn points(context: &Context, folder: &RunFolder, words: &str) -> Result<(Comparison, String, String), CommandError> {
    let id = &folder.id;
    let state = read_plan(folder).map_err(|error| read_error(&error))?;
    let place = plan_context(&context.home, folder, &state).map_err(|error| compare::unreadable(&error))?;
    let (from, to) = match words.split_once("..") {
        Some((from, to)) => (from.to_owned(), to.to_owned()),
        None if !words.is_empty() => {
            return Err(CommandError::new(Kind::Wrong, format!("plan {id} has no iteration {words}"))
                .because("iterations are those of its loops")
                .hint(format!("its loops: loop history {id}; then: loop diff LOOP {words}")));
        }
        None => {
            let Some(report) = &state.applying.report else {
                let runs: Vec<String> =
                    state.nodes.iter().filter_map(|node| Some(format!("loop diff {}", node.run.as_ref()?))).collect();
                let error = CommandError::new(Kind::Wrong, format!("plan {id} has changed nothing in the workspace"))
                    .because("its result was not applied");
                return Err(match runs.as_slice() {
                    [] => error.hint(format!("loop status {id}")),
                    runs => error.hint(format!("what its loops changed: {}", runs.join(", "))),
                });
            };
            (report.undo.clone(), AppliedPlan::after_name(&report.undo))
        }
    };
    let comparison = Comparison::open(&place, &from, &to).map_err(|error| {
        CommandError::new(Kind::Wrong, format!("plan {id} has not both of {from} and {to}"))
            .because(error.to_string())
            .hint(format!("what it changed in the workspace: loop diff {id}"))
    })?;
    Ok((comparison, from, to))
}
