//! What checkpoints leave out, brought into a clean copy: dependencies, build output, local settings. Only what is as it
//! was before the first agent; dependencies also as they were installed since, where the list of them changed.
use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use loop_core::run::{LeftOut, NameList, Remark};
use loop_core::text::escape_path;
use rustix::fs::{FileType, Mode, Stat, mkdirat};

use super::baseline::{Baseline, NAMES_MAX};
use super::place::bind;
use super::tables::{self, DEPENDENCIES, DependencyKind};
use crate::checkpoint::{CheckpointContext, Recorded, StoredKind, left_out, rules_of};
use crate::fs::clear::remove_folder;
use crate::fs::handle::{open_below, open_folder, split};
use crate::fs::walk::walk;
use crate::workspace::copy::{SomeName, copy_some, mount_overlay};

/// A folder with so many names is mounted as an overlay where that is possible; a smaller one is copied faster.
const OVERLAY_NAMES_MIN: usize = 300;
/// Use an overlay only if at most 1/n of its names must be removed again.
const OVERLAY_REMOVED_SHARE: usize = 2;
/// So many overlays are mounted.
const OVERLAYS_MAX: usize = 64;
/// So many names stand in a remark.
const NAMED_MAX: usize = 4;

/// What is brought where.
#[derive(Debug)]
pub(super) struct IgnoredRequest<'a> {
    /// The run, its workspace and its rules.
    pub(super) context: &'a CheckpointContext,
    /// Where the workspace is now: opened after the mounts became our own.
    pub(super) workspace: &'a OwnedFd,
    /// The tree of the start.
    pub(super) initial: &'a Recorded,
    /// What was there at the start.
    pub(super) baseline: Option<&'a Baseline>,
    /// The tree that the copy holds.
    pub(super) recorded: &'a Recorded,
    /// The newest tree: dependencies in the workspace are those that it lists.
    pub(super) newest: &'a Recorded,
    /// Everything as it is now, or as a snapshot has it.
    pub(super) everything: bool,
    /// Dependencies are installed in the copy instead.
    pub(super) setup: bool,
    /// The copy.
    pub(super) tree: &'a OwnedFd,
    /// A folder for what is mounted; none means that nothing is mounted.
    pub(super) mounts: Option<&'a Path>,
}

/// One name that may come along.
struct Candidate {
    path: Vec<u8>,
    stat: Stat,
    is_top: bool,
}

impl Candidate {
    fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.stat.st_mode) == FileType::Directory
    }
}

/// What a person should know of what was copied.
#[derive(Debug, Default)]
pub(super) struct IgnoredFilesCopied {
    pub(super) remarks: Vec<Remark>,
    /// Folders of dependencies that are as the agent installed them.
    pub(super) installed: Vec<String>,
}

