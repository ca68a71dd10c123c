//! Restoring a repository to its saved state: objects first, then refs and files. Nothing that was made since is
//! removed. What is overwritten is saved before, in a form that can itself be restored. A restore that was cut off
//! is finished by doing it again.
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::UserGitError;
use super::folder::{GitFolder, is_folder};
use super::location::Shape;
use super::present::Present;
use super::refs::{self, RefValue, Refs, resolve, shown};
use super::remarks::Remarks;
use super::save::{head_of, save_parts};
use super::saved::SavedState;
use super::state::list;
use crate::checkpoint::git::object::Id;

/// While one of these is there, a git command runs or was killed.
const LOCKS: &[(bool, &str)] =
    &[(false, "index.lock"), (false, "HEAD.lock"), (true, "packed-refs.lock"), (true, "config.lock")];

/// What was restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoredGit {
    /// Refs that were set to what they were, or made again.
    pub refs: Vec<String>,
    /// Files of the repository that were written: HEAD, index, config …
    pub files: Vec<String>,
    /// Whether objects were missing and were restored.
    pub objects: bool,
    /// Branches, tags and stashes that were made since: they stay.
    pub stayed: Vec<String>,
    /// Refs that could not be set, because what is behind them was on a remote only.
    pub waiting: Vec<String>,
    /// What was there before, to be restored itself with the same call; none if there was no repository.
    pub undo: Option<PathBuf>,
    /// What else a person should know, in sentences.
    pub remarks: Vec<String>,
}

/// Restores the repository of a workspace to what was saved in a folder.
///
/// # Errors
/// When it is refused, and nothing was changed; or when something cannot be written, and doing it again goes on.
pub fn restore(saved_folder: &Path, workspace: &Path) -> Result<RestoredGit, UserGitError> {
    let failed = |source: io::Error| UserGitError::Io { what: "restoring the repository".to_owned(), source };
    let saved = SavedState::read(saved_folder)
        .map_err(|source| UserGitError::Io { what: format!("reading {}", saved_folder.display()), source })?;
    let mut remarks = Remarks::default();
    check(&saved, workspace)?;
    let mut moved = Vec::new();
    let undo = make_room(&saved, workspace, saved_folder, &mut remarks, &mut moved)?;
    let (git, common) = open(&saved, workspace, &mut moved).map_err(failed)?;
    let (present, objects) = Present::restore(&saved, saved_folder, &common, &mut remarks).map_err(failed)?;
    let now = refs::read(&common, &mut Remarks::default());
    let mut restoring = Restoring {
        saved: &saved,
        git,
        common,
        present,
        now,
        remarks,
        moved,
        changed: BTreeMap::new(),
        back: RestoredGit { objects, undo, ..RestoredGit::default() },
    };
    restoring.refs().map_err(failed)?;
    restoring.files().map_err(failed)?;
    restoring.name_the_rest();
    rustix::fs::syncfs(&restoring.common.0).map_err(|error| failed(error.into()))?;
    let Restoring { mut back, remarks, .. } = restoring;
    back.remarks = remarks.all();
    Ok(back)
}

/// What forbids it, before anything is changed.
fn check(saved: &SavedState, workspace: &Path) -> Result<(), UserGitError> {
    let refused = |why: String| Err(UserGitError::Refused(why));
    let cannot = |error: io::Error| UserGitError::Refused(format!("{}: {error}", workspace.display()));
    let (git, common) = match saved.shape {
        Shape::Folder => {
            let git = GitFolder::open(workspace).map_err(cannot)?.below(b".git").ok();
            (git, GitFolder::open(workspace).map_err(cannot)?.below(b".git").ok())
        }
        Shape::Pointer => {
            let common = GitFolder::open_without_links(&saved.common_path).ok();
            let same = common.as_ref().is_some_and(|common| common.identity().is_ok_and(|at| at == saved.identity));
            if !same {
                let at = saved.common_path.display();
                return refused(format!("the repository that this working tree belongs to is no longer at {at}"));
            }
            (GitFolder::open_without_links(&saved.git_path).ok(), common)
        }
    };
    for (shared, lock) in LOCKS {
        let folder = if *shared { &common } else { &git };
        if folder.as_ref().is_some_and(|folder| folder.has(lock.as_bytes())) {
            return refused(format!(
                "{lock} is there: a git command runs, or one was killed. If none runs, remove it and try again."
            ));
        }
    }
    for name in ["objects", "objects/pack", "refs"] {
        let stat = common.as_ref().and_then(|common| common.stat(name.as_bytes()).ok().flatten());
        if stat.is_some_and(|stat| !is_folder(&stat)) {
            return refused(format!("{name} of the repository is a link or a file: nothing is written through it"));
        }
    }
    Ok(())
}

