//! After a stop, a kill or an end without success: `loop resume`.
use crate::{start, user};

#[test]
fn a_loop_out_of_iterations_goes_on_with_more_of_them() {
    let user = user();
    user.run(&start("echo x >> log", "test $(wc -l < log) = 4", &["-n", "2"])).expect_code(1);
    let id = user.id();
    let ran = user.run(&["resume", &id[..4], "-n", "+1"]).expect_code(1);
    assert!(ran.out().contains("3 iterations done"), "{}", ran.text());
    user.run(&["resume", &id, "-n", "9"]).expect_code(0);
    assert_eq!(user.read("work/log").lines().count(), 4, "iterations are never done twice");
    let ran = user.run(&["resume", &id]).expect_code(4);
    assert!(ran.err().contains("is completed"), "{}", ran.text());
}

#[test]
fn a_killed_harness_leaves_a_crashed_loop_whose_agent_is_ended_on_resume() {
    // req: D-02
    let user = user();
    let agent = "echo $LOOP_ATTEMPT >> attempts; cat > prompt-$LOOP_ATTEMPT; \
                 if [ $LOOP_ATTEMPT = 1 ]; then (env -u LOOP_ID setsid sleep 300 &); touch began; sleep 300; fi; touch done";
    let running = user.begin(&start(agent, "test -e done", &["-n", "2"]));
    user.wait_for_file("work/began");
    let id = user.id();
    user.kill_all_of_ours(&id, running);
    assert!(!user.marked(&id).is_empty(), "the orphans live on");
    let ran = user.run(&["resume", &id]).expect_code(0);
    assert!(ran.err().contains("processes of an interrupted attempt"), "{}", ran.text());
    assert_eq!(user.marked(&id), Vec::<u32>::new());
    assert_eq!(user.read("work/attempts"), "1\n2\n");
    assert!(
        user.read("work/prompt-2").contains("Attempt 1 at this iteration was cut off"),
        "{}",
        user.read("work/prompt-2")
    );
    let history = user.run(&["history", &id, "--json"]).json();
    let outcomes: Vec<_> =
        history["iterations"][0]["attempts"].as_array().unwrap().iter().map(|row| row["outcome"].clone()).collect();
    assert_eq!(outcomes, ["interrupted", "ended"]);
    assert_eq!(history["iterations"].as_array().unwrap().len(), 1);
}

#[test]
fn what_a_killed_loop_left_running_is_ended_before_a_new_one_starts_or_its_records_go() {
    for command in ["start", "rm", "status", "list"] {
        let user = user();
        let running = user.begin(&start("touch began; (setsid sleep 300 &) ; sleep 300", "false", &[]));
        user.wait_for_file("work/began");
        let id = user.id();
        user.kill_all_of_ours(&id, running);
        assert!(!user.marked(&id).is_empty(), "the orphans live on");
        let ran = match command {
            "rm" | "status" => user.run(&[command, &id]),
            "list" => user.run(&["list"]),
            _ => user.run(&start("true", "true", &[])),
        };
        assert!(ran.expect_code(0).err().contains(&format!("processes that loop {id} had left running")), "{command}");
        assert_eq!(user.marked(&id), Vec::<u32>::new(), "{command}");
        if command != "rm" {
            let row = user.run(&["status", &id, "--json"]).json()["loops"][0].clone();
            assert_eq!((row["status"].as_str(), row["resumable"].as_bool()), (Some("crashed"), Some(true)), "{row}");
        }
    }
}

fn a_harness_is_killed_in(mode: &str) {
    let user = user();
    let agent =
        "(env -i setsid sleep 300 &); (setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' &); touch began; sleep 300";
    let running = user.begin(&start(agent, "false", &["--containment", mode]));
    user.wait_for_file("work/began");
    let below = loop_host::process::descendants(i32::try_from(running.pid()).unwrap());
    assert!(below.len() >= 6, "{mode}: {below:?}");
    running.signal("KILL");
    drop(running.end());
    // No command of ours comes by: the shim does it.
    loop_testkit::wait_until(&format!("nobody is left, {mode}"), || {
        below.iter().all(|pid| loop_host::process::identity(*pid).is_none())
    });
    let row = user.run(&["status", &user.id(), "--json"]).json()["loops"][0].clone();
    assert_eq!((row["status"].as_str(), row["resumable"].as_bool()), (Some("crashed"), Some(true)), "{row}");
}

#[test]
fn a_killed_harness_leaves_nothing_running_and_a_loop_to_go_on_with() {
    a_harness_is_killed_in("plain");
}

/// With cgroups and namespaces of our own, which a container without privileges does not allow.
mod with_cgroups_and_namespaces {
    #[test]
    fn a_killed_harness_leaves_nothing_running_and_a_loop_to_go_on_with() {
        ["cgroup", "namespace"].iter().for_each(|mode| super::a_harness_is_killed_in(mode));
    }
}

