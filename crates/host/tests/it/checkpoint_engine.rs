//! The engine of checkpoints: what is read and written when little has changed, and what is left after a death.
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime};

use loop_host::checkpoint::{
    Depth, FileContent, Id, RestorePlan, RuleTexts, Rules, ScanCache, Store, TakeOutcome, open_folder, restore,
};

use crate::checkpoint_trees::{Scene, ask, saved};

fn plain() -> Rules {
    Rules::new(true, &[], false)
}

fn files_in(folder: &Path, end: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    files.sort();
    files
}

/// Waits until what was written is old enough to be believed.
fn settle(scene: &mut Scene) {
    loop_testkit::wait_until("nothing is read any more", || scene.save("run/settled").1.read == 0);
}

#[test]
fn only_folders_that_changed_get_new_objects() {
    let mut scene = Scene::new(plain());
    for folder in 0..20 {
        for file in 0..20 {
            scene.write(&format!("d{folder}/f{file}"), &format!("{folder} {file}"));
        }
    }
    scene.save("run/1");
    settle(&mut scene);
    scene.write("d7/f3", "changed");
    scene.save("run/2");
    let packs = scene.scratch.path().join("store/objects/pack");
    let newest = files_in(&packs, ".pack").into_iter().max_by_key(|path| fs::metadata(path).unwrap().mtime_nsec());
    assert!(newest.is_some());
    let least = files_in(&packs, ".pack").iter().map(|path| fs::metadata(path).unwrap().len()).min().unwrap();
    assert!(least < 1000, "one file, two folders, a commit: {least} bytes");
}

#[test]
fn hints_are_looked_at_and_nothing_else() {
    let mut scene = Scene::new(plain());
    for name in ["a/b/one", "a/two", "three", "gone/x", "gone/y"] {
        scene.write(name, "old");
    }
    scene.save("run/1");
    settle(&mut scene);
    scene.write("a/b/one", "new");
    scene.write("a/two", "unseen");
    scene.write("fresh/deep/file", "new");
    fs::remove_dir_all(scene.path("gone")).unwrap();
    let (hinted, measured) = scene.hinted(&["a/b/one", "fresh/deep/file", "gone/x", "nowhere/at/all"]);
    assert_eq!(measured.read, 2);
    assert_eq!(
        scene.names(hinted),
        ["a", "a/b", "a/b/one", "a/two", "fresh", "fresh/deep", "fresh/deep/file", "three"]
    );
    let (whole, measured) = scene.save("run/2");
    assert!(measured.read <= 3, "what was hinted at may be too young to be believed: {}", measured.read);
    assert_eq!(scene.names(whole).len(), 8);
    // A folder as a hint is read anew, and what is in it is found to be gone.
    fs::remove_dir_all(scene.path("a/b")).unwrap();
    scene.write("a/four", "new");
    let (hinted, _) = scene.hinted(&["a"]);
    assert_eq!(scene.names(hinted), ["a", "a/four", "a/two", "fresh", "fresh/deep", "fresh/deep/file", "three"]);
    // Rules that change have a say in everything below.
    scene.write("a/.gitignore", "*.log\n");
    scene.write("a/sub/x.log", "ignored");
    scene.write("a/sub/x.txt", "not");
    let (hinted, _) = scene.hinted(&["a/.gitignore", "a/sub"]);
    assert!(scene.names(hinted).contains(&"a/sub/x.txt".to_owned()));
    assert!(!scene.names(hinted).contains(&"a/sub/x.log".to_owned()));
    fs::remove_file(scene.path("a/.gitignore")).unwrap();
    let (hinted, _) = scene.hinted(&["a/.gitignore"]);
    assert!(scene.names(hinted).contains(&"a/sub/x.log".to_owned()), "{:?}", scene.names(hinted));
}

