//! The prompt of an attempt, put together from the run's files.
use std::fs;
use std::io;

use loop_core::prompt::{Claiming, GATE_OUTPUT_BYTES_MAX, GateSaid, Material, compose};
use loop_core::run::{PromptNote, PromptVariant, RunState};
use loop_core::test_output::excerpt;

use crate::process::tail_of;
use crate::run_folder::{RunFolder, read_text};

/// How many raw bytes are read: without their escape sequences there must be enough left to quote.
const RAW_BYTES_MAX: u64 = 8 * GATE_OUTPUT_BYTES_MAX as u64;

/// The same where tests were read: failures may stand far from the end.
pub(crate) const TESTED_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The prompt of an attempt, in this form. `injected` are the numbers of the first and the last injected text that is new.
pub(crate) fn text(
    run: &RunFolder,
    state: &RunState,
    variant: PromptVariant,
    notes: &[PromptNote],
    injected: Option<(u32, u32)>,
) -> io::Result<String> {
    let Some(spec) = &state.spec else { return Err(io::Error::other("the run has no task")) };
    let goal = read_text(run, &spec.goal)?;
    let mut inject = spec.inject.iter().map(|text| read_text(run, text)).collect::<io::Result<Vec<_>>>()?;
    // Those that stay, then the new ones; each once, in the order in which they came.
    let (first, last) = injected.unwrap_or((u32::MAX, 0));
    let stay = state
        .prompt
        .injections()
        .kept
        .iter()
        .copied()
        .filter(|number| *number < first && *number <= state.prompt.injections().given);
    for number in stay.chain(first..=last) {
        inject.push(fs::read_to_string(run.injected(number))?);
    }
    let gates = state.gates.iter().map(|gate| {
        let (last, gate) = (gate.last(), gate.spec());
        let folder = last.map(|last| run.gate(last.iteration, last.order));
        let tested = last.is_some_and(|last| last.report.tests.is_some());
        let most = if tested { TESTED_BYTES_MAX } else { RAW_BYTES_MAX };
        let end = |name: &str| folder.as_ref().map(|folder| tail_of(&folder.join(name), most)).unwrap_or_default();
        let (stderr, stdout) = (end("stderr"), end("stdout"));
        GateSaid {
            name: if gate.name == "promise" { String::new() } else { gate.name.clone() },
            watch: gate.watch,
            command: gate.command.clone(),
            red: gate.red,
            ended: last.map(|last| last.report.ended.brief()),
            useful: tested.then(|| excerpt(&stdout, &stderr, GATE_OUTPUT_BYTES_MAX)),
            stderr,
            stdout,
        }
    });
    Ok(compose(&Material {
        variant,
        goal: &goal,
        inject: &inject,
        gates: gates.collect(),
        changed: state.prompt.changed_names(),
        notes,
        iteration: state.iteration,
        iterations_max: state.settings.shown().values.limits.max_iterations,
        claiming: (!state.gated()).then(|| Claiming {
            times: state.settings.shown().completion_threshold,
            tag: state.settings.shown().values.gate.completion_promise.as_deref().unwrap_or_default(),
        }),
    }))
}
