//! The facts of a plan: what is recorded. Its journal holds nothing else.
use serde::{Deserialize, Serialize};

use super::carry::CarryOver;
use super::event::{PlanEvent, PlanInput};
use super::outcome::{PlanOutcome, PlanReason};
use super::report::PlanAnswer;
use super::spec::{NodeId, NodeSpec};
use crate::ids::{OrderId, RunId};
use crate::machine::{Act, JournalEntry};
use crate::policy::candidate::Ranking;
use crate::policy::item::{ItemEnd, ItemEvaluation, ItemNext, ItemTries};

/// One line of the journal of a plan.
pub type PlanEntry = JournalEntry<PlanFact>;

/// One thing that is true of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanFact {
    /// An event. A spec in it is without its nodes and hooks; they follow as parts.
    Happened(PlanInput),
    /// A part of the spec of the event before.
    Part(SpecPart),
    /// Something is to be done; exactly one answer will come.
    Ordered {
        /// Its number.
        id: OrderId,
        /// What is to be done.
        order: PlanOrder,
    },
    /// It is cancelled; its answer still comes.
    OrderCancelled {
        /// Which order.
        id: OrderId,
        /// Why.
        cause: PlanCancel,
    },
    /// Decided: what an event means.
    Decided(PlanDecision),
    /// Decided: the plan is over, and why.
    Concluded {
        /// How it ended.
        outcome: PlanOutcome,
        /// Why.
        reason: PlanReason,
    },
}

/// A part of a spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpecPart {
    /// The next node.
    Node(Box<NodeSpec>),
    /// The next command of a list of hooks.
    Hook {
        /// Of which list.
        when: HookWhen,
        /// The command.
        command: String,
    },
}

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookWhen {
    /// Everything is applied, and passes in the workspace.
    Complete,
    /// It ended without that, and no person ended it.
    Failure,
}

/// Work of a plan for the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanOrder {
    /// Keep the workspace as it is now as a checkpoint of the plan. Keeps an existing one of that name.
    Record {
        /// Its name.
        name: String,
    },
    /// Make an isolated copy of a tree. What is left of an earlier copy for the same attempt is removed.
    Copy {
        /// For which node.
        node: NodeId,
        /// Which attempt at it, from 1.
        attempt: u32,
        /// What the copy holds.
        tree: String,
    },
    /// Drive one run in the copy, in a child process.
    ///
    /// Its first fact names plan, node and attempt. To be cancelled is to stop after the iteration; to be killed is to
    /// end now.
    Run {
        /// Of which node.
        node: NodeId,
        /// Which attempt at it, from 1. Each attempt has its own copy and its own run.
        attempt: u32,
        /// What it is for.
        purpose: RunPurpose,
        /// The run is there, or may be there, and is resumed. One that never began is started.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resume: bool,
        /// Its id, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        run: Option<RunId>,
        /// What it may cost in all, in millionths of a dollar: its own limit, where it has none that is lower.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit_micros: Option<u64>,
        /// To resolve a conflict: whose gates must pass on the result, its own among them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        gates: Vec<NodeId>,
    },
    /// Tell the run of a node to hold or to go on.
    Tell {
        /// Which node.
        node: NodeId,
        /// Hold after the iteration; otherwise go on.
        pause: bool,
    },
    /// Measure what a ranking needs, in the copy of a branch.
    Measure {
        /// Which branch.
        node: NodeId,
        /// Which attempt at it.
        attempt: u32,
        /// The initial tree of the plan.
        base: String,
        /// The tree of the branch.
        tree: String,
    },
    /// Merge three trees in the store. The result is kept as a checkpoint of the plan. Done twice, it gives the same.
    Merge {
        /// Whose result is merged.
        node: NodeId,
        /// Which attempt at it.
        attempt: u32,
        /// What the node began with.
        base: String,
        /// The plan tree.
        ours: String,
        /// The tree of the node.
        theirs: String,
        /// The name of the checkpoint.
        name: String,
    },
    /// Run the gates of these nodes.
    Gates {
        /// Where.
        place: GatesPlace,
        /// Whose gates.
        nodes: Vec<NodeId>,
        /// How long they may take.
        limit_ms: u64,
    },
    /// Bring the result into the workspace: a merge with the workspace as it is, then a rollback of the workspace to
    /// the merged tree. Done twice, it gives the same.
    Apply {
        /// The item whose result it is, in a plan of a list.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeId>,
        /// The initial tree of the plan; in a plan of a list, the plan tree before the item.
        base: String,
        /// The result.
        tree: String,
        /// The name of the checkpoint of the workspace as it is just before.
        undo: String,
    },
    /// Read the list, keep its bytes, and say which items may start.
    ReadList {
        /// Items that were begun.
        begun: u32,
    },
    /// Run the checks of an item in its copy. Edits of the agent to files of the harness are undone first.
    Check {
        /// Which item.
        node: NodeId,
        /// Which attempt at it.
        attempt: u32,
        /// Which run of the checks, from 1.
        number: u32,
    },
    /// Write what a loop of an item came to: its line in the log, and its last error.
    RecordLoop {
        /// Which item.
        node: NodeId,
        /// Which attempt at it.
        attempt: u32,
        /// Which run of the checks it was.
        number: u32,
    },
    /// Tick an item: the list, the progress and the log, all or none.
    RecordPass {
        /// Which item.
        node: NodeId,
        /// Which attempt at it.
        attempt: u32,
    },
    /// Run one command of the user.
    Hook {
        /// Of which list.
        when: HookWhen,
        /// Which of it, from 0.
        index: u32,
        /// The node that failed first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failed: Option<NodeId>,
    },
    /// Wait for a person. It ends when it is answered or cancelled.
    Ask(PlanQuestion),
    /// A person's rollback: the workspace becomes a checkpoint of the plan. What is there now becomes one first.
    RollBack {
        /// Which checkpoint.
        to: String,
        /// The name of the checkpoint of what is there just before.
        undo: String,
    },
    /// Say that the plan has ended, by the user's own command.
    Notify {
        /// The status word.
        result: String,
        /// Why.
        text: String,
    },
    /// Remove a copy. Also where there is none.
    Drop {
        /// Of which node.
        node: NodeId,
        /// Of which attempt.
        attempt: u32,
    },
}

