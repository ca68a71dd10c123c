//! Which names differ, as pairs, from the trees and manifests of two checkpoints alone. No file is read.
use std::collections::BTreeSet;
use std::io;

use super::{FileKind, Pair, Side};
use crate::checkpoint::git::between::Differences;
use crate::checkpoint::git::object::{Id, ObjectKind};
use crate::checkpoint::git::store::{Store, StoredEntry, StoredKind};

/// What differs, without reading any file.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) pairs: Vec<Pair>,
    pub(super) joined: Vec<Vec<Vec<u8>>>,
    pub(super) parted: Vec<Vec<Vec<u8>>>,
    /// Nested repositories whose own files differ, with the log of their HEAD on both sides.
    pub(super) nested: Vec<Nested>,
}

/// A nested repository whose own files (`.git`) differ. They are kept, and are no work.
#[derive(Debug, Default)]
pub(super) struct Nested {
    /// The folder that it is in.
    pub(super) path: Vec<u8>,
    pub(super) log: (Option<Side>, Option<Side>),
}

pub(super) fn walk(store: &Store, from: Option<Id>, to: Id) -> io::Result<Walked> {
    let same = |id: Id| -> io::Result<BTreeSet<Vec<Vec<u8>>>> {
        Ok(store.manifest(&store.parts(&id)?)?.same.into_iter().collect())
    };
    let (before, after) = (from.map(same).transpose()?.unwrap_or_default(), same(to)?);
    let differences = match from {
        Some(from) => store.between(&from, &to)?,
        None => store.load(to)?.names.into_iter().map(|(path, entry)| (path, (None, Some(entry)))).collect(),
    };
    let (differences, nested) = without_nested(differences);
    let is_work = |names: &&Vec<Vec<u8>>| !names.iter().any(|name| repository_of(name).is_some());
    let full =
        |path: &[u8], of: fn(&(Option<StoredEntry>, Option<StoredEntry>)) -> bool| is_full(&differences, path, of);
    let mut pairs = Vec::new();
    for (path, (one, other)) in &differences {
        let (from, to) = (one.as_ref().map(side_of), other.as_ref().map(side_of));
        let is_folder = |side: &Option<Side>| side.is_none_or(|side| side.kind == FileKind::Folder);
        // A folder that came or went with its files is not listed itself.
        let without_remark = is_folder(&from)
            && is_folder(&to)
            && match (&from, &to) {
                (None, Some(_)) => full(path, |pair| pair.1.is_some()),
                (Some(_), None) => full(path, |pair| pair.0.is_some()),
                (Some(_), Some(_)) | (None, None) => false,
            };
        if !without_remark {
            pairs.push(Pair { path: path.clone(), from, to });
        }
    }
    let parted = before.difference(&after).filter(is_work).cloned().collect();
    let joined = after.difference(&before).filter(is_work).cloned().collect();
    Ok(Walked { pairs, joined, parted, nested })
}

/// The folder of the nested repository whose own files a path is of.
fn repository_of(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut begin = 0;
    for name in path.split(|byte| *byte == b'/') {
        let end = begin + name.len();
        if name == b".git" {
            return Some((&path[..begin.saturating_sub(1)], path.get(end + 1..).unwrap_or_default()));
        }
        begin = end + 1;
    }
    None
}

/// Takes the own files of nested repositories out, and names these.
fn without_nested(differences: Differences) -> (Differences, Vec<Nested>) {
    let mut nested: Vec<Nested> = Vec::new();
    let mut work = Differences::new();
    for (path, pair) in differences {
        let Some((folder, rest)) = repository_of(&path) else {
            work.insert(path, pair);
            continue;
        };
        if nested.last().is_none_or(|last| last.path != folder) {
            nested.push(Nested { path: folder.to_vec(), ..Nested::default() });
        }
        if let Some(last) = nested.last_mut().filter(|_| rest == b"logs/HEAD") {
            last.log = (pair.0.as_ref().map(side_of), pair.1.as_ref().map(side_of));
        }
    }
    (work, nested)
}

/// Whether something in a folder came, or went, with it.
fn is_full(
    differences: &Differences,
    path: &[u8],
    of: fn(&(Option<StoredEntry>, Option<StoredEntry>)) -> bool,
) -> bool {
    let inside = [path, b"/"].concat();
    let mut below = differences.range(inside.clone()..).take_while(|(path, _)| path.starts_with(&inside));
    below.any(|(_, pair)| of(pair))
}

pub(super) fn side_of(entry: &StoredEntry) -> Side {
    let (kind, id) = match &entry.what {
        StoredKind::File(id) => (FileKind::File, Some(*id)),
        StoredKind::Link(leads) => (FileKind::Link, Some(Id::of(ObjectKind::Blob, leads))),
        StoredKind::Folder => (FileKind::Folder, None),
    };
    Side { kind, mode: entry.mode, id }
}
