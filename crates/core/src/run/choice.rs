//! Which agent works in an attempt, with which model and which form of the prompt, and why.
use serde::{Deserialize, Serialize};

use super::state::RunState;
use crate::agent::Agent;
use crate::settings::{Settings, keys};

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

/// Which form the prompt has. `prompt/compose.rs` has the words of each.
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
pub(super) fn choose(state: &RunState, settings: &Settings) -> (AgentChoice, ChoiceCause) {
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

impl RunState {
    /// The agent that works next, if these settings hold.
    #[must_use]
    pub fn next_agent(&self, settings: &Settings) -> Option<Agent> {
        let (choice, _) = choose(self, settings);
        self.agent_named(&choice.agent, settings)
    }

    /// The agent of that name. A custom one has the command that is set.
    #[must_use]
    pub fn agent_named(&self, name: &str, settings: &Settings) -> Option<Agent> {
        let described = self.agent.described().map_or(&[][..], std::slice::from_ref);
        Agent::find(name, described, &settings.agent_cmd)
    }

    /// The name of the agent that works or worked last; before the first attempt the one that is set.
    #[must_use]
    pub fn agent_name(&self) -> &str {
        self.agent.choice().map_or(&self.settings.shown().values.agent.agent, |choice| &choice.agent)
    }

    /// The model that was chosen for it; none is the agent's default.
    #[must_use]
    pub fn model_chosen(&self) -> Option<&str> {
        let set = || self.settings.shown().values.agent.agent_model.as_deref();
        self.agent.choice().map_or_else(set, |choice| choice.model.as_deref())
    }

    /// The agent that works or worked last, for people and for the host; before the first attempt the one that is set.
    #[must_use]
    pub fn agent_in_use(&self) -> Option<Agent> {
        self.agent_named(self.agent_name(), self.settings.shown())
    }
}
