//! What came of the projects, for people and for programs.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::play::ProjectPlayed;
use crate::bench::median;

/// 1 if a project was not accepted, if `loop verify` disagreed, or if nothing was played at all.
#[must_use]
pub fn exit_code(played: &[ProjectPlayed]) -> ExitCode {
    let mut run = played.iter().filter(|played| played.not_run.is_none()).peekable();
    let good = run.peek().is_some() && run.all(ProjectPlayed::is_good);
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn name(played: &ProjectPlayed) -> String {
    match played.user {
        Some(user) => format!("{} (user {user})", played.name),
        None => played.name.clone(),
    }
}

/// A table, then every word about each that a person should read.
#[must_use]
pub fn table(played: &[ProjectPlayed]) -> String {
    let mut text = format!("machine: load average {}\n\n", load());
    let columns = ["gate", "cold", "copy", "its gate", "judging", "verify"];
    let heads = columns.map(|column| format!("{column:>9}")).join("");
    writeln!(text, "{:<40} {:<9}{heads} disagree", "project (seconds)", "outcome").ok();
    for played in played {
        if let Some(why) = &played.not_run {
            writeln!(text, "{:<40} NOT RUN: {why}", name(played)).ok();
            continue;
        }
        let times = [
            Some(played.gate_seconds),
            played.cold_seconds,
            Some(played.copy_seconds),
            Some(played.copy_gate_seconds),
            Some(played.judge_seconds),
            Some(median(&played.verifies.seconds)),
        ];
        let times =
            times.map(|time| time.map_or_else(|| format!("{:>9}", "-"), |time| format!("{time:>9.2}"))).join("");
        let mark = if played.is_good() { "" } else { "  BAD" };
        let verifies = &played.verifies;
        let outcome = if played.outcome.is_empty() { "broken" } else { &played.outcome };
        writeln!(text, "{:<40} {outcome:<9}{times} {}/{}{mark}", name(played), verifies.disagree, verifies.times).ok();
    }
    for played in played.iter().filter(|played| played.not_run.is_none()) {
        writeln!(text, "\n{}: {}", name(played), played.line()).ok();
        let strength = (!played.strength.is_empty()).then(|| format!("strength: {}", played.strength));
        let forward = (!played.forward.is_empty()).then(|| played.forward.clone());
        let kept = played.kept.as_ref().map(|kept| format!("left in {}", kept.display()));
        let first_why = played.verifies.why.first().map(|why| format!("first disagreement: {why}"));
        for line in [strength, forward, first_why, kept].into_iter().flatten() {
            writeln!(text, "  {line}").ok();
        }
    }
    text
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

/// The same for programs.
#[must_use]
pub fn to_json(played: &[ProjectPlayed]) -> String {
    let projects: Vec<Value> = played
        .iter()
        .map(|played| {
            json!({
                "name": played.name, "user": played.user, "not_run": played.not_run, "broken": played.broken,
                "good": played.not_run.is_none().then(|| played.is_good()), "outcome": played.outcome,
                "judged": played.judged, "named": played.named, "strength": played.strength,
                "gate_seconds": played.gate_seconds, "cold_seconds": played.cold_seconds, "rebuilt": played.rebuilt,
                "copy_seconds": played.copy_seconds, "copy_gate_seconds": played.copy_gate_seconds,
                "judge_seconds": played.judge_seconds, "verified_times": played.verifies.times,
                "disagree": played.verifies.disagree, "disagree_because": played.verifies.why,
                "verify_seconds": median(&played.verifies.seconds), "flaky": played.is_flaky,
            })
        })
        .collect();
    format!("{:#}\n", json!({ "load": load(), "projects": projects }))
}
