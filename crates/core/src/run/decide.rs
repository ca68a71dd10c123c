//! What happens next, when several things could: one list, read from the top.
use super::fact::{HoldCause, PAUSE_MS_MAX, RecallCause};
use super::outcome::{Outcome, Reason, ReasonCode};
use super::state::{RunState, Stage};
use crate::agent::Failure;
use crate::policy::crash::CRASHES_MAX;
use crate::policy::gate::{UNVERIFIABLE_MAX, Verdict};
use crate::text;
use crate::time;

/// What the list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The run ends.
    Conclude(Outcome, Reason),
    /// The agent is asked again.
    Iterate,
    /// Nothing is done for a while.
    Hold(HoldCause, u64),
    /// The workspace is made what a checkpoint says.
    RollBack,
}

/// One entry of the list.
pub struct Rule {
    /// What it is called.
    pub name: &'static str,
    /// Whether it is looked at between any two orders, and not only when the gates have spoken.
    pub at_once: bool,
    judge: fn(&RunState) -> Option<Next>,
}

/// The precedence of everything that can end, hold or continue a run. The first that applies counts.
pub const PRECEDENCE: [Rule; 19] = [
    Rule { name: "abort asked", at_once: true, judge: abort_asked },
    Rule { name: "host failure", at_once: true, judge: host_failure },
    Rule { name: "rollback asked", at_once: true, judge: rollback_asked },
    Rule { name: "blocked", at_once: true, judge: blocked },
    Rule { name: "tamper that stops", at_once: false, judge: never },
    Rule { name: "gates kept", at_once: false, judge: gates_kept },
    Rule { name: "stop asked", at_once: false, judge: stop_asked },
    Rule { name: "pause asked", at_once: false, judge: pause_asked },
    Rule { name: "cap: iterations", at_once: false, judge: iteration_cap },
    Rule { name: "cap: time", at_once: false, judge: time_cap },
    Rule { name: "cap: money", at_once: false, judge: money_cap },
    Rule { name: "cap: calls", at_once: false, judge: never },
    Rule { name: "agent cannot work: login or billing", at_once: false, judge: login_or_billing },
    Rule { name: "agent cannot work: crashes", at_once: false, judge: crash_streak },
    Rule { name: "agent cannot work: gate unverifiable", at_once: false, judge: unverifiable_streak },
    Rule { name: "breaker", at_once: false, judge: never },
    Rule { name: "wait", at_once: false, judge: wait },
    Rule { name: "recovery ladder", at_once: false, judge: never },
    Rule { name: "next iteration", at_once: false, judge: next_iteration },
];

/// Between two orders: does anything end the run right now?
#[must_use]
pub fn at_once(state: &RunState) -> Option<Next> {
    PRECEDENCE.iter().filter(|rule| rule.at_once).find_map(|rule| (rule.judge)(state))
}

/// When the gates have spoken: what is next?
#[must_use]
pub fn decide(state: &RunState) -> Next {
    PRECEDENCE.iter().find_map(|rule| (rule.judge)(state)).unwrap_or(Next::Iterate)
}

/// For entries whose policy is not built yet: their place in the list is kept.
fn never(_: &RunState) -> Option<Next> {
    None
}

fn conclude(outcome: Outcome, code: ReasonCode, text: String) -> Option<Next> {
    Some(Next::Conclude(outcome, Reason { code, text }))
}

fn abort_asked(state: &RunState) -> Option<Next> {
    if let Some(by) = &state.asked.cancel {
        let began = state.stage != Stage::Fresh && state.host_failure.is_none();
        if state.asked.rollback.is_some() && began && state.keeping.may_try {
            return Some(Next::RollBack);
        }
        let refused = state.keeping.refused.as_ref();
        let refused = refused.map_or(String::new(), |why| format!("; the workspace was not rolled back: {why}"));
        return conclude(Outcome::Cancelled, ReasonCode::ManualStop, format!("cancelled by {by}{refused}"));
    }
    let by = state.asked.abort.as_ref()?;
    conclude(Outcome::Stopped, ReasonCode::ManualStop, format!("stopped at once by {by}"))
}

fn host_failure(state: &RunState) -> Option<Next> {
    if let Some(left) = &state.lost_agent {
        let text = format!("the agent could not be ended; still there: {left}");
        return conclude(Outcome::Unable, ReasonCode::AgentLost, text);
    }
    let what = state.host_failure.as_ref()?;
    conclude(Outcome::Unable, ReasonCode::HostFailure, what.clone())
}

