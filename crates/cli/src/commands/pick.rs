//! `loop pick`: apply a branch of a plan.
use clap::Args;
use loop_core::control::Ask;
use loop_core::plan::{NodeId, PlanReasonCode, PlanRequest, PlanState};
use loop_core::refusal::Refusal;
use loop_host::plan::reopen_plan;
use loop_host::run_folder::RunFolder;

use super::plan::PlanAsk;
use super::{best_of, plan};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};

/// Apply a branch of a plan to the workspace
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// The plan: its id, or any beginning of it that fits one plan only
    #[arg(value_name = "PLAN")]
    plan: String,
    /// The branch, as the table of the plan names it
    #[arg(value_name = "BRANCH")]
    branch: String,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &PickArgs) -> Done {
    let folder = context.find_plan(&args.plan)?;
    let state = loop_host::plan::read_plan(&folder).map_err(|error| crate::context::read_error(&error))?;
    let request = checked(&folder, &state, &args.branch)?;
    if folder.holder().is_some() {
        let what = Ask::Pick { branch: args.branch.clone() };
        let said = format!("the pick of branch {} is taken; it is applied when the plan gets there", args.branch);
        return plan::tell(context, &folder, PlanAsk { what, by: "loop pick", said: &said }, args.json);
    }
    let mut person = context.person();
    let ready = reopen_plan(&context.home, folder, "loop pick", Some(request), &mut person)?;
    best_of::drive(context, ready, args.json)
}

/// The request, where it makes sense now: nothing is sent and nothing is opened before.
fn checked(folder: &RunFolder, state: &PlanState, branch: &str) -> Result<PlanRequest, CommandError> {
    let id = &folder.id;
    let unknown = |refusal: Refusal| {
        let names: Vec<&str> = state.nodes.iter().map(|node| node.id().as_str()).collect();
        CommandError::new(Kind::Wrong, format!("plan {id} has no branch {branch}"))
            .because(refusal.why)
            .hint(format!("one of: {}; see loop status {id}", names.join(", ")))
    };
    let request = PlanRequest::Pick { node: NodeId::parse(branch).map_err(unknown)? };
    let fits = state.check_request(&request);
    if let Some(over) = state.over.as_ref().filter(|over| over.reason.code != PlanReasonCode::AwaitsPick) {
        let why = fits.err().map_or_else(|| format!("it has ended: {}", over.reason.text), |refusal| refusal.why);
        return Err(CommandError::new(Kind::Wrong, format!("plan {id} waits for no pick"))
            .because(why)
            .hint(format!("loop status {id}")));
    }
    match fits {
        Ok(()) => Ok(request),
        Err(refusal) => Err(CommandError::new(Kind::Wrong, format!("plan {id} cannot apply branch {branch}"))
            .because(refusal.why)
            .hint(format!("{}; see loop status {id}", refusal.hint))),
    }
}
