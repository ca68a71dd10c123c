//! What a restore changed and is not on disk yet. It is synced once, at the end: one commit of the file system's
//! journal is enough for all of it.
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use rustix::fs::{Mode, OFlags, openat};

/// More files, or folders, than this are synced with the whole file system.
const ALONE_MAX: usize = 64;
/// How many syncs run at once.
const AT_ONCE: usize = 8;

/// Files and folders that are not synced yet. After a power cut before that, a rollback is done again.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    files: Vec<File>,
    /// By path: a name that came, went or changed is on disk when its folder is.
    folders: BTreeMap<Vec<u8>, File>,
    /// Too much of it, or something that cannot be synced alone.
    is_all: bool,
}

impl Unsynced {
    /// A file that was written or changed.
    pub(crate) fn file(&mut self, file: File) {
        self.is_all |= self.files.len() >= ALONE_MAX;
        if !self.is_all {
            self.files.push(file);
        }
    }

    /// A file whose permissions change; now it may be readable, afterwards not.
    pub(crate) fn named(&mut self, folder: &OwnedFd, name: &[u8]) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(folder, name, flags, Mode::empty()) {
            Ok(file) => self.file(File::from(file)),
            Err(_) => self.is_all = true,
        }
    }

    /// A folder in which something changes, or that changes itself.
    pub(crate) fn folder(&mut self, path: &[u8], folder: impl FnOnce() -> io::Result<OwnedFd>) {
        if self.is_all || self.folders.contains_key(path) {
            return;
        }
        match folder() {
            Ok(folder) if self.folders.len() < ALONE_MAX => {
                self.folders.insert(path.to_vec(), File::from(folder));
            }
            Ok(_) | Err(_) => self.is_all = true,
        }
    }

    /// Puts all of it on disk.
    pub(crate) fn sync(self, workspace: &OwnedFd) -> io::Result<()> {
        if self.is_all {
            return Ok(rustix::fs::syncfs(workspace)?);
        }
        let all: Vec<File> = self.files.into_iter().chain(self.folders.into_values()).collect();
        thread::scope(|scope| {
            let sync = |files: &[File]| files.iter().try_for_each(File::sync_all);
            let parts = all.chunks(all.len().div_ceil(AT_ONCE).max(1));
            let all: Vec<_> = parts.map(|part| scope.spawn(move || sync(part))).collect();
            all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|_| Err(io::Error::other("a sync failed"))))
        })
    }
}