/// A person who goes back does not want to be told that what is thrown away was done.
fn rollback_asked(state: &RunState) -> Option<Next> {
    let target = state.asked.rollback.as_ref()?;
    // One that was begun goes on first of all: the workspace is neither this nor that.
    let begun = state.keeping.rolling_back;
    let between = matches!(state.stage, Stage::Gating { .. }) && (target.now || is_due(state));
    let (may_try, blocked) = (state.keeping.may_try, state.blocked.is_some());
    ((begun && (may_try || !blocked)) || ((between || blocked) && may_try)).then_some(Next::RollBack)
}

fn blocked(state: &RunState) -> Option<Next> {
    let why = state.blocked.as_ref()?;
    match &state.asked.stop {
        Some(by) => conclude(
            Outcome::Stopped,
            ReasonCode::ManualStop,
            format!("stopped by {by} while it could not go on: {why}"),
        ),
        None => Some(Next::Hold(HoldCause::Blocked, PAUSE_MS_MAX)),
    }
}

fn gates_kept(state: &RunState) -> Option<Next> {
    if !state.gates_kept() {
        return None;
    }
    let text = match state.iteration {
        0 => "the promise holds already, before any iteration".to_owned(),
        1 => "the promise holds after 1 iteration".to_owned(),
        done => format!("the promise holds after {done} iterations"),
    };
    conclude(Outcome::Kept, ReasonCode::GoalComplete, text)
}

fn stop_asked(state: &RunState) -> Option<Next> {
    let by = state.asked.stop.as_ref()?;
    conclude(Outcome::Stopped, ReasonCode::ManualStop, format!("stopped after the iteration by {by}"))
}

fn pause_asked(state: &RunState) -> Option<Next> {
    state.asked.pause.as_ref().map(|_| Next::Hold(HoldCause::Paused, PAUSE_MS_MAX))
}

/// The provider first, then an answer, then the delay that is set.
fn wait(state: &RunState) -> Option<Next> {
    provider(state).or_else(|| answer(state)).or_else(|| delay(state))
}

fn provider(state: &RunState) -> Option<Next> {
    let wait = state.wait.as_ref()?;
    if state.limited > wait.tries_max() {
        let text = format!("{} attempts in a row came to nothing: {}", state.limited, wait.why);
        return conclude(Outcome::Unable, ReasonCode::ProviderDown, text);
    }
    let ms = wait.until_ms.saturating_sub(state.now.wall_ms);
    let left = state.settings.max_time_ms.map(|most| most.saturating_sub(state.active_ms(state.now)));
    if left.is_some_and(|left| ms > left) {
        let text = format!(
            "{}; it would last until {}, which is past the time of the loop",
            wait.why,
            time::rfc3339(wait.until_ms)
        );
        return conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text);
    }
    (ms > 0).then_some(Next::Hold(HoldCause::Limit, ms))
}

/// A question waits for a person only where somebody wants that; else the next prompt says that nobody answers.
fn answer(state: &RunState) -> Option<Next> {
    let question = state.question.as_ref()?;
    match state.settings.resolved.get("on_question") {
        "park" => Some(Next::Hold(HoldCause::Question, PAUSE_MS_MAX)),
        "stop" => conclude(Outcome::Unable, ReasonCode::Question, format!("the agent asks: {question}")),
        _ => None,
    }
}

/// Money that the agent's own program counts for us.
fn money_cap(state: &RunState) -> Option<Next> {
    let report = state.report.as_ref().filter(|report| state.agent_ended && report.heard.budget_hit)?;
    let said = report.heard.error.as_ref().map_or(String::new(), |error| format!(": {error}"));
    let text = format!("the agent stopped at the limit of its budget and the promise does not hold{said}");
    conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text)
}

/// Nothing but a person can mend these.
fn login_or_billing(state: &RunState) -> Option<Next> {
    let failure = state.failure.filter(|_| state.agent_ended)?;
    let agent = &state.settings.agent;
    let (code, what) = match failure {
        Failure::Auth => (ReasonCode::AgentLogin, "is not signed in, or was refused"),
        Failure::Billing => (ReasonCode::AgentBilling, "has no credit left, or a plan that does not hold it"),
        Failure::RateLimit
        | Failure::Overload
        | Failure::Network
        | Failure::Permission
        | Failure::Context
        | Failure::Crash
        | Failure::Hang
        | Failure::Refusal
        | Failure::Question => return None,
    };
    let report = state.report.as_ref()?;
    let said = report.heard.error.as_ref().map_or_else(|| said(&report.said), |error| format!(": {error}"));
    conclude(Outcome::Unable, code, format!("{agent} {what}{said}"))
}

