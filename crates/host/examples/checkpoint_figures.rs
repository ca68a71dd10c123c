//! What checkpoints cost, measured in one process in turns with what they are compared to. `cargo xtask bench` builds and
//! runs it; it prints one line of JSON a figure, without limits.
//!
//! `checkpoint_figures <scratch> <files> <rounds> <churn rounds>`
use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use loop_host::checkpoint::{
    Depth, Id, RestorePlan, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest, open_folder, restore,
};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Files in a folder.
const IN_FOLDER: u32 = 100;
/// Files that change between two checkpoints.
const CHANGED: u32 = 10;
static NEVER: AtomicBool = AtomicBool::new(false);

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Bytes that cannot be made smaller.
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count.div_ceil(8)).flat_map(|_| self.next().to_le_bytes()).take(count).collect()
    }

    /// Something like a source text.
    fn text(&mut self, count: usize) -> Vec<u8> {
        let words = ["let ", "value", " = ", "self", ".", "count", "(", ");\n", "    ", "if ", "return ", "{\n", "}\n"];
        let mut text = Vec::with_capacity(count + 16);
        while text.len() < count {
            let roll = self.next();
            let word = usize::try_from(roll % 13).ok().and_then(|at| words.get(at)).unwrap_or(&" ");
            text.extend_from_slice(word.as_bytes());
            if roll.is_multiple_of(5) {
                text.extend_from_slice(format!("{:x}", roll >> 48).as_bytes());
            }
        }
        text
    }
}

fn path_of(root: &Path, file: u32) -> PathBuf {
    root.join(format!("folder{:04}", file / IN_FOLDER)).join(format!("file{file:06}.txt"))
}

/// A workspace with a store.
struct Ours {
    root: PathBuf,
    store: Store,
    picture: ScanCache,
    rules: Rules,
    last: Option<Id>,
}

impl Ours {
    fn new(root: &Path, store: &Path) -> Fallible<Self> {
        let (store, rules) = (Store::open(store)?, Rules::new(true, &[], false));
        Ok(Self { root: root.to_owned(), store, picture: ScanCache::empty("run"), rules, last: None })
    }

    fn save(&mut self, name: &str, hint: ScanHint<'_>) -> Fallible<Id> {
        let workspace = open_folder(&self.root)?;
        let (parent, rules, depth) = (self.last, &self.rules, Depth::Whole);
        let ask = TakeRequest { name, parent, rules, hint, depth, unless: None, cancel: &NEVER };
        match self.store.save(&workspace, &mut self.picture, &ask)? {
            TakeOutcome::Saved(id, _) => {
                self.last = Some(id);
                Ok(id)
            }
            other @ (TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled) => {
                Err(format!("no checkpoint: {other:?}").into())
            }
        }
    }
}

/// A git of nobody, in the workspace.
fn git(root: &Path, words: &[&str]) -> Fallible<()> {
    let mut command = Command::new("git");
    command.current_dir(root).args(words).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for (name, value) in [("NAME", "x"), ("EMAIL", "x@x")] {
        command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
    }
    let ran = command.output()?;
    if ran.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&ran.stderr).into_owned().into()) }
}

/// The floor: every name is listed and looked at by two threads, and nothing is remembered.
fn bare_walk(root: &Path) -> Fallible<usize> {
    let folders: Vec<PathBuf> = fs::read_dir(root)?.flatten().map(|entry| entry.path()).collect();
    let (next, count) = (Mutex::new(folders.into_iter()), Mutex::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut seen = 0;
                let take = || next.lock().ok().and_then(|mut next| next.next());
                while let Some(folder) = take() {
                    // By the handle of its folder, as cheap as it gets.
                    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
                    seen += entries.filter(|entry| entry.metadata().is_ok()).count();
                }
                if let Ok(mut count) = count.lock() {
                    *count += seen;
                }
            });
        }
    });
    count.into_inner().map_err(|_| "a walk failed".into())
}

