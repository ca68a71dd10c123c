//! What a checkpoint holds and what it leaves alone: ignored files, skipped ones, what cannot be read, the user's own
//! repository, and for how long it is kept.
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use loop_testkit::{TestEnv, wait_until};

use crate::{start, user};

/// A git of the user's, with nobody's configuration.
fn git(user: &TestEnv, words: &[&str]) -> String {
    let ran = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(words)
        .current_dir(user.work())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(ran.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn repository() -> TestEnv {
    let user = user();
    user.write("work/.gitignore", "*.log\nbuild/\n");
    user.write("work/tracked.log", "tracked although it is ignored\n");
    user.write("work/main.c", "int main;\n");
    git(&user, &["init", "-q"]);
    git(&user, &["add", "-f", "."]);
    git(&user, &["commit", "-qm", "one"]);
    user
}

#[test]
fn what_git_ignores_is_neither_kept_nor_touched_but_what_it_tracks_is() {
    // req: D-14
    let user = repository();
    user.write("work/build/out", "built\n");
    let agent = "echo more >> tracked.log; echo x > a.log; echo new > build/out; echo '*.c' >> .gitignore; rm main.c; echo z > made.c";
    user.run(&start(agent, "test -e made.c", &["--judge", "workspace"])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/tracked.log"), "tracked although it is ignored\n");
    assert_eq!(user.read("work/main.c"), "int main;\n", "a path once kept stays in scope, whatever the agent ignores");
    assert_eq!(user.read("work/.gitignore"), "*.log\nbuild/\n");
    assert_eq!(user.read("work/a.log"), "x\n", "what is ignored is left alone");
    assert_eq!(user.read("work/build/out"), "new\n");
    assert_eq!(
        user.read("work/made.c"),
        "z\n",
        "ignored by the rules of the moment: no checkpoint holds it, so it stays"
    );
    assert_eq!(git(&user, &["status", "--short"]), "?? made.c\n");
}

#[test]
fn ignored_files_are_kept_where_that_is_wanted() {
    let user = repository();
    user.write("work/build/out", "built\n");
    user.run(&start("echo new > build/out; touch done", "test -e done", &["--checkpoint-ignored"])).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    assert_eq!(user.read("work/build/out"), "built\n");
}

#[test]
fn without_a_repository_what_is_made_from_sources_is_left_alone() {
    // req: D-14
    let user = user();
    user.write("work/node_modules/x/index.js", "1\n");
    user.run(&start("echo 2 > node_modules/x/index.js; echo y > src", "test -e src", &[])).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    assert_eq!(user.read("work/node_modules/x/index.js"), "2\n");
    assert!(!user.work().join("src").exists());
}

#[test]
fn what_is_skipped_is_in_no_checkpoint_and_no_rollback_touches_it() {
    let user = user();
    user.write("work/data/big.bin", "one\n");
    let words = ["--checkpoint-skip", "data/", "--checkpoint-skip", "*.tmp"];
    user.run(&start("echo two > data/big.bin; echo t > x.tmp; echo y > src", "test -e src", &words)).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    assert_eq!(user.read("work/data/big.bin"), "two\n");
    assert_eq!(user.read("work/x.tmp"), "t\n");
    assert!(!user.work().join("src").exists());
}

#[test]
fn what_the_harness_itself_writes_is_no_change_and_no_rollback_undoes_it() {
    // req: B-14 partly: without publishers
    let user = user();
    user.write("work/.loopr/config", "a = 1\n");
    let agent = "mkdir -p .harness; echo s > .loopr/status.json; echo i > .harness/inbox; echo 'a = 2' > .loopr/config";
    user.run(&start(agent, "test -e .loopr/status.json", &["--judge", "workspace"])).expect_code(0);
    let id = user.id();
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["iterations"][0]["changes"]["files"], 1, "the settings file alone");
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/.loopr/config"), "a = 1\n");
    assert_eq!(user.read("work/.loopr/status.json"), "s\n");
    assert_eq!(user.read("work/.harness/inbox"), "i\n");
}

#[test]
fn a_file_that_cannot_be_read_stops_the_start_and_can_be_skipped() {
    let user = user();
    user.write("work/secret.key", "k\n");
    fs::set_permissions(user.work().join("secret.key"), Permissions::from_mode(0o000)).unwrap();
    let user = ordinary(user);
    let ran = user.run(&start("touch x", "test -e x", &[])).expect_code(4);
    assert!(ran.err().contains("secret.key") && ran.err().contains("--checkpoint-skip"), "{}", ran.text());
    assert_eq!(user.ids(), Vec::<String>::new(), "nothing was made");
    user.run(&start("touch x", "test -e x", &["--checkpoint-skip", "secret.key"])).expect_code(0);
}

#[test]
fn a_file_that_cannot_be_read_later_pauses_the_loop_until_it_is_fixed() {
    let user = ordinary(user());
    let agent = "echo s > secret; chmod 000 secret; touch ../ran-$LOOP_ITERATION";
    let running = user.begin(&start(agent, "test -e secret && chmod 600 secret && false", &["-n", "1"]));
    let id = {
        user.wait_for_file("ran-1");
        user.id()
    };
    wait_until("it is paused", || user.run(&["status", &id, "--json"]).json()["loops"][0]["status"] == "paused");
    let row = user.run(&["status", &id, "--json"]).json();
    assert!(row["loops"][0]["why"].as_str().unwrap().contains("secret: Permission denied"), "{row}");
    fs::set_permissions(user.work().join("secret"), Permissions::from_mode(0o600)).unwrap();
    user.run(&["resume", &id]).expect_code(0);
    let ran = running.end().expect_code(1);
    assert!(ran.err().contains("paused until that is fixed"), "{}", ran.text());
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["iterations"][0]["checkpoint"], "iter-001");
}

/// Root can read everything: then the loop is run by somebody else.
fn ordinary(user: TestEnv) -> TestEnv {
    use std::os::unix::fs::MetadataExt;
    if fs::metadata("/proc/self").unwrap().uid() == 0 {
        user.owned_by(65534).run_by(&["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"])
    } else {
        user
    }
}

#[test]
fn a_repository_that_the_agent_destroyed_comes_back_with_its_branches() {
    // req: D-08
    let user = repository();
    git(&user, &["branch", "feature"]);
    let before = git(&user, &["log", "--all", "--format=%H %D"]);
    user.run(&start("rm -rf .git; echo x > main.c", "test ! -e .git", &["--judge", "workspace"])).expect_code(0);
    let id = user.id();
    let ran = user.run(&["rollback", &id, "initial", "--restore-git"]).expect_code(0);
    assert!(ran.out().contains("your repository is back"), "{}", ran.text());
    assert_eq!(git(&user, &["log", "--all", "--format=%H %D"]), before);
    assert_eq!(git(&user, &["status", "--short"]), "");
    git(&user, &["fsck", "--full"]);
}

#[test]
fn checkpoints_of_ended_loops_go_after_their_time_and_named_ones_stay() {
    // req: D-24
    let user = user();
    user.run(&start("head -c 200000 /dev/urandom > big", "test -e big", &[])).expect_code(0);
    let first = user.id();
    user.run(&["checkpoint", &first, "good"]).expect_code(0);
    user.run(&start("head -c 200000 /dev/urandom > other", "test -e other", &[])).expect_code(0);
    let second = user.ids().into_iter().find(|id| *id != first).unwrap();
    let gc = |words: &[&str]| user.run(&[&["checkpoint", "gc", "--json"], words].concat()).expect_code(0).json();
    assert_eq!(gc(&[])["removed"].as_array().unwrap().len(), 0, "a day has not passed");
    user.run(&["config", "set", "checkpoint_retention", "1ms"]).expect_code(0);
    user.run(&["config", "set", "checkpoint_retention_main", "1ms"]).expect_code(0);
    let would = gc(&["--dry-run"]);
    let named: Vec<&str> = would["removed"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert!(named.iter().all(|name| !name.ends_with("/good")) && named.len() == 4, "{would}");
    assert_eq!(gc(&["--dry-run"]), would, "a dry run changes nothing");
    let did = gc(&[]);
    assert_eq!(did["removed"], would["removed"]);
    assert!(did["freed_bytes"].as_u64().unwrap() > 190_000, "{did}");
    user.run(&["rollback", &second, "initial"]).expect_code(4);
    fs::remove_file(user.work().join("big")).unwrap();
    user.run(&["rollback", &first, "good"]).expect_code(0);
    assert_eq!(fs::metadata(user.work().join("big")).unwrap().len(), 200_000, "what is named is whole");
    let store = fs::read_dir(user.state().join("checkpoints")).unwrap().flatten().map(|entry| entry.path());
    for store in store.filter(|path| path.is_dir()) {
        let fsck =
            Command::new("git").arg("--git-dir").arg(&store).args(["fsck", "--full", "--strict"]).output().unwrap();
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
    }
    user.run(&["checkpoint", "rm", &first, "good"]).expect_code(0);
    user.run(&["checkpoint", "rm", &first, "initial"]).expect_code(4);
    user.run(&["rm", &first, &second]).expect_code(0);
}

#[test]
fn the_state_folder_in_a_workspace_is_no_part_of_it_and_a_workspace_in_it_is_refused() {
    let user = user();
    let user = {
        let state = user.work().join(".my state[1]");
        user.with("LOOP_HOME", state)
    };
    user.write("work/a", "1\n");
    user.run(&start("echo 2 > a; rm -f thesis", "false", &["-n", "2"])).expect_code(1);
    let id = std::fs::read_dir(user.work().join(".my state[1]/runs")).unwrap().flatten().next().unwrap();
    let id = id.file_name().into_string().unwrap();
    let history = user.run(&["history", &id, "--json"]).json();
    assert_eq!(history["iterations"][0]["changes"]["files"], 1, "loop's own files are not the agent's work");
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/a"), "1\n");
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.read("work/a"), "2\n");
    let inside = user.work().join(".my state[1]/runs");
    let ran = user.run(&[&start("true", "true", &[])[..], &["-C", inside.to_str().unwrap()]].concat()).expect_code(4);
    assert!(ran.err().contains("stores its records"), "{}", ran.text());
}

#[test]
fn what_is_left_out_is_named_and_holes_stay_holes() {
    let user = user();
    std::fs::File::create(user.work().join("sparse")).unwrap().set_len(40 << 20).unwrap();
    user.write("work/big", &"x".repeat(3 << 20));
    assert!(Command::new("mkfifo").arg(user.work().join("pipe")).status().unwrap().success());
    let words = ["--checkpoint-file-max", "1MiB", "--checkpoint-skip", "skipped", "-n", "1"];
    user.write("work/skipped", "s\n");
    let ran = user.run(&start("rm -f sparse", "false", &words)).expect_code(1);
    for name in ["not kept: big (", "not kept: pipe (", "not kept: skipped ("] {
        assert!(ran.err().contains(name), "{name}: {}", ran.text());
    }
    let user = crate::user();
    std::fs::File::create(user.work().join("sparse")).unwrap().set_len(40 << 20).unwrap();
    user.run(&start("rm -f sparse", "test ! -e sparse", &[])).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    let found = fs::metadata(user.work().join("sparse")).unwrap();
    assert_eq!(found.len(), 40 << 20);
    assert!(std::os::unix::fs::MetadataExt::blocks(&found) * 512 < 1 << 20, "a file of holes fills no disk");
}

#[test]
fn what_a_nested_repository_tracks_is_kept_although_it_is_ignored() {
    let user = repository();
    fs::create_dir_all(user.work().join("nest")).unwrap();
    user.write("work/nest/t.log", "tracked there\n");
    let inner = |words: &[&str]| git(&user, &[&["-C", "nest"], words].concat());
    inner(&["init", "-q"]);
    inner(&["add", "-f", "t.log"]);
    inner(&["commit", "-qm", "one"]);
    user.write("work/nest/t.log", "and changed since\n");
    user.run(&start("rm -rf nest", "test ! -e nest", &[])).expect_code(0);
    user.run(&["rollback", &user.id(), "initial"]).expect_code(0);
    assert_eq!(user.read("work/nest/t.log"), "and changed since\n");
}

#[test]
fn an_undo_is_exact_although_the_agent_ignored_what_was_kept() {
    let user = repository();
    user.write("work/secret", "s\n");
    fs::create_dir(user.work().join("hollow")).unwrap();
    let agent = "printf 'secret\\nhollow\\n' >> .gitignore; rm secret; rmdir hollow; touch done";
    user.run(&start(agent, "test -e done", &[])).expect_code(0);
    let id = user.id();
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.read("work/secret"), "s\n");
    let ran = user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert!(!user.work().join("secret").exists() && !user.work().join("hollow").exists(), "{}", ran.text());
}

