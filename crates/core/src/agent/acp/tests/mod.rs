//! Conversations as text: what the agent says (`<`), what we say (`>`), how it ends (`=`).
mod calls;
mod readings;

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{AcpTask, Conversation, reader};
use crate::agent::adapter::Begin;
use crate::agent::command::Permissions;
use crate::agent::provider::failure::Failure;
use crate::agent::reading::{End, Reading, Terminal};
use crate::agent::stream::Stream;
use crate::ended::Ended;

/// 2026-11-15T19:00:00Z.
const NOW_MS: u64 = 1_794_769_200_000;

fn wish() -> AcpTask {
    AcpTask { workspace: "/ws".to_owned(), prompt: "do it".to_owned(), ..AcpTask::default() }
}

/// What the agent says next: an answer to what we asked last, or something of its own.
enum Says {
    Result(Value),
    Error(Value),
    Own(Value),
    Raw(&'static str),
    WeCancel,
    Ends,
}
use Says::{Ends, Error, Own, Raw, Result, WeCancel};

/// Plays a conversation; gives it as text, and as the transcript that the process in between would print.
fn play(wish: AcpTask, says: Vec<Says>) -> (String, String) {
    let (mut machine, first) = Conversation::begin(wish);
    let (mut shown, mut transcript) = (String::new(), String::new());
    let mut id = Value::Null;
    let ours = |words: Vec<Value>, shown: &mut String, transcript: &mut String, id: &mut Value| {
        for word in words {
            if word.get("method").is_some() && word.get("id").is_some() {
                *id = word["id"].clone();
            }
            writeln!(shown, "> {}", brief(&word)).unwrap();
            writeln!(transcript, "{}", json!({"dir": "->", "msg": word})).unwrap();
        }
    };
    ours(first, &mut shown, &mut transcript, &mut id);
    for word in says {
        let line = match word {
            Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string(),
            Error(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string(),
            Own(own) => own.to_string(),
            Raw(raw) => raw.to_owned(),
            WeCancel => {
                ours(machine.cancel(), &mut shown, &mut transcript, &mut id);
                continue;
            }
            Ends => {
                machine.gone("the agent ended");
                continue;
            }
        };
        let shape = line.chars().take(70).collect::<String>();
        match machine.line(line.as_bytes()) {
            Some(words) => {
                writeln!(transcript, "{{\"dir\":\"<-\",\"msg\":{line}}}").unwrap();
                ours(words, &mut shown, &mut transcript, &mut id);
            }
            None => {
                writeln!(shown, "! {shape}").unwrap();
                writeln!(transcript, "{}", json!({"dir": "<-", "text": line})).unwrap();
            }
        }
    }
    if let Some(finish) = machine.finished() {
        writeln!(shown, "= {} {}", finish.why.word(), finish.detail).unwrap();
        writeln!(transcript, "{}", finish.line()).unwrap();
    }
    (shown, transcript)
}

fn brief(word: &Value) -> String {
    let method = word["method"].as_str();
    match (method, word.get("error"), word.get("result")) {
        (Some("initialize"), _, _) => "initialize".to_owned(),
        (Some(method), _, _) => format!("{method} {}", word["params"]),
        (None, Some(error), _) => format!("error {error}"),
        (None, None, result) => format!("answer {}", result.unwrap_or(&Value::Null)),
    }
}

fn told(wish: AcpTask, says: Vec<Says>, expected: &Expect) -> String {
    let (shown, transcript) = play(wish, says);
    expected.assert_eq(&shown);
    transcript
}

fn read(transcript: &str, ended: Ended) -> Reading {
    let mut stream = Stream::new(reader(Begin::default()));
    stream.push(transcript.as_bytes());
    let end = End { ended: &ended, stderr: b"", asked: "", now_ms: NOW_MS, utc_offset_s: 3600, continued: false };
    stream.end(&end)
}

fn hello() -> Says {
    Result(json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}, "authMethods": []}))
}

fn session() -> Says {
    Result(json!({"sessionId": "s1"}))
}

fn permission(id: u64, call: Value) -> Says {
    let options = json!([
        {"kind": "allow_always", "name": "Always", "optionId": "always"},
        {"kind": "allow_once", "name": "Yes", "optionId": "yes"},
        {"kind": "reject_once", "name": "No", "optionId": "no"}
    ]);
    Own(json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission",
        "params": {"sessionId": "s1", "toolCall": call, "options": options}}))
}

