//! What the watcher says of single things, on the real kernel.
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_host::checkpoint::{Rules, open_folder};
use loop_host::workspace::watch::{NoListReason, Watch, WatchHint};

struct Scene {
    scratch: tempfile::TempDir,
    watch: Watch,
}

impl Scene {
    /// A workspace with these files, watched.
    fn new(files: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().join("work");
        fs::create_dir(&root).unwrap();
        for name in files {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), "as it was").unwrap();
        }
        let mut watch = watched(&root);
        assert_eq!(watch.take(), WatchHint::Everything(NoListReason::Start));
        assert_eq!(said(&mut watch), [""; 0]);
        Self { scratch, watch }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join("work").join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn write(&self, name: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), "something else").unwrap();
    }

    fn said(&mut self) -> Vec<String> {
        said(&mut self.watch)
    }
}

fn watched(root: &Path) -> Watch {
    Watch::new(&open_folder(root).unwrap(), &Rules::new(false, &[], false)).unwrap()
}

/// The list as text: folders that are meant whole end with a slash.
fn said(watch: &mut Watch) -> Vec<String> {
    match watch.take() {
        WatchHint::Everything(why) => vec![format!("everything: {why:?}")],
        WatchHint::Changes(changes) => {
            let text = |path: &Vec<u8>| String::from_utf8_lossy(path).into_owned();
            let folders = changes.folders.iter().map(|path| format!("{}/", text(path)));
            folders.chain(changes.names.iter().map(text)).collect()
        }
    }
}

