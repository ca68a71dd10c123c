//! `loop` alone: what runs, what ended LatelyLoops, and the likely next command.
use loop_core::run::{Outcome, Status};
use loop_core::text;
use loop_core::view::Row;
use loop_host::agents::first_installed;
use loop_host::paths::path_of;
use loop_host::run_folder;

use super::status::{LatelyLoops, task_table};
use crate::context::{Context, Done, runs_error};
use crate::render::summary;

/// A glance is short.
const ROWS_MAX: usize = 10;

pub(crate) fn run(context: &Context) -> Done {
    let shown = LatelyLoops::of(context)?.rows(context);
    let any = !run_folder::all(&context.home).map_err(|error| runs_error(&error))?.is_empty();
    if !shown.is_empty() {
        let some = &shown[..shown.len().min(ROWS_MAX)];
        let more = shown.len() - some.len();
        let rest = if more > 0 { format!("and {more} more: loop list\n") } else { String::new() };
        context.printer.answer(&format!("{}{rest}\n", task_table(some)));
    }
    let some = &shown[..shown.len().min(ROWS_MAX)];
    context.printer.answer(&next(context, some, any));
    Ok(0)
}

/// The likely next commands, for one of the loops that are shown.
fn next(context: &Context, shown: &[Row], any: bool) -> String {
    // What one loop left may have been finished by another one that worked later.
    let is_left = |at: usize, row: &Row| {
        let finishes = |(place, other): (usize, &Row)| {
            let is_later = (&other.updated_at, at) > (&row.updated_at, place);
            is_later && other.workspace == row.workspace && other.is_done()
        };
        !shown.iter().enumerate().any(finishes)
    };
    let here = std::env::current_dir().ok();
    let is_elsewhere = |row: &Row| here.as_ref().is_some_and(|here| !here.starts_with(path_of(&row.workspace)));
    // One of this folder comes first.
    let find = |statuses: &[Status]| {
        let fits = |(at, row): &(usize, &Row)| statuses.contains(&row.status) && is_left(*at, row);
        let mut fitting = shown.iter().enumerate().filter(fits).map(|(_, row)| row);
        let newest = fitting.clone().next();
        fitting.find(|row| !is_elsewhere(row)).or(newest)
    };
    let lines: Vec<String> = if let Some(row) = find(&[Status::Running, Status::Waiting]) {
        vec![format!("watch:     loop status {} --watch", row.id), format!("history:   loop history {}", row.id)]
    } else if let Some(row) = find(&[Status::Crashed, Status::Paused, Status::Failed]) {
        // The newest that was left, however it was.
        let (id, why) = (&row.id, format!("why:       loop status {}", row.id));
        if row.status == Status::Paused && row.is_plan && row.qualification.is_some() {
            vec![format!("choose:    loop pick {id}"), why]
        } else if row.status == Status::Failed && row.outcome == Some(Outcome::PassedBut) {
            vec![why, format!("accept:    loop accept {id}   (when you have looked at it)")]
        } else if row.status == Status::Failed {
            vec![format!("next:      {}", resume(context, row)), format!("why:       loop history {id} --verbose")]
        } else {
            let folder = is_elsewhere(row).then(|| format!("folder:    {}", text::one_line(&row.workspace, 200)));
            [format!("next:      {}", resume(context, row)), why].into_iter().chain(folder).collect()
        }
    } else if let Some(row) = find(&[Status::Completed]) {
        vec![format!("details:   loop history {}", row.id), format!("start one: {}", start_line())]
    } else if any {
        vec![format!("start one: {}", start_line()), "all loops: loop list".to_owned()]
    } else {
        vec![
            "see one work:  loop demo".to_owned(),
            format!("start one:     {}", start_line()),
            "all commands:  loop --help".to_owned(),
        ]
    };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The command that the end of the loop named, too.
fn resume(context: &Context, row: &Row) -> String {
    let state = context.find(&row.id).ok().and_then(|folder| Some(loop_host::journal::read(&folder.path).ok()?.fold()));
    state.map_or_else(|| format!("loop resume {}", row.id), |state| summary::next_command(&state, &row.id))
}

/// A command to start with, by an agent that is installed here.
pub(crate) fn start_line() -> String {
    let agent = first_installed();
    let remark = if agent.is_none() { "   (no agent is installed here yet: loop agents)" } else { "" };
    let agent = agent.unwrap_or("claude");
    format!("loop start \"fix the failing tests\" --promise \"npm test\" --agent {agent}{remark}")
}
