//! The command line as it can be typed.
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::render::printer::{Loudness, Printer};

/// Runs any coding agent again and again until a check that loop itself runs passes.
#[derive(Debug, Parser)]
#[command(name = "loop", version, after_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Verb>,
}

const EXAMPLES: &str = "\
Examples:
  loop demo
  loop start \"fix the failing tests\" --promise \"npm test\" --agent claude
  loop status --watch
  loop resume a1b2 -n +5
  loop rollback a1b2 3
  loop verify a1b2

Exit codes: 0 the promise passes · 1 ended without it · 2 stopped by you · 3 could not work ·
            4 wrong call or set-up, nothing was created · 5 a loop that should answer does not";

/// How much is shown.
#[derive(Debug, Clone, Copy, Args)]
pub struct OutputArgs {
    /// Show answers and errors only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Show what agents and gates write as well
    #[arg(short, long, global = true, overrides_with = "quiet")]
    pub(crate) verbose: bool,
}

impl OutputArgs {
    pub(crate) fn printer(self) -> Printer {
        Printer::new(match (self.quiet, self.verbose) {
            (_, true) => Loudness::Verbose,
            (true, false) => Loudness::Quiet,
            (false, false) => Loudness::Normal,
        })
    }
}

/// The arguments of a command. They are described to the parser only when this command was typed: `--help`, and every
/// other command, then need not describe all of them. Not for a command that has commands itself: `loop help` lists
/// these.
#[derive(Debug)]
pub(crate) struct Deferred<T>(Box<T>);

impl<T> Deferred<T> {
    pub(crate) fn into_inner(self) -> T {
        *self.0
    }
}

impl<T> std::ops::Deref for Deferred<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Deferred<T> {
    fn group_id() -> Option<clap::Id> {
        T::group_id()
    }

    fn augment_args(command: Command) -> Command {
        command.defer(described::<T>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(T::augment_args_for_update)
    }
}

/// Adds the arguments. What a command is about is said where it is listed, not by its arguments.
fn described<T: Args>(command: Command) -> Command {
    let (about, long_about) = (command.get_about().cloned(), command.get_long_about().cloned());
    T::augment_args(command).about(Resettable::from(about)).long_about(Resettable::from(long_about))
}

impl<T: FromArgMatches> FromArgMatches for Deferred<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(|args| Self(Box::new(args)))
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches_mut(matches).map(|args| Self(Box::new(args)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }

    fn update_from_arg_matches_mut(&mut self, matches: &mut ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches_mut(matches)
    }
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start a loop: run the agent until the promise passes
    Start(Deferred<commands::start::StartArgs>),
    /// Show what runs, and what ended lately
    #[command(visible_aliases = ["ps", "show"])]
    Status(Deferred<commands::status::StatusArgs>),
    /// List all loops
    #[command(visible_alias = "ls")]
    List(Deferred<commands::list::ListArgs>),
    /// Show the iterations of a loop
    History(Deferred<commands::history::HistoryArgs>),
    /// Show what a loop changed
    Diff(Deferred<commands::diff::DiffArgs>),
    /// Show a loop, or all loops of a night, as a page to read
    Report(Deferred<commands::report::ReportArgs>),
    /// Show what agents cost, by agent and by day
    Usage(Deferred<commands::usage::UsageArgs>),
    /// Resume a loop that was stopped, crashed or reached a limit
    Resume(Deferred<commands::resume::ResumeArgs>),
    /// Show what a loop does, as it does it
    #[command(visible_aliases = ["log", "logs"])]
    Watch(Deferred<commands::watch::WatchArgs>),
    /// Pause a loop after this iteration
    Pause(Deferred<commands::pause::PauseArgs>),
    /// Stop a loop after this iteration, so that it can be resumed
    Stop(Deferred<commands::stop::StopArgs>),
    /// End a loop now, for good
    Cancel(Deferred<commands::cancel::CancelArgs>),
    /// Tell the agent something in its next prompt
    Inject(Deferred<commands::inject::InjectArgs>),
    /// Change settings of a loop that is running or can be resumed
    Set(Deferred<commands::set::SetArgs>),
    /// Close the breaker of a loop that made no progress, so that it can be resumed
    Reset(Deferred<commands::reset::ResetArgs>),
    /// Go back to a checkpoint of a loop
    Rollback(Deferred<commands::rollback::RollbackArgs>),
    /// Take a checkpoint of a loop now; list and remove checkpoints
    Checkpoint(commands::checkpoint::CheckpointArgs),
    /// Make a proof of a loop that is done, to hand over
    Proof(Deferred<commands::proof::ProofArgs>),
    /// Run the gates of a loop that is done again, on the tree that was judged; or check a proof that was handed over
    Verify(Deferred<commands::verify::VerifyArgs>),
    /// Accept a loop whose gates pass, although something speaks against it
    Accept(Deferred<commands::accept::AcceptArgs>),
    /// Show, get, set and check settings
    Config(commands::config::ConfigArgs),
    /// See a whole loop work in a minute: no agent, no key, nothing of yours touched
    Demo,
    /// Show which agents are here, and how they would be called
    Agents(Deferred<commands::agents::AgentsArgs>),
    /// Check this machine: what loop finds and what is missing
    Doctor(Deferred<commands::doctor::DoctorArgs>),
    /// Remove the records of loops
    Rm(Deferred<commands::rm::RmArgs>),
    /// Remove the records of loops that ended long ago
    Prune(Deferred<commands::prune::PruneArgs>),
    /// Print completions for a shell
    Completions(Deferred<commands::completions::CompletionsArgs>),
    /// The scripted agent of the demo
    #[command(hide = true)]
    DemoAgent,
    /// Between a loop and an agent that speaks the Agent Client Protocol
    #[command(hide = true)]
    AcpBridge(Deferred<commands::acp_bridge::AcpBridgeArgs>),
    /// The program between a loop and its agent in a container
    #[command(hide = true, disable_help_flag = true)]
    ContainerExec(Deferred<commands::container_exec::ContainerExecArgs>),
}

/// A run, by its id or the beginning of it.
#[derive(Debug, Args)]
pub(crate) struct IdArg {
    /// The loop: its id, or any beginning of it that fits one loop only
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// A folder for a start.
#[derive(Debug, Args)]
pub(crate) struct PlaceArg {
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
}
