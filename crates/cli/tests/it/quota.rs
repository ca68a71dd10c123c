//! `loop usage` and `loop limits`: what providers said about their limits, and what is expected of them.
use std::fs;

use loop_host::ledger::Ledger;

use crate::{start, user};

/// A claude that says before its end how much of the window of five hours is used: 10 % more with each call.
pub(crate) const TELLS: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null; echo x >> "$HOME/calls"; n=$(wc -l < "$HOME/calls"); resets=$(($(date +%s) / 600 * 600 + 7200))
echo "step $n" >> notes.txt
echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"claude-opus-4-8"}'
echo '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":'$resets',"rateLimitType":"five_hour","utilization":0.'$n'}}'
echo '{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"seven_day"}}'
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine '$n'","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5}}'"#;

/// Refused at the limit of the window of five hours.
const REFUSED: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null; resets=$(($(date +%s) + 7200))
echo '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":'$resets',"rateLimitType":"five_hour"}}'
echo '{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You have hit your session limit"}'; exit 1"#;

fn claude(more: &[&'static str]) -> Vec<&'static str> {
    let mut words = vec!["start", "do it", "-p", "test -e never", "--agent", "claude", "--breaker", "off"];
    words.extend(more);
    words
}

#[test]
fn what_a_provider_says_about_its_limits_is_in_usage_by_agent_and_window() {
    let user = user();
    user.program("claude", TELLS);
    let none = user.run(&["usage"]).expect_code(0);
    assert!(none.err().contains("limits of providers: unknown"), "{}", none.text());
    user.run(&claude(&["-n", "2"])).expect_code(1);
    let shown = user.run(&["usage"]).expect_code(0).out();
    let five = shown.lines().find(|line| line.contains("five_hour")).unwrap_or_default();
    assert!(five.starts_with("claude") && five.contains("20 %"), "{shown}");
    let seven = shown.lines().find(|line| line.contains("seven_day")).unwrap_or_default();
    assert!(seven.contains("unknown: the provider did not say how much is used"), "{shown}");
    assert!(shown.starts_with("SINCE (UTC)  AGENT") && !shown.contains("since 20"), "{shown}");
    let json = user.run(&["usage", "--json"]).expect_code(0).json();
    let window = &json["windows"][0];
    assert_eq!(
        (&window["window"], &window["used_share"], &window["source"]),
        (&"five_hour".into(), &0.2.into(), &"event".into()),
        "{json}"
    );
    assert_eq!(json["windows"][1]["used_share"], serde_json::Value::Null, "{json}");
    assert_eq!(json["models"][0]["model"], "claude-opus-4-8", "{json}");
    assert_eq!(json["loops"][0]["loop"], user.id(), "{json}");
    let by_model = user.run(&["usage", "--by", "model"]).expect_code(0).out();
    assert!(by_model.contains("claude-opus-4-8  claude  2      30      $0.50"), "{by_model}");
}

#[test]
fn loop_limits_refuses_a_name_that_no_agent_has_and_lists_the_names() {
    let ran = user().run(&["limits", "--agent", "nope"]).expect_code(4);
    assert!(ran.err().contains("there is no agent \"nope\""), "{}", ran.text());
    assert!(ran.err().contains("hint: known: opencode, claude, codex"), "{}", ran.text());
}

#[test]
fn limits_say_plainly_that_nothing_is_known_and_why() {
    let user = user();
    let ran = user.run(&["limits"]).expect_code(0);
    assert!(ran.out().contains("nothing is known about its limits"), "{}", ran.text());
    assert!(ran.out().contains("whether 6h of work can be done is not known"), "{}", ran.text());
    let json = user.run(&["limits", "--json", "--for", "90m"]).expect_code(0).json();
    assert_eq!((&json["answer"], &json["for_ms"]), (&"unknown".into(), &5_400_000.into()), "{json}");
    user.run(&["limits", "--for", "soon"]).expect_code(4);
}

#[test]
fn a_limit_that_is_reached_is_said_by_limits_and_at_the_next_start() {
    let user = user();
    user.program("claude", REFUSED);
    // The wait for the provider is longer than the loop may take, so it ends.
    user.run(&claude(&["-n", "2", "--max-time", "1h"])).expect_code(1);
    let ran = user.run(&["limits", "--for", "30m"]).expect_code(1);
    assert!(
        ran.out().contains("cannot be done without a wait: the five_hour limit of claude: refused until"),
        "{}",
        ran.text()
    );
    let again = user.run(&claude(&["-n", "1", "--max-time", "1h"])).expect_code(1);
    assert!(again.err().contains("warning: the five_hour limit of claude is reached until"), "{}", again.text());
}

#[test]
fn after_five_finished_loops_a_start_says_that_the_rest_is_likely_too_little() {
    let user = user();
    user.program("claude", TELLS);
    // Each loop is one call, which uses a tenth: the first word belongs to no loop.
    for number in 1..=8 {
        let ran = user.run(&claude(&["-n", "1"])).expect_code(1);
        assert!(!ran.err().contains("is likely to reach"), "loop {number}: {}", ran.text());
    }
    user.run(&claude(&["-n", "1"])).expect_code(1);
    let ran = user.run(&claude(&["-n", "1"])).expect_code(1);
    let said = "warning: this loop is likely to reach the five_hour limit of claude: 10 % is left, and 3 of 4 loops use up to 10 %";
    assert!(ran.err().contains(said), "{}", ran.text());
}

#[test]
fn an_own_cap_that_three_of_four_loops_would_reach_is_said_at_the_start() {
    let user = user();
    user.program("claude", TELLS);
    for _ in 0..5 {
        user.run(&claude(&["-n", "1"])).expect_code(1);
    }
    let ran = user.run(&claude(&["-n", "1", "--max-cost-per-day", "1.40"])).expect_code(1);
    let said = "this loop is likely to reach --max-cost-per-day: $1.25 of $1.40 is used today, and 3 of 4 loops of claude cost up to $0.25";
    assert!(ran.err().contains(said), "{}", ran.text());
    let limits = user.run(&["limits", "--agent", "claude"]).out();
    assert!(limits.contains("claude: 3 of 4 loops make up to 1 calls for $0.25 (from 6 that finished)"), "{limits}");
}

/// A claude that reports no cost.
const SILENT: &str = r#"[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null; echo x >> "$HOME/calls"; wc -l < "$HOME/calls" >> notes.txt
echo '{"type":"result","subtype":"success","is_error":false,"result":"fine"}'"#;

/// The amount that a printed command adds with a flag.
fn added(text: &str, flag: &str) -> String {
    let (_, rest) = text.split_once(&format!("{flag} +")).unwrap_or_else(|| panic!("{flag} in {text}"));
    format!("+{}", rest.split_whitespace().next().unwrap_or_default())
}

#[test]
fn the_amount_that_is_proposed_for_a_limit_is_enough_for_one_more_call() {
    for (flag, most, before, more) in [("--max-cost-per-day", "9", 3, "+11.00"), ("--max-cost", "1", 0, "+9.00")] {
        let user = user();
        user.program("claude", SILENT);
        for _ in 0..before {
            user.run(&claude(&["-n", "1"])).expect_code(1);
        }
        let ran = user.run(&claude(&["-n", "9", flag, most])).expect_code(1);
        let calls = || user.read("home/calls").lines().count();
        let (called, id) = (calls(), user.ids());
        assert_eq!(added(&ran.out(), flag), more, "{}", ran.text());
        let id = id.iter().find(|id| ran.out().contains(&format!("loop resume {id}"))).unwrap();
        let resumed = user.run(&["resume", id, flag, more]).expect_code(1);
        assert!(calls() > called, "{}", resumed.text());
    }
}

#[test]
fn the_money_of_a_day_says_which_part_was_reported_and_which_is_assumed() {
    let user = user();
    user.program("claude", TELLS);
    user.run(&claude(&["-n", "1"])).expect_code(1);
    user.program("claude", SILENT);
    for _ in 0..2 {
        user.run(&claude(&["-n", "1"])).expect_code(1);
    }
    drop(user.run(&["config", "set", "max_cost_per_day", "9"]).expect_code(0));
    let limits = user.run(&["limits"]).expect_code(1).out();
    let parts = "$0.25 reported, and 2 calls that reported no cost count $10.00, the worst case: --worst-cost";
    assert!(limits.contains(&format!("$10.25 of $9.00 used today ({parts})")), "{limits}");
    let ran = user.run(&claude(&["-n", "1"])).expect_code(1);
    let why = "have cost $10.25 today as counted (2 of 3 calls reported no cost: the worst case counts, --worst-cost)";
    assert!(ran.out().contains(why), "{}", ran.text());
}

#[test]
fn a_ledger_made_again_has_what_providers_said_the_models_and_the_loops_that_finished() {
    let user = user();
    user.program("claude", TELLS);
    user.run(&claude(&["-n", "2"])).expect_code(1);
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let read = || {
        let ledger = Ledger::open(&user.state()).unwrap();
        let seen = ledger.windows_seen("claude", 0).unwrap();
        let shares: Vec<_> = seen.iter().map(|one| (one.run.clone(), one.window.clone())).collect();
        (shares, ledger.finished_runs("claude").unwrap(), ledger.used_since(0).unwrap())
    };
    let before = read();
    assert_eq!((before.0.len(), before.1.len()), (4, 1), "{before:?}");
    for end in ["", "-wal", "-shm"] {
        fs::remove_file(user.state().join(format!("ledger.db{end}"))).ok();
    }
    user.run(&["doctor", "--rebuild-ledger"]).expect_code(0);
    assert_eq!(read(), before);
}

/// A codex that keeps a record of its session as the real one does, and whose stream says nothing about limits.
const RECORDS: &str = r#"[ "$1" = --version ] && { echo 'codex-cli 0.169.0'; exit 0; }
cat > /dev/null; day="$HOME/.codex/sessions/$(date +%Y/%m/%d)"; mkdir -p "$day"; resets=$(($(date +%s) + 7200))
record="$day/rollout-$(date +%Y-%m-%dT%H-%M-%S)-0199a213-81c0-7800-8aa1-bbab2a035a53.jsonl"
echo '{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":11.0,"window_minutes":300,"resets_at":'$resets'}}}}' >> "$record"
echo '{"type":"event_msg","payload":{"type":"token_count","rate_limits":{"primary":{"used_percent":87.5,"window_minutes":300,"resets_at":'$resets'},"secondary":{"used_percent":4.0,"window_minutes":10080,"resets_at":'$((resets + 99))'}}}}' >> "$record"
echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800-8aa1-bbab2a035a53"}'
echo '{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"fine"}}'
echo '{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5}}'"#;

#[test]
fn what_codex_records_about_its_limits_in_the_file_of_its_session_is_known_too() {
    let user = user();
    user.program("codex", RECORDS);
    let words = ["start", "do it", "-p", "test -e never", "--agent", "codex", "--breaker", "off", "-n", "1"];
    user.run(&words).expect_code(1);
    let json = user.run(&["usage", "--json"]).expect_code(0).json();
    let rows: Vec<(&str, f64, &str)> = json["windows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row["window"].as_str().unwrap(), row["used_share"].as_f64().unwrap(), row["source"].as_str().unwrap())
        })
        .collect();
    assert_eq!(rows, [("five_hour", 0.875, "session_file"), ("seven_day", 0.04, "session_file")], "{json}");
}
