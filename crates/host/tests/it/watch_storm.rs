//! Storms over a watched workspace: actors make, write, move, swap and delete at random while one who looks only at
//! what the hints name keeps a picture of it. When they have stopped, the picture must be what a full walk sees.
//!
//! `WATCH_STORMS=5000` takes more of them, `WATCH_SEED=7` one again.
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use loop_host::checkpoint::{Rules, open_folder};
use loop_host::workspace::watch::{NoListReason, Watch, WatchHint};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, RenameFlags};

/// A small generator: the same seed rolls the same numbers.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let sides = u64::try_from(sides).unwrap();
        usize::try_from((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides).unwrap()
    }
}

/// What `lstat` says of a name, and what is in it. Folders change their times with every name in them: left out.
type Look = (u32, u64, (i64, i64), Vec<u8>);
type Picture = BTreeMap<Vec<u8>, Look>;

fn look(path: &Path) -> Option<Look> {
    let found = fs::symlink_metadata(path).ok()?;
    let times = if found.is_dir() { (0, 0) } else { (found.mtime(), found.mtime_nsec()) };
    let bytes = if found.is_symlink() {
        fs::read_link(path).ok()?.as_os_str().as_bytes().to_vec()
    } else if found.is_file() {
        fs::read(path).ok()?
    } else {
        Vec::new()
    };
    Some((found.mode(), found.ino(), times, bytes))
}

/// The rules that these storms know: a folder of one of these names is left out from here on.
fn ignored_below(folder: &Path, above: &BTreeSet<String>) -> BTreeSet<String> {
    let mut names = above.clone();
    let own = folder.join(".gitignore");
    if fs::symlink_metadata(&own).is_ok_and(|found| found.is_file()) {
        let text = fs::read_to_string(own).unwrap_or_default();
        names.extend(text.lines().filter_map(|line| line.strip_suffix('/')).map(str::to_owned));
    }
    names
}

fn walk(folder: &Path, path: &[u8], ignored: &BTreeSet<String>, picture: &mut Picture) {
    let ignored = ignored_below(folder, ignored);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if path.is_empty() && name == ".git" {
            continue;
        }
        let inner = if path.is_empty() { name.as_bytes().to_vec() } else { [path, b"/", name.as_bytes()].concat() };
        see(&entry.path(), &inner, &ignored, picture);
    }
}

fn see(place: &Path, path: &[u8], ignored: &BTreeSet<String>, picture: &mut Picture) {
    let Some(found) = look(place) else { return };
    let is_folder = found.0 & 0o170_000 == 0o040_000;
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if is_folder && ignored.contains(&name) {
        return;
    }
    picture.insert(path.to_vec(), found);
    if is_folder {
        walk(place, path, ignored, picture);
    }
}

/// How the one who keeps the picture reads what a hint names.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// As it is meant.
    Whole,
    /// Without what is below a folder that is named: this must go wrong.
    Shallow,
}

struct Painter<'a> {
    root: &'a Path,
    base: BTreeSet<String>,
    reading: Reading,
    picture: Picture,
}

impl Painter<'_> {
    fn follow(&mut self, hint: &WatchHint) {
        match hint {
            WatchHint::Everything(_) => self.picture = self.full(),
            WatchHint::Changes(changes) => {
                for path in &changes.names {
                    self.picture.remove(path);
                    self.again(path, false);
                }
                for path in &changes.folders {
                    self.picture.retain(|other, _| !lies_in(other, path));
                    self.again(path, self.reading == Reading::Whole);
                }
            }
        }
    }

    fn again(&mut self, path: &[u8], whole: bool) {
        let mut place = self.root.to_owned();
        let mut ignored = self.base.clone();
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let (_, above) = names.split_last().unwrap();
        for name in above {
            ignored = ignored_below(&place, &ignored);
            let hidden = ignored.contains(&*String::from_utf8_lossy(name));
            place.push(OsStr::from_bytes(name));
            if hidden || !fs::symlink_metadata(&place).is_ok_and(|found| found.is_dir()) {
                return;
            }
        }
        ignored = ignored_below(&place, &ignored);
        place.push(OsStr::from_bytes(names.last().unwrap()));
        let mut seen = Picture::new();
        see(&place, path, &ignored, &mut seen);
        if !whole {
            seen.retain(|other, _| other == path);
        }
        self.picture.extend(seen);
    }

    fn full(&self) -> Picture {
        let mut picture = Picture::new();
        walk(self.root, b"", &self.base, &mut picture);
        picture
    }

    fn wrong(&self) -> Vec<String> {
        let full = self.full();
        let all: BTreeSet<&Vec<u8>> = full.keys().chain(self.picture.keys()).collect();
        let differs = all.into_iter().filter(|path| full.get(*path) != self.picture.get(*path));
        differs.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    }
}

fn lies_in(path: &[u8], folder: &[u8]) -> bool {
    path == folder || (path.starts_with(folder) && path.get(folder.len()) == Some(&b'/'))
}