#[test]
fn a_write_a_new_file_a_removed_one_and_new_permissions_are_named() {
    let mut scene = Scene::new(&["a/one", "a/two", "three", "four"]);
    scene.write("a/one");
    scene.write("a/new");
    fs::remove_file(scene.path("a/two")).unwrap();
    fs::rename(scene.path("three"), scene.path("3")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(scene.path("four"), mode).unwrap();
    assert_eq!(scene.said(), ["3", "a/new", "a/one", "a/two", "four", "three"]);
    assert_eq!(scene.said(), [""; 0], "each is said once");
}

#[test]
fn a_new_folder_is_named_whole_and_watched_from_then_on() {
    let mut scene = Scene::new(&["a/one"]);
    scene.write("a/b/c/d/e");
    assert_eq!(scene.said(), ["a/b/"]);
    scene.write("a/b/c/d/f");
    assert_eq!(scene.said(), ["a/b/c/d/f"]);
    fs::remove_dir_all(scene.path("a/b")).unwrap();
    scene.write("a/b/c");
    assert_eq!(scene.said(), ["a/b/"]);
    assert_eq!(scene.watch.folders(), 3, "what is gone is not kept");
}

#[test]
fn a_folder_made_while_the_one_above_is_being_looked_at_is_watched_too() {
    const EACH: usize = 400;
    let mut scene = Scene::new(&[]);
    let root = scene.path("");
    let makers = [0, 1];
    std::thread::scope(|scope| {
        let working: Vec<_> = makers
            .iter()
            .map(|maker| {
                let root = &root;
                scope.spawn(move || {
                    for number in 0..EACH {
                        let folder = root.join(format!("{maker}-{number}"));
                        (0..4).for_each(|inner| fs::create_dir_all(folder.join(format!("{inner}/in"))).unwrap());
                    }
                })
            })
            .collect();
        while working.iter().any(|maker| !maker.is_finished()) {
            scene.watch.take();
        }
    });
    scene.watch.take();
    let all: Vec<String> = makers
        .iter()
        .flat_map(|maker| {
            (0..EACH).flat_map(move |number| (0..4).map(move |inner| format!("{maker}-{number}/{inner}/in/file")))
        })
        .collect();
    all.iter().for_each(|name| fs::write(root.join(name), "").unwrap());
    let said = scene.said();
    let missing: Vec<_> = all.iter().filter(|name| said.binary_search(name).is_err()).collect();
    assert!(missing.is_empty(), "{} of {} are not named: {:?}…", missing.len(), all.len(), missing.first());
}

#[test]
fn a_moved_folder_is_known_by_its_new_name_and_one_moved_out_is_not_spoken_of_any_more() {
    let mut scene = Scene::new(&["a/b/c/file", "d/file"]);
    fs::rename(scene.path("a/b"), scene.path("d/e")).unwrap();
    assert_eq!(scene.said(), ["a/b/", "d/e/"]);
    scene.write("d/e/c/file");
    assert_eq!(scene.said(), ["d/e/c/file"]);
    fs::rename(scene.path("d/e"), scene.outside("away")).unwrap();
    assert_eq!(scene.said(), ["d/e/"]);
    fs::write(scene.outside("away/c/file"), "not in the workspace").unwrap();
    assert_eq!(scene.said(), [""; 0]);
    fs::rename(scene.outside("away"), scene.path("back")).unwrap();
    assert_eq!(scene.said(), ["back/"]);
    scene.write("back/c/file");
    assert_eq!(scene.said(), ["back/c/file"]);
}

#[test]
fn what_a_link_leads_to_is_never_watched() {
    let mut scene = Scene::new(&["a/file"]);
    fs::create_dir_all(scene.outside("canary/deep")).unwrap();
    symlink(scene.outside("canary"), scene.path("link")).unwrap();
    fs::remove_dir_all(scene.path("a")).unwrap();
    symlink(scene.outside("canary"), scene.path("a")).unwrap();
    assert_eq!(scene.said(), ["a/", "link"]);
    assert_eq!(scene.watch.folders(), 1);
    fs::write(scene.outside("canary/deep/file"), "elsewhere").unwrap();
    assert_eq!(scene.said(), [""; 0]);
    assert_eq!(watched(&scene.path("")).folders(), 1, "nor when the link was there first");
}

#[test]
fn ignored_folders_are_not_watched_and_changed_rules_give_no_list() {
    let mut scene = Scene::new(&[".gitignore", "src/file", "node_modules/x/y", "target/z", "made/deep/file"]);
    assert_eq!(scene.watch.folders(), 4, "the workspace, src, made and deep");
    scene.write("node_modules/x/y");
    scene.write("target/new/z");
    assert_eq!(scene.said(), [""; 0]);
    fs::write(scene.path(".gitignore"), "made/\n").unwrap();
    assert_eq!(scene.said(), ["everything: Rules"]);
    assert_eq!(scene.watch.folders(), 2);
    scene.write("made/deep/file");
    assert_eq!(scene.said(), [""; 0]);
    scene.write("src/.gitignore");
    assert_eq!(scene.said(), ["everything: Rules"]);
    scene.write(".git/info/exclude");
    assert_eq!(scene.said(), ["everything: Rules"], "a repository came");
    scene.write(".git/objects/12/3456");
    assert_eq!(scene.said(), [""; 0], "the repository itself is the user's");
    scene.write(".git/info/exclude");
    assert_eq!(scene.said(), ["everything: Rules"]);
    assert_eq!(scene.said(), [""; 0]);
}

#[test]
fn a_flood_is_everything_and_after_it_all_is_as_before() {
    let mut scene = Scene::new(&["a/file"]);
    let (one, two) = (scene.path("a/one"), scene.path("a/two"));
    fs::write(&one, "").unwrap();
    for _ in 0..50_000 {
        fs::rename(&one, &two).unwrap();
        fs::rename(&two, &one).unwrap();
    }
    scene.write("a/after/the/flood");
    assert_eq!(scene.said(), ["everything: Overflow"]);
    scene.write("a/after/the/next");
    assert_eq!(scene.said(), ["a/after/the/next"]);
    (0..9000).for_each(|number| fs::write(scene.path(&format!("a/{number}")), "").unwrap());
    let said = scene.said();
    assert!(said == ["everything: TooMany"] || said == ["everything: Overflow"], "{} paths", said.len());
    scene.write("a/after/the/last");
    assert_eq!(scene.said(), ["a/after/the/last"]);
}

#[test]
fn a_workspace_that_is_moved_gives_no_list_and_one_that_is_gone_never_again() {
    let mut scene = Scene::new(&["a/file"]);
    fs::rename(scene.path(""), scene.outside("moved")).unwrap();
    assert_eq!(scene.said(), ["everything: Moved"]);
    fs::write(scene.outside("moved/a/file"), "more").unwrap();
    assert_eq!(scene.said(), ["a/file"]);
    fs::remove_dir_all(scene.outside("moved")).unwrap();
    assert_eq!(scene.said(), ["everything: Off"]);
    assert_eq!(scene.watch.notice().as_deref(), Some("it is gone"));
    assert_eq!(scene.watch.notice(), None, "said once");
    assert_eq!(scene.said(), ["everything: Off"]);
}

/// Why it is a hint: these two are the reasons for the rules at the top of the watcher.
#[test]
fn writing_through_memory_is_told_at_its_end_and_writing_by_a_link_from_outside_never() {
    let mut scene = Scene::new(&["mapped", "linked"]);
    let program = "import mmap,os,sys\nf=os.open(sys.argv[1],os.O_RDWR)\nm=mmap.mmap(f,2)\nm[0:2]=b'zz'\n";
    let ran = Command::new("python3").args(["-c", program]).arg(scene.path("mapped")).status().unwrap();
    assert!(ran.success());
    assert!(fs::read_to_string(scene.path("mapped")).unwrap().starts_with("zz"));
    assert_eq!(scene.said(), ["mapped"]);
    fs::hard_link(scene.path("linked"), scene.outside("other name")).unwrap();
    fs::File::options().append(true).open(scene.outside("other name")).unwrap().write_all(b"!").unwrap();
    assert_eq!(scene.said(), [""; 0], "if this fails, the kernel has learned to tell: the rules can be relaxed");
}

#[test]
fn checking_out_branches_names_what_differs() {
    let mut scene = Scene::new(&["same", "a/differs", "a/only/one"]);
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=x", "-c", "user.email=x@example.org"]).args(words);
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let ran = command.current_dir(scene.scratch.path().join("work")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "--quiet", "-b", "one"]);
    git(&["add", "-A"]);
    git(&["commit", "--quiet", "-m", "one"]);
    git(&["checkout", "--quiet", "-b", "two"]);
    fs::remove_dir_all(scene.path("a/only")).unwrap();
    scene.write("a/differs");
    scene.write("b/deep/two");
    git(&["add", "-A"]);
    git(&["commit", "--quiet", "-m", "two"]);
    assert_eq!(said(&mut scene.watch), ["everything: Rules"]);
    git(&["checkout", "--quiet", "one"]);
    assert_eq!(said(&mut scene.watch), ["a/only/", "b/", "a/differs"]);
    git(&["checkout", "--quiet", "two"]);
    assert_eq!(said(&mut scene.watch), ["a/only/", "b/", "a/differs"]);
}

