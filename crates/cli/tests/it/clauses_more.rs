//! More clauses of requirements: conversations, streams, calls of the hour, colours, variables.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

/// A `claude` that writes down how it was called and then says these lines of its stream.
fn claude(lines: &str) -> TestEnv {
    let env = user().with("ANTHROPIC_API_KEY", "sk-very-secret-key");
    let program = format!(
        "[ \"$1\" = --version ] && {{ echo '2.1.197 (Claude Code)'; exit 0; }}\n\
         echo call >> \"$HOME/calls\"; n=$(wc -l < \"$HOME/calls\" | tr -d ' ')\n\
         printf '%s\\n' \"$@\" > \"$HOME/argv-$n\"; cat > /dev/null\n{lines}\nexit 0"
    );
    env.program("claude", &program);
    env
}

/// The line of a stream, printed as it is.
fn line(json: &Value) -> String {
    format!("cat <<'END_OF_LINE'\n{json}\nEND_OF_LINE\n")
}

const SESSION: &str = "5e551017-0000-4000-8000-000000000001";

fn said(text: &str) -> String {
    let init = serde_json::json!({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m"});
    let result = serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "result": text,
        "num_turns": 1, "total_cost_usd": 0.25, "session_id": SESSION,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 3}});
    let words = serde_json::json!({"type": "assistant", "session_id": SESSION,
        "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": text}]}});
    [init, words, result].iter().map(line).collect()
}

fn one(env: &TestEnv) -> Value {
    env.run(&["status", &env.id(), "--json"]).expect_code(0).json()["loops"][0].clone()
}

#[test]
fn every_profile_but_that_of_containers_begins_a_fresh_conversation_in_each_iteration() {
    // req: C-02 partly: session = fresh
    for profile in ["loop", "loopr", "autonomous"] {
        let env = claude(&said("still at it"));
        let words = ["start", "do it", "--profile", profile, "-p", "false", "--agent", "claude", "-n", "2"];
        env.run(&[&words[..], &["--breaker", "off", "--delay", "none"]].concat()).expect_code(1);
        assert_eq!(one(&env)["settings"]["session"]["value"], "fresh", "{profile}");
        assert_eq!(env.read("home/calls").lines().count(), 2, "{profile}");
        let argv = env.read("home/argv-2");
        assert!(!argv.contains("--resume") && !argv.contains("--continue"), "{profile}: {argv}");
    }
    let env = claude(&said("still at it"));
    let words = ["start", "do it", "-p", "false", "--agent", "claude", "-n", "2", "--session", "continue"];
    env.run(&words).expect_code(1);
    assert!(env.read("home/argv-2").contains(&format!("--resume\n{SESSION}\n")), "by the id that was reported");
}

const TAG: &str = "<promise>COMPLETE</promise>";

#[test]
fn in_a_stream_only_the_agents_own_words_count_and_odd_or_too_long_lines_are_skipped() {
    // req: C-12 partly: a whole loop
    let message = |content: Value| {
        serde_json::json!({"type": "assistant", "session_id": SESSION,
            "message": {"id": "m0", "role": "assistant", "content": content}})
    };
    let result_of_tool = |content: Value| {
        let block =
            serde_json::json!({"type": "tool_result", "tool_use_id": "t", "is_error": true, "content": content});
        serde_json::json!({"type": "user", "session_id": SESSION, "message": {"content": [block]}})
    };
    let mut below = message(serde_json::json!([{"type": "text", "text": TAG}]));
    below["parent_tool_use_id"] = "t".into();
    let lines = [
        serde_json::json!({"type": "system", "subtype": "compact_boundary", "session_id": SESSION}),
        message(serde_json::json!([{"type": "thinking", "thinking": TAG}])),
        message(serde_json::json!([{"type": "tool_use", "id": "t", "name": "Task", "input": {"description": "look"}}])),
        below,
        result_of_tool(TAG.into()),
        result_of_tool(serde_json::json!([{"type": "text", "text": TAG}])),
        serde_json::json!({"type": "brand_new"}),
    ];
    let odd: String = lines.iter().map(line).collect();
    let long = "printf '{\"type\":\"user\",\"x\":\"'; head -c 11000000 /dev/zero | tr '\\0' x; printf '\"}\\n'\n";
    let env = claude(&format!("{odd}echo '{{broken'\n{long}{}", said("I looked at it")));
    let words = ["start", "do it", "--profile", "autonomous", "--agent", "claude", "-n", "1"];
    let ran = env.run(&words).expect_code(1);
    assert!(ran.out().contains("iteration_limit"), "nobody claimed: {}", ran.text());
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    let row = &history["iterations"][0];
    assert_eq!((&row["malformed_lines"], &row["session"]), (&2.into(), &SESSION.into()), "{row:#}");
    assert_eq!((&row["usage"]["input_tokens"], &row["usage"]["turns"]), (&10.into(), &1.into()), "{row:#}");
    assert_eq!(one(&env)["budget"]["tokens"], 15, "input and output, not what a cache had");
    let env = claude(&format!("{odd}{}", said(TAG)));
    env.run(&words).expect_code(0);
}

