//! What keeps a loop's processes together, as a user meets it.
use std::fs;

use loop_host::process::{descendants, identity};
use loop_testkit::wait_until;

use crate::{start, user};

/// The letter for the state of a process.
fn state_of(pid: i32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(')').next()?.trim_start().chars().next()
}

/// The processes of the command below a loop: who is not our own program.
fn commands_below(pid: u32) -> Vec<i32> {
    let own = fs::read_link(format!("/proc/{pid}/exe")).unwrap();
    let foreign = |pid: &i32| fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|program| program != own);
    descendants(i32::try_from(pid).unwrap()).into_iter().filter(foreign).collect()
}

fn ctrl_z_and_fg_in(mode: &str) {
    let user = user();
    let agent = "(setsid sleep 300 &); touch began; while [ ! -e go ]; do sleep 0.05; done";
    let running = user.begin(&start(agent, "false", &["-n", "1", "--containment", mode]));
    user.wait_for_file("work/began");
    let harness = i32::try_from(running.pid()).unwrap();
    running.signal("TSTP");
    let stopped = |pid: &i32| matches!(state_of(*pid), None | Some('T'));
    wait_until("all are stopped", || {
        let below = commands_below(running.pid());
        state_of(harness) == Some('T') && !below.is_empty() && below.iter().all(stopped)
    });
    user.write("work/go", "");
    running.signal("CONT");
    let ran = running.end().expect_code(1);
    assert!(ran.err().contains("agent: exit 0"), "{mode}: {}", ran.text());
}

#[test]
fn ctrl_z_stops_the_agent_with_all_that_it_started_and_fg_lets_them_go_on() {
    ctrl_z_and_fg_in("plain");
}

fn an_agent_kills_what_keeps_it_in(mode: &str) {
    let user = user();
    // The parent of the agent, and in the second iteration its parent too.
    let agent = "env -i setsid sleep 300 & sleep 0.1; echo $! >> pids; shim=$(awk '{print $4}' /proc/$PPID/stat); \
                 if [ $LOOP_ITERATION = 1 ]; then kill -9 $PPID; else kill -9 $shim $PPID; fi; sleep 300";
    let ran = user.run(&start(agent, "false", &["-n", "3", "--containment", mode])).expect_code(1);
    assert!(ran.err().contains("its processes have been ended"), "{mode}: {}", ran.text());
    let pids = user.read("work/pids");
    assert_eq!(pids.lines().count(), 3, "{mode}: {}", ran.text());
    for pid in pids.lines() {
        assert_eq!(identity(pid.parse().unwrap()), None, "{mode}: {}", ran.text());
    }
}

#[test]
fn an_agent_that_kills_what_keeps_it_is_ended_with_all_that_it_started_and_the_loop_goes_on() {
    an_agent_kills_what_keeps_it_in("plain");
}

#[test]
fn a_shim_that_is_stopped_is_let_go_on() {
    let user = user();
    let agent = "shim=$(awk '{print $4}' /proc/$PPID/stat); kill -STOP $shim $PPID";
    let ran = user.run(&start(agent, "false", &["-n", "3", "--containment", "plain"])).expect_code(1);
    assert_eq!(ran.err().matches("agent: exit 0").count(), 3, "{}", ran.text());
}

#[test]
fn doctor_says_how_processes_are_kept_together_and_what_is_not_caught() {
    let found = user().run(&["doctor", "--json"]).json();
    let containment =
        found["findings"].as_array().unwrap().iter().find(|found| found["name"] == "containment").unwrap();
    let words = containment["found"].as_str().unwrap();
    assert!(words.starts_with("cgroup\n") || words.starts_with("plain\n"), "{words}");
    assert!(words.contains("not caught: "), "{words}");
}

#[test]
fn a_dry_run_that_is_killed_leaves_its_promise_dead() {
    let user = user();
    let running =
        user.begin(&["start", "x", "--promise", "touch began; sleep 300", "--agent-cmd", "true", "--dry-run"]);
    user.wait_for_file("work/began");
    let below = descendants(i32::try_from(running.pid()).unwrap());
    running.signal("KILL");
    drop(running.end());
    wait_until("nobody is left", || below.iter().all(|pid| identity(*pid).is_none()));
}

