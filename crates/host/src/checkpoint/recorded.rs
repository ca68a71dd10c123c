//! Opening a checkpoint to copy its files elsewhere, and comparing a folder with it. Neither the store nor the
//! workspace is changed.
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use loop_core::run::NameList;
use loop_core::text;

use super::btrfs::Snapshot;
use super::btrfs::snapshot_store::SnapshotStore;
use super::context::{BTRFS, CheckpointContext};
use super::run_checkpoints::hash_of;
use super::scope::rules_of;
use super::{
    Checkpoint, Depth, Rules, ScanCache, ScanHint, Store, StoredKind, TakeOutcome, TakeRequest, TreeState, user_git,
};
use crate::clock;
use crate::fs::handle::open_folder;

/// So many paths that cannot be read are named.
const UNREADABLE_MAX: usize = 3;

/// Where the content of a checkpoint is.
#[derive(Debug, Clone, Copy)]
pub enum ContentSource<'a> {
    /// In the store.
    Store(&'a Store),
    /// In a snapshot.
    Snapshot(&'a Snapshot),
}

/// A checkpoint that is not removed while this is held.
#[derive(Debug)]
pub struct Recorded {
    store: Store,
    _lock: File,
    snapshot: Option<Snapshot>,
    /// What is in it.
    pub checkpoint: Checkpoint,
    /// The hash of its tree.
    pub tree: String,
}

impl Recorded {
    /// A checkpoint of a run by its name.
    ///
    /// # Errors
    /// When it is gone, or something of it is missing or damaged.
    pub fn open(context: &CheckpointContext, name: &str) -> io::Result<Self> {
        let full = format!("{}/{name}", context.run);
        if !context.store.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the store of its checkpoints is gone"));
        }
        let store = Store::open(&context.store)?;
        let lock = store.lock(false)?;
        let id = store.named(&full).map_err(|error| match store.not_kept(&context.run).get(name) {
            Some(since) => {
                io::Error::new(error.kind(), format!("it is not kept any more since {}", clock::local_text(*since)))
            }
            None if error.kind() == io::ErrorKind::NotFound => io::Error::new(error.kind(), "it is not there"),
            None => error,
        })?;
        let parts = store.parts(&id)?;
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the snapshots of its checkpoints are gone");
        let snapshot = match context.backend.as_str() {
            BTRFS => Some(SnapshotStore::of(&store).ok_or_else(gone)?.snapshot(&full)?),
            _ => None,
        };
        let (checkpoint, tree) = (store.load(id)?, hash_of(parts.files, parts.manifest));
        Ok(Self { store, _lock: lock, snapshot, checkpoint, tree })
    }

    /// Where its contents are.
    #[must_use]
    pub fn source(&self) -> ContentSource<'_> {
        self.snapshot.as_ref().map_or(ContentSource::Store(&self.store), ContentSource::Snapshot)
    }

    /// The folder of the snapshot that holds its contents, where one does.
    pub(crate) fn snapshot_folder(&self) -> Option<&OwnedFd> {
        self.snapshot.as_ref().map(Snapshot::folder)
    }

    /// How the names of another state differ from it: each path with a word before it.
    #[must_use]
    pub fn differences(&self, now: &Checkpoint) -> NameList {
        let then = &self.checkpoint.names;
        let mut all: Vec<(&Vec<u8>, &str)> = Vec::new();
        for (path, entry) in then {
            match now.names.get(path) {
                Some(other) if other == entry => {}
                Some(other) if entry.what == StoredKind::Folder && other.what == StoredKind::Folder => {
                    all.push((path, "permissions of"));
                }
                Some(_) => all.push((path, "changed")),
                // A removed folder is listed by the files that were in it.
                None if has_below(then, path) => {}
                None => all.push((path, "removed")),
            }
        }
        let new = now.names.keys().filter(|path| !then.contains_key(*path) && !has_below(&now.names, path));
        all.extend(new.map(|path| (path, "added")));
        all.sort_unstable();
        let words: Vec<String> = all.iter().map(|(path, how)| format!("{how} {}", text::escape_path(path))).collect();
        let mut few = NameList::of(words.iter().map(String::as_str));
        if few.is_nothing() && now.manifest.same != self.checkpoint.manifest.same {
            few = NameList::of(std::iter::once("which names are one file"));
        }
        few
    }
}

