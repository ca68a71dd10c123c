//! `loop start`: make a run and drive it to its end.
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::agent::{Agent, Described};
use loop_core::ids::RunId;
use loop_core::prompt::TASK_BYTES_MAX;
use loop_core::run::{Event, Fact, Input, ReasonCode, RunSpec, RunState, WorkspaceRef};
use loop_core::settings::{Given, Layer, Origin, OutputSettings, Settings, keys};
use loop_core::text;
use loop_core::view::{Record, RunResult, public_event};
use loop_host::checkpoint::BackendChoice;
use loop_host::driver::drive;
use loop_host::index;
use loop_host::orphans::{self, Orphans};
use loop_host::paths::{can_write, path_of, read_bounded, text_of, write_whole};
use loop_host::runs::{self, HeldRun, LongTexts, RunFolder, StartLock};
use loop_host::signals::Signals;
use loop_host::stop_file::StopFile;
use loop_host::workspace::{claim, overlap};

use super::container_setup::{self, Inside};
use super::setup::{self, Setup, quoted};
use super::{agent_setup, dry_run, gate_setup, room, visit, worker};
use crate::args::PlaceArg;
use crate::context::{Context, Done, home_error, runs_error};
use crate::flags::StartFlags;
use crate::render::error::{CommandError, Kind};
use crate::render::header;
use crate::render::live::Live;
use crate::render::summary::summary;

/// Start a loop
#[derive(Debug, Args)]
pub(crate) struct StartArgs {
    /// What the agent is asked to reach; `-` reads it from stdin
    #[arg(value_name = "PROMPT")]
    prompt: Option<OsString>,
    /// Read the prompt from a file
    #[arg(long, value_name = "FILE", conflicts_with = "prompt")]
    prompt_file: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArg,
    /// Show what would happen and start nothing but the promise, once
    #[arg(long)]
    dry_run: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StartFlags,
    /// Arguments for the agent's own program, passed on as they are
    #[arg(last = true, value_name = "AGENT ARGS")]
    rest: Vec<String>,
}

/// How much is read of a text: one byte more than may be is enough to refuse it.
const TEXT_BYTES_MAX: u64 = TASK_BYTES_MAX as u64 + 1;
/// Each one is named in the first fact, which is bounded.
const INJECT_FILES_MAX: usize = 32;

/// Everything that a start needs, checked.
pub(crate) struct Ready {
    pub(crate) setup: Setup,
    pub(crate) goal: String,
    pub(crate) inject: Vec<String>,
    /// How the workspace is kept.
    pub(crate) chosen: BackendChoice,
    /// Who works.
    pub(crate) agent: Agent,
    /// The same, where the user's own settings describe it.
    pub(crate) described: Option<Described>,
    /// The container that it works in; none if on this machine.
    pub(crate) inside: Option<Inside>,
}

/// A start as any front asks for it.
pub(crate) struct Wish {
    /// What the front says over files and variables of loop's own.
    pub(crate) given: Vec<Given>,
    /// Where; the current folder where it is not said.
    pub(crate) workspace: Option<PathBuf>,
    /// The task; `-` is stdin.
    pub(crate) prompt: Option<OsString>,
    /// The file that holds it.
    pub(crate) prompt_file: Option<PathBuf>,
    /// More arguments for the agent's program.
    pub(crate) rest: Vec<String>,
    pub(crate) dry_run: bool,
    /// Print events as JSON.
    pub(crate) json: bool,
}

pub(crate) fn run(context: &Context, args: &StartArgs) -> Done {
    start(context, args).map(|(code, _)| code)
}

/// Starts a run, drives it, and says which one it was.
pub(crate) fn start(context: &Context, args: &StartArgs) -> Result<(u8, Option<RunId>), CommandError> {
    let wish = Wish {
        given: args.flags.read().map_err(|error| setup::settings_error(&error))?,
        workspace: args.place.workspace.clone(),
        prompt: args.prompt.clone(),
        prompt_file: args.prompt_file.clone(),
        rest: args.rest.clone(),
        dry_run: args.dry_run,
        json: args.json,
    };
    fulfil(context, wish)
}

