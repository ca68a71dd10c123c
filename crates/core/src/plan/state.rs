//! The state of a plan: the fold of its facts. Its size is bounded by the number of nodes.
use std::sync::Arc;

use super::fact::{ChosenBy, EndedEarly, HookWhen, NodeEnd, PlanCancel, PlanOrder, RunPurpose};
use super::list::{ItemProgress, ListProgress};
use super::outcome::{PlanEnding, PlanOutcome, PlanReason, PlanStanding, plan_standing};
use super::report::{
    ApplyReport, ConflictReport, CopyReport, GatesReport, MeasureReport, PlanRolledBack, RunCutOff, RunDigest,
};
use super::spec::{NodeId, NodeSpec, PlanSpec};
use crate::ended::Ended;
use crate::ids::{OrderId, RunId};
use crate::machine::{OpenOrder, Orders};
use crate::policy::candidate::Ranking;
use crate::policy::rank::Rank;
use crate::run::{Change, DriverMode};
use crate::time::At;

/// Orders of a plan that have no answer yet.
pub type PlanOrders = Orders<PlanOrder, PlanCancel>;

/// An order of a plan without an answer.
pub type OpenPlanOrder = OpenOrder<PlanOrder, PlanCancel>;

/// Everything that decisions of a plan may depend on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanState {
    /// What it was started with, without its nodes; none before its first facts.
    pub spec: Option<Arc<PlanSpec>>,
    /// A spec of which parts are missing, or which was not taken over yet.
    pub draft: Option<Arc<PlanSpec>>,
    /// Its nodes, in the order of the file.
    pub nodes: Vec<NodeState>,
    /// Copies of nodes that are not in the plan any more.
    pub orphans: Vec<OrphanCopy>,
    /// The newest time that was seen.
    pub now: At,
    /// When it was created.
    pub created: At,
    /// How long it was at work before the time that counts now.
    pub used_ms: u64,
    /// Since when it is at work; none while it is not.
    pub since: Option<At>,
    /// Whether a driver works on it.
    pub driver: DriverMode,
    /// No person can see it work.
    pub unattended: bool,
    /// It was opened again, and what becomes of its nodes is not decided yet.
    pub carry_due: bool,
    /// Orders that have no answer yet.
    pub orders: PlanOrders,
    /// What people asked for.
    pub requests: PlanRequests,
    /// Limits of its loops that a person changed, one value for a setting.
    pub limits: Vec<Change>,
    /// The workspace at the start, as a tree in the store.
    pub initial: Option<String>,
    /// The initial tree with everything that is merged.
    pub tree: Option<String>,
    /// What all runs together have cost and may still cost.
    pub money: PlanMoney,
    /// The branches in their order.
    pub ranking: Option<Arc<Ranking>>,
    /// The branch that is applied.
    pub chosen: Option<PlanChoice>,
    /// What became of the result in the workspace.
    pub applying: Applying,
    /// The newest rollback of the workspace that a person asked for.
    pub rollback: Option<PlanRollback>,
    /// What is known of the list, where it is one.
    pub list: ListProgress,
    /// The node that failed first.
    pub first_failed: Option<NodeId>,
    /// How it will end, once that is decided.
    pub ends: Option<PlanEnds>,
    /// Hooks that ended since it was opened.
    pub hooks: Vec<EndedHook>,
    /// What the host could not do for the plan as a whole.
    pub trouble: Option<String>,
    /// The end, while it has one.
    pub over: Option<PlanEnding>,
}

/// The branch that is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChoice {
    /// Which.
    pub node: NodeId,
    /// Who or what chose it.
    pub by: ChosenBy,
}

/// How a plan will end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanEnds {
    /// How.
    pub outcome: PlanOutcome,
    /// Why.
    pub reason: PlanReason,
}

/// A copy of a node that is not in the plan any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanCopy {
    /// Of which node.
    pub node: NodeId,
    /// Of which attempt.
    pub attempt: u32,
}

/// What people asked of a plan, and by which command. Only people write here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PlanRequests {
    /// Start nothing more.
    pub stop: Option<String>,
    /// Stop now.
    pub abort: Option<String>,
    /// Stop now, for good.
    pub cancel: Option<String>,
    /// Hold.
    pub pause: Option<String>,
    /// Apply this branch.
    pub pick: Option<NodeId>,
    /// Also where it does not pass.
    pub pick_anyway: bool,
}

/// What all runs of a plan together have cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlanMoney {
    /// By runs that have ended.
    pub spent_micros: u64,
    /// What is reserved for runs that have not.
    pub reserved_micros: u64,
}

/// What became of the result in the workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applying {
    /// It was applied.
    pub report: Option<ApplyReport>,
    /// It could not be applied: nothing was changed.
    pub conflict: Option<Arc<ConflictReport>>,
    /// What the gates said there.
    pub gates: Option<Arc<GatesReport>>,
}

