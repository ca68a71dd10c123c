//! `--router learned`, `--router shadow` and `loop agents --scores`: a program on the PATH that plays two models, and a
//! ledger that real loops have made.
use loop_testkit::TestEnv;
use serde_json::{Value, json};

use crate::several_agents::program;
use crate::user;

/// Claude with two models, one of which costs 18 times as much. Each call makes the next of the files done-1, done-2 …
fn two_models(env: &TestEnv) {
    let body = r#"touch "done-$(( n + 1 ))"; cost=0.05
case "$*" in *dear*) cost=0.9;; esac
echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'
echo '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"fine"}]},"session_id":"5e551017-0000-4000-8000-000000000001"}'
echo "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"fine\",\"num_turns\":1,\"total_cost_usd\":$cost,\"usage\":{\"input_tokens\":10,\"output_tokens\":5},\"session_id\":\"5e551017-0000-4000-8000-000000000001\"}""#;
    program(env, "claude", body);
}

/// Works until the file of this number is there.
fn work(env: &TestEnv, until: u32, agents: &str, more: &[&str]) {
    let promise = format!("[ -e done-{until} ]");
    let mut words = vec!["start", "fix it", "-p", &promise, "--agent", agents, "-n", "5"];
    words.extend(more);
    env.run(&words).expect_code(0);
}

fn scores(env: &TestEnv) -> Value {
    env.run(&["agents", "--scores", "--json"]).expect_code(0).json()["scores"].clone()
}

/// Agent and model, and the reason, of each iteration of the newest loop.
fn chosen(env: &TestEnv) -> Vec<(String, String)> {
    let history = env.run(&["history", "--json"]).expect_code(0).json();
    let rows = history["iterations"].as_array().unwrap().clone();
    let text = |attempt: &Value, key: &str| attempt[key].as_str().unwrap_or("?").to_owned();
    let one = |row: &Value| {
        let attempt = &row["attempts"][0];
        (format!("{}:{}", text(attempt, "agent"), text(attempt, "model")), text(attempt, "rule"))
    };
    rows.iter().map(one).collect()
}

/// The same choice in so many iterations.
fn always(arm: &str, rule: &str, times: usize) -> Vec<(String, String)> {
    vec![(arm.to_owned(), rule.to_owned()); times]
}

#[test]
fn the_learned_router_chooses_by_what_passes_cost_in_the_users_own_loops_and_a_shadow_only_records_it() {
    // req: A-32 partly: the learned choice and its reason in history
    let env = user();
    two_models(&env);
    let empty = env.run(&["agents", "--scores"]).expect_code(0).out();
    assert!(empty.contains("no results are recorded yet") && empty.contains("next: loop start"), "{empty}");
    assert_eq!(scores(&env), json!([]));
    let both = "claude:dear,claude:cheap";
    // Without results the first of the list works.
    work(&env, 1, both, &["--router", "learned"]);
    let line = "learned: no results are recorded yet, the first of the list works";
    assert_eq!(chosen(&env), always("claude:dear", line, 1));
    (2..=5).for_each(|number| work(&env, number, "claude:dear", &[]));
    (6..=10).for_each(|number| work(&env, number, "claude:cheap", &[]));
    let row = |model: &str, each: u64| {
        json!({"agent": "claude", "model": model, "task": "check", "passes": 5, "tries": 5, "tries_with_cost": 5,
            "cost_micros": 5 * each, "cost_per_pass_micros": each, "chance_permille": 900, "score_micros": each * 10 / 9})
    };
    assert_eq!(scores(&env), json!([row("cheap", 50_000), row("dear", 900_000)]));
    let table = env.run(&["agents", "--scores"]).expect_code(0).out();
    let cheap = table.lines().find(|line| line.contains("cheap")).unwrap_or_default();
    let cells: Vec<&str> = cheap.split_whitespace().collect();
    assert_eq!(cells, ["claude", "cheap", "check", "5", "5", "$0.05", "90", "%", "$0.06"], "{table}");

    work(&env, 12, both, &["--router", "shadow"]);
    let line = "shadow: another, claude:cheap (check: 5 of 5 tries passed, $0.05 a pass)";
    assert_eq!(chosen(&env), always("claude:dear", line, 2), "a shadow changes no choice");
    let text = env.run(&["history"]).expect_code(0).out();
    assert!(text.contains("shadow: another, claude:cheap"), "{text}");

    work(&env, 14, both, &["--router", "learned"]);
    let line = "learned: check: 5 of 5 tries passed, $0.05 a pass";
    assert_eq!(chosen(&env), always("claude:cheap", line, 2));
    // Its first iteration did not pass, its second did.
    let after = scores(&env);
    assert_eq!((&after[0]["passes"], &after[0]["tries"]), (&json!(6), &json!(7)), "{after}");
    assert_eq!((&after[1]["passes"], &after[1]["tries"]), (&json!(6), &json!(7)), "{after}");
    // A ledger that is made again from the journals has the same.
    std::fs::remove_file(env.state().join("ledger.db")).unwrap();
    env.run(&["doctor", "--rebuild-ledger"]).expect_code(0);
    assert_eq!(scores(&env), after);
}
