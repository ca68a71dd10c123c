//! `loop report` for people: the pieces of the page.
use loop_core::run::HoldCause;
use loop_core::text;
use loop_core::time;
use loop_core::view::{Attention, NextStep, PeriodReport, ReportedIteration, ReportedWait, RunReport, TestCounts};

use super::diff::brief;
use super::page::Block;
use super::plan_report;

/// So many files of an iteration are named.
const FILES_NAMED_MAX: usize = 5;
/// How much of a task one line shows.
const TASK_LETTERS_MAX: usize = 100;

/// The page of one run. The patch is what it changed as a whole, where that is shown.
pub(crate) fn of_run(report: &RunReport, patch: Option<String>, local: &dyn Fn(&str) -> String) -> Vec<Block> {
    let run = &report.run;
    let mut page = vec![
        Block::Heading(1, format!("Loop {}: {}", run.id, text::one_line(&run.goal, TASK_LETTERS_MAX))),
        Block::Heading(2, "Task".to_owned()),
        Block::Text(text::clean(report.task.as_bytes())),
        Block::Heading(2, "Outcome".to_owned()),
        Block::Facts(outcome(report)),
    ];
    if !report.next.is_empty() {
        page.push(Block::Commands(commands(report)));
    }
    page.push(Block::Heading(2, "Iterations".to_owned()));
    if report.iterations.is_empty() {
        page.push(Block::Text("There was no iteration.".to_owned()));
    } else {
        let head = vec!["#", "Agent", "Result", "Tests", "Changes", "Cost", "Time", "The agent's last line"];
        page.push(Block::Table(head, report.iterations.iter().map(iteration).collect()));
    }
    let beside = beside(report, local);
    if !beside.is_empty() {
        page.push(Block::Heading(2, "Beside the iterations".to_owned()));
        page.push(Block::Facts(beside));
    }
    if let Some(patch) = patch {
        page.push(Block::Heading(2, "All changes".to_owned()));
        page.push(Block::Code("diff", patch));
    }
    page
}

/// The page of all runs of a period.
pub(crate) fn of_period(report: &PeriodReport, local: &dyn Fn(&str) -> String) -> Vec<Block> {
    let count = |attention| {
        let plans = report.plans.iter().filter(|plan| Attention::of_plan(plan) == attention).count();
        report.alone().filter(|report| report.attention() == attention).count() + plans
    };
    let counts = [
        (count(Attention::NeedsYou), "needs you", "need you"),
        (count(Attention::Running), "runs", "run"),
        (count(Attention::Done), "is done", "are done"),
        (count(Attention::Ended), "was cancelled", "were cancelled"),
    ];
    let words = counts.iter().filter(|(count, ..)| *count > 0);
    let words: Vec<String> =
        words.map(|(count, one, more)| format!("{count} {}", if *count == 1 { one } else { more })).collect();
    let mut page = vec![Block::Heading(1, format!("Loops since {}", local(&report.since)))];
    if report.loops.is_empty() && report.plans.is_empty() {
        page.push(Block::Text("No loop was at work.".to_owned()));
        return page;
    }
    page.push(Block::Facts(vec![("Loops".to_owned(), words.join(", ")), ("Cost".to_owned(), reported_cost(report))]));
    let sections = [
        (Attention::NeedsYou, "Do this first"),
        (Attention::Running, "Running"),
        (Attention::Done, "Done"),
        (Attention::Ended, "Cancelled"),
    ];
    for (attention, title) in sections {
        let mut of_it = report.alone().filter(|report| report.attention() == attention).peekable();
        let mut plans = report.plans.iter().filter(|plan| Attention::of_plan(plan) == attention).peekable();
        if of_it.peek().is_none() && plans.peek().is_none() {
            continue;
        }
        page.push(Block::Heading(2, title.to_owned()));
        for plan in plans {
            page.push(Block::Heading(3, plan_report::title(plan)));
            page.push(Block::Facts(plan_report::in_short(plan)));
            page.push(Block::Commands(plan_report::commands(plan)));
        }
        for report in of_it {
            let run = &report.run;
            page.push(Block::Heading(3, format!("{}: {}", run.id, text::one_line(&run.goal, TASK_LETTERS_MAX))));
            page.push(Block::Facts(in_short(report)));
            if !report.next.is_empty() {
                page.push(Block::Commands(commands(report)));
            }
        }
    }
    page
}

/// What all loops cost, as far as they reported it.
fn reported_cost(report: &PeriodReport) -> String {
    let count = usize::try_from(report.without_cost).unwrap_or(usize::MAX);
    if count >= report.loops.len() {
        return "not reported".to_owned();
    }
    let without = match count {
        0 => String::new(),
        1 => " (1 loop reported no cost)".to_owned(),
        count => format!(" ({count} loops reported no cost)"),
    };
    format!("${:.2}, {} tokens{without}", report.cost_usd, report.tokens)
}

fn commands(report: &RunReport) -> Vec<(String, String)> {
    let name = |step: &NextStep| match &step.remark {
        Some(remark) => format!("{} ({remark})", step.name),
        None => step.name.clone(),
    };
    report.next.iter().map(|step| (name(step), step.command.clone())).collect()
}

/// How it stands, in one line.
fn standing(report: &RunReport) -> String {
    let run = &report.run;
    let why = run.why.as_ref().map_or_else(String::new, |why| format!(": {}", text::one_line(why, 300)));
    match &report.end {
        Some(end) => format!("{end}{why}"),
        None => format!("{}{why}", run.status_words()),
    }
}

