//! Checkpoints while somebody plays with links and clocks.
use crate::run_checkpoints::Made;
use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags};

use super::run_checkpoints::TestCheckpoints;

/// Everything that `lstat` tells of the canaries but when they were last read, and their bytes.
type Sight = BTreeMap<PathBuf, Look>;
type Look = (u32, u64, [i64; 4], Vec<u8>);

fn sight(path: &Path, seen: &mut Sight) {
    let found = fs::symlink_metadata(path).unwrap();
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    let bytes = if found.is_file() { fs::read(path).unwrap() } else { Vec::new() };
    seen.insert(path.to_owned(), (found.mode(), found.ino(), times, bytes));
    if found.is_dir() {
        fs::read_dir(path).unwrap().flatten().for_each(|entry| sight(&entry.path(), seen));
    }
}

fn canaries(keeper: &TestCheckpoints) -> Sight {
    let mut seen = Sight::new();
    sight(&keeper.scratch.path().join("canary"), &mut seen);
    seen
}

/// What has become of the canaries.
fn touched(before: &Sight, after: &Sight) -> Vec<String> {
    let all: BTreeMap<_, _> = before.iter().chain(after).collect();
    let differs = all.into_keys().filter(|path| before.get(*path) != after.get(*path));
    let brief = |sight: &Sight, path: &PathBuf| {
        let seen = sight.get(path);
        seen.map(|(mode, inode, times, bytes)| (format!("{mode:o}"), *inode, *times, bytes.len()))
    };
    differs.map(|path| format!("{}: {:?} is {:?}", path.display(), brief(before, path), brief(after, path))).collect()
}

/// Grows the same names in a workspace's folder and in one outside, so that each could be taken for the other.
fn twins(keeper: &TestCheckpoints) {
    for name in ["one", "deep/two", "deep/er/three", "only in the second"] {
        let outside = keeper.scratch.path().join("canary").join(name);
        fs::create_dir_all(outside.parent().unwrap()).unwrap();
        fs::write(&outside, format!("the canary sings {name}")).unwrap();
        fs::set_permissions(&outside, Permissions::from_mode(0o640)).unwrap();
        keeper.write(&format!("folder/{name}"), &format!("{name} at first"));
    }
    fs::set_permissions(keeper.scratch.path().join("canary"), Permissions::from_mode(0o751)).unwrap();
    fs::remove_file(keeper.root().join("folder/only in the second")).unwrap();
    keeper.write("plain", "never swapped");
}

/// What came of it.
#[derive(Debug, Default)]
struct Count {
    swaps: u64,
    kept: u64,
    gone_back: u64,
    refused: BTreeMap<String, u64>,
}

