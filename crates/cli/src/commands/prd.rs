//! `loop prd`: lists of work whose items are proven before they are ticked.
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use loop_core::list::planned_checks;
use loop_core::list::{self, List, ListFormat};
use loop_core::policy::item::CriterionState;
use loop_core::text;
use loop_core::view::{AcceptanceView, CheckedCriterion};
use loop_host::item::{AcceptanceRequest, check_acceptance};
use loop_host::paths::{read_bounded, text_of};

use super::{prd_run, prd_status, verify};
use crate::args::PlaceArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::summary::quoted;
use crate::render::table::{ShrinkingColumn, table_within};

/// The list where no file is named.
pub(super) const FILE: &str = "prd.json";
/// One byte more than a list may have is enough to refuse it.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024 + 1;
/// Tables are no wider than this where there is no terminal.
const COLUMNS: usize = 80;

/// Work through a list of items, each proven before it is ticked; check what would prove them
#[derive(Debug, Args)]
pub(crate) struct PrdArgs {
    #[command(subcommand)]
    command: PrdCommand,
}

#[derive(Debug, Subcommand)]
enum PrdCommand {
    /// Work on the next open item until its checks pass, tick it, and stop; --all continues with the next one
    Run(Box<prd_run::RunArgs>),
    /// Show the items of a list: what is ticked, what was tried, what proved it
    Status(prd_status::PrdStatusArgs),
    /// Say for each criterion of the open items what checks it, and what that check says now: exit 0 if nothing is to be
    /// fixed or approved, 1 if something is. The commands run three times, in a copy of the workspace
    Check(CheckArgs),
}

/// The arguments of `loop prd check`.
#[derive(Debug, Args)]
struct CheckArgs {
    /// The list [default: prd.json]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Check criteria that have no command of their own with this one
    #[arg(long, value_name = "CMD")]
    check: Option<String>,
    /// Only this item, also where it is done
    #[arg(long, value_name = "ID")]
    item: Option<String>,
    /// Read the file as this format, whatever it looks like
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Approve the commands of the file as they are now, and run them
    #[arg(long)]
    approve: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArg,
}

pub(crate) fn run(context: &Context, args: &PrdArgs) -> Done {
    match &args.command {
        PrdCommand::Run(args) => prd_run::run(context, args),
        PrdCommand::Status(args) => prd_status::run(context, args),
        PrdCommand::Check(args) => check(context, args),
    }
}

fn check(context: &Context, args: &CheckArgs) -> Done {
    let folder = args.place.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let path = args.file.clone().unwrap_or_else(|| folder.join(FILE));
    let shown = text_of(&path);
    let list = read(&path, &shown, args.format.as_deref())?;
    if let Some(id) = &args.item {
        known_item(&list, id, &shown)?;
    }
    let real = |path: &Path| {
        path.canonicalize().map_err(|error| {
            CommandError::new(Kind::Wrong, format!("cannot read {}", path.display())).because(error.to_string())
        })
    };
    let (workspace, file) = (real(&folder)?, real(&path)?);
    let planned = planned_checks(&list, args.item.as_deref(), args.check.as_deref());
    let request = AcceptanceRequest {
        home: &context.home,
        workspace: &workspace,
        file: &file,
        planned: &planned,
        approve: args.approve,
    };
    let Some(criteria) = check_acceptance(&request, &mut |progress| verify::show(context.printer, &progress))? else {
        context.printer.error("stopped: there is no result, and nothing is left behind\n");
        return Ok(2);
    };
    let view = AcceptanceView::new(&shown, &list.read_as(), criteria);
    match args.json {
        true => context.printer.json(&view),
        false => context.printer.answer(&as_text(&view, args)),
    }
    Ok(u8::from(view.is_to_fix()))
}

pub(super) fn read(path: &Path, shown: &str, format: Option<&str>) -> Result<List, CommandError> {
    let format = match format {
        Some(word) => Some(ListFormat::parse(word).ok_or_else(|| unknown_format(word))?),
        None => None,
    };
    let bytes = read_bounded(path, FILE_BYTES_MAX).map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot read {shown}"))
            .because(error.to_string())
            .hint("name the list: loop prd check FILE")
    })?;
    list::read(shown, &bytes, format).map_err(|error| {
        let place = format!("{}:{}:{}", error.file, error.line, error.column);
        CommandError::new(Kind::Wrong, format!("{place}: {}", error.message)).hint(error.hint)
    })
}

pub(super) fn unknown_format(word: &str) -> CommandError {
    let known: Vec<&str> = ListFormat::ALL.iter().map(|format| format.word()).collect();
    CommandError::new(Kind::Wrong, format!("unknown format {word}"))
        .because("no list of work has this format")
        .hint(format!("one of: {}", known.join(", ")))
}

fn known_item(list: &List, id: &str, shown: &str) -> Result<(), CommandError> {
    if list.work().any(|item| item.id == id) {
        return Ok(());
    }
    let ids = list.work().map(|item| item.id.as_str());
    let hint = match text::nearest(id, ids) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("all items: loop prd check {}", quoted(shown)),
    };
    Err(CommandError::new(Kind::Wrong, format!("{shown} has no item {id}")).hint(hint))
}

fn as_text(view: &AcceptanceView, args: &CheckArgs) -> String {
    let mut all = format!("{}: {}\n", text::escaped(&view.file), view.read_as);
    if view.criteria.is_empty() {
        all.push_str("no item is open\n");
        return all;
    }
    let rows: Vec<Vec<String>> = view.criteria.iter().map(row).collect();
    let shrinking = [
        ShrinkingColumn { at: 3, least: 14 },
        ShrinkingColumn { at: 4, least: 14 },
        ShrinkingColumn { at: 0, least: 8 },
    ];
    all.push_str(&table_within(COLUMNS, &shrinking, &["ITEM", "NO", "STATE", "CRITERION", "CHECKED BY"], &rows));
    for sentence in view.advice() {
        all.push_str(&format!("{sentence}\n"));
    }
    let waiting = view.not_approved();
    if !waiting.is_empty() {
        all.push_str(&format!(
            "\nnot run: these commands come from the file, and no person has approved them\n  {}\n\
             read them, then: loop prd check {}{} --approve\n",
            waiting.join("\n  "),
            quoted(&view.file),
            args.item.as_ref().map(|id| format!(" --item {}", quoted(id))).unwrap_or_default(),
        ));
    }
    all
}

fn row(one: &CheckedCriterion) -> Vec<String> {
    let by = match (&one.command, one.source) {
        (Some(command), Some(source)) => format!("{}: {}", source.words(), text::escaped(command)),
        _ if one.artifacts.is_empty() => "-".to_owned(),
        _ => format!("files: {}", text::escaped(&one.artifacts.join(", "))),
    };
    let end = match (one.state, one.tries.first()) {
        (CriterionState::CannotRun, Some(end)) => format!("{by} ({end})"),
        _ => by,
    };
    let id = if one.criterion.is_empty() { "-".to_owned() } else { text::escaped(&one.criterion) };
    vec![text::escaped(&one.item), id, one.state.words().to_owned(), text::one_line(&one.text, 200), end]
}
