//! `--agent claude,codex` and `--agent auto`: programs on the PATH that play agents, their limits and refusals.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::user;

/// A program that answers `--version`, counts its calls, and runs this with `$n` calls before it.
pub(crate) fn program(env: &TestEnv, name: &str, body: &str) {
    env.program(
        name,
        &format!(
            "[ \"$1\" = --version ] && {{ echo 1.0.0; exit 0; }}\n\
             n=$(cat \"$HOME/{name}-calls\" 2>/dev/null | wc -l); echo \"$*\" >> \"$HOME/{name}-calls\"\n\
             cat > /dev/null\n{body}"
        ),
    );
}

const CLAUDE_INIT: &str =
    r#"echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'"#;

/// Claude did what it was asked for.
fn claude_works(does: &str) -> String {
    format!(
        "{CLAUDE_INIT}\n{does}\n{}",
        r#"echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"fine"}]},"session_id":"5e551017-0000-4000-8000-000000000001"}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine","num_turns":1,"total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"session_id":"5e551017-0000-4000-8000-000000000001"}'"#
    )
}

/// Claude is at its limit for three seconds from now; when that is over is in a file.
fn claude_is_limited() -> String {
    format!(
        "reset=$(( $(date +%s) + 3 )); echo $reset > \"$HOME/reset\"\n{CLAUDE_INIT}\n{}\nexit 1",
        r#"echo "{\"type\":\"rate_limit_event\",\"rate_limit_info\":{\"status\":\"rejected\",\"resetsAt\":$reset,\"rateLimitType\":\"five_hour\"}}"
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your session limit","num_turns":1,"total_cost_usd":0,"session_id":"5e551017-0000-4000-8000-000000000001"}'"#
    )
}

/// Claude is not signed in.
fn claude_is_refused() -> String {
    format!(
        "{CLAUDE_INIT}\n{}\nexit 1",
        r#"echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"result":"Invalid API key · Please run /login","num_turns":1,"total_cost_usd":0,"session_id":"5e551017-0000-4000-8000-000000000001"}'"#
    )
}

fn codex_works(does: &str) -> String {
    format!(
        "echo '{{\"type\":\"thread.started\",\"thread_id\":\"0199a213-81c0-7800-8aa1-bbab2a035a53\"}}'\n{does}\n{}",
        r#"echo '{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"fine"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'"#
    )
}

fn start<'a>(promise: &'a str, agents: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "fix it", "-p", promise, "--agent", agents, "-n", "5"];
    words.extend(more);
    words
}

/// Who worked in each attempt of each iteration.
fn who(env: &TestEnv) -> Vec<Vec<String>> {
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    let rows = history["iterations"].as_array().unwrap().clone();
    let attempts = |row: &Value| row["attempts"].as_array().unwrap().clone();
    let name = |attempt: &Value| {
        let model = attempt["model"].as_str().map_or_else(String::new, |model| format!(":{model}"));
        format!("{}{model}", attempt["agent"].as_str().unwrap_or("?"))
    };
    rows.iter().map(|row| attempts(row).iter().map(name).collect()).collect()
}

#[test]
fn the_second_agent_works_while_the_first_is_at_its_limit_and_the_first_comes_back_after_the_reset() {
    // req: A-17
    let env = user();
    let claude = format!("if [ $n = 0 ]; then\n{}\nfi\n{}", claude_is_limited(), claude_works("echo c >> log"));
    program(&env, "claude", &claude);
    // It works until the limit is over: five seconds may be added to a wait.
    let until = "while [ $(date +%s) -lt $(( $(cat \"$HOME/reset\") + 6 )) ]; do sleep 0.2; done; echo x >> log";
    program(&env, "codex", &codex_works(until));
    let ran = env.run(&start("[ $(wc -l < log) -ge 2 ]", "claude,codex", &["--session", "continue"])).expect_code(0);
    assert_eq!(who(&env), [vec!["claude", "codex"], vec!["claude"]], "{}", ran.text());
    assert_eq!(env.read("work/log"), "x\nc\n");
    let err = ran.err();
    assert!(err.contains("codex from now on (claude waits until"), "{}", ran.text());
    assert!(err.contains("claude from now on (claude can work again, instead of codex)"), "{}", ran.text());
    let text = env.run(&["history", &env.id()]).expect_code(0).out();
    assert!(text.contains("AGENT") && text.contains("claude → codex"), "{text}");
    assert!(text.contains("iteration 1, attempt 2: codex (claude waits until"), "{text}");
    assert!(!err.contains("waits until 20") || !err.contains("Enter"), "the loop itself did not wait: {err}");
}

