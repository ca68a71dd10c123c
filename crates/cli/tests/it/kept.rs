//! What is kept of a loop that has ended, until when, and what is said of it. UR-A5 and UR-A14 are findings of a review.
use std::process::Command;

use loop_testkit::TestEnv;

use crate::{start, user};

/// Makes a file an iteration.
const AGENT: &str = "echo $LOOP_ITERATION > file-$LOOP_ITERATION";

fn names(user: &TestEnv, id: &str) -> Vec<String> {
    let json = user.run(&["checkpoint", "list", id, "--json"]).expect_code(0).json();
    json["checkpoints"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

fn set(user: &TestEnv, key: &str, value: &str) {
    user.run(&["config", "set", key, value]).expect_code(0);
}

/// A loop of four iterations that is verified.
fn four(user: &TestEnv) -> String {
    user.run(&start(AGENT, "test -e file-4", &[])).expect_code(0);
    user.id()
}

#[test]
fn after_the_retention_only_the_iterations_in_between_go() {
    // req: D-24
    let user = user();
    let id = four(&user);
    user.run(&["checkpoint", &id, "mine"]).expect_code(0);
    user.run(&["rollback", &id, "2"]).expect_code(0);
    user.run(&["rollback", &id, "4"]).expect_code(0);
    set(&user, "checkpoint_retention", "1ms");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    assert_eq!(names(&user, &id), ["initial", "iter-004", "mine", "undo-1", "undo-2"]);
    user.run(&["verify", &id]).expect_code(0);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(!user.work().join("file-1").exists());
    user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(user.read("work/file-4"), "4\n");
}

#[test]
fn git_still_reads_a_store_whose_iterations_in_between_went() {
    let user = user();
    let id = four(&user);
    set(&user, "checkpoint_retention", "1ms");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    let row = user.run(&["checkpoint", "list", &id, "--json"]).json()["checkpoints"][1].clone();
    assert_eq!(row["name"], "iter-004");
    let shown = Command::new("sh").arg("-c").arg(row["git"].as_str().unwrap()).output().unwrap();
    assert!(String::from_utf8_lossy(&shown.stdout).contains("file-4"), "{shown:?}");
    let folder = std::fs::read_dir(user.state().join("checkpoints")).unwrap().flatten().map(|entry| entry.path());
    let store = folder.filter(|path| path.is_dir()).last().unwrap();
    let fsck = Command::new("git").arg("--git-dir").arg(store).args(["fsck", "--full", "--strict"]).output().unwrap();
    assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
}

#[test]
fn what_is_not_kept_any_more_is_said_with_its_time_and_not_offered() {
    // UR-A5
    let user = user();
    let id = four(&user);
    set(&user, "checkpoint_retention", "1ms");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    for words in [&["rollback", &id, "1"][..], &["history", &id, "--diff", "1"]] {
        let ran = user.run(words).expect_code(4);
        assert!(ran.err().contains("iter-001 is not kept any more since 20"), "{}", ran.text());
        assert!(ran.err().contains("there are: initial, iter-004"), "{}", ran.text());
    }
    let history = user.run(&["history", &id]).expect_code(0).out();
    assert!(history.contains("iter-001 (gone)") && !history.contains("iter-004 (gone)"), "{history}");
    set(&user, "checkpoint_retention_main", "1ms");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    let list = user.run(&["checkpoint", "list", &id]).expect_code(0).out();
    assert!(list.starts_with("none is kept any more since 20"), "{list}");
    let ran = user.run(&["rollback", &id, "initial"]).expect_code(4);
    assert!(ran.err().contains("initial is not kept any more since 20"), "{}", ran.text());
    assert!(ran.err().contains("none is kept any more") && !ran.err().contains("none yet"), "{}", ran.text());
    let ran = user.run(&["verify", &id]).expect_code(4);
    assert!(ran.err().contains("it is not kept any more since 20"), "{}", ran.text());
    assert!(!ran.err().contains("os error"), "{}", ran.text());
    for words in [&["status", &id][..], &["watch", &id]] {
        let said = user.run(words).expect_code(0).out();
        for offer in ["loop rollback", "loop verify", "--diff"] {
            assert!(!said.contains(offer), "{words:?} offers {offer}: {said}");
        }
        assert!(said.contains("kept any more since 20"), "{said}");
    }
}

#[test]
fn every_screen_that_offers_a_checkpoint_says_until_when_it_is_kept() {
    // UR-A5
    let user = user();
    let ran = user.run(&start(AGENT, "test -e file-2", &[])).expect_code(0);
    let id = user.id();
    let json = user.run(&["checkpoint", "list", &id, "--json"]).json();
    let until = |name: &str| {
        let rows = json["checkpoints"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["kept_until"].as_str().unwrap().to_owned()
    };
    let days = |name: &str| {
        let stamp: jiff::Timestamp = until(name).parse().unwrap();
        (stamp.as_second() - jiff::Timestamp::now().as_second() + 3600) / 86400
    };
    assert_eq!((days("initial"), days("iter-001"), days("iter-002")), (30, 1, 30));
    let kept = ran.out().lines().last().unwrap().to_owned();
    assert!(kept.starts_with("kept:       until 20"), "{}", ran.text());
    assert!(kept.contains("; iterations in between until 20") && kept.len() <= 80, "{}", ran.text());
    let status = user.run(&["status", &id]).expect_code(0).out();
    assert!(status.contains("iter-002, kept until 20"), "{status}");
    let list = user.run(&["checkpoint", "list", &id]).expect_code(0).out();
    assert!(list.starts_with("NAME      ITER  TAKEN             SIZE"), "{list}");
    assert!(list.lines().all(|line| line.len() <= 80) && list.contains("KEPT UNTIL"), "{list}");
    assert!(!list.contains("git --git-dir"), "{list}");
    let verbose = user.run(&["checkpoint", "list", &id, "--verbose"]).expect_code(0).out();
    assert!(verbose.contains("git --git-dir") && verbose.contains(" show --stat refs/loop/"), "{verbose}");
    let back = user.run(&["rollback", &id, "initial"]).expect_code(0).out();
    assert!(back.contains(&format!("loop rollback {id} undo   (kept until 20")), "{back}");
}

#[test]
fn over_the_limit_of_space_the_iterations_in_between_go_first() {
    // req: D-24
    let user = user();
    let agent = "head -c 300000 /dev/urandom > data; touch file-$LOOP_ITERATION";
    user.run(&start(agent, "test -e file-5", &[])).expect_code(0);
    let id = user.id();
    set(&user, "checkpoint_bytes", "1MiB");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    assert_eq!(names(&user, &id), ["initial", "iter-005"]);
    set(&user, "checkpoint_bytes", "64KiB");
    user.run(&["checkpoint", "gc"]).expect_code(0);
    assert_eq!(names(&user, &id), Vec::<String>::new());
}

#[test]
fn the_own_files_of_a_nested_repository_are_kept_and_are_no_work() {
    // UR-A14
    let user = user();
    let git = "git -c user.name=a -c user.email=a@b -C libs/a";
    let made = format!("mkdir -p libs/a && {git} init -q && {git} commit -q --allow-empty -m one");
    let ran = Command::new("sh").arg("-c").arg(&made).current_dir(user.work()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let agent = format!("echo $LOOP_ITERATION > libs/a/x; {git} add x; {git} commit -qm more");
    let ran = user.run(&start(&agent, "false", &["-n", "1"])).expect_code(1);
    let id = user.id();
    assert!(ran.text().contains("changed: +1 -0 (1 file)"), "{}", ran.text());
    let diff = user.run(&["history", &id, "--diff", "1"]).expect_code(0).out();
    assert!(diff.contains("+++ b/libs/a/x") && !diff.contains(".git/"), "{diff}");
    assert!(diff.ends_with("# libs/a: 1 commit\n"), "{diff}");
    let stat = user.run(&["history", &id, "--diff", "1", "--stat"]).expect_code(0).out();
    assert!(stat.contains(" libs/a: 1 commit\n 1 file changed"), "{stat}");
    let json = user.run(&["history", &id, "--diff", "1", "--json"]).json();
    assert_eq!((&json["nested"][0]["path"], &json["nested"][0]["commits"]), (&"libs/a".into(), &1.into()));
    user.run(&["resume", &id, "-n", "+1"]).expect_code(1);
    let prompt = std::fs::read_to_string(user.run_folder(&id).join("iterations/000002/attempt-1/prompt.md")).unwrap();
    assert!(!prompt.contains(".git/"), "{prompt}");
    let head = || {
        let log = format!("{git} log --format=%s");
        let ran = Command::new("sh").arg("-c").arg(log).current_dir(user.work()).output().unwrap();
        String::from_utf8(ran.stdout).unwrap()
    };
    assert_eq!(head(), "more\nmore\none\n");
    user.run(&["rollback", &id, "1"]).expect_code(0);
    assert_eq!(head(), "more\none\n", "its own files are kept byte for byte");
}

#[test]
fn an_empty_commit_in_a_nested_repository_is_no_progress() {
    // UR-A14
    let user = user();
    let git = "git -c user.name=a -c user.email=a@b -C libs/a";
    let made = format!("mkdir -p libs/a && {git} init -q && {git} commit -q --allow-empty -m one");
    let ran = Command::new("sh").arg("-c").arg(&made).current_dir(user.work()).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let agent = format!("{git} commit -q --allow-empty -m more");
    let ran = user.run(&start(&agent, "false", &["--max-no-progress", "2"])).expect_code(1);
    assert!(ran.text().contains("no progress in 2 iterations in a row"), "{}", ran.text());
    assert!(ran.text().contains("2/10  changed: +0 -0 (0 files)"), "{}", ran.text());
}

#[test]
fn the_whole_change_of_a_loop_is_shown_without_a_number() {
    // req: D-09
    let user = user();
    user.write("work/mine", "mine\n");
    user.run(&start(AGENT, "test -e file-3", &[])).expect_code(0);
    let id = user.id();
    let whole = user.run(&["history", &id, "--diff", "initial..3"]).expect_code(0).out();
    assert!(whole.contains("+++ b/file-1") && whole.contains("+++ b/file-3"), "{whole}");
    assert_eq!(user.run(&["history", &id, "--diff"]).expect_code(0).out(), whole);
    let stat = user.run(&["history", &id, "--diff", "--stat"]).expect_code(0).out();
    assert!(stat.contains("3 files changed"), "{stat}");
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(user.run(&["history", &id, "--diff"]).expect_code(0).out(), whole, "also after a rollback to the start");
}
