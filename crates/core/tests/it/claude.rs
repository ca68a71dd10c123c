//! Claude and Qwen: how they are called, and what their streams mean where no recording tells.
use std::collections::BTreeMap;

use loop_core::agent::{
    AgentCommand, AttemptSpec, Begin, End, Failure, Live, Permissions, Reading, Reset, ResetSource, Stdin, Stream,
    StreamReport, Terminal, Usage, adapter,
};
use loop_core::run::Ended;
use serde_json::{Value, json};

/// 2026-11-15T19:00:00Z.
const NOW_MS: u64 = 1_794_769_200_000;

fn read_as(agent: &str, lines: &[u8], end: &End<'_>) -> (Reading, Vec<Live>) {
    let mut stream = Stream::new((adapter(agent).unwrap().reader)(Begin::default()));
    let live = stream.push(lines);
    (stream.end(end), live)
}

fn end(ended: &Ended) -> End<'_> {
    End { ended, stderr: b"", asked: "", now_ms: NOW_MS, utc_offset_s: 0, continued: false }
}

fn read(lines: &[Value], ended: &Ended) -> Reading {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read_as("claude", text.as_bytes(), &end(ended)).0
}

fn said(id: &str, content: &Value) -> Value {
    json!({"type": "assistant", "message": {"id": id, "model": "m", "content": content}, "parent_tool_use_id": null})
}

fn text(words: &str) -> Value {
    json!([{"type": "text", "text": words}])
}

fn tool(name: &str, input: &Value) -> Value {
    json!([{"type": "tool_use", "id": "t", "name": name, "input": input}])
}

fn success(words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": words})
}

fn failed(words: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": true, "result": words})
}

// req: C-12 partly: messages, blocks and sub-agents
#[test]
fn only_the_last_words_of_the_main_thread_count() {
    let sub_agent = json!({"type": "assistant", "parent_tool_use_id": "t",
        "message": {"id": "s", "content": [{"type": "text", "text": "from below"}, {"type": "tool_use", "name": "Read"}]}});
    let lines = [
        said("a", &text("first")),
        said("a", &tool("Task", &json!({"description": "look"}))),
        sub_agent.clone(),
        json!({"type": "user", "message": {"content": "a result"}}),
        said("b", &json!([{"type": "thinking", "thinking": "hm"}])),
        said("b", &text("one")),
        sub_agent,
        said("b", &text("two")),
        success("two"),
    ];
    let reading = read(&lines, &Ended::Exit(0));
    assert_eq!(reading.text, "one\ntwo");
    assert_eq!((reading.failure, reading.tool_calls), (None, Some(3)));
}

#[test]
fn a_message_that_somebody_answered_is_not_the_last_one() {
    let mut nameless = said("", &text("old"));
    nameless["message"]["id"] = Value::Null;
    let mut newer = nameless.clone();
    newer["message"]["content"] = json!("new");
    let lines = [nameless, json!({"type": "user", "message": {}}), newer, success("new")];
    assert_eq!(read(&lines, &Ended::Exit(0)).text, "new");
    let lines = [said("a", &text("old")), said("b", &text("new")), success("new")];
    assert_eq!(read(&lines, &Ended::Exit(0)).text, "new");
    let lines = [said("a", &text("done")), said("a", &tool("Bash", &json!({}))), success("")];
    assert_eq!(read(&lines, &Ended::Exit(0)).text, "");
}

// req: C-05 partly: success takes both, the exit status and the last line
#[test]
fn success_is_an_exit_and_a_last_line_that_say_so() {
    let well = [said("a", &text("ok")), success("ok")];
    for (lines, ended, terminal, failure) in [
        (&well[..], Ended::Exit(0), Terminal::Success, None),
        (&well[..], Ended::Exit(1), Terminal::Success, Some(Failure::Crash)),
        (&well[..], Ended::Signal(9), Terminal::Success, Some(Failure::Crash)),
        (&well[..], Ended::ByUs, Terminal::Success, None),
        (&well[..1], Ended::Exit(0), Terminal::Missing, Some(Failure::Crash)),
        (&well[..1], Ended::ByUs, Terminal::Missing, None),
    ] {
        let reading = read(lines, &ended);
        assert_eq!((reading.terminal, reading.failure), (terminal, failure), "{ended:?}");
        assert_eq!(reading.text, "ok", "{ended:?}");
    }
}

