//! The first six lines of a run: what will happen, before it does.
use loop_core::agent::{Agent, AgentEnv, Permissions};
use loop_core::run::RunState;
use loop_core::settings::{Layer, Resolved, UNLIMITED};
use loop_core::text;

use crate::commands::container_setup;

/// How wide a line of the header may get.
const LETTERS_MAX: usize = 110;

/// At most six lines.
pub(crate) fn header(state: &RunState) -> String {
    let Some(spec) = &state.spec else { return String::new() };
    let settings = &state.settings.shown().resolved;
    let lines = [
        format!("loop {} in {}", spec.id, spec.workspace.path),
        format!("  task      {}", spec.goal.head),
        promise(state),
        format!("  agent     {}{}", agent(settings), withheld(state)),
        format!("  limits    {}", limits(settings)),
        format!("  keeps     {} · Ctrl-C stops after the iteration", keeps(&spec.backend)),
    ];
    lines.iter().map(|line| fitted(line)).collect()
}

/// What has to hold: the promise, with the names of other gates; or that nothing is checked.
fn promise(state: &RunState) -> String {
    let promise = state.settings.shown().resolved.get("promise");
    let others: Vec<_> = state.settings.shown().gates.iter().filter(|gate| gate.name != "promise").collect();
    let names = others.iter().map(|gate| gate.name.as_str()).collect::<Vec<_>>().join(", ");
    match (promise.is_empty(), others.is_empty()) {
        (false, true) => format!("  promise   {promise}"),
        (false, false) => format!("  promise   {promise} · and {names}"),
        (true, false) => format!("  gates     {names}"),
        (true, true) => "  promise   none: the agent's word ends the loop, and nothing is verified".to_owned(),
    }
}

fn fitted(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    // The words of a label stand apart by more than one space, which `one_line` would squeeze.
    let (label, rest) = line.split_at(line.len().min(12));
    if indent == 2 {
        format!("{label}{}\n", text::one_line(rest, LETTERS_MAX - 12))
    } else {
        format!("{}\n", text::one_line(line, LETTERS_MAX))
    }
}

/// How many of the person's variables the agent does not get, and how to see which.
fn withheld(state: &RunState) -> String {
    let Some(agent) = state.agent_in_use().filter(|agent| !matches!(agent, Agent::Custom(_))) else {
        return String::new();
    };
    if container_setup::is_asked(&state.settings.shown().resolved) {
        return String::new();
    }
    let extra = AgentEnv::parse(state.settings.shown().resolved.get("agent_env")).unwrap_or_default();
    let count = agent.environment(loop_host::attempt::ambient(), &extra).withheld.len();
    match count {
        0 => String::new(),
        1 => format!(" · 1 variable not passed: loop agents {}", agent.name()),
        count => format!(" · {count} variables not passed: loop agents {}", agent.name()),
    }
}

/// Which agent, with its command.
pub(crate) fn agent(settings: &Resolved) -> String {
    let name = settings.get("agent");
    let place = container_setup::place(settings).map_or_else(String::new, |place| format!(" {place}"));
    if name == "custom" {
        return format!("{name}{place}: {}", settings.get("agent_cmd"));
    }
    let model = Some(settings.get("agent_model")).filter(|model| !model.is_empty());
    let model = model.map_or_else(String::new, |model| format!(" ({model})"));
    let may = match loop_host::attempt::permissions(settings) {
        Permissions::Edit => "edits files here, runs nothing",
        Permissions::Work => "edits and runs commands here",
        Permissions::All if !place.is_empty() => "may do anything there",
        Permissions::All => "MAY DO ANYTHING, here and elsewhere",
    };
    format!("{name}{model}{place} · {may}")
}

/// The limits in one line.
pub(crate) fn limits(settings: &Resolved) -> String {
    let time = match settings.get("max_time") {
        UNLIMITED => "no time limit".to_owned(),
        time => format!("{time} in all"),
    };
    let iterations = match settings.get("max_iterations") {
        UNLIMITED => "any number of iterations".to_owned(),
        "1" => "1 iteration".to_owned(),
        number => format!("{number} iterations"),
    };
    let pieces = [
        (iterations, "max_iterations"),
        (format!("agent {}", settings.get("timeout")), "timeout"),
        (format!("promise {}", settings.get("gate_timeout")), "gate_timeout"),
        (time, "max_time"),
    ];
    // Where a limit comes from is said where it is neither typed here nor the default.
    let told = pieces.map(|(piece, key)| match settings.valued(key).map(|valued| &valued.origin) {
        Some(origin) if ![Layer::Default, Layer::Flag].contains(&origin.layer) => {
            format!("{piece} ({})", origin.place.rsplit('/').next().unwrap_or_default())
        }
        Some(_) | None => piece,
    });
    told.into_iter().chain(budgets(settings)).collect::<Vec<_>>().join(" · ")
}

/// The budgets that are set.
fn budgets(settings: &Resolved) -> Vec<String> {
    let each = [
        ("max_cost", "$", ""),
        ("max_tokens", "", " tokens"),
        ("max_calls_per_hour", "", " calls an hour"),
        ("max_cost_per_day", "$", " a day"),
        ("max_tokens_per_day", "", " tokens a day"),
        ("max_calls_per_day", "", " calls a day"),
    ];
    let set = each.into_iter().map(|(key, before, after)| (settings.get(key), before, after));
    let set = set.filter(|(value, ..)| !value.is_empty() && *value != UNLIMITED);
    set.map(|(value, before, after)| format!("{before}{}{after}", value.trim_start_matches('$'))).collect()
}

/// What is kept of every iteration.
pub(crate) fn keeps(backend: &str) -> &'static str {
    match backend {
        "none" => "no checkpoints: no going back, changes are only noticed",
        "btrfs" => "every iteration, as btrfs snapshots",
        _ => "every iteration, in a git store of loop's own",
    }
}
