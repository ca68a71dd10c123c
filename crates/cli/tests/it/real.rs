//! Whole loops of the built program with real agent programs, against a scripted model: they edit by their own tools,
//! and everything that can go wrong with a provider does.
use std::time::{Duration, Instant, SystemTime};

use loop_testkit::agents::{RealAgent, with_real};
use loop_testkit::model::{Fault, ModelServer, Script, Turn};
use loop_testkit::{Ran, TestEnv, wait_until};
use serde_json::Value;

use crate::user;

/// Says ok only for the right words, and leaves a trace of whoever ran it.
const TESTS: &str = "echo ran >> ran.txt; [ \"$(cat hello.txt 2>/dev/null)\" = hello ] && echo ok\n";

/// The last words of an iteration that is not done.
const NOT_YET: &str = "I tried something.\n\n---LOOP_STATUS---\nSTATUS: IN_PROGRESS\nTASKS_COMPLETED_THIS_LOOP: 0\n\
    FILES_MODIFIED: 1\nTESTS_STATUS: FAILING\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: false\n\
    RECOMMENDATION: spell it right\n---END_LOOP_STATUS---";

/// A user with an agent program that talks to this script.
fn with(agent: RealAgent, turns: impl IntoIterator<Item = Turn>) -> (TestEnv, ModelServer) {
    let env = user();
    env.write("work/run_tests.sh", TESTS);
    let server = ModelServer::start(Script::new(turns).in_folder(env.work()));
    // As from inside a person's own session of such a program.
    let inside = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "GEMINI_CLI", "OPENCODE", "CODEX_SANDBOX", "QWEN_CODE"];
    let env = inside.into_iter().fold(env, |env, marker| env.with(marker, "1"));
    (with_real(env, agent, &server), server)
}

fn start(env: &TestEnv, agent: &str, more: &[&str]) -> Ran {
    let mut words =
        vec!["start", "Make hello.txt say hello.", "-p", "[ \"$(cat hello.txt)\" = hello ]", "--agent", agent];
    words.extend(more);
    env.run(&words)
}

fn history(env: &TestEnv) -> Vec<Value> {
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    history["iterations"].as_array().unwrap().clone()
}

fn seconds(at: SystemTime) -> u64 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

/// Two iterations; in the second one a limit, which is waited out, and the session goes on.
fn a_whole_loop(agent: RealAgent, name: &str, limit: Fault) {
    let (env, server) = with(
        agent,
        [
            Turn::write("hello.txt", "helo").saying("I write."),
            Turn::shell("sh run_tests.sh"),
            Turn::text(NOT_YET),
            Turn::fault(limit),
            Turn::shell("printf hello > hello.txt; sh run_tests.sh"),
            Turn::text("Done."),
        ],
    );
    let ran = start(&env, name, &["--session", "continue", "-n", "3"]).expect_code(0);
    assert_eq!(env.read("work/hello.txt"), "hello", "{}", ran.text());
    assert_eq!(env.read("work/ran.txt"), "ran\nran\n", "it ran the tests by its own shell: {}", ran.text());
    let rows = history(&env);
    assert_eq!(rows.len(), 2, "a limit is no iteration: {rows:#?}");
    assert_eq!((&rows[0]["outcome"], &rows[1]["outcome"]), (&"fail".into(), &"pass".into()), "{rows:#?}");
    assert_eq!(rows[0]["claimed"]["status"], "IN_PROGRESS", "{rows:#?}");
    assert!(rows[0]["usage"]["input_tokens"].as_u64().unwrap() > 0, "{rows:#?}");
    assert_eq!((&rows[0]["failure"], &rows[1]["failure"]), (&Value::Null, &Value::Null), "{rows:#?}");
    assert!(rows[0]["session"].is_string() && rows[0]["session"] == rows[1]["session"], "{rows:#?}");
    let attempts = rows[1]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2, "{rows:#?}");
    assert_eq!(
        (&attempts[0]["outcome"], &attempts[0]["failure"]),
        (&"limited".into(), &"rate_limit".into()),
        "{rows:#?}"
    );
    // Nobody called before the moment that the provider had named, and the conversation went on.
    let turns = server.turns();
    let limited = turns.iter().position(|seen| seen.turn == Some(3)).unwrap();
    let reset = turns[limited].resets_at.unwrap_or(seconds(turns[limited].at) + 5);
    let early: Vec<_> = turns[limited + 1..].iter().filter(|seen| seconds(seen.at) < reset).collect();
    assert!(early.is_empty(), "called before the reset at {reset}: {early:#?}");
    assert!(turns[limited].body.contains("I tried something."), "the session was gone on with");
    assert!(ran.err().contains("waits until"), "{}", ran.text());
}

