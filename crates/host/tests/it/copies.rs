//! Isolated copies: each is the checkpoint, none knows of another, and nothing of them stays.
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::ContentSource;
use loop_host::checkpoint::btrfs::{SnapshotOwner, trial};
use loop_host::checkpoint::user_git::GitUser;
use loop_host::checkpoint::{
    Checkpoint, CheckpointContext, Depth, Recorded, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest,
    open_folder, tree_of_copy, workspace_now,
};
use loop_host::workspace::copy::{Copies, CopiesMade, CopyExtras, CopyMethod, CopyRequest, Swept, put, sweep};
use loop_testkit::{Format, LoopImage, MountScratch};

use crate::sight::{Sight, differences, odd_tree, sight, without, write};

const NONE: Vec<String> = Vec::new();
/// What no checkpoint holds of the odd tree.
const IGNORED: &[&str] = &[".git", "target", "noise.log"];

fn rules() -> Rules {
    Rules::new(true, &[], false)
}

/// A checkpoint of a folder.
fn keep(store: &mut Store, folder: &OwnedFd, name: &str, rules: &Rules) -> Checkpoint {
    let (cancel, hint) = (AtomicBool::new(false), ScanHint::Everything);
    let ask = TakeRequest { name, parent: None, rules, hint, depth: Depth::Whole, unless: None, cancel: &cancel };
    let TakeOutcome::Saved(id, _) = store.save(folder, &mut ScanCache::empty("run"), &ask).unwrap() else {
        panic!("not kept")
    };
    store.load(id).unwrap()
}

/// A workspace with a checkpoint in a store, and a folder for copies.
struct Scene {
    work: PathBuf,
    copies: PathBuf,
    folder: OwnedFd,
    store: Store,
    checkpoint: Checkpoint,
    kept: Sight,
}

impl Scene {
    fn new(root: &Path) -> Self {
        let [work, copies] = ["work", "copies"].map(|name| root.join(name));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&copies).unwrap();
        odd_tree(&work);
        let mut store = Store::open(&root.join("store")).unwrap();
        let folder = open_folder(&work).unwrap();
        let checkpoint = keep(&mut store, &folder, "run/1", &rules());
        let kept = without(&sight(&work), IGNORED);
        Self { work, copies, folder, store, checkpoint, kept }
    }

    fn request(&self, ignored: bool, git: bool) -> CopyRequest<'_> {
        let along = CopyExtras { workspace: &self.folder, now: &self.checkpoint, ignored, git };
        CopyRequest { checkpoint: &self.checkpoint, source: ContentSource::Store(&self.store), key: "one", along }
    }

    fn make(&self, copies: &Copies, way: Option<CopyMethod>, names: &[&str]) -> CopiesMade {
        copies.make(&self.request(false, false), way, names).unwrap()
    }
}

/// What is mounted below a folder.
fn mounts(folder: &Path) -> usize {
    let list = fs::read_to_string("/proc/self/mountinfo").unwrap();
    list.lines().filter(|line| line.split(' ').nth(4).is_some_and(|place| Path::new(place).starts_with(folder))).count()
}

