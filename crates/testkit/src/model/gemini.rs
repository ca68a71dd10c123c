//! Answers as Google's `generateContent` gives them.
use serde_json::{Value, json};

use super::Answer;

/// The answer as one object.
pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut parts = Vec::new();
    if !answer.turn.text.is_empty() {
        parts.push(json!({"text": answer.turn.text}));
    }
    parts.extend(calls(answer));
    candidate(answer, &parts, Some(stop(answer)))
}

/// The answer as events.
pub(super) fn events(answer: &Answer<'_>) -> Vec<String> {
    let mut events = Vec::new();
    let mut push = |parts: &[Value], stop: Option<&str>| events.push(event(&candidate(answer, parts, stop)));
    let turn = answer.turn;
    if !turn.thinking.is_empty() {
        push(&[json!({"text": turn.thinking, "thought": true})], None);
    }
    for piece in answer.pieces(&turn.text) {
        push(&[json!({"text": piece})], None);
    }
    let calls = calls(answer);
    if !calls.is_empty() {
        push(&calls, None);
    }
    push(&[json!({"text": ""})], Some(stop(answer)));
    events
}

/// An event of the stream that tells of an error.
pub(super) fn error() -> String {
    let message = "The model is overloaded. Please try again later.";
    event(&json!({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}}))
}

/// An event that cannot be read.
pub(super) fn garbage() -> String {
    "data: {this is not json\r\n\r\n".to_owned()
}

fn event(data: &Value) -> String {
    format!("data: {data}\r\n\r\n")
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    let call =
        |call: &super::tools::Calling| json!({"functionCall": {"name": call.name, "args": call.arguments.value()}});
    answer.calls.iter().map(call).collect()
}

fn stop<'a>(answer: &'a Answer<'_>) -> &'a str {
    match answer.turn.stop.as_deref() {
        None => "STOP",
        Some("max_tokens") => "MAX_TOKENS",
        Some("refusal") => "SAFETY",
        Some(other) => other,
    }
}

fn candidate(answer: &Answer<'_>, parts: &[Value], stop: Option<&str>) -> Value {
    let tokens = answer.turn.tokens;
    let prompt = tokens.input + tokens.cached;
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(stop) = stop {
        candidate["finishReason"] = json!(stop);
    }
    json!({
        "candidates": [candidate], "modelVersion": answer.model, "responseId": "scripted",
        "usageMetadata": {
            "promptTokenCount": prompt, "candidatesTokenCount": tokens.output,
            "totalTokenCount": prompt + tokens.output, "cachedContentTokenCount": tokens.cached,
        },
    })
}
