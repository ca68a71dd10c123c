//! The tamper guard on real folders: what an agent does to protected files is found and undone, and nothing else is
//! touched.
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

use loop_core::policy::protect::{TEST_GLOBS, is_test_path, judging_scripts_at};
use loop_core::settings::Values;
use loop_host::checkpoint::CheckpointContext;
use loop_host::checkpoint::user_git::GitUser;
use loop_host::guard::{
    GuardRecordError, Originals, ProtectRequest, ProtectedFiles, Tamper, TamperFound, check_record,
};

/// A workspace with a run's folder and somebody else's files beside it.
pub(crate) struct Ground {
    pub(crate) scratch: tempfile::TempDir,
}

/// Every name with its permissions and what is in it.
type Tree = BTreeMap<PathBuf, (u32, Vec<u8>)>;

impl Ground {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let scratch = loop_testkit::folder_in_memory();
        for folder in ["work", "run", "canary/tests"] {
            fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        fs::write(scratch.path().join("canary/tests/a.py"), "the canary sings").unwrap();
        let ground = Self { scratch };
        files.iter().for_each(|(name, text)| ground.write(name, text));
        ground
    }

    pub(crate) fn work(&self, name: &str) -> PathBuf {
        self.scratch.path().join("work").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn place(&self) -> CheckpointContext {
        CheckpointContext {
            run: "run".to_owned(),
            store: self.work(".state/checkpoints/store"),
            workspace: self.work(""),
            settings: Values::default().checkpoint,
            litter: vec![".aider*".to_owned()],
            user: GitUser::default(),
            backend: "git".to_owned(),
        }
    }

    fn take(&self, globs: &[&str], scripts: &[&str]) -> (Originals, ProtectedFiles) {
        let [globs, scripts] =
            [globs, scripts].map(|list| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>());
        let wanted = ProtectRequest { globs: &globs, scripts: &scripts };
        Originals::take(&self.scratch.path().join("run"), &self.place(), wanted).unwrap()
    }

    /// Those that were stored, as the next driver opens them.
    fn again(&self, record: &str) -> Originals {
        Originals::open(&self.scratch.path().join("run"), &self.place(), record).unwrap()
    }

    fn tree(&self, of: &str) -> Tree {
        fn look(path: &Path, tree: &mut Tree) {
            let found = path.symlink_metadata().unwrap();
            let bytes = if found.is_file() {
                fs::read(path).unwrap()
            } else if found.is_symlink() {
                fs::read_link(path).unwrap().as_os_str().as_bytes().to_vec()
            } else {
                Vec::new()
            };
            tree.insert(path.to_owned(), (found.permissions().mode(), bytes));
            if found.is_dir() {
                fs::read_dir(path).unwrap().flatten().for_each(|entry| look(&entry.path(), tree));
            }
        }
        let mut tree = Tree::new();
        look(&self.scratch.path().join(of), &mut tree);
        tree
    }
}

fn told(found: &TamperFound) -> Vec<String> {
    found.changed.iter().map(loop_host::guard::Tampered::describe).collect()
}

/// A look that reads every file: what the kernel says of each was touched before.
fn look_closely(originals: &mut Originals, ground: &Ground) -> TamperFound {
    for path in originals.paths() {
        let path = ground.work(path);
        let found = path.symlink_metadata().unwrap();
        if found.is_file() {
            fs::set_permissions(&path, found.permissions()).unwrap();
        }
    }
    originals.inspect().unwrap()
}

fn paths(originals: &Originals) -> Vec<&str> {
    originals.paths().collect()
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

const FILES: &[(&str, &str)] = &[
    ("tests/a.py", "assert add(1, 2) == 3\n"),
    ("tests/deep/b.py", "assert True\n"),
    ("src/main.py", "def add(a, b): return a - b\n"),
    ("check.sh", "#!/bin/sh\npython tests/a.py\n"),
];

#[test]
fn what_matches_and_exists_is_protected_ignored_or_not_and_nothing_of_ours() {
    let ground = Ground::new(FILES);
    for name in [
        "data/secret.cfg",
        "node_modules/x/tests/a.py",
        ".git/tests/a.py",
        ".loopr/status.cfg",
        ".aider.cfg",
        ".state/index.cfg",
        "tests/__pycache__/a.py",
    ] {
        ground.write(name, "text");
    }
    ground.write(".gitignore", "data/\n*.cfg\n");
    symlink("a.py", ground.work("tests/link")).unwrap();
    let (originals, taken) = ground.take(&["tests/", "*.cfg", "!tests/deep/"], &[]);
    assert_eq!(paths(&originals), ["data/secret.cfg", "tests/a.py", "tests/link"]);
    assert_eq!((taken.files, taken.bytes, taken.left_out), (3, 4 + 22, Vec::new()));
    assert!(originals.is_protected(b"tests/a.py") && !originals.is_protected(b"src/main.py"));
    // What a pattern names is looked into, whatever it is called.
    let named = Ground::new(&[("node_modules/x/a.js", "1"), ("node_modules/y/a.js", "1")]);
    assert_eq!(paths(&named.take(&["node_modules/x/"], &[]).0), ["node_modules/x/a.js"]);
}

#[test]
fn the_script_files_of_a_gate_are_protected_and_what_it_reads_or_builds_is_not() {
    let ground = Ground::new(FILES);
    ground.write("notes.txt", "done");
    ground.write("ci/one.sh", "true");
    ground.write("ci/two.sh", "true");
    ground.write("ci/deep/three.sh", "true");
    fs::write(ground.work("app"), b"\x7fELF\0\0").unwrap();
    symlink("check.sh", ground.work("linked")).unwrap();
    symlink("ci", ground.work("ci-link")).unwrap();
    symlink(ground.scratch.path().join("canary/tests/a.py"), ground.work("outside.sh")).unwrap();
    let scripts = judging_scripts_at("sh check.sh && ./app; grep -q done notes.txt; sh ci; sh missing.sh", "");
    let scripts: Vec<&str> = scripts.iter().map(String::as_str).collect();
    assert_eq!(paths(&ground.take(&[], &scripts).0), ["check.sh"]);
    fs::remove_dir_all(ground.scratch.path().join("run/guard")).unwrap();
    assert_eq!(
        paths(&ground.take(&[], &["linked", "ci-link/one.sh"]).0),
        ["check.sh", "ci-link", "ci/one.sh", "linked"]
    );
    fs::remove_dir_all(ground.scratch.path().join("run/guard")).unwrap();
    let (originals, taken) = ground.take(&[], &["ci/*.sh", "outside.sh"]);
    assert_eq!(paths(&originals), ["ci/one.sh", "ci/two.sh", "outside.sh"]);
    assert_eq!(taken.left_out, ["outside.sh: it leads out of the workspace"]);
}

/// Something that an agent does, and what is said of it.
type Deed = (&'static str, fn(&Ground), &'static [&'static str]);

const DEEDS: &[Deed] = &[
    ("change", |g| g.write("tests/a.py", "pass\n"), &["tests/a.py was changed"]),
    ("delete", |g| fs::remove_file(g.work("tests/a.py")).unwrap(), &["tests/a.py was deleted"]),
    (
        "rename",
        |g| fs::rename(g.work("tests/a.py"), g.work("src/old.py")).unwrap(),
        &["tests/a.py was renamed to src/old.py"],
    ),
    ("chmod", |g| chmod(&g.work("check.sh"), 0o400), &["check.sh got other permissions"]),
    (
        "link",
        |g| {
            fs::remove_file(g.work("tests/a.py")).unwrap();
            symlink("../src/main.py", g.work("tests/a.py")).unwrap();
        },
        &["tests/a.py was replaced by a link"],
    ),
    (
        "folder with something in it",
        |g| {
            fs::remove_file(g.work("tests/a.py")).unwrap();
            g.write("tests/a.py/inner", "work of an agent");
        },
        &["tests/a.py was replaced by a folder"],
    ),
    (
        "pipe",
        |g| {
            fs::remove_file(g.work("check.sh")).unwrap();
            rustix::fs::mkfifoat(rustix::fs::CWD, g.work("check.sh"), rustix::fs::Mode::RWXU).unwrap();
        },
        &["check.sh was replaced by something else"],
    ),
    (
        "parent removed",
        |g| fs::remove_dir_all(g.work("tests")).unwrap(),
        &["tests/a.py was deleted", "tests/deep/b.py was deleted", "tests/link was deleted"],
    ),
    (
        "parent a file",
        |g| {
            fs::remove_dir_all(g.work("tests/deep")).unwrap();
            g.write("tests/deep", "a file");
        },
        &["tests/deep/b.py was replaced by a file or a link where its folder was"],
    ),
    (
        "link led elsewhere",
        |g| {
            fs::remove_file(g.work("tests/link")).unwrap();
            symlink("deep/b.py", g.work("tests/link")).unwrap();
        },
        &["tests/link was changed"],
    ),
    (
        "several",
        |g| {
            g.write("check.sh", "true");
            fs::remove_dir_all(g.work("tests/deep")).unwrap();
        },
        &["check.sh was changed", "tests/deep/b.py was deleted"],
    ),
];

#[test]
fn whatever_is_done_to_protected_files_is_told_and_undone_byte_for_byte() {
    for (deed, act, expected) in DEEDS {
        let ground = Ground::new(FILES);
        symlink("a.py", ground.work("tests/link")).unwrap();
        chmod(&ground.work("check.sh"), 0o751);
        chmod(&ground.work("tests/deep"), 0o750);
        let (mut originals, _) = ground.take(&["tests/"], &["check.sh"]);
        assert!(originals.inspect().unwrap().changed.is_empty(), "{deed}");
        let before = ground.tree("work");
        act(&ground);
        let found = originals.inspect().unwrap();
        assert_eq!(told(&found), *expected, "{deed}");
        let restored = originals.restore(&found, None).unwrap();
        assert_eq!((restored.files.len(), restored.could_not), (expected.len(), Vec::new()), "{deed}");
        let after = ground.tree("work");
        for (path, seen) in &before {
            assert_eq!(after.get(path), Some(seen), "{deed}: {}", path.display());
        }
        let new: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(
            new.iter().all(|path| path.ends_with("src/old.py") || path.to_string_lossy().contains(".kept-")),
            "{deed}"
        );
        assert_eq!(
            restored.aside.len(),
            new.iter().filter(|path| path.parent().unwrap().ends_with("tests")).count(),
            "{deed}"
        );
        assert_eq!(look_closely(&mut originals, &ground).changed, [], "{deed}");
        assert_eq!(ground.again(originals.record_hash()).inspect().unwrap().changed, [], "{deed}");
    }
}

#[test]
fn a_folder_that_became_a_link_to_somewhere_else_leads_nobody_there() {
    for deep in [false, true] {
        let ground = Ground::new(FILES);
        let (mut originals, _) = ground.take(&["tests/"], &[]);
        let (before, canary) = (ground.tree("work"), loop_testkit::sight(&ground.scratch.path().join("canary"), None));
        let (name, to) = if deep { ("tests/deep", "canary/tests") } else { ("tests", "canary/tests") };
        fs::remove_dir_all(ground.work(name)).unwrap();
        symlink(ground.scratch.path().join(to), ground.work(name)).unwrap();
        let found = originals.inspect().unwrap();
        assert!(found.changed.iter().all(|one| matches!(one.what, Tamper::Replaced { .. })), "{found:?}");
        let restored = originals.restore(&found, None).unwrap();
        assert_eq!(restored.could_not, Vec::<String>::new());
        assert_eq!(ground.tree("work"), before);
        assert_eq!(loop_testkit::sight(&ground.scratch.path().join("canary"), None), canary);
    }
}

#[test]
fn a_forged_time_hides_nothing_and_a_touched_file_is_no_tamper() {
    let ground = Ground::new(FILES);
    let (mut originals, _) = ground.take(&["tests/"], &[]);
    let path = ground.work("tests/a.py");
    let was = fs::metadata(&path).unwrap().modified().unwrap();
    let forge =
        || File::options().append(true).open(&path).unwrap().set_times(FileTimes::new().set_modified(was)).unwrap();
    forge();
    // What changed a moment ago is read in any case: it must be older to be known by its stamp.
    let forged = SystemTime::now();
    loop_testkit::wait_until("a tick of the clock", || forged.elapsed().is_ok_and(|since| since.as_millis() > 100));
    assert_eq!(originals.inspect().unwrap(), TamperFound::default());
    fs::write(&path, "assert add(1, 2) == 9\n").unwrap();
    forge();
    assert_eq!(told(&originals.inspect().unwrap()), ["tests/a.py was changed"]);
    // Written back by whoever changed it: that is no tamper any more.
    fs::write(&path, "assert add(1, 2) == 3\n").unwrap();
    assert_eq!(originals.inspect().unwrap(), TamperFound::default());
}

#[test]
fn additions_are_listed_and_a_persons_own_change_becomes_the_original() {
    let ground = Ground::new(FILES);
    let (mut originals, _) = ground.take(&["tests/"], &["check.sh"]);
    ground.write("tests/new.py", "assert False");
    ground.write("src/new.py", "");
    assert_eq!(
        originals.inspect().unwrap(),
        TamperFound { added: vec!["tests/new.py".to_owned()], ..TamperFound::default() }
    );
    ground.write("tests/a.py", "a person's own");
    chmod(&ground.work("check.sh"), 0o700);
    fs::remove_file(ground.work("tests/deep/b.py")).unwrap();
    let found = originals.inspect().unwrap();
    assert_eq!(found.changed.len(), 3);
    assert_eq!(originals.adopt(&found).unwrap(), Vec::<String>::new());
    let mut originals = ground.again(originals.record_hash());
    assert_eq!(look_closely(&mut originals, &ground), TamperFound::default());
    assert_eq!(paths(&originals), ["check.sh", "tests/a.py"]);
    ground.write("tests/a.py", "the agent's");
    let found = originals.inspect().unwrap();
    originals.restore(&found, None).unwrap();
    assert_eq!(fs::read_to_string(ground.work("tests/a.py")).unwrap(), "a person's own");
    assert_eq!(fs::metadata(ground.work("check.sh")).unwrap().permissions().mode() & 0o7777, 0o700);
}

#[test]
fn names_that_are_no_text_are_protected_too() {
    let ground = Ground::new(FILES);
    let name = ground.work("tests").join(OsStr::from_bytes(b"\xff\\\n.py"));
    fs::write(&name, b"\0\xff").unwrap();
    let (mut originals, _) = ground.take(&["tests/"], &[]);
    let before = ground.tree("work");
    fs::remove_file(&name).unwrap();
    let found = originals.inspect().unwrap();
    assert_eq!(told(&found), ["tests/\\xff\\x5c\\x0a.py was deleted"]);
    assert!(originals.is_protected(b"tests/\xff\\\n.py"));
    originals.restore(&found, None).unwrap();
    assert_eq!(ground.tree("work"), before);
}

#[test]
fn folders_that_are_closed_are_opened_and_closed_again() {
    let ground = Ground::new(FILES);
    chmod(&ground.work("tests"), 0o555);
    chmod(&ground.work("check.sh"), 0o444);
    let (mut originals, _) = ground.take(&["tests/"], &["check.sh"]);
    let before = ground.tree("work");
    chmod(&ground.work("tests"), 0o755);
    fs::remove_dir_all(ground.work("tests/deep")).unwrap();
    ground.write("tests/a.py", "pass");
    chmod(&ground.work("tests"), 0o000);
    chmod(&ground.work("check.sh"), 0o644);
    ground.write("check.sh", "true");
    chmod(&ground.work(""), 0o555);
    let found = originals.inspect().unwrap();
    assert_eq!(found.changed.len(), 3);
    let restored = originals.restore(&found, None).unwrap();
    assert_eq!(restored.could_not, Vec::<String>::new());
    assert_eq!(ground.tree("work"), before);
}

#[test]
fn what_the_agent_made_of_a_file_is_kept_where_the_caller_says() {
    let ground = Ground::new(FILES);
    let (mut originals, _) = ground.take(&["tests/"], &[]);
    ground.write("tests/a.py", "the agent's");
    fs::remove_dir_all(ground.work("tests/deep")).unwrap();
    ground.write("tests/deep", "a file in the way");
    let found = originals.inspect().unwrap();
    let keep = ground.scratch.path().join("run/tampered-1");
    let restored = originals.restore(&found, Some(&keep)).unwrap();
    assert_eq!((restored.aside.len(), restored.could_not.len()), (0, 0));
    assert_eq!(fs::read_to_string(keep.join("tests/a.py")).unwrap(), "the agent's");
    assert_eq!(fs::read_to_string(keep.join("tests/deep")).unwrap(), "a file in the way");
}

#[test]
fn what_is_too_large_is_named_and_what_was_damaged_is_not_put_back() {
    let ground = Ground::new(FILES);
    File::create(ground.work("tests/huge")).unwrap().set_len(65 << 20).unwrap();
    let (mut originals, taken) = ground.take(&["tests/"], &[]);
    assert_eq!(taken.left_out, ["tests/huge: it is longer than 64.0 MiB"]);
    assert_eq!(originals.inspect().unwrap(), TamperFound::default(), "it was there, so that it is no addition");
    let contents = ground.scratch.path().join("run/guard/contents");
    assert_eq!(fs::metadata(&contents).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&contents, "something else of which there is enough for all of them").unwrap();
    ground.write("tests/a.py", "the agent's");
    let found = originals.inspect().unwrap();
    let restored = originals.restore(&found, None).unwrap();
    assert_eq!(restored.could_not, ["tests/a.py: its stored content is damaged"]);
    assert_eq!(fs::read_to_string(ground.work("tests/a.py")).unwrap(), "the agent's");
    assert_eq!(fs::read_dir(ground.work("tests")).unwrap().count(), 3, "nothing half made lies about");
}

#[test]
fn what_is_protected_is_fixed_when_it_is_first_taken() {
    let ground = Ground::new(FILES);
    let record = ground.take(&["tests/"], &[]).0.record_hash().to_owned();
    ground.write("tests/a.py", "changed before a restart");
    let mut again = ground.again(&record);
    assert_eq!(
        (again.paths().count(), told(&again.inspect().unwrap())),
        (2, vec!["tests/a.py was changed".to_owned()])
    );
    // A start whose answer never reached the journal is made again: what there is of it does not count.
    assert_eq!(ground.take(&["tests/"], &[]).1.files, 2);
}

#[test]
fn a_record_that_is_missing_emptied_or_of_another_hash_is_damage() {
    // req: RT-R11
    let ground = Ground::new(FILES);
    let originals = ground.take(&["tests/"], &[]).0;
    let (run, record) = (ground.scratch.path().join("run"), originals.record_hash().to_owned());
    assert_eq!(check_record(&run, &record).map_err(|error| error.to_string()), Ok(()));
    let path = run.join("guard").join(format!("record-{}.json", &record[..16]));
    let text = fs::read_to_string(&path).unwrap();
    let empty = r#"{"globs":["tests/"],"files":{},"folders":{},"known":[],"targets":{}}"#;
    for forged in [empty, "garbage", &text.replacen("tests/a.py", "tests/b.py", 1)] {
        fs::write(&path, forged).unwrap();
        assert!(matches!(check_record(&run, &record), Err(GuardRecordError::Other { .. })), "{forged}");
        assert!(Originals::open(&run, &ground.place(), &record).is_err(), "{forged}");
    }
    fs::remove_file(&path).unwrap();
    assert!(matches!(check_record(&run, &record), Err(GuardRecordError::Missing { .. })));
}

#[test]
fn a_change_of_the_record_that_the_journal_never_heard_of_is_made_again() {
    let ground = Ground::new(FILES);
    let (mut originals, _) = ground.take(&["tests/"], &[]);
    let before = originals.record_hash().to_owned();
    ground.write("tests/a.py", "a person's own");
    let found = originals.inspect().unwrap();
    originals.adopt(&found).unwrap();
    assert_ne!(originals.record_hash(), before);
    // The driver was killed here, before the answer was written.
    let mut again = ground.again(&before);
    let found = again.inspect().unwrap();
    assert_eq!(told(&found), ["tests/a.py was changed"]);
    again.adopt(&found).unwrap();
    assert_eq!(look_closely(&mut ground.again(again.record_hash()), &ground), TamperFound::default());
}

#[test]
fn tests_that_are_run_otherwise_are_told_and_what_a_person_changes_is_not() {
    let ground = Ground::new(&[
        ("package.json", r#"{"scripts": {"test": "jest"}}"#),
        ("web/Makefile", "test:\n\tpytest\n"),
        ("web/deep/Makefile", "test:\n\tpytest\n"),
    ]);
    let (mut originals, taken) = ground.take(&[], &[]);
    assert_eq!((taken.files, originals.targets_changed()), (0, Vec::new()));
    ground.write("package.json", r#"{"scripts": {"test": "true"}}"#);
    ground.write("web/deep/Makefile", "");
    assert_eq!(originals.targets_changed(), ["package.json: changed; it defines how tests are run"]);
    ground.write("web/Makefile", "test:\n\tpytest -x\n");
    let found = originals.inspect().unwrap();
    originals.adopt(&found).unwrap();
    assert_eq!(originals.targets_changed().len(), 1, "the agent's change is still told");
    fs::remove_file(ground.work("web/Makefile")).unwrap();
    assert_eq!(
        originals.targets_changed().last().unwrap(),
        "web/Makefile: changed; it does not define any more how tests are run"
    );
}

#[test]
fn a_new_makefile_and_one_that_is_included_are_told() {
    let ground = Ground::new(&[("Makefile", "include mk/a.mk\ntest:\n\t$(T)\n"), ("mk/a.mk", "T = pytest\n")]);
    let (mut originals, _) = ground.take(&[], &[]);
    ground.write("GNUmakefile", "test:\n\ttrue\n");
    ground.write("mk/Makefile", "test:\n\ttrue\n");
    let new = "GNUmakefile is new and is read instead of Makefile";
    assert_eq!(originals.targets_changed(), [new]);
    assert_eq!(originals.targets_changed(), [new], "and told until it is gone");
    fs::remove_file(ground.work("GNUmakefile")).unwrap();
    ground.write("mk/a.mk", "T = true\n");
    assert_eq!(originals.targets_changed(), ["Makefile: changed; it defines how tests are run"]);
    // What came to be between two looks is a person's.
    ground.write("mk/a.mk", "T = pytest\n");
    assert!(originals.targets_changed().is_empty());
    ground.write("GNUmakefile", "test:\n\tpytest\n");
    let found = originals.inspect().unwrap();
    originals.adopt(&found).unwrap();
    assert!(originals.targets_changed().is_empty());
}

#[test]
fn what_is_protected_as_a_test_is_what_counts_as_one() {
    let names = [
        "tests/a",
        "test/x/y.txt",
        "src/test/A.java",
        "src/ATest.java",
        "a/b_test.go",
        "a.test.ts",
        "x/spec/y.rb",
        "test_a.py",
        "contest.py",
        "src/lib.rs",
        "src/tests.rs",
        "latest/a",
        "test",
        "docs/spec.md",
        "e2e/a",
        "conftest.py",
    ];
    let ground =
        Ground::new(&names.map(|name| (name, "")).into_iter().filter(|(name, _)| *name != "test").collect::<Vec<_>>());
    let (originals, _) = ground.take(TEST_GLOBS, &[]);
    let mut expected: Vec<&str> = names.into_iter().filter(|name| is_test_path(name)).collect();
    expected.sort_unstable();
    assert_eq!(paths(&originals), expected);
    assert_eq!(expected.len(), 11);
}

#[test]
#[expect(clippy::print_stdout, reason = "how long it took is part of the result")]
fn two_thousand_files_are_looked_at_in_a_moment() {
    let ground = Ground::new(&[]);
    for number in 0..2000 {
        ground.write(&format!("tests/d{}/f{number}.py", number % 40), &format!("assert {number}\n"));
    }
    let begun = Instant::now();
    let (mut originals, taken) = ground.take(&["tests/"], &[]);
    let (took, looked) = (begun.elapsed(), Instant::now());
    assert_eq!((taken.files, originals.inspect().unwrap()), (2000, TamperFound::default()));
    let (first, looked) = (looked.elapsed(), Instant::now());
    assert_eq!(originals.inspect().unwrap(), TamperFound::default());
    println!("2000 files: kept in {took:?}, looked at in {first:?}, and once more in {:?}", looked.elapsed());
    fs::remove_dir_all(ground.work("tests")).unwrap();
    let (found, begun) = (originals.inspect().unwrap(), Instant::now());
    assert_eq!(originals.restore(&found, None).unwrap().files.len(), 2000);
    println!("put back in {:?}", begun.elapsed());
    assert_eq!(look_closely(&mut originals, &ground), TamperFound::default());
}
