//! The public events of `loop start --json`: their own small, documented set, not the journal's.
use serde_json::{Value, json};

use super::alert::AlertRow;
use super::history::{UsageRow, exit_code};
use super::row::Waiting;
use super::{JSON_VERSION, RunResult, seconds};
use crate::agent::Failure;
use crate::run::{
    AgentChoice, Answer, Decision, Entry, Event, Fact, Gate, GatePoint, HoldCause, LastGate, Notice, Order, RunState,
};
use crate::settings::keys;
use crate::time;

/// The event that a line of the journal is to the outside, if it is one. `state` has it taken in.
#[must_use]
pub fn public_event(entry: &Entry, state: &RunState) -> Option<Value> {
    let (name, body) = match &entry.fact {
        Fact::Happened(input) => happened(&input.event, state)?,
        Fact::Ordered { order: Order::RunAgent { iteration, attempt, choice, .. }, .. } => {
            ("iteration_started", started(*iteration, *attempt, choice, state.agent.rule()))
        }
        Fact::Ordered { order: Order::Hold { cause: HoldCause::Limit | HoldCause::Calls, .. }, .. } => {
            ("waiting", json!(Waiting::of(state)?))
        }
        Fact::Ordered { order: Order::Hold { cause, ms }, .. } => ("held", json!({"cause": cause, "ms": ms})),
        Fact::Decided(Decision::Gate(_)) => gate_ended(&entry.fact, state)?,
        Fact::Decided(Decision::Alert(alert)) => ("alert", json!(AlertRow::of(entry.at, alert))),
        Fact::Concluded { .. } => ("ended", json!(RunResult::of(state)?)),
        Fact::Ordered { .. } | Fact::OrderCancelled { .. } | Fact::Decided(_) => return None,
    };
    let mut event = json!({"version": JSON_VERSION, "event": name, "at": time::rfc3339(entry.at.wall_ms)});
    if let (Value::Object(event), Value::Object(body)) = (&mut event, body) {
        event.extend(body);
    }
    Some(event)
}

fn started(iteration: u32, attempt: u32, choice: &AgentChoice, rule: Option<&str>) -> Value {
    let mut body = json!({"iteration": iteration, "attempt": attempt, "agent": choice.agent, "model": choice.model});
    if let (Some(rule), Value::Object(body)) = (rule, &mut body) {
        body.insert("rule".to_owned(), json!(rule));
    }
    body
}

fn happened(event: &Event, state: &RunState) -> Option<(&'static str, Value)> {
    match event {
        Event::Created(spec) => {
            let mut created = json!({
                "id": spec.id, "workspace": spec.workspace.path, "agent": state.settings.shown().agent,
                "promise": state.settings.shown().resolved.text(keys::promise()),
                "max_iterations": state.settings.shown().values.iterations_max(),
            });
            if let (Some(of), Value::Object(created)) = (&spec.plan, &mut created) {
                created.extend([("plan".to_owned(), json!(of.plan)), ("node".to_owned(), json!(of.node))]);
            }
            Some(("created", created))
        }
        Event::Reopened { by, .. } => {
            Some(("reopened", json!({"id": state.spec.as_ref().map(|spec| &spec.id), "by": by})))
        }
        Event::Answered { answer, .. } => answered(answer, state),
        Event::Requested { request, by } => Some(("request", json!({"request": request, "by": by}))),
        Event::Around(around) => Some(("surroundings", json!({"change": around}))),
        Event::Noticed(Notice::Message { text }) => Some(("message", json!({"text": text}))),
        Event::Noticed(Notice::Session { id, .. }) => Some(("session", json!({"session": id}))),
        Event::Opened
        | Event::OpenedForRequest { .. }
        | Event::Noticed(Notice::Started { .. } | Notice::Silent { .. } | Notice::Retrying { .. })
        | Event::DeadlinePassed => None,
    }
}

/// The gate that has its verdict by this fact, and what it said; none while further tries can still change it.
#[must_use]
pub fn gate_with_verdict<'a>(fact: &Fact, state: &'a RunState) -> Option<(&'a Gate, &'a LastGate)> {
    let Fact::Decided(Decision::Gate(judgement)) = fact else { return None };
    let gate = judgement.verdict.and_then(|_| state.gates.get(judgement.gate))?;
    gate.last().map(|last| (gate, last))
}

fn gate_ended(fact: &Fact, state: &RunState) -> Option<(&'static str, Value)> {
    let (gate, last) = gate_with_verdict(fact, state)?;
    let report = &last.report;
    let iteration = if last.point == GatePoint::Baseline { None } else { Some(last.iteration) };
    Some((
        "gate_ended",
        json!({
            "iteration": iteration, "gate": gate.spec().name, "verdict": last.verdict,
            "exit_code": exit_code(&report.ended), "duration_seconds": seconds(report.duration_ms),
            "tests": report.tests,
        }),
    ))
}

fn answered(answer: &Answer, state: &RunState) -> Option<(&'static str, Value)> {
    match answer {
        Answer::AgentEnded(report) => Some((
            "agent_ended",
            json!({
                "iteration": state.iteration, "attempt": state.attempt, "exit_code": exit_code(&report.ended),
                "ended": report.ended.brief(), "duration_seconds": seconds(report.duration_ms),
                "left_running": report.left_running, "failure": report.stream.failure.map(Failure::word),
                "reset_at": report.stream.reset.map(|reset| time::rfc3339(reset.at_ms)),
                "usage": UsageRow::of(report.stream.usage), "session": report.stream.session,
                "claimed": report.stream.claimed, "denials": report.stream.denials.count,
            }),
        )),
        Answer::Cleaned { killed } => Some(("cleaned", json!({"killed": killed}))),
        Answer::Failed { what } => Some(("failed", json!({"what": what}))),
        Answer::Lost { left } => Some(("lost", json!({"left": left}))),
        Answer::Checkpoint(saved) | Answer::ManualCheckpoint(saved) => saved.checkpoint.as_ref().map(|name| {
            let changes = saved.changes.map(|changes| json!(changes));
            ("checkpoint", json!({"name": name, "tree": saved.tree, "not_by_the_agent": changes}))
        }),
        Answer::Measurement(measured) => measured.changes.map(|changes| {
            ("measured", json!({"iteration": state.iteration, "changes": changes, "tree": state.checkpoints.tree()}))
        }),
        Answer::Branches(report) => Some(("branches", json!(report))),
        Answer::RolledBack(back) => Some(("rolled_back", json!(back))),
        Answer::Refused { why } => Some(("refused", json!({"why": why}))),
        Answer::Blocked { why } => Some(("blocked", json!({"why": why}))),
        Answer::Guard(guarded) if !guarded.tampered.is_nothing() => {
            Some(("tampered", json!({"iteration": state.iteration, "guarded": guarded})))
        }
        Answer::TextEnded(report) => Some((
            "text_ended",
            json!({
                "iteration": state.iteration, "ended": report.ended.brief(),
                "duration_seconds": seconds(report.duration_ms), "usage": UsageRow::of(report.stream.usage),
            }),
        )),
        Answer::GateEnded(_)
        | Answer::Reserved(_)
        | Answer::Guard(_)
        | Answer::Certify(_)
        | Answer::Judged(_)
        | Answer::Held
        | Answer::Notified { .. } => None,
    }
}
