//! `loop workflow`: check, show and run workflow files.
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use loop_core::settings::keys;
use loop_core::text::escaped_lines;
use loop_core::view::JSON_VERSION;
use loop_core::workflow::{self, Steps, Variables, Workflow, WorkflowError, WorkflowSource, variables_in};
use loop_host::paths::{read_bounded, text_of};
use loop_host::plan::{
    WorkflowBefore, WorkflowRequest, WorkflowStart, create_workflow, prepare_workflow, preview_workflow,
    reopen_workflow, workflow_before,
};
use serde_json::json;

use super::best_of;
use crate::args::PlaceArg;
use crate::context::{Context, Done, settings_error};
use crate::flags::StartFlags;
use crate::render::carried::{carried_lines, carried_value};
use crate::render::error::{CommandError, Kind};

/// One byte more than a file may have is enough to refuse it.
const FILE_BYTES_MAX: u64 = 1024 * 1024 + 1;

/// Run several loops with dependencies from a file; check and show such files
#[derive(Debug, Args)]
pub(crate) struct WorkflowArgs {
    #[command(subcommand)]
    verb: WorkflowVerb,
}

#[derive(Debug, Subcommand)]
enum WorkflowVerb {
    /// Run the loops of a workflow, each in a copy of the workspace; results are merged, then applied
    Run(Box<RunArgs>),
    /// Read the file of a workflow that was stopped, failed or crashed again, and resume it: what is done and did not
    /// change stays
    Resume(ResumeArgs),
    /// Check a workflow file: everything that is wrong with it, with line and column
    Check {
        #[command(flatten)]
        file: FileArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the steps of a workflow, and what waits for what
    Show {
        #[command(flatten)]
        file: FileArgs,
        /// Show only this loop and what it depends on; may be given several times
        #[arg(long, value_name = "ID")]
        only: Vec<String>,
        /// How to show it
        #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
        format: ShowFormat,
        /// Print JSON: the same as --format json
        #[arg(long)]
        json: bool,
    },
}

/// A workflow file and the values of its variables.
#[derive(Debug, Args)]
pub(crate) struct FileArgs {
    /// The workflow file, in YAML
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The value of a variable: {{NAME}} in the file; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

/// The arguments of `loop workflow resume`.
#[derive(Debug, Args)]
struct ResumeArgs {
    /// The plan: its id, the beginning of it, or @ for the newest of this folder
    #[arg(value_name = "ID")]
    id: String,
    /// The workflow file [default: the one that it was started with]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The value of a variable, in the place of the one that it was started with; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Say of each loop whether it would run again, and why; resume nothing
    #[arg(long)]
    dry_run: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
}

/// The arguments of `loop workflow run`.
#[derive(Debug, Args)]
struct RunArgs {
    #[command(flatten)]
    file: FileArgs,
    #[command(flatten)]
    place: PlaceArg,
    /// Run only this loop and what it depends on; may be given several times
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// After a failure, start loops that do not depend on the failed one all the same
    #[arg(long)]
    keep_going: bool,
    /// So many loops work at the same time [default: as the file says, or 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64))]
    parallel: Option<u32>,
    /// Show what would run, check every loop, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// Print events as lines of JSON instead of a summary
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: StartFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ShowFormat {
    /// Steps in lines, for people
    Text,
    /// For Graphviz
    Dot,
    /// A picture
    Svg,
    /// For programs
    Json,
}

pub(crate) fn run(context: &Context, args: &WorkflowArgs) -> Done {
    match &args.verb {
        WorkflowVerb::Run(args) => run_file(context, args),
        WorkflowVerb::Resume(args) => resume(context, args),
        WorkflowVerb::Check { file, json } => check(context, file, *json),
        WorkflowVerb::Show { file, only, format, json } => {
            let format = if *json { ShowFormat::Json } else { *format };
            show(context, file, only, format)
        }
    }
}

fn run_file(context: &Context, args: &RunArgs) -> Done {
    let (text, workflow) = read(&args.file, false)?;
    let workflow = workflow.map_err(|errors| refused(context, &args.file.file, &errors))?;
    let workflow = only(&workflow, &args.only, &args.file.file)?;
    let given = args.flags.read().map_err(|error| settings_error(&error))?;
    let of_one = [keys::promise(), keys::gate(), keys::no_promise(), keys::commit(), keys::result()];
    if let Some(given) = given.iter().find(|given| of_one.contains(&given.key)) {
        return Err(CommandError::new(Kind::Wrong, format!("--{} cannot be given here", given.key.flag.long))
            .because("a workflow has several loops, each with its own")
            .hint("write it into the file"));
    }
    let request = WorkflowRequest {
        workflow,
        path: args.file.file.clone(),
        text,
        start: WorkflowStart {
            set: args.file.set.clone(),
            only: args.only.clone(),
            given,
            parallel: args.parallel,
            keep_going: args.keep_going,
        },
        workspace: args.place.workspace.clone(),
        dry_run: args.dry_run,
    };
    start(context, request, args.json)
}

/// Runs a workflow, or shows what would run.
pub(super) fn start(context: &Context, request: WorkflowRequest, as_json: bool) -> Done {
    let dry_run = request.dry_run;
    let mut person = context.person();
    let prepared = prepare_workflow(&context.home, request, &mut person)?;
    if dry_run {
        if as_json {
            let mut answer = workflow::json(prepared.workflow());
            answer["version"] = json!(JSON_VERSION);
            context.printer.json(&answer);
        } else {
            context.printer.answer(&workflow::text(prepared.workflow()));
            context.printer.answer("\nnothing was started: this is a dry run\n");
        }
        return Ok(0);
    }
    let ready = create_workflow(&context.home, &prepared, &mut person)?;
    best_of::drive(context, ready, as_json)
}

/// Reads the file again and resumes the plan. What was typed at the start holds, and `--set` over it.
fn resume(context: &Context, args: &ResumeArgs) -> Done {
    let plan = context.find_plan_or_here(&args.id)?;
    let WorkflowBefore { path, mut start, workspace } = workflow_before(&plan)?;
    let path = args.file.clone().unwrap_or(path);
    let typed: Vec<&str> = args.set.iter().filter_map(|set| Some(set.split_once('=')?.0)).collect();
    let text = file_text(&path).map_err(|error| error.hint(format!("as it was started: loop resume {}", plan.id)))?;
    let used = variables_in(&text);
    // A value of the start that the file does not use any more is not a mistake of now.
    let stays =
        |set: &String| set.split_once('=').is_some_and(|(name, _)| !typed.contains(&name) && used.contains(name));
    start.set = start.set.into_iter().filter(stays).chain(args.set.iter().cloned()).collect();
    let file = FileArgs { file: path.clone(), set: start.set.clone() };
    let (text, workflow) = read(&file, false)?;
    let workflow = workflow.map_err(|errors| refused(context, &path, &errors))?;
    let workflow = only(&workflow, &start.only, &path)?;
    let workspace = Some(workspace);
    let request = WorkflowRequest { workflow, path, text, start, workspace, dry_run: args.dry_run };
    let mut person = context.person();
    let prepared = prepare_workflow(&context.home, request, &mut person)?;
    if args.dry_run {
        let change = preview_workflow(&plan, &prepared)?;
        match args.json {
            true => context.printer.json(&carried_value(&plan.id, &change)),
            false => context.printer.answer(&carried_lines(&change)),
        }
        return Ok(0);
    }
    let ready = reopen_workflow(&context.home, plan, &prepared, "loop workflow resume", &mut person)?;
    best_of::drive(context, ready, args.json)
}

fn check(context: &Context, args: &FileArgs, as_json: bool) -> Done {
    let named = text_of(&args.file);
    let workflow = match read(args, false)?.1 {
        Ok(workflow) => workflow,
        Err(errors) if as_json => {
            let answer = json!({"version": JSON_VERSION, "file": named, "fine": false, "errors": errors});
            context.printer.json(&answer);
            return Ok(4);
        }
        Err(errors) => return Err(refused(context, &args.file, &errors)),
    };
    if as_json {
        let answer = json!({"version": JSON_VERSION, "file": named, "fine": true, "errors": []});
        context.printer.json(&answer);
        return Ok(0);
    }
    let (entries, steps) = (workflow.entries.len(), Steps::of(&workflow).count());
    let plural = |count: usize, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    context.printer.answer(&format!(
        "{named} is fine: {} in {}\n",
        plural(entries, "entry", "entries"),
        plural(steps, "step", "steps")
    ));
    Ok(0)
}

fn show(context: &Context, args: &FileArgs, ids: &[String], format: ShowFormat) -> Done {
    let workflow = read(args, true)?.1.map_err(|errors| refused(context, &args.file, &errors))?;
    let workflow = only(&workflow, ids, &args.file)?;
    match format {
        ShowFormat::Text => context.printer.answer(&workflow::text(&workflow)),
        ShowFormat::Dot => context.printer.answer(&workflow::dot(&workflow)),
        ShowFormat::Svg => context.printer.answer(&workflow::svg(&workflow)),
        ShowFormat::Json => {
            let mut answer = workflow::json(&workflow);
            answer["version"] = json!(JSON_VERSION);
            context.printer.json(&answer);
        }
    }
    Ok(0)
}

/// The part of a workflow that was asked for.
fn only(workflow: &Workflow, ids: &[String], file: &Path) -> Result<Workflow, CommandError> {
    if ids.is_empty() {
        return Ok(workflow.clone());
    }
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    workflow::only(workflow, &ids).map_err(|(unknown, near)| {
        let error = CommandError::new(Kind::Wrong, format!("--only {unknown}: no loop has this id"))
            .because(format!("{} does not have it", text_of(file)));
        match near {
            Some(near) => error.hint(format!("did you mean {near}?")),
            None => {
                let known: Vec<&str> = workflow.entries.iter().map(|entry| entry.id.as_str()).collect();
                error.hint(format!("its ids are {}", known.join(", ")))
            }
        }
    })
}

/// The text of a file, and the workflow in it.
type ReadFile = (String, Result<Workflow, Vec<WorkflowError>>);

/// Reads a workflow file. `unset`: variables may be without a value.
fn read(args: &FileArgs, unset: bool) -> Result<ReadFile, CommandError> {
    let variables = Variables::read(args.set.iter().map(String::as_str)).map_err(|error| {
        CommandError::new(Kind::Wrong, format!("--set {} cannot be taken", error.typed))
            .because(error.why)
            .hint(error.hint)
    })?;
    let variables = if unset { variables.with_unset() } else { variables };
    let named = text_of(&args.file);
    let text = file_text(&args.file)?;
    let workflow = workflow::read(WorkflowSource { text: &text, file: &named }, &variables);
    Ok((text, workflow))
}

/// The text of a file.
fn file_text(file: &Path) -> Result<String, CommandError> {
    let cannot = |why: String| {
        CommandError::new(Kind::Wrong, format!("cannot read {}", text_of(file)))
            .because(why)
            .hint("name a workflow file in YAML")
    };
    let bytes = read_bounded(file, FILE_BYTES_MAX).map_err(|error| cannot(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| cannot("it is not valid UTF-8".to_owned()))
}

/// Shows everything that is wrong with a file.
fn refused(context: &Context, file: &Path, errors: &[WorkflowError]) -> CommandError {
    for error in errors {
        context.printer.error(&escaped_lines(&error.to_string()));
    }
    let count = match errors.len() {
        1 => "one mistake".to_owned(),
        count => format!("{count} mistakes"),
    };
    CommandError::new(Kind::Wrong, format!("{} has {count}", text_of(file)))
        .because("a workflow is read as a whole before anything runs")
        .hint(format!("fix the file, then: loop workflow check {}", text_of(file)))
}
