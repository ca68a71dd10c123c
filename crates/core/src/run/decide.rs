//! What happens next, when several things are possible: one list of rules, read from the top.
use super::branches::BranchesLack;
use super::choice::{self, Readiness};
use super::deadline::UNATTENDED_MS_MAX;
use super::fact::{GatePoint, HoldCause, PAUSE_MS_MAX};
use super::gates::Gate;
use super::judge;
use super::outcome::{Outcome, Reason, ReasonCode};
use super::phase::{AfterAttempt, Phase};
use super::recover;
use super::recovery::RecoveryDecision;
use super::state::RunState;
use crate::agent::{AgentReport, Claim, Failure, StreamReport};
use crate::ended::Ended;
use crate::machine::Deciding;
use crate::policy::breaker::{IterationEvidence, Trip};
use crate::policy::budget::{money_pair, money_text as dollars};
use crate::policy::crash::CRASHES_MAX;
use crate::policy::failures::FailureAction;
use crate::policy::gate::{UNVERIFIABLE_MAX, Verdict};
use crate::policy::prices::cost_of;
use crate::policy::proof::ProofResult;
use crate::policy::reserve::{Cap, Reserved};
use crate::policy::router::AgentArm;
use crate::settings::{OnQuestion, OnTamper};
use crate::text;
use crate::time;

/// No wait for a free call is longer.
const HOUR_MS: u64 = 3_600_000;
/// While calls of other runs use up a limit, the run asks again after this time.
const OTHERS_MS: u64 = 15_000;

/// What the list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The run ends.
    Conclude(Outcome, Reason),
    /// The agent is asked again.
    Iterate,
    /// Nothing is done for a while.
    Hold(HoldCause, u64),
    /// The state of a checkpoint is restored in the workspace.
    RollBack,
    /// Something else is tried, because the loop is stuck.
    Recover(RecoveryDecision),
    /// Several ways are tried beside each other.
    Branches,
    /// This agent cannot work any more, and another one that is enabled works instead.
    FailOver(String, Failure),
}

/// One entry of the list.
pub struct Rule {
    /// What it is called.
    pub name: &'static str,
    /// Whether the rule applies between any two orders, and not only when all gates have a verdict.
    pub at_once: bool,
    /// Whether it is a limit past which an agent is not called again, not even for its status block.
    pub ends_calls: bool,
    judge: fn(&RunState, &Deciding) -> Option<Next>,
}

/// The precedence of everything that can end, hold or continue a run. The first that applies counts.
pub const PRECEDENCE: [Rule; 22] = [
    Rule { name: "abort asked", at_once: true, ends_calls: false, judge: abort_asked },
    Rule { name: "host failure", at_once: true, ends_calls: false, judge: host_failure },
    Rule { name: "rollback asked", at_once: true, ends_calls: false, judge: rollback_asked },
    Rule { name: "blocked", at_once: true, ends_calls: false, judge: blocked },
    Rule { name: "tamper that stops", at_once: false, ends_calls: false, judge: tamper },
    Rule { name: "gates pass", at_once: false, ends_calls: false, judge: gates_pass },
    Rule { name: "claimed, where there is no gate", at_once: false, ends_calls: false, judge: claimed },
    Rule { name: "stop asked", at_once: false, ends_calls: false, judge: stop_asked },
    Rule { name: "pause asked", at_once: false, ends_calls: false, judge: pause_asked },
    Rule { name: "paused by a critical alert", at_once: false, ends_calls: false, judge: alert_pause },
    Rule { name: "cap: iterations", at_once: false, ends_calls: false, judge: iteration_cap },
    Rule { name: "cap: time", at_once: false, ends_calls: true, judge: time_cap },
    Rule {
        name: "agent cannot work: login, billing or model",
        at_once: false,
        ends_calls: false,
        judge: login_billing_or_model,
    },
    Rule { name: "cap: money", at_once: false, ends_calls: true, judge: money_cap },
    Rule { name: "cap: calls", at_once: false, ends_calls: true, judge: calls_cap },
    Rule { name: "agent cannot work: crashes", at_once: false, ends_calls: false, judge: crash_streak },
    Rule {
        name: "agent cannot work: gate unverifiable",
        at_once: false,
        ends_calls: false,
        judge: unverifiable_streak,
    },
    Rule { name: "agent says that it is blocked", at_once: false, ends_calls: false, judge: agent_blocked },
    Rule { name: "recovery", at_once: false, ends_calls: false, judge: recovery },
    Rule { name: "breaker", at_once: false, ends_calls: false, judge: breaker },
    Rule { name: "wait", at_once: false, ends_calls: false, judge: wait },
    Rule { name: "next iteration", at_once: false, ends_calls: false, judge: next_iteration },
];

