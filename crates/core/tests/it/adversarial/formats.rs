//! A conversation as each agent program would print it: forms as in the recorded runs, Cursor's as its documentation has it.
use serde_json::{Value, json};

use super::talk::Step;

pub(super) const SESSION: &str = "11111111-2222-4333-8444-555555555555";
const OTHER: &str = "99999999-8888-4777-8666-555555555555";

/// The stdout of that agent.
pub(crate) fn stdout(agent: &str, steps: &[Step]) -> Vec<u8> {
    let lines = match agent {
        "claude" => claude(steps, true),
        "qwen" => claude(steps, false),
        "grok" => claude(steps, true),
        "copilot" => super::more_formats::copilot(steps),
        "pi" => super::more_formats::pi(steps),
        "codex" => codex(steps),
        "gemini" => gemini(steps),
        "opencode" => opencode(steps),
        "cline" => cline(steps),
        "cursor" => cursor(steps),
        "aider" | "text" => return plain(agent, steps).into_bytes(),
        _ => panic!("say here how {agent} prints a conversation"),
    };
    lines.iter().flat_map(|line| format!("{}\n", in_order(line)).into_bytes()).collect()
}

/// A value with its fields in the order in which the real programs write them, by which readers may take a short way.
fn in_order(value: &Value) -> String {
    const MESSAGE: [&str; 8] = ["id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage"];
    const EVENT: [&str; 6] = ["type", "subtype", "is_error", "message", "event", "id"];
    match value {
        Value::Object(fields) => {
            let first: &[&str] = if fields.contains_key("role") { &MESSAGE } else { &EVENT };
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| first.iter().position(|known| known == name).unwrap_or(first.len()));
            let fields = names.into_iter().map(|name| format!("{}:{}", json!(name), in_order(&fields[name])));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(values) => format!("[{}]", values.iter().map(in_order).collect::<Vec<_>>().join(",")),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

fn last_words(steps: &[Step]) -> &str {
    steps
        .iter()
        .rev()
        .find_map(|step| if let Step::Final(text) = step { Some(text.as_str()) } else { None })
        .unwrap_or_default()
}

/// What another session said. Where lines do not name theirs, it comes first.
pub(super) fn elsewhere(steps: &[Step]) -> Vec<&str> {
    steps.iter().filter_map(|step| if let Step::Elsewhere(text) = step { Some(text.as_str()) } else { None }).collect()
}

/// Claude's stream, and Qwen's, which is nearly the same.
fn claude(steps: &[Step], partial: bool) -> Vec<Value> {
    let mut lines = vec![
        json!({"type":"system","subtype":"init","cwd":"/workspace","session_id":SESSION,"tools":["Bash"],"model":"m"}),
    ];
    let said = |content: Value, parent: Value, session: &str| {
        json!({"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[content],
            "stop_reason":null,"usage":{"input_tokens":100,"output_tokens":1}},"parent_tool_use_id":parent,"session_id":session,"uuid":"u"})
    };
    let heard = |content: Value, parent: Value| json!({"type":"user","message":{"role":"user","content":[content]},"parent_tool_use_id":parent,"session_id":SESSION,"uuid":"u"});
    let text = |text: &str| json!({"type":"text","text":text});
    let result = |text: &str| json!({"tool_use_id":"toolu_1","type":"tool_result","content":text,"is_error":false});
    let call = |name: &str, input: Value| json!({"type":"tool_use","id":"toolu_1","name":name,"input":input});
    for step in steps {
        match step {
            Step::Prompt(words) => {
                let mut line = heard(text(words), Value::Null);
                line["isReplay"] = json!(true);
                lines.push(line);
            }
            Step::Say(words) | Step::Final(words) => {
                if partial {
                    lines.extend(deltas(words));
                }
                lines.push(said(text(words), Value::Null, SESSION));
            }
            Step::Think(words) => {
                lines.push(said(json!({"type":"thinking","thinking":words,"signature":"c2Ny"}), Value::Null, SESSION))
            }
            Step::Command(out) => {
                lines.push(said(call("Bash", json!({"command":"make test"})), Value::Null, SESSION));
                let mut line = heard(result(out), Value::Null);
                line["tool_use_result"] = json!({"stdout":out,"stderr":"","interrupted":false});
                lines.push(line);
            }
            Step::File(words) => {
                lines.push(said(call("Read", json!({"file_path":"/workspace/a.md"})), Value::Null, SESSION));
                let content = json!([{"type":"text","text":words}]);
                lines.push(heard(json!({"tool_use_id":"toolu_1","type":"tool_result","content":content}), Value::Null));
            }
            Step::Write(words) => {
                lines.push(said(
                    call("Write", json!({"file_path":"/workspace/a.md","content":words})),
                    Value::Null,
                    SESSION,
                ));
                lines.push(heard(result("File created"), Value::Null));
            }
            Step::Below(words) => {
                lines.push(said(call("Task", json!({"prompt":"look"})), Value::Null, SESSION));
                lines.push(said(text(words), json!("toolu_1"), SESSION));
                lines.push(heard(result(words), Value::Null));
            }
            Step::Elsewhere(words) => lines.push(said(text(words), Value::Null, OTHER)),
        }
    }
    lines.push(json!({"type":"result","subtype":"success","is_error":false,"num_turns":3,"result":last_words(steps),"session_id":SESSION,
        "total_cost_usd":0.01,"usage":{"input_tokens":1400,"output_tokens":100},"permission_denials":[]}));
    number_messages(&mut lines);
    lines
}

/// The blocks of one message share its id; whatever a tool answers begins a new one.
fn number_messages(lines: &mut [Value]) {
    let mut number = 0;
    for line in lines {
        number += usize::from(line["type"] == "user");
        if line["type"] == "assistant" {
            let whose = if line["session_id"] == OTHER {
                "other"
            } else if line["parent_tool_use_id"].is_null() {
                "msg"
            } else {
                "sub"
            };
            line["message"]["id"] = json!(format!("{whose}_{number}"));
        }
    }
}

/// The pieces in which a text comes, cut within the marks.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(41).map(|piece| piece.iter().collect()).collect()
}

