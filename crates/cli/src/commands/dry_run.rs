//! `loop start --dry-run`: what would happen, at the price of one run of the promise.
use std::time::Duration;

use loop_core::agent::AgentCommand;
use loop_core::machine::consult;
use loop_core::policy::gate::Verdict;
use loop_core::prompt::{GateSaid, Material, compose};
use loop_core::settings::{GateSpec, Key, PROMISE, Settings, keys};
use loop_core::text;
use loop_core::time;
use loop_host::runs::{self, StartLock};
use loop_host::verify::{self, Rehearsal};
use loop_host::workspace::claim;
use serde_json::json;

use super::container_setup;
use super::setup::{self, quoted};
use super::start::Ready;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::header;

pub(crate) fn run(context: &Context, ready: &Ready, as_json: bool) -> Done {
    refuse_held(context, ready)?;
    let settings = &ready.setup.settings;
    if !as_json {
        context.printer.answer(&plan(ready, settings));
    }
    let mut seen = Vec::new();
    for gate in &settings.gates {
        let limit = Duration::from_millis(gate.timeout_ms.unwrap_or(settings.gate_timeout_ms));
        let containment = settings.values.agent.containment.word();
        let rehearsal = verify::rehearse(&gate.command, &ready.setup.path, limit, containment).map_err(|error| {
            CommandError::new(Kind::Wrong, "the promise cannot be started")
                .because(error.to_string())
                .hint("look at the promise and at the workspace")
        })?;
        seen.push((gate, rehearsal));
    }
    let prompt = prompt(ready, settings, &seen);
    if as_json {
        context.printer.json(&as_value(ready, &seen, &prompt));
        return Ok(0);
    }
    let mut required = seen.iter().filter(|(gate, _)| !gate.watch).peekable();
    let holds = required.peek().is_some() && required.all(|(gate, seen)| verdict(gate, seen) == Verdict::Pass);
    for (gate, seen) in &seen {
        let (said, took) = (verdict(gate, seen).name(), time::spaced(seen.duration_ms));
        let name = if gate.name == PROMISE { String::new() } else { format!("{}: ", gate.name) };
        context.printer.answer(&format!("  {:<15}{name}{said} ({}, {took})\n", "baseline", seen.ended.brief()));
    }
    context.printer.answer(&if holds {
        let what = if settings.gates.len() == 1 { "the promise holds" } else { "the gates hold" };
        format!("\n{what} already: no iteration would be run\n")
    } else {
        format!("\nthe first prompt:\n\n{}", text::clean(prompt.as_bytes()))
    });
    Ok(0)
}

/// A start would be refused, so a dry run is; where there is no state folder yet there are no loops.
fn refuse_held(context: &Context, ready: &Ready) -> Result<(), CommandError> {
    if !context.home.runs().is_dir() {
        return Ok(());
    }
    let start = StartLock::take(&context.home).map_err(|error| runs_error(&error))?;
    let nobody = runs::fresh_id().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let claimed = claim(&context.home, &start, &nobody, &ready.setup.place);
    claimed.map(drop).map_err(|error| setup::workspace_error(&error))
}

fn verdict(gate: &GateSpec, seen: &Rehearsal) -> Verdict {
    consult(|deciding| gate.promise().judge(&seen.ended, false, deciding))
}

fn plan(ready: &Ready, settings: &Settings) -> String {
    let resolved = &settings.resolved;
    let origin = |key: &Key| resolved.origin(key).map(ToString::to_string).unwrap_or_default();
    let mut told = String::from("dry run: nothing is started but the promise, once\n");
    let mut line = |name: &str, value: &str| told.push_str(&format!("  {name:<15}{value}\n"));
    line("workspace", &ready.setup.place.path);
    line("agent", &format!("{} ({})", settings.agent, origin(keys::agent())));
    if let Some(place) = container_setup::place(&settings.values.agent) {
        line("works", &place);
    }
    line("argv", &argv(ready, settings));
    for gate in settings.gates.iter().filter(|gate| gate.name != PROMISE) {
        line("gate", &format!("{}: {}", gate.name, text::one_line(&gate.command, 200)));
    }
    let promise = settings.values.gate.promise.as_ref().map(|_| keys::promise());
    let others = [keys::max_iterations(), keys::timeout(), keys::gate_timeout(), keys::max_time(), keys::checkpoint()];
    for key in promise.into_iter().chain(others) {
        line(key.name, &format!("{} ({})", resolved.text(key), origin(key)));
    }
    line("keeps", header::keeps(ready.chosen.backend));
    if let Some(why) = &ready.chosen.why {
        line("no snapshots", why);
    }
    told
}

/// How the agent would be called, with places for what is not there yet.
fn call(ready: &Ready) -> AgentCommand {
    let workspace = ready.inside.as_ref().map_or(ready.setup.path.as_path(), |inside| inside.workdir());
    loop_host::attempt::example(&ready.agent, &ready.setup.settings, workspace)
}

fn argv(ready: &Ready, settings: &Settings) -> String {
    let words: Vec<String> = call(ready).argv.iter().map(|word| quoted(&text::one_line(word, 80))).collect();
    let origin = settings.resolved.origin(keys::agent_cmd()).map(ToString::to_string).unwrap_or_default();
    let how = if settings.agent == "custom" {
        format!(" ({origin}), prompt on stdin")
    } else {
        ", prompt on stdin or by file".to_owned()
    };
    format!("{}{how}", words.join(" "))
}

fn prompt(ready: &Ready, settings: &Settings, seen: &[(&GateSpec, Rehearsal)]) -> String {
    let said = |(gate, seen): &(&GateSpec, Rehearsal)| GateSaid {
        name: if gate.name == "promise" { String::new() } else { gate.name.clone() },
        watch: gate.watch,
        useful: None,
        command: gate.command.clone(),
        ended: Some(seen.ended.brief()),
        stderr: seen.stderr.clone(),
        stdout: seen.stdout.clone(),
    };
    compose(&Material {
        goal: &ready.goal,
        inject: &ready.inject,
        gates: seen.iter().map(said).collect(),
        iteration: 1,
        iterations_max: settings.max_iterations,
        ..Material::default()
    })
}

fn as_value(ready: &Ready, seen: &[(&GateSpec, Rehearsal)], prompt: &str) -> serde_json::Value {
    let baseline: Vec<_> = seen
        .iter()
        .map(|(gate, seen)| {
            json!({"gate": gate.name, "verdict": verdict(gate, seen).name(), "ended": seen.ended.brief()})
        })
        .collect();
    json!({
        "version": 1, "dry_run": true, "workspace": ready.setup.place.path,
        "argv": call(ready).argv, "settings": ready.setup.settings.resolved,
        "baseline": baseline, "prompt": prompt,
    })
}
