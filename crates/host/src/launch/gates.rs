//! The gates before a start: there is one, a shell can read each, and each can be judged. And what of them is protected.
use std::path::Path;

use loop_core::policy::promise_warning::{PromiseWarning, promise_warnings};
use loop_core::policy::protect::{TEST_GLOBS, is_allowed, is_target_file, judging_scripts_at, with_home};
use loop_core::run::GuardSpec;
use loop_core::settings::{GateSpec, JudgeChoice, PROMISE, Settings, keys};
use loop_core::text;
use serde::Serialize;

use super::caller::{LaunchCaller, LaunchNote, LaunchQuestion, PersonAnswer};
use crate::gate;
use crate::hidden::hidden_gates;
use crate::paths::{Home, user_home};
use crate::refusal::LaunchRefusal;
use crate::settings_files;

/// Whether the gates can be run and judged. `line` is the command to show to a person who forgot them.
pub(super) fn check(settings: &Settings, line: &str) -> Result<(), LaunchRefusal> {
    let gates = &settings.gates;
    let no_promise = settings.values.gate.no_promise;
    if !gates.iter().any(|gate| !gate.watch) && !no_promise {
        return Err(LaunchRefusal::wrong("--promise is missing")
            .because("without a check of its own, loop could only believe the agent")
            .hint(format!(
                "{line} …, with the command that shows that the work is done; or --no-promise, to believe the agent"
            )));
    }
    let typed = |key| settings.resolved.is_typed(key);
    let required = gates.iter().any(|gate| !gate.watch) && (typed(keys::promise()) || typed(keys::gate()));
    if required && no_promise && typed(keys::no_promise()) {
        return Err(LaunchRefusal::wrong("--no-promise and a promise do not go together")
            .because("with a gate the gate decides, without one the agent's word does")
            .hint("leave one of them out; --gate 'NAME[watch]=CMD' is only shown, and goes with both"));
    }
    gates.iter().try_for_each(check_gate)?;
    check_line("--agent-cmd", settings.values.agent.agent_cmd.as_deref().unwrap_or_default())
}

/// A gate, and what makes it pass although the work is not done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GateWarning {
    /// The name of the gate.
    pub gate: String,
    #[serde(flatten)]
    pub warning: PromiseWarning,
}

impl GateWarning {
    /// The same for people.
    #[must_use]
    pub fn note(&self) -> LaunchNote {
        let PromiseWarning { sentence, instead, .. } = &self.warning;
        let text = format!("warning: {}: {sentence}\n  better: {}", flag_of(&self.gate), text::escaped(instead));
        LaunchNote::progress(text)
    }
}

/// What is wrong with the gates that decide.
pub(super) fn warnings(settings: &Settings, workspace: &Path) -> Vec<GateWarning> {
    let here = workspace.to_str().unwrap_or_default();
    let required = settings.gates.iter().filter(|gate| !gate.watch);
    required
        .flat_map(|gate| {
            let found = promise_warnings(&gate.command, here);
            found.into_iter().map(|warning| GateWarning { gate: gate.name.clone(), warning })
        })
        .collect()
}

/// The flag that gives a gate.
fn flag_of(gate: &str) -> String {
    if gate == PROMISE { "--promise".to_owned() } else { format!("--gate {gate}") }
}

/// A line that no shell can read says nothing about the work. A `!` before several commands would be the shell's own,
/// for which a command that is not found is a success.
fn check_gate(gate: &GateSpec) -> Result<(), LaunchRefusal> {
    let flag = flag_of(&gate.name);
    check_line(&flag, gate.promise().command)?;
    if gate.promise().left_to_shell {
        let bare = text::one_line(gate.command.trim_start_matches(['!', ' ']), 60);
        return Err(LaunchRefusal::wrong(format!("{flag}: a ! stands before several commands"))
            .because("the shell's own ! calls it a success when a command cannot be run at all")
            .hint(format!("put them in brackets: ! ( {bare} )")));
    }
    Ok(())
}

/// A person is asked before the agent works for a gate that calls what is not there: a mistyped one would be found out
/// only by iterations that are paid. It may be the agent's work to make it.
pub(super) fn confirm_found(
    settings: &Settings,
    workspace: &Path,
    caller: &mut dyn LaunchCaller,
) -> Result<(), LaunchRefusal> {
    for gate in settings.gates.iter().filter(|gate| !gate.watch) {
        let Some(word) = gate::missing_command(gate.promise().command, workspace) else { continue };
        let (flag, word) = (flag_of(&gate.name), word.to_owned());
        let what = format!("{flag}: {word} is neither a program nor an executable file here");
        let answer = if settings.values.start.auto_confirm {
            PersonAnswer::NobodyThere
        } else {
            caller.answer(&LaunchQuestion::StartWithMissingCommand { flag, word })
        };
        match answer {
            PersonAnswer::Yes => {}
            PersonAnswer::NobodyThere => caller.note(LaunchNote::progress(format!("warning: {what}"))),
            PersonAnswer::No => {
                return Err(LaunchRefusal::wrong("nothing was started")
                    .because(what)
                    .hint("fix the command, or say --auto-confirm where the agent is to make it"));
            }
        }
    }
    Ok(())
}

