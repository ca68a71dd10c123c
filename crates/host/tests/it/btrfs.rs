//! Checkpoints as snapshots, on a real btrfs in an image that the test makes.
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::btrfs::{SnapshotMaker, SnapshotOwner, trial};
use loop_host::checkpoint::{
    Depth, Id, RestorePlan, Rules, ScanCache, ScanHint, SnapshotMoment, StillSnapshot, Store, TakeOutcome, TakeRequest,
    TreeState, open_folder, restore,
};
use loop_testkit::{Format, LoopImage};

use crate::sight::{differences, odd_tree, sight, spoil, without, write};

const OF: SnapshotOwner<'static> = SnapshotOwner { store: "store", run: "run" };

/// Removes all snapshots of a run and what an interrupted one left.
pub(crate) fn remove_run(place: &SnapshotMaker, of: SnapshotOwner<'_>) -> std::io::Result<()> {
    let own = format!("{}/", of.run);
    place.sweep(of.store, &|full| !full.starts_with(&own)).map(drop)
}

fn btrfs(words: &[&str], path: &Path) -> String {
    let ran = Command::new("btrfs").args(words).arg(path).output().unwrap();
    assert!(ran.status.success(), "btrfs {words:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// A subvolume to work in.
fn workspace(image: &LoopImage) -> PathBuf {
    let work = image.path().join("work");
    btrfs(&["subvolume", "create"], &work);
    work
}

/// All subvolumes there are, by path.
fn subvolumes(image: &LoopImage) -> Vec<String> {
    let list = btrfs(&["subvolume", "list"], &image.path());
    list.lines().filter_map(|line| line.split(" path ").nth(1)).map(str::to_owned).collect()
}

/// The snapshots of the run, by name; what is unfinished begins with a dot.
fn listed(place: &SnapshotMaker) -> Vec<String> {
    let names = fs::read_dir(place.path().join(OF.store).join(OF.run)).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort();
    names
}

fn rules() -> Rules {
    Rules::new(true, &[], false)
}

/// Snapshots with what the store records of them.
struct Records {
    place: SnapshotMaker,
    folder: OwnedFd,
    store: Store,
    cache: ScanCache,
}

impl Records {
    fn new(image: &LoopImage, work: &Path) -> Self {
        let store = Store::open(&image.outside().join("store")).unwrap();
        Self { place: trial(work).unwrap(), folder: open_folder(work).unwrap(), store, cache: ScanCache::empty("run") }
    }

    fn take(&mut self, name: &str) -> (Id, TreeState) {
        let moment = SnapshotMoment::of(&self.folder).unwrap();
        let snapshot = self.place.take(OF, name).unwrap();
        let still = StillSnapshot { folder: snapshot.folder(), moment };
        let rules = rules();
        let ask = TakeRequest { depth: Depth::Trees, name: &format!("run/{name}"), ..ask(&rules) };
        let taken = self.store.save_still(&self.folder, still, &mut self.cache, &ask);
        let TakeOutcome::Saved(id, measured) = taken.unwrap() else { panic!("{name} was not taken") };
        (id, measured)
    }

    /// As a rollback does.
    fn go_back(&mut self, name: &str) {
        let target = self.store.named(&format!("run/{name}")).unwrap();
        let (before, _) = self.take("undo");
        let way = RestorePlan { target, before, cancel: &AtomicBool::new(false) };
        let snapshot = self.place.snapshot(OF, name).unwrap();
        restore(&self.store, &snapshot, &self.folder, &mut self.cache, &way).unwrap();
    }
}

fn ask(rules: &Rules) -> TakeRequest<'_> {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let hint = ScanHint::Everything;
    TakeRequest { name: "other/1", parent: None, rules, hint, depth: Depth::Whole, unless: None, cancel: &NEVER }
}

#[test]
fn a_snapshot_is_gone_back_to_byte_for_byte_and_is_what_the_store_would_keep() {
    // req: D-14 partly: snapshots of btrfs, by the parts
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    odd_tree(&work);
    let mut records = Records::new(&image, &work);
    let before = sight(&work);
    let (taken, _) = records.take("initial");
    // A store of its own with all contents, read from the workspace itself.
    let mut whole = Store::open(&image.outside().join("whole")).unwrap();
    let kept = whole.save(&records.folder, &mut ScanCache::empty("other"), &ask(&rules())).unwrap();
    let TakeOutcome::Saved(_, kept) = kept else { panic!("{kept:?}") };
    let parts = records.store.parts(&taken).unwrap();
    assert_eq!(parts, kept.parts, "trees and manifest have the same ids");
    spoil(&work);
    let spoilt = sight(&work);
    records.go_back("initial");
    let ours = [".git", "target", "noise.log"];
    let after = sight(&work);
    assert_eq!(differences(&without(&before, &ours), &without(&after, &ours)), Vec::<String>::new());
    for path in [".git/HEAD", "target/debug/built", "noise.log"] {
        assert_eq!(after.get(path.as_bytes()), spoilt.get(path.as_bytes()), "{path} is out of scope");
    }
    records.place.remove(OF, "undo").unwrap();
    let (again, _) = records.take("1");
    assert_eq!(records.store.parts(&again).unwrap(), parts);
    let bytes = fs::read(work.join("large")).unwrap();
    assert!(
        !records.store.has(&Id::of(loop_host::checkpoint::ObjectKind::Blob, &bytes)),
        "contents are in the snapshot"
    );
    assert_eq!(listed(&records.place), ["1", "initial"]);
}

#[test]
fn what_has_not_changed_between_two_snapshots_is_not_read_again_and_what_has_is_found() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    for number in 0..50 {
        write(&work, &format!("file{number}"), &format!("text {number}"));
    }
    // Old enough not to be doubted.
    let old = std::time::SystemTime::now();
    loop_testkit::wait_until("the files to be old", || old.elapsed().unwrap().as_millis() > 100);
    let mut records = Records::new(&image, &work);
    let (first, measured) = records.take("1");
    assert_eq!(measured.read, 50);
    // The same length, and the time of the content set back: only the kernel's own time tells.
    let stamp = fs::metadata(work.join("file7")).unwrap().modified().unwrap();
    write(&work, "file7", "TEXT 7");
    fs::File::open(work.join("file7")).unwrap().set_modified(stamp).unwrap();
    let (second, measured) = records.take("2");
    assert_eq!(measured.read, 1);
    let between = records.store.between(&first, &second).unwrap();
    assert_eq!(between.keys().collect::<Vec<_>>(), [b"file7"]);
    // It was written just before the snapshot, so that it is doubted once more, however late the snapshot was read.
    let (third, measured) = records.take("3");
    assert_eq!(measured.read, 1);
    assert_eq!(records.store.parts(&second).unwrap(), records.store.parts(&third).unwrap());
}

