//! The `loop start` lines of the loop/loopd specification, as they are written there, and the order of settings.
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use loop_testkit::TestEnv;
use serde_json::Value;

use crate::user;

/// Programs that the examples name. Each promise holds once the agent has worked.
fn machine() -> TestEnv {
    let user = user();
    user.program("npm", "test \"$1\" = test && test -e work-of-agent");
    user.program("make", "test \"$1\" = bench || exit 1; test -e work-of-agent || exit 1; echo 'PASS: under 100ms'");
    user.write("work/verify.sh", "#!/bin/sh\ntest -e work-of-agent\n");
    fs::set_permissions(user.work().join("verify.sh"), Permissions::from_mode(0o755)).unwrap();
    // The lines name no agent: it is set once, as a user does.
    user.write("home/.config/loop/config.toml", "agent_cmd = \"date +%N > work-of-agent\"\njudge = \"workspace\"\n");
    user
}

/// The words behind `loop`, as a shell reads the line.
fn words(line: &str) -> Vec<String> {
    let script = format!("words() {{ printf '%s\\0' \"$@\"; }}; {}", line.replacen("loop ", "words ", 1));
    let ran = Command::new("sh").args(["-c", &script]).output().unwrap();
    assert!(ran.status.success(), "{line}");
    let text = String::from_utf8(ran.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

#[test]
fn every_loop_start_line_of_the_specification_runs_as_it_is_written() {
    // req: D-16 partly: the example of the specification
    // req: A-09 partly: the machinery; approaches, branch_budget and their prompts come with recovery
    for line in [
        "loop start \"fix the failing tests\" --promise \"npm test\"",
        "loop start \"add user authentication\" --promise \"./verify.sh\" --max-iterations 20",
        "loop start \"optimize database queries\" -p \"make bench | grep -q 'PASS'\" -n 5",
        "loop start \"optimize the search algorithm\" \\\n    --promise \"make bench | grep -q 'under 100ms'\" \\\n    --best-of 3",
    ] {
        let user = machine();
        let ran = user.run(&words(line)).expect_code(0);
        assert!(user.work().join("work-of-agent").exists(), "{line}\n{}", ran.text());
        assert!(ran.out().lines().any(|said| said.starts_with("done")), "{line}\n{}", ran.text());
    }
}

fn max_iterations(user: &TestEnv, goal: &str) -> Value {
    let list = user.run(&["list", "--json"]).expect_code(0).json();
    let rows = list["loops"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["goal"] == goal).unwrap_or_else(|| panic!("no loop {goal}: {list}"));
    row["max_iterations"].clone()
}

#[test]
fn a_flag_wins_over_an_entry_over_a_template_over_the_project_over_the_user() {
    // req: C-25 partly: flag > workflow entry > template > project file > user file
    let user = user();
    user.write("home/.config/loop/config.toml", "max_iterations = 9\n");
    user.write("home/.config/loop/templates/mine.toml", "max_iterations = 7\npromise = \"true\"\n");
    let entry = |goal: &str, more: &str| format!("  - {{id: {goal}, prompt: {goal}, promise: test -e {goal}{more}}}\n");
    let all = [
        entry("by-entry", ", template: mine, max_iterations: 6"),
        entry("by-template", ", template: mine"),
        entry("by-file", ""),
    ];
    user.write("work/flow.yaml", &format!("parallel: 1\nloops:\n{}", all.concat()));
    let agent = "touch by-entry by-template by-file";
    let run = |more: &[&str]| {
        let words = ["workflow", "run", "flow.yaml", "--agent-cmd", agent, "--judge", "workspace", "--keep-going"];
        let ran = user.run(&[&words[..], more].concat()).expect_code(0);
        for name in ["by-entry", "by-template", "by-file"] {
            fs::remove_file(user.work().join(name)).ok();
        }
        ran
    };
    drop(run(&[]));
    let of = |goal: &str| max_iterations(&user, goal);
    assert_eq!([of("by-entry"), of("by-template"), of("by-file")], [6, 7, 9], "entry > template > user");
    // A file of the project may lower a limit without an approval.
    user.write("work/.loop.toml", "max_iterations = 8\n");
    drop(run(&[]));
    assert_eq!([of("by-entry"), of("by-template"), of("by-file")], [6, 7, 8], "template > project > user");
    drop(run(&["-n", "5"]));
    assert_eq!([of("by-entry"), of("by-template"), of("by-file")], [5, 5, 5], "a flag wins over all");
}
