//! Which names differ: folders are entered only where their ids differ, so that it takes as long as there are
//! changes. The manifests tell what git's trees cannot: permissions, empty folders, names that are one file.
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io;

use super::super::manifest::{Manifest, PLAIN_FILE, PLAIN_FOLDER, PROGRAM};
use super::super::object::{FOLDER, Id, Kind, TreeEntry, read_tree};
use super::super::scan::joined;
use super::super::store::Store;
use super::{Pair, Side, Sort};

/// What differs, without a look into any file.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) pairs: Vec<Pair>,
    pub(super) joined: Vec<Vec<Vec<u8>>>,
    pub(super) parted: Vec<Vec<Vec<u8>>>,
}

type Folder = BTreeMap<Vec<u8>, TreeEntry>;

/// The two parts of a checkpoint.
struct Top {
    files: Id,
    manifest: Id,
}

struct Walk<'a> {
    store: &'a Store,
    pairs: BTreeMap<Vec<u8>, (Option<Side>, Option<Side>)>,
    /// Folders that were looked into.
    known: HashMap<Id, Folder>,
}

pub(super) fn walk(store: &Store, from: Option<Id>, to: Id) -> io::Result<Walked> {
    let (from, to) = (from.map(|from| top(store, from)).transpose()?, top(store, to)?);
    let mut walk = Walk { store, pairs: BTreeMap::new(), known: HashMap::new() };
    let from_files = from.as_ref().map(|top| top.files);
    walk.folders(from_files, Some(to.files), &[])?;
    let mut walked = Walked::default();
    if from.as_ref().map(|top| top.manifest) != Some(to.manifest) {
        let before = from.as_ref().map(|top| object(store, &top.manifest, Kind::Blob)).transpose()?;
        let after = object(store, &to.manifest, Kind::Blob)?;
        let (before, after) = changed_lines(before.as_deref().unwrap_or_default(), &after);
        let (before, after) = (read_manifest(&before)?, read_manifest(&after)?);
        walk.permissions(&before, &after, to.files)?;
        walk.empty_folders((&before, &after), (from_files, to.files))?;
        walked.parted = before.same;
        walked.joined = after.same;
    }
    let pairs = walk.pairs.into_iter().filter(|(_, (from, to))| from != to);
    walked.pairs = pairs.map(|(path, (from, to))| Pair { path, from, to }).collect();
    Ok(walked)
}

fn object(store: &Store, id: &Id, kind: Kind) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let found = store.copy(id, &mut bytes)?;
    if found == kind { Ok(bytes) } else { Err(odd(id)) }
}

fn odd(id: &Id) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{id} is no part of a checkpoint of ours"))
}

fn top(store: &Store, id: Id) -> io::Result<Top> {
    let commit = object(store, &id, Kind::Commit)?;
    let line = commit.split(|byte| *byte == b'\n').next().and_then(|line| std::str::from_utf8(line).ok());
    let root = line.and_then(|line| line.strip_prefix("tree ")).and_then(Id::parse).ok_or_else(|| odd(&id))?;
    let root = read_tree(&object(store, &root, Kind::Tree)?).ok_or_else(|| odd(&id))?;
    let of = |name: &[u8]| root.iter().find(|entry| entry.name == name).map(|entry| entry.id).ok_or_else(|| odd(&id));
    Ok(Top { files: of(b"files")?, manifest: of(b"manifest")? })
}

fn read_manifest(lines: &[u8]) -> io::Result<Manifest> {
    Manifest::read(lines).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a manifest of another form"))
}

/// The lines that only one of them has: reading all of a manifest would take longer than everything else.
fn changed_lines(before: &[u8], after: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let lines = |text| <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect::<HashSet<&[u8]>>();
    let (known_before, known_after) = (lines(before), lines(after));
    let only = |text, known: &HashSet<&[u8]>| {
        let lines = <[u8]>::split_inclusive(text, |byte| *byte == b'\n');
        lines.filter(|line| !known.contains(line)).collect::<Vec<&[u8]>>().concat()
    };
    (only(before, &known_after), only(after, &known_before))
}

fn side_of(entry: &TreeEntry) -> Side {
    match entry.mode {
        FOLDER => Side { sort: Sort::Folder, mode: PLAIN_FOLDER, id: None },
        0o120_000 => Side { sort: Sort::Link, mode: 0o777, id: Some(entry.id) },
        0o100_755 => Side { sort: Sort::File, mode: PROGRAM, id: Some(entry.id) },
        _ => Side { sort: Sort::File, mode: PLAIN_FILE, id: Some(entry.id) },
    }
}

