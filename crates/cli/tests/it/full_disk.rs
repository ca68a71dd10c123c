//! A disk that fills up: the loop pauses and says so, goes on when there is room again, and nothing half is left.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use loop_testkit::{Format, LoopImage, TestEnv, wait_until};

use crate::rollback_points::picture;
use crate::{start, user};

/// An agent whose second iteration makes a lot that cannot be made smaller, once.
const AGENT: &str = "echo $LOOP_ITERATION >> log; test $LOOP_ITERATION != 2 || head -c 20000000 /dev/urandom > big; \
                     touch ../did-$LOOP_ITERATION";

/// Takes all room there is, quickly at first and then to the last byte; then gives so many MiB of it back.
const FILL: &str = "fallocate -l 850M \"$0/filler\"; cat /dev/zero > \"$0/rest\" 2>/dev/null; truncate -s -$1M \"$0/rest\"; sync -f \"$0\"";

fn fill(image: &LoopImage, but: u32) {
    let filled = Command::new("sh").args(["-c", FILL]).arg(image.path()).arg(but.to_string()).status().unwrap();
    assert!(filled.success());
}

fn make_room(image: &LoopImage) {
    for name in ["filler", "rest"] {
        fs::remove_file(image.path().join(name)).unwrap();
    }
}

/// A user whose state folder is on the image.
fn with_state_on(image: &LoopImage) -> TestEnv {
    let user = user();
    let state = image.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::create_dir_all(user.state().parent().unwrap()).unwrap();
    symlink(state, user.state()).unwrap();
    user.write("work/mine", "before\n");
    user
}

fn row(user: &TestEnv, id: &str) -> serde_json::Value {
    user.run(&["status", id, "--json"]).expect_code(0).json()["loops"][0].clone()
}

/// Names in the stores that are no part of anything.
fn half_made(user: &TestEnv) -> Vec<String> {
    let stores = user.state().join("checkpoints");
    let all = walk(&stores);
    all.into_iter().filter(|path| path.contains("/tmp_") || path.ends_with(".lock")).collect()
}

fn walk(folder: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            found.push(entry.path().display().to_string());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    found
}

/// Git itself finds nothing wrong with any store.
fn is_sound(user: &TestEnv) {
    let stores = fs::read_dir(user.state().join("checkpoints")).unwrap().flatten().map(|entry| entry.path());
    for store in stores.filter(|path| path.join("HEAD").exists()) {
        let fsck = Command::new("git").arg("--git-dir").arg(store).args(["fsck", "--full", "--strict"]).output();
        let fsck = fsck.unwrap();
        assert!(fsck.status.success(), "{}", String::from_utf8_lossy(&fsck.stderr));
    }
}

#[test]
fn a_loop_whose_checkpoint_finds_no_room_pauses_says_why_and_goes_on_when_there_is() {
    // req: D-14
    let image = LoopImage::new(Format::Ext4);
    let user = with_state_on(&image);
    fill(&image, 8);
    let running = user.begin(&start(AGENT, "test -e ../did-3", &[]));
    user.wait_for_file("did-2");
    let id = user.id();
    wait_until("it is paused", || row(&user, &id)["status"] == "paused");
    let paused = row(&user, &id);
    assert!(paused["why"].as_str().unwrap().contains("No space left"), "{paused}");
    assert_eq!(half_made(&user), Vec::<String>::new());
    is_sound(&user);
    let names = user.run(&["checkpoint", "list", &id, "--json"]).expect_code(0).json();
    assert!(!names.to_string().contains("iter-002"), "it is complete or absent: {names}");
    // Without room it is the same again, and it still waits for somebody.
    user.run(&["resume", &id]).expect_code(0);
    wait_until("it is paused again", || row(&user, &id)["status"] == "paused");
    let before = picture(&user.work());
    make_room(&image);
    user.run(&["resume", &id]).expect_code(0);
    running.end().expect_code(0);
    user.run(&["rollback", &id, "1"]).expect_code(0);
    assert!(!user.work().join("big").exists());
    user.run(&["rollback", &id, "2"]).expect_code(0);
    assert!(picture(&user.work()) == before, "what iteration 2 left is there, byte for byte");
    assert_eq!(half_made(&user), Vec::<String>::new());
    is_sound(&user);
}

#[test]
fn a_disk_that_is_full_to_the_last_byte_loses_nothing_that_was_kept() {
    // req: D-14
    let image = LoopImage::new(Format::Ext4);
    let user = with_state_on(&image);
    // The second iteration leaves no room even for a line of the journal.
    let full = format!(
        "{AGENT}; if [ $LOOP_ITERATION = 2 ]; then sh -c '{FILL}' '{}' 0; touch ../full; fi",
        image.path().display()
    );
    let running = user.begin(&start(&full, "test -e ../did-3", &[]));
    user.wait_for_file("full");
    let id = user.id();
    let mut running = running;
    let mut code = None;
    wait_until("it is paused, or has ended because it cannot write its journal", || {
        code = running.code();
        code.is_some() || row(&user, &id)["status"] == "paused"
    });
    make_room(&image);
    if code.is_some() {
        let ran = running.end();
        assert!(ran.err().contains("make room") && ran.err().contains("loop resume"), "{}", ran.text());
        user.run(&["resume", &id]).expect_code(0);
    } else {
        user.run(&["resume", &id]).expect_code(0);
        running.end().expect_code(0);
    }
    assert_eq!(user.read("work/log"), "1\n2\n3\n", "no iteration is lost or done twice");
    user.run(&["rollback", &id, "1"]).expect_code(0);
    assert_eq!(user.read("work/log"), "1\n");
    user.run(&["rollback", &id, "2"]).expect_code(0);
    assert_eq!(fs::metadata(user.work().join("big")).unwrap().len(), 20_000_000);
    assert_eq!(half_made(&user), Vec::<String>::new());
    is_sound(&user);
}

#[test]
fn a_rollback_that_finds_no_room_in_the_workspace_says_so_and_is_finished_by_the_same_command() {
    // req: D-08
    let image = LoopImage::new(Format::Ext4);
    let user = user();
    let work = image.path().join("work");
    fs::create_dir(&work).unwrap();
    let place = work.display().to_string();
    fs::write(work.join("big"), "a line of a file\n".repeat(1_000_000)).unwrap();
    fs::write(work.join("small"), "before").unwrap();
    let before = picture(&work);
    let agent = "echo after > big; echo after > small; touch made";
    user.run(&start(agent, "test -e made", &["--workspace", &place])).expect_code(0);
    let id = user.id();
    let after = picture(&work);
    fill(&image, 4);
    let ran = user.run(&["rollback", &id, "initial"]);
    assert!(ran.code != Some(0) && ran.err().contains("No space left"), "{}", ran.text());
    make_room(&image);
    user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(picture(&work) == before, "{:?}", picture(&work).keys());
    user.run(&["rollback", &id, "1"]).expect_code(0);
    assert!(picture(&work) == after, "{:?}", picture(&work).keys());
}
