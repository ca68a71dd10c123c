//! Decisions about what ended: an attempt, a measurement, a gate, a round of gates, a check of protected files. Each is
//! made from the state and becomes a fact.
use super::agent::{AttemptKind, EndedAttempt};
use super::budget;
use super::choice::{self, AgentChoice, Readiness};
use super::decide;
use super::event::Target;
use super::fact::{CancelCause, GatePoint, GuardPoint, Order, PromptNote};
use super::gates::JudgedRound;
use super::judgement::{
    AttemptJudgement, AttemptResult, BestJudgement, DroppedOrder, GateJudgement, GuardJudgement, IterationJudgement,
    MeasurementJudgement, RoundJudgement, Tamper,
};
use super::outcome::Outcome;
use super::recover::{self, Better};
use super::remember::remember;
use super::report::GuardReport;
use super::session::SessionUse;
use super::state::{Requests, RunState};
use crate::agent::{AgentReport, Failure, StreamReport, signature};
use crate::changes::Changes;
use crate::ended::Ended;
use crate::machine::Deciding;
use crate::policy::breaker::{self, IterationEvidence};
use crate::policy::crash::{self, CrashEvidence};
use crate::policy::failures::FailureAction;
use crate::policy::gate::{self, TryEvidence, TryVerdict, Verdict};
use crate::policy::protect::{ProtectJudgement, protected_by_default};
use crate::policy::rank::{GateScore, Rank};
use crate::policy::score::{self, Score, Signals};
use crate::policy::wait::{self, FailedTries, WORTH_A_GATE_MS, Wait};
use crate::settings::{KeepState, OnBlocked, OnInterrupt, OnRegression, OnTamper, ProgressBy, StatusBlock};
use crate::text;
use crate::text::NameList;

/// After so many iterations in a row that changed nothing and asked in words, the agent has a question.
const ASKING_MAX: u32 = 2;
/// The first line of a program, with its session, model and tools, is not longer than this.
const FIRST_LINE_BYTES_MAX: u64 = 16 * 1024;
/// How much of an error its signature is made of.
const ERROR_BYTES_MAX: usize = 4096;
/// How many regressions are named.
const REGRESSED_MAX: usize = 20;

/// What becomes of an order when it is not known how far it got.
pub(super) fn dropped(order: &Order) -> DroppedOrder {
    match order {
        Order::RunAgent { .. } => DroppedOrder::CutOff,
        Order::WriteText { .. } => DroppedOrder::TextLost,
        Order::CleanUp { .. }
        | Order::Checkpoint { .. }
        | Order::Measure { .. }
        | Order::Hold { .. }
        | Order::Rollback { .. }
        | Order::Reserve { .. }
        | Order::Guard { point: GuardPoint::Start | GuardPoint::Agent(..) | GuardPoint::People }
        | Order::Certify { .. }
        | Order::Judge { .. }
        | Order::Branches { .. }
        | Order::RunGate { .. } => DroppedOrder::Again,
        Order::Guard { point: GuardPoint::Gates(_) } => DroppedOrder::GatesAgain,
        Order::Notify { .. } | Order::ManualCheckpoint { .. } => DroppedOrder::Forgotten,
    }
}

fn plain(result: AttemptResult) -> AttemptJudgement {
    AttemptJudgement {
        result,
        cost_micros: None,
        failure: None,
        question: None,
        wait: None,
        gates_first: false,
        continue_session: false,
        forget_session: false,
        timed_out: false,
        notes: Vec::new(),
    }
}

