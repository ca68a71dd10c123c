//! Whether the originals are unchanged. Usually that takes one `lstat` for each; a file whose change time differs
//! is read and compared by its hash.
use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use loop_core::text::{escape_path, unescape_path};
use rustix::fs::{AtFlags, FileType, Stat, readlinkat, statat};
use rustix::io::Errno;

use super::contents::hashed;
use super::record::{Original, OriginalKind, Quick};
use super::{Originals, opened};
use crate::checkpoint::{Stamp, wall_nanos};
use crate::fs::handle::{folder_beneath, split};

/// At most this many new names are listed.
const ADDED_MAX: usize = 1000;

/// What became of a protected name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tamper {
    /// Another content, or a link that leads elsewhere.
    Changed,
    /// It is not there.
    Deleted,
    /// It is not there, and the very file has another name.
    Renamed {
        /// That name.
        to: String,
    },
    /// Other permissions only.
    Mode,
    /// Something of another kind is there, or above it.
    Replaced {
        /// What it is, for people.
        by: &'static str,
    },
}

/// A protected name that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampered {
    /// The path from the workspace, as facts write paths.
    pub path: String,
    /// What became of it.
    pub what: Tamper,
}

impl Tampered {
    /// For people and agents.
    #[must_use]
    pub fn describe(&self) -> String {
        let path = &self.path;
        match &self.what {
            Tamper::Changed => format!("{path} was changed"),
            Tamper::Deleted => format!("{path} was deleted"),
            Tamper::Renamed { to } => format!("{path} was renamed to {to}"),
            Tamper::Mode => format!("{path} got other permissions"),
            Tamper::Replaced { by } => format!("{path} was replaced by {by}"),
        }
    }
}

/// The result of an inspection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TamperFound {
    /// Protected names that are not as they were, sorted.
    pub changed: Vec<Tampered>,
    /// Names that match and were not there at the start: listed, not protected. Sorted.
    pub added: Vec<String>,
    /// How many more of these there are.
    pub added_more: u64,
}

impl Originals {
    /// Compares what is there with the originals.
    ///
    /// # Errors
    /// When the workspace itself cannot be read.
    pub fn inspect(&mut self) -> io::Result<TamperFound> {
        let mut found = TamperFound::default();
        let mut at = Folder { path: None, folder: folder_beneath(&self.workspace, b"").map(Ok)? };
        for (path, original) in &mut self.record.files {
            let bytes = unescape_path(path);
            let (above, name) = split(&bytes);
            let what = match at.open(&self.workspace, above) {
                Ok(folder) => of_name(folder, name, original, false),
                Err(error) => Some(hidden(*error)),
            };
            found.changed.extend(what.map(|what| Tampered { path: path.clone(), what }));
        }
        self.find_added_and_renamed(&mut found);
        Ok(found)
    }

    /// One walk for the names that came, and for those that went elsewhere.
    fn find_added_and_renamed(&self, found: &mut TamperFound) {
        let is_gone = |tampered: &&mut Tampered| tampered.what == Tamper::Deleted;
        let inode = |path: &str| self.record.files.get(path).map(|original| original.stamp.inode);
        let gone: BTreeMap<u64, String> = found
            .changed
            .iter_mut()
            .filter(is_gone)
            .filter_map(|tampered| Some((inode(&tampered.path)?, tampered.path.clone())))
            .collect();
        if self.patterns.is_empty() && gone.is_empty() {
            return;
        }
        let mut moved = BTreeMap::new();
        self.patterns.walk(&self.workspace, &mut |entry| {
            let is_file = matches!(entry.kind, FileType::RegularFile | FileType::Symlink);
            let path = || escape_path(entry.path);
            if let Some(from) = gone.get(&entry.inode).filter(|_| is_file && !self.is_protected(entry.path)) {
                moved.insert(from.clone(), path());
            }
            if is_file && entry.is_wanted && !self.is_known(&path()) {
                found.added.push(path());
            }
        });
        found.added.sort_unstable();
        found.added_more = u64::try_from(found.added.len().saturating_sub(ADDED_MAX)).unwrap_or(u64::MAX);
        found.added.truncate(ADDED_MAX);
        for tampered in &mut found.changed {
            // A number is given again once a file is gone: only the same content shows that it is the same file.
            let to = moved.remove(&tampered.path).filter(|to| self.is_original(&tampered.path, to));
            if let Some(to) = to {
                tampered.what = Tamper::Renamed { to };
            }
        }
    }