#[test]
fn an_edit_that_hides_behind_its_old_length_and_time_is_found() {
    let mut scene = Scene::new(plain());
    for name in ["in place", "replaced", "linked"] {
        scene.write(name, "old");
    }
    symlink("old", scene.path("link")).unwrap();
    let old = SystemTime::now() - Duration::from_secs(3600);
    let set_back = |path: PathBuf| File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    ["in place", "replaced", "linked"].iter().for_each(|name| set_back(scene.path(name)));
    scene.save("run/1");
    settle(&mut scene);
    scene.write("in place", "new");
    scene.write("other", "new");
    set_back(scene.path("other"));
    fs::rename(scene.path("other"), scene.path("replaced")).unwrap();
    ["in place", "replaced"].iter().for_each(|name| set_back(scene.path(name)));
    fs::remove_file(scene.path("link")).unwrap();
    symlink("new", scene.path("link")).unwrap();
    let (id, measured) = scene.save("run/2");
    assert_eq!(measured.read, 3);
    let before = scene.store.named("run/1").unwrap();
    let names: Vec<Vec<u8>> = scene.store.between(&before, &id).unwrap().into_keys().collect();
    assert_eq!(names, [&b"in place"[..], b"link", b"replaced"]);
}

#[test]
fn the_next_process_reads_nothing_again_and_a_torn_picture_is_done_without() {
    let mut scene = Scene::new(plain());
    (0..40).for_each(|file| scene.write(&format!("d{}/f{file}", file % 4), "text"));
    let (first, _) = scene.save("run/1");
    settle(&mut scene);
    scene.store.write_cache(&mut scene.cache).unwrap();
    let cache = scene.scratch.path().join("store/pictures/run");
    let whole = fs::read(&cache).unwrap();
    let again = |scene: &mut Scene| {
        scene.store = Store::open(&scene.scratch.path().join("store")).unwrap();
        scene.cache = scene.store.cache("run").unwrap();
        let (id, measured) = scene.save("run/2");
        assert!(scene.store.between(&first, &id).unwrap().is_empty());
        measured.read
    };
    assert_eq!(again(&mut scene), 0);
    // What another run knows of the files is known to this one, but not what it held.
    scene.cache = scene.store.cache("other").unwrap();
    assert_eq!(scene.save("other/1").1.read, 0);
    fs::remove_file(scene.scratch.path().join("store/pictures/other")).ok();
    for bytes in [&whole[..0], &whole[..whole.len() - 1], &[&whole[..100], b"x", &whole[101..]].concat()] {
        fs::write(&cache, bytes).unwrap();
        assert_eq!(again(&mut scene), 40, "{} bytes", bytes.len());
    }
}

#[test]
fn a_path_that_was_deleted_in_between_is_still_held_by_the_run_and_by_no_other() {
    let mut scene = Scene::new(plain());
    scene.write("notes.log", "kept at first");
    scene.write("tracked.o", "by git");
    scene.write("rest", "x");
    scene.cache.hold([b"tracked.o".to_vec()]);
    scene.save("run/1");
    fs::remove_file(scene.path("notes.log")).unwrap();
    scene.write(".gitignore", "*.log\n*.o\n");
    scene.save("run/2");
    scene.write("notes.log", "made again");
    scene.write("new.log", "never kept");
    let names = |scene: &mut Scene, name: &str| {
        let (id, _) = scene.save(name);
        scene.names(id)
    };
    let held = [".gitignore", "notes.log", "rest", "tracked.o"];
    assert_eq!(names(&mut scene, "run/3"), held);
    scene.store = Store::open(&scene.scratch.path().join("store")).unwrap();
    scene.cache = scene.store.cache("run").unwrap();
    assert_eq!(names(&mut scene, "run/4"), held, "also for the next process");
    scene.store.write_cache(&mut scene.cache).unwrap();
    scene.cache = scene.store.cache("other").unwrap();
    assert_eq!(names(&mut scene, "other/1"), [".gitignore", "rest"]);
}

