//! `loop pick`: apply a branch of a plan.
use std::io::{BufRead, IsTerminal};

use clap::Args;
use loop_core::control::Ask;
use loop_core::plan::{NodeEnd, NodeId, PlanEnding, PlanReasonCode, PlanRequest, PlanState};
use loop_core::refusal::Refusal;
use loop_host::plan::reopen_plan;
use loop_host::run_folder::RunFolder;

use super::plan::PlanAsk;
use super::{best_of, plan};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::plan::table;
use crate::render::plan_diffs;

/// Apply a branch of a plan to the workspace
#[derive(Debug, Args)]
pub(crate) struct PickArgs {
    /// The plan: its id, any beginning of it that fits one plan only, or @ for the newest of this folder
    #[arg(value_name = "PLAN")]
    plan: String,
    /// The branch, as the table of the plan names it [default: shows what each one changed, and asks]
    #[arg(value_name = "BRANCH")]
    branch: Option<String>,
    /// Also where it does not pass: what it left comes into the workspace, and nothing says that it is done
    #[arg(long, requires = "branch")]
    anyway: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &PickArgs) -> Done {
    let folder = context.find_plan_or_here(&args.plan)?;
    let state = loop_host::plan::read_plan(&folder).map_err(|error| crate::context::read_error(&error))?;
    if let (None, Some(over)) = (&args.branch, ended_otherwise(&state)) {
        return Err(CommandError::new(Kind::Wrong, format!("plan {} waits for no pick", folder.id))
            .because(format!("it has ended: {}", over.reason.text))
            .hint(format!("loop status {}", folder.id)));
    }
    let branch = match &args.branch {
        Some(branch) => branch.clone(),
        None => asked(context, &folder, &state)?,
    };
    let request = checked(&folder, &state, &branch, args.anyway)?;
    if folder.holder().is_some() {
        let said = format!("the pick of branch {branch} is taken; it is applied when the plan gets there");
        let what = Ask::Pick { branch };
        return plan::tell(context, &folder, PlanAsk { what, by: "loop pick", said: &said }, args.json);
    }
    let mut person = context.person();
    let ready = reopen_plan(&context.home, folder, "loop pick", Some(request), &mut person)?;
    best_of::drive(context, ready, args.json)
}

/// The end of a plan that does not wait for a pick.
fn ended_otherwise(state: &PlanState) -> Option<&PlanEnding> {
    state.over.as_ref().filter(|over| over.reason.code != PlanReasonCode::AwaitsPick)
}

/// Shows what each branch changed and the table with every column, and asks which one it is.
fn asked(context: &Context, folder: &RunFolder, state: &PlanState) -> Result<String, CommandError> {
    let id = &folder.id;
    let passing: Vec<&str> =
        state.nodes.iter().filter(|node| node.end() == Some(&NodeEnd::Passed)).map(|node| node.id().as_str()).collect();
    let missing = |why: &str| {
        let error = CommandError::new(Kind::Wrong, "the branch is missing").because(why.to_owned());
        match passing.first() {
            Some(first) => {
                error.hint(format!("these pass: {}; for example: loop pick {id} {first}", passing.join(", ")))
            }
            None => error.hint(format!("no branch has passed yet: loop status {id}")),
        }
    };
    if passing.is_empty() || state.ranking.is_none() {
        return Err(missing("there is nothing to choose from now"));
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(missing("there is no terminal to ask on"));
    }
    let printer = context.printer;
    printer.progress(&plan_diffs::of_passing(&context.home, state, printer));
    printer.progress(&format!(
        "\n{}which branch is applied? {}, or Enter for none: ",
        table(state),
        passing.join(", ")
    ));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    match line.trim() {
        "" => Err(CommandError::new(Kind::Wrong, "nothing was picked, and nothing changed")
            .because(read.err().map_or_else(|| "no branch was named".to_owned(), |error| error.to_string()))
            .hint(format!("loop pick {id} BRANCH"))),
        branch => Ok(branch.to_owned()),
    }
}

/// Whether a branch can be taken though it does not pass.
fn takes(state: &PlanState, branch: &str) -> bool {
    let request = NodeId::parse(branch).map(|node| PlanRequest::Pick { node, anyway: true });
    request.is_ok_and(|request| state.check_request(&request).is_ok())
}

/// The request, where it makes sense now: nothing is sent and nothing is opened before.
fn checked(folder: &RunFolder, state: &PlanState, branch: &str, anyway: bool) -> Result<PlanRequest, CommandError> {
    let id = &folder.id;
    let unknown = |refusal: Refusal| {
        let names: Vec<&str> = state.nodes.iter().map(|node| node.id().as_str()).collect();
        CommandError::new(Kind::Wrong, format!("plan {id} has no branch {branch}"))
            .because(refusal.why)
            .hint(format!("one of: {}; see loop status {id}", names.join(", ")))
    };
    let request = PlanRequest::Pick { node: NodeId::parse(branch).map_err(unknown)?, anyway };
    let fits = state.check_request(&request);
    if let Some(over) = ended_otherwise(state).filter(|_| !anyway) {
        let why = fits.err().map_or_else(|| format!("it has ended: {}", over.reason.text), |refusal| refusal.why);
        return Err(CommandError::new(Kind::Wrong, format!("plan {id} waits for no pick")).because(why).hint(
            match takes(state, branch) {
                true => format!("take it all the same: loop pick {id} {branch} --anyway"),
                false => format!("loop status {id}"),
            },
        ));
    }
    match fits {
        Ok(()) => Ok(request),
        Err(refusal) => Err(CommandError::new(Kind::Wrong, format!("plan {id} cannot apply branch {branch}"))
            .because(refusal.why)
            .hint(format!("{}; see loop status {id}", refusal.hint))),
    }
}