/// A rollback of the workspace to a checkpoint of the plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRollback {
    /// To which checkpoint.
    pub to: String,
    /// The checkpoint of what was there before.
    pub undo: String,
    /// By which command.
    pub by: String,
    /// When it was asked for.
    pub at: At,
    /// What came of it; none while it is under way.
    pub end: Option<Result<PlanRolledBack, String>>,
    /// The result was brought into the workspace after it.
    pub before_apply: bool,
}

/// A hook that ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndedHook {
    /// Of which list.
    pub when: HookWhen,
    /// Which of it, from 0.
    pub index: u32,
    /// How; none where it could not be run, or its end is not known.
    pub ended: Option<Ended>,
    /// The last line of its error output, where it failed.
    pub says: String,
}

/// One node and everything that is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeState {
    /// What it is.
    pub spec: Arc<NodeSpec>,
    /// Where it is.
    pub stage: NodeStage,
    /// The attempt that was begun last, from 1. Each has its own copy and its own run.
    pub attempt: u32,
    /// How many results had a conflict since a person opened the plan.
    pub conflicts: u32,
    /// What the newest attempt is for.
    pub purpose: RunPurpose,
    /// The plan tree when the newest attempt began: the base of the merge.
    pub base: Option<String>,
    /// Nodes whose results were in that tree: a part of what the newest attempt began with.
    pub inputs: Vec<NodeId>,
    /// The tree that its copy is made of, where that is not the base.
    pub start: Option<String>,
    /// The copy of the newest attempt, once it is made.
    pub copy: Option<CopyReport>,
    /// Attempts of which a copy may be there.
    pub copies: Vec<u32>,
    /// The run of the newest attempt.
    pub run: Option<RunId>,
    /// That run is, or may be, there and not at its end: it is resumed.
    pub resume: bool,
    /// That run holds, as the plan does: it got that message.
    pub held: bool,
    /// The process of that run has ended and the run has no end; what that means is not decided yet.
    pub cut_off: Option<Arc<RunCutOff>>,
    /// How often its process was killed since a person opened the plan.
    pub kills: u32,
    /// How that run ended.
    pub result: Option<Arc<RunDigest>>,
    /// How good its states are while it runs.
    pub progress: Option<BranchProgress>,
    /// The numbers for the ranking.
    pub measure: Option<MeasureReport>,
    /// What is reserved for it, in millionths of a dollar.
    pub share_micros: u64,
    /// What its newest run has cost so far as it was counted, in millionths of a dollar.
    pub counted_micros: u64,
    /// What all its runs have cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// The newest conflict.
    pub conflict: Option<Arc<ConflictReport>>,
    /// The plan tree with which it had that conflict.
    pub conflict_base: Option<String>,
    /// The merged tree that gates judge.
    pub merging: Option<String>,
    /// What they said.
    pub gates: Option<Arc<GatesReport>>,
    /// What a person answered.
    pub answer: Option<Arc<PersonAnswer>>,
    /// What is known of its item, in a plan of a list.
    pub item: ItemProgress,
    /// What the host could not do for it.
    pub trouble: Option<String>,
    /// When it began, last.
    pub since: At,
}

/// What a person answered to the question of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonAnswer {
    /// The words.
    pub text: String,
    /// Whether what depends on it may start.
    pub proceed: bool,
    /// By which way.
    pub by: String,
}

/// How good the states of a running branch are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BranchProgress {
    /// How many iterations have ended.
    pub iterations: u32,
    /// How good the state was before the first.
    pub start: Rank,
    /// How good the best state after an iteration is.
    pub best: Rank,
    /// What the run has cost so far, in millionths of a dollar.
    pub cost_micros: u64,
}

/// Where a node is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum NodeStage {
    /// It has not begun.
    #[default]
    Waiting,
    /// Its copy is made.
    Copying,
    /// Its run is under way.
    Running,
    /// Its run ended; what that means is not decided yet.
    RunEnded,
    /// Its run passed. The merge, or the measurement, comes next.
    Ran,
    /// Its result is merged.
    Merging,
    /// It has a conflict; what that means is not decided yet.
    Conflicted,
    /// Its result is merged; gates judge the merged tree.
    MergeGates,
    /// They have a result; what that means is not decided yet.
    MergeJudged,
    /// An item whose loop ended: its checks run.
    Checking,
    /// They have a result; what that means is not decided yet.
    Checked,
    /// What the loop came to is written into the log.
    Recording,
    /// It is written; what follows is not decided yet.
    Recorded,
    /// An item whose result is in the plan tree: it is applied to the workspace.
    Applying,
    /// An item whose result is in the workspace: it is ticked.
    Ticking,
    /// It was ticked, or could not be; what that means is not decided yet.
    TickEnded,
    /// A person is asked.
    Asking,
    /// A person answered; what that means is not decided yet.
    Said,
    /// Nothing more happens to it.
    Ended(NodeEnd),
}

