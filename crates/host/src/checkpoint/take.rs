//! Taking a checkpoint: scan the workspace, read what changed, write new trees for changed folders. All of it is
//! one pack, with one sync of the file and one of its folder.
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use super::git::manifest::{Manifest, Modes};
use super::git::object::{
    FILE, FOLDER, Id, LINK, ObjectKind, PROGRAM, SortName, TreeEntry, commit, git_order, put_entry, tree,
};
use super::git::pack::Pack;
use super::git::refs::words_of;
use super::git::store::{FILES, IGNORED, MANIFEST, Parts, SCOPE, Store};
use super::scan::cache::{
    Arena, CacheEntry, Counts, EntryKind, EntryState, ScanCache, SnapshotMoment, TOP, Tree, wall_nanos,
};
use super::scan::read::{Depth, FileToRead, Got, Sink, read_all, stores_content};
use super::scan::rules::Rules;
use super::scan::scanner::ScanHint;
use super::scan::small_ignored;
use crate::fs::handle::joined;

/// How often a scan is repeated for names that change meanwhile.
const SCANS_MAX: u32 = 3;
/// The scan cache is stored when so many names, or such a part of all names, were read since it was stored last. If it
/// is lost, these are read again.
const UNWRITTEN_MAX: u64 = 256;
const UNWRITTEN_PART: usize = 64;

/// What checkpoint is wanted.
#[derive(Debug, Clone, Copy)]
pub struct TakeRequest<'a> {
    /// Its name, `run/3`.
    pub name: &'a str,
    /// The one before it.
    pub parent: Option<Id>,
    /// What is in scope.
    pub rules: &'a Rules,
    /// What to scan.
    pub hint: ScanHint<'a>,
    /// How much of it is written.
    pub depth: Depth,
    /// Nothing is written if the state is that of this checkpoint.
    pub unless: Option<Id>,
    /// Checked before every file: a person may have cancelled it.
    pub cancel: &'a AtomicBool,
}

/// A state of the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeState {
    /// Its parts.
    pub parts: Parts,
    /// Files that changed while they were read.
    pub unstable: Vec<Vec<u8>>,
    /// Files that had to be read.
    pub read: u64,
    /// What is left out, and why.
    pub left_out: Vec<(Vec<u8>, String)>,
    /// What of the ignored files is not kept, and why.
    pub ignored_left_out: Vec<(Vec<u8>, String)>,
}

/// What became of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TakeOutcome {
    /// It is safe on disk.
    Saved(Id, TreeState),
    /// Nothing was written: the state is that of the checkpoint in `unless`, or only a scan was asked for.
    NotWritten(TreeState),
    /// These could not be read: nothing was recorded.
    Unreadable(Vec<(Vec<u8>, String)>),
    /// It was cancelled: nothing was recorded.
    Cancelled,
}

/// A snapshot of a workspace, and the moment it shows.
#[derive(Debug, Clone, Copy)]
pub struct StillSnapshot<'a> {
    /// Its top folder.
    pub folder: &'a OwnedFd,
    /// When it was made.
    pub moment: SnapshotMoment,
}

impl Store {
    /// Takes a checkpoint of a new snapshot of the workspace. The scan cache is that of the workspace.
    ///
    /// # Errors
    /// As for [`Store::save`].
    pub fn save_still(
        &mut self,
        workspace: &OwnedFd,
        snapshot: StillSnapshot<'_>,
        cache: &mut ScanCache,
        ask: &TakeRequest<'_>,
    ) -> io::Result<TakeOutcome> {
        let paths = if cache.in_doubt { Vec::new() } else { cache.changed_paths(workspace) };
        let hint = if cache.in_doubt { ScanHint::Everything } else { ScanHint::Paths(&paths) };
        cache.still = Some(snapshot.moment);
        let taken = self.save(snapshot.folder, cache, &TakeRequest { hint, ..*ask });
        cache.still = None;
        taken
    }

