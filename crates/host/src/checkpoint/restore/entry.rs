//! One name of the workspace that is replaced or removed. It is inspected right before and right after. What is not
//! as expected is moved aside and not removed.
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, openat, renameat, renameat_with, statat, unlinkat};
use rustix::io::Errno;

use crate::checkpoint::git::object::{Id, ObjectKind};
use crate::checkpoint::git::pack_write::hashed;
use crate::checkpoint::scan::cache::{CacheEntry, EntryKind, EntryState, Stamp};

/// How the name of a file begins that is being made.
const PART: &[u8] = b".loop-part-";
/// The longest name that file systems take.
const NAME_MAX: usize = 255;
/// How often another process may interfere.
const TURNS_MAX: u32 = 8;

/// Whether a name is one of a file that was being made.
pub(in crate::checkpoint) fn is_part(name: &[u8]) -> bool {
    name.starts_with(PART)
}

pub(crate) fn part_name() -> io::Result<Vec<u8>> {
    Ok([PART, crate::fs::fresh_id()?.to_string().as_bytes()].concat())
}

/// A new file in the same folder.
pub(crate) fn new_part(folder: &OwnedFd) -> io::Result<(Vec<u8>, File)> {
    let name = part_name()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name.as_slice(), flags, Mode::from_raw_mode(0o600))?;
    Ok((name, File::from(file)))
}

pub(in crate::checkpoint) fn is_folder(folder: &OwnedFd, name: &[u8]) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o040_000)
}

/// Sets permissions of a file or folder. A link that came there meanwhile is not followed.
pub(crate) fn set_mode(folder: &OwnedFd, name: &[u8], mode: u32) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(folder, name, flags, Mode::empty())?;
    if rustix::fs::fstat(&handle)?.st_mode & 0o170_000 == 0o120_000 {
        return Ok(());
    }
    // The kernel changes permissions by such a handle only through its name here.
    let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
    rustix::fs::chmod(path, Mode::from_raw_mode(mode)).map_err(Into::into)
}

/// Moves whatever has this name aside; its new name.
pub(crate) fn put_aside(folder: &OwnedFd, name: &[u8]) -> io::Result<Vec<u8>> {
    TargetName { folder, name, entry: None }.put_aside(name)
}

/// What was there before.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::checkpoint) enum Was {
    /// Nothing.
    Nothing,
    /// What the checkpoint taken just before holds: it is gone.
    Removed,
    /// Something that was changed since: it is there now.
    ChangedSince(Vec<u8>),
    /// Something that is not ours: it is there now.
    Aside(Vec<u8>),
}

/// A name in a folder, and what is known of it.
pub(in crate::checkpoint) struct TargetName<'a> {
    pub(in crate::checkpoint) folder: &'a OwnedFd,
    pub(in crate::checkpoint) name: &'a [u8],
    pub(in crate::checkpoint) entry: Option<&'a CacheEntry>,
}