/// What a run of a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunPurpose {
    /// The goal of the node.
    Work,
    /// The same again, from a tree with which its first result had a conflict.
    Rerun,
    /// To resolve a conflict: the copy has conflict markers, and the gates of all merged nodes must pass.
    Resolve,
}

/// Where gates run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatesPlace {
    /// In a copy of this tree, which is made and removed for it.
    Tree(String),
    /// In the workspace.
    Workspace,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanQuestion {
    /// Which branch is applied.
    Pick,
    /// The question of a node.
    Node(NodeId),
}

/// Why an order of a plan was cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanCancel {
    /// A person asked to stop.
    Stop,
    /// Another node failed, and nothing more is started.
    OtherFailed,
    /// A person asked to stop now.
    Abort,
    /// Another branch passed first.
    PassedFirst,
    /// It is worse than another branch, and than the start.
    Pruned,
    /// It took longer than its limit.
    Timeout,
    /// A person answered in another way.
    Answered,
}

impl PlanCancel {
    /// Whether the order is ended at once. Otherwise a run ends its iteration.
    #[must_use]
    pub fn at_once(self) -> bool {
        match self {
            Self::Stop | Self::OtherFailed | Self::Answered => false,
            Self::Abort | Self::PassedFirst | Self::Pruned | Self::Timeout => true,
        }
    }
}

/// What was decided about an event of a plan. `apply` stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanDecision {
    /// What becomes of an order whose end is not known.
    OrderDropped {
        /// Which order.
        id: OrderId,
        /// What becomes of it.
        then: DroppedPlanOrder,
    },
    /// A node starts, and this share of the budget is reserved for it.
    Starts {
        /// Which node.
        node: NodeId,
        /// Which attempt at it, from 1.
        attempt: u32,
        /// What it is for.
        purpose: RunPurpose,
        /// The run of this attempt is resumed in its copy.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        resume: bool,
        /// The tree that its copy is made of.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        tree: String,
        /// What is reserved for it, in millionths of a dollar; none without a budget.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_micros: Option<u64>,
    },
    /// The run of a node passed.
    Ran {
        /// Which node.
        node: NodeId,
    },
    /// The process of a run was killed: the run is resumed where it was.
    Continues {
        /// Which node.
        node: NodeId,
    },
    /// The result of a node is not used: it had a conflict, or what it depends on runs again. It waits for its start.
    Retries {
        /// Which node.
        node: NodeId,
        /// What the next run is for.
        purpose: RunPurpose,
    },
    /// An item of the list is taken: it is a node from now on.
    ItemTaken {
        /// The node.
        node: Box<NodeSpec>,
    },
    /// A loop of an item ended: its checks come next.
    LoopRan {
        /// Which item.
        node: NodeId,
    },
    /// What a loop of an item came to.
    ItemEvaluated {
        /// Which item.
        node: NodeId,
        /// The evaluation.
        evaluation: Box<ItemEvaluation>,
        /// What the item has used, this loop counted.
        tries: ItemTries,
        /// What follows.
        next: Box<ItemNext>,
    },
    /// The checks of an item run once more, and no agent works.
    ChecksAgain {
        /// Which item.
        node: NodeId,
    },
    /// The result of an item is in the plan tree; it is applied next.
    ItemJoined {
        /// Which item.
        node: NodeId,
    },
    /// Nothing more happens to a node.
    NodeEnded {
        /// Which node.
        node: NodeId,
        /// How it ended.
        end: NodeEnd,
    },
    /// All branches in their order, with every column.
    Ranked(Box<Ranking>),
    /// This branch is applied.
    Chosen {
        /// Which.
        node: NodeId,
        /// Who or what chose it.
        by: ChosenBy,
    },
    /// The plan was opened again: what becomes of each node.
    CarriedOver(CarryOver),
    /// How the plan will end. Hooks run and copies are removed before it does.
    Ends {
        /// How.
        outcome: PlanOutcome,
        /// Why.
        reason: PlanReason,
    },
}

