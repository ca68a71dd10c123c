//! `loop start`: make a run and drive it to its end.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use loop_core::run::{Entry, RunState, Status};
use loop_core::text;
use loop_core::time::At;
use loop_core::view::{History, LiveDigest, Row, public_event};
use loop_host::clock;
use loop_host::driver::Reporter;
use loop_host::index;
use loop_host::launch::{self, DrivenRun, LaunchRequest, Prepared, ReadyRun, TaskSource};
use loop_host::paths::text_of;
use loop_host::plan::phases_of_template;
use loop_host::settings_files;

use super::best_of::{self, BestOfArgs};
use super::commit::CommitAtEnd;
use super::prd_run::{self, ListStart};
use super::roadmap::Tasks;
use super::{checkpoint_lookup, dry_run, expected_limits, workflow};
use crate::args::PlaceArg;
use crate::context::{Context, Done, files_error, settings_error};
use crate::flags::{MORE_FLAGS, StartFlags};
use crate::kept::KeptCheckpoints;
use crate::render::error::CommandError;
use crate::render::live::Live;
use crate::render::printer::Loudness;
use crate::render::summary::{next_command, summary};
use crate::render::{header, hidden};

/// Start a loop
#[derive(Debug, Args)]
#[command(after_help = MORE_FLAGS, after_long_help = "")]
#[command(mut_arg("workspace", |arg| arg.hide_short_help(true)))]
pub(crate) struct StartArgs {
    /// The task for the agent; `-` reads it from stdin
    #[arg(value_name = "PROMPT")]
    prompt: Option<OsString>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE", conflicts_with = "prompt", hide_short_help = true)]
    prompt_file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArg,
    /// Run the open tasks of a roadmap, each in a loop of its own: the same as loop roadmap run
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prompt", "prompt_file", "best_of"], hide_short_help = true)]
    roadmap: Option<PathBuf>,
    /// With --roadmap: a task that fails does not stop the others
    #[arg(long, requires = "roadmap", hide_short_help = true)]
    keep_going: bool,
    /// Show what would happen: run each gate once, start no agent
    #[arg(long)]
    dry_run: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long, hide_short_help = true)]
    json: bool,
    /// Read settings from this file, too: TOML, or YAML with the names of the autonomous loop specification. They count
    /// more than your own file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    config: Option<PathBuf>,
    #[command(flatten)]
    best_of: BestOfArgs,
    #[command(flatten)]
    flags: StartFlags,
    /// Arguments for the agent's own program, passed on as they are
    #[arg(last = true, value_name = "AGENT ARGS")]
    rest: Vec<String>,
}

impl StartArgs {
    /// The command line as a request to launch.
    pub(crate) fn request(&self) -> Result<LaunchRequest, CommandError> {
        let named = self.config.as_deref().map_or(Ok(Vec::new()), settings_files::named);
        let mut given = named.map_err(|error| files_error(&error))?;
        given.extend(self.flags.read().map_err(|error| settings_error(&error))?);
        Ok(LaunchRequest {
            given,
            workspace: self.place.workspace.clone(),
            task: task(self.prompt.clone(), self.prompt_file.clone()),
            agent_args: self.rest.clone(),
            dry_run: self.dry_run,
            plan: None,
        })
    }
}

/// Where the task comes from: the words of the command line, a file, or for `-` the caller, which reads stdin.
pub(crate) fn task(prompt: Option<OsString>, file: Option<PathBuf>) -> TaskSource {
    match (prompt, file) {
        (Some(word), _) if word == "-" => TaskSource::Caller,
        (Some(prompt), _) => TaskSource::Text(prompt.into_encoded_bytes()),
        (None, Some(file)) => TaskSource::File(file),
        (None, None) => TaskSource::Missing,
    }
}

pub(crate) fn run(context: &Context, args: &StartArgs) -> Done {
    let request = args.request()?;
    args.flags.modes().for_each(|mode| context.printer.progress(&format!("--{} = {}\n", mode.name, mode.flags())));
    if let Some(file) = &args.roadmap {
        let tasks = Tasks { file: file.clone(), only: None, keep_going: args.keep_going, parallel: 1 };
        let how = ListStart { dry_run: args.dry_run, json: args.json };
        return prd_run::start(context, tasks.request(request), &how);
    }
    if let Some(several) = args.best_of.read()? {
        return best_of::start(context, request, several, args.json);
    }
    if let Some(phases) = phases_of_template(&context.home, &request, &mut context.person())? {
        return workflow::start(context, phases, args.json);
    }
    if !args.dry_run {
        let driven = start_run(context, request, args.json, None)?;
        return Ok(CommitAtEnd::finish(context, driven, args.json));
    }
    let prepared = launch::prepare(&context.home, request, &mut context.person())?;
    check_commit(context, &prepared)?;
    dry_run::run(context, &prepared, args.json)
}

/// Makes a run and drives it to its end. If `history` is given, every entry goes into it, too.
pub(crate) fn start_run(
    context: &Context,
    request: LaunchRequest,
    json: bool,
    history: Option<&mut History>,
) -> Result<DrivenRun, CommandError> {
    let mut person = context.person();
    let prepared = launch::prepare(&context.home, request, &mut person)?;
    check_commit(context, &prepared)?;
    warn_about_own_output(context, &prepared.workspace);
    let ready = launch::create(&context.home, &prepared, &mut person)?;
    if json {
        let mut created = None;
        ready.replay_into(&mut |entry, state| created = created.take().or_else(|| public_event(entry, state)));
        created.iter().for_each(|event| context.printer.json_line(event));
    }
    if !json {
        note_resumable(context, &ready);
        expected_limits::note(context, ready.state_before());
    }
    let driven = drive_and_report(context, ready, json, history)?;
    driven.discard_if_not_started()?;
    Ok(driven)
}

