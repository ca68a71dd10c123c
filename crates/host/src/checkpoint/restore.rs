//! Going back: the workspace is made what a checkpoint says, name by name, in place. What the checkpoint taken
//! just before does not hold is never removed.
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, chmodat, linkat, mkdirat, openat, openat2, renameat, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::scan::{Seen, What};
use super::store::{Checkpoint, Kept, KeptWhat, Store, split};

/// What going back did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Names that were written.
    pub written: u64,
    /// Names that were removed.
    pub removed: u64,
    /// What stood in the way and is not ours to remove: it was moved there.
    pub moved_aside: Vec<(Vec<u8>, Vec<u8>)>,
}

/// Makes the workspace what `target` says. `before` is the checkpoint of what is there now, `seen` the look that it
/// was made from.
///
/// # Errors
/// When something cannot be read or written. Then some names are as they were and some as they shall be; doing it
/// again goes on.
pub fn restore(
    store: &Store,
    workspace: &OwnedFd,
    target: &Checkpoint,
    before: &Checkpoint,
    seen: &Seen,
) -> io::Result<Restored> {
    let mut work = Work { store, workspace, restored: Restored::default(), opened: Vec::new() };
    work.remove(target, before, seen)?;
    for (path, kept) in &target.names {
        work.put(path, kept, before.names.get(path))?;
    }
    work.link(target)?;
    work.close(target)?;
    Ok(work.restored)
}

struct Work<'a> {
    store: &'a Store,
    workspace: &'a OwnedFd,
    restored: Restored,
    /// Folders that were made writable for the time being.
    opened: Vec<Vec<u8>>,
}

