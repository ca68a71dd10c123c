//! The scan cache: what is known of a workspace between two checkpoints. A tree of folders with the result of
//! `lstat` for each name, and the ids of the contents. So a scan only has to compare, and only what changed is read
//! and written.
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use ignore::gitignore::Gitignore;
use rustix::fs::Stat;
use rustix::time::{ClockId, DynamicClockId, Timespec, clock_gettime, clock_gettime_dynamic};

use super::rules::{FolderRules, RuleTexts};
use super::small_ignored::{IgnoredName, KnownIgnored};
use crate::checkpoint::git::object::Id;
use crate::fs::handle::{joined, split};

/// What was changed so shortly before it was read may change again within the same tick of the clock.
const RACY_NANOS: i64 = 50_000_000;
/// A second.
const SECOND_NANOS: i64 = 1_000_000_000;
/// The folder that everything is in.
pub(in crate::checkpoint) const TOP: u32 = 0;

/// When this is the same, a file has not changed, unless it was written just when it was scanned.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Its length.
    pub size: u64,
    /// When its content changed, in nanoseconds.
    pub modified: i64,
    /// When anything of it changed.
    pub changed: i64,
    /// Its number in the file system.
    pub inode: u64,
    /// How many names it has.
    pub names: u32,
}

impl Stamp {
    pub(crate) fn of(stat: &Stat) -> Self {
        let nanos = |seconds: i64, rest: u64| {
            seconds.saturating_mul(1_000_000_000).saturating_add(i64::try_from(rest).unwrap_or(0))
        };
        Self {
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            names: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        }
    }

    /// Whether nothing can have been written since, unseen, when it was read at this time.
    pub(crate) fn is_sure(&self, read_at: i64) -> bool {
        // The change time cannot be set by programs; a modification time in the future was set by one.
        let modified = if self.modified > read_at { self.changed } else { self.modified };
        // Where both are whole seconds, the clock of the file system most likely ticks no finer.
        let coarse = self.changed % SECOND_NANOS == 0 && self.modified % SECOND_NANOS == 0;
        let slack = if coarse { RACY_NANOS + 2 * SECOND_NANOS } else { RACY_NANOS };
        self.changed.max(modified).saturating_add(slack) < read_at
    }
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checkpoint) enum EntryKind {
    File,
    Link,
    Folder,
}

/// How well the content of a name is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checkpoint) enum EntryState {
    /// It has to be read.
    Unread,
    /// It was read so shortly after it changed that it may have changed again without a trace.
    Racy,
    /// Its content is the one of its id as long as its stamp is the same.
    Sure,
}

/// One name in scope.
#[derive(Debug, Clone)]
pub(in crate::checkpoint) struct CacheEntry {
    pub(in crate::checkpoint) name: Box<[u8]>,
    pub(in crate::checkpoint) kind: EntryKind,
    pub(in crate::checkpoint) state: EntryState,
    /// Whether its object is known to be in the store.
    pub(in crate::checkpoint) stored: bool,
    /// Permissions with set-id and sticky bits.
    pub(in crate::checkpoint) mode: u16,
    pub(in crate::checkpoint) stamp: Stamp,
    /// Of the content, once it was read; of a folder nothing.
    pub(in crate::checkpoint) id: Id,
    /// Where the folder is.
    pub(in crate::checkpoint) folder: u32,
}

/// A folder's object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::checkpoint) enum Tree {
    /// Something in it changed.
    Dirty,
    /// Git holds no folder without files; the manifest does.
    Hollow,
    /// Empty but for what is not the user's: it is not recorded.
    Nothing,
    /// This one.
    Is(Id),
}

/// How many names of a folder have which permissions, by the three kinds that differ, and how many have more names.
#[derive(Debug, Clone, Default)]
pub(in crate::checkpoint) struct Counts {
    pub(in crate::checkpoint) files: Vec<(u16, u32)>,
    pub(in crate::checkpoint) programs: Vec<(u16, u32)>,
    pub(in crate::checkpoint) folders: Vec<(u16, u32)>,
    pub(in crate::checkpoint) linked: u32,
    /// Folders without files.
    pub(in crate::checkpoint) hollow: u32,
}

/// The rules of a folder's own ignore file, and whether its stamp can be trusted.
#[derive(Debug, Clone)]
pub(in crate::checkpoint) struct OwnRules {
    pub(in crate::checkpoint) stamp: Stamp,
    pub(in crate::checkpoint) is_sure: bool,
    pub(in crate::checkpoint) rules: Arc<Gitignore>,
}

