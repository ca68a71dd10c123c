//! What an attempt is said to have used, where its program does not say it or says less than it seems to.
use loop_core::agent::{Failure, Reading, Terminal, Usage};
use loop_core::run::Ended;
use serde_json::json;

use crate::agent_play::{Played, read};

fn codex(lines: &[serde_json::Value]) -> Reading {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    read("codex", &text, &Played { ended: Ended::Exit(1), ..Played::default() })
}

/// CLI-D2: the program reports no usage when it fails.
#[test]
fn a_call_that_the_provider_refused_before_the_model_said_anything_used_nothing() {
    let failed = |words: &str| json!({"type": "turn.failed", "error": {"message": words}});
    let free = Usage { input_tokens: Some(0), output_tokens: Some(0), cost_micros: Some(0), ..Usage::default() };
    for (words, class) in [
        ("unexpected status 401 Unauthorized", Failure::Auth),
        ("You are out of credits", Failure::Billing),
        ("exceeded retry limit, last status: 429 Too Many Requests", Failure::RateLimit),
        ("The model is overloaded", Failure::Overload),
        ("The model `x` does not exist or you do not have access to it.", Failure::Model),
        ("stream disconnected before completion", Failure::Network),
    ] {
        let reading = codex(&[failed(words)]);
        assert_eq!((reading.failure, reading.usage), (Some(class), free), "{words}");
        let said = json!({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": "I begin."}});
        let tool = json!({"type": "item.started", "item": {"id": "t", "type": "command_execution", "command": "ls"}});
        for output in [said, tool] {
            let reading = codex(&[output, failed(words)]);
            assert_eq!((reading.failure, reading.usage), (Some(class), Usage::default()), "{words}");
        }
    }
    let crashed = codex(&[failed("something else")]);
    assert_eq!((crashed.failure, crashed.usage), (Some(Failure::Crash), Usage::default()));
}

/// CLI-D2: gemini reports 0 tokens of a refused call, and never a cost.
#[test]
fn a_refused_call_of_which_no_tokens_are_reported_costs_nothing() {
    let line = json!({"type": "result", "status": "error", "error": {"type": "E", "message": "[API Error: 401]"},
        "stats": {"input_tokens": 0, "output_tokens": 0, "cached": 0, "tool_calls": 0}});
    let played = Played { ended: Ended::Exit(145), ..Played::default() };
    let reading = read("gemini", &format!("{line}\n"), &played);
    assert_eq!((reading.failure, reading.usage.cost_micros), (Some(Failure::Auth), Some(0)));
}

fn opencode(tokens: u64, cost: f64) -> Usage {
    let line = json!({"type": "step_finish", "sessionID": "s", "part": {"type": "step-finish", "reason": "stop",
        "cost": cost, "tokens": {"input": tokens, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}});
    read("opencode", &format!("{line}\n"), &Played::default()).usage
}

/// CLI-D4: it has no price of that model.
#[test]
fn a_cost_of_0_for_tokens_that_were_used_is_not_known() {
    assert_eq!((opencode(500, 0.0).tokens(), opencode(500, 0.0).cost_micros), (Some(500), None));
    assert_eq!(opencode(500, 0.25).cost_micros, Some(250_000));
}

/// CLI-D5: the program ended before its pipe had taken all that it wrote.
#[test]
fn an_end_in_the_middle_of_a_line_is_said_to_be_a_cut() {
    let cut = "{\"type\":\"init\",\"session_id\":\"s\"}\n{\"type\":\"tool_result\",\"output\":\"xxxx";
    let reading = read("gemini", cut, &Played::default());
    assert_eq!((reading.terminal, reading.failure), (Terminal::Missing, Some(Failure::Crash)));
    assert_eq!(reading.error.as_deref(), Some("its output was cut off in the middle of its last line"));
    let whole = "{\"type\":\"init\",\"session_id\":\"s\"}\n";
    assert_eq!(read("gemini", whole, &Played::default()).error, None);
}

/// It shows a tool only when it has ended, so one that was stopped in its first tool is not silent.
#[test]
fn of_an_opencode_that_was_stopped_it_is_not_known_whether_a_tool_was_at_work() {
    let line = json!({"type": "step_start", "sessionID": "s", "part": {"type": "step-start"}});
    let stopped = |ended| read("opencode", &format!("{line}\n"), &Played { ended, ..Played::default() }).tool_calls;
    assert_eq!((stopped(Ended::ByUs), stopped(Ended::Exit(0))), (None, Some(0)));
}
