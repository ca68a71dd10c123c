//! The folders of the inbox, by handle: through no link. A file is claimed by a rename into a folder of the run's own;
//! from then on no person opens it by its name in the inbox. When it is recorded, another rename moves it to `processed`.
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, Stat, openat, renameat_with, statat, unlinkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::fs::handle::{FOLDER_FLAGS, folder_beneath, make_folder};
use crate::fs::{FolderId, hex, open_folder};
use crate::paths::path_of;

/// Where taken files lie.
const PROCESSED: &str = "processed";
/// How many equal names `processed` holds.
const EQUAL_NAMES_MAX: u32 = 100_000;
/// How many names of the inbox are read in one look.
const NAMES_MAX: usize = 4096;

/// What is compared to see whether a file changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InboxStamp {
    pub(super) id: FolderId,
    pub(super) bytes: u64,
    pub(super) modified_ns: u64,
    pub(super) changed_ns: u64,
    pub(super) links: u64,
    pub(super) owner: u32,
    pub(super) is_plain: bool,
    pub(super) is_link: bool,
    pub(super) is_folder: bool,
}

impl InboxStamp {
    fn of(stat: &Stat) -> Self {
        let kind = FileType::from_raw_mode(stat.st_mode);
        Self {
            id: FolderId::of_stat(stat),
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            modified_ns: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
            changed_ns: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
            links: stat.st_nlink,
            owner: stat.st_uid,
            is_plain: kind == FileType::RegularFile,
            is_link: kind == FileType::Symlink,
            is_folder: kind == FileType::Directory,
        }
    }

    /// Whether no person wrote to it since. A rename changes only its status.
    pub(super) fn has_same_content(&self, other: &Self) -> bool {
        self.id == other.id && self.bytes == other.bytes && self.modified_ns == other.modified_ns
    }

    pub(super) fn changed_ms(&self) -> u64 {
        self.changed_ns / 1_000_000
    }
}

fn nanoseconds(seconds: i64, rest: u64) -> u64 {
    u64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000_000).saturating_add(rest)
}

/// The open folders of an inbox.
#[derive(Debug)]
pub(super) struct InboxFolder {
    top: OwnedFd,
}

/// The content of a claimed file.
#[derive(Debug)]
pub(super) struct InboxContent {
    pub(super) bytes: Vec<u8>,
    pub(super) sha256: String,
    pub(super) stamp: InboxStamp,
}

impl InboxFolder {
    /// Opens the inbox, and makes it where it is not there. A relative path starts at the workspace, and no part of it
    /// may be a link: the agent could have put it there.
    pub(super) fn open(workspace: &Path, setting: &str) -> io::Result<Self> {
        let path = path_of(setting);
        if path.is_absolute() {
            let top = open_folder(&path)?;
            return Self::with_processed(top);
        }
        let mut folder = open_folder(workspace)?;
        for name in path.iter().filter(|name| *name != ".") {
            folder = inside(&folder, name.as_bytes())?;
        }
        Self::with_processed(folder)
    }

    fn with_processed(top: OwnedFd) -> io::Result<Self> {
        inside(&top, PROCESSED.as_bytes())?;
        Ok(Self { top })
    }

    /// The names in the inbox with what they are, in order. A name that begins with a dot is a writer's own.
    pub(super) fn names(&self) -> io::Result<Vec<(Vec<u8>, InboxStamp)>> {
        let names = names_in(self.top.as_fd())?;
        let names = names.into_iter().filter(|name| name != PROCESSED.as_bytes() && !name.starts_with(b"."));
        Ok(names.filter_map(|name| Some((name.clone(), self.stamp(&name)?))).collect())
    }

    fn stamp(&self, name: &[u8]) -> Option<InboxStamp> {
        statat(&self.top, name, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| InboxStamp::of(&stat))
    }

    /// The files that were claimed and not moved.
    pub(super) fn claimed(&self, claims: &str) -> Vec<Vec<u8>> {
        let folder = folder_beneath(&self.top, claims.as_bytes());
        folder.ok().and_then(|folder| names_in(folder.as_fd()).ok()).unwrap_or_default()
    }

    /// Claims a file, if it is the one that was seen. Its name among the claims.
    pub(super) fn claim(&self, name: &[u8], seen: &InboxStamp, claims: &str) -> io::Result<Option<Vec<u8>>> {
        let folder = inside(&self.top, claims.as_bytes())?;
        let Some(place) = rename_free(&self.top, name, &folder, name)? else { return Ok(None) };
        let now = statat(&folder, place.as_slice(), AtFlags::SYMLINK_NOFOLLOW)?;
        // Another file came to this name in between: it was not checked, and goes back.
        if InboxStamp::of(&now).id != seen.id {
            rename_free(&folder, &place, &self.top, name)?;
            return Ok(None);
        }
        Ok(Some(place))
    }

