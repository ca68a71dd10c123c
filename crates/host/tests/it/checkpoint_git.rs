//! The user's own git: nothing that it configures is run, and not a byte of it changes.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::keeper::Keeper;

/// Programs that a repository can name, and what makes git run each.
const SENTINELS: &[(&str, &str)] = &[
    ("fsmonitor", "git status"),
    ("post-index-change", "echo more >> file.txt; git add file.txt"),
    ("pre-commit", "git commit -m x --allow-empty --no-gpg-sign"),
    ("post-checkout", "git checkout -q -B side"),
    ("clean", "echo again >> file.txt; git add file.txt"),
    ("smudge", "rm file.txt; git checkout -- file.txt"),
    ("external", "echo diff >> file.txt; git diff"),
    ("textconv", "git log -p -1 -- file.txt"),
    ("ssh", "git fetch origin"),
    ("gpg", "git commit -S -m x --allow-empty"),
    ("pager", "script -qec 'git -p log' /dev/null"),
    ("editor", "git commit --allow-empty --no-gpg-sign"),
];

fn git(root: &Path, script: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("TERM", "xterm").env_remove("GIT_PAGER").env_remove("PAGER");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "x").env(format!("GIT_{who}_EMAIL"), "x@example.org");
    }
    command.env_remove("GIT_EDITOR").env_remove("VISUAL").env_remove("EDITOR");
    command.output().unwrap().status.success()
}

fn must(root: &Path, script: &str) {
    assert!(git(root, script), "{script}");
}

/// A program that says it was run, and does what is needed of it.
fn sentinel(folder: &Path, name: &str, does: &str) -> String {
    let path = folder.join(name);
    let log = folder.join("log");
    fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\n{does}\n", log.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn fired(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    fs::remove_file(folder.join("log")).ok();
    text.lines().map(str::to_owned).collect()
}

/// A repository that names them all. `included`: the watcher's program comes from another file.
fn trapped(keeper: &Keeper, traps: &Path, included: bool) {
    let root = keeper.root();
    let hooks = traps.join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    must(&root, "git init -q -b main && echo one > file.txt && git add -A && git commit -qm one");
    must(&root, "echo two > file.txt && git commit -qam two");
    for hook in ["post-index-change", "pre-commit", "post-checkout"] {
        let program = sentinel(traps, hook, "exit 0");
        fs::copy(program, hooks.join(hook)).unwrap();
    }
    let monitor = sentinel(traps, "fsmonitor", "exit 1");
    fs::write(traps.join("included"), format!("[core]\n\tfsmonitor = {monitor}\n")).unwrap();
    let (key, value) = if included {
        ("include.path", traps.join("included").display().to_string())
    } else {
        ("core.fsmonitor", monitor)
    };
    let settings = [
        (key, value),
        ("core.hooksPath", hooks.display().to_string()),
        ("filter.evil.clean", sentinel(traps, "clean", "cat")),
        ("filter.evil.smudge", sentinel(traps, "smudge", "cat")),
        ("filter.evil.required", "true".to_owned()),
        ("diff.external", sentinel(traps, "external", "exit 0")),
        ("diff.evil.textconv", sentinel(traps, "textconv", "cat \"$1\"")),
        ("core.sshCommand", sentinel(traps, "ssh", "exit 1")),
        ("remote.origin.url", "ssh://nowhere.invalid/x".to_owned()),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*".to_owned()),
        ("gpg.program", sentinel(traps, "gpg", "exit 1")),
        ("commit.gpgSign", "true".to_owned()),
        ("core.pager", sentinel(traps, "pager", "cat")),
        ("core.editor", sentinel(traps, "editor", "echo text >> \"$1\"")),
    ];
    for (key, value) in settings {
        must(&root, &format!("git config '{key}' '{value}'"));
    }
    keeper.write(".gitattributes", "* filter=evil diff=evil eol=crlf ident working-tree-encoding=UTF-16\n");
    fs::write(root.join(".git/info/attributes"), "*.txt filter=evil diff=evil -eol -working-tree-encoding\n").unwrap();
}

#[test]
#[expect(clippy::print_stdout, reason = "which programs fired is part of the result")]
fn no_program_that_a_repository_names_is_run() {
    // req: D-14 partly: the git store leaves the user's git alone; the choice of a backend comes later
    for included in [false, true] {
        let mut keeper = Keeper::in_memory();
        let traps = keeper.scratch.path().join("traps");
        fs::create_dir(&traps).unwrap();
        trapped(&keeper, &traps, included);
        let root = keeper.root();
        fired(&traps);
        // Under plain git each of them is run.
        for (name, script) in SENTINELS {
            git(&root, script);
            let fired = fired(&traps);
            assert!(fired.contains(*name), "{name} did not fire under plain git, only {fired:?}");
        }
        // Under ours none.
        let first = keeper.keep("run/initial");
        keeper.write("file.txt", "changed by the agent");
        keeper.write("new.txt", "made by the agent");
        keeper.keep("run/1");
        fs::remove_file(root.join(".gitattributes")).unwrap();
        keeper.go_back(&first);
        keeper.keep("run/2");
        assert_eq!(fired(&traps), BTreeSet::new());
        assert!(!root.join("new.txt").exists() && root.join(".gitattributes").exists());
        println!("{} programs fired under plain git, none under ours", SENTINELS.len());
    }
}

