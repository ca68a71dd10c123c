//! Limits hold, from every layer.
use crate::{start, user};

#[test]
fn a_loop_out_of_iterations_says_so_and_how_to_go_on() {
    // req: D-01 partly: with a custom agent
    // req: D-21 partly: roadmap and prd come later
    let user = user();
    let ran = user.run(&start("echo x >> log", "false", &["-n", "3"])).expect_code(1);
    assert_eq!(user.read("work/log").lines().count(), 3);
    assert!(ran.out().contains(&format!("next:       loop resume {} -n +5", user.id())), "{}", ran.text());
    assert!(ran.out().contains("failed (iteration_limit)"), "{}", ran.text());
}

#[test]
fn at_the_end_of_the_loops_time_the_agent_is_ended_and_the_promise_asked_once_more() {
    // req: A-01 partly: without alert_pause
    // req: A-30 partly: without the roadmap
    let user = user();
    let ran = user.run(&start("touch x; sleep 300", "false", &["--max-time", "700ms"])).expect_code(1);
    assert!(ran.out().contains("failed (time_limit)"), "{}", ran.text());
    let kept = crate::user();
    let ran = kept.run(&start("touch x; sleep 300", "test -e x", &["--max-time", "4s"])).expect_code(0);
    assert!(ran.err().contains("time limit of the whole loop reached"), "{}", ran.text());
}

#[test]
fn no_agent_and_no_gate_that_does_not_want_to_end_makes_a_loop_longer_than_its_time() {
    // req: A-01 partly: without alert_pause
    let deaf = "trap '' TERM INT; for i in 1 2 3 4 5 6 7 8 9; do sleep 3; done";
    let limit = ["--max-time", "4s"];
    for (agent, gate) in [(deaf, "false"), ("sh deaf.sh", "false"), ("true", deaf), ("true", "sh deaf.sh")] {
        let user = user();
        user.write("work/deaf.sh", deaf);
        let ran = user.run(&start(agent, gate, &limit)).expect_code(1);
        assert!(ran.out().contains("failed (time_limit)"), "{}", ran.text());
        let status = user.run(&["status", "--json"]).expect_code(0).json()["loops"][0].clone();
        // Left to end as it likes it would get five seconds more.
        assert!(status["elapsed_seconds"].as_f64().unwrap() < 8.0, "{status}: {}", ran.text());
    }
}

#[test]
fn unlimited_lifts_the_iterations() {
    // req: A-30 partly: without the roadmap
    let user = user();
    let ran = user.run(&start("echo x >> log", "test $(wc -l < log) = 12", &["-n", "unlimited"])).expect_code(0);
    assert!(ran.err().contains("     12  promise: pass"), "{}", ran.text());
}

#[test]
fn a_loop_without_breaker_and_checkpoints_is_given_all_its_iterations() {
    // req: D-01 partly: with a custom agent
    let user = user();
    let words = ["-n", "12", "--checkpoint", "none", "--breaker", "off"];
    let ran = user.run(&start("true", "false", &words)).expect_code(1);
    assert!(ran.out().starts_with("not done: 12 iterations done and the promise fails"), "{}", ran.text());
    assert!(ran.err().contains("keeps     no checkpoints: no rollback, changes are only noticed ·"), "{}", ran.text());
}

#[test]
fn variables_are_the_defaults_of_flags_and_flags_win() {
    // req: D-22 partly: without LOOPD_SOCKET, which comes with loopd
    // req: C-25 partly: tasks and stories come later
    let user = user().with("LOOP_MAX_ITER", "2").with("LOOP_TIMEOUT", "9m").with("LOOP_AGENT", "custom");
    let ran = user.run(&start("true", "false", &[])).expect_code(1);
    assert!(ran.err().contains("2 iterations (LOOP_MAX_ITER) · agent 9m (LOOP_TIMEOUT)"), "{}", ran.text());
    let ran = user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    assert!(ran.err().contains("1 iteration · agent 9m (LOOP_TIMEOUT)"), "{}", ran.text());
    let bad = crate::user().with("LOOP_TIMEOUT", "5");
    let ran = bad.run(&start("true", "false", &[])).expect_code(4);
    assert!(ran.err().starts_with("error: LOOP_TIMEOUT: timeout cannot be \"5\""), "{}", ran.text());
}

#[test]
fn a_tripped_breaker_prints_a_way_out_that_works() {
    let user = user();
    let agent = "cat > ../prompt; if grep -q 'touch ok' ../prompt; then touch ok; fi";
    let ran = user.run(&start(agent, "test -e ok", &["--max-no-progress", "2"])).expect_code(1);
    let id = user.id();
    let next = format!("next:       loop inject {id} '…' && loop resume {id}");
    assert!(ran.out().contains(&next), "{}", ran.text());
    let ran = user.run(&["inject", &id, "create the file with touch ok"]).expect_code(0);
    assert!(ran.out().contains(&format!("next:       loop resume {id}")), "{}", ran.text());
    let ran = user.run(&["resume", &id]).expect_code(0);
    assert!(ran.out().starts_with("done: the promise passes"), "{}", ran.text());
    let ran = user.run(&["inject", &id, "more"]).expect_code(4);
    assert!(ran.err().contains("has ended and cannot be resumed"), "{}", ran.text());
}

#[test]
fn status_says_what_a_loop_is_doing_now() {
    let user = user();
    let agent = "touch began; while [ ! -e go ]; do sleep 0.05; done; touch ok";
    let running = user.begin(&start(agent, "test -e ok", &[]));
    user.wait_for_file("work/began");
    let id = user.id();
    user.run(&["inject", &id, "later"]).expect_code(0);
    let shown = user.run(&["status", &id]).expect_code(0);
    assert!(shown.out().contains("now        custom · "), "{}", shown.text());
    assert!(shown.out().contains("asked      1 text for the next prompt"), "{}", shown.text());
    let json = user.run(&["status", &id, "--json"]).expect_code(0).json()["loops"][0]["now"].clone();
    assert_eq!((&json["activity"], &json["agent"], &json["attempt"]), (&"agent".into(), &"custom".into(), &1.into()));
    assert_eq!((&json["limit_seconds"], &json["tool"]), (&300.0.into(), &serde_json::Value::Null), "{json}");
    assert_eq!(json["requests"], serde_json::json!([{"request": "inject", "texts": 1}]));
    user.write("work/go", "");
    running.end().expect_code(0);
    assert!(user.run(&["status", &id, "--json"]).expect_code(0).json()["loops"][0]["now"].is_null());
}

// req: RT-R15
#[test]
fn without_a_terminal_a_loop_whose_checkpoints_are_gone_ends_at_its_time_limit() {
    let user = user();
    let agent = "rm -rf \"$HOME/.local/state/loop/checkpoints\"";
    let ran = user.run(&start(agent, "false", &["-n", "1", "--max-time", "2s"])).expect_code(3);
    assert!(ran.err().contains("paused until that is fixed, for at most "), "{}", ran.text());
    assert!(ran.out().contains("it was not fixed within the time limit of 2s"), "{}", ran.text());
}

#[test]
fn of_two_limits_that_are_reached_the_next_command_raises_both() {
    let user = user();
    let ran = user.run(&start("echo x >> log", "false", &["-n", "1", "--max-cost", "4"])).expect_code(1);
    let id = user.id();
    assert!(ran.out().contains(&format!("next:       loop resume {id} -n +5 --max-cost +6.00\n")), "{}", ran.text());
}
