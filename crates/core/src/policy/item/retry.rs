//! What the next loop of an item changes, and when the item ends. Each retry narrows the scope or changes one variable.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluate::{FailureVector, ItemEvaluation, ItemFailure, ItemVerdict};
use super::evidence::MissingSensor;
use crate::machine::Deciding;

/// So many names are in the sentence of a retry.
const NAMED_MAX: usize = 8;

/// How much an item may use. Counted over restarts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemBudget {
    /// Loops of the item.
    pub loops: u32,
    /// Retries for each type of failure.
    pub retries: u32,
    /// Time of the item, where it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ms: Option<u64>,
    /// Tokens of the item, where they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Default for ItemBudget {
    /// The numbers of the PRD loop specification.
    fn default() -> Self {
        Self { loops: 3, retries: 2, time_ms: None, tokens: None }
    }
}

/// What an item has used. It is recorded, so a restart does not begin again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ItemTries {
    /// Loops in which an agent worked.
    pub loops: u32,
    /// Failures of each type.
    pub failures: BTreeMap<ItemFailure, u32>,
    /// The time of all loops.
    pub time_ms: u64,
    /// The tokens of all loops.
    pub tokens: u64,
}

impl ItemTries {
    /// The same after one more loop, or after one more run of the checks alone: that is a retry, not a loop.
    #[must_use]
    pub fn after(&self, evaluation: &ItemEvaluation, is_check_only: bool) -> Self {
        let mut tries = self.clone();
        tries.loops = tries.loops.saturating_add(u32::from(!is_check_only));
        if let ItemVerdict::Fail(failure) = &evaluation.verdict {
            let count = tries.failures.entry(*failure).or_default();
            *count = count.saturating_add(1);
        }
        tries
    }

    /// The same with what a loop took.
    #[must_use]
    pub fn with_use(mut self, time_ms: u64, tokens: u64) -> Self {
        self.time_ms = self.time_ms.saturating_add(time_ms);
        self.tokens = self.tokens.saturating_add(tokens);
        self
    }

    /// How often it failed in this way.
    #[must_use]
    pub fn failed(&self, failure: ItemFailure) -> u32 {
        self.failures.get(&failure).copied().unwrap_or_default()
    }
}

/// The one thing that a retry changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetryChange {
    /// Narrower: only what the check reported.
    OnlyReported,
    /// Narrower: only the artifacts that are missing.
    OnlyMissingArtifacts,
    /// Narrower: one artifact, the first that is missing.
    OneArtifact,
    /// Narrower: only the files of the scope; what was changed outside of it is undone.
    OnlyScope,
    /// Narrower: one criterion, the first that is not proven.
    OneCriterion,
    /// One variable: the agent begins a new session.
    FreshSession,
    /// One variable: the prompt is without the log.
    ShorterPrompt,
    /// One variable: the same files, the checks run again, and no agent works.
    CheckAgain,
}

impl RetryChange {
    /// The table: a type of failure, the number of its retry, and what changes.
    #[must_use]
    pub const fn of(failure: ItemFailure, retry: u32) -> Self {
        match (failure, retry) {
            (ItemFailure::CheckFailed, 0 | 1) => Self::OnlyReported,
            // Hooks often fix files and fail once for it.
            (ItemFailure::HookFailed, 0 | 1) => Self::CheckAgain,
            (ItemFailure::HookFailed, 2) => Self::OnlyReported,
            (ItemFailure::ArtifactMissing, 0 | 1) => Self::OnlyMissingArtifacts,
            (ItemFailure::ArtifactMissing, 2) => Self::OneArtifact,
            (ItemFailure::ScopeLeft, 0 | 1) => Self::OnlyScope,
            (ItemFailure::Timeout, 0 | 1) => Self::OneCriterion,
            (ItemFailure::AgentFailed, 2) => Self::ShorterPrompt,
            (ItemFailure::AgentFailed, 0 | 1)
            | (ItemFailure::CheckFailed | ItemFailure::ScopeLeft | ItemFailure::Timeout, 2) => Self::FreshSession,
            // More retries than the specification has: in turn.
            (
                ItemFailure::CheckFailed
                | ItemFailure::HookFailed
                | ItemFailure::ArtifactMissing
                | ItemFailure::ScopeLeft
                | ItemFailure::AgentFailed
                | ItemFailure::Timeout,
                _,
            ) => match retry % 3 {
                0 => Self::OneCriterion,
                1 => Self::FreshSession,
                _ => Self::ShorterPrompt,
            },
        }
    }