/// A folder in scope.
#[derive(Debug)]
pub(in crate::checkpoint) struct CachedFolder {
    pub(in crate::checkpoint) parent: u32,
    pub(in crate::checkpoint) name: Box<[u8]>,
    /// Sorted by name.
    pub(in crate::checkpoint) entries: Vec<CacheEntry>,
    /// Only what is held counts in it.
    pub(in crate::checkpoint) ignored: bool,
    /// It matters only for what is in it.
    pub(in crate::checkpoint) only_for_content: bool,
    pub(in crate::checkpoint) own: Option<OwnRules>,
    /// Names that are left out, and why.
    pub(in crate::checkpoint) left_out: Vec<(Box<[u8]>, String)>,
    /// Names that are ignored, a bounded number, sorted.
    pub(in crate::checkpoint) ignored_names: Vec<IgnoredName>,
    /// It has names that are the harness's own: alone they do not make a folder of the user's.
    pub(in crate::checkpoint) has_outside: bool,
    pub(in crate::checkpoint) tree: Tree,
    pub(in crate::checkpoint) counts: Counts,
    /// Whether its tree is known to be in the store.
    pub(in crate::checkpoint) stored: bool,
    /// Something in it or below has to be read, made or stored.
    pub(in crate::checkpoint) stale: bool,
}

impl CachedFolder {
    pub(in crate::checkpoint) fn new(parent: u32, name: &[u8]) -> Self {
        Self {
            parent,
            name: name.into(),
            entries: Vec::new(),
            ignored: false,
            only_for_content: false,
            own: None,
            left_out: Vec::new(),
            ignored_names: Vec::new(),
            has_outside: false,
            tree: Tree::Dirty,
            counts: Counts::default(),
            stored: false,
            stale: true,
        }
    }

    pub(in crate::checkpoint) fn find(&self, name: &[u8]) -> Result<usize, usize> {
        self.entries.binary_search_by(|entry| entry.name.as_ref().cmp(name))
    }
}

/// All folders, found by their numbers.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct Arena {
    pub(in crate::checkpoint) folders: Vec<Option<Box<CachedFolder>>>,
    free: Vec<u32>,
}

impl Arena {
    pub(in crate::checkpoint) fn add(&mut self, folder: CachedFolder) -> u32 {
        if let Some(free) = self.free.pop() {
            self.put(free, Box::new(folder));
            return free;
        }
        self.folders.push(Some(Box::new(folder)));
        u32::try_from(self.folders.len() - 1).unwrap_or(u32::MAX)
    }

    pub(in crate::checkpoint) fn put(&mut self, index: u32, folder: Box<CachedFolder>) {
        if let Some(slot) = usize::try_from(index).ok().and_then(|at| self.folders.get_mut(at)) {
            *slot = Some(folder);
        }
    }

    pub(in crate::checkpoint) fn take(&mut self, index: u32) -> Option<Box<CachedFolder>> {
        usize::try_from(index).ok().and_then(|at| self.folders.get_mut(at)).and_then(Option::take)
    }

    pub(in crate::checkpoint) fn get(&self, index: u32) -> Option<&CachedFolder> {
        usize::try_from(index).ok().and_then(|at| self.folders.get(at)).and_then(Option::as_deref)
    }

    pub(in crate::checkpoint) fn get_mut(&mut self, index: u32) -> Option<&mut CachedFolder> {
        usize::try_from(index).ok().and_then(|at| self.folders.get_mut(at)).and_then(Option::as_deref_mut)
    }

