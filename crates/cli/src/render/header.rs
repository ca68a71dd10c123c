//! The first six lines of a run: what will happen, before it does.
use loop_core::agent::{Agent, Permissions, adapter};
use loop_core::run::RunState;
use loop_core::settings::{
    AgentSettings, GateSpec, Layer, Resolved, RouterMode, SessionMode, Settings, UNLIMITED, keys,
};
use loop_core::text;
use loop_core::view::{RunLimit, iteration_text, own_iterations_max};

use super::moment;
use super::wrap::hanging;

/// How wide a line of the header may get.
const LETTERS_MAX: usize = 110;

/// At most six lines.
pub(crate) fn header(state: &RunState, before: &RunState) -> String {
    let Some(spec) = &state.spec else { return String::new() };
    let settings = state.settings.shown();
    let lines = [
        resumed(state, before).unwrap_or_else(|| format!("loop {} in {}", spec.id, spec.workspace.path)),
        format!("  task      {}", spec.title()),
        promise(state),
        format!("  agent     {}{}{}", agent(&settings.values.agent), others(settings), withheld(state)),
        format!("  limits    {}", limits(settings)),
        format!("  keeps     {} · Ctrl-C stops after the iteration", checkpoints(&spec.backend)),
    ];
    lines.iter().map(|line| fitted(line)).collect()
}

/// The first line of a resume: where it continues, and how it ended before.
fn resumed(state: &RunState, before: &RunState) -> Option<String> {
    let spec = state.spec.as_ref().filter(|_| !before.phase.is_fresh())?;
    let ended = before.over.as_ref().map_or("its process was cut off", |over| over.reason.text.as_str());
    let (done, most) = (before.iterations_done(), own_iterations_max(state));
    let ago = moment::ago(before.now.wall_ms, state.now.wall_ms);
    let after = format!("after iteration {}", iteration_text(done, most));
    Some(format!("resumed loop {} {after}: {}, {ago}", spec.id, text::one_line(ended, 44)))
}

/// What has to pass: the promise, with the names of other gates; or that nothing is checked.
fn promise(state: &RunState) -> String {
    let promise = state.settings.shown().values.gate.promise.as_deref();
    let others = &state.settings.shown().values.gate.gate;
    let name = |gate: &GateSpec| format!("{}{}", gate.name, if gate.watch { " (only watched)" } else { "" });
    let names = others.iter().map(name).collect::<Vec<_>>().join(", ");
    match (promise, others.is_empty()) {
        (Some(promise), true) => format!("  promise   {promise}"),
        (Some(promise), false) => format!("  promise   {promise} · and {names}"),
        (None, false) => format!("  gates     {names}"),
        (None, true) => "  promise   none: the agent's word ends the loop, and nothing is verified".to_owned(),
    }
}

fn fitted(line: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    // What is run is shown as it is: no character of it is dropped.
    let (label, rest) = line.split_at(line.len().min(12));
    let line = if indent == 2 {
        format!("{label}{}", text::escaped_head(rest, LETTERS_MAX - 12))
    } else {
        text::escaped_head(line, LETTERS_MAX)
    };
    let width = loop_host::terminal::columns(std::io::stderr());
    width.map_or_else(|| line.clone(), |width| hanging(&line, 12, width)) + "\n"
}

/// How many of the person's variables the agent does not get, and how to see which.
fn withheld(state: &RunState) -> String {
    let settings = state.settings.shown();
    let Some(agent) = state.next_agent(settings).filter(|agent| !matches!(agent, Agent::Custom(_))) else {
        return String::new();
    };
    let settings = &settings.values.agent;
    if settings.in_container() {
        return String::new();
    }
    let extra = settings.more_variables();
    let count = agent.environment(loop_host::attempt::ambient(), &extra).withheld.len();
    match count {
        0 => String::new(),
        1 => format!(" · 1 variable not passed: loop agents {}", agent.name()),
        count => format!(" · {count} variables not passed: loop agents {}", agent.name()),
    }
}

/// The other agents that may work, where there are some.
fn others(settings: &Settings) -> String {
    let enabled = settings.values.enabled();
    let names: Vec<String> = enabled.iter().skip(1).map(ToString::to_string).collect();
    let by = match settings.values.router.router {
        RouterMode::Auto => "chosen by the task among",
        RouterMode::Learned => "chosen by results among it and",
        RouterMode::Fixed | RouterMode::Shadow => "else",
    };
    if names.is_empty() { String::new() } else { format!(" · {by} {}", text::one_line(&names.join(", "), 80)) }
}