fn check_commit(context: &Context, prepared: &Prepared) -> Result<(), CommandError> {
    let asked = CommitAtEnd::of(&prepared.settings.values.output);
    asked.map_or(Ok(()), |asked| asked.check(context, &prepared.workspace))
}

/// Warns where the lines of this command go into a file of the workspace: they would count as changes.
pub(super) fn warn_about_own_output(context: &Context, workspace: &Path) {
    let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
    let file = |number: u32| {
        let path = std::fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        path.metadata().is_ok_and(|found| found.is_file()).then_some(path)
    };
    let Some(inside) =
        [1, 2].into_iter().find_map(|number| Some(file(number)?.strip_prefix(&workspace).ok()?.to_owned()))
    else {
        return;
    };
    let name = text::one_line(&text_of(&inside), 200);
    context.printer.error(&format!(
        "warning: what loop prints goes to {name} in the workspace: unless git ignores it, each iteration has a change, \
         and a commit has it, too\n  better: a file elsewhere, such as ~/{name}\n"
    ));
}

/// Says that a loop of this folder was left: it may be what the person means.
fn note_resumable(context: &Context, ready: &ReadyRun) {
    let Some(spec) = &ready.state_before().spec else { return };
    let since_ms = clock::now().wall_ms.saturating_sub(NOTED_MS);
    let mut listed = index::list_since(&context.home, since_ms).unwrap_or_default();
    // The one that worked last: an older one may have been resumed.
    listed.sort_by_key(|one| std::cmp::Reverse(one.times.updated_ms));
    let rows = listed.into_iter().filter_map(|listed| Some((listed.run, listed.row.ok()?)));
    let mut here = rows.filter(|(_, row)| row.workspace == spec.workspace.path && row.id != spec.id.as_str());
    let is_left = |row: &Row| matches!(row.status, Status::Paused | Status::Crashed) && row.resumable;
    if let Some((run, row)) = here.next().filter(|(_, row)| is_left(row)) {
        let (id, status, progress) = (&row.id, row.status_words(), row.progress());
        let state = loop_host::journal::read(&run.path).ok().map(|reading| reading.fold());
        let next = state.map_or_else(|| format!("loop resume {id}"), |state| next_command(&state, id));
        let note = format!("note: loop {id} of this folder is {status} at iteration {progress}: {next}\n");
        context.printer.progress(&note);
    }
}

/// A loop that was left longer ago is not named.
const NOTED_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// Drives a run, shows it, and shows how it ended.
pub(crate) fn drive_and_report(
    context: &Context,
    ready: ReadyRun,
    json: bool,
    history: Option<&mut History>,
) -> Result<DrivenRun, CommandError> {
    let printer = context.printer;
    let mut reporter = RunReporter { live: Live::new(printer, ready.folder().clone(), json), history };
    if !json {
        printer.progress(&header::header(&ready.state_when_opened(), ready.state_before()));
    }
    ready.replay_into(&mut |entry, state| reporter.saw(entry, state));
    let driven = launch::drive(&context.home, ready, &mut reporter);
    let mut live = reporter.live;
    live.finish();
    let driven = match driven {
        Ok(driven) => driven,
        Err(stopped) => {
            context.print_notes(&stopped.notes);
            return Err(stopped.refusal.into());
        }
    };
    context.print_notes(&driven.notes);
    if !json && !driven.never_began() {
        let changes = checkpoint_lookup::changes_of(&driven.folder, &driven.state);
        let kept = KeptCheckpoints::of(&context.home, &driven.folder, &driven.state);
        printer.answer(&summary(&driven.state, live.record(), &changes, &kept, printer));
        let failed = hidden::failed(&driven.folder, &driven.state);
        if let Some(failed) = failed.filter(|_| printer.loudness != Loudness::Quiet) {
            printer.answer(&format!("hidden:     {failed}\n"));
        }
    }
    context.print_notes(&driven.keep_disk_limits(&context.home));
    Ok(driven)
}

/// Shows a run, and collects its history where that is wanted.
struct RunReporter<'a> {
    live: Live,
    history: Option<&'a mut History>,
}

impl RunReporter<'_> {
    /// What happened before this command.
    fn saw(&mut self, entry: &Entry, state: &RunState) {
        self.live.saw(entry, state);
        if let Some(history) = &mut self.history {
            history.apply(entry);
        }
    }
}

impl Reporter for RunReporter<'_> {
    fn on_entry(&mut self, entry: &Entry, state: &RunState) {
        self.live.on_entry(entry, state);
        if let Some(history) = &mut self.history {
            history.apply(entry);
        }
    }

    fn on_output(&mut self, bytes: &[u8]) {
        self.live.on_output(bytes);
    }

    fn on_live(&mut self, live: &LiveDigest) {
        self.live.on_live(live);
    }

    fn tick(&self) -> Option<Duration> {
        self.live.tick()
    }

    fn draw(&mut self, state: &RunState, now: At) {
        self.live.draw(state, now);
    }
}
