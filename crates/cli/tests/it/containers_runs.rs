//! Whole loops whose agent works in a container: in one that runs already, and in one of the run's own.
use std::fs;
use std::time::Duration;

use loop_testkit::{Engine, IMAGE, Ran, Running, TestEnv, wait_at_most, wait_until};
use serde_json::Value;

use crate::containers::{BOX, Place};
use crate::user;

/// Several of one family, some of whom left it; the agent itself does not end.
const FAMILY: &str =
    "setsid sleep 302 & (env -i setsid sleep 303 &) ; sh -c 'sleep 304 & sleep 305' & touch began; sleep 307";

impl Place {
    /// The words of a start in the container.
    fn start<'a>(&self, promise: &'a str, more: &[&'a str]) -> Vec<String> {
        self.start_in(&["--container", BOX], promise, more)
    }

    fn start_in(&self, place: &[&str], promise: &str, more: &[&str]) -> Vec<String> {
        let socket = self.engine.socket();
        let words = ["start", "do it", "-p", promise, "--container-socket", socket.to_str().unwrap()];
        [&words, place, more].concat().into_iter().map(str::to_owned).collect()
    }

    /// A start with a command of the user's.
    fn command<'a>(&self, agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<String> {
        self.start(promise, &[&["--agent-cmd", agent], more].concat())
    }

    fn history(&self) -> Value {
        self.user.run(&["history", &self.user.id(), "--json"]).expect_code(0).json()
    }

    /// Nobody is in the container but those who were, a moment later at most.
    fn nobody_but(&self, before: &[String]) {
        let gone = wait_at_most(Duration::from_secs(5), || self.engine.processes(BOX) == before);
        assert!(gone, "left: {:#?}", self.engine.processes(BOX));
    }

    /// All containers, also those that do not run.
    fn containers(&self) -> Vec<String> {
        let names = self.engine.run(&["ps", "--all", "--format", "{{.Names}}"]);
        names.lines().map(str::to_owned).collect()
    }

    fn record(&self) -> std::path::PathBuf {
        self.user.run_folder(&self.user.id()).join("container.json")
    }
}

#[test]
fn a_loop_works_in_a_container_by_a_command_of_the_users() {
    // req: C-01 partly: start with --container, stdout and stderr told apart, exit code
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let agent = "cat > prompt-$LOOP_ITERATION; pwd > where; env | sort > variables; cmp prompt-$LOOP_ITERATION \
                 $LOOP_PROMPT_FILE && touch same; echo said; echo aside >&2; [ $LOOP_ITERATION = 2 ] && touch done; exit 3";
    let words = place.command(agent, "test -e done", &["--agent-env", "GIVEN=1,PASSED", "-n", "3"]);
    let mut command = place.user.command(&words);
    let child = command.env("PASSED", "2").env("CARGO_HOME", "/outside").spawn().unwrap();
    let ran = Running::of(child, place.user.root()).end().expect_code(0);
    assert!(ran.err().contains("custom in container box:"), "{}", ran.text());
    assert!(ran.err().contains("agent: exit 3"), "{}", ran.text());
    assert_eq!(place.user.read("work/where"), "/inside\n");
    assert!(place.user.work().join("same").exists(), "the prompt file is there too");
    assert!(place.user.read("work/prompt-2").contains("<task>\ndo it\n</task>"));
    let variables = place.user.read("work/variables");
    for line in ["GIVEN=1", "PASSED=2", "LOOP_ITERATION=2", "LOOP_ATTEMPT=1"] {
        assert!(variables.lines().any(|seen| seen == line), "{line}: {variables}");
    }
    let outside = place.user.root().display().to_string();
    assert!(!variables.contains(&outside) && !variables.contains("CARGO_HOME"), "{variables}");
    let attempt = place.user.run_folder(&place.user.id()).join("iterations/000002/attempt-1");
    let file = |name: &str| fs::read_to_string(attempt.join(name)).unwrap();
    assert_eq!((file("stdout/head").as_str(), file("stderr/head").as_str()), ("said\n", "aside\n"));
    place.nobody_but(&before);
    assert!(!place.record().exists(), "nothing is left to be ended");
    let files = place.engine.run(&["exec", BOX, "ls", "/loop-files"]);
    assert_eq!(files, "", "the prompt does not stay in the container");
}