/// Between two orders: does anything end the run right now?
#[must_use]
pub fn at_once(state: &RunState, deciding: &Deciding) -> Option<Next> {
    PRECEDENCE.iter().filter(|rule| rule.at_once).find_map(|rule| (rule.judge)(state, deciding))
}

/// What is next, when all gates have a verdict.
#[must_use]
pub fn decide(state: &RunState, deciding: &Deciding) -> Next {
    let next = PRECEDENCE.iter().find_map(|rule| (rule.judge)(state, deciding)).unwrap_or(Next::Iterate);
    match &next {
        // If the last state passes its gates and is not proven, that is the reason of the end, together with the limit.
        Next::Conclude(Outcome::Exhausted, reason) => passed_but(state, Some(&reason.text)).unwrap_or(next),
        Next::Conclude(..)
        | Next::Iterate
        | Next::Hold(..)
        | Next::RollBack
        | Next::Recover(_)
        | Next::Branches
        | Next::FailOver(..) => next,
    }
}

/// Whether a cap on the loop's own is reached: nothing more may be asked of an agent.
#[must_use]
pub fn capped(state: &RunState, deciding: &Deciding) -> bool {
    PRECEDENCE.iter().filter(|rule| rule.ends_calls).any(|rule| (rule.judge)(state, deciding).is_some())
}

fn conclude(outcome: Outcome, code: ReasonCode, text: String) -> Option<Next> {
    Some(Next::Conclude(outcome, Reason { code, text }))
}

fn abort_asked(state: &RunState, _: &Deciding) -> Option<Next> {
    if let Some(by) = &state.requests.cancel {
        let began = !state.phase.is_fresh() && state.trouble.host_failure().is_none();
        if judge::rollback_target(state).is_some() && began && state.checkpoints.may_try_rollback() {
            return Some(Next::RollBack);
        }
        if saves_first(state) {
            return None;
        }
        let refused = state.checkpoints.refused();
        let refused = refused.map_or(String::new(), |why| format!("; the workspace was not rolled back: {why}"));
        return conclude(Outcome::Cancelled, ReasonCode::ManualStop, format!("cancelled by {by}{refused}"));
    }
    let by = state.requests.abort.as_ref().filter(|_| !saves_first(state))?;
    conclude(Outcome::Stopped, ReasonCode::ManualStop, format!("stopped by {by}"))
}

/// Whether the work of a cut-off attempt is checkpointed before the run ends. It is not where a person cancelled this
/// checkpoint, too, or where it cannot be taken.
fn saves_first(state: &RunState) -> bool {
    let due = matches!(state.phase, Phase::AttemptGuard(AfterAttempt::Interrupted) | Phase::InterruptedCheckpoint);
    let can = state.trouble.host_failure().is_none()
        && state.trouble.lost_agent().is_none()
        && state.trouble.blocked().is_none();
    due && can && state.has_checkpoints() && !state.checkpoints.gave_up_saving()
}

fn host_failure(state: &RunState, _: &Deciding) -> Option<Next> {
    if let Some(left) = state.trouble.lost_agent() {
        let text = format!("the agent could not be ended; still there: {left}");
        return conclude(Outcome::Unable, ReasonCode::AgentLost, text);
    }
    let what = state.trouble.host_failure()?;
    conclude(Outcome::Unable, ReasonCode::HostFailure, what.to_owned())
}

/// A rollback comes before *done*: it would undo the work that is reported as done.
fn rollback_asked(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let (target, _) = judge::rollback_target(state)?;
    // One that was begun comes first of all: the workspace is half-restored.
    let begun = state.checkpoints.rolling_back();
    let between = state.phase.point().is_some() && (target.now || is_due(state, deciding));
    let (may_try, blocked) = (state.checkpoints.may_try_rollback(), state.trouble.blocked().is_some());
    ((begun && (may_try || !blocked)) || ((between || blocked) && may_try)).then_some(Next::RollBack)
}

fn blocked(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let why = state.trouble.blocked()?;
    match &state.requests.stop {
        Some(by) => conclude(
            Outcome::Stopped,
            ReasonCode::ManualStop,
            format!("stopped by {by} while it could not continue: {why}"),
        ),
        None => match state.blocked_ms_left(deciding) {
            None => Some(Next::Hold(HoldCause::Blocked, PAUSE_MS_MAX)),
            Some(0) => {
                conclude(Outcome::Unable, ReasonCode::HostFailure, format!("{why}; {}", not_fixed(state, deciding)))
            }
            Some(left) => Some(Next::Hold(HoldCause::Blocked, left)),
        },
    }
}

