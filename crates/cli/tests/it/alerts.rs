//! Alerts: told once for each cause, written for other programs, and a pause that a person ends.
use loop_testkit::TestEnv;
use serde_json::Value;

use crate::{start, user};

const PROGRAM: &str = env!("CARGO_BIN_EXE_loop");

/// An agent that says the same each time, and leaves a line.
const SAME: &str = "echo x >> log; echo same";

fn one(env: &TestEnv) -> Value {
    env.run(&["status", &env.id(), "--json"]).expect_code(0).json()["loops"][0].clone()
}

/// The lines of a file in the workspace, as JSON.
fn json_lines(env: &TestEnv, path: &str) -> Vec<Value> {
    env.read(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_critical_alert_pauses_the_loop_and_a_resume_brings_it_to_its_end() {
    // req: A-01 partly: alert_pause
    // req: A-14 partly: pause_on_critical
    let user = user();
    let more = ["-n", "unlimited", "--max-identical-output", "unlimited", "--pause-on-critical"];
    let ran = user.run(&start(SAME, "test $(wc -l < log) = 7", &more)).expect_code(1);
    let id = user.id();
    assert!(
        ran.err().contains("[CRITICAL] runaway_detected: the agent said the same 5 times in a row"),
        "{}",
        ran.text()
    );
    assert!(ran.out().starts_with("paused by a critical alert: the agent said the same"), "{}", ran.text());
    assert!(ran.out().contains(&format!("loop resume {id}   (when you have looked at it)")), "{}", ran.text());
    let row = one(&user);
    assert_eq!((&row["status"], &row["reason"]), (&"paused".into(), &"alert_pause".into()), "{row}");
    assert_eq!((&row["outcome"], &row["resumable"]), (&"paused".into(), &true.into()), "{row}");
    let shown = user.run(&["status", &id]).expect_code(0);
    assert!(shown.out().contains("paused") && shown.out().contains("[CRITICAL] runaway_detected"), "{}", shown.text());
    let resumed = user.run(&["resume", &id]).expect_code(0);
    assert!(!resumed.err().contains("CRITICAL"), "the same cause is not told again: {}", resumed.text());
    assert_eq!(one(&user)["iterations_done"], 7);
}

#[test]
fn the_autonomous_profile_writes_its_files_and_shows_its_lines() {
    // req: A-14 partly: the log
    // req: A-24 partly: without recovery
    // req: A-26 partly: markers are shown
    let user = user();
    let agent =
        "n=$(cat log 2>/dev/null | wc -l); echo line $n >> log; echo \"step $n <progress>part $n is done</progress>\"";
    let more = [
        "--profile",
        "autonomous",
        "--alert-every",
        "2",
        "--min-iteration-duration",
        "none",
        "--stuck-after",
        "unlimited",
        "--breaker",
        "off",
    ];
    let ran = user.run(&start(agent, "test $(wc -l < log) = 5", &more)).expect_code(0);
    let alerts = json_lines(&user, "work/.harness/alerts.log");
    let types: Vec<&str> = alerts.iter().map(|alert| alert["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["iteration_milestone", "iteration_milestone", "goal_complete"], "{alerts:?}");
    let keys: Vec<&String> = alerts[0].as_object().unwrap().keys().collect();
    for key in ["type", "severity", "message", "timestamp", "iteration", "context"] {
        assert!(keys.iter().any(|known| *known == key), "{key}: {alerts:?}");
    }
    assert_eq!((&alerts[2]["severity"], &alerts[2]["iteration"]), (&"SUCCESS".into(), &5.into()), "{alerts:?}");
    let log = user.read("work/.harness/harness.log");
    assert_eq!(log.matches(" starting (cli=custom, model=default)\n").count(), 5, "{log}");
    assert_eq!(log.matches(" complete (progress=").count(), 5, "{log}");
    assert!(log.contains("] Progress: part 3 is done\n") && log.lines().all(|line| line.starts_with("[20")), "{log}");
    let shown = ran.err();
    assert!(shown.contains("Iteration 5 starting (cli=custom, model=default)"), "{}", ran.text());
    assert_eq!(shown.matches("AUTONOMOUS LOOP STATUS").count(), 2, "{}", ran.text());
    assert!(shown.contains("║ • part 3 is done"), "{}", ran.text());
    assert!(shown.contains("[SUCCESS] goal_complete: ") && !shown.contains('\u{1b}'), "no colour: {}", ran.text());
    let status = user.run(&["status", &user.id()]).expect_code(0).out();
    let words = ["Task: ", "Status: COMPLETED", "Iteration: 5/unlimited", "CLI: custom (default)", "Elapsed: "];
    assert!(words.iter().all(|words| status.contains(words)), "{status}");
    assert!(status.contains("(last 5 avg)") && status.contains("Last marker: \"part 4 is done\""), "{status}");
    let changes = one(&user)["checkpoints"]["newest"].clone();
    assert!(!changes.is_null());
    let diff = user.run(&["diff", &user.id()]).expect_code(0).out();
    assert!(!diff.contains(".harness"), "what is published is no change: {diff}");
}

#[test]
fn plain_loop_start_publishes_nothing_and_has_no_milestones() {
    let user = user();
    let ran = user.run(&start("echo x >> log", "test $(wc -l < log) = 2", &[])).expect_code(0);
    assert!(!user.work().join(".harness").exists(), "{}", ran.text());
    assert!(!ran.err().contains("iteration_milestone") && !ran.err().contains("goal_complete"), "{}", ran.text());
}

#[test]
fn a_log_of_alerts_that_would_be_a_change_of_the_loop_is_refused() {
    let user = user();
    let ran = user.run(&start("true", "false", &["--alerts-log", "alerts.log"])).expect_code(4);
    assert!(ran.err().contains("alerts cannot be written to alerts.log"), "{}", ran.text());
    assert!(user.ids().is_empty());
    std::os::unix::fs::symlink(user.root(), user.work().join("out")).unwrap();
    let ran = user.run(&start("true", "false", &["--alerts-log", "out/alerts.log"])).expect_code(4);
    assert!(ran.err().contains("is a link in the workspace"), "{}", ran.text());
}

#[test]
fn alerts_on_a_terminal_have_their_colours_and_none_with_no_color() {
    // req: A-14 partly: colours
    let line = &(PROGRAM.to_owned()
        + " start 'do it' --promise 'test $(wc -l < log) = 7' --agent-cmd 'echo x >> log; echo same' \
                -n unlimited --max-identical-output unlimited --alerts --alert-every 6");
    let env = user();
    let (ran, screen) = env.on_a_terminal(line);
    drop(ran.expect_code(0));
    for (colour, words) in
        [("31", "[CRITICAL] runaway_detected"), ("34", "[INFO] iteration_milestone"), ("32", "[SUCCESS] goal_complete")]
    {
        assert!(screen.contains(&format!("\u{1b}[{colour}m{words}")), "{words}: {screen:?}");
    }
    let env = user().with("NO_COLOR", "1");
    let (ran, screen) = env.on_a_terminal(line);
    drop(ran.expect_code(0));
    assert!(screen.contains("[CRITICAL] runaway_detected") && !screen.contains("\u{1b}[31m"), "{screen:?}");
}

#[test]
fn the_users_git_does_not_show_the_folder_that_loop_makes_and_one_of_the_users_own_is_left_alone() {
    let user = user();
    user.run(&start(SAME, "test -e log", &["--harness-log"])).expect_code(0);
    assert_eq!(user.read("work/.harness/.gitignore"), "*\n");
    let other = crate::user();
    other.write("work/.harness/env", "");
    other.run(&start(SAME, "test -e log", &["--harness-log"])).expect_code(0);
    assert!(!other.work().join(".harness/.gitignore").exists());
    assert!(other.work().join(".harness/harness.log").exists());
}

#[test]
fn a_stuck_loop_is_told_in_the_log_and_its_human_rung_pauses_it() {
    // req: A-24 partly: recovery
    // req: A-14 partly: stuck_recovery
    let user = user();
    let ladder = ["--ladder", "mutate:decompose:1, human", "--stuck-after", "2"];
    let more = [&["--profile", "autonomous", "--min-iteration-duration", "none"][..], &ladder].concat();
    let ran = user.run(&start("echo the same words; true", "false", &more)).expect_code(1);
    let log = user.read("work/.harness/harness.log");
    assert!(log.contains("] STUCK DETECTED at iteration "), "{log}");
    assert!(log.contains("] Recovery: mutation - decompose\n") && log.contains("] Recovery: human - human\n"), "{log}");
    let alerts = json_lines(&user, "work/.harness/alerts.log");
    let last = alerts.last().unwrap();
    assert_eq!((&last["type"], &last["severity"]), (&"stuck_recovery".into(), &"CRITICAL".into()), "{alerts:?}");
    assert!(ran.out().starts_with("paused by a critical alert: Stuck after all recovery attempts"), "{}", ran.text());
    assert_eq!(one(&user)["reason"], "alert_pause");
}
