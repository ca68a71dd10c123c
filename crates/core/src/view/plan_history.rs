//! What happened in a plan, read off its journal: every run of its nodes, merges, requests of people, the apply.
use std::collections::BTreeMap;

use serde::Serialize;

use super::plan::{PlanView, gates_words};
use super::{JSON_VERSION, seconds};
use crate::changes::Changes;
use crate::ids::OrderId;
use crate::plan::{
    ConflictReport, GatesPlace, GatesReport, PlanAnswer, PlanEntry, PlanEvent, PlanFact, PlanNotice, PlanOrder,
    PlanRequest, PlanState, RunPurpose,
};
use crate::run::Outcome;
use crate::time::{self, At};

/// The answer of `loop history PLAN --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanHistory {
    /// The version of this form.
    pub version: u32,
    /// The plan and its nodes as they are now.
    pub plan: PlanView,
    /// Every run of its nodes, in the order of their starts.
    pub runs: Vec<NodeRun>,
    /// Every merge of a result into the plan tree. A best-of has none.
    pub merges: Vec<NodeMerge>,
    /// What people asked for.
    pub requests: Vec<PlanRequestRow>,
    /// What came into the workspace; null where nothing did.
    pub applied: Option<AppliedPlan>,
}

/// One run of a node.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeRun {
    /// Of which node.
    pub node: String,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// What it was for: `work`, or what came of a conflict.
    pub purpose: RunPurpose,
    /// The run; null where it never began.
    pub run: Option<String>,
    /// When it was started or resumed first.
    pub started_at: String,
    /// When it ended last; null while it has no end.
    pub ended_at: Option<String>,
    /// How often it was resumed.
    pub resumed: u32,
    /// How it ended; null while it has no end.
    pub outcome: Option<Outcome>,
    /// Why.
    pub why: Option<String>,
    /// What its gates said.
    pub gates: Option<String>,
    /// How many iterations it had.
    pub iterations: u32,
    /// How much it changed; null while it has no end.
    pub changes: Option<Changes>,
    /// What it cost, in millionths of a dollar.
    pub cost_micros: u64,
    /// How long it was at work; null while it has no end.
    pub elapsed_seconds: Option<f64>,
}

/// One merge of a result into the plan tree.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeMerge {
    /// Whose result.
    pub node: String,
    /// Of which attempt.
    pub attempt: u32,
    /// When it was begun.
    pub at: String,
    /// The merged tree; null where there is none.
    pub tree: Option<String>,
    /// What cannot be merged.
    pub conflict: Option<ConflictReport>,
    /// What the gates of all merged loops said on the merged tree.
    pub gates: Option<GatesReport>,
}

/// One request of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlanRequestRow {
    /// When.
    pub at: String,
    /// What.
    pub request: PlanRequest,
    /// By which command.
    pub by: String,
}

/// What came into the workspace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AppliedPlan {
    /// When.
    pub at: String,
    /// How many files were written or removed.
    pub files: u32,
    /// The checkpoint of the workspace just before.
    pub before: String,
    /// The checkpoint of the workspace just after.
    pub after: String,
    /// What the gates said in the workspace; null where they did not run.
    pub gates: Option<GatesReport>,
}

impl AppliedPlan {
    /// The checkpoint of the workspace after the apply, by the name of that before it.
    #[must_use]
    pub fn after_name(before: &str) -> String {
        format!("{before}-applied")
    }
}

/// What an open order is for.
#[derive(Debug, Clone, Copy)]
enum OrderFor {
    /// The run at this place of the list.
    Run(usize),
    /// The merge at this place of the list.
    Merge(usize),
    /// The gates of the merge at this place.
    MergeGates(usize),
    /// The gates in the workspace.
    Here,
    /// The apply.
    Apply,
}

#[derive(Debug, Default)]
struct Fold {
    state: PlanState,
    open: BTreeMap<OrderId, OrderFor>,
    runs: Vec<NodeRun>,
    merges: Vec<NodeMerge>,
    requests: Vec<PlanRequestRow>,
    applied: Option<AppliedPlan>,
}

impl PlanHistory {
    /// The history of these entries; none before the first facts of the plan. `alive`: a process drives it.
    #[must_use]
    pub fn of(entries: &[PlanEntry], alive: bool, now: At) -> Option<Self> {
        let mut fold = Fold::default();
        for entry in entries {
            fold.take(entry);
            fold.state.apply(&entry.fact);
        }
        let plan = PlanView::of(&fold.state, alive, now)?;
        let Fold { runs, merges, requests, applied, .. } = fold;
        Some(Self { version: JSON_VERSION, plan, runs, merges, requests, applied })
    }

    /// The runs of a node.
    pub fn runs_of(&self, node: &str) -> impl Iterator<Item = &NodeRun> {
        self.runs.iter().filter(move |run| run.node == node)
    }
}

impl Fold {
    fn take(&mut self, entry: &PlanEntry) {
        let at = time::rfc3339(entry.at.wall_ms);
        match &entry.fact {
            PlanFact::Ordered { id, order } => {
                if let Some(is_for) = self.begun(at, order) {
                    self.open.insert(*id, is_for);
                }
            }
            PlanFact::Happened(input) => match &input.event {
                PlanEvent::Answered { order, answer } => {
                    if let Some(is_for) = self.open.remove(order) {
                        self.ended(at, is_for, answer);
                    }
                }
                PlanEvent::Requested { request, by } => {
                    self.requests.push(PlanRequestRow { at, request: request.clone(), by: by.clone() });
                }
                PlanEvent::Reopened { by, request: Some(request), .. } => {
                    self.requests.push(PlanRequestRow { at, request: request.clone(), by: by.clone() });
                }
                PlanEvent::Noticed(notice) => self.noticed(notice),
                PlanEvent::Created(_)
                | PlanEvent::Opened
                | PlanEvent::Reopened { .. }
                | PlanEvent::OpenedForRequest { .. }
                | PlanEvent::DeadlinePassed => {}
            },
            PlanFact::Part(_) | PlanFact::OrderCancelled { .. } | PlanFact::Decided(_) | PlanFact::Concluded { .. } => {
            }
        }
    }