/// How long a run that no person sees has waited for one.
fn not_fixed(state: &RunState, deciding: &Deciding) -> String {
    let limit = match state.settings.read(deciding).values.limits.max_time_ms() {
        Some(most) if state.time_left(deciding) == Some(0) => format!("the time limit of {}", time::spaced(most)),
        Some(_) | None => time::spaced(UNATTENDED_MS_MAX),
    };
    format!("it was not fixed within {limit}, and without a terminal the loop waits no longer")
}

fn gates_pass(state: &RunState, deciding: &Deciding) -> Option<Next> {
    if !state.gates_pass() || must_work(state, deciding) {
        return None;
    }
    let judgement = state.proof_judgement();
    match judgement.map(|judgement| judgement.result) {
        Some(ProofResult::Refused) => return None,
        Some(ProofResult::PassedBut) => return passed_but(state, None),
        Some(ProofResult::Verified) | None => {}
    }
    let pass = words_of_gates(state, true);
    let text = match state.iteration {
        0 => format!("{pass} already, before any iteration"),
        1 => format!("{pass} after 1 iteration"),
        done => format!("{pass} after {done} iterations"),
    };
    conclude(Outcome::Verified, ReasonCode::GoalComplete, text)
}

/// Whether the setting says that the agent works first, and no iteration has changed anything yet.
fn must_work(state: &RunState, deciding: &Deciding) -> bool {
    let worked = |evidence: &IterationEvidence| match (evidence.files, evidence.noticed) {
        (Some(files), _) => files > 0,
        (None, noticed) => noticed != Some(false),
    };
    let iterations = &state.progress.streaks().evidence;
    state.settings.read(deciding).values.gate.work_first && !iterations.iter().any(worked)
}

/// The gates pass, and something speaks against it that a person must look at.
fn passed_but(state: &RunState, and: Option<&str>) -> Option<Next> {
    let findings = &state.proof_judgement()?.findings;
    let texts: Vec<&str> = findings.iter().map(|finding| finding.text.as_str()).collect();
    let and = and.map_or(String::new(), |and| format!("; {and}"));
    let text = format!("{}, but {}{and}", words_of_gates(state, true), texts.join("; "));
    conclude(Outcome::PassedBut, ReasonCode::NotProven, text)
}

/// Protected files were changed, and that is to stop the run.
fn tamper(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let found = state.guard.found()?;
    if let Some(path) = state.guard.asks() {
        let id = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
        let why = if state.guard.maybe_work().iter().any(|program| program == path) {
            "is a program of the gate, so it is protected, and the agent changed it; if it is the work"
        } else {
            "is protected, was restored in two iterations in a row, and the agent changed it again; if it may"
        };
        let text = format!("{path} {why}: loop resume {id} --allow {path}");
        return conclude(Outcome::Tampered, ReasonCode::Tamper, text);
    }
    if state.settings.read(deciding).values.guard.on_tamper != OnTamper::Stop {
        return None;
    }
    let who = if state.guard.by_gates() { "while the gates ran" } else { "by the agent" };
    let text = format!("protected files were changed {who}: {}", found.tampered.words());
    conclude(Outcome::Tampered, ReasonCode::Tamper, text)
}

/// Without a gate the agent's word decides: its promise tag, or its exit signal in enough iterations in a row, the last
/// of which changed nothing.
fn claimed(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let report = newest_report(state).filter(|report| !state.gated() && !report.failed())?;
    let tag = state.settings.read(deciding).values.gate.completion_promise.as_deref();
    if report.stream.promise.as_deref().is_some_and(|said| Some(said) == tag) {
        let tag = tag.unwrap_or_default();
        let text = format!("the agent says <promise>{tag}</promise>; nothing was verified");
        return conclude(Outcome::Claimed, ReasonCode::GoalComplete, text);
    }
    let done = |claim: &&Claim| !claim.blocked() && claim.status != "ERROR";
    let claim = report.stream.claimed.as_ref().filter(done)?;
    if !state.settings.read(deciding).values.gate.strict_completion {
        let text = "the agent says that it is done; nothing was verified".to_owned();
        return claim
            .complete()
            .then_some(())
            .and_then(|()| conclude(Outcome::Claimed, ReasonCode::GoalComplete, text));
    }
    let times = state.progress.streaks().completion;
    let often = times >= state.settings.read(deciding).completion_threshold;
    if !(claim.exit_signal && often && state.progress.delta().is_quiet()) {
        return None;
    }
    let often = if times == 1 { "once".to_owned() } else { format!("{times} times in a row") };
    let text = format!("the agent says {often} that it is done, and changed nothing more; nothing was verified");
    conclude(Outcome::Claimed, ReasonCode::GoalComplete, text)
}

