//! `loop start --dry-run`: what would happen, at the price of one run of the promise.
use loop_core::agent::shell_words::quoted;
use loop_core::agent::{AgentCommand, Stdin, SystemBy};
use loop_core::policy::gate::Verdict;
use loop_core::prompt::{Claiming, GateSaid, Material, compose};
use loop_core::settings::{GateSpec, Key, PROMISE, Settings, keys};
use loop_core::text;
use loop_core::time;
use loop_host::attempt::added_system_prompt;
use loop_host::gate::Rehearsal;
use loop_host::launch::{self, Prepared, RehearsedStart};
use serde_json::json;

use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::{header, sentences};

/// The exit code of a command that a person stopped.
const STOPPED: u8 = 2;

pub(crate) fn run(context: &Context, prepared: &Prepared, as_json: bool) -> Done {
    launch::check_not_claimed(&context.home, prepared)?;
    let settings = &prepared.settings;
    if !as_json {
        context.printer.answer(&plan(prepared, settings));
    }
    let seen = launch::rehearse_start(&context.home, prepared).map_err(|error| {
        CommandError::new(Kind::Wrong, "the promise cannot be started")
            .because(error.to_string())
            .hint("look at the promise and at the workspace")
    })?;
    let Some(seen) = seen else {
        context.printer.progress("stopped; the gates were not all run\n");
        return Ok(STOPPED);
    };
    let prompt = prompt(prepared, &seen);
    let seen: Vec<(&GateSpec, Rehearsal)> = settings.gates.iter().zip(seen.gates).collect();
    if as_json {
        context.printer.json(&as_value(prepared, &seen, &prompt));
        return Ok(0);
    }
    let mut required = seen.iter().filter(|(gate, _)| !gate.watch).peekable();
    let works_first = settings.values.gate.work_first;
    let holds = required.peek().is_some() && required.all(|(_, seen)| seen.verdict == Verdict::Pass) && !works_first;
    for (gate, seen) in &seen {
        let (said, took) = (sentences::verdict(seen.verdict), time::spaced(seen.duration_ms));
        let name = if gate.name == PROMISE { String::new() } else { format!("{}: ", gate.name) };
        context.printer.answer(&format!("  {:<15}{name}{said} ({}, {took})\n", "baseline", seen.ended.brief()));
    }
    context.printer.answer(&if holds {
        let what = if settings.gates.len() == 1 { "the promise passes" } else { "the gates pass" };
        format!("\n{what} already: no iteration would be run\n")
    } else {
        let system = system(prepared).map_or_else(String::new, |system| {
            format!("\nadded to its system prompt:\n\n{}\n", text::clean(system.as_bytes()))
        });
        format!("{system}\nthe first prompt:\n\n{}", text::clean(prompt.as_bytes()))
    });
    Ok(0)
}

fn plan(prepared: &Prepared, settings: &Settings) -> String {
    let resolved = &settings.resolved;
    let origin = |key: &Key| resolved.origin(key).map(ToString::to_string).unwrap_or_default();
    let mut told = String::from(match settings.gates.len() {
        0 => "dry run: nothing is started\n",
        1 => "dry run: nothing is started but the promise, once\n",
        _ => "dry run: nothing is started but the gates, once each\n",
    });
    let mut line = |name: &str, value: &str| told.push_str(&format!("  {name:<15}{value}\n"));
    line("workspace", &prepared.place.path);
    line("agent", &format!("{} ({})", settings.agent, origin(keys::agent())));
    if let Some(place) = header::container(&settings.values.agent) {
        line("works", &place);
    }
    line("argv", &argv(prepared, settings));
    for gate in settings.gates.iter().filter(|gate| gate.name != PROMISE) {
        line("gate", &format!("{}: {}", gate.name, text::escaped(&gate.command)));
    }
    if !prepared.hidden.is_empty() {
        line("hidden gates", &format!("{} (they run last, and not now)", prepared.hidden.len()));
    }
    if let Some(template) = &settings.values.start.template {
        line("template", &format!("{template} ({})", text::escaped(&origin(keys::template()))));
    }
    let promise = settings.values.gate.promise.as_ref().map(|_| keys::promise());
    let others = [keys::max_iterations(), keys::timeout(), keys::gate_timeout(), keys::max_time(), keys::checkpoint()];
    for key in promise.into_iter().chain(others) {
        line(key.name, &format!("{} ({})", text::escaped(resolved.text(key)), text::escaped(&origin(key))));
    }
    line("keeps", header::checkpoints(prepared.checkpoints.backend));
    if let Some(why) = &prepared.checkpoints.why {
        line("no snapshots", why);
    }
    told
}

