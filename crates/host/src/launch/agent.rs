//! Questions and notes about the agent that only a start has, and its further arguments.
use loop_core::agent::{ADAPTERS, Agent, Permissions, shell_words};
use loop_core::policy::budget::{money_exact, money_text};
use loop_core::run::{RunSettings, RunState};
use loop_core::settings::{Key, Settings, Values, keys};

use super::caller::{LaunchCaller, LaunchNote, LaunchQuestion, PersonAnswer};
use crate::refusal::LaunchRefusal;

/// A person is asked before an agent may do anything. Where no person can be asked, the flag is the answer.
pub(super) fn confirm_permissions(settings: &Values, caller: &mut dyn LaunchCaller) -> Result<(), LaunchRefusal> {
    if settings.agent.allowed() != Permissions::All || settings.start.auto_confirm {
        return Ok(());
    }
    match caller.answer(&LaunchQuestion::AllowEverything) {
        PersonAnswer::Yes => Ok(()),
        PersonAnswer::NobodyThere => {
            caller.note(LaunchNote::important(
                "note: there is no terminal to ask on, so --permissions all counts as it was given (--auto-confirm)"
                    .to_owned(),
            ));
            Ok(())
        }
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

/// What a person should know about the agent and its settings before it works.
pub(super) fn notes(settings: &Settings, agent: &Agent) -> Vec<LaunchNote> {
    let notes = [known_program(agent), cost_is_not_known(settings, agent), recovery_is_off(settings)];
    notes.into_iter().flatten().collect()
}

/// Flags of recovery that have no effect because it is off.
fn recovery_is_off(settings: &Settings) -> Option<LaunchNote> {
    let typed = |key: &&Key| settings.resolved.is_typed(key);
    if settings.values.recovery.recover || typed(&keys::recover()) {
        return None;
    }
    let all = [
        keys::ladder(),
        keys::stuck_after(),
        keys::recovery_budget(),
        keys::prompt_mutations(),
        keys::branch_exploration(),
        keys::branch_count(),
        keys::branch_budget(),
    ];
    let flags: Vec<String> = all.into_iter().filter(typed).map(|key| format!("--{}", key.flag.long)).collect();
    let verb = if flags.len() == 1 { "has" } else { "have" };
    (!flags.is_empty()).then(|| {
        let flags = flags.join(", ");
        LaunchNote::important(format!("warning: {flags} {verb} no effect: recovery is off\n  better: add --recover"))
    })
}

/// A known agent that is run as a plain command works with none of what is known about it.
fn known_program(agent: &Agent) -> Option<LaunchNote> {
    let Agent::Custom(command) = agent else { return None };
    let words = shell_words::split(command).ok()?;
    let program = words.first()?.rsplit('/').next()?;
    let known = ADAPTERS.iter().find(|known| known.program == program && !known.behind_bridge)?;
    let name = known.name;
    Some(LaunchNote::important(format!(
        "warning: --agent-cmd runs {program} as a plain command: its permissions are not set, so it may refuse to edit \
         files, and its cost and limits are not read\n  better: --agent {name}"
    )))
}

/// A command whose cost is not reported uses a limit of money up by its worst case.
fn cost_is_not_known(settings: &Settings, agent: &Agent) -> Option<LaunchNote> {
    let most = settings.caps.cost_micros.filter(|_| matches!(agent, Agent::Custom(_)))?;
    let state = RunState { settings: RunSettings::new(&settings.resolved), ..RunState::default() };
    let worst = state.worst_micros(settings);
    // A worst case of nothing never ends a loop.
    let calls = most.checked_div(worst).map(|whole| whole + u64::from(most % worst > 0))?;
    let calls = if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") };
    Some(LaunchNote::important(format!(
        "warning: a custom command reports no cost: each call counts as {} (--worst-cost), so --max-cost {} ends the \
         loop after {calls}",
        money_text(worst),
        money_exact(most)
    )))
}