#[test]
fn what_was_written_just_before_a_snapshot_is_doubted_however_late_the_snapshot_is_read() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    let mut records = Records::new(&image, &work);
    write(&work, "file", "text");
    let moment = SnapshotMoment::of(&records.folder).unwrap();
    let snapshot = records.place.take(OF, "1").unwrap();
    let still = StillSnapshot { folder: snapshot.folder(), moment };
    // Meanwhile somebody could write it again within the same tick of the clock, and the snapshot would not tell.
    let begun = std::time::Instant::now();
    loop_testkit::wait_until("the file to be old", || begun.elapsed().as_millis() > 100);
    let rules = rules();
    let ask = TakeRequest { depth: Depth::Trees, ..ask(&rules) };
    records.store.save_still(&records.folder, still, &mut records.cache, &ask).unwrap();
    assert_eq!(records.take("2").1.read, 1, "it was not sure");
    assert_eq!(records.take("3").1.read, 0, "now it is");
}

/// Does something to a tree, by a number.
fn disturb(work: &Path, number: u64) {
    let path = |number: u64| work.join(format!("d{}/f{}", number % 7, number / 7 % 11));
    let (one, other) = (path(number / 16), path(number / 1000));
    // What does not fit the tree as it is fails, and then nothing was done.
    match number % 12 {
        0..=2 => drop(fs::write(&one, format!("{number}"))),
        3 => drop(fs::remove_file(&one)),
        4 => drop(fs::rename(&one, &other)),
        5 => drop(fs::rename(one.parent().unwrap(), work.join(format!("d{}", number / 1000 % 7)))),
        6 => drop(fs::create_dir_all(one.join("new/deep"))),
        7 => drop(fs::write(one.join("new/deep/file"), "deep")),
        8 => drop(fs::remove_dir_all(&one)),
        9 => drop(fs::set_permissions(&one, fs::Permissions::from_mode(0o600))),
        10 => drop(symlink("elsewhere", &one)),
        _ => drop(fs::hard_link(&one, &other)),
    }
}

