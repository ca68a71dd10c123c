//! How Gemini CLI is called and understood, where no recording shows it.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use loop_core::agent::{
    AgentCommand, AttemptSpec, Begin, End, Failure, Live, Permissions, Reading, ResetSource, Stdin, Stream, Terminal,
    adapter,
};
use loop_core::run::Ended;

pub(crate) const NOW_MS: u64 = 1_794_769_200_000;

static AMBIENT: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| BTreeMap::from([("HOME".to_owned(), "/h".to_owned())]));

/// The call of an agent, with what matters here to be changed.
pub(crate) fn called<'a>(agent: &'a str, change: impl FnOnce(&mut AttemptSpec<'a>)) -> AgentCommand {
    let mut ask = AttemptSpec {
        program: agent,
        harness: "loop",
        workspace: "/work",
        folder: "/state/attempt-1",
        prompt_file: "/state/attempt-1/prompt.md",
        system: "",
        system_file: "/state/attempt-1/system.md",
        session: None,
        permissions: Permissions::Work,
        network: false,
        model: None,
        effort: None,
        args: &[],
        root: false,
        budget: None,
        ambient: &AMBIENT,
    };
    change(&mut ask);
    (adapter(agent).unwrap().call)(&ask)
}

/// What is read of these bytes.
pub(crate) fn read(agent: &str, stdout: &str, stderr: &str, ended: &Ended) -> (Reading, Vec<Live>) {
    let mut stream = Stream::new((adapter(agent).unwrap().reader)(Begin::default()));
    let live = stream.push(stdout.as_bytes());
    let end = End { ended, stderr: stderr.as_bytes(), asked: "", now_ms: NOW_MS, utc_offset_s: 0, continued: false };
    (stream.end(&end), live)
}

fn gemini(lines: &[&str], ended: &Ended) -> Reading {
    read("gemini", &lines.join("\n"), "", ended).0
}

const INIT: &str = r#"{"type":"init","session_id":"s-1","model":"gemini-3"}"#;
const WELL: &str = r#"{"type":"result","status":"success","stats":{}}"#;

/// A failed run with this message.
fn failed(message: &str, code: i32) -> Reading {
    let result =
        serde_json::json!({"type": "result", "status": "error", "error": {"type": "unknown", "message": message}});
    gemini(&[INIT, &result.to_string()], &Ended::Exit(code))
}

fn has(call: &AgentCommand, words: &[&str]) -> bool {
    call.argv.windows(words.len()).any(|window| window == words)
}

#[test]
fn the_prompt_comes_by_stdin_and_the_session_by_its_id() {
    let args = ["--include-directories".to_owned(), "/data".to_owned()];
    let call = called("gemini", |ask| {
        (ask.session, ask.model, ask.args) = (Some("s-1"), Some("gemini-3"), &args);
    });
    assert_eq!(call.stdin, Stdin::Prompt);
    assert!(has(&call, &["--resume", "s-1"]) && has(&call, &["--model", "gemini-3"]), "{:?}", call.argv);
    assert!(has(&call, &["--output-format", "stream-json"]));
    assert!(call.argv.ends_with(&args), "{:?}", call.argv);
    assert!(call.env.contains(&("GEMINI_CLI_NO_RELAUNCH".to_owned(), "true".to_owned())));
}

// req: C-18 partly: what each permission means to gemini
#[test]
fn work_allows_the_shell_below_every_rule_of_the_users_and_edit_refuses_it_above_them() {
    let file = "/state/attempt-1/gemini-policy.toml";
    let work = called("gemini", |_| {});
    assert!(has(&work, &["--policy", file, "--policy", "/h/.gemini/policies"]), "{:?}", work.argv);
    assert!(has(&work, &["--approval-mode", "auto_edit"]));
    let (path, policy) = &work.files[0];
    assert!(path == file && policy.contains("decision = \"allow\"\npriority = 0\n"), "{policy}");

    let edit = called("gemini", |ask| ask.permissions = Permissions::Edit);
    assert!(has(&edit, &["--approval-mode", "auto_edit"]));
    assert!(edit.files[0].1.contains("decision = \"deny\"\npriority = 999\n"), "{}", edit.files[0].1);

    let all = called("gemini", |ask| ask.permissions = Permissions::All);
    assert!(has(&all, &["--approval-mode", "yolo"]) && all.files.is_empty());
}