#[test]
fn named_checkpoints_do_not_go_with_the_records_by_the_way() {
    let user = user();
    user.run(&start("touch x", "test -e x", &[])).expect_code(0);
    let id = user.id();
    user.run(&["checkpoint", &id, "keepme"]).expect_code(0);
    let ran = user.run(&["rm", &id]).expect_code(4);
    assert!(ran.err().contains("keepme") && ran.err().contains("--checkpoints"), "{}", ran.text());
    let ran = user.run(&["prune", "--older-than", "1ms", "--all"]).expect_code(0);
    assert!(ran.err().contains("stays: it has checkpoints that you took (keepme)"), "{}", ran.text());
    user.run(&["rollback", &id, "keepme"]).expect_code(0);
    user.run(&["rm", &id, "--checkpoints"]).expect_code(0);
}

#[test]
fn what_one_loop_was_given_is_for_that_loop_alone_and_an_undo_outlives_the_retention() {
    // req: D-24
    let user = user();
    user.run(&start("touch x", "test -e x", &[])).expect_code(0);
    let first = user.id();
    let looked = user.state().join("checkpoints/looked");
    let due = |user: &TestEnv| {
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
        fs::File::open(user.state().join("checkpoints/looked")).unwrap().set_modified(then).unwrap();
    };
    assert!(looked.exists());
    due(&user);
    let words = ["--checkpoint-retention", "1ms", "--checkpoint-retention-main", "1ms"];
    user.run(&start("touch y", "test -e y", &words)).expect_code(0);
    let second = user.ids().into_iter().find(|id| *id != first).unwrap();
    user.run(&["rollback", &first, "initial"]).expect_code(0);
    user.run(&["rollback", &first, "undo"]).expect_code(0);
    user.run(&["checkpoint", "gc"]).expect_code(0);
    user.run(&["rollback", &second, "initial"]).expect_code(4);
    user.run(&["rollback", &first, "undo"]).expect_code(0);
}
