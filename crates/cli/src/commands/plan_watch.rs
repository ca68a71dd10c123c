//! `loop watch PLAN`: what a plan and its loops do, as they do it.
use std::io::IsTerminal;
use std::time::Duration;

use loop_core::plan::{Plan, PlanState};
use loop_host::clock;
use loop_host::driver::Reporter;
use loop_host::journal::Tail;
use loop_host::run_folder::RunFolder;
use loop_host::signals::Signals;

use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::plan::{header, summary};
use crate::render::plan_live::PlanLive;

/// How often a followed plan is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How a plan is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanWatchManner {
    /// Until the plan has ended.
    pub(crate) follow: bool,
    /// What happened before is left out.
    pub(crate) since_ms: u64,
    pub(crate) json: bool,
}

pub(crate) fn run(context: &Context, folder: &RunFolder, manner: PlanWatchManner) -> Done {
    let unreadable =
        |error: std::io::Error| CommandError::new(Kind::Unable, "cannot read the plan").because(error.to_string());
    let mut signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    // On a terminal the lines of the nodes are drawn over again.
    let draws = manner.follow && !manner.json && std::io::stdout().is_terminal();
    let mut live = PlanLive::onto_stdout(context.printer, context.home.clone(), manner.json, draws);
    let (mut tail, mut state) = (Tail::<Plan>::new(&folder.path), PlanState::default());
    let mut shows_header = !manner.json;
    loop {
        // Asked first, so that what a process wrote before its end is read after that.
        let driven = folder.holder().is_some();
        let entries = tail.next_entries().map_err(unreadable)?;
        for entry in &entries {
            state.apply(&entry.fact);
            if shows_header && state.spec.is_some() {
                shows_header = false;
                live.first(&header(&state));
            }
            if entry.at.wall_ms >= manner.since_ms {
                live.on_entry(entry, &state);
            }
        }
        live.keep_up();
        if !manner.follow || !driven || !signals.take().is_empty() {
            break;
        }
        live.draw(&state, clock::now());
        signals.wait(LOOK_EVERY);
    }
    if state.over.is_none() && !manner.json {
        live.now(&state, clock::now());
    }
    live.finish();
    if manner.json {
        return Ok(0);
    }
    if state.over.is_some() && manner.since_ms == 0 {
        context.printer.answer(&summary(&state, context.printer));
    } else if state.over.is_none() && folder.holder().is_none() {
        let id = &folder.id;
        context.printer.answer(&format!("crashed: its process is gone; next: loop resume {id}\n"));
    }
    Ok(0)
}