#[test]
fn an_agent_that_is_not_signed_in_is_replaced_and_said() {
    let env = user();
    program(&env, "claude", &claude_is_refused());
    program(&env, "codex", &codex_works("echo x >> log"));
    let ran = env.run(&start("[ $(wc -l < log) -ge 2 ]", "claude,codex", &[])).expect_code(0);
    assert_eq!(who(&env), [vec!["claude", "codex"], vec!["codex"]], "{}", ran.text());
    assert!(ran.err().contains("codex from now on (claude is not signed in)"), "{}", ran.text());
    assert_eq!(env.read("home/claude-calls").lines().count(), 1, "asked once");
}

#[test]
fn an_unknown_or_missing_agent_of_a_list_is_refused_before_anything_is_made() {
    // req: A-17 partly: exit 4
    let env = user();
    program(&env, "claude", &claude_works(""));
    for (agents, words) in [
        ("claude,codex", "the agent codex is not installed"),
        ("claude,clawd", "there is no agent \"clawd\""),
        ("claude,,codex", "the name of an agent is a word"),
        ("claude,claude", "claude stands there twice"),
        ("auto,claude", "auto means all agents that are installed"),
    ] {
        let ran = env.run(&start("true", agents, &[])).expect_code(4);
        assert!(ran.err().contains(words) && ran.err().contains("hint: "), "{agents}: {}", ran.text());
    }
    let none = user();
    let ran = none.run(&start("true", "auto", &[])).expect_code(4);
    assert!(ran.err().contains("no agent is installed that --agent auto could choose"), "{}", ran.text());
    assert!(!env.state().join("runs").exists() && !none.state().join("runs").exists());
}

#[test]
fn cli_is_the_other_name_of_agent_and_auto_chooses_by_the_task() {
    // req: A-17
    // req: A-32
    let env = user();
    program(&env, "gemini", "echo '{}'; echo g >> log");
    program(&env, "codex", &codex_works("echo x >> log"));
    let words = ["start", "implement it", "-p", "[ $(wc -l < log) -ge 2 ]", "--cli", "auto", "-n", "3"];
    let ran = env.run(&words).expect_code(0);
    assert_eq!(who(&env), [vec!["codex:gpt-5.2"], vec!["codex:gpt-5.2"]], "{}", ran.text());
    assert!(env.read("home/codex-calls").contains("gpt-5.2"), "the model reaches the program");
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    assert_eq!(history["iterations"][0]["attempts"][0]["rule"], "rule: implementation", "{history}");
    let held = env.run(&["config", "show", "--json"]);
    assert_eq!(held.code, Some(0), "{}", held.text());
}

