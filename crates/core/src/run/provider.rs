//! What is known about the provider: what the next attempt waits for, and how often it was refused.
use crate::policy::wait::Wait;

/// What the run knows about the provider of its agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Provider {
    wait: Option<Wait>,
    refused: u32,
}

impl Provider {
    /// What the next attempt waits for.
    #[must_use]
    pub fn wait(&self) -> Option<&Wait> {
        self.wait.as_ref()
    }

    /// Attempts in a row that failed because of the provider.
    #[must_use]
    pub fn refused(&self) -> u32 {
        self.refused
    }

    pub(super) fn limited(&mut self, wait: Option<&Wait>) {
        self.refused += 1;
        self.wait = wait.cloned();
    }

    pub(super) fn stop_waiting(&mut self) {
        self.wait = None;
    }

    pub(super) fn answered(&mut self) {
        self.refused = 0;
    }
}
