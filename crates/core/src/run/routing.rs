//! What a run knows about its agents beside the one that works: which cannot work, and which models were refused.
use std::collections::BTreeMap;

use crate::agent::Failure;
use crate::policy::router::{AgentArm, ScoreRow};

/// What a run has learned about the agents that it may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routing {
    /// Agents that cannot work until a person has looked at them, and why.
    unable: BTreeMap<String, Failure>,
    /// Models that the program of an agent refused.
    refused: Vec<AgentArm>,
    /// The model that an agent reported where none was named for it.
    reported: BTreeMap<String, String>,
    /// Until when, by the wall clock, the scarcest model is used up.
    used_up_until_ms: Option<u64>,
    /// What the ledger had recorded of agents when the run was started or opened again.
    scores: Vec<ScoreRow>,
}

impl Routing {
    /// Why this agent cannot work in this run any more.
    #[must_use]
    pub fn unable(&self, agent: &str) -> Option<Failure> {
        self.unable.get(agent).copied()
    }

    /// The agents that cannot work in this run any more, and why.
    pub fn unable_agents(&self) -> impl Iterator<Item = (&str, Failure)> {
        self.unable.iter().map(|(agent, failure)| (agent.as_str(), *failure))
    }

    /// The models that were refused.
    #[must_use]
    pub fn refused(&self) -> &[AgentArm] {
        &self.refused
    }

    /// The model that this agent reported by itself.
    #[must_use]
    pub fn reported(&self, agent: &str) -> Option<&str> {
        self.reported.get(agent).map(String::as_str)
    }

    /// Until when the scarcest model is used up.
    #[must_use]
    pub fn used_up_until_ms(&self) -> Option<u64> {
        self.used_up_until_ms
    }

    /// What the ledger had recorded of agents, where the router learns from it.
    #[must_use]
    pub fn scores(&self) -> &[ScoreRow] {
        &self.scores
    }

    pub(super) fn learn(&mut self, scores: &[ScoreRow]) {
        self.scores = scores.to_vec();
    }

    /// An agent cannot work, or its program refused the model.
    pub(super) fn cannot_work(&mut self, arm: &AgentArm, failure: Failure) {
        if failure == Failure::Model && arm.model.is_some() {
            if !self.refused.contains(arm) {
                self.refused.push(arm.clone());
            }
        } else {
            self.unable.insert(arm.agent.clone(), failure);
        }
    }

    pub(super) fn reports(&mut self, agent: &str, model: &str) {
        self.reported.insert(agent.to_owned(), model.to_owned());
    }

    pub(super) fn used_up(&mut self, until_ms: u64) {
        self.used_up_until_ms = Some(until_ms);
    }

    /// A person opened the run again or changed its agents, and may have fixed what was wrong.
    pub(super) fn forget(&mut self) {
        let (reported, scores) = (std::mem::take(&mut self.reported), std::mem::take(&mut self.scores));
        *self = Self { reported, scores, ..Self::default() };
    }
}
