//! Where the repository of a workspace is. `.git` is a folder, or a file that names one (a worktree or a
//! submodule). Such a pointer is followed only if its target points back to this workspace, as git writes it.
//! Otherwise anybody who can write one file here could make us read, and in a restore write, any repository of the
//! user.
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::config;
use super::folder::{GitFolder, is_folder};

/// A pointer is a line.
const POINTER_BYTES_MAX: u64 = 8 * 1024;
/// A configuration that is longer is not read.
pub(super) const CONFIG_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// What `.git` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) enum Shape {
    /// A folder.
    Folder,
    /// The file of a worktree, or of a submodule.
    Pointer,
}

/// The repository of a workspace.
#[derive(Debug)]
pub(super) struct GitLocation {
    pub(super) shape: Shape,
    /// What is this working tree's own: HEAD, index.
    pub(super) git: GitFolder,
    pub(super) git_path: PathBuf,
    /// What all working trees share: refs, objects, configuration. The same folder where there is one only.
    pub(super) common: GitFolder,
    pub(super) common_path: PathBuf,
}

impl GitLocation {
    /// That of a workspace which is the top of its repository. None if it has no `.git`.
    ///
    /// # Errors
    /// Why it is not read, as a sentence.
    pub(super) fn of(workspace: &Path) -> Result<Option<Self>, String> {
        let odd = |error: io::Error| format!("`.git` cannot be read: {error}");
        let top = GitFolder::open(workspace).map_err(odd)?;
        let Some(stat) = top.stat(b".git").map_err(odd)? else { return Ok(None) };
        if is_folder(&stat) {
            let path = fs::canonicalize(workspace).map_err(odd)?.join(".git");
            let [git, common] = [top.below(b".git").map_err(odd)?, top.below(b".git").map_err(odd)?];
            let (git_path, common_path) = (path.clone(), path);
            // That of a worktree names another folder; one that lies here does not.
            return Ok(Some(Self { shape: Shape::Folder, git, git_path, common, common_path }));
        }
        let text = top
            .file(b".git")
            .and_then(|file| crate::checkpoint::user_git::folder::read_bounded(file, POINTER_BYTES_MAX));
        let text = text.map_err(|error| format!("`.git` is neither a folder nor a file that leads to one: {error}"))?;
        Self::led(workspace, &text).map(Some)
    }

    fn led(workspace: &Path, text: &[u8]) -> Result<Self, String> {
        let target = pointer(text).ok_or("`.git` is a file that leads nowhere")?;
        let shown = workspace.join(OsStr::from_bytes(target));
        let odd = |error: io::Error| format!("`.git` leads to {}, which cannot be read: {error}", shown.display());
        let git_path = fs::canonicalize(&shown).map_err(odd)?;
        let git = GitFolder::open_without_links(&git_path).map_err(odd)?;
        let common_path = match git.read(b"commondir", POINTER_BYTES_MAX).map_err(odd)? {
            Some(text) => fs::canonicalize(git_path.join(OsStr::from_bytes(text.trim_ascii()))).map_err(odd)?,
            None => git_path.clone(),
        };
        let common = GitFolder::open_without_links(&common_path).map_err(odd)?;
        let location = Self { shape: Shape::Pointer, git, git_path, common, common_path };
        if location.points_back(workspace).map_err(odd)? {
            return Ok(location);
        }
        Err(format!("`.git` leads to {}, which does not point back to this folder: it is not read", shown.display()))
    }

    fn points_back(&self, workspace: &Path) -> io::Result<bool> {
        let here = GitFolder::open(workspace)?.identity()?;
        let is_here =
            |path: PathBuf| GitFolder::open(&path).and_then(|folder| folder.identity()).is_ok_and(|at| at == here);
        if self.git_path == self.common_path {
            // A submodule: its own configuration names the folder of its files.
            let config = self.git.read(b"config", CONFIG_BYTES_MAX)?.unwrap_or_default();
            let tree = config::value(&config, "core", "worktree");
            return Ok(tree.is_some_and(|tree| is_here(self.git_path.join(tree))));
        }
        let listed = self.git_path.parent() == Some(self.common_path.join("worktrees").as_path());
        let back = self.git.read(b"gitdir", POINTER_BYTES_MAX)?.unwrap_or_default();
        let back = self.git_path.join(OsStr::from_bytes(back.trim_ascii()));
        let named = back.file_name() == Some(OsStr::new(".git"));
        Ok(listed && named && back.parent().is_some_and(|folder| is_here(folder.to_owned())))
    }
}

/// Where the text of a `.git` file leads.
pub(super) fn pointer(text: &[u8]) -> Option<&[u8]> {
    let target = text.strip_prefix(b"gitdir:")?.trim_ascii();
    (!target.is_empty() && !target.contains(&0) && !target.contains(&b'\n')).then_some(target)
}