/// What the agent said in the iteration that is judged; nothing where it was rolled back or opened again since.
fn newest_report(state: &RunState) -> Option<&AgentReport> {
    let judged = state.phase.point() == Some(GatePoint::Iteration(state.iteration));
    state.agent.report().filter(|_| state.agent_ended() && judged)
}

fn stop_asked(state: &RunState, _: &Deciding) -> Option<Next> {
    let by = state.requests.stop.as_ref()?;
    conclude(Outcome::Stopped, ReasonCode::ManualStop, format!("stopped after the iteration by {by}"))
}

fn pause_asked(state: &RunState, _: &Deciding) -> Option<Next> {
    let asked = state.requests.pause.is_some() || state.trouble.held().is_some();
    asked.then_some(Next::Hold(HoldCause::Paused, PAUSE_MS_MAX))
}

/// A person is to look at it first. That is after the gates: a loop that is done needs no one.
fn alert_pause(state: &RunState, _: &Deciding) -> Option<Next> {
    let why = state.trouble.alerts.pause()?;
    conclude(Outcome::Paused, ReasonCode::AlertPause, format!("paused by a critical alert: {why}"))
}

/// The provider first, then an answer, then the delay that is set.
fn wait(state: &RunState, deciding: &Deciding) -> Option<Next> {
    provider(state, deciding)
        .or_else(|| hour(state, deciding))
        .or_else(|| answer(state, deciding))
        .or_else(|| delay(state, deciding))
}

fn provider(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let settings = state.settings.read(deciding);
    // The agent that works next: it waits only where no other that is enabled can work.
    let next = choice::choose(state, settings).choice;
    let wait = state.agent.provider.wait_of(&next.agent)?;
    let refused = state.agent.provider.refused_of(&next.agent);
    // A person may have said something else since the wait began.
    match settings.values.agent.on_failure.action(wait.failure, deciding) {
        FailureAction::Next => return None,
        FailureAction::Stop => {
            let text = format!("{}, and on_failure says stop", wait.why);
            return conclude(Outcome::Unable, ReasonCode::ProviderDown, text);
        }
        FailureAction::Wait { tries_max, .. } if refused > tries_max => {
            let attempts = if refused == 1 { "1 attempt".to_owned() } else { format!("{refused} attempts in a row") };
            let text = format!("{attempts} failed: {}", wait.why);
            return conclude(Outcome::Unable, ReasonCode::ProviderDown, text);
        }
        FailureAction::Wait { .. } => {}
    }
    let ms = wait.until_ms.saturating_sub(state.now.wall_ms);
    if state.time_left(deciding).is_some_and(|left| ms > left) {
        let text = format!(
            "{}; it would last until {}, which is past the time of the loop",
            wait.why,
            time::rfc3339(wait.until_ms)
        );
        return conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text);
    }
    (ms > 0).then_some(Next::Hold(HoldCause::Limit, ms))
}

/// A question waits for a person only where the setting says so; else the next prompt says that no answer comes.
fn answer(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let question = state.agent.question()?;
    match state.settings.read(deciding).values.agent.on_question {
        OnQuestion::Park => Some(Next::Hold(HoldCause::Question, PAUSE_MS_MAX)),
        OnQuestion::Stop => conclude(Outcome::Unable, ReasonCode::Question, format!("the agent asks: {question}")),
        OnQuestion::Decide => None,
    }
}

/// The limit of calls per hour is reached.
fn hour(state: &RunState, deciding: &Deciding) -> Option<Next> {
    match state.budget.call()? {
        // Calls of other runs use up the limit now: the run asks again soon.
        Reserved::Denied { free_in_ms: None, .. } => Some(Next::Hold(HoldCause::Calls, OTHERS_MS)),
        Reserved::Denied { cap: Cap::CallsPerHour, free_in_ms: Some(ms), .. } => {
            if state.time_left(deciding).is_some_and(|left| *ms > left) {
                let text = "the next call that --max-calls-per-hour allows is past the time of the loop".to_owned();
                return conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text);
            }
            Some(Next::Hold(HoldCause::Calls, (*ms).clamp(1, HOUR_MS)))
        }
        Reserved::Denied { .. } | Reserved::Granted { .. } => None,
    }
}