/// One that is not signed in is asked once, and the loop says what to do.
fn a_401_stops(agent: RealAgent, name: &str) {
    let (env, server) = with(agent, [Turn::fault(Fault::Unauthorized).times(100)]);
    let ran = start(&env, name, &["-n", "5"]).expect_code(3);
    let rows = history(&env);
    assert_eq!((rows.len(), &rows[0]["failure"]), (1, &"auth".into()), "{rows:#?}\n{}", ran.text());
    assert!(ran.out().contains("is not signed in, or was refused"), "{}", ran.text());
    assert!(server.turns().len() <= 2, "{} calls", server.turns().len());
}

/// Past its time, with a tool at work: nobody is left.
fn a_timeout_in_a_tool_leaves_nobody(agent: RealAgent, name: &str, sleep: &str) {
    let (env, server) = with(agent, [Turn::shell(&format!("touch asleep; sleep {sleep}")).times(3)]);
    let running = env.begin(&[
        "start",
        "Sleep.",
        "-p",
        "false",
        "--agent",
        name,
        "-n",
        "1",
        "--timeout",
        "90s",
        "--permissions",
        "work",
    ]);
    assert!(server.wait_for_turns(1, Duration::from_secs(80)), "it never called");
    env.wait_for_file_long("work/asleep");
    // The tool is at work; most programs say so a moment later. One that said only its first line counts as waiting.
    let said = env.state().join("runs").join(env.id()).join("iterations/000001/attempt-1/stdout/head");
    let says_more = || std::fs::read(&said).is_ok_and(|text| text.iter().filter(|byte| **byte == b'\n').count() > 1);
    let enough = Instant::now() + Duration::from_secs(5);
    wait_until("it says more, or has had time to", || says_more() || Instant::now() > enough);
    env.run(&["set", &env.id(), "timeout=1s"]).expect_code(0);
    let ran = running.end().expect_code(1);
    let rows = history(&env);
    assert_eq!(rows[0]["attempts"][0]["outcome"], "timed_out", "{rows:#?}\n{}", ran.text());
    assert_eq!(alive(sleep), Vec::<String>::new(), "somebody sleeps on");
    assert!(env.marked(&env.id()).is_empty(), "somebody of the loop is left");
}

/// Commands that sleep for this odd number of seconds.
fn alive(sleep: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.trim() == format!("sleep {sleep}"))
        .collect()
}

/// Held to editing: the file is written, the shell is not had, and that is told.
fn editing_runs_nothing(agent: RealAgent, name: &str) {
    let (env, server) = with(
        agent,
        [
            Turn::shell("sh run_tests.sh").times(2),
            Turn::text("I could not run the tests."),
            Turn::write("hello.txt", "hello"),
            Turn::text("Done."),
        ],
    );
    let ran = start(&env, name, &["-n", "4", "--permissions", "edit"]);
    let rows = history(&env);
    assert!(!env.work().join("ran.txt").exists(), "it ran a command: {}", ran.text());
    let denials = rows.iter().filter_map(|row| row["denials"].as_u64()).sum::<u64>();
    let offered = server.turns().iter().flat_map(|seen| seen.tools.clone()).any(|tool| is_shell(&tool));
    assert!(denials > 0 || !offered, "a shell was offered, refused and not told: {rows:#?}\n{}", ran.text());
    assert!(ran.err().contains("runs nothing"), "{}", ran.text());
    if denials > 0 && rows[0]["changes"]["files"] == 0 {
        assert_eq!(rows[0]["failure"], "permission", "{rows:#?}");
        assert!(ran.err().contains("was refused"), "{}", ran.text());
    }
    assert_eq!(ran.code, Some(0), "it can still write: {}", ran.text());
}

fn is_shell(tool: &str) -> bool {
    ["Bash", "bash", "exec_command", "shell", "run_shell_command"].contains(&tool)
}

