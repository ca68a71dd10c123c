//! Small ignored files: kept apart from the work, and restored by a rollback. UR-A6 is a finding of a review.
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use loop_testkit::TestEnv;

use crate::{start, user};

const SECRET: &str = "PASSWORD=hunter2";

/// A repository with ignored files of each kind.
fn repository() -> TestEnv {
    let user = user();
    user.write("work/.gitignore", ".env*\nsecrets/\nnode_modules/\nbig.bin\n");
    user.write("work/main.c", "int main;\n");
    let git = "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm one";
    assert!(Command::new("sh").arg("-c").arg(git).current_dir(user.work()).status().unwrap().success());
    user.write("work/.env", &format!("{SECRET}\n"));
    fs::set_permissions(user.work().join(".env"), Permissions::from_mode(0o600)).unwrap();
    user.write("work/secrets/deep/key", "key\n");
    std::os::unix::fs::symlink("deep/key", user.work().join("secrets/link")).unwrap();
    user.write("work/node_modules/a/index.js", "a\n");
    user.write("work/big.bin", &"x".repeat(2 << 20));
    user
}

fn ended(user: &TestEnv, agent: &str, words: &[&str]) -> String {
    let agent = format!("{agent}; touch done");
    user.run(&start(&agent, "test -e done", &[&["--judge", "workspace"], words].concat())).expect_code(0);
    user.id()
}

#[test]
fn small_ignored_files_that_an_agent_removed_are_restored_with_their_permissions() {
    // UR-A6
    let user = repository();
    let id = ended(&user, "git clean -fdxq", &[]);
    assert!(!user.work().join(".env").exists());
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/.env"), format!("{SECRET}\n"));
    assert_eq!(fs::metadata(user.work().join(".env")).unwrap().permissions().mode() & 0o7777, 0o600);
    assert_eq!(user.read("work/secrets/deep/key"), "key\n");
    assert_eq!(fs::read_link(user.work().join("secrets/link")).unwrap().to_str(), Some("deep/key"));
    assert!(ran.out().contains("\n  written  .env\n"), "{}", ran.text());
}

#[test]
fn what_is_not_kept_is_named_at_the_start_and_by_a_rollback_that_cannot_bring_it_back() {
    // UR-A6
    let user = repository();
    let agent = "git clean -fdxq; touch done";
    let ran = user.run(&start(agent, "test -e done", &["--judge", "workspace"])).expect_code(0);
    let line = "not kept: big.bin (2.0 MiB), node_modules (ignored; --checkpoint-ignored keeps them)";
    assert!(ran.err().contains(line), "{}", ran.text());
    assert_eq!(ran.err().matches("not kept:").count(), 1, "{}", ran.text());
    let ran = user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    let line = "not restored: big.bin, node_modules (ignored, and no checkpoint holds them)";
    assert!(ran.out().contains(line), "{}", ran.text());
}

#[test]
fn an_ignored_file_is_no_work_and_its_content_is_shown_nowhere() {
    let user = repository();
    let agent = format!("echo '{SECRET}$LOOP_ITERATION' > .env; echo '{SECRET}' > secrets/new; touch done");
    user.write("agent.sh", &agent);
    let ran = user.run(&start("sh ../agent.sh", "test -e done", &["--judge", "workspace"])).expect_code(0);
    let id = user.id();
    assert!(ran.err().contains("changed: +0 -0 (1 file)"), "only the file that is not ignored: {}", ran.text());
    let mut said = ran.text();
    for words in [
        &["history", &id, "--diff"][..],
        &["history", &id, "--json"],
        &["checkpoint", "list", &id, "--verbose"],
        &["rollback", &id, "initial", "--dry-run"],
        &["rollback", &id, "initial"],
        &["status", &id, "--json"],
    ] {
        said.push_str(&user.run(words).expect_code(0).text());
    }
    assert!(!said.contains(SECRET), "{said}");
    let diff = user.run(&["history", &id, "--diff", "--json"]).json();
    let changed: Vec<_> = diff["changes"].as_array().unwrap().iter().map(|change| change["path"].clone()).collect();
    assert_eq!(changed, ["done"]);
}

#[test]
fn a_changed_ignored_file_is_restored_an_undo_brings_the_change_back_and_none_is_removed() {
    let user = repository();
    let id = ended(&user, "echo changed > .env; echo made > .env.local", &[]);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/.env"), format!("{SECRET}\n"));
    assert_eq!(user.read("work/.env.local"), "made\n", "an ignored file is never removed");
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.read("work/.env"), "changed\n");
    let dry = user.run(&["rollback", &id, "initial", "--dry-run", "--", ".env"]).expect_code(0).out();
    assert!(dry.starts_with("would write  .env\nrolling back to initial: 1 file would be written, 0 removed"), "{dry}");
    user.run(&["rollback", &id, "initial", "--", ".env"]).expect_code(0);
    assert_eq!(user.read("work/.env"), format!("{SECRET}\n"));
    assert!(user.work().join("done").exists(), "nothing else was touched");
}

