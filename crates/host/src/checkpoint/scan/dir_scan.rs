//! Scanning one folder: its names are compared with the cache.
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, RawDir, Stat, openat2, statat};
use rustix::io::Errno;

use super::cache::{CacheEntry, CachedFolder, EntryKind, EntryState, OwnRules, Stamp, TOP, wall_nanos};
use super::rules::{FolderRules, IGNORE_BYTES_MAX, Rules, Scope, ignore_rules};
use super::scanner::{Extent, ScanTask, WorkQueue, path_in};
use super::small_ignored::{IgnoredName, NAMES_MAX};
use crate::checkpoint::git::object::{Id, ObjectKind};
use crate::checkpoint::restore::entry::is_part;
use crate::fs::handle::{BENEATH, FOLDER_FLAGS, joined, small_file};

/// So deep we go.
const DEPTH_MAX: usize = 512;
/// Room for the names of a folder.
const NAMES_BYTES: usize = 32 * 1024;

/// What all threads of a scan share.
pub(in crate::checkpoint) struct Scanner<'a> {
    pub(in crate::checkpoint) rules: &'a Rules,
    pub(in crate::checkpoint) held: BTreeSet<Vec<u8>>,
    /// What is in the cache stays in scope.
    pub(in crate::checkpoint) known_is_held: bool,
    /// The rules are not those that the cache was made by.
    pub(in crate::checkpoint) check_known: bool,
    pub(in crate::checkpoint) device: u64,
    /// A stamp from this time on may have been given twice.
    pub(in crate::checkpoint) sure_before: i64,
    /// When what is there was there, where that is not now.
    pub(in crate::checkpoint) read_at: Option<i64>,
    pub(in crate::checkpoint) cancel: &'a AtomicBool,
}

/// What a thread found.
#[derive(Default)]
pub(in crate::checkpoint) struct ScanFindings {
    pub(in crate::checkpoint) unreadable: Vec<(Vec<u8>, String)>,
    /// Names that were known and are gone, with the number of what was a folder.
    pub(in crate::checkpoint) removed: Vec<(Vec<u8>, Option<u32>)>,
    /// Folders with something to read.
    pub(in crate::checkpoint) stale: Vec<u32>,
    /// Folders whose names or permissions changed.
    pub(in crate::checkpoint) dirty: Vec<u32>,
    /// What a killed restore left.
    pub(in crate::checkpoint) leftovers: Vec<Vec<u8>>,
    /// What changed its kind during the scan.
    pub(in crate::checkpoint) again: Vec<Vec<u8>>,
    /// Ignore rules changed unexpectedly: other tasks used the old ones.
    pub(in crate::checkpoint) is_surprised: bool,
}

impl ScanFindings {
    pub(in crate::checkpoint) fn add(&mut self, other: Self) {
        self.unreadable.extend(other.unreadable);
        self.removed.extend(other.removed);
        self.stale.extend(other.stale);
        self.dirty.extend(other.dirty);
        self.leftovers.extend(other.leftovers);
        self.again.extend(other.again);
        self.is_surprised |= other.is_surprised;
    }
}

/// One folder in progress.
struct DirScan<'a> {
    task: ScanTask,
    folder: Box<CachedFolder>,
    handle: Arc<OwnedFd>,
    /// The rules of the names in it.
    rules: FolderRules,
    seen: Vec<bool>,
    added: Vec<CacheEntry>,
    /// Known folders to scan next, and names of new ones.
    below: Vec<(u32, Box<[u8]>)>,
    new_below: Vec<(Box<[u8]>, u16, Stamp)>,
    left_out: Vec<(Box<[u8]>, String)>,
    ignored_names: Vec<IgnoredName>,
    has_outside: bool,
    is_dirty: bool,
    is_stale: bool,
    found: &'a mut ScanFindings,
}

