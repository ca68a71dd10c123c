//! `loop list`: all loops, with filters.
use clap::Args;
use loop_core::refusal::Refusal;
use loop_core::run::Status;
use loop_core::settings::{self, millis, parse_value};
use loop_core::text::{self, nearest};
use loop_core::view::{Listing, Row};
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
        let names: Vec<&str> = Status::ALL.map(Status::name).into_iter().chain(["stopped"]).collect();
        let near = nearest(status, names.iter().copied());
        let near = near.map_or_else(|| names.join(", "), |near| format!("did you mean {near}?"));
        return Err(CommandError::new(Kind::Wrong, format!("--status cannot be {status:?}"))
            .because("no loop has such a status")
            .hint(near));
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
    let mut rows: Vec<Row> = rows(recent.collect()).into_iter().filter(fits).collect();
    if !args.json {
        // So that --limit shows the first of the list.
        let here = here();
        rows.sort_by_key(|row| row.workspace != here);
    }
    rows.truncate(args.limit.unwrap_or(usize::MAX));
    if args.json {
        context.printer.json(&Listing::new(rows));
    } else if rows.is_empty() && readable > 0 {
        context.printer.answer(&format!("none of {readable} loops matches\n"));
    } else if rows.is_empty() && all > 0 {
        context.printer.answer("no loop can be read\n");
    } else if rows.is_empty() {
        context.printer.answer("no loops\nsee one work:  loop demo\n");
    } else {
        let verbose = context.printer.loudness == Loudness::Verbose;
        context.printer.answer(&listing(&rows, verbose));
    }
    if !args.json && wanted.is_none() && args.agent.is_none() {
        context.printer.answer(&plan::lines(context));
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

/// The columns that get narrower where a row does not fit: the task, the folder, then what qualifies a status.
const SHRINKING: [ShrinkingColumn; 3] =
    [ShrinkingColumn { at: 3, least: 16 }, ShrinkingColumn { at: 4, least: 12 }, ShrinkingColumn { at: 1, least: 24 }];

fn here() -> String {
    std::env::current_dir().map(|folder| text_of(&folder)).unwrap_or_default()
}

/// One line for each loop.
fn listing(rows: &[Row], verbose: bool) -> String {
    let here = here();
    let now_ms = clock::now().wall_ms;
    let mut head = vec!["ID", "STATUS", "ITER", "TASK", "FOLDER", "AGENT", "COST", "STARTED"];
    head.extend(verbose.then_some("SIZE"));
    let cells: Vec<Vec<String>> = rows.iter().map(|row| cells(row, &here, now_ms, verbose)).collect();
    table_within(text_width(), &SHRINKING, &head, &cells)
}

fn cells(row: &Row, here: &str, now_ms: u64, verbose: bool) -> Vec<String> {
    let folder = row.workspace.rsplit('/').next().unwrap_or_default();
    let of_plan = row.plan.as_ref().map(|plan| format!("plan {plan}"));
    // A copy has no name that people know.
    let folder = of_plan.as_deref().unwrap_or(if row.workspace == here { "." } else { folder });
    let mut cells = vec![
        row.id.clone(),
        row.status_words(),
        row.progress(),
        text::escaped_head(&row.goal, 60),
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
