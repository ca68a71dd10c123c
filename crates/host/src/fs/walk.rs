//! All names of a tree, whatever is ignored: by handles, through no link and into no mount.
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Stat, readlinkat, statat};
use rustix::io::Errno;

use super::handle::{open_below, open_inside};

/// Each level costs a handle.
const DEPTH_MAX: usize = 512;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A file.
    File,
    /// A link, and where it leads.
    Link(Vec<u8>),
    /// A folder.
    Folder,
    /// Anything else, a mount too.
    Other,
}

/// One name.
#[derive(Debug)]
pub(crate) struct Name {
    /// From the top, with `/` between names.
    pub(crate) path: Vec<u8>,
    /// What it is.
    pub(crate) kind: NameKind,
    /// Its `lstat`.
    pub(crate) stat: Stat,
}

/// All names below a folder, each folder before what is in it. What `is_wanted` refuses is skipped.
///
/// # Errors
/// When something cannot be read, with its path.
pub(crate) fn walk(folder: &OwnedFd, is_wanted: &dyn Fn(&[u8]) -> bool) -> io::Result<Vec<Name>> {
    let mut names = Vec::new();
    inside(&open_below(folder.as_fd(), b"")?, &[], &mut names, is_wanted, 0)?;
    Ok(names)
}

fn inside(
    folder: &OwnedFd,
    path: &[u8],
    names: &mut Vec<Name>,
    is_wanted: &dyn Fn(&[u8]) -> bool,
    depth: usize,
) -> io::Result<()> {
    let mut entries = names_in(folder)?;
    entries.sort_unstable();
    for entry in entries {
        let path = if path.is_empty() { entry.clone() } else { [path, b"/", &entry].concat() };
        if !is_wanted(&path) {
            continue;
        }
        let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", shown(&path)));
        let stat = match statat(folder, entry.as_slice(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            // Gone since its folder was read.
            Err(Errno::NOENT) => continue,
            Err(error) => return Err(at(error.into())),
        };
        let mut below = None;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => NameKind::File,
            FileType::Symlink => {
                let leads = readlinkat(folder, entry.as_slice(), Vec::new()).map_err(|error| at(error.into()))?;
                NameKind::Link(leads.into_bytes())
            }
            FileType::Directory => match open_inside(folder.as_fd(), &entry) {
                Ok(_) if depth >= DEPTH_MAX => return Err(at(io::Error::other("too deep"))),
                Ok(opened) => {
                    below = Some(opened);
                    NameKind::Folder
                }
                // A mount.
                Err(error) if error.raw_os_error() == Some(libc::EXDEV) => NameKind::Other,
                Err(error) => return Err(at(error)),
            },
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => NameKind::Other,
        };
        names.push(Name { path: path.clone(), kind, stat });
        if let Some(below) = below {
            inside(&below, &path, names, is_wanted, depth + 1)?;
        }
    }
    Ok(())
}

/// The names in one folder, in no order.
pub(crate) fn names_in(folder: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(name);
        }
    }
    Ok(names)
}

fn shown(path: &[u8]) -> String {
    loop_core::text::escape_path(path)
}
