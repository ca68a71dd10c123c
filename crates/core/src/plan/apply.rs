//! Bookkeeping: the only place where the state of a plan changes, live and on replay. It copies, counts and stores; it
//! asks no policy.
use std::sync::Arc;

use super::carry::{CarriedTo, CarryOver};
use super::event::{PlanEvent, PlanInput, PlanNotice, PlanRequest};
use super::fact::{
    DroppedPlanOrder, GatesPlace, HookWhen, NodeEnd, PlanCancel, PlanDecision, PlanFact, PlanOrder, PlanQuestion,
    RunPurpose, SpecPart,
};
use super::outcome::PlanEnding;
use super::report::{ApplyReport, ConflictReport, MeasureReport, PlanAnswer, PlanRolledBack, RunCutOff, RunDigest};
use super::spec::{NodeId, PlanSpec};
use super::state::{
    Applying, BranchProgress, EndedHook, NodeStage, NodeState, OpenPlanOrder, OrphanCopy, PersonAnswer, PlanChoice,
    PlanEnds, PlanRollback, PlanState,
};
use crate::ended::Ended;
use crate::ids::OrderId;
use crate::run::DriverMode;
use crate::time::{self, At};

impl PlanState {
    /// Takes one fact in.
    pub fn apply(&mut self, fact: &PlanFact) {
        match fact {
            PlanFact::Happened(input) => self.happened(input),
            PlanFact::Part(part) => self.part(part),
            PlanFact::Ordered { id, order } => self.ordered(*id, order),
            PlanFact::OrderCancelled { id, cause } => {
                self.orders.cancel(*id, *cause);
                if cause.at_once() {
                    self.orders.kill(*id);
                }
            }
            PlanFact::Decided(decision) => self.decided(decision),
            PlanFact::Concluded { outcome, reason } => {
                self.stop_clock(self.now);
                self.driver = DriverMode::None;
                self.over = Some(PlanEnding { outcome: *outcome, reason: reason.clone(), at: self.now });
            }
        }
    }

    fn happened(&mut self, input: &PlanInput) {
        let before = self.now;
        self.now = input.at;
        match &input.event {
            PlanEvent::Created(spec) => {
                if self.spec.is_none() {
                    self.created = input.at;
                    self.unattended = spec.unattended;
                    self.take_draft(spec);
                }
            }
            PlanEvent::Opened => self.opened(before, input.at),
            PlanEvent::Reopened { by, unattended, spec, request } => {
                self.opened(before, input.at);
                self.reopened(*unattended);
                if let Some(spec) = spec {
                    self.take_draft(spec);
                }
                if let Some(request) = request {
                    self.requested(request, by);
                }
            }
            PlanEvent::OpenedForRequest { .. } => {
                self.stop_clock(before);
                self.driver = DriverMode::OneRequest;
            }
            PlanEvent::Answered { order, answer } => self.answered(*order, answer),
            PlanEvent::Requested { request, by } => self.requested(request, by),
            PlanEvent::Noticed(notice) => self.noticed(notice),
            PlanEvent::DeadlinePassed => {}
        }
    }

    fn take_draft(&mut self, spec: &PlanSpec) {
        self.draft = Some(Arc::new(spec.clone()));
        self.finish_draft();
    }

    /// A part of the spec that is being read.
    fn part(&mut self, part: &SpecPart) {
        let Some(draft) = &mut self.draft else { return };
        let draft = Arc::make_mut(draft);
        draft.parts = draft.parts.saturating_sub(1);
        match part {
            SpecPart::Node(node) => draft.nodes.push((**node).clone()),
            SpecPart::Hook { when: HookWhen::Complete, command } => draft.on_complete.push(command.clone()),
            SpecPart::Hook { when: HookWhen::Failure, command } => draft.on_failure.push(command.clone()),
        }
        self.finish_draft();
    }

