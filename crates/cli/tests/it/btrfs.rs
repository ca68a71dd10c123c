//! A loop in a subvolume of a real btrfs: kept as snapshots, and everything that can be done with checkpoints.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_testkit::{Format, LoopImage, TestEnv, wait_until};

use crate::{start, user};

/// Changes, adds and removes something an iteration.
const AGENT: &str = "echo $LOOP_ITERATION >> log; mkdir -p deep/er; echo $LOOP_ITERATION > deep/er/file-$LOOP_ITERATION; \
                     test $LOOP_ITERATION = 1 || rm -f mine; printf 'built %s' $LOOP_ITERATION > target/out";

/// A user with a workspace on btrfs.
struct Scene {
    user: TestEnv,
    image: LoopImage,
    work: PathBuf,
}

fn btrfs(words: &[&str], path: &Path) -> String {
    let ran = Command::new("btrfs").args(words).arg(path).output().unwrap();
    assert!(ran.status.success(), "btrfs {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

impl Scene {
    fn new() -> Self {
        let image = LoopImage::new(Format::Btrfs);
        let work = image.path().join("work");
        btrfs(&["subvolume", "create"], &work);
        fs::create_dir(work.join("target")).unwrap();
        fs::write(work.join(".gitignore"), "target/\n").unwrap();
        fs::write(work.join("mine"), "before\n").unwrap();
        Self { user: user(), image, work }
    }

    fn words<'a>(&'a self, agent: &'a str, promise: &'a str, more: &[&'a str]) -> Vec<&'a str> {
        let mut words = start(agent, promise, more);
        words.extend(["--workspace", self.work.to_str().unwrap()]);
        words
    }

    /// A loop of two iterations that has ended.
    fn ended(&self) -> String {
        let ran = self.user.run(&self.words(AGENT, "test -e deep/er/file-2", &[])).expect_code(0);
        assert!(ran.text().contains("every iteration, as btrfs snapshots"), "{}", ran.text());
        assert!(!ran.text().contains("note:"), "{}", ran.text());
        self.user.id()
    }

    /// Every file with its content, but for what is ignored.
    fn content(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.work.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() && !entry.ends_with("target") {
                    open.push(entry);
                } else if entry.is_file() {
                    let name = entry.strip_prefix(&self.work).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read_to_string(entry).unwrap());
                }
            }
        }
        found
    }

    /// All snapshots there are, by `run/name`.
    fn snapshots(&self) -> Vec<String> {
        let list = btrfs(&["subvolume", "list", "-s"], &self.image.path());
        let paths = list.lines().filter_map(|line| line.split(" path .loop-checkpoints/").nth(1));
        let mut names: Vec<String> = paths.map(|path| path.split_once('/').unwrap().1.to_owned()).collect();
        names.sort();
        names
    }

    fn names(&self, id: &str) -> Vec<String> {
        let names = self.snapshots().into_iter();
        names.filter_map(|name| Some(name.strip_prefix(id)?.strip_prefix('/')?.to_owned())).collect()
    }

    /// Nothing is left but the workspace.
    fn is_clean(&self) -> bool {
        self.snapshots().is_empty() && !self.image.path().join(".loop-checkpoints").exists()
    }
}

#[test]
fn a_loop_in_a_subvolume_is_kept_as_snapshots_and_goes_back_to_each() {
    // req: D-14 partly: the choice of btrfs, and every checkpoint of a loop by it
    let scene = Scene::new();
    let before = scene.content();
    let id = scene.ended();
    let end = scene.content();
    assert_eq!(scene.names(&id), ["initial", "iter-001", "iter-002"]);
    let history = scene.user.run(&["history", &id]).expect_code(0).out();
    assert!(history.contains("+2 -0 (2 files)") && history.contains("+2 -1 (3 files)"), "{history}");
    scene.user.run(&["rollback", &id, "1"]).expect_code(0);
    let first = scene.content();
    assert_eq!(first.get("log").map(String::as_str), Some("1\n"));
    assert_eq!(first.get("mine"), before.get("mine"), "what iteration 2 removed");
    assert!(!first.contains_key("deep/er/file-2"));
    scene.user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert_eq!(scene.content(), before);
    assert_eq!(fs::read_to_string(scene.work.join("target/out")).unwrap(), "built 2", "it is ignored");
    scene.user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(scene.content(), first);
    fs::write(scene.work.join("log"), "by hand\n").unwrap();
    scene.user.run(&["rollback", &id, "2"]).expect_code(0);
    assert_eq!(scene.content(), end);
    scene.user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(scene.content().get("log").map(String::as_str), Some("by hand\n"));
    // The tree that was judged is judged again, with what was ignored as it was then.
    fs::write(scene.work.join("target/out"), "built later").unwrap();
    let copy = scene.user.root().join("copy");
    let ran = scene.user.run(&["verify", &id, "--with-ignored", "--keep-copy", copy.to_str().unwrap()]).expect_code(0);
    assert!(ran.out().contains("the workspace differs from it by now"), "{}", ran.text());
    assert_eq!(fs::read_to_string(copy.join("target/out")).unwrap(), "built 2");
}