macro_rules! real {
    ($($module:ident: $agent:expr, $name:literal, $limit:expr, $sleep:literal;)*) => {$(
        mod $module {
            use super::*;

            // req: D-03 partly: this one
            // req: C-02 partly: this one, by the session's id
            #[test]
            fn a_whole_loop_edits_fails_waits_out_a_limit_goes_on_and_is_done() {
                a_whole_loop($agent, $name, $limit);
            }

            #[test]
            fn without_a_login_it_stops_at_once() {
                a_401_stops($agent, $name);
            }

            // req: C-24 partly: cut by its time
            #[test]
            fn past_its_time_in_a_tool_nobody_is_left() {
                a_timeout_in_a_tool_leaves_nobody($agent, $name, $sleep);
            }

            #[test]
            fn held_to_editing_it_runs_nothing_and_says_so() {
                editing_runs_nothing($agent, $name);
            }
        }
    )*};
}

real! {
    claude: RealAgent::ClaudeSubscribed, "claude", Fault::UsageLimit(4), "43211";
    codex: RealAgent::Codex, "codex", Fault::RateLimit(4), "43212";
    gemini: RealAgent::Gemini, "gemini", Fault::RateLimit(4), "43213";
    opencode: RealAgent::Opencode, "opencode", Fault::UsageLimit(4), "43214";
}

/// A limit of one program: the other one works on in the same iteration, and the first comes back after the reset.
// req: A-17 partly: with real programs
#[test]
fn claude_falls_over_to_codex_at_its_limit_and_comes_back_after_the_reset() {
    let write = "printf hello > hello.txt; sh run_tests.sh";
    let limited = [Turn::fault(Fault::UsageLimit(4)), Turn::shell(write), Turn::text("Done.")];
    let (env, claude) = with(RealAgent::ClaudeSubscribed, limited);
    // Longer than the limit and what is added to a wait.
    let other = [Turn::shell("printf helo > hello.txt; sleep 12"), Turn::text(NOT_YET)];
    let codex = ModelServer::start(Script::new(other).in_folder(env.work()));
    let env = with_real(env, RealAgent::Codex, &codex);
    let ran = start(&env, "claude,codex", &["-n", "3"]).expect_code(0);
    let rows = history(&env);
    let who: Vec<Vec<&str>> = rows
        .iter()
        .map(|row| row["attempts"].as_array().unwrap().iter().map(|one| one["agent"].as_str().unwrap()).collect())
        .collect();
    assert_eq!(who, [vec!["claude", "codex"], vec!["claude"]], "{rows:#?}\n{}", ran.text());
    assert_eq!(rows[0]["attempts"][0]["failure"], "rate_limit", "{rows:#?}");
    assert_ne!(rows[0]["session"], rows[1]["session"], "each has a session of its own: {rows:#?}");
    let turns = claude.turns();
    let reset = turns[0].resets_at.unwrap_or(seconds(turns[0].at) + 4);
    assert!(turns[1..].iter().all(|seen| seconds(seen.at) >= reset), "called before the reset");
    assert!(ran.err().contains("claude can work again"), "{}", ran.text());
}

/// Two iterations by its own tools; where the agent reports tokens, they are those of the server.
fn two_iterations(agent: RealAgent, name: &str, tokens: Option<u64>) {
    let (env, server) = with(
        agent,
        [
            Turn::write("hello.txt", "helo").saying("I write.").tokens(1000, 50, 200),
            Turn::text("Not yet.").tokens(1200, 30, 300),
            Turn::shell("printf hello > hello.txt; sh run_tests.sh").tokens(1500, 70, 500),
            Turn::text("Done.").tokens(1600, 40, 600),
        ],
    );
    let ran = start(&env, name, &["-n", "3"]).expect_code(0);
    assert_eq!(env.read("work/hello.txt"), "hello", "{}", ran.text());
    assert_eq!(env.read("work/ran.txt"), "ran\n", "it ran the tests by its own shell: {}", ran.text());
    let rows = history(&env);
    assert_eq!(
        (rows.len(), &rows[0]["outcome"], &rows[1]["outcome"]),
        (2, &"fail".into(), &"pass".into()),
        "{rows:#?}"
    );
    assert_eq!(rows[0]["session"].is_string(), name != "cline", "{rows:#?}");
    let used: Vec<_> = rows.iter().map(|row| row["usage"]["input_tokens"].as_u64()).collect();
    assert_eq!(used, [tokens, tokens.map(|_| 3100)], "{rows:#?}");
    assert_eq!(server.turns().len(), 4, "{}", ran.text());
}

