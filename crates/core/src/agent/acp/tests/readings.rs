//! What is read from conversations that end otherwise than well.
use std::fmt::Write as _;

use expect_test::expect;
use serde_json::json;

use super::Says::{Ends, Error, Own, Raw, Result};
use super::{Conversation, NOW_MS, chunk, end_turn, hello, play, read, session, told, update, wish};
use crate::agent::provider::failure::Failure;
use crate::agent::reading::Terminal;
use crate::ended::Ended;

// req: C-05 partly: every error of the Agent Client Protocol has a class, and a reset where it says one
#[test]
fn errors_have_a_class_and_a_reset() {
    let errors = [
        json!({"code": -32603, "message": "429", "data": {"errorKind": "rate_limit"}}),
        json!({"code": -32603, "message": "Internal error: You've hit your session limit · resets 7:44pm (UTC)",
            "data": {"errorKind": "rate_limit"}}),
        json!({"code": -32603, "message": "You've hit your weekly limit · resets Nov 18, 2:27am (UTC)"}),
        json!({"code": -32603, "message": "You’ve hit your usage limit or try again at 7:45 PM."}),
        json!({"code": 429, "message": "Rate limit exceeded. Try again later.", "data": {"retryDelay": "12s"}}),
        json!({"code": -32603, "message": "Please retry in 1m30.5s."}),
        json!({"code": 500, "message": "Internal Server Error"}),
        json!({"code": -32603, "message": "API Error: 529 Overloaded"}),
        json!({"code": -32603, "message": "Internal error", "data": {"details": "unexpected status 401 Unauthorized"}}),
        json!({"code": -32603, "message": "Failed: 403"}),
        json!({"code": -32603, "message": "Internal error", "data": {"errorKind": "billing_error"}}),
        json!({"code": 429, "message": "Quota exceeded. Check your plan and billing details."}),
        json!({"code": -32603, "message": "connect ECONNREFUSED 127.0.0.1:1"}),
        json!({"code": -32603, "message": "Prompt is too long"}),
        json!({"code": -32603, "message": "Internal error"}),
        json!({"code": "odd", "message": 7}),
        json!("only words"),
    ];
    let mut out = String::new();
    for error in errors {
        let (_, transcript) = play(wish(), vec![hello(), session(), chunk("429 rate limit"), Error(error.clone())]);
        let reading = read(&transcript, Ended::Exit(1));
        assert_eq!(reading.terminal, Terminal::Error);
        let ahead = reading.reset.map_or("-".to_owned(), |reset| format!("{} s", (reset.at_ms - NOW_MS) / 1000));
        writeln!(out, "{} {ahead}: {error}", reading.failure.unwrap().word()).unwrap();
    }
    expect![[r#"
        rate_limit -: {"code":-32603,"data":{"errorKind":"rate_limit"},"message":"429"}
        rate_limit 2699 s: {"code":-32603,"data":{"errorKind":"rate_limit"},"message":"Internal error: You've hit your session limit · resets 7:44pm (UTC)"}
        rate_limit 199679 s: {"code":-32603,"message":"You've hit your weekly limit · resets Nov 18, 2:27am (UTC)"}
        rate_limit 85559 s: {"code":-32603,"message":"You’ve hit your usage limit or try again at 7:45 PM."}
        rate_limit 12 s: {"code":429,"data":{"retryDelay":"12s"},"message":"Rate limit exceeded. Try again later."}
        crash -: {"code":-32603,"message":"Please retry in 1m30.5s."}
        overload -: {"code":500,"message":"Internal Server Error"}
        overload -: {"code":-32603,"message":"API Error: 529 Overloaded"}
        auth -: {"code":-32603,"data":{"details":"unexpected status 401 Unauthorized"},"message":"Internal error"}
        auth -: {"code":-32603,"message":"Failed: 403"}
        billing -: {"code":-32603,"data":{"errorKind":"billing_error"},"message":"Internal error"}
        billing -: {"code":429,"message":"Quota exceeded. Check your plan and billing details."}
        network -: {"code":-32603,"message":"connect ECONNREFUSED 127.0.0.1:1"}
        context -: {"code":-32603,"message":"Prompt is too long"}
        crash -: {"code":-32603,"message":"Internal error"}
        crash -: {"code":"odd","message":7}
        crash -: "only words"
    "#]]
    .assert_eq(&out);
}

#[test]
fn a_reason_to_stop_that_is_no_end_of_the_work_is_a_failure() {
    let mut out = String::new();
    for stop in ["refusal", "max_tokens", "max_turn_requests", "cancelled", "something new"] {
        let (_, transcript) = play(wish(), vec![hello(), session(), Result(json!({"stopReason": stop}))]);
        let reading = read(&transcript, Ended::Exit(1));
        let words = reading.error.unwrap_or_default();
        writeln!(out, "{stop}: {:?} {} ({words})", reading.terminal, reading.failure.unwrap().word()).unwrap();
    }
    expect![[r#"
        refusal: Error refusal (the model refused)
        max_tokens: Error crash (it stopped: max_tokens)
        max_turn_requests: Error crash (it stopped: max_turn_requests)
        cancelled: Error crash (it stopped: cancelled)
        something new: Error crash (it stopped: something new)
    "#]]
    .assert_eq(&out);
}

// req: C-24 partly: agents that speak the Agent Client Protocol
#[test]
fn what_is_no_message_is_counted_and_an_agent_that_ends_is_a_crash() {
    let transcript = told(
        wish(),
        vec![Raw("Warning: colours"), Raw("[1,2]"), hello(), Raw("{\"id\":99,\"result\":{}}"), session(), Ends],
        &expect![[r#"
            > initialize
            ! Warning: colours
            ! [1,2]
            > session/new {"cwd":"/ws","mcpServers":[]}
            > session/prompt {"prompt":[{"text":"do it","type":"text"}],"sessionId":"s1"}
            = agent_ended the agent ended
        "#]],
    );
    let reading = read(&transcript, Ended::Exit(1));
    assert_eq!((reading.malformed_lines, reading.failure), (2, Some(Failure::Crash)));
    assert_eq!(reading.session.as_deref(), Some("s1"));
    assert_eq!(read(&transcript, Ended::ByUs).failure, None);
}

#[test]
fn a_last_line_that_cannot_be_read_is_malformed_and_none_at_all_is_missing() {
    let (_, transcript) = play(wish(), vec![hello(), session(), end_turn()]);
    let whole = transcript.trim_end();
    let torn = read(&whole[..whole.len() - 5], Ended::Exit(0));
    assert_eq!((torn.terminal, torn.failure), (Terminal::Malformed, Some(Failure::Crash)));
    let cut = whole.lines().take(5).collect::<Vec<_>>().join("\n");
    let cut = read(&cut, Ended::Signal(9));
    assert_eq!((cut.terminal, cut.failure), (Terminal::Missing, Some(Failure::Crash)));
    let (mut machine, _) = Conversation::begin(wish());
    machine.long_line(b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\"");
    assert!(machine.finished().is_none(), "only an answer is missed");
    machine.long_line(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{");
    assert_eq!(machine.finished().unwrap().why.word(), "malformed");
}

#[test]
fn a_sub_agents_words_and_those_of_another_session_are_not_the_agents() {
    let below = json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "below"},
        "_meta": {"claudeCode": {"parentToolUseId": "t1"}}});
    let other = json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s2", "update":
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "elsewhere"}}}});
    let says = vec![hello(), session(), chunk("mine"), update(below), Own(other), end_turn()];
    let (_, transcript) = play(wish(), says);
    assert_eq!(read(&transcript, Ended::Exit(0)).text, "mine");
}