/// What an attempt was: another one follows, or it ends the agent's work on the iteration.
pub(super) fn attempt(state: &RunState, deciding: &Deciding) -> AttemptJudgement {
    let ended = state.agent.unjudged().cloned().unwrap_or_default();
    let Some(report) = &ended.report else { return plain(AttemptResult::CutOff) };
    let cost_micros = decide::cost_of_call(state, &report.stream, deciding);
    let by_us = report.ended == Ended::ByUs;
    let cut_off =
        by_us && matches!(ended.cancelled, Some(CancelCause::Abort | CancelCause::Rollback | CancelCause::Urgent));
    // An agent that is ended because it waits by itself is judged by what it said.
    let stopped = by_us && ended.cancelled.is_some_and(|cause| cause != CancelCause::Retrying);
    let judgement = if cut_off {
        plain(AttemptResult::CutOff)
    } else if ended.kind == AttemptKind::StatusOnly {
        status_answered(state, &report.stream, deciding)
    } else if let Some(nothing) = came_to_nothing(state, report, ended.kind, deciding).filter(|_| !stopped) {
        nothing
    } else if !by_us && lacks_status(&with_call(state, report, cost_micros), report, deciding) {
        let note = PromptNote::StatusMissing { why: report.stream.block_error.clone() };
        AttemptJudgement { notes: vec![note], ..plain(AttemptResult::StatusMissing) }
    } else if let Some(waits) = waited_silently(state, report, &ended, deciding) {
        waits
    } else {
        iteration_ends(state, report, ended.cancelled.filter(|_| stopped), deciding)
    };
    let forget_session = ended.kind == AttemptKind::Fresh && is_silent(report);
    AttemptJudgement { cost_micros, forget_session, ..judgement }
}

/// Whether the model is known to have said and done nothing.
fn is_silent(report: &AgentReport) -> bool {
    let stream = &report.stream;
    stream.tool_calls == Some(0) && stream.words.as_ref().is_none_or(|words| words.bytes == 0)
}

/// Whether an agent has written nothing but its first line.
fn wrote_nothing(report: &AgentReport) -> bool {
    is_silent(report) && report.output.stdout_bytes <= FIRST_LINE_BYTES_MAX
}

/// An agent that was stopped at a time limit and has written nothing but its first line: its program may wait for the
/// provider by itself and say nothing. Another attempt follows after a wait that grows.
fn waited_silently(
    state: &RunState,
    report: &AgentReport,
    ended: &EndedAttempt,
    deciding: &Deciding,
) -> Option<AttemptJudgement> {
    let by_time = matches!(ended.cancelled, Some(CancelCause::Timeout | CancelCause::Silent));
    if !(by_time && wrote_nothing(report) && report.ended == Ended::ByUs) {
        return None;
    }
    let table = &state.settings.read(deciding).values.agent.on_failure;
    let wait = wait::wait_in_silence(failed_tries(state), table, deciding)?;
    Some(limited(state, report, wait, deciding))
}

/// The agent's work on the iteration came to an end, by itself or because it was stopped.
fn iteration_ends(
    state: &RunState,
    report: &AgentReport,
    stopped: Option<CancelCause>,
    deciding: &Deciding,
) -> AttemptJudgement {
    let settings = state.settings.read(deciding);
    let mut judgement = plain(AttemptResult::Iteration);
    judgement.failure = report.stream.failure.filter(|_| stopped.is_none());
    ask(state, &report.stream, &mut judgement, deciding);
    match stopped {
        Some(CancelCause::Timeout) => {
            judgement.timed_out = true;
            // It is a hang, also where the setting says not to wait for one.
            judgement.failure = wrote_nothing(report).then_some(Failure::Hang);
            judgement.continue_session = true;
            judgement.notes.push(PromptNote::TimedOut { limit_ms: settings.timeout_ms });
        }
        Some(CancelCause::Silent) => {
            judgement.failure = Some(Failure::Hang);
            judgement.continue_session = true;
            judgement.notes.push(PromptNote::Silent { limit_ms: settings.idle_timeout_ms.unwrap_or(0) });
        }
        Some(_) => {}
        None if report.ended != Ended::ByUs && (report.failed() || report.at_turn_limit()) => {
            // As at a time limit: the conversation is not at its end.
            judgement.continue_session = report.at_turn_limit();
            let error = report.stream.error.as_ref().map_or_else(String::new, |error| format!(": {error}"));
            judgement.notes.push(PromptNote::AgentFailed { ended: format!("{}{error}", report.ended.brief()) });
        }
        None => {}
    }
    judgement
}

