//! The plans of this state folder, as lists show them.
use loop_core::view::PlanView;
use loop_host::clock;
use loop_host::plan::read_plan;
use loop_host::run_folder::{self, RunFolder};

use crate::context::Context;

/// All plans that can be read, the newest first.
pub(crate) fn views(context: &Context) -> Vec<(RunFolder, PlanView)> {
    let folders = run_folder::all_in(&context.home.plans()).unwrap_or_default();
    let view = |folder: RunFolder| {
        let state = read_plan(&folder).ok()?;
        let view = PlanView::of(&state, folder.holder().is_some(), clock::now())?;
        Some((folder, view))
    };
    let mut plans: Vec<(RunFolder, PlanView)> = folders.into_iter().filter_map(view).collect();
    plans.sort_by(|(_, one), (_, other)| other.started_at.cmp(&one.started_at));
    plans
}
