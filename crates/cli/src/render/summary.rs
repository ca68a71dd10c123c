//! The last lines of a run: how it ended, why, and what the person can do next.
use loop_core::run::{Outcome, ReasonCode, RunState};
use loop_core::text;
use loop_core::time;

use super::printer::{Loudness, Paint, Printer};

/// The end for people.
pub(crate) fn summary(state: &RunState, changes: &str, printer: Printer) -> String {
    let (Some(spec), Some(over), Some(standing)) = (&state.spec, &state.over, state.standing()) else {
        return String::new();
    };
    let (paint, word) = match over.outcome {
        Outcome::Kept => (Paint::Good, "done"),
        Outcome::Exhausted => (Paint::Bad, "not done"),
        Outcome::Stopped => (Paint::Warn, "stopped"),
        Outcome::Cancelled => (Paint::Warn, "cancelled"),
        Outcome::Unable => (Paint::Bad, "could not work"),
    };
    let head = format!("{}: {}\n", printer.paint(paint, word), text::clean(over.reason.text.as_bytes()));
    if printer.loudness == Loudness::Quiet {
        return head;
    }
    let gates = state.gates.iter().zip(&state.settings.gates).map(|(memory, gate)| {
        let said = memory.last.as_ref().map_or_else(
            || "never ran".to_owned(),
            |last| {
                format!(
                    "{} ({}, {})",
                    last.verdict.name(),
                    last.report.ended.brief(),
                    time::spaced(last.report.duration_ms)
                )
            },
        );
        format!("  {:<10}{said}\n", gate.name)
    });
    let id = &spec.id;
    let done = state.iterations_done();
    let iterations = if done == 1 { "1 iteration".to_owned() } else { format!("{done} iterations") };
    let mut next = next(over.outcome, over.reason.code, id.as_str());
    if spec.keeps() && state.iteration > 0 {
        next.push_str(&format!("undo it:    loop rollback {id} initial\n"));
    }
    let changes = if spec.keeps() { changes } else { "not measured (no checkpoints)" };
    format!(
        "{head}{}  changes   {changes}\n  cost      {} · {iterations} in {}\n  status    {} ({})\n{next}",
        gates.collect::<String>(),
        cost(state),
        time::spaced(state.active_ms(state.now)),
        standing.status,
        over.reason.code.name(),
    )
}

/// What it cost, as far as anybody told.
pub(crate) fn cost(state: &RunState) -> String {
    let usage = state.spent.usage;
    let money = usage.cost_usd().map(|cost| format!("${cost:.4}"));
    let tokens = usage.tokens().map(|tokens| format!("{tokens} tokens"));
    let told: Vec<String> = money.into_iter().chain(tokens).collect();
    match (told.is_empty(), state.settings.agent.as_str()) {
        (false, _) => told.join(", "),
        (true, "custom") => "not known for a custom agent".to_owned(),
        (true, agent) => format!("not told by {agent}"),
    }
}

/// Two commands: how to see it, and how to go on.
fn next(outcome: Outcome, code: ReasonCode, id: &str) -> String {
    let go_on = match outcome {
        Outcome::Kept | Outcome::Cancelled => format!("forget it:  loop rm {id}"),
        Outcome::Exhausted | Outcome::Stopped | Outcome::Unable => format!("go on:      {}", go_on(Some(code), id)),
    };
    format!("see it:     loop history {id} --verbose\n{go_on}\n")
}

/// The command that goes on with a run in a way that can succeed.
pub(crate) fn go_on(code: Option<ReasonCode>, id: &str) -> String {
    match code {
        Some(ReasonCode::IterationLimit) => format!("loop resume {id} -n +5"),
        Some(ReasonCode::TimeLimit) => format!("loop resume {id} --max-time +1h"),
        Some(ReasonCode::AgentCrashes) => format!("loop resume {id} --agent-cmd '…'   (the agent mended)"),
        Some(ReasonCode::AgentLogin) => format!("loop resume {id}   (when the agent is signed in)"),
        Some(ReasonCode::AgentBilling) => format!("loop resume {id}   (when there is credit)"),
        Some(ReasonCode::ProviderDown) => format!("loop resume {id}   (when the provider works again)"),
        Some(ReasonCode::BudgetLimit) => format!("loop resume {id} --agent-args '…'   (with more money for the agent)"),
        Some(ReasonCode::Question) => format!("loop resume {id} --on-question decide"),
        Some(ReasonCode::GateUnverifiable) => format!("loop resume {id}   (when the promise can be run)"),
        Some(ReasonCode::HostFailure) => format!("loop resume {id}   (when that is mended)"),
        Some(ReasonCode::GoalComplete | ReasonCode::ManualStop | ReasonCode::AgentLost) | None => {
            format!("loop resume {id}")
        }
    }
}
