//! Trees planted into an empty folder: from another tree, name by name, with contents shared where the file system
//! can.
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, futimens, linkat, mkdirat, openat, symlinkat,
};

use crate::checkpoint::btrfs::content::{fill, id_of, open_file};
use crate::checkpoint::{Checkpoint, Found, Id, KeptWhat, Rules, What, scan};
use crate::workspace::clear::{open_below, open_inside};

/// Everything, whatever is ignored.
fn everything() -> Rules {
    Rules::new(true, &[], true)
}

/// Plants all of one folder, but a `.git` at its top, into an empty one. Times are kept. `is_wanted` picks the names.
pub(super) fn plant(from: &OwnedFd, to: &OwnedFd, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    let seen = scan(from, &everything(), &[])?;
    if let Some((path, why)) = seen.unreadable.iter().find(|(path, _)| is_wanted(path)) {
        return Err(io::Error::other(format!("{}: {why}", loop_core::text::escape_path(path))));
    }
    let mut planting = Planting::new(from, to);
    for found in seen.found.iter().filter(|found| is_wanted(&found.path)) {
        planting.name(found)?;
    }
    planting.close()
}

/// Plants what the rules of a workspace leave out, such as build folders, beside the files of a checkpoint. Files that
/// are the same in both get the workspace's times, so that build tools see what is up to date and what is not.
pub(super) fn plant_ignored(from: &OwnedFd, to: &OwnedFd, rules: &Rules, checkpoint: &Checkpoint) -> io::Result<()> {
    let in_scope: BTreeSet<Vec<u8>> = scan(from, rules, &[])?.found.into_iter().map(|found| found.path).collect();
    let mut planting = Planting::new(from, to);
    let mut folders: BTreeSet<Vec<u8>> = BTreeSet::from([Vec::new()]);
    let is_folder = |what: &KeptWhat| *what == KeptWhat::Folder;
    folders.extend(checkpoint.names.iter().filter(|(_, kept)| is_folder(&kept.what)).map(|(path, _)| path.clone()));
    for found in scan(from, &everything(), &[])?.found {
        match checkpoint.names.get(&found.path).map(|kept| &kept.what) {
            Some(KeptWhat::File(id)) if found.what == What::File => planting.same_time(&found, *id)?,
            Some(_) => {}
            // What is new since the checkpoint is no part of it, nor is what lies in a new folder.
            None if in_scope.contains(&found.path) || !folders.contains(above(&found.path)) => {}
            None => {
                planting.name(&found)?;
                if found.what == What::Folder {
                    folders.insert(found.path);
                }
            }
        }
    }
    planting.close()
}

/// Plants the repository of a workspace, if it is a folder: one that is only pointed to is somebody else's.
pub(super) fn plant_repository(from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
    let Ok(inside) = open_inside(from.as_fd(), b".git") else { return Ok(()) };
    mkdirat(to, ".git", Mode::from_raw_mode(rustix::fs::fstat(&inside)?.st_mode & 0o7777))?;
    plant(&inside, &open_inside(to.as_fd(), b".git")?, |_| true)
}

struct Planting<'a> {
    from: &'a OwnedFd,
    to: &'a OwnedFd,
    /// The folder that was planted into last, and its path.
    last: Option<(Vec<u8>, OwnedFd)>,
    /// The first name of a file that has several.
    first: HashMap<u64, Vec<u8>>,
    /// Permissions that folders get in the end, when nothing has to be put into them any more.
    modes: Vec<(Vec<u8>, u32)>,
}

impl<'a> Planting<'a> {
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

    fn name(&mut self, found: &Found) -> io::Result<()> {
        let name = last(&found.path);
        match &found.what {
            What::Folder => {
                mkdirat(self.folder(above(&found.path))?, name, Mode::RWXU)?;
                self.modes.push((found.path.clone(), found.mode));
            }
            What::Link(leads) => symlinkat(leads.as_slice(), self.folder(above(&found.path))?, name)?,
            What::File => self.file(found, name)?,
        }
        Ok(())
    }

    fn file(&mut self, found: &Found, name: &[u8]) -> io::Result<()> {
        if found.stamp.names > 1 {
            if let Some(first) = self.first.get(&found.stamp.inode) {
                let from = open_below(self.to.as_fd(), above(first))?;
                let first = last(first).to_vec();
                return linkat(from, first, self.folder(above(&found.path))?, name, AtFlags::empty())
                    .map_err(Into::into);
            }
            self.first.insert(found.stamp.inode, found.path.clone());
        }
        let from = open_file(self.from, &found.path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = self.folder(above(&found.path))?;
        let to = File::from(openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
        fill(&from, &to)?;
        fchmod(&to, Mode::from_raw_mode(found.mode))?;
        set_time(&to, found.stamp.modified)
    }

    /// A file of the checkpoint that is the same in the workspace has its time too.
    fn same_time(&mut self, found: &Found, id: Id) -> io::Result<()> {
        // One that cannot be read counts as changed, which costs a build and no more.
        if !open_file(self.from, &found.path).and_then(|file| id_of(&file)).is_ok_and(|same| same == id) {
            return Ok(());
        }
        let folder = self.folder(above(&found.path))?;
        set_time(&open_file(folder, last(&found.path))?, found.stamp.modified)
    }

    fn close(self) -> io::Result<()> {
        for (path, mode) in self.modes.iter().rev() {
            fchmod(open_below(self.to.as_fd(), path)?, Mode::from_raw_mode(*mode))?;
        }
        Ok(())
    }
}

fn set_time(file: &File, nanos: i128) -> io::Result<()> {
    let second = 1_000_000_000;
    let seconds = i64::try_from(nanos.div_euclid(second)).unwrap_or_default();
    let rest = i64::try_from(nanos.rem_euclid(second)).unwrap_or_default();
    let untouched = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let times = Timestamps { last_access: untouched, last_modification: Timespec { tv_sec: seconds, tv_nsec: rest } };
    futimens(file, &times).map_err(Into::into)
}

fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |slash| path.get(..slash).unwrap_or_default())
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}