fn ran(command: &str, words: &[&dyn AsRef<std::ffi::OsStr>]) {
    let ran = Command::new(command).args(words.iter().map(|word| word.as_ref())).output().unwrap();
    assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Copies that were just made are what the checkpoint is, and one that is spoilt spoils no other.
fn are_equal_and_apart(made: &CopiesMade, kept: &Sight, elsewhere: &Path) {
    let before = sight(elsewhere);
    for path in &made.paths {
        assert_eq!(differences(kept, &sight(path)), NONE, "{path:?}");
    }
    let [first, rest @ ..] = made.paths.as_slice() else { panic!("no copies") };
    fs::write(first.join("src/main.rs"), "changed").unwrap();
    assert_eq!(fs::read_to_string(first.join("src/same.rs")).unwrap(), "changed", "a hard link is one file");
    fs::write(first.join("large"), "changed").unwrap();
    fs::rename(first.join("nested"), first.join("renamed")).unwrap();
    fs::remove_file(first.join("outward")).unwrap();
    fs::set_permissions(first.join("setuid"), Permissions::from_mode(0o600)).unwrap();
    write(first, "new/file", "new");
    for path in rest {
        assert_eq!(differences(kept, &sight(path)), NONE, "{path:?}");
    }
    assert_eq!(differences(&before, &sight(elsewhere)), NONE, "the workspace");
}

#[test]
fn copies_of_each_way_are_the_checkpoint_and_independent_of_each_other_and_of_the_workspace() {
    // req: D-17 partly: the copies, without branches that use them
    let scratch = MountScratch::new();
    let scene = Scene::new(scratch.path());
    for (way, names) in [
        (CopyMethod::Overlay, vec!["a", "b", "c"]),
        (CopyMethod::Checkout, vec!["d", "e"]),
        (CopyMethod::Checkout, vec!["f"]),
    ] {
        let copies = Copies::open(&scene.copies, "run").unwrap();
        let made = scene.make(&copies, Some(way), &names);
        assert_eq!(made.method, way);
        are_equal_and_apart(&made, &scene.kept, &scene.work);
        assert_eq!(copies.list().unwrap(), names);
        assert!(copies.make(&scene.request(false, false), Some(way), &names[..1]).is_err(), "a name is taken once");
        // The next ones come from what the first have in common, which is as it was.
        let more = scene.make(&copies, Some(way), &["x", "y"]);
        are_equal_and_apart(&more, &scene.kept, &scene.work);
        copies.remove("x").unwrap();
        assert_eq!(differences(&sight(&made.paths[0]), &sight(&copies.path(names[0]))), NONE);
        copies.remove_all().unwrap();
        assert_eq!((mounts(&scene.copies), fs::read_dir(&scene.copies).unwrap().count()), (0, 0));
    }
}

#[test]
fn on_btrfs_copies_are_writable_snapshots() {
    let image = LoopImage::new(Format::Btrfs);
    let work = image.path().join("work");
    ran("btrfs", &[&"subvolume", &"create", &work]);
    odd_tree(&work);
    let before = sight(&work);
    let place = trial(&work).unwrap();
    let snapshot = place.take(SnapshotOwner { store: "store", run: "run" }, "1").unwrap();
    let mut store = Store::open(&image.outside().join("store")).unwrap();
    let checkpoint = keep(&mut store, snapshot.folder(), "run/1", &rules());
    write(&work, "src/main.rs", "later");
    let folder = open_folder(&work).unwrap();
    let along = |ignored, git| CopyExtras { workspace: &folder, now: &checkpoint, ignored, git };
    let request = |ignored, git| CopyRequest {
        checkpoint: &checkpoint,
        source: ContentSource::Snapshot(&snapshot),
        key: "one",
        along: along(ignored, git),
    };
    let kept = without(&before, IGNORED);
    fs::create_dir(image.path().join("copies")).unwrap();
    let copies = Copies::open(&image.path().join("copies"), "run").unwrap();
    let made = copies.make(&request(false, false), None, &["a", "b"]).unwrap();
    assert_eq!((made.method, made.why.as_str()), (CopyMethod::Snapshot, "writable snapshots of btrfs"));
    are_equal_and_apart(&made, &kept, &work);
    let whole = copies.make(&request(true, true), None, &["c"]).unwrap();
    assert_eq!(differences(&before, &sight(&whole.paths[0])), NONE, "with all that was there then");
    // An agent may make subvolumes of its own, also such as cannot be written to.
    ran("btrfs", &[&"subvolume", &"create", &made.paths[0].join("volume")]);
    write(&made.paths[0], "volume/file", "text");
    ran(
        "btrfs",
        &[&"subvolume", &"snapshot", &"-r", &made.paths[0].join("volume"), &made.paths[0].join("volume/kept")],
    );
    copies.remove("a").unwrap();
    assert_eq!(copies.list().unwrap(), ["b", "c"]);
    // From a snapshot to another file system, where contents cannot be shared.
    let elsewhere = image.outside().join("copies");
    fs::create_dir(&elsewhere).unwrap();
    let others = Copies::open(&elsewhere, "run").unwrap();
    let made = others.make(&request(false, false), None, &["a", "b"]).unwrap();
    assert_eq!(made.method, CopyMethod::Overlay);
    assert_eq!(
        made.why,
        "overlays over one checkout: the folder of the copies is on another file system than the snapshot"
    );
    are_equal_and_apart(&made, &kept, &work);
    let whole = others.make(&request(true, true), Some(CopyMethod::Checkout), &["c"]).unwrap();
    assert_eq!(differences(&before, &sight(&whole.paths[0])), NONE, "with all that was there then");
    others.remove_all().unwrap();
    copies.remove_all().unwrap();
    crate::btrfs::remove_run(&place, SnapshotOwner { store: "store", run: "run" }).unwrap();
    let list = Command::new("btrfs").args(["subvolume", "list"]).arg(image.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&list.stdout).lines().count(), 1, "only the workspace is left");
}

