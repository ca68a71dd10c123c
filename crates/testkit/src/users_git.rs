//! Repositories of the user's that are set with traps, or in the middle of something, and a sight of every byte of them.
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that a repository can name, and what makes git run each.
pub const SENTINELS: &[(&str, &str)] = &[
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

/// How a repository can be when a run begins, and how it comes to be so.
pub const GIT_STATES: &[(&str, &str)] = &[
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
///
/// # Panics
/// When git cannot make it.
pub fn disagreeing_repository(root: &Path) {
    must(root, "git init -q -b main && mkdir -p d/e && for f in a b d/c d/e/f; do echo $f > $f; done");
    must(root, "git add -A && git commit -qm one && git checkout -q -b side && echo side > a && git commit -qam side");
    must(root, "git checkout -q main && echo main > a && git commit -qam main && git pack-refs --all");
}

/// Runs a shell line in a folder with plain git, nobody's configuration but the repository's; whether it went well.
///
/// # Panics
/// When there is no shell.
pub fn with_git(root: &Path, script: &str) -> bool {
    let mut command = Command::new("sh");
    command.args(["-c", script]).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("TERM", "xterm").env_remove("GIT_PAGER").env_remove("PAGER");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "x").env(format!("GIT_{who}_EMAIL"), "x@example.org");
    }
    command.env_remove("GIT_EDITOR").env_remove("VISUAL").env_remove("EDITOR");
    command.output().expect("the files of a repository").status.success()
}

/// The same, which must go well.
///
/// # Panics
/// When it does not.
pub fn must(root: &Path, script: &str) {
    assert!(with_git(root, script), "{script}");
}

/// A program that says it was run, and does what is needed of it.
fn sentinel(folder: &Path, name: &str, does: &str) -> String {
    let path = folder.join(name);
    let log = folder.join("log");
    fs::write(&path, format!("#!/bin/sh\necho {name} >> '{}'\n{does}\n", log.display()))
        .expect("the files of a repository");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("the files of a repository");
    path.display().to_string()
}

/// Which programs of a trap were run since this was last asked.
#[must_use]
pub fn fired(folder: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(folder.join("log")).unwrap_or_default();
    fs::remove_file(folder.join("log")).ok();
    text.lines().map(str::to_owned).collect()
}

/// A repository that names them all; they lie in the folder `traps`. `included`: the watcher's program comes from
/// another file.
///
/// # Panics
/// When git cannot make it.
pub fn trapped(root: &Path, traps: &Path, included: bool) {
    let hooks = traps.join("hooks");
    fs::create_dir_all(&hooks).expect("the files of a repository");
    must(root, "git init -q -b main && echo one > file.txt && git add -A && git commit -qm one");
    must(root, "echo two > file.txt && git commit -qam two");
    for hook in ["post-index-change", "pre-commit", "post-checkout"] {
        let program = sentinel(traps, hook, "exit 0");
        fs::copy(program, hooks.join(hook)).expect("the files of a repository");
    }
    let monitor = sentinel(traps, "fsmonitor", "exit 1");
    fs::write(traps.join("included"), format!("[core]\n\tfsmonitor = {monitor}\n")).expect("the files of a repository");
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
        must(root, &format!("git config '{key}' '{value}'"));
    }
    let attributes = "* filter=evil diff=evil eol=crlf ident working-tree-encoding=UTF-16\n";
    fs::write(root.join(".gitattributes"), attributes).expect("the files of a repository");
    fs::write(root.join(".git/info/attributes"), "*.txt filter=evil diff=evil -eol -working-tree-encoding\n")
        .expect("the files of a repository");
}

/// Everything that `lstat` tells of a file but when it was last read, and its bytes.
pub type Sight = BTreeMap<PathBuf, (u32, u64, [i64; 4], Vec<u8>)>;

/// What is below a folder, but for what has this name.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn sight(root: &Path, but: Option<&str>) -> Sight {
    let (mut sight, mut open) = (Sight::new(), vec![root.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the files of a repository").flatten() {
            if but.is_some_and(|but| entry.file_name() == but) {
                continue;
            }
            let (path, found) = (entry.path(), fs::symlink_metadata(entry.path()).expect("the files of a repository"));
            let bytes = if found.is_file() { fs::read(&path).expect("the files of a repository") } else { Vec::new() };
            let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
            if found.is_dir() {
                open.push(path.clone());
            }
            sight.insert(path, (found.mode(), found.ino(), times, bytes));
        }
    }
    sight
}