    /// The path of a folder, from the workspace.
    pub(in crate::checkpoint) fn path(&self, mut index: u32) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::new();
        while let Some(folder) = self.get(index).filter(|_| index != TOP) {
            names.push(&folder.name);
            index = folder.parent;
        }
        names.reverse();
        names.join(&b'/')
    }

    /// The folder that a path leads to as far as it is known, and what is left of the path.
    pub(in crate::checkpoint) fn nearest<'a>(&self, path: &'a [u8]) -> (u32, &'a [u8]) {
        let (mut index, mut rest) = (TOP, path);
        while !rest.is_empty() {
            let end = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
            let Some(folder) = self.get(index) else { break };
            let Some(entry) = folder.find(&rest[..end]).ok().and_then(|at| folder.entries.get(at)) else { break };
            if entry.kind != EntryKind::Folder {
                break;
            }
            index = entry.folder;
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        (index, rest)
    }

    /// A name that is known.
    pub(in crate::checkpoint) fn entry(&self, path: &[u8]) -> Option<&CacheEntry> {
        let (above, name) = split(path);
        let (index, rest) = self.nearest(above);
        let folder = self.get(index).filter(|_| rest.is_empty())?;
        folder.find(name).ok().and_then(|at| folder.entries.get(at))
    }

    /// Something is to be done in a folder: all above it lead there.
    pub(in crate::checkpoint) fn stale(&mut self, mut index: u32) {
        while let Some(folder) = self.get_mut(index) {
            let was = std::mem::replace(&mut folder.stale, true);
            if index == TOP || was {
                break;
            }
            index = folder.parent;
        }
    }

    /// A folder has changed, and with it all above.
    pub(in crate::checkpoint) fn dirty(&mut self, mut index: u32) {
        while let Some(folder) = self.get_mut(index) {
            folder.tree = Tree::Dirty;
            folder.stored = false;
            folder.stale = true;
            if index == TOP {
                break;
            }
            index = folder.parent;
        }
    }

    /// Forgets a folder and all in it; calls `gone` with every path that was there.
    pub(in crate::checkpoint) fn forget(&mut self, index: u32, path: &[u8], gone: &mut dyn FnMut(Vec<u8>)) {
        let Some(folder) = self.take(index) else { return };
        self.free.push(index);
        for entry in folder.entries {
            let path = joined(path, &entry.name);
            if entry.kind == EntryKind::Folder {
                self.forget(entry.folder, &path, gone);
            }
            gone(path);
        }
    }

    /// Whether a folder lies somewhere in another one.
    pub(in crate::checkpoint) fn is_below(&self, index: u32, above: u32) -> bool {
        let up = |index: &u32| self.get(*index).filter(|_| *index != TOP).map(|folder| folder.parent);
        std::iter::successors(up(&index), up).any(|index| index == above)
    }

    /// The rules that hold for the names in a folder.
    pub(in crate::checkpoint) fn rules_in(&self, index: u32) -> FolderRules {
        let Some(folder) = self.get(index) else { return FolderRules::default() };
        let above = if index == TOP { FolderRules::default() } else { self.rules_in(folder.parent) };
        above.below(folder.own.as_ref().map(|own| &own.rules))
    }
}

/// The wall clock and the one that never jumps, read together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::checkpoint) struct Moment {
    pub(in crate::checkpoint) wall: i64,
    pub(in crate::checkpoint) boot: i64,
    pub(in crate::checkpoint) boot_id: u32,
}

impl Moment {
    pub(in crate::checkpoint) fn now() -> Self {
        let nanos = |time: Timespec| time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
        let boot =
            clock_gettime_dynamic(DynamicClockId::Boottime).unwrap_or_else(|_| clock_gettime(ClockId::Monotonic));
        Self { wall: wall_nanos(), boot: nanos(boot), boot_id: crate::clock::now().boot_id }
    }

    /// The least that the wall clock can have shown since then: a stamp from there on may have been given twice.
    pub(in crate::checkpoint) fn least_since(&self, now: &Self) -> i64 {
        // A power cut may have left a file its new times and its old content: all is read again.
        if self.boot_id != now.boot_id {
            return i64::MIN;
        }
        now.wall.saturating_sub(now.boot.saturating_sub(self.boot).max(0))
    }
}

/// The moment of a snapshot of a workspace, which does not change any more. Inodes and times in it are the workspace's
/// own.
#[derive(Debug, Clone, Copy)]
pub struct SnapshotMoment {
    /// The workspace: device and inode.
    identity: (u64, u64),
    /// When it may have stood still at the earliest.
    since: Moment,
}

impl SnapshotMoment {
    /// A snapshot of this workspace that is about to be made.
    ///
    /// # Errors
    /// When the workspace cannot be read.
    pub fn of(workspace: &OwnedFd) -> io::Result<Self> {
        let stat = rustix::fs::fstat(workspace)?;
        Ok(Self { identity: (stat.st_dev, stat.st_ino), since: Moment::now() })
    }
}