// req: C-12 partly: a malformed or too long result
#[test]
fn a_last_line_that_cannot_be_read_is_an_error_whatever_the_exit_says() {
    let huge = format!("{{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"{}\"}}", "x".repeat(11 << 20));
    let cases = [
        "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":fal",
        "{\"type\":\"result\"}",
        "{\"type\":\"result\",\"is_error\":\"no\",\"subtype\":\"success\"}",
        &huge,
    ];
    for line in cases {
        let lines = format!("{}\n{line}", said("a", &text("done")));
        let reading = read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0))).0;
        let start: String = line.chars().take(60).collect();
        assert_eq!((reading.terminal, reading.failure), (Terminal::Malformed, Some(Failure::Crash)), "{start}");
        assert_eq!((reading.text.as_str(), reading.malformed_lines), ("done", 1), "{start}");
    }
}

// req: C-12 partly: malformed lines and unknown types
#[test]
fn odd_lines_are_counted_and_end_nothing() {
    let lines = "not json\n{\"type\":\"user\",\"message\":{\"con\n{\"type\":\"assistant\",\"message\":7}\n17\n\n\
        {\"type\":\"brand_new\",\"a\":1}\n{\"no\":\"type\"}\n{\"type\":\"system\",\"subtype\":\"compact_boundary\"}\n\
        {\"subtype\": \"success\", \"is_error\": false, \"result\": \"ok\", \"type\": \"result\"}\n";
    let reading = read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0))).0;
    assert_eq!((reading.malformed_lines, reading.unknown_lines), (4, 2));
    assert_eq!((reading.terminal, reading.text.as_str()), (Terminal::Success, "ok"));
    assert_eq!(reading.usage, Usage::default());
}

// req: C-12 partly: the first line, and the provider's share of the time
#[test]
fn what_the_program_says_about_its_own_run_is_kept_and_bounded() {
    let names: Vec<String> = (0..30).map(|number| format!("Tool{number}")).collect();
    let begin = json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m", "cwd": "/w/app",
        "tools": names, "permissionMode": "acceptEdits"});
    let mut end = success("ok");
    end["duration_api_ms"] = json!(1951);
    let reading = read(&[begin.clone(), said("a", &text("ok")), end], &Ended::Exit(0));
    let report = StreamReport::of(reading);
    assert_eq!((report.program.tools.count, report.program.tools.first.len()), (30, 10));
    assert_eq!(report.program.tools.first[9], "Tool9");
    assert_eq!(report.program.cwd.as_deref(), Some("/w/app"));
    assert_eq!(report.program.permission_mode.as_deref(), Some("acceptEdits"));
    assert_eq!(report.program.api_duration_ms, Some(1951));

    // One that is cut off has said how it began.
    let cut = StreamReport::of(read(&[begin], &Ended::ByUs));
    assert_eq!((cut.program.tools.count, cut.program.api_duration_ms), (30, None));
    // Nothing, or another form, is no reason to decline the line.
    let odd = json!({"type": "system", "subtype": "init", "session_id": "s", "tools": [{"name": "Bash"}], "cwd": 7});
    let reading = read(&[odd, success("ok")], &Ended::Exit(0));
    assert_eq!((reading.session.as_deref(), reading.malformed_lines), (Some("s"), 0));
    assert!(StreamReport::of(reading).program.is_nothing());
}

#[test]
fn a_refusal_is_told_by_the_stop_reason() {
    let mut refusal = said("a", &text("I cannot"));
    refusal["message"]["stop_reason"] = json!("refusal");
    let plain = [refusal, success("I cannot")];
    assert_eq!(read(&plain, &Ended::Exit(0)).failure, Some(Failure::Refusal));
    let mut told = failed("API Error: Claude Code is unable to respond, which appears to violate our Usage Policy");
    told["stop_reason"] = json!("refusal");
    assert_eq!(read(&[told], &Ended::Exit(1)).failure, Some(Failure::Refusal));
}