/// All runs together have reached a limit of the day.
fn calls_cap(state: &RunState, deciding: &Deciding) -> Option<Next> {
    if choice::is_used_up(state, state.settings.read(deciding)) {
        let text = "all loops together have used up the calls of the scarcest model that --opus-limit allows today, and \
                    no other model is enabled";
        return conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text.to_owned());
    }
    let Reserved::Denied { cap, day, free_in_ms: Some(_), .. } = state.budget.call()? else { return None };
    let calls = if day.calls == 1 { "1 call".to_owned() } else { format!("{} calls", day.calls) };
    let cost = dollars(day.cost_micros);
    let assumed = match day.untold {
        0 => String::new(),
        untold => format!(" as counted ({untold} of {calls} reported no cost: the worst case counts, --worst-cost)"),
    };
    let text = match cap {
        // Another model is chosen then.
        Cap::CallsPerHour | Cap::ScarcePerDay => return None,
        Cap::CallsPerDay => {
            format!("all loops together have made {calls} today, the most that --max-calls-per-day allows")
        }
        Cap::CostPerDay => {
            format!("all loops together have cost {cost} today{assumed}; another call could go past --max-cost-per-day")
        }
        Cap::TokensPerDay => {
            format!(
                "all loops together have used {} tokens today; another call could go past --max-tokens-per-day",
                day.tokens
            )
        }
    };
    conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text)
}

/// Branches had no money or tokens to come to their end, and nothing else is left to try.
fn branches_money(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let settings = state.settings.read(deciding);
    let money = settings.caps.cost_micros.map(|most| {
        let (all, most) = money_pair(state.cost_micros(settings), most);
        format!("{all} of {most} counted")
    });
    let tokens = settings.caps.tokens.map(|most| format!("{} of {most} tokens counted", state.tokens(settings)));
    let counted = money.into_iter().chain(tokens).collect::<Vec<_>>().join(", ");
    let counted = if counted.is_empty() { counted } else { format!(" ({counted})") };
    let not_done = not_done(state, deciding);
    let text = format!("what is left of the limit is not enough for the branches{counted}, and {not_done}");
    conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text)
}

/// Branches were ended by the time that was left for them, and nothing else is left to try.
fn branches_time(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let most = state.settings.read(deciding).values.limits.max_time_ms()?;
    let (most, not_done) = (time::spaced(most), not_done(state, deciding));
    let text = format!("time limit of {most} reached by the branches, and {not_done}");
    conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text)
}

/// The loop is stuck, recovery is on, and a rung is left.
fn recovery(state: &RunState, deciding: &Deciding) -> Option<Next> {
    if let Some(next) = recover::next(state, deciding) {
        return match recover::ran_out_of(state, &next) {
            Some(BranchesLack::Money) => branches_money(state, deciding),
            Some(BranchesLack::Time) => branches_time(state, deciding),
            None => Some(Next::Recover(next)),
        };
    }
    let on = state.settings.read(deciding).values.recovery.recover;
    let compares = state.recovery.has_branches_to_judge() && state.must_compare();
    if on && (state.recovery.open_branches().is_some() || compares) {
        return Some(Next::Branches);
    }
    let questions = state.recovery.questions().filter(|_| on)?;
    // Nobody sees that it waits: it ends, and can be resumed.
    if state.clock.is_unattended() {
        return conclude(Outcome::Blocked, ReasonCode::Stuck, questions.sentence(state.id_text()));
    }
    Some(Next::Hold(HoldCause::Stuck, PAUSE_MS_MAX))
}