    /// The first spec holds as soon as it is whole. A later one holds when it is decided what becomes of the nodes.
    fn finish_draft(&mut self) {
        if self.spec.is_some() || self.draft.as_ref().is_none_or(|draft| draft.parts > 0) {
            return;
        }
        let Some(draft) = self.draft.take() else { return };
        let mut spec = (*draft).clone();
        let nodes = std::mem::take(&mut spec.nodes);
        self.nodes = nodes.into_iter().map(|node| NodeState::new(Arc::new(node))).collect();
        self.spec = Some(Arc::new(spec));
    }

    fn opened(&mut self, before: At, at: At) {
        self.stop_clock(before);
        self.since = Some(at);
        self.driver = DriverMode::Driving;
    }

    fn reopened(&mut self, unattended: bool) {
        self.unattended = unattended;
        if self.over.take().is_some() {
            self.ends = None;
        }
        self.draft = None;
        self.list.read = None;
        self.list.recorded = false;
        self.carry_due = true;
        self.requests.stop = None;
        self.requests.abort = None;
        self.requests.pause = None;
    }

    fn stop_clock(&mut self, at: At) {
        self.used_ms = self.active_ms(at);
        self.since = None;
    }

    fn requested(&mut self, request: &PlanRequest, by: &str) {
        let by_whom = Some(by.to_owned());
        match request {
            PlanRequest::Stop => self.requests.stop = by_whom,
            PlanRequest::Abort => self.requests.abort = by_whom,
            PlanRequest::Cancel => self.requests.cancel = by_whom,
            PlanRequest::Pause => self.requests.pause = by_whom,
            PlanRequest::Resume => self.requests.pause = None,
            PlanRequest::Pick { node, anyway } => {
                self.requests.pick = Some(node.clone());
                self.requests.pick_anyway = *anyway;
            }
            PlanRequest::Budget { most_micros } => self.set_budget(*most_micros),
            PlanRequest::Limits { changes, budget } => {
                for change in changes {
                    self.limits.retain(|known| known.key != change.key);
                    self.limits.push(change.clone());
                }
                if let Some(budget) = budget {
                    self.set_budget(budget.most_micros);
                }
            }
            PlanRequest::Rollback { to, undo } => {
                let (to, undo, by) = (to.clone(), undo.clone(), by.to_owned());
                self.rollback = Some(PlanRollback { to, undo, by, at: self.now, end: None, before_apply: false });
            }
            PlanRequest::Answer { node, text, proceed } => {
                let answer = PersonAnswer { text: text.clone(), proceed: *proceed, by: by.to_owned() };
                self.said(node, answer);
            }
        }
    }

    fn set_budget(&mut self, most_micros: Option<u64>) {
        if let Some(spec) = &mut self.spec {
            Arc::make_mut(spec).budget_micros = most_micros;
        }
    }

    /// The answer of a person counts while the question is open.
    fn said(&mut self, id: &NodeId, answer: PersonAnswer) {
        if let Some(node) = self.node_mut(id).filter(|node| node.stage == NodeStage::Asking) {
            node.answer = Some(Arc::new(answer));
            node.stage = NodeStage::Said;
        }
    }

    fn noticed(&mut self, notice: &PlanNotice) {
        match notice {
            PlanNotice::Started { order, process } => self.orders.started(*order, *process),
            PlanNotice::RunStarted { order, run } => {
                if let Some(node) = self.node_of_run(*order) {
                    node.run = Some(run.clone());
                }
            }
            PlanNotice::Progress { order, iterations, start, best, cost_micros } => {
                let progress =
                    BranchProgress { iterations: *iterations, start: *start, best: *best, cost_micros: *cost_micros };
                if let Some(node) = self.node_of_run(*order) {
                    node.progress = Some(progress);
                }
            }
            PlanNotice::Message { .. } => {}
        }
    }

    fn node_of_run(&mut self, order: OrderId) -> Option<&mut NodeState> {
        let PlanOrder::Run { node, .. } = &self.orders.get(order)?.order else { return None };
        let id = node.clone();
        self.node_mut(&id)
    }