impl Work<'_> {
    /// A folder of the workspace by its path: by no link and never outside of it.
    fn folder(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if path.is_empty() {
            return openat(self.workspace, ".", flags, Mode::empty()).map_err(Into::into);
        }
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(self.workspace, path, flags, Mode::empty(), resolve).map_err(Into::into)
    }

    /// Removes what is there now and was not there then, the deepest first. Only what the checkpoint of now holds.
    fn remove(&mut self, target: &Checkpoint, before: &Checkpoint, seen: &Seen) -> io::Result<()> {
        let held: BTreeMap<&[u8], &What> =
            seen.found.iter().map(|found| (found.path.as_slice(), &found.what)).collect();
        for (path, kept) in before.names.iter().rev() {
            let same_kind = |other: &Kept| std::mem::discriminant(&other.what) == std::mem::discriminant(&kept.what);
            let stays = target.names.get(path).is_some_and(same_kind);
            if stays || !held.contains_key(path.as_slice()) {
                continue;
            }
            self.unlock(path, before)?;
            let (folder, name) = split(path);
            let folder = self.folder(folder)?;
            let is_folder = kept.what == KeptWhat::Folder;
            let flags = if is_folder { AtFlags::REMOVEDIR } else { AtFlags::empty() };
            match unlinkat(&folder, name, flags) {
                Ok(()) => self.restored.removed += 1,
                // Something in it is not ours to remove.
                Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// A folder that does not let us in is opened; at the end all have the permissions they shall have.
    fn unlock(&mut self, path: &[u8], now: &Checkpoint) -> io::Result<()> {
        let mut above = Vec::new();
        for part in split(path).0.split(|byte| *byte == b'/').filter(|part| !part.is_empty()) {
            above = super::scan::joined(&above, part);
            let closed = now.names.get(&above).is_some_and(|kept| kept.mode & 0o700 != 0o700);
            if closed && !self.opened.contains(&above) {
                let (folder, name) = split(&above);
                let folder = self.folder(folder)?;
                // A link there would be none of ours: the mode of what it leads to is not touched.
                let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
                if stat.st_mode & 0o170_000 == 0o040_000 {
                    chmodat(&folder, name, Mode::from_raw_mode(stat.st_mode & 0o7777 | 0o700), AtFlags::empty())?;
                }
                self.opened.push(above.clone());
            }
        }
        Ok(())
    }

    fn put(&mut self, path: &[u8], kept: &Kept, now: Option<&Kept>) -> io::Result<()> {
        if now == Some(kept) {
            return Ok(());
        }
        let (above, name) = split(path);
        let folder = self.folder(above)?;
        match &kept.what {
            KeptWhat::Folder => self.put_folder(&folder, path, name, kept.mode)?,
            KeptWhat::File(id) => {
                let same = now.is_some_and(|now| now.what == kept.what);
                if same {
                    chmodat(&folder, name, Mode::from_raw_mode(kept.mode), AtFlags::empty())?;
                } else {
                    self.clear(&folder, path, name)?;
                    let id = *id;
                    let store = self.store;
                    beside(&folder, name, |file| store.copy(&id, file).map(drop), kept.mode)?;
                }
            }
            KeptWhat::Link(leads) => {
                self.clear(&folder, path, name)?;
                let new = fresh_name()?;
                symlinkat(leads.as_slice(), &folder, new.as_slice())?;
                renameat(&folder, new.as_slice(), &folder, name)?;
            }
        }
        self.restored.written += 1;
        Ok(())
    }

    fn put_folder(&mut self, above: &OwnedFd, path: &[u8], name: &[u8], mode: u32) -> io::Result<()> {
        let now = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
        let is_folder = now.as_ref().is_ok_and(|stat| stat.st_mode & 0o170_000 == 0o040_000);
        if !is_folder {
            self.clear(above, path, name)?;
            mkdirat(above, name, Mode::from_raw_mode(0o700))?;
        } else if now.is_ok_and(|stat| stat.st_mode & 0o700 != 0o700) {
            chmodat(above, name, Mode::from_raw_mode(mode | 0o700), AtFlags::empty())?;
        }
        self.opened.push(path.to_vec());
        Ok(())
    }

    /// A folder that could not be removed, because of what is in it, makes room by going aside.
    fn clear(&mut self, folder: &OwnedFd, path: &[u8], name: &[u8]) -> io::Result<()> {
        let Ok(stat) = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) else { return Ok(()) };
        if stat.st_mode & 0o170_000 != 0o040_000 {
            return Ok(());
        }
        let aside = [name, b".kept-", &fresh_name()?[..]].concat();
        renameat(folder, name, folder, aside.as_slice())?;
        let (above, _) = split(path);
        self.restored.moved_aside.push((path.to_vec(), super::scan::joined(above, &aside)));
        Ok(())
    }

    /// Names that were one file are one again.
    fn link(&mut self, target: &Checkpoint) -> io::Result<()> {
        for names in &target.manifest.same {
            let Some((first, others)) = names.split_first() else { continue };
            let (above, name) = split(first);
            let from = self.folder(above)?;
            let inode = statat(&from, name, AtFlags::SYMLINK_NOFOLLOW)?.st_ino;
            for other in others {
                let (above, other) = split(other);
                let to = self.folder(above)?;
                if statat(&to, other, AtFlags::SYMLINK_NOFOLLOW)?.st_ino != inode {
                    let new = fresh_name()?;
                    linkat(&from, name, &to, new.as_slice(), AtFlags::empty())?;
                    renameat(&to, new.as_slice(), &to, other)?;
                }
            }
        }
        Ok(())
    }

    /// Every folder gets its permissions, the deepest first.
    fn close(&mut self, target: &Checkpoint) -> io::Result<()> {
        self.opened.sort();
        self.opened.dedup();
        for path in std::mem::take(&mut self.opened).iter().rev() {
            let Some(kept) = target.names.get(path).filter(|kept| kept.what == KeptWhat::Folder) else { continue };
            let (above, name) = split(path);
            chmodat(self.folder(above)?, name, Mode::from_raw_mode(kept.mode), AtFlags::empty())?;
        }
        Ok(())
    }
}

fn fresh_name() -> io::Result<Vec<u8>> {
    Ok(format!(".loop-{}", crate::runs::fresh_id()?).into_bytes())
}

/// Writes a file beside its place and moves it there, so that it is the old or the new one.
fn beside(
    folder: &OwnedFd,
    name: &[u8],
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    mode: u32,
) -> io::Result<()> {
    let new = fresh_name()?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, new.as_slice(), flags, Mode::from_raw_mode(0o600))?;
    let mut file = std::fs::File::from(file);
    let written = write(&mut file).and_then(|()| {
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        renameat(folder, new.as_slice(), folder, name)?;
        Ok(())
    });
    if written.is_err() {
        unlinkat(folder, new.as_slice(), AtFlags::empty()).ok();
    }
    written
}