/// The loop gets no further. The reason names the count that shows it, the iterations, and the setting.
fn breaker(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let counts = state.progress.streaks();
    let all = &state.settings.read(deciding).breaker;
    // Recovery is tried first.
    let waits = recover::holds_breaker(state, deciding);
    let (trip, count) = if waits {
        counts.trip(&all.without_stagnation(), state.gated(), deciding)?
    } else {
        counts.trip(all, state.gated(), deciding)?
    };
    let (code, what) = match trip {
        Trip::NoProgress => (ReasonCode::NoProgress, format!("no progress in {count} iterations in a row")),
        Trip::SameError => (ReasonCode::SameError, format!("the same error {count} times in a row")),
        Trip::Oscillation => {
            (ReasonCode::Oscillation, format!("the workspace returned {count} times to a state that it had before"))
        }
        Trip::Identical => (ReasonCode::IdenticalOutput, format!("the same words {count} times in a row")),
        Trip::TestOnly => (ReasonCode::TestLoops, format!("nothing but tests in {count} iterations in a row")),
        Trip::Decline => (ReasonCode::OutputDecline, format!("much shorter answers {count} times in a row")),
        Trip::MissingStatus => (ReasonCode::MissingStatus, format!("no status block {count} times in a row")),
        Trip::DoneClaims => (
            ReasonCode::SafetyCompletion,
            format!("it said {count} times in a row that it is done, without the exit signal"),
        ),
    };
    // A decline compares an answer with the one before it, so one more iteration is shown. A return needs two more.
    let more = u32::from(trip == Trip::Decline) + if trip == Trip::Oscillation { 2 } else { 0 };
    let shown = counts.shown(trip, count + more);
    let setting = state.settings.read(deciding).resolved.how_to_set_threshold(trip);
    let text = format!("{what}: iterations {shown}; the setting is {setting}");
    conclude(Outcome::Tripped, code, text)
}

/// The agent says that it cannot go on, and that is the end.
fn agent_blocked(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let report = newest_report(state).filter(|_| judge::blocked_stops(state, deciding))?;
    let claim = report.stream.claimed.as_ref().filter(|claim| claim.blocked())?;
    let said = claim.summary.as_ref().map_or(String::new(), |summary| format!(": {summary}"));
    conclude(Outcome::Blocked, ReasonCode::AgentBlocked, format!("the agent says that it is blocked{said}"))
}

/// Money and tokens: the reported amounts, and the worst case for what was not reported.
fn money_cap(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let settings = state.settings.read(deciding);
    let caps = &settings.caps;
    let untold = |count: u32, what: &str, worst: &dyn Fn() -> String, flag: &str| {
        let calls = state.budget.spent().calls;
        (count > 0)
            .then(|| format!("{count} of {calls} calls did not report {what} and count as {} each ({flag})", worst()))
    };
    let spent = state.budget.spent();
    if let Some(most) = caps.cost_micros.filter(|most| state.cost_micros(settings) >= *most) {
        let (all, most) = money_pair(state.cost_micros(settings), most);
        let told = dollars(spent.usage.cost_micros.unwrap_or(0));
        let worst = || dollars(state.worst_micros(settings));
        let of_branches = (spent.assumed_calls > 0).then(|| {
            let assumed = dollars(spent.assumed_micros);
            format!(
                "{} calls of branches did not report their cost and count as {assumed} together",
                spent.assumed_calls
            )
        });
        let untold = untold(spent.worst_calls(), "its cost", &worst, "--worst-cost").into_iter().chain(of_branches);
        let untold = untold.collect::<Vec<_>>().join(", and ");
        let text = if untold.is_empty() {
            format!("{all} of {most} spent")
        } else {
            format!("{all} of {most} counted: {told} reported, and {untold}")
        };
        return conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text);
    }
    if let Some(most) = caps.tokens.filter(|most| state.tokens(settings) >= *most) {
        let all = state.tokens(settings);
        let told = spent.usage.tokens().unwrap_or(0);
        let worst = || state.worst_tokens(settings).to_string();
        let text = match untold(spent.tokens_untold, "its tokens", &worst, "--worst-tokens") {
            None => format!("{all} of {most} tokens used"),
            Some(untold) => format!("{all} of {most} tokens counted: {told} reported, and {untold}"),
        };
        return conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text);
    }
    let report = newest_report(state).filter(|report| report.stream.budget_hit)?;
    let said = report.stream.error.as_ref().map_or(String::new(), |error| format!(": {error}"));
    let text = format!("the agent stopped at the limit of its budget and {}{said}", not_done(state, deciding));
    conclude(Outcome::Exhausted, ReasonCode::BudgetLimit, text)
}

