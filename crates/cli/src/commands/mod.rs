//! One file a verb: its arguments and what it does.
//!
//! A command reads its arguments, calls host, and prints through `render`. Rules about loops are in core; starting and
//! resuming a run is `loop_host::launch`. Files that are not verbs hold what several verbs share.
pub(crate) mod accept;
pub(crate) mod acp_bridge;
pub(crate) mod agents;
pub(crate) mod answer;
mod ask;
pub(crate) mod best_of;
pub(crate) mod bug;
pub(crate) mod cancel;
pub(crate) mod checkpoint;
mod checkpoint_lookup;
pub(crate) mod commit;
pub(crate) mod compare;
mod complete;
mod complete_values;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod container_exec;
mod counted;
pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod dry_run;
mod expected_limits;
pub(crate) mod glance;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod init;
pub(crate) mod inject;
pub(crate) mod limits;
pub(crate) mod list;
pub(crate) mod loopd;
pub(crate) mod loopr;
mod loopr_status;
pub(crate) mod man;
mod manual_page;
mod output_file;
mod own_place;
pub(crate) mod pause;
pub(crate) mod pick;
pub(crate) mod plan;
mod plan_history;
mod plan_inject;
mod plan_report;
mod plan_watch;
pub(crate) mod prd;
mod prd_run;
mod prd_status;
pub(crate) mod prompt;
pub(crate) mod proof;
pub(crate) mod prune;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod reset;
pub(crate) mod resume;
pub(crate) mod rm;
pub(crate) mod roadmap;
pub(crate) mod rollback;
pub(crate) mod set;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod status_detail;
pub(crate) mod stop;
pub(crate) mod template;
mod template_create;
pub(crate) mod usage;
pub(crate) mod verify;
mod verify_proof;
mod version;
pub(crate) mod watch;
pub(crate) mod worker;
pub(crate) mod workflow;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use loop_host::agents::first_installed;

use crate::args::{Cli, Verb, whole_command};
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind, from_clap};
use crate::render::printer::{self, Loudness, Printer};

/// What the examples of the help texts say where no agent is installed.
const EXAMPLE_AGENT: &str = "--agent claude";

/// Runs a command line and says how the program ends.
#[must_use]
pub fn run(arguments: Vec<OsString>) -> ExitCode {
    // The program's other life, below a loop that it drives itself.
    if let Some(code) = loop_host::process::run_if_asked()
        .or_else(loop_host::judge::run_if_asked)
        .or_else(loop_host::plan::run_if_asked)
    {
        return code;
    }
    if let Some(code) = version::run_if_asked("loop", &arguments) {
        return code;
    }
    if let Some(code) = complete::run_if_asked(&arguments) {
        return code;
    }
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let mut text = error.render().to_string();
            // The examples name an agent that is installed here.
            if text.contains(EXAMPLE_AGENT) {
                text = text.replace(EXAMPLE_AGENT, &format!("--agent {}", first_installed().unwrap_or("claude")));
            }
            Printer::new(Loudness::Normal).answer(&text);
            return ExitCode::SUCCESS;
        }
        Err(error) => return from_clap(&error, &whole_command()).show(),
    };
    // What became of a loop says more than whether that could be printed.
    let drives = matches!(
        cli.command,
        Some(
            Verb::Start(_)
                | Verb::Resume(_)
                | Verb::Pick(_)
                | Verb::Answer(_)
                | Verb::Workflow(_)
                | Verb::Prd(_)
                | Verb::Roadmap(_)
        )
    );
    match (dispatch(cli), printer::lost().filter(|_| !drives)) {
        (Ok(0), Some(why)) => CommandError::new(Kind::Unable, "cannot write the answer to stdout")
            .because(why)
            .hint("make room, or write it to another place")
            .show(),
        (Ok(code), _) => ExitCode::from(code),
        (Err(error), _) => error.show(),
    }
}