#[test]
fn what_an_iteration_changed_is_read_from_the_snapshots() {
    let scene = Scene::new();
    let id = scene.ended();
    let diff = scene.user.run(&["history", &id, "--diff", "2"]).expect_code(0).out();
    for line in ["-before", "+2", " 1", "deleted file mode 100644", "+++ b/deep/er/file-2"] {
        assert!(diff.lines().any(|found| found == line), "{line}: {diff}");
    }
    let patched = scene.user.run(&["history", &id, "--diff", "initial..2", "--stat"]).expect_code(0).out();
    assert!(patched.contains("4 files changed"), "{patched}");
    // A snapshot that somebody removed is a checkpoint no more; the others are.
    let list = scene.user.run(&["checkpoint", "list", &id, "--verbose"]).expect_code(0).out();
    let path = list.lines().find(|line| line.starts_with("iter-001")).and_then(|line| line.split_whitespace().last());
    let path = PathBuf::from(path.unwrap());
    assert_eq!(fs::read_to_string(path.join("log")).unwrap(), "1\n", "the list names the snapshot");
    btrfs(&["subvolume", "delete"], &path);
    let ran = scene.user.run(&["history", &id, "--diff", "2"]).expect_code(4);
    assert!(ran.err().contains("is not kept any more"), "{}", ran.text());
    let ran = scene.user.run(&["rollback", &id, "1"]).expect_code(4);
    assert!(ran.err().contains("there are: initial, iter-002"), "{}", ran.text());
    scene.user.run(&["rollback", &id, "initial"]).expect_code(0);
    assert!(!scene.work.join("log").exists());
}

#[test]
fn nothing_is_left_of_snapshots_that_are_removed() {
    let scene = Scene::new();
    let id = scene.ended();
    scene.user.run(&["checkpoint", &id, "by-hand"]).expect_code(0);
    assert_eq!(scene.names(&id), ["by-hand", "initial", "iter-001", "iter-002"]);
    scene.user.run(&["checkpoint", "rm", &id, "by-hand"]).expect_code(0);
    assert_eq!(scene.names(&id), ["initial", "iter-001", "iter-002"]);
    // Another loop in the same workspace, with checkpoints of its own.
    scene.user.run(&scene.words("echo 3 >> log", "grep -q 3 log", &[])).expect_code(0);
    let other = scene.user.ids().into_iter().find(|other| *other != id).unwrap();
    assert_eq!(scene.names(&other), ["initial", "iter-001"]);
    // What somebody left who was killed between a snapshot and its name.
    let beside = scene.image.path().join(".loop-checkpoints");
    let key = fs::read_dir(&beside).unwrap().next().unwrap().unwrap().path();
    let left = key.join(&other).join("iter-007");
    let made = Command::new("btrfs").args(["subvolume", "snapshot", "-r"]).args([&scene.work, &left]).output().unwrap();
    assert!(made.status.success());
    scene.user.run(&["rollback", &other, "initial"]).expect_code(0);
    assert!(!left.exists(), "it is removed when the next one is taken");
    scene.user.run(&["rm", &id]).expect_code(0);
    assert_eq!(scene.names(&id), Vec::<String>::new());
    scene.user.run(&["rollback", &other, "1"]).expect_code(0);
    assert_eq!(fs::read_to_string(scene.work.join("log")).unwrap(), "1\n2\n3\n");
    // Their time is over.
    let gc = scene.user.run(&["checkpoint", "gc"]).expect_code(0);
    assert!(!scene.names(&other).is_empty(), "{}", gc.text());
    scene.user.run(&["config", "set", "checkpoint_retention", "1s"]).expect_code(0);
    scene.user.run(&["config", "set", "checkpoint_retention_main", "1s"]).expect_code(0);
    wait_until("their time to be over", || {
        scene.user.run(&["checkpoint", "gc"]).expect_code(0);
        scene.is_clean()
    });
}