    fn ordered(&mut self, id: OrderId, order: &PlanOrder) {
        self.orders.add(id, order, self.now);
        match order {
            PlanOrder::Copy { node, attempt, .. } => {
                if let Some(node) = self.node_mut(node)
                    && !node.copies.contains(attempt)
                {
                    node.copies.push(*attempt);
                }
            }
            PlanOrder::Merge { node, .. } => {
                if let Some(node) = self.node_mut(node) {
                    node.stage = NodeStage::Merging;
                }
            }
            PlanOrder::Run { node, .. } => {
                if let Some(node) = self.node_mut(node) {
                    node.held = false;
                }
            }
            PlanOrder::Record { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Measure { .. }
            | PlanOrder::Gates { .. }
            | PlanOrder::Apply { .. }
            | PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. }
            | PlanOrder::Hook { .. }
            | PlanOrder::Ask(_)
            | PlanOrder::RollBack { .. }
            | PlanOrder::Notify { .. }
            | PlanOrder::Drop { .. } => {}
        }
    }

    /// The one answer to an order. One from before a crash finds no open order, and counts for nothing.
    fn answered(&mut self, id: OrderId, answer: &PlanAnswer) {
        let Some(open) = self.orders.close(id) else { return };
        match answer {
            PlanAnswer::Failed { why } => self.order_failed(&open, why),
            PlanAnswer::Cancelled => self.order_cut_off(&open),
            PlanAnswer::Recorded { .. }
            | PlanAnswer::Copied(_)
            | PlanAnswer::RunEnded(_)
            | PlanAnswer::RunCutOff(_)
            | PlanAnswer::RolledBack(_)
            | PlanAnswer::Measured(_)
            | PlanAnswer::Merged { .. }
            | PlanAnswer::Conflicts(_)
            | PlanAnswer::Gates(_)
            | PlanAnswer::Applied(_)
            | PlanAnswer::ListRead(_)
            | PlanAnswer::Checked(_)
            | PlanAnswer::Ticked
            | PlanAnswer::NotTicked { .. }
            | PlanAnswer::HookEnded { .. }
            | PlanAnswer::Said { .. }
            | PlanAnswer::Picked { .. }
            | PlanAnswer::Done => {
                if !self.order_done(&open, answer) {
                    self.order_failed(&open, "the answer does not belong to the order");
                }
            }
        }
    }