#[test]
fn a_question_by_a_tool_is_kept_and_is_no_refused_command() {
    let asked = json!({"questions": [{"question": "Which one?", "options": []}]});
    let mut result = success("I wait");
    result["permission_denials"] = json!([
        {"tool_name": "AskUserQuestion", "tool_input": asked},
        {"tool_name": "Bash", "tool_input": {"command": "cargo test", "description": "d"}},
        {"tool_name": "mcp__x__y", "tool_input": "odd"},
    ]);
    let reading =
        read(&[said("a", &tool("AskUserQuestion", &asked)), said("b", &text("I wait")), result], &Ended::Exit(0));
    assert_eq!(reading.question.as_deref(), Some("Which one?"));
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (2, Some("cargo test")));
}

fn limit(status: &str, resets_at: &Value) -> Value {
    json!({"type": "rate_limit_event", "rate_limit_info":
        {"status": status, "resetsAt": resets_at, "rateLimitType": "five_hour", "utilization": 0.92}})
}

#[test]
fn a_limit_is_one_only_where_the_run_failed() {
    let warned =
        [limit("allowed_warning", &json!(1_794_772_424)), said("a", &text("You've hit your limit")), success("x")];
    let reading = read(&warned, &Ended::Exit(0));
    assert_eq!((reading.failure, reading.reset), (None, None));
    let lines: String = warned.iter().map(|line| format!("{line}\n")).collect();
    let live = read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0))).1;
    assert_eq!(live.first(), Some(&Live::Note("the five hour limit is near: 92 % used".to_owned())));
    let went_on = [limit("rejected", &json!(1_794_772_424)), said("a", &text("done")), success("done")];
    assert_eq!(read(&went_on, &Ended::Exit(0)).failure, None);
}

#[test]
fn a_reset_is_taken_from_the_field_and_else_from_the_words() {
    let at = |at_ms, source| Some(Reset { at_ms, source });
    let words = "You've hit your weekly limit · resets Nov 18, 2:27am (UTC)";
    for (first, words, reset) in [
        (limit("rejected", &json!(1_794_771_871)), words, at(1_794_771_871_000, ResetSource::Provider)),
        (limit("rejected", &json!(1_794_771_871.0)), words, at(1_794_771_871_000, ResetSource::Provider)),
        // What is past is told all the same: what to make of it is not the reader's to say.
        (limit("rejected", &json!(1_000_000_000)), words, at(1_000_000_000_000, ResetSource::Provider)),
        (limit("rejected", &json!("soon")), words, at(1_794_968_879_000, ResetSource::Text)),
        (json!({"type": "keep_alive"}), words, at(1_794_968_879_000, ResetSource::Text)),
        (
            json!({"type": "keep_alive"}),
            "You've hit your session limit · resets 7pm (UTC)",
            at(NOW_MS + 59_000, ResetSource::Text),
        ),
        (json!({"type": "keep_alive"}), "session limit · resets 8:30am", at(1_794_817_859_000, ResetSource::Text)),
        (
            json!({"type": "keep_alive"}),
            "Claude AI usage limit reached|1794771871",
            at(1_794_771_871_000, ResetSource::Text),
        ),
        (json!({"type": "keep_alive"}), "rate limit, try again in 1m30s.", at(NOW_MS + 90_000, ResetSource::Text)),
        (json!({"type": "keep_alive"}), "usage limit · resets soon", None),
    ] {
        let reading = read(&[first, failed(words)], &Ended::Exit(1));
        assert_eq!((reading.failure, reading.reset), (Some(Failure::RateLimit), reset), "{words}");
    }
}