fn dispatch(cli: Cli) -> Done {
    // What stands below a loop needs nothing of what it keeps.
    let cli = match cli.command {
        Some(Verb::DemoAgent) => return demo::agent(),
        Some(Verb::AcpBridge(args)) => return acp_bridge::run(args.into_inner()),
        command => Cli { command, ..cli },
    };
    if let Some(Verb::ContainerExec(args)) = &cli.command {
        return container_exec::run(args);
    }
    let context = Context::new(cli.output.printer())?;
    if cli.command.as_ref().is_none_or(looks_at_loops) {
        context.print_notes(&loop_host::launch::end_registered(&context.home));
        loop_host::plan::sweep_copies(&context.home);
    }
    match cli.command {
        None => glance::run(&context),
        Some(Verb::Start(args)) => start::run(&context, &args),
        Some(Verb::Status(args)) => status::run(&context, &args),
        Some(Verb::List(args)) => list::run(&context, &args),
        Some(Verb::History(args)) => history::run(&context, &args),
        Some(Verb::Prompt(args)) => prompt::run(&context, &args),
        Some(Verb::Diff(args)) => diff::run(&context, &args),
        Some(Verb::Report(args)) => report::run(&context, &args),
        Some(Verb::Usage(args)) => usage::run(&context, &args),
        Some(Verb::Limits(args)) => limits::run(&context, &args),
        Some(Verb::Replay(args)) => replay::run(&context, &args),
        Some(Verb::Resume(args)) => resume::run(&context, &args),
        Some(Verb::Stop(args)) => stop::run(&context, &args),
        Some(Verb::Pause(args)) => pause::run(&context, &args),
        Some(Verb::Pick(args)) => pick::run(&context, &args),
        Some(Verb::Answer(args)) => answer::run(&context, &args),
        Some(Verb::Cancel(args)) => cancel::run(&context, &args),
        Some(Verb::Inject(args)) => inject::run(&context, &args),
        Some(Verb::Set(args)) => set::run(&context, &args),
        Some(Verb::Reset(args)) => reset::run(&context, &args),
        Some(Verb::Accept(args)) => accept::run(&context, &args),
        Some(Verb::Watch(args)) => watch::run(&context, &args),
        Some(Verb::Rollback(args)) => rollback::run(&context, &args),
        Some(Verb::Checkpoint(args)) => checkpoint::run(&context, &args),
        Some(Verb::Proof(args)) => proof::run(&context, &args),
        Some(Verb::Commit(args)) => commit::run(&context, &args),
        Some(Verb::Verify(args)) => verify::run(&context, &args),
        Some(Verb::Workflow(args)) => workflow::run(&context, &args),
        Some(Verb::Prd(args)) => prd::run(&context, &args),
        Some(Verb::Roadmap(args)) => roadmap::run(&context, &args),
        Some(Verb::Config(args)) => config::run(&context, &args),
        Some(Verb::Import(args)) => import::run(&context, &args),
        Some(Verb::Init(args)) => init::run(&context, &args),
        Some(Verb::Template(args)) => template::run(&context, &args),
        Some(Verb::Demo) => demo::run(&context),
        Some(Verb::Agents(args)) => agents::run(&context, &args),
        Some(Verb::Doctor(args)) => doctor::run(&context, &args),
        Some(Verb::Bug(args)) => bug::run(&context, &args),
        Some(Verb::Rm(args)) => rm::run(&context, &args),
        Some(Verb::Prune(args)) => prune::run(&context, &args),
        Some(Verb::Completions(args)) => completions::run(&context, &args),
        Some(Verb::Man(args)) => man::run(&context, &args),
        Some(Verb::DemoAgent) => demo::agent(),
        Some(Verb::AcpBridge(args)) => acp_bridge::run(args.into_inner()),
        Some(Verb::ContainerExec(args)) => container_exec::run(&args),
    }
}

/// Commands that first end what a killed loop left running; some do it later and more thoroughly.
fn looks_at_loops(verb: &Verb) -> bool {
    match verb {
        Verb::Status(_)
        | Verb::List(_)
        | Verb::History(_)
        | Verb::Prompt(_)
        | Verb::Diff(_)
        | Verb::Report(_)
        | Verb::Pause(_)
        | Verb::Stop(_)
        | Verb::Cancel(_)
        | Verb::Inject(_)
        | Verb::Set(_)
        | Verb::Accept(_)
        | Verb::Reset(_)
        | Verb::Watch(_)
        | Verb::Rollback(_)
        | Verb::Checkpoint(_)
        | Verb::Commit(_)
        | Verb::Verify(_)
        | Verb::Proof(_)
        | Verb::Doctor(_) => true,
        Verb::Start(_)
        | Verb::Resume(_)
        | Verb::Pick(_)
        | Verb::Answer(_)
        | Verb::Bug(_)
        | Verb::Rm(_)
        | Verb::Prune(_)
        | Verb::Workflow(_)
        | Verb::Prd(_)
        | Verb::Roadmap(_)
        | Verb::Config(_)
        | Verb::Import(_)
        | Verb::Init(_)
        | Verb::Template(_)
        | Verb::Usage(_)
        | Verb::Limits(_)
        | Verb::Replay(_)
        | Verb::Agents(_)
        | Verb::Completions(_)
        | Verb::Man(_)
        | Verb::Demo
        | Verb::DemoAgent
        | Verb::AcpBridge(_) => false,
        Verb::ContainerExec(_) => false,
    }
}