#[test]
fn a_mode_among_the_users_own_arguments_stands_instead_of_ours() {
    let args = ["--yolo".to_owned()];
    let call = called("gemini", |ask| ask.args = &args);
    assert!(!call.argv.iter().any(|arg| arg == "--approval-mode"), "{:?}", call.argv);
}

#[test]
fn silent_retries_are_taken_away_where_gemini_reads_settings_of_ours_and_the_users_variable_stays() {
    let name = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
    let root = called("gemini", |ask| ask.root = true);
    assert!(root.env.iter().any(|(variable, _)| variable == name));
    let settings: serde_json::Value = serde_json::from_str(&root.files[1].1).unwrap();
    assert_eq!(settings["general"]["maxAttempts"], 1);
    assert!(settings.get("security").is_none());

    let key = [("GEMINI_API_KEY", "k"), ("GOOGLE_GEMINI_BASE_URL", "http://localhost:1")];
    let ambient: BTreeMap<String, String> = key.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let keyed = called("gemini", |ask| (ask.root, ask.ambient) = (true, &ambient));
    assert!(keyed.files[1].1.contains("gemini-api-key"));

    let own = BTreeMap::from([(name.to_owned(), "/etc/mine.json".to_owned())]);
    let kept = called("gemini", |ask| (ask.root, ask.ambient) = (true, &own));
    assert!(kept.files.len() == 1 && !kept.env.iter().any(|(variable, _)| variable == name));
    assert_eq!(called("gemini", |_| {}).files.len(), 1);
}

#[test]
fn only_what_the_agent_says_after_its_last_tool_is_its_message() {
    let reading = gemini(
        &[
            INIT,
            r#"{"type":"message","role":"user","content":"echo: ask"}"#,
            r#"{"type":"message","role":"assistant","content":"before ","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"read_file","tool_id":"t1","parameters":{"file_path":"a"}}"#,
            r#"{"type":"tool_result","tool_id":"t1","status":"success","output":"shown"}"#,
            r#"{"type":"message","role":"assistant","content":[{"text":"musing","thought":true},{"text":"do"}],"delta":true}"#,
            r#"{"type":"message","role":"assistant","parent_tool_id":"t1","content":"sub","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"ne","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"done"}"#,
            r#"{"type":"novelty"}"#,
            r#"{"type":"result","status":"success","stats":{"input_tokens":30.0,"cached":10,"output_tokens":5,"tool_calls":1}}"#,
        ],
        &Ended::Exit(0),
    );
    assert_eq!((reading.text.as_str(), reading.terminal, reading.failure), ("done", Terminal::Success, None));
    assert_eq!((reading.usage.input_tokens, reading.usage.cache_read_tokens), (Some(20), Some(10)));
    assert_eq!((reading.tool_calls, reading.unknown_lines), (Some(1), 1));
}