    /// Takes a checkpoint. All of it is safe on disk when this returns, or nothing of it counts.
    ///
    /// # Errors
    /// When the store cannot be written, or the workspace itself cannot be read.
    pub fn save(
        &mut self,
        workspace: &OwnedFd,
        cache: &mut ScanCache,
        ask: &TakeRequest<'_>,
    ) -> io::Result<TakeOutcome> {
        let _lock = self.lock(false)?;
        self.refresh()?;
        let with_contents = ask.depth == Depth::Whole;
        if cache.packs_state != self.packs_state || ask.depth != Depth::Ids && cache.with_contents != with_contents {
            cache.forget_stored();
            cache.with_contents = with_contents;
            cache.packs_state = self.packs_state;
        }
        let mut sink = Sink::new(self, ask.depth, cache.read_at());
        let mut seen = Seen::default();
        if let Some(ended) = seen.read(workspace, cache, ask, &mut sink)? {
            return Ok(ended);
        }
        let parts = make(cache, ask, &mut sink, &mut seen)?;
        cache.moment = cache.now();
        cache.unwritten += seen.read;
        let Seen { unstable, read, left_out } = seen;
        let mut measured = TreeState { parts, unstable, read, left_out, ignored_left_out: Vec::new() };
        let is_same =
            |id: Id| self.parts(&id).is_ok_and(|was| (was.files, was.manifest) == (parts.files, parts.manifest));
        if ask.depth == Depth::Ids || ask.unless.is_some_and(is_same) {
            return Ok(TakeOutcome::NotWritten(measured));
        }
        if ![parts.files, parts.manifest, parts.scope].iter().all(|id| sink.has(id)) {
            // Never a checkpoint over objects that are not there.
            cache.forget_stored();
            return Err(io::Error::other("a bug of loop: a part of the checkpoint is not in the store"));
        }
        let root = [(FOLDER, FILES, parts.files), (FILE, MANIFEST, parts.manifest), (FILE, SCOPE, parts.scope)];
        let mut root = root.map(|(mode, name, id)| TreeEntry { mode, name: name.to_vec(), id }).to_vec();
        if cache.keeps_ignored {
            let part = small_ignored::keep(workspace, cache, &mut sink)?;
            measured.ignored_left_out = part.left_out;
            root.extend(part.id.map(|id| TreeEntry { mode: FOLDER, name: IGNORED.to_vec(), id }));
        }
        let root = sink.object(ObjectKind::Tree, &tree(root))?;
        let seconds = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        let words = words_of(ask.name, wall_nanos());
        let id = sink.object(ObjectKind::Commit, &commit(root, ask.parent, seconds, &words))?;
        let sealed =
            sink.into_writer().map(crate::checkpoint::git::pack_write::PackWriter::seal).transpose()?.flatten();
        crate::fs::sync_folder(&self.pack_folder())?;
        self.point(ask.name, id)?;
        if let Some(sealed) = sealed {
            sealed.write_index()?;
            self.packs.extend(Pack::with_index(&sealed.pack, sealed.index));
            self.sort();
        }
        mark_stored(&mut cache.arena, TOP);
        if cache.unwritten > UNWRITTEN_MAX.max(u64::try_from(cache.len() / UNWRITTEN_PART).unwrap_or(0)) {
            // The cache only saves time: without it the next process reads more.
            self.write_cache(cache).ok();
        }
        Ok(TakeOutcome::Saved(id, measured))
    }
}

/// What is reported of a checkpoint beside its ids.
#[derive(Default)]
struct Seen {
    unstable: Vec<Vec<u8>>,
    read: u64,
    left_out: Vec<(Vec<u8>, String)>,
}

