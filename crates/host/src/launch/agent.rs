//! Questions about the agent that only a start asks, and its further arguments.
use loop_core::agent::{Permissions, shell_words};
use loop_core::settings::Values;

use super::caller::{LaunchCaller, LaunchQuestion, PersonAnswer};
use crate::refusal::LaunchRefusal;

/// A person is asked before an agent may do anything. Where no person can be asked, the flag is the answer.
pub(super) fn confirm_permissions(settings: &Values, caller: &mut dyn LaunchCaller) -> Result<(), LaunchRefusal> {
    if settings.agent.allowed() != Permissions::All || settings.start.auto_confirm {
        return Ok(());
    }
    match caller.answer(&LaunchQuestion::AllowEverything) {
        PersonAnswer::Yes | PersonAnswer::NobodyThere => Ok(()),
        PersonAnswer::No => Err(LaunchRefusal::wrong("nothing was started")
            .because("--permissions all was not confirmed")
            .hint("leave it out, or say --auto-confirm")),
    }
}

/// More arguments behind a line of arguments, as words of a line that is split again.
pub(super) fn with_arguments(line: &str, more: &[String]) -> String {
    let more = more.iter().map(|word| shell_words::quoted(word));
    let line = Some(line.to_owned()).filter(|line| !line.is_empty());
    line.into_iter().chain(more).collect::<Vec<_>>().join(" ")
}
