//! Restoring originals: each is written beside its path and renamed, by handles that no link can redirect. What was
//! there is copied to where the caller wants it, or moved aside.
use std::collections::BTreeMap;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use loop_core::text::{escape_path, unescape_path};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, Stat, Uid, fchmod, fchown, fstat, mkdirat, renameat, statat, symlinkat, unlinkat,
};
use rustix::io::Errno;

use super::inspect::of_name;
use super::record::{Original, OriginalKind};
use super::{FILE_BYTES_MAX, Originals, Tamper, TamperFound, opened};
use crate::checkpoint::{Unsynced, new_part, part_name, put_aside, set_mode};
use crate::fs::clear::unlocked;
use crate::fs::handle::{folder_beneath, joined, split};

/// What is needed to work in a folder.
const OPEN_MODE: u32 = 0o700;
/// Of a folder that nothing is known of.
const FOLDER_MODE: u32 = 0o755;

/// What was restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginalsRestored {
    /// Paths that are as they were.
    pub files: Vec<String>,
    /// What was there instead, and where it is now.
    pub aside: Vec<(String, String)>,
    /// Paths that could not be restored, and why.
    pub could_not: Vec<String>,
}

impl Originals {
    /// Restores the originals. What the agent made of them is copied below `versions` first, where that is given.
    ///
    /// # Errors
    /// When nothing can be done at all, or what was done is not safe on disk.
    pub fn restore(&mut self, found: &TamperFound, versions: Option<&Path>) -> io::Result<OriginalsRestored> {
        let mut work = Work {
            all: self,
            versions,
            done: OriginalsRestored::default(),
            opened: BTreeMap::new(),
            unsynced: Unsynced::default(),
        };
        for tampered in &found.changed {
            let path = unescape_path(&tampered.path);
            let Some(original) = work.all.record.files.get(&tampered.path).cloned() else { continue };
            match work.restore_one(&path, &original, &tampered.what) {
                Ok(()) => work.done.files.push(tampered.path.clone()),
                Err(error) => work.done.could_not.push(format!("{}: {error}", tampered.path)),
            }
        }
        work.close();
        let Work { mut done, unsynced, .. } = work;
        unsynced.sync(&self.workspace)?;
        let wrong = self.check(&done.files);
        done.files.retain(|path| !wrong.contains(path));
        done.could_not
            .extend(wrong.iter().map(|path| format!("{path}: it was restored but differs from the original")));
        self.write()?;
        Ok(done)
    }

    /// What was restored is inspected once more and known by new stamps from then on. Returns what is not as it was.
    fn check(&mut self, paths: &[String]) -> Vec<String> {
        let mut wrong = Vec::new();
        for path in paths {
            let bytes = unescape_path(path);
            let folder = folder_beneath(&self.workspace, split(&bytes).0);
            let Some(original) = self.record.files.get_mut(path) else { continue };
            if folder.map_or(true, |folder| of_name(&folder, split(&bytes).1, original, true).is_some()) {
                wrong.push(path.clone());
            }
        }
        wrong
    }
}

struct Work<'a> {
    all: &'a Originals,
    versions: Option<&'a Path>,
    done: OriginalsRestored,
    /// Folders that get permissions at the end.
    opened: BTreeMap<Vec<u8>, u32>,
    unsynced: Unsynced,
}

