//! Copilot and pi: what no recording shows of their streams, and how they are called.
use loop_core::agent::{Failure, Permissions};
use loop_core::run::Ended;
use serde_json::json;

use crate::agent_play::{Played, call, end, read, stream};

fn failure(status: u64, attempt: u64, words: &str) -> String {
    let event = json!({"type": "model.call_failure", "data": {"statusCode": status, "retryAttempt": attempt,
        "errorMessage": json!({"message": words}).to_string()}});
    format!("{event}\n")
}

#[test]
fn copilot_is_ended_when_it_would_wait_by_itself_and_what_it_said_holds() {
    for (status, attempt, class, ends) in [
        (401, 0, Failure::Auth, true),
        (429, 0, Failure::RateLimit, true),
        (500, 0, Failure::Overload, false),
        (500, 1, Failure::Overload, true),
    ] {
        let mut reading = stream("copilot", loop_core::agent::Usage::default());
        reading.push(failure(status, attempt, "no").as_bytes());
        assert_eq!(reading.is_retrying(), ends, "{status} {attempt}");
        let ended = end(reading, &Played { ended: Ended::ByUs, ..Played::default() });
        assert_eq!(ended.failure, Some(class), "{status} {attempt}");
        assert_eq!(ended.usage.cost_micros, Some(0), "a refused call costs nothing");
    }
}

#[test]
fn an_answer_after_a_failed_request_of_copilot_takes_the_failure_back() {
    let said = json!({"type": "assistant.message", "data": {"content": "Done.", "toolRequests": []}});
    let result = json!({"type": "result", "sessionId": "s", "exitCode": 0});
    let text = format!("{}{said}\n{result}\n", failure(500, 0, "no"));
    let reading = read("copilot", &text, &Played::default());
    assert_eq!((reading.failure, reading.text.as_str(), reading.session.as_deref()), (None, "Done.", Some("s")));
}

// req: C-18 partly: copilot, grok and pi
#[test]
fn editing_takes_the_shell_away_and_the_prompt_never_goes_by_an_argument() {
    let words = |agent: &'static str, permissions| call(agent, |ask| ask.permissions = permissions).argv.join(" ");
    assert!(words("copilot", Permissions::Edit).contains("--allow-tool=write --deny-tool=shell"));
    assert!(words("copilot", Permissions::Work).contains("--allow-tool=write --allow-tool=shell"));
    assert!(words("copilot", Permissions::All).contains("--allow-all-tools"));
    assert!(words("grok", Permissions::Edit).contains("--always-approve --deny Bash --disable-web-search"));
    assert!(words("grok", Permissions::Work).contains("--always-approve --disable-web-search"));
    assert!(words("grok", Permissions::Work).contains("--prompt-file /attempt/prompt.md"));
    assert!(words("pi", Permissions::Edit).contains("--tools read,edit,write,grep,find,ls"));
    assert!(!words("pi", Permissions::Work).contains("--tools"));
}

#[test]
fn the_session_of_each_goes_on_by_its_id() {
    let words = |agent: &'static str| call(agent, |ask| ask.session = Some("s1")).argv.join(" ");
    assert!(words("copilot").contains("--resume=s1"));
    assert!(words("grok").contains("--resume s1"));
    assert!(words("pi").contains("--session s1"));
}