#[test]
fn build_folders_and_the_repository_come_along_on_request_and_nothing_else() {
    let scratch = MountScratch::new();
    let scene = Scene::new(scratch.path());
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
    let set_time = |name: &str| fs::File::open(scene.work.join(name)).unwrap().set_modified(old).unwrap();
    fs::hard_link(scene.work.join("target/debug/built"), scene.work.join("target/built")).unwrap();
    write(&scene.work, "program", "changed since");
    write(&scene.work, "untracked/since", "new");
    write(&scene.work, "untracked/target/built", "new");
    set_time("target/debug/built");
    set_time("secret");
    set_time("program");
    let mut store = Store::open(&scratch.path().join("store")).unwrap();
    let now = keep(&mut store, &scene.folder, "run/now", &rules());
    let along = CopyExtras { workspace: &scene.folder, now: &now, ignored: true, git: true };
    let copies = Copies::open(&scene.copies, "run").unwrap();
    let mut expected = scene.kept.clone();
    expected.extend(sight(&scene.work).into_iter().filter(|(path, _)| {
        IGNORED.iter().any(|one| path == one.as_bytes() || path.starts_with(format!("{one}/").as_bytes()))
    }));
    for (way, names) in [
        (CopyMethod::Overlay, vec!["a", "b"]),
        (CopyMethod::Checkout, vec!["c", "d"]),
        (CopyMethod::Checkout, vec!["e"]),
    ] {
        let made = copies.make(&CopyRequest { along, ..scene.request(true, true) }, Some(way), &names).unwrap();
        for path in &made.paths {
            assert_eq!(differences(&expected, &sight(path)), NONE);
            let time = |name: &str| fs::metadata(path.join(name)).unwrap().modified().unwrap();
            assert_eq!((time("target/debug/built"), time("secret")), (old, old), "what is built stays up to date");
            assert!(time("program") > old, "what is another file than the one it was built from is newer");
        }
    }
    let bare = copies.make(&scene.request(false, false), None, &["f"]).unwrap();
    assert_eq!(differences(&scene.kept, &sight(&bare.paths[0])), NONE);
    // A repository that is only pointed to is not brought: what is done there would be done to the user's own.
    fs::remove_dir_all(scene.work.join(".git")).unwrap();
    write(&scene.work, ".git", "gitdir: /elsewhere\n");
    let request = CopyRequest { key: "two", ..scene.request(false, true) };
    let made = copies.make(&request, None, &["g"]).unwrap();
    assert!(!made.paths[0].join(".git").exists());
    copies.remove_all().unwrap();
}