#[test]
fn calls_of_a_loop_before_count_in_the_hour_and_without_a_limit_as_many_as_one_likes_are_left() {
    // req: C-09 partly: over loops, and no limit
    let env = claude(&said(
        "---LOOP_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 1\n\
         COMPLETION_INDICATORS: 0\nTESTS_STATUS: PASSING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\n\
         RECOMMENDATION: more\n---END_LOOP_STATUS---",
    ));
    for (limit, left) in [("5", 4), ("5", 3), ("-1", -1), ("5", 1)] {
        let before = env.ids();
        let words = ["start", "do it", "--profile", "container", "--delay", "none", "--max-loops", "1"];
        let named = ["--project", "site", "--agent-name", "one", "--calls-per-hour", limit];
        env.run(&[&words[..], &named].concat()).expect_code(1);
        let id = env.ids().into_iter().find(|id| !before.contains(id)).expect("a new loop");
        let row = env.run(&["status", &id, "--json"]).expect_code(0).json()["loops"][0].clone();
        assert_eq!(row["calls"]["left"], left, "--calls-per-hour {limit}: {}", row["calls"]);
    }
}

#[test]
fn a_warning_is_yellow_and_an_error_red() {
    // req: A-14 partly: the colours of WARNING and ERROR
    let program = env!("CARGO_BIN_EXE_loop");
    for (more, code, colour, words) in [
        ("--agent-cmd 'echo x >> log' -n 5", 1, "33", "[WARNING] approaching_limit"),
        ("--agent-cmd 'exit 3' -n 9", 3, "31", "[ERROR] fatal_error"),
    ] {
        let env = user();
        let (ran, screen) = env.on_a_terminal(&format!("{program} start 'do it' --promise false --alerts {more}"));
        drop(ran.expect_code(code));
        assert!(screen.contains(&format!("\u{1b}[{colour}m{words}")), "{words}: {screen:?}");
    }
}

#[test]
fn the_variable_for_checkpoints_is_the_default_of_its_flag_and_a_bad_one_is_named() {
    // req: D-22 partly: LOOP_CHECKPOINT
    let env = user().with("LOOP_CHECKPOINT", "none");
    let ran = env.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    assert!(ran.err().contains("no checkpoints"), "{}", ran.text());
    let ran = env.run(&start("true", "false", &["-n", "1", "--checkpoint", "git"])).expect_code(1);
    assert!(!ran.err().contains("no checkpoints"), "a flag wins: {}", ran.text());
    for (name, value) in [("LOOP_CHECKPOINT", "svn"), ("LOOP_MAX_ITER", "many"), ("LOOP_AGENT", "nobody")] {
        let ran = user().with(name, value).run(&["start", "do it", "-p", "false"]).expect_code(4);
        assert!(ran.err().contains(name), "{name}: {}", ran.text());
    }
}