fn another_containment_is_asked_for(modes: [&str; 4]) {
    let user = user();
    let agent = "touch at-$LOOP_ITERATION; while [ ! -e go-$LOOP_ITERATION ]; do sleep 0.02; done";
    let running = user.begin(&start(agent, "test -e go-4", &["-n", "4"]));
    for (iteration, mode) in (1..).zip(modes) {
        user.wait_for_file(&format!("work/at-{iteration}"));
        user.run(&["set", &user.id(), &format!("containment={mode}")]).expect_code(0);
        user.write(&format!("work/go-{iteration}"), "");
    }
    running.end().expect_code(0);
}

#[test]
fn another_containment_can_be_asked_for_while_a_loop_runs() {
    another_containment_is_asked_for(["plain", "auto", "plain", "auto"]);
}

#[test]
fn what_lives_below_something_marked_is_ended_by_the_next_command_even_without_a_mark() {
    let user = user();
    // The shell ends by itself when its own sleep is killed first: then nobody is left whom the other descends from.
    let agent = "env -i setsid sleep 300 & echo $! > pid; sleep 300 & touch began; wait $!";
    let running = user.begin(&start(agent, "false", &["--containment", "plain"]));
    user.wait_for_file("work/began");
    let pid = user.read("work/pid").trim().parse().unwrap();
    user.kill_all_of_ours(&user.id(), running);
    assert!(identity(pid).is_some());
    let ran = user.run(&["list"]).expect_code(0);
    assert!(ran.err().contains("ended 3 processes"), "{}", ran.text());
    wait_until("it is gone", || identity(pid).is_none());
}

/// With cgroups and namespaces of our own, which a container without privileges does not allow.
mod with_cgroups_and_namespaces {
    use super::*;

    #[test]
    fn ctrl_z_stops_the_agent_with_all_that_it_started_and_fg_lets_them_go_on() {
        ["cgroup", "namespace"].iter().for_each(|mode| ctrl_z_and_fg_in(mode));
    }

    #[test]
    fn an_agent_that_kills_what_keeps_it_is_ended_with_all_that_it_started_and_the_loop_goes_on() {
        an_agent_kills_what_keeps_it_in("cgroup");
    }

    #[test]
    fn another_containment_can_be_asked_for_while_a_loop_runs() {
        another_containment_is_asked_for(["cgroup", "namespace", "plain", "auto"]);
    }

    #[test]
    fn in_a_namespace_the_agent_sees_only_its_own_and_cannot_reach_what_keeps_it() {
        let user = user();
        let agent = "kill -9 1 $PPID; kill -9 -1; ls /proc | grep -c '^[0-9]' > seen; id -u > who";
        let ran = user.run(&start(agent, "test -s who", &["-n", "1", "--containment", "namespace"])).expect_code(0);
        assert!(user.read("work/seen").trim().parse::<u32>().unwrap() < 6, "{}", ran.text());
    }

    #[test]
    fn a_leftover_that_freezes_its_group_and_ours_with_it_does_not_hold_the_loop() {
        let user = user();
        // The init lives in the group of its order: frozen, it can tell nothing and is not stopped either.
        let agent = "group=$(grep -o '/loop-.*' /proc/self/cgroup | head -1); mount=$(awk '$9 == \"cgroup2\" || $10 == \"cgroup2\" {print $5; exit}' /proc/self/mountinfo); \
                 (trap '' TERM; sleep 0.1; echo 1 > $mount$group/cgroup.freeze; sleep 300) & sleep 0.05; touch ended";
        let ran = user.run(&start(agent, "test -e ended", &["-n", "1", "--containment", "cgroup"])).expect_code(0);
        assert!(ran.err().contains("its processes have been ended"), "{}", ran.text());
        assert_eq!(user.marked(&user.id()), Vec::<u32>::new());
    }

    #[test]
    fn where_proc_shows_another_namespace_or_nothing_a_start_is_refused() {
        for around in ["exec unshare -p -f \"$@\"", "exec unshare -m sh -c 'umount -l /proc && exec \"$@\"' sh \"$@\""]
        {
            let user = user();
            let words = start("touch began", "false", &["-n", "1"]);
            let mut command = std::process::Command::new("sh");
            command.args(["-c", around, "sh", env!("CARGO_BIN_EXE_loop")]).args(&words);
            user.apply_env(&mut command);
            let ran = loop_testkit::Running::of(command.spawn().unwrap(), user.root()).end().expect_code(4);
            assert!(ran.err().contains("what an agent starts could not be ended here"), "{}", ran.text());
            assert!(user.ids().is_empty() && !user.work().join("began").exists());
        }
    }
}