/// The same for any front.
pub(crate) fn fulfil(context: &Context, wish: Wish) -> Result<(u8, Option<RunId>), CommandError> {
    let (dry_run, json) = (wish.dry_run, wish.json);
    let ready = prepare(context, wish)?;
    if dry_run {
        return dry_run::run(context, &ready, json).map(|code| (code, None));
    }
    let (held, path) = make(context, &ready)?;
    let held = container_setup::begin_first(ready.inside.as_ref(), held)?;
    if let Some(why) = &ready.chosen.why {
        context.printer.progress(&format!("note: no btrfs snapshots here, a git store keeps the iterations: {why}\n"));
    }
    let id = held.folder.id.clone();
    if json && let Ok(reading) = loop_host::journal::read(&held.folder.path) {
        let created = reading.entries.first().and_then(|entry| public_event(entry, &held.state));
        created.iter().for_each(|event| context.printer.json_line(event));
    }
    let folder = held.folder.clone();
    let code = go(context, held, &path, Event::Opened, json)?;
    not_even_kept(&folder)?;
    Ok((code, Some(id)))
}

/// A workspace that could not be kept before anything was done to it: as if nobody had started.
fn not_even_kept(folder: &RunFolder) -> Result<(), CommandError> {
    let Ok(reading) = loop_host::journal::read(&folder.path) else { return Ok(()) };
    let state = reading.fold();
    let Some(over) = state.over.filter(|over| over.reason.code == ReasonCode::HostFailure && state.phase.is_fresh())
    else {
        return Ok(());
    };
    folder.remove().map_err(|error| runs_error(&error))?;
    Err(CommandError::new(Kind::Wrong, "nothing was started: the workspace cannot be kept")
        .because(text::one_line(&over.reason.text, 2000))
        .hint("make it readable, leave it out with --checkpoint-skip <glob>, or go without: --checkpoint none"))
}

fn prepare(context: &Context, mut wish: Wish) -> Result<Ready, CommandError> {
    let given = std::mem::take(&mut wish.given);
    let mut setup = setup::set_up(context, given, wish.workspace.as_deref())?;
    let goal = goal(&wish)?;
    let promise = setup.settings.values.gate.promise.as_deref();
    let line = format!(
        "loop start {} --promise {}",
        quoted(&text::one_line(&goal, 80)),
        promise.map_or_else(|| "'make test'".to_owned(), quoted)
    );
    gate_setup::check(&setup.settings, &line)?;
    add_arguments(&mut setup.settings, &wish.rest);
    let (agent, described) = agent_setup::find(&setup, &line)?;
    setup::check_containment(setup.settings.values.agent.containment)?;
    let inject = injected(&setup.settings.values.start.inject)?;
    if goal.len() + inject.iter().map(String::len).sum::<usize>() > TASK_BYTES_MAX {
        return Err(CommandError::new(Kind::Wrong, "the prompt is too long")
            .because(format!("prompt and injected files together are at most {TASK_BYTES_MAX} bytes"))
            .hint("put the material into files of the workspace and name them in the prompt"));
    }
    result_path(&mut setup.settings)?;
    let output = &setup.settings.values.output;
    check_stop_file(output, &setup.path, output.clear_stop)?;
    let chosen = setup::backend(context, &setup)?;
    let inside = container_setup::look(context, &setup.settings.values.agent, &agent, &setup.path)?;
    worker::check(context, &setup.settings.values, wish.dry_run)?;
    if !wish.dry_run {
        agent_setup::confirm(context, &setup.settings.values)?;
    }
    Ok(Ready { setup, goal, inject, chosen, agent, described, inside })
}

