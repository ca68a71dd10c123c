//! `loop report`: one loop, or all loops of a night, as a page to read.
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use loop_core::run::RunState;
use loop_core::text;
use loop_core::view::{Liveness, NextStep, PeriodReport, ReportFold, RunReport};
use loop_host::attempt::Meaning;
use loop_host::paths::path_of;
use loop_host::process::tail_of;
use loop_host::run_folder::{RunFolder, read_text};
use loop_host::{clock, index, journal};

use super::{checkpoint_lookup, compare, list, output_file, plan, plan_report};
use crate::context::{Context, Done, read_error, runs_error};
use crate::here::Wanted;
use crate::kept::KeptCheckpoints;
use crate::render::error::{CommandError, Kind};
use crate::render::page::{self, Block};
use crate::render::{report as show, summary};

/// Without an id: loops that were at work in this time.
const PERIOD: &str = "16h";
/// So much of what an agent wrote is searched for its last line.
const SAID_BYTES_MAX: u64 = 64 * 1024;
/// How long that line may be.
const SAID_LETTERS_MAX: usize = 160;
/// A longer patch is left out: it is read better by `loop history --diff`.
const PATCH_BYTES_MAX: usize = 256 * 1024;

/// The form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportFormat {
    /// Markdown
    Markdown,
    /// One HTML file that needs nothing else
    Html,
    /// JSON
    Json,
}

/// Show a loop, or all loops of a night, as a page to read
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// The loop: its id, any beginning of it that fits one loop only, or @: the newest of this folder [default: all loops
    /// since --since]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// The form
    #[arg(long, value_name = "FORM", value_enum, default_value = "markdown")]
    format: ReportFormat,
    /// Without an id: loops that were at work since then: 12h, 2026-11-15 or an RFC 3339 time
    #[arg(long, value_name = "TIME", default_value = PERIOD, conflicts_with = "id")]
    since: String,
    /// Write it to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Leave out what the loop changed as a whole
    #[arg(long)]
    no_diff: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &ReportArgs) -> Done {
    let format = if args.json { ReportFormat::Json } else { args.format };
    let plan = args.id.as_deref().and_then(|id| context.plan_or_here(Some(id), Wanted::Newest));
    if let Some(folder) = plan {
        let page = plan_report::read(context, &folder, !args.no_diff)?;
        let title = format!("plan {}", folder.id);
        let text = match format {
            ReportFormat::Json => page.json,
            form @ (ReportFormat::Markdown | ReportFormat::Html) => in_form(form, &title, &page.blocks),
        };
        return deliver(context, args, &title, &text, &[page.workspace]);
    }
    let (title, text, workspaces) = match &args.id {
        Some(id) => {
            let folder = context.find_or_here(Some(id), Wanted::Newest)?;
            let Read { report, workspace } = read(context, &folder)?;
            let title = format!("loop {}", folder.id);
            let text = match format {
                ReportFormat::Json => json(&report),
                form @ (ReportFormat::Markdown | ReportFormat::Html) => {
                    let patch = (!args.no_diff).then(|| patch(&folder)).flatten();
                    in_form(form, &title, &show::of_run(&report, patch, &local))
                }
            };
            (title, text, vec![workspace])
        }
        None => {
            let since_ms = list::since(&args.since)?;
            let (report, workspaces) = of_period(context, since_ms)?;
            let title = "loops".to_owned();
            let text = match format {
                ReportFormat::Json => json(&report),
                form @ (ReportFormat::Markdown | ReportFormat::Html) => {
                    in_form(form, &title, &show::of_period(&report, &local))
                }
            };
            (title, text, workspaces)
        }
    };
    deliver(context, args, &title, &text, &workspaces)
}

