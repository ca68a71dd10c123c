//! Writes into the copy: by handle, through no link.
//!
//! Each written file gets a time of its own, in whole seconds and after all that was there: make and cargo build again,
//! and Python, which compares seconds and sizes, does not take compiled files of another version.
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, Mode, fchmod, mkdirat, renameat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use super::ProbeContext;
use crate::checkpoint::{ContentSource, FileContent, Recorded, StoredEntry, StoredKind, new_part, open_folder};
use crate::fs::clear::remove_folder;
use crate::fs::handle::{folder_beneath, split};

/// No file of a probe is so far ahead of the clock.
const FUTURE_SECONDS_MAX: u64 = 3600;

/// The copy, to write into.
pub(super) struct ProbedCopy {
    folder: OwnedFd,
    /// The time of the last written file, in seconds.
    written_at: u64,
}

impl ProbedCopy {
    pub(super) fn open(context: &ProbeContext<'_>) -> io::Result<Self> {
        Ok(Self { folder: open_folder(context.copy)?, written_at: 0 })
    }

    /// A whole second after now, after the one before, and after that of the file which is there.
    fn next_time(&mut self, above: &OwnedFd, name: &[u8]) -> SystemTime {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let there = statat(above, name, AtFlags::SYMLINK_NOFOLLOW).ok();
        let there = there.and_then(|stat| u64::try_from(stat.st_mtime).ok()).unwrap_or(0);
        // A file with a time far ahead does not move all others there.
        let there = if there > now + FUTURE_SECONDS_MAX { 0 } else { there };
        self.written_at = now.max(self.written_at).max(there) + 1;
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.written_at)
    }

    pub(super) fn write(&mut self, path: &[u8], bytes: &[u8], mode: u32) -> io::Result<()> {
        self.fill(path, mode, &mut |file| file.write_all(bytes))
    }

    /// Makes a name what it is in a checkpoint.
    pub(super) fn put(&mut self, path: &[u8], recorded: &Recorded) -> io::Result<()> {
        match recorded.checkpoint.names.get(path) {
            None | Some(StoredEntry { what: StoredKind::Folder, .. }) => self.remove(path),
            Some(StoredEntry { what: StoredKind::Link(leads), .. }) => {
                let above = self.above(path)?;
                clear(&above, split(path).1)?;
                symlinkat(leads.as_slice(), &above, split(path).1).map_err(Into::into)
            }
            Some(StoredEntry { what: StoredKind::File(id), mode }) => {
                let source: &dyn FileContent = match recorded.source() {
                    ContentSource::Store(store) => store,
                    ContentSource::Snapshot(snapshot) => snapshot,
                };
                self.fill(path, *mode, &mut |file| source.write(path, id, file))
            }
        }
    }

    fn fill(&mut self, path: &[u8], mode: u32, write: &mut dyn FnMut(&mut File) -> io::Result<()>) -> io::Result<()> {
        let above = self.above(path)?;
        let name = split(path).1;
        let time = self.next_time(&above, name);
        let (part, mut file) = new_part(&above)?;
        let written = write(&mut file).and_then(|()| {
            fchmod(&file, Mode::from_raw_mode(mode))?;
            file.set_modified(time)?;
            clear(&above, name)?;
            renameat(&above, part.as_slice(), &above, name).map_err(Into::into)
        });
        if written.is_err() {
            unlinkat(&above, part.as_slice(), AtFlags::empty()).ok();
        }
        written
    }

    fn remove(&mut self, path: &[u8]) -> io::Result<()> {
        match folder_beneath(&self.folder, split(path).0) {
            Ok(above) => clear(&above, split(path).1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The same, and the folders that are empty then and were not there at the start.
    pub(super) fn remove_with_folders(&mut self, path: &[u8], initial: &Recorded) -> io::Result<()> {
        self.remove(path)?;
        let mut at = split(path).0;
        while !at.is_empty() && !initial.checkpoint.names.contains_key(at) {
            let Ok(above) = folder_beneath(&self.folder, split(at).0) else { break };
            // A folder of compiled files alone would still be a package for Python.
            if let Ok(inside) = folder_beneath(&self.folder, at) {
                clear(&inside, b"__pycache__")?;
            }
            if unlinkat(&above, split(at).1, AtFlags::REMOVEDIR).is_err() {
                break;
            }
            at = split(at).0;
        }
        Ok(())
    }

    /// The folder of a name, made where it is not there. What is there instead of a folder goes.
    fn above(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let mut folder = folder_beneath(&self.folder, b"")?;
        for name in split(path).0.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            if is_other_than_folder(&folder, name)? {
                unlinkat(&folder, name, AtFlags::empty())?;
            }
            match mkdirat(&folder, name, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            folder = folder_beneath(&folder, name)?;
        }
        Ok(folder)
    }
}

fn is_other_than_folder(folder: &OwnedFd, name: &[u8]) -> io::Result<bool> {
    match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(stat.st_mode & 0o170_000 != 0o040_000),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Removes whatever has this name.
fn clear(folder: &OwnedFd, name: &[u8]) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(Errno::ISDIR) => remove_folder(std::os::fd::AsFd::as_fd(folder), name),
        Err(error) => Err(error.into()),
    }
}
