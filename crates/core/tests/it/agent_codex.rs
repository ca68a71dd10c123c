//! Codex: how it is called, and what no recording shows of its stream.
use loop_core::agent::{Failure, Permissions, Stdin, Terminal, Usage};
use loop_core::run::Ended;

use crate::agent_play::{Played, call, end, read, stream};

const THREAD: &str = r#"{"type":"thread.started","thread_id":"01a1"}"#;
const DONE: &str =
    r#"{"type":"turn.completed","usage":{"input_tokens":1400,"cached_input_tokens":1000,"output_tokens":100}}"#;

fn said(text: &str) -> String {
    serde_json::json!({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}})
        .to_string()
}

fn failed(message: &str) -> String {
    serde_json::json!({"type": "turn.failed", "error": {"message": message}}).to_string()
}

fn lines(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn exit(code: i32) -> Played<'static> {
    Played { ended: Ended::Exit(code), ..Played::default() }
}

fn class(message: &str) -> Option<Failure> {
    read("codex", &lines(&[THREAD, &failed(message)]), &exit(1)).failure
}

// req: C-18 partly: codex
#[test]
fn each_mode_has_its_own_sandbox_and_the_prompt_comes_by_stdin() {
    let work = call("codex", |_| {});
    assert_eq!(work.stdin, Stdin::Prompt);
    let words = work.argv.join(" ");
    assert!(words.starts_with("program exec --json --skip-git-repo-check -c "), "{words}");
    assert!(words.contains("-s workspace-write -c sandbox_workspace_write.network_access=false"), "{words}");
    assert!(words.ends_with(" -"), "{words}");
    let online = call("codex", |ask| ask.network = true).argv.join(" ");
    assert!(online.contains("network_access=true"), "{online}");
    let edit = call("codex", |ask| ask.permissions = Permissions::Edit).argv.join(" ");
    assert!(
        edit.contains("-s workspace-write -c features.shell_tool=false") && edit.contains("no shell tool"),
        "{edit}"
    );
    let all = call("codex", |ask| ask.permissions = Permissions::All).argv.join(" ");
    assert!(all.contains("--dangerously-bypass-approvals-and-sandbox") && !all.contains("workspace-write"), "{all}");
}

#[test]
fn a_session_is_gone_on_with_by_its_id_and_the_users_words_come_last() {
    let args = ["--oss".to_owned()];
    let call = call("codex", |ask| {
        (ask.session, ask.model, ask.args, ask.system) = (Some("01a1"), Some("gpt-5.5"), &args, "be \"kind\"\nplease");
    });
    let from = call.argv.iter().position(|word| word.starts_with("developer")).unwrap();
    let rest: Vec<&str> = call.argv[from..].iter().map(String::as_str).collect();
    let system = r#"developer_instructions="be \"kind\"\nplease""#;
    assert_eq!(rest, [system, "-m", "gpt-5.5", "--oss", "resume", "01a1", "-"]);
}

#[test]
fn what_a_session_used_before_is_not_used_again() {
    let used =
        Usage { input_tokens: Some(150), output_tokens: Some(40), cache_read_tokens: Some(900), ..Usage::default() };
    let usage = read("codex", &lines(&[THREAD, DONE]), &Played { used, ..Played::default() }).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (Some(250), Some(60), Some(100)));
    let more = Usage { input_tokens: Some(9000), ..used };
    let usage = read("codex", &lines(&[THREAD, DONE]), &Played { used: more, ..Played::default() }).usage;
    assert_eq!(usage.input_tokens, Some(400), "it did not count over the session after all");
    let cached = Usage { cache_read_tokens: Some(5000), ..used };
    let usage = read("codex", &lines(&[THREAD, DONE]), &Played { used: cached, ..Played::default() }).usage;
    let all = (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens);
    assert_eq!(all, (Some(400), Some(100), Some(1000)), "less in one field alone is another thread, too");
}

#[test]
fn a_thread_whose_name_could_be_an_option_or_a_path_is_no_session() {
    for (name, expected) in
        [("01a1-B_2", Some("01a1-B_2")), ("", None), ("--last", None), ("../x", None), ("a b", None), ("a\u{e9}", None)]
    {
        let thread = serde_json::json!({"type": "thread.started", "thread_id": name}).to_string();
        let reading = read("codex", &lines(&[&thread, &said("done"), DONE]), &exit(0));
        assert_eq!((reading.session.as_deref(), reading.failure), (expected, None), "{name}");
    }
}

