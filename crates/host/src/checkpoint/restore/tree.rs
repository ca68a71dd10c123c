//! Restoring: the workspace is made equal to a checkpoint, name by name. Names that are not in the checkpoint taken
//! just before are never removed, and files that changed since are moved aside.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, linkat, mkdirat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::entry::{TargetName, Was, is_folder, new_part, set_mode};
use super::paths::Paths;
use super::unsynced::Unsynced;
use crate::checkpoint::git::between::{Differences, TreeSide, differences};
use crate::checkpoint::git::object::{FOLDER, Id, ObjectKind};
use crate::checkpoint::git::store::{Store, StoredEntry, StoredKind};
use crate::checkpoint::scan::cache::{Arena, ScanCache};
use crate::checkpoint::scan::rules::{FolderRules, Rules, Scope, ignore_rules};
use crate::fs::handle::{folder_beneath, joined, split};

/// Where the contents of files come from.
pub trait FileContent {
    /// Writes the content that was recorded for this path into an empty file.
    ///
    /// # Errors
    /// When it is not there, damaged, or cannot be written.
    fn write(&self, path: &[u8], id: &Id, to: &mut File) -> io::Result<()>;
}

impl FileContent for Store {
    fn write(&self, _path: &[u8], id: &Id, to: &mut File) -> io::Result<()> {
        let mut to = Holes { to, at: 0 };
        self.copy(id, &mut to)?;
        to.to.set_len(to.at)
    }
}

/// Leaves out what is empty: a file that had holes does not fill the disk.
struct Holes<'a> {
    to: &'a mut File,
    at: u64,
}

/// A block of a file system.
const BLOCK: usize = 4096;

impl io::Write for Holes<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let piece = &piece[..piece.len().min(BLOCK)];
        let length = u64::try_from(piece.len()).unwrap_or(0);
        if piece.len() < BLOCK || piece.iter().any(|byte| *byte != 0) {
            std::os::unix::fs::FileExt::write_all_at(self.to, piece, self.at)?;
        }
        self.at += length;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where from and where to.
#[derive(Debug, Clone, Copy)]
pub struct RestorePlan<'a> {
    /// The checkpoint to restore.
    pub target: Id,
    /// The checkpoint of what is there now, just taken with the cache.
    pub before: Id,
    /// ScanOutcome at before every name. What was done until then stays done; a rollback again goes on.
    pub cancel: &'a AtomicBool,
}

/// What a rollback did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RestoreResult {
    /// Names that were written.
    pub written: u64,
    /// Names that were removed.
    pub removed: u64,
    /// What was there and must not be removed: it was moved there.
    pub moved_aside: Vec<(Vec<u8>, Vec<u8>)>,
    /// What changed since the checkpoint taken just before: it was moved there.
    pub changed_since: Vec<(Vec<u8>, Vec<u8>)>,
    /// What stays though the target does not hold it: under the rules of then it was not in scope, or it is a folder
    /// with something in it that is not ours.
    pub left: Vec<Vec<u8>>,
    /// Whether it was cancelled.
    pub is_cancelled: bool,
}

/// Makes the workspace equal to a checkpoint. The cache must be that of the checkpoint taken just before.
///
/// # Errors
/// When something cannot be read or written. Then the workspace is half-restored; doing it
/// again goes on.
pub fn restore(
    store: &Store,
    content: &dyn FileContent,
    workspace: &OwnedFd,
    cache: &mut ScanCache,
    plan: &RestorePlan<'_>,
) -> io::Result<RestoreResult> {
    restore_paths(store, content, workspace, cache, PathPlan { plan, paths: &Paths::default() })
}

/// A restore of some paths.
#[derive(Clone, Copy)]
pub(in crate::checkpoint) struct PathPlan<'a> {
    pub(in crate::checkpoint) plan: &'a RestorePlan<'a>,
    pub(in crate::checkpoint) paths: &'a Paths,
}