/// Does to a copy all that makes it hard to remove. `canary` lies outside.
fn plant_traps(copy: &Path, canary: &Path) {
    symlink(canary, copy.join("link")).unwrap();
    for name in ["bound", "over", "deep/tmpfs"] {
        fs::create_dir_all(copy.join(name)).unwrap();
    }
    ran("mount", &[&"--bind", &canary, &copy.join("bound")]);
    ran("mount", &[&"--bind", &canary, &copy.join("bound")]);
    ran("mount", &[&"-t", &"tmpfs", &"none", &copy.join("deep/tmpfs")]);
    fs::create_dir(copy.join("deep/tmpfs/inner")).unwrap();
    ran("mount", &[&"--bind", &canary, &copy.join("deep/tmpfs/inner")]);
    write(copy, "locked/file", "text");
    // Where the file system of the copy does not know these flags, there is nothing to lock.
    Command::new("chattr").arg("+i").arg(copy.join("locked/file")).output().unwrap();
    Command::new("chattr").arg("+a").arg(copy.join("locked")).output().unwrap();
    write(copy, "shut/inner/file", "text");
    fs::set_permissions(copy.join("shut/inner"), Permissions::from_mode(0o0)).unwrap();
    ran("mkfifo", &[&copy.join("pipe")]);
    // Deeper than any path can say: ten chains, each put into the deepest folder of the next.
    let chain: PathBuf = std::iter::repeat_n("d".repeat(50), 60).collect();
    let first = copy.join("d".repeat(50));
    for _ in 0..10 {
        let kept = copy.join("chain");
        let deeper = fs::rename(&first, &kept).is_ok();
        fs::create_dir_all(copy.join(&chain)).unwrap();
        if deeper {
            fs::rename(&kept, copy.join(&chain).join("chain")).unwrap();
        }
    }
}

#[test]
fn a_copy_is_removed_whatever_an_agent_planted_in_it_and_nothing_outside_is_touched() {
    let scratch = MountScratch::new();
    let scene = Scene::new(scratch.path());
    let canary = scratch.path().join("canary");
    write(&canary, "precious/file", "do not touch");
    let before = sight(&canary);
    // Fewer handles than there are levels in what is planted.
    let me = std::process::id().to_string();
    ran("prlimit", &[&"--pid", &me, &"--nofile=300"]);
    for way in [CopyMethod::Overlay, CopyMethod::Checkout] {
        let copies = Copies::open(&scene.copies, "run").unwrap();
        let made = scene.make(&copies, Some(way), &["a", "b"]);
        for path in &made.paths {
            plant_traps(path, &canary);
        }
        copies.remove("a").unwrap();
        assert_eq!(copies.list().unwrap(), ["b"]);
        drop(copies);
        let swept = sweep(&scene.copies).unwrap();
        assert_eq!(swept, Swept { removed: vec!["run".to_owned()], ..Swept::default() });
        assert_eq!((mounts(&scene.copies), fs::read_dir(&scene.copies).unwrap().count()), (0, 0));
        assert_eq!(differences(&before, &sight(&canary)), NONE);
    }
    assert_eq!(differences(&scene.kept, &without(&sight(&scene.work), IGNORED)), NONE);
}