fn update(update: Value) -> Says {
    Own(json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}))
}

fn chunk(text: &str) -> Says {
    update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}))
}

fn end_turn() -> Says {
    Result(json!({"stopReason": "end_turn"}))
}

#[test]
fn a_new_session_is_begun_and_asked_once() {
    let transcript = told(
        wish(),
        vec![
            hello(),
            session(),
            chunk("first"),
            update(json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "kind": "edit", "title": "Write"})),
            update(json!({"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}})),
            chunk("it is "),
            chunk("done"),
            end_turn(),
        ],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            = answered end_turn
        "#]],
    );
    let reading = read(&transcript, Ended::Exit(0));
    assert_eq!((reading.text.as_str(), reading.terminal, reading.failure), ("it is done", Terminal::Success, None));
    assert_eq!((reading.session.as_deref(), reading.tool_calls), (Some("s1"), Some(1)));
    assert_eq!(read(&transcript, Ended::Signal(9)).failure, Some(Failure::Crash));
}

/// One line for every kind of tool: how it is answered in edit, work, work with the network, and all.
#[test]
fn permission_is_given_by_policy() {
    let calls = [
        json!({"kind": "read", "locations": [{"path": "/ws/a"}]}),
        json!({"kind": "read", "locations": [{"path": "/etc/passwd"}]}),
        json!({"kind": "edit", "rawInput": {"file_path": "src/a.rs"}}),
        json!({"kind": "edit", "rawInput": {"file_path": "/ws/../etc/a"}}),
        json!({"kind": "edit", "content": [{"type": "diff", "path": "~/.bashrc"}]}),
        json!({"kind": "edit", "locations": [{"path": "/wsx/a"}]}),
        json!({"kind": "delete", "locations": [{"path": "./b"}]}),
        json!({"kind": "execute", "rawInput": {"command": "cargo test"}}),
        json!({"kind": "other", "rawInput": {"command": ["bash", "-lc", "make"]}}),
        json!({"rawInput": {"command": "make"}}),
        json!({"kind": "fetch", "title": "https://example.org"}),
        json!({"kind": "think"}),
        json!({"kind": "switch_mode"}),
        json!({"kind": "other", "title": "an MCP tool"}),
        json!({"kind": "something new"}),
        json!({"kind": "other", "rawInput": {"questions": [{"question": "Which one?"}]}}),
    ];
    let mut out = String::new();
    for call in calls {
        let answers = [
            (Permissions::Edit, false),
            (Permissions::Work, false),
            (Permissions::Work, true),
            (Permissions::All, false),
        ]
        .map(|(permissions, network)| {
            let wish = AcpTask { permissions, network, ..wish() };
            let (shown, _) = play(wish, vec![hello(), session(), permission(7, call.clone())]);
            if shown.contains("\"yes\"") { "yes" } else { "no" }
        });
        writeln!(out, "{} {call}", answers.map(|answer| format!("{answer:3}")).join(" ")).unwrap();
    }
    expect![[r#"
        yes yes yes yes {"kind":"read","locations":[{"path":"/ws/a"}]}
        no  yes yes yes {"kind":"read","locations":[{"path":"/etc/passwd"}]}
        yes yes yes yes {"kind":"edit","rawInput":{"file_path":"src/a.rs"}}
        no  no  no  yes {"kind":"edit","rawInput":{"file_path":"/ws/../etc/a"}}
        no  no  no  yes {"content":[{"path":"~/.bashrc","type":"diff"}],"kind":"edit"}
        no  no  no  yes {"kind":"edit","locations":[{"path":"/wsx/a"}]}
        yes yes yes yes {"kind":"delete","locations":[{"path":"./b"}]}
        no  yes yes yes {"kind":"execute","rawInput":{"command":"cargo test"}}
        no  yes yes yes {"kind":"other","rawInput":{"command":["bash","-lc","make"]}}
        no  yes yes yes {"rawInput":{"command":"make"}}
        no  no  yes yes {"kind":"fetch","title":"https://example.org"}
        yes yes yes yes {"kind":"think"}
        yes yes yes yes {"kind":"switch_mode"}
        no  yes yes yes {"kind":"other","title":"an MCP tool"}
        no  yes yes yes {"kind":"something new"}
        no  no  no  no  {"kind":"other","rawInput":{"questions":[{"question":"Which one?"}]}}
    "#]]
    .assert_eq(&out);
}

#[test]
fn refusals_are_counted_and_a_request_may_tell_less_than_the_update_before_it() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "kind": "execute", "title": "Terminal",
        "rawInput": {"command": "sh run_tests.sh"}});
    let transcript = told(
        AcpTask { permissions: Permissions::Edit, ..wish() },
        vec![
            hello(),
            session(),
            update(call),
            permission(0, json!({"toolCallId": "t1"})),
            permission(1, json!({"toolCallId": "t2", "kind": "edit"})),
            permission(2, json!({"toolCallId": "t3", "kind": "fetch", "title": "Fetch"})),
            end_turn(),
        ],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            > answer {"outcome":{"optionId":"no","outcome":"selected"}}
            > answer {"outcome":{"optionId":"yes","outcome":"selected"}}
            > answer {"outcome":{"optionId":"no","outcome":"selected"}}
            = answered end_turn
        "#]],
    );
    let denials = read(&transcript, Ended::Exit(0)).denials;
    assert_eq!((denials.count, denials.first.as_deref()), (2, Some("sh run_tests.sh")));
}