    /// In a few words, for the log.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::OnlyReported => "narrower: only what the check reported",
            Self::OnlyMissingArtifacts => "narrower: only the missing artifacts",
            Self::OneArtifact => "narrower: one missing artifact",
            Self::OnlyScope => "narrower: only files of the scope",
            Self::OneCriterion => "narrower: one criterion",
            Self::FreshSession => "one variable: a new session",
            Self::ShorterPrompt => "one variable: a prompt without the log",
            Self::CheckAgain => "one variable: the checks run again, no agent works",
        }
    }

    /// The sentence for the agent. `names` is what the scope is narrowed to.
    fn sentence(self, names: &[String]) -> String {
        let named = match names {
            [] => String::new(),
            names => format!(": {}", names.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ")),
        };
        match self {
            Self::OnlyReported => format!("Fix only what the failed check reports, and change nothing else{named}."),
            Self::OnlyMissingArtifacts => {
                format!("Produce only the artifacts that are missing, and change no other file{named}.")
            }
            Self::OneArtifact => format!("Produce this one artifact first, and nothing else{named}."),
            Self::OnlyScope => {
                format!("Undo your changes outside of the item's scope, and change only files inside of it{named}.")
            }
            Self::OneCriterion => format!("Work on one criterion only, in small steps{named}."),
            Self::FreshSession => {
                "You begin a new session. Read the last error first, and look at the cause again.".to_owned()
            }
            Self::ShorterPrompt => "This prompt is without the log. Work from the item and the last error.".to_owned(),
            Self::CheckAgain => "Only the checks run again, on the same files.".to_owned(),
        }
    }
}

/// A retry, as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRetry {
    /// What failed.
    pub failure: ItemFailure,
    /// Which retry for this type it is, counted from 1.
    pub number: u32,
    /// The one thing that changes.
    pub change: RetryChange,
    /// What the scope is narrowed to: files, artifacts or a criterion.
    pub only: Vec<String>,
    /// The sentence for the prompt.
    pub sentence: String,
}

/// The rule that ended an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemEnd {
    /// The done condition is met.
    Passed,
    /// Its loops are used.
    LoopsUsed {
        /// So many.
        loops: u32,
    },
    /// One type of failure came too often.
    RetriesUsed {
        /// Which type.
        failure: ItemFailure,
        /// How often it failed.
        times: u32,
    },
    /// A sensor cannot be read.
    SensorMissing(MissingSensor),
    /// Its time is used.
    TimeUsed,
    /// Its tokens are used.
    TokensUsed,
}

impl ItemEnd {
    /// Which rule it was, in one sentence.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Passed => "done condition met".to_owned(),
            Self::LoopsUsed { loops } => format!("loop budget used: {loops} loops of this item"),
            Self::RetriesUsed { failure, times } => {
                format!("retry budget used: {} {times} times ({} retries)", failure.words(), times.saturating_sub(1))
            }
            Self::SensorMissing(missing) => format!("sensor missing: {}: {}", missing.sensor.words(), missing.why),
            Self::TimeUsed => "time budget of this item used".to_owned(),
            Self::TokensUsed => "token budget of this item used".to_owned(),
        }
    }

    /// Whether a person is asked: every end but a pass.
    #[must_use]
    pub fn is_escalation(&self) -> bool {
        *self != Self::Passed
    }
}

/// What follows after a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemNext {
    /// The item is over, by this rule.
    End(ItemEnd),
    /// One more loop, or the checks once more.
    Retry(ItemRetry),
}

/// What follows. `tries` counts this loop already ([`ItemTries::after`]). The first rule that holds ends the item: done,
/// a missing sensor, one failure more than the retries of its type, all loops used, time, tokens.
#[must_use]
pub fn next_of_item(evaluation: &ItemEvaluation, tries: &ItemTries, budget: &ItemBudget, _: &Deciding) -> ItemNext {
    let failure = match &evaluation.verdict {
        ItemVerdict::Pass => return ItemNext::End(ItemEnd::Passed),
        ItemVerdict::SensorMissing(missing) => return ItemNext::End(ItemEnd::SensorMissing(missing.clone())),
        ItemVerdict::Fail(failure) => *failure,
    };
    let times = tries.failed(failure);
    let change = RetryChange::of(failure, times);
    let is_check_only = change == RetryChange::CheckAgain;
    match () {
        () if times > budget.retries => ItemNext::End(ItemEnd::RetriesUsed { failure, times }),
        () if tries.loops >= budget.loops && !is_check_only => ItemNext::End(ItemEnd::LoopsUsed { loops: tries.loops }),
        () if budget.time_ms.is_some_and(|most| tries.time_ms >= most) => ItemNext::End(ItemEnd::TimeUsed),
        () if budget.tokens.is_some_and(|most| tries.tokens >= most) => ItemNext::End(ItemEnd::TokensUsed),
        () => {
            let only = only(change, evaluation);
            let sentence = change.sentence(&only);
            ItemNext::Retry(ItemRetry { failure, number: times, change, only, sentence })
        }
    }
}

/// What the scope is narrowed to.
fn only(change: RetryChange, evaluation: &ItemEvaluation) -> Vec<String> {
    let missing = || evaluation.failure.iter().flat_map(|failure: &FailureVector| &failure.missing);
    let unproven = || evaluation.proofs.iter().filter(|proof| proof.artifacts.is_empty());
    match change {
        RetryChange::OnlyMissingArtifacts => missing().take(NAMED_MAX).map(|artifact| artifact.path.clone()).collect(),
        RetryChange::OneArtifact => missing().take(1).map(|artifact| artifact.path.clone()).collect(),
        RetryChange::OnlyScope => {
            evaluation.outside.iter().take(NAMED_MAX).map(|path| format!("undo {path}")).collect()
        }
        RetryChange::OneCriterion => unproven().take(1).map(|proof| format!("criterion {}", proof.criterion)).collect(),
        RetryChange::OnlyReported
        | RetryChange::FreshSession
        | RetryChange::ShorterPrompt
        | RetryChange::CheckAgain => Vec::new(),
    }
}