#[test]
fn a_sweep_removes_the_copies_of_the_dead_and_touches_nothing_else() {
    let scratch = MountScratch::new();
    let scene = Scene::new(scratch.path());
    let living = Copies::open(&scene.copies, "living").unwrap();
    let made = scene.make(&living, None, &["a"]);
    assert_eq!(made.method, CopyMethod::Overlay);
    assert_eq!(made.why, "overlays over one checkout: the checkpoint is not a snapshot");
    let dead = Copies::open(&scene.copies, "dead").unwrap();
    scene.make(&dead, None, &["a", "b"]);
    assert!(Copies::open(&scene.copies, "dead").is_err(), "somebody has them");
    drop(dead);
    // A folder of somebody else, one with a lock, one with the mark of another, and a link.
    write(&scene.copies, "foreign/file", "text");
    write(&scene.copies, "with-lock/lock", "");
    write(&scene.copies, "with-lock/file", "");
    fs::create_dir(scene.copies.join("imitated")).unwrap();
    for name in ["lock", "mark"] {
        fs::copy(scene.copies.join("dead").join(name), scene.copies.join("imitated").join(name)).unwrap();
    }
    // What was ours and lies elsewhere or is called otherwise now is not ours any more.
    let moved = scene.copies.join("elsewhere");
    fs::create_dir_all(moved.join("dead")).unwrap();
    for name in ["lock", "mark"] {
        fs::copy(scene.copies.join("dead").join(name), moved.join("dead").join(name)).unwrap();
    }
    drop(Copies::open(&scene.copies, "before").unwrap());
    fs::rename(scene.copies.join("before"), scene.copies.join("renamed")).unwrap();
    assert_eq!(sweep(&moved).unwrap(), Swept::default());
    symlink("living", scene.copies.join("link")).unwrap();
    fs::create_dir(scene.copies.join("begun")).unwrap();
    fs::write(scene.copies.join("begun/lock"), "").unwrap();
    for name in ["foreign", "imitated"] {
        assert!(Copies::open(&scene.copies, name).is_err(), "{name} is none of ours");
    }
    fs::remove_file(scene.copies.join("foreign/lock")).unwrap();
    let swept = sweep(&scene.copies).unwrap();
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    assert_eq!(swept, Swept { removed: names(&["begun", "dead"]), living: names(&["living"]), failed: Vec::new() });
    assert_eq!(mounts(&scene.copies), 1);
    let mut left: Vec<_> = fs::read_dir(&scene.copies).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["elsewhere", "foreign", "imitated", "link", "living", "renamed", "with-lock"]);
    assert_eq!(differences(&scene.kept, &sight(&made.paths[0])), NONE);
    living.remove_all().unwrap();
    let inside = Copies::open(&scene.work, "run").unwrap();
    assert!(inside.make(&scene.request(false, false), None, &["a"]).is_err(), "not in the workspace itself");
    inside.remove_all().unwrap();
    assert_eq!(sweep(&scene.copies.join("nowhere")).unwrap(), Swept::default());
}

#[test]
fn copies_are_there_again_after_a_restart_of_the_machine_and_half_made_ones_are_not() {
    let scratch = MountScratch::new();
    let scene = Scene::new(scratch.path());
    let copies = Copies::open(&scene.copies, "run").unwrap();
    let made = scene.make(&copies, Some(CopyMethod::Overlay), &["a", "b"]);
    write(&made.paths[0], "work", "of an hour");
    drop(copies);
    for path in &made.paths {
        ran("umount", &[path]);
    }
    write(&scene.copies, "run/copies/.half/tree/file", "half made");
    write(&scene.copies, "run/shared/.half/file", "half made");
    let copies = Copies::open(&scene.copies, "run").unwrap();
    assert_eq!(fs::read_to_string(made.paths[0].join("work")).unwrap(), "of an hour");
    assert_eq!(differences(&scene.kept, &sight(&made.paths[1])), NONE);
    assert_eq!(copies.list().unwrap(), ["a", "b"]);
    assert!(!scene.copies.join("run/copies/.half").exists() && !scene.copies.join("run/shared/.half").exists());
    copies.remove_all().unwrap();
}