/// Whether the agent asks something that the run does not end with.
fn ask(state: &RunState, stream: &StreamReport, judgement: &mut AttemptJudgement, deciding: &Deciding) {
    let stops = stream.claimed.as_ref().is_some_and(|claim| claim.blocked()) && blocked_stops(state, deciding);
    let Some(question) = stream.asked().filter(|_| !stops) else { return };
    judgement.failure = judgement.failure.or(Some(Failure::Question));
    judgement.notes.push(PromptNote::NobodyAnswers { question: question.clone() });
    judgement.question = Some(question);
}

/// Whether STATUS BLOCKED is the end.
pub(super) fn blocked_stops(state: &RunState, deciding: &Deciding) -> bool {
    state.settings.read(deciding).values.agent.on_blocked == OnBlocked::Stop
}

/// The agent was asked for its status block. Its answer does not change what the iteration was.
fn status_answered(state: &RunState, answer: &StreamReport, deciding: &Deciding) -> AttemptJudgement {
    let mut judgement = plain(AttemptResult::StatusAnswered);
    let Some(first) = state.agent.report() else { return judgement };
    let stream = StreamReport {
        claimed: answer.claimed.clone(),
        block_error: answer.block_error.clone(),
        promise: answer.promise.clone(),
        ..first.stream.clone()
    };
    ask(state, &stream, &mut judgement, deciding);
    judgement
}

/// Whether the attempt failed for a reason that is not the agent's: it is not an iteration, and another one follows.
fn came_to_nothing(
    state: &RunState,
    report: &AgentReport,
    kind: AttemptKind,
    deciding: &Deciding,
) -> Option<AttemptJudgement> {
    if report.stream.session_lost && kind == AttemptKind::Continued {
        return Some(plain(AttemptResult::SessionLost));
    }
    // Its program is not there: it will not be there for the next attempt either.
    if let Ended::NotStarted(_) = report.ended
        && let Some(judgement) = agent_unable(state, Failure::Crash, deciding)
    {
        return Some(judgement);
    }
    let table = &state.settings.read(deciding).values.agent.on_failure;
    if let Some(failure) =
        report.stream.failure.filter(|failure| table.action(*failure, deciding) == FailureAction::Stop)
        && let Some(judgement) = agent_unable(state, failure, deciding)
    {
        return Some(judgement);
    }
    let wait = wait::wait_for(&report.stream, failed_tries(state), table, deciding)?;
    Some(limited(state, report, wait, deciding))
}

/// The agent cannot log in, has no credit or refuses the model, and another enabled one can work or will be able to.
fn agent_unable(state: &RunState, failure: Failure, deciding: &Deciding) -> Option<AttemptJudgement> {
    let arm = state.agent.choice()?.arm();
    let mut without = state.clone();
    without.agent.routing.cannot_work(&arm, failure);
    let settings = state.settings.read(deciding);
    let next = choice::choose(&without, settings).choice.arm();
    (next != arm && choice::readiness(&without, settings, &next) != Readiness::Unable).then(|| {
        let notes = vec![PromptNote::Limited { attempt: state.attempt }];
        AttemptJudgement { failure: Some(failure), notes, ..plain(AttemptResult::AgentUnable) }
    })
}

/// Two answers, if this agent waits: whether another enabled agent can work now, and whether one can now or later.
fn others_while(state: &RunState, wait: &Wait, deciding: &Deciding) -> (bool, bool) {
    let settings = state.settings.read(deciding);
    let agent = state.agent_name();
    let mut waits = state.clone();
    waits.agent.provider.limited(Some(wait));
    let next = choice::choose(&waits, settings).choice.arm();
    let readiness = choice::readiness(&waits, settings, &next);
    let other = next.agent != agent;
    (other && readiness == Readiness::Ready, other && readiness != Readiness::Unable)
}

