//! A merge with conflicts as a tree: what can be merged is merged, and texts in conflict have both versions between signs.
use std::io;

use super::assemble::{Assembled, above, assemble, has_below};
use super::conflict::{Conflict, ConflictKind, ConflictSide};
use super::lines::{Signs, mark_lines};
use super::names::Sides;
use super::three_way::{MergeRequest, write};
use crate::checkpoint::diff::{Bounds, Content, ContentReader, is_binary};
use crate::checkpoint::{Id, ObjectKind, Store, StoredEntry, StoredKind};

/// A tree with both versions of each conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkedTree {
    /// The hash of the tree.
    pub tree: String,
    /// The files that have signs.
    pub paths: Vec<Vec<u8>>,
}

/// Writes a merge that has conflicts as a checkpoint with both versions of each. None where a conflict is about something
/// else than texts: then there is no such tree, and nothing is written.
///
/// # Errors
/// When something of them is missing or damaged, or the store cannot be written.
pub fn mark(store: &mut Store, request: &MergeRequest<'_>, signs: &Signs) -> io::Result<Option<MarkedTree>> {
    let _lock = store.lock(false)?;
    store.refresh()?;
    let sides = Sides::load(store, request)?;
    // Which names are one file is merged only where nothing else is in conflict.
    if !sides.ours.manifest.same.is_empty() || !sides.their_manifest.same.is_empty() {
        return Ok(None);
    }
    let mut assembled = assemble(store, sides)?;
    let mut paths = Vec::new();
    for conflict in std::mem::take(&mut assembled.conflicts) {
        let Some((path, entry, bytes)) = marked(store, &assembled, &conflict, signs)? else { return Ok(None) };
        if !put(&mut assembled, &path, entry) {
            return Ok(None);
        }
        assembled.contents.push(bytes);
        paths.push(path);
    }
    let written = write(store, request, assembled)?;
    Ok(Some(MarkedTree { tree: written.tree, paths }))
}

/// The name of a text in conflict, what it is, and its content with signs.
type MarkedText = (Vec<u8>, StoredEntry, Vec<u8>);

/// A text in conflict with both versions between signs. None where it is not a text.
fn marked(store: &Store, merged: &Assembled, conflict: &Conflict, signs: &Signs) -> io::Result<Option<MarkedText>> {
    let (ours, theirs) = (conflict.ours.as_ref(), conflict.theirs.as_ref());
    let base = merged.our_changes.get(&conflict.path).and_then(|(before, _)| before.as_ref());
    let base = base.filter(|_| conflict.kind == ConflictKind::BothChanged);
    let is_here = |side: Option<&ConflictSide>| side.is_none_or(|side| side.path == conflict.path);
    let has_versions = [ConflictKind::BothAdded, ConflictKind::ChangedAndDeleted].contains(&conflict.kind);
    let path = if conflict.kind == ConflictKind::BothChanged {
        let moved = [ours, theirs].into_iter().flatten().find(|side| side.path != conflict.path);
        moved.map_or_else(|| conflict.path.clone(), |side| side.path.clone())
    } else if has_versions && is_here(ours) && is_here(theirs) {
        conflict.path.clone()
    } else {
        return Ok(None);
    };
    let mut texts = Vec::new();
    for what in [base.map(|base| &base.what), ours.map(|side| &side.entry.what), theirs.map(|side| &side.entry.what)] {
        let Some(text) = text_of(store, what)? else { return Ok(None) };
        texts.push(text);
    }
    let [base_text, our_text, their_text] = texts.as_slice() else { return Ok(None) };
    let bytes = match (ours, theirs) {
        (Some(_), Some(_)) => mark_lines([base_text, our_text, their_text], signs, Bounds::default().file_steps),
        // One side deleted it: that version is empty.
        _ => {
            let mut bytes = Vec::new();
            signs.write(our_text, their_text, &mut bytes);
            Some(bytes)
        }
    };
    let modes = [ours, theirs].into_iter().flatten().map(|side| side.entry.mode);
    let mode = modes.clone().find(|mode| base.is_some_and(|base| base.mode != *mode)).or_else(|| modes.clone().next());
    let what = bytes.as_ref().map(|bytes| StoredKind::File(Id::of(ObjectKind::Blob, bytes)));
    let entry = what.zip(mode).map(|(what, mode)| StoredEntry { what, mode });
    Ok(bytes.zip(entry).map(|(bytes, entry)| (path, entry, bytes)))
}

/// A text of a side; empty where the side has nothing. None where it is no text, or too long.
fn text_of(store: &Store, what: Option<&StoredKind>) -> io::Result<Option<Vec<u8>>> {
    let id = match what {
        None => return Ok(Some(Vec::new())),
        Some(StoredKind::File(id)) => id,
        Some(_) => return Ok(None),
    };
    Ok(match ContentReader::read(store, id, Bounds::default().file_bytes)? {
        Content::Whole(bytes) if !is_binary(&bytes) => Some(bytes),
        Content::Whole(_) | Content::Beginning(_) => None,
    })
}

/// Gives a file its name, and the folders above it. False where something else has the name.
fn put(merged: &mut Assembled, path: &[u8], entry: StoredEntry) -> bool {
    let is_folder = |entry: &StoredEntry| entry.what == StoredKind::Folder;
    if has_below(&merged.names, path) || merged.names.get(path).is_some_and(is_folder) {
        return false;
    }
    for folder in above(path) {
        match merged.names.get(folder) {
            Some(entry) if is_folder(entry) => {}
            Some(_) => return false,
            None => {
                let known = merged.ours.get(folder).filter(|entry| is_folder(entry)).map_or(0o755, |entry| entry.mode);
                merged.names.insert(folder.to_vec(), StoredEntry { what: StoredKind::Folder, mode: known });
            }
        }
    }
    merged.names.insert(path.to_vec(), entry);
    true
}
