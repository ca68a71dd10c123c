//! Which files a rollback writes and removes, and which of them no iteration made.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;

use loop_core::run::{FileAction, INITIAL, RolledBackFile, RolledBackFiles};
use loop_core::text;
use rustix::fs::readlinkat;

use super::context::CheckpointContext;
use super::git::between::{Differences, TreeSide, differences};
use super::git::gc::CheckpointRow;
use super::git::store::{Store, StoredEntry, StoredKind};
use super::restore::ignored::differing_ignored;
use super::restore::paths::{Paths, is_in_nested_repository};
use super::restore::tree::left_by_restore;
use super::run_checkpoints::{CheckpointError, NAMED_MAX, not_restored};
use super::scan::cache::{Arena, EntryKind, TOP, Tree};
use super::scope::rules_of;
use super::{Depth, Id, ScanHint, TakeOutcome, TakeRequest, user_git};
use crate::fs::handle::{folder_beneath, joined, open_folder, split};

/// So many of the newest checkpoints are compared one by one; the changes of all before them as one.
const COMPARED_MAX: usize = 500;

/// Entries by their paths.
type Names = BTreeMap<Vec<u8>, StoredEntry>;

/// What a rollback would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RollbackPreview {
    /// Every file that it would write or remove.
    pub files: Vec<RolledBackFile>,
    /// What a person should know, such as files that cannot be restored.
    pub remarks: Vec<String>,
}

/// What a rollback of the workspace as it is now would do. Nothing is changed, and nothing is written to the store.
///
/// # Errors
/// When there is no such checkpoint, a path is in neither state, or something cannot be read.
pub fn preview_rollback(
    context: &CheckpointContext,
    to: &str,
    paths: &[String],
) -> Result<RollbackPreview, CheckpointError> {
    let workspace = open_folder(&context.workspace)?;
    let mut store = Store::open(&context.store)?;
    let refused = || CheckpointError::Refused(format!("there is no checkpoint {to}"));
    let target = store.named(&format!("{}/{to}", context.run)).map_err(|_| refused())?;
    let paths = Paths::of(paths);
    let now = names_now(&mut store, context, &workspace)?;
    let then = store.load(target)?.names;
    let (of_ignored, left_out) = ignored_of(&store, target)?;
    let is_there = |path: &[u8]| now.contains_key(path) || then.contains_key(path) || of_ignored.contains_key(path);
    paths.check(is_there, &left_out, &workspace, to)?;
    let mut differ = Differences::new();
    for path in now.keys().chain(then.keys()) {
        let pair = (now.get(path).cloned(), then.get(path).cloned());
        if pair.0 != pair.1 {
            differ.insert(path.clone(), pair);
        }
    }
    paths.select(&mut differ);
    let left = left_by_restore(&store, target, &differ, &workspace)?;
    let differing = differing_ignored(&store, &workspace, target, &paths)?;
    let ignored = differing.written;
    let left = left.into_iter().chain(ignored.iter().cloned()).collect();
    let mut files = files_of(&store, &context.run, &differ, &left)?;
    files.extend(ignored_files(&ignored));
    Ok(RollbackPreview { files, remarks: not_restored(&differing.missing).into_iter().collect() })
}

/// The ignored files of a checkpoint, and the paths of those that it does not hold.
fn ignored_of(store: &Store, target: Id) -> io::Result<(Names, BTreeSet<Vec<u8>>)> {
    let Some(part) = store.ignored(&target)? else { return Ok(Default::default()) };
    Ok((part.names, part.manifest.left_out.into_iter().map(|(path, _)| path).collect()))
}

/// Refuses paths that are in neither state, or that no checkpoint could restore.
pub(super) fn check_paths(
    store: &mut Store,
    context: &CheckpointContext,
    workspace: &OwnedFd,
    paths: &Paths,
    to: &str,
) -> Result<(), CheckpointError> {
    let target = store.named(&format!("{}/{to}", context.run))?;
    let then = store.load(target)?.names;
    let (of_ignored, left_out) = ignored_of(store, target)?;
    let is_then = |path: &[u8]| then.contains_key(path) || of_ignored.contains_key(path);
    if paths.check(is_then, &left_out, workspace, to).is_ok() {
        return Ok(());
    }
    let now = names_now(store, context, workspace)?;
    paths.check(|path| is_then(path) || now.contains_key(path), &left_out, workspace, to)
}

