//! The plans of this state folder, as lists show them.
use loop_core::plan::Plan;
use loop_core::view::PlanView;
use loop_host::index;
use loop_host::run_folder::RunFolder;

use crate::context::Context;

/// All plans that can be read, the newest first.
pub(crate) fn views(context: &Context) -> Vec<(RunFolder, PlanView)> {
    views_since(context, 0)
}

/// The same without those that were over before this moment.
pub(crate) fn views_since(context: &Context, since_ms: u64) -> Vec<(RunFolder, PlanView)> {
    let listed = index::list_of::<Plan>(&context.home, since_ms).unwrap_or_default();
    listed.into_iter().filter_map(|one| Some((one.run, one.row.ok()?))).collect()
}
