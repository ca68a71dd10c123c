//! What lies outside of the workspace and decides what a gate says: recorded before the first agent, compared at the end.
use std::fs;

use crate::{start, user};

#[test]
fn a_script_outside_that_a_gate_runs_and_the_agent_changed_is_no_pass() {
    let user = user();
    user.write("check/run.sh", ". ./lib.sh\n");
    user.write("check/lib.sh", "exit 1\n");
    let agent = "echo exit 0 > ../check/lib.sh; touch made";
    let ran = user.run(&start(agent, "cd ../check && sh run.sh", &["-n", "2"])).expect_code(1);
    let said = "files outside of the workspace that a gate's command names are not as at the start: \
                $ROOT/check/lib.sh (changed)";
    assert!(ran.text().contains(said), "{}", ran.text());
    let status = user.run(&["status", &user.id(), "--json"]).json();
    assert_eq!(status["loops"][0]["outcome"], "passed_but", "{status}");
}

#[test]
fn settings_above_the_workspace_that_changed_are_named_and_do_not_speak_against_a_pass() {
    let user = user();
    user.write("pytest.ini", "[pytest]\n");
    let agent = "echo addopts=-x >> ../pytest.ini; touch ok";
    user.run(&start(agent, "test -e ok", &["-n", "1"])).expect_code(0);
    let status = user.run(&["status", &user.id(), "--json"]).json();
    let named = &status["loops"][0]["certificate"]["named"][0];
    assert_eq!((&named["kind"], &named["because"]), (&"outside-settings".into(), &"only_named".into()), "{status}");
    let said = format!(
        "files outside of the workspace that tools may read are not as at the start: {}/pytest.ini (changed)",
        user.root().display()
    );
    assert_eq!(named["text"], said.as_str(), "{status}");
}

#[test]
fn a_file_outside_that_a_gate_names_and_that_was_not_there_may_be_the_work() {
    let user = user();
    let agent = "echo text > ../out.txt; touch made";
    user.run(&start(agent, "grep -q text ../out.txt", &["-n", "1"])).expect_code(0);
}

#[test]
fn a_record_of_what_lies_outside_that_is_gone_speaks_against_a_pass() {
    let user = user();
    let runs = user.run_folder("x");
    let agent = format!("rm -f {}/*/outside-*; touch ok", runs.parent().unwrap().display());
    user.write("check.sh", "true\n");
    let ran = user.run(&start(&agent, "test -e ok && sh ../check.sh", &["-n", "1"])).expect_code(1);
    assert!(ran.text().contains("the record of what was there is not the one that was written"), "{}", ran.text());
    let left = fs::read_dir(user.run_folder(&user.id())).unwrap().flatten();
    assert!(left.into_iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("outside-")));
}