/// The container that the agent works in, in words; none on this machine.
pub(crate) fn container(settings: &AgentSettings) -> Option<String> {
    match (&settings.container, &settings.image) {
        (Some(name), _) => Some(format!("in container {}", text::escaped_head(name, 60))),
        (None, Some(image)) => Some(format!("in a container of {}", text::escaped_head(image, 60))),
        (None, None) => None,
    }
}

/// Which agent, with its command.
pub(crate) fn agent(settings: &AgentSettings) -> String {
    let name = &settings.agent;
    let place = container(settings).map_or_else(String::new, |place| format!(" {place}"));
    if name == "custom" {
        return format!("{name}{place}: {}", settings.agent_cmd.as_deref().unwrap_or_default());
    }
    let model = settings.agent_model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
    let known = adapter(name);
    let runs = known.is_none_or(|adapter| adapter.runs_commands);
    let may = match settings.allowed() {
        Permissions::Work | Permissions::All if !runs => "edits files here, runs nothing",
        Permissions::Edit => "edits files here, runs nothing",
        Permissions::Work => "edits and runs commands here",
        Permissions::All if !place.is_empty() => "may do anything there",
        Permissions::All => "MAY DO ANYTHING, here and elsewhere",
    };
    // The setting would be without effect, and nothing else would say so.
    let alone = settings.session == SessionMode::Continue && known.is_some_and(|adapter| !adapter.continues);
    let session = if alone { " · cannot continue sessions: each iteration is new" } else { "" };
    format!("{name}{model}{place} · {may}{session}")
}

/// The limits in one line.
fn limits(settings: &Settings) -> String {
    let text = |key| settings.resolved.text(key);
    let time = match settings.values.limits.max_time {
        None => "no time limit".to_owned(),
        Some(_) => format!("{} in all", text(keys::max_time())),
    };
    let iterations = match settings.values.iterations_max() {
        None => "any number of iterations".to_owned(),
        Some(1) => "1 iteration".to_owned(),
        Some(number) => format!("{number} iterations"),
    };
    let judged_by = if settings.values.gate.promise.is_some() { "promise" } else { "gates" };
    let pieces = [
        (iterations, keys::max_iterations()),
        (format!("agent {}", text(keys::timeout())), keys::timeout()),
        (format!("{judged_by} {}", text(keys::gate_timeout())), keys::gate_timeout()),
        (time, keys::max_time()),
    ];
    // Where a limit comes from is said where it is neither typed here nor the default.
    let gated = !settings.gates.is_empty();
    let told =
        pieces.into_iter().filter(|(_, key)| gated || *key != keys::gate_timeout()).map(|(piece, key)| match settings
            .resolved
            .origin(key)
        {
            Some(origin) if ![Layer::Default, Layer::Flag].contains(&origin.layer) => {
                format!("{piece} ({})", origin.place.rsplit('/').next().unwrap_or_default())
            }
            Some(_) | None => piece,
        });
    told.chain(budgets(&settings.resolved)).collect::<Vec<_>>().join(" · ")
}

/// The budgets that are set.
fn budgets(settings: &Resolved) -> Vec<String> {
    let each = RunLimit::ALL.into_iter().filter_map(|limit| {
        let (before, after) = match limit {
            RunLimit::Cost => ("$", ""),
            RunLimit::Tokens => ("", " tokens"),
            RunLimit::CallsPerHour => ("", " calls an hour"),
            RunLimit::CostPerDay => ("$", " a day"),
            RunLimit::TokensPerDay => ("", " tokens a day"),
            RunLimit::CallsPerDay => ("", " calls a day"),
            // They stand before the budgets.
            RunLimit::Time | RunLimit::Iterations => return None,
        };
        Some((settings.text(limit.key()), before, after))
    });
    let set = each.filter(|(value, ..)| !value.is_empty() && *value != UNLIMITED);
    set.map(|(value, before, after)| format!("{before}{}{after}", value.trim_start_matches('$'))).collect()
}

/// Which checkpoints there are.
pub(crate) fn checkpoints(backend: &str) -> &'static str {
    match backend {
        "none" => "no checkpoints: no rollback, changes are only noticed",
        "btrfs" => "every iteration, as btrfs snapshots",
        _ => "every iteration, in a git store of loop's own",
    }
}