/// What stands after `--` is the agent's, behind what the settings have for it.
fn add_arguments(settings: &mut Settings, more: &[String]) {
    if more.is_empty() {
        return;
    }
    let value = agent_setup::joined(settings.values.agent.agent_args.as_deref().unwrap_or_default(), more);
    let origin = Origin { layer: Layer::Flag, place: "--".to_owned() };
    settings.put(keys::agent_args(), value, origin);
}

fn goal(wish: &Wish) -> Result<String, CommandError> {
    let wrong = |what: String| CommandError::new(Kind::Wrong, what);
    let bytes = match (&wish.prompt, &wish.prompt_file) {
        (Some(word), _) if word == "-" => {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().take(TEXT_BYTES_MAX).read_to_end(&mut bytes);
            read.map_err(|error| wrong("cannot read the prompt from stdin".to_owned()).because(error.to_string()))?;
            bytes
        }
        (Some(prompt), _) => prompt.clone().into_encoded_bytes(),
        (None, Some(path)) => read_bounded(path, TEXT_BYTES_MAX).map_err(|error| {
            wrong(format!("cannot read the prompt file {}", text_of(path)))
                .because(error.to_string())
                .hint("name a readable file, or give the prompt itself")
        })?,
        (None, None) => {
            return Err(wrong("the prompt is missing".to_owned())
                .because("the agent must be told what to do")
                .hint("loop start \"fix the failing tests\" …, or --prompt-file FILE, or - for stdin"));
        }
    };
    let goal = String::from_utf8(bytes).map_err(|_| {
        wrong("the prompt is not valid UTF-8".to_owned()).because("agents take text").hint("convert it to UTF-8")
    })?;
    if goal.trim().is_empty() {
        return Err(wrong("the prompt is empty".to_owned())
            .because("the agent must be told what to do")
            .hint("loop start \"fix the failing tests\" …"));
    }
    Ok(goal)
}

fn injected(paths: &[String]) -> Result<Vec<String>, CommandError> {
    let paths: Vec<PathBuf> = paths.iter().map(|path| path_of(path)).collect();
    if paths.len() > INJECT_FILES_MAX {
        return Err(CommandError::new(Kind::Wrong, "too many injected files")
            .because(format!("there may be {INJECT_FILES_MAX}"))
            .hint("join them into one"));
    }
    paths
        .into_iter()
        .map(|path| {
            let text = read_bounded(&path, TEXT_BYTES_MAX)
                .and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
            text.map_err(|error| {
                CommandError::new(Kind::Wrong, format!("cannot read the injected file {}", text_of(&path)))
                    .because(error.to_string())
                    .hint("name a readable text file with --inject")
            })
        })
        .collect()
}

/// The result file counts from where the command was given, also when the run is gone on with elsewhere.
fn result_path(settings: &mut Settings) -> Result<(), CommandError> {
    let origin = settings.resolved.origin(keys::result()).cloned();
    let Some((asked, origin)) = settings.values.output.result.clone().zip(origin) else { return Ok(()) };
    let path = path_of(&asked);
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let wrong = |why: String| {
        CommandError::new(Kind::Wrong, format!("--result: cannot write {asked}"))
            .because(why)
            .hint("name a plain file in a folder of yours; for events on stdout there is --json")
    };
    can_write(&path).map_err(|error| wrong(error.to_string()))?;
    let (Ok(folder), Some(name), false) = (folder.canonicalize(), path.file_name(), asked == "-") else {
        return Err(wrong("it names no file in an existing folder".to_owned()));
    };
    let value = text_of(&folder.join(name));
    settings.put(keys::result(), value, origin);
    Ok(())
}