/// Puts a program into the container that says what a real claude once said.
fn install_claude(place: &Place) {
    let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/transcripts/claude/accept-edits.stdout");
    let program = "#!/bin/sh\ncat > prompt; printf '%s\\n' \"$@\" > arguments; env > variables; touch hello.txt\n\
                   cat /recording\n";
    let files = [("/recording".to_owned(), fs::read(recording).unwrap()), ("/bin/claude".to_owned(), program.into())];
    loop_host::container::put(&place.engine.socket(), BOX, &files).unwrap();
    drop(place.engine.run(&["exec", BOX, "chmod", "755", "/bin/claude"]));
}

#[test]
fn the_container_profile_goes_on_with_one_conversation_until_the_agent_gives_its_signal() {
    // req: C-02 partly: first the prompt, then the same conversation, in a container
    // req: C-21 partly: with --container
    let place = Place::docker();
    let program = r#"#!/bin/sh
[ "$1" = --version ] && { echo '2.1.197 (Claude Code)'; exit 0; }
cat > /dev/null; printf '%s\n' "$@" > /arguments; cat /arguments >> /all
say="---LOOP_STATUS---\nSTATUS: COMPLETE\nTASKS_COMPLETED_THIS_LOOP: 1\nFILES_MODIFIED: 0\nCOMPLETION_INDICATORS: 1\nTESTS_STATUS: NOT_RUN\nWORK_TYPE: IMPLEMENTATION\nEXIT_SIGNAL: true\nRECOMMENDATION: none\n---END_LOOP_STATUS---\n"
echo '{"type":"system","subtype":"init","session_id":"5e551017-0000-4000-8000-000000000001","model":"m"}'
printf '{"type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$say"
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","num_turns":1,"session_id":"5e551017-0000-4000-8000-000000000001"}\n' "$say"
"#;
    let files = [("/bin/claude".to_owned(), program.as_bytes().to_vec())];
    loop_host::container::put(&place.engine.socket(), BOX, &files).unwrap();
    drop(place.engine.run(&["exec", BOX, "chmod", "755", "/bin/claude"]));
    let socket = place.engine.socket();
    let words = ["start", "do it", "--profile", "container", "--container", BOX, "--loop-delay-seconds", "1"];
    let more = ["--container-socket", socket.to_str().unwrap(), "--agent-name", "bob"];
    let ran = place.user.run(&[&words[..], &more].concat()).expect_code(0);
    assert!(
        ran.out().starts_with("done, claimed by the agent, not verified: the agent says 2 times in a row"),
        "{}",
        ran.text()
    );
    assert!(
        ran.err().contains("1/50  COMPLETE, exit signal") && ran.err().contains("99 of 100 calls left"),
        "{}",
        ran.text()
    );
    let all = place.engine.run(&["exec", BOX, "cat", "/all"]);
    assert_eq!(all.matches("--resume\n5e551017-0000-4000-8000-000000000001").count(), 1, "{all}");
}