impl Work<'_> {
    fn restore_one(&mut self, path: &[u8], original: &Original, what: &Tamper) -> io::Result<()> {
        let folder = self.above(path)?;
        let (above, name) = split(path);
        self.unsynced.folder(above, || folder.try_clone());
        if *what == Tamper::Mode {
            return unlocked(&folder, name, || set_mode(&folder, name, original.mode).map_err(|error| errno(&error)));
        }
        match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if is_folder(&stat) => self.make_room(&folder, path, &stat)?,
            Ok(stat) => drop(self.copy_version(&folder, path, &stat)?),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let part = self.make(&folder, original)?;
        // Whatever file or link is there is replaced, never followed.
        let moved = unlocked(&folder, name, || renameat(&folder, part.as_slice(), &folder, name));
        if moved.is_err() {
            unlinkat(&folder, part.as_slice(), AtFlags::empty()).ok();
        }
        moved
    }

    /// Writes the original under a temporary name. Its time is the present: files built from the agent's version are
    /// older.
    fn make(&mut self, folder: &OwnedFd, original: &Original) -> io::Result<Vec<u8>> {
        match &original.what {
            OriginalKind::Link { leads } => {
                let part = part_name()?;
                symlinkat(unescape_path(leads).as_slice(), folder, part.as_slice())?;
                Ok(part)
            }
            OriginalKind::File { sha256, at, bytes } => {
                let (part, mut file) = new_part(folder)?;
                let written = self
                    .all
                    .contents
                    .write(*at, *bytes, sha256, &mut file)
                    .and_then(|()| set_owner_and_mode(&file, original));
                if let Err(error) = written {
                    unlinkat(folder, part.as_slice(), AtFlags::empty()).ok();
                    return Err(error);
                }
                self.unsynced.file(file);
                Ok(part)
            }
        }
    }

    /// The folder of a path: made again where it is gone, opened where it is closed.
    fn above(&mut self, path: &[u8]) -> io::Result<OwnedFd> {
        let workspace = &self.all.workspace;
        let mode = fstat(workspace)?.st_mode & 0o7777;
        if mode & OPEN_MODE != OPEN_MODE && !self.opened.contains_key(b"".as_slice()) {
            fchmod(workspace, Mode::from_raw_mode(mode | OPEN_MODE))?;
            self.opened.insert(Vec::new(), self.mode_of(b"").unwrap_or(mode));
        }
        let mut folder = folder_beneath(workspace, b"")?;
        let mut at = Vec::new();
        for name in split(path).0.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            at = joined(&at, name);
            match statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_folder(&stat) => {
                    let mode = stat.st_mode & 0o7777;
                    if mode & OPEN_MODE != OPEN_MODE {
                        set_mode(&folder, name, mode | OPEN_MODE)?;
                        let mode = self.mode_of(&at).unwrap_or(mode);
                        self.opened.entry(at.clone()).or_insert(mode);
                    }
                }
                Ok(stat) => {
                    self.make_room(&folder, &at, &stat)?;
                    self.make_folder(&folder, &at)?;
                }
                Err(Errno::NOENT) => self.make_folder(&folder, &at)?,
                Err(error) => return Err(error.into()),
            }
            folder = folder_beneath(&folder, name)?;
        }
        Ok(folder)
    }

    fn make_folder(&mut self, folder: &OwnedFd, path: &[u8]) -> io::Result<()> {
        let (above, name) = split(path);
        self.unsynced.folder(above, || folder.try_clone());
        mkdirat(folder, name, Mode::from_raw_mode(OPEN_MODE))?;
        self.opened.insert(path.to_vec(), self.mode_of(path).unwrap_or(FOLDER_MODE));
        Ok(())
    }

    fn mode_of(&self, folder: &[u8]) -> Option<u32> {
        self.all.record.folders.get(&escape_path(folder)).copied()
    }

    /// Removes what is not an original: a link or an empty folder is deleted, all else is stored first.
    fn make_room(&mut self, folder: &OwnedFd, path: &[u8], stat: &Stat) -> io::Result<()> {
        let (above, name) = split(path);
        let is_empty_folder = is_folder(stat) && unlinkat(folder, name, AtFlags::REMOVEDIR).is_ok();
        if is_empty_folder {
            return Ok(());
        }
        let is_link = FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
        if is_link || !is_folder(stat) && self.copy_version(folder, path, stat)? {
            return unlocked(folder, name, || unlinkat(folder, name, AtFlags::empty()));
        }
        if is_folder(stat) && self.move_folder(folder, path)? {
            return Ok(());
        }
        let aside = put_aside(folder, name)?;
        self.done.aside.push((escape_path(path), escape_path(&joined(above, &aside))));
        Ok(())
    }

    /// Moves a folder to where the caller wants it; not possible between file systems.
    fn move_folder(&self, folder: &OwnedFd, path: &[u8]) -> io::Result<bool> {
        let Some(versions) = self.versions else { return Ok(false) };
        let to = versions.join(std::ffi::OsStr::from_bytes(path));
        if let Some(above) = to.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(above)?;
        }
        let (_, name) = split(path);
        Ok(renameat(folder, name, CWD, &to).is_ok())
    }

    /// Copies what the agent made of a file to where the caller wants it; returns whether that was done.
    fn copy_version(&self, folder: &OwnedFd, path: &[u8], stat: &Stat) -> io::Result<bool> {
        let Some(versions) = self.versions else { return Ok(false) };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let bytes = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if !is_file || bytes > FILE_BYTES_MAX {
            return Ok(false);
        }
        let (_, name) = split(path);
        let from = match opened(folder, name) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                set_mode(folder, name, stat.st_mode & 0o7777 | 0o400)?;
                opened(folder, name)?
            }
            from => from?,
        };
        let to = versions.join(std::ffi::OsStr::from_bytes(path));
        if let Some(above) = to.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(above)?;
        }
        let mut to = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(to)?;
        io::copy(&mut from.take(bytes), &mut to)?;
        Ok(true)
    }

    /// Every folder that was opened or made gets its permissions, the deepest first.
    fn close(&mut self) {
        for (path, mode) in std::mem::take(&mut self.opened).into_iter().rev() {
            let (above, name) = split(&path);
            let closed = if path.is_empty() {
                fchmod(&self.all.workspace, Mode::from_raw_mode(mode)).map_err(io::Error::from)
            } else {
                folder_beneath(&self.all.workspace, above).and_then(|folder| set_mode(&folder, name, mode))
            };
            if let Err(error) = closed {
                self.done.could_not.push(format!("{}: its permissions: {error}", escape_path(&path)));
            }
        }
    }
}

/// Owner and permissions; the owner comes first, because giving a file away takes set-id bits off.
fn set_owner_and_mode(file: &File, original: &Original) -> io::Result<()> {
    let stat = fstat(file)?;
    if (stat.st_uid, stat.st_gid) != original.owner {
        // Only root may give files away; the content counts.
        fchown(file, Some(Uid::from_raw(original.owner.0)), Some(Gid::from_raw(original.owner.1))).ok();
    }
    file.set_permissions(Permissions::from_mode(original.mode))
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