/// The attempt was refused or waited by itself: another one follows after this wait.
fn limited(state: &RunState, report: &AgentReport, wait: Wait, deciding: &Deciding) -> AttemptJudgement {
    let settings = state.settings.read(deciding);
    let ms = wait.until_ms.saturating_sub(state.now.wall_ms);
    let cost_micros = decide::cost_of_call(state, &report.stream, deciding);
    let tries_max = settings.values.agent.on_failure.tries_max(wait.failure, deciding).unwrap_or(0);
    let (ready, later) = others_while(state, &wait, deciding);
    let is_over =
        state.agent.provider.refused() + 1 > tries_max || state.time_left(deciding).is_some_and(|left| ms > left);
    let is_last = (is_over && !later)
        || budget::next_call_is_denied(state, settings, cost_micros)
        || decide::capped(&with_call(state, report, cost_micros), deciding);
    // Before a long wait, and where the run ends here: the attempt may have made the gates pass.
    let gates_first = (ms > WORTH_A_GATE_MS && !ready) || is_last;
    let notes = vec![PromptNote::Limited { attempt: state.attempt }];
    AttemptJudgement { wait: Some(wait), gates_first, notes, ..plain(AttemptResult::Limited) }
}

/// The attempts in a row that the provider refused, with the one that has just ended.
fn failed_tries(state: &RunState) -> FailedTries {
    FailedTries { now: state.now, count: state.agent.provider.refused() + 1, salt: salt(state) }
}

/// Tells runs and attempts apart, the same on every replay.
fn salt(state: &RunState) -> u64 {
    let id = state.spec.as_ref().map_or("", |spec| spec.id.as_str());
    let fold = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    id.bytes().fold(u64::from(state.orders.count()) ^ 0xcbf2_9ce4_8422_2325, fold)
}

/// Without a gate the agent's word is all there is: one that left its status block out is asked for it, once.
fn lacks_status(state: &RunState, report: &AgentReport, deciding: &Deciding) -> bool {
    let settings = state.settings.read(deciding);
    let wanted = settings.values.agent.status_block != StatusBlock::None && !state.agent.was_asked_for_status();
    let stream = &report.stream;
    let said = stream.claimed.is_some() || stream.promise.is_some() || stream.question.is_some();
    let agent = state.next_agent(settings);
    let can = state
        .agent
        .session()
        .is_some_and(|session| SessionUse::of(state, settings, agent.as_ref(), session, state.now).supported);
    let busy = state.requests != Requests::default() || state.checkpoints.target(None).is_some();
    let cut_short = report.failed() || report.at_turn_limit();
    wanted && can && !(state.gated() || said || busy || cut_short || decide::capped(state, deciding))
}

/// The state with this call paid: a cap may be reached with it.
fn with_call(state: &RunState, report: &AgentReport, cost_micros: Option<u64>) -> RunState {
    let mut paid = state.clone();
    paid.budget.call_ended(&report.stream, cost_micros);
    paid
}

/// Whether the next attempt only asks for the status block.
pub(super) fn asks_for_status(state: &RunState) -> bool {
    let asked = |note: &PromptNote| matches!(note, PromptNote::StatusMissing { .. });
    !state.agent_ended() && state.prompt.notes().iter().any(asked)
}

/// The conversation that an attempt with this choice continues, where that is set or the one before was cut off.
pub(super) fn session_to_continue(state: &RunState, choice: &AgentChoice, deciding: &Deciding) -> Option<String> {
    let settings = state.settings.read(deciding);
    // A rung begins each of its iterations in a new conversation.
    if state.recovery.rung().is_some() && (state.agent_ended() || state.iteration == 0) {
        return None;
    }
    let session = state.agent.session()?;
    let agent = state.agent_named(&choice.agent, settings);
    SessionUse::of(state, settings, agent.as_ref(), session, state.now).continues().then(|| session.id.clone())
}

/// The checkpoint that is restored after an interrupted attempt, where the setting says so.
pub(super) fn interruption(state: &RunState, deciding: &Deciding) -> Option<String> {
    let cut_off = state.agent.provider.newest_wait().is_none()
        && state.checkpoints.target(state.requests.rollback.as_ref()).is_none();
    // A run that ends now rolls nothing back: that is judged again when it is opened.
    let ends = state.requests.abort.is_some() || state.requests.cancel.is_some();
    let wanted = state.settings.read(deciding).values.checkpoint.on_interrupt == OnInterrupt::Rollback && !ends;
    state.checkpoints.before().filter(|_| wanted && cut_off).map(str::to_owned)
}

