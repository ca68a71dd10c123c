//! Which entries differ between two checkpoints: trees are compared by id, and only those that differ are read.
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::manifest::{Lookup, Manifest};
use super::object::{FOLDER, Id, TreeEntry};
use super::store::{Parts, Store, StoredEntry, StoredKind};
use crate::fs::handle::joined;

/// One side of a comparison.
pub(in crate::checkpoint) struct TreeSide<'a> {
    pub(in crate::checkpoint) parts: Parts,
    pub(in crate::checkpoint) manifest: &'a Manifest,
    lookup: Lookup<'a>,
}

/// What a path is in the one and in the other.
pub type Differences = BTreeMap<Vec<u8>, (Option<StoredEntry>, Option<StoredEntry>)>;

impl<'a> TreeSide<'a> {
    pub(in crate::checkpoint) fn new(parts: Parts, manifest: &'a Manifest) -> Self {
        Self { parts, manifest, lookup: Lookup::new(manifest) }
    }

    /// What a path is.
    pub(in crate::checkpoint) fn find(&self, store: &Store, path: &[u8]) -> io::Result<Option<StoredEntry>> {
        let mut id = self.parts.files;
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        while let Some(name) = parts.next() {
            let found = store.tree(&id)?.into_iter().find(|entry| entry.name == name);
            match found {
                Some(entry) if parts.peek().is_none() => {
                    return store.stored_entry(path, &entry, &self.lookup).map(Some);
                }
                Some(entry) if entry.mode == FOLDER => id = entry.id,
                Some(_) | None => break,
            }
        }
        Ok(self.hollow(path))
    }

    fn hollow(&self, path: &[u8]) -> Option<StoredEntry> {
        self.lookup.folder(path).map(|mode| StoredEntry { what: StoredKind::Folder, mode })
    }
}

impl Store {
    /// What differs between two checkpoints.
    ///
    /// # Errors
    /// When something of them is missing or damaged.
    pub fn between(&self, one: &Id, other: &Id) -> io::Result<Differences> {
        let (one, other) = (self.parts(one)?, self.parts(other)?);
        let manifests = (self.manifest(&one)?, self.manifest(&other)?);
        differences(self, &TreeSide::new(one, &manifests.0), &TreeSide::new(other, &manifests.1))
    }
}

pub(in crate::checkpoint) fn differences(
    store: &Store,
    one: &TreeSide<'_>,
    other: &TreeSide<'_>,
) -> io::Result<Differences> {
    let mut work = Work { store, one, other, found: Differences::new() };
    // Where most permissions differ, everything does.
    let deep = one.manifest.modes != other.manifest.modes;
    work.folder(Some(one.parts.files), Some(other.parts.files), &[], deep)?;
    let lists = [(&one.manifest.files, &other.manifest.files), (&one.manifest.folders, &other.manifest.folders)];
    for (one_list, other_list) in lists {
        let [first, second] = [one_list, other_list].map(|list| list.iter().collect::<BTreeSet<_>>());
        for (path, _) in first.symmetric_difference(&second) {
            work.found.insert(path.clone(), (one.find(store, path)?, other.find(store, path)?));
        }
    }
    for (path, (before, after)) in &mut work.found {
        *before = before.take().or_else(|| one.hollow(path));
        *after = after.take().or_else(|| other.hollow(path));
    }
    work.found.retain(|_, (before, after)| before != after);
    Ok(work.found)
}

struct Work<'a> {
    store: &'a Store,
    one: &'a TreeSide<'a>,
    other: &'a TreeSide<'a>,
    found: Differences,
}

impl Work<'_> {
    fn folder(&mut self, one: Option<Id>, other: Option<Id>, path: &[u8], deep: bool) -> io::Result<()> {
        if one == other && !deep {
            return Ok(());
        }
        let entries = |id: Option<Id>| -> io::Result<BTreeMap<Vec<u8>, TreeEntry>> {
            let entries = id.map_or_else(|| Ok(Vec::new()), |id| self.store.tree(&id))?;
            Ok(entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
        };
        let (ones, mut others) = (entries(one)?, entries(other)?);
        for (name, entry) in ones {
            let other = others.remove(&name);
            self.name(path, Some(entry), other, deep)?;
        }
        others.into_values().try_for_each(|entry| self.name(path, None, Some(entry), deep))
    }

    fn name(&mut self, above: &[u8], one: Option<TreeEntry>, other: Option<TreeEntry>, deep: bool) -> io::Result<()> {
        if one == other && !deep {
            return Ok(());
        }
        let Some(name) = one.as_ref().or(other.as_ref()).map(|entry| entry.name.clone()) else { return Ok(()) };
        let path = joined(above, &name);
        let folder =
            |entry: &Option<TreeEntry>| entry.as_ref().filter(|entry| entry.mode == FOLDER).map(|entry| entry.id);
        let folders = (folder(&one), folder(&other));
        if folders != (None, None) {
            self.folder(folders.0, folders.1, &path, deep)?;
        }
        let stored_entry = |entry: Option<TreeEntry>, side: &TreeSide<'_>| {
            entry.map(|entry| self.store.stored_entry(&path, &entry, &side.lookup)).transpose()
        };
        let pair = (stored_entry(one, self.one)?, stored_entry(other, self.other)?);
        if pair.0 != pair.1 {
            self.found.insert(path, pair);
        }
        Ok(())
    }
}
