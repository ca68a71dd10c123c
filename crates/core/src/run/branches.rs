//! Branches of a run that is stuck: what is tried beside each other in copies, and what came of it.
use serde::{Deserialize, Serialize};

use super::choice::AgentChoice;
use crate::agent::Usage;
use crate::ids::RunId;
use crate::policy::rank::Rank;

/// One of several attempts to get out of being stuck. Each works in a copy of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPlan {
    /// Its name: `branch-a`.
    pub name: String,
    /// How it goes about the task, in a few words.
    pub approach: String,
    /// Agent, model and form of the task.
    pub choice: AgentChoice,
    /// So many iterations it has at most.
    pub iterations: u32,
}

/// What came of all branches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BranchesReport {
    /// The plan that they were, where one was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<RunId>,
    /// The best of them, where one has a state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<BestBranch>,
    /// Iterations of all branches together.
    pub iterations: u32,
    /// What they used together.
    pub spent: BranchesSpent,
    /// A limit of the run because of which one of them ended or did not start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out_of: Option<BranchesLack>,
    /// They were stopped or cut off, and can be continued.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// Why there is no result, or only a part of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// What was not enough for branches to come to their end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchesLack {
    /// Money or tokens.
    Money,
    /// Time.
    Time,
}

/// What all branches used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BranchesSpent {
    /// As far as it is known.
    pub usage: Usage,
    /// Calls of an agent.
    pub calls: u32,
    /// Calls whose cost is not known.
    pub cost_untold: u32,
    /// Calls whose tokens are not known.
    pub tokens_untold: u32,
    /// What the calls without a known cost count as together, in millionths of a dollar: each what a call of
    /// the run may cost. None without a limit of money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assumed_micros: Option<u64>,
}

/// The best of several branches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestBranch {
    /// Its name.
    pub name: String,
    /// Its run.
    pub run: RunId,
    /// Whether its run was verified.
    pub passes: bool,
    /// How good its best state is.
    pub rank: Rank,
    /// The score of its best iteration in ten-thousandths, where it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
    /// That state, as a checkpoint of the run that was stuck.
    pub checkpoint: String,
}

impl BranchesSpent {
    /// What was used since an earlier report of the same branches.
    #[must_use]
    pub(super) fn since(&self, before: &Self) -> Self {
        Self {
            usage: self.usage.since(before.usage),
            calls: self.calls.saturating_sub(before.calls),
            cost_untold: self.cost_untold.saturating_sub(before.cost_untold),
            tokens_untold: self.tokens_untold.saturating_sub(before.tokens_untold),
            assumed_micros: self.assumed_micros.map(|now| now.saturating_sub(before.assumed_micros.unwrap_or(0))),
        }
    }
}