/// The delay lies between iterations: not before the first, and not before another attempt.
fn delay(state: &RunState) -> Option<Next> {
    let between = state.agent_ended && !state.delayed;
    state.settings.delay_ms.filter(|_| between).map(|ms| Next::Hold(HoldCause::Delay, ms))
}

fn iteration_cap(state: &RunState) -> Option<Next> {
    let most = state.settings.max_iterations?;
    if state.iterations_done() < most {
        return None;
    }
    let word = if most == 1 { "iteration" } else { "iterations" };
    let failure = state.failure.map_or(String::new(), |failure| format!("; the last one failed: {}", failure.word()));
    conclude(
        Outcome::Exhausted,
        ReasonCode::IterationLimit,
        format!("{most} {word} done and the promise does not hold{failure}"),
    )
}

fn time_cap(state: &RunState) -> Option<Next> {
    let most = state.settings.max_time_ms?;
    if state.active_ms(state.now) < most {
        return None;
    }
    let text = format!("{} used up and the promise does not hold", time::spaced(most));
    conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text)
}

fn crash_streak(state: &RunState) -> Option<Next> {
    if state.crash_streak < CRASHES_MAX {
        return None;
    }
    let report = state.report.as_ref()?;
    let evidence = if state.changes.is_some() { "changed nothing" } else { "the promise said the same each time" };
    let own = report.heard.error.as_ref().map(|error| format!(": {error}"));
    let (ended, said) = (report.ended.brief(), own.unwrap_or_else(|| said(&report.said)));
    let text = format!("the agent failed {CRASHES_MAX} times in a row and {evidence} ({ended}){said}");
    conclude(Outcome::Unable, ReasonCode::AgentCrashes, text)
}

/// The end of what was said, if anything was.
fn said(text: &str) -> String {
    let line = text::one_line(text::tail(text, 300), 200);
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

fn unverifiable_streak(state: &RunState) -> Option<Next> {
    if state.unverifiable_streak < UNVERIFIABLE_MAX {
        return None;
    }
    let all = state.gates.iter().zip(&state.settings.gates);
    let (last, gate) = all
        .filter_map(|(memory, gate)| memory.last.as_ref().map(|last| (last, gate)))
        .find(|(last, _)| last.verdict == Verdict::Unverifiable)?;
    let ended = last.report.ended.brief();
    let text = format!("the promise could not be checked: {} ({ended}){}", gate.command, said(&last.report.said));
    conclude(Outcome::Unable, ReasonCode::GateUnverifiable, text)
}

/// Last of all: nothing speaks against going on.
fn next_iteration(_: &RunState) -> Option<Next> {
    Some(Next::Iterate)
}

/// Which iteration and attempt the agent is asked for next: a cut-off one is gone on with.
#[must_use]
pub fn next_attempt(state: &RunState) -> (u32, u32) {
    if state.agent_ended || state.iteration == 0 {
        (state.iteration + 1, 1)
    } else {
        (state.iteration, state.attempt + 1)
    }
}

/// Orders that must be recalled because their time has come, with the cause.
#[must_use]
pub fn overdue(state: &RunState) -> Vec<(crate::ids::OrderId, RecallCause)> {
    let mut due: Vec<_> = state
        .orders
        .iter()
        .filter(|(_, open)| open.recalled.is_none())
        .filter(|(_, open)| state.is_overdue(open))
        .map(|(id, _)| (*id, RecallCause::Timeout))
        .collect();
    let out_of_time = state.agent_time_limit().is_some_and(|limit| limit.is_due(state.now));
    if let (true, Some((id, _))) = (out_of_time, state.main_order()) {
        due.retain(|(known, _)| *known != id);
        due.push((id, RecallCause::TimeLimit));
    }
    due
}

/// Whether the gates have all spoken and the list is to be read.
#[must_use]
pub fn is_due(state: &RunState) -> bool {
    match state.stage {
        Stage::Gating { next, .. } => usize::try_from(next).is_ok_and(|next| next >= state.gates.len()),
        Stage::Fresh | Stage::Cut | Stage::AgentDone | Stage::Saved => false,
    }
}