/// What an ordinary user gets; as a program of its own, because a user is a matter of the whole process.
#[test]
fn as_an_ordinary_user() {
    let Some(root) = std::env::var_os("COPIES_AS_USER") else { return };
    let scratch = tempfile::tempdir_in(root).unwrap();
    let [work, folder] = ["work", "copies"].map(|name| scratch.path().join(name));
    write(&work, "src/file", "text");
    write(&work, "target/built", "built");
    fs::create_dir(&folder).unwrap();
    let rules = Rules::new(false, &[], false);
    let open = open_folder(&work).unwrap();
    let mut store = Store::open(&scratch.path().join("store")).unwrap();
    let checkpoint = keep(&mut store, &open, "run/1", &rules);
    let along = CopyExtras { workspace: &open, now: &checkpoint, ignored: true, git: false };
    let request = CopyRequest { checkpoint: &checkpoint, source: ContentSource::Store(&store), key: "one", along };
    let copies = Copies::open(&folder, "run").unwrap();
    let made = copies.make(&request, None, &["a", "b"]).unwrap();
    assert_eq!(made.method, CopyMethod::Checkout);
    assert!(made.why.contains("no overlay can be mounted: Operation not permitted"), "{}", made.why);
    for path in &made.paths {
        assert_eq!(differences(&sight(&work), &sight(path)), NONE);
        write(path, "shut/inner/file", "text");
        fs::set_permissions(path.join("shut/inner"), Permissions::from_mode(0o0)).unwrap();
        fs::set_permissions(path.join("shut"), Permissions::from_mode(0o500)).unwrap();
    }
    copies.remove("a").unwrap();
    copies.remove_all().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn an_ordinary_user_gets_a_checkout_each_and_is_told_why() {
    let scratch = MountScratch::new();
    let program = scratch.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    fs::set_permissions(scratch.path(), Permissions::from_mode(0o1777)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
    command.args(["--exact", "copies::as_an_ordinary_user"]).env("COPIES_AS_USER", scratch.path());
    let ran = command.current_dir("/").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_copy_has_the_hash_of_its_checkpoint_until_anything_in_it_changes() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path();
    let scene = Scene::new(root);
    let place = CheckpointContext {
        run: "run".to_owned(),
        store: root.join("store"),
        workspace: scene.work.clone(),
        settings: loop_core::settings::Values::default().checkpoint,
        backend: "git".to_owned(),
        litter: Vec::new(),
        user: GitUser { home: None, config: None },
    };
    assert!(Recorded::open(&place, "2").is_err(), "there is no such checkpoint");
    let recorded = Recorded::open(&place, "1").unwrap();
    let now = |name: &str| workspace_now(&place, &recorded.checkpoint, &root.join(name)).unwrap();
    assert!(recorded.differences(&now("now")).is_nothing(), "nothing has changed yet");
    let to = root.join("to");
    fs::create_dir(&to).unwrap();
    let folder = open_folder(&to).unwrap();
    put(&CopyRequest { source: recorded.source(), ..scene.request(false, false) }, &folder).unwrap();
    let mut seen = BTreeSet::new();
    let hash = || tree_of_copy(&folder, &root.join("hashed")).unwrap();
    assert_eq!(hash(), recorded.tree);
    seen.insert(recorded.tree.clone());
    let spoils: [&dyn Fn(&Path); 8] = [
        &|to| fs::write(to.join("src/main.rs"), "changed").unwrap(),
        &|to| fs::set_permissions(to.join("secret"), Permissions::from_mode(0o640)).unwrap(),
        &|to| fs::set_permissions(to.join("sticky"), Permissions::from_mode(0o755)).unwrap(),
        &|to| fs::remove_dir(to.join("empty")).unwrap(),
        &|to| fs::write(to.join("target"), "what rules would leave out counts too").unwrap(),
        &|to| fs::remove_file(to.join("dangling")).and_then(|()| symlink("elsewhere", to.join("dangling"))).unwrap(),
        &|to| fs::remove_file(to.join("src/same.rs")).unwrap(),
        &|to| fs::copy(to.join("src/main.rs"), to.join("src/same.rs")).map(drop).unwrap(),
    ];
    for (number, spoil) in spoils.iter().enumerate() {
        spoil(&to);
        assert!(seen.insert(hash()), "change {number} is not seen");
    }
    // The workspace: what is ignored does not count, what is held counts.
    write(&scene.work, "noise.log", "more noise");
    assert!(recorded.differences(&now("later")).is_nothing());
    write(&scene.work, "new/deep", "new");
    fs::remove_dir(scene.work.join("empty")).unwrap();
    fs::set_permissions(scene.work.join("setgid"), Permissions::from_mode(0o755)).unwrap();
    let few = recorded.differences(&now("changed"));
    assert_eq!(few.words(), "removed empty, added new/deep, permissions of setgid");
}
