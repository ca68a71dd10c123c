//! Which files of a workspace are opened while something runs, by inotify. What runs is not changed by it and does not
//! know of it. The events name no process: another program that opens files at the same time is seen too.
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use loop_core::policy::protect::WatchGap;
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{FileType, RawDir};
use rustix::io::Errno;

use super::joined;
use crate::checkpoint::{DirRules, Rules, is_made};
use crate::fs::handle::folder_beneath;

/// So many folders are watched: each takes about a kilobyte in the kernel.
const FOLDERS_MAX: usize = 8192;
const DEPTH_MAX: usize = 64;
/// So many names are remembered.
const NAMES_MAX: usize = 50_000;
/// Events are read in pieces of this size.
const PIECE: usize = 32 * 1024;
/// Python opens its compiled files instead of the sources.
const COMPILED: &[u8] = b"__pycache__";

/// A watch over the opens in a workspace.
#[derive(Debug)]
pub struct OpenWatch {
    inotify: Option<OwnedFd>,
    folders: HashMap<i32, Vec<u8>>,
    seen: OpenedFiles,
    piece: Vec<MaybeUninit<u8>>,
}

/// What was opened and what was written. Paths are relative to the workspace.
#[derive(Debug, Default)]
pub struct OpenedFiles {
    /// Files that were opened.
    pub opened: BTreeSet<Vec<u8>>,
    /// Files that were made or written meanwhile.
    pub made: BTreeSet<Vec<u8>>,
    /// Why that is not everything.
    pub gap: Option<WatchGap>,
}

/// A folder that is still to be watched.
struct Waiting {
    path: Vec<u8>,
    rules: DirRules,
    depth: usize,
}

impl OpenWatch {
    /// Begins to watch all folders in scope, those at the top first, but a bounded number. It never fails: what is
    /// missing is in [`OpenedFiles::gap`].
    #[must_use]
    pub fn begin(workspace: &OwnedFd, rules: &Rules) -> Self {
        let piece = vec![MaybeUninit::uninit(); PIECE];
        let mut watch = Self { inotify: None, folders: HashMap::new(), seen: OpenedFiles::default(), piece };
        match inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) {
            Ok(inotify) => watch.inotify = Some(inotify),
            Err(_) => watch.seen.gap = Some(WatchGap::NoWatch),
        }
        let mut waiting = VecDeque::from([Waiting { path: Vec::new(), rules: DirRules::above_all(), depth: 0 }]);
        while let Some(next) = waiting.pop_front() {
            let Ok(folder) = folder_beneath(workspace, &next.path) else { continue };
            if let Err(gap) = watch.add(&folder, &next.path) {
                watch.seen.gap = Some(gap);
                break;
            }
            if next.path.ends_with(COMPILED) || next.depth >= DEPTH_MAX {
                continue;
            }
            let inner = next.rules.inside(folder.as_fd(), &next.path);
            for name in folders_in(&folder, &mut watch.piece) {
                let path = joined(&next.path, &name);
                let is_out = is_made(&name) || inner.leaves_out(rules, &path);
                if name != b".git" && (!is_out || name == COMPILED) {
                    waiting.push_back(Waiting { path, rules: inner.clone(), depth: next.depth + 1 });
                }
            }
        }
        watch
    }

    fn add(&mut self, folder: &OwnedFd, path: &[u8]) -> Result<(), WatchGap> {
        let Some(inotify) = &self.inotify else { return Err(WatchGap::NoWatch) };
        if self.folders.len() >= FOLDERS_MAX {
            return Err(WatchGap::TooManyFolders);
        }
        let what =
            WatchFlags::OPEN | WatchFlags::CREATE | WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        // By the handle: the name cannot be replaced by a link.
        match inotify::add_watch(inotify, format!("/proc/self/fd/{}", folder.as_raw_fd()), what) {
            Ok(number) => {
                self.folders.insert(number, path.to_vec());
                Ok(())
            }
            // It may not be read, by the gate neither.
            Err(Errno::ACCESS | Errno::PERM) => Ok(()),
            Err(Errno::NOSPC) => Err(WatchGap::NoWatchesLeft),
            Err(_) => Err(WatchGap::NoWatch),
        }
    }

    /// Takes in what the kernel has told so far. It does not wait.
    pub fn drain(&mut self) {
        let Some(inotify) = &self.inotify else { return };
        let mut reader = Reader::new(inotify, &mut self.piece);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(_) => return,
            };
            let what = event.events();
            if what.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.seen.gap = Some(WatchGap::Overflow);
            }
            let (Some(name), Some(folder)) = (event.file_name(), self.folders.get(&event.wd())) else { continue };
            if what.contains(ReadFlags::ISDIR) {
                continue;
            }
            let path = joined(folder, name.to_bytes());
            let list = if what.contains(ReadFlags::OPEN) { &mut self.seen.opened } else { &mut self.seen.made };
            if list.len() < NAMES_MAX {
                list.insert(path);
            } else {
                self.seen.gap = Some(WatchGap::Overflow);
            }
        }
    }

    /// What was opened.
    #[must_use]
    pub fn finish(mut self) -> OpenedFiles {
        self.drain();
        self.seen
    }
}

/// The names of what may be a folder. A whole folder is mostly read by two calls: `room` holds about a thousand names.
fn folders_in(folder: &OwnedFd, room: &mut [MaybeUninit<u8>]) -> Vec<Vec<u8>> {
    let (mut entries, mut names) = (RawDir::new(folder, room), Vec::new());
    while let Some(Ok(entry)) = entries.next() {
        let name = entry.file_name().to_bytes();
        if matches!(entry.file_type(), FileType::Directory | FileType::Unknown) && name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    names
}
