//! The command line as it can be typed: every command with its arguments.
use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::args::OutputArgs;
use crate::commands;
use crate::deferred::Deferred;

/// Runs any coding agent again and again until a check that loop itself runs passes.
#[derive(Debug, Parser)]
#[command(name = "loop", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) command: Option<Verb>,
}

/// The parser with the arguments of all commands.
pub(crate) fn whole_command() -> Command {
    let mut command = Cli::command();
    command.build();
    command
}

const EXAMPLES: &str = "\
Examples:
  loop demo
  loop start \"fix the failing tests\" --promise \"npm test\" --agent claude
  loop status --watch
  loop resume -n +5             the newest loop of this folder
  loop rollback a1b2 3
  loop verify a1b2
  loop --version --verbose      from what it is built, and what it has

Exit codes: 0 the promise passes · 1 ended without it · 2 stopped by you · 3 could not work ·
            4 wrong call or set-up, nothing was created · 5 a loop that should answer does not";

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
    /// Show the prompt that the agent got in an iteration, or would get next
    Prompt(Deferred<commands::prompt::PromptArgs>),
    /// Show what a loop changed
    Diff(Deferred<commands::diff::DiffArgs>),
    /// Show a loop, or all loops of a night, as a page to read
    Report(Deferred<commands::report::ReportArgs>),
    /// Show what agents cost, and what is left of their limits
    Usage(Deferred<commands::usage::UsageArgs>),
    /// Say whether work can be started now: limits of providers, the pace of the last hours, your own caps
    Limits(Deferred<commands::limits::LimitsArgs>),
    /// Replay recorded loops under another policy: what it would have saved and lost
    Replay(Deferred<commands::replay::ReplayArgs>),
    /// Resume a loop that was stopped, crashed or reached a limit
    Resume(Deferred<commands::resume::ResumeArgs>),
    /// Show what a loop does, as it does it
    #[command(visible_aliases = ["log", "logs"])]
    Watch(Deferred<commands::watch::WatchArgs>),
    /// Apply a branch of a plan (loop start --best-of) to the workspace
    Pick(Deferred<commands::pick::PickArgs>),
    /// Answer a question of a workflow (ask:), so that what waits for it starts
    Answer(Deferred<commands::answer::AnswerArgs>),
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
    Checkpoint(Deferred<commands::checkpoint::CheckpointArgs>),
    /// Make a proof of a loop that is done, to hand over
    Proof(Deferred<commands::proof::ProofArgs>),
    /// Run the gates of a loop that is done again, on the tree that was judged; or check a proof that was handed over
    Verify(Deferred<commands::verify::VerifyArgs>),
    /// Commit what a loop that is done changed, with your own git
    Commit(Deferred<commands::commit::CommitArgs>),
    /// Accept a loop whose gates pass, although something speaks against it
    Accept(Deferred<commands::accept::AcceptArgs>),
    /// Run several loops with dependencies from a file; check and show such files
    Workflow(Deferred<commands::workflow::WorkflowArgs>),
    /// Work through a list of items, each proven before it is ticked; check what would prove them
    Prd(Deferred<commands::prd::PrdArgs>),
    /// Work through the tasks of a roadmap, each in a loop of its own; a task that is done is ticked
    Roadmap(Deferred<commands::roadmap::RoadmapArgs>),
    /// Look at this project and write its settings file
    Init(Deferred<commands::init::InitArgs>),
    /// List, show, make and check templates for loop start --template
    Template(Deferred<commands::template::TemplateArgs>),
    /// Show, get, set and check settings
    Config(Deferred<commands::config::ConfigArgs>),
    /// Bring settings and prompts of another tool: ralph, ralph-tui, ralphex, loopr, Daedalos
    Import(Deferred<commands::import::ImportArgs>),
    /// See a whole loop work in a minute: no agent, no key, nothing of yours touched
    Demo,
    /// Show which agents are here, and how they would be called
    Agents(Deferred<commands::agents::AgentsArgs>),
    /// Check this machine: what loop finds and what is missing
    Doctor(Deferred<commands::doctor::DoctorArgs>),
    /// Write a text file for a report of a bug, with secrets removed
    Bug(Deferred<commands::bug::BugArgs>),
    /// Remove the records of loops
    Rm(Deferred<commands::rm::RmArgs>),
    /// Remove the records of loops that ended long ago
    Prune(Deferred<commands::prune::PruneArgs>),
    /// Print or install completions for a shell
    Completions(Deferred<commands::completions::CompletionsArgs>),
    /// Print or install pages of the manual
    Man(Deferred<commands::man::ManArgs>),
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