#[test]
fn a_question_is_told_and_declined_and_nothing_else_is_done_for_an_agent() {
    let asks =
        json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "Which one?"}});
    let reads = json!({"jsonrpc": "2.0", "id": 5, "method": "fs/read_text_file", "params": {"path": "/ws/a"}});
    let runs = json!({"jsonrpc": "2.0", "id": 6, "method": "terminal/create", "params": {"command": "ls"}});
    let transcript = told(
        wish(),
        vec![hello(), session(), Own(asks), Own(reads), Own(runs), end_turn()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            > answer {"action":"decline"}
            > error {"code":-32601,"message":"not supported: fs/read_text_file"}
            > error {"code":-32601,"message":"not supported: terminal/create"}
            = answered end_turn
        "#]],
    );
    let reading = read(&transcript, Ended::Exit(0));
    assert_eq!((reading.question.as_deref(), reading.denials.count), (Some("Which one?"), 0));
}

#[test]
fn a_cancel_is_asked_once_and_pending_permission_is_cancelled_with_it() {
    let transcript = told(
        wish(),
        vec![
            hello(),
            session(),
            WeCancel,
            WeCancel,
            permission(3, json!({"kind": "execute"})),
            Result(json!({"stopReason": "cancelled"})),
        ],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            > session/cancel {"sessionId":"s1"}
            > answer {"outcome":{"outcome":"cancelled"}}
            = answered cancelled
        "#]],
    );
    let ours = read(&transcript, Ended::ByUs);
    assert_eq!((ours.terminal, ours.failure), (Terminal::Error, None));
    assert_eq!(read(&transcript, Ended::Exit(1)).failure, Some(Failure::Crash));
    let early = expect![[r#"
        > initialize
        = cancelled before the prompt was sent
    "#]];
    told(wish(), vec![WeCancel, hello()], &early);
}

#[test]
fn a_known_session_is_resumed_or_loaded_and_a_lost_one_is_told() {
    let known = || AcpTask { session: Some("old".to_owned()), ..wish() };
    let resumes = json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true,
        "sessionCapabilities": {"resume": {}}}});
    let old = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "old", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "said long ago"}}}});
    let new = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "old", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "said now"}}}});
    let no_method = json!({"code": -32601, "message": "no such method"});
    let transcript = told(
        known(),
        vec![Result(resumes.clone()), Error(no_method), Own(old), Result(json!({})), Own(new), end_turn()],
        &expect![[r#"
            > initialize
            > session/resume {"cwd":"/ws","mcpServers":[],"sessionId":"old"}
            > session/load {"cwd":"/ws","mcpServers":[],"sessionId":"old"}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"old"}
            = answered end_turn
        "#]],
    );
    let reading = read(&transcript, Ended::Exit(0));
    assert_eq!((reading.text.as_str(), reading.session_lost), ("said now", false));
    let gone = json!({"code": -32002, "message": "Resource not found: old"});
    let transcript = told(
        known(),
        vec![Result(resumes), Error(gone)],
        &expect![[r#"
            > initialize
            > session/resume {"cwd":"/ws","mcpServers":[],"sessionId":"old"}
            = session_lost Resource not found: old
        "#]],
    );
    assert!(read(&transcript, Ended::Exit(1)).session_lost);
    let (_, transcript) = play(known(), vec![Result(json!({"protocolVersion": 1}))]);
    assert!(read(&transcript, Ended::Exit(1)).session_lost, "an agent that cannot go on with any");
}

#[test]
fn a_mode_is_chosen_by_what_may_be_done() {
    let mode = |words: &[&str], current: &str, wish: AcpTask| {
        let offered: Vec<Value> = words.iter().map(|word| json!({"id": word, "name": word})).collect();
        let session = json!({"sessionId": "s1", "modes": {"currentModeId": current, "availableModes": offered}});
        let (shown, _) = play(wish, vec![hello(), Result(session)]);
        let line = shown.lines().find_map(|line| line.strip_prefix("> session/set_mode "));
        line.map_or("none".to_owned(), |line| serde_json::from_str::<Value>(line).unwrap()["modeId"].to_string())
    };
    let claude = ["auto", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"];
    let agents: [(&str, &[&str], &str); 5] = [
        ("claude", &claude, "default"),
        ("claude as root", &claude[..5], "plan"),
        ("codex", &["read-only", "auto", "full-access"], "read-only"),
        ("gemini", &["default", "autoEdit", "yolo", "plan"], "default"),
        ("qwen", &["plan", "default", "auto-edit", "yolo"], "yolo"),
    ];
    let mut out = String::new();
    for (agent, words, current) in agents {
        let chosen = [Permissions::Edit, Permissions::Work, Permissions::All]
            .map(|permissions| mode(words, current, AcpTask { permissions, ..wish() }));
        writeln!(out, "{agent}: {}", chosen.join(" ")).unwrap();
    }
    let asked = AcpTask { mode: Some("plan".to_owned()), ..wish() };
    writeln!(out, "asked for: {}", mode(&claude, "default", asked)).unwrap();
    expect![[r#"
        claude: none "acceptEdits" "bypassPermissions"
        claude as root: "default" "acceptEdits" none
        codex: none "auto" "full-access"
        gemini: none "autoEdit" "yolo"
        qwen: "default" "auto-edit" none
        asked for: "plan"
    "#]]
    .assert_eq(&out);
}

#[test]
fn a_model_is_set_the_way_that_is_offered_and_a_mode_that_is_refused_is_no_end() {
    let offered = json!({"sessionId": "s1",
        "modes": {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "acceptEdits"}]},
        "configOptions": [{"id": "model", "category": "model", "currentValue": "a", "options": [{"value": "b", "name": "Big"}]}]});
    let big = || AcpTask { model: Some("Big".to_owned()), ..wish() };
    let refused = || Error(json!({"code": -32602, "message": "no"}));
    told(
        big(),
        vec![hello(), Result(offered.clone()), Result(json!({})), refused(), end_turn()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/set_config_option {"configId":"model","sessionId":"s1","value":"b"}
            > session/set_mode {"modeId":"acceptEdits","sessionId":"s1"}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            = answered end_turn
        "#]],
    );
    told(
        big(),
        vec![hello(), Result(offered), refused()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/set_config_option {"configId":"model","sessionId":"s1","value":"b"}
            = error no
        "#]],
    );
    told(
        big(),
        vec![hello(), session()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            = protocol the agent has no way to choose a model
        "#]],
    );
}

#[test]
fn signing_in_is_tried_once_and_only_where_it_needs_nobody() {
    let methods = json!({"protocolVersion": 1, "authMethods": [
        {"id": "browser", "name": "Sign in"},
        {"id": "key", "type": "env_var", "vars": [{"name": "SOME_KEY"}]}
    ]});
    let sign_in_first = || Error(json!({"code": -32000, "message": "Authentication required"}));
    let able = AcpTask { variables: ["SOME_KEY".to_owned()].into(), ..wish() };
    let transcript = told(
        able,
        vec![Result(methods.clone()), sign_in_first(), Result(json!({})), sign_in_first()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            > authenticate {"methodId":"key"}
            > session/new {"cwd":"/ws","mcpServers":[]}
            = error Authentication required
        "#]],
    );
    assert_eq!(read(&transcript, Ended::Exit(1)).failure, Some(Failure::Auth));
    told(
        wish(),
        vec![Result(methods), sign_in_first()],
        &expect![[r#"
            > initialize
            > session/new {"cwd":"/ws","mcpServers":[]}
            = error Authentication required
        "#]],
    );
}
