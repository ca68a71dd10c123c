//! Which agent works and whether it can: found, installed, allowed what is asked for, its arguments and variables fit.
use loop_core::agent::{ADAPTERS, Agent, AgentEnv, Described, Permissions, shell_words};
use loop_core::policy::router::AUTO;
use loop_core::settings::{AgentSettings, Key, Layer, Resolved, Settings, keys};
use loop_core::text;

use crate::agent_program::missing_program;
use crate::attempt::ambient;
use crate::paths::{is_root, program_on_path};
use crate::refusal::LaunchRefusal;

/// Shorter values would be found everywhere.
const SECRET_BYTES_MIN: usize = 6;
/// More agents than this are not proposed: loop agents lists them.
const HINTS_MAX: usize = 4;

/// How long a known agent may work, and be silent, where no setting says it.
pub(crate) const KNOWN_AGENT_LIMITS: [(&Key, &str); 2] = [(keys::timeout(), "30m"), (keys::idle_timeout(), "10m")];

/// An agent that can work here.
#[derive(Debug, Clone)]
pub struct UsableAgent {
    pub agent: Agent,
    /// Its description, where the settings describe it.
    pub described: Option<Described>,
}

/// The agent that these settings name, or why it cannot work. It needs nothing but the settings and the descriptions, so
/// that a start and a change of the settings can both call it. `line` is the command as it could be typed again.
///
/// # Errors
/// When there is no such agent, it is not installed, or something that was asked for does not fit it.
pub fn find_agent(settings: &Settings, described: &[Described], line: &str) -> Result<UsableAgent, LaunchRefusal> {
    let of_agent = &settings.values.agent;
    let name = of_agent.agent.as_str();
    let command = of_agent.agent_cmd.as_deref().unwrap_or_default();
    if name == "custom" && command.is_empty() {
        return Err(LaunchRefusal::wrong("the custom agent has no command")
            .because("--agent custom runs the command that --agent-cmd names")
            .hint(format!("{line} --agent-cmd 'your-agent --its-flags'")));
    }
    if name == AUTO {
        return Err(none_installed(settings));
    }
    let agent = Agent::find(name, described, command).ok_or_else(|| unknown(&settings.resolved, described, name))?;
    check_installed(settings, &agent, line)?;
    check_words(settings)?;
    check_fits(&settings.resolved, &agent)?;
    check_permissions(of_agent, &agent)?;
    let described = described.iter().find(|one| one.name == name).cloned();
    Ok(UsableAgent { agent, described })
}

/// `auto`, and no agent of the table is here.
fn none_installed(settings: &Settings) -> LaunchRefusal {
    let mut names: Vec<&str> = settings.values.router.models.rows().iter().map(|row| row.agent.as_str()).collect();
    names.dedup();
    LaunchRefusal::wrong("no agent is installed that --agent auto could choose")
        .because(format!("looked on PATH for the agents of the table of models: {}", names.join(", ")))
        .hint("how to install one: loop agents; or name one: --agent NAME")
}

/// Refuses an agent whose program is not on this machine.
///
/// # Errors
/// When it is not installed, unless it works in a container.
pub(crate) fn check_installed(settings: &Settings, agent: &Agent, line: &str) -> Result<(), LaunchRefusal> {
    match missing_program(settings, agent) {
        Some(_) => Err(not_installed(&settings.resolved, agent, line)),
        None => Ok(()),
    }
}

fn unknown(settings: &Resolved, described: &[Described], name: &str) -> LaunchRefusal {
    let names: Vec<&str> = Agent::names(described).collect();
    let place = settings.origin(keys::agent()).map(ToString::to_string).unwrap_or_default();
    let refusal = LaunchRefusal::wrong(format!("{place}: there is no agent {name:?}"))
        .because(format!("there are {}", names.join(", ")));
    match text::nearest(name, names.iter().copied()) {
        Some(near) => refusal.hint(format!("did you mean {near}?")),
        None => refusal.hint("loop agents lists them; any command works too: --agent-cmd 'your-agent --its-flags'"),
    }
}

