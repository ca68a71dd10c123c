//! What a rollback says of files: before it, after it, and of single ones.
use loop_testkit::TestEnv;

use crate::{start, user};

/// Changes one file and makes another.
const AGENT: &str = "echo $LOOP_ITERATION >> log; echo $LOOP_ITERATION > file-$LOOP_ITERATION";

fn ended(user: &TestEnv) -> String {
    user.write("work/log", "0\n");
    user.run(&start(AGENT, "test -e file-2", &[])).expect_code(0);
    user.id()
}

#[test]
fn a_dry_run_names_what_would_be_written_and_removed_and_whose_it_is_and_changes_nothing() {
    let user = user();
    let id = ended(&user);
    user.write("work/notes", "mine\n");
    user.write("work/file-1", "edited by hand\n");
    let before = user.tree("work");
    let ran = user.run(&["rollback", &id, "initial", "--dry-run"]).expect_code(0);
    let own = "(no iteration of this loop made it)";
    assert_eq!(
        ran.out(),
        format!(
            "would remove file-1 {own}\nwould remove notes {own}\nwould remove file-2\nwould write  log\n\
             rolling back to initial: 1 file would be written, 3 removed; nothing was changed\n"
        )
    );
    assert_eq!(user.tree("work"), before);
    assert_eq!(user.read("work/log"), "0\n1\n2\n");
    let names = user.run(&["checkpoint", "list", &id, "--json"]).json();
    assert_eq!(names["checkpoints"].as_array().unwrap().len(), 3, "no checkpoint is taken");
    let json = user.run(&["rollback", &id, "initial", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!((&json["version"], &json["id"], &json["dry_run"]), (&1.into(), &id.clone().into(), &true.into()));
    assert_eq!(json["files"][1], serde_json::json!({"path": "notes", "what": "removed", "own": true}));
}

#[test]
fn a_rollback_does_what_its_dry_run_said_and_lists_up_to_ten_files() {
    let user = user();
    user.run(&start("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x > f$i; done", "test -e f12", &[])).expect_code(0);
    let id = user.id();
    user.write("work/notes", "mine\n");
    let said = user.run(&["rollback", &id, "initial", "--dry-run", "--json"]).json();
    let json = user.run(&["rollback", &id, "initial", "--json"]).expect_code(0).json();
    assert_eq!((&json["version"], &json["id"]), (&1.into(), &id.clone().into()));
    assert_eq!((&json["files"]["removed"], &json["files"]["own"]), (&said["removed"], &1.into()));
    assert_eq!(json["files"]["first"], said["files"]);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(0).out();
    assert!(ran.starts_with("rolled back to initial: 0 files written, 13 removed\n"), "{ran}");
    assert!(ran.contains("\n  removed  notes (no iteration of this loop made it)\n"), "{ran}");
    assert_eq!(ran.matches("\n  removed  ").count(), 10, "{ran}");
    assert!(ran.contains("\n  and 3 more\n"), "{ran}");
}

#[test]
fn single_files_and_folders_can_be_restored_and_that_can_be_undone() {
    let user = user();
    for name in ["a/one", "a/two", "b"] {
        user.write(&format!("work/{name}"), "old\n");
    }
    let agent = "rm -r a; echo new > b; echo made > c; mkdir d; echo made > d/e";
    user.run(&start(agent, "test -e c", &[])).expect_code(0);
    let id = user.id();
    let dry = user.run(&["rollback", &id, "initial", "--dry-run", "--", "a/one", "d"]).expect_code(0).out();
    assert!(dry.starts_with("would write  a/one\nwould remove d/e\nrolling back"), "{dry}");
    let ran = user.run(&["rollback", &id, "initial", "--", "a/one", "d"]).expect_code(0).out();
    assert!(ran.starts_with("2 paths restored from initial: 1 file written, 1 removed\n"), "{ran}");
    assert_eq!(user.tree("work"), ["a", "a/one", "b", "c"]);
    assert_eq!((user.read("work/a/one").as_str(), user.read("work/b").as_str()), ("old\n", "new\n"));
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.tree("work"), ["b", "c", "d", "d/e"]);
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.tree("work"), ["a", "a/one", "b", "c"], "an undo can be undone");
    let history = user.run(&["history", &id]).expect_code(0).out();
    assert!(history.contains("a/one, d restored from initial (before it: undo-1)"), "{history}");
}

#[test]
fn paths_outside_of_both_states_are_refused_and_nothing_changes() {
    let user = user();
    let id = ended(&user);
    for (path, why) in [
        ("nowhere", "neither in checkpoint initial nor in the workspace"),
        ("/etc/passwd", "not in the workspace"),
        ("../x", "not in the workspace"),
        (".", "it is the whole workspace"),
        (".git/config", "--restore-git"),
    ] {
        let ran = user.run(&["rollback", &id, "initial", "--", path]).expect_code(4);
        assert!(ran.err().contains(why), "{path}: {}", ran.text());
    }
    assert_eq!(user.read("work/log"), "0\n1\n2\n");
    let json = user.run(&["checkpoint", "list", &id, "--json"]).json();
    assert_eq!(json["checkpoints"].as_array().unwrap().len(), 3, "no undo was taken: {json}");
}

#[test]
fn after_a_rollback_of_one_file_the_loop_goes_on_with_what_is_there_and_the_agent_is_told() {
    let user = user();
    user.write("work/log", "0\n");
    user.run(&start(AGENT, "test -e file-3", &["-n", "2"])).expect_code(1);
    let id = user.id();
    user.run(&["rollback", &id, "initial", "--", "log"]).expect_code(0);
    user.run(&["resume", &id, "-n", "+1"]).expect_code(0);
    assert_eq!(user.read("work/log"), "0\n3\n");
    let prompt = std::fs::read_to_string(user.run_folder(&id).join("iterations/000003/attempt-1/prompt.md")).unwrap();
    assert!(prompt.contains("These were restored from checkpoint initial: log."), "{prompt}");
    user.run(&["verify", &id]).expect_code(0);
    let diff = user.run(&["history", &id, "--diff", "3"]).expect_code(0).out();
    assert!(diff.contains(" 0\n+3\n") && !diff.contains("file-2"), "only what iteration 3 did: {diff}");
}

#[test]
fn a_rollback_of_an_older_loop_says_that_the_work_of_a_newer_one_goes() {
    let user = user();
    let first = ended(&user);
    user.run(&start("echo second > second", "test -e second", &[])).expect_code(0);
    let second = user.ids().into_iter().find(|id| *id != first).unwrap();
    let dry = user.run(&["rollback", &first, "initial", "--dry-run"]).expect_code(0);
    assert!(dry.err().contains(&format!("loop {second} worked in this folder later")), "{}", dry.text());
    let ran = user.run(&["rollback", &first, "initial"]).expect_code(0);
    assert!(ran.err().contains(&format!("loop {second} worked in this folder later")), "{}", ran.text());
    user.run(&["rollback", &first, "undo"]).expect_code(0);
    assert_eq!(user.read("work/second"), "second\n");
    let ran = user.run(&["rollback", &second, "initial"]).expect_code(0);
    assert!(!ran.err().contains("worked in this folder later"), "{}", ran.text());
}