    fn is_known(&self, path: &str) -> bool {
        self.record.files.contains_key(path) || self.record.known.contains(path)
    }

    /// Whether a name has what an original had.
    fn is_original(&self, original: &str, path: &str) -> bool {
        let Some(original) = self.record.files.get(original) else { return false };
        let path = unescape_path(path);
        let is_same = |(folder, stat): (OwnedFd, Stat)| {
            of_name(&folder, split(&path).1, &mut original.clone(), true) != Some(Tamper::Changed)
                && same_kind(&stat, original)
        };
        self.stat(&path).is_ok_and(is_same)
    }
}

/// The folder that was last opened: neighbours are inspected together.
struct Folder {
    path: Option<Vec<u8>>,
    folder: Result<OwnedFd, Errno>,
}

impl Folder {
    fn open(&mut self, workspace: &OwnedFd, path: &[u8]) -> Result<&OwnedFd, &Errno> {
        if self.path.as_deref() != Some(path) {
            let folder = folder_beneath(workspace, path);
            self.folder = folder.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
            self.path = Some(path.to_vec());
        }
        self.folder.as_ref()
    }
}

/// What an unreachable folder means for what is in it.
fn hidden(error: Errno) -> Tamper {
    match error {
        Errno::NOENT => Tamper::Deleted,
        Errno::NOTDIR => Tamper::Replaced { by: "a file or a link where its folder was" },
        Errno::LOOP | Errno::XDEV => Tamper::Replaced { by: "a link where its folder was" },
        _ => Tamper::Replaced { by: "a folder that cannot be entered" },
    }
}

fn same_kind(stat: &Stat, original: &Original) -> bool {
    let kind = FileType::from_raw_mode(stat.st_mode);
    match original.what {
        OriginalKind::File { .. } => kind == FileType::RegularFile,
        OriginalKind::Link { .. } => kind == FileType::Symlink,
    }
}

/// What became of one name. Where only times changed, these are the new ones. With `closely` the content is read in any
/// case.
pub(super) fn of_name(folder: &OwnedFd, name: &[u8], original: &mut Original, closely: bool) -> Option<Tamper> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Some(Tamper::Deleted),
        Err(error) => return Some(hidden(error)),
    };
    if !same_kind(&stat, original) {
        let by = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => "a link",
            FileType::Directory => "a folder",
            FileType::RegularFile => "a file",
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => "something else",
        };
        return Some(Tamper::Replaced { by });
    }
    let stamp = Stamp::of(&stat);
    let read_at = wall_nanos();
    let is_untouched = original.is_sure && original.stamp == Quick::of(&stamp) && !closely;
    let same_mode = matches!(original.what, OriginalKind::Link { .. }) || stat.st_mode & 0o7777 == original.mode;
    if is_untouched && same_mode {
        return None;
    }
    match is_same_content(folder, name, original, stamp.size) {
        Ok(true) if same_mode => {
            original.stamp = Quick::of(&stamp);
            original.is_sure = stamp.is_sure(read_at);
            None
        }
        Ok(true) => Some(Tamper::Mode),
        // The permission to read it was removed.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && !same_mode => Some(Tamper::Mode),
        Ok(false) | Err(_) => Some(Tamper::Changed),
    }
}

fn is_same_content(folder: &OwnedFd, name: &[u8], original: &Original, size: u64) -> io::Result<bool> {
    match &original.what {
        OriginalKind::Link { leads } => Ok(escape_path(readlinkat(folder, name, Vec::new())?.as_bytes()) == *leads),
        OriginalKind::File { bytes, .. } if *bytes != size => Ok(false),
        OriginalKind::File { sha256, .. } => Ok(hashed(&mut opened(folder, name)?, &mut io::sink())?.0 == *sha256),
    }
}
