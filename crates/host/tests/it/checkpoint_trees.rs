//! Random trees: kept, changed at random, gone back to, and compared by a walker of the tests' own.
//!
//! `TREES=10000` takes more of them, `TREE_SEED=7` one again.
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::{
    Ask, Checkpoint, Depth, Hint, Id, Measured, Picture, Restored, Rules, Store, Taken, Way, open_folder, restore,
};

/// Nobody cancels.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Keeps all that is there; every path of it.
pub(crate) fn ask<'a>(name: &'a str, rules: &'a Rules) -> Ask<'a> {
    Ask { name, parent: None, rules, hint: Hint::Everything, depth: Depth::Whole, unless: None, cancel: &NEVER }
}

/// A checkpoint that must come about.
pub(crate) fn saved(taken: Taken) -> (Id, Measured) {
    match taken {
        Taken::Saved(id, measured) => (id, measured),
        Taken::Measured(_) | Taken::Unreadable(_) | Taken::Cancelled => panic!("nothing was kept: {taken:?}"),
    }
}

/// A small generator: the same seed is the same tree.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
    }
}

/// What a walker of the tests' own sees: kind and permissions, and the bytes.
type Sight = BTreeMap<Vec<u8>, (u32, Vec<u8>)>;

fn walk(root: &Path) -> Sight {
    let mut sight = Sight::new();
    let mut open = vec![PathBuf::new()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(root.join(&folder)).unwrap().flatten() {
            let path = folder.join(entry.file_name());
            let found = fs::symlink_metadata(root.join(&path)).unwrap();
            let bytes = if found.is_symlink() {
                fs::read_link(root.join(&path)).unwrap().into_os_string().into_vec()
            } else if found.is_file() {
                fs::read(root.join(&path)).unwrap()
            } else {
                Vec::new()
            };
            // The permissions of a link mean nothing.
            let mode = if found.is_symlink() { 0o120_000 } else { found.mode() };
            sight.insert(path.as_os_str().as_bytes().to_vec(), (mode, bytes));
            if found.is_dir() {
                open.push(path);
            }
        }
    }
    sight
}

/// How often each feature was there.
type Features = BTreeMap<&'static str, u32>;

struct Garden<'a> {
    root: &'a Path,
    dice: Dice,
    features: &'a mut Features,
}