/// Saves the present state aside and makes `.git` what it was: a folder, or a file that leads to one.
fn make_room(
    saved: &SavedState,
    workspace: &Path,
    saved_folder: &Path,
    remarks: &mut Remarks,
    moved: &mut Vec<Vec<u8>>,
) -> Result<Option<PathBuf>, UserGitError> {
    let failed = |source: io::Error| UserGitError::Io { what: "saving the present state".to_owned(), source };
    let top = GitFolder::open(workspace).map_err(failed)?;
    let stat = top.stat(b".git").map_err(failed)?;
    let fits = match (&stat, saved.shape) {
        (None, _) => true,
        (Some(stat), Shape::Folder) => is_folder(stat),
        (Some(_), Shape::Pointer) => top.read(b".git", 64 * 1024).ok().flatten() == Some(saved.pointer.clone()),
    };
    let mut away = |top: &GitFolder, why: &str| -> Result<(), UserGitError> {
        let new = top.aside(b".git").map_err(failed)?;
        remarks.add(format!("{why}; it is now called {}", shown(&new)));
        Ok(())
    };
    if !fits {
        away(&top, "`.git` was something else than before")?;
    }
    if saved.shape == Shape::Pointer && (!fits || stat.is_none()) {
        top.put(b".git", &saved.pointer, moved).map_err(failed)?;
    }
    if saved.shape == Shape::Pointer {
        tie(saved, moved).map_err(failed)?;
    } else if stat.is_none() || !fits {
        return Ok(None);
    }
    let undo = fresh_folder(saved_folder).map_err(failed)?;
    let before = save_parts(workspace, &undo, None)?;
    if before.saved {
        return Ok(Some(undo));
    }
    if saved.shape == Shape::Folder {
        let why = before.remarks.first().cloned().unwrap_or_default();
        away(&top, &format!("the present `.git` could not be saved ({why})"))?;
        return Ok(None);
    }
    Err(UserGitError::Refused(before.remarks.join(" ")))
}

fn fresh_folder(saved_folder: &Path) -> io::Result<PathBuf> {
    Ok(saved_folder.join(format!("before-{}", crate::fs::fresh_id()?)))
}

/// What ties a worktree to its repository, where that was removed.
fn tie(saved: &SavedState, moved: &mut Vec<Vec<u8>>) -> io::Result<()> {
    let common = GitFolder::open_without_links(&saved.common_path)?;
    let git = common.made(&below_common(saved), moved)?;
    for name in [&b"commondir"[..], b"gitdir", b"HEAD"] {
        if let Some(bytes) = saved.own(name).filter(|_| !git.has(name)) {
            git.put(name, bytes, moved)?;
        }
    }
    Ok(())
}

/// Where the working tree's own part lies in what all share.
fn below_common(saved: &SavedState) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let below = saved.git_path.strip_prefix(&saved.common_path).unwrap_or(Path::new(""));
    below.as_os_str().as_bytes().to_vec()
}

fn open(saved: &SavedState, workspace: &Path, moved: &mut Vec<Vec<u8>>) -> io::Result<(GitFolder, GitFolder)> {
    let common = match saved.shape {
        Shape::Folder => GitFolder::open(workspace)?.made(b".git", moved)?,
        Shape::Pointer => GitFolder::open_without_links(&saved.common_path)?,
    };
    for name in [&b"objects/info"[..], b"objects/pack", b"refs/heads", b"refs/tags"] {
        common.made(name, moved)?;
    }
    Ok((common.made(&below_common(saved), moved)?, common))
}

/// A ref that was set: its commit before, if it had one, and after.
#[derive(Debug, Clone, Copy)]
pub(super) struct RefChange {
    pub(super) before: Option<Id>,
    pub(super) after: Id,
}

