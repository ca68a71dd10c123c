//! Whether something below a folder is opened while this watches: by inotify, which does not change what a gate may do.
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::fs::{Dir, FileType};
use rustix::io::Errno;

use crate::fs::handle::{open_below, open_inside};

/// Each takes about a kilobyte in the kernel.
const FOLDERS_MAX: usize = 65_536;
/// So many, where not all need be watched.
const SOME_FOLDERS_MAX: usize = 8_192;
const DEPTH_MAX: usize = 512;
const PIECE: usize = 64 * 1024;

/// A watch over all folders below one.
#[derive(Debug)]
pub(super) struct WorkspaceOpens {
    /// None where not all of it could be watched.
    inotify: Option<OwnedFd>,
    /// That a folder was listed does not count.
    files_only: bool,
}

impl WorkspaceOpens {
    /// Begins to watch. Objects of a repository in it are not watched: they are shared on purpose.
    pub(super) fn new(folder: &OwnedFd) -> Self {
        let Ok(inotify) = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC) else {
            return Self { inotify: None, files_only: false };
        };
        let mut folders = 0;
        let whole = enter(&inotify, folder, &mut FoldersSeen { count: &mut folders, path: Vec::new() }, 0);
        let watch = Self { inotify: whole.map(|()| inotify), files_only: false };
        // Our own walk opened each folder.
        watch.forget();
        watch
    }

    /// Watches the files of some folders below one, as far as that works: none where it does not.
    pub(super) fn of_files<'a>(folder: &OwnedFd, paths: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let inotify = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
        for path in paths.take(SOME_FOLDERS_MAX) {
            let Ok(below) = open_below(folder.as_fd(), path) else { continue };
            let what = WatchFlags::OPEN | WatchFlags::ONLYDIR;
            inotify::add_watch(&inotify, format!("/proc/self/fd/{}", below.as_raw_fd()), what).ok();
        }
        Some(Self { inotify: Some(inotify), files_only: true })
    }

    /// What was opened up to now does not count.
    pub(super) fn forget(&self) {
        let Some(inotify) = &self.inotify else { return };
        drain(inotify, self.files_only).ok();
    }

    /// Whether something was opened since the last time, or that is not known.
    pub(super) fn take(&self) -> bool {
        self.inotify.as_ref().is_none_or(|inotify| drain(inotify, self.files_only).unwrap_or(true))
    }
}

/// Reads all events that are there. Whether there was one.
fn drain(inotify: &OwnedFd, files_only: bool) -> Result<bool, Errno> {
    let mut piece = vec![MaybeUninit::uninit(); PIECE];
    let mut reader = Reader::new(inotify, &mut piece);
    let mut found = false;
    loop {
        match reader.next() {
            Ok(event) => {
                let is_folder = files_only && event.events().contains(ReadFlags::ISDIR);
                found |= !is_folder && !event.events().contains(ReadFlags::IGNORED);
            }
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => return Ok(found),
            Err(error) => return Err(error),
        }
    }
}

struct FoldersSeen<'a> {
    count: &'a mut usize,
    path: Vec<u8>,
}

/// Watches a folder and all below it. None when one of them cannot be watched.
fn enter(inotify: &OwnedFd, folder: &OwnedFd, seen: &mut FoldersSeen<'_>, depth: usize) -> Option<()> {
    *seen.count += 1;
    if *seen.count > FOLDERS_MAX || depth > DEPTH_MAX {
        return None;
    }
    let what = WatchFlags::OPEN | WatchFlags::ACCESS | WatchFlags::ONLYDIR;
    inotify::add_watch(inotify, format!("/proc/self/fd/{}", folder.as_raw_fd()), what).ok()?;
    for entry in Dir::read_from(folder).ok()? {
        let entry = entry.ok()?;
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
            Err(_) => return None,
        }
    }
    Some(())
}
