//! Files and links by name. A file of the base is followed on both sides, also to a new name. What each side did to it
//! is merged, and the result asks for a name. Names that are asked for twice are found by `assemble`.
use std::collections::{BTreeMap, BTreeSet};
use std::io;

use super::conflict::{Conflict, ConflictKind, ConflictSide};
use super::lines::{LineMerge, merge_lines};
use super::three_way::{MergeCounts, MergeRequest};
use crate::checkpoint::diff::{Bounds, Content, ContentReader, is_binary, renames};
use crate::checkpoint::{
    Checkpoint, Differences, Id, Manifest, ObjectKind, Store, StoredEntry, StoredKind, out_of_scope,
};

/// Three checkpoints: one whole, and how the others differ.
#[derive(Debug)]
pub(super) struct Sides {
    /// All of our side.
    pub(super) ours: Checkpoint,
    /// From the base to our side.
    pub(super) our_changes: Differences,
    /// From the base to the other side, without what the other side's rules leave out.
    pub(super) their_changes: Differences,
    pub(super) base_manifest: Manifest,
    pub(super) their_manifest: Manifest,
    /// What the other side does not have only because its rules leave it out.
    pub(super) out_of_scope: Vec<Vec<u8>>,
}

/// A file or link that wants a name in the result.
#[derive(Debug, Clone)]
pub(super) struct Wanted {
    pub(super) entry: StoredEntry,
    pub(super) ours: Option<ConflictSide>,
    pub(super) theirs: Option<ConflictSide>,
}

/// Where a file of a side is in the result, if it has another name there.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) base: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) ours: BTreeMap<Vec<u8>, Vec<u8>>,
    pub(super) theirs: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// Files and links of the result.
#[derive(Debug, Default)]
pub(super) struct MergedFiles {
    /// By name, for every name that one side touched.
    pub(super) wanted: BTreeMap<Vec<u8>, Vec<Wanted>>,
    pub(super) moves: Moves,
    pub(super) conflicts: Vec<Conflict>,
    /// New contents.
    pub(super) contents: Vec<Vec<u8>>,
    pub(super) counts: MergeCounts,
}

pub(super) fn is_file(entry: Option<&StoredEntry>) -> bool {
    entry.is_some_and(|entry| entry.what != StoredKind::Folder)
}

/// The folder `.git` of the nested repository that a path belongs to.
pub(super) fn repository_of(path: &[u8]) -> Option<&[u8]> {
    let mut begin = 0;
    for name in path.split(|byte| *byte == b'/') {
        let end = begin + name.len();
        if name == b".git" {
            return path.get(..end);
        }
        begin = end + 1;
    }
    None
}

impl Sides {
    pub(super) fn load(store: &Store, request: &MergeRequest<'_>) -> io::Result<Self> {
        let ours = store.load(request.ours)?;
        let our_changes = store.between(&request.base, &request.ours)?;
        let mut their_changes = store.between(&request.base, &request.theirs)?;
        let gone = their_changes.iter().filter(|(_, (_, after))| after.is_none());
        let gone = gone.filter_map(|(path, (before, _))| Some((path.clone(), before.as_ref()?.what.clone())));
        let out_of_scope = out_of_scope(store, request.theirs, &gone.collect())?;
        their_changes.retain(|path, _| !out_of_scope.contains(path));
        let manifest = |id: &Id| store.parts(id).and_then(|parts| store.manifest(&parts));
        let (base_manifest, their_manifest) = (manifest(&request.base)?, manifest(&request.theirs)?);
        let out_of_scope = out_of_scope.into_iter().collect();
        Ok(Self { ours, our_changes, their_changes, base_manifest, their_manifest, out_of_scope })
    }

    pub(super) fn base(&self, path: &[u8]) -> Option<&StoredEntry> {
        match self.our_changes.get(path).or_else(|| self.their_changes.get(path)) {
            Some((before, _)) => before.as_ref(),
            None => self.ours(path),
        }
    }

    pub(super) fn ours(&self, path: &[u8]) -> Option<&StoredEntry> {
        self.ours.names.get(path)
    }

    pub(super) fn theirs(&self, path: &[u8]) -> Option<&StoredEntry> {
        match self.their_changes.get(path) {
            Some((_, after)) => after.as_ref(),
            None => self.base(path),
        }
    }