/// A restore that is in progress.
pub(super) struct Restoring<'a> {
    pub(super) saved: &'a SavedState,
    pub(super) git: GitFolder,
    pub(super) common: GitFolder,
    pub(super) present: Present,
    /// The refs as they were found.
    pub(super) now: Refs,
    pub(super) remarks: Remarks,
    /// What had to make room.
    pub(super) moved: Vec<Vec<u8>>,
    /// Refs that were set.
    pub(super) changed: BTreeMap<Vec<u8>, RefChange>,
    pub(super) back: RestoredGit,
}

impl Restoring<'_> {
    fn refs(&mut self) -> io::Result<()> {
        for (name, value) in &self.saved.refs {
            if self.now.get(name) == Some(value) {
                continue;
            }
            let Some(id) = resolve(value, &self.saved.refs) else { continue };
            if !self.present.is_complete(&id) {
                self.back.waiting.push(format!("{} ({id})", shown(name)));
                continue;
            }
            if let Some(other) = self.conflicting_ref(name) {
                self.remarks.add(format!(
                    "{} ({id}) could not be made again, because {} was made since",
                    shown(name),
                    shown(&other)
                ));
                continue;
            }
            match self.common.put(name, &value.text(), &mut self.moved) {
                Ok(()) => {
                    let before = self.now.get(name).and_then(|value| resolve(value, &self.now));
                    self.changed.insert(name.clone(), RefChange { before, after: id });
                    self.back.refs.push(shown(name));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    self.remarks.add(format!("{} is locked and was not set to {id}", shown(name)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A ref that is there now and cannot be there together with another: `a` and `a/b`.
    fn conflicting_ref(&self, name: &[u8]) -> Option<Vec<u8>> {
        let below = [name, b"/"].concat();
        let other = |other: &&Vec<u8>| {
            let above = name.strip_prefix(other.as_slice()).is_some_and(|rest| rest.starts_with(b"/"));
            above || other.starts_with(&below)
        };
        self.now.keys().find(other).cloned()
    }

    /// Whether what HEAD names is there, or was never there (a repository without a commit).
    pub(super) fn head_is_complete(&mut self) -> bool {
        head_of(self.saved, &self.saved.refs).is_none_or(|id| self.present.is_complete(&id))
    }

    fn name_the_rest(&mut self) {
        let since = |name: &&Vec<u8>| !self.saved.refs.contains_key(*name) && !name.starts_with(b"refs/remotes/");
        self.back.stayed = self.now.keys().filter(since).map(|name| shown(name)).collect();
        if let Some(RefValue::Ref(branch)) = self.saved.head() {
            for tree in self.trees_at(&branch) {
                self.remarks.add(format!("{} is checked out in another working tree as well: {tree}", shown(&branch)));
            }
        }
        if !self.moved.is_empty() {
            let names: Vec<String> = self.moved.iter().map(|name| shown(name)).collect();
            self.remarks.add(format!("these were in the way and were renamed to {}", list(&names)));
        }
        if !self.back.waiting.is_empty() {
            self.remarks.add(format!(
                "{} could not be restored yet: the objects behind were on a remote only. Run `git fetch`, then \
                 restore it again.",
                list(&self.back.waiting)
            ));
        }
        if self.back.undo.is_none() {
            self.remarks.add("hooks are programs and are not restored");
        }
    }

    /// The other working trees that have a branch checked out.
    fn trees_at(&self, branch: &[u8]) -> Vec<String> {
        let own = below_common(self.saved);
        let names = self.common.below(b"worktrees").and_then(|folder| folder.names()).unwrap_or_default();
        let mut folders: Vec<Vec<u8>> =
            names.into_iter().map(|(name, _)| [b"worktrees/", name.as_slice()].concat()).collect();
        folders.push(Vec::new());
        folders.retain(|folder| *folder != own);
        let at_branch = |folder: &Vec<u8>| {
            let path = crate::checkpoint::user_git::folder::joined(folder, b"HEAD");
            let head = self.common.read(&path, 64 * 1024).ok().flatten();
            head.and_then(|text| RefValue::parse(&text)) == Some(RefValue::Ref(branch.to_vec()))
        };
        let shown = |folder: &Vec<u8>| if folder.is_empty() { "the main one".to_owned() } else { shown(folder) };
        folders.iter().filter(|folder| at_branch(folder)).map(shown).collect()
    }
}
