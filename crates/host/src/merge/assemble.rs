//! Puts files, folders and links together to one tree, and finds names that exclude each other.
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::conflict::{Conflict, ConflictKind};
use super::folders::{MergedFolders, merge_folders};
use super::links::{Group, merge_links};
use super::names::{MergedFiles, Sides, Wanted, is_file, is_same_new, merge_files};
use super::three_way::MergeCounts;
use crate::checkpoint::{Differences, Store, StoredEntry, StoredKind};
use crate::fs::handle::split;

/// A merge that is not written yet.
#[derive(Debug)]
pub(super) struct Assembled {
    /// Every name of the result.
    pub(super) names: BTreeMap<Vec<u8>, StoredEntry>,
    /// Names that are one file.
    pub(super) same: Vec<Group>,
    /// Contents that no side has.
    pub(super) contents: Vec<Vec<u8>>,
    pub(super) counts: MergeCounts,
    pub(super) out_of_scope: Vec<Vec<u8>>,
    /// Sorted by path. Where there are any, the names mean nothing.
    pub(super) conflicts: Vec<Conflict>,
    /// All of our side.
    pub(super) ours: BTreeMap<Vec<u8>, StoredEntry>,
    /// From the base to our side.
    pub(super) our_changes: Differences,
}

/// Merges everything.
pub(super) fn assemble(store: &Store, sides: Sides) -> io::Result<Assembled> {
    let MergedFiles { wanted, moves, mut conflicts, contents, counts } = merge_files(store, &sides)?;
    let folders = merge_folders(&sides);
    let mut tree = NewTree { sides: &sides, names: sides.ours.names.clone(), conflicts: Vec::new() };
    for path in sides.touched() {
        if is_file(sides.ours(path)) {
            tree.names.remove(path);
        }
    }
    for (path, wanted) in &wanted {
        tree.put_file(path, wanted);
    }
    tree.put_folders(&folders);
    wanted.keys().for_each(|path| tree.put_above(path, &folders));
    folders.wanted.keys().for_each(|path| tree.put_above(path, &folders));
    tree.check_left_out();
    let NewTree { names, conflicts: of_tree, .. } = tree;
    conflicts.extend(of_tree);
    conflicts.extend(folders.conflicts);
    let mut same = Vec::new();
    if conflicts.is_empty() {
        match merge_links(&sides, &moves, &names) {
            Ok(groups) => same = groups,
            Err(group) => {
                let path = group.first().cloned().unwrap_or_default();
                conflicts.push(sides.conflict(&path, ConflictKind::HardLinks));
            }
        }
    }
    conflicts.sort_by(|one, other| (&one.path, one.kind).cmp(&(&other.path, other.kind)));
    conflicts.dedup_by(|one, other| one.path == other.path);
    let Sides { ours, our_changes, out_of_scope, .. } = sides;
    Ok(Assembled { names, same, contents, counts, out_of_scope, conflicts, ours: ours.names, our_changes })
}

/// Whether something is in a folder.
pub(super) fn has_below(names: &BTreeMap<Vec<u8>, StoredEntry>, path: &[u8]) -> bool {
    let inside = [path, b"/"].concat();
    names.range(inside.clone()..).next().is_some_and(|(next, _)| next.starts_with(&inside))
}

/// The folders above a path, the nearest first.
pub(super) fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = path;
    std::iter::from_fn(move || {
        at = split(at).0;
        (!at.is_empty()).then_some(at)
    })
}

struct NewTree<'a> {
    sides: &'a Sides,
    names: BTreeMap<Vec<u8>, StoredEntry>,
    conflicts: Vec<Conflict>,
}

impl NewTree<'_> {
    /// Gives a file its name. Two that want the same name must be the same.
    fn put_file(&mut self, path: &[u8], wanted: &[Wanted]) {
        let Some(first) = wanted.first() else { return };
        if wanted.iter().any(|other| !is_same_new(&first.entry, &other.entry)) {
            let ours = wanted.iter().find_map(|wanted| wanted.ours.clone());
            let theirs = wanted.iter().rev().find_map(|wanted| wanted.theirs.clone());
            self.conflicts.push(Conflict { path: path.to_vec(), kind: ConflictKind::BothAdded, ours, theirs });
        }
        self.names.insert(path.to_vec(), first.entry.clone());
    }

    fn put_folders(&mut self, folders: &MergedFolders) {
        for (path, mode) in &folders.wanted {
            if is_file(self.names.get(path)) {
                self.conflicts.push(self.sides.conflict(path, ConflictKind::FileAgainstFolder));
                continue;
            }
            self.names.insert(path.clone(), StoredEntry { what: StoredKind::Folder, mode: *mode });
        }
        // What is in a folder comes after it.
        for (path, mode) in folders.only_if_full.iter().rev() {
            if is_file(self.names.get(path)) {
                continue;
            }
            if has_below(&self.names, path) {
                self.names.insert(path.clone(), StoredEntry { what: StoredKind::Folder, mode: *mode });
            } else {
                self.names.remove(path);
            }
        }
    }

    /// The folders above a name: all must be there, and be folders. A file must have nothing in it.
    fn put_above(&mut self, path: &[u8], folders: &MergedFolders) {
        for folder in above(path) {
            match self.names.get(folder) {
                Some(entry) if entry.what == StoredKind::Folder => {}
                Some(_) => self.conflicts.push(self.sides.conflict(folder, ConflictKind::FileAgainstFolder)),
                None => {
                    let sides = [self.sides.ours(folder), self.sides.theirs(folder), self.sides.base(folder)];
                    let known = sides.into_iter().flatten().find(|entry| entry.what == StoredKind::Folder);
                    let mode = folders.only_if_full.get(folder).copied().or(known.map(|entry| entry.mode));
                    let mode = mode.unwrap_or(0o755);
                    self.names.insert(folder.to_vec(), StoredEntry { what: StoredKind::Folder, mode });
                }
            }
        }
        if is_file(self.names.get(path)) && has_below(&self.names, path) {
            self.conflicts.push(self.sides.conflict(path, ConflictKind::FileAgainstFolder));
        }
    }

    /// What a checkpoint could not hold says nothing about that side: a change of the other side is a conflict.
    fn check_left_out(&mut self) {
        let of = |list: &[(Vec<u8>, String)]| list.iter().map(|(path, _)| path.clone()).collect::<BTreeSet<_>>();
        let ours = of(&self.sides.ours.manifest.left_out);
        let theirs = of(&self.sides.their_manifest.left_out);
        let mut found = BTreeSet::new();
        for (path, (_, after)) in &self.sides.their_changes {
            let is_named = |left_out: &BTreeSet<Vec<u8>>| {
                left_out.contains(path) || above(path).any(|folder| left_out.contains(folder))
            };
            let inside = [path.as_slice(), b"/"].concat();
            let is_inside = || ours.range(inside.clone()..).next().is_some_and(|next| next.starts_with(&inside));
            let is_gone = after.is_none() && is_named(&theirs);
            if is_gone || is_named(&ours) || is_file(after.as_ref()) && is_inside() {
                found.insert(path.clone());
            }
        }
        let all = found.iter().map(|path| self.sides.conflict(path, ConflictKind::NotRecorded));
        self.conflicts.extend(all);
    }
}
