//! `loop history`: the iterations of a loop.
use clap::Args;
use loop_core::changes::{Changes, changed_names};
use loop_core::policy::gate::Verdict;
use loop_core::run::{Entry, Fact, Order, RunState};
use loop_core::settings::PROMISE;
use loop_core::text;
use loop_core::time;
use loop_core::view::{AttemptRow, Events, History, IterationRow, Record};
use loop_host::attempt::Meaning;
use loop_host::clock;
use loop_host::journal;
use loop_host::process::tail_of;
use loop_host::run_folder::RunFolder;

use super::{compare, plan_history};
use crate::args::IdArg;
use crate::context::{Context, Done, read_error};
use crate::here::Wanted;
use crate::kept::KeptCheckpoints;
use crate::render::diff;
use crate::render::error::CommandError;
use crate::render::moment;
use crate::render::printer::{Loudness, Paint, Printer};
use crate::render::table::table_on_screen;

/// How much of a prompt or an answer is shown.
const SHOWN_BYTES_MAX: u64 = 64 * 1024;

/// Show the iterations of a loop; with --verbose also what was said
#[derive(Debug, Args)]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    id: IdArg,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Show all that the loop changed; N: what iteration N changed; A..B: what differs between two checkpoints (initial,
    /// a number, N+ or a name)
    #[arg(long, value_name = "N|A..B", num_args = 0..=1, default_missing_value = "")]
    diff: Option<String>,
    /// Show the events of the session and of the breaker, the newest 50 of each
    #[arg(long, conflicts_with = "diff")]
    events: bool,
    /// With --diff: only how many lines of each file
    #[arg(long, requires = "diff")]
    stat: bool,
    /// With --diff: straight to the terminal
    #[arg(long, requires = "diff")]
    no_pager: bool,
}

pub(crate) fn run(context: &Context, args: &HistoryArgs) -> Done {
    if let Some(folder) = args.id.plan(context, Wanted::Newest) {
        let manner = compare::Manner { json: args.json, stat: args.stat, pager: !args.no_pager };
        return match (&args.diff, args.events) {
            (Some(words), _) => plan_history::diff(context, &folder, words, manner),
            (None, true) => Err(plan_history::no_events(&folder)),
            (None, false) => plan_history::run(context, &folder, args.json),
        };
    }
    let folder = args.id.find(context, Wanted::Newest)?;
    if let Some(words) = &args.diff {
        let manner = compare::Manner { json: args.json, stat: args.stat, pager: !args.no_pager };
        return compare::run(context, &folder, words, manner);
    }
    let (reading, mut history) = read(&folder)?;
    if args.events {
        let events = Record::of(&reading.entries).events();
        if args.json {
            context.printer.json(&events);
        } else {
            context.printer.answer(&events_text(&events, clock::now().wall_ms));
        }
        return Ok(0);
    }
    if args.json {
        context.printer.json(&history);
        return Ok(0);
    }
    let kept = KeptCheckpoints::of(&context.home, &folder, &reading.fold());
    let names = history.iterations.iter_mut().filter_map(|row| row.checkpoint.as_mut());
    names.filter(|name| !kept.has(name)).for_each(|name| name.push_str(" (gone)"));
    context.printer.answer(&table_text(&history, context.printer));
    context.printer.answer(&beside(&history, folder.id.as_str()));
    if let Some(ended) = &history.end {
        context.printer.answer(&format!("ended: {ended}\n"));
    }
    if context.printer.loudness == Loudness::Verbose {
        let entries = reading.entries.clone();
        let state = reading.fold();
        for attempt in attempts(&entries) {
            context.printer.answer(&said(&folder, &state, &attempt));
        }
        if folder.is_thinned() {
            context.printer.answer("\noutputs were removed to make room for those of other loops (keep_bytes)\n");
        }
    }
    Ok(0)
}