#[test]
fn each_error_has_its_class() {
    let rows = [
        (
            "Rate limit reached for gpt-5. You can add a payment method to your account at https://x/billing",
            Failure::RateLimit,
        ),
        (
            "unexpected status 403 Forbidden: You are not allowed to sample from this model, url: http://x/rate-limit/v1",
            Failure::Auth,
        ),
        ("unexpected status 401 Unauthorized: , url: http://x/s/context window/v1", Failure::Auth),
        (
            r#"{"error": {"message": "Your input exceeds the context window of this model.", "code": "context_length_exceeded"}}"#,
            Failure::Context,
        ),
        ("Codex ran out of room in the model's context window. Start a new thread.", Failure::Context),
        (
            "stream disconnected before completion: Transport error: network error: error decoding response body",
            Failure::Network,
        ),
        (
            "stream disconnected before completion: Rate limit reached for gpt-5. Please try again in 11s.",
            Failure::RateLimit,
        ),
        ("exceeded retry limit, last status: 503 Service Unavailable", Failure::Overload),
        ("Selected model is at capacity. Please try a different model.", Failure::Overload),
        ("Your access token could not be refreshed. Please log out and sign in again.", Failure::Auth),
        ("Your workspace is out of credits. Add credits to continue.", Failure::Billing),
        (
            "unexpected status 429 Too Many Requests: You exceeded your current quota, please check your plan",
            Failure::Billing,
        ),
        ("Incomplete response returned, reason: content_filter", Failure::Refusal),
        ("Your prompt was flagged as potentially violating our usage policy", Failure::Refusal),
        ("This organization has been disabled.", Failure::Auth),
        ("something that nobody has seen", Failure::Crash),
        ("", Failure::Crash),
    ];
    for (message, expected) in rows {
        assert_eq!(class(message), Some(expected), "{message}");
    }
}

#[test]
fn what_the_agent_says_about_limits_is_no_limit() {
    let words = "You’ve hit your usage limit, try again at 7:45 PM. unexpected status 401";
    let reading = read("codex", &lines(&[THREAD, &said(words), DONE]), &exit(0));
    assert_eq!((reading.failure, reading.reset, reading.terminal), (None, None, Terminal::Success));
    assert_eq!(reading.text, words);
}