impl Garden<'_> {
    fn name(&mut self) -> Vec<u8> {
        let had = |features: &mut Features, what| *features.entry(what).or_default() += 1;
        match self.dice.roll(14) {
            0 => {
                had(self.features, "names that are not UTF-8");
                vec![b'b', 0xff, u8::try_from(self.dice.roll(200)).unwrap_or(1) | 0x80]
            }
            1 => {
                had(self.features, "names of 255 bytes");
                vec![b'a' + u8::try_from(self.dice.roll(20)).unwrap_or(0); 255]
            }
            2 => {
                had(self.features, "NFC and NFD");
                if self.dice.roll(2) == 0 { "é".as_bytes().to_vec() } else { "e\u{301}".as_bytes().to_vec() }
            }
            3 => {
                had(self.features, "odd letters in names");
                b"a b\n\"\\'$".to_vec()
            }
            _ => format!("n{}", self.dice.roll(40)).into_bytes(),
        }
    }

    /// Grows something new somewhere.
    fn grow(&mut self, folder: &Path, depth: u32) {
        let path = folder.join(std::ffi::OsString::from_vec(self.name()));
        if fs::symlink_metadata(&path).is_ok() {
            return;
        }
        let kind = self.dice.roll(16);
        let feature = match kind {
            0 => {
                symlink("nowhere", &path).unwrap();
                "dangling links"
            }
            1 => {
                symlink(path.file_name().unwrap(), &path).unwrap();
                "cyclic links"
            }
            2 => {
                symlink("/etc/passwd", &path).unwrap();
                "links that lead out"
            }
            3..=5 => {
                let (mode, feature) = [(0o4755, "set-id bits"), (0o755, "programs"), (0o600, "files of one's own")]
                    [usize::try_from(kind - 3).unwrap()];
                self.file(&path, mode);
                feature
            }
            6 => {
                fs::create_dir(&path).unwrap();
                "empty folders"
            }
            7 if depth < 4 => {
                fs::create_dir(&path).unwrap();
                (0..self.dice.roll(3)).for_each(|_| self.grow(&path, depth + 1));
                fs::set_permissions(&path, Permissions::from_mode(0o0)).unwrap();
                "folders without permissions"
            }
            8 if depth < 4 => {
                fs::create_dir_all(path.join(".git/refs")).unwrap();
                fs::write(path.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
                self.file(&path.join("inner"), 0o644);
                "nested repositories"
            }
            9 | 10 => self.trap(folder, kind),
            11 => {
                let file = fs::File::create(&path).unwrap();
                file.set_len(1 << 20).unwrap();
                "sparse files"
            }
            12 => {
                self.file(&path, 0o644);
                fs::hard_link(&path, folder.join(format!("hard{}", self.dice.roll(1000)))).ok();
                "hard links"
            }
            _ if depth < 4 && kind == 13 => {
                fs::create_dir(&path).unwrap();
                (0..=self.dice.roll(4)).for_each(|_| self.grow(&path, depth + 1));
                "folders"
            }
            _ => {
                self.file(&path, 0o644);
                "files"
            }
        };
        *self.features.entry(feature).or_default() += 1;
    }

    /// Files that mean something to git.
    fn trap(&mut self, folder: &Path, kind: u64) -> &'static str {
        if kind == 9 {
            fs::write(folder.join(".gitignore"), format!("n{}\n*.log\n", self.dice.roll(40))).ok();
            return "ignore files";
        }
        let attributes = "* text eol=crlf ident filter=evil working-tree-encoding=UTF-16\n";
        fs::write(folder.join(".gitattributes"), attributes).ok();
        "attribute traps"
    }

    fn file(&mut self, path: &Path, mode: u32) {
        let length = [0, 1, 100, 5000][usize::try_from(self.dice.roll(4)).unwrap()];
        let bytes: Vec<u8> = (0..length).map(|_| u8::try_from(self.dice.roll(256)).unwrap()).collect();
        fs::write(path, bytes).unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    /// Changes something that is there.
    fn change(&mut self) {
        let paths: Vec<Vec<u8>> = walk(self.root).into_keys().collect();
        if paths.is_empty() {
            return;
        }
        let chosen = &paths[usize::try_from(self.dice.roll(u64::try_from(paths.len()).unwrap())).unwrap()];
        let path = self.root.join(std::ffi::OsStr::from_bytes(chosen));
        let found = fs::symlink_metadata(&path).unwrap();
        match self.dice.roll(6) {
            0 | 1 if found.is_dir() => fs::remove_dir_all(&path).unwrap(),
            0 | 1 => fs::remove_file(&path).unwrap(),
            2 if found.is_file() => self.file(&path, 0o644),
            3 if !found.is_symlink() => {
                let mode = [0o700, 0o755, 0o644, 0][usize::try_from(self.dice.roll(4)).unwrap()];
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            4 if found.is_dir() => {
                fs::remove_dir_all(&path).unwrap();
                self.file(&path, 0o644);
            }
            4 => {
                fs::remove_file(&path).unwrap();
                fs::create_dir(&path).unwrap();
                self.grow(&path, 3);
            }
            _ if found.is_dir() => self.grow(&path, 2),
            _ => self.grow(self.root, 1),
        }
    }
}

/// One tree; says what differs.
fn one(seed: u64, features: &mut Features) -> Vec<String> {
    // In memory: what is synced is another test's matter.
    let scratch = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let root = scratch.path().join("work");
    fs::create_dir(&root).unwrap();
    let mut garden = Garden { root: &root, dice: Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1), features };
    for _ in 0..garden.dice.roll(12) + 2 {
        garden.grow(&root, 0);
    }
    let workspace = open_folder(&root).unwrap();
    let rules = Rules::new(true, &[], false);
    let mut store = Store::open(&scratch.path().join("store")).unwrap();
    let mut picture = store.picture("run").unwrap();
    let before = walk(&root);
    let (first, measured) = saved(store.save(&workspace, &mut picture, &ask("run/initial", &rules)).unwrap());
    for _ in 0..garden.dice.roll(10) + 1 {
        garden.change();
    }
    // Every second one as another process would.
    if seed.is_multiple_of(2) {
        store.write_picture(&mut picture).unwrap();
        store = Store::open(&scratch.path().join("store")).unwrap();
        picture = store.picture("run").unwrap();
    }
    let target = store.load(store.named("run/initial").unwrap()).unwrap();
    let undo = Ask { parent: Some(first), ..ask("run/undo", &rules) };
    let (now, _) = saved(store.save(&workspace, &mut picture, &undo).unwrap());
    let way = Way { target: first, before: now, cancel: &NEVER };
    let done = restore(&store, &store, &workspace, &mut picture, &way).unwrap();
    let now = store.load(now).unwrap();
    let mut differences = compare(&before, &walk(&root), (&target, &now), &done.left);
    if !done.kept.is_empty() {
        differences.push(format!("nobody else was there: {:?}", done.kept));
    }
    // A look at what we touched ourselves finds the same as one at everything.
    let hinted = Ask { hint: Hint::Paths(&[]), ..ask("run/again", &rules) };
    let (id, again) = saved(store.save(&workspace, &mut picture, &hinted).unwrap());
    let is_all_back = done.moved_aside.is_empty() && done.left.is_empty() && differences.is_empty();
    if is_all_back && (again.parts.files, again.parts.manifest) != (measured.parts.files, measured.parts.manifest) {
        differences.push(format!("the tree has another id: {:?}", store.between(&first, &id).unwrap()));
    }
    let measure = Ask { depth: Depth::Ids, ..ask("run/none", &rules) };
    let mut other = store.picture("run").unwrap();
    match store.save(&workspace, &mut other, &measure).unwrap() {
        Taken::Measured(whole) if whole.parts == again.parts => {}
        other @ (Taken::Saved(..) | Taken::Measured(_) | Taken::Unreadable(_) | Taken::Cancelled) => {
            differences.push(format!("a whole look sees something else: {other:?}"));
        }
    }
    differences
}

