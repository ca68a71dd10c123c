//! The user's own repository: kept without a byte of it being changed, and brought back after anything. Judged by the
//! real git, with nobody's configuration.
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use loop_host::checkpoint::user_git::{Limits, RestoredGit, SavedGit, restore, save};

/// A repository of a user who has configured nothing.
pub(crate) struct Repo {
    scratch: tempfile::TempDir,
    pub(crate) work: PathBuf,
}

/// What git says of a repository, all that a person would notice.
#[derive(Debug, PartialEq, Eq)]
struct Facts(Vec<(String, String)>);

pub(crate) fn git_in(folder: &Path, home: &Path, words: &[&str]) -> Result<String, String> {
    let ran = Command::new("git")
        .current_dir(folder)
        .args(words)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", home)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_EDITOR", "true")
        .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@b"), ("GIT_COMMITTER_NAME", "a")])
        .env("GIT_COMMITTER_EMAIL", "a@b")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    if ran.status.success() { Ok(text) } else { Err(format!("git {words:?}: {text}")) }
}

impl Repo {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let work = scratch.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let repo = Self { scratch, work };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo
    }

    fn home(&self) -> PathBuf {
        self.scratch.path().join("home")
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        git_in(&self.work, &self.home(), words).unwrap_or_else(|why| panic!("{why}"))
    }

    fn fails(&self, words: &[&str]) {
        assert!(git_in(&self.work, &self.home(), words).is_err(), "git {words:?} should have stopped");
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.work.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn commits(&self, count: usize) {
        for number in 0..count {
            self.write("counted", &format!("{number}\n{}", "the same line\n".repeat(200)));
            self.write(&format!("folder {}/file {number}", number % 3), &format!("file {number}\n"));
            self.git(&["add", "-A"]);
            self.git(&["commit", "--quiet", "-m", &format!("number {number}")]);
        }
    }

    /// A clone of it, which knows its remote.
    fn cloned(self) -> Self {
        let work = self.scratch.path().join("clone");
        git_in(self.scratch.path(), &self.home(), &["clone", "--quiet", "--no-local", "work", "clone"]).unwrap();
        Self { work, ..self }
    }

    fn kept_at(&self) -> PathBuf {
        self.scratch.path().join("store/user-git/run")
    }

    pub(crate) fn keep(&self) -> SavedGit {
        save(&self.work, &self.kept_at(), Limits::default()).unwrap()
    }

    fn restore(&self) -> RestoredGit {
        restore(&self.kept_at(), &self.work).unwrap()
    }

    fn facts(&self) -> Facts {
        let words: [&[&str]; 7] = [
            &["for-each-ref"],
            &["status", "--porcelain=v2", "--branch"],
            &["status"],
            &["stash", "list"],
            &["log", "--all", "--oneline", "--stat"],
            &["diff", "--cached"],
            &["worktree", "list"],
        ];
        let says = |words: &[&str]| git_in(&self.work, &self.home(), words).unwrap_or_else(|why| why);
        Facts(words.iter().map(|words| (words.join(" "), says(words))).collect())
    }

    fn fsck(&self) {
        let said = self.git(&["fsck", "--full", "--strict", "--no-dangling", "--no-progress"]);
        assert!(!said.contains("missing") && !said.contains("broken"), "{said}");
    }

    fn remove_git(&self) {
        std::fs::remove_dir_all(self.work.join(".git")).unwrap();
    }
}

/// Every file under a folder with its mode, time and bytes; nothing of it asks git.
fn all_of(folder: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut stack = vec![folder.to_owned()];
    while let Some(path) = stack.pop() {
        let stat = std::fs::symlink_metadata(&path).unwrap();
        let bytes = if stat.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
        if stat.is_dir() {
            stack.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        all.insert(path, (stat.permissions().mode(), stat.mtime(), stat.mtime_nsec(), bytes));
    }
    all
}

/// The files of the working tree, which a checkpoint brings back, and not we.
fn files_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = all_of(folder).into_iter().filter(|(path, _)| path.is_file());
    files.filter(|(path, _)| !path.components().any(|part| part.as_os_str() == ".git")).map(|(p, f)| (p, f.3)).collect()
}