    /// Stores what came of an order. False where the answer is of another kind.
    fn order_done(&mut self, open: &OpenPlanOrder, answer: &PlanAnswer) -> bool {
        match (&open.order, answer) {
            (PlanOrder::Record { .. }, PlanAnswer::Recorded { tree }) => {
                self.initial.get_or_insert_with(|| tree.clone());
                // In a plan of a list no node is at work then: the next item begins with the workspace as it is.
                let is_list = self.spec.as_ref().is_some_and(|spec| spec.list().is_some());
                self.tree = self.tree.take().filter(|_| !is_list).or_else(|| Some(tree.clone()));
                self.list.recorded = true;
            }
            (PlanOrder::Hook { when, index, .. }, PlanAnswer::HookEnded { ended, says }) => {
                self.hook_ended(*when, *index, Some(ended.clone()), says);
            }
            (PlanOrder::Ask(PlanQuestion::Pick), PlanAnswer::Picked { node }) => {
                self.requests.pick = Some(node.clone());
                self.requests.pick_anyway = false;
            }
            (PlanOrder::Ask(PlanQuestion::Node(node)), PlanAnswer::Said { text, proceed }) => {
                let answer = PersonAnswer { text: text.clone(), proceed: *proceed, by: "terminal".to_owned() };
                self.said(node, answer);
            }
            (PlanOrder::Drop { node, attempt }, _) => self.copy_removed(node, *attempt),
            (PlanOrder::Tell { node, pause }, _) => {
                if let Some(node) = self.node_mut(node) {
                    node.held = *pause;
                }
            }
            // Nothing depends on it.
            (PlanOrder::Ask(_) | PlanOrder::Notify { .. }, _) => {}
            (PlanOrder::RollBack { .. }, PlanAnswer::RolledBack(report)) => self.rollback_ended(Ok(report.clone())),
            (PlanOrder::Run { node, .. }, PlanAnswer::RunCutOff(report)) => self.run_cut_off(node, report),
            (PlanOrder::Apply { node: None, .. }, PlanAnswer::Applied(report)) => self.applied(report),
            (PlanOrder::Apply { node: None, .. }, PlanAnswer::Conflicts(report)) => {
                self.applying.conflict = Some(Arc::new(report.clone()));
            }
            (PlanOrder::Gates { place: GatesPlace::Workspace, .. }, PlanAnswer::Gates(report)) => {
                self.applying.gates = Some(Arc::new(report.clone()));
            }
            (PlanOrder::Gates { place: GatesPlace::Tree(_), .. }, PlanAnswer::Gates(report)) => {
                if let Some(node) = self.merging_node() {
                    node.gates = Some(Arc::new(report.clone()));
                    node.stage = NodeStage::MergeJudged;
                }
            }
            (PlanOrder::Copy { node, .. }, PlanAnswer::Copied(report)) => {
                if let Some(node) = self.node_mut(node) {
                    node.copy = Some(report.clone());
                    node.stage = NodeStage::Running;
                }
            }
            (PlanOrder::Run { node, .. }, PlanAnswer::RunEnded(digest)) => self.run_ended(node, digest),
            (PlanOrder::Measure { node, .. }, PlanAnswer::Measured(report)) => self.measured(node, report.clone()),
            (PlanOrder::Merge { node, .. }, PlanAnswer::Merged { tree }) => {
                if let Some(node) = self.node_mut(node) {
                    node.merging = Some(tree.clone());
                    node.stage = NodeStage::MergeGates;
                }
            }
            (PlanOrder::Merge { node, .. }, PlanAnswer::Conflicts(report)) => {
                let tree = self.tree.clone();
                if let Some(node) = self.node_mut(node) {
                    node.conflict = Some(Arc::new(report.clone()));
                    node.conflict_base = tree;
                    node.conflicts += 1;
                    node.stage = NodeStage::Conflicted;
                }
            }
            _ => return self.item_order_done(open, answer),
        }
        true
    }

    /// The same for orders about the items of a list.
    fn item_order_done(&mut self, open: &OpenPlanOrder, answer: &PlanAnswer) -> bool {
        match (&open.order, answer) {
            (PlanOrder::Apply { node: Some(node), .. }, PlanAnswer::Applied(report)) => {
                self.applied(report);
                self.set_stage(node, NodeStage::Ticking);
            }
            (PlanOrder::Apply { node: Some(node), .. }, PlanAnswer::Conflicts(report)) => {
                self.item_conflicts(node, report);
            }
            (PlanOrder::ReadList { .. }, PlanAnswer::ListRead(report)) => {
                let report = Arc::new((**report).clone());
                self.list.last = Some(Arc::clone(&report));
                self.list.read = Some(report);
            }
            (PlanOrder::Check { node, .. }, PlanAnswer::Checked(checked)) => {
                if let Some(node) = self.node_mut(node) {
                    node.item.tree = Some(checked.tree.clone());
                    node.item.checked = Some(Arc::new((**checked).clone()));
                    node.stage = NodeStage::Checked;
                }
            }
            (PlanOrder::RecordLoop { node, .. }, PlanAnswer::Done) => self.set_stage(node, NodeStage::Recorded),
            (PlanOrder::RecordPass { node, .. }, PlanAnswer::Ticked) => {
                if let Some(node) = self.node_mut(node) {
                    node.item.ticked = true;
                    node.stage = NodeStage::TickEnded;
                }
            }
            (PlanOrder::RecordPass { node, .. }, PlanAnswer::NotTicked { why }) => self.not_ticked(node, why),
            _ => return false,
        }
        true
    }

    fn set_stage(&mut self, id: &NodeId, stage: NodeStage) {
        if let Some(node) = self.node_mut(id) {
            node.stage = stage;
        }
    }

    fn not_ticked(&mut self, id: &NodeId, why: &str) {
        if let Some(node) = self.node_mut(id) {
            node.item.not_ticked = Some(why.to_owned());
            node.stage = NodeStage::TickEnded;
        }
    }

