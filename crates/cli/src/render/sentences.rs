//! Sentences about attempts, waits, protected files and tests, for people.
use std::collections::BTreeSet;

use loop_core::agent::{Failure, Permissions};
use loop_core::ended::Ended;
use loop_core::machine::consult;
use loop_core::policy::budget::money_text;
use loop_core::policy::gate::{ExitContradiction, Promise, Verdict};
use loop_core::policy::reserve::{Cap, Reserved};
use loop_core::run::decide::{cost_of_call, model_of_call};
use loop_core::run::{AgentReport, CleanJudgement, CopyVerdict, Gate, GuardReport, JudgedTree, RunState, TestsSeen};
use loop_core::text;
use loop_core::time;

use super::moment;
use super::printer::Paint;

/// How an attempt ended, what it used.
pub(crate) fn attempt_ended(report: &AgentReport) -> String {
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
pub(crate) fn attempt_remarks(report: &AgentReport, state: &RunState) -> Vec<String> {
    let stream = &report.stream;
    let mut lines = Vec::new();
    if stream.session_lost {
        lines.push("its conversation is gone: a new one begins".to_owned());
    } else if let Some(failure) = stream.failure {
        let error = stream.error.clone().unwrap_or_else(|| report.last_text.clone());
        let error = text::one_line(&error, 200);
        let said = if error.is_empty() { "it did not say why".to_owned() } else { error };
        // One that was ended has not failed, and an error without a class is only an error.
        let word = if failure == Failure::Crash { "error" } else { failure.word() };
        if failure != Failure::Crash || report.ended != Ended::ByUs {
            lines.push(format!("{word}: {said}"));
        }
    }
    if stream.failure == Some(Failure::Context) {
        // In a conversation that began with this prompt, another one would be as long.
        lines.push(if state.agent.began_new_session() {
            "a new conversation is as long: give it less at once (the task, injected files, instructions)".to_owned()
        } else {
            "its conversation was too long: a new one begins".to_owned()
        });
    }
    match stream.malformed_lines {
        0 => {}
        1 => lines.push("a line of its output could not be read".to_owned()),
        count => lines.push(format!("{count} lines of its output could not be read")),
    }
    if let Some(question) = stream.asked() {
        lines.push(format!("it asks: {}", text::one_line(&question, 200)));
    }
    if let Some(why) = &stream.block_error {
        lines.push(format!("its status block does not count: {}", text::one_line(why, 200)));
    }
    lines.extend(no_price(report, state));
    if matches!(stream.failure, Some(Failure::Auth)) {
        let error = stream.error.as_deref().unwrap_or_default();
        let sign_in = state.agent_in_use().map(|agent| agent.sign_in_after(error).to_owned());
        let sign_in = sign_in.filter(|hint| !hint.is_empty());
        lines.extend(sign_in.map(|hint| format!("sign in: {hint}")));
    }
    lines
}

/// Said at the first call whose cost is not known, where a limit on money is set.
fn no_price(report: &AgentReport, state: &RunState) -> Option<String> {
    let settings = state.settings.shown();
    let limited = settings.caps.cost_micros.is_some() || settings.caps.cost_per_day_micros.is_some();
    let usage = report.stream.usage;
    let model = model_of_call(state, &report.stream);
    let cost = consult(|deciding| cost_of_call(state, &report.stream, deciding));
    let first = state.budget.spent().cost_untold == 0;
    let used = !usage.is_without_tokens();
    (limited && first && used && cost.is_none()).then(|| {
        let worst = money_text(state.worst_micros(settings));
        let of = model.map_or_else(String::new, |model| format!(" of {model}"));
        format!("it reports no cost, and there is no price{of} in [prices]: a call counts as {worst}, see --worst-cost")
    })
}

/// An iteration whose agent was refused commands and that changed nothing.
pub(crate) fn refused_commands(state: &RunState) -> Option<String> {
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
    Some(format!("{} was refused {what}{first}; allow them with {hint}", state.agent_name()))
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
pub(crate) fn wait_begins(state: &RunState, id: &str, on_terminal: bool) -> Option<String> {
    let wait = state.agent.provider.wait()?;
    let keys = if on_terminal { ", or Enter; leave: Ctrl-C" } else { "" };
    Some(format!(
        "{}; waits until {}; try now: loop resume {id}{keys}",
        text::one_line(&wait.why, 200).trim_end_matches('.'),
        moment::ahead(wait.until_ms, state.now.wall_ms),
    ))
}

/// What became of protected files: nothing where nothing was changed.
pub(crate) fn protected_files(guarded: &GuardReport, shown: &mut BTreeSet<String>) -> Vec<String> {
    let mut lines = Vec::new();
    if !guarded.tampered.is_nothing() {
        let names = text::one_line(&guarded.tampered.words(), 300);
        let restored = if guarded.restored { "; restored" } else { "" };
        let version =
            guarded.checkpoint.as_ref().map_or_else(String::new, |name| format!(" (the agent's version: {name})"));
        let line = format!("protected files were changed: {names}{restored}{version}");
        // With --on-tamper stop nothing is restored, and the next check finds the same.
        if guarded.restored || shown.insert(line.clone()) {
            lines.push(line);
        }
    }
    // Said once, and not after every check.
    let is_news = guarded.added.first.iter().filter(|name| shown.insert((*name).clone())).count() > 0;
    if is_news {
        lines.push(format!("new test files (allowed): {}", text::one_line(&guarded.added.words(), 300)));
    }
    lines.extend(guarded.remarks.iter().map(|remark| text::one_line(remark, 400)));
    lines
}

/// What the gates said on a copy, where that is news.
pub(crate) fn clean_copy(judgement: &CleanJudgement) -> Option<(Option<Paint>, String)> {
    let warn = |text: String| Some((Some(Paint::Warn), text));
    if let Some(only) = &judgement.workspace_only {
        return warn(format!("this project is judged in the workspace only: {}", text::one_line(&only.why, 300)));
    }
    match (&judgement.verdict, judgement.tree) {
        (CopyVerdict::Passes, JudgedTree::Final) => Some((None, "the gates pass in a clean copy, too".to_owned())),
        (CopyVerdict::Disagrees { what }, JudgedTree::Final) => {
            warn(format!("the gates do not pass in a clean copy of the same files: {}", text::one_line(what, 200)))
        }
        (CopyVerdict::NotDone { why }, JudgedTree::Final) => {
            warn(format!("a clean copy of the same files cannot be judged: {}", text::one_line(why, 200)))
        }
        (CopyVerdict::Passes, JudgedTree::Again) => {
            warn("the gates pass in another clean copy of the same files".to_owned())
        }
        (CopyVerdict::Disagrees { what }, JudgedTree::WithoutNewTests) => {
            warn(format!("without the new test files the gates do not pass: {}", text::one_line(what, 200)))
        }
        (CopyVerdict::Passes, JudgedTree::Canary) => warn("the gates do not notice a failing test".to_owned()),
        (CopyVerdict::Passes, JudgedTree::Undone) => warn("the gates pass without the work, too".to_owned()),
        (CopyVerdict::Passes, JudgedTree::Hidden { .. }) => Some((None, "the hidden gates pass, too".to_owned())),
        (CopyVerdict::Disagrees { what }, JudgedTree::Hidden { .. }) => warn(what.clone()),
        (CopyVerdict::NotDone { why }, JudgedTree::Hidden { .. }) => {
            warn(format!("the hidden gates could not be run: {}", text::one_line(why, 300)))
        }
        (
            CopyVerdict::Passes
            | CopyVerdict::Disagrees { .. }
            | CopyVerdict::LikeBaseline
            | CopyVerdict::UnlikeBaseline { .. }
            | CopyVerdict::NoProbe { .. }
            | CopyVerdict::NotDone { .. }
            | CopyVerdict::Cancelled,
            _,
        ) => None,
    }
}

/// Whether it is said how long a gate took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Took {
    Shown,
    LeftOut,
}

/// What a gate said last.
pub(crate) fn gate_words(gate: &Gate, state: &RunState, took: Took) -> String {
    let Some(last) = gate.last() else { return "never ran".to_owned() };
    let but = gate.contradiction().map(ExitContradiction::words);
    let but = but.map_or_else(String::new, |but| format!(", but {but}"));
    let took = match took {
        Took::Shown => format!(", {}", time::spaced(last.report.duration_ms)),
        Took::LeftOut => String::new(),
    };
    // It passed with a file that the agent may not change.
    let changed = state.guard.found().filter(|_| state.guard.stands_tampered() && last.verdict == Verdict::Pass);
    let changed = changed.map_or_else(String::new, |found| {
        format!(", with the changed {}: not counted", text::one_line(&found.paths.join(", "), 100))
    });
    let watched = if gate.is_required() { "" } else { " · only watched" };
    let negated = turned(gate.spec().promise());
    format!("{}{changed} ({negated}{}{but}{took}){watched}", verdict(last.verdict), last.report.ended.brief())
}

/// What is said before the exit code of a gate that passes when its command fails.
pub(crate) fn turned(promise: Promise<'_>) -> &'static str {
    match (promise.red, promise.negated) {
        (true, _) => "tests must fail: ",
        (false, true) => "negated: ",
        (false, false) => "",
    }
}

/// A verdict for people, in the words of the sentences about it. Programs get its name.
pub(crate) const fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Unverifiable => "could not be checked",
    }
}

/// How many tests passed and failed, and what changed.
pub(crate) fn tests(tests: &TestsSeen, is_compared: bool) -> String {
    let mut words = format!("{} pass, {} fail", tests.passed, tests.failed);
    if tests.skipped > 0 {
        words.push_str(&format!(", {} skipped", tests.skipped));
    }
    if is_compared && !tests.newly_failing.is_nothing() {
        words.push_str(&format!(", newly failing: {}", text::one_line(&tests.newly_failing.words(), 160)));
    }
    words
}
