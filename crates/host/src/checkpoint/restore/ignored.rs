//! Restoring small ignored files, such as `.env`. Missing and changed ones are written. Others that are there stay: a
//! rollback never removes an ignored file.
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, fchmod, mkdirat, renameat, statat, symlinkat, unlinkat};

use super::entry::{new_part, part_name, put_aside, set_mode};
use super::paths::Paths;
use super::unsynced::Unsynced;
use crate::checkpoint::git::between::TreeSide;
use crate::checkpoint::git::object::{Id, ObjectKind};
use crate::checkpoint::git::pack_write::hashed;
use crate::checkpoint::git::store::{Store, StoredEntry, StoredKind};
use crate::fs::handle::{folder_beneath, joined, open_file, split};

/// What became of ignored files.
#[derive(Debug, Default)]
pub(in crate::checkpoint) struct IgnoredRestored {
    /// Files that were written, or would be.
    pub(in crate::checkpoint) written: Vec<Vec<u8>>,
    /// Where something was moved that no checkpoint holds.
    pub(in crate::checkpoint) aside: Vec<Vec<u8>>,
    /// What was there then, is missing now, and no checkpoint holds.
    pub(in crate::checkpoint) missing: Vec<Vec<u8>>,
    /// What was not there then and is there now: a rollback never removes an ignored file.
    pub(in crate::checkpoint) stays: Vec<Vec<u8>>,
    /// What could not be written, and why. A rollback is done without it.
    pub(in crate::checkpoint) failed: Vec<(Vec<u8>, String)>,
}

/// Compares the ignored files of a checkpoint with the workspace.
pub(in crate::checkpoint) fn differing_ignored(
    store: &Store,
    workspace: &OwnedFd,
    target: Id,
    paths: &Paths,
) -> io::Result<IgnoredRestored> {
    let Some(then) = store.ignored(&target)? else { return Ok(IgnoredRestored::default()) };
    let mut found = IgnoredRestored::default();
    for (path, entry) in then.names.iter().filter(|(path, _)| paths.has(path)) {
        if entry.what != StoredKind::Folder && !is_same(workspace, path, entry) {
            found.written.push(path.clone());
        }
    }
    let is_missing = |path: &&Vec<u8>| stat_of(workspace, path).is_none() && paths.has(path);
    found.missing = then.manifest.left_out.iter().map(|(path, _)| path).filter(is_missing).cloned().collect();
    Ok(found)
}

/// Writes the ignored files of a checkpoint that are missing or differ. `before` is the checkpoint taken just before.
pub(in crate::checkpoint) fn restore_ignored(
    store: &Store,
    workspace: &OwnedFd,
    before: Id,
    target: Id,
    paths: &Paths,
) -> io::Result<IgnoredRestored> {
    let mut found = differing_ignored(store, workspace, target, paths)?;
    let now = store.ignored(&before)?.map(|part| part.names).unwrap_or_default();
    let then = store.ignored(&target)?;
    let was_there = |path: &Vec<u8>| {
        let held = then.as_ref().is_some_and(|then| then.names.contains_key(path));
        held || then.as_ref().is_some_and(|then| then.manifest.left_out.iter().any(|(left, _)| left == path))
    };
    let is_new = |(path, entry): &(&Vec<u8>, &StoredEntry)| {
        entry.what != StoredKind::Folder && paths.has(path) && !was_there(path)
    };
    found.stays = now.iter().filter(is_new).map(|(path, _)| path.clone()).collect();
    let Some(then) = then.filter(|_| !found.written.is_empty()) else { return Ok(found) };
    let parts = store.parts(&before)?;
    let manifest = store.manifest(&parts)?;
    let side = TreeSide::new(parts, &manifest);
    let mut restoring =
        Restoring { store, workspace, then: &then.names, aside: Vec::new(), unsynced: Unsynced::default() };
    let mut written = Vec::new();
    for path in found.written {
        // What is there is in the checkpoint of now, unless it is too long, or was changed since.
        let recorded = now.get(&path).cloned().or(side.find(store, &path)?);
        match restoring.file(&path, recorded.as_ref()) {
            Ok(()) => written.push(path),
            Err(error) => found.failed.push((path, error.to_string())),
        }
    }
    found.written = written;
    found.aside.append(&mut restoring.aside);
    restoring.unsynced.sync(workspace)?;
    Ok(found)
}

