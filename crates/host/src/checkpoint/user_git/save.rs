//! Saving a repository at the start of a run: HEAD, refs, logs, index, configuration and operations in progress as
//! they are, and one pack with the objects that no remote is known to have.
use std::collections::HashSet;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use super::copy::{Failed, copy};
use super::folder::GitFolder;
use super::index::{COMMIT_MODE, Index};
use super::location::{CONFIG_BYTES_MAX, GitLocation, Shape};
use super::objects::Objects;
use super::refs::{self, RefValue, Refs, resolve, shown};
use super::remarks::Remarks;
use super::saved::{PACK, SavedState};
use super::walk::{Limits, ObjectsToSave, Stopped, Tips, Walk};
use super::{UserGitError, config, state};
use crate::checkpoint::git::object::{FOLDER, Id, ObjectKind};

/// Ids in a file that is longer are no names of commits in progress.
const SHORT_FILE_BYTES: usize = 8 * 1024;

/// What was saved of a repository.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SavedGit {
    /// Whether there is anything that could be restored. If not, `remarks` says why; `remarks` is empty where there is
    /// no repository.
    pub saved: bool,
    /// How many refs.
    pub refs: usize,
    /// How many objects, in the pack.
    pub objects: usize,
    /// How long the pack is.
    pub bytes: u64,
    /// How many objects had to be read to know which to save.
    pub gone_through: usize,
    /// What is not saved, or only in part, in sentences.
    pub remarks: Vec<String>,
}

/// The remark about a repository that the workspace is only a folder of.
pub(super) const IS_ABOVE: &str = "your git repository is above this folder: checkpoints do not include it";

/// Saves the repository of a workspace in a folder that is not there yet: complete and safe on disk, or absent.
/// Nothing in the repository is changed.
///
/// # Errors
/// When the folder cannot be written. Something unusual in the repository is not an error: it is reported.
pub fn save(workspace: &Path, folder: &Path, limits: Limits) -> Result<SavedGit, UserGitError> {
    save_parts(workspace, folder, Some(limits))
}

/// The same; without limits, without objects.
pub(super) fn save_parts(workspace: &Path, folder: &Path, limits: Option<Limits>) -> Result<SavedGit, UserGitError> {
    let not = |remarks: Vec<String>| Ok(SavedGit { remarks, ..SavedGit::default() });
    let location = match GitLocation::of(workspace) {
        Ok(Some(location)) => location,
        Ok(None) if crate::checkpoint::user_git::ignores::above(workspace).is_some() => {
            return not(vec![IS_ABOVE.to_owned()]);
        }
        Ok(None) => return not(Vec::new()),
        Err(why) => return not(vec![format!("{why}. The repository is not saved.")]),
    };
    if let Some(why) = foreign(&location) {
        return not(vec![why]);
    }
    let failed = |source: io::Error| UserGitError::Io { what: format!("keeping {}", folder.display()), source };
    let making = Making::begin(folder).map_err(failed)?;
    let mut remarks = Remarks::default();
    let mut saved = read(&location, workspace, &mut remarks).map_err(failed)?;
    let mut result = SavedGit { saved: true, refs: saved.refs.len(), ..SavedGit::default() };
    if let Some(limits) = limits {
        match objects(&location, &mut saved, &making.path, limits, &mut remarks) {
            Ok(counts) => {
                result.objects = counts.objects;
                result.bytes = counts.bytes;
                result.gone_through = counts.gone_through;
            }
            Err(Failed::Io(error)) => return Err(failed(error)),
            Err(Failed::Stopped(why)) => {
                making.without_objects().map_err(failed)?;
                saved.leans_on = tips_of(&saved, &location).ours;
                remarks.add(format!(
                    "the objects of the repository are not saved, because {why}: branches can be restored only \
                     while `.git` still has them"
                ));
            }
        }
    }
    saved.remarks = remarks.all();
    result.remarks.clone_from(&saved.remarks);
    making.finish(&saved, folder).map_err(failed)?;
    Ok(result)
}

/// Whether the repository of a workspace is of a kind that is not understood.
pub(crate) fn is_foreign(workspace: &Path) -> bool {
    GitLocation::of(workspace).is_ok_and(|found| found.is_some_and(|location| foreign(&location).is_some()))
}

