//! Stopping a loop: Ctrl-C, signals, the stop file.
use crate::{start, user};

const WAITING: &str = "touch began; while [ ! -e go ]; do sleep 0.02; done; echo x >> log";

#[test]
fn the_first_ctrl_c_stops_after_the_iteration_and_leaves_the_loop_paused() {
    // req: A-01 partly: without alert_pause
    let user = user();
    let running = user.begin(&start(WAITING, "false", &[]));
    user.wait_for_file("work/began");
    running.signal("INT");
    user.wait_for_fact("\"requested\"");
    user.write("work/go", "");
    let ran = running.end().expect_code(2);
    assert!(ran.out().starts_with("stopped after the iteration by Ctrl-C"), "{}", ran.text());
    assert!(ran.out().contains("stopped (manual_stop)") && !ran.out().contains("paused"), "{}", ran.text());
    assert_eq!(user.read("work/log"), "x\n");
    let ran = user.run(&["resume", &user.id(), "-n", "2"]).expect_code(1);
    assert_eq!(user.read("work/log"), "x\nx\n", "{}", ran.text());
}

#[test]
fn the_second_ctrl_c_and_signals_of_the_system_stop_now_and_nothing_is_left() {
    // req: A-01 partly: without alert_pause
    for signals in [&["INT", "INT"][..], &["TERM"], &["HUP"], &["QUIT"]] {
        let user = user();
        let running = user.begin(&start("touch began; setsid sleep 300 & sleep 300", "false", &[]));
        user.wait_for_file("work/began");
        for (count, signal) in signals.iter().enumerate() {
            running.signal(signal);
            let asked = if count == 0 && signals.len() == 2 { "\"stop\"" } else { "\"abort\"" };
            user.wait_for_fact(asked);
        }
        let ran = running.end().expect_code(2);
        assert!(ran.out().contains("stopped by"), "{}", ran.text());
        assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
        let row = user.run(&["list", "--json"]).json()["loops"][0].clone();
        assert_eq!((row["status"].as_str(), row["resumable"].as_bool()), (Some("paused"), Some(true)));
        let history = user.run(&["history", &user.id(), "--json"]).json();
        assert_eq!(history["iterations"][0]["outcome"], "cancelled");
    }
}

#[test]
fn a_loop_that_was_started_to_ignore_a_hangup_ignores_it() {
    let user = user();
    let mut command = std::process::Command::new("nohup");
    command.arg(env!("CARGO_BIN_EXE_loop")).args(start(WAITING, "test -e log", &[]));
    user.apply_env(&mut command);
    let running = loop_testkit::Running::of(command.spawn().unwrap(), user.root());
    user.wait_for_file("work/began");
    running.signal("HUP");
    user.write("work/go", "");
    running.end().expect_code(0);
}

#[test]
fn a_reader_that_pauses_stops_neither_deadlines_nor_the_loop() {
    let user = user();
    // Far more than a pipe holds, to somebody who does not read, and then an agent over its time.
    let agent = "head -c 3000000 /dev/zero | tr '\\0' 'x'; touch wrote; sleep 300";
    let child = user.command(&start(agent, "false", &["-v", "--timeout", "700ms", "-n", "1"])).spawn().unwrap();
    let running = loop_testkit::Running::of(child, user.root());
    user.wait_for_fact("\"concluded\"");
    running.end().expect_code(1);
}

#[test]
fn a_kept_promise_in_the_last_iteration_outranks_the_stop() {
    // req: A-01 partly: without alert_pause
    let user = user();
    let running = user.begin(&start(WAITING, "test -e log", &[]));
    user.wait_for_file("work/began");
    running.signal("INT");
    user.wait_for_fact("\"requested\"");
    user.write("work/go", "");
    running.end().expect_code(0);
}

#[test]
fn the_stop_file_says_stop_or_abort_is_taken_away_when_obeyed_and_left_otherwise() {
    // req: A-02 partly: waits and the time of a second are not measured
    for (word, code_words) in
        [("stop", "after the iteration by the stop file"), ("abort\n", "stopped by the stop file")]
    {
        let user = user();
        std::fs::create_dir(user.work().join(".harness")).unwrap();
        let running = user.begin(&start(WAITING, "false", &["--stop-file", ".harness/stop"]));
        user.wait_for_file("work/began");
        user.write("work/.harness/stop", "halt please");
        user.wait_for_fact("neither stop nor abort");
        assert!(user.work().join(".harness/stop").exists(), "another content is left");
        user.write("work/.harness/stop", word);
        user.wait_for_fact("the stop file\"");
        user.write("work/go", "");
        let ran = running.end().expect_code(2);
        assert!(ran.out().contains(code_words), "{}", ran.text());
        assert!(!user.work().join(".harness/stop").exists(), "taken away");
    }
}

#[test]
fn something_else_at_the_place_of_the_stop_file_is_reported_and_left() {
    // req: A-02 partly: waits and the time of a second are not measured
    let user = user();
    let running = user.begin(&start(WAITING, "test -e log", &["--stop-file", "STOP"]));
    user.wait_for_file("work/began");
    std::fs::create_dir(user.work().join("STOP")).unwrap();
    user.wait_for_fact("it is not a plain file");
    user.write("work/go", "");
    running.end().expect_code(0);
    assert!(user.work().join("STOP").is_dir());
}

#[test]
fn a_deadline_that_has_passed_wakes_nobody_again() {
    let user = user();
    let log = user.root().join("calls");
    let mut command = loop_testkit::strace(&["-e", "trace=?poll,?ppoll"], &log);
    let agent = "trap '' TERM; while :; do sleep 1; done";
    command.arg(env!("CARGO_BIN_EXE_loop")).args(start(agent, "false", &["--timeout", "200ms", "-n", "1"]));
    user.apply_env(&mut command);
    let ran = loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end();
    assert_eq!(ran.code, Some(1), "{}", ran.text());
    let polls = loop_testkit::Call::read(&log).len();
    assert!(polls < 100, "{polls} times awake for one timeout");
}

#[test]
fn a_stop_file_that_is_there_at_the_start_refuses_it_unless_cleared() {
    // req: A-02 partly: waits and the time of a second are not measured
    let user = user();
    user.write("work/STOP", "stop");
    let ran = user.run(&start("true", "true", &["--stop-file", "STOP"])).expect_code(4);
    assert!(ran.err().contains("the stop file") && ran.err().contains("--clear-stop"), "{}", ran.text());
    assert!(user.work().join("STOP").exists());
    user.run(&start("true", "false", &["--stop-file", "STOP", "--clear-stop", "-n", "1"])).expect_code(1);
    assert!(!user.work().join("STOP").exists());
    user.write("work/STOP", "stop");
    user.run(&["resume", &user.id(), "-n", "+1"]).expect_code(4);
    assert!(user.work().join("STOP").exists(), "it was cleared for that one start only");
    user.write("work/.harness/stop", "abort");
    user.run(&start("touch x", "test -e x", &[])).expect_code(0);
    assert!(user.work().join(".harness/stop").exists(), "off unless set");
}
