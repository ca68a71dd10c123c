//! A model of the world around a plan: copies, runs, trees, money. It shares no code with the machine.
//!
//! A tree is a set of marks. A run adds its mark to the tree that its copy was made of; a merge adds and removes what
//! the node added and removed.
use std::collections::{BTreeMap, BTreeSet};

use loop_core::changes::Changes;
use loop_core::ended::Ended;
use loop_core::ids::{OrderId, RunId};
use loop_core::plan::*;
use loop_core::policy::gate::Verdict;
use loop_core::run::{Outcome, Reason, ReasonCode};

use crate::world::Seed;

/// A run that was begun, whatever the plan believes.
#[derive(Debug, Clone)]
pub(crate) struct WorldRun {
    /// What it began with.
    tree: String,
    cost: u64,
    limit: Option<u64>,
    /// How it ended, once it has.
    ended: Option<RunDigest>,
    /// Its mark.
    mark: String,
}

/// What is there, whatever the plan believes.
#[derive(Debug, Default)]
pub(crate) struct PlanWorld {
    /// A person asked for a branch also where it does not pass.
    pub(crate) anyway: bool,
    pub(crate) open: BTreeMap<OrderId, PlanOrder>,
    pub(crate) asked_to_end: BTreeSet<OrderId>,
    pub(crate) killed: BTreeSet<OrderId>,
    /// Copies by node and attempt, with their trees.
    pub(crate) copies: BTreeMap<(String, u32), String>,
    /// Copies that a power cut may have left without a trace in the journal.
    pub(crate) lost_copies: BTreeSet<(String, u32)>,
    pub(crate) runs: BTreeMap<(String, u32), WorldRun>,
    pub(crate) initial: Option<String>,
    /// What the workspace has from the plan.
    pub(crate) applied: Option<String>,
    /// What the gates in the workspace said after that.
    pub(crate) passes_here: Option<bool>,
    pub(crate) complete_hooks: BTreeSet<u32>,
    /// The plan as it is meant to be now.
    pub(crate) spec: Option<PlanSpec>,
    /// Questions to which a person said yes.
    pub(crate) said: BTreeSet<String>,
    /// Somebody picked a branch.
    pub(crate) picked: bool,
}

pub(crate) fn marks(tree: &str) -> BTreeSet<&str> {
    tree.split(' ').filter(|mark| !mark.is_empty() && *mark != "t").collect()
}

fn tree_of(marks: &BTreeSet<&str>) -> String {
    let all: Vec<&str> = std::iter::once("t").chain(marks.iter().copied()).collect();
    all.join(" ")
}

fn merged(base: &str, ours: &str, theirs: &str) -> String {
    let (base, ours, theirs) = (marks(base), marks(ours), marks(theirs));
    let added = theirs.difference(&base);
    let removed: BTreeSet<&str> = base.difference(&theirs).copied().collect();
    tree_of(&ours.difference(&removed).chain(added).copied().collect())
}

impl PlanWorld {
    fn node(&self, id: &NodeId) -> Result<&NodeSpec, String> {
        let nodes = self.spec.iter().flat_map(|spec| &spec.nodes);
        nodes.into_iter().find(|node| node.id == *id).ok_or_else(|| format!("{id} is not in the plan"))
    }

    fn spec(&self) -> &PlanSpec {
        self.spec.as_ref().unwrap()
    }

    fn is_best(&self) -> bool {
        self.spec().selection().is_some()
    }

    /// The mark that a node leaves: with its key, so that a result of another key is seen.
    fn mark(node: &NodeSpec, attempt: u32) -> String {
        format!("{}@{}#{attempt}", node.id, node.key)
    }

    /// Whether a tree has the result of a node as it is now.
    fn has(tree: &str, node: &NodeSpec) -> bool {
        let begin = format!("{}@{}#", node.id, node.key);
        marks(tree).iter().any(|mark| mark.starts_with(&begin))
    }