#[test]
fn success_takes_both_the_last_event_and_the_exit_code() {
    let whole = lines(&[THREAD, &said("done"), DONE]);
    assert_eq!(read("codex", &whole, &exit(0)).failure, None);
    assert_eq!(read("codex", &whole, &exit(1)).failure, Some(Failure::Crash));
    assert_eq!(read("codex", &lines(&[THREAD, &said("done")]), &exit(0)).failure, Some(Failure::Crash));
    let broken = read("codex", &lines(&[THREAD, r#"{"type":"turn.completed","usage":{"inp"#]), &exit(0));
    assert_eq!(
        (broken.terminal, broken.failure, broken.malformed_lines),
        (Terminal::Malformed, Some(Failure::Crash), 1)
    );
    let long =
        format!("{{\"type\":\"turn.completed\",\"x\":\"{}\"}}\n", "x".repeat(loop_core::agent::stream::LINE_BYTES_MAX));
    let broken = read("codex", &format!("{THREAD}\n{long}"), &exit(0));
    assert_eq!((broken.terminal, broken.failure), (Terminal::Malformed, Some(Failure::Crash)));
}

#[test]
fn only_the_last_message_after_the_last_tool_is_the_text() {
    let tool = |phase: &str, status: &str| {
        serde_json::json!({"type": phase, "item": {"id": "c", "type": "command_execution", "command": "/bin/bash -lc 'sleep 9'",
            "aggregated_output": "---STATUS---", "status": status}})
        .to_string()
    };
    let (begun, ended) = (tool("item.started", "in_progress"), tool("item.completed", "failed"));
    // A command in the background ends when everything does.
    let late = read("codex", &lines(&[THREAD, &begun, &said("done"), &ended, DONE]), &exit(0));
    assert_eq!((late.text.as_str(), late.tool_calls), ("done", Some(1)));
    let silent = read("codex", &lines(&[THREAD, &said("first I run"), &begun, &ended, DONE]), &exit(0));
    assert_eq!(silent.text, "");
    let agent = r#"{"type":"item.completed","item":{"id":"s","type":"collab_tool_call","tool":"wait","agents_states":{"a":{"message":"done"}}}}"#;
    let thought = r#"{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"done"}}"#;
    assert_eq!(read("codex", &lines(&[THREAD, agent, thought, DONE]), &exit(0)).text, "");
}

#[test]
fn refusals_are_counted_wherever_they_are_told() {
    let stderr = "Reading prompt from stdin...\n\
        2026-11-16T05:48:49Z ERROR codex_core::tools::router: error=exec_command failed: CreateProcess { message: \"Rejected(\\\"`/bin/bash -lc 'rm -rf x'` rejected: rm -f style commands are not permitted\\\")\" }\n\
        2026-11-16T05:48:50Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; rejected by user approval settings\n\
        2026-11-16T05:48:50Z ERROR codex_core::tools::router: error=approval policy is Never; reject command — you cannot ask\n\
        2026-11-16T05:48:51Z ERROR codex_core::tools::router: error=unsupported call: exec_command\n\
        2026-11-16T05:48:51Z ERROR codex_core::tools::router: error=unsupported call: no_such_tool\n";
    let reading = read("codex", &lines(&[THREAD, &said("done"), DONE]), &Played { stderr, ..Played::default() });
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (4, Some("rm -rf x")));
    assert_eq!(reading.failure, None);
    let declined = r#"{"type":"item.completed","item":{"id":"c","type":"command_execution","command":"cargo test","status":"declined"}}"#;
    let reading = read("codex", &lines(&[THREAD, declined, DONE]), &exit(0));
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (1, Some("cargo test")));
    let stderr = "2026-11-16T05:47:53Z ERROR codex_core::tools::router: error=request_user_input is unavailable in Default mode\n";
    let reading =
        read("codex", &lines(&[THREAD, &said("Red or blue?"), DONE]), &Played { stderr, ..Played::default() });
    assert_eq!(reading.question.as_deref(), Some("Red or blue?"));
}

#[test]
fn a_retry_of_its_own_is_seen_and_is_the_reason_when_we_end_it() {
    let retry =
        |why: &str| format!("{}\n", serde_json::json!({"type": "error", "message": format!("Reconnecting... {why}")}));
    let cases = [
        ("1/5 (exceeded retry limit, last status: 429 Too Many Requests)", true),
        ("1/5 (unexpected status 401 Unauthorized: no, url: http://x/v1)", true),
        ("1/5 (We’re currently experiencing high demand)", false),
        ("2/5 (We’re currently experiencing high demand)", true),
        ("4/5 (stream disconnected before completion: x)", false),
        ("waiting for network (Connection failed: error sending request)", true),
        ("5/5 (unexpected status 403 Forbidden: no, url: wss://x/v1/responses)", false),
    ];
    for (why, expected) in cases {
        let mut stream = stream("codex", Usage::default());
        stream.push(format!("{THREAD}\n{}", retry(why)).as_bytes());
        assert_eq!(stream.is_retrying(), expected, "{why}");
        stream.push(format!("{}\n", said("it went on")).as_bytes());
        assert!(!stream.is_retrying(), "{why}");
    }
    let stopped = Played { ended: Ended::ByUs, ..Played::default() };
    let mut waiting = stream("codex", Usage::default());
    waiting.push(format!("{THREAD}\n{}", retry("1/5 (Rate limit reached. Please try again in 20s.)")).as_bytes());
    let reading = end(waiting, &stopped);
    assert_eq!(reading.failure, Some(Failure::RateLimit));
    assert_eq!(reading.reset.map(|reset| reset.at_ms), Some(crate::agent_play::NOW_MS + 20_000));
    let reading = read("codex", &lines(&[THREAD, &said("so far")]), &stopped);
    assert_eq!((reading.failure, reading.text.as_str(), reading.session.as_deref()), (None, "so far", Some("01a1")));
}

#[test]
fn other_shapes_of_the_same_lines_are_read_and_strange_ones_counted() {
    let parts = r#"{"item":{"type":"agent_message","content":[{"type":"output_text","text":"a"},"b"]},"type":"item.completed"}"#;
    let done = r#"{"type": "turn.completed", "usage": {"input_tokens": 10.0, "cached_input_tokens": "?"}}"#;
    let odd = [
        r#"{"type":"turn.dreamt"}"#,
        r#"{"type":"item.completed"}"#,
        r#"{"type":"item.completed","item":{"type":"hologram"}}"#,
        "[1]",
        "no json",
    ];
    let mut all = vec![THREAD, parts, done];
    all.extend(odd);
    let reading = read("codex", &lines(&all), &exit(0));
    assert_eq!(
        (reading.text.as_str(), reading.usage.input_tokens, reading.usage.output_tokens),
        ("ab", Some(10), None)
    );
    assert_eq!((reading.unknown_lines, reading.malformed_lines, reading.failure), (3, 2, None));
    let plain = read("codex", &lines(&[THREAD, r#"{"type":"turn.failed","error":"unexpected status 401"}"#]), &exit(1));
    assert_eq!(plain.failure, Some(Failure::Auth));
}

/// CLI-D15: the shell's quotes are taken off whole.
#[test]
fn a_command_is_shown_as_it_was_typed() {
    let shown = |command: &str| {
        let item = serde_json::json!({"type": "item.started", "item": {"id": "t", "type": "command_execution", "command": command}});
        let live = stream("codex", Usage::default()).push(format!("{item}\n").as_bytes());
        live.into_iter().find_map(|live| match live {
            loop_core::agent::Live::Tool(_, argument) => Some(argument),
            loop_core::agent::Live::Text(_) | loop_core::agent::Live::Note(_) => None,
        })
    };
    assert_eq!(shown(r#"/bin/bash -lc 'make test'"#).as_deref(), Some("make test"));
    assert_eq!(shown("/bin/bash -lc 'sed '\"'\"'s/a/b/'\"'\"' f'").as_deref(), Some("sed 's/a/b/' f"));
    assert_eq!(shown("bash -lc echo hi").as_deref(), Some("echo hi"));
}