#[test]
fn a_reset_is_read_in_every_form_and_the_latest_counts() {
    let hour = NOW_MS + 3_600_000;
    let named =
        json!({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resets_at": hour / 1000}});
    let other = || limit("rejected", &json!(NOW_MS / 1000 + 60));
    for events in [
        vec![named],
        vec![limit("rejected", &json!("1794772800"))],
        vec![limit("rejected", &json!("2026-11-15T20:00:00Z"))],
        vec![limit("rejected", &json!("2026-11-15T21:00:00+01:00"))],
        vec![limit("rejected", &json!(hour / 1000)), other()],
        vec![other(), limit("rejected", &json!(hour / 1000)), limit("rejected", &Value::Null)],
    ] {
        let lines: Vec<Value> = events.into_iter().chain([failed("You've hit your limit")]).collect();
        let reading = read(&lines, &Ended::Exit(1));
        assert_eq!(reading.reset, Some(Reset { at_ms: hour, source: ResetSource::Provider }), "{lines:?}");
    }
}

#[test]
fn words_alone_tell_a_limit_and_when_it_ends() {
    let minute = 60_000;
    for (words, after) in [
        ("API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}", None),
        ("5-hour limit reached ∙ resets 11pm", Some(240 * minute + 59_000)),
        ("You've hit your limit · resets 8pm (America/New_York)", Some(60 * minute + 59_000)),
        ("You've hit your Opus limit · resets 8pm", Some(60 * minute + 59_000)),
        ("Claude usage limit reached. Please wait|1794772800", Some(60 * minute)),
        ("Your limit will reset at 8pm (America/Los_Angeles)", Some(60 * minute + 59_000)),
        ("You've hit your limit. It resets in 2h 5m", Some(125 * minute)),
    ] {
        let reading = read(&[failed(words)], &Ended::Exit(1));
        let reset = after.map(|after| Reset { at_ms: NOW_MS + after, source: ResetSource::Text });
        assert_eq!((reading.failure, reading.reset), (Some(Failure::RateLimit), reset), "{words}");
    }
    for (words, status, failure) in [
        ("API Error: 403 Forbidden", Value::Null, Failure::Auth),
        ("API Error: 401", Value::Null, Failure::Auth),
        ("This organization has been disabled.", Value::Null, Failure::Auth),
        ("API Error: 400 input length and `max_tokens` exceed context limit", Value::Null, Failure::Context),
        ("words", json!("429"), Failure::RateLimit),
    ] {
        let mut result = failed(words);
        result["api_error_status"] = status;
        assert_eq!(read(&[result], &Ended::Exit(1)).failure, Some(failure), "{words}");
    }
}

#[test]
fn what_another_session_says_never_counts() {
    let init = "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s-1\"}\n";
    let message = "\"message\":{\"id\":\"b\",\"content\":[{\"type\":\"text\",\"text\":\"words\"}],\"x\":{\"session_id\":\"s-1\"}}";
    for (name, text) in [
        ("\"session_id\":\"s-1\"", "words"),
        ("\"session_id\" : \"s-1\"", "words"),
        ("\"session_id\":\"other\"", ""),
        ("\"session_id\": \"other\"", ""),
        ("\"session_id\"\t:\t\"s-10\"", ""),
    ] {
        for line in [format!("{message},{name}"), format!("{name},{message}")] {
            let lines = format!("{init}{{\"type\":\"assistant\",{line}}}\n{}", success(""));
            assert_eq!(read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0))).0.text, text, "{lines}");
        }
    }
}

#[test]
fn classes_go_by_the_word_then_the_status_then_the_words() {
    let told = |word: &str| {
        json!({"type": "assistant", "error": word,
        "message": {"id": "e", "model": "<synthetic>", "content": [{"type": "text", "text": "words"}]}})
    };
    for (word, status, words, failure) in [
        ("billing_error", json!(400), "Credit balance is too low", Failure::Billing),
        ("unknown", json!(429), "You have run out of quota: see billing", Failure::Billing),
        ("unknown", json!(403), "Forbidden", Failure::Auth),
        ("server_error", json!(529), "Overloaded", Failure::Overload),
        ("server_error", Value::Null, "Unable to connect to API (ConnectionRefused)", Failure::Network),
        ("invalid_request", json!(400), "Prompt is too long", Failure::Context),
        ("unknown", Value::Null, "API returned an empty or malformed response (HTTP 200)", Failure::Network),
        ("model_not_found", json!(404), "There's an issue with the selected model", Failure::Model),
    ] {
        let mut result = failed(words);
        result["api_error_status"] = status;
        let reading = read(&[said("a", &text("last words")), told(word), result], &Ended::Exit(1));
        assert_eq!(reading.failure, Some(failure), "{word} {words}");
        assert_eq!((reading.text.as_str(), reading.error.as_deref()), ("last words", Some(words)));
    }
}

