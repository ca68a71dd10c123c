//! `loop resume`: continue a run that was stopped, crashed or reached a limit.

use clap::Args;
use loop_core::control::Ask;
use loop_core::run::{Change, Order};
use loop_core::view::Waiting;
use loop_host::changes::{ChangeForm, RunActivity, check_changes};
use loop_host::launch::{self, PreparedResume, ResumeRequest};
use loop_host::plan::{budget_request, limits_request, reopen_plan};
use loop_host::run_folder::{RunFolder, RunsError};

use super::commit::CommitAtEnd;
use super::plan::PlanAsk;
use super::start::drive_and_report;
use super::{ask, best_of, plan};
use crate::args::IdArg;
use crate::context::{Context, Done, read_error, runs_error};
use crate::flags::ResumeFlags;
use crate::here::Wanted;
use crate::render::error::{CommandError, Kind};
use crate::render::sentences;

/// Resume a loop
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    #[command(flatten)]
    id: IdArg,
    /// Tell the agent something in its next prompt
    #[arg(long, value_name = "TEXT")]
    inject: Option<String>,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
    /// Settings for the rest of the run; a number or duration with + is added to the value of now
    #[command(flatten)]
    flags: ResumeFlags,
}

impl ResumeArgs {
    /// The changes as they were typed.
    fn changes(&self) -> Vec<Change> {
        let typed = self.flags.raw().iter();
        typed.map(|(key, value)| Change::new(key.name, value.clone())).collect()
    }
}

pub(crate) fn run(context: &Context, args: &ResumeArgs) -> Done {
    if let Some(folder) = args.id.plan(context, Wanted::Resumable) {
        return resume_plan(context, args, folder);
    }
    let folder = args.id.find(context, Wanted::Resumable)?;
    if folder.holder().is_some() {
        return ask_it(context, args, &folder);
    }
    let request = ResumeRequest { changes: args.changes(), inject: args.inject.clone(), by: "loop resume".to_owned() };
    match launch::prepare_resume(folder, request, &mut context.person())? {
        PreparedResume::Run(run) => {
            if let Some(asked) = CommitAtEnd::of(run.output_settings()) {
                asked.check(context, run.workspace())?;
            }
            let ready = launch::reopen(&context.home, *run, &mut context.person())?;
            let driven = drive_and_report(context, ready, args.json, None)?;
            Ok(CommitAtEnd::finish(context, driven, args.json))
        }
        PreparedResume::ResultWritten { exit_code, note } => {
            context.print_notes(&[note]);
            Ok(exit_code)
        }
    }
}

/// A plan that is paused is asked to continue; one without a process is driven again.
fn resume_plan(context: &Context, args: &ResumeArgs, folder: RunFolder) -> Done {
    let changes = args.changes();
    if args.inject.is_some() {
        return Err(CommandError::new(Kind::Wrong, format!("plan {} takes no text at resume", folder.id))
            .because("a text is for its loops")
            .hint(format!("resume it, then: loop inject {} TEXT", folder.id)));
    }
    let budget = match changes.as_slice() {
        [] => None,
        changes => {
            let state = loop_host::plan::read_plan(&folder).map_err(|error| read_error(&error))?;
            Some(match folder.holder() {
                Some(_) => budget_request(changes, &state)?,
                None => limits_request(&context.home, changes, &state)?,
            })
        }
    };
    if folder.holder().is_some() && budget.is_some() {
        ask::ask(&folder, Ask::Set(changes), "loop resume")?;
    }
    if folder.holder().is_some() {
        return plan::tell(
            context,
            &folder,
            PlanAsk { what: Ask::Resume, by: "loop resume", said: "resumes" },
            args.json,
        );
    }
    let ready = reopen_plan(&context.home, folder, "loop resume", budget, &mut context.person())?;
    best_of::drive(context, ready, args.json)
}

/// A run that is at work is asked: the text and the settings first, then to continue.
fn ask_it(context: &Context, args: &ResumeArgs, folder: &RunFolder) -> Done {
    let reading = loop_host::journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let state = reading.fold();
    // Checked here too, so that a refusal names the flags. The run itself adds, and finds what is implied.
    let changes = args.changes();
    check_changes(&changes, &state, RunActivity::AtWork, ChangeForm::Flags)?;
    let holds = state.main_order().is_some_and(|(_, open)| matches!(open.order, Order::Hold { .. }));
    if !holds && state.requests.pause.is_none() && changes.is_empty() && args.inject.is_none() {
        return Err(runs_error(&RunsError::Driven {
            id: folder.id.clone(),
            pid: folder.holder().map_or(0, |holder| holder.pid),
        }));
    }
    // A limit of the loop's own does not end because a person asks.
    if let Some(wait) = Waiting::of(&state).filter(|_| state.calls_free_at().is_some() && changes.is_empty()) {
        let text = if args.inject.is_some() { "; the text was not taken: see loop inject" } else { "" };
        return Err(CommandError::new(Kind::Wrong, format!("loop {} waits for a limit of its own", folder.id))
            .because(format!("{}, until {}{text}", wait.why, wait.until))
            .hint(format!("a higher limit: {}", sentences::higher_limit(&state, folder.id.as_str()))));
    }
    if let Some(text) = &args.inject {
        ask::ask(folder, Ask::Inject { text: text.clone(), keep: false }, "loop resume")?;
    }
    if !changes.is_empty() {
        ask::ask(folder, Ask::Set(changes), "loop resume")?;
    }
    let seq = ask::ask(folder, Ask::Resume, "loop resume")?;
    ask::told(context, folder, "resumes", seq, args.json)
}
