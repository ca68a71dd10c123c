//! Folders by their handles: every name below one is reached without links and never outside of it, every read
//! has a bound, and only plain files are opened (a pipe would wait for ever).
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat, openat2, statat};
use rustix::io::Errno;

/// At most this many names of one folder are inspected.
const NAMES_MAX: usize = 1_000_000;
/// The bits of a mode that give its kind.
const KIND_BITS: u32 = 0o170_000;
const IS_FOLDER: u32 = 0o040_000;

/// A folder that is open.
#[derive(Debug)]
pub(super) struct GitFolder(pub(super) OwnedFd);

impl GitFolder {
    /// Opens one by a path that the user chose; links in it are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    /// Opens one by a path that has no link in it, or not at all.
    pub(super) fn open_without_links(path: &Path) -> io::Result<Self> {
        let root = Self::open(Path::new("/"))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(Self(openat2(&root.0, path, flags, Mode::empty(), resolve)?))
    }

    /// A folder below it.
    pub(super) fn below(&self, path: &[u8]) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        if path.is_empty() {
            return Ok(Self(openat(&self.0, ".", flags, Mode::empty())?));
        }
        Ok(Self(openat2(&self.0, path, flags, Mode::empty(), beneath())?))
    }

    /// A plain file below it.
    pub(super) fn file(&self, path: &[u8]) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat2(&self.0, path, flags, Mode::empty(), beneath())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a plain file")) }
    }

    /// What a plain file below it holds; none where there is none. One that is longer than `most` is an error.
    pub(super) fn read(&self, path: &[u8], most: u64) -> io::Result<Option<Vec<u8>>> {
        let file = match self.file(path) {
            Ok(file) => file,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        read_bounded(file, most).map(Some)
    }

    /// The `lstat` of a name below it; none where there is none.
    pub(super) fn stat(&self, path: &[u8]) -> io::Result<Option<Stat>> {
        let (above, name) = split(path);
        let above = match self.below(above) {
            Ok(above) => above,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        match statat(&above.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a folder, and no link to one, is below it.
    pub(super) fn has_folder(&self, path: &[u8]) -> bool {
        self.stat(path).ok().flatten().is_some_and(|stat| is_folder(&stat))
    }

    /// Whether anything of that name is below it.
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.stat(path).ok().flatten().is_some()
    }

    /// The names in it, sorted, and whether each is a folder; links count as neither and come as files do.
    pub(super) fn names(&self) -> io::Result<Vec<(Vec<u8>, bool)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if names.len() == NAMES_MAX {
                return Err(io::Error::other(format!("more than {NAMES_MAX} names in one folder")));
            }
            let kind = entry.file_type();
            // Some file systems do not report it.
            let is_folder = kind == FileType::Directory || kind == FileType::Unknown && self.has_folder(name);
            names.push((name.to_vec(), is_folder));
        }
        names.sort();
        Ok(names)
    }

    /// Its device and number: the same folder has the same.
    pub(super) fn identity(&self) -> io::Result<(u64, u64)> {
        let stat = fstat(&self.0)?;
        Ok((stat.st_dev, stat.st_ino))
    }
}

/// A folder's path and a name in it.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/');
    slash.and_then(|slash| Some((path.get(..slash)?, path.get(slash + 1..)?))).unwrap_or((&[], path))
}

/// The path of a name in a folder.
pub(super) fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

fn beneath() -> ResolveFlags {
    ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS
}

/// Whether it is a folder and no link to one.
pub(super) fn is_folder(stat: &Stat) -> bool {
    stat.st_mode & KIND_BITS == IS_FOLDER
}

/// Whether an error means that nothing of that name exists.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// All of a file, up to a bound.
pub(super) fn read_bounded(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(bytes)
}