    /// The result of an item and the workspace have a conflict: nothing was changed, and the plan tree is as before it.
    fn item_conflicts(&mut self, id: &NodeId, report: &ConflictReport) {
        let Some(node) = self.node_mut(id) else { return };
        node.conflict = Some(Arc::new(report.clone()));
        node.conflicts += 1;
        node.stage = NodeStage::Conflicted;
        node.merging = None;
        let before = node.item.joined_from.take();
        self.tree = before.or_else(|| self.tree.take());
    }

    /// The node whose merged tree is judged: there is one at a time.
    fn merging_node(&mut self) -> Option<&mut NodeState> {
        self.nodes.iter_mut().find(|node| node.stage == NodeStage::MergeGates)
    }

    fn run_ended(&mut self, id: &NodeId, digest: &RunDigest) {
        self.settle_money(id, digest.cost_micros);
        if let Some(node) = self.node_mut(id) {
            node.run = Some(digest.run.clone());
            node.result = Some(Arc::new(digest.clone()));
            node.resume = false;
            node.stage = NodeStage::RunEnded;
        }
    }

    /// The process of a run has ended, and the run has no end.
    fn run_cut_off(&mut self, id: &NodeId, report: &RunCutOff) {
        if let Some(node) = self.node_mut(id) {
            node.run = report.run.clone().or_else(|| node.run.take());
            node.resume = node.resume || report.killed || report.run.is_some();
            node.kills = node.kills.saturating_add(u32::from(report.killed));
            node.cut_off = Some(Arc::new(report.clone()));
        }
    }

    fn applied(&mut self, report: &ApplyReport) {
        self.applying.report = Some(report.clone());
        if let Some(rollback) = &mut self.rollback {
            rollback.before_apply = true;
        }
    }

    fn rollback_ended(&mut self, end: Result<PlanRolledBack, String>) {
        if let Some(rollback) = &mut self.rollback {
            rollback.end = Some(end);
        }
    }

    fn measured(&mut self, id: &NodeId, report: MeasureReport) {
        if let Some(node) = self.node_mut(id) {
            node.measure = Some(report);
        }
    }

    fn hook_ended(&mut self, when: HookWhen, index: u32, ended: Option<Ended>, says: &str) {
        self.hooks.push(EndedHook { when, index, ended, says: says.to_owned() });
    }

    fn copy_removed(&mut self, id: &NodeId, attempt: u32) {
        if let Some(node) = self.node_mut(id) {
            node.copies.retain(|kept| *kept != attempt);
            if node.attempt == attempt {
                node.copy = None;
            }
        }
        self.orphans.retain(|orphan| orphan.node != *id || orphan.attempt != attempt);
    }

    /// The host could not do it.
    fn order_failed(&mut self, open: &OpenPlanOrder, why: &str) {
        match &open.order {
            PlanOrder::Record { .. }
            | PlanOrder::ReadList { .. }
            | PlanOrder::Apply { .. }
            | PlanOrder::Ask(PlanQuestion::Pick) => {
                self.trouble = Some(why.to_owned());
            }
            PlanOrder::RecordPass { node, .. } => self.not_ticked(node, why),
            PlanOrder::Gates { place: GatesPlace::Workspace, .. } => self.trouble = Some(why.to_owned()),
            PlanOrder::Gates { place: GatesPlace::Tree(_), .. } => {
                if let Some(node) = self.merging_node() {
                    node.trouble = Some(why.to_owned());
                }
            }
            PlanOrder::Hook { when, index, .. } => {
                self.hook_ended(*when, *index, Some(Ended::NotStarted(why.to_owned())), "");
            }
            // A ranking without these numbers is better than none.
            PlanOrder::Measure { node, .. } => self.measured(node, MeasureReport::default()),
            PlanOrder::Drop { node, attempt } => self.copy_removed(node, *attempt),
            PlanOrder::Tell { .. } | PlanOrder::Notify { .. } => {}
            PlanOrder::RollBack { .. } => self.rollback_ended(Err(why.to_owned())),
            PlanOrder::Run { node, .. } => {
                self.settle_worst_case(node);
                self.node_failed(node, why);
            }
            PlanOrder::Copy { node, .. }
            | PlanOrder::Merge { node, .. }
            | PlanOrder::Check { node, .. }
            | PlanOrder::RecordLoop { node, .. }
            | PlanOrder::Ask(PlanQuestion::Node(node)) => self.node_failed(node, why),
        }
    }