/// Who or what chose a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChosenBy {
    /// The ranking.
    Ranking,
    /// A person.
    Person,
    /// A person, though it does not pass.
    PersonAnyway,
}

/// What becomes of an order whose end is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DroppedPlanOrder {
    /// It is given again; to do it twice does no harm.
    Repeat,
    /// The run is resumed.
    ResumeRun,
    /// It is not needed any more.
    Forget,
}

/// How a node ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEnd {
    /// Its result is in the plan tree, and all gates pass there.
    Merged,
    /// A branch that passed, and is in the ranking.
    Passed,
    /// A person answered its question.
    Answered,
    /// A person answered its question: what depends on it is not to start.
    Refused,
    /// Its run ended without a pass.
    NotPassed,
    /// Its run passed, and the plan ended before its result was merged or ranked.
    RanOnly,
    /// Its run was ended before it came to a result.
    EndedEarly(EndedEarly),
    /// It was never started.
    NotStarted(NotStarted),
    /// Its result cannot be merged.
    Conflict,
    /// Its result was merged, and gates fail on the merged tree.
    FailedMergeGates,
    /// An item of a list: its result is in the workspace, and the list says that it is done.
    Ticked,
    /// An item of a list whose result is in the workspace, and that could not be ticked.
    NotTicked {
        /// Why, for people.
        why: String,
    },
    /// An item of a list that ended without a pass, by this rule.
    GaveUp(ItemEnd),
    /// The host could not do what it needed.
    HostFailure {
        /// Why, for people.
        why: String,
    },
}

impl NodeEnd {
    /// Whether what depends on it may start.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Merged | Self::Passed | Self::Answered | Self::Ticked)
    }

    /// Whether it is the node itself that failed, and not another one or a person that ended it.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Refused
            | Self::NotPassed
            | Self::Conflict
            | Self::FailedMergeGates
            | Self::NotTicked { .. }
            | Self::GaveUp(_)
            | Self::HostFailure { .. }
            | Self::EndedEarly(EndedEarly::Killed) => true,
            Self::Merged
            | Self::Ticked
            | Self::Passed
            | Self::Answered
            | Self::RanOnly
            | Self::EndedEarly(_)
            | Self::NotStarted(_) => false,
        }
    }
}

/// Why a run was ended before it came to a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedEarly {
    /// A person stopped the plan, or this run.
    Stopped,
    /// Another branch passed first.
    PassedFirst(NodeId),
    /// It was worse than this branch, and than the start.
    Pruned(NodeId),
    /// Another node failed.
    OtherFailed(NodeId),
    /// The budget of the plan does not let it be resumed.
    Budget,
    /// Something outside of the plan killed its process again and again.
    Killed,
}

/// Why a node was never started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// It depends on this node, which is not done.
    DependsOn(NodeId),
    /// The budget of the plan is used up.
    Budget,
    /// A person stopped the plan.
    Stopped,
    /// Another branch passed first.
    PassedFirst(NodeId),
    /// Another node failed, and the plan does not keep going.
    OtherFailed(NodeId),
    /// The plan could not work.
    Unable,
}

