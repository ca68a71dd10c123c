//! `loop list`: all loops, with filters.
use clap::Args;
use loop_core::policy::budget::money_text;
use loop_core::refusal::Refusal;
use loop_core::run::Status;
use loop_core::settings::{self, millis, parse_value};
use loop_core::text::{self, nearest};
use loop_core::time;
use loop_core::view::{Listing, NodeRow, PlanView, Row};
use loop_host::paths::text_of;
use loop_host::{clock, index};

use super::plan;
use super::status::rows;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::moment;
use crate::render::printer::{Loudness, text_width};
use crate::render::table::{ShrinkingColumn, table_within};

/// So many loops that cannot be read are named.
const UNREADABLE_NAMED_MAX: usize = 5;

/// List all loops: those of this folder first, then the newest first
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only those with this status; failed means failed and crashed
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only those started since: 2h, 2026-11-15 or an RFC 3339 time
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Show the loops of every plan below it, also where the plan is over
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &ListArgs) -> Done {
    let since_ms = args.since.as_deref().map(since).transpose()?;
    // A stopped loop is a paused one without a process; the table shows that word.
    let only_stopped = args.status.as_deref() == Some("stopped");
    let wanted = if only_stopped { Some(Status::Paused) } else { args.status.as_deref().and_then(Status::of) };
    if let Some(status) = args.status.as_deref().filter(|_| wanted.is_none()) {
        return Err(unknown_status(status));
    }
    let listed = index::list(&context.home).map_err(|error| runs_error(&error))?;
    let all = listed.len();
    let unreadable: Vec<String> = listed
        .iter()
        .filter_map(|listed| Some(format!("loop {} cannot be read: {}", listed.run.id, listed.row.as_ref().err()?)))
        .collect();
    let readable = all - unreadable.len();
    let recent = listed.into_iter().filter(|listed| since_ms.is_none_or(|since| listed.times.created_ms >= since));
    let fits = |row: &Row| {
        let also_crashed = wanted == Some(Status::Failed) && row.status == Status::Crashed;
        let status = also_crashed || wanted.is_none_or(|wanted| row.status == wanted);
        let status = status && (!only_stopped || row.outcome.is_some());
        status && args.agent.as_ref().is_none_or(|agent| row.agent == *agent)
    };
    let rows = rows(recent.collect());
    let since = since_ms.map(time::rfc3339).unwrap_or_default();
    let plans = crate::plans::views(context).into_iter().map(|(_, view)| view).filter(|view| view.started_at >= since);
    let fits_plan = |view: &PlanView| {
        let row = Row { agent: args.agent.clone().unwrap_or_default(), ..view.row() };
        let has_agent = args.agent.as_ref().is_none_or(|agent| view.nodes.iter().any(|node| node.has_agent(agent)));
        has_agent && fits(&row)
    };
    let plans: Vec<PlanView> = plans.collect();
    let most = args.limit.unwrap_or(usize::MAX);
    if args.json {
        let mut loops: Vec<Row> = rows.into_iter().filter(fits).collect();
        loops.truncate(most);
        let plans = plans.into_iter().filter(fits_plan).take(most).collect();
        context.printer.json(&Listing::with_plans(loops, plans));
    } else {
        // One row for a plan: its loops stand below it.
        let row_fits = |row: &Row| match plans.iter().find(|plan| row.is_plan && plan.id == row.id) {
            Some(plan) => fits_plan(plan),
            None => fits(row),
        };
        let mut rows: Vec<Row> = plan::with_plans(rows, &plans).into_iter().filter(row_fits).collect();
        // So that --limit shows the first of the list.
        let here = here();
        rows.sort_by_key(|row| row.workspace != here);
        rows.truncate(most);
        let of_person = |plan: &&PlanView| plan.recovers.is_none();
        let shows_tree = |plan: &&PlanView| args.all || !plan.row().is_over() || plan.resumable;
        let trees: Vec<&PlanView> = plans.iter().filter(of_person).filter(shows_tree).collect();
        context.printer.answer(&match (rows.is_empty(), readable, all) {
            (false, ..) => listing(&rows, &trees, context.printer.loudness == Loudness::Verbose),
            (true, 1.., _) => format!("none of {readable} loops matches\n"),
            (true, 0, 1..) => "no loop can be read\n".to_owned(),
            (true, 0, 0) => "no loops\nsee one work:  loop demo\n".to_owned(),
        });
    }
    for line in unreadable.iter().take(UNREADABLE_NAMED_MAX) {
        context.printer.progress(&format!("{line}\n"));
    }
    if !unreadable.is_empty() {
        let loops = if unreadable.len() == 1 { "1 loop".to_owned() } else { format!("{} loops", unreadable.len()) };
        context.printer.progress(&format!("{loops} cannot be read; see: loop doctor\n"));
    }
    Ok(0)
}