#[test]
fn an_agent_that_loop_knows_is_driven_in_a_container_as_it_is_elsewhere() {
    // req: C-01 partly: an adapter's words, session and usage from inside a container
    let place = Place::docker();
    let words = place.start("test -e hello.txt", &["--agent", "claude", "--secrets", "OTHER"]);
    let ran = place.user.run(&words).expect_code(4);
    assert!(ran.err().contains("claude is not installed in the container box"), "{}", ran.text());
    assert_eq!(place.user.ids(), Vec::<String>::new());
    install_claude(&place);
    let dry = place.user.run(&[&words[..], &["--dry-run".to_owned()]].concat()).expect_code(0);
    assert!(dry.out().contains("in container box"), "{}", dry.text());
    let key = "sk-ant-only-in-the-container";
    let mut command = place.user.command(&words);
    let child = command.env("ANTHROPIC_API_KEY", key).env("OTHER", "1").spawn().unwrap();
    let ran = Running::of(child, place.user.root()).end().expect_code(0);
    assert!(ran.err().contains("claude in container box · edits and runs commands here"), "{}", ran.text());
    let history = place.history();
    let iteration = &history["iterations"][0];
    assert_eq!(iteration["session"], "2eb73acb-0e34-4381-bc77-1af1fe161dde", "{history}");
    assert_eq!(
        (&iteration["usage"]["input_tokens"], &iteration["usage"]["turns"]),
        (&1400.into(), &3.into()),
        "{history}"
    );
    let variables = place.user.read("work/variables");
    assert!(variables.contains(&format!("ANTHROPIC_API_KEY={key}")) && !variables.contains("OTHER="), "{variables}");
    let arguments = place.user.read("work/arguments");
    assert!(!arguments.contains(&place.user.root().display().to_string()), "no path of ours: {arguments}");
    // The key went in, and stands in no file of ours.
    let found = std::process::Command::new("grep").arg("-rl").arg(key).arg(place.user.state()).output().unwrap();
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    assert!(found.lines().all(|path| path.contains("/checkpoints/")), "{found}");
}

#[test]
fn the_timeout_of_an_agent_and_a_cancel_leave_nobody_in_the_container() {
    // req: C-01 partly: timeout and cancel of a whole loop
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let ran = place.user.run(&place.command(FAMILY, "false", &["--timeout", "3s", "-n", "1"])).expect_code(1);
    assert!(ran.err().contains("time limit of 3s reached: ending the agent"), "{}", ran.text());
    assert!(place.user.work().join("began").exists(), "{}", ran.text());
    place.nobody_but(&before);
    place.user.run(&["rm", &place.user.id()]).expect_code(0);

    fs::remove_file(place.user.work().join("began")).unwrap();
    let running = place.user.begin(&place.command(FAMILY, "false", &["-n", "1"]));
    place.user.wait_for_file("work/began");
    place.user.run(&["cancel", &place.user.id()]).expect_code(0);
    drop(running.end());
    place.nobody_but(&before);
    place.user.run(&["rm", &place.user.id()]).expect_code(0);

    // Whoever is left by an agent that ended is ended before the promise is asked, and counted.
    let ran =
        place.user.run(&place.command("setsid sleep 302 & (env -i sleep 303 &); sleep 0.1", "false", &["-n", "1"]));
    assert!(ran.err().contains("ended 2 processes that it left running"), "{}", ran.text());
    place.nobody_but(&before);
}

#[test]
fn an_agent_that_shows_no_sign_of_life_in_a_container_is_ended() {
    let place = Place::docker();
    // What our own program does to pass this on is no sign of life, or the first look would see one.
    let agent = "head -c 30000000 /dev/zero; sleep 300";
    let ran = place.user.run(&place.command(agent, "false", &["--idle-timeout", "8s", "-n", "1"])).expect_code(1);
    assert!(ran.err().contains("no sign of life for 8s"), "{}", ran.text());
    let seconds = place.history()["iterations"][0]["duration_seconds"].as_f64().unwrap();
    assert!(seconds < 15.0, "{seconds}");
}

