//! Which agent works in an attempt, with which model and which form of the prompt, and why.
use serde::{Deserialize, Serialize};

use super::state::RunState;
use crate::machine::Deciding;
use crate::settings::keys;

/// What one attempt uses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentChoice {
    /// The agent, by the name that `--agent` has for it.
    pub agent: String,
    /// The model, by the agent's own name for it; none is the agent's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The form of the prompt.
    #[serde(default, skip_serializing_if = "PromptVariant::is_standard")]
    pub prompt: PromptVariant,
}

/// Which form the prompt has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptVariant {
    /// Task, gates, notes and injected texts.
    #[default]
    Standard,
}

impl PromptVariant {
    fn is_standard(&self) -> bool {
        *self == Self::Standard
    }
}

/// Why this agent and model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChoiceCause {
    /// The settings that the run was started with name them.
    Settings,
    /// A person changed them since, by `loop resume` or `loop set`.
    Person,
}

/// What the next attempt uses: today what the settings name.
pub(super) fn choose(state: &RunState, deciding: &Deciding) -> (AgentChoice, ChoiceCause) {
    let settings = state.settings.read(deciding);
    let choice = AgentChoice {
        agent: settings.values.agent.agent.clone(),
        model: settings.values.agent.agent_model.clone(),
        prompt: PromptVariant::Standard,
    };
    let first = state.spec.as_ref().map(|spec| &spec.settings);
    let same = [keys::agent(), keys::agent_model(), keys::agent_cmd()]
        .iter()
        .all(|key| first.is_none_or(|first| first.text(key) == settings.resolved.text(key)));
    (choice, if same { ChoiceCause::Settings } else { ChoiceCause::Person })
}
