//! Random trees: kept, changed at random, gone back to, and judged by a walker and rules of the tests' own.
//!
//! `TREES=10000` takes more of them, `TREE_SEED=7` one again. Some of what is in them only root can read.
use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use loop_host::checkpoint::{
    Checkpoint, Depth, RestorePlan, RestoreResult, Rules, ScanHint, Store, StoredKind, TakeOutcome, TakeRequest,
    open_folder, restore,
};

use super::checkpoint_trees::{NEVER, ask, saved};
use super::random_tree::{Dice, RandomTree, Sight, features, ignored, walk};

const FOLDER: u32 = 0o040_000;

/// In how many trees each feature was there.
type Features = BTreeMap<&'static str, u32>;

/// One tree at three moments, and what going back said.
struct Story {
    before: Sight,
    changed: Sight,
    after: Sight,
    target: Checkpoint,
    now: Checkpoint,
    done: RestoreResult,
}

/// One tree; says what is wrong, and what was in it.
fn one(seed: u64) -> (Vec<String>, Vec<&'static str>) {
    // In memory: what is synced is another test's matter.
    let scratch = loop_testkit::folder_in_memory();
    let root = scratch.path().join("work");
    let mut random_tree = RandomTree { root: &root, dice: Dice::new(seed) };
    random_tree.plant();
    let workspace = open_folder(&root).unwrap();
    let rules = Rules::new(true, &[], false);
    let mut store = Store::open(&scratch.path().join("store")).unwrap();
    let mut cache = store.cache("run").unwrap();
    let before = walk(&root);
    let mut there = features(&root, &before);
    let (first, measured) = saved(store.save(&workspace, &mut cache, &ask("run/initial", &rules)).unwrap());
    for _ in 0..random_tree.dice.roll(10) + 1 {
        random_tree.change();
    }
    let changed = walk(&root);
    let is_edited = |path: &Vec<u8>| path.ends_with(b".gitignore") && before.get(path) != changed.get(path);
    there.extend(before.keys().chain(changed.keys()).any(is_edited).then_some("an agent that edits ignore files"));
    // Every second one as another process would.
    if seed.is_multiple_of(2) {
        store.write_cache(&mut cache).unwrap();
        store = Store::open(&scratch.path().join("store")).unwrap();
        cache = store.cache("run").unwrap();
    }
    let undo = TakeRequest { parent: Some(first), ..ask("run/undo", &rules) };
    let (now, _) = saved(store.save(&workspace, &mut cache, &undo).unwrap());
    let way = RestorePlan { target: first, before: now, cancel: &NEVER };
    let done = restore(&store, &store, &workspace, &mut cache, &way).unwrap();
    let (target, now) = (store.load(first).unwrap(), store.load(now).unwrap());
    let story = Story { before, changed, after: walk(&root), target, now, done };
    let mut wrong = story.judge();
    // A look at what we touched ourselves finds the same as one at everything.
    let hinted = TakeRequest { hint: ScanHint::Paths(&[]), ..ask("run/again", &rules) };
    let (id, again) = saved(store.save(&workspace, &mut cache, &hinted).unwrap());
    let is_all_back = story.done.moved_aside.is_empty() && story.done.left.is_empty() && wrong.is_empty();
    let as_it_was = (again.parts.files, again.parts.manifest) == (measured.parts.files, measured.parts.manifest);
    // What was ignored since and stays may be in scope again.
    if is_all_back && story.is_same_scope() && !as_it_was {
        wrong.push(format!("the tree has another id: {:?}", store.between(&first, &id).unwrap()));
    }
    let measure = TakeRequest { depth: Depth::Ids, ..ask("run/none", &rules) };
    let mut other = store.cache("run").unwrap();
    match store.save(&workspace, &mut other, &measure).unwrap() {
        TakeOutcome::NotWritten(whole) if whole.parts == again.parts => {}
        other @ (TakeOutcome::Saved(..)
        | TakeOutcome::NotWritten(_)
        | TakeOutcome::Unreadable(_)
        | TakeOutcome::Cancelled) => {
            wrong.push(format!("a whole look sees something else: {other:?}"));
        }
    }
    (wrong, there)
}

fn is_top_git(path: &[u8]) -> bool {
    path == b".git" || path.starts_with(b".git/")
}