#[test]
fn what_is_recorded_is_the_snapshot_whatever_happens_to_the_workspace_meanwhile() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    for number in 0..7 * 11 {
        write(&work, &format!("d{}/f{}", number % 7, number / 7), &format!("text {number}"));
    }
    let mut records = Records::new(&image, &work);
    let mut plain = Store::open(&image.outside().join("plain")).unwrap();
    let (mut state, mut read, mut seen) = (1_u64, 0, 0);
    for turn in 0..40 {
        let begun = std::time::Instant::now();
        loop_testkit::wait_until("most of it to be old", || begun.elapsed().as_millis() > 60);
        let mut some = |count: u64| {
            for _ in 0..count {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                disturb(&work, state >> 33);
            }
        };
        some(turn % 9);
        let moment = SnapshotMoment::of(&records.folder).unwrap();
        let snapshot = records.place.take(OF, &turn.to_string()).unwrap();
        some(turn % 5);
        let rules = rules();
        let recorded = TakeRequest { depth: Depth::Trees, name: &format!("run/{turn}"), ..ask(&rules) };
        let of = StillSnapshot { folder: snapshot.folder(), moment };
        let taken = records.store.save_still(&records.folder, of, &mut records.cache, &recorded).unwrap();
        let TakeOutcome::Saved(_, measured) = taken else { panic!("{taken:?}") };
        let alone = TakeRequest { depth: Depth::Ids, ..ask(&rules) };
        let taken = plain.save(snapshot.folder(), &mut ScanCache::empty("other"), &alone).unwrap();
        let TakeOutcome::NotWritten(whole) = taken else { panic!("{taken:?}") };
        assert_eq!((measured.parts, &measured.left_out), (whole.parts, &whole.left_out), "turn {turn}");
        (read, seen) = (read + measured.read, seen + whole.read);
    }
    assert!(read * 2 < seen, "a control: most of it was not read again ({read} of {seen})");
}

#[test]
fn what_a_snapshot_would_leave_out_is_named_and_refused() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    write(&work, "deep/er/file", "text");
    let place = trial(&work).unwrap();
    btrfs(&["subvolume", "create"], &work.join("deep/er/inner volume"));
    let why = trial(&work).unwrap_err();
    assert_eq!(why, "deep/er/inner volume is a subvolume of its own, which a snapshot leaves out");
    assert_eq!(place.take(OF, "1").unwrap_err().to_string(), why, "one that came later");
    btrfs(&["subvolume", "delete"], &work.join("deep/er/inner volume"));
    fs::create_dir(work.join("a mount")).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(work.join("a mount")).status().unwrap();
    assert!(mounted.success());
    assert_eq!(trial(&work).unwrap_err(), "a mount is a mount of its own, which a snapshot leaves out");
    assert!(place.take(OF, "1").is_err());
    assert!(Command::new("umount").arg(work.join("a mount")).status().unwrap().success());
    place.take(OF, "1").unwrap();
    remove_run(&place, OF).unwrap();
    assert_eq!(subvolumes(&image), ["work"]);
}

