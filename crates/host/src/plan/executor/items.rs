//! Orders about the items of a list.
use std::io;

use loop_core::ids::OrderId;
use loop_core::plan::{NodeId, PlanEvent, PlanOrder, PlanState};
use loop_core::settings::Values;

use super::super::child::ChildWork;
use super::super::folder::copy_name;
use super::super::list::{ItemCheckRequest, ItemLaunch, ItemPlaces, RecordRequest};
use super::super::open_child::OpenWork;
use super::super::worker::TreeJob;
use super::{NewChild, PlanExecutor, ThenProcess};
use crate::launch::LaunchRequest;

impl PlanExecutor {
    /// What the run of an item begins with; none in other plans.
    pub(super) fn item_launch(
        &self,
        node: &NodeId,
        attempt: u32,
        state: &PlanState,
        request: &LaunchRequest,
    ) -> io::Result<Option<ItemLaunch>> {
        if state.spec.as_ref().is_none_or(|spec| spec.list().is_none()) {
            return Ok(None);
        }
        let plan = request.plan.as_ref().ok_or_else(|| io::Error::other("the request of an item has no settings"))?;
        let copy = self.copy_path(&copy_name(node, attempt));
        let values = Values::of(&plan.settings);
        let places = ItemPlaces { home: &self.home, plan: &self.plan.path, copy: &copy };
        ItemLaunch::new(&places, state, node, &values).map(Some)
    }

    /// The checks of an item, in its copy.
    pub(super) fn check(&mut self, id: OrderId, order: &PlanOrder, state: &PlanState) -> io::Result<Option<PlanEvent>> {
        let PlanOrder::Check { node, attempt, number } = order else {
            return Err(io::Error::other("a bug of loop: this is not an order for checks"));
        };
        let missing = || io::Error::other(format!("{node} has no run to check"));
        let list = state.spec.as_ref().and_then(|spec| spec.list()).ok_or_else(missing)?;
        let known = state.node(node).ok_or_else(missing)?;
        let (item, run) = known.spec.item.clone().zip(known.result.clone()).ok_or_else(missing)?;
        let plan = self.request(node, state)?.plan.ok_or_else(missing)?;
        let copy = copy_name(node, *attempt);
        let request = Box::new(ItemCheckRequest {
            mark: self.mark(id),
            plan: self.plan.path.clone(),
            workspace: self.context.workspace.clone(),
            copy: self.copy_path(&copy),
            run: run.run.clone(),
            list: list.clone(),
            item,
            node: node.clone(),
            attempt: *attempt,
            number: run.iterations,
            check: *number,
            settings: plan.settings,
        });
        if self.made.contains(&copy) && self.copy_path(&copy).is_dir() {
            return self.start_check(id, &copy, request).map(Some);
        }
        self.then.push((id, ThenProcess::Check { copy: copy.clone(), request }));
        self.worker.begin(id, TreeJob::Ready { copy }, Vec::new());
        Ok(None)
    }

    pub(super) fn start_check(
        &mut self,
        id: OrderId,
        copy: &str,
        request: Box<ItemCheckRequest>,
    ) -> io::Result<PlanEvent> {
        let folder = self.copy_path(copy);
        let child = NewChild { work: ChildWork::Check(request), log: "checks", copy: Some(&folder) };
        self.start(id, child, OpenWork::Checks)
    }

    /// What an item came to, as a job.
    pub(super) fn record_item(&self, node: &NodeId, state: &PlanState, passed: bool) -> io::Result<TreeJob> {
        let request = RecordRequest::new(&self.plan.path, &self.context.workspace, state, node, passed)?;
        Ok(TreeJob::RecordItem(Box::new(request)))
    }
}
