//! The prompt of an attempt, put together from the run's files.
use std::fs;
use std::io;

use loop_core::policy::gate::Verdict;
use loop_core::prompt::{Claiming, GATE_OUTPUT_BYTES_MAX, GateSaid, Material, Prompt, RankWords, compose};
use loop_core::run::{AttemptRequest, Gate, GuardSpec, RunSpec, RunState};
use loop_core::settings::{OnTamper, Settings};
use loop_core::test_output::excerpt;
use loop_core::view::own_iterations_max;

use crate::process::tail_of;
use crate::run_folder::{RunFolder, read_text};

/// How many raw bytes are read: without their escape sequences there must be enough left to quote.
const RAW_BYTES_MAX: u64 = 8 * GATE_OUTPUT_BYTES_MAX as u64;

/// The same where tests were read: failures may stand far from the end.
pub(crate) const TESTED_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The prompt of an attempt, without what is added to the agent's system prompt.
pub(crate) fn prompt(run: &RunFolder, state: &RunState, request: &AttemptRequest) -> io::Result<Prompt> {
    let Some(spec) = &state.spec else { return Err(io::Error::other("the run has no task")) };
    let goal = read_text(run, &spec.goal)?;
    let inject = spec.inject.iter().map(|text| read_text(run, text)).collect::<io::Result<Vec<_>>>()?;
    let settings = state.settings.shown();
    let written = summary(run, state);
    let in_other_words = mutation(run, state);
    let texts = instructions(run, state, request.injected)?;
    Ok(compose(&Material {
        form: settings.values.context.prompt_form,
        variant: request.choice.prompt,
        goal: &goal,
        inject: &inject,
        urgent: &texts.urgent,
        instructions: &texts.plain,
        gates: gates(run, state),
        protected: protected(spec, state),
        standing: RankWords::of(state),
        changed: state.prompt.changed_names(),
        notes: &request.notes,
        memory: Some(&state.prompt.memory),
        summary: written.as_deref(),
        summary_tokens_max: settings.values.context.max_summary_tokens.unwrap_or(u32::MAX),
        iteration: request.iteration,
        iterations_max: own_iterations_max(state),
        stuck: state.recovery.rung().is_some(),
        tried: state.dead_ends(),
        mutation: in_other_words.as_deref(),
        money_left_micros: state.budget_micros(settings),
        agent: Some(&request.choice),
        claiming: (!state.gated()).then(|| Claiming {
            times: settings.completion_threshold,
            tag: settings.values.gate.completion_promise.as_deref().unwrap_or_default(),
        }),
        ..Material::default()
    }))
}

/// Texts that a person added since the start.
struct Instructions {
    urgent: Vec<String>,
    plain: Vec<String>,
}

/// Those that stay, then the new ones; each once, in the order in which they came.
fn instructions(run: &RunFolder, state: &RunState, injected: Option<(u32, u32)>) -> io::Result<Instructions> {
    let (first, last) = injected.unwrap_or((u32::MAX, 0));
    let known = state.prompt.injections();
    let stay = known.kept.iter().copied().filter(|number| *number < first && *number <= known.given);
    let is_urgent = |number: &u32| known.urgent.contains(number);
    let (urgent, plain): (Vec<u32>, Vec<u32>) = stay.chain(first..=last).partition(is_urgent);
    let read = |numbers: Vec<u32>| {
        numbers.into_iter().map(|number| fs::read_to_string(run.injected(number))).collect::<io::Result<Vec<_>>>()
    };
    Ok(Instructions { urgent: read(urgent)?, plain: read(plain)? })
}

/// The gates, and what they said last.
fn gates(run: &RunFolder, state: &RunState) -> Vec<GateSaid> {
    let since_best = state.prompt.memory.since_best();
    let one = |(at, gate): (usize, &Gate)| {
        let (last, gate) = (gate.last(), gate.spec());
        let passed = last.is_some_and(|last| last.verdict == Verdict::Pass);
        let tests = last.and_then(|last| last.report.tests.as_deref());
        // What passes is not quoted.
        let folder = last.filter(|_| !passed).map(|last| run.gate(last.iteration, last.order));
        let most = if tests.is_some() { TESTED_BYTES_MAX } else { RAW_BYTES_MAX };
        let end = |name: &str| folder.as_ref().map(|folder| tail_of(&folder.join(name), most)).unwrap_or_default();
        let (stderr, stdout) = (end("stderr"), end("stdout"));
        let failing = tests.map(|tests| [&tests.newly_failing.first[..], &tests.still_failing.first[..]].concat());
        GateSaid {
            name: if gate.name == "promise" { String::new() } else { gate.name.clone() },
            watch: gate.watch,
            command: gate.command.clone(),
            red: gate.red,
            ended: last.map(|last| last.report.ended.brief()),
            passed,
            passed_in_best: since_best.verdict(at) == Some(Verdict::Pass),
            failing: failing.filter(|_| !gate.red).unwrap_or_default(),
            useful: tests.map(|_| excerpt(&stdout, &stderr, GATE_OUTPUT_BYTES_MAX)),
            stderr,
            stdout,
        }
    };
    state.gates.iter().enumerate().map(one).collect()
}

/// What the agent may not change: scripts of gates, patterns, and files that the gates opened before iteration 1.
fn protected(spec: &RunSpec, state: &RunState) -> Vec<String> {
    protected_names(state.settings.shown(), spec.guard.as_ref(), state.guard.learned())
}

/// The same by its parts: what the settings and the lines of the gates name, then what the gates opened.
pub(crate) fn protected_names(settings: &Settings, guard: Option<&GuardSpec>, learned: &[String]) -> Vec<String> {
    if settings.values.guard.on_tamper == OnTamper::Allow {
        return Vec::new();
    }
    let mut names: Vec<String> = Vec::new();
    let given = guard.into_iter().flat_map(|guard| guard.scripts.iter().chain(&guard.globs));
    for name in given.chain(learned) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}

/// The summary that an agent wrote, where its file is what was recorded.
pub(crate) fn summary(run: &RunFolder, state: &RunState) -> Option<String> {
    state.prompt.memory.summary().and_then(|summary| read_text(run, &summary.text).ok())
}

/// The goal in other words that an agent wrote, where its file is what was recorded.
pub(crate) fn mutation(run: &RunFolder, state: &RunState) -> Option<String> {
    let mutation = state.prompt.memory.mutation()?;
    mutation.text.as_ref().and_then(|text| read_text(run, text).ok())
}