#[test]
fn a_workspace_that_cannot_have_snapshots_is_told_why() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    fs::create_dir(work.join("folder")).unwrap();
    let why = trial(&work.join("folder")).unwrap_err();
    assert!(why.ends_with("/folder is a folder of a btrfs subvolume and not a subvolume of its own"), "{why}");
    assert!(trial(&image.outside()).unwrap_err().ends_with(" is not on btrfs"));
    // The root of the image is a subvolume; the folder above it lies on the machine's own disk.
    let why = trial(&image.path()).unwrap_err();
    assert!(why.starts_with("the folder above ") && why.ends_with(" is on another file system"), "{why}");
    let other = LoopImage::new(Format::Btrfs);
    let inside = other.path().join("mounted");
    fs::create_dir(&inside).unwrap();
    let bound = Command::new("mount").arg("--bind").args([&work, &inside]).status().unwrap();
    assert!(bound.success());
    let why = trial(&inside).unwrap_err();
    assert!(why.ends_with(" is on another file system"), "another btrfs is another one: {why}");
    let beside = image.path().join(".loop-checkpoints");
    assert!(!beside.exists(), "nothing is left of what was refused");
    symlink("/tmp", &beside).unwrap();
    assert!(trial(&work).is_err(), "a link is no folder of ours");
    fs::remove_file(&beside).unwrap();
    fs::create_dir(&beside).unwrap();
    let why = trial(&work).unwrap_err();
    assert!(why.ends_with("others can reach it: it must have the permissions 0700"), "{why}");
}

#[test]
fn snapshots_are_removed_and_nothing_else_is() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    write(&work, "file", "text");
    let place = trial(&work).unwrap();
    assert_eq!(subvolumes(&image), ["work"], "a trial leaves nothing");
    for name in ["initial", "1", "2"] {
        place.take(OF, name).unwrap();
    }
    place.take(SnapshotOwner { run: "other", ..OF }, "1").unwrap();
    assert_eq!(listed(&place), ["1", "2", "initial"]);
    assert_eq!(place.runs("store").unwrap(), ["other", "run"]);
    place.remove(OF, "1").unwrap();
    assert_eq!(listed(&place), ["2", "initial"]);
    assert!(place.remove(OF, "1").is_err());
    for odd in ["", ".", "..", "a/b", ".new-1"] {
        assert!(place.remove(OF, odd).is_err() && place.take(OF, odd).is_err(), "{odd:?}");
    }
    // What somebody planted there is not followed and not removed.
    let run = place.path().join("store/run");
    symlink(&work, run.join("planted")).unwrap();
    fs::create_dir(run.join("folder")).unwrap();
    btrfs(&["subvolume", "create"], &run.join("volume"));
    for name in ["planted", "folder", "volume"] {
        assert!(place.remove(OF, name).unwrap_err().to_string().len() > 5);
    }
    assert!(remove_run(&place, OF).is_err());
    assert_eq!(fs::read_to_string(work.join("file")).unwrap(), "text");
    assert_eq!(listed(&place), ["folder", "planted", "volume"], "the snapshots are gone");
    fs::remove_file(run.join("planted")).unwrap();
    fs::remove_dir(run.join("folder")).unwrap();
    btrfs(&["subvolume", "delete"], &run.join("volume"));
    remove_run(&place, OF).unwrap();
    remove_run(&place, OF).unwrap();
    assert!(place.path().exists(), "another run has snapshots there");
    remove_run(&place, SnapshotOwner { run: "other", ..OF }).unwrap();
    assert_eq!(subvolumes(&image), ["work"]);
    assert!(!place.path().exists());
}

