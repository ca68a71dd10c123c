//! The stream of `codex exec --json` 0.166, line by line as recorded in `transcripts/codex`.
use super::Ends;
use super::said::{Call, date, json, now_ms};

const UNAUTHORIZED: &str = "unexpected status 401 Unauthorized: Incorrect API key provided: dummy. You can find your API key at https://platform.openai.com/account/api-keys., url: https://api.openai.com/v1/responses";
const TOO_MANY: &str = "exceeded retry limit, last status: 429 Too Many Requests";
/// It never asks a person; that it would have is only in its log.
const ASKED: &str = "2026-11-16T06:14:21.585342Z ERROR codex_core::tools::router: error=request_user_input is unavailable in Default mode\n";

/// The lines before the work: the thread, a first message, a command.
pub(super) fn begin(call: &Call<'_>) -> Vec<String> {
    let thread = format!(r#"{{"type":"thread.started","thread_id":"{}"}}"#, call.session);
    let mut lines = vec![thread, r#"{"type":"turn.started"}"#.to_owned()];
    match call.turn.ends {
        Ends::Mute => lines.clear(),
        Ends::Limit(_) | Ends::LimitOnly | Ends::Overload | Ends::Auth | Ends::Billing => {}
        Ends::Well
        | Ends::Warned
        | Ends::Costs(_)
        | Ends::Untold
        | Ends::Crashes
        | Ends::Fails(_)
        | Ends::Hangs
        | Ends::Context
        | Ends::Denied(_)
        | Ends::Budget
        | Ends::Asks(_) => {
            lines.push(said(0, "I'll look at the tests first."));
            lines.push(command(call, "item.started", "null", "in_progress"));
        }
    }
    lines
}

/// The lines after the work, what goes to stderr, and the exit code.
pub(super) fn end(call: &Call<'_>) -> (Vec<String>, String, u8) {
    let worked = command(call, "item.completed", "0", "completed");
    match call.turn.ends {
        Ends::Crashes => {
            (vec![worked], "thread 'main' panicked at core/src/codex.rs\nindex out of bounds\n".into(), 101)
        }
        // Codex tells tokens, never a price, and keeps no limit.
        Ends::Mute => (Vec::new(), String::new(), 0),
        Ends::Well | Ends::Warned | Ends::Hangs | Ends::Budget | Ends::Costs(_) => {
            (well(call, worked, true), String::new(), 0)
        }
        Ends::Untold => (well(call, worked, false), String::new(), 0),
        Ends::Denied(command) => {
            let log = format!(
                "2026-11-16T06:14:20.898481Z ERROR codex_core::tools::router: error=exec_command failed: CreateProcess {{ message: \
                 \"Rejected(\\\"`/bin/bash -lc '{command}'` rejected: such commands are not permitted.\\\")\" }}\n"
            );
            (well(call, worked, true), log, 0)
        }
        Ends::Asks(_) => (well(call, worked, true), ASKED.into(), 0),
        Ends::Fails(words) => (failed(vec![worked], &call.fill(words)), String::new(), 1),
        Ends::Context => {
            let words = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.";
            (failed(vec![worked], words), String::new(), 1)
        }
        Ends::Limit(seconds) => (failed(vec![], &limit(seconds)), String::new(), 1),
        Ends::LimitOnly => (failed(vec![retry(TOO_MANY)], TOO_MANY), String::new(), 1),
        Ends::Auth => (failed(vec![retry(UNAUTHORIZED)], UNAUTHORIZED), String::new(), 1),
        Ends::Overload => {
            let words = "We're currently experiencing high demand, which may cause temporary errors.";
            (failed(vec![], words), String::new(), 1)
        }
        Ends::Billing => (failed(vec![], "Quota exceeded. Check your plan and billing details."), String::new(), 1),
    }
}

/// A short limit is one on tokens a minute, a long one that of the plan.
fn limit(seconds: u32) -> String {
    if seconds < 3600 {
        return format!(
            "Rate limit reached for gpt-5.1-codex in organization org-x on tokens per min (TPM): Limit 500000, Used 499000, \
             Requested 3200. Please try again in {seconds}s. Visit https://platform.openai.com/account/rate-limits to learn more."
        );
    }
    let second = now_ms() / 1000 + u64::from(seconds);
    let day = date(second, "+%-d");
    let ending = match day.as_str() {
        "1" | "21" | "31" => "st",
        "2" | "22" => "nd",
        "3" | "23" => "rd",
        _ => "th",
    };
    let (month, rest) = (date(second, "+%b"), date(second, "+%Y %-I:%M %p"));
    format!(
        "You’ve hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit \
         https://chatgpt.com/settings/usage to purchase more credits or try again at {month} {day}{ending}, {rest}."
    )
}

fn retry(why: &str) -> String {
    format!(r#"{{"type":"error","message":{}}}"#, json(&format!("Reconnecting... 1/5 ({why})")))
}

fn command(call: &Call<'_>, kind: &str, code: &str, status: &str) -> String {
    let printed = json(if kind == "item.completed" { call.turn.prints } else { "" });
    let line = json(&format!("/bin/bash -lc '{}'", call.turn.does));
    format!(
        r#"{{"type":"{kind}","item":{{"id":"item_1","type":"command_execution","command":{line},"aggregated_output":{printed},"exit_code":{code},"status":"{status}"}}}}"#
    )
}

fn said(number: u32, words: &str) -> String {
    format!(
        r#"{{"type":"item.completed","item":{{"id":"item_{number}","type":"agent_message","text":{}}}}}"#,
        json(words)
    )
}

fn well(call: &Call<'_>, worked: String, told: bool) -> Vec<String> {
    let usage = r#","usage":{"input_tokens":900,"cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":100,"reasoning_output_tokens":0}"#;
    let usage = if told { usage } else { "" };
    vec![worked, said(2, &call.message()), format!(r#"{{"type":"turn.completed"{usage}}}"#)]
}

fn failed(mut lines: Vec<String>, words: &str) -> Vec<String> {
    let words = json(words);
    lines.push(format!(r#"{{"type":"error","message":{words}}}"#));
    lines.push(format!(r#"{{"type":"turn.failed","error":{{"message":{words}}}}}"#));
    lines
}