impl Walk<'_> {
    fn folder(&self, id: Option<Id>) -> io::Result<Folder> {
        let Some(id) = id else { return Ok(Folder::new()) };
        let entries = read_tree(&object(self.store, &id, Kind::Tree)?).ok_or_else(|| odd(&id))?;
        Ok(entries.into_iter().map(|entry| (entry.name.clone(), entry)).collect())
    }

    fn folders(&mut self, from: Option<Id>, to: Option<Id>, path: &[u8]) -> io::Result<()> {
        if from == to {
            return Ok(());
        }
        let (before, after) = (self.folder(from)?, self.folder(to)?);
        let names: BTreeSet<&Vec<u8>> = before.keys().chain(after.keys()).collect();
        for name in names {
            let (one, other) = (before.get(name), after.get(name));
            if one == other {
                continue;
            }
            let path = joined(path, name);
            let inside = |entry: Option<&TreeEntry>| entry.filter(|entry| entry.mode == FOLDER).map(|entry| entry.id);
            self.folders(inside(one), inside(other), &path)?;
            let sides = (one.map(side_of), other.map(side_of));
            // A folder that came or went with what is in it goes without saying.
            let said = |side: &Option<Side>| side.is_some_and(|side| side.sort != Sort::Folder);
            if said(&sides.0) || said(&sides.1) {
                self.pairs.insert(path, sides);
            }
        }
        Ok(())
    }

    /// What stands at a path in a tree.
    fn find(&mut self, root: Option<Id>, path: &[u8]) -> io::Result<Option<Side>> {
        let (mut at, mut found) = (root, None);
        for name in path.split(|byte| *byte == b'/') {
            let Some(id) = at else { return Ok(None) };
            if !self.known.contains_key(&id) {
                let folder = self.folder(Some(id))?;
                self.known.insert(id, folder);
            }
            let entry = self.known.get(&id).and_then(|folder| folder.get(name));
            found = entry.map(side_of);
            at = entry.filter(|entry| entry.mode == FOLDER).map(|entry| entry.id);
        }
        Ok(found)
    }

    /// Permissions of files that git does not know.
    fn permissions(&mut self, before: &Manifest, after: &Manifest, files: Id) -> io::Result<()> {
        let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (before.files.iter().cloned().collect(), after.files.iter().cloned().collect());
        let paths: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        for path in paths {
            if !self.pairs.contains_key(path) {
                // The trees are the same there, so that what stands in one stands in both.
                let side = self.find(Some(files), path)?;
                self.pairs.insert(path.clone(), (side, side));
            }
            let Some((from, to)) = self.pairs.get_mut(path) else { continue };
            let set = |side: &mut Option<Side>, mode: Option<&u32>| {
                if let (Some(side), Some(mode)) = (side.as_mut().filter(|side| side.sort == Sort::File), mode) {
                    side.mode = *mode;
                }
            };
            set(from, old.get(path));
            set(to, new.get(path));
        }
        Ok(())
    }

    /// Folders that git does not hold, and permissions of those that it does.
    fn empty_folders(&mut self, (before, after): (&Manifest, &Manifest), roots: (Option<Id>, Id)) -> io::Result<()> {
        let (old, new): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (before.folders.iter().cloned().collect(), after.folders.iter().cloned().collect());
        let paths: BTreeSet<&Vec<u8>> = old.keys().chain(new.keys()).collect();
        for path in paths {
            let held = match self.pairs.get(path) {
                // A file on one side; its permissions are known already.
                Some(sides) => *sides,
                None => (self.find(roots.0, path)?, self.find(Some(roots.1), path)?),
            };
            let side = |mode: Option<&u32>, held: Option<Side>| match mode {
                Some(mode) => Some(Side { sort: Sort::Folder, mode: *mode, id: None }),
                None => held,
            };
            let (from, to) = (side(old.get(path), held.0), side(new.get(path), held.1));
            // One that came or went with what is in it goes without saying, whatever its permissions.
            let came_full = from.is_none() && held.1.is_some();
            let went_full = to.is_none() && held.0.is_some();
            if !came_full && !went_full {
                self.pairs.insert(path.clone(), (from, to));
            }
        }
        Ok(())
    }
}