impl TargetName<'_> {
    fn stat(&self, name: &[u8]) -> io::Result<Option<(u32, Stamp)>> {
        match statat(self.folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some((stat.st_mode, Stamp::of(&stat)))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether it is what the checkpoint taken just before holds, with no more names than that.
    pub(in crate::checkpoint) fn is_unchanged(&self, names: u32) -> bool {
        let stat = self.stat(self.name).ok().flatten();
        stat.is_some_and(|(_, stamp)| stamp.names <= names && self.is_known(&stamp))
    }

    fn is_known(&self, stamp: &Stamp) -> bool {
        let Some(entry) = self.entry.filter(|entry| entry.kind != EntryKind::Folder) else { return false };
        // Another name of it may have gone meanwhile, which is no change of what is in it.
        let same = Stamp { names: entry.stamp.names, changed: entry.stamp.changed, ..*stamp } == entry.stamp;
        let untouched = stamp.changed == entry.stamp.changed || stamp.names != entry.stamp.names;
        same && (untouched && entry.state == EntryState::Sure || self.has_content(entry))
    }

    /// Whether a file still has the recorded content: for files that were read within a clock tick of their change.
    fn has_content(&self, entry: &CacheEntry) -> bool {
        if entry.kind == EntryKind::Link {
            let leads = rustix::fs::readlinkat(self.folder, self.name, Vec::new());
            return leads.is_ok_and(|leads| Id::of(ObjectKind::Blob, leads.as_bytes()) == entry.id);
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = openat(self.folder, self.name, flags, Mode::empty()) else { return false };
        hashed(ObjectKind::Blob, entry.stamp.size, &mut File::from(file), &mut io::sink())
            .is_ok_and(|id| id == entry.id)
    }

    /// A name beside it for what goes aside.
    fn aside(&self) -> io::Result<Vec<u8>> {
        let end = format!(".kept-{}", crate::fs::fresh_id()?);
        let most = NAME_MAX.saturating_sub(end.len()).min(self.name.len());
        Ok([&self.name[..most], end.as_bytes()].concat())
    }

    /// Moves whatever is there aside.
    fn put_aside(&self, from: &[u8]) -> io::Result<Vec<u8>> {
        let aside = self.aside()?;
        renameat_with(self.folder, from, self.folder, aside.as_slice(), RenameFlags::NOREPLACE)
            .or_else(|error| match error {
                // A file system without RENAME_NOREPLACE: the name is random.
                Errno::INVAL | Errno::NOSYS => renameat(self.folder, from, self.folder, aside.as_slice()),
                error => Err(error),
            })
            .map_err(io::Error::from)?;
        Ok(aside)
    }

    /// Removes what is there if it is what we know; else it goes aside.
    pub(in crate::checkpoint) fn take_out(&self) -> io::Result<Was> {
        let Some((mode, stamp)) = self.stat(self.name)? else { return Ok(Was::Nothing) };
        if mode & 0o170_000 == 0o040_000 || !self.is_known(&stamp) {
            return Ok(Was::ChangedSince(self.put_aside(self.name)?));
        }
        let part = part_name()?;
        match renameat(self.folder, self.name, self.folder, part.as_slice()) {
            Ok(()) => self.drop_part(&part, &stamp),
            Err(Errno::NOENT) => Ok(Was::Nothing),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes what was moved aside, unless it changed meanwhile.
    fn drop_part(&self, part: &[u8], known: &Stamp) -> io::Result<Was> {
        // Renaming changed the change time too: it does not count.
        let same = self.stat(part)?.is_some_and(|(mode, now)| {
            mode & 0o170_000 != 0o040_000 && Stamp { changed: known.changed, names: known.names, ..now } == *known
        });
        if !same {
            return Ok(Was::ChangedSince(self.put_aside(part)?));
        }
        unlinkat(self.folder, part, AtFlags::empty())?;
        Ok(Was::Removed)
    }

    /// Makes room for a folder.
    pub(in crate::checkpoint) fn make_room(&self) -> io::Result<Was> {
        match self.stat(self.name)? {
            None => Ok(Was::Nothing),
            Some((_, stamp)) if self.is_known(&stamp) => self.take_out(),
            Some(_) => Ok(Was::Aside(self.put_aside(self.name)?)),
        }
    }

    /// Renames the new file to its final name.
    pub(in crate::checkpoint) fn move_in(&self, part: &[u8]) -> io::Result<Was> {
        let moved = self.try_move_in(part);
        if moved.is_err() {
            unlinkat(self.folder, part, AtFlags::empty()).ok();
        }
        moved
    }

    fn try_move_in(&self, part: &[u8]) -> io::Result<Was> {
        for _ in 0..TURNS_MAX {
            let Some((mode, stamp)) = self.stat(self.name)? else {
                match renameat_with(self.folder, part, self.folder, self.name, RenameFlags::NOREPLACE) {
                    Ok(()) => return Ok(Was::Nothing),
                    // Another process was faster.
                    Err(Errno::EXIST) => continue,
                    Err(Errno::INVAL | Errno::NOSYS) => {
                        renameat(self.folder, part, self.folder, self.name)?;
                        return Ok(Was::Nothing);
                    }
                    Err(error) => return Err(error.into()),
                }
            };
            let is_folder = mode & 0o170_000 == 0o040_000;
            if is_folder || !self.is_known(&stamp) {
                let aside = self.put_aside(self.name)?;
                renameat(self.folder, part, self.folder, self.name)?;
                let is_ours = self.entry.is_some_and(|entry| (entry.kind == EntryKind::Folder) == is_folder);
                return Ok(if is_ours && !is_folder { Was::ChangedSince(aside) } else { Was::Aside(aside) });
            }
            match renameat_with(self.folder, part, self.folder, self.name, RenameFlags::EXCHANGE) {
                Ok(()) => return self.drop_part(part, &stamp),
                Err(Errno::NOENT) => {}
                Err(Errno::INVAL | Errno::NOSYS) => {
                    renameat(self.folder, part, self.folder, self.name)?;
                    return Ok(Was::Removed);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other("another process replaces it again and again"))
    }
}
