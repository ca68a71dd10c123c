//! Nothing that an agent started in a container outlives it, however it is ended and whoever is killed on the way.
use std::time::{Duration, Instant};

use loop_host::container::{self, ContainerRecord};
use loop_testkit::{Engine, IMAGE_WITHOUT_SHELL, Running, wait_at_most, wait_until};

use crate::containers::{BOX, Place};
use crate::{start, user};

/// An agent with a child, a grandchild in a session of its own, and one that forked twice and cleared its environment.
const FAMILY: &str = "sleep 301 & setsid sleep 302 & (env -i setsid sh -c 'env -i sleep 303 & exec sleep 304' &) ; \
                      sh -c 'setsid sh -c \"sleep 305 & sleep 306\" &'; touch began; wait; sleep 307";
/// The same with some who do not listen.
const DEAF: &str =
    "trap '' TERM; setsid sleep 302 & (env -i setsid sh -c 'while :; do sleep 308; done' &) ; touch began; sleep 307";

/// Ends the shell that waits beside the agent.
const BLIND: &str = "for file in /proc/[0-9]*; do case \"$(cat $file/cmdline 2>/dev/null)\" in \
                     *loop-wa[t]ch*) kill -9 ${file#/proc/};; esac; done; true";

/// Ends one as a run would; nobody may be left.
pub(crate) fn cancelled(place: &Place, run: &str) {
    let before = place.engine.processes(BOX);
    let running = place.begin(run, &["sh", "-c", FAMILY]);
    place.user.wait_for_file("work/began");
    std::fs::remove_file(place.user.work().join("began")).unwrap();
    running.signal("TERM");
    drop(running.end());
    assert!(place.ended(run) >= 6, "{} were seen", place.ended(run));
    nobody_but(place, &before);
}

/// The shell that waited beside the agent goes a moment later.
fn nobody_but(place: &Place, before: &[String]) {
    let gone = wait_at_most(Duration::from_secs(5), || place.engine.processes(BOX) == before);
    assert!(gone, "left: {:#?}", place.engine.processes(BOX));
}

#[test]
fn fifty_cancels_leave_nobody_in_the_container() {
    // req: C-01 partly: a cancel ends the whole tree inside the container
    let place = Place::docker();
    // Somebody else's, which nothing may happen to.
    drop(place.engine.run(&["exec", "--detach", BOX, "sleep", "1000"]));
    wait_until("the other one is there", || {
        place.engine.processes(BOX).iter().any(|line| line.ends_with("sleep 1000"))
    });
    for number in 0..50 {
        cancelled(&place, &format!("run{number}"));
    }
}

#[test]
fn those_who_do_not_listen_are_killed_in_time_and_another_run_in_the_same_container_is_spared() {
    let place = Place::docker();
    let other = place.begin("other", &["sh", "-c", "touch other; while [ ! -e go ]; do sleep 0.1; done; echo spared"]);
    place.user.wait_for_file("work/other");
    let before = place.engine.processes(BOX).len();
    let running = place.begin("deaf", &["sh", "-c", DEAF]);
    place.user.wait_for_file("work/began");
    let asked = Instant::now();
    running.signal("TERM");
    drop(running.end());
    // Whoever keeps us gives five seconds.
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    assert!(place.ended("deaf") >= 4);
    let few = || place.engine.processes(BOX).iter().filter(|line| !line.ends_with("sleep 0.1")).count() <= before;
    assert!(wait_at_most(Duration::from_secs(5), few), "{:#?}", place.engine.processes(BOX));
    place.user.write("work/go", "");
    assert_eq!(other.end().expect_code(0).out(), "spared\n");
}

#[test]
fn whoever_an_agent_leaves_behind_is_ended_and_counted_and_holds_nobody_up() {
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    // They hold its streams open.
    let begun = Instant::now();
    let ran = place.begin("left", &["sh", "-c", "setsid sleep 302 & (env -i sleep 303 &); echo done; exit 3"]).end();
    assert_eq!(ran.expect_code(3).out(), "done\n");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(place.ended("left"), 2);
    nobody_but(&place, &before);
    // It ends the shell that waits for its end.
    let angry = format!("trap '' TERM; setsid sleep 302 & {BLIND}; echo angry");
    let ran = place.begin("angry", &["sh", "-c", &angry]).end();
    assert_eq!(ran.expect_code(0).out(), "angry\n");
    assert_eq!(place.ended("angry"), 1);
    nobody_but(&place, &before);
}