/// What was in scope is as it was; what is there beyond that was never ours.
fn compare(before: &Sight, after: &Sight, (target, now): (&Checkpoint, &Checkpoint), left: &[Vec<u8>]) -> Vec<String> {
    let mut differences = Vec::new();
    for path in target.names.keys() {
        if before.get(path) != after.get(path) {
            let brief = |sight: &Sight| sight.get(path).map(|(mode, bytes)| (format!("{mode:o}"), bytes.len()));
            differences.push(format!("{}: {:?} is {:?}", String::from_utf8_lossy(path), brief(before), brief(after)));
        }
    }
    for path in after.keys().filter(|path| !target.names.contains_key(*path)) {
        let aside = path.windows(6).any(|piece| piece == b".kept-");
        // What the checkpoint before holds and the target does not had to go, unless something ignored is in it.
        let full = after.keys().any(|other| other.starts_with(&[path.as_slice(), b"/"].concat()));
        let may_stay = left.contains(path) && was_ignored(before, path);
        if now.names.contains_key(path) && !aside && !full && !may_stay {
            differences.push(format!("{} was not removed", String::from_utf8_lossy(path)));
        }
    }
    differences
}

/// Whether an ignore file of then names a part of the path: what was ignored then was not seen then.
fn was_ignored(before: &Sight, path: &[u8]) -> bool {
    let parts: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    (0..parts.len()).any(|depth| {
        let file = [&parts[..depth], &[&b".gitignore"[..]]].concat().join(&b'/');
        let rules = before.get(&file).map(|(_, text)| text.clone()).unwrap_or_default();
        let named = rules.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        named.into_iter().any(|line| parts[depth..].contains(&line))
    })
}

#[test]
#[expect(clippy::print_stdout, reason = "how often each feature was there is part of the result")]
fn whatever_becomes_of_a_tree_it_can_be_gone_back_to_byte_for_byte() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let mut features = Features::new();
    if let Some(seed) = number("TREE_SEED") {
        assert_eq!(one(seed, &mut features), Vec::<String>::new());
        return;
    }
    let trees = number("TREES").unwrap_or(2000);
    for seed in 1..=trees {
        let differences = one(seed, &mut features);
        assert!(differences.is_empty(), "TREE_SEED={seed}: {differences:#?}");
    }
    println!("{trees} trees: {features:?}");
    let rare: Vec<_> = features.iter().filter(|(_, count)| trees >= 2000 && **count < 50).collect();
    assert!(rare.is_empty(), "too rare: {rare:?}");
}

/// A workspace with a store beside it.
pub(crate) struct Scene {
    pub(crate) scratch: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) picture: Picture,
    pub(crate) rules: Rules,
}

impl Scene {
    pub(crate) fn new(rules: Rules) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("work")).unwrap();
        let store = Store::open(&scratch.path().join("store")).unwrap();
        Self { scratch, store, picture: Picture::empty("run"), rules }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Asks for a checkpoint of what is there.
    pub(crate) fn take(&mut self, change: impl FnOnce(&mut Ask<'_>)) -> Taken {
        let workspace = open_folder(&self.path("")).unwrap();
        let mut ask = ask("run/1", &self.rules);
        change(&mut ask);
        self.store.save(&workspace, &mut self.picture, &ask).unwrap()
    }

    /// Keeps what is found at these paths.
    pub(crate) fn hinted(&mut self, paths: &[&str]) -> (Id, Measured) {
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        let workspace = open_folder(&self.path("")).unwrap();
        let ask = Ask { hint: Hint::Paths(&paths), ..ask("run/hinted", &self.rules) };
        saved(self.store.save(&workspace, &mut self.picture, &ask).unwrap())
    }

    /// Keeps what is there.
    pub(crate) fn save(&mut self, name: &str) -> (Id, Measured) {
        let workspace = open_folder(&self.path("")).unwrap();
        saved(self.store.save(&workspace, &mut self.picture, &ask(name, &self.rules)).unwrap())
    }

    /// Keeps what is there, and goes back.
    pub(crate) fn go_back(&mut self, target: Id) -> Restored {
        let (before, _) = self.save("run/undo");
        self.go(target, before)
    }

    pub(crate) fn go(&mut self, target: Id, before: Id) -> Restored {
        let way = Way { target, before, cancel: &NEVER };
        let workspace = open_folder(&self.path("")).unwrap();
        restore(&self.store, &self.store, &workspace, &mut self.picture, &way).unwrap()
    }

    pub(crate) fn names(&self, id: Id) -> Vec<String> {
        let names = self.store.load(id).unwrap().names;
        names.keys().map(|name| String::from_utf8_lossy(name).into_owned()).collect()
    }
}