/// The wall clock in nanoseconds.
pub(crate) fn wall_nanos() -> i64 {
    let time = clock_gettime(ClockId::Realtime);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

/// What is known of a workspace, for one run.
#[derive(Debug)]
pub struct ScanCache {
    pub(in crate::checkpoint) arena: Arena,
    pub(in crate::checkpoint) run: String,
    /// The workspace it is of: device and inode.
    pub(in crate::checkpoint) identity: (u64, u64),
    /// Whether what is in it was in scope of this run, and so stays.
    pub(in crate::checkpoint) is_of_run: bool,
    /// Paths that stay in scope although they are absent now, or were never scanned.
    pub(in crate::checkpoint) held: BTreeSet<Vec<u8>>,
    /// When it was last true.
    pub(in crate::checkpoint) moment: Moment,
    /// The rules it was made by.
    pub(in crate::checkpoint) rules: RuleTexts,
    /// Names that were read too shortly after they changed.
    pub(in crate::checkpoint) racy: Vec<Vec<u8>>,
    /// Names that we touched ourselves since the last scan.
    pub(in crate::checkpoint) doubts: Vec<Vec<u8>>,
    /// Names that a killed restore left.
    pub(in crate::checkpoint) leftovers: Vec<Vec<u8>>,
    /// Whether what is marked as stored includes the contents of files.
    pub(in crate::checkpoint) with_contents: bool,
    /// What is marked as stored was in the store at this state of its packs.
    pub(in crate::checkpoint) packs_state: u64,
    /// Names read since it was last written down.
    pub(in crate::checkpoint) unwritten: u64,
    /// Hints are not enough: the last scan failed.
    pub(in crate::checkpoint) in_doubt: bool,
    /// Whether checkpoints also have a part with small ignored files.
    pub(in crate::checkpoint) keeps_ignored: bool,
    /// What is known of these.
    pub(in crate::checkpoint) known_ignored: KnownIgnored,
    /// A snapshot is scanned.
    pub(in crate::checkpoint) still: Option<SnapshotMoment>,
}

impl ScanCache {
    /// One of which nothing is known.
    #[must_use]
    pub fn empty(run: &str) -> Self {
        let mut arena = Arena::default();
        arena.add(CachedFolder::new(TOP, b""));
        Self {
            arena,
            run: run.to_owned(),
            identity: (0, 0),
            is_of_run: true,
            held: BTreeSet::new(),
            moment: Moment::default(),
            rules: RuleTexts::default(),
            racy: Vec::new(),
            doubts: Vec::new(),
            leftovers: Vec::new(),
            with_contents: true,
            packs_state: 0,
            unwritten: 0,
            in_doubt: true,
            keeps_ignored: false,
            known_ignored: KnownIgnored::default(),
            still: None,
        }
    }

    /// Now, or the moment of the snapshot that is scanned.
    pub(in crate::checkpoint) fn now(&self) -> Moment {
        self.still.map_or_else(Moment::now, |still| still.since)
    }

    /// What was read of a snapshot was read when that was made: what happened to the workspace since is not in it.
    pub(in crate::checkpoint) fn read_at(&self) -> Option<i64> {
        self.still.map(|still| still.since.wall)
    }

    /// The scanned workspace: device and inode.
    pub(in crate::checkpoint) fn identity_of(&self, stat: &Stat) -> (u64, u64) {
        self.still.map_or((stat.st_dev, stat.st_ino), |still| still.identity)
    }

    /// These paths stay in scope whatever the rules are: what git tracks although it is ignored.
    pub fn hold(&mut self, paths: impl IntoIterator<Item = Vec<u8>>) {
        self.held.extend(paths);
    }

    /// How many names it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.arena.folders.iter().flatten().map(|folder| folder.entries.len()).sum()
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Everything has to be asked of the store again.
    pub(in crate::checkpoint) fn forget_stored(&mut self) {
        for folder in self.arena.folders.iter_mut().flatten() {
            folder.stored = false;
            folder.stale = true;
            folder.entries.iter_mut().for_each(|entry| entry.stored = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_went_back_makes_recent_stamps_doubtful() {
        let then = Moment { wall: 1_000, boot: 100, boot_id: 1 };
        assert_eq!(then.least_since(&Moment { wall: 1_050, boot: 150, boot_id: 1 }), 1_000);
        assert_eq!(then.least_since(&Moment { wall: 400, boot: 150, boot_id: 1 }), 350, "it went back by 650");
        assert_eq!(then.least_since(&Moment { wall: 5_000, boot: 150, boot_id: 1 }), 4_950, "it went forward");
        for wall in [999, 5_000] {
            assert_eq!(then.least_since(&Moment { wall, boot: 5, boot_id: 2 }), i64::MIN, "over a restart");
        }
        let second = 1_000_000_000;
        let stamp = Stamp { modified: 7 * second, changed: 10 * second + 5, ..Stamp::default() };
        assert!(!stamp.is_sure(10 * second + 5 + RACY_NANOS) && stamp.is_sure(10 * second + 5 + RACY_NANOS + 1));
        let coarse = Stamp { changed: 10 * second, ..stamp };
        assert!(!coarse.is_sure(12 * second) && coarse.is_sure(13 * second), "a clock that ticks once a second");
        let future = Stamp { modified: 99 * second, ..stamp };
        assert!(future.is_sure(11 * second), "a time that somebody set does not make it doubtful for ever");
    }
}