/// What of a kind that is not understood is reported and left.
fn foreign(location: &GitLocation) -> Option<String> {
    let config = location.common.read(b"config", CONFIG_BYTES_MAX).ok().flatten().unwrap_or_default();
    // Two words out of the repository's own configuration: they name its format and execute nothing.
    let of = |key: &str| config::value(&config, "extensions", key).unwrap_or_default();
    if of("objectformat").eq_ignore_ascii_case("sha256") {
        return Some("the repository uses sha256 object names: it is not saved".to_owned());
    }
    let tables = of("refstorage").eq_ignore_ascii_case("reftable") || location.common.has_folder(b"reftable");
    tables.then(|| "the repository stores its refs in a reftable: it is not saved".to_owned())
}

/// A folder that is being made under a temporary name.
struct Making {
    path: PathBuf,
}

impl Making {
    fn begin(folder: &Path) -> io::Result<Self> {
        if fs::symlink_metadata(folder).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
        DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        let path = parent.join(format!("new-{}", crate::fs::fresh_id()?));
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self { path })
    }

    /// Half a pack is none.
    fn without_objects(&self) -> io::Result<()> {
        match fs::remove_file(self.path.join(PACK)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn finish(self, saved: &SavedState, folder: &Path) -> io::Result<()> {
        saved.write(&self.path)?;
        crate::fs::sync_folder(&self.path)?;
        fs::rename(&self.path, folder)?;
        folder.parent().map_or(Ok(()), crate::fs::sync_folder)
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        // Gone already where it was finished.
        fs::remove_dir_all(&self.path).ok();
    }
}

fn read(location: &GitLocation, workspace: &Path, remarks: &mut Remarks) -> io::Result<SavedState> {
    let pointer = match location.shape {
        Shape::Folder => Vec::new(),
        Shape::Pointer => GitFolder::open(workspace)?.read(b".git", CONFIG_BYTES_MAX)?.unwrap_or_default(),
    };
    let mut saved = SavedState::of(location, pointer)?;
    saved.refs = refs::read(&location.common, remarks);
    saved.files = state::read(location, remarks);
    if saved.head().is_none() {
        remarks.add("HEAD is missing or cannot be understood");
    }
    for lock in ["index.lock", "HEAD.lock"] {
        if location.git.has(lock.as_bytes()) {
            remarks.add(format!("{lock} is there: a git command runs, or one was killed"));
        }
    }
    Ok(saved)
}

fn is_remote(name: &[u8]) -> bool {
    name.starts_with(b"refs/remotes/")
}

fn tips_of(saved: &SavedState, location: &GitLocation) -> Tips {
    let mut tips = Tips::default();
    for (name, value) in &saved.refs {
        if let Some(id) = resolve(value, &saved.refs) {
            if is_remote(name) { &mut tips.theirs } else { &mut tips.ours }.insert(id);
        }
    }
    tips.ours.extend(head_of(saved, &saved.refs));
    for file in &saved.files {
        let path = file.path.as_slice();
        if path.starts_with(b"logs/refs/remotes/") {
            continue;
        }
        if path.starts_with(b"logs/") || path.starts_with(b"worktrees/") && path.ends_with(b"logs/HEAD") {
            refs::of_log(&file.bytes, &mut tips.remembered);
        } else if file.shared && path.starts_with(b"worktrees/") && path.ends_with(b"/HEAD") {
            let value = RefValue::parse(&file.bytes);
            tips.ours.extend(value.and_then(|value| resolve(&value, &saved.refs)));
        } else if !file.shared && file.bytes.len() <= SHORT_FILE_BYTES {
            // MERGE_HEAD, rebase-merge/onto and the like.
            refs::of_log(&file.bytes, &mut tips.remembered);
        }
    }
    // Another working tree has HEAD here.
    if location.git_path != location.common_path {
        let head = location.common.read(b"HEAD", CONFIG_BYTES_MAX).ok().flatten();
        tips.ours.extend(head.and_then(|text| resolve(&RefValue::parse(&text)?, &saved.refs)));
    }
    tips.shallow = saved.shallow().into_iter().collect();
    tips
}

/// The commit that HEAD is at.
pub(super) fn head_of(saved: &SavedState, refs: &Refs) -> Option<Id> {
    resolve(&saved.head()?, refs)
}

/// What was written of the objects.
struct ObjectCounts {
    /// How many are in the pack.
    objects: usize,
    /// How long the pack is.
    bytes: u64,
    /// How many were read to know which to save.
    gone_through: usize,
}

/// What the walk over the objects begins with, and when it has to give up.
struct WalkStart<'a> {
    tips: &'a Tips,
    limits: Limits,
    began: Instant,
}