impl Seen {
    /// Scans and reads until nothing changes meanwhile. Returns the outcome if it ended early.
    fn read(
        &mut self,
        workspace: &OwnedFd,
        cache: &mut ScanCache,
        ask: &TakeRequest<'_>,
        sink: &mut Sink<'_>,
    ) -> io::Result<Option<TakeOutcome>> {
        let mut hint = ask.hint;
        for _ in 0..SCANS_MAX {
            let outcome = cache.scan(workspace, ask.rules, hint, ask.cancel)?;
            if outcome.is_cancelled {
                return Ok(Some(TakeOutcome::Cancelled));
            }
            if matches!(hint, ScanHint::Paths(_)) && cache.has_unknown_twin() {
                hint = ScanHint::Everything;
                cache.in_doubt = true;
                continue;
            }
            hint = ScanHint::Doubts;
            let mut wanted = Vec::new();
            gather(&cache.arena, TOP, &[], sink, &mut wanted);
            let Some(got) = read_all(workspace, &wanted, sink, ask.cancel)? else {
                cache.in_doubt = true;
                return Ok(Some(TakeOutcome::Cancelled));
            };
            self.read += u64::try_from(wanted.len()).unwrap_or(0);
            let mut failed = outcome.unreadable;
            failed.extend(self.take(cache, wanted, got));
            if !failed.is_empty() {
                cache.in_doubt = true;
                return Ok(Some(TakeOutcome::Unreadable(failed)));
            }
            if cache.doubts.is_empty() {
                return Ok(None);
            }
        }
        // What changes all the time is left out of this checkpoint, and reported.
        for path in std::mem::take(&mut cache.doubts) {
            drop_entry(&mut cache.arena, &path);
            cache.racy.push(path.clone());
            self.unstable.push(path);
        }
        Ok(None)
    }

    /// Takes in what was read; returns what could not be read.
    fn take(&mut self, cache: &mut ScanCache, wanted: Vec<FileToRead>, got: Vec<Got>) -> Vec<(Vec<u8>, String)> {
        let mut failed = Vec::new();
        for (wanted, got) in wanted.into_iter().zip(got) {
            let FileToRead { folder, at, path, .. } = wanted;
            match got {
                Got::Content { id, stamp, mode, state, is_stable } => {
                    if !is_stable {
                        self.unstable.push(path.clone());
                    }
                    if state == EntryState::Racy {
                        cache.racy.push(path);
                    }
                    let Some(entry) = cache.arena.get_mut(folder).and_then(|folder| folder.entries.get_mut(at)) else {
                        continue;
                    };
                    let is_new = entry.state == EntryState::Unread && !entry.stored;
                    let changed = (entry.id, entry.mode) != (id, mode) || is_new;
                    entry.stored &= entry.id == id;
                    entry.id = id;
                    entry.stamp = stamp;
                    entry.mode = mode;
                    entry.state = state;
                    if changed {
                        cache.arena.dirty(folder);
                    }
                }
                // Both are scanned again.
                Got::Gone | Got::Other => cache.doubts.push(path),
                Got::Failed(why) => failed.push((path, why)),
            }
        }
        failed
    }
}

/// What has to be read: what changed, and what the store does not have.
fn gather(arena: &Arena, index: u32, path: &[u8], sink: &Sink<'_>, wanted: &mut Vec<FileToRead>) {
    let Some(folder) = arena.get(index).filter(|folder| folder.stale) else { return };
    for (at, entry) in folder.entries.iter().enumerate() {
        if entry.kind == EntryKind::Folder {
            if arena.get(entry.folder).is_some_and(|below| below.stale) {
                gather(arena, entry.folder, &joined(path, &entry.name), sink, wanted);
            }
            continue;
        }
        let stores = stores_content(sink.depth, entry.kind, &entry.name);
        if entry.state == EntryState::Unread || stores && !entry.stored && !sink.has(&entry.id) {
            let path = joined(path, &entry.name);
            wanted.push(FileToRead { folder: index, at, path, kind: entry.kind });
        }
    }
}

/// Forgets a name that cannot be opened.
fn drop_entry(arena: &mut Arena, path: &[u8]) {
    let (above, name) = crate::fs::handle::split(path);
    let (index, rest) = arena.nearest(above);
    if !rest.is_empty() {
        return;
    }
    let found = arena.get_mut(index).and_then(|folder| {
        let at = folder.find(name).ok()?;
        Some(folder.entries.remove(at))
    });
    if let Some(entry) = found {
        if entry.kind == EntryKind::Folder {
            arena.forget(entry.folder, path, &mut drop);
        }
        arena.dirty(index);
    }
}

