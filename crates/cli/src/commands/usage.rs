//! `loop usage`: what the calls of agents cost, by agent, model, day and loop, and what is left of providers' limits.
use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use loop_core::policy::forecast::WindowForecast;
use loop_core::policy::reserve::{DAY_MS, day_of};
use loop_core::time;
use loop_host::clock;
use loop_host::ledger::{self, Ledger, LedgerError, Reported, SEEN_DAYS, UsedRow};
use serde_json::{Value, json};

use super::list;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::printer::text_width;
use crate::render::table::table_on_screen;
use crate::render::windows;
use crate::render::wrap::hanging;

/// The version of the JSON.
const JSON_VERSION: u32 = 1;

/// Said where there are such calls.
const NO_COST: &str = "custom: calls of --agent-cmd, of loops that still exist; what they cost is not known";

/// Show what agents cost, by agent, model, day or loop, and what is left of their providers' limits
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// Calls since then: 7d, 2026-11-15 or an RFC 3339 time; days are those of UTC, and 100 of them are kept
    #[arg(long, value_name = "TIME", default_value = "7d")]
    since: String,
    /// One row for each agent, model, day or loop
    #[arg(long, value_name = "WHAT", value_enum, default_value = "agent")]
    by: Grouping,
    /// One row for each day: the same as --by day
    #[arg(long, conflicts_with = "by")]
    by_day: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What a row is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Grouping {
    Agent,
    Model,
    Day,
    Loop,
}

impl Grouping {
    /// What rows with the same words are added up under, and shown as.
    fn place(self, row: &UsedRow, since: &str) -> String {
        match self {
            Self::Agent => since.to_owned(),
            Self::Model => row.model.clone().unwrap_or_else(|| "unknown".to_owned()),
            Self::Day => date(row.day),
            Self::Loop => row.run.clone(),
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Agent => "SINCE (UTC)",
            Self::Day => "DAY (UTC)",
            Self::Model => "MODEL",
            Self::Loop => "LOOP",
        }
    }
}

pub(crate) fn run(context: &Context, args: &UsageArgs) -> Done {
    let first = first_day(&args.since)?;
    let rows = used(context, first)?;
    let total = rows.iter().fold(Reported::default(), |sum, row| sum.plus(row.used));
    let now_ms = clock::now().wall_ms;
    let known = windows_of_all(context, now_ms)?;
    if args.json {
        let named = |by: Grouping, name: &'static str| -> Vec<Value> {
            let one = |(key, used): (RowKey, Reported)| named_row(name, &key, used);
            grouped(&rows, by, "").into_iter().map(one).collect()
        };
        let left: Vec<Value> = known.iter().map(|(account, window)| windows::as_json(account, window)).collect();
        context.printer.json(&json!({
            "version": JSON_VERSION, "since": date(first), "days": named(Grouping::Day, "day"),
            "models": named(Grouping::Model, "model"), "loops": named(Grouping::Loop, "loop"),
            "total": row_of("all", total), "windows": left,
        }));
        return Ok(0);
    }
    if rows.is_empty() {
        context.printer.answer(&format!("no call since {}\n", date(first)));
    } else {
        let by = if args.by_day { Grouping::Day } else { args.by };
        let mut shown: Vec<Vec<String>> = grouped(&rows, by, &date(first))
            .into_iter()
            .map(|(key, used)| cells(&key.place, &key.account, used))
            .collect();
        if shown.len() > 1 {
            shown.push(cells("", "all", total));
        }
        context
            .printer
            .answer(&table_on_screen(&[by.head(), "AGENT", "CALLS", "TOKENS", "COST", "NO COST REPORTED"], &shown));
    }
    show_windows(context, &known, now_ms);
    if rows.iter().any(|row| row.account == "custom") {
        let width = loop_host::terminal::columns(std::io::stderr()).unwrap_or(120);
        context.printer.progress(&format!("{}\n", hanging(NO_COST, 0, width)));
    }
    Ok(0)
}

/// Under what calls are added up.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey {
    place: String,
    account: String,
}

fn grouped(rows: &[UsedRow], by: Grouping, since: &str) -> Vec<(RowKey, Reported)> {
    let mut sums: BTreeMap<RowKey, Reported> = BTreeMap::new();
    for row in rows {
        let sum = sums.entry(RowKey { place: by.place(row, since), account: row.account.clone() }).or_default();
        *sum = sum.plus(row.used);
    }
    sums.into_iter().collect()
}

/// What the ledger has, and the calls that only journals have.
fn used(context: &Context, first: u64) -> Result<Vec<UsedRow>, CommandError> {
    let mut rows = match open_ledger(context)? {
        Some(ledger) => ledger.used_since(first).map_err(|error| ledger_error(&error))?,
        None => Vec::new(),
    };
    rows.extend(ledger::calls_of_commands(&context.home, first).map_err(|error| runs_error(&error))?);
    Ok(rows)
}

/// The ledger, where there is one.
pub(super) fn open_ledger(context: &Context) -> Result<Option<Ledger>, CommandError> {
    if !ledger::exists(&context.home.state) {
        return Ok(None);
    }
    Ledger::open(&context.home.state).map(Some).map_err(|error| ledger_error(&error))
}

pub(super) fn ledger_error(error: &LedgerError) -> CommandError {
    CommandError::new(Kind::Unable, "the ledger cannot be read").because(error.to_string()).hint(error.hint())
}

/// What is known about the limits of all accounts.
fn windows_of_all(context: &Context, now_ms: u64) -> Result<Vec<(String, WindowForecast)>, CommandError> {
    let Some(ledger) = open_ledger(context)? else { return Ok(Vec::new()) };
    let since = now_ms.saturating_sub(SEEN_DAYS * DAY_MS);
    let mut known = Vec::new();
    for account in ledger.accounts_seen(since).map_err(|error| ledger_error(&error))? {
        let windows = ledger.forecast(&account, now_ms, None).map_err(|error| ledger_error(&error))?;
        known.extend(windows.into_iter().map(|window| (account.clone(), window)));
    }
    Ok(known)
}

fn show_windows(context: &Context, known: &[(String, WindowForecast)], now_ms: u64) {
    if known.is_empty() {
        let words = "limits of providers: unknown, none has said anything yet";
        context.printer.progress(&format!("{}\n", hanging(words, 2, text_width())));
        return;
    }
    let rows: Vec<Vec<String>> =
        known.iter().map(|(account, window)| windows::cells(account, window, now_ms)).collect();
    context.printer.answer(&format!("\n{}", table_on_screen(&windows::HEAD, &rows)));
    if let Some(sources) = windows::sources(known) {
        context.printer.progress(&format!("{sources}\n"));
    }
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

fn cells(place: &str, account: &str, used: Reported) -> Vec<String> {
    let not_reported = match used.calls.saturating_sub(used.with_cost) {
        0 => String::new(),
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let if_any = |calls: u32, text: String| if calls > 0 { text } else { "-".to_owned() };
    vec![
        place.to_owned(),
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

fn named_row(name: &str, key: &RowKey, used: Reported) -> Value {
    let mut row = row_of(&key.account, used);
    row[name] = key.place.clone().into();
    row
}

fn row_of(account: &str, used: Reported) -> Value {
    json!({
        "agent": account, "calls": used.calls, "tokens": used.tokens, "cost_usd": dollars(used),
        "calls_with_tokens": used.with_tokens, "calls_with_cost": used.with_cost, "calls_not_reported": used.without,
    })
}
