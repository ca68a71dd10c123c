//! Which agent works and whether it can: found, installed, allowed what is asked for, its arguments and variables fit.
use std::io::{IsTerminal, Write};

use loop_core::agent::{ADAPTERS, Agent, AgentEnv, Described, Permissions, shell_words};
use loop_core::settings::{AgentSettings, Key, Layer, Origin, Resolved, Settings, Values, keys};
use loop_core::text;
use loop_host::attempt::ambient;
use loop_host::paths::{is_root, program_on_path};

use super::setup::{Setup, quoted};
use crate::context::Context;
use crate::render::error::{CommandError, Kind};

/// How long an agent that we know may work, and be silent, where nobody says anything.
const KNOWN_LIMITS: [(&Key, &str); 2] = [(keys::timeout(), "30m"), (keys::idle_timeout(), "10m")];

/// Shorter values would be found everywhere.
const SECRET_BYTES_MIN: usize = 6;
/// More agents than this are not proposed: loop agents lists them.
const HINTS_MAX: usize = 4;

/// What holds for an agent that we know, or that is described, where nobody says anything.
pub(super) fn defaults(settings: &mut Settings) {
    if settings.values.agent.agent == "custom" {
        return;
    }
    for (key, value) in KNOWN_LIMITS {
        // A profile has said it where there is a place.
        let unset = |origin: &&Origin| origin.layer == Layer::Default && origin.place.is_empty();
        if let Some(origin) = settings.resolved.origin(key).filter(unset).cloned() {
            settings.put(key, value.to_owned(), origin);
        }
    }
}

/// The agent of a start, or why there is none; `line` is the start as it could be typed again.
pub(crate) fn find(setup: &Setup, line: &str) -> Result<(Agent, Option<Described>), CommandError> {
    let settings = &setup.settings.values.agent;
    let (name, command) = (settings.agent.as_str(), settings.agent_cmd.as_deref().unwrap_or_default());
    if name == "custom" && command.is_empty() {
        return Err(CommandError::new(Kind::Wrong, "the custom agent has no command")
            .because("--agent custom runs the command that --agent-cmd names")
            .hint(format!("{line} --agent-cmd 'your-agent --its-flags'")));
    }
    let agent = Agent::find(name, &setup.described, command).ok_or_else(|| unknown(setup, name))?;
    if let Some(program) = agent.program().filter(|_| !settings.in_container())
        && !is_there(program)
    {
        return Err(not_installed(&setup.settings.resolved, &agent, line));
    }
    check_words(&setup.settings)?;
    check_fits(&setup.settings.resolved, &agent)?;
    check_permissions(settings, &agent)?;
    let described = setup.described.iter().find(|one| one.name == name).cloned();
    Ok((agent, described))
}

/// On PATH, or where its path says.
fn is_there(program: &str) -> bool {
    if program.contains('/') { std::path::Path::new(program).exists() } else { program_on_path(program).is_some() }
}

fn unknown(setup: &Setup, name: &str) -> CommandError {
    let names: Vec<&str> = Agent::names(&setup.described).collect();
    let place = setup.settings.resolved.origin(keys::agent()).map(ToString::to_string).unwrap_or_default();
    let told = CommandError::new(Kind::Wrong, format!("{place}: there is no agent {name:?}"))
        .because(format!("there are {}", names.join(", ")));
    match text::nearest(name, names.iter().copied()) {
        Some(near) => told.hint(format!("did you mean {near}?")),
        None => told.hint("loop agents lists them; any command works too: --agent-cmd 'your-agent --its-flags'"),
    }
}

fn not_installed(settings: &Resolved, agent: &Agent, line: &str) -> CommandError {
    let name = agent.name();
    let given = settings.origin(keys::agent()).is_some_and(|origin| origin.layer != Layer::Default);
    let program = agent.program().unwrap_or_default();
    let mut error = if given {
        CommandError::new(Kind::Wrong, format!("the agent {name} is not installed"))
            .because(format!("there is no program {program} on PATH"))
    } else {
        CommandError::new(Kind::Wrong, format!("no agent was given, and {name} is not installed"))
            .because(format!("looked on PATH for {}", programs().join(", ")))
    };
    let installed: Vec<_> = ADAPTERS.iter().filter(|known| program_on_path(known.program).is_some()).collect();
    let install = agent.install();
    if !install.is_empty() && (installed.is_empty() || given) {
        error = error.hint(install.to_owned());
    }
    for known in installed.iter().filter(|known| !known.name.ends_with("-acp")).take(HINTS_MAX) {
        error = error.hint(format!("{line} --agent {}", known.name));
    }
    if installed.is_empty() {
        error = error.hint(format!("or give any command: {line} --agent-cmd 'your-agent --its-flags'"));
    }
    error
}