/// The same for some paths only.
pub(in crate::checkpoint) fn restore_paths(
    store: &Store,
    content: &dyn FileContent,
    workspace: &OwnedFd,
    cache: &mut ScanCache,
    some: PathPlan<'_>,
) -> io::Result<RestoreResult> {
    let PathPlan { plan, paths } = some;
    let (target, before) = (store.parts(&plan.target)?, store.parts(&plan.before)?);
    let manifests = (store.manifest(&before)?, store.manifest(&target)?);
    let (before, target) = (TreeSide::new(before, &manifests.0), TreeSide::new(target, &manifests.1));
    let mut differences = differences(store, &before, &target)?;
    paths.select(&mut differences);
    for path in std::mem::take(&mut cache.leftovers) {
        let (above, name) = split(&path);
        folder_beneath(workspace, above).and_then(|folder| Ok(unlinkat(folder, name, AtFlags::empty())?)).ok();
    }
    let mut work = Work {
        store,
        content,
        workspace,
        arena: &cache.arena,
        cancel: plan.cancel,
        restored: RestoreResult::default(),
        touched: Vec::new(),
        opened: BTreeMap::new(),
        unsynced: Unsynced::default(),
        target: plan.target,
        paths,
    };
    let done = work.all(&differences, &before, &target);
    let closed = work.close(&differences);
    let Work { restored, touched, unsynced, .. } = work;
    cache.doubts.extend(touched);
    // What is not done is done again, whatever became of it on disk.
    done.and(closed).and_then(|()| unsynced.sync(workspace)).map(|()| restored)
}

struct Work<'a> {
    store: &'a Store,
    content: &'a dyn FileContent,
    workspace: &'a OwnedFd,
    arena: &'a Arena,
    cancel: &'a AtomicBool,
    restored: RestoreResult,
    /// What has to be scanned again.
    touched: Vec<Vec<u8>>,
    /// Folders that get permissions at the end: what they have now.
    opened: BTreeMap<Vec<u8>, u32>,
    unsynced: Unsynced,
    /// The checkpoint that is restored.
    target: Id,
    /// What it is limited to.
    paths: &'a Paths,
}

