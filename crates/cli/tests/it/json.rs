//! The stable JSON, whole.
use expect_test::{expect, expect_file};

use crate::{start, user};

/// A user whose one loop ran out of iterations.
fn ended() -> loop_testkit::TestEnv {
    let user = user();
    user.run(&start("true", "test -e x", &["-n", "1", "--result", "result.json"])).expect_code(1);
    user
}

#[test]
fn list_and_status_have_their_documented_shape() {
    // req: D-04, D-10
    let user = ended();
    let list = user.run(&["list", "--json"]);
    expect![[r#"
        exit 0
        --- stdout
        {
          "version": 1,
          "loops": [
            {
              "id": "$ID",
              "status": "failed",
              "iteration": 1,
              "max_iterations": 1,
              "promise": "test -e x",
              "agent": "custom",
              "model": null,
              "elapsed_seconds": $SECONDS,
              "workspace": "$ROOT/work",
              "goal": "do it",
              "outcome": "exhausted",
              "qualification": null,
              "reason": "iteration_limit",
              "why": "1 iteration done and the promise fails",
              "resumable": true,
              "cost_usd": null,
              "tokens": null,
              "started_at": "$MOMENT",
              "updated_at": "$MOMENT",
              "bytes": $BYTES
              "waiting": null,
              "project": null,
              "agent_name": null,
              "thinned": false
            }
          ]
        }
        --- stderr
    "#]]
    .assert_eq(&list.text());
    let status = user.run(&["status", "--json"]).expect_code(0);
    assert_eq!(status.json(), list.json());
    let one = user.run(&["status", &user.id(), "--json"]).expect_code(0).json();
    for (key, value) in list.json()["loops"][0].as_object().unwrap() {
        assert_eq!(&one["loops"][0][key], value, "{key}");
    }
}

// req: D-09
#[test]
fn a_history_has_its_documented_shape() {
    let user = ended();
    let history = user.run(&["history", &user.id(), "--json"]);
    expect_file!["json/history.txt"].assert_eq(&history.text());
}

#[test]
fn a_result_has_its_documented_shape() {
    let user = ended();
    let history = user.run(&["history", &user.id(), "--json"]);
    expect![[r#"
        {
          "version": 1,
          "id": "$ID",
          "outcome": "exhausted",
          "qualification": null,
          "reason": "iteration_limit",
          "why": "1 iteration done and the promise fails",
          "verified": false,
          "iterations": 1,
          "gates": [
            {
              "name": "promise",
              "command": "test -e x",
              "exit_code": 1,
              "verdict": "fail",
              "duration_seconds": $SECONDS,
              "output_sha256": "$HASH"
            }
          ],
          "tree": "03646c2f629665c5d7a3bdf1b27bfd8155afd163",
          "cost_usd": null,
          "tokens": null,
          "started_at": "$MOMENT",
          "ended_at": "$MOMENT",
          "elapsed_seconds": $SECONDS,
          "exit_code": 1,
          "status_block": null,
          "tasks_claimed": 0,
          "files_claimed": 0,
          "recommendation": null,
          "error": null,
          "rate_limit_hit": false,
          "budget_hit": false,
          "certificate": null
        }
    "#]]
    .assert_eq(&history.same_everywhere(&user.read("work/result.json")));
}

#[test]
fn a_start_with_json_prints_events_and_nothing_else_on_stdout() {
    let user = user();
    let ran = user.run(&start("touch x", "test -e x", &["--json"])).expect_code(0);
    let events: Vec<serde_json::Value> = ran.out().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let first = ["created", "checkpoint", "gate_ended", "iteration_started", "agent_ended"];
    assert_eq!(names, [&first[..], &["checkpoint", "measured", "gate_ended", "ended"]].concat());
    assert!(events.iter().all(|event| event["version"] == 1 && event["at"].is_string()));
    assert_eq!((events[8]["verified"].as_bool(), events[0]["id"].as_str()), (Some(true), Some(user.id().as_str())));
}

#[test]
fn the_hash_of_a_gates_output_is_that_of_stdout_then_stderr() {
    let user = user();
    user.run(&start("true", "printf err >&2; printf out; exit 1", &["-n", "1", "--result", "r.json"])).expect_code(1);
    let result: serde_json::Value = serde_json::from_str(&user.read("work/r.json")).unwrap();
    // sha256sum of "outerr"
    let sum =
        std::process::Command::new("sh").args(["-c", "printf outerr | sha256sum | cut -d' ' -f1"]).output().unwrap();
    assert_eq!(result["gates"][0]["output_sha256"].as_str().unwrap(), String::from_utf8(sum.stdout).unwrap().trim());
}