fn deltas(words: &str) -> Vec<Value> {
    let event = |event: Value| json!({"type":"stream_event","event":event,"session_id":SESSION,"parent_tool_use_id":null,"uuid":"u"});
    let piece = |piece: String| {
        event(json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":piece}}))
    };
    pieces(words).into_iter().map(piece).collect()
}

fn codex(steps: &[Step]) -> Vec<Value> {
    let mut lines = Vec::new();
    let item = |item: Value| json!({"type":"item.completed","item":item});
    let message = |words: &str| item(json!({"id":"item_0","type":"agent_message","text":words}));
    for words in elsewhere(steps) {
        lines.extend([json!({"type":"thread.started","thread_id":OTHER}), message(words)]);
    }
    lines.push(json!({"type":"thread.started","thread_id":SESSION}));
    lines.push(json!({"type":"turn.started"}));
    for step in steps {
        match step {
            Step::Say(words) | Step::Final(words) => lines.push(message(words)),
            Step::Think(words) => lines.push(item(json!({"id":"item_1","type":"reasoning","text":words}))),
            Step::Prompt(words) => lines.push(item(json!({"id":"item_1","type":"user_message","text":words}))),
            Step::Command(out) | Step::File(out) => {
                let run = |state: &str, out: &str| {
                    json!({"id":"item_2","type":"command_execution","command":"/bin/bash -lc 'make test'",
                        "aggregated_output":out,"exit_code":0,"status":state})
                };
                lines.push(json!({"type":"item.started","item":run("in_progress", "")}));
                lines.push(item(run("completed", out)));
            }
            Step::Write(words) => lines.push(item(json!({"id":"item_3","type":"file_change","status":"completed",
                "changes":[{"path":"/workspace/a.md","kind":"add","diff":words}]}))),
            Step::Below(words) => lines
                .push(item(json!({"id":"item_4","type":"mcp_tool_call","server":"s","tool":"ask",
                "result":{"content":[{"type":"text","text":words}]},"status":"completed"}))),
            Step::Elsewhere(_) => {}
        }
    }
    lines.push(
        json!({"type":"turn.completed","usage":{"input_tokens":1400,"cached_input_tokens":1000,"output_tokens":100}}),
    );
    lines
}

fn gemini(steps: &[Step]) -> Vec<Value> {
    const AT: &str = "2026-11-15T18:41:49.366Z";
    let begin = |session: &str| {
        [
            json!({"type":"init","timestamp":AT,"session_id":session,"model":"gemini-2.5-pro"}),
            json!({"type":"message","timestamp":AT,"role":"user","content":"Fix the tests."}),
        ]
    };
    let mut lines = Vec::new();
    for words in elsewhere(steps) {
        lines.extend(begin(OTHER));
        lines.push(json!({"type":"message","timestamp":AT,"role":"assistant","content":words,"delta":true}));
    }
    lines.extend(begin(SESSION));
    let tool = |name: &str, input: Value, output: &str| {
        [
            json!({"type":"tool_use","timestamp":AT,"tool_name":name,"tool_id":"t1","parameters":input}),
            json!({"type":"tool_result","timestamp":AT,"tool_id":"t1","status":"success","output":output}),
        ]
    };
    for step in steps {
        match step {
            Step::Prompt(words) => lines.push(json!({"type":"message","timestamp":AT,"role":"user","content":words})),
            Step::Say(words) | Step::Final(words) => {
                lines.extend(pieces(words).iter().map(
                    |piece| json!({"type":"message","timestamp":AT,"role":"assistant","content":piece,"delta":true}),
                ))
            }
            Step::Think(words) => lines.push(json!({"type":"thought","timestamp":AT,"content":words})),
            Step::Command(out) => lines.extend(tool("run_shell_command", json!({"command":"make test"}), out)),
            Step::File(words) => lines.extend(tool("read_file", json!({"file_path":"a.md"}), words)),
            Step::Write(words) => lines.extend(tool("write_file", json!({"file_path":"a.md","content":words}), "")),
            Step::Below(words) => lines.extend(tool("codebase_investigator", json!({"objective":"look"}), words)),
            Step::Elsewhere(_) => {}
        }
    }
    lines.push(json!({"type":"result","timestamp":AT,"status":"success","stats":{"total_tokens":1500,"input_tokens":1400,"output_tokens":100,
        "cached":1000,"input":400,"duration_ms":761,"tool_calls":2}}));
    lines
}

fn opencode(steps: &[Step]) -> Vec<Value> {
    let line = |kind: &str, session: &str, message: usize, mut part: Value| {
        part["messageID"] = json!(format!("msg_{message}"));
        part["sessionID"] = json!(session);
        part["id"] = json!("prt_1");
        json!({"type":kind,"timestamp":1_794_768_522_458_u64,"sessionID":session,"part":part})
    };
    let tool = |name: &str, input: Value, output: &str| {
        json!({"type":"tool","tool":name,"callID":"call_1","state":{"status":"completed","input":input,"output":output,
            "metadata":{"output":output,"exit":0},"title":name,"time":{"start":1,"end":2}}})
    };
    let finish = |reason: &str| json!({"type":"step-finish","reason":reason,"tokens":{"total":120,"input":100,"output":20,"reasoning":0,"cache":{"write":0,"read":0}},"cost":0});
    let mut lines = Vec::new();
    for (message, step) in steps.iter().enumerate() {
        let session = if matches!(step, Step::Elsewhere(_)) { OTHER } else { SESSION };
        let here = |kind: &str, part: Value| line(kind, session, message, part);
        lines.push(here("step_start", json!({"type":"step-start"})));
        let text = |words: &str| json!({"type":"text","text":words,"time":{"start":1,"end":2}});
        lines.push(match step {
            Step::Say(words) | Step::Final(words) | Step::Elsewhere(words) => here("text", text(words)),
            Step::Think(words) => here("reasoning", json!({"type":"reasoning","text":words})),
            Step::Prompt(words) => here("user", json!({"type":"text","text":words,"synthetic":true})),
            Step::Command(out) => here("tool_use", tool("bash", json!({"command":"make test"}), out)),
            Step::File(words) => here("tool_use", tool("read", json!({"filePath":"/workspace/a.md"}), words)),
            Step::Write(words) => {
                here("tool_use", tool("write", json!({"filePath":"/workspace/a.md","content":words}), "Wrote file"))
            }
            Step::Below(words) => here("tool_use", tool("task", json!({"prompt":"look"}), words)),
        });
        let reason = if matches!(step, Step::Final(_)) { "stop" } else { "tool-calls" };
        lines.push(here("step_finish", finish(reason)));
    }
    lines
}

fn cline(steps: &[Step]) -> Vec<Value> {
    const AT: &str = "2026-11-15T19:04:06.183Z";
    let event = |event: Value| json!({"ts":AT,"type":"agent_event","event":event});
    let hook = |name: &str, agent: &str, parent: Value| json!({"ts":AT,"type":"hook_event","hookEventName":name,"agentId":agent,"taskId":"conv_1","parentAgentId":parent});
    let tool = |name: &str, input: Value, output: Value| {
        [
            event(
                json!({"type":"content_start","contentType":"tool","toolName":name,"toolCallId":"call_1","input":input}),
            ),
            event(
                json!({"type":"content_end","contentType":"tool","toolName":name,"toolCallId":"call_1","output":output,"durationMs":1}),
            ),
        ]
    };
    let mut lines = Vec::new();
    for words in elsewhere(steps) {
        lines.push(hook("agent_start", "agent_0", Value::Null));
        lines.push(event(json!({"type":"content_end","contentType":"text","text":words})));
        lines.push(json!({"ts":AT,"type":"run_result","finishReason":"completed","iterations":1,"text":words}));
    }
    lines.push(hook("agent_start", "agent_1", Value::Null));
    for step in steps {
        match step {
            Step::Say(words) | Step::Final(words) => {
                let mut so_far = String::new();
                for piece in pieces(words) {
                    so_far.push_str(&piece);
                    lines.push(event(
                        json!({"type":"content_start","contentType":"text","text":piece,"accumulated":so_far}),
                    ));
                }
                lines.push(event(json!({"type":"content_end","contentType":"text","text":words})));
            }
            Step::Think(words) => lines
                .push(event(json!({"type":"content_end","contentType":"reasoning","reasoning":words,"text":words}))),
            Step::Prompt(words) => lines.push(json!({"ts":AT,"type":"user_message","text":words})),
            Step::Command(out) => {
                lines.extend(tool(
                    "run_commands",
                    json!({"commands":["make test"]}),
                    json!([{"query":"make test","result":out,"success":true}]),
                ));
            }
            Step::File(words) => lines.extend(tool("read_files", json!({"paths":["a.md"]}), json!({"result":words}))),
            Step::Write(words) => {
                lines.extend(tool("editor", json!({"path":"a.md","new_text":words}), json!({"result":"ok"})))
            }
            Step::Below(words) => {
                lines.push(hook("agent_start", "agent_2", json!("agent_1")));
                lines.push(hook("agent_end", "agent_2", json!("agent_1")));
                lines.extend(tool("spawn_agent", json!({"task":"look"}), json!({"text":words})));
            }
            Step::Elsewhere(_) => {}
        }
    }
    lines.push(hook("agent_end", "agent_1", Value::Null));
    let words = last_words(steps);
    lines.push(event(json!({"type":"done","reason":"completed","text":words,"iterations":3,"usage":{"inputTokens":1,"outputTokens":1,"totalCost":0}})));
    lines.push(json!({"ts":AT,"type":"run_result","finishReason":"completed","iterations":3,"usage":{"inputTokens":1,"outputTokens":1,"totalCost":0},
        "durationMs":4912,"text":words,"model":{"id":"m","provider":"p"}}));
    lines
}

/// By its documentation: the result repeats every message, not the last alone.
fn cursor(steps: &[Step]) -> Vec<Value> {
    let mut lines = vec![
        json!({"type":"system","subtype":"init","apiKeySource":"login","cwd":"/workspace","session_id":SESSION,"model":"m","permissionMode":"default"}),
    ];
    let message = |kind: &str, words: &str, session: &str| json!({"type":kind,"message":{"role":kind,"content":[{"type":"text","text":words}]},"session_id":session});
    let tool = |name: &str, args: Value, result: Value| {
        let mut started = json!({});
        started[name] = json!({"args":args});
        let mut ended = json!({});
        ended[name] = json!({"args":args,"result":{"success":result}});
        [
            json!({"type":"tool_call","subtype":"started","call_id":"c1","tool_call":started,"session_id":SESSION}),
            json!({"type":"tool_call","subtype":"completed","call_id":"c1","tool_call":ended,"session_id":SESSION}),
        ]
    };
    let mut all = String::new();
    for step in steps {
        match step {
            Step::Prompt(words) => lines.push(message("user", words, SESSION)),
            Step::Say(words) | Step::Final(words) => {
                all.push_str(words);
                lines.push(message("assistant", words, SESSION));
            }
            Step::Think(words) => {
                lines.push(json!({"type":"thinking","subtype":"delta","text":words,"session_id":SESSION}))
            }
            Step::Command(out) => {
                lines.extend(tool("shellToolCall", json!({"command":"make test"}), json!({"stdout":out,"exitCode":0})))
            }
            Step::File(words) => {
                lines.extend(tool("readToolCall", json!({"path":"a.md"}), json!({"content":words,"totalLines":9})))
            }
            Step::Write(words) => {
                lines.extend(tool(
                    "writeToolCall",
                    json!({"path":"a.md","fileText":words}),
                    json!({"path":"a.md","linesCreated":9}),
                ));
            }
            Step::Below(words) => lines.extend(tool("taskToolCall", json!({"prompt":"look"}), json!({"text":words}))),
            Step::Elsewhere(words) => lines.push(message("assistant", words, OTHER)),
        }
    }
    lines.push(json!({"type":"result","subtype":"success","duration_ms":5234,"duration_api_ms":5234,"is_error":false,"result":all,
        "session_id":SESSION,"request_id":"r"}));
    lines
}

/// How aider closes an answer.
const ANSWERED: &str = "Tokens: 1.8k sent, 42 received.\n\n";

/// What a program prints that knows no events: all in one text, with what is shown in fences or behind marks.
fn plain(agent: &str, steps: &[Step]) -> String {
    let aider = agent == "aider";
    let mut out = String::new();
    if aider {
        out.push_str("Aider v0.86.2\nModel: openai/scripted-model with diff edit format\nGit repo: .git with 1 files\nRepo-map: disabled\n\n");
    }
    for step in steps {
        let behind = |mark: &str, words: &str| words.lines().map(|line| format!("{mark}{line}\n")).collect::<String>();
        out.push_str(&match step {
            Step::Say(words) | Step::Final(words) if aider => format!("{words}\n\n{ANSWERED}"),
            Step::Say(words) | Step::Final(words) => format!("{words}\n\n"),
            Step::Prompt(words) | Step::Think(words) => behind("> ", words),
            Step::Command(words) => format!("Running make test\n```\n{words}\n```\n\n"),
            Step::File(words) => format!("a.md\n```\n{words}\n```\n\n"),
            Step::Write(words) => format!("a.md\n```\n<<<<<<< SEARCH\n=======\n{words}\n>>>>>>> REPLACE\n```\n\n"),
            Step::Below(words) => behind("  | ", words),
            Step::Elsewhere(words) => behind("[session 2] ", words),
        });
    }
    if aider {
        out.push_str("a.md\nApplied edit to a.md\nCommit 2f76ec5 feat: add a.md\n");
    }
    out
}
