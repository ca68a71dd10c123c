//! How Cline is called and understood, where no recording shows it.
use std::collections::BTreeMap;

use loop_core::agent::{Failure, Permissions, Reading, Stdin, Terminal};
use loop_core::run::Ended;

use crate::gemini::{called, read};

fn cline(lines: &[&str], ended: &Ended) -> Reading {
    read("cline", &lines.join("\n"), "", ended).0
}

const WELL: &str = r#"{"ts":"t","type":"run_result","finishReason":"completed","iterations":2,"text":"done","usage":{"inputTokens":30,"cacheReadTokens":10,"outputTokens":5,"totalCost":0.5}}"#;

#[test]
fn the_prompt_comes_through_a_pipe_and_no_daemon_stays_behind() {
    let args = ["--thinking".to_owned(), "low".to_owned()];
    let call = called("cline", |ask| (ask.args, ask.model) = (&args, Some("m")));
    assert_eq!(call.argv[..6], ["sh", "-c", "cat | exec \"$@\"", "sh", "cline", "--json"]);
    assert_eq!(call.stdin, Stdin::Prompt);
    assert_eq!(call.argv[6..11], ["--auto-approve", "true", "--model", "m", "Your task:"]);
    assert!(call.argv.ends_with(&args));
    assert!(call.env.contains(&("CLINE_SESSION_BACKEND_MODE".to_owned(), "local".to_owned())));
    assert!(call.files.is_empty());
}

// req: C-18 partly: what edit means to cline
#[test]
fn edit_takes_the_shell_away_or_refuses_everything_where_the_users_settings_are_in_the_way() {
    let edit = called("cline", |ask| ask.permissions = Permissions::Edit);
    let file = "/state/attempt-1/cline-settings.json".to_owned();
    assert!(edit.env.contains(&("CLINE_GLOBAL_SETTINGS_PATH".to_owned(), file)));
    assert!(edit.files[0].1.contains(r#""disabledTools":["run_commands"]"#), "{}", edit.files[0].1);
    assert!(edit.argv.iter().any(|arg| arg == "true"));

    let own = BTreeMap::from([("CLINE_GLOBAL_SETTINGS_PATH".to_owned(), "/mine.json".to_owned())]);
    let refused = called("cline", |ask| (ask.permissions, ask.ambient) = (Permissions::Edit, &own));
    assert!(refused.files.is_empty() && refused.argv.iter().any(|arg| arg == "false"));
}

#[test]
fn the_text_of_a_run_that_failed_is_not_what_the_agent_said() {
    let failed = r#"{"ts":"t","type":"run_result","finishReason":"error","text":"Incorrect API key provided"}"#;
    let error = r#"{"type":"agent_event","event":{"type":"error","error":{"message":"nope"},"errorClass":"auth"}}"#;
    let reading = cline(&[error, failed], &Ended::Exit(1));
    assert_eq!((reading.text.as_str(), reading.terminal), ("", Terminal::Error));
    assert_eq!((reading.failure, reading.error.as_deref()), (Some(Failure::Auth), Some("nope")));
}

#[test]
fn a_whole_run_has_its_message_and_its_usage() {
    let reading = cline(&[WELL], &Ended::Exit(0));
    assert_eq!((reading.text.as_str(), reading.failure), ("done", None));
    let usage = reading.usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cache_read_tokens), (Some(20), Some(5), Some(10)));
    assert_eq!((usage.cost_micros, usage.turns), (Some(500_000), Some(2)));
}

#[test]
fn a_last_event_that_cannot_be_read_or_is_not_there_is_a_crash() {
    let torn = &WELL[..WELL.len() - 9];
    let reading = cline(&[torn], &Ended::Exit(0));
    assert_eq!((reading.terminal, reading.failure), (Terminal::Malformed, Some(Failure::Crash)));
    let start = r#"{"type":"agent_event","event":{"type":"iteration_start"}}"#;
    assert_eq!(cline(&[start], &Ended::Exit(0)).failure, Some(Failure::Crash));
    assert_eq!(cline(&[start], &Ended::ByUs).failure, None);
}

#[test]
fn a_command_that_is_not_on_offer_was_refused_and_a_question_is_a_question() {
    let lines = [
        r#"{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"run_commands","toolCallId":"c1","input":{"commands":["sh run_tests.sh"]}}}"#,
        r#"{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"run_commands","toolCallId":"c1","error":"Tool call run_commands was rejected before execution: AI_NoSuchToolError: Model tried to call unavailable tool"}}"#,
        r#"{"type":"agent_event","event":{"type":"content_start","contentType":"tool","toolName":"ask_question","toolCallId":"c2","input":{"question":"Which?","options":["a","b"]}}}"#,
        WELL,
    ];
    let reading = cline(&lines, &Ended::Exit(0));
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (1, Some("sh run_tests.sh")));
    assert_eq!((reading.question.as_deref(), reading.tool_calls), (Some("Which?"), Some(2)));
}
