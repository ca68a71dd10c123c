//! The prompt of an attempt, put together from the run's files and kept as `prompt.md`; and the
//! attempt that it is given to.
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loop_core::agent;
use loop_core::prompt::{GATE_OUTPUT_BYTES_MAX, GateSaid, Material, compose};
use loop_core::run::{AgentReport, Answer, News, RunState};
use loop_core::text;

use crate::process::{Containment, MAIN, Task, TaskEnd, TaskSpec, tail_of};
use crate::runs::{RunFolder, kept};

/// Raw bytes to look at: escape sequences that are taken out must not shorten what is quoted too much.
const RAW_BYTES_MAX: u64 = 8 * GATE_OUTPUT_BYTES_MAX as u64;
/// How much of an agent's words stands in its report.
const SAID_BYTES_MAX: usize = 2048;

/// News of the run, and the numbers of the first and last injected text that is new.
pub(crate) type Told<'a> = (&'a [News], Option<(u32, u32)>);

/// Writes the prompt and starts the agent with it.
pub(crate) fn start(
    run: &RunFolder,
    state: &RunState,
    told: Told<'_>,
    workspace: &Path,
    containment: &mut Containment,
) -> Result<Task, Answer> {
    let failed = |what: &str, error: &io::Error| Answer::Failed { what: format!("{what}: {error}") };
    let folder = run.attempt(state.iteration, state.attempt);
    let prompt = write(run, state, told, &folder).map_err(|error| failed("cannot write the prompt", &error))?;
    let command = agent::command(&state.settings.agent_cmd, run.id.as_str(), state.iteration, state.attempt);
    let mut env: Vec<_> = command.env.into_iter().map(|(name, value)| (name, value.into())).collect();
    env.push(("LOOP_PROMPT_FILE".to_owned(), prompt.clone().into_os_string()));
    let spec = TaskSpec {
        lane: MAIN,
        argv: &command.argv,
        clear: false,
        env,
        folder: workspace.to_owned(),
        stdin: Some(prompt),
        output: folder,
        secrets: Arc::default(),
    };
    Task::start(spec, containment).map_err(|error| failed("cannot start the agent in the workspace", &error))
}

fn write(run: &RunFolder, state: &RunState, told: Told<'_>, folder: &Path) -> io::Result<PathBuf> {
    let text = text(run, state, told)?;
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join("prompt.md");
    fs::write(&path, text)?;
    Ok(path)
}

fn text(run: &RunFolder, state: &RunState, (news, injected): Told<'_>) -> io::Result<String> {
    let Some(spec) = &state.spec else { return Err(io::Error::other("the run has no task")) };
    let goal = kept(run, &spec.goal)?;
    let mut inject = spec.inject.iter().map(|text| kept(run, text)).collect::<io::Result<Vec<_>>>()?;
    // Those that stay, then those that are new, each once and in the order in which they came.
    let (first, last) = injected.unwrap_or((u32::MAX, 0));
    let stay =
        state.injections.kept.iter().copied().filter(|number| *number < first && *number <= state.injections.given);
    for number in stay.chain(first..=last) {
        inject.push(fs::read_to_string(run.injected(number))?);
    }
    let gates = state.settings.gates.iter().zip(&state.gates).map(|(gate, memory)| {
        let last = memory.last.as_ref();
        let folder = last.map(|last| run.gate(last.iteration, last.order));
        let end = |name: &str| folder.as_ref().map(|folder| tail_of(&folder.join(name), RAW_BYTES_MAX));
        GateSaid {
            command: gate.command.clone(),
            ended: last.map(|last| last.report.ended.brief()),
            stderr: end("stderr").unwrap_or_default(),
            stdout: end("stdout").unwrap_or_default(),
        }
    });
    Ok(compose(&Material {
        goal: &goal,
        inject: &inject,
        gates: gates.collect(),
        changed: &state.changed_names,
        news,
        iteration: state.iteration,
        iterations_max: state.settings.max_iterations,
    }))
}

/// What the end of an agent is to the core.
pub(crate) fn answer(end: TaskEnd) -> Answer {
    if !end.lost.is_empty() {
        return Answer::Lost { left: end.lost };
    }
    let stdout = text::clean(&end.stdout_end);
    let stderr = text::clean(&end.stderr_end);
    let said = if stdout.trim().is_empty() { stderr } else { stdout };
    Answer::AgentEnded(AgentReport {
        ended: end.ended,
        duration_ms: end.duration_ms,
        output: end.output,
        said: text::tail(said.trim(), SAID_BYTES_MAX).to_owned(),
        left_running: end.left_running,
        // The agent did its work and was paid for it: that is written down before the failure counts.
        not_kept: end.failed,
    })
}