#[test]
fn what_was_kept_after_the_picture_was_written_down_is_held_too() {
    let mut scene = Scene::new(plain());
    scene.write("rest", "x");
    scene.save("run/1");
    scene.store.write_cache(&mut scene.cache).unwrap();
    scene.write("late.log", "kept once");
    scene.save("run/2");
    fs::remove_file(scene.path("late.log")).unwrap();
    scene.write(".gitignore", "*.log\n");
    scene.save("run/3");
    scene.store = Store::open(&scene.scratch.path().join("store")).unwrap();
    scene.cache = scene.store.cache("run").unwrap();
    scene.write("late.log", "made again");
    let (id, _) = scene.save("run/4");
    assert_eq!(scene.names(id), [".gitignore", "late.log", "rest"]);
}

#[test]
fn what_is_left_out_is_named_and_what_is_ours_is_not_even_that() {
    let rules = Rules::of(RuleTexts {
        skips: vec!["secret*".to_owned()],
        size_max: Some(10),
        outside: [".loopr/*", "!.loopr/config", ".harness/*"].map(str::to_owned).to_vec(),
        ..Rules::new(false, &[], false).texts().clone()
    });
    let mut scene = Scene::new(rules);
    for name in ["a", "secrets/key", ".loopr/status", ".loopr/config", ".harness/inbox/x", "node_modules/x"] {
        scene.write(name, "text");
    }
    scene.write("big", "more than ten bytes");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        scene.path("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let (id, measured) = scene.save("run/1");
    assert_eq!(scene.names(id), [".loopr", ".loopr/config", "a"]);
    let left_out: Vec<String> =
        measured.left_out.iter().map(|(path, why)| format!("{}: {why}", String::from_utf8_lossy(path))).collect();
    assert_eq!(
        left_out,
        ["big: 19 bytes, more than the limit of 10", "fifo: no file, folder or link", "secrets: skipped as asked"]
    );
    // The harness's own files are no difference, also where they are all of a folder.
    fs::remove_file(scene.path(".loopr/config")).unwrap();
    let (without, _) = scene.save("run/2");
    assert_eq!(scene.names(without), ["a"]);
    scene.write(".harness/more", "x");
    assert!(matches!(scene.take(|ask| ask.unless = Some(without)), TakeOutcome::NotWritten(_)));
    // What grew past the limit since is not lost by going back.
    scene.write("a", "so much that it is left out");
    let restored = scene.go_back(id);
    assert_eq!(scene.read("a"), "text");
    let [(_, aside)] = restored.moved_aside.as_slice() else { panic!("{restored:?}") };
    assert_eq!(scene.read(&String::from_utf8_lossy(aside)), "so much that it is left out");
}

#[test]
fn nothing_is_written_where_the_state_is_the_same_and_permissions_are_a_part_of_it() {
    let mut scene = Scene::new(plain());
    scene.write("file", "x");
    let (id, measured) = scene.save("run/1");
    let packs = scene.scratch.path().join("store/objects/pack");
    let count = || files_in(&packs, "").len();
    let before = count();
    let TakeOutcome::NotWritten(same) = scene.take(|ask| ask.unless = Some(id)) else { panic!() };
    assert_eq!(same.parts, measured.parts);
    let TakeOutcome::NotWritten(ids) = scene.take(|ask| ask.depth = Depth::Ids) else { panic!() };
    assert_eq!((ids.parts, count()), (measured.parts, before));
    fs::set_permissions(scene.path("file"), Permissions::from_mode(0o600)).unwrap();
    scene.write("new", "only measured at first");
    let TakeOutcome::NotWritten(ids) = scene.take(|ask| ask.depth = Depth::Ids) else { panic!() };
    let (second, measured) = saved(scene.take(|ask| ask.unless = Some(id)));
    assert_eq!(ids.parts, measured.parts);
    let mut bytes = Vec::new();
    let kept = scene.store.load(second).unwrap();
    let loop_host::checkpoint::StoredKind::File(file) = &kept.names[&b"new"[..]].what else { panic!() };
    scene.store.copy(file, &mut bytes).unwrap();
    assert_eq!(bytes, b"only measured at first", "what was only measured is written when it is kept");
    fs::remove_file(scene.path("new")).unwrap();
    fs::set_permissions(scene.path("file"), Permissions::from_mode(0o640)).unwrap();
    fs::remove_file(scene.path("file")).unwrap();
    scene.write("file", "x");
    fs::set_permissions(scene.path("file"), Permissions::from_mode(0o640)).unwrap();
    assert!(matches!(scene.take(|ask| ask.unless = Some(id)), TakeOutcome::Saved(..)), "other permissions");
}

#[test]
fn most_permissions_are_said_once_whatever_the_umask() {
    for (file, program, folder) in [(0o664, 0o775, 0o775), (0o600, 0o700, 0o700)] {
        let mut scene = Scene::new(plain());
        for number in 0..30 {
            scene.write(&format!("d{}/f{number}", number % 3), "x");
            let mode = if number % 5 == 0 { program } else { file };
            let path = scene.path(&format!("d{}/f{number}", number % 3));
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        }
        (0..3).for_each(|number| {
            fs::set_permissions(scene.path(&format!("d{number}")), Permissions::from_mode(folder)).unwrap();
        });
        fs::set_permissions(scene.path("d1/f1"), Permissions::from_mode(0o4755)).unwrap();
        let (id, _) = scene.save("run/1");
        let kept = scene.store.load(id).unwrap();
        assert_eq!(kept.manifest.files, [(b"d1/f1".to_vec(), 0o4755)]);
        assert!(kept.manifest.folders.is_empty());
        let walked =
            ["d0", "d0/f0", "d0/f3", "d1/f1"].map(|name| fs::metadata(scene.path(name)).unwrap().mode() & 0o7777);
        let held = [&b"d0"[..], b"d0/f0", b"d0/f3", b"d1/f1"].map(|name| kept.names[name].mode);
        assert_eq!(held, walked);
        // Another umask since: everything is brought back.
        for number in 0..30 {
            let path = scene.path(&format!("d{}/f{number}", number % 3));
            fs::set_permissions(path, Permissions::from_mode(0o666)).unwrap();
        }
        scene.go_back(id);
        let (again, measured) = scene.save("run/2");
        assert_eq!(measured.parts.manifest, scene.store.parts(&id).unwrap().manifest);
        assert!(scene.store.between(&id, &again).unwrap().is_empty());
    }
}

#[test]
fn a_cancelled_checkpoint_keeps_nothing_and_the_next_one_is_whole() {
    let mut scene = Scene::new(plain());
    (0..100).for_each(|file| scene.write(&format!("f{file}"), "text"));
    let cancelled = AtomicBool::new(true);
    let workspace = open_folder(&scene.path("")).unwrap();
    let ask = loop_host::checkpoint::TakeRequest {
        cancel: &cancelled,
        ..crate::checkpoint_trees::ask("run/1", &scene.rules)
    };
    assert_eq!(scene.store.save(&workspace, &mut scene.cache, &ask).unwrap(), TakeOutcome::Cancelled);
    assert!(scene.store.named("run/1").is_err());
    assert_eq!(files_in(&scene.scratch.path().join("store/objects/pack"), "").len(), 0);
    let (id, _) = scene.hinted(&[]);
    assert_eq!(scene.names(id).len(), 100, "hints are not believed after that");
}

#[test]
fn what_a_power_cut_takes_is_made_again_from_the_packs() {
    // req: D-14 partly: indexes and names after a power cut, as far as files tell
    let mut scene = Scene::new(plain());
    let folder = scene.scratch.path().join("store");
    let mut ids: Vec<(String, Id)> = Vec::new();
    for number in 1..=6 {
        scene.write("file", &format!("state {number}"));
        let name = format!("run/{number}");
        ids.push((name.clone(), scene.save(&name).0));
    }
    scene.write("file", "state 7");
    let undo = scene.save("run/1").0;
    ids[0].1 = undo;
    let refs = folder.join("refs/loop/run");
    let indexes = files_in(&folder.join("objects/pack"), ".idx");
    // Each in its own way: gone, empty, cut, of zeros.
    fs::remove_file(&indexes[0]).unwrap();
    fs::write(&indexes[1], "").unwrap();
    fs::write(&indexes[2], &fs::read(&indexes[2]).unwrap()[..500]).unwrap();
    fs::write(&indexes[3], vec![0; fs::read(&indexes[3]).unwrap().len()]).unwrap();
    fs::remove_file(refs.join("1")).unwrap();
    fs::write(refs.join("2"), "").unwrap();
    fs::write(refs.join("3"), "0123").unwrap();
    scene.store.remove("run/4").unwrap();
    fs::write(folder.join("objects/pack/tmp_left"), "half").unwrap();
    fs::write(folder.join("objects/pack/pack-torn.pack"), "PACK\0\0\0\x02\0\0\0\x01 torn").unwrap();
    fs::write(folder.join("boot"), "another\n").unwrap();
    let store = Store::open(&folder).unwrap();
    for (name, id) in ids.iter().filter(|(name, _)| name != "run/4") {
        assert_eq!(store.named(name).unwrap(), *id, "{name}");
        store.load(*id).unwrap();
    }
    assert!(store.named("run/4").is_err(), "what was removed on purpose stays removed");
    assert!(!folder.join("objects/pack/tmp_left").exists());
    // Killed between the pack and its index, within one start of the machine.
    fs::remove_file(&indexes[4]).unwrap();
    let store = Store::open(&folder).unwrap();
    ids.iter().for_each(|(_, id)| drop(store.load(*id).unwrap()));
    fs::remove_file(folder.join("objects/pack/pack-torn.pack")).unwrap();
    let ran =
        std::process::Command::new("git").arg("--git-dir").arg(&folder).args(["fsck", "--full"]).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn two_processes_save_into_one_store_and_what_one_removes_the_other_writes_again() {
    let mut scene = Scene::new(plain());
    let folder = scene.scratch.path().join("store");
    scene.write("file", "one");
    scene.save("run/1");
    let mut other = Store::open(&folder).unwrap();
    scene.write("file", "two");
    scene.save("run/2");
    let workspace = open_folder(&scene.path("")).unwrap();
    let rules = plain();
    let mut cache = other.cache("other").unwrap();
    saved(other.save(&workspace, &mut cache, &crate::checkpoint_trees::ask("other/1", &rules)).unwrap());
    assert_eq!(files_in(&folder.join("objects/pack"), ".pack").len(), 3);
    // Somebody cleans up everything behind our back.
    for path in files_in(&folder.join("objects/pack"), "") {
        fs::remove_file(path).unwrap();
    }
    let (id, _) = scene.save("run/3");
    let kept = scene.store.load(id).unwrap();
    let loop_host::checkpoint::StoredKind::File(file) = &kept.names[&b"file"[..]].what else { panic!() };
    assert!(scene.store.has(file), "what is believed to be there is asked for again");
}

#[test]
fn trees_without_contents_are_completed_when_contents_are_wanted() {
    let mut scene = Scene::new(plain());
    scene.write("a/file", "content");
    symlink("file", scene.path("a/link")).unwrap();
    let (id, _) = saved(scene.take(|ask| ask.depth = Depth::Trees));
    let kept = scene.store.load(id).unwrap();
    let loop_host::checkpoint::StoredKind::File(file) = kept.names[&b"a/file"[..]].what else { panic!() };
    assert!(!scene.store.has(&file));
    // Somebody else has the contents.
    struct Elsewhere;
    impl FileContent for Elsewhere {
        fn write(&self, path: &[u8], _: &Id, to: &mut File) -> std::io::Result<()> {
            assert_eq!(path, b"a/file");
            std::io::Write::write_all(to, b"content")
        }
    }
    scene.write("a/file", "changed");
    let (before, _) = saved(scene.take(|ask| ask.depth = Depth::Trees));
    let never = AtomicBool::new(false);
    let way = RestorePlan { target: id, before, cancel: &never };
    let workspace = open_folder(&scene.path("")).unwrap();
    restore(&scene.store, &Elsewhere, &workspace, &mut scene.cache, &way).unwrap();
    assert_eq!(scene.read("a/file"), "content");
    let (whole, _) = scene.save("run/2");
    assert!(scene.store.has(&file));
    assert_eq!(scene.store.parts(&whole).unwrap().files, scene.store.parts(&id).unwrap().files);
}

#[test]
fn a_cache_of_one_folder_is_not_used_for_another() {
    let mut scene = Scene::new(plain());
    scene.write("file", "one");
    scene.save("run/1");
    fs::rename(scene.path(""), scene.scratch.path().join("old")).unwrap();
    fs::create_dir(scene.path("")).unwrap();
    scene.write("other", "two");
    let (id, _) = scene.hinted(&[]);
    assert_eq!(scene.names(id), ["other"]);
}

#[test]
fn what_a_killed_process_left_half_written_goes_when_the_store_is_opened_next() {
    let mut scene = Scene::new(plain());
    scene.write("file", "text");
    scene.save("run/1");
    scene.store.write_cache(&mut scene.cache).unwrap();
    let store = scene.scratch.path().join("store");
    let left = ["pictures/tmp_abc.lock", "objects/pack/tmp_abc"].map(|name| store.join(name));
    left.iter().for_each(|path| fs::write(path, "half").unwrap());
    let opened = Store::open(&store).unwrap();
    assert!(left.iter().all(|path| !path.exists()));
    assert!(store.join("pictures/run").exists() && opened.named("run/1").is_ok());
}

#[test]
fn a_checkpoint_is_whole_whatever_was_removed_since_the_one_before_it() {
    type Meanwhile = fn(&mut Scene);
    let meanwhile: [(&str, Meanwhile); 5] = [
        ("nothing", |_| {}),
        ("the packs are listed", |scene| scene.store.refresh().unwrap()),
        ("what can be removed is counted", |scene| drop(scene.store.collect(&[], true).unwrap())),
        ("packs are joined", |scene| {
            let mut other = Store::open(&scene.scratch.path().join("store")).unwrap();
            let mut cache = ScanCache::empty("other");
            let workspace = open_folder(&scene.path("src")).unwrap();
            for number in 0..140 {
                scene.write("src/other", &number.to_string());
                let name = format!("other/{number}");
                saved(other.save(&workspace, &mut cache, &ask(&name, &scene.rules)).unwrap());
                scene.store.refresh().unwrap();
            }
            fs::remove_file(scene.path("src/other")).unwrap();
            scene.store.join_small().unwrap();
        }),
        ("the store is opened again", |scene| {
            scene.store = Store::open(&scene.scratch.path().join("store")).unwrap();
        }),
    ];
    for (what, meanwhile) in meanwhile {
        let mut scene = Scene::new(plain());
        scene.write("a", "a");
        scene.write("src/deep/b", "b");
        let (first, _) = scene.save("run/1");
        // Another process removes it: it is old, or nobody needs it any more.
        let mut other = Store::open(&scene.scratch.path().join("store")).unwrap();
        other.collect(&["run/1".to_owned()], false).unwrap();
        meanwhile(&mut scene);
        let (second, _) = scene.save("run/2");
        let whole = Store::open(&scene.scratch.path().join("store")).unwrap();
        assert_eq!(whole.load(second).unwrap().names.len(), 4, "{what}");
        assert!(whole.load(first).is_err(), "{what}: it was removed");
        scene.write("a", "changed");
        scene.go_back(second);
        assert_eq!((scene.read("a"), scene.read("src/deep/b")), ("a".to_owned(), "b".to_owned()), "{what}");
    }
}
