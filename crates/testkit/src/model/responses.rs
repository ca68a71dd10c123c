//! Answers as OpenAI's Responses API gives them.
use serde_json::{Value, json};

use super::Answer;
use super::tools::Arguments;

/// The answer as one object.
pub(super) fn whole(answer: &Answer<'_>) -> Value {
    done(answer, &answer.id("resp_"), &items(answer))
}

/// The answer as events.
pub(super) fn events(answer: &Answer<'_>) -> Vec<String> {
    let id = answer.id("resp_");
    let mut events = vec![("response.created", json!({"response": begun(answer, &id)}))];
    let items = items(answer);
    for (index, item) in items.iter().enumerate() {
        events.push(("response.output_item.added", json!({"output_index": index, "item": empty(item)})));
        let inner = inner(answer, item).into_iter().map(|(kind, mut data)| {
            data["item_id"] = item["id"].clone();
            data["output_index"] = json!(index);
            (kind, data)
        });
        events.extend(inner);
        events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    }
    let mut response = done(answer, &id, &items);
    if answer.turn.stop.as_deref() == Some("max_tokens") {
        response["status"] = json!("incomplete");
        response["incomplete_details"] = json!({"reason": "max_output_tokens"});
        events.push(("response.incomplete", json!({"response": response})));
    } else {
        events.push(("response.completed", json!({"response": response})));
    }
    events.into_iter().enumerate().map(|(number, (kind, data))| event(number, kind, data)).collect()
}

/// An event of the stream that tells of an error.
pub(super) fn error(answer: &Answer<'_>) -> String {
    let mut response = begun(answer, &answer.id("resp_"));
    response["status"] = json!("failed");
    let message = "Our servers are currently overloaded. Please try again later.";
    response["error"] = json!({"code": "server_is_overloaded", "message": message});
    event(1, "response.failed", json!({"response": response}))
}

/// An event that cannot be read.
pub(super) fn garbage() -> String {
    "event: response.output_item.done\ndata: {this is not json\n\n".to_owned()
}

fn event(number: usize, kind: &str, mut data: Value) -> String {
    data["type"] = json!(kind);
    data["sequence_number"] = json!(number);
    format!("event: {kind}\ndata: {data}\n\n")
}

fn begun(answer: &Answer<'_>, id: &str) -> Value {
    json!({
        "id": id, "object": "response", "created_at": answer.now, "status": "in_progress", "model": answer.model,
        "output": [], "parallel_tool_calls": false, "tools": [], "tool_choice": "auto", "metadata": {}, "error": null,
        "incomplete_details": null, "instructions": null,
    })
}

fn done(answer: &Answer<'_>, id: &str, items: &[Value]) -> Value {
    let tokens = answer.turn.tokens;
    let input = tokens.input + tokens.cached;
    let mut response = begun(answer, id);
    response["status"] = json!("completed");
    response["output"] = json!(items);
    response["usage"] = json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": tokens.cached},
        "output_tokens": tokens.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + tokens.output,
    });
    response
}

fn items(answer: &Answer<'_>) -> Vec<Value> {
    let mut items = Vec::new();
    let turn = answer.turn;
    if !turn.thinking.is_empty() {
        let summary = json!([{"type": "summary_text", "text": turn.thinking}]);
        let id = answer.id("rs_");
        items.push(json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": "c2NyaXB0ZWQ="}));
    }
    if !turn.text.is_empty() {
        let content = json!([{"type": "output_text", "text": turn.text, "annotations": []}]);
        let id = answer.id("msg_");
        items
            .push(json!({"type": "message", "id": id, "status": "completed", "role": "assistant", "content": content}));
    }
    for call in answer.calls {
        let (kind, id, field) = match call.arguments {
            Arguments::Free(_) => ("custom_tool_call", answer.id("ctc_"), "input"),
            Arguments::Json(_) | Arguments::Broken(_) => ("function_call", answer.id("fc_"), "arguments"),
        };
        items.push(json!({
            "type": kind, "id": id, "status": "completed", "call_id": answer.id("call_"), "name": call.name,
            field: call.arguments.text(),
        }));
    }
    items
}

/// An item as it is when it begins.
fn empty(item: &Value) -> Value {
    let mut empty = item.clone();
    if item["type"] != "reasoning" {
        empty["status"] = json!("in_progress");
    }
    for (field, nothing) in
        [("content", json!([])), ("summary", json!([])), ("arguments", json!("")), ("input", json!(""))]
    {
        if !item[field].is_null() {
            empty[field] = nothing;
        }
    }
    empty
}

/// The events between the beginning and the end of an item.
fn inner(answer: &Answer<'_>, item: &Value) -> Vec<(&'static str, Value)> {
    match item["type"].as_str() {
        Some("message") => {
            let part = &item["content"][0];
            let empty = json!({"type": "output_text", "text": "", "annotations": []});
            let mut events = vec![("response.content_part.added", json!({"content_index": 0, "part": empty}))];
            events.extend(
                answer
                    .pieces(part["text"].as_str().unwrap_or_default())
                    .into_iter()
                    .map(|piece| ("response.output_text.delta", json!({"content_index": 0, "delta": piece}))),
            );
            events.push(("response.output_text.done", json!({"content_index": 0, "text": part["text"]})));
            events.push(("response.content_part.done", json!({"content_index": 0, "part": part})));
            events
        }
        Some("function_call") => vec![
            ("response.function_call_arguments.delta", json!({"delta": item["arguments"]})),
            ("response.function_call_arguments.done", json!({"arguments": item["arguments"]})),
        ],
        Some("custom_tool_call") => vec![
            ("response.custom_tool_call_input.delta", json!({"delta": item["input"]})),
            ("response.custom_tool_call_input.done", json!({"input": item["input"]})),
        ],
        _ => {
            let part = &item["summary"][0];
            let empty = json!({"type": "summary_text", "text": ""});
            vec![
                ("response.reasoning_summary_part.added", json!({"summary_index": 0, "part": empty})),
                ("response.reasoning_summary_text.delta", json!({"summary_index": 0, "delta": part["text"]})),
                ("response.reasoning_summary_text.done", json!({"summary_index": 0, "text": part["text"]})),
                ("response.reasoning_summary_part.done", json!({"summary_index": 0, "part": part})),
            ]
        }
    }
}
