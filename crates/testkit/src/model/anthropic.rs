//! Answers as Anthropic's Messages API gives them.
use serde_json::{Value, json};

use super::Answer;

/// The answer as one object.
pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut message = begun(answer);
    message["content"] = blocks(answer).into_iter().map(|(block, _)| block).collect();
    message["stop_reason"] = json!(stop(answer));
    message["usage"] = usage(answer);
    message
}

/// The answer as events.
pub(super) fn events(answer: &Answer<'_>) -> Vec<String> {
    let mut events = vec![event("message_start", json!({"message": begun(answer)}))];
    for (index, (block, deltas)) in blocks(answer).into_iter().enumerate() {
        let empty = match block["type"].as_str() {
            Some("text") => json!({"type": "text", "text": ""}),
            Some("thinking") => json!({"type": "thinking", "thinking": "", "signature": ""}),
            _ => json!({"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}),
        };
        events.push(event("content_block_start", json!({"index": index, "content_block": empty})));
        let deltas =
            deltas.into_iter().map(|delta| event("content_block_delta", json!({"index": index, "delta": delta})));
        events.extend(deltas);
        events.push(event("content_block_stop", json!({"index": index})));
    }
    let delta = json!({"stop_reason": stop(answer), "stop_sequence": null});
    events.push(event("message_delta", json!({"delta": delta, "usage": usage(answer)})));
    events.push(event("message_stop", json!({})));
    events
}

/// An event of the stream that tells of an error.
pub(super) fn error() -> String {
    event("error", json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}))
}

/// An event that cannot be read.
pub(super) fn garbage() -> String {
    "event: content_block_delta\ndata: {this is not json\n\n".to_owned()
}

fn event(kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn begun(answer: &Answer<'_>) -> Value {
    let mut usage = usage(answer);
    usage["output_tokens"] = json!(1);
    json!({
        "id": answer.id("msg_01"), "type": "message", "role": "assistant", "model": answer.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    })
}

fn usage(answer: &Answer<'_>) -> Value {
    let tokens = answer.turn.tokens;
    json!({
        "input_tokens": tokens.input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": tokens.cached,
        "output_tokens": tokens.output,
    })
}

fn stop<'a>(answer: &'a Answer<'_>) -> &'a str {
    let plain = if answer.calls.is_empty() { "end_turn" } else { "tool_use" };
    answer.turn.stop.as_deref().unwrap_or(plain)
}

/// Every block of the answer, with the pieces that it comes in.
fn blocks(answer: &Answer<'_>) -> Vec<(Value, Vec<Value>)> {
    const SIGNATURE: &str = "c2NyaXB0ZWQ=";
    let mut blocks = Vec::new();
    let turn = answer.turn;
    if !turn.thinking.is_empty() {
        let pieces = answer.pieces(&turn.thinking);
        let mut deltas: Vec<Value> =
            pieces.iter().map(|piece| json!({"type": "thinking_delta", "thinking": piece})).collect();
        deltas.push(json!({"type": "signature_delta", "signature": SIGNATURE}));
        blocks.push((json!({"type": "thinking", "thinking": turn.thinking, "signature": SIGNATURE}), deltas));
    }
    if !turn.text.is_empty() {
        let pieces = answer.pieces(&turn.text);
        let deltas = pieces.iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
        blocks.push((json!({"type": "text", "text": turn.text}), deltas));
    }
    for call in answer.calls {
        let text = call.arguments.text();
        let pieces = answer.pieces(&text);
        let deltas = pieces.iter().map(|piece| json!({"type": "input_json_delta", "partial_json": piece})).collect();
        let id = answer.id("toolu_01");
        blocks
            .push((json!({"type": "tool_use", "id": id, "name": call.name, "input": call.arguments.value()}), deltas));
    }
    blocks
}