#[test]
fn a_lost_session_is_told_only_where_one_was_to_be_continued() {
    let words = "No conversation found with session ID: 1";
    let line = json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "session_id": "1",
        "errors": [words]})
    .to_string();
    for continued in [true, false] {
        let end = End { continued, ..end(&Ended::Exit(1)) };
        let reading = read_as("claude", line.as_bytes(), &end).0;
        assert_eq!((reading.session_lost, reading.session.is_none()), (continued, continued));
        assert_eq!(reading.error.as_deref(), Some(words));
    }
}

#[test]
fn live_text_comes_in_pieces_and_once() {
    let piece = |parent: &Value, words: &str| {
        json!({"type": "stream_event", "parent_tool_use_id": parent,
        "event": {"type": "content_block_delta", "delta": {"type": "text_delta", "text": words}}})
    };
    let quoted = json!({"type": "stream_event", "event": {"type": "content_block_delta", "delta":
        {"type": "input_json_delta", "partial_json": "{\"x\":\"\\\"text_delta\\\",\\\"text\\\":\\\"no\\\"\"}"}}});
    let lines = [
        piece(&Value::Null, "plain"),
        piece(&json!("t"), "below"),
        piece(&Value::Null, "a \"quote\" \u{1b}[31mred\nü"),
        quoted,
        said("a", &text("plain a")),
        said("a", &tool("Bash", &json!({"description": "d", "command": "ls"}))),
    ];
    // As the program writes it, and as some other writer of JSON might.
    let tight: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let tight =
        tight.replace("{\"text\":\"plain\",\"type\":\"text_delta\"}", "{\"type\":\"text_delta\",\"text\":\"plain\"}");
    let wide = tight.replace("\"type\":", "\"type\": ");
    for lines in [tight, wide] {
        let live = read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0))).1;
        let text = |words: &str| Live::Text(words.to_owned());
        let shown = [text("plain"), text("a \"quote\" red\nü"), Live::Tool("Bash".to_owned(), "ls".to_owned())];
        assert_eq!(live, shown, "{lines}");
    }
}

/// A line with its fields in the order of the real program, which is read by another way than others.
fn in_order(content: &Value, parent: &Value, more: &str) -> String {
    let head = "{\"type\":\"assistant\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"c\",\"content\":";
    let content =
        content.to_string().replace("{\"text\":", "{\"type\":\"text\",\"text\":").replace(",\"type\":\"text\"}", "}");
    let content = content.replace(
        "{\"id\":\"t\",\"input\":{\"command\":\"ls\"},\"name\":\"Bash\",\"type\":\"tool_use\"}",
        "{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{\"command\":\"ls\"}}",
    );
    format!("{head}{content},\"stop_reason\":null{more}}},\"parent_tool_use_id\":{parent}}}\n")
}

#[test]
fn a_line_that_is_cut_reads_like_one_that_is_parsed() {
    let call = tool("Bash", &json!({"command": "ls"}));
    let both = json!([call[0], {"type": "text", "text": "after"}]);
    for content in [text("plain"), text("a \"quoted\" \\ line\nü"), text(""), call.clone(), both] {
        for (parent, more) in [(Value::Null, ""), (json!("t"), ""), (Value::Null, ",\"error\":\"unknown\"")] {
            let cut = in_order(&content, &parent, more);
            let parsed = cut.replacen("{\"type\":\"assistant\",", "{ \"type\":\"assistant\",", 1);
            assert_ne!(cut, parsed);
            let (cut, parsed) = (cut + &success("").to_string(), parsed + &success("").to_string());
            let read = |lines: &str| read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0)));
            assert_eq!(read(&cut), read(&parsed), "{cut}");
            assert_eq!(read(&cut).0.malformed_lines, 0, "{cut}");
        }
    }
    let lines =
        in_order(&tool("Bash", &json!({"command": "ls"})), &Value::Null, "") + &in_order(&text("x"), &Value::Null, "");
    let (reading, live) = read_as("claude", lines.as_bytes(), &end(&Ended::Exit(0)));
    assert_eq!((reading.text.as_str(), reading.tool_calls), ("x", Some(1)));
    assert_eq!(live, [Live::Tool("Bash".to_owned(), "ls".to_owned()), Live::Text("x".to_owned())]);
}