impl Work<'_> {
    fn all(&mut self, differences: &Differences, before: &TreeSide<'_>, target: &TreeSide<'_>) -> io::Result<()> {
        let mut again = linked_otherwise(before, target);
        again.retain(|path| self.paths.has(path));
        let mut then = Then::new(self.store, target, self.target);
        for (path, (now, stored)) in differences.iter().rev() {
            let same_kind = |now: &StoredEntry, stored: &StoredEntry| {
                std::mem::discriminant(&now.what) == std::mem::discriminant(&stored.what)
            };
            match (now, stored) {
                (Some(now), Some(stored)) if same_kind(now, stored) => {}
                (Some(now), stored) => self.remove(path, now, stored.is_some(), &mut then).map_err(at(path))?,
                (None, _) => {}
            }
            if self.is_cancelled() {
                return Ok(());
            }
        }
        for (path, (now, stored)) in differences {
            if let Some(stored) = stored {
                self.put(path, stored, now.as_ref().filter(|_| !again.contains(path))).map_err(at(path))?;
            }
            if self.is_cancelled() {
                return Ok(());
            }
        }
        for path in again.iter().filter(|path| !differences.contains_key(*path)) {
            if let Some(stored) = target.find(self.store, path)? {
                self.put(path, &stored, None)?;
            }
        }
        self.link(target, differences, &again)
    }

    fn is_cancelled(&mut self) -> bool {
        self.restored.is_cancelled |= self.cancel.load(Ordering::Relaxed);
        self.restored.is_cancelled
    }

    /// The folder of a path, made enterable.
    fn above(&mut self, path: &[u8]) -> io::Result<OwnedFd> {
        let (above, _) = split(path);
        let mut part = Vec::new();
        for name in above.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            part = joined(&part, name);
            let mode = self.arena.entry(&part).map(|entry| u32::from(entry.mode));
            if let Some(mode) = mode.filter(|mode| mode & 0o700 != 0o700 && !self.opened.contains_key(&part)) {
                let (above, name) = split(&part);
                let folder = folder_beneath(self.workspace, above)?;
                if is_folder(&folder, name) {
                    set_mode(&folder, name, mode | 0o700)?;
                    self.opened.insert(part.clone(), mode);
                }
            }
        }
        let folder = folder_beneath(self.workspace, above)?;
        self.unsynced.folder(above, || folder.try_clone());
        Ok(folder)
    }

    /// Removes what is there now and was not there then. Only what the checkpoint of now holds.
    fn remove(&mut self, path: &[u8], now: &StoredEntry, is_replaced: bool, then: &mut Then<'_>) -> io::Result<()> {
        let is_folder = now.what == StoredKind::Folder;
        let size = self.arena.entry(path).map_or(0, |entry| entry.stamp.size);
        if !is_replaced && !then.would_hold(path, is_folder, size)? {
            self.restored.left.push(path.to_vec());
            return Ok(());
        }
        let folder = self.above(path)?;
        let (_, name) = split(path);
        self.touched.push(path.to_vec());
        if is_folder {
            match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
                Ok(()) => self.restored.removed += 1,
                // Something in it is not ours to remove.
                Err(Errno::NOTEMPTY | Errno::EXIST) if !is_replaced => self.restored.left.push(path.to_vec()),
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT | Errno::NOTDIR) => {}
                Err(error) => return Err(error.into()),
            }
            return Ok(());
        }
        let destination = TargetName { folder: &folder, name, entry: self.arena.entry(path) };
        let was = destination.take_out()?;
        self.note(path, was);
        Ok(())
    }

    fn note(&mut self, path: &[u8], was: Was) {
        let (above, _) = split(path);
        let (list, aside) = match was {
            Was::Nothing => return,
            Was::Removed => {
                self.restored.removed += 1;
                return;
            }
            Was::ChangedSince(aside) => (&mut self.restored.changed_since, joined(above, &aside)),
            Was::Aside(aside) => (&mut self.restored.moved_aside, joined(above, &aside)),
        };
        self.touched.push(aside.clone());
        list.push((path.to_vec(), aside));
    }

    fn put(&mut self, path: &[u8], stored: &StoredEntry, now: Option<&StoredEntry>) -> io::Result<()> {
        let folder = self.above(path)?;
        let (_, name) = split(path);
        self.touched.push(path.to_vec());
        let entry = self.arena.entry(path);
        let destination = TargetName { folder: &folder, name, entry };
        self.restored.written += 1;
        let was = match &stored.what {
            StoredKind::Folder => {
                self.opened.insert(path.to_vec(), stored.mode);
                let was = if is_folder(&folder, name) {
                    set_mode(&folder, name, stored.mode | 0o700)?;
                    Was::Removed
                } else {
                    let was = destination.make_room()?;
                    mkdirat(&folder, name, Mode::from_raw_mode(0o700))?;
                    was
                };
                // It gets its permissions at the end, and may not be opened any more then.
                self.unsynced.folder(path, || folder_beneath(self.workspace, path));
                was
            }
            // Other names of the same file are not touched.
            StoredKind::File(_) if now.is_some_and(|now| now.what == stored.what) && destination.is_unchanged(1) => {
                self.unsynced.named(&folder, name);
                return set_mode(&folder, name, stored.mode);
            }
            StoredKind::File(id) => {
                let (new, mut file) = new_part(&folder)?;
                let written = self
                    .content
                    .write(path, id, &mut file)
                    .and_then(|()| rustix::fs::fchmod(&file, Mode::from_raw_mode(stored.mode)).map_err(Into::into));
                if let Err(error) = written {
                    unlinkat(&folder, new.as_slice(), AtFlags::empty()).ok();
                    return Err(error);
                }
                let was = destination.move_in(&new)?;
                self.unsynced.file(file);
                was
            }
            StoredKind::Link(leads) => {
                let new = crate::checkpoint::restore::entry::part_name()?;
                symlinkat(leads.as_slice(), &folder, new.as_slice())?;
                destination.move_in(&new)?
            }
        };
        // What was replaced and is in the checkpoint of now is nothing to speak of.
        if was != Was::Removed {
            self.note(path, was);
        }
        Ok(())
    }

    /// Names that were one file are one again.
    fn link(&mut self, target: &TreeSide<'_>, differences: &Differences, again: &BTreeSet<Vec<u8>>) -> io::Result<()> {
        let touched = |path: &Vec<u8>| differences.contains_key(path) || again.contains(path);
        let is_whole = |names: &&Vec<Vec<u8>>| names.iter().all(|name| self.paths.has(name));
        let groups = target.manifest.same.iter().filter(|names| names.iter().any(touched)).filter(is_whole);
        for names in groups.collect::<Vec<_>>() {
            let Some((first, others)) = names.split_first() else { continue };
            let from = self.above(first)?;
            let (_, name) = split(first);
            let inode = statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino;
            for path in others {
                let to = self.above(path)?;
                let (_, other) = split(path);
                if statat(&to, other, AtFlags::SYMLINK_NOFOLLOW)?.st_ino != inode {
                    let new = crate::checkpoint::restore::entry::part_name()?;
                    linkat(&from, name, &to, new.as_slice(), AtFlags::empty())?;
                    rustix::fs::renameat(&to, new.as_slice(), &to, other)?;
                    self.touched.push(path.clone());
                }
            }
            self.touched.push(first.clone());
        }
        Ok(())
    }

    /// Every folder that was opened gets its permissions, the deepest first.
    fn close(&mut self, differences: &Differences) -> io::Result<()> {
        let mut first = Ok(());
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let stored = differences.get(&path).and_then(|(_, stored)| stored.as_ref());
            let mode = stored.filter(|stored| stored.what == StoredKind::Folder).map_or(mode, |stored| stored.mode);
            let (above, name) = split(&path);
            let closed = folder_beneath(self.workspace, above)
                .and_then(|folder| if is_folder(&folder, name) { set_mode(&folder, name, mode) } else { Ok(()) });
            // Where it was is a file or a link by now.
            let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP].map(|errno| Some(errno.raw_os_error()));
            let is_gone = closed.as_ref().is_err_and(|error| gone.contains(&error.raw_os_error()));
            if first.is_ok() && !is_gone {
                first = closed;
            }
        }
        first
    }
}