/// The hash of the tree of a checkpoint, without its files; none where it is gone, and loop itself removed it.
///
/// # Errors
/// When it is gone or damaged.
pub(crate) fn tree_named(context: &CheckpointContext, name: &str) -> io::Result<Option<String>> {
    let store = Store::open(&context.store)?;
    let id = match store.named(&format!("{}/{name}", context.run)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && store.not_kept(&context.run).contains_key(name) => {
            return Ok(None);
        }
        named => named?,
    };
    let parts = store.parts(&id)?;
    Ok(Some(hash_of(parts.files, parts.manifest)))
}

fn has_below<T>(names: &std::collections::BTreeMap<Vec<u8>, T>, path: &[u8]) -> bool {
    let from = [path, b"/"].concat();
    names.range(from.clone()..).next().is_some_and(|(next, _)| next.starts_with(&from))
}

/// The hash of a folder in which everything counts: a copy of a checkpoint. `scratch` is a folder for what is written
/// for a short time.
///
/// # Errors
/// When it cannot be read.
pub fn tree_of_copy(folder: &OwnedFd, scratch: &Path) -> io::Result<String> {
    let rules = Rules::new(true, &[], true);
    let mut store = Store::open(scratch)?;
    let measured = tree_state(&mut store, folder, &mut ScanCache::empty("copy"), &rules)?;
    Ok(hash_of(measured.parts.files, measured.parts.manifest))
}

/// What a workspace holds in scope now, beside what a checkpoint of it held.
///
/// # Errors
/// When it is not there, or cannot be read.
pub fn workspace_now(context: &CheckpointContext, then: &Checkpoint, scratch: &Path) -> io::Result<Checkpoint> {
    let workspace = open_folder(&context.workspace)?;
    let rules = rules_of(context);
    let mut cache = ScanCache::empty(&context.run);
    cache.hold(then.names.keys().cloned());
    cache.hold(user_git::tracked(&context.workspace).unwrap_or_default());
    let mut store = Store::open(scratch)?;
    let cancel = AtomicBool::new(false);
    let ask = asking(&rules, Depth::Trees, &cancel);
    match store.save(&workspace, &mut cache, &ask)? {
        TakeOutcome::Saved(id, _) => store.load(id),
        taken @ (TakeOutcome::NotWritten(_) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled) => {
            Err(unseen(&taken))
        }
    }
}

fn asking<'a>(rules: &'a Rules, depth: Depth, cancel: &'a AtomicBool) -> TakeRequest<'a> {
    TakeRequest { name: "verify/now", parent: None, rules, hint: ScanHint::Everything, depth, unless: None, cancel }
}

fn tree_state(store: &mut Store, folder: &OwnedFd, cache: &mut ScanCache, rules: &Rules) -> io::Result<TreeState> {
    let cancel = AtomicBool::new(false);
    match store.save(folder, cache, &asking(rules, Depth::Ids, &cancel))? {
        TakeOutcome::NotWritten(measured) => Ok(measured),
        taken @ (TakeOutcome::Saved(..) | TakeOutcome::Unreadable(_) | TakeOutcome::Cancelled) => Err(unseen(&taken)),
    }
}

fn unseen(taken: &TakeOutcome) -> io::Error {
    let TakeOutcome::Unreadable(list) = taken else { return io::Error::other("it could not be read") };
    let each = |(path, why): &(Vec<u8>, String)| format!("{}: {why}", text::escape_path(path));
    io::Error::other(list.iter().take(UNREADABLE_MAX).map(each).collect::<Vec<_>>().join(", "))
}