#[test]
fn an_ignored_file_that_no_checkpoint_holds_is_moved_aside_and_not_overwritten() {
    let user = repository();
    let id = ended(&user, "head -c 2000000 /dev/zero > .env", &[]);
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/.env"), format!("{SECRET}\n"));
    let aside = user.tree("work").into_iter().find(|name| name.starts_with(".env.kept-")).unwrap();
    assert_eq!(fs::metadata(user.work().join(&aside)).unwrap().len(), 2_000_000);
    assert!(ran.out().contains(&format!("moved aside: {aside}")), "{}", ran.text());
}

#[test]
fn a_skipped_file_is_not_kept_although_it_is_small() {
    let user = repository();
    let id = ended(&user, "rm .env secrets/deep/key", &["--checkpoint-skip", ".env"]);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(!user.work().join(".env").exists());
    assert_eq!(user.read("work/secrets/deep/key"), "key\n");
}

#[test]
fn a_skipped_file_below_an_ignored_folder_is_not_kept() {
    let user = repository();
    let id = ended(&user, "rm -r secrets", &["--checkpoint-skip", "key"]);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(user.work().join("secrets/link").is_symlink(), "the rest of the folder is kept");
    assert!(!user.work().join("secrets/deep/key").exists());
}

#[test]
fn a_state_folder_below_an_ignored_folder_is_in_no_checkpoint_so_that_no_rollback_rewrites_records() {
    let user = repository();
    user.write("work/.gitignore", "own/\n");
    let state = user.work().join("own/state");
    fs::create_dir_all(&state).unwrap();
    fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
    user.write("work/own/note", "mine\n");
    let home = state.display().to_string();
    let with = |words: &[&str]| user.command(words).env("LOOP_HOME", &home).output().unwrap();
    let ran = with(&start("rm own/note; touch done", "test -e done", &["--judge", "workspace"]));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let listed: serde_json::Value = serde_json::from_slice(&with(&["list", "--json"]).stdout).unwrap();
    let id = listed["loops"][0]["id"].as_str().unwrap().to_owned();
    let ran = with(&["rollback", &id, "initial"]);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(user.read("work/own/note"), "mine\n");
    let history = String::from_utf8(with(&["history", &id, "--events"]).stdout).unwrap();
    assert!(with(&["status", &id]).status.success() && !history.is_empty(), "the journal is whole: {history}");
    let written = String::from_utf8(ran.stdout).unwrap();
    assert!(!written.contains("own/state"), "{written}");
}

#[test]
fn a_link_or_a_file_in_the_place_of_an_ignored_folder_goes_aside_and_the_rollback_is_done() {
    for agent in ["rm -r secrets; ln -s /tmp secrets", "rm -r secrets; echo other > secrets"] {
        let user = repository();
        user.write("work/.gitignore", ".env*\nsecrets\n");
        let id = ended(&user, agent, &[]);
        let ran = user.run(&["rollback", &id, "initial"]).expect_code(0);
        assert_eq!(user.read("work/secrets/deep/key"), "key\n", "{agent}");
        let names = fs::read_dir(user.work()).unwrap().flatten();
        let mut aside = names.map(|entry| entry.file_name().into_string().unwrap());
        let aside = aside.find(|name| name.starts_with("secrets.kept-")).expect(agent);
        assert!(ran.out().contains(&aside), "{}", ran.text());
    }
}

#[test]
fn a_rollback_of_an_ignored_path_that_no_checkpoint_holds_is_refused_with_and_without_a_dry_run() {
    let user = repository();
    let id = ended(&user, "true", &[]);
    for more in [&[][..], &["--dry-run"]] {
        let words = [&["rollback", &id, "initial"], more, &["--", "node_modules"]].concat();
        let ran = user.run(&words).expect_code(4);
        assert!(
            ran.err().contains("node_modules is ignored, and checkpoint initial does not hold it"),
            "{}",
            ran.text()
        );
    }
}

#[test]
fn a_dry_run_names_what_cannot_be_restored() {
    let user = repository();
    let id = ended(&user, "git clean -fdxq", &[]);
    let line = "not restored: big.bin, node_modules (ignored, and no checkpoint holds them)";
    let dry = user.run(&["rollback", &id, "initial", "--dry-run"]).expect_code(0).out();
    assert!(dry.contains(line), "{dry}");
    let json = user.run(&["rollback", &id, "initial", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(json["remarks"][0], line, "{json}");
    let ran = user.run(&["rollback", &id, "initial", "--", "big.bin"]).expect_code(4);
    assert!(ran.err().contains("big.bin is ignored, and checkpoint initial does not hold it"), "{}", ran.text());
    assert!(!ran.err().contains("fix that"), "{}", ran.text());
}

#[test]
fn an_undo_says_that_an_ignored_file_is_not_removed() {
    let user = repository();
    let id = ended(&user, "rm .env", &[]);
    user.run(&["rollback", &id, "initial", "--", ".env"]).expect_code(0);
    let ran = user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert!(ran.out().contains("not removed: .env (ignored files stay)"), "{}", ran.text());
}
