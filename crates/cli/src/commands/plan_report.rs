//! `loop report PLAN`: a plan as a page to read, by the same fold as `loop history PLAN`.
use std::path::PathBuf;

use loop_host::paths::path_of;
use loop_host::run_folder::RunFolder;

use super::plan_history;
use crate::context::Context;
use crate::render::error::CommandError;
use crate::render::page::Block;
use crate::render::plan_report as show;

/// A longer patch is left out: it is read better by `loop diff`.
const PATCH_BYTES_MAX: usize = 256 * 1024;

/// A plan that was read.
pub(super) struct PlanPage {
    /// The answer for programs.
    pub(super) json: String,
    pub(super) blocks: Vec<Block>,
    pub(super) workspace: PathBuf,
}

pub(super) fn read(context: &Context, folder: &RunFolder, with_diff: bool) -> Result<PlanPage, CommandError> {
    let history = plan_history::read(folder)?;
    let patch = with_diff.then(|| plan_history::patch(context, folder, PATCH_BYTES_MAX)).flatten();
    Ok(PlanPage {
        json: serde_json::to_string_pretty(&history).unwrap_or_default() + "\n",
        workspace: path_of(&history.plan.workspace),
        blocks: show::of_plan(&history, patch),
    })
}