/// Both tables of events.
fn events_text(events: &Events, now_ms: u64) -> String {
    let or_not = |text: Option<&String>| text.map_or_else(|| "-".to_owned(), |text| text::one_line(text, 80));
    let session = events.session.iter().map(|event| {
        let (at, name) = (moment::clock_text(&event.at, now_ms), event.event.name().to_owned());
        let names_conversation = event.event.names_conversation();
        let status = or_not(event.status.as_ref().filter(|_| !names_conversation));
        let conversation = or_not(event.status.as_ref().filter(|_| names_conversation));
        vec![at, name, event.loop_count.to_string(), status, conversation, or_not(event.error.as_ref())]
    });
    let head = ["TIME", "SESSION", "ITERATIONS", "STATUS", "CONVERSATION", "ERROR"];
    let session = table_on_screen(&head, &session.collect::<Vec<_>>());
    if events.circuit.is_empty() {
        return format!("{session}\nthe breaker has not changed\n");
    }
    let circuit = events.circuit.iter().map(|event| {
        let counts = [event.no_progress, event.same_error, event.test_loops, event.completion];
        let mut row = vec![
            moment::clock_text(&event.at, now_ms),
            format!("{} → {}", event.from.name(), event.to.name()),
            event.reason.clone(),
        ];
        row.extend(counts.map(|count| count.to_string()));
        row
    });
    let names = ["TIME", "BREAKER", "REASON", "NO PROGRESS", "SAME ERROR", "TESTS ONLY", "DONE CLAIMS"];
    format!("{session}\n{}", table_on_screen(&names, &circuit.collect::<Vec<_>>()))
}

/// The table of a run, for other commands.
pub(crate) fn show(context: &Context, history: &History) {
    context.printer.answer(&table_text(history, context.printer));
}

pub(super) fn read(folder: &RunFolder) -> Result<(journal::Reading, History), CommandError> {
    let reading = journal::read(&folder.path).map_err(|error| read_error(&error))?;
    let mut history = History::new();
    reading.entries.iter().for_each(|entry| history.apply(entry));
    if folder.holder().is_none() {
        history.settle();
    }
    Ok((reading, history))
}

pub(super) fn table_text(history: &History, printer: Printer) -> String {
    let mut text = match &history.baseline {
        Some(baseline) => format!("before iteration 1: {}\n", promise(Some(baseline.promise))),
        None => String::new(),
    };
    if history.iterations.is_empty() {
        text.push_str(if history.is_over() { "no iteration was needed\n" } else { "no iteration has begun yet\n" });
        return text;
    }
    let all = &history.iterations;
    let columns = OptionalColumns {
        gates: all.iter().any(|row| row.gates.len() > 1),
        tests: all.iter().any(|row| row.tests.is_some()),
        score: history.uses_score(),
        cost: all.iter().any(|row| row.usage.cost_usd.is_some()),
        agent: all.iter().flat_map(|row| &row.attempts).any(|attempt| attempt.agent.is_some()),
    };
    let mut rows: Vec<Vec<String>> = all.iter().map(|one| row(one, columns)).collect();
    if let (true, Some(cells)) = (history.is_pass_not_counted(), rows.last_mut()) {
        cells[2] = "not counted".to_owned();
        if let Some(outcome) = cells.last_mut() {
            *outcome = outcome.replacen("pass", "pass with changed protected files", 1);
        }
    }
    let mut head = vec!["ITER", "CHECKPOINT", "PROMISE"];
    head.extend(columns.gates.then_some("GATES"));
    head.extend(columns.tests.then_some("TESTS"));
    head.extend(columns.agent.then_some("AGENT"));
    head.extend(["DURATION", "CHANGES"]);
    head.extend(columns.score.then_some("SCORE"));
    head.extend(columns.cost.then_some("COST"));
    head.push("OUTCOME");
    let table = table_on_screen(&head, &rows);
    text.push_str(&table.replace("PASS ✓", &printer.paint(Paint::Good, "PASS ✓")));
    text
}