#[test]
fn a_loop_that_was_killed_goes_on_in_its_container_and_nobody_of_before_works_there() {
    // req: C-01 partly: the harness is killed and the loop resumed
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let agent = format!(
        "[ -e again ] && {{ ps -o args | grep '^sleep 30' > ghosts; touch done; exit; }}; touch again; {FAMILY}"
    );
    let running = place.user.begin(&place.command(&agent, "test -e done", &["-n", "3"]));
    place.user.wait_for_file("work/began");
    // With the shell that would have ended them: they live on.
    drop(place.engine.run(&["exec", BOX, "sh", "-c", BLIND]));
    place.user.kill_all_of_ours(&place.user.id(), running);
    let alive = || place.engine.processes(BOX).iter().any(|line| line.ends_with("sleep 303"));
    assert!(alive(), "{:#?}", place.engine.processes(BOX));
    assert!(place.record().exists());
    let ran = place.user.run(&["resume", &place.user.id()]).expect_code(0);
    assert_eq!(place.user.read("work/ghosts"), "", "nobody of before was there: {}", ran.text());
    place.nobody_but(&before);
    assert!(!place.record().exists());
}

#[test]
fn whatever_command_comes_next_ends_what_a_killed_loop_left_in_its_container() {
    let place = Place::docker();
    let before = place.engine.processes(BOX);
    let running = place.user.begin(&place.command(FAMILY, "false", &["-n", "1"]));
    place.user.wait_for_file("work/began");
    drop(place.engine.run(&["exec", BOX, "sh", "-c", BLIND]));
    place.user.kill_all_of_ours(&place.user.id(), running);
    let ran = place.user.run(&["status"]).expect_code(0);
    assert!(ran.err().contains("that loop") && ran.err().contains("had left running"), "{}", ran.text());
    place.nobody_but(&before);
    place.user.run(&["rm", &place.user.id()]).expect_code(0);
}

/// Ends the shell that waits beside the agent, as soon as it is there.
const BLIND: &str = "for try in $(seq 300); do found=; for file in /proc/[0-9]*; do \
                     case \"$(cat $file/cmdline 2>/dev/null)\" in *loop-wa[t]ch*) kill -9 ${file#/proc/} && found=1;; \
                     esac; done; [ -z $found ] || exit 0; sleep 0.1; done; exit 1";

#[test]
fn an_image_is_a_container_for_the_time_of_the_loop_without_a_network() {
    // req: C-01 partly: --image, gone at the end
    let place = Place::docker();
    let image = ["--image", IMAGE];
    let agent = "pwd > where; id -u > who; ls /sys/class/net > network; echo $HOME > home; touch began; \
                 while [ ! -e go ]; do sleep 0.1; done; touch done";
    let running = place.user.begin(&place.start_in(&image, "test -e done", &["--agent-cmd", agent]));
    place.user.wait_for_file("work/began");
    let name = format!("loop-{}", place.user.id());
    assert!(place.containers().contains(&name), "{:?}", place.containers());
    let told = place.engine.run(&["inspect", "--format", "{{.HostConfig.NetworkMode}} {{len .Mounts}}", &name]);
    assert_eq!(told, "none 1", "the workspace is all that is mounted");
    place.user.write("work/go", "");
    let ran = running.end().expect_code(0);
    assert!(ran.err().contains(&format!("custom in a container of {IMAGE}:")), "{}", ran.text());
    assert_eq!(place.user.read("work/where").trim(), place.user.work().canonicalize().unwrap().display().to_string());
    assert_eq!(place.user.read("work/network"), "lo\n");
    assert_eq!(place.user.read("work/home"), "/loop-home\n");
    assert_eq!(place.containers(), [BOX], "it is gone");
    assert!(!place.record().exists());
}

#[test]
fn the_container_of_a_loop_that_was_killed_is_removed_by_the_next_command_and_made_anew_by_resume() {
    // req: C-01 partly: --image, gone after a crash
    let place = Place::docker();
    let agent = format!("[ -e again ] && touch done && exit; touch again; {FAMILY}");
    let words = place.start_in(&["--image", IMAGE], "test -e done", &["--agent-cmd", &agent]);
    for next in ["status", "resume", "rm"] {
        for file in ["again", "done", "began"] {
            fs::remove_file(place.user.work().join(file)).ok();
        }
        let running = place.user.begin(&words);
        place.user.wait_for_file("work/began");
        let id = place.user.id();
        place.user.kill_all_of_ours(&id, running);
        assert!(place.containers().contains(&format!("loop-{id}")), "{:?}", place.containers());
        let words = if next == "status" { vec![next] } else { vec![next, &id] };
        place.user.run(&words).expect_code(0);
        assert_eq!(place.containers(), [BOX], "after {next}");
        if next == "status" {
            place.user.run(&["resume", &id]).expect_code(0);
        }
        assert_eq!(place.containers(), [BOX], "after {next}");
        if next != "rm" {
            place.user.run(&["rm", &id]).expect_code(0);
        }
    }
}