/// Failures that only a person can fix, and those for which the setting says stop.
fn login_billing_or_model(state: &RunState, deciding: &Deciding) -> Option<Next> {
    // If the agent of a rung cannot work, the rung ends, and not the run.
    let of_rung = state.recovery.was_refused_in(state.iteration);
    let failure = state.agent.failure().filter(|_| state.agent_ended() && !of_rung)?;
    let table = &state.settings.read(deciding).values.agent.on_failure;
    if table.action(failure, deciding) != FailureAction::Stop {
        return None;
    }
    let agent = state.agent_name();
    let (code, what) = match failure {
        Failure::Auth => (ReasonCode::AgentLogin, "is not signed in, or was refused"),
        Failure::Billing => (ReasonCode::AgentBilling, "has no credit left, or a plan that does not include it"),
        Failure::Model => (ReasonCode::AgentModel, "has no model of that name, or is not allowed to use it"),
        Failure::RateLimit | Failure::Overload | Failure::Network => {
            (ReasonCode::ProviderDown, "was refused by its provider, and on_failure says stop")
        }
        Failure::Crash => (ReasonCode::AgentCrashes, "failed, and on_failure says stop"),
        Failure::TurnLimit => (ReasonCode::AgentFailed, "reached its own limit of turns, and on_failure says stop"),
        Failure::Hang => (ReasonCode::AgentFailed, "showed no sign of work, and on_failure says stop"),
        Failure::Context => (ReasonCode::AgentFailed, "had too long a conversation, and on_failure says stop"),
        Failure::Refusal => (ReasonCode::AgentFailed, "refused the work, and on_failure says stop"),
        Failure::Permission | Failure::Question => (ReasonCode::AgentFailed, "failed, and on_failure says stop"),
    };
    let report = state.agent.report()?;
    let said = report.stream.error.as_ref().map_or_else(|| said(&report.last_text), |error| format!(": {error}"));
    conclude(Outcome::Unable, code, format!("{agent} {what}{said}"))
}

/// The delay is between iterations: not before the first, and not before another attempt.
fn delay(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let between = state.agent_ended() && !state.agent.is_delayed();
    let delay = state.settings.read(deciding).values.delay();
    delay.filter(|_| between).map(|delay| Next::Hold(HoldCause::Delay, delay.0))
}

fn iteration_cap(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let most = state.settings.read(deciding).values.iterations_max()?;
    if state.iterations_used() < most {
        return None;
    }
    let word = if most == 1 { "iteration" } else { "iterations" };
    let failure =
        state.agent.failure().map_or(String::new(), |failure| format!("; the last one failed: {}", failure.word()));
    conclude(
        Outcome::Exhausted,
        ReasonCode::IterationLimit,
        format!("{most} {word} done and {}{failure}", not_done(state, deciding)),
    )
}

fn time_cap(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let most = state.settings.read(deciding).values.limits.max_time_ms()?;
    let (most_text, not_done) = (time::spaced(most), not_done(state, deciding));
    let is_left = state.active_ms(state.now) < most && !state.clock.ended_gate();
    let text = match (is_left, state.clock.ended_agent()) {
        (true, false) => return None,
        (true, true) => {
            let branches = state.recovery.rung().is_some_and(|rung| !rung.began.branches.is_empty());
            let who = if branches { "the branches" } else { "the agent" };
            format!("time limit of {most_text} reached by {who}, and {not_done}")
        }
        (false, _) => format!("time limit of {most_text} reached, and {not_done}"),
    };
    conclude(Outcome::Exhausted, ReasonCode::TimeLimit, text)
}

/// Another enabled agent works in the place of one that failed again and again, where there is one.
fn fail_over(state: &RunState, deciding: &Deciding) -> Option<Next> {
    let (settings, agent) = (state.settings.read(deciding), state.agent_name());
    let mut without = state.clone();
    without.agent.routing.cannot_work(&AgentArm::new(agent, None), Failure::Crash);
    let next = choice::choose(&without, settings).choice.arm();
    let can = next.agent != agent && choice::readiness(&without, settings, &next) != Readiness::Unable;
    can.then(|| Next::FailOver(agent.to_owned(), Failure::Crash))
}

fn crash_streak(state: &RunState, deciding: &Deciding) -> Option<Next> {
    if state.progress.crash_streak() < CRASHES_MAX {
        return None;
    }
    if let Some(next) = fail_over(state, deciding) {
        return Some(next);
    }
    let report = state.agent.report()?;
    let measured = state.progress.changes().is_some() || state.progress.delta().noticed.is_some();
    let evidence = if measured { "changed nothing" } else { "the promise said the same each time" };
    let own = report.stream.error.as_ref().map(|error| format!(": {error}"));
    let (ended, said) = (report.ended.brief(), own.unwrap_or_else(|| said(&report.last_text)));
    if report.ended == Ended::ByUs {
        let text =
            format!("the agent was stopped {CRASHES_MAX} times in a row at a time limit of its own and {evidence}");
        return conclude(Outcome::Unable, ReasonCode::AgentCrashes, text);
    }
    let text = format!("the agent failed {CRASHES_MAX} times in a row and {evidence} ({ended}){said}");
    conclude(Outcome::Unable, ReasonCode::AgentCrashes, text)
}