/// Everything that `lstat` tells of a file but when it was last read, and its bytes.
type Sight = BTreeMap<PathBuf, (u32, u64, [i64; 4], Vec<u8>)>;

fn sight(root: &Path, but: Option<&str>) -> Sight {
    let (mut sight, mut open) = (Sight::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if but.is_some_and(|but| entry.file_name() == but) {
                continue;
            }
            let (path, found) = (entry.path(), fs::symlink_metadata(entry.path()).unwrap());
            let bytes = if found.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
            if found.is_dir() {
                open.push(path.clone());
            }
            sight.insert(path, (found.mode(), found.ino(), times, bytes));
        }
    }
    sight
}

fn contents(sight: &Sight) -> Vec<(&PathBuf, u32, &Vec<u8>)> {
    sight.iter().map(|(path, (mode, _, _, bytes))| (path, *mode, bytes)).collect()
}

/// How a repository can be when a run begins, and how it comes to be so.
const STATES: &[(&str, &str)] = &[
    ("clean", "true"),
    ("a staged change, and a stash", "echo s >> a; git stash -q; echo t >> a; git add a"),
    ("in the middle of a rebase", "git checkout -q side && ! git rebase main && test -d .git/rebase-merge"),
    ("in the middle of a merge", "! git merge side && test -f .git/MERGE_HEAD"),
    ("in the middle of a cherry-pick", "! git cherry-pick side && test -f .git/CHERRY_PICK_HEAD"),
    ("a detached HEAD", "git checkout -q --detach HEAD~1"),
    ("a locked index", "touch .git/index.lock"),
    ("in the middle of a bisect", "git bisect start -q HEAD HEAD~1"),
];

/// A repository with two branches that do not agree.
fn repository(keeper: &Keeper) {
    let root = keeper.root();
    must(&root, "git init -q -b main && mkdir -p d/e && for f in a b d/c d/e/f; do echo $f > $f; done");
    must(&root, "git add -A && git commit -qm one && git checkout -q -b side && echo side > a && git commit -qam side");
    must(&root, "git checkout -q main && echo main > a && git commit -qam main && git pack-refs --all");
}

#[test]
fn not_a_byte_of_the_users_git_changes_over_a_thousand_checkpoints_and_rollbacks() {
    // req: D-14 partly: the git store leaves the user's git alone; the choice of a backend comes later
    const ROUNDS: usize = 1000;
    let each = ROUNDS.div_ceil(STATES.len());
    for (state, script) in STATES {
        let mut keeper = Keeper::in_memory();
        repository(&keeper);
        let root = keeper.root();
        must(&root, script);
        let before = sight(&root.join(".git"), None);
        let work = sight(&root, Some(".git"));
        let first = keeper.keep("run/initial");
        for round in 0..each {
            let text = round.to_string();
            match round % 4 {
                0 => keeper.write("a", &text),
                1 => keeper.write("d/e/new/deep", &text),
                2 => fs::remove_dir_all(root.join("d/e")).unwrap(),
                _ => fs::rename(root.join("d"), root.join("moved")).unwrap(),
            }
            keeper.keep("run/1");
            keeper.go_back(&first);
            if round % 25 == 0 {
                assert!(before == sight(&root.join(".git"), None), "{state}: .git differs after {round}");
            }
        }
        assert!(before == sight(&root.join(".git"), None), "{state}: .git differs");
        let after = sight(&root, Some(".git"));
        assert!(contents(&work) == contents(&after), "{state}: the work is not what it was");
        // A check that cannot fail is none: git itself writes its index when it is asked for the status.
        must(&root, "rm -f .git/index.lock; git status");
        assert!(before != sight(&root.join(".git"), None), "{state}: this check sees nothing");
    }
}

#[test]
fn a_repository_that_lies_elsewhere_is_left_alone_as_well() {
    let ways = [
        ("a worktree", "cd ../main && git worktree add -q -f ../work side"),
        ("a submodule's way", "git init -q --separate-git-dir ../elsewhere"),
        ("a link to it", "git init -q && mv .git ../elsewhere && ln -s ../elsewhere .git"),
    ];
    for (way, script) in ways {
        let mut keeper = Keeper::in_memory();
        let top = keeper.scratch.path().to_owned();
        must(
            &top,
            "git init -q -b main main && cd main && echo a > a && git add -A && git commit -qm one && git branch side",
        );
        let root = keeper.root();
        must(&root, script);
        keeper.write("file", "as it was");
        let but_store = || -> Sight {
            let all = sight(&top, None).into_iter();
            all.filter(|(path, _)| !path.starts_with(top.join("store")) && !path.starts_with(&root)).collect()
        };
        let own = || fs::symlink_metadata(root.join(".git")).map(|found| (found.ino(), found.ctime_nsec())).unwrap();
        let before = (but_store(), own());
        let first = keeper.keep("run/initial");
        assert!(first.checkpoint.names.keys().all(|name| !name.starts_with(b".git")), "{way}");
        for round in 0..20 {
            keeper.write("file", &round.to_string());
            keeper.keep("run/1");
            keeper.go_back(&first);
        }
        assert!(before == (but_store(), own()), "{way}: it was touched");
        assert_eq!(fs::read_to_string(root.join("file")).unwrap(), "as it was");
    }
}