/// The reference of the facts: the walk of ripgrep's crate, two threads, and a look at each name by its path.
fn known_walk(root: &Path) {
    ignore::WalkBuilder::new(root).threads(2).hidden(false).build_parallel().run(|| {
        Box::new(|entry| {
            if let Ok(entry) = entry {
                std::hint::black_box(fs::symlink_metadata(entry.path()).is_ok());
            }
            ignore::WalkState::Continue
        })
    });
}

fn timed<T>(act: impl FnOnce() -> Fallible<T>) -> Fallible<f64> {
    let begun = Instant::now();
    act()?;
    Ok(begun.elapsed().as_secs_f64() * 1000.0)
}

/// A line of figures: all rounds of each.
fn say(name: &str, rounds: &[f64]) {
    let rounds: Vec<String> = rounds.iter().map(|round| format!("{round:.4}")).collect();
    // Nobody reads on: then there is nothing to measure for.
    writeln!(std::io::stdout(), "{{\"name\":\"{name}\",\"rounds\":[{}]}}", rounds.join(",")).ok();
}

fn change(root: &Path, dice: &mut Dice, files: u32) -> Fallible<Vec<Vec<u8>>> {
    let mut paths = Vec::new();
    for _ in 0..CHANGED {
        let path = path_of(root, u32::try_from(dice.next() % u64::from(files))?);
        fs::write(&path, dice.text(2000))?;
        paths.push(path.strip_prefix(root)?.to_string_lossy().into_owned().into_bytes());
    }
    Ok(paths)
}

fn make(root: &Path, files: u32, dice: &mut Dice) -> Fallible<()> {
    for file in 0..files {
        let path = path_of(root, file);
        if file.is_multiple_of(IN_FOLDER) {
            fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        }
        let count = 500 + usize::try_from(dice.next() % 7000)?;
        fs::write(path, dice.text(count))?;
    }
    Ok(())
}

/// The first checkpoint against git's way to the same tree, each into an empty store.
fn first(scratch: &Path, root: &Path, rounds: u32) -> Fallible<()> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let store = scratch.join(format!("first{round}"));
        let mut fresh = Ours::new(root, &store)?;
        ours.push(timed(|| fresh.save("run/1", ScanHint::Everything))?);
        let at = scratch.join(format!("git{round}")).to_string_lossy().into_owned();
        git(root, &["init", "--quiet", "--bare", &at])?;
        let there = format!("--git-dir={at}");
        theirs.push(timed(|| {
            git(root, &[&there, "--work-tree=.", "add", "-A"])?;
            git(root, &[&there, "write-tree"])
        })?);
        fs::remove_dir_all(store)?;
        fs::remove_dir_all(at)?;
    }
    say("first", &ours);
    say("git-add", &theirs);
    Ok(())
}

/// Everything with ten files changed, in turns.
fn changed(ours: &mut Ours, files: u32, rounds: u32) -> Fallible<()> {
    let root = ours.root.clone();
    let mut dice = Dice(7);
    let names = ["checkpoint", "hinted", "stash", "bare-walk", "known-walk", "rollback", "before"];
    let mut all: Vec<Vec<f64>> = names.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        change(&root, &mut dice, files)?;
        std::thread::sleep(std::time::Duration::from_millis(60));
        let target = ours.last.ok_or("no checkpoint yet")?;
        let figures = [
            timed(|| git(&root, &["stash", "create"]))?,
            timed(|| bare_walk(&root))?,
            timed(|| {
                known_walk(&root);
                Ok(())
            })?,
            timed(|| ours.save(&format!("run/{round}"), ScanHint::Everything))?,
        ];
        let before = ours.last.ok_or("no checkpoint yet")?;
        // The ten that were changed are brought back, by what a rollback does beside its own checkpoint.
        let workspace = open_folder(&root)?;
        let back = timed(|| {
            let way = RestorePlan { target, before, cancel: &NEVER };
            Ok(restore(&ours.store, &ours.store, &workspace, &mut ours.picture, &way)?)
        })?;
        ours.save("run/back", ScanHint::Paths(&[]))?;
        let paths = change(&root, &mut dice, files)?;
        std::thread::sleep(std::time::Duration::from_millis(60));
        let hinted = timed(|| ours.save("run/hinted", ScanHint::Paths(&paths)))?;
        let [stash, bare, known, checkpoint] = figures;
        let row = [checkpoint, hinted, stash, bare, known, back, checkpoint + back];
        all.iter_mut().zip(row).for_each(|(list, figure)| list.push(figure));
    }
    names.iter().zip(&all).for_each(|(name, list)| say(name, list));
    Ok(())
}