#[test]
fn a_container_that_is_ended_under_an_agent_is_said_to_be_the_reason() {
    let place = Place::docker();
    let running = place.begin("stopped", &["sh", "-c", FAMILY]);
    place.user.wait_for_file("work/began");
    drop(place.engine.run(&["kill", BOX]));
    let ran = running.end().expect_code(125);
    assert!(ran.err().contains("the container has stopped"), "{}", ran.text());
    let gone = container::clean(&place.engine.socket(), BOX, "stopped");
    assert_eq!((gone.ended, gone.left.len()), (0, 0));
}

/// Kills one of ours, and waits for its streams.
fn kill(running: Running) {
    running.signal("KILL");
    drop(running.end());
}

#[test]
fn when_we_are_killed_nobody_is_left_in_the_container_either() {
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let running = place.begin("killed", &["sh", "-c", DEAF]);
    place.user.wait_for_file("work/began");
    kill(running);
    let gone = wait_at_most(Duration::from_secs(20), || place.engine.processes(BOX) == before);
    assert!(gone, "left: {:#?}", place.engine.processes(BOX));

    // And if nobody was there to see it: the next command knows where they are.
    std::fs::remove_file(place.user.work().join("began")).unwrap();
    let running = place.begin("killed", &["sh", "-c", FAMILY]);
    place.user.wait_for_file("work/began");
    drop(place.engine.run(&["exec", BOX, "sh", "-c", BLIND]));
    kill(running);
    let alive = || place.engine.processes(BOX).iter().any(|line| line.ends_with("sleep 301"));
    assert!(alive(), "without the shell they live on: {:#?}", place.engine.processes(BOX));
    let folder = place.user.root().join("run");
    std::fs::create_dir(&folder).unwrap();
    let (socket, workdir) = (place.engine.socket(), "/inside".to_owned());
    let kept = ContainerRecord { socket, container: BOX.into(), run: "killed".into(), workdir, own: false };
    kept.write(&folder).unwrap();
    let gone = ContainerRecord::read(&folder).unwrap().clean();
    assert!(gone.ended >= 6 && gone.left.is_empty(), "{gone:?}");
    nobody_but(&place, &before);
    kept.remove(&folder).unwrap();
    assert_eq!((ContainerRecord::read(&folder), kept.clean().ended), (None, 0));
}

#[test]
fn a_container_without_a_shell_is_cleaned_from_outside() {
    let engine = Engine::docker();
    let user = user();
    let mount = format!("{}:/inside", user.work().display());
    let words =
        ["run", "--detach", "--name", BOX, "--network", "none", "--volume", &mount, "--init", IMAGE_WITHOUT_SHELL];
    drop(engine.run(&[&words[..], &["/bin/busybox", "sleep", "100000"]].concat()));
    let found = container::check(&engine.socket(), BOX, &user.work()).unwrap();
    assert!(found.warnings.len() == 1 && found.warnings[0].contains("no /bin/sh"), "{found:?}");
    let place = Place { engine, user };
    let running = place.begin(
        "bare",
        &[
            "/bin/busybox",
            "setsid",
            "/bin/busybox",
            "sh",
            "-c",
            "/bin/busybox setsid /bin/busybox sleep 302 & /bin/busybox touch began; /bin/busybox sleep 303",
        ],
    );
    place.user.wait_for_file("work/began");
    running.signal("TERM");
    drop(running.end());
    assert!(place.ended("bare") >= 2, "{}", place.ended("bare"));
    let list = place.engine.run(&["top", BOX]);
    assert!(!list.contains("sleep 30"), "{list}");
}

#[test]
fn a_loop_ends_its_agent_in_a_container_at_the_timeout_and_when_it_is_killed_itself() {
    // req: C-01 partly: a timeout ends the process in the container, by a command of the user
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let program = env!("CARGO_BIN_EXE_loop");
    let words = place.words("timed", &["sh", "agent.sh"]);
    let agent = format!("{program} {}", words.join(" "));
    place.user.write("work/agent.sh", DEAF);
    let ran = place.user.run(&start(&agent, "false", &["--timeout", "3s", "-n", "1"])).expect_code(1);
    assert!(ran.err().contains("time"), "{}", ran.text());
    assert!(place.user.work().join("began").exists(), "{}", ran.text());
    nobody_but(&place, &before);

    std::fs::remove_file(place.user.work().join("began")).unwrap();
    let running = place.user.begin(&start(&agent, "false", &["-n", "1"]));
    place.user.wait_for_file("work/began");
    kill(running);
    let gone = wait_at_most(Duration::from_secs(20), || place.engine.processes(BOX) == before);
    assert!(gone, "left: {:#?}", place.engine.processes(BOX));
}
