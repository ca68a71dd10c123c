//! Answers as OpenAI's Chat Completions API gives them.
use serde_json::{Value, json};

use super::Answer;

/// The answer as one object.
pub(super) fn whole(answer: &Answer<'_>) -> Value {
    let mut message = json!({"role": "assistant", "content": answer.turn.text});
    let calls = calls(answer);
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    json!({
        "id": answer.id("chatcmpl-"), "object": "chat.completion", "created": answer.now, "model": answer.model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop(answer)}], "usage": usage(answer),
    })
}

/// The answer as events.
pub(super) fn events(answer: &Answer<'_>) -> Vec<String> {
    let id = answer.id("chatcmpl-");
    let chunk = |choices: Value, usage: Value| {
        let mut data = json!({
            "id": id, "object": "chat.completion.chunk", "created": answer.now, "model": answer.model,
            "choices": choices,
        });
        if !usage.is_null() {
            data["usage"] = usage;
        }
        format!("data: {data}\n\n")
    };
    let delta =
        |delta: Value, stop: Value| chunk(json!([{"index": 0, "delta": delta, "finish_reason": stop}]), Value::Null);
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}), Value::Null)];
    let turn = answer.turn;
    if !turn.thinking.is_empty() {
        events.push(delta(json!({"reasoning_content": turn.thinking}), Value::Null));
    }
    events.extend(answer.pieces(&turn.text).iter().map(|piece| delta(json!({"content": piece}), Value::Null)));
    for (index, call) in calls(answer).into_iter().enumerate() {
        let function = json!({"name": call["function"]["name"], "arguments": ""});
        let begun = json!({"index": index, "id": call["id"], "type": "function", "function": function});
        events.push(delta(json!({"tool_calls": [begun]}), Value::Null));
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        events.extend(answer.pieces(arguments).iter().map(|piece| {
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}), Value::Null)
        }));
    }
    events.push(delta(json!({}), json!(stop(answer))));
    events.push(chunk(json!([]), usage(answer)));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// An event of the stream that tells of an error.
pub(super) fn error() -> String {
    let error = json!({"message": "Overloaded", "type": "server_error", "code": "server_is_overloaded"});
    format!("data: {}\n\n", json!({"error": error}))
}

/// An event that cannot be read.
pub(super) fn garbage() -> String {
    "data: {this is not json\n\n".to_owned()
}

fn calls(answer: &Answer<'_>) -> Vec<Value> {
    let call = |call: &super::tools::Calling| {
        let function = json!({"name": call.name, "arguments": call.arguments.text()});
        json!({"id": answer.id("call_"), "type": "function", "function": function})
    };
    answer.calls.iter().map(call).collect()
}

fn stop<'a>(answer: &'a Answer<'_>) -> &'a str {
    match answer.turn.stop.as_deref() {
        None if answer.calls.is_empty() => "stop",
        None => "tool_calls",
        Some("max_tokens") => "length",
        Some("refusal") => "content_filter",
        Some(other) => other,
    }
}

fn usage(answer: &Answer<'_>) -> Value {
    let tokens = answer.turn.tokens;
    let prompt = tokens.input + tokens.cached;
    json!({
        "prompt_tokens": prompt, "completion_tokens": tokens.output, "total_tokens": prompt + tokens.output,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
    })
}
