//! A list of work as a plan: each item that is taken becomes a node. What the plan keeps of the list and of its items.
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::fact::PlanDecision;
use super::spec::{NodeId, NodeSpec};
use super::state::{NodeStage, NodeState};
use crate::policy::item::{
    ItemBudget, ItemEnd, ItemEvaluation, ItemNext, ItemRetry, ItemTries, LoopEvidence, RetryChange,
};
use crate::run::FileRef;

/// So many items one plan takes. For more, the command is given again.
pub const ITEMS_MAX: usize = 2_000;
/// So many items that may start now are in one answer.
pub const CANDIDATES_MAX: usize = 4;
/// So long the id and the title of an item are in the records of a plan, in bytes.
pub const ITEM_TEXT_BYTES_MAX: usize = 300;
/// So many retries of an item are kept for its diagnostics.
const RETRIES_KEPT_MAX: usize = 40;

/// The list of a plan, and how its items are worked on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListSpec {
    /// Where the file is in the workspace, written by [`crate::text::escape_path`].
    pub file: String,
    /// How it is read: the word of its format.
    pub format: String,
    /// What the file is called in a sentence.
    pub kind: String,
    /// What says that an item is done.
    pub judge: ItemJudge,
    /// The launch request of every item, without its task and its own settings: a file in the folder of the plan.
    pub request: FileRef,
    /// Only this item.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// After an item, the next one is taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// How much an item may use.
    #[serde(default)]
    pub budget: ItemBudget,
    /// The agent and its model, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// How long all checks of an item together may take, once each.
    #[serde(default)]
    pub checks_ms: u64,
}

/// What says that an item is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ItemJudge {
    /// The checks of the item, after each of its loops: the PRD loop specification.
    Checks,
    /// The run of the item, by its own promise and limits: a roadmap.
    Run,
}

/// The item of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemRef {
    /// Its id in the list.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The bytes of the list from which it was taken: a file in the folder of the plan.
    pub list: FileRef,
}

/// The list as it was read for the next item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListReport {
    /// Its bytes, as a file in the folder of the plan.
    pub list: FileRef,
    /// Items that are open and were not begun by this plan.
    pub open: u32,
    /// Those of them that wait for others.
    pub waiting: u32,
    /// All items.
    pub all: u32,
    /// Items that may start now, in their order, a bounded number.
    pub candidates: Vec<NodeSpec>,
    /// What a person changed since it was read before, in sentences, a bounded number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<String>,
}

/// What was measured after a loop of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemChecked {
    /// What the checks said, and what was found. The whole is in the folder of the item.
    pub evidence: LoopEvidence,
    /// The tree that they ran on: edits of the agent to files of the harness are undone in it.
    pub tree: String,
}

/// What a plan knows of its list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListProgress {
    /// The newest reading, while it counts: nothing began or ended since.
    pub read: Option<Arc<ListReport>>,
    /// The newest reading of all.
    pub last: Option<Arc<ListReport>>,
    /// The plan tree is the workspace as it is, since nothing began or ended.
    pub recorded: bool,
}

/// What a plan knows of an item beside its node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ItemProgress {
    /// What was measured after the newest loop, until it is evaluated.
    pub checked: Option<Arc<ItemChecked>>,
    /// The tree that was checked last.
    pub tree: Option<String>,
    /// The newest evaluation.
    pub evaluation: Option<Arc<ItemEvaluation>>,
    /// What it has used, over restarts.
    pub tries: ItemTries,
    /// What the next loop changes, where one follows.
    pub retry: Option<ItemRetry>,
    /// What was changed up to now, in order.
    pub retries: Vec<ItemRetry>,
    /// The rule that ended it.
    pub end: Option<ItemEnd>,
    /// Iterations of its run that were evaluated.
    pub iterations: u32,
    /// The time and the tokens of its run that are counted in `tries`.
    pub counted_ms: u64,
    /// The tokens.
    pub counted_tokens: u64,
    /// How often its checks ran: each has its own folder.
    pub checks: u32,
    /// The plan tree before its result came into it.
    pub joined_from: Option<String>,
    /// Why it was not ticked.
    pub not_ticked: Option<String>,
    /// Whether it was ticked.
    pub ticked: bool,
}

impl ItemProgress {
    /// It is opened again after it was stopped, or after a sensor was missing. Says whether its checks come next: then no
    /// agent works.
    pub(super) fn reopens(&mut self) -> bool {
        let was_missing = self.end.take().is_some();
        let again = self.retry.as_ref().is_some_and(|retry| retry.change == RetryChange::CheckAgain);
        if was_missing || again {
            self.checks = self.checks.saturating_add(1);
        }
        was_missing || again
    }

    /// A new attempt has a new run and a new copy. What the item has used stays.
    pub(super) fn begins_again(&mut self) {
        let Self { tries, retries, checks, .. } = std::mem::take(self);
        *self = Self { tries, retries, checks, ..Self::default() };
    }

    /// Keeps what the next loop changes.
    pub(super) fn retries(&mut self, retry: &ItemRetry) {
        if self.retries.len() < RETRIES_KEPT_MAX {
            self.retries.push(retry.clone());
        }
        self.retry = Some(retry.clone());
    }
}

impl NodeState {
    /// What `apply` stores of an evaluation: it only copies.
    pub(super) fn keep_evaluation(&mut self, decision: &PlanDecision) {
        let PlanDecision::ItemEvaluated { evaluation, tries, next, .. } = decision else { return };
        let (ms, tokens, iterations) =
            self.result.as_ref().map_or((0, 0, 0), |run| (run.elapsed_ms, run.tokens, run.iterations));
        let item = &mut self.item;
        item.checked = None;
        item.evaluation = Some((**evaluation).clone().into());
        item.tries = tries.clone();
        item.iterations = item.iterations.max(iterations);
        item.counted_ms = item.counted_ms.max(ms);
        item.counted_tokens = item.counted_tokens.max(tokens);
        item.retry = None;
        let passes = matches!(&**next, ItemNext::End(end) if !end.is_escalation());
        match &**next {
            ItemNext::End(end) => item.end = Some(end.clone()),
            ItemNext::Retry(retry) => item.retries(retry),
        }
        self.stage = if passes { NodeStage::Ran } else { NodeStage::Recording };
    }
}

impl NodeId {
    /// The name of the node of an item: the item's own id where that can be one.
    #[must_use]
    pub fn of_item(id: &str) -> Self {
        Self::parse(id).unwrap_or_else(|_| {
            let hash = Sha256::digest(id.as_bytes());
            let hash: String = hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
            Self::of_hash(&hash)
        })
    }
}