fn is_folder(sight: &Sight, path: &[u8]) -> bool {
    sight.get(path).is_some_and(|(mode, _)| mode & 0o170_000 == FOLDER)
}

fn brief(sight: &Sight, path: &[u8]) -> String {
    let seen = sight.get(path).map(|(mode, bytes)| format!("{mode:o}, {} bytes", bytes.len()));
    seen.unwrap_or_else(|| "not there".to_owned())
}

impl Story {
    fn judge(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        self.scope(&mut wrong);
        let (before, changed, after) = (&self.before, &self.changed, &self.after);
        let differs = |path: &[u8], one: &Sight, other: &Sight, at: &[u8]| {
            let what = [brief(one, path), brief(other, at)];
            (one.get(path) != other.get(at)).then(|| format!("{}: {what:?}", String::from_utf8_lossy(path)))
        };
        // What was kept is what it was.
        wrong.extend(self.target.names.keys().filter_map(|path| differs(path, before, after, path)));
        for path in changed.keys().filter(|path| !self.target.names.contains_key(*path)) {
            if is_folder(changed, path) {
                let is_full = after.keys().any(|other| other.starts_with(&[path, &b"/"[..]].concat()));
                let may_stay = is_full || ignored(before, path, true) || !self.now.names.contains_key(path);
                let stays = is_folder(after, path) && !may_stay;
                wrong.extend(stays.then(|| format!("{}/ was not removed", String::from_utf8_lossy(path))));
            } else if !is_top_git(path) && !ignored(before, path, false) && !ignored(changed, path, false) {
                let stays = after.contains_key(path) || after.contains_key(&self.place(path));
                wrong.extend(stays.then(|| format!("{} was not removed", String::from_utf8_lossy(path))));
            } else {
                // What is out of scope under the rules of then or of now is untouched, wherever it had to go.
                let odd = differs(path, changed, after, &self.place(path));
                wrong.extend(odd.map(|what| format!("out of scope: {what}")));
            }
        }
        let aside: Vec<&[u8]> = self.done.moved_aside.iter().map(|(_, to)| to.as_slice()).collect();
        for path in after.keys().filter(|path| !before.contains_key(*path) && !changed.contains_key(*path)) {
            let is_aside = aside.iter().any(|to| path == to || path.starts_with(&[to, &b"/"[..]].concat()));
            wrong.extend((!is_aside).then(|| format!("{} came from nowhere", String::from_utf8_lossy(path))));
        }
        if !self.done.changed_since.is_empty() {
            wrong.push(format!("nobody else was there: {:?}", self.done.changed_since));
        }
        wrong
    }

    /// The checkpoint holds every file that the rules do not leave out, and no other.
    fn scope(&self, wrong: &mut Vec<String>) {
        for path in self.before.keys().filter(|path| !is_folder(&self.before, path)) {
            let is_in = !is_top_git(path) && !ignored(&self.before, path, false);
            if is_in != self.target.names.contains_key(path) {
                wrong.push(format!("{}: in scope is {is_in}", String::from_utf8_lossy(path)));
            }
        }
        let made_up = |path: &&Vec<u8>| !self.before.contains_key(*path);
        wrong.extend(self.target.names.keys().find(made_up).map(|path| format!("{path:?} was never there")));
        let files = self.target.names.iter().filter(|(_, kept)| kept.what == StoredKind::Folder);
        let odd = files.filter(|(path, _)| !is_folder(&self.before, path));
        wrong.extend(odd.map(|(path, _)| format!("{path:?} is no folder")));
    }

    /// Where something is that stood in the way.
    fn place(&self, path: &[u8]) -> Vec<u8> {
        let moved = self.done.moved_aside.iter().find_map(|(from, to)| {
            let rest = path.strip_prefix(from.as_slice())?;
            (rest.is_empty() || rest.starts_with(b"/")).then(|| [to, rest].concat())
        });
        moved.unwrap_or_else(|| path.to_vec())
    }