    fn node_failed(&mut self, id: &NodeId, why: &str) {
        if let Some(node) = self.node_mut(id) {
            node.trouble = Some(why.to_owned());
        }
    }

    /// It was ended before it came to a result.
    fn order_cut_off(&mut self, open: &OpenPlanOrder) {
        match open.cancelled() {
            None => self.order_failed(open, "it ended before it was done"),
            Some(PlanCancel::Timeout) => {
                let why = format!("it took longer than {}", time::spaced(open.order.limit_ms()));
                self.order_failed(open, &why);
            }
            Some(_) => self.forget_work(open),
        }
    }

    /// An order has no result: its node stands where it stood before.
    fn forget_work(&mut self, open: &OpenPlanOrder) {
        match &open.order {
            PlanOrder::Run { node, .. } => {
                if let Some(node) = self.node_mut(node) {
                    node.resume = true;
                }
            }
            PlanOrder::Merge { node, .. } => {
                if let Some(node) = self.node_mut(node).filter(|node| node.stage == NodeStage::Merging) {
                    node.stage = NodeStage::Ran;
                }
            }
            PlanOrder::Hook { when, index, .. } => self.hook_ended(*when, *index, None, ""),
            PlanOrder::Drop { node, attempt } => self.copy_removed(node, *attempt),
            PlanOrder::RollBack { .. } => self.rollback_ended(Err("it was begun, and its end is not known".to_owned())),
            PlanOrder::Record { .. }
            | PlanOrder::Copy { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Measure { .. }
            | PlanOrder::Gates { .. }
            | PlanOrder::Apply { .. }
            | PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. }
            | PlanOrder::Notify { .. }
            | PlanOrder::Ask(_) => {}
        }
    }

    /// The newest run of a node has cost this in all. What was reserved for it is free.
    fn settle_money(&mut self, id: &NodeId, total_micros: u64) {
        let Some(node) = self.node_mut(id) else { return };
        let before = std::mem::replace(&mut node.counted_micros, total_micros);
        let share = std::mem::take(&mut node.share_micros);
        node.cost_micros = node.cost_micros.saturating_sub(before).saturating_add(total_micros);
        let money = &mut self.money;
        money.reserved_micros = money.reserved_micros.saturating_sub(share);
        money.spent_micros = money.spent_micros.saturating_sub(before).saturating_add(total_micros);
    }

    /// What the run has cost is not known: it counts as what it may have cost.
    fn settle_worst_case(&mut self, id: &NodeId) {
        let Some(node) = self.node(id) else { return };
        let worst = node.counted_micros.saturating_add(node.share_micros);
        let seen = node.progress.map_or(0, |progress| progress.cost_micros);
        self.settle_money(id, worst.max(seen));
    }