/// A stop file that is there already would end the run at once.
pub(crate) fn check_stop_file(settings: &OutputSettings, workspace: &Path, clear: bool) -> Result<(), CommandError> {
    let Some(setting) = &settings.stop_file else { return Ok(()) };
    let file = StopFile::new(workspace, setting);
    if !file.is_there() {
        return Ok(());
    }
    let there = CommandError::new(Kind::Wrong, format!("the stop file {} is there", text_of(file.path())));
    if clear {
        return Ok(());
    }
    Err(there
        .because("it would stop the loop at once; perhaps it is left from an earlier one")
        .hint("remove it, or say --clear-stop"))
}

/// Takes a stop file away, now that the workspace is ours: it may have been meant for whoever had it.
pub(crate) fn clear_stop_file(settings: &OutputSettings, workspace: &Path) -> Result<(), CommandError> {
    let Some(setting) = &settings.stop_file else { return Ok(()) };
    let file = StopFile::new(workspace, setting);
    if !file.is_there() {
        return Ok(());
    }
    file.clear().map_err(|error| {
        CommandError::new(Kind::Wrong, format!("the stop file {} cannot be removed", text_of(file.path())))
            .because(error.to_string())
            .hint("remove it by hand")
    })
}

/// Makes the run: from here on there is something on disk.
fn make(context: &Context, ready: &Ready) -> Result<(HeldRun, PathBuf), CommandError> {
    context.home.make().map_err(|error| home_error(&error))?;
    room::make_room(context, &ready.setup.settings, None);
    room::tidy_checkpoints(context);
    let id = runs::fresh_id().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let start = StartLock::take(&context.home).map_err(|error| runs_error(&error))?;
    end_orphans(context, Some(&ready.setup.place))?;
    let claimed = claim(&context.home, &start, &id, &ready.setup.place);
    let claimed = claimed.map_err(|error| setup::workspace_error(&error))?;
    let values = &ready.setup.settings.values;
    if values.output.clear_stop {
        clear_stop_file(&values.output, &ready.setup.path)?;
    }
    // Of this start alone: a later resume finds a stop file that somebody meant, or a breaker that has tripped since.
    let mut settings = ready.setup.settings.resolved.clone();
    for key in [keys::clear_stop(), keys::reset_circuit()] {
        let origin = Origin { layer: Layer::Default, place: String::new() };
        settings.put(key, key.default.to_owned(), origin);
    }
    let mut files = LongTexts::new();
    let secret = loop_host::secrets::declared(&values.agent);
    let goal = runs::keep(&secret.text(&ready.goal), "goal.md", &mut files);
    let numbered = ready.inject.iter().map(|text| secret.text(text)).zip(1..);
    let inject =
        numbered.map(|(text, number)| runs::keep_as_file(&text, &format!("inject-{number}.md"), &mut files)).collect();
    let spec = RunSpec {
        id,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        goal,
        inject,
        workspace: ready.setup.place.clone(),
        backend: ready.chosen.backend.to_owned(),
        store: runs::store_name(&ready.setup.path),
        described: ready.described.clone(),
        guard: gate_setup::guard(&ready.setup.settings, &ready.setup.path),
        settings,
    };
    let held = runs::create(&context.home, &start, &spec, &files).map_err(|error| runs_error(&error))?;
    Ok((held.with_claim(claimed), ready.setup.path.clone()))
}

/// What a loop that was killed left behind is ended by whatever command comes next, and said.
pub(crate) fn end_registered(context: &Context) {
    for Orphans { run, ended, .. } in orphans::end_registered(&context.home) {
        tell_ended(context, &run.id, ended);
    }
}

fn tell_ended(context: &Context, id: &RunId, ended: u32) {
    if ended > 0 {
        let what = if ended == 1 { "1 process".to_owned() } else { format!("{ended} processes") };
        context.printer.progress(&format!("ended {what} that loop {id} had left running when it was killed\n"));
    }
}

