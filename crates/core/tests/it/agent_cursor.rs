//! Cursor, as its documentation tells of it.
use loop_core::agent::{Failure, Permissions, Terminal};
use loop_core::run::Ended;

use crate::agent_play::{Played, call, read};

const STREAM: &str = r#"{"type":"system","subtype":"init","apiKeySource":"login","cwd":"/ws","session_id":"s1","model":"Auto","permissionMode":"default"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"do it"}]},"session_id":"s1"}
{"type":"thinking","subtype":"delta","text":"hm","session_id":"s1","timestamp_ms":1}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"first"}]},"session_id":"s1","model_call_id":"1","timestamp_ms":2}
{"type":"tool_call","subtype":"started","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"cargo test"}}},"session_id":"s1"}
{"type":"tool_call","subtype":"completed","call_id":"c","tool_call":{"shellToolCall":{"args":{"command":"cargo test"},"result":{"rejected":{"reason":"no"}}}},"session_id":"s1"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"all "}]},"session_id":"s1","timestamp_ms":3}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"done"}]},"session_id":"s1","timestamp_ms":4}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"all done"}]},"session_id":"s1"}
{"type":"result","subtype":"success","is_error":false,"duration_ms":9,"result":"firstall done","session_id":"s1"}
"#;

#[test]
fn the_last_whole_message_is_the_text_and_a_refused_tool_is_counted() {
    let reading = read("cursor", STREAM, &Played::default());
    assert_eq!((reading.text.as_str(), reading.terminal, reading.failure), ("all done", Terminal::Success, None));
    assert_eq!(
        (reading.session.as_deref(), reading.model.as_deref(), reading.tool_calls),
        (Some("s1"), Some("Auto"), Some(1))
    );
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (1, Some("cargo test")));
    assert_eq!((reading.unknown_lines, reading.malformed_lines), (0, 0));
}

#[test]
fn without_its_last_event_it_failed() {
    let cut = STREAM.rsplit_once("{\"type\":\"result\"").unwrap().0;
    let stderr = "Error: Authentication required. Please run 'cursor-agent login' first, or set CURSOR_API_KEY.";
    let failed = Played { ended: Ended::Exit(1), stderr, ..Played::default() };
    assert_eq!(read("cursor", "", &failed).failure, Some(Failure::Auth));
    assert_eq!(read("cursor", cut, &Played::default()).failure, Some(Failure::Crash));
    let broken = read("cursor", &format!("{cut}{{\"type\":\"result\",\"subty"), &Played::default());
    assert_eq!((broken.terminal, broken.failure), (Terminal::Malformed, Some(Failure::Crash)));
}

#[test]
fn it_changes_files_by_force_alone() {
    let work = call("cursor", |ask| ask.session = Some("s1")).argv;
    assert_eq!(
        work,
        [
            "program",
            "--print",
            "--output-format",
            "stream-json",
            "--stream-partial-output",
            "--force",
            "--resume",
            "s1"
        ]
    );
    let edit = call("cursor", |ask| ask.permissions = Permissions::Edit).argv;
    assert!(!edit.contains(&"--force".to_owned()));
}
