//! `loop prd status`: the items of a list with what loops did for them, from the newest plans of that list.
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::list::{Item, List};
use loop_core::policy::budget::money_text;
use loop_core::text;
use loop_core::view::{JSON_VERSION, NodeRow, PlanView};
use loop_host::paths::{path_of, text_of};
use serde_json::{Value, json};

use super::prd;
use crate::args::PlaceArg;
use crate::context::{Context, Done};
use crate::render::error::{CommandError, Kind};
use crate::render::table::{ShrinkingColumn, table_within};

/// How wide the table may be where there is not a terminal.
const COLUMNS: usize = 100;

/// The arguments of `loop prd status`.
#[derive(Debug, Args)]
pub(crate) struct PrdStatusArgs {
    /// The list, or a plan by its id [default: prd.json]
    #[arg(value_name = "FILE|PLAN")]
    which: Option<String>,
    /// Read the file as this format, whatever it looks like
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArg,
}

/// What a plan did for an item.
struct Work<'a> {
    plan: &'a PlanView,
    node: &'a NodeRow,
}

pub(crate) fn run(context: &Context, args: &PrdStatusArgs) -> Done {
    let plans: Vec<PlanView> = crate::plans::views(context).into_iter().map(|(_, view)| view).collect();
    let named = args.which.as_deref().and_then(|id| context.find_plan(id).ok());
    let of_plan = named.as_ref().and_then(|folder| plans.iter().find(|plan| plan.id == folder.id.as_str()));
    let file = match (of_plan, &args.which) {
        (Some(plan), _) => file_of(plan).ok_or_else(|| {
            CommandError::new(Kind::Wrong, format!("{} has no list", plan.id))
                .because(format!("it is a {}", plan.kind_words()))
                .hint(format!("loop status {}", plan.id))
        })?,
        (None, Some(file)) => PathBuf::from(file),
        (None, None) => args.place.workspace.clone().unwrap_or_else(|| PathBuf::from(".")).join(prd::FILE),
    };
    let shown = text_of(&file);
    let list = prd::read(&file, &shown, args.format.as_deref())?;
    let real = file.canonicalize().unwrap_or(file);
    let is_of_list = |plan: &&PlanView| file_of(plan).is_some_and(|other| is_same(&other, &real));
    let plans: Vec<&PlanView> = match of_plan {
        Some(plan) => vec![plan],
        None => plans.iter().filter(is_of_list).collect(),
    };
    let rows: Vec<(&Item, Option<Work<'_>>)> = list.work().map(|item| (item, work_on(&plans, &item.id))).collect();
    if args.json {
        let items: Vec<Value> = rows.iter().map(|(item, work)| value(item, work.as_ref())).collect();
        let plan = plans.first().map(|plan| &plan.id);
        context.printer.json(&json!({
            "version": JSON_VERSION, "file": shown, "read_as": list.read_as(), "plan": plan, "items": items,
        }));
        return Ok(0);
    }
    context.printer.answer(&as_text(&shown, &list, &rows, plans.first().copied()));
    Ok(0)
}

/// The list of a plan, by its whole path.
fn file_of(plan: &PlanView) -> Option<PathBuf> {
    let list = plan.list.as_ref()?;
    Some(Path::new(&plan.workspace).join(path_of(&list.file)))
}

fn is_same(one: &Path, real: &Path) -> bool {
    one.canonicalize().unwrap_or_else(|_| one.to_owned()) == real
}

/// The newest plan that began an item, and what it did.
fn work_on<'a>(plans: &[&'a PlanView], id: &str) -> Option<Work<'a>> {
    plans.iter().find_map(|plan| {
        let node = plan.nodes.iter().find(|node| node.item.as_ref().is_some_and(|item| item.id == id))?;
        Some(Work { plan, node })
    })
}

/// Where an item is, in a word: what the list says of itself and what a loop proved are two things.
fn state_of(item: &Item, work: Option<&Work<'_>>) -> String {
    match (item.done, work) {
        (true, Some(work)) if work.node.state == "ticked" => "proven".to_owned(),
        (true, _) => "ticked, not by loop".to_owned(),
        (false, Some(work)) if work.node.state == "ticked" => "open again".to_owned(),
        (false, Some(work)) => work.node.state.replace('_', " "),
        (false, None) if item.optional => "optional".to_owned(),
        (false, None) => "open".to_owned(),
    }
}

fn value(item: &Item, work: Option<&Work<'_>>) -> Value {
    let node = work.map(|work| work.node);
    json!({
        "id": item.id, "title": item.title, "line": item.line, "ticked": item.done, "state": state_of(item, work),
        "plan": work.map(|work| &work.plan.id), "run": node.and_then(|node| node.run.as_ref()),
        "loops": node.and_then(|node| node.item.as_ref()).map_or(0, |item| item.loops),
        "cost_micros": node.map_or(0, |node| node.cost_micros),
        "evidence": node.and_then(|node| node.item.as_ref()),
    })
}

fn as_text(shown: &str, list: &List, rows: &[(&Item, Option<Work<'_>>)], plan: Option<&PlanView>) -> String {
    let mut all = format!("{}: {}\n", text::escaped(shown), list.read_as());
    if let Some(plan) = plan {
        let why = plan.reason.as_deref().unwrap_or_else(|| plan.status.name());
        all.push_str(&format!("newest plan: {} {}\n", plan.id, text::one_line(why, 300)));
    }
    let cells: Vec<Vec<String>> = rows.iter().map(|(item, work)| row(item, work.as_ref())).collect();
    let shrinking = [ShrinkingColumn { at: 5, least: 12 }, ShrinkingColumn { at: 4, least: 16 }];
    all.push_str(&table_within(COLUMNS, &shrinking, &["ITEM", "STATE", "LOOPS", "COST", "EVIDENCE", "TITLE"], &cells));
    all
}

fn row(item: &Item, work: Option<&Work<'_>>) -> Vec<String> {
    let dash = || "-".to_owned();
    let done = work.and_then(|work| work.node.item.as_ref());
    let evidence = match done {
        Some(done) if item.done => match done.proofs.iter().flat_map(|proof| &proof.artifacts).next() {
            Some(first) => text::escaped(first),
            None => done.verdict.clone().unwrap_or_else(dash),
        },
        Some(done) => done.ended_by.clone().or_else(|| done.why.first().cloned()).unwrap_or_else(dash),
        None => dash(),
    };
    let cost = work.map(|work| work.node.cost_micros).filter(|cost| *cost > 0);
    vec![
        text::escaped(&item.id),
        state_of(item, work),
        done.map_or_else(dash, |done| done.loops.to_string()),
        cost.map_or_else(dash, money_text),
        text::one_line(&evidence, 200),
        text::one_line(&item.title, 200),
    ]
}