fn put_files_back(folder: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) {
    for path in files_of(folder).keys().filter(|path| !files.contains_key(*path)) {
        std::fs::remove_file(path).unwrap();
    }
    for (path, bytes) in files {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// Keeps, damages, brings back: git must see what it saw, find nothing amiss, and see it again when it is done twice.
#[track_caller]
fn comes_back(repo: &Repo, damage: impl FnOnce(&Repo)) -> (SavedGit, RestoredGit) {
    let (facts, files) = (repo.facts(), files_of(&repo.work));
    let before = all_of(&repo.work);
    let kept = repo.keep();
    assert!(kept.saved, "{:?}", kept.remarks);
    assert_eq!(all_of(&repo.work), before, "keeping changes nothing");
    damage(repo);
    let back = repo.restore();
    put_files_back(&repo.work, &files);
    assert_eq!(repo.facts(), facts, "{back:#?}");
    repo.fsck();
    let again = repo.restore();
    assert!(again.refs.is_empty() && again.files.is_empty() && !again.objects, "{again:#?}");
    assert_eq!(repo.facts(), facts);
    (kept, back)
}

fn prune(repo: &Repo) {
    repo.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    repo.git(&["gc", "--quiet", "--prune=now"]);
}

type Scene = (&'static str, fn() -> Repo);

fn plain() -> Repo {
    let repo = Repo::new();
    repo.commits(8);
    repo
}

/// Repositories as people have them.
fn scenes() -> Vec<Scene> {
    vec![
        ("plain", plain),
        ("without a commit", || {
            let repo = Repo::new();
            repo.write("staged", "staged\n");
            repo.git(&["add", "staged"]);
            repo
        }),
        ("detached", || {
            let repo = plain();
            repo.git(&["checkout", "--quiet", "--detach", "HEAD~2"]);
            repo
        }),
        ("rebase", rebasing),
        ("merge", || {
            let repo = two_sides();
            repo.fails(&["merge", "other"]);
            repo
        }),
        ("stashes", || {
            let repo = plain();
            for text in ["one", "two"] {
                repo.write("counted", text);
                repo.write("untracked", text);
                repo.git(&["stash", "push", "--quiet", "--include-untracked", "-m", text]);
            }
            repo.write("staged", "staged");
            repo.git(&["add", "staged"]);
            repo
        }),
        ("packed refs and tags", || {
            let repo = plain();
            repo.git(&["tag", "-a", "-m", "a tag", "v1", "HEAD~3"]);
            repo.git(&["tag", "light", "HEAD~1"]);
            repo.git(&["tag", "-a", "-m", "of a tag", "v2", "v1"]);
            repo.git(&["branch", "deep/er/branch"]);
            repo.git(&["pack-refs", "--all"]);
            repo.git(&["branch", "loose"]);
            repo
        }),
        ("packs with deltas", || {
            let repo = plain();
            repo.commits(30);
            repo.git(&["gc", "--quiet", "--aggressive"]);
            repo.commits(3);
            repo
        }),
        ("index of the fourth version", || {
            let repo = plain();
            repo.git(&["update-index", "--index-version", "4"]);
            repo.write("staged", "staged");
            repo.git(&["add", "staged"]);
            repo
        }),
        ("split index", || {
            let repo = plain();
            repo.git(&["update-index", "--split-index"]);
            repo.write("staged", "staged");
            repo.git(&["add", "staged"]);
            repo
        }),
    ]
}

fn two_sides() -> Repo {
    let repo = plain();
    repo.git(&["checkout", "--quiet", "-b", "other"]);
    repo.write("counted", "theirs\n");
    repo.git(&["commit", "--quiet", "-am", "theirs"]);
    repo.git(&["checkout", "--quiet", "main"]);
    repo.write("counted", "ours\n");
    repo.git(&["commit", "--quiet", "-am", "ours"]);
    repo
}

fn rebasing() -> Repo {
    let repo = two_sides();
    repo.fails(&["rebase", "other"]);
    repo
}

#[test]
fn a_repository_comes_back_after_it_was_removed_altogether() {
    for (name, scene) in scenes() {
        let repo = scene();
        let (_, back) = comes_back(&repo, Repo::remove_git);
        assert_eq!(back.undo, None, "{name}: there was nothing to keep aside");
    }
}

#[test]
fn a_repository_comes_back_after_history_was_thrown_away() {
    for (name, scene) in scenes() {
        if name == "without a commit" {
            continue;
        }
        let repo = scene();
        let (_, back) = comes_back(&repo, |repo| {
            for under_way in ["rebase", "merge"] {
                git_in(&repo.work, &repo.home(), &[under_way, "--abort"]).ok();
            }
            repo.git(&["reset", "--quiet", "--hard", "HEAD~5"]);
            repo.git(&["stash", "clear"]);
            prune(repo);
        });
        // Another branch still has them there.
        let elsewhere = ["detached", "packed refs and tags"].contains(&name);
        assert!(back.objects != elsewhere && back.undo.is_some(), "{back:#?}");
    }
}

#[test]
fn a_deleted_branch_comes_back_and_one_made_since_stays_and_is_named() {
    let repo = plain();
    repo.git(&["branch", "feature", "HEAD~1"]);
    repo.git(&["branch", "a", "HEAD~1"]);
    repo.keep();
    repo.git(&["branch", "-D", "feature", "a"]);
    repo.git(&["branch", "new"]);
    repo.git(&["branch", "a/b"]);
    repo.git(&["checkout", "--quiet", "-b", "elsewhere"]);
    repo.commits(2);
    let theirs = repo.git(&["rev-parse", "HEAD"]);
    let back = repo.restore();
    assert_eq!(back.refs, ["refs/heads/feature"]);
    assert_eq!(back.stayed, ["refs/heads/a/b", "refs/heads/elsewhere", "refs/heads/new"]);
    assert!(back.remarks.iter().any(|said| said.contains("refs/heads/a/b was made since")), "{back:#?}");
    assert_eq!(repo.git(&["symbolic-ref", "HEAD"]), "refs/heads/main\n");
    assert_eq!(repo.git(&["rev-parse", "elsewhere"]), theirs);
    repo.fsck();
}

#[test]
fn what_was_there_before_can_be_brought_back_itself() {
    let repo = plain();
    repo.keep();
    repo.git(&["checkout", "--quiet", "-b", "elsewhere", "HEAD~3"]);
    repo.git(&["branch", "-f", "main", "HEAD~1"]);
    repo.write("staged", "staged\n");
    repo.git(&["add", "staged"]);
    let facts = repo.facts();
    let files = files_of(&repo.work);
    let back = repo.restore();
    assert_ne!(repo.facts(), facts);
    restore(&back.undo.unwrap(), &repo.work).unwrap();
    put_files_back(&repo.work, &files);
    assert_eq!(repo.facts(), facts);
    repo.fsck();
}

#[test]
fn what_a_remote_has_is_not_kept_and_comes_back_with_a_fetch() {
    let repo = plain();
    repo.commits(20);
    repo.git(&["tag", "-a", "-m", "old", "v0", "HEAD~15"]);
    let repo = repo.cloned();
    let kept = repo.keep();
    assert_eq!(kept.objects, 1, "only the tag itself, which no branch of the remote reaches: {kept:?}");
    std::fs::remove_dir_all(repo.kept_at()).unwrap();
    repo.git(&["checkout", "--quiet", "-b", "local"]);
    repo.write("folder 1/mine", "mine\n");
    repo.write("staged", "staged\n");
    repo.git(&["add", "folder 1/mine"]);
    repo.git(&["commit", "--quiet", "-m", "mine"]);
    repo.git(&["add", "staged"]);
    let facts = repo.facts();
    let kept = repo.keep();
    assert_eq!(kept.objects, 6, "a commit, two trees, two files, the tag: {kept:?}");
    let fetched = repo.git(&["rev-parse", "origin/main"]);
    // While the remote's objects are there, all comes back at once.
    repo.git(&["checkout", "--quiet", "--force", "main"]);
    repo.git(&["branch", "-D", "local"]);
    prune(&repo);
    let back = repo.restore();
    repo.write("staged", "staged\n");
    repo.write("folder 1/mine", "mine\n");
    assert_eq!(repo.facts(), facts, "{back:#?}");
    repo.fsck();
    // And without them, after a fetch.
    repo.remove_git();
    let back = repo.restore();
    assert!(back.waiting.iter().any(|name| name.starts_with("refs/heads/local")), "{back:#?}");
    assert!(back.remarks.iter().any(|said| said.contains("git fetch")), "{back:#?}");
    repo.fsck();
    repo.git(&["status"]);
    repo.git(&["fetch", "--quiet"]);
    assert_eq!(repo.git(&["rev-parse", "origin/main"]), fetched);
    let back = repo.restore();
    assert!(back.waiting.is_empty(), "{back:#?}");
    assert_eq!(repo.facts(), facts, "{back:#?}");
    repo.fsck();
}

#[test]
fn a_worktree_comes_back_and_its_repository_with_it() {
    let repo = plain();
    let tree = repo.scratch.path().join("tree");
    repo.git(&["worktree", "add", "--quiet", "-b", "side", &tree.display().to_string()]);
    let main_facts = repo.facts();
    let tree = Repo { work: tree, ..repo };
    tree.commits(3);
    let damages: [fn(&Repo); 3] = [
        |tree| {
            tree.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
            prune(tree);
        },
        |tree| std::fs::remove_file(tree.work.join(".git")).unwrap(),
        |tree| {
            std::fs::remove_file(tree.work.join(".git")).unwrap();
            git_in(&tree.scratch.path().join("work"), &tree.home(), &["worktree", "prune"]).unwrap();
            git_in(&tree.scratch.path().join("work"), &tree.home(), &["branch", "-D", "side"]).unwrap();
        },
    ];
    for damage in damages {
        comes_back(&tree, damage);
        std::fs::remove_dir_all(tree.kept_at()).unwrap();
    }
    // Other working trees are as they were, and the main repository knows this one again.
    let main = Repo { work: tree.scratch.path().join("work"), ..tree };
    assert_eq!(main.facts().0[1], main_facts.0[1]);
    // Its repository gone: nothing can be done from here, and nothing is.
    let tree = Repo { work: main.scratch.path().join("tree"), ..main };
    tree.keep();
    std::fs::remove_dir_all(tree.scratch.path().join("work/.git")).unwrap();
    let refused = restore(&tree.kept_at(), &tree.work).unwrap_err();
    assert!(refused.to_string().contains("no longer at"), "{refused}");
}

#[test]
fn a_submodule_comes_back_where_its_repository_lies() {
    let repo = plain();
    let inner = Repo::new();
    inner.commits(3);
    let from = inner.work.display().to_string();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "inner"]);
    repo.git(&["commit", "--quiet", "-m", "with a submodule"]);
    let inner = Repo { work: repo.work.join("inner"), ..repo };
    inner.commits(2);
    let (kept, _) = comes_back(&inner, |inner| {
        inner.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
        prune(inner);
        std::fs::remove_file(inner.work.join(".git")).unwrap();
    });
    assert!(kept.objects > 0);
}

#[test]
fn a_main_repository_comes_back_with_what_its_worktrees_have() {
    let repo = plain();
    let tree = repo.scratch.path().join("tree");
    repo.git(&["worktree", "add", "--quiet", "--detach", &tree.display().to_string()]);
    std::fs::write(tree.join("more"), "more").unwrap();
    git_in(&tree, &repo.home(), &["add", "more"]).unwrap();
    git_in(&tree, &repo.home(), &["commit", "--quiet", "-m", "detached"]).unwrap();
    comes_back(&repo, Repo::remove_git);
    assert_eq!(git_in(&tree, &repo.home(), &["status", "--porcelain"]).unwrap(), "");
}

#[test]
fn a_pointer_that_nothing_points_back_to_is_not_followed() {
    let secret = plain();
    let folder = tempfile::tempdir().unwrap();
    let pointer = format!("gitdir: {}\n", secret.work.join(".git").display());
    std::fs::write(folder.path().join(".git"), pointer).unwrap();
    let kept = save(folder.path(), &folder.path().join("kept"), Limits::default()).unwrap();
    assert!(!kept.saved && kept.remarks[0].contains("does not point back"), "{kept:?}");
    std::fs::remove_file(folder.path().join(".git")).unwrap();
    std::os::unix::fs::symlink(secret.work.join(".git"), folder.path().join(".git")).unwrap();
    let kept = save(folder.path(), &folder.path().join("kept"), Limits::default()).unwrap();
    assert!(!kept.saved && !kept.remarks.is_empty(), "{kept:?}");
    assert!(!folder.path().join("kept").exists());
}

#[test]
fn nothing_is_written_through_links_and_nothing_while_git_runs() {
    let repo = plain();
    repo.keep();
    std::fs::write(repo.work.join(".git/index.lock"), "").unwrap();
    repo.git(&["update-ref", "refs/heads/main", "HEAD~2"]);
    let before = all_of(&repo.work);
    let refused = restore(&repo.kept_at(), &repo.work).unwrap_err();
    assert!(refused.to_string().contains("index.lock"), "{refused}");
    assert_eq!(all_of(&repo.work), before);
    std::fs::remove_file(repo.work.join(".git/index.lock")).unwrap();
    // A folder of refs that leads elsewhere makes room; nothing is written there.
    let outside = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(repo.work.join(".git/refs/heads")).unwrap();
    std::os::unix::fs::symlink(outside.path(), repo.work.join(".git/refs/heads")).unwrap();
    std::fs::remove_dir_all(repo.work.join(".git/logs")).unwrap();
    std::os::unix::fs::symlink(outside.path(), repo.work.join(".git/logs")).unwrap();
    let back = repo.restore();
    assert!(back.remarks.iter().any(|said| said.contains("in the way")), "{back:#?}");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    // Objects that lie elsewhere are not guessed about.
    std::fs::rename(repo.work.join(".git/objects"), outside.path().join("objects")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("objects"), repo.work.join(".git/objects")).unwrap();
    let before = all_of(outside.path());
    assert!(restore(&repo.kept_at(), &repo.work).is_err());
    assert_eq!(all_of(outside.path()), before);
}

#[test]
fn a_locked_index_is_kept_as_it_is_and_said() {
    for scene in [plain, rebasing] {
        let repo = scene();
        std::fs::write(repo.work.join(".git/index.lock"), "half an ind").unwrap();
        let before = all_of(&repo.work);
        let kept = repo.keep();
        assert!(kept.remarks.iter().any(|said| said.contains("index.lock")), "{kept:?}");
        assert_eq!(all_of(&repo.work), before);
    }
}

#[test]
fn shallow_and_foreign_repositories_are_said() {
    let repo = plain();
    let work = repo.scratch.path().join("shallow");
    let from = format!("file://{}", repo.work.display());
    git_in(repo.scratch.path(), &repo.home(), &["clone", "--quiet", "--depth=2", &from, "shallow"]).unwrap();
    let shallow = Repo { work, ..repo };
    shallow.commits(1);
    let (kept, _) = comes_back(&shallow, |repo| {
        repo.git(&["reset", "--quiet", "--hard", "origin/main"]);
        prune(repo);
    });
    assert!(kept.objects < 10, "{kept:?}");
    let folder = tempfile::tempdir().unwrap();
    git_in(folder.path(), folder.path(), &["init", "--quiet", "--object-format=sha256"]).unwrap();
    let kept = save(folder.path(), &folder.path().join("kept"), Limits::default()).unwrap();
    assert!(!kept.saved && kept.remarks[0].contains("sha256"), "{kept:?}");
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(save(empty.path(), &empty.path().join("kept"), Limits::default()).unwrap(), SavedGit::default());
}

#[test]
fn objects_of_another_repository_are_found_and_too_many_are_said() {
    let repo = plain();
    git_in(repo.scratch.path(), &repo.home(), &["clone", "--quiet", "--shared", "work", "shared"]).unwrap();
    let shared = Repo { work: repo.scratch.path().join("shared"), ..repo };
    shared.commits(2);
    comes_back(&shared, |repo| {
        repo.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
        prune(repo);
    });
    std::fs::remove_dir_all(shared.kept_at()).unwrap();
    for limits in [
        Limits { objects: 3, ..Limits::default() },
        Limits { bytes: 20, ..Limits::default() },
        Limits { time: std::time::Duration::ZERO, ..Limits::default() },
    ] {
        for work in ["work", "shared"] {
            let kept = save(&shared.scratch.path().join(work), &shared.kept_at(), limits).unwrap();
            assert!(kept.saved && kept.objects == 0, "{kept:?}");
            assert!(kept.remarks.iter().any(|said| said.contains("are not saved, because")), "{kept:?}");
            assert!(!shared.kept_at().join("objects.pack").exists());
            std::fs::remove_dir_all(shared.kept_at()).unwrap();
        }
    }
}

/// A repository with a long history, made quickly.
fn long(commits: usize) -> Repo {
    let repo = Repo::new();
    let mut stream = String::new();
    for number in 0..commits {
        let seconds = 1_600_000_000 + number * 60;
        let text = format!("{number}\n");
        stream += &format!("commit refs/heads/main\ncommitter a <a@b> {seconds} +0000\ndata 1\nx\n");
        let (folder, file) = (number % 97, number % 1009);
        stream += &format!("M 100644 inline folder{folder}/file{file}\ndata {}\n{text}\n", text.len());
    }
    let path = repo.scratch.path().join("stream");
    std::fs::write(&path, stream).unwrap();
    let imported = Command::new("git")
        .current_dir(&repo.work)
        .args(["fast-import", "--quiet"])
        .stdin(std::fs::File::open(path).unwrap())
        .env("HOME", repo.home())
        .status();
    assert!(imported.unwrap().success());
    repo.git(&["reset", "--quiet", "--hard"]);
    repo
}

#[test]
#[expect(clippy::print_stdout, reason = "what it takes is part of the result")]
fn a_long_history_that_a_remote_has_is_not_gone_through() {
    let commits = std::env::var("COMMITS").ok().and_then(|count| count.parse().ok()).unwrap_or(1500);
    let repo = long(commits);
    let began = std::time::Instant::now();
    let kept = repo.keep();
    println!("{commits} commits without a remote: {:?}, {kept:?}", began.elapsed());
    std::fs::remove_dir_all(repo.kept_at()).unwrap();
    let repo = repo.cloned();
    let began = std::time::Instant::now();
    let kept = repo.keep();
    println!("all on a remote: {:?}, {kept:?}", began.elapsed());
    assert_eq!(kept.objects, 0);
    assert!(kept.gone_through < 120, "the tip and the folders of HEAD: {kept:?}");
    std::fs::remove_dir_all(repo.kept_at()).unwrap();
    repo.write("folder1/mine", "mine");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "--quiet", "-m", "mine"]);
    repo.git(&["checkout", "--quiet", "-b", "old", "HEAD~20"]);
    repo.git(&["commit", "--quiet", "--allow-empty", "-m", "old"]);
    let began = std::time::Instant::now();
    let kept = repo.keep();
    println!("and two commits: {:?}, {kept:?}", began.elapsed());
    assert_eq!(kept.objects, 5);
    assert!(kept.gone_through < 300, "{kept:?}");
    std::fs::remove_dir_all(repo.kept_at()).unwrap();
    repo.git(&["tag", "first", &format!("HEAD~{}", commits - 50)]);
    let began = std::time::Instant::now();
    let kept = repo.keep();
    println!("and a tag at the beginning: {:?}, {kept:?}", began.elapsed());
    assert_eq!(kept.objects, 5);
}
