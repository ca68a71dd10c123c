//! What `loop start` says before it begins: which limits the loop is likely to meet.
use loop_core::policy::budget::money_text;
use loop_core::policy::forecast::typical;
use loop_core::run::RunState;
use loop_host::clock;
use loop_host::ledger::{self, Ledger};

use super::counted::{self, CountedDay};
use crate::context::Context;
use crate::render::windows;

/// Says which limits of its provider or of the user's own this loop is likely to meet, where enough loops of its agent
/// have finished. What is not known is not said here: `loop limits` says it.
pub(super) fn note(context: &Context, state: &RunState) {
    if !ledger::exists(&context.home.state) {
        return;
    }
    let (agent, now) = (state.agent_name(), clock::now());
    let Ok(ledger) = Ledger::open(&context.home.state) else { return };
    let likely = ledger.likely_limits(agent, now.wall_ms).unwrap_or_default();
    for limit in &likely {
        context.printer.progress(&format!("warning: {}\n", windows::likely(agent, limit, now.wall_ms)));
    }
    let most = state.settings.shown().caps.cost_per_day_micros;
    let finished = ledger.finished_runs(agent).unwrap_or_default();
    let costs: Vec<u64> = finished.iter().filter_map(|run| run.cost_micros).collect();
    let counted = CountedDay::read(&ledger, now).unwrap_or_default();
    let today = counted.day;
    if let Some((most, cost)) = most.zip(typical(&costs))
        && today.cost_micros.saturating_add(cost) > most
    {
        let (used, most, cost) = (money_text(today.cost_micros), money_text(most), money_text(cost));
        let of = counted::words(Some(&counted));
        let why = format!("{used} of {most} is used today{of}, and 3 of 4 loops of {agent} cost up to {cost}");
        context.printer.progress(&format!("warning: this loop is likely to reach --max-cost-per-day: {why}\n"));
    }
}
