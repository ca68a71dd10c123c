//! The same for Copilot and pi.
use serde_json::{Value, json};

use super::formats::{SESSION, elsewhere, pieces};
use super::talk::Step;

pub(super) fn copilot(steps: &[Step]) -> Vec<Value> {
    let event =
        |kind: &str, data: Value| json!({"type":kind,"data":data,"id":"e","timestamp":"2026-11-17T14:41:46.620Z"});
    let message = |words: &str, calls: Value, parent: Value| {
        event(
            "assistant.message",
            json!({"messageId":"m","model":"m","content":words,"toolRequests":calls,"parentToolCallId":parent}),
        )
    };
    let mut lines = vec![event("session.tools_updated", json!({"model":"m"}))];
    let tool = |name: &str, input: Value, output: &str| {
        let call = json!([{"toolCallId":"c","name":name,"arguments":input,"type":"function"}]);
        [
            message("", call, Value::Null),
            event("tool.execution_start", json!({"toolCallId":"c","toolName":name,"arguments":input})),
            event("tool.execution_complete", json!({"toolCallId":"c","success":true,"result":{"content":output}})),
        ]
    };
    // A stream is of one session: what another one said came before it.
    lines.extend(elsewhere(steps).into_iter().map(|words| message(words, json!([]), Value::Null)));
    for step in steps {
        match step {
            Step::Prompt(words) => lines.push(event("user.message", json!({"content":words}))),
            Step::Say(words) | Step::Final(words) => {
                let delta = |piece| event("assistant.message_delta", json!({"messageId":"m","deltaContent":piece}));
                lines.extend(pieces(words).into_iter().map(delta));
                lines.push(message(words, json!([]), Value::Null));
            }
            Step::Think(words) => lines.push(event("assistant.reasoning", json!({"content":words}))),
            Step::Command(out) => lines.extend(tool("bash", json!({"command":"make test"}), out)),
            Step::File(words) => lines.extend(tool("view", json!({"path":"/workspace/a.md"}), words)),
            Step::Write(words) => {
                lines.extend(tool("create", json!({"path":"/workspace/a.md","file_text":words}), "Created"));
            }
            Step::Below(words) => {
                lines.extend(tool("task", json!({"prompt":"look"}), words));
                lines.push(message(words, json!([]), json!("c")));
            }
            Step::Elsewhere(_) => {}
        }
    }
    lines.push(json!({"type":"result","timestamp":"2026-11-17T14:41:47.177Z","sessionId":SESSION,"exitCode":0,
        "usage":{"premiumRequests":0,"totalApiDurationMs":37}}));
    lines
}

pub(super) fn pi(steps: &[Step]) -> Vec<Value> {
    let mut lines =
        vec![json!({"type":"session","version":3,"id":SESSION,"cwd":"/workspace"}), json!({"type":"agent_start"})];
    let message = |role: &str, content: Value| {
        json!({"type":"message_end","message":{"role":role,"content":content,"model":"m","stopReason":"stop",
            "usage":{"input":100,"output":20,"cacheRead":0,"cacheWrite":0,"cost":{"total":0.001}}}})
    };
    let text = |words: &str| json!([{"type":"text","text":words}]);
    let tool = |name: &str, input: Value, output: &str| {
        let call = json!([{"type":"toolCall","id":"c","name":name,"arguments":input}]);
        [
            message("assistant", call),
            json!({"type":"tool_execution_start","toolCallId":"c","toolName":name,"args":input}),
            json!({"type":"tool_execution_end","toolCallId":"c","toolName":name,"result":{"content":text(output)}}),
            message("toolResult", text(output)),
        ]
    };
    lines.extend(elsewhere(steps).into_iter().map(|words| message("assistant", text(words))));
    for step in steps {
        match step {
            Step::Prompt(words) => lines.push(message("user", text(words))),
            Step::Say(words) | Step::Final(words) => {
                let delta = |piece| json!({"type":"message_update","assistantMessageEvent":{"type":"text_delta","delta":piece}});
                lines.extend(pieces(words).into_iter().map(delta));
                lines.push(message("assistant", text(words)));
            }
            Step::Think(words) => lines.push(message("assistant", json!([{"type":"thinking","thinking":words}]))),
            Step::Command(out) => lines.extend(tool("bash", json!({"command":"make test"}), out)),
            Step::File(words) => lines.extend(tool("read", json!({"path":"a.md"}), words)),
            Step::Write(words) => lines.extend(tool("write", json!({"path":"a.md","content":words}), "Wrote")),
            Step::Below(words) => lines.extend(tool("subagent", json!({"task":"look"}), words)),
            Step::Elsewhere(_) => {}
        }
    }
    lines.push(json!({"type":"agent_end","messages":[]}));
    lines
}