/// Makes the trees and the manifest.
fn make(cache: &mut ScanCache, ask: &TakeRequest<'_>, sink: &mut Sink<'_>, seen: &mut Seen) -> io::Result<Parts> {
    let files = match make_tree(&mut cache.arena, TOP, sink)? {
        Tree::Is(id) => id,
        Tree::Dirty | Tree::Hollow | Tree::Nothing => sink.object(ObjectKind::Tree, &[])?,
    };
    let mut manifest = manifest_of(&cache.arena);
    manifest.rules = ask.rules.texts().clone();
    let parts = Parts {
        files,
        manifest: sink.object(ObjectKind::Blob, &manifest.encode())?,
        scope: sink.object(ObjectKind::Blob, &manifest.encode_scope())?,
    };
    seen.left_out = manifest.left_out;
    Ok(parts)
}

/// The tree of a folder; only what changed is made.
fn make_tree(arena: &mut Arena, index: u32, sink: &mut Sink<'_>) -> io::Result<Tree> {
    let Some(mut folder) = arena.take(index) else { return Ok(Tree::Nothing) };
    if !folder.stale || folder.tree != Tree::Dirty && folder.stored {
        for entry in folder.entries.iter().filter(|entry| folder.stale && entry.kind == EntryKind::Folder) {
            if arena.get(entry.folder).is_some_and(|below| below.stale) {
                make_tree(arena, entry.folder, sink)?;
            }
        }
        let tree = folder.tree;
        arena.put(index, folder);
        return Ok(tree);
    }
    let made = make_one(arena, &folder.entries, sink);
    let (counts, bytes) = match made {
        Ok(made) => made,
        Err(error) => {
            arena.put(index, folder);
            return Err(error);
        }
    };
    let is_nothing = counts.hollow == 0 && (folder.has_outside || folder.only_for_content);
    folder.tree = match bytes {
        Some(bytes) => Tree::Is(sink.object(ObjectKind::Tree, &bytes)?),
        None if is_nothing => Tree::Nothing,
        None => Tree::Hollow,
    };
    folder.counts = counts;
    let tree = folder.tree;
    arena.put(index, folder);
    Ok(tree)
}

/// A folder's bytes, where it has any, and what is counted in it.
fn make_one(arena: &mut Arena, entries: &[CacheEntry], sink: &mut Sink<'_>) -> io::Result<(Counts, Option<Vec<u8>>)> {
    let mut counts = Counts::default();
    let mut names: Vec<(u32, &[u8], Id)> = Vec::with_capacity(entries.len());
    for entry in entries {
        match entry.kind {
            EntryKind::Link => names.push((LINK, &entry.name, entry.id)),
            EntryKind::File => {
                let is_program = entry.mode & 0o100 != 0;
                count(if is_program { &mut counts.programs } else { &mut counts.files }, entry.mode);
                counts.linked += u32::from(entry.stamp.names > 1);
                names.push((if is_program { PROGRAM } else { FILE }, &entry.name, entry.id));
            }
            EntryKind::Folder => match make_tree(arena, entry.folder, sink)? {
                Tree::Is(id) => {
                    count(&mut counts.folders, entry.mode);
                    names.push((FOLDER, &entry.name, id));
                }
                Tree::Hollow => counts.hollow += 1,
                Tree::Nothing | Tree::Dirty => {}
            },
        }
    }
    let sort_name = |mode: u32, name| SortName { name, is_folder: mode == FOLDER };
    names.sort_by(|one, other| git_order(sort_name(one.0, one.1), sort_name(other.0, other.1)));
    let mut bytes = Vec::with_capacity(names.iter().map(|(_, name, _)| name.len() + 28).sum());
    names.iter().for_each(|(mode, name, id)| put_entry(&mut bytes, *mode, name, id));
    Ok((counts, (!names.is_empty()).then_some(bytes)))
}