#[test]
fn the_rule_that_chose_an_agent_is_in_the_log_of_the_specification() {
    // req: A-32 partly: the log
    let env = user();
    program(&env, "claude", &claude_is_refused());
    program(&env, "codex", &codex_works("echo x >> log"));
    let more = ["--profile", "autonomous", "--cli-default", "claude", "--no-recover"];
    let ran = env.run(&start("[ $(wc -l < log) -ge 2 ]", "claude,codex", &more)).expect_code(0);
    assert_eq!(who(&env), [vec!["claude", "codex"], vec!["codex"]], "{}", ran.text());
    let log = env.read("work/.harness/harness.log");
    for words in [
        "] Iteration 1 starting (cli=claude, model=default)\n",
        "] Iteration 1 continues (cli=codex, model=default, rule=claude is not signed in)\n",
        "] Iteration 2 starting (cli=codex, model=default, rule=claude is not signed in)\n",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}

#[test]
fn a_default_agent_works_first_where_it_is_in_the_list() {
    // req: A-17
    let env = user();
    program(&env, "claude", &claude_works("echo c >> log"));
    program(&env, "codex", &codex_works("echo x >> log"));
    env.run(&start("[ -e log ]", "claude,codex", &["--cli-default", "codex"])).expect_code(0);
    assert_eq!(who(&env), [vec!["codex"]]);
    std::fs::remove_file(env.work().join("log")).unwrap();
    env.run(&start("[ -e log ]", "claude,codex", &["--cli-default", "gemini"])).expect_code(0);
    assert_eq!(env.read("work/log"), "c\n");
}

#[test]
fn the_scarcest_model_is_used_so_many_times_a_day_by_all_loops_together() {
    // req: A-19
    let env = user();
    program(&env, "claude", &claude_works("echo \"c $*\" >> log"));
    program(&env, "codex", &codex_works("echo \"x $*\" >> log"));
    let agents = "claude:claude-opus-4.5,codex";
    let ran = env.run(&start("[ $(wc -l < log) -ge 3 ]", agents, &["--opus-limit", "2"])).expect_code(0);
    let first = [vec!["claude:claude-opus-4.5"], vec!["claude:claude-opus-4.5"], vec!["codex:gpt-5.2"]];
    assert_eq!(who(&env), first, "{}", ran.text());
    assert!(ran.err().contains("claude-opus-4.5: all 2 calls of today are used up"), "{}", ran.text());
    assert!(ran.err().contains("codex (gpt-5.2) from now on (claude-opus-4.5 is used up for today)"), "{}", ran.text());
    // Another loop of the same user, on the same day.
    std::fs::remove_file(env.work().join("log")).unwrap();
    let ran = env.run(&start("[ -e log ]", agents, &["--opus-limit", "2"])).expect_code(0);
    assert!(env.read("work/log").starts_with("x "), "{}", ran.text());
}

#[test]
fn the_table_of_models_is_shown_and_can_be_another_one() {
    // req: A-08 partly: loop agents shows it
    let env = user();
    program(&env, "codex", &codex_works(""));
    let out = env.run(&["agents"]).expect_code(0).out();
    for words in ["STRENGTH", "gemini-3-flash", "claude-opus-4.5", "$$$$", "1M", "hardest problems, final review"] {
        assert!(out.contains(words), "{words}: {out}");
    }
    let models = env.run(&["agents", "--json"]).expect_code(0).json()["models"].clone();
    assert_eq!((models.as_array().unwrap().len(), &models[2]["model"]), (5, &"gpt-5.2".into()), "{models}");
    assert_eq!((&models[2]["installed"], &models[0]["installed"]), (&true.into(), &false.into()), "{models}");
    env.write("home/.config/loop/config.toml", "models = [\"codex gpt-9 $ 1M speed: all\"]\n");
    let models = env.run(&["agents", "--json"]).expect_code(0).json()["models"].clone();
    assert_eq!((models.as_array().unwrap().len(), &models[0]["model"]), (1, &"gpt-9".into()), "{models}");
}

// req: A-12
#[test]
fn the_variable_of_the_cli_is_the_first_choice_at_the_start_and_a_file_changes_it_for_the_next_iteration() {
    let env = user().with("HARNESS_CLI", "codex").with("OPENAI_API_KEY", "k").with("ANTHROPIC_API_KEY", "k");
    // Codex waits in its first call, until a person has written the file.
    let waits = "echo x >> a.txt; touch \"$HOME/began\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done";
    program(&env, "codex", &codex_works(waits));
    program(&env, "claude", &claude_works("touch done"));
    let running = env.begin(&start("test -e done", "claude,codex", &["--check-env-vars"]));
    env.wait_for_file("home/began");
    env.write("work/.harness/env", "HARNESS_CLI=claude\n");
    env.wait_for_fact("\"old\":\"codex\",\"new\":\"claude\"");
    env.write("home/go", "");
    let ran = running.end().expect_code(0);
    for line in ["→ codex (the environment)", "HARNESS_CLI: codex → claude (.harness/env)"] {
        assert!(ran.err().contains(line), "{line}: {}", ran.text());
    }
    let history = env.run(&["history", &env.id(), "--json"]).expect_code(0).json();
    let agents: Vec<&Value> = history["iterations"].as_array().unwrap().iter().map(|row| &row["agent"]).collect();
    assert_eq!(agents, ["codex", "claude"], "{}", ran.text());
}
