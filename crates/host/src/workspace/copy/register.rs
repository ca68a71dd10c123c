//! The owners of copies: a folder for each, with a lock that is free when the owner is dead, and a mark that shows
//! that the folder is ours.
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat2, renameat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::overlay::unmount_all;
use crate::fs::clear::remove_folder;
use crate::fs::handle::{WITHIN, open_folder, open_inside};
use crate::fs::walk::names_in;

const LOCK: &str = "lock";
const MARK: &str = "mark";
/// A mark in progress.
const MARK_NEW: &str = ".mark";
/// The number of this form.
const FORM: u32 = 1;
/// A mark is not longer.
const MARK_BYTES_MAX: u64 = 4096;

/// What makes a folder ours. The number of the folder is in it, so that a copy of it is none.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    form: u32,
    copies_of: String,
    inode: u64,
}

/// The folder of an owner, locked for as long as this is held.
#[derive(Debug)]
pub(super) struct Owned {
    pub(super) folder: OwnedFd,
    _lock: File,
}

/// What a sweep did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Owners whose copies were removed.
    pub removed: Vec<String>,
    /// Owners that live.
    pub living: Vec<String>,
    /// Owners whose copies could not all be removed, and why.
    pub failed: Vec<(String, String)>,
}

/// A name of ours; none that leads anywhere else.
pub(super) fn checked(name: &str) -> io::Result<&[u8]> {
    let odd = name.is_empty() || name.len() > 200 || name.starts_with('.') || name.contains(['/', '\0']);
    if odd {
        Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not a valid name of a copy")))
    } else {
        Ok(name.as_bytes())
    }
}

/// Takes the folder of an owner, or makes it.
pub(super) fn own(folder: &Path, owner: &str) -> io::Result<Owned> {
    let all = open_folder(folder)?;
    let name = checked(owner)?;
    match mkdirat(&all, name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let own = open_inside(all.as_fd(), name)?;
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let lock = File::from(openat2(&own, LOCK, flags, Mode::RUSR | Mode::WUSR, WITHIN)?);
    if !locked(&lock)? {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, format!("the copies of {owner} are in use")));
    }
    // A sweep may have removed it in between.
    if fstat(&lock)?.st_nlink == 0 {
        return Err(io::Error::new(io::ErrorKind::WouldBlock, format!("the copies of {owner} are being removed")));
    }
    match mark_of(&own) {
        Some(mark) if mark.copies_of == owner => {}
        Some(_) | None if !only_begun(&own)? => {
            return Err(io::Error::other(format!("{} holds no copies of ours", folder.join(owner).display())));
        }
        Some(_) | None => write_mark(&own, owner)?,
    }
    Ok(Owned { folder: own, _lock: lock })
}

fn locked(lock: &File) -> io::Result<bool> {
    match flock(lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn mark_of(own: &OwnedFd) -> Option<Mark> {
    let file = crate::fs::handle::open_file(own, MARK.as_bytes()).ok()?;
    let mut bytes = Vec::new();
    file.take(MARK_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let mark: Mark = serde_json::from_slice(&bytes).ok()?;
    let stat = fstat(own).ok()?;
    let ours = stat.st_uid == rustix::process::geteuid().as_raw();
    (mark.form == FORM && mark.inode == stat.st_ino && ours).then_some(mark)
}

fn write_mark(own: &OwnedFd, owner: &str) -> io::Result<()> {
    let mark = Mark { form: FORM, copies_of: owner.to_owned(), inode: fstat(own)?.st_ino };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat2(own, MARK_NEW, flags, Mode::RUSR | Mode::WUSR, WITHIN)?);
    file.write_all(&serde_json::to_vec(&mark)?)?;
    renameat(own, MARK_NEW, own, MARK).map_err(Into::into)
}

/// Whether a folder was only begun: then it has no mark, and nothing is lost with it.
fn only_begun(own: &OwnedFd) -> io::Result<bool> {
    Ok(names(own)?.iter().all(|name| name == LOCK.as_bytes() || name == MARK_NEW.as_bytes()))
}

/// The names in one folder, sorted.
pub(super) fn names(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = names_in(folder)?;
    names.sort_unstable();
    Ok(names)
}

impl Owned {
    /// Removes the owner's folder with all copies. The mark goes last but one, so that a removal that is cut off is
    /// finished by the next sweep.
    pub(super) fn remove(&self, folder: &Path, owner: &str) -> io::Result<()> {
        unmount_all(&self.folder)?;
        for name in names(&self.folder)? {
            let stays = [LOCK.as_bytes(), MARK.as_bytes()].contains(&name.as_slice());
            if stays {
                continue;
            }
            let stat = statat(&self.folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW)?;
            if stat.st_mode & 0o170_000 == 0o040_000 {
                remove_folder(self.folder.as_fd(), &name)?;
            } else {
                unlinkat(&self.folder, name.as_slice(), AtFlags::empty())?;
            }
        }
        for name in [MARK, LOCK] {
            match unlinkat(&self.folder, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        unlinkat(open_folder(folder)?, checked(owner)?, AtFlags::REMOVEDIR).map_err(Into::into)
    }
}

/// Removes the copies of all owners that are dead. What is not marked as ours is not touched.
///
/// # Errors
/// When the folder cannot be read. That it is not there is none: then there are no copies.
pub fn sweep(folder: &Path) -> io::Result<Swept> {
    sweep_some(folder, &|_| true)
}

/// The same of some owners only.
///
/// # Errors
/// When the folder cannot be read.
pub fn sweep_some(folder: &Path, is_wanted: &dyn Fn(&str) -> bool) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let all = match open_folder(folder) {
        Ok(all) => all,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(swept),
        Err(error) => return Err(error),
    };
    for name in names(&all)? {
        let Some(owner) = String::from_utf8(name).ok().filter(|name| checked(name).is_ok()) else { continue };
        if !is_wanted(&owner) {
            continue;
        }
        let Ok(own) = open_inside(all.as_fd(), owner.as_bytes()) else { continue };
        let Ok(file) = crate::fs::handle::open_file(&own, LOCK.as_bytes()) else { continue };
        if mark_of(&own).is_none_or(|mark| mark.copies_of != owner) && !only_begun(&own)? {
            continue;
        }
        if !locked(&file)? {
            swept.living.push(owner);
            continue;
        }
        match (Owned { folder: own, _lock: file }).remove(folder, &owner) {
            Ok(()) => swept.removed.push(owner),
            Err(error) => swept.failed.push((owner, error.to_string())),
        }
    }
    Ok(swept)
}
