//! The message of a commit of a loop's work. What looks like a secret is left out: commits are published.
use std::collections::BTreeSet;

use loop_core::attestation::withhold::looks_secret;
use loop_core::plan::{NodeState, PlanState};
use loop_core::run::RunState;
use loop_core::text;
use loop_core::view::{Certificate, end_words};

use super::wrap;

/// The first line of a commit is at most so long.
const SUBJECT_LETTERS_MAX: usize = 72;
const COMMAND_LETTERS_MAX: usize = 200;

/// The message: that of the person or the first line of the task, then how the loop ended, its gates, and trailers.
pub(crate) fn compose(state: &RunState, own: Option<&str>, trailer: Option<&str>) -> String {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let subject = match own {
        Some(own) => own.trim().to_owned(),
        None => subject(state).unwrap_or_else(|| format!("Work of loop {id}")),
    };
    let mut out = format!("{subject}\n\n");
    let times = if state.iteration == 1 { "1 iteration".to_owned() } else { format!("{} iterations", state.iteration) };
    let end = end_words(state).unwrap_or_default();
    out.push_str(&format!("Loop: {end} after {times} of {}\n", state.settings.shown().agent));
    let certificate = Certificate::of(state);
    for gate in certificate.iter().flat_map(|certificate| &certificate.gates) {
        let command = text::one_line(&gate.command, COMMAND_LETTERS_MAX);
        let command = if looks_secret(&gate.command) { String::new() } else { format!(" ({command})") };
        out.push_str(&format!("Gate {}{command}: {}\n", text::one_line(&gate.name, 60), gate.verdict.name()));
    }
    out.push_str(&format!("\nLoop-Id: {id}\n"));
    trailer.iter().for_each(|trailer| out.push_str(&format!("{trailer}\n")));
    out
}

/// The same for what a plan applied: how it was chosen or merged, its gates in the workspace, and its loops.
pub(crate) fn compose_plan(state: &PlanState, own: Option<&str>) -> String {
    let Some(spec) = &state.spec else { return String::new() };
    let own_subject = own.map(|own| own.trim().to_owned());
    let subject = own_subject.or_else(|| first_line(&spec.name)).unwrap_or_else(|| format!("Work of plan {}", spec.id));
    let mut out = format!("{subject}\n\n");
    let how = match &state.chosen {
        Some(chosen) => format!("branch {} of {} was chosen", chosen.node, state.nodes.len()),
        None => format!("{} loops were merged", state.nodes.iter().filter(|node| node.run.is_some()).count()),
    };
    let agents: BTreeSet<&str> =
        state.nodes.iter().filter_map(|node| Some(node.spec.loop_work()?.agent.as_str())).collect();
    let agents: Vec<&str> = agents.into_iter().collect();
    out.push_str(&format!("Plan: {how}, agents {}\n", text::one_line(&agents.join(", "), COMMAND_LETTERS_MAX)));
    if let Some(gates) = &state.applying.gates {
        out.push_str(&format!(
            "Gates: {} of {} pass in the workspace\n",
            gates.passed,
            gates.passed + gates.not_passed
        ));
    }
    out.push_str(&format!("\nLoop-Plan: {}\n", spec.id));
    let is_part = |node: &&NodeState| state.chosen.as_ref().is_none_or(|chosen| chosen.node == *node.id());
    for run in state.nodes.iter().filter(is_part).filter_map(|node| node.run.as_ref()) {
        out.push_str(&format!("Loop-Id: {run}\n"));
    }
    out
}

/// The first line of the task, cut between words.
fn subject(state: &RunState) -> Option<String> {
    first_line(&state.spec.as_ref()?.goal.head)
}

fn first_line(goal: &str) -> Option<String> {
    let line = goal.lines().map(str::trim).find(|line| !line.is_empty())?;
    let line = line.trim_start_matches(['#', ' ']);
    if line.is_empty() || looks_secret(line) {
        return None;
    }
    Some(wrap::cut_at_word(&text::one_line(line, 400), SUBJECT_LETTERS_MAX))
}