    fn begun(&mut self, at: String, order: &PlanOrder) -> Option<OrderFor> {
        match order {
            PlanOrder::Run { node, attempt, purpose, run, .. } => {
                let run = run.as_ref().map(ToString::to_string);
                let known = self.runs.iter().position(|one| one.node == node.as_str() && one.attempt == *attempt);
                if let Some(place) = known {
                    self.runs[place].resumed += 1;
                    return Some(OrderFor::Run(place));
                }
                self.runs.push(NodeRun {
                    node: node.to_string(),
                    attempt: *attempt,
                    purpose: *purpose,
                    run,
                    started_at: at,
                    ended_at: None,
                    resumed: 0,
                    outcome: None,
                    why: None,
                    gates: None,
                    iterations: 0,
                    changes: None,
                    cost_micros: 0,
                    elapsed_seconds: None,
                });
                Some(OrderFor::Run(self.runs.len() - 1))
            }
            PlanOrder::Merge { node, attempt, .. } => {
                let (node, attempt) = (node.to_string(), *attempt);
                self.merges.push(NodeMerge { node, attempt, at, tree: None, conflict: None, gates: None });
                Some(OrderFor::Merge(self.merges.len() - 1))
            }
            PlanOrder::Gates { place: GatesPlace::Tree(_), .. } => {
                self.merges.len().checked_sub(1).map(OrderFor::MergeGates)
            }
            PlanOrder::Gates { place: GatesPlace::Workspace, .. } => Some(OrderFor::Here),
            PlanOrder::Apply { .. } => Some(OrderFor::Apply),
            PlanOrder::Record { .. }
            | PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. }
            | PlanOrder::Copy { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Measure { .. }
            | PlanOrder::Hook { .. }
            | PlanOrder::Ask(_)
            | PlanOrder::RollBack { .. }
            | PlanOrder::Notify { .. }
            | PlanOrder::Drop { .. } => None,
        }
    }

    fn noticed(&mut self, notice: &PlanNotice) {
        match notice {
            PlanNotice::RunStarted { order, run } => {
                if let Some(OrderFor::Run(place)) = self.open.get(order) {
                    self.runs[*place].run = Some(run.to_string());
                }
            }
            PlanNotice::Progress { order, iterations, cost_micros, .. } => {
                if let Some(OrderFor::Run(place)) = self.open.get(order) {
                    let row = &mut self.runs[*place];
                    row.iterations = *iterations;
                    row.cost_micros = *cost_micros;
                }
            }
            PlanNotice::Started { .. } | PlanNotice::Message { .. } => {}
        }
    }

    fn ended(&mut self, at: String, is_for: OrderFor, answer: &PlanAnswer) {
        match (is_for, answer) {
            (OrderFor::Run(place), PlanAnswer::RunEnded(result)) => {
                let row = &mut self.runs[place];
                row.run = Some(result.run.to_string());
                row.ended_at = Some(at);
                row.outcome = Some(result.outcome);
                row.why = Some(result.reason.text.clone());
                row.gates = Some(gates_words(result));
                row.iterations = result.iterations;
                row.changes = Some(result.changed);
                row.cost_micros = result.cost_micros;
                row.elapsed_seconds = Some(seconds(result.elapsed_ms));
            }
            (OrderFor::Run(place), PlanAnswer::Failed { why }) => {
                let row = &mut self.runs[place];
                row.ended_at = Some(at);
                row.why = Some(why.clone());
            }
            (OrderFor::Merge(place), PlanAnswer::Merged { tree }) => self.merges[place].tree = Some(tree.clone()),
            (OrderFor::Merge(place), PlanAnswer::Conflicts(found)) => {
                self.merges[place].conflict = Some(found.clone());
            }
            (OrderFor::MergeGates(place), PlanAnswer::Gates(gates)) => self.merges[place].gates = Some(gates.clone()),
            (OrderFor::Here, PlanAnswer::Gates(gates)) => {
                if let Some(applied) = &mut self.applied {
                    applied.gates = Some(gates.clone());
                }
            }
            (OrderFor::Apply, PlanAnswer::Applied(done)) => {
                let after = AppliedPlan::after_name(&done.undo);
                // Items of a list are applied one by one: what the plan changed began before the first.
                let is_list = self.state.spec.as_ref().is_some_and(|spec| spec.list().is_some());
                let first = self.applied.take().filter(|_| is_list);
                let files = first.as_ref().map_or(0, |first| first.files).saturating_add(done.files);
                let before = first.map_or_else(|| done.undo.clone(), |first| first.before);
                self.applied = Some(AppliedPlan { at, files, before, after, gates: None });
            }
            (_, _) => {}
        }
    }
}

impl PlanView {
    /// How many nodes stand before this one on the longest way to it.
    #[must_use]
    pub fn depth_of(&self, node: &str) -> usize {
        let mut depth: BTreeMap<&str, usize> = BTreeMap::new();
        // As often as there are nodes, so that any order is enough.
        for _ in &self.nodes {
            for row in &self.nodes {
                let before = row.depends_on.iter().filter_map(|on| depth.get(on.as_str())).max();
                let own = before.map_or(0, |before| before + 1).min(self.nodes.len());
                depth.insert(&row.node, own);
            }
        }
        depth.get(node).copied().unwrap_or(0)
    }
}
