//! What is known about the providers: what each agent waits for, and how often it was refused.
use std::collections::BTreeMap;

use crate::policy::wait::Wait;

/// What the run knows about the providers of its agents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provider {
    agents: BTreeMap<String, AgentLimit>,
    /// The agent of the newest attempt.
    newest: String,
}

/// What one agent waits for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct AgentLimit {
    wait: Option<Wait>,
    refused: u32,
}

impl Provider {
    /// The wait that is over first. While the run holds for a limit, it holds for this one.
    #[must_use]
    pub fn wait(&self) -> Option<&Wait> {
        self.agents.values().filter_map(|limit| limit.wait.as_ref()).min_by_key(|wait| wait.until_ms)
    }

    /// What this agent waits for.
    #[must_use]
    pub fn wait_of(&self, agent: &str) -> Option<&Wait> {
        self.agents.get(agent)?.wait.as_ref()
    }

    /// What the agent of the newest attempt waits for.
    #[must_use]
    pub fn newest_wait(&self) -> Option<&Wait> {
        self.wait_of(&self.newest)
    }

    /// Attempts in a row of the newest agent that failed because of its provider.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.refused_of(&self.newest)
    }

    /// The same for this agent.
    #[must_use]
    pub fn refused_of(&self, agent: &str) -> u32 {
        self.agents.get(agent).map_or(0, |limit| limit.refused)
    }

    /// The agents that wait, with the wall clock's time at which that is over.
    pub fn waits(&self) -> impl Iterator<Item = (&str, &Wait)> {
        self.agents.iter().filter_map(|(agent, limit)| Some((agent.as_str(), limit.wait.as_ref()?)))
    }

    /// The newest attempt was refused.
    pub(super) fn limited(&mut self, wait: Option<&Wait>) {
        let limit = self.agents.entry(self.newest.clone()).or_default();
        limit.refused += 1;
        limit.wait = wait.cloned();
    }

    /// This agent is asked.
    pub(super) fn attempt_begins(&mut self, agent: &str) {
        agent.clone_into(&mut self.newest);
        if let Some(limit) = self.agents.get_mut(agent) {
            limit.wait = None;
        }
    }

    /// No agent is waited for any more.
    pub(super) fn stop_waiting(&mut self) {
        self.agents.values_mut().for_each(|limit| limit.wait = None);
    }

    /// The newest agent was answered.
    pub(super) fn answered(&mut self) {
        if let Some(limit) = self.agents.get_mut(&self.newest) {
            limit.refused = 0;
        }
    }

    /// A person opened the run again or changed its agents: every count begins at zero.
    pub(super) fn forget_refused(&mut self) {
        self.agents.values_mut().for_each(|limit| limit.refused = 0);
    }
}