fn count(counts: &mut Vec<(u16, u32)>, mode: u16) {
    match counts.iter_mut().find(|(known, _)| *known == mode) {
        Some((_, count)) => *count += 1,
        None => counts.push((mode, 1)),
    }
}

/// The mode that most files or folders have.
fn most<'a>(counts: impl Iterator<Item = &'a (u16, u32)>, else_mode: u32) -> u32 {
    let mut sums: BTreeMap<u16, u64> = BTreeMap::new();
    counts.for_each(|(mode, count)| *sums.entry(*mode).or_default() += u64::from(*count));
    let best = sums.into_iter().min_by_key(|(mode, count)| (std::cmp::Reverse(*count), *mode));
    best.map_or(else_mode, |(mode, _)| u32::from(mode))
}

/// What a tree of git cannot hold: modes, and what is unusual about single names.
fn manifest_of(arena: &Arena) -> Manifest {
    let folders = || arena.folders.iter().flatten();
    let plain = Modes::default();
    let modes = Modes {
        file: most(folders().flat_map(|folder| &folder.counts.files), plain.file),
        program: most(folders().flat_map(|folder| &folder.counts.programs), plain.program),
        folder: most(folders().flat_map(|folder| &folder.counts.folders), plain.folder),
    };
    let mut manifest = Manifest { modes, ..Manifest::default() };
    let mut same: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
    for (index, folder) in (0_u32..).zip(&arena.folders).filter_map(|(index, folder)| Some((index, folder.as_ref()?))) {
        let counts = &folder.counts;
        let odd = |counts: &[(u16, u32)], most: u32| counts.iter().any(|(mode, _)| u32::from(*mode) != most);
        let listed = odd(&counts.files, modes.file) || odd(&counts.programs, modes.program);
        let listed = listed || odd(&counts.folders, modes.folder) || counts.linked > 0 || counts.hollow > 0;
        if !listed && folder.left_out.is_empty() {
            continue;
        }
        let path = arena.path(index);
        let left_out = folder.left_out.iter().map(|(name, why)| (joined(&path, name), why.clone()));
        manifest.left_out.extend(left_out);
        for entry in folder.entries.iter().filter(|_| listed) {
            note(arena, &path, entry, &mut manifest, &mut same);
        }
    }
    manifest.same = same.into_values().filter(|names| names.len() > 1).collect();
    manifest.same.iter_mut().for_each(|names| names.sort_unstable());
    manifest.same.sort_unstable();
    manifest.files.sort_unstable();
    manifest.folders.sort_unstable();
    manifest.left_out.sort_unstable();
    manifest
}

/// Notes what is unusual about one name.
fn note(
    arena: &Arena,
    path: &[u8],
    entry: &CacheEntry,
    manifest: &mut Manifest,
    same: &mut BTreeMap<u64, Vec<Vec<u8>>>,
) {
    let mode = u32::from(entry.mode);
    match entry.kind {
        EntryKind::Link => {}
        EntryKind::File => {
            let most = if mode & 0o100 == 0 { manifest.modes.file } else { manifest.modes.program };
            if mode != most {
                manifest.files.push((joined(path, &entry.name), mode));
            }
            if entry.stamp.names > 1 {
                same.entry(entry.stamp.inode).or_default().push(joined(path, &entry.name));
            }
        }
        EntryKind::Folder => {
            let tree = arena.get(entry.folder).map(|folder| folder.tree);
            let is_odd = matches!(tree, Some(Tree::Is(_))) && mode != manifest.modes.folder;
            if is_odd || tree == Some(Tree::Hollow) {
                manifest.folders.push((joined(path, &entry.name), mode));
            }
        }
    }
}

/// Marks what was made as stored.
fn mark_stored(arena: &mut Arena, index: u32) {
    let Some(mut folder) = arena.take(index) else { return };
    if folder.stale {
        folder.stale = false;
        folder.stored = true;
        for entry in &mut folder.entries {
            entry.stored = true;
            if entry.kind == EntryKind::Folder {
                mark_stored(arena, entry.folder);
            }
        }
    }
    arena.put(index, folder);
}