/// Prints the text, or writes it to the file that was named.
fn deliver(context: &Context, args: &ReportArgs, title: &str, text: &str, workspaces: &[PathBuf]) -> Done {
    let Some(path) = &args.output else {
        context.printer.answer(text);
        return Ok(0);
    };
    output_file::write(workspaces, path, text)?;
    context.printer.progress(&format!("the report of {title} is in {}\n", path.display()));
    Ok(0)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn in_form(format: ReportFormat, title: &str, blocks: &[Block]) -> String {
    match format {
        ReportFormat::Html => page::html(title, blocks),
        ReportFormat::Markdown | ReportFormat::Json => page::markdown(blocks),
    }
}

/// A time as people read it here.
fn local(stamp: &str) -> String {
    stamp.parse::<jiff::Timestamp>().map_or_else(
        |_| stamp.to_owned(),
        |stamp| stamp.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
    )
}

/// The report of a period, and the workspaces of its loops.
fn of_period(context: &Context, since_ms: u64) -> Result<(PeriodReport, Vec<PathBuf>), CommandError> {
    let listed = index::list_since(&context.home, since_ms).map_err(|error| runs_error(&error))?;
    let mut unreadable = Vec::new();
    let (mut loops, mut workspaces) = (Vec::new(), Vec::new());
    for listed in listed {
        match read(context, &listed.run) {
            Ok(Read { report, workspace }) => {
                loops.push(report);
                workspaces.push(workspace);
            }
            Err(_) => unreadable.push(listed.run.id.to_string()),
        }
    }
    if !unreadable.is_empty() {
        let ids = unreadable.join(", ");
        context.printer.progress(&format!("not in the report: {ids} (just begun, or damaged: see loop doctor)\n"));
    }
    let plans = plan::views_since(context, since_ms);
    workspaces.extend(plans.iter().map(|plan| path_of(&plan.workspace)));
    Ok((PeriodReport::new(since_ms, clock::now(), loops, plans), workspaces))
}

/// A run that was read.
struct Read {
    report: RunReport,
    workspace: PathBuf,
}

/// The report of a run with what only its files say.
fn read(context: &Context, folder: &RunFolder) -> Result<Read, CommandError> {
    let reading = journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let mut fold = ReportFold::default();
    reading.entries.iter().for_each(|entry| fold.apply(entry));
    let state = fold.state().clone();
    let liveness = if folder.holder().is_some() { Liveness::Driven } else { Liveness::Free };
    let report = fold.finish(liveness, clock::now());
    let mut report = report.ok_or_else(|| {
        CommandError::new(Kind::Unable, format!("loop {} has not begun", folder.id)).hint("try again in a moment")
    })?;
    if let Some(spec) = &state.spec
        && let Ok(task) = read_text(folder, &spec.goal)
    {
        report.task = task;
    }
    for row in &mut report.iterations {
        row.said = said(folder, &state, &row.agent, row.iteration, row.last_attempt);
    }
    report.changes = checkpoint_lookup::total_changes(folder, &state);
    report.next = next_steps(&state, &report, &KeptCheckpoints::of(&context.home, folder, &state));
    let workspace = state.spec.as_ref().map_or_else(PathBuf::new, |spec| path_of(&spec.workspace.path));
    Ok(Read { report, workspace })
}

/// The commands that the end screen has, too.
fn next_steps(state: &RunState, report: &RunReport, kept: &KeptCheckpoints) -> Vec<NextStep> {
    let id = &report.run.id;
    // Behind three blanks stands a remark, which is no part of the command.
    let step = |(name, line): (&'static str, String)| {
        let (command, remark) = line.split_once("   (").map_or((line.as_str(), None), |(command, remark)| {
            (command, Some(remark.trim_end_matches(')').to_owned()))
        });
        NextStep { name: name.to_owned(), command: command.to_owned(), remark }
    };
    let mut steps: Vec<NextStep> = summary::looks(state, id, kept).into_iter().map(step).collect();
    if report.run.resumable {
        steps.push(step(("next", summary::next_command(state, id))));
    }
    let verified = report.certificate.as_ref().is_some_and(|proof| proof.verified && proof.checkpoint.is_some());
    let is_kept = report.certificate.iter().filter_map(|proof| proof.checkpoint.as_deref()).all(|name| kept.has(name));
    if verified && is_kept && steps.is_empty() {
        steps.push(step(("verify", format!("loop verify {id}"))));
    }
    steps
}

/// The last line that an agent wrote for people, the status block left out.
fn said(folder: &RunFolder, state: &RunState, agent: &str, iteration: u32, attempt: u32) -> Option<String> {
    let written = tail_of(&folder.attempt(iteration, attempt).join("stdout"), SAID_BYTES_MAX);
    let shown = Meaning::of_agent(state, agent).shown(&written).into_owned();
    let clean = text::clean(&shown);
    let before_block = clean.split("---LOOP").next().unwrap_or_default();
    let last = before_block.lines().map(str::trim).rfind(|line| !line.is_empty())?;
    Some(text::one_line(last, SAID_LETTERS_MAX))
}

/// What the whole run changed, as a patch; none where there is none, or it is too long to be read here.
fn patch(folder: &RunFolder) -> Option<String> {
    let patch = compare::whole_patch(folder, PATCH_BYTES_MAX).ok()?;
    match patch {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text),
        None => Some(format!("too long for a page: loop diff {}\n", folder.id)),
    }
}