/// How the agent would be called, with places for what is not there yet.
fn call(prepared: &Prepared) -> AgentCommand {
    let workspace = prepared.container.as_ref().map_or(prepared.workspace.as_path(), |container| container.workdir());
    loop_host::attempt::example(&prepared.agent.agent, &prepared.settings, workspace)
}

fn argv(prepared: &Prepared, settings: &Settings) -> String {
    let call = call(prepared);
    let words: Vec<String> = call.argv.iter().map(|word| text::escaped(&quoted(word))).collect();
    let origin = settings.resolved.origin(keys::agent_cmd()).map(ToString::to_string).unwrap_or_default();
    let origin = if settings.agent == "custom" { format!(" ({origin})") } else { String::new() };
    let way = match call.stdin {
        Stdin::Prompt => "prompt on stdin",
        Stdin::Nothing => "prompt by file",
    };
    format!("{}{origin}, {way}", words.join(" "))
}

fn prompt(prepared: &Prepared, seen: &RehearsedStart) -> String {
    let settings = &prepared.settings;
    let said = |(gate, seen): (&GateSpec, &Rehearsal)| GateSaid {
        name: if gate.name == "promise" { String::new() } else { gate.name.clone() },
        watch: gate.watch,
        useful: seen.useful.clone(),
        command: gate.command.clone(),
        red: gate.red,
        ended: Some(seen.ended.brief()),
        passed: seen.verdict == Verdict::Pass,
        passed_in_best: false,
        failing: Vec::new(),
        stderr: seen.stderr.clone(),
        stdout: seen.stdout.clone(),
    };
    let claiming = settings.gates.is_empty().then(|| Claiming {
        times: settings.completion_threshold,
        tag: settings.values.gate.completion_promise.as_deref().unwrap_or_default(),
    });
    let mut prompt = compose(&Material {
        form: settings.values.context.prompt_form,
        goal: &prepared.goal,
        inject: &prepared.inject,
        gates: settings.gates.iter().zip(&seen.gates).map(said).collect(),
        protected: seen.protected.clone(),
        standing: seen.standing.clone(),
        iteration: 1,
        iterations_max: settings.values.iterations_max(),
        claiming,
        ..Material::default()
    });
    let system = added_system_prompt(&prepared.agent.agent, settings);
    if prepared.agent.agent.system() == SystemBy::Prompt {
        prompt.add_system(&system);
    }
    prompt.text()
}

/// What is added to the system prompt itself; none where it stands in the prompt, or where there is nothing.
fn system(prepared: &Prepared) -> Option<String> {
    let agent = &prepared.agent.agent;
    let system = added_system_prompt(agent, &prepared.settings);
    (agent.system() != SystemBy::Prompt && !system.is_empty()).then_some(system)
}

fn as_value(prepared: &Prepared, seen: &[(&GateSpec, Rehearsal)], prompt: &str) -> serde_json::Value {
    let baseline: Vec<_> = seen
        .iter()
        .map(|(gate, seen)| json!({"gate": gate.name, "verdict": seen.verdict.name(), "ended": seen.ended.brief()}))
        .collect();
    json!({
        "version": 1, "dry_run": true, "workspace": prepared.place.path,
        "argv": call(prepared).argv, "settings": prepared.settings.resolved,
        "warnings": prepared.warnings, "hidden_gates": prepared.hidden.len(), "baseline": baseline, "prompt": prompt,
        "system_prompt": system(prepared),
    })
}
