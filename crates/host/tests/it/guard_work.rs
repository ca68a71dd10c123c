//! What counts as work: where HEAD is, what lies in ignored files, and how many changes are of which kind.
use std::fs;
use std::sync::Arc;

use loop_host::checkpoint::user_git::head_of;
use loop_host::checkpoint::{
    ChangeCount, CheckpointContext, IgnoredDigest, RunCheckpoints, ignored_digest, whole_digest,
};
use loop_testkit::must;

use super::guard::Ground;

const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -q --allow-empty -m";

#[test]
fn head_is_read_as_git_says_it_however_it_is_kept() {
    let ground = Ground::new(&[("sub/a", "1")]);
    let work = ground.work("");
    let says = |script: &str| {
        must(&work, &format!("{script}; git rev-parse HEAD > ../says"));
        let says = fs::read_to_string(ground.scratch.path().join("says")).unwrap();
        assert_eq!(head_of(&work).as_deref(), Some(says.trim()), "{script}");
        says
    };
    assert_eq!(head_of(&work), None);
    must(&work, "git init -q");
    assert_eq!(head_of(&work), None, "no commit yet");
    let first = says(&format!("{COMMIT} one"));
    assert_ne!(says(&format!("{COMMIT} two")), first);
    says("git pack-refs --all");
    says(&format!("{COMMIT} three"));
    says("git checkout -q --detach HEAD~1");
    says("git checkout -q -b other/deep && git pack-refs --all");
    assert_eq!(head_of(&work.join("sub")), head_of(&work), "a part of a repository");
    must(
        &work,
        &format!("git worktree add -q ../tree HEAD~1 && cd ../tree && {COMMIT} four && git rev-parse HEAD > ../says"),
    );
    let tree = ground.scratch.path().join("tree");
    let said = fs::read_to_string(ground.scratch.path().join("says")).unwrap();
    assert_eq!(head_of(&tree).as_deref(), Some(said.trim()));
    fs::write(work.join(".git/HEAD"), "ref: ../../canary\n").unwrap();
    assert_eq!(head_of(&work), None);
}

fn seen(ground: &Ground) -> IgnoredDigest {
    ignored_digest(&ground.place(), &|path| path == b"data/protected").unwrap()
}

#[test]
fn work_in_ignored_files_is_seen_and_what_is_made_by_habit_is_not() {
    let ground = Ground::new(&[
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".gitignore", "data/\n*.db\ntarget/\nbuild/\n*.log\nnode_modules/\n.loopr/\n"),
        ("src/main.rs", "fn main() {}"),
        ("deep/.gitignore", "own.txt\n"),
    ]);
    let nothing = seen(&ground);
    assert_eq!((nothing.files, nothing.is_cut), (0, false));
    for name in [
        "src/main.rs",
        "target/debug/a",
        "build/x",
        "a.log",
        "node_modules/a/b.js",
        ".loopr/status.json",
        ".aider.db",
        "data/protected",
        "data/x.pyc",
        "data/__pycache__/x",
        ".state/index.db",
        "own.txt",
    ] {
        ground.write(name, "something new");
        assert_eq!(seen(&ground), nothing, "{name}");
    }
    let mut before = nothing;
    for name in ["data/result.csv", "data/deep/er/x", "app.db", "deep/own.txt"] {
        ground.write(name, "1");
        let after = seen(&ground);
        assert!(after.digest != before.digest && after.files == before.files + 1, "{name}");
        before = after;
    }
    ground.write("app.db", "1");
    assert_eq!(seen(&ground), before, "the same content is no work");
    ground.write("app.db", "2");
    let after = seen(&ground);
    assert_ne!(after.digest, before.digest);
    fs::remove_file(ground.work("app.db")).unwrap();
    assert_eq!(seen(&ground).files, after.files - 1);
}

#[test]
fn ignored_files_without_end_are_looked_at_up_to_a_bound() {
    let ground = Ground::new(&[(".git/HEAD", ""), (".gitignore", "data/\n")]);
    fs::create_dir(ground.work("data")).unwrap();
    for number in 0..20_001 {
        fs::File::create(ground.work(&format!("data/{number}"))).unwrap();
    }
    let seen = seen(&ground);
    assert!(seen.is_cut && seen.files < 20_001 && seen.files > 19_000, "{}", seen.files);
}

#[test]
fn without_checkpoints_any_change_of_a_file_a_folder_or_a_mode_is_noticed_and_nothing_else() {
    let ground = Ground::new(&[(".git/HEAD", ""), (".gitignore", "*.log\n"), ("src/a", "1"), ("check.sh", "x")]);
    let whole = || whole_digest(&ground.place(), &|path| path == b"check.sh").unwrap().digest;
    let mut before = whole();
    for script in [
        "echo 2 > src/a",
        "echo 1 > src/b",
        "mkdir empty",
        "chmod 700 src/a",
        "mv src/b src/c",
        "ln -s a src/link",
        "rm src/c",
        "rmdir empty",
    ] {
        must(&ground.work(""), script);
        let after = whole();
        assert_ne!(after, before, "{script}");
        before = after;
    }
    for script in [
        "echo y > check.sh",
        "echo 2 > src/a",
        "touch src/a",
        "mkdir -p target/debug && echo x > target/debug/a",
        "echo x > .git/index",
        "echo x > a.log",
        "mkdir .loopr && echo x > .loopr/status.json",
    ] {
        must(&ground.work(""), script);
        assert_eq!(whole(), before, "{script}");
    }
}

#[test]
fn changes_are_counted_by_kind_over_all_of_them() {
    let ground = Ground::new(&[(".git/HEAD", "")]);
    let place = CheckpointContext { store: ground.scratch.path().join("state/checkpoints/store"), ..ground.place() };
    let mut keeper = RunCheckpoints::open(place, Arc::default()).unwrap();
    ground.write("tests/moved.py", "a text that is long enough to be known again\n");
    ground.write("check.sh", "true");
    keeper.take("one", None).unwrap();
    for number in 0..150 {
        ground.write(&format!("src/f{number}"), "1");
        ground.write(&format!("tests/f{number}"), "1");
    }
    ground.write("check.sh", "false");
    fs::rename(ground.work("tests/moved.py"), ground.work("moved.py")).unwrap();
    keeper.take("two", Some("one")).unwrap();
    let protected = |path: &[u8]| path == b"check.sh";
    let (measured, tally) = keeper.measure_by_kind(Some("one"), "two", &protected).unwrap();
    assert_eq!(tally, ChangeCount { files: 302, protected: 1, tests: 150, folders: 0 });
    assert_eq!((tally.work(), tally.work() == tally.tests), (301, false));
    assert!(measured.names.len() <= 100 && measured.changes.unwrap().files == 302);
    ground.write("tests/f1", "2");
    ground.write("check.sh", "true");
    keeper.take("three", Some("two")).unwrap();
    let (_, tally) = keeper.measure_by_kind(Some("two"), "three", &protected).unwrap();
    assert!(tally.work() == tally.tests && tally == ChangeCount { files: 2, protected: 1, tests: 1, folders: 0 });
}