/// Columns that are there only where they say something.
#[derive(Debug, Clone, Copy)]
struct OptionalColumns {
    gates: bool,
    tests: bool,
    score: bool,
    cost: bool,
    agent: bool,
}

/// `1/3 (lint, unit)`: how many gates pass, and those that do not.
fn gates_words(row: &IterationRow) -> String {
    if row.gates.is_empty() {
        return "-".to_owned();
    }
    let red: Vec<&str> =
        row.gates.iter().filter(|gate| gate.verdict != Verdict::Pass).map(|gate| gate.name.as_str()).collect();
    let count = format!("{}/{}", row.gates.len() - red.len(), row.gates.len());
    if red.is_empty() { count } else { format!("{count} ({})", text::one_line(&red.join(", "), 60)) }
}

fn row(row: &IterationRow, columns: OptionalColumns) -> Vec<String> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a duration is small and never below zero"
    )]
    let duration =
        row.duration_seconds.map_or_else(|| "-".to_owned(), |seconds| time::spaced((seconds * 1000.0) as u64));
    let mut failures: Vec<&str> = row.attempts.iter().filter_map(|attempt| attempt.failure).collect();
    failures.extend(row.failure.filter(|failure| failures.last() != Some(failure)));
    failures.dedup();
    let attempts = match (row.attempts.len(), failures.is_empty()) {
        (0 | 1, true) => String::new(),
        (0 | 1, false) => format!(" ({})", failures.join(", ")),
        (count, true) => format!(" ({count} attempts)"),
        (count, false) => format!(" ({count} attempts: {})", failures.join(", ")),
    };
    let mut cells = vec![
        row.iteration.to_string(),
        row.checkpoint.clone().unwrap_or_else(|| "-".to_owned()),
        promise(promise_of(row)).to_owned(),
    ];
    cells.extend(columns.gates.then(|| gates_words(row)));
    let tests = row.tests.map_or_else(|| "-".to_owned(), |tests| format!("{}/{}", tests.passed, tests.ran()));
    cells.extend(columns.tests.then_some(tests));
    cells.extend(columns.agent.then(|| agents_words(row)));
    cells.extend([duration, changes(row)]);
    let score = row.score.map_or_else(|| "-".to_owned(), |score| format!("{:.2}", score.total));
    cells.extend(columns.score.then_some(score));
    let cost = row.usage.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
    cells.extend(columns.cost.then_some(cost));
    cells.push(format!("{}{attempts}", row.outcome.name()));
    cells
}

/// `claude → codex (gpt-5.2)`: who worked in the attempts.
fn agents_words(row: &IterationRow) -> String {
    let name = |attempt: &AttemptRow| {
        let model = attempt.model.as_ref().map_or_else(String::new, |model| format!(" ({model})"));
        format!("{}{model}", attempt.agent.as_deref().unwrap_or(&row.agent))
    };
    let mut names: Vec<String> = row.attempts.iter().map(name).collect();
    names.dedup();
    text::one_line(&names.join(" → "), 80)
}

/// What the gate called promise said. Where there is none: what the gates said together.
fn promise_of(row: &IterationRow) -> Option<Verdict> {
    let own = row.gates.iter().find(|gate| gate.name == PROMISE);
    own.map_or(row.promise, |gate| Some(gate.verdict))
}

fn promise(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Pass) => "PASS ✓",
        Some(Verdict::Fail) => "FAIL",
        Some(Verdict::Unverifiable) => "NOT CHECKED",
        None => "-",
    }
}

fn changes(row: &IterationRow) -> String {
    row.changes.map_or_else(|| "-".to_owned(), diff::brief)
}

/// What others changed: how much, and the first files by their names.
fn others(changes: Changes, names: &[String]) -> String {
    let named = changed_names(changes.files, names).map_or_else(String::new, |named| format!(" ({named})"));
    format!("{}, not by the agent{named}", diff::brief(changes))
}

