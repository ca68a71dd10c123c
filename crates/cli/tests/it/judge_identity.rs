//! The judge cannot be swapped: the folder that is judged, the shell that judges, what a gate sees of its surroundings,
//! and the files that loop itself writes into the workspace.
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use loop_testkit::TestEnv;

use crate::{start, user};

/// A user whose check fails, and is protected by itself.
fn user_with_a_failing_check() -> TestEnv {
    let user = user();
    user.write("work/check.sh", "exit 1\n");
    user
}

/// Runs an agent that replaces the workspace, and expects that nothing is judged any more.
fn is_not_judged_after(agent: &str, more: &[&str]) {
    let user = user_with_a_failing_check();
    let more = [&["-n", "1"], more].concat();
    let ran = user.run(&start(agent, "sh check.sh", &more)).expect_code(3);
    let said = ran.text();
    assert!(said.contains("$ROOT/work") && said.contains("is another folder now"), "{agent}: {said}");
    assert!(!said.contains("promise: pass") && !said.contains("done:") && !said.contains("done, "), "{agent}: {said}");
    let status = user.run(&["status", &user.id(), "--json"]).json();
    assert_eq!(status["loops"][0]["outcome"], "unable", "{status}");
}

#[test]
fn a_workspace_that_was_replaced_by_a_copy_is_not_judged() {
    // req: RT-R1
    let agent = "cd .. && mv work old && cp -r old work && echo exit 0 > work/check.sh";
    is_not_judged_after(agent, &[]);
    is_not_judged_after(agent, &["--protect-tests", "--require-tests-kept"]);
    is_not_judged_after(agent, &["--checkpoint", "none"]);
}

#[test]
fn a_workspace_that_was_replaced_by_a_link_is_not_judged() {
    // req: RT-R1
    is_not_judged_after("cd .. && mv work old && mkdir new && echo exit 0 > new/check.sh && ln -s new work", &[]);
}

#[test]
fn a_folder_above_the_workspace_that_was_replaced_is_seen_too() {
    // req: RT-R1
    let user = user();
    user.write("work/above/ws/check.sh", "exit 1\n");
    let agent = "cd ../.. && mv above old && mkdir -p above/ws && echo exit 0 > above/ws/check.sh";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1", "--workspace", "above/ws"])).expect_code(3);
    assert!(ran.text().contains("$ROOT/work/above/ws is another folder now"), "{}", ran.text());
    assert!(ran.text().contains("$ROOT/work/old/ws"), "it says where the right one is: {}", ran.text());
}

#[test]
fn a_mount_over_the_workspace_is_seen() {
    // req: RT-R1
    let user = user_with_a_failing_check();
    let agent = "cd .. && mkdir new && echo exit 0 > new/check.sh && mount --bind new work";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "1"]));
    let unmounted = std::process::Command::new("umount").arg(user.work()).status().unwrap();
    assert!(unmounted.success(), "root, to mount: {}", ran.text());
    let ran = ran.expect_code(3);
    assert!(ran.text().contains("$ROOT/work is another folder now"), "{}", ran.text());
}

#[test]
fn a_workspace_that_somebody_replaces_between_two_gates_is_not_judged_by_the_second() {
    // req: RT-R1
    let user = user_with_a_failing_check();
    // A helper that no loop knows: it swaps the folder while the first gate of iteration 1 waits for it.
    let swap = "while [ ! -e waits ]; do sleep 0.02; done; mv work old; cp -r old work; echo exit 0 > work/check.sh; touch swapped";
    let mut helper = std::process::Command::new("sh").args(["-c", swap]).current_dir(user.root()).spawn().unwrap();
    let slow = "slow[order=1]=test ! -e agent || { touch ../waits; while [ ! -e ../swapped ]; do sleep 0.02; done; }";
    let words = ["start", "do it", "--gate", slow, "--gate", "unit[order=2]=sh check.sh", "-n", "1"];
    let ran = user.run(&[&words[..], &["--agent-cmd", "touch agent"]].concat()).expect_code(3);
    assert!(helper.wait().unwrap().success());
    assert!(ran.text().contains("$ROOT/work is another folder now"), "{}", ran.text());
    assert!(ran.text().contains("$ROOT/old"), "{}", ran.text());
}