/// Ignored files that are written.
pub(super) fn ignored_files(paths: &[Vec<u8>]) -> impl Iterator<Item = RolledBackFile> {
    paths.iter().map(|path| RolledBackFile { path: text::escape_path(path), what: FileAction::Written, own: false })
}

/// The names of a workspace now, without a checkpoint of it.
fn names_now(
    store: &mut Store,
    context: &CheckpointContext,
    workspace: &OwnedFd,
) -> Result<BTreeMap<Vec<u8>, StoredEntry>, CheckpointError> {
    let mut cache = store.cache(&context.run)?;
    cache.hold(user_git::tracked(&context.workspace).unwrap_or_default());
    let (rules, cancel) = (rules_of(context), AtomicBool::new(false));
    let ask = TakeRequest {
        name: "preview/now",
        parent: None,
        rules: &rules,
        hint: ScanHint::Everything,
        depth: Depth::Ids,
        unless: None,
        cancel: &cancel,
    };
    match store.save(workspace, &mut cache, &ask)? {
        TakeOutcome::NotWritten(_) => {}
        TakeOutcome::Unreadable(list) => {
            let first =
                list.first().map_or_else(String::new, |(path, why)| format!("{}: {why}", text::escape_path(path)));
            return Err(CheckpointError::Refused(format!("the workspace cannot be read: {first}")));
        }
        TakeOutcome::Saved(..) | TakeOutcome::Cancelled => return Err(CheckpointError::Cancelled),
    }
    let mut names = BTreeMap::new();
    gather(&cache.arena, TOP, &[], workspace, &mut names)?;
    Ok(names)
}

fn gather(
    arena: &Arena,
    index: u32,
    path: &[u8],
    workspace: &OwnedFd,
    names: &mut BTreeMap<Vec<u8>, StoredEntry>,
) -> io::Result<()> {
    for entry in arena.get(index).iter().flat_map(|folder| &folder.entries) {
        let path = joined(path, &entry.name);
        let (what, mode) = match entry.kind {
            EntryKind::File => (StoredKind::File(entry.id), entry.mode.into()),
            EntryKind::Link => (StoredKind::Link(leads_to(workspace, &path)?), 0o777),
            EntryKind::Folder => {
                gather(arena, entry.folder, &path, workspace, names)?;
                if arena.get(entry.folder).is_none_or(|folder| folder.tree == Tree::Nothing) {
                    continue;
                }
                (StoredKind::Folder, entry.mode.into())
            }
        };
        names.insert(path, StoredEntry { what, mode });
    }
    Ok(())
}

fn leads_to(workspace: &OwnedFd, path: &[u8]) -> io::Result<Vec<u8>> {
    let (above, name) = split(path);
    let folder = folder_beneath(workspace, above)?;
    Ok(readlinkat(&folder, name, Vec::new())?.into_bytes())
}

/// The files among differences, the first side being what is there now. Those that no iteration made come first.
pub(super) fn files_of(
    store: &Store,
    run: &str,
    differ: &Differences,
    left: &BTreeSet<Vec<u8>>,
) -> io::Result<Vec<RolledBackFile>> {
    let is_file = |entry: &Option<StoredEntry>| entry.as_ref().is_some_and(|entry| entry.what != StoredKind::Folder);
    let mut made = None;
    let mut files = Vec::new();
    for (path, (now, then)) in differ {
        if is_in_nested_repository(path) || left.contains(path) || !is_file(now) && !is_file(then) {
            continue;
        }
        let own = match now.as_ref().filter(|_| is_file(now)) {
            Some(now) => {
                let known = match &mut made {
                    Some(known) => known,
                    none @ None => none.insert(Made::by_iterations(store, run)?),
                };
                !known.has(store, path, now)?
            }
            None => false,
        };
        let what = if is_file(then) { FileAction::Written } else { FileAction::Removed };
        files.push(RolledBackFile { path: text::escape_path(path), what, own });
    }
    files.sort_by_key(|file| !file.own);
    Ok(files)
}