    /// The executor begins an order.
    pub(crate) fn begin(&mut self, id: OrderId, order: &PlanOrder) -> Result<(), String> {
        if self.open.values().any(|open| open == order) {
            return Err(format!("twice open: {order:?}"));
        }
        let same_node = |open: &&PlanOrder| {
            !open.is_side() && !order.is_side() && open.node().is_some() && open.node() == order.node()
        };
        if let Some(open) = self.open.values().find(same_node) {
            return Err(format!("a node has two works: {open:?} and {order:?}"));
        }
        match order {
            PlanOrder::Copy { node, attempt, tree } => self.begin_copy(node, *attempt, tree)?,
            PlanOrder::Run { .. } => self.begin_run(order)?,
            PlanOrder::Apply { tree, .. } => self.begin_apply(tree)?,
            PlanOrder::Merge { node, base, theirs, attempt, .. } => {
                let run = self.runs.get(&(node.to_string(), *attempt)).ok_or("a merge without a run")?;
                let result = run.ended.as_ref().filter(|digest| digest.passes()).ok_or("a merge of no pass")?;
                if result.tree.as_ref() != Some(theirs) || (run.tree != *base && !run.tree.contains("marked")) {
                    return Err(format!("a merge of other trees than those of the run: {order:?} {run:?}"));
                }
            }
            PlanOrder::Hook { when: HookWhen::Complete, index, .. } => {
                if self.passes_here != Some(true) {
                    return Err("on_complete without a pass in the workspace".to_owned());
                }
                if !self.complete_hooks.insert(*index) {
                    return Err("a hook was run twice".to_owned());
                }
                let first: Vec<u32> = self.complete_hooks.iter().copied().collect();
                if !first.iter().copied().eq(0..) && first != (0..first.len() as u32).collect::<Vec<_>>() {
                    return Err("hooks are not run in their order".to_owned());
                }
            }
            PlanOrder::Drop { node, attempt } => {
                let key = (node.to_string(), *attempt);
                let used = self.open.values().any(|open| {
                    matches!(open, PlanOrder::Run { node: other, attempt: number, .. }
                        | PlanOrder::Measure { node: other, attempt: number, .. } if other == node && number == attempt)
                });
                if used {
                    return Err("a copy is removed while it is used".to_owned());
                }
                self.copies.remove(&key);
            }
            PlanOrder::Record { .. }
            | PlanOrder::Tell { .. }
            | PlanOrder::Measure { .. }
            | PlanOrder::Gates { .. }
            | PlanOrder::Hook { .. }
            | PlanOrder::Notify { .. }
            | PlanOrder::Ask(_) => {}
            PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. } => return Err(format!("an order for a list: {order:?}")),
            PlanOrder::RollBack { .. } => {
                if !self.open.is_empty() {
                    return Err(format!("a rollback beside other work: {:?}", self.open));
                }
            }
        }
        self.open.insert(id, order.clone());
        let works = |open: &&PlanOrder| matches!(open, PlanOrder::Run { .. } | PlanOrder::Copy { .. });
        let at_work = self.open.values().filter(works).count();
        if at_work > self.spec().parallel as usize {
            return Err(format!("{at_work} at work, more than {}", self.spec().parallel));
        }
        self.check_money()
    }

    fn begin_copy(&mut self, id: &NodeId, attempt: u32, tree: &str) -> Result<(), String> {
        let node = self.node(id)?.clone();
        if !tree.contains("marked") {
            for wanted in &node.depends_on {
                let wanted = self.node(wanted)?;
                if wanted.loop_work().is_some() && !Self::has(tree, wanted) {
                    return Err(format!("{id} starts without the result of {}: {tree}", wanted.id));
                }
            }
        }
        for wanted in &node.depends_on {
            if self.node(wanted)?.is_ask() && !self.said.contains(wanted.as_str()) {
                return Err(format!("{id} starts without the answer to {wanted}"));
            }
        }
        if self.runs.contains_key(&(id.to_string(), attempt)) {
            return Err(format!("a copy is made over one that has a run: {id} {attempt}"));
        }
        let touches = |open: &PlanOrder| {
            let at_work = matches!(open, PlanOrder::Run { .. } | PlanOrder::Copy { .. });
            let id = open.node().filter(|_| at_work)?;
            self.node(id).ok().map(|node| node.touches.clone())
        };
        let busy: Vec<String> = self.open.values().filter_map(touches).flatten().collect();
        if node.touches.iter().any(|glob| busy.contains(glob)) {
            return Err(format!("{id} writes what another one at work writes"));
        }
        self.copies.insert((id.to_string(), attempt), tree.to_owned());
        Ok(())
    }

    fn begin_run(&mut self, order: &PlanOrder) -> Result<(), String> {
        let PlanOrder::Run { node, attempt, purpose, resume, limit_micros, gates, .. } = order else { return Ok(()) };
        let key = (node.to_string(), *attempt);
        let copy = self.copies.get(&key).cloned().ok_or_else(|| format!("a run without its copy: {key:?}"))?;
        let resolves = *purpose == RunPurpose::Resolve;
        if resolves != copy.contains("marked") || resolves != gates.contains(node) {
            return Err(format!("a conflict and the run for it do not fit: {order:?} in {copy}"));
        }
        let mark = Self::mark(self.node(node)?, *attempt);
        match self.runs.get_mut(&key) {
            Some(_) if !resume => return Err(format!("a run is paid twice: {key:?}")),
            Some(run) => {
                // A run that ended is not continued, but one that a person stopped, or whose share was used up.
                if run.ended.as_ref().is_some_and(|digest| digest.outcome == Outcome::Stopped || digest.share_used_up) {
                    run.ended = None;
                }
                run.limit = *limit_micros;
            }
            None => {
                let run = WorldRun { tree: copy, cost: 0, limit: *limit_micros, ended: None, mark };
                self.runs.insert(key, run);
            }
        }
        Ok(())
    }

    fn begin_apply(&mut self, tree: &str) -> Result<(), String> {
        if self.is_best() {
            let is_result = |run: &WorldRun| {
                run.ended
                    .as_ref()
                    .is_some_and(|digest| (digest.passes() || self.anyway) && digest.tree.as_deref() == Some(tree))
            };
            return if self.runs.values().any(is_result) {
                Ok(())
            } else {
                Err("what is applied did not pass".to_owned())
            };
        }
        let loops: Vec<&NodeSpec> = self.spec().nodes.iter().filter(|node| node.loop_work().is_some()).collect();
        if let Some(node) = loops.iter().find(|node| !Self::has(tree, node)) {
            return Err(format!("what is applied is without {}: {tree}", node.id));
        }
        let known = |mark: &&str| loops.iter().any(|node| mark.starts_with(&format!("{}@{}#", node.id, node.key)));
        match marks(tree).iter().find(|mark| !known(mark)) {
            Some(mark) => Err(format!("what is applied has {mark}, which is not in the plan any more")),
            None => Ok(()),
        }
    }

    fn check_money(&self) -> Result<(), String> {
        let Some(most) = self.spec().budget_micros else { return Ok(()) };
        let at_work = |key: &(String, u32)| {
            self.open.values().any(
                |open| matches!(open, PlanOrder::Run { node, attempt, .. } if (node.to_string(), *attempt) == *key),
            )
        };
        let sum: u64 = self
            .runs
            .iter()
            .map(|(key, run)| if at_work(key) { run.limit.unwrap_or(u64::MAX / 2) } else { run.cost })
            .fold(0, u64::saturating_add);
        if sum > most { Err(format!("{sum} may be spent, more than {most}")) } else { Ok(()) }
    }

    /// The executor is asked to end an order.
    pub(crate) fn end(&mut self, id: OrderId, at_once: bool) -> Result<(), String> {
        if !self.open.contains_key(&id) {
            return Err(format!("{id:?} is to end, and is not open"));
        }
        let again = if at_once { !self.killed.insert(id) } else { !self.asked_to_end.insert(id) };
        if again { Err(format!("{id:?} is ended twice")) } else { Ok(()) }
    }

    /// All processes are gone; what they wrote is there. A power cut may have cost the plan the memory of a copy.
    pub(crate) fn crash(&mut self, power: bool) {
        if power {
            self.lost_copies.extend(self.copies.keys().cloned());
        }
        self.open.clear();
        self.asked_to_end.clear();
        self.killed.clear();
    }

    /// What comes of an order. It may have been asked to end.
    pub(crate) fn answer(&mut self, id: OrderId, seed: &mut Seed) -> PlanAnswer {
        let order = self.open.remove(&id).unwrap();
        let ending = self.asked_to_end.remove(&id) | self.killed.remove(&id);
        let at_once = ending && seed.one_in(2);
        if seed.one_in(60) && !matches!(order, PlanOrder::Apply { .. }) {
            return PlanAnswer::Failed { why: "no space left".to_owned() };
        }
        match &order {
            PlanOrder::Run { node, attempt, .. } => self.run_answer(node, *attempt, ending, seed),
            PlanOrder::Drop { .. } | PlanOrder::Tell { .. } | PlanOrder::Notify { .. } => PlanAnswer::Done,
            PlanOrder::RollBack { to, undo } => PlanAnswer::RolledBack(PlanRolledBack {
                to: to.clone(),
                undo: undo.clone(),
                ..PlanRolledBack::default()
            }),
            PlanOrder::Apply { base, tree, .. } => self.apply_answer(base, tree, seed),
            _ if at_once => PlanAnswer::Cancelled,
            PlanOrder::Record { .. } => {
                let tree = self.initial.get_or_insert_with(|| "t".to_owned()).clone();
                PlanAnswer::Recorded { tree }
            }
            PlanOrder::Copy { .. } => {
                let path = "/copies/1".to_owned();
                PlanAnswer::Copied(CopyReport { path, method: "files".to_owned(), remarks: Vec::new() })
            }
            PlanOrder::Measure { .. } => PlanAnswer::Measured(MeasureReport {
                metric_trouble: None,
                changed: Changes { files: 1, insertions: seed.below(9), deletions: 0 },
                metric_micros: seed.one_in(2).then(|| seed.below(5) as i64),
                coverage: None,
            }),
            PlanOrder::Merge { base, ours, theirs, .. } => {
                if base != ours && seed.one_in(3) {
                    let marked = seed.one_in(2).then(|| format!("{} marked", merged(base, ours, theirs)));
                    return PlanAnswer::Conflicts(conflict(marked));
                }
                PlanAnswer::Merged { tree: merged(base, ours, theirs) }
            }
            PlanOrder::Gates { place, nodes, .. } => {
                let pass = nodes.is_empty() || !seed.one_in(6);
                if *place == GatesPlace::Workspace {
                    self.passes_here = Some(pass);
                }
                PlanAnswer::Gates(gates(pass, nodes))
            }
            PlanOrder::Hook { .. } => {
                PlanAnswer::HookEnded { ended: Ended::Exit(seed.below(2) as i32), says: String::new() }
            }
            PlanOrder::Ask(PlanQuestion::Pick) => self.pick(seed),
            PlanOrder::ReadList { .. }
            | PlanOrder::Check { .. }
            | PlanOrder::RecordLoop { .. }
            | PlanOrder::RecordPass { .. } => PlanAnswer::Failed { why: "this is no list".to_owned() },
            PlanOrder::Ask(PlanQuestion::Node(_)) => {
                PlanAnswer::Said { text: "yes".to_owned(), proceed: !seed.one_in(4) }
            }
        }
    }

    fn pick(&mut self, seed: &mut Seed) -> PlanAnswer {
        let nodes = &self.spec().nodes;
        let node = nodes[seed.below(nodes.len() as u64) as usize].id.clone();
        self.picked = true;
        PlanAnswer::Picked { node }
    }

    fn apply_answer(&mut self, base: &str, tree: &str, seed: &mut Seed) -> PlanAnswer {
        if self.applied.is_none() && seed.one_in(5) {
            return PlanAnswer::Conflicts(conflict(None));
        }
        let now = self.applied.clone().unwrap_or_else(|| base.to_owned());
        let tree = merged(base, &now, tree);
        self.applied = Some(tree.clone());
        self.passes_here = None;
        PlanAnswer::Applied(ApplyReport { files: 2, undo: "before-apply".to_owned(), tree })
    }

    fn run_answer(&mut self, id: &NodeId, attempt: u32, ending: bool, seed: &mut Seed) -> PlanAnswer {
        let run = self.runs.get_mut(&(id.to_string(), attempt)).unwrap();
        if let Some(digest) = &run.ended {
            return PlanAnswer::RunEnded(Box::new(digest.clone()));
        }
        if run.cost == 0 && seed.one_in(20) {
            // Refused, or killed, before there was a run.
            return PlanAnswer::RunCutOff(RunCutOff { run: None, ..cut_off(seed.one_in(2), Some(0)) });
        }
        let left = run.limit.unwrap_or(1000).saturating_sub(run.cost);
        run.cost += seed.below(left + 1);
        if seed.one_in(10) {
            // Its process is gone, and its journal has no end. Where an agent was at work, its cost is not known.
            let cost = seed.one_in(2).then_some(run.cost);
            return PlanAnswer::RunCutOff(cut_off(!seed.one_in(4), cost));
        }
        let outcome = match seed.below(8) {
            _ if ending && seed.one_in(2) => Outcome::Stopped,
            0 => Outcome::Exhausted,
            1 => Outcome::PassedBut,
            2 if seed.one_in(3) => Outcome::Unable,
            3 if seed.one_in(4) => Outcome::Stopped,
            _ => Outcome::Verified,
        };
        if ending && seed.one_in(4) {
            return PlanAnswer::Cancelled;
        }
        let mut all = marks(&run.tree);
        all.remove("marked");
        all.insert(&run.mark);
        let share_used_up = outcome == Outcome::Exhausted && run.limit.is_some() && seed.one_in(2);
        let digest = RunDigest { tree: Some(tree_of(&all)), share_used_up, ..digest(outcome, run.cost) };
        run.ended = Some(digest.clone());
        PlanAnswer::RunEnded(Box::new(digest))
    }

    /// Whether a run of the plan passed, whatever became of it.
    pub(crate) fn something_passed(&self) -> bool {
        self.runs.values().any(|run| run.ended.as_ref().is_some_and(RunDigest::passes))
    }

    /// Whether a node ever had a run.
    pub(crate) fn has_run(&self, id: &NodeId) -> bool {
        self.runs.keys().any(|(node, _)| node == id.as_str())
    }

    pub(crate) fn cost(&self) -> u64 {
        self.runs.values().map(|run| run.cost).sum()
    }
}