/// In its first request it meets a limit; the next attempt does the work.
fn a_limit_is_waited_out(agent: RealAgent, name: &str) {
    let (env, _server) = with(
        agent,
        [Turn::fault(Fault::RateLimit(3)), Turn::write("hello.txt", "hello"), Turn::text("Done."), Turn::text("Done.")],
    );
    let ran = start(&env, name, &["-n", "2"]).expect_code(0);
    let rows = history(&env);
    let attempts = rows[0]["attempts"].as_array().unwrap();
    let limited = attempts.iter().filter(|attempt| attempt["failure"] == "rate_limit").count();
    // One that waits by itself for the few seconds that the provider names needs no second attempt.
    assert!(limited <= 1 && rows.len() == 1, "{rows:#?}\n{}", ran.text());
}

macro_rules! newer {
    ($($module:ident: $agent:expr, $name:literal, $tokens:expr;)*) => {$(
        mod $module {
            use super::*;

            // req: D-03 partly: this one
            #[test]
            fn two_iterations_by_its_own_tools_are_a_whole_loop() {
                two_iterations($agent, $name, $tokens);
            }

            #[test]
            fn a_limit_is_no_iteration() {
                a_limit_is_waited_out($agent, $name);
            }

            #[test]
            fn without_a_login_it_stops_at_once() {
                a_401_stops($agent, $name);
            }
        }
    )*};
}

newer! {
    copilot: RealAgent::Copilot, "copilot", None;
    grok: RealAgent::Grok, "grok", Some(2200);
    goose: RealAgent::Goose, "goose", None;
    pi: RealAgent::Pi, "pi", Some(2200);
    qwen: RealAgent::Qwen, "qwen", Some(2200);
    cline: RealAgent::Cline, "cline", Some(2200);
}

// req: D-03 partly: Kimi Code
#[test]
fn kimi_does_two_iterations_by_its_own_tools() {
    two_iterations(RealAgent::Kimi, "kimi", None);
}

#[test]
fn kimi_without_a_login_stops_at_once() {
    a_401_stops(RealAgent::Kimi, "kimi");
}

// req: D-03 partly: aider
#[test]
fn aider_does_a_whole_loop_by_blocks_of_text() {
    let env = user();
    let whole = |text: &str| Turn::text(&format!("hello.txt\n```\n{text}\n```\n"));
    let server = ModelServer::start(Script::new([whole("helo"), whole("hello")]).counting_all());
    let env = with_real(env, RealAgent::Aider, &server);
    let ran = start(&env, "aider", &["-n", "3"]).expect_code(0);
    assert_eq!(env.read("work/hello.txt"), "hello\n", "{}", ran.text());
    let rows = history(&env);
    assert_eq!(rows.len(), 2, "{}", ran.text());
    assert_eq!(rows[0]["changes"]["files"], 1, "what it leaves lying about is no change: {rows:#?}");
    assert_eq!(server.turns().len(), 2);
}

#[test]
fn an_agent_that_speaks_acp_does_a_whole_loop() {
    let (env, server) = with(
        RealAgent::ClaudeAcp,
        [
            Turn::write("hello.txt", "helo"),
            Turn::shell("sh run_tests.sh"),
            Turn::text(NOT_YET),
            Turn::shell("printf hello > hello.txt; sh run_tests.sh"),
            Turn::text("Done."),
        ],
    );
    let ran = start(&env, "claude-acp", &["-n", "3"]).expect_code(0);
    assert_eq!(env.read("work/ran.txt"), "ran\nran\n", "{}", ran.text());
    let rows = history(&env);
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert_eq!(rows[0]["claimed"]["status"], "IN_PROGRESS", "{rows:#?}");
    // The bridge would ask for a next prompt after each answer: a paid call that takes a turn of this script too.
    let asked: Vec<String> = server.requests().into_iter().map(|seen| seen.last_user).collect();
    assert!(!asked.iter().any(|text| text.contains("SUGGESTION MODE")), "{asked:#?}");
    assert_eq!(server.turns().len(), 5);
}
