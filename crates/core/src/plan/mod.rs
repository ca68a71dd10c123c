//! The life of a plan: several runs for one goal. Events in, facts out.
//!
//! A plan has nodes. A node is one loop in its own copy of the workspace, or a question to a person. How the results
//! come together: one branch is chosen (best-of), or all are merged (workflow).
//!
//! | file | what is there |
//! |---|---|
//! | `spec` | what a plan was started with: its first facts |
//! | `event` | what can happen: events, requests, notices |
//! | `report` | answers to orders, as digests |
//! | `fact` | what is recorded: facts, orders, decisions; which facts must be synced |
//! | `bound` | no fact is too long |
//! | `state` | the state of the plan and of its nodes |
//! | `apply` | bookkeeping: the only code that changes the state; it asks no policy |
//! | `evidence` | what must stand before a fact that says *applied* |
//! | `step` | an event in, facts out |
//! | `decide` | what starts, ends or continues the nodes |
//! | `finish` | gates of merged trees, the ranking, apply, hooks, copies, the end |
//! | `carry` | what becomes of each node when a plan is opened again |
//! | `requests` | whether a request of a person makes sense now |
//! | `list` | a list of work: what the plan keeps of it and of its items |
//! | `items` | what is decided about items: taken, checked, applied, ticked |
//! | `touches` | whether two nodes may write the same files |
//! | `outcome` `words` | outcomes, reasons, the one table to status and exit code; all of it in plain sentences |
mod apply;
mod bound;
mod carry;
mod decide;
mod event;
mod evidence;
mod fact;
mod finish;
mod items;
mod list;
mod outcome;
mod report;
mod requests;
mod spec;
mod state;
mod step;
mod touches;
mod words;

pub use carry::{Carried, CarriedTo, CarryOver, CarryReason, carry_over};
pub use event::{PlanBudget, PlanEvent, PlanInput, PlanNotice, PlanRequest};
pub use fact::{
    ChosenBy, DroppedPlanOrder, EndedEarly, GatesPlace, HookWhen, NodeEnd, NotStarted, PlanCancel, PlanDecision,
    PlanEntry, PlanFact, PlanOrder, PlanQuestion, RunPurpose, SpecPart,
};
pub use list::{
    CANDIDATES_MAX, ITEM_TEXT_BYTES_MAX, ITEMS_MAX, ItemChecked, ItemJudge, ItemProgress, ItemRef, ListProgress,
    ListReport, ListSpec,
};
pub use outcome::{PlanEnding, PlanOutcome, PlanReason, PlanReasonCode, PlanStanding, plan_standing};
pub use report::{
    ApplyReport, ConflictReport, CopyReport, FailedGate, GatesReport, MeasureReport, PlanAnswer, PlanRolledBack,
    ResultStrength, RunCutOff, RunDigest,
};
pub use spec::{
    BRANCHES_MAX, CONFLICTS_MAX, HOOK_BYTES_MAX, HOOKS_MAX, Join, LoopWork, METRIC_BYTES_MAX, Metric, MetricSource,
    NODE_TEXT_BYTES_MAX, NODES_MAX, NodeId, NodeSpec, NodeWork, OnConflict, PlanOrigin, PlanSpec, QUESTION_BYTES_MAX,
    RecoveredRun, Selection, TOUCH_BYTES_MAX, TOUCHES_MAX,
};
pub use state::{
    Applying, BranchProgress, EndedHook, NodeStage, NodeState, OpenPlanOrder, OrphanCopy, PersonAnswer, PlanChoice,
    PlanEnds, PlanMoney, PlanOrders, PlanRequests, PlanRollback, PlanState,
};
pub use step::Plan;