fn unknown_status(status: &str) -> CommandError {
    let names: Vec<&str> = Status::ALL.map(Status::name).into_iter().chain(["stopped"]).collect();
    let near = nearest(status, names.iter().copied());
    let near = near.map_or_else(|| names.join(", "), |near| format!("did you mean {near}?"));
    CommandError::new(Kind::Wrong, format!("--status cannot be {status:?}"))
        .because("no loop has such a status")
        .hint(near)
}

/// The columns that get narrower where a row does not fit: the task, the folder, then what qualifies a status.
const SHRINKING: [ShrinkingColumn; 3] =
    [ShrinkingColumn { at: 3, least: 16 }, ShrinkingColumn { at: 4, least: 12 }, ShrinkingColumn { at: 1, least: 24 }];

fn here() -> String {
    std::env::current_dir().map(|folder| text_of(&folder)).unwrap_or_default()
}

/// One line for each loop and plan, and below these plans one for each of their loops.
fn listing(rows: &[Row], trees: &[&PlanView], verbose: bool) -> String {
    let here = here();
    let now_ms = clock::now().wall_ms;
    let mut head = vec!["ID", "STATUS", "ITER", "TASK", "FOLDER", "AGENT", "COST", "STARTED"];
    head.extend(verbose.then_some("SIZE"));
    let tree = |row: &Row| {
        let plan = trees.iter().find(|plan| row.is_plan && plan.id == row.id);
        plan.map(|plan| nodes(plan, verbose)).unwrap_or_default()
    };
    let with_tree = |row: &Row| [vec![cells(row, &here, now_ms, verbose)], tree(row)].concat();
    let cells: Vec<Vec<String>> = rows.iter().flat_map(with_tree).collect();
    table_within(text_width(), &SHRINKING, &head, &cells)
}

/// The nodes of a plan, as rows below it.
fn nodes(plan: &PlanView, verbose: bool) -> Vec<Vec<String>> {
    let last = plan.nodes.len().saturating_sub(1);
    let row = |(at, node): (usize, &NodeRow)| {
        let branch = if at == last { "└" } else { "├" };
        let name = if plan.kind == "best-of" { format!("branch {}", node.node) } else { node.node.clone() };
        // The whole reason is in `loop history`.
        let words = node.words.split(':').next().unwrap_or_default();
        let cost = Some(node.cost_micros).filter(|micros| *micros > 0);
        let mut cells = vec![
            format!("{branch} {}", node.run.as_deref().unwrap_or("-")),
            text::one_line(words, 60),
            if node.iterations == 0 { "-".to_owned() } else { node.iterations.to_string() },
            name,
            String::new(),
            node.agent.clone(),
            cost.map_or_else(|| "-".to_owned(), money_text),
            String::new(),
        ];
        cells.extend(verbose.then(String::new));
        cells
    };
    plan.nodes.iter().enumerate().map(row).collect()
}

fn cells(row: &Row, here: &str, now_ms: u64, verbose: bool) -> Vec<String> {
    let folder = row.workspace.rsplit('/').next().unwrap_or_default();
    let of_plan = row.plan.as_ref().map(|plan| format!("plan {plan}"));
    let task = if row.is_plan { format!("{}: {}", row.promise, row.goal) } else { row.goal.clone() };
    // A copy has no name that people know.
    let folder = of_plan.as_deref().unwrap_or(if row.workspace == here { "." } else { folder });
    let mut cells = vec![
        row.id.clone(),
        row.status_words(),
        row.progress(),
        text::escaped_head(&task, 60),
        text::escaped_head(folder, 32),
        row.agent.clone(),
        row.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.2}")),
        moment::ago_brief(&row.started_at, now_ms),
    ];
    let thinned = if row.thinned { " (thinned)" } else { "" };
    let size = row.bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{}{thinned}", text::size(bytes)));
    cells.extend(verbose.then_some(size));
    cells
}

/// How long ago, in milliseconds: read as the durations of settings are, and it may be zero.
pub(crate) fn age_ms(text: &str) -> Result<u64, Refusal> {
    if loop_core::time::parse_duration_ms(text) == Ok(0) {
        return Ok(0);
    }
    let read = parse_value(settings::Kind::Duration, text)?;
    Ok(millis(&read).unwrap_or(0))
}

/// A moment as people say it, in milliseconds since 1970.
pub(crate) fn since(text: &str) -> Result<u64, CommandError> {
    let now = clock::now().wall_ms;
    if let Ok(stamp) = text.parse::<jiff::Timestamp>() {
        return Ok(u64::try_from(stamp.as_millisecond()).unwrap_or(0));
    }
    if let Ok(date) = text.parse::<jiff::civil::Date>()
        && let Ok(midnight) = date.to_zoned(jiff::tz::TimeZone::system())
    {
        return Ok(u64::try_from(midnight.timestamp().as_millisecond()).unwrap_or(0));
    }
    if let Ok(ago) = age_ms(text) {
        return Ok(now.saturating_sub(ago));
    }
    Err(CommandError::new(Kind::Wrong, format!("--since cannot be {text:?}"))
        .because("it is not a duration, a date or a time")
        .hint("for example 2h, 2026-11-15 or 2026-11-15T20:00:00Z"))
}