#[test]
fn a_checkpoint_of_the_same_name_is_replaced_whole() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    write(&work, "file", "first");
    let place = trial(&work).unwrap();
    place.take(OF, "1").unwrap();
    let kept = place.path().join("store/run/1/file");
    assert!(fs::write(&kept, "changed").is_err(), "a checkpoint cannot be written to");
    write(&work, "file", "second");
    place.take(OF, "1").unwrap();
    assert_eq!(fs::read_to_string(&kept).unwrap(), "second");
    assert_eq!(listed(&place), ["1"]);
    assert_eq!(subvolumes(&image).len(), 2, "the old one is gone");
    assert!(fs::write(&kept, "changed").is_err(), "a checkpoint cannot be written to");
}

#[test]
fn a_checkpoint_outlives_a_power_cut_right_after_it() {
    let image = LoopImage::new(Format::Btrfs);
    let work = workspace(&image);
    for turn in 0..5 {
        odd_tree(&work);
        let before = sight(&work);
        let name = turn.to_string();
        let place = trial(&work).unwrap();
        place.take(OF, &name).unwrap();
        write(&work, "lost", "written after the checkpoint");
        image.cut_power();
        let kept = place.path().join("store/run").join(&name);
        drop(place);
        image.remount();
        assert_eq!(differences(&before, &sight(&kept)), Vec::<String>::new());
        assert!(!work.join("lost").exists(), "a control: what was not synced is lost");
        btrfs(&["subvolume", "delete"], &work);
        btrfs(&["subvolume", "create"], &work);
    }
}

#[test]
fn a_checkpoint_reads_no_folder_so_that_their_number_does_not_matter() {
    let image = LoopImage::with_options(Format::Btrfs, "strictatime");
    let work = workspace(&image);
    for number in 0..20 {
        write(&work, &format!("folder{number}/file"), "text");
    }
    let place = trial(&work).unwrap();
    let times = || -> Vec<(i64, i64)> {
        let found = (0..20).map(|number| fs::metadata(work.join(format!("folder{number}"))).unwrap());
        found.map(|found| (found.atime(), found.atime_nsec())).collect()
    };
    let before = times();
    place.take(OF, "1").unwrap();
    assert_eq!(times(), before);
    let mut store = Store::open(&image.outside().join("store")).unwrap();
    store.save(&open_folder(&work).unwrap(), &mut ScanCache::empty("other"), &ask(&rules())).unwrap();
    assert_ne!(times(), before, "a control: a walk is seen");
}

/// What an ordinary user finds; as a program of its own, because a user is a matter of the whole process.
#[test]
fn as_an_ordinary_user() {
    let Some(work) = std::env::var_os("BTRFS_AS_USER") else { return };
    let work = PathBuf::from(work);
    if std::env::var_os("BTRFS_MAY").is_none() {
        let why = trial(&work).unwrap_err();
        assert!(why.contains("user_subvol_rm_allowed"), "{why}");
        return;
    }
    let place = trial(&work).unwrap();
    place.take(OF, "1").unwrap();
    place.take(OF, "1").unwrap();
    place.remove(OF, "1").unwrap();
    place.take(OF, "2").unwrap();
    remove_run(&place, OF).unwrap();
}

#[test]
fn an_ordinary_user_has_snapshots_where_the_mount_allows_it_and_is_told_why_where_not() {
    for options in ["", "user_subvol_rm_allowed"] {
        let image = LoopImage::with_options(Format::Btrfs, options);
        let work = workspace(&image);
        write(&work, "file", "text");
        let own = |path: &Path| std::os::unix::fs::chown(path, Some(65534), Some(65534)).unwrap();
        for path in [image.path(), work.clone(), work.join("file")] {
            own(&path);
        }
        fs::set_permissions(image.outside(), fs::Permissions::from_mode(0o755)).unwrap();
        let program = image.outside().join("tests");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(program);
        command.args(["--exact", "btrfs::as_an_ordinary_user"]).env("BTRFS_AS_USER", &work);
        if !options.is_empty() {
            command.env("BTRFS_MAY", "1");
        }
        let ran = command.current_dir("/").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{options}: {said}");
        assert_eq!(subvolumes(&image), ["work"], "{options}: nothing is left");
        assert!(!image.path().join(".loop-checkpoints").exists());
    }
}
