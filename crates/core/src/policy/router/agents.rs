//! The agents that a run may use, each with the model that is named for it.
use std::fmt;

use crate::refusal::Refusal;

/// All agents that are installed, chosen by the rules of the router.
pub const AUTO: &str = "auto";
/// So many agents may be named.
const AGENTS_MAX: usize = 16;
/// A name of an agent.
const NAME_BYTES_MAX: usize = 64;
/// A name of a model.
const MODEL_BYTES_MAX: usize = 128;
const EXAMPLE: &str = "for example claude, or claude,codex:gpt-5.2, or auto";

/// One agent, with a model where one is named.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AgentArm {
    /// The agent, by its name.
    pub agent: String,
    /// The model; none is the agent's default.
    pub model: Option<String>,
}

impl AgentArm {
    /// This agent with this model.
    #[must_use]
    pub fn new(agent: &str, model: Option<&str>) -> Self {
        Self { agent: agent.to_owned(), model: model.map(str::to_owned) }
    }
}

impl fmt::Display for AgentArm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.model {
            Some(model) => write!(out, "{}:{model}", self.agent),
            None => out.write_str(&self.agent),
        }
    }
}

/// Enabled agents, the one that works first at the front. Empty where only one agent is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AgentList(pub Vec<AgentArm>);

impl AgentList {
    /// Reads `claude,codex:gpt-5.2`.
    ///
    /// # Errors
    /// Why it is not a list of agents.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let words: Vec<&str> = text.split([',', '\n']).map(str::trim).collect();
        if words.len() > AGENTS_MAX {
            return Err(Refusal::new(format!("it names more than {AGENTS_MAX} agents"), "take some out"));
        }
        let mut arms: Vec<AgentArm> = Vec::new();
        for word in words {
            let arm = arm(word)?;
            if arms.contains(&arm) {
                return Err(Refusal::new(format!("{arm} stands there twice"), "take one out"));
            }
            arms.push(arm);
        }
        if arms.len() > 1 && arms.iter().any(|arm| arm.agent == AUTO) {
            return Err(Refusal::new("auto means all agents that are installed", "leave the others out, or auto"));
        }
        Ok(Self(arms))
    }

    /// Whether it is `auto`.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        matches!(self.0.as_slice(), [only] if only.agent == AUTO)
    }
}

impl fmt::Display for AgentList {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        out.write_str(&words.join(","))
    }
}

/// The canonical text of one agent, a list, or `auto`.
///
/// # Errors
/// Why it is none of these.
pub fn parse_agents(text: &str) -> Result<String, Refusal> {
    AgentList::parse(text).map(|list| list.to_string())
}

fn arm(word: &str) -> Result<AgentArm, Refusal> {
    let (agent, model) = match word.split_once(':') {
        Some((agent, model)) => (agent, Some(model)),
        None => (word, None),
    };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if agent.is_empty() || agent.len() > NAME_BYTES_MAX || !agent.bytes().all(fits) {
        let why = "the name of an agent is a word of letters, digits, dots, dashes and underscores";
        return Err(Refusal::new(why, EXAMPLE));
    }
    let is_name = |model: &str| {
        !model.is_empty()
            && model.len() <= MODEL_BYTES_MAX
            && !model.starts_with('-')
            && !model.chars().any(|letter| letter.is_whitespace() || letter.is_control())
    };
    match model {
        Some(model) if agent == AUTO || !is_name(model) => {
            Err(Refusal::new(format!("{word:?} does not name a model"), EXAMPLE))
        }
        Some(_) | None => Ok(AgentArm::new(agent, model)),
    }
}