#[test]
fn a_workspace_that_was_put_back_can_be_judged_again() {
    // req: RT-R1
    let user = user_with_a_failing_check();
    let agent = "cd .. && mv work old && cp -r old work && echo exit 0 > work/check.sh";
    user.run(&start(agent, "sh check.sh", &["-n", "2"])).expect_code(3);
    let ran = user.run(&["resume", &user.id()]).expect_code(4);
    assert!(ran.err().contains("is another folder than the one that the loop worked in"), "{}", ran.text());
    fs::rename(user.work(), user.root().join("swapped")).unwrap();
    fs::rename(user.root().join("old"), user.work()).unwrap();
    let ran = user.run(&["resume", &user.id(), "--agent-cmd", "true"]).expect_code(1);
    assert!(ran.text().contains("promise: fail"), "{}", ran.text());
}

#[test]
fn a_workspace_that_was_deleted_is_named_and_ends_the_loop() {
    let user = user_with_a_failing_check();
    let agent = "cd .. && rm -rf work";
    let ran = user.run(&start(agent, "sh check.sh", &["-n", "2"])).expect_code(3);
    assert!(ran.text().contains("the workspace $ROOT/work was deleted"), "{}", ran.text());
    assert!(!ran.text().contains(": :"), "{}", ran.text());
    let moved = user_with_a_failing_check();
    let ran = moved.run(&start("cd .. && mv work away", "sh check.sh", &["-n", "2"])).expect_code(3);
    assert!(ran.text().contains("the workspace $ROOT/work was moved to $ROOT/away"), "{}", ran.text());
}

