//! Whether something below a folder is opened while this watches: by inotify, which does not change what a gate may do.
use std::cell::Cell;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use crate::fs::handle::{open_below, open_inside};

/// Each takes about a kilobyte in the kernel.
const FOLDERS_MAX: usize = 65_536;
const DEPTH_MAX: usize = 512;
const PIECE: usize = 64 * 1024;

/// Which events count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    All,
    /// Ignore events about folders.
    Files,
}

/// A watch over folders.
#[derive(Debug)]
pub(super) struct WorkspaceOpens {
    inotify: OwnedFd,
    counted: Counted,
    was_opened: Cell<bool>,
}

impl WorkspaceOpens {
    /// Begins to watch a folder and all below it. Objects of a repository in it are not watched: they are shared on purpose.
    ///
    /// # Errors
    /// Why not all of it can be watched.
    pub(super) fn new(folder: &OwnedFd) -> Result<Self, String> {
        let watch = Self::empty(Counted::All)?;
        let mut folders = 0;
        enter(&watch.inotify, folder, &mut FoldersSeen { count: &mut folders, path: Vec::new() }, 0)?;
        Ok(watch)
    }

    /// Watches the files of some folders below one. A folder that is gone needs no watch.
    ///
    /// # Errors
    /// Why not all of them can be watched.
    pub(super) fn of_files<'a>(folder: &OwnedFd, paths: impl Iterator<Item = &'a [u8]>) -> Result<Self, String> {
        let watch = Self::empty(Counted::Files)?;
        for (count, path) in paths.enumerate() {
            if count >= FOLDERS_MAX {
                return Err(too_many());
            }
            let Ok(below) = open_below(folder.as_fd(), path) else { continue };
            add(&watch.inotify, &below, WatchFlags::OPEN | WatchFlags::ONLYDIR)?;
        }
        Ok(watch)
    }

    fn empty(counted: Counted) -> Result<Self, String> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(why)?;
        Ok(Self { inotify, counted, was_opened: Cell::new(false) })
    }

    /// What was opened up to now was opened by us.
    pub(super) fn begin(&self) {
        self.drain().ok();
    }

    /// Remembers whether something was opened since it began, or that this is not known.
    pub(super) fn end(&self) {
        let opened = self.drain().unwrap_or(true);
        self.was_opened.set(self.was_opened.get() || opened);
    }

    /// Whether something was opened in one of these times.
    pub(super) fn was_opened(&self) -> bool {
        self.was_opened.get()
    }

    /// Reads all events that are there. Whether there was one.
    fn drain(&self) -> Result<bool, Errno> {
        let mut piece = vec![MaybeUninit::uninit(); PIECE];
        let mut reader = Reader::new(&self.inotify, &mut piece);
        let mut found = false;
        loop {
            match reader.next() {
                Ok(event) => {
                    let is_folder = self.counted == Counted::Files && event.events().contains(ReadFlags::ISDIR);
                    found |= !is_folder && !event.events().contains(ReadFlags::IGNORED);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(found),
                Err(error) => return Err(error),
            }
        }
    }
}

fn add(inotify: &OwnedFd, folder: &OwnedFd, what: WatchFlags) -> Result<(), String> {
    let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
    inotify::add_watch(inotify, path, what).map(drop).map_err(why)
}

fn why(error: Errno) -> String {
    match error {
        Errno::NOSPC => "the limit of watched folders is reached (sysctl fs.inotify.max_user_watches)".to_owned(),
        Errno::MFILE => "the limit of watches is reached (sysctl fs.inotify.max_user_instances)".to_owned(),
        error => error.to_string(),
    }
}

fn too_many() -> String {
    format!("it has more than {FOLDERS_MAX} folders")
}

struct FoldersSeen<'a> {
    count: &'a mut usize,
    path: Vec<u8>,
}

/// Watches a folder and all below it.
fn enter(inotify: &OwnedFd, folder: &OwnedFd, seen: &mut FoldersSeen<'_>, depth: usize) -> Result<(), String> {
    *seen.count += 1;
    if *seen.count > FOLDERS_MAX || depth > DEPTH_MAX {
        return Err(too_many());
    }
    add(inotify, folder, WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::ONLYDIR)?;
    for entry in Dir::read_from(folder).map_err(why)? {
        let entry = entry.map_err(why)?;
        let name = entry.file_name().to_bytes();
        let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
        if !may_be || name == b"." || name == b".." || (depth == 1 && seen.path == b".git" && name == b"objects") {
            continue;
        }
        match open_inside(folder.as_fd(), name) {
            Ok(below) => {
                let above = std::mem::replace(&mut seen.path, name.to_vec());
                enter(inotify, &below, seen, depth + 1)?;
                seen.path = above;
            }
            // No folder, one that we may not read and neither may a gate, or one of another file system.
            Err(error)
                if matches!(
                    error.raw_os_error(),
                    Some(libc::ENOTDIR | libc::ELOOP | libc::EACCES | libc::EXDEV | libc::ENOENT)
                ) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}
