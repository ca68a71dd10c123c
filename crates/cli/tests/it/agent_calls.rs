//! How a known agent is called, and what its words do to a loop: by a program on the PATH that plays one.
use std::time::{Duration, SystemTime};

use loop_testkit::{Ran, TestEnv, wait_until};
use serde_json::Value;

use crate::user;

/// A `claude` that writes down how it was called, says these lines of its stream, and ends with this code.
fn claude(lines: &str, code: u8) -> TestEnv {
    let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    env.program(
        "claude",
        &format!(
            "[ \"$1\" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit 0; }}\n\
             n=$(cat \"$HOME/calls\" 2>/dev/null | wc -l); echo call >> \"$HOME/calls\"\n\
             for word in \"$@\"; do printf '%s\\n' \"$word\"; done > \"$HOME/argv-$n\"\n\
             env | sort > \"$HOME/env-$n\"; cat > \"$HOME/prompt-$n\"\n{lines}\nexit {code}"
        ),
    );
    env
}

const INIT: &str =
    r#"echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'"#;

fn result(text: &str) -> String {
    format!(
        r#"echo '{{"type":"assistant","message":{{"id":"m1","role":"assistant","content":[{{"type":"text","text":"{text}"}}]}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'
echo '{{"type":"result","subtype":"success","is_error":false,"result":"{text}","num_turns":1,"total_cost_usd":0.25,"usage":{{"input_tokens":10,"output_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2}},"session_id":"5e551017-0000-4000-8000-000000000001"}}'"#
    )
}

fn start<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "-p", "[ -e done ]", "--agent", "claude"];
    words.extend(more);
    words
}

fn rows(env: &TestEnv) -> Vec<Value> {
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    history["iterations"].as_array().unwrap().clone()
}

// req: D-03 partly: a known agent is given the user's own arguments
#[test]
fn model_arguments_variables_and_the_rest_of_the_line_reach_the_agent_and_no_shell() {
    let env =
        claude(&format!("{INIT}\n{}\n: > done", result("fine")), 0).with("PLAIN", "x").with("SSH_AUTH_SOCK", "/s");
    let more = [
        "--agent-model",
        "opus",
        "--agent-args",
        "--one 'two words' \"$HOME\"",
        "--agent-env",
        "PLAIN,MADE=up",
        "--append-system-prompt",
        "Be brief.",
        "--",
        "--last",
        "a b",
    ];
    let ran = env.run(&start(&more)).expect_code(0);
    let argv = env.read("home/argv-0");
    let words: Vec<&str> = argv.lines().collect();
    assert!(words.windows(2).any(|two| two == ["--model", "opus"]), "{argv}");
    assert!(argv.ends_with("--one\ntwo words\n$HOME\n--last\na b\n"), "{argv}");
    assert!(!argv.contains("do it"), "a prompt goes by stdin: {argv}");
    let variables = env.read("home/env-0");
    for passed in ["PLAIN=x\n", "MADE=up\n", "ANTHROPIC_API_KEY=", "LOOP_ITERATION=1\n", "CLAUDE_CODE_MAX_RETRIES="] {
        assert!(variables.contains(passed), "{passed}: {variables}");
    }
    assert!(!variables.contains("SSH_AUTH_SOCK"), "{variables}");
    assert!(env.read("home/prompt-0").contains("do it"));
    assert!(ran.err().contains("1 variable not passed: loop agents claude"), "{}", ran.text());
    let row = &rows(&env)[0];
    assert_eq!(row["usage"]["cost_usd"], 0.25, "{row:#}");
    assert_eq!((&row["usage"]["input_tokens"], &row["usage"]["cache_read_tokens"]), (&10.into(), &3.into()), "{row:#}");
    assert!(ran.out().contains("$0.2500"), "{}", ran.text());
}