/// Swaps two names as fast as it can while checkpoints are made and gone back to, in turn.
fn swapped(keeper: &mut TestCheckpoints, (one, other): (&str, &str), targets: [&Made; 2], rounds: usize) -> Count {
    let (one, other) = (keeper.root().join(one), keeper.root().join(other));
    let (stop, swaps) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut count = Count::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let swapped = rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE);
                swaps.fetch_add(u64::from(swapped.is_ok()), Ordering::Relaxed);
            }
        });
        for round in 0..rounds {
            // Whoever is led astray may refuse, but not do it.
            match keeper.try_keep("run/1") {
                Ok(_) => count.kept += 1,
                Err(error) => *count.refused.entry(format!("checkpoint: {error}")).or_default() += 1,
            }
            match keeper.try_go_back(targets[round % 2]) {
                Ok(()) => count.gone_back += 1,
                Err(error) => *count.refused.entry(format!("rollback: {error}")).or_default() += 1,
            }
            // What went aside or away comes back, so that there is always something to swap.
            if fs::symlink_metadata(&other).is_err() {
                symlink(keeper.scratch.path().join("canary"), &other).ok();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    count.swaps = swaps.load(Ordering::Relaxed);
    count
}

#[test]
#[expect(clippy::print_stdout, reason = "how much was swapped is part of the result")]
fn a_folder_swapped_for_a_link_leads_nobody_out_of_the_workspace() {
    let mut keeper = TestCheckpoints::in_memory();
    twins(&keeper);
    symlink(keeper.scratch.path().join("canary"), keeper.root().join("link")).unwrap();
    let first = keeper.keep("run/first");
    keeper.write("folder/one", "one, later");
    keeper.write("folder/deep/two", "two, later");
    fs::remove_dir_all(keeper.root().join("folder/deep/er")).unwrap();
    keeper.write("folder/only in the second", "and it is");
    let second = keeper.keep("run/second");
    let before = canaries(&keeper);
    let count = swapped(&mut keeper, ("folder", "link"), [&first, &second], 200);
    println!("{count:?}");
    // Their permissions are another test's matter.
    let bare = |sight: Sight| -> Sight {
        let bare = |(_, inode, [seconds, rest, ..], bytes): Look| (0, inode, [seconds, rest, 0, 0], bytes);
        sight.into_iter().map(|(path, seen)| (path, bare(seen))).collect()
    };
    let before = bare(before);
    assert_eq!(touched(&before, &bare(canaries(&keeper))), Vec::<String>::new());
    for (path, (_, _, _, bytes)) in before.iter().filter(|(_, seen)| !seen.3.is_empty()) {
        assert!(!keeper.holds(bytes), "{} was read into a checkpoint", path.display());
    }
    assert!(keeper.holds(b"two, later") && count.swaps > 1000 && count.kept > 100, "{count:?}");
}

#[test]
#[expect(clippy::print_stdout, reason = "how much was swapped is part of the result")]
fn permissions_are_not_given_to_what_a_link_leads_to() {
    let mut keeper = TestCheckpoints::in_memory();
    twins(&keeper);
    symlink(keeper.scratch.path().join("canary"), keeper.root().join("link")).unwrap();
    let mode = |keeper: &TestCheckpoints, mode| {
        fs::set_permissions(keeper.root().join("folder"), Permissions::from_mode(mode)).unwrap();
    };
    mode(&keeper, 0o755);
    let first = keeper.keep("run/first");
    mode(&keeper, 0o500);
    let second = keeper.keep("run/second");
    let before = canaries(&keeper);
    let count = swapped(&mut keeper, ("folder", "link"), [&first, &second], 200);
    println!("{count:?}");
    assert_eq!(touched(&before, &canaries(&keeper)), Vec::<String>::new());
}

#[test]
#[expect(clippy::print_stdout, reason = "how much was swapped is part of the result")]
fn permissions_are_not_given_to_the_file_that_a_link_leads_to() {
    let mut keeper = TestCheckpoints::in_memory();
    twins(&keeper);
    symlink(keeper.scratch.path().join("canary/one"), keeper.root().join("link")).unwrap();
    let mode = |keeper: &TestCheckpoints, mode| {
        fs::set_permissions(keeper.root().join("plain"), Permissions::from_mode(mode)).unwrap();
    };
    mode(&keeper, 0o644);
    let first = keeper.keep("run/first");
    mode(&keeper, 0o600);
    let second = keeper.keep("run/second");
    let before = canaries(&keeper);
    let count = swapped(&mut keeper, ("plain", "link"), [&first, &second], 200);
    println!("{count:?}");
    assert_eq!(touched(&before, &canaries(&keeper)), Vec::<String>::new());
}

fn set_time(path: &Path, time: SystemTime) {
    // Not by writing: the file may be one that is only read.
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(time).set_accessed(time)).unwrap();
}

/// Every way to change a file without its length and time of change telling.
fn edits(path: &Path, text: &str, way: usize, time: SystemTime) {
    let beside = path.with_extension("new");
    match way {
        0 => fs::write(path, text).unwrap(),
        1 => {
            fs::write(&beside, text).unwrap();
            set_time(&beside, time);
            fs::rename(&beside, path).unwrap();
            return;
        }
        2 => {
            fs::remove_file(path).unwrap();
            fs::write(path, text).unwrap();
        }
        _ => {
            // Two edits within one tick.
            fs::write(path, "zzzzzz").unwrap();
            fs::write(path, text).unwrap();
        }
    }
    set_time(path, time);
}

