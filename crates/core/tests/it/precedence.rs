//! The list of precedence: its order, its pairs, and what happens where an entry does not apply.
use expect_test::expect;
use loop_core::run::decide::PRECEDENCE;

use crate::play::play_with;

const BASE: &str = "0 opened\n1 saved\n2 fail same\n3 agent-exit 1\n4 saved\n5 measured\n6 fail same\n\
                    7 agent-exit 1\n8 saved\n9 measured\n10 fail same\n11 agent-exit 1\n12 saved\n13 measured\n";

fn last_line(settings: &[(&str, &str)], script: &str) -> String {
    play_with(settings, script).lines().last().unwrap_or_default().to_owned()
}

#[test]
fn the_list_is_this_and_in_this_order() {
    let names: Vec<&str> = PRECEDENCE.iter().map(|rule| rule.name).collect();
    expect![[r#"
        abort asked
        host failure
        rollback asked
        blocked
        tamper that stops
        gates pass
        claimed, where there is no gate
        stop asked
        pause asked
        paused by a critical alert
        cap: iterations
        cap: time
        agent cannot work: login, billing or model
        cap: money
        cap: calls
        agent cannot work: crashes
        agent cannot work: gate unverifiable
        agent says that it is blocked
        recovery
        breaker
        wait
        next iteration"#]]
    .assert_eq(&names.join("\n"));
}

#[test]
fn an_abort_outranks_a_host_failure() {
    let line = last_line(&[], "0 opened\n1 abort\n2 failed disk full");
    assert_eq!(line, "2 END stopped (manual_stop): stopped by Ctrl-C");
}

#[test]
fn an_abort_outranks_gates_that_were_kept() {
    let line = last_line(&[], "0 opened\n1 saved\n2 abort\n3 pass");
    assert_eq!(line, "3 END stopped (manual_stop): stopped by Ctrl-C");
}

#[test]
fn gates_that_are_kept_outrank_a_stop() {
    // req: A-01 partly: without alert_pause, which has stories of its own
    let line = last_line(&[], "0 opened\n1 saved\n2 stop\n3 pass\n3 certified");
    assert!(line.starts_with("3 END verified"), "{line}");
}

#[test]
fn gates_that_are_kept_outrank_every_cap_and_streak() {
    let line = last_line(&[("max_iterations", "3"), ("max_time", "1s")], &format!("{BASE}5000 pass\n5000 certified"));
    assert!(line.starts_with("5000 END verified"), "{line}");
}

#[test]
fn a_stop_outranks_the_caps() {
    let line = last_line(&[("max_iterations", "3")], &format!("{BASE}14 stop\n15 fail same"));
    assert!(line.starts_with("15 END stopped"), "{line}");
}

#[test]
fn the_iteration_cap_outranks_the_time_cap() {
    let line = last_line(&[("max_iterations", "3"), ("max_time", "1s")], &format!("{BASE}5000 fail same"));
    assert!(line.starts_with("5000 END exhausted (iteration_limit)"), "{line}");
}

#[test]
fn the_time_cap_outranks_an_agent_that_cannot_work() {
    let line = last_line(&[("max_iterations", "9"), ("max_time", "1s")], &format!("{BASE}5000 fail same"));
    assert!(line.starts_with("5000 END exhausted (time_limit)"), "{line}");
}

#[test]
fn an_agent_that_crashes_outranks_a_gate_that_cannot_be_checked() {
    let script = BASE.replace("10 fail same", "10 gate-exit 127").replace("6 fail same", "6 gate-exit 127");
    let script = script.replace("2 fail same", "2 gate-exit 127");
    let script =
        format!("{}14 gate-exit 127", script.replace("9 measured", "9 changed 0").replace("5 measured", "5 changed 0"));
    // With two in a row the gate alone would have ended it: the third crash is never reached.
    let line = last_line(&[("max_iterations", "9")], &script);
    assert!(line.contains("the promise could not be checked"), "{line}");
    let late = script.replace("2 gate-exit", "2 fail").replace("6 gate-exit 127", "6 fail sh: make: not found");
    let late = late.replace("13 measured", "13 changed 0");
    let line = last_line(&[("max_iterations", "9")], &late);
    assert!(line.contains("the agent failed 3 times"), "{line}");
}

// Where nothing is set that would end it, a run goes on; the ladder comes later and never applies.

/// So many rounds of agent, checkpoint, measurement and gate, each as these words say.
fn rounds(count: u64, agent: &str, measured: &str, gate: &str) -> String {
    let mut script = String::from("0 opened\n1 saved\n2 fail same\n");
    for round in 0..count {
        let from = 3 + round * 4;
        script += &format!("{from} {agent}\n{} saved\n{} {measured}\n{} {gate}\n", from + 1, from + 2, from + 3);
    }
    script
}

const NO_LIMIT: &[(&str, &str)] = &[("max_iterations", "unlimited")];
const NO_BREAKER: &[(&str, &str)] = &[("max_iterations", "unlimited"), ("breaker", "off")];

#[test]
fn without_protected_files_a_kept_gate_counts_whatever_files_were_changed() {
    let line = last_line(&[], &rounds(1, "agent-ok", "changed 1", "pass\n6 certified"));
    assert!(line.starts_with("6 END verified"), "{line}");
}

#[test]
fn a_stop_outranks_a_pause_and_a_pause_outranks_the_caps() {
    let stop = last_line(&[], &format!("{BASE}14 pause\n15 stop\n16 fail same"));
    assert!(stop.starts_with("16 END stopped"), "{stop}");
    let pause = last_line(&[], &format!("{BASE}14 pause\n15 fail same"));
    assert_eq!(pause, "15 hold paused");
    let kept = last_line(&[], &format!("{BASE}14 pause\n15 pass\n15 certified"));
    assert!(kept.starts_with("15 END verified"), "{kept}");
}

#[test]
fn without_a_cap_no_cost_ends_a_run() {
    let line = last_line(NO_LIMIT, &rounds(50, "agent-ok", "changed 1", "fail"));
    assert_eq!(line, "202 agent 51.1");
}

#[test]
fn without_a_cap_no_number_of_calls_in_an_hour_ends_a_run() {
    let line = last_line(NO_LIMIT, &rounds(120, "agent-ok", "changed 1", "fail"));
    assert_eq!(line, "482 agent 121.1");
}

#[test]
fn a_failure_that_changed_something_is_only_told() {
    let line = last_line(NO_BREAKER, &rounds(5, "agent-exit 1", "changed 1", "fail"));
    assert_eq!(line, "22 agent 6.1 telling {agent_failed:{ended:exit 1}}");
}

#[test]
fn with_the_breaker_off_twenty_iterations_without_a_change_go_on() {
    let line = last_line(NO_BREAKER, &rounds(20, "agent-ok", "changed 0", "fail same"));
    assert_eq!(line, "82 agent 21.1");
}

#[test]
fn without_anything_to_wait_for_the_next_attempt_follows_at_once() {
    let line = last_line(NO_LIMIT, &rounds(1, "agent-exit 1", "changed 1", "fail"));
    assert_eq!(line, "6 agent 2.1 telling {agent_failed:{ended:exit 1}}", "at the moment of the gate's answer");
}

#[test]
fn never_yet_ladder_a_stuck_run_is_told_nothing_new() {
    let told = play_with(NO_BREAKER, &rounds(8, "agent-ok", "changed 0", "fail same"));
    assert!(!told.contains("telling"), "{told}");
}