#[test]
fn a_limit_that_is_near_is_none_and_one_that_is_met_has_its_reset() {
    let limit = |status: &str| {
        update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 2,
            "_meta": {"_claude/rateLimit": {"status": status, "resetsAt": NOW_MS / 1000 + 60}}}))
    };
    let (_, near) = play(wish(), vec![hello(), session(), limit("allowed_warning"), end_turn()]);
    assert_eq!((read(&near, Ended::Exit(0)).failure, read(&near, Ended::Exit(0)).reset), (None, None));
    let error = json!({"code": -32603, "message": "limit", "data": {"errorKind": "rate_limit"}});
    let (_, met) = play(wish(), vec![hello(), session(), limit("rejected"), Error(error)]);
    assert_eq!(read(&met, Ended::Exit(1)).reset.map(|reset| reset.at_ms), Some(NOW_MS + 60_000));
}

#[test]
fn nothing_that_comes_makes_it_panic() {
    let odd = [
        "{}",
        "null",
        "7",
        "\"x\"",
        "{\"id\":1}",
        "{\"id\":1,\"result\":null}",
        "{\"id\":null,\"method\":null}",
        "{\"method\":\"session/update\"}",
        "{\"id\":[],\"method\":\"session/request_permission\",\"params\":7}",
        "{\"id\":1,\"error\":{}}",
        "{\"id\":1,\"result\":{\"protocolVersion\":\"x\",\"authMethods\":{}}}",
        "\u{0}",
        "",
    ];
    for first in odd {
        for second in odd {
            let (mut machine, _) = Conversation::begin(wish());
            machine.line(first.as_bytes());
            machine.line(second.as_bytes());
            let lines = format!("{{\"dir\":\"<-\",\"msg\":{first}}}\n{{\"dir\":\"->\",\"msg\":{second}}}\n{first}\n");
            read(&lines, Ended::Exit(0));
        }
    }
}