#[test]
fn a_last_event_that_cannot_be_read_is_an_error_and_a_later_good_one_is_not() {
    let torn = r#"{"type":"result","status":"succ"#;
    let reading = gemini(&[INIT, torn], &Ended::Exit(0));
    assert_eq!((reading.terminal, reading.failure), (Terminal::Malformed, Some(Failure::Crash)));
    assert_eq!(reading.malformed_lines, 1);
    assert_eq!(gemini(&[INIT, torn, WELL], &Ended::Exit(0)).failure, None);

    let long = format!(r#"{{"type": "result","status":"success","x":"{}"}}"#, "y".repeat(11 * 1024 * 1024));
    assert_eq!(gemini(&[INIT, &long], &Ended::Exit(0)).terminal, Terminal::Malformed);
}

#[test]
fn exit_0_without_a_last_event_is_a_crash_unless_we_ended_it() {
    let said = r#"{"type":"message","role":"assistant","content":"quota and 429 are words","delta":true}"#;
    let crash = gemini(&[INIT, said], &Ended::Exit(0));
    assert_eq!((crash.terminal, crash.failure), (Terminal::Missing, Some(Failure::Crash)));
    assert_eq!(gemini(&[INIT, said], &Ended::ByUs).failure, None);
    assert_eq!(gemini(&[INIT, said, WELL], &Ended::Exit(0)).failure, None);
    assert_eq!(gemini(&[INIT, WELL], &Ended::Exit(1)).failure, Some(Failure::Crash));
    assert_eq!(gemini(&[], &Ended::Exit(0)).failure, Some(Failure::Crash));
}

#[test]
fn a_loop_that_gemini_itself_broke_off_is_told_and_is_no_failure() {
    let told = r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#;
    let lines = [INIT, told, WELL].join("\n");
    let (reading, live) = read("gemini", &lines, "", &Ended::Exit(0));
    assert_eq!((reading.terminal, reading.failure), (Terminal::Success, None));
    assert_eq!(reading.error.as_deref(), Some("Loop detected, stopping execution"));
    assert_eq!(live, [Live::Note("Loop detected, stopping execution".to_owned())]);
}

#[test]
fn what_its_policy_refused_is_counted_with_the_first_command() {
    let refused = |id: &str, kind: &str| {
        format!(
            r#"{{"type":"tool_result","tool_id":"{id}","status":"error","error":{{"type":"{kind}","message":"no"}}}}"#
        )
    };
    let uses = |id: &str, tool: &str, command: &str| {
        format!(r#"{{"type":"tool_use","tool_name":"{tool}","tool_id":"{id}","parameters":{{"command":"{command}"}}}}"#)
    };
    let lines = [
        INIT.to_owned(),
        uses("t0", "no_such_tool", "x"),
        refused("t0", "tool_not_registered"),
        uses("t1", "run_shell_command", "sh run_tests.sh"),
        refused("t1", "policy_violation"),
        uses("t2", "run_shell_command", "make"),
        refused("t2", "tool_not_registered"),
        uses("t3", "run_shell_command", "false"),
        refused("t3", "shell_execute_error"),
        WELL.to_owned(),
    ];
    let reading = gemini(&lines.each_ref().map(String::as_str), &Ended::Exit(0));
    assert_eq!((reading.denials.count, reading.denials.first.as_deref()), (2, Some("sh run_tests.sh")));
}

#[test]
fn a_question_by_its_tool_is_a_question() {
    let asks = r#"{"type":"tool_use","tool_name":"ask_user","tool_id":"t","parameters":{"questions":[{"question":"Which?"}]}}"#;
    assert_eq!(gemini(&[INIT, asks, WELL], &Ended::Exit(0)).question.as_deref(), Some("Which?"));
}

// req: C-14 partly: gemini's quota kinds
#[test]
fn a_quota_of_the_minute_has_a_reset_and_one_of_the_day_has_none() {
    let body = |quota: &str| {
        format!(
            r#"[API Error: {{"error":{{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED","details":[{{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{{"quotaId":"{quota}"}}]}},{{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"12.5s"}}]}}}}]"#
        )
    };
    let minute = failed(&body("GenerateRequestsPerMinutePerProject"), 173);
    let reset = minute.reset.unwrap();
    assert_eq!((reset.at_ms - NOW_MS, reset.source), (12_500, ResetSource::Provider));
    let day = failed(&body("GenerateRequestsPerDayPerProject"), 173);
    assert_eq!((day.failure, day.reset), (Some(Failure::RateLimit), None));

    for (words, wait) in [
        ("Please retry in 1h2m3.5s.", 3_723_500),
        ("Please retry in 941.5ms.", 941),
        ("Your quota will reset after 18h33m10s.", 66_790_000),
        ("rate limit, try again in 20 seconds.", 20_000),
    ] {
        let reading = failed(words, 173);
        assert_eq!(reading.failure, Some(Failure::RateLimit), "{words}");
        assert_eq!(reading.reset.map(|reset| reset.at_ms - NOW_MS), Some(wait), "{words}");
    }
    assert_eq!(failed("Please retry in a while", 173).reset, None);
}

#[test]
fn the_exit_code_is_the_providers_status() {
    for (code, class) in [
        (145, Failure::Auth),
        (147, Failure::Auth),
        (173, Failure::RateLimit),
        (244, Failure::Overload),
        (247, Failure::Overload),
        (144, Failure::Crash),
        (1, Failure::Crash),
        (53, Failure::Crash),
    ] {
        assert_eq!(failed("something", code).failure, Some(class), "{code}");
    }
    assert_eq!(failed("finished because of PROHIBITED_CONTENT", 144).failure, Some(Failure::Refusal));
    assert_eq!(gemini(&[], &Ended::Exit(41)).failure, Some(Failure::Auth));
}

#[test]
fn one_that_begins_to_wait_by_itself_is_seen_in_both_of_its_wordings() {
    // CLI-D6
    for (stderr, waits) in [
        ("Attempt 1 failed with status 500. Retrying with backoff...\n", true),
        ("Attempt 1 failed: You exceeded your current quota. Retrying after 5859ms...\n", true),
        ("Loaded cached credentials.\n", false),
    ] {
        let mut stream = Stream::new((adapter("gemini").unwrap().reader)(Begin::default()));
        stream.push(format!("{INIT}\n").as_bytes());
        stream.stderr(stderr.as_bytes());
        assert_eq!(stream.is_retrying(), waits, "{stderr}");
    }
}

#[test]
fn what_is_written_to_stderr_between_the_words_of_a_model_is_shown_for_some_agents_only() {
    // CLI-D15d
    for (agent, is_private) in [("cline", true), ("aider", true), ("gemini", false), ("claude", false)] {
        let stream = Stream::new((adapter(agent).unwrap().reader)(Begin::default()));
        assert_eq!(stream.stderr_is_private(), is_private, "{agent}");
    }
}

#[test]
fn one_that_was_ended_while_it_waited_by_itself_tells_what_for() {
    let stderr = "Attempt 1 failed: You exceeded your current quota. Please retry in 2s. Retrying after 5859ms...\n";
    let (reading, _) = read("gemini", INIT, stderr, &Ended::ByUs);
    assert_eq!(reading.failure, Some(Failure::RateLimit));
    // CLI-D6: its other words for the same, after a status that does not say when.
    let stderr_5xx = "Attempt 1 failed with status 500. Retrying with backoff...\n";
    let (reading, _) = read("gemini", INIT, stderr_5xx, &Ended::ByUs);
    assert_eq!(reading.failure, Some(Failure::Overload));
    let worked = [INIT, r#"{"type":"tool_use","tool_name":"glob","tool_id":"t","parameters":{}}"#].join("\n");
    assert_eq!(read("gemini", &worked, stderr, &Ended::ByUs).0.failure, None);
}

#[test]
fn kimi_leaves_the_waiting_to_the_harness_unless_the_user_says_how_often_it_asks() {
    let name = "KIMI_LOOP_MAX_ATTEMPTS_PER_STEP";
    let of =
        |call: &AgentCommand| call.env.iter().find(|(variable, _)| variable == name).map(|(_, value)| value.clone());
    assert_eq!(of(&called("kimi", |_| {})).as_deref(), Some("1"));
    let own = BTreeMap::from([(name.to_owned(), "5".to_owned())]);
    assert_eq!(of(&called("kimi", |ask| ask.ambient = &own)), None);
}
