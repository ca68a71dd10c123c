//! A checkpoint that is made from names, not read from a workspace: the result of a merge. It is the same, byte for
//! byte, as a checkpoint of a workspace with these names would be, so that both can be compared by their ids.
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::SystemTime;

use super::git::manifest::{Manifest, Modes};
use super::git::object::{FILE, FOLDER, Id, LINK, ObjectKind, PROGRAM, TreeEntry, commit, tree};
use super::git::pack::Pack;
use super::git::pack_write::PackWriter;
use super::git::refs::words_of;
use super::git::store::{FILES, IGNORED, MANIFEST, SCOPE, Store, StoredEntry, StoredKind};
use super::run_checkpoints::hash_of;
use super::scan::cache::wall_nanos;
use crate::fs::handle::split;

/// What a checkpoint is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MadeCheckpoint<'a> {
    /// Its full name.
    pub(crate) name: &'a str,
    /// The one before it: its rules, and its small ignored files, are those of the new one.
    pub(crate) parent: Id,
    /// Every name, and every folder that a name is in.
    pub(crate) names: &'a BTreeMap<Vec<u8>, StoredEntry>,
    /// Names that are one file.
    pub(crate) same: &'a [Vec<Vec<u8>>],
    /// Contents that no other checkpoint has.
    pub(crate) contents: &'a [Vec<u8>],
}

impl Store {
    /// Writes a checkpoint. All of it is safe on disk when this returns, or nothing of it counts.
    ///
    /// # Errors
    /// When a content is not in the store, or it cannot be written.
    pub(crate) fn write_made(&mut self, made: &MadeCheckpoint<'_>) -> io::Result<Id> {
        let _lock = self.lock(false)?;
        self.refresh()?;
        let parent = self.tree(&self.commit(&made.parent)?.tree)?;
        let mut writer = PackWriter::begin(&self.pack_folder())?;
        let known = |id: &Id| self.has(id);
        for bytes in made.contents {
            writer.add(ObjectKind::Blob, bytes, &known)?;
        }
        let trees = trees_of(made.names, &mut |kind, bytes| writer.add(kind, bytes, &known))?;
        for (path, entry) in made.names {
            if let StoredKind::File(id) = entry.what
                && !self.has(&id)
                && !writer.has(&id)
            {
                let path = loop_core::text::escape_path(path);
                return Err(io::Error::new(
                    io::ErrorKind::NotFound,
                    format!("{path}: its content is not in the store"),
                ));
            }
        }
        let files = match trees.get(&[][..]) {
            Some(id) => *id,
            None => writer.add(ObjectKind::Tree, &[], &known)?,
        };
        let manifest = manifest_of(made, &trees).encode();
        let manifest = writer.add(ObjectKind::Blob, &manifest, &known)?;
        let mut root = vec![entry_of(FOLDER, FILES, files), entry_of(FILE, MANIFEST, manifest)];
        root.extend(parent.into_iter().filter(|entry| entry.name == SCOPE || entry.name == IGNORED));
        let root = writer.add(ObjectKind::Tree, &tree(root), &known)?;
        let id = writer.add(ObjectKind::Commit, &commit_now(root, Some(made.parent), made.name), &known)?;
        self.add_named(writer, made.name, id)?;
        Ok(id)
    }

    /// Gives the tree of a checkpoint a second name, also of another run: a checkpoint of its own, synced like any other.
    ///
    /// # Errors
    /// When it is not in the store, or cannot be written.
    pub(crate) fn name_again(&mut self, id: &Id, name: &str) -> io::Result<Id> {
        let _lock = self.lock(false)?;
        self.refresh()?;
        let root = self.commit(id)?.tree;
        let mut writer = PackWriter::begin(&self.pack_folder())?;
        let id = writer.add(ObjectKind::Commit, &commit_now(root, None, name), &|id: &Id| self.has(id))?;
        self.add_named(writer, name, id)?;
        Ok(id)
    }

    /// Adds what was written, and gives its commit the name.
    fn add_named(&mut self, writer: PackWriter, name: &str, id: Id) -> io::Result<()> {
        let sealed = writer.seal()?;
        crate::fs::sync_folder(&self.pack_folder())?;
        self.point(name, id)?;
        if let Some(sealed) = sealed {
            sealed.write_index()?;
            self.packs.extend(Pack::with_index(&sealed.pack, sealed.index));
            self.sort();
        }
        Ok(())
    }