fn qwen(words: &str, tokens: u64) -> Reading {
    let message = json!({"type": "assistant", "message":
        {"id": "a", "content": [{"type": "text", "text": words}], "usage": {"input_tokens": tokens, "output_tokens": 0}}});
    let lines = format!("{message}\n{}\n", success(words));
    read_as("qwen", lines.as_bytes(), &end(&Ended::Exit(0))).0
}

#[test]
fn what_qwen_passes_off_as_its_models_words_is_an_error() {
    for (words, failure) in [
        ("[API Error: 401 Incorrect API key provided]", Failure::Auth),
        ("[API Error: 403 You are not allowed to sample]", Failure::Auth),
        ("[API Error: 429 Rate limit reached.]\nPlease wait and try again later.", Failure::RateLimit),
        ("[API Error: 429 You exceeded your current quota, check your plan and billing details.]", Failure::Billing),
        ("[API Error: 500 The server had an error]", Failure::Overload),
        ("[API Error: 400 Your input exceeds the context window of this model.]", Failure::Context),
        ("[API Error: Connection error. (cause: fetch failed)]", Failure::Network),
    ] {
        let reading = qwen(words, 0);
        assert_eq!((reading.terminal, reading.failure), (Terminal::Error, Some(failure)), "{words}");
        assert_eq!((reading.text.as_str(), reading.error.as_deref()), ("", Some(words)));
        // The model was paid for these words, so they are its own.
        let spoken = qwen(words, 5);
        assert_eq!((spoken.terminal, spoken.failure, spoken.text.as_str()), (Terminal::Success, None, words));
    }
}

/// CLI-D1: 2.1.197 tells what this run used, 2.1.326 what the session used.
#[test]
fn what_a_claude_session_had_used_before_is_not_counted_again_in_either_version() {
    let result = |told: u64, run: u64, dollars: f64| {
        let models = json!({"m": {"inputTokens": told, "outputTokens": told / 10, "cacheReadInputTokens": told / 2}});
        json!({"type": "result", "subtype": "success", "is_error": false, "result": "", "total_cost_usd": dollars,
            "modelUsage": models,
            "usage": {"input_tokens": run, "output_tokens": run / 10, "cache_read_input_tokens": run / 2}})
    };
    let used = Usage {
        input_tokens: Some(2000),
        output_tokens: Some(200),
        cache_read_tokens: Some(1000),
        cost_micros: Some(10_000),
        ..Usage::default()
    };
    let cases = [
        ("the sum of the session", result(5000, 3000, 0.025), (3000, 300, 1500, 15_000)),
        ("this run alone", result(3000, 3000, 0.015), (3000, 300, 1500, 15_000)),
        ("this run alone, with a sub-agent", result(4000, 3000, 0.02), (4000, 400, 2000, 20_000)),
        ("this run alone, cheaper than the one before", result(1000, 1000, 0.005), (1000, 100, 500, 5_000)),
        ("refused, with the sum of the session", result(2000, 0, 0.01), (0, 0, 0, 0)),
    ];
    for (what, line, expected) in cases {
        let mut stream = Stream::new((adapter("claude").unwrap().reader)(Begin { used }));
        stream.push(format!("{line}\n").as_bytes());
        let now = stream.end(&end(&Ended::Exit(0))).usage;
        let counted = [now.input_tokens, now.output_tokens, now.cache_read_tokens, now.cost_micros]
            .map(Option::unwrap_or_default);
        assert_eq!(counted, <[u64; 4]>::from(expected), "{what}");
    }
}

