//! What orders of a plan need to know: how a run ended, whose gates count, whether a copy was changed.
use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use loop_core::ids::OrderId;
use loop_core::plan::{NodeEnd, NodeId, NodeState, OnConflict, PlanState, RunDigest};
use loop_core::run::{PlanRef, RunState};
use loop_core::text;

use super::super::child::{GatesOfNode, GatesRequest};
use super::super::list::{ItemPlaces, gates_of_item};
use super::super::resolve::GatesOf;
use super::super::result::{is_out_of_money, result_of};
use super::super::trees::PlanTrees;
use super::super::worker::MarkJob;
use super::PlanExecutor;
use crate::merge::Signs;

impl PlanExecutor {
    /// Why a run does not count: something changed its copy before its own protections began, such as the agent of another
    /// branch.
    pub(super) fn changed_before_start(&self, of: &PlanRef, run: &RunState) -> Option<String> {
        let copied = self.copied.get(&format!("{}-{}", of.node, of.attempt))?;
        let id = run.spec.as_ref()?.id.to_string();
        let begun = run.checkpoints.initial_tree().filter(|begun| *begun != copied)?;
        let compared = PlanTrees::open(&self.context).and_then(|trees| {
            let owners: Vec<String> = self.owners.iter().cloned().collect();
            let (from, to) = (trees.find(&owners, copied)?, trees.find(&[id], begun)?);
            trees.changed_between(&from, &to, &self.context.workspace)
        });
        match compared {
            Ok(path) => {
                path.map(|path| format!("{} was changed in its copy before it began", text::escape_path(&path)))
            }
            Err(error) => Some(format!("whether its copy was changed before it began is not known: {error}")),
        }
    }

    /// Where the files of trees with conflicts are named.
    pub(super) fn conflicts(&self) -> PathBuf {
        self.plan.path.join("conflicts")
    }

    /// The settings of these nodes, for their gates.
    pub(super) fn gates_of(&self, nodes: &[NodeId], state: &PlanState) -> io::Result<Vec<GatesOf>> {
        let one = |node: &NodeId| {
            let plan = self.request(node, state)?.plan;
            let settings = plan.ok_or_else(|| io::Error::other("the request of a node has no settings"))?.settings;
            let goal = state.node(node).and_then(|node| Some(node.spec.loop_work()?.goal.clone())).unwrap_or_default();
            Ok(GatesOf { node: node.to_string(), goal, settings })
        };
        nodes.iter().map(one).collect()
    }

    /// How a conflict of a node is written for an agent; none where its plan does not ask for one.
    pub(super) fn mark_job(&self, node: &NodeId, state: &PlanState) -> Option<MarkJob> {
        state.node(node).filter(|node| node.spec.on_conflict == OnConflict::Agent)?;
        let signs = Signs {
            ours: "merged before".to_owned(),
            theirs: node.to_string(),
            label: format!("conflict {}/{node}", self.plan.id),
        };
        Some(MarkJob { signs, folder: self.conflicts() })
    }

    /// How a run ended, with the tree that its checkpoint has.
    pub(super) fn digest(&mut self, state: &RunState, share_limits: bool) -> Option<RunDigest> {
        let mut digest = result_of(state)?;
        digest.share_used_up = share_limits && is_out_of_money(state);
        self.owners.insert(digest.run.to_string());
        if let (Some(name), Ok(trees)) = (&digest.checkpoint, PlanTrees::open(&self.context)) {
            digest.tree = trees.hash(&format!("{}/{name}", digest.run)).ok();
        }
        Some(digest)
    }

    /// The gates of these nodes, each by its own settings.
    pub(super) fn gates(
        &self,
        id: OrderId,
        copy: Option<&str>,
        nodes: &[NodeId],
        state: &PlanState,
    ) -> io::Result<GatesRequest> {
        let is_list = state.spec.as_ref().is_some_and(|spec| spec.list().is_some());
        let (mut of_nodes, mut seen) = (Vec::new(), BTreeSet::new());
        for node in nodes {
            let request = self.request(node, state)?;
            let plan = request.plan.ok_or_else(|| io::Error::other("the request of a node has no settings"))?;
            let run = state.node(node).and_then(|node| Some(node.result.as_ref()?.run.clone()));
            let settings = if is_list {
                let (plan_folder, copy) = (self.plan.path.as_path(), self.context.workspace.as_path());
                let places = ItemPlaces { home: &self.home, plan: plan_folder, copy };
                gates_of_item(&places, state, node, &plan.settings, &mut seen)?
            } else {
                plan.settings
            };
            of_nodes.push(GatesOfNode { node: node.to_string(), run, settings });
        }
        let is_in =
            |one: &&NodeState| nodes.contains(one.id()) || one.merging.is_some() || one.end() == Some(&NodeEnd::Merged);
        let merged = state.nodes.iter().filter(is_in);
        Ok(GatesRequest {
            mark: self.mark(id),
            folder: copy.map_or_else(|| self.context.workspace.clone(), |copy| self.copy_path(copy)),
            is_copy: copy.is_some(),
            nodes: of_nodes,
            merged: merged.filter_map(|node| Some(node.result.as_ref()?.run.clone())).collect(),
            outputs: self.plan.path.join("gates").join(format!("{:06}", id.0)),
        })
    }
}