/// Ignored files as they are written.
struct Restoring<'a> {
    store: &'a Store,
    workspace: &'a OwnedFd,
    /// All names of the ignored files of then.
    then: &'a BTreeMap<Vec<u8>, StoredEntry>,
    aside: Vec<Vec<u8>>,
    unsynced: Unsynced,
}

impl Restoring<'_> {
    /// Writes one file or link. `recorded` is what the checkpoint of now has in its place.
    fn file(&mut self, path: &[u8], recorded: Option<&StoredEntry>) -> io::Result<()> {
        let Some(entry) = self.then.get(path) else { return Ok(()) };
        self.make_folders(path)?;
        let (above, name) = split(path);
        let folder = folder_beneath(self.workspace, above)?;
        let is_recorded = recorded.is_some_and(|recorded| is_same(self.workspace, path, recorded));
        if stat_of(self.workspace, path).is_some() && !is_recorded {
            self.aside.push(joined(above, &put_aside(&folder, name)?));
        }
        if let Some(file) = write(self.store, &folder, name, entry)? {
            self.unsynced.file(file);
        }
        self.unsynced.folder(above, || folder.try_clone());
        Ok(())
    }

    /// The folders above a path that are missing, with their permissions of then. A file or a link in the place of a
    /// folder goes aside.
    fn make_folders(&mut self, path: &[u8]) -> io::Result<()> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
        for end in ends {
            let part = &path[..end];
            let (above, name) = split(part);
            let folder = folder_beneath(self.workspace, above)?;
            match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => continue,
                Ok(_) => self.aside.push(joined(above, &put_aside(&folder, name)?)),
                Err(_) => {}
            }
            mkdirat(&folder, name, Mode::from_raw_mode(0o755))?;
            if let Some(entry) = self.then.get(part) {
                set_mode(&folder, name, entry.mode | 0o700)?;
            }
        }
        Ok(())
    }
}

/// Writes a file or link; gives the file, which is not synced yet.
fn write(store: &Store, folder: &OwnedFd, name: &[u8], entry: &StoredEntry) -> io::Result<Option<File>> {
    let (part, file) = match &entry.what {
        StoredKind::Folder => return Ok(None),
        StoredKind::Link(leads) => {
            let part = part_name()?;
            symlinkat(leads.as_slice(), folder, part.as_slice())?;
            (part, None)
        }
        StoredKind::File(id) => {
            let (part, mut file) = new_part(folder)?;
            let written = store.copy(id, &mut file).and_then(|_| Ok(fchmod(&file, Mode::from_raw_mode(entry.mode))?));
            if let Err(error) = written {
                unlinkat(folder, part.as_slice(), AtFlags::empty()).ok();
                return Err(error);
            }
            (part, Some(file))
        }
    };
    renameat(folder, part.as_slice(), folder, name)?;
    Ok(file)
}

fn stat_of(workspace: &OwnedFd, path: &[u8]) -> Option<rustix::fs::Stat> {
    let (above, name) = split(path);
    let folder = folder_beneath(workspace, above).ok()?;
    statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

/// Whether a path is what was recorded of it: kind, permissions and content.
fn is_same(workspace: &OwnedFd, path: &[u8], entry: &StoredEntry) -> bool {
    let Some(stat) = stat_of(workspace, path) else { return false };
    let (above, name) = split(path);
    let Ok(folder) = folder_beneath(workspace, above) else { return false };
    match (&entry.what, FileType::from_raw_mode(stat.st_mode)) {
        (StoredKind::File(id), FileType::RegularFile) if stat.st_mode & 0o7777 == entry.mode => {
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            let hash = |mut file: File| hashed(ObjectKind::Blob, size, &mut file, &mut io::sink());
            open_file(&folder, name).and_then(hash).is_ok_and(|found| found == *id)
        }
        (StoredKind::Link(leads), FileType::Symlink) => {
            rustix::fs::readlinkat(&folder, name, Vec::new()).is_ok_and(|found| found.as_bytes() == leads.as_slice())
        }
        (StoredKind::File(_) | StoredKind::Link(_) | StoredKind::Folder, _) => false,
    }
}
