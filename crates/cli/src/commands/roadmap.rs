//! `loop roadmap`: the tasks of a roadmap, one after the other, each a loop of its own. Also `loop start --roadmap`.
use std::path::PathBuf;

use clap::{Args, Subcommand};
use loop_core::list::ListFormat;
use loop_core::plan::ItemJudge;
use loop_host::launch::{LaunchRequest, TaskSource};
use loop_host::plan::ListRequest;

use super::prd_run::{ListRunArgs, ListStart, approves, start};
use super::status;
use crate::args::PlaceArg;
use crate::context::{Context, Done, settings_error};
use crate::flags::StartFlags;

/// Work through the tasks of a roadmap, each in a loop of its own; a task that is done is ticked
#[derive(Debug, Args)]
pub(crate) struct RoadmapArgs {
    #[command(subcommand)]
    command: RoadmapCommand,
}

#[derive(Debug, Subcommand)]
enum RoadmapCommand {
    /// Run the open tasks below `## Tasks` in their order, in the profile autonomous: the same as loop start --roadmap
    Run(Box<RunArgs>),
}

/// The arguments of `loop roadmap run`.
#[derive(Debug, Args)]
struct RunArgs {
    /// The roadmap
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only this task
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Show the newest loop or plan of this folder, and start nothing: the same as loop status
    #[arg(long)]
    status: bool,
    #[command(flatten)]
    how: ListRunArgs,
    #[command(flatten)]
    place: PlaceArg,
    #[command(flatten)]
    flags: StartFlags,
}

pub(crate) fn run(context: &Context, args: &RoadmapArgs) -> Done {
    let RoadmapCommand::Run(args) = &args.command;
    if args.status {
        return status::run(context, &status::StatusArgs::of_here(args.how.json));
    }
    args.flags.modes().for_each(|mode| context.printer.progress(&format!("--{} = {}\n", mode.name, mode.flags())));
    let given = args.flags.read().map_err(|error| settings_error(&error))?;
    let launch = LaunchRequest {
        given,
        workspace: args.place.workspace.clone(),
        task: TaskSource::Missing,
        agent_args: Vec::new(),
        dry_run: args.how.dry_run,
        plan: None,
    };
    let format = args.how.format()?;
    let tasks = Tasks {
        file: args.file.clone(),
        only: args.item.clone(),
        keep_going: args.how.keep_going,
        parallel: args.how.parallel,
    };
    let how = ListStart { dry_run: args.how.dry_run, json: args.how.json };
    start(context, ListRequest { format: format.or(Some(ListFormat::Roadmap)), ..tasks.request(launch) }, &how)
}

/// Which tasks are run, and how.
pub(super) struct Tasks {
    pub(super) file: PathBuf,
    pub(super) only: Option<String>,
    pub(super) keep_going: bool,
    pub(super) parallel: u32,
}

impl Tasks {
    /// The request to run them.
    pub(super) fn request(self, launch: LaunchRequest) -> ListRequest {
        ListRequest {
            file: self.file,
            format: Some(ListFormat::Roadmap),
            judge: ItemJudge::Run,
            all: self.only.is_none(),
            only: self.only,
            keep_going: self.keep_going,
            parallel: self.parallel,
            approve: approves(&launch.given),
            launch,
        }
    }
}