const DEEDS: [&str; 15] = [
    "write",
    "append",
    "mkdir",
    "deep mkdir with content",
    "move",
    "move",
    "exchange",
    "move out",
    "move in",
    "delete",
    "swap a folder for a link",
    "chmod",
    "link",
    "write where it is ignored",
    "ignore file",
];
static DONE: [AtomicU64; 15] = [const { AtomicU64::new(0) }; 15];

/// One who does things at random. Whatever cannot be done is not done.
struct Actor<'a> {
    root: &'a Path,
    outside: &'a Path,
    dice: Dice,
    /// It writes ignore files too, after which there is no list.
    ignores: bool,
}

impl Actor<'_> {
    fn name(&mut self) -> String {
        match self.dice.roll(12) {
            0 => "node_modules".to_owned(),
            number => format!("n{number}"),
        }
    }

    /// A path somewhere, mostly of few names so that many meet.
    fn place(&mut self) -> PathBuf {
        let mut path = self.root.to_owned();
        for _ in 0..=self.dice.roll(3) {
            path.push(self.name());
        }
        path
    }

    /// Something that is there, or was just now.
    fn somewhere(&mut self) -> PathBuf {
        let mut path = self.place();
        for turn in 0..4 {
            let from = if turn == 0 { self.root } else { path.as_path() };
            let inside: Vec<PathBuf> =
                fs::read_dir(from).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
            if inside.is_empty()
                || !from.starts_with(self.root)
                || from.is_symlink()
                || (turn > 0 && self.dice.roll(3) == 0)
            {
                break;
            }
            path = inside[self.dice.roll(inside.len())].clone();
        }
        path
    }

    fn act(&mut self) {
        let deed =
            if self.dice.roll(6) == 0 { self.dice.roll(14 + usize::from(self.ignores)) } else { self.dice.roll(13) };
        if self.deed(deed).is_ok() {
            DONE[deed].fetch_add(1, Ordering::Relaxed);
        }
    }

    fn deed(&mut self, deed: usize) -> std::io::Result<()> {
        let made = ["write", "mkdir", "deep mkdir with content", "move in", "link", "write where it is ignored"];
        let is_new = made.contains(&DEEDS[deed]) || self.dice.roll(4) == 0;
        let (place, other) = (if is_new { self.place() } else { self.somewhere() }, self.place());
        let outside = self.outside.join(format!("o{}", self.dice.roll(6)));
        let text = vec![b'x'; self.dice.roll(40)];
        match DEEDS[deed] {
            "write" => fs::write(place, text),
            "append" => fs::File::options().append(true).open(place)?.write_all(b"more"),
            "mkdir" => fs::create_dir(place),
            "deep mkdir with content" => {
                let deep = (0..=self.dice.roll(5)).fold(place, |path, number| path.join(format!("n{number}")));
                fs::create_dir_all(&deep)?;
                fs::write(deep.join("n1"), &text).ok();
                fs::write(deep.with_file_name("n9"), text)
            }
            "move" => fs::rename(place, other),
            "exchange" => {
                let other = self.somewhere();
                rustix::fs::renameat_with(CWD, place, CWD, other, RenameFlags::EXCHANGE).map_err(Into::into)
            }
            "move out" => fs::rename(place, outside),
            "move in" => fs::rename(outside, place),
            "delete" if place.is_symlink() || place.is_file() => fs::remove_file(place),
            "delete" => fs::remove_dir_all(place),
            "swap a folder for a link" => {
                if !fs::symlink_metadata(&place)?.is_dir() {
                    return Err(std::io::ErrorKind::NotADirectory.into());
                }
                fs::rename(&place, &outside)?;
                symlink(&outside, place)
            }
            "chmod" => {
                let found = fs::symlink_metadata(&place)?;
                let mode = [0o755, 0o700, 0o644, 0o7777, 0][self.dice.roll(5)];
                if found.is_symlink() {
                    return Err(std::io::ErrorKind::InvalidInput.into());
                }
                fs::set_permissions(place, fs::Permissions::from_mode(mode))
            }
            "link" => symlink(other, place),
            "write where it is ignored" => {
                let inside = place.join("node_modules/deep");
                fs::create_dir_all(&inside)?;
                fs::write(inside.join("n1"), text)
            }
            _ => fs::write(place.with_file_name(".gitignore"), format!("n{}/\n", self.dice.roll(12))),
        }
    }
}

/// What one storm came to.
#[derive(Default)]
struct Outcome {
    wrong: Vec<String>,
    lists: usize,
    everything: usize,
    named: usize,
}