/// What an iteration means that changed nothing: its tools were refused, or it asks in words.
pub(super) fn measurement(state: &RunState, _: &Deciding) -> MeasurementJudgement {
    let mut judgement = MeasurementJudgement::default();
    let delta = state.progress.delta();
    let unchanged = state.progress.changes().map_or(delta.noticed == Some(false), |changes| changes.files == 0);
    let Some(report) = state.agent.report().filter(|_| unchanged) else { return judgement };
    let denials = &report.stream.denials;
    if denials.count > 0 {
        judgement.failure = Some(Failure::Permission);
        let first = denials.first.clone().unwrap_or_default();
        judgement.notes.push(PromptNote::Refused { count: denials.count, first });
    }
    judgement.asks = report.stream.asks;
    let asking = if judgement.asks { state.agent.asking() + 1 } else { 0 };
    if asking >= ASKING_MAX && state.agent.question().is_none() {
        let question = text::one_line(&report.last_text, 400);
        judgement.failure = judgement.failure.or(Some(Failure::Question));
        judgement.notes.push(PromptNote::NobodyAnswers { question: question.clone() });
        judgement.question = Some(question);
    }
    judgement
}

/// What the end of a gate means.
pub(super) fn gate(state: &RunState, deciding: &Deciding) -> GateJudgement {
    let nothing =
        GateJudgement { gate: 0, one: None, verdict: None, completed: false, contradiction: None, selective: false };
    let Some(ended) = state.gates.unjudged() else { return nothing };
    let nothing = GateJudgement { gate: ended.gate, ..nothing };
    let Some(gate) = state.gates.get(ended.gate) else { return nothing };
    if ended.report.ended == Ended::ByUs && ended.cancelled.is_some_and(says_nothing) {
        return nothing;
    }
    let tried = TryEvidence {
        ended: &ended.report.ended,
        tests: ended.report.tests.as_deref(),
        ran_before: gate.completed(),
        // Tests that fail before iteration 1 although the gate passes are named in the proof: the agent did not cause them.
        earlier: (state.iteration > 0).then(|| gate.earlier_tests()),
        trust_exit: gate.spec().trust_exit,
    };
    let TryVerdict { verdict: one, contradiction } = gate.spec().promise().judge_try(&tried, deciding);
    let verdict = gate.tally().with(one).verdict(gate.spec().needs(), deciding);
    let completed = gate::ran_to_an_end(&ended.report.ended, deciding);
    let selective = state.phase.point().is_some_and(|point| {
        let round = JudgedRound { point, iteration: state.iteration, tree: state.checkpoints.tree() };
        verdict.is_some_and(|verdict| gate.chose_other_tests(round, &ended.report, verdict))
    });
    GateJudgement { one: Some(one), verdict, completed, contradiction, selective, ..nothing }
}

/// Whether the end of a cancelled gate says nothing: it was cancelled for another reason than its own time limit.
pub(super) fn says_nothing(cause: CancelCause) -> bool {
    matches!(cause, CancelCause::Abort | CancelCause::Rollback | CancelCause::TimeLimit)
}

/// What all gates together said of a state.
pub(super) fn round(state: &RunState, point: GatePoint, deciding: &Deciding) -> RoundJudgement {
    let rank = rank_now(state, deciding);
    // Only what is better than the best so far counts: a flaky test that passes again is not progress.
    let improved = state.progress.peak().is_some_and(|peak| rank > peak);
    let compares = match point {
        GatePoint::Iteration(_) | GatePoint::Baseline | GatePoint::Reopened(0) | GatePoint::RolledBack(0) => true,
        GatePoint::Interrupted(..) | GatePoint::Reopened(_) => false,
        // A branch that won is better than everything before. Another state that was restored is known already.
        GatePoint::RolledBack(_) => state.progress.best().is_some_and(|best| rank > best.rank),
    };
    // Where protected files were changed, the verdicts do not show how good a state is. Of two equally good states the
    // later one is better: it has more of the work.
    let best = match state.progress.best() {
        _ if !compares || state.guard.stands_tampered() => BestJudgement::NotCompared,
        Some(best) if rank < best.rank => BestJudgement::No,
        Some(_) | None => BestJudgement::Yes,
    };
    let iteration = matches!(point, GatePoint::Iteration(_)).then(|| iteration(state, improved, deciding));
    RoundJudgement { point, rank, improved, best, iteration }
}