/// Set where a test runs again under other conditions.
const WITHIN: &str = "WATCH_TEST_WITHIN";

/// Runs a test of this file again under other conditions, which `script` makes. True there.
fn is_within(unshare: &[&str], script: &str, test: &str) -> bool {
    if std::env::var_os(WITHIN).is_some() {
        return true;
    }
    let script = format!("{script} \"$0\" --exact --nocapture watch::{test}");
    let mut command = Command::new("unshare");
    command.args(unshare).args(["sh", "-ec", &script]).arg(std::env::current_exe().unwrap());
    let ran = command.env(WITHIN, "yes").output().unwrap();
    let text = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&ran.stderr));
    false
}

/// In a user namespace with a limit of its own.
fn is_limited(limit: &str, test: &str) -> bool {
    is_within(&["--user", "--map-root-user"], &format!("echo {limit}; exec"), test)
}

#[test]
fn a_folder_that_may_not_be_read_is_named_whole_and_watched_once_it_may() {
    // Without the rights of root, that is: as nobody.
    let test = "a_folder_that_may_not_be_read_is_named_whole_and_watched_once_it_may";
    if !is_within(&["--user"], "exec", test) {
        return;
    }
    let mode =
        |path: PathBuf, mode| fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    let mut scene = Scene::new(&["open/file", "shut/deep/file"]);
    mode(scene.path("shut"), 0);
    assert!(fs::read_dir(scene.path("shut")).is_err(), "this shows nothing");
    let mut watch = watched(&scene.path(""));
    assert_eq!((watch.take(), watch.folders()), (WatchHint::Everything(NoListReason::Start), 2));
    mode(scene.path("shut"), 0o700);
    assert_eq!(said(&mut watch), ["shut/"]);
    scene.write("shut/deep/file");
    assert_eq!(said(&mut watch), ["shut/deep/file"]);
    assert_eq!(scene.said(), ["shut", "shut/deep/file"], "one that was watched before stays so");
}