/// Copies what may come along.
///
/// # Errors
/// When something of it cannot be written.
pub(super) fn copy_ignored(request: &IgnoredRequest<'_>) -> io::Result<IgnoredFilesCopied> {
    let mut copier = IgnoredFilesCopier { request, overlays: 0, changed: Vec::new() };
    let installed = installed_since(request);
    let IgnoredFilesCopied { mut remarks, installed: mut came } = IgnoredFilesCopied::default();
    // With everything, and where there is a snapshot: as it was when the checkpoint was taken.
    if let Some(folder) = request.recorded.snapshot_folder().filter(|_| request.everything) {
        copier.all(folder, &in_snapshot(folder, request.recorded)?, &[])?;
        return Ok(IgnoredFilesCopied { remarks, installed: came });
    }
    let skip = |path: &[u8]| !request.everything && tables::is_cache(path);
    let found = left_out(request.workspace, &rules_of(request.context), NAMES_MAX, &skip);
    let names = found.names.into_iter().map(|name| Candidate { path: name.path, stat: name.stat, is_top: name.is_top });
    let snapshot = request.initial.snapshot_folder().filter(|_| !request.everything);
    let is_installed =
        |path: &[u8]| tables::dependency_of(path).is_some_and(|(kind, _)| installed.contains(&kind.folders));
    let unneeded = |path: &[u8]| request.setup && tables::dependency_of(path).is_some();
    let mut named: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut is_wanted = |name: &Candidate| {
        if request.everything {
            return true;
        }
        if unneeded(&name.path) {
            return false;
        }
        let is_same = || request.baseline.is_some_and(|known| known.has(request.workspace, &name.path, &name.stat));
        if is_installed(&name.path) {
            // What is as at the start, the agent did not install.
            let folder = tables::dependency_of(&name.path).filter(|_| !is_same());
            named.extend(folder.map(|(_, folder)| folder.to_vec()));
            return true;
        }
        snapshot.is_none() && is_same()
    };
    let (wanted, others): (Vec<_>, Vec<_>) = names.partition(|name| is_wanted(name));
    let not_a_change = |path: &[u8]| snapshot.is_some() || unneeded(path);
    copier.changed = others.iter().filter(|name| !not_a_change(&name.path)).map(|name| name.path.clone()).collect();
    copier.all(request.workspace, &wanted, &others)?;
    if let Some(folder) = snapshot {
        let (wanted, others): (Vec<_>, Vec<_>) = in_snapshot(folder, request.initial)?
            .into_iter()
            .partition(|name| !tables::is_cache(&name.path) && !unneeded(&name.path) && !is_installed(&name.path));
        copier.all(folder, &wanted, &others)?;
    }
    if !copier.changed.is_empty() {
        remarks.push(left_out_remark(&copier.changed, request));
    }
    for folder in named.iter().take(NAMED_MAX) {
        let folder = escape_path(folder);
        let why = "because the list of dependencies changed";
        remarks.push(Remark::Note(format!("{folder} is as the agent installed it, {why}")));
        came.push(folder);
    }
    if found.is_cut {
        remarks.push(Remark::Note(format!("of the ignored files only the first {NAMES_MAX} were looked at")));
    }
    Ok(IgnoredFilesCopied { remarks, installed: came })
}

fn left_out_remark(left_out: &[Vec<u8>], request: &IgnoredRequest<'_>) -> Remark {
    let names: Vec<String> = left_out.iter().map(|path| escape_path(path)).collect();
    let files = NameList::of(names.iter().map(String::as_str));
    Remark::LeftOut(LeftOut { files, changed: request.baseline.is_some(), has_setup: request.setup })
}

/// The kinds of dependencies whose list changed since the start, by their folders.
fn installed_since(request: &IgnoredRequest<'_>) -> Vec<&'static [&'static str]> {
    let (then, now) = (&request.initial.checkpoint.names, &request.newest.checkpoint.names);
    let differs = |list: &[&str]| {
        let is_listed = |path: &[u8]| tables::is_named(split(path).1, list) && tables::dependency_of(path).is_none();
        now.iter().any(|(path, entry)| is_listed(path) && then.get(path).map(|then| &then.what) != Some(&entry.what))
            || then.keys().any(|path| is_listed(path) && !now.contains_key(path))
    };
    let has = |list: &[&str]| now.keys().any(|path| tables::is_named(split(path).1, list));
    let changed = |kind: &&DependencyKind| {
        differs(kind.locks) || (!kind.manifests.is_empty() && !has(kind.locks) && differs(kind.manifests))
    };
    DEPENDENCIES.iter().filter(changed).map(|kind| kind.folders).collect()
}

/// What a snapshot of the start holds beside the checkpoint.
fn in_snapshot(folder: &OwnedFd, initial: &Recorded) -> io::Result<Vec<Candidate>> {
    let known = &initial.checkpoint.names;
    let is_in_scope =
        |path: &[u8]| path.is_empty() || known.get(path).is_some_and(|entry| entry.what == StoredKind::Folder);
    let names = walk(folder, &|path| path != b".git")?.into_iter().filter(|name| !known.contains_key(&name.path));
    Ok(names
        .map(|name| Candidate { is_top: is_in_scope(split(&name.path).0), path: name.path, stat: name.stat })
        .collect())
}

struct IgnoredFilesCopier<'a> {
    request: &'a IgnoredRequest<'a>,
    overlays: usize,
    /// What is left out because it changed.
    changed: Vec<Vec<u8>>,
}