fn rank_now(state: &RunState, deciding: &Deciding) -> Rank {
    let scores = state.gates.iter().filter_map(|gate| {
        let last = gate.last()?;
        let tests = last.report.tests.as_deref();
        Some(GateScore {
            verdict: last.verdict,
            required: gate.is_required(),
            passed: tests.map_or(0, |tests| tests.passed),
            failed: tests.map_or(0, |tests| tests.failed),
        })
    });
    Rank::of(scores, deciding)
}

/// What fails now and had passed when all gates had a verdict last.
struct Regressions {
    names: Vec<String>,
    /// Some of it is required.
    required: bool,
}

/// Tests by name, else the gate itself.
fn regressions(state: &RunState) -> Regressions {
    let mut found = Regressions { names: Vec::new(), required: false };
    for gate in state.gates.iter() {
        let Some(last) = gate.last() else { continue };
        let failing = last.report.tests.as_ref().map(|tests| &tests.newly_failing);
        let before = found.names.len();
        match failing.filter(|failing| !failing.is_nothing()) {
            Some(failing) => found.names.extend(failing.first.iter().cloned()),
            None if gate.at_round_end() == Some(Verdict::Pass) && last.verdict == Verdict::Fail => {
                found.names.push(format!("the gate {}", gate.spec().name));
            }
            None => {}
        }
        found.required |= found.names.len() > before && gate.is_required();
    }
    found.names.truncate(REGRESSED_MAX);
    found
}

fn iteration(state: &RunState, improved: bool, deciding: &Deciding) -> IterationJudgement {
    let settings = state.settings.read(deciding);
    let by_score = settings.values.progress.progress_by == ProgressBy::Score;
    let on_regression = settings.values.gate.on_regression;
    let found = regressions(state);
    let pass = state.gates_pass();
    let asked = state.checkpoints.target(state.requests.rollback.as_ref()).is_some();
    let revert = on_regression == OnRegression::Revert && state.has_checkpoints() && !pass && found.required && !asked;
    let revert_to = state.checkpoints.before().filter(|_| revert).map(str::to_owned);
    let score = score(state);
    let mut evidence = evidence(state, improved, revert_to.is_some());
    evidence.low_score = score.is_some_and(|score| score.total < settings.values.progress.progress_threshold.0);
    evidence.low_score &= !improved;
    if by_score && score.is_some() {
        evidence.progress = !evidence.low_score && revert_to.is_none();
    }
    let mut notes = Vec::new();
    if !found.names.is_empty() && on_regression != OnRegression::Keep {
        notes.push(PromptNote::Regressed { what: found.names.clone(), reverted: revert_to.is_some() });
    }
    if evidence.says_done && state.gated() && !pass {
        notes.push(PromptNote::NotDone);
    }
    let report = state.agent.report();
    let crashed = report.is_some_and(|report| {
        let evidence = CrashEvidence {
            // Ended at a time limit again and again, it cannot work either.
            failed: report.failed() || report.ended == Ended::ByUs,
            changes: state.progress.changes(),
            noticed: state.progress.delta().noticed,
            gates_said_the_same: evidence.gates_same,
        };
        crash::counts(evidence, deciding)
    });
    let mut required = state.gates.required().filter_map(|gate| gate.last());
    let reverted = revert_to.is_some();
    let shortest_ms = settings.values.limits.warnings().shortest_ms.unwrap_or(0);
    let streaks = breaker::count(state.progress.streaks(), &evidence, &settings.breaker, deciding);
    // Without a gate only the changes count. Verdicts with changed protected files do not count.
    let by_score = by_score && score.is_some();
    let better = if state.gated() && !by_score { improved } else { evidence.progress };
    let better = Better { better: better && revert_to.is_none() && !state.guard.stands_tampered(), by_score };
    IterationJudgement {
        short: report.is_some_and(|report| report.duration_ms < shortest_ms),
        progress: evidence.progress,
        why: why(&evidence, reverted, score.filter(|_| by_score)),
        regressed: found.names,
        revert_to,
        unverifiable: required.any(|last| last.verdict == Verdict::Unverifiable),
        crashed,
        stuck: recover::stuck(state, better, &streaks, deciding),
        streaks,
        memory: Some(Box::new(remember(state, &evidence, reverted, deciding))),
        evidence,
        notes,
        score,
    }
}