/// The hidden gates of runs in a workspace, if a shell can read each.
pub(super) fn hidden(home: &Home, workspace: &Path) -> Result<Vec<GateSpec>, LaunchRefusal> {
    let named = settings_files::hidden(&home.config)?;
    let lies_in_workspace = |file: &String| {
        let file = Path::new(file).canonicalize();
        let here = workspace.canonicalize();
        file.is_ok_and(|file| here.is_ok_and(|here| file.starts_with(here)))
    };
    if named.file.as_ref().is_some_and(lies_in_workspace) {
        return Err(LaunchRefusal::wrong("hidden_gates_file lies in the workspace")
            .because("the agent works there and can read it")
            .hint("move the file elsewhere, for example beside your config.toml"));
    }
    let gates = hidden_gates(&home.config, workspace)?;
    for gate in &gates {
        // Its command is not shown.
        let what = || LaunchRefusal::wrong(format!("the hidden gate {} cannot be run", gate.name));
        if gate::syntax_error(gate.promise().command).is_some() {
            return Err(what().because("the shell cannot read its command").hint("fix the line in your settings"));
        }
        if gate.promise().left_to_shell {
            return Err(what()
                .because("a ! stands before several commands: the shell calls it a success when one cannot be run")
                .hint("put them in brackets: ! ( … )"));
        }
    }
    Ok(gates)
}

/// What a person should know about hidden gates before a start.
pub(super) fn note_on_hidden(hidden: &[GateSpec], settings: &Settings, backend: &str) -> Option<LaunchNote> {
    let count = count_of(hidden)?;
    let values = &settings.values.gate;
    if !settings.gates.iter().any(|gate| !gate.watch) {
        let text = format!("warning: {count} of your settings will not run: without a gate there is no pass to check");
        return Some(LaunchNote::important(text));
    }
    let why = match (values.judge, backend) {
        (JudgeChoice::Workspace, _) => "--judge workspace",
        (JudgeChoice::Auto, "none") => "--checkpoint none",
        (JudgeChoice::Auto, _) => return None,
    };
    let text = format!(
        "note: {count} will run in the workspace itself, because of {why}: what is written there, the agent can read"
    );
    Some(LaunchNote::progress(text))
}

/// How many hidden gates there are, in words.
pub(super) fn count_of(hidden: &[GateSpec]) -> Option<String> {
    match hidden.len() {
        0 => None,
        1 => Some("1 hidden gate".to_owned()),
        count => Some(format!("{count} hidden gates")),
    }
}

fn check_line(flag: &str, line: &str) -> Result<(), LaunchRefusal> {
    let Some(why) = gate::syntax_error(line) else { return Ok(()) };
    let what = format!("{flag}: the shell cannot read {:?}", text::one_line(line, 60));
    Err(LaunchRefusal::wrong(what).because(why).hint("fix the line, or put it into a script"))
}

/// What the agent may not change: what the gates run, and what the user names. None where nothing of it exists and no
/// file says how tests are run.
pub(super) fn guard(settings: &Settings, workspace: &Path) -> Option<GuardSpec> {
    let mut globs = settings.values.guard.protect.clone();
    if settings.values.guard.protect_tests {
        globs.extend(TEST_GLOBS.iter().map(|glob| (*glob).to_owned()));
    }
    let here = workspace.to_str().unwrap_or_default();
    let home = user_home().map(|home| home.to_string_lossy().into_owned()).unwrap_or_default();
    let mut scripts: Vec<String> =
        settings.gates.iter().flat_map(|gate| judging_scripts_at(&with_home(&gate.command, &home), here)).collect();
    scripts.retain(|script| !is_allowed(&settings.values.guard.allow, script));
    scripts.retain(|script| script.contains(['*', '?']) || workspace.join(script).is_file());
    scripts.sort_unstable();
    scripts.dedup();
    let has_target_file = || {
        let names = std::fs::read_dir(workspace).into_iter().flatten().flatten();
        names.filter_map(|entry| entry.file_name().into_string().ok()).any(|name| is_target_file(&name))
    };
    (!globs.is_empty() || !scripts.is_empty() || has_target_file()).then_some(GuardSpec { globs, scripts })
}
