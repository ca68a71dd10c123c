//! `loop` alone: what runs, what ended lately, and the likely next command.
use loop_core::run::{Outcome, Status};
use loop_core::view::Row;
use loop_host::run_folder;

use super::status::{lately, rows, rows_table};
use crate::context::{Context, Done, runs_error};

/// A glance is short.
const ROWS_MAX: usize = 10;

pub(crate) fn run(context: &Context) -> Done {
    let shown = rows(lately(context)?);
    let any = !run_folder::all(&context.home).map_err(|error| runs_error(&error))?.is_empty();
    if !shown.is_empty() {
        let some = &shown[..shown.len().min(ROWS_MAX)];
        let more = shown.len() - some.len();
        let rest = if more > 0 { format!("and {more} more: loop list\n") } else { String::new() };
        context.printer.answer(&format!("{}{rest}\n", rows_table(some)));
    }
    context.printer.answer(&next(&shown, any));
    Ok(0)
}

fn next(shown: &[Row], any: bool) -> String {
    let find = |statuses: &[Status]| shown.iter().find(|row| statuses.contains(&row.status));
    let lines: Vec<String> = if let Some(row) = find(&[Status::Running, Status::Waiting]) {
        vec![format!("watch:     loop status {} --watch", row.id), format!("history:   loop history {}", row.id)]
    } else if let Some(row) = find(&[Status::Crashed, Status::Paused]) {
        vec![format!("next:      loop resume {}", row.id), format!("why:       loop status {}", row.id)]
    } else if let Some(row) = find(&[Status::Failed]).filter(|row| row.outcome == Some(Outcome::PassedBut)) {
        vec![
            format!("why:       loop status {}", row.id),
            format!("accept:    loop accept {}   (when you have looked at it)", row.id),
        ]
    } else if let Some(row) = find(&[Status::Failed]) {
        vec![
            format!("next:      loop resume {} -n +5", row.id),
            format!("why:       loop history {} --verbose", row.id),
        ]
    } else if let Some(row) = find(&[Status::Completed]) {
        vec![format!("details:   loop history {}", row.id), start_line()]
    } else if any {
        vec![start_line(), "all loops: loop list".to_owned()]
    } else {
        vec!["see one work:  loop demo".to_owned(), start_line(), "all commands:  loop --help".to_owned()]
    };
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn start_line() -> String {
    "start one: loop start \"fix the failing tests\" --promise \"npm test\" --agent claude".to_owned()
}