/// The progress score of the iteration, where its output was compared.
fn score(state: &RunState) -> Option<Score> {
    let delta = state.progress.delta();
    let output = delta.output_difference?;
    // A change of protected files alone counts for nothing.
    let counts = delta.files != Some(0);
    let changes = state.progress.changes().map(|changes| if counts { changes } else { Changes::default() });
    let markers = state.agent.report().map_or(0, |report| report.stream.progress.len());
    Some(Score::of(&Signals { output, changes, noticed: delta.noticed, markers, checklist: delta.checklist }))
}

/// Why an iteration made progress or did not, for people.
fn why(evidence: &IterationEvidence, reverted: bool, deciding_score: Option<Score>) -> String {
    if let Some(score) = deciding_score.filter(|_| !reverted && !evidence.improved) {
        return format!("its score is {}", score::shown(score.total));
    }
    let text = match (evidence.files, evidence.noticed) {
        _ if reverted => "it is reverted: something fails that had passed",
        _ if evidence.improved => "the gates say more than before",
        (Some(0), _) if evidence.ignored => "only files changed that checkpoints leave out",
        (Some(0), _) if evidence.tampered => "only protected files changed",
        (Some(0), _) | (None, Some(false)) => "nothing changed",
        (Some(1), _) => "1 file changed",
        (Some(files), _) => return format!("{files} files changed"),
        (None, Some(true)) => "files changed",
        (None, None) if evidence.progress => "the gates or the agent say something new",
        (None, None) => "the gates and the agent say nothing new",
    };
    text.to_owned()
}

fn evidence(state: &RunState, improved: bool, reverted: bool) -> IterationEvidence {
    let report = state.agent.report();
    let stream = report.map(|report| &report.stream);
    let claim = stream.and_then(|stream| stream.claimed.as_ref());
    let failed = report.is_some_and(|report| report.failed());
    let says_done = !failed && claim.is_some_and(|claim| claim.complete() || claim.completion_indicators > Some(0));
    let gates_same = state.gates.iter().all(|gate| gate.same_output());
    let delta = state.progress.delta();
    let moved = match (delta.files, delta.noticed) {
        (Some(files), _) => files > 0 || delta.ignored,
        (None, Some(noticed)) => noticed,
        // Nothing is measured: the best evidence is that no gate says anything else.
        (None, None) if state.gated() => !gates_same,
        (None, None) => claim.is_some_and(|claim| claim.claims_progress()),
    };
    let words = stream.and_then(|stream| stream.words.as_ref());
    IterationEvidence {
        iteration: state.iteration,
        progress: (moved || improved) && !reverted,
        improved,
        gates_same,
        files: delta.files,
        test_files: delta.tests,
        tree: state.checkpoints.tree().map(str::to_owned),
        error: report.and_then(error_signature),
        says_error: claim.is_some_and(|claim| claim.claims_errors()),
        words: words.map(|words| words.sha256.clone()),
        words_bytes: words.map_or(0, |words| words.bytes),
        says_tests: claim.is_some_and(|claim| claim.test_only()),
        // An agent that failed could not report its status.
        block: claim.is_some() || failed,
        says_done,
        exit_signal: claim.is_some_and(|claim| claim.exit_signal),
        tampered: state.guard.found().is_some(),
        ignored: delta.ignored,
        noticed: delta.noticed,
        low_score: false,
    }
}