/// Why it is not done, for the sentence of an end.
fn not_done(state: &RunState, deciding: &Deciding) -> String {
    match (state.gated(), state.pass_is_refused()) {
        (false, _)
            if state.progress.streaks().completion >= state.settings.read(deciding).completion_threshold
                && !state.progress.delta().is_quiet() =>
        {
            "the agent says that it is done, but still changes files".to_owned()
        }
        (false, _) => "the agent has not said for good that it is done".to_owned(),
        (true, false) if !state.phase.gates_are_done() => {
            let what = if state.gates.len() == 1 { "the promise was" } else { "the gates were" };
            format!("{what} not checked to the end")
        }
        (true, false) if state.gates_pass() => "nothing was changed".to_owned(),
        (true, true) => "it is not proven".to_owned(),
        (true, false) => words_of_gates(state, false),
    }
}

/// The end of what was said, if anything was.
fn said(text: &str) -> String {
    let line = text::one_line(text::tail(text, 300), 200);
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

fn unverifiable_streak(state: &RunState, deciding: &Deciding) -> Option<Next> {
    if state.gates.unverifiable_streak() < UNVERIFIABLE_MAX {
        return None;
    }
    let required = state.gates.required();
    let (last, gate) = required
        .filter_map(|gate| gate.last().map(|last| (last, gate.spec())))
        .find(|(last, _)| last.verdict == Verdict::Unverifiable)?;
    let ended = match last.report.ended {
        Ended::ByUs => {
            let limit = gate.timeout_ms.unwrap_or(state.settings.read(deciding).gate_timeout_ms);
            format!("no end after {}, see --gate-timeout", time::spaced(limit))
        }
        Ended::Exit(_) | Ended::Signal(_) | Ended::NotStarted(_) => last.report.ended.brief(),
    };
    let name = if gate.name == "promise" { "promise".to_owned() } else { format!("gate {}", gate.name) };
    let text = format!("the {name} could not be checked: {} ({ended}){}", gate.command, said(&last.report.excerpt));
    conclude(Outcome::Unable, ReasonCode::GateUnverifiable, text)
}

/// The last rule: nothing prevents the next iteration.
fn next_iteration(_: &RunState, _: &Deciding) -> Option<Next> {
    Some(Next::Iterate)
}

/// Which iteration and attempt the agent is asked for next: an interrupted one is continued.
#[must_use]
pub fn next_attempt(state: &RunState) -> (u32, u32) {
    if state.agent_ended() || state.iteration == 0 {
        (state.iteration + 1, 1)
    } else {
        (state.iteration, state.attempt + 1)
    }
}

/// Whether the gates have all ended, or have no time left, and the list is to be read.
#[must_use]
pub fn is_due(state: &RunState, deciding: &Deciding) -> bool {
    state.phase.gates_are_done() || state.out_of_time(deciding)
}

/// That the required gates pass, or which of them do not.
fn words_of_gates(state: &RunState, pass: bool) -> String {
    let verdict = |gate: &Gate| gate.last().map(|last| last.verdict);
    let meant = || state.gates.required().filter(|gate| pass || verdict(gate) != Some(Verdict::Pass));
    let names: Vec<&str> = meant().map(|gate| gate.spec().name.as_str()).collect();
    let all = |wanted: Verdict| meant().all(|gate| verdict(gate) == Some(wanted));
    let (one, several) = match pass {
        true => ("passes", "pass"),
        false if all(Verdict::Fail) => ("fails", "fail"),
        false if all(Verdict::Unverifiable) => ("could not be checked", "could not be checked"),
        false => ("does not pass", "do not pass"),
    };
    match names[..] {
        ["promise"] | [] => format!("the promise {one}"),
        [name] => format!("the gate {name} {one}"),
        [_, _] if pass => format!("both gates {several}"),
        _ if pass => format!("all {} gates {several}", names.len()),
        _ => format!("the gates {} {several}", text::one_line(&names.join(", "), 200)),
    }
}

/// The model of a call: an agent that does not name it works with the one that was chosen.
#[must_use]
pub fn model_of_call<'a>(state: &'a RunState, stream: &'a StreamReport) -> Option<&'a str> {
    stream.model.as_deref().or_else(|| state.agent.choice()?.model.as_deref())
}

/// What a call cost, in millionths of a dollar: as reported, else by the prices that are set; none where neither is
/// known.
#[must_use]
pub fn cost_of_call(state: &RunState, stream: &StreamReport, deciding: &Deciding) -> Option<u64> {
    let prices = &state.settings.read(deciding).values.budget.prices;
    cost_of(&stream.usage, model_of_call(state, stream), prices, deciding)
}