/// A start that is refused, and nothing is made.
fn refused(user: &TestEnv, words: &[String], told: &[&str]) -> Ran {
    let ran = user.run(words).expect_code(4);
    for word in told {
        assert!(ran.err().contains(word), "{word}: {}", ran.text());
    }
    assert!(ran.err().contains("hint: "), "{}", ran.text());
    assert_eq!(user.ids(), Vec::<String>::new(), "{}", ran.text());
    ran
}

#[test]
fn a_container_in_which_nobody_can_work_is_refused_before_anything_is_made() {
    // req: C-01 partly: refusals
    let place = Place::docker();
    let agent = ["--agent-cmd", "touch ran"];
    let start = |words: &[&str]| place.start_in(words, "true", &agent);
    let no = |words: &[&str], told: &[&str]| drop(refused(&place.user, &start(words), told));
    no(&["--container", "nobody"], &["no container nobody"]);
    no(&["--container", BOX, "--image", IMAGE], &["--container and --image are both given"]);
    no(&["--image", "no-such-image"], &["no container of the image no-such-image", "docker pull no-such-image"]);
    let known = |words: &[&str], told: &[&str]| {
        drop(refused(&place.user, &place.start_in(words, "true", &[]), told));
    };
    let claude = ["--image", IMAGE, "--agent", "claude"];
    known(&claude, &["claude is not installed in the image", "only with --agent-network"]);
    let acp = ["--container", BOX, "--agent", "opencode-acp"];
    known(&acp, &["opencode-acp cannot work in a container"]);
    fs::create_dir(place.user.root().join("other")).unwrap();
    let other = place.user.root().join("other").display().to_string();
    no(&["--container", BOX, "--workspace", &other], &["is not mounted in it"]);
    drop(place.engine.run(&["stop", "--time", "0", BOX]));
    no(&["--container", BOX], &["the container box does not run", "docker start box"]);
    assert_eq!(place.containers(), [BOX]);
    assert!(!place.user.work().join("ran").exists());
    let nowhere = place.user.root().join("no.sock").display().to_string();
    no(&["--container", BOX, "--container-socket", &nowhere], &["cannot inspect the container box"]);
}

#[test]
fn a_container_that_is_ended_under_a_loop_ends_the_loop_and_it_can_be_gone_on_with() {
    let place = Place::docker();
    let agent = format!("[ -e again ] && touch done && exit; touch again; {FAMILY}");
    let running = place.user.begin(&place.command(&agent, "test -e done", &["-n", "3"]));
    place.user.wait_for_file("work/began");
    drop(place.engine.run(&["kill", BOX]));
    let ran = running.end().expect_code(3);
    assert!(ran.err().contains("the container has stopped"), "{}", ran.text());
    place.user.run(&["resume", &place.user.id()]).expect_code(4);
    drop(place.engine.run(&["start", BOX]));
    place.user.run(&["resume", &place.user.id()]).expect_code(0);
}

#[test]
fn podman_keeps_a_loop_as_well() {
    let engine = Engine::podman();
    let user = user();
    let socket = engine.socket().display().to_string();
    let words = ["start", "do it", "-p", "test -e done", "--container-socket", &socket, "--image", IMAGE];
    user.run(&[&words[..], &["--agent-cmd", "cat > prompt; touch done"]].concat()).expect_code(0);
    assert!(user.read("work/prompt").contains("do it"));
    wait_until("the container is gone", || engine.run(&["ps", "--all", "--quiet"]).is_empty());
}