#[test]
fn what_a_qwen_session_had_used_before_is_not_counted_again() {
    let used = Usage { input_tokens: Some(50), output_tokens: Some(40), ..Usage::default() };
    let mut stream = Stream::new((adapter("qwen").unwrap().reader)(Begin { used }));
    let mut result = success("ok");
    result["usage"] = json!({"input_tokens": 400.0, "output_tokens": 80, "cache_read_input_tokens": 100});
    result["num_turns"] = json!(1);
    stream.push(format!("{result}\n").as_bytes());
    let usage = stream.end(&end(&Ended::Exit(0))).usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(250), Some(40)));
    assert_eq!((usage.cache_read_tokens, usage.cost_micros, usage.turns), (Some(100), None, Some(1)));
}

fn call(agent: &str, permissions: Permissions) -> AgentCommand {
    let adapter = adapter(agent).unwrap();
    let ambient = BTreeMap::new();
    let args = ["--own".to_owned(), "word".to_owned()];
    (adapter.call)(&AttemptSpec {
        program: adapter.program,
        harness: "/bin/loop",
        workspace: "/ws",
        folder: "/attempt",
        prompt_file: "/attempt/prompt.md",
        system: "THE SYSTEM",
        system_file: "/attempt/system.md",
        session: Some("the-session"),
        permissions,
        network: false,
        model: Some("the-model"),
        effort: None,
        args: &args,
        root: false,
        budget: Some(1_002_000),
        ambient: &ambient,
    })
}

// req: C-18
#[test]
fn claude_is_called_with_what_each_mode_allows() {
    for (permissions, words) in [
        (
            Permissions::Edit,
            "--permission-mode acceptEdits --allowedTools Glob,Grep --disallowedTools Bash(**),EnterWorktree",
        ),
        (Permissions::Work, "--permission-mode acceptEdits --allowedTools Bash --disallowedTools EnterWorktree"),
        (Permissions::All, "--dangerously-skip-permissions --disallowedTools EnterWorktree"),
    ] {
        let call = call("claude", permissions);
        let rest = "--output-format stream-json --verbose --include-partial-messages \
            --append-system-prompt-file /attempt/system.md --resume the-session --model the-model \
            --max-budget-usd 1.002000 --own word";
        assert_eq!(call.argv.join(" "), format!("claude -p {words} {rest}"));
        assert_eq!((call.stdin, call.files.len()), (Stdin::Prompt, 0));
        assert!(call.env.contains(&("CLAUDE_CODE_MAX_RETRIES".to_owned(), "0".to_owned())));
        assert!(call.without.contains(&"CLAUDECODE".to_owned()));
    }
}

// req: C-18 partly: qwen
#[test]
fn qwen_is_called_with_what_each_mode_allows() {
    for (permissions, words) in [
        (Permissions::Edit, "--approval-mode auto-edit"),
        (Permissions::Work, "--approval-mode auto-edit --allowed-tools run_shell_command"),
        (Permissions::All, "--approval-mode yolo"),
    ] {
        let call = call("qwen", permissions);
        let rest =
            "--output-format stream-json --include-partial-messages --resume the-session --model the-model --own word";
        assert_eq!(call.argv.join(" "), format!("qwen {words} {rest}"));
        let (file, settings) = &call.files[0];
        assert!(call.env.contains(&("QWEN_CODE_SYSTEM_DEFAULTS_PATH".to_owned(), file.clone())));
        let settings: Value = serde_json::from_str(settings).unwrap();
        assert_eq!(settings["model"]["generationConfig"]["maxRetries"], 0);
    }
}

#[test]
fn no_bytes_whatever_make_the_reader_stop() {
    let line = said("a", &text("\u{1b}[1m ü\n")).to_string();
    for agent in ["claude", "qwen"] {
        for at in 0..line.len() {
            for byte in [0, b'"', b'{', b'\\', b'}', 0xff] {
                let mut bytes = line.clone().into_bytes();
                bytes[at] = byte;
                read_as(agent, &bytes, &end(&Ended::Exit(0)));
            }
        }
    }
}
