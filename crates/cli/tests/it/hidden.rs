//! Hidden gates: what only they notice, what the agent never sees of them, and what the person is told.
use std::fs;
use std::path::Path;

use loop_testkit::{Ran, TestEnv};

use crate::{start, user};

/// A word that only the hidden gate has: in its name, its command and its output.
const SECRET: &str = "forty-two";
/// What everybody sees: 1 and 2 are 3.
const PROMISE: &str = "test \"$(sh add.sh 1 2)\" = 3";
/// It writes down what it is given, then answers with a constant the first so many times, and then adds.
const AGENT: &str = "cat >> ../prompts; env >> ../prompts; echo x >> count; \
    if test $(wc -l < count) -le $(cat ../cheats); then echo 'echo 3' > add.sh; echo \"# $$\" >> add.sh; \
    else echo 'echo $(($1 + $2))' > add.sh; fi";

/// A user with a hidden gate that gives other numbers, and an agent that cheats so many times.
fn user_with_hidden(cheats: u32) -> TestEnv {
    let user = user();
    user.write("work/add.sh", "exit 1\n");
    user.write("cheats", &cheats.to_string());
    settings(&user, "test \"$(sh add.sh 20 22)\" = 42 || { echo not-forty-two; exit 1; }");
    user
}

fn settings(user: &TestEnv, command: &str) {
    let place = user.work().display().to_string();
    let table = format!("[hidden_gates.{SECRET}]\ncommand = '''{command}'''\nworkspace = '{place}'\n");
    user.write("home/.config/loop/config.toml", &table);
}

fn run(user: &TestEnv, more: &[&str]) -> Ran {
    let more = [&["--allow", "add.sh", "--strength", "off"], more].concat();
    user.run(&start(AGENT, PROMISE, &more))
}

fn certificate(user: &TestEnv) -> serde_json::Value {
    user.run(&["status", &user.id(), "--json"]).expect_code(0).json()["loops"][0]["certificate"].clone()
}

/// The files below a folder that hold a text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(holding(&path, text));
        } else if fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|part| part == text.as_bytes())) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn an_answer_that_only_a_hidden_gate_knows_as_wrong_is_not_done() {
    let user = user_with_hidden(1);
    let ran = run(&user, &["-n", "4"]).expect_code(0);
    assert!(ran.out().contains("2 iterations"), "{}", ran.text());
    assert!(ran.out().contains("  hidden    1 hidden gate passes, in a clean copy\n"), "{}", ran.text());
    assert!(user.read("prompts").contains("not accepted by a further check"), "{}", user.read("prompts"));
    let hidden = &certificate(&user)["hidden_gates"];
    assert_eq!((hidden["count"].as_u64(), hidden["passed"].as_bool()), (Some(1), Some(true)), "{hidden}");
    assert_eq!(user.read("work/add.sh"), "echo $(($1 + $2))\n");
}

#[test]
fn nothing_of_a_hidden_gate_is_where_an_agent_is_led_to() {
    let user = user_with_hidden(2);
    let events = run(&user, &["-n", "4", "--json"]).expect_code(0);
    let id = user.id();
    let mut seen = vec![("prompt and environment", user.read("prompts")), ("--json", events.text())];
    let commands: [&[&str]; 10] = [
        &["status", &id],
        &["status", &id, "--json"],
        &["history", &id, "--verbose"],
        &["history", &id, "--json"],
        &["list", "--json"],
        &["watch", &id],
        &["verify", &id],
        &["verify", &id, "--json"],
        &["config", "show"],
        &["config", "show", "--json"],
    ];
    for command in commands {
        seen.push((command[0], user.run(command).expect_code(0).text()));
    }
    let dry = user.run(&start(AGENT, PROMISE, &["--dry-run"])).expect_code(0);
    assert!(dry.out().contains("hidden gates   1 (they run last, and not now)\n"), "{}", dry.text());
    seen.push(("dry run", dry.text()));
    for (what, text) in seen {
        assert!(!text.contains(SECRET) && !text.contains("20 22"), "{what}: {text}");
    }
    assert_eq!(holding(&user.state().join("runs"), SECRET), [""; 0]);
    assert_eq!(holding(&user.state().join("runs"), "20 22"), [""; 0]);
    assert_eq!(holding(&user.work(), SECRET), [""; 0]);
}

