//! `loop usage`: what the calls of agents cost, by day and agent, as far as they reported it.
use std::collections::BTreeMap;

use clap::Args;
use loop_core::policy::reserve::{DAY_MS, day_of};
use loop_core::time;
use loop_host::ledger::{self, Ledger, Reported, ReportedDay};
use serde_json::{Value, json};

use super::list;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::table::table_on_screen;
use crate::render::wrap::hanging;

/// The version of the JSON.
const JSON_VERSION: u32 = 1;

/// Said where there are such calls.
const NO_COST: &str = "custom: calls of --agent-cmd, of loops that still exist; what they cost is not known";

/// Show what agents cost, by agent and by day. Calls of --agent-cmd have no cost: it is not known
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Calls since then: 7d, 2026-11-15 or an RFC 3339 time; days are those of UTC, and 100 of them are kept
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// One row for each day
    #[arg(long)]
    by_day: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(context: &Context, args: &UsageArgs) -> Done {
    let first = first_day(&args.since)?;
    let days = reported(context, first)?;
    let total = days.iter().fold(Reported::default(), |sum, day| sum.plus(day.used));
    if args.json {
        let rows: Vec<Value> = days.iter().map(|day| row_of(Some(day.day), &day.account, day.used)).collect();
        context.printer.json(&json!({
            "version": JSON_VERSION, "since": date(first), "days": rows, "total": row_of(None, "all", total),
        }));
        return Ok(0);
    }
    if days.is_empty() {
        context.printer.answer(&format!("no call since {}\n", date(first)));
        return Ok(0);
    }
    let mut rows: Vec<Vec<String>> = if args.by_day {
        days.iter().map(|day| cells(&date(day.day), &day.account, day.used)).collect()
    } else {
        let mut accounts: BTreeMap<&str, Reported> = BTreeMap::new();
        for day in &days {
            let sum = accounts.entry(&day.account).or_default();
            *sum = sum.plus(day.used);
        }
        let since = format!("since {}", date(first));
        accounts.iter().map(|(account, used)| cells(&since, account, *used)).collect()
    };
    if rows.len() > 1 {
        rows.push(cells("", "all", total));
    }
    context
        .printer
        .answer(&table_on_screen(&["DAY (UTC)", "AGENT", "CALLS", "TOKENS", "COST", "NO COST REPORTED"], &rows));
    if days.iter().any(|day| day.account == "custom") {
        let width = loop_host::terminal::columns(std::io::stderr()).unwrap_or(120);
        context.printer.progress(&format!("{}\n", hanging(NO_COST, 0, width)));
    }
    Ok(0)
}

/// What the ledger has, and the calls that only journals have, by day and agent.
fn reported(context: &Context, first: u64) -> Result<Vec<ReportedDay>, CommandError> {
    let mut days = if ledger::exists(&context.home.state) {
        let read = Ledger::open(&context.home.state).and_then(|ledger| ledger.reported_since(first));
        read.map_err(|error| {
            CommandError::new(Kind::Unable, "the ledger cannot be read").because(error.to_string()).hint(error.hint())
        })?
    } else {
        Vec::new()
    };
    for more in ledger::calls_of_commands(&context.home, first).map_err(|error| runs_error(&error))? {
        match days.iter_mut().find(|day| (day.day, &day.account) == (more.day, &more.account)) {
            Some(day) => day.used = day.used.plus(more.used),
            None => days.push(more),
        }
    }
    days.sort_by(|left, right| (left.day, &left.account).cmp(&(right.day, &right.account)));
    Ok(days)
}

/// A plain date is a day of UTC here, as the ledger counts them.
fn first_day(since: &str) -> Result<u64, CommandError> {
    let midnight = since.parse::<jiff::civil::Date>().ok().and_then(|date| date.to_zoned(jiff::tz::TimeZone::UTC).ok());
    match midnight {
        Some(midnight) => Ok(day_of(u64::try_from(midnight.timestamp().as_millisecond()).unwrap_or(0))),
        None => list::since(since).map(day_of),
    }
}

fn date(day: u64) -> String {
    time::rfc3339(day * DAY_MS).chars().take(10).collect()
}

fn cells(day: &str, account: &str, used: Reported) -> Vec<String> {
    let not_reported = match used.calls.saturating_sub(used.with_cost) {
        0 => String::new(),
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let if_any = |calls: u32, text: String| if calls > 0 { text } else { "-".to_owned() };
    vec![
        day.to_owned(),
        account.to_owned(),
        used.calls.to_string(),
        if_any(used.with_tokens, used.tokens.to_string()),
        if_any(used.with_cost, format!("${:.2}", dollars(used))),
        not_reported,
    ]
}

#[expect(clippy::cast_precision_loss, reason = "a sum of money is far below 2^52 millionths")]
fn dollars(used: Reported) -> f64 {
    used.cost_micros as f64 / 1_000_000.0
}

fn row_of(day: Option<u64>, account: &str, used: Reported) -> Value {
    let mut row = json!({
        "agent": account, "calls": used.calls, "tokens": used.tokens, "cost_usd": dollars(used),
        "calls_with_tokens": used.with_tokens, "calls_with_cost": used.with_cost, "calls_not_reported": used.without,
    });
    if let Some(day) = day {
        row["day"] = date(day).into();
    }
    row
}