#[test]
fn another_file_system_in_it_is_none_of_ours_and_the_same_one_twice_turns_it_off() {
    let test = "another_file_system_in_it_is_none_of_ours_and_the_same_one_twice_turns_it_off";
    if !is_within(&["--user", "--map-root-user", "--mount"], "exec", test) {
        return;
    }
    let mut scene = Scene::new(&["a/b/file", "other/file", "twice/file"]);
    let mount = |words: &[&str], at: &str| {
        let ran = Command::new("mount").args(words).arg(scene.path(at)).status().unwrap();
        assert!(ran.success());
    };
    mount(&["-t", "tmpfs", "none"], "other");
    scene.write("other/new/file");
    let mut watch = watched(&scene.path(""));
    assert_eq!((watch.take(), watch.folders(), watch.notice()), (WatchHint::Everything(NoListReason::Start), 4, None));
    let again = scene.path("a").display().to_string();
    mount(&["--bind", &again], "twice");
    let mut watch = watched(&scene.path(""));
    assert_eq!(watch.take(), WatchHint::Everything(NoListReason::Off));
    assert!(watch.notice().unwrap().contains("mounted in it"));
    assert_eq!(scene.said(), [""; 0]);
}

#[test]
fn without_watches_left_it_says_so_once_and_is_off() {
    let limit = "5 > /proc/sys/user/max_inotify_watches";
    if !is_limited(limit, "without_watches_left_it_says_so_once_and_is_off") {
        return;
    }
    let handles = || {
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        all.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|to| to.ends_with("anon_inode:inotify")).count()
    };
    let mut scene = Scene::new(&["a/b/c/file"]);
    assert_eq!((scene.watch.folders(), handles()), (4, 1), "one handle for all folders");
    assert!(scene.watch.fd().is_some());
    scene.write("a/d/file");
    assert_eq!(scene.said(), ["a/d/"], "five are enough");
    scene.write("a/e/file");
    assert_eq!(scene.said(), ["everything: Off"]);
    assert!(scene.watch.notice().unwrap().contains("max_user_watches"));
    assert_eq!((scene.watch.notice(), scene.watch.folders(), handles()), (None, 0, 0));
    assert_eq!(scene.said(), ["everything: Off"]);
}

#[test]
fn without_an_instance_left_it_is_off_from_the_start() {
    let limit = "0 > /proc/sys/user/max_inotify_instances";
    if !is_limited(limit, "without_an_instance_left_it_is_off_from_the_start") {
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    let mut watch = watched(scratch.path());
    assert_eq!(watch.take(), WatchHint::Everything(NoListReason::Off));
    assert!(watch.notice().unwrap().starts_with("the kernel gives no watch"));
}

#[test]
fn where_other_machines_may_write_it_is_off() {
    let mut watch = Watch::new(&open_folder(Path::new("/proc/self")).unwrap(), &Rules::new(false, &[], false)).unwrap();
    assert_eq!(watch.take(), WatchHint::Everything(NoListReason::Off));
    assert!(watch.notice().unwrap().contains("file system"));
}
