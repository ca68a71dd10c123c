//! `loop replay`: recorded loops under other thresholds; what that would have saved, and what it would have lost.
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use loop_core::policy::budget::money_text;
use loop_core::replay::{
    PolicyError, ReplayEnd, ReplayPoint, ReplayPolicy, ReplaySums, ReplayedPlan, ReplayedRun, replay, replay_plan, sums,
};
use loop_core::run::{Outcome, Reason};
use loop_core::{text, time};
use loop_host::journal;
use loop_host::paths::text_of;
use loop_host::run_folder::{self, RunFolder};
use serde_json::{Value, json};

use super::list;
use crate::context::{Context, Done, runs_error};
use crate::render::error::{CommandError, Kind};
use crate::render::table::table_on_screen;

/// The version of the JSON.
const JSON_VERSION: u32 = 1;
/// A policy file is not longer.
const POLICY_BYTES_MAX: u64 = 64 * 1024;
/// So many loops are named of each kind; `--json` names all.
const NAMED_MAX: usize = 20;

const EXAMPLES: &str = "\
Examples:
  printf 'max_no_progress = 2\\n' > strict.toml
  loop replay --policy strict.toml                    all loops of the last 90 days under it
  loop replay --policy strict.toml --since 7d --json
  loop replay --policy strict.toml --runs a1b2   only these loops

A policy may set what ends a loop: the thresholds of the breaker, and the
limits of iterations, time, money and tokens. It may set the ladder of
recovery (exact until another rung would have come), and [selection]: how
branches of plans are ranked. What else changes what the agent sees is
refused: only live runs can tell.";