    /// The hash of a checkpoint's tree: the same text means the same files with the same permissions.
    pub(crate) fn tree_hash(&self, id: &Id) -> io::Result<String> {
        let parts = self.parts(id)?;
        Ok(hash_of(parts.files, parts.manifest))
    }
}

/// The commit of a checkpoint that is made now.
fn commit_now(root: Id, parent: Option<Id>, name: &str) -> Vec<u8> {
    let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
    commit(root, parent, seconds, &words_of(name, wall_nanos()))
}

fn entry_of(mode: u32, name: &[u8], id: Id) -> TreeEntry {
    TreeEntry { mode, name: name.to_vec(), id }
}

/// The tree of every folder that has files, by its path.
fn trees_of(
    names: &BTreeMap<Vec<u8>, StoredEntry>,
    add: &mut dyn FnMut(ObjectKind, &[u8]) -> io::Result<Id>,
) -> io::Result<BTreeMap<Vec<u8>, Id>> {
    let mut folders: BTreeMap<&[u8], Vec<TreeEntry>> = BTreeMap::from([(&[][..], Vec::new())]);
    for (path, entry) in names {
        let (above, name) = split(path);
        let made = match &entry.what {
            StoredKind::Folder => {
                folders.entry(path).or_default();
                continue;
            }
            StoredKind::Link(leads) => entry_of(LINK, name, add(ObjectKind::Blob, leads)?),
            StoredKind::File(id) => entry_of(if is_program(entry) { PROGRAM } else { FILE }, name, *id),
        };
        folders.entry(above).or_default().push(made);
    }
    let mut trees = BTreeMap::new();
    // What is in a folder comes after it.
    while let Some((path, entries)) = folders.pop_last() {
        if entries.is_empty() {
            continue;
        }
        let id = add(ObjectKind::Tree, &tree(entries))?;
        if !path.is_empty() {
            let (above, name) = split(path);
            folders.entry(above).or_default().push(entry_of(FOLDER, name, id));
        }
        trees.insert(path.to_vec(), id);
    }
    Ok(trees)
}

fn is_program(entry: &StoredEntry) -> bool {
    entry.mode & 0o100 != 0
}

/// The mode that most have; of several the smallest.
fn most(modes: impl Iterator<Item = u32>, otherwise: u32) -> u32 {
    let mut counts: BTreeMap<u32, u64> = BTreeMap::new();
    modes.for_each(|mode| *counts.entry(mode).or_default() += 1);
    let best = counts.into_iter().min_by_key(|(mode, count)| (std::cmp::Reverse(*count), *mode));
    best.map_or(otherwise, |(mode, _)| mode)
}

/// What git cannot hold, as a scan of a workspace finds it.
fn manifest_of(made: &MadeCheckpoint<'_>, trees: &BTreeMap<Vec<u8>, Id>) -> Manifest {
    let files = || made.names.iter().filter(|(_, entry)| matches!(entry.what, StoredKind::File(_)));
    let folders = || made.names.iter().filter(|(_, entry)| entry.what == StoredKind::Folder);
    let modes_of = |program: bool| {
        files().map(|(_, entry)| entry).filter(move |entry| is_program(entry) == program).map(|entry| entry.mode)
    };
    let is_full = |path: &Vec<u8>| trees.contains_key(path);
    let plain = Modes::default();
    let modes = Modes {
        file: most(modes_of(false), plain.file),
        program: most(modes_of(true), plain.program),
        folder: most(folders().filter(|(path, _)| is_full(path)).map(|(_, entry)| entry.mode), plain.folder),
    };
    let usual = |entry: &StoredEntry| if is_program(entry) { modes.program } else { modes.file };
    let own = |list: Vec<(&Vec<u8>, &StoredEntry)>| {
        list.into_iter().map(|(path, entry)| (path.clone(), entry.mode)).collect()
    };
    let same: BTreeSet<Vec<Vec<u8>>> = made.same.iter().cloned().collect();
    Manifest {
        modes,
        files: own(files().filter(|(_, entry)| entry.mode != usual(entry)).collect()),
        folders: own(folders().filter(|(path, entry)| !is_full(path) || entry.mode != modes.folder).collect()),
        same: same.into_iter().collect(),
        ..Manifest::default()
    }
}
