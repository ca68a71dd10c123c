//! Copying a tree into an empty folder, name by name, with contents shared where the file system can.
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, futimens, linkat, mkdirat, openat,
    readlinkat, symlinkat,
};
use rustix::io::Errno;

use crate::checkpoint::{Checkpoint, StoredKind};
use crate::fs::content::fill;
use crate::fs::handle::{open_below, open_file, open_inside};
use crate::fs::walk::{Name, NameKind, walk};

/// Copies the wanted names of a folder into an empty one, with their times.
pub(super) fn copy_tree(from: &OwnedFd, to: &OwnedFd, is_wanted: &dyn Fn(&[u8]) -> bool) -> io::Result<()> {
    let mut copying = TreeCopy::new(from, to);
    for name in walk(from, is_wanted)? {
        copying.name(&name)?;
    }
    copying.close()
}

/// Copies what is in a workspace but not in `now`, which is what it holds in scope: build folders and the like. Files
/// that are the same as in the checkpoint get the workspace's times, so that build tools see what is up to date and
/// what is not.
pub(super) fn copy_ignored(from: &OwnedFd, to: &OwnedFd, now: &Checkpoint, then: &Checkpoint) -> io::Result<()> {
    let mut copying = TreeCopy::new(from, to);
    let mut folders: BTreeSet<Vec<u8>> = BTreeSet::from([Vec::new()]);
    let then_folders = then.names.iter().filter(|(_, entry)| entry.what == StoredKind::Folder);
    folders.extend(then_folders.map(|(path, _)| path.clone()));
    for name in walk(from, &|path| path != b".git")? {
        let [now, then] = [now, then].map(|checkpoint| checkpoint.names.get(&name.path).map(|entry| &entry.what));
        if then.is_some() {
            if then == now && matches!(then, Some(StoredKind::File(_))) {
                copying.same_time(&name)?;
            }
        } else if now.is_none() && folders.contains(above(&name.path)) {
            // What is new since the checkpoint is no part of it, nor is what lies in a new folder.
            copying.name(&name)?;
            if name.kind == NameKind::Folder {
                folders.insert(name.path);
            }
        }
    }
    copying.close()
}

/// Copies the repository of a workspace if it is a folder: one that is only pointed to belongs to another folder.
pub(crate) fn copy_repository(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let Ok(inside) = open_inside(from.as_fd(), b".git") else { return Ok(()) };
    mkdirat(to, ".git", permissions(rustix::fs::fstat(&inside)?.st_mode))?;
    copy_tree(&inside, &open_inside(to.as_fd(), b".git")?, &|_| true)
}

/// A name that is to be copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SomeName<'a> {
    pub(crate) path: &'a [u8],
    pub(crate) stat: &'a Stat,
}

/// Copies some names of a folder into another one, each folder before what is in it. A name whose folder is not there is
/// left out, and so is what is gone by now.
pub(crate) fn copy_some<'a>(from: &OwnedFd, to: &OwnedFd, names: impl Iterator<Item = SomeName<'a>>) -> io::Result<()> {
    let mut copying = TreeCopy::new(from, to);
    for SomeName { path, stat } in names {
        match copying.some(path, stat) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    copying.close()
}

struct TreeCopy<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    /// The folder that was written to last, and its path.
    last: Option<(Vec<u8>, OwnedFd)>,
    /// The first name of a file that has several.
    first: HashMap<u64, Vec<u8>>,
    /// Permissions that folders get in the end, when nothing has to be put into them any more.
    modes: Vec<(Vec<u8>, u32)>,
}

impl<'a> TreeCopy<'a> {
    fn new(from: &'a OwnedFd, to: &'a OwnedFd) -> Self {
        Self { from, to, last: None, first: HashMap::new(), modes: Vec::new() }
    }

    fn folder(&mut self, path: &[u8]) -> io::Result<BorrowedFd<'_>> {
        let known = self.last.take_if(|(last, _)| last == path);
        let (path, folder) = match known {
            Some(known) => known,
            None => (path.to_vec(), open_below(self.to.as_fd(), path)?),
        };
        Ok(self.last.insert((path, folder)).1.as_fd())
    }

    fn name(&mut self, name: &Name) -> io::Result<()> {
        let path = name.path.as_slice();
        match &name.kind {
            NameKind::Folder => {
                mkdirat(self.folder(above(path))?, last(path), Mode::RWXU)?;
                self.modes.push((path.to_vec(), name.stat.st_mode));
            }
            NameKind::Link(leads) => symlinkat(leads.as_slice(), self.folder(above(path))?, last(path))?,
            NameKind::File => self.file(path, &name.stat)?,
            NameKind::Other => {}
        }
        Ok(())
    }

    /// One name, if it is what it was when it was listed. A folder may be there already.
    fn some(&mut self, path: &[u8], stat: &Stat) -> io::Result<()> {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => match mkdirat(self.folder(above(path))?, last(path), Mode::RWXU) {
                Ok(()) => self.modes.push((path.to_vec(), stat.st_mode)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            },
            FileType::Symlink => {
                let leads = readlinkat(open_below(self.from.as_fd(), above(path))?, last(path), Vec::new())?;
                symlinkat(leads.as_c_str(), self.folder(above(path))?, last(path))?;
            }
            FileType::RegularFile => self.file(path, stat)?,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => {}
        }
        Ok(())
    }

    fn file(&mut self, path: &[u8], stat: &Stat) -> io::Result<()> {
        if stat.st_nlink > 1 {
            if let Some(first) = self.first.get(&stat.st_ino) {
                let from = open_below(self.to.as_fd(), above(first))?;
                let first = last(first).to_vec();
                return linkat(from, first, self.folder(above(path))?, last(path), AtFlags::empty())
                    .map_err(Into::into);
            }
            self.first.insert(stat.st_ino, path.to_vec());
        }
        let from = open_file(self.from, path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = self.folder(above(path))?;
        let to = File::from(openat(folder, last(path), flags, Mode::RUSR | Mode::WUSR)?);
        fill(&from, &to)?;
        fchmod(&to, permissions(stat.st_mode))?;
        set_time(&to, stat)
    }

    /// A file of the checkpoint that is the same in the workspace has its time too.
    fn same_time(&mut self, name: &Name) -> io::Result<()> {
        let folder = self.folder(above(&name.path))?;
        set_time(&open_file(folder, last(&name.path))?, &name.stat)
    }

    fn close(self) -> io::Result<()> {
        for (path, mode) in self.modes.iter().rev() {
            fchmod(open_below(self.to.as_fd(), path)?, permissions(*mode))?;
        }
        Ok(())
    }
}

fn permissions(mode: u32) -> Mode {
    Mode::from_raw_mode(mode & 0o7777)
}

fn set_time(file: &File, stat: &Stat) -> io::Result<()> {
    let untouched = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let tv_nsec = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
    let times = Timestamps { last_access: untouched, last_modification: Timespec { tv_sec: stat.st_mtime, tv_nsec } };
    futimens(file, &times).map_err(Into::into)
}

pub(super) fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| path.get(..slash).unwrap_or_default())
}

pub(super) fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