/// What a store takes on disk for many checkpoints, against the bytes that were ever there.
fn churn(scratch: &Path, rounds: u32) -> Fallible<()> {
    let (root, store) = (scratch.join("churn"), scratch.join("churn-store"));
    let files = 5_000;
    let mut dice = Dice(3);
    let mut unique = 0_u64;
    let mut write = |file: u32, dice: &mut Dice| -> Fallible<()> {
        // Between 0 and 16 KB: 8 KB on the average, as in a source tree; no two alike, none compressible.
        let count = 8 + usize::try_from(dice.next() % 16_384)?;
        unique += u64::try_from(count)?;
        Ok(fs::write(path_of(&root, file), dice.bytes(count))?)
    };
    for file in 0..files {
        fs::create_dir_all(path_of(&root, file).parent().ok_or("no folder")?)?;
        write(file, &mut dice)?;
    }
    let mut ours = Ours::new(&root, &store)?;
    ours.save("run/0", ScanHint::Everything)?;
    for round in 1..rounds {
        for _ in 0..files / 100 {
            write(u32::try_from(dice.next() % u64::from(files))?, &mut dice)?;
        }
        ours.save(&format!("run/{round}"), ScanHint::Everything)?;
    }
    let mut blocks = 0_u64;
    let mut open = vec![store.clone()];
    while let Some(path) = open.pop() {
        let found = fs::symlink_metadata(&path)?;
        blocks += std::os::unix::fs::MetadataExt::blocks(&found) * 512;
        if found.is_dir() {
            open.extend(fs::read_dir(&path)?.flatten().map(|entry| entry.path()));
        }
    }
    say("unique-kb", &[f64::from(u32::try_from(unique / 1024)?)]);
    say("store-kb", &[f64::from(u32::try_from(blocks / 1024)?)]);
    fs::remove_dir_all(root)?;
    fs::remove_dir_all(store)?;
    Ok(())
}

fn peak_kb() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN)
}

fn main() -> Fallible<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [scratch, files, rounds, churns] = words.as_slice() else {
        return Err("checkpoint_figures <scratch> <files> <rounds> <churn rounds>".into());
    };
    let (scratch, files, rounds) = (Path::new(scratch), files.parse()?, rounds.parse()?);
    let root = scratch.join("tree");
    make(&root, files, &mut Dice(1))?;
    let mut ours = Ours::new(&root, &scratch.join("store"))?;
    ours.save("run/first", ScanHint::Everything)?;
    say("peak-first-kb", &[peak_kb()]);
    git(&root, &["init", "--quiet"])?;
    git(&root, &["add", "-A"])?;
    git(&root, &["commit", "--quiet", "-m", "x"])?;
    std::thread::sleep(std::time::Duration::from_millis(100));
    // What was written just now is read once more, and then believed.
    ours.save("run/warm", ScanHint::Everything)?;
    changed(&mut ours, files, rounds)?;
    say("peak-kb", &[peak_kb()]);
    first(scratch, &root, rounds.div_ceil(4))?;
    churn(scratch, churns.parse()?)
}