/// Nothing of a loop that was killed works beside a new one. Where something of it cannot be ended
/// and works in the same place, the new one is refused.
pub(crate) fn end_orphans(context: &Context, place: Option<&WorkspaceRef>) -> Result<(), CommandError> {
    for Orphans { run, ended, left } in orphans::end_orphans(&context.home) {
        let id = &run.id;
        tell_ended(context, id, ended);
        if left.is_empty() {
            continue;
        }
        let spec = loop_host::journal::read(&run.path).ok().and_then(|reading| reading.fold().spec);
        let beside = spec.zip(place).is_some_and(|(spec, place)| overlap(&spec.workspace, place));
        if beside {
            return Err(CommandError::new(Kind::Wrong, format!("processes of loop {id} still work in this folder"))
                .because(format!("they could not be ended: {}", left.join(", ")))
                .hint("end them by hand, then start again"));
        }
        context.printer.progress(&format!("warning: processes of loop {id} could not be ended: {}\n", left.join(", ")));
    }
    Ok(())
}

/// Drives a run that is held, shows it, and says how the program ends.
pub(crate) fn go(context: &Context, held: HeldRun, workspace: &Path, opening: Event, json: bool) -> Done {
    let printer = context.printer;
    let mut live = Live::new(printer, json);
    if !json {
        // Settings that change with this opening are shown as they will hold.
        let mut shown = held.state.clone();
        shown.apply(&Fact::Happened(Input { at: loop_host::clock::now(), event: opening.clone() }));
        printer.progress(&header::header(&shown));
    }
    let signals = Signals::listen().map_err(|error| CommandError::of(Kind::Unable, &error))?;
    let before = held.state.clone();
    let folder = held.folder.clone();
    see_the_past(&mut live, &folder);
    let place = folder.clone();
    live.at_the_end(Box::new(move |state| write_result(&place, state)));
    let driven = drive(held, workspace, vec![opening], signals, &mut live);
    live.finish();
    container_setup::end(context, &folder, driven.as_ref().ok());
    match driven {
        Ok(state) => {
            let begun = !(state.phase.is_fresh() && state.trouble.host_failure().is_some());
            if !json && begun {
                let changes = visit::changes_of(&folder, &state);
                printer.answer(&summary(&state, live.claims(), &changes, printer));
            }
            index::note(&context.home, &folder, &state);
            room::make_room(context, state.settings.shown(), Some(&folder.id));
            room::tidy_checkpoints(context);
            Ok(state.standing().map_or(3, |standing| standing.exit_code))
        }
        Err(error) => {
            let state = loop_host::journal::read(&folder.path).map_or(before, |reading| reading.fold());
            if let Some(warning) = write_result(&folder, &state) {
                printer.error(&warning);
            }
            Err(CommandError::of(Kind::Unable, &error)
                .because("what cannot be written down must not go on; everything under way was ended")
                .hint(format!("make room or mend the disk, then: loop resume {}", folder.id)))
        }
    }
}

/// What a run did before this command went on with it.
fn see_the_past(live: &mut Live, folder: &RunFolder) {
    let Ok(reading) = loop_host::journal::read(&folder.path) else { return };
    let mut state = RunState::default();
    for entry in &reading.entries {
        state.apply(&entry.fact);
        live.saw(entry, &state);
    }
}

/// The result file, if one is wanted. It is written whole or not at all; what comes back is a warning.
pub(crate) fn write_result(folder: &RunFolder, state: &RunState) -> Option<String> {
    let setting = state.settings.shown().values.output.result.as_ref()?;
    let mut result = RunResult::of(state)?;
    if let Ok(reading) = loop_host::journal::read(&folder.path) {
        result = result.with(Record::of(&reading.entries).claims());
    }
    result.exit_code = result.exit_code.or(Some(3));
    let text = serde_json::to_string_pretty(&result).map_err(std::io::Error::from);
    let written = text.and_then(|text| write_whole(&path_of(setting), &(text + "\n")));
    written.err().map(|error| format!("warning: cannot write the result file {setting}: {error}\n"))
}
