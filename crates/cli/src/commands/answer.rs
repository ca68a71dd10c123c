//! `loop answer`: the answer of a person to a question of a workflow.
use clap::Args;
use loop_core::control::Ask;
use loop_core::plan::{NodeId, PlanRequest, PlanState};
use loop_core::refusal::Refusal;
use loop_host::plan::{read_plan, reopen_plan};
use loop_host::run_folder::RunFolder;

use super::plan::PlanAsk;
use super::{best_of, plan};
use crate::context::{Context, Done, read_error};
use crate::render::error::{CommandError, Kind};

/// Answer a question of a workflow (ask:), so that what waits for it starts
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The plan: its id, any beginning of it that fits one plan only, or @ for the newest of this folder
    #[arg(value_name = "PLAN")]
    plan: String,
    /// The question: the id that it has in the file
    #[arg(value_name = "ID")]
    node: String,
    /// Your answer; `no` alone means that what depends on it does not start
    #[arg(value_name = "TEXT", required = true, num_args = 1..)]
    text: Vec<String>,
    /// What depends on it does not start, whatever the answer says
    #[arg(long)]
    refuse: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &AnswerArgs) -> Done {
    let folder = context.find_plan_or_here(&args.plan)?;
    let state = read_plan(&folder).map_err(|error| read_error(&error))?;
    let text = args.text.join(" ");
    if text.trim().is_empty() {
        return Err(CommandError::new(Kind::Wrong, "the answer is empty")
            .because("what depends on the question gets its words")
            .hint(format!("loop answer {} {} yes", folder.id, args.node)));
    }
    let request = checked(&folder, &state, &args.node, &text, args.refuse)?;
    if folder.holder().is_some() {
        let PlanRequest::Answer { node, text, proceed } = request else { return Ok(4) };
        let what = Ask::Answer { node: node.to_string(), text, proceed };
        let said = match proceed {
            true => format!("the answer to {node} is taken"),
            false => format!("the answer to {node} is taken: what depends on it does not start"),
        };
        return plan::tell(context, &folder, PlanAsk { what, by: "loop answer", said: &said }, args.json);
    }
    let ready = reopen_plan(&context.home, folder, "loop answer", Some(request), &mut context.person())?;
    best_of::drive(context, ready, args.json)
}

/// The request, where it makes sense now: nothing is sent and nothing is opened before.
fn checked(
    folder: &RunFolder,
    state: &PlanState,
    node: &str,
    text: &str,
    refuse: bool,
) -> Result<PlanRequest, CommandError> {
    let id = &folder.id;
    let refused = |refusal: Refusal| {
        CommandError::new(Kind::Wrong, format!("plan {id} does not wait for an answer to {node}"))
            .because(refusal.why)
            .hint(format!("{}; see loop status {id}", refusal.hint))
    };
    let mut request = PlanRequest::answer(NodeId::parse(node).map_err(refused)?, text);
    if let PlanRequest::Answer { proceed, .. } = &mut request {
        *proceed = *proceed && !refuse;
    }
    state.check_request(&request).map_err(refused)?;
    Ok(request)
}
