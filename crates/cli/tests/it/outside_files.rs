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
    let said = "files outside of the workspace that a gate uses are not as at the start: \
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

/// Plays an agent that changes a file above the workspace which only a file of the workspace names.
fn changed_above(files: &[(&str, &str)], gate: &str, above: &str) {
    let user = user();
    for (path, text) in files {
        user.write(path, text);
    }
    let passes = match above.rsplit_once('.') {
        Some((_, "sh")) => "exit 0",
        Some((_, "js")) => "module.exports = true",
        _ => "test: ; true",
    };
    let agent = format!("echo '{passes}' > ../{above}; touch made");
    let ran = user.run(&start(&agent, gate, &["-n", "2"])).expect_code(1);
    let said = format!("$ROOT/{above} (changed)");
    assert!(ran.text().contains(&said), "{gate}: {}", ran.text());
    let status = user.run(&["status", &user.id(), "--json"]).json();
    assert_eq!(status["loops"][0]["outcome"], "passed_but", "{gate}: {status}");
}

#[test]
fn a_file_above_that_a_script_of_the_workspace_reads_or_runs_is_compared() {
    let scripts: &[(&str, &str)] = &[
        (". ../lib.sh", "lib.sh"),
        ("sh ../helper.sh", "helper.sh"),
        ("S=../helper.sh; sh \"$S\"", "helper.sh"),
        ("HERE=$(cd \"$(dirname \"$0\")\" && pwd)\n. \"$HERE/../lib.sh\"", "lib.sh"),
    ];
    for (script, above) in scripts {
        changed_above(&[("work/check.sh", script), (above, "exit 1\n")], "sh check.sh", above);
    }
}

#[test]
fn a_makefile_above_that_a_script_or_a_makefile_of_the_workspace_uses_is_compared() {
    let failing = "test:\n\tfalse\n";
    changed_above(&[("work/check.sh", "make -f ../Makefile test"), ("Makefile", failing)], "sh check.sh", "Makefile");
    changed_above(&[("work/Makefile", "include ../rules.mk\n"), ("rules.mk", failing)], "make test", "rules.mk");
}

#[test]
fn a_file_above_that_the_gates_own_javascript_imports_is_compared() {
    let files = [("work/check.js", "require('assert')(require('../lib'))\n"), ("lib.js", "module.exports = false\n")];
    changed_above(&files, "node check.js", "lib.js");
}

#[test]
fn a_file_above_is_compared_that_only_a_script_names_which_the_gate_does_not_name() {
    let gate = "for f in t/*.sh; do sh \"$f\" || exit 1; done";
    changed_above(&[("work/t/1.sh", ". ../lib.sh"), ("lib.sh", "exit 1\n")], gate, "lib.sh");
}

#[test]
fn a_file_above_that_a_script_writes_or_that_stays_as_it_is_speaks_against_nothing() {
    let user = user();
    user.write("work/check.sh", ". ../lib.sh\necho ran >> ../log.txt\ntest -e made\n");
    user.write("lib.sh", "true\n");
    user.run(&start("touch made ../unused.sh", "sh check.sh", &["-n", "1"])).expect_code(0);
    let status = user.run(&["status", &user.id(), "--json"]).json();
    let loops = &status["loops"][0];
    assert_eq!(loops["outcome"], "verified", "{status}");
    assert!(!loops["certificate"]["named"].to_string().contains("outside"), "{status}");
}

/// The gate lies in the user's own folder.
const OWN_GATE: &str = "sh ~/checks/x.sh";

#[test]
fn a_gate_in_the_users_own_folder_judges_the_work_in_a_clean_copy_too() {
    let user = user();
    user.write("home/checks/x.sh", ". ~/checks/lib.sh\nwants made\n");
    user.write("home/checks/lib.sh", "wants() { test -e \"$1\"; }\n");
    let ran = user.run(&start("touch made", OWN_GATE, &["-n", "1"])).expect_code(0);
    assert!(ran.out().contains("again in a clean copy"), "{}", ran.text());
}

#[test]
fn a_gate_in_the_users_own_folder_that_the_agent_changes_is_no_pass() {
    for changed in ["x.sh", "lib.sh"] {
        let user = user();
        user.write("home/checks/x.sh", ". ~/checks/lib.sh\nwants made\n");
        user.write("home/checks/lib.sh", "wants() { test -e \"$1\"; }\n");
        let agent = format!("echo 'wants() {{ true; }}' > ~/checks/{changed}; touch other");
        let ran = user.run(&start(&agent, OWN_GATE, &["-n", "2"])).expect_code(1);
        let said = format!("$ROOT/home/checks/{changed} (changed)");
        assert!(ran.text().contains(&said), "{changed}: {}", ran.text());
    }
}