#[test]
fn after_three_refusals_a_person_is_told_which_gate_it_was_and_can_resume_or_accept() {
    let user = user_with_hidden(4);
    let ran = run(&user, &["-n", "9"]).expect_code(1);
    let id = user.id();
    assert!(
        ran.out().contains("passed, but not verified: the promise passes, but the hidden gate does not pass\n"),
        "{}",
        ran.text()
    );
    assert!(!ran.out().contains("--accept "), "only a person accepts it as it is: {}", ran.text());
    let told = ran.out().lines().find_map(|line| line.strip_prefix("hidden:     ").map(str::to_owned)).unwrap();
    let (name, output) = told.split_once(" did not pass (exit 1); its output: ").unwrap();
    assert_eq!(name, SECRET);
    let said = fs::read_to_string(Path::new(output).join("stdout/head")).unwrap();
    assert_eq!(said, "not-forty-two\n");
    assert_eq!(user.read("prompts").matches("further check").count(), 2, "it hears it twice");
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains(&format!("hidden     {SECRET} did not pass")), "{status}");

    // One cheat more is refused, then the agent works.
    user.run(&["resume", &id]).expect_code(0);
    assert_eq!(user.read("prompts").matches("further check").count(), 4);

    let user = user_with_hidden(9);
    run(&user, &["-n", "9"]).expect_code(1);
    let accepted = user.run(&["accept", &user.id(), "--because", "3 is enough"]).expect_code(0);
    assert!(accepted.out().contains("the hidden gate does not pass"), "{}", accepted.text());
}

#[test]
fn a_process_inside_a_loop_is_not_told_which_hidden_gate_failed() {
    let user = user_with_hidden(9);
    run(&user, &["-n", "9"]).expect_code(1);
    let ended = user.id();
    user.write("home/.config/loop/config.toml", "");
    let loop_program = env!("CARGO_BIN_EXE_loop");
    let agent = format!("'{loop_program}' status {ended} > ../inside; touch ok");
    user.run(&start(&agent, "test -e ok", &["--strength", "off"])).expect_code(0);
    let inside = user.read("inside");
    assert!(inside.contains("the hidden gate does not pass") && !inside.contains(SECRET), "{inside}");
}

#[test]
fn hidden_gates_that_an_agent_takes_out_of_the_settings_are_missed() {
    let user = user_with_hidden(1);
    let agent = "echo 'echo 3' > add.sh; : > ../home/.config/loop/config.toml";
    let ran = user.run(&start(agent, PROMISE, &["--allow", "add.sh", "--strength", "off"])).expect_code(1);
    assert!(
        ran.out().contains("could not be run: the hidden gates in your settings, or files that they name, changed"),
        "{}",
        ran.text()
    );
    // A person who resumes is told that they are gone.
    let ran = user.run(&["resume", &user.id()]);
    assert!(ran.err().contains("are others than before (1); now: none"), "{}", ran.text());
}

#[test]
fn a_file_of_a_hidden_gate_that_an_agent_changes_is_missed_however_it_is_named() {
    for command in ["sh ../checks/accept.sh", "sh ~/.checks/accept.sh", "sh ~/x/../.checks/accept.sh"] {
        let user = user_with_hidden(1);
        settings(&user, command);
        for folder in ["checks", "home/.checks"] {
            user.write(&format!("{folder}/accept.sh"), "test \"$(sh add.sh 20 22)\" = 42\n");
        }
        let agent = "echo 'echo 3' > add.sh; for f in ../checks ../home/.checks; do : > $f/accept.sh; done";
        let ran = user.run(&start(agent, PROMISE, &["--allow", "add.sh", "--strength", "off"])).expect_code(1);
        let expected = "could not be run: the hidden gates in your settings, or files that they name, changed";
        assert!(ran.out().contains(expected), "{command}: {}", ran.text());
    }
}

#[test]
fn a_project_file_cannot_have_hidden_gates_not_even_an_approved_one() {
    let user = user();
    user.write("work/.loop.toml", "[hidden_gates]\nvalues = \"true\"\n");
    for more in [&[][..], &["--approve"]] {
        let ran = user.run(&start("true", "true", more)).expect_code(4);
        assert!(ran.err().contains("hidden_gates may not stand in a project file"), "{}", ran.text());
    }
}