/// The programs that are looked for, each once.
fn programs() -> Vec<&'static str> {
    let mut all: Vec<&str> = Vec::new();
    for adapter in ADAPTERS {
        if !all.contains(&adapter.program) {
            all.push(adapter.program);
        }
    }
    all
}

/// Arguments and variables are read once, before anything is made.
fn check_words(settings: &Settings) -> Result<(), CommandError> {
    let agent = &settings.values.agent;
    shell_words::split(agent.agent_args.as_deref().unwrap_or_default()).map_err(|error| {
        CommandError::new(Kind::Wrong, "--agent-args cannot be split into words")
            .because(error.to_string())
            .hint(error.hint())
    })?;
    let wrong = |what: &str, why: String, hint: &str| CommandError::new(Kind::Wrong, what).because(why).hint(hint);
    let extra = AgentEnv::parse(agent.agent_env.as_deref().unwrap_or_default()).map_err(|error| {
        wrong("--agent-env cannot be read", error.to_string(), "write NAME or NAME=VALUE, several with commas")
    })?;
    for name in agent.secret_names() {
        if extra.sets(name) {
            return Err(wrong(
                &format!("the value of {name} must not stand on the command line"),
                "it is declared as a secret, and settings are written down".to_owned(),
                &format!("export {name} and pass its name alone: --agent-env {name}"),
            ));
        }
        let value = std::env::var(name).unwrap_or_default();
        let told = settings
            .resolved
            .iter()
            .find(|(_, valued)| value.len() >= SECRET_BYTES_MIN && valued.value.contains(&value));
        if let Some((key, _)) = told {
            return Err(wrong(
                &format!("the value of {name} must not stand in {key}"),
                "it is declared as a secret, and settings are written down".to_owned(),
                "leave it out: the agent and the promise can read the variable themselves",
            ));
        }
    }
    Ok(())
}

/// What would be dropped without a word is refused.
fn check_fits(settings: &Resolved, agent: &Agent) -> Result<(), CommandError> {
    let typed = |key| settings.is_typed(key) && !settings.text(key).is_empty();
    let name = agent.name();
    if typed(keys::agent_model()) && !agent.takes_model() {
        return Err(CommandError::new(Kind::Wrong, format!("--agent-model does not reach the agent {name}"))
            .because("loop does not know how its command is told of a model")
            .hint("name the model in the command itself"));
    }
    if typed(keys::agent_cmd()) && typed(keys::agent()) && name != "custom" {
        return Err(CommandError::new(Kind::Wrong, "--agent and --agent-cmd name two agents")
            .because(format!("--agent-cmd is the command of the custom agent, not of {name}"))
            .hint(format!("leave one of them out; more arguments for {name}: --agent-args '…'")));
    }
    Ok(())
}

fn check_permissions(settings: &AgentSettings, agent: &Agent) -> Result<(), CommandError> {
    let wanted = settings.allowed();
    if !agent.can(wanted) {
        let name = agent.name();
        return Err(CommandError::new(
            Kind::Wrong,
            format!("{name} cannot be held to --permissions {}", wanted.word()),
        )
        .because("its command does what its own flags say")
        .hint("leave it out, and give the command the flags that hold it back"));
    }
    // In a container it is told that it is shut in.
    let root = is_root() && !settings.in_container();
    let extra = settings.more_variables();
    let may =
        |variable: &str| agent.environment(ambient(), &extra).passed.get(variable).is_some_and(|value| value == "1");
    match agent.as_root().filter(|(_, unless)| wanted == Permissions::All && root && !may(unless)) {
        Some((why, _)) => Err(CommandError::new(Kind::Wrong, format!("{} would refuse to start", agent.name()))
            .because(why)
            .hint("--permissions work lets it edit and run commands in the workspace")),
        None => Ok(()),
    }
}

/// On a terminal a person is asked before an agent may do anything it wants. Elsewhere the flag is the answer.
pub(crate) fn confirm(context: &Context, settings: &Values) -> Result<(), CommandError> {
    let asked = settings.agent.allowed() == Permissions::All && !settings.start.auto_confirm;
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !asked || !terminal {
        return Ok(());
    }
    context.printer.error("The agent may change and run anything that you may, here and elsewhere. Go on? [y/N] ");
    std::io::stderr().flush().ok();
    let mut answer = String::new();
    let read = std::io::stdin().read_line(&mut answer);
    if read.is_ok() && ["y", "yes"].contains(&answer.trim().to_lowercase().as_str()) {
        return Ok(());
    }
    Err(CommandError::new(Kind::Wrong, "nothing was started")
        .because("--permissions all was not confirmed")
        .hint("leave it out, or say --auto-confirm"))
}

/// The user's own arguments after `--`, as words of a line that is split again.
pub(crate) fn joined(line: &str, more: &[String]) -> String {
    let more = more.iter().map(|word| quoted(word));
    let line = Some(line.to_owned()).filter(|line| !line.is_empty());
    line.into_iter().chain(more).collect::<Vec<_>>().join(" ")
}