/// Saves the objects as a pack.
fn objects(
    location: &GitLocation,
    saved: &mut SavedState,
    folder: &Path,
    limits: Limits,
    remarks: &mut Remarks,
) -> Result<ObjectCounts, Failed> {
    let began = Instant::now();
    let mut objects = Objects::of(&location.common, &location.common_path, remarks);
    let tips = tips_of(saved, location);
    let mut wanted = match everything(&objects, &tips, limits) {
        Some(wanted) => wanted,
        None => {
            let start = WalkStart { tips: &tips, limits, began };
            reachable(location, saved, &mut objects, &start, remarks).map_err(Failed::Stopped)?
        }
    };
    let written = copy(&mut objects, &mut wanted, folder, limits, began)?;
    saved.leans_on = std::mem::take(&mut wanted.leans_on);
    saved.has_objects = written.is_some();
    report_missing(&wanted, !tips.shallow.is_empty(), remarks);
    let missing = wanted.ids.iter().filter(|id| wanted.missing.contains(id)).count();
    let (objects, bytes) = written.map_or((0, 0), |(_, bytes)| (wanted.ids.len() - missing, bytes));
    Ok(ObjectCounts { objects, bytes, gone_through: wanted.gone_through })
}

/// Where no remote is known, everything has to be saved: then nothing has to be visited. None where there are
/// remotes, or objects of others, or where it is too much.
fn everything(objects: &Objects, tips: &Tips, limits: Limits) -> Option<ObjectsToSave> {
    if !tips.theirs.is_empty() || objects.leans_on_others {
        return None;
    }
    let loose = objects.all_loose().ok()?;
    let bytes = objects.packs.iter().map(|pack| pack.end).chain(loose.iter().map(|(_, length)| *length));
    let count = objects.packs.iter().map(|pack| pack.count).sum::<usize>() + loose.len();
    let too_much = bytes.fold(0, u64::saturating_add) > limits.bytes || count > limits.objects;
    if too_much {
        return None;
    }
    let mut wanted = ObjectsToSave::default();
    for pack in &objects.packs {
        for id in pack.in_order() {
            wanted.add(id);
        }
    }
    for (id, _) in loose {
        wanted.add(id);
    }
    for id in &tips.ours {
        if !wanted.known.contains(id) {
            wanted.miss(*id);
        }
    }
    Some(wanted)
}

fn reachable(
    location: &GitLocation,
    saved: &SavedState,
    objects: &mut Objects,
    start: &WalkStart<'_>,
    remarks: &mut Remarks,
) -> Result<ObjectsToSave, Stopped> {
    let mut walk = Walk::new(objects, start.limits, start.began);
    walk.run(start.tips)?;
    let index = Index::of(&location.git).unwrap_or_else(|why| {
        remarks.add(format!("{why}. Staged changes are saved only as far as commits have them."));
        Index::default()
    });
    let committed = match head_of(saved, &saved.refs) {
        Some(head) if !index.entries.is_empty() => walk.ids_in_tree_of(&head)?,
        Some(_) | None => HashSet::new(),
    };
    // A name without content yet (`git add -N`) has the id of nothing, which need not be there.
    let empty = Id::of(ObjectKind::Blob, b"");
    for entry in index.entries {
        if entry.mode == COMMIT_MODE || entry.id == empty || committed.contains(&entry.id) {
            continue;
        }
        if entry.mode == FOLDER {
            walk.tree(entry.id, Vec::new())?;
        } else {
            walk.wanted.add(entry.id);
        }
    }
    Ok(walk.done())
}

fn report_missing(wanted: &ObjectsToSave, shallow: bool, remarks: &mut Remarks) {
    let Some(first) = wanted.missing.first() else { return };
    let why = if shallow { " (it is a shallow clone)" } else { "" };
    let count = wanted.missing.len();
    remarks.add(format!(
        "{count} objects that the repository names are missing or damaged{why} and are not saved: {}, …",
        shown(first.to_string().as_bytes())
    ));
}