impl NodeState {
    /// A node that has not begun.
    #[must_use]
    pub fn new(spec: Arc<NodeSpec>) -> Self {
        Self {
            spec,
            stage: NodeStage::Waiting,
            attempt: 0,
            conflicts: 0,
            purpose: RunPurpose::Work,
            base: None,
            inputs: Vec::new(),
            start: None,
            copy: None,
            copies: Vec::new(),
            run: None,
            resume: false,
            held: false,
            cut_off: None,
            kills: 0,
            result: None,
            progress: None,
            measure: None,
            share_micros: 0,
            counted_micros: 0,
            cost_micros: 0,
            conflict: None,
            conflict_base: None,
            merging: None,
            gates: None,
            answer: None,
            item: ItemProgress::default(),
            trouble: None,
            since: At::default(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn id(&self) -> &NodeId {
        &self.spec.id
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn end(&self) -> Option<&NodeEnd> {
        if let NodeStage::Ended(end) = &self.stage { Some(end) } else { None }
    }

    /// Whether what depends on it may start.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.end().is_some_and(NodeEnd::is_done)
    }

    /// Whether it takes one of the places for runs: its copy is made, or its run is under way.
    #[must_use]
    pub fn is_at_work(&self) -> bool {
        matches!(self.stage, NodeStage::Copying | NodeStage::Running)
    }

    /// Whether its result is on the way into the plan tree, or may come to be.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !matches!(self.stage, NodeStage::Waiting | NodeStage::Asking | NodeStage::Said | NodeStage::Ended(_))
    }

    /// Whether it has ended and left a state that can be taken.
    pub(super) fn has_state(&self) -> bool {
        self.end().is_some() && self.result_tree().is_some()
    }

    /// The tree of its result: of an item that was checked, the one that the checks ran on.
    #[must_use]
    pub fn result_tree(&self) -> Option<&str> {
        self.item.tree.as_deref().or_else(|| self.result.as_ref()?.tree.as_deref())
    }
}

impl PlanState {
    /// The newest rollback that holds: one before the result was brought into the workspace does not.
    #[must_use]
    pub fn rolled_back(&self) -> Option<&PlanRollback> {
        self.rollback.as_ref().filter(|rollback| !rollback.before_apply)
    }

    /// One of its nodes.
    #[must_use]
    pub fn node(&self, id: &NodeId) -> Option<&NodeState> {
        self.nodes.iter().find(|node| node.id() == id)
    }

    pub(super) fn node_mut(&mut self, id: &NodeId) -> Option<&mut NodeState> {
        self.nodes.iter_mut().find(|node| node.id() == id)
    }

    /// The open order that is the work of a node.
    #[must_use]
    pub fn work_of(&self, id: &NodeId) -> Option<(OrderId, &OpenPlanOrder)> {
        self.orders.iter().find(|(_, open)| !open.order.is_side() && open.order.node() == Some(id))
    }

    /// The open order that is for the plan as a whole: record, gates, apply, hook, the question which branch it is.
    #[must_use]
    pub fn plan_order(&self) -> Option<(OrderId, &OpenPlanOrder)> {
        self.orders.iter().find(|(_, open)| open.order.node().is_none())
    }

    /// How many runs are at work, or their copies are made.
    #[must_use]
    pub fn at_work(&self) -> usize {
        self.nodes.iter().filter(|node| node.is_at_work()).count()
    }

    /// What is left of the budget, in millionths of a dollar; none without a budget.
    #[must_use]
    pub fn left_micros(&self) -> Option<u64> {
        let used = self.money.spent_micros.saturating_add(self.money.reserved_micros);
        self.spec.as_ref()?.budget_micros.map(|most| most.saturating_sub(used))
    }

    /// The node that hooks get as the failed one: that which failed first, else the first whose budget is used up.
    #[must_use]
    pub fn blamed(&self) -> Option<&NodeId> {
        let poor = |node: &&NodeState| node.end() == Some(&NodeEnd::EndedEarly(EndedEarly::Budget));
        self.first_failed.as_ref().or_else(|| self.nodes.iter().find(poor).map(NodeState::id))
    }

    /// How long it has been at work.
    #[must_use]
    pub fn active_ms(&self, now: At) -> u64 {
        self.used_ms.saturating_add(self.since.map_or(0, |since| now.ms_since(since)))
    }

    /// Whether it holds until a person resumes it.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.over.is_none() && self.requests.pause.is_some()
    }

    /// The status word and exit code of its end, if it has one.
    #[must_use]
    pub fn standing(&self) -> Option<PlanStanding> {
        self.over.as_ref().map(|ending| plan_standing(ending.outcome))
    }

    /// Whether `loop resume` may continue it.
    #[must_use]
    pub fn resumable(&self) -> bool {
        self.standing().is_none_or(|standing| standing.resumable)
    }
}