#[test]
fn a_file_of_hidden_gates_can_stand_beside_the_settings_and_not_in_the_workspace() {
    let user = user_with_hidden(0);
    user.write("home/.config/loop/config.toml", "hidden_gates_file = \"more.toml\"\n");
    user.write("home/.config/loop/more.toml", "[hidden_gates]\none = \"true\"\ntwo = \"true\"\n");
    let ran = run(&user, &[]).expect_code(0);
    assert!(ran.out().contains("  hidden    2 hidden gates pass, in a clean copy\n"), "{}", ran.text());
    let inside = user.work().join("more.toml");
    user.write("work/more.toml", "[hidden_gates]\none = \"true\"\n");
    user.write("home/.config/loop/config.toml", &format!("hidden_gates_file = '{}'\n", inside.display()));
    let ran = run(&user, &[]).expect_code(4);
    assert!(ran.err().contains("hidden_gates_file lies in the workspace"), "{}", ran.text());
}

#[test]
fn without_a_clean_copy_hidden_gates_run_in_the_workspace_and_that_is_said() {
    for more in [["--judge", "workspace"], ["--checkpoint", "none"]] {
        let user = user_with_hidden(1);
        let ran = run(&user, &[&more[..], &["-n", "4"]].concat()).expect_code(0);
        assert!(ran.err().contains("1 hidden gate will run in the workspace itself"), "{}", ran.text());
        assert!(ran.out().contains("  hidden    1 hidden gate passes, in the workspace itself\n"), "{}", ran.text());
        assert!(ran.out().contains("2 iterations"), "{}", ran.text());
    }
}

#[test]
fn verify_runs_hidden_gates_again_and_says_where_the_settings_have_them_no_more() {
    let user = user_with_hidden(0);
    let flag = user.root().join("flag");
    user.write("flag", "");
    settings(&user, &format!("test -e '{}'", flag.display()));
    run(&user, &[]).expect_code(0);
    let id = user.id();
    let verified = user.run(&["verify", &id]).expect_code(0);
    assert!(verified.out().contains("  hidden     1 of 1 pass\n"), "{}", verified.text());
    fs::remove_file(&flag).unwrap();
    let verified = user.run(&["verify", &id]).expect_code(1);
    assert!(verified.out().contains("not verified: 1 of 1 hidden gates do not pass\n"), "{}", verified.text());
    user.write("home/.config/loop/config.toml", "");
    let verified = user.run(&["verify", &id]).expect_code(0);
    assert!(verified.out().contains("its hidden gates were not run: the hidden gates in your settings, or files"));
    assert!(user.state().join("hidden").join(&id).is_dir());
    user.run(&["rm", &id]).expect_code(0);
    assert!(!user.state().join("hidden").join(&id).exists());
}

#[test]
fn a_hidden_gate_for_a_folder_that_does_not_exist_is_said_at_the_start_and_by_config_check() {
    let user = user_with_hidden(0);
    user.write(
        "home/.config/loop/config.toml",
        "[hidden_gates.forty-two]\ncommand = 'false'\nworkspace = '/no/such/folder'\n",
    );
    let words = "warning: a hidden gate of your settings runs in no workspace: /no/such/folder does not exist\n";
    let ran = run(&user, &[]).expect_code(0);
    assert!(ran.err().contains(words), "{}", ran.text());
    let ran = user.run(&["config", "check"]).expect_code(0);
    assert!(ran.err().contains(words), "{}", ran.text());
    assert!(!ran.text().contains(SECRET), "{}", ran.text());
}

#[test]
fn a_script_of_a_hidden_gate_that_an_agent_changes_is_noticed() {
    let user = user_with_hidden(1);
    user.write("home/checks/hidden.sh", "test \"$(sh add.sh 20 22)\" = 42\n");
    settings(&user, "sh ~/checks/hidden.sh");
    let agent = "echo 'echo 3' > add.sh; echo true > ~/checks/hidden.sh";
    let ran = user.run(&start(agent, PROMISE, &["--allow", "add.sh", "--strength", "off"])).expect_code(1);
    assert!(ran.out().contains("or files that they name, changed"), "{}", ran.text());
}
