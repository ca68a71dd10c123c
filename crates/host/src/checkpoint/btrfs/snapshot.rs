//! A snapshot as a checkpoint: every name in scope with the id of its content, and the content itself.
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::content::{fill, id_of, open_file};
use crate::checkpoint::manifest::{Manifest, PLAIN_FILE, PLAIN_FOLDER, PROGRAM};
use crate::checkpoint::object::{FOLDER, Id, Kind, TreeEntry, tree};
use crate::checkpoint::pack::PackWriter;
use crate::checkpoint::restore::{Restored, restore};
use crate::checkpoint::rules::Rules;
use crate::checkpoint::scan::{Found, Seen, Stamp, What, scan};
use crate::checkpoint::store::{Checkpoint, Kept, KeptWhat, Store, split};

/// What was changed so shortly before the snapshot may have changed again within the same tick of the clock.
const RACY_NANOS: i128 = 50_000_000;

/// A snapshot of a workspace, open for reading. Nobody changes it.
#[derive(Debug)]
pub struct Snapshot {
    pub(super) folder: OwnedFd,
    /// When it was made, in nanoseconds of the wall clock.
    pub(super) made: i128,
}

/// Ids of files by their stamps, so that what has not changed between two snapshots is not read again.
#[derive(Debug, Default)]
pub struct KnownIds {
    files: HashMap<Vec<u8>, (Stamp, Id)>,
}

/// A snapshot as a checkpoint.
#[derive(Debug)]
pub struct Look {
    /// Every name in scope, and what git cannot hold.
    pub checkpoint: Checkpoint,
    /// What it was made from; what could not be read is named there.
    pub seen: Seen,
    /// The tree of the files alone, as the store has it: the same tree means the same files.
    pub files: Id,
    /// Files that had to be read.
    pub read: u64,
}

impl Snapshot {
    /// Its root folder.
    #[must_use]
    pub fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Looks at all of it that is in scope. `known` is what an earlier look has learnt.
    ///
    /// # Errors
    /// When it cannot be read. A single name that cannot is none: it is in `seen.unreadable`.
    pub fn look(&self, rules: &Rules, held: &[Vec<u8>], known: &mut KnownIds) -> io::Result<Look> {
        let mut seen = scan(&self.folder, rules, held)?;
        let mut fresh = HashMap::new();
        let mut names = BTreeMap::new();
        let mut read = 0;
        for found in &seen.found {
            let what = match &found.what {
                What::Folder => KeptWhat::Folder,
                What::Link(leads) => KeptWhat::Link(leads.clone()),
                What::File => {
                    let id = known.files.get(&found.path).filter(|(stamp, _)| *stamp == found.stamp);
                    let id = match id {
                        Some((_, id)) => Ok(*id),
                        None => {
                            read += 1;
                            open_file(&self.folder, &found.path).and_then(|file| id_of(&file))
                        }
                    };
                    match id {
                        Ok(id) => {
                            self.remember(found, id, &mut fresh);
                            KeptWhat::File(id)
                        }
                        Err(error) => {
                            seen.unreadable.push((found.path.clone(), error.to_string()));
                            continue;
                        }
                    }
                }
            };
            // The permissions of a link mean nothing.
            let mode = if matches!(what, KeptWhat::Link(_)) { 0o777 } else { found.mode };
            names.insert(found.path.clone(), Kept { what, mode });
        }
        known.files = fresh;
        let (files, hollow) = tree_of(&names);
        let manifest = manifest_of(&seen, hollow);
        Ok(Look { checkpoint: Checkpoint { names, manifest }, seen, files, read })
    }

    fn remember(&self, found: &Found, id: Id, fresh: &mut HashMap<Vec<u8>, (Stamp, Id)>) {
        if found.stamp.modified.max(found.stamp.changed) + RACY_NANOS < self.made {
            fresh.insert(found.path.clone(), (found.stamp, id));
        }
    }

    /// Gives an empty file the content of one of its files: shared where both lie on the same file system.
    ///
    /// # Errors
    /// When it is not there, or something cannot be read or written.
    pub fn fill(&self, path: &[u8], to: &File) -> io::Result<()> {
        fill(&open_file(&self.folder, path)?, to).map(drop)
    }

    /// Makes a workspace what this snapshot is, in place and in scope: only names of `before` and `target` are
    /// touched. `target` is a look at this snapshot; `before` and `seen` are one at a snapshot taken just before.
    /// `scratch` is an empty folder of ours for what has to be written.
    ///
    /// # Errors
    /// When something cannot be read or written; doing it again goes on.
    pub fn restore(
        &self,
        workspace: &OwnedFd,
        target: &Checkpoint,
        (before, seen): (&Checkpoint, &Seen),
        scratch: &Path,
    ) -> io::Result<Restored> {
        // The content that differs goes through a store, because that is what `restore` reads from.
        drop(Store::open(scratch)?);
        let mut writer = PackWriter::begin(&scratch.join("objects/pack"))?;
        for (path, kept) in &target.names {
            let same = before.names.get(path).is_some_and(|now| now.what == kept.what);
            if matches!(kept.what, KeptWhat::File(_)) && !same {
                let mut file = open_file(&self.folder, path)?;
                let length = file.metadata()?.len();
                writer.add_file(&mut file, length, &|_| false)?;
            }
        }
        writer.finish()?;
        restore(&Store::open(scratch)?, workspace, target, before, seen)
    }
}

/// The tree that git would have of these names, and the folders that it holds none of, because they are empty.
fn tree_of(names: &BTreeMap<Vec<u8>, Kept>) -> (Id, Vec<(Vec<u8>, u32)>) {
    let mut hollow = Vec::new();
    let mut open: HashMap<&[u8], Vec<TreeEntry>> = HashMap::new();
    // A folder comes before what is in it, so that backwards all is there.
    for (path, kept) in names.iter().rev() {
        let (mode, id) = match &kept.what {
            KeptWhat::File(id) => (if kept.mode & 0o100 == 0 { 0o100_644 } else { 0o100_755 }, *id),
            KeptWhat::Link(leads) => (0o120_000, Id::of(Kind::Blob, leads)),
            KeptWhat::Folder => match open.remove(path.as_slice()) {
                None => {
                    hollow.push((path.clone(), kept.mode));
                    continue;
                }
                Some(entries) => (FOLDER, Id::of(Kind::Tree, &tree(entries))),
            },
        };
        let (folder, name) = split(path);
        open.entry(folder).or_default().push(TreeEntry { mode, name: name.to_vec(), id });
    }
    let root = open.remove([].as_slice()).unwrap_or_default();
    (Id::of(Kind::Tree, &tree(root)), hollow)
}

/// What git cannot hold of what was seen.
fn manifest_of(seen: &Seen, hollow: Vec<(Vec<u8>, u32)>) -> Manifest {
    let mut manifest = Manifest { left_out: seen.left_out.clone(), folders: hollow, ..Manifest::default() };
    let mut names: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for found in &seen.found {
        match &found.what {
            What::File => {
                if found.mode != PLAIN_FILE && found.mode != PROGRAM {
                    manifest.files.push((found.path.clone(), found.mode));
                }
                if found.stamp.names > 1 {
                    names.entry(found.stamp.inode).or_default().push(found.path.clone());
                }
            }
            What::Folder if found.mode != PLAIN_FOLDER => manifest.folders.push((found.path.clone(), found.mode)),
            What::Folder | What::Link(_) => {}
        }
    }
    manifest.same = names.into_values().filter(|names| names.len() > 1).collect();
    manifest
}