fn program(path: &std::path::Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_shell_of_a_gate_is_never_taken_from_the_workspace_or_a_relative_entry_of_path() {
    // req: RT-R16
    for path in ["node_modules/.bin:/usr/bin:/bin", ":/usr/bin:/bin", "$WORK/node_modules/.bin:/usr/bin:/bin"] {
        let user = user();
        let user = {
            let path = path.replace("$WORK", user.work().to_str().unwrap());
            user.with("PATH", path)
        };
        for place in ["work/node_modules/.bin/sh", "work/sh"] {
            program(&user.root().join(place), "#!/bin/sh\ntouch \"$HOME/PWNED\"\nexit 0\n");
        }
        let notify = ["-n", "1", "--notify", "--notification-cmd", "true"];
        let ran = user.run(&start("echo zzz > a", "grep -q zzz a", &notify)).expect_code(0);
        user.run(&["verify", &user.id()]).expect_code(0);
        user.run(&start("rm a", "grep -q yyy a", &notify)).expect_code(1);
        assert!(!user.root().join("home/PWNED").exists(), "{path}: {}", ran.text());
    }
}

#[test]
fn relative_entries_of_path_do_not_reach_a_gate_and_this_is_said_once() {
    // req: RT-R16
    let user = user().with("PATH", ":bin:.:/usr/bin:/bin:");
    program(&user.work().join("bin/grep"), "#!/bin/sh\ntouch \"$HOME/PWNED\"\nexit 0\n");
    let ran = user.run(&start("true", "echo $PATH > ../path; grep -q zzz check", &["-n", "1"]));
    assert_eq!(user.read("path"), "/usr/bin:/bin\n", "{}", ran.text());
    assert!(!user.root().join("home/PWNED").exists());
    assert_eq!(ran.err().matches("relative entries of PATH").count(), 1, "{}", ran.text());
    let ran = user.run(&["doctor"]);
    assert!(ran.text().contains("relative entries of PATH"), "{}", ran.text());
}

#[test]
fn an_absolute_entry_of_path_in_the_workspace_stays() {
    let user = user();
    let path = format!("{}:/usr/bin:/bin", user.work().join(".venv/bin").display());
    let user = user.with("PATH", path);
    program(&user.work().join(".venv/bin/mine"), "#!/bin/sh\nexit 0\n");
    user.run(&start("true", "mine", &[])).expect_code(0);
}

#[test]
fn a_gate_sees_one_variable_of_loop_and_an_agent_those_that_are_documented() {
    let user = user().with("LOOP_RESULT", "x").with("LOOP_OWN", "y").with("PLAIN", "z");
    let promise = "env | grep '^LOOP_\\|^PLAIN' | sort > ../gate; test -e done";
    user.run(&start("touch done; env | grep -c ^LOOP_I > ../agent", promise, &["-n", "1"])).expect_code(0);
    assert_eq!(user.read("gate"), format!("LOOP_MARK={}\nPLAIN=z\n", user.id()));
    assert_eq!(user.read("agent"), "2\n", "LOOP_ID and LOOP_ITERATION");
}

#[test]
fn the_environment_of_verify_is_that_of_the_gates() {
    let user = user().with("LOOP_OWN", "y");
    let list = "{ env | sed 's/=.*//' | sort | tr '\\n' ' '; env | grep ^LOOP_ | sed 's/[a-z0-9]/x/g'; } >> ../seen";
    user.run(&start("touch done", &format!("{list}; test -e done"), &[])).expect_code(0);
    user.run(&["verify", &user.id()]).expect_code(0);
    let seen = user.read("seen");
    let mut lines: Vec<String> = seen.lines().map(|line| line.replace("GIT_CEILING_DIRECTORIES ", "")).collect();
    assert!(lines.len() >= 4, "baseline, iteration, clean copy, verify: {seen}");
    lines.dedup();
    assert_eq!(lines.len(), 1, "{seen}");
    assert!(lines[0].ends_with("LOOP_MARK=xxxxxxx"), "{seen}");
}

#[test]
fn a_result_file_is_not_written_through_a_link_of_the_workspace() {
    // req: RT-R10
    let precious = "alias ll=ls\n";
    // Planted in the repository: refused before anything is started.
    let user = user();
    user.write("home/.bashrc", precious);
    symlink("../home/.bashrc", user.work().join("result.json")).unwrap();
    symlink("../home", user.work().join("out")).unwrap();
    for path in ["result.json", "out/r.json", "./out/../out/r.json"] {
        let ran = user.run(&start("true", "false", &["-n", "1", "--result", path])).expect_code(4);
        assert!(ran.err().contains("is a link in the workspace"), "{path}: {}", ran.text());
    }
    assert_eq!((user.read("home/.bashrc").as_str(), user.ids().len()), (precious, 0));
    assert!(!user.root().join("home/r.json").exists());
}

#[test]
fn a_result_on_stdout_is_added_to_the_file_or_pipe_that_stdout_is() {
    // req: RT-R10 partly: --result /dev/stdout stays
    for path in ["/dev/stdout", "/dev/fd/1"] {
        let user = user();
        let words = start("true", "false", &["-n", "1", "-q", "--result", path]);
        let piped = user.run(&words).expect_code(1).out();
        assert!(piped.contains("\"exit_code\": 1"), "{path}: {piped}");
        user.write("night.log", "the night before\n");
        let log = std::fs::OpenOptions::new().append(true).open(user.root().join("night.log")).unwrap();
        let status = user.command(&words).stdout(log).stderr(std::process::Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(1));
        let log = user.read("night.log");
        assert!(log.starts_with("the night before\n") && log.contains("\"exit_code\": 1"), "{path}: {log}");
    }
}

#[test]
fn a_link_that_the_agent_put_in_the_place_of_the_result_file_is_not_followed() {
    // req: RT-R10
    let precious = "alias ll=ls\n";
    for (agent, path) in [
        ("ln -s ../home/.bashrc result.json", "result.json"),
        ("rmdir out; ln -s ../home out", "out/.bashrc"),
        ("rm -rf deep; mkdir deep; ln -s ../../home deep/er", "deep/er/.bashrc"),
    ] {
        let user = user();
        user.write("home/.bashrc", precious);
        fs::create_dir_all(user.work().join("out")).unwrap();
        fs::create_dir_all(user.work().join("deep/er")).unwrap();
        let ran = user.run(&start(agent, "false", &["-n", "1", "-q", "--result", path])).expect_code(1);
        assert_eq!(user.read("home/.bashrc"), precious, "{agent}");
        assert!(ran.err().contains("cannot write the result file"), "said with -q too: {}", ran.text());
        assert!(ran.err().contains("is a link in the workspace"), "{}", ran.text());
    }
}

#[test]
fn a_result_file_outside_of_the_workspace_may_be_a_link_of_the_user_s() {
    let user = user();
    user.write("real/r.json", "old");
    symlink("real", user.root().join("linked")).unwrap();
    symlink("real/r.json", user.root().join("r.json")).unwrap();
    user.run(&start("true", "false", &["-n", "1", "--result", "../linked/other.json"])).expect_code(1);
    assert!(user.read("real/other.json").contains("\"verified\": false"));
    user.run(&start("true", "false", &["-n", "1", "--result", "../r.json"])).expect_code(1);
    assert!(user.root().join("r.json").is_symlink() && user.read("real/r.json").contains("\"verified\": false"));
}

/// The answer of the newest order to certify.
fn certified(user: &TestEnv) -> serde_json::Value {
    let journal = fs::read_to_string(user.run_folder(&user.id()).join("journal.jsonl")).unwrap();
    let line = journal.lines().rfind(|line| line.contains("\"answer\":{\"certify\"")).unwrap();
    let entry: serde_json::Value = serde_json::from_str(line).unwrap();
    let found = entry.pointer("/fact/happened/event/answered/answer/certify");
    found.cloned().unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn a_program_that_was_swapped_when_a_gate_started_and_put_back_speaks_against_the_pass() {
    // req: RT-R16
    let user = user();
    let path =
        format!("{}:{}:/usr/bin:/bin", user.root().join("home/bin").display(), user.root().join("own").display());
    let user = user.with("PATH", path);
    program(&user.root().join("own/tester"), "#!/bin/sh\nexit 1\n");
    // The other one removes itself when it is run.
    let agent = "mkdir -p ~/bin; printf '#!/bin/sh\\nrm -f \"$0\"\\nexit 0\\n' > ~/bin/tester; chmod +x ~/bin/tester";
    let ran = user.run(&start(agent, "tester", &["-n", "1", "--judge", "workspace"])).expect_code(1);
    let said = "a program of the gates was another one for a time: tester was $ROOT/home/bin/tester instead of";
    assert!(ran.text().contains(said), "{}", ran.text());
    assert!(!user.root().join("home/bin/tester").exists());
}

#[test]
fn a_program_of_a_gate_that_was_swapped_is_in_the_answer_before_the_end() {
    // req: RT-R16
    let user = user();
    let bin = user.root().join("home/bin");
    let path = format!("{}:{}:/usr/bin:/bin", bin.display(), user.work().join(".venv/bin").display());
    let user = user.with("PATH", path);
    program(&user.work().join(".venv/bin/tester"), "#!/bin/sh\nexit 1\n");
    // Another file before it on PATH, and another content at the same place.
    for (agent, place) in [
        ("mkdir -p ~/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/bin/tester; chmod +x ~/bin/tester", "home/bin/tester"),
        ("printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/tester", "work/.venv/bin/tester"),
    ] {
        let ran = user.run(&start(agent, "tester && sh -c true", &["-n", "1"])).expect_code(1);
        assert!(
            ran.out().contains("a program of the gates is another one than at the start: tester"),
            "{}",
            ran.text()
        );
        let swapped = certified(&user)["swapped"].clone();
        assert_eq!(swapped.as_array().unwrap().len(), 1, "the shell is what it was: {swapped}");
        assert_eq!(swapped[0]["program"], "tester");
        assert_eq!(swapped[0]["before"]["path"], user.work().join(".venv/bin/tester").to_str().unwrap());
        assert_eq!(swapped[0]["before"]["in_workspace"], true);
        assert_eq!(swapped[0]["after"]["path"], user.root().join(place).to_str().unwrap());
        assert_ne!(swapped[0]["before"]["sha256"], swapped[0]["after"]["sha256"]);
        user.run(&["rm", &user.id()]).expect_code(0);
        fs::remove_dir_all(&bin).unwrap_or_default();
        program(&user.work().join(".venv/bin/tester"), "#!/bin/sh\nexit 1\n");
    }
    user.run(&start("touch ok", "tester || test -e ok", &["-n", "1"])).expect_code(0);
    let report = certified(&user);
    assert_eq!(report.get("swapped"), None, "{report}");
    let sh = report["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "sh").unwrap();
    assert_eq!(sh["file"]["path"], "/bin/sh", "{report}");
}
