//! Asking a loop that is at work: pause, resume, cancel, inject, set.
use loop_testkit::{TestEnv, wait_until};

use crate::{start, user};

/// Works until it is let go on, once an iteration.
const TURN: &str = "cat > prompt-$LOOP_ITERATION; touch at-$LOOP_ITERATION; \
                    while [ ! -e go-$LOOP_ITERATION ]; do sleep 0.02; done";

fn status(user: &TestEnv) -> String {
    user.run(&["status", &user.id(), "--json"]).json()["loops"][0]["status"].as_str().unwrap().to_owned()
}

#[test]
fn a_pause_holds_after_the_iteration_keeps_the_process_and_a_resume_goes_on() {
    // req: D-06
    let user = user();
    let running = user.begin(&start(TURN, "test -e at-2", &[]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    let ran = user.run(&["pause", &id]).expect_code(0);
    assert!(ran.out().contains("pauses after this iteration"), "{}", ran.text());
    assert_eq!(status(&user), "running", "the iteration goes on");
    user.write("work/go-1", "");
    wait_until("it holds", || status(&user) == "paused");
    let ran = user.run(&["pause", &id, "--wait"]).expect_code(0);
    assert!(ran.out().contains(": paused"), "{}", ran.text());
    assert!(!user.work().join("at-2").exists(), "nothing works");
    user.run(&["resume", &id[..4]]).expect_code(0);
    user.wait_for_file("work/at-2");
    user.write("work/go-2", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains(&format!("paused; resume with: loop resume {id}")), "{}", ran.text());
}

#[test]
fn a_cancel_ends_the_agent_now_and_the_loop_for_good() {
    // req: D-06 partly: without --rollback
    let user = user();
    let running = user.begin(&start("touch began; setsid sleep 300 & sleep 300", "false", &[]));
    user.wait_for_file("work/began");
    let id = user.id();
    user.run(&["cancel", &id, "--rollback", "--keep"]).expect_code(4);
    let ran = user.run(&["cancel", &id, "--wait"]).expect_code(0);
    assert!(ran.out().contains(": cancelled"), "{}", ran.text());
    let ran = running.end().expect_code(2);
    assert!(ran.out().starts_with("cancelled by loop cancel"), "{}", ran.text());
    assert_eq!((status(&user), user.marked(&id)), ("cancelled".to_owned(), vec![]));
    let ran = user.run(&["resume", &id]).expect_code(4);
    assert!(
        ran.err().contains("was cancelled") && !ran.err().contains("holds") && !ran.err().contains("passes"),
        "{}",
        ran.text()
    );
    let ran = user.run(&["cancel", &id]).expect_code(4);
    assert!(ran.err().contains("is not running"), "{}", ran.text());
}

#[test]
fn a_text_that_could_not_stay_is_refused() {
    let user = user();
    let running = user.begin(&start(TURN, "false", &["-n", "1"]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    for number in 0..64 {
        user.run(&["inject", &id, &format!("hint {number}"), "--keep"]).expect_code(0);
    }
    let refused = user.run(&["inject", &id, "one more", "--keep"]).expect_code(4);
    assert!(refused.err().contains("64 texts stay in every prompt already"), "{}", refused.text());
    user.run(&["inject", &id, "once"]).expect_code(0);
    user.run(&["cancel", &id]).expect_code(0);
    running.end().expect_code(2);
}

#[test]
fn injected_texts_stand_in_the_next_prompt_once_and_in_order() {
    // req: D-07
    let user = user();
    let running = user.begin(&start(TURN, "test -e at-3", &["-n", "3"]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    user.write("hint.md", "the second hint");
    let file = user.root().join("hint.md").display().to_string();
    user.run(&["inject", &id, "the first hint"]).expect_code(0);
    user.run(&["inject", &id, "--file", &file]).expect_code(0);
    let mut command = user.command(&["inject", &id, "-", "--keep"]);
    command.stdin(std::process::Stdio::piped());
    let child = loop_testkit::Running::of(command.spawn().unwrap(), user.root());
    child.feed(b"the third hint, for ever").end().expect_code(0);
    user.run(&["inject", &id, " "]).expect_code(4);
    user.run(&["inject", &id]).expect_code(4);
    for number in 1..=3 {
        user.write(&format!("work/go-{number}"), "");
    }
    running.end().expect_code(0);
    let second = user.read("work/prompt-2");
    let places: Vec<_> = ["first", "second", "third"].map(|word| second.find(&format!("the {word} hint"))).to_vec();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{second}");
    let third = user.read("work/prompt-3");
    assert!(!third.contains("the first hint") && third.contains("the third hint, for ever"), "{third}");
}

#[test]
fn a_setting_may_change_in_a_run_if_it_is_one_that_may() {
    let user = user();
    let running = user.begin(&start(TURN, "false", &["-n", "9"]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    for pair in ["promise=true", "max_iterations=0", "colour=blue", "timeout"] {
        let ran = user.run(&["set", &id, pair]).expect_code(4);
        assert!(ran.err().contains("because: "), "{}", ran.text());
    }
    let many: Vec<String> = (1..600).map(|number| format!("timeout={number}m")).collect();
    let long = format!("agent_cmd=echo {}", "\u{1}".repeat(3000));
    let mut words = vec!["set", id.as_str()];
    words.extend(many.iter().map(String::as_str));
    user.run(&words).expect_code(4);
    user.run(&["set", &id, &long]).expect_code(4);
    let ran = user.run(&["set", &id, "max_iterations=+3"]).expect_code(0);
    assert!(ran.out().contains("max_iterations = 12 from now on"), "{}", ran.text());
    user.run(&["set", &id, "max-iterations=1", "timeout=9m", "delay=0s"]).expect_code(0);
    user.write("work/go-1", "");
    let ran = running.end().expect_code(1);
    assert!(ran.out().contains("1 iteration done"), "{}", ran.text());
}

#[test]
fn a_loop_can_be_watched_from_elsewhere_while_it_works_and_afterwards() {
    // req: D-05 partly: plain text, without tokens and keys
    let user = user();
    let agent = "echo I am in $LOOP_ITERATION; printf '\\033[31mred\\n' >&2; touch at-$LOOP_ITERATION; \
                 while [ ! -e go-$LOOP_ITERATION ]; do sleep 0.02; done; echo bye";
    let running = user.begin(&start(agent, "test -e at-2", &[]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    let so_far = user.run(&["watch", &id]).expect_code(0).out();
    assert!(so_far.contains("I am in 1\n") && !so_far.contains("bye"), "{so_far}");
    let watcher = user.begin(&["watch", &id, "--follow"]);
    user.write("work/go-1", "");
    user.write("work/go-2", "");
    running.end().expect_code(0);
    let seen = watcher.end().expect_code(0).out();
    let words = [
        "before  promise: fail",
        "I am in 1",
        "red",
        "bye",
        "1/10  agent: exit 0",
        "I am in 2",
        "promise: pass",
        "done: the promise passes",
    ];
    let places: Vec<_> = words.iter().map(|word| seen.find(word)).collect();
    assert!(places.iter().all(Option::is_some), "{places:?} {seen}");
    assert!(places[1] < places[3] && places[3] < places[4] && places[4] < places[5], "in their order: {seen}");
    assert!(!seen.contains('\u{1b}'));
    assert_eq!(user.run(&["watch", &id, "--since", "2099-01-01"]).expect_code(0).out(), "");
}

#[test]
fn a_process_inside_the_loop_has_no_say_over_it() {
    let user = user();
    let agent = format!(
        "{} pause $LOOP_ID 2> said; setsid {} cancel $LOOP_ID 2>> said; true",
        env!("CARGO_BIN_EXE_loop"),
        env!("CARGO_BIN_EXE_loop")
    );
    let ran = user.run(&start(&agent, "test -e said", &["-n", "2"])).expect_code(0);
    let said = user.read("work/said");
    assert_eq!(said.matches("a process inside the loop may not send it requests").count(), 2, "{said} {}", ran.text());
}

#[test]
fn a_caller_that_is_gone_gets_no_say_and_silent_ones_shut_nobody_out() {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    let user = user();
    let running = user.begin(&start(TURN, "test -e go-1", &[]));
    user.wait_for_file("work/at-1");
    let socket = user.state().join(format!("run/{}.sock", user.id()));
    let silent: Vec<UnixStream> = (0..100).map(|_| UnixStream::connect(&socket).unwrap()).collect();
    user.run(&["inject", &user.id(), "heard all the same"]).expect_code(0);
    drop(silent);
    // Somebody who asks and goes away, as a child of an agent would.
    let mut gone = UnixStream::connect(&socket).unwrap();
    gone.write_all(b"{\"ask\":\"cancel\",\"by\":\"nobody\"}\n").unwrap();
    drop(gone);
    user.run(&["inject", &user.id(), "still there"]).expect_code(0);
    user.write("work/go-1", "");
    running.end().expect_code(0);
}

#[test]
fn a_delay_is_cut_short_by_a_resume_and_by_the_end_of_the_loops_time() {
    // req: C-03 partly: the delay
    let user = user();
    let running = user.begin(&start("echo x >> log", "test $(wc -l < log) -ge 2", &["--delay", "5m"]));
    user.wait_for_fact("\"hold\"");
    user.run(&["resume", &user.id()]).expect_code(0);
    running.end().expect_code(0);
    let short = crate::user();
    let ran = short.run(&start("true", "false", &["--delay", "5m", "--max-time", "700ms"])).expect_code(1);
    assert!(ran.out().contains("failed (time_limit)"), "{}", ran.text());
}

#[test]
fn a_runtime_folder_that_cannot_be_used_is_done_without() {
    let user = user();
    user.write("runtime/loop", "a file where the folder should be");
    let runtime = user.root().join("runtime");
    let user = user.with("XDG_RUNTIME_DIR", runtime);
    let running = user.begin(&start(TURN, "test -e go-1", &[]));
    user.wait_for_file("work/at-1");
    user.run(&["inject", &user.id(), "hello"]).expect_code(0);
    user.write("work/go-1", "");
    running.end().expect_code(0);
}

#[test]
fn a_loop_that_is_at_work_and_does_not_answer_is_exit_5() {
    // req: D-21 partly: roadmap and prd come later
    let user = user();
    let running = user.begin(&start(TURN, "test -e go-1", &[]));
    user.wait_for_file("work/at-1");
    let socket = user.state().join(format!("run/{}.sock", user.id()));
    std::fs::remove_file(&socket).unwrap();
    let ran = user.run(&["pause", &user.id()]).expect_code(5);
    assert!(ran.err().contains("does not listen"), "{}", ran.text());
    user.write("work/go-1", "");
    running.end().expect_code(0);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let user = user();
    let running = user.begin(&start(TURN, "test -e at-2", &[]));
    user.wait_for_file("work/at-1");
    let id = user.id();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (user, id) = (&user, &id);
            scope.spawn(move || {
                for number in 0..12 {
                    user.run(&["inject", id, &format!("text {writer}-{number}.")]).expect_code(0);
                }
            });
        }
    });
    user.write("work/go-1", "");
    user.write("work/go-2", "");
    running.end().expect_code(0);
    let prompt = user.read("work/prompt-2");
    for writer in 0..8 {
        let places: Vec<_> = (0..12).map(|number| prompt.find(&format!("text {writer}-{number}."))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "writer {writer}: {places:?}");
    }
    assert_eq!(prompt.matches("text ").count(), 96, "each once");
}

#[test]
fn waiting_for_a_pause_ends_when_somebody_else_ends_the_pause() {
    let user = user();
    let running = user.begin(&start(TURN, "test -e go-1", &[]));
    user.wait_for_file("work/at-1");
    let waiter = user.begin(&["pause", &user.id(), "--wait"]);
    user.wait_for_fact("\"pause\"");
    user.run(&["resume", &user.id()]).expect_code(0);
    let ran = waiter.end().expect_code(4);
    assert!(ran.err().contains("it was resumed before that"), "{}", ran.text());
    user.write("work/go-1", "");
    running.end().expect_code(0);
}

#[test]
fn a_pipe_is_read_to_its_end_and_one_that_nobody_writes_into_is_not_waited_for() {
    let user = user();
    let pipe = user.root().join("pipe").display().to_string();
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = user.run(&start("true", "true", &["--inject", &pipe])).expect_code(4);
    assert!(ran.err().contains("no program writes into it"), "{}", ran.text());
    let running = user.begin(&start(TURN, "test -e at-2", &[]));
    user.wait_for_file("work/at-1");
    user.run(&["inject", &user.id(), "--file", &pipe]).expect_code(4);
    let line = format!("( sleep 0.1; echo one; sleep 0.3; echo two ) > {pipe}");
    let mut writer = std::process::Command::new("sh").args(["-c", &line]).spawn().unwrap();
    user.run(&["inject", &user.id(), "--file", &pipe]).expect_code(0);
    writer.wait().unwrap();
    user.write("work/go-1", "");
    user.write("work/go-2", "");
    running.end().expect_code(0);
    assert!(user.read("work/prompt-2").contains("one\ntwo\n"), "{}", user.read("work/prompt-2"));
}