impl IgnoredFilesCopier<'_> {
    /// Copies the wanted names of a folder. `others` lie beside them.
    fn all(&mut self, from: &OwnedFd, wanted: &[Candidate], others: &[Candidate]) -> io::Result<()> {
        let last = &self.request.recorded.checkpoint.names;
        let mut done: HashSet<&[u8]> = HashSet::new();
        // Entries of a folder come directly after the folder.
        for (at, top) in wanted.iter().enumerate().filter(|(_, name)| name.is_top && name.is_folder()) {
            let below = |name: &&Candidate| is_below(&name.path, &top.path);
            let count = wanted.iter().skip(at + 1).take_while(below).count();
            if count < OVERLAY_NAMES_MIN || last.contains_key(&top.path) {
                continue;
            }
            let unwanted: Vec<&Candidate> = others.iter().filter(below).collect();
            // Removing a name from an overlay takes longer than copying one.
            if unwanted.len() > count / OVERLAY_REMOVED_SHARE {
                continue;
            }
            if self.overlay(from, top, &unwanted)? {
                done.insert(&top.path);
            }
        }
        let is_done = |path: &[u8]| done.iter().any(|top| path == *top || is_below(path, top));
        let rest = wanted.iter().filter(|name| !last.contains_key(&name.path) && !is_done(&name.path));
        let rest = rest.map(|name| SomeName { path: &name.path, stat: &name.stat });
        copy_some(from, self.request.tree, rest)
    }

    /// Mounts a folder as it is, for reading; what is written goes elsewhere. False where that does not work.
    fn overlay(&mut self, from: &OwnedFd, top: &Candidate, unwanted: &[&Candidate]) -> io::Result<bool> {
        let Some(mounts) = self.request.mounts.filter(|_| self.overlays < OVERLAYS_MAX) else { return Ok(false) };
        let (above, name) = split(&top.path);
        let Ok(folder) = open_below(self.request.tree.as_fd(), above) else { return Ok(false) };
        let own = mounts.join(format!("overlay-{}", self.overlays));
        std::fs::create_dir_all(&own)?;
        let lower = open_below(from.as_fd(), &top.path)?;
        if mount_overlay(open_folder(&own)?.as_fd(), lower.as_fd()).is_err() {
            return Ok(false);
        }
        self.overlays += 1;
        match mkdirat(&folder, name, Mode::from_raw_mode(top.stat.st_mode & 0o7777)) {
            Ok(()) => {}
            Err(rustix::io::Errno::EXIST) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        let merged = own.join("tree");
        remove(&open_folder(&merged)?, &top.path, unwanted)?;
        let tree = crate::fs::handle::path_of_handle(self.request.tree)?;
        bind(&merged, &tree.join(std::ffi::OsStr::from_bytes(&top.path)))?;
        Ok(true)
    }
}

/// Removes what is not wanted from a mounted folder.
fn remove(merged: &OwnedFd, top: &[u8], unwanted: &[&Candidate]) -> io::Result<()> {
    for name in unwanted {
        let below = name.path.get(top.len() + 1..).unwrap_or_default();
        let (above, last) = split(below);
        // It may be gone with the folder that it was in.
        let Ok(folder) = open_below(merged.as_fd(), above) else { continue };
        if name.is_folder() {
            remove_folder(folder.as_fd(), last)?;
        } else {
            match rustix::fs::unlinkat(&folder, last, rustix::fs::AtFlags::empty()) {
                Ok(()) | Err(rustix::io::Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

fn is_below(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.first() == Some(&b'/'))
}
