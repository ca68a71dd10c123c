//! Trees of few files, each for one thing that can become of it.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use std::sync::atomic::AtomicBool;

use loop_host::checkpoint::{
    Depth, Id, RestorePlan, RestoreResult, Rules, ScanCache, ScanHint, Store, TakeOutcome, TakeRequest, TreeState,
    open_folder, restore,
};

/// Nobody cancels.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// Keeps all that is there; every path of it.
pub(crate) fn ask<'a>(name: &'a str, rules: &'a Rules) -> TakeRequest<'a> {
    TakeRequest {
        name,
        parent: None,
        rules,
        hint: ScanHint::Everything,
        depth: Depth::Whole,
        unless: None,
        cancel: &NEVER,
    }
}

/// A checkpoint that must come about.
pub(crate) fn saved(taken: TakeOutcome) -> (Id, TreeState) {
    match taken {
        TakeOutcome::Saved(id, measured) => (id, measured),
        TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled => {
            panic!("nothing was kept: {taken:?}")
        }
    }
}

/// A workspace with a store beside it.
pub(crate) struct Scene {
    pub(crate) scratch: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) cache: ScanCache,
    pub(crate) rules: Rules,
}

impl Scene {
    pub(crate) fn new(rules: Rules) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::create_dir(scratch.path().join("work")).unwrap();
        let store = Store::open(&scratch.path().join("store")).unwrap();
        Self { scratch, store, cache: ScanCache::empty("run"), rules }
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
    pub(crate) fn take(&mut self, change: impl FnOnce(&mut TakeRequest<'_>)) -> TakeOutcome {
        let workspace = open_folder(&self.path("")).unwrap();
        let mut ask = ask("run/1", &self.rules);
        change(&mut ask);
        self.store.save(&workspace, &mut self.cache, &ask).unwrap()
    }

    /// Keeps what is found at these paths.
    pub(crate) fn hinted(&mut self, paths: &[&str]) -> (Id, TreeState) {
        let paths: Vec<Vec<u8>> = paths.iter().map(|path| path.as_bytes().to_vec()).collect();
        let workspace = open_folder(&self.path("")).unwrap();
        let ask = TakeRequest { hint: ScanHint::Paths(&paths), ..ask("run/hinted", &self.rules) };
        saved(self.store.save(&workspace, &mut self.cache, &ask).unwrap())
    }

    /// Keeps what is there.
    pub(crate) fn save(&mut self, name: &str) -> (Id, TreeState) {
        let workspace = open_folder(&self.path("")).unwrap();
        saved(self.store.save(&workspace, &mut self.cache, &ask(name, &self.rules)).unwrap())
    }

    /// Keeps what is there, and goes back.
    pub(crate) fn go_back(&mut self, target: Id) -> RestoreResult {
        let (before, _) = self.save("run/undo");
        self.go(target, before)
    }

    pub(crate) fn go(&mut self, target: Id, before: Id) -> RestoreResult {
        let way = RestorePlan { target, before, cancel: &NEVER };
        let workspace = open_folder(&self.path("")).unwrap();
        restore(&self.store, &self.store, &workspace, &mut self.cache, &way).unwrap()
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
        let loop_host::checkpoint::StoredKind::File(id) = &kept.names[&b"file7"[..]].what else { panic!() };
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

#[test]
fn hints_below_a_folder_whose_rules_changed_are_judged_by_the_rules_that_hold_now() {
    let names: Vec<String> = (0..300).map(|number| format!("a/held-{number}")).collect();
    // Two threads have to meet, which they do not always.
    for _ in 0..10 {
        let mut scene = Scene::new(Rules::new(true, &[], false));
        names.iter().for_each(|name| scene.write(name, "one"));
        scene.write("a/b/held", "one");
        scene.save("run/initial");
        scene.write(".gitignore", "a\n");
        scene.write("a/b/new", "ignored as long as the rule is there");
        scene.save("run/1");
        fs::remove_file(scene.path(".gitignore")).unwrap();
        let hints: Vec<&str> = names.iter().map(String::as_str).chain([".gitignore"]).collect();
        let (hinted, _) = scene.hinted(&hints);
        assert!(scene.names(hinted).contains(&"a/b/new".to_owned()));
        scene.write("a/b/newer", "not ignored");
        let (hinted, _) = scene.hinted(&["a/b/newer"]);
        assert!(scene.names(hinted).contains(&"a/b/newer".to_owned()));
    }
}
