//! Decides what is remembered of an iteration for later prompts: what it fixed and broke, which error is left, what its
//! agent says was the cause, and whether it was a dead end.
use super::judgement::{IterationMemory, RawMemory};
use super::state::RunState;
use crate::agent::signature;
use crate::machine::Deciding;
use crate::policy::breaker::IterationEvidence;
use crate::policy::gate::Verdict;
use crate::settings::PromptForm;
use crate::text::{self, NameList};

/// How many names of changed files are remembered.
const FILES_MAX: usize = 4;
/// How long the agent's own line is, in letters.
const CLAIM_LETTERS_MAX: usize = 160;
/// How many iterations are kept as they are, at most.
const WINDOW_MAX: u32 = 100;
/// How many letters of what an agent wrote a prompt shows.
const RAW_LETTERS_MAX: usize = 1000;
/// How long the line about an error is, in letters.
const SIGNATURE_LETTERS_MAX: usize = 120;

/// What is remembered of the iteration that is judged.
pub(super) fn remember(
    state: &RunState,
    evidence: &IterationEvidence,
    reverted: bool,
    deciding: &Deciding,
) -> IterationMemory {
    let tests = || state.gates.iter().filter_map(|gate| gate.last()?.report.tests.as_deref());
    let fixed = together(tests().map(|tests| &tests.newly_passing));
    let broken = together(tests().map(|tests| &tests.newly_failing));
    let names = state.prompt.newest_names();
    let files: Vec<String> = names.iter().take(FILES_MAX).map(|name| text::escaped_head(name, 80)).collect();
    let error =
        evidence.error.clone().or_else(|| gate_error(state)).map(|error| text::one_line(&error, SIGNATURE_LETTERS_MAX));
    let changed = evidence.files.is_some_and(|files| files > 0) || evidence.noticed == Some(true);
    let helped = evidence.improved && !reverted;
    let is_dead_end = state.gated() && changed && !helped && !state.gates_pass();
    // The same files, and the same error is left: the same dead end, whatever the agent says about it.
    let key = || {
        let mut sorted = files.clone();
        sorted.sort();
        text::one_line(&format!("{} | {}", sorted.join(", "), error.as_deref().unwrap_or_default()), 400)
    };
    let dead_end = is_dead_end.then(key);
    let context = &state.settings.read(deciding).values.context;
    let raw = (context.prompt_form == PromptForm::History)
        .then(|| raw(state, context.raw_window_size.unwrap_or(WINDOW_MAX).min(WINDOW_MAX)));
    IterationMemory { files, fixed, broken, claim: claim(state), dead_end, error, raw }
}

/// The beginning of what the agent wrote, and its marks of progress.
fn raw(state: &RunState, window: u32) -> RawMemory {
    let Some(report) = state.agent.report() else { return RawMemory { window, ..RawMemory::default() } };
    let text = report.first_text.as_deref().unwrap_or(&report.last_text);
    let text = text.chars().take(RAW_LETTERS_MAX).collect();
    RawMemory { text, markers: report.stream.progress.clone(), window }
}

/// The names of several lists.
fn together<'a>(all: impl Iterator<Item = &'a NameList>) -> NameList {
    let mut sum = NameList::default();
    for list in all {
        sum.count = sum.count.saturating_add(list.count);
        let room = 3_usize.saturating_sub(sum.first.len());
        sum.first.extend(list.first.iter().take(room).cloned());
    }
    sum
}

/// The error of the first required gate that fails.
fn gate_error(state: &RunState) -> Option<String> {
    let last = state.gates.required().filter_map(|gate| gate.last()).find(|last| last.verdict != Verdict::Pass)?;
    Some(signature::signature(&last.report.excerpt)).filter(|error| !error.is_empty())
}

/// What the agent says in one line: the summary of its status block, its newest mark of progress, or its last line.
fn claim(state: &RunState) -> Option<String> {
    let report = state.agent.report()?;
    let summary = report.stream.claimed.as_ref().and_then(|claim| claim.summary.clone());
    let marked = || report.stream.progress.last().cloned();
    let last = || report.last_text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
    let line = summary.or_else(marked).or_else(last)?;
    Some(text::one_line(&line, CLAIM_LETTERS_MAX)).filter(|line| !line.is_empty())
}