    /// Every path that one side touched.
    pub(super) fn touched(&self) -> BTreeSet<&Vec<u8>> {
        self.our_changes.keys().chain(self.their_changes.keys()).collect()
    }

    fn our_side(&self, path: &[u8]) -> Option<ConflictSide> {
        self.ours(path).map(|entry| ConflictSide { path: path.to_vec(), entry: entry.clone() })
    }

    fn their_side(&self, path: &[u8]) -> Option<ConflictSide> {
        self.theirs(path).map(|entry| ConflictSide { path: path.to_vec(), entry: entry.clone() })
    }

    /// A conflict of what both sides have under a path.
    pub(super) fn conflict(&self, path: &[u8], kind: ConflictKind) -> Conflict {
        Conflict { path: path.to_vec(), kind, ours: self.our_side(path), theirs: self.their_side(path) }
    }
}

/// Merges all files and links that one side touched.
pub(super) fn merge_files(store: &Store, sides: &Sides) -> io::Result<MergedFiles> {
    let nested = changed_repositories(sides);
    let mut work = Work { store, sides, renamed: Renamed::find(store, sides)?, done: MergedFiles::default() };
    for repository in &nested {
        work.done.conflicts.push(sides.conflict(repository, ConflictKind::NestedRepository));
    }
    for path in sides.touched() {
        if repository_of(path).is_some_and(|repository| nested.contains(repository)) {
            continue;
        }
        if is_file(sides.base(path)) {
            work.known(path)?;
        } else {
            work.added(path);
        }
    }
    Ok(work.done)
}

/// What names became.
type NewNames = BTreeMap<Vec<u8>, Option<StoredEntry>>;

/// Nested repositories whose own files both sides changed, not in the same way.
fn changed_repositories(sides: &Sides) -> BTreeSet<Vec<u8>> {
    let of = |changes: &Differences| {
        let mut found: BTreeMap<Vec<u8>, NewNames> = BTreeMap::new();
        for (path, (_, after)) in changes {
            if let Some(repository) = repository_of(path) {
                found.entry(repository.to_vec()).or_default().insert(path.clone(), after.clone());
            }
        }
        found
    };
    let (ours, theirs) = (of(&sides.our_changes), of(&sides.their_changes));
    let differ =
        |(path, own): (Vec<u8>, NewNames)| theirs.get(&path).is_some_and(|other| *other != own).then_some(path);
    ours.into_iter().filter_map(differ).collect()
}

/// Renames that matter: of files that the other side touched too.
#[derive(Debug, Default)]
struct Renamed {
    ours: BTreeMap<Vec<u8>, Vec<u8>>,
    theirs: BTreeMap<Vec<u8>, Vec<u8>>,
    our_targets: BTreeSet<Vec<u8>>,
    their_targets: BTreeSet<Vec<u8>>,
}

impl Renamed {
    fn find(store: &Store, sides: &Sides) -> io::Result<Self> {
        let ours = renamed(store, &sides.our_changes, &sides.their_changes)?;
        let theirs = renamed(store, &sides.their_changes, &sides.our_changes)?;
        let (our_targets, their_targets) = (ours.values().cloned().collect(), theirs.values().cloned().collect());
        Ok(Self { ours, theirs, our_targets, their_targets })
    }
}

/// The renames of one side. Those of a file that the other side left as it is need no search: a deletion and an
/// addition lead to the same.
fn renamed(store: &Store, own: &Differences, other: &Differences) -> io::Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let went = |(path, (before, after)): (&Vec<u8>, &(Option<StoredEntry>, Option<StoredEntry>))| {
        is_file(before.as_ref()) && !is_file(after.as_ref()) && other.contains_key(path)
    };
    if !own.iter().any(went) {
        return Ok(BTreeMap::new());
    }
    let mut work: Differences = own
        .iter()
        .filter(|(path, _)| repository_of(path).is_none())
        .map(|(path, pair)| (path.clone(), pair.clone()))
        .collect();
    // As git does it: the same content first, among all; then what is alike, only for files that matter.
    let exact = renames(&work, store, &Bounds { rename_pairs: 0, ..Bounds::default() })?;
    for rename in &exact {
        work.remove(&rename.from);
        work.remove(&rename.to);
    }
    work.retain(|path, (before, after)| {
        let is_gone = is_file(before.as_ref()) && !is_file(after.as_ref());
        !is_gone || other.contains_key(path)
    });
    let alike = renames(&work, store, &Bounds::default())?;
    let relevant = exact.into_iter().chain(alike).filter(|rename| other.contains_key(&rename.from));
    Ok(relevant.map(|rename| (rename.from, rename.to)).collect())
}