#[test]
fn an_edit_that_leaves_length_and_time_alone_is_seen_also_within_a_tick() {
    for mut keeper in [TestCheckpoints::in_memory(), TestCheckpoints::on_disk()] {
        let hour = Duration::from_secs(3600);
        let now = SystemTime::now();
        // Long ago, just now, and in a future that the clock came back from.
        let times = [now - 24 * hour, now, now + 24 * hour, SystemTime::UNIX_EPOCH];
        let rounds = if keeper.scratch.path().starts_with("/dev/shm") { 800 } else { 100 };
        keeper.write("file", "000000");
        for round in 0..rounds {
            let text = format!("{round:06}");
            edits(&keeper.root().join("file"), &text, round % 4, times[(round / 4) % 4]);
            let made = keeper.keep("run/1");
            assert_eq!(keeper.content(&made, "file"), text.as_bytes(), "round {round}");
        }
    }
}

#[test]
fn an_edit_is_seen_although_the_file_was_long_settled_and_looks_as_before() {
    let mut keeper = TestCheckpoints::on_disk();
    let old = SystemTime::now() - Duration::from_secs(3600);
    for way in 0..4 {
        let name = format!("file{way}");
        keeper.write(&name, "before");
        set_time(&keeper.root().join(name), old);
    }
    loop_testkit::wait_until("all are settled", || keeper.keep("run/1").read == 0);
    for way in 0..4 {
        edits(&keeper.root().join(format!("file{way}")), "after!", way, old);
    }
    let made = keeper.keep("run/2");
    for way in 0..4 {
        assert_eq!(keeper.content(&made, &format!("file{way}")), b"after!", "way {way}");
    }
}

#[test]
fn a_file_changed_between_the_look_and_the_reading_is_right_in_the_next_checkpoint() {
    let mut keeper = TestCheckpoints::in_memory();
    let path = keeper.root().join("file");
    let stop = AtomicBool::new(false);
    fs::write(&path, "0000").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0_u32;
            while !stop.load(Ordering::Relaxed) {
                number = (number + 1) % 10_000;
                fs::write(path.with_extension("new"), format!("{number:04}")).unwrap();
                fs::rename(path.with_extension("new"), &path).unwrap();
            }
        });
        for _ in 0..300 {
            // It may say that it could not be read in one piece; it may not hold what never was.
            if let Ok(made) = keeper.try_keep("run/1") {
                assert_eq!(keeper.content(&made, "file").len(), 4);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let made = keeper.keep("run/2");
    assert_eq!(keeper.content(&made, "file"), fs::read(&path).unwrap());
}

/// A file system whose clock ticks once a second, mounted where a workspace is. Needs root.
struct Coarse(PathBuf);

impl Coarse {
    fn mount(keeper: &TestCheckpoints) -> Self {
        let (image, root) = (keeper.scratch.path().join("image"), keeper.root());
        File::create(&image).unwrap().set_len(16 << 20).unwrap();
        // So small are the inodes that there is no room for parts of a second.
        run(Command::new("mkfs.ext4").args(["-q", "-F", "-I", "128"]).arg(&image));
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&root));
        Self(root)
    }
}

impl Drop for Coarse {
    fn drop(&mut self) {
        run(Command::new("umount").arg("--lazy").arg(&self.0));
    }
}

fn run(command: &mut Command) {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn an_edit_within_a_tick_is_seen_where_the_clock_ticks_once_a_second() {
    let mut keeper = TestCheckpoints::on_disk();
    let _mounted = Coarse::mount(&keeper);
    let begun = std::time::Instant::now();
    let mut missed = Vec::new();
    let mut rounds = 0;
    while begun.elapsed() < Duration::from_millis(2500) {
        let text = format!("{rounds:06}");
        keeper.write("file", &text);
        let made = keeper.keep("run/1");
        if keeper.content(&made, "file") != text.as_bytes() {
            missed.push(rounds);
        }
        rounds += 1;
    }
    assert!(missed.is_empty(), "{} of {rounds} edits were missed", missed.len());
}