    /// A claimed file and what it is now.
    pub(super) fn claimed_stamp(&self, claims: &str, place: &[u8]) -> Option<InboxStamp> {
        let folder = folder_beneath(&self.top, claims.as_bytes()).ok()?;
        statat(&folder, place, AtFlags::SYMLINK_NOFOLLOW).ok().map(|stat| InboxStamp::of(&stat))
    }

    /// Reads a claimed file whole. None if it changed meanwhile.
    pub(super) fn read(&self, claims: &str, place: &[u8], bytes_max: u64) -> io::Result<Option<InboxContent>> {
        let folder = folder_beneath(&self.top, claims.as_bytes())?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(&folder, place, flags, Mode::empty())?);
        let before = InboxStamp::of(&rustix::fs::fstat(&file)?);
        let mine = before.owner == rustix::process::geteuid().as_raw();
        if !(before.is_plain && mine) || before.bytes > bytes_max {
            return Err(io::Error::other("it is not a plain file of this user, or too large"));
        }
        let mut bytes = Vec::new();
        (&file).take(bytes_max + 1).read_to_end(&mut bytes)?;
        let stamp = InboxStamp::of(&rustix::fs::fstat(&file)?);
        let whole = u64::try_from(bytes.len()).is_ok_and(|read| read == stamp.bytes);
        if !(stamp.has_same_content(&before) && whole) {
            return Ok(None);
        }
        let sha256 = hex(&Sha256::digest(&bytes));
        Ok(Some(InboxContent { bytes, sha256, stamp }))
    }

    /// Puts a claimed file back into the inbox.
    pub(super) fn put_back(&self, claims: &str, place: &[u8], name: &[u8]) -> io::Result<()> {
        let folder = folder_beneath(&self.top, claims.as_bytes())?;
        rename_free(&folder, place, &self.top, name)?;
        self.clear(claims);
        Ok(())
    }

    /// Moves a claimed file to `processed`; an equal name there is not overwritten.
    pub(super) fn finish(&self, claims: &str, place: &[u8], name: &[u8]) -> io::Result<()> {
        let folder = folder_beneath(&self.top, claims.as_bytes())?;
        let processed = inside(&self.top, PROCESSED.as_bytes())?;
        rename_free(&folder, place, &processed, name)?;
        self.clear(claims);
        Ok(())
    }

    /// The folder of the claims goes when it is empty.
    pub(super) fn clear(&self, claims: &str) {
        unlinkat(&self.top, claims, AtFlags::REMOVEDIR).ok();
    }
}

/// A folder in another one, made if it is not there.
fn inside(folder: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
    make_folder(folder, name)?;
    Ok(openat(folder, name, FOLDER_FLAGS, Mode::empty())?)
}

fn names_in(folder: impl AsFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)?.take(NAMES_MAX) {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Moves a name to a folder, under the first name that is free there: `a.txt`, `a.2.txt`, `a.3.txt`. None if the name is
/// not there any more.
fn rename_free(from: &OwnedFd, old: &[u8], to: &OwnedFd, wanted: &[u8]) -> io::Result<Option<Vec<u8>>> {
    for number in 1..=EQUAL_NAMES_MAX {
        let new = numbered(wanted, number);
        match renameat_with(from, old, to, new.as_slice(), RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(Some(new)),
            Err(Errno::EXIST) => {}
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::Error::other("too many files of this name"))
}

fn numbered(name: &[u8], number: u32) -> Vec<u8> {
    if number == 1 {
        return name.to_vec();
    }
    let stem = name.strip_suffix(b".txt").unwrap_or(name);
    let end: &[u8] = if stem.len() < name.len() { b".txt" } else { b"" };
    [stem, format!(".{number}").as_bytes(), end].concat()
}

#[cfg(test)]
mod tests {
    use super::numbered;

    #[test]
    fn a_second_file_of_a_name_gets_a_number_before_its_ending() {
        assert_eq!(numbered(b"001-a.txt", 1), b"001-a.txt");
        assert_eq!(numbered(b"001-a.txt", 2), b"001-a.2.txt");
        assert_eq!(numbered(b"odd", 3), b"odd.3");
    }
}
