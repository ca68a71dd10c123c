//! What the copies of branches have: installed dependencies, a temp folder, ports, and what git ignores.
use std::process::Stdio;

use loop_testkit::TestEnv;

use crate::user;

/// The words of a best-of of two, judged where it works, so that it is quick.
fn two<'a>(agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["start", "do it", "--promise", promise, "--agent-cmd", agent];
    words.extend(["-n", "1", "--judge", "workspace", "--strength", "off", "--best-of", "2"]);
    words.extend(more);
    words
}

fn root(user: &TestEnv) -> String {
    user.root().display().to_string()
}

#[test]
fn the_setup_command_runs_in_each_copy_before_its_first_agent_call() {
    // req: D-17 partly: what a copy brings along
    let user = user();
    user.write("work/.gitignore", "installed\n");
    let setup = "echo $LOOP_BRANCH > installed";
    let ran = user.run(&two("cat installed > answer", "test -s answer", &["--setup", setup])).expect_code(0);
    assert!(ran.err().contains("the setup command ended well"), "{}", ran.text());
    let answer = user.read("work/answer");
    assert!(["1\n", "2\n"].contains(&answer.as_str()), "the agent found what was installed: {answer}");
    assert!(!user.work().join("installed").exists(), "the workspace has none of it");
}

#[test]
fn a_setup_that_fails_is_why_a_branch_is_not_started() {
    // req: D-17 partly: what a copy brings along
    let user = user();
    let agent = format!("touch {}/called", root(&user));
    let setup = "echo no such registry >&2; exit 7";
    let ran = user.run(&two(&agent, "test -e answer", &["--setup", setup])).expect_code(3);
    let says = "not started: the setup command failed in the copy (exit 7): no such registry";
    assert!(ran.out().contains(says), "{}", ran.text());
    assert!(!user.root().join("called").exists(), "no agent was called");
    let slow = ["--setup", "sleep 1000", "--setup-timeout", "1s"];
    let ran = user.run(&two(&agent, "test -e answer", &slow)).expect_code(3);
    assert!(ran.out().contains("not started: the setup command failed in the copy"), "{}", ran.text());
    assert!(!user.root().join("called").exists());
}

#[test]
fn each_copy_has_a_temp_folder_of_its_own_that_goes_with_it() {
    // req: D-17 partly: what a copy brings along
    let user = user();
    let root = root(&user);
    let agent = format!("touch \"$TMPDIR/mine\" && echo \"$TMPDIR\" > {root}/tmp-$LOOP_BRANCH; echo good > answer");
    let promise = format!("echo \"$TMPDIR\" >> {root}/gates; test -s answer && test -e \"$TMPDIR/mine\"");
    drop(user.run(&two(&agent, &promise, &[])));
    let folders = ["tmp-1", "tmp-2"].map(|name| user.read(name).trim().to_owned());
    let copies = user.state().join("plan-copies");
    for folder in &folders {
        assert!(std::path::Path::new(folder).starts_with(&copies), "{folder}");
        assert!(!std::path::Path::new(folder).exists(), "{folder} went with the copy");
        assert!(user.read("gates").contains(folder.as_str()), "gates have it, too");
    }
    assert_ne!(folders[0], folders[1]);
}

#[test]
fn ignored_dependencies_come_along_and_stay_apart_from_the_workspace() {
    // req: D-17
    let user = user();
    user.write("work/.gitignore", "node_modules/\n.venv/\ntarget/\n");
    for path in ["node_modules/dep/index.js", ".venv/bin/tool", "target/debug/built"] {
        user.write(&format!("work/{path}"), "as installed\n");
    }
    let agent = "cat node_modules/dep/index.js .venv/bin/tool target/debug/built > answer; \
                 echo spoilt > node_modules/dep/index.js; rm -r target";
    let ran = user.run(&two(agent, "grep -c installed answer | grep -q 3", &[])).expect_code(0);
    let said = "ignored files came along: .venv, node_modules, target";
    assert!(ran.err().contains(said), "{}", ran.text());
    assert_eq!(user.read("work/answer"), "as installed\n".repeat(3));
    assert_eq!(user.read("work/node_modules/dep/index.js"), "as installed\n");
    assert!(user.work().join("target/debug/built").exists());
}

#[test]
fn loops_that_work_at_once_have_ports_of_their_own_where_the_workflow_asks_for_them() {
    // req: D-12 partly: ports in env
    let user = user();
    let root = root(&user);
    let wait = |own: &str, other: &str| {
        format!(
            "echo $PORT $LAST > {root}/port-{own}; n=0; while ! test -e {root}/port-{other} && test $n -lt 3000; do \
             n=$((n+1)); sleep 0.02; done"
        )
    };
    let agent = format!(
        "prompt=$(cat); case \"$prompt\" in *'task A'*) {}; touch a;; *'task B'*) {}; touch b;; esac",
        wait("a", "b"),
        wait("b", "a")
    );
    user.write(
        "work/flow.yaml",
        "parallel: 2\nenv: {PORT: \"{{port}}\", LAST: \"{{port_last}}\", URL: \"http://localhost:{{port}}/\"}\nloops:\n  \
         - {id: a, prompt: task A, promise: 'test -e a && test \"$URL\" = \"http://localhost:$PORT/\"'}\n  \
         - {id: b, prompt: task B, promise: 'test -e b && test \"$LAST\" -eq $((PORT + 9))'}\n",
    );
    let words = ["workflow", "run", "flow.yaml", "--agent-cmd", &agent, "--judge", "workspace", "--strength", "off"];
    let ran = user.run(&words).expect_code(0);
    let ports = ["port-a", "port-b"].map(|name| {
        let text = user.read(name);
        let numbers: Vec<u16> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_eq!(numbers[1], numbers[0] + 9, "{}", ran.text());
        numbers[0]
    });
    assert!(ports[0].abs_diff(ports[1]) >= 10, "{ports:?}");
    user.write("work/flow.yaml", "loops:\n  - {id: a, prompt: 'port {{port}}', promise: test -e a}\n");
    let refused = user.run(&["workflow", "check", "flow.yaml"]).expect_code(4);
    assert!(refused.err().contains("{{port}} is known in env: only"), "{}", refused.text());
}

#[test]
fn on_a_terminal_the_plan_asks_which_branch_is_applied() {
    // req: D-16
    let user = user();
    let line = format!(
        "{} start 'do it' --promise 'test -s answer' --agent-cmd 'echo $LOOP_BRANCH > answer' -n 1 --judge workspace \
         --strength off --best-of 2 --best-of-manual",
        env!("CARGO_BIN_EXE_loop")
    );
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("which branch is applied?", 1);
    running.type_in(b"2\n");
    let _ended = running.end();
    assert_eq!(user.read("work/answer"), "2\n", "{}", user.screen());
}