/// Replay recorded loops under another policy: what it would have saved and lost
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ReplayArgs {
    /// A file of settings to replay, such as `max_no_progress = 2`; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    policy: Vec<PathBuf>,
    /// Loops since then: 90d, 2026-11-15 or an RFC 3339 time
    #[arg(long, value_name = "TIME", default_value = "90d")]
    since: String,
    /// Only these loops, by id or the beginning of it
    #[arg(long, value_name = "ID", value_delimiter = ',', conflicts_with = "since")]
    runs: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// One policy with what it makes of the loops.
struct Row {
    policy: ReplayPolicy,
    runs: Vec<ReplayedRun>,
    sums: ReplaySums,
    plans: Vec<(String, ReplayedPlan)>,
}

pub(crate) fn run(context: &Context, args: &ReplayArgs) -> Done {
    let mut rows = vec![Row::new(ReplayPolicy::own())];
    for path in &args.policy {
        rows.push(Row::new(read_policy(path)?));
    }
    let unreadable = fill(context, args, &mut rows)?;
    rows.iter_mut().for_each(|row| row.sums = sums(&row.runs));
    if args.json {
        context.printer.json(&json!({
            "version": JSON_VERSION, "unreadable": unreadable,
            "policies": rows.iter().map(as_json).collect::<Vec<_>>(),
        }));
        return Ok(0);
    }
    show(context, &rows, &unreadable);
    Ok(0)
}

impl Row {
    fn new(policy: ReplayPolicy) -> Self {
        Self { policy, runs: Vec::new(), sums: ReplaySums::default(), plans: Vec::new() }
    }
}

fn read_policy(path: &Path) -> Result<ReplayPolicy, CommandError> {
    let name = text::one_line(&text_of(path), 200);
    let read = || {
        let mut text = String::new();
        fs::File::open(path)?.take(POLICY_BYTES_MAX).read_to_string(&mut text).map(|_| text)
    };
    let text = read().map_err(|error| {
        CommandError::new(Kind::Wrong, format!("cannot read the policy {name}"))
            .because(error.to_string())
            .hint("name a file with lines such as: max_no_progress = 2")
    })?;
    let file = path.file_name().map_or_else(|| name.clone(), |file| text::one_line(&file.to_string_lossy(), 60));
    ReplayPolicy::read(&text, &file).map_err(|error| {
        let what = match &error {
            PolicyError::NeedsLiveRuns { .. } | PolicyError::NeedsAllRuns { .. } => "cannot be replayed",
            PolicyError::Settings(_) | PolicyError::Selection { .. } | PolicyError::Empty => "is not a policy",
        };
        CommandError::new(Kind::Wrong, format!("{name} {what}")).because(error.to_string()).hint(error.hint())
    })
}

/// Replays every loop that is meant under every policy. Gives the ids of those whose journals cannot be read.
fn fill(context: &Context, args: &ReplayArgs, rows: &mut [Row]) -> Result<Vec<String>, CommandError> {
    let since_ms = if args.runs.is_empty() { list::since(&args.since)? } else { 0 };
    let folders: Vec<RunFolder> = if args.runs.is_empty() {
        run_folder::all(&context.home).map_err(|error| runs_error(&error))?
    } else {
        args.runs.iter().map(|id| context.find(id)).collect::<Result<_, _>>()?
    };
    // The branches of a stuck loop are a part of it, with their calls and their cost.
    let of_stuck: Vec<String> = crate::plans::views(context)
        .into_iter()
        .filter(|(_, plan)| plan.recovers.is_some())
        .flat_map(|(_, plan)| plan.nodes.into_iter().filter_map(|node| node.run))
        .collect();
    let mut unreadable = Vec::new();
    for folder in folders.into_iter().filter(|folder| !of_stuck.contains(&folder.id.to_string())) {
        let Ok(reading) = journal::read(&folder.path) else {
            unreadable.push(folder.id.to_string());
            continue;
        };
        if reading.entries.first().is_none_or(|first| first.at.wall_ms < since_ms) {
            continue;
        }
        for row in rows.iter_mut() {
            row.runs.extend(replay(&reading.entries, &row.policy));
        }
    }
    if rows.iter().any(|row| row.policy.selection.is_some()) {
        for folder in run_folder::all_in(&context.home.plans()).unwrap_or_default() {
            let Ok(reading) = journal::read_of::<loop_core::plan::Plan>(&folder.path) else { continue };
            let state = reading.fold();
            for row in rows.iter_mut() {
                let again = row.policy.selection.as_ref().and_then(|order| replay_plan(&state, order));
                row.plans.extend(again.map(|plan| (folder.id.to_string(), plan)));
            }
        }
    }
    Ok(unreadable)
}

fn show(context: &Context, rows: &[Row], unreadable: &[String]) {
    let head = ["POLICY", "LOOPS", "COST", "SOLVED", "SAVED", "LOST", "CANNOT BE KNOWN"];
    let cells = |row: &Row| {
        let sums = &row.sums;
        vec![
            row.policy.name.clone(),
            sums.runs.to_string(),
            money_text(sums.cost_micros),
            sums.solved.to_string(),
            saved(sums),
            sums.lost.to_string(),
            sums.unknown.to_string(),
        ]
    };
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    context.printer.answer(&table_on_screen(&head, &cells));
    for row in rows.iter().skip(1) {
        context.printer.answer(&details(row));
    }
    let on_leash = rows.first().map_or(0, |row| row.sums.on_leash);
    let leash = match on_leash {
        0 => "no loop was on a long leash (--leash 5%), so no higher threshold can be judged".to_owned(),
        1 => "1 loop was on a long leash: higher thresholds are judged by it alone".to_owned(),
        many => format!("{many} loops were on a long leash: higher thresholds are judged by them alone"),
    };
    context.printer.answer(&format!("\n{leash}\n"));
    let untold = rows.first().map_or(0, |row| row.sums.cost_untold);
    if untold > 0 {
        context.printer.progress(&format!("{untold} calls did not report their cost: costs are without them\n"));
    }
    if !unreadable.is_empty() {
        context.printer.progress(&format!("not read, their journals are damaged: {}\n", unreadable.join(", ")));
    }
}

fn saved(sums: &ReplaySums) -> String {
    if sums.saved_calls == 0 {
        return "-".to_owned();
    }
    let (money, time) = (money_text(sums.saved_micros), time::spaced(sums.saved_ms / 1000 * 1000));
    format!("{money}, {} calls, {time}", sums.saved_calls)
}

/// What the policy ends sooner, loses, and cannot say, loop by loop.
fn details(row: &Row) -> String {
    let mut text = format!("\n{}: {}\n", row.policy.name, row.policy.words().join(", "));
    let mut lines = Vec::new();
    for run in &row.runs {
        let id = &run.recorded.id;
        let line = match &run.end {
            ReplayEnd::Same | ReplayEnd::OtherReason { .. } => continue,
            ReplayEnd::Sooner { outcome, reason, at } => {
                let word = if run.recorded.is_solved() { "lost" } else { "sooner" };
                let recorded = end_words(run);
                let (iterations, code) = (at.iterations, reason.code.name());
                format!(
                    "  {word}: loop {id}: {} by {code} after iteration {iterations}; recorded: {recorded}",
                    outcome_word(*outcome)
                )
            }
            ReplayEnd::Unknown(why) => format!("  cannot be known: loop {id}: {}", why.words()),
        };
        lines.push(line);
    }
    // What is lost stands first.
    lines.sort_by_key(|line| !line.starts_with("  lost"));
    let more = lines.len().saturating_sub(NAMED_MAX);
    lines.truncate(NAMED_MAX);
    lines.extend((more > 0).then(|| format!("  … and {more} more (--json names all)")));
    let same = row.plans.iter().filter(|(_, plan)| plan.recorded == plan.chosen).count();
    lines.extend((same > 0).then(|| format!("  the same branch wins in {}", count_of(same, "plan"))));
    for (id, plan) in row.plans.iter().filter(|(_, plan)| plan.recorded != plan.chosen) {
        let name = |winner: &Option<String>| winner.clone().unwrap_or_else(|| "no branch".to_owned());
        let (recorded, chosen) = (name(&plan.recorded), name(&plan.chosen));
        lines.push(format!("  plan {id}: {chosen} would win; recorded: {recorded}"));
    }
    if lines.is_empty() {
        lines.push("  every loop ends as recorded".to_owned());
    }
    lines.iter().for_each(|line| {
        text.push_str(line);
        text.push('\n');
    });
    text
}

fn count_of(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn end_words(run: &ReplayedRun) -> String {
    match &run.recorded.end {
        Some((outcome, reason)) => {
            format!(
                "{} by {} after iteration {}",
                outcome_word(*outcome),
                reason.code.name(),
                run.recorded.at.iterations
            )
        }
        None => "no end yet".to_owned(),
    }
}

fn outcome_word(outcome: Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn as_json(row: &Row) -> Value {
    let sums = &row.sums;
    json!({
        "policy": row.policy.name, "replaces": row.policy.words(), "runs": sums.runs,
        "cost_usd": dollars(sums.cost_micros), "recorded_cost_usd": dollars(sums.recorded_cost_micros),
        "calls": sums.calls, "calls_without_cost": sums.cost_untold, "solved": sums.solved,
        "saved_usd": dollars(sums.saved_micros), "saved_calls": sums.saved_calls, "saved_ms": sums.saved_ms,
        "stopped_sooner": sums.stopped_sooner, "lost": sums.lost, "cannot_be_known": sums.unknown,
        "on_leash": sums.on_leash, "loops": row.runs.iter().map(loop_json).collect::<Vec<_>>(),
        "plans": row.plans.iter().map(|(id, plan)| json!({
            "plan": id, "recorded": plan.recorded, "chosen": plan.chosen,
        })).collect::<Vec<_>>(),
    })
}

fn loop_json(run: &ReplayedRun) -> Value {
    let recorded = run.recorded.end.as_ref();
    let mut row = json!({
        "loop": run.recorded.id, "leash": run.recorded.leash, "solved": run.recorded.is_solved(),
        "recorded": point_json(recorded.map(|(outcome, reason)| (*outcome, reason)), &run.recorded.at),
    });
    match &run.end {
        ReplayEnd::Same => row["end"] = "same".into(),
        ReplayEnd::OtherReason { outcome, reason } => {
            row["end"] = "other_reason".into();
            row["would"] = point_json(Some((*outcome, reason)), &run.recorded.at);
        }
        ReplayEnd::Sooner { outcome, reason, at } => {
            row["end"] = "sooner".into();
            row["would"] = point_json(Some((*outcome, reason)), at);
        }
        ReplayEnd::Unknown(why) => {
            row["end"] = "cannot_be_known".into();
            row["why"] = why.word().into();
            row["why_text"] = why.words().into();
        }
    }
    row
}

fn point_json(end: Option<(Outcome, &Reason)>, at: &ReplayPoint) -> Value {
    json!({
        "outcome": end.map(|(outcome, _)| outcome), "reason": end.map(|(_, reason)| reason.code.name()),
        "iterations": at.iterations, "calls": at.calls, "cost_usd": dollars(at.cost_micros), "active_ms": at.active_ms,
    })
}

#[expect(clippy::cast_precision_loss, reason = "a sum of money is far below 2^52 millionths")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / 1_000_000.0
}
