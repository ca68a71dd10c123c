//! The stream of Claude Code 2.1, line by line as recorded in `transcripts/claude`: its fields stand in its order.
use super::Ends;
use super::said::{Call, date, json, now_ms};

/// The lines before the work: the session, a first message, a call of the shell.
pub(super) fn begin(call: &Call<'_>) -> Vec<String> {
    let session = call.session;
    let init = format!(
        r#"{{"type":"system","subtype":"init","cwd":"/workspace","session_id":"{session}","tools":["Bash","Edit","Read","Write"],"mcp_servers":[],"model":"claude-opus-4-8[1m]","permissionMode":"acceptEdits","apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.197"}}"#
    );
    match call.turn.ends {
        Ends::Mute => Vec::new(),
        Ends::Warned => {
            let reset = now_ms() / 1000 + 3 * 3600;
            let event = format!(
                r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"allowed_warning","resetsAt":{reset},"rateLimitType":"five_hour","utilization":0.91,"isUsingOverage":false}},"session_id":"{session}"}}"#
            );
            vec![init, event]
        }
        // They come before the model has said anything.
        Ends::LimitOnly | Ends::Overload | Ends::Auth | Ends::Billing => vec![init],
        Ends::Limit(seconds) => {
            let (reset, name) = (now_ms() / 1000 + u64::from(seconds), limit_name(seconds));
            let event = format!(
                r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{reset},"rateLimitType":"{name}","overageStatus":"rejected","overageDisabledReason":"org_level_disabled","isUsingOverage":false}},"session_id":"{session}"}}"#
            );
            vec![init, event]
        }
        Ends::Well
        | Ends::Costs(_)
        | Ends::Untold
        | Ends::Crashes
        | Ends::Fails(_)
        | Ends::Hangs
        | Ends::Context
        | Ends::Denied(_)
        | Ends::Budget
        | Ends::Asks(_) => {
            let tool = format!(
                r#"{{"type":"tool_use","id":"toolu_01","name":"Bash","input":{{"command":{},"description":"work on it"}}}}"#,
                json(call.turn.does)
            );
            vec![init, message(call, 1, &text("I'll look at the tests first.")), message(call, 1, &tool)]
        }
    }
}

/// The lines after the work, what goes to stderr, and the exit code.
pub(super) fn end(call: &Call<'_>) -> (Vec<String>, String, u8) {
    let worked = format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"tool_use_id":"toolu_01","type":"tool_result","content":{},"is_error":false}}]}},"parent_tool_use_id":null,"session_id":"{}"}}"#,
        json(if call.turn.prints.is_empty() { "(Bash completed with no output)" } else { call.turn.prints }),
        call.session
    );
    match call.turn.ends {
        Ends::Crashes => {
            (vec![worked], "TypeError: Cannot read properties of undefined (reading 'content')\n".into(), 1)
        }
        Ends::Mute => (Vec::new(), String::new(), 0),
        Ends::Well | Ends::Warned | Ends::Hangs => (well(call, vec![worked], Some(10_000)), String::new(), 0),
        Ends::Costs(micros) => (well(call, vec![worked], Some(micros)), String::new(), 0),
        Ends::Untold => (well(call, vec![worked], None), String::new(), 0),
        Ends::Asks(question) => {
            let asks = format!(
                r#"{{"type":"tool_use","id":"toolu_02","name":"AskUserQuestion","input":{{"questions":[{{"question":{},"header":"Choice","options":[]}}]}}}}"#,
                json(question)
            );
            (well(call, vec![worked, message(call, 2, &asks)], Some(10_000)), String::new(), 0)
        }
        Ends::Denied(command) => {
            let mut lines = well(call, vec![worked], Some(10_000));
            let denied = format!(
                r#""permission_denials":[{{"tool_name":"Bash","tool_use_id":"toolu_01","tool_input":{{"command":{}}}}}]"#,
                json(command)
            );
            if let Some(last) = lines.last_mut() {
                *last = last.replace(r#""permission_denials":[]"#, &denied);
            }
            (lines, String::new(), 0)
        }
        Ends::Budget => {
            let errors = r#""errors":["Reached maximum budget ($2.5)"]"#;
            (vec![worked, result(call, "error_max_budget_usd", true, errors, Some(2_500_000))], String::new(), 1)
        }
        Ends::Fails(words) => {
            let errors = format!(r#""errors":[{}]"#, json(&call.fill(words)));
            (vec![worked, result(call, "error_during_execution", true, &errors, Some(10_000))], String::new(), 1)
        }
        Ends::Limit(_) | Ends::LimitOnly | Ends::Overload | Ends::Auth | Ends::Billing | Ends::Context => {
            let (status, word, words) = provider(call.turn.ends);
            (failed(call, status, word, &words), String::new(), 1)
        }
    }
}

/// The status of the provider's answer, the program's word for it, and its words for people.
fn provider(ends: Ends) -> (&'static str, &'static str, String) {
    let only = |words: &str| words.to_owned();
    match ends {
        Ends::Limit(seconds) => {
            let at = date(now_ms() / 1000 + u64::from(seconds), "+%b %-d, %-I:%M%P");
            let name = limit_name(seconds).replace("five_hour", "session").replace("seven_day", "weekly");
            ("429", "rate_limit", format!("You've hit your {name} limit · resets {at} (UTC)"))
        }
        Ends::LimitOnly => (
            "429",
            "rate_limit",
            only(
                "API Error: Request rejected (429) · This request would exceed your account's rate limit. Please try again later.",
            ),
        ),
        Ends::Overload => (
            "529",
            "server_error",
            only("API Error: 529 Overloaded. This is a server-side issue, usually temporary — try again in a moment."),
        ),
        Ends::Auth => ("401", "authentication_failed", only("Invalid API key · Fix external API key")),
        Ends::Billing => ("400", "billing_error", only("Credit balance is too low")),
        Ends::Context
        | Ends::Well
        | Ends::Costs(_)
        | Ends::Untold
        | Ends::Crashes
        | Ends::Fails(_)
        | Ends::Hangs
        | Ends::Warned
        | Ends::Mute
        | Ends::Denied(_)
        | Ends::Budget
        | Ends::Asks(_) => {
            ("400", "invalid_request", only("Prompt is too long · the request is ~215000 tokens (limit 200000)"))
        }
    }
}

fn limit_name(seconds: u32) -> &'static str {
    if seconds > 5 * 3600 { "seven_day" } else { "five_hour" }
}