/// Adds the path to an error.
fn at(path: &[u8]) -> impl FnOnce(io::Error) -> io::Error {
    let path = loop_core::text::one_line(&loop_core::text::escape_path(path), 200);
    move |error| io::Error::new(error.kind(), format!("{path}: {error}"))
}

/// Names whose hard links differ from the target: these are written again and linked afterwards.
fn linked_otherwise(before: &TreeSide<'_>, target: &TreeSide<'_>) -> BTreeSet<Vec<u8>> {
    let [now, then] = [before, target].map(|side| side.manifest.same.iter().collect::<BTreeSet<_>>());
    now.symmetric_difference(&then).flat_map(|names| names.iter().cloned()).collect()
}

/// What stays although the target does not hold it: under its rules it was not in scope.
pub(in crate::checkpoint) fn left_by_restore(
    store: &Store,
    target: Id,
    differences: &Differences,
    workspace: &OwnedFd,
) -> io::Result<BTreeSet<Vec<u8>>> {
    let parts = store.parts(&target)?;
    let manifest = store.manifest(&parts)?;
    let side = TreeSide::new(parts, &manifest);
    let mut then = Then::new(store, &side, target);
    let mut left = BTreeSet::new();
    for (path, (now, stored)) in differences {
        let Some(now) = now.as_ref().filter(|_| stored.is_none()) else { continue };
        let (above, name) = split(path);
        let stat =
            folder_beneath(workspace, above).and_then(|folder| Ok(statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?));
        let size = stat.map_or(0, |stat| u64::try_from(stat.st_size).unwrap_or(0));
        if !then.would_hold(path, now.what == StoredKind::Folder, size)? {
            left.insert(path.clone());
        }
    }
    Ok(left)
}

