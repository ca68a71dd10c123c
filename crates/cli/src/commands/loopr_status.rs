//! `loopr status`: the state of the newest loop of a root, from its journal.
use clap::Args;
use loop_core::run::{LooprState, RunState, Status};
use loop_core::settings::Profile;
use loop_core::view::{LooprExitReason, LooprFold, LooprStatus};
use loop_host::index;
use loop_host::paths::text_of;
use serde_json::json;

use super::loopr::{RootArg, root};
use crate::context::{Context, Done, read_error, runs_error};

/// Show the state of the newest loop of this root
#[derive(Debug, Args)]
pub(super) struct LooprStatusArgs {
    #[command(flatten)]
    root: RootArg,
    /// Print JSON, as .loopr/status.json has it
    #[arg(long)]
    json: bool,
}

pub(super) fn run(context: &Context, args: &LooprStatusArgs) -> Done {
    let root = root(&args.root)?;
    let real = text_of(&root.canonicalize().unwrap_or(root));
    let found = newest(context, &real)?;
    let text = match (&found, args.json) {
        (_, true) => {
            let status = found.as_ref().map(|(_, status)| serde_json::to_value(status).unwrap_or_default());
            // The same fields, where nothing ran yet.
            let status = status.unwrap_or_else(|| json!({"state": null, "iteration": 0, "exit_reason": null}));
            serde_json::to_string_pretty(&status).unwrap_or_default() + "\n"
        }
        (None, false) => format!("no loop of loopr was run in {real}\n"),
        (Some((id, status)), false) => shown(id, status),
    };
    context.printer.answer(&text);
    Ok(0)
}

/// The newest loop of `loopr` in that folder, by its journal.
fn newest(context: &Context, root: &str) -> Result<Option<(String, LooprStatus)>, crate::CommandError> {
    for listed in index::list(&context.home).map_err(|error| runs_error(&error))? {
        let Ok(row) = listed.row else { continue };
        if row.workspace != root {
            continue;
        }
        let reading = loop_host::journal::read(&listed.run.path).map_err(|error| read_error(&error))?;
        let (mut fold, mut state) = (LooprFold::default(), RunState::default());
        for entry in &reading.entries {
            state.apply(&entry.fact);
            fold.take(entry, &state);
        }
        if state.settings.shown().values.start.profile != Profile::Loopr {
            continue;
        }
        let mut status = fold.files(&state).status;
        if state.over.is_none() && row.status == Status::Crashed {
            // Its process is gone: what is written there is what it was doing when it was killed.
            status.state = LooprState::Error;
            status.exit_reason = Some(LooprExitReason::AgentFailed);
            status.last_error = Some(format!("the loop was killed; next: loop resume {}", row.id));
        }
        return Ok(Some((row.id, status)));
    }
    Ok(None)
}

fn shown(id: &str, status: &LooprStatus) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name:<15}{value}\n"));
    line("loop", id);
    let qualification = status.qualification.as_ref().map_or_else(String::new, |words| format!(" ({words})"));
    line("state", &format!("{}{qualification}", status.state.name()));
    line("iteration", &status.iteration.to_string());
    status.exit_reason.iter().for_each(|reason| line("exit reason", reason.name()));
    status.last_summary.iter().for_each(|text| line("last summary", text));
    status.last_error.iter().for_each(|text| line("last error", text));
    line("calls", &format!("{} in the last hour", status.call_count));
    status.next_reset_at.iter().for_each(|at| line("next reset", at));
    text
}