#[test]
fn a_declared_secret_stands_in_no_file_that_we_write() {
    let say = result("the key is '\"$ANTHROPIC_API_KEY$TOKEN\"'");
    let env =
        claude(&format!("{INIT}\n{say}\necho \"$TOKEN\" >&2\n: > done"), 0).with("TOKEN", "correct-horse-battery");
    let more = ["--secrets", "TOKEN", "--agent-env", "TOKEN", "-v"];
    let words = [
        &["start", "never say correct-horse-battery", "-p", "echo $TOKEN; [ -e done ]", "--agent", "claude"],
        &more[..],
    ]
    .concat();
    env.run(&words).expect_code(0);
    let told: Vec<String> = env
        .tree("home/.local/state/loop")
        .into_iter()
        .filter(|path| {
            let bytes = std::fs::read(env.root().join("home/.local/state/loop").join(path)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            text.contains("correct-horse-battery") || text.contains("sk-very-secret-key")
        })
        .collect();
    assert_eq!(told, Vec::<String>::new(), "a secret is written down");
    let refused = env.run(&start(&["--secrets", "TOKEN", "--agent-env", "TOKEN=abcdefgh"])).expect_code(4);
    assert!(refused.err().contains("must not stand on the command line"), "{}", refused.text());
}

/// A `claude` that meets a limit at its first call, which lasts so long, and is done at its second.
fn limited(lasts: Duration) -> (TestEnv, u64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let reset = (now + lasts).as_secs();
    let hit = format!(
        r#"echo '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":{reset},"rateLimitType":"five_hour"}}}}'
echo '{{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your session limit","num_turns":1,"total_cost_usd":0,"session_id":"5e551017-0000-4000-8000-000000000001"}}'
exit 1"#
    );
    let env = claude(&format!("{INIT}\nif [ $n = 0 ]; then\n{hit}\nfi\n{}\n: > done", result("fine")), 0);
    (env, reset)
}

/// What `loop status --json` says it waits for.
fn waiting(env: &TestEnv) -> Value {
    let all = env.run(&["status", "--json"]).json();
    all["loops"][0]["waiting"].clone()
}

// req: C-15 partly: a provider's limit is shown with its end
#[test]
fn a_wait_is_seen_from_outside_and_cut_short_by_a_request() {
    let (env, reset) = limited(Duration::from_secs(3600));
    let running = env.begin(&start(&[]));
    env.wait_for_fact("\"limit\"");
    wait_until("it waits", || !waiting(&env).is_null());
    let wait = waiting(&env);
    assert_eq!(wait["source"], "provider", "{wait}");
    assert!(wait["why"].as_str().unwrap().contains("limit"), "{wait}");
    let until: u64 = jiff_seconds(wait["until"].as_str().unwrap());
    assert!((reset..=reset + 60).contains(&until), "{wait} for {reset}");
    assert_eq!(env.run(&["status", "--json"]).json()["loops"][0]["status"], "waiting");
    assert_eq!(env.read("home/calls"), "call\n", "nobody called meanwhile");
    env.run(&["resume", &env.id()]).expect_code(0);
    let ran: Ran = running.end().expect_code(0);
    let rows = rows(&env);
    assert_eq!(rows.len(), 1, "{rows:#?}");
    assert_eq!(rows[0]["attempts"][0]["failure"], "rate_limit", "{rows:#?}");
    assert!(rows[0]["attempts"][0]["reset_at"].is_string(), "{rows:#?}");
    let argv = env.read("home/argv-1");
    assert!(!argv.contains("--resume"), "the model had said nothing, so a new conversation begins: {argv}");
    assert!(ran.err().contains("waits until"), "{}", ran.text());
}

fn jiff_seconds(text: &str) -> u64 {
    let out = std::process::Command::new("date").args(["-u", "-d", text, "+%s"]).output().unwrap();
    String::from_utf8(out.stdout).unwrap().trim().parse().unwrap()
}

#[test]
fn a_wait_outlives_the_harness_and_its_end_is_the_same() {
    let (env, reset) = limited(Duration::from_secs(12));
    let running = env.begin(&start(&[]));
    env.wait_for_fact("\"limit\"");
    env.kill_all_of_ours(&env.id(), running);
    let ran = env.run(&["resume", &env.id()]).expect_code(0);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    assert!(now >= reset, "it came back before the provider's reset: {}", ran.text());
    assert_eq!(env.read("home/calls"), "call\ncall\n");
}

#[test]
fn a_stream_without_its_end_is_a_crash_and_what_was_said_is_kept() {
    // req: C-24 partly: a stream without a result
    let env = claude(&format!("{INIT}\necho '{{broken'\necho '{{\"type\":\"news\"}}'"), 0);
    let ran = env.run(&start(&["-n", "9"])).expect_code(3);
    let rows = rows(&env);
    assert_eq!(rows.len(), 3, "three in a row that changed nothing: {rows:#?}");
    assert_eq!((&rows[0]["failure"], &rows[0]["malformed_lines"]), (&"crash".into(), &1.into()), "{rows:#?}");
    assert!(ran.out().contains("the agent failed 3 times in a row"), "{}", ran.text());
}

// req: D-03 partly: agents that a user describes
#[test]
fn an_agent_that_the_user_describes_is_driven_and_a_later_change_of_the_file_changes_nothing() {
    let env = user();
    env.program("mine", &format!("cat > \"$HOME/got\"; echo \"$@\" >> \"$HOME/mine\"\n{INIT}\n{}", result("fine")));
    let describe = |word: &str| {
        format!(
            "[agents.mine]\ncommand = [\"mine\", \"{word}\"]\noutput = \"claude-stream\"\nsession = [\"--again\", \"{{session}}\"]\n"
        )
    };
    env.write("home/.config/loop/config.toml", &describe("first"));
    env.run(&["start", "do it", "-p", "false", "--agent", "mine", "-n", "1", "--session", "continue"]).expect_code(1);
    env.write("home/.config/loop/config.toml", &describe("second"));
    env.run(&["resume", &env.id(), "-n", "+1"]).expect_code(1);
    let calls = env.read("home/mine");
    assert_eq!(calls, "first\nfirst --again 5e551017-0000-4000-8000-000000000001\n");
    assert_eq!(rows(&env)[0]["session"], "5e551017-0000-4000-8000-000000000001");
}

#[test]
fn what_an_agent_may_not_be_asked_for_is_refused_before_anything_is_made() {
    let env = claude("", 0);
    let refused = |more: &[&str], words: &str| {
        let ran = env.run(&start(more)).expect_code(4);
        assert!(ran.err().contains(words), "{}", ran.text());
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    };
    refused(&["--agent-args", "it's"], "cannot be split into words");
    refused(&["--agent-env", "A B"], "--agent-env cannot be read");
    if loop_host::paths::is_root() {
        refused(&["--permissions", "all"], "as root");
    }
    let ran = env.run(&["start", "x", "-p", "true", "--agent", "cluade"]).expect_code(4);
    assert!(ran.err().contains("did you mean claude?"), "{}", ran.text());
    assert_eq!(env.tree("home/.local/state/loop/runs"), Vec::<String>::new());
    env.write("work/loop.toml", "permissions = \"all\"\n");
    let ran = env.run(&start(&[])).expect_code(4);
    assert!(ran.err().contains("permissions"), "{}", ran.text());
}

#[test]
fn a_question_parks_the_loop_until_somebody_answers() {
    let ask = r#"echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"AskUserQuestion","input":{"questions":[{"question":"Which colour?"}]}}]}}'"#;
    let env = claude(&format!("{INIT}\nif [ $n = 0 ]; then {ask}; else : > done; fi\n{}", result("fine")), 0);
    let running = env.begin(&start(&["--on-question", "park"]));
    env.wait_for_fact("\"question\"");
    wait_until("it is parked", || env.run(&["status", "--json"]).json()["loops"][0]["status"] == "paused");
    let why = env.run(&["status", "--json"]).json()["loops"][0]["why"].clone();
    assert!(why.as_str().unwrap().contains("Which colour?"), "{why}");
    env.run(&["inject", &env.id(), "Blue."]).expect_code(0);
    env.run(&["resume", &env.id()]).expect_code(0);
    running.end().expect_code(0);
    assert!(env.read("home/prompt-1").contains("Blue."), "{}", env.read("home/prompt-1"));
    assert_eq!(rows(&env)[0]["failure"], "question");
}

#[test]
fn what_would_be_dropped_without_a_word_or_written_down_is_refused() {
    let env = claude("", 0).with("TOKEN", "correct-horse-battery");
    let refused = |words: &[&str], what: &str| {
        let ran = env.run(words).expect_code(4);
        assert!(ran.err().contains(what) && ran.err().contains("hint: "), "{}", ran.text());
    };
    refused(
        &["start", "x", "-p", "true", "--agent-cmd", "true", "--agent-model", "m"],
        "does not reach the agent custom",
    );
    refused(&start(&["--agent-cmd", "true"]), "name two agents");
    let more = ["--secrets", "TOKEN", "--append-system-prompt", "use correct-horse-battery"];
    refused(&start(&more), "must not stand in append_system_prompt");
}

#[test]
fn a_time_on_the_wall_is_read_in_the_zone_that_has_a_name() {
    let env = user().with("TZ", "Asia/Tokyo").with("OPENAI_API_KEY", "dummy-key");
    // In five hours, as a clock in Tokyo shows it: a time that has just gone by counts as over.
    let then = jiff::Timestamp::now() + jiff::Span::new().hours(5);
    let clock = then.in_tz("Asia/Tokyo").unwrap().strftime("%-I:%M %p").to_string();
    let failed = format!(
        r#"{{"type":"turn.failed","error":{{"message":"You’ve hit your usage limit. Upgrade to Pro, or try again at {clock}."}}}}"#
    );
    env.program(
        "codex",
        &format!(
            "cat > /dev/null; echo '{{\"type\":\"thread.started\",\"thread_id\":\"t1\"}}'; echo '{failed}'; exit 1"
        ),
    );
    let running = env.begin(&["start", "do it", "-p", "false", "--agent", "codex"]);
    env.wait_for_fact("\"limit\"");
    wait_until("it waits", || !waiting(&env).is_null());
    let until = waiting(&env)["until"].as_str().unwrap().to_owned();
    env.run(&["cancel", &env.id()]).expect_code(0);
    running.end().expect_code(2);
    // The whole of that minute has to pass.
    let minute = |at: jiff::Timestamp| at.strftime("T%H:%M:").to_string();
    let after = minute(then + jiff::Span::new().minutes(1));
    assert!(until.contains(&format!("{}59", minute(then))) || until.contains(&after), "{then}: {until}");
}
