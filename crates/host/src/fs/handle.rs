//! Folders and files by handle: through no link and never outside, so that replacing a name by a link leads
//! nowhere.
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, mkdirat, openat, openat2};
use rustix::io::Errno;

/// How folders are opened.
pub(crate) const FOLDER_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// By no link, never outside.
pub(crate) const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// By no link, never outside, and into no mount.
pub(crate) const WITHIN: ResolveFlags = BENEATH.union(ResolveFlags::NO_XDEV);

/// Which folder it is, whatever its path. It is sure as long as a handle of the folder is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FolderId {
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
}

impl FolderId {
    /// Of a folder that is open.
    ///
    /// # Errors
    /// When the system does not say.
    pub fn of(folder: impl AsFd) -> io::Result<Self> {
        Ok(Self::of_stat(&fstat(folder)?))
    }

    pub(crate) fn of_stat(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

/// Opens a folder by its path; a link is followed.
///
/// # Errors
/// When it is not a folder that can be read.
pub fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(Into::into)
}

/// A folder below another one, which may be of another file system. An empty path is the folder itself.
pub(crate) fn folder_beneath(folder: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    if path.is_empty() || path == b"." {
        return openat(folder, ".", FOLDER_FLAGS, Mode::empty()).map_err(Into::into);
    }
    openat2(folder, path, FOLDER_FLAGS, Mode::empty(), BENEATH).map_err(Into::into)
}

/// Opens a folder in another one: no link, nothing mounted there.
pub(crate) fn open_inside(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<OwnedFd> {
    openat2(folder, name, FOLDER_FLAGS, Mode::empty(), WITHIN).map_err(Into::into)
}

/// The same by a path below it; an empty one is the folder itself.
pub(crate) fn open_below(folder: BorrowedFd<'_>, path: &[u8]) -> io::Result<OwnedFd> {
    open_inside(folder, if path.is_empty() { b"." } else { path })
}

/// A file below a folder, to be read: no link, nothing mounted there.
pub(crate) fn open_file(folder: impl AsFd, path: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat2(folder, path, flags, Mode::empty(), WITHIN)?);
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file any more")) }
}

/// The content of a plain file in a folder, if it is not longer than this.
pub(crate) fn small_file(folder: impl AsFd, name: &str, bytes_max: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, Mode::empty()).ok()?;
    let stat = fstat(&file).ok()?;
    let is_plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    let size = u64::try_from(stat.st_size).ok().filter(|size| is_plain && *size <= bytes_max)?;
    let mut bytes = Vec::new();
    File::from(file).take(size).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Where a folder lies now, whatever it was called when it was opened.
pub(crate) fn path_of_handle(folder: impl AsFd) -> io::Result<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", folder.as_fd().as_raw_fd()))
}

/// A path below a folder.
pub(crate) fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// A folder's path and a name in it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&[], path), |slash| (&path[..slash], &path[slash + 1..]))
}

/// The folder of the autonomous specification in a workspace.
pub(crate) const HARNESS: &str = ".harness";

/// Makes a folder in another one if it is not there. `.harness` has only files of this machine: one that is made here
/// gets a `.gitignore`, so that the user's git does not show it.
pub(crate) fn make_folder(parent: impl AsFd, name: &[u8]) -> io::Result<()> {
    match mkdirat(&parent, name, Mode::from_raw_mode(0o755)) {
        Ok(()) if name == HARNESS.as_bytes() => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let folder = openat(&parent, name, FOLDER_FLAGS, Mode::empty())?;
            // Without it git only shows a folder more.
            if let Ok(file) = openat(&folder, ".gitignore", flags, Mode::from_raw_mode(0o644)) {
                File::from(file).write_all(b"*\n").ok();
            }
            Ok(())
        }
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