impl Scanner<'_> {
    /// Scans a folder and leaves tasks for those in it.
    pub(in crate::checkpoint) fn folder(&self, queue: &WorkQueue, task: ScanTask, found: &mut ScanFindings) {
        if self.cancel.load(Ordering::Relaxed) {
            return;
        }
        let handle = match openat2(&*task.above, task.name.as_slice(), FOLDER_FLAGS, Mode::empty(), BENEATH) {
            Ok(handle) => Arc::new(handle),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return found.again.push(task.path),
            Err(error) => return found.unreadable.push((task.path, io::Error::from(error).to_string())),
        };
        let Some(folder) = queue.lock().arena.take(task.index) else { return };
        let seen = vec![false; folder.entries.len()];
        let mut dir = DirScan {
            rules: task.rules.clone(),
            task,
            folder,
            handle,
            seen,
            added: Vec::new(),
            below: Vec::new(),
            new_below: Vec::new(),
            left_out: Vec::new(),
            ignored_names: Vec::new(),
            has_outside: false,
            is_dirty: false,
            is_stale: false,
            found,
        };
        if dir.folder.ignored != dir.task.ignored {
            dir.folder.ignored = dir.task.ignored;
            dir.task.extent = Extent::Deep;
        }
        let outcome = match dir.task.extent.clone() {
            Extent::Names(names) => self.only(&mut dir, &names),
            Extent::Shallow | Extent::Deep => self.all(&mut dir),
        };
        if let Err(error) = outcome {
            // What is known stays until it can be read.
            dir.seen.fill(true);
            dir.found.unreadable.push((dir.task.path.clone(), error.to_string()));
        }
        self.close(dir, queue);
    }

    /// Scans some names.
    fn only(&self, dir: &mut DirScan<'_>, names: &[Box<[u8]>]) -> io::Result<()> {
        dir.rules = dir.task.rules.below(dir.folder.own.as_ref().map(|own| &own.rules));
        // All others stay as they are.
        dir.seen.fill(true);
        dir.left_out = std::mem::take(&mut dir.folder.left_out);
        dir.ignored_names = std::mem::take(&mut dir.folder.ignored_names);
        dir.has_outside = dir.folder.has_outside;
        for name in names {
            dir.left_out.retain(|(known, _)| known != name);
            dir.ignored_names.retain(|known| known.name != *name);
            let at = dir.folder.find(name).ok();
            if let Some(seen) = at.and_then(|at| dir.seen.get_mut(at)) {
                *seen = false;
            }
            if !dir.is_own(name) {
                self.name(dir, name, None);
            }
        }
        Ok(())
    }

    /// Scans all names.
    fn all(&self, dir: &mut DirScan<'_>) -> io::Result<()> {
        let handle = Arc::clone(&dir.handle);
        let mut room = Vec::with_capacity(NAMES_BYTES);
        let mut names = RawDir::new(&*handle, room.spare_capacity_mut());
        // What is not known is judged when the folder's own rules are.
        let (mut later, mut has_rules) = (Vec::new(), false);
        while let Some(entry) = names.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." || dir.is_own(name) {
                continue;
            }
            has_rules |= name == b".gitignore";
            let at = if self.check_known { None } else { dir.folder.find(name).ok() };
            match at {
                Some(at) => match statat(&*handle, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => self.known(dir, at, &stat),
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(error.into()),
                },
                None => later.push((Box::<[u8]>::from(name), entry.file_type())),
            }
        }
        self.own_rules(dir, has_rules);
        for (name, kind) in later {
            self.name(dir, &name, Some(kind));
        }
        Ok(())
    }

    /// Puts the folder back as it is now, with tasks for those in it.
    fn close(&self, mut dir: DirScan<'_>, queue: &WorkQueue) {
        let mut folder = dir.folder;
        let mut seen = dir.seen.iter();
        let (path, found) = (&dir.task.path, &mut *dir.found);
        let before = folder.entries.len();
        folder.entries.retain(|entry| {
            let stays = seen.next().is_none_or(|seen| *seen);
            if !stays {
                found
                    .removed
                    .push((joined(path, &entry.name), (entry.kind == EntryKind::Folder).then_some(entry.folder)));
            }
            stays
        });
        let new = !dir.added.is_empty() || !dir.new_below.is_empty();
        let nothing = folder.entries.is_empty() && folder.has_outside != dir.has_outside;
        dir.is_dirty |= folder.entries.len() < before || new || nothing;
        folder.left_out = std::mem::take(&mut dir.left_out);
        folder.ignored_names = std::mem::take(&mut dir.ignored_names);
        folder.has_outside = dir.has_outside;
        folder.entries.append(&mut dir.added);
        let mut tasks = Vec::new();
        let task = |index: u32, name: &[u8], ignored: bool| ScanTask {
            index,
            above: Arc::clone(&dir.handle),
            name: name.to_vec(),
            path: joined(path, name),
            rules: dir.rules.clone(),
            ignored,
            extent: Extent::Deep,
        };
        let is_ignored =
            |name: &[u8]| dir.task.ignored || self.rules.scope(&dir.rules, &joined(path, name), true) == Scope::Ignored;
        if dir.task.extent == Extent::Deep {
            tasks.extend(dir.below.iter().map(|(index, name)| task(*index, name, is_ignored(name))));
        }
        let mut shared = queue.lock();
        for (name, mode, stamp) in dir.new_below {
            let mut new = CachedFolder::new(dir.task.index, &name);
            new.ignored = is_ignored(&name);
            new.only_for_content = new.ignored && !self.held.contains(&joined(path, &name));
            let ignored = new.ignored;
            let index = shared.arena.add(new);
            tasks.push(task(index, &name, ignored));
            let (state, id) = (EntryState::Sure, Id::of(ObjectKind::Blob, b""));
            folder.entries.push(CacheEntry {
                name,
                kind: EntryKind::Folder,
                state,
                stored: true,
                mode,
                stamp,
                id,
                folder: index,
            });
        }
        if new {
            folder.entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        }
        if dir.is_dirty {
            dir.found.dirty.push(dir.task.index);
        } else if dir.is_stale {
            dir.found.stale.push(dir.task.index);
        }
        shared.arena.put(dir.task.index, folder);
        queue.push(&mut shared, tasks);
    }

    /// Updates the folder's own rules.
    fn own_rules(&self, dir: &mut DirScan<'_>, has_rules: bool) {
        let stat = if has_rules { statat(&*dir.handle, ".gitignore", AtFlags::SYMLINK_NOFOLLOW).ok() } else { None };
        let stamp = stat.as_ref().map(Stamp::of);
        let is_same = |own: &OwnRules| Some(own.stamp) == stamp && own.is_sure && own.stamp.is_sure(self.sure_before);
        if !dir.folder.own.as_ref().is_some_and(is_same) {
            let read_at = self.read_at.unwrap_or_else(wall_nanos);
            let text = stamp.and_then(|_| small_file(&*dir.handle, ".gitignore", IGNORE_BYTES_MAX));
            let had = dir.folder.own.is_some();
            dir.folder.own = stamp.zip(text).map(|(stamp, text)| OwnRules {
                stamp,
                is_sure: stamp.is_sure(read_at),
                rules: ignore_rules(&dir.task.path, &text),
            });
            if had || dir.folder.own.is_some() {
                dir.found.is_surprised |= dir.task.extent != Extent::Deep;
                dir.task.extent = Extent::Deep;
            }
        }
        dir.rules = dir.task.rules.below(dir.folder.own.as_ref().map(|own| &own.rules));
    }

    /// Scans a name that is not known, or not known to be in scope. `kind` is from the folder's listing.
    fn name(&self, dir: &mut DirScan<'_>, name: &[u8], kind: Option<FileType>) {
        let known = dir.folder.find(name).ok();
        let path = path_in(&dir.task, name);
        let mut stat = None;
        let kind = match kind.filter(|kind| *kind != FileType::Unknown) {
            Some(kind) => kind,
            None => match statat(&*dir.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) => FileType::from_raw_mode(stat.insert(found).st_mode),
                // Gone since its folder was read.
                Err(Errno::NOENT) => return,
                Err(error) => return dir.unreadable(path, &error.into()),
            },
        };
        let is_folder = kind == FileType::Directory;
        let stays = known.is_some() && self.known_is_held;
        let ignored = match self.rules.scope(&dir.rules, &path, is_folder) {
            Scope::In => dir.task.ignored,
            Scope::Ignored => true,
            Scope::Outside => {
                dir.has_outside = true;
                return;
            }
            Scope::Skipped => return dir.leave_out(name, "skipped as asked"),
        };
        if ignored && !stays && !self.is_held(&path, is_folder) {
            return dir.ignore(name, is_folder);
        }
        let stat = match stat.map_or_else(|| statat(&*dir.handle, name, AtFlags::SYMLINK_NOFOLLOW), Ok) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return,
            Err(error) => return dir.unreadable(path, &error.into()),
        };
        match known {
            Some(at) => self.known(dir, at, &stat),
            None => self.fresh(dir, name, &stat),
        }
    }

    /// Compares a name with what is known of it.
    fn known(&self, dir: &mut DirScan<'_>, at: usize, stat: &Stat) {
        let Some(entry) = dir.folder.entries.get_mut(at) else { return };
        let stamp = Stamp::of(stat);
        let mode = u16::try_from(stat.st_mode & 0o7777).unwrap_or(0);
        if kind_of(stat) != Some(entry.kind) || stat.st_dev != self.device || self.rules.is_too_big(stat) {
            let name = entry.name.clone();
            return self.fresh(dir, &name, stat);
        }
        if let Some(seen) = dir.seen.get_mut(at) {
            *seen = true;
        }
        if entry.mode != mode {
            entry.mode = mode;
            dir.is_dirty = true;
        }
        if entry.kind == EntryKind::Folder {
            // Only to know when it last changed.
            entry.stamp = stamp;
            let (folder, name) = (entry.folder, entry.name.clone());
            dir.below.push((folder, name));
            return;
        }
        let is_sure = entry.state == EntryState::Sure && entry.stamp == stamp && stamp.is_sure(self.sure_before);
        if !is_sure {
            dir.is_dirty |= entry.stamp.names != stamp.names;
            dir.is_stale = true;
            entry.state = EntryState::Unread;
            entry.stamp = stamp;
        }
    }

    /// Takes in a name that is new, or something else than it was.
    fn fresh(&self, dir: &mut DirScan<'_>, name: &[u8], stat: &Stat) {
        let Some(kind) = kind_of(stat) else { return dir.leave_out(name, "no file, folder or link") };
        if self.rules.is_too_big(stat) {
            let most = self.rules.size_max();
            return dir.leave_out(name, &format!("{} bytes, more than the limit of {most}", stat.st_size));
        }
        let mode = u16::try_from(stat.st_mode & 0o7777).unwrap_or(0);
        if kind == EntryKind::Folder {
            let depth = dir.task.path.iter().filter(|byte| **byte == b'/').count();
            let out = (stat.st_dev != self.device).then_some("another file system");
            match out.or((depth >= DEPTH_MAX).then_some("too deep")) {
                Some(why) => dir.leave_out(name, why),
                None => dir.new_below.push((name.into(), mode, Stamp::of(stat))),
            }
            return;
        }
        let (stamp, id) = (Stamp::of(stat), Id::of(ObjectKind::Blob, b""));
        dir.is_stale = true;
        dir.added.push(CacheEntry {
            name: name.into(),
            kind,
            state: EntryState::Unread,
            stored: false,
            mode,
            stamp,
            id,
            folder: 0,
        });
    }

    /// Whether a path, or one below it, stays in scope.
    fn is_held(&self, path: &[u8], is_folder: bool) -> bool {
        if self.held.contains(path) {
            return true;
        }
        let inside = joined(path, b"");
        is_folder && self.held.range(inside.clone()..).next().is_some_and(|held| held.starts_with(&inside))
    }
}

impl DirScan<'_> {
    /// The workspace's own repository is the user's; temporary files of a restore are ours.
    fn is_own(&mut self, name: &[u8]) -> bool {
        if is_part(name) {
            self.found.leftovers.push(path_in(&self.task, name));
            return true;
        }
        self.task.index == TOP && name == b".git"
    }

    fn unreadable(&mut self, path: Vec<u8>, error: &io::Error) {
        self.found.unreadable.push((path, error.to_string()));
    }

    /// Remembers an ignored name: small files among them are kept apart.
    fn ignore(&mut self, name: &[u8], is_folder: bool) {
        if self.ignored_names.len() < NAMES_MAX {
            self.ignored_names.push(IgnoredName { name: name.into(), is_folder });
        }
    }

    fn leave_out(&mut self, name: &[u8], why: &str) {
        self.left_out.push((name.into(), why.to_owned()));
    }
}

fn kind_of(stat: &Stat) -> Option<EntryKind> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Some(EntryKind::File),
        FileType::Symlink => Some(EntryKind::Link),
        FileType::Directory => Some(EntryKind::Folder),
        FileType::Fifo | FileType::Socket | FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
            None
        }
    }
}
