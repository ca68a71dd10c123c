//! A behaviour as it was recorded, replayed under a stricter policy, and played live under that policy.
use std::fs;

use serde_json::Value;

use super::Behaviour;
use super::judge::{play_loop, prepare};

/// The stricter policy: as a file, and as flags of a start.
const STRICT: [(&str, &str, &str); 4] = [
    ("max_iterations", "--max-iterations", "3"),
    ("max_no_progress", "--max-no-progress", "2"),
    ("max_same_error", "--max-same-error", "3"),
    ("max_identical_output", "--max-identical-output", "3"),
];

/// What is wrong with the replay of the loop of this user under its own policy; nothing where its end is the same.
pub(super) fn own_policy_faults(env: &crate::TestEnv, ended: &Value) -> Vec<String> {
    let file = env.root().join("strict.toml");
    fs::write(&file, "max_iterations = 3\n").expect("a policy");
    let answer = env.run(&["replay", "--policy", &file.display().to_string(), "--json"]).expect_code(0).json();
    let own = &answer["policies"][0]["loops"][0];
    let same = own["end"] == "same" && own["recorded"]["outcome"] == ended["outcome"];
    if same { Vec::new() } else { vec![format!("a replay under its own policy ends otherwise: {own}")] }
}

/// What is wrong with the replays of one behaviour; nothing where all is right.
#[must_use]
pub fn replay_faults(program: &str, player: &str, behaviour: &'static Behaviour, agent: &'static str) -> Vec<String> {
    let env = prepare(program, player, behaviour, agent);
    let (_, ended) = play_loop(&env, behaviour, agent, &[]);
    let file = env.root().join("strict.toml");
    let text: String = STRICT.iter().map(|(key, _, value)| format!("{key} = {value}\n")).collect();
    fs::write(&file, text).expect("a policy");
    let answer = env.run(&["replay", "--policy", &file.display().to_string(), "--json"]).expect_code(0).json();
    let (own, strict) = (&answer["policies"][0]["loops"][0], &answer["policies"][1]["loops"][0]);
    let mut faults = Vec::new();
    if own["end"] != "same" || own["recorded"]["outcome"] != ended["outcome"] {
        faults.push(format!("under its own policy: {own}"));
    }
    let other = prepare(program, player, behaviour, agent);
    let flags: Vec<&str> = STRICT.iter().flat_map(|(_, flag, value)| [*flag, *value]).collect();
    let (_, live) = play_loop(&other, behaviour, agent, &flags);
    let spent = |user: &crate::TestEnv| user.run(&["usage", "--json"]).expect_code(0).json()["total"].clone();
    let (before, after) = (spent(&env), spent(&other));
    let saved = |name: &str| before[name].as_f64().unwrap_or(0.0) - after[name].as_f64().unwrap_or(0.0);
    let expected = match strict["end"].as_str() {
        Some("sooner" | "other_reason") => &strict["would"],
        Some("same") => &strict["recorded"],
        // The recorded policy ended it before the stricter one could.
        _ => return [faults, unknown(strict, &live)].concat(),
    };
    for name in ["outcome", "iterations"] {
        if expected[name] != live[name] {
            faults.push(format!("{name}: {} by the replay, {} live", expected[name], live[name]));
        }
    }
    let row = &answer["policies"][1];
    for (replayed, counted) in [("saved_calls", "calls"), ("saved_usd", "cost_usd")] {
        let sum = row[replayed].as_f64().unwrap_or(0.0);
        if (sum - saved(counted)).abs() > 0.000_001 {
            faults.push(format!("{replayed}: {sum} by the replay, {} live", saved(counted)));
        }
    }
    let lost = u64::from(ended["outcome"] == "verified" && live["outcome"] != "verified");
    if row["lost"].as_u64() != Some(lost) && ended["outcome"] != "claimed" {
        faults.push(format!("lost: {} by the replay, {lost} live", row["lost"]));
    }
    faults
}

/// What cannot be known must go on live, where the recorded one ended.
fn unknown(strict: &Value, live: &Value) -> Vec<String> {
    let (before, after) = (strict["recorded"]["iterations"].as_u64(), live["iterations"].as_u64());
    let goes_on = strict["end"] == "cannot_be_known" && after >= before;
    if goes_on { Vec::new() } else { vec![format!("not known, but {after:?} iterations live: {strict}")] }
}