/// The same for a fact: counts, and a bounded number of names.
pub(super) fn summed(files: &[RolledBackFile]) -> RolledBackFiles {
    let count =
        |of: &dyn Fn(&&RolledBackFile) -> bool| u64::try_from(files.iter().filter(of).count()).unwrap_or(u64::MAX);
    RolledBackFiles {
        written: count(&|file| file.what == FileAction::Written),
        removed: count(&|file| file.what == FileAction::Removed),
        own: count(&|file| file.own),
        first: files.iter().take(NAMED_MAX).cloned().collect(),
    }
}

/// What the iterations of a run made.
struct Made {
    entries: HashMap<Vec<u8>, Vec<StoredKind>>,
    /// The first states: what was there before all iterations is not an edit since.
    first: Vec<Id>,
}

impl Made {
    fn by_iterations(store: &Store, run: &str) -> io::Result<Self> {
        let rows = store.listed(run)?;
        let is_first = |row: &&CheckpointRow| row.name.starts_with(INITIAL);
        let first = rows.iter().filter(is_first).map(|row| row.id).collect();
        let is_known: BTreeSet<Id> = rows.iter().map(|row| row.id).collect();
        let steps: Vec<&CheckpointRow> =
            rows.iter().filter(|row| row.name.starts_with(INITIAL) || is_of_loop(&row.name)).collect();
        let skipped = steps.len().saturating_sub(COMPARED_MAX);
        let mut made = Self { entries: HashMap::new(), first };
        let mut before = steps.first().map(|row| row.id);
        for row in steps.iter().skip(skipped.max(1)) {
            let parent = store.commit(&row.id)?.parent.filter(|parent| is_known.contains(parent));
            let from =
                if before == steps.first().map(|row| row.id) && skipped > 0 { before } else { parent.or(before) };
            if let Some(from) = from.filter(|_| is_by_iteration(&row.name)) {
                made.add(store, from, row.id)?;
            }
            before = Some(row.id);
        }
        Ok(made)
    }

    fn add(&mut self, store: &Store, from: Id, to: Id) -> io::Result<()> {
        for (path, (_, after)) in store.between(&from, &to)? {
            if let Some(entry) = after {
                self.entries.entry(path).or_default().push(entry.what);
            }
        }
        Ok(())
    }

    /// Whether an iteration made it, or it was there before all of them.
    fn has(&self, store: &Store, path: &[u8], now: &StoredEntry) -> io::Result<bool> {
        if self.entries.get(path).is_some_and(|made| made.contains(&now.what)) {
            return Ok(true);
        }
        for id in &self.first {
            let parts = store.parts(id)?;
            let manifest = store.manifest(&parts)?;
            let found = TreeSide::new(parts, &manifest).find(store, path)?;
            if found.is_some_and(|found| found.what == now.what) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A checkpoint in the course of a loop: not one of a rollback, nor one that a person named.
fn is_of_loop(name: &str) -> bool {
    name.starts_with("iter-") || is_by_iteration(name)
}

/// A checkpoint of what an agent left.
fn is_by_iteration(name: &str) -> bool {
    let of_agent = ["interrupted-", "tampered-"].iter().any(|beginning| name.starts_with(beginning));
    of_agent || name.starts_with("iter-") && !name.ends_with('+')
}

/// What a rollback changes, between the checkpoint taken just before it and its target.
pub(super) fn between(store: &Store, before: Id, target: Id, paths: &Paths) -> io::Result<Differences> {
    let (before, target) = (store.parts(&before)?, store.parts(&target)?);
    let manifests = (store.manifest(&before)?, store.manifest(&target)?);
    let mut differ = differences(store, &TreeSide::new(before, &manifests.0), &TreeSide::new(target, &manifests.1))?;
    paths.select(&mut differ);
    Ok(differ)
}
