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
    let parted = before.difference(&after).cloned().collect();
    Ok(Walked { pairs, joined: after.difference(&before).cloned().collect(), parted })
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

fn side_of(entry: &StoredEntry) -> Side {
    let (kind, id) = match &entry.what {
        StoredKind::File(id) => (FileKind::File, Some(*id)),
        StoredKind::Link(leads) => (FileKind::Link, Some(Id::of(ObjectKind::Blob, leads))),
        StoredKind::Folder => (FileKind::Folder, None),
    };
    Side { kind, mode: entry.mode, id }
}