fn storm(seed: u64, reading: Reading) -> Outcome {
    let scratch = match seed % 4 {
        0 => tempfile::tempdir().unwrap(),
        _ => loop_testkit::folder_in_memory(),
    };
    let (root, outside) = (scratch.path().join("work"), scratch.path().join("outside"));
    fs::create_dir(&root).unwrap();
    fs::create_dir(&outside).unwrap();
    let actor = |number: u64| Actor {
        root: &root,
        outside: &outside,
        dice: Dice::new(seed * 8 + number),
        ignores: seed.is_multiple_of(5),
    };
    let mut first = actor(0);
    (0..30).for_each(|_| first.act());
    let mut watch = Watch::new(&open_folder(&root).unwrap(), &Rules::new(false, &[], false)).unwrap();
    let base = BTreeSet::from(["node_modules".to_owned()]);
    let mut painter = Painter { root: &root, base, reading, picture: Picture::new() };
    let mut outcome = Outcome::default();
    let hint = watch.take();
    assert_eq!(hint, WatchHint::Everything(NoListReason::Start), "{:?}", watch.notice());
    painter.follow(&hint);
    let mut look = |watch: &mut Watch, outcome: &mut Outcome| {
        let hint = watch.take();
        match &hint {
            WatchHint::Everything(_) => outcome.everything += 1,
            WatchHint::Changes(changes) => {
                outcome.lists += 1;
                outcome.named += changes.names.len() + changes.folders.len();
            }
        }
        painter.follow(&hint);
    };
    let (actors, at_work) = (1 + seed % 3, AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for number in 1..=actors {
            let mut actor = actor(number);
            at_work.fetch_add(1, Ordering::SeqCst);
            let at_work = &at_work;
            scope.spawn(move || {
                (0..60).for_each(|_| actor.act());
                at_work.fetch_sub(1, Ordering::SeqCst);
            });
        }
        // Half of the storms are looked at while they last.
        while seed.is_multiple_of(2) && at_work.load(Ordering::SeqCst) > 0 {
            let moment = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
            // Where too many others watch at this moment it gives up, and everything is looked at.
            let Some(fd) = watch.fd() else { break };
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&moment)).unwrap();
            look(&mut watch, &mut outcome);
        }
    });
    look(&mut watch, &mut outcome);
    outcome.wrong = painter.wrong();
    // What the kernel watches is what is in scope: nothing outside, nothing left over, nothing missing.
    let full = painter.full();
    let mut folders: BTreeSet<u64> =
        full.values().filter(|found| found.0 & 0o170_000 == 0o040_000).map(|found| found.1).collect();
    folders.insert(fs::metadata(&root).unwrap().ino());
    let Some(seen) = watched_inodes(&watch) else { return outcome };
    outcome.wrong.extend(folders.symmetric_difference(&seen).map(|inode| format!("inode {inode} is watched or not")));
    outcome
}

/// Which folders the kernel watches for us, while it does.
fn watched_inodes(watch: &Watch) -> Option<BTreeSet<u64>> {
    let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", watch.fd()?.as_raw_fd())).unwrap();
    let lines = text.lines().filter(|line| line.starts_with("inotify "));
    let inodes = lines.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix("ino:"));
    Some(inodes.map(|hex| u64::from_str_radix(hex, 16).unwrap()).collect())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
#[expect(clippy::print_stdout, reason = "what the storms did is part of the result")]
fn whoever_looks_only_where_the_hints_say_sees_what_a_full_walk_sees() {
    let seeds = number("WATCH_SEED").map_or(1..=number("WATCH_STORMS").unwrap_or(500), |seed| seed..=seed);
    let seeds: Vec<u64> = seeds.collect();
    let outcomes = loop_testkit::for_all(&seeds, |seed| storm(*seed, Reading::Whole));
    for (seed, outcome) in seeds.iter().zip(&outcomes) {
        assert!(outcome.wrong.is_empty(), "WATCH_SEED={seed}: {:#?}", outcome.wrong);
    }
    let sum = |of: fn(&Outcome) -> usize| outcomes.iter().map(of).sum::<usize>();
    let (lists, everything, named) = (sum(|it| it.lists), sum(|it| it.everything), sum(|it| it.named));
    println!("{} storms: {lists} lists with {named} paths, {everything} times everything", seeds.len());
    let done: Vec<(&str, u64)> =
        DEEDS.iter().copied().zip(DONE.iter().map(|done| done.load(Ordering::Relaxed))).collect();
    println!("{done:?}");
    if seeds.len() >= 500 {
        assert!(done.iter().all(|(_, times)| *times >= 50), "too rare");
        let quiet = outcomes.iter().zip(&seeds).filter(|(it, seed)| *seed % 2 == 1 && it.lists == 1).count();
        assert!(quiet > 150 && lists > everything, "most of the time there is a list: {quiet}");
    }
}

#[test]
fn whoever_does_not_look_into_folders_that_are_new_goes_wrong() {
    let seeds: Vec<u64> = (1..=40).collect();
    let outcomes = loop_testkit::for_all(&seeds, |seed| storm(*seed, Reading::Shallow));
    let wrong = outcomes.iter().filter(|outcome| !outcome.wrong.is_empty()).count();
    assert!(wrong > 10, "only {wrong} of 40 storms show it");
}