impl PlanFact {
    /// What the host has to do because of it.
    #[must_use]
    pub fn act(&self) -> Option<Act<'_, PlanOrder>> {
        match self {
            Self::Ordered { id, order } => Some(Act::Begin(*id, order)),
            Self::OrderCancelled { id, cause } if cause.at_once() => Some(Act::Kill(*id)),
            Self::OrderCancelled { id, .. } => Some(Act::Cancel(*id)),
            Self::Happened(_) | Self::Part(_) | Self::Decided(_) | Self::Concluded { .. } => None,
        }
    }

    /// Whether it must be safe on disk before anything follows from it: an order that costs money, changes the
    /// workspace or the plan tree, or removes a copy, how a run ended, what a person was promised, the end.
    #[must_use]
    pub fn needs_sync(&self) -> bool {
        match self {
            Self::Concluded { .. } => true,
            Self::Ordered { order, .. } => matches!(
                order,
                PlanOrder::Run { .. }
                    | PlanOrder::Merge { .. }
                    | PlanOrder::Apply { .. }
                    | PlanOrder::RecordLoop { .. }
                    | PlanOrder::RecordPass { .. }
                    | PlanOrder::Hook { .. }
                    | PlanOrder::RollBack { .. }
                    | PlanOrder::Drop { .. }
            ),
            Self::Part(_) | Self::OrderCancelled { .. } | Self::Decided(_) => false,
            Self::Happened(input) => match &input.event {
                PlanEvent::Created(_) | PlanEvent::Reopened { .. } | PlanEvent::Requested { .. } => true,
                PlanEvent::Answered { answer, .. } => matches!(
                    answer,
                    PlanAnswer::RunEnded(_)
                        | PlanAnswer::RunCutOff(_)
                        | PlanAnswer::RolledBack(_)
                        | PlanAnswer::Merged { .. }
                        | PlanAnswer::Applied(_)
                        | PlanAnswer::Checked(_)
                        | PlanAnswer::Ticked
                        | PlanAnswer::NotTicked { .. }
                        | PlanAnswer::HookEnded { .. }
                        | PlanAnswer::Said { .. }
                        | PlanAnswer::Picked { .. }
                ),
                PlanEvent::Opened
                | PlanEvent::OpenedForRequest { .. }
                | PlanEvent::Noticed(_)
                | PlanEvent::DeadlinePassed => false,
            },
        }
    }
}

/// A copy, a checkpoint or a merge that takes longer than this is a fault of the host.
const STORE_MS_MAX: u64 = 60 * 60 * 1000;
/// Telling a run something.
const TELL_MS_MAX: u64 = 60 * 1000;
/// The user's own metric command.
const MEASURE_MS_MAX: u64 = 60 * 60 * 1000;
/// All checks of an item together.
const CHECK_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// One command of the user.
const HOOK_MS_MAX: u64 = 10 * 60 * 1000;
/// The command that says that the plan has ended.
const NOTIFY_MS_MAX: u64 = 30 * 1000;

impl PlanOrder {
    /// How long it may take before it is ended. No order is without a limit; a run has its own.
    #[must_use]
    pub fn limit_ms(&self) -> u64 {
        match self {
            Self::Record { .. }
            | Self::Copy { .. }
            | Self::Merge { .. }
            | Self::Apply { .. }
            | Self::ReadList { .. }
            | Self::RecordLoop { .. }
            | Self::RecordPass { .. }
            | Self::RollBack { .. }
            | Self::Drop { .. } => STORE_MS_MAX,
            Self::Tell { .. } => TELL_MS_MAX,
            Self::Measure { .. } => MEASURE_MS_MAX,
            Self::Hook { .. } => HOOK_MS_MAX,
            Self::Notify { .. } => NOTIFY_MS_MAX,
            Self::Gates { limit_ms, .. } => *limit_ms,
            // Each command has its own limit before this one.
            Self::Check { .. } => CHECK_MS_MAX,
            Self::Run { .. } | Self::Ask(_) => crate::run::PAUSE_MS_MAX,
        }
    }

    /// The node that it is for. The gates of a merged tree are for the node that is being merged.
    #[must_use]
    pub fn node(&self) -> Option<&NodeId> {
        match self {
            Self::Copy { node, .. }
            | Self::Run { node, .. }
            | Self::Tell { node, .. }
            | Self::Measure { node, .. }
            | Self::Merge { node, .. }
            | Self::Drop { node, .. }
            | Self::Check { node, .. }
            | Self::RecordLoop { node, .. }
            | Self::RecordPass { node, .. }
            | Self::Ask(PlanQuestion::Node(node)) => Some(node),
            Self::Apply { node, .. } => node.as_ref(),
            Self::Record { .. }
            | Self::Gates { .. }
            | Self::ReadList { .. }
            | Self::Hook { .. }
            | Self::RollBack { .. }
            | Self::Notify { .. }
            | Self::Ask(PlanQuestion::Pick) => None,
        }
    }

    /// Whether it is beside the work of a node or of the plan, of which there is one at a time.
    #[must_use]
    pub fn is_side(&self) -> bool {
        matches!(self, Self::Tell { .. } | Self::Drop { .. })
    }
}