    /// Whether nothing is there beyond what was there, so that the same state is the same id.
    fn is_same_scope(&self) -> bool {
        let own = |sight: &Sight| sight.keys().filter(|path| !is_top_git(path)).cloned().collect::<Vec<_>>();
        own(&self.before) == own(&self.after)
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "how often each feature was there is part of the result")]
fn whatever_becomes_of_a_tree_it_can_be_gone_back_to_byte_for_byte() {
    // req: D-08, D-14 partly: without btrfs
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number("TREE_SEED") {
        assert_eq!(one(seed).0, Vec::<String>::new());
        return;
    }
    let trees = number("TREES").unwrap_or(2000);
    let (next, counts) = (AtomicU64::new(1), Mutex::new(Features::new()));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from).min(8) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > trees || wrong.lock().unwrap().len() > 5 {
                        return;
                    }
                    let (differences, there) = one(seed);
                    let mut counts = counts.lock().unwrap();
                    there.into_iter().for_each(|what| *counts.entry(what).or_default() += 1);
                    if !differences.is_empty() {
                        wrong.lock().unwrap().push(format!("TREE_SEED={seed}: {differences:#?}"));
                    }
                }
            });
        }
    });
    let (wrong, counts) = (wrong.into_inner().unwrap(), counts.into_inner().unwrap());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{trees} trees, 0 differences; trees with");
    counts.iter().for_each(|(what, count)| println!("  {count:5} {what}"));
    let rare: Vec<_> = FEATURES.iter().filter(|what| counts.get(**what).is_none_or(|count| *count < 50)).collect();
    assert!(rare.is_empty() || trees < 2000, "in fewer than 50 trees: {rare:?}");
}

/// What has to be in at least 50 of them.
const FEATURES: &[&str] = &[
    "NFC and NFD beside each other",
    "an agent that edits ignore files",
    "attributes: encoding",
    "attributes: eol",
    "attributes: filter",
    "attributes: ident",
    "cyclic links",
    "dangling links",
    "empty folders",
    "folders without permissions",
    "hard links",
    "ignore files",
    "ignored files",
    "links that lead out",
    "names of 255 bytes",
    "names that are not UTF-8",
    "nested repositories with commits",
    "nested repositories without commits",
    "programs",
    "repositories",
    "set-id bits",
    "sparse files",
    "submodules",
    "worktrees",
];

#[test]
fn a_tree_that_came_back_otherwise_would_be_found_out() {
    let scratch = tempfile::tempdir().unwrap();
    let root = scratch.path().join("work");
    let mut random_tree = RandomTree { root: &root, dice: Dice::new(7) };
    random_tree.plant();
    fs::write(root.join("file"), "as it was").unwrap();
    fs::write(root.join(".gitignore"), "x.log\n").unwrap();
    fs::write(root.join("x.log"), "ignored").unwrap();
    let rules = Rules::new(true, &[], false);
    let mut store = Store::open(&scratch.path().join("store")).unwrap();
    let mut cache = store.cache("run").unwrap();
    let workspace = open_folder(&root).unwrap();
    let (id, _) = saved(store.save(&workspace, &mut cache, &ask("run/initial", &rules)).unwrap());
    let story = |spoil: &dyn Fn(&mut Story)| {
        let sight = walk(&root);
        let [target, now] = [(); 2].map(|()| store.load(id).unwrap());
        let (before, changed, after) = (sight.clone(), sight.clone(), sight);
        let mut story = Story { before, changed, after, target, now, done: RestoreResult::default() };
        spoil(&mut story);
        story.judge().len()
    };
    assert_eq!(story(&|_| {}), 0);
    let file = || b"file".to_vec();
    assert!(story(&|story| drop(story.after.remove(&file()))) > 0, "a file is missing");
    assert!(story(&|story| story.after.get_mut(&file()).unwrap().1.push(b'x')) > 0, "other bytes");
    assert!(story(&|story| story.after.get_mut(&file()).unwrap().0 ^= 0o4000) > 0, "other permissions");
    assert!(story(&|story| drop(story.after.insert(b"more".to_vec(), (0o100_644, vec![])))) > 0, "something new");
    assert!(story(&|story| drop(story.after.remove(b"x.log".as_slice()))) > 0, "what is ignored is gone");
    assert!(story(&|story| drop(story.target.names.remove(&file()))) > 0, "the checkpoint lacks a file");
    assert!(
        story(&|story| {
            for sight in [&mut story.changed, &mut story.after] {
                sight.insert(b"made-by-agent".to_vec(), (0o100_644, vec![]));
            }
        }) > 0,
        "what the agent made is still there"
    );
}