    fn decided(&mut self, decision: &PlanDecision) {
        match decision {
            PlanDecision::OrderDropped { id, then } => self.order_dropped(*id, *then),
            PlanDecision::Starts { node, attempt, purpose, resume, tree, share_micros } => {
                let share = share_micros.unwrap_or(0);
                self.money.reserved_micros = self.money.reserved_micros.saturating_add(share);
                let base = self.tree.clone();
                let now = self.now;
                let merged = self.nodes.iter().filter(|node| node.end() == Some(&NodeEnd::Merged));
                let inputs: Vec<NodeId> = merged.map(|node| node.id().clone()).collect();
                if let Some(node) = self.node_mut(node) {
                    node.starts(*resume, share, now);
                    if !*resume {
                        node.begins(*attempt, *purpose, base, tree);
                        node.inputs = inputs;
                    }
                }
            }
            PlanDecision::Ran { node } => {
                if let Some(node) = self.node_mut(node) {
                    node.stage = NodeStage::Ran;
                }
            }
            PlanDecision::Continues { node } => {
                if let Some(node) = self.node_mut(node) {
                    node.cut_off = None;
                }
            }
            PlanDecision::Retries { node, purpose } => {
                if let Some(node) = self.node_mut(node) {
                    // The next loop of an item is one more iteration of its run.
                    node.resume = node.stage == NodeStage::Recorded;
                    node.stage = NodeStage::Waiting;
                    node.purpose = *purpose;
                }
            }
            PlanDecision::ItemTaken { node } => {
                self.nodes.push(NodeState::new(Arc::new((**node).clone())));
                self.list.read = None;
                self.list.recorded = false;
            }
            PlanDecision::LoopRan { node } | PlanDecision::ChecksAgain { node } => {
                if let Some(node) = self.node_mut(node) {
                    node.item.checks = node.item.checks.saturating_add(1);
                    node.stage = NodeStage::Checking;
                }
            }
            PlanDecision::ItemEvaluated { node, .. } => {
                if let Some(node) = self.node_mut(node) {
                    node.keep_evaluation(decision);
                }
            }
            PlanDecision::ItemJoined { node } => self.item_joined(node),
            PlanDecision::NodeEnded { node, end } => self.node_ended(node, end),
            PlanDecision::Ranked(ranking) => self.ranking = Some(Arc::new((**ranking).clone())),
            PlanDecision::Chosen { node, by } => {
                self.chosen = Some(PlanChoice { node: node.clone(), by: by.clone() });
            }
            PlanDecision::CarriedOver(carried) => self.carried_over(carried),
            PlanDecision::Ends { outcome, reason } => {
                self.ends = Some(PlanEnds { outcome: *outcome, reason: reason.clone() });
            }
        }
    }

    /// The result of an item is in the plan tree.
    fn item_joined(&mut self, id: &NodeId) {
        let before = self.tree.clone();
        let Some(node) = self.node_mut(id) else { return };
        node.item.joined_from = before;
        node.stage = NodeStage::Applying;
        let merged = node.merging.clone();
        self.tree = merged.or_else(|| self.tree.take());
    }

    fn order_dropped(&mut self, id: OrderId, then: DroppedPlanOrder) {
        let Some(open) = self.orders.close(id) else { return };
        if let (DroppedPlanOrder::Forget, PlanOrder::Hook { when, index, .. }) = (then, &open.order) {
            return self.hook_ended(*when, *index, None, "");
        }
        if !matches!(open.order, PlanOrder::Drop { .. }) {
            self.forget_work(&open);
        }
    }

    fn node_ended(&mut self, id: &NodeId, end: &NodeEnd) {
        let began = self.node(id).is_some_and(|node| node.share_micros > 0 && (node.resume || node.run.is_some()));
        let cut_off = self.node_mut(id).and_then(|node| node.cut_off.take());
        if let Some(known_micros) = cut_off.and_then(|cut_off| cut_off.cost_micros) {
            self.settle_money(id, known_micros);
        } else if began {
            self.settle_worst_case(id);
        } else {
            let counted = self.node(id).map_or(0, |node| node.counted_micros);
            self.settle_money(id, counted);
        }
        if end.is_failure() && self.first_failed.is_none() {
            self.first_failed = Some(id.clone());
        }
        self.list.read = None;
        self.list.recorded = false;
        let Some(node) = self.node_mut(id) else { return };
        node.stage = NodeStage::Ended(end.clone());
        node.trouble = None;
        let merged = node.merging.take();
        if *end == NodeEnd::Merged {
            self.tree = merged.or_else(|| self.tree.take());
        }
    }