#[test]
fn a_limit_below_what_is_used_up_is_refused() {
    let user = user();
    user.run(&start("true", "false", &["-n", "2", "--max-time", "1h"])).expect_code(1);
    let id = user.id();
    for words in [["-n", "2"], ["-n", "1"], ["-n", "+0"], ["--max-time", "1ms"]] {
        let ran = user.run(&["resume", &id, words[0], words[1]]).expect_code(4);
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    }
    let ran = user.run(&["resume", &id, "-n", "+1", "--max-time", "+30m"]).expect_code(1);
    assert!(ran.err().contains("3 iterations · agent 5m · promise 10m · 1h30m in all"), "{}", ran.text());
    let detail = user.run(&["status", &id]).expect_code(0).out();
    assert!(detail.contains(&format!("next       loop resume {id} -n +5")), "{detail}");
}

#[test]
fn a_stop_file_refuses_a_resume_as_it_does_a_start() {
    // req: A-02 partly: waits and the time of a second are not measured
    let user = user();
    user.run(&start("true", "false", &["-n", "1", "--stop-file", "STOP"])).expect_code(1);
    user.write("work/STOP", "stop");
    user.run(&["resume", &user.id(), "-n", "+1"]).expect_code(4);
    user.run(&["resume", &user.id(), "-n", "+1", "--clear-stop"]).expect_code(1);
}

#[test]
fn a_workspace_that_is_gone_is_told_with_a_hint_that_helps() {
    let user = user();
    std::fs::create_dir(user.work().join("p")).unwrap();
    user.run(&start("true", "false", &["-n", "1", "--workspace", "p"])).expect_code(1);
    std::fs::remove_dir(user.work().join("p")).unwrap();
    let ran = user.run(&["resume", &user.id(), "-n", "+1"]).expect_code(4);
    assert!(ran.err().contains("put the folder back"), "{}", ran.text());
}

#[test]
fn work_that_a_killed_harness_did_not_see_finished_is_found_done_without_the_agent() {
    let user = user();
    let running = user.begin(&start("touch done; sleep 300", "test -e done", &[]));
    user.wait_for_file("work/done");
    running.signal("KILL");
    let _gone = running.end();
    let ran = user.run(&["resume", &user.id()]).expect_code(0);
    assert!(!ran.err().contains("custom at work"), "{}", ran.text());
}

#[test]
fn changed_settings_hold_from_then_on_and_others_are_refused() {
    let user = user();
    user.run(&start("cat > /dev/null", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    let ran =
        user.run(&["resume", &id, "-n", "+1", "--timeout", "9m", "--agent-cmd", "echo new >> log"]).expect_code(1);
    assert_eq!(user.read("work/log"), "new\n", "{}", ran.text());
    let row = user.run(&["status", &id, "--json"]).json()["loops"][0].clone();
    assert_eq!((row["settings"]["timeout"]["value"].as_str(), row["max_iterations"].as_u64()), (Some("9m"), Some(2)));
    for words in [["--promise", "true"], ["-n", "+x"], ["-n", "0"], ["--timeout", "+5"]] {
        let ran = user.run(&["resume", &id, words[0], words[1]]).expect_code(4);
        assert!(ran.err().contains("hint: "), "{}", ran.text());
    }
    let ran = user.run(&["resume", &id, "-n", "+1", "--max-time", "+1h"]).expect_code(1);
    assert!(ran.err().contains("3/3"), "{}", ran.text());
}

#[test]
fn a_file_that_changed_meanwhile_does_not_change_a_loop() {
    // req: C-25 partly: tasks and stories come later
    let user = user();
    user.write("home/.config/loop/config.toml", "timeout = \"8m\"\n");
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    user.write("home/.config/loop/config.toml", "timeout = \"1m\"\nmax_iterations = 3\n");
    let ran = user.run(&["resume", &user.id(), "-n", "+1"]).expect_code(1);
    assert!(ran.err().contains("up to 8m"), "{}", ran.text());
}

#[test]
fn a_person_may_finish_the_work_by_hand() {
    let user = user();
    user.run(&start("true", "test -e done", &["-n", "1"])).expect_code(1);
    user.write("work/done", "");
    let ran = user.run(&["resume", &user.id()]).expect_code(0);
    assert!(ran.out().contains("done: the promise passes"), "{}", ran.text());
}

#[test]
fn a_journal_of_a_later_version_may_be_looked_at_and_not_gone_on_with() {
    let user = user();
    user.run(&start("true", "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    let path = user.run_folder(&id).join("journal.jsonl");
    let mut text = std::fs::read_to_string(&path).unwrap();
    let seq = text.lines().count();
    text.push_str(&format!(
        "{{\"seq\":{seq},\"at\":{{\"wall\":1,\"boot\":1,\"id\":1}},\"fact\":{{\"dreamt\":{{}}}}}}\n"
    ));
    let text = crate::rechained(&text);
    std::fs::write(&path, &text).unwrap();
    user.run(&["history", &id]).expect_code(0);
    let ran = user.run(&["resume", &id]).expect_code(3);
    assert!(ran.err().contains("was written by a later version of loop"), "{}", ran.text());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "not a byte was touched");
}