/// The facts that both pages have.
fn in_short(report: &RunReport) -> Vec<(String, String)> {
    let run = &report.run;
    let mut facts = vec![("Outcome".to_owned(), standing(report))];
    for gate in report.red() {
        let exit = gate.exit_code.map_or_else(String::new, |code| format!(" (exit {code})"));
        facts.push(("Red".to_owned(), format!("{}: {}{exit}", gate.name, text::one_line(&gate.command, 120))));
    }
    let after = report.iterations.iter().rev().find_map(|row| row.tests_after);
    facts.extend(from_to(report.tests_before, after).map(|words| ("Tests".to_owned(), words)));
    facts.extend(report.changes.map(|changes| ("Changes".to_owned(), brief(changes))));
    facts.push((
        "Work".to_owned(),
        format!("{} in {}, {}", iterations(report), took(run.elapsed_seconds), cost(report)),
    ));
    facts.push(("Folder".to_owned(), text::escape_path(run.workspace.as_bytes())));
    facts
}

fn outcome(report: &RunReport) -> Vec<(String, String)> {
    let mut facts = in_short(report);
    if let Some(proof) = &report.certificate {
        facts.push(("Proof".to_owned(), text::one_line(&proof.words(), 500)));
        facts.extend(proof.weaker.iter().map(|how| ("Weaker".to_owned(), text::one_line(how, 300))));
        facts.extend(
            proof.strength.iter().map(|strength| ("Strength".to_owned(), text::one_line(&strength.text(), 500))),
        );
        facts.extend(proof.named.iter().map(|finding| ("Named".to_owned(), text::one_line(&finding.text, 300))));
    }
    for gate in report.gates.iter().filter(|gate| !report.red().any(|red| red.name == gate.name)) {
        let passes = if gate.verdict.is_some() { "passes" } else { "was not run" };
        facts.push(("Gate".to_owned(), format!("{} {passes}: {}", gate.name, text::one_line(&gate.command, 120))));
    }
    facts
}

fn iterations(report: &RunReport) -> String {
    match report.iterations.len() {
        1 => "1 iteration".to_owned(),
        count => format!("{count} iterations"),
    }
}

fn cost(report: &RunReport) -> String {
    let known = [
        report.run.cost_usd.map(|cost| format!("${cost:.4}")),
        report.run.tokens.map(|tokens| format!("{tokens} tokens")),
    ];
    let known: Vec<String> = known.into_iter().flatten().collect();
    if known.is_empty() { "cost not known".to_owned() } else { known.join(", ") }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a duration is small and never below zero")]
fn took(seconds: f64) -> String {
    time::spaced((seconds * 1000.0) as u64)
}

/// `2 of 3 tests pass → 3 of 3 tests pass`.
fn from_to(before: Option<TestCounts>, after: Option<TestCounts>) -> Option<String> {
    match (before, after) {
        (Some(before), Some(after)) => Some(format!("{} → {}", before.words(), after.words())),
        (Some(only), None) | (None, Some(only)) => Some(only.words()),
        (None, None) => None,
    }
}

fn iteration(row: &ReportedIteration) -> Vec<String> {
    let short = |tests: TestCounts| format!("{}/{}", tests.passed, tests.passed + tests.failed);
    let tests = match (row.tests_before, row.tests_after) {
        (Some(before), Some(after)) => format!("{} → {}", short(before), short(after)),
        (None, Some(after)) => short(after),
        (_, None) => String::new(),
    };
    let failure = row.failure.map_or_else(String::new, |failure| format!(" ({failure})"));
    let attempts = if row.attempts > 1 { format!(", {} attempts", row.attempts) } else { String::new() };
    let mut files: Vec<String> = row.files.iter().take(FILES_NAMED_MAX).map(|name| text::escaped(name)).collect();
    if row.files.len() > FILES_NAMED_MAX {
        files.push("…".to_owned());
    }
    let files = if files.is_empty() { String::new() } else { format!(": {}", files.join(", ")) };
    let used = [row.cost_usd.map(|cost| format!("${cost:.4}")), row.tokens.map(|tokens| format!("{tokens} tokens"))];
    vec![
        row.iteration.to_string(),
        row.agent.clone(),
        format!("{}{failure}{attempts}", row.outcome.name()),
        tests,
        row.changes.map_or_else(String::new, |changes| brief(changes) + &files),
        used.into_iter().flatten().collect::<Vec<_>>().join(", "),
        row.duration_seconds.map_or_else(String::new, took),
        row.said.clone().unwrap_or_default(),
    ]
}

fn beside(report: &RunReport, local: &dyn Fn(&str) -> String) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> =
        report.waits.iter().map(|wait| ("Waited".to_owned(), waited(wait, local))).collect();
    facts.extend(report.restored.iter().map(|row| ("Restored".to_owned(), text::one_line(&row.words(), 300))));
    facts.extend(report.rollbacks.iter().map(|back| {
        let words = format!("to {} after iteration {} (before it: {})", back.to, back.after_iteration, back.undo);
        ("Rolled back".to_owned(), words)
    }));
    facts
}

fn waited(wait: &ReportedWait, local: &dyn Fn(&str) -> String) -> String {
    let cause = match wait.cause {
        HoldCause::Paused => "it was paused",
        HoldCause::Delay => "the delay between iterations",
        HoldCause::Blocked => "something had to be fixed",
        HoldCause::Limit => "the provider",
        HoldCause::Question => "an answer to the agent's question",
        HoldCause::Calls => "the limit of calls in an hour",
        HoldCause::Stuck => "a person, because it was stuck",
    };
    let long = wait.seconds.map_or_else(|| "end not known".to_owned(), took);
    format!("{long} in iteration {}: {cause} (since {})", wait.iteration, local(&wait.at))
}