/// A merge of two entries, or why there is none.
enum EntryMerge {
    Is(StoredEntry),
    Conflict(ConflictKind),
}

struct Work<'a> {
    store: &'a Store,
    sides: &'a Sides,
    renamed: Renamed,
    done: MergedFiles,
}

impl Work<'_> {
    /// A file or link that the base has.
    fn known(&mut self, path: &[u8]) -> io::Result<()> {
        let sides = self.sides;
        let Some(base) = sides.base(path) else { return Ok(()) };
        let here = |side: Option<ConflictSide>| side.filter(|side| is_file(Some(&side.entry)));
        let ours =
            here(sides.our_side(path)).or_else(|| self.renamed.ours.get(path).and_then(|to| here(sides.our_side(to))));
        let theirs = here(sides.their_side(path))
            .or_else(|| self.renamed.theirs.get(path).and_then(|to| here(sides.their_side(to))));
        let is_untouched = |side: &ConflictSide| side.path == path && side.entry == *base;
        match (ours, theirs) {
            (None, None) => self.done.counts.same += 1,
            (Some(ours), None) if is_untouched(&ours) => self.done.counts.theirs += 1,
            (None, Some(theirs)) if is_untouched(&theirs) => self.done.counts.ours += 1,
            (Some(ours), Some(theirs)) => return self.both(path, base, ours, theirs),
            (ours, theirs) => {
                let is_folder =
                    |entry: Option<&StoredEntry>| entry.is_some_and(|entry| entry.what == StoredKind::Folder);
                let against = is_folder(sides.ours(path)) || is_folder(sides.theirs(path));
                let kind = if against { ConflictKind::FileAgainstFolder } else { ConflictKind::ChangedAndDeleted };
                self.done.conflicts.push(Conflict { path: path.to_vec(), kind, ours, theirs });
            }
        }
        Ok(())
    }

    /// A file or link that both sides have.
    fn both(&mut self, path: &[u8], base: &StoredEntry, ours: ConflictSide, theirs: ConflictSide) -> io::Result<()> {
        let conflict = |kind, ours: &ConflictSide, theirs: &ConflictSide| Conflict {
            path: path.to_vec(),
            kind,
            ours: Some(ours.clone()),
            theirs: Some(theirs.clone()),
        };
        let name = match () {
            () if ours.path == theirs.path || theirs.path == path => ours.path.clone(),
            () if ours.path == path => theirs.path.clone(),
            () => {
                self.done.conflicts.push(conflict(ConflictKind::RenamedTwice, &ours, &theirs));
                return Ok(());
            }
        };
        let is_link = |side: &ConflictSide| matches!(side.entry.what, StoredKind::Link(_));
        let entry = match self.entry(base, &ours.entry, &theirs.entry)? {
            // Whether a link that came in the place of a file belongs under its new name is not known.
            _ if ours.path != theirs.path && is_link(&ours) != is_link(&theirs) => {
                self.done.conflicts.push(conflict(ConflictKind::Link, &ours, &theirs));
                return Ok(());
            }
            EntryMerge::Is(entry) => entry,
            EntryMerge::Conflict(kind) => {
                self.done.conflicts.push(conflict(kind, &ours, &theirs));
                return Ok(());
            }
        };
        let counts = &mut self.done.counts;
        let changed = |side: &ConflictSide| side.path != path || side.entry != *base;
        match (changed(&ours), changed(&theirs)) {
            (true, false) => counts.ours += 1,
            (false, true) => counts.theirs += 1,
            _ if ours == theirs => counts.same += 1,
            _ => counts.merged += 1,
        }
        let moves = &mut self.done.moves;
        for (moves, from) in [
            (&mut moves.base, path),
            (&mut moves.ours, ours.path.as_slice()),
            (&mut moves.theirs, theirs.path.as_slice()),
        ] {
            if from != name {
                moves.insert(from.to_vec(), name.clone());
            }
        }
        let wanted = Wanted { entry, ours: Some(ours), theirs: Some(theirs) };
        self.done.wanted.entry(name).or_default().push(wanted);
        Ok(())
    }

    /// A file or link that the base does not have, unless it was renamed to that name.
    fn added(&mut self, path: &[u8]) {
        let new = |side: Option<ConflictSide>, targets: &BTreeSet<Vec<u8>>| {
            side.filter(|side| is_file(Some(&side.entry)) && !targets.contains(path))
        };
        let ours = new(self.sides.our_side(path), &self.renamed.our_targets);
        let theirs = new(self.sides.their_side(path), &self.renamed.their_targets);
        let counts = &mut self.done.counts;
        let entry = match (&ours, &theirs) {
            (None, None) => return,
            (Some(ours), None) => {
                counts.ours += 1;
                ours.entry.clone()
            }
            (None, Some(theirs)) => {
                counts.theirs += 1;
                theirs.entry.clone()
            }
            (Some(one), Some(other)) if is_same_new(&one.entry, &other.entry) => {
                counts.same += 1;
                one.entry.clone()
            }
            (Some(_), Some(_)) => {
                let conflict = Conflict { path: path.to_vec(), kind: ConflictKind::BothAdded, ours, theirs };
                self.done.conflicts.push(conflict);
                return;
            }
        };
        self.done.wanted.entry(path.to_vec()).or_default().push(Wanted { entry, ours, theirs });
    }

    /// What both sides made of an entry.
    fn entry(&mut self, base: &StoredEntry, ours: &StoredEntry, theirs: &StoredEntry) -> io::Result<EntryMerge> {
        if ours == theirs || theirs == base {
            return Ok(EntryMerge::Is(ours.clone()));
        }
        if ours == base {
            return Ok(EntryMerge::Is(theirs.clone()));
        }
        let (StoredKind::File(one), StoredKind::File(other)) = (&ours.what, &theirs.what) else {
            return Ok(EntryMerge::Conflict(ConflictKind::Link));
        };
        let StoredKind::File(was) = &base.what else {
            return Ok(EntryMerge::Conflict(ConflictKind::Link));
        };
        let mode = match () {
            () if ours.mode == theirs.mode || theirs.mode == base.mode => ours.mode,
            () if ours.mode == base.mode => theirs.mode,
            () => return Ok(EntryMerge::Conflict(ConflictKind::Mode)),
        };
        let id = match () {
            () if one == other || other == was => *one,
            () if one == was => *other,
            () => match self.text(was, one, other)? {
                Ok(id) => id,
                Err(kind) => return Ok(EntryMerge::Conflict(kind)),
            },
        };
        Ok(EntryMerge::Is(StoredEntry { what: StoredKind::File(id), mode }))
    }

    /// A text that both sides changed.
    fn text(&mut self, base: &Id, ours: &Id, theirs: &Id) -> io::Result<Result<Id, ConflictKind>> {
        let bounds = Bounds::default();
        let mut texts = Vec::new();
        let mut is_long = false;
        for id in [base, ours, theirs] {
            match ContentReader::read(self.store, id, bounds.file_bytes)? {
                Content::Whole(bytes) => texts.push(bytes),
                Content::Beginning(bytes) => {
                    is_long = true;
                    texts.push(bytes);
                }
            }
        }
        if texts.iter().any(|text| is_binary(text)) {
            return Ok(Err(ConflictKind::Binary));
        }
        let [base, ours, theirs] = texts.as_slice() else { return Ok(Err(ConflictKind::TooLarge)) };
        if is_long {
            return Ok(Err(ConflictKind::TooLarge));
        }
        Ok(match merge_lines(base, ours, theirs, bounds.file_steps) {
            LineMerge::Merged(bytes) => {
                let id = Id::of(ObjectKind::Blob, &bytes);
                self.done.contents.push(bytes);
                Ok(id)
            }
            LineMerge::Conflict => Err(ConflictKind::BothChanged),
            LineMerge::TooLarge => Err(ConflictKind::TooLarge),
        })
    }
}

/// Whether two sides added the same. Of permissions only those count that say whether it can be run: the others come
/// from the `umask` of the program that wrote it, and ours stay.
pub(super) fn is_same_new(ours: &StoredEntry, theirs: &StoredEntry) -> bool {
    ours.what == theirs.what && ours.mode & 0o7100 == theirs.mode & 0o7100
}