#[test]
fn what_is_ignored_is_never_removed_and_goes_aside_when_it_stands_in_the_way() {
    let mut scene = Scene::new(Rules::new(true, &["*.log\n".to_owned()], false));
    scene.write("thing", "a file at first");
    let (target, _) = scene.save("run/initial");
    fs::remove_file(scene.path("thing")).unwrap();
    scene.write("thing/precious.log", "ignored, and nowhere else");
    scene.write("thing/made", "by the agent");
    let restored = scene.go_back(target);
    assert_eq!(fs::read_to_string(scene.path("thing")).unwrap(), "a file at first");
    let [(from, to)] = restored.moved_aside.as_slice() else { panic!("{restored:?}") };
    assert_eq!(from, b"thing");
    let aside = scene.path(&String::from_utf8_lossy(to));
    assert_eq!(fs::read_to_string(aside.join("precious.log")).unwrap(), "ignored, and nowhere else");
    assert!(!aside.join("made").exists());
}

#[test]
fn a_path_that_was_kept_stays_in_scope_whatever_the_agent_does_to_the_ignore_files() {
    let mut scene = Scene::new(Rules::new(true, &[], false));
    scene.write("deep/inside/source", "one");
    let (target, _) = scene.save("run/initial");
    scene.write(".gitignore", "*\n");
    scene.write("deep/inside/source", "two");
    scene.write("deep/inside/new", "ignored since it is there");
    let (now, _) = scene.save("run/1");
    let [now_kept, kept] = [now, target].map(|id| scene.store.load(id).unwrap().names);
    assert_ne!(now_kept[&b"deep/inside/source"[..]], kept[&b"deep/inside/source"[..]]);
    assert!(!now_kept.contains_key(&b"deep/inside/new"[..]));
    scene.go_back(target);
    assert_eq!(fs::read_to_string(scene.path("deep/inside/source")).unwrap(), "one");
    assert!(scene.path("deep/inside/new").exists(), "what no checkpoint holds is not removed");
}

#[test]
fn only_what_has_changed_is_read_again_and_an_edit_within_a_tick_is_not_missed() {
    let mut scene = Scene::new(Rules::new(true, &[], false));
    for number in 0..50 {
        scene.write(&format!("file{number}"), "old");
    }
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    for number in 0..50 {
        fs::File::options().write(true).open(scene.path(&format!("file{number}"))).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(scene.save("run/1").1.read, 50);
    // Both edits leave length and time of change alone as far as the clock's tick can tell.
    for text in ["one", "two", "six"] {
        scene.write("file7", text);
        let (kept, _) = scene.save("run/2");
        let kept = scene.store.load(kept).unwrap();
        let loop_host::checkpoint::KeptWhat::File(id) = &kept.names[&b"file7"[..]].what else { panic!() };
        let mut bytes = Vec::new();
        scene.store.copy(id, &mut bytes).unwrap();
        assert_eq!(bytes, text.as_bytes());
    }
    loop_testkit::wait_until("nothing is read any more", || scene.save("run/3").1.read == 0);
    scene.write("file9", "new");
    assert_eq!(scene.save("run/4").1.read, 1);
}

#[test]
fn the_same_tree_as_git_makes_of_it() {
    let mut scene = Scene::new(Rules::new(true, &[], false));
    for (name, text) in [
        (".gitignore", "*.o\nbuild/\n!keep.o\n"),
        ("a/b", "x"),
        ("a.b", "y"),
        ("x.o", "no"),
        ("keep.o", "yes"),
        ("build/z", "no"),
    ] {
        scene.write(name, text);
    }
    symlink("a/b", scene.path("link")).unwrap();
    let (_, saved) = scene.save("run/1");
    let git = |words: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .current_dir(scene.path(""))
            .args(words)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let ran = command.output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    git(&["init", "--quiet"]);
    git(&["add", "-A"]);
    assert_eq!(git(&["write-tree"]), saved.parts.files.to_string());
    let store = scene.scratch.path().join("store").display().to_string();
    let show = git(&["--git-dir", &store, "show", "refs/loop/run/1:files/a/b"]);
    assert_eq!(show, "x");
    git(&["--git-dir", &store, "fsck", "--full"]);
}
