//! Short texts that an agent writes for the harness, outside of the workspace: what for, who writes, what came of it.
use serde::{Deserialize, Serialize};

use super::choice::{self, PromptVariant};
use super::judgement::TextJudgement;
use super::spec::StoredText;
use super::state::RunState;
use super::{decide, fact::Order};
use crate::agent::{Agent, StreamReport};
use crate::ended::Ended;
use crate::machine::Deciding;
use crate::policy::ladder::MutationKind;
use crate::settings::{PromptForm, Settings, TextWriter};

/// How long an agent may take for a text.
pub(super) const TEXT_MS_MAX: u64 = 3 * 60 * 1000;

/// What a text is for. It is never a decision: where there is none, a text of loop itself serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TextPurpose {
    /// The summary of earlier iterations.
    Summary,
    /// The goal in other words.
    Mutation(MutationKind),
    /// What is done, what remains, and the next step.
    Assessment,
}

impl TextPurpose {
    /// In words: `summary`, `mutation:rephrase`.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Self::Summary => "summary".to_owned(),
            Self::Mutation(kind) => format!("mutation:{}", kind.word()),
            Self::Assessment => "assessment".to_owned(),
        }
    }
}

/// What came of an order for a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextReport {
    /// How the agent ended.
    pub ended: Ended,
    /// How long it took.
    pub duration_ms: u64,
    /// What it wrote; none where it wrote nothing that can be used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<StoredText>,
    /// What its stream amounted to: usage, failure.
    #[serde(default, skip_serializing_if = "StreamReport::is_nothing")]
    pub stream: StreamReport,
}

/// A text that was asked for and is not judged yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EndedText {
    pub(super) purpose: TextPurpose,
    /// What came of it; else why nothing did.
    pub(super) result: Result<TextReport, String>,
}

/// What becomes of a text that is due: an agent is asked, or the text of loop itself serves, and why.
pub(super) enum DueText {
    Ask(Order),
    Serve(TextJudgement),
}

/// The text that is due before the next iteration.
pub(super) fn due(state: &RunState, deciding: &Deciding) -> Option<DueText> {
    let settings = state.settings.read(deciding);
    let wanted = state.prompt.memory.wanted_text();
    let purpose = wanted.or_else(|| mutation_due(state, settings)).or_else(|| summary_due(state, settings))?;
    let serve = |why: &str| {
        let why = Some(why.to_owned());
        Some(DueText::Serve(TextJudgement { purpose, text: None, why, cost_micros: None }))
    };
    if settings.values.context.text_writer == TextWriter::Loop {
        return serve("text_writer is loop");
    }
    if !leaves_enough(state, settings) {
        return serve("the money that is left is for the agent's work");
    }
    let Some(choice) = choice::cheapest(state, settings) else { return serve("no enabled agent can be asked now") };
    match state.agent_named(&choice.agent, settings) {
        None => return serve("there is no agent that could write it"),
        // Nobody knows what it does in a folder that is not the workspace.
        Some(Agent::Custom(_)) => return serve("a command of your own is not asked for texts"),
        Some(_) => {}
    }
    if settings.values.agent.in_container() {
        return serve("an agent in a container is not asked for texts");
    }
    let reservation = state.budget.call().and_then(crate::policy::reserve::Reserved::number);
    Some(DueText::Ask(Order::WriteText { purpose, choice, reservation }))
}

/// A summary is due after so many iterations, where older ones are not in it yet. Without an agent that writes it, the
/// extract is made with the prompt, and nothing is due.
fn summary_due(state: &RunState, settings: &Settings) -> Option<TextPurpose> {
    let context = &settings.values.context;
    let done = state.iterations_done();
    let wanted = context.prompt_form == PromptForm::History && context.text_writer == TextWriter::Agent;
    let is_due = done > 0 && context.summarize_every.is_some_and(|every| done.is_multiple_of(every.max(1)));
    let is_new = state.prompt.memory.summarized_at() != done && !state.prompt.memory.folded().is_empty();
    (wanted && is_due && is_new).then_some(TextPurpose::Summary)
}

/// The next attempt gets the task in another form, and an agent is to write it. Without one, the fixed text serves and
/// nothing is due.
fn mutation_due(state: &RunState, settings: &Settings) -> Option<TextPurpose> {
    let PromptVariant::Mutated(kind) = choice::choose(state, settings).choice.prompt else { return None };
    let is_new = state.prompt.memory.mutation().is_none_or(|known| known.kind != kind);
    let wanted = settings.values.context.text_writer == TextWriter::Agent;
    (wanted && is_new).then_some(TextPurpose::Mutation(kind))
}

/// Whether an assessment is wanted when a run is opened again: an iteration was made, and the run was neither stuck nor
/// making progress.
pub(super) fn wants_assessment(state: &RunState, deciding: &Deciding) -> bool {
    let settings = state.settings.read(deciding);
    let context = &settings.values.context;
    let wanted = context.prompt_form == PromptForm::History && context.text_writer == TextWriter::Agent;
    // The breaker has numbers of its own.
    let is_stuck = state.recovery.stuck().is_some() || state.recovery.climb().is_some();
    wanted && state.iterations_done() > 0 && state.progress.streaks().no_progress > 0 && !is_stuck
}

/// Whether a text and a call of the agent can both be paid.
fn leaves_enough(state: &RunState, settings: &Settings) -> bool {
    let worst = state.worst_micros(settings);
    state.budget_micros(settings).is_none_or(|left| left >= worst.saturating_mul(2))
}

/// What came of a text that an agent was asked for.
pub(super) fn judge(state: &RunState, deciding: &Deciding) -> Option<TextJudgement> {
    let EndedText { purpose, result } = state.prompt.memory.unjudged_text()?;
    let purpose = *purpose;
    Some(match result {
        Err(why) => TextJudgement { purpose, text: None, why: Some(why.clone()), cost_micros: None },
        Ok(report) => {
            let cost_micros = decide::cost_of_call(state, &report.stream, deciding);
            let failed = report.ended != Ended::Exit(0) || report.stream.failure.is_some();
            let text = report.text.clone().filter(|_| !failed);
            let why = text.is_none().then(|| match &report.stream.error {
                Some(error) => format!("the agent gave none ({}): {error}", report.ended.brief()),
                None => format!("the agent gave none ({})", report.ended.brief()),
            });
            TextJudgement { purpose, text, why, cost_micros }
        }
    })
}
