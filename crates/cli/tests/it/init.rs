//! `loop init`: what it proposes, runs and writes, and what a start makes of the file.
use std::process::Stdio;

use loop_testkit::TestEnv;

use crate::user;

/// A runner that passes once the file `done` is there.
const RUNNER: &str = "echo ran >> \"$HOME/ran\"; [ -e done ] || { echo '1 test fails'; exit 1; }; echo ok";

/// A project with these files, the program that checks it, and the promise that is proposed.
struct Sample {
    files: &'static [(&'static str, &'static str)],
    program: &'static str,
    promise: &'static str,
}

const NODE: (&str, &str) = ("package.json", r#"{"scripts": {"test": "jest"}}"#);
const CARGO: (&str, &str) = ("Cargo.toml", "[package]\nname = \"a\"\n");
const PYTHON: (&str, &str) = ("pyproject.toml", "[tool.pytest.ini_options]\n");

const SAMPLES: [Sample; 6] = [
    Sample { files: &[NODE], program: "npm", promise: "npm test" },
    Sample { files: &[CARGO, ("src/lib.rs", "")], program: "cargo", promise: "cargo test" },
    Sample { files: &[PYTHON, ("tests/test_a.py", "")], program: "python3", promise: "python3 -m pytest" },
    Sample {
        files: &[("go.mod", "module a\n"), ("a_test.go", "package a\n")],
        program: "go",
        promise: "go test ./...",
    },
    Sample { files: &[("Makefile", "test:\n\t./run\n")], program: "make", promise: "make test" },
    Sample { files: &[CARGO, ("web/package.json", NODE.1)], program: "cargo", promise: "cargo test" },
];

fn sample(files: &[(&str, &str)], program: &str) -> TestEnv {
    let user = user();
    files.iter().for_each(|(path, text)| user.write(&format!("work/{path}"), text));
    user.program(program, RUNNER);
    user.program("npm", RUNNER);
    user
}

// req: D-11 partly: promises are found from the project
#[test]
fn a_project_is_set_up_by_one_command_and_a_start_then_asks_nothing() {
    for Sample { files, program, promise } in SAMPLES {
        let user = sample(files, program);
        let ran = user.run(&["init", "--yes"]).expect_code(0);
        assert!(ran.out().contains(&format!("promise   {promise}\n")), "{}", ran.text());
        assert!(ran.out().contains("now       fail (exit 1, ") && ran.out().contains("1 test fails"), "{}", ran.text());
        assert!(ran.out().contains("template  bugfix\n"), "{}", ran.text());
        let text = user.read("work/.loop.toml");
        assert!(text.contains(&format!("\npromise = \"{promise}\"\n")), "{text}");
        assert!(user.read("home/ran").starts_with("ran\n"), "the gate was run once");
        let agent = "touch done; mkdir -p web; touch web/done";
        // The runner of this test notices no failing test that is added to a copy.
        let ran = user.run(&["start", "make it", "--agent-cmd", agent, "--strength", "off"]).expect_code(0);
        assert!(!ran.err().contains("approved by") && ran.out().starts_with("done: "), "{}", ran.text());
    }
}

#[test]
fn several_languages_become_several_gates_with_the_reason_for_each() {
    let user = sample(SAMPLES[5].files, SAMPLES[5].program);
    let answer = user.run(&["init", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(answer["parts"], serde_json::json!(["rust", "node in web"]));
    assert_eq!(answer["plan"]["promise"]["reason"], "Cargo.toml is a package");
    assert_eq!(
        answer["plan"]["gates"][0],
        serde_json::json!({"name": "test-web", "command": "cd web && npm test", "watch": false,
            "reason": "web/package.json has a script test"})
    );
    assert_eq!((answer["written"].as_bool(), answer["baseline"].is_null()), (Some(false), true));
    assert!(!user.work().join(".loop.toml").exists() && user.read("home/ran").is_empty(), "a dry run does nothing");
}

#[test]
fn where_nothing_is_found_the_promise_is_asked_for_by_a_hint_that_works() {
    let user = user();
    let ran = user.run(&["init", "--yes"]).expect_code(4);
    assert!(ran.err().contains("found no command that checks this project"), "{}", ran.text());
    assert!(ran.err().contains("hint: name one: loop init --promise 'make test'"), "{}", ran.text());
    let ran = user.run(&["init", "--promise", "test -e done", "--yes"]).expect_code(0);
    assert!(ran.out().contains("you gave it"), "{}", ran.text());
    user.run(&["start", "x", "--agent-cmd", "touch done"]).expect_code(0);
}

#[test]
fn without_a_terminal_nothing_is_run_or_written_unless_yes_is_said() {
    let user = sample(SAMPLES[0].files, "npm");
    let ran = user.run(&["init"]).expect_code(4);
    assert!(
        ran.out().contains("promise   npm test")
            && ran.err().contains("hint: to write it without asking: loop init --yes"),
        "{}",
        ran.text()
    );
    assert!(!user.work().join(".loop.toml").exists() && user.read("home/ran").is_empty());
    let ran = user.run(&["init", "--yes", "--no-run"]).expect_code(0);
    assert!(ran.out().contains("template  feature"), "{}", ran.text());
    assert_eq!(user.read("home/ran"), "", "--no-run runs nothing");
}

#[test]
fn a_file_that_is_there_stays_as_it_is_and_what_it_lacks_is_shown() {
    let user = sample(SAMPLES[0].files, "npm");
    user.write("work/loop.toml", "promise = \"make test\"\n");
    let ran = user.run(&["init", "--yes"]).expect_code(0);
    assert!(ran.out().contains("loop.toml is there, and stays as it is"), "{}", ran.text());
    assert!(ran.out().contains("promise = \"npm test\" (now: \"make test\")"), "{}", ran.text());
    assert_eq!(user.read("work/loop.toml"), "promise = \"make test\"\n");
    assert!(!user.work().join(".loop.toml").exists());
    // An approval is given only for what was written now.
    user.run(&["start", "x", "--agent-cmd", "true"]).expect_code(4);
    std::fs::remove_file(user.work().join("loop.toml")).unwrap();
    user.run(&["init", "--yes", "--no-run"]).expect_code(0);
    let again = user.run(&["init", "--yes"]).expect_code(0);
    assert!(again.out().contains("has all that would be proposed"), "{}", again.text());
}

#[test]
fn on_a_terminal_it_asks_before_it_runs_and_before_it_writes() {
    let user = sample(SAMPLES[0].files, "npm");
    let line = format!("{} init", env!("CARGO_BIN_EXE_loop"));
    let mut running = user.begin_on_a_terminal(&line, Stdio::piped());
    user.wait_for_screen("Run it once now, to see what it says: npm test? [y/N]", 1);
    assert_eq!(user.read("home/ran"), "");
    running.type_in(b"y\n");
    user.wait_for_screen("Write .loop.toml? [y/N]", 1);
    assert!(!user.work().join(".loop.toml").exists() && !user.read("home/ran").is_empty());
    running.type_in(b"n\n");
    let ran = running.end();
    assert!(user.screen().contains("nothing was written"), "{} {}", user.screen(), ran.text());
    assert!(!user.work().join(".loop.toml").exists());
}

#[test]
fn an_agent_cannot_set_up_and_approve_a_project() {
    let user = user();
    let program = env!("CARGO_BIN_EXE_loop");
    let agent = format!("{program} init --promise true --yes -C other; {program} template create mine; true");
    std::fs::create_dir(user.work().join("other")).unwrap();
    user.run(&["start", "x", "-p", "false", "-n", "1", "--agent-cmd", &agent]).expect_code(1);
    assert!(!user.work().join("other/.loop.toml").exists());
    assert!(!user.config().join("templates").exists());
    assert!(!user.state().join("approvals").exists());
}

#[test]
fn a_link_of_the_project_is_not_read() {
    let user = user();
    user.write("home/secret/package.json", r#"{"scripts": {"test": "jest"}}"#);
    std::os::unix::fs::symlink("../home/secret/package.json", user.work().join("package.json")).unwrap();
    std::os::unix::fs::symlink("../home/secret", user.work().join("web")).unwrap();
    user.run(&["init", "--dry-run"]).expect_code(4);
}
