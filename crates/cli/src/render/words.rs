//! What an agent's words amounted to, in lines for people.
use loop_core::agent::{Failure, Permissions};
use loop_core::policy::reserve::{Cap, Reserved};
use loop_core::run::{AgentReport, GuardReport, RunState, TestsSeen};
use loop_core::text;
use loop_core::time::{self, At};

/// How an attempt ended, what it used.
pub(crate) fn ended(report: &AgentReport) -> String {
    let usage = report.stream.usage;
    let turns = usage.turns.map(|turns| if turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") });
    // An attempt that came to nothing used nothing: that is no figure.
    let told = usage.tokens().is_some_and(|tokens| tokens > 0);
    let turns = turns.filter(|_| told || usage.tokens().is_none());
    let tokens = usage.tokens().filter(|_| told).map(|tokens| format!("{tokens} tokens"));
    let cost = usage.cost_usd().filter(|_| told).map(|cost| format!("${cost:.4}"));
    let used: Vec<String> = [turns, tokens, cost].into_iter().flatten().collect();
    let used = if used.is_empty() { String::new() } else { format!(" · {}", used.join(", ")) };
    format!("agent: {} after {}{used}", report.ended.brief(), time::spaced(report.duration_ms))
}

/// What else there is to say about it, a line each.
pub(crate) fn heard(report: &AgentReport, state: &RunState) -> Vec<String> {
    let heard = &report.stream;
    let mut said = Vec::new();
    if heard.session_lost {
        said.push("its session is gone: a new one is begun".to_owned());
    } else if let Some(failure) = heard.failure.filter(|_| !report.last_text.is_empty() || heard.error.is_some()) {
        let error = heard.error.clone().unwrap_or_else(|| report.last_text.clone());
        said.push(format!("{}: {}", failure.word(), text::one_line(&error, 200)));
    }
    if heard.failure == Some(Failure::Context) {
        said.push("its conversation was too long: a new one is begun".to_owned());
    }
    match heard.malformed_lines {
        0 => {}
        1 => said.push("a line of its output could not be read".to_owned()),
        count => said.push(format!("{count} lines of its output could not be read")),
    }
    if let Some(question) = heard.asked() {
        said.push(format!("it asks: {}", text::one_line(&question, 200)));
    }
    if let Some(why) = &heard.block_error {
        said.push(format!("its status block does not count: {}", text::one_line(why, 200)));
    }
    if matches!(heard.failure, Some(Failure::Auth)) {
        let sign_in = state.agent_in_use().map(|agent| agent.sign_in().to_owned()).filter(|hint| !hint.is_empty());
        said.extend(sign_in.map(|hint| format!("sign in: {hint}")));
    }
    said
}

/// An iteration whose agent was refused commands and that came to nothing.
pub(crate) fn refused(state: &RunState) -> Option<String> {
    let report = state.agent.report()?;
    let denials = &report.stream.denials;
    if denials.count == 0 || state.progress.changes().is_none_or(|changes| changes.files > 0) {
        return None;
    }
    let what = if denials.count == 1 { "a command".to_owned() } else { format!("{} commands", denials.count) };
    let first =
        denials.first.as_ref().map_or_else(String::new, |first| format!(" (first: `{}`)", text::one_line(first, 80)));
    let edits = state.settings.shown().values.agent.allowed() == Permissions::Edit;
    let hint = if edits {
        Some("--permissions work".to_owned())
    } else {
        state.agent_in_use().map(|agent| agent.allow_hint())
    };
    let hint = hint.unwrap_or_default();
    Some(format!("{} was refused {what}{first}; allow them with {hint}", state.settings.shown().agent))
}

/// How the limit is raised that keeps a run waiting.
pub(crate) fn higher_limit(state: &RunState, id: &str) -> String {
    let key = match state.budget.call() {
        Some(Reserved::Denied { cap, .. }) => cap.key(),
        Some(Reserved::Granted { .. }) | None => Cap::CallsPerHour.key(),
    };
    format!("loop set {id} {key}=N")
}

/// The start of a wait.
pub(crate) fn waits(state: &RunState, id: &str) -> Option<String> {
    let wait = state.provider.wait()?;
    let left = wait.until_ms.saturating_sub(state.now.wall_ms);
    Some(format!(
        "{}; waits until {} ({}); try now: loop resume {id}, or Enter",
        text::one_line(&wait.why, 200),
        time::rfc3339(wait.until_ms),
        time::spaced(left / 1000 * 1000),
    ))
}

/// A wait as it goes.
pub(crate) fn countdown(state: &RunState, now: At) -> Option<String> {
    let wait = state.waiting()?;
    let left = time::compact(wait.until_ms.saturating_sub(now.wall_ms) / 1000 * 1000);
    Some(format!("{} · {left} left · Enter tries now", wait.failure.word().replace('_', " ")))
}

/// What became of protected files: nothing where nothing was changed.
pub(crate) fn guarded(guarded: &GuardReport) -> Vec<String> {
    let mut lines = Vec::new();
    if !guarded.tampered.is_nothing() {
        let names = text::one_line(&guarded.tampered.words(), 300);
        let back = if guarded.restored { "; put back" } else { "" };
        let kept = guarded.checkpoint.as_ref().map_or_else(String::new, |name| format!(" (what it was is {name})"));
        lines.push(format!("protected files were changed: {names}{back}{kept}"));
    }
    if !guarded.added.is_nothing() {
        lines.push(format!("new files where protected ones are: {}", text::one_line(&guarded.added.words(), 300)));
    }
    lines.extend(guarded.remarks.iter().map(|said| text::one_line(said, 400)));
    lines
}

/// How many tests passed and failed, and what changed.
pub(crate) fn tests(tests: &TestsSeen) -> String {
    let mut words = format!("{} pass, {} fail", tests.passed, tests.failed);
    if tests.skipped > 0 {
        words.push_str(&format!(", {} left out", tests.skipped));
    }
    if !tests.newly_failing.is_nothing() {
        words.push_str(&format!(", newly failing: {}", text::one_line(&tests.newly_failing.words(), 160)));
    }
    words
}