#[test]
fn a_cancelled_loop_goes_back_to_its_beginning() {
    let scene = Scene::new();
    let before = scene.content();
    let agent = format!("{AGENT}; test $LOOP_ITERATION = 1 || {{ touch ../at-2; sleep 60; }}");
    let running = scene.user.begin(&scene.words(&agent, "false", &[]));
    wait_until("the second iteration", || scene.image.path().join("at-2").exists());
    let id = scene.user.id();
    scene.user.run(&["cancel", &id, "--rollback"]).expect_code(0);
    running.end().expect_code(2);
    assert_eq!(scene.content(), before);
    scene.user.run(&["rollback", &id, "undo"]).expect_code(0);
    assert_eq!(scene.content().get("log").map(String::as_str), Some("1\n2\n"));
    // The snapshots are found without the workspace.
    btrfs(&["subvolume", "delete"], &scene.work);
    scene.user.run(&["rm", &id]).expect_code(0);
    assert!(scene.is_clean());
}

#[test]
fn people_who_work_in_one_folder_leave_each_other_s_snapshots_alone() {
    let scene = Scene::new();
    let id = scene.ended();
    let other = Scene { user: user(), image: scene.image, work: scene.work };
    other.user.run(&other.words("echo other >> log", "grep -q other log", &[])).expect_code(0);
    other.user.run(&["rollback", &other.user.id(), "initial"]).expect_code(0);
    other.user.run(&["rm", &other.user.id()]).expect_code(0);
    assert_eq!(other.names(&id), ["initial", "iter-001", "iter-002"]);
    scene.user.run(&["rollback", &id, "1"]).expect_code(0);
    assert_eq!(fs::read_to_string(other.work.join("log")).unwrap(), "1\n");
}

#[test]
fn where_there_can_be_no_snapshots_the_git_store_is_taken_and_why_is_said() {
    // req: D-14 partly: auto falls back and says why; what was asked for by name is refused
    let scene = Scene::new();
    btrfs(&["subvolume", "create"], &scene.work.join("inner"));
    let why = "inner is a subvolume of its own, which a snapshot leaves out";
    let ran = scene.user.run(&scene.words(AGENT, "test -e log", &["--dry-run"])).expect_code(0);
    assert!(ran.text().contains(why), "{}", ran.text());
    let ran = scene.user.run(&scene.words(AGENT, "test -e log", &[])).expect_code(0);
    assert!(ran.text().contains("in a git store of loop's own"), "{}", ran.text());
    let said = ran.text().lines().filter(|line| line.contains(why)).count();
    assert_eq!(said, 1, "{}", ran.text());
    let ran = scene.user.run(&scene.words(AGENT, "test -e log", &["--checkpoint", "btrfs"])).expect_code(4);
    assert!(
        ran.err().contains("--checkpoint btrfs is not available here") && ran.err().contains(why),
        "{}",
        ran.text()
    );
    assert!(scene.is_clean());
    let ran = scene.user.run(&start(AGENT, "true", &["--checkpoint", "btrfs"])).expect_code(4);
    assert!(ran.err().contains("work is not on btrfs"), "{}", ran.text());
    // Nobody wants to know of btrfs who does not have it.
    fs::create_dir(scene.user.work().join("target")).unwrap();
    let ran = scene.user.run(&start(AGENT, "test -e log", &[])).expect_code(0);
    assert!(!ran.text().contains("btrfs"), "{}", ran.text());
}

#[test]
fn a_subvolume_that_an_agent_makes_pauses_the_loop_and_is_named() {
    let scene = Scene::new();
    let agent = "btrfs subvolume create inner; echo $LOOP_ITERATION >> log";
    let running = scene.user.begin(&scene.words(agent, "test -e log", &[]));
    scene.user.wait_for_fact("inner is a subvolume of its own, which a snapshot leaves out");
    let id = scene.user.id();
    assert_eq!(scene.names(&id), ["initial"]);
    btrfs(&["subvolume", "delete"], &scene.work.join("inner"));
    scene.user.run(&["resume", &id]).expect_code(0);
    running.end().expect_code(0);
    assert_eq!(scene.names(&id), ["initial", "iter-001"]);
}
