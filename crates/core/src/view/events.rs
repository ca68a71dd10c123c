//! The public events of `loop start --json`: their own small, documented set, not the journal's.
use serde_json::{Value, json};

use super::history::{UsageRow, exit_code};
use super::row::Waiting;
use super::{JSON_VERSION, RunResult, seconds};
use crate::agent::Failure;
use crate::ids::OrderId;
use crate::run::{Answer, Entry, Event, Fact, GatePoint, HoldCause, LastGate, Notice, Order, RunState};
use crate::settings::{GateSpec, keys};
use crate::time;

/// The event that a line of the journal is to the outside, if it is one. `state` has it taken in.
#[must_use]
pub fn public_event(entry: &Entry, state: &RunState) -> Option<Value> {
    let (name, body) = match &entry.fact {
        Fact::Happened(input) => happened(&input.event, state)?,
        Fact::Ordered { order, .. } => match order {
            Order::RunAgent { iteration, attempt, .. } => {
                ("iteration_started", json!({"iteration": iteration, "attempt": attempt}))
            }
            Order::CleanUp { .. }
            | Order::Checkpoint { .. }
            | Order::Measure { .. }
            | Order::RunGate { .. }
            | Order::ManualCheckpoint { .. }
            | Order::Rollback { .. }
            | Order::Reserve { .. }
            | Order::Guard { .. }
            | Order::Certify { .. }
            | Order::Notify { .. } => return None,
            Order::Hold { cause: HoldCause::Limit | HoldCause::Calls, .. } => ("waiting", json!(Waiting::of(state)?)),
            Order::Hold { cause, ms } => ("held", json!({"cause": cause, "ms": ms})),
        },
        Fact::OrderCancelled { .. } => return None,
        Fact::Concluded { .. } => ("ended", json!(RunResult::of(state)?)),
    };
    let mut event = json!({"version": JSON_VERSION, "event": name, "at": time::rfc3339(entry.at.wall_ms)});
    if let (Value::Object(event), Value::Object(body)) = (&mut event, body) {
        event.extend(body);
    }
    Some(event)
}

fn happened(event: &Event, state: &RunState) -> Option<(&'static str, Value)> {
    match event {
        Event::Created(spec) => Some((
            "created",
            json!({
                "id": spec.id, "workspace": spec.workspace.path, "agent": state.settings.agent,
                "promise": state.settings.resolved.text(keys::promise()), "max_iterations": state.settings.max_iterations,
            }),
        )),
        Event::Reopened { by, .. } => {
            Some(("reopened", json!({"id": state.spec.as_ref().map(|spec| &spec.id), "by": by})))
        }
        Event::Answered { order, answer } => answered(*order, answer, state),
        Event::Requested { request, by } => Some(("request", json!({"request": request, "by": by}))),
        Event::Noticed(Notice::Message { text }) => Some(("message", json!({"text": text}))),
        Event::Noticed(Notice::Session { id, .. }) => Some(("session", json!({"session": id}))),
        Event::Opened
        | Event::OpenedForRequest { .. }
        | Event::Noticed(Notice::Started { .. } | Notice::Silent { .. })
        | Event::DeadlinePassed => None,
    }
}

/// The gate that this order asked, and its answer; none while further tries can still change it.
#[must_use]
pub fn gate_that_said(order: OrderId, state: &RunState) -> Option<(&GateSpec, &LastGate)> {
    let all = state.settings.gates.iter().zip(&state.gates);
    let mut said = all.filter_map(|(gate, memory)| Some((gate, memory.last.as_ref()?)));
    said.find(|(_, last)| last.order == order)
}

fn answered(order: OrderId, answer: &Answer, state: &RunState) -> Option<(&'static str, Value)> {
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
        Answer::GateEnded(report) => {
            let (gate, last) = gate_that_said(order, state)?;
            let iteration = if last.point == GatePoint::Baseline { None } else { Some(last.iteration) };
            Some((
                "gate_ended",
                json!({
                    "iteration": iteration, "gate": gate.name, "verdict": last.verdict.name(),
                    "exit_code": exit_code(&report.ended), "duration_seconds": seconds(report.duration_ms),
                    "tests": report.tests,
                }),
            ))
        }
        Answer::Cleaned { killed } => Some(("cleaned", json!({"killed": killed}))),
        Answer::Failed { what } => Some(("failed", json!({"what": what}))),
        Answer::Lost { left } => Some(("lost", json!({"left": left}))),
        Answer::Checkpoint(saved) | Answer::ManualCheckpoint(saved) => saved.checkpoint.as_ref().map(|name| {
            let changes = saved.changes.map(|changes| json!(changes));
            ("checkpoint", json!({"name": name, "tree": saved.tree, "not_by_the_agent": changes}))
        }),
        Answer::Measurement(measured) => measured.changes.map(|changes| {
            ("measured", json!({"iteration": state.iteration, "changes": changes, "tree": state.keeping.tree}))
        }),
        Answer::RolledBack(back) => Some(("rolled_back", json!(back))),
        Answer::Refused { why } => Some(("refused", json!({"why": why}))),
        Answer::Blocked { why } => Some(("blocked", json!({"why": why}))),
        Answer::Guard(guarded) if !guarded.tampered.is_nothing() => {
            Some(("tampered", json!({"iteration": state.iteration, "guarded": guarded})))
        }
        Answer::Reserved(_) | Answer::Guard(_) | Answer::Certify(_) | Answer::Held | Answer::Notified { .. } => None,
    }
}
