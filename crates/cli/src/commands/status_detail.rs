//! What `loop status <id>` says of the breaker, calls, budgets, the agent's conversation and its claims.
use loop_core::policy::alert::{Alert, AlertCause, Severity};
use loop_core::run::{Best, Outcome, RunState};
use loop_core::settings::BreakerMode;
use loop_core::text;
use loop_core::time::At;
use loop_core::view::{AlertRow, BreakerView, BudgetView, CallsView, ProgressView, Record, RecoveryView, SessionView};
use serde_json::{Value, json};

use crate::kept::KeptCheckpoints;
use crate::render::{moment, monitor};

/// How many alerts are shown; JSON has all that are remembered.
const ALERTS_SHOWN_MAX: usize = 5;

/// The same for programs: fields of one object.
pub(crate) fn fields(state: &RunState, record: &Record, now: At) -> Vec<(&'static str, Value)> {
    let best = state
        .progress
        .best()
        .map(|best| json!({"iteration": best.iteration, "checkpoint": best.checkpoint, "rank": best.rank.words()}));
    vec![
        ("breaker", json!(BreakerView::of(state))),
        ("session", json!(SessionView::of(state, now))),
        ("calls", json!(CallsView::of(state, now))),
        ("budget", json!(BudgetView::of(state, now))),
        ("best", json!(best)),
        ("progress", json!(ProgressView::of(state))),
        ("regressed", json!(state.progress.regressed())),
        ("question", json!(state.agent.question())),
        ("recovery", json!(RecoveryView::of(state))),
        ("claims", json!(record.claims())),
        ("runaway", json!(record.runaway())),
        ("alerts", json!(AlertRow::recent(state))),
    ]
}

/// For people: name and value.
pub(crate) fn lines(state: &RunState, record: &Record, now: At, kept: &KeptCheckpoints) -> Vec<(&'static str, String)> {
    let id = state.spec.as_ref().map(|spec| spec.id.to_string()).unwrap_or_default();
    let mut lines = vec![("breaker", breaker(state, &id, now))];
    lines.extend(ProgressView::words(state).map(|words| ("score", words)));
    let marker = ProgressView::of(state).marker;
    lines.extend(marker.map(|marker| ("marker", text::one_line(&marker, 200))));
    if let Some(session) = SessionView::of(state, now) {
        let old = if session.expired { ", too old to be continued" } else { "" };
        lines.push(("session", format!("{} since {}{old}", session.id, moment::ago_text(&session.since, now.wall_ms))));
    }
    let calls = CallsView::of(state, now);
    if let Some(limit) = calls.limit {
        let next = calls
            .next_free_at
            .map_or_else(String::new, |at| format!(", the next one at {}", moment::ahead_text(&at, now.wall_ms)));
        lines.push(("calls", format!("{} of {limit} left in this hour{next}", calls.left)));
    }
    let used: Vec<String> = BudgetView::of(state, now)
        .used
        .iter()
        .filter(|used| used.setting != "max_calls_per_hour")
        .map(|used| format!("{} ({} %, {})", used.text, used.share, used.setting))
        .collect();
    if !used.is_empty() {
        lines.push(("used", used.join(" · ")));
    }
    if let Some(claims) = monitor::claims(record.claims()) {
        lines.push(("claims", claims));
    }
    if !state.progress.regressed().is_empty() {
        let names = text::one_line(&state.progress.regressed().join(", "), 300);
        lines.push(("regressed", format!("fails since iteration {} and passed before: {names}", state.iteration)));
    }
    let is_other = |best: &&Best| best.iteration > 0 && best.checkpoint.as_deref() != state.checkpoints.newest();
    let is_better = |best: &&Best| state.progress.rank().is_none_or(|rank| best.rank > rank);
    if let Some(best) = state.progress.best().filter(is_other).filter(is_better) {
        let name = best.checkpoint.as_deref().unwrap_or_default();
        let how = if kept.has(name) { format!("loop rollback {id} best") } else { kept.since(name) };
        let words = format!("iteration {}: {}; {how}", best.iteration, best.rank.words());
        lines.push(("best", words));
    }
    let alerts = state.trouble.alerts.recent().filter(|told| !is_past(state, &told.alert));
    for told in alerts.rev().take(ALERTS_SHOWN_MAX).collect::<Vec<_>>().into_iter().rev() {
        let text = text::one_line(&told.alert.line(), 300);
        lines.push(("alert", format!("{text} · {}", moment::ago(told.at.wall_ms, now.wall_ms))));
    }
    lines
}

/// Whether an alert is about an end that the run has passed: it was resumed, and its work is done now.
fn is_past(state: &RunState, alert: &Alert) -> bool {
    let outcome = state.over.as_ref().map(|over| over.outcome);
    let done = matches!(outcome, Some(Outcome::Verified | Outcome::PassedBut | Outcome::Accepted | Outcome::Claimed));
    let of_end = alert.pause || matches!(alert.cause, AlertCause::RecoveryUsedUp | AlertCause::Unable);
    done && of_end && alert.severity == Severity::Critical
}

fn breaker(state: &RunState, id: &str, now: At) -> String {
    let breaker = BreakerView::of(state);
    if let Some(at) = &breaker.tripped_at {
        let counting = breaker.counting();
        let counting = if counting.is_empty() { String::new() } else { format!(" · {counting}") };
        return format!(
            "TRIPPED at {} ({}){counting} · close it: loop reset {id}",
            moment::ago_text(at, now.wall_ms),
            breaker.reason.unwrap_or_default()
        );
    }
    match (state.settings.shown().values.breaker.breaker == BreakerMode::Off, breaker.counting()) {
        (true, _) => "off".to_owned(),
        (false, counting) if counting.is_empty() => "closed".to_owned(),
        (false, counting) => format!("closed · {counting}"),
    }
}