pub(crate) fn conflict(marked: Option<String>) -> ConflictReport {
    let paths = vec!["a.rs".to_owned()];
    ConflictReport { count: 1, paths, ours: "ours".to_owned(), theirs: "theirs".to_owned(), marked }
}

pub(crate) fn gates(pass: bool, nodes: &[NodeId]) -> GatesReport {
    let failed = |node: &NodeId| FailedGate {
        node: node.clone(),
        gate: "test".to_owned(),
        verdict: Verdict::Fail,
        says: "1 failed".to_owned(),
    };
    let first: Vec<FailedGate> = nodes.first().filter(|_| !pass).map(failed).into_iter().collect();
    // Without any gate nothing fails.
    let pass = first.is_empty();
    GatesReport { passed: 1, not_passed: u32::from(!pass), first }
}

/// A run whose process has ended before it did.
pub(crate) fn cut_off(killed: bool, cost_micros: Option<u64>) -> RunCutOff {
    RunCutOff { run: RunId::parse("r1").ok(), cost_micros, killed, why: "no space left".to_owned() }
}

/// A run that ended so, and cost this.
pub(crate) fn digest(outcome: Outcome, cost_micros: u64) -> RunDigest {
    let code = if outcome == Outcome::Verified { ReasonCode::GoalComplete } else { ReasonCode::IterationLimit };
    let passes = outcome == Outcome::Verified;
    RunDigest {
        run: RunId::parse("r1").unwrap(),
        outcome,
        reason: Reason { code, text: if passes { "the promise passes" } else { "the promise fails" }.to_owned() },
        exit_code: u8::from(!passes),
        iterations: 2,
        cost_micros,
        cost_unknown: false,
        elapsed_ms: 1000,
        tokens: 0,
        checkpoint: Some("iter-002".to_owned()),
        tree: Some("t".to_owned()),
        rank: loop_core::policy::rank::Rank::default(),
        gates_passed: passes,
        clean_copy: passes,
        watched_passed: 0,
        watched_failed: 0,
        regressions: 0,
        tampered: false,
        weaker: 0,
        strength: None,
        changed: Changes { files: 1, insertions: 3, deletions: 1 },
        share_used_up: false,
    }
}