    /// The plan was opened again: every node is what was decided.
    fn carried_over(&mut self, carried: &CarryOver) {
        self.carry_due = false;
        let draft = self.draft.take().filter(|_| carried.new_spec);
        let mut old = std::mem::take(&mut self.nodes);
        for (index, one) in carried.nodes.iter().enumerate() {
            let before = old.iter().position(|node| node.id() == &one.node).map(|at| old.remove(at));
            let spec = draft.as_ref().and_then(|draft| draft.nodes.get(index)).map(|spec| Arc::new(spec.clone()));
            let Some(spec) = spec.or_else(|| before.as_ref().map(|node| Arc::clone(&node.spec))) else { continue };
            let mut node = before.unwrap_or_else(|| NodeState::new(Arc::clone(&spec)));
            node.spec = spec;
            node.conflicts = 0;
            node.kills = 0;
            self.nodes.push(node);
            self.carry_node(&one.node, one.then);
        }
        for node in old {
            let orphan = |attempt: &u32| OrphanCopy { node: node.id().clone(), attempt: *attempt };
            self.orphans.extend(node.copies.iter().map(orphan));
            self.nodes.push(node.clone());
            self.settle_worst_case(node.id());
            self.nodes.pop();
        }
        if let (Some(draft), Some(spec)) = (draft, &self.spec) {
            let mut new = (*draft).clone();
            new.nodes = Vec::new();
            new.id = spec.id.clone();
            new.workspace = spec.workspace.clone();
            new.store = spec.store.clone();
            new.backend = spec.backend.clone();
            self.spec = Some(Arc::new(new));
        }
        if carried.reset_tree {
            self.tree = self.initial.clone();
        }
        if carried.keeps_end {
            return;
        }
        self.ends = None;
        self.trouble = None;
        self.first_failed = None;
        self.hooks.clear();
        self.applying.conflict = None;
        self.applying.gates = None;
        if carried.new_spec || carried.nodes.iter().any(|one| one.then != CarriedTo::Kept) {
            self.applying = Applying::default();
        }
        if self.applying.report.is_none() {
            self.ranking = None;
            self.chosen = None;
        }
    }

    fn carry_node(&mut self, id: &NodeId, then: CarriedTo) {
        if then == CarriedTo::Again {
            self.settle_worst_case(id);
        }
        let Some(node) = self.node_mut(id) else { return };
        match then {
            CarriedTo::Kept => {}
            CarriedTo::Ran => {
                node.stage = NodeStage::Ran;
                node.merging = None;
                node.gates = None;
                node.conflict = None;
                node.measure = None;
            }
            CarriedTo::Resumed => {
                node.stage = if node.item.reopens() { NodeStage::Checking } else { NodeStage::Waiting };
                node.resume = true;
            }
            CarriedTo::Again => {
                let mut fresh = NodeState::new(Arc::clone(&node.spec));
                fresh.attempt = node.attempt;
                fresh.cost_micros = node.cost_micros;
                fresh.copies = std::mem::take(&mut node.copies);
                *node = fresh;
            }
        }
    }
}

impl NodeState {
    /// A start: for a question, of a new attempt, or of a run that is resumed.
    fn starts(&mut self, resume: bool, share_micros: u64, now: At) {
        self.share_micros = share_micros;
        self.since = now;
        self.trouble = None;
        self.stage = match (self.spec.is_ask(), resume) {
            (true, _) => NodeStage::Asking,
            (false, true) => NodeStage::Running,
            (false, false) => NodeStage::Copying,
        };
    }

    /// A new attempt begins, with a new copy and a new run.
    fn begins(&mut self, attempt: u32, purpose: RunPurpose, base: Option<String>, tree: &str) {
        self.attempt = attempt;
        self.purpose = purpose;
        self.base = if purpose == RunPurpose::Resolve { self.conflict_base.clone() } else { base };
        self.start = (!tree.is_empty()).then(|| tree.to_owned());
        self.copy = None;
        self.run = None;
        self.resume = false;
        self.cut_off = None;
        self.kills = 0;
        self.result = None;
        self.progress = None;
        self.measure = None;
        self.counted_micros = 0;
        self.merging = None;
        self.gates = None;
        self.answer = None;
        self.item.begins_again();
    }
}
