//! Whether the program of an agent is on this machine.
use std::path::Path;

use loop_core::agent::Agent;
use loop_core::settings::Settings;

use crate::paths::program_on_path;

/// The program of an agent that is not on this machine. One that works in a container is not looked for here.
pub(crate) fn missing_program<'a>(settings: &Settings, agent: &'a Agent) -> Option<&'a str> {
    agent.program().filter(|program| !settings.values.agent.in_container() && !is_there(program))
}

/// On PATH, or where its path says.
fn is_there(program: &str) -> bool {
    if program.contains('/') { Path::new(program).exists() } else { program_on_path(program).is_some() }
}