/// Those of these paths that a checkpoint does not have because its rules leave them out: that they are missing says
/// nothing about them. What it names as left out does not belong to them.
pub(crate) fn out_of_scope(
    store: &Store,
    commit: Id,
    missing: &BTreeMap<Vec<u8>, StoredKind>,
) -> io::Result<BTreeSet<Vec<u8>>> {
    let parts = store.parts(&commit)?;
    let manifest = store.manifest(&parts)?;
    let side = TreeSide::new(parts, &manifest);
    let mut then = Then::new(store, &side, commit);
    let mut found = BTreeSet::new();
    for (path, what) in missing {
        if !then.is_left_out(path) && !then.would_hold(path, *what == StoredKind::Folder, 0)? {
            found.insert(path.clone());
        }
    }
    Ok(found)
}

/// The rules of a checkpoint.
struct Then<'a> {
    store: &'a Store,
    target: &'a TreeSide<'a>,
    rules: Rules,
    left_out: BTreeSet<&'a [u8]>,
    /// By folder: the rules in it, whether it is ignored itself, and its tree.
    folders: HashMap<Vec<u8>, (FolderRules, bool, Option<Id>)>,
    commit: Id,
    /// The files of the run's checkpoints until then, once they were asked for.
    earlier: Option<Vec<(Id, BTreeSet<Vec<u8>>)>>,
}

impl<'a> Then<'a> {
    fn new(store: &'a Store, target: &'a TreeSide<'a>, commit: Id) -> Self {
        let rules = Rules::of(target.manifest.rules.clone());
        let left_out = target.manifest.left_out.iter().map(|(path, _)| path.as_slice()).collect();
        Self { store, target, rules, left_out, folders: HashMap::new(), commit, earlier: None }
    }

    /// Whether an earlier checkpoint of the run had a path: what was recorded once stays in scope.
    fn was_held(&mut self, path: &[u8]) -> io::Result<bool> {
        if self.earlier.is_none() {
            self.earlier = Some(self.store.until(&self.commit)?);
        }
        for (files, folders) in self.earlier.iter().flatten() {
            if folders.contains(path) || self.store.has_path(files, path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the checkpoint would hold a path if it had been there: else it is not ours to remove.
    fn would_hold(&mut self, path: &[u8], is_folder: bool, size: u64) -> io::Result<bool> {
        let (above, _) = split(path);
        let (rules, ignored, _) = self.folder(above)?;
        let is_big = !is_folder && size > self.rules.size_max();
        if is_big || self.is_left_out(path) {
            return Ok(false);
        }
        let is_in = !ignored && self.rules.scope(&rules, path, is_folder) == Scope::In;
        Ok(is_in || self.was_held(path)?)
    }

    /// Whether the checkpoint names a path, or a folder above it, as left out.
    fn is_left_out(&self, path: &[u8]) -> bool {
        let mut ends = (1..=path.len()).filter(|end| path.get(*end).is_none_or(|byte| *byte == b'/'));
        ends.any(|end| self.left_out.contains(&path[..end]))
    }

    fn folder(&mut self, path: &[u8]) -> io::Result<(FolderRules, bool, Option<Id>)> {
        if let Some(known) = self.folders.get(path) {
            return Ok(known.clone());
        }
        let (rules, ignored, tree) = if path.is_empty() {
            (FolderRules::default(), false, Some(self.target.parts.files))
        } else {
            let (above, name) = split(path);
            let (rules, ignored, tree) = self.folder(above)?;
            let ignored = ignored || self.rules.scope(&rules, path, true) != Scope::In;
            let entries = tree.map_or_else(|| Ok(Vec::new()), |tree| self.store.tree(&tree))?;
            let tree = entries.into_iter().find(|entry| entry.mode == FOLDER && entry.name == name);
            (rules, ignored, tree.map(|entry| entry.id))
        };
        let entries = tree.map_or_else(|| Ok(Vec::new()), |tree| self.store.tree(&tree))?;
        let own = entries.into_iter().find(|entry| entry.name == b".gitignore" && entry.mode & 0o170_000 == 0o100_000);
        let own = own.map(|entry| self.store.read(&entry.id, ObjectKind::Blob)).transpose()?;
        let own = own.map(|text| ignore_rules(path, &text));
        let known = (rules.below(own.as_ref()), ignored, tree);
        self.folders.insert(path.to_vec(), known.clone());
        Ok(known)
    }
}