fn text(words: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, json(words))
}

fn message(call: &Call<'_>, number: u32, block: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"msg_{}_{number}","type":"message","role":"assistant","model":"claude-opus-4-8","content":[{block}],"stop_reason":null,"stop_sequence":null,"usage":{{"input_tokens":100,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}},"parent_tool_use_id":null,"session_id":"{}"}}"#,
        call.number, call.session
    )
}

fn well(call: &Call<'_>, mut lines: Vec<String>, micros: Option<u32>) -> Vec<String> {
    let said = call.message();
    lines.push(format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{}}}}},"session_id":"{}","parent_tool_use_id":null}}"#,
        json(&said),
        call.session
    ));
    lines.push(message(call, 9, &text(&said)));
    lines.push(result(call, "success", false, &format!(r#""result":{}"#, json(&said)), micros));
    lines
}

/// The last line: subtype, whether in an error; what is said; what it cost, where that is reported.
fn result(call: &Call<'_>, subtype: &str, error: bool, said: &str, micros: Option<u32>) -> String {
    let used = micros.map_or_else(String::new, |micros| {
        let cost = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        format!(
            r#","total_cost_usd":{cost},"usage":{{"input_tokens":900,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":100}},"modelUsage":{{"claude-opus-4-8[1m]":{{"inputTokens":900,"outputTokens":100,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"costUSD":{cost}}}}}"#
        )
    });
    format!(
        r#"{{"type":"result","subtype":"{subtype}","is_error":{error},"api_error_status":null,"duration_ms":742,"duration_api_ms":281,"num_turns":2,{said},"stop_reason":"end_turn","session_id":"{}"{used},"permission_denials":[],"terminal_reason":"completed"}}"#,
        call.session
    )
}

/// An error of the provider's, told as a message that no model wrote.
fn failed(call: &Call<'_>, status: &str, word: &str, words: &str) -> Vec<String> {
    let session = call.session;
    let said = format!(
        r#"{{"type":"assistant","message":{{"id":"0663273e-{}","container":null,"model":"<synthetic>","role":"assistant","stop_details":null,"stop_reason":"stop_sequence","stop_sequence":"","type":"message","usage":{{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}},"content":[{}],"context_management":null}},"parent_tool_use_id":null,"session_id":"{session}","error":"{word}"}}"#,
        call.number,
        text(words)
    );
    let ended = format!(
        r#"{{"type":"result","subtype":"success","is_error":true,"api_error_status":{status},"duration_ms":303,"duration_api_ms":0,"num_turns":1,"result":{},"stop_reason":"stop_sequence","session_id":"{session}","total_cost_usd":0,"usage":{{"input_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}},"modelUsage":{{}},"permission_denials":[],"terminal_reason":"completed"}}"#,
        json(words)
    );
    vec![said, ended]
}