/// What happened beside iterations: changes by a gate or a person, rollbacks, and protected files that were restored.
fn beside(history: &History, id: &str) -> String {
    let mut lines = String::new();
    if let Some(changes) = history.not_by_the_agent {
        let others = others(changes, &history.names_not_by_the_agent);
        lines.push_str(&format!("before iteration 1: {others}: loop history {id} --diff initial+\n"));
    }
    for row in &history.iterations {
        for marker in &row.markers {
            lines.push_str(&format!("iteration {}: {}\n", row.iteration, text::one_line(marker, 200)));
        }
        if let Some(changes) = row.not_by_the_agent {
            let (number, others) = (row.iteration, others(changes, &row.names_not_by_the_agent));
            lines.push_str(&format!("after iteration {number}: {others}: loop history {id} --diff {number}+\n"));
        }
    }
    let mut known = None;
    for (row, attempt) in history.iterations.iter().flat_map(|row| row.attempts.iter().map(move |one| (row, one))) {
        // Said where it changes: the same rule again is in the JSON.
        let choice = attempt.rule.as_ref().map(|rule| (rule, &attempt.agent, &attempt.model));
        if let Some((rule, agent, _)) = choice.filter(|choice| known.as_ref() != Some(choice)) {
            let agent = agent.as_deref().unwrap_or(&row.agent);
            let (number, rule) = (row.iteration, text::one_line(rule, 200));
            lines.push_str(&format!("iteration {number}, attempt {}: {agent} ({rule})\n", attempt.attempt));
        }
        known = choice;
    }
    for rung in &history.recovery {
        let after = rung.trigger_iteration;
        lines.push_str(&format!(
            "stuck after iteration {after}, rung {}: {}\n",
            rung.number,
            text::one_line(&rung.words(), 300)
        ));
    }
    for back in &history.rollbacks {
        let what = match back.paths.is_empty() {
            true => format!("rolled back to {}", back.to),
            false => format!("{} restored from {}", text::one_line(&back.paths.join(", "), 200), back.to),
        };
        lines.push_str(&format!("after iteration {}: {what} (before it: {})\n", back.after_iteration, back.undo));
    }
    for restored in &history.restored {
        lines.push_str(&format!("restored: {}\n", text::one_line(&restored.words(), 300)));
    }
    lines
}

/// An attempt, and the agent that worked in it.
struct AttemptOf<'a> {
    iteration: u32,
    attempt: u32,
    agent: &'a str,
}

fn attempts(entries: &[Entry]) -> Vec<AttemptOf<'_>> {
    let asked = entries.iter().filter_map(|entry| match &entry.fact {
        Fact::Ordered { order: Order::RunAgent { iteration, attempt, choice, .. }, .. } => {
            Some(AttemptOf { iteration: *iteration, attempt: *attempt, agent: &choice.agent })
        }
        Fact::Happened(_)
        | Fact::Ordered { .. }
        | Fact::OrderCancelled { .. }
        | Fact::Decided(_)
        | Fact::Concluded { .. } => None,
    });
    asked.collect()
}

fn said(folder: &RunFolder, state: &RunState, of: &AttemptOf<'_>) -> String {
    let AttemptOf { iteration, attempt, agent } = *of;
    let place = folder.attempt(iteration, attempt);
    let prompt = std::fs::read(place.join("prompt.md")).unwrap_or_default();
    let mut text = format!("\n━━ iteration {iteration}, attempt {attempt} ━━\n");
    let pieces = [
        ("prompt", prompt),
        (
            "stdout",
            Meaning::of_agent(state, agent).shown(&tail_of(&place.join("stdout"), SHOWN_BYTES_MAX)).into_owned(),
        ),
        ("stderr", tail_of(&place.join("stderr"), SHOWN_BYTES_MAX)),
    ];
    for (name, bytes) in pieces {
        let clean = text::clean(&bytes);
        if !clean.trim().is_empty() {
            let indented = clean.trim_end().replace('\n', "\n  ");
            text.push_str(&format!("{name}:\n  {indented}\n"));
        }
    }
    text
}
