//! Whether the agent's conversation is continued: the one rule, for decisions and for views.
use super::agent::Session;
use super::state::RunState;
use crate::agent::Agent;
use crate::settings::{SessionMode, Settings};
use crate::time::At;

/// The reasons for and against continuing a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionUse {
    /// The setting says so, or the attempt before did not end by itself.
    pub wanted: bool,
    /// The conversation is older than the settings allow.
    pub expired: bool,
    /// The agent's program can continue one.
    pub supported: bool,
}

impl SessionUse {
    /// For a conversation of this run, and the agent that would continue it.
    #[must_use]
    pub fn of(state: &RunState, settings: &Settings, agent: Option<&Agent>, session: &Session, now: At) -> Self {
        Self {
            wanted: state.agent.continues() || settings.values.agent.session == SessionMode::Continue,
            expired: settings.session_expiry_ms.is_some_and(|limit| now.ms_since(session.since) >= limit),
            // Another agent knows nothing of the conversation.
            supported: agent.is_some_and(|agent| agent.name() == session.agent && agent.continues()),
        }
    }

    /// Whether the next attempt continues it.
    #[must_use]
    pub fn continues(self) -> bool {
        self.wanted && !self.expired && self.supported
    }
}