/// The error that the agent ended in, if it did: by its program, or by its own account.
fn error_signature(report: &AgentReport) -> Option<String> {
    let claim = report.stream.claimed.as_ref();
    let errors = claim.is_some_and(|claim| claim.claims_errors());
    if !(report.failed() || errors) {
        return None;
    }
    let summary = claim.filter(|_| errors).and_then(|claim| claim.summary.clone());
    let words = report.stream.error.clone().or(summary).unwrap_or_else(|| report.last_text.clone());
    let signature = signature::signature(text::tail(&words, ERROR_BYTES_MAX));
    Some(if signature.is_empty() { report.ended.brief() } else { signature })
}

/// What a check of the protected files means.
pub(super) fn guard(state: &RunState, deciding: &Deciding) -> GuardJudgement {
    let Some((point, report)) = state.guard.unjudged() else {
        return GuardJudgement {
            point: GuardPoint::Start,
            tamper: Tamper::None,
            suspect: false,
            asks: None,
            note: None,
        };
    };
    let allowed = state.settings.read(deciding).values.guard.on_tamper == OnTamper::Allow;
    let by_gates = matches!(point, GuardPoint::Gates(_));
    // A change by the agent that was not restored is still there after the gates. The gates did not make it.
    let known = state.guard.found().is_some_and(|found| !found.restored && found.tampered == report.tampered);
    let tamper = if report.tampered.is_nothing() {
        Tamper::None
    } else if by_gates && known {
        Tamper::Known
    } else if allowed {
        Tamper::Allowed
    } else {
        Tamper::Found
    };
    let suspect = !allowed && !report.tampered.is_nothing() && !report.restored;
    let note = (tamper == Tamper::Found).then(|| PromptNote::Tampered {
        files: with_rest(&report.tampered),
        restored: report.restored,
        by_gates,
    });
    let asks = asked_about(state, *point, report).filter(|_| tamper == Tamper::Found);
    GuardJudgement { point: *point, tamper, suspect, asks, note }
}

/// The file that a person is asked about: it may be the work, or it was restored in the two iterations before, and now
/// it is not restored.
fn asked_about(state: &RunState, point: GuardPoint, report: &GuardReport) -> Option<String> {
    let GuardPoint::Agent(iteration, _) = point else { return None };
    let maybe_work = state.guard.maybe_work().iter().map(String::as_str);
    let mut asked = maybe_work.chain(state.guard.restored_twice_before(iteration)).filter(|_| !report.restored);
    asked.find(|path| report.paths.iter().any(|changed| changed == path)).map(str::to_owned)
}

/// Which of the files that a gate uses are protected from now on.
pub(super) fn protect(state: &RunState, deciding: &Deciding) -> ProtectJudgement {
    let uses = state.guard.unjudged_uses().unwrap_or_default();
    protected_by_default(uses, &state.settings.read(deciding).values.guard.allow, deciding)
}

/// The names, and how many are not named.
fn with_rest(all: &NameList) -> Vec<String> {
    let more = usize::try_from(all.count).unwrap_or(usize::MAX).saturating_sub(all.first.len());
    let more = (more > 0).then(|| format!("{more} more"));
    all.first.iter().cloned().chain(more).collect()
}

/// The state that stays when a run ended without success, where that is not the last one.
pub(super) fn best_to_keep(state: &RunState, deciding: &Deciding) -> Option<String> {
    let over = state.over.as_ref()?;
    let lost = match over.outcome {
        Outcome::Exhausted | Outcome::Tripped | Outcome::Blocked | Outcome::Tampered => true,
        Outcome::Verified
        | Outcome::PassedBut
        | Outcome::Accepted
        | Outcome::Claimed
        | Outcome::Stopped
        | Outcome::Paused
        | Outcome::Cancelled
        | Outcome::Unable => false,
    };
    let keep = state.settings.read(deciding).values.gate.keep == KeepState::Best;
    let wanted = lost && keep && state.trouble.unclean().is_none();
    let best = state.progress.best().filter(|_| wanted)?.checkpoint.clone()?;
    (state.checkpoints.newest() != Some(best.as_str())).then_some(best)
}

/// Where the workspace is to go back to, and why: a person asked for it, or the run planned it.
pub(super) fn rollback_target(state: &RunState) -> Option<(Target, super::checkpoints::RollbackCause)> {
    state.checkpoints.target(state.requests.rollback.as_ref())
}