fn not_installed(settings: &Resolved, agent: &Agent, line: &str) -> LaunchRefusal {
    let name = agent.name();
    let given = settings.origin(keys::agent()).is_some_and(|origin| origin.layer != Layer::Default);
    let program = agent.program().unwrap_or_default();
    let mut refusal = if given {
        LaunchRefusal::wrong(format!("the agent {name} is not installed"))
            .because(format!("there is no program {program} on PATH"))
    } else {
        LaunchRefusal::wrong(format!("no agent was given, and {name} is not installed"))
            .because(format!("looked on PATH for {}", programs().join(", ")))
    };
    let installed: Vec<_> = ADAPTERS.iter().filter(|known| program_on_path(known.program).is_some()).collect();
    let install = agent.install();
    if !install.is_empty() && (installed.is_empty() || given) {
        refusal = refusal.hint(install.to_owned());
    }
    for known in installed.iter().filter(|known| !known.name.ends_with("-acp")).take(HINTS_MAX) {
        refusal = refusal.hint(format!("{line} --agent {}", known.name));
    }
    if installed.is_empty() {
        refusal = refusal.hint(format!("or give any command: {line} --agent-cmd 'your-agent --its-flags'"));
    }
    refusal
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
fn check_words(settings: &Settings) -> Result<(), LaunchRefusal> {
    let agent = &settings.values.agent;
    shell_words::split(agent.agent_args.as_deref().unwrap_or_default()).map_err(|error| {
        LaunchRefusal::wrong("--agent-args cannot be split into words").because(error.to_string()).hint(error.hint())
    })?;
    let extra = AgentEnv::parse(agent.agent_env.as_deref().unwrap_or_default()).map_err(|error| {
        LaunchRefusal::wrong("--agent-env cannot be read")
            .because(error.to_string())
            .hint("write NAME or NAME=VALUE, several with commas")
    })?;
    for name in agent.secret_names() {
        let secret = |what: String| {
            LaunchRefusal::wrong(what).because("it is declared as a secret, and settings are written down")
        };
        if extra.sets(name) {
            return Err(secret(format!("the value of {name} must not stand on the command line"))
                .hint(format!("export {name} and pass its name alone: --agent-env {name}")));
        }
        let value = std::env::var(name).unwrap_or_default();
        let is_in = |text: &str| value.len() >= SECRET_BYTES_MIN && text.contains(&value);
        if let Some((key, _)) = settings.resolved.iter().find(|(_, valued)| is_in(&valued.value)) {
            return Err(secret(format!("the value of {name} must not stand in {key}"))
                .hint("leave it out: the agent and the promise can read the variable themselves"));
        }
    }
    Ok(())
}

/// A setting that would have no effect is refused.
fn check_fits(settings: &Resolved, agent: &Agent) -> Result<(), LaunchRefusal> {
    let typed = |key| settings.is_typed(key) && !settings.text(key).is_empty();
    let name = agent.name();
    if typed(keys::agent_model()) && !agent.takes_model() {
        return Err(LaunchRefusal::wrong(format!("--agent-model does not reach the agent {name}"))
            .because("loop does not know how its command takes a model")
            .hint("name the model in the command itself"));
    }
    if typed(keys::agent_cmd()) && typed(keys::agent()) && name != "custom" {
        return Err(LaunchRefusal::wrong("--agent and --agent-cmd name two agents")
            .because(format!("--agent-cmd is the command of the custom agent, not of {name}"))
            .hint(format!("leave one of them out; more arguments for {name}: --agent-args '…'")));
    }
    Ok(())
}

fn check_permissions(settings: &AgentSettings, agent: &Agent) -> Result<(), LaunchRefusal> {
    let wanted = settings.allowed();
    if !agent.can(wanted) {
        let name = agent.name();
        return Err(LaunchRefusal::wrong(format!("{name} cannot be limited to --permissions {}", wanted.word()))
            .because("its command does what its own flags say")
            .hint("leave it out, and give the command the flags that limit it"));
    }
    // In a container a variable says that it is isolated.
    let root = is_root() && !settings.in_container();
    let extra = settings.more_variables();
    let may =
        |variable: &str| agent.environment(ambient(), &extra).passed.get(variable).is_some_and(|value| value == "1");
    match agent.as_root().filter(|(_, unless)| wanted == Permissions::All && root && !may(unless)) {
        Some((why, _)) => Err(LaunchRefusal::wrong(format!("{} would refuse to start", agent.name()))
            .because(why)
            .hint("--permissions work lets it edit and run commands in the workspace")),
        None => Ok(()),
    }
}
