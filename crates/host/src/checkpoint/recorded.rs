//! A checkpoint for whoever wants its files elsewhere, and what a folder is beside it. Nothing of the store or of the
//! workspace is changed.
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use loop_core::run::NameList;
use loop_core::text;

use super::btrfs::Snapshot;
use super::btrfs::snapshot_store::Shelved;
use super::context::{BTRFS, Place};
use super::run_checkpoints::hash_of;
use super::scope::rules_of;
use super::{Ask, Checkpoint, Depth, Hint, KeptWhat, Measured, Picture, Rules, Store, Taken, user_git};
use crate::fs::handle::open_folder;

/// So many paths that cannot be read are named.
const UNREADABLE_MAX: usize = 3;

/// Where the content of a checkpoint is.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// In the store.
    Store(&'a Store),
    /// In a snapshot.
    Snapshot(&'a Snapshot),
}

/// A checkpoint that nobody removes while this is held.
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
    /// When it is not there any more, or something of it is missing or damaged.
    pub fn open(place: &Place, name: &str) -> io::Result<Self> {
        let full = format!("{}/{name}", place.run);
        if !place.store.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the store of its checkpoints is gone"));
        }
        let store = Store::open(&place.store)?;
        let lock = store.lock(false)?;
        let id = store.named(&full)?;
        let parts = store.parts(&id)?;
        let gone = || io::Error::new(io::ErrorKind::NotFound, "the snapshots of its checkpoints are gone");
        let snapshot = match place.backend.as_str() {
            BTRFS => Some(Shelved::of(&store).ok_or_else(gone)?.snapshot(&full)?),
            _ => None,
        };
        let (checkpoint, tree) = (store.load(id)?, hash_of(parts.files, parts.manifest));
        Ok(Self { store, _lock: lock, snapshot, checkpoint, tree })
    }

    /// Where its contents are.
    #[must_use]
    pub fn source(&self) -> Source<'_> {
        self.snapshot.as_ref().map_or(Source::Store(&self.store), Source::Snapshot)
    }

    /// How the names of another state differ from it: each path with a word before it.
    #[must_use]
    pub fn differences(&self, now: &Checkpoint) -> NameList {
        let then = &self.checkpoint.names;
        let mut all: Vec<(&Vec<u8>, &str)> = Vec::new();
        for (path, kept) in then {
            match now.names.get(path) {
                Some(other) if other == kept => {}
                Some(other) if kept.what == KeptWhat::Folder && other.what == KeptWhat::Folder => {
                    all.push((path, "permissions of"));
                }
                Some(_) => all.push((path, "changed")),
                // A folder that went is told by what was in it.
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

fn has_below<T>(names: &std::collections::BTreeMap<Vec<u8>, T>, path: &[u8]) -> bool {
    let from = [path, b"/"].concat();
    names.range(from.clone()..).next().is_some_and(|(next, _)| next.starts_with(&from))
}

/// The hash of a folder in which everything counts: a copy of a checkpoint. `scratch` is a folder for what is written
/// on the way.
///
/// # Errors
/// When it cannot be read.
pub fn tree_of_copy(folder: &OwnedFd, scratch: &Path) -> io::Result<String> {
    let rules = Rules::new(true, &[], true);
    let mut store = Store::open(scratch)?;
    let measured = look(&mut store, folder, &mut Picture::empty("copy"), &rules)?;
    Ok(hash_of(measured.parts.files, measured.parts.manifest))
}

/// What a workspace holds in scope now, beside what a checkpoint of it held.
///
/// # Errors
/// When it is not there, or cannot be read.
pub fn workspace_now(place: &Place, then: &Checkpoint, scratch: &Path) -> io::Result<Checkpoint> {
    let workspace = open_folder(&place.workspace)?;
    let rules = rules_of(place);
    let mut picture = Picture::empty(&place.run);
    picture.hold(then.names.keys().cloned());
    picture.hold(user_git::tracked(&place.workspace).unwrap_or_default());
    let mut store = Store::open(scratch)?;
    let cancel = AtomicBool::new(false);
    let ask = asking(&rules, Depth::Trees, &cancel);
    match store.save(&workspace, &mut picture, &ask)? {
        Taken::Saved(id, _) => store.load(id),
        taken @ (Taken::Measured(_) | Taken::Unreadable(_) | Taken::Cancelled) => Err(unseen(&taken)),
    }
}

fn asking<'a>(rules: &'a Rules, depth: Depth, cancel: &'a AtomicBool) -> Ask<'a> {
    Ask { name: "verify/now", parent: None, rules, hint: Hint::Everything, depth, unless: None, cancel }
}

fn look(store: &mut Store, folder: &OwnedFd, picture: &mut Picture, rules: &Rules) -> io::Result<Measured> {
    let cancel = AtomicBool::new(false);
    match store.save(folder, picture, &asking(rules, Depth::Ids, &cancel))? {
        Taken::Measured(measured) => Ok(measured),
        taken @ (Taken::Saved(..) | Taken::Unreadable(_) | Taken::Cancelled) => Err(unseen(&taken)),
    }
}

fn unseen(taken: &Taken) -> io::Error {
    let Taken::Unreadable(list) = taken else { return io::Error::other("it could not be looked at") };
    let each = |(path, why): &(Vec<u8>, String)| format!("{}: {why}", text::escape_path(path));
    io::Error::other(list.iter().take(UNREADABLE_MAX).map(each).collect::<Vec<_>>().join(", "))
}
